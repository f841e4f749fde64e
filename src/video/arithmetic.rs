//! Scalar `vadd`, `vsub`, `vabsdiff`, `vmin`, `vmax` (9.7.18.1.1).

use crate::ast::{Arithmetic, ArithmeticOp, Tail};
use crate::ir::{
    Deviation, Input, Lowering, Op, Range, Stage, Value, destination_range, merged_part,
};
use crate::isa::{
    Destination, Form, Mnemonic, Negation, Requirement, SecondaryOp, Slot, Sources, Type,
};

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

pub(super) const FORMS: &[Form] = &[
    PLAIN,
    Form {
        slots: &[Slot::DTYPE, Slot::ATYPE, Slot::BTYPE, Slot::SATURATE, Slot::SECONDARY],
        third: true,
        title: "secondary operation",
        ..PLAIN
    },
    Form { destination: Destination::Part, third: true, title: "data merge", ..PLAIN },
];

pub(super) const PROSE: &str = "\
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

impl Arithmetic {
    /// What the instruction computes.
    pub(crate) fn lower(&self, lowering: &mut Lowering) -> Value {
        let a = lowering.source(Input::A, &self.a, self.atype);
        let b = lowering.source(Input::B, &self.b, self.btype);
        let builder = &mut lowering.builder;
        builder.stage(Stage::Compute);
        let exact = match self.op {
            ArithmeticOp::Add => builder.binary(Op::Add, a, b),
            ArithmeticOp::Sub => builder.binary(Op::Sub, a, b),
            ArithmeticOp::AbsDiff => builder.binary(Op::AbsDiff, a, b),
            ArithmeticOp::Min => builder.min(a, b),
            ArithmeticOp::Max => builder.max(a, b),
        };
        let result = if self.saturate { self.saturated(lowering, exact) } else { exact };
        let signed = self.dtype == Type::S32;
        match &self.tail {
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

    fn saturated(&self, lowering: &mut Lowering, exact: Value) -> Value {
        let part = merged_part(&self.tail);
        let range = destination_range(self.dtype, part);
        // A minimum with `c` hides that there is no limit, unless it compares
        // only the low 32 bits.
        let cut = matches!(self.op, ArithmeticOp::Add | ArithmeticOp::Sub);
        let hidden = matches!(self.tail, Tail::Secondary { op: SecondaryOp::Min, .. }) && !cut;
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
