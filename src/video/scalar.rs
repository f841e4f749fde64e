//! The operands of scalar instructions other than `vmad`.

use std::fmt;

use super::body::Operands;
use super::operand::{OperandName, Parts, Register, Rename, Source, Tail};

/// Operands of a scalar instruction other than `vmad`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ScalarOperands {
    /// Destination.
    pub d: Register,
    /// First source.
    pub a: Source,
    /// Second source.
    pub b: Source,
    /// The use of the result.
    pub tail: Tail,
}

impl ScalarOperands {
    pub(super) fn build(parts: &Parts<'_>) -> Option<ScalarOperands> {
        Some(ScalarOperands {
            d: parts.d.value.clone(),
            a: parts.a.scalar(),
            b: parts.b.scalar(),
            tail: parts.tail()?,
        })
    }
}

impl Operands for ScalarOperands {
    fn destination(&self) -> &Register {
        &self.d
    }

    fn sources(&self) -> [Option<&Register>; 3] {
        [self.a.register(), self.b.register(), self.tail.register()]
    }

    fn rename(&mut self, rename: Rename<'_>) {
        self.d = rename(OperandName::D, &self.d);
        self.a.rename(OperandName::A, rename);
        self.b.rename(OperandName::B, rename);
        self.tail.rename(rename);
    }

    fn scalar(&self) -> Option<&ScalarOperands> {
        Some(self)
    }

    fn write(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ScalarOperands { d, a, b, tail } = self;
        match tail {
            Tail::Word => write!(f, " {d}, {a}, {b}"),
            Tail::Secondary { c, .. } => write!(f, " {d}, {a}, {b}, {c}"),
            Tail::Merge { part, c } => write!(f, " {d}{part}, {a}, {b}, {c}"),
        }
    }
}
