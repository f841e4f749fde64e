//! Scalar `vadd`, `vsub`, `vabsdiff`, `vmin`, `vmax` (9.7.18.1.1).

use super::body::{Body, Page, described};
use super::lowering::{Lowering, destination_range};
use super::operand::{Parts, Tail};
use super::scalar::ScalarOperands;
use super::{Deviation, Operation, SimdOp};
use crate::ir::{Input, Range, Stage, Value};
use crate::isa::{
    Destination, Form, Mnemonic, Modifier, Negation, Requirement, Role, SecondaryOp, Slot, Sources,
    Type,
};

/// Primary operation of the scalar arithmetic family.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ArithmeticOp {
    /// `a + b`
    Add,
    /// `a - b`
    Sub,
    /// `|a - b|`
    AbsDiff,
    /// `min(a, b)`
    Min,
    /// `max(a, b)`
    Max,
}

impl ArithmeticOp {
    /// The same operation on lanes.
    pub(crate) fn on_lanes(self) -> SimdOp {
        match self {
            ArithmeticOp::Add => SimdOp::Add,
            ArithmeticOp::Sub => SimdOp::Sub,
            ArithmeticOp::AbsDiff => SimdOp::AbsDiff,
            ArithmeticOp::Min => SimdOp::Min,
            ArithmeticOp::Max => SimdOp::Max,
        }
    }
}

/// Scalar arithmetic (9.7.18.1.1).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Arithmetic {
    /// Primary operation.
    pub op: ArithmeticOp,
    /// Destination type.
    pub dtype: Type,
    /// Type of `a`.
    pub atype: Type,
    /// Type of `b`.
    pub btype: Type,
    /// Clamp to the range of the destination.
    pub saturate: bool,
    /// The operands.
    pub operands: ScalarOperands,
}

impl ArithmeticOp {
    const ALL: [ArithmeticOp; 5] = [
        ArithmeticOp::Add,
        ArithmeticOp::Sub,
        ArithmeticOp::AbsDiff,
        ArithmeticOp::Min,
        ArithmeticOp::Max,
    ];

    fn mnemonic(self) -> Mnemonic {
        MNEMONICS[self as usize]
    }
}

/// In the order of [`ArithmeticOp`].
const MNEMONICS: &[Mnemonic] =
    &[Mnemonic::Vadd, Mnemonic::Vsub, Mnemonic::Vabsdiff, Mnemonic::Vmin, Mnemonic::Vmax];

const PLAIN: Form = Form {
    mnemonics: MNEMONICS,
    slots: &[Slot::DTYPE, Slot::ATYPE, Slot::BTYPE, Slot::SATURATE],
    destination: Destination::Word,
    sources: Sources::Scalar,
    third: false,
    negation: Negation::Forbidden,
    requirement: Requirement::SCALAR,
    section: "9.7.18.1.1",
    title: "plain operation",
};

const FORMS: &[Form] = &[
    PLAIN,
    Form {
        slots: &[Slot::DTYPE, Slot::ATYPE, Slot::BTYPE, Slot::SATURATE, Slot::SECONDARY],
        third: true,
        title: "secondary operation",
        ..PLAIN
    },
    Form { destination: Destination::Part, third: true, title: "data merge", ..PLAIN },
];

pub(super) const PAGE: Page = Page {
    forms: FORMS,
    prose: PROSE,
    deviations: &[Deviation::C1, Deviation::C2, Deviation::C3, Deviation::C4],
    instructions: described! {
        Vadd "sum of two bytes, half-words or words",
            // -1 + 0x1234
            "vadd.s32.s32.u32 d, a.b3, b.h0, c;" [0xff00_0000, 0x1234, 0] == 0x1233;
        Vsub "difference of two bytes, half-words or words",
            // 3 - 5 = -2, clamped to 0, and the other bytes of c
            "vsub.u32.u32.u32.sat d.b1, a, b, c;" [3, 5, 0xaabb_ccdd] == 0xaabb_00dd;
        Vabsdiff "absolute difference of two bytes, half-words or words",
            // |0x80 - 0xff| + 10
            "vabsdiff.u32.u32.u32.add d, a.b0, b.b1, c;" [0x80, 0xff00, 10] == 0x89;
        Vmin "smaller of two bytes, half-words or words",
            // min(-1, 1)
            "vmin.s32.s32.s32 d, a, b;" [0xffff_ffff, 1, 0] == 0xffff_ffff;
        Vmax "larger of two bytes, half-words or words",
            // max(max(0x12, 0x34), 0x20)
            "vmax.u32.u32.u32.max d, a.b1, b.b0, c;" [0x1200, 0x34, 0x20] == 0x34;
    },
};

