//! `vptx check`
// Doc comments of arguments are help texts, not Markdown.
#![allow(clippy::doc_markdown)]

mod binaries;
mod one;
mod outlet;
mod session;
mod totals;

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use super::baseline::Baseline;
use super::show;
use super::watch::watch;
use super::{FAILED, Output, trouble};
use crate::check::{Dialect, Language};
use crate::cli::error::{CommandError, Trouble, told};
use crate::diagnostic::{Applicability, Docs, InvalidRuleSelector, RuleSelector};
use crate::isa::{PtxVersion, Target};
use crate::report::{Format, visible_path};
use crate::workspace::binary;
use crate::workspace::docs::docs;
use crate::workspace::error::reason;
use crate::workspace::files::Access;
use crate::workspace::headers::HeaderFiles;
use crate::workspace::input::{self, Input};
use crate::workspace::kind::{Extension, FileKind};
use crate::workspace::settings::{Choices, Denied, Finder, Targets, chosen};
use crate::workspace::walk::{WalkArguments, WalkRules, subjects};

#[derive(Debug, Args)]
// Each field is a separate flag.
#[allow(clippy::struct_excessive_bools)]
#[command(after_help = "\
In CUDA, OpenCL and C++ sources (.cu .cuh .cl .hip .h .hpp .cpp .inc .inl and so
on), only the PTX in `asm` statements is checked; in .py, .ipynb, .rs, .jl,
.mojo and .zig, only that of inline assembly and of CUDA sources in strings. A
file with another ending than these and .ptx is read only if you name it and it
starts with .version. To read other files, use --extension or --language.

Without .version and .target, in the text or on the command line, instructions
are not checked against them, and undeclared registers are not reported. So you
can check bare statements:  echo 'vadd.u32.u32.u32 d, a, b;' | vptx check -

With several targets, a finding holds for at least one of them, and a fix is
right for all. For CUDA sources, --costs has fixes only with such a list: the
source may be built for other targets, which may lack the new instructions. For
a single target, name it twice: --target sm_90,sm_90.

Name rules by code (V501), start of code (V5), name, or ALL; `vptx explain
--all` lists them. If several options name a rule, the longest name wins.

A comment `// vptx: ignore[V501, V502] reason` suppresses these rules for its
line; alone on a line, for the next line. `// vptx: ignore-file[V501] reason`
does so for the file. --add-ignore writes such comments.
`// vptx: ignore reason` suppresses all rules; V803 reports that if selected.
Codes in another form, such as `ignore V501`, are understood; V802 reports them.

