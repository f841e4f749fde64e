//! `vptx port`
// Doc comments of arguments are help texts, not Markdown.
#![allow(clippy::doc_markdown)]

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::mem;
use std::path::{Component, Path, PathBuf};

use clap::{Args, ValueEnum};
use thiserror::Error;

use super::error::Trouble;
use super::eval::one_semantics;
use super::inputs::{Inputs, Wanted};
use super::{Output, by_count, errors};
use crate::analysis::{is_wide_without_ptx, unreadable};
use crate::backend::c::Header;
use crate::check::Language;
use crate::cli::error::CommandError;
use crate::diagnostic::counted;
use crate::embed::{self, Host};
use crate::port::{LeftStatement, Ported, port};
use crate::report::{visible, visible_path};
use crate::source::{LineIndex, Position, decoded};
use crate::video::Semantics;
use crate::workspace::error::{FileError, reason};
use crate::workspace::files::{Access, Stamp, create, diff, edited, read_text, replace};
use crate::workspace::input::{Bytes, Input};
use crate::workspace::kind::{Extension, FileKind};
use crate::workspace::settings::{Finder, chosen};
use crate::workspace::walk::{WalkArguments, subjects};

/// The name of the header, unless the user gives one.
const HEADER: &str = "vptx_video.h";

#[derive(Debug, Args)]
#[command(after_help = "\
An asm statement that has only video instructions becomes a call of a C function
for each of them. Operands are evaluated once, in order. The functions are in a
header for C99, C++11, CUDA, HIP, SYCL and OpenCL C. The files include it after
their last #include before the first call.
  vptx port --to hip src/
  vptx port --to c --header include/video.h kernels.cu

A statement stays as it is, and is reported, if it has other instructions,
guards, labels, memory clobbers, operands that are not words of 32 bits, or
errors. Other PTX in asm is reported as well, except with --to cuda. Statements
that macros make are not read; the summary counts them.

The header keeps its functions, and gets those that it lacks; a second run
changes nothing. Each file is replaced in one step or not at all, and only after
the header is there.

Exit status: 0 done, 1 a statement stays, --check finds files to change, or
--diff has changes to show, 2 could not run.")]
pub(super) struct Arguments {
    /// C, C++ and CUDA sources, directories to search for them, or - to filter
    /// standard input [default: the current directory]
    #[arg(value_name = "FILES|DIRS|-")]
    paths: Vec<PathBuf>,

    /// The language that will compile the sources
    #[arg(long, value_enum, value_name = "LANGUAGE")]
    to: Toolchain,

    /// The header to write, or its directory [default: vptx_video.h in the first
    /// directory, or beside the first file]
    #[arg(long, value_name = "FILE|DIR")]
    header: Option<PathBuf>,

    /// The semantics to follow: ptxas-13 keeps the results of ptxas 13.3 and later,
    /// ptxas-12 those of earlier releases [default: ptxas-13]
    #[arg(long, value_parser = one_semantics())]
    semantics: Option<Semantics>,

    /// Write nothing; fail if a file would change
    #[arg(long)]
    check: bool,

    /// Write nothing; print the changes as a unified diff
    #[arg(long)]
    diff: bool,

    #[command(flatten)]
    walk: WalkArguments,

    /// Read files with this ending as CUDA (tpl=cuda), or skip them (h=ptx)
    #[arg(long, value_name = "ENDING=LANGUAGE", value_delimiter = ',')]
    extension: Vec<Extension>,

    /// Print no summary
    #[arg(long, short)]
    pub(super) quiet: bool,
}

/// The language that will compile ported sources. The calls and the header are the same for all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Toolchain {
    /// HIP; all PTX that stays is reported
    Hip,
    /// SYCL; all PTX that stays is reported
    Sycl,
    /// C or C++; all PTX that stays is reported
    C,
    /// CUDA, where other PTX may stay; only video instructions that stay are reported
    Cuda,
}

