//! What ordinary instructions compute, as the manual says.

// Values are bit patterns, so casts take their low bits.
#![allow(clippy::cast_sign_loss, clippy::cast_possible_wrap, clippy::cast_precision_loss)]

use std::cmp::Ordering;

/// Computes a result from source values. The function ignores the bits of a source above its type,
/// and sets the same bits of the result to zero.
pub(super) type Function = Box<dyn Fn(&[u64]) -> u64>;

const WORD: u64 = 0xffff_ffff;

/// An integer type, or one of several lanes.
#[derive(Clone, Copy)]
struct Type {
    is_signed: bool,
    bits: usize,
    lanes: usize,
}

impl Type {
    fn read(text: &str) -> Option<Type> {
        let is_signed = match text.as_bytes().first()? {
            b's' => true,
            b'u' | b'b' => false,
            _ => return None,
        };
        let (bits, lanes) = text[1..].split_once('x').unwrap_or((&text[1..], "1"));
        Some(Type { is_signed, bits: bits.parse().ok()?, lanes: lanes.parse().ok()? })
    }

    /// The value of a lane.
    fn lane(self, word: u64, at: usize) -> i128 {
        let unused = 64 - self.bits;
        let top = word >> (at * self.bits) << unused;
        if self.is_signed { ((top as i64) >> unused).into() } else { (top >> unused).into() }
    }

    fn value(self, word: u64) -> i128 {
        self.lane(word, 0)
    }

    fn wrap(self, value: i128) -> u64 {
        value as u64 & u64::MAX >> (64 - self.bits)
    }

    /// The nearest value that the type has.
    fn clamp(self, value: i128) -> i128 {
        if self.is_signed {
            let half = 1 << (self.bits - 1);
            value.clamp(-half, half - 1)
        } else {
            value.clamp(0, (1 << self.bits) - 1)
        }
    }

    fn wide(self) -> Type {
        Type { bits: 2 * self.bits, ..self }
    }
}

/// The function of an instruction, by its opcode and modifiers.
pub(super) fn function(parts: &[&str]) -> Option<Function> {
    let ty = |text: &str| Type::read(text);
    Some(match *parts {
        ["cvta", "to", "global", "u64"] => Box::new(|x| x[0]),
        ["add", "f16x2"] => halves(|x, y| x + y),
        ["sub", "f16x2"] => halves(|x, y| x - y),
        ["add", "sat", "f16x2"] => halves(|x, y| limited(x + y)),
        ["sub", "sat", "f16x2"] => halves(|x, y| limited(x - y)),
        ["min", "f16x2"] => halves(smaller),
        ["max", "f16x2"] => halves(|x, y| -smaller(-x, -y)),
        ["add", t] => lanes(ty(t)?, |x, y| x + y),
        ["sub", t] => lanes(ty(t)?, |x, y| x - y),
        ["min", "f32"] => floats(|x| x[0].min(x[1])),
        ["max", "f32"] => floats(|x| x[0].max(x[1])),
        ["min", t] => lanes(ty(t)?, Ord::min),
        ["max", t] => lanes(ty(t)?, Ord::max),
        ["min", "relu", t] => lanes(ty(t)?, |x, y| x.min(y).max(0)),
        ["max", "relu", t] => lanes(ty(t)?, |x, y| x.max(y).max(0)),
        ["and", t] => lanes(ty(t)?, |x, y| x & y),
        ["or", t] => lanes(ty(t)?, |x, y| x | y),
        ["xor", t] => lanes(ty(t)?, |x, y| x ^ y),
        ["not", t] => one(ty(t)?, |x| !x),
        ["neg", t] => one(ty(t)?, |x| -x),
        ["abs", t] => one(ty(t)?, i128::abs),
        ["add", "sat", t] => saturating(ty(t)?, |x, y| x + y),
        ["sub", "sat", t] => saturating(ty(t)?, |x, y| x - y),
        ["mul", half, t] => product(ty(t)?, half)?,
        ["mad", half, t] => sum_of_product(ty(t)?, half)?,
        ["sad", t] => three(ty(t)?, |x, y, z| (x - y).abs() + z),
        ["shl", t] => shift(ty(t)?, |x, by| x << by),
        ["shr", t] => shift(ty(t)?, |x, by| x >> by),
        ["shf", direction, mode, "b32"] => funnel(direction == "l", mode == "wrap"),
        ["lop3", "b32"] => Box::new(|x| truth_table(x[0], x[1], x[2], x[3])),
        ["prmt", "b32"] => Box::new(|x| permuted(x[0], x[1], x[2])),
        ["popc", "b32"] => Box::new(|x| (x[0] as u32).count_ones().into()),
        ["brev", "b32"] => Box::new(|x| (x[0] as u32).reverse_bits().into()),
        ["bfind", "shiftamt", "u32"] => Box::new(|x| match x[0] as u32 {
            0 => WORD,
            word => word.leading_zeros().into(),
        }),
        ["selp", _] => Box::new(|x| if x[2] != 0 { x[0] } else { x[1] }),
        ["setp", order, t] => compared(order, ty(t)?)?,
        ["setp", order, joined, t] => {
            let compared = compared(order, ty(t)?)?;
            match joined {
                "and" => Box::new(move |x| compared(x) & x[2]),
                "or" => Box::new(move |x| compared(x) | x[2]),
                _ => return None,
            }
        }
        ["dp4a", a, b] => dot(ty(a)?, ty(b)?, 8, 0),
        ["dp2a", "lo", a, b] => dot(ty(a)?, ty(b)?, 16, 0),
        ["dp2a", "hi", a, b] => dot(ty(a)?, ty(b)?, 16, 2),
        ["cvt", "pack", "sat", t, "s32", ..] => packed(ty(t)?),
        ["cvt", "rn", "f32", "u32"] => Box::new(|x| (x[0] as u32 as f32).to_bits().into()),
        ["cvt", to, from] => {
            let (to, from) = (ty(to)?, ty(from)?);
            Box::new(move |x| to.wrap(from.value(x[0])))
        }
        ["fma", "rn", "f32"] => floats(|x| x[0].mul_add(x[1], x[2])),
        _ => return None,
    })
}

