//! The reader of the texts in a stream.

use std::collections::VecDeque;
use std::io::{self, Read};
use std::mem;
use std::sync::Arc;

use memchr::memmem;

use super::budget::Budget;
use super::fatbin::{self, CUBIN, ENTRY, Entry, HEADER, JOINED, MAGIC, OBFUSCATED, PTX, Part};
use super::payload::{PADDING, text, unpack};
use super::plain::{self, BEFORE, HEADING, VERSION, is_text};
use super::window::Window;
use super::{Compression, Counts, ExtractError, Image, Limits};
use crate::isa::Target;

/// The largest number of targets that are remembered in a fat binary.
const TARGETS: usize = 1024;

/// The PTX texts of a stream, one after the other. Memory holds one text and little more.
#[derive(Debug)]
pub struct Images<R> {
    window: Window<R>,
    limits: Limits,
    budget: Arc<Budget>,
    /// Whether the budget is for this stream alone. It then grows with the bytes that are read.
    is_all: bool,
    magic: Seeker,
    version: Seeker,
    /// The end of the last text or fat binary, where another text may start at once.
    edge: u64,
    /// The last `.version` that belongs to no text. No later `.version` in its string does, either.
    refused: Option<u64>,
    /// Each byte from the start of the last text to this offset may stand in a text.
    string: u64,
    /// The end of the current fat binary.
    end: Option<u64>,
    /// The targets of the current fat binary so far, each with the number of its last text.
    targets: Vec<(Target, u32)>,
    /// The fat binaries around the current one, from the outermost inwards.
    around: Vec<Around>,
    /// The texts of the last entry that were not yet returned.
    payload: Option<Payload>,
    counts: Counts,
    /// After an error in reading, nothing more is read.
    broken: bool,
}

/// A fat binary that has another one in an entry, as machine code may have in its data.
#[derive(Debug)]
struct Around {
    /// Where the entry starts, and where the next one does.
    offset: u64,
    next: u64,
    end: u64,
    targets: Vec<(Target, u32)>,
}

/// The payload of an entry, and its texts.
#[derive(Debug)]
struct Payload {
    offset: u64,
    compression: Compression,
    bytes: Vec<u8>,
    texts: VecDeque<Part>,
}

/// The next place of some bytes in a stream; each byte of the stream is searched once.
#[derive(Debug)]
struct Seeker {
    wanted: &'static [u8],
    /// The bytes do not start before this offset. They start here if `is_found` is set.
    next: u64,
    is_found: bool,
}

impl Seeker {
    fn new(wanted: &'static [u8]) -> Seeker {
        Seeker { wanted, next: 0, is_found: false }
    }

    /// The next place of the wanted bytes in `bytes`, which start at `offset` in the stream.
    fn find(&mut self, bytes: &[u8], offset: u64) -> Option<usize> {
        self.pass(offset);
        let from = (self.next - offset) as usize;
        if !self.is_found && from < bytes.len() {
            let found = memmem::find(&bytes[from..], self.wanted);
            let last = bytes.len().saturating_sub(self.wanted.len() - 1).max(from);
            self.is_found = found.is_some();
            self.next = offset + found.map_or(last, |at| from + at) as u64;
        }
        let at = (self.next - offset) as usize;
        (self.is_found && at < bytes.len()).then_some(at)
    }

    /// Passes over places before an offset.
    fn pass(&mut self, offset: u64) {
        if self.next < offset {
            *self = Seeker { next: offset, ..Seeker::new(self.wanted) };
        }
    }
}

impl<R: Read> Images<R> {
    /// The texts of a stream.
    pub fn new(reader: R, limits: Limits) -> Images<R> {
        Images { is_all: true, ..Images::within(reader, limits, Arc::default()) }
    }

    /// The texts of a stream that is a part of a file.
    pub(super) fn within(reader: R, limits: Limits, budget: Arc<Budget>) -> Images<R> {
        Images {
            window: Window::new(reader),
            limits,
            budget,
            is_all: false,
            magic: Seeker::new(&MAGIC),
            version: Seeker::new(VERSION),
            edge: 0,
            refused: None,
            string: 0,
            end: None,
            targets: Vec::new(),
            around: Vec::new(),
            payload: None,
            counts: Counts::default(),
            broken: false,
        }
    }

