//! Scalar `vset` (9.7.18.1.4).

use std::fmt;

use super::body::{Body, Described, Example, Page};
use super::lowering::Lowering;
use super::operand::{OperandName, Parts, Register, Rename, Source, Tail};
use super::{Deviation, Operation};
use crate::ir::{Input, Stage, Value};
use crate::isa::{
    Compare, Destination, Form, Mnemonic, Modifier, Negation, Requirement, Role, SecondaryOp, Slot,
    Sources, Type,
};

/// Scalar comparison (9.7.18.1.4).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Set {
    /// Type of `a`.
    pub atype: Type,
    /// Type of `b`.
    pub btype: Type,
    /// The comparison.
    pub compare: Compare,
    /// Destination.
    pub d: Register,
    /// First source.
    pub a: Source,
    /// Second source.
    pub b: Source,
    /// The use of the 0 or 1.
    pub tail: Tail,
}

const PLAIN: Form = Form {
    mnemonics: &[Mnemonic::Vset],
    slots: &[Slot::ATYPE, Slot::BTYPE, Slot::COMPARE],
    destination: Destination::Word,
    sources: Sources::Scalar,
    third: false,
    negation: Negation::Forbidden,
    requirement: Requirement::SCALAR,
    section: "9.7.18.1.4",
    title: "plain comparison",
};

const FORMS: &[Form] = &[
    PLAIN,
    Form {
        slots: &[Slot::ATYPE, Slot::BTYPE, Slot::COMPARE, Slot::SECONDARY],
        third: true,
        title: "secondary operation",
        ..PLAIN
    },
    Form { destination: Destination::Part, third: true, title: "data merge", ..PLAIN },
];

pub(super) const PAGE: Page = Page {
    forms: FORMS,
    prose: PROSE,
    deviations: &[Deviation::C1, Deviation::C6],
    instructions: &[Described {
        mnemonic: Mnemonic::Vset,
        summary: "comparison of two bytes, half-words or words",
        // -1 < 1, plus 41
        example: Example {
            text: "vset.s32.u32.lt.add d, a, b, c;",
            inputs: [0xffff_ffff, 1, 41],
            result: 42,
        },
    }],
};

const PROSE: &str = "\
Compares the selected parts of `a` and `b`, each extended by its own type, as
exact numbers: `.s32` -1 is less than `.u32` 0. The result is 1 or 0.

There is no destination type and nothing to saturate. The result and `c` count
as unsigned in the secondary operation; the merge into a part of `d` works as in
`vadd`.
";

pub(super) fn build(parts: &Parts<'_>) -> Option<Operation> {
    Some(Operation::Set(Set {
        atype: parts.ty(Role::Atype)?,
        btype: parts.ty(Role::Btype)?,
        compare: parts.get(Role::Compare).and_then(Compare::from_modifier)?,
        d: parts.d.value.clone(),
        a: parts.a.scalar(),
        b: parts.b.scalar(),
        tail: parts.tail()?,
    }))
}

impl Body for Set {
    fn mnemonic(&self) -> Mnemonic {
        Mnemonic::Vset
    }

    fn modifier(&self, role: Role) -> Option<Modifier> {
        match role {
            Role::Atype => Some(self.atype.modifier()),
            Role::Btype => Some(self.btype.modifier()),
            Role::Compare => Some(self.compare.modifier()),
            Role::Secondary => self.tail.secondary(),
            _ => None,
        }
    }

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

    fn tail(&self) -> Option<&Tail> {
        Some(&self.tail)
    }

    fn write(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.tail.write(f, &self.d, &self.a, &self.b)
    }

    fn lower(&self, lowering: &mut Lowering) -> Value {
        let a = lowering.source(Input::A, &self.a, self.atype);
        let b = lowering.source(Input::B, &self.b, self.btype);
        lowering.builder.stage(Stage::Compute);
        let result = lowering.builder.compare(self.compare, a, b);
        match &self.tail {
            Tail::Word => result,
            Tail::Merge { part, c } => lowering.merge(*part, result, c),
            Tail::Secondary { op, c } => {
                let signed = *op != SecondaryOp::Add
                    && self.atype == Type::S32
                    && lowering.has(Deviation::C6);
                lowering.secondary(*op, result, c, signed)
            }
        }
    }
}
