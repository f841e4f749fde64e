//! Binaries and archives, which may have PTX inside.

use std::collections::HashSet;
use std::fs::{self, File, Metadata};
use std::io::{self, BufReader, Read, Seek};
use std::path::{Path, PathBuf};

use tempfile::SpooledTempFile;
use thiserror::Error;

use super::error::{FileError, reason};
use super::files::{self, Access, Contents};
use super::input::Input;
use super::kind::{Chosen, FileKind};
use crate::extract::{Image, Member, is_zstandard, packed_by};
use crate::report::{is_hidden, visible, visible_path};
use crate::syntax::listing::is_listing;

/// The endings of binaries and archives. Of the files that a search finds, only those with such an
/// ending or without any ending are opened to see what they are.
const ENDINGS: &[&str] = &[
    "a", "bin", "conda", "crate", "cubin", "deb", "dll", "dylib", "egg", "exe", "fatbin", "gz",
    "jar", "lib", "node", "nupkg", "o", "obj", "pyd", "so", "tar", "tgz", "whl", "zip", "zst",
];

/// Whether a file may be a binary or an archive, judged by its name: `libx.so`, `libx.so.12`, or a
/// name without an ending, as programs have.
pub(crate) fn may_be_one(path: &Path) -> bool {
    let Some(name) = path.file_name().map(|name| name.to_string_lossy().to_ascii_lowercase())
    else {
        return false;
    };
    let name = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    name.rsplit_once('.').is_none_or(|(_, ending)| ENDINGS.contains(&ending))
}

/// The first bytes of binaries and archives.
const STARTS: &[&[u8]] = &[
    b"\x7fELF",
    b"MZ",
    b"\xfe\xed\xfa\xce",
    b"\xfe\xed\xfa\xcf",
    b"\xce\xfa\xed\xfe",
    b"\xcf\xfa\xed\xfe",
    b"\xca\xfe\xba\xbe",
    b"!<arch>\n",
    b"!<thin>\n",
    b"PK\x03\x04",
    b"\x1f\x8b\x08",
    b"\x50\xed\x55\xba",
];

/// Opens a regular file if its first bytes are those of a binary or an archive.
pub(crate) fn open(path: &Path) -> io::Result<Option<BufReader<File>>> {
    // A pipe must not be opened twice: its writer could see the end of the pipe when the first
    // opening is closed.
    if !fs::metadata(path)?.is_file() {
        return Ok(None);
    }
    let (mut file, _) = Access::Regular.open(path)?;
    Ok(starts_as_one(&mut file)?.then(|| BufReader::new(file)))
}

/// Whether the first bytes of a file are those of a binary, an archive, or a listing of
/// cuobjdump.
pub(crate) fn starts_as_one(mut file: &mut dyn Seekable) -> io::Result<bool> {
    let mut head = Vec::new();
    (&mut file).take(264).read_to_end(&mut head)?;
    file.rewind()?;
    let is_tar = head.get(257..262) == Some(b"ustar");
    // Recognised only to say that they cannot be unpacked.
    let is_packed = packed_by(&head).is_some();
    Ok(is_tar
        || is_packed
        || is_listing(&head)
        || is_zstandard(&head)
        || STARTS.iter().any(|start| head.starts_with(start)))
}

/// Whether an input is to be read as a binary: its name is not that of another kind of file, and
/// its first bytes are those of a binary. A file that cannot be opened is reported later, when it
/// is read.
pub(crate) fn is_binary(input: &Input, chosen: Chosen<'_>) -> bool {
    input.path().is_some_and(|path| {
        FileKind::of(path, chosen) == FileKind::Other && open(path).is_ok_and(|file| file.is_some())
    })
}

/// Whether a search takes a file as a binary, judged by its name and then by its first bytes.
pub(crate) fn is_one(path: &Path) -> bool {
    may_be_one(path) && open(path).is_ok_and(|file| file.is_some())
}

/// The name of a text inside its file, on one line: `MEMBER!3.sm_90.ptx`. If the member itself is
/// the text, the name ends with the name of the member.
pub(crate) fn inner_name(member: &Member, image: Option<&Image>) -> String {
    let members = member.names().iter().map(|name| visible(name).into_owned());
    let image = image.filter(|image| !image.is_file).map(Image::name);
    members.chain(image).collect::<Vec<_>>().join("!")
}

/// A file that can be read from any place.
pub(crate) trait Seekable: Read + Seek {}

impl<T: Read + Seek> Seekable for T {}

/// Opens a file of any contents, or standard input.
pub(crate) fn open_input(input: &Input) -> io::Result<Box<dyn Seekable>> {
    let (file, data) = match input {
        Input::Stdin => return spooled(io::stdin().lock()),
        Input::File(path) => Access::Named.open(path)?,
        Input::Walked(path) => Access::Walked.open(path)?,
    };
    match () {
        () if data.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
        () if data.is_file() => Ok(Box::new(BufReader::new(file))),
        () if is_device(&data) => Err(io::Error::other("it is a device, which may have no end")),
        () => spooled(file),
    }
}

#[cfg(unix)]
fn is_device(data: &Metadata) -> bool {
    use std::os::unix::fs::FileTypeExt;
    let kind = data.file_type();
    kind.is_char_device() || kind.is_block_device()
}

