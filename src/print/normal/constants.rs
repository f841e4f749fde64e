//! One spelling for each number.

use std::borrow::Cow;

use crate::syntax::constant::integer_literal;

/// The spelling of a number: decimal digits for integers, and the exact bits of floats. An
/// integer that is alone needs no `U`. `None` if it is no number of PTX.
pub(super) fn spelled(text: &str, is_alone: impl FnOnce() -> bool) -> Option<Cow<'_, str>> {
    if is_spelled(text.as_bytes()) {
        return Some(text.into());
    }
    let lower = text.to_ascii_lowercase();
    if let Some((prefix, digits)) = bits(&lower) {
        return Some(format!("{prefix}{}", digits.to_ascii_uppercase()).into());
    }
    if !lower.starts_with("0x") && lower.contains(['.', 'e']) {
        let is_float = lower.bytes().all(|byte| byte.is_ascii_digit() || b".e+-".contains(&byte));
        let value: f64 = lower.parse().ok().filter(|_| is_float)?;
        return Some(format!("0d{:016X}", value.to_bits()).into());
    }
    let end = if text.ends_with('U') && !is_alone() { "U" } else { "" };
    Some(format!("{}{end}", integer_literal(text)?).into())
}

/// Whether a number surely has its one spelling already, as most do: small decimals, and floats
/// as upper-case bits.
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

/// The bits of a float that is written as such: `0f3f800000`, `0d3ff0000000000000`.
fn bits(text: &str) -> Option<(&str, &str)> {
    let (prefix, digits) = text.split_at_checked(2)?;
    let length = match prefix {
        "0f" => 8,
        "0d" => 16,
        _ => return None,
    };
    let fits = digits.len() == length && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    fits.then_some((prefix, digits))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// ptxas 13.5 makes the same code of each pair.
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
            assert_eq!(spelled(text, || true).as_deref(), Some(expected), "{text}");
        }
        for same in ["0", "7", "4294967295", "0f3F800000", "0d3FF8000000000000"] {
            assert_eq!(spelled(same, || true).as_deref(), Some(same));
        }
        assert_eq!(spelled("16U", || false).as_deref(), Some("16U"));
        for none in ["08", "0x", "1a", "16u", "0f12", "0xffffffffffffffff0", "1e", "0b2"] {
            assert_eq!(spelled(none, || true), None, "{none}");
        }
    }
}
