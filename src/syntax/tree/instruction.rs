//! Instructions of any opcode, and their operands.

use nom::branch::alt;
use nom::combinator::opt;
use nom::sequence::preceded;
use nom::{IResult, Parser};

use super::super::constant::{Constant, ConstantError, constant};
use super::super::grammar::{Expected, Failure, Tokens, kind, punct, starts_constant};
use super::super::lexer::{DOT, IDENT, NUMBER, Token, TokenKind};
use super::grammar::word;
use crate::source::Span;

shown! { Instruction Operand }

/// The number of bytes that is added to a name; the error if the number has no value.
pub type Offset = Option<Result<Constant, ConstantError>>;

/// An instruction of any opcode, known or not.
#[derive(Clone, Copy)]
pub struct Instruction<'t> {
    source: &'t str,
    /// Guard, opcode, operands, `;`.
    tokens: &'t [Token],
    /// The index of the mnemonic among the tokens.
    opcode: usize,
}

/// A guard predicate: `@p` or `@!p`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Guard {
    /// From the `@` to the name.
    pub span: Span,
    /// Whether it has a `!`.
    pub negated: bool,
    /// The predicate register.
    pub name: Span,
}

impl<'t> Instruction<'t> {
    pub(super) fn new(source: &'t str, tokens: &'t [Token]) -> Instruction<'t> {
        let opcode = match tokens {
            [at, not, ..] if at.is(b'@') => 2 + usize::from(not.is(b'!')),
            _ => 0,
        };
        Instruction { source, tokens, opcode }
    }

    /// The guard predicate.
    pub fn guard(&self) -> Option<Guard> {
        let name = self.tokens[self.opcode.checked_sub(1)?].span();
        let span = self.tokens[0].span().to(name);
        Some(Guard { span, negated: self.opcode == 3, name })
    }

    /// The opcode up to its first dot.
    pub fn mnemonic(&self) -> Span {
        self.tokens[self.opcode].span()
    }

    /// Each modifier with its dot, in the order of the text.
    pub fn modifiers(&self) -> impl ExactSizeIterator<Item = Span> + use<'t> {
        let tokens: &'t [Token] = self.tokens;
        tokens[self.opcode + 1..self.first_operand()].iter().map(|token| token.span())
    }

    /// The opcode as written, from its first word to its last modifier.
    pub fn opcode(&self) -> Span {
        self.mnemonic().to(self.tokens[self.first_operand() - 1].span())
    }

    /// The operands: the parts between commas outside of all brackets.
    pub fn operands(&self) -> Operands<'t> {
        let is_call = self.mnemonic().text(self.source) == "call";
        let role = if is_call { Role::Call } else { Role::Instruction };
        Operands::new(self.source, &self.tokens[self.first_operand()..], role)
    }

    /// The names in the guard and the operands, in the order of the text: registers, special
    /// registers, labels and symbols.
    pub fn names(&self) -> impl Iterator<Item = Span> + use<'t> {
        // Modifiers are no names.
        let operands: &'t [Token] = &self.tokens[self.opcode + 1..];
        self.guard().map(|guard| guard.name).into_iter().chain(names(self.source, operands))
    }

    /// The tokens, from the guard or mnemonic to the `;`.
    pub fn tokens(&self) -> &'t [Token] {
        self.tokens
    }

    /// The `;`, unless it is missing.
    pub fn semicolon(&self) -> Option<Span> {
        self.tokens.last().filter(|token| token.is(b';')).map(|token| token.span())
    }

    fn first_operand(&self) -> usize {
        let rest = &self.tokens[self.opcode + 1..];
        let modifiers = rest.iter().take_while(|token| token.is_modifier(self.source));
        self.opcode + 1 + modifiers.count()
    }
}

pub(super) fn without_semicolon(tokens: &[Token]) -> &[Token] {
    match tokens {
        [tokens @ .., last] if last.is(b';') => tokens,
        tokens => tokens,
    }
}

