//! Kernels that compute all lanes of a word together.

use std::array::from_fn;

use super::Words;
use super::kernel::{BLOCK, Binary, Int};
use crate::ir::Range;

/// What lanes are computed in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Element {
    /// As wide as the lane.
    Unsigned,
    Signed,
    /// Twice as wide as the lane.
    Wide,
}

/// What becomes of the lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LanePost {
    /// They make the result.
    Word,
    /// Those of the mask are put into the third column.
    Merge,
    /// Those of the mask are added to the third column.
    Sum,
}

/// A kernel: an operation on lanes and a clamp.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lanes {
    pub(super) op: Binary,
    /// Bits in a lane, 8 or 16.
    pub(super) bits: u8,
    pub(super) element: Element,
    /// Whether the lanes of a column are signed, where they are widened.
    pub(super) signed: [bool; 2],
    pub(super) clamp: Option<Range>,
    pub(super) post: LanePost,
    /// All bits of some lanes.
    pub(super) mask: u32,
}

impl Lanes {
    pub(super) fn run(&self, columns: [&Words; 3], out: &mut Words) {
        match (self.bits, self.element) {
            (8, Element::Unsigned) => {
                self.native(columns, out, u32::to_le_bytes, u32::from_le_bytes);
            }
            (8, Element::Signed) => {
                let split = |word: u32| word.to_le_bytes().map(u8::cast_signed);
                self.native(columns, out, split, |it| {
                    u32::from_le_bytes(it.map(i8::cast_unsigned))
                });
            }
            (8, Element::Wide) => {
                let split = |word: u32| halves(word).map(u16::cast_signed);
                self.wide(columns, out, split, |it| join_halves(it.map(i16::cast_unsigned)));
            }
            (_, Element::Unsigned) => self.native(columns, out, halves, join_halves),
            (_, Element::Signed) => {
                let split = |word: u32| halves(word).map(u16::cast_signed);
                self.native(columns, out, split, |it| join_halves(it.map(i16::cast_unsigned)));
            }
            (_, Element::Wide) => {
                let split = |word: u32| [word.cast_signed()];
                self.wide(columns, out, split, |[it]| it.cast_unsigned());
            }
        }
    }

    fn native<T: Int, const LANES: usize>(
        &self,
        columns: [&Words; 3],
        out: &mut Words,
        split: impl Fn(u32) -> [T; LANES],
        join: impl Fn([T; LANES]) -> u32,
    ) {
        let go = Native { lanes: self, columns, split, join };
        match self.op {
            Binary::Add => go.run(out, T::add),
            Binary::Sub => go.run(out, T::sub),
            Binary::AddSat => go.run(out, T::add_sat),
            Binary::SubSat => go.run(out, T::sub_sat),
            Binary::AbsDiff => go.run(out, T::distance),
            Binary::Min => go.run(out, T::min),
            Binary::Max => go.run(out, T::max),
            Binary::Eq => go.run(out, |x, y| T::truth(x == y)),
            Binary::Ne => go.run(out, |x, y| T::truth(x != y)),
            Binary::Lt => go.run(out, |x, y| T::truth(x < y)),
            Binary::Le => go.run(out, |x, y| T::truth(x <= y)),
            _ => go.run(out, |x, _| x),
        }
    }

    fn has_signed_results(&self) -> bool {
        use Binary::{AddSat, Max, Min, SubSat};
        self.element == Element::Signed && matches!(self.op, AddSat | SubSat | Min | Max)
    }

    fn wide<T: Pair, const UNITS: usize>(
        &self,
        columns: [&Words; 3],
        out: &mut Words,
        split: impl Fn(u32) -> [T; UNITS],
        join: impl Fn([T; UNITS]) -> u32,
    ) {
        let go = Wide { lanes: self, columns, split, join };
        match self.op {
            Binary::Add => go.run(out, T::add),
            Binary::Sub => go.run(out, T::sub),
            Binary::AbsDiff => go.run(out, T::distance),
            Binary::Min => go.run(out, T::min),
            Binary::Max => go.run(out, T::max),
            Binary::Average => go.run(out, T::average),
            Binary::Eq => go.run(out, |x, y| T::truth(x == y)),
            Binary::Ne => go.run(out, |x, y| T::truth(x != y)),
            Binary::Lt => go.run(out, |x, y| T::truth(x < y)),
            Binary::Le => go.run(out, |x, y| T::truth(x <= y)),
            _ => go.run(out, |x, _| x),
        }
    }
}

