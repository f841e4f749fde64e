//! Errors in names of the instruction set.

use thiserror::Error;

/// A text that names nothing of the wanted kind. Names are spelled in lower case, with
/// their dot if they have one.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{text}` is not {kind}")]
pub struct InvalidName {
    text: String,
    kind: &'static str,
}

impl InvalidName {
    /// `kind` is a noun with its article.
    pub(super) fn new(text: &str, kind: &'static str) -> InvalidName {
        InvalidName { text: text.into(), kind }
    }
}