/// The names among some tokens.
pub(super) fn names<'t>(
    source: &'t str,
    tokens: &'t [Token],
) -> impl Iterator<Item = Span> + use<'t> {
    let words = tokens.iter().filter(|token| token.kind() == TokenKind::Ident);
    words.map(|token| token.span()).filter(|span| !matches!(span.text(source), "_" | "WARP_SZ"))
}

/// An operand, or an element of a vector, an address or a list.
#[derive(Clone, Copy)]
pub struct Operand<'t> {
    source: &'t str,
    tokens: &'t [Token],
    /// The offset where the operand would stand, if it has no tokens.
    place: u32,
    role: Role,
    /// How many brackets stand around the operand.
    depth: u8,
}

/// Where an operand stands, which decides what it may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// In any instruction but `call`.
    Instruction,
    Call,
    /// In the `(…)` of a call.
    Argument,
    /// In the `{…}` of an instruction.
    Element,
    /// Alone between `[` and `]`.
    Address,
    /// The first of several operands between `[` and `]`: a texture, a surface, a tensor.
    Handle,
    /// Behind a handle.
    Coordinates,
    /// Between the `[` and `]` behind an array.
    Index,
    /// The value of a variable, or a part of it.
    Value,
    Directive,
}

/// How deeply brackets may nest. Instructions need two levels, values one for each dimension.
const MAX_DEPTH: u8 = 32;

