//! Workflow commands of GitHub Actions, which shows them as annotations.

use std::io::{self, Write};

use super::{FileReport, with_help};
use crate::diagnostic::Severity;
use crate::source::LineIndex;

pub(super) fn write(
    out: &mut impl Write,
    file: &FileReport<'_>,
    index: &LineIndex,
) -> io::Result<()> {
    for diagnostic in file.diagnostics {
        let command = match diagnostic.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Note => "notice",
        };
        let start = index.position(file.source, diagnostic.span.start);
        let end = index.position(file.source, diagnostic.span.end);
        let path = property(file.path);
        write!(out, "::{command} file={path},line={},endLine={}", start.line, end.line)?;
        // GitHub takes columns within one line only.
        if start.line == end.line {
            write!(out, ",col={},endColumn={}", start.column, end.column)?;
        }
        let code = diagnostic.code;
        let title = property(&format!("{code} {}", code.name()));
        writeln!(out, ",title={title}::{}", data(&with_help(diagnostic, "\n")))?;
    }
    Ok(())
}

/// What stands behind the second `::`.
fn data(text: &str) -> String {
    // The sign of the escapes comes first.
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// The value of a property.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
