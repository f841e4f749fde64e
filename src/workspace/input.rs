//! Chooses the files to read, and reads them.

use std::fs;
use std::io;
use std::ops::Deref;
use std::path::{Path, PathBuf};

use thiserror::Error;

use super::binary;
use super::error::{FileError, reason};
use super::files::{Access, Identity, Stamp, read_bounded};
use super::kind::FileKind;
use super::settings::Finder;
use super::settings::SettingsError;
use super::walk::{WalkArguments, WalkError, WalkRules, lock};
use crate::hash::Set;
use crate::report::{visible, visible_path};
use crate::source::MAX_LEN;

/// A text to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Input {
    Stdin,
    /// A file that the user named, directly or by a link.
    File(PathBuf),
    /// A file that was found in a folder. It is not a link.
    Walked(PathBuf),
}

impl Input {
    /// The name of the input as shown to the reader, on one line.
    pub(crate) fn name(&self) -> String {
        visible_path(self.shown())
    }

    /// The path, or the text shown in its place.
    pub(crate) fn shown(&self) -> &Path {
        match self {
            Input::Stdin => Path::new("<stdin>"),
            Input::File(path) | Input::Walked(path) => path,
        }
    }

    /// The path, if the input is a file.
    pub(crate) fn path(&self) -> Option<&Path> {
        match self {
            Input::Stdin => None,
            Input::File(path) | Input::Walked(path) => Some(path),
        }
    }

    /// Fails if the input is not a file that can be replaced: new text written to a pipe would be
    /// lost.
    pub(crate) fn must_be_replaceable(&self) -> Result<(), FileError> {
        let Some(path) = self.path() else { return Ok(()) };
        match fs::metadata(path) {
            Ok(data) if !data.is_file() => {
                Err(FileError::because("write", path, "it is not a regular file"))
            }
            _ => Ok(()),
        }
    }

    pub(crate) fn bytes(&self) -> Result<Bytes, FileError> {
        match self {
            Input::Stdin => read_bounded(io::stdin().lock(), 0, MAX_LEN)
                .map_err(|error| FileError::unnamed("read standard input", &error))?
                .map(Bytes::from)
                .ok_or_else(|| FileError::TooLarge(self.name())),
            Input::File(path) => read_file(path, Access::Named, MAX_LEN),
            Input::Walked(path) => read_file(path, Access::Walked, MAX_LEN),
        }
    }
}

/// The contents of a file.
#[derive(Debug)]
pub(crate) struct Bytes {
    held: Vec<u8>,
    /// The stamp of the file before it was read. Standard input has none.
    stamp: Option<Stamp>,
}

impl Bytes {
    pub(crate) fn stamp(&self) -> Option<&Stamp> {
        self.stamp.as_ref()
    }
}

/// Bytes that do not come from a file.
impl From<Vec<u8>> for Bytes {
    fn from(bytes: Vec<u8>) -> Bytes {
        Bytes { held: bytes, stamp: None }
    }
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.held
    }
}

fn read_file(path: &Path, access: Access, limit: usize) -> Result<Bytes, FileError> {
    let cannot = |error: io::Error| FileError::new("read", path, &error);
    let too_large = || FileError::TooLarge(visible_path(path));
    let (file, data) = access.open(path).map_err(cannot)?;
    // Only regular files have a meaningful length.
    let length = if data.is_file() { data.len() } else { 0 };
    if length > limit as u64 {
        return Err(too_large());
    }
    let held = read_bounded(&file, length, limit).map_err(cannot)?.ok_or_else(too_large)?;
    Ok(Bytes { held, stamp: Some(Stamp::of(&data)) })
}

