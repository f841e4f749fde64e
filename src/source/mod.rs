//! Text, spans and line numbers.
//!
//! ```
//! use vptx::source::{LineIndex, Position, Span};
//!
//! let text = "mov.u32 d, a;\nvadd.u32.u32.u32 d, a, b;";
//! let span = Span::new(14, 18);
//! assert_eq!(span.text(text), "vadd");
//! let place = LineIndex::new(text).position(text, span.start);
//! assert_eq!(place, Position { line: 2, column: 1 });
//! ```

mod nearest;

use std::borrow::Cow;
use std::cmp::Ordering;
use std::ops::Range;

pub(crate) use nearest::{distance, nearest};

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
    ///
    /// # Panics
    /// If the end lies before the start.
    pub const fn new(start: u32, end: u32) -> Span {
        assert!(start <= end, "a span ends before it starts");
        Span { start, end }
    }

    /// An empty span.
    pub const fn at(offset: u32) -> Span {
        Span { start: offset, end: offset }
    }

    /// From the start of `self` to the end of `other`, which must not lie before it.
    #[must_use]
    pub const fn to(self, other: Span) -> Span {
        Span { start: self.start, end: other.end }
    }

    /// The span in a text in which `bytes` bytes precede the text of `self`.
    pub(crate) fn shifted(self, bytes: u32) -> Span {
        Span::new(self.start + bytes, self.end + bytes)
    }

    /// Length in bytes.
    pub const fn len(self) -> u32 {
        self.end - self.start
    }

    /// Whether the span holds no byte.
    pub const fn is_empty(self) -> bool {
        self.start == self.end
    }

    /// Whether an offset is in the span, or right behind it.
    pub(crate) fn touches(self, offset: u32) -> bool {
        self.start <= offset && offset <= self.end
    }

    /// Whether the span lies in one of several spans, which must be in order.
    pub(crate) fn is_in(self, spans: &[Span]) -> bool {
        self.around(spans).is_some()
    }

    /// Of several spans, which must be in order, the one in which the span lies.
    pub(crate) fn around(self, spans: &[Span]) -> Option<Span> {
        let next = spans.partition_point(|other| other.end < self.end);
        spans.get(next).copied().filter(|other| other.start <= self.start)
    }

    /// The span as a range for slicing.
    pub const fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }

    /// The text that the span covers.
    ///
    /// # Panics
    /// If the span lies outside the text or splits a character: it belongs to another text.
    pub fn text(self, source: &str) -> &str {
        &source[self.range()]
    }
}

/// The mark by which some editors tell that a text is UTF-8.
pub(crate) const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// The length of the byte order mark at the start of a text; 0 without one.
pub(crate) fn mark_len(text: &[u8]) -> usize {
    if text.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 }
}

/// Length in bytes of the longest text that vptx reads: offsets have 32 bits.
pub const MAX_LEN: usize = u32::MAX as usize - 1;

/// The start of each line, to convert offsets into lines and columns.
#[derive(Clone, Debug)]
pub struct LineIndex {
    starts: Vec<u32>,
    len: u32,
    /// The number of UTF-8 continuation bytes before each block, and before the end. With it,
    /// finding a column in a line of a megabyte costs no more than in a short line.
    continuations: Vec<u32>,
}

/// Bytes in a block of [`LineIndex::continuations`].
const BLOCK: usize = 1024;

/// Whether a byte continues a character that started before it.
fn is_continuation(byte: u8) -> bool {
    byte & 0xc0 == 0x80
}

/// A position as editors show it. Line and column count from 1; columns count Unicode scalar
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
        let newlines = || memchr::memchr_iter(b'\n', text.as_bytes());
        let mut starts = Vec::with_capacity(newlines().count() + 1);
        starts.push(0);
        starts.extend(newlines().map(|at| at as u32 + 1));
        let mut before = 0;
        let mut continuations = vec![0];
        continuations.extend(text.as_bytes().chunks(BLOCK).map(|block| {
            // Most text is ASCII, which is fast to detect.
            if !block.is_ascii() {
                before += block.iter().filter(|&&byte| is_continuation(byte)).count() as u32;
            }
            before
        }));
        LineIndex { starts, len: text.len() as u32, continuations }
    }

    /// Continuation bytes before an offset of the text.
    fn continuations(&self, text: &str, offset: u32) -> u32 {
        let block = offset as usize / BLOCK;
        let rest = &text.as_bytes()[block * BLOCK..offset as usize];
        let count = rest.iter().filter(|&&byte| is_continuation(byte)).count() as u32;
        self.continuations[block] + count
    }

    /// The number of Unicode scalar values before an offset of the indexed text.
    ///
    /// # Panics
    /// If the offset lies behind the text, or `text` is a different text that is too short.
    pub fn char_offset(&self, text: &str, offset: u32) -> u32 {
        offset - self.continuations(text, offset)
    }

    /// Number, from 0, of the line that holds the offset.
    pub fn line(&self, offset: u32) -> usize {
        self.starts.partition_point(|&start| start <= offset) - 1
    }

    /// The span of a line with its line break. Lines count from 0; the span is empty past the
    /// last line.
    pub fn line_span(&self, line: usize) -> Span {
        let start = self.starts.get(line).copied().unwrap_or(self.len);
        let end = self.starts.get(line + 1).copied().unwrap_or(self.len);
        Span { start, end }
    }

    /// Number of lines; at least one.
    pub fn lines(&self) -> usize {
        self.starts.len()
    }

    /// Line and column of an offset in the indexed text.
    ///
    /// # Panics
    /// If the offset lies behind the text, or `text` is a different text that is too short.
    pub fn position(&self, text: &str, offset: u32) -> Position {
        let line = self.line(offset);
        let start = self.starts[line];
        let inside = self.continuations(text, offset) - self.continuations(text, start);
        let column = offset - start - inside;
        Position { line: line as u32 + 1, column: column + 1 }
    }
}