/// A source that was read.
struct PortedSource {
    /// The file to replace; `None` for standard input.
    path: Option<PathBuf>,
    bytes: Bytes,
    ported: Ported,
    functions: Header,
    /// A message for each statement that stays.
    left: Vec<String>,
    /// How many statements were not read, by reason.
    unread: BTreeMap<&'static str, usize>,
}

impl PortedSource {
    fn is_changed(&self) -> bool {
        !self.ported.edits.is_empty()
    }

    fn new_text(&self) -> Vec<u8> {
        edited(&self.bytes, &self.ported.edits)
    }
}

pub(super) fn run(arguments: &Arguments, out: &mut Output) -> Result<u8, Trouble> {
    let semantics = arguments.semantics.unwrap_or(Semantics::CURRENT);
    let is_dry = arguments.check || arguments.diff;
    let wanted = Wanted {
        walk: &arguments.walk,
        config: None,
        paths: subjects(&arguments.paths, None),
        is_dry,
    };
    let is_source = |finder: &Finder, path: &Path| {
        kind(path, arguments, finder).is_walked(Some(Language::Cuda))
    };
    let header_path = header_path(arguments)?;
    let mut inputs = Inputs::find(&wanted, is_source)?;
    let work = |input: &Input| read(input, arguments, &inputs.finder, &header_path, semantics);
    let outcomes = inputs.each("ported", Input::name, work);
    let mut sources = Vec::new();
    let is_filter = inputs.all.contains(&Input::Stdin);
    for (input, outcome) in mem::take(&mut inputs.all).into_iter().zip(outcomes) {
        match outcome {
            Ok(source) => sources.push((input, source)),
            Err(error) => inputs.trouble(&error),
        }
    }

    let mut errors = errors();
    for line in sources.iter().flat_map(|(_, source)| &source.left) {
        // Standard output is only for the text of a filter, and for the changes of `--diff`.
        if is_filter || arguments.diff {
            writeln!(errors, "{line}")?;
        } else {
            writeln!(out.stream, "{line}")?;
        }
    }
    let mut functions = Header::new(semantics);
    for (_, source) in &sources {
        functions.merge(source.functions.clone());
    }
    let is_changed = sources.iter().any(|(_, source)| source.is_changed());
    let header = if is_changed { HeaderFile::read(header_path, &functions) } else { Ok(None) };
    // Sources include the header, so the header is written first.
    let header = header.and_then(|header| match header {
        Some(file) if !is_dry => Ok(file.write().map(|()| None)?),
        header => Ok(header),
    });
    if let Some(file) = header? {
        file.show(arguments, out)?;
    }
    let mut done = Vec::new();
    for (input, source) in &sources {
        match finish(input, source, arguments, out)? {
            Ok(()) => done.push(source),
            Err(error) => {
                out.stream.flush()?;
                inputs.trouble(&error);
            }
        }
    }
    out.stream.flush()?;
    if !arguments.quiet && !is_filter && !done.is_empty() {
        writeln!(errors, "{}", summary(is_dry, &done))?;
    }
    let is_left = sources.iter().any(|(_, source)| !source.left.is_empty());
    Ok(inputs.status(is_left || is_dry && is_changed))
}

/// The whole path of the header, whose folder must exist.
fn header_path(arguments: &Arguments) -> Result<PathBuf, FileError> {
    let path = match (&arguments.header, arguments.paths.first()) {
        (Some(path), _) if path.is_dir() => path.join(HEADER),
        (Some(path), _) => path.clone(),
        (None, Some(first)) if first.is_dir() => first.join(HEADER),
        (None, Some(first)) => first.with_file_name(HEADER),
        (None, None) => HEADER.into(),
    };
    let cannot = |why: &str| FileError::because("write", &path, why);
    let name = path.file_name().ok_or_else(|| cannot("it is no name of a file"))?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = fs::canonicalize(folder.unwrap_or(Path::new(".")))
        .map_err(|error| cannot(&reason(&error)))?;
    // If the path is a link, the target of the link is replaced.
    let whole = folder.join(name);
    Ok(fs::canonicalize(&whole).unwrap_or(whole))
}

