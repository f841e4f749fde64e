//! Kernels that compute all lanes of a word together.

use std::array::from_fn;

use super::Column;
use super::kernel::{BLOCK, Binary, Int, each};
use super::vectors::{Any, Vectors, Wide as WideVectors};
use crate::ir::Range;

/// The element type that lanes are computed in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Element {
    /// As wide as the lane.
    Unsigned,
    Signed,
    /// Twice as wide as the lane.
    Wide,
}

impl Element {
    pub(super) fn native(signed: bool) -> Element {
        if signed { Element::Signed } else { Element::Unsigned }
    }
}

/// The use of the computed lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LanePost {
    /// The lanes are the result.
    Word,
    /// Masked lanes replace the lanes of the third column.
    Merge,
    /// Masked lanes are added to the third column.
    Sum,
}

/// Operations on lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LaneOp {
    /// An operation in the width of the lane, or an exact one in a wider element.
    Plain(Binary),
    /// A saturated sum or difference of lanes, made unsigned by flipping bits. The result is
    /// clamped to `least..=most`, and `excess` is subtracted.
    Moved {
        subtract: bool,
        flips: [u16; 2],
        least: u16,
        most: u16,
        excess: u16,
    },
    /// Saturated sums and differences of an unsigned and a signed lane.
    AddMixed,
    SubMixed,
    /// The difference of unsigned lanes, saturated to signed lanes.
    SubSigned,
    /// A minimum or maximum. The lanes of the first column, or of both, have the other sign and
    /// are clamped first.
    Least {
        both: bool,
    },
    Most {
        both: bool,
    },
    /// The absolute difference, at most the largest signed lane.
    AbsDiffSat,
}

/// A kernel: an operation on lanes and a clamp.
#[derive(Clone, Copy, Debug)]
pub(super) struct LanesKernel {
    pub(super) op: LaneOp,
    /// Bits in a lane, 8 or 16.
    pub(super) bits: u8,
    pub(super) element: Element,
    /// Whether the lanes of each column are signed.
    pub(super) signed: [bool; 2],
    /// Whether the results are signed, if they are added.
    pub(super) signed_results: bool,
    pub(super) clamp: Option<Range>,
    pub(super) post: LanePost,
    /// All bits of the lanes to write or to add.
    pub(super) mask: u32,
    /// Whether the bytes of the first column are in reverse order; not with wide elements or
    /// sums.
    pub(super) turned: bool,
}

impl LanesKernel {
    pub(super) fn can_turn(&self) -> bool {
        // The compiler would compute halves one by one.
        self.bits == 8 && self.element != Element::Wide && self.post != LanePost::Sum
    }

    /// Whether the columns can be swapped.
    pub(super) fn commutes(&self) -> bool {
        match self.op {
            LaneOp::Plain(op) => match op {
                Binary::Add
                | Binary::AddSat
                | Binary::AbsDiff
                | Binary::Min
                | Binary::Max
                | Binary::Average
                | Binary::Eq
                | Binary::Ne => self.signed[0] == self.signed[1],
                _ => false,
            },
            LaneOp::Moved { subtract, flips: [first, second], .. } => !subtract && first == second,
            LaneOp::Least { both } | LaneOp::Most { both } => both,
            LaneOp::AbsDiffSat => true,
            LaneOp::AddMixed | LaneOp::SubMixed | LaneOp::SubSigned => false,
        }
    }

    pub(super) fn run(&self, columns: [&Column; 3], out: &mut Column) {
        match (self.bits, self.element) {
            (8, Element::Unsigned) => self.unsigned::<u8, 4>(columns, out),
            (8, Element::Signed) if self.post == LanePost::Sum && !are_wide() => match self.op {
                LaneOp::Plain(Binary::Min) => self.sum_moved(columns, out, u8::min),
                LaneOp::Plain(Binary::Max) => self.sum_moved(columns, out, u8::max),
                _ => self.common::<i8, 4>(columns, out),
            },
            (8, Element::Signed) => self.common::<i8, 4>(columns, out),
            (8, Element::Wide) => {
                let split = |word: u32| halves(word).map(u16::cast_signed);
                self.wide(columns, out, split, |it| join_halves(it.map(i16::cast_unsigned)));
            }
            (_, Element::Unsigned) => self.unsigned::<u16, 2>(columns, out),
            (_, Element::Signed) => self.common::<i16, 2>(columns, out),
            (_, Element::Wide) => {
                let split = |word: u32| [word.cast_signed()];
                self.wide(columns, out, split, |[it]| it.cast_unsigned());
            }
        }
    }

