//! The rule for the space between two pieces of a statement.
//!
//! The rule looks at the tokens alone, so that texts with the same tokens get the same spaces. Two
//! tokens that would read differently without white space always get a space.

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

const COMMA: PieceKind = PieceKind::punct(b',');
const END: PieceKind = PieceKind::punct(b';');
const BAR: PieceKind = PieceKind::punct(b'|');
const COLON: PieceKind = PieceKind::punct(b':');
const QUESTION: PieceKind = PieceKind::punct(b'?');
const LESS: PieceKind = PieceKind::punct(b'<');
const MORE: PieceKind = PieceKind::punct(b'>');

/// Operators with an operand on each side, without `+` and `-`.
const OPERATORS: &[PieceKind] = &[
    BAR,
    LESS,
    MORE,
    PieceKind::punct(b'*'),
    PieceKind::punct(b'/'),
    PieceKind::punct(b'%'),
    PieceKind::punct(b'&'),
    PieceKind::punct(b'^'),
    QUESTION,
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

/// The facts about the previous token that the rules use.
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
}

/// Walks along a statement and says whether a space stands before each piece.
#[derive(Clone, Debug)]
pub(super) struct Spacing<'a> {
    statement: StatementKind,
    part: InstructionPart,
    previous: Previous<'a>,
    /// Whether a comment stands behind the previous token.
    after_comment: bool,
    /// The kind of operator that the previous token is, if it is one.
    operator: Option<Operator>,
    /// The number of `?` whose `:` is still to come.
    questions: u32,
    /// Whether a value is being read, behind its `=`.
    in_value: bool,
    cast: Cast,
}

/// How much of a cast such as `(.s64)` has been read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cast {
    None,
    Opened,
    Typed,
    Closed,
}

impl Cast {
    fn then(self, previous: Previous<'_>, piece: &Piece<'_>) -> Cast {
        match self {
            // `.attribute(.managed)` is no cast.
            _ if piece.is(b'(') && !previous.is_dot() => Cast::Opened,
            Cast::Opened if piece.is_dot() => Cast::Typed,
            Cast::Typed if piece.is(b')') => Cast::Closed,
            _ => Cast::None,
        }
    }
}

