//! Computes SIMD instructions on two byte lanes at a time, each in a half of a word.
//!
//! Sums, differences and averages of bytes do not leave a half, and minima and maxima of halves
//! are one machine instruction (`sm_90`). A `prmt` gathers any two lanes, so selectors cost
//! nothing. Lanes with the same operands are computed once.

use super::parallel::{Finish, LaneOperation, Order, Simd};
use super::sequence::{Arg, Builder, Opcode, Sequence, word};
use crate::ir::Range;
use crate::isa::{Compare, Type};
use crate::video::{Operation, SimdOp};

/// A 1 in each half.
const ONES: u32 = 0x1_0001;
/// The number of a zero byte in a `prmt` of a register and 0.
const ZERO: u32 = 4;
/// The number of a half's low byte plus this is the number of copies of the half's sign.
const SIGN: u32 = 1 + 8;

/// The bytes in the halves of a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Filling {
    /// Each half is its byte, read as its type.
    Exact,
    /// Both bytes of a half are the same. Such halves compare as their bytes do.
    Copies,
}

struct Pairs {
    builder: Builder,
    inputs: [Arg; 3],
    simd: Simd,
    filling: Filling,
    /// The different lanes of `a` and `b` that are combined. Two make a pair.
    distinct: Vec<(u8, u8)>,
    /// The number of the result for each lane in the mask.
    places: [Option<u32>; 4],
}

/// A sequence for an instruction with at least two different lanes of bytes.
pub(super) fn compile(operation: &Operation, inputs: [Arg; 3]) -> Option<Sequence> {
    let simd = Simd::new(operation)?;
    if simd.bits != 8 || is_left_out(&simd) {
        return None;
    }
    let mut distinct: Vec<(u8, u8)> = Vec::new();
    let mut places = [None; 4];
    for (lane, a, b) in operation.simd()?.lanes.written() {
        let place = distinct.iter().position(|other| *other == (a, b)).unwrap_or_else(|| {
            distinct.push((a, b));
            distinct.len() - 1
        });
        places[lane] = Some(place as u32);
    }
    if distinct.len() < 2 {
        return None;
    }
    let filling = filling(&simd);
    let mut pairs = Pairs { builder: Builder::default(), inputs, simd, filling, distinct, places };
    let result = pairs.compute()?;
    Some(pairs.builder.finish(result))
}

/// Whether other strategies add results with fewer instructions, or pairs cannot hold the results.
fn is_left_out(simd: &Simd) -> bool {
    simd.finish == Finish::Accumulate
        && match simd.kind {
            LaneOperation::Arithmetic(SimdOp::Add | SimdOp::Sub) => true,
            // An average of nine bits is shifted out of its half.
            LaneOperation::Arithmetic(SimdOp::Avrg) => simd.atype != simd.btype,
            _ => false,
        }
}

/// `Copies` where only the order or the low byte of halves counts: copies need no zeros.
fn filling(simd: &Simd) -> Filling {
    let same = simd.atype == simd.btype;
    let copies = match (simd.kind, simd.finish) {
        (LaneOperation::Arithmetic(SimdOp::Min | SimdOp::Max), _) => same,
        (LaneOperation::Arithmetic(SimdOp::AbsDiff), _) => same && simd.atype == Type::U32,
        (LaneOperation::Arithmetic(SimdOp::Add | SimdOp::Sub), finish) => finish == Finish::Wrap,
        (LaneOperation::Arithmetic(SimdOp::Avrg), _) => false,
        (LaneOperation::Set(compare), _) => same && matches!(compare, Compare::Eq | Compare::Ne),
    };
    if copies { Filling::Copies } else { Filling::Exact }
}

/// The range of a byte of a type.
fn byte(ty: Type) -> Range {
    Range::bits(8, ty == Type::S32)
}

impl Pairs {
    fn compute(&mut self) -> Option<Arg> {
        if let (LaneOperation::Set(compare), Finish::Accumulate) =
            (self.simd.kind, self.simd.finish)
            && let Some(order) = Order::of(compare)
        {
            return self.number(order);
        }
        let mut words = Vec::new();
        for [x, y] in self.operands() {
            words.push(match self.simd.kind {
                LaneOperation::Set(compare) => self.flags(compare, x, y),
                LaneOperation::Arithmetic(op) => self.arithmetic(op, x, y),
            });
        }
        Some(match self.simd.finish {
            Finish::Accumulate => self.total(&words),
            Finish::Wrap | Finish::Saturate(_) => self.merged(&words),
        })
    }