    /// How many entries were passed so far.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Finds the next text, or an error, or the end.
    fn find(&mut self) -> Result<Option<Image>, ExtractError> {
        loop {
            if let Some(found) = self.next_of_payload() {
                return found.map(Some);
            }
            match self.end {
                Some(end) if self.window.offset() < end => self.entry(end)?,
                _ => {
                    if let Some(Around { offset, next, end, targets }) = self.around.pop() {
                        self.targets = targets;
                        if !self.pass(offset, next, end)? {
                            self.around.clear();
                            return Err(ExtractError::Truncated { offset });
                        }
                        continue;
                    }
                    if self.end.take().is_some() {
                        self.edge = self.window.offset();
                    }
                    let found = self.search()?;
                    if found.is_some() || self.end.is_none() {
                        return Ok(found);
                    }
                }
            }
        }
    }

    /// Goes to the next unpacked text outside of fat binaries, and reads it; or to the entries of
    /// the next fat binary, if it comes first; or to the end.
    fn search(&mut self) -> Result<Option<Image>, ExtractError> {
        loop {
            let offset = self.window.offset();
            let known = self.magic.next.min(self.version.next).saturating_sub(offset) as usize;
            let bytes = self.window.beyond(known + VERSION.len() - 1)?;
            let length = bytes.len();
            match (self.magic.find(bytes, offset), self.version.find(bytes, offset)) {
                (magic, Some(at)) if magic.is_none_or(|magic| at < magic) => {
                    if let Some(found) = self.plain(at)? {
                        return Ok(Some(found));
                    }
                    self.version.pass(offset + at as u64 + 1);
                }
                (Some(at), _) => {
                    self.window.take(at);
                    if self.open()? {
                        return Ok(None);
                    }
                }
                _ if self.window.is_at_end() => {
                    self.window.take(length);
                    return Ok(None);
                }
                // A text may start in the bytes that are left.
                _ => self.window.take(length.saturating_sub(BEFORE)),
            }
        }
    }

    /// Reads the text whose `.version` is at a place in the window; `None` if there is no text.
    fn plain(&mut self, at: usize) -> Result<Option<Image>, ExtractError> {
        let offset = self.window.offset();
        let bytes = self.window.peek(at + HEADING)?;
        let Some((version, target)) = plain::heading(&bytes[at..]) else { return Ok(None) };
        // Each byte is looked at once, however many texts are refused.
        let refused = self.refused.and_then(|refused| (refused + 1).checked_sub(offset));
        let from = refused.unwrap_or(0) as usize;
        let other = bytes[from..at].iter().rposition(|byte| !is_text(*byte));
        let first = match other {
            Some(other) => Some(from + other + 1),
            None => (refused.is_none() && offset == self.edge).then_some(0),
        };
        let start = first.and_then(|first| {
            let inside = offset + first as u64 > 0;
            let string = &bytes[first..at + VERSION.len()];
            Some(first + plain::start(string, at - first, inside)?)
        });
        let Some(start) = start else {
            self.refused = Some(offset + at as u64);
            return Ok(None);
        };
        self.window.take(start);
        let (offset, limit) = (offset + start as u64, self.limits.image);
        let mut length = (at - start).max(self.string.saturating_sub(offset) as usize);
        loop {
            let bytes = self.window.beyond(length)?;
            let end = bytes[length..].iter().position(|byte| !is_text(*byte));
            length = end.map_or(bytes.len(), |end| length + end);
            self.string = offset + length as u64;
            if length as u64 > limit {
                self.counts.failed += 1;
                self.refused = Some(offset + (at - start) as u64);
                self.window.take(at - start + 1);
                return Err(ExtractError::TooLarge { offset, length: length as u64, limit });
            }
            if end.is_some() || self.window.is_at_end() {
                break;
            }
        }
        let string = self.window.beyond(length)?;
        let is_file = offset == 0 && string.len() == length;
        let end = if is_file { length } else { plain::end(&string[..length]) };
        let bytes = string[..end].to_vec();
        if !is_file && plain::is_packed(&bytes) {
            self.refused = Some(offset + (at - start) as u64);
            return Ok(None);
        }
        self.counts.ptx += 1;
        self.window.take(bytes.len());
        self.edge = self.window.offset();
        Ok(Some(Image {
            number: (self.counts.ptx + self.counts.failed) as u32,
            offset,
            target,
            version: (version.major.into(), version.minor.into()),
            compression: Compression::None,
            replaces: None,
            is_file,
            bytes,
        }))
    }