    /// Sums signed bytes. Flipping their highest bits allows an unsigned comparison; the sum is
    /// corrected afterwards.
    fn sum_moved(&self, columns: [&Column; 3], out: &mut Column, f: impl Fn(u8, u8) -> u8 + Copy) {
        let (tops, mask) = (0x8080_8080, self.mask);
        let down = add_bytes(tops, mask);
        let split = move |word: u32| (word ^ tops).to_le_bytes();
        blocks(columns, out, split, split, f, u32::from_le_bytes, move |word, z| {
            z.wrapping_add(add_bytes(word, mask)).wrapping_sub(down)
        });
    }

    fn unsigned<T: Lane<LANES>, const LANES: usize>(
        &self,
        columns: [&Column; 3],
        out: &mut Column,
    ) {
        match self.op {
            LaneOp::Plain(Binary::Add) => self.native::<T, LANES>(columns, out, T::add),
            LaneOp::Plain(Binary::Sub) => self.native::<T, LANES>(columns, out, T::sub),
            LaneOp::Plain(Binary::Eq) => {
                self.native::<T, LANES>(columns, out, |x, y| T::truth(x == y));
            }
            LaneOp::Plain(Binary::Ne) => {
                self.native::<T, LANES>(columns, out, |x, y| T::truth(x != y));
            }
            LaneOp::Moved { subtract, flips, least, most, excess } => {
                let [x_flip, y_flip] = flips.map(T::bits);
                let [least, most, excess] = [least, most, excess].map(T::bits);
                let end = move |it: T| it.max(least).min(most).sub(excess);
                if subtract {
                    self.native::<T, LANES>(columns, out, move |x: T, y: T| {
                        end(x.flip(x_flip).sub_sat(y.flip(y_flip)))
                    });
                } else {
                    self.native::<T, LANES>(columns, out, move |x: T, y: T| {
                        end(x.flip(x_flip).add_sat(y.flip(y_flip)))
                    });
                }
            }
            LaneOp::AddMixed => self.native::<T, LANES>(columns, out, |x: T, y: T| {
                let (above, below) = y.parts();
                x.add_sat(above).sub_sat(below)
            }),
            LaneOp::SubMixed => self.native::<T, LANES>(columns, out, |x: T, y: T| {
                let (above, below) = y.parts();
                x.sub_sat(above).add_sat(below)
            }),
            LaneOp::SubSigned => {
                let most = T::bits(if LANES == 4 { 0x7f } else { 0x7fff });
                let least = most.add(T::truth(true));
                self.native::<T, LANES>(columns, out, |x: T, y: T| {
                    x.sub_sat(y).min(most).sub(y.sub_sat(x).min(least))
                });
            }
            _ => self.common::<T, LANES>(columns, out),
        }
    }