#[cfg(not(unix))]
fn is_device(_: &Metadata) -> bool {
    false
}

/// A copy of a stream, which can be read from any place.
fn spooled(mut stream: impl Read) -> io::Result<Box<dyn Seekable>> {
    let mut all = SpooledTempFile::new(64 << 20);
    io::copy(&mut stream, &mut all)?;
    all.rewind()?;
    Ok(Box::new(all))
}

/// A file that is PTX, or may have PTX inside.
pub(crate) enum Content {
    Ptx(Vec<u8>),
    Binary(Box<dyn Seekable>),
}

/// Why a file is neither PTX nor a binary. The message goes after `cannot read FILE:`.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(crate) enum ContentError {
    /// The message of the system.
    #[error("{0}")]
    System(String),
    #[error("it has more than {0} bytes; --max-image raises this limit")]
    TooLarge(u64),
    #[error("it is neither PTX nor a binary or an archive")]
    Other,
}

impl Content {
    /// Opens an input as a binary, or reads it as PTX of no more than `limit` bytes.
    pub(crate) fn open(input: &Input, limit: u64) -> Result<Content, ContentError> {
        let cannot = |error: io::Error| ContentError::System(reason(&error));
        let mut file = open_input(input).map_err(cannot)?;
        let kind = FileKind::told(None, input.path(), [&[], &[]]);
        if kind != FileKind::Ptx && starts_as_one(&mut *file).map_err(cannot)? {
            return Ok(Content::Binary(file));
        }
        let mut text = Vec::new();
        let length = (&mut file).take(limit + 1).read_to_end(&mut text).map_err(cannot)?;
        if is_listing(&text) {
            file.rewind().map_err(cannot)?;
            return Ok(Content::Binary(file));
        }
        if length as u64 > limit {
            return Err(ContentError::TooLarge(limit));
        }
        match kind.must_be_ptx(&input.name(), &text) {
            Ok(()) => Ok(Content::Ptx(text)),
            Err(_) => Err(ContentError::Other),
        }
    }
}

/// `FILE!MEMBER!3.sm_90.ptx`, on one line.
pub(crate) fn path_of(subject: &Path, member: &Member, image: Option<&Image>) -> String {
    let name = if subject.as_os_str() == "-" { "<stdin>".into() } else { visible_path(subject) };
    match inner_name(member, image) {
        inner if inner.is_empty() => name,
        inner => format!("{name}!{inner}"),
    }
}

/// The path of the file for a text, relative to the directory for all texts.
fn file_name(subject: &Path, member: &Member, image: &Image) -> PathBuf {
    let own = subject.file_name().map_or_else(Default::default, |name| name.to_string_lossy());
    let own = if own == "-" { "stdin".into() } else { own };
    let names: Vec<&str> = std::iter::once(&*own)
        .chain(member.names().iter().flat_map(|name| name.split(['/', '\\'])))
        .filter(|name| !matches!(*name, "" | "." | ".."))
        .collect();
    let (last, folders) = names.split_last().unwrap_or((&"image", &[]));
    // The last ending is dropped, as cuobjdump does.
    let stem = last.rfind('.').filter(|at| *at > 0).map_or(*last, |at| &last[..at]);
    // `k.ptx.gz` is `k.ptx`.
    let stem = match stem.rsplit_once('.') {
        Some((stem, "ptx" | "PTX")) if image.is_file && !stem.is_empty() => stem,
        _ => stem,
    };
    let mut file: PathBuf = folders.iter().map(|name| plain(name)).collect();
    let ending = if image.is_file { "ptx".into() } else { image.name() };
    file.push(format!("{}.{ending}", plain(stem)));
    file
}

/// The most bytes of a file name. File systems allow a few more, which are left for what is added
/// to the name.
const NAME: usize = 200;

/// A name without characters that are invisible, or special for file systems or terminals. A long
/// name loses its start.
fn plain(name: &str) -> String {
    let is_odd = |c: char| is_hidden(c) || matches!(c, ':' | '*' | '?' | '"' | '<' | '>' | '|');
    let least = name.len().saturating_sub(NAME);
    let start = (least..name.len()).find(|at| name.is_char_boundary(*at)).unwrap_or_default();
    name[start..].replace(is_odd, "_")
}

/// The files for texts of binaries, in a directory.
pub(crate) struct TextFiles<'f> {
    folder: &'f Path,
    written: HashSet<PathBuf>,
}

impl TextFiles<'_> {
    pub(crate) fn new(folder: &Path) -> TextFiles<'_> {
        TextFiles { folder, written: HashSet::new() }
    }

    /// Writes the file for a text.
    pub(crate) fn put(
        &mut self,
        subject: &Path,
        member: &Member,
        image: &Image,
        contents: &(impl Contents + ?Sized),
    ) -> Result<(), FileError> {
        let file = self.folder.join(file_name(subject, member, image));
        if !self.written.insert(file.clone()) {
            let text = path_of(subject, member, Some(image));
            return Err(FileError::Taken { text, name: visible_path(&file) });
        }
        let folder = file.parent().unwrap_or(self.folder);
        fs::create_dir_all(folder)
            .and_then(|()| files::put(&file, contents))
            .map_err(|error| FileError::new("write", &file, &error))
    }
}
