//! Scalar `vshl`, `vshr` (9.7.18.1.2).

use crate::ast::{Shift, Tail};
use crate::ir::{Deviation, Input, Lowering, Op, Stage, Value, destination_range, merged_part};
use crate::isa::{
    Destination, Form, Mnemonic, Negation, Requirement, SecondaryOp, ShiftMode, Slot, Sources, Type,
};

const PLAIN: Form = Form {
    mnemonics: &[Mnemonic::Vshl, Mnemonic::Vshr],
    slots: &[Slot::DTYPE, Slot::ATYPE, Slot::AMOUNT_TYPE, Slot::SATURATE, Slot::MODE],
    destination: Destination::Word,
    sources: Sources::Scalar,
    third: false,
    negation: Negation::Forbidden,
    requirement: Requirement::SCALAR,
    section: "9.7.18.1.2",
    title: "plain operation",
};

pub(super) const FORMS: &[Form] = &[
    PLAIN,
    Form {
        slots: &[
            Slot::DTYPE,
            Slot::ATYPE,
            Slot::AMOUNT_TYPE,
            Slot::SATURATE,
            Slot::MODE,
            Slot::SECONDARY,
        ],
        third: true,
        title: "secondary operation",
        ..PLAIN
    },
    Form { destination: Destination::Part, third: true, title: "data merge", ..PLAIN },
];

pub(super) const PROSE: &str = "\
Shifts the selected part of `a`, extended by its type, by the selected part of
`b`, which is always unsigned. `.clamp` makes amounts above 32 count as 32,
`.wrap` uses the low five bits only; one of the two must be written.

`vshl` fills with zeros and keeps 34 bits, read as signed. `vshr` fills with
the sign of the extended value, so with zeros for `.u32`.

`.sat`, the secondary operation and the merge into a part of `d` work as in
`vadd`.
";

impl Shift {
    /// What the instruction computes.
    pub(crate) fn lower(&self, lowering: &mut Lowering) -> Value {
        let a = lowering.source(Input::A, &self.a, self.atype);
        let b = lowering.source(Input::B, &self.b, Type::U32);
        let builder = &mut lowering.builder;
        builder.stage(Stage::Compute);
        let amount = match self.mode {
            ShiftMode::Clamp => {
                let most = builder.constant(32);
                builder.min(b, most)
            }
            ShiftMode::Wrap => builder.extract(b, 0, 5, false),
        };
        let exact = builder.binary(if self.left { Op::Shl } else { Op::Shr }, a, amount);
        // The intermediate result of the manual has 34 bits; only a left shift
        // can leave them.
        let cut = builder.extract(exact, 0, 34, true);
        let part = merged_part(&self.tail);
        let result = if self.saturate {
            let (word, narrow) =
                (destination_range(self.dtype, None), destination_range(self.dtype, part));
            lowering.builder.stage(Stage::Saturate);
            let most = lowering.builder.range(cut).max;
            let same = word.min == narrow.min && most <= narrow.max;
            let range = if lowering.has(Deviation::C5) && !same { word } else { narrow };
            lowering.builder.clamp(cut, range)
        } else {
            cut
        };
        let signed = self.dtype == Type::S32;
        match &self.tail {
            Tail::Word => result,
            Tail::Merge { part, c } => lowering.merge(*part, result, c),
            Tail::Secondary { op, c } if *op != SecondaryOp::Add && lowering.has(Deviation::C4) => {
                lowering.builder.stage(Stage::Secondary);
                let result = if self.saturate {
                    // Clamped values enter the comparison as 32 bits.
                    lowering.builder.extract(result, 0, 32, true)
                } else if lowering.has(Deviation::C5) {
                    exact
                } else {
                    result
                };
                lowering.secondary64(*op, result, c, signed)
            }
            Tail::Secondary { op, c } => lowering.secondary(*op, result, c, signed),
        }
    }
}
