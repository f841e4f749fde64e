//! An open text, and its places by lines and characters as the client counts them.

use std::cell::Cell;

use gen_lsp_types::{Position, PositionEncodingKind, Range, TextDocumentContentChangeEvent};

use crate::source::{MAX_LEN, Span};

/// How a client counts the characters of a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Encoding {
    Utf8,
    /// The default of the protocol.
    #[default]
    Utf16,
    Utf32,
}

impl Encoding {
    /// The best of the encodings that a client offers by name.
    pub(super) fn choose(offered: &[&str]) -> Encoding {
        let offers = |name: &str| offered.contains(&name);
        match () {
            () if offers("utf-8") => Encoding::Utf8,
            () if offers("utf-32") && !offers("utf-16") => Encoding::Utf32,
            () => Encoding::Utf16,
        }
    }

    pub(super) fn kind(self) -> PositionEncodingKind {
        match self {
            Encoding::Utf8 => PositionEncodingKind::UTF8,
            Encoding::Utf16 => PositionEncodingKind::UTF16,
            Encoding::Utf32 => PositionEncodingKind::UTF32,
        }
    }

    fn length(self, text: &str) -> usize {
        match self {
            Encoding::Utf8 => text.len(),
            Encoding::Utf16 if text.is_ascii() => text.len(),
            Encoding::Utf16 => text.chars().map(char::len_utf16).sum(),
            Encoding::Utf32 => text.chars().count(),
        }
    }

    /// The offset of a character in a line. A number beyond the end gives the end; a place
    /// inside of a character gives its start.
    fn offset(self, line: &str, character: usize) -> usize {
        let mut left = character;
        for (at, c) in line.char_indices() {
            let length = match self {
                Encoding::Utf8 => c.len_utf8(),
                Encoding::Utf16 => c.len_utf16(),
                Encoding::Utf32 => 1,
            };
            if left < length {
                return at;
            }
            left -= length;
        }
        line.len()
    }
}

/// A text with the starts of its lines, which end at `\n`, `\r\n` and `\r`.
#[derive(Clone, Debug)]
pub(super) struct Text {
    source: String,
    encoding: Encoding,
    starts: Vec<u32>,
    /// The last offset asked for, and its place in its line. Most offsets are asked for in order,
    /// and a line may be long.
    last: Cell<(usize, usize)>,
}

impl PartialEq for Text {
    fn eq(&self, other: &Text) -> bool {
        (&self.source, &self.starts) == (&other.source, &other.starts)
    }
}

impl Text {
    pub(super) fn new(mut text: String, encoding: Encoding) -> Text {
        // The JSON reader may have allocated twice the length of the text.
        text.shrink_to_fit();
        let mut starts = vec![0];
        starts.extend(starts_in(&text, 0, text.len()));
        Text { source: text, encoding, starts, last: Cell::default() }
    }

    pub(super) fn as_str(&self) -> &str {
        &self.source
    }

    /// The line with a number, without the characters that end it.
    fn line(&self, number: usize) -> Option<(usize, &str)> {
        let start = *self.starts.get(number)? as usize;
        let end = self.starts.get(number + 1).map_or(self.source.len(), |next| *next as usize);
        Some((start, self.source[start..end].trim_end_matches(['\n', '\r'])))
    }

    /// The offset of the start of a line, which the text must have.
    pub(super) fn line_start(&self, number: u32) -> u32 {
        self.starts[number as usize]
    }

    /// The offset of a place. A place after the last line gives the end of the text.
    pub(super) fn offset(&self, place: Position) -> usize {
        match self.line(place.line as usize) {
            Some((start, line)) => start + self.encoding.offset(line, place.character as usize),
            None => self.source.len(),
        }
    }

    /// The number of the line of an offset.
    pub(super) fn line_of(&self, offset: u32) -> u32 {
        self.starts.partition_point(|start| *start <= offset) as u32 - 1
    }

    /// The place of an offset.
    pub(super) fn position(&self, offset: u32) -> Position {
        let line = self.line_of(offset);
        let start = self.line_start(line) as usize;
        let mut offset = offset as usize;
        while !self.source.is_char_boundary(offset) {
            offset -= 1;
        }
        let (from, before) = match self.last.get() {
            (at, units) if start <= at && at <= offset => (at, units),
            _ => (start, 0),
        };
        let units = before + self.length(&self.source[from..offset]);
        self.last.set((offset, units));
        Position::new(line, units as u32)
    }

    /// The length of a part of a line as the client counts it.
    pub(super) fn length(&self, part: &str) -> usize {
        self.encoding.length(part)
    }

    pub(super) fn range(&self, span: Span) -> Range {
        Range::new(self.position(span.start), self.position(span.end))
    }

