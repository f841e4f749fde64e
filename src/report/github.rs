//! Workflow commands of GitHub Actions, which GitHub shows as annotations.

use std::borrow::Cow;
use std::io::{self, Write};
use std::path::Path;

use super::visible::{visible_lines, visible_path};
use super::{FileReport, with_help};
use crate::diagnostic::Severity;
use crate::source::LineIndex;

pub(super) fn write(
    out: &mut impl Write,
    file: &FileReport<'_>,
    index: &LineIndex,
) -> io::Result<()> {
    let path = property(&name(file.path));
    for diagnostic in file.diagnostics {
        let command = match diagnostic.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Note => "notice",
        };
        let start = index.position(file.source, diagnostic.span.start);
        let end = index.position(file.source, diagnostic.span.end);
        write!(out, "::{command} file={path},line={},endLine={}", start.line, end.line)?;
        // GitHub supports columns only within one line.
        if start.line == end.line {
            write!(out, ",col={},endColumn={}", start.column, end.column)?;
        }
        let code = diagnostic.code;
        let title = property(&format!("{code} {}", code.name()));
        writeln!(out, ",title={title}::{}", data(&with_help(diagnostic, "\n")))?;
    }
    Ok(())
}

/// The text after the second `::`. GitHub has escapes for line breaks only. Other
/// control characters are made visible.
fn data(text: &str) -> String {
    let lines = text.split('\r').map(visible_lines).collect::<Vec<_>>().join("\r");
    // `%` comes first, since the escapes of the others contain it.
    lines.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// The name of a file, unchanged if it is valid text.
fn name(path: &Path) -> Cow<'_, str> {
    path.to_str().map_or_else(|| visible_path(path).into(), Cow::from)
}

/// The value of a property.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