    /// Operations that depend on the sign.
    fn common<T: Lane<LANES>, const LANES: usize>(&self, columns: [&Column; 3], out: &mut Column) {
        match self.op {
            LaneOp::Plain(Binary::AddSat) => self.kept::<T, LANES>(columns, out, T::add_sat),
            LaneOp::Plain(Binary::SubSat) => self.kept::<T, LANES>(columns, out, T::sub_sat),
            LaneOp::Plain(Binary::AbsDiff) => self.kept::<T, LANES>(columns, out, T::distance),
            LaneOp::Plain(Binary::Min) if T::KEPT => self.kept::<T, LANES>(columns, out, T::min),
            LaneOp::Plain(Binary::Max) if T::KEPT => self.kept::<T, LANES>(columns, out, T::max),
            LaneOp::Plain(Binary::Min) => self.native::<T, LANES>(columns, out, T::min),
            LaneOp::Plain(Binary::Max) => self.native::<T, LANES>(columns, out, T::max),
            LaneOp::Plain(Binary::Average) => self.native::<T, LANES>(columns, out, T::mean),
            LaneOp::Plain(Binary::Lt) => {
                self.native::<T, LANES>(columns, out, |x, y| T::truth(x < y));
            }
            LaneOp::Plain(Binary::Le) => {
                self.native::<T, LANES>(columns, out, |x, y| T::truth(x <= y));
            }
            LaneOp::Least { both: true } => {
                self.native::<T, LANES>(columns, out, |x: T, y: T| x.bounded().min(y.bounded()));
            }
            LaneOp::Least { both: false } => {
                self.native::<T, LANES>(columns, out, |x: T, y: T| x.bounded().min(y));
            }
            LaneOp::Most { both: true } => {
                self.native::<T, LANES>(columns, out, |x: T, y: T| x.bounded().max(y.bounded()));
            }
            LaneOp::Most { both: false } => {
                self.native::<T, LANES>(columns, out, |x: T, y: T| x.bounded().max(y));
            }
            LaneOp::AbsDiffSat => self.kept::<T, LANES>(columns, out, T::distance_sat),
            _ => self.native::<T, LANES>(columns, out, |x: T, _| x),
        }
    }

    /// Operations whose halves the compiler would compute one by one if the merge or sum were
    /// in the same loop.
    fn native<T: Lane<LANES>, const LANES: usize>(
        &self,
        columns: [&Column; 3],
        out: &mut Column,
        f: impl Fn(T, T) -> T + Copy,
    ) {
        let together = match self.post {
            LanePost::Word => true,
            LanePost::Merge => LANES == 4,
            LanePost::Sum => LANES == 4 && !are_wide(),
        };
        if together {
            self.in_loop::<T, LANES>(columns, out, f);
        } else {
            self.buffered::<T, LANES>(columns, out, f);
        }
    }

    /// Operations whose halves the compiler keeps together, unless the sum leaves out a half.
    fn kept<T: Lane<LANES>, const LANES: usize>(
        &self,
        columns: [&Column; 3],
        out: &mut Column,
        f: impl Fn(T, T) -> T + Copy,
    ) {
        let in_parts = are_wide() || LANES == 2 && self.mask != u32::MAX;
        if self.post == LanePost::Sum && in_parts {
            self.buffered::<T, LANES>(columns, out, f);
        } else {
            self.in_loop::<T, LANES>(columns, out, f);
        }
    }

    /// Computes lanes in one loop, and merges or sums them in a second loop.
    fn buffered<T: Lane<LANES>, const LANES: usize>(
        &self,
        columns: [&Column; 3],
        out: &mut Column,
        f: impl Fn(T, T) -> T + Copy,
    ) {
        let [x, y, z] = columns;
        let mut buffer = [0; BUFFER];
        for (at, out) in out.chunks_mut(BUFFER).enumerate() {
            let [x, y, z] = [x, y, z].map(|it| &it[at * BUFFER..][..out.len()]);
            let words = &mut buffer[..out.len()];
            blocks([x, y, z], words, T::split, T::split, f, T::join, |word, _| word);
            if self.post == LanePost::Sum {
                let sum = if LANES == 2 { sum_halves } else { sum_bytes };
                sum(words, z, out, self.mask, self.signed_results);
            } else {
                merge_words(words, z, out, self.mask);
            }
        }
    }

