//! Skips statements that nobody asks for, without reading tokens.
//!
//! Most of a module is ordinary instructions, comments between them and `.loc`. This code skips
//! statements whose shape leaves no doubt, and leaves everything else to the reader. Without this
//! code, the reader gives the same result, only slower.

use super::blocks::{FoundStop, Stops};
use super::lexer::{blank_end, is_word, is_word_start, line_end, word_end};

/// The kind of statement that its first byte announces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Start {
    /// An instruction that is not wanted, or a label.
    Word,
    /// An opcode that may be wanted.
    Candidate,
    /// A `Word` or a `Candidate`: the next bytes decide.
    Underscore,
    Blank,
    Guard,
    Slash,
    Dot,
    Other,
}

/// Skips the ordinary statements of a text.
#[derive(Debug)]
pub(super) struct Ordinary<'s> {
    bytes: &'s [u8],
    stops: Stops<'s>,
    initial: u8,
    starts: &'static [Start; 256],
}

/// The kind for each first byte. Wanted opcodes start with the letter `initial`, given in lower
/// case, or with the same letter in upper case.
pub(super) const fn starts(initial: u8) -> [Start; 256] {
    let mut starts = [Start::Other; 256];
    let mut byte = 0u8;
    while byte < 128 {
        starts[byte as usize] = match byte {
            _ if byte.eq_ignore_ascii_case(&initial) => Start::Candidate,
            b'_' => Start::Underscore,
            _ if is_word_start(byte) => Start::Word,
            b'\n' | b' ' | b'\t' | b'\r' | b'\x0c' | b'\x1a' => Start::Blank,
            b'@' => Start::Guard,
            b'/' => Start::Slash,
            b'.' => Start::Dot,
            _ => Start::Other,
        };
        byte += 1;
    }
    starts
}

