//! `vptx lower --emit ptx`

use std::borrow::Cow;
use std::cell::LazyCell;
use std::io::{self, IoSlice, Write};

use anstream::AutoStream;

use super::super::eval::{SemanticsName, human};
use super::super::{FAILED, FOUND, Output, errors_only, trouble};
use super::Arguments;
use crate::ast::Instruction;
use crate::check::parse_with;
use crate::ir::Semantics;
use crate::isa::Target;
use crate::report::FileReport;
use crate::rewrite::{
    Change, Cost, FreshRegisters, Gate, Outcome, RewriteError, RewriteOptions, rewrite,
};
use crate::source::{LineIndex, Position, UNDECODABLE, decoded};

/// The one semantics that was asked for.
fn semantics(arguments: &Arguments) -> Semantics {
    let name = arguments.semantics.unwrap_or(SemanticsName::Ptxas13);
    name.list().first().copied().unwrap_or(Semantics::Ptxas13)
}

/// What an instruction costs beside what `to_ptx` writes for it, if that was
/// measured.
pub(in crate::cli) fn costs(
    instruction: &Instruction,
    semantics: Semantics,
    target: Target,
) -> Option<String> {
    let Cost { ptxas, rewritten, strategy } = instruction.cost(target)?;
    if instruction.has_constants() {
        // It was measured with registers.
        return None;
    }
    let plural = if ptxas == 1 { "" } else { "s" };
    let native = format!("ptxas 13.5 makes {ptxas} machine instruction{plural} of it on {target}");
    let gate = Gate { target, version: None };
    let measured = strategy.sequence(instruction, semantics, gate);
    let same = instruction.lower(semantics) == instruction.lower(Semantics::Ptxas13);
    // The cheapest may be built on `vabsdiff4`, which is not written here.
    let measured = measured.filter(|sequence| same && sequence.is_ordinary());
    Some(match measured {
        // The figure is that of the most that any of its class takes.
        Some(sequence) if sequence.lines().len() < rewritten as usize => {
            format!("{native}, and at most {rewritten} of this")
        }
        Some(_) => format!("{native}, and {rewritten} of this"),
        None => native,
    })
}

pub(super) fn single(
    instruction: &Instruction,
    arguments: &Arguments,
    out: &mut Output,
) -> io::Result<u8> {
    let Some(target) = arguments.target else {
        trouble("an instruction needs a target: --target sm_90, for example");
        return Ok(FAILED);
    };
    let mut registers = FreshRegisters::avoiding(&instruction.to_string());
    let semantics = semantics(arguments);
    let text = match instruction.to_ptx(target, semantics, &mut registers) {
        Ok(text) => text,
        Err(error) => {
            trouble(&error.to_string());
            return Ok(FOUND);
        }
    };
    writeln!(out.stream, "// {instruction}")?;
    if let Some(costs) = costs(instruction, semantics, target) {
        writeln!(out.stream, "// {costs}")?;
    }
    let differs: Vec<&str> = Semantics::ALL
        .into_iter()
        .filter(|other| instruction.lower(*other) != instruction.lower(semantics))
        .map(Semantics::text)
        .collect();
    if !differs.is_empty() {
        writeln!(out.stream, "// as {semantics}; not as {}", differs.join(", "))?;
    }
    for declaration in registers.declarations() {
        writeln!(out.stream, "{declaration}")?;
    }
    writeln!(out.stream, "{text}")?;
    Ok(0)
}

