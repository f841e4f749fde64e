//! Computes SIMD instructions on all lanes of a word at once.
//!
//! Operands are first gathered into words. From then on lanes stay in their places.
//! Truth tables over the top bits of both operands, and of a sum that cannot leave its
//! lane, decide everything that depends on the sign of lanes.
//!
//! Half of a lane's sum never leaves the lane, and its top bit is the carry: the sum is
//! twice the bits that both operands have, plus the bits that only one has. `y - x` borrows where
//! the sum of `y` and the complement of `x` has no carry, so comparisons are carries, too.

use super::sequence::{Arg, Builder, Opcode, Sequence, word};
use super::{ABSDIFF, HALVES, SHARED, Strategy};
use crate::ir::Input;
use crate::isa::{Compare, Selector, Type};
use crate::video::{Operation, SimdOp, SimdTail};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LaneOperation {
    Arithmetic(SimdOp),
    Set(Compare),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Finish {
    Wrap,
    Saturate(Type),
    Accumulate,
}

/// A SIMD instruction without the names of its registers.
pub(super) struct Simd {
    pub(super) kind: LaneOperation,
    pub(super) finish: Finish,
    pub(super) atype: Type,
    pub(super) btype: Type,
    /// Bits in a lane.
    pub(super) bits: u32,
    /// The results that count, one bit for each lane.
    mask: u32,
    /// The lanes that each operand takes.
    selectors: [Selector; 2],
}

impl Simd {
    pub(super) fn new(operation: &Operation) -> Option<Simd> {
        let (kind, finish, operands) = match operation {
            Operation::SimdArithmetic(it) => {
                let finish = match it.tail {
                    SimdTail::Merge { saturate: false } => Finish::Wrap,
                    SimdTail::Merge { saturate: true } => Finish::Saturate(it.dtype),
                    SimdTail::Accumulate => Finish::Accumulate,
                };
                (LaneOperation::Arithmetic(it.op), finish, &it.operands)
            }
            Operation::SimdSet(it) => {
                let finish = if it.accumulate { Finish::Accumulate } else { Finish::Wrap };
                (LaneOperation::Set(it.compare), finish, &it.operands)
            }
            _ => return None,
        };
        let lanes = operands.lanes;
        Some(Simd {
            kind,
            finish,
            atype: operands.atype,
            btype: operands.btype,
            bits: lanes.width().bits(),
            mask: lanes.mask().bits().into(),
            selectors: [lanes.a(), lanes.b()],
        })
    }

    pub(super) fn lanes(&self) -> u32 {
        32 / self.bits
    }

    /// The same bits in every lane.
    pub(super) fn each(&self, bits: u32) -> u32 {
        (0..self.lanes()).fold(0, |word, at| word | bits << (at * self.bits))
    }

    /// The top bit of every lane.
    pub(super) fn top(&self) -> u32 {
        self.each(1 << (self.bits - 1))
    }

    /// The operands: the unsigned operand first.
    pub(super) fn in_order(&self, x: Arg, y: Arg) -> (Arg, Arg) {
        if self.atype == Type::S32 { (y, x) } else { (x, y) }
    }

    /// All bits of the lanes in the mask.
    fn masked(&self) -> u32 {
        let lane = if self.bits == 8 { 0xff } else { 0xffff };
        (0..self.lanes())
            .filter(|at| self.mask >> at & 1 == 1)
            .fold(0, |word, at| word | lane << (at * self.bits))
    }

    /// Whether all lanes are in the mask.
    pub(super) fn is_full(&self) -> bool {
        self.masked() == u32::MAX
    }

    /// A word with the weight in the byte of each lane of the mask.
    pub(super) fn weights(&self, weight: u32) -> u32 {
        let lanes = (0..self.lanes()).filter(|at| self.mask >> at & 1 == 1);
        lanes.fold(0, |all, at| all | weight << (8 * at))
    }

    /// Takes the results outside the mask from `c`.
    pub(super) fn merged(&self, builder: &mut Builder, arg: Arg, c: Arg) -> Arg {
        if self.is_full() {
            return arg;
        }
        let mask = self.masked();
        // The bytes of `c` are numbers 4 to 7.
        let selector = (0..4).fold(0, |all, at| {
            let byte = if mask >> (8 * at) & 1 == 1 { at } else { 4 + at };
            all | byte << (4 * at)
        });
        builder.permute(arg, c, selector)
    }
}

/// An order as `x < y` or its opposite.
#[derive(Clone, Copy)]
pub(super) struct Order {
    /// Whether `x` is the second operand.
    pub(super) is_swapped: bool,
    pub(super) is_negated: bool,
}

impl Order {
    /// `None` for equality.
    pub(super) fn of(compare: Compare) -> Option<Order> {
        let (is_swapped, is_negated) = match compare {
            Compare::Lt => (false, false),
            Compare::Ge => (false, true),
            Compare::Gt => (true, false),
            Compare::Le => (true, true),
            Compare::Eq | Compare::Ne => return None,
        };
        Some(Order { is_swapped, is_negated })
    }

    /// `x` and `y`.
    pub(super) fn of_operands(self, first: Arg, second: Arg) -> (Arg, Arg) {
        if self.is_swapped { (second, first) } else { (first, second) }
    }
}

/// A word whose top bits say where something holds: a bitwise function of three words.
#[derive(Clone, Copy)]
struct Test {
    args: [Arg; 3],
    table: u8,
}

impl Test {
    fn new(args: [Arg; 3], f: fn(u8, u8, u8) -> u8) -> Test {
        Test { args, table: f(0xf0, 0xcc, 0xaa) }
    }

    fn not(self) -> Test {
        Test { table: !self.table, ..self }
    }

    /// The test without the third word, if the test does not depend on that word.
    fn of_two(self) -> Option<[Arg; 2]> {
        let [x, y, _] = self.args;
        (self.table >> 1 & 0x55 == self.table & 0x55).then_some([x, y])
    }
}

/// The exact lanes of a result, and the type to read them as.
struct Results {
    arg: Arg,
    ty: Type,
}

impl Results {
    fn new(arg: Arg, ty: Type) -> Results {
        Results { arg, ty }
    }
}

/// The selector of a `prmt` that fills each lane of `bits` bits with the lane's top bit.
pub(super) fn spreading(bits: u32) -> u32 {
    if bits == 8 { 0xba98 } else { 0xbb99 }
}

/// A sequence for a SIMD instruction, if this strategy has one.
pub(super) fn compile(
    operation: &Operation,
    inputs: [Arg; 3],
    strategy: Strategy,
) -> Option<Sequence> {
    let simd = Simd::new(operation)?;
    let mut parallel = Parallel { builder: Builder::default(), inputs, strategy, simd };
    let result = parallel.compute()?;
    Some(parallel.builder.finish(result))
}

/// Truth tables over the top bits of both operands and of their inner sum.
struct Clamping {
    /// Where the result is above the type.
    over: u8,
    under: u8,
    /// Where the result's top bit is set before clamping.
    odd: u8,
}

struct Parallel {
    builder: Builder,
    inputs: [Arg; 3],
    strategy: Strategy,
    simd: Simd,
}

/// A truth table over the top bits of both operands and of a lane's sum.
fn table(holds: impl Fn(i32, i32, i32) -> bool) -> u8 {
    (0..8)
        .filter(|row| holds(row >> 2 & 1, row >> 1 & 1, row & 1))
        .fold(0, |all, row| all | 1 << row)
}

impl Parallel {
    fn lut(&mut self, table: u8, x: Arg, y: Arg, z: Arg) -> Arg {
        self.builder.push(Opcode::Lop3(table), &[x, y, z])
    }

    /// The top bit of each lane, in all bits of the lane.
    fn spread(&mut self, x: Arg) -> Arg {
        self.builder.permute(x, word(0), spreading(self.simd.bits))
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
        let [a, b] = self.simd.selectors;
        let (x, y) = (self.gather(a.lanes(), Input::A), self.gather(b.lanes(), Input::B));
        let same = self.simd.atype == self.simd.btype;
        let arg = match (self.simd.kind, self.simd.finish) {
            (LaneOperation::Set(compare), finish) => {
                if self.strategy.has(HALVES) && self.simd.bits == 16 && same {
                    let (flags, is_opposite) = self.flags(compare, x, y);
                    if finish == Finish::Accumulate {
                        return Some(self.count(flags, is_opposite));
                    }
                    let ones = word(self.simd.each(1));
                    if is_opposite { self.builder.xor(flags, ones) } else { flags }
                } else {
                    let holds = self.compare(compare, x, y);
                    if finish == Finish::Accumulate {
                        return Some(self.number(holds));
                    }
                    self.ones(holds)
                }
            }
            (LaneOperation::Arithmetic(op), Finish::Accumulate) => return self.sum_of(op, x, y),
            (LaneOperation::Arithmetic(op), Finish::Wrap) => match op {
                SimdOp::Add | SimdOp::Sub => self.wrapped(op, x, y),
                SimdOp::AbsDiff if !same && self.simd.bits == 8 => self.mixed_absdiff(x, y),
                SimdOp::Avrg if !same => self.mixed_average(x, y, None),
                _ => self.exact(op, x, y)?.arg,
            },
            (LaneOperation::Arithmetic(op), Finish::Saturate(dtype)) => match op {
                SimdOp::Add | SimdOp::Sub => self.saturated(op, x, y, dtype),
                SimdOp::Avrg if !same => self.mixed_average(x, y, Some(dtype)),
                _ => {
                    let lanes = self.exact(op, x, y)?;
                    self.narrowed(&lanes, dtype)
                }
            },
        };
        Some(self.simd.merged(&mut self.builder, arg, self.inputs[2]))
    }

    /// Results that fit a lane.
    fn exact(&mut self, op: SimdOp, x: Arg, y: Arg) -> Option<Results> {
        let same = self.simd.atype == self.simd.btype;
        match op {
            SimdOp::Min | SimdOp::Max => Some(self.extreme(op, x, y)),
            SimdOp::AbsDiff if same => Some(self.absdiff(x, y)),
            // That of different types is computed elsewhere.
            SimdOp::Avrg => Some(self.average(x, y)),
            _ => None,
        }
    }

    /// `c` plus the results of the lanes in the mask.
    fn sum_of(&mut self, op: SimdOp, x: Arg, y: Arg) -> Option<Arg> {
        let same = self.simd.atype == self.simd.btype;
        let sum = match op {
            SimdOp::Add | SimdOp::Sub => Some(self.sums(op, x, y)),
            SimdOp::AbsDiff if same => self.differences(x, y),
            SimdOp::Avrg if !same => Some(self.mixed_averages(x, y)),
            _ => None,
        };
        sum.or_else(|| {
            let lanes = self.exact(op, x, y)?;
            Some(self.total(&lanes))
        })
    }

    /// `c` plus the lanes in the mask.
    fn total(&mut self, lanes: &Results) -> Arg {
        let weights = word(self.simd.weights(1));
        self.dot(lanes.arg, lanes.ty, weights, Type::U32, self.inputs[2])
    }

    /// `c` plus sums or differences of lanes. Each operand is added by itself.
    fn sums(&mut self, op: SimdOp, x: Arg, y: Arg) -> Arg {
        let (atype, btype, c) = (self.simd.atype, self.simd.btype, self.inputs[2]);
        let plus = self.simd.weights(1);
        let minus = self.simd.weights(0xff);
        if self.simd.bits == 16 && op == SimdOp::Sub {
            // The weights of both operands are halves of one constant.
            let weights = word(minus << 16 | plus);
            let sum = self.builder.push(Opcode::Dot2(atype, Type::S32), &[x, weights, c]);
            return self.builder.push(Opcode::Dot2High(btype, Type::S32), &[y, weights, sum]);
        }
        let (weights, ty) = if op == SimdOp::Sub { (minus, Type::S32) } else { (plus, Type::U32) };
        let sum = self.dot(x, atype, word(plus), Type::U32, c);
        self.dot(y, btype, word(weights), ty, sum)
    }

    /// `sum` plus the products of lanes and bytes.
    fn dot(&mut self, lanes: Arg, ty: Type, weights: Arg, weight: Type, sum: Arg) -> Arg {
        let dot = if self.simd.bits == 8 { Opcode::Dot4 } else { Opcode::Dot2 };
        self.builder.push(dot(ty, weight), &[lanes, weights, sum])
    }

    /// The sum (or difference) of lanes without their top bits. It cannot leave the
    /// lane: `(x & n) + (y & n)`, or `(x | h) - (y & n)`.
    fn inner(&mut self, subtract: bool, x: Arg, y: Arg) -> Arg {
        let (top, rest) = (word(self.simd.top()), word(!self.simd.top()));
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
        if self.strategy.has(HALVES) && self.simd.bits == 16 {
            return self.halves(subtract, x, y);
        }
        if self.simd.bits == 16 {
            return self.wrapped_halves(subtract, x, y);
        }
        if self.strategy.has(HALVES) {
            let upper = self.builder.and(y, word(0xff00_ff00));
            let upper = self.halves(subtract, x, upper);
            let lower = self.halves(subtract, x, y);
            return self.builder.permute(lower, upper, 0x7250);
        }
        let inner = self.inner(subtract, x, y);
        let flip = self.flip(subtract, x, y);
        self.builder.xor(inner, flip)
    }

    /// Sums or differences of halves without instructions on halves.
    ///
    /// The lowest bits of the upper halves are left out of the sum, so that only the carry stands
    /// there, and goes no farther. They replace the carry at the end. In a difference, a 1 stands
    /// there where nothing was borrowed.
    fn wrapped_halves(&mut self, subtract: bool, x: Arg, y: Arg) -> Arg {
        let lowest = word(0x1_0000);
        if subtract {
            let same = self.builder.lop3(x, y, lowest, |x, y, lowest| !(x ^ y) & lowest);
            let difference = self.builder.sub(x, y);
            let difference = self.builder.add(difference, same);
            return self
                .builder
                .lop3(difference, same, lowest, |all, same, lowest| (all | lowest) ^ same);
        }
        let odd = self.builder.lop3(x, y, lowest, |x, y, lowest| (x ^ y) & lowest);
        let sum = self.builder.sub(x, odd);
        let sum = self.builder.add(sum, y);
        let rest = self.builder.and(sum, word(!0x1_0000));
        self.builder.or(rest, odd)
    }

    /// Sums or differences of halves.
    fn halves(&mut self, subtract: bool, x: Arg, y: Arg) -> Arg {
        if subtract { self.builder.sub2(x, y) } else { self.builder.push(Opcode::Add2, &[x, y]) }
    }

    /// The top bits in which the inner sum (or difference) differs from the lanes' own.
    fn flip(&mut self, subtract: bool, x: Arg, y: Arg) -> Arg {
        let top = word(self.simd.top());
        if subtract {
            self.builder.lop3(x, y, top, |x, y, h| !(x ^ y) & h)
        } else {
            self.builder.lop3(x, y, top, |x, y, h| (x ^ y) & h)
        }
    }

    /// Sums and differences clamped to a type.
    fn saturated(&mut self, op: SimdOp, x: Arg, y: Arg, dtype: Type) -> Arg {
        let subtract = op == SimdOp::Sub;
        if [self.simd.atype, self.simd.btype, dtype] == [Type::U32; 3] {
            return self.unsigned_saturated(subtract, x, y);
        }
        if self.strategy.has(HALVES) && self.simd.bits == 16 {
            let are_signed = [self.simd.atype, self.simd.btype, dtype] == [Type::S32; 3];
            if self.strategy.has(SHARED) && subtract && are_signed {
                return self.limited_difference(x, y);
            }
            return self.saturated_halves(subtract, x, y, dtype);
        }
        let Clamping { over, under, odd } = self.clamping(subtract, dtype);
        let (top, rest) = (word(self.simd.top()), word(!self.simd.top()));
        let t = self.inner(subtract, x, y);
        if over != 0 && under != 0 {
            // Top bits come from tables alone.
            let highest = if dtype == Type::U32 { over } else { under };
            let tops = self.lut(odd & !over & !under | highest, x, y, t);
            let lanes = if let Some(first) = [(x, 0xf0), (y, 0xcc)]
                .into_iter()
                .find(|(_, set)| over & set == 0 && under & !set == 0)
            {
                // Lanes whose operand is negative become the least value.
                let clamped = self.lut(over | under, x, y, t);
                let clamped = self.spread(clamped);
                let negative = self.spread(first.0);
                self.builder.lop3(clamped, negative, t, |m, s, t| (m & !s) | (!m & t))
            } else {
                let over = self.lut(over, x, y, t);
                let over = self.spread(over);
                let under = self.lut(under, x, y, t);
                let under = self.spread(under);
                self.builder.lop3(t, over, under, |t, over, under| (t | over) & !under)
            };
            return self.builder.lop3(lanes, tops, rest, |low, top, n| (low & n) | (top & !n));
        }
        // `odd` is not needed where a lane that fits never has its top bit set.
        let plain = odd & !over & !under == 0;
        if dtype == Type::U32 && !plain {
            let outside = self.lut(over | under, x, y, t);
            let outside = self.spread(outside);
            let flip = self.flip(subtract, x, y);
            return match over {
                0 => self.builder.lop3(t, flip, outside, |t, flip, m| (t ^ flip) & !m),
                _ => self.builder.lop3(t, flip, outside, |t, flip, m| (t ^ flip) | m),
            };
        }
        let mut lanes = if plain {
            t
        } else {
            let odd = self.lut(odd, x, y, t);
            self.builder.lop3(t, odd, rest, |t, odd, n| (t & n) | (odd & !n))
        };
        // Of the unsigned results, only differences of signed and unsigned lanes come here, which are
        // never too large.
        if over != 0 {
            let over = self.lut(over, x, y, t);
            let over = self.spread(over);
            lanes = if plain {
                self.builder.lop3(lanes, over, rest, |x, m, n| (x | m) & n)
            } else {
                self.builder.lop3(lanes, over, rest, |x, m, n| (x & !m) | (m & n))
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

    /// Where sums or differences leave a type. Let `t` be the top bit of the inner sum.
    /// Then a lane is `k` times 2^(bits-1) plus its other bits, where `k` follows from
    /// `t` and the operands' top bits.
    fn clamping(&self, subtract: bool, dtype: Type) -> Clamping {
        let weight = |ty: Type| if ty == Type::S32 { -1 } else { 1 };
        let (a, b) = (weight(self.simd.atype), weight(self.simd.btype));
        let k = |x: i32, y: i32, t: i32| {
            if subtract { t - 1 + a * x - b * y } else { t + a * x + b * y }
        };
        let (least, most) = if dtype == Type::S32 { (-1, 0) } else { (0, 1) };
        Clamping {
            over: table(|x, y, t| k(x, y, t) > most),
            under: table(|x, y, t| k(x, y, t) < least),
            odd: table(|x, y, t| k(x, y, t).rem_euclid(2) == 1),
        }
    }

    /// Sums or differences of unsigned lanes, clamped to unsigned lanes.
    fn unsigned_saturated(&mut self, subtract: bool, x: Arg, y: Arg) -> Arg {
        if self.strategy.has(HALVES) && self.simd.bits == 16 {
            if subtract {
                let most = self.builder.push(Opcode::Max2(Type::U32), &[x, y]);
                return self.builder.sub2(most, y);
            }
            let room = self.builder.push(Opcode::Not, &[y]);
            let x = self.builder.push(Opcode::Min2(Type::U32), &[x, room]);
            return self.builder.push(Opcode::Add2, &[x, y]);
        }
        // A sum that leaves its lane carries 1 into the next lane. Subtracting all bits of the lane
        // undoes that, but leaves 1 too much in the lane, whose bits are all overwritten.
        // Differences work the other way round.
        let outside = if subtract { self.less(x, y, Type::U32) } else { self.carry(x, y) };
        let outside = self.spread(outside);
        let lanes = if subtract { self.builder.sub(x, y) } else { self.builder.add(x, y) };
        if subtract {
            let lanes = self.builder.add(lanes, outside);
            self.builder.lop3(lanes, outside, outside, |x, m, _| x & !m)
        } else {
            let lanes = self.builder.sub(lanes, outside);
            self.builder.or(lanes, outside)
        }
    }

    /// The difference of signed halves. Those of the first operand are clamped before.
    fn limited_difference(&mut self, x: Arg, y: Arg) -> Arg {
        let (zero, s32) = (word(0), Type::S32);
        let negative = self.builder.push(Opcode::Min2(s32), &[y, zero]);
        let most = self.builder.push(Opcode::Add2, &[negative, word(!self.simd.top())]);
        let positive = self.builder.push(Opcode::Max2(s32), &[y, zero]);
        let least = self.builder.push(Opcode::Add2, &[positive, word(self.simd.top())]);
        let x = self.builder.push(Opcode::Min2(s32), &[x, most]);
        let x = self.builder.push(Opcode::Max2(s32), &[x, least]);
        self.halves(true, x, y)
    }

    /// Clamped halves, from sums that are not clamped.
    fn saturated_halves(&mut self, subtract: bool, x: Arg, y: Arg, dtype: Type) -> Arg {
        let Clamping { over, under, odd } = self.clamping(subtract, dtype);
        let sum = self.halves(subtract, x, y);
        // The tables with the top bit of the whole sum.
        let whole = |of: u8| {
            table(|x, y, s| {
                let row = |t: i32| x << 2 | y << 1 | t;
                (0..2).any(|t| odd >> row(t) & 1 == s as u8 && of >> row(t) & 1 == 1)
            })
        };
        let (over, under) = (whole(over), whole(under));
        let (top, rest) = (word(self.simd.top()), word(!self.simd.top()));
        if over == 0 || under == 0 {
            let outside = self.lut(over | under, x, y, sum);
            let outside = self.spread(outside);
            return match (dtype, over) {
                (Type::U32, 0) => self.builder.lop3(sum, outside, top, |x, m, _| x & !m),
                (Type::U32, _) => self.builder.or(sum, outside),
                (Type::S32, 0) => {
                    self.builder.lop3(sum, outside, top, |x, m, h| (x & !m) | (m & h))
                }
                (Type::S32, _) => {
                    self.builder.lop3(sum, outside, rest, |x, m, n| (x & !m) | (m & n))
                }
            };
        }
        if dtype == Type::S32 {
            // A sum outside of the range has the wrong sign.
            let outside = self.lut(over | under, x, y, sum);
            let outside = self.spread(outside);
            let sign = self.spread(sum);
            let bound = self.builder.lop3(outside, sign, top, |m, s, h| m & (s ^ h));
            return self.builder.lop3(bound, sum, outside, |bound, x, m| bound | (x & !m));
        }
        let over = self.lut(over, x, y, sum);
        let over = self.spread(over);
        let under = self.lut(under, x, y, sum);
        let under = self.spread(under);
        self.builder.lop3(sum, over, under, |x, over, under| (x | over) & !under)
    }

    /// Half of the sum of `y` and the complement of `x`. The top bit is set where `x < y`
    /// holds, both being read as a type.
    fn less(&mut self, x: Arg, y: Arg, ty: Type) -> Arg {
        let (ones, top) = (word(self.simd.each(1)), word(self.simd.top()));
        let both = match ty {
            Type::U32 => self.builder.lop3(x, y, word(0), |x, y, _| !x & y),
            // The top bits of signed lanes count the other way round.
            Type::S32 => self.builder.lop3(x, y, top, |x, y, h| (x ^ !h) & (y ^ h)),
        };
        let one = self.builder.lop3(x, y, ones, |x, y, ones| !(x ^ y) & !ones);
        self.half(both, one)
    }

    /// Half of the sum of `x` and `y`. The top bit is the carry.
    fn carry(&mut self, x: Arg, y: Arg) -> Arg {
        let both = self.builder.and(x, y);
        let one = self.builder.lop3(x, y, word(self.simd.each(1)), |x, y, ones| (x ^ y) & !ones);
        self.half(both, one)
    }

    /// Half of a sum. `both` has the bits that both operands have; `one` has the bits, except the
    /// lowest, that only one operand has.
    fn half(&mut self, both: Arg, one: Arg) -> Arg {
        // ptxas makes one instruction of this.
        let half = self.builder.push(Opcode::Shr(Type::U32), &[one, word(1)]);
        self.builder.add(both, half)
    }

    /// Where `x < y` holds.
    fn is_less(&mut self, x: Arg, y: Arg, xtype: Type, ytype: Type) -> Test {
        let same = xtype == ytype;
        let less = self.less(x, y, if same { xtype } else { Type::U32 });
        match xtype {
            _ if same => Test::new([less, x, y], |less, _, _| less),
            // No unsigned lane is below a negative lane. A negative lane is below every unsigned
            // lane.
            Type::U32 => Test::new([less, y, x], |less, y, _| less & !y),
            Type::S32 => Test::new([less, x, y], |less, x, _| less | x),
        }
    }

    /// Where a comparison holds.
    fn compare(&mut self, compare: Compare, x: Arg, y: Arg) -> Test {
        let (atype, btype) = (self.simd.atype, self.simd.btype);
        match compare {
            Compare::Lt => self.is_less(x, y, atype, btype),
            Compare::Gt => self.is_less(y, x, btype, atype),
            Compare::Ge => self.is_less(x, y, atype, btype).not(),
            Compare::Le => self.is_less(y, x, btype, atype).not(),
            Compare::Eq | Compare::Ne => {
                let rest = word(!self.simd.top());
                let low = self.builder.lop3(x, y, rest, |x, y, n| (x ^ y) & n);
                let carried = self.builder.add(low, rest);
                let args = [carried, x, y];
                let differ = if atype == btype {
                    Test::new(args, |t, x, y| t | (x ^ y))
                } else {
                    // Lanes with a top bit differ anyway.
                    Test::new(args, |t, x, y| t | x | y)
                };
                if compare == Compare::Ne { differ } else { differ.not() }
            }
        }
    }

    /// The word of a test.
    fn word(&mut self, test: Test) -> Arg {
        match (test.table, test.args) {
            (0xf0, [x, _, _]) => x,
            (table, [x, y, z]) => self.lut(table, x, y, z),
        }
    }

    /// 1 in the lanes where a test holds.
    fn ones(&mut self, test: Test) -> Arg {
        let by = word(self.simd.bits - 1);
        if let Some([x, y]) = test.of_two() {
            let top = word(self.simd.top());
            let bits = self.lut(test.table & 0xaa, x, y, top);
            return self.builder.push(Opcode::Shr(Type::U32), &[bits, by]);
        }
        let bits = self.word(test);
        let bits = self.builder.push(Opcode::Shr(Type::U32), &[bits, by]);
        self.builder.and(bits, word(self.simd.each(1)))
    }

    /// `c` plus the number of lanes in the mask where a test holds.
    fn number(&mut self, test: Test) -> Arg {
        let bits = self.word(test);
        let signs = self.signs(bits);
        self.builder.push(Opcode::Dot4(Type::S32, Type::S32), &[signs, signs, self.inputs[2]])
    }

    /// A byte of the top bit for each lane in the mask. The other bytes are 0.
    fn signs(&mut self, x: Arg) -> Arg {
        let bytes = self.simd.bits / 8;
        let selector = (0..4).fold(0, |all, at| {
            let counts = at < self.simd.lanes() && self.simd.mask >> at & 1 == 1;
            let byte = if counts { 8 + (at + 1) * bytes - 1 } else { 4 };
            all | byte << (4 * at)
        });
        self.builder.permute(x, word(0), selector)
    }

    /// A comparison of halves as 1 or 0 each. The flag says that it is the opposite of
    /// the requested one.
    fn flags(&mut self, compare: Compare, x: Arg, y: Arg) -> (Arg, bool) {
        let Some(order) = Order::of(compare) else {
            let differences = self.builder.sub2(x, y);
            return (self.least_one(differences), compare == Compare::Eq);
        };
        let (x, y) = order.of_operands(x, y);
        // The maximum is above the first operand where the first operand is less.
        let most = self.builder.push(Opcode::Max2(self.simd.atype), &[x, y]);
        let above = self.builder.sub2(most, x);
        (self.least_one(above), order.is_negated)
    }

    /// 1 in each half that is not 0.
    fn least_one(&mut self, halves: Arg) -> Arg {
        let ones = word(self.simd.each(1));
        self.builder.push(Opcode::Min2(Type::U32), &[halves, ones])
    }

    /// `c` plus the number of flags in the mask that are 1, or 0.
    fn count(&mut self, flags: Arg, zeros: bool) -> Arg {
        let c = self.inputs[2];
        if zeros {
            let all = self.builder.add(c, word(self.simd.mask.count_ones()));
            return self.dot(flags, Type::U32, word(self.simd.weights(0xff)), Type::S32, all);
        }
        self.dot(flags, Type::U32, word(self.simd.weights(1)), Type::U32, c)
    }

    /// Whether there is an instruction for absolute differences.
    fn has_differences(&self) -> bool {
        self.strategy.has(ABSDIFF) && self.simd.bits == 8
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
        if self.strategy.has(HALVES) && self.simd.bits == 16 {
            let (mut x, mut y) = (x, y);
            if atype != btype {
                // The operand of the other type, clamped to the result's type.
                let other = if atype == ty { &mut y } else { &mut x };
                *other = self.clamped(*other, ty);
            }
            let pick = if least { Opcode::Min2(ty) } else { Opcode::Max2(ty) };
            return Results::new(self.builder.push(pick, &[x, y]), ty);
        }
        let zero = word(0);
        if atype == btype && (x == zero || y == zero) {
            let other = if x == zero { y } else { x };
            return Results::new(self.extreme_of_zero(least, other, ty), ty);
        }
        let less = self.is_less(x, y, atype, btype);
        let less = self.word(less);
        let less = self.spread(less);
        let arg = if least {
            self.builder.lop3(less, x, y, |m, x, y| (m & x) | (!m & y))
        } else {
            self.builder.lop3(less, x, y, |m, x, y| (m & y) | (!m & x))
        };
        Results::new(arg, ty)
    }

    /// The smaller or the larger of each lane and 0.
    fn extreme_of_zero(&mut self, least: bool, x: Arg, ty: Type) -> Arg {
        if ty == Type::U32 {
            return if least { word(0) } else { x };
        }
        let negative = self.spread(x);
        if least {
            self.builder.and(x, negative)
        } else {
            self.builder.lop3(x, negative, negative, |x, m, _| x & !m)
        }
    }

    /// Halves of one type clamped to the other type.
    fn clamped(&mut self, halves: Arg, to: Type) -> Arg {
        match to {
            Type::S32 => {
                self.builder.push(Opcode::Min2(Type::U32), &[halves, word(!self.simd.top())])
            }
            Type::U32 => self.builder.push(Opcode::Max2(Type::S32), &[halves, word(0)]),
        }
    }

    /// Both operands as unsigned lanes in the same order.
    fn unsigned(&mut self, x: Arg, y: Arg) -> (Arg, Arg) {
        if self.simd.atype == Type::U32 {
            return (x, y);
        }
        let top = word(self.simd.top());
        (self.builder.xor(x, top), self.builder.xor(y, top))
    }

    fn absdiff(&mut self, x: Arg, y: Arg) -> Results {
        let ty = Type::U32;
        if self.strategy.has(HALVES) && self.simd.bits == 16 {
            let most = self.builder.push(Opcode::Max2(self.simd.atype), &[x, y]);
            let least = self.builder.push(Opcode::Min2(self.simd.atype), &[x, y]);
            return Results::new(self.builder.sub2(most, least), ty);
        }
        if self.has_differences() {
            let differences = Opcode::AbsDiff4(self.simd.atype);
            return Results::new(self.builder.push(differences, &[x, y]), ty);
        }
        let (x, y) = self.unsigned(x, y);
        // As in `unsigned_saturated`. If a difference is negative, the complement of (difference -
        // 1) is its amount.
        let less = self.less(x, y, ty);
        let less = self.spread(less);
        if self.simd.finish == Finish::Accumulate {
            // A solver proves sums of four lanes only if no lane borrows from another one before.
            let most = self.builder.lop3(less, x, y, |m, x, y| (m & y) | (!m & x));
            let least = self.builder.lop3(less, x, y, |m, x, y| (m & x) | (!m & y));
            return Results::new(self.builder.sub(most, least), ty);
        }
        let difference = self.builder.sub(x, y);
        let difference = self.builder.add(difference, less);
        Results::new(self.builder.xor(difference, less), ty)
    }

    /// `c` plus absolute differences, with the machine's own instruction.
    fn differences(&mut self, x: Arg, y: Arg) -> Option<Arg> {
        // Where halves have sums, the target may be `sm_120`, which has no such instruction and
        // takes longer for it than for differences and their sum.
        if !self.has_differences() || self.strategy.has(HALVES) || !self.simd.is_full() {
            return None;
        }
        let differences = Opcode::SumAbsDiff4(self.simd.atype);
        Some(self.builder.push(differences, &[x, y, self.inputs[2]]))
    }

    /// Absolute differences of an unsigned and a signed lane, without their ninth bit.
    fn mixed_absdiff(&mut self, x: Arg, y: Arg) -> Arg {
        let (x, y) = self.simd.in_order(x, y);
        // As in `unsigned_saturated`, both being read as unsigned lanes.
        let less = self.less(x, y, Type::U32);
        let less = self.spread(less);
        let negative = self.spread(y);
        let difference = self.builder.sub(x, y);
        let difference = self.builder.add(difference, less);
        // Only differences from positive signed lanes can be negative. Other differences are 1 too
        // small where `less` is set.
        let amount =
            self.builder.lop3(difference, less, negative, |d, less, neg| d ^ (less & !neg));
        let ones = word(self.simd.each(1));
        let rest = self.builder.lop3(less, negative, ones, |less, neg, one| less & neg & one);
        self.builder.add(amount, rest)
    }

    fn average(&mut self, x: Arg, y: Arg) -> Results {
        let (ones, top) = (word(self.simd.each(1)), word(self.simd.top()));
        if self.simd.atype == Type::U32 {
            // x + y = 2 (x & y) + (x ^ y). Rounded up, an odd sum adds its 1 to an even (x & y).
            let half = self.builder.lop3(x, y, ones, |x, y, one| (x ^ y) & !one);
            let both = self.builder.lop3(x, y, ones, |x, y, one| (x & y) | ((x ^ y) & one));
            return Results::new(self.half(both, half), Type::U32);
        }
        // Rounded down as unsigned lanes, x + y = 2 (x & y) + (x ^ y); then rounded up
        // where the sum is odd and not negative.
        let differ = self.builder.xor(x, y);
        let half = self.builder.lop3(x, y, ones, |x, y, one| (x ^ y) & !one);
        let both = self.builder.lop3(x, y, top, |x, y, h| (x ^ h) & (y ^ h));
        let down = self.half(both, half);
        let positive = self.builder.push(Opcode::Shr(Type::U32), &[down, word(self.simd.bits - 1)]);
        let up = self.builder.lop3(positive, differ, ones, |x, y, z| x & y & z);
        let rounded = self.builder.add(down, up);
        Results::new(self.builder.xor(rounded, top), Type::S32)
    }

    /// Averages of an unsigned and a signed lane, wrapped or clamped to a type.
    fn mixed_average(&mut self, x: Arg, y: Arg, saturate: Option<Type>) -> Arg {
        let (x, y) = self.simd.in_order(x, y);
        let (top, rest) = (word(self.simd.top()), word(!self.simd.top()));
        let (half, up) = self.mixed_halves(x, y);
        // A negative lane is its unsigned bits less twice the top bit, so half a sum loses the top
        // bit.
        let down = self.builder.lop3(half, y, top, |half, y, h| half ^ (y & h));
        let average = self.builder.add(down, up);
        match saturate {
            None => average,
            Some(Type::U32) => {
                let negative = self.builder.lop3(half, y, word(0), |half, y, _| !half & y);
                let negative = self.spread(negative);
                self.builder.lop3(average, negative, top, |x, m, _| x & !m)
            }
            Some(Type::S32) => {
                let over = self.builder.lop3(average, half, y, |x, half, y| x & (half | !y));
                let over = self.spread(over);
                self.builder.lop3(average, over, rest, |x, m, n| (x & !m) | (m & n))
            }
        }
    }

    /// `c` plus averages of unsigned and signed lanes. Each is exact in its lane with a quarter
    /// of the lane's range added, as solvers do not see through sums in which lanes meet.
    fn mixed_averages(&mut self, x: Arg, y: Arg) -> Arg {
        let (x, y) = self.simd.in_order(x, y);
        let (ones, top) = (word(self.simd.each(1)), word(self.simd.top()));
        // As in `average`, with the signed lane moved up by half the range.
        let differ = self.builder.lop3(x, y, top, |x, y, h| x ^ y ^ h);
        let half = self.builder.lop3(differ, ones, ones, |d, one, _| d & !one);
        let both = self.builder.lop3(x, y, top, |x, y, h| x & (y ^ h));
        let down = self.half(both, half);
        let bits = self.simd.bits;
        let top_bit = self.builder.push(Opcode::Shr(Type::U32), &[down, word(bits - 1)]);
        let next_bit = self.builder.push(Opcode::Shr(Type::U32), &[down, word(bits - 2)]);
        // Not negative means not below a quarter.
        let up = self.builder.lop3(top_bit, next_bit, differ, |t, n, d| (t | n) & d);
        let up = self.builder.and(up, ones);
        let lanes = self.builder.add(down, up);
        let excess = self.simd.mask.count_ones() << (bits - 2);
        let c = self.builder.add(self.inputs[2], word(excess.wrapping_neg()));
        self.dot(lanes, Type::U32, word(self.simd.weights(1)), Type::U32, c)
    }

    /// Half of the sum of unsigned and signed lanes, all read as unsigned ones, and 1 in the
    /// lanes that are to be rounded up: sums that are odd and not negative.
    fn mixed_halves(&mut self, x: Arg, y: Arg) -> (Arg, Arg) {
        let by = word(self.simd.bits - 1);
        let half = self.carry(x, y);
        let odd = self.builder.lop3(x, y, word(self.simd.each(1)), |x, y, one| (x ^ y) & one);
        let odd = self.builder.push(Opcode::Shl, &[odd, by]);
        // A sum with a negative lane is not negative if it has a carry.
        let up = self.builder.lop3(half, y, odd, |half, y, odd| (half | !y) & odd);
        (half, self.builder.push(Opcode::Shr(Type::U32), &[up, by]))
    }

    /// Exact lanes clamped to the other type.
    fn narrowed(&mut self, lanes: &Results, dtype: Type) -> Arg {
        if lanes.ty == dtype {
            return lanes.arg;
        }
        let rest = word(!self.simd.top());
        if self.strategy.has(HALVES) && self.simd.bits == 16 {
            return self.clamped(lanes.arg, dtype);
        }
        let set = self.spread(lanes.arg);
        match dtype {
            // 128 and above become 127.
            Type::S32 => self.builder.lop3(lanes.arg, set, rest, |x, m, n| (x | m) & n),
            // Negative lanes become 0.
            Type::U32 => self.builder.lop3(lanes.arg, set, rest, |x, m, _| x & !m),
        }
    }
}