    /// Computes everything in one loop. Sums of halves include both halves.
    fn in_loop<T: Lane<LANES>, const LANES: usize>(
        &self,
        columns: [&Column; 3],
        out: &mut Column,
        f: impl Fn(T, T) -> T + Copy,
    ) {
        let mask = self.mask;
        let merge = move |word, z| (word & mask) | (z & !mask);
        // Only bytes are turned.
        let turn = |word: u32| T::split(word.swap_bytes());
        match self.post {
            LanePost::Word if LANES == 4 && self.turned => {
                blocks(columns, out, turn, T::split, f, T::join, |word, _| word);
            }
            LanePost::Word => blocks(columns, out, T::split, T::split, f, T::join, |word, _| word),
            LanePost::Merge if LANES == 4 && self.turned => {
                blocks(columns, out, turn, T::split, f, T::join, merge);
            }
            LanePost::Merge => blocks(columns, out, T::split, T::split, f, T::join, merge),
            LanePost::Sum if LANES == 2 && self.signed_results => {
                blocks(columns, out, T::split, T::split, f, T::join, |word, z| {
                    z.wrapping_add(add_signed_halves(word))
                });
            }
            LanePost::Sum if LANES == 2 => {
                blocks(columns, out, T::split, T::split, f, T::join, |word, z| {
                    z.wrapping_add(add_halves(word, u32::MAX))
                });
            }
            LanePost::Sum if self.signed_results => {
                let add = signed_bytes_adder(mask);
                blocks(columns, out, T::split, T::split, f, T::join, add);
            }
            LanePost::Sum => {
                blocks(columns, out, T::split, T::split, f, T::join, move |word, z| {
                    z.wrapping_add(add_bytes(word, mask))
                });
            }
        }
    }

    fn wide<T: Pair, const UNITS: usize>(
        &self,
        columns: [&Column; 3],
        out: &mut Column,
        split: impl Fn(u32) -> [T; UNITS] + Copy,
        join: impl Fn([T; UNITS]) -> u32 + Copy,
    ) {
        let go = WideLanes { lanes: self, columns, split, join };
        match self.op {
            LaneOp::Plain(Binary::AbsDiff) => go.run(out, T::distance),
            LaneOp::Plain(Binary::Average) => go.run(out, T::average),
            LaneOp::Plain(Binary::Eq) => go.run(out, |x, y| T::truth(x == y)),
            LaneOp::Plain(Binary::Ne) => go.run(out, |x, y| T::truth(x != y)),
            LaneOp::Plain(Binary::Lt) => go.run(out, |x, y| T::truth(x < y)),
            LaneOp::Plain(Binary::Le) => go.run(out, |x, y| T::truth(x <= y)),
            _ => go.run(out, |x, _| x),
        }
    }
}

fn halves(word: u32) -> [u16; 2] {
    [word as u16, (word >> 16) as u16]
}

fn join_halves([low, high]: [u16; 2]) -> u32 {
    u32::from(high) << 16 | u32::from(low)
}

/// Integers as wide as a lane.
trait Lane<const LANES: usize>: Int {
    /// Whether the compiler keeps lanes together for a minimum or maximum that is summed.
    const KEPT: bool;
    fn split(word: u32) -> [Self; LANES];
    fn join(lanes: [Self; LANES]) -> u32;
    /// A lane from the low bits.
    fn bits(bits: u16) -> Self;
    fn flip(self, bits: Self) -> Self;
    /// The bits read as a signed lane: the value if above zero, and the amount below zero.
    fn parts(self) -> (Self, Self);
    /// The bits read as a lane of the other sign, clamped to the range of this type.
    fn bounded(self) -> Self;
    /// Half the exact sum, rounded like [`Binary::Average`].
    fn mean(self, other: Self) -> Self;
    fn distance_sat(self, other: Self) -> Self;
}

