//! JSON Lines; the schema is `docs/diagnostic.schema.json`.

use std::borrow::Cow;
use std::io::{self, Write};

use serde::Serialize;
use serde_json::ser::{Formatter, Serializer};

use super::visible::is_hidden;
use super::{FileReport, sarif};
use crate::diagnostic::{Code, Docs, Record};
use crate::source::{LineIndex, Span};

/// Writes the findings of a file, a line for each.
///
/// # Errors
/// An error in writing.
pub fn write(
    out: &mut impl Write,
    file: &FileReport<'_>,
    index: &LineIndex,
    docs: &Docs,
) -> io::Result<()> {
    let path = file.path.to_string_lossy();
    // Names that differ only in bytes that are not UTF-8 look the same as text.
    let uri = matches!(path, Cow::Owned(_)).then(|| sarif::uri(file.path));
    for diagnostic in file.diagnostics {
        let position = |offset| index.position(file.source, offset);
        let Span { start, end } = diagnostic.span;
        let places = [position(start), position(end)];
        let record = Record::new(diagnostic).in_file(&path, uri.as_deref(), places, docs);
        to_writer(&mut *out, &record)?;
        out.write_all(b"\n")?;
    }
    Ok(())
}

/// Writes a value as exact JSON that any terminal can show.
pub(super) fn to_writer(out: &mut impl Write, value: &impl Serialize) -> io::Result<()> {
    let mut serializer = Serializer::with_formatter(out, Escaped);
    value.serialize(&mut serializer).map_err(io::Error::from)
}

/// Compact output. Escapes hidden characters, besides the characters that JSON forbids in strings.
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
