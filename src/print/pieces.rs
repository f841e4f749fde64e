//! Reads tokens and comments in the order of the text, with the white space between
//! them.

use crate::source::Span;
use crate::syntax::lexer::{STARTS, Start, TokenKind, comment_end, line_end, marker_end, token_at};

/// The kind of a piece: a single number, since it is compared often. For punctuation, the number is
/// its byte or its two bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PieceKind(u16);

impl PieceKind {
    /// No piece at all.
    pub(super) const NONE: PieceKind = PieceKind(0);
    pub(super) const IDENT: PieceKind = PieceKind(1);
    pub(super) const DOT: PieceKind = PieceKind(2);
    pub(super) const NUMBER: PieceKind = PieceKind(3);
    pub(super) const STRING: PieceKind = PieceKind(4);
    /// A character that PTX does not have.
    pub(super) const FOREIGN: PieceKind = PieceKind(5);
    /// `// …`, without blanks at its end.
    pub(super) const LINE_COMMENT: PieceKind = PieceKind(6);
    /// `/* … */`
    pub(super) const BLOCK_COMMENT: PieceKind = PieceKind(7);
    /// A line marker of the C preprocessor, which stands alone on its line.
    pub(super) const LINE: PieceKind = PieceKind(8);

    /// Punctuation of one byte.
    pub(super) const fn punct(byte: u8) -> PieceKind {
        PieceKind(byte as u16)
    }

    /// Punctuation of two bytes.
    pub(super) const fn pair(bytes: [u8; 2]) -> PieceKind {
        PieceKind(u16::from_be_bytes(bytes))
    }

    fn of(token: TokenKind) -> PieceKind {
        match token {
            TokenKind::Ident => PieceKind::IDENT,
            TokenKind::Dot => PieceKind::DOT,
            TokenKind::Number => PieceKind::NUMBER,
            TokenKind::Str => PieceKind::STRING,
            TokenKind::Punct([byte, 0]) => PieceKind::punct(byte),
            TokenKind::Punct(bytes) => PieceKind::pair(bytes),
            TokenKind::Unknown | TokenKind::UnclosedComment | TokenKind::UnclosedString => {
                PieceKind::FOREIGN
            }
        }
    }

    /// The kind of token, for a piece that is a token.
    fn token(self) -> TokenKind {
        match self {
            PieceKind::IDENT => TokenKind::Ident,
            PieceKind::DOT => TokenKind::Dot,
            PieceKind::NUMBER => TokenKind::Number,
            PieceKind::STRING => TokenKind::Str,
            PieceKind(punct) if punct >= u16::from(b'!') => match punct.to_be_bytes() {
                [0, byte] => TokenKind::Punct([byte, 0]),
                pair => TokenKind::Punct(pair),
            },
            _ => TokenKind::Unknown,
        }
    }

    /// The byte, for punctuation of one byte.
    pub(super) fn punctuation(self) -> Option<u8> {
        match self.token() {
            TokenKind::Punct([byte, 0]) => Some(byte),
            _ => None,
        }
    }

    pub(super) const fn is_token(self) -> bool {
        !matches!(self, PieceKind::LINE_COMMENT | PieceKind::BLOCK_COMMENT | PieceKind::LINE)
    }
}

/// A token, comment or marker.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece<'a> {
    pub(super) text: &'a str,
    /// The place of the piece; empty for a piece that is not in the text.
    pub(super) span: Span,
    pub(super) kind: PieceKind,
    /// Line breaks before the piece: 0, 1, or 2 for more than one.
    pub(super) breaks: u8,
    /// Whether the text equals the source text at the span.
    pub(super) is_source: bool,
}

impl Piece<'_> {
    pub(super) fn is(&self, punct: u8) -> bool {
        self.kind == PieceKind::punct(punct)
    }

    /// The kind of token, for a piece that is a token.
    pub(super) fn token(&self) -> TokenKind {
        self.kind.token()
    }

    pub(super) fn is_token(&self) -> bool {
        self.kind.is_token()
    }

    pub(super) fn is_ident(&self) -> bool {
        self.kind == PieceKind::IDENT
    }

    pub(super) fn is_number(&self) -> bool {
        self.kind == PieceKind::NUMBER
    }

    pub(super) fn is_dot(&self) -> bool {
        self.kind == PieceKind::DOT
    }

    /// Whether nothing may follow the piece on its line.
    pub(super) fn ends_line(&self) -> bool {
        matches!(self.kind, PieceKind::LINE_COMMENT | PieceKind::LINE)
    }
}

