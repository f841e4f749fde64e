//! One run over all inputs: its reports and its exit status.

use std::fmt::Display;
use std::io::{self, Write};
use std::mem;
use std::path::PathBuf;

use super::binaries::Binaries;
use super::one::CheckedFile;
use super::outlet::Outlet;
use super::totals::Totals;
use super::{Arguments, Run};
use crate::analysis::check_in_order;
use crate::cli::error::Trouble;
use crate::cli::progress::for_each;
use crate::cli::{FAILED, FOUND, Output, errors, trouble};
use crate::diagnostic::{Diagnostic, Docs, Severity, counted};
use crate::hash::Set;
use crate::report::{FileReport, Format, Reporter, Style, TextFacts};
use crate::workspace::binary;
use crate::workspace::bug::guarded;
use crate::workspace::input::Input;

/// The state of a run from one input to the next.
pub(super) struct Session<'a, E> {
    pub(super) run: Run,
    pub(super) arguments: &'a Arguments,
    out: &'a mut Output,
    errors: E,
    reporter: Reporter,
    outlet: Outlet,
    /// Whether the fixed text of standard input goes to standard output.
    filters: bool,
    totals: Totals,
    pub(super) binaries: Binaries,
    /// Messages about targets and versions that were already printed.
    said: Set<String>,
    /// The files that were checked.
    pub(super) paths: Vec<PathBuf>,
    /// The number of errors that kept the run from doing something.
    pub(super) troubles: usize,
}

impl Run {
    pub(super) fn run(self, arguments: &Arguments, out: &mut Output) -> Result<u8, Trouble> {
        let (inputs, troubles) = self.inputs(arguments);
        let outlet = Outlet::new(arguments, &inputs)?;
        let look = out.diff_look();
        // Binaries are read later, one after the other, while they are reported.
        let is_text = |input: &Input| {
            let chosen = [&[][..], &arguments.extension];
            arguments.language.is_some() || !binary::is_binary(input, chosen)
        };
        let outcomes = for_each("checked", &inputs, |input| {
            is_text(input)
                .then(|| guarded(&input.name(), || self.check(input, arguments, look)).flatten())
        });

        let style = if matches!(outlet, Outlet::File { .. }) { Style::FILE } else { out.style };
        let docs = self.docs.clone();
        let mut session = Session {
            run: self,
            arguments,
            out,
            errors: errors(),
            reporter: Reporter::new(arguments.format, style, docs),
            outlet,
            filters: arguments.writes() && inputs.contains(&Input::Stdin),
            totals: Totals::default(),
            binaries: Binaries::default(),
            said: Set::default(),
            paths: Vec::new(),
            troubles,
        };
        for (input, outcome) in inputs.iter().zip(outcomes) {
            let done = match (outcome, input.path()) {
                (Some(Ok(checked)), _) => guarded(&input.name(), || session.report(checked)),
                (None, Some(path)) => guarded(&input.name(), || session.binary(path)),
                (Some(Err(error)), _) => Err(error),
                (None, None) => Ok(Ok(())),
            };
            match done {
                Ok(done) => done?,
                Err(message) => session.trouble(&message)?,
            }
        }
        Ok(session.finish()?)
    }
}

