//! Trees, for people and as JSON; the schema is `docs/tree.schema.json`.

use std::io::{self, Write};

use serde_json::json;

use super::visible;
use crate::names::Names;
use crate::source::Span;
use crate::syntax::{Leaf, LeafKind, Node, NodeKind, Statement, StatementKind, Tree, Visitor};

fn walk<'t>(tree: &'t Tree<'t>, part: Option<Statement<'t>>, visitor: &mut impl Visitor<'t>) {
    match part {
        Some(statement) => statement.walk(visitor),
        None => tree.walk(visitor),
    }
}

/// Writes a line for each node and token of a tree or of one of its statements.
///
/// # Errors
/// An error in writing.
pub fn human<'t>(
    out: &mut impl Write,
    tree: &'t Tree<'t>,
    part: Option<Statement<'t>>,
) -> io::Result<()> {
    let mut lines = Lines { source: tree.source(), out: &mut *out, depth: 0, written: Ok(()) };
    walk(tree, part, &mut lines);
    lines.written?;
    for error in tree.errors() {
        let Span { start, end } = error.span;
        writeln!(out, "error {start}..{end} {error}")?;
    }
    Ok(())
}

/// Writes a tree or one of its statements as an object on a line.
///
/// # Errors
/// An error in writing.
pub fn json<'t>(
    out: &mut impl Write,
    tree: &'t Tree<'t>,
    part: Option<Statement<'t>>,
) -> io::Result<()> {
    let names = Names::of(tree);
    let mut objects = Objects { tree, names, out: &mut *out, is_first: true, written: Ok(()) };
    walk(tree, part, &mut objects);
    objects.written?;
    writeln!(out)
}

/// Writes a line for each node and token.
struct Lines<'t, W> {
    source: &'t str,
    out: W,
    depth: usize,
    written: io::Result<()>,
}

impl<W: Write> Lines<'_, W> {
    fn line(&mut self, kind: &str, span: Span, text: &str) {
        // Nodes nest without a limit; lines must stay short.
        let indent = 2 * self.depth.min(40);
        let Span { start, end } = span;
        if self.written.is_ok() {
            self.written = writeln!(self.out, "{:indent$}{kind} {start}..{end}{text}", "");
        }
    }
}

impl<'t, W: Write> Visitor<'t> for Lines<'t, W> {
    fn enter(&mut self, node: Node<'t>) {
        self.line(node.kind.text(), node.span, "");
        self.depth += 1;
    }

    fn leaf(&mut self, leaf: Leaf) {
        if leaf.kind != LeafKind::WhiteSpace {
            let text = format!(" {}", visible(leaf.span.text(self.source)));
            self.line(leaf.kind.text(), leaf.span, &text);
        }
    }

    fn leave(&mut self, _: Node<'t>) {
        self.depth -= 1;
    }
}

/// Writes one JSON object during the visit of the tree.
struct Objects<'t, W> {
    tree: &'t Tree<'t>,
    names: Names,
    out: W,
    /// Whether nothing stands before the next object in its list.
    is_first: bool,
    written: io::Result<()>,
}

impl<W: Write> Objects<'_, W> {
    fn write(&mut self, text: &str) {
        if self.written.is_ok() {
            self.written = self.out.write_all(text.as_bytes());
        }
    }

    /// Writes the start of an object: `more` members after its kind and span.
    fn begin(&mut self, kind: &str, span: Span, more: &[(&str, serde_json::Value)]) {
        let comma = if self.is_first { "" } else { "," };
        let Span { start, end } = span;
        self.write(&format!(r#"{comma}{{"kind":"{kind}","start":{start},"end":{end}"#));
        for (key, value) in more {
            self.write(&format!(r#","{key}":{value}"#));
        }
    }

    /// The place where the name of a leaf is declared.
    fn declaration(&self, leaf: Leaf) -> Option<Span> {
        let found = self.names.use_of(leaf.span).filter(|it| it.span() == leaf.span)?;
        Some(self.names.symbol(found.symbol()?).name)
    }
}

impl<'t, W: Write> Visitor<'t> for Objects<'t, W> {
    fn enter(&mut self, node: Node<'t>) {
        let source = self.tree.source();
        let mut more = Vec::new();
        if node.kind == NodeKind::Module {
            let errors = self.tree.errors().iter().map(|error| {
                let Span { start, end } = error.span;
                json!({ "message": error.to_string(), "start": start, "end": end })
            });
            more.push(("errors", errors.collect()));
        }
        if let Some(StatementKind::Instruction(it)) = node.statement.map(Statement::kind) {
            let text = |span: Span| span.text(source);
            more.push(("mnemonic", text(it.mnemonic()).into()));
            more.push(("modifiers", it.modifiers().map(text).collect()));
            more.push(("operands", it.operands().map(|operand| operand.text()).collect()));
        }
        self.begin(node.kind.text(), node.span, &more);
        self.write(r#","children":["#);
        self.is_first = true;
    }

    fn leaf(&mut self, leaf: Leaf) {
        let mut more = vec![("text", leaf.span.text(self.tree.source()).into())];
        if leaf.kind == LeafKind::Identifier
            && let Some(Span { start, end }) = self.declaration(leaf)
        {
            more.push(("declaration", json!({ "start": start, "end": end })));
        }
        self.begin(leaf.kind.text(), leaf.span, &more);
        self.write("}");
        self.is_first = false;
    }

    fn leave(&mut self, _: Node<'t>) {
        self.write("]}");
        self.is_first = false;
    }
}
