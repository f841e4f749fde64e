//! The reader of fat binaries.

use std::collections::VecDeque;
use std::io::Read;
use std::mem;

use super::payload::{text, unpack};
use super::window::Window;
use super::{Compression, Counts, ExtractError, Image, Limits};
use crate::isa::Target;

/// The first bytes of a fat binary.
const MAGIC: [u8; 4] = 0xBA55_ED50_u32.to_le_bytes();

/// Bytes of the header of a fat binary, and of an entry at least.
const HEADER: usize = 16;
const ENTRY: usize = 64;

/// Bytes that the header of an entry has at most: those seen have 64 to 120, and 80 to 200
/// for each of several entries that are packed as one.
const LONGEST_ENTRY: u32 = 1 << 16;

const PTX: u16 = 1;
const CUBIN: u16 = 2;
/// Several entries whose payloads are packed as one.
const JOINED: u16 = 0x100;

const LZ4: u64 = 0x2000;
const ZSTD: u64 = 0x8000;
const OBFUSCATED: u64 = 0x1_0000;
/// `sm_90a`, `sm_100f`.
const ARCHITECTURE: u64 = 0x10_0000;
const FAMILY: u64 = 0x20_0000;

/// The largest number of targets that are remembered in a fat binary.
const TARGETS: usize = 1024;

/// The PTX texts of a stream, one after the other. It keeps one text and little more.
#[derive(Debug)]
pub struct Images<R> {
    window: Window<R>,
    limits: Limits,
    /// The end of the current fat binary.
    end: Option<u64>,
    /// Its targets so far, each with the number of its last text.
    targets: Vec<(Target, u32)>,
    /// Texts and errors that were read and not yet handed over.
    ready: VecDeque<Result<Image, ExtractError>>,
    counts: Counts,
    /// After an error in reading, nothing more is read.
    broken: bool,
}

/// The header of an entry.
#[derive(Clone, Copy, Debug)]
struct Entry {
    kind: u16,
    header: u32,
    size: u64,
    packed: u32,
    minor: u16,
    major: u16,
    arch: u32,
    flags: u64,
    unpacked: u64,
}

fn number<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let mut number = [0; N];
    number.copy_from_slice(&bytes[at..at + N]);
    number
}

impl Entry {
    /// `None` if no entry starts so.
    fn read(bytes: &[u8]) -> Option<Entry> {
        let entry = Entry {
            kind: u16::from_le_bytes(number(bytes, 0)),
            header: u32::from_le_bytes(number(bytes, 4)),
            size: u64::from_le_bytes(number(bytes, 8)),
            packed: u32::from_le_bytes(number(bytes, 16)),
            minor: u16::from_le_bytes(number(bytes, 24)),
            major: u16::from_le_bytes(number(bytes, 26)),
            arch: u32::from_le_bytes(number(bytes, 28)),
            flags: u64::from_le_bytes(number(bytes, 40)),
            unpacked: u64::from_le_bytes(number(bytes, 56)),
        };
        let fits = (ENTRY as u32..=LONGEST_ENTRY).contains(&entry.header);
        (entry.kind != 0 && fits).then_some(entry)
    }

    fn target(&self) -> Target {
        let suffix = match self.flags {
            flags if flags & ARCHITECTURE != 0 => Some('a'),
            flags if flags & FAMILY != 0 => Some('f'),
            _ => None,
        };
        Target { number: u16::try_from(self.arch).unwrap_or(u16::MAX), suffix }
    }

    fn compression(&self) -> Compression {
        match self.flags {
            flags if flags & LZ4 != 0 => Compression::Lz4,
            flags if flags & ZSTD != 0 => Compression::Zstd,
            _ => Compression::None,
        }
    }

    /// The payload without its padding, if that is known.
    fn payload<'b>(&self, padded: &'b [u8]) -> &'b [u8] {
        match self.packed as usize {
            packed if packed > 0 && self.compression() != Compression::None => {
                &padded[..packed.min(padded.len())]
            }
            _ => padded,
        }
    }
}

impl<R: Read> Images<R> {
    /// The texts of a stream.
    pub fn new(reader: R, limits: Limits) -> Images<R> {
        Images {
            window: Window::new(reader),
            limits,
            end: None,
            targets: Vec::new(),
            ready: VecDeque::new(),
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
            if let Some(ready) = self.ready.pop_front() {
                return ready.map(Some);
            }
            match self.end {
                Some(end) if self.window.offset() < end => self.entry(end)?,
                _ => {
                    self.end = None;
                    if !self.container(u64::MAX)? {
                        return Ok(None);
                    }
                }
            }
        }
    }

    /// Goes to the entries of the next fat binary that starts before an offset; else to
    /// that offset, or to the end.
    fn container(&mut self, before: u64) -> Result<bool, ExtractError> {
        loop {
            let left = before.saturating_sub(self.window.offset());
            let some = self.window.some()?;
            let some = &some[..some.len().min(usize::try_from(left).unwrap_or(usize::MAX))];
            if some.is_empty() {
                return Ok(false);
            }
            let Some(at) = memchr::memmem::find(some, &MAGIC) else {
                // The first bytes of another may stand at the end.
                let (length, all) = (some.len(), some.len() as u64 == left);
                let kept = if all { 0 } else { length.min(MAGIC.len() - 1) };
                self.window.take(length - kept);
                if kept > 0 && self.window.peek(MAGIC.len())?.len() < MAGIC.len() {
                    self.window.take(kept);
                }
                continue;
            };
            self.window.take(at);
            let header = self.window.peek(HEADER)?;
            if header.len() == HEADER && header[4..8] == [1, 0, HEADER as u8, 0] {
                let size = u64::from_le_bytes(number(header, 8));
                self.window.take(HEADER);
                self.counts.containers += 1;
                self.targets.clear();
                self.end = Some(self.window.offset().saturating_add(size));
                return Ok(true);
            }
            self.window.take(MAGIC.len());
        }
    }

