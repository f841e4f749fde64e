//! `vptx check`
// Doc comments of arguments are help texts, not Markdown.
#![allow(clippy::doc_markdown)]

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anstream::AutoStream;
use clap::{Args, ValueEnum};

use super::baseline::Baseline;
use super::files::{diff, edited, replace};
use super::input::{self, Bytes, Input, Kind, reason};
use super::large::Parts;
use super::progress::for_each;
use super::settings::{Choices, Finder, Settings};
use super::{FAILED, FOUND, Output, trouble};
use crate::check::{
    CheckOptions, Dialect, Language, Part, check_counted, check_in_parallel, check_part,
};
use crate::diagnostic::{Applicability, Diagnostic};
use crate::isa::{PtxVersion, Target};
use crate::lint::{Code, Fixed, Known, Selector, fix, offers};
use crate::report::{Counts, FileReport, Format, Reporter};
use crate::source::decoded;

#[derive(Debug, Args)]
// Each is a flag of its own.
#[allow(clippy::struct_excessive_bools)]
#[command(after_help = "\
Of CUDA, OpenCL and C++ sources (.cu .cuh .cl .h .hpp .cpp .inl and so on) the
PTX in `asm` statements is checked, and nothing else.

Without .version and .target in the text or on the command line nothing is
gated, and undeclared registers are not reported, so that bare statements can
be checked:  echo 'vadd.u32.u32.u32 d, a, b;' | vptx check -

Rules are named by code (V501), start of code (V5), name, or ALL; `vptx explain
--all` lists them. Where several choices name a rule, the longest wins. A comment
`// vptx: ignore[V501] reason` holds for its line, or alone for the next one, and
`// vptx: ignore-file[V501] reason` for a file.

