//! Differences as JSON, one object a line. docs/diff.schema.json describes them.

use std::io::{self, Write};

use serde::Serialize;

use super::sides::Text;
use super::source::{Compared, Source};
use super::totals::Totals;
use crate::cli::json_line;
use crate::diff::{Change, ChangeKind, Equivalence, Hunk, Line, LineKind, Subject};
use crate::source::Span;

#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
enum Record<'r> {
    /// A difference between two texts.
    Change(ChangeRecord<'r>),
    /// A text that only one side has.
    OnlyOld {
        path: &'r str,
    },
    OnlyNew {
        path: &'r str,
    },
    /// The last line.
    Total(&'r Totals),
}

#[derive(Serialize)]
struct ChangeRecord<'r> {
    old_path: &'r str,
    new_path: &'r str,
    subject: Subject,
    change: ChangeKind,
    old_name: Option<&'r str>,
    new_name: Option<&'r str>,
    hunks: Vec<HunkRecord<'r>>,
}

#[derive(Serialize)]
struct HunkRecord<'r> {
    lines: Vec<LineRecord<'r>>,
    equivalences: &'r [Equivalence],
}

#[derive(Serialize)]
struct LineRecord<'r> {
    kind: LineKind,
    old: Option<Place>,
    new: Option<Place>,
    text: &'r str,
}

/// A place in a text: its line, from 1, and its bytes.
#[derive(Serialize)]
struct Place {
    line: u32,
    start: u32,
    end: u32,
}

impl Place {
    fn of(source: &Source<'_>, span: Span) -> Place {
        Place { line: source.line(span), start: span.start, end: span.end }
    }
}

/// Writes the record of a difference between two texts.
pub(super) fn change(
    out: &mut dyn Write,
    compared: &Compared<'_>,
    change: &Change,
) -> io::Result<()> {
    let hunks = change.hunks.iter();
    let record = ChangeRecord {
        old_path: compared.old.label,
        new_path: compared.new.label,
        subject: change.subject,
        change: change.kind,
        old_name: change.old.as_ref().map(|part| &*part.name),
        new_name: change.new.as_ref().map(|part| &*part.name),
        hunks: hunks.map(|hunk| record(compared, hunk)).collect(),
    };
    json_line(&Record::Change(record), out)
}

fn record<'r>(compared: &Compared<'_>, hunk: &'r Hunk) -> HunkRecord<'r> {
    let record = |line: &'r Line| LineRecord {
        kind: line.kind,
        old: line.old.map(|span| Place::of(&compared.old, span)),
        new: line.new.map(|span| Place::of(&compared.new, span)),
        text: &line.text,
    };
    HunkRecord { lines: hunk.lines.iter().map(record).collect(), equivalences: &hunk.equivalences }
}

/// Writes the record of a text that only one side has.
pub(super) fn only(out: &mut dyn Write, text: &Text, is_old: bool) -> io::Result<()> {
    let path = &text.label;
    json_line(&if is_old { Record::OnlyOld { path } } else { Record::OnlyNew { path } }, out)
}

/// Writes the last line.
pub(super) fn total(out: &mut dyn Write, totals: &Totals) -> io::Result<()> {
    json_line(&Record::Total(totals), out)
}
