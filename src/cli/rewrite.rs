//! `vptx rewrite`
// Doc comments of arguments are help texts, not Markdown.
#![allow(clippy::doc_markdown)]

mod binaries;

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use super::error::Trouble;
use super::eval::{self, human, one_semantics};
use super::outputs::{
    self, Destination, New, Wanted, as_instruction, ptx_bytes, put, put_in_place, write_one,
};
use super::{FOUND, Output, errors, trouble};
use crate::analysis::read_module;
use crate::backend::ptx::{
    self, Cost, Decision, Fusion, NoTarget, Outcome, RewriteOptions, Rewriter, Visited,
};
use crate::check::CheckOptions;
use crate::cli::error::CommandError;
use crate::diagnostic::{Diagnostic, counted};
use crate::explain::Single;
use crate::isa::Target;
use crate::module::Module;
use crate::report::FileReport;
use crate::source::{LineIndex, Position, Span, decoded};
use crate::video::{Instruction, Semantics};
use crate::workspace::binary::TextFiles;
use crate::workspace::files::{Contents, diff};
use crate::workspace::input::Input;
use crate::workspace::kind::OnlyPtx;
use crate::workspace::settings::unknown_target;

// Each field is a separate flag.
#[allow(clippy::struct_excessive_bools)]
#[derive(Debug, Args)]
#[command(after_help = "\
Replaces those video instructions for which ptxas needs more machine
instructions on the target than for the new PTX; all other bytes stay the same.
The PTX of one SIMD instruction may replace scalar instructions in a row that
fill a word part by part or add to one sum. SIMD instructions in a row may
become one sequence on wider lanes, or share a comparison. A register that
always holds a constant may become that constant. With --only single, each
instruction is rewritten alone. A summary, and notes where the three semantics
differ or several instructions become one, go to standard error. If the argument
is an instruction, its PTX is printed even if it saves no machine instructions.
  vptx rewrite kernel.ptx > kernel.fast.ptx
  vptx rewrite --target sm_90 'vavrg4.u32.u32.u32 d, a, b, c;'

Every PTX text in libraries, wheels and other archives is written into a
directory, under the name that `vptx extract` gives it:
  vptx rewrite -o fast/ libx.so torch.whl

Several files are written into a directory under their own names, or each file
is replaced. A file is replaced in one step or not at all. --in-place does not
change a file with errors in its structure or in video instructions.
  vptx rewrite -o fast/ a.ptx b.ptx

Exit status: 0 done, 1 an instruction is wrong or has no ordinary PTX on
the target, or --diff has changes to show, 2 could not run.")]
pub(super) struct Arguments {
    /// PTX files, binaries and archives with PTX inside, - for standard input, or one
    /// instruction
    #[arg(value_name = "FILES|BINARIES|-|INSTRUCTION", default_value = "-")]
    subjects: Vec<PathBuf>,

    /// Read the text as PTX, whatever its name
    #[arg(long, value_enum)]
    language: Option<OnlyPtx>,

    /// The semantics to follow: ptxas-13 keeps the results of ptxas 13.3 and later,
    /// ptxas-12 those of earlier releases [default: ptxas-13]
    #[arg(long, value_parser = one_semantics())]
    semantics: Option<Semantics>,

    /// The target to write for, such as sm_90 [default: the module's own]
    #[arg(long, value_name = "TARGET")]
    target: Option<Target>,

    /// Also rewrite instructions that do not become cheaper
    #[arg(long)]
    all: bool,

    /// Rewrite each instruction alone, never several together
    #[arg(long, value_enum)]
    only: Option<Only>,

    /// Keep each original instruction as a comment
    #[arg(long)]
    comments: bool,

    /// Write to this file or into this directory, which is created for several inputs, or if
    /// it is written `DIR/`
    #[arg(long, short, value_name = "FILE|DIR", conflicts_with = "in_place")]
    output: Option<PathBuf>,

    /// Replace each file with its PTX
    #[arg(long, short)]
    in_place: bool,

    /// Write nothing; print the changes as a unified diff
    #[arg(long, conflicts_with_all = ["output", "in_place"])]
    diff: bool,