macro_rules! lane {
    ($($lanes:literal $unsigned:ident $signed:ident $wide:ident $split:expr, $join:expr;)*) => {$(
        impl Lane<$lanes> for $unsigned {
            const KEPT: bool = $lanes == 4;
            fn split(word: u32) -> [$unsigned; $lanes] {
                $split(word)
            }
            fn join(lanes: [$unsigned; $lanes]) -> u32 {
                $join(lanes)
            }
            fn bits(bits: u16) -> $unsigned {
                bits as $unsigned
            }
            fn flip(self, bits: $unsigned) -> $unsigned {
                self ^ bits
            }
            fn parts(self) -> ($unsigned, $unsigned) {
                let signed = self as $signed;
                (signed.max(0) as $unsigned, signed.min(0).wrapping_neg() as $unsigned)
            }
            fn bounded(self) -> $unsigned {
                (self as $signed).max(0) as $unsigned
            }
            fn mean(self, other: $unsigned) -> $unsigned {
                (($wide::from(self) + $wide::from(other) + 1) >> 1) as $unsigned
            }
            fn distance_sat(self, other: $unsigned) -> $unsigned {
                self.abs_diff(other).min($signed::MAX as $unsigned)
            }
        }
        impl Lane<$lanes> for $signed {
            const KEPT: bool = true;
            fn split(word: u32) -> [$signed; $lanes] {
                $split(word).map($unsigned::cast_signed)
            }
            fn join(lanes: [$signed; $lanes]) -> u32 {
                $join(lanes.map($signed::cast_unsigned))
            }
            fn bits(bits: u16) -> $signed {
                bits as $signed
            }
            fn flip(self, bits: $signed) -> $signed {
                self ^ bits
            }
            fn parts(self) -> ($signed, $signed) {
                (self.max(0), self.min(0).wrapping_neg())
            }
            fn bounded(self) -> $signed {
                (self as $unsigned).min($signed::MAX as $unsigned) as $signed
            }
            fn mean(self, other: $signed) -> $signed {
                // `mean` rounds up, but odd sums below zero must be rounded down.
                let up = ((self ^ $signed::MIN) as $unsigned)
                    .mean((other ^ $signed::MIN) as $unsigned) as $signed ^ $signed::MIN;
                up - ((self ^ other) & $signed::from(up < 1))
            }
            fn distance_sat(self, other: $signed) -> $signed {
                self.max(other).saturating_sub(self.min(other))
            }
        }
    )*};
}

lane! {
    4 u8 i8 u16 u32::to_le_bytes, u32::from_le_bytes;
    2 u16 i16 u32 halves, join_halves;
}

/// Whether vectors are wide. If so, sums take a loop of their own: the compiler handles lanes
/// differently that are joined and split again.
fn are_wide() -> bool {
    WideVectors::new().is_some()
}

/// Words whose lanes are computed before a second loop merges or sums them.
const BUFFER: usize = 1024;

/// Inserts the masked bits of words into a column.
#[inline(never)]
fn merge_words(words: &Column, z: &Column, out: &mut Column, mask: u32) {
    each([words, z, z], out, move |word, z, _| (word & mask) | (z & !mask));
}

/// Adds the masked bytes of words to a column.
#[inline(never)]
fn sum_bytes(words: &Column, z: &Column, out: &mut Column, mask: u32, signed: bool) {
    if signed {
        let add = signed_bytes_adder(mask);
        each([words, z, z], out, move |word, z, _| add(word, z));
    } else {
        each([words, z, z], out, move |word, z, _| z.wrapping_add(add_bytes(word, mask)));
    }
}

/// Adds the masked halves of words to a column.
#[inline(never)]
fn sum_halves(words: &Column, z: &Column, out: &mut Column, mask: u32, signed: bool) {
    let [low, high] = [mask << 16, mask & 0xffff_0000].map(u32::cast_signed);
    if signed && mask == u32::MAX {
        each([words, z, z], out, |word, z, _| z.wrapping_add(add_signed_halves(word)));
    } else if signed {
        each([words, z, z], out, move |word, z, _| {
            let word = word.cast_signed();
            let sum = ((word << 16 & low) >> 16) + ((word & high) >> 16);
            z.wrapping_add(sum.cast_unsigned())
        });
    } else {
        let (low, high) = (mask & 0xffff, mask >> 16);
        each([words, z, z], out, move |word, z, _| {
            z.wrapping_add((word & low) + (word >> 16 & high))
        });
    }
}

/// The sum of the masked bytes of a word.
fn add_bytes(word: u32, mask: u32) -> u32 {
    let halves = (word & mask & 0x00ff_00ff) + (word >> 8 & mask >> 8 & 0x00ff_00ff);
    (halves & 0xffff) + (halves >> 16)
}

