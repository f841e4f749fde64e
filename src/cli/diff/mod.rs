//! `vptx diff`
// Doc comments of arguments are help texts, not Markdown.
#![allow(clippy::doc_markdown)]

mod git;
mod human;
mod records;
mod sides;
mod source;
mod totals;

use std::fmt::Display;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use self::human::Look;
use self::sides::{Pair, Text, Texts, pairs};
use self::source::{Compared, Source};
use self::totals::{Statistics, Totals};
use super::error::Trouble;
use super::progress::for_each_in_order;
use super::table::Align::{Left, Right};
use super::{FAILED, FOUND, Output, columns, errors, eval, table, trouble};
use crate::diff::{Comparison, DiffError, DiffOptions, Side};
use crate::extract::Limits;
use crate::report::{FileReport, Style, visible_lines, visible_path};
use crate::source::decoded;
use crate::workspace::bug::{Bug, guarded};
use crate::workspace::input::PtxFinder;
use crate::workspace::walk::WalkArguments;

#[derive(Debug, Args)]
#[command(after_help = "\
Layout, comments, debug information, the spelling of constants, and the names of
registers, labels, parameters and internal variables make no difference.
Functions are paired by name, then by likeness; statements are aligned with the
registers that they use, so that an inserted one changes no others.

  vptx diff old.ptx new.ptx
  vptx diff --stat old.ptx new.ptx
  vptx diff libx.so.1 libx.so.2        # also wheels, archives and directories

Lines with - are in OLD only, with + in NEW only; names are those of NEW. A name
with ' at its end is one of OLD that means something else in NEW. Notes start
with ~.

As git's diff driver for PTX:
  git config diff.ptx.command 'vptx diff --git'
  echo '*.ptx diff=ptx' >> .gitattributes

Exit status: 0 no difference, 1 differences, 2 something could not be compared;
with --git, 0 for differences, too.")]
// Each field is a separate flag.
#[allow(clippy::struct_excessive_bools)]
pub(super) struct Arguments {
    /// Two PTX files, binaries, archives or directories; one may be - for standard input
    #[arg(value_name = "OLD NEW", required = true, num_args = 1..)]
    paths: Vec<PathBuf>,

    /// How differences are printed
    #[arg(long, value_enum, default_value_t)]
    format: DiffFormat,

    /// Print counts, not differences: functions, instructions by opcode, registers, and
    /// the machine instructions that ptxas emits for video instructions
    #[arg(long, conflicts_with_all = ["format", "side_by_side"])]
    stat: bool,

    /// Print both texts side by side, as wide as the terminal
    #[arg(long, short = 'y', conflicts_with = "format")]
    side_by_side: bool,

    /// Ignore types where only their width matters, as in ld.u32 and ld.b32
    #[arg(long)]
    ignore_types: bool,

    /// Show this many equal statements around each difference
    #[arg(long, short = 'U', value_name = "N", default_value_t = 3)]
    unified: usize,

    /// Take the arguments that git gives to a diff driver
    #[arg(long, conflicts_with_all = ["format", "stat"])]
    pub(super) git: bool,

    /// The largest size of a text in a binary, in bytes; larger ones are reported and skipped
    #[arg(long, value_name = "BYTES", default_value_t = Limits::default().image)]
    max_image: u64,

    #[command(flatten)]
    walk: WalkArguments,

    /// Print nothing; the exit status tells whether there are differences
    #[arg(long, short)]
    pub(super) quiet: bool,
}

impl Arguments {
    fn options(&self) -> DiffOptions {
        DiffOptions::default().with_context(self.unified).with_ignore_types(self.ignore_types)
    }