    /// Reads the current entry, and adds its texts to `ready`.
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
        let parts = match entry.kind {
            JOINED => self.parts(offset, &entry)?,
            _ => vec![Part { entry, range: None }],
        };
        for Part { entry, .. } in &parts {
            match entry.kind {
                PTX => {}
                CUBIN => self.counts.cubin += 1,
                _ => self.counts.other += 1,
            }
        }
        let ptx = || parts.iter().filter(|part| part.entry.kind == PTX);
        let read = match ptx().next() {
            Some(_) => self.payload(offset, &entry),
            None => Ok(Vec::new()),
        };
        match read {
            Ok(payload) => {
                for part in ptx() {
                    let found = self.image(offset, &entry, part, &payload);
                    self.ready.push_back(found);
                }
            }
            Err(error) => {
                self.counts.failed += ptx().count() as u64;
                self.ready.push_back(Err(error));
            }
        }
        if !self.pass(next)? {
            self.end = None;
            if self.ready.is_empty() {
                return Err(ExtractError::Truncated { offset });
            }
        }
        Ok(())
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

    /// Goes to an offset, or to a fat binary before it: lengths may lie. Says whether the
    /// file goes so far.
    fn pass(&mut self, next: u64) -> Result<bool, ExtractError> {
        let end = self.end;
        Ok(self.container(next)? || self.window.offset() == next && self.end == end)
    }

    /// The payload of the current entry, unpacked.
    fn payload(&mut self, offset: u64, entry: &Entry) -> Result<Vec<u8>, ExtractError> {
        let limit = self.limits.image;
        if entry.flags & OBFUSCATED != 0 {
            return Err(ExtractError::Obfuscated { offset });
        }
        if entry.size > limit {
            return Err(ExtractError::TooLarge { offset, length: entry.size, limit });
        }
        let length = entry.header as usize + entry.size as usize;
        let all = self.window.peek(length)?;
        if all.len() < length {
            return Err(ExtractError::Truncated { offset });
        }
        let payload = entry.payload(&all[entry.header as usize..]);
        let unpacked = unpack(payload, entry.compression(), entry.unpacked, offset, limit)?;
        self.window.take(length);
        Ok(unpacked)
    }

    /// A text of an entry.
    fn image(
        &mut self,
        offset: u64,
        entry: &Entry,
        part: &Part,
        payload: &[u8],
    ) -> Result<Image, ExtractError> {
        let Part { entry: own, range } = part;
        let bytes = match range {
            Some((start, end)) => payload.get(*start..*end),
            None => Some(payload),
        };
        let found = match bytes {
            _ if own.flags & OBFUSCATED != 0 => Err(ExtractError::Obfuscated { offset }),
            Some(bytes) => Ok(text(bytes).to_vec()),
            None => Err(ExtractError::Malformed { offset }),
        };
        match found {
            Ok(_) => self.counts.ptx += 1,
            Err(_) => self.counts.failed += 1,
        }
        let (number, target) = ((self.counts.ptx + self.counts.failed) as u32, own.target());
        let known = self.targets.iter_mut().find(|(known, _)| *known == target);
        let replaces = known.map(|(_, last)| mem::replace(last, number));
        if replaces.is_none() && self.targets.len() < TARGETS {
            self.targets.push((target, number));
        }
        Ok(Image {
            number,
            offset,
            target,
            version: (own.major, own.minor),
            compression: entry.compression(),
            replaces,
            bytes: found?,
        })
    }
}

/// A PTX text or machine code of an entry.
#[derive(Clone, Copy, Debug)]
struct Part {
    entry: Entry,
    /// Where it lies in the unpacked payload, if that has several.
    range: Option<(usize, usize)>,
}

impl Part {
    /// Reads the table of an entry that joins several, which follows the usual header: a
    /// number of entries, the length of the table, and for each entry its header with an
    /// offset in the payload in place of the length of the header.
    fn read(table: &[u8]) -> Option<Vec<Part>> {
        let count = u32::from_le_bytes(*table.first_chunk()?);
        let mut rest = table.get(8..)?;
        let mut parts = Vec::new();
        for _ in 0..count {
            let header = rest.get(..ENTRY)?;
            let offset = u32::from_le_bytes(number(header, 4)) as usize;
            let mut length = ENTRY;
            // The options of ptxas may follow, with a NUL and padding.
            if number(header, 20) != [0; 4] {
                let options = u32::from_le_bytes(number(rest.get(ENTRY + 4..ENTRY + 8)?, 0));
                let padded = (options as usize).checked_add(1)?.checked_next_multiple_of(8)?;
                length += 8 + padded;
            }
            let mut usual: [u8; ENTRY] = *header.first_chunk()?;
            usual[4..8].copy_from_slice(&(ENTRY as u32).to_le_bytes());
            let entry = Entry::read(&usual)?;
            let end = usize::try_from(entry.size).ok()?.checked_add(offset)?;
            parts.push(Part { entry, range: Some((offset, end)) });
            rest = rest.get(length..)?;
        }
        Some(parts)
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
