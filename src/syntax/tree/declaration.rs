//! Declarations of registers, variables and functions.

use std::ops::Range;

use super::super::constant::integer_literal;
use super::super::declaration::Declaration as Reading;
use super::super::lexer::{Token, TokenKind};
use super::super::scope::SymbolKind;
use super::instruction::{Operands, Role, names, without_semicolon};
use super::{Operand, Statement, Statements};
use crate::source::Span;

shown! { Declaration DeclaredName Parameter }

/// A declaration of registers, variables or opaque objects, of one type each.
#[derive(Clone, Copy)]
pub struct Declaration<'t> {
    source: &'t str,
    /// Without the `;`.
    tokens: &'t [Token],
}

/// A name in a [`Declaration`], or a parameter of a function.
#[derive(Clone, Copy)]
pub struct DeclaredName<'t> {
    source: &'t str,
    /// From the name to before the `,`.
    tokens: &'t [Token],
    kind: SymbolKind<'t>,
}

impl<'t> Declaration<'t> {
    pub(super) fn new(source: &'t str, tokens: &'t [Token]) -> Declaration<'t> {
        Declaration { source, tokens: without_semicolon(tokens) }
    }

    /// The words before the first name: linkage, state space, alignment, attributes and type,
    /// each with its dot and its arguments.
    pub fn words(&self) -> &'t [Token] {
        &self.tokens[..self.first_name()]
    }

    /// The state space, with its dot: `.reg`, `.global`, `.shared`, …
    pub fn space(&self) -> Option<&'t str> {
        match self.reading().kind()? {
            SymbolKind::Variable(space) => Some(space),
            _ => Some(".reg"),
        }
    }

    /// The type, with its dot: `.b32`, `.u64`, …
    pub fn ty(&self) -> Option<&'t str> {
        Some(self.reading().ty).filter(|ty| !ty.is_empty())
    }

    /// The names that the declaration has.
    pub fn names(&self) -> impl Iterator<Item = DeclaredName<'t>> + use<'t> {
        self.pieces().filter_map(|(_, name)| name)
    }

    /// The pieces between the commas, each with the name that it declares, if any.
    pub(super) fn pieces(
        &self,
    ) -> impl Iterator<Item = (Operand<'t>, Option<DeclaredName<'t>>)> + use<'t> {
        let kind = self.reading().kind();
        let source = self.source;
        let pieces = Operands::new(source, &self.tokens[self.first_name()..], Role::Value);
        pieces.map(move |piece| (piece, DeclaredName::new(source, piece.tokens(), kind)))
    }

    fn first_name(&self) -> usize {
        let mut depth = 0usize;
        let is_name = |token: &Token| {
            match token.kind() {
                TokenKind::Punct([b'(', 0]) => depth += 1,
                TokenKind::Punct([b')', 0]) => depth = depth.saturating_sub(1),
                _ => {}
            }
            // `WARP_SZ` may be an alignment.
            token.kind() == TokenKind::Ident
                && depth == 0
                && token.span().text(self.source) != "WARP_SZ"
        };
        self.tokens.iter().position(is_name).unwrap_or(self.tokens.len())
    }

    fn reading(&self) -> Reading<'t> {
        read_words(self.source, self.words())
    }
}

/// The state space and the type that some words contain.
fn read_words<'t>(source: &'t str, words: &'t [Token]) -> Reading<'t> {
    let mut reading = Reading::default();
    for word in words {
        reading.step(word.kind(), word.span().text(source));
    }
    reading
}

