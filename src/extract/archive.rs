//! Files in archives: zip (wheels, `.conda`), tar, gzip and Zstandard.

use std::cell::Cell;
use std::fmt;
use std::io::{self, Read, Seek, SeekFrom, copy};
use std::rc::Rc;

use flate2::read::MultiGzDecoder;
use ruzstd::decoding::StreamingDecoder;
use tempfile::SpooledTempFile;

use super::listing;
use super::{Counts, ExtractError, Image, Images, Limits, read_full};
use crate::syntax::listing::is_listing;

/// The way to a file through the archives around it; empty for a file that is none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Member(Vec<String>);

impl Member {
    /// Its name in each archive, from the outermost on.
    pub fn names(&self) -> &[String] {
        &self.0
    }

    fn inside(&self, name: String) -> Member {
        let mut names = self.0.clone();
        names.push(name);
        Member(names)
    }
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

type Visit<'v> = &'v mut dyn FnMut(&Member, Result<Image, ExtractError>);

/// Hands over each PTX text of a file, and of the files in it if it is an archive, in
/// order; and the errors, each about one text or one member. Counts what was passed.
pub fn walk(
    file: &mut (impl Read + Seek),
    limits: Limits,
    visit: &mut dyn FnMut(&Member, Result<Image, ExtractError>),
) -> Counts {
    let mut walk = Walk { limits, counts: Counts::default(), visit };
    let member = Member::default();
    if let Err(error) = walk.file(file, &member, Level::default()) {
        (walk.visit)(&member, Err(error));
    }
    walk.counts
}

/// How far a file lies inside of archives.
#[derive(Clone, Default)]
struct Level {
    depth: usize,
    /// Bytes of the outermost packed file that were read so far, if there is one: bombs
    /// are judged by it.
    packed: Option<Rc<Cell<u64>>>,
}

struct Walk<'v> {
    limits: Limits,
    counts: Counts,
    visit: Visit<'v>,
}

/// The kind of a file, by its first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Zip,
    Tar,
    Gzip,
    Zstd,
    Other,
}

/// Bytes that tell the kind: a tar file has its mark at 257.
const HEAD: usize = 264;

impl Format {
    fn of(head: &[u8]) -> Format {
        match head {
            [b'P', b'K', 3, 4, ..] | [b'P', b'K', 5, 6, ..] => Format::Zip,
            [0x1f, 0x8b, 8, ..] => Format::Gzip,
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Format::Zstd,
            _ if head.get(257..262) == Some(b"ustar") => Format::Tar,
            _ => Format::Other,
        }
    }
}

