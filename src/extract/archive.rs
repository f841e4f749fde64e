//! Files in archives: zip (wheels, `.conda`), tar, `ar` (`.a`), gzip and Zstandard.

use std::fmt;
use std::hash::BuildHasher;
use std::io::{self, BufReader, Read, Seek, SeekFrom, copy, sink};
use std::sync::Arc;

use flate2::bufread::DeflateDecoder;
use rawzip::{CompressionMethod, ZipArchive};
use tempfile::SpooledTempFile;

use super::budget::{Budget, Unpacked};
use super::listing;
use super::members::{self, AR, THIN, Take};
use super::packed::{Gzip, Zstandard, is_zstandard};
use super::{Counts, ExtractError, Image, Images, Limits, head_of};
use crate::hash::Map;
use crate::syntax::listing::is_listing;

/// The way to a file through the archives around it; empty for a file outside of archives.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Member(Vec<String>);

/// The largest length of a member's name that is kept whole: each text of the member repeats the
/// name.
const NAME: usize = 512;

impl Member {
    /// The name of each member on the way, from the outermost archive inwards. A name of more than
    /// 512 bytes is cut to its two ends, with `…` between them. If an archive has two members
    /// `k.o`, the second is `k#2.o`.
    pub fn names(&self) -> &[String] {
        &self.0
    }

    /// Whether a packed file may be an archive, judged by its name. Many packed members are no
    /// archives, but tables for tests.
    fn may_be_archive(&self) -> bool {
        let ends = |name: &str| [".txz", ".tbz", ".tbz2"].iter().any(|it| name.ends_with(it));
        self.0.last().is_none_or(|name| name.contains(".tar.") || ends(name))
    }

    /// A member of this archive. `earlier` counts the names so far, by their hashes; if two have
    /// one hash, a name just gets a number that it does not need.
    fn inside(&self, name: &[u8], earlier: &mut Map<u64, u32>) -> Member {
        let shown = if name.len() > NAME {
            let (start, end) = (&name[..NAME / 2], &name[name.len() - NAME / 2..]);
            [String::from_utf8_lossy(start), "…".into(), String::from_utf8_lossy(end)].concat()
        } else {
            String::from_utf8_lossy(name).into_owned()
        };
        let count = earlier.entry(earlier.hasher().hash_one(name)).or_default();
        *count += 1;
        let shown = if *count > 1 { numbered(&shown, *count) } else { shown };
        let names = self.0.iter().cloned().chain([shown]).collect();
        Member(names)
    }
}

/// The name of a later member of the same name: `k#2.o`. Its ending stays.
fn numbered(name: &str, number: u32) -> String {
    let start = name.rfind(['/', '\\']).map_or(0, |at| at + 1);
    let ending = name[start..].rfind('.').filter(|at| *at > 0).map_or(name.len(), |at| start + at);
    format!("{}#{number}{}", &name[..ending], &name[ending..])
}

/// The names with `!` between them.
impl fmt::Display for Member {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join("!"))
    }
}

/// A file in which a zip archive can be read.
trait File: Read + Seek {}

impl<T: Read + Seek> File for T {}

/// Calls `visit` with each PTX text of a file, in order; of an archive, with the texts of its
/// members. Errors go to `visit`, too; each is about one text or one member. Returns how many
/// entries of each kind were passed.
pub fn walk(
    file: &mut (impl Read + Seek),
    limits: Limits,
    visit: &mut dyn FnMut(&Member, Result<Image, ExtractError>),
) -> Counts {
    let budget = Arc::default();
    let mut walk = Walk { limits, budget, is_told: false, counts: Counts::default(), visit };
    let member = Member::default();
    if let Err(error) = walk.file(file, &member) {
        walk.fail(&member, error);
    }
    walk.counts
}

struct Walk<'v> {
    limits: Limits,
    /// The budget of the outermost file.
    budget: Arc<Budget>,
    /// Whether an error has said that the budget is spent.
    is_told: bool,
    counts: Counts,
    visit: &'v mut dyn FnMut(&Member, Result<Image, ExtractError>),
}

/// The kind of a file, by its first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Zip,
    Tar,
    Ar,
    Gzip,
    Zstd,
    /// An `ar` archive without the contents of its members.
    Thin,
    Other,
}