/// Why a header cannot be used.
#[derive(Debug, Error)]
pub(super) enum HeaderError {
    #[error(transparent)]
    File(#[from] FileError),
    #[error("`{0}` cannot stand in an `#include`: choose another --header")]
    Name(String),
    #[error("vptx did not write `{0}`: choose another --header")]
    Other(String),
}

/// The name of the header for an `#include` in a source in `folder`. Both arguments are whole
/// paths.
fn include_name(header: &Path, folder: &Path) -> Result<String, HeaderError> {
    let (mut to, mut from) = (header.components().peekable(), folder.components().peekable());
    while let (Some(one), Some(other)) = (to.peek(), from.peek())
        && one == other
    {
        to.next();
        from.next();
    }
    let mut parts: Vec<&str> = from.map(|_| "..").collect();
    for part in to {
        let text = match part {
            Component::Normal(name) => name.to_str(),
            _ => None,
        };
        let is_plain = |text: &&str| !text.contains(['"', '\\', '/']) && visible(text) == *text;
        let text = text.filter(is_plain);
        parts.push(text.ok_or_else(|| HeaderError::Name(visible_path(header)))?);
    }
    Ok(parts.join("/"))
}

fn kind(path: &Path, arguments: &Arguments, finder: &Finder) -> FileKind {
    let settings = finder.of(path).ok();
    FileKind::of(path, chosen(settings.as_ref(), &arguments.extension))
}

/// Reads a source and finds its changes.
fn read(
    input: &Input,
    arguments: &Arguments,
    finder: &Finder,
    header: &Path,
    semantics: Semantics,
) -> Result<PortedSource, CommandError> {
    if !arguments.check && !arguments.diff {
        input.must_be_replaceable()?;
    }
    let name = input.name();
    let bytes = input.bytes()?;
    // A module in a file `*.inc` has nothing to port.
    let mut is_module = false;
    if let Some(path) = input.path() {
        // Errors in settings are reported here.
        finder.of(path)?;
        let kind = kind(path, arguments, finder);
        let language = kind.language(&name, &bytes).ok();
        is_module = kind == FileKind::Include && language == Some(Language::Ptx);
        if language != Some(Language::Cuda) && !is_module {
            let why = "its name is not that of a C, C++ or CUDA source; if it is one, name its \
                       ending with --extension";
            return Err(CommandError::Unread { name, why: why.into() });
        }
    }
    let mut source = decoded(&bytes);
    // A header in UTF-16, as Visual Studio writes for resources, has nothing to port, either.
    if is_module || is_wide_without_ptx(&source) {
        source = "".into();
    }
    if let Some(why) = unreadable(&source) {
        return Err(CommandError::Unread { name, why: why.message });
    }
    let place = |path: &Path| {
        fs::canonicalize(path).map_err(|error| FileError::new("find", input.shown(), &error))
    };
    let path = input.path().map(place).transpose()?;
    let folder = match &path {
        Some(path) => path.parent().unwrap_or(path).to_path_buf(),
        None => place(Path::new("."))?,
    };
    let mut functions = Header::new(semantics);
    let ported = port(&source, &include_name(header, &folder)?, &mut functions);
    let reported = |it: &&LeftStatement| it.has_video || arguments.to != Toolchain::Cuda;
    let mut left = Vec::new();
    if !ported.left.is_empty() {
        let index = LineIndex::new(&source);
        for statement in ported.left.iter().filter(reported) {
            let Position { line, column } = index.position(&source, statement.span.start);
            let reason = visible(&statement.reason);
            left.push(format!("{name}:{line}:{column}: not ported: {reason}"));
        }
    }
    let mut unread = BTreeMap::new();
    for skipped in embed::skipped_in(&source, Host::C) {
        *unread.entry(skipped.reason.text()).or_default() += 1;
    }
    drop(source);
    let keeps = !ported.edits.is_empty() || path.is_none();
    let bytes = if keeps { bytes } else { Bytes::from(Vec::new()) };
    Ok(PortedSource { path, bytes, ported, functions, left, unread })
}

/// Writes or shows the new text of a source. The inner error says why a file was not written.
fn finish(
    input: &Input,
    source: &PortedSource,
    arguments: &Arguments,
    out: &mut Output,
) -> io::Result<Result<(), FileError>> {
    let is_dry = arguments.check || arguments.diff;
    match &source.path {
        None if !is_dry => out.stream.write_all(&source.new_text())?,
        _ if !source.is_changed() => {}
        _ if arguments.diff => {
            let text = diff(input.shown(), &source.bytes, &source.new_text(), out.diff_look());
            out.stream.write_all(&text)?;
        }
        _ if arguments.check && !arguments.quiet => {
            writeln!(out.stream, "would port {}", input.name())?;
        }
        Some(path) if !is_dry => {
            let Some(stamp) = source.bytes.stamp() else { return Ok(Ok(())) };
            let written = replace(path, &[source.new_text()], stamp);
            return Ok(written.map_err(|error| FileError::new("write", input.shown(), &error)));
        }
        _ => {}
    }
    Ok(Ok(()))
}

/// A header that changes.
struct HeaderFile {
    path: PathBuf,
    old: Option<(String, Stamp)>,
    new: String,
}

impl HeaderFile {
    /// Reads the header, if it exists. `None` if it already has all functions.
    fn read(path: PathBuf, functions: &Header) -> Result<Option<HeaderFile>, HeaderError> {
        let old = match read_text(&path, Access::Regular) {
            Ok(old) => old,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(Some(HeaderFile { path, old: None, new: functions.to_string() }));
            }
            Err(error) => return Err(FileError::new("read", &path, &error).into()),
        };
        let Some(addition) = functions.addition_to(&old.0) else {
            return Err(HeaderError::Other(visible_path(&path)));
        };
        let has_crlf = old.0.contains("\r\n");
        let addition = if has_crlf { addition.replace('\n', "\r\n") } else { addition };
        let new = format!("{}{addition}", old.0);
        Ok((!addition.is_empty()).then_some(HeaderFile { path, old: Some(old), new }))
    }

