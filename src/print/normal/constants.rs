//! One spelling for each number.

use std::borrow::Cow;

use crate::syntax::constant::integer_literal;
use crate::syntax::{Token, TokenKind};

/// The type of the floats of a statement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum FloatType {
    /// `.f32`
    Single,
    /// `.f64`, a type that takes no constants, or no known type.
    #[default]
    Other,
}

/// The instructions whose constants ptxas rounds to their type. Of other constants it takes the low
/// half of the `.f64`, or it is not known what ptxas does.
const ROUNDING: [&str; 28] = [
    "abs", "add", "atom", "copysign", "cos", "cvt", "div", "ex2", "fma", "lg2", "mad", "max",
    "min", "mov", "mul", "neg", "rcp", "red", "rsqrt", "selp", "set", "setp", "sin", "slct",
    "sqrt", "st", "sub", "testp",
];

impl FloatType {
    /// The type of a number, by the tokens before it in its statement. With few exceptions, the
    /// last floating-point type is that of the sources: `cvt.f64.f32`.
    pub(crate) fn after(tokens: &[Token], source: &str) -> FloatType {
        // The type stands near the start; a list of values may be long.
        let tokens = &tokens[..tokens.len().min(64)];
        let text = |token: &Token| token.span().text(source);
        let start =
            tokens.iter().position(|it| it.kind() == TokenKind::Dot).unwrap_or(tokens.len());
        let mnemonic = start.checked_sub(1).map_or("", |before| text(&tokens[before]));
        let has =
            |modifiers: &[&str]| tokens[start..].iter().any(|it| modifiers.contains(&text(it)));
        let of_word = |word: &Token| match text(word).as_bytes() {
            b".f32" => Some(FloatType::Single),
            [b'.', b'f' | b'e', digit, ..] | [b'.', b'b' | b't', b'f', digit, ..]
                if digit.is_ascii_digit() =>
            {
                Some(FloatType::Other)
            }
            _ => None,
        };
        match mnemonic {
            // The first type of `slct` is that of `a` and `b`, the last one that of `c`.
            "slct" if tokens.iter().filter(|it| it.is(b',')).count() < 3 => {
                let own = tokens[start..].iter().find(|it| text(it) != ".ftz");
                own.and_then(of_word).unwrap_or_default()
            }
            // A declaration has no mnemonic.
            _ if start > 0 && !ROUNDING.contains(&mnemonic) => FloatType::Other,
            "atom" | "red" if has(&[".v2", ".v4", ".v8"]) => FloatType::Other,
            "st" if has(&[".async", ".v8"]) => FloatType::Other,
            "set" if has(&[".bf16"]) => FloatType::Other,
            "cvt" if has(&[".tf32"]) => FloatType::Other,
            // The last type is that of the sources: `set.eq.f32.b64`.
            "set" => {
                let modifiers = tokens[start..].iter().take_while(|it| it.kind() == TokenKind::Dot);
                modifiers.last().and_then(of_word).unwrap_or_default()
            }
            _ => {
                let mut words = tokens.iter().rev().filter(|it| it.kind() == TokenKind::Dot);
                words.find_map(of_word).unwrap_or_default()
            }
        }
    }
}

/// The spelling of a number: decimal digits for integers, and the exact bits for floats. If the
/// number is a whole operand, an integer needs no `U`, and a float has the bits of its type. `None`
/// if the text is not a number of PTX.
pub(super) fn spelled(
    text: &str,
    ty: impl FnOnce() -> FloatType,
    is_alone: impl FnOnce() -> bool,
) -> Option<Cow<'_, str>> {
    if is_spelled(text.as_bytes()) {
        return Some(text.into());
    }
    let lower = text.to_ascii_lowercase();
    if let Some(digits) = bits(&lower, "0f", 8) {
        return Some(format!("0f{}", digits.to_ascii_uppercase()).into());
    }
    if let Some(value) = float(&lower) {
        let ty = if is_alone() { ty() } else { FloatType::Other };
        return Some(with_bits(value, ty).into());
    }
    let end = if text.ends_with('U') && !is_alone() { "U" } else { "" };
    Some(format!("{}{end}", integer_literal(text)?).into())
}

/// The spelling of a `-` and the float behind it, which together are a whole operand.
pub(super) fn negative(text: &str, ty: impl FnOnce() -> FloatType) -> Option<String> {
    // ptxas takes no sign before `0f3F800000`.
    float(&text.to_ascii_lowercase()).map(|value| with_bits(-value, ty()))
}

/// The value of a float in decimal digits, or as the bits of an `.f64`. `None` for other texts, and
/// for a float that ptxas refuses as too large.
fn float(lower: &str) -> Option<f64> {
    if let Some(digits) = bits(lower, "0d", 16) {
        return u64::from_str_radix(digits, 16).ok().map(f64::from_bits);
    }
    let is_float = lower.contains(['.', 'e']);
    let is_decimal = lower.bytes().all(|byte| byte.is_ascii_digit() || b".e+-".contains(&byte));
    lower.parse().ok().filter(|value: &f64| is_float && is_decimal && value.is_finite())
}

