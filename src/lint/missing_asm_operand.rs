//! V701: references to operands that the `asm` does not have.

use super::asm::AsmSubject;
use crate::diagnostic::{Applicability, Code, Diagnostic, Edit};
use crate::embed::Convention;
use crate::source::Span;
use crate::syntax::TokenKind;
use crate::syntax::lexer::word_end;

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
        if is_modified(subject, word) {
            found.push(modified(subject, word, token.span()));
            continue;
        }
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
            let help = format!("operand 0 is `{own}` in {language}");
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

/// Whether a word is a `%`, a letter and a digit, with only one `%` in the source: to the compiler,
/// an operand with a modifier. nvcc takes none; clang takes `r`, which changes nothing.
fn is_modified(subject: &AsmSubject<'_, '_>, word: &str) -> bool {
    let asm = subject.asm();
    let [b'%', letter, digit, ..] = word.as_bytes() else { return false };
    if !letter.is_ascii_alphabetic() || !digit.is_ascii_digit() || asm.has_plain_percents() {
        return false;
    }
    // clang has modifiers for constants.
    let number = word[2..].bytes().take_while(u8::is_ascii_digit).count() + 2;
    let operand = word[2..number].parse().ok().and_then(|at: usize| asm.operands.get(at));
    let is_constant = operand.is_some_and(|it| it.constraint.contains(['n', 'i']));
    !(is_constant && b"acns".contains(letter)) && asm.spelled(word) == word
}

/// With more words to change, there is no fix: each finding has all edits.
const MOST_WORDS: usize = 64;

fn modified(subject: &AsmSubject<'_, '_>, word: &str, span: Span) -> Diagnostic {
    let text = &subject.asm().text;
    let letter = &word[1..2];
    let message = format!("the compiler reads `{word}` as an operand with the modifier `{letter}`");
    let diagnostic = Diagnostic::new(Code::MissingAsmOperand, subject.place(span), message)
        .label("not the register of this name")
        .help(format!("in an `asm` with operands, write `%{word}` for the register `{word}`"));
    // All such words of the `asm`; in a macro, none has a place of its own.
    let words = text
        .match_indices('%')
        .map(|(start, _)| Span::new(start as u32, word_end(text.as_bytes(), start + 1) as u32));
    let singly_written = |span: Span| {
        let place = subject.place(span);
        let word = span.text(text);
        (is_modified(subject, word) && place.text(subject.source) == word).then_some(place.start)
    };
    let edits = words.filter_map(singly_written).map(|at| Edit::insert(at, "%"));
    let edits: Vec<_> = edits.take(MOST_WORDS + 1).collect();
    if edits.is_empty() || edits.len() > MOST_WORDS {
        return diagnostic;
    }
    diagnostic.fix(Applicability::Unsafe, "write `%` twice", edits)
}

/// The number in a word that another language has for an operand: `$0` or `%0`.
fn other_language(word: &str) -> Option<usize> {
    let number = word.strip_prefix(['$', '%'])?;
    number.bytes().all(|byte| byte.is_ascii_digit()).then(|| number.parse().ok()).flatten()
}
