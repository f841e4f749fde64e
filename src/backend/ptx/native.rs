//! Computes SIMD instructions, and scalar ones on parts, with the machine's own instructions on
//! the lanes of a word: bytes, and saturated sums of halves (`sm_120f`).
//!
//! Lanes are computed where one operand has them, so that at most the other one is moved. The
//! `prmt` that takes the other results from `c` moves results for free. A flipped top bit moves
//! signed lanes into the range of unsigned ones and back. Saturated differences of halves are the
//! complements of sums, as there is no such instruction.

use std::iter;

use super::parallel::{Finish, LaneOperation, Order, Simd, spreading};
use super::sequence::{Arg, Builder, Opcode, Sequence, word};
use crate::isa::{Compare, Type};
use crate::video::{Operation, SimdOp};

struct Native {
    builder: Builder,
    inputs: [Arg; 3],
    simd: Simd,
    slots: Slots,
}

/// The places in a word where pairs of lanes are combined.
struct Slots {
    /// For each place, the lanes of `a` and `b`, if any.
    pairs: [Option<[usize; 2]>; 4],
    /// For each lane in the mask, the place of its result.
    results: [Option<usize>; 4],
}

/// A sequence for a SIMD instruction.
pub(super) fn compile(operation: &Operation, inputs: [Arg; 3]) -> Option<Sequence> {
    let simd = Simd::new(operation)?;
    let count = simd.lanes() as usize;
    let is_one = inputs[0] == inputs[1];
    let lanes = operation.simd()?.lanes.written().map(|(lane, a, b)| {
        let pair = [a, b].map(usize::from);
        (lane, if is_one { pair.map(|lane| lane % count) } else { pair })
    });
    let lanes: Vec<_> = lanes.collect();
    let slots = Slots::best(&lanes, count, simd.finish == Finish::Accumulate);
    let mut native = Native { builder: Builder::default(), inputs, simd, slots };
    let result = native.compute()?;
    Some(native.builder.finish(result))
}

impl Slots {
    /// The places for the lanes of the mask, each with its pair, that need fewest moves.
    fn best(lanes: &[(usize, [usize; 2])], count: usize, adds: bool) -> Slots {
        let own = Slots::new(lanes, |lane, _| lane);
        let others = [0, 1].map(|source| Slots::new(lanes, |_, pair| pair[source] % count));
        let all = own.into_iter().chain(others.into_iter().flatten());
        let moves = |slots: &Slots| {
            let moved = [0, 1].map(|source| slots.register(source, count).is_none());
            let is_full = lanes.len() == count;
            let is_in_place = lanes.iter().all(|(lane, _)| slots.results[*lane] == Some(*lane));
            let placed = !adds && is_full && !is_in_place;
            moved.into_iter().chain([placed]).filter(|it| *it).count()
        };
        all.min_by_key(moves).unwrap_or(Slots { pairs: [None; 4], results: [None; 4] })
    }

    /// `None` if two different pairs need the same place.
    fn new(
        lanes: &[(usize, [usize; 2])],
        place: impl Fn(usize, [usize; 2]) -> usize,
    ) -> Option<Slots> {
        let mut slots = Slots { pairs: [None; 4], results: [None; 4] };
        for &(lane, pair) in lanes {
            let at = place(lane, pair);
            if slots.pairs[at].is_some_and(|other| other != pair) {
                return None;
            }
            slots.pairs[at] = Some(pair);
            slots.results[lane] = Some(at);
        }
        Some(slots)
    }

    /// Each place with the lane of a source.
    fn lanes(&self, source: usize) -> impl Iterator<Item = (usize, usize)> {
        let pairs = self.pairs.iter().enumerate();
        pairs.filter_map(move |(at, pair)| pair.map(|pair| (at, pair[source])))
    }

    /// The register that has the lanes of a source in their places: `a` or `b`.
    fn register(&self, source: usize, count: usize) -> Option<usize> {
        [0, 1].into_iter().find(|number| {
            let mut lanes = self.lanes(source);
            lanes.all(|(at, lane)| lane == number * count + at)
        })
    }

    /// How often the result of each place counts.
    fn counts(&self) -> [i32; 4] {
        let mut counts = [0; 4];
        for at in self.results.into_iter().flatten() {
            counts[at] += 1;
        }
        counts
    }
}

