//! Making the fixes of findings.

use super::Code;
use crate::check::{CheckOptions, check_counted};
use crate::diagnostic::{Applicability, Diagnostic, Edit, Fix, Severity, apply};
use crate::source::Span;

/// Rounds of fixes; each may make room for others.
const ROUNDS: usize = 100;

/// Fixes tried one by one, where all together make a text worse.
const TRIALS: usize = 64;

/// A text with fixes made.
#[derive(Clone, Debug)]
pub struct Fixed {
    /// The text.
    pub text: String,
    /// The edits of each round, on the text that the round before left; those of
    /// one are in order and do not overlap.
    pub rounds: Vec<Vec<Edit>>,
    /// The code of each finding that was mended, in the order of mending.
    pub mended: Vec<Code>,
    /// What is left to report.
    pub left: Vec<Diagnostic>,
    /// How many statements are, or were meant to be, video instructions.
    pub statements: usize,
}

impl Fixed {
    /// A text as it is, with all there is to report.
    pub(crate) fn unmade(source: &str, options: &CheckOptions) -> Fixed {
        let (statements, left) = check_counted(source, options);
        let text = source.to_string();
        Fixed { text, rounds: Vec::new(), mended: Vec::new(), left, statements }
    }
}

/// Makes the fixes of all findings, until none is left to make. With
/// [`Applicability::Safe`] only those that keep the meaning; with
/// [`Applicability::Unsafe`] also those of findings that offer a single one. A
/// fix that would bring more errors is not made.
pub fn fix(source: &str, options: &CheckOptions, most: Applicability) -> Fixed {
    let mut fixed = Fixed::unmade(source, options);
    for _ in 0..ROUNDS {
        let batch = batch(&fixed.left, most);
        if batch.is_empty() {
            break;
        }
        let Some(round) = attempt(&fixed, &batch, options) else {
            break;
        };
        fixed.mended.extend(round.mended);
        fixed.rounds.push(round.edits);
        fixed.text = round.text;
        fixed.left = round.left;
        fixed.statements = round.statements;
    }
    fixed
}

/// Fixes to be made at once: one for each statement, none in another's way.
fn batch(diagnostics: &[Diagnostic], most: Applicability) -> Vec<(Code, &Fix)> {
    let mut choices: Vec<(Span, &Diagnostic, &Fix)> = diagnostics
        .iter()
        .filter_map(|diagnostic| {
            let fix = choose_fix(&diagnostic.fixes, most)?;
            let hull = fix.edits.first()?.span.to(fix.edits.last()?.span);
            Some((hull, diagnostic, fix))
        })
        .collect();
    choices.sort_by_key(|(hull, ..)| *hull);
    let mut batch = Vec::new();
    let mut last: Option<(Span, Option<Span>)> = None;
    for (hull, diagnostic, fix) in choices {
        let free = last.is_none_or(|(before, statement)| {
            hull.start > before.end && (statement.is_none() || statement != diagnostic.statement)
        });
        if free {
            batch.push((diagnostic.code, fix));
            last = Some((hull, diagnostic.statement));
        }
    }
    batch
}

/// The fix that a tool may make, if there is no doubt which: a safe one, or with
/// [`Applicability::Unsafe`] the only one there is.
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

struct Round {
    mended: Vec<Code>,
    edits: Vec<Edit>,
    text: String,
    left: Vec<Diagnostic>,
    statements: usize,
}

/// The text with the fixes of a batch, or with the first of them that makes it
/// no worse.
fn attempt(fixed: &Fixed, batch: &[(Code, &Fix)], options: &CheckOptions) -> Option<Round> {
    let before = errors(&fixed.left);
    let round = |batch: &[(Code, &Fix)]| {
        let edits: Vec<Edit> = batch.iter().flat_map(|(_, fix)| fix.edits.clone()).collect();
        let text = apply(&fixed.text, &edits);
        let (statements, left) = check_counted(&text, options);
        let better = errors(&left) <= before && text != fixed.text;
        let mended = batch.iter().map(|(code, _)| *code).collect();
        better.then_some(Round { mended, edits, text, left, statements })
    };
    round(batch).or_else(|| batch.chunks(1).take(TRIALS).find_map(round))
}

fn errors(diagnostics: &[Diagnostic]) -> usize {
    diagnostics.iter().filter(|diagnostic| diagnostic.severity == Severity::Error).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fixed(source: &str, most: Applicability) -> Fixed {
        fix(source, &CheckOptions::default(), most)
    }

    #[test]
    fn rounds_settle_what_overlaps() {
        let text = "vadd.sat.s32.s32.s32.sat d, a.b0, b, c;\nvmad.s32.s32.s32 d, -a, -b, c;";
        let done = fixed(text, Applicability::Safe);
        assert_eq!(done.text, "vadd.s32.s32.s32.sat d, a.b0, b;\nvmad.s32.s32.s32 d, a, b, c;");
        assert!(done.left.is_empty());
        assert!(done.rounds.len() > 1);
        let replayed = done.rounds.iter().fold(text.to_string(), |text, edits| apply(&text, edits));
        assert_eq!(replayed, done.text);
    }

    #[test]
    fn unsafe_fixes_want_to_be_asked_for_and_to_be_the_only_ones() {
        let text = "vad4.u32.u32.u32 d, a, b, c;\nvshl.u32.u32.u32 d, a, b;";
        assert_eq!(fixed(text, Applicability::Safe).text, text);
        let done = fixed(text, Applicability::Unsafe);
        // `.clamp` or `.wrap`: nobody knows.
        assert_eq!(done.text, "vadd4.u32.u32.u32 d, a, b, c;\nvshl.u32.u32.u32 d, a, b;");
        assert_eq!(done.mended, [Code::V101]);
        assert_eq!(done.left.len(), 1);
    }
}
