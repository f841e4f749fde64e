//! `vptx fmt`
// Doc comments of arguments are help texts, not Markdown.
#![allow(clippy::doc_markdown)]

use std::fs::{self, File};
use std::io::{self, Write};
use std::mem;
use std::path::{Path, PathBuf};

use clap::Args;

use super::files::{DiffLook, Stamp, diff, edited, replace};
use super::input::{self, Bytes, Input, reason};
use super::kind::{Chosen, Extension, Kind, OnlyPtx};
use super::large::Parts;
use super::progress::for_each;
use super::settings::{Finder, Settings};
use super::walk::{WalkArguments, subjects};
use super::{FAILED, FOUND, Output, errors, plain_output, trouble};
use crate::analysis::Part;
use crate::diagnostic::Diagnostic;
use crate::lint::Known;
use crate::print::{
    FormatError, FormatOptions, LineEnding, format_edits, format_part, format_to_bytes,
};
use crate::report::{FileReport, Format, Reporter, visible_path};
use crate::source::{UNDECODABLE, decoded, utf8};

#[derive(Debug, Args)]
// Each is a flag of its own.
#[allow(clippy::struct_excessive_bools)]
#[command(after_help = "\
All white space and line breaks follow one style. Video instructions are written
as in the manual: modifiers are in its order, and nothing is written twice.
Default selectors and masks, ignored third sources, and minus signs that cancel
are removed. No other token changes, and the text assembles to the same machine
code. A file with syntax errors is reported and not changed.

From a comment `// vptx: fmt off` between statements to `// vptx: fmt on`, or to
the end of the file, the text is not changed. Statements on one line with a
comment `// vptx: ignore[...]`, or together on the line below it, stay on one
line as they are. A spelling whose finding is suppressed stays, too.

Options are read from the nearest vptx.toml in the folder of each file or above
it (for -, the current folder). Files under `exclude` in [check] are skipped
unless the command line names them. All options and their defaults:

  [extension]
  txt = \"ptx\"                # as --extension txt=ptx

  [format]
  indent-width = 4            # spaces for each level of braces, 0 to 16
  line-width = 100            # longer statements break after commas
  line-ending = \"lf\"          # or \"crlf\", or \"keep\": as the first line ends
  default-selectors = \"omit\"  # or \"write\": d.b3210, a.b3210, b.b7654

Exit status: 0 done, 1 syntax errors, or --check would change something, 2 could
not run.")]
pub(super) struct Arguments {
    /// PTX files (*.ptx, or any that start with .version), directories to search for
    /// *.ptx, or - to filter standard input [default: the current directory]
    #[arg(value_name = "FILES|DIRS|-")]
    paths: Vec<PathBuf>,

    /// Write nothing; fail if a file would change
    #[arg(long)]
    check: bool,

    /// Write nothing; print the changes as a unified diff
    #[arg(long)]
    diff: bool,

    /// Write files in place, which is the default; for users of clang-format
    #[arg(long, short)]
    in_place: bool,

    #[command(flatten)]
    walk: WalkArguments,

    /// A name for standard input in settings and messages; without paths, standard
    /// input is read
    #[arg(long, value_name = "NAME")]
    stdin_filename: Option<PathBuf>,

    /// Read options from this file only
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,

    /// Read named files as PTX, whatever their ending
    #[arg(long, value_enum)]
    language: Option<OnlyPtx>,

    /// Read files with this ending as PTX (txt=ptx), or skip them (ptx=cuda)
    #[arg(long, value_name = "ENDING=LANGUAGE", value_delimiter = ',')]
    extension: Vec<Extension>,

    /// Print no summary and no names of files
    #[arg(long, short)]
    pub(super) quiet: bool,
}

impl Arguments {
    /// How an input is named to the reader.
    fn shown<'a>(&'a self, input: &'a Input) -> &'a Path {
        match (input, &self.stdin_filename) {
            (Input::Stdin, Some(name)) => name,
            _ => input.shown(),
        }
    }
}

/// The outcome for one input.
enum Outcome {
    Same(Option<Vec<u8>>),
    Changed {
        /// To be printed.
        text: Vec<u8>,
    },
    Wrong {
        bytes: Bytes,
        diagnostics: Vec<Diagnostic>,
    },
    Failed(String),
}

