//! Scalar `vshl`, `vshr` (9.7.18.1.2).

use super::body::{Body, Page, described};
use super::lowering::{Lowering, destination_range};
use super::operand::{Parts, Tail};
use super::scalar::ScalarOperands;
use super::{Deviation, Operation};
use crate::ir::{Input, Op, Stage, Value};
use crate::isa::{
    Destination, Form, Mnemonic, Modifier, Negation, Requirement, Role, SecondaryOp, ShiftMode,
    Slot, Sources, Type,
};

/// Scalar shift (9.7.18.1.2).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Shift {
    /// `vshl` rather than `vshr`.
    pub left: bool,
    /// Destination type.
    pub dtype: Type,
    /// Type of `a`.
    pub atype: Type,
    /// Clamp to the range of the destination.
    pub saturate: bool,
    /// How amounts above 31 count.
    pub mode: ShiftMode,
    /// The operands: `a` is shifted by `b`, which is always unsigned.
    pub operands: ScalarOperands,
}

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

const FORMS: &[Form] = &[
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

pub(super) const PAGE: Page = Page {
    forms: FORMS,
    prose: PROSE,
    deviations: &[Deviation::C1, Deviation::C4, Deviation::C5],
    instructions: described! {
        Vshl "left shift of a byte, half-word or word",
            // 40 & 31 = 8
            "vshl.u32.u32.u32.wrap d, a.h1, b, c;" [0x00ff_0000, 40, 0] == 0xff00;
        Vshr "right shift of a byte, half-word or word",
            // -128 >> 3
            "vshr.s32.s32.u32.clamp d, a.b2, b, c;" [0x0080_0000, 3, 0] == 0xffff_fff0;
    },
};

const PROSE: &str = "\
Shifts the selected part of `a`, extended by its type, by the selected part of
`b`, which is always unsigned. `.clamp` makes amounts above 32 count as 32,
`.wrap` uses the low five bits only; one of the two must be written.

`vshl` fills with zeros and keeps 34 bits, read as signed. `vshr` fills with
the sign of the extended value, so with zeros for `.u32`.

`.sat`, the secondary operation and the merge into a part of `d` work as in
`vadd`.
";

pub(super) fn build(parts: &Parts<'_>) -> Option<Operation> {
    Some(Operation::Shift(Shift {
        left: parts.mnemonic == Mnemonic::Vshl,
        dtype: parts.ty(Role::Dtype)?,
        atype: parts.ty(Role::Atype)?,
        saturate: parts.has(Role::Saturate),
        mode: parts.get(Role::Mode).and_then(ShiftMode::from_modifier)?,
        operands: ScalarOperands::build(parts)?,
    }))
}

impl Body for Shift {
    fn mnemonic(&self) -> Mnemonic {
        if self.left { Mnemonic::Vshl } else { Mnemonic::Vshr }
    }

    fn modifier(&self, role: Role) -> Option<Modifier> {
        match role {
            Role::Dtype => Some(self.dtype.modifier()),
            Role::Atype => Some(self.atype.modifier()),
            Role::Btype => Some(Modifier::U32),
            Role::Saturate => self.saturate.then_some(Modifier::Sat),
            Role::Mode => Some(self.mode.modifier()),
            Role::Secondary => self.operands.tail.secondary(),
            _ => None,
        }
    }

    fn lower(&self, lowering: &mut Lowering) -> Value {
        let a = lowering.source(Input::A, &self.operands.a, self.atype);
        let b = lowering.source(Input::B, &self.operands.b, Type::U32);
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
        let part = self.operands.tail.part();
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
        match &self.operands.tail {
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
