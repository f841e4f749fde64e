//! One instruction from its text.

use std::str::FromStr;

use thiserror::Error;

use super::single;
use crate::check::CheckOptions;
use crate::diagnostic::Diagnostic;
use crate::video::Instruction;

/// Why a text is not one video instruction.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{}", .diagnostics.first().map_or("not a video instruction", |first| &first.message))]
pub struct ParseInstructionError {
    diagnostics: Vec<Diagnostic>,
}

impl ParseInstructionError {
    /// Every error found. Empty when the text holds no video instruction, or
    /// something beside it.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.diagnostics
    }
}

impl FromStr for Instruction {
    type Err = ParseInstructionError;

    /// Reads one instruction, in the `documented` dialect and without regard to
    /// targets or declarations: any name is that of a register, even one that
    /// special registers have. The closing `;` may be missing.
    ///
    /// # Errors
    /// The errors that checking the text gives.
    fn from_str(text: &str) -> Result<Instruction, ParseInstructionError> {
        single(text, &CheckOptions::default())
            .map_err(|diagnostics| ParseInstructionError { diagnostics })
    }
}
