//! Compiles steps on bytes to instructions on halves as floating-point numbers.
//!
//! The bits of a half below 2^-13 are the half's multiple of 2^-24. So sums, minima and maxima of
//! such halves are those of integers up to 2047; a negative half has a sign and a magnitude. A sum
//! limited to zero costs no more than another sum, so a limit is zero where possible.

use super::super::super::sequence::{Arg, Opcode, word};
use super::super::layout::{Floats, LaneWords, Layout, is_signed};
use super::super::{Action, Kind};
use super::{Form, LaneValue, NamedRegister, Steps, range};
use crate::ir::Range;
use crate::isa::Type;
use crate::video::SimdOp;

/// How a half holds a number: as `bias + number`, or as `bias - number`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    bias: i128,
    is_negated: bool,
}

impl Shape {
    const PLAIN: Shape = Shape { bias: 0, is_negated: false };

    /// The shape in which the least number of a type is zero.
    fn from_least(ty: Type) -> Shape {
        Shape { bias: -lane(ty).min, is_negated: false }
    }

    /// The shape in which the largest number of a type is zero.
    fn from_most(ty: Type) -> Shape {
        Shape { bias: lane(ty).max, is_negated: true }
    }

    /// The half for a number.
    fn half(self, number: i128) -> i128 {
        if self.is_negated { self.bias - number } else { self.bias + number }
    }

    /// The range of halves for numbers in a range.
    pub(super) fn halves(self, numbers: Range) -> Range {
        let [one, other] = [numbers.min, numbers.max].map(|number| self.half(number));
        Range::new(one.min(other), one.max(other))
    }

    /// The numbers in a range whose halves are not below zero.
    fn above_zero(self, numbers: Range) -> Range {
        if self.is_negated {
            Range::new(numbers.min, numbers.max.min(self.bias))
        } else {
            Range::new(numbers.min.max(-self.bias), numbers.max)
        }
    }

    /// For halves that are not negative: the bits in which the low byte of a half differs from the
    /// low byte of its number, repeated in four bytes.
    pub(super) fn flipped(self) -> Option<u32> {
        let byte = match (self.is_negated, self.bias & 0xff) {
            (false, bias @ (0 | 0x80)) | (true, bias @ (0x7f | 0xff)) => bias as u32,
            _ => return None,
        };
        Some(byte * 0x0101_0101)
    }
}

/// Bytes in halves.
#[derive(Clone, Copy, Debug)]
pub(super) struct Numbers {
    pub(super) words: LaneWords,
    pub(super) shape: Shape,
    /// The range of the numbers. Each number has the low bits of a lane.
    pub(super) range: Range,
    /// The type to whose range the numbers are still to be limited.
    pub(super) limit: Option<Type>,
}

/// A register that a step reads, as bytes of a type.
#[derive(Clone, Copy)]
struct Source {
    name: usize,
    ty: Type,
    value: Bytes,
}

#[derive(Clone, Copy)]
enum Bytes {
    Packed(Arg),
    Numbers(Numbers),
}

impl Source {
    fn range(self) -> Range {
        match self.value {
            Bytes::Packed(_) => lane(self.ty),
            Bytes::Numbers(numbers) => numbers.range,
        }
    }
}

/// A shape that a source's numbers may have, and the machine instructions that bring them into this
/// shape, in all [`ITERATIONS`] of a loop.
type Choice = (Shape, u32);

/// The iterations of a loop that costs are counted for. Lines before the loop count once.
const ITERATIONS: u32 = 16;

/// A sum or difference of numbers in these shapes.
#[derive(Clone, Copy)]
struct Sum {
    from: [Shape; 2],
    shape: Shape,
    /// Whether halves are added.
    adds: bool,
    /// Whether the first numbers are subtracted from the second numbers.
    is_reversed: bool,
}