/// Reads the pieces of a text.
#[derive(Clone, Debug)]
pub(super) struct Pieces<'s> {
    source: &'s str,
    bytes: &'s [u8],
    pub(super) pos: usize,
}

impl<'s> Pieces<'s> {
    pub(super) fn new(source: &'s str) -> Pieces<'s> {
        Pieces { source, bytes: source.as_bytes(), pos: 0 }
    }

    /// The next token after any comments, without advancing.
    pub(super) fn peek_token(&self) -> Option<Piece<'s>> {
        let mut ahead = self.clone();
        std::iter::from_fn(|| ahead.next()).find(Piece::is_token)
    }

    pub(super) fn source(&self) -> &'s str {
        self.source
    }

    pub(super) fn bytes(&self) -> &'s [u8] {
        self.bytes
    }

    pub(super) fn starts_with(&self, text: &str) -> bool {
        self.bytes[self.pos..].starts_with(text.as_bytes())
    }

    /// Whether `//` follows on the same line.
    pub(super) fn line_comment_follows(&self) -> bool {
        let blanks = self.bytes[self.pos..].iter().take_while(|byte| matches!(byte, b' ' | b'\t'));
        self.bytes[self.pos + blanks.count()..].starts_with(b"//")
    }

    #[inline]
    fn piece(&mut self, kind: PieceKind, end: usize, next: usize, breaks: u8) -> Piece<'s> {
        let span = Span::new(self.pos as u32, end as u32);
        let text = &self.source[self.pos..end];
        self.pos = next;
        Piece { text, span, kind, breaks, is_source: true }
    }
}

impl<'s> Iterator for Pieces<'s> {
    type Item = Piece<'s>;

    #[inline]
    fn next(&mut self) -> Option<Piece<'s>> {
        let (start, breaks) = self.after_blanks();
        self.pos = start;
        let first = *self.bytes.get(start)?;
        if matches!(first, b'/' | b'#')
            && let Some(trivia) = self.trivia(first, breaks)
        {
            return Some(trivia);
        }
        let (kind, end) = token_at(self.source, start, first);
        Some(self.piece(PieceKind::of(kind), end, end, breaks))
    }
}

impl<'s> Pieces<'s> {
    /// The start of the next piece, or the end of the text, and the number of line breaks before
    /// it: at most 2.
    #[inline]
    pub(super) fn after_blanks(&self) -> (usize, u8) {
        let (mut at, mut breaks) = (self.pos, 0);
        while let Some(&byte) = self.bytes.get(at)
            && STARTS[byte as usize] == Start::Blank
        {
            breaks += u8::from(byte == b'\n' && breaks < 2);
            at += 1;
        }
        (at, breaks)
    }

    /// The comment or line marker that starts here, if any.
    fn trivia(&mut self, first: u8, breaks: u8) -> Option<Piece<'s>> {
        let start = self.pos;
        let trimmed = |end: usize| start + self.source[start..end].trim_ascii_end().len();
        Some(match (first, self.bytes.get(start + 1)) {
            (b'/', Some(b'/')) => {
                let next = line_end(self.bytes, start);
                self.piece(PieceKind::LINE_COMMENT, trimmed(next), next, breaks)
            }
            (b'/', Some(b'*')) => {
                // If the comment never ends, the module is not formatted.
                let end = comment_end(self.bytes, start).unwrap_or(self.bytes.len());
                self.piece(PieceKind::BLOCK_COMMENT, end, end, breaks)
            }
            (b'#', _) => {
                let next = marker_end(self.bytes, start)?;
                // The line break of the marker counts as white space before the next piece.
                self.piece(PieceKind::LINE, trimmed(next), next - 1, breaks)
            }
            _ => return None,
        })
    }
}