    /// Goes to the entries of the fat binary that starts here. Returns whether one starts here; if
    /// not, the search goes on after the first byte.
    fn open(&mut self) -> io::Result<bool> {
        let size = fatbin::container(self.window.peek(HEADER + ENTRY)?);
        if let Some(size) = size {
            self.window.take(HEADER);
            self.counts.containers += 1;
            self.targets.clear();
            self.end = Some(self.window.offset().saturating_add(size));
        } else {
            self.magic.pass(self.window.offset() + 1);
        }
        Ok(size.is_some())
    }

    /// Goes to the entries of the next fat binary that starts before an offset, and says whether
    /// there is one. If not, goes to that offset, or to the end.
    fn container(&mut self, before: u64) -> io::Result<bool> {
        loop {
            let offset = self.window.offset();
            let Some(left) = before.checked_sub(offset).filter(|left| *left > 0) else {
                return Ok(false);
            };
            let left = usize::try_from(left).unwrap_or(usize::MAX);
            let known = self.magic.next.saturating_sub(offset) as usize + MAGIC.len() - 1;
            let bytes = self.window.beyond(known.min(left - 1))?;
            let length = bytes.len().min(left);
            match self.magic.find(bytes, offset).filter(|at| *at < left) {
                Some(at) => {
                    self.window.take(at);
                    if self.open()? {
                        return Ok(true);
                    }
                }
                None if length == left || self.window.is_at_end() => {
                    self.window.take(length);
                    return Ok(false);
                }
                None => self.window.take(length - (MAGIC.len() - 1).min(length)),
            }
        }
    }

    /// Reads the current entry, and keeps its texts as the payload.
    fn entry(&mut self, end: u64) -> Result<(), ExtractError> {
        let offset = self.window.offset();
        let header = self.window.peek(ENTRY)?;
        if header.len() < ENTRY {
            self.end = None;
            return Err(ExtractError::Truncated { offset });
        }
        let whole = |entry: &Entry| {
            let length = u64::from(entry.header).checked_add(entry.size);
            length.and_then(|length| offset.checked_add(length)).filter(|&next| next <= end)
        };
        let entry = Entry::read(header);
        let Some((entry, next)) = entry.and_then(|entry| Some((entry, whole(&entry)?))) else {
            // Another fat binary may follow: the search goes on here.
            self.end = None;
            return Err(ExtractError::Malformed { offset });
        };
        let mut texts: VecDeque<Part> = match entry.kind {
            JOINED => self.parts(offset, &entry)?.into(),
            _ => [Part { entry, range: None }].into(),
        };
        texts.retain(|part| {
            match part.entry.kind {
                PTX => {}
                CUBIN => self.counts.cubin += 1,
                _ => self.counts.other += 1,
            }
            part.entry.kind == PTX
        });
        let mut failed = None;
        if !texts.is_empty() {
            match self.payload(offset, &entry) {
                Ok(bytes) => {
                    let compression = entry.compression();
                    self.payload = Some(Payload { offset, compression, bytes, texts });
                }
                Err(error @ ExtractError::Io(_)) => return Err(error),
                Err(error) => {
                    self.counts.failed += texts.len() as u64;
                    failed = Some(error);
                }
            }
        }
        let is_whole = self.pass(offset, next, end)?;
        match failed {
            Some(error) => Err(error),
            None if !is_whole && self.payload.is_none() => Err(ExtractError::Truncated { offset }),
            None => Ok(()),
        }
    }

