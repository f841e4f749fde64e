//! A stream with a look ahead.

use std::io::{self, Read};

use super::read_full;

/// Bytes to read at once.
const STEP: usize = 1 << 20;

/// A stream of which the next bytes can be looked at before they are taken.
#[derive(Debug)]
pub(super) struct Window<R> {
    inner: R,
    buffer: Vec<u8>,
    /// Bytes of the buffer that are taken.
    taken: usize,
    /// Bytes of the stream before the buffer.
    before: u64,
    ended: bool,
}

impl<R: Read> Window<R> {
    pub(super) fn new(inner: R) -> Window<R> {
        Window { inner, buffer: Vec::new(), taken: 0, before: 0, ended: false }
    }

    /// Where the next byte stands in the stream.
    pub(super) fn offset(&self) -> u64 {
        self.before + self.taken as u64
    }

    /// The next bytes: so many, or all that are left. Memory grows with the bytes that
    /// are there, not with the number that is asked for.
    pub(super) fn peek(&mut self, length: usize) -> io::Result<&[u8]> {
        while self.buffer.len() - self.taken < length && !self.ended {
            self.buffer.drain(..self.taken);
            self.before += self.taken as u64;
            self.taken = 0;
            let filled = self.buffer.len();
            self.buffer.resize(filled + STEP, 0);
            let read = read_full(&mut self.inner, &mut self.buffer[filled..]);
            self.buffer.truncate(filled + read.as_ref().map_or(0, |read| *read));
            self.ended = read? < STEP;
        }
        let end = self.buffer.len().min(self.taken + length);
        Ok(&self.buffer[self.taken..end])
    }

    /// The next bytes that are in memory; none only at the end.
    pub(super) fn some(&mut self) -> io::Result<&[u8]> {
        self.peek(1)?;
        Ok(&self.buffer[self.taken..])
    }

    /// Takes bytes that were looked at.
    pub(super) fn take(&mut self, length: usize) {
        self.taken = (self.taken + length).min(self.buffer.len());
    }
}