/// The bits of a float. ptxas rounds to the nearest `.f32`; halfway between two, to the even one.
#[allow(clippy::cast_possible_truncation)]
fn with_bits(value: f64, ty: FloatType) -> String {
    match ty {
        // It is not known how ptxas rounds the bits of a NaN to `.f32`.
        FloatType::Single if !value.is_nan() => format!("0f{:08X}", (value as f32).to_bits()),
        _ => format!("0d{:016X}", value.to_bits()),
    }
}

/// Whether a number certainly has its one spelling already. Most numbers do: small decimals, and
/// floats as upper-case bits.
pub(super) fn is_spelled(text: &[u8]) -> bool {
    match text {
        [b'0'] => true,
        [b'0', b'f', bits @ ..] if bits.len() == 8 => {
            bits.iter().all(|it| it.is_ascii_digit() || (b'A'..=b'F').contains(it))
        }
        [b'1'..=b'9', rest @ ..] => rest.len() < 9 && rest.iter().all(u8::is_ascii_digit),
        _ => false,
    }
}

/// The digits of a float that is written as its bits: `0f3f800000`, `0d3ff0000000000000`.
fn bits<'t>(text: &'t str, prefix: &str, length: usize) -> Option<&'t str> {
    let digits = text.strip_prefix(prefix)?;
    let fits = digits.len() == length && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    fits.then_some(digits)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// ptxas 13.5 makes the same code for both numbers of each pair.
    #[test]
    fn numbers_have_one_spelling() {
        for (text, expected) in [
            ("0x10", "16"),
            ("0XfFfFfFfF", "4294967295"),
            ("010", "8"),
            ("0b101U", "5"),
            ("16U", "16"),
            ("0xffffffffffffffff", "18446744073709551615"),
            ("0F3f800000", "0f3F800000"),
            ("0d3fF8000000000000", "0d3FF8000000000000"),
            ("1.5", "0d3FF8000000000000"),
            ("0.1", "0d3FB999999999999A"),
            ("2.5e-3", "0d3F647AE147AE147B"),
        ] {
            let found = spelled(text, || FloatType::Other, || true);
            assert_eq!(found.as_deref(), Some(expected), "{text}");
        }
        for same in ["0", "7", "4294967295", "0f3F800000", "0d3FF8000000000000"] {
            assert_eq!(spelled(same, || FloatType::Other, || true).as_deref(), Some(same));
        }
        assert_eq!(spelled("16U", || FloatType::Other, || false).as_deref(), Some("16U"));
        for none in ["08", "0x", "1a", "16u", "0f12", "0xffffffffffffffff0", "1e", "0b2", "1e400"] {
            assert_eq!(spelled(none, || FloatType::Other, || true), None, "{none}");
        }
        // A digit too many.
        assert_eq!(spelled("0f3F8000000", || FloatType::Other, || true), None);
    }

    /// The bits are those in the machine code that ptxas 12.9 and 13.5 make for `mov.f32 f,
    /// CONSTANT;` and `.global .f32 g = CONSTANT;`.
    #[test]
    fn floats_are_rounded_as_ptxas_does() {
        for (text, expected) in [
            ("1.0", "0f3F800000"),
            ("0d3FF0000000000000", "0f3F800000"),
            ("1.e0", "0f3F800000"),
            (".5", "0f3F000000"),
            ("0.1", "0f3DCCCCCD"),
            ("1E-1", "0f3DCCCCCD"),
            ("1e10", "0f501502F9"),
            // Halfway between two floats, the even one.
            ("0d3FF0000010000000", "0f3F800000"),
            ("0d3FF0000030000000", "0f3F800002"),
            ("0d3FF0000010000001", "0f3F800001"),
            ("1e39", "0f7F800000"),
            ("3.4028235677973366e38", "0f7F800000"),
            ("1e-40", "0f000116C2"),
            ("7.006492321624085e-46", "0f00000000"),
            ("0f3f800000", "0f3F800000"),
            ("0f7F800001", "0f7F800001"),
        ] {
            let found = spelled(text, || FloatType::Single, || true);
            assert_eq!(found.as_deref(), Some(expected), "{text}");
        }
        // `0f…` cannot be part of an expression.
        let part = spelled("1.0", || FloatType::Single, || false);
        assert_eq!(part.as_deref(), Some("0d3FF0000000000000"));
        for (text, ty, expected) in [
            ("1.0", FloatType::Single, Some("0fBF800000")),
            ("0d3FF0000000000000", FloatType::Single, Some("0fBF800000")),
            ("0.0", FloatType::Single, Some("0f80000000")),
            ("0.1", FloatType::Other, Some("0dBFB999999999999A")),
            ("0f3F800000", FloatType::Single, None),
            ("1", FloatType::Single, None),
            ("0x1e", FloatType::Single, None),
        ] {
            assert_eq!(negative(text, || ty).as_deref(), expected, "{text}");
        }
    }
}
