//! Applying the fixes of findings.

use std::collections::HashSet;
use std::mem;

use super::check_counted;
use crate::check::{CheckOptions, Language};
use crate::diagnostic::{Applicability, Code, Diagnostic, Edit, Fix, Severity, applied};
use crate::source::Span;

/// The most rounds of safe fixes, and the most rounds of all fixes after them. A fix may make
/// further fixes possible.
const ROUNDS: usize = 100;

/// How often a round is tried again, without the fixes that made a statement worse.
const TRIALS: usize = 32;

/// After this many trials, fewer and fewer fixes are tried at once.
const PATIENCE: usize = 8;

/// A text with fixes made.
#[derive(Clone, Debug)]
pub struct Fixed {
    /// The text.
    pub text: String,
    /// The edits of each round, on the text that the round before left. The edits of a
    /// round are in order and do not overlap.
    pub rounds: Vec<Vec<Edit>>,
    /// The code of each finding that was fixed, in the order of the fixes.
    pub codes: Vec<Code>,
    /// The findings that are left to report.
    pub left: Vec<Diagnostic>,
    /// How many statements are, or were meant to be, video instructions.
    pub statements: usize,
}

impl Fixed {
    /// A text without fixes, with all its findings.
    pub(crate) fn unmade(source: &str, options: &CheckOptions) -> Fixed {
        let (statements, left) = check_counted(source, options);
        let text = source.to_string();
        Fixed { text, rounds: Vec::new(), codes: Vec::new(), left, statements }
    }
}

/// Makes the fixes of all findings, in at most 100 rounds, until none is left. With
/// [`Applicability::Safe`], it makes only fixes that keep the meaning. With
/// [`Applicability::Unsafe`], it then also makes the fix of each finding that offers exactly one.
/// It makes no fix that adds errors to the fixed statement or to the text. If a fix guesses a
/// mnemonic, modifier, comma or selector, no other fix changes that statement: a person should
/// review the guess first.
pub fn fix(source: &str, options: &CheckOptions, most: Applicability) -> Fixed {
    fix_new(source, options, most, |_| Vec::new())
}

/// Like [`fix`], but leaves known findings alone. `known` returns a flag for each finding of the
/// text, which is true if the finding is known. Findings without a flag are new.
pub(crate) fn fix_new(
    source: &str,
    options: &CheckOptions,
    most: Applicability,
    known: impl FnOnce(&[Diagnostic]) -> Vec<bool>,
) -> Fixed {
    let start = Fixed::unmade(source, options);
    let known = known(&start.left);
    let mut fixer = Fixer::new(start, options, &known);
    fixer.run(Applicability::Safe);
    if most == Applicability::Unsafe {
        fixer.run(Applicability::Unsafe);
    }
    fixer.fixed
}

/// How many findings of a checked text [`fix_new`] fixes: with safe fixes, and how many more with
/// all fixes.
pub(crate) fn offers(
    source: &str,
    options: &CheckOptions,
    found: &[Diagnostic],
    known: &[bool],
) -> [usize; 2] {
    if !found.iter().any(|it| choose_fix(&it.fixes, Applicability::Unsafe).is_some()) {
        return [0, 0];
    }
    let (text, left) = (source.to_string(), found.to_vec());
    let start = Fixed { text, rounds: Vec::new(), codes: Vec::new(), left, statements: 0 };
    let mut fixer = Fixer::new(start, options, known);
    fixer.run(Applicability::Safe);
    let safe = fixer.fixed.codes.len();
    fixer.run(Applicability::Unsafe);
    [safe, fixer.fixed.codes.len() - safe]
}

/// The fix that a tool may make without asking: a safe fix, or with [`Applicability::Unsafe`] the
/// only fix.
pub fn choose_fix(fixes: &[Fix], most: Applicability) -> Option<&Fix> {
    let safe = fixes.iter().find(|fix| fix.applicability == Applicability::Safe);
    let only = match fixes {
        [fix] if most == Applicability::Unsafe && fix.applicability == Applicability::Unsafe => {
            Some(fix)
        }
        _ => None,
    };
    safe.or(only)
}

/// A text whose fixes are being made.
struct Fixer<'o> {
    options: &'o CheckOptions,
    fixed: Fixed,
    guesses: Vec<Guess>,
    /// The code and the start of the statement of each finding that is not to be fixed.
    known: HashSet<(Code, u32)>,
}

