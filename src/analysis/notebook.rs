//! Findings in the cells of a notebook, placed in its JSON.

use super::{check_up_to, sort};
use crate::check::{CheckOptions, Language};
use crate::diagnostic::{Code, Diagnostic, Edit, Fix, Label};
use crate::embed::{Layer, cells, literal_edit};
use crate::source::Span;

/// Checks the cells of a notebook. `None` if there are more findings than there is room for.
pub(super) fn check(
    source: &str,
    options: &CheckOptions,
    room: usize,
) -> Option<(usize, Vec<Diagnostic>)> {
    let (mut count, mut all) = (0, Vec::new());
    let (cells, mistake) = cells(source);
    if let Some(at) = mistake {
        let rest = &source[at as usize..];
        let length = rest.chars().next().map_or(0, char::len_utf8) as u32;
        let message = "a notebook is JSON, and this is not: no cell from here on is read";
        let found = Diagnostic::new(Code::BinaryFile, Span::new(at, at + length), message);
        all.push(found.label("expected something else"));
    }
    for cells in cells {
        let text = cells.layer.text();
        let options = options.clone().with_language(Language::of_host(cells.host));
        let (statements, found) = check_up_to(text, &options, room)?;
        count += statements;
        all.extend(found.into_iter().map(|found| outside(&cells.layer, source, found)));
    }
    sort(&mut all);
    (all.len() <= room).then_some((count, all))
}

/// Moves a finding from a text in string literals to the source around them.
pub(super) fn outside(layer: &Layer, source: &str, found: Diagnostic) -> Diagnostic {
    let fix = |fix: Fix| {
        let edits = fix.edits.iter().map(|edit| {
            let (span, replacement) = literal_edit(layer, source, edit.span, &edit.replacement)?;
            Some(Edit::replace(span, replacement))
        });
        Some(Fix { edits: edits.collect::<Option<_>>()?, ..fix })
    };
    let label = |label: Label| Label { span: layer.place(label.span), ..label };
    Diagnostic {
        span: layer.place(found.span),
        labels: found.labels.into_iter().map(label).collect(),
        fixes: found.fixes.into_iter().filter_map(fix).collect(),
        statement: found.statement.map(|span| layer.place(span)),
        ..found
    }
}
