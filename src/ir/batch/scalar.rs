//! Kernels that compute one value from a word of each column.

use super::Column;
use super::kernel::{BLOCK, Binary, Int, each, each_on};
use super::vectors::{Any, Vectors, Wide};
use crate::ir::Range;

/// A kernel: bits of a column's words, sign- or zero-extended.
#[derive(Clone, Copy, Debug)]
pub(super) struct Extract {
    pub(super) low: u8,
    /// At most 32 together with `low`.
    pub(super) width: u8,
    pub(super) signed: bool,
}

impl Extract {
    pub(super) fn run(self, columns: [&Column; 3], out: &mut Column) {
        // Shifts by constants are faster.
        match (self.low, self.width) {
            (0, 8) => self.fixed::<24, 24>(columns, out),
            (8, 8) => self.fixed::<16, 24>(columns, out),
            (16, 8) => self.fixed::<8, 24>(columns, out),
            (24, 8) => self.fixed::<0, 24>(columns, out),
            (0, 16) => self.fixed::<16, 16>(columns, out),
            (16, 16) => self.fixed::<0, 16>(columns, out),
            (low, width) => {
                let (left, right) = (32 - u32::from(low + width), 32 - u32::from(width));
                self.shifted(columns, out, left & 31, right & 31);
            }
        }
    }

    fn fixed<const LEFT: u32, const RIGHT: u32>(self, columns: [&Column; 3], out: &mut Column) {
        self.shifted(columns, out, LEFT, RIGHT);
    }

    #[inline(always)]
    #[expect(clippy::inline_always, reason = "one loop for each pair of shifts")]
    fn shifted(self, columns: [&Column; 3], out: &mut Column, left: u32, right: u32) {
        if self.signed {
            let get = move |word: u32| word.cast_signed() << left >> right;
            each(columns, out, move |x, _, _| get(x).cast_unsigned());
        } else {
            each(columns, out, move |x, _, _| x << left >> right);
        }
    }
}

/// A word as a signed or unsigned value.
fn extend(word: u32, signed: bool) -> i64 {
    let mask = if signed { -1 } else { 0xffff_ffff };
    i64::from(word.cast_signed()) & mask
}

/// The type that a kernel computes in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Width {
    I32,
    U32,
    I64,
}

impl Width {
    pub(super) const ALL: [Width; 3] = [Width::I32, Width::U32, Width::I64];

    pub(super) fn range(self) -> Range {
        match self {
            Width::I32 => Range::bits(32, true),
            Width::U32 => Range::bits(32, false),
            Width::I64 => Range::bits(64, true),
        }
    }

    /// Whether there is a kernel for an operation. Only useful kernels exist, because each costs
    /// code size.
    pub(super) fn has(self, op: Binary) -> bool {
        match op {
            Binary::AbsOfSub
            | Binary::Average
            | Binary::Eq
            | Binary::Ne
            | Binary::EqMixed
            | Binary::NeMixed
            | Binary::AddSatMixed
            | Binary::SubSatMixed => self == Width::I32,
            Binary::AddSat | Binary::SubSat => self != Width::I64,
            Binary::Add | Binary::Sub | Binary::Mul | Binary::Shl | Binary::ShlBelow32 => {
                self != Width::U32
            }
            _ => true,
        }
    }
}

trait ScalarValue: Int {
    const UNSIGNED: bool;
    /// Whether the type has 32 bits.
    const NARROW: bool;
    fn load(word: u32, signed: bool) -> Self;
    fn low(self) -> u32;
    /// Flips the highest bit if `unsigned`, so that a signed comparison orders unsigned values.
    /// The low word of a 64-bit value stays.
    fn biased(self, unsigned: bool) -> Self;
    /// Flips the highest bit if `highest`, and then all bits if `all`.
    fn flipped(self, highest: bool, all: bool) -> Self {
        let it = self.biased(highest);
        if all { it.not() } else { it }
    }
    fn not(self) -> Self;
    fn xor(self, other: Self) -> Self;
    fn mul(self, other: Self) -> Self;
    fn shl(self, amount: Self) -> Self;
    fn shr(self, amount: Self) -> Self;
    fn shl_below_32(self, amount: Self) -> Self;
    fn shr_below_32(self, amount: Self) -> Self;
}

