//! The grammar of one instruction, over its tokens.
//!
//! It accepts more than PTX does: any mnemonic, any modifiers, and operands in places where they
//! are illegal. The checker can then tell the exact fault instead of "syntax error".

use nom::combinator::opt;
use nom::multi::{fold_many0, separated_list0};
use nom::sequence::preceded;
use nom::{IResult, Input, Parser};

use super::constant::{Constant, ConstantError, constant};
use super::lexer::{Token, TokenKind};
use super::tree::Guard;
use crate::source::Span;

/// An instruction as written.
#[derive(Clone, Debug)]
pub struct RawInstruction {
    /// From the guard or mnemonic to the `;`, or to the last token without it.
    pub span: Span,
    /// `@p` or `@!p`.
    pub guard: Option<Guard>,
    /// The opcode up to its first dot.
    pub mnemonic: Span,
    /// Each modifier with its dot.
    pub modifiers: Vec<Span>,
    /// The operands.
    pub operands: Vec<RawOperand>,
}

/// An operand as written.
#[derive(Clone, Copy, Debug)]
pub struct RawOperand {
    /// All of it, sign and selector included.
    pub span: Span,
    /// A `-` before a name; the sign of a constant is part of the constant.
    pub minus: Option<Span>,
    /// The kind of operand.
    pub shape: Shape,
    /// The name or constant without sign and selector.
    pub value: Span,
    /// `.b0`, `.h32`, … with the dot.
    pub selector: Option<Span>,
}

/// The kinds of operand that parse.
#[derive(Clone, Copy, Debug)]
pub enum Shape {
    /// An identifier.
    Name,
    /// `_`
    Discard,
    /// A constant expression and its value.
    Constant(Result<Constant, ConstantError>),
    /// `!p`
    Not,
    /// `d|p` or `d|_`
    Pair {
        /// Whether it is a bare name followed by `|_`.
        discards: bool,
    },
    /// `[…]`
    Address,
    /// `{…}`
    Vector,
    /// `"…"`
    Text,
}

/// The tokens still to be read, with the text they come from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tokens<'t, 's> {
    tokens: &'t [Token],
    source: &'s str,
}

impl<'t, 's> Tokens<'t, 's> {
    pub(super) fn new(source: &'s str, tokens: &'t [Token]) -> Tokens<'t, 's> {
        Tokens { tokens, source }
    }

    pub(super) fn tokens(&self) -> &'t [Token] {
        self.tokens
    }

    pub(super) fn first(&self) -> Option<Token> {
        self.tokens.first().copied()
    }

    pub(super) fn text(&self, token: Token) -> &'s str {
        token.span().text(self.source)
    }

    #[must_use]
    pub(super) fn skip(self, count: usize) -> Self {
        Tokens { tokens: &self.tokens[count..], ..self }
    }

    /// The type of a cast, if one is next: `Some(true)` for `.s64`, `Some(false)` for `.u64`.
    pub(super) fn cast(&self) -> Option<bool> {
        let token = self.first().filter(|token| token.kind() == TokenKind::Dot)?;
        match self.text(token) {
            ".s64" => Some(true),
            ".u64" => Some(false),
            _ => None,
        }
    }

    pub(super) fn expected(&self, expected: Expected) -> nom::Err<Failure> {
        nom::Err::Error(Failure::at(self.tokens.len(), expected))
    }
}

impl<'t> Input for Tokens<'t, '_> {
    type Item = Token;
    type Iter = std::iter::Copied<std::slice::Iter<'t, Token>>;
    type IterIndices = std::iter::Enumerate<Self::Iter>;

    fn input_len(&self) -> usize {
        self.tokens.len()
    }

    fn take(&self, index: usize) -> Self {
        Tokens { tokens: &self.tokens[..index], ..*self }
    }

    fn take_from(&self, index: usize) -> Self {
        self.skip(index)
    }

    fn take_split(&self, index: usize) -> (Self, Self) {
        (self.take_from(index), self.take(index))
    }

    fn position<P: Fn(Token) -> bool>(&self, predicate: P) -> Option<usize> {
        self.tokens.iter().position(|&token| predicate(token))
    }

    fn iter_elements(&self) -> Self::Iter {
        self.tokens.iter().copied()
    }

    fn iter_indices(&self) -> Self::IterIndices {
        self.iter_elements().enumerate()
    }

    fn slice_index(&self, count: usize) -> Result<usize, nom::Needed> {
        match self.tokens.len() {
            len if len >= count => Ok(count),
            len => Err(nom::Needed::new(count - len)),
        }
    }
}

