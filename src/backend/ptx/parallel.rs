//! Computes SIMD instructions on all lanes of a word at once.
//!
//! Operands are first gathered into words. From then on lanes stay in their places.
//! Truth tables over the top bits of both operands, and of a sum that cannot leave its
//! lane, decide everything that depends on the sign of lanes.

use super::sequence::{Arg, Builder, Opcode, Sequence, word};
use crate::ir::Input;
use crate::isa::{Compare, Type};
use crate::video::{Operation, SimdArithmetic, SimdOp, SimdOperands, SimdSet, SimdTail};

/// Instructions beyond those on words that a strategy may use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Means {
    /// Sums, minima and maxima of halves (`sm_90`).
    pub(super) halves: bool,
    /// `vabsdiff4` on unsigned bytes, a machine instruction before `sm_120`.
    pub(super) absdiff: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LaneOperation {
    Arithmetic(SimdOp),
    Set(Compare),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Finish {
    Wrap,
    Saturate(Type),
    Accumulate,
}

/// A SIMD instruction without the names and the width of its types.
struct Simd {
    kind: LaneOperation,
    finish: Finish,
    atype: Type,
    btype: Type,
    /// Bits in a lane.
    bits: u32,
    /// The results that count, one bit for each lane.
    mask: u32,
    a_lanes: Vec<u8>,
    b_lanes: Vec<u8>,
}

/// The lanes of a result. If the lanes are exact, also the type to read them as.
struct Results {
    arg: Arg,
    ty: Type,
    /// The amount that is still to be subtracted from each.
    excess: u32,
}

impl Results {
    fn exact(arg: Arg, ty: Type) -> Results {
        Results { arg, ty, excess: 0 }
    }
}

/// A sequence for a SIMD instruction, if this strategy has one.
pub(super) fn compile(operation: &Operation, inputs: [Arg; 3], means: Means) -> Option<Sequence> {
    let simd = match operation {
        Operation::SimdArithmetic(it) => arithmetic(it),
        Operation::SimdSet(it) => set(it),
        _ => return None,
    };
    let mut parallel = Parallel { builder: Builder::default(), inputs, means, simd };
    let result = parallel.compute()?;
    Some(parallel.builder.finish(result))
}

fn arithmetic(it: &SimdArithmetic) -> Simd {
    let finish = match it.tail {
        SimdTail::Merge { saturate: false } => Finish::Wrap,
        SimdTail::Merge { saturate: true } => Finish::Saturate(it.dtype),
        SimdTail::Accumulate => Finish::Accumulate,
    };
    simd(LaneOperation::Arithmetic(it.op), finish, &it.operands)
}

fn set(it: &SimdSet) -> Simd {
    let finish = if it.accumulate { Finish::Accumulate } else { Finish::Wrap };
    simd(LaneOperation::Set(it.compare), finish, &it.operands)
}

fn simd(kind: LaneOperation, finish: Finish, operands: &SimdOperands) -> Simd {
    Simd {
        kind,
        finish,
        atype: operands.atype,
        btype: operands.btype,
        bits: operands.lanes.width().bits(),
        mask: operands.lanes.mask().bits().into(),
        a_lanes: operands.lanes.a().lanes().to_vec(),
        b_lanes: operands.lanes.b().lanes().to_vec(),
    }
}

struct Parallel {
    builder: Builder,
    inputs: [Arg; 3],
    means: Means,
    simd: Simd,
}

/// A truth table over the top bits of both operands and of a lane's sum.
fn table(holds: impl Fn(i32, i32, i32) -> bool) -> u8 {
    (0..8)
        .filter(|row| holds(row >> 2 & 1, row >> 1 & 1, row & 1))
        .fold(0, |all, row| all | 1 << row)
}

impl Parallel {
    fn lanes(&self) -> u32 {
        32 / self.simd.bits
    }

    /// The same bits in every lane.
    fn each(&self, bits: u32) -> u32 {
        (0..self.lanes()).fold(0, |word, at| word | bits << (at * self.simd.bits))
    }

    /// The top bit of every lane.
    fn top(&self) -> u32 {
        self.each(1 << (self.simd.bits - 1))
    }

    /// All bits of the lanes in the mask.
    fn masked(&self) -> u32 {
        let lane = if self.simd.bits == 8 { 0xff } else { 0xffff };
        (0..self.lanes())
            .filter(|at| self.simd.mask >> at & 1 == 1)
            .fold(0, |word, at| word | lane << (at * self.simd.bits))
    }

    fn lut(&mut self, table: u8, x: Arg, y: Arg, z: Arg) -> Arg {
        self.builder.push(Opcode::Lop3(table), &[x, y, z])
    }

    /// The top bit of each lane, in all its bits.
    fn spread(&mut self, x: Arg) -> Arg {
        let selector = if self.simd.bits == 8 { 0xba98 } else { 0xbb99 };
        self.builder.permute(x, word(0), selector)
    }

    /// The lanes that a selector names, each in its place. Results that do not count
    /// may hold anything.
    fn gather(&mut self, lanes: &[u8], own: Input) -> Arg {
        let first = if own == Input::A { 0 } else { lanes.len() as u8 };
        let default = lanes
            .iter()
            .enumerate()
            .all(|(at, &lane)| self.simd.mask >> at & 1 == 0 || lane == first + at as u8);
        if default {
            return self.inputs[own as usize];
        }
        let bytes = self.simd.bits / 8;
        let mut selector = 0;
        for (at, &lane) in lanes.iter().enumerate() {
            for byte in 0..bytes {
                let nibble = u32::from(lane) * bytes + byte;
                selector |= nibble << (4 * (at as u32 * bytes + byte));
            }
        }
        self.builder.permute(self.inputs[0], self.inputs[1], selector)
    }

    fn compute(&mut self) -> Option<Arg> {
        let (a_lanes, b_lanes) = (self.simd.a_lanes.clone(), self.simd.b_lanes.clone());
        let x = self.gather(&a_lanes, Input::A);
        let y = self.gather(&b_lanes, Input::B);
        let same = self.simd.atype == self.simd.btype;
        let arg = match (self.simd.kind, self.simd.finish) {
            (LaneOperation::Set(compare), finish)
                if self.means.halves && self.simd.bits == 16 && same =>
            {
                let (differ, flip) = self.differ(compare, x, y);
                if finish == Finish::Accumulate {
                    let counted = self.builder.and(differ, word(self.each(1) & self.masked()));
                    let count = self.builder.push(Opcode::Count, &[counted]);
                    let c = self.inputs[2];
                    if !flip {
                        return Some(self.builder.add(c, count));
                    }
                    let all = self.builder.add(c, word(self.simd.mask.count_ones()));
                    return Some(self.builder.sub(all, count));
                }
                let ones = word(self.each(1));
                if flip { self.builder.xor(differ, ones) } else { differ }
            }
            (LaneOperation::Set(compare), finish) => {
                let holds = self.compare(compare, x, y);
                if finish == Finish::Accumulate {
                    let counted = word(self.top() & self.masked());
                    let bits = self.builder.and(holds, counted);
                    let count = self.builder.push(Opcode::Count, &[bits]);
                    return Some(self.builder.add(count, self.inputs[2]));
                }
                let last =
                    self.builder.push(Opcode::Shr(Type::U32), &[holds, word(self.simd.bits - 1)]);
                let ones = word(self.each(1));
                self.builder.and(last, ones)
            }
            (LaneOperation::Arithmetic(op @ (SimdOp::Add | SimdOp::Sub)), finish) => match finish {
                Finish::Wrap => self.wrapped(op, x, y),
                Finish::Saturate(dtype) => self.saturated(op, x, y, dtype),
                Finish::Accumulate => return Some(self.sums(op, x, y)),
            },
            (LaneOperation::Arithmetic(op), finish) => {
                let lanes = match op {
                    SimdOp::Min | SimdOp::Max => self.extreme(op, x, y),
                    SimdOp::AbsDiff if same => {
                        if finish == Finish::Accumulate
                            && let Some(sum) = self.differences(x, y)
                        {
                            return Some(sum);
                        }
                        self.absdiff(x, y)
                    }
                    SimdOp::Avrg if same => self.average(x, y),
                    SimdOp::Avrg => self.mixed_average(x, y),
                    _ => return None,
                };
                match finish {
                    Finish::Wrap | Finish::Saturate(_) if lanes.excess > 0 => {
                        self.lessened(&lanes, finish)
                    }
                    Finish::Wrap => lanes.arg,
                    Finish::Saturate(dtype) => self.narrowed(&lanes, dtype),
                    Finish::Accumulate => return Some(self.total(&lanes)),
                }
            }
        };
        Some(self.merged(arg))
    }

    /// Takes the results outside the mask from `c`.
    fn merged(&mut self, arg: Arg) -> Arg {
        let (mask, c) = (self.masked(), self.inputs[2]);
        if mask == u32::MAX {
            return arg;
        }
        // The bytes of `c` are numbers 4 to 7.
        let selector = (0..4).fold(0, |all, at| {
            let byte = if mask >> (8 * at) & 1 == 1 { at } else { 4 + at };
            all | byte << (4 * at)
        });
        self.builder.permute(arg, c, selector)
    }

    /// `c` plus the lanes in the mask.
    fn total(&mut self, lanes: &Results) -> Arg {
        let dot = if self.simd.bits == 8 {
            Opcode::Dot4(lanes.ty, Type::U32)
        } else {
            Opcode::Dot2(lanes.ty, Type::U32)
        };
        let weights = self.weights(1);
        let excess = lanes.excess * self.simd.mask.count_ones();
        let c = self.inputs[2];
        let c = if excess > 0 { self.builder.add(c, word(excess.wrapping_neg())) } else { c };
        self.builder.push(dot, &[lanes.arg, word(weights), c])
    }

    /// A word with the weight in the byte of each lane of the mask.
    fn weights(&self, weight: u32) -> u32 {
        let lanes = (0..self.lanes()).filter(|at| self.simd.mask >> at & 1 == 1);
        lanes.fold(0, |all, at| all | weight << (8 * at))
    }

    /// `c` plus sums or differences of lanes. Each operand is added by itself.
    fn sums(&mut self, op: SimdOp, x: Arg, y: Arg) -> Arg {
        let mut sum = self.inputs[2];
        let minus = if op == SimdOp::Sub { 0xff } else { 1 };
        for (arg, ty, weight) in [(x, self.simd.atype, 1), (y, self.simd.btype, minus)] {
            let weights = if weight == 1 { Type::U32 } else { Type::S32 };
            let dot = if self.simd.bits == 8 {
                Opcode::Dot4(ty, weights)
            } else {
                Opcode::Dot2(ty, weights)
            };
            let weights = word(self.weights(weight));
            sum = self.builder.push(dot, &[arg, weights, sum]);
        }
        sum
    }

    /// The sum (or difference) of each lane without its top bits, which cannot
    /// leave the lane: `(x & n) + (y & n)`, or `(x | h) - (y & n)`.
    fn inner(&mut self, subtract: bool, x: Arg, y: Arg) -> Arg {
        let (top, rest) = (word(self.top()), word(!self.top()));
        let y = self.builder.and(y, rest);
        if subtract {
            let x = self.builder.or(x, top);
            self.builder.sub(x, y)
        } else {
            let x = self.builder.and(x, rest);
            self.builder.add(x, y)
        }
    }

    fn wrapped(&mut self, op: SimdOp, x: Arg, y: Arg) -> Arg {
        let subtract = op == SimdOp::Sub;
        if self.means.halves && self.simd.bits == 16 {
            if !subtract {
                return self.builder.push(Opcode::Add2, &[x, y]);
            }
            // x - y is the complement of (the complement of x) + y.
            let x = self.builder.push(Opcode::Not, &[x]);
            let sum = self.builder.push(Opcode::Add2, &[x, y]);
            return self.builder.push(Opcode::Not, &[sum]);
        }
        if self.means.halves && !subtract {
            // Upper bytes with zeros below them, and lower bytes as they are.
            let upper = self.builder.and(x, word(0xff00_ff00));
            let upper = self.builder.push(Opcode::Add2, &[upper, y]);
            let lower = self.builder.push(Opcode::Add2, &[x, y]);
            return self.builder.permute(lower, upper, 0x7250);
        }
        let inner = self.inner(subtract, x, y);
        let top = word(self.top());
        let flip = if subtract {
            self.builder.lop3(x, y, top, |x, y, h| !(x ^ y) & h)
        } else {
            self.builder.lop3(x, y, top, |x, y, h| (x ^ y) & h)
        };
        self.builder.xor(inner, flip)
    }

    /// Sums and differences clamped to a type. Let `t` be the top bit of the inner sum.
    /// Then a lane is `k` times 2^(bits-1) plus its other bits, where `k` follows from
    /// `t` and the operands' top bits.
    fn saturated(&mut self, op: SimdOp, x: Arg, y: Arg, dtype: Type) -> Arg {
        let subtract = op == SimdOp::Sub;
        let weight = |ty: Type| if ty == Type::S32 { -1 } else { 1 };
        let (a, b) = (weight(self.simd.atype), weight(self.simd.btype));
        let k = |x: i32, y: i32, t: i32| {
            if subtract { t - 1 + a * x - b * y } else { t + a * x + b * y }
        };
        let (least, most) = if dtype == Type::S32 { (-1, 0) } else { (0, 1) };
        let over = table(|x, y, t| k(x, y, t) > most);
        let under = table(|x, y, t| k(x, y, t) < least);
        let odd = table(|x, y, t| k(x, y, t).rem_euclid(2) == 1);
        let (top, rest) = (word(self.top()), word(!self.top()));
        let t = self.inner(subtract, x, y);
        // `odd` is not needed where a lane that fits never has its top bit set.
        let plain = odd & !over & !under == 0;
        let mut lanes = if plain {
            t
        } else {
            let odd = self.lut(odd, x, y, t);
            self.builder.lop3(t, odd, rest, |t, odd, n| (t & n) | (odd & !n))
        };
        if over != 0 {
            let over = self.lut(over, x, y, t);
            let over = self.spread(over);
            lanes = match dtype {
                Type::U32 if plain => self.builder.lop3(lanes, over, rest, |x, m, n| (x & n) | m),
                Type::U32 => self.builder.or(lanes, over),
                Type::S32 if plain => self.builder.lop3(lanes, over, rest, |x, m, n| (x | m) & n),
                Type::S32 => self.builder.lop3(lanes, over, rest, |x, m, n| (x & !m) | (m & n)),
            };
        } else if plain {
            lanes = self.builder.and(lanes, rest);
        }
        if under != 0 {
            let under = self.lut(under, x, y, t);
            let under = self.spread(under);
            lanes = match dtype {
                Type::U32 => self.builder.lop3(lanes, under, top, |x, m, _| x & !m),
                Type::S32 => self.builder.lop3(lanes, under, top, |x, m, h| (x & !m) | (m & h)),
            };
        }
        lanes
    }

    /// A word whose top bits say where `x < y` holds.
    fn less(&mut self, x: Arg, y: Arg, xtype: Type, ytype: Type) -> Arg {
        // The top bit is set where the other bits of x are not less.
        let inner = self.inner(true, x, y);
        let weight = |ty: Type| if ty == Type::S32 { -1 } else { 1 };
        let (a, b) = (weight(xtype), weight(ytype));
        let holds = table(|x, y, t| t - 1 + a * x - b * y < 0);
        self.lut(holds, x, y, inner)
    }

    fn compare(&mut self, compare: Compare, x: Arg, y: Arg) -> Arg {
        let (atype, btype) = (self.simd.atype, self.simd.btype);
        match compare {
            Compare::Lt => self.less(x, y, atype, btype),
            Compare::Gt => self.less(y, x, btype, atype),
            // The complement of the other's table costs nothing more.
            Compare::Ge => {
                let less = self.less(x, y, atype, btype);
                self.builder.push(Opcode::Not, &[less])
            }
            Compare::Le => {
                let less = self.less(y, x, btype, atype);
                self.builder.push(Opcode::Not, &[less])
            }
            Compare::Eq | Compare::Ne => {
                let rest = word(!self.top());
                let bits = self.builder.xor(x, y);
                let low = self.builder.and(bits, rest);
                let carried = self.builder.add(low, rest);
                let mixed = atype != btype;
                let differ: fn(u8, u8, u8) -> u8 = match (compare, mixed) {
                    (Compare::Eq, false) => |t, z, _| !(t | z),
                    (Compare::Eq, true) => |t, z, x| !(t | z | x),
                    (_, false) => |t, z, _| t | z,
                    (_, true) => |t, z, x| t | z | x,
                };
                self.builder.lop3(carried, bits, x, differ)
            }
        }
    }

    /// A comparison of halves as 1 or 0 each. The flag says that it is the opposite of
    /// the requested one.
    fn differ(&mut self, compare: Compare, x: Arg, y: Arg) -> (Arg, bool) {
        let most = Opcode::Max2(self.simd.atype);
        // The maximum differs from one operand where the other operand is larger.
        let (bits, flip) = match compare {
            Compare::Eq => (self.builder.xor(x, y), true),
            Compare::Ne => (self.builder.xor(x, y), false),
            Compare::Lt | Compare::Ge => {
                let most = self.builder.push(most, &[x, y]);
                (self.builder.xor(most, x), compare == Compare::Ge)
            }
            Compare::Gt | Compare::Le => {
                let most = self.builder.push(most, &[x, y]);
                (self.builder.xor(most, y), compare == Compare::Le)
            }
        };
        let ones = word(self.each(1));
        (self.builder.push(Opcode::Min2(Type::U32), &[bits, ones]), flip)
    }

    fn extreme(&mut self, op: SimdOp, x: Arg, y: Arg) -> Results {
        let (atype, btype) = (self.simd.atype, self.simd.btype);
        let least = op == SimdOp::Min;
        let ty = match () {
            () if atype == btype => atype,
            // A minimum is at most the signed lane, a maximum at least the unsigned lane.
            () if least => Type::S32,
            () => Type::U32,
        };
        if self.means.halves && atype == btype {
            let pick = if least { Opcode::Min2(ty) } else { Opcode::Max2(ty) };
            if self.simd.bits == 16 {
                return Results::exact(self.builder.push(pick, &[x, y]), ty);
            }
            // The upper byte of a half decides first; lower bytes are moved up and compared in
            // their turn.
            let upper = self.builder.push(pick, &[x, y]);
            let x = self.builder.push(Opcode::Shl, &[x, word(8)]);
            let y = self.builder.push(Opcode::Shl, &[y, word(8)]);
            let lower = self.builder.push(pick, &[x, y]);
            return Results::exact(self.builder.permute(lower, upper, 0x7351), ty);
        }
        let less = self.less(x, y, atype, btype);
        let less = self.spread(less);
        let arg = if least {
            self.builder.lop3(less, x, y, |m, x, y| (m & x) | (!m & y))
        } else {
            self.builder.lop3(less, x, y, |m, x, y| (m & y) | (!m & x))
        };
        Results::exact(arg, ty)
    }

    /// Both operands as unsigned lanes in the same order.
    fn unsigned(&mut self, x: Arg, y: Arg) -> (Arg, Arg) {
        if self.simd.atype == Type::U32 {
            return (x, y);
        }
        let top = word(self.top());
        (self.builder.xor(x, top), self.builder.xor(y, top))
    }

    fn absdiff(&mut self, x: Arg, y: Arg) -> Results {
        let (x, y) = self.unsigned(x, y);
        let ty = Type::U32;
        if self.means.absdiff && self.simd.bits == 8 {
            return Results::exact(self.builder.push(Opcode::AbsDiff4, &[x, y]), ty);
        }
        let (most, least) = if self.means.halves && self.simd.bits == 16 {
            let most = self.builder.push(Opcode::Max2(ty), &[x, y]);
            (most, self.builder.push(Opcode::Min2(ty), &[x, y]))
        } else {
            let less = self.less(x, y, ty, ty);
            let less = self.spread(less);
            let most = self.builder.lop3(less, x, y, |m, x, y| (m & y) | (!m & x));
            (most, self.builder.lop3(less, x, y, |m, x, y| (m & x) | (!m & y)))
        };
        // No lane borrows from the next one.
        Results::exact(self.builder.sub(most, least), ty)
    }

    /// `c` plus absolute differences, with the machine's own instruction.
    fn differences(&mut self, x: Arg, y: Arg) -> Option<Arg> {
        if !self.means.absdiff || self.simd.bits != 8 {
            return None;
        }
        let (mut x, mut y) = self.unsigned(x, y);
        let mask = self.masked();
        if mask != u32::MAX {
            x = self.builder.and(x, word(mask));
            y = self.builder.and(y, word(mask));
        }
        Some(self.builder.push(Opcode::SumAbsDiff4, &[x, y, self.inputs[2]]))
    }

    fn average(&mut self, x: Arg, y: Arg) -> Results {
        let (ones, top) = (word(self.each(1)), word(self.top()));
        let one = word(1);
        if self.simd.atype == Type::U32 {
            // Rounded up: x + y = 2 (x | y) - (x ^ y).
            let half = self.builder.lop3(x, y, ones, |x, y, one| (x ^ y) & !one);
            let half = self.builder.push(Opcode::Shr(Type::U32), &[half, one]);
            let either = self.builder.or(x, y);
            return Results::exact(self.builder.sub(either, half), Type::U32);
        }
        // Rounded down as unsigned lanes, x + y = 2 (x & y) + (x ^ y); then rounded up
        // where the sum is odd and not negative.
        let differ = self.builder.xor(x, y);
        let half = self.builder.lop3(x, y, ones, |x, y, one| (x ^ y) & !one);
        let half = self.builder.push(Opcode::Shr(Type::U32), &[half, one]);
        let both = self.builder.lop3(x, y, top, |x, y, h| (x ^ h) & (y ^ h));
        let down = self.builder.add(both, half);
        let positive = self.builder.push(Opcode::Shr(Type::U32), &[down, word(self.simd.bits - 1)]);
        let up = self.builder.lop3(positive, differ, ones, |x, y, z| x & y & z);
        let rounded = self.builder.add(down, up);
        Results::exact(self.builder.xor(rounded, top), Type::S32)
    }

    /// Averages of an unsigned and a signed lane. A quarter of the lane's range is yet
    /// to be subtracted.
    fn mixed_average(&mut self, x: Arg, y: Arg) -> Results {
        let (ones, top, one) = (word(self.each(1)), word(self.top()), word(1));
        let (x, y) = if self.simd.atype == Type::S32 { (y, x) } else { (x, y) };
        // As in `average`, with the signed one moved up by half the range.
        let differ = self.builder.lop3(x, y, top, |x, y, h| x ^ y ^ h);
        let half = self.builder.lop3(differ, ones, one, |d, one, _| d & !one);
        let half = self.builder.push(Opcode::Shr(Type::U32), &[half, one]);
        let both = self.builder.lop3(x, y, top, |x, y, h| x & (y ^ h));
        let down = self.builder.add(both, half);
        let bits = self.simd.bits;
        let top_bit = self.builder.push(Opcode::Shr(Type::U32), &[down, word(bits - 1)]);
        let next_bit = self.builder.push(Opcode::Shr(Type::U32), &[down, word(bits - 2)]);
        // Not negative means not below a quarter.
        let up = self.builder.lop3(top_bit, next_bit, differ, |t, n, d| (t | n) & d);
        let up = self.builder.and(up, ones);
        Results { arg: self.builder.add(down, up), ty: Type::U32, excess: 1 << (bits - 2) }
    }

    /// Results with their excess subtracted, as they are or clamped.
    fn lessened(&mut self, lanes: &Results, finish: Finish) -> Arg {
        let (top, rest) = (word(self.top()), word(!self.top()));
        let excess = word(self.each(lanes.excess));
        let guarded = self.builder.or(lanes.arg, top);
        // The top bit stays where the lower bits sufficed for the subtraction.
        let inner = self.builder.sub(guarded, excess);
        let result = self.builder.lop3(inner, lanes.arg, top, |t, x, h| t ^ (!x & h));
        match finish {
            Finish::Saturate(Type::U32) => {
                let below = self.builder.lop3(lanes.arg, inner, top, |x, t, _| !x & !t);
                let below = self.spread(below);
                self.builder.lop3(result, below, top, |x, m, _| x & !m)
            }
            Finish::Saturate(Type::S32) => {
                let over = self.builder.and(lanes.arg, inner);
                let over = self.spread(over);
                self.builder.lop3(result, over, rest, |x, m, n| (x & !m) | (m & n))
            }
            Finish::Wrap | Finish::Accumulate => result,
        }
    }

    /// Exact lanes clamped to the other type.
    fn narrowed(&mut self, lanes: &Results, dtype: Type) -> Arg {
        if lanes.ty == dtype {
            return lanes.arg;
        }
        let rest = word(!self.top());
        if self.means.halves && self.simd.bits == 16 {
            return match dtype {
                Type::S32 => self.builder.push(Opcode::Min2(Type::U32), &[lanes.arg, rest]),
                Type::U32 => self.builder.push(Opcode::Max2(Type::S32), &[lanes.arg, word(0)]),
            };
        }
        let set = self.spread(lanes.arg);
        match dtype {
            // 128 and above become 127.
            Type::S32 => self.builder.lop3(lanes.arg, set, rest, |x, m, n| (x | m) & n),
            // Negative ones become 0.
            Type::U32 => self.builder.lop3(lanes.arg, set, rest, |x, m, _| x & !m),
        }
    }
}
