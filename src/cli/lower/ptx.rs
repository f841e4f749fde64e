//! `vptx lower --emit ptx`

use std::io::{self, IoSlice, Write};

use super::super::eval::{SemanticsName, human};
use super::super::input::{Input, reason};
use super::super::large::{AsHandle, Twice};
use super::super::{FAILED, FOUND, Output, errors, errors_only, plain_output, trouble};
use super::{Arguments, Destination, Text, put, put_in_place};
use crate::analysis::{Part, parse_part, parse_with};
use crate::backend::ptx::{
    self, Cost, Found, FreshRegisters, Gate, Outcome, RewriteError, RewriteOptions, Rewriter,
    Sequence,
};
use crate::check::CheckOptions;
use crate::isa::Target;
use crate::lint;
use crate::module::Module;
use crate::report::FileReport;
use crate::source::{LineIndex, Position, Span, decoded, line_end};
use crate::video::{Instruction, Semantics};

/// The requested semantics, exactly one.
fn semantics(arguments: &Arguments) -> Semantics {
    let name = arguments.semantics.unwrap_or(SemanticsName::Ptxas13);
    name.list().first().copied().unwrap_or(Semantics::Ptxas13)
}

/// A single instruction as ordinary PTX, with the costs of both.
pub(in crate::cli) struct Single {
    /// The declarations of registers, and the statements.
    pub(in crate::cli) lines: Vec<String>,
    /// The machine instructions of both, if they were measured.
    pub(in crate::cli) costs: Option<String>,
    /// Whether the instruction is better kept.
    pub(in crate::cli) is_better_kept: bool,
}

impl Single {
    /// Returns `None` if there is no ordinary PTX for it on the target.
    pub(in crate::cli) fn new(
        instruction: &Instruction,
        semantics: Semantics,
        target: Target,
    ) -> Option<Single> {
        let gate = Gate { target, version: None };
        let outcome = ptx::choose(instruction, target, gate, semantics, true);
        let Outcome::Rewritten(sequence) = outcome else { return None };
        let mut registers = FreshRegisters::avoiding(&instruction.to_string());
        let statements = sequence.to_ptx(instruction, &mut registers);
        Some(Single {
            lines: registers.declarations().into_iter().chain(statements).collect(),
            costs: costs(instruction, &sequence, semantics, target),
            is_better_kept: ptx::is_better_kept(instruction, &sequence, target, semantics),
        })
    }
}

/// The machine instructions of an instruction and of the sequence that replaces it.
fn costs(
    instruction: &Instruction,
    sequence: &Sequence,
    semantics: Semantics,
    target: Target,
) -> Option<String> {
    let ptxas = instruction.cost(target)?.ptxas;
    let plural = if ptxas == 1 { "" } else { "s" };
    // The cost was measured with registers. Constants do not increase it.
    let most = if instruction.has_constants() { "at most " } else { "" };
    let native =
        format!("ptxas 13.5 emits {most}{ptxas} machine instruction{plural} for it on {target}");
    Some(match ptx::cost_of(instruction, sequence, target, semantics) {
        // The figure is the maximum of the whole class.
        Some(Cost { rewritten, .. }) if sequence.lines().len() < rewritten as usize => {
            format!("{native}, and at most {rewritten} for this PTX")
        }
        Some(Cost { rewritten, .. }) => format!("{native}, and {rewritten} for this PTX"),
        None => format!("{native}; this PTX was not measured"),
    })
}

/// The text for a single instruction, or the exit status if there is none.
pub(super) fn single(
    instruction: &Instruction,
    arguments: &Arguments,
) -> io::Result<Result<Vec<u8>, u8>> {
    let Some(target) = arguments.target else {
        trouble("an instruction needs a target: name one, such as --target sm_90");
        return Ok(Err(FAILED));
    };
    let semantics = semantics(arguments);
    let Some(single) = Single::new(instruction, semantics, target) else {
        trouble(&format!("there is no ordinary PTX for `{instruction}` on {target}"));
        return Ok(Err(FOUND));
    };
    let mut text = Vec::new();
    writeln!(text, "// {instruction}")?;
    if let Some(costs) = &single.costs {
        let keep = if single.is_better_kept { "keep it: " } else { "" };
        writeln!(text, "// {keep}{costs}")?;
    }
    let differs: Vec<&str> = Semantics::ALL
        .into_iter()
        .filter(|other| instruction.lower(*other) != instruction.lower(semantics))
        .map(Semantics::text)
        .collect();
    if !differs.is_empty() {
        writeln!(text, "// as {semantics}; not as {}", differs.join(", "))?;
    }
    for line in &single.lines {
        writeln!(text, "{line}")?;
    }
    Ok(Ok(text))
}