impl<'t> DeclaredName<'t> {
    fn new(
        source: &'t str,
        tokens: &'t [Token],
        kind: Option<SymbolKind<'t>>,
    ) -> Option<DeclaredName<'t>> {
        let is_name = tokens.first()?.kind() == TokenKind::Ident;
        Some(DeclaredName { source, tokens, kind: kind? }).filter(|_| is_name)
    }

    /// The name; of a range such as `%r<10>`, the part before the `<`.
    pub fn name(&self) -> Span {
        self.tokens[0].span()
    }

    /// The kind of thing that the name stands for.
    pub fn kind(&self) -> SymbolKind<'t> {
        self.kind
    }

    /// How many registers a range declares: 10 for `%r<10>`, which declares `%r0` to `%r9`.
    pub fn count(&self) -> Option<u64> {
        match self.tokens {
            [_, open, count, close, ..] if open.is(b'<') && close.is(b'>') => {
                match count.span().text(self.source) {
                    "WARP_SZ" => Some(32),
                    text => integer_literal(text),
                }
            }
            _ => None,
        }
    }

    /// The dimensions of an array, as written: `[4][]`.
    pub fn dimensions(&self) -> &'t [Token] {
        let end = self.equals().unwrap_or(self.tokens.len());
        let start = self.tokens[..end].iter().position(|token| token.is(b'['));
        &self.tokens[start.unwrap_or(end)..end]
    }

    /// The value of a variable, behind its `=`.
    pub fn value(&self) -> Option<Operand<'t>> {
        let equals = self.equals()?;
        let place = self.tokens[equals].span().end;
        Some(Operand::value(self.source, &self.tokens[equals + 1..], place))
    }

    /// The names of other things in the dimensions and in the value, in the order of the text.
    pub fn names(&self) -> impl Iterator<Item = Span> + use<'t> {
        let (source, tokens) = (self.source, self.tokens);
        let equals = self.equals().unwrap_or(tokens.len());
        let others = (1..tokens.len()).filter(move |&at| {
            // In `generic(x)` and `filter_mode = linear`, some words are no names.
            let is_word = |next: &Token| next.is(b'(') || next.is(b'=');
            let is_held = at > equals + 1 && tokens[at - 1].is(b'=');
            !is_held && !tokens.get(at + 1).is_some_and(is_word)
        });
        others.flat_map(move |at| names(source, &tokens[at..=at]))
    }

    /// The tokens from the name to the end of the value.
    pub fn tokens(&self) -> &'t [Token] {
        self.tokens
    }

    fn equals(&self) -> Option<usize> {
        self.tokens.iter().position(|token| token.is(b'='))
    }
}

/// A kernel or a function.
#[derive(Clone, Copy, Debug)]
pub struct Function<'t> {
    statement: Statement<'t>,
    layout: Layout,
}

/// The kinds of function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FunctionKind {
    /// A kernel, `.entry`.
    Kernel,
    /// A device function, `.func`.
    Device,
}

/// The places of the parts of a header, among its tokens.
#[derive(Clone, Copy, Debug, Default)]
struct Layout {
    /// `.entry` or `.func`
    keyword: usize,
    name: Option<usize>,
    /// From the `(` to the token before the `)`.
    results: Option<(usize, usize)>,
    parameters: Option<(usize, usize)>,
    /// The first token behind the parameters.
    rest: usize,
}

impl Layout {
    fn of(source: &str, tokens: &[Token]) -> Layout {
        let is_keyword = |token: &Token| matches!(token.span().text(source), ".entry" | ".func");
        let keyword = tokens.iter().position(is_keyword).unwrap_or(0);
        let mut layout = Layout { keyword, rest: tokens.len(), ..Layout::default() };
        let mut at = keyword + 1;
        while let Some(token) = tokens.get(at) {
            match token.kind() {
                TokenKind::Ident if layout.name.is_none() => layout.name = Some(at),
                TokenKind::Punct([b'(', 0]) => {
                    let close = tokens[at..].iter().position(|token| token.is(b')'));
                    let close = close.map_or(tokens.len(), |length| at + length);
                    let is_attribute = tokens[at - 1].span().text(source) == ".attribute";
                    match layout.name {
                        _ if is_attribute => {}
                        None => layout.results = Some((at, close)),
                        Some(_) => {
                            layout.parameters = Some((at, close));
                            layout.rest = (close + 1).min(tokens.len());
                            return layout;
                        }
                    }
                    at = close;
                }
                TokenKind::Dot if layout.name.is_some() => {
                    layout.rest = at;
                    return layout;
                }
                _ => {}
            }
            at += 1;
        }
        layout
    }
}

/// The places of the results and of the parameters among the tokens of a header or a prototype:
/// from behind the `(` to before the `)`.
pub(super) fn groups(source: &str, head: &[Token]) -> impl Iterator<Item = Range<usize>> + use<> {
    let Layout { results, parameters, .. } = Layout::of(source, head);
    [results, parameters].into_iter().flatten().map(|(open, close)| open + 1..close)
}