/// A fix that may be made.
struct Choice<'d> {
    diagnostic: &'d Diagnostic,
    /// The number of the finding.
    at: usize,
    fix: &'d Fix,
    /// The span of the edits of the fix. Insertions elsewhere do not count.
    hull: Span,
    /// The statement it changes.
    zone: Span,
}

/// A statement that a fix replaced by a guess.
#[derive(Clone, Copy, Debug)]
struct Guess {
    zone: Span,
    /// Whether the fix guessed a mnemonic or a modifier. If so, the statement gets no more fixes;
    /// otherwise, only fixes of errors.
    names: bool,
}

impl Guess {
    /// The guess that this fix makes, if any.
    fn of(choice: &Choice<'_>) -> Option<Guess> {
        let Diagnostic { code, severity, .. } = *choice.diagnostic;
        let guessed = choice.fix.applicability == Applicability::Unsafe
            && (severity == Severity::Error || code == Code::ReplacedDestination);
        let names = matches!(code, Code::UnknownInstruction | Code::UnknownModifier);
        guessed.then_some(Guess { zone: choice.zone, names })
    }

    fn forbids(&self, choice: &Choice<'_>) -> bool {
        overlap(self.zone, choice.zone)
            && (self.names || choice.diagnostic.severity != Severity::Error)
    }
}

/// The span of edits. Insertions elsewhere do not count.
fn hull(edits: &[Edit]) -> Option<Span> {
    let mut replaced = edits.iter().filter(|edit| !edit.span.is_empty());
    match (replaced.next(), replaced.next_back()) {
        (Some(first), last) => Some(first.span.to(last.unwrap_or(first).span)),
        (None, _) => Some(edits.first()?.span.to(edits.last()?.span)),
    }
}

