//! V701: references to operands that the `asm` does not have.

use super::asm::AsmSubject;
use crate::diagnostic::{Applicability, Code, Diagnostic, Edit};
use crate::embed::Convention;
use crate::source::Span;
use crate::syntax::TokenKind;

pub(super) fn find(subject: &AsmSubject<'_, '_>, found: &mut Vec<Diagnostic>) {
    let asm = subject.asm();
    let count = || match asm.operands.len() {
        0 => "the `asm` has no operands".to_string(),
        1 => "the `asm` has one operand, number 0".to_string(),
        count => format!("the `asm` has {count} operands, numbered from 0; outputs come first"),
    };
    let missing = |name: &str, span: Span| {
        let message = format!("the `asm` has no operand `{name}`");
        Diagnostic::new(Code::MissingAsmOperand, subject.place(span), message)
            .label("no such operand")
    };
    found.extend(
        asm.unknown_operands_in(subject.statement)
            .map(|(name, span)| missing(name, span).help(count())),
    );
    for token in subject.tokens.iter().filter(|token| token.kind() == TokenKind::Ident) {
        let word = token.span().text(&asm.text);
        let Some(number) = other_language(word).filter(|_| !subject.is_known(word, token.span()))
        else {
            continue;
        };
        let diagnostic = missing(&subject.spelled(word), token.span());
        found.push(if asm.operands.is_empty() {
            diagnostic.help(count())
        } else {
            let (language, own) = match asm.convention() {
                Convention::C => ("C and CUDA", "%0"),
                Convention::Llvm => ("the templates of LLVM", "$0"),
                Convention::Rust => ("Rust", "{0}"),
                Convention::Mlir => ("the templates of MLIR", "$0"),
            };
            let help = format!("{language} have `{own}` for operand 0");
            let placeholder = asm.operands.get(number).map(|it| it.placeholder.as_str());
            let edit = placeholder.and_then(|it| asm.source_edit(subject.source, token.span(), it));
            let diagnostic = diagnostic.help(help);
            match edit {
                Some((place, text)) => diagnostic.fix(
                    Applicability::Unsafe,
                    format!("write it as `{text}`"),
                    vec![Edit::replace(place, text)],
                ),
                None => diagnostic,
            }
        });
    }
}

/// The number in a word that another language has for an operand: `$0` or `%0`.
fn other_language(word: &str) -> Option<usize> {
    let number = word.strip_prefix(['$', '%'])?;
    number.bytes().all(|byte| byte.is_ascii_digit()).then(|| number.parse().ok()).flatten()
}
