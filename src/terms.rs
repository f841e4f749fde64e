//! Values as terms: an instruction and its sources. Equal terms are stored once (hash consing), so
//! that values are equal if their terms have the same number.

use std::hash::Hash;

use crate::hash::Map;

/// The number of a term.
pub(crate) type Term = u32;

/// Terms, each of which may contain terms with smaller numbers.
pub(crate) struct Terms<N> {
    all: Vec<N>,
    numbers: Map<N, Term>,
}

impl<N> Default for Terms<N> {
    fn default() -> Terms<N> {
        Terms { all: Vec::new(), numbers: Map::default() }
    }
}

impl<N: Clone + Eq + Hash> Terms<N> {
    /// The number of a term, new or known.
    pub(crate) fn number(&mut self, node: N) -> Term {
        let next = self.all.len() as Term;
        let term = *self.numbers.entry(node.clone()).or_insert(next);
        if term == next {
            self.all.push(node);
        }
        term
    }

    /// The number of a term that is known.
    pub(crate) fn known(&self, node: &N) -> Option<Term> {
        self.numbers.get(node).copied()
    }

    /// From now on, a new term has the number of another term, which has the same value.
    pub(crate) fn join(&mut self, node: N, term: Term) {
        self.numbers.entry(node).or_insert(term);
    }

    /// The terms, each at the place of its number.
    pub(crate) fn all(&self) -> &[N] {
        &self.all
    }
}