pub(super) fn run(arguments: &Arguments, out: &mut Output) -> io::Result<u8> {
    let ready = arguments.walk.set_threads().and_then(|()| {
        Ok((Finder::new(arguments.config.as_deref(), false)?, arguments.walk.rules()?))
    });
    let (finder, rules) = match ready {
        Ok(ready) => ready,
        Err(message) => {
            trouble(&message);
            return Ok(FAILED);
        }
    };
    let mut troubles = 0usize;
    let known = |path: &Path| {
        let settings = finder.of(path).ok();
        let chosen = arguments.chosen(settings.as_ref().map(|(settings, _)| &**settings));
        Kind::of(path, chosen) == Kind::Ptx
    };
    let subjects = subjects(&arguments.paths, arguments.stdin_filename.as_deref());
    let mut inputs = input::expand(&subjects, known, &finder, &rules, |message| {
        troubles += 1;
        trouble(&message);
    });
    if !arguments.check && !arguments.diff {
        input::keep_one_name(&mut inputs);
    }
    // Several have a core each, which takes less time in all.
    let alone = inputs.len() == 1;
    let look = out.diff_look();
    let outcomes = for_each("formatted", &inputs, |input| {
        treat(input, alone, arguments, &finder, look).unwrap_or_else(Outcome::Failed)
    });

    let mut errors = errors();
    let (mut changed, mut same, mut wrong) = (0usize, 0usize, 0usize);
    for (input, outcome) in inputs.iter().zip(outcomes) {
        match outcome {
            Outcome::Same(text) => {
                same += 1;
                // Not through the stream, which may drop escapes.
                plain_output().write_all(&text.unwrap_or_default())?;
            }
            Outcome::Changed { text } => {
                changed += 1;
                if *input == Input::Stdin && !arguments.diff {
                    plain_output().write_all(&text)?;
                } else {
                    out.write_diff(&text)?;
                }
                if arguments.check && !arguments.diff && !arguments.quiet {
                    writeln!(out.stream, "would format {}", visible_path(arguments.shown(input)))?;
                }
            }
            Outcome::Wrong { bytes, diagnostics } => {
                wrong += 1;
                let (path, source) = (arguments.shown(input), &decoded(&bytes));
                let report = FileReport { path, source, diagnostics: &diagnostics };
                let mut text = Vec::new();
                Reporter::new(Format::Human, out.style).file(&mut text, &report)?;
                // What a filter prints is taken for the text, and `--diff` for changes.
                if *input == Input::Stdin || arguments.diff {
                    errors.write_all(&text)?;
                } else {
                    out.stream.write_all(&text)?;
                }
            }
            Outcome::Failed(message) => {
                troubles += 1;
                out.stream.flush()?;
                trouble(&message);
            }
        }
    }
    out.stream.flush()?;
    let filter = inputs.contains(&Input::Stdin);
    if !arguments.quiet && !filter && changed + same + wrong > 0 {
        let only = arguments.check || arguments.diff;
        writeln!(errors, "{}", summary(only, changed, same, wrong))?;
    }
    Ok(match () {
        () if troubles > 0 => FAILED,
        () if wrong > 0 || arguments.check && changed > 0 => FOUND,
        () => 0,
    })
}

impl Arguments {
    /// The languages of endings.
    fn chosen<'a>(&'a self, settings: Option<&'a Settings>) -> Chosen<'a> {
        [settings.map_or(&[], |settings| &settings.extensions), &self.extension]
    }
}

/// `2 files formatted, 1 unchanged`
fn summary(only: bool, changed: usize, same: usize, wrong: usize) -> String {
    let verb = if only { "to format" } else { "formatted" };
    let parts = [(changed, verb), (same, "unchanged"), (wrong, "not changed: syntax errors")];
    let named = parts.into_iter().filter(|(count, _)| *count > 0).enumerate();
    let texts = named.map(|(at, (count, what))| match (at, count) {
        (0, 1) => format!("1 file {what}"),
        (0, _) => format!("{count} files {what}"),
        _ => format!("{count} {what}"),
    });
    texts.collect::<Vec<_>>().join(", ")
}

