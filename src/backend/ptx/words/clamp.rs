//! Clamps values to a range. A sum can be clamped by clamping one operand, if the
//! operand's limit is a word.

use super::super::sequence::{Arg, Opcode, word};
use super::super::{LIMITS, WIDE};
use super::{Compiler, Exact, S32, S64, TOP, U32, U64, both64, common};
use crate::ir::{Op, Range, Value};
use crate::isa::{Compare, Type};

impl Compiler<'_> {
    /// The low 32 bits of the number within the range that is nearest to the value.
    pub(super) fn clamp(&mut self, value: Value, range: Range) -> Option<Arg> {
        if let Some(exact) = self.exact(value) {
            return Some(self.clamp_word(exact, range)?.arg);
        }
        let arg = match self.op(value) {
            Op::Add(x, y) => self
                .clamp_product_sum(value, x, y, range)
                .or_else(|| self.clamp_sum(x, y, false, range)),
            Op::Sub(x, y) => self.clamp_sum(x, y, true, range),
            Op::AbsDiff(x, y) => self.clamp_difference(x, y, range),
            Op::Extract { value, low: 0, width: 34, signed: true } => {
                self.clamp_shift(value, range)
            }
            _ => None,
        };
        arg.or_else(|| self.clamp_wide(value, range))
    }

    pub(super) fn clamp_word(&mut self, x: Exact, range: Range) -> Option<Exact> {
        let mut result = x;
        if x.range.max > range.max {
            result = self.extremum(true, result, Exact::constant(range.max))?;
        }
        if x.range.min < range.min {
            result = self.extremum(false, result, Exact::constant(range.min))?;
        }
        Some(result)
    }

    /// Clamps the exact sum or difference of two words.
    pub(super) fn clamp_sum(
        &mut self,
        x: Value,
        y: Value,
        subtract: bool,
        range: Range,
    ) -> Option<Arg> {
        let (x, y) = (self.exact(x)?, self.exact(y)?);
        self.clamp_exact_sum(x, y, subtract, range)
    }

    /// Clamps the sum of a product, which is a word, and another word.
    fn clamp_product_sum(&mut self, sum: Value, x: Value, y: Value, range: Range) -> Option<Arg> {
        let (product, other, more) = match (self.op(x), self.op(y)) {
            (Op::Mul(..), _) => (x, y, 0),
            (Op::Add(product, other), Op::Constant(more)) => (product, other, more),
            _ => return None,
        };
        let Op::Mul(..) = self.op(product) else {
            return None;
        };
        let (mut product, other) = (self.exact(product)?, self.exact(other)?);
        product.range = Range::new(product.range.min + more, product.range.max + more);
        if !S32.contains_range(product.range) && !U32.contains_range(product.range) {
            return None;
        }
        product.arg = self.builder.add(product.arg, word(more as u32));
        let fits = |ty: Range| range == ty && ty.contains_range(other.range);
        let ty = match () {
            () if fits(S32) => Type::S32,
            () if fits(U32) => Type::U32,
            () => return self.clamp_exact_sum(product, other, false, range),
        };
        // Only a sum that leaves the range is on the wrong side of the other word.
        let (compare, limit) = match product.range {
            Range { min: 0.., .. } => (Compare::Lt, range.max),
            Range { max: ..=0, .. } => (Compare::Gt, range.min),
            _ => return self.clamp_exact_sum(product, other, false, range),
        };
        let sum = if more == 0 { self.low(sum)? } else { self.builder.add(product.arg, other.arg) };
        let out = self.push(Opcode::Set(compare, ty), &[sum, other.arg]);
        Some(self.push(Opcode::Select, &[word(limit as u32), sum, out]))
    }

    pub(super) fn clamp_exact_sum(
        &mut self,
        x: Exact,
        y: Exact,
        subtract: bool,
        range: Range,
    ) -> Option<Arg> {
        let whole = sum_range(x.range, y.range, subtract);
        let (low, high) = (whole.min < range.min, whole.max > range.max);
        let combine = if subtract { Opcode::Sub } else { Opcode::Add };
        let signed = common(x.range, y.range) == Some(Type::S32);
        if self.strategy.has(LIMITS) && subtract && signed && range == S32 && (low || high) {
            return Some(self.clamp_by_limits(x.arg, y.arg, [low, high]));
        }
        // `add.sat` and `sub.sat` are five instructions before sm_120. If only one
        // limit matters, three instructions do the same.
        if signed && range == S32 && (self.strategy.has(WIDE) || low == high) {
            let opcode = if subtract { Opcode::SubSat } else { Opcode::AddSat };
            return Some(self.push(opcode, &[x.arg, y.arg]));
        }
        if let Some(arg) = self.clamp_first(x, y, subtract, range) {
            return Some(arg);
        }
        if !subtract && let Some(arg) = self.clamp_first(y, x, subtract, range) {
            return Some(arg);
        }
        if subtract && low != high {
            // The limit on the second operand.
            let bound = if low { range.min } else { range.max };
            let limit = self.offset(x, -bound, false);
            if let Some(limited) = limit.and_then(|limit| self.extremum(low, y, limit)) {
                return Some(self.push(combine, &[x.arg, limited.arg]));
            }
        }
        // Operand values beyond these ranges give the same clamped result.
        let near = |own: Range, other: Range, flip: bool| {
            let (least, most) = match (subtract, flip) {
                (false, _) => (range.min - other.max, range.max - other.min),
                (true, false) => (range.min + other.min, range.max + other.max),
                (true, true) => (other.min - range.max, other.max - range.min),
            };
            Range::new(own.min.max(least), own.max.min(most))
        };
        let (near_x, near_y) = (near(x.range, y.range, false), near(y.range, x.range, true));
        let narrow = sum_range(near_x, near_y, subtract);
        if (S32.contains_range(narrow) || U32.contains_range(narrow))
            && near_x.min <= near_x.max
            && near_y.min <= near_y.max
        {
            let (x, y) = (self.clamp_word(x, near_x)?, self.clamp_word(y, near_y)?);
            let sum = Exact { arg: self.push(combine, &[x.arg, y.arg]), range: narrow };
            return Some(self.clamp_word(sum, range)?.arg);
        }
        if low && !high && range.min == 0 && !subtract {
            return self.positive_sum(x, y);
        }
        if signed && range == S32 {
            let opcode = if subtract { Opcode::SubSat } else { Opcode::AddSat };
            return Some(self.push(opcode, &[x.arg, y.arg]));
        }
        // The difference of unsigned words is clamped like that of signed ones.
        if subtract && range == S32 && common(x.range, y.range) == Some(Type::U32) {
            let x = self.builder.xor(x.arg, word(TOP));
            let y = self.builder.xor(y.arg, word(TOP));
            return Some(self.push(Opcode::SubSat, &[x, y]));
        }
        None
    }

    /// The difference of signed words. The first word is clamped before: from below, from above, or
    /// both. The limits depend on the second word only.
    fn clamp_by_limits(&mut self, x: Arg, y: Arg, [low, high]: [bool; 2]) -> Arg {
        let mut limited = x;
        let mut most = None;
        if high {
            let negative = self.push(Opcode::Min(Type::S32), &[y, word(0)]);
            let limit = self.builder.add(negative, word(!TOP));
            limited = self.push(Opcode::Min(Type::S32), &[limited, limit]);
            most = Some(limit);
        }
        if low {
            let limit = if let Some(most) = most {
                // Both limits and 1 are the second word, modulo 2^32.
                let rest = self.builder.sub(y, most);
                self.builder.add(rest, word(u32::MAX))
            } else {
                let positive = self.push(Opcode::Max(Type::S32), &[y, word(0)]);
                self.builder.add(positive, word(TOP))
            };
            limited = self.push(Opcode::Max(Type::S32), &[limited, limit]);
        }
        self.builder.sub(limited, y)
    }

    /// Clamps a sum or difference by clamping its first operand, if the limits are
    /// words of its type.
    pub(super) fn clamp_first(
        &mut self,
        x: Exact,
        y: Exact,
        subtract: bool,
        range: Range,
    ) -> Option<Arg> {
        let whole = sum_range(x.range, y.range, subtract);
        let mut limited = x;
        for (needed, bound, upper) in
            [(whole.max > range.max, range.max, true), (whole.min < range.min, range.min, false)]
        {
            if needed {
                let limit = self.offset(y, bound, !subtract)?;
                limited = self.extremum(upper, limited, limit)?;
            }
        }
        let combine = if subtract { Opcode::Sub } else { Opcode::Add };
        Some(self.push(combine, &[limited.arg, y.arg]))
    }

    /// `bound + y`, or `bound - y`, if that is a word.
    pub(super) fn offset(&mut self, y: Exact, bound: i128, negate: bool) -> Option<Exact> {
        let range = sum_range(Range::new(bound, bound), y.range, negate);
        if !S32.contains_range(range) && !U32.contains_range(range) {
            return None;
        }
        let bound = word(bound as u32);
        let arg = match negate {
            // Cheaper than a difference, and the same.
            true if bound == word(u32::MAX) => self.push(Opcode::Not, &[y.arg]),
            true => self.builder.sub(bound, y.arg),
            false => self.builder.add(y.arg, bound),
        };
        Some(Exact { arg, range })
    }

    /// The low 32 bits of a sum of words, or 0 if the sum is negative.
    pub(super) fn positive_sum(&mut self, x: Exact, y: Exact) -> Option<Arg> {
        let unsigned = |side: Exact| !S32.contains_range(side.range);
        let sum = self.builder.add(x.arg, y.arg);
        let negative = match (unsigned(x), unsigned(y)) {
            (false, false) => {
                let complement = self.push(Opcode::Not, &[y.arg]);
                self.push(Opcode::Set(Compare::Le, Type::S32), &[x.arg, complement])
            }
            (true, true) => return None,
            (flag, _) => {
                let (unsigned, signed) = if flag { (x, y) } else { (y, x) };
                let below = self.push(Opcode::Set(Compare::Lt, Type::S32), &[signed.arg, word(0)]);
                // Without a carry the sum is below zero.
                self.push(Opcode::SetAnd(Compare::Gt, Type::U32), &[sum, unsigned.arg, below])
            }
        };
        Some(self.push(Opcode::Select, &[word(0), sum, negative]))
    }

    /// Clamps the absolute difference of an unsigned and a signed word.
    pub(super) fn clamp_difference(&mut self, x: Value, y: Value, range: Range) -> Option<Arg> {
        let (x, y) = (self.exact(x)?, self.exact(y)?);
        if common(x.range, y.range).is_some() {
            return None;
        }
        let (above, below) = self.mixed_difference(x, y);
        if range.max >= U64.max {
            return Some(self.builder.add(above, below));
        }
        let above = Exact { arg: above, range: U32 };
        let below = Exact { arg: below, range: Range::new(0, 1 << 31) };
        self.clamp_exact_sum(above, below, false, range)
    }

    /// Clamps a shifted word, of which 34 bits are kept, to the range of a word or to
    /// part of it.
    pub(super) fn clamp_shift(&mut self, shifted: Value, range: Range) -> Option<Arg> {
        let Op::Shl(x, amount) = self.op(shifted) else {
            return None;
        };
        if range != S32 && range != U32 {
            return None;
        }
        let (left, high) = self.shifted_pair(x, amount)?;
        if range == U32 {
            // ptxas moves both bits to predicates at once.
            let [over, under] = [1, 2].map(|bit| {
                let set = self.builder.and(high, word(bit));
                self.push(Opcode::Set(Compare::Ne, Type::U32), &[set, word(0)])
            });
            let result = self.push(Opcode::Select, &[word(u32::MAX), left, over]);
            return Some(self.push(Opcode::Select, &[word(0), result, under]));
        }
        // If bits 2 to 33 lie in the range of a word, all bits do.
        let top = self.push(Opcode::FunnelRightWrap, &[left, high, word(2)]);
        let over = self.push(Opcode::Set(Compare::Gt, Type::S32), &[top, word(0x1fff_ffff)]);
        let result = self.push(Opcode::Select, &[word(0x7fff_ffff), left, over]);
        let under = self.push(Opcode::Set(Compare::Lt, Type::S32), &[top, word(0xe000_0000)]);
        Some(self.push(Opcode::Select, &[word(TOP), result, under]))
    }

    pub(super) fn clamp_wide(&mut self, value: Value, range: Range) -> Option<Arg> {
        let inner = match self.op(value) {
            Op::Shr(x, _) => self.range(x),
            _ => self.range(value),
        };
        if both64(inner, inner).is_none() {
            return self.clamp_far(value, range);
        }
        if !self.strategy.has(WIDE)
            && (range == S32 || range == U32)
            && let Some(arg) = self.clamp_parts(value, range)
        {
            return Some(arg);
        }
        let wide = self.within(value, range)?;
        Some(self.push(Opcode::Low, &[wide]))
    }

    /// Clamps a difference that 64 bits cannot hold, possibly shifted right. Its larger
    /// operand, an unsigned one, is clamped first.
    pub(super) fn clamp_far(&mut self, value: Value, range: Range) -> Option<Arg> {
        let (difference, bits) = match self.op(value) {
            Op::Shr(x, amount) => match self.op(amount) {
                Op::Constant(bits) => (x, bits as u32),
                _ => return None,
            },
            _ => (value, 0),
        };
        let Op::Sub(x, y) = self.op(difference) else {
            return None;
        };
        let (x_range, y_range) = (self.range(x), self.range(y));
        let (mut left, mut right) = (self.wide(x)?, self.wide(y)?);
        let first = !S64.contains_range(x_range);
        let (side, own, enough) = if first {
            (&mut left, x_range, (range.max << bits) + y_range.max)
        } else {
            (&mut right, y_range, x_range.max - (range.min << bits))
        };
        if !U64.contains_range(own) {
            return None;
        }
        let enough = Arg::Constant(enough as u64);
        *side = self.builder.push(Opcode::MinWide(Type::U32), &[*side, enough]);
        let difference = self.push(Opcode::SubWide, &[left, right]);
        let shifted = self.push(Opcode::ShrWide(Type::S32), &[difference, word(bits)]);
        let least = Arg::Constant(range.min as u64);
        let clamped = self.push(Opcode::MaxWide(Type::S32), &[shifted, least]);
        let most = Arg::Constant(range.max as u64);
        let clamped = self.push(Opcode::MinWide(Type::S32), &[clamped, most]);
        Some(self.push(Opcode::Low, &[clamped]))
    }

    /// Clamps 64 bits, possibly shifted right, to the range of a word by looking at the
    /// upper word.
    pub(super) fn clamp_parts(&mut self, value: Value, range: Range) -> Option<Arg> {
        let unsigned = self.range(value).min >= 0;
        let (inner, bits) = match self.op(value) {
            Op::Shr(x, amount) => match self.op(amount) {
                Op::Constant(bits @ 1..32) => (x, bits as u32),
                _ => return None,
            },
            _ => (value, 0),
        };
        // The upper word must tell the sign.
        let held = if unsigned { U64 } else { S64 };
        if !held.contains_range(self.range(inner)) {
            return None;
        }
        let wide = self.wide(inner)?;
        let low = self.shifted_down(wide, bits);
        let high = self.push(Opcode::High, &[wide]);
        let fits = if range == U32 {
            self.push(Opcode::Set(Compare::Lt, Type::U32), &[high, word(1 << bits)])
        } else if unsigned {
            return None;
        } else if bits == 0 {
            let sign = self.push(Opcode::Shr(Type::S32), &[low, word(31)]);
            self.push(Opcode::Set(Compare::Eq, Type::U32), &[high, sign])
        } else {
            let moved = self.builder.add(high, word(1 << (bits - 1)));
            self.push(Opcode::Set(Compare::Lt, Type::U32), &[moved, word(1 << bits)])
        };
        // The greatest value, or one more (which wraps) where the value is negative.
        let limit = if unsigned {
            word(range.max as u32)
        } else if range == S32 && bits > 0 {
            // ptxas makes one guarded instruction of the selection and the last instruction here.
            // Of the sum below, ptxas makes a product with a constant in a register.
            let sign = self.push(Opcode::Shr(Type::S32), &[high, word(31)]);
            self.builder.xor(sign, word(!TOP))
        } else {
            let negative = self.push(Opcode::Shr(Type::U32), &[high, word(31)]);
            self.builder.add(negative, word(range.max as u32))
        };
        Some(self.push(Opcode::Select, &[low, limit, fits]))
    }
}

/// The range of a sum or difference.
pub(super) fn sum_range(x: Range, y: Range, subtract: bool) -> Range {
    if subtract { x.minus(y) } else { x.plus(y) }
}
