//! The grammar of declarations and directives, over their tokens.
//!
//! The parser decides where a statement ends, whatever it holds. This module finds the first token
//! of the statement that PTX does not allow there. A dotted word that vptx does not know may be a
//! type, or an attribute of a header.

use nom::branch::alt;
use nom::combinator::{cut, eof, not, opt};
use nom::multi::{many0_count, many1_count};
use nom::sequence::{delimited, pair, preceded, terminated};
use nom::{IResult, Parser};

use super::super::constant::integer_literal;
use super::super::grammar::{Expected, Failure, Tokens, kind, punct};
use super::super::lexer::{Token, TokenKind};
use super::DirectiveKind;

/// The tokens of a statement, or of a part of it.
type Input<'t> = Tokens<'t, 't>;

/// The tokens behind those that a parser took.
type Rest<'t> = IResult<Input<'t>, (), Failure>;

/// What the tokens have to be.
pub(super) type Grammar = for<'t> fn(Input<'t>) -> Rest<'t>;

const LINKAGE: &[&str] = &[".visible", ".extern", ".weak", ".common"];
const SPACES: &[&str] =
    &[".reg", ".param", ".global", ".shared", ".local", ".const", ".tex", ".sreg"];
const VECTORS: &[&str] = &[".v2", ".v4"];
/// Types of registers and variables. Those of a later PTX are not known.
const TYPES: &[&str] = &[
    ".b8", ".b16", ".b32", ".b64", ".b128", ".u8", ".u16", ".u32", ".u64", ".s8", ".s16", ".s32",
    ".s64", ".f16", ".f16x2", ".f32", ".f64", ".pred",
];
const OPAQUE_TYPES: &[&str] = &[".texref", ".samplerref", ".surfref"];

/// A word behind the parameters of a function, and how many numbers follow it.
struct Attribute {
    name: &'static str,
    least: usize,
    most: usize,
}

const fn attribute_with(name: &'static str, least: usize, most: usize) -> Attribute {
    Attribute { name, least, most }
}

const OF_KERNELS: &[Attribute] = &[
    attribute_with(".maxntid", 1, 3),
    attribute_with(".reqntid", 1, 3),
    attribute_with(".maxnreg", 1, 1),
    attribute_with(".minnctapersm", 1, 1),
    attribute_with(".maxnctapersm", 1, 1),
    attribute_with(".reqnctapercluster", 1, 3),
    attribute_with(".maxclusterrank", 1, 1),
    attribute_with(".explicitcluster", 0, 0),
    attribute_with(".blocksareclusters", 0, 0),
];
const OF_DEVICE_FUNCTIONS: &[Attribute] = &[
    attribute_with(".noreturn", 0, 0),
    attribute_with(".abi_preserve", 1, 1),
    attribute_with(".abi_preserve_control", 1, 1),
];

/// Words behind the parameters of a function that the manual does not have. ptxas 13.5 takes them.
const OTHER_ATTRIBUTES: &[&str] = &[".language", ".local_maxnreg", ".minperctamemory"];

/// The types that variables, registers and parameters may have, with their dots.
pub(crate) fn types() -> impl Iterator<Item = &'static str> {
    TYPES.iter().chain(OPAQUE_TYPES).copied()
}

/// The words that may stand behind the parameters of a kernel or of a function, with their dots.
pub(crate) fn attributes() -> impl Iterator<Item = &'static str> {
    let own = OF_KERNELS.iter().chain(OF_DEVICE_FUNCTIONS).map(|it| it.name);
    own.chain(OTHER_ATTRIBUTES.iter().copied()).chain([".pragma"])
}

/// The first place where some tokens are not what a grammar takes: the number of tokens left there,
/// and what may stand there.
pub(super) fn misfit(
    source: &str,
    tokens: &[Token],
    grammar: Grammar,
) -> Option<(usize, Expected)> {
    let result = terminated(grammar, eof).parse(Tokens::new(source, tokens));
    let failure = Failure::of(result.err()?);
    Some((failure.left, failure.expected))
}