    /// Print no summary and no notes
    #[arg(long, short)]
    pub(super) quiet: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Only {
    /// Single instructions
    Single,
}

pub(super) fn run(arguments: &Arguments, out: &mut Output) -> Result<u8, Trouble> {
    if let Some(message) = arguments.target.and_then(unknown_target) {
        return Err(message.into());
    }
    if let Some(text) = as_instruction(&arguments.subjects) {
        return single(&eval::instruction(text, out)?, arguments, out);
    }
    let &Arguments { language, in_place, diff, .. } = arguments;
    let (subjects, output) = (&*arguments.subjects, arguments.output.as_deref());
    let wanted = Wanted { subjects, language, output, new: New::Ptx { in_place, diff } };
    let planned = wanted.plan()?;
    let mut files = TextFiles::new(output.unwrap_or(Path::new(".")));
    let status = outputs::each(&planned, out, |input, destination, out| match destination {
        Destination::Texts => binaries::file(input, &mut files, arguments, out),
        _ => file(input, destination, arguments, out),
    })?;
    Ok(status)
}

/// Writes ordinary PTX for a single instruction.
fn single(
    instruction: &Instruction,
    arguments: &Arguments,
    out: &mut Output,
) -> Result<u8, Trouble> {
    if arguments.in_place || arguments.diff {
        let (option, way_out) =
            if arguments.diff { ("--diff", "") } else { ("--in-place", ": use -o") };
        return Err(format!("{option} needs a file, not an instruction{way_out}").into());
    }
    let Some(target) = arguments.target else {
        return Err("an instruction needs a target: name one, such as --target sm_90".into());
    };
    let semantics = arguments.semantics.unwrap_or(Semantics::CURRENT);
    let Some(single) = Single::new(instruction, semantics, target) else {
        trouble(&format!("vptx has no ordinary PTX for `{instruction}` on {target}"));
        return Ok(FOUND);
    };
    let text = single.text(instruction, semantics);
    write_one(text.as_bytes(), arguments.output.as_deref(), out)
}

/// Rewrites one file. If it is one of several, messages start with its name.
fn file(
    input: &Input,
    destination: &Destination,
    arguments: &Arguments,
    out: &mut Output,
) -> Result<u8, Trouble> {
    let quiet = arguments.quiet;
    let name = input.name();
    let is_one_of_many = arguments.subjects.len() > 1;
    let notice = Notice { name: &name, is_one_of_many, is_dry: arguments.diff, quiet };
    let bytes = ptx_bytes(input, arguments.language)?;
    let source = decoded(&bytes);
    let (rewriting, diagnostics) = rewrite(&source, &name, arguments)?;
    let found = FileReport { path: input.shown(), source: &source, diagnostics: &diagnostics };
    let new = NewText { old: &bytes, rewriting: &rewriting };
    if arguments.diff {
        let status = notice.tell(&rewriting, found, out)?;
        if rewriting.edits.is_empty() {
            return Ok(status);
        }
        let text: Vec<&[u8]> = new.pieces().collect();
        let text = diff(input.shown(), &bytes, &text.concat(), out.diff_look());
        out.stream.write_all(&text)?;
        return Ok(FOUND);
    }
    match destination {
        Destination::Stdout => {
            // Bytes that are not UTF-8 stay unchanged.
            new.write(&mut out.stream)?;
            out.stream.flush()?;
        }
        Destination::File(path) => put(path, &new)?,
        Destination::InPlace(_) if !diagnostics.is_empty() => {
            trouble(&format!("`{name}` is unchanged: it has errors"));
            errors().write_all(&human(&out.style, &found)?)?;
            return Ok(FOUND);
        }
        Destination::InPlace(path) if !rewriting.edits.is_empty() => {
            put_in_place(path, &new, &bytes)?;
        }
        Destination::InPlace(_) | Destination::Texts => {}
    }
    Ok(notice.tell(&rewriting, found, out)?)
}

/// Rewrites a text.
fn rewrite(
    source: &str,
    name: &str,
    arguments: &Arguments,
) -> Result<(Rewriting, Vec<Diagnostic>), CommandError> {
    let options = RewriteOptions::default()
        .with_target(arguments.target)
        .with_semantics(arguments.semantics.unwrap_or(Semantics::CURRENT))
        .with_all(arguments.all)
        .with_regions(arguments.only != Some(Only::Single))
        .with_comments(arguments.comments);
    rewrite_with(source, &options, arguments.quiet)
        .map_err(|NoTarget| CommandError::NoTarget(name.into()))
}

/// Rewrites a text, and finds its errors.
pub(super) fn rewrite_with(
    source: &str,
    options: &RewriteOptions,
    quiet: bool,
) -> Result<(Rewriting, Vec<Diagnostic>), NoTarget> {
    let (module, diagnostics) = read_module(source, &CheckOptions::errors_only());
    Ok((Rewriting::new(&module, &mut Rewriter::new(options), quiet)?, diagnostics))
}

/// The replacements of the video instructions of a text.
#[derive(Default)]
pub(super) struct Rewriting {
    /// Spans of the text in order, and the places of their replacements in `text`.
    edits: Vec<(Span, Range<usize>)>,
    text: String,
    /// The numbers of all instructions, of those that are rewritten, and of those rewritten whose
    /// costs are known.
    pub(super) total: usize,
    pub(super) rewritten: usize,
    pub(super) measured: usize,
    /// The numbers of machine instructions for the measured instructions.
    pub(super) before: usize,
    pub(super) after: usize,
    pub(super) target: Option<Target>,
    /// The numbers of instructions that stay because nothing is cheaper, and because their costs
    /// are not known.
    kept: usize,
    unmeasured: usize,
    /// The number of instructions that should be rewritten, but stay because no ordinary PTX is
    /// available.
    unavailable: usize,
    /// Notes with their places.
    notes: Vec<(u32, String)>,
}

impl Rewriting {
    fn new(
        module: &Module<'_>,
        rewriter: &mut Rewriter<'_>,
        quiet: bool,
    ) -> Result<Rewriting, NoTarget> {
        let semantics = rewriter.options().semantics;
        let mut new = Rewriting::default();
        let (mut text, mut written) = (String::new(), 0);
        rewriter.each(module, &mut text, |visited, text| {
            let new_text = std::mem::replace(&mut written, text.len())..text.len();
            let Decision { span, instruction, target, known } = match visited {
                Visited::Instruction(decision) => decision,
                Visited::Ordinary(span) => return new.edits.push((span, new_text)),
            };
            new.total += 1;
            new.target = Some(target);
            match known.outcome {
                Outcome::Kept if known.cost.is_some() => new.kept += 1,
                Outcome::Kept => new.unmeasured += 1,
                Outcome::Unavailable => new.unavailable += 1,
                _ => {}
            }
            if known.outcome.is_rewritten() {
                new.edits.push((span, new_text));
                new.rewritten += 1;
                if let Some(Cost { ptxas, rewritten, .. }) = known.cost {
                    new.measured += 1;
                    new.before += ptxas as usize;
                    new.after += rewritten as usize;
                }
            }
            if !quiet {
                let notes = notes(instruction, known, semantics);
                new.notes.extend(notes.map(|note| (span.start, note)));
            }
        })?;
        new.edits.sort_by_key(|(span, _)| *span);
        new.text = text;
        Ok(new)
    }
}

/// A text with the replacements of its video instructions.
pub(super) struct NewText<'t> {
    pub(super) old: &'t [u8],
    pub(super) rewriting: &'t Rewriting,
}

