//! Replacements in a text.

use thiserror::Error;

use crate::source::Span;

/// A replacement of a part of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Edit {
    /// The bytes to replace.
    #[cfg_attr(feature = "serde", serde(flatten))]
    pub span: Span,
    /// The text in their place.
    pub replacement: String,
}

impl Edit {
    /// Replaces a span.
    pub fn replace(span: Span, replacement: impl Into<String>) -> Edit {
        Edit { span, replacement: replacement.into() }
    }

    /// Removes a span.
    pub fn remove(span: Span) -> Edit {
        Edit::replace(span, "")
    }

    /// Inserts text.
    pub fn insert(at: u32, text: impl Into<String>) -> Edit {
        Edit::replace(Span::at(at), text)
    }
}

/// The reason why edits cannot be applied to a text. `at` is the index of the edit, from 0.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum EditError {
    /// The span of an edit ends before it starts.
    #[error("edit {at} ends before it starts")]
    Inverted {
        /// The index of the edit.
        at: usize,
    },
    /// An edit lies outside the text.
    #[error("edit {at} lies outside the text")]
    Outside {
        /// The index of the edit.
        at: usize,
    },
    /// An edit starts or ends inside a character.
    #[error("edit {at} splits a character")]
    SplitsCharacter {
        /// The index of the edit.
        at: usize,
    },
    /// An edit starts before the end of the one before it.
    #[error("edit {at} starts before the end of the edit before it")]
    Unordered {
        /// The index of the edit.
        at: usize,
    },
}

/// Applies edits to a text. The edits must be in the order of the text, without overlap. If several
/// insert at the same place, their texts stand in the order of the edits.
///
/// ```
/// use vptx::diagnostic::{Edit, EditError, apply};
/// use vptx::source::Span;
///
/// let edits = [Edit::replace(Span::new(0, 3), "sub"), Edit::insert(7, ".sat")];
/// assert_eq!(apply("add.s32 d, a, b;", &edits)?, "sub.s32.sat d, a, b;");
/// let [first, second] = edits;
/// let error = apply("add.s32 d, a, b;", &[second, first]).unwrap_err();
/// assert_eq!(error, EditError::Unordered { at: 1 });
/// # Ok::<(), EditError>(())
/// ```
///
/// # Errors
/// If an edit is not in order, overlaps another, lies outside the text or splits a character.
pub fn apply(source: &str, edits: &[Edit]) -> Result<String, EditError> {
    let mut end = 0;
    for (at, Edit { span, .. }) in edits.iter().enumerate() {
        let range = span.start as usize..span.end as usize;
        if range.start > range.end {
            return Err(EditError::Inverted { at });
        }
        if range.end > source.len() {
            return Err(EditError::Outside { at });
        }
        if !source.is_char_boundary(range.start) || !source.is_char_boundary(range.end) {
            return Err(EditError::SplitsCharacter { at });
        }
        if range.start < end {
            return Err(EditError::Unordered { at });
        }
        end = range.end;
    }
    Ok(applied(source, edits))
}

/// Like [`apply`], for edits that were made for this text.
pub(crate) fn applied(source: &str, edits: &[Edit]) -> String {
    let mut edited = String::with_capacity(source.len());
    let mut at = 0;
    for edit in edits {
        edited.push_str(&source[at..edit.span.start as usize]);
        edited.push_str(&edit.replacement);
        at = edit.span.end as usize;
    }
    edited.push_str(&source[at..]);
    edited
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_apply_in_order_or_are_refused() {
        let edit = |start, end| Edit::replace(Span { start, end }, "x");
        // The `é` has two bytes.
        let text = "aébc";
        for (edits, expected) in [
            (vec![], Ok("aébc")),
            (vec![edit(0, 0), edit(0, 0), edit(0, 1)], Ok("xxxébc")),
            (vec![edit(0, 1), edit(1, 3), edit(5, 5)], Ok("xxbcx")),
            (vec![edit(3, 1)], Err(EditError::Inverted { at: 0 })),
            (vec![edit(0, 1), edit(5, 6)], Err(EditError::Outside { at: 1 })),
            (vec![edit(9, 9)], Err(EditError::Outside { at: 0 })),
            (vec![edit(2, 3)], Err(EditError::SplitsCharacter { at: 0 })),
            (vec![edit(0, 2)], Err(EditError::SplitsCharacter { at: 0 })),
            (vec![edit(3, 4), edit(0, 1)], Err(EditError::Unordered { at: 1 })),
            (vec![edit(0, 4), edit(3, 5)], Err(EditError::Unordered { at: 1 })),
            (vec![edit(1, 3), edit(1, 1)], Err(EditError::Unordered { at: 1 })),
        ] {
            assert_eq!(apply(text, &edits), expected.map(str::to_string), "{edits:?}");
        }
    }

    #[test]
    #[should_panic(expected = "a span ends before it starts")]
    fn a_span_does_not_end_before_it_starts() {
        let _ = Span::new(5, 3);
    }
}
