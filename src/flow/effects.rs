//! What an instruction of any opcode reads and writes.

use crate::source::{Span, behind_word};
use crate::syntax::{Instruction, Operand, OperandKind, TokenKind};

/// How an instruction uses a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Access {
    /// The instruction reads its value.
    Read,
    /// The instruction gives it a value.
    Write,
    /// Both: for accumulators of `wgmma`, and for all names of an unknown opcode.
    ReadWrite,
}

impl Access {
    /// Whether the instruction reads the value that the name had before.
    pub fn reads(self) -> bool {
        self != Access::Write
    }

    /// Whether the name may have another value after the instruction.
    pub fn writes(self) -> bool {
        self != Access::Read
    }
}

/// Which operands an opcode writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Results {
    /// None.
    None,
    /// The first. If it is an address, the instruction stores there and reads the address.
    First,
    /// The first, which the instruction also reads.
    Accumulator,
    /// The first two: `tcgen05.ld.red`.
    FirstTwo,
    /// `call (results), function, (arguments);`
    Call,
    /// The opcode is unknown: it may read and write all operands.
    Unknown,
}

/// Opcodes whose first operand is the result, unless it is an address. These are all opcodes of the
/// manual except those in [`WITHOUT_RESULT`] and [`OTHERS`].
const WITH_RESULT: &[&str] = &[
    "abs",
    "activemask",
    "add",
    "addc",
    "alloca",
    "and",
    "atom",
    "bfe",
    "bfi",
    "bfind",
    "bmsk",
    "brev",
    "clusterlaunchcontrol",
    "clz",
    "cnot",
    "copysign",
    "cos",
    "createpolicy",
    "cvt",
    "cvta",
    "div",
    "dp2a",
    "dp4a",
    "elect",
    "ex2",
    "fma",
    "fns",
    "getctarank",
    "isspacep",
    "istypep",
    "ld",
    "ldmatrix",
    "ldu",
    "lg2",
    "lop3",
    "mad",
    "mad24",
    "madc",
    "mapa",
    "match",
    "max",
    "mbarrier",
    "min",
    "mma",
    "mov",
    "movmatrix",
    "mul",
    "mul24",
    "multimem",
    "neg",
    "not",
    "or",
    "popc",
    "prmt",
    "rcp",
    "redux",
    "rem",
    "rsqrt",
    "sad",
    "selp",
    "set",
    "setp",
    "shf",
    "shfl",
    "shl",
    "shr",
    "sin",
    "slct",
    "sqrt",
    "stacksave",
    "sub",
    "subc",
    "suld",
    "suq",
    "szext",
    "tanh",
    "testp",
    "tex",
    "tld4",
    "txq",
    "vabsdiff",
    "vabsdiff2",
    "vabsdiff4",
    "vadd",
    "vadd2",
    "vadd4",
    "vavrg2",
    "vavrg4",
    "vmad",
    "vmax",
    "vmax2",
    "vmax4",
    "vmin",
    "vmin2",
    "vmin4",
    "vote",
    "vset",
    "vset2",
    "vset4",
    "vshl",
    "vshr",
    "vsub",
    "vsub2",
    "vsub4",
    "wmma",
    "xor",
];

/// Opcodes that write no register.
const WITHOUT_RESULT: &[&str] = &[
    "applypriority",
    "bra",
    "brkpt",
    "brx",
    "cp",
    "discard",
    "exit",
    "fence",
    "griddepcontrol",
    "membar",
    "nanosleep",
    "pmevent",
    "prefetch",
    "prefetchu",
    "red",
    "ret",
    "setmaxnreg",
    "st",
    "stackrestore",
    "stmatrix",
    "sured",
    "sust",
    "tensormap",
    "trap",
];

/// Opcodes of which the modifiers or the operands tell what is written.
const OTHERS: &[&str] = &["bar", "barrier", "call", "tcgen05", "wgmma"];

/// Other opcodes that ptxas 13.5 knows. What they write is unknown here.
const UNDOCUMENTED: &[&str] =
    &["cctl", "cctlu", "clmad", "fabric", "spcompress", "spdecompress", "trace"];

/// All opcodes of the manual, without their modifiers.
pub(crate) fn opcodes() -> impl Iterator<Item = &'static str> {
    [WITH_RESULT, WITHOUT_RESULT, OTHERS].into_iter().flatten().copied()
}

/// One per line, in ascending order.
const MODIFIERS: &str = include_str!("modifiers.txt");

/// The modifiers that ptxas 13.5 accepts with at least one opcode, with their dots.
pub(crate) fn modifiers() -> impl Iterator<Item = &'static str> {
    MODIFIERS.lines()
}

/// Whether at least one opcode has the modifier, which starts with a dot.
pub(crate) fn is_modifier(text: &str) -> bool {
    behind_word(MODIFIERS, text).is_some()
}

/// Which operands an instruction writes.
fn results(source: &str, instruction: &Instruction<'_>) -> Results {
    let has = |modifier: &str| instruction.modifiers().any(|it| it.text(source) == modifier);
    match instruction.mnemonic().text(source) {
        "call" => Results::Call,
        "bar" | "barrier" if has(".red") => Results::First,
        "tcgen05" if has(".ld") && has(".red") => Results::FirstTwo,
        "tcgen05" if has(".ld") => Results::First,
        "wgmma" if has(".mma_async") => Results::Accumulator,
        mnemonic if OTHERS.contains(&mnemonic) => Results::None,
        // In `wmma.store.d [p], …`, the first operand is an address.
        mnemonic if WITH_RESULT.binary_search(&mnemonic).is_ok() => Results::First,
        mnemonic if WITHOUT_RESULT.binary_search(&mnemonic).is_ok() => Results::None,
        _ => Results::Unknown,
    }
}