/// The tokens that could have stood where parsing stopped: a set of flags.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expected(u16);

impl Expected {
    /// Nothing in particular.
    pub const NONE: Expected = Expected(0);
    /// A predicate register after `@`.
    pub const PREDICATE: Expected = Expected(1);
    /// An opcode.
    pub const MNEMONIC: Expected = Expected(1 << 1);
    /// A modifier.
    pub const MODIFIER: Expected = Expected(1 << 2);
    /// A register or constant.
    pub const OPERAND: Expected = Expected(1 << 3);
    /// A selector.
    pub const SELECTOR: Expected = Expected(1 << 4);
    /// `,`
    pub const COMMA: Expected = Expected(1 << 5);
    /// `;`
    pub const SEMICOLON: Expected = Expected(1 << 6);
    /// Part of a constant expression.
    pub const CONSTANT: Expected = Expected(1 << 7);
    /// `)`
    pub const CLOSE: Expected = Expected(1 << 8);
    /// `:` of a conditional expression.
    pub const COLON: Expected = Expected(1 << 9);
    /// The bracket that closes an address or a vector.
    pub const BRACKET: Expected = Expected(1 << 10);
    /// The name of a register, a variable, a function or a label.
    pub const NAME: Expected = Expected(1 << 11);
    /// A type.
    pub const TYPE: Expected = Expected(1 << 12);
    /// A number.
    pub const NUMBER: Expected = Expected(1 << 13);
    /// A string.
    pub const STRING: Expected = Expected(1 << 14);

    const NAMES: [(Expected, &'static str); 15] = [
        (Expected::PREDICATE, "a predicate register"),
        (Expected::MNEMONIC, "an instruction"),
        (Expected::MODIFIER, "a modifier"),
        (Expected::OPERAND, "an operand"),
        (Expected::SELECTOR, "a selector"),
        (Expected::CONSTANT, "a constant"),
        (Expected::NAME, "a name"),
        (Expected::TYPE, "a type"),
        (Expected::NUMBER, "a number"),
        (Expected::STRING, "a string"),
        (Expected::CLOSE, "`)`"),
        (Expected::COLON, "`:`"),
        (Expected::BRACKET, "the closing bracket"),
        (Expected::COMMA, "`,`"),
        (Expected::SEMICOLON, "`;`"),
    ];

    /// The members in words, for a message.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        Expected::NAMES
            .into_iter()
            .filter(move |(flag, _)| self.0 & flag.0 != 0)
            .map(|(_, name)| name)
    }

    /// Whether all of `other` is in the set.
    pub const fn contains(self, other: Expected) -> bool {
        self.0 & other.0 == other.0
    }
}

/// The place after which an instruction cannot be parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Number of tokens not read.
    pub left: usize,
    /// The tokens that could have stood there.
    pub expected: Expected,
    /// The error of a constant expression, if that is the reason.
    pub constant: Option<ConstantError>,
}

impl Failure {
    pub(super) fn constant(error: ConstantError) -> Failure {
        Failure { constant: Some(error), ..Failure::at(0, Expected::NONE) }
    }

    pub(super) fn at(left: usize, expected: Expected) -> Failure {
        Failure { left, expected, constant: None }
    }

    /// The failure in an error of nom.
    #[allow(clippy::needless_pass_by_value, reason = "errors are mapped")]
    pub(super) fn of(error: nom::Err<Failure>) -> Failure {
        match error {
            nom::Err::Error(failure) | nom::Err::Failure(failure) => failure,
            nom::Err::Incomplete(_) => unreachable!("no streaming parser is used"),
        }
    }
}

impl<'t, 's> nom::error::ParseError<Tokens<'t, 's>> for Failure {
    fn from_error_kind(input: Tokens<'t, 's>, _: nom::error::ErrorKind) -> Failure {
        Failure::at(input.tokens.len(), Expected::NONE)
    }

    fn append(_: Tokens<'t, 's>, _: nom::error::ErrorKind, other: Failure) -> Failure {
        other
    }

    /// Prefers the alternative that got further, because its failure says more.
    fn or(self, other: Failure) -> Failure {
        match self.left.cmp(&other.left) {
            std::cmp::Ordering::Less => self,
            std::cmp::Ordering::Greater => other,
            std::cmp::Ordering::Equal => {
                Failure { expected: Expected(self.expected.0 | other.expected.0), ..self }
            }
        }
    }
}

