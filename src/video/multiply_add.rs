//! Scalar `vmad` (9.7.18.1.3).

use std::fmt;

use super::body::{Body, Operands, Page, described};
use super::lowering::Lowering;
use super::operand::{Operand, OperandName, Parts, Register, Rename, Source};
use super::{Deviation, Operation};
use crate::ir::{Input, Op, Range, Stage, Value};
use crate::isa::{
    Destination, Form, Mnemonic, Modifier, Negation, Requirement, Role, Scale, Slot, Sources, Type,
};

/// The negations and additions of `vmad`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MadMode {
    /// `a*b + c`
    Plain,
    /// `-(a*b) + c`, written `-a`
    NegateA,
    /// `-(a*b) + c`, written `-b`
    NegateB,
    /// `a*b - c`
    NegateC,
    /// `a*b + c + 1`
    PlusOne,
}

/// `vmad` (9.7.18.1.3). Negation applies to registers: a constant carries its
/// own sign, and `-5` as `a` is [`MadMode::Plain`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MultiplyAdd(pub(super) MultiplyAddParts);

/// The parts of a [`MultiplyAdd`], to build it or to take it apart.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MultiplyAddParts {
    /// Destination type; it has no effect.
    pub dtype: Type,
    /// Type of `a`.
    pub atype: Type,
    /// Type of `b`.
    pub btype: Type,
    /// The negation or addition.
    pub mode: MadMode,
    /// Clamp to 32 bits.
    pub saturate: bool,
    /// Shift the sum right.
    pub scale: Option<Scale>,
    /// Destination.
    pub d: Register,
    /// First factor.
    pub a: Source,
    /// Second factor.
    pub b: Source,
    /// Summand.
    pub c: Operand,
}

impl MultiplyAdd {
    /// A `vmad` of these parts; `None` when the mode negates a constant.
    pub fn new(parts: MultiplyAddParts) -> Option<MultiplyAdd> {
        let constant = match parts.mode {
            MadMode::NegateA => matches!(parts.a, Source::Immediate(_)),
            MadMode::NegateB => matches!(parts.b, Source::Immediate(_)),
            MadMode::NegateC => matches!(parts.c, Operand::Immediate(_)),
            MadMode::Plain | MadMode::PlusOne => false,
        };
        (!constant).then_some(MultiplyAdd(parts))
    }

    /// Its parts.
    pub fn parts(&self) -> MultiplyAddParts {
        self.0.clone()
    }

    /// The factors.
    pub(crate) fn factors(&self) -> [&Source; 2] {
        [&self.0.a, &self.0.b]
    }

    /// The types of a product that is neither negated, scaled nor saturated, and the word that
    /// it is added to.
    pub(crate) fn plain(&self) -> Option<([Type; 2], &Operand)> {
        let parts = &self.0;
        let is_plain = parts.mode == MadMode::Plain && !parts.saturate && parts.scale.is_none();
        is_plain.then_some(([parts.atype, parts.btype], &parts.c))
    }
}

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

const FORMS: &[Form] = &[
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

pub(super) const PAGE: Page = Page {
    forms: FORMS,
    prose: PROSE,
    deviations: &[Deviation::C7, Deviation::C8],
    instructions: described! {
        Vmad "product of two bytes, half-words or words, plus a word",
            // (-2 * 3 + 262) >> 7
            "vmad.s32.s32.u32.shr7 d, a.b0, b, c;" [0xfe, 3, 262] == 2;
    },
};

const PROSE: &str = "\
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

pub(super) fn build(parts: &Parts<'_>) -> Option<Operation> {
    let mode = match parts.negated {
        _ if parts.has(Role::PlusOne) => MadMode::PlusOne,
        None | Some(OperandName::D) => MadMode::Plain,
        Some(OperandName::A) => MadMode::NegateA,
        Some(OperandName::B) => MadMode::NegateB,
        Some(OperandName::C) => MadMode::NegateC,
    };
    let mad = MultiplyAdd::new(MultiplyAddParts {
        dtype: parts.ty(Role::Dtype)?,
        atype: parts.ty(Role::Atype)?,
        btype: parts.ty(Role::Btype)?,
        mode,
        saturate: parts.has(Role::Saturate),
        scale: parts.get(Role::Scale).and_then(Scale::from_modifier),
        d: parts.d.value.clone(),
        a: parts.a.scalar(),
        b: parts.b.scalar(),
        c: parts.c.clone()?,
    })?;
    Some(Operation::MultiplyAdd(mad))
}

impl Operands for MultiplyAddParts {
    fn destination(&self) -> &Register {
        &self.d
    }

    fn sources(&self) -> [Option<&Register>; 3] {
        [self.a.register(), self.b.register(), self.c.register()]
    }

    fn rename(&mut self, rename: Rename<'_>) {
        self.d = rename(OperandName::D, &self.d);
        self.a.rename(OperandName::A, rename);
        self.b.rename(OperandName::B, rename);
        self.c.rename(rename);
    }

    fn write(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let minus = |mode| if self.mode == mode { "-" } else { "" };
        write!(f, " {}, {}{}", self.d, minus(MadMode::NegateA), self.a)?;
        write!(f, ", {}{}", minus(MadMode::NegateB), self.b)?;
        write!(f, ", {}{}", minus(MadMode::NegateC), self.c)
    }
}

impl Body for MultiplyAdd {
    fn mnemonic(&self) -> Mnemonic {
        Mnemonic::Vmad
    }

    fn modifier(&self, role: Role) -> Option<Modifier> {
        match role {
            Role::Dtype => Some(self.0.dtype.modifier()),
            Role::Atype => Some(self.0.atype.modifier()),
            Role::Btype => Some(self.0.btype.modifier()),
            Role::PlusOne => (self.0.mode == MadMode::PlusOne).then_some(Modifier::Po),
            Role::Saturate => self.0.saturate.then_some(Modifier::Sat),
            Role::Scale => self.0.scale.map(Scale::modifier),
            _ => None,
        }
    }

    fn lower(&self, lowering: &mut Lowering) -> Value {
        let parts = &self.0;
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
            // The manual's one's complement plus one is the negative.
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
                // Unsigned sums shift as 64 bits. That matters only if a deviation makes the
                // sum negative.
                let sum = if signed { sum } else { builder.extract(sum, 0, 64, false) };
                let bits = builder.constant(scale.bits().into());
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