/// Whether the manual has an instruction's opcode.
pub(crate) fn is_known(source: &str, instruction: &Instruction<'_>) -> bool {
    results(source, instruction) != Results::Unknown
}

/// Whether ptxas knows an instruction's opcode.
pub(crate) fn is_opcode(source: &str, instruction: &Instruction<'_>) -> bool {
    is_known(source, instruction) || UNDOCUMENTED.contains(&instruction.mnemonic().text(source))
}

/// Calls `found` with each name in the operands and in the guard, how it is used, and whether the
/// operand is an element of it, as in `%v.x`. A name is a register, a variable, a label or a
/// function; functions and labels count as read.
pub(super) fn accesses(
    source: &str,
    instruction: &Instruction<'_>,
    mut found: impl FnMut(Span, Access, bool),
) {
    if let Some(guard) = instruction.guard() {
        found(guard.name, Access::Read, false);
    }
    let results = results(source, instruction);
    for (number, operand) in instruction.operands().enumerate() {
        let access = match (results, number) {
            (Results::Unknown, _) | (Results::Accumulator, 0) => Access::ReadWrite,
            (Results::First | Results::FirstTwo, 0) | (Results::FirstTwo, 1) => Access::Write,
            // Arguments follow the function's name.
            (Results::Call, 0) if matches!(operand.kind(), OperandKind::List(_)) => Access::Write,
            _ => Access::Read,
        };
        names(source, &operand, access, &mut found);
    }
}

/// The names in an operand. The names inside of an address are read.
fn names(
    source: &str,
    operand: &Operand<'_>,
    access: Access,
    found: &mut impl FnMut(Span, Access, bool),
) {
    // Most operands are a single token. Tokens that are no names have no effect.
    if let [word] = operand.tokens() {
        if word.kind() == TokenKind::Ident {
            found(word.span(), access, false);
        }
        return;
    }
    if access != Access::Write {
        return each_word(source, operand, access, found);
    }
    match operand.kind() {
        OperandKind::Vector(elements) | OperandKind::List(elements) => {
            elements.for_each(|element| names(source, &element, access, found));
        }
        OperandKind::VectorPair(elements, second) => {
            elements.for_each(|element| names(source, &element, access, found));
            found(second, access, false);
        }
        OperandKind::Address(_) | OperandKind::Indexed(..) => {
            each_word(source, operand, Access::Read, found);
        }
        OperandKind::Discard | OperandKind::Constant(_) | OperandKind::Text(_) => {}
        OperandKind::Malformed(_) => each_word(source, operand, Access::ReadWrite, found),
        _ => each_word(source, operand, access, found),
    }
}

fn each_word(
    source: &str,
    operand: &Operand<'_>,
    access: Access,
    found: &mut impl FnMut(Span, Access, bool),
) {
    let tokens = operand.tokens();
    let words = (0..).zip(tokens).filter(|(_, token)| token.kind() == TokenKind::Ident);
    for (at, token) in words {
        let behind = tokens.get(at + 1).map_or("", |next| next.span().text(source));
        found(token.span(), access, ELEMENTS.contains(&behind));
    }
}

/// Opcodes of which some forms write `_` in place of their result. ptxas says so; the manual tells
/// it of some.
pub(crate) const DISCARDING: &[&str] = &["atom", "lop3", "match", "mbarrier", "setp"];

/// Opcodes of which some forms have a predicate as a second result.
pub(crate) const WITH_PREDICATE: &[&str] =
    &["elect", "lop3", "match", "setp", "shfl", "tex", "tld4"];

/// Those of them that need the first result.
pub(crate) const WITH_FIRST: &[&str] = &["shfl", "tex", "tld4"];

/// The elements of a vector register.
const ELEMENTS: [&str; 8] = [".x", ".y", ".z", ".w", ".r", ".g", ".b", ".a"];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::syntax::{StatementKind, parse};

    #[test]
    fn opcodes_are_sorted_for_the_search() {
        for list in [WITH_RESULT, WITHOUT_RESULT] {
            assert!(list.is_sorted());
        }
        let mut all: Vec<&str> = WITH_RESULT.iter().chain(WITHOUT_RESULT).copied().collect();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), WITH_RESULT.len() + WITHOUT_RESULT.len());
    }

    #[test]
    fn modifiers_of_legal_instructions_are_known() {
        assert!(modifiers().is_sorted());
        assert!(modifiers().all(is_modifier));
        for unknown in ["", ".", ".and\n", "and", ".s33", ".zzz", "\n", ".and.or"] {
            assert!(!is_modifier(unknown), "{unknown:?}");
        }
        let recorded = include_str!("../../fixtures/oracle/effects.tsv");
        let rows = recorded.lines().filter_map(|line| line.split('\t').nth(1));
        let mut count = 0;
        for text in rows {
            let text = format!("{{ {text} }}");
            let tree = parse(&text);
            for statement in tree.all_statements() {
                let StatementKind::Instruction(it) = statement.kind() else { continue };
                for modifier in it.modifiers().map(|it| it.text(&text)) {
                    assert!(is_modifier(modifier), "{modifier} in {text}");
                    count += 1;
                }
            }
        }
        assert!(count > 1000);
    }

    #[test]
    fn ptxas_was_asked_about_each_opcode() {
        let recorded = include_str!("../../fixtures/oracle/effects.tsv");
        let rows = recorded.lines().filter_map(|line| line.split('\t').nth(1));
        let words: Vec<&str> =
            rows.flat_map(|row| row.split([' ', '.', ';'])).filter(|it| !it.is_empty()).collect();
        for opcode in opcodes() {
            assert!(words.contains(&opcode), "{opcode}");
        }
    }
}
