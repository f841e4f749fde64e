//! Expressions of C in the operands of an `asm` statement.

use crate::embed::{Directive, Piece, pieces};
use crate::hash::Map;
use crate::source::Span;

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

/// Words that have an effect, or stand for an assignment.
const EFFECTS: [&str; 9] =
    ["and_eq", "co_await", "co_yield", "delete", "new", "or_eq", "throw", "volatile", "xor_eq"];

/// The macros without parameters that a source defines, and whether their texts may have effects.
pub(super) struct Definitions<'s>(Map<&'s str, bool>);

impl<'s> Definitions<'s> {
    pub(super) fn new(source: &'s str, directives: &[Directive<'s>]) -> Definitions<'s> {
        // A condition may choose one of several texts.
        let mut texts: Vec<(&str, &str)> = Vec::new();
        for directive in directives.iter().filter(|it| it.name == "define") {
            let text = directive.span.text(source);
            let text = text.split_once("define").map_or("", |(_, rest)| rest).trim();
            let end = text.find(|c: char| !is_part(c)).unwrap_or(text.len());
            let (name, text) = text.split_at(end);
            if !text.starts_with('(') {
                texts.push((name, text));
            }
        }
        let mut all: Map<&str, bool> = texts.iter().map(|(name, _)| (*name, false)).collect();
        let mut users: Map<&str, Vec<&str>> = Map::default();
        for (name, text) in &texts {
            for word in words(text).filter(|word| all.contains_key(word)) {
                users.entry(word).or_default().push(name);
            }
        }
        let own = texts.iter().filter(|(_, text)| has_own_effects(text));
        let mut waiting: Vec<&str> = own.map(|(name, _)| *name).collect();
        while let Some(name) = waiting.pop() {
            if all.insert(name, true) == Some(false) {
                waiting.extend(users.get(name).into_iter().flatten());
            }
        }
        Definitions(all)
    }

    fn has_macro(&self, expression: &str) -> bool {
        words(expression).any(|word| self.0.contains_key(word))
    }

    /// Whether the number and the order of the evaluations of an expression matter.
    ///
    /// In doubt, the answer is yes: it is yes for any call, except calls of a few names, and for
    /// words in capitals, which an included file may define.
    pub(super) fn may_have_effects(&self, expression: &str) -> bool {
        let is_unknown = |word: &str| self.0.get(word).copied().unwrap_or_else(|| is_capital(word));
        let code = pieces(expression).filter_map(|piece| match piece {
            Piece::Code(code) => Some(code),
            _ => None,
        });
        has_own_effects(expression) || code.flat_map(words).any(is_unknown)
    }

    /// Whether an expression can stand before `=` as it is: names, members, elements, and what
    /// pointers point to.
    pub(super) fn is_plain(&self, expression: &str) -> bool {
        is_plain(expression) && !self.has_macro(expression)
    }

    /// Whether an expression is a name, or a member of what a name stands for.
    pub(super) fn is_member(&self, expression: &str) -> bool {
        let is_name = |it: &str| it.bytes().all(|it| it.is_ascii_alphanumeric() || it == b'_');
        expression.split('.').all(is_name) && !self.has_macro(expression)
    }
}

/// Whether an expression may have effects, apart from those of macros.
fn has_own_effects(expression: &str) -> bool {
    let mut words = CallFinder::default();
    pieces(expression).any(|piece| match piece {
        Piece::Code(code) => words.read(code),
        Piece::Comment => false,
        Piece::Literal => {
            words.before = Before::Value;
            false
        }
    })
}

/// Whether a word is one of several letters, all of them capital, as the names of macros are.
fn is_capital(word: &str) -> bool {
    let is_capital = |c: char| c.is_ascii_uppercase();
    word.chars().filter(|c| is_capital(*c)).count() > 1
        && word.chars().all(|c| is_capital(c) || c.is_ascii_digit() || c == '_')
        && !word.starts_with(|c: char| c.is_ascii_digit())
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c| !is_part(c)).filter(|word| !word.is_empty())
}

