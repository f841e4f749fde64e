//! Scalar `vset` (9.7.18.1.4).

use crate::ast::{Set, Tail};
use crate::ir::{Deviation, Input, Lowering, Stage, Value};
use crate::isa::{
    Destination, Form, Mnemonic, Negation, Requirement, SecondaryOp, Slot, Sources, Type,
};

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

pub(super) const FORMS: &[Form] = &[
    PLAIN,
    Form {
        slots: &[Slot::ATYPE, Slot::BTYPE, Slot::COMPARE, Slot::SECONDARY],
        third: true,
        title: "secondary operation",
        ..PLAIN
    },
    Form { destination: Destination::Part, third: true, title: "data merge", ..PLAIN },
];

pub(super) const PROSE: &str = "\
Compares the selected parts of `a` and `b`, each extended by its own type, as
exact numbers: `.s32` -1 is less than `.u32` 0. The result is 1 or 0.

There is no destination type and nothing to saturate. The result and `c` count
as unsigned in the secondary operation; the merge into a part of `d` works as in
`vadd`.
";

impl Set {
    /// What the instruction computes.
    pub(crate) fn lower(&self, lowering: &mut Lowering) -> Value {
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
