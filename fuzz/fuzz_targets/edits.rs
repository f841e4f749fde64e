//! Any bytes: the last bytes choose edits of the text, which are refused or made as a whole. The
//! inverse restores the text exactly, edits add no errors, and positions are mapped to the right
//! places.
#![no_main]

use libfuzzer_sys::fuzz_target;
use vptx::diagnostic::apply;
use vptx::source::{self, Span};
use vptx::syntax::{Edits, StatementKind, parse};

const STATEMENTS: &[&str] =
    &["add.u32 a, b, c;", "{ ret; }", "$n:", ".reg .b32 %n;", "// x\nret;", "ret", "", ";", "}"];
const PARTS: &[&str] = &["%r1", "-1", "{a, b}", ".sat", "@!%p", "[a+4]", "", "a;", "/*"];

fuzz_target!(|bytes: &[u8]| {
    let (bytes, choices) = bytes.split_at(bytes.len().saturating_sub(24));
    let text = source::decode(bytes.to_vec());
    let tree = parse(&text);
    let statements: Vec<_> = tree.all_statements().collect();
    if statements.is_empty() {
        return;
    }
    let mut edits = Edits::new(&tree);
    for choice in choices.chunks_exact(3) {
        let [kind, at, what] = [0, 1, 2].map(|at| usize::from(choice[at]));
        let statement = statements[at % statements.len()];
        let (new, part) = (STATEMENTS[what % STATEMENTS.len()], PARTS[what % PARTS.len()]);
        // Any edit may be refused.
        let _ = match (kind % 12, statement.kind()) {
            (0, _) => edits.replace(statement, new),
            (1, _) => edits.remove(statement),
            (2, _) => edits.insert_before(statement, new),
            (3, _) => edits.insert_after(statement, new),
            (4, StatementKind::Function(it)) => edits.fresh_register(&it, ".b32").map(drop),
            (_, StatementKind::Function(it)) => edits.add_parameter(&it, ".param .b32 n"),
            (5, StatementKind::Instruction(it)) => edits.insert_modifier(&it, what % 4, part),
            (6, StatementKind::Instruction(it)) => edits.replace_modifier(&it, what % 4, part),
            (7, StatementKind::Instruction(it)) => edits.remove_modifier(&it, what % 4),
            (8, StatementKind::Instruction(it)) => edits.set_guard(&it, part),
            (9, StatementKind::Instruction(it)) => edits.remove_guard(&it),
            (_, StatementKind::Instruction(it)) => match it.operands().nth(what % 4) {
                Some(operand) => edits.replace_operand(&operand, part),
                None => Ok(()),
            },
            _ => Ok(()),
        };
    }
    let Ok(edited) = edits.finish() else { return };
    assert_eq!(apply(&text, edited.edits()).as_deref(), Ok(edited.text()));
    assert_eq!(apply(edited.text(), edited.inverse()).as_deref(), Ok(&*text));
    assert!(parse(edited.text()).errors().len() <= tree.errors().len());
    for statement in statements {
        let Span { start, end } = edited.to_new(statement.span());
        assert!(start <= end && edited.text().get(start as usize..end as usize).is_some());
    }
});