/// Numbers from -128 to 127 in bytes.
fn bytes(numbers: [i32; 4]) -> u32 {
    u32::from_le_bytes(numbers.map(|number| number as u8))
}

impl Native {
    fn compute(&mut self) -> Option<Arg> {
        let accumulates = self.simd.finish == Finish::Accumulate;
        let arg = match self.simd.kind {
            LaneOperation::Arithmetic(op @ (SimdOp::Add | SimdOp::Sub)) if accumulates => {
                return Some(self.sums(op));
            }
            LaneOperation::Arithmetic(op) => {
                let [x, y] = [self.source(0), self.source(1)];
                if accumulates {
                    return self.sum_of(op, x, y);
                }
                self.arithmetic(op, x, y)?
            }
            LaneOperation::Set(compare) => {
                let [x, y] = [self.source(0), self.source(1)];
                if accumulates {
                    return Some(self.number(compare, x, y));
                }
                self.flags(compare, x, y, self.simd.each(1))
            }
        };
        Some(self.placed(arg))
    }

    /// The lanes of a source in their places. The others hold anything.
    fn source(&mut self, source: usize) -> Arg {
        let count = self.simd.lanes() as usize;
        if let Some(register) = self.slots.register(source, count) {
            return self.inputs[register];
        }
        let mut from = [0, 1, 2, 3];
        for (at, lane) in self.slots.lanes(source) {
            from[at] = lane;
        }
        let selector = self.selector(from);
        self.builder.permute(self.inputs[0], self.inputs[1], selector)
    }

    /// The selector of a `prmt` that gives these lanes of two words.
    fn selector(&self, lanes: [usize; 4]) -> u32 {
        let width = self.simd.bits / 8;
        let bytes = lanes[..self.simd.lanes() as usize]
            .iter()
            .flat_map(|lane| (0..width).map(move |byte| *lane as u32 * width + byte));
        bytes.zip(0..).fold(0, |all, (byte, at)| all | byte << (4 * at))
    }

    /// The results in their lanes, and those of `c` outside the mask.
    fn placed(&mut self, results: Arg) -> Arg {
        let count = self.simd.lanes() as usize;
        let mut from = [0, 1, 2, 3];
        for (lane, from) in from.iter_mut().enumerate().take(count) {
            *from = self.slots.results[lane].unwrap_or(count + lane);
        }
        let selector = self.selector(from);
        self.builder.permute(results, self.inputs[2], selector)
    }

    /// The greatest signed number in every lane.
    fn greatest(&self) -> Arg {
        word(!self.simd.top())
    }

    fn is_bytes(&self) -> bool {
        self.simd.bits == 8
    }

    fn flipped(&mut self, x: Arg, bits: u32) -> Arg {
        self.builder.xor(x, word(bits))
    }

    fn add(&mut self, x: Arg, y: Arg) -> Arg {
        let opcode = if self.is_bytes() { Opcode::Add4 } else { Opcode::Add2 };
        self.builder.push(opcode, &[x, y])
    }

    fn sub(&mut self, x: Arg, y: Arg) -> Arg {
        if self.is_bytes() {
            self.builder.push(Opcode::Sub4, &[x, y])
        } else {
            self.builder.sub2(x, y)
        }
    }

    fn min(&mut self, ty: Type, x: Arg, y: Arg) -> Arg {
        let opcode = if self.is_bytes() { Opcode::Min4(ty) } else { Opcode::Min2(ty) };
        self.builder.push(opcode, &[x, y])
    }

    fn max(&mut self, ty: Type, x: Arg, y: Arg) -> Arg {
        let opcode = if self.is_bytes() { Opcode::Max4(ty) } else { Opcode::Max2(ty) };
        self.builder.push(opcode, &[x, y])
    }

    /// The smaller of signed lanes, or 0 if that is negative.
    fn min_relu(&mut self, x: Arg, y: Arg) -> Arg {
        let opcode = if self.is_bytes() { Opcode::MinRelu4 } else { Opcode::MinRelu2 };
        self.builder.push(opcode, &[x, y])
    }