impl<'t> NewText<'t> {
    pub(super) fn pieces(&self) -> impl Iterator<Item = &'t [u8]> {
        let (old, Rewriting { edits, text, .. }) = (self.old, self.rewriting);
        let mut kept_to = 0;
        let edited = edits.iter().flat_map(move |(span, new)| {
            let Range { start, end } = span.range();
            let kept = &old[kept_to..start];
            kept_to = end;
            [kept, &text.as_bytes()[new.clone()]]
        });
        let last = edits.last().map_or(0, |(span, _)| span.range().end);
        edited.chain([&old[last..]])
    }

    fn write(&self, out: &mut impl Write) -> io::Result<()> {
        // Most pieces are short.
        let mut out = BufWriter::with_capacity(1 << 16, out);
        self.pieces().try_for_each(|piece| out.write_all(piece))?;
        out.flush()
    }
}

impl Contents for NewText<'_> {
    fn write_to(&self, mut file: &File) -> io::Result<u64> {
        self.write(&mut file)?;
        Ok(self.pieces().map(|piece| piece.len() as u64).sum())
    }
}

/// The notes on an instruction.
fn notes(
    instruction: &Instruction,
    known: &ptx::FormOutcome,
    semantics: Semantics,
) -> impl Iterator<Item = String> {
    let fused = match &known.outcome {
        Outcome::Fused(fusion) => {
            let Fusion { instruction: whole, members, .. } = &**fusion;
            let old = instruction.mnemonic();
            let new = match whole {
                Some(whole) => format!("one `{whole}`"),
                None => "a sum of products".into(),
            };
            Some(format!("note: {members} × {old} become {new}"))
        }
        Outcome::Grouped(group) => {
            let (members, wider) = (group.members, group.wider());
            Some(format!("note: {members} SIMD instructions become one sequence on {wider}"))
        }
        _ => None,
    };
    let meaning = match known.outcome {
        Outcome::Unavailable => Some(format!(
            "`{instruction}` stays: vptx has no ordinary PTX for it under the module's .target \
             and .version"
        )),
        _ if known.outcome.is_rewritten() && !known.differs.is_empty() => {
            let others: Vec<&str> = known.differs.iter().map(|other| other.text()).collect();
            Some(format!(
                "note: the new PTX for `{instruction}` has the results of {semantics}, which differ \
                 from those of {} on some inputs",
                others.join(" and ")
            ))
        }
        _ => None,
    };
    [fused, meaning].into_iter().flatten()
}