/// An operation on each lane.
fn lanes(ty: Type, operation: impl Fn(i128, i128) -> i128 + 'static) -> Function {
    Box::new(move |x| {
        (0..ty.lanes).fold(0, |word, at| {
            let result = operation(ty.lane(x[0], at), ty.lane(x[1], at));
            word | ty.wrap(result) << (at * ty.bits)
        })
    })
}

fn one(ty: Type, operation: fn(i128) -> i128) -> Function {
    Box::new(move |x| ty.wrap(operation(ty.value(x[0]))))
}

fn three(ty: Type, operation: fn(i128, i128, i128) -> i128) -> Function {
    Box::new(move |x| ty.wrap(operation(ty.value(x[0]), ty.value(x[1]), ty.value(x[2]))))
}

fn saturating(ty: Type, operation: fn(i128, i128) -> i128) -> Function {
    lanes(ty, move |x, y| ty.clamp(operation(x, y)))
}

fn floats(operation: fn(&[f32]) -> f32) -> Function {
    Box::new(move |x| {
        let values: Vec<f32> = x.iter().map(|&it| f32::from_bits(it as u32)).collect();
        operation(&values).to_bits().into()
    })
}

/// An operation on both halves of words as floating-point numbers.
fn halves(operation: fn(f64, f64) -> f64) -> Function {
    Box::new(move |x| {
        let half = |at: u32| {
            let [x, y] = [x[0], x[1]].map(|word| number(word >> at));
            half_of(operation(x, y)) << at
        };
        half(16) | half(0)
    })
}

/// The number that a half holds.
fn number(half: u64) -> f64 {
    let (exponent, fraction) = (half >> 10 & 31, (half & 0x3ff) as f64 / 1024.0);
    let magnitude = match exponent {
        0 => fraction * f64::powi(2.0, -14),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1.0 + fraction) * f64::powi(2.0, exponent as i32 - 15),
    };
    if half >> 15 & 1 == 1 { -magnitude } else { magnitude }
}

/// The half nearest to a number.
fn half_of(number: f64) -> u64 {
    let sign = u64::from(number.is_sign_negative()) << 15;
    let magnitude = number.abs();
    let bits = if number.is_nan() {
        return 0x7fff;
    } else if magnitude < f64::powi(2.0, -14) {
        (magnitude * f64::powi(2.0, 24)).round_ties_even() as u64
    } else if magnitude.is_finite() {
        let exponent = magnitude.log2().floor() as i32;
        let fraction = (magnitude * f64::powi(2.0, 10 - exponent)).round_ties_even() as u64;
        // A fraction that is rounded up to 2 carries into the exponent.
        (((exponent + 14) as u64) << 10) + fraction
    } else {
        u64::MAX
    };
    sign | bits.min(0x7c00)
}

