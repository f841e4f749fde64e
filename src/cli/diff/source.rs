//! The two texts of a comparison.

use std::cell::OnceCell;

use crate::diff::Line;
use crate::source::{LineIndex, Span};

/// A text with its name.
pub(super) struct Source<'s> {
    pub(super) label: &'s str,
    pub(super) text: &'s str,
    index: OnceCell<LineIndex>,
}

impl<'s> Source<'s> {
    pub(super) fn new(label: &'s str, text: &'s str) -> Source<'s> {
        Source { label, text, index: OnceCell::new() }
    }

    /// The line of a place, from 1.
    pub(super) fn line(&self, span: Span) -> u32 {
        let index = self.index.get_or_init(|| LineIndex::new(self.text));
        index.position(self.text, span.start).line
    }

    /// Whether no statement stands between two places.
    fn are_neighbours(&self, one: Option<Span>, next: Option<Span>) -> bool {
        let between = |one: Span, next: Span| self.text.get(one.end as usize..next.start as usize);
        let between = one.zip(next).and_then(|(one, next)| between(one, next));
        between.is_some_and(|between| !between.contains([';', '{', '}']))
    }
}

/// Two texts that are compared.
pub(super) struct Compared<'c> {
    pub(super) old: Source<'c>,
    pub(super) new: Source<'c>,
}

impl Compared<'_> {
    /// Whether two moved lines moved together.
    pub(super) fn is_one_block(&self, line: &Line, next: &Line) -> bool {
        self.old.are_neighbours(line.old, next.old) && self.new.are_neighbours(line.new, next.new)
    }
}
