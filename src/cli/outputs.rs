//! Where the texts that are made from inputs go: to standard output, into files, or into a
//! directory.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf, is_separator};

use thiserror::Error;

use super::Output;
use super::error::{CommandError, Trouble, told};
use crate::isa::Mnemonic;
use crate::report::visible_path;
use crate::workspace::binary;
use crate::workspace::bug::{Bug, guarded};
use crate::workspace::error::FileError;
use crate::workspace::files::{self, Contents};
use crate::workspace::input::{Bytes, Input};
use crate::workspace::kind::{FileKind, OnlyPtx};

/// The destination of the text made from an input.
#[derive(Debug)]
pub(super) enum Destination {
    Stdout,
    File(PathBuf),
    /// The file that was read.
    InPlace(PathBuf),
    /// A file for each text of a binary, in the output directory.
    Texts,
}

impl Destination {
    pub(super) fn is_stdout(&self) -> bool {
        matches!(self, Destination::Stdout)
    }
}

/// Why the arguments do not give a destination for an input.
#[derive(Debug, Error)]
pub(super) enum OutputError {
    #[error(transparent)]
    File(#[from] FileError),
    /// A subject is not a file. Often, the user meant something else.
    #[error(
        "there is no file `{name}`; name PTX files, -, or one instruction in quotes, such as \
         'vmin.s32.s32.s32 d, a, b;'{}",
        about(name)
    )]
    NoFile { name: String },
    #[error("`{0}` is named twice")]
    Twice(String),
    #[error("`{one}` and `{two}` would both be written to `{output}`")]
    Same { one: String, two: String, output: String },
    #[error(
        "several files cannot be printed as one module: write them into a directory with -o DIR, \
         or replace them with --in-place"
    )]
    Several,
    #[error("standard input is not a file to replace: use -o")]
    Stdin,
    #[error("`{0}` is a file: several inputs need a directory")]
    FileForSeveral(String),
    #[error("`{0}` has no file name to use in the directory")]
    NoName(String),
    #[error("`{0}` is a binary: write its PTX with `vptx extract -o DIR` first")]
    Binary(String),
    #[error("`{0}` is a binary: write its PTX into a directory with -o DIR")]
    BinaryForStdout(String),
    #[error("`{0}` is a file: the PTX of binaries needs a directory")]
    FileForBinary(String),
    #[error("`{name}` is both input and output{way_out}")]
    Itself { name: String, way_out: &'static str },
}

/// What the arguments of a command say about inputs and outputs.
pub(super) struct Wanted<'a> {
    pub(super) subjects: &'a [PathBuf],
    pub(super) language: Option<OnlyPtx>,
    pub(super) output: Option<&'a Path>,
    pub(super) new: New,
}

/// The kind of text that is made from each input.
#[derive(Clone, Copy)]
pub(super) enum New {
    /// A text in another language, whose files have this ending. On standard output, the texts of
    /// several inputs become one.
    Other(&'static str),
    /// PTX again. A binary gives several texts.
    Ptx {
        in_place: bool,
        /// Whether only changes are printed.
        diff: bool,
    },
}

impl Wanted<'_> {
    fn is_in_place(&self) -> bool {
        matches!(self.new, New::Ptx { in_place: true, .. })
    }

    /// The inputs with their destinations.
    pub(super) fn plan(&self) -> Result<Vec<(Input, Destination)>, OutputError> {
        let mut planned: Vec<(Input, Destination)> = Vec::new();
        for subject in self.subjects {
            let input = if subject.as_os_str() == "-" {
                Input::Stdin
            } else if subject.symlink_metadata().is_ok() {
                Input::File(subject.clone())
            } else {
                return Err(OutputError::NoFile { name: visible_path(subject) });
            };
            if planned.iter().any(|(other, _)| *other == input) {
                return Err(OutputError::Twice(input.name()));
            }
            let destination = self.destination(&input)?;
            if let Destination::File(path) = &destination {
                let is_same = |(_, other): &&(Input, Destination)| matches!(other, Destination::File(other) if other == path);
                if let Some((other, _)) = planned.iter().find(is_same) {
                    let (one, two, output) = (other.name(), input.name(), visible_path(path));
                    return Err(OutputError::Same { one, two, output });
                }
            }
            planned.push((input, destination));
        }
        let are_printed = self.output.is_none() && planned.len() > 1;
        if are_printed && matches!(self.new, New::Ptx { in_place: false, diff: false }) {
            return Err(OutputError::Several);
        }
        // The directory is created only after all checks have passed.
        let is_folder = |output: &&Path| planned.len() > 1 || names_folder(output);
        if let Some(folder) = self.output.filter(is_folder) {
            fs::create_dir_all(folder).map_err(|error| FileError::new("create", folder, &error))?;
        }
        Ok(planned)
    }

