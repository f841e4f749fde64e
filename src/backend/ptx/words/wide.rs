//! Values of 64 bits.

use super::super::sequence::{Arg, Opcode, word};
use super::{Compiler, both64, common};
use crate::ir::{Op, Range, Value};
use crate::isa::Type;

impl Compiler<'_> {
    /// A value modulo 2^64. A product is one instruction, even if a word could hold it.
    pub(super) fn wide_product(&mut self, value: Value) -> Option<Arg> {
        let Op::Mul(x, y) = self.op(value) else {
            return self.wide(value);
        };
        if let (Some(x), Some(y)) = (self.exact(x), self.exact(y))
            && let Some(ty) = common(x.range, y.range)
        {
            return Some(self.push(Opcode::Product(ty), &[x.arg, y.arg]));
        }
        let (x, y) = (self.wide(x)?, self.wide(y)?);
        Some(self.push(Opcode::MulWide, &[x, y]))
    }

    /// A value modulo 2^64.
    pub(super) fn wide(&mut self, value: Value) -> Option<Arg> {
        if let Some(exact) = self.exact(value) {
            return Some(self.push(Opcode::Extend(exact.ty()), &[exact.arg]));
        }
        match self.op(value) {
            // A product and a sum, not `mad.wide`: ptxas joins the two, but before sm_120 it splits
            // a `mad.wide`.
            Op::Add(x, y) => {
                let (x, more) = match (self.op(x), self.op(y)) {
                    // The product is added last, so that ptxas joins it.
                    (Op::Add(product, c), Op::Constant(_)) => {
                        let (c, one) = (self.wide(c)?, self.wide(y)?);
                        (product, self.push(Opcode::AddWide, &[c, one]))
                    }
                    _ => (x, self.wide(y)?),
                };
                let x = self.wide_product(x)?;
                Some(self.push(Opcode::AddWide, &[x, more]))
            }
            Op::Sub(x, y) => {
                let (x, y) = (self.wide(x)?, self.wide(y)?);
                Some(self.push(Opcode::SubWide, &[x, y]))
            }
            Op::Mul(..) => self.wide_product(value),
            Op::AbsDiff(x, y) => {
                let (x, y) = (self.exact(x)?, self.exact(y)?);
                let (above, below) = self.mixed_difference(x, y);
                let above = self.push(Opcode::Extend(Type::U32), &[above]);
                let below = self.push(Opcode::Extend(Type::U32), &[below]);
                Some(self.push(Opcode::AddWide, &[above, below]))
            }
            Op::Extract { value, low: 0, width: 64, .. } => self.wide(value),
            Op::Extract { value, low: 0, width, signed } => {
                let wide = self.wide(value)?;
                let by = word(u32::from(64 - width));
                let top = self.push(Opcode::ShlWide, &[wide, by]);
                let ty = if signed { Type::S32 } else { Type::U32 };
                Some(self.push(Opcode::ShrWide(ty), &[top, by]))
            }
            Op::Shl(x, amount) => {
                let (x, amount) = (self.wide(x)?, self.low(amount)?);
                Some(self.push(Opcode::ShlWide, &[x, amount]))
            }
            Op::Shr(x, amount) => {
                let ty = both64(self.range(x), self.range(x))?;
                let (x, amount) = (self.wide(x)?, self.low(amount)?);
                Some(self.push(Opcode::ShrWide(ty), &[x, amount]))
            }
            Op::Min(x, y) => self.either_wide(Opcode::MinWide, x, y),
            Op::Max(x, y) => self.either_wide(Opcode::MaxWide, x, y),
            Op::Clamp(x, range) => self.within(x, range),
            Op::Input(_)
            | Op::Constant(_)
            | Op::Extract { .. }
            | Op::Compare(..)
            | Op::Insert { .. } => None,
        }
    }

    /// The smaller or the larger of two values, in 64 bits.
    pub(super) fn either_wide(
        &mut self,
        opcode: fn(Type) -> Opcode,
        x: Value,
        y: Value,
    ) -> Option<Arg> {
        let ty = both64(self.range(x), self.range(y))?;
        let (x, y) = (self.wide(x)?, self.wide(y)?);
        Some(self.push(opcode(ty), &[x, y]))
    }

    /// The number within the range that is nearest to a value, in 64 bits.
    pub(super) fn within(&mut self, value: Value, range: Range) -> Option<Arg> {
        let own = self.range(value);
        let ty = both64(own, own)?;
        let mut wide = self.wide(value)?;
        if own.max > range.max {
            wide = self.push(Opcode::MinWide(ty), &[wide, Arg::Constant(range.max as u64)]);
        }
        if own.min < range.min {
            wide = self.push(Opcode::MaxWide(ty), &[wide, Arg::Constant(range.min as u64)]);
        }
        Some(wide)
    }
}
