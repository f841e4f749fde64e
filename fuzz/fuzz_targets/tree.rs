//! Any bytes: the tree must contain every byte, nodes must nest, and views must not panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use vptx::source;
use vptx::syntax::{Leaf, Node, StatementKind, Visitor, parse};

struct Joined {
    end: u32,
    open: Vec<source::Span>,
}

impl<'t> Visitor<'t> for Joined {
    fn enter(&mut self, node: Node<'t>) {
        self.open.push(node.span);
    }

    fn leaf(&mut self, leaf: Leaf) {
        assert_eq!(leaf.span.start, self.end);
        let around = self.open.last().expect("a node around");
        assert!(around.start <= leaf.span.start && leaf.span.end <= around.end);
        self.end = leaf.span.end;
    }

    fn leave(&mut self, node: Node<'t>) {
        assert_eq!(self.open.pop(), Some(node.span));
    }
}

fuzz_target!(|bytes: &[u8]| {
    let text = source::decode(bytes.to_vec());
    let tree = parse(&text);
    let mut joined = Joined { end: 0, open: Vec::new() };
    tree.walk(&mut joined);
    assert_eq!(joined.end as usize, text.len());
    for error in tree.errors() {
        assert!(text.get(error.span.range()).is_some());
    }
    for statement in tree.all_statements() {
        let _ = (statement.comments().count(), statement.parent(), statement.function());
        match statement.kind() {
            StatementKind::Function(it) => {
                let _ = (it.name(), it.linkage(), it.results().count(), it.directives().count());
                for parameter in it.parameters() {
                    let _ = (parameter.name(), parameter.ty());
                }
            }
            StatementKind::Declaration(it) => {
                for name in it.names() {
                    let _ = (name.count(), name.dimensions(), name.value().map(|it| it.stop()));
                }
            }
            StatementKind::Directive(it) => {
                let _ = (it.place(), it.file(), it.target(), it.version(), it.name());
            }
            StatementKind::Instruction(it) => {
                for operand in it.operands() {
                    let _ = (operand.kind(), operand.stop(), operand.selector(), operand.sign());
                }
            }
            _ => {}
        }
    }
});
