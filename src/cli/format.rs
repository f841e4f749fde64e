//! `vptx fmt`
// Doc comments of arguments are help texts, not Markdown.
#![allow(clippy::doc_markdown)]

use std::fs;
use std::io::Write;
use std::mem;
use std::path::{Path, PathBuf};

use clap::Args;

use super::error::Trouble;
use super::eval::human;
use super::inputs::{Inputs, Wanted};
use super::normalize::{self, Kept};
use super::{Output, errors};
use crate::cli::error::CommandError;
use crate::diagnostic::{Diagnostic, counted_each};
use crate::print::{FormatError, FormatOptions, format_edits, format_to_bytes};
use crate::report::{FileReport, visible_path};
use crate::source::{UNDECODABLE, decoded, utf8};
use crate::workspace::error::FileError;
use crate::workspace::files::{DiffLook, diff, edited, replace};
use crate::workspace::input::{Bytes, Input};
use crate::workspace::kind::{Extension, FileKind, OnlyPtx};
use crate::workspace::settings::{Finder, chosen};
use crate::workspace::walk::{WalkArguments, subjects};

#[derive(Debug, Args)]
// Each field is a separate flag.
#[allow(clippy::struct_excessive_bools)]
#[command(after_help = "\
All white space and line breaks follow one style. Video instructions are written
as in the manual: modifiers are in its order, and nothing is written twice.
Default selectors and masks, ignored third sources, and minus signs that cancel
are removed. No other token changes, and the text assembles to the same machine
code. A file with errors in its structure, or in the syntax of a video
instruction, is reported and not changed.

From a comment `// vptx: fmt off` between statements to `// vptx: fmt on`, or to
the end of the file, the text is not changed. Statements on one line with a
comment `// vptx: ignore[...]`, or together on the line below it, stay on one
line as they are. A spelling whose finding is suppressed stays, too.

Options are read from the nearest vptx.toml in the folder of each file or above
it (for -, the current folder or that of --stdin-filename). Files under `exclude`
in [check] are skipped unless the command line names them. All options and their
defaults:

  [extension]
  txt = \"ptx\"                # as --extension txt=ptx

  [format]
  indent-width = 4            # spaces for each level of braces, 0 to 16
  line-width = 100            # longer statements break after commas
  line-ending = \"lf\"          # or \"crlf\", or \"keep\": as the first line ends
  default-selectors = \"omit\"  # or \"write\": d.b3210, a.b3210, b.b7654

Exit status: 0 done, 1 syntax errors, --check finds files to change, or --diff
has changes to show, 2 could not run.")]
pub(super) struct Arguments {
    /// PTX files (*.ptx, or any that start with .version), directories to search for
    /// *.ptx, or - to filter standard input [default: the current directory]
    #[arg(value_name = "FILES|DIRS|-")]
    pub(super) paths: Vec<PathBuf>,

    /// Write nothing; fail if a file would change
    #[arg(long)]
    check: bool,

    /// Write nothing; print the changes as a unified diff
    #[arg(long)]
    diff: bool,

    /// Write files in place, which is the default; for users of clang-format
    #[arg(long, short)]
    in_place: bool,

    /// Print the normal form of one file: the same text for modules that differ only in
    /// names, layout, comments and debug information
    #[arg(long, conflicts_with_all = ["check", "diff", "in_place"])]
    pub(super) normalize: bool,

    /// Parts that the normal form keeps
    #[arg(long, value_enum, value_delimiter = ',', requires = "normalize")]
    pub(super) keep: Vec<Kept>,

    #[command(flatten)]
    pub(super) walk: WalkArguments,

    /// A name for standard input in settings and messages; without paths, standard
    /// input is read
    #[arg(long, value_name = "NAME")]
    pub(super) stdin_filename: Option<PathBuf>,

    /// Read options from this file only
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,

    /// Read named files as PTX, whatever their ending
    #[arg(long, value_enum)]
    pub(super) language: Option<OnlyPtx>,

    /// Read files with this ending as PTX (txt=ptx), or skip them (ptx=cuda)
    #[arg(long, value_name = "ENDING=LANGUAGE", value_delimiter = ',')]
    pub(super) extension: Vec<Extension>,

    /// Print no summary and no names of files
    #[arg(long, short)]
    pub(super) quiet: bool,
}

impl Arguments {
    /// How an input is named to the reader.
    pub(super) fn shown<'a>(&'a self, input: &'a Input) -> &'a Path {
        match (input, &self.stdin_filename) {
            (Input::Stdin, Some(name)) => name,
            _ => input.shown(),
        }
    }
}

/// The outcome for one input.
enum FormattedFile {
    /// The text to print, if any.
    Same(Option<Bytes>),
    /// The text to print, or nothing.
    Changed(Vec<u8>),
    Wrong {
        bytes: Bytes,
        diagnostics: Vec<Diagnostic>,
    },
}

