//! Compiles programs over exact integers to instructions on words. The ranges of a
//! program's values decide which instructions compute its result.
//!
//! A value is needed in one of three ways: its low 32 bits (`low`), exactly in a word
//! (`exact`, if its range allows that), or in 64 bits (`wide`).

mod clamp;
mod compare;
mod dot;
mod extrema;
mod insert;
mod product;
mod top;
mod wide;

use super::sequence::{Arg, Builder, Opcode, Sequence, word};
use super::{DOT, SUBTRACT, Strategy};
use crate::ir::{Op, Program, Range, Value};
use crate::isa::{Compare, Type};

const S32: Range = Range::bits(32, true);
const U32: Range = Range::bits(32, false);
const S64: Range = Range::bits(64, true);
const U64: Range = Range::bits(64, false);
const TOP: u32 = 0x8000_0000;

/// A word that holds a value exactly. The range says if it is signed or unsigned.
#[derive(Clone, Copy, Debug)]
struct Exact {
    arg: Arg,
    range: Range,
}

impl Exact {
    fn constant(value: i128) -> Exact {
        Exact { arg: word(value as u32), range: Range::new(value, value) }
    }

    /// The type to read the word as; signed if both types are possible.
    fn ty(self) -> Type {
        if S32.contains_range(self.range) { Type::S32 } else { Type::U32 }
    }

    fn negative(self) -> bool {
        self.range.min < 0
    }
}

/// The type that both words can be read as.
fn common(x: Range, y: Range) -> Option<Type> {
    type_within([S32, U32], x, y)
}

/// The type to compare two values as 64 bits.
fn both64(x: Range, y: Range) -> Option<Type> {
    type_within([S64, U64], x, y)
}

/// The type whose range, signed or unsigned, holds both ranges.
fn type_within([signed, unsigned]: [Range; 2], x: Range, y: Range) -> Option<Type> {
    let both = |range: Range| range.contains_range(x) && range.contains_range(y);
    if both(signed) { Some(Type::S32) } else { both(unsigned).then_some(Type::U32) }
}

/// Compiles a program. Returns `None` if 64 bits cannot hold a value that is needed.
pub(super) fn compile(program: &Program, inputs: [Arg; 3], strategy: Strategy) -> Option<Sequence> {
    let mut compiler = Compiler {
        program,
        inputs,
        strategy,
        builder: Builder::default(),
        low: vec![None; program.steps().len()],
    };
    let result = compiler.low(Value(program.steps().len() as u32 - 1))?;
    Some(compiler.builder.finish(result))
}

struct Compiler<'p> {
    program: &'p Program,
    inputs: [Arg; 3],
    strategy: Strategy,
    builder: Builder,
    /// The values that are already computed.
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

    /// The value in a word, if the value's range lies in a word's range.
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
            Op::Min(x, y) => self.free_on_top(value).or_else(|| self.least(x, y)),
            Op::Max(x, y) => self.free_on_top(value).or_else(|| self.greatest(x, y)),
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
            Op::Compare(compare, x, y) => self.flag(compare, x, y),
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
        let first = u32::from(low / 8);
        Some(match (signed, low, width) {
            (true, ..) if low + width == 32 => self.push(Opcode::Shr(Type::S32), &[source, amount]),
            (false, ..) if low + width == 32 => {
                self.push(Opcode::Shr(Type::U32), &[source, amount])
            }
            (false, 0, _) => self.builder.and(source, word((1 << width) - 1)),
            (true, 0 | 8 | 16, 8) => {
                let sign = first | 8;
                self.builder.permute(source, word(0), first | sign << 4 | sign << 8 | sign << 12)
            }
            (true, 0, 16) => self.builder.permute(source, word(0), 0x9910),
            (false, 8 | 16, 8) => self.builder.permute(source, word(0), first | 0x4440),
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
        if self.strategy.has(DOT)
            && let Some(arg) = self.dot(value)
        {
            return Some(arg);
        }
        match self.op(value) {
            Op::Add(x, y) => {
                for (one, other) in [(x, y), (y, x)] {
                    match self.op(one) {
                        Op::Mul(left, right) => {
                            let mut args = [self.low(left)?, self.low(right)?, self.low(other)?];
                            // Before sm_70, ptxas 12.9 crashes at -O0 if -4 comes first.
                            if matches!(args[0], Arg::Constant(_)) {
                                args.swap(0, 1);
                            }
                            return Some(self.push(Opcode::Mad, &args));
                        }
                        Op::AbsDiff(left, right) if !self.strategy.has(SUBTRACT) => {
                            let more = self.low(other)?;
                            return self.absdiff(left, right, more);
                        }
                        Op::Min(..) | Op::Max(..) | Op::Clamp(..) => {
                            if let Some(top) = self.on_top(one) {
                                // ptxas joins the shift and the sum.
                                let (one, more) = (self.moved_down(top), self.low(other)?);
                                return Some(self.builder.add(one, more));
                            }
                        }
                        Op::Compare(compare, left, right) => {
                            return self.plus_flag(compare, left, right, other);
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
            if self.strategy.has(SUBTRACT) {
                return Some(self.mixed_distance(x, y, more));
            }
            let (first, second) = self.mixed_difference(x, y);
            let first = self.builder.add(first, second);
            return Some(self.builder.add(first, more));
        };
        if self.strategy.has(SUBTRACT) {
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

    /// `|x - y| + more`, modulo 2^32, of an unsigned and a signed word. Only a positive word can be
    /// more than the unsigned word.
    fn mixed_distance(&mut self, x: Exact, y: Exact, more: Arg) -> Arg {
        let (unsigned, signed) = if y.negative() { (x, y) } else { (y, x) };
        let positive = self.push(Opcode::Set(Compare::Ge, Type::S32), &[signed.arg, word(0)]);
        let args = [signed.arg, unsigned.arg, positive];
        let above = self.push(Opcode::SetAnd(Compare::Gt, Type::U32), &args);
        let [down, up] = [(unsigned, signed), (signed, unsigned)].map(|(from, less)| {
            let difference = self.builder.sub(from.arg, less.arg);
            self.builder.add(difference, more)
        });
        self.push(Opcode::Select, &[up, down, above])
    }

    /// Two unsigned words whose exact sum is the absolute difference of an
    /// unsigned and a signed word.
    fn mixed_difference(&mut self, x: Exact, y: Exact) -> (Arg, Arg) {
        let (unsigned, signed) = if y.negative() { (x, y) } else { (y, x) };
        let positive = self.push(Opcode::Max(Type::S32), &[signed.arg, word(0)]);
        let below = self.builder.sub(positive, signed.arg);
        let above = if self.strategy.has(SUBTRACT) {
            let most = self.push(Opcode::Max(Type::U32), &[unsigned.arg, positive]);
            let least = self.push(Opcode::Min(Type::U32), &[unsigned.arg, positive]);
            self.builder.sub(most, least)
        } else {
            self.push(Opcode::Sad(Type::U32), &[unsigned.arg, positive, word(0)])
        };
        (above, below)
    }

    /// A shift amount, and whether it counts modulo 32. PTX itself treats amounts above
    /// 31 as 32.
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

    /// The low word of 64 bits shifted right. ptxas keeps a `mad.wide` whole if its two
    /// words are used, but not if its 64 bits are shifted.
    fn shifted_down(&mut self, wide: Arg, bits: u32) -> Arg {
        let low = self.push(Opcode::Low, &[wide]);
        if bits == 0 {
            return low;
        }
        let high = self.push(Opcode::High, &[wide]);
        self.push(Opcode::FunnelRightWrap, &[low, high, word(bits)])
    }
}