pub(super) fn kind<'t, 's>(
    kind: TokenKind,
    expected: Expected,
) -> impl Parser<Tokens<'t, 's>, Output = Token, Error = Failure> {
    move |input: Tokens<'t, 's>| match input.first() {
        Some(token) if token.kind() == kind => Ok((input.skip(1), token)),
        _ => Err(input.expected(expected)),
    }
}

/// A one-byte punctuation.
pub(super) fn punct<'t, 's>(
    byte: u8,
) -> impl Parser<Tokens<'t, 's>, Output = Token, Error = Failure> {
    kind(TokenKind::Punct([byte, 0]), Expected::NONE)
}

/// Reports `expected` if a parser fails at its first token.
pub(super) fn expect<'t, 's, O>(
    mut parser: impl Parser<Tokens<'t, 's>, Output = O, Error = Failure>,
    expected: Expected,
) -> impl Parser<Tokens<'t, 's>, Output = O, Error = Failure> {
    move |input: Tokens<'t, 's>| {
        parser.parse(input).map_err(|error| match error {
            nom::Err::Error(failure) if failure.left == input.tokens.len() => {
                input.expected(expected)
            }
            error => error,
        })
    }
}

fn guard<'t, 's>() -> impl Parser<Tokens<'t, 's>, Output = Guard, Error = Failure> {
    (punct(b'@'), opt(punct(b'!')), kind(TokenKind::Ident, Expected::PREDICATE)).map(
        |(at, not, name)| Guard {
            span: at.span().to(name.span()),
            negated: not.is_some(),
            name: name.span(),
        },
    )
}

/// Reads a guard if there is an `@`. If the guard is malformed, that is the error to report.
fn optional_guard<'t, 's>(
    input: Tokens<'t, 's>,
) -> IResult<Tokens<'t, 's>, Option<Guard>, Failure> {
    if input.first().is_some_and(|token| token.is(b'@')) {
        guard().map(Some).parse(input)
    } else {
        Ok((input, None))
    }
}

/// Skips from an opening bracket past the bracket that closes it.
fn bracketed<'t, 's>(input: Tokens<'t, 's>) -> IResult<Tokens<'t, 's>, Span, Failure> {
    let mut depth = 0usize;
    for (at, token) in input.tokens.iter().enumerate() {
        match token.kind() {
            TokenKind::Punct([b'[' | b'{', 0]) => depth += 1,
            TokenKind::Punct([b']' | b'}', 0]) => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Ok((input.skip(at + 1), input.tokens[0].span().to(token.span())));
        }
    }
    Err(input.skip(input.tokens.len()).expected(Expected::BRACKET))
}

/// Whether a constant expression starts here, rather than a negated name.
pub(super) fn starts_constant(input: Tokens<'_, '_>) -> bool {
    for &token in input.tokens {
        match token.kind() {
            TokenKind::Punct([b'+' | b'-' | b'~' | b'!', 0]) => {}
            TokenKind::Punct([b'(', 0]) | TokenKind::Number => return true,
            TokenKind::Ident => return input.text(token) == "WARP_SZ",
            _ => return false,
        }
    }
    false
}

fn operand<'t, 's>(input: Tokens<'t, 's>) -> IResult<Tokens<'t, 's>, RawOperand, Failure> {
    let Some(first) = input.first() else {
        return Err(input.expected(Expected::OPERAND));
    };
    let (rest, minus, shape, value) = match first.kind() {
        _ if starts_constant(input) => {
            let (rest, value) = constant(input)?;
            let read = input.tokens.len() - rest.tokens.len();
            let span = first.span().to(input.tokens[read - 1].span());
            (rest, None, Shape::Constant(value), span)
        }
        TokenKind::Punct([sign @ (b'-' | b'!'), 0]) => {
            let name = kind(TokenKind::Ident, Expected::OPERAND);
            let (rest, name) = preceded(punct(sign), name).parse(input)?;
            let (minus, shape) = match sign {
                b'-' => (Some(first.span()), Shape::Name),
                _ => (None, Shape::Not),
            };
            (rest, minus, shape, name.span())
        }
        TokenKind::Punct([open @ (b'[' | b'{'), 0]) => {
            let (rest, span) = bracketed(input)?;
            (rest, None, if open == b'[' { Shape::Address } else { Shape::Vector }, span)
        }
        TokenKind::Ident if input.text(first) == "_" => {
            (input.skip(1), None, Shape::Discard, first.span())
        }
        TokenKind::Ident => (input.skip(1), None, Shape::Name, first.span()),
        TokenKind::Str => (input.skip(1), None, Shape::Text, first.span()),
        _ => return Err(input.expected(Expected::OPERAND)),
    };
    let (rest, selector) = opt(kind(TokenKind::Dot, Expected::SELECTOR)).parse(rest)?;
    let pair = preceded(punct(b'|'), kind(TokenKind::Ident, Expected::PREDICATE));
    let (rest, pair) = opt(pair).parse(rest)?;
    let selector = selector.map(Token::span);
    let end = pair.map(|token: Token| token.span()).or(selector).unwrap_or(value);
    let shape = match pair {
        // Only a bare name may stand before the `|`.
        Some(pair) => {
            let bare = matches!(shape, Shape::Name) && minus.is_none() && selector.is_none();
            Shape::Pair { discards: bare && input.text(pair) == "_" }
        }
        None => shape,
    };
    Ok((rest, RawOperand { span: first.span().to(end), minus, shape, value, selector }))
}

