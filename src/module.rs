//! A module that was read: its video instructions and the gates it sets.

use crate::isa::{PtxVersion, Target, WordRegisters};
use crate::source::Span;
use crate::video::Instruction;

/// A module, or a bare list of statements, that was read.
#[derive(Clone, Debug)]
pub struct Module<'s> {
    pub(crate) source: &'s str,
    pub(crate) version: Option<PtxVersion>,
    pub(crate) target: Option<Target>,
    pub(crate) statements: Vec<VideoStatement>,
}

/// A statement that is, or was meant to be, a video instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VideoStatement {
    /// Where it stands, from guard or mnemonic to `;`.
    pub span: Span,
    /// The instruction, unless it has errors.
    pub instruction: Option<Instruction>,
    /// How its registers are declared.
    pub registers: WordRegisters,
}

impl<'s> Module<'s> {
    /// The text it was read from.
    pub fn source(&self) -> &'s str {
        self.source
    }

    /// The `.version` in force at the last video instruction.
    pub fn version(&self) -> Option<PtxVersion> {
        self.version
    }

    /// The `.target` in force at the last video instruction.
    pub fn target(&self) -> Option<Target> {
        self.target
    }

    /// Every statement that is, or was meant to be, a video instruction.
    pub fn statements(&self) -> &[VideoStatement] {
        &self.statements
    }

    /// The legal video instructions with their places, in order.
    pub fn instructions(&self) -> impl Iterator<Item = (Span, &Instruction)> {
        self.statements
            .iter()
            .filter_map(|statement| Some((statement.span, statement.instruction.as_ref()?)))
    }
}
