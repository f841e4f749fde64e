//! The passes of the rewriter. For each video instruction, the first that finds something decides;
//! without any, the instruction becomes the shortest sequence for itself.

mod chains;
mod groups;
mod hoisting;
mod masks;
mod order;
mod sources;

use std::sync::Arc;

use super::super::emit::Template;
use super::super::region::Chains;
use super::rewriter::{Form, FormOutcome, Given, Rewriter};
use crate::module::VideoStatement;

pub(super) use chains::fused;
pub(super) use groups::outcomes;
pub(super) use hoisting::{Hoisted, block};
pub(super) use masks::Product;
pub(super) use order::exchange;
use sources::Known;

/// Finds the replacement of the statement at a place, and perhaps of some statements after it.
type Pass = fn(&mut Rewriter<'_>, &mut Reading<'_, '_>, usize) -> Option<Replacement>;

/// The passes, in the order in which they are asked.
pub(super) const PASSES: [Pass; 5] =
    [chains::pass, groups::pass, sources::pass, order::pass, hoisting::pass];

/// The video instructions of a module, and what is known around the next ones.
pub(super) struct Reading<'s, 'm> {
    pub(super) given: Given<'s>,
    pub(super) statements: &'m [VideoStatement],
    chains: Chains<'s>,
    ranges: Known<'m>,
    /// No group starts before this offset: its instructions are cheaper alone.
    alone_to: u32,
}

impl<'s, 'm> Reading<'s, 'm> {
    pub(super) fn new(given: Given<'s>, statements: &'m [VideoStatement]) -> Reading<'s, 'm> {
        let (chains, ranges) = (Chains::new(given.source), Known::default());
        Reading { given, statements, chains, ranges, alone_to: 0 }
    }
}

/// What takes the place of statements.
pub(super) enum Replacement {
    /// One statement becomes another form, or stays.
    Single(Arc<Form>),
    Whole(Box<Whole>),
}

/// Statements that one block replaces together.
pub(super) struct Whole {
    /// One for each statement.
    outcomes: Vec<FormOutcome>,
    hoisted: Vec<Hoisted>,
    template: Template,
}

impl Replacement {
    /// For each statement, its outcome and the text that takes its place, if any.
    pub(super) fn forms(&self) -> Vec<(&FormOutcome, Option<&Template>)> {
        match self {
            Replacement::Single(form) => vec![(&form.known, form.template.as_ref())],
            Replacement::Whole(whole) => {
                let Whole { outcomes, template, .. } = &**whole;
                let template = |known: &FormOutcome| known.is_there().then_some(template);
                outcomes.iter().map(|known| (known, template(known))).collect()
            }
        }
    }

    /// The lines that stand before a loop.
    pub(super) fn hoisted(&self) -> &[Hoisted] {
        match self {
            Replacement::Single(_) => &[],
            Replacement::Whole(whole) => &whole.hoisted,
        }
    }
}
