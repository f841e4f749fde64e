//! Errors in names of the instruction set.

use thiserror::Error;

/// The error for a text that is not a name of the wanted kind. Names are in lower case and include
/// their dot, if they have one.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{text}` is not {kind}")]
pub struct InvalidName {
    text: String,
    kind: &'static str,
}

impl InvalidName {
    /// `kind` is a noun with its article.
    pub(crate) fn new(text: &str, kind: &'static str) -> InvalidName {
        InvalidName { text: text.into(), kind }
    }
}
