//! The names in a function.

use crate::hash::{Map, Set};
use crate::source::Span;
use crate::syntax::constant::integer_literal;
use crate::syntax::lexer::Lexer;
use crate::syntax::{Token, TokenKind};
use crate::video::{Register, numbered};

/// The names in a function.
#[derive(Default)]
pub(super) struct Names<'s> {
    /// How often each one occurs, by its base and its number.
    counts: Map<(&'s str, &'s str), u32>,
    /// The names that declare a range.
    ranges: Set<&'s str>,
    /// How often each one stands where an instruction may write it.
    writes: Map<(&'s str, &'s str), u32>,
    /// The constants that a `mov` without a guard writes.
    constants: Map<(&'s str, &'s str), u32>,
}

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
            statement.take(token, text, &mut names);
            match token.kind {
                TokenKind::Ident => *names.counts.entry(numbered(text)).or_default() += 1,
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
        let (base, number) = numbered(register.name());
        let is_declared = !number.is_empty() && self.ranges.contains(base);
        self.counts.get(&(base, number)).copied().filter(|_| is_declared)
    }

    /// The value of a register that holds the same constant wherever it has a value: a range in
    /// the function declares it, and one `mov` alone writes it.
    pub(super) fn constant(&self, register: &Register) -> Option<u32> {
        self.occurrences(register)?;
        let name = numbered(register.name());
        let is_written_once = self.writes.get(&name) == Some(&1);
        self.constants.get(&name).copied().filter(|_| is_written_once)
    }
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
    fn take(&mut self, token: Token, text: &'s str, names: &mut Names<'s>) {
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
        match (self.place, punctuation) {
            // A label, or the brace of a block.
            (Place::First, b':') | (Place::Start | Place::Directive, b'{' | b'}') => {
                return self.end();
            }
            (_, b';') => {
                if let Some((register, value)) = self.moved_constant() {
                    names.constants.insert(register, value);
                }
                return self.end();
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
            (Place::First | Place::Directive, _) if is_name => {
                *names.writes.entry(numbered(text)).or_default() += 1;
            }
            (_, b'(' | b'[' | b'{') => self.nesting += 1,
            (_, b')' | b']' | b'}') => self.nesting = self.nesting.saturating_sub(1),
            _ => {}
        }
        if matches!(self.place, Place::First | Place::Later) && self.start.len() <= MOVE {
            self.start.push(text);
        }
    }

    fn end(&mut self) {
        self.start.clear();
        *self = Statement { start: std::mem::take(&mut self.start), ..Statement::default() };
    }

    /// The register that the statement sets to a constant.
    fn moved_constant(&self) -> Option<((&'s str, &'s str), u32)> {
        let (register, value) = match self.start[..] {
            ["mov", ".u32" | ".s32" | ".b32", register, ",", value] => {
                (register, moved_word(false, value)?)
            }
            ["mov", ".u32" | ".s32" | ".b32", register, ",", "-", value] => {
                (register, moved_word(true, value)?)
            }
            _ => return None,
        };
        (!self.is_guarded).then_some((numbered(register), value))
    }
}

/// The word that a `mov` of 32 bits makes of a literal, perhaps with a minus.
pub(in super::super) fn moved_word(is_negative: bool, literal: &str) -> Option<u32> {
    let bits = integer_literal(literal)?;
    Some((if is_negative { bits.wrapping_neg() } else { bits }) as u32)
}
