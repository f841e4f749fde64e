//! The text after edits, and where its parts were.

use crate::diagnostic::{Edit, applied};
use crate::source::Span;

/// A text after [edits](super::Edits), with the places of its parts before and after.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edited {
    text: String,
    edits: Vec<Edit>,
    inverse: Vec<Edit>,
}

impl Edited {
    /// Applies edits that are in order.
    pub(super) fn new(source: &str, edits: Vec<Edit>) -> Edited {
        let text = applied(source, &edits);
        let (mut removed, mut added) = (0, 0);
        let inverse = edits.iter().map(|edit| {
            let start = edit.span.start - removed + added;
            let length = edit.replacement.len() as u32;
            removed += edit.span.len();
            added += length;
            Edit::replace(Span::new(start, start + length), edit.span.text(source))
        });
        let inverse = inverse.collect();
        Edited { text, edits, inverse }
    }

    /// The new text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The new text.
    pub fn into_text(self) -> String {
        self.text
    }

    /// The replacements that turn the old text into the new one, for
    /// [`apply`](crate::diagnostic::apply).
    pub fn edits(&self) -> &[Edit] {
        &self.edits
    }

    /// The replacements that turn the new text into the old one.
    pub fn inverse(&self) -> &[Edit] {
        &self.inverse
    }

    /// Where a part of the old text stands in the new one. A text that is inserted right before or
    /// behind the part does not belong to it; a text that replaces some of the part does. An offset
    /// is a span without length.
    pub fn to_new(&self, old: Span) -> Span {
        moved(old, &self.edits, &self.inverse)
    }

    /// Where a part of the new text stood in the old one. For inserted text, the place of the
    /// insertion.
    pub fn to_old(&self, new: Span) -> Span {
        moved(new, &self.inverse, &self.edits)
    }
}

/// Moves a part of one text to another: the edits `from` have their places in the one text, and
/// `to` in the other.
fn moved(part: Span, from: &[Edit], to: &[Edit]) -> Span {
    let next = from.partition_point(|edit| edit.span.end <= part.start);
    let start = match from.get(next) {
        Some(edit) if edit.span.start < part.start => to[next].span.start,
        _ => moved_behind(part.start, next, from, to),
    };
    if part.is_empty() {
        return Span::at(start);
    }
    let next = from.partition_point(|edit| edit.span.start < part.end);
    let end = match next.checked_sub(1) {
        Some(last) if from[last].span.end > part.end => to[last].span.end,
        _ => moved_behind(part.end, next, from, to),
    };
    Span::new(start, end)
}

/// Moves an offset that stands behind `count` edits.
fn moved_behind(offset: u32, count: usize, from: &[Edit], to: &[Edit]) -> u32 {
    match count.checked_sub(1) {
        Some(last) => to[last].span.end + (offset - from[last].span.end),
        None => offset,
    }
}