/// The edits of a batch in order.
fn edits(batch: &[Choice<'_>]) -> Vec<Edit> {
    let mut edits: Vec<Edit> =
        batch.iter().flat_map(|choice| choice.fix.edits.iter().cloned()).collect();
    edits.sort_by_key(|edit| edit.span);
    edits
}

/// Whether two spans have a byte in common; an empty one counts as one byte.
fn overlap(one: Span, other: Span) -> bool {
    let end = |span: Span| span.end.max(span.start + 1);
    one.start < end(other) && other.start < end(one)
}

impl<'o> Fixer<'o> {
    fn new(fixed: Fixed, options: &'o CheckOptions, known: &[bool]) -> Fixer<'o> {
        let mut zones = Zones::new(&fixed.text, options.language);
        let known = fixed.left.iter().zip(known).filter(|(_, known)| **known);
        let known = known.map(|(found, _)| {
            let fix = choose_fix(&found.fixes, Applicability::Unsafe);
            let hull = fix.and_then(|fix| hull(&fix.edits)).unwrap_or(found.span);
            (found.code, zones.of(found.statement, hull).start)
        });
        let known = known.collect();
        Fixer { options, fixed, guesses: Vec::new(), known }
    }

    fn run(&mut self, most: Applicability) {
        for _ in 0..ROUNDS {
            if !self.round(most) {
                break;
            }
        }
    }

    /// Makes one fix in each statement that has fixes, unless the fix adds errors to the statement.
    /// Returns false if there is no fix to make.
    fn round(&mut self, most: Applicability) -> bool {
        let mut rejected = HashSet::new();
        for trial in 0..TRIALS {
            let mut batch = self.batch(most, &rejected);
            if let Some(halvings) = trial.checked_sub(PATIENCE) {
                batch.truncate((batch.len() >> halvings).max(1));
            }
            if batch.is_empty() {
                return false;
            }
            let mut edits = edits(&batch);
            if edits.windows(2).any(|pair| pair[1].span.start < pair[0].span.end) {
                batch.truncate(1);
                edits = self::edits(&batch);
            }
            let text = applied(&self.fixed.text, &edits);
            let (statements, left) = check_counted(&text, self.options);
            let shift = Moves::new(&edits);
            let worse = self.worse(&batch, &left, &shift);
            if !worse.is_empty() {
                rejected.extend(worse);
                continue;
            }
            let codes: Vec<Code> = batch.iter().map(|choice| choice.diagnostic.code).collect();
            let guesses: Vec<Guess> = batch.iter().filter_map(Guess::of).collect();
            self.guesses.extend(guesses);
            self.guesses.sort_by_key(|guess| guess.zone);
            for guess in &mut self.guesses {
                guess.zone = shift.span(guess.zone);
            }
            let known = mem::take(&mut self.known).into_iter();
            self.known =
                known.map(|(code, start)| (code, shift.span(Span::at(start)).start)).collect();
            self.fixed.codes.extend(codes);
            self.fixed.rounds.push(edits);
            (self.fixed.text, self.fixed.left) = (text, left);
            self.fixed.statements = statements;
            return true;
        }
        false
    }

    /// Fixes to be made at once: one for each statement, and no two that overlap.
    fn batch(&self, most: Applicability, rejected: &HashSet<usize>) -> Vec<Choice<'_>> {
        let Fixed { text, left, .. } = &self.fixed;
        let mut zones = Zones::new(text, self.options.language);
        let mut choices: Vec<Choice<'_>> = left
            .iter()
            .enumerate()
            .filter_map(|(at, diagnostic)| {
                let fix = choose_fix(&diagnostic.fixes, most)?;
                let hull = hull(&fix.edits)?;
                let changes = fix.edits.iter().any(|it| it.span.text(text) != it.replacement);
                if !changes || rejected.contains(&at) {
                    return None;
                }
                let zone = zones.of(diagnostic.statement, hull);
                let is_known = self.known.contains(&(diagnostic.code, zone.start));
                (!is_known).then_some(Choice { diagnostic, at, fix, hull, zone })
            })
            .filter(|choice| {
                // Zones that overlap have the same start, so their ends are in order, too.
                let before = self.guesses.partition_point(|it| it.zone.end < choice.zone.start);
                !self.guesses[before..]
                    .iter()
                    .take_while(|guess| guess.zone.start <= choice.zone.end)
                    .any(|guess| guess.forbids(choice))
            })
            .collect();
        choices.sort_by_key(|choice| choice.hull);
        let mut batch: Vec<Choice<'_>> = Vec::new();
        // The ends of the last statement and the last edit in the batch.
        let (mut zones, mut hulls) = (0, 0);
        for choice in choices {
            let is_alone = choice.diagnostic.statement.is_none();
            let free = batch.is_empty()
                || choice.hull.start > hulls && (is_alone || choice.zone.start >= zones);
            if free {
                hulls = choice.hull.end;
                if !is_alone {
                    zones = choice.zone.end;
                }
                batch.push(choice);
            }
        }
        batch
    }

    /// The fixes of a batch that add errors to their statements. If no statement has more errors
    /// but the text has, the second half of the batch.
    fn worse(&self, batch: &[Choice<'_>], left: &[Diagnostic], shift: &Moves) -> Vec<usize> {
        let before = self.errors(&self.fixed.left);
        let after = self.errors(left);
        let is_worse = |choice: &&Choice<'_>| {
            count(&after, shift.span(choice.zone)) > count(&before, choice.zone)
        };
        let worse: Vec<usize> = batch.iter().filter(is_worse).map(|choice| choice.at).collect();
        if worse.is_empty() && after.len() > before.len() {
            return batch[batch.len() / 2..].iter().map(|choice| choice.at).collect();
        }
        worse
    }

    /// The offsets of the errors, in order. In PTX, the offset of an error is the start of its
    /// statement. In other languages, it is the start of the error, as an `asm` may hold several
    /// PTX statements.
    fn errors(&self, diagnostics: &[Diagnostic]) -> Vec<u32> {
        let ptx = self.options.language == Language::Ptx;
        let mut places: Vec<u32> = diagnostics
            .iter()
            .filter(|diagnostic| diagnostic.severity == Severity::Error)
            .map(|it| it.statement.filter(|_| ptx).unwrap_or(it.span).start)
            .collect();
        places.sort_unstable();
        places
    }
}

/// How many of the sorted places are in a span.
fn count(places: &[u32], span: Span) -> usize {
    let end = span.end.max(span.start + 1);
    let before = |offset: u32| places.partition_point(|&place| place < offset);
    before(end) - before(span.start)
}

/// Finds the statement that a fix changes.
struct Zones<'s> {
    text: &'s str,
    language: Language,
    /// The `asm` asked for last, and whether it may have comments.
    last: Option<(Span, bool)>,
}