    /// The larger of signed lanes, or 0 if that is negative.
    fn max_relu(&mut self, x: Arg, y: Arg) -> Arg {
        let opcode = if self.is_bytes() { Opcode::MaxRelu4 } else { Opcode::MaxRelu2 };
        self.builder.push(opcode, &[x, y])
    }

    /// Signed lanes, or 0 where they are negative.
    fn relu(&mut self, x: Arg) -> Arg {
        self.max(Type::S32, x, word(0))
    }

    /// Sums clamped to the type of both operands.
    fn add_sat(&mut self, ty: Type, x: Arg, y: Arg) -> Arg {
        let opcode = if self.is_bytes() { Opcode::AddSat4(ty) } else { Opcode::AddSat2(ty) };
        self.builder.push(opcode, &[x, y])
    }

    /// Differences clamped to the type of both operands. Before, some bits of the first operand are
    /// flipped; afterwards, some bits of the result.
    fn sub_sat(&mut self, ty: Type, (x, before): (Arg, u32), y: Arg, after: u32) -> Arg {
        if self.is_bytes() {
            let x = self.flipped(x, before);
            let difference = self.builder.push(Opcode::SubSat4(ty), &[x, y]);
            return self.flipped(difference, after);
        }
        if ty == Type::U32 && after == 0 {
            let x = self.flipped(x, before);
            let most = self.max(ty, x, y);
            return self.sub(most, y);
        }
        // The complement of a lane is the lane's limit minus the lane.
        let x = self.flipped(x, !before);
        let sum = self.add_sat(ty, x, y);
        self.flipped(sum, !after)
    }

    fn arithmetic(&mut self, op: SimdOp, x: Arg, y: Arg) -> Option<Arg> {
        let saturated = match self.simd.finish {
            Finish::Saturate(dtype) => Some(dtype),
            Finish::Wrap | Finish::Accumulate => None,
        };
        let (atype, btype) = (self.simd.atype, self.simd.btype);
        let is_same = atype == btype;
        Some(match (op, saturated) {
            (SimdOp::Add, None) => self.add(x, y),
            (SimdOp::Sub, None) => self.sub(x, y),
            (SimdOp::Add, Some(dtype)) => self.saturated_sum(x, y, dtype),
            (SimdOp::Sub, Some(dtype)) => self.saturated_difference(x, y, dtype),
            (SimdOp::Min | SimdOp::Max, _) => self.extreme(op, x, y, saturated),
            (SimdOp::AbsDiff, _) if is_same => self.absdiff(x, y, saturated),
            (SimdOp::AbsDiff, _) => self.mixed_absdiff(x, y, saturated),
            (SimdOp::Avrg, Some(Type::S32)) if [atype, btype] == [Type::U32; 2] => {
                let (average, greatest) = (self.average(x, y), self.greatest());
                self.min(Type::U32, average, greatest)
            }
            (SimdOp::Avrg, Some(Type::U32)) if [atype, btype] == [Type::S32; 2] => {
                // Averages that are not negative are rounded up.
                let average = self.average_up(x, y);
                self.relu(average)
            }
            (SimdOp::Avrg, _) if is_same => self.average(x, y),
            (SimdOp::Avrg, Some(Type::U32)) => {
                // Moved by half the range, signed lanes are unsigned, and averages move by a
                // quarter.
                let (x, y) = self.simd.in_order(x, y);
                let y = self.flipped(y, self.simd.top());
                let quarter = 1 << (self.simd.bits - 2);
                let average = self.unsigned_average(x, y);
                let positive = self.max(Type::U32, average, word(self.simd.each(quarter)));
                self.add(positive, word(self.simd.each((1 << self.simd.bits) - quarter)))
            }
            (SimdOp::Avrg, Some(Type::S32)) => self.saturated_average(x, y),
            // Another strategy computes these averages with as few instructions.
            (SimdOp::Avrg, None) => return None,
        })
    }

    /// The average of an unsigned and a signed lane, clamped to signed lanes.
    fn saturated_average(&mut self, x: Arg, y: Arg) -> Arg {
        let (x, y) = self.simd.in_order(x, y);
        let ones = self.simd.each(1);
        // `up` is 1 where the exact sum is positive. Other odd sums are rounded down.
        let flipped = self.flipped(x, self.simd.top());
        let sum = self.add_sat(Type::S32, flipped, y);
        let sum = self.flipped(sum, self.simd.top());
        let up = self.min(Type::U32, sum, word(ones));
        let half = self.half(x, y);
        let both = self.builder.lop3(flipped, y, up, |x, y, up| (x & y) | ((x | y) & up));
        // `both` is signed, and `half` is not negative: it is larger by a quarter of the range.
        self.add_sat(Type::S32, both, half)
    }