/// Bytes that tell the kind: a tar file has its mark at 257.
const HEAD: u64 = 264;

impl Format {
    fn of(head: &[u8]) -> Format {
        match head {
            [b'P', b'K', 3, 4, ..] | [b'P', b'K', 5, 6, ..] => Format::Zip,
            [0x1f, 0x8b, 8, ..] => Format::Gzip,
            _ if is_zstandard(head) => Format::Zstd,
            _ if head.starts_with(AR) => Format::Ar,
            _ if head.starts_with(THIN) => Format::Thin,
            _ if head.get(257..262) == Some(b"ustar") => Format::Tar,
            _ => Format::Other,
        }
    }
}

/// The name of a compression that vptx cannot unpack, by the first bytes of a file.
pub(crate) fn packed_by(head: &[u8]) -> Option<&'static str> {
    match head {
        [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Some("xz"),
        [b'B', b'Z', b'h', b'1'..=b'9', b'1', b'A', b'Y', b'&', b'S', b'Y', ..] => Some("bzip2"),
        _ => None,
    }
}

impl Walk<'_> {
    /// Reports an error about a member. Once the budget is spent, only one more error is reported.
    fn fail(&mut self, member: &Member, error: ExtractError) {
        if self.budget.is_spent() && std::mem::replace(&mut self.is_told, true) {
            return;
        }
        (self.visit)(member, Err(error));
    }

    fn file(&mut self, mut file: &mut dyn File, member: &Member) -> Result<(), ExtractError> {
        self.budget.grow(file.seek(SeekFrom::End(0))?);
        file.rewind()?;
        let head = head_of(&mut *file, HEAD)?;
        file.rewind()?;
        match Format::of(&head) {
            Format::Zip => self.zip(file, member, self.deeper(0)?),
            _ => self.stream(&mut file, member, 0),
        }
    }

    fn deeper(&self, depth: usize) -> Result<usize, ExtractError> {
        let limit = self.limits.depth;
        if depth >= limit {
            return Err(ExtractError::TooDeep { limit });
        }
        Ok(depth + 1)
    }

    fn zip(
        &mut self,
        file: &mut dyn File,
        member: &Member,
        depth: usize,
    ) -> Result<(), ExtractError> {
        let mut buffer = vec![0; ENTRY];
        let archive = ZipArchive::from_seekable(file, &mut buffer).map_err(broken)?;
        let mut entries = archive.entries(&mut buffer);
        let mut earlier = Map::default();
        while let Some(entry) = entries.next_entry().map_err(broken)? {
            if entry.is_dir() || entry.mode().is_symlink() {
                continue;
            }
            let member = member.inside(entry.file_path().as_ref(), &mut earlier);
            let (way, method) = (entry.wayfinder(), entry.compression_method());
            let is_encrypted = entry.flags().is_encrypted();
            let open = || {
                if is_encrypted {
                    return Err(broken("it is encrypted"));
                }
                let found = archive.get_entry(way).map_err(broken)?;
                let reader = BufReader::with_capacity(PACKED, found.reader());
                let unpacked: Box<dyn Read + '_> = match method {
                    CompressionMethod::STORE => Box::new(reader),
                    CompressionMethod::DEFLATE => Box::new(DeflateDecoder::new(reader)),
                    CompressionMethod::ZSTD => Box::new(Zstandard::new(reader).map_err(broken)?),
                    other => {
                        return Err(broken(format!(
                            "it is compressed with method {other}, which vptx cannot unpack"
                        )));
                    }
                };
                Ok(Unpacked::new(found.verifying_reader(unpacked), &self.budget))
            };
            match open() {
                Ok(mut unpacked) => self.member(&mut unpacked, &member, depth),
                Err(error) => self.fail(&member, error),
            }
            if self.budget.is_spent() {
                break;
            }
        }
        Ok(())
    }

    /// Reads a member; an error in it does not keep others from being read.
    fn member(&mut self, reader: &mut dyn Read, member: &Member, depth: usize) {
        if let Err(error) = self.whole(reader, member, depth) {
            self.fail(member, error);
        }
    }

    /// Reads unpacked bytes to their end, where a checksum may tell that they are wrong.
    fn whole(
        &mut self,
        reader: &mut dyn Read,
        member: &Member,
        depth: usize,
    ) -> Result<(), ExtractError> {
        self.stream(reader, member, depth)?;
        copy(reader, &mut sink())?;
        Ok(())
    }

    /// Reads the members of an archive that has them one after the other.
    fn members(
        &mut self,
        reader: &mut dyn Read,
        member: &Member,
        depth: usize,
        all: fn(&mut dyn Read, Take<'_>) -> io::Result<Option<u64>>,
    ) -> Result<(), ExtractError> {
        let mut earlier = Map::default();
        let read = all(reader, &mut |name, contents| {
            self.member(contents, &member.inside(name, &mut earlier), depth);
        });
        if let Some(offset) = read.map_err(broken)? {
            self.fail(
                member,
                broken(format!("a member should start at byte {offset}, but there is none")),
            );
            // The rest may still have texts. The NUL separates it from what was before.
            self.images([0].chain(reader), member)?;
        }
        Ok(())
    }

    fn stream(
        &mut self,
        reader: &mut dyn Read,
        member: &Member,
        depth: usize,
    ) -> Result<(), ExtractError> {
        if self.budget.is_spent() {
            return Ok(());
        }
        let head = &head_of(&mut *reader, HEAD)?[..];
        let mut all = head.chain(reader);
        let format = Format::of(head);
        if format == Format::Other {
            if let Some(by) = packed_by(head).filter(|_| member.may_be_archive()) {
                return Err(broken(format!("it is packed with {by}, which vptx cannot unpack")));
            }
            if is_listing(head) {
                let visit = &mut |text| (self.visit)(member, text);
                self.counts += listing::texts(all, self.limits, visit);
                return Ok(());
            }
            return self.images(all, member);
        }
        let depth = self.deeper(depth)?;
        match format {
            Format::Gzip => {
                let mut unpacked = Gzip::new(BufReader::new(all));
                self.whole(&mut Unpacked::new(&mut unpacked, &self.budget), member, depth)?;
                unpacked.finish()
            }
            Format::Zstd => {
                let mut unpacked = Zstandard::new(all).map_err(broken)?;
                self.whole(&mut Unpacked::new(&mut unpacked, &self.budget), member, depth)?;
                unpacked.finish()
            }
            Format::Tar => self.members(&mut all, member, depth, members::tar),
            Format::Ar => self.members(&mut all, member, depth, members::ar),
            Format::Thin => Err(broken("it is a thin archive: the files themselves are elsewhere")),
            Format::Zip | Format::Other => {
                // The directory of a zip archive stands at its end.
                let mut whole = SpooledTempFile::new(SPOOLED);
                if copy(&mut all.take(NESTED + 1), &mut whole)? > NESTED {
                    let reason =
                        format!("it is inside another archive and has more than {NESTED} bytes");
                    return Err(ExtractError::Archive { reason });
                }
                self.zip(&mut whole, member, depth)
            }
        }
    }

    /// Calls `visit` with the texts of a file that is no archive, and with errors in single texts.
    fn images(&mut self, file: impl Read, member: &Member) -> Result<(), ExtractError> {
        let mut images = Images::within(file, self.limits, Arc::clone(&self.budget));
        let mut read = Ok(());
        for image in &mut images {
            match image {
                Ok(image) => (self.visit)(member, Ok(image)),
                Err(error @ ExtractError::Io(_)) => read = Err(error),
                Err(error) => self.fail(member, error),
            }
        }
        self.counts += images.counts();
        read
    }
}

/// Bytes of an entry in the directory of a zip archive: name, extra fields and comment have
/// 65,535 bytes at most, each.
const ENTRY: usize = 4 << 16;

/// Bytes of a packed file that are read at once.
const PACKED: usize = 1 << 16;

/// The largest number of bytes of a nested zip archive in memory, and in all.
const SPOOLED: usize = 32 << 20;
const NESTED: u64 = 4 << 30;

fn broken(error: impl fmt::Display) -> ExtractError {
    ExtractError::Archive { reason: error.to_string() }
}