/// The words before the names outside of a function: `.visible .global .align 8 .v2 .f32`.
pub(super) fn words(input: Input<'_>) -> Rest<'_> {
    preceded(opt(dotted(LINKAGE)), local_words).parse(input)
}

/// The words before the names inside a function.
pub(super) fn local_words(input: Input<'_>) -> Rest<'_> {
    (many1_count(specifier), opt(dotted(VECTORS)), ty).map(drop).parse(input)
}

/// A name, with any value: `a`, `%r<10>`, `a[][4] = …`.
pub(super) fn name(input: Input<'_>) -> Rest<'_> {
    let first = delimited(punct(b'['), opt(integer), cut(punct(b']')));
    let dimension = delimited(punct(b'['), cut(integer), cut(punct(b']')));
    let dimensions = pair(first, many0_count(dimension)).map(drop);
    let value = pair(punct(b'='), many0_count(part_of_value));
    (identifier, opt(alt((range, dimensions))), opt(value)).map(drop).parse(input)
}

/// A token of a value, or a cast: no other words with a dot are in a value.
fn part_of_value(input: Input<'_>) -> Rest<'_> {
    let cast = delimited(punct(b'('), dotted(&[".s64", ".u64"]), punct(b')')).map(drop);
    alt((cast, other_than(TokenKind::Dot))).parse(input)
}

/// A parameter or a result: `.param .u64 .ptr .global .align 8 p`, `.reg .b32 r`.
pub(super) fn parameter(input: Input<'_>) -> Rest<'_> {
    // `_` in a prototype.
    let name = kind(TokenKind::Ident, Expected::NAME);
    let pointer = pair(dotted(&[".ptr"]), opt(dotted(SPACES)));
    let size = delimited(punct(b'['), opt(integer), cut(punct(b']')));
    (many1_count(specifier), opt(dotted(VECTORS)), ty, opt(pointer), opt(align), name, opt(size))
        .map(drop)
        .parse(input)
}

/// The header of a kernel or of a function, whatever stands between its parentheses.
pub(super) fn header(input: Input<'_>) -> Rest<'_> {
    let pragma = (dotted(&[".pragma"]), cut(list(string)), cut(punct(b';')));
    let kernel = (
        dotted(&[".entry"]),
        cut(identifier),
        opt(group),
        many0_count(alt((pragma.map(drop), attribute_of(OF_KERNELS, OF_DEVICE_FUNCTIONS)))),
    );
    let function = (
        dotted(&[".func"]),
        many0_count(attribute),
        opt(group),
        cut(identifier),
        opt(group),
        many0_count(attribute_of(OF_DEVICE_FUNCTIONS, OF_KERNELS)),
    );
    let function = alt((kernel.map(drop), function.map(drop)));
    (opt(dotted(LINKAGE)), function, opt(punct(b';'))).map(drop).parse(input)
}

/// The grammar of a directive, without the parameters and the data inside of it.
pub(super) fn directive(kind: DirectiveKind) -> Grammar {
    match kind {
        DirectiveKind::Version => version,
        DirectiveKind::Target => target,
        DirectiveKind::AddressSize => address_size,
        DirectiveKind::File => file,
        DirectiveKind::Loc => loc,
        DirectiveKind::Section => section,
        DirectiveKind::Pragma => pragma,
        DirectiveKind::Alias => alias,
        DirectiveKind::BranchTargets | DirectiveKind::CallTargets => targets,
        DirectiveKind::CallPrototype => prototype,
        DirectiveKind::Dwarf | DirectiveKind::Unknown => unknown,
    }
}

/// `.callprototype (.param .b32 _) _ (.param .b64 _) .noreturn;`
fn prototype(input: Input<'_>) -> Rest<'_> {
    let name = word(TokenKind::Ident, Expected::NAME, |text| text == "_");
    let attributes = many0_count(attribute_of(OF_DEVICE_FUNCTIONS, OF_KERNELS));
    (dotted_word, opt(group), name, opt(group), attributes, punct(b';')).map(drop).parse(input)
}

/// `.branchtargets a, b, L<3>;`, `.calltargets f, g;`
fn targets(input: Input<'_>) -> Rest<'_> {
    (dotted_word, list(names), punct(b';')).map(drop).parse(input)
}

/// A name, or names that a number enumerates: `L<3>`.
fn names(input: Input<'_>) -> Rest<'_> {
    pair(identifier, opt(range)).map(drop).parse(input)
}

/// `<10>`
fn range(input: Input<'_>) -> Rest<'_> {
    delimited(punct(b'<'), cut(integer), cut(punct(b'>'))).parse(input)
}

/// `.alias a, b;`
fn alias(input: Input<'_>) -> Rest<'_> {
    (dotted_word, identifier, comma, identifier, punct(b';')).map(drop).parse(input)
}

/// `.pragma "a", "b";`
fn pragma(input: Input<'_>) -> Rest<'_> {
    (dotted_word, list(string), punct(b';')).map(drop).parse(input)
}

/// `.version 8.0`
fn version(input: Input<'_>) -> Rest<'_> {
    (dotted_word, kind(TokenKind::Number, Expected::NUMBER)).map(drop).parse(input)
}

/// `.target sm_90, debug`
fn target(input: Input<'_>) -> Rest<'_> {
    pair(dotted_word, list(identifier)).map(drop).parse(input)
}

/// `.address_size 64`
fn address_size(input: Input<'_>) -> Rest<'_> {
    pair(dotted_word, number).map(drop).parse(input)
}

/// `.file 1 "a.cu", 2, 3`
fn file(input: Input<'_>) -> Rest<'_> {
    let stamps = (comma, cut(integer), opt((comma, cut(integer))));
    (dotted_word, integer, string, opt(stamps)).map(drop).parse(input)
}

/// `.loc 1 2 3, function_name $L + 4, inlined_at 1 2 3`
fn loc(input: Input<'_>) -> Rest<'_> {
    let place = || (integer, integer, integer);
    let exact = |text| word(TokenKind::Ident, Expected::NONE, move |it| it == text);
    let offset = preceded(punct(b'+'), cut(integer));
    let inlined =
        (exact("function_name"), identifier, opt(offset), comma, exact("inlined_at"), place());
    (dotted_word, place(), opt(preceded(comma, cut(inlined)))).map(drop).parse(input)
}

/// `.section .debug_info`, before its `{`.
fn section(input: Input<'_>) -> Rest<'_> {
    pair(dotted_word, dotted_word).map(drop).parse(input)
}

/// A directive of an unknown kind. A type starts no directive: the state space or the opcode before
/// it is missing. But ptxas takes `.b32;`.
fn unknown(input: Input<'_>) -> Rest<'_> {
    let rest = many0_count(other_than(TokenKind::Unknown)).map(drop);
    preceded(not(pair(dotted(TYPES), not(punct(b';')))), rest).parse(input)
}

/// The data of a section: `a: .b8 1, 2 .b32 a+4`
pub(super) fn data(input: Input<'_>) -> Rest<'_> {
    let label = pair(identifier, punct(b':')).map(drop);
    let values = pair(dotted_word, cut(list(datum))).map(drop);
    many0_count(alt((label, values))).map(drop).parse(input)
}

/// A value in the data of a section: `-4`, `a+4`, `a-b`, `.debug_info+4`.
fn datum(input: Input<'_>) -> Rest<'_> {
    let sign = || alt((punct(b'+'), punct(b'-')));
    let part = || alt((number, identifier, dotted_word));
    (opt(punct(b'-')), part(), many0_count(pair(sign(), cut(part())))).map(drop).parse(input)
}

/// A word before the vector and the type, in any order: a state space, `.align 8`, `.attribute(…)`.
fn specifier(input: Input<'_>) -> Rest<'_> {
    // `.const[2]`
    let bank = delimited(punct(b'['), cut(integer), cut(punct(b']')));
    let space = pair(dotted(SPACES), opt(bank)).map(drop);
    alt((space, align, attribute)).parse(input)
}

fn align(input: Input<'_>) -> Rest<'_> {
    pair(dotted(&[".align"]), cut(integer)).map(drop).parse(input)
}

/// `.attribute(.managed, .unified(1, 2))`
fn attribute(input: Input<'_>) -> Rest<'_> {
    fn one(input: Input<'_>) -> Rest<'_> {
        let numbers = delimited(punct(b'('), cut(list(integer)), cut(punct(b')')));
        pair(dotted_word, opt(numbers)).map(drop).parse(input)
    }
    let all = delimited(cut(punct(b'(')), cut(list(one)), cut(punct(b')')));
    pair(dotted(&[".attribute"]), all).map(drop).parse(input)
}

/// `.maxntid 128, 1, 1` behind the parameters: an attribute of one kind of function, or one that is
/// of neither kind.
fn attribute_of<'t>(
    own: &'static [Attribute],
    other: &'static [Attribute],
) -> impl Parser<Input<'t>, Output = (), Error = Failure> {
    move |input: Input<'t>| {
        let (mut rest, token) = word(TokenKind::Dot, Expected::NONE, is_word).parse(input)?;
        let named = |attribute: &&Attribute| attribute.name == input.text(token);
        if other.iter().any(|attribute| named(&attribute)) {
            return Err(input.expected(Expected::NONE));
        }
        let known = own.iter().find(named);
        let (least, most) = known.map_or((0, usize::MAX), |it| (it.least, it.most));
        for count in 0..most {
            match alt((integer, string)).parse(rest) {
                Ok((after, ())) => rest = after,
                Err(_) if count == 0 && least == 0 => break,
                Err(nom::Err::Error(it)) => return Err(nom::Err::Failure(it)),
                Err(it) => return Err(it),
            }
            let is_followed = rest.first().is_some_and(|next| next.is(b',')) && count + 1 < most;
            if !is_followed {
                break;
            }
            rest = rest.skip(1);
        }
        Ok((rest, ()))
    }
}

/// What stands between parentheses, and the parentheses.
fn group(input: Input<'_>) -> Rest<'_> {
    let inside = |input: Input<'_>| input.first().is_some_and(|token| !token.is(b')'));
    let (mut rest, _) = punct(b'(').parse(input)?;
    while inside(rest) {
        rest = rest.skip(1);
    }
    punct(b')').map(drop).parse(rest)
}

fn ty(input: Input<'_>) -> Rest<'_> {
    let is_type = |text: &str| {
        // Some instructions have vectors of eight; no variable is one.
        let others = [LINKAGE, SPACES, VECTORS, &[".align", ".attribute", ".ptr", ".v8"]];
        !others.iter().any(|words| words.contains(&text))
    };
    word(TokenKind::Dot, Expected::TYPE, is_type).map(drop).parse(input)
}

fn identifier(input: Input<'_>) -> Rest<'_> {
    let is_name = |text: &str| !matches!(text, "_" | "WARP_SZ");
    word(TokenKind::Ident, Expected::NAME, is_name).map(drop).parse(input)
}

fn string(input: Input<'_>) -> Rest<'_> {
    kind(TokenKind::Str, Expected::STRING).map(drop).parse(input)
}

/// An integer, or the constant that stands for 32.
fn integer(input: Input<'_>) -> Rest<'_> {
    let constant = word(TokenKind::Ident, Expected::NUMBER, |text| text == "WARP_SZ");
    alt((number, constant.map(drop))).parse(input)
}

fn number(input: Input<'_>) -> Rest<'_> {
    let is_integer = |text: &str| integer_literal(text).is_some();
    word(TokenKind::Number, Expected::NUMBER, is_integer).map(drop).parse(input)
}

fn comma(input: Input<'_>) -> Rest<'_> {
    kind(TokenKind::Punct([b',', 0]), Expected::COMMA).map(drop).parse(input)
}

/// A token of any other kind.
fn other_than<'t>(kind: TokenKind) -> impl Parser<Input<'t>, Output = (), Error = Failure> {
    move |input: Input<'t>| match input.first() {
        Some(token) if token.kind() != kind => Ok((input.skip(1), ())),
        _ => Err(input.expected(Expected::NONE)),
    }
}

/// One or more items with commas between them.
fn list<'t>(
    item: fn(Input<'t>) -> Rest<'t>,
) -> impl Parser<Input<'t>, Output = (), Error = Failure> {
    pair(item, many0_count(preceded(punct(b','), cut(item)))).map(drop)
}

/// Any word with a dot.
fn dotted_word(input: Input<'_>) -> Rest<'_> {
    word(TokenKind::Dot, Expected::NONE, is_word).map(drop).parse(input)
}

fn is_word(text: &str) -> bool {
    text.len() > 1
}

fn dotted<'t>(
    words: &'static [&'static str],
) -> impl Parser<Input<'t>, Output = Token, Error = Failure> {
    word(TokenKind::Dot, Expected::NONE, |text| words.contains(&text))
}

pub(super) fn word<'t, 's>(
    wanted: TokenKind,
    expected: Expected,
    fits: impl Fn(&str) -> bool,
) -> impl Parser<Tokens<'t, 's>, Output = Token, Error = Failure> {
    move |input: Tokens<'t, 's>| match input.first() {
        Some(token) if token.kind() == wanted && fits(input.text(token)) => {
            Ok((input.skip(1), token))
        }
        _ => Err(input.expected(expected)),
    }
}
