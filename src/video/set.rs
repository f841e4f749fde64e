//! Scalar `vset` (9.7.18.1.4).

use super::body::{Body, Page, described};
use super::lowering::Lowering;
use super::operand::{Parts, Tail};
use super::scalar::ScalarOperands;
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
    /// The operands.
    pub operands: ScalarOperands,
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
    instructions: described! {
        Vset "comparison of two bytes, half-words or words",
            // -1 < 1, plus 41
            "vset.s32.u32.lt.add d, a, b, c;" [0xffff_ffff, 1, 41] == 42;
    },
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
        operands: ScalarOperands::build(parts)?,
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
            Role::Secondary => self.operands.tail.secondary(),
            _ => None,
        }
    }

    fn lower(&self, lowering: &mut Lowering) -> Value {
        let a = lowering.source(Input::A, &self.operands.a, self.atype);
        let b = lowering.source(Input::B, &self.operands.b, self.btype);
        lowering.builder.stage(Stage::Compute);
        let result = lowering.builder.compare(self.compare, a, b);
        match &self.operands.tail {
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