/// The way to report on an input.
#[derive(Clone, Copy)]
pub(super) struct Notice<'n> {
    pub(super) name: &'n str,
    pub(super) is_one_of_many: bool,
    /// Whether the new text is only shown.
    pub(super) is_dry: bool,
    pub(super) quiet: bool,
}

impl Notice<'_> {
    /// Reports what was rewritten, where the semantics differ, and which errors were found.
    pub(super) fn tell(
        self,
        rewriting: &Rewriting,
        found: FileReport<'_>,
        out: &Output,
    ) -> io::Result<u8> {
        let mut errors = errors();
        if !self.quiet {
            errors.write_all(&self.summary(rewriting, found.source)?)?;
        }
        let is_clean = found.diagnostics.is_empty();
        if !is_clean {
            errors.write_all(&human(&out.style, &found)?)?;
        }
        Ok(if rewriting.unavailable > 0 || !is_clean { FOUND } else { 0 })
    }

    /// The summary, and notes where the semantics differ.
    fn summary(self, rewriting: &Rewriting, source: &str) -> io::Result<Vec<u8>> {
        let (mut text, name) = (Vec::new(), self.name);
        if !rewriting.notes.is_empty() {
            let index = LineIndex::new(source);
            for (at, note) in &rewriting.notes {
                let Position { line, column } = index.position(source, *at);
                writeln!(text, "{name}:{line}:{column}: {note}")?;
            }
        }
        let &Rewriting { total, rewritten, measured, before, after, target, .. } = rewriting;
        let total = counted(total, "video instruction");
        if self.is_one_of_many {
            write!(text, "{name}: ")?;
        }
        let verb = if self.is_dry { "to rewrite" } else { "rewritten" };
        write!(text, "{rewritten} of {total} {verb}")?;
        let target = target.map_or_else(String::new, |target| format!(" on {target}"));
        if measured > 0 {
            write!(text, ": {before} → {after} machine instructions{target}")?;
            if measured < rewritten {
                write!(text, ", for the {measured} that were measured")?;
            }
        } else if rewritten > 0 {
            write!(text, "; the costs of the new PTX were not measured")?;
        }
        let reasons = [
            (rewriting.kept, format!("nothing is cheaper{target}")),
            (rewriting.unmeasured, format!("of unknown cost{target}; --all rewrites anyway")),
            (
                rewriting.unavailable,
                "the .target or .version is too old for the ordinary PTX".into(),
            ),
        ];
        for (count, why) in reasons.into_iter().filter(|(count, _)| *count > 0) {
            let verb = if count == 1 { "stays" } else { "stay" };
            write!(text, "; {count} {verb}: {why}")?;
        }
        writeln!(text)?;
        Ok(text)
    }
}