    /// The average of an unsigned and a signed lane, less a quarter of the unsigned range.
    fn mixed_average(&mut self, x: Arg, y: Arg) -> Arg {
        let (x, y) = self.simd.in_order(x, y);
        let x = self.flipped(x, self.simd.top());
        let sum = self.add_sat(Type::S32, x, y);
        // The lowest bit is set where the exact sum is positive, and the top bit always.
        let bits = self.min(Type::S32, sum, word(self.simd.top() | self.simd.each(1)));
        self.signed_average(x, y, bits)
    }

    fn saturated_sum(&mut self, x: Arg, y: Arg, dtype: Type) -> Arg {
        let (atype, btype, top) = (self.simd.atype, self.simd.btype, self.simd.top());
        if atype == btype {
            return match (atype, dtype) {
                (Type::U32, Type::S32) => {
                    let (sum, greatest) = (self.add_sat(atype, x, y), self.greatest());
                    self.min(Type::U32, sum, greatest)
                }
                (Type::S32, Type::U32) if self.is_bytes() => {
                    let negative = self.builder.push(Opcode::SubSat4(atype), &[word(0), x]);
                    let least = self.min(atype, y, negative);
                    self.sub(y, least)
                }
                (Type::S32, Type::U32) => {
                    // The clamped sum has the sign of the exact sum.
                    let sum = self.add_sat(atype, x, y);
                    let negative = self.builder.permute(sum, word(0), spreading(self.simd.bits));
                    let whole = self.add(x, y);
                    self.builder.lop3(whole, negative, negative, |x, m, _| x & !m)
                }
                _ => self.add_sat(atype, x, y),
            };
        }
        let (x, y) = self.simd.in_order(x, y);
        // Moved by half the range, the sum and one operand have the type of the other operand.
        let (x, y, ty) = match dtype {
            Type::U32 => (self.flipped(x, top), y, Type::S32),
            Type::S32 => (x, self.flipped(y, top), Type::U32),
        };
        let sum = self.add_sat(ty, x, y);
        self.flipped(sum, top)
    }

    fn saturated_difference(&mut self, x: Arg, y: Arg, dtype: Type) -> Arg {
        let top = self.simd.top();
        match (dtype, self.simd.atype, self.simd.btype) {
            (dtype, atype, btype) if [atype, btype] == [dtype; 2] => {
                self.sub_sat(dtype, (x, 0), y, 0)
            }
            (Type::U32, Type::S32, Type::S32) => {
                let most = self.max(Type::S32, x, y);
                self.sub(most, y)
            }
            (Type::S32, Type::S32, Type::U32) => self.sub_sat(Type::U32, (x, top), y, top),
            (Type::U32, Type::S32, _) => {
                let x = self.relu(x);
                self.sub_sat(Type::U32, (x, 0), y, 0)
            }
            (Type::S32, _, Type::U32) => {
                let y = self.flipped(y, top);
                self.sub_sat(Type::S32, (x, top), y, 0)
            }
            (Type::U32, _, _) => self.sub_sat(Type::S32, (x, top), y, top),
            (Type::S32, _, _) => {
                // Moved by half the range, the difference is x plus 128 - y, a summand of at least
                // 1.
                let (ones, rest) = (word(self.simd.each(1)), self.flipped(y, !top));
                let rest = self.add_sat(Type::U32, rest, ones);
                let sum = self.add_sat(Type::U32, x, rest);
                self.flipped(sum, top)
            }
        }
    }