/// The smaller number; if one is a NaN, the other. -0 is smaller than +0.
fn smaller(x: f64, y: f64) -> f64 {
    let is_x = !x.is_nan() && (y.is_nan() || x.total_cmp(&y).is_lt());
    if is_x { x } else { y }
}

fn limited(number: f64) -> f64 {
    if number > 0.0 { number.min(1.0) } else { 0.0 }
}

/// The result's type, and the number of bits by which the product is shifted right.
fn half_of_product(ty: Type, half: &str) -> Option<(Type, usize)> {
    match half {
        "lo" => Some((ty, 0)),
        "hi" => Some((ty, ty.bits)),
        "wide" => Some((ty.wide(), 0)),
        _ => None,
    }
}

fn product(ty: Type, half: &str) -> Option<Function> {
    let (result, by) = half_of_product(ty, half)?;
    Some(Box::new(move |x| result.wrap((ty.value(x[0]) * ty.value(x[1])) >> by)))
}

fn sum_of_product(ty: Type, half: &str) -> Option<Function> {
    let product = product(ty, half)?;
    let (result, _) = half_of_product(ty, half)?;
    Some(Box::new(move |x| result.wrap(i128::from(product(x)) + i128::from(x[2]))))
}

/// A shift. A larger amount than the number of bits counts as the number of bits.
fn shift(ty: Type, operation: fn(i128, u32) -> i128) -> Function {
    Box::new(move |x| {
        let by = (x[1] as u32).min(ty.bits as u32);
        ty.wrap(operation(ty.value(x[0]), by))
    })
}

fn funnel(is_left: bool, wraps: bool) -> Function {
    Box::new(move |x| {
        let pair = joined(x[0], x[1]);
        let by = if wraps { x[2] as u32 & 31 } else { (x[2] as u32).min(32) };
        if is_left { pair << by >> 32 } else { pair >> by & WORD }
    })
}

fn joined(low: u64, high: u64) -> u64 {
    u64::from(low as u32) | high << 32
}

fn truth_table(x: u64, y: u64, z: u64, table: u64) -> u64 {
    (0..32).fold(0, |word, at| {
        let row = (x >> at & 1) << 2 | (y >> at & 1) << 1 | z >> at & 1;
        word | (table >> row & 1) << at
    })
}

fn permuted(low: u64, high: u64, selector: u64) -> u64 {
    let bytes = joined(low, high).to_le_bytes();
    (0..4).fold(0, |word, at| {
        let nibble = selector >> (4 * at) & 15;
        let byte = bytes[nibble as usize & 7];
        let sign = if byte >> 7 == 1 { 0xff } else { 0 };
        word | u64::from(if nibble < 8 { byte } else { sign }) << (8 * at)
    })
}

fn compared(order: &str, ty: Type) -> Option<Function> {
    let holds: fn(Ordering) -> bool = match order {
        "eq" => Ordering::is_eq,
        "ne" => Ordering::is_ne,
        "lt" => Ordering::is_lt,
        "le" => Ordering::is_le,
        "gt" => Ordering::is_gt,
        "ge" => Ordering::is_ge,
        _ => return None,
    };
    Some(Box::new(move |x| holds(ty.value(x[0]).cmp(&ty.value(x[1]))).into()))
}

/// Multiplies the parts of a word with as many bytes of a second word, from byte `first` on, and
/// adds the products and a third word.
fn dot(a: Type, b: Type, bits: usize, first: usize) -> Function {
    let (part, byte) = (Type { bits, ..a }, Type { bits: 8, ..b });
    Box::new(move |x| {
        let products = (0..32 / bits).map(|at| part.lane(x[0], at) * byte.lane(x[1], first + at));
        (products.sum::<i128>() + i128::from(x[2])) as u64 & WORD
    })
}

/// Clamps two words to a type and joins them: the second word is the lowest part, the first word
/// follows, and the third word fills the bits above.
fn packed(ty: Type) -> Function {
    let word = Type { is_signed: true, bits: 32, lanes: 1 };
    Box::new(move |x| {
        let [high, low] = [x[0], x[1]].map(|it| ty.wrap(ty.clamp(word.value(it))));
        let rest = x.get(2).map_or(0, |it| it << (2 * ty.bits));
        (rest | high << ty.bits | low) & WORD
    })
}