/// The kinds of operand. The sign and the selector of a name are left out: see [`Operand::sign`]
/// and [`Operand::selector`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum OperandKind<'t> {
    /// A register, special register, variable, function or label. Its declaration tells which.
    Name(Span),
    /// `_`
    Discard,
    /// An integer or floating-point constant, or an expression of constants; the error if the
    /// expression has no value.
    Constant(Result<Constant, ConstantError>),
    /// `"…"` in a directive.
    Text(Span),
    /// `x+8` outside of brackets, as in `mov.u64 p, x+8`.
    Sum(Address<'t>),
    /// `x[4]`, an element of an array: the array, and its index, which is written as an address is.
    Indexed(Span, Address<'t>),
    /// `p|q`: two results.
    Pair(Span, Span),
    /// `{…}|p`: the vector that `tex` and `tld4` read, and the predicate that tells whether the
    /// texel is in memory.
    VectorPair(Operands<'t>, Span),
    /// `[…]`
    Address(Address<'t>),
    /// `{…}`
    Vector(Operands<'t>),
    /// `(…)` of a call.
    List(Operands<'t>),
    /// `generic(x)+4` or `0xff00(x)` in the value of a variable: the word or mask, the operands in
    /// parentheses, and the number that is added.
    Applied(Span, Operands<'t>, Offset),
    /// `filter_mode = linear` in the value of a sampler: the field and its value.
    Field(Span, Span),
    /// Not an operand of PTX. Holds the tokens that could have stood at [`Operand::stop`].
    Malformed(Expected),
}

/// An address: `[base+offset]`, with more elements for textures and tensors.
#[derive(Clone, Debug)]
pub struct Address<'t> {
    base: Option<Span>,
    offset: Offset,
    elements: Operands<'t>,
}

impl<'t> Address<'t> {
    fn new(elements: Operands<'t>) -> Address<'t> {
        let (base, offset) = match elements.clone().next().map(|first| first.kind()) {
            Some(OperandKind::Name(name)) => (Some(name), None),
            Some(OperandKind::Sum(sum)) => (sum.base, sum.offset),
            Some(OperandKind::Constant(value)) => (None, Some(value)),
            _ => (None, None),
        };
        Address { base, offset, elements }
    }

    /// The register or symbol; `None` for an address that is a constant.
    pub fn base(&self) -> Option<Span> {
        self.base
    }

    /// The number of bytes that is added to the base. If there is no base, the constant that is the
    /// address. The error if the number has no value.
    pub fn offset(&self) -> Offset {
        self.offset
    }

    /// All elements between the brackets. The first one holds base and offset.
    pub fn elements(&self) -> Operands<'t> {
        self.elements.clone()
    }
}

/// Operands that follow each other, with commas between them.
#[derive(Clone)]
pub struct Operands<'t> {
    source: &'t str,
    /// The tokens that are left; `None` after the last operand.
    tokens: Option<&'t [Token]>,
    place: u32,
    role: Role,
    depth: u8,
}

impl<'t> Operands<'t> {
    /// The operands in some tokens. The last token may be a `;`.
    pub(super) fn new(source: &'t str, tokens: &'t [Token], role: Role) -> Operands<'t> {
        let tokens = without_semicolon(tokens);
        let place = tokens.first().map_or(0, |token| token.span().start);
        let tokens = (!tokens.is_empty()).then_some(tokens);
        Operands { source, tokens, place, role, depth: 0 }
    }

    /// The elements between the brackets of an operand.
    fn between(operand: Operand<'t>, role: Role) -> Operands<'t> {
        let [open, inside @ .., _] = operand.tokens else {
            unreachable!("an operand with brackets has both")
        };
        let tokens = (!inside.is_empty()).then_some(inside);
        let depth = operand.depth + 1;
        Operands { source: operand.source, tokens, place: open.span().end, role, depth }
    }
}

impl<'t> Iterator for Operands<'t> {
    type Item = Operand<'t>;

    fn next(&mut self) -> Option<Operand<'t>> {
        let tokens = self.tokens?;
        let mut open = 0usize;
        let comma = tokens.iter().position(|token| {
            if let TokenKind::Punct([byte, 0]) = token.kind() {
                match byte {
                    b'[' | b'{' | b'(' => open += 1,
                    b']' | b'}' | b')' => open = open.saturating_sub(1),
                    b',' => return open == 0 && self.role != Role::Index,
                    _ => {}
                }
            }
            false
        });
        let (own, rest) = match comma {
            Some(at) => (&tokens[..at], Some(&tokens[at + 1..])),
            None => (tokens, None),
        };
        let Operands { source, place, depth, mut role, .. } = *self;
        self.tokens = rest;
        if let Some(at) = comma {
            self.place = tokens[at].span().end;
            if role == Role::Address {
                role = Role::Handle;
                self.role = Role::Coordinates;
            }
        }
        Some(Operand { source, tokens: own, place, role, depth })
    }
}

impl std::fmt::Debug for Operands<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.clone()).finish()
    }
}

/// The parts of an operand whose shape is legal.
#[derive(Clone, Copy)]
struct Parts {
    sign: Option<Span>,
    selector: Option<Span>,
    shape: Shape,
}

#[derive(Clone, Copy)]
enum Shape {
    Name(Span),
    Discard,
    Constant(Result<Constant, ConstantError>),
    Text(Span),
    Sum(Span, Result<Constant, ConstantError>),
    Indexed(Span),
    Pair(Span, Span),
    VectorPair(Span),
    Address,
    Vector,
    List,
    Applied(Span, Offset),
    Field(Span, Span),
}

