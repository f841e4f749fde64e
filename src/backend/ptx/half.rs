//! Arithmetic on halves as floating-point numbers (`.f16`), rounded to the nearest even number.

use std::cmp::Ordering;

const SIGN: u16 = 0x8000;
const INFINITY: u16 = 0x7c00;
/// The result of GPUs for everything that is no number.
const NAN: u16 = 0x7fff;
const ONE: u16 = 0x3c00;

/// A finite number in units of 2^-24, the smallest number above zero.
fn units(half: u16) -> Option<i64> {
    let (exponent, fraction) = (half >> 10 & 31, i64::from(half & 0x3ff));
    let magnitude = match exponent {
        31 => return None,
        0 => fraction,
        _ => (0x400 | fraction) << (exponent - 1),
    };
    Some(if half & SIGN == 0 { magnitude } else { -magnitude })
}

fn is_nan(half: u16) -> bool {
    half & !SIGN > INFINITY
}

/// The half nearest to a number of units.
fn nearest(units: i64) -> u16 {
    let sign = if units < 0 { SIGN } else { 0 };
    let magnitude = units.unsigned_abs();
    // A half has 11 significant bits.
    let shift = (64 - magnitude.leading_zeros()).saturating_sub(11);
    let (kept, rest) = (magnitude >> shift, magnitude & ((1 << shift) - 1));
    let is_up = match (2 * rest).cmp(&(1 << shift)) {
        Ordering::Less => false,
        Ordering::Equal => kept & 1 == 1,
        Ordering::Greater => true,
    };
    // The highest of the kept bits, if it is set, adds 1 to the exponent.
    let bits = (u64::from(shift) << 10) + kept + u64::from(is_up);
    sign | bits.min(INFINITY.into()) as u16
}

/// `x + y`
pub(super) fn sum(x: u16, y: u16) -> u16 {
    match (units(x), units(y)) {
        _ if is_nan(x) || is_nan(y) => NAN,
        (Some(0), Some(0)) => x & y,
        (Some(x), Some(y)) => nearest(x + y),
        (None, Some(_)) => x,
        (Some(_), None) => y,
        (None, None) => {
            if x == y {
                x
            } else {
                NAN
            }
        }
    }
}

/// `x - y`
pub(super) fn difference(x: u16, y: u16) -> u16 {
    sum(x, y ^ SIGN)
}

/// A number clamped to the range from 0 to 1; 0 for NaN.
pub(super) fn saturated(half: u16) -> u16 {
    if is_nan(half) || half & SIGN != 0 { 0 } else { half.min(ONE) }
}

/// The smaller number; -0 is below 0.
pub(super) fn smaller(x: u16, y: u16) -> u16 {
    extremum(x, y, Ordering::Less)
}

/// The larger number.
pub(super) fn larger(x: u16, y: u16) -> u16 {
    extremum(x, y, Ordering::Greater)
}

fn extremum(x: u16, y: u16, wanted: Ordering) -> u16 {
    // Magnitudes have the order of their bits.
    let order = |half: u16| {
        let magnitude = i32::from(half & !SIGN);
        if half & SIGN == 0 { magnitude } else { -1 - magnitude }
    };
    match (is_nan(x), is_nan(y)) {
        (true, true) => NAN,
        (true, false) => y,
        (false, true) => x,
        (false, false) => {
            if order(x).cmp(&order(y)) == wanted {
                x
            } else {
                y
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An H200 gave these results (`fixtures/halves.txt`).
    #[test]
    fn results_are_those_of_a_gpu() {
        let ops: [fn(u16, u16) -> u16; 6] = [
            sum,
            difference,
            |x, y| saturated(sum(x, y)),
            |x, y| saturated(difference(x, y)),
            smaller,
            larger,
        ];
        let text = include_str!("../../../fixtures/halves.txt");
        let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
        assert!(lines.len() > 700);
        for line in lines {
            let halves: Vec<u16> = line
                .split_whitespace()
                .map(|half| u16::from_str_radix(half, 16).expect(line))
                .collect();
            let [x, y, expected @ ..] = &halves[..] else { panic!("{line}") };
            assert_eq!(ops.map(|op| op(*x, *y)), expected, "{line}");
        }
    }

    /// The bits of a small half are its multiple of the smallest number above zero.
    #[test]
    fn small_numbers_are_integers() {
        let half = |value: i32| value.unsigned_abs() as u16 | if value < 0 { SIGN } else { 0 };
        for x in -2047..=2047 {
            for y in (-2047..=2047).step_by(7) {
                let both = half(x + y);
                if (x + y).abs() <= 2047 {
                    assert_eq!(sum(half(x), half(y)), both);
                    assert_eq!(saturated(both), half((x + y).max(0)));
                }
                assert_eq!(smaller(half(x), half(y)), half(x.min(y)));
                assert_eq!(larger(half(x), half(y)), half(x.max(y)));
            }
        }
    }
}