/// A function that adds the masked signed bytes of a word to another word. It flips the highest
/// bits to sum unsigned bytes, and corrects the sum.
fn signed_bytes_adder(mask: u32) -> impl Fn(u32, u32) -> u32 + Copy {
    let tops = 0x8080_8080;
    let down = add_bytes(tops, mask);
    move |word, z| z.wrapping_add(add_bytes(word ^ tops, mask)).wrapping_sub(down)
}

/// The sum of the signed halves of a word.
fn add_signed_halves(word: u32) -> u32 {
    let word = word.cast_signed();
    ((word << 16 >> 16) + (word >> 16)).cast_unsigned()
}

/// The sum of the masked halves of a word.
fn add_halves(word: u32, mask: u32) -> u32 {
    (word & mask & 0xffff) + (word >> 16 & mask >> 16)
}

/// Two lanes in an integer that is twice as wide as a lane.
trait Pair: Int + Into<i32> {
    /// The two lanes: zero-extended if `sign` is zero, sign-extended if it is the sign bit of a
    /// lane.
    fn with_sign(self, sign: Self) -> [Self; 2];
    fn join(lanes: [Self; 2]) -> Self;
    fn sign(signed: bool) -> Self;
}

macro_rules! pair {
    ($($int:ident)*) => {$(
        impl Pair for $int {
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

/// Splits blocks of words into lanes, computes and joins them. `post` then combines each word
/// with the third column.
#[inline(always)]
#[expect(clippy::inline_always, reason = "one loop for each operation")]
fn blocks<T: Copy, const COUNT: usize>(
    [x, y, z]: [&Column; 3],
    out: &mut Column,
    split_x: impl Fn(u32) -> [T; COUNT] + Copy,
    split_y: impl Fn(u32) -> [T; COUNT] + Copy,
    f: impl Fn(T, T) -> T + Copy,
    join: impl Fn([T; COUNT]) -> u32 + Copy,
    post: impl Fn(u32, u32) -> u32 + Copy,
) {
    Any.run(
        #[inline(always)]
        move || {
            let [x, y, z] = [x, y, z].map(|column| column.as_chunks::<BLOCK>().0);
            let out = out.as_chunks_mut::<BLOCK>().0;
            for (((out, x), y), z) in out.iter_mut().zip(x).zip(y).zip(z) {
                let (mut x, y) = (x.map(&split_x), y.map(&split_y));
                for (x, &y) in x.as_flattened_mut().iter_mut().zip(y.as_flattened()) {
                    *x = f(*x, y);
                }
                let words = x.map(&join);
                *out = from_fn(|at| post(words[at], z[at]));
            }
        },
    );
}

struct WideLanes<'a, S, J> {
    lanes: &'a LanesKernel,
    columns: [&'a Column; 3],
    split: S,
    join: J,
}

impl<S, J> WideLanes<'_, S, J> {
    fn run<T: Pair, const UNITS: usize>(&self, out: &mut Column, f: impl Fn(T, T) -> T + Copy)
    where
        S: Fn(u32) -> [T; UNITS] + Copy,
        J: Fn([T; UNITS]) -> u32 + Copy,
    {
        let [x_sign, y_sign] = self.lanes.signed.map(T::sign);
        let extend = move |x: T, y: T| [x.with_sign(x_sign), y.with_sign(y_sign)];
        let Range { min, max } = self.lanes.clamp.unwrap_or(Range::new(i128::MIN, i128::MAX));
        let (min, max) = (T::nearest(min), T::nearest(max));
        self.finish(out, extend, move |x, y| f(x, y).max(min).min(max));
    }

    fn finish<T: Pair, const UNITS: usize>(
        &self,
        out: &mut Column,
        extend: impl Fn(T, T) -> [[T; 2]; 2] + Copy,
        f: impl Fn(T, T) -> T + Copy,
    ) where
        S: Fn(u32) -> [T; UNITS] + Copy,
        J: Fn([T; UNITS]) -> u32 + Copy,
    {
        let &WideLanes { lanes, columns, split, join } = self;
        let mask = lanes.mask;
        let both = move |x: T, y: T| {
            let [[x_low, x_high], [y_low, y_high]] = extend(x, y);
            [f(x_low, y_low), f(x_high, y_high)]
        };
        let joined = move |x: T, y: T| T::join(both(x, y));
        match lanes.post {
            LanePost::Word => blocks(columns, out, split, split, joined, join, |word, _| word),
            LanePost::Merge => {
                let merge = move |word, z| (word & mask) | (z & !mask);
                blocks(columns, out, split, split, joined, join, merge);
            }
            LanePost::Sum => {
                // Lanes outside the mask are computed from zeros.
                let zero = T::truth(false);
                let idle = (32 - mask.count_ones().cast_signed()) / i32::from(lanes.bits);
                let down = (f(zero, zero).into() * idle).cast_unsigned();
                let added = move |x: T, y: T| {
                    let [low, high] = both(x, y);
                    low.add(high)
                };
                let sum =
                    |units: [T; UNITS]| units.into_iter().map(T::into).sum::<i32>().cast_unsigned();
                let masked = move |word| split(word & mask);
                let post = move |sum: u32, z: u32| z.wrapping_add(sum).wrapping_sub(down);
                blocks(columns, out, masked, masked, added, sum, post);
            }
        }
    }
}

/// A kernel: the sum or difference of the lanes of two columns, added to the third.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sums {
    /// Bits in a lane, 8 or 16.
    pub(super) bits: u8,
    /// Whether the lanes of the second column are subtracted.
    pub(super) subtract: bool,
    pub(super) signed: [bool; 2],
    /// All bits of the lanes to add.
    pub(super) mask: u32,
}

impl Sums {
    pub(super) fn run(self, columns: [&Column; 3], out: &mut Column) {
        let Sums { bits, signed, mask, .. } = self;
        // Sums signed lanes with their highest bits flipped, and corrects the sum.
        let tops = if bits == 8 { 0x8080_8080 } else { 0x8000_8000 };
        let [x_flip, y_flip] = signed.map(|signed| if signed { tops } else { 0 });
        let down = |flip: u32| {
            if bits == 8 { add_bytes(flip, mask) } else { add_halves(flip, mask) }
        };
        let (x_down, y_down) = (down(x_flip), down(y_flip));
        let flip = move |x: u32, y: u32| (x ^ x_flip, y ^ y_flip);
        match (bits, signed) {
            (8, [false, false]) => self.bytes(columns, out, |x, y| (x, y), x_down, y_down),
            (8, _) => self.bytes(columns, out, flip, x_down, y_down),
            _ if mask == u32::MAX => {
                let sum = |word: u32| (word & 0xffff) + (word >> 16);
                self.halves(columns, out, flip, sum, x_down, y_down);
            }
            _ => {
                let sum = move |word: u32| add_halves(word, mask);
                self.halves(columns, out, flip, sum, x_down, y_down);
            }
        }
    }

    fn bytes(
        self,
        columns: [&Column; 3],
        out: &mut Column,
        flip: impl Fn(u32, u32) -> (u32, u32) + Copy,
        x_down: u32,
        y_down: u32,
    ) {
        let (even, odd) = (self.mask & 0x00ff_00ff, self.mask >> 8 & 0x00ff_00ff);
        let halves = |word: u32| (word & 0xffff) + (word >> 16);
        if self.subtract {
            // The added constant keeps sums of pairs above zero.
            let down = x_down.wrapping_sub(y_down).wrapping_add(0x800);
            each(columns, out, move |x, y, z| {
                let (x, y) = flip(x, y);
                let pairs = (x & even) + 0x0400_0400 - (y & even) + (x >> 8 & odd) - (y >> 8 & odd);
                z.wrapping_add(halves(pairs)).wrapping_sub(down)
            });
        } else {
            let down = x_down.wrapping_add(y_down);
            each(columns, out, move |x, y, z| {
                let (x, y) = flip(x, y);
                let pairs = (x & even) + (y & even) + (x >> 8 & odd) + (y >> 8 & odd);
                z.wrapping_add(halves(pairs)).wrapping_sub(down)
            });
        }
    }

    fn halves(
        self,
        columns: [&Column; 3],
        out: &mut Column,
        flip: impl Fn(u32, u32) -> (u32, u32) + Copy,
        sum: impl Fn(u32) -> u32 + Copy,
        x_down: u32,
        y_down: u32,
    ) {
        if self.subtract {
            let down = x_down.wrapping_sub(y_down);
            each(columns, out, move |x, y, z| {
                let (x, y) = flip(x, y);
                z.wrapping_add(sum(x)).wrapping_sub(sum(y)).wrapping_sub(down)
            });
        } else {
            let down = x_down.wrapping_add(y_down);
            each(columns, out, move |x, y, z| {
                let (x, y) = flip(x, y);
                z.wrapping_add(sum(x) + sum(y)).wrapping_sub(down)
            });
        }
    }
}

/// A kernel that moves lanes of two columns to their places in a word.
#[derive(Clone, Debug)]
pub(super) struct Gather {
    pub(super) moves: Vec<Move>,
}

/// A move of bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Move {
    /// The column that the bits come from, 0 or 1.
    pub(super) column: usize,
    pub(super) from: u8,
    pub(super) to: u8,
    pub(super) width: u8,
}

impl Gather {
    /// Reverses the order of lanes.
    pub(super) fn turned(bits: u8) -> Gather {
        let lane = |at| Move { column: 0, from: at * bits, to: 32 - bits - at * bits, width: bits };
        Gather { moves: (0..32 / bits).map(lane).collect() }
    }

    pub(super) fn run(&self, columns: [&Column; 3], out: &mut Column) {
        // For each column and each rotation by bytes, the bits to take.
        let mut masks = [[0; 4]; 2];
        let mut reversed = true;
        for &Move { column, from, to, width } in &self.moves {
            let turn = (to.wrapping_sub(from) & 31) / 8;
            masks[column][usize::from(turn)] |= (((1u64 << width) - 1) << to) as u32;
            reversed &= column == 0 && width == 8 && from + to == 24;
        }
        // Lanes that nothing is moved to may hold any bits.
        match masks {
            _ if reversed => each(columns, out, |x, _, _| x.swap_bytes()),
            [[0, 0, _, 0], [0, 0, 0, 0]] => each(columns, out, |x, _, _| x.rotate_left(16)),
            [[m0, 0, m2, 0], [0, 0, n2, 0]] => each(columns, out, move |x, y, _| {
                (x & m0) | (x.rotate_left(16) & m2) | (y.rotate_left(16) & n2)
            }),
            [[0, _, 0, 0], [0, 0, 0, 0]] => each(columns, out, |x, _, _| x.rotate_left(8)),
            [[0, 0, 0, _], [0, 0, 0, 0]] => each(columns, out, |x, _, _| x.rotate_left(24)),
            [m, [0, 0, 0, 0]] => each(columns, out, move |x, _, _| turned(x, m)),
            [m, n] => each(columns, out, move |x, y, _| turned(x, m) | turned(y, n)),
        }
    }
}

fn turned(word: u32, masks: [u32; 4]) -> u32 {
    (word & masks[0])
        | (word.rotate_left(8) & masks[1])
        | (word.rotate_left(16) & masks[2])
        | (word.rotate_left(24) & masks[3])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Calls the one loop directly: machines with wide vectors run two loops instead.
    #[test]
    fn one_loop_computes_and_sums_halves() {
        let kernel = LanesKernel {
            op: LaneOp::Plain(Binary::AddSat),
            bits: 16,
            element: Element::Unsigned,
            signed: [false; 2],
            signed_results: false,
            clamp: None,
            post: LanePost::Sum,
            mask: u32::MAX,
            turned: false,
        };
        let (x, y, z) = ([0x0002_0001_u32; BLOCK], [0xffff_0005_u32; BLOCK], [7_u32; BLOCK]);
        let mut out = [0_u32; BLOCK];
        kernel.in_loop::<u16, 2>([&x, &y, &z], &mut out, u16::saturating_add);
        // The upper sum is limited.
        assert_eq!(out, [7 + 0xffff + 6; BLOCK]);
    }
}
