//! Minima and maxima of parts at the top of words, below which other bytes may stand.

use super::super::sequence::{Arg, Opcode, word};
use super::Compiler;
use crate::ir::{Op, Value};
use crate::isa::Type;

/// A value in the upper bits of a word. The other bits may be anything.
#[derive(Clone, Copy, Debug)]
pub(super) struct OnTop {
    pub(super) arg: Arg,
    pub(super) width: u8,
    pub(super) ty: Type,
    /// Whether no part had to be moved.
    pub(super) is_free: bool,
}

impl OnTop {
    /// The number of bits below the value.
    pub(super) fn shift(self) -> u32 {
        u32::from(32 - self.width)
    }
}

impl Compiler<'_> {
    /// The smaller or larger of two parts of one type, possibly clamped. One of the parts stands at
    /// the top of its word.
    pub(super) fn on_top(&mut self, value: Value) -> Option<OnTop> {
        match self.op(value) {
            Op::Min(x, y) if matches!(self.op(y), Op::Constant(0..)) => {
                let Op::Constant(limit) = self.op(y) else {
                    return None;
                };
                let top = self.on_top(self.taken_as_unsigned(x)?)?;
                // Negative values count as large.
                if limit >> (top.width - 1) != 0 {
                    return None;
                }
                let limit = limit_below(limit, top);
                Some(OnTop { arg: self.push(Opcode::Min(Type::U32), &[top.arg, limit]), ..top })
            }
            Op::Min(x, y) => self.extreme_on_top(Opcode::Min, x, y),
            Op::Max(x, y) => self.extreme_on_top(Opcode::Max, x, y),
            Op::Clamp(inner, range) => {
                let mut top = self.on_top(inner)?;
                let own = self.range(inner);
                if own.max > range.max {
                    let limit = limit_below(range.max, top);
                    top.arg = self.push(Opcode::Min(top.ty), &[top.arg, limit]);
                }
                if own.min < range.min {
                    let limit = word((range.min as u32) << top.shift());
                    top.arg = self.push(Opcode::Max(top.ty), &[top.arg, limit]);
                }
                Some(top)
            }
            _ => None,
        }
    }

    fn extreme_on_top(&mut self, opcode: fn(Type) -> Opcode, x: Value, y: Value) -> Option<OnTop> {
        let (left, right) = (self.part(x)?, self.part(y)?);
        let (still, moved) = if left.is_on_top() { (left, right) } else { (right, left) };
        if left.ty != right.ty || !still.is_on_top() || moved.width > still.width {
            return None;
        }
        let other = self.placed(moved, still.byte, still.width / 8, None);
        let own = self.inputs[still.input as usize];
        let arg = self.push(opcode(still.ty), &[own, other]);
        let is_free = moved.is_on_top() && moved.width == still.width;
        Some(OnTop { arg, width: still.width, ty: still.ty, is_free })
    }

    /// A value that is the smaller or larger of two whole upper ends of words.
    pub(super) fn free_on_top(&mut self, value: Value) -> Option<Arg> {
        let top = self.on_top(value).filter(|top| top.is_free)?;
        Some(self.moved_down(top))
    }

    /// A value on top, moved to the low bits.
    pub(super) fn moved_down(&mut self, top: OnTop) -> Arg {
        self.push(Opcode::Shr(top.ty), &[top.arg, word(top.shift())])
    }
}

/// The largest word with this value on top.
fn limit_below(limit: i128, top: OnTop) -> Arg {
    word((limit as u32) << top.shift() | ((1 << top.shift()) - 1))
}