    fn extreme(&mut self, op: SimdOp, x: Arg, y: Arg, saturated: Option<Type>) -> Arg {
        let least = op == SimdOp::Min;
        let (x, y, ty) = if self.simd.atype == self.simd.btype {
            (x, y, self.simd.atype)
        } else {
            // A minimum is at most the signed lane, a maximum at least the unsigned lane. The other
            // lane is clamped to the result's type. So is the unsigned lane if the result is
            // clamped.
            let (x, y) = self.simd.in_order(x, y);
            if least || saturated == Some(Type::S32) {
                let greatest = self.greatest();
                (self.min(Type::U32, x, greatest), y, Type::S32)
            } else {
                (x, self.relu(y), Type::U32)
            }
        };
        match (ty, saturated) {
            (Type::S32, Some(Type::U32)) if least => self.min_relu(x, y),
            (Type::S32, Some(Type::U32)) => self.max_relu(x, y),
            (Type::U32, Some(Type::S32)) => {
                let extreme = if least { self.min(ty, x, y) } else { self.max(ty, x, y) };
                let greatest = self.greatest();
                self.min(ty, extreme, greatest)
            }
            _ if least => self.min(ty, x, y),
            _ => self.max(ty, x, y),
        }
    }

    fn absdiff(&mut self, x: Arg, y: Arg, saturated: Option<Type>) -> Arg {
        let ty = self.simd.atype;
        let (most, least) = (self.max(ty, x, y), self.min(ty, x, y));
        if saturated != Some(Type::S32) {
            return self.sub(most, least);
        }
        if ty == Type::S32 && self.is_bytes() {
            return self.sub_sat(ty, (most, 0), least, 0);
        }
        let (difference, greatest) = (self.sub(most, least), self.greatest());
        self.min(Type::U32, difference, greatest)
    }

    /// The larger lanes, which are unsigned, and the smaller ones, which are signed.
    fn mixed_extrema(&mut self, x: Arg, y: Arg) -> (Arg, Arg) {
        let (x, y) = self.simd.in_order(x, y);
        let (positive, greatest) = (self.relu(y), self.greatest());
        let small = self.min(Type::U32, x, greatest);
        (self.max(Type::U32, x, positive), self.min(Type::S32, small, y))
    }

    fn mixed_absdiff(&mut self, x: Arg, y: Arg, saturated: Option<Type>) -> Arg {
        let Some(dtype) = saturated else {
            let (most, least) = self.mixed_extrema(x, y);
            return self.sub(most, least);
        };
        let (x, y) = self.simd.in_order(x, y);
        let positive = self.relu(y);
        // One of the two differences is 0.
        let less = self.sub_sat(Type::U32, (positive, 0), x, 0);
        let more = self.sub_sat(Type::S32, (x, self.simd.top()), y, self.simd.top());
        let amount = self.builder.or(less, more);
        if dtype == Type::U32 {
            return amount;
        }
        let greatest = self.greatest();
        self.min(Type::U32, amount, greatest)
    }

    /// Half of the bits that exactly one operand has. Together with the bits that both operands
    /// have, this makes half of a sum: x + y = 2 (x & y) + (x ^ y).
    fn half(&mut self, x: Arg, y: Arg) -> Arg {
        let ones = word(self.simd.each(1));
        let differ = self.builder.lop3(x, y, ones, |x, y, one| (x ^ y) & !one);
        self.builder.push(Opcode::Shr(Type::U32), &[differ, word(1)])
    }

    /// The average of lanes of one type, rounded up where it is not negative.
    fn average(&mut self, x: Arg, y: Arg) -> Arg {
        if self.simd.atype == Type::U32 {
            return self.unsigned_average(x, y);
        }
        // The sum has its sign after clamping, too.
        let sum = self.add_sat(Type::S32, x, y);
        let least = word(self.simd.top() | self.simd.each(1));
        let limited = self.add_sat(Type::S32, sum, least);
        let bits = self.min(Type::S32, limited, least);
        self.signed_average(x, y, bits)
    }

    /// The average of unsigned lanes, rounded up.
    fn unsigned_average(&mut self, x: Arg, y: Arg) -> Arg {
        // An odd sum adds its 1 to an even (x & y).
        let (half, ones) = (self.half(x, y), word(self.simd.each(1)));
        let both = self.builder.lop3(x, y, ones, |x, y, one| (x & y) | ((x ^ y) & one));
        self.builder.add(both, half)
    }

    /// The average of signed lanes, rounded up.
    fn average_up(&mut self, x: Arg, y: Arg) -> Arg {
        self.signed_average(x, y, word(self.simd.top() | self.simd.each(1)))
    }

