//! Comparisons of values, and their results in sums and parts.

use super::super::sequence::{Arg, Opcode, word};
use super::dot::SourcePart;
use super::{Compiler, Exact, both64, common};
use crate::ir::Value;
use crate::isa::{Compare, Type};

impl Compiler<'_> {
    /// 1 where a comparison holds, else 0.
    pub(super) fn flag(&mut self, compare: Compare, x: Value, y: Value) -> Option<Arg> {
        if let Some(difference) = self.negative_where(compare, x, y) {
            return Some(self.push(Opcode::Shr(Type::U32), &[difference, word(31)]));
        }
        let predicate = self.predicate(compare, x, y)?;
        Some(self.push(Opcode::Select, &[word(1), word(0), predicate]))
    }

    /// A value, and one more where a comparison holds. ptxas makes one guarded instruction of the
    /// selection and the sum.
    pub(super) fn plus_flag(
        &mut self,
        compare: Compare,
        x: Value,
        y: Value,
        more: Value,
    ) -> Option<Arg> {
        if let Some(difference) = self.negative_where(compare, x, y) {
            let flag = self.push(Opcode::Shr(Type::U32), &[difference, word(31)]);
            let more = self.low(more)?;
            return Some(self.builder.add(flag, more));
        }
        let predicate = self.predicate(compare, x, y)?;
        let without = self.low(more)?;
        let with = self.builder.add(without, word(1));
        Some(self.push(Opcode::Select, &[with, without, predicate]))
    }

    /// A word whose byte 3 is 1 where a comparison of two parts holds, else 0.
    pub(super) fn flag_in_top_byte(&mut self, compare: Compare, x: Value, y: Value) -> Option<Arg> {
        let (left, right) = (self.exact(x)?, self.exact(y)?);
        // At most 1 and at least -2^24 + 1 before the sum.
        let (most, least, one) = match compare {
            Compare::Lt => (right, left, 0x00ff_ffff),
            Compare::Gt => (left, right, 0x00ff_ffff),
            Compare::Le => (right, left, 0x0100_0000),
            Compare::Ge => (left, right, 0x0100_0000),
            Compare::Eq | Compare::Ne => return None,
        };
        if most.range.max - least.range.min >= 1 << 24
            || most.range.min - least.range.max <= -(1 << 24)
        {
            return None;
        }
        let difference = self.builder.sub(most.arg, least.arg);
        Some(self.builder.add(difference, word(one)))
    }

    pub(super) fn predicate(&mut self, compare: Compare, x: Value, y: Value) -> Option<Arg> {
        if let Some(predicate) = self.equal_parts(compare, x, y) {
            return Some(predicate);
        }
        if let Some(predicate) = self.compared_on_top(compare, x, y) {
            return Some(predicate);
        }
        let (Some(left), Some(right)) = (self.exact(x), self.exact(y)) else {
            let (left, right) = (self.wide(x)?, self.wide(y)?);
            let ty = both64(self.range(x), self.range(y))?;
            return Some(self.push(Opcode::SetWide(compare, ty), &[left, right]));
        };
        Some(self.compare_words(compare, left, right))
    }

    /// Whether a comparison of two words holds.
    pub(super) fn compare_words(&mut self, compare: Compare, left: Exact, right: Exact) -> Arg {
        if let Some(ty) = common(left.range, right.range) {
            return self.push(Opcode::Set(compare, ty), &[left.arg, right.arg]);
        }
        // A negative word is less than any unsigned one.
        let signed = if left.negative() { left.arg } else { right.arg };
        let args = [left.arg, right.arg];
        let less = match compare {
            Compare::Lt | Compare::Le => left.negative(),
            Compare::Gt | Compare::Ge => right.negative(),
            Compare::Eq => false,
            Compare::Ne => true,
        };
        let zero = word(0);
        if less {
            let negative = self.push(Opcode::Set(Compare::Lt, Type::S32), &[signed, zero]);
            self.push(Opcode::SetOr(compare, Type::U32), &[args[0], args[1], negative])
        } else {
            let positive = self.push(Opcode::Set(Compare::Ge, Type::S32), &[signed, zero]);
            self.push(Opcode::SetAnd(compare, Type::U32), &[args[0], args[1], positive])
        }
    }

    /// Whether two parts of one type are equal. One part is moved to the place of the other part;
    /// neither is extracted.
    fn equal_parts(&mut self, compare: Compare, x: Value, y: Value) -> Option<Arg> {
        if !matches!(compare, Compare::Eq | Compare::Ne) {
            return None;
        }
        let (x, y) = (self.part(x)?, self.part(y)?);
        if x.ty != y.ty {
            return None;
        }
        let (still, moved) = if x.width < y.width { (y, x) } else { (x, y) };
        let mask = ((1 << still.width) - 1) << (8 * still.byte);
        let moved = self.placed(moved, still.byte, still.width / 8, None);
        let change = self.builder.xor(self.inputs[still.input as usize], moved);
        let change = self.builder.and(change, word(mask));
        Some(self.push(Opcode::Set(compare, Type::U32), &[change, word(0)]))
    }

    /// The comparison of two parts of one type. One part stands at the top of its word. The other
    /// part is moved to the top, above the lower bytes of that word, which then make no difference.
    fn compared_on_top(&mut self, compare: Compare, x: Value, y: Value) -> Option<Arg> {
        let (left, right) = (self.part(x)?, self.part(y)?);
        if left.ty != right.ty {
            return None;
        }
        let (still, moved) = if left.is_on_top() { (left, right) } else { (right, left) };
        if !still.is_on_top() || moved.width > still.width {
            return None;
        }
        let bytes = still.width / 8;
        let other = if moved.width == still.width || moved.ty == Type::S32 {
            self.placed(moved, still.byte, bytes, Some(still))
        } else {
            // Zeros stand below the moved part, so the lower bytes make the other word the larger
            // one.
            let natural = if left.is_on_top() {
                matches!(compare, Compare::Lt | Compare::Ge)
            } else {
                matches!(compare, Compare::Gt | Compare::Le)
            };
            if !natural {
                return None;
            }
            self.placed(moved, still.byte, bytes, None)
        };
        let own = self.inputs[still.input as usize];
        let args = if left.is_on_top() { [own, other] } else { [other, own] };
        Some(self.push(Opcode::Set(compare, left.ty), &args))
    }

    /// A word with a part, extended, from a byte on. The other bytes are those of another part's
    /// word, or 0; an unsigned part is extended only in the latter case.
    pub(super) fn placed(
        &mut self,
        part: SourcePart,
        at: u8,
        bytes: u8,
        around: Option<SourcePart>,
    ) -> Arg {
        let own = self.inputs[part.input as usize];
        if around.is_none() && part.byte == at && part.width == 8 * bytes {
            return own;
        }
        let other = around.map_or(word(0), |around| self.inputs[around.input as usize]);
        let last = part.byte + part.width / 8 - 1;
        let selector = (0..4).fold(0, |selector, byte: u8| {
            let nibble = match byte.checked_sub(at).filter(|step| *step < bytes) {
                Some(step) if part.byte + step <= last => part.byte + step,
                Some(_) if part.ty == Type::S32 => last | 8,
                _ => 4 + byte,
            };
            selector | u32::from(nibble) << (4 * byte)
        });
        self.builder.permute(own, other, selector)
    }

    /// A word that is negative where a comparison holds, from a difference that is less work
    /// than the comparison.
    fn negative_where(&mut self, compare: Compare, x: Value, y: Value) -> Option<Arg> {
        let (least, most) = match compare {
            Compare::Lt => (x, y),
            Compare::Gt => (y, x),
            _ => return None,
        };
        let (left, right) = (self.part(least)?, self.part(most)?);
        let signed_bytes = |part: SourcePart| part.width == 8 && part.ty == Type::S32;
        if signed_bytes(left) && signed_bytes(right) {
            // With both parts side by side in a word, a product subtracts the lower from the upper
            // one.
            let (low, high) = (right, left);
            let base = if low.input == high.input { 0 } else { 4 };
            let pair = |part: SourcePart, base: u8| {
                u32::from(base + part.byte) | u32::from((base + part.byte) | 8) << 4
            };
            let selector = pair(low, 0) | pair(high, base) << 8;
            let (low, high) = (self.inputs[low.input as usize], self.inputs[high.input as usize]);
            let both = self.builder.permute(low, high, selector);
            return Some(self.push(Opcode::Mul, &[both, word(0xffff_0001)]));
        }
        let is_comparable = left.ty == right.ty
            && (left.width == right.width
                || left.width.min(right.width) == 8 && left.ty == Type::S32);
        if is_comparable || !left.is_on_top() {
            return None;
        }
        let (left, right) = (self.low(least)?, self.low(most)?);
        Some(self.builder.sub(left, right))
    }
}