/// The operations that both kinds of kernels are written for.
pub(super) fn has(op: Binary, element: Element) -> bool {
    match op {
        Binary::Add
        | Binary::Sub
        | Binary::AbsDiff
        | Binary::Min
        | Binary::Max
        | Binary::Eq
        | Binary::Ne
        | Binary::Lt
        | Binary::Le => true,
        Binary::AddSat | Binary::SubSat => element != Element::Wide,
        Binary::Average => element == Element::Wide,
        _ => false,
    }
}

fn halves(word: u32) -> [u16; 2] {
    [word as u16, (word >> 16) as u16]
}

fn join_halves([low, high]: [u16; 2]) -> u32 {
    u32::from(high) << 16 | u32::from(low)
}

/// The sum of the unsigned lanes of a word.
fn add_lanes<const LANES: usize>(word: u32) -> u32 {
    let halves = if LANES == 4 { (word & 0x00ff_00ff) + (word >> 8 & 0x00ff_00ff) } else { word };
    (halves & 0xffff) + (halves >> 16)
}

/// Two lanes in an integer that can hold either with a bit to spare and more.
trait Pair: Int + Into<i32> {
    /// The lanes extended as signed ones.
    fn signed(self) -> [Self; 2];
    /// The lanes extended as unsigned ones, or, with the sign bit of a lane, as
    /// signed ones.
    fn with_sign(self, sign: Self) -> [Self; 2];
    fn join(lanes: [Self; 2]) -> Self;
    fn sign(signed: bool) -> Self;
}

macro_rules! pair {
    ($($int:ident)*) => {$(
        impl Pair for $int {
            fn signed(self) -> [$int; 2] {
                const HALF: u32 = $int::BITS / 2;
                [self << HALF >> HALF, self >> HALF]
            }
            fn with_sign(self, sign: $int) -> [$int; 2] {
                const HALF: u32 = $int::BITS / 2;
                const LOW: $int = (1 << HALF) - 1;
                [self & LOW, self >> HALF & LOW].map(|lane| (lane ^ sign).wrapping_sub(sign))
            }
            fn join([low, high]: [$int; 2]) -> $int {
                const HALF: u32 = $int::BITS / 2;
                high << HALF | (low & ((1 << HALF) - 1))
            }
            fn sign(signed: bool) -> $int {
                $int::from(signed) << ($int::BITS / 2 - 1)
            }
        }
    )*};
}

pair! { i16 i32 }

/// Blocks of words, taken apart; then each word's results are joined with the
/// third column.
#[inline(always)]
#[expect(clippy::inline_always, reason = "one loop for each operation")]
fn blocks<T: Copy, const COUNT: usize>(
    [x, y, z]: [&Words; 3],
    out: &mut Words,
    split: impl Fn(u32) -> [T; COUNT],
    f: impl Fn(T, T) -> T,
    join: impl Fn([T; COUNT], u32) -> u32,
) {
    let [x, y, z] = [x, y, z].map(|column| column.as_chunks::<BLOCK>().0);
    for (((out, x), y), z) in out.as_chunks_mut::<BLOCK>().0.iter_mut().zip(x).zip(y).zip(z) {
        let (mut x, y) = (x.map(&split), y.map(&split));
        for (x, &y) in x.as_flattened_mut().iter_mut().zip(y.as_flattened()) {
            *x = f(*x, y);
        }
        *out = from_fn(|word| join(x[word], z[word]));
    }
}

struct Native<'a, S, J> {
    lanes: &'a Lanes,
    columns: [&'a Words; 3],
    split: S,
    join: J,
}