impl<'t> Operand<'t> {
    /// A value that consists of all these tokens. If there are none, an empty one at a place.
    pub(super) fn value(source: &'t str, tokens: &'t [Token], place: u32) -> Operand<'t> {
        Operand { source, tokens, place, role: Role::Value, depth: 0 }
    }

    /// The whole operand, sign and selector included. Empty if nothing stands there.
    pub fn span(&self) -> Span {
        match self.tokens {
            [first, .., last] => first.span().to(last.span()),
            [only] => only.span(),
            [] => Span::at(self.place),
        }
    }

    /// The text of the operand's span.
    pub fn text(&self) -> &'t str {
        self.span().text(self.source)
    }

    /// The operand's tokens.
    pub fn tokens(&self) -> &'t [Token] {
        self.tokens
    }

    /// The kind of operand, with its parts.
    pub fn kind(&self) -> OperandKind<'t> {
        let shape = match self.parts() {
            Ok(parts) => parts.shape,
            Err(failure) => return OperandKind::Malformed(failure.expected),
        };
        match shape {
            Shape::Name(name) => OperandKind::Name(name),
            Shape::Discard => OperandKind::Discard,
            Shape::Constant(value) => OperandKind::Constant(value),
            Shape::Text(text) => OperandKind::Text(text),
            Shape::Pair(first, second) => OperandKind::Pair(first, second),
            Shape::VectorPair(second) => OperandKind::VectorPair(self.elements(shape), second),
            Shape::Vector => OperandKind::Vector(self.elements(shape)),
            Shape::List => OperandKind::List(self.elements(shape)),
            Shape::Sum(base, offset) => OperandKind::Sum(Address {
                base: Some(base),
                offset: Some(offset),
                elements: Operands {
                    tokens: Some(self.tokens),
                    ..Operands::new(self.source, &[], Role::Address)
                },
            }),
            Shape::Address => OperandKind::Address(Address::new(self.elements(shape))),
            Shape::Indexed(name) => OperandKind::Indexed(name, Address::new(self.elements(shape))),
            Shape::Applied(word, offset) => {
                OperandKind::Applied(word, self.elements(shape), offset)
            }
            Shape::Field(field, value) => OperandKind::Field(field, value),
        }
    }

    /// `-` or `!` before a name. The sign of a constant is part of the constant.
    pub fn sign(&self) -> Option<Span> {
        self.parts().ok()?.sign
    }

    /// `.b0`, `.x`, … behind a name, or `.reverse` behind a vector, with its dot.
    pub fn selector(&self) -> Option<Span> {
        self.parts().ok()?.selector
    }

    /// The first token that does not fit an operand of PTX. For a legal operand, its end.
    pub fn stop(&self) -> Span {
        match self.parts() {
            Ok(_) => Span::at(self.span().end),
            Err(failure) => self.stop_of(failure),
        }
    }

    fn stop_of(&self, failure: Failure) -> Span {
        match self.tokens.len().checked_sub(failure.left).and_then(|at| self.tokens.get(at)) {
            Some(token) => token.span(),
            None => Span::at(self.span().end),
        }
    }

    /// The operands between the brackets of an operand with this shape; none if it has no brackets.
    fn elements(&self, shape: Shape) -> Operands<'t> {
        let (open, role) = match shape {
            Shape::Address => (0, Role::Address),
            Shape::Indexed(_) => (1, Role::Index),
            Shape::Vector | Shape::VectorPair(_) if self.role != Role::Value => (0, Role::Element),
            Shape::Vector | Shape::VectorPair(_) => (0, Role::Value),
            Shape::List => (0, Role::Argument),
            Shape::Applied(..) => (1, Role::Value),
            _ => return Operands::new(self.source, &[], self.role),
        };
        let tokens = &self.tokens[open..];
        let length = bracket_length(tokens).unwrap_or(tokens.len());
        Operands::between(Operand { tokens: &tokens[..length], ..*self }, role)
    }

    fn parts(&self) -> Result<Parts, Failure> {
        let input = Tokens::new(self.source, self.tokens);
        let parts = operand(input, self.role).and_then(|(rest, parts)| match rest.first() {
            None => Ok(parts),
            Some(_) if self.role == Role::Index => Err(rest.expected(Expected::BRACKET)),
            Some(_) => Err(rest.expected(Expected::COMMA)),
        });
        let parts = parts.map_err(Failure::of)?;
        // Elements in brackets must be legal, too.
        for element in self.elements(parts.shape) {
            if self.depth == MAX_DEPTH {
                return Err(Failure::at(self.tokens.len(), Expected::NONE));
            }
            if let Err(failure) = element.parts() {
                let stop = element.stop_of(failure);
                let left = self.tokens.iter().filter(|token| token.span().start >= stop.start);
                return Err(Failure { left: left.count(), ..failure });
            }
        }
        Ok(parts)
    }
}