    /// Whether git hands the output to its pager.
    pub(super) fn is_paged(&self) -> bool {
        let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        self.git && is_set("GIT_PAGER_IN_USE") && !is_set("NO_COLOR")
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum DiffFormat {
    /// Lines with - and +
    #[default]
    Human,
    /// One object for each change, on a line of its own; the last line is the total
    Json,
}

pub(super) fn run(arguments: &Arguments, out: &mut Output) -> Result<u8, Trouble> {
    if arguments.git {
        return git::run(arguments, out);
    }
    let [old, new] = &arguments.paths[..] else {
        return Err("name two PTX files, binaries, archives or directories to compare".into());
    };
    if old == new && old == Path::new("-") {
        return Err("standard input can be one side only".into());
    }
    if old.is_dir() != new.is_dir() {
        return Err("a directory is compared with another directory".into());
    }
    Ok(Run::new(arguments, [old, new], out.style)?.run(out)?)
}

/// The texts of a run, and how the run prints differences.
struct Run<'a> {
    arguments: &'a Arguments,
    style: Style,
    look: Look,
    old: Texts,
    new: Texts,
    failed: bool,
}

impl Run<'_> {
    /// Finds the texts. Fails if there is nothing to compare.
    fn new<'a>(
        arguments: &'a Arguments,
        paths: [&Path; 2],
        style: Style,
    ) -> Result<Run<'a>, Trouble> {
        let finder = PtxFinder::new(&arguments.walk)?;
        let mut failed = false;
        let [old, new] = paths.map(|path| {
            let inputs = finder.expand(&[path.into()], |message| {
                failed = true;
                trouble(&message);
            });
            let texts = Texts::new(inputs, path.is_dir().then_some(path), arguments.max_image);
            failed |= !texts.troubles.is_empty();
            texts.troubles.iter().for_each(trouble);
            texts
        });
        for (texts, path) in [(&old, paths[0]), (&new, paths[1])] {
            if texts.all.is_empty() && failed {
                return Err(Trouble::Printed(FAILED));
            }
            if texts.all.is_empty() {
                return Err(format!("no PTX found in `{}`", visible_path(path)).into());
            }
        }
        Ok(Run { arguments, style, look: look(arguments, style), old, new, failed })
    }

    fn run(self, out: &mut Output) -> io::Result<u8> {
        let pairs = pairs(&self.old.all, &self.new.all);
        let (mut totals, mut failed) = (Totals::default(), self.failed);
        let mut statistics = Statistics::default();
        let mut take = |outcome: Outcome| {
            totals += &outcome.totals;
            failed |= outcome.failed;
            statistics += outcome.statistics;
            errors().write_all(&outcome.errors)
        };
        match &pairs[..] {
            // The differences of two large texts are written as they are found.
            [only] => take(self.guarded(*only, &mut out.stream)?)?,
            pairs => {
                let work = |pair: &Pair| {
                    let mut text = Vec::new();
                    self.guarded(*pair, &mut text).map(|outcome| (text, outcome))
                };
                for_each_in_order("compared", pairs, work, |done| {
                    let (text, outcome) = done?;
                    take(outcome)?;
                    out.stream.write_all(&text)
                })?;
            }
        }
        let is_json = self.arguments.format == DiffFormat::Json;
        if is_json && !self.arguments.quiet {
            records::total(&mut out.stream, &totals)?;
        }
        if self.arguments.stat && !self.arguments.quiet {
            table::print(&statistics.rows(), [Right, Right, Right, Left], &mut out.stream)?;
            writeln!(out.stream, "{totals}")?;
        } else if pairs.len() > 1 && !is_json && !self.arguments.quiet {
            out.stream.flush()?;
            writeln!(errors(), "{totals}")?;
        }
        Ok(match () {
            () if failed => FAILED,
            () if totals.differs() => FOUND,
            () => 0,
        })
    }

    /// Compares the texts of a pair; a bug ends only the work on this pair.
    fn guarded(&self, pair: Pair, out: &mut dyn Write) -> io::Result<Outcome> {
        let text = match pair {
            Pair::Both(_, at) | Pair::New(at) => &self.new.all[at],
            Pair::Old(at) => &self.old.all[at],
        };
        guarded(&text.label, || self.compare(pair, out))
            .unwrap_or_else(|bug: Bug| Ok(Outcome::trouble(&bug)))
    }

    /// Compares the texts of a pair, and writes how they differ.
    fn compare(&self, pair: Pair, out: &mut dyn Write) -> io::Result<Outcome> {
        let (old, new) = match pair {
            Pair::Both(old, new) => (&self.old.all[old], &self.new.all[new]),
            Pair::Old(at) => return self.alone(&self.old.all[at], pair, out),
            Pair::New(at) => return self.alone(&self.new.all[at], pair, out),
        };
        Ok(match (self.old.bytes(old), self.new.bytes(new)) {
            (Ok(old_bytes), Ok(new_bytes)) if old_bytes == new_bytes => self.equal(&new_bytes),
            (Ok(old_bytes), Ok(new_bytes)) => {
                let (old_text, new_text) = (decoded(&old_bytes), decoded(&new_bytes));
                let compared = Compared {
                    old: Source::new(&old.label, &old_text),
                    new: Source::new(&new.label, &new_text),
                };
                match Comparison::new(&old_text, &new_text, self.arguments.options()) {
                    Ok(comparison) => self.differing(&compared, &comparison, out)?,
                    Err(error) => self.unread(&compared, &error),
                }
            }
            (Err(message), _) | (_, Err(message)) => Outcome::trouble(&message),
        })
    }

    fn differing(
        &self,
        compared: &Compared<'_>,
        comparison: &Comparison<'_>,
        out: &mut dyn Write,
    ) -> io::Result<Outcome> {
        let Arguments { quiet, stat, format, .. } = *self.arguments;
        let mut outcome = Outcome { totals: Totals::of_pair(), ..Outcome::default() };
        let mut rows = Vec::new();
        for change in comparison.changes() {
            let is_first = !outcome.totals.differs();
            outcome.totals.count(&change);
            if quiet {
                continue;
            }
            if format == DiffFormat::Json {
                records::change(out, compared, &change)?;
                continue;
            }
            if is_first {
                out.write_all(human::heading(compared, self.look).as_bytes())?;
            }
            if stat {
                rows.push(human::Counts::of(&change));
            } else {
                out.write_all(human::change(compared, &change, self.look).as_bytes())?;
            }
        }
        out.write_all(human::counts(compared, &rows, self.look).as_bytes())?;
        if stat {
            outcome.statistics = Statistics::of(comparison, compared);
        }
        Ok(outcome)
    }

    /// The outcome for two texts with the same bytes.
    fn equal(&self, bytes: &[u8]) -> Outcome {
        let mut outcome = Outcome { totals: Totals::of_pair(), ..Outcome::default() };
        if self.arguments.stat {
            let text = decoded(bytes);
            let source = || Source::new("", &text);
            // A text with errors has no figures.
            if let Ok(comparison) = Comparison::new(&text, &text, self.arguments.options()) {
                let compared = Compared { old: source(), new: source() };
                outcome.statistics = Statistics::of(&comparison, &compared);
            }
        }
        outcome
    }

    /// The outcome for a text that only one side has.
    fn alone(&self, text: &Text, pair: Pair, out: &mut dyn Write) -> io::Result<Outcome> {
        let is_old = matches!(pair, Pair::Old(_));
        match self.arguments.format {
            _ if self.arguments.quiet => {}
            DiffFormat::Json => records::only(out, text, is_old)?,
            DiffFormat::Human => {
                out.write_all(human::only(&text.label, is_old, self.look).as_bytes())?;
            }
        }
        Ok(Outcome { totals: Totals::alone(pair), ..Outcome::default() })
    }

    fn unread(&self, compared: &Compared<'_>, error: &DiffError) -> Outcome {
        let source = match error.side() {
            Side::Old => &compared.old,
            Side::New => &compared.new,
        };
        let report = FileReport {
            path: Path::new(source.label),
            source: source.text,
            diagnostics: error.diagnostics(),
        };
        let errors = eval::human(&self.style, &report).unwrap_or_default();
        Outcome { errors, failed: true, ..Outcome::default() }
    }
}

fn look(arguments: &Arguments, style: Style) -> Look {
    let columns = columns().clamp(40, 1000);
    Look { color: style.color, side_by_side: arguments.side_by_side.then_some(columns) }
}

/// The result of comparing two texts.
#[derive(Default)]
struct Outcome {
    errors: Vec<u8>,
    totals: Totals,
    statistics: Statistics,
    failed: bool,
}

impl Outcome {
    fn trouble(error: &impl Display) -> Outcome {
        let errors = format!("vptx: {}\n", visible_lines(&error.to_string())).into_bytes();
        Outcome { errors, failed: true, ..Outcome::default() }
    }
}
