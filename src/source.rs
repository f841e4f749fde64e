//! Text, spans and line numbers.

use std::ops::Range;

/// A range of bytes in a source text, end excluded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Span {
    /// Offset of the first byte.
    pub start: u32,
    /// Offset after the last byte.
    pub end: u32,
}

impl Span {
    /// The span from `start` to `end`.
    pub const fn new(start: u32, end: u32) -> Span {
        Span { start, end }
    }

    /// An empty span.
    pub const fn at(offset: u32) -> Span {
        Span { start: offset, end: offset }
    }

    /// From the start of `self` to the end of `other`.
    #[must_use]
    pub const fn to(self, other: Span) -> Span {
        Span { start: self.start, end: other.end }
    }

    /// Length in bytes.
    pub const fn len(self) -> u32 {
        self.end - self.start
    }

    /// Whether it holds no byte.
    pub const fn is_empty(self) -> bool {
        self.start == self.end
    }

    /// As a range for slicing.
    pub const fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }

    /// The text it covers.
    pub fn text(self, source: &str) -> &str {
        &source[self.range()]
    }
}

/// The largest text vptx reads: offsets are 32 bits wide.
pub const MAX_LEN: usize = u32::MAX as usize - 1;

/// Where each line starts; made once, asked often.
#[derive(Clone, Debug)]
pub struct LineIndex {
    starts: Vec<u32>,
    len: u32,
}

/// A place as editors show it: both counted from 1, columns in Unicode scalar
/// values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Position {
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1.
    pub column: u32,
}

impl LineIndex {
    /// Indexes a text of at most [`MAX_LEN`] bytes. Lines end at `\n`.
    pub fn new(text: &str) -> LineIndex {
        let newlines = text.bytes().enumerate().filter(|&(_, byte)| byte == b'\n');
        let starts = std::iter::once(0).chain(newlines.map(|(at, _)| at as u32 + 1)).collect();
        LineIndex { starts, len: text.len() as u32 }
    }

    /// Line number from 0 of the line that holds the offset.
    pub fn line(&self, offset: u32) -> usize {
        self.starts.partition_point(|&start| start <= offset) - 1
    }

    /// The bytes of a line counted from 0, its line break included; empty past
    /// the end.
    pub fn line_span(&self, line: usize) -> Span {
        let start = self.starts.get(line).copied().unwrap_or(self.len);
        let end = self.starts.get(line + 1).copied().unwrap_or(self.len);
        Span { start, end }
    }

    /// Number of lines; at least one.
    pub fn lines(&self) -> usize {
        self.starts.len()
    }

    /// Line and column of an offset in the text the index was made from.
    pub fn position(&self, text: &str, offset: u32) -> Position {
        let line = self.line(offset);
        let before = &text.as_bytes()[self.starts[line] as usize..offset as usize];
        // Continuation bytes of UTF-8 do not count.
        let column = before.iter().filter(|&&byte| byte & 0xc0 != 0x80).count();
        Position { line: line as u32 + 1, column: column as u32 + 1 }
    }
}

/// Reads bytes as text, one byte for one byte.
///
/// PTX is ASCII outside comments and strings, and comments come in any
/// encoding: a byte that is not UTF-8 becomes one control character
/// (U+007F), so that all offsets stay those of the file. Inside a comment or
/// string it is harmless; elsewhere the checker reports it.
pub fn decode(bytes: Vec<u8>) -> String {
    match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            let bytes = error.into_bytes();
            let mut text = String::with_capacity(bytes.len());
            for chunk in bytes.utf8_chunks() {
                text.push_str(chunk.valid());
                text.extend(chunk.invalid().iter().map(|_| UNDECODABLE));
            }
            text
        }
    }
}

/// What [`decode`] puts in place of a byte that is not UTF-8.
pub const UNDECODABLE: char = '\u{7f}';

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_characters_not_bytes() {
        let text = "ab\nc→d\n\nlast";
        let index = LineIndex::new(text);
        let at = |needle: &str| {
            let position = index.position(text, text.find(needle).unwrap() as u32);
            (position.line, position.column)
        };
        assert_eq!(at("a"), (1, 1));
        assert_eq!(at("\nc"), (1, 3));
        assert_eq!(at("d"), (2, 3));
        assert_eq!(at("last"), (4, 1));
        let end = index.position(text, text.len() as u32);
        assert_eq!((end.line, end.column), (4, 5));
        assert_eq!(index.line_span(1).text(text), "c→d\n");
        assert_eq!(index.line_span(3).text(text), "last");
        assert!(index.line_span(9).is_empty());
    }

    #[test]
    fn decoding_keeps_every_offset() {
        let bytes = b"// caf\xe9 \xf0\x9f\nret; // \xc3\xa9".to_vec();
        let text = decode(bytes.clone());
        assert_eq!(text.len(), bytes.len());
        assert_eq!(&text[text.len() - 2..], "é");
        assert_eq!(text.matches(UNDECODABLE).count(), 3);
    }
}
