//! The parts of kernels.

use super::vectors::{Any, Vectors};
use super::{Input, Words};

/// Columns have a multiple of so many words: the compiler takes as many at once.
pub(super) const GRAIN: usize = 32;

/// Words that some kernels handle together, of which a grain has a whole number.
pub(super) const BLOCK: usize = 16;

/// Operations on two values, as kernels have them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Binary {
    /// The first value alone.
    First,
    Add,
    Sub,
    /// Clamped to the range of the type.
    AddSat,
    SubSat,
    /// The same of a signed word and an unsigned one.
    AddSatMixed,
    SubSatMixed,
    Mul,
    AbsDiff,
    /// The same, where the difference does not overflow.
    AbsOfSub,
    Min,
    Max,
    /// Half the sum; sums of zero and more are rounded up, others down.
    Average,
    Eq,
    Ne,
    /// Of a signed word and an unsigned one.
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

/// Integers that kernels compute with. Sums and the like wrap: the planner sees
/// to it that nothing is lost that matters.
pub(super) trait Int: Copy + Ord {
    /// The nearest value.
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

/// Where a kernel finds a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ColumnSource {
    Input(Input),
    /// One that was computed, or is constant.
    Column(usize),
}

/// The one loop of all kernels.
#[inline(always)]
#[expect(clippy::inline_always, reason = "one loop for each operation")]
pub(super) fn each(columns: [&Words; 3], out: &mut Words, f: impl Fn(u32, u32, u32) -> u32 + Copy) {
    each_on(Any, columns, out, f);
}

/// The same, compiled for some machines.
#[inline(always)]
#[expect(clippy::inline_always, reason = "one loop for each operation")]
pub(super) fn each_on(
    vectors: impl Vectors,
    columns: [&Words; 3],
    out: &mut Words,
    f: impl Fn(u32, u32, u32) -> u32 + Copy,
) {
    vectors.run(
        #[inline(always)]
        move || in_order(columns, out, f),
    );
}

/// A function, so that the compiler knows that what is written is nothing of what
/// is read.
#[inline(always)]
#[expect(clippy::inline_always, reason = "one loop for each operation")]
fn in_order([x, y, z]: [&Words; 3], out: &mut Words, f: impl Fn(u32, u32, u32) -> u32) {
    // A length that vectors divide needs no loop for what is left.
    let length = out.len() & !(GRAIN - 1);
    let (x, y, z) = (&x[..length], &y[..length], &z[..length]);
    for (((out, &x), &y), &z) in out[..length].iter_mut().zip(x).zip(y).zip(z) {
        *out = f(x, y, z);
    }
}
