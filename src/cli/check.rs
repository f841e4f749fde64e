//! `vptx check`
// Doc comments of arguments are help texts, not Markdown.
#![allow(clippy::doc_markdown)]

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Args, ValueEnum};

use super::baseline::Baseline;
use super::files::{DiffLook, diff, edited, put, replace};
use super::input::{self, Bytes, Input, reason};
use super::kind::{Chosen, Extension, Kind, LanguageName};
use super::large::Parts;
use super::progress::for_each;
use super::settings::{Choices, Denied, Finder, Settings, Targets};
use super::show;
use super::walk::{WalkArguments, WalkRules, subjects};
use super::watch::watch;
use super::{FAILED, FOUND, Output, errors, plain_output, trouble, unknown_target};
use crate::check::{
    CheckOptions, Dialect, Language, Part, check_in_order, check_part, check_up_to,
};
use crate::diagnostic::{Applicability, Diagnostic, Severity};
use crate::embed::{self, SkipReason, Skipped};
use crate::hash::Set;
use crate::isa::{PtxVersion, Target};
use crate::lint::{Code, Fixed, Known, Selector, add_ignores, choose_fix, fix, offers};
use crate::report::{self, Counts, FileReport, Format, Reporter, Style, visible_path};
use crate::source::decoded;

#[derive(Debug, Args)]
// Each is a flag of its own.
#[allow(clippy::struct_excessive_bools)]
#[command(after_help = "\
Of CUDA, OpenCL and C++ sources (.cu .cuh .cl .hip .h .hpp .cpp .inc .inl and so
on) the PTX in `asm` statements is checked, and nothing else. A file that ends
neither so nor in .ptx is read only if it is named and starts with .version;
--extension and --language tell what else is to be read.

Without .version and .target in the text or on the command line nothing is
gated, and undeclared registers are not reported, so that bare statements can
be checked:  echo 'vadd.u32.u32.u32 d, a, b;' | vptx check -

Of several targets, a finding holds for one at least, and what a fix writes for
each. What becomes cheaper in a CUDA source (--costs) is only shown unless its
targets are listed: it may be built for others, which lack what would be written.

Rules are named by code (V501), start of code (V5), name, or ALL; `vptx explain
--all` lists them. Where several choices name a rule, the longest wins.

A comment `// vptx: ignore[V501, V502] reason` suppresses these rules for its
line, or alone for the next one, and `// vptx: ignore-file[V501] reason` for a
file; --add-ignore writes such comments. `// vptx: ignore reason` suppresses all
rules, which V803 reports if asked for. Codes that are written otherwise, as in
`ignore V501`, are read as meant and reported (V802).

