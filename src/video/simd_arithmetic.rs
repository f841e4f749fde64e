//! SIMD `vadd`, `vsub`, `vavrg`, `vabsdiff`, `vmin`, `vmax` on two lanes (9.7.18.2.1) and on
//! four (9.7.18.2.3). ptxas follows the manual here.

use super::Operation;
use super::body::{Body, Page, described};
use super::lowering::Lowering;
use super::operand::Parts;
use super::simd::SimdOperands;
use crate::ir::{Builder, Op, Range, Stage, Value};
use crate::isa::{
    Compare, Destination, Family, Form, LaneWidth, Mnemonic, Modifier, Negation, Requirement, Role,
    Slot, Sources, Type,
};

/// Primary operation of the SIMD arithmetic families.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SimdOp {
    /// `a + b`
    Add,
    /// `a - b`
    Sub,
    /// Rounded average.
    Avrg,
    /// `|a - b|`
    AbsDiff,
    /// `min(a, b)`
    Min,
    /// `max(a, b)`
    Max,
}

/// The use of the resulting lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SimdTail {
    /// Writes the lanes of the mask. The other lanes come from `c`.
    Merge {
        /// Clamp each lane to the range of the destination type.
        saturate: bool,
    },
    /// `c` plus the sum of the exact lanes of the mask.
    Accumulate,
}

/// SIMD arithmetic (9.7.18.2.1 and 9.7.18.2.3).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SimdArithmetic {
    /// Primary operation.
    pub op: SimdOp,
    /// Destination type.
    pub dtype: Type,
    /// The operands.
    pub operands: SimdOperands,
    /// The use of the resulting lanes.
    pub tail: SimdTail,
}

impl SimdOp {
    const ALL: [SimdOp; 6] =
        [SimdOp::Add, SimdOp::Sub, SimdOp::Avrg, SimdOp::AbsDiff, SimdOp::Min, SimdOp::Max];

    fn mnemonic(self, width: LaneWidth) -> Mnemonic {
        let form = match width {
            LaneWidth::Halves => &MERGE,
            LaneWidth::Bytes => &MERGE4,
        };
        form.mnemonics[self as usize]
    }
}

const MERGE: Form = Form {
    // In the order of `SimdOp`.
    mnemonics: &[
        Mnemonic::Vadd2,
        Mnemonic::Vsub2,
        Mnemonic::Vavrg2,
        Mnemonic::Vabsdiff2,
        Mnemonic::Vmin2,
        Mnemonic::Vmax2,
    ],
    slots: &[Slot::DTYPE, Slot::ATYPE, Slot::BTYPE, Slot::SATURATE],
    destination: Destination::Mask(LaneWidth::Halves),
    sources: Sources::Lanes(LaneWidth::Halves),
    third: true,
    negation: Negation::Forbidden,
    requirement: Requirement::SIMD,
    section: "9.7.18.2.1",
    title: "lane merge",
};

const MERGE4: Form = Form {
    mnemonics: &[
        Mnemonic::Vadd4,
        Mnemonic::Vsub4,
        Mnemonic::Vavrg4,
        Mnemonic::Vabsdiff4,
        Mnemonic::Vmin4,
        Mnemonic::Vmax4,
    ],
    destination: Destination::Mask(LaneWidth::Bytes),
    sources: Sources::Lanes(LaneWidth::Bytes),
    section: "9.7.18.2.3",
    ..MERGE
};

const ACCUMULATE: &[Slot] = &[Slot::DTYPE, Slot::ATYPE, Slot::BTYPE, Slot::ACCUMULATE];

const FORMS2: &[Form] = &[MERGE, Form { slots: ACCUMULATE, title: "accumulation", ..MERGE }];

const FORMS4: &[Form] = &[MERGE4, Form { slots: ACCUMULATE, title: "accumulation", ..MERGE4 }];

