//! Lays out lines of the usual shape without reading their tokens.
//!
//! `@%p1 ld.global.v2.u32 \t{%r1, %r2}, [%rd1+4];`, labels and `.loc` make up most of a module. The
//! layout by tokens handles all other statements, and any in doubt. Both write the same text, which
//! tests check. Edits are always made from tokens.

use super::shapes::Shapes;
use crate::source::Span;
use crate::syntax::blocks::{BLOCK, low_bits};
use crate::syntax::lexer::{blank_end, is_word, is_word_start, line_end, word_end};
use crate::syntax::ordinary::{self, next_token};

/// A statement that is formatted already, except for the blanks after its opcode.
#[derive(Debug)]
pub(super) struct Usual {
    /// The guard and the opcode, or the name of a label.
    pub(super) head: Span,
    /// The text that follows, `;` or `:` included.
    pub(super) rest: Span,
    /// Whether a space stands before `rest`.
    pub(super) space: bool,
    pub(super) is_label: bool,
}

/// The statement at an offset, if it is of the usual shape.
#[inline]
pub(super) fn statement(bytes: &[u8], shapes: &mut Shapes<'_>, start: usize) -> Option<Usual> {
    let opcode = match bytes.get(start)? {
        b'.' => return location(bytes, start),
        b'@' => guard_end(bytes, start)?,
        _ => start,
    };
    bytes.get(opcode).filter(|&&byte| is_word_start(byte))?;
    let shape = shapes.at(opcode);
    // No opcode has more bytes than a shape.
    let length = shape.name.trailing_ones();
    let head = Span::new(start as u32, opcode as u32 + length);
    if shape.odd & low_bits(length) & !1 != 0 || bytes[head.end as usize - 1] == b'.' {
        return None;
    }
    let at = blank_end(bytes, head.end as usize);
    let blanks = at - head.end as usize;
    let (end, space, is_label) = match bytes.get(at)? {
        b';' => (at + 1, false, false),
        b':' if blanks == 0 => {
            let plain = word_end(bytes, start) == at && is_alone(bytes, at + 1);
            plain.then_some((at + 1, false, true))?
        }
        _ if blanks == 0 => return None,
        _ => (operands_end(bytes, shapes, at)?, true, false),
    };
    Some(Usual { head, rest: Span::new(at as u32, end as u32), space, is_label })
}

/// Whether the line ends right behind a label, and neither a directive that the label names nor a
/// `:` or `#` follows.
fn is_alone(bytes: &[u8], at: usize) -> bool {
    let Some(next) = next_token(bytes, at) else {
        return false;
    };
    let named = [&b".branch"[..], b".call"].into_iter().any(|it| bytes[next..].starts_with(it));
    bytes.get(at) == Some(&b'\n') && !matches!(bytes[next], b':' | b'#') && !named
}

/// A `.loc` with single spaces between its numbers, and with white space or a comment behind them.
fn location(bytes: &[u8], start: usize) -> Option<Usual> {
    let ordinary::LocDirective { numbers, end, .. } = ordinary::location(bytes, start)?;
    let is_spaced = !bytes[numbers..end].windows(2).any(|pair| pair == b"  " || pair[1] == b'\t');
    let is_apart = matches!(bytes[end], b' ' | b'\t' | b'\n' | b'/');
    (is_spaced && is_apart).then(|| Usual {
        head: Span::new(start as u32, start as u32 + 4),
        rest: Span::new(numbers as u32, end as u32),
        space: true,
        is_label: false,
    })
}

/// The comment `// …` at an offset, without blanks at its end. Returns `None` for a comment that
/// contains `vptx`.
pub(super) fn comment(bytes: &[u8], start: usize) -> Option<Span> {
    bytes[start..].strip_prefix(b"//")?;
    let text = bytes[start..line_end(bytes, start)].trim_ascii_end();
    let addressed = memchr::memmem::find(text, b"vptx").is_some();
    (!addressed).then(|| Span::new(start as u32, (start + text.len()) as u32))
}

/// An element of a table of numbers at an offset, with the comma after it.
pub(super) fn element(bytes: &[u8], start: usize) -> Option<Span> {
    bytes.get(start).filter(|byte| byte.is_ascii_digit())?;
    let end = word_end(bytes, start);
    let next = bytes
        .get(end + 1..)
        .and_then(|rest| rest.iter().find(|byte| !matches!(byte, b' ' | b'\t')));
    let usual = bytes.get(end) == Some(&b',') && next.is_some_and(|&byte| byte != b'/');
    usual.then(|| Span::new(start as u32, end as u32 + 1))
}

/// Offset of the opcode after `@p ` or `@!%p `.
fn guard_end(bytes: &[u8], start: usize) -> Option<usize> {
    let mut at = start + 1;
    at += usize::from(bytes.get(at) == Some(&b'!'));
    let percent = bytes.get(at) == Some(&b'%');
    at += usize::from(percent);
    bytes.get(at).filter(|&&byte| is_word_start(byte) || percent && is_word(byte))?;
    at = word_end(bytes, at);
    (bytes.get(at) == Some(&b' ')).then_some(at + 1)
}

/// Operands longer than about this many bytes are not scanned. Otherwise a text without
/// `;` would be scanned to its end for each statement.
const LONGEST: usize = 1024;

/// Offset after the `;` that ends the operands.
#[inline]
fn operands_end(bytes: &[u8], shapes: &mut Shapes<'_>, start: usize) -> Option<usize> {
    is_operand_start(bytes[start]).then_some(())?;
    // The byte before the first operand is not always a space.
    let mut first = 1;
    for at in (start..start + LONGEST).step_by(BLOCK) {
        let shape = shapes.at(at);
        let length = shape.end.trailing_zeros();
        let inside = low_bits(length + 1);
        if shape.odd & inside & !first != 0 {
            return None;
        }
        let mut joints = shape.joint & inside;
        while joints != 0 {
            if !joins(bytes, at + joints.trailing_zeros() as usize) {
                return None;
            }
            joints &= joints - 1;
        }
        if shape.end != 0 {
            return Some(at + length as usize + 1);
        }
        first = 0;
    }
    None
}

/// Whether operands may start with this byte after at most a space.
fn is_operand_start(byte: u8) -> bool {
    is_word(byte) || matches!(byte, b'%' | b'[' | b'{' | b'-' | b'!')
}

/// Whether `|` stands between two names, or `+` between a name and a number.
fn joins(bytes: &[u8], at: usize) -> bool {
    let before = bytes[..at].iter().rev().take_while(|&&byte| is_word(byte)).count();
    let start = at - before;
    let name = bytes[start - 1] == b'%' || bytes[start - 1] != b'.' && is_word_start(bytes[start]);
    let number = bytes.get(at + 1).is_some_and(u8::is_ascii_digit);
    name && number == (bytes[at] == b'+')
}
