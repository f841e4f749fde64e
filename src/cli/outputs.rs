//! Where the texts that are made from inputs go: to standard output, into files, or into a
//! directory.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf, is_separator};

use super::{FAILED, Output, trouble};
use crate::isa::Mnemonic;
use crate::report::visible_path;
use crate::workspace::binary;
use crate::workspace::bug::guarded;
use crate::workspace::files::{self, Contents};
use crate::workspace::input::{Bytes, Input, reason};
use crate::workspace::kind::{FileKind, OnlyPtx};

/// The destination of the text made from an input.
#[derive(Debug)]
pub(super) enum Destination {
    Stdout,
    File(PathBuf),
    /// The file that was read.
    InPlace(PathBuf),
    /// A file for each text of a binary, in the directory.
    Texts,
}

impl Destination {
    pub(super) fn is_stdout(&self) -> bool {
        matches!(self, Destination::Stdout)
    }
}

/// The reason why a file was not written.
pub(super) enum Trouble {
    /// A message about the input.
    Input(String),
    Output(io::Error),
}

impl From<String> for Trouble {
    fn from(message: String) -> Trouble {
        Trouble::Input(message)
    }
}

impl From<io::Error> for Trouble {
    fn from(error: io::Error) -> Trouble {
        Trouble::Output(error)
    }
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
    /// A text in another language, whose files have this ending. Several are printed as one.
    Other(&'static str),
    /// PTX again. Binaries have several texts.
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

    /// The inputs with their destinations, or a message about an error in them.
    pub(super) fn plan(&self) -> Result<Vec<(Input, Destination)>, String> {
        let mut planned: Vec<(Input, Destination)> = Vec::new();
        for subject in self.subjects {
            let input = if subject.as_os_str() == "-" {
                Input::Stdin
            } else if subject.exists() {
                Input::File(subject.clone())
            } else {
                return Err(no_file(subject));
            };
            if planned.iter().any(|(other, _)| *other == input) {
                return Err(format!("`{}` is named twice", input.name()));
            }
            let destination = self.destination(&input)?;
            if let Destination::File(path) = &destination {
                let is_same = |(_, other): &&(Input, Destination)| matches!(other, Destination::File(other) if other == path);
                if let Some((other, _)) = planned.iter().find(is_same) {
                    let (one, two, path) = (other.name(), input.name(), visible_path(path));
                    return Err(format!("`{one}` and `{two}` would both be written to `{path}`"));
                }
            }
            planned.push((input, destination));
        }
        let are_printed = self.output.is_none() && planned.len() > 1;
        if are_printed && matches!(self.new, New::Ptx { in_place: false, diff: false }) {
            return Err("several files cannot be printed as one module: write them into a \
                        directory with -o DIR, or replace them with --in-place"
                .into());
        }
        // The directory is created only after all checks have passed.
        let is_folder = |output: &&Path| planned.len() > 1 || names_folder(output);
        if let Some(folder) = self.output.filter(is_folder) {
            fs::create_dir_all(folder).map_err(|error| {
                format!("cannot create `{}`: {}", visible_path(folder), reason(&error))
            })?;
        }
        Ok(planned)
    }

    fn destination(&self, input: &Input) -> Result<Destination, String> {
        if self.language.is_none() && binary::is_binary(input, [&[], &[]]) {
            return self.destination_of_texts(input);
        }
        if self.is_in_place() {
            return match input {
                Input::Stdin => Err("standard input is not a file to replace: use -o".into()),
                Input::File(path) | Input::Walked(path) => {
                    input.must_be_replaceable()?;
                    Ok(Destination::InPlace(path.clone()))
                }
            };
        }
        let Some(output) = self.output else { return Ok(Destination::Stdout) };
        let several = self.subjects.len() > 1;
        if several && output.exists() && !output.is_dir() {
            let output = visible_path(output);
            return Err(format!("`{output}` is a file: several inputs need a directory"));
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
            return Err(format!("`{}` has no file name to use in the directory", input.name()));
        };
        if let New::Other(ending) = self.new {
            name.set_extension(ending);
        }
        if is_same_file(path, &name) {
            return Err(self.is_itself(path));
        }
        Ok(Destination::File(name))
    }

    /// The destination of the texts of a binary, or a message that says what is needed.
    fn destination_of_texts(&self, input: &Input) -> Result<Destination, String> {
        let name = input.name();
        if self.is_in_place() || matches!(self.new, New::Other(_)) {
            return Err(format!(
                "`{name}` is a binary: write its PTX with `vptx extract -o DIR` first"
            ));
        }
        match self.output {
            None => {
                Err(format!("`{name}` is a binary: write its PTX into a directory with -o DIR"))
            }
            Some(output) if output.exists() && !output.is_dir() => {
                let output = visible_path(output);
                Err(format!("`{output}` is a file: the PTX of binaries needs a directory"))
            }
            Some(_) => Ok(Destination::Texts),
        }
    }

    fn is_itself(&self, path: &Path) -> String {
        let way_out = if matches!(self.new, New::Ptx { .. }) { ": use --in-place" } else { "" };
        format!("`{}` is the input itself{way_out}", visible_path(path))
    }
}

/// Works on each input; a bug in one does not end the work. Returns the exit status.
pub(super) fn each(
    planned: &[(Input, Destination)],
    out: &mut Output,
    mut work: impl FnMut(&Input, &Destination, &mut Output) -> Result<u8, Trouble>,
) -> io::Result<u8> {
    let mut status = 0;
    for (input, destination) in planned {
        let done = guarded(&input.name(), || work(input, destination, out));
        status = status.max(match done.unwrap_or_else(|message| Err(Trouble::Input(message))) {
            Ok(status) => status,
            Err(Trouble::Output(error)) => return Err(error),
            Err(Trouble::Input(message)) => {
                out.stream.flush()?;
                trouble(&message);
                FAILED
            }
        });
    }
    Ok(status)
}

/// The only subject, if it is not a file and looks like an instruction.
pub(super) fn as_instruction(subjects: &[PathBuf]) -> Option<&str> {
    let [only] = subjects else { return None };
    let text = only.to_str().filter(|text| *text != "-" && !only.exists())?;
    text.contains(|c: char| c.is_whitespace() || c == ';').then_some(text)
}

/// Writes the text for a single instruction. Returns the exit status.
pub(super) fn write_one(text: &[u8], output: Option<&Path>, out: &mut Output) -> io::Result<u8> {
    match output {
        None => out.stream.write_all(text)?,
        Some(path) => {
            if let Err(message) = put(path, &[text]) {
                trouble(&message);
                return Ok(FAILED);
            }
        }
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

/// The message for a file that does not exist. Often the user meant something else.
fn no_file(subject: &Path) -> String {
    let name = visible_path(subject);
    let word = name.split('.').next().unwrap_or_default();
    let about = match Mnemonic::from_text(&word.to_ascii_lowercase()) {
        Some(mnemonic) => format!("; `vptx explain {mnemonic}` explains {mnemonic}"),
        None => String::new(),
    };
    format!(
        "there is no file `{name}`; name PTX files, -, or one instruction in quotes, such as \
         'vmin.s32.s32.s32 d, a, b;'{about}"
    )
}

/// Puts contents into a file that is there or not.
pub(super) fn put(path: &Path, contents: &impl Contents) -> Result<(), String> {
    // Where a link points to is what is replaced.
    let path = &fs::canonicalize(path).unwrap_or_else(|_| path.into());
    let written = match fs::metadata(path) {
        // A device or a pipe cannot be replaced.
        Ok(data) if !data.is_file() && !data.is_dir() => File::options()
            .write(true)
            .open(path)
            .and_then(|file| contents.write_to(&file).map(drop)),
        Ok(_) | Err(_) => files::put(path, contents),
    };
    written.map_err(|error| format!("cannot write `{}`: {}", path.display(), reason(&error)))
}

/// Puts contents in the place of those of a file that was read, unless it changed since.
pub(super) fn put_in_place(
    path: &Path,
    contents: &impl Contents,
    before: &Bytes,
) -> Result<(), String> {
    let replaced = fs::canonicalize(path).and_then(|place| match before.stamp() {
        Some(stamp) => files::replace(&place, contents, stamp),
        None => Err(io::Error::other("it is not a regular file")),
    });
    replaced.map_err(|error| format!("cannot write `{}`: {}", visible_path(path), reason(&error)))
}

/// The bytes of an input that is PTX: by its name, an option, or what stands in it.
///
/// # Errors
/// A sentence that says why it is none.
pub(super) fn ptx_bytes(input: &Input, language: Option<OnlyPtx>) -> Result<Bytes, String> {
    let kind = FileKind::told(language.map(Into::into), input.path(), [&[], &[]]);
    let bytes = input.bytes()?;
    kind.must_be_ptx(&input.name(), &bytes)?;
    Ok(bytes)
}
