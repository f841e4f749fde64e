//! From programs over exact integers to words: the instructions that compute a
//! program's result, chosen by the ranges of its values.
//!
//! A value is wanted in one of three ways: its low 32 bits (`low`), exactly in
//! a word (`exact`, where its range allows), or in 64 bits (`wide`).

use super::sequence::{Arg, Builder, Opcode, Sequence, word};
use crate::ir::{Op, Program, Range, Value};
use crate::isa::{Compare, Type};

/// Choices that no range decides: which of them is cheaper depends on the
/// target.
// Independent of each other.
#[allow(clippy::struct_excessive_bools)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Tactics {
    /// Absolute differences by subtraction, not by `sad`.
    pub(super) subtract: bool,
    /// Sums and products of bytes and halves by `dp4a` and `dp2a`.
    pub(super) dot: bool,
    /// Clamping to bytes and halves by `cvt.pack`.
    pub(super) pack: bool,
    /// Clamping of 64 bits by `min` and `max`, not by parts.
    pub(super) wide: bool,
}

const S32: Range = Range::bits(32, true);
const U32: Range = Range::bits(32, false);
const S64: Range = Range::bits(64, true);
const U64: Range = Range::bits(64, false);
const TOP: u32 = 0x8000_0000;

/// A word that holds a value exactly, signed or unsigned as the range tells.
#[derive(Clone, Copy, Debug)]
struct Exact {
    arg: Arg,
    range: Range,
}

impl Exact {
    fn constant(value: i128) -> Exact {
        Exact { arg: word(value as u32), range: Range::new(value, value) }
    }

    /// How to read the word; signed if both will do.
    fn ty(self) -> Type {
        if S32.contains_range(self.range) { Type::S32 } else { Type::U32 }
    }

    fn negative(self) -> bool {
        self.range.min < 0
    }
}

/// The way to read both words as one type.
fn common(x: Range, y: Range) -> Option<Type> {
    let both = |range: Range| range.contains_range(x) && range.contains_range(y);
    match () {
        () if both(S32) => Some(Type::S32),
        () if both(U32) => Some(Type::U32),
        () => None,
    }
}

/// Compiles a program; `None` where a value is needed that 64 bits cannot hold.
pub(super) fn compile(program: &Program, inputs: [Arg; 3], tactics: Tactics) -> Option<Sequence> {
    let mut compiler = Compiler {
        program,
        inputs,
        tactics,
        builder: Builder::default(),
        low: vec![None; program.steps().len()],
    };
    let result = compiler.low(Value(program.steps().len() as u32 - 1))?;
    Some(compiler.builder.finish(result))
}

struct Compiler<'p> {
    program: &'p Program,
    inputs: [Arg; 3],
    tactics: Tactics,
    builder: Builder,
    /// What was computed already.
    low: Vec<Option<Arg>>,
}