fn treat(
    input: &Input,
    alone: bool,
    arguments: &Arguments,
    finder: &Finder,
    look: DiffLook,
) -> Result<Outcome, String> {
    if !arguments.check && !arguments.diff {
        input.must_be_replaceable()?;
    }
    let named = input.path().or(arguments.stdin_filename.as_deref());
    let by_name = match named {
        Some(path) => finder.of(path).map(|(settings, _)| settings),
        None => finder.here(),
    };
    let chosen = arguments.chosen(by_name.as_deref().ok());
    let kind = Kind::told(arguments.language.map(Into::into), named, chosen);
    let parts = if arguments.diff || kind != Kind::Ptx { None } else { Parts::open(input) };
    // Read errors are reported first.
    let small = if parts.is_some() { None } else { Some(input.bytes()?) };
    kind.must_be_ptx(&visible_path(arguments.shown(input)), small.as_deref().unwrap_or_default())?;
    // Where a link points to is what is replaced.
    let path = match input {
        Input::Stdin => None,
        Input::File(path) | Input::Walked(path) => Some(
            fs::canonicalize(path)
                .map_err(|error| format!("cannot find `{}`: {}", input.name(), reason(&error)))?,
        ),
    };
    let settings = match path.as_deref().or(arguments.stdin_filename.as_deref()) {
        Some(path) => finder.of(path)?.0,
        None => finder.here()?,
    };
    if let (Some(parts), Some(path)) = (parts, &path)
        && let Ok(stamp) = parts.stamp()
        && let Some((same, texts)) =
            formatted_parts(parts, alone, arguments.check, &settings.format)
    {
        return if same {
            Ok(Outcome::Same(None))
        } else {
            put(input, path, &texts, &stamp, arguments.check)
        };
    }
    let bytes = match small {
        Some(bytes) => bytes,
        None => input.bytes()?,
    };
    let formatted = match formatted(&bytes, &settings.format) {
        Ok(Some(formatted)) => formatted,
        Ok(None) => {
            let why = "a comment that must change is not in UTF-8";
            return Err(format!(
                "`{}` is not changed: {why}",
                visible_path(arguments.shown(input))
            ));
        }
        Err(error) => {
            return Ok(Outcome::Wrong { bytes, diagnostics: error.into_diagnostics() });
        }
    };
    let prints = path.is_none() && !arguments.check && !arguments.diff;
    if formatted == *bytes {
        return Ok(Outcome::Same(prints.then_some(formatted)));
    }
    if arguments.diff {
        let name = arguments.shown(input);
        return Ok(Outcome::Changed { text: diff(name, &bytes, &formatted, look) });
    }
    match (path, bytes.stamp()) {
        (Some(path), Some(stamp)) => put(input, &path, &[formatted], stamp, arguments.check),
        _ => Ok(Outcome::Changed { text: if prints { formatted } else { Vec::new() } }),
    }
}

/// Puts a formatted text, whose parts these are, in the place of a file's, unless
/// it is only checked.
fn put(
    input: &Input,
    path: &Path,
    texts: &[Vec<u8>],
    stamp: &Stamp,
    check: bool,
) -> Result<Outcome, String> {
    if !check {
        replace(path, texts, stamp)
            .map_err(|error| format!("cannot write `{}`: {}", input.name(), reason(&error)))?;
    }
    Ok(Outcome::Changed { text: Vec::new() })
}

/// Whether a text stays the same, and, unless it is only checked, the parts that
/// become of it. `None` where it has to be formatted as a whole.
fn formatted_parts(
    parts: Parts<File>,
    alone: bool,
    check: bool,
    options: &FormatOptions,
) -> Option<(bool, Vec<Vec<u8>>)> {
    // The first line decides.
    if options.line_ending == LineEnding::Keep {
        return None;
    }
    let work = |part: &Part<'_>, (known, buffer): &mut (Known, Vec<u8>)| {
        let text = format_part(part, options, known, mem::take(buffer))?;
        let same = text == part.text.as_bytes();
        if check {
            *buffer = text;
            return Some((same, Vec::new()));
        }
        Some((same, text))
    };
    let formatted = parts.each(alone, work)?;
    let same = formatted.iter().all(|(same, _)| *same);
    Some((same, formatted.into_iter().map(|(_, text)| text).collect()))
}

/// The formatted bytes. Comments in other encodings stay as they are; `None`
/// where that cannot be.
fn formatted(bytes: &[u8], options: &FormatOptions) -> Result<Option<Vec<u8>>, FormatError> {
    if let Some(text) = utf8(bytes) {
        return format_to_bytes(text, options).map(Some);
    }
    // One character stands for each byte that is not UTF-8: offsets hold.
    let edits = format_edits(&decoded(bytes), options)?;
    let possible = !edits.iter().any(|edit| edit.replacement.contains(UNDECODABLE));
    Ok(possible.then(|| edited(bytes, &edits)))
}