impl<'a> Spacing<'a> {
    pub(super) fn new(statement: StatementKind) -> Spacing<'a> {
        let part = match statement {
            StatementKind::Instruction => InstructionPart::Opcode,
            StatementKind::Directive => InstructionPart::Operands,
        };
        Spacing {
            statement,
            part,
            previous: Previous::NONE,
            after_comment: false,
            operator: None,
            questions: 0,
            in_value: false,
            cast: Cast::None,
        }
    }

    /// Whether some piece has been read already.
    pub(super) fn is_started(&self) -> bool {
        self.after_comment || self.previous.kind != PieceKind::NONE
    }

    /// Whether a space stands before the next piece of the statement.
    #[inline]
    pub(super) fn before(&mut self, piece: &Piece<'a>) -> bool {
        if !piece.is_token() {
            let is_started = self.is_started();
            self.after_comment = true;
            return is_started;
        }
        let now = Previous { kind: piece.kind, text: piece.text };
        let after_comment = std::mem::take(&mut self.after_comment);
        let previous = std::mem::replace(&mut self.previous, now);
        // The most frequent case.
        if self.part == InstructionPart::Operands && self.operator.is_none() {
            match (previous.kind, piece.kind) {
                (COMMA, PieceKind::IDENT) => return true,
                (PieceKind::IDENT, COMMA | END) => return false,
                _ => {}
            }
        }
        self.decide(previous, piece) || after_comment && !matches!(piece.kind, COMMA | END)
    }

    /// The rule between two tokens.
    fn decide(&mut self, previous: Previous<'a>, piece: &Piece<'a>) -> bool {
        if previous.kind == PieceKind::NONE {
            if self.statement == StatementKind::Instruction && piece.is(b'@') {
                self.part = InstructionPart::Guard;
            }
            // A list of data may go on here.
            self.operator = sign(piece).then_some(Operator::Tight);
            return false;
        }
        let after = self.operator.take();
        if piece.is(b',') || piece.is(b';') {
            self.part = InstructionPart::Operands;
            self.questions = 0;
            return false;
        }
        // `::` is one unit.
        if previous.is(b':') && piece.is(b':') {
            return false;
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
            }
            let binds = (previous.is(b'@') || previous.is(b'!')) && piece.is_ident()
                || previous.is(b'@') && piece.is(b'!');
            return Some(!binds);
        }
        // Modifiers such as `.1d` in `tex.1d`.
        let is_modifier = piece.is_dot() || piece.is_number() && piece.text.starts_with('.');
        is_modifier.then_some(false)
    }

    fn in_operands(
        &mut self,
        previous: Previous<'a>,
        after: Option<Operator>,
        piece: &Piece<'a>,
    ) -> bool {
        let is_cast = self.cast == Cast::Closed;
        self.cast = self.cast.then(previous, piece);
        let closes = piece.is(b')') || piece.is(b']') || piece.is(b'}');
        let opened = previous.is(b'(') || previous.is(b'[') || previous.is(b'{');
        let prefixed = previous.is(b'!') || previous.is(b'~') || is_cast;
        if sign(piece) {
            if opened || prefixed || previous.is(b',') || after.is_some() {
                self.operator = Some(Operator::Tight);
                return match after {
                    Some(Operator::Tight) => false,
                    Some(Operator::Loose) => true,
                    None => !opened && !prefixed,
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
        if let Some(operator) = after {
            return operator == Operator::Loose || joins(previous, piece);
        }
        if prefixed {
            return joins(previous, piece);
        }
        if let Some(operator) = self.operator_at(previous, piece) {
            self.operator = Some(operator);
            return operator == Operator::Loose;
        }
        let word = piece.is_ident() || piece.is_number();
        // `%r<5>`
        if piece.is(b'<') || piece.is(b'>') || previous.is(b'<') && word {
            return joins(previous, piece);
        }
        self.between(previous, piece)
    }

    /// The kind of operator, if the piece is one with an operand on each side.
    fn operator_at(&mut self, previous: Previous<'a>, piece: &Piece<'a>) -> Option<Operator> {
        match piece.kind {
            BAR if previous.is_ident() => Some(Operator::Tight),
            LESS | MORE if self.statement == StatementKind::Directive && !self.in_value => None,
            COLON => {
                self.questions = self.questions.checked_sub(1)?;
                Some(Operator::Loose)
            }
            kind if OPERATORS.contains(&kind) => {
                self.questions += u32::from(kind == QUESTION);
                self.in_value |= piece.is(b'=');
                Some(Operator::Loose)
            }
            _ => None,
        }
    }

    /// The rule between operands, brackets and words.
    fn between(&self, previous: Previous<'a>, piece: &Piece<'a>) -> bool {
        // No space stands before the `:` of a label among data, or inside of `@@DWARF` of PTX 1.x.
        let is_joined = piece.is(b':') && !previous.is_dot() || previous.is(b'@');
        // The bank in `.const[2]` of PTX 2 has to follow at once.
        let is_index = previous.is_ident() || previous.is(b']') || previous.text == ".const";
        match piece.kind {
            _ if is_joined => false,
            PieceKind::DOT if self.statement == StatementKind::Instruction => {
                // `1 .e5` differs from `1.e5`.
                let is_exponent = piece.text.starts_with(".e") || piece.text.starts_with(".E");
                let is_number = previous.kind == PieceKind::NUMBER;
                !(previous.is_ident() || previous.is_dot() || is_number && !is_exponent)
            }
            _ if piece.is(b'(') => {
                let is_attribute = matches!(previous.text, ".attribute" | ".unified");
                !is_attribute && (previous.text == "_" || !previous.is_ident())
            }
            _ if piece.is(b'[') => !is_index,
            _ => true,
        }
    }
}

/// Whether two tokens would read differently without white space: `p| |q`, `! ==`.
fn joins(previous: Previous<'_>, piece: &Piece<'_>) -> bool {
    let next = piece.text.as_bytes().first();
    let pair = previous.kind.punctuation().zip(next.copied());
    pair.is_some_and(|(first, second)| OPERATORS.contains(&PieceKind::pair([first, second])))
}

fn sign(piece: &Piece<'_>) -> bool {
    piece.is(b'+') || piece.is(b'-')
}