    /// Both operands of each pair.
    fn operands(&mut self) -> Vec<[Arg; 2]> {
        let (atype, btype) = (self.simd.atype, self.simd.btype);
        let pairs: Vec<_> =
            self.distinct.chunks(2).map(|pair| (pair[0], pair[pair.len() - 1])).collect();
        let both = |(low, high): ((u8, u8), (u8, u8))| {
            [self.gathered(low.0, high.0, atype), self.gathered(low.1, high.1, btype)]
        };
        pairs.into_iter().map(both).collect()
    }

    /// Two lanes in the halves of a word.
    fn gathered(&mut self, low: u8, high: u8, ty: Type) -> Arg {
        let (low, high) = (u32::from(low), u32::from(high));
        // With its top bit, the number of a byte stands for copies of its sign.
        let fill = match (self.filling, ty) {
            (Filling::Exact, Type::S32) => 8,
            _ => 0,
        };
        let is_filled = self.filling == Filling::Exact && ty == Type::U32;
        let of = |byte: u32| byte | (byte | fill) << 4;
        if low / 4 == high / 4 {
            let register = self.inputs[(low / 4) as usize];
            let (low, high) = (low % 4, high % 4);
            let of = |byte: u32| if is_filled { byte | ZERO << 4 } else { of(byte) };
            return self.builder.permute(register, word(0), of(low) | of(high) << 8);
        }
        let halves = of(low) | of(high) << 8;
        let halves = self.builder.permute(self.inputs[0], self.inputs[1], halves);
        if is_filled { self.builder.and(halves, word(0xff_00ff)) } else { halves }
    }

    /// The range of the results of two bytes, before clamping.
    fn range(&self) -> Range {
        let (a, b) = (byte(self.simd.atype), byte(self.simd.btype));
        match self.simd.kind {
            LaneOperation::Set(_) => Range::new(0, 1),
            LaneOperation::Arithmetic(op) => match op {
                SimdOp::Add => a.plus(b),
                SimdOp::Sub => a.minus(b),
                // The greatest sum is even.
                SimdOp::Avrg => Range::new(a.plus(b).min >> 1, a.plus(b).max >> 1),
                SimdOp::AbsDiff => Range::new(0, a.minus(b).max.max(b.minus(a).max)),
                SimdOp::Min => a.least(b),
                SimdOp::Max => a.greatest(b),
            },
        }
    }

    /// The results of a pair, clamped if the instruction saturates.
    fn arithmetic(&mut self, op: SimdOp, x: Arg, y: Arg) -> Arg {
        let ty = match self.filling {
            Filling::Exact => Type::S32,
            Filling::Copies => self.simd.atype,
        };
        let is_exact = self.filling == Filling::Exact;
        let is_unsigned = [self.simd.atype, self.simd.btype] == [Type::U32; 2];
        let result = match op {
            SimdOp::Min => self.builder.push(Opcode::Min2(ty), &[x, y]),
            SimdOp::Max => self.builder.push(Opcode::Max2(ty), &[x, y]),
            SimdOp::AbsDiff => {
                let most = self.builder.push(Opcode::Max2(ty), &[x, y]);
                let least = self.builder.push(Opcode::Min2(ty), &[x, y]);
                self.builder.sub2(most, least)
            }
            SimdOp::Sub => self.builder.sub2(x, y),
            // These sums do not leave their halves.
            SimdOp::Add | SimdOp::Avrg if is_exact && is_unsigned => self.builder.add(x, y),
            SimdOp::Add | SimdOp::Avrg => self.builder.push(Opcode::Add2, &[x, y]),
        };
        if op != SimdOp::Avrg {
            return self.clamped(result, ty, 1);
        }
        // An average is rounded up where the sum is not negative.
        let up = if is_unsigned {
            word(ONES)
        } else {
            let signs = self.builder.push(Opcode::Shr(Type::U32), &[result, word(15)]);
            self.not_negative(signs)
        };
        let doubled = self.builder.add(result, up);
        let doubled = self.clamped(doubled, ty, 2);
        self.builder.push(Opcode::Shr(Type::U32), &[doubled, word(1)])
    }

    /// Multiples of results clamped to the destination type.
    fn clamped(&mut self, mut halves: Arg, ty: Type, factor: i128) -> Arg {
        let Finish::Saturate(dtype) = self.simd.finish else {
            return halves;
        };
        let (own, to) = (self.range(), byte(dtype));
        let filling = self.filling;
        let constant = |value: i128| match filling {
            Filling::Exact => word((value as u32 & 0xffff) * ONES),
            Filling::Copies => word((value as u32 & 0xff) * 0x101_0101),
        };
        if own.max > to.max {
            halves = self.builder.push(Opcode::Min2(ty), &[halves, constant(to.max * factor)]);
        }
        if own.min < to.min {
            halves = self.builder.push(Opcode::Max2(ty), &[halves, constant(to.min * factor)]);
        }
        halves
    }

