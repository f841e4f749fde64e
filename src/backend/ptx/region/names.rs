//! The names in a function.

use crate::hash::{Map, Set};
use crate::ir::Range;
use crate::source::Span;
use crate::syntax::constant::integer_literal;
use crate::syntax::lexer::Lexer;
use crate::syntax::{Token, TokenKind};
use crate::video::{Register, numbered};

/// The base of a register's name, and its number.
type Name<'s> = (&'s str, &'s str);

/// The names in a function.
#[derive(Default)]
pub(super) struct Names<'s> {
    /// The uses of those with a number.
    uses: Map<Name<'s>, Uses<'s>>,
    /// The names that declare a range.
    ranges: Set<&'s str>,
}

#[derive(Default)]
struct Uses<'s> {
    /// How often the name occurs.
    count: u32,
    /// How often it stands where an instruction may write it.
    writes: u32,
    /// The moves into it.
    moves: Vec<Move<'s>>,
}

/// A `mov` of 32 bits.
struct Move<'s> {
    from: Origin<'s>,
    is_guarded: bool,
}

#[derive(Clone, Copy)]
enum Origin<'s> {
    Constant(u32),
    Name(Name<'s>),
}

/// How many video instructions write each register, and the range that holds their results.
pub(in super::super) type Results<'m> = Map<Name<'m>, (u32, Option<Range>)>;

/// No more registers are looked at to find the range of one.
const MOST: usize = 32;

impl<'s> Names<'s> {
    /// The names after a function's own. `None` if registers may stand before it, or if
    /// the function's end is not found.
    pub(super) fn of(source: &'s str, function: Span) -> Option<Names<'s>> {
        let mut head = source[..function.start as usize].trim_end();
        if let Some(results) = head.strip_suffix(')') {
            // A `;` bounds the search.
            let start = results.rfind(['(', ';'])?;
            let list = &results[start..];
            if !list.starts_with('(') || list.contains(".reg") {
                return None;
            }
            head = results[..start].trim_end();
        }
        let word = &head[head.rfind('.')?..];
        if word != ".func" && word != ".entry" {
            return None;
        }
        let mut names = Names::default();
        let mut lexer = Lexer::new(source, function.end as usize);
        let (mut depth, mut before) = (0, "");
        let mut statement = Statement::default();
        loop {
            let token = lexer.token()?;
            let text = token.span.text(source);
            let found = statement.take(token, text);
            if let Some(Found::Move(name, moved)) = found {
                names.uses.entry(name).or_default().moves.push(moved);
                continue;
            }
            match token.kind {
                TokenKind::Ident => {
                    let name = numbered(text);
                    if !name.1.is_empty() {
                        let uses = names.uses.entry(name).or_default();
                        uses.count += 1;
                        uses.writes += u32::from(found.is_some());
                    }
                }
                TokenKind::Punct(_) if token.is(b'{') => depth += 1,
                TokenKind::Punct(_) if token.is(b'}') && depth == 1 => return Some(names),
                TokenKind::Punct(_) if token.is(b'}') && depth == 0 => return None,
                TokenKind::Punct(_) if token.is(b'}') => depth -= 1,
                TokenKind::Punct(_) if token.is(b'<') => _ = names.ranges.insert(before),
                // Functions do not nest: this one has no end.
                TokenKind::Dot if matches!(text, ".func" | ".entry") => return None,
                _ => {}
            }
            before = text;
        }
    }

    /// How often the function names a register, if it declares it itself, by a range.
    pub(super) fn occurrences(&self, register: &Register) -> Option<u32> {
        Some(self.own(numbered(register.name()))?.count)
    }

    /// The uses of a register that the function declares by a range.
    fn own<'n>(&'n self, name: Name<'n>) -> Option<&'n Uses<'n>> {
        self.uses.get(&name).filter(|_| self.ranges.contains(name.0))
    }

    /// The value of a register that holds the same constant wherever it has a value: a range in
    /// the function declares it, and one `mov` alone writes it.
    pub(super) fn constant(&self, register: &Register) -> Option<u32> {
        let Uses { writes, moves, .. } = self.own(numbered(register.name()))?;
        match moves[..] {
            [Move { from: Origin::Constant(value), is_guarded: false }] if *writes == 1 => {
                Some(value)
            }
            _ => None,
        }
    }

    /// The range in which a register lies wherever it has a value: a range in the function declares
    /// it, and it holds constants and results of video instructions only, perhaps by way of other
    /// registers.
    pub(super) fn range(&self, register: &Register, results: &Results<'_>) -> Option<Range> {
        let mut names: Vec<Name<'_>> = vec![numbered(register.name())];
        let mut range: Option<Range> = None;
        let mut at = 0;
        while let Some(&name) = names.get(at) {
            let Uses { writes, moves, .. } = self.own(name)?;
            let (count, own) = results.get(&name).copied().unwrap_or((0, None));
            if count > 0 {
                range = Some(joined(range, own?)?);
            }
            if *writes == 0 || *writes != count + moves.len() as u32 {
                return None;
            }
            for Move { from, .. } in moves {
                match *from {
                    Origin::Constant(value) => {
                        let value = i128::from(value.cast_signed());
                        range = Some(joined(range, Range::new(value, value))?);
                    }
                    Origin::Name(name) if names.contains(&name) => {}
                    Origin::Name(_) if names.len() >= MOST => return None,
                    Origin::Name(name) => names.push(name),
                }
            }
            at += 1;
        }
        range
    }
}

