//! The names in a function.

use crate::hash::Map;
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
    /// The names that declare a range, and whether one at the function's level does, alone.
    ranges: Map<&'s str, bool>,
    /// The places of labels, and of branches back to them.
    loops: Vec<(u32, u32)>,
}

#[derive(Default)]
struct Uses<'s> {
    /// How often the name occurs.
    count: u32,
    /// How often it stands where an instruction may write it.
    writes: u32,
    /// The end of the last instruction that writes it, if that is a plain one outside of blocks.
    written_to: Option<u32>,
    /// How many of these are in moves from registers and of constants.
    moves: u32,
    /// A constant that a `mov` without a guard moves into it.
    constant: Option<u32>,
    /// The range of all such constants, also with a guard.
    constants: Option<Range>,
    /// The registers that are moved into it, each once.
    sources: Vec<Name<'s>>,
}

impl<'s> Uses<'s> {
    /// Takes a `mov`. Those that tell nothing of the register's range stay mere writes.
    fn take(&mut self, Move { from, is_guarded, .. }: &Move<'s>) {
        match *from {
            Origin::Constant(value) => {
                let signed = i128::from(value.cast_signed());
                let Some(all) = joined(self.constants, Range::new(signed, signed)) else { return };
                self.constants = Some(all);
                self.constant = (!is_guarded).then_some(value);
            }
            Origin::Name(name) if self.sources.contains(&name) => {}
            Origin::Name(_) if self.sources.len() >= MOST => return,
            Origin::Name(name) => self.sources.push(name),
        }
        self.moves += 1;
    }
}

