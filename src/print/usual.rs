//! Lines of the usual shape, laid out without tokens in between.
//!
//! `@%p1 ld.global.v2.u32 \t{%r1, %r2}, [%rd1+4];`, labels and `.loc` make most
//! of a module. Whatever is spaced otherwise, or in doubt, is left to the layout by
//! tokens; what is written is the same. Edits are always made from tokens, and
//! tests hold the two against each other.

use crate::source::Span;
use crate::syntax::lexer::{blank_end, is_word, is_word_start, line_end, word_end};
use crate::syntax::ordinary::{self, next_token};

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

/// What a byte may be among operands.
#[derive(Clone, Copy)]
enum Class {
    /// Nothing usual.
    Other,
    Letter,
    Digit,
    Percent,
    Dot,
    Comma,
    Space,
    /// `[`
    Address,
    /// `]`
    AddressEnd,
    /// `{`
    Vector,
    /// `}`
    VectorEnd,
    /// `-` or `!`
    Sign,
    /// `|` or `+`
    Joint,
    End,
}

impl Class {
    const fn of(byte: u8) -> Class {
        match byte {
            b'0'..=b'9' => Class::Digit,
            _ if is_word_start(byte) => Class::Letter,
            b'%' => Class::Percent,
            b'.' => Class::Dot,
            b',' => Class::Comma,
            b' ' => Class::Space,
            b'[' => Class::Address,
            b']' => Class::AddressEnd,
            b'{' => Class::Vector,
            b'}' => Class::VectorEnd,
            b'-' | b'!' => Class::Sign,
            b'|' | b'+' => Class::Joint,
            b';' => Class::End,
            _ => Class::Other,
        }
    }

    /// Those that may follow, only where no other space would be written between
    /// the two.
    const fn followers(self) -> &'static [Class] {
        use Class::{
            Address, AddressEnd, Comma, Digit, Dot, End, Joint, Letter, Percent, Sign, Space,
            Vector, VectorEnd,
        };
        match self {
            Letter | Digit => &[Letter, Digit, Dot, Comma, AddressEnd, VectorEnd, Joint, End],
            Percent => &[Letter, Digit],
            Dot => &[Letter],
            Comma => &[Space],
            Space => &[Letter, Digit, Percent, Address, Vector, Sign],
            Address => &[Letter, Percent],
            AddressEnd => &[Comma, End],
            Vector => &[Letter, Digit, Percent, Sign],
            VectorEnd => &[Comma, AddressEnd, End],
            Sign | Joint => &[Letter, Digit, Percent],
            Class::Other | End => &[],
        }
    }
}

const CLASSES: [Class; 256] = {
    let mut classes = [Class::Other; 256];
    let mut byte = 0;
    while byte < 128 {
        classes[byte] = Class::of(byte as u8);
        byte += 1;
    }
    classes
};

/// For a class in the upper and one in the lower four bits, whether the second may
/// follow the first; and whether it is a joint.
const PAIRS: [u8; 256] = {
    let mut pairs = [0; 256];
    let mut byte = 0;
    while byte < 128 {
        let first = CLASSES[byte];
        let (followers, mut at) = (first.followers(), 0);
        while at < followers.len() {
            let second = followers[at];
            let joint = if matches!(second, Class::Joint) { JOINT } else { 0 };
            pairs[(first as usize) << 4 | second as usize] = USUAL | joint;
            at += 1;
        }
        byte += 1;
    }
    pairs
};

const USUAL: u8 = 1;
const JOINT: u8 = 2;

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
    at = blank_end(bytes, at);
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

/// Whether the line ends behind a label, but perhaps for a comment, and what
/// follows is nothing that a label may name.
fn is_alone(bytes: &[u8], at: usize) -> bool {
    let Some(next) = next_token(bytes, at) else {
        return false;
    };
    let named = [&b".branch"[..], b".call"].into_iter().any(|it| bytes[next..].starts_with(it));
    bytes.get(at) == Some(&b'\n') && !matches!(bytes[next], b':' | b'#') && !named
}

/// `.loc`, with one space between its numbers, and what follows apart from it.
fn location(bytes: &[u8], start: usize) -> Option<Usual> {
    let ordinary::Location { numbers, end, .. } = ordinary::location(bytes, start)?;
    let is_spaced = !bytes[numbers..end].windows(2).any(|pair| pair == b"  " || pair[1] == b'\t');
    let is_apart = matches!(bytes[end], b' ' | b'\t' | b'\n' | b'/');
    (is_spaced && is_apart).then(|| Usual {
        head: Span::new(start as u32, start as u32 + 4),
        rest: Span::new(numbers as u32, end as u32),
        space: true,
        is_label: false,
    })
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

/// The longest operands that are looked at, in bytes: a text without `;` is not to
/// be searched to its end for each of its statements.
const LONGEST: usize = 1024;

/// Offset after the `;` behind operands.
#[inline]
fn operands_end(bytes: &[u8], start: usize) -> Option<usize> {
    let most = bytes.len().min(start + LONGEST);
    let end = start + memchr::memchr(b';', &bytes[start..most])? + 1;
    let operands = &bytes[start..end];
    let (mut all, mut any) = (USUAL, 0);
    let mut class = Class::Space;
    // Without branches: this is most of what formatting takes.
    for &byte in operands {
        let next = CLASSES[usize::from(byte)];
        let pair = PAIRS[(class as usize) << 4 | next as usize];
        all &= pair;
        any |= pair;
        class = next;
    }
    let joints = || operands.iter().enumerate().filter(|(_, byte)| matches!(byte, b'|' | b'+'));
    let usual =
        all == USUAL && (any & JOINT == 0 || joints().all(|(at, _)| joins(bytes, start + at)));
    usual.then_some(end)
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