pub(super) fn file(
    name: &str,
    bytes: &[u8],
    arguments: &Arguments,
    out: &mut Output,
) -> io::Result<u8> {
    let source = decoded(bytes);
    let (module, diagnostics) = parse_with(&source, &errors_only());
    let options = RewriteOptions::default()
        .with_target(arguments.target)
        .with_semantics(semantics(arguments))
        .with_all(arguments.all)
        .with_comments(arguments.comments);
    let rewritten = match rewrite(&module, &options) {
        Ok(rewritten) => rewritten,
        Err(RewriteError::NoTarget) => {
            trouble(&format!(
                "`{name}` has no .target: say for which one, --target sm_90, for example"
            ));
            return Ok(FAILED);
        }
    };
    // Not through the stream, which may drop escapes; what is not UTF-8 comes
    // back as it was.
    let is_utf8 = matches!(source, Cow::Borrowed(_));
    let mut texts = Vec::with_capacity(2 * rewritten.edits().len() + 1);
    let mut at = 0;
    for edit in rewritten.edits() {
        if !is_utf8 && edit.replacement.contains(UNDECODABLE) {
            trouble(&format!("`{name}` is left alone: an instruction is not in UTF-8"));
            return Ok(FAILED);
        }
        texts.push(IoSlice::new(&bytes[at..edit.span.start as usize]));
        texts.push(IoSlice::new(edit.replacement.as_bytes()));
        at = edit.span.end as usize;
    }
    texts.push(IoSlice::new(&bytes[at..]));
    let mut stdout = io::stdout().lock();
    write_all(&mut stdout, &mut texts)?;
    stdout.flush()?;

    let found = !diagnostics.is_empty();
    let mut errors = AutoStream::auto(io::stderr().lock());
    if !arguments.quiet {
        tell(&mut errors, name, &source, &rewritten.changes, &options)?;
    }
    let unavailable = rewritten.changes.iter().any(|change| change.outcome == Outcome::Unavailable);
    if found {
        let file = FileReport { path: name, source: &source, diagnostics: &diagnostics };
        errors.write_all(&human(&out.style, &file)?)?;
    }
    Ok(if found || unavailable { FOUND } else { 0 })
}

/// How many texts are written at once: systems take no more.
const MANY: usize = 1024;

/// Writes texts one behind the other, and copies none.
fn write_all(out: &mut impl Write, mut texts: &mut [IoSlice<'_>]) -> io::Result<()> {
    // Leaves empty ones out.
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

/// What was rewritten, and where the semantics differ.
fn tell(
    errors: &mut impl Write,
    name: &str,
    source: &str,
    changes: &[Change<'_>],
    options: &RewriteOptions,
) -> io::Result<()> {
    // Mostly there is no place to tell.
    let index = LazyCell::new(|| LineIndex::new(source));
    let place = |change: &Change<'_>| {
        let Position { line, column } = index.position(source, change.span.start);
        format!("{name}:{line}:{column}")
    };
    let (mut rewritten, mut before, mut after, mut measured) = (0usize, 0, 0, 0usize);
    for change in changes {
        let instruction = change.instruction;
        match change.outcome {
            Outcome::Rewritten(_) => {
                rewritten += 1;
                if let Some(cost) = change.cost {
                    measured += 1;
                    before += cost.ptxas;
                    after += cost.rewritten;
                }
                if !change.differs.is_empty() {
                    let others: Vec<&str> =
                        change.differs.iter().map(|other| other.text()).collect();
                    writeln!(
                        errors,
                        "{}: note: `{instruction}` is written as {} computes it, not as {}",
                        place(change),
                        options.semantics,
                        others.join(" and "),
                    )?;
                }
            }
            Outcome::Unavailable => writeln!(
                errors,
                "{}: `{instruction}` stays: the module's .target and .version have nothing \
                 to write it with",
                place(change)
            )?,
            Outcome::Kept => {}
        }
    }
    let plural = |count: usize| if count == 1 { "" } else { "s" };
    let total = changes.len();
    write!(errors, "{rewritten} of {total} video instruction{} rewritten", plural(total))?;
    if measured > 0 {
        let target = changes.first().map(|change| change.target);
        let target = target.map_or_else(String::new, |target| format!(" on {target}"));
        write!(errors, ": {before} → {after} machine instructions{target}")?;
        if measured < rewritten {
            write!(errors, ", of {measured} that are measured")?;
        }
    }
    writeln!(errors)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes some bytes of the first text only, if it takes any.
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
