//! Finds the lines that comments are about.

use super::SuppressionScope;
use crate::check::Language;
use crate::source::{LineIndex, Span};

/// For each comment of a text, the line that the comment is about: its own line if that line has
/// code, otherwise the next one. Lines with only comments are skipped; a blank line is not. The
/// search looks at every byte twice.
pub(super) fn scopes(
    source: &str,
    language: Language,
    comments: &[Span],
    index: &LineIndex,
) -> Vec<SuppressionScope> {
    let before = before(source, language, comments);
    let last_line = |comment: Span| index.line(comment.end.saturating_sub(1).max(comment.start));
    let mut scopes = vec![SuppressionScope::File; comments.len()];
    // For the next comment: whether code follows on its line, and the line that the comment would
    // be about if no code came before it.
    let mut next: Option<(bool, usize)> = None;
    for (at, &comment) in comments.iter().enumerate().rev() {
        let end = comments.get(at + 1).map_or(source.len(), |next| next.start as usize);
        let gap = &source[comment.end as usize..end];
        let (line, rest) = match gap.split_once('\n') {
            Some((line, rest)) => (line, Some(rest)),
            None => (gap, None),
        };
        let joins = rest.is_none()
            && comments.get(at + 1).is_some_and(|next| !next.text(source).contains('\n'));
        let after = has_code(line, language) || joins && next.is_some_and(|(after, _)| after);
        let last = last_line(comment);
        let adjoins = !has_code(line, language)
            && rest.is_none_or(|rest| !rest.contains('\n') && !has_code(rest, language));
        let below = match (next, comments.get(at + 1)) {
            (Some((true, _)), Some(&next)) if adjoins => last_line(next),
            (Some((false, below)), Some(_)) if adjoins => below,
            _ => last + 1,
        };
        scopes[at] = match (before[at], after) {
            (true, _) => SuppressionScope::Beside(index.line(comment.start)),
            (false, true) => SuppressionScope::Beside(last),
            (false, false) => SuppressionScope::Below(below),
        };
        next = Some((after, below));
    }
    scopes
}

/// Whether code stands before each comment on its line.
fn before(source: &str, language: Language, comments: &[Span]) -> Vec<bool> {
    let mut end = 0;
    let mut is_code = false;
    let has_code_before = |comment: &Span| {
        let gap = &source[end..comment.start as usize];
        is_code = match gap.rfind('\n') {
            Some(newline) => has_code(&gap[newline + 1..], language),
            None => is_code || has_code(gap, language),
        };
        end = comment.end as usize;
        let before = is_code;
        is_code &= !comment.text(source).contains('\n');
        before
    };
    comments.iter().map(has_code_before).collect()
}

/// Whether a part of a line has code. The part must not have comments.
fn has_code(text: &str, language: Language) -> bool {
    let text = text.trim();
    // A backslash that joins the lines of a macro is not code.
    !text.is_empty() && (language == Language::Ptx || text != "\\")
}
