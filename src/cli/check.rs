//! `vptx check`
// Doc comments of arguments are help texts, not Markdown.
#![allow(clippy::doc_markdown)]

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use anstream::AutoStream;
use clap::{Args, ValueEnum};
use rayon::prelude::*;

use super::baseline::Baseline;
use super::files::{diff, replace};
use super::input::{self, Input, Kind, reason};
use super::progress::with_progress;
use super::settings::{Choices, Finder, Settings};
use super::{FAILED, FOUND, Output, trouble};
use crate::check::{CheckOptions, Dialect, Language, check_counted};
use crate::diagnostic::{Applicability, Edit};
use crate::isa::{PtxVersion, Target};
use crate::lint::{Code, Selector, fix};
use crate::report::{Counts, FileReport, Format, Reporter};
use crate::source::decode;

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
    /// PTX or CUDA files, directories to walk for them, or - for standard input
    #[arg(value_name = "FILES|DIRS|-", default_value = ".")]
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
    #[arg(long)]
    statistics: bool,

    /// Fail on these too, not only on errors
    #[arg(long, value_enum, value_name = "WHAT")]
    deny: Option<Deny>,

    /// Do not report the findings that this file lists
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,

    /// Write what is found to the baseline, and report nothing
    #[arg(long)]
    update_baseline: bool,

    /// Read choices from this file only
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,

    /// Read choices from no file
    #[arg(long, conflicts_with = "config")]
    isolated: bool,

    /// The name that standard input goes by; its ending tells the language
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

    /// The fixes to make, if any.
    fn most(&self) -> Option<Applicability> {
        (self.fix || self.diff).then_some(if self.unsafe_fixes {
            Applicability::Unsafe
        } else {
            Applicability::Safe
        })
    }
}

