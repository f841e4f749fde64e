//! Instructions of the usual shape, laid out without tokens in between.
//!
//! `@%p1 ld.global.v2.u32 {%r1, %r2}, [%rd1+4];` and the like make most of a
//! module. Anything else, and whatever is in doubt, is left to the layout by
//! tokens; what is written is the same. Edits are always made from tokens, and
//! tests hold the two against each other.

use crate::syntax::lexer::{is_word, is_word_start, word_end};

/// Parts of the text that an instruction is put together from.
const PARTS: usize = 12;

/// An instruction on one line.
#[derive(Debug)]
pub(super) struct Simple {
    /// Start, end, and whether a space stands before it.
    parts: [(usize, usize, bool); PARTS],
    count: usize,
    /// Bytes it takes.
    pub(super) width: usize,
    /// Offset after its `;`.
    pub(super) end: usize,
}

impl Simple {
    pub(super) fn parts(&self) -> &[(usize, usize, bool)] {
        &self.parts[..self.count]
    }
}

struct Scanner<'b> {
    bytes: &'b [u8],
    at: usize,
    /// End of the token before.
    last: usize,
    /// Start of the part at hand, and whether a space stands before it.
    part: (usize, bool),
    parts: [(usize, usize, bool); PARTS],
    count: usize,
    width: usize,
}

/// The instruction at an offset, if it is of the usual shape.
pub(super) fn instruction(bytes: &[u8], start: usize) -> Option<Simple> {
    let mut scanner = Scanner {
        bytes,
        at: start,
        last: start,
        part: (start, false),
        parts: [(0, 0, false); PARTS],
        count: 0,
        width: 0,
    };
    scanner.instruction()?;
    let Scanner { at, parts, count, width, .. } = scanner;
    Some(Simple { parts, count, width, end: at })
}

impl Scanner<'_> {
    fn peek(&self) -> u8 {
        self.bytes.get(self.at).copied().unwrap_or(0)
    }

    fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == byte;
        self.at += usize::from(found);
        found
    }

    /// Takes the rest of a word.
    fn word(&mut self) {
        self.at = word_end(self.bytes, self.at);
    }

    /// Takes a name; a register's has a `%`.
    fn name(&mut self) -> Option<()> {
        if self.take(b'%') {
            is_word(self.peek()).then_some(())?;
        } else {
            is_word_start(self.peek()).then_some(())?;
        }
        self.word();
        Some(())
    }

    /// Takes `.word`, if a dot stands here.
    fn dot(&mut self) -> Option<bool> {
        if !self.take(b'.') {
            return Some(false);
        }
        is_word_start(self.peek()).then_some(())?;
        self.word();
        (self.peek() != b':').then_some(true)
    }

    /// Goes on to the next token, which is to have a space before it or none.
    fn next(&mut self, space: bool) -> Option<()> {
        self.last = self.at;
        while matches!(self.peek(), b' ' | b'\t') {
            self.at += 1;
        }
        let blanks = self.at - self.last;
        if blanks != usize::from(space) || space && self.bytes[self.last] != b' ' {
            self.end_part()?;
            self.part = (self.at, space);
        }
        Some(())
    }

    fn end_part(&mut self) -> Option<()> {
        let (start, space) = self.part;
        *self.parts.get_mut(self.count)? = (start, self.last, space);
        self.count += 1;
        self.width += self.last - start + usize::from(space);
        Some(())
    }

    fn instruction(&mut self) -> Option<()> {
        if self.take(b'@') {
            self.take(b'!');
            self.name()?;
            self.next(true)?;
        }
        is_word_start(self.peek()).then_some(())?;
        self.word();
        while self.dot()? {}
        if self.peek() == b';' {
            self.next(false)?;
        } else {
            self.next(true)?;
            self.operands()?;
        }
        self.take(b';').then_some(())?;
        self.last = self.at;
        self.end_part()
    }

    /// The operands, up to the `;`.
    fn operands(&mut self) -> Option<()> {
        let mut vector = false;
        loop {
            if !vector && self.take(b'{') {
                vector = true;
                self.next(false)?;
            }
            self.operand()?;
            self.after_operand()?;
            if vector && self.take(b'}') {
                vector = false;
                self.after_operand()?;
            }
            match self.peek() {
                b',' => {
                    self.at += 1;
                    self.next(true)?;
                }
                b';' if !vector => return Some(()),
                _ => return None,
            }
        }
    }

    /// Goes on to what ends an operand, which has no space before it. Other
    /// tokens may have one: they end the attempt.
    fn after_operand(&mut self) -> Option<()> {
        let mut at = self.at;
        while matches!(self.bytes.get(at), Some(b' ' | b'\t')) {
            at += 1;
        }
        matches!(self.bytes.get(at), Some(b',' | b';' | b'}' | b']')).then_some(())?;
        self.next(false)
    }

    fn operand(&mut self) -> Option<()> {
        if self.take(b'[') {
            self.next(false)?;
            self.name()?;
            self.offset()?;
            self.after_operand()?;
            return self.take(b']').then_some(());
        }
        if !self.take(b'-') {
            self.take(b'!');
        }
        if self.peek().is_ascii_digit() {
            self.word();
            return Some(());
        }
        self.name()?;
        if !self.dot()? {
            if self.take(b'|') {
                return self.name();
            }
            self.offset()?;
        }
        Some(())
    }

    /// Takes `+4`, if a sign stands here.
    fn offset(&mut self) -> Option<()> {
        if self.take(b'+') {
            self.peek().is_ascii_digit().then_some(())?;
            self.word();
        }
        Some(())
    }
}