impl Walk<'_> {
    fn file(
        &mut self,
        mut file: &mut dyn File,
        member: &Member,
        level: Level,
    ) -> Result<(), ExtractError> {
        let mut head = [0; HEAD];
        let length = read_full(&mut file, &mut head)?;
        file.seek(SeekFrom::Start(0))?;
        match Format::of(&head[..length]) {
            Format::Zip => self.zip(file, member, &self.deeper(level)?),
            _ => self.stream(&mut file, member, level),
        }
    }

    fn deeper(&self, level: Level) -> Result<Level, ExtractError> {
        let limit = self.limits.depth;
        if level.depth >= limit {
            return Err(ExtractError::TooDeep { limit });
        }
        Ok(Level { depth: level.depth + 1, ..level })
    }

    fn zip(
        &mut self,
        file: &mut dyn File,
        member: &Member,
        level: &Level,
    ) -> Result<(), ExtractError> {
        let mut archive = zip::ZipArchive::new(file).map_err(broken)?;
        for at in 0..archive.len() {
            let entry = match archive.by_index(at) {
                Ok(entry) if entry.is_file() => entry,
                Ok(_) => continue,
                Err(error) => {
                    (self.visit)(member, Err(broken(error)));
                    continue;
                }
            };
            let name = String::from_utf8_lossy(entry.name_raw()).into_owned();
            let own = || Rc::new(Cell::new(entry.compressed_size()));
            let packed = level.packed.clone().unwrap_or_else(own);
            let level = Level { packed: Some(Rc::clone(&packed)), ..*level };
            self.member(&mut Unpacked::new(entry, packed), &member.inside(name), level);
        }
        Ok(())
    }

    fn tar(
        &mut self,
        reader: &mut dyn Read,
        member: &Member,
        level: &Level,
    ) -> Result<(), ExtractError> {
        for entry in tar::Archive::new(reader).entries()? {
            let mut entry = entry?;
            if entry.header().entry_type().is_file() {
                let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
                self.member(&mut entry, &member.inside(name), level.clone());
            }
        }
        Ok(())
    }

    /// Reads a member; an error in it does not keep others from being read.
    fn member(&mut self, reader: &mut dyn Read, member: &Member, level: Level) {
        if let Err(error) = self.stream(reader, member, level) {
            (self.visit)(member, Err(error));
        }
    }

    fn stream(
        &mut self,
        mut reader: &mut dyn Read,
        member: &Member,
        level: Level,
    ) -> Result<(), ExtractError> {
        let mut head = [0; HEAD];
        let length = read_full(&mut reader, &mut head)?;
        let head = &head[..length];
        let count = Rc::new(Cell::new(0));
        let mut all = Counted { inner: head.chain(reader), count: Rc::clone(&count) };
        let format = Format::of(head);
        if format == Format::Other {
            if is_listing(head) {
                let visit = &mut |text| (self.visit)(member, text);
                self.counts += listing::texts(all, self.limits, visit);
            } else {
                self.images(all, member);
            }
            return Ok(());
        }
        let mut level = self.deeper(level)?;
        let packed = Rc::clone(level.packed.get_or_insert(count));
        match format {
            Format::Gzip => {
                let unpacked = MultiGzDecoder::new(all);
                self.stream(&mut Unpacked::new(unpacked, packed), member, level)
            }
            Format::Zstd => {
                let unpacked = StreamingDecoder::new(all).map_err(broken)?;
                self.stream(&mut Unpacked::new(unpacked, packed), member, level)
            }
            Format::Tar => self.tar(&mut all, member, &level),
            Format::Zip | Format::Other => {
                // The table of a zip archive stands at its end.
                let mut whole = SpooledTempFile::new(SPOOLED);
                if copy(&mut all.take(NESTED + 1), &mut whole)? > NESTED {
                    let reason =
                        format!("it is inside another one and has more than {NESTED} bytes");
                    return Err(ExtractError::Archive { reason });
                }
                self.zip(&mut whole, member, &level)
            }
        }
    }

    /// Hands over the texts of a file that is no archive.
    fn images(&mut self, file: impl Read, member: &Member) {
        let mut images = Images::new(file, self.limits);
        for image in &mut images {
            (self.visit)(member, image);
        }
        self.counts += images.counts();
    }
}

/// Bytes of a nested zip archive that are kept in memory, and that it may have at all.
const SPOOLED: usize = 32 << 20;
const NESTED: u64 = 4 << 30;

fn broken(error: impl fmt::Display) -> ExtractError {
    ExtractError::Archive { reason: error.to_string() }
}

/// Counts the bytes that are read.
struct Counted<R> {
    inner: R,
    count: Rc<Cell<u64>>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.count.set(self.count.get() + read as u64);
        Ok(read)
    }
}

/// Unpacked bytes, which may be this many times as many as packed ones; the first of them
/// are free.
const RATIO: u64 = 200;
const FREE: u64 = 256 << 20;

/// A stream that is unpacked, and ends with an error if it is a bomb.
struct Unpacked<R> {
    inner: R,
    count: u64,
    packed: Rc<Cell<u64>>,
}

impl<R> Unpacked<R> {
    fn new(inner: R, packed: Rc<Cell<u64>>) -> Unpacked<R> {
        Unpacked { inner, count: 0, packed }
    }
}

impl<R: Read> Read for Unpacked<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.count += read as u64;
        if self.count > FREE + RATIO.saturating_mul(self.packed.get()) {
            let why = format!("it becomes more than {RATIO} times as large when it is unpacked");
            return Err(io::Error::other(why));
        }
        Ok(read)
    }
}
