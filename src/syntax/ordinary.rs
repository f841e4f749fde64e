//! Passing over what nobody asks for, without tokens.
//!
//! Most of a module is ordinary instructions, comments between them and `.loc`.
//! Those whose shape leaves no doubt are passed over here; whatever else comes
//! is left to the reader, which reads the same without this, only slower.

use super::blocks::Stops;
use super::lexer::{is_word, is_word_start, line_end, word_end};

/// What a statement's first byte says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Start {
    /// An instruction that is not wanted, or a label.
    Word,
    /// An opcode that may be wanted.
    Candidate,
    Blank,
    Guard,
    Slash,
    Dot,
    Other,
}

/// Passes over ordinary statements of a text.
#[derive(Debug)]
pub(super) struct Ordinary<'s> {
    bytes: &'s [u8],
    stops: Stops<'s>,
    starts: [Start; 256],
}

impl<'s> Ordinary<'s> {
    /// Every wanted opcode starts with the letter `initial`, lower case, or with
    /// the upper case of it.
    pub(super) fn new(bytes: &'s [u8], initial: u8) -> Ordinary<'s> {
        let starts = std::array::from_fn(|byte| match byte as u8 {
            byte if byte.eq_ignore_ascii_case(&initial) => Start::Candidate,
            byte if is_word_start(byte) => Start::Word,
            b'\n' | b' ' | b'\t' | b'\r' | b'\x0c' | b'\x1a' => Start::Blank,
            b'@' => Start::Guard,
            b'/' => Start::Slash,
            b'.' => Start::Dot,
            _ => Start::Other,
        });
        Ordinary { bytes, stops: Stops::new(bytes), starts }
    }

    fn start(&self, at: usize) -> Start {
        self.bytes.get(at).map_or(Start::Other, |&byte| self.starts[byte as usize])
    }

    /// From an offset between statements to one after it that is between
    /// statements, too. What lies in between is complete and declares nothing.
    #[inline]
    pub(super) fn skip(&mut self, mut at: usize) -> usize {
        loop {
            let end = match self.start(at) {
                Start::Blank => Some(at + 1),
                Start::Word => self.instruction(at),
                Start::Guard => self.guarded(at),
                Start::Slash => self.comment(at),
                Start::Dot => self.location(at),
                Start::Candidate | Start::Other => None,
            };
            match end {
                Some(end) => at = end,
                None => return at,
            }
        }
    }

    /// `// …`
    fn comment(&self, at: usize) -> Option<usize> {
        (self.bytes.get(at + 1) == Some(&b'/')).then(|| line_end(self.bytes, at))
    }

    /// `@p opcode …;`
    fn guarded(&mut self, at: usize) -> Option<usize> {
        let mut at = at + 1;
        at += usize::from(self.bytes.get(at) == Some(&b'!'));
        at += usize::from(self.bytes.get(at) == Some(&b'%'));
        self.bytes.get(at).filter(|&&byte| is_word(byte))?;
        at = self.blanks(word_end(self.bytes, at));
        if self.start(at) == Start::Word { self.instruction(at) } else { None }
    }

    /// From inside an ordinary instruction to after its `;`, or to where one of
    /// those that follow it ends or starts. A label is none.
    #[inline]
    fn instruction(&mut self, mut at: usize) -> Option<usize> {
        let mut start = None;
        let mut braces = 0usize;
        loop {
            at = self.stops.next(at);
            let byte = self.bytes.get(at).copied();
            // Most statements have a line each.
            if byte == Some(b';') {
                if self.bytes[at + 1..].starts_with(b"\n\t") && self.start(at + 3) == Start::Word {
                    start = Some(at + 1);
                    braces = 0;
                    at += 4;
                    continue;
                }
                return Some(at + 1);
            }
            at = match self.interruption(byte?, at, &mut braces) {
                Some(at) => at,
                None => return start,
            };
        }
    }

    /// From a stop that is no `;` to after it, if the statement goes on.
    fn interruption(&self, byte: u8, at: usize, braces: &mut usize) -> Option<usize> {
        match byte {
            // A wanted statement may start here, and a `;` be missing.
            b'\n' if self.start(self.blanks(at + 1)) == Start::Candidate => return None,
            b'{' => *braces += 1,
            b'}' => *braces = braces.checked_sub(1)?,
            b'/' => match self.bytes.get(at + 1) {
                Some(b'/') => return Some(line_end(self.bytes, at)),
                Some(b'*') => return None,
                _ => {}
            },
            b':' if self.bytes.get(at + 1) == Some(&b':') => return Some(at + 2),
            b':' | b'"' | b'#' => return None,
            _ => {}
        }
        Some(at + 1)
    }

    /// `.loc 1 2 3`, perhaps with `, function_name name, inlined_at 1 2 3`, and
    /// nothing behind it that might belong to it.
    fn location(&self, at: usize) -> Option<usize> {
        let end = self.after(at, b".loc")?;
        self.bytes.get(end).filter(|byte| matches!(byte, b' ' | b'\t'))?;
        let mut at = self.numbers(end)?;
        if let Some(name) = self.after(at, b", function_name ") {
            self.bytes.get(name).filter(|&&byte| is_word_start(byte))?;
            let inlined = self.after(word_end(self.bytes, name), b", inlined_at ")?;
            at = self.numbers(inlined)?;
        }
        let next = self.token(at)?;
        match self.start(next) {
            Start::Word | Start::Candidate | Start::Guard => Some(next),
            Start::Dot => {
                self.bytes.get(next + 1).filter(|&&byte| is_word_start(byte)).map(|_| next)
            }
            _ => None,
        }
    }

    /// Offset after a text, if that stands here.
    fn after(&self, at: usize, text: &[u8]) -> Option<usize> {
        self.bytes[at..].starts_with(text).then_some(at + text.len())
    }

    /// Offset after blanks and whole numbers, if what follows is no part of them or
    /// of a word before.
    fn numbers(&self, start: usize) -> Option<usize> {
        let rest = &self.bytes[start..];
        let digits = |byte: &u8| matches!(byte, b' ' | b'\t' | b'0'..=b'9');
        let length = rest.iter().position(|byte| !digits(byte))?;
        let apart = matches!(rest[..length].last(), Some(b' ' | b'\t'));
        (apart || !is_word(rest[length]) && rest[length] != b'.' && length > 0)
            .then_some(start + length)
    }

    /// Offset of the next token, if only white space and `// …` stand before it.
    fn token(&self, mut at: usize) -> Option<usize> {
        loop {
            match self.start(at) {
                Start::Blank => at += 1,
                Start::Slash => at = self.comment(at)?,
                _ => return Some(at),
            }
        }
    }

    /// From after a `{` to after the `}` that closes it, unless something is
    /// between that is no plain data.
    pub(super) fn block(&mut self, mut at: usize) -> Option<usize> {
        let mut braces = 1usize;
        loop {
            at = self.stops.next(at);
            match *self.bytes.get(at)? {
                b'{' => braces += 1,
                b'}' => braces -= 1,
                b'"' | b'/' | b'#' | b';' => return None,
                _ => {}
            }
            at += 1;
            if braces == 0 {
                return Some(at);
            }
        }
    }

    fn blanks(&self, mut at: usize) -> usize {
        while matches!(self.bytes.get(at), Some(b' ' | b'\t')) {
            at += 1;
        }
        at
    }
}