Choices are read from the nearest vptx.toml in the folder of each file or above
it (for -, the current folder); those on the command line count for more:

  [check]
  dialect = \"documented\"
  target = \"sm_90\"
  ptx-version = \"8.0\"
  select = [\"V1\", \"V2\"]      # in place of the default rules
  extend-select = [\"V6\"]     # besides them
  ignore = [\"V502\"]
  exclude = [\"third_party/\"] # as in .gitignore; what is named is read anyway
  baseline = \"vptx-baseline.json\"

  [[check.per-path]]
  paths = [\"legacy/**\"]      # the same keys, up to ignore, for these files
  ignore = [\"V4\"]

Exit status: 0 nothing at error level, 1 findings, or --diff shows some, 2 could
not run.")]
pub(super) struct Arguments {
    /// PTX or CUDA files, directories to walk for them, or - for standard input;
    /// the current directory without any
    #[arg(value_name = "FILES|DIRS|-")]
    paths: Vec<PathBuf>,

    /// Check against this target instead of the module's own, such as sm_90
    #[arg(long, value_name = "TARGET")]
    target: Option<Target>,

    /// Check against this PTX version instead of the module's own, such as 8.0
    #[arg(long, value_name = "VERSION")]
    ptx_version: Option<PtxVersion>,

    /// The rules that make an error [default: documented]
    #[arg(long, value_enum)]
    dialect: Option<DialectName>,

    /// Report these rules only
    #[arg(long, value_name = "RULES", value_delimiter = ',')]
    select: Option<Vec<Selector>>,

    /// Report these rules besides the others
    #[arg(long, value_name = "RULES", value_delimiter = ',')]
    extend_select: Vec<Selector>,

    /// Do not report these rules
    #[arg(long, value_name = "RULES", value_delimiter = ',')]
    ignore: Vec<Selector>,

    /// Report, too, what ptxas emulates with more machine instructions than
    /// needed on the target: --extend-select V6
    #[arg(long)]
    costs: bool,

    /// Make the fixes that keep the meaning
    #[arg(long)]
    fix: bool,

    /// With --fix or --diff: make those that may change the meaning, too
    #[arg(long)]
    unsafe_fixes: bool,

    /// Write nothing; print what --fix would change as a unified diff
    #[arg(long)]
    diff: bool,

    /// How findings are printed
    #[arg(long, value_enum, default_value_t)]
    format: Format,

    /// Print how often each rule was broken, not the findings
    #[arg(long, conflicts_with_all = ["format", "diff"])]
    statistics: bool,

    /// Fail on these too, not only on errors
    #[arg(long, value_enum, value_name = "WHAT")]
    deny: Option<Deny>,

    /// Do not report the findings that this file lists; --fix mends them, too
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,

    /// Write what is found in files to the baseline, and do not report it
    #[arg(long, conflicts_with_all = ["fix", "diff"])]
    update_baseline: bool,

    /// Read choices from this file only
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,

    /// Read choices from no file
    #[arg(long, conflicts_with = "config")]
    isolated: bool,

    /// The name that standard input goes by; its ending tells the language, and
    /// without paths standard input is read
    #[arg(long, value_name = "NAME")]
    stdin_filename: Option<PathBuf>,

    /// Print findings only, no summary
    #[arg(long, short)]
    quiet: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum DialectName {
    /// The manual; what ptxas accepts beyond it is reported
    Documented,
    /// What ptxas accepts
    Ptxas,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Deny {
    /// Warnings
    Warnings,
}

impl Arguments {
    fn choices(&self) -> Result<Choices, String> {
        let mut extend = self.extend_select.clone();
        if self.costs {
            extend.push("V6".parse()?);
        }
        Ok(Choices {
            dialect: self.dialect.map(|dialect| match dialect {
                DialectName::Documented => Dialect::Documented,
                DialectName::Ptxas => Dialect::Ptxas,
            }),
            target: self.target,
            ptx_version: self.ptx_version,
            select: self.select.clone(),
            extend,
            ignore: self.ignore.clone(),
        })
    }

    /// What to read.
    fn inputs(&self) -> Vec<PathBuf> {
        if !self.paths.is_empty() {
            return self.paths.clone();
        }
        vec![if self.stdin_filename.is_some() { "-".into() } else { ".".into() }]
    }

    /// The fixes to make, if any.
    fn most(&self) -> Option<Applicability> {
        (self.fix || self.diff).then_some(if self.unsafe_fixes {
            Applicability::Unsafe
        } else {
            Applicability::Safe
        })
    }

    /// Whether a summary follows the findings.
    fn summarizes(&self) -> bool {
        (self.diff || self.format == Format::Human && !self.update_baseline) && !self.quiet
    }
}

/// The text that findings are about.
enum Source {
    /// The text of a clean file is not needed again.
    Gone,
    Read(Bytes),
    Mended(String),
}

impl Source {
    fn text(&self) -> Cow<'_, str> {
        match self {
            Source::Gone => Cow::default(),
            Source::Read(bytes) => decoded(bytes),
            Source::Mended(text) => text.into(),
        }
    }
}

/// What became of one input.
struct Checked {
    statements: usize,
    /// How it is named to the reader.
    name: String,
    source: Source,
    diagnostics: Vec<Diagnostic>,
    /// The whole path, if it is a file.
    path: Option<PathBuf>,
    /// Findings that were mended.
    mended: usize,
    /// Findings that another run mends: with safe fixes, and how many more with all.
    mendable: [usize; 2],
    /// Changes to show, or the mended text of standard input.
    text: Option<Vec<u8>>,
    /// Why the mended text is not in its place.
    trouble: Option<String>,
    /// Whether nothing says for which target it is.
    targetless: bool,
}

pub(super) fn run(arguments: &Arguments, out: &mut Output) -> io::Result<u8> {
    match prepare(arguments) {
        Ok(run) => run.run(arguments, out),
        Err(message) => {
            trouble(&message);
            Ok(FAILED)
        }
    }
}

/// What a run needs besides its arguments.
struct Run {
    finder: Finder,
    choices: Choices,
    baseline: Option<Baseline>,
}

fn prepare(arguments: &Arguments) -> Result<Run, String> {
    if arguments.unsafe_fixes && arguments.most().is_none() {
        return Err("--unsafe-fixes belongs to --fix or --diff".into());
    }
    let finder = Finder::new(arguments.config.as_deref(), arguments.isolated)?;
    let file = match &arguments.baseline {
        Some(file) => Some(file.clone()),
        None => finder.here()?.baseline.clone(),
    };
    let baseline = match file {
        Some(file) => Some(Baseline::read(&file, arguments.update_baseline)?),
        None if arguments.update_baseline => {
            return Err("--update-baseline wants to know where: --baseline FILE".into());
        }
        None => None,
    };
    Ok(Run { finder, choices: arguments.choices()?, baseline })
}

impl Run {
    fn run(mut self, arguments: &Arguments, out: &mut Output) -> io::Result<u8> {
        let mut troubles = 0usize;
        let known = |path: &Path| Kind::of(path) != Kind::Other;
        // What is wrong with settings is told of with the file.
        let excluded = |path: &Path| {
            self.finder.of(path).is_ok_and(|(settings, path)| settings.excludes(&path))
        };
        let inputs = input::expand(&arguments.inputs(), known, excluded, |message| {
            troubles += 1;
            trouble(&message);
        });
        // Several have a core each, which takes less time in all.
        let alone = inputs.len() == 1;
        let outcomes = for_each("checked", &inputs, |input| {
            self.check(input, alone, arguments, out.style.color)
        });

        let filter = arguments.fix && !arguments.diff && inputs.contains(&Input::Stdin);
        let mut errors = AutoStream::auto(io::stderr().lock());
        let mut reporter = Reporter::new(arguments.format, out.style);
        let mut totals = Totals::default();
        let mut paths = Vec::new();
        let mut text = Vec::new();
        for outcome in outcomes {
            let mut checked = match outcome {
                Ok(checked) => checked,
                Err(message) => {
                    troubles += 1;
                    // What was found so far comes first.
                    out.stream.flush()?;
                    trouble(&message);
                    continue;
                }
            };
            let source = checked.source.text();
            if let Some(baseline) = &mut self.baseline {
                let path = checked.path.as_deref();
                baseline.take(path, &source, &mut checked.diagnostics);
                if arguments.update_baseline && path.is_some() {
                    checked.diagnostics.clear();
                }
            }
            totals.add(&checked);
            let Checked { name, diagnostics, .. } = &checked;
            if let Some(message) = &checked.trouble {
                troubles += 1;
                out.stream.flush()?;
                trouble(message);
            }
            // The stream is line-buffered; a file goes out in one piece.
            text.clear();
            if let Some(shown) = &checked.text {
                totals.changed += usize::from(arguments.diff);
                if filter {
                    // Not through the stream, which may drop escapes.
                    io::stdout().write_all(shown)?;
                } else {
                    text.extend_from_slice(shown);
                }
            }
            if !arguments.diff && !arguments.statistics {
                if diagnostics.is_empty() {
                    reporter.clean(&mut text, name)?;
                } else {
                    let file = FileReport { path: name, source: &source, diagnostics };
                    reporter.file(&mut text, &file)?;
                }
            }
            // What a filter prints is taken for the text.
            if filter {
                errors.write_all(&text)?;
            } else {
                out.stream.write_all(&text)?;
            }
            paths.extend(checked.path);
        }
        text.clear();
        if !arguments.diff && !arguments.statistics {
            reporter.finish(&mut text)?;
        }
        if arguments.statistics {
            totals.statistics(&mut text)?;
        }
        let mut summary = Vec::new();
        if arguments.summarizes() && totals.files > 0 {
            totals.summary(arguments, self.baseline.is_some(), &mut summary)?;
        }
        if filter {
            errors.write_all(&text)?;
        } else {
            out.stream.write_all(&text)?;
        }
        // Nothing but the changes goes with the changes.
        if filter || arguments.diff {
            out.stream.flush()?;
            errors.write_all(&summary)?;
        } else {
            out.stream.write_all(&summary)?;
        }
        let unknown = totals.targetless && !totals.codes.contains_key(&Code::V601);
        if arguments.costs && unknown && arguments.format == Format::Human && !arguments.quiet {
            out.stream.flush()?;
            writeln!(errors, "vptx: costs are those of a target: --target sm_90, for instance")?;
        }
        if let Some(baseline) = &self.baseline {
            let paths = || paths.iter().map(PathBuf::as_path);
            if arguments.update_baseline {
                out.stream.flush()?;
                match baseline.write(paths()) {
                    Ok(count) if !arguments.quiet => {
                        writeln!(errors, "the baseline has {}", findings(count))?;
                    }
                    Ok(_) => {}
                    Err(message) => {
                        troubles += 1;
                        trouble(&message);
                    }
                }
            } else if baseline.gone(paths()) > 0 && !arguments.quiet {
                out.stream.flush()?;
                writeln!(
                    errors,
                    "{} of the baseline did not come up: --update-baseline removes what is gone",
                    findings(baseline.gone(paths())),
                )?;
            }
        }
        let denied = arguments.deny == Some(Deny::Warnings) && totals.counts.warnings > 0;
        Ok(match () {
            () if troubles > 0 => FAILED,
            () if totals.counts.errors > 0 || denied || totals.changed > 0 => FOUND,
            () => 0,
        })
    }

    fn check(
        &self,
        input: &Input,
        alone: bool,
        arguments: &Arguments,
        color: bool,
    ) -> Result<Checked, String> {
        let named = match input {
            Input::File(path) => Some(path),
            Input::Stdin => arguments.stdin_filename.as_ref(),
        };
        let language = match named.map(|path| Kind::of(path)) {
            Some(Kind::Cuda) => Language::Cuda,
            _ => Language::Ptx,
        };
        let reads = arguments.most().is_none() && language == Language::Ptx;
        let parts = if reads { Parts::open(input) } else { None };
        // What cannot be read is told of first.
        let small = if parts.is_some() { None } else { Some(input.bytes()?) };
        let (settings, path): (Arc<Settings>, Option<PathBuf>) = match named {
            Some(path) => self.finder.of(path).map(|(settings, path)| (settings, Some(path)))?,
            None => (self.finder.here()?, None),
        };
        let options = settings.check(path.as_deref(), &self.choices).with_language(language);
        let clean = parts.and_then(|parts| {
            let work = |part: &Part<'_>, known: &mut Known| check_part(part, &options, known);
            parts.each(alone, work)
        });
        let bytes = match small {
            None if clean.is_none() => Some(input.bytes()?),
            small => small,
        };
        let name = named.map_or_else(|| input.name(), |path| path.display().to_string());
        let mut checked = Checked {
            statements: clean.into_iter().flatten().sum(),
            name,
            source: Source::Gone,
            diagnostics: Vec::new(),
            path,
            mended: 0,
            mendable: [0, 0],
            text: None,
            trouble: None,
            targetless: language == Language::Cuda && options.target.is_none(),
        };
        match (bytes, arguments.most()) {
            // Nothing is found in it.
            (None, _) => {}
            (Some(bytes), None) => {
                let check = if alone { check_in_parallel } else { check_counted };
                let source = decoded(&bytes);
                let (statements, diagnostics) = check(&source, &options);
                checked.statements = statements;
                if arguments.summarizes() {
                    checked.mendable = offers(&source, &options, &diagnostics);
                }
                drop(source);
                if !diagnostics.is_empty() {
                    checked.source = Source::Read(bytes);
                }
                checked.diagnostics = diagnostics;
            }
            (Some(bytes), Some(most)) => {
                mend(input, &bytes, &options, most, arguments, color, &mut checked);
            }
        }
        Ok(checked)
    }
}

/// Makes fixes in a file, or shows them.
fn mend(
    input: &Input,
    bytes: &[u8],
    options: &CheckOptions,
    most: Applicability,
    arguments: &Arguments,
    color: bool,
    checked: &mut Checked,
) {
    let source = decoded(bytes);
    let mut fixed = fix(&source, options, most);
    // Byte for byte, as the text may have stand-ins.
    let mended = fixed.rounds.iter().fold(bytes.to_vec(), |bytes, edits| edited(&bytes, edits));
    let stdin = *input == Input::Stdin;
    if mended != bytes {
        if arguments.diff {
            checked.text = Some(diff(&checked.name, bytes, &mended, color));
        } else if let Input::File(path) = input {
            // Where a link points to is what is replaced.
            let written = fs::canonicalize(path).and_then(|path| replace(&path, &[&mended]));
            if let Err(error) = written {
                let why = reason(&error);
                checked.trouble = Some(format!("cannot write `{}`: {why}", input.name()));
                fixed = Fixed::unmade(&source, options);
            }
        }
    }
    if stdin && !arguments.diff {
        checked.text = Some(mended);
    }
    if arguments.summarizes() {
        checked.mendable = offers(&fixed.text, options, &fixed.left);
    }
    checked.statements = fixed.statements;
    checked.mended = fixed.mended.len();
    checked.diagnostics = fixed.left;
    checked.source = Source::Mended(fixed.text);
}

/// What a run found altogether.
#[derive(Default)]
struct Totals {
    counts: Counts,
    codes: BTreeMap<Code, usize>,
    files: usize,
    statements: usize,
    mended: usize,
    /// Files of which changes were shown.
    changed: usize,
    /// As for each file.
    mendable: [usize; 2],
    /// Whether there are video instructions of no known target.
    targetless: bool,
}

impl Totals {
    fn add(&mut self, checked: &Checked) {
        self.files += 1;
        self.statements += checked.statements;
        self.mended += checked.mended;
        self.counts.add(&checked.diagnostics);
        self.targetless |= checked.targetless && checked.statements > 0;
        for (sum, count) in self.mendable.iter_mut().zip(checked.mendable) {
            *sum += count;
        }
        for diagnostic in &checked.diagnostics {
            *self.codes.entry(diagnostic.code).or_default() += 1;
        }
    }

    /// How often each rule was broken, the most frequent first.
    fn statistics(&self, out: &mut impl Write) -> io::Result<()> {
        let mut counts: Vec<(Code, usize)> =
            self.codes.iter().map(|(code, count)| (*code, *count)).collect();
        counts.sort_by_key(|(code, count)| (std::cmp::Reverse(*count), *code));
        let width = counts.first().map_or(0, |(_, count)| count.to_string().len());
        for (code, count) in counts {
            writeln!(out, "{count:width$}  {code}  {}", code.name())?;
        }
        Ok(())
    }

    fn summary(
        &self,
        arguments: &Arguments,
        baseline: bool,
        out: &mut impl Write,
    ) -> io::Result<()> {
        let plural = |count: usize| if count == 1 { "" } else { "s" };
        let found = self.counts.summary();
        let found = match (&found, arguments.most()) {
            (Some(found), Some(_)) if self.mended > 0 => format!("{found} left"),
            (None, Some(_)) if self.mended > 0 => "nothing left".into(),
            (Some(found), _) => found.clone(),
            (None, _) if baseline => "nothing new found".into(),
            (None, _) => "nothing found".into(),
        };
        if self.mended > 0 {
            let verb = if arguments.diff { "would be mended" } else { "mended" };
            write!(out, "{} {verb}, ", findings(self.mended))?;
        }
        writeln!(
            out,
            "{found} in {} video instruction{} of {} file{}",
            self.statements,
            plural(self.statements),
            self.files,
            plural(self.files),
        )?;
        let [safe, unsafes] = match (arguments.diff, arguments.most()) {
            // Nothing was made yet, and nothing is left to make.
            (true, Some(Applicability::Unsafe)) => [0, 0],
            (true, _) if self.mendable != [0, 0] => [0, self.mended + self.mendable[1]],
            _ => self.mendable,
        };
        match (safe, unsafes) {
            (0, 0) => Ok(()),
            (_, 0) => writeln!(out, "--fix mends {safe}"),
            (0, _) => writeln!(out, "--fix --unsafe-fixes mends {unsafes}"),
            _ => writeln!(out, "--fix mends {safe}, --unsafe-fixes {unsafes} more"),
        }
    }
}

/// `1 finding`
fn findings(count: usize) -> String {
    format!("{count} finding{}", if count == 1 { "" } else { "s" })
}
