//! All values known so far, without duplicates, each with the operation that gives it.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use vptx::backend::ptx::{Arg, Builder, Class, Sequence};
use vptx::ir::Input;

use crate::battery::{Row, TESTS};
use crate::operation::Operation;

/// The number of a value.
pub(crate) type Id = u32;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Node {
    Source(Input),
    Constant(u32),
    Apply(Operation, [Id; 3]),
}

impl Node {
    fn is_predicate(self) -> bool {
        let Node::Apply(Operation::One(opcode), _) = self else {
            return false;
        };
        opcode.class() == Class::Predicate
    }
}

/// Known values. Values that agree on the whole battery count as one.
#[derive(Debug, Default)]
pub(crate) struct Values {
    rows: Vec<Row>,
    nodes: Vec<Node>,
    known: HashMap<u64, Id>,
}

impl Values {
    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    pub(crate) fn row(&self, id: Id) -> &Row {
        &self.rows[id as usize]
    }

    pub(crate) fn node(&self, id: Id) -> Node {
        self.nodes[id as usize]
    }

    /// The value with this row, if it is known.
    pub(crate) fn find(&self, row: &Row) -> Option<Id> {
        self.known.get(&hash(row)).copied()
    }

    /// Adds a value. Returns its number if it is new.
    pub(crate) fn add(&mut self, node: Node, row: Row) -> Option<Id> {
        let id = self.rows.len() as Id;
        // A predicate is never equal to a word.
        let key = hash(&row) ^ u64::from(node.is_predicate());
        let Entry::Vacant(place) = self.known.entry(key) else {
            return None;
        };
        place.insert(id);
        self.rows.push(row);
        self.nodes.push(node);
        Some(id)
    }

    /// Forgets all values from a number on, which [`Values::keep`] added.
    pub(crate) fn forget(&mut self, from: usize) {
        self.rows.truncate(from);
        self.nodes.truncate(from);
    }

    /// Adds a value until it is forgotten, even if an equal value is known.
    pub(crate) fn keep(&mut self, node: Node) -> Id {
        let row = match node {
            Node::Apply(operation, args) => self.apply(operation, args),
            Node::Constant(word) => [word; TESTS],
            Node::Source(_) => unreachable!("sources are added with their rows"),
        };
        self.rows.push(row);
        self.nodes.push(node);
        self.rows.len() as Id - 1
    }

    pub(crate) fn constant(&mut self, word: u32) -> Id {
        let row = [word; TESTS];
        let known = self.find(&row);
        known.or_else(|| self.add(Node::Constant(word), row)).unwrap_or_default()
    }

    /// The result of an operation for one test.
    #[inline]
    pub(crate) fn at(&self, operation: Operation, args: [Id; 3], test: usize) -> u32 {
        operation.eval(args.map(|id| self.rows[id as usize][test]))
    }

    pub(crate) fn apply(&self, operation: Operation, args: [Id; 3]) -> Row {
        std::array::from_fn(|test| self.at(operation, args, test))
    }

    /// The sequence that computes a value.
    pub(crate) fn sequence(&self, id: Id) -> Sequence {
        let mut builder = Builder::default();
        let result = self.push(id, &mut builder);
        builder.finish(result)
    }

    fn push(&self, id: Id, builder: &mut Builder) -> Arg {
        match self.node(id) {
            Node::Source(input) => Arg::Input(input),
            Node::Constant(word) => Arg::Constant(word.into()),
            Node::Apply(operation, args) => {
                let args = args.map(|id| self.push(id, builder));
                operation.push(builder, args)
            }
        }
    }
}

fn hash(row: &Row) -> u64 {
    row.iter().fold(0, |hash: u64, &word| {
        (hash.rotate_left(5) ^ u64::from(word)).wrapping_mul(0x517c_c1b7_2722_0a95)
    })
}
