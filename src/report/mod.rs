//! Writes findings as text, for people, for editors and grep, and for programs.

mod github;
mod gitlab;
mod human;
mod json;
mod junit;
mod sarif;
pub mod tree;
mod visible;

use std::cell::OnceCell;
use std::io::{self, Write};
use std::path::Path;

use crate::diagnostic::{Diagnostic, Docs, Severity, counted, listed};
use crate::source::LineIndex;

use gitlab::Gitlab;
use junit::Junit;
use sarif::Sarif;

pub(crate) use human::Style;
pub(crate) use json::count as write_count;
pub use json::write as write_json;
pub(crate) use sarif::uri;
pub(crate) use visible::{is_hidden, visible, visible_line, visible_lines, visible_path};

/// The output formats.
// Doc comments of the values are help texts, not Markdown.
#[allow(clippy::doc_markdown)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Format {
    /// Source excerpts with labels and help
    #[default]
    Human,
    /// One line for each finding: place, severity, code and message
    Concise,
    /// One JSON object for each finding, on a line of its own
    Json,
    /// One SARIF 2.1.0 document, for code scanning
    Sarif,
    /// Annotations of GitHub Actions
    Github,
    /// One JUnit XML document, for test reports
    Junit,
    /// One JSON array, for the code quality reports of GitLab
    Gitlab,
}

/// A file that has findings.
#[derive(Clone, Copy, Debug)]
pub struct FileReport<'a> {
    /// The name of the file as shown to the reader.
    pub path: &'a Path,
    /// The text of the file.
    pub source: &'a str,
    /// The findings, in the order of the text.
    pub diagnostics: &'a [Diagnostic],
}

/// Facts about a text, which all reports about it share.
pub(crate) struct TextFacts {
    pub(crate) index: LineIndex,
    /// The text as a terminal may show it, if that differs. Empty until a report needs it.
    printable: OnceCell<Option<String>>,
}

impl TextFacts {
    pub(crate) fn new(source: &str) -> TextFacts {
        TextFacts { index: LineIndex::new(source), printable: OnceCell::new() }
    }
}

/// The numbers of findings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Findings at error level.
    pub(crate) errors: usize,
    /// Findings at warning level.
    pub(crate) warnings: usize,
    /// Findings at note level.
    pub(crate) notes: usize,
}

impl Counts {
    /// Counts findings.
    pub(crate) fn add(&mut self, diagnostics: &[Diagnostic]) {
        for diagnostic in diagnostics {
            match diagnostic.severity {
                Severity::Error => self.errors += 1,
                Severity::Warning => self.warnings += 1,
                Severity::Note => self.notes += 1,
            }
        }
    }

    /// For example `2 errors and 1 warning`. Returns `None` if there are no findings.
    pub(crate) fn summary(&self) -> Option<String> {
        let all = [(self.errors, "error"), (self.warnings, "warning"), (self.notes, "note")];
        let found = all.into_iter().filter(|(count, _)| *count > 0);
        let parts: Vec<String> = found.map(|(count, noun)| counted(count, noun)).collect();
        (!parts.is_empty()).then(|| listed(&parts, "and"))
    }
}

/// Writes the findings of a run, file by file.
pub(crate) struct Reporter {
    writer: Writer,
    fails: Fails,
}

/// A format with the state that it keeps between files.
#[derive(Debug)]
enum Writer {
    Human(Style),
    Concise,
    Json(Docs),
    Sarif(Sarif),
    Github,
    Junit(Junit),
    Gitlab(Gitlab),
}

/// Whether a finding makes the run fail.
pub(crate) type Fails = Box<dyn Fn(&Diagnostic) -> bool>;

impl Reporter {
    /// Starts a report. Findings link to the documentation if the format has links.
    pub(crate) fn new(format: Format, style: Style, docs: Docs) -> Reporter {
        let writer = match format {
            Format::Human => Writer::Human(style),
            Format::Concise => Writer::Concise,
            Format::Json => Writer::Json(docs),
            Format::Sarif => Writer::Sarif(Sarif::new(docs)),
            Format::Github => Writer::Github,
            Format::Junit => Writer::Junit(Junit::default()),
            Format::Gitlab => Writer::Gitlab(Gitlab::default()),
        };
        let fails = Box::new(|found: &Diagnostic| found.severity == Severity::Error);
        Reporter { writer, fails }
    }

    /// Sets which findings of the next files make the run fail. Without this, only
    /// errors do.
    pub(crate) fn failing(&mut self, fails: impl Fn(&Diagnostic) -> bool + 'static) {
        self.fails = Box::new(fails);
    }

    /// Reports findings of a file. More findings of the same file may follow.
    ///
    /// # Errors
    /// An error in writing.
    pub(crate) fn file(
        &mut self,
        out: &mut impl Write,
        file: &FileReport<'_>,
        facts: &TextFacts,
    ) -> io::Result<()> {
        let index = &facts.index;
        match &mut self.writer {
            Writer::Human(style) => human::write(out, style, file, facts),
            Writer::Concise => concise(out, file, index),
            Writer::Json(docs) => json::write(out, file, index, docs),
            Writer::Sarif(sarif) => sarif.file(out, file, index),
            Writer::Github => github::write(out, file, index),
            Writer::Junit(junit) => junit.file(out, file, index, &self.fails),
            Writer::Gitlab(gitlab) => gitlab.file(out, file, index),
        }
    }

    /// Reports a file without findings.
    ///
    /// # Errors
    /// An error in writing.
    pub(crate) fn clean(&mut self, out: &mut impl Write, path: &Path) -> io::Result<()> {
        match &mut self.writer {
            Writer::Junit(junit) => junit.clean(out, path),
            _ => Ok(()),
        }
    }

    /// Ends the report.
    ///
    /// # Errors
    /// An error in writing.
    pub(crate) fn finish(self, out: &mut impl Write) -> io::Result<()> {
        match self.writer {
            Writer::Sarif(sarif) => sarif.finish(out),
            Writer::Junit(junit) => junit.finish(out),
            Writer::Gitlab(gitlab) => gitlab.finish(out),
            _ => Ok(()),
        }
    }
}

/// The message, followed by the help if there is one.
pub(crate) fn with_help(diagnostic: &Diagnostic, between: &str) -> String {
    match &diagnostic.help {
        Some(help) => format!("{}{between}{help}", diagnostic.message),
        None => diagnostic.message.clone(),
    }
}

fn concise(out: &mut impl Write, file: &FileReport<'_>, index: &LineIndex) -> io::Result<()> {
    let path = visible_path(file.path);
    for diagnostic in file.diagnostics {
        let Diagnostic { code, severity, span, message, .. } = diagnostic;
        let at = index.position(file.source, span.start);
        let message = visible(message);
        writeln!(out, "{path}:{}:{}: {severity}[{code}]: {message}", at.line, at.column)?;
    }
    Ok(())
}