impl Sum {
    fn of(op: SimdOp, from: [Shape; 2], is_reversed: bool) -> Sum {
        let [x, y] = from;
        let adds = (op == SimdOp::Sub) == (x.is_negated != y.is_negated);
        let is_reversed = is_reversed && !adds;
        let bias = if adds { x.bias + y.bias } else { x.bias - y.bias };
        let shape = if is_reversed {
            Shape { bias: -bias, is_negated: !x.is_negated }
        } else {
            Shape { bias, is_negated: x.is_negated }
        };
        Sum { from, shape, adds, is_reversed }
    }
}

/// An instruction for each of two words, in each iteration.
const EACH: u32 = 2 * ITERATIONS;

fn lane(ty: Type) -> Range {
    Layout::Halves.lane(ty)
}

/// Whether halves hold numbers in a range exactly, in a shape and in the shapes that the numbers
/// may be converted to from there.
fn is_exact(shape: Shape, range: Range) -> bool {
    Range::new(-512, 1020).contains_range(range) && shape.bias.abs() <= 765
}

/// A number in both halves.
fn halves(number: i128) -> Arg {
    let sign = if number < 0 { 0x8000 } else { 0 };
    word((number.unsigned_abs() as u32 | sign) * 0x0001_0001)
}

/// The opcode of sums or differences, limited to zero or not.
fn sums(adds: bool, is_limited: bool) -> Opcode {
    match (adds, is_limited) {
        (true, false) => Opcode::AddFloat2,
        (false, false) => Opcode::SubFloat2,
        (true, true) => Opcode::AddSatFloat2,
        (false, true) => Opcode::SubSatFloat2,
    }
}

/// The bit of a type and a shape in [`LaneValue::shapes`].
fn bit(ty: Type, shape: Shape) -> u8 {
    let shapes = [Shape::from_least(ty), Shape::from_most(ty)];
    let kind = shapes.iter().position(|it| *it == shape).unwrap_or(shapes.len());
    1 << (3 * usize::from(is_signed(ty)) + kind)
}

