//! Expressions of C in the operands of an `asm` statement.

use crate::embed::{Piece, pieces};

/// Words before a `(` that start no call with an effect: types, casts, and functions of CUDA that
/// only reinterpret the bits of a value.
const PURE: [&str; 17] = [
    "int",
    "unsigned",
    "uint",
    "int32_t",
    "uint32_t",
    "signed",
    "long",
    "short",
    "char",
    "bool",
    "sizeof",
    "alignof",
    "__float_as_int",
    "__float_as_uint",
    "__int_as_float",
    "__uint_as_float",
    "as_uint",
];

/// Whether the number and the order of the evaluations of an expression matter.
///
/// In doubt, the answer is yes: it is yes for any call, except calls of a few names.
pub(super) fn may_have_effects(expression: &str) -> bool {
    let mut words = CallFinder::default();
    for piece in pieces(expression) {
        match piece {
            Piece::Code(code) => {
                if words.read(code) {
                    return true;
                }
            }
            Piece::Comment => {}
            Piece::Literal => words.before = Before::Value,
        }
    }
    false
}

/// What stands before the character that is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Before {
    #[default]
    Operator,
    /// A word in [`PURE`].
    Pure,
    /// A parenthesis that may close a cast: it holds only words in [`PURE`].
    Cast,
    /// Something that can be called.
    Value,
}

#[derive(Default)]
struct CallFinder {
    before: Before,
    /// For each open parenthesis, whether it has only held words in [`PURE`] so far.
    open: Vec<bool>,
    /// Whether the `<` of `static_cast<…>` or the like is open.
    is_template_cast: bool,
}

impl CallFinder {
    /// Reads code. Returns whether it may have an effect.
    fn read(&mut self, code: &str) -> bool {
        let bytes = code.as_bytes();
        let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80;
        let mut at = 0;
        while let Some(&byte) = bytes.get(at) {
            let start = at;
            at += 1;
            match byte {
                b' ' | b'\t' | b'\r' | b'\n' | b'\x0b' | b'\x0c' => {}
                _ if is_word(byte) => {
                    at += bytes[at..].iter().take_while(|&&byte| is_word(byte)).count();
                    let is_pure = PURE.contains(&&code[start..at]);
                    self.hold(is_pure);
                    self.before = if is_pure { Before::Pure } else { Before::Value };
                }
                b'(' if self.before == Before::Value => return true,
                b'(' => {
                    self.open.push(true);
                    self.before = Before::Operator;
                }
                b')' => {
                    let is_cast = self.open.pop().unwrap_or(false);
                    self.hold(false);
                    self.before = if is_cast { Before::Cast } else { Before::Value };
                }
                b'=' if bytes.get(at) == Some(&b'=') => {
                    at += 1;
                    self.operator();
                }
                b'<' | b'>' | b'!' if bytes.get(at) == Some(&b'=') => {
                    // `x <<= y` writes to `x`.
                    if byte != b'!' && start > 0 && bytes[start - 1] == byte {
                        return true;
                    }
                    at += 1;
                    self.operator();
                }
                b'<' if code[..start].ends_with("_cast") => self.is_template_cast = true,
                b'>' if self.is_template_cast => {
                    self.is_template_cast = false;
                    self.before = Before::Cast;
                }
                b'=' | b'{' => return true,
                b'+' | b'-' if bytes.get(at) == Some(&byte) => return true,
                // A template may be called: `f<int>(x)`.
                b']' | b'>' => {
                    self.hold(false);
                    self.before = Before::Value;
                }
                _ => self.operator(),
            }
        }
        false
    }

    fn operator(&mut self) {
        self.hold(false);
        self.before = Before::Operator;
    }

    /// Notes what the innermost parenthesis holds.
    fn hold(&mut self, is_pure: bool) {
        if let Some(open) = self.open.last_mut() {
            *open &= is_pure;
        }
    }
}

/// Whether an expression can stand before `=` as it is: names, members, elements, and what
/// pointers point to.
pub(super) fn is_plain(expression: &str) -> bool {
    let mut depth = 0_usize;
    // `p->x`
    let expression = expression.trim_start_matches('*').replace("->", ".");
    expression.bytes().all(|byte| {
        match byte {
            b'[' => depth += 1,
            b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        byte.is_ascii_alphanumeric()
            || b"_.[]".contains(&byte)
            || depth > 0 && b" +-*".contains(&byte)
    })
}

/// A comment of C or PTX in the form that can stand inside a line: `/* … */`.
pub(super) fn as_block(comment: &str) -> String {
    let Some(text) = comment.strip_prefix("//") else { return comment.to_string() };
    let text = text.replace("*/", "* /").replace("/*", "/ *");
    format!("/* {} */", text.trim())
}

/// An expression that other text can follow: each `//` comment becomes a `/* … */` comment.
pub(super) fn closed(expression: &str, comments: &[(usize, usize)]) -> String {
    let mut text = String::new();
    let mut at = 0;
    for &(start, end) in comments {
        text.push_str(&expression[at..start]);
        text.push_str(&as_block(&expression[start..end]));
        at = end;
    }
    text.push_str(&expression[at..]);
    text.trim().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn effects() {
        for pure in [
            "a",
            "p->x[i + 1]",
            "(int)(a + b)",
            "(unsigned int)(a)",
            "__float_as_int(t)",
            "a <= b",
            "a == b ? c : d",
            "v.x",
            "-a",
            "*p",
            "'x'",
            "/* f() */ a",
            "sizeof(x)",
            "(a) + (b)",
            "a - -b",
            "static_cast<unsigned>(a)",
        ] {
            assert!(!may_have_effects(pure), "{pure}");
        }
        for effect in [
            "f(x)",
            "i++",
            "--i",
            "a = b",
            "a += b",
            "*p++",
            "v[i](2)",
            "(*f)(x)",
            "(f)(x)",
            "g<int>(x)",
            "({ x; })",
            "f /* c */ (x)",
            "a >>= 1",
            "p->f(x)",
            "(*p)->x(y)",
            "int(f(x))",
            "static_cast<int>(a) + g<int>(x)",
        ] {
            assert!(may_have_effects(effect), "{effect}");
        }
    }

    #[test]
    fn only_places_without_weak_operators_are_plain() {
        for plain in ["a", "v_1.x", "p->x", "*p", "**p", "v[i + 1].x", "v[i[j] - 1]"] {
            assert!(is_plain(plain), "{plain}");
        }
        // C++ reads `c ? a : b = d` as `c ? a : (b = d)`, and `a, b = d` as `a, (b = d)`.
        for other in ["c ? a : b", "c ? v[i + 1] : *p", "a, b"] {
            assert!(!is_plain(other), "{other}");
        }
    }

    #[test]
    fn comments() {
        assert_eq!(as_block("// a */ b /* c"), "/* a * / b / * c */");
        assert_eq!(as_block("/* a */"), "/* a */");
        assert_eq!(closed(" a // one\n + b ", &[(3, 9)]), "a /* one */\n + b");
    }
}