type Parsed<'t, 's> = IResult<Tokens<'t, 's>, Parts, Failure>;

fn plain(shape: Shape) -> Parts {
    Parts { sign: None, selector: None, shape }
}

/// Passes over a bracket, up to the one that closes it.
fn bracketed<'t, 's>(input: Tokens<'t, 's>, shape: Shape) -> Parsed<'t, 's> {
    let tokens = input.tokens();
    let length = bracket_length(tokens).unwrap_or(0);
    let closes = length > 0
        && matches!(
            (tokens[0].kind(), tokens[length - 1].kind()),
            (TokenKind::Punct([b'[', _]), TokenKind::Punct([b']', _]))
                | (TokenKind::Punct([b'{', _]), TokenKind::Punct([b'}', _]))
                | (TokenKind::Punct([b'(', _]), TokenKind::Punct([b')', _]))
        );
    if closes {
        Ok((input.skip(length), plain(shape)))
    } else {
        Err(input.skip(length.checked_sub(1).unwrap_or(tokens.len())).expected(Expected::BRACKET))
    }
}

/// A bracket with something in it.
fn filled<'t, 's>(input: Tokens<'t, 's>, shape: Shape) -> Parsed<'t, 's> {
    match bracketed(input, shape)? {
        (rest, _) if rest.tokens().len() + 2 == input.tokens().len() => {
            Err(input.skip(1).expected(Expected::OPERAND))
        }
        parsed => Ok(parsed),
    }
}

/// The number of tokens from a bracket to the one that closes it, both included.
fn bracket_length(tokens: &[Token]) -> Option<usize> {
    let mut depth = 0usize;
    let close = tokens.iter().position(|token| {
        match token.kind() {
            TokenKind::Punct([b'[' | b'{' | b'(', 0]) => depth += 1,
            TokenKind::Punct([b']' | b'}' | b')', 0]) => depth -= 1,
            _ => {}
        }
        depth == 0
    })?;
    Some(close + 1)
}

fn operand<'t, 's>(input: Tokens<'t, 's>, role: Role) -> Parsed<'t, 's> {
    let Some(first) = input.first() else {
        return Err(input.expected(Expected::OPERAND));
    };
    let takes_constants = !matches!(role, Role::Call | Role::Handle | Role::Coordinates);
    if takes_constants && starts_constant(input) && !is_applied(input, role) {
        let (rest, value) = constant(input)?;
        return Ok((rest, plain(Shape::Constant(value))));
    }
    match (role, first.kind()) {
        (Role::Instruction, TokenKind::Punct([b'[', 0])) => filled(input, Shape::Address),
        (Role::Instruction, TokenKind::Punct([b'{', 0])) => {
            let (rest, vector) = filled(input, Shape::Vector)?;
            let (rest, selector) = selector(rest)?;
            let (rest, second) = opt(behind_bar).parse(rest)?;
            let shape = second.map_or(vector.shape, |second| Shape::VectorPair(second.span()));
            Ok((rest, Parts { selector, ..plain(shape) }))
        }
        (Role::Instruction, TokenKind::Punct([b'-' | b'!', 0])) => {
            let (rest, name) = selected(input.skip(1))?;
            Ok((rest, Parts { sign: Some(first.span()), ..name }))
        }
        (Role::Instruction, _) => register(input),
        (Role::Call, TokenKind::Punct([b'(', 0])) => bracketed(input, Shape::List),
        (Role::Coordinates, TokenKind::Punct([b'{', 0])) => filled(input, Shape::Vector),
        (Role::Call | Role::Argument | Role::Handle | Role::Coordinates, _) => name(input),
        (Role::Element, _) => selected(input),
        (Role::Directive, TokenKind::Str) => Ok((input.skip(1), plain(Shape::Text(first.span())))),
        (Role::Value, TokenKind::Punct([b'{', 0])) => bracketed(input, Shape::Vector),
        (Role::Address | Role::Index | Role::Value | Role::Directive, _) => symbol(input, role),
    }
}

