//! The escapes in string literals. `template` reads those of C.

use super::scan::Form;
use crate::source::UNDECODABLE;

/// The meaning of a backslash in a literal.
pub(super) enum Escape {
    /// The backslash is an ordinary character.
    None,
    /// The escape ends at `end` and stands for the first `len` bytes of the buffer.
    Of { buffer: [u8; 4], len: usize, end: usize },
}

/// The escape whose backslash is here. The bytes end with the literal's body.
pub(super) fn escape_of(form: Form, bytes: &[u8], at: usize) -> Escape {
    let Some(&letter) = bytes.get(at + 1) else {
        return Escape::None;
    };
    match form {
        Form::Python { is_bytes } => python(bytes, at, letter, is_bytes),
        Form::Rust => rust(bytes, at, letter),
        Form::Julia => julia(bytes, at, letter),
        Form::Llvm => llvm(bytes, at),
        Form::Json => json(bytes, at, letter),
        Form::C | Form::Raw => Escape::None,
    }
}

fn bytes_of(text: &[u8], end: usize) -> Escape {
    let mut buffer = [0; 4];
    buffer[..text.len()].copy_from_slice(text);
    Escape::Of { buffer, len: text.len(), end }
}

fn one(byte: u8, end: usize) -> Escape {
    bytes_of(&[byte], end)
}

fn character(value: u32, end: usize) -> Escape {
    let character = char::from_u32(value).unwrap_or(UNDECODABLE);
    bytes_of(character.encode_utf8(&mut [0; 4]).as_bytes(), end)
}

/// A number of `least` to `most` digits: its value and end.
fn number(bytes: &[u8], at: usize, radix: u32, least: usize, most: usize) -> Option<(u32, usize)> {
    let rest = &bytes[at.min(bytes.len())..];
    let digit = |&byte: &u8| char::from(byte).to_digit(radix);
    let digits: Vec<u32> = rest.iter().take(most).map_while(digit).collect();
    let value = digits.iter().fold(0_u32, |value, digit| value.wrapping_mul(radix) + digit);
    (digits.len() >= least).then_some((value, at + digits.len()))
}

/// The meaning of a letter after a backslash, if it is the same in most languages.
fn common(letter: u8) -> Option<u8> {
    Some(match letter {
        b'n' => b'\n',
        b't' => b'\t',
        b'r' => b'\r',
        b'\\' | b'"' | b'\'' => letter,
        _ => return None,
    })
}

/// The meaning of a letter after a backslash in C, Python and Julia.
pub(super) fn old(letter: u8) -> Option<u8> {
    Some(match letter {
        b'a' => 0x07,
        b'b' => 0x08,
        b'f' => 0x0c,
        b'v' => 0x0b,
        _ => return common(letter),
    })
}

/// The end of the line break here.
fn line_break(bytes: &[u8], at: usize) -> Option<usize> {
    match bytes[at..] {
        [b'\n', ..] => Some(at + 1),
        [b'\r', b'\n', ..] => Some(at + 2),
        _ => None,
    }
}

fn python(bytes: &[u8], at: usize, letter: u8, is_bytes: bool) -> Escape {
    if let Some(byte) = old(letter) {
        return one(byte, at + 2);
    }
    if let Some(end) = line_break(bytes, at + 1) {
        return bytes_of(&[], end);
    }
    let found = match letter {
        b'0'..=b'7' => number(bytes, at + 1, 8, 1, 3),
        b'x' => number(bytes, at + 2, 16, 2, 2),
        b'u' if !is_bytes => number(bytes, at + 2, 16, 4, 4),
        b'U' if !is_bytes => number(bytes, at + 2, 16, 8, 8),
        b'N' if !is_bytes && bytes.get(at + 2) == Some(&b'{') => {
            // The character is not looked up by its name.
            let close = memchr::memchr(b'}', &bytes[at..]);
            close.map(|length| (UNDECODABLE as u32, at + length + 1))
        }
        _ => None,
    };
    match found {
        Some((value, end)) if is_bytes => one(value as u8, end),
        Some((value, end)) => character(value, end),
        // Python keeps the backslash of an escape that it does not know.
        None => Escape::None,
    }
}

