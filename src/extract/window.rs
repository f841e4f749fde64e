//! A stream with a look ahead.

use std::io::{self, Read};

/// The length of the first read, which is short as many files in archives are small; and the
/// largest length of any read. Both are in bytes.
const FIRST: usize = 1 << 13;
const STEP: usize = 1 << 20;

/// A stream whose next bytes can be looked at before they are taken.
#[derive(Debug)]
pub(super) struct Window<R> {
    inner: R,
    buffer: Vec<u8>,
    /// Bytes of the buffer that are taken.
    taken: usize,
    /// Bytes of the stream before the buffer.
    before: u64,
    step: usize,
    is_ended: bool,
}

impl<R: Read> Window<R> {
    pub(super) fn new(inner: R) -> Window<R> {
        Window { inner, buffer: Vec::new(), taken: 0, before: 0, step: FIRST, is_ended: false }
    }

    /// Where the next byte stands in the stream.
    pub(super) fn offset(&self) -> u64 {
        self.before + self.taken as u64
    }

    /// The next `length` bytes, or fewer at the end of the stream. Memory grows with the bytes
    /// that are read, not with `length`.
    pub(super) fn peek(&mut self, length: usize) -> io::Result<&[u8]> {
        while self.buffer.len() - self.taken < length && !self.is_ended {
            self.buffer.drain(..self.taken);
            self.before += self.taken as u64;
            self.taken = 0;
            let filled = self.buffer.len();
            self.buffer.resize(filled + self.step, 0);
            let read = read_full(&mut self.inner, &mut self.buffer[filled..]);
            self.buffer.truncate(filled + read.as_ref().map_or(0, |read| *read));
            self.is_ended = read? < self.step;
            self.step = (2 * self.step).min(STEP);
        }
        let end = self.buffer.len().min(self.taken.saturating_add(length));
        Ok(&self.buffer[self.taken..end])
    }

    /// All next bytes that are in memory: more than `length`, except at the end of the stream.
    pub(super) fn beyond(&mut self, length: usize) -> io::Result<&[u8]> {
        self.peek(length.saturating_add(1))?;
        Ok(&self.buffer[self.taken..])
    }

    /// Whether all bytes that are left are in memory.
    pub(super) fn is_at_end(&self) -> bool {
        self.is_ended
    }

    /// Takes bytes that were looked at.
    pub(super) fn take(&mut self, length: usize) {
        self.taken = (self.taken + length).min(self.buffer.len());
    }
}

/// Reads until a buffer is full or the input ends; says how many bytes there are. `read_to_end`
/// would read 8 KiB at a time.
fn read_full(reader: &mut impl Read, mut buffer: &mut [u8]) -> io::Result<usize> {
    let length = buffer.len();
    while !buffer.is_empty() {
        match reader.read(buffer) {
            Ok(0) => break,
            Ok(read) => buffer = &mut buffer[read..],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(length - buffer.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A stream of zeros that has the length of each read.
    struct Zeros(Vec<usize>);

    impl Read for Zeros {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            buffer.fill(0);
            self.0.push(buffer.len());
            Ok(buffer.len())
        }
    }

    #[test]
    fn reads_become_longer_up_to_a_limit() {
        let mut window = Window::new(Zeros(Vec::new()));
        assert_eq!(window.peek(3 * STEP).expect("no error").len(), 3 * STEP);
        let lengths = &window.inner.0;
        assert_eq!((lengths[0], lengths[lengths.len() - 1]), (FIRST, STEP));
        assert!(lengths.windows(2).all(|pair| pair[1] == (2 * pair[0]).min(STEP)), "{lengths:?}");
    }
}