/// The reason why a file was not written.
pub(super) enum Trouble {
    /// A message about the input.
    Input(String),
    Output(io::Error),
}

impl From<String> for Trouble {
    fn from(message: String) -> Trouble {
        Trouble::Input(message)
    }
}

impl From<io::Error> for Trouble {
    fn from(error: io::Error) -> Trouble {
        Trouble::Output(error)
    }
}

/// Rewrites one file. If it is one of several, messages start with its name.
pub(super) fn file(
    input: &Input,
    destination: &Destination,
    arguments: &Arguments,
    out: &mut Output,
) -> Result<u8, Trouble> {
    let options = RewriteOptions::default()
        .with_target(arguments.target)
        .with_semantics(semantics(arguments))
        .with_all(arguments.all)
        .with_comments(arguments.comments);
    let quiet = arguments.quiet;
    let name = input.name();
    let notice = Notice { name: &name, is_one_of_many: arguments.subjects.len() > 1, quiet };
    // The stream may drop escapes, so the text bypasses it. Bytes that are not UTF-8
    // stay as they were.
    let mut stdout = plain_output();
    let text = Text::of(input, arguments.language)?;
    if let (Destination::Stdout, Text::Unread) = (destination, &text)
        && let Some((file, parts)) = in_parts(input, &io::stdout(), &options, quiet)
    {
        let cannot = |error: io::Error| {
            let why = reason(&error);
            format!("cannot read `{name}` a second time; the output is incomplete: {why}")
        };
        let mut places = NotePlaces::of(&parts);
        let mut bytes = Vec::new();
        file.rewind().map_err(cannot)?;
        for part in &parts {
            file.read(part.len, &mut bytes).map_err(cannot)?;
            part.write(&bytes, &mut stdout)?;
            places.add(&bytes, part);
        }
        stdout.flush()?;
        return Ok(notice.tell(&parts, &places, None, out)?);
    }
    let bytes = text.bytes(input)?;
    let source = decoded(&bytes);
    let (module, diagnostics) = parse_with(&source, &errors_only());
    let whole = match Lowered::new(&module, &mut Rewriter::new(&options), quiet) {
        Ok(whole) => whole,
        Err(RewriteError::NoTarget) => {
            let message = "has no .target: name one, such as --target sm_90";
            return Err(format!("`{name}` {message}").into());
        }
    };
    let found = FileReport { path: input.shown(), source: &source, diagnostics: &diagnostics };
    match destination {
        Destination::Stdout => {
            whole.write(&bytes, &mut stdout)?;
            stdout.flush()?;
        }
        Destination::File(path) => put(path, &whole.pieces(&bytes))?,
        Destination::InPlace(_) if !diagnostics.is_empty() => {
            trouble(&format!("`{name}` is unchanged: it has errors"));
            errors().write_all(&human(&out.style, &found)?)?;
            return Ok(FOUND);
        }
        Destination::InPlace(path) if !whole.edits.is_empty() => {
            put_in_place(path, &whole.pieces(&bytes), &bytes)?;
        }
        Destination::InPlace(_) => {}
    }
    let texts = [whole];
    let mut places = NotePlaces::of(&texts);
    places.add(&bytes, &texts[0]);
    Ok(notice.tell(&texts, &places, Some(found), out)?)
}

/// The positions of notes in the parts of a text.
struct NotePlaces {
    /// Most texts have no notes.
    is_needed: bool,
    /// The number of lines in the parts before.
    lines: u32,
    found: Vec<Position>,
}

impl NotePlaces {
    fn of(texts: &[Lowered]) -> NotePlaces {
        let is_needed = texts.iter().any(|text| !text.notes.is_empty());
        NotePlaces { is_needed, lines: 0, found: Vec::new() }
    }

