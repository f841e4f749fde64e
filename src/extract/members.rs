//! The members of tar and `ar` archives, read in order. The length of names is bounded here, but
//! not in the crates for these archives.

use std::io::{self, Read, copy, sink};

use tar::{EntryType, Header, PaxExtensions};

use super::head_of;

/// The largest number of bytes that are read of a name, or of the headers with a name; and of the
/// table of long names in an `ar` archive.
const NAME: u64 = 1 << 16;
const TABLE: u64 = 16 << 20;

/// Skips bytes. Fails if the stream ends before.
pub(super) fn pass(reader: &mut dyn Read, bytes: u64) -> io::Result<()> {
    match copy(&mut reader.take(bytes), &mut sink())? {
        passed if passed == bytes => Ok(()),
        _ => Err(io::Error::other("it is cut off")),
    }
}

/// The bytes before the first NUL.
fn c_string(bytes: &[u8]) -> &[u8] {
    bytes.split(|byte| *byte == 0).next().unwrap_or_default()
}

/// Takes the name and the contents of a member.
pub(super) type Take<'t> = &'t mut dyn FnMut(&[u8], &mut dyn Read);

/// Reads the files in a tar archive. Returns the offset where a member should start and does not,
/// if there is one.
pub(super) fn tar(reader: &mut dyn Read, take: Take<'_>) -> io::Result<Option<u64>> {
    const BLOCK: usize = 512;
    let (mut offset, mut name, mut size, mut is_sparse) = (0, None, None, false);
    loop {
        let block = head_of(&mut *reader, BLOCK as u64)?;
        if block.iter().all(|byte| *byte == 0) {
            return Ok(None);
        }
        if block.len() < BLOCK {
            return Ok(Some(offset));
        }
        let header = Header::from_byte_slice(&block);
        // For the checksum, its own field counts as blanks.
        let bytes = block[..148].iter().chain(&[b' '; 8]).chain(&block[156..]);
        let sum: u32 = bytes.map(|byte| u32::from(*byte)).sum();
        if header.cksum().ok() != Some(sum) {
            return Ok(Some(offset));
        }
        let kind = header.entry_type();
        // A name or a size in an extended header is about the next file.
        // Its length is always in its own header.
        let has_holes = kind == EntryType::GNUSparse;
        let length = match size.filter(|_| kind.is_file()) {
            Some(size) => size,
            None => header.entry_size()?,
        };
        let mut contents = reader.take(length);
        match kind {
            EntryType::GNULongName => {
                name = Some(c_string(&head_of(&mut contents, NAME)?).to_vec());
            }
            EntryType::XHeader => {
                let records = head_of(&mut contents, NAME)?;
                for record in PaxExtensions::new(&records).map_while(Result::ok) {
                    is_sparse |= record.key_bytes().starts_with(b"GNU.sparse.");
                    match record.key_bytes() {
                        b"path" | b"GNU.sparse.name" => name = Some(record.value_bytes().to_vec()),
                        b"size" => size = record.value().ok().and_then(|size| size.parse().ok()),
                        _ => {}
                    }
                }
            }
            EntryType::GNULongLink | EntryType::XGlobalHeader => {}
            _ => {
                let name = name.take().unwrap_or_else(|| header.path_bytes().into_owned());
                size = None;
                let is_sparse = std::mem::take(&mut is_sparse) || has_holes;
                if (kind.is_file() || has_holes) && length > 0 {
                    let sparse = &mut Unread("it is a sparse file");
                    take(&name, if is_sparse { sparse } else { &mut contents });
                }
                // More places of holes may follow this header; the length leaves them out.
                let mut has_more = has_holes && block[482] != 0;
                while has_more {
                    let more = head_of(&mut *contents.get_mut(), BLOCK as u64)?;
                    has_more = more.get(504).is_some_and(|more| *more != 0);
                    offset += more.len() as u64;
                }
            }
        }
        let padding = length.wrapping_neg() % BLOCK as u64;
        let left = contents.limit().saturating_add(padding);
        pass(reader, left)?;
        offset += BLOCK as u64 + length + padding;
    }
}

/// A file that cannot be read, and why.
struct Unread(&'static str);

impl Read for Unread {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        Err(io::Error::other(self.0))
    }
}

/// The first bytes of an `ar` archive, and of a thin one.
pub(super) const AR: &[u8] = b"!<arch>\n";
pub(super) const THIN: &[u8] = b"!<thin>\n";

/// Reads the files in an `ar` archive, such as an `.a` or `.lib` file. Returns the offset where a
/// member should start and does not, if there is one.
pub(super) fn ar(reader: &mut dyn Read, take: Take<'_>) -> io::Result<Option<u64>> {
    const HEADER: usize = 60;
    pass(reader, AR.len() as u64)?;
    let (mut offset, mut names) = (AR.len() as u64, Vec::new());
    loop {
        let mut header = head_of(&mut *reader, HEADER as u64)?;
        if header.is_empty() {
            return Ok(None);
        }
        header.resize(HEADER, 0);
        let field = |from: usize, to: usize| header[from..to].trim_ascii_end();
        let size = number(field(48, 58)).filter(|_| header.ends_with(b"`\n"));
        let Some(size) = size else { return Ok(Some(offset)) };
        let mut contents = reader.take(size);
        match field(0, 16) {
            b"//" => names = head_of(&mut contents, TABLE)?,
            // Tables of symbols.
            b"/" | b"/SYM64/" | b"__.SYMDEF" | b"__.SYMDEF SORTED" => {}
            short => {
                let name = if let Some(length) = short.strip_prefix(b"#1/").and_then(number) {
                    c_string(&head_of(&mut contents, length.min(NAME))?).to_vec()
                } else if let Some(at) = short.strip_prefix(b"/").and_then(number) {
                    let rest = names.get(at as usize..).unwrap_or_default();
                    let end = rest.iter().position(|byte| matches!(byte, b'\n' | 0));
                    let name = &rest[..end.unwrap_or(rest.len())];
                    name.strip_suffix(b"/").unwrap_or(name).to_vec()
                } else {
                    short.strip_suffix(b"/").unwrap_or(short).to_vec()
                };
                take(&name, &mut contents);
            }
        }
        // A member starts at an even offset.
        let left = contents.limit() + size % 2;
        pass(reader, left)?;
        offset += HEADER as u64 + size + size % 2;
    }
}

fn number(digits: &[u8]) -> Option<u64> {
    std::str::from_utf8(digits).ok().filter(|text| !text.starts_with('+'))?.parse().ok()
}