pub(super) fn run(arguments: &Arguments, out: &mut Output) -> Result<u8, Trouble> {
    if arguments.normalize {
        return normalize::run(arguments, out);
    }
    let wanted = Wanted {
        walk: &arguments.walk,
        config: arguments.config.as_deref(),
        paths: subjects(&arguments.paths, arguments.stdin_filename.as_deref()),
        is_dry: arguments.check || arguments.diff,
    };
    let is_ptx = |finder: &Finder, path: &Path| {
        let settings = finder.of(path).ok();
        FileKind::of(path, chosen(settings.as_ref(), &arguments.extension)) == FileKind::Ptx
    };
    let mut inputs = Inputs::find(&wanted, is_ptx)?;
    let look = out.diff_look();
    let name = |input: &Input| visible_path(arguments.shown(input));
    let treat = |input: &Input| treat(input, arguments, &inputs.finder, look);
    let outcomes = inputs.each("formatted", name, treat);

    let mut errors = errors();
    let (mut changed, mut same, mut wrong) = (0usize, 0usize, 0usize);
    let all = mem::take(&mut inputs.all);
    for (input, outcome) in all.iter().zip(outcomes) {
        match outcome {
            Ok(FormattedFile::Same(text)) => {
                same += 1;
                out.stream.write_all(text.as_deref().unwrap_or_default())?;
            }
            Ok(FormattedFile::Changed(text)) => {
                changed += 1;
                out.stream.write_all(&text)?;
                if arguments.check && !arguments.diff && !arguments.quiet {
                    writeln!(out.stream, "would format {}", visible_path(arguments.shown(input)))?;
                }
            }
            Ok(FormattedFile::Wrong { bytes, diagnostics }) => {
                wrong += 1;
                let (path, source) = (arguments.shown(input), &decoded(&bytes));
                let report = FileReport { path, source, diagnostics: &diagnostics };
                let text = human(&out.style, &report)?;
                // Standard output is only for the text of a filter, and for the changes of
                // `--diff`.
                if *input == Input::Stdin || arguments.diff {
                    errors.write_all(&text)?;
                } else {
                    out.stream.write_all(&text)?;
                }
            }
            Err(error) => {
                out.stream.flush()?;
                inputs.trouble(&error);
            }
        }
    }
    out.stream.flush()?;
    let filter = all.contains(&Input::Stdin);
    if !arguments.quiet && !filter && changed + same + wrong > 0 {
        let verb = if wanted.is_dry { "to format" } else { "formatted" };
        let counts = [(changed, verb), (same, "unchanged"), (wrong, "not changed: syntax errors")];
        writeln!(errors, "{}", counted_each("file", &counts))?;
    }
    Ok(inputs.status(wrong > 0 || wanted.is_dry && changed > 0))
}

fn treat(
    input: &Input,
    arguments: &Arguments,
    finder: &Finder,
    look: DiffLook,
) -> Result<FormattedFile, CommandError> {
    if !arguments.check && !arguments.diff {
        input.must_be_replaceable()?;
    }
    let named = input.path().or(arguments.stdin_filename.as_deref());
    let by_name = finder.of_text(named);
    let chosen = chosen(by_name.as_ref().ok(), &arguments.extension);
    let kind = FileKind::told(arguments.language.map(Into::into), named, chosen);
    // Read errors are reported first.
    let bytes = input.bytes()?;
    kind.must_be_ptx(&visible_path(arguments.shown(input)), &bytes)?;
    // If the path is a link, the target of the link is replaced.
    let path = match input {
        Input::Stdin => None,
        Input::File(path) | Input::Walked(path) => {
            Some(fs::canonicalize(path).map_err(|error| FileError::new("find", path, &error))?)
        }
    };
    let (settings, _) = finder.of_text(path.as_deref().or(arguments.stdin_filename.as_deref()))?;
    let formatted = match formatted(&bytes, &settings.format) {
        Ok(Some(formatted)) => formatted,
        Ok(None) => {
            let why = "a comment that must change is not in UTF-8";
            return Err(CommandError::Unchanged {
                name: visible_path(arguments.shown(input)),
                why,
            });
        }
        Err(error) => {
            return Ok(FormattedFile::Wrong { bytes, diagnostics: error.into_diagnostics() });
        }
    };
    if formatted == *bytes {
        let prints = path.is_none() && !arguments.check && !arguments.diff;
        return Ok(FormattedFile::Same(prints.then_some(bytes)));
    }
    if arguments.diff {
        let name = arguments.shown(input);
        return Ok(FormattedFile::Changed(diff(name, &bytes, &formatted, look)));
    }
    if arguments.check {
        return Ok(FormattedFile::Changed(Vec::new()));
    }
    let (Some(path), Some(stamp)) = (path, bytes.stamp()) else {
        return Ok(FormattedFile::Changed(formatted));
    };
    replace(&path, &[formatted][..], stamp)
        .map_err(|error| FileError::new("write", input.shown(), &error))?;
    Ok(FormattedFile::Changed(Vec::new()))
}

/// The formatted bytes. Comments in other encodings stay unchanged; `None` if that is impossible.
fn formatted(bytes: &[u8], options: &FormatOptions) -> Result<Option<Vec<u8>>, FormatError> {
    if let Some(text) = utf8(bytes) {
        return format_to_bytes(text, options).map(Some);
    }
    // In the decoded text, one character stands for each byte that is not UTF-8, so offsets
    // stay the same.
    let edits = format_edits(&decoded(bytes), options)?;
    if edits.iter().any(|edit| edit.replacement.contains(UNDECODABLE)) {
        return Ok(None);
    }
    Ok(Some(edited(bytes, &edits)))
}
