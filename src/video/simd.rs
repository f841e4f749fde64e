//! The operands of SIMD instructions, and how programs extract and merge lanes.

use std::fmt;

use super::body::Operands;
use super::lowering::Lowering;
use super::operand::{OperandName, Parts, Register, Rename};
use crate::ir::{Input, Op, Stage, Value};
use crate::isa::{LaneWidth, Lanes, Mask, Role, Selector, Type};

/// Operands of a SIMD instruction; all are registers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SimdOperands {
    /// Type of the lanes of `a`.
    pub atype: Type,
    /// Type of the lanes of `b`.
    pub btype: Type,
    /// Destination.
    pub d: Register,
    /// First source.
    pub a: Register,
    /// Second source.
    pub b: Register,
    /// Third source: the lanes outside the mask, or the summand.
    pub c: Register,
    /// The lanes that are written or summed, and the lanes that `a` and `b` take.
    pub lanes: Lanes,
}

impl SimdOperands {
    pub(super) fn build(parts: &Parts<'_>, width: LaneWidth) -> Option<SimdOperands> {
        let selector = |text: Option<&str>, default| match text {
            Some(text) => Selector::from_text(width, text),
            None => Some(default),
        };
        let mask = match parts.d.selector {
            Some(text) => Mask::from_text(width, text)?,
            None => Mask::full(width),
        };
        let a = selector(parts.a.selector, Selector::default_a(width))?;
        let b = selector(parts.b.selector, Selector::default_b(width))?;
        Some(SimdOperands {
            atype: parts.ty(Role::Atype)?,
            btype: parts.ty(Role::Btype)?,
            d: parts.d.value.clone(),
            a: parts.a.value.register()?.clone(),
            b: parts.b.value.register()?.clone(),
            c: parts.c.as_ref()?.register()?.clone(),
            lanes: Lanes::new(mask, a, b)?,
        })
    }

    /// The lanes of both operands, lane 0 first.
    pub(super) fn take(&self, lowering: &mut Lowering) -> (Vec<Value>, Vec<Value>) {
        lowering.builder.stage(Stage::Extract);
        let width = self.lanes.width();
        let mut take = |selector: Selector, ty: Type| {
            let lane = |&lane: &u8| {
                let own = usize::from(lane) < width.lanes();
                let word = lowering.builder.input(if own { Input::A } else { Input::B });
                let low = u32::from(lane) % width.lanes() as u32 * width.bits();
                lowering.builder.extract(word, low as u8, width.bits() as u8, ty == Type::S32)
            };
            selector.lanes().iter().map(lane).collect::<Vec<_>>()
        };
        (take(self.lanes.a(), self.atype), take(self.lanes.b(), self.btype))
    }

    /// Merges the lanes of the mask into `c`, or adds them to it.
    pub(super) fn put(
        &self,
        lowering: &mut Lowering,
        results: &[Value],
        accumulate: bool,
    ) -> Value {
        let builder = &mut lowering.builder;
        let (mask, bits) = (self.lanes.mask(), self.lanes.width().bits());
        if accumulate {
            builder.stage(Stage::Secondary);
            let c = builder.input(Input::C);
            return mask.lanes().fold(c, |sum, at| builder.binary(Op::Add, sum, results[at]));
        }
        builder.stage(Stage::Merge);
        // A full mask leaves nothing of `c`.
        let base = if mask.is_full() { builder.constant(0) } else { builder.input(Input::C) };
        mask.lanes().fold(base, |word, at| {
            builder.insert(word, results[at], (at as u32 * bits) as u8, bits as u8)
        })
    }
}

impl Operands for SimdOperands {
    fn destination(&self) -> &Register {
        &self.d
    }

    fn sources(&self) -> [Option<&Register>; 3] {
        [Some(&self.a), Some(&self.b), Some(&self.c)]
    }

    fn rename(&mut self, rename: Rename<'_>) {
        self.d = rename(OperandName::D, &self.d);
        self.a = rename(OperandName::A, &self.a);
        self.b = rename(OperandName::B, &self.b);
        self.c = rename(OperandName::C, &self.c);
    }

    fn simd(&self) -> Option<&SimdOperands> {
        Some(self)
    }

    fn write(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (lanes, width) = (self.lanes, self.lanes.width());
        write!(f, " {}", self.d)?;
        if !lanes.mask().is_full() {
            write!(f, "{}", lanes.mask())?;
        }
        write!(f, ", {}", self.a)?;
        if lanes.a() != Selector::default_a(width) {
            write!(f, "{}", lanes.a())?;
        }
        write!(f, ", {}", self.b)?;
        if lanes.b() != Selector::default_b(width) {
            write!(f, "{}", lanes.b())?;
        }
        write!(f, ", {}", self.c)
    }
}