    /// The average of signed lanes, rounded up where the lowest bit of `bits` is set. The top bit
    /// of `bits` is always set, so a negative operand sets the top bit of `both`: half of the
    /// operand is negative, too.
    fn signed_average(&mut self, x: Arg, y: Arg, bits: Arg) -> Arg {
        let half = self.half(x, y);
        let both = self.builder.lop3(x, y, bits, |x, y, bit| (x & y) | ((x | y) & bit));
        self.add(both, half)
    }

    /// 1 in each lane where a comparison holds, if the lane's bit of `ones` is set.
    fn flags(&mut self, compare: Compare, x: Arg, y: Arg, ones: u32) -> Arg {
        let (atype, btype, top) = (self.simd.atype, self.simd.btype, self.simd.top());
        let is_same = atype == btype;
        let Some(order) = Order::of(compare) else {
            let differ = if is_same {
                self.builder.xor(x, y)
            } else {
                // Lanes with a top bit differ anyway.
                self.builder.lop3(x, y, word(top), |x, y, h| (x ^ y) | (x & h))
            };
            return self.not_zero(differ, compare == Compare::Eq, ones);
        };
        let (x, y, types) = self.ordered(order, x, y);
        let is_shorter = !self.is_bytes() && !is_same || types == [Type::S32, Type::U32];
        if is_shorter {
            let less = self.less(types, x, y, order.is_negated);
            let bits = self.builder.push(Opcode::Shr(Type::U32), &[less, word(self.simd.bits - 1)]);
            return self.builder.and(bits, word(ones));
        }
        let more = match types {
            [Type::S32, _] if self.is_bytes() => {
                let more = self.sub_sat(Type::S32, (y, 0), x, 0);
                let flags = self.min_relu(more, word(ones));
                return if order.is_negated { self.flipped(flags, ones) } else { flags };
            }
            [Type::S32, _] => {
                let most = self.max(Type::S32, x, y);
                self.sub(most, x)
            }
            [Type::U32, Type::S32] => {
                let y = self.relu(y);
                self.sub_sat(Type::U32, (y, 0), x, 0)
            }
            [Type::U32, _] => self.sub_sat(Type::U32, (y, 0), x, 0),
        };
        self.not_zero(more, order.is_negated, ones)
    }

    /// The operands of the `<` that decides a comparison, and their types.
    fn ordered(&self, order: Order, x: Arg, y: Arg) -> (Arg, Arg, [Type; 2]) {
        let (x, y) = order.of_operands(x, y);
        let [atype, btype] = [self.simd.atype, self.simd.btype];
        (x, y, if order.is_swapped { [btype, atype] } else { [atype, btype] })
    }

    /// 1 in each lane that is not 0 or, if negated, that is 0, if the lane's bit of `ones` is set.
    fn not_zero(&mut self, lanes: Arg, is_negated: bool, ones: u32) -> Arg {
        if is_negated && self.is_bytes() {
            return self.sub_sat(Type::U32, (word(ones), 0), lanes, 0);
        }
        let flags = self.min(Type::U32, lanes, word(ones));
        if is_negated { self.flipped(flags, ones) } else { flags }
    }

    /// `c` plus the number of lanes where a comparison holds.
    fn number(&mut self, compare: Compare, x: Arg, y: Arg) -> Arg {
        let counts = self.slots.counts();
        let is_once = counts.iter().all(|count| *count <= 1);
        if let Some(order) = Order::of(compare) {
            let (x, y, types) = self.ordered(order, x, y);
            // Flags of other bytes take no more instructions.
            if !(is_once && self.is_bytes()) || types == [Type::S32, Type::U32] {
                let less = self.less(types, x, y, order.is_negated);
                let signs = self.signs(less);
                return self.squares(Type::S32, signs);
            }
        }
        let flags = self.flags(compare, x, y, self.counted(1));
        if !is_once {
            return self.dot(flags, Type::U32, counts, self.inputs[2]);
        }
        self.squares(Type::U32, flags)
    }

    /// `c` plus the number of bytes that are 1 or -1. The others are 0.
    fn squares(&mut self, ty: Type, flags: Arg) -> Arg {
        self.builder.push(Opcode::Dot4(ty, ty), &[flags, flags, self.inputs[2]])
    }