    fn write(&self) -> Result<(), FileError> {
        let written = match &self.old {
            Some((_, stamp)) => replace(&self.path, &[&self.new], stamp),
            None => create(&self.path, &[&self.new]),
        };
        written.map_err(|error| FileError::new("write", &self.path, &error))
    }

    /// Shows the change without making it.
    fn show(&self, arguments: &Arguments, out: &mut Output) -> io::Result<()> {
        let here = fs::canonicalize(".").ok();
        let path = here.and_then(|here| self.path.strip_prefix(here).ok().map(Path::to_path_buf));
        let path = path.as_ref().unwrap_or(&self.path);
        if arguments.diff {
            let old = self.old.as_ref().map_or("", |(old, _)| old);
            let text = diff(path, old.as_bytes(), self.new.as_bytes(), out.diff_look());
            return out.stream.write_all(&text);
        }
        if !arguments.quiet {
            writeln!(out.stream, "would write {}", visible_path(path))?;
        }
        Ok(())
    }
}

/// `3 asm statements ported in 2 files, 1 left; not read: made by macros 2`
fn summary(is_dry: bool, sources: &[&PortedSource]) -> String {
    let replaced: usize = sources.iter().map(|source| source.ported.replaced).sum();
    let left: usize = sources.iter().map(|source| source.left.len()).sum();
    let changed = sources.iter().filter(|source| source.is_changed()).count();
    let files = if changed == 0 { sources.len() } else { changed };
    let verb = if is_dry { "to port" } else { "ported" };
    let mut unread: BTreeMap<&str, usize> = BTreeMap::new();
    for (reason, count) in sources.iter().flat_map(|source| &source.unread) {
        *unread.entry(reason).or_default() += count;
    }
    let left = if left > 0 { format!(", {left} left") } else { String::new() };
    let unread = if unread.is_empty() {
        String::new()
    } else {
        format!("; not read: {}", by_count(&unread))
    };
    let (replaced, files) = (counted(replaced, "asm statement"), counted(files, "file"));
    format!("{replaced} {verb} in {files}{left}{unread}")
}