/// Whether a value such as `0xff(x)` or `generic(x)` is next.
fn is_applied(input: Tokens<'_, '_>, role: Role) -> bool {
    role == Role::Value
        && matches!(input.tokens(), [word, open, ..]
            if matches!(word.kind(), TokenKind::Ident | TokenKind::Number) && open.is(b'('))
}

/// A name, with any selector, index, offset, or second half of a pair.
fn register<'t, 's>(input: Tokens<'t, 's>) -> Parsed<'t, 's> {
    let (rest, word) = kind(TokenKind::Ident, Expected::OPERAND).parse(input)?;
    let name = word.span();
    match rest.first().map(Token::kind) {
        Some(TokenKind::Dot) => {
            let (rest, selector) = selector(rest)?;
            Ok((rest, Parts { selector, ..plain(Shape::Name(name)) }))
        }
        Some(TokenKind::Punct([b'[', 0])) if input.text(word) != "_" => {
            filled(rest, Shape::Indexed(name))
        }
        Some(TokenKind::Punct([b'|', 0])) => {
            let (rest, second) = behind_bar(rest)?;
            Ok((rest, plain(Shape::Pair(name, second.span()))))
        }
        _ => symbol(input, Role::Instruction),
    }
}

/// A name, and what may be added to it; in a value, also `generic(x)` and a field.
fn symbol<'t, 's>(input: Tokens<'t, 's>, role: Role) -> Parsed<'t, 's> {
    if is_applied(input, role) {
        let generic = word(TokenKind::Ident, Expected::NONE, |text| text == "generic");
        let mask = kind(TokenKind::Number, Expected::NONE);
        let (rest, word) = alt((generic, mask)).parse(input)?;
        let (rest, _) = filled(rest, Shape::List)?;
        let (rest, offset) = opt(offset).parse(rest)?;
        return Ok((rest, plain(Shape::Applied(word.span(), offset))));
    }
    let (rest, name) = name(input)?;
    let Shape::Name(word) = name.shape else { return Ok((rest, name)) };
    match rest.first() {
        Some(next) if next.is(b'+') => {
            let (rest, offset) = offset(rest)?;
            Ok((rest, plain(Shape::Sum(word, offset))))
        }
        Some(next) if next.is(b'=') && role == Role::Value => {
            let rest = rest.skip(1);
            let value =
                |token: &Token| matches!(token.kind(), TokenKind::Ident | TokenKind::Number);
            match rest.first().filter(value) {
                Some(value) => Ok((rest.skip(1), plain(Shape::Field(word, value.span())))),
                None => Err(rest.expected(Expected::OPERAND)),
            }
        }
        _ => Ok((rest, name)),
    }
}

/// A name, with any selector.
fn selected<'t, 's>(input: Tokens<'t, 's>) -> Parsed<'t, 's> {
    let (rest, name) = name(input)?;
    let (rest, selector) = selector(rest)?;
    Ok((rest, Parts { selector, ..name }))
}

/// A name or `_`, whatever follows it.
fn name<'t, 's>(input: Tokens<'t, 's>) -> Parsed<'t, 's> {
    let (rest, name) = kind(TokenKind::Ident, Expected::OPERAND).parse(input)?;
    let is_discard = input.text(name) == "_";
    Ok((rest, plain(if is_discard { Shape::Discard } else { Shape::Name(name.span()) })))
}

/// `|q`, the second half of a pair.
fn behind_bar<'t, 's>(input: Tokens<'t, 's>) -> IResult<Tokens<'t, 's>, Token, Failure> {
    preceded(punct(b'|'), kind(TokenKind::Ident, Expected::OPERAND)).parse(input)
}

