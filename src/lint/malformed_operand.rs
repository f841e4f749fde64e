//! V910 in operands of ordinary instructions: selectors that only video instructions have, and
//! forms of results in place of sources.

use super::structure::{ModuleSubject, is_in_video};
use crate::diagnostic::{Applicability, Code, Diagnostic, Edit};
use crate::isa::Part;
use crate::names::{SymbolKind, Use};
use crate::source::Span;
use crate::syntax::{Instruction, Operand, OperandKind, Operands, StatementKind, Token, TokenKind};

pub(super) fn find(subject: &ModuleSubject<'_>, found: &mut Vec<Diagnostic>) {
    let (tokens, mut judged) = (subject.tree.tokens(), 0);
    for (at, token) in tokens.iter().enumerate() {
        let is_end = [b',', b';', b']', b'|', b'('].into_iter().any(|punct| token.is(punct));
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

/// Whether the last of some tokens may stand behind a selector or a `_`, in a source with `|`, or
/// before the third operand of a call. Few do.
fn may_be_wrong(source: &str, tokens: &[Token]) -> bool {
    let [.., first, second, third, before, end] = tokens else { return false };
    let is_name = |token: &Token| token.kind() == TokenKind::Ident;
    match end.kind() {
        TokenKind::Punct([b'|', 0]) => !is_name(before) || third.is(b','),
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
        match operand.kind() {
            OperandKind::Name(name) => {
                if let Some(selector) = operand.selector() {
                    found.extend(foreign_selector(subject, mnemonic, at == 0, name, selector));
                }
            }
            // No part of an address is a result.
            OperandKind::Address(_) => found.extend(not_read(&operand)),
            _ if at > 0 => found.extend(not_read(&operand)),
            _ => {}
        }
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
            Diagnostic::new(Code::MalformedStatement, operand.span(), "a source is one operand")
                .label("two operands with `|`")
                .help("`|` separates two results, which stand before all sources"),
        ),
        OperandKind::Address(address) => address.elements().find_map(|it| not_read(&it)),
        // ptxas takes some `_` in vectors.
        _ => None,
    }
}

/// A selector that the operand of an ordinary instruction does not take.
fn foreign_selector(
    subject: &ModuleSubject<'_>,
    mnemonic: &str,
    is_result: bool,
    name: Span,
    selector: Span,
) -> Option<Diagnostic> {
    let source = subject.source();
    let part = Part::from_text(selector.text(source));
    let meaning = subject.names.use_of(name).and_then(Use::meaning);
    let is_scalar = meaning.is_some_and(|it| {
        let symbol = subject.names.symbol(it.symbol());
        let declaration = symbol.declaration.text(source);
        let is_vector = [".v2", ".v4"].iter().any(|word| declaration.contains(word));
        let is_register = symbol.kind == SymbolKind::Register
            || symbol.space.is_some_and(|it| it.text(source) == ".reg");
        is_register && !is_vector
    });
    let register = name.text(source);
    let diagnostic = |message: String| Diagnostic::new(Code::MalformedStatement, selector, message);
    let Some(part) = part else {
        return is_scalar
            .then(|| diagnostic(format!("`{register}` is no vector")).label("a part of a vector"));
    };
    // Nothing is known of other names.
    if meaning.is_some() && !is_scalar {
        return None;
    }
    let (start, length) = (part.shift(), part.width());
    let what = if length == 8 { "byte" } else { "half" };
    let help = if is_result {
        format!("`bfi.b32 d, value, d, {start}, {length};` writes this {what} of `d`")
    } else {
        format!("`bfe.u32 d, {register}, {start}, {length};` reads this {what}")
    };
    Some(
        diagnostic(format!("`{mnemonic}` takes no selector"))
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
