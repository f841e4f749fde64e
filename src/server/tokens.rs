//! Semantic tokens: the words of PTX, and of the video instructions in `asm` statements.

use super::document::{Encoding, Text};
use super::statements::in_template;
use crate::check::Language;
use crate::embed::{self, Host};
use crate::isa::is_special_register;
use crate::names::{self, Names, SymbolKind, WordKind};
use crate::source::Span;
use crate::syntax::lexer::comments;

/// The types of tokens, as the protocol names them, in the order of [`Kind`].
pub(super) const TYPES: [&str; 12] = [
    "keyword",
    "function",
    "modifier",
    "variable",
    "parameter",
    "property",
    "label",
    "number",
    "string",
    "comment",
    "macro",
    "type",
];

/// The modifiers of tokens. Bit 0 is the first one.
pub(super) const MODIFIERS: [&str; 3] = ["declaration", "readonly", "defaultLibrary"];

const DECLARATION: u32 = 1;
const PREDEFINED: u32 = 2 | 4;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Keyword,
    Function,
    Modifier,
    Variable,
    Parameter,
    Property,
    Label,
    Number,
    String,
    Comment,
    /// A directive.
    Macro,
    Type,
}

#[derive(Clone, Copy, Debug)]
struct Token {
    span: Span,
    kind: Kind,
    modifiers: u32,
}

/// The tokens that touch a part of a text, as the protocol encodes them: five numbers each.
pub(super) fn within(text: &Text, language: Language, part: Span, encoding: Encoding) -> Vec<u32> {
    let source = text.as_str();
    let mut tokens = match language.host() {
        None => in_module(source, part),
        Some(host) => in_asm(source, host, part),
    };
    tokens.retain(|token| token.span.start < part.end && part.start < token.span.end);
    tokens.sort_by_key(|token| token.span.start);
    encoded(&tokens, text, encoding)
}

fn in_module(source: &str, part: Span) -> Vec<Token> {
    let names = names::read_words(source, part);
    let mut tokens = of_names(source, &names);
    tokens.extend(comments(source).into_iter().map(|span| Token {
        span,
        kind: Kind::Comment,
        modifiers: 0,
    }));
    tokens
}

fn of_names(source: &str, names: &Names) -> Vec<Token> {
    let uses = names.uses.iter().map(|it| {
        let kind = match it.symbol().map(|number| names.symbol(number).kind) {
            Some(SymbolKind::Function) => Kind::Function,
            Some(SymbolKind::Parameter) => Kind::Parameter,
            Some(SymbolKind::Label) => Kind::Label,
            Some(SymbolKind::Variable | SymbolKind::Register) | None => Kind::Variable,
        };
        let is_predefined = it.symbol().is_none() && is_special_register(it.span.text(source));
        let modifiers =
            if is_predefined { PREDEFINED } else { u32::from(it.declares) * DECLARATION };
        Token { span: it.span, kind, modifiers }
    });
    let words = names.words.iter().map(|it| {
        let kind = match it.kind {
            WordKind::Directive => Kind::Macro,
            WordKind::Mnemonic => Kind::Keyword,
            WordKind::Modifier if is_type(it.span.text(source)) => Kind::Type,
            WordKind::Modifier => Kind::Modifier,
            WordKind::Selector => Kind::Property,
            WordKind::Number => Kind::Number,
            WordKind::String => Kind::String,
        };
        Token { span: it.span, kind, modifiers: 0 }
    });
    uses.chain(words).collect()
}

/// Whether a word is a fundamental type, such as `.u32` or `.pred`.
fn is_type(text: &str) -> bool {
    let name = &text[1..];
    let digits = name.trim_start_matches(|c: char| c.is_ascii_lowercase());
    let letters = &name[..name.len() - digits.len()];
    name == "pred"
        || matches!(letters, "b" | "s" | "u" | "f" | "bf" | "tf")
            && digits.starts_with(|c: char| c.is_ascii_digit())
}

/// The video instructions in the `asm` statements of a source.
fn in_asm(source: &str, host: Host, part: Span) -> Vec<Token> {
    let mut tokens = Vec::new();
    for asm in embed::statements_in(source, host) {
        if asm.span.end <= part.start || part.end <= asm.span.start {
            continue;
        }
        let statements = in_template(&asm);
        if statements.is_empty() {
            continue;
        }
        let mut own =
            of_names(&asm.text, &names::read_words(&asm.text, Span::new(0, asm.text.len() as u32)));
        own.sort_by_key(|token| token.span.start);
        let is_inside = |token: &&Token| {
            let next = statements.partition_point(|it| it.span.end <= token.span.start);
            statements.get(next).is_some_and(|it| it.span.start <= token.span.start)
        };
        for token in own.iter().filter(is_inside) {
            let is_operand =
                asm.operands.iter().any(|it| it.placeholder == token.span.text(&asm.text));
            let kind = if is_operand { Kind::Parameter } else { token.kind };
            tokens.push(Token { span: asm.source_span(token.span), kind, ..*token });
        }
    }
    tokens
}

/// Positions relative to the token before. A token of several lines becomes one for each.
fn encoded(tokens: &[Token], text: &Text, encoding: Encoding) -> Vec<u32> {
    let source = text.as_str();
    let mut numbers = Vec::with_capacity(5 * tokens.len());
    let (mut last_line, mut last_start, mut last_end) = (0, 0, 0);
    for token in tokens {
        // Literals of one operand may share a byte of the source.
        if token.span.start < last_end {
            continue;
        }
        last_end = token.span.end;
        let mut at = token.span.start;
        for line in token.span.text(source).split_inclusive('\n') {
            let shown = line.trim_end_matches(['\n', '\r']);
            let length = encoding.length(shown) as u32;
            if length > 0 {
                let place = text.position(at, encoding);
                let start = if place.line == last_line { last_start } else { 0 };
                numbers.extend([
                    place.line - last_line,
                    place.character - start,
                    length,
                    token.kind as u32,
                    token.modifiers,
                ]);
                (last_line, last_start) = (place.line, place.character);
            }
            at += line.len() as u32;
        }
    }
    numbers
}
