//! The reader of fat binaries.

use std::io::Read;

use super::payload::unpack;
use super::window::Window;
use super::{Compression, Counts, ExtractError, Image, Limits};

/// The first bytes of a fat binary.
const MAGIC: [u8; 4] = 0xBA55_ED50_u32.to_le_bytes();

/// Bytes of the header of a fat binary, and of an entry at least.
const HEADER: usize = 16;
const ENTRY: usize = 64;

/// Bytes that the header of an entry has at most: those seen have 64 to 120.
const LONGEST_ENTRY: u32 = 4096;

const PTX: u16 = 1;
const CUBIN: u16 = 2;

const LZ4: u64 = 0x2000;
const ZSTD: u64 = 0x8000;
const OBFUSCATED: u64 = 0x1_0000;

/// The PTX texts of a stream, one after the other. It keeps one text and little more.
#[derive(Debug)]
pub struct Images<R> {
    window: Window<R>,
    limits: Limits,
    /// Where the fat binary at hand ends.
    end: Option<u64>,
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
        let window = Window::new(reader);
        Images { window, limits, end: None, counts: Counts::default(), broken: false }
    }

    /// How many entries were passed so far.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Finds the next text, or an error, or the end.
    fn find(&mut self) -> Result<Option<Image>, ExtractError> {
        loop {
            match self.end {
                Some(end) if self.window.offset() < end => {
                    if let Some(image) = self.entry(end)? {
                        return Ok(Some(image));
                    }
                }
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
                self.end = Some(self.window.offset().saturating_add(size));
                return Ok(true);
            }
            self.window.take(MAGIC.len());
        }
    }

    /// Reads the entry at hand. `None` if it has no PTX.
    fn entry(&mut self, end: u64) -> Result<Option<Image>, ExtractError> {
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
        if entry.kind == PTX {
            let image = self.ptx(offset, &entry);
            if image.is_err() {
                self.counts.failed += 1;
                if !self.pass(next)? {
                    self.end = None;
                }
            }
            return image.map(Some);
        }
        match entry.kind {
            CUBIN => self.counts.cubin += 1,
            _ => self.counts.other += 1,
        }
        if self.pass(next)? {
            return Ok(None);
        }
        self.end = None;
        Err(ExtractError::Truncated { offset })
    }

    /// Goes to an offset, or to a fat binary before it: lengths may lie. Says whether the
    /// file goes so far.
    fn pass(&mut self, next: u64) -> Result<bool, ExtractError> {
        let end = self.end;
        Ok(self.container(next)? || self.window.offset() == next && self.end == end)
    }

    fn ptx(&mut self, offset: u64, entry: &Entry) -> Result<Image, ExtractError> {
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
        let compression = entry.compression();
        let bytes = unpack(payload, compression, entry.unpacked, offset, limit)?;
        self.window.take(length);
        self.counts.ptx += 1;
        Ok(Image {
            number: (self.counts.ptx + self.counts.failed) as u32,
            offset,
            arch: entry.arch,
            version: (entry.major, entry.minor),
            compression,
            bytes,
        })
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