    /// The entries that an entry joins.
    fn parts(&mut self, offset: u64, entry: &Entry) -> Result<Vec<Part>, ExtractError> {
        let length = entry.header as usize;
        let parts = match self.window.peek(length)? {
            whole if whole.len() == length => Part::read(&whole[ENTRY..]),
            _ => {
                self.end = None;
                return Err(ExtractError::Truncated { offset });
            }
        };
        if parts.is_none() {
            self.end = None;
        }
        parts.ok_or(ExtractError::Malformed { offset })
    }

    /// Goes from the entry at `offset` to the next entry of a fat binary that ends at `end`; or to
    /// a fat binary before that entry, since lengths may be wrong. Returns whether the stream has
    /// the one or the other.
    fn pass(&mut self, offset: u64, next: u64, end: u64) -> Result<bool, ExtractError> {
        let targets = mem::take(&mut self.targets);
        if self.container(next)? {
            if self.end.is_some_and(|inner| inner <= next) {
                self.around.push(Around { offset, next, end, targets });
            }
            return Ok(true);
        }
        self.targets = targets;
        let is_there = self.window.offset() == next;
        self.end = is_there.then_some(end);
        Ok(is_there)
    }

    /// The payload of the current entry, unpacked.
    fn payload(&mut self, offset: u64, entry: &Entry) -> Result<Vec<u8>, ExtractError> {
        let limit = self.limits.image;
        if entry.flags & OBFUSCATED != 0 {
            return Err(ExtractError::Obfuscated { offset });
        }
        if entry.size > limit.saturating_add(PADDING) {
            return Err(ExtractError::TooLarge { offset, length: entry.size, limit });
        }
        let length = entry.header as usize + entry.size as usize;
        let all = self.window.peek(length)?;
        if all.len() < length {
            return Err(ExtractError::Truncated { offset });
        }
        if self.is_all {
            self.budget.grow(offset + length as u64);
        }
        let payload = entry.payload(&all[entry.header as usize..]);
        let unpacked = unpack(payload, entry, offset, limit, &self.budget)?;
        self.window.take(length);
        Ok(unpacked)
    }

    /// The next text of the payload.
    fn next_of_payload(&mut self) -> Option<Result<Image, ExtractError>> {
        let Payload { offset, compression, bytes, texts } = self.payload.as_mut()?;
        let Some(Part { entry, range }) = texts.pop_front() else {
            self.payload = None;
            return None;
        };
        let (offset, compression) = (*offset, *compression);
        let found = match range {
            _ if entry.flags & OBFUSCATED != 0 => Err(ExtractError::Obfuscated { offset }),
            Some((start, end)) => bytes.get(start..end).ok_or(ExtractError::Malformed { offset }),
            None => Ok(&bytes[..]),
        };
        let found = found.map(text).and_then(|text| {
            // Several texts may lie in the same bytes.
            self.budget.spend(text.len() as u64)?;
            Ok(text.to_vec())
        });
        match found {
            Ok(_) => self.counts.ptx += 1,
            Err(_) => self.counts.failed += 1,
        }
        let (number, target) = ((self.counts.ptx + self.counts.failed) as u32, entry.target());
        let known = self.targets.iter_mut().find(|(known, _)| *known == target);
        let replaces = known.map(|(_, last)| mem::replace(last, number));
        if replaces.is_none() && self.targets.len() < TARGETS {
            self.targets.push((target, number));
        }
        Some(found.map(|bytes| Image {
            number,
            offset,
            target,
            version: (entry.major, entry.minor),
            compression,
            replaces,
            is_file: false,
            bytes,
        }))
    }
}

impl<R: Read> Iterator for Images<R> {
    type Item = Result<Image, ExtractError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.broken {
            return None;
        }
        let found = self.find();
        self.broken = matches!(found, Err(ExtractError::Io(_)));
        found.transpose()
    }
}