/// Why the files of a run cannot be chosen.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(crate) enum FinderError {
    #[error(transparent)]
    Walk(#[from] WalkError),
    #[error(transparent)]
    Settings(#[from] SettingsError),
}

/// Chooses PTX files and binaries, without regard to settings files.
pub(crate) struct PtxFinder {
    settings: Finder,
    rules: WalkRules,
}

impl PtxFinder {
    /// The finder for the arguments of a run. Also sets the number of threads.
    pub(crate) fn new(walk: &WalkArguments) -> Result<PtxFinder, FinderError> {
        walk.set_threads()?;
        Ok(PtxFinder { rules: walk.rules()?, settings: Finder::new(None, true)? })
    }

    /// Like [`expand`].
    pub(crate) fn expand(&self, arguments: &[PathBuf], trouble: impl FnMut(String)) -> Vec<Input> {
        let wants =
            |path: &Path| FileKind::of(path, [&[], &[]]) == FileKind::Ptx || binary::is_one(path);
        expand(arguments, wants, &self.settings, &self.rules, trouble)
    }
}

/// The inputs that the arguments name. Files are taken as they are. Directories are
/// searched for wanted files, in the order of their names, without those that settings
/// or the command line exclude. Errors go to `trouble`.
pub(crate) fn expand(
    arguments: &[PathBuf],
    wants: impl Fn(&Path) -> bool,
    finder: &Finder,
    rules: &WalkRules,
    mut trouble: impl FnMut(String),
) -> Vec<Input> {
    // Errors in settings are reported later, together with the file.
    let excluded =
        |path: &Path| finder.of(path).is_ok_and(|(settings, path)| settings.excludes(&path));
    let mut inputs = Vec::new();
    for argument in arguments {
        if argument.as_os_str() == "-" {
            inputs.push(Input::Stdin);
            continue;
        }
        if !argument.is_dir() {
            // A missing file is reported later, when it is read.
            inputs.push(Input::File(argument.clone()));
            continue;
        }
        let before = inputs.len();
        // Named folders are searched, even if the settings exclude them.
        let named = excluded(&argument.join("any"));
        let (walk, blocked) = rules.walk(argument);
        for entry in walk.into_iter().flatten() {
            match entry {
                Ok(entry) => {
                    // Links, pipes and devices are skipped.
                    let file = entry.file_type().is_some_and(|kind| kind.is_file());
                    let path = entry.path();
                    let left_out =
                        || !named && excluded(path) || rules.exclude(|| finder.whole(path));
                    if file && wants(path) && !left_out() {
                        inputs.push(Input::Walked(strip_dot(entry.path())));
                    }
                }
                Err(error) => trouble(unwalkable(&error)),
            }
        }
        let mut is_blocked = false;
        for file in lock(&blocked).drain(..) {
            is_blocked = true;
            let file = visible_path(&file);
            trouble(format!("`{file}` is not a regular file: its folder is not searched"));
        }
        if inputs.len() == before && !is_blocked {
            trouble(format!("no files to read in `{}`", visible_path(argument)));
        }
    }
    // A file that is named twice, or both named and found, is read once.
    let mut seen = Set::default();
    inputs.retain(|input| input.path().is_none_or(|path| seen.insert(path.to_path_buf())));
    inputs
}

/// Keeps only one name of each file, as each file must be written only once.
pub(crate) fn keep_one_name(inputs: &mut Vec<Input>) {
    if inputs.len() < 2 {
        return;
    }
    let mut seen = Set::default();
    inputs.retain(|it| it.path().and_then(Identity::of).is_none_or(|it| seen.insert(it)));
}

/// The reason why a folder cannot be walked.
fn unwalkable(error: &ignore::Error) -> String {
    match error {
        ignore::Error::WithDepth { err, .. } => unwalkable(err),
        ignore::Error::WithPath { path, err } => match err.io_error() {
            Some(error) => format!("cannot read `{}`: {}", visible_path(path), reason(error)),
            None => {
                format!("cannot search `{}`: {}", visible_path(path), visible(&err.to_string()))
            }
        },
        _ => format!("cannot search: {}", visible(&error.to_string())),
    }
}

/// Turns `./a.ptx` into `a.ptx`, so that the search of `.` does not prefix every name.
fn strip_dot(path: &Path) -> PathBuf {
    path.strip_prefix(".").unwrap_or(path).to_path_buf()
}
