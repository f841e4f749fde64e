//! Straight-line code between two instructions of a basic block.

use crate::source::Span;
use crate::syntax::{DirectiveKind, Instruction, OperandKind, StatementKind, parse_next};
use crate::video::{Register, numbered};

/// The base of a register's name, and its number.
pub(super) type Name<'s> = (&'s str, &'s str);

/// The ordinary instructions over which others may move. They have no other effect than on the
/// registers that they name and on memory.
const PASSED: [&str; 35] = [
    "abs", "add", "and", "bfe", "bfi", "brev", "clz", "cvt", "cvta", "div", "dp2a", "dp4a", "fma",
    "ld", "lop3", "mad", "max", "min", "mov", "mul", "neg", "not", "or", "popc", "prmt", "rem",
    "sad", "selp", "setp", "shf", "shl", "shr", "st", "sub", "xor",
];

/// Instructions are not near each other if more than this many instructions stand between them.
const MOST: usize = 64;
/// This many instructions are read first. Most texts soon have one that no other moves over.
const FIRST: usize = 2;

/// A `mov` of a word from one register to another.
#[derive(Clone)]
pub(super) struct RegisterCopy {
    /// Where it starts.
    pub(super) start: u32,
    pub(super) d: Register,
    pub(super) from: Register,
}

/// What stands between two places.
pub(super) enum Between {
    /// Nothing but debug information and passed labels.
    Nothing,
    Copy(RegisterCopy),
    Other,
}

impl Between {
    pub(super) fn of(source: &str, part: Span, is_passed: impl FnMut(u32) -> bool) -> Between {
        let mut copy = None;
        let is_all = each(source, part, is_passed, |instruction, span| {
            let found =
                if copy.is_none() { RegisterCopy::of(source, instruction, span) } else { None };
            let is_copy = found.is_some();
            copy = found;
            is_copy
        });
        match copy {
            _ if !is_all => Between::Other,
            Some(copy) => Between::Copy(copy),
            None => Between::Nothing,
        }
    }
}

impl RegisterCopy {
    fn of(source: &str, instruction: &Instruction<'_>, span: Span) -> Option<RegisterCopy> {
        if instruction.guard().is_some() || !moves_word(source, instruction) {
            return None;
        }
        let mut operands = instruction.operands().map(|operand| match operand.kind() {
            OperandKind::Name(name) if operand.tokens().len() == 1 => {
                Register::new(name.text(source))
            }
            _ => None,
        });
        let (d, from) = (operands.next()??, operands.next()??);
        operands.next().is_none().then_some(RegisterCopy { start: span.start, d, from })
    }
}

/// The names in the instructions between two places, if these instructions are few and simple.
/// Another instruction may move over these if they do not name its registers. `is_passed` says
/// which labels are passed (see [`each`]).
pub(super) fn names_between(
    source: &str,
    part: Span,
    is_passed: impl FnMut(u32) -> bool,
) -> Option<Vec<Name<'_>>> {
    let mut names = Vec::new();
    let is_simple = each(source, part, is_passed, |instruction, _| {
        let is_simple = is_simple(source, instruction);
        if is_simple {
            names.extend(instruction.names().map(|name| numbered(name.text(source))));
        }
        is_simple
    });
    is_simple.then_some(names)
}

/// Whether an instruction is a `mov` of 32 bits.
pub(super) fn moves_word(source: &str, instruction: &Instruction<'_>) -> bool {
    let is_word = |modifier: Span| matches!(modifier.text(source), ".u32" | ".s32" | ".b32");
    instruction.mnemonic().text(source) == "mov" && instruction.modifiers().all(is_word)
}

/// Whether other instructions may move over this one, unless it names their registers.
pub(super) fn is_simple(source: &str, instruction: &Instruction<'_>) -> bool {
    instruction.guard().is_none() && PASSED.contains(&instruction.mnemonic().text(source))
}

/// Hands over the instructions in a part of a basic block until `goes_on` is false. Returns whether
/// these were all, and nothing but them and debug information stands there. A label ends the block,
/// unless `is_passed`, which gets the label's start, says that no branch leads there.
pub(super) fn each(
    source: &str,
    mut part: Span,
    mut is_passed: impl FnMut(u32) -> bool,
    mut goes_on: impl FnMut(&Instruction<'_>, Span) -> bool,
) -> bool {
    let (mut chunk, mut left) = (FIRST, MOST);
    loop {
        let tree = parse_next(source, part, chunk.min(left.max(1)));
        let Some(last) = tree.tokens().last() else { return true };
        if left == 0 {
            return false;
        }
        (chunk, left) = (2 * chunk, left.saturating_sub(chunk));
        part.start = last.span().end;
        let wrong = tree.errors().first().map_or(u32::MAX, |error| error.span.start);
        let stays = tree.statements().all(|statement| match statement.kind() {
            StatementKind::Instruction(instruction) if statement.span().end <= wrong => {
                goes_on(&instruction, statement.span())
            }
            StatementKind::Directive(directive) => directive.kind() == DirectiveKind::Loc,
            StatementKind::Label(_) => is_passed(statement.span().start),
            _ => false,
        });
        if !stays {
            return false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Nothing more may stand there than [`MOST`] instructions, not even an empty statement.
    #[test]
    fn instructions_are_few_up_to_the_most() {
        let are_few = |source: &str| {
            names_between(source, Span::new(0, source.len() as u32), |_| false).is_some()
        };
        let (most, one) = ("add.u32 a, b, c;\n".repeat(MOST), "add.u32 a, b, c;");
        assert!(are_few(&most));
        assert!(are_few(&format!("{most}// no instruction\n")));
        for more in [one, "call f;", "L:", "x", ";"] {
            assert!(!are_few(&format!("{most}{more}")), "{more}");
        }
    }
}
