//! The headers of fat binaries.

use super::Compression;
use crate::isa::Target;

/// The first bytes of a fat binary.
pub(super) const MAGIC: [u8; 4] = 0xBA55_ED50_u32.to_le_bytes();

/// The length of the header of a fat binary, and the smallest length of the header of an entry, in
/// bytes.
pub(super) const HEADER: usize = 16;
pub(super) const ENTRY: usize = 64;

/// The largest length of the header of an entry, in bytes. Headers that were seen have 64 to 120
/// bytes or, if several entries are packed as one, 80 to 200 bytes for each of these.
const LONGEST_ENTRY: u32 = 1 << 16;

pub(super) const PTX: u16 = 1;
pub(super) const CUBIN: u16 = 2;
/// Several entries whose payloads are packed as one.
pub(super) const JOINED: u16 = 0x100;

const LZ4: u64 = 0x2000;
const ZSTD: u64 = 0x8000;
pub(super) const OBFUSCATED: u64 = 0x1_0000;
/// `sm_90a`, `sm_100f`.
const ARCHITECTURE: u64 = 0x10_0000;
const FAMILY: u64 = 0x20_0000;

/// The header of an entry.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub(super) kind: u16,
    pub(super) header: u32,
    pub(super) size: u64,
    packed: u32,
    pub(super) minor: u16,
    pub(super) major: u16,
    arch: u32,
    pub(super) flags: u64,
    pub(super) unpacked: u64,
}

/// The length of all entries, if these bytes start a fat binary. The first entry must have the
/// version that all entries have: machine code that looks for fat binaries also contains these
/// bytes.
pub(super) fn container(start: &[u8]) -> Option<u64> {
    let (header, entry) = start.split_at_checked(HEADER)?;
    let is_one = header[4..8] == [1, 0, HEADER as u8, 0];
    let version = entry.get(2..entry.len().min(4)).unwrap_or_default();
    let size = u64::from_le_bytes(number(header, 8));
    (is_one && [1, 1].starts_with(version) && size > 0).then_some(size)
}

fn number<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let mut number = [0; N];
    number.copy_from_slice(&bytes[at..at + N]);
    number
}

impl Entry {
    /// `None` if these bytes start no entry.
    pub(super) fn read(bytes: &[u8]) -> Option<Entry> {
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

    pub(super) fn target(&self) -> Target {
        let suffix = match self.flags {
            flags if flags & ARCHITECTURE != 0 => Some('a'),
            flags if flags & FAMILY != 0 => Some('f'),
            _ => None,
        };
        Target { number: u16::try_from(self.arch).unwrap_or(u16::MAX), suffix }
    }

    pub(super) fn compression(&self) -> Compression {
        match self.flags {
            flags if flags & LZ4 != 0 => Compression::Lz4,
            flags if flags & ZSTD != 0 => Compression::Zstd,
            _ => Compression::None,
        }
    }

    /// The payload, without its padding if the length of the padding is known.
    pub(super) fn payload<'b>(&self, padded: &'b [u8]) -> &'b [u8] {
        match self.packed as usize {
            packed if packed > 0 && self.compression() != Compression::None => {
                &padded[..packed.min(padded.len())]
            }
            _ => padded,
        }
    }
}

/// A PTX text or machine code of an entry.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    pub(super) entry: Entry,
    /// Where it lies in the unpacked payload, if the payload has several parts.
    pub(super) range: Option<(usize, usize)>,
}

impl Part {
    /// Reads the table of an entry that joins several, which follows the usual header: a
    /// number of entries, the length of the table, and for each entry its header with an
    /// offset in the payload in place of the length of the header. `None` if the headers do not
    /// fill the table.
    pub(super) fn read(table: &[u8]) -> Option<Vec<Part>> {
        let [count, length] = [0, 4].map(|at| u32_at(table, at));
        let mut rest = table.get(8..length? as usize)?;
        let mut parts = Vec::new();
        for _ in 0..count? {
            let header = rest.get(..ENTRY)?;
            let offset = u32_at(header, 4)? as usize;
            // The name of the source and the options of ptxas may follow, each with a NUL and
            // padding.
            let length = match [u32_at(header, 20)?, u32_at(header, 32)?] {
                [0, 0] => ENTRY,
                [0, _] => text_end(rest, 32)?,
                [options, _] => text_end(rest, options as usize)?,
            };
            let mut usual: [u8; ENTRY] = *header.first_chunk()?;
            usual[4..8].copy_from_slice(&(ENTRY as u32).to_le_bytes());
            let entry = Entry::read(&usual)?;
            let end = usize::try_from(entry.size).ok()?.checked_add(offset)?;
            parts.push(Part { entry, range: Some((offset, end)) });
            rest = rest.get(length..)?;
        }
        rest.is_empty().then_some(parts)
    }
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// The end of a text with its NUL and its padding. Its offset and its length stand at `at`.
fn text_end(header: &[u8], at: usize) -> Option<usize> {
    let [offset, length] = [at, at.checked_add(4)?].map(|at| u32_at(header, at));
    let end = (offset? as usize).checked_add(length? as usize)?.checked_add(1)?;
    end.checked_next_multiple_of(8)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With the NUL, the last but one of these texts fills eight bytes.
    #[test]
    fn texts_of_a_header_end_with_their_nul_and_padding() {
        for (length, end) in [(0_u32, 72), (6, 72), (7, 72), (8, 80)] {
            let header = [64, length].map(u32::to_le_bytes).concat();
            assert_eq!(text_end(&header, 0), Some(end), "{length}");
        }
    }
}