/// The range that holds both, if it is one of signed words or of unsigned ones.
pub(in super::super) fn joined(one: Option<Range>, other: Range) -> Option<Range> {
    let range = match one {
        Some(one) => Range::new(one.min.min(other.min), one.max.max(other.max)),
        None => other,
    };
    let fits = |signed| Range::bits(32, signed).contains_range(range);
    (fits(true) || fits(false)).then_some(range)
}

/// A statement as far as it is read. Instructions write what their first operand names only.
#[derive(Default)]
struct Statement<'s> {
    place: Place,
    /// Open brackets of all kinds in the operands.
    nesting: u32,
    is_guarded: bool,
    /// The first tokens, without a guard. In a `.loc`, the one before a label.
    start: Vec<&'s str>,
}

enum Found<'s> {
    /// An instruction may write what the token names.
    Write,
    /// The token ends a `mov` into a register.
    Move(Name<'s>, Move<'s>),
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Place {
    #[default]
    Start,
    Guard,
    First,
    Later,
    /// In a directive. It ends with a `;`.
    Directive,
    /// In a `.loc`, which has no `;`: `.loc 1 2 3, function_name $L1, inlined_at 1 5 3`.
    Line,
}

/// As many tokens as `mov.u32 r, -1`.
const MOVE: usize = 6;

impl<'s> Statement<'s> {
    /// Takes the next token of the function.
    fn take(&mut self, token: Token, text: &'s str) -> Option<Found<'s>> {
        let is_name = token.kind == TokenKind::Ident;
        let punctuation = if let TokenKind::Punct([one, 0]) = token.kind { one } else { 0 };
        if self.place == Place::Line {
            let is_label = self.start == ["function_name"];
            self.start.clear();
            if text == "function_name" {
                self.start.push(text);
            } else if !is_label
                && token.kind != TokenKind::Number
                && !matches!(text, "," | "+" | "inlined_at")
            {
                self.place = Place::Start;
            }
        }
        let mut found = None;
        match (self.place, punctuation) {
            // A label, or the brace of a block.
            (Place::First, b':') | (Place::Start | Place::Directive, b'{' | b'}') => {
                self.end();
                return None;
            }
            (_, b';') => {
                let is_guarded = self.is_guarded;
                let moved = self.moved();
                self.end();
                return moved.map(|(name, from)| Found::Move(name, Move { from, is_guarded }));
            }
            (Place::Start, b'@') => {
                self.is_guarded = true;
                self.place = Place::Guard;
            }
            (Place::Start, _) if is_name => self.place = Place::First,
            (Place::Start, _) if text == ".loc" => self.place = Place::Line,
            (Place::Start, _) => self.place = Place::Directive,
            (Place::Guard, _) if is_name => self.place = Place::Start,
            (Place::First, b',') if self.nesting == 0 => self.place = Place::Later,
            (Place::First | Place::Directive, _) if is_name => found = Some(Found::Write),
            (_, b'(' | b'[' | b'{') => self.nesting += 1,
            (_, b')' | b']' | b'}') => self.nesting = self.nesting.saturating_sub(1),
            _ => {}
        }
        if matches!(self.place, Place::First | Place::Later) && self.start.len() <= MOVE {
            self.start.push(text);
        }
        found
    }

    fn end(&mut self) {
        self.start.clear();
        *self = Statement { start: std::mem::take(&mut self.start), ..Statement::default() };
    }

    /// The register that the statement writes, if it is a `mov` of 32 bits.
    fn moved(&self) -> Option<(Name<'s>, Origin<'s>)> {
        let (register, from) = match self.start[..] {
            ["mov", ".u32" | ".s32" | ".b32", register, ",", value] => {
                let constant = moved_word(false, value).map(Origin::Constant);
                (register, constant.unwrap_or(Origin::Name(numbered(value))))
            }
            ["mov", ".u32" | ".s32" | ".b32", register, ",", "-", value] => {
                (register, Origin::Constant(moved_word(true, value)?))
            }
            _ => return None,
        };
        Some((numbered(register), from))
    }
}

/// The word that a `mov` of 32 bits makes of a literal, perhaps with a minus.
pub(in super::super) fn moved_word(is_negative: bool, literal: &str) -> Option<u32> {
    let bits = integer_literal(literal)?;
    Some((if is_negative { bits.wrapping_neg() } else { bits }) as u32)
}