    fn destination(&self, input: &Input) -> Result<Destination, OutputError> {
        if self.language.is_none() && binary::is_binary(input, [&[], &[]]) {
            return self.destination_of_texts(input);
        }
        if self.is_in_place() {
            return match input {
                Input::Stdin => Err(OutputError::Stdin),
                Input::File(path) | Input::Walked(path) => {
                    input.must_be_replaceable()?;
                    Ok(Destination::InPlace(path.clone()))
                }
            };
        }
        let Some(output) = self.output else { return Ok(Destination::Stdout) };
        let several = self.subjects.len() > 1;
        if several && output.exists() && !output.is_dir() {
            return Err(OutputError::FileForSeveral(visible_path(output)));
        }
        if !several && !output.is_dir() && !names_folder(output) {
            return match input {
                Input::File(path) | Input::Walked(path) if is_same_file(path, output) => {
                    Err(self.is_itself(path))
                }
                _ => Ok(Destination::File(output.into())),
            };
        }
        let name = input.path().and_then(|path| Some((path, output.join(path.file_name()?))));
        let Some((path, mut name)) = name else {
            return Err(OutputError::NoName(input.name()));
        };
        if let New::Other(ending) = self.new {
            name.set_extension(ending);
        }
        if is_same_file(path, &name) {
            return Err(self.is_itself(path));
        }
        Ok(Destination::File(name))
    }

    /// The destination of the texts of a binary.
    fn destination_of_texts(&self, input: &Input) -> Result<Destination, OutputError> {
        if self.is_in_place() || matches!(self.new, New::Other(_)) {
            return Err(OutputError::Binary(input.name()));
        }
        match self.output {
            None => Err(OutputError::BinaryForStdout(input.name())),
            Some(output) if output.exists() && !output.is_dir() => {
                Err(OutputError::FileForBinary(visible_path(output)))
            }
            Some(_) => Ok(Destination::Texts),
        }
    }

    fn is_itself(&self, path: &Path) -> OutputError {
        let way_out = if matches!(self.new, New::Ptx { .. }) { ": use --in-place" } else { "" };
        OutputError::Itself { name: visible_path(path), way_out }
    }
}

/// Works on each input. A bug met in one input does not end the work on others. Returns the exit
/// status.
pub(super) fn each(
    planned: &[(Input, Destination)],
    out: &mut Output,
    mut work: impl FnMut(&Input, &Destination, &mut Output) -> Result<u8, Trouble>,
) -> io::Result<u8> {
    let mut status = 0;
    for (input, destination) in planned {
        let done = guarded(&input.name(), || work(input, destination, out));
        status = status.max(told(done.unwrap_or_else(|bug: Bug| Err(bug.into())), out)?);
    }
    Ok(status)
}

/// The only subject, if it is not a file and looks like an instruction.
pub(super) fn as_instruction(subjects: &[PathBuf]) -> Option<&str> {
    let [only] = subjects else { return None };
    let text = only.to_str().filter(|text| *text != "-" && only.symlink_metadata().is_err())?;
    text.contains(|c: char| c.is_whitespace() || c == ';').then_some(text)
}

/// Writes the text for a single instruction. Returns the exit status.
pub(super) fn write_one(
    text: &[u8],
    output: Option<&Path>,
    out: &mut Output,
) -> Result<u8, Trouble> {
    match output {
        None => out.stream.write_all(text)?,
        Some(path) => put(path, &[text])?,
    }
    Ok(0)
}

/// Whether a path can only be a directory, as it ends in a separator.
fn names_folder(path: &Path) -> bool {
    path.as_os_str().as_encoded_bytes().last().is_some_and(|&byte| is_separator(byte.into()))
}

fn is_same_file(one: &Path, other: &Path) -> bool {
    matches!((fs::canonicalize(one), fs::canonicalize(other)), (Ok(one), Ok(other)) if one == other)
}

/// A hint at `vptx explain`, if a name that is no file starts with a mnemonic; otherwise nothing.
fn about(name: &str) -> String {
    let word = name.split('.').next().unwrap_or_default();
    match Mnemonic::from_text(&word.to_ascii_lowercase()) {
        Some(mnemonic) => format!("; `vptx explain {mnemonic}` explains {mnemonic}"),
        None => String::new(),
    }
}

/// Puts contents into a file, which need not exist yet.
pub(super) fn put(path: &Path, contents: &impl Contents) -> Result<(), FileError> {
    files::put_at(path, contents).map_err(|error| FileError::new("write", path, &error))
}

/// Replaces the contents of a file that was read, unless the file has changed since.
pub(super) fn put_in_place(
    path: &Path,
    contents: &impl Contents,
    before: &Bytes,
) -> Result<(), FileError> {
    let replaced = fs::canonicalize(path).and_then(|place| match before.stamp() {
        Some(stamp) => files::replace(&place, contents, stamp),
        None => Err(io::Error::other("it is not a regular file")),
    });
    replaced.map_err(|error| FileError::new("write", path, &error))
}

/// The bytes of an input. Fails unless an option, its name or its contents show that it is PTX.
pub(super) fn ptx_bytes(input: &Input, language: Option<OnlyPtx>) -> Result<Bytes, CommandError> {
    let kind = FileKind::told(language.map(Into::into), input.path(), [&[], &[]]);
    let bytes = input.bytes()?;
    kind.must_be_ptx(&input.name(), &bytes)?;
    Ok(bytes)
}