Settings are read from the nearest vptx.toml in the folder of each file or above
it (for -, the current folder or that of --stdin-filename). The command line
overrides them:

  [extension]
  tpl = \"cuda\"               # as --extension tpl=cuda

  [check]
  dialect = \"documented\"
  target = \"sm_90\"          # or a list: all that the code is built for
  ptx-version = \"8.0\"
  select = [\"V1\", \"V2\"]      # instead of the default rules
  extend-select = [\"V6\"]     # in addition to them
  ignore = [\"V502\"]
  deny = [\"warnings\"]       # exit with 1 for these also
  exclude = [\"third_party/\"] # as in .gitignore; named files are read anyway
  include = [\"include\"]      # headers whose macros are expanded, as -I
  baseline = \"vptx-baseline.json\"
  docs-url = \"https://example.org/vptx\" # the book that findings link to

  [[check.per-path]]
  paths = [\"legacy/**\"]      # for these files: any keys from dialect to deny
  ignore = [\"V4\"]

docs/vptx.schema.json describes the file for editors. To use it, start the file
with the line `#:schema PATH`.

Exit status: 0 no errors and nothing denied (or --exit-zero, or --fix-only),
1 errors, denied findings, or --diff has changes to show, 2 could not run.")]
pub(super) struct Arguments {
    /// PTX files or sources, directories to search, or - for standard input
    /// [default: the current directory]
    #[arg(value_name = "FILES|DIRS|-")]
    paths: Vec<PathBuf>,

    /// Check against this target instead of the module's own, such as sm_90; or
    /// list all targets that the code is built for: sm_75,sm_90
    #[arg(long, value_name = "TARGETS", value_delimiter = ',')]
    target: Vec<Target>,

    /// Check against this PTX version instead of the module's own, such as 8.0
    #[arg(long, value_name = "VERSION")]
    ptx_version: Option<PtxVersion>,

    /// The dialect of PTX, which decides what is an error [default: documented]
    #[arg(long, value_enum)]
    dialect: Option<DialectName>,

    /// Report these rules only
    #[arg(long, value_name = "RULES", value_delimiter = ',')]
    select: Option<Vec<RuleSelector>>,

    /// Report these rules in addition to the others
    #[arg(long, value_name = "RULES", value_delimiter = ',')]
    extend_select: Vec<RuleSelector>,

    /// Do not report these rules
    #[arg(long, value_name = "RULES", value_delimiter = ',')]
    ignore: Vec<RuleSelector>,

    /// Also report instructions that ptxas emulates with more machine instructions
    /// than needed on the target; same as --extend-select V6
    #[arg(long)]
    costs: bool,

    /// Apply the fixes that keep the meaning
    #[arg(long)]
    fix: bool,

    /// Apply fixes as with --fix, and do not report the remaining findings
    #[arg(long, conflicts_with_all = ["format", "statistics", "update_baseline"])]
    fix_only: bool,

    /// Write comments `vptx: ignore[CODES]` for all findings, so that they are not
    /// reported again
    #[arg(long, conflicts_with_all = ["fix", "fix_only", "unsafe_fixes", "fix_known", "update_baseline"])]
    add_ignore: bool,

    /// With --fix or --diff: also apply fixes that may change the meaning
    #[arg(long)]
    unsafe_fixes: bool,

    /// Write nothing; print the changes of --fix or --add-ignore as a unified diff
    #[arg(long)]
    diff: bool,

    /// How findings are printed
    #[arg(long, value_enum, default_value_t, visible_alias = "output-format")]
    format: Format,

    /// Write the report to this file, not to standard output; the file is replaced
    /// at the end of the run
    #[arg(long, short, value_name = "FILE", conflicts_with = "diff")]
    output_file: Option<PathBuf>,

    /// Print how often each rule was broken, not the findings, and how many asm statements
    /// were not read; with --format json, one object a line: code, name, count, and how
    /// many --fix can fix (fixable)
    #[arg(long, conflicts_with = "diff")]
    statistics: bool,

    /// Fail on these as well as on errors: `warnings`, or rules that are reported;
    /// `unread` reports and denies asm statements that were not read
    #[arg(long, value_name = "warnings|unread|RULES", value_delimiter = ',')]
    deny: Option<Vec<Denied>>,

    /// Exit with 0 even if there are findings
    #[arg(long)]
    exit_zero: bool,

    /// Do not report the findings that this file lists, and do not fix them
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,

    /// With --fix or --diff: also fix the findings that the baseline lists
    #[arg(long)]
    fix_known: bool,

    /// Write the findings of all files to the baseline, and do not report them
    #[arg(long, conflicts_with_all = ["fix", "diff"])]
    update_baseline: bool,

    /// In directories, also read the PTX inside libraries, programs, wheels and other
    /// archives; those that are named are read anyway
    #[arg(long)]
    binaries: bool,

    /// Expand the macros of headers in these folders, too; the option may be repeated
    #[arg(short = 'I', long, value_name = "DIR")]
    include: Vec<PathBuf>,

    #[command(flatten)]
    walk: WalkArguments,

    /// List the files that would be read; check nothing
    #[arg(long, conflicts_with_all = ["fix", "fix_only", "diff", "watch", "update_baseline"])]
    show_files: bool,

    /// Print the settings in force in the form of vptx.toml, for the named files or
    /// else the current directory; check nothing
    #[arg(long, conflicts_with_all = ["show_files", "fix", "fix_only", "diff", "watch"])]
    show_settings: bool,

    /// Check again whenever a file or its settings change, until Ctrl-C
    #[arg(long, conflicts_with = "update_baseline")]
    watch: bool,

    /// Read settings from this file only
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,

    /// Read settings from no file
    #[arg(long, conflicts_with = "config")]
    isolated: bool,

    /// A name for standard input; its ending selects the language. Without paths,
    /// standard input is read
    #[arg(long, value_name = "NAME")]
    stdin_filename: Option<PathBuf>,

    /// Read named files as this language, whatever their ending; in directories,
    /// read only files of this language
    #[arg(long, value_enum)]
    language: Option<Language>,

    /// Read files with this ending as this language, such as tpl=cuda
    #[arg(long, value_name = "ENDING=LANGUAGE", value_delimiter = ',')]
    extension: Vec<Extension>,

    /// Print findings only, no summary
    #[arg(long, short)]
    pub(super) quiet: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum DialectName {
    /// PTX as in the manual; report what only ptxas accepts
    Documented,
    /// PTX as ptxas accepts it
    Ptxas,
}

impl Arguments {
    fn choices(&self) -> Result<Choices, InvalidRuleSelector> {
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

    /// The paths to read.
    fn inputs(&self) -> Vec<PathBuf> {
        subjects(&self.paths, self.stdin_filename.as_deref())
    }

    /// The inputs to read; messages go to `tell`.
    fn found(&self, finder: &Finder, rules: &WalkRules, tell: impl FnMut(String)) -> Vec<Input> {
        let known = |path: &Path| {
            let settings = finder.of(path).ok();
            let chosen = chosen(settings.as_ref(), &self.extension);
            FileKind::of(path, chosen).is_walked(self.language)
                || self.binaries && binary::is_one(path)
        };
        input::expand(&self.inputs(), known, finder, rules, tell)
    }

    /// Whether new text is written, to files or to standard output.
    fn writes(&self) -> bool {
        (self.fix || self.fix_only || self.add_ignore) && !self.diff
    }

    /// Whether findings are reported.
    fn reports(&self) -> bool {
        !self.diff && !self.statistics && !self.fix_only
    }

    /// The kind of fixes to make, if the text is to be changed.
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

pub(super) fn run(arguments: &Arguments, out: &mut Output) -> Result<u8, Trouble> {
    let is_stdin = arguments.inputs().iter().any(|path| path.as_os_str() == "-");
    arguments.walk.set_threads()?;
    if arguments.watch && is_stdin {
        return Err("--watch needs files, not -".into());
    }
    if arguments.watch {
        let status = watch(
            arguments.quiet,
            || dependencies(arguments),
            || {
                told(run_once(arguments, out), out)?;
                out.stream.flush().map(|()| 0)
            },
        )?;
        return Ok(status);
    }
    run_once(arguments, out)
}

fn run_once(arguments: &Arguments, out: &mut Output) -> Result<u8, Trouble> {
    let run = prepare(arguments)?;
    match () {
        () if arguments.show_files => Ok(run.show_files(arguments, out)?),
        () if arguments.show_settings => Ok(run.show_settings(arguments, out)?),
        () => run.run(arguments, out),
    }
}

/// The files that a run's output depends on, as they are now.
fn dependencies(arguments: &Arguments) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> =
        arguments.config.iter().chain(&arguments.baseline).cloned().collect();
    let finder = Finder::new(arguments.config.as_deref(), arguments.isolated);
    if let (Ok(finder), Ok(rules)) = (finder, arguments.walk.rules()) {
        // The run has reported all errors already.
        for input in arguments.found(&finder, &rules, drop) {
            if let Some(path) = input.path() {
                // This finds the settings above a named file.
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

/// Everything a run needs in addition to its arguments.
struct Run {
    finder: Finder,
    rules: WalkRules,
    choices: Choices,
    headers: HeaderFiles,
    baseline: Option<Baseline>,
    docs: Docs,
}

fn prepare(arguments: &Arguments) -> Result<Run, CommandError> {
    if arguments.statistics && !matches!(arguments.format, Format::Human | Format::Json) {
        return Err("--statistics works with --format human or json only".into());
    }
    if arguments.unsafe_fixes && arguments.most().is_none() {
        return Err("--unsafe-fixes needs --fix or --diff".into());
    }
    if arguments.fix_known && arguments.most().is_none() {
        return Err("--fix-known needs --fix or --diff".into());
    }
    let finder = Finder::new(arguments.config.as_deref(), arguments.isolated)?;
    let rules = arguments.walk.rules()?;
    // A pipe or device cannot be replaced, and settings may come from anybody.
    let (file, access) = match &arguments.baseline {
        Some(file) if !arguments.update_baseline => (Some(file.clone()), Access::Named),
        Some(file) => (Some(file.clone()), Access::Regular),
        None => (finder.here()?.baseline.clone(), Access::Regular),
    };
    let baseline = match file {
        Some(_) if arguments.show_files || arguments.show_settings => None,
        Some(file) => Some(Baseline::read(&file, access, arguments.update_baseline)?),
        None if arguments.update_baseline => {
            return Err("--update-baseline needs a file: --baseline FILE".into());
        }
        None => None,
    };
    // Settings with errors are reported with the first file.
    let docs = docs(finder.here().ok().and_then(|settings| settings.docs.clone()))?;
    Ok(Run {
        finder,
        rules,
        choices: arguments.choices()?,
        headers: HeaderFiles::default(),
        baseline,
        docs,
    })
}

impl Run {
    /// The inputs to read, and the number of errors in finding them.
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

    /// Shows the settings. Files with the same settings share one text.
    fn show_settings(&self, arguments: &Arguments, out: &mut Output) -> io::Result<u8> {
        let mut troubles = 0;
        let baseline = match (&arguments.baseline, self.finder.here()) {
            (Some(file), _) => Some(std::path::absolute(file)?),
            (None, Ok(settings)) => settings.baseline.clone(),
            (None, Err(_)) => None,
        };
        let include = arguments.include.iter().map(std::path::absolute);
        let include = include.collect::<io::Result<Vec<_>>>()?;
        let shown = show::Command {
            choices: &self.choices,
            exclude: &self.rules.lines,
            include: &include,
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
            let (settings, whole) = match self.finder.of_text(path) {
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
}
