//! Why a file is not read or written.

use std::io;
use std::path::Path;

use thiserror::Error;

use crate::report::visible_path;

/// Why something cannot be done with a file. Names have the form that is shown to the reader.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(crate) enum FileError {
    /// The system refuses the action, or the file is of the wrong kind.
    #[error("cannot {action} `{name}`: {why}")]
    Named { action: &'static str, name: String, why: String },
    /// Like `Named`, for a file without a name. `action` describes the file.
    #[error("cannot {action}: {why}")]
    Unnamed { action: &'static str, why: String },
    #[error("`{0}` is larger than the limit of 4 GiB")]
    TooLarge(String),
    /// Two texts of binaries would be written to the same file.
    #[error("`{text}` is not written: another text has the file name `{name}`")]
    Taken { text: String, name: String },
}

impl FileError {
    pub(crate) fn new(action: &'static str, path: &Path, error: &io::Error) -> FileError {
        FileError::because(action, path, reason(error))
    }

    pub(crate) fn because(action: &'static str, path: &Path, why: impl Into<String>) -> FileError {
        FileError::Named { action, name: visible_path(path), why: why.into() }
    }

    pub(crate) fn unnamed(action: &'static str, error: &io::Error) -> FileError {
        FileError::Unnamed { action, why: reason(error) }
    }
}

/// The system's message without its error number.
pub(crate) fn reason(error: &io::Error) -> String {
    // The search of folders puts an error of its own, with the path, around that of the system.
    let source = error.get_ref().and_then(|error| error.source());
    if let Some(error) = source.and_then(|source| source.downcast_ref()) {
        return reason(error);
    }
    let text = error.to_string();
    match text.find(" (os error") {
        Some(at) => text[..at].to_lowercase(),
        None => text,
    }
}
