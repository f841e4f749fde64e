//! Reads one instruction from its text.

use std::str::FromStr;

use thiserror::Error;

use super::single;
use crate::check::CheckOptions;
use crate::diagnostic::Diagnostic;
use crate::video::Instruction;

/// The reason why a text is not one video instruction.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{}", .diagnostics.first().map_or("not a video instruction", |first| &first.message))]
pub struct ParseInstructionError {
    diagnostics: Vec<Diagnostic>,
}

impl ParseInstructionError {
    /// Every error found. Empty if the text has no video instruction, or has other text beside one.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.diagnostics
    }
}

impl FromStr for Instruction {
    type Err = ParseInstructionError;

    /// Reads one instruction in the `documented` dialect. It ignores targets and declarations:
    /// every name is a register, even the name of a special register. The closing `;` may be
    /// missing.
    ///
    /// # Errors
    /// The errors that a check of the text finds.
    fn from_str(text: &str) -> Result<Instruction, ParseInstructionError> {
        single(text, &CheckOptions::default())
            .map_err(|diagnostics| ParseInstructionError { diagnostics })
    }
}
