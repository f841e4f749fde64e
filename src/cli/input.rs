//! Which files to read, and reading them.

use std::fs;
use std::io::{self, Read};
use std::ops::Deref;
use std::path::{Path, PathBuf};

use ignore::WalkBuilder;
use memmap2::MmapMut;

use super::large::LARGE;
use crate::hash::Set;
use crate::report::{visible, visible_path};
use crate::source::MAX_LEN;

/// One text to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Input {
    Stdin,
    File(PathBuf),
}

/// What a file holds, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Ptx,
    /// PTX inside another language.
    Cuda,
    Other,
}

/// Endings of files that hold PTX inside another language.
const CUDA: &[&str] =
    &["cu", "cuh", "cl", "clh", "c", "h", "cc", "hh", "cpp", "hpp", "cxx", "hxx", "inl", "ipp"];

impl Kind {
    pub(super) fn of(path: &Path) -> Kind {
        match path.extension().and_then(|ending| ending.to_str()) {
            Some("ptx") => Kind::Ptx,
            Some(ending) if CUDA.contains(&ending) => Kind::Cuda,
            _ => Kind::Other,
        }
    }
}

impl Input {
    /// How the input is named to the reader, on one line.
    pub(super) fn name(&self) -> String {
        visible_path(self.path())
    }

    /// Its path, or what stands for one.
    pub(super) fn path(&self) -> &Path {
        match self {
            Input::Stdin => Path::new("<stdin>"),
            Input::File(path) => path,
        }
    }

    /// A sentence that says why not, if the file holds another language.
    pub(super) fn must_be_ptx(&self) -> Result<(), String> {
        match self {
            Input::File(path) if Kind::of(path) == Kind::Cuda => Err(format!(
                "`{}` is source code, and only PTX is read: compile it first (`nvcc -ptx`)",
                self.name()
            )),
            _ => Ok(()),
        }
    }

    /// The bytes, or a sentence that says why there are none.
    pub(super) fn bytes(&self) -> Result<Bytes, String> {
        let bytes = match self {
            Input::Stdin => {
                let mut bytes = Vec::new();
                io::stdin()
                    .lock()
                    .read_to_end(&mut bytes)
                    .map(|_| Bytes::Small(bytes))
                    .map_err(|error| format!("cannot read standard input: {error}"))?
            }
            Input::File(path) => read_file(path)?,
        };
        if bytes.len() > MAX_LEN {
            return Err(too_large(&self.name()));
        }
        Ok(bytes)
    }
}

fn too_large(name: &str) -> String {
    format!("`{name}` is larger than 4 GiB, the most that is read")
}

/// What a file holds.
#[derive(Debug)]
pub(super) enum Bytes {
    Small(Vec<u8>),
    /// Memory of its own, not the file's, whose contents could change; and how
    /// much of it is used.
    Large(MmapMut, usize),
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Bytes::Small(bytes) => bytes,
            Bytes::Large(map, len) => &map[..*len],
        }
    }
}

fn read_file(path: &Path) -> Result<Bytes, String> {
    let name = visible_path(path);
    let cannot = |error: io::Error| format!("cannot read `{name}`: {}", reason(&error));
    let length = fs::metadata(path).map_err(cannot)?.len();
    if length > MAX_LEN as u64 {
        return Err(too_large(&name));
    }
    let large = if length < LARGE { None } else { read_large(path, length as usize) };
    match large {
        Some(bytes) => Ok(bytes),
        None => fs::read(path).map(Bytes::Small).map_err(cannot),
    }
}

/// Reads a large file into large pages; in those of 4 KiB, the first touch of each takes
/// as long as its contents. `None` where that does not work out.
fn read_large(path: &Path, length: usize) -> Option<Bytes> {
    // One byte more shows whether there is more.
    let mut map = MmapMut::map_anon(length + 1).ok()?;
    #[cfg(target_os = "linux")]
    map.advise(memmap2::Advice::HugePage).ok()?;
    let mut file = fs::File::open(path).ok()?;
    let mut filled = 0;
    while filled < map.len() {
        match file.read(&mut map[filled..]) {
            Ok(0) => return Some(Bytes::Large(map, filled)),
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return None,
        }
    }
    None
}

/// The system's words without its error number.
pub(super) fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    match text.find(" (os error") {
        Some(at) => text[..at].to_lowercase(),
        None => text,
    }
}

/// The inputs that the arguments name: files as they are, directories walked
/// for what is wanted in order of their names. Troubles go to `trouble`.
pub(super) fn expand(
    arguments: &[PathBuf],
    wants: impl Fn(&Path) -> bool,
    excluded: impl Fn(&Path) -> bool,
    mut trouble: impl FnMut(String),
) -> Vec<Input> {
    let mut inputs = Vec::new();
    for argument in arguments {
        if argument.as_os_str() == "-" {
            inputs.push(Input::Stdin);
            continue;
        }
        if !argument.is_dir() {
            // A missing file is reported when it is read.
            inputs.push(Input::File(argument.clone()));
            continue;
        }
        let before = inputs.len();
        // What is named is read, whatever the settings say.
        let named = excluded(&argument.join("any"));
        let walk =
            WalkBuilder::new(argument).sort_by_file_path(Path::cmp).require_git(false).build();
        for entry in walk {
            match entry {
                Ok(entry) => {
                    let file = entry.file_type().is_some_and(|kind| !kind.is_dir());
                    let path = entry.path();
                    if file && wants(path) && (named || !excluded(path)) {
                        inputs.push(Input::File(strip_dot(entry.path())));
                    }
                }
                Err(error) => trouble(unwalkable(&error)),
            }
        }
        if inputs.len() == before {
            trouble(format!("no files to read in `{}`", visible_path(argument)));
        }
    }
    // A file named twice, or named and found, is read once.
    let mut seen = Set::default();
    inputs.retain(|input| match input {
        Input::Stdin => true,
        Input::File(path) => seen.insert(path.clone()),
    });
    inputs
}

/// What keeps a folder from being walked.
fn unwalkable(error: &ignore::Error) -> String {
    match error {
        ignore::Error::WithDepth { err, .. } => unwalkable(err),
        ignore::Error::WithPath { path, err } => match err.io_error() {
            Some(error) => format!("cannot read `{}`: {}", visible_path(path), reason(error)),
            None => format!("cannot walk `{}`: {}", visible_path(path), visible(&err.to_string())),
        },
        _ => format!("cannot walk: {}", visible(&error.to_string())),
    }
}

/// `./a.ptx` as `a.ptx`: the walk of `.` should not prefix every name.
fn strip_dot(path: &Path) -> PathBuf {
    path.strip_prefix(".").unwrap_or(path).to_path_buf()
}
