//! The rule for the space between two pieces of a statement.
//!
//! Two tokens that meet could become another token, and a rule may not be known to keep
//! the meaning. In both cases the text keeps what it has: a space, or none.

use super::pieces::{Kind, Piece};

/// The kind of statement that the pieces belong to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Statement {
    Instruction,
    Directive,
}

/// Part of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// `@p`
    Guard,
    /// The opcode with its modifiers.
    Opcode,
    Operands,
}

/// Whether an operator has spaces around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    /// `-5`, `x+4`, `p|q`
    Tight,
    /// `2 * 3`
    Loose,
}

/// Directives after which a dot starts a new word, even without a space between.
const OPENING: &[&str] = &[
    ".const", ".entry", ".extern", ".func", ".global", ".local", ".param", ".reg", ".shared",
    ".tex", ".v2", ".v4", ".v8", ".visible", ".weak",
];

const COMMA: Kind = Kind::punct(b',');
const END: Kind = Kind::punct(b';');
const BAR: Kind = Kind::punct(b'|');
const LESS: Kind = Kind::punct(b'<');
const MORE: Kind = Kind::punct(b'>');

/// Binary operators, except signs.
const OPERATORS: &[Kind] = &[
    BAR,
    LESS,
    MORE,
    Kind::punct(b'*'),
    Kind::punct(b'/'),
    Kind::punct(b'%'),
    Kind::punct(b'&'),
    Kind::punct(b'^'),
    Kind::punct(b'?'),
    Kind::punct(b'='),
    Kind::pair(*b"<<"),
    Kind::pair(*b">>"),
    Kind::pair(*b"<="),
    Kind::pair(*b">="),
    Kind::pair(*b"=="),
    Kind::pair(*b"!="),
    Kind::pair(*b"&&"),
    Kind::pair(*b"||"),
];

/// The properties of the previous piece that a rule may need.
#[derive(Clone, Copy, Debug)]
struct Previous<'a> {
    kind: Kind,
    text: &'a str,
}

impl Previous<'_> {
    const NONE: Previous<'static> = Previous { kind: Kind::NONE, text: "" };

    fn is(&self, punct: u8) -> bool {
        self.kind == Kind::punct(punct)
    }

    fn is_ident(&self) -> bool {
        self.kind == Kind::IDENT
    }

    fn is_dot(&self) -> bool {
        self.kind == Kind::DOT
    }

    fn is_number(&self) -> bool {
        self.kind == Kind::NUMBER
    }
}

/// Walks along a statement and says whether a space stands before each piece.
#[derive(Clone, Debug)]
pub(super) struct Spacing<'a> {
    statement: Statement,
    part: Part,
    previous: Previous<'a>,
    /// The spacing of the previous piece, if it is an operator.
    operator: Option<Operator>,
}