    /// A comparison of a pair as 1 or 0 each.
    fn flags(&mut self, compare: Compare, x: Arg, y: Arg) -> Arg {
        let Some(order) = Order::of(compare) else {
            let differ = self.builder.xor(x, y);
            let flags = self.builder.push(Opcode::Min2(Type::U32), &[differ, word(ONES)]);
            return if compare == Compare::Ne {
                flags
            } else {
                self.builder.xor(flags, word(ONES))
            };
        };
        let (x, y) = order.of_operands(x, y);
        let difference = self.builder.sub2(x, y);
        let signs = self.builder.push(Opcode::Shr(Type::U32), &[difference, word(15)]);
        if order.is_negated {
            self.not_negative(signs)
        } else {
            self.builder.and(signs, word(ONES))
        }
    }

    /// 1 in each half whose lowest bit is not set.
    fn not_negative(&mut self, signs: Arg) -> Arg {
        // A constant that stands twice would be moved into a register.
        self.builder.lop3(signs, word(ONES), signs, |sign, one, _| !sign & one)
    }

    /// `c` plus the number of lanes where an order holds.
    fn number(&mut self, order: Order) -> Option<Arg> {
        // Two words of results leave no 0 for the lanes outside the mask.
        if self.distinct.len() > 2 && !self.simd.is_full() {
            return None;
        }
        let mut words = Vec::new();
        for [x, y] in self.operands() {
            let (x, y) = order.of_operands(x, y);
            // The words are negative where the order holds: y - x - 1 is negative where x < y does
            // not.
            words.push(if order.is_negated {
                let complement = self.builder.push(Opcode::Not, &[x]);
                self.builder.push(Opcode::Add2, &[y, complement])
            } else {
                self.builder.sub2(x, y)
            });
        }
        let signs = self.bytes(&words, SIGN, |_| ZERO);
        let args = [signs, signs, self.inputs[2]];
        Some(self.builder.push(Opcode::Dot4(Type::S32, Type::S32), &args))
    }

    /// A byte of each result in the places of its lanes: the low byte for 0, copies of the sign for
    /// [`SIGN`]. `other` numbers the bytes in the other places, as in a `prmt`.
    fn bytes(&mut self, words: &[Arg], byte: u32, other: impl Fn(u32) -> u32) -> Arg {
        let places = (0..).zip(self.places);
        let selector = places.fold(0, |all, (lane, place)| {
            all | place.map_or_else(|| other(lane), |place| 2 * place + byte) << (4 * lane)
        });
        let second = words.get(1).copied().unwrap_or(word(0));
        self.builder.permute(words[0], second, selector)
    }

    /// The low bytes of the results, and those of `c` outside the mask.
    fn merged(&mut self, words: &[Arg]) -> Arg {
        let c = self.inputs[2];
        match words {
            [pair] if !self.simd.is_full() => self.bytes(&[*pair, c], 0, |lane| 4 + lane),
            _ => {
                let lanes = self.bytes(words, 0, |_| 0);
                self.simd.merged(&mut self.builder, lanes, c)
            }
        }
    }

    /// `c` plus the results of the lanes in the mask.
    fn total(&mut self, words: &[Arg]) -> Arg {
        let c = self.inputs[2];
        let range = self.range();
        let ty = if range.min < 0 { Type::S32 } else { Type::U32 };
        let mut counts = [0u32; 4];
        for place in self.places.into_iter().flatten() {
            counts[place as usize] += 1;
        }
        let is_byte = range.max <= byte(ty).max;
        match *words {
            [pair] if is_byte => {
                let weights = word(counts[0] | counts[1] << 16);
                self.builder.push(Opcode::Dot4(ty, Type::U32), &[pair, weights, c])
            }
            _ if is_byte => {
                let lanes = self.bytes(words, 0, |_| 0);
                let weights = word(self.simd.weights(1));
                self.builder.push(Opcode::Dot4(ty, Type::U32), &[lanes, weights, c])
            }
            _ => {
                let weights = word(u32::from_le_bytes(counts.map(|count| count as u8)));
                let dots = [Opcode::Dot2(ty, Type::U32), Opcode::Dot2High(ty, Type::U32)];
                let pairs = words.iter().zip(dots);
                pairs.fold(c, |sum, (pair, dot)| self.builder.push(dot, &[*pair, weights, sum]))
            }
        }
    }
}