macro_rules! value {
    ($($int:ident)*) => {$(
        impl ScalarValue for $int {
            const UNSIGNED: bool = $int::MIN == 0;
            const NARROW: bool = $int::BITS == 32;
            fn load(word: u32, signed: bool) -> $int {
                extend(word, signed) as $int
            }
            fn low(self) -> u32 {
                self as u32
            }
            fn biased(self, unsigned: bool) -> $int {
                self ^ $int::from(unsigned) << ($int::BITS - 1)
            }
            fn not(self) -> $int {
                !self
            }
            fn xor(self, other: $int) -> $int {
                self ^ other
            }
            fn mul(self, other: $int) -> $int {
                self.wrapping_mul(other)
            }
            fn shl(self, amount: $int) -> $int {
                if (amount as u32) < 32 { self << (amount as u32 & 31) } else { self << 16 << 16 }
            }
            fn shr(self, amount: $int) -> $int {
                if (amount as u32) < 32 { self >> (amount as u32 & 31) } else { self >> 16 >> 16 }
            }
            fn shl_below_32(self, amount: $int) -> $int {
                self << (amount as u32 & 31)
            }
            fn shr_below_32(self, amount: $int) -> $int {
                self >> (amount as u32 & 31)
            }
        }
    )*};
}

value! { i32 u32 i64 }

/// How a kernel reads a part of a column's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Load {
    /// A half or a byte. A shift to the left first moves it to the top of the word.
    Half(PartShift),
    Byte(PartShift),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PartShift {
    left: u32,
    /// All ones for signed parts; for unsigned parts, the mask that clears the copied sign.
    mask: i32,
}

impl PartShift {
    fn half(self, word: u32) -> i32 {
        ((word << (self.left & 31)).cast_signed() >> 16) & self.mask
    }

    fn byte(self, word: u32) -> i32 {
        ((word << (self.left & 31)).cast_signed() >> 24) & self.mask
    }
}

impl Load {
    /// `None` unless the bits are a half or a byte that starts at a byte boundary.
    pub(super) fn new(low: u8, width: u8, signed: bool) -> Option<Load> {
        if !low.is_multiple_of(8) {
            return None;
        }
        let left = u32::from(32u8.checked_sub(low + width)?);
        let mask = if signed { -1 } else { (1 << (width & 31)) - 1 };
        match width {
            8 => Some(Load::Byte(PartShift { left, mask })),
            16 => Some(Load::Half(PartShift { left, mask })),
            _ => None,
        }
    }
}

/// The use of a computed value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Post {
    /// Its low word is the result.
    Word,
    /// The value is added to the third column.
    Add,
    /// The value is inserted into the third column.
    Insert {
        low: u32,
        mask: u32,
    },
    /// The smaller of the value and the third column, compared as unsigned if `unsigned`.
    Min {
        unsigned: bool,
    },
    Max {
        unsigned: bool,
    },
}

/// The bounds of a clamp that values can exceed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bounds {
    Both,
    Above,
    /// The upper bound only, for values read as unsigned.
    AboveUnsigned,
}

/// A kernel: an operation, an optional clamp, and the use of the result.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scalar {
    pub(super) op: Binary,
    pub(super) width: Width,
    /// Whether the words of each column are signed. Only [`Width::I64`] depends on it.
    pub(super) signed: [bool; 3],
    pub(super) clamp: Option<Range>,
    pub(super) bounds: Bounds,
    /// The number of high bits that a shift to the left must replace by copies of the sign.
    pub(super) cut: u32,
    pub(super) post: Post,
    /// The bits to extract from the words of the first two columns, on machines that can do so
    /// in the same loop; not with [`Width::I64`].
    pub(super) fields: Option<(Wide, [Field; 2])>,
}

/// Bits of a word, sign- or zero-extended, or the whole word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Field {
    left: u32,
    right: u32,
    mask: u32,
}

impl Field {
    pub(super) const WORD: Field = Field { left: 0, right: 0, mask: u32::MAX };

    fn get(self, word: u32) -> u32 {
        ((word << (self.left & 31)).cast_signed() >> (self.right & 31)).cast_unsigned() & self.mask
    }
}

impl From<Extract> for Field {
    fn from(Extract { low, width, signed }: Extract) -> Field {
        let mask = if signed { u32::MAX } else { ((1u64 << width) - 1) as u32 };
        Field { left: 32 - u32::from(low + width), right: 32 - u32::from(width), mask }
    }
}

impl Scalar {
    pub(super) fn run(&self, columns: [&Column; 3], out: &mut Column) {
        match self.width {
            Width::I32 => self.narrow(columns, out),
            Width::U32 => self.common::<u32>(columns, out),
            Width::I64 => self.wide(columns, out),
        }
    }