    /// `bits` in every lane that is counted.
    fn counted(&self, bits: u32) -> u32 {
        let counts = self.slots.counts();
        let counted = (0..self.simd.lanes()).filter(|at| counts[*at as usize] > 0);
        counted.fold(0, |all, at| all | bits << (at * self.simd.bits))
    }

    /// Lanes whose top bit tells whether `x < y` or, if negated, whether `x >= y`.
    fn less(&mut self, types: [Type; 2], x: Arg, y: Arg, is_negated: bool) -> Arg {
        // The sign of the difference, unless the top bits tell already.
        let (u, v, sign) = (0xf0_u8, 0xcc_u8, 0xaa_u8);
        let table = match types {
            [Type::S32, Type::U32] => u | v | sign,
            [Type::U32, Type::S32] => !u & !v & sign,
            [Type::U32, _] => !u & v | !(u ^ v) & sign,
            [Type::S32, _] => u & !v | !(u ^ v) & sign,
        };
        let difference = self.sub(x, y);
        let table = if is_negated { !table } else { table };
        self.builder.push(Opcode::Lop3(table), &[x, y, difference])
    }

    /// A word of bytes that are 0 or -1. A lane that is counted n times has n bytes, which are -1 if
    /// the lane is negative. One of them is the lane's own byte.
    fn signs(&mut self, lanes: Arg) -> Arg {
        const ZERO: u32 = 4;
        let (counts, width) = (self.slots.counts(), self.simd.bits / 8);
        let sign = |at: usize| 8 + (at as u32 + 1) * width - 1;
        let more = |at: usize| iter::repeat_n(sign(at), (counts[at] as usize).saturating_sub(1));
        let mut more = (0..4).flat_map(more);
        let selector = (0..4).fold(0, |all, at| {
            let byte = if counts[at] > 0 { sign(at) } else { more.next().unwrap_or(ZERO) };
            all | byte << (4 * at)
        });
        self.builder.permute(lanes, word(0), selector)
    }

    /// `sum` plus the lanes, each times its count.
    fn dot(&mut self, lanes: Arg, ty: Type, counts: [i32; 4], sum: Arg) -> Arg {
        let dot = if self.is_bytes() { Opcode::Dot4 } else { Opcode::Dot2 };
        self.builder.push(dot(ty, Type::S32), &[lanes, word(bytes(counts)), sum])
    }

    /// `c` plus the results of the lanes in the mask.
    fn sum_of(&mut self, op: SimdOp, x: Arg, y: Arg) -> Option<Arg> {
        let (counts, c) = (self.slots.counts(), self.inputs[2]);
        let (atype, is_same) = (self.simd.atype, self.simd.atype == self.simd.btype);
        let is_once = self.is_bytes() && counts.iter().all(|count| *count <= 1);
        if op == SimdOp::AbsDiff && !is_same {
            // The differences have nine bits.
            if is_once {
                return Some(self.sum_of_distances(x, y));
            }
            let (most, least) = self.mixed_extrema(x, y);
            let less = counts.map(|count| -count);
            return Some(self.two_dots([(most, Type::U32, counts), (least, Type::S32, less)]));
        }
        if op == SimdOp::Avrg && is_once && [atype, self.simd.btype] != [Type::U32; 2] {
            return Some(self.sum_of_averages(x, y));
        }
        if op == SimdOp::Avrg && !is_same {
            let averages = self.mixed_average(x, y);
            let lanes: i32 = counts.iter().sum();
            let moved = self.builder.add(c, word((lanes << (self.simd.bits - 2)) as u32));
            return Some(self.dot(averages, Type::S32, counts, moved));
        }
        let ty = match op {
            SimdOp::AbsDiff => Type::U32,
            SimdOp::Min if !is_same => Type::S32,
            SimdOp::Max if !is_same => Type::U32,
            _ => atype,
        };
        let results = self.arithmetic(op, x, y)?;
        Some(self.dot(results, ty, counts, c))
    }