/// `+ 4`
fn offset<'t, 's>(
    input: Tokens<'t, 's>,
) -> IResult<Tokens<'t, 's>, Result<Constant, ConstantError>, Failure> {
    let (rest, _) = punct(b'+').parse(input)?;
    constant(rest)
}

/// `.b0`, `.x`, …, if that is next.
fn selector<'t, 's>(input: Tokens<'t, 's>) -> IResult<Tokens<'t, 's>, Option<Span>, Failure> {
    opt(kind(TokenKind::Dot, Expected::SELECTOR).map(|token: Token| token.span())).parse(input)
}

/// The number of tokens before the `;` or the end, if all operands are plain, as most are: names,
/// numbers, pairs of names, vectors of these, and addresses of a name and a number. The grammar
/// accepts plain operands, too, and no statement starts among them but at the first token.
pub(super) fn plain_operands(source: &str, tokens: &[Token]) -> Option<usize> {
    let mut at = At::Start;
    let mut count = 0;
    for token in tokens {
        let class = token.class();
        let is_negated = matches!(at, At::Minus | At::ElementMinus);
        at = PLAIN[at as usize][class as usize];
        if at >= At::End {
            break;
        }
        match (class, token.span().len()) {
            // A dotted word that is longer than a selector may be a directive.
            (DOT, 4..) => return None,
            (IDENT, 7) if token.span().text(source) == "WARP_SZ" => return None,
            // The grammar knows which numbers take a sign.
            (NUMBER, 10..) if is_negated => return None,
            _ => {}
        }
        count += 1;
    }
    matches!(at, At::Start | At::Name | At::Number | At::Whole | At::End).then_some(count)
}

/// What was read last, among plain operands.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd)]
enum At {
    Start,
    /// `,`
    Operand,
    Minus,
    Number,
    Name,
    Bar,
    /// The end of a pair, a selector or a bracket.
    Whole,
    Open,
    Base,
    Plus,
    Offset,
    /// The start of a vector, or a `,` in it.
    Element,
    ElementMinus,
    ElementNumber,
    ElementName,
    ElementWhole,
    /// `;`
    End,
    /// Something that is not plain.
    Other,
}

/// The state that follows each state, by the class of the next token.
static PLAIN: [[At; 256]; At::End as usize] = {
    use At::{
        Bar, Base, Element, ElementMinus, ElementName, ElementNumber, ElementWhole, End, Minus,
        Name, Number, Offset, Open, Operand, Other, Plus, Start, Whole,
    };
    let mut table = [[Other; 256]; End as usize];
    let steps: [(&[At], u8, At); 20] = [
        (&[Start, Operand], IDENT, Name),
        (&[Start, Operand, Minus], NUMBER, Number),
        (&[Start, Operand], b'-', Minus),
        (&[Start, Operand], b'[', Open),
        (&[Start, Operand], b'{', Element),
        (&[Name], b'|', Bar),
        (&[Bar], IDENT, Whole),
        (&[Open], IDENT, Base),
        (&[Base], b'+', Plus),
        (&[Plus], NUMBER, Offset),
        (&[Base, Offset], b']', Whole),
        (&[Name], DOT, Whole),
        (&[Name, Number, Whole], b',', Operand),
        (&[Start, Name, Number, Whole], b';', End),
        (&[Element], IDENT, ElementName),
        (&[Element, ElementMinus], NUMBER, ElementNumber),
        (&[Element], b'-', ElementMinus),
        (&[ElementName], DOT, ElementWhole),
        (&[ElementName, ElementNumber, ElementWhole], b',', Element),
        (&[ElementName, ElementNumber, ElementWhole], b'}', Whole),
    ];
    let mut step = 0;
    while step < steps.len() {
        let (from, class, to) = steps[step];
        let mut at = 0;
        while at < from.len() {
            table[from[at] as usize][class as usize] = to;
            at += 1;
        }
        step += 1;
    }
    table
};