impl<S, J> Native<'_, S, J> {
    fn run<T: Int, const LANES: usize>(&self, out: &mut Words, f: impl Fn(T, T) -> T)
    where
        S: Fn(u32) -> [T; LANES],
        J: Fn([T; LANES]) -> u32,
    {
        let Native { lanes, columns, split, join } = self;
        let mask = lanes.mask;
        match lanes.post {
            LanePost::Word => blocks(*columns, out, split, f, |lanes, _| join(lanes)),
            LanePost::Merge => {
                blocks(*columns, out, split, f, |lanes, z| (join(lanes) & mask) | (z & !mask));
            }
            LanePost::Sum if lanes.has_signed_results() => {
                // Signed lanes are moved up to be summed, and their sum down.
                let tops = if LANES == 4 { 0x8080_8080 } else { 0x8000_8000 } & mask;
                let down = add_lanes::<LANES>(tops);
                blocks(*columns, out, split, f, |lanes, z| {
                    let sum = add_lanes::<LANES>((join(lanes) & mask) ^ tops);
                    z.wrapping_add(sum).wrapping_sub(down)
                });
            }
            LanePost::Sum => blocks(*columns, out, split, f, |lanes, z| {
                z.wrapping_add(add_lanes::<LANES>(join(lanes) & mask))
            }),
        }
    }
}

struct Wide<'a, S, J> {
    lanes: &'a Lanes,
    columns: [&'a Words; 3],
    split: S,
    join: J,
}

impl<S, J> Wide<'_, S, J> {
    fn run<T: Pair, const UNITS: usize>(&self, out: &mut Words, f: impl Fn(T, T) -> T)
    where
        S: Fn(u32) -> [T; UNITS],
        J: Fn([T; UNITS]) -> u32,
    {
        let [x_sign, y_sign] = self.lanes.signed.map(T::sign);
        let extend = |x: T, y: T| [x.with_sign(x_sign), y.with_sign(y_sign)];
        if self.lanes.clamp.is_none() && self.lanes.signed == [true; 2] {
            self.finish(out, |x, y| [x.signed(), y.signed()], f);
        } else {
            let Range { min, max } = self.lanes.clamp.unwrap_or(Range::new(i128::MIN, i128::MAX));
            let (min, max) = (T::nearest(min), T::nearest(max));
            self.finish(out, extend, |x, y| f(x, y).max(min).min(max));
        }
    }

    fn finish<T: Pair, const UNITS: usize>(
        &self,
        out: &mut Words,
        extend: impl Fn(T, T) -> [[T; 2]; 2],
        f: impl Fn(T, T) -> T,
    ) where
        S: Fn(u32) -> [T; UNITS],
        J: Fn([T; UNITS]) -> u32,
    {
        let Wide { lanes, columns, split, join } = self;
        let mask = lanes.mask;
        let both = |x: T, y: T| {
            let [[x_low, x_high], [y_low, y_high]] = extend(x, y);
            [f(x_low, y_low), f(x_high, y_high)]
        };
        let joined = |x: T, y: T| T::join(both(x, y));
        match lanes.post {
            LanePost::Word => blocks(*columns, out, split, joined, |units, _| join(units)),
            LanePost::Merge => {
                blocks(*columns, out, split, joined, |units, z| (join(units) & mask) | (z & !mask));
            }
            LanePost::Sum => {
                // Lanes that do not count are computed from zeros.
                let zero = T::truth(false);
                let idle = (32 - mask.count_ones().cast_signed()) / i32::from(lanes.bits);
                let down = (f(zero, zero).into() * idle).cast_unsigned();
                let added = |x: T, y: T| {
                    let [low, high] = both(x, y);
                    low.add(high)
                };
                blocks(
                    *columns,
                    out,
                    |word| split(word & mask),
                    added,
                    |units, z| {
                        let sum: i32 = units.into_iter().map(T::into).sum();
                        z.wrapping_add(sum.cast_unsigned()).wrapping_sub(down)
                    },
                );
            }
        }
    }
}

/// A kernel: bits of two columns, put where a word wants them.
#[derive(Clone, Debug)]
pub(super) struct Gather {
    pub(super) moves: Vec<Move>,
}

/// Where bits go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Move {
    /// The column they come from, 0 or 1.
    pub(super) column: usize,
    pub(super) from: u8,
    pub(super) to: u8,
    pub(super) width: u8,
}

impl Gather {
    pub(super) fn run(&self, columns: [&Words; 3], out: &mut Words) {
        out.fill(0);
        for &Move { column, from, to, width } in &self.moves {
            let mask = ((1 << width) - 1) as u32;
            let (from, to) = (u32::from(from & 31), u32::from(to & 31));
            for (out, &word) in out.iter_mut().zip(columns[column]) {
                *out |= (word >> from & mask) << to;
            }
        }
    }
}