    /// `c` plus the distances of unsigned and signed bytes: unsigned less signed, or the opposite
    /// where the unsigned byte is the smaller one.
    fn sum_of_distances(&mut self, x: Arg, y: Arg) -> Arg {
        let (x, y) = self.simd.in_order(x, y);
        let less = self.less([Type::U32, Type::S32], x, y, false);
        let signs = self.signs(less);
        // 1 or -1
        let sign = self.builder.or(signs, word(self.counted(1)));
        let opposite = self.sub(word(0), sign);
        let dot = |ty| Opcode::Dot4(ty, Type::S32);
        let sum = self.builder.push(dot(Type::U32), &[x, sign, self.inputs[2]]);
        self.builder.push(dot(Type::S32), &[y, opposite, sum])
    }

    /// `c` plus averages of bytes, of which one at least is signed. Twice an average is the sum if
    /// that is even, or else one more or one less, whichever is farther from 0.
    fn sum_of_averages(&mut self, x: Arg, y: Arg) -> Arg {
        const SHIFT: u32 = 7;
        let (top, half) = (word(self.simd.top()), word(self.counted(1 << (SHIFT - 1))));
        let (atype, btype) = (self.simd.atype, self.simd.btype);
        let signs = if atype == btype {
            let sum = self.add_sat(Type::S32, x, y);
            self.builder.lop3(sum, top, half, |sum, top, half| sum & top | half)
        } else {
            // Moved by half the range, the sum has a top bit unless it is negative.
            let (x, y) = self.simd.in_order(x, y);
            let y = self.flipped(y, self.simd.top());
            let sum = self.add_sat(Type::U32, x, y);
            self.builder.lop3(sum, top, half, |sum, top, half| !sum & top | half)
        };
        let odd = word(self.counted(1));
        let odd = self.builder.lop3(x, y, odd, |x, y, one| (x ^ y) & one);
        let terms = [(x, atype, half), (y, btype, half), (odd, Type::U32, signs)];
        let sum = terms.into_iter().fold(word(0), |sum, (x, ty, y)| {
            self.builder.push(Opcode::Dot4(ty, Type::S32), &[x, y, sum])
        });
        let sum = self.builder.push(Opcode::Shr(Type::S32), &[sum, word(SHIFT)]);
        self.builder.add(self.inputs[2], sum)
    }

    /// `c` plus the lanes of two words, each lane times its count.
    fn two_dots(&mut self, terms: [(Arg, Type, [i32; 4]); 2]) -> Arg {
        let c = self.inputs[2];
        if self.is_bytes() {
            return terms.into_iter().fold(c, |sum, (x, ty, counts)| self.dot(x, ty, counts, sum));
        }
        // The weights of both are halves of one constant.
        let [(x, xtype, [a, b, ..]), (y, ytype, [c0, d0, ..])] = terms;
        let weights = word(bytes([a, b, c0, d0]));
        let sum = self.builder.push(Opcode::Dot2(xtype, Type::S32), &[x, weights, c]);
        self.builder.push(Opcode::Dot2High(ytype, Type::S32), &[y, weights, sum])
    }

    /// `c` plus sums or differences. Each operand is added by itself: from the registers that hold
    /// its lanes, if these are at most two words.
    fn sums(&mut self, op: SimdOp) -> Arg {
        let (count, counts) = (self.simd.lanes() as usize, self.slots.counts());
        let types = [self.simd.atype, self.simd.btype];
        let signs = [1, if op == SimdOp::Sub { -1 } else { 1 }];
        let mut terms: Vec<(Arg, Type, [i32; 4])> = Vec::new();
        for source in [0, 1] {
            for (at, lane) in self.slots.lanes(source) {
                let (arg, ty) = (self.inputs[lane / count], types[source]);
                let place = terms.iter().position(|term| (term.0, term.1) == (arg, ty));
                let place = place.unwrap_or_else(|| {
                    terms.push((arg, ty, [0; 4]));
                    terms.len() - 1
                });
                terms[place].2[lane % count] += signs[source] * counts[at];
            }
        }
        if terms.len() > 2 {
            terms = [0, 1]
                .map(|source| {
                    let counts = counts.map(|count| signs[source] * count);
                    (self.source(source), types[source], counts)
                })
                .into();
        }
        terms.retain(|(_, _, counts)| *counts != [0; 4]);
        let c = self.inputs[2];
        if let [first, second] = terms[..] {
            return self.two_dots([first, second]);
        }
        terms.into_iter().fold(c, |sum, (arg, ty, counts)| self.dot(arg, ty, counts, sum))
    }
}