/// A parameter or a result of a function.
#[derive(Clone, Copy)]
pub struct Parameter<'t> {
    source: &'t str,
    tokens: &'t [Token],
}

impl<'t> Function<'t> {
    pub(super) fn new(statement: Statement<'t>) -> Function<'t> {
        Function { statement, layout: Layout::of(statement.source(), statement.head()) }
    }

    /// The function's statement.
    pub fn statement(&self) -> Statement<'t> {
        self.statement
    }

    /// Whether this is a kernel or a device function.
    pub fn kind(&self) -> FunctionKind {
        match self.head()[self.layout.keyword].span().text(self.statement.source()) {
            ".entry" => FunctionKind::Kernel,
            _ => FunctionKind::Device,
        }
    }

    /// `.visible`, `.extern`, `.weak` or `.common`, with its dot.
    pub fn linkage(&self) -> Option<&'t str> {
        let words = self.head()[..self.layout.keyword].iter();
        let mut texts = words.map(|token| token.span().text(self.statement.source()));
        texts.find(|text| matches!(*text, ".visible" | ".extern" | ".weak" | ".common"))
    }

    /// The function's name; `None` if it is missing.
    pub fn name(&self) -> Option<Span> {
        Some(self.head()[self.layout.name?].span())
    }

    /// The parameters in which the function returns its results.
    pub fn results(&self) -> impl Iterator<Item = Parameter<'t>> + use<'t> {
        self.group(self.layout.results)
    }

    /// The function's parameters.
    pub fn parameters(&self) -> impl Iterator<Item = Parameter<'t>> + use<'t> {
        self.group(self.layout.parameters)
    }

    /// The directives behind the parameters, such as `.maxntid 128, 1, 1`: the tokens of each, from
    /// its dotted word on.
    pub fn directives(&self) -> impl Iterator<Item = &'t [Token]> + use<'t> {
        let tokens = without_semicolon(&self.head()[self.layout.rest..]);
        let mut rest = tokens;
        std::iter::from_fn(move || {
            let start = rest.iter().position(|token| token.kind() == TokenKind::Dot)?;
            let inside = &rest[start + 1..];
            let length = inside.iter().position(|token| token.kind() == TokenKind::Dot);
            let length = length.unwrap_or(inside.len()) + 1;
            let directive;
            (directive, rest) = rest[start..].split_at(length);
            Some(directive)
        })
    }

    /// The statements of the body, without those of nested blocks. None if the function is only
    /// declared.
    pub fn statements(&self) -> Statements<'t> {
        match self.body() {
            Some(block) => block.children(),
            None => self.statement.children(),
        }
    }

    /// The block that is the body; `None` if the function is only declared.
    pub fn body(&self) -> Option<Statement<'t>> {
        self.statement.children().next()
    }

    /// The tokens of the header: up to the `{` of the body, or to the `;`.
    pub fn head(&self) -> &'t [Token] {
        self.statement.head()
    }

    /// The `(…)` before the function's name and the `(…)` behind it, brackets included.
    pub(in super::super) fn groups(&self) -> [Option<&'t [Token]>; 2] {
        let tokens = |(open, close): (usize, usize)| {
            let end = (close + 1).min(self.head().len());
            &self.head()[open..end]
        };
        [self.layout.results.map(tokens), self.layout.parameters.map(tokens)]
    }

    fn group(&self, part: Option<(usize, usize)>) -> impl Iterator<Item = Parameter<'t>> + use<'t> {
        let source = self.statement.source();
        let tokens = part.map_or(&[][..], |(open, close)| &self.head()[open + 1..close]);
        let pieces = Operands::new(source, tokens, Role::Value);
        pieces.map(move |piece| Parameter { source, tokens: piece.tokens() })
    }
}

impl<'t> Parameter<'t> {
    /// The tokens from the state space to the name or the dimensions.
    pub fn tokens(&self) -> &'t [Token] {
        self.tokens
    }

    /// The parameter's name, with state space and type.
    pub fn name(&self) -> Option<DeclaredName<'t>> {
        self.declaration().names().next()
    }

    fn declaration(&self) -> Declaration<'t> {
        Declaration { source: self.source, tokens: self.tokens }
    }

    /// The type, with its dot.
    pub fn ty(&self) -> Option<&'t str> {
        Some(read_words(self.source, self.tokens).ty).filter(|ty| !ty.is_empty())
    }
}
