//! Why a function failed.
#![forbid(unsafe_code)]

use std::fmt::Display;

use library::Diagnostic;

use crate::findings::Findings;
use crate::types::Status;

/// The reason why a function failed.
pub struct Error {
    pub(crate) message: String,
    pub(crate) findings: Option<Box<Findings>>,
}

/// A failure inside of a function.
pub(crate) struct Failure {
    pub(crate) status: Status,
    message: String,
    findings: Option<Box<Findings>>,
}

impl Failure {
    pub(crate) fn new(status: Status, message: impl Into<String>) -> Failure {
        Failure { status, message: message.into(), findings: None }
    }

    pub(crate) fn invalid(message: impl Display) -> Failure {
        Failure::new(Status::InvalidArgument, message.to_string())
    }

    /// A text that is not a legal instruction.
    pub(crate) fn illegal(text: &str, message: String, found: Vec<Diagnostic>) -> Failure {
        let findings = Some(Box::new(Findings::new(text, found)));
        Failure { status: Status::IllegalInstruction, message, findings }
    }
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Error {
        Error { message: failure.message, findings: failure.findings }
    }
}
