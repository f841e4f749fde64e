//! JSON Lines; the schema is `docs/diagnostic.schema.json`.

use std::io::{self, Write};

use serde::Serialize;

use super::FileReport;
use crate::diagnostic::{Diagnostic, Fix, Label, Severity};
use crate::lint::Code;
use crate::source::{LineIndex, Position, Span};

#[derive(Serialize)]
struct JsonDiagnostic<'a> {
    code: Code,
    severity: Severity,
    message: &'a str,
    help: Option<&'a str>,
    path: &'a str,
    span: Span,
    start: Position,
    end: Position,
    labels: Vec<Label>,
    fixes: &'a [Fix],
}

pub(super) fn write(
    out: &mut impl Write,
    file: &FileReport<'_>,
    index: &LineIndex,
) -> io::Result<()> {
    for diagnostic in file.diagnostics {
        let Diagnostic { code, severity, span, message, label, help, labels, fixes, .. } =
            diagnostic;
        let own = (!label.is_empty()).then(|| Label { span: *span, text: label.clone() });
        let record = JsonDiagnostic {
            code: *code,
            severity: *severity,
            message,
            help: help.as_deref(),
            path: file.path,
            span: *span,
            start: index.position(file.source, span.start),
            end: index.position(file.source, span.end),
            labels: own.into_iter().chain(labels.iter().cloned()).collect(),
            fixes,
        };
        serde_json::to_writer(&mut *out, &record).map_err(io::Error::from)?;
        out.write_all(b"\n")?;
    }
    Ok(())
}