    /// Adds the positions of the next part.
    fn add(&mut self, bytes: &[u8], part: &Lowered) {
        if !self.is_needed {
            return;
        }
        if part.notes.is_empty() {
            self.lines += memchr::memchr_iter(b'\n', bytes).count() as u32;
            return;
        }
        let text = decoded(bytes);
        let index = LineIndex::new(&text);
        for (at, _) in &part.notes {
            let Position { line, column } = index.position(&text, *at);
            self.found.push(Position { line: self.lines + line, column });
        }
        self.lines += index.lines() as u32 - 1;
    }
}

/// A text or a part of one, with the replacements of its video instructions.
#[derive(Default)]
struct Lowered {
    /// The length in bytes.
    len: usize,
    line_end: &'static str,
    /// Spans of the text, each with the length of `replacements` up to the end of its
    /// own replacement.
    edits: Vec<(Span, usize)>,
    replacements: String,
    /// The numbers of instructions: all, those rewritten, and those whose replacement
    /// was measured.
    total: usize,
    rewritten: usize,
    measured: usize,
    /// The machine instructions of the measured ones.
    before: usize,
    after: usize,
    target: Option<Target>,
    unavailable: bool,
    /// Notes with their places.
    notes: Vec<(u32, String)>,
}

impl Lowered {
    fn new(
        module: &Module<'_>,
        rewriter: &mut Rewriter<'_>,
        quiet: bool,
    ) -> Result<Lowered, RewriteError> {
        let (source, semantics) = (module.source(), rewriter.options().semantics);
        let mut new =
            Lowered { len: source.len(), line_end: line_end(source), ..Lowered::default() };
        let mut replacements = String::new();
        rewriter.each(module, &mut replacements, |found, replacements| {
            let Found { span, instruction, target, known } = found;
            new.total += 1;
            new.target = Some(target);
            match known.outcome {
                Outcome::Rewritten(_) => {
                    new.edits.push((span, replacements.len()));
                    new.rewritten += 1;
                    if let Some(Cost { ptxas, rewritten, .. }) = known.cost {
                        new.measured += 1;
                        new.before += ptxas as usize;
                        new.after += rewritten as usize;
                    }
                }
                Outcome::Unavailable => new.unavailable = true,
                Outcome::Kept => {}
            }
            if !quiet && let Some(note) = note(instruction, known, semantics) {
                new.notes.push((span.start, note));
            }
        })?;
        new.replacements = replacements;
        Ok(new)
    }

    /// The rewritten text in pieces, from the original text and the replacements.
    fn pieces<'t>(&'t self, text: &'t [u8]) -> Vec<&'t [u8]> {
        let mut pieces = Vec::with_capacity(2 * self.edits.len() + 1);
        let (mut at, mut written) = (0, 0);
        for &(span, end) in &self.edits {
            pieces.push(&text[at..span.start as usize]);
            pieces.push(&self.replacements.as_bytes()[written..end]);
            (at, written) = (span.end as usize, end);
        }
        pieces.push(&text[at..]);
        pieces
    }

    /// Writes the rewritten text.
    fn write(&self, text: &[u8], out: &mut impl Write) -> io::Result<()> {
        let pieces = self.pieces(text);
        write_all(out, &mut pieces.into_iter().map(IoSlice::new).collect::<Vec<_>>())
    }
}

/// The note about an instruction, if there is one.
fn note(instruction: &Instruction, known: &ptx::Known, semantics: Semantics) -> Option<String> {
    match known.outcome {
        Outcome::Rewritten(_) if !known.differs.is_empty() => {
            let others: Vec<&str> = known.differs.iter().map(|other| other.text()).collect();
            Some(format!(
                "note: `{instruction}` is written as {semantics} computes it, not as {}",
                others.join(" and ")
            ))
        }
        Outcome::Unavailable => Some(format!(
            "`{instruction}` stays: there is no ordinary PTX for it under the module's \
             .target and .version"
        )),
        Outcome::Rewritten(_) | Outcome::Kept => None,
    }
}

/// Processes a large file in parts, if that gives the same result.
fn in_parts<'o>(
    input: &Input,
    out: &impl AsHandle,
    options: &'o RewriteOptions,
    quiet: bool,
) -> Option<(Twice, Vec<Lowered>)> {
    let check = errors_only();
    let work =
        |part: &Part<'_>, kept: &mut PartKept<'o>| lower_part(part, &check, options, quiet, kept);
    let file = Twice::open(input, out)?;
    let parts = file.parts().each(true, work)?;
    are_alike(&parts).then_some((file, parts))
}

