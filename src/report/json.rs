//! JSON Lines; the schema is `docs/diagnostic.schema.json`.

use std::borrow::Cow;
use std::io::{self, Write};

use serde::Serialize;
use serde_json::ser::{Formatter, Serializer};

use super::visible::is_hidden;
use super::{FileReport, sarif};
use crate::diagnostic::{Code, Diagnostic, Fix, Label, Severity};
use crate::source::{LineIndex, Position, Span};

#[derive(Serialize)]
struct JsonDiagnostic<'a> {
    code: Code,
    name: &'static str,
    url: String,
    severity: Severity,
    message: &'a str,
    help: Option<&'a str>,
    path: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    uri: Option<&'a str>,
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
    let path = file.path.to_string_lossy();
    // Names that differ only in bytes that are not UTF-8 look the same as text.
    let uri = matches!(path, Cow::Owned(_)).then(|| sarif::uri(file.path));
    for diagnostic in file.diagnostics {
        let Diagnostic { code, severity, span, message, label, help, labels, fixes, .. } =
            diagnostic;
        let own = (!label.is_empty()).then(|| Label { span: *span, text: label.clone() });
        let record = JsonDiagnostic {
            code: *code,
            name: code.name(),
            url: page(*code),
            severity: *severity,
            message,
            help: help.as_deref(),
            path: &path,
            uri: uri.as_deref(),
            span: *span,
            start: index.position(file.source, span.start),
            end: index.position(file.source, span.end),
            labels: own.into_iter().chain(labels.iter().cloned()).collect(),
            fixes,
        };
        to_writer(&mut *out, &record)?;
        out.write_all(b"\n")?;
    }
    Ok(())
}

/// The page that explains a rule: an address in the repository, or a path relative to
/// its root as long as `Cargo.toml` names no repository.
fn page(code: Code) -> String {
    match env!("CARGO_PKG_REPOSITORY") {
        "" => format!("src/diagnostic/pages/{code}.md"),
        repository => format!("{repository}/blob/HEAD/src/diagnostic/pages/{code}.md"),
    }
}

/// Writes a value as exact JSON that any terminal can show.
pub(super) fn to_writer(out: &mut impl Write, value: &impl Serialize) -> io::Result<()> {
    let mut serializer = Serializer::with_formatter(out, Escaped);
    value.serialize(&mut serializer).map_err(io::Error::from)
}

/// Compact output. Escapes hidden characters besides those that JSON requires.
struct Escaped;

impl Formatter for Escaped {
    fn write_string_fragment<W: ?Sized + Write>(
        &mut self,
        out: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        let mut rest = fragment;
        while let Some((at, c)) = rest.char_indices().find(|(_, c)| is_hidden(*c)) {
            write!(out, "{}", &rest[..at])?;
            for unit in c.encode_utf16(&mut [0; 2]) {
                write!(out, "\\u{unit:04x}")?;
            }
            rest = &rest[at + c.len_utf8()..];
        }
        out.write_all(rest.as_bytes())
    }
}

/// The number of times that a rule was broken.
#[derive(Serialize)]
struct JsonCount {
    code: Code,
    name: &'static str,
    count: usize,
    fixable: usize,
}

/// Writes the summary line of a rule: how often it was broken, and how many of its
/// findings have a safe fix.
pub(crate) fn count(
    out: &mut impl Write,
    code: Code,
    count: usize,
    fixable: usize,
) -> io::Result<()> {
    to_writer(&mut *out, &JsonCount { code, name: code.name(), count, fixable })?;
    out.write_all(b"\n")
}
