//! V910 in operands of ordinary instructions: selectors that only video instructions have, parts of
//! registers that are no vectors, and results in a form that the opcode does not have, or where
//! sources belong.

use super::structure::{ModuleSubject, is_in_video};
use crate::diagnostic::{Applicability, Code, Diagnostic, Edit};
use crate::flow::{DISCARDING, WITH_FIRST, WITH_PREDICATE, is_opcode};
use crate::isa::Part;
use crate::names::Use;
use crate::source::Span;
use crate::syntax::{Instruction, Operand, OperandKind, Operands, StatementKind, Token, TokenKind};

pub(super) fn find(subject: &ModuleSubject<'_>, found: &mut Vec<Diagnostic>) {
    let (tokens, mut judged) = (subject.tree.tokens(), 0);
    for (at, token) in tokens.iter().enumerate() {
        let is_end = [b',', b';', b']', b'}', b'|', b'('].into_iter().any(|punct| token.is(punct));
        if !is_end || !may_be_wrong(subject.source(), &tokens[..=at]) || token.start() < judged {
            continue;
        }
        let Some(statement) = subject.tree.statement_at(token.start()) else { continue };
        judged = statement.head_span().end;
        let StatementKind::Instruction(instruction) = statement.kind() else { continue };
        if !is_in_video(subject.statements, instruction.mnemonic()) {
            let before = found.len();
            on_instruction(subject, &instruction, found);
            for finding in &mut found[before..] {
                finding.statement = Some(statement.head_span());
            }
        }
    }
}

/// Whether the last token may stand behind a selector, a `_` or the first of two operands with `|`,
/// or before the third operand of a call. This is seldom so.
fn may_be_wrong(source: &str, tokens: &[Token]) -> bool {
    let [.., first, second, third, before, end] = tokens else { return false };
    let is_name = |token: &Token| token.kind() == TokenKind::Ident;
    match end.kind() {
        TokenKind::Punct([b'|', 0]) => {
            let opcode = tokens[..tokens.len() - 2].iter().rfind(|it| it.kind() != TokenKind::Dot);
            !is_name(before)
                || before.span().text(source) == "_"
                || !opcode.is_some_and(|it| WITH_PREDICATE.contains(&it.span().text(source)))
        }
        TokenKind::Punct([b'(', 0]) => {
            before.is(b',') && is_name(third) && second.is(b',') && is_name(first)
        }
        _ => match before.kind() {
            TokenKind::Dot => true,
            TokenKind::Ident => before.span().len() == 1 && before.span().text(source) == "_",
            _ => false,
        },
    }
}

fn on_instruction(
    subject: &ModuleSubject<'_>,
    instruction: &Instruction<'_>,
    found: &mut Vec<Diagnostic>,
) {
    let mnemonic = instruction.mnemonic().text(subject.source());
    if mnemonic == "call" {
        found.extend(bare_result(instruction.operands()));
        return;
    }
    for (at, operand) in instruction.operands().enumerate() {
        let is_result = at == 0;
        match operand.kind() {
            OperandKind::Name(name) => {
                found.extend(foreign_selector(subject, mnemonic, is_result, name, &operand));
            }
            OperandKind::Vector(elements) => {
                for element in elements {
                    found.extend(in_vector(subject, mnemonic, is_result, &element));
                }
            }
            // No part of an address is a result.
            OperandKind::Address(_) => found.extend(not_read(&operand)),
            _ if !is_result => found.extend(not_read(&operand)),
            _ if is_opcode(subject.source(), instruction) => {
                found.extend(other_result(subject.source(), mnemonic, &operand));
            }
            _ => {}
        }
    }
}

/// A `_` or a pair that is no form of an instruction's result.
fn other_result(source: &str, mnemonic: &str, operand: &Operand<'_>) -> Option<Diagnostic> {
    let found = |message: String, label: &str| {
        Diagnostic::new(Code::MalformedStatement, operand.span(), message).label(label)
    };
    let no_pair = || {
        found(format!("`{mnemonic}` takes no pair with `|`"), "expected one operand").help(
            "only `setp`, `lop3`, `shfl`, `match`, `elect`, `tex` and `tld4` have two results",
        )
    };
    let has_predicate = WITH_PREDICATE.contains(&mnemonic);
    match operand.kind() {
        OperandKind::Discard if !DISCARDING.contains(&mnemonic) => {
            Some(found(format!("`{mnemonic}` takes no `_` here"), "expected an operand"))
        }
        OperandKind::Pair(first, second) => {
            let are_discarded = [first, second].map(|name| name.text(source) == "_");
            match are_discarded {
                [true, true] => Some(found(
                    "both results are discarded".into(),
                    "one of them has to be a register",
                )),
                // ptxas ignores a second result that is discarded.
                [false, true] => None,
                _ if !has_predicate => Some(no_pair()),
                [true, false] if WITH_FIRST.contains(&mnemonic) => Some(found(
                    format!("`{mnemonic}` cannot discard its first result"),
                    "expected a register before `|`",
                )),
                _ => None,
            }
        }
        OperandKind::VectorPair(..) if !has_predicate => Some(no_pair()),
        _ => None,
    }
}