    fn narrow(&self, columns: [&Column; 3], out: &mut Column) {
        match self.op {
            Binary::Add => self.finish(columns, out, i32::add),
            Binary::Sub => self.finish(columns, out, i32::sub),
            Binary::Mul => self.finish(columns, out, i32::mul),
            Binary::Average => self.finish(columns, out, i32::average),
            Binary::AbsOfSub => self.finish(columns, out, |x: i32, y| x.sub(y).wrapping_abs()),
            Binary::Eq => self.load(columns, out, |x: i32, y| i32::truth(x == y)),
            Binary::Ne => self.load(columns, out, |x: i32, y| i32::truth(x != y)),
            // The unsigned term cannot make a sum smaller, unless the sum overflows.
            Binary::AddSatMixed => self.load(columns, out, |x: i32, y| {
                let sum = x.add(y);
                if sum < x { i32::MAX } else { sum }
            }),
            Binary::SubSatMixed => self.load(columns, out, |x: i32, y| {
                let difference = x.sub(y);
                if difference > x { i32::MIN } else { difference }
            }),
            Binary::EqMixed => {
                self.load(columns, out, |x: i32, y| i32::truth(x == y && x >= 0));
            }
            Binary::NeMixed => {
                self.load(columns, out, |x: i32, y| i32::truth(x != y || x < 0));
            }
            Binary::Shl => self.finish(columns, out, i32::shl),
            Binary::ShlBelow32 => self.finish(columns, out, i32::shl_below_32),
            _ => self.common::<i32>(columns, out),
        }
    }

    fn common<T: ScalarValue>(&self, columns: [&Column; 3], out: &mut Column) {
        match self.op {
            Binary::AddSat => self.finish(columns, out, T::add_sat),
            Binary::SubSat => self.finish(columns, out, T::sub_sat),
            _ => self.all::<T>(columns, out),
        }
    }

    fn wide(&self, columns: [&Column; 3], out: &mut Column) {
        let cut = self.cut & 63;
        match self.op {
            Binary::Add => self.finish(columns, out, i64::add),
            Binary::Sub => self.finish(columns, out, i64::sub),
            Binary::Mul => self.finish(columns, out, i64::mul),
            Binary::Shl => self.finish(columns, out, move |x: i64, y| x.shl(y) << cut >> cut),
            Binary::ShlBelow32 => {
                self.finish(columns, out, move |x: i64, y| x.shl_below_32(y) << cut >> cut);
            }
            _ => self.all::<i64>(columns, out),
        }
    }

    fn all<T: ScalarValue>(&self, columns: [&Column; 3], out: &mut Column) {
        match self.op {
            Binary::AbsDiff => self.finish(columns, out, T::distance),
            Binary::Min => self.finish(columns, out, T::min),
            Binary::Max => self.finish(columns, out, T::max),
            Binary::Lt => self.load(columns, out, |x, y| T::truth(x < y)),
            Binary::Le => self.load(columns, out, |x, y| T::truth(x <= y)),
            Binary::Shr => self.finish(columns, out, T::shr),
            Binary::ShrBelow32 => self.finish(columns, out, T::shr_below_32),
            _ => self.finish(columns, out, |x: T, _| x),
        }
    }

    fn finish<T: ScalarValue>(
        &self,
        columns: [&Column; 3],
        out: &mut Column,
        f: impl Fn(T, T) -> T + Copy,
    ) {
        match self.clamp {
            None => self.load(columns, out, f),
            Some(Range { min, max }) => {
                let (min, max) = (T::nearest(min), T::nearest(max));
                match self.bounds {
                    Bounds::Both => self.load(columns, out, move |x, y| f(x, y).max(min).min(max)),
                    Bounds::Above => self.load(columns, out, move |x, y| f(x, y).min(max)),
                    Bounds::AboveUnsigned => {
                        let max = max.biased(true);
                        self.load(columns, out, move |x, y| {
                            f(x, y).biased(true).min(max).biased(true)
                        });
                    }
                }
            }
        }
    }

    fn load<T: ScalarValue>(
        &self,
        columns: [&Column; 3],
        out: &mut Column,
        f: impl Fn(T, T) -> T + Copy,
    ) {
        let [x, y, _] = self.signed;
        match self.fields {
            Some((wide, [x_field, y_field])) if T::NARROW => {
                self.post(wide, columns, out, move |x_word, y_word| {
                    f(T::load(x_field.get(x_word), x), T::load(y_field.get(y_word), y))
                });
            }
            _ => self.post(Any, columns, out, move |x_word, y_word| {
                f(T::load(x_word, x), T::load(y_word, y))
            }),
        }
    }