impl<E: Write> Session<'_, E> {
    /// Says on standard error why something could not be done.
    pub(super) fn trouble(&mut self, message: &impl Display) -> io::Result<()> {
        self.troubles += 1;
        self.say(message)
    }

    /// Writes a message to standard error, after all findings so far.
    fn say(&mut self, message: &impl Display) -> io::Result<()> {
        self.out.stream.flush()?;
        trouble(message);
        Ok(())
    }

    /// Reports one input.
    pub(super) fn report(&mut self, mut checked: CheckedFile) -> io::Result<()> {
        self.totals.add(&checked);
        for message in checked.unknown.drain(..) {
            if self.said.insert(message.clone()) {
                self.say(&message)?;
            }
        }
        if let Some(message) = &checked.trouble {
            self.trouble(message)?;
        }
        if let Some(shown) = &checked.text {
            self.totals.changed += usize::from(self.arguments.diff);
            self.out.stream.write_all(shown)?;
        }
        let denied = checked.denied.clone();
        self.reporter.failing(move |found| {
            found.severity == Severity::Error || denied.iter().any(|denied| denied.holds_for(found))
        });
        let found = mem::take(&mut checked.diagnostics);
        let source = checked.source.text();
        let facts = TextFacts::new(&source);
        let mut is_clean = !self.report_found(&checked, &source, &facts, found)?;
        if let Some(options) = &checked.many {
            let mut written = Ok(());
            let count = check_in_order(&source, options, &mut |found| {
                if written.is_ok() {
                    written = self
                        .report_found(&checked, &source, &facts, found)
                        .map(|is_any| is_clean &= !is_any);
                }
            });
            written?;
            self.totals.statements += count;
        }
        if is_clean && self.arguments.reports() {
            let mut text = Vec::new();
            self.reporter.clean(&mut text, &checked.name)?;
            self.outlet.write(&text, self.out, &mut self.errors)?;
        }
        self.paths.extend(checked.path);
        Ok(())
    }

    /// Reports findings of one input. Returns whether any of them is missing in the baseline.
    fn report_found(
        &mut self,
        checked: &CheckedFile,
        source: &str,
        facts: &TextFacts,
        mut found: Vec<Diagnostic>,
    ) -> io::Result<bool> {
        if let Some(baseline) = &mut self.run.baseline {
            baseline.take(checked.path.as_deref(), source, &facts.index, &mut found);
            if self.arguments.update_baseline && checked.path.is_some() {
                found.clear();
            }
        }
        self.totals.add_findings(&checked.denied, &found);
        if !self.arguments.reports() || found.is_empty() {
            return Ok(!found.is_empty());
        }
        let mut text = Vec::new();
        let file = FileReport { path: &checked.name, source, diagnostics: &found };
        self.reporter.file(&mut text, &file, facts)?;
        // The stream is line-buffered. This text goes out in one piece.
        self.outlet.write(&text, self.out, &mut self.errors)?;
        Ok(true)
    }

    /// Ends the report, prints the summary, and returns the exit status.
    fn finish(mut self) -> io::Result<u8> {
        self.end_report()?;
        self.sum_up()?;
        self.conclude_baseline()?;
        let Session { totals, arguments, troubles, .. } = &self;
        let fails = !arguments.fix_only && (totals.counts.errors > 0 || totals.denied);
        Ok(match () {
            () if *troubles > 0 => FAILED,
            () if arguments.exit_zero => 0,
            () if fails || totals.changed > 0 => FOUND,
            () => 0,
        })
    }

    fn end_report(&mut self) -> io::Result<()> {
        let mut text = Vec::new();
        let reporter = mem::replace(
            &mut self.reporter,
            Reporter::new(Format::Concise, Style::FILE, Docs::default()),
        );
        if self.arguments.reports() {
            reporter.finish(&mut text)?;
        }
        if self.arguments.statistics {
            self.totals.statistics(self.arguments.format, &mut text)?;
        }
        self.outlet.write(&text, self.out, &mut self.errors)?;
        match mem::replace(&mut self.outlet, Outlet::Stream).close() {
            Ok(()) => Ok(()),
            Err(message) => self.trouble(&message),
        }
    }

    fn sum_up(&mut self) -> io::Result<()> {
        let Session { totals, arguments, .. } = self;
        let mut summary = Vec::new();
        if arguments.summarizes() && totals.files > 0 {
            totals.summary(arguments, self.run.baseline.is_some(), &mut summary)?;
        }
        if arguments.summarizes() {
            self.binaries.summary(&mut summary)?;
        }
        // If standard output has changes or the fixed text, the summary goes to standard error.
        if self.filters || arguments.diff {
            self.out.stream.flush()?;
            self.errors.write_all(&summary)?;
        } else {
            self.out.stream.write_all(&summary)?;
        }
        let hint = totals.hint(arguments).filter(|_| arguments.format == Format::Human);
        if let Some(hint) = hint.filter(|_| !arguments.quiet) {
            self.out.stream.flush()?;
            writeln!(self.errors, "vptx: {hint}")?;
        }
        Ok(())
    }

    /// Writes the baseline, or reports how many of its findings are gone.
    fn conclude_baseline(&mut self) -> io::Result<()> {
        let Some(baseline) = &self.run.baseline else { return Ok(()) };
        let quiet = self.arguments.quiet;
        let paths = || self.paths.iter().map(PathBuf::as_path);
        if self.arguments.update_baseline {
            self.out.stream.flush()?;
            match baseline.write(paths()) {
                Ok(count) if !quiet => {
                    writeln!(self.errors, "the baseline has {}", counted(count, "finding"))?;
                }
                Ok(_) => {}
                Err(message) => self.trouble(&message)?,
            }
        } else if baseline.gone(paths()) > 0 && !quiet {
            self.out.stream.flush()?;
            writeln!(
                self.errors,
                "the baseline has {} not seen in this run; to drop old ones, use --update-baseline",
                counted(baseline.gone(paths()), "finding"),
            )?;
        }
        Ok(())
    }
}