impl<'a> Spacing<'a> {
    pub(super) fn new(statement: Statement) -> Spacing<'a> {
        let part = match statement {
            Statement::Instruction => Part::Opcode,
            Statement::Directive => Part::Operands,
        };
        Spacing { statement, part, previous: Previous::NONE, operator: None }
    }

    /// Whether a piece has been read already.
    pub(super) fn is_started(&self) -> bool {
        self.previous.kind != Kind::NONE
    }

    /// Whether a space stands before this piece, the next one in the statement.
    #[inline]
    pub(super) fn before(&mut self, piece: &Piece<'a>) -> bool {
        let now = Previous { kind: piece.kind, text: piece.text };
        let previous = std::mem::replace(&mut self.previous, now);
        // The most frequent cases.
        if self.part == Part::Operands && self.operator.is_none() {
            match (previous.kind, piece.kind) {
                (COMMA, Kind::IDENT) => return true,
                (Kind::IDENT, COMMA | END) => return false,
                _ => {}
            }
        }
        self.decide(previous, piece)
    }

    fn decide(&mut self, previous: Previous<'a>, piece: &Piece<'a>) -> bool {
        if previous.kind == Kind::NONE {
            if self.statement == Statement::Instruction && piece.is(b'@') {
                self.part = Part::Guard;
            }
            return false;
        }
        let after = self.operator.take();
        if piece.is(b',') || piece.is(b';') {
            self.part = Part::Operands;
            return false;
        }
        if !piece.is_token() || !previous.kind.is_token() {
            // An operator before a comment continues after the comment.
            if !piece.is_token() {
                self.operator = after;
            }
            return true;
        }
        if self.part != Part::Operands {
            if let Some(space) = self.in_opcode(previous, piece) {
                return space;
            }
            self.part = Part::Operands;
            self.operator = sign(piece).then_some(Operator::Tight);
            return true;
        }
        self.in_operands(previous, after, piece)
    }

    /// The rule before the operands. Returns `None` for the first operand.
    fn in_opcode(&mut self, previous: Previous<'a>, piece: &Piece<'a>) -> Option<bool> {
        if self.part == Part::Guard {
            if previous.is_ident() && piece.is_ident() {
                self.part = Part::Opcode;
                return Some(true);
            }
            let binds = (previous.is(b'@') || previous.is(b'!')) && piece.is_ident()
                || previous.is(b'@') && piece.is(b'!');
            return Some(!binds && !piece.glued);
        }
        if piece.is_dot() && (previous.is_ident() || previous.is_dot()) {
            return Some(false);
        }
        // `tex.1d` and the like; colons as in `.shared::cta`.
        let part = piece.is_dot() || piece.is_number() && piece.text.starts_with('.');
        let colon = piece.is(b':') || previous.is(b':');
        ((part || colon) && piece.glued).then_some(false)
    }

    fn in_operands(
        &mut self,
        previous: Previous<'a>,
        after: Option<Operator>,
        piece: &Piece<'a>,
    ) -> bool {
        let closes = piece.is(b')') || piece.is(b']') || piece.is(b'}');
        let opened = previous.is(b'(') || previous.is(b'[') || previous.is(b'{');
        let starts = opened || previous.is(b',') || after.is_some();
        if sign(piece) {
            if starts || previous.is(b'=') {
                self.operator = Some(Operator::Tight);
                return match after {
                    // Two signs keep the space that they have.
                    Some(Operator::Tight) => !piece.glued,
                    Some(Operator::Loose) => true,
                    None => !opened,
                };
            }
            let tight = previous.is_ident() || previous.is_dot();
            self.operator = Some(if tight { Operator::Tight } else { Operator::Loose });
            return !tight;
        }
        if closes || opened {
            return false;
        }
        if previous.is(b',') {
            return true;
        }
        let word = piece.is_ident() || piece.is_number();
        match after {
            Some(Operator::Loose) => return true,
            Some(Operator::Tight) => return !(word || piece.is(b'(') || piece.glued),
            None => {}
        }
        if let Some(operator) = self.operator_at(previous, piece) {
            self.operator = Some(operator);
            return operator == Operator::Loose;
        }
        // `%r<5>`
        if self.statement == Statement::Directive
            && (piece.is(b'<') && previous.is_ident()
                || piece.is(b'>') && (previous.is_number() || previous.is_ident())
                || previous.is(b'<') && word)
        {
            return false;
        }
        if previous.is(b'!') || previous.is(b'~') {
            return !(word || piece.is(b'(') || piece.glued);
        }
        self.between(previous, piece)
    }

    /// The spacing of the piece, if it is a binary operator.
    fn operator_at(&self, previous: Previous<'a>, piece: &Piece<'a>) -> Option<Operator> {
        match piece.kind {
            BAR if previous.is_ident() => Some(Operator::Tight),
            LESS | MORE if self.statement == Statement::Directive => None,
            kind if OPERATORS.contains(&kind) => Some(Operator::Loose),
            _ => None,
        }
    }

    /// The rule between operands, brackets and words.
    fn between(&self, previous: Previous<'a>, piece: &Piece<'a>) -> bool {
        let directive = self.statement == Statement::Directive;
        match piece.kind {
            Kind::DOT if directive => {
                let opening = previous.is_dot() && OPENING.contains(&previous.text);
                opening || previous.is(b')') || !piece.glued
            }
            Kind::DOT => !previous.is_ident() && !piece.glued,
            Kind::IDENT | Kind::NUMBER | Kind::STRING => {
                let number = previous.is(b')') && !piece.is_ident();
                if number || previous.is(b':') { !piece.glued } else { true }
            }
            _ if piece.is(b'(') => match previous.text {
                ")" | "_" => true,
                ".attribute" | ".unified" => false,
                _ if previous.is_dot() => true,
                _ => !previous.is_ident() && !piece.glued,
            },
            _ if piece.is(b'[') => {
                previous.is_dot() || !previous.is_ident() && !previous.is(b']') && !piece.glued
            }
            _ if piece.is(b'{') => true,
            _ => !piece.glued,
        }
    }
}

fn sign(piece: &Piece<'_>) -> bool {
    piece.is(b'+') || piece.is(b'-')
}
