//! The interface that all families share.

use std::fmt;

use super::Deviation;
use super::lowering::Lowering;
use super::operand::{Register, Rename};
use super::scalar::ScalarOperands;
use super::simd::SimdOperands;
use crate::ir::Value;
use crate::isa::{Form, Mnemonic, Modifier, Role};

/// An operation of any family.
pub(super) trait Body {
    fn mnemonic(&self) -> Mnemonic;

    /// The modifier that fills a role, if one is written.
    fn modifier(&self, role: Role) -> Option<Modifier>;

    /// The new value of `d`.
    fn lower(&self, lowering: &mut Lowering) -> Value;
}

/// The operands of any family.
pub(super) trait Operands {
    fn destination(&self) -> &Register;

    /// The registers in `a`, `b` and `c`.
    fn sources(&self) -> [Option<&Register>; 3];

    /// Renames every register.
    fn rename(&mut self, rename: Rename<'_>);

    /// Those of a scalar instruction; `None` for `vmad` and SIMD instructions.
    fn scalar(&self) -> Option<&ScalarOperands> {
        None
    }

    /// Those of a SIMD instruction; `None` for scalar instructions.
    fn simd(&self) -> Option<&SimdOperands> {
        None
    }

    /// Writes the operands, with a blank before them.
    fn write(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result;
}

/// A family's rows, and its part of the documentation.
pub(super) struct Page {
    /// The rows of the table, in the manual's order.
    pub(super) forms: &'static [Form],
    /// A description of its instructions.
    pub(super) prose: &'static str,
    /// The ways in which ptxas differs from the manual.
    pub(super) deviations: &'static [Deviation],
    pub(super) instructions: &'static [Described],
}

/// One instruction of a family.
pub(super) struct Described {
    pub(super) mnemonic: Mnemonic,
    /// A summary in one line.
    pub(super) summary: &'static str,
    /// An example, worked out by hand.
    pub(super) example: Example,
}

/// The instructions of a family, each with its summary and its example.
macro_rules! described {
    ($($mnemonic:ident $summary:literal, $text:literal $inputs:tt == $result:literal;)+) => {
        &[$($crate::video::body::Described {
            mnemonic: Mnemonic::$mnemonic,
            summary: $summary,
            example: $crate::video::Example { text: $text, inputs: $inputs, result: $result },
        }),+]
    };
}

pub(super) use described;

/// An instruction with inputs and its result under the manual.
#[derive(Clone, Copy, Debug)]
pub struct Example {
    /// The instruction, with operands `d`, `a`, `b`, `c`.
    pub text: &'static str,
    /// The words in `a`, `b` and `c`.
    pub inputs: [u32; 3],
    /// The new word in `d`.
    pub result: u32,
}