/// The guard, the mnemonic and the modifiers.
fn head<'t, 's>() -> impl Parser<Tokens<'t, 's>, Output = RawInstruction, Error = Failure> {
    let modifiers = fold_many0(
        kind(TokenKind::Dot, Expected::MODIFIER),
        // Types, saturation, mode, secondary operation: seven at most.
        || Vec::with_capacity(8),
        |mut spans, token: Token| {
            spans.push(token.span());
            spans
        },
    );
    (optional_guard, kind(TokenKind::Ident, Expected::MNEMONIC), modifiers).map(
        |(guard, mnemonic, modifiers)| RawInstruction {
            span: guard.map_or(mnemonic.span(), |guard| guard.span),
            guard,
            mnemonic: mnemonic.span(),
            modifiers,
            operands: Vec::new(),
        },
    )
}

fn instruction<'t, 's>() -> impl Parser<Tokens<'t, 's>, Output = RawInstruction, Error = Failure> {
    (head(), separated_list0(punct(b','), operand))
        .map(|(head, operands)| RawInstruction { operands, ..head })
}

/// The parts of an instruction before the first place where it does not parse. `None` if that place
/// is before the modifiers.
pub(crate) fn parse_start(source: &str, tokens: &[Token]) -> Option<RawInstruction> {
    let (mut rest, mut raw) = head().parse(Tokens { tokens, source }).ok()?;
    while let Ok((after, operand)) = operand(rest) {
        raw.span = raw.span.to(operand.span);
        raw.operands.push(operand);
        if !after.first().is_some_and(|token| token.is(b',')) {
            break;
        }
        rest = after.skip(1);
    }
    Some(raw)
}

/// Parses one instruction from its tokens, the last of which is the `;`, unless it is missing.
///
/// # Errors
/// The first place where no instruction can continue.
pub fn parse_instruction(source: &str, tokens: &[Token]) -> Result<RawInstruction, Failure> {
    let input = Tokens { tokens, source };
    let (rest, mut raw) = instruction().parse(input).map_err(Failure::of)?;
    let Some(end) = rest.first().filter(|token| token.is(b';')) else {
        return Err(stopped(rest, &raw));
    };
    if rest.tokens.len() > 1 {
        return Err(Failure::at(rest.tokens.len() - 1, Expected::NONE));
    }
    raw.span = raw.span.to(end.span());
    Ok(raw)
}

/// The reason why an instruction does not continue up to its `;`.
fn stopped(rest: Tokens<'_, '_>, raw: &RawInstruction) -> Failure {
    let left = rest.tokens.len();
    let Some(token) = rest.first() else {
        return Failure::at(0, Expected::SEMICOLON);
    };
    if token.is(b',') {
        // The operands end before a comma without an operand behind it; tell why there is none.
        return match operand(rest.skip(1)) {
            Err(error) if !raw.operands.is_empty() => Failure::of(error),
            _ => Failure::at(left, Expected::OPERAND),
        };
    }
    if raw.operands.is_empty() {
        return match operand(rest) {
            Err(error) => Failure::of(error),
            Ok(_) => Failure::at(left, Expected::OPERAND),
        };
    }
    Failure::at(left, Expected(Expected::COMMA.0 | Expected::SEMICOLON.0))
}