/// What became of one input.
struct Checked {
    statements: usize,
    report: FileReport,
    /// The whole path, if it is a file.
    path: Option<PathBuf>,
    /// Findings that were mended.
    mended: usize,
    /// Changes to show, or the mended text of standard input.
    text: Option<Vec<u8>>,
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
        let wants = |path: &Path| {
            Kind::of(path) != Kind::Other
                // What is wrong with settings is told of with the file.
                && self.finder.of(path).map_or(true, |(settings, path)| !settings.excludes(&path))
        };
        let inputs = input::expand(&arguments.paths, wants, |message| {
            troubles += 1;
            trouble(&message);
        });
        let outcomes = with_progress("checked", inputs.len(), |done| {
            inputs
                .par_iter()
                .map(|input| {
                    let outcome = self.check(input, arguments, out.style.color);
                    done.fetch_add(1, Ordering::Relaxed);
                    outcome
                })
                .collect::<Vec<Result<Checked, String>>>()
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
            let report = &mut checked.report;
            if let Some(baseline) = &mut self.baseline {
                let path = checked.path.as_deref();
                baseline.take(path, &report.source, &mut report.diagnostics);
                if arguments.update_baseline {
                    report.diagnostics.clear();
                }
            }
            totals.add(&checked);
            // The stream is line-buffered; a file goes out in one piece.
            text.clear();
            if let Some(shown) = checked.text {
                totals.changed += usize::from(arguments.diff);
                if filter {
                    // Not through the stream, which may drop escapes.
                    io::stdout().write_all(&shown)?;
                } else {
                    text.extend(shown);
                }
            }
            if !arguments.diff && !arguments.statistics {
                if checked.report.diagnostics.is_empty() {
                    reporter.clean(&mut text, &checked.report.path)?;
                } else {
                    reporter.file(&mut text, &checked.report)?;
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
        if arguments.format == Format::Human && !arguments.quiet && totals.files > 0 {
            totals.summary(arguments, &mut text)?;
        }
        if filter {
            errors.write_all(&text)?;
        } else {
            out.stream.write_all(&text)?;
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

    fn check(&self, input: &Input, arguments: &Arguments, color: bool) -> Result<Checked, String> {
        let bytes = input.bytes()?;
        let named = match input {
            Input::File(path) => Some(path),
            Input::Stdin => arguments.stdin_filename.as_ref(),
        };
        let (settings, path): (Arc<Settings>, Option<PathBuf>) = match named {
            Some(path) => self.finder.of(path).map(|(settings, path)| (settings, Some(path)))?,
            None => (self.finder.here()?, None),
        };
        let language = match named.map(|path| Kind::of(path)) {
            Some(Kind::Cuda) => Language::Cuda,
            _ => Language::Ptx,
        };
        let options = settings.check(path.as_deref(), &self.choices).with_language(language);
        let name = named.map_or_else(|| input.name(), |path| path.display().to_string());
        let mut checked = Checked {
            statements: 0,
            report: FileReport { path: name, source: String::new(), diagnostics: Vec::new() },
            path,
            mended: 0,
            text: None,
        };
        match arguments.most() {
            None => {
                let source = decode(bytes);
                let (statements, diagnostics) = check_counted(&source, &options);
                checked.statements = statements;
                // The text of a clean file is not needed again.
                if !diagnostics.is_empty() {
                    checked.report.source = source;
                }
                checked.report.diagnostics = diagnostics;
            }
            Some(most) => mend(input, &bytes, &options, most, arguments, color, &mut checked)?,
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
) -> Result<(), String> {
    let source = decode(bytes.to_vec());
    let fixed = fix(&source, options, most);
    // Byte for byte, as the text may have stand-ins.
    let mended = fixed.rounds.iter().fold(bytes.to_vec(), |bytes, edits| replay(&bytes, edits));
    let stdin = *input == Input::Stdin;
    if mended != bytes {
        if arguments.diff {
            checked.text = Some(diff(&checked.report.path, bytes, &mended, color));
        } else if let Input::File(path) = input {
            let cannot = |error| format!("cannot write `{}`: {}", input.name(), reason(&error));
            // Where a link points to is what is replaced.
            let path = fs::canonicalize(path).map_err(cannot)?;
            replace(&path, &mended).map_err(cannot)?;
        }
    }
    if stdin && !arguments.diff {
        checked.text = Some(mended);
    }
    checked.statements = check_counted(&fixed.text, options).0;
    checked.mended = fixed.mended.len();
    checked.report.diagnostics = fixed.left;
    checked.report.source = fixed.text;
    Ok(())
}

fn replay(bytes: &[u8], edits: &[Edit]) -> Vec<u8> {
    let mut edited = Vec::with_capacity(bytes.len());
    let mut at = 0;
    for edit in edits {
        edited.extend_from_slice(&bytes[at..edit.span.start as usize]);
        edited.extend_from_slice(edit.replacement.as_bytes());
        at = edit.span.end as usize;
    }
    edited.extend_from_slice(&bytes[at..]);
    edited
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
}

impl Totals {
    fn add(&mut self, checked: &Checked) {
        self.files += 1;
        self.statements += checked.statements;
        self.mended += checked.mended;
        self.counts.add(&checked.report.diagnostics);
        for diagnostic in &checked.report.diagnostics {
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

    fn summary(&self, arguments: &Arguments, out: &mut impl Write) -> io::Result<()> {
        let plural = |count: usize| if count == 1 { "" } else { "s" };
        if arguments.most().is_some() {
            let verb = if arguments.diff { "would be mended" } else { "mended" };
            write!(out, "{} {verb}, ", findings(self.mended))?;
        }
        let found = self.counts.summary().unwrap_or_else(|| "nothing found".into());
        writeln!(
            out,
            "{found} in {} video instruction{} of {} file{}",
            self.statements,
            plural(self.statements),
            self.files,
            plural(self.files),
        )
    }
}

/// `1 finding`
fn findings(count: usize) -> String {
    format!("{count} finding{}", if count == 1 { "" } else { "s" })
}
