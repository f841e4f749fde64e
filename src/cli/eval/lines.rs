//! Reads the lines of a stream in bounded memory.

use std::io::{self, BufRead, BufReader, Cursor, Read};

/// The largest length of a line, in bytes.
pub(super) const LONGEST: usize = 1 << 16;

/// The result of reading a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// The line was read, without its line end.
    Whole,
    /// The line was too long, and skipped.
    TooLong,
    /// There are no more lines.
    End,
}

/// Reads lines of UTF-8, or of UTF-16 with a byte order mark.
pub(super) struct Lines<'r> {
    reader: BufReader<Box<dyn Read + 'r>>,
}

impl<'r> Lines<'r> {
    pub(super) fn new(mut input: impl Read + 'r) -> io::Result<Lines<'r>> {
        let mut start = Vec::new();
        // Reads no more than a byte order mark can need, so as not to wait for more
        // input.
        while start.len() < 2 && matches!(start.first(), None | Some(0xfe | 0xff)) {
            if input.by_ref().take(1).read_to_end(&mut start)? == 0 {
                break;
            }
        }
        let input: Box<dyn Read + 'r> = match start.as_slice() {
            [0xff, 0xfe] => Box::new(Utf16::new(input, u16::from_le_bytes)),
            [0xfe, 0xff] => Box::new(Utf16::new(input, u16::from_be_bytes)),
            _ => Box::new(Cursor::new(start).chain(input)),
        };
        Ok(Lines { reader: BufReader::with_capacity(LONGEST, input) })
    }

    /// Whether reading the next line may wait for input.
    pub(super) fn must_read(&self) -> bool {
        memchr::memchr(b'\n', self.reader.buffer()).is_none()
    }

    /// Reads the next line.
    pub(super) fn next(&mut self, line: &mut Vec<u8>) -> io::Result<Line> {
        line.clear();
        let mut found = Line::End;
        loop {
            let bytes = match self.reader.fill_buf() {
                Ok([]) => return Ok(found),
                Ok(bytes) => bytes,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            let end = memchr::memchr(b'\n', bytes);
            let part = &bytes[..end.unwrap_or(bytes.len())];
            if found == Line::TooLong || line.len() + part.len() > LONGEST {
                found = Line::TooLong;
            } else {
                found = Line::Whole;
                line.extend_from_slice(part);
            }
            let used = part.len() + usize::from(end.is_some());
            self.reader.consume(used);
            if end.is_some() {
                return Ok(found);
            }
        }
    }
}

/// Reads UTF-16 as UTF-8.
struct Utf16<R> {
    input: R,
    unit: fn([u8; 2]) -> u16,
    /// Bytes that were read and not yet decoded.
    rest: Vec<u8>,
    decoded: Cursor<String>,
}

impl<R: Read> Utf16<R> {
    fn new(input: R, unit: fn([u8; 2]) -> u16) -> Utf16<R> {
        Utf16 { input, unit, rest: Vec::new(), decoded: Cursor::default() }
    }

    /// Decodes the bytes read, except a character that may be incomplete.
    fn decode(&mut self, is_end: bool) {
        let mut units: Vec<u16> =
            self.rest.chunks_exact(2).map(|pair| (self.unit)([pair[0], pair[1]])).collect();
        let is_high = |unit: &u16| (0xd800..0xdc00).contains(unit);
        if !is_end && units.last().is_some_and(is_high) {
            units.pop();
        }
        self.rest.drain(..2 * units.len());
        let mut text = String::from_utf16_lossy(&units);
        if is_end && !self.rest.is_empty() {
            text.push(char::REPLACEMENT_CHARACTER);
            self.rest.clear();
        }
        self.decoded = Cursor::new(text);
    }
}

impl<R: Read> Read for Utf16<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let read = self.decoded.read(buffer)?;
            if read > 0 || buffer.is_empty() {
                return Ok(read);
            }
            let mut bytes = [0; 1 << 12];
            let count = match self.input.read(&mut bytes) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                count => count?,
            };
            self.rest.extend_from_slice(&bytes[..count]);
            if count == 0 && self.rest.is_empty() {
                return Ok(0);
            }
            self.decode(count == 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns one byte at a time.
    struct Slow<'b>(&'b [u8]);

    impl Read for Slow<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let count = buffer.len().min(1);
            self.0.read(&mut buffer[..count])
        }
    }

    /// Is interrupted before each byte.
    struct Interrupted<'b>(Slow<'b>, bool);

    impl Read for Interrupted<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.1 = !self.1;
            if self.1 { Err(io::ErrorKind::Interrupted.into()) } else { self.0.read(buffer) }
        }
    }

    /// Characters with the lowest and the highest surrogates stay whole, wherever the input is cut.
    #[test]
    fn halves_of_characters_stay_together() {
        let text = "\u{10000}\u{103ff}\u{10fc00}\u{10ffff}a";
        let bytes: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        for cut in 0..=bytes.len() {
            let input = bytes[..cut].chain(&bytes[cut..]);
            let mut read = String::new();
            Utf16::new(input, u16::from_le_bytes).read_to_string(&mut read).unwrap();
            assert_eq!(read, text, "{cut}");
        }
    }

    fn lines(input: impl Read) -> Vec<(Line, String)> {
        let (mut lines, mut line, mut all) = (Lines::new(input).unwrap(), Vec::new(), Vec::new());
        loop {
            match lines.next(&mut line).unwrap() {
                Line::End => return all,
                read => all.push((read, String::from_utf8_lossy(&line).into_owned())),
            }
        }
    }

    #[test]
    fn lines_of_either_encoding() {
        let text = "a\n\n\u{1f600} \u{e9}\nlast";
        let expected = ["a", "", "\u{1f600} \u{e9}", "last"];
        let units = || std::iter::once(0xfeff).chain(text.encode_utf16());
        let little: Vec<u8> = units().flat_map(u16::to_le_bytes).collect();
        let big: Vec<u8> = units().flat_map(u16::to_be_bytes).collect();
        for bytes in [text.as_bytes(), &little, &big] {
            let interrupted = Interrupted(Slow(bytes), false);
            for found in [lines(bytes), lines(Slow(bytes)), lines(interrupted)] {
                assert!(found.iter().all(|(line, _)| *line == Line::Whole));
                assert!(found.iter().map(|(_, text)| text).eq(expected), "{found:?}");
            }
        }
        // The input ends with half of a code unit, or with half of a surrogate pair.
        for odd in [&b"\xff\xfea\0b"[..], b"\xff\xfea\0\x3d\xd8"] {
            assert_eq!(lines(odd), [(Line::Whole, "a\u{fffd}".into())]);
        }
        assert_eq!(lines(&b"\xff"[..]), [(Line::Whole, "\u{fffd}".into())]);
        assert_eq!(lines(&b""[..]), []);
    }

    #[test]
    fn long_lines_are_passed_over_and_not_kept() {
        let longest = "x".repeat(LONGEST);
        let text = format!("{longest}\n{longest}y\n{}\nz", longest.repeat(50));
        let mut read = Lines::new(text.as_bytes()).unwrap();
        let mut line = Vec::new();
        for expected in [Line::Whole, Line::TooLong, Line::TooLong, Line::Whole, Line::End] {
            assert_eq!(read.next(&mut line).unwrap(), expected);
            assert!(line.capacity() <= 2 * LONGEST);
        }
    }
}