Choices are read from the nearest vptx.toml in the folder of each file or above
it (for -, the current folder); those on the command line count for more:

  [extension]
  inc = \"cuda\"               # as --extension inc=cuda

  [check]
  dialect = \"documented\"
  target = \"sm_90\"          # or a list: all that the code is built for
  ptx-version = \"8.0\"
  select = [\"V1\", \"V2\"]      # in place of the default rules
  extend-select = [\"V6\"]     # besides them
  ignore = [\"V502\"]
  deny = [\"warnings\"]       # exit with 1 for these, too
  exclude = [\"third_party/\"] # as in .gitignore; what is named is read anyway
  baseline = \"vptx-baseline.json\"

  [[check.per-path]]
  paths = [\"legacy/**\"]      # the same keys, up to deny, for these files
  ignore = [\"V4\"]

docs/vptx.schema.json describes the file for editors; a first line
`#:schema PATH` says where it is.

Exit status: 0 nothing at error level and nothing denied (or --exit-zero, or
--fix-only), 1 findings, or --diff shows some, 2 could not run.")]
pub(super) struct Arguments {
    /// PTX or CUDA files, directories to walk for them, or - for standard input;
    /// the current directory without any
    #[arg(value_name = "FILES|DIRS|-")]
    paths: Vec<PathBuf>,

    /// Check against this target instead of the module's own, such as sm_90; or
    /// against all that the code is built for: sm_75,sm_90
    #[arg(long, value_name = "TARGETS", value_delimiter = ',')]
    target: Vec<Target>,

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

    /// Make fixes as with --fix, and do not report what is left
    #[arg(long, conflicts_with_all = ["format", "statistics", "update_baseline"])]
    fix_only: bool,

    /// Write comments `vptx: ignore[CODES]` for what is found, so that it is not
    /// reported again
    #[arg(long, conflicts_with_all = ["fix", "fix_only", "unsafe_fixes", "update_baseline"])]
    add_ignore: bool,

    /// With --fix or --diff: make those that may change the meaning, too
    #[arg(long)]
    unsafe_fixes: bool,

    /// Write nothing; print what --fix, or --add-ignore, would change as a unified
    /// diff
    #[arg(long)]
    diff: bool,

    /// How findings are printed
    #[arg(long, value_enum, default_value_t, visible_alias = "output-format")]
    format: Format,

    /// Write the report to this file, not to standard output; what it had is
    /// replaced at the end of the run
    #[arg(long, short, value_name = "FILE", conflicts_with = "diff")]
    output_file: Option<PathBuf>,

    /// Print how often each rule was broken, not the findings; with --format json
    /// one object a line: code, name, count, and how many --fix fixes (fixable)
    #[arg(long, conflicts_with = "diff")]
    statistics: bool,

    /// Fail on these too, not only on errors: warnings, or rules that are reported
    #[arg(long, value_name = "warnings|RULES", value_delimiter = ',')]
    deny: Option<Vec<Denied>>,

    /// Exit with 0 even if there are findings
    #[arg(long)]
    exit_zero: bool,

    /// Do not report the findings that this file lists; --fix mends them, too
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,

    /// Write what is found in files to the baseline, and do not report it
    #[arg(long, conflicts_with_all = ["fix", "diff"])]
    update_baseline: bool,

    #[command(flatten)]
    walk: WalkArguments,

    /// List the files that would be read, and check nothing
    #[arg(long, conflicts_with_all = ["fix", "fix_only", "diff", "watch", "update_baseline"])]
    show_files: bool,

    /// Print the settings in force as vptx.toml has them, for the files that are named
    /// or else the current directory, and check nothing
    #[arg(long, conflicts_with_all = ["show_files", "fix", "fix_only", "diff", "watch"])]
    show_settings: bool,

    /// Check again whenever a file or its settings change, until Ctrl-C
    #[arg(long, conflicts_with = "update_baseline")]
    watch: bool,

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

    /// Read what is named as this language, whatever its ending; directories are
    /// walked for files of this language only
    #[arg(long, value_enum)]
    language: Option<LanguageName>,

    /// Read files with this ending as `ptx` or `cuda`, such as inc=cuda
    #[arg(long, value_name = "ENDING=LANGUAGE", value_delimiter = ',')]
    extension: Vec<Extension>,

    /// Print findings only, no summary
    #[arg(long, short)]
    pub(super) quiet: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum DialectName {
    /// The manual; what ptxas accepts beyond it is reported
    Documented,
    /// What ptxas accepts
    Ptxas,
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
            target: Targets::listed(&self.target),
            ptx_version: self.ptx_version,
            select: self.select.clone(),
            extend,
            ignore: self.ignore.clone(),
            deny: self.deny.clone(),
        })
    }

    /// What endings stand for.
    fn chosen<'a>(&'a self, settings: Option<&'a Settings>) -> Chosen<'a> {
        [settings.map_or(&[], |settings| &settings.extensions), &self.extension]
    }

    /// What to read.
    fn inputs(&self) -> Vec<PathBuf> {
        subjects(&self.paths, self.stdin_filename.as_deref())
    }

    /// What is to be read; troubles go to `tell`.
    fn found(&self, finder: &Finder, rules: &WalkRules, tell: impl FnMut(String)) -> Vec<Input> {
        let known = |path: &Path| {
            let settings = finder.of(path).ok();
            let chosen = self.chosen(settings.as_ref().map(|(settings, _)| &**settings));
            Kind::of(path, chosen).is_walked(self.language)
        };
        input::expand(&self.inputs(), known, finder, rules, tell)
    }

    /// Whether files are written, or their text to standard output.
    fn writes(&self) -> bool {
        (self.fix || self.fix_only || self.add_ignore) && !self.diff
    }

    /// Whether all findings of a file are needed at once: to tell how many there are
    /// before the first, or to tell those on equal lines apart.
    fn keeps_all(&self) -> bool {
        matches!(self.format, Format::Sarif | Format::Junit | Format::Gitlab)
    }

    /// Whether findings are reported.
    fn reports(&self) -> bool {
        !self.diff && !self.statistics && !self.fix_only
    }

    /// The fixes to make, if a changed text is wanted.
    fn most(&self) -> Option<Applicability> {
        let writes = self.fix || self.fix_only || self.add_ignore || self.diff;
        writes.then_some(if self.unsafe_fixes {
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

/// Findings of one file that are kept at most, unless all are needed at once: with more,
/// it is checked once more, and each is reported as it comes.
const MANY: usize = 10_000;

/// What became of one input.
struct Checked {
    statements: usize,
    /// How it is named to the reader.
    name: PathBuf,
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
    /// The `asm` statements that were not read.
    skipped: Vec<Skipped>,
    /// What is said of a target or version that was asked for and is not known.
    unknown: Vec<String>,
    /// What a run fails on besides errors.
    denied: Vec<Denied>,
    /// How to check it once more, if it has too many findings to keep.
    many: Option<CheckOptions>,
}

pub(super) fn run(arguments: &Arguments, out: &mut Output) -> io::Result<u8> {
    let is_stdin = arguments.inputs().iter().any(|path| path.as_os_str() == "-");
    let possible = match arguments.walk.set_threads() {
        Ok(()) if arguments.watch && is_stdin => Err("--watch wants files, not -".to_string()),
        possible => possible,
    };
    if let Err(message) = possible {
        trouble(&message);
        return Ok(FAILED);
    }
    if arguments.watch {
        return watch(
            arguments.quiet,
            || dependencies(arguments),
            || {
                run_once(arguments, out)?;
                out.stream.flush().map(|()| 0)
            },
        );
    }
    run_once(arguments, out)
}

fn run_once(arguments: &Arguments, out: &mut Output) -> io::Result<u8> {
    match prepare(arguments) {
        Ok(run) if arguments.show_files => run.show_files(arguments, out),
        Ok(run) if arguments.show_settings => run.show_settings(arguments, out),
        Ok(run) => run.run(arguments, out),
        Err(message) => {
            trouble(&message);
            Ok(FAILED)
        }
    }
}

/// The files that a run's output depends on, as they are now.
fn dependencies(arguments: &Arguments) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> =
        arguments.config.iter().chain(&arguments.baseline).cloned().collect();
    let finder = Finder::new(arguments.config.as_deref(), arguments.isolated);
    if let (Ok(finder), Ok(rules)) = (finder, arguments.walk.rules()) {
        // The run has said what is wrong.
        for input in arguments.found(&finder, &rules, drop) {
            if let Some(path) = input.path() {
                // Those above a file that is named are found so.
                finder.whole(path);
                files.push(path.to_path_buf());
            }
        }
        files.extend(finder.here().ok().and_then(|settings| settings.baseline.clone()));
        files.extend(finder.files());
    }
    files.sort_unstable();
    files.dedup();
    files
}

/// What a run needs besides its arguments.
struct Run {
    finder: Finder,
    rules: WalkRules,
    choices: Choices,
    baseline: Option<Baseline>,
}

fn prepare(arguments: &Arguments) -> Result<Run, String> {
    if arguments.statistics && !matches!(arguments.format, Format::Human | Format::Json) {
        return Err("--statistics is printed for people, or with --format json".into());
    }
    if arguments.unsafe_fixes && arguments.most().is_none() {
        return Err("--unsafe-fixes belongs to --fix or --diff".into());
    }
    let finder = Finder::new(arguments.config.as_deref(), arguments.isolated)?;
    let rules = arguments.walk.rules()?;
    let file = match &arguments.baseline {
        Some(file) => Some(file.clone()),
        None => finder.here()?.baseline.clone(),
    };
    let baseline = match file {
        Some(_) if arguments.show_files || arguments.show_settings => None,
        Some(file) => Some(Baseline::read(&file, arguments.update_baseline)?),
        None if arguments.update_baseline => {
            return Err("--update-baseline wants to know where: --baseline FILE".into());
        }
        None => None,
    };
    Ok(Run { finder, rules, choices: arguments.choices()?, baseline })
}

impl Run {
    /// What is to be read, and how often that cannot be told.
    fn inputs(&self, arguments: &Arguments) -> (Vec<Input>, usize) {
        let mut troubles = 0;
        let tell = |message: String| {
            troubles += 1;
            trouble(&message);
        };
        let mut inputs = arguments.found(&self.finder, &self.rules, tell);
        if arguments.writes() {
            input::keep_one_name(&mut inputs);
        }
        (inputs, troubles)
    }

    fn show_files(&self, arguments: &Arguments, out: &mut Output) -> io::Result<u8> {
        let (inputs, mut troubles) = self.inputs(arguments);
        for input in &inputs {
            match input.path() {
                None => writeln!(out.stream, "-")?,
                Some(path) => match fs::metadata(path) {
                    Ok(_) => writeln!(out.stream, "{}", input.name())?,
                    Err(error) => {
                        troubles += 1;
                        trouble(&format!("cannot read `{}`: {}", input.name(), reason(&error)));
                    }
                },
            }
        }
        Ok(if troubles > 0 { FAILED } else { 0 })
    }

    /// Files whose settings are the same share one text.
    fn show_settings(&self, arguments: &Arguments, out: &mut Output) -> io::Result<u8> {
        let mut troubles = 0;
        let baseline = match (&arguments.baseline, self.finder.here()) {
            (Some(file), _) => Some(std::path::absolute(file)?),
            (None, Ok(settings)) => settings.baseline.clone(),
            (None, Err(_)) => None,
        };
        let shown = show::Command {
            choices: &self.choices,
            exclude: &self.rules.lines,
            baseline: baseline.as_deref(),
        };
        let mut texts: Vec<(String, Vec<String>)> = Vec::new();
        let for_files = !arguments.paths.is_empty() || arguments.stdin_filename.is_some();
        let inputs = if for_files {
            let (inputs, count) = self.inputs(arguments);
            troubles += count;
            inputs
        } else {
            vec![Input::Stdin]
        };
        for input in &inputs {
            let path = input.path().or(arguments.stdin_filename.as_deref());
            let found = match path {
                Some(path) => self.finder.of(path).map(|(settings, path)| (settings, Some(path))),
                None => self.finder.here().map(|settings| (settings, None)),
            };
            let (settings, whole) = match found {
                Ok(found) => found,
                Err(message) => {
                    troubles += 1;
                    trouble(&message);
                    continue;
                }
            };
            let text = show::settings(&settings, whole.as_deref(), &shown);
            let name = path.map_or_else(|| ".".to_string(), visible_path);
            match texts.iter_mut().find(|(known, _)| *known == text) {
                Some((_, names)) => names.push(name),
                None => texts.push((text, vec![name])),
            }
        }
        for (at, (text, names)) in texts.iter().enumerate() {
            if at > 0 {
                writeln!(out.stream)?;
            }
            for name in names {
                writeln!(out.stream, "# {name}")?;
            }
            out.stream.write_all(text.as_bytes())?;
        }
        Ok(if troubles > 0 { FAILED } else { 0 })
    }

    /// Removes the findings that the baseline knows, or all that it is to know.
    fn leave_known(
        &mut self,
        arguments: &Arguments,
        path: Option<&Path>,
        source: &str,
        found: &mut Vec<Diagnostic>,
    ) {
        if let Some(baseline) = &mut self.baseline {
            baseline.take(path, source, found);
            if arguments.update_baseline && path.is_some() {
                found.clear();
            }
        }
    }

    fn run(mut self, arguments: &Arguments, out: &mut Output) -> io::Result<u8> {
        let (inputs, mut troubles) = self.inputs(arguments);
        // Several have a core each, which takes less time in all.
        let alone = inputs.len() == 1;
        let look = out.diff_look();
        let outcomes =
            for_each("checked", &inputs, |input| self.check(input, alone, arguments, look));

        let filter = arguments.writes() && inputs.contains(&Input::Stdin);
        let mut errors = errors();
        // The file that the report goes to, and the report.
        let mut report = arguments.output_file.clone().map(|file| (file, Vec::new()));
        if let Some((file, _)) = &report
            && reads(&inputs, file)
        {
            trouble(&format!("`{}` is read, and cannot be written", visible_path(file)));
            return Ok(FAILED);
        }
        let style = if report.is_some() { Style::FILE } else { out.style };
        let mut reporter = Reporter::new(arguments.format, style);
        let mut totals = Totals::default();
        let mut said = Set::default();
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
            totals.add(&checked);
            for message in checked.unknown.drain(..) {
                if said.insert(message.clone()) {
                    out.stream.flush()?;
                    trouble(&message);
                }
            }
            if let Some(message) = &checked.trouble {
                troubles += 1;
                out.stream.flush()?;
                trouble(message);
            }
            if let Some(shown) = &checked.text {
                totals.changed += usize::from(arguments.diff);
                if filter {
                    // Not through the stream, which may drop escapes.
                    plain_output().write_all(shown)?;
                } else {
                    out.write_diff(shown)?;
                }
            }
            let denied = checked.denied.clone();
            reporter.failing(move |found| {
                found.severity == Severity::Error
                    || denied.iter().any(|denied| denied.holds_for(found))
            });
            let source = checked.source.text();
            let mut is_clean = true;
            let mut tell = |mut found: Vec<Diagnostic>| -> io::Result<()> {
                self.leave_known(arguments, checked.path.as_deref(), &source, &mut found);
                totals.add_findings(&checked.denied, &found);
                if !arguments.reports() || found.is_empty() {
                    return Ok(());
                }
                is_clean = false;
                let file = FileReport { path: &checked.name, source: &source, diagnostics: &found };
                reporter.file(&mut text, &file)?;
                // The stream is line-buffered; this goes out in one piece.
                put_text(&mut text, report.as_mut(), filter.then_some(&mut errors), out)
            };
            tell(std::mem::take(&mut checked.diagnostics))?;
            if let Some(options) = &checked.many {
                let mut told = Ok(());
                let count = check_in_order(&source, options, &mut |found| {
                    if told.is_ok() {
                        told = tell(found);
                    }
                });
                told?;
                totals.statements += count;
            }
            if is_clean && arguments.reports() {
                reporter.clean(&mut text, &checked.name)?;
                put_text(&mut text, report.as_mut(), filter.then_some(&mut errors), out)?;
            }
            paths.extend(checked.path);
        }
        text.clear();
        if arguments.reports() {
            reporter.finish(&mut text)?;
        }
        if arguments.statistics {
            totals.statistics(arguments.format, &mut text)?;
        }
        let mut summary = Vec::new();
        if arguments.summarizes() && totals.files > 0 {
            totals.summary(arguments, self.baseline.is_some(), &mut summary)?;
        }
        if let Some((file, mut report)) = report {
            report.append(&mut text);
            if let Err(message) = write_report(&file, &report) {
                troubles += 1;
                out.stream.flush()?;
                trouble(&message);
            }
        } else if filter {
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
        let fails = !arguments.fix_only && (totals.counts.errors > 0 || totals.denied);
        Ok(match () {
            () if troubles > 0 => FAILED,
            () if arguments.exit_zero => 0,
            () if fails || totals.changed > 0 => FOUND,
            () => 0,
        })
    }

    fn check(
        &self,
        input: &Input,
        alone: bool,
        arguments: &Arguments,
        look: DiffLook,
    ) -> Result<Checked, String> {
        let named = match input {
            Input::File(path) | Input::Walked(path) => Some(path),
            Input::Stdin => arguments.stdin_filename.as_ref(),
        };
        if arguments.writes() {
            input.must_be_replaceable()?;
        }
        let settings: Result<(Arc<Settings>, Option<PathBuf>), String> = match named {
            Some(path) => self.finder.of(path).map(|(settings, path)| (settings, Some(path))),
            None => self.finder.here().map(|settings| (settings, None)),
        };
        let chosen = arguments.chosen(settings.as_ref().ok().map(|(settings, _)| &**settings));
        let kind = Kind::told(arguments.language, named.map(PathBuf::as_path), chosen);
        let reads = arguments.most().is_none() && kind == Kind::Ptx;
        let parts = if reads { Parts::open(input) } else { None };
        // What cannot be read is told of first.
        let small = if parts.is_some() { None } else { Some(input.bytes()?) };
        let (settings, path) = settings?;
        let name = named.map_or_else(|| input.shown(), PathBuf::as_path).to_path_buf();
        let language = kind.language(&visible_path(&name), small.as_deref().unwrap_or_default())?;
        let options = settings.check(path.as_deref(), &self.choices).with_language(language);
        let denied = settings.denied(path.as_deref(), &self.choices).unwrap_or_default().to_vec();
        let clean = parts.and_then(|parts| {
            let work = |part: &Part<'_>, known: &mut Known| check_part(part, &options, known);
            parts.each(alone, work)
        });
        let bytes = match small {
            None if clean.is_none() => Some(input.bytes()?),
            small => small,
        };
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
            targetless: language == Language::Cuda
                && options.target.is_none()
                && options.targets.is_empty(),
            skipped: Vec::new(),
            unknown: unknown(&options),
            denied,
            many: None,
        };
        if let Some(bytes) = &bytes
            && language == Language::Cuda
            && arguments.format == Format::Human
            && !arguments.quiet
        {
            checked.skipped = embed::skipped(&decoded(bytes));
        }
        match (bytes, arguments.most()) {
            // Nothing is found in it.
            (None, _) => {}
            (Some(bytes), None) => {
                let room = if arguments.keeps_all() { usize::MAX } else { MANY };
                let source = decoded(&bytes);
                let found = check_up_to(&source, &options, alone, room);
                if let (Some((_, diagnostics)), true) = (&found, arguments.summarizes()) {
                    checked.mendable = offers(&source, &options, diagnostics);
                }
                drop(source);
                match found {
                    Some((statements, diagnostics)) => {
                        checked.statements = statements;
                        checked.diagnostics = diagnostics;
                    }
                    None => checked.many = Some(options),
                }
                if checked.many.is_some() || !checked.diagnostics.is_empty() {
                    checked.source = Source::Read(bytes);
                }
            }
            (Some(bytes), Some(most)) => {
                mend(input, &bytes, &options, most, arguments, look, &mut checked);
            }
        }
        Ok(checked)
    }
}

/// Puts text where the report goes, and empties it: what a filter prints would be taken
/// for the text that it filters.
fn put_text(
    text: &mut Vec<u8>,
    report: Option<&mut (PathBuf, Vec<u8>)>,
    errors: Option<&mut impl Write>,
    out: &mut Output,
) -> io::Result<()> {
    match (report, errors) {
        (Some((_, report)), _) => report.extend_from_slice(text),
        (None, Some(errors)) => errors.write_all(text)?,
        (None, None) => out.stream.write_all(text)?,
    }
    text.clear();
    Ok(())
}

/// What is to be said of a target and a version that were asked for, and that
/// nobody knows: they may be yet to come.
fn unknown(options: &CheckOptions) -> Vec<String> {
    let targets = options.target.iter().chain(&options.targets);
    let targets = targets.filter_map(|&target| unknown_target(target));
    let version = options.ptx_version.filter(|version| !version.is_known()).map(|version| {
        let nearest = version.nearest_known();
        format!("there is no PTX version `{version}` that is known; the nearest is `{nearest}`")
    });
    targets.chain(version).collect()
}

/// Whether one of the inputs is the file: its text would be lost.
fn reads(inputs: &[Input], file: &Path) -> bool {
    // One that is not there is not read, either.
    let Ok(file) = fs::canonicalize(file) else { return false };
    let is_it = |path: &Path| fs::canonicalize(path).is_ok_and(|path| path == file);
    inputs.iter().filter_map(Input::path).any(is_it)
}

/// Puts a report in the place of a file; a device, or a pipe, is written to.
fn write_report(file: &Path, report: &[u8]) -> Result<(), String> {
    let special = fs::metadata(file).is_ok_and(|data| !data.is_file());
    let written = if special {
        fs::OpenOptions::new().write(true).open(file).and_then(|mut file| file.write_all(report))
    } else {
        // Where a link points to is what is replaced.
        let place = fs::canonicalize(file).unwrap_or_else(|_| file.to_path_buf());
        put(&place, &[report])
    };
    written.map_err(|error| format!("cannot write `{}`: {}", visible_path(file), reason(&error)))
}

/// Makes fixes in a file, or shows them.
fn mend(
    input: &Input,
    bytes: &Bytes,
    options: &CheckOptions,
    most: Applicability,
    arguments: &Arguments,
    look: DiffLook,
    checked: &mut Checked,
) {
    let source = decoded(bytes);
    let mut fixed = if arguments.add_ignore {
        add_ignores(&source, options)
    } else {
        fix(&source, options, most)
    };
    // Byte for byte, as the text may have stand-ins.
    let mended = fixed.rounds.iter().fold(bytes.to_vec(), |bytes, edits| edited(&bytes, edits));
    let stdin = *input == Input::Stdin;
    if mended != **bytes {
        if arguments.diff {
            checked.text = Some(diff(&checked.name, bytes, &mended, look));
        } else if let (Some(path), Some(stamp)) = (input.path(), bytes.stamp()) {
            // Where a link points to is what is replaced.
            let written = fs::canonicalize(path).and_then(|path| replace(&path, &[&mended], stamp));
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
    /// How many of them have a safe fix.
    fixable: BTreeMap<Code, usize>,
    files: usize,
    statements: usize,
    mended: usize,
    /// Files of which changes were shown.
    changed: usize,
    /// As for each file.
    mendable: [usize; 2],
    /// Files with too many findings to try their fixes.
    untried: usize,
    /// Whether there are video instructions of no known target.
    targetless: bool,
    /// How many `asm` statements were not read.
    skipped: BTreeMap<SkipReason, usize>,
    /// Whether there are findings to fail on that are no errors.
    denied: bool,
}

impl Totals {
    fn add(&mut self, checked: &Checked) {
        self.files += 1;
        self.statements += checked.statements;
        self.mended += checked.mended;
        self.untried += usize::from(checked.many.is_some());
        let has_some = checked.statements > 0 || checked.many.is_some();
        self.targetless |= checked.targetless && has_some;
        for skipped in &checked.skipped {
            *self.skipped.entry(skipped.reason).or_default() += 1;
        }
        for (sum, count) in self.mendable.iter_mut().zip(checked.mendable) {
            *sum += count;
        }
    }

    /// Adds findings of a file, of which a run fails on some that are no errors.
    fn add_findings(&mut self, denied: &[Denied], found: &[Diagnostic]) {
        self.counts.add(found);
        for diagnostic in found {
            self.denied |= denied.iter().any(|denied| denied.holds_for(diagnostic));
            *self.codes.entry(diagnostic.code).or_default() += 1;
            if choose_fix(&diagnostic.fixes, Applicability::Safe).is_some() {
                *self.fixable.entry(diagnostic.code).or_default() += 1;
            }
        }
    }

    /// How often each rule was broken, the most frequent first.
    fn statistics(&self, format: Format, out: &mut impl Write) -> io::Result<()> {
        let mut counts: Vec<(Code, usize)> =
            self.codes.iter().map(|(code, count)| (*code, *count)).collect();
        counts.sort_by_key(|(code, count)| (std::cmp::Reverse(*count), *code));
        let width = counts.first().map_or(0, |(_, count)| count.to_string().len());
        for (code, count) in counts {
            if format == Format::Json {
                let fixable = self.fixable.get(&code).copied().unwrap_or(0);
                report::write_count(out, code, count, fixable)?;
                continue;
            }
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
        let place = format!(
            "{} video instruction{} of {} file{}",
            self.statements,
            plural(self.statements),
            self.files,
            plural(self.files),
        );
        if arguments.fix_only && !arguments.diff {
            let fixed = if self.mended > 0 { findings(self.mended) } else { "nothing".into() };
            return writeln!(out, "{fixed} fixed in {place}");
        }
        let found = self.counts.summary();
        let found = match (&found, arguments.most()) {
            (Some(found), Some(_)) if self.mended > 0 => format!("{found} left"),
            (None, Some(_)) if self.mended > 0 => "nothing left".into(),
            (Some(found), _) => found.clone(),
            (None, _) if baseline => "nothing new found".into(),
            (None, _) => "nothing found".into(),
        };
        if self.mended > 0 {
            let verb = match (arguments.diff, arguments.add_ignore) {
                (false, false) => "mended",
                (true, false) => "would be mended",
                (false, true) => "suppressed",
                (true, true) => "would be suppressed",
            };
            write!(out, "{} {verb}, ", findings(self.mended))?;
        }
        writeln!(out, "{found} in {place}")?;
        let skipped: usize = self.skipped.values().sum();
        if skipped > 0 {
            let reasons =
                self.skipped.iter().map(|(reason, count)| format!("{count} {}", reason.text()));
            let reasons = reasons.collect::<Vec<_>>().join(", ");
            writeln!(out, "{skipped} asm statement{} not read: {reasons}", plural(skipped))?;
        }
        if arguments.add_ignore {
            return match self.counts.summary() {
                Some(_) => writeln!(out, "comments cannot suppress what is left"),
                None => Ok(()),
            };
        }
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
