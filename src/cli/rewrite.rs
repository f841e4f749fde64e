//! `vptx rewrite`
// Doc comments of arguments are help texts, not Markdown.
#![allow(clippy::doc_markdown)]

mod binaries;

use std::fs::File;
use std::io::{self, IoSlice, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use super::error::Trouble;
use super::eval::{self, human, one_semantics};
use super::outputs::{
    self, Destination, New, Wanted, as_instruction, ptx_bytes, put, put_in_place, write_one,
};
use super::{FOUND, Output, errors, plain_output, trouble};
use crate::analysis::{TextPart, in_parts, parse_part, read_module};
use crate::backend::ptx::{
    self, Cost, Decision, FreshRegisters, Fusion, NoTarget, Outcome, RewriteOptions, Rewriter,
    Visited,
};
use crate::check::CheckOptions;
use crate::cli::error::CommandError;
use crate::diagnostic::{Diagnostic, counted};
use crate::explain::Single;
use crate::isa::Target;
use crate::lint;
use crate::module::Module;
use crate::report::FileReport;
use crate::source::{LineIndex, Position, Span, decoded, line_end};
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
        if rewriting.replaced.is_empty() {
            return Ok(status);
        }
        let text: Vec<&[u8]> = new.pieces().collect();
        out.write_diff(&diff(input.shown(), &bytes, &text.concat(), out.diff_look()))?;
        return Ok(FOUND);
    }
    match destination {
        Destination::Stdout => {
            // The text bypasses the stream, which may drop escapes. Bytes that are not UTF-8 stay
            // unchanged.
            let mut stdout = plain_output();
            new.write(&mut stdout)?;
            stdout.flush()?;
        }
        Destination::File(path) => put(path, &new)?,
        Destination::InPlace(_) if !diagnostics.is_empty() => {
            trouble(&format!("`{name}` is unchanged: it has errors"));
            errors().write_all(&human(&out.style, &found)?)?;
            return Ok(FOUND);
        }
        Destination::InPlace(path) if !rewriting.replaced.is_empty() => {
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

/// Rewrites a text, in parts if the result is the same.
pub(super) fn rewrite_with(
    source: &str,
    options: &RewriteOptions,
    quiet: bool,
) -> Result<(Rewriting, Vec<Diagnostic>), NoTarget> {
    match rewrite_in_parts(source, options, quiet) {
        Some(rewriting) => Ok((rewriting, Vec::new())),
        None => rewrite_whole(source, options, quiet),
    }
}

/// A text or a part of one, with the replacements of its video instructions.
#[derive(Default)]
pub(super) struct Rewriting {
    /// The line break in replacements.
    line_end: &'static str,
    /// The replacements in each part.
    replaced: Vec<Replaced>,
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

/// The replacements in one part of a text. `start` is the offset of the part.
struct Replaced {
    start: usize,
    /// Spans of the part in order, and the places of their replacements in `text`.
    edits: Vec<(Span, Range<usize>)>,
    text: String,
}

impl Replaced {
    /// The replacements with their places in the whole text.
    fn edits(&self) -> impl Iterator<Item = (Range<usize>, &str)> {
        self.edits.iter().map(|(span, new)| {
            let place = span.range();
            (self.start + place.start..self.start + place.end, &self.text[new.clone()])
        })
    }
}

impl Rewriting {
    fn new(
        module: &Module<'_>,
        rewriter: &mut Rewriter<'_>,
        quiet: bool,
    ) -> Result<Rewriting, NoTarget> {
        let (source, semantics) = (module.source(), rewriter.options().semantics);
        let mut new = Rewriting { line_end: line_end(source), ..Rewriting::default() };
        let (mut edits, mut text, mut written) = (Vec::new(), String::new(), 0);
        rewriter.each(module, &mut text, |visited, text| {
            let new_text = std::mem::replace(&mut written, text.len())..text.len();
            let Decision { span, instruction, target, known } = match visited {
                Visited::Instruction(decision) => decision,
                Visited::Ordinary(span) => return edits.push((span, new_text)),
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
                edits.push((span, new_text));
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
        edits.sort_by_key(|(span, _)| *span);
        if !edits.is_empty() {
            new.replaced.push(Replaced { start: 0, edits, text });
        }
        Ok(new)
    }

    /// Appends a part that starts at an offset of the text.
    fn append(&mut self, start: usize, part: Rewriting) {
        let here = |it: Replaced| Replaced { start, ..it };
        self.replaced.extend(part.replaced.into_iter().map(here));
        self.notes.extend(part.notes.into_iter().map(|(at, note)| (start as u32 + at, note)));
        self.total += part.total;
        self.rewritten += part.rewritten;
        self.measured += part.measured;
        self.before += part.before;
        self.after += part.after;
        self.target = self.target.or(part.target);
        self.kept += part.kept;
        self.unmeasured += part.unmeasured;
        self.unavailable += part.unavailable;
    }
}

/// A text with the replacements of its video instructions.
pub(super) struct NewText<'t> {
    pub(super) old: &'t [u8],
    pub(super) rewriting: &'t Rewriting,
}

impl<'t> NewText<'t> {
    pub(super) fn pieces(&self) -> impl Iterator<Item = &'t [u8]> {
        let old = self.old;
        let mut kept_to = 0;
        let edits = self.rewriting.replaced.iter().flat_map(Replaced::edits);
        let edited = edits.flat_map(move |(Range { start, end }, new)| {
            let kept = &old[kept_to..start];
            kept_to = end;
            [kept, new.as_bytes()]
        });
        let last = self.rewriting.replaced.last().and_then(|part| part.edits().last());
        edited.chain([&old[last.map_or(0, |(place, _)| place.end)..]])
    }

    fn write(&self, out: &mut impl Write) -> io::Result<()> {
        let mut pieces = self.pieces().map(IoSlice::new);
        loop {
            let mut some: Vec<IoSlice<'_>> = pieces.by_ref().take(MANY).collect();
            if some.is_empty() {
                return Ok(());
            }
            write_all(out, &mut some)?;
        }
    }
}

impl Contents for NewText<'_> {
    fn write_to(&self, mut file: &File) -> io::Result<u64> {
        self.write(&mut file)?;
        Ok(self.pieces().map(|piece| piece.len() as u64).sum())
    }
}

/// Rewrites a text as a whole, and finds its errors.
fn rewrite_whole(
    source: &str,
    options: &RewriteOptions,
    quiet: bool,
) -> Result<(Rewriting, Vec<Diagnostic>), NoTarget> {
    let (module, diagnostics) = read_module(source, &CheckOptions::errors_only());
    Ok((Rewriting::new(&module, &mut Rewriter::new(options), quiet)?, diagnostics))
}

/// Rewrites a large text in parts. `None` if the result might differ from that for the whole text.
fn rewrite_in_parts<'o>(
    source: &str,
    options: &'o RewriteOptions,
    quiet: bool,
) -> Option<Rewriting> {
    let check = CheckOptions::errors_only();
    let work = |part: &TextPart<'_>, kept: &mut PartKept<'o>| {
        Some((part.start, rewrite_part(part, &check, options, quiet, kept)?))
    };
    joined(in_parts(source, true, work)?)
}

/// Joins parts. `None` if the replacements in some part have other line breaks than the first part.
fn joined(parts: Vec<(usize, Rewriting)>) -> Option<Rewriting> {
    let mut parts = parts.into_iter();
    let (_, mut all) = parts.next()?;
    for (start, part) in parts {
        if !part.replaced.is_empty() && part.line_end != all.line_end {
            return None;
        }
        all.append(start, part);
    }
    Some(all)
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

/// State that is kept for later parts.
type PartKept<'o> = (lint::KnownFacts, Option<Rewriter<'o>>);

fn rewrite_part<'o>(
    part: &TextPart<'_>,
    check: &CheckOptions,
    options: &'o RewriteOptions,
    quiet: bool,
    (known, rewriter): &mut PartKept<'o>,
) -> Option<Rewriting> {
    let module = parse_part(part, check, known)?;
    if !FreshRegisters::usual_are_free(part.text) {
        return None;
    }
    let rewriter = rewriter.get_or_insert_with(|| Rewriter::with_usual_names(options));
    // The first line may have started in the part before.
    let statements = module.statements();
    let first = statements.first().map_or(part.text.len(), |it| it.span.start as usize);
    let alone = part.place.is_first || part.text[..first].contains('\n');
    if alone { Rewriting::new(&module, rewriter, quiet).ok() } else { None }
}

/// How many texts a single write takes: systems allow no more.
const MANY: usize = 1024;

/// Writes texts one after the other without copying them.
fn write_all(out: &mut impl Write, mut texts: &mut [IoSlice<'_>]) -> io::Result<()> {
    // Skips empty texts.
    IoSlice::advance_slices(&mut texts, 0);
    while !texts.is_empty() {
        match out.write_vectored(texts) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => IoSlice::advance_slices(&mut texts, written),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::in_parts_of;
    use crate::testing::Numbers;

    const STARTS: &[&str] = &[
        ".func f()\n{\n.reg .b32 a, b;\n.reg .pred p;\n",
        ".func f() {.reg .pred p; .reg .b32 a, b; ",
        ".func f()\r\n{\r\n.reg .s32 a, b;\r\n.reg .pred p;\r\n",
        ".func f()\n{\n\t.reg .f16x2 a, b;\n\t.reg .pred p;\n",
    ];

    const BODIES: &[&str] = &[
        "\t",
        "    ",
        "\n",
        "vadd4.u32.u32.u32 a, a, b, a;\n",
        "vavrg2.s32.s32.s32 a.h1, a, b, a;\n",
        "@!p vsub.s32.u32.s32.sat a, a.b1, b;\r\n",
        "{.reg .s32 d; vset.s32.u32.lt d, a, b;} ",
        "vmin2.s32.s32.s32 a, a, b, b;",
        "vadd.u32.u32.u32.sat a, b, 5;\n",
        "vshl.u32.u32.u32.wrap b, b, 9; ",
        "add.s32 a, a, b;\n",
        "{.reg .u32 a; vmax.s32.s32.s32.add a, a, b.h1, b;}",
        "vadd.u32.u32.u32.sat a.h0, b.h0, b.h1, a; ",
        "vadd.u32.u32.u32.sat a.h1, b.h1,\n b.h0, a; // then\n",
        "{.reg .b32 r<4>; vset.u32.u32.lt r1.h0, a.h0, b.h0, r0;\n\
         vset.u32.u32.lt r2.h1, a.h1, b.h1, r1;}",
    ];

    const ENDS: &[&str] = &["\n}\n", "\n}", "\n}  ", "\r\n}\r\n", "}\n"];

    const ODD: &[&str] = &[
        "// vptx: ignore\n",
        ".reg .b32 %vptx_r<4>;\n",
        ".target sm_75\n",
        ".target sm_20\n",
        ".version 8.0\n",
        "vadd.u32.u32 a, b;\n",
        "/* ",
        "*/",
        "\n}",
        "{",
        "vabsdiff.u32.u32.u32 %r1, %r1, %r2;\n",
        ".reg .b32 %r<4>;\n",
    ];

    /// The rewritten text, the messages, and whether an instruction is unavailable.
    fn outcome(source: &str, rewriting: &Rewriting) -> (String, String, bool) {
        let mut written = Vec::new();
        NewText { old: source.as_bytes(), rewriting }.write(&mut written).unwrap();
        let notice = Notice { name: "a", is_one_of_many: false, is_dry: false, quiet: false };
        let text = notice.summary(rewriting, source).unwrap();
        let texts = [written, text].map(|text| String::from_utf8(text).unwrap());
        let [written, text] = texts;
        (written, text, rewriting.unavailable > 0)
    }

    /// Checks that rewriting a text in parts gives the same result as rewriting it as a whole.
    /// Returns whether several parts were rewritten, and whether several instructions became one.
    fn agrees<'o>(text: &str, size: usize, options: &'o RewriteOptions) -> [bool; 2] {
        let check = CheckOptions::errors_only();
        let work = |part: &TextPart<'_>, kept: &mut PartKept<'o>| {
            Some((part.start, rewrite_part(part, &check, options, false, kept)?))
        };
        let Some(parts) = in_parts_of(size, text, work) else {
            return [false; 2];
        };
        let several = parts.iter().filter(|(_, part)| part.rewritten > 0).count() > 1;
        let Some(joined) = joined(parts) else {
            return [false; 2];
        };
        let (whole, diagnostics) = rewrite_whole(text, options, false).unwrap();
        let new = outcome(text, &joined);
        if options.keep_lines {
            assert_eq!(new.0.matches('\n').count(), text.matches('\n').count());
        }
        let is_fused = new.1.contains("become one");
        assert_eq!((new, Vec::new()), (outcome(text, &whole), diagnostics));
        [several, several && is_fused]
    }

    #[test]
    fn parts_of_heaps_are_written_as_the_whole_is() {
        let options = [
            RewriteOptions::default(),
            RewriteOptions::default().with_all(true).with_comments(true),
            RewriteOptions::default().with_semantics(Semantics::Manual),
            RewriteOptions::default().with_target(Some(Target::sm(120))),
            RewriteOptions::default().with_all(true).keeping_lines(),
        ];
        let mut numbers = Numbers(5);
        let (mut several, mut fused) = (0, 0);
        for round in 0..5000 {
            let line_end = numbers.pick(&["\n", "\r\n"]);
            let target = numbers.pick(&["20", "75", "90"]);
            let mut text = format!(".version 7.0{line_end}.target sm_{target}\n");
            for _ in 0..=numbers.below(6) {
                text += numbers.pick(STARTS);
                for _ in 0..numbers.below(6) {
                    text += numbers.pick(BODIES);
                }
                let end = numbers.pick(ENDS);
                let mut around = [end, ""];
                if round % 4 == 0 && numbers.below(4) == 0 {
                    around[1] = numbers.pick(ODD);
                    let at = numbers.below(2);
                    around.swap(0, at);
                }
                text += &around.concat();
            }
            let options = &options[numbers.below(options.len())];
            let [is_several, is_fused] = agrees(&text, 1 + numbers.below(200), options);
            several += usize::from(is_several);
            fused += usize::from(is_fused);
        }
        assert!(several > 250 && fused > 40, "{several}, {fused}");
    }

    /// A writer that takes a few bytes of the first text only, or is interrupted.
    struct Slow {
        taken: Vec<u8>,
        at_once: usize,
        interrupted: bool,
    }

    impl Write for Slow {
        fn write(&mut self, text: &[u8]) -> io::Result<usize> {
            self.interrupted = !self.interrupted;
            if self.interrupted {
                return Err(io::ErrorKind::Interrupted.into());
            }
            let some = text.len().min(self.at_once);
            self.taken.extend(&text[..some]);
            Ok(some)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn texts_are_written_whatever_is_taken_at_once() {
        let words: Vec<String> = (0..5000).map(|n| "ab\n".repeat(n % 4) + &n.to_string()).collect();
        let texts = |count: usize| {
            let words = words[..count].iter().flat_map(|word| ["", word.as_str(), ""]);
            words.map(|word| IoSlice::new(word.as_bytes())).collect::<Vec<_>>()
        };
        for (count, at_once) in [(0, 0), (1, 1), (40, 1), (40, 3), (5000, 7), (5000, 1 << 20)] {
            let mut out = Slow { taken: Vec::new(), at_once, interrupted: false };
            write_all(&mut out, &mut texts(count)).unwrap();
            assert_eq!(out.taken, words[..count].concat().into_bytes());
        }
        let mut none = Slow { taken: Vec::new(), at_once: 0, interrupted: false };
        write_all(&mut none, &mut [IoSlice::new(b""), IoSlice::new(b"")]).unwrap();
        let full = write_all(&mut none, &mut texts(3)).unwrap_err();
        assert_eq!(full.kind(), io::ErrorKind::WriteZero);
        let mut at_once = Vec::new();
        write_all(&mut at_once, &mut texts(5000)).unwrap();
        assert_eq!(at_once, words.concat().into_bytes());
    }
}
