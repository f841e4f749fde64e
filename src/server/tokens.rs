//! Semantic tokens: the words of PTX, and of the video instructions in `asm` statements.

use std::iter::Peekable;
use std::slice;

use super::document::Text;
use super::statements::in_template;
use crate::check::Language;
use crate::embed::{self, Host};
use crate::hash::Set;
use crate::isa::is_special_register;
use crate::names::{Names, SymbolKind, Use};
use crate::source::Span;
use crate::syntax::declaration::DIRECTIVES;
use crate::syntax::lexer::comments;
use crate::syntax::{Leaf, LeafKind, Node, NodeKind, Tree, Visitor, parse, parse_around};

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

/// The tokens that touch a part of a text. Each takes five numbers, as the protocol encodes it.
pub(super) fn within(text: &Text, language: Language, part: Span) -> Vec<u32> {
    let source = text.as_str();
    let mut tokens = match language.host() {
        None => in_module(source, part),
        Some(host) => in_asm(source, host, part),
    };
    tokens.retain(|token| token.span.start < part.end && part.start < token.span.end);
    tokens.sort_by_key(|token| token.span.start);
    encoded(&tokens, text)
}

fn in_module(source: &str, part: Span) -> Vec<Token> {
    let mut tokens = of_tree(&parse_around(source, part), part);
    tokens.extend(comments(source).into_iter().map(|span| Token {
        span,
        kind: Kind::Comment,
        modifiers: 0,
    }));
    tokens
}

/// All tokens of every statement that touches a part of the text.
fn of_tree(tree: &Tree<'_>, part: Span) -> Vec<Token> {
    let names = Names::of(tree);
    let uses = names.uses().iter().peekable();
    let source = tree.source();
    let mut collector =
        TokenCollector { source, names: &names, uses, around: NodeKind::Module, found: Vec::new() };
    for statement in tree.statements() {
        let span = statement.span();
        if span.start <= part.end && part.start <= span.end {
            statement.walk(&mut collector);
        }
    }
    collector.found
}

/// Collects tokens in the order of the text.
struct TokenCollector<'t> {
    source: &'t str,
    names: &'t Names,
    uses: Peekable<slice::Iter<'t, Use>>,
    /// The kind of the innermost statement.
    around: NodeKind,
    found: Vec<Token>,
}

impl<'t> Visitor<'t> for TokenCollector<'_> {
    fn enter(&mut self, node: Node<'t>) {
        if node.statement.is_some() {
            self.around = node.kind;
        }
    }

    fn leaf(&mut self, leaf: Leaf) {
        let text = leaf.span.text(self.source);
        let in_instruction = self.around == NodeKind::Instruction;
        let kind = match leaf.kind {
            LeafKind::Identifier => {
                while self.uses.next_if(|it| it.span().start < leaf.span.start).is_some() {}
                match self.uses.next_if(|it| it.span().start == leaf.span.start) {
                    Some(it) => return self.found.push(self.name(it)),
                    None if text == "WARP_SZ" => Kind::Number,
                    // Examples are `debug` of `.target` and `inlined_at` of `.loc`.
                    None if self.around == NodeKind::Directive && text != "_" => Kind::Modifier,
                    None => return,
                }
            }
            LeafKind::Keyword => Kind::Macro,
            LeafKind::Modifier if !in_instruction && DIRECTIVES.contains(&text) => Kind::Macro,
            LeafKind::Mnemonic => Kind::Keyword,
            LeafKind::Modifier if is_type(text) => Kind::Type,
            LeafKind::Modifier => Kind::Modifier,
            LeafKind::Selector => Kind::Property,
            LeafKind::Number => Kind::Number,
            LeafKind::String => Kind::String,
            _ => return,
        };
        self.found.push(Token { span: leaf.span, kind, modifiers: 0 });
    }
}

impl TokenCollector<'_> {
    fn name(&self, it: &Use) -> Token {
        let kind = match it.symbol().map(|symbol| self.names.symbol(symbol).kind) {
            Some(SymbolKind::Function) => Kind::Function,
            Some(SymbolKind::Parameter) => Kind::Parameter,
            Some(SymbolKind::Label) => Kind::Label,
            Some(SymbolKind::Variable | SymbolKind::Register) | None => Kind::Variable,
        };
        let is_predefined =
            it.meaning().is_none() && is_special_register(it.span().text(self.source));
        let modifiers =
            if is_predefined { PREDEFINED } else { u32::from(it.declares()) * DECLARATION };
        Token { span: it.span(), kind, modifiers }
    }
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

/// The tokens of the video instructions in the `asm` statements of a source.
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
        let own = of_tree(&parse(&asm.text), Span::new(0, asm.text.len() as u32));
        let is_inside = |token: &&Token| {
            let next = statements.partition_point(|it| it.span.end <= token.span.start);
            statements.get(next).is_some_and(|it| it.span.start <= token.span.start)
        };
        let operands: Set<&str> = asm.operands.iter().map(|it| &*it.placeholder).collect();
        for token in own.iter().filter(is_inside) {
            let is_operand = operands.contains(token.span.text(&asm.text));
            let kind = if is_operand { Kind::Parameter } else { token.kind };
            tokens.push(Token { span: asm.source_span(token.span), kind, ..*token });
        }
    }
    tokens
}

/// Encodes positions relative to the previous token. A token of several lines becomes one token for
/// each line.
fn encoded(tokens: &[Token], text: &Text) -> Vec<u32> {
    let source = text.as_str();
    let mut numbers = Vec::with_capacity(5 * tokens.len());
    let (mut last_line, mut last_start, mut last_end) = (0, 0, 0);
    for token in tokens {
        // Several tokens may come from the same bytes of the source.
        if token.span.start < last_end {
            continue;
        }
        last_end = token.span.end;
        let mut at = token.span.start;
        for line in token.span.text(source).split_inclusive(['\n', '\r']) {
            let shown = line.trim_end_matches(['\n', '\r']);
            let length = text.length(shown) as u32;
            if length > 0 {
                let place = text.position(at);
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
