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

/// Shows a type by its `text`, and reads it by its `from_text`.
macro_rules! named {
    ($name:ident, $kind:literal) => {
        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.text())
            }
        }

        impl std::str::FromStr for $name {
            type Err = InvalidName;

            /// # Errors
            #[doc = concat!("If the text is not ", $kind, ", spelled as PTX spells it.")]
            fn from_str(text: &str) -> Result<$name, InvalidName> {
                $name::from_text(text).ok_or_else(|| InvalidName::new(text, $kind))
            }
        }
    };
}

pub(super) use named;