fn rust(bytes: &[u8], at: usize, letter: u8) -> Escape {
    if let Some(byte) = common(letter) {
        return one(byte, at + 2);
    }
    if let Some(mut end) = line_break(bytes, at + 1) {
        // The white space at the start of the next line goes, too.
        end += bytes[end..].iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        return bytes_of(&[], end);
    }
    let found = match letter {
        b'0' => Some((0, at + 2)),
        b'x' => number(bytes, at + 2, 16, 2, 2),
        b'u' if bytes.get(at + 2) == Some(&b'{') => {
            let near = &bytes[at + 3..bytes.len().min(at + 16)];
            let length = near.iter().take_while(|&&b| b.is_ascii_hexdigit() || b == b'_').count();
            let digits = near[..length].iter().filter_map(|&b| char::from(b).to_digit(16));
            let value = digits.fold(0_u32, |value, digit| value.wrapping_mul(16) + digit);
            (near.get(length) == Some(&b'}')).then_some((value, at + 3 + length + 1))
        }
        _ => None,
    };
    found.map_or(Escape::None, |(value, end)| character(value, end))
}

fn julia(bytes: &[u8], at: usize, letter: u8) -> Escape {
    if let Some(byte) = old(letter) {
        return one(byte, at + 2);
    }
    if let Some(mut end) = line_break(bytes, at + 1) {
        end += bytes[end..].iter().take_while(|&&byte| byte == b' ' || byte == b'\t').count();
        return bytes_of(&[], end);
    }
    let found = match letter {
        b'$' => Some((u32::from(b'$'), at + 2)),
        b'e' => Some((0x1b, at + 2)),
        b'0'..=b'7' => number(bytes, at + 1, 8, 1, 3),
        b'x' => number(bytes, at + 2, 16, 1, 2),
        b'u' => number(bytes, at + 2, 16, 1, 4),
        b'U' => number(bytes, at + 2, 16, 1, 8),
        _ => None,
    };
    match (found, letter) {
        (Some((value, end)), b'x' | b'0'..=b'7') => one(value as u8, end),
        (Some((value, end)), _) => character(value, end),
        (None, _) => Escape::None,
    }
}

fn llvm(bytes: &[u8], at: usize) -> Escape {
    if bytes[at + 1] == b'\\' {
        return one(b'\\', at + 2);
    }
    number(bytes, at + 1, 16, 2, 2).map_or(Escape::None, |(value, end)| one(value as u8, end))
}

fn json(bytes: &[u8], at: usize, letter: u8) -> Escape {
    let byte = match letter {
        b'n' => b'\n',
        b't' => b'\t',
        b'r' => b'\r',
        b'b' => 0x08,
        b'f' => 0x0c,
        b'"' | b'\\' | b'/' => letter,
        b'u' => {
            let Some((first, end)) = number(bytes, at + 2, 16, 4, 4) else {
                return Escape::None;
            };
            // Two escapes make one character beyond U+FFFF.
            let second = bytes[end..].starts_with(b"\\u").then(|| number(bytes, end + 2, 16, 4, 4));
            return match (first, second.flatten()) {
                (0xd800..=0xdbff, Some((low @ 0xdc00..=0xdfff, end))) => {
                    character(0x1_0000 + ((first - 0xd800) << 10) + (low - 0xdc00), end)
                }
                _ => character(first, end),
            };
        }
        _ => return Escape::None,
    };
    one(byte, at + 2)
}

