//! Ranges of the values of a program.

use std::fmt;

use super::{Op, Value};
use crate::isa::Compare;

/// All integers from `min` to `max`, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Range {
    /// The least value.
    pub min: i128,
    /// The greatest value; not below `min`.
    pub max: i128,
}

impl Range {
    /// The range from `min` to `max`.
    pub const fn new(min: i128, max: i128) -> Range {
        Range { min, max }
    }

    /// The values that `width` bits can hold, signed or unsigned.
    ///
    /// # Panics
    /// If the width is 0 and the range signed, or above 127: such ranges do not exist.
    pub const fn bits(width: u8, signed: bool) -> Range {
        assert!(width <= 127 && (width > 0 || !signed), "no integers have this width");
        if signed {
            Range { min: -(1 << (width - 1)), max: (1 << (width - 1)) - 1 }
        } else {
            Range { min: 0, max: i128::MAX >> (127 - width) }
        }
    }

    /// Whether a value lies in it.
    pub const fn contains(self, value: i128) -> bool {
        self.min <= value && value <= self.max
    }

    /// Whether all of `other` lies in it.
    pub const fn contains_range(self, other: Range) -> bool {
        self.min <= other.min && other.max <= self.max
    }

    /// The sums of its values and those of another range.
    pub(crate) fn plus(self, other: Range) -> Range {
        Range::new(self.min + other.min, self.max + other.max)
    }

    /// The differences.
    pub(crate) fn minus(self, other: Range) -> Range {
        Range::new(self.min - other.max, self.max - other.min)
    }

    /// The minima.
    pub(crate) fn least(self, other: Range) -> Range {
        Range::new(self.min.min(other.min), self.max.min(other.max))
    }

    /// The maxima.
    pub(crate) fn greatest(self, other: Range) -> Range {
        Range::new(self.min.max(other.min), self.max.max(other.max))
    }

    /// The range that holds both.
    pub(crate) fn joined(self, other: Range) -> Range {
        Range::new(self.min.min(other.min), self.max.max(other.max))
    }

    /// The results of an operation that has its least and its greatest result where both operands
    /// are at an end of their range.
    fn hull(self, other: Range, of: impl Fn(i128, i128) -> i128) -> Range {
        let ends = [self.min, self.max].map(|x| [of(x, other.min), of(x, other.max)]);
        let [[a, b], [c, d]] = ends;
        Range { min: a.min(b).min(c).min(d), max: a.max(b).max(c).max(d) }
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}..{}", self.min, self.max)
    }
}

/// The range of an operation's result, given the ranges of its operands.
pub(super) fn of(op: &Op, range: impl Fn(Value) -> Range) -> Range {
    match *op {
        Op::Input(_) | Op::Insert { .. } => Range::bits(32, false),
        Op::Constant(value) => Range::new(value, value),
        Op::Extract { value, low, width, signed } => {
            // A right shift keeps order, so the shifted range holds unless high bits are cut
            // off.
            let whole = Range::bits(width, signed);
            let inner = range(value);
            let shifted = Range::new(inner.min >> low, inner.max >> low);
            if whole.contains_range(shifted) { shifted } else { whole }
        }
        Op::Add(x, y) => range(x).plus(range(y)),
        Op::Sub(x, y) => range(x).minus(range(y)),
        // Text that is not verified yet may have huge ranges. Verification refuses them.
        Op::Mul(x, y) => range(x).hull(range(y), i128::saturating_mul),
        Op::AbsDiff(x, y) => {
            let Range { min: low, max: high } = range(x).minus(range(y));
            let min = if low > 0 {
                low
            } else if high < 0 {
                -high
            } else {
                0
            };
            Range::new(min, low.abs().max(high.abs()))
        }
        Op::Min(x, y) => range(x).least(range(y)),
        Op::Max(x, y) => range(x).greatest(range(y)),
        Op::Shl(x, y) => range(x).hull(range(y), |x, by| x << by),
        Op::Shr(x, y) => range(x).hull(range(y), |x, by| x >> by),
        Op::Compare(compare, x, y) => compared(compare, range(x), range(y)),
        Op::Clamp(value, range_) => {
            let inner = range(value);
            Range::new(
                inner.min.clamp(range_.min, range_.max),
                inner.max.clamp(range_.min, range_.max),
            )
        }
    }
}

/// `0..0` or `1..1` if the ranges decide the comparison, else `0..1`.
fn compared(compare: Compare, x: Range, y: Range) -> Range {
    let apart = x.max < y.min || y.max < x.min;
    let (always, never) = match compare {
        Compare::Eq => (x.min == x.max && x == y, apart),
        Compare::Ne => (apart, x.min == x.max && x == y),
        Compare::Lt => (x.max < y.min, x.min >= y.max),
        Compare::Le => (x.max <= y.min, x.min > y.max),
        Compare::Gt => (x.min > y.max, x.max <= y.min),
        Compare::Ge => (x.min >= y.max, x.max < y.min),
    };
    Range::new(i128::from(always), i128::from(!never))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_width_up_to_127_bits_has_its_range() {
        for width in 1..=127 {
            let all = Range::bits(width, false);
            assert_eq!((all.min, all.max as u128), (0, (1 << width) - 1), "{width}");
            let signed = Range::bits(width, true);
            assert_eq!(signed.max - signed.min, all.max, "{width}");
            assert_eq!(signed.max + signed.min, -1, "{width}");
        }
        assert_eq!(Range::bits(0, false), Range::new(0, 0));
    }

    #[test]
    fn a_part_of_a_small_value_is_small() {
        let part = |low, width, signed| {
            let part = Op::Extract { value: Value(0), low, width, signed };
            of(&part, |_| Range::new(16, 0x2ff))
        };
        assert_eq!(part(4, 8, false), Range::new(1, 0x2f));
        assert_eq!(part(4, 8, true), Range::new(1, 0x2f));
        assert_eq!(part(8, 3, true), Range::new(0, 2));
        assert_eq!(part(8, 1, false), Range::bits(1, false));
        assert_eq!(part(0, 8, false), Range::bits(8, false));
    }
}
