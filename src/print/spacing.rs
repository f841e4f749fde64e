//! The rule for the space between two pieces of a statement.
//!
//! Two tokens that meet could become another token, and a rule may not be known to keep
//! the meaning. In both cases the text keeps what it has: a space, or none.

use super::pieces::{Piece, PieceKind};

/// The kind of statement that the pieces belong to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StatementKind {
    Instruction,
    Directive,
}

/// Part of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum InstructionPart {
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

const COMMA: PieceKind = PieceKind::punct(b',');
const END: PieceKind = PieceKind::punct(b';');
const BAR: PieceKind = PieceKind::punct(b'|');
const LESS: PieceKind = PieceKind::punct(b'<');
const MORE: PieceKind = PieceKind::punct(b'>');

/// Operators with two sides; signs apart.
const OPERATORS: &[PieceKind] = &[
    BAR,
    LESS,
    MORE,
    PieceKind::punct(b'*'),
    PieceKind::punct(b'/'),
    PieceKind::punct(b'%'),
    PieceKind::punct(b'&'),
    PieceKind::punct(b'^'),
    PieceKind::punct(b'?'),
    PieceKind::punct(b'='),
    PieceKind::pair(*b"<<"),
    PieceKind::pair(*b">>"),
    PieceKind::pair(*b"<="),
    PieceKind::pair(*b">="),
    PieceKind::pair(*b"=="),
    PieceKind::pair(*b"!="),
    PieceKind::pair(*b"&&"),
    PieceKind::pair(*b"||"),
];

/// The facts about the piece before that a rule may ask for.
#[derive(Clone, Copy, Debug)]
struct Previous<'a> {
    kind: PieceKind,
    text: &'a str,
}

impl Previous<'_> {
    const NONE: Previous<'static> = Previous { kind: PieceKind::NONE, text: "" };

    fn is(&self, punct: u8) -> bool {
        self.kind == PieceKind::punct(punct)
    }

    fn is_ident(&self) -> bool {
        self.kind == PieceKind::IDENT
    }

    fn is_dot(&self) -> bool {
        self.kind == PieceKind::DOT
    }

    fn is_number(&self) -> bool {
        self.kind == PieceKind::NUMBER
    }
}

/// Walks along a statement and says whether a space stands before each piece.
#[derive(Clone, Debug)]
pub(super) struct Spacing<'a> {
    statement: StatementKind,
    part: InstructionPart,
    previous: Previous<'a>,
    /// The kind of operator that the previous piece is, if it is one.
    operator: Option<Operator>,
}

impl<'a> Spacing<'a> {
    pub(super) fn new(statement: StatementKind) -> Spacing<'a> {
        let part = match statement {
            StatementKind::Instruction => InstructionPart::Opcode,
            StatementKind::Directive => InstructionPart::Operands,
        };
        Spacing { statement, part, previous: Previous::NONE, operator: None }
    }

    /// Whether a piece has been read already.
    pub(super) fn is_started(&self) -> bool {
        self.previous.kind != PieceKind::NONE
    }

    /// Whether a space stands before this piece, the next one in the statement.
    #[inline]
    pub(super) fn before(&mut self, piece: &Piece<'a>) -> bool {
        let now = Previous { kind: piece.kind, text: piece.text };
        let previous = std::mem::replace(&mut self.previous, now);
        // The most frequent case.
        if self.part == InstructionPart::Operands && self.operator.is_none() {
            match (previous.kind, piece.kind) {
                (COMMA, PieceKind::IDENT) => return true,
                (PieceKind::IDENT, COMMA | END) => return false,
                _ => {}
            }
        }
        self.decide(previous, piece)
    }

    fn decide(&mut self, previous: Previous<'a>, piece: &Piece<'a>) -> bool {
        if previous.kind == PieceKind::NONE {
            if self.statement == StatementKind::Instruction && piece.is(b'@') {
                self.part = InstructionPart::Guard;
            }
            return false;
        }
        let after = self.operator.take();
        if piece.is(b',') || piece.is(b';') {
            self.part = InstructionPart::Operands;
            return false;
        }
        if !piece.is_token() || !previous.kind.is_token() {
            // The statement goes on after a comment.
            if !piece.is_token() {
                self.operator = after;
            }
            return true;
        }
        if self.part != InstructionPart::Operands {
            if let Some(space) = self.in_opcode(previous, piece) {
                return space;
            }
            self.part = InstructionPart::Operands;
            self.operator = sign(piece).then_some(Operator::Tight);
            return true;
        }
        self.in_operands(previous, after, piece)
    }

    /// The rule before the operands. Returns `None` for the first operand.
    fn in_opcode(&mut self, previous: Previous<'a>, piece: &Piece<'a>) -> Option<bool> {
        if self.part == InstructionPart::Guard {
            if previous.is_ident() && piece.is_ident() {
                self.part = InstructionPart::Opcode;
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
        if self.statement == StatementKind::Directive
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

    /// The kind of operator that the piece is, if it has two sides.
    fn operator_at(&self, previous: Previous<'a>, piece: &Piece<'a>) -> Option<Operator> {
        match piece.kind {
            BAR if previous.is_ident() => Some(Operator::Tight),
            LESS | MORE if self.statement == StatementKind::Directive => None,
            kind if OPERATORS.contains(&kind) => Some(Operator::Loose),
            _ => None,
        }
    }

    /// The rule between operands, brackets and words.
    fn between(&self, previous: Previous<'a>, piece: &Piece<'a>) -> bool {
        let directive = self.statement == StatementKind::Directive;
        match piece.kind {
            PieceKind::DOT if directive => {
                let opening = previous.is_dot() && OPENING.contains(&previous.text);
                opening || previous.is(b')') || !piece.glued
            }
            PieceKind::DOT => !previous.is_ident() && !piece.glued,
            PieceKind::IDENT | PieceKind::NUMBER | PieceKind::STRING => {
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