/// Writes PTX as the body of a literal of this form, whose quotes are `quote`.
pub(super) fn escaped(form: Form, quote: &str, text: &str) -> String {
    use std::fmt::Write;
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match (form, c) {
            (Form::Llvm, '"' | '\\' | '\0'..='\x1f') => _ = write!(out, "\\{:02X}", u32::from(c)),
            (Form::Llvm | Form::Raw, _) => out.push(c),
            // A line of a text between three quotes stays a line.
            (Form::Python { .. }, '\n' | '\t') if quote.len() > 1 => out.push(c),
            (Form::Julia, '$') => out.push_str("\\$"),
            (_, '\\') => out.push_str("\\\\"),
            (_, '"' | '\'') if quote.starts_with(c) => out.extend(['\\', c]),
            (_, '\n') => out.push_str("\\n"),
            (_, '\t') => out.push_str("\\t"),
            (_, '\r') => out.push_str("\\r"),
            // Three digits, so that the next character cannot continue the escape.
            (Form::C, '\0'..='\x1f') => _ = write!(out, "\\{:03o}", u32::from(c)),
            (Form::Json, '\0'..='\x1f') => _ = write!(out, "\\u{:04x}", u32::from(c)),
            (_, '\0'..='\x1f') => _ = write!(out, "\\x{:02x}", u32::from(c)),
            _ => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the body of a literal stands for.
    fn meant(form: Form, body: &str) -> Vec<u8> {
        let (body, mut at, mut all) = (body.as_bytes(), 0, Vec::new());
        while let Some(&byte) = body.get(at) {
            let escape = if byte == b'\\' { escape_of(form, body, at) } else { Escape::None };
            if let Escape::Of { buffer, len, end } = escape {
                all.extend(&buffer[..len]);
                at = end;
            } else {
                all.push(byte);
                at += 1;
            }
        }
        all
    }

    /// The expectations follow the references of these languages. An escape that a language
    /// refuses, or keeps, stays as it is.
    #[test]
    fn escapes_mean_what_their_language_says() {
        let python = Form::Python { is_bytes: false };
        for (form, body, text) in [
            (python, r"a\x41b\u00e9\U0001f600\101\7z\0", "aAb\u{e9}\u{1f600}A\u{7}z\0"),
            (python, r"\a\b\f\v\n\r\t\'\\", "\u{7}\u{8}\u{c}\u{b}\n\r\t'\\"),
            (python, r"\q\x4\u12\U0001f60", r"\q\x4\u12\U0001f60"),
            (python, "a\\\nb\\\r\nc", "abc"),
            (python, r"\N{EM DASH}.", "\u{7f}."),
            (Form::Python { is_bytes: true }, r"\u0041\N{A}\x41", r"\u0041\N{A}A"),
            (Form::Rust, r"\x41\u{e9}\u{1f_600}\0\'", "A\u{e9}\u{1f600}\0'"),
            (Form::Rust, r"\a\u{41\u41\x4", r"\a\u{41\u41\x4"),
            (Form::Rust, r"\u0041}\u", r"\u0041}\u"),
            (Form::Rust, "a\\\n \t b", "ab"),
            (
                Form::Julia,
                r"\$\e\x4g\xg\u41\u1f60\U1f600\101",
                "$\u{1b}\u{4}g\\xgA\u{1f60}\u{1f600}A",
            ),
            (Form::Julia, r"\7g\0\12.", "\u{7}g\0\n."),
            (Form::Julia, r"\u9.\U9.", "\t.\t."),
            (Form::Julia, r"\ug\Ug\8", r"\ug\Ug\8"),
            (Form::Julia, "a\\\n\t b", "ab"),
            (Form::Llvm, r"\\a\41\0A\4\n", "\\aA\n\\4\\n"),
            (Form::Json, r#"\n\t\r\b\f\"\\\/"#, "\n\t\r\u{8}\u{c}\"\\/"),
            (
                Form::Json,
                r"\u0041\ud83d\ude00\ud800\udc00\udbff\udfff.",
                "A\u{1f600}\u{10000}\u{10ffff}.",
            ),
            (Form::Json, r"\ud83d\u0041\udc00\u41", "\u{7f}A\u{7f}\\u41"),
            (Form::Json, r"\a\x41\'", r"\a\x41\'"),
            (Form::Raw, r"\n\x41", r"\n\x41"),
        ] {
            assert_eq!(String::from_utf8_lossy(&meant(form, body)), text, "{body}");
        }
        assert_eq!(meant(Form::Python { is_bytes: true }, r"\xff\377"), [0xff, 0xff]);
        assert_eq!(meant(Form::Llvm, r"\FF"), [0xff]);
    }
}
