//! The tree of a text.
#![forbid(unsafe_code)]

use library::syntax::{self, Leaf, Node, Visitor};

use crate::border::Shared;
use crate::types::{Span, Str};

/// A node or a leaf of a tree.
#[repr(C)]
pub struct TreeNode {
    /// The kind, in the words of `vptx tree`: `function`, `instruction`, `guard`, `address` … for a
    /// node, `mnemonic`, `modifier`, `identifier`, `comment` … for a leaf.
    pub kind: Str,
    /// Its bytes.
    pub text: Str,
    /// Its place in the text.
    pub span: Span,
    /// The node that it is in, as an index into the list. For the module, its own index.
    pub parent: usize,
    /// The index behind the last node or leaf inside it.
    pub end: usize,
    /// Whether it is a leaf. The texts of all leaves, in order, are the whole text.
    pub is_leaf: bool,
}

/// A place where a text is no PTX.
#[repr(C)]
pub struct TreeError {
    /// What is wrong.
    pub message: Str,
    /// The place. It is empty if something is missing there.
    pub span: Span,
}

/// The tree of a text of PTX, which has every byte of the text and lists all syntax errors.
pub struct Tree(Shared<Lists>);

struct Lists {
    nodes: Vec<TreeNode>,
    errors: Vec<TreeError>,
    // The nodes and errors point at these.
    _text: String,
    _messages: Vec<String>,
}

impl Tree {
    pub(crate) fn parse(text: String) -> Tree {
        let tree = syntax::parse(&text);
        let mut listing = Listing { text: &text, nodes: Vec::new(), open: Vec::new() };
        tree.walk(&mut listing);
        let nodes = listing.nodes;
        let messages: Vec<String> = tree.errors().iter().map(ToString::to_string).collect();
        let errors = messages.iter().zip(tree.errors());
        let errors = errors
            .map(|(message, error)| TreeError {
                message: message.as_str().into(),
                span: error.span.into(),
            })
            .collect();
        drop(tree);
        Tree(Shared(Lists { nodes, errors, _text: text, _messages: messages }))
    }

    pub(crate) fn nodes(&self) -> &[TreeNode] {
        &self.0.0.nodes
    }

    pub(crate) fn errors(&self) -> &[TreeError] {
        &self.0.0.errors
    }
}

/// Nodes and leaves in the order of the text.
struct Listing<'t> {
    text: &'t str,
    nodes: Vec<TreeNode>,
    /// The nodes around the next one.
    open: Vec<usize>,
}

impl Listing<'_> {
    fn add(&mut self, kind: &'static str, span: library::source::Span, is_leaf: bool) {
        let at = self.nodes.len();
        self.nodes.push(TreeNode {
            kind: kind.into(),
            text: span.text(self.text).into(),
            span: span.into(),
            parent: self.open.last().copied().unwrap_or(at),
            end: at + 1,
            is_leaf,
        });
    }
}

impl<'t> Visitor<'t> for Listing<'_> {
    fn enter(&mut self, node: Node<'t>) {
        self.add(node.kind.text(), node.span, false);
        self.open.push(self.nodes.len() - 1);
    }

    fn leaf(&mut self, leaf: Leaf) {
        self.add(leaf.kind.text(), leaf.span, true);
    }

    fn leave(&mut self, _: Node<'t>) {
        if let Some(node) = self.open.pop() {
            self.nodes[node].end = self.nodes.len();
        }
    }
}