    pub(super) fn span(&self, range: Range) -> Span {
        let start = self.offset(range.start);
        let end = self.offset(range.end).max(start);
        Span::new(start as u32, end as u32)
    }

    /// Makes a change from a client. Returns false if the text would exceed its limit.
    pub(super) fn change(&mut self, change: TextDocumentContentChangeEvent) -> bool {
        match change {
            TextDocumentContentChangeEvent::TextDocumentContentChangeWholeDocument(whole) => {
                let fits = whole.text.len() <= MAX_LEN;
                if fits {
                    *self = Text::new(whole.text, self.encoding);
                }
                fits
            }
            TextDocumentContentChangeEvent::TextDocumentContentChangePartial(part) => {
                let fits = self.source.len() + part.text.len() <= MAX_LEN;
                if fits {
                    self.replace(self.span(part.range), &part.text);
                }
                fits
            }
        }
    }

    fn replace(&mut self, span: Span, new: &str) {
        let (start, old_end) = (span.start as usize, span.end as usize);
        let new_end = start + new.len();
        self.source.replace_range(start..old_end, new);
        self.last = Cell::default();
        // Whether a line starts at an offset depends on the bytes before and after the offset.
        let kept = self.starts.partition_point(|line| *line == 0 || (*line as usize) < start);
        let moved = self.starts.partition_point(|line| *line == 0 || *line as usize <= old_end);
        let first = self.starts[kept - 1] as usize;
        let between: Vec<u32> = starts_in(&self.source, first, new_end).collect();
        for line in &mut self.starts[moved..] {
            *line = (*line as usize - old_end + new_end) as u32;
        }
        self.starts.splice(kept..moved, between);
    }
}

/// The starts of lines after offset `after`, up to and including offset `to`.
fn starts_in(text: &str, after: usize, to: usize) -> impl Iterator<Item = u32> {
    let bytes = text.as_bytes();
    let ends = memchr::memchr2_iter(b'\n', b'\r', &bytes[after..to]);
    ends.map(move |at| after + at)
        .filter(|at| bytes[*at] == b'\n' || bytes.get(at + 1) != Some(&b'\n'))
        .map(|at| at as u32 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Numbers;

    const PIECES: &[&str] = &["", "a", "\n", "\r", "\r\n", "é", "😀", "vadd d;\n", "\n\n", "x y"];

    /// After changes, a text has the same lines as if it had just been opened.
    #[test]
    fn changes_leave_what_a_fresh_text_has() {
        let mut numbers = Numbers(3);
        for _ in 0..200 {
            let encoding = numbers.pick(&[Encoding::Utf8, Encoding::Utf16, Encoding::Utf32]);
            let mut text = Text::new(String::new(), encoding);
            for _ in 0..50 {
                let mut place = || Position::new(numbers.below(5) as u32, numbers.below(9) as u32);
                let (one, two) = (place(), place());
                let one_first = (one.line, one.character) <= (two.line, two.character);
                let range = if one_first { Range::new(one, two) } else { Range::new(two, one) };
                let new: String = (0..numbers.below(4)).map(|_| numbers.pick(PIECES)).collect();
                let span = text.span(range);
                let mut expected = text.source.clone();
                expected.replace_range(span.range(), &new);
                text.replace(span, &new);
                assert_eq!(text, Text::new(expected, encoding));
            }
        }
    }

    #[test]
    fn places_come_back() {
        let text = |encoding| Text::new("aé😀b\r\n\rx\n".into(), encoding);
        for encoding in [Encoding::Utf8, Encoding::Utf16, Encoding::Utf32] {
            let text = text(encoding);
            for (offset, _) in text.source.char_indices() {
                let place = text.position(offset as u32);
                let inside_break = text.source[offset..].starts_with('\n') && offset == 9;
                assert!(text.offset(place) == offset || inside_break, "{offset}");
            }
        }
        let text = text(Encoding::Utf16);
        // The place asked for before does not matter.
        for one in 0..text.source.len() as u32 {
            for other in 0..text.source.len() as u32 {
                let fresh = Text::new(text.source.clone(), text.encoding).position(other);
                text.position(one);
                assert_eq!(text.position(other), fresh, "{one} {other}");
            }
        }
        let place = |line, character| text.offset(Position::new(line, character));
        assert_eq!([place(0, 0), place(0, 2), place(0, 4), place(0, 5)], [0, 3, 7, 8]);
        // Inside of a character, beyond the end of a line, beyond all lines.
        assert_eq!([place(0, 3), place(0, 99), place(2, 0), place(9, 0)], [3, 8, 11, 13]);
    }
}
