//! Why a command does nothing, or does nothing with one file.

use std::io::{self, Write};

use thiserror::Error;

use super::baseline::BaselineError;
use super::outputs::OutputError;
use super::port::HeaderError;
use super::{FAILED, Output, trouble};
use crate::diagnostic::InvalidRuleSelector;
use crate::extract::ExtractError;
use crate::workspace::binary::ContentError;
use crate::workspace::bug::Bug;
use crate::workspace::docs::DocsError;
use crate::workspace::error::FileError;
use crate::workspace::input::FinderError;
use crate::workspace::kind::LanguageError;
use crate::workspace::settings::SettingsError;
use crate::workspace::walk::WalkError;

/// An error of arguments or of a file. Its text is the message to the user.
#[derive(Debug, Error)]
pub(super) enum CommandError {
    #[error(transparent)]
    Bug(#[from] Bug),
    #[error(transparent)]
    File(#[from] FileError),
    #[error(transparent)]
    Language(#[from] LanguageError),
    #[error(transparent)]
    Docs(#[from] DocsError),
    #[error(transparent)]
    Settings(#[from] SettingsError),
    #[error(transparent)]
    Walk(#[from] WalkError),
    #[error(transparent)]
    Rules(#[from] InvalidRuleSelector),
    #[error(transparent)]
    Baseline(#[from] BaselineError),
    #[error(transparent)]
    Header(#[from] HeaderError),
    #[error(transparent)]
    Output(#[from] OutputError),
    /// A sentence, such as one about arguments that do not go together.
    #[error("{0}")]
    Said(String),
    /// The file for a report is also an input.
    #[error("`{0}` is an input: the report cannot be written to it")]
    ReportOverInput(String),
    #[error("`{0}` has no .target that vptx knows: name one, such as --target sm_90")]
    NoTarget(String),
    /// A file stays as it is.
    #[error("`{name}` is not changed: {why}")]
    Unchanged { name: String, why: &'static str },
    #[error("`{name}` is not read: {why}")]
    Unread { name: String, why: String },
    #[error("{0} has syntax errors")]
    Syntax(String),
    #[error("cannot read `{name}`: {why}")]
    Member { name: String, why: ExtractError },
    #[error("cannot read `{name}`: {why}")]
    Content { name: String, why: ContentError },
}

impl From<&str> for CommandError {
    fn from(sentence: &str) -> CommandError {
        CommandError::Said(sentence.into())
    }
}

impl From<String> for CommandError {
    fn from(sentence: String) -> CommandError {
        CommandError::Said(sentence)
    }
}

/// The reason why a command, or its work on one file, ends early.
pub(super) enum Trouble {
    Input(CommandError),
    Output(io::Error),
    /// The reason is printed already; this is the exit status.
    Printed(u8),
}

impl<E: Into<CommandError>> From<E> for Trouble {
    fn from(error: E) -> Trouble {
        Trouble::Input(error.into())
    }
}

impl From<io::Error> for Trouble {
    fn from(error: io::Error) -> Trouble {
        Trouble::Output(error)
    }
}

/// The exit status of work that is done. If it ended early, tells why.
pub(super) fn told(done: Result<u8, Trouble>, out: &mut Output) -> io::Result<u8> {
    match done {
        Ok(status) | Err(Trouble::Printed(status)) => Ok(status),
        Err(Trouble::Output(error)) => Err(error),
        Err(Trouble::Input(message)) => {
            out.stream.flush()?;
            trouble(&message);
            Ok(FAILED)
        }
    }
}

impl From<FinderError> for CommandError {
    fn from(error: FinderError) -> CommandError {
        match error {
            FinderError::Walk(error) => error.into(),
            FinderError::Settings(error) => error.into(),
        }
    }
}
