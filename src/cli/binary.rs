//! Binaries and archives, which may have PTX inside.

use std::fs::{self, File};
use std::io::{self, BufReader, Read, Seek};
use std::path::Path;

use super::files::Access;
use crate::extract::{Image, Member};
use crate::report::visible;

/// Endings of binaries and archives that a walk takes.
const ENDINGS: &[&str] = &[
    "a", "bin", "conda", "cubin", "dll", "dylib", "exe", "fatbin", "gz", "lib", "o", "obj", "pyd",
    "so", "tar", "tgz", "whl", "zip", "zst",
];

/// Whether a file has the name of a binary or an archive: `libx.so`, `libx.so.12`.
fn has_name(path: &Path) -> bool {
    let Some(name) = path.file_name().map(|name| name.to_string_lossy().to_ascii_lowercase())
    else {
        return false;
    };
    let name = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    name.rsplit_once('.').is_some_and(|(_, ending)| ENDINGS.contains(&ending))
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
    b"PK\x03\x04",
    b"\x1f\x8b\x08",
    b"\x28\xb5\x2f\xfd",
    b"\x50\xed\x55\xba",
];

/// Opens a regular file if it is a binary or an archive, by its first bytes.
pub(super) fn open(path: &Path) -> io::Result<Option<BufReader<File>>> {
    // A pipe must not be opened twice: its writer could take the first time for the end.
    if !fs::metadata(path)?.is_file() {
        return Ok(None);
    }
    let (mut file, _) = Access::Regular.open(path)?;
    let mut head = Vec::new();
    (&mut file).take(264).read_to_end(&mut head)?;
    let is_tar = head.get(257..262) == Some(b"ustar");
    if !is_tar && !STARTS.iter().any(|start| head.starts_with(start)) {
        return Ok(None);
    }
    file.rewind()?;
    Ok(Some(BufReader::new(file)))
}

/// Whether a walk takes a file for a binary: by its name, then by its first bytes.
pub(super) fn is_one(path: &Path) -> bool {
    has_name(path) && open(path).is_ok_and(|file| file.is_some())
}

/// The name of a text inside its file, on one line: `MEMBER!3.sm_90.ptx`.
pub(super) fn inner_name(member: &Member, image: Option<&Image>) -> String {
    let members = member.names().iter().map(|name| visible(name).into_owned());
    members.chain(image.map(Image::name)).collect::<Vec<_>>().join("!")
}
