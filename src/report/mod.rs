//! Findings as text: for people, for editors and grep, for programs.

mod human;
mod json;

use std::io::{self, Write};

use crate::diagnostic::{Diagnostic, Severity};
use crate::source::LineIndex;

pub use human::Style;

/// The output formats.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// Source excerpts with labels and help
    #[default]
    Human,
    /// One line each: place, severity, code and message
    Concise,
    /// One JSON object a line each
    Json,
}

/// A file that has findings.
#[derive(Clone, Debug)]
pub struct FileReport {
    /// How the file is named to the reader.
    pub path: String,
    /// Its text.
    pub source: String,
    /// What was found, in the order of the text.
    pub diagnostics: Vec<Diagnostic>,
}

/// How many findings there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// At error level.
    pub errors: usize,
    /// At warning level.
    pub warnings: usize,
    /// At note level.
    pub notes: usize,
}

impl Counts {
    /// Counts findings.
    pub fn add(&mut self, diagnostics: &[Diagnostic]) {
        for diagnostic in diagnostics {
            match diagnostic.severity {
                Severity::Error => self.errors += 1,
                Severity::Warning => self.warnings += 1,
                Severity::Note => self.notes += 1,
            }
        }
    }

    /// `2 errors and 1 warning`; `None` where there is nothing.
    pub fn summary(&self) -> Option<String> {
        let plural = |count: usize, what: &str| {
            (count > 0).then(|| format!("{count} {what}{}", if count == 1 { "" } else { "s" }))
        };
        let parts: Vec<String> = [
            plural(self.errors, "error"),
            plural(self.warnings, "warning"),
            plural(self.notes, "note"),
        ]
        .into_iter()
        .flatten()
        .collect();
        match parts.as_slice() {
            [] => None,
            [one] => Some(one.clone()),
            [rest @ .., last] => Some(format!("{} and {last}", rest.join(", "))),
        }
    }
}

/// Writes the findings of a run, file by file.
#[derive(Debug)]
pub struct Reporter {
    format: Format,
    style: Style,
}

impl Reporter {
    /// Starts a report.
    pub fn new(format: Format, style: Style) -> Reporter {
        Reporter { format, style }
    }

    /// Reports a file that has findings.
    ///
    /// # Errors
    /// What writing gives.
    pub fn file(&mut self, out: &mut impl Write, file: &FileReport) -> io::Result<()> {
        let index = LineIndex::new(&file.source);
        match self.format {
            Format::Human => human::write(out, &self.style, file, &index),
            Format::Concise => concise(out, file, &index),
            Format::Json => json::write(out, file, &index),
        }
    }

    /// Reports a file that has none.
    ///
    /// # Errors
    /// What writing gives.
    pub fn clean(&mut self, _out: &mut impl Write, _path: &str) -> io::Result<()> {
        Ok(())
    }

    /// Ends the report.
    ///
    /// # Errors
    /// What writing gives.
    pub fn finish(self, _out: &mut impl Write) -> io::Result<()> {
        Ok(())
    }
}

fn concise(out: &mut impl Write, file: &FileReport, index: &LineIndex) -> io::Result<()> {
    for diagnostic in &file.diagnostics {
        let Diagnostic { code, severity, span, message, .. } = diagnostic;
        let at = index.position(&file.source, span.start);
        let path = &file.path;
        writeln!(out, "{path}:{}:{}: {severity}[{code}]: {message}", at.line, at.column)?;
    }
    Ok(())
}