macro_rules! prose {
    (
        $lanes:literal, $which:literal, $those:literal, $a:literal, $b:literal, $clamp:literal,
        $avrg:literal
    ) => {
        concat!(
            "\
Works on ",
            $lanes,
            " at once. For each lane, lane 0 last, a selector
says ",
            $which,
            " of the pair `{b, a}` is taken: ",
            $those,
            " `a` have
the lower numbers. Left out, `a` takes its own lanes ",
            $a,
            " and `b` its own
",
            $b,
            ". Lanes are extended by the type of their operand and computed exactly.

Without `.add`, lanes named by the mask on `d` (all of them when it is left out)
receive their result, ",
            $clamp,
            " by `.dtype` when `.sat` is written, and
the other lanes come from `c`. With `.add`, `d` is `c` plus the sum of the exact
results of the lanes in the mask. `.sat` and `.add` exclude each other, and `c`
is always required. ",
            $avrg,
            " rounds halves away from zero.
"
        )
    };
}

pub(super) const HALVES: Page = Page {
    forms: FORMS2,
    prose: prose!(
        "2 lanes of 16 bits",
        "which half-word",
        "the half-words of",
        "(`.h10`)",
        "(`.h32`)",
        "clamped to 16 bits",
        "`vavrg2`"
    ),
    deviations: &[],
    instructions: described! {
        Vadd2 "two sums of half-words",
            // 0x7fff + 1 clamped, 2 + 3
            "vadd2.s32.s32.s32.sat d, a, b, c;" [0x7fff_0002, 0x0001_0003, 0] == 0x7fff_0005;
        Vsub2 "two differences of half-words",
            // halves swapped: 1 - 1, 5 - 2
            "vsub2.u32.u32.u32 d, a.h01, b, c;" [0x0005_0001, 0x0001_0002, 0] == 0x0000_0003;
        Vavrg2 "two rounded averages of half-words",
            // (1 + 2 + 1) >> 1, (6 + 8 + 1) >> 1
            "vavrg2.u32.u32.u32 d, a, b, c;" [0x0001_0006, 0x0002_0008, 0] == 0x0002_0007;
        Vabsdiff2 "two absolute differences of half-words",
            // 100 + |1 - 4| + |9 - 2|
            "vabsdiff2.u32.u32.u32.add d, a, b, c;" [0x0001_0009, 0x0004_0002, 100] == 110;
        Vmin2 "two minima of half-words",
            // lane 1 only: min(-1, 1), and lane 0 of c
            "vmin2.s32.s32.s32 d.h1, a, b, c;" [0xffff_0009, 0x0001_0001, 0x1111_2222]
                == 0xffff_2222;
        Vmax2 "two maxima of half-words",
            // max(7, 3), max(1, 2)
            "vmax2.u32.u32.u32 d, a, b, c;" [0x0007_0001, 0x0003_0002, 0] == 0x0007_0002;
    },
};

pub(super) const BYTES: Page = Page {
    forms: FORMS4,
    prose: prose!(
        "4 lanes of 8 bits",
        "which byte",
        "the bytes of",
        "(`.b3210`)",
        "(`.b7654`)",
        "clamped to 8 bits",
        "`vavrg4`"
    ),
    deviations: &[],
    instructions: described! {
        Vadd4 "four sums of bytes",
            // 0xff + 1, 1 + 0xff, 0xf0 + 0x20 clamped; 0x10 + 0x10
            "vadd4.u32.u32.u32.sat d, a, b, c;" [0xff01_f010, 0x01ff_2010, 0] == 0xffff_ff20;
        Vsub4 "four differences of bytes",
            // byte 0 of b from each byte
            "vsub4.u32.u32.u32 d, a, b.b4444, c;" [0x1020_3040, 0x10, 0] == 0x0010_2030;
        Vavrg4 "four rounded averages of bytes",
            // (s + 1) >> 1 for 1+2, 0+0, 0xff+0xff, 4+4
            "vavrg4.u32.u32.u32 d, a, b, c;" [0x0100_ff04, 0x0200_ff04, 0] == 0x0200_ff04;
        Vabsdiff4 "four absolute differences of bytes",
            // 1000 + 1 + 2 + 3 + 4
            "vabsdiff4.u32.u32.u32.add d, a, b, c;" [0x0102_0304, 0, 1000] == 1010;
        Vmin4 "four minima of bytes",
            // lanes 1 and 0: min(3, 0), min(-1, 0)
            "vmin4.s32.s32.s32 d.b10, a, b, c;" [0x0102_03ff, 0, 0xaabb_ccdd] == 0xaabb_00ff;
        Vmax4 "four maxima of bytes",
            "vmax4.u32.u32.u32 d, a, b, c;" [0x0108_03ff, 0x0701_0400, 0] == 0x0708_04ff;
    },
};