/// Whether a character may belong to a name. Characters beyond ASCII may be letters.
pub(super) fn is_part(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || !c.is_ascii()
}

/// What stands before the character that is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Before {
    #[default]
    Operator,
    /// A word in [`PURE`].
    Pure,
    /// A parenthesis that may close a cast: its only words are in [`PURE`].
    Cast,
    /// Something that can be called.
    Value,
}

#[derive(Default)]
struct CallFinder {
    before: Before,
    /// For each open parenthesis, whether all its words so far are in [`PURE`].
    open: Vec<bool>,
    /// Whether the `<` of `static_cast<…>` or the like is open.
    is_template_cast: bool,
}

impl CallFinder {
    /// Reads code. Returns whether it may have an effect.
    fn read(&mut self, code: &str) -> bool {
        let bytes = code.as_bytes();
        // A byte beyond ASCII is a part of a letter.
        let is_word = |byte: u8| is_part(byte.into());
        let mut at = 0;
        while let Some(&byte) = bytes.get(at) {
            let start = at;
            at += 1;
            match byte {
                b' ' | b'\t' | b'\r' | b'\n' | b'\x0b' | b'\x0c' => {}
                _ if is_word(byte) => {
                    at += bytes[at..].iter().take_while(|&&byte| is_word(byte)).count();
                    if EFFECTS.contains(&&code[start..at]) {
                        return true;
                    }
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
        self.before = Before::Operator;
    }

    /// Notes what the innermost parenthesis holds.
    fn hold(&mut self, is_pure: bool) {
        if let Some(open) = self.open.last_mut() {
            *open &= is_pure;
        }
    }
}

/// Whether an expression without macros can stand before `=` as it is.
fn is_plain(expression: &str) -> bool {
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
pub(super) fn closed(expression: &str, comments: &[Span]) -> String {
    let mut text = String::new();
    let mut at = 0;
    for comment in comments {
        text.push_str(&expression[at..comment.start as usize]);
        text.push_str(&as_block(comment.text(expression)));
        at = comment.end as usize;
    }
    text.push_str(&expression[at..]);
    text.trim().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn defined() -> Definitions<'static> {
        let source = "#define POP *p++\n# define LAST POP\n#define AGAIN OTHER\n#define OTHER AGAIN\n\
                      #if A\n#define WIDTH 4\n#else\n#define WIDTH (8)\n#endif\n\
                      #define PLACE EITHER\n#define EITHER c ? a : b\n";
        Definitions::new(source, &crate::embed::directives(source))
    }

    #[test]
    fn effects() {
        let definitions = defined();
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
            "newest + throws",
            "*(unsigned int *)(p)",
            "WIDTH",
            "AGAIN",
            "0xFFUL",
            "'AB' + X1",
            "/* AB */ a",
        ] {
            assert!(!definitions.may_have_effects(pure), "{pure}");
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
            "v[i xor_eq 1]",
            "(new T)->x",
            "POP",
            "(a + LAST)",
            "*(volatile unsigned *)p",
            "a + NEXT_1",
        ] {
            assert!(definitions.may_have_effects(effect), "{effect}");
        }
    }

    #[test]
    fn only_places_without_weak_operators_are_plain() {
        let definitions = defined();
        for plain in ["a", "v_1.x", "p->x", "*p", "**p", "v[i + 1].x", "v[i[j] - 1]"] {
            assert!(definitions.is_plain(plain), "{plain}");
        }
        // C++ reads `c ? a : b = d` as `c ? a : (b = d)`, and `a, b = d` as `a, (b = d)`.
        for other in ["c ? a : b", "c ? v[i + 1] : *p", "a, b", "PLACE", "v[EITHER]"] {
            assert!(!definitions.is_plain(other), "{other}");
        }
    }

    #[test]
    fn comments() {
        assert_eq!(as_block("// a */ b /* c"), "/* a * / b / * c */");
        assert_eq!(as_block("/* a */"), "/* a */");
        assert_eq!(closed(" a // one\n + b ", &[Span::new(3, 9)]), "a /* one */\n + b");
    }
}