impl Steps<'_> {
    pub(super) fn compute_floats(&mut self, floats: Floats, kind: Kind, names: [usize; 2]) -> Form {
        let Kind { action, types: [atype, btype] } = kind;
        let [a, b] = names;
        let numbers = match action {
            Action::Less { is_swapped, is_negated } => {
                let sources = [self.settled(floats, a, atype), self.settled(floats, b, btype)];
                let [x, y] = self.alike(sources);
                let is_swapped = is_swapped != x.shape.is_negated;
                let (x, y) = if is_swapped { (y, x) } else { (x, y) };
                let words = self.words(SimdOp::Sub, x.words, y.words);
                return Form::Signs { words, is_negated };
            }
            Action::Arithmetic { op: op @ (SimdOp::Min | SimdOp::Max), dtype, saturate } => {
                // Limiting all numbers keeps their order, so limiting can wait.
                let limit = self.common_limit([(a, atype), (b, btype)]);
                let limit = limit.filter(|ty| !saturate || dtype == *ty);
                let sources = match limit {
                    Some(ty) => names.map(|name| self.unlimited_bytes(floats, name, ty)),
                    None => [self.settled(floats, a, atype), self.settled(floats, b, btype)],
                };
                let [x, y] = self.alike(sources);
                let words = self.extrema(floats, op, x, y);
                let limit = limit.or(saturate.then_some(dtype));
                Numbers { words, shape: x.shape, range: range(op, x.range, y.range), limit }
            }
            Action::Arithmetic { op, dtype, saturate: true } => {
                let sources = [self.settled(floats, a, atype), self.settled(floats, b, btype)];
                self.saturated(floats, op, dtype, sources)
            }
            Action::Arithmetic { op, .. } => self.wrapped(floats, op, names),
        };
        let limit = numbers.limit.filter(|ty| !lane(*ty).contains_range(numbers.range));
        Form::Floats(Numbers { limit, ..numbers })
    }

    /// Minima or maxima of numbers of one shape.
    fn extrema(&mut self, floats: Floats, op: SimdOp, x: Numbers, y: Numbers) -> LaneWords {
        let is_max = (op == SimdOp::Max) != x.shape.is_negated;
        let (x, y) = (x.words, y.words);
        match (floats.has_extrema, is_max) {
            (true, true) => self.words(SimdOp::Max, x, y),
            (true, false) => self.words(SimdOp::Min, x, y),
            (false, _) => {
                let above = self.each(Opcode::SubSatFloat2, x, y);
                if is_max {
                    self.words(SimdOp::Add, above, y)
                } else {
                    self.words(SimdOp::Sub, x, above)
                }
            }
        }
    }

    fn saturated(
        &mut self,
        floats: Floats,
        op: SimdOp,
        dtype: Type,
        sources: [Source; 2],
    ) -> Numbers {
        let [x, y] = sources.map(Source::range);
        let (range, lane) = (range(op, x, y), lane(dtype));
        let zero = if range.min < lane.min {
            Some(Shape::from_least(dtype))
        } else {
            (range.max > lane.max && floats.complements).then(|| Shape::from_most(dtype))
        };
        let sum = self.choose(op, sources, range, zero);
        let is_limited = zero == Some(sum.shape);
        let words = self.sum(sources, sum, is_limited);
        let numbers = Numbers { words, shape: sum.shape, range, limit: Some(dtype) };
        match zero {
            Some(_) if is_limited => Numbers { range: sum.shape.above_zero(range), ..numbers },
            Some(shape) => self.limited_to_zero(numbers, shape),
            None => numbers,
        }
    }

    /// A sum or difference of which only the low byte matters.
    fn wrapped(&mut self, floats: Floats, op: SimdOp, names: [usize; 2]) -> Numbers {
        let ty = Type::U32;
        let mut sources = names.map(|name| self.low_bytes(floats, name, ty));
        let whole = |sources: [Source; 2]| {
            let [x, y] = sources.map(Source::range);
            range(op, x, y)
        };
        let mut sum = self.choose(op, sources, whole(sources), None);
        if !is_exact(sum.shape, whole(sources)) {
            sources = names.map(|name| self.settled(floats, name, ty));
            sum = self.choose(op, sources, whole(sources), None);
        }
        let words = self.sum(sources, sum, false);
        Numbers { words, shape: sum.shape, range: whole(sources), limit: None }
    }

    /// The sum or difference in a range that takes the fewest machine instructions, including the
    /// instructions that bring it into a wanted shape.
    fn choose(&self, op: SimdOp, sources: [Source; 2], range: Range, wanted: Option<Shape>) -> Sum {
        let [xs, ys] = sources.map(|source| self.choices(source));
        let ranked = |(x, x_cost): Choice, (y, y_cost): Choice, is_reversed: bool| {
            let sum = Sum::of(op, [x, y], is_reversed);
            let more = if wanted.is_none_or(|wanted| wanted == sum.shape) { 0 } else { EACH };
            ((!is_exact(sum.shape, range), x_cost + y_cost + more), sum)
        };
        let mut best = ranked(xs[0], ys[0], false);
        for (x, y) in xs.into_iter().flat_map(|x| ys.map(|y| (x, y))) {
            for is_reversed in [false, true] {
                let other = ranked(x, y, is_reversed);
                if other.0 < best.0 {
                    best = other;
                }
            }
        }
        best.1
    }

    fn sum(&mut self, sources: [Source; 2], sum: Sum, is_limited: bool) -> LaneWords {
        let [x, y] = [0, 1].map(|at| self.shaped(sources[at], sum.from[at]).words);
        let (x, y) = if sum.is_reversed { (y, x) } else { (x, y) };
        self.each(sums(sum.adds, is_limited), x, y)
    }

    fn each(&mut self, opcode: Opcode, x: LaneWords, y: LaneWords) -> LaneWords {
        [0, 1].map(|at| self.builder.push(opcode, &[x[at], y[at]]))
    }

    /// The sources as numbers in one shape: the shape that takes the fewest machine instructions.
    fn alike(&mut self, sources: [Source; 2]) -> [Numbers; 2] {
        let [xs, ys] = sources.map(|source| self.choices(source));
        let both = xs.into_iter().flat_map(|x| ys.map(|y| (x, y)));
        let both = both.filter(|(x, y)| x.0 == y.0);
        let shape = both.min_by_key(|(x, y)| x.1 + y.1).map_or(Shape::PLAIN, |(x, _)| x.0);
        sources.map(|source| self.shaped(source, shape))
    }

    fn choices(&self, Source { name, ty, value }: Source) -> [Choice; 4] {
        let (least, most) = (Shape::from_least(ty), Shape::from_most(ty));
        if let Bytes::Numbers(Numbers { shape, .. }) = value {
            return [(shape, 0), (least, EACH), (most, EACH), (Shape::PLAIN, EACH)];
        }
        let NamedRegister { value, is_before_loop, .. } = &self.names[name];
        let known = value.map_or(0, |value| value.shapes);
        let iterations = if *is_before_loop { 1 } else { ITERATIONS };
        let cost = |shape: Shape, lines: u32| {
            let is_new = known & bit(ty, shape) == 0;
            (shape, if is_new { lines * iterations } else { 0 })
        };
        // Two lines take a word apart. A third line before them flips bits.
        let lines = |shape: Shape| if shape.flipped() == Some(0) { 2 } else { 3 };
        let [first, second] = [least, most].map(|own| cost(own, lines(own)));
        // Signed numbers reach the plain shape by a conversion.
        let taken = if first.1 > 0 { lines(least) } else { 0 };
        let plain = if is_signed(ty) { cost(Shape::PLAIN, taken + 2) } else { first };
        [first, second, plain, first]
    }

    fn shaped(&mut self, Source { name, ty, value }: Source, shape: Shape) -> Numbers {
        let arg = match value {
            Bytes::Numbers(numbers) => return self.converted(numbers, shape),
            Bytes::Packed(arg) => arg,
        };
        let (least, most) = (Shape::from_least(ty), Shape::from_most(ty));
        let own = if shape == most { most } else { least };
        if let Some(value) = &mut self.names[name].value {
            value.shapes |= bit(ty, own) | bit(ty, shape);
        }
        let words = self.taken(arg, own);
        self.converted(Numbers { words, shape: own, range: lane(ty), limit: None }, shape)
    }

    /// Bytes taken apart.
    fn taken(&mut self, arg: Arg, shape: Shape) -> LaneWords {
        let flipped = match shape.flipped() {
            Some(u32::MAX) => self.builder.push(Opcode::Not, &[arg]),
            bits => self.builder.xor(arg, word(bits.unwrap_or(0))),
        };
        [0, 1].map(|place| self.layout.taken(&mut self.builder, flipped, place, Type::U32))
    }

    /// The same numbers in another shape.
    fn converted(&mut self, numbers: Numbers, shape: Shape) -> Numbers {
        if numbers.shape == shape { numbers } else { self.moved(numbers, shape, false) }
    }

    /// Numbers in a shape in which a limit is zero, limited to zero.
    fn limited_to_zero(&mut self, numbers: Numbers, shape: Shape) -> Numbers {
        let numbers = self.moved(numbers, shape, true);
        Numbers { range: shape.above_zero(numbers.range), ..numbers }
    }

    fn moved(&mut self, numbers: Numbers, shape: Shape, is_limited: bool) -> Numbers {
        let (own, words) = (numbers.shape, numbers.words);
        let words = if own.is_negated == shape.is_negated {
            let by = [halves(shape.bias - own.bias); 2];
            self.each(sums(true, is_limited), words, by)
        } else {
            let from = [halves(shape.bias + own.bias); 2];
            self.each(sums(false, is_limited), from, words)
        };
        Numbers { words, shape, ..numbers }
    }

    /// Numbers limited to the range of a type, if that still has to be done.
    fn within_limit(&mut self, floats: Floats, mut numbers: Numbers) -> Numbers {
        let Some(ty) = numbers.limit.take() else { return numbers };
        let lane = lane(ty);
        if numbers.shape.halves(numbers.range).min < numbers.shape.halves(lane).min {
            let shape =
                if numbers.shape.is_negated { Shape::from_most(ty) } else { Shape::from_least(ty) };
            numbers = self.limited_to_zero(numbers, shape);
        }
        let Numbers { shape, words, range, .. } = numbers;
        let last = shape.halves(lane).max;
        if shape.halves(range).max <= last {
            return numbers;
        }
        let range = Range::new(range.min.max(lane.min), range.max.min(lane.max));
        if floats.has_extrema {
            return Numbers {
                words: self.words(SimdOp::Min, words, [halves(last); 2]),
                range,
                ..numbers
            };
        }
        let other = if shape.is_negated { Shape::from_least(ty) } else { Shape::from_most(ty) };
        Numbers { range, ..self.limited_to_zero(numbers, other) }
    }

    /// Numbers, each with the low bits of a lane of a register.
    fn low_bytes(&mut self, floats: Floats, name: usize, ty: Type) -> Source {
        let value = self.value(name);
        let numbers = match value.form {
            Form::Packed(arg) => return Source { name, ty, value: Bytes::Packed(arg) },
            Form::Floats(numbers) => self.within_limit(floats, numbers),
            Form::Signs { words, is_negated } => {
                let words = words.map(|it| self.layout.flags(&mut self.builder, it, is_negated));
                Numbers { words, shape: Shape::PLAIN, range: Range::new(0, 1), limit: None }
            }
            // Integers have other layouts.
            Form::Wide(words, _) | Form::Unlimited(words, ..) => {
                Numbers { words, shape: Shape::PLAIN, range: lane(ty), limit: None }
            }
        };
        self.set(name, numbers);
        Source { name, ty, value: Bytes::Numbers(numbers) }
    }

    /// A register's lanes as bytes of a type.
    fn settled(&mut self, floats: Floats, name: usize, ty: Type) -> Source {
        let source = self.low_bytes(floats, name, ty);
        match source.value {
            Bytes::Numbers(numbers) if !lane(ty).contains_range(numbers.range) => {
                let numbers = self.packable(numbers);
                let shape = Shape::from_least(ty);
                let [own, wanted] = [numbers.shape, shape].map(|it| it.flipped().unwrap_or(0));
                let words = numbers.words.map(|it| {
                    let low = self.layout.taken(&mut self.builder, it, 0, Type::U32);
                    self.builder.xor(low, word((own ^ wanted) & 0x00ff_00ff))
                });
                let numbers = Numbers { words, shape, range: lane(ty), limit: None };
                self.set(name, numbers);
                Source { value: Bytes::Numbers(numbers), ..source }
            }
            _ => source,
        }
    }

    /// Like `settled`, but the bytes may still have to be limited to the type.
    fn unlimited_bytes(&mut self, floats: Floats, name: usize, ty: Type) -> Source {
        match self.value(name).form {
            Form::Floats(numbers) if numbers.limit == Some(ty) => {
                Source { name, ty, value: Bytes::Numbers(numbers) }
            }
            _ => self.settled(floats, name, ty),
        }
    }

    fn set(&mut self, name: usize, numbers: Numbers) {
        if let Some(value) = &mut self.names[name].value {
            value.form = Form::Floats(numbers);
        }
    }

    /// Numbers in a shape in which the low bytes of halves are the lanes, or the lanes flipped.
    fn packable(&mut self, numbers: Numbers) -> Numbers {
        if numbers.shape.flipped().is_some() && numbers.shape.halves(numbers.range).min >= 0 {
            return numbers;
        }
        let bias = ((-numbers.range.min).max(0) + 255) & !255;
        self.converted(numbers, Shape { bias, is_negated: false })
    }

    /// Brings the numbers of a register into a shape that can be packed.
    pub(super) fn finish_floats(&mut self, floats: Floats, name: usize) {
        if let Some(LaneValue { form: Form::Floats(numbers), .. }) = self.names[name].value {
            let numbers = self.within_limit(floats, numbers);
            let numbers = self.packable(numbers);
            self.set(name, numbers);
        }
    }
}
