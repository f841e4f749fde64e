//! Scalar `vmad` (9.7.18.1.3).

use crate::ast::{MadMode, MultiplyAdd, Source};
use crate::ir::{Deviation, Input, Lowering, Op, Range, Stage, Value};
use crate::isa::{Destination, Form, Mnemonic, Negation, Requirement, Scale, Slot, Sources, Type};

const PRODUCT: Form = Form {
    mnemonics: &[Mnemonic::Vmad],
    slots: &[Slot::DTYPE, Slot::ATYPE, Slot::BTYPE, Slot::SATURATE, Slot::SCALE],
    destination: Destination::Word,
    sources: Sources::Scalar,
    third: true,
    negation: Negation::ProductOrThird,
    requirement: Requirement::SCALAR,
    section: "9.7.18.1.3",
    title: "multiply and add",
};

pub(super) const FORMS: &[Form] = &[
    PRODUCT,
    Form {
        slots: &[
            Slot::DTYPE,
            Slot::ATYPE,
            Slot::BTYPE,
            Slot::PLUS_ONE,
            Slot::SATURATE,
            Slot::SCALE,
        ],
        negation: Negation::Forbidden,
        title: "plus one mode",
        ..PRODUCT
    },
];

pub(super) const PROSE: &str = "\
Multiplies the selected parts of `a` and `b`, extended by their types, and adds
the whole of `c`: exactly, then optionally shifted right by 7 or 15 bits
(`.shr7`, `.shr15`), then with `.sat` clamped to 32 bits.

A minus on one of `a`, `b` negates the product (on both it cancels), a minus on
`c` negates `c`; the product and `c` cannot both be negated. `.po` adds one more
and takes no minus at all.

The sum counts as signed when a source type is `.s32` or anything is negated;
that decides how `c` is extended, how the scale shifts and what `.sat` clamps
to. `.dtype` must be written but has no effect.
";

impl MultiplyAdd {
    /// What the instruction computes.
    pub(crate) fn lower(&self, lowering: &mut Lowering) -> Value {
        let parts = self.parts();
        let negated = !matches!(parts.mode, MadMode::Plain | MadMode::PlusOne);
        let signed = parts.atype == Type::S32 || parts.btype == Type::S32 || negated;
        // The low 32 bits of the sum are the same either way; scale and clamp
        // show the difference.
        let shows = parts.saturate || parts.scale.is_some();
        let words = shows && lowering.has(Deviation::C7);
        let mut factor = |input, source: &Source, ty| {
            let whole = !matches!(source, Source::Register { part: Some(_), .. });
            lowering.source(input, source, if words && whole { Type::S32 } else { ty })
        };
        let a = factor(Input::A, &parts.a, parts.atype);
        let b = factor(Input::B, &parts.b, parts.btype);
        let c = lowering.third(&parts.c, signed || (shows && lowering.has(Deviation::C8)));
        let builder = &mut lowering.builder;
        builder.stage(Stage::Compute);
        let product = builder.binary(Op::Mul, a, b);
        let sum = match parts.mode {
            MadMode::Plain => builder.binary(Op::Add, product, c),
            // One's complement and one more is the negative.
            MadMode::NegateA | MadMode::NegateB => builder.binary(Op::Sub, c, product),
            MadMode::NegateC => builder.binary(Op::Sub, product, c),
            MadMode::PlusOne => {
                let sum = builder.binary(Op::Add, product, c);
                let one = builder.constant(1);
                builder.binary(Op::Add, sum, one)
            }
        };
        let scaled = match parts.scale {
            None => sum,
            Some(scale) => {
                // Unsigned sums shift as 64 bits, which one that is negative only
                // by deviation shows.
                let sum = if signed { sum } else { builder.extract(sum, 0, 64, false) };
                let bits = builder.constant(if scale == Scale::Shr7 { 7 } else { 15 });
                builder.binary(Op::Shr, sum, bits)
            }
        };
        if !parts.saturate {
            return scaled;
        }
        builder.stage(Stage::Saturate);
        builder.clamp(scaled, Range::bits(32, signed))
    }
}