/// The line break that ends the first line of a text.
pub(crate) fn line_end(source: &str) -> &'static str {
    let first = memchr::memchr(b'\n', source.as_bytes());
    let crlf = first.is_some_and(|at| source[..at].ends_with('\r'));
    if crlf { "\r\n" } else { "\n" }
}

/// The rest of the line that starts with a word, in lines that are sorted by their first words.
pub(crate) fn behind_word<'t>(lines: &'t str, word: &str) -> Option<&'t str> {
    let bytes = lines.as_bytes();
    let (mut low, mut high) = (0, lines.len());
    while low < high {
        let middle = usize::midpoint(low, high);
        let start = memchr::memrchr(b'\n', &bytes[low..middle]).map_or(low, |at| low + at + 1);
        let end = memchr::memchr(b'\n', &bytes[start..]).map_or(lines.len(), |at| start + at);
        let line = &lines[start..end];
        let (own, rest) = line.split_at(line.find(' ').unwrap_or(line.len()));
        match word.cmp(own) {
            Ordering::Equal => return Some(rest),
            Ordering::Less => high = start,
            Ordering::Greater => low = end + 1,
        }
    }
    None
}

/// Decodes bytes as a text of the same length in bytes.
///
/// PTX is ASCII outside of comments and strings, but comments come in any encoding. Each byte that
/// is not UTF-8 becomes one control character (U+007F), so that all offsets are the same as in the
/// file. Inside of a comment or string, this character is harmless; elsewhere the checker reports
/// it.
pub fn decode(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|error| replace_undecodable(error.as_bytes()))
}

/// Like [`decode`], without a copy if the bytes are UTF-8.
pub fn decoded(bytes: &[u8]) -> Cow<'_, str> {
    utf8(bytes).map_or_else(|| replace_undecodable(bytes).into(), Cow::from)
}

/// The text, if the bytes are UTF-8.
pub(crate) fn utf8(bytes: &[u8]) -> Option<&str> {
    #[cfg(feature = "simd")]
    return simdutf8::basic::from_utf8(bytes).ok();
    #[cfg(not(feature = "simd"))]
    return std::str::from_utf8(bytes).ok();
}

fn replace_undecodable(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().map(|_| UNDECODABLE));
    }
    text
}

/// The stand-in of [`decode`] for a byte that is not UTF-8.
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
    fn columns_in_long_lines_are_those_of_a_plain_count() {
        for length in [0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK] {
            let odd = format!("é\n{}é→\nx", "aé".repeat(length / 3));
            // May end where a block does.
            let even = "é".repeat(length / 2);
            for text in [odd, even] {
                let index = LineIndex::new(&text);
                for (at, _) in text.char_indices().chain([(text.len(), ' ')]) {
                    let start = text[..at].rfind('\n').map_or(0, |newline| newline + 1);
                    let column = text[start..at].chars().count() as u32 + 1;
                    assert_eq!(index.position(&text, at as u32).column, column, "{length} {at}");
                    let before = text[..at].chars().count() as u32;
                    assert_eq!(index.char_offset(&text, at as u32), before, "{length} {at}");
                }
            }
        }
    }

    #[test]
    fn decoding_keeps_every_offset() {
        let bytes = b"// caf\xe9 \xf0\x9f\nret; // \xc3\xa9".to_vec();
        let text = decode(bytes.clone());
        assert_eq!(decoded(&bytes), text);
        assert_eq!(text.len(), bytes.len());
        assert_eq!(&text[text.len() - 2..], "é");
        assert_eq!(text.matches(UNDECODABLE).count(), 3);
    }
}
