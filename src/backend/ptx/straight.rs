//! Straight-line code between two instructions of a basic block.

use crate::source::Span;
use crate::syntax::{DirectiveKind, Instruction, StatementKind, parse_next};
use crate::video::numbered;

/// The base of a register's name, and its number.
pub(super) type Name<'s> = (&'s str, &'s str);

/// The ordinary instructions over which others may move. They have no other effect than on the
/// registers that they name and on memory.
const PASSED: [&str; 21] = [
    "add", "and", "cvt", "cvta", "ld", "mad", "max", "min", "mov", "mul", "neg", "not", "or",
    "prmt", "selp", "setp", "shl", "shr", "st", "sub", "xor",
];

/// Instructions are not near each other if more than so many stand between them.
const MOST: usize = 64;
/// So many are read at a time. Most texts soon have one that no other moves over.
const CHUNK: usize = 8;

/// Whether no instruction, label or block stands between two places.
pub(super) fn are_adjacent(source: &str, start: u32, end: u32) -> bool {
    each(source, Span::new(start, end), |_, _| false)
}

/// The names in the instructions between two places, if these are few and simple: others may move
/// over those that do not name their registers.
pub(super) fn names_between(source: &str, start: u32, end: u32) -> Option<Vec<Name<'_>>> {
    let mut names = Vec::new();
    let is_simple = each(source, Span::new(start, end), |instruction, _| {
        let is_simple = is_simple(source, instruction);
        if is_simple {
            names.extend(instruction.names().map(|name| numbered(name.text(source))));
        }
        is_simple
    });
    is_simple.then_some(names)
}

/// Whether others may move over an instruction, if it does not name their registers.
pub(super) fn is_simple(source: &str, instruction: &Instruction<'_>) -> bool {
    instruction.guard().is_none() && PASSED.contains(&instruction.mnemonic().text(source))
}

/// Hands over the instructions in a part of a basic block until `goes_on` is false. Returns whether
/// that were all, and nothing but these and debug information stands there.
pub(super) fn each(
    source: &str,
    mut part: Span,
    mut goes_on: impl FnMut(&Instruction<'_>, Span) -> bool,
) -> bool {
    for _ in 0..=MOST / CHUNK {
        let tree = parse_next(source, part, CHUNK);
        let Some(last) = tree.tokens().last() else { return true };
        part.start = last.span().end;
        let wrong = tree.errors().first().map_or(u32::MAX, |error| error.span.start);
        let stays = tree.statements().all(|statement| match statement.kind() {
            StatementKind::Instruction(instruction) if statement.span().end <= wrong => {
                goes_on(&instruction, statement.span())
            }
            StatementKind::Directive(directive) => directive.kind() == DirectiveKind::Loc,
            _ => false,
        });
        if !stays {
            return false;
        }
    }
    false
}
