//! Common parts of the kernels.

use super::vectors::{Any, Vectors};
use super::{Column, Input};

/// Columns have a multiple of this many words, which the compiler processes at once.
pub(super) const GRAIN: usize = 32;

/// Words that some kernels process together. A grain has a whole number of blocks.
pub(super) const BLOCK: usize = 16;

/// Operations of kernels on two values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Binary {
    /// The first value alone.
    First,
    Add,
    Sub,
    /// Saturated to the range of the type.
    AddSat,
    SubSat,
    /// The sum of a signed word and an unsigned one, saturated to a signed word.
    AddSatMixed,
    SubSatMixed,
    Mul,
    AbsDiff,
    /// The absolute difference, if the difference does not overflow.
    AbsOfSub,
    Min,
    Max,
    /// Half the sum, rounded up if the sum is zero or more, else down.
    Average,
    Eq,
    Ne,
    /// Whether a signed word and an unsigned one are equal.
    EqMixed,
    NeMixed,
    Lt,
    Le,
    /// Amounts above 32 count as 32.
    Shl,
    Shr,
    /// For amounts below 32.
    ShlBelow32,
    ShrBelow32,
}

/// Integers that kernels compute with. Sums, differences and products wrap: the planner makes
/// sure that no bit that matters is lost.
pub(super) trait Int: Copy + Ord {
    /// The value of this type that is nearest to `value`.
    fn nearest(value: i128) -> Self;
    fn truth(holds: bool) -> Self;
    fn add(self, other: Self) -> Self;
    fn sub(self, other: Self) -> Self;
    fn add_sat(self, other: Self) -> Self;
    fn sub_sat(self, other: Self) -> Self;
    /// The bits of the absolute difference.
    fn distance(self, other: Self) -> Self;
    fn half(self) -> Self;

    fn average(self, other: Self) -> Self {
        let sum = self.add(other);
        sum.add(Self::truth(sum >= Self::truth(false))).half()
    }
}

macro_rules! int {
    ($($int:ident)*) => {$(
        impl Int for $int {
            fn nearest(value: i128) -> $int {
                value.clamp($int::MIN.into(), $int::MAX.into()) as $int
            }
            fn truth(holds: bool) -> $int {
                holds.into()
            }
            fn add(self, other: $int) -> $int {
                self.wrapping_add(other)
            }
            fn sub(self, other: $int) -> $int {
                self.wrapping_sub(other)
            }
            fn add_sat(self, other: $int) -> $int {
                self.saturating_add(other)
            }
            fn sub_sat(self, other: $int) -> $int {
                self.saturating_sub(other)
            }
            fn distance(self, other: $int) -> $int {
                self.abs_diff(other) as $int
            }
            fn half(self) -> $int {
                self >> 1
            }
        }
    )*};
}

int! { i8 u8 i16 u16 i32 u32 i64 }

/// The source of a kernel's column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ColumnSource {
    Input(Input),
    /// A computed or constant column, by its number.
    Column(usize),
}

/// The loop of all kernels that compute word by word.
#[inline(always)]
#[expect(clippy::inline_always, reason = "one loop for each operation")]
pub(super) fn each(
    columns: [&Column; 3],
    out: &mut Column,
    f: impl Fn(u32, u32, u32) -> u32 + Copy,
) {
    each_on(Any, columns, out, f);
}

/// Like [`each`], compiled for a kind of machine.
#[inline(always)]
#[expect(clippy::inline_always, reason = "one loop for each operation")]
pub(super) fn each_on(
    vectors: impl Vectors,
    columns: [&Column; 3],
    out: &mut Column,
    f: impl Fn(u32, u32, u32) -> u32 + Copy,
) {
    vectors.run(
        #[inline(always)]
        move || in_order(columns, out, f),
    );
}

/// A separate function, because its parameters tell the compiler that the output does not overlap
/// the columns.
#[inline(always)]
#[expect(clippy::inline_always, reason = "one loop for each operation")]
fn in_order([x, y, z]: [&Column; 3], out: &mut Column, f: impl Fn(u32, u32, u32) -> u32) {
    // A length that is a multiple of the vector's needs no loop for the rest.
    let length = out.len() & !(GRAIN - 1);
    let (x, y, z) = (&x[..length], &y[..length], &z[..length]);
    for (((out, &x), &y), &z) in out[..length].iter_mut().zip(x).zip(y).zip(z) {
        *out = f(x, y, z);
    }
}
