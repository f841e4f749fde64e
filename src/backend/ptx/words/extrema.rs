//! Minima and maxima.

use super::super::sequence::{Arg, Opcode, word};
use super::clamp::sum_range;
use super::{Compiler, Exact, S32, TOP, U32, common};
use crate::ir::{Op, Range, Value};
use crate::isa::{Compare, Type};

impl Compiler<'_> {
    /// The smaller or the larger of two exact words, in a word.
    pub(super) fn extremum(&mut self, least: bool, x: Exact, y: Exact) -> Option<Exact> {
        let opcode = if least { Opcode::Min } else { Opcode::Max };
        let range = if least { x.range.least(y.range) } else { x.range.greatest(y.range) };
        if let Some(ty) = common(x.range, y.range) {
            return Some(Exact { arg: self.push(opcode(ty), &[x.arg, y.arg]), range });
        }
        // Values beyond the whole range of the other operand are not told apart.
        let is_beyond = if least { x.range.max > y.range.max } else { x.range.min < y.range.min };
        let (x, y) = if is_beyond { (x, y) } else { (y, x) };
        let limit = Exact::constant(if least { y.range.max } else { y.range.min });
        let ty = common(x.range, limit.range)?;
        let arg = self.push(opcode(ty), &[x.arg, limit.arg]);
        let near = if least {
            Range::new(x.range.min, y.range.max)
        } else {
            Range::new(y.range.min, x.range.max)
        };
        let ty = common(near, y.range)?;
        Some(Exact { arg: self.push(opcode(ty), &[arg, y.arg]), range })
    }

    pub(super) fn least(&mut self, x: Value, y: Value) -> Option<Arg> {
        for (one, other) in [(x, y), (y, x)] {
            if let Some(arg) = self.least_unsigned(one, other) {
                return Some(arg);
            }
        }
        self.extremum_of(true, x, y)
    }

    pub(super) fn greatest(&mut self, x: Value, y: Value) -> Option<Arg> {
        for (one, other) in [(x, y), (y, x)] {
            // As in `plus_flag`.
            if let Op::Compare(compare, left, right) = self.op(one)
                && U32.contains_range(self.range(other))
            {
                let predicate = self.predicate(compare, left, right)?;
                let without = self.low(other)?;
                let with = self.push(Opcode::Max(Type::U32), &[without, word(1)]);
                return Some(self.push(Opcode::Select, &[with, without, predicate]));
            }
            // A negative number that counts as unsigned is larger than all others.
            if let Some(inner) = self.taken_as_unsigned(one)
                && let (Some(left), Some(right)) = (self.exact(inner), self.exact(other))
                && S32.contains_range(left.range)
                && U32.contains_range(right.range)
            {
                let negative = self.push(Opcode::Set(Compare::Lt, Type::S32), &[left.arg, word(0)]);
                let most = self.push(Opcode::Max(Type::U32), &[left.arg, right.arg]);
                return Some(self.push(Opcode::Select, &[left.arg, most, negative]));
            }
        }
        self.extremum_of(false, x, y)
    }

    /// The low 32 bits of the smaller or the larger value.
    fn extremum_of(&mut self, least: bool, x: Value, y: Value) -> Option<Arg> {
        if let (Some(left), Some(right)) = (self.exact(x), self.exact(y))
            && let Some(found) = self.extremum(least, left, right)
        {
            return Some(found.arg);
        }
        for (one, other) in [(x, y), (y, x)] {
            if let Some(arg) = self.shifted_or(least, one, other) {
                return Some(arg);
            }
        }
        let opcode = if least { Opcode::MinWide } else { Opcode::MaxWide };
        let found = self.either_wide(opcode, x, y)?;
        Some(self.push(Opcode::Low, &[found]))
    }

    /// The inner value, if a value reads it as 64 unsigned bits and the inner value can be
    /// negative.
    pub(super) fn taken_as_unsigned(&self, value: Value) -> Option<Value> {
        match self.op(value) {
            Op::Extract { value, low: 0, width: 64, signed: false }
                if self.range(value).min < 0 =>
            {
                Some(value)
            }
            _ => None,
        }
    }

    /// The smaller of two values, one of which may be negative but is read as 64
    /// unsigned bits.
    pub(super) fn least_unsigned(&mut self, value: Value, other: Value) -> Option<Arg> {
        let inner = self.taken_as_unsigned(value)?;
        let right = self.exact(other).filter(|right| U32.contains_range(right.range))?;
        let left = if S32.contains_range(self.range(inner)) {
            let left = self.exact(inner)?;
            // Negative words already count as large, but not as the largest.
            if right.range.max > S32.max {
                let negative = self.push(Opcode::Set(Compare::Lt, Type::S32), &[left.arg, word(0)]);
                let least = self.push(Opcode::Min(Type::U32), &[left.arg, right.arg]);
                return Some(self.push(Opcode::Select, &[right.arg, least, negative]));
            }
            left.arg
        } else if right.range.max <= S32.max {
            self.large_where_out(inner, right.range.max)?
        } else {
            return None;
        };
        Some(self.push(Opcode::Min(Type::U32), &[left, right.arg]))
    }

    /// A word that equals the value if the value lies in 0 … 2^31 - 1, and that is
    /// larger than 2^31 - 1 otherwise; values from the limit on may be exchanged. The value is a
    /// sum or difference of two words.
    fn large_where_out(&mut self, value: Value, limit: i128) -> Option<Arg> {
        let (x, y, subtract) = match self.op(value) {
            Op::Add(x, y) => (x, y, false),
            Op::Sub(x, y) => (x, y, true),
            _ => return None,
        };
        let (left, right) = (self.exact(x)?, self.exact(y)?);
        let word_of = if subtract { Opcode::Sub } else { Opcode::Add };
        if let Some((left, right)) = self.near_limits(left, right, subtract, limit) {
            return Some(self.push(word_of, &[left, right]));
        }
        let low = self.push(word_of, &[left.arg, right.arg]);
        // Only with these signs may the result wrap, and then it is small.
        let unsigned = |side: Exact| !S32.contains_range(side.range);
        let table: fn(u8, u8, u8) -> u8 = match (unsigned(left), unsigned(right), subtract) {
            (true, true, false) => return None,
            (false, false, false) | (true, false, true) => |x, y, top| x & y & top,
            (true, false, false) | (false, false, true) => |x, y, top| x & !y & top,
            (false, true, false) | (true, true, true) => |x, y, top| !x & y & top,
            (false, true, true) => |x, y, top| (x | y) & top,
        };
        let out = self.builder.lop3(left.arg, right.arg, word(TOP), table);
        Some(self.builder.or(low, out))
    }

    /// The operands of a sum or difference, one of them clamped so that no result wraps and becomes
    /// small. Negative results remain negative, and results from the limit on do not fall below it.
    fn near_limits(
        &mut self,
        left: Exact,
        right: Exact,
        subtract: bool,
        limit: i128,
    ) -> Option<(Arg, Arg)> {
        let wraps = |x: Range, y: Range| {
            let whole = sum_range(x, y, subtract);
            (whole.min < S32.min, whole.max > U32.max)
        };
        let (low, high) = wraps(left.range, right.range);
        if !low && !high {
            return Some((left.arg, right.arg));
        }
        let size = |side: Exact| side.range.max.max(-side.range.min);
        let is_left = size(left) > size(right);
        let (large, small) = if is_left { (left, right) } else { (right, left) };
        let small = small.range;
        // The value of the large operand where results become negative, and its value where they
        // reach the limit.
        let (negative, enough) = match (subtract, is_left) {
            (false, _) => (-1 - small.max, limit - small.min),
            (true, true) => (small.min - 1, limit + small.max),
            (true, false) => (small.max + 1, small.min - limit),
        };
        let (least, most) = (negative.min(enough), negative.max(enough));
        let own = large.range;
        let flips = subtract && !is_left;
        let (cut_low, cut_high) = if flips { (high, low) } else { (low, high) };
        let near = Range::new(
            if cut_low { own.min.max(least) } else { own.min },
            if cut_high { own.max.min(most) } else { own.max },
        );
        let after = if is_left { wraps(near, small) } else { wraps(small, near) };
        if after != (false, false) {
            return None;
        }
        let large = self.clamp_word(large, near)?.arg;
        Some(if is_left { (large, right.arg) } else { (left.arg, large) })
    }

    /// The smaller or larger of a left shift and a word. Compares the unshifted value with the word
    /// shifted right: neither needs 64 bits.
    fn shifted_or(&mut self, least: bool, shifted: Value, other: Value) -> Option<Arg> {
        let other = self.exact(other)?;
        let (inner, is_unsigned) = match self.taken_as_unsigned(shifted) {
            Some(inner) => (inner, true),
            None => (shifted, false),
        };
        let Op::Shl(x, amount) = self.op(inner) else {
            return None;
        };
        let x = self.exact(x)?;
        let (by, wraps) = self.amount(amount)?;
        let down = match (wraps, other.negative()) {
            (false, signed) => {
                self.push(Opcode::Shr(if signed { Type::S32 } else { Type::U32 }), &[other.arg, by])
            }
            (true, true) => {
                let above = self.push(Opcode::Shr(Type::S32), &[other.arg, word(31)]);
                self.push(Opcode::FunnelRightWrap, &[other.arg, above, by])
            }
            (true, false) => self.push(Opcode::FunnelRightWrap, &[other.arg, word(0), by]),
        };
        let range = Range::new(other.range.min.min(0), other.range.max.max(0));
        let down = Exact { arg: down, range };
        let compare = if least { Compare::Le } else { Compare::Gt };
        let wins = if is_unsigned && x.negative() {
            // Negative values count as large.
            if !U32.contains_range(other.range) {
                return None;
            }
            let sign = if least { Compare::Ge } else { Compare::Lt };
            let sign = self.push(Opcode::Set(sign, Type::S32), &[x.arg, word(0)]);
            let both = if least { Opcode::SetAnd } else { Opcode::SetOr };
            self.push(both(compare, Type::U32), &[x.arg, down.arg, sign])
        } else {
            self.compare_words(compare, x, down)
        };
        let up = if wraps {
            self.push(Opcode::FunnelLeftWrap, &[word(0), x.arg, by])
        } else {
            self.push(Opcode::Shl, &[x.arg, by])
        };
        Some(self.push(Opcode::Select, &[up, other.arg, wins]))
    }

    /// Both words of a left shift of a word.
    pub(super) fn shifted_pair(&mut self, x: Value, amount: Value) -> Option<(Arg, Arg)> {
        let exact = self.exact(x)?;
        let (by, wraps) = self.amount(amount)?;
        let above = if exact.negative() {
            self.push(Opcode::Shr(Type::S32), &[exact.arg, word(31)])
        } else {
            word(0)
        };
        Some(if wraps {
            let low = self.push(Opcode::FunnelLeftWrap, &[word(0), exact.arg, by]);
            (low, self.push(Opcode::FunnelLeftWrap, &[exact.arg, above, by]))
        } else {
            let low = self.push(Opcode::Shl, &[exact.arg, by]);
            (low, self.push(Opcode::FunnelLeft, &[exact.arg, above, by]))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::compile;
    use super::*;
    use crate::backend::ptx::Strategy;
    use crate::ir::{Input, Program};

    /// A shifted number that is read as unsigned is compared with unsigned words only.
    #[test]
    fn no_word_orders_a_negative_number_and_an_unsigned_shift() {
        let is_compiled = |other: &str, range: &str| {
            let text = format!(
                "extract:
                   %0: 0..4294967295 = a
                   %1: 0..4294967295 = b
                   %2: 0..4294967295 = c
                   %3: -2147483648..2147483647 = s32 %0[0]
                   %4: 0..31 = u5 %1[0]
                   %5: {range} = {other} %2[0]
                 compute:
                   %6: -4611686018427387904..4611686016279904256 = shl %3, %4
                   %7: 0..18446744073709551615 = u64 %6[0]
                   %8: {range} = min %7, %5
                 write:
                   %9: 0..4294967295 = u32 %8[0]"
            );
            let program: Program = text.parse().expect("a program");
            compile(&program, Input::ALL.map(Arg::Input), Strategy(0)).is_some()
        };
        assert!(is_compiled("u32", "0..4294967295"));
        assert!(!is_compiled("s32", "-2147483648..2147483647"));
    }
}