    fn post<T: ScalarValue>(
        &self,
        vectors: impl Vectors,
        columns: [&Column; 3],
        out: &mut Column,
        f: impl Fn(u32, u32) -> T + Copy,
    ) {
        let z = self.signed[2];
        match self.post {
            Post::Word => each_on(vectors, columns, out, move |x, y, _| f(x, y).low()),
            Post::Add => {
                each_on(vectors, columns, out, move |x, y, z| f(x, y).low().wrapping_add(z));
            }
            Post::Insert { low: 0, mask } => {
                each_on(vectors, columns, out, move |x, y, z| (f(x, y).low() & mask) | (z & !mask));
            }
            Post::Insert { low, mask } => each_on(vectors, columns, out, move |x, y, z| {
                (f(x, y).low() << (low & 31) & mask) | (z & !mask)
            }),
            Post::Min { unsigned } | Post::Max { unsigned } => {
                // The complement of the smaller complement is the larger one.
                let complement = matches!(self.post, Post::Max { .. });
                let flip = T::truth(false).flipped(unsigned != T::UNSIGNED, complement);
                each_on(vectors, columns, out, move |x, y, third| {
                    let [value, third] = [f(x, y), T::load(third, z)].map(|it| it.xor(flip));
                    value.min(third).xor(flip).low()
                });
            }
        }
    }
}

/// A kernel: the sum of a product of parts and a third value, shifted right.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scaled {
    pub(super) loads: [Load; 2],
    pub(super) more: i32,
    /// 7 or 15.
    pub(super) shift: u32,
}

impl Scaled {
    pub(super) fn run(self, columns: [&Column; 3], out: &mut Column) {
        if self.shift == 7 {
            self.shifted::<7>(columns, out);
        } else {
            self.shifted::<15>(columns, out);
        }
    }

    fn shifted<const SHIFT: u32>(self, [x, y, z]: [&Column; 3], out: &mut Column) {
        match self.loads {
            [Load::Half(a), Load::Half(b)] => {
                self.sum::<SHIFT>([x, y, z], out, move |x, y| a.half(x) * b.half(y));
            }
            [Load::Half(a), Load::Byte(b)] => {
                self.sum::<SHIFT>([x, y, z], out, move |x, y| a.half(x) * b.byte(y));
            }
            [Load::Byte(b), Load::Half(a)] => {
                self.sum::<SHIFT>([y, x, z], out, move |x, y| a.half(x) * b.byte(y));
            }
            [Load::Byte(a), Load::Byte(b)] => {
                self.sum::<SHIFT>([x, y, z], out, move |x, y| a.byte(x) * b.byte(y));
            }
        }
    }

    /// Adds the low bits separately, so that no sum needs more than 32 bits.
    fn sum<const SHIFT: u32>(
        self,
        columns: [&Column; 3],
        out: &mut Column,
        f: impl Fn(u32, u32) -> i32 + Copy,
    ) {
        let (more, low) = (self.more, (1 << SHIFT) - 1);
        each(columns, out, move |x, y, z| {
            let (product, z) = (f(x, y), z.cast_signed());
            let carry = ((product & low) + (z & low) + more) >> SHIFT;
            ((product >> SHIFT) + (z >> SHIFT) + carry).cast_unsigned()
        });
    }
}

/// A kernel: a sum of a product, a third value and a constant, shifted right
/// and clamped.
#[derive(Clone, Copy, Debug)]
pub(super) struct MultiplyAddKernel {
    /// Whether the words of each column are signed.
    pub(super) signed_words: [bool; 3],
    pub(super) negate_product: bool,
    pub(super) negate_third: bool,
    pub(super) more: i64,
    /// Whether the 64-bit sum is signed.
    pub(super) signed: bool,
    pub(super) shift: u32,
    pub(super) clamp: Option<Range>,
}