impl Compiler<'_> {
    fn op(&self, value: Value) -> Op {
        self.program.steps()[value.index()].op
    }

    fn range(&self, value: Value) -> Range {
        self.program.steps()[value.index()].range
    }

    fn push(&mut self, opcode: Opcode, args: &[Arg]) -> Arg {
        self.builder.push(opcode, args)
    }

    /// The value in a word, if its range lies in one.
    fn exact(&mut self, value: Value) -> Option<Exact> {
        let range = self.range(value);
        if !S32.contains_range(range) && !U32.contains_range(range) {
            return None;
        }
        Some(Exact { arg: self.low(value)?, range })
    }

    /// The low 32 bits of a value.
    fn low(&mut self, value: Value) -> Option<Arg> {
        if let Some(known) = self.low[value.index()] {
            return Some(known);
        }
        let arg = self.compute(value)?;
        self.low[value.index()] = Some(arg);
        Some(arg)
    }

    fn compute(&mut self, value: Value) -> Option<Arg> {
        match self.op(value) {
            Op::Input(input) => Some(self.inputs[input as usize]),
            Op::Constant(value) => Some(word(value as u32)),
            Op::Extract { value, low, width, signed } => self.extract(value, low, width, signed),
            Op::Add(..) | Op::Sub(..) | Op::Mul(..) => self.sum(value),
            Op::AbsDiff(x, y) => self.absdiff(x, y, word(0)),
            Op::Min(x, y) => self.least(x, y),
            Op::Max(x, y) => self.greatest(x, y),
            Op::Shl(x, amount) => {
                let x = self.low(x)?;
                match self.amount(amount)? {
                    (amount, true) => {
                        Some(self.push(Opcode::FunnelLeftWrap, &[word(0), x, amount]))
                    }
                    (amount, false) => Some(self.push(Opcode::Shl, &[x, amount])),
                }
            }
            Op::Shr(x, amount) => self.shift_right(x, amount),
            Op::Compare(compare, x, y) => {
                let predicate = self.predicate(compare, x, y)?;
                Some(self.push(Opcode::Select, &[word(1), word(0), predicate]))
            }
            Op::Clamp(value, range) => self.clamp(value, range),
            Op::Insert { .. } => self.insert(value),
        }
    }

    fn extract(&mut self, value: Value, low: u8, width: u8, signed: bool) -> Option<Arg> {
        if low == 0 && width >= 32 {
            return self.low(value);
        }
        if low + width > 32 {
            return None;
        }
        let source = self.low(value)?;
        let amount = word(low.into());
        let whole = low.is_multiple_of(8) && (width == 8 || width == 16);
        let first = u32::from(low / 8);
        Some(match (signed, low) {
            (true, _) if low + width == 32 => self.push(Opcode::Shr(Type::S32), &[source, amount]),
            (false, _) if low + width == 32 => self.push(Opcode::Shr(Type::U32), &[source, amount]),
            (false, 0) => self.builder.and(source, word((1 << width) - 1)),
            (true, _) if whole && width == 8 => {
                let sign = first | 8;
                self.builder.permute(source, word(0), first | sign << 4 | sign << 8 | sign << 12)
            }
            (true, _) if whole => {
                let sign = (first + 1) | 8;
                let selector = first | (first + 1) << 4 | sign << 8 | sign << 12;
                self.builder.permute(source, word(0), selector)
            }
            (false, _) if whole && width == 8 => {
                self.builder.permute(source, word(0), first | 0x4440)
            }
            (false, _) if whole => {
                self.builder.permute(source, word(0), first | (first + 1) << 4 | 0x4400)
            }
            _ => {
                let left = word(u32::from(32 - low - width));
                let top = self.push(Opcode::Shl, &[source, left]);
                let ty = if signed { Type::S32 } else { Type::U32 };
                self.push(Opcode::Shr(ty), &[top, word(u32::from(32 - width))])
            }
        })
    }

    /// Sums, differences and products, modulo 2^32.
    fn sum(&mut self, value: Value) -> Option<Arg> {
        if self.tactics.dot
            && let Some(arg) = self.dot(value)
        {
            return Some(arg);
        }
        match self.op(value) {
            Op::Add(x, y) => {
                for (one, other) in [(x, y), (y, x)] {
                    match self.op(one) {
                        Op::Mul(left, right) => {
                            let args = [self.low(left)?, self.low(right)?, self.low(other)?];
                            return Some(self.push(Opcode::Mad, &args));
                        }
                        Op::AbsDiff(left, right) if !self.tactics.subtract => {
                            let more = self.low(other)?;
                            return self.absdiff(left, right, more);
                        }
                        _ => {}
                    }
                }
                let (x, y) = (self.low(x)?, self.low(y)?);
                Some(self.builder.add(x, y))
            }
            Op::Sub(x, y) => {
                let (x, y) = (self.low(x)?, self.low(y)?);
                Some(self.builder.sub(x, y))
            }
            Op::Mul(x, y) => {
                let (x, y) = (self.low(x)?, self.low(y)?);
                Some(self.push(Opcode::Mul, &[x, y]))
            }
            _ => None,
        }
    }

    /// `|x - y| + more`, modulo 2^32.
    fn absdiff(&mut self, x: Value, y: Value, more: Arg) -> Option<Arg> {
        let (x, y) = (self.exact(x)?, self.exact(y)?);
        let Some(ty) = common(x.range, y.range) else {
            let (first, second) = self.mixed_difference(x, y);
            let first = self.builder.add(first, second);
            return Some(self.builder.add(first, more));
        };
        if self.tactics.subtract {
            let small = S32.min < x.range.min - y.range.max && x.range.max - y.range.min <= S32.max;
            let difference = if small {
                let difference = self.builder.sub(x.arg, y.arg);
                self.push(Opcode::Abs, &[difference])
            } else {
                let most = self.push(Opcode::Max(ty), &[x.arg, y.arg]);
                let least = self.push(Opcode::Min(ty), &[x.arg, y.arg]);
                self.builder.sub(most, least)
            };
            return Some(self.builder.add(difference, more));
        }
        Some(self.push(Opcode::Sad(ty), &[x.arg, y.arg, more]))
    }

    /// Two unsigned words whose exact sum is the absolute difference of an
    /// unsigned and a signed word.
    fn mixed_difference(&mut self, x: Exact, y: Exact) -> (Arg, Arg) {
        let (unsigned, signed) = if y.negative() { (x, y) } else { (y, x) };
        let positive = self.push(Opcode::Max(Type::S32), &[signed.arg, word(0)]);
        let below = self.builder.sub(positive, signed.arg);
        let above = if self.tactics.subtract {
            let most = self.push(Opcode::Max(Type::U32), &[unsigned.arg, positive]);
            let least = self.push(Opcode::Min(Type::U32), &[unsigned.arg, positive]);
            self.builder.sub(most, least)
        } else {
            self.push(Opcode::Sad(Type::U32), &[unsigned.arg, positive, word(0)])
        };
        (above, below)
    }

    /// A shift amount, and whether it counts modulo 32. PTX itself takes
    /// amounts above 31 for 32.
    fn amount(&mut self, amount: Value) -> Option<(Arg, bool)> {
        match self.op(amount) {
            Op::Extract { value, low, width: 5, .. } if low <= 27 => {
                let word_of = self.low(value)?;
                Some((self.push(Opcode::Shr(Type::U32), &[word_of, word(low.into())]), true))
            }
            Op::Min(x, most) if self.op(most) == Op::Constant(32) => Some((self.low(x)?, false)),
            _ => Some((self.low(amount)?, false)),
        }
    }

    /// `(s + (s >= 0)) >> 1`, the rounding of averages, as `(s + 1 + (s >> 31)) >> 1`.
    fn rounded_half(&mut self, x: Value, amount: Value) -> Option<Arg> {
        let (Op::Add(sum, carry), Op::Constant(1)) = (self.op(x), self.op(amount)) else {
            return None;
        };
        match self.op(carry) {
            Op::Compare(Compare::Ge, same, zero)
                if same == sum
                    && self.op(zero) == Op::Constant(0)
                    && S32.contains_range(self.range(x)) =>
            {
                let sum = self.low(sum)?;
                let sign = self.push(Opcode::Shr(Type::S32), &[sum, word(31)]);
                let more = self.builder.add(sum, sign);
                let more = self.builder.add(more, word(1));
                Some(self.push(Opcode::Shr(Type::S32), &[more, word(1)]))
            }
            _ => None,
        }
    }

    fn shift_right(&mut self, x: Value, amount: Value) -> Option<Arg> {
        if let Some(half) = self.rounded_half(x, amount) {
            return Some(half);
        }
        let Some(exact) = self.exact(x) else {
            let Op::Constant(bits @ 0..32) = self.op(amount) else {
                return None;
            };
            let wide = self.wide(x)?;
            return Some(self.shifted_down(wide, bits as u32));
        };
        let ty = if exact.negative() { Type::S32 } else { Type::U32 };
        let (by, wraps) = self.amount(amount)?;
        Some(match (wraps, ty) {
            (true, Type::U32) => self.push(Opcode::FunnelRightWrap, &[exact.arg, word(0), by]),
            (true, Type::S32) => {
                let by = self.builder.and(by, word(31));
                self.push(Opcode::Shr(ty), &[exact.arg, by])
            }
            (false, _) => self.push(Opcode::Shr(ty), &[exact.arg, by]),
        })
    }

    /// The low word of 64 bits shifted right: ptxas keeps a `mad.wide` whole when
    /// its words are taken, not when 64 bits are shifted.
    fn shifted_down(&mut self, wide: Arg, bits: u32) -> Arg {
        let low = self.push(Opcode::Low, &[wide]);
        if bits == 0 {
            return low;
        }
        let high = self.push(Opcode::High, &[wide]);
        self.push(Opcode::FunnelRightWrap, &[low, high, word(bits)])
    }

    fn predicate(&mut self, compare: Compare, x: Value, y: Value) -> Option<Arg> {
        let (Some(left), Some(right)) = (self.exact(x), self.exact(y)) else {
            let (left, right) = (self.wide(x)?, self.wide(y)?);
            let ty = both64(self.range(x), self.range(y))?;
            return Some(self.push(Opcode::SetWide(compare, ty), &[left, right]));
        };
        if let Some(ty) = common(left.range, right.range) {
            return Some(self.push(Opcode::Set(compare, ty), &[left.arg, right.arg]));
        }
        // Against an unsigned word, a negative one is less than all.
        let signed = if left.negative() { left.arg } else { right.arg };
        let args = [left.arg, right.arg];
        let less = match compare {
            Compare::Lt | Compare::Le => left.negative(),
            Compare::Gt | Compare::Ge => right.negative(),
            Compare::Eq => false,
            Compare::Ne => true,
        };
        let zero = word(0);
        Some(if less {
            let negative = self.push(Opcode::Set(Compare::Lt, Type::S32), &[signed, zero]);
            self.push(Opcode::SetOr(compare, Type::U32), &[args[0], args[1], negative])
        } else {
            let positive = self.push(Opcode::Set(Compare::Ge, Type::S32), &[signed, zero]);
            self.push(Opcode::SetAnd(compare, Type::U32), &[args[0], args[1], positive])
        })
    }

    /// The smaller of two exact words, in a word.
    fn lesser(&mut self, x: Exact, y: Exact) -> Option<Exact> {
        let range = Range::new(x.range.min.min(y.range.min), x.range.max.min(y.range.max));
        if let Some(ty) = common(x.range, y.range) {
            return Some(Exact { arg: self.push(Opcode::Min(ty), &[x.arg, y.arg]), range });
        }
        // What is above all of the other is not told apart.
        let (x, y) = if x.range.max > y.range.max { (x, y) } else { (y, x) };
        let limit = Exact::constant(y.range.max);
        let ty = common(x.range, limit.range)?;
        let arg = self.push(Opcode::Min(ty), &[x.arg, limit.arg]);
        let x = Exact { arg, range: Range::new(x.range.min, y.range.max) };
        let ty = common(x.range, y.range)?;
        Some(Exact { arg: self.push(Opcode::Min(ty), &[x.arg, y.arg]), range })
    }

    /// The larger of two exact words, in a word.
    fn greater(&mut self, x: Exact, y: Exact) -> Option<Exact> {
        let range = Range::new(x.range.min.max(y.range.min), x.range.max.max(y.range.max));
        if let Some(ty) = common(x.range, y.range) {
            return Some(Exact { arg: self.push(Opcode::Max(ty), &[x.arg, y.arg]), range });
        }
        let (x, y) = if x.range.min < y.range.min { (x, y) } else { (y, x) };
        let limit = Exact::constant(y.range.min);
        let ty = common(x.range, limit.range)?;
        let arg = self.push(Opcode::Max(ty), &[x.arg, limit.arg]);
        let x = Exact { arg, range: Range::new(y.range.min, x.range.max) };
        let ty = common(x.range, y.range)?;
        Some(Exact { arg: self.push(Opcode::Max(ty), &[x.arg, y.arg]), range })
    }

    fn least(&mut self, x: Value, y: Value) -> Option<Arg> {
        for (one, other) in [(x, y), (y, x)] {
            if let Some(arg) = self.least_unsigned(one, other) {
                return Some(arg);
            }
        }
        if let (Some(left), Some(right)) = (self.exact(x), self.exact(y))
            && let Some(least) = self.lesser(left, right)
        {
            return Some(least.arg);
        }
        if !self.tactics.wide {
            for (one, other) in [(x, y), (y, x)] {
                if let Some(arg) = self.shifted_or(true, one, other) {
                    return Some(arg);
                }
            }
        }
        self.either_wide(Opcode::MinWide, x, y)
    }

    fn greatest(&mut self, x: Value, y: Value) -> Option<Arg> {
        for (one, other) in [(x, y), (y, x)] {
            // A negative number that counts as unsigned is larger than all.
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
        if let (Some(left), Some(right)) = (self.exact(x), self.exact(y))
            && let Some(most) = self.greater(left, right)
        {
            return Some(most.arg);
        }
        if !self.tactics.wide {
            for (one, other) in [(x, y), (y, x)] {
                if let Some(arg) = self.shifted_or(false, one, other) {
                    return Some(arg);
                }
            }
        }
        self.either_wide(Opcode::MaxWide, x, y)
    }

    /// The value that is read as 64 unsigned bits here, if it can be negative.
    fn taken_as_unsigned(&self, value: Value) -> Option<Value> {
        match self.op(value) {
            Op::Extract { value, low: 0, width: 64, signed: false }
                if self.range(value).min < 0 =>
            {
                Some(value)
            }
            _ => None,
        }
    }

    /// The smaller of a possibly negative value read as 64 unsigned bits, and
    /// another one.
    fn least_unsigned(&mut self, value: Value, other: Value) -> Option<Arg> {
        let inner = self.taken_as_unsigned(value)?;
        let right = self.exact(other).filter(|right| U32.contains_range(right.range))?;
        let left = if S32.contains_range(self.range(inner)) {
            let left = self.exact(inner)?;
            // Negative words count as large already, but not as largest.
            if right.range.max > S32.max {
                let negative = self.push(Opcode::Set(Compare::Lt, Type::S32), &[left.arg, word(0)]);
                let least = self.push(Opcode::Min(Type::U32), &[left.arg, right.arg]);
                return Some(self.push(Opcode::Select, &[right.arg, least, negative]));
            }
            left.arg
        } else if right.range.max <= S32.max {
            self.large_where_out(inner)?
        } else {
            return None;
        };
        Some(self.push(Opcode::Min(Type::U32), &[left, right.arg]))
    }

    /// A word that is the value where that lies in 0 … 2^31 - 1, and larger than
    /// that where it does not. The value is a sum or difference of two words.
    fn large_where_out(&mut self, value: Value) -> Option<Arg> {
        let (x, y, subtract) = match self.op(value) {
            Op::Add(x, y) => (x, y, false),
            Op::Sub(x, y) => (x, y, true),
            _ => return None,
        };
        let (left, right) = (self.exact(x)?, self.exact(y)?);
        let word_of = if subtract { Opcode::Sub } else { Opcode::Add };
        let low = self.push(word_of, &[left.arg, right.arg]);
        // The result may be small by wrapping only where these signs meet.
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

    /// The smaller or larger of a left shift and a word, both read as unsigned,
    /// by the shift's upper word.
    fn shifted_or(&mut self, least: bool, x: Value, y: Value) -> Option<Arg> {
        let y = self.exact(y).filter(|y| U32.contains_range(y.range))?;
        let inner = match self.taken_as_unsigned(x) {
            Some(inner) => inner,
            None if self.range(x).min < 0 => return None,
            None => x,
        };
        let Op::Shl(x, amount) = self.op(inner) else {
            return None;
        };
        let (low, high) = self.shifted_pair(x, amount)?;
        let large = self.push(Opcode::Set(Compare::Ne, Type::U32), &[high, word(0)]);
        let (opcode, winner) =
            if least { (Opcode::Min(Type::U32), y.arg) } else { (Opcode::Max(Type::U32), low) };
        let words = self.push(opcode, &[low, y.arg]);
        Some(self.push(Opcode::Select, &[winner, words, large]))
    }

    /// Both words of a word shifted left.
    fn shifted_pair(&mut self, x: Value, amount: Value) -> Option<(Arg, Arg)> {
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

    fn either_wide(&mut self, opcode: fn(Type) -> Opcode, x: Value, y: Value) -> Option<Arg> {
        let ty = both64(self.range(x), self.range(y))?;
        let (x, y) = (self.wide(x)?, self.wide(y)?);
        let result = self.push(opcode(ty), &[x, y]);
        Some(self.push(Opcode::Low, &[result]))
    }

    /// The low 32 bits of the nearest number within a range.
    fn clamp(&mut self, value: Value, range: Range) -> Option<Arg> {
        if let Some(exact) = self.exact(value) {
            return Some(self.clamp_word(exact, range)?.arg);
        }
        let arg = match self.op(value) {
            Op::Add(x, y) => self.clamp_sum(x, y, false, range),
            Op::Sub(x, y) => self.clamp_sum(x, y, true, range),
            Op::AbsDiff(x, y) => self.clamp_difference(x, y, range),
            Op::Extract { value, low: 0, width: 34, signed: true } => {
                self.clamp_shift(value, range)
            }
            _ => None,
        };
        arg.or_else(|| self.clamp_wide(value, range))
    }

    fn clamp_word(&mut self, x: Exact, range: Range) -> Option<Exact> {
        let mut result = x;
        if x.range.max > range.max {
            result = self.lesser(result, Exact::constant(range.max))?;
        }
        if x.range.min < range.min {
            result = self.greater(result, Exact::constant(range.min))?;
        }
        Some(result)
    }

    /// Clamps the exact sum or difference of two words.
    fn clamp_sum(&mut self, x: Value, y: Value, subtract: bool, range: Range) -> Option<Arg> {
        let (x, y) = (self.exact(x)?, self.exact(y)?);
        self.clamp_exact_sum(x, y, subtract, range)
    }

    fn clamp_exact_sum(&mut self, x: Exact, y: Exact, subtract: bool, range: Range) -> Option<Arg> {
        let whole = sum_range(x.range, y.range, subtract);
        let (low, high) = (whole.min < range.min, whole.max > range.max);
        let combine = if subtract { Opcode::Sub } else { Opcode::Add };
        let signed = common(x.range, y.range) == Some(Type::S32);
        // Five instructions before sm_120, three where one limit matters.
        if signed && range == S32 && (self.tactics.wide || low == high) {
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
            let limited = limit
                .and_then(|limit| if low { self.lesser(y, limit) } else { self.greater(y, limit) });
            if let Some(limited) = limited {
                return Some(self.push(combine, &[x.arg, limited.arg]));
            }
        }
        // Operands beyond what can matter.
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
        // Differences of unsigned words are those of signed ones.
        if subtract && range == S32 && common(x.range, y.range) == Some(Type::U32) {
            let x = self.builder.xor(x.arg, word(TOP));
            let y = self.builder.xor(y.arg, word(TOP));
            return Some(self.push(Opcode::SubSat, &[x, y]));
        }
        None
    }

    /// Clamps a sum or difference by clamping its first operand, where the
    /// limits are words of its type.
    fn clamp_first(&mut self, x: Exact, y: Exact, subtract: bool, range: Range) -> Option<Arg> {
        let whole = sum_range(x.range, y.range, subtract);
        let mut limited = x;
        for (needed, bound, upper) in
            [(whole.max > range.max, range.max, true), (whole.min < range.min, range.min, false)]
        {
            if needed {
                let limit = self.offset(y, bound, !subtract)?;
                let next = if upper {
                    self.lesser(limited, limit)?
                } else {
                    self.greater(limited, limit)?
                };
                limited = next;
            }
        }
        let combine = if subtract { Opcode::Sub } else { Opcode::Add };
        Some(self.push(combine, &[limited.arg, y.arg]))
    }

    /// `bound + y`, or `bound - y`, where that is a word.
    fn offset(&mut self, y: Exact, bound: i128, negate: bool) -> Option<Exact> {
        let range = if negate {
            Range::new(bound - y.range.max, bound - y.range.min)
        } else {
            Range::new(bound + y.range.min, bound + y.range.max)
        };
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

    /// The low 32 bits of a sum of words, 0 where it is negative.
    fn positive_sum(&mut self, x: Exact, y: Exact) -> Option<Arg> {
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
                // No carry: the sum has gone below zero.
                self.push(Opcode::SetAnd(Compare::Gt, Type::U32), &[sum, unsigned.arg, below])
            }
        };
        Some(self.push(Opcode::Select, &[word(0), sum, negative]))
    }

    /// Clamps the absolute difference of an unsigned and a signed word.
    fn clamp_difference(&mut self, x: Value, y: Value, range: Range) -> Option<Arg> {
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

    /// Clamps a word shifted left, of which 34 bits are kept, to a word's range
    /// or part of it.
    fn clamp_shift(&mut self, shifted: Value, range: Range) -> Option<Arg> {
        let Op::Shl(x, amount) = self.op(shifted) else {
            return None;
        };
        if range != S32 && range != U32 {
            return None;
        }
        let (left, high) = self.shifted_pair(x, amount)?;
        // Bits 2 to 33: where they lie in a word's range, so do all.
        let top = self.push(Opcode::FunnelRightWrap, &[left, high, word(2)]);
        let (least, most) = (range.min >> 2, range.max >> 2);
        let over = self.push(Opcode::Set(Compare::Gt, Type::S32), &[top, word(most as u32)]);
        let result = self.push(Opcode::Select, &[word(range.max as u32), left, over]);
        let under = self.push(Opcode::Set(Compare::Lt, Type::S32), &[top, word(least as u32)]);
        Some(self.push(Opcode::Select, &[word(range.min as u32), result, under]))
    }

    fn clamp_wide(&mut self, value: Value, range: Range) -> Option<Arg> {
        let own = self.range(value);
        let inner = match self.op(value) {
            Op::Shr(x, _) => self.range(x),
            _ => own,
        };
        if both64(inner, inner).is_none() {
            return self.clamp_far(value, range);
        }
        if !self.tactics.wide
            && (range == S32 || range == U32)
            && let Some(arg) = self.clamp_parts(value, range)
        {
            return Some(arg);
        }
        let ty = if S64.contains_range(own) { Type::S32 } else { Type::U32 };
        let mut wide = self.wide(value)?;
        if own.max > range.max {
            wide = self.push(Opcode::MinWide(ty), &[wide, Arg::Constant(range.max as u64)]);
        }
        if own.min < range.min {
            wide = self.push(Opcode::MaxWide(ty), &[wide, Arg::Constant(range.min as u64)]);
        }
        Some(self.push(Opcode::Low, &[wide]))
    }

    /// Clamps a difference that 64 bits cannot hold, or one shifted right: its
    /// larger operand, an unsigned one, is clamped first.
    fn clamp_far(&mut self, value: Value, range: Range) -> Option<Arg> {
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
            (&mut left, x_range, ((range.max + 1) << bits) + y_range.max)
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

    /// Clamps 64 bits, or these shifted right, to a word's range by looking at the
    /// upper word.
    fn clamp_parts(&mut self, value: Value, range: Range) -> Option<Arg> {
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
        // The greatest, and one more (which wraps) where the value is negative.
        let limit = if unsigned {
            word(range.max as u32)
        } else {
            let negative = self.push(Opcode::Shr(Type::U32), &[high, word(31)]);
            self.builder.add(negative, word(range.max as u32))
        };
        Some(self.push(Opcode::Select, &[low, limit, fits]))
    }

    /// A value modulo 2^64; a product in one instruction, even where a word would
    /// hold it.
    fn wide_product(&mut self, value: Value) -> Option<Arg> {
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
    fn wide(&mut self, value: Value) -> Option<Arg> {
        if let Op::Constant(value) = self.op(value) {
            return Some(Arg::Constant(value as u64));
        }
        if let Some(exact) = self.exact(value) {
            return Some(self.push(Opcode::Extend(exact.ty()), &[exact.arg]));
        }
        match self.op(value) {
            // A product and a sum, not `mad.wide`: ptxas joins the two, but takes
            // that apart before sm_120.
            Op::Add(x, y) => {
                let (x, more) = match (self.op(x), self.op(y)) {
                    // Last of all, the product, so that it is joined.
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
                let range = self.range(x);
                let ty = match () {
                    () if S64.contains_range(range) => Type::S32,
                    () if U64.contains_range(range) => Type::U32,
                    () => return None,
                };
                let (x, amount) = (self.wide(x)?, self.low(amount)?);
                Some(self.push(Opcode::ShrWide(ty), &[x, amount]))
            }
            Op::Min(x, y) => {
                let ty = both64(self.range(x), self.range(y))?;
                let (x, y) = (self.wide(x)?, self.wide(y)?);
                Some(self.push(Opcode::MinWide(ty), &[x, y]))
            }
            Op::Max(x, y) => {
                let ty = both64(self.range(x), self.range(y))?;
                let (x, y) = (self.wide(x)?, self.wide(y)?);
                Some(self.push(Opcode::MaxWide(ty), &[x, y]))
            }
            Op::Clamp(x, range) => {
                let own = self.range(x);
                let ty = both64(own, own)?;
                let mut wide = self.wide(x)?;
                if own.max > range.max {
                    wide = self.push(Opcode::MinWide(ty), &[wide, Arg::Constant(range.max as u64)]);
                }
                if own.min < range.min {
                    wide = self.push(Opcode::MaxWide(ty), &[wide, Arg::Constant(range.min as u64)]);
                }
                Some(wide)
            }
            Op::Input(_)
            | Op::Constant(_)
            | Op::Extract { .. }
            | Op::Compare(..)
            | Op::Insert { .. } => None,
        }
    }
}

/// The way to compare two values as 64 bits.
fn both64(x: Range, y: Range) -> Option<Type> {
    let both = |range: Range| range.contains_range(x) && range.contains_range(y);
    match () {
        () if both(S64) => Some(Type::S32),
        () if both(U64) => Some(Type::U32),
        () => None,
    }
}

fn sum_range(x: Range, y: Range, subtract: bool) -> Range {
    if subtract {
        Range::new(x.min - y.max, x.max - y.min)
    } else {
        Range::new(x.min + y.min, x.max + y.max)
    }
}

mod dot;
mod insert;
