//! Statements that stay on their lines because of a suppression.
//!
//! A suppression applies to the statements of a line. If the line has more than one,
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
pub(super) fn held(source: &str, items: &[Item], statements: &[Span]) -> Vec<Span> {
    let count = |is_one: &dyn Fn(&Item) -> bool| -> Vec<usize> {
        let mut sum = 0;
        let sums = items.iter().map(|item| {
            sum += usize::from(is_one(item));
            sum
        });
        std::iter::once(0).chain(sums).collect()
    };
    let is_video = |item: &Item| {
        let next = statements.partition_point(|statement| statement.start < item.span.start);
        statements.get(next).is_some_and(|statement| statement.end <= item.span.end)
    };
    let codes = count(&|item| !item.is_comment);
    let videos = count(&is_video);
    let mut held: Vec<Span> = Vec::new();
    for lines in analysis::covered_lines(source) {
        let from = items.partition_point(|item| item.span.end <= lines.start);
        let to = items.partition_point(|item| item.span.start < lines.end);
        if from < to && codes[to] - codes[from] > 1 && videos[to] > videos[from] {
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