impl MultiplyAddKernel {
    pub(super) fn run(&self, columns: [&Column; 3], out: &mut Column) {
        let shift = self.shift & 63;
        let plain = !self.negate_product && !self.negate_third && self.more == 0;
        match (self.clamp, self.signed_words, shift) {
            (Some(range), [true, true, true], 0 | 7 | 15)
                if plain && self.signed && range == Width::I32.range() =>
            {
                return match shift {
                    0 => signed_sum::<0>(columns, out),
                    7 => signed_sum::<7>(columns, out),
                    _ => signed_sum::<15>(columns, out),
                };
            }
            (Some(range), [false, false, false], 0)
                if plain && !self.signed && range == Width::U32.range() =>
            {
                return each(columns, out, move |x, y, z| {
                    let sum = u64::from(x) * u64::from(y) + u64::from(z);
                    if sum >> 32 == 0 { sum as u32 } else { u32::MAX }
                });
            }
            _ => {}
        }
        let Range { min, max } = self.clamp.unwrap_or(Range::new(i128::MIN, i128::MAX));
        // Clamps to a word without branches, which would often be mispredicted.
        match (self.signed, self.clamp) {
            (true, Some(range)) if range == Width::I32.range() => {
                self.sum(columns, out, move |sum| {
                    let sum = sum >> shift;
                    let (low, bound) = (sum as u32, (sum >> 63) as u32 ^ 0x7fff_ffff);
                    // All ones if the high bits are more than copies of the sign.
                    let over = u32::from(sum != i64::from(low.cast_signed())).wrapping_neg();
                    (low & !over) | (bound & over)
                });
            }
            (true, _) => {
                let (min, max) = (i64::nearest(min), i64::nearest(max));
                self.sum(columns, out, move |sum| (sum >> shift).max(min).min(max) as u32);
            }
            (false, Some(range)) if range == Width::U32.range() => {
                self.sum(columns, out, move |sum| {
                    let sum = sum.cast_unsigned() >> shift;
                    sum as u32 | u32::from(sum >> 32 != 0).wrapping_neg()
                });
            }
            (false, _) => {
                let bound = |value: i128| value.clamp(0, u64::MAX.into()) as u64;
                let (min, max) = (bound(min), bound(max));
                self.sum(columns, out, move |sum| {
                    (sum.cast_unsigned() >> shift).max(min).min(max) as u32
                });
            }
        }
    }

    /// Computes sums modulo 2^64, a block of them before `f` uses them. The compiler generates
    /// poor code for both in one loop.
    fn sum(&self, columns: [&Column; 3], out: &mut Column, f: impl Fn(i64) -> u32 + Copy) {
        let more = self.more;
        if self.signed_words == [true; 3] && !self.negate_product && !self.negate_third {
            let sum = move |[x, y, z]: [u32; 3]| {
                let [x, y, z] = [x, y, z].map(|word| i64::from(word.cast_signed()));
                (x * y).wrapping_add(z).wrapping_add(more)
            };
            in_blocks(columns, out, sum, f);
        } else {
            let [x_signed, y_signed, z_signed] = self.signed_words;
            let [product, third] =
                [self.negate_product, self.negate_third].map(|negate| -i64::from(negate));
            let sum = move |[x, y, z]: [u32; 3]| {
                let factors = extend(x, x_signed).wrapping_mul(extend(y, y_signed));
                let z = extend(z, z_signed);
                (factors ^ product)
                    .wrapping_sub(product)
                    .wrapping_add((z ^ third).wrapping_sub(third))
                    .wrapping_add(more)
            };
            in_blocks(columns, out, sum, f);
        }
    }
}

/// The most common sum, with a constant shift.
fn signed_sum<const SHIFT: u32>(columns: [&Column; 3], out: &mut Column) {
    each(columns, out, |x, y, z| {
        let [x, y, z] = [x, y, z].map(|word| i64::from(word.cast_signed()));
        ((x * y + z) >> SHIFT).clamp(i32::MIN.into(), i32::MAX.into()) as u32
    });
}

fn in_blocks(
    columns: [&Column; 3],
    out: &mut Column,
    sum: impl Fn([u32; 3]) -> i64 + Copy,
    f: impl Fn(i64) -> u32 + Copy,
) {
    Any.run(
        #[inline(always)]
        move || {
            let [x, y, z] = columns.map(|column| column.as_chunks::<BLOCK>().0);
            let out = out.as_chunks_mut::<BLOCK>().0;
            for (((out, x), y), z) in out.iter_mut().zip(x).zip(y).zip(z) {
                let mut sums = [0; BLOCK];
                for (((to, &x), &y), &z) in sums.iter_mut().zip(x).zip(y).zip(z) {
                    *to = sum([x, y, z]);
                }
                for (out, &sum) in out.iter_mut().zip(&sums) {
                    *out = f(sum);
                }
            }
        },
    );
}