impl<'s> Ordinary<'s> {
    /// Skips all statements but those whose opcode starts with `initial`. `starts` is the table
    /// that [`starts`] gives for `initial`.
    pub(super) fn new(bytes: &'s [u8], initial: u8, starts: &'static [Start; 256]) -> Ordinary<'s> {
        Ordinary { bytes, stops: Stops::new(bytes, initial), initial, starts }
    }

    fn start(&self, at: usize) -> Start {
        match self.bytes.get(at).map_or(Start::Other, |&byte| self.starts[byte as usize]) {
            Start::Underscore if self.bytes[at..].starts_with(&[b'_', b'_', self.initial]) => {
                Start::Candidate
            }
            Start::Underscore => Start::Word,
            start => start,
        }
    }

    /// Skips from an offset between two statements to a later such offset. The skipped statements
    /// are complete and declare nothing.
    #[inline]
    pub(super) fn skip(&mut self, mut at: usize) -> usize {
        loop {
            let end = match self.start(at) {
                Start::Blank => Some(at + 1),
                Start::Word => self.instruction(at),
                Start::Guard => self.guarded(at),
                Start::Slash => comment(self.bytes, at),
                Start::Dot => location(self.bytes, at).map(|location| location.next),
                Start::Candidate | Start::Underscore | Start::Other => None,
            };
            match end {
                Some(end) => at = end,
                None => return at,
            }
        }
    }

    /// `@p opcode …;`
    fn guarded(&mut self, at: usize) -> Option<usize> {
        let mut at = at + 1;
        at += usize::from(self.bytes.get(at) == Some(&b'!'));
        at += usize::from(self.bytes.get(at) == Some(&b'%'));
        self.bytes.get(at).filter(|&&byte| is_word(byte))?;
        at = blank_end(self.bytes, word_end(self.bytes, at));
        if self.start(at) == Start::Word { self.instruction(at) } else { None }
    }

    /// Skips from inside an ordinary instruction to after its `;`, or further, to the start or the
    /// end of a later statement. `None` if the statement is a label, or not ordinary.
    #[inline]
    fn instruction(&mut self, mut at: usize) -> Option<usize> {
        let mut start = None;
        let mut braces = 0usize;
        loop {
            let FoundStop { stop, begun } = self.stops.next(at);
            let byte = self.bytes.get(stop).copied();
            // A `;` inside of braces: another statement may start before the brace.
            if braces > 0 && (begun.is_some() || byte == Some(b';')) {
                return start;
            }
            start = begun.or(start);
            at = stop;
            // Most statements have a line each.
            if byte == Some(b';') {
                if self.bytes[at + 1..].starts_with(b"\n\t") && self.start(at + 3) == Start::Word {
                    start = Some(at + 1);
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

    /// Skips a stop other than `;`. `None` if the statement may end there.
    fn interruption(&self, byte: u8, at: usize, braces: &mut usize) -> Option<usize> {
        match byte {
            // A wanted statement may start here, with a `;` missing before it.
            b'\n' if self.start(blank_end(self.bytes, at + 1)) == Start::Candidate => return None,
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

    /// Skips from after a `{` to after the `}` that closes it. `None` if the block has more
    /// than plain data.
    pub(super) fn block(&mut self, mut at: usize) -> Option<usize> {
        let mut braces = 1usize;
        loop {
            let FoundStop { stop, begun } = self.stops.next(at);
            // The search passed a `;`.
            if begun.is_some() {
                return None;
            }
            at = stop;
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
}

/// A `.loc` directive that ends for certain: no token after it might belong to it.
pub(crate) struct LocDirective {
    /// Offset of its first number.
    pub(crate) numbers: usize,
    /// Offset after its last token.
    pub(crate) end: usize,
    /// Offset of the next statement, or of the `}` of its block.
    pub(crate) next: usize,
}

/// Reads `.loc 1 2 3` at an offset, perhaps with `, function_name name, inlined_at 1 2 3`.
pub(crate) fn location(bytes: &[u8], at: usize) -> Option<LocDirective> {
    let start = after(bytes, at, b".loc")?;
    let numbers = blank_end(bytes, start);
    let mut end = numbers_end(bytes, numbers).filter(|_| numbers > start)?;
    if let Some(name) = after(bytes, end, b", function_name ") {
        bytes.get(name).filter(|&&byte| is_word_start(byte))?;
        let inlined = after(bytes, word_end(bytes, name), b", inlined_at ")?;
        end = numbers_end(bytes, inlined)?;
    }
    let next = next_token(bytes, end)?;
    let is_apart = match bytes[next] {
        // A word that adjoins a number could be part of it.
        byte if is_word_start(byte) => next > end,
        b'.' => next > end && bytes.get(next + 1).is_some_and(|&byte| is_word_start(byte)),
        byte => matches!(byte, b'@' | b'}'),
    };
    is_apart.then_some(LocDirective { numbers, end, next })
}

/// Offset after `text`, if that is next.
fn after(bytes: &[u8], at: usize, text: &[u8]) -> Option<usize> {
    bytes[at..].starts_with(text).then_some(at + text.len())
}

/// Offset after whole numbers with blanks between them.
fn numbers_end(bytes: &[u8], start: usize) -> Option<usize> {
    let is_part = |byte: &u8| matches!(byte, b' ' | b'\t' | b'0'..=b'9');
    let length = bytes[start..].iter().position(|byte| !is_part(byte))?;
    let numbers = bytes[start..start + length].trim_ascii_end();
    numbers.first().filter(|byte| byte.is_ascii_digit()).map(|_| start + numbers.len())
}

/// Offset of the next token, if only white space and `// …` precede it.
pub(crate) fn next_token(bytes: &[u8], mut at: usize) -> Option<usize> {
    loop {
        match bytes.get(at)? {
            b'\n' | b' ' | b'\t' | b'\r' | b'\x0c' | b'\x1a' => at += 1,
            b'/' => at = comment(bytes, at)?,
            _ => return Some(at),
        }
    }
}

/// Offset after `// …`
fn comment(bytes: &[u8], at: usize) -> Option<usize> {
    (bytes.get(at + 1) == Some(&b'/')).then(|| line_end(bytes, at))
}