pub(super) fn build(parts: &Parts<'_>) -> Option<Operation> {
    let Family::SimdArithmetic(width) = parts.mnemonic.family() else { return None };
    let op = SimdOp::ALL.into_iter().find(|op| op.mnemonic(width) == parts.mnemonic)?;
    Some(Operation::SimdArithmetic(SimdArithmetic {
        op,
        dtype: parts.ty(Role::Dtype)?,
        operands: SimdOperands::build(parts, width)?,
        tail: match parts.get(Role::Secondary) {
            Some(Modifier::Add) => SimdTail::Accumulate,
            _ => SimdTail::Merge { saturate: parts.has(Role::Saturate) },
        },
    }))
}

impl Body for SimdArithmetic {
    fn mnemonic(&self) -> Mnemonic {
        self.op.mnemonic(self.operands.lanes.width())
    }

    fn modifier(&self, role: Role) -> Option<Modifier> {
        match role {
            Role::Dtype => Some(self.dtype.modifier()),
            Role::Atype => Some(self.operands.atype.modifier()),
            Role::Btype => Some(self.operands.btype.modifier()),
            Role::Saturate => {
                (self.tail == SimdTail::Merge { saturate: true }).then_some(Modifier::Sat)
            }
            Role::Secondary => (self.tail == SimdTail::Accumulate).then_some(Modifier::Add),
            _ => None,
        }
    }

    fn lower(&self, lowering: &mut Lowering) -> Value {
        let (a, b) = self.operands.take(lowering);
        lowering.builder.stage(Stage::Compute);
        let mut results: Vec<Value> =
            a.into_iter().zip(b).map(|(a, b)| self.op.lower(&mut lowering.builder, a, b)).collect();
        if self.tail == (SimdTail::Merge { saturate: true }) {
            lowering.builder.stage(Stage::Saturate);
            let bits = self.operands.lanes.width().bits();
            let range = Range::bits(bits as u8, self.dtype == Type::S32);
            for result in &mut results {
                *result = lowering.builder.clamp(*result, range);
            }
        }
        self.operands.put(lowering, &results, self.tail == SimdTail::Accumulate)
    }
}

impl SimdOp {
    /// The exact result.
    pub(super) fn lower(self, builder: &mut Builder, a: Value, b: Value) -> Value {
        match self {
            SimdOp::Add => builder.binary(Op::Add, a, b),
            SimdOp::Sub => builder.binary(Op::Sub, a, b),
            SimdOp::AbsDiff => builder.binary(Op::AbsDiff, a, b),
            SimdOp::Min => builder.min(a, b),
            SimdOp::Max => builder.max(a, b),
            SimdOp::Avrg => {
                // Sums of zero and more are rounded up, negative sums down.
                let sum = builder.binary(Op::Add, a, b);
                let zero = builder.constant(0);
                let carry = builder.compare(Compare::Ge, sum, zero);
                let sum = builder.binary(Op::Add, sum, carry);
                let one = builder.constant(1);
                builder.binary(Op::Shr, sum, one)
            }
        }
    }
}
