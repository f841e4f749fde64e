//! Statements that stay on their lines because of a suppression.
//!
//! A suppression applies to the statements of a line. If the line has more than one item,
//! splitting it would separate the suppression from some of them. Such statements stay
//! together, unchanged.

use crate::analysis;
use crate::source::Span;

/// A unit of the layout: a statement, a label, a brace, a comment, or a region that is left
/// unformatted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Item {
    pub(super) span: Span,
    pub(super) is_comment: bool,
}

/// The parts of a text that stay unchanged, in order. Each part reaches from the start of one item
/// to the end of the same or a later item.
pub(super) fn held(source: &str, items: &[Item]) -> Vec<Span> {
    // How many of the first items are no comments.
    let codes: Vec<usize> = std::iter::once(0)
        .chain(items.iter().scan(0, |sum, item| {
            *sum += usize::from(!item.is_comment);
            Some(*sum)
        }))
        .collect();
    let mut held: Vec<Span> = Vec::new();
    for lines in analysis::covered_lines(source) {
        let from = items.partition_point(|item| item.span.end <= lines.start);
        let to = items.partition_point(|item| item.span.start < lines.end);
        if from < to && codes[to] - codes[from] > 1 {
            held.push(items[from].span.to(items[to - 1].span));
        }
    }
    held.sort_unstable();
    held.dedup_by(|next, last| {
        let joins = next.start < last.end;
        if joins {
            last.end = last.end.max(next.end);
        }
        joins
    });
    held
}