/// State that is kept from part to part.
type PartKept<'o> = (lint::Known, Option<Rewriter<'o>>);

fn lower_part<'o>(
    part: &Part<'_>,
    check: &CheckOptions,
    options: &'o RewriteOptions,
    quiet: bool,
    (known, rewriter): &mut PartKept<'o>,
) -> Option<Lowered> {
    let module = parse_part(part, check, known)?;
    if !FreshRegisters::usual_are_free(part.text) {
        return None;
    }
    let rewriter = rewriter.get_or_insert_with(|| Rewriter::with_usual_names(options));
    // The first line may have started in the part before.
    let statements = module.statements();
    let first = statements.first().map_or(part.text.len(), |it| it.span.start as usize);
    let alone = part.is_first || part.text[..first].contains('\n');
    if alone { Lowered::new(&module, rewriter, quiet).ok() } else { None }
}

/// Whether all line breaks written are like those of the first line.
fn are_alike(parts: &[Lowered]) -> bool {
    let mut written = parts.iter().filter(|part| !part.edits.is_empty());
    written.all(|part| part.line_end == parts[0].line_end)
}

/// The largest number of texts that are written at once. Systems accept no more.
const MANY: usize = 1024;

/// Writes texts one after the other without copying them.
fn write_all(out: &mut impl Write, mut texts: &mut [IoSlice<'_>]) -> io::Result<()> {
    // Skips empty texts.
    IoSlice::advance_slices(&mut texts, 0);
    while !texts.is_empty() {
        match out.write_vectored(&texts[..texts.len().min(MANY)]) {
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
struct Notice<'n> {
    name: &'n str,
    is_one_of_many: bool,
    quiet: bool,
}

impl Notice<'_> {
    /// Reports the rewritten instructions, the differences between semantics, and the
    /// findings.
    fn tell(
        self,
        texts: &[Lowered],
        places: &NotePlaces,
        found: Option<FileReport<'_>>,
        out: &Output,
    ) -> io::Result<u8> {
        let mut errors = errors();
        if !self.quiet {
            errors.write_all(&self.summary(texts, places)?)?;
        }
        let found = found.filter(|file| !file.diagnostics.is_empty());
        if let Some(file) = &found {
            errors.write_all(&human(&out.style, file)?)?;
        }
        let unavailable = texts.iter().any(|text| text.unavailable);
        Ok(if unavailable || found.is_some() { FOUND } else { 0 })
    }

    /// The summary, and notes about differences between semantics.
    fn summary(self, texts: &[Lowered], places: &NotePlaces) -> io::Result<Vec<u8>> {
        let (mut text, name) = (Vec::new(), self.name);
        let notes = texts.iter().flat_map(|text| &text.notes);
        for ((_, note), Position { line, column }) in notes.zip(&places.found) {
            writeln!(text, "{name}:{line}:{column}: {note}")?;
        }
        let sum = |of: fn(&Lowered) -> usize| texts.iter().map(of).sum::<usize>();
        let (total, rewritten) = (sum(|text| text.total), sum(|text| text.rewritten));
        let measured = sum(|text| text.measured);
        let plural = if total == 1 { "" } else { "s" };
        if self.is_one_of_many {
            write!(text, "{name}: ")?;
        }
        write!(text, "{rewritten} of {total} video instruction{plural} rewritten")?;
        if measured > 0 {
            let (before, after) = (sum(|text| text.before), sum(|text| text.after));
            let target = texts.iter().find_map(|text| text.target);
            let target = target.map_or_else(String::new, |target| format!(" on {target}"));
            write!(text, ": {before} → {after} machine instructions{target}")?;
            if measured < rewritten {
                write!(text, ", for the {measured} that were measured")?;
            }
        } else if rewritten > 0 {
            write!(text, "; the new PTX was not measured")?;
        }
        writeln!(text)?;
        Ok(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::part_gates;
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
        "vset.s32.u32.lt a, a, b; ",
        "vmin2.s32.s32.s32 a, a, b, b;",
        "vadd.u32.u32.u32.sat a, b, 5;\n",
        "vshl.u32.u32.u32.wrap b, b, 9; ",
        "add.s32 a, a, b;\n",
        "{.reg .u32 a; vmax.s32.s32.s32.add a, a, b.h1, b;}",
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
    fn outcome(source: &str, texts: &[Lowered]) -> (String, String, bool) {
        let (mut written, mut places) = (Vec::new(), NotePlaces::of(texts));
        let mut rest = source.as_bytes();
        for text in texts {
            let part = rest.split_off(..text.len).unwrap();
            text.write(part, &mut written).unwrap();
            places.add(part, text);
        }
        assert!(rest.is_empty());
        let notice = Notice { name: "a", is_one_of_many: false, quiet: false };
        let text = notice.summary(texts, &places).unwrap();
        let unavailable = texts.iter().any(|text| text.unavailable);
        (String::from_utf8(written).unwrap(), String::from_utf8(text).unwrap(), unavailable)
    }

    /// Rewrites a text in parts of `functions` functions each and compares the result
    /// with that of the whole text. Returns whether there was something to compare.
    fn agrees(text: &str, functions: usize, options: &RewriteOptions) -> bool {
        let check = errors_only();
        let ends: Vec<&str> = text.split_inclusive("\n}").collect();
        let parts: Vec<String> = ends.chunks(functions).map(<[&str]>::concat).collect();
        let Some(gates) = part_gates(&parts[0]) else {
            return false;
        };
        let mut kept = PartKept::default();
        let parts = parts.iter().enumerate().map(|(at, text)| {
            let (is_first, is_last) = (at == 0, at + 1 == parts.len());
            let part = Part { text, is_first, is_last, gates };
            lower_part(&part, &check, options, false, &mut kept)
        });
        let Some(parts) = parts.collect::<Option<Vec<_>>>().filter(|parts| are_alike(parts)) else {
            return false;
        };
        let (module, diagnostics) = parse_with(text, &check);
        let whole = Lowered::new(&module, &mut Rewriter::new(options), false).unwrap();
        assert_eq!((outcome(text, &parts), Vec::new()), (outcome(text, &[whole]), diagnostics));
        parts.iter().filter(|part| part.rewritten > 0).count() > 1
    }

    #[test]
    fn parts_of_heaps_are_written_as_the_whole_is() {
        let options = [
            RewriteOptions::default(),
            RewriteOptions::default().with_all(true).with_comments(true),
            RewriteOptions::default().with_semantics(Semantics::Manual),
            RewriteOptions::default().with_target(Some(Target::sm(120))),
        ];
        let mut numbers = Numbers(5);
        let mut several = 0;
        for round in 0..10_000 {
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
            several += usize::from(agrees(&text, 1 + numbers.below(3), options));
        }
        assert!(several > 500, "{several}");
    }

    /// Takes a few bytes of the first text only, or none.
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

    #[test]
    fn large_files_are_read_in_parts() {
        let folder = tempfile::tempdir().unwrap();
        let input = Input::File(folder.path().join("a.ptx"));
        let Input::File(path) = &input else { unreachable!() };
        let options = RewriteOptions::default();
        let function = ".func f()\n{\n.reg .b32 a;\nvadd.u32.u32.u32.sat a, a, 5;\n}\n";
        let head = ".version 8.0\n.target sm_90\n";
        let text = head.to_owned() + &function.repeat((5 << 20) / function.len());
        std::fs::write(path, &text).unwrap();
        let other = tempfile::tempfile().unwrap();
        let (_, parts) = in_parts(&input, &other, &options, false).unwrap();
        assert!(parts.len() > 5);
        let (module, _) = parse_with(&text, &errors_only());
        let whole = Lowered::new(&module, &mut Rewriter::new(&options), false).unwrap();
        assert!(whole.notes.len() > 10_000 && outcome(&text, &parts) == outcome(&text, &[whole]));
        // The output may be the input file itself.
        let itself = std::fs::File::options().append(true).open(path).unwrap();
        assert!(in_parts(&input, &itself, &options, false).is_none());
        let (_reader, pipe) = io::pipe().unwrap();
        assert!(in_parts(&input, &pipe, &options, false).is_none());
        std::fs::write(path, text + "// vptx: ignore\n").unwrap();
        assert!(in_parts(&input, &other, &options, false).is_none());
    }
}