impl<'s> Zones<'s> {
    fn new(text: &'s str, language: Language) -> Zones<'s> {
        Zones { text, language, last: None }
    }

    /// The statement that a fix changes, given the statement of its finding and the span of its
    /// edits.
    fn of(&mut self, statement: Option<Span>, hull: Span) -> Span {
        let Some(statement) = statement else {
            return hull;
        };
        let whole = Span::new(statement.start.min(hull.start), statement.end.max(hull.end));
        if self.language == Language::Ptx {
            return whole;
        }
        let last = self.last.filter(|(last, _)| *last == whole);
        let (_, comments) = *self
            .last
            .insert(last.unwrap_or_else(|| (whole, whole.text(self.text).contains(['/', '#']))));
        // A `;` may be in a comment, so it does not show where a statement ends.
        if comments {
            return whole;
        }
        let part = |start, end| Span::new(start, end).text(self.text);
        let before = part(whole.start, hull.start).rfind(';').map_or(0, |at| at as u32 + 1);
        let behind = part(hull.end, whole.end).find(';').map(|at| hull.end + at as u32 + 1);
        Span::new(whole.start + before, behind.unwrap_or(whole.end))
    }
}

/// Moves places as edits move them.
struct Moves {
    /// For each edit, in order: its span, and how far everything after it moves, modulo 2^32
    /// because text may move backwards.
    moves: Vec<(Span, u32)>,
}

impl Moves {
    fn new(edits: &[Edit]) -> Moves {
        let mut by = 0u32;
        let moves = edits.iter().map(|edit| {
            by = by.wrapping_add(edit.replacement.len() as u32).wrapping_sub(edit.span.len());
            (edit.span, by)
        });
        Moves { moves: moves.collect() }
    }

    /// Moves a span whose ends no edit crosses. Text inserted at the end of the span becomes part
    /// of the span.
    fn span(&self, span: Span) -> Span {
        let moved = |offset: u32, passed: usize| {
            let by = passed.checked_sub(1).map_or(0, |last| self.moves[last].1);
            offset.wrapping_add(by)
        };
        let before = self
            .moves
            .partition_point(|(edit, _)| edit.end <= span.start && edit.start < span.start);
        let inside = self.moves.partition_point(|(edit, _)| edit.end <= span.end);
        Span::new(moved(span.start, before), moved(span.end, inside))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of fixes that overlap, only the first is made.
    #[test]
    fn fixes_do_not_overlap() {
        let finding = |start: u32, end: u32| {
            let span = Span::new(start, end);
            let edit = Edit::replace(span, "x");
            Diagnostic::new(Code::UnusedSuppression, span, "").fix(
                Applicability::Safe,
                "",
                vec![edit],
            )
        };
        let left = vec![finding(0, 4), finding(2, 6), finding(4, 8), finding(5, 8), finding(9, 9)];
        let text = "abcdefghij".to_string();
        let start = Fixed { text, rounds: Vec::new(), codes: Vec::new(), left, statements: 0 };
        let options = CheckOptions::default();
        let fixer = Fixer::new(start, &options, &[]);
        let batch = fixer.batch(Applicability::Safe, &HashSet::new());
        let places: Vec<usize> = batch.iter().map(|choice| choice.at).collect();
        assert_eq!(places, [0, 3, 4]);
    }

    /// An insertion counts what stands at its place.
    #[test]
    fn an_empty_span_counts_one_byte() {
        let places = [3, 5, 5, 6];
        assert_eq!(count(&places, Span::at(5)), 2);
        assert_eq!(count(&places, Span::new(3, 6)), 3);
    }

    #[test]
    fn spans_move_with_edits() {
        let edits =
            [Edit::insert(3, "xx"), Edit::replace(Span::new(5, 8), ""), Edit::insert(10, ";")];
        let shift = Moves::new(&edits);
        for (before, after) in [
            (Span::new(0, 2), Span::new(0, 2)),
            (Span::new(3, 9), Span::new(3, 8)),
            (Span::new(4, 10), Span::new(6, 10)),
            (Span::new(10, 10), Span::new(9, 10)),
            (Span::new(11, 12), Span::new(11, 12)),
        ] {
            assert_eq!(shift.span(before), after, "{before:?}");
        }
    }
}
