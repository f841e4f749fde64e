//! Lines of the usual shape, laid out without tokens in between.
//!
//! `@%p1 ld.global.v2.u32 \t{%r1, %r2}, [%rd1+4];`, labels and `.loc` make most
//! of a module. Whatever is spaced otherwise, or in doubt, is left to the layout by
//! tokens; what is written is the same. Edits are always made from tokens, and
//! tests hold the two against each other.

use crate::source::Span;
use crate::syntax::lexer::{is_word, is_word_start, line_end, word_end};

/// A statement that is as it should be, but for the blanks behind its opcode.
#[derive(Debug)]
pub(super) struct Usual {
    /// The guard and the opcode, or the name of a label.
    pub(super) head: Span,
    /// What follows, `;` or `:` included.
    pub(super) rest: Span,
    /// Whether a space stands before that.
    pub(super) space: bool,
    pub(super) is_label: bool,
}

/// What a byte may be among operands; each is a bit, for sets of them.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Class(u16);

impl Class {
    /// Nothing usual.
    const OTHER: Class = Class(0);
    const LETTER: Class = Class(1);
    const DIGIT: Class = Class(1 << 1);
    const PERCENT: Class = Class(1 << 2);
    const DOT: Class = Class(1 << 3);
    const COMMA: Class = Class(1 << 4);
    const SPACE: Class = Class(1 << 5);
    /// `[`
    const ADDRESS: Class = Class(1 << 6);
    /// `]`
    const ADDRESS_END: Class = Class(1 << 7);
    /// `{`
    const VECTOR: Class = Class(1 << 8);
    /// `}`
    const VECTOR_END: Class = Class(1 << 9);
    /// `-` or `!`
    const SIGN: Class = Class(1 << 10);
    /// `|` or `+`
    const JOINT: Class = Class(1 << 11);
    const END: Class = Class(1 << 12);

    const fn of(byte: u8) -> Class {
        match byte {
            b'0'..=b'9' => Class::DIGIT,
            _ if is_word_start(byte) => Class::LETTER,
            b'%' => Class::PERCENT,
            b'.' => Class::DOT,
            b',' => Class::COMMA,
            b' ' => Class::SPACE,
            b'[' => Class::ADDRESS,
            b']' => Class::ADDRESS_END,
            b'{' => Class::VECTOR,
            b'}' => Class::VECTOR_END,
            b'-' | b'!' => Class::SIGN,
            b'|' | b'+' => Class::JOINT,
            b';' => Class::END,
            _ => Class::OTHER,
        }
    }

    const fn or(self, other: Class) -> Class {
        Class(self.0 | other.0)
    }

    /// Those that may follow, only where no other space would be written between
    /// the two.
    const fn followers(self) -> Class {
        let name = Class::LETTER.or(Class::PERCENT);
        let value = name.or(Class::DIGIT);
        let end = Class::COMMA.or(Class::END);
        match self {
            Class::LETTER | Class::DIGIT => Class::LETTER
                .or(Class::DIGIT)
                .or(Class::DOT)
                .or(Class::ADDRESS_END)
                .or(Class::VECTOR_END)
                .or(Class::JOINT)
                .or(end),
            Class::PERCENT => Class::LETTER.or(Class::DIGIT),
            Class::DOT => Class::LETTER,
            Class::COMMA => Class::SPACE,
            Class::SPACE => value.or(Class::ADDRESS).or(Class::VECTOR).or(Class::SIGN),
            Class::ADDRESS => name,
            Class::ADDRESS_END => end,
            Class::VECTOR => value.or(Class::SIGN),
            Class::VECTOR_END => end.or(Class::ADDRESS_END),
            Class::SIGN | Class::JOINT => value,
            _ => Class::OTHER,
        }
    }
}

/// The class of each byte and, in the upper half, those that may follow it.
const CLASSES: [u32; 256] = {
    let mut classes = [0; 256];
    let mut byte = 0;
    while byte < 128 {
        let class = Class::of(byte as u8);
        classes[byte] = (class.followers().0 as u32) << 16 | class.0 as u32;
        byte += 1;
    }
    classes
};

/// The statement at an offset, if it is of the usual shape.
#[inline]
pub(super) fn statement(bytes: &[u8], start: usize) -> Option<Usual> {
    let opcode = match bytes.get(start)? {
        b'.' => return location(bytes, start),
        b'@' => guard_end(bytes, start)?,
        _ => start,
    };
    let mut at = opcode;
    // Dots bind to the words behind them.
    loop {
        bytes.get(at).filter(|&&byte| is_word_start(byte))?;
        at = word_end(bytes, at + 1);
        if bytes.get(at) != Some(&b'.') {
            break;
        }
        at += 1;
    }
    let head = Span::new(start as u32, at as u32);
    while matches!(bytes.get(at), Some(b' ' | b'\t')) {
        at += 1;
    }
    let blanks = at - head.end as usize;
    let (end, space, is_label) = match bytes.get(at)? {
        b';' => (at + 1, false, false),
        b':' if blanks == 0 => {
            let plain = word_end(bytes, start) == at && is_alone(bytes, at + 1);
            plain.then_some((at + 1, false, true))?
        }
        _ if blanks == 0 => return None,
        _ => (operands_end(bytes, at)?, true, false),
    };
    Some(Usual { head, rest: Span::new(at as u32, end as u32), space, is_label })
}

/// Offset of the next token, if only white space and `// …` stand before it.
fn next_token(bytes: &[u8], mut at: usize) -> Option<usize> {
    loop {
        match bytes.get(at)? {
            byte if byte.is_ascii_whitespace() => at += 1,
            b'/' if bytes.get(at + 1) == Some(&b'/') => at = line_end(bytes, at),
            b'/' | b'#' => return None,
            byte if byte.is_ascii_control() => return None,
            _ => return Some(at),
        }
    }
}