const PROSE: &str = "\
Takes a byte, half-word or the whole word of `a` and of `b` as the selectors
say, extends each by its type (sign for `.s32`, zeros for `.u32`), and works on
the exact values, so nothing overflows before the result is used.

`.sat` clamps the result to the range of the destination: signed or unsigned as
`.dtype` says, 8, 16 or 32 bits wide as the destination selector says.

Then one of three things happens: the low 32 bits are written to `d`; a
secondary operation (`.add`, `.min`, `.max`) combines the result with `c`; or,
with a selector on `d`, the low 8 or 16 bits go into that part of `d` and the
other bits come from `c`. The old value of `d` never matters.
";

pub(super) fn build(parts: &Parts<'_>) -> Option<Operation> {
    let op = ArithmeticOp::ALL.into_iter().find(|op| op.mnemonic() == parts.mnemonic)?;
    Some(Operation::Arithmetic(Arithmetic {
        op,
        dtype: parts.ty(Role::Dtype)?,
        atype: parts.ty(Role::Atype)?,
        btype: parts.ty(Role::Btype)?,
        saturate: parts.has(Role::Saturate),
        operands: ScalarOperands::build(parts)?,
    }))
}

impl Body for Arithmetic {
    fn mnemonic(&self) -> Mnemonic {
        self.op.mnemonic()
    }

    fn modifier(&self, role: Role) -> Option<Modifier> {
        match role {
            Role::Dtype => Some(self.dtype.modifier()),
            Role::Atype => Some(self.atype.modifier()),
            Role::Btype => Some(self.btype.modifier()),
            Role::Saturate => self.saturate.then_some(Modifier::Sat),
            Role::Secondary => self.operands.tail.secondary(),
            _ => None,
        }
    }

    fn lower(&self, lowering: &mut Lowering) -> Value {
        let a = lowering.source(Input::A, &self.operands.a, self.atype);
        let b = lowering.source(Input::B, &self.operands.b, self.btype);
        let builder = &mut lowering.builder;
        builder.stage(Stage::Compute);
        let exact = self.op.on_lanes().lower(builder, a, b);
        let result = if self.saturate { self.saturated(lowering, exact) } else { exact };
        let signed = self.dtype == Type::S32;
        match &self.operands.tail {
            Tail::Word => result,
            Tail::Merge { part, c } => lowering.merge(*part, result, c),
            Tail::Secondary { op, c } if *op != SecondaryOp::Add && lowering.has(Deviation::C4) => {
                // Sums and differences enter the comparison as 32 bits.
                lowering.builder.stage(Stage::Secondary);
                let result = match self.op {
                    ArithmeticOp::Add | ArithmeticOp::Sub => {
                        lowering.builder.extract(result, 0, 32, true)
                    }
                    _ => result,
                };
                lowering.secondary64(*op, result, c, signed)
            }
            Tail::Secondary { op, c } => lowering.secondary(*op, result, c, signed),
        }
    }
}

impl Arithmetic {
    fn saturated(&self, lowering: &mut Lowering, exact: Value) -> Value {
        let part = self.operands.tail.part();
        let range = destination_range(self.dtype, part);
        // A minimum with `c` hides the missing limit, unless the minimum compares only the low 32
        // bits.
        let cut = matches!(self.op, ArithmeticOp::Add | ArithmeticOp::Sub);
        let hidden =
            matches!(self.operands.tail, Tail::Secondary { op: SecondaryOp::Min, .. }) && !cut;
        let no_limit = lowering.has(Deviation::C2) && !hidden;
        let minimum = lowering.has(Deviation::C3);
        let builder = &mut lowering.builder;
        builder.stage(Stage::Saturate);
        let exact_range = builder.range(exact);
        match part {
            // Negative results count as large.
            Some(_) if minimum && exact_range.min < 0 => {
                let unsigned = builder.extract(exact, 0, 64, false);
                let limit = builder.constant(range.max);
                builder.min(unsigned, limit)
            }
            None if no_limit && range.min == 0 && exact_range.max > range.max => {
                builder.clamp(exact, Range::new(0, i128::from(u64::MAX)))
            }
            _ => builder.clamp(exact, range),
        }
    }
}