/// A `mov` of 32 bits.
struct Move<'s> {
    to: Name<'s>,
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
        // The names that declare a range of registers in a block that is open, how many, and the
        // depth of the block.
        let mut open: Vec<(&str, u64, u32)> = Vec::new();
        let mut statement = Statement::default();
        let (mut written, mut labels) = (Vec::new(), Map::default());
        loop {
            let token = lexer.token()?;
            let text = token.span().text(source);
            if token.is(b';') {
                let end = Some(token.span().end).filter(|_| depth == 1 && statement.is_plain());
                for name in written.drain(..) {
                    names.uses.entry(name).or_default().written_to = end;
                }
                if let ["bra", .., label] = statement.start[..]
                    && let Some(start) = labels.get(label)
                {
                    names.loops.push((*start, token.span().end));
                }
            } else if let ([label], Place::First) = (&statement.start[..], statement.place)
                && token.is(b':')
            {
                labels.insert(*label, token.span().start);
            }
            let found = statement.take(token, text);
            if statement.place == Place::Start {
                written.clear();
            }
            if let Some(Found::Move(moved)) = &found {
                // Elsewhere the same name may be that of a variable.
                let is_known = match moved.from {
                    Origin::Constant(_) => true,
                    Origin::Name((base, number)) => {
                        let number = number.parse::<u64>();
                        let is_in = |count: u64| number.as_ref().is_ok_and(|it| *it < count);
                        open.iter().any(|(name, count, _)| *name == base && is_in(*count))
                    }
                };
                if is_known {
                    names.uses.entry(moved.to).or_default().take(moved);
                }
                continue;
            }
            match token.kind() {
                TokenKind::Ident => {
                    let name = numbered(text);
                    if !name.1.is_empty() {
                        let uses = names.uses.entry(name).or_default();
                        uses.count += 1;
                        if found.is_some() {
                            uses.writes += 1;
                            written.push(name);
                        }
                    }
                }
                TokenKind::Punct(_) if token.is(b'{') => depth += 1,
                TokenKind::Punct(_) if token.is(b'}') && depth == 1 => return Some(names),
                TokenKind::Punct(_) if token.is(b'}') && depth == 0 => return None,
                TokenKind::Punct(_) if token.is(b'}') => {
                    depth -= 1;
                    open.retain(|(_, _, at)| *at <= depth);
                }
                TokenKind::Punct(_) if token.is(b'<') => {
                    // Variables may have ranges, too.
                    if !statement.declares_registers {
                        return None;
                    }
                    let is_alone = !names.ranges.contains_key(before);
                    names.ranges.insert(before, is_alone && depth == 1);
                    open.push((before, 0, depth));
                }
                TokenKind::Number if before == "<" => {
                    if let Some((_, count, _)) = open.last_mut() {
                        *count = integer_literal(text).unwrap_or_default();
                    }
                }
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
        self.uses.get(&name).filter(|_| self.ranges.contains_key(name.0))
    }

    /// The value of a register that holds the same constant wherever it has a value: a range in
    /// the function declares it, and one `mov` alone writes it.
    pub(super) fn constant(&self, register: &Register) -> Option<u32> {
        let uses = self.own(numbered(register.name()))?;
        let is_written_once = (uses.writes, uses.moves) == (1, 1);
        uses.constant.filter(|_| is_written_once)
    }

    /// The end of the instruction before a loop that alone writes a register, if a statement in the
    /// loop reads it. What is computed from the register there is the same in each round.
    pub(super) fn before_loop(&self, register: &Register, statement: u32) -> Option<u32> {
        let name = numbered(register.name());
        let uses = self.own(name)?;
        let end = uses.written_to?;
        let is_outer = self.ranges.get(name.0) == Some(&true);
        let in_loop =
            |(first, last): &(u32, u32)| end <= *first && *first <= statement && statement <= *last;
        (uses.writes == 1 && is_outer && self.loops.iter().any(in_loop)).then_some(end)
    }

    /// The range in which a register lies wherever it has a value: a range in the function declares
    /// it, and it holds constants and results of video instructions only, perhaps by way of other
    /// registers.
    pub(super) fn range(&self, register: &Register, results: &Results<'_>) -> Option<Range> {
        let mut names: Vec<Name<'_>> = vec![numbered(register.name())];
        let mut range: Option<Range> = None;
        let mut at = 0;
        while let Some(&name) = names.get(at) {
            let uses = self.own(name)?;
            let (count, own) = results.get(&name).copied().unwrap_or((0, None));
            if uses.writes == 0 || uses.writes != count + uses.moves {
                return None;
            }
            if count > 0 {
                range = Some(joined(range, own?)?);
            }
            if let Some(constants) = uses.constants {
                range = Some(joined(range, constants)?);
            }
            for &name in &uses.sources {
                if names.len() >= MOST {
                    return None;
                }
                if !names.contains(&name) {
                    names.push(name);
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

/// A statement as far as it is read. Instructions write what their first operand names only, but for
/// some.
#[derive(Default)]
struct Statement<'s> {
    place: Place,
    /// Whether it may write what any operand names, as `tcgen05.ld.red` does.
    writes_all: bool,
    /// Whether it is a `.reg`.
    declares_registers: bool,
    /// Open brackets of all kinds in the operands.
    nesting: u32,
    is_guarded: bool,
    /// The first tokens, without a guard. In a `.loc`, the one before a label.
    start: Vec<&'s str>,
}

enum Found<'s> {
    /// An instruction may write what the token names.
    Write,
    /// The token ends a `mov`.
    Move(Move<'s>),
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

/// Ordinary instructions whose results are there when they end. A result of `wgmma` or `tcgen05`
/// has to be waited for.
const PLAIN: [&str; 34] = [
    "abs", "add", "and", "bfe", "bfi", "bfind", "brev", "clz", "cvt", "div", "dp2a", "dp4a", "fma",
    "ld", "ldu", "lop3", "mad", "mad24", "max", "min", "mov", "mul", "mul24", "neg", "not", "or",
    "popc", "prmt", "rem", "selp", "shf", "shl", "shr", "sub",
];

/// As many tokens as `mov.u32 r, -1`.
const MOVE: usize = 6;

impl<'s> Statement<'s> {
    /// Takes the next token of the function.
    fn take(&mut self, token: Token, text: &'s str) -> Option<Found<'s>> {
        let is_name = token.kind() == TokenKind::Ident;
        let punctuation = if let TokenKind::Punct([one, 0]) = token.kind() { one } else { 0 };
        if self.place == Place::Line {
            let is_label = self.start == ["function_name"];
            self.start.clear();
            if text == "function_name" {
                self.start.push(text);
            } else if !is_label
                && token.kind() != TokenKind::Number
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
                let moved = self.moved();
                self.end();
                return moved.map(Found::Move);
            }
            (Place::Start, b'@') => {
                self.is_guarded = true;
                self.place = Place::Guard;
            }
            (Place::Start, _) if is_name => {
                self.place = Place::First;
                self.writes_all = text == "tcgen05" || text.starts_with('_');
            }
            (Place::Start, _) if text == ".loc" => self.place = Place::Line,
            (Place::Start, _) => {
                self.place = Place::Directive;
                self.declares_registers = text == ".reg";
            }
            (Place::Guard, _) if is_name => self.place = Place::Start,
            (Place::First, b',') if self.nesting == 0 => self.place = Place::Later,
            (Place::First | Place::Directive, _) if is_name => found = Some(Found::Write),
            (Place::Later, _) if is_name && self.writes_all => found = Some(Found::Write),
            (_, b'(' | b'[' | b'{') => self.nesting += 1,
            (_, b')' | b']' | b'}') => self.nesting = self.nesting.saturating_sub(1),
            _ => {}
        }
        if matches!(self.place, Place::First | Place::Later) && self.start.len() <= MOVE {
            self.start.push(text);
        }
        found
    }

    /// Whether it is an instruction without a guard whose result the next one may read.
    fn is_plain(&self) -> bool {
        let is_known = self.start.first().is_some_and(|word| PLAIN.contains(word));
        matches!(self.place, Place::First | Place::Later) && !self.is_guarded && is_known
    }

    fn end(&mut self) {
        self.start.clear();
        *self = Statement { start: std::mem::take(&mut self.start), ..Statement::default() };
    }

    /// The statement, if it is a `mov` of 32 bits.
    fn moved(&self) -> Option<Move<'s>> {
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
        Some(Move { to: numbered(register), from, is_guarded: self.is_guarded })
    }
}

/// The word that a `mov` of 32 bits makes of a literal, perhaps with a minus.
pub(in super::super) fn moved_word(is_negative: bool, literal: &str) -> Option<u32> {
    let bits = integer_literal(literal)?;
    Some((if is_negative { bits.wrapping_neg() } else { bits }) as u32)
}