/// Whether the line ends behind a label, but perhaps for a comment, and what
/// follows is nothing that a label may name.
fn is_alone(bytes: &[u8], at: usize) -> bool {
    let Some(next) = next_token(bytes, at) else {
        return false;
    };
    let named = [&b".branch"[..], b".call"].into_iter().any(|it| bytes[next..].starts_with(it));
    bytes.get(at) == Some(&b'\n') && bytes[next] != b':' && !named
}

/// `.loc 1 2 3`, perhaps with `, function_name name, inlined_at 1 2 3`, and
/// nothing behind it that might belong to it.
fn location(bytes: &[u8], start: usize) -> Option<Usual> {
    bytes[start..].strip_prefix(b".loc")?;
    let head = Span::new(start as u32, start as u32 + 4);
    let mut at = start + 4;
    while matches!(bytes.get(at), Some(b' ' | b'\t')) {
        at += 1;
    }
    let rest = at;
    if rest == head.end as usize {
        return None;
    }
    at = numbers_end(bytes, at)?;
    if bytes[at..].starts_with(FUNCTION) {
        let name = at + FUNCTION.len();
        bytes.get(name).filter(|&&byte| is_word_start(byte))?;
        at = word_end(bytes, name);
        bytes[at..].strip_prefix(INLINED)?;
        at = numbers_end(bytes, at + INLINED.len())?;
    }
    let next = bytes[next_token(bytes, at)?];
    let belongs = next.is_ascii_digit() || next == b',' || next == b'+';
    let ends = matches!(bytes.get(at), Some(b' ' | b'\t' | b'\n' | b'/')) && !belongs;
    // A fraction is a number, too.
    let fraction = next == b'.' && !is_directive(bytes, at);
    let rest = Span::new(rest as u32, at as u32);
    (ends && !fraction).then_some(Usual { head, rest, space: true, is_label: false })
}

const FUNCTION: &[u8] = b", function_name ";
const INLINED: &[u8] = b", inlined_at ";

/// Whether the next token is a directive.
fn is_directive(bytes: &[u8], at: usize) -> bool {
    next_token(bytes, at)
        .and_then(|next| bytes.get(next + 1))
        .is_some_and(|&byte| is_word_start(byte))
}

/// Offset after numbers with one space between them.
fn numbers_end(bytes: &[u8], mut at: usize) -> Option<usize> {
    loop {
        let start = at;
        while bytes.get(at).is_some_and(u8::is_ascii_digit) {
            at += 1;
        }
        if at == start {
            return None;
        }
        let more =
            bytes.get(at) == Some(&b' ') && bytes.get(at + 1).is_some_and(u8::is_ascii_digit);
        if !more {
            return Some(at);
        }
        at += 1;
    }
}

/// The comment `// …` at an offset, without blanks at its end; `None` for one that
/// speaks to the formatter.
pub(super) fn comment(bytes: &[u8], start: usize) -> Option<Span> {
    bytes[start..].strip_prefix(b"//")?;
    let text = bytes[start..line_end(bytes, start)].trim_ascii_end();
    let addressed = memchr::memmem::find(text, b"vptx").is_some();
    (!addressed).then(|| Span::new(start as u32, (start + text.len()) as u32))
}

/// A number among those of a table at an offset, with the comma behind it.
pub(super) fn element(bytes: &[u8], start: usize) -> Option<Span> {
    bytes.get(start).filter(|byte| byte.is_ascii_digit())?;
    let end = word_end(bytes, start);
    let next = bytes
        .get(end + 1..)
        .and_then(|rest| rest.iter().find(|byte| !matches!(byte, b' ' | b'\t')));
    let usual = bytes.get(end) == Some(&b',') && next.is_some_and(|&byte| byte != b'/');
    usual.then(|| Span::new(start as u32, end as u32 + 1))
}

/// Offset of the opcode behind `@p ` or `@!%p `.
fn guard_end(bytes: &[u8], start: usize) -> Option<usize> {
    let mut at = start + 1;
    at += usize::from(bytes.get(at) == Some(&b'!'));
    let percent = bytes.get(at) == Some(&b'%');
    at += usize::from(percent);
    bytes.get(at).filter(|&&byte| is_word_start(byte) || percent && is_word(byte))?;
    at = word_end(bytes, at);
    (bytes.get(at) == Some(&b' ')).then_some(at + 1)
}

/// Offset after the `;` behind operands.
#[inline]
fn operands_end(bytes: &[u8], start: usize) -> Option<usize> {
    let mut allowed = u32::from(Class::SPACE.followers().0);
    for (length, &byte) in bytes[start..].iter().enumerate() {
        let class = CLASSES[usize::from(byte)];
        if class & allowed == 0 {
            return None;
        }
        if class & u32::from(Class::END.0 | Class::JOINT.0) != 0 {
            let at = start + length;
            if byte == b';' {
                return Some(at + 1);
            }
            if !joins(bytes, at) {
                return None;
            }
        }
        allowed = class >> 16;
    }
    None
}

/// Whether `|` and `+` stand between a name and what they are written close to:
/// another name, or a number.
fn joins(bytes: &[u8], at: usize) -> bool {
    let before = bytes[..at].iter().rev().take_while(|&&byte| is_word(byte)).count();
    let start = at - before;
    let name = bytes[start - 1] == b'%' || bytes[start - 1] != b'.' && is_word_start(bytes[start]);
    let number = bytes.get(at + 1).is_some_and(u8::is_ascii_digit);
    name && number == (bytes[at] == b'+')
}