/// An element of a vector that no instruction takes. ptxas accepts selectors of video instructions
/// in some vectors.
fn in_vector(
    subject: &ModuleSubject<'_>,
    mnemonic: &str,
    is_result: bool,
    element: &Operand<'_>,
) -> Option<Diagnostic> {
    match element.kind() {
        OperandKind::Name(name) => not_a_vector(subject, name, element.selector()?),
        // `st` of 256 bits leaves out elements; ptxas takes some `_` in `mov`.
        OperandKind::Discard if is_result || matches!(mnemonic, "mov" | "st") => None,
        _ => not_read(element),
    }
}

/// A `_` or a pair in a source: both only stand for results, which come first.
fn not_read(operand: &Operand<'_>) -> Option<Diagnostic> {
    match operand.kind() {
        OperandKind::Discard => Some(
            Diagnostic::new(Code::MalformedStatement, operand.span(), "`_` is no source")
                .label("a source stands here")
                .help("`_` discards a result"),
        ),
        OperandKind::Pair(..) | OperandKind::VectorPair(..) => Some(
            Diagnostic::new(
                Code::MalformedStatement,
                operand.span(),
                "expected one operand, found two",
            )
            .label("two operands with `|`")
            .help("`|` separates two results, which stand before all sources"),
        ),
        OperandKind::Address(address) => address.elements().find_map(|it| not_read(&it)),
        _ => None,
    }
}

/// A part of a vector, such as `.x`, of a register that is none.
fn not_a_vector(subject: &ModuleSubject<'_>, name: Span, part: Span) -> Option<Diagnostic> {
    let is_part = Part::from_text(part.text(subject.source())).is_none();
    (is_part && is_scalar(subject, name)).then(|| {
        let register = name.text(subject.source());
        Diagnostic::new(Code::MalformedStatement, part, format!("`{register}` is no vector"))
            .label("a part of a vector")
    })
}

/// Whether a name is that of a register that is no vector.
fn is_scalar(subject: &ModuleSubject<'_>, name: Span) -> bool {
    let Some(meaning) = subject.names.use_of(name).and_then(Use::meaning) else { return false };
    let symbol = subject.names.symbol(meaning.symbol());
    let declaration = symbol.declaration.text(subject.source());
    let is_vector = [".v2", ".v4"].iter().any(|word| declaration.contains(word));
    symbol.is_register(subject.source()) && !is_vector
}

/// A selector that the operand of an ordinary instruction does not take.
fn foreign_selector(
    subject: &ModuleSubject<'_>,
    mnemonic: &str,
    is_result: bool,
    name: Span,
    operand: &Operand<'_>,
) -> Option<Diagnostic> {
    let selector = operand.selector()?;
    let Some(part) = Part::from_text(selector.text(subject.source())) else {
        return not_a_vector(subject, name, selector);
    };
    let register = name.text(subject.source());
    let (start, length) = (part.shift(), part.width());
    let what = if length == 8 { "byte" } else { "half" };
    let help = if is_result {
        format!("`bfi.b32 d, value, d, {start}, {length};` writes this {what} of `d`")
    } else {
        format!("`bfe.u32 d, {register}, {start}, {length};` reads this {what}")
    };
    let message = format!("`{mnemonic}` takes no selector");
    Some(
        Diagnostic::new(Code::MalformedStatement, selector, message)
            .label("only video instructions select bytes and halves")
            .help(help),
    )
}

/// The result of a call without its parentheses: `call r, f, (a);`
fn bare_result(mut operands: Operands<'_>) -> Option<Diagnostic> {
    let (result, function, arguments) = (operands.next()?, operands.next()?, operands.next()?);
    let OperandKind::Name(name) = result.kind() else { return None };
    let is_call = matches!(function.kind(), OperandKind::Name(_))
        && matches!(arguments.kind(), OperandKind::List(_));
    let message = "the result of a call stands in parentheses";
    let edits = vec![Edit::insert(name.start, "("), Edit::insert(name.end, ")")];
    is_call.then(|| {
        Diagnostic::new(Code::MalformedStatement, name, message)
            .label("no function, because a second name follows")
            .fix(Applicability::Unsafe, "write `(…)` around it", edits)
    })
}
