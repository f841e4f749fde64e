//! The trivia between tokens, and the statement that a comment belongs to.

use super::super::lexer::{blank_end, comment_end, line_end, marker_end};
use super::{EntryKind, Statement, Tree};
use crate::source::Span;

/// A piece of trivia: text that is no token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The kind of trivia.
    pub kind: PieceKind,
    /// The place of the piece.
    pub span: Span,
}

/// The kinds of trivia.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PieceKind {
    /// Blanks and line breaks.
    WhiteSpace,
    /// `// …` without its line break, or `/* … */`.
    Comment,
    /// A line marker of the C preprocessor: `# 1 "file"`, with its line break.
    LineMarker,
    /// A byte order mark before the text.
    ByteOrderMark,
}

impl<'s> Tree<'s> {
    /// The trivia before the token with index `token`. If `token` is the number of tokens, the
    /// trivia after the last one.
    ///
    /// # Panics
    /// If `token` is greater than the number of tokens.
    pub fn trivia(&self, token: usize) -> impl Iterator<Item = Piece> + use<'s> {
        let start = token.checked_sub(1).map_or(0, |before| self.tokens[before].span().end);
        let end = match self.tokens.get(token) {
            Some(token) => token.span().start,
            None => self.source.len() as u32,
        };
        assert!(token <= self.tokens.len(), "the tree has no such token");
        pieces(self.source, Span::new(start, end))
    }
}

impl<'t> Statement<'t> {
    /// The comments that belong to the statement, in the order of the text: those on separate lines
    /// before it, those inside of it, and those behind it on its last line. A block has the
    /// comments behind its `{` and behind its `}`; the others in it belong to its statements.
    pub fn comments(self) -> impl Iterator<Item = Span> + use<'t> {
        let tree = self.tree;
        let first = self.entry().first as usize;
        let head = first + self.head().len();
        let end = self.entry().end as usize;
        let is_block = self.entry().kind == EntryKind::Block && end > head;
        let opened = is_block.then(|| pieces_behind(tree, head)).into_iter().flatten();
        let before = pieces_before(tree, first);
        let inside = (first + 1..head).flat_map(move |token| tree.trivia(token));
        let behind = pieces_behind(tree, end);
        let all = before.chain(inside).chain(opened).chain(behind);
        all.filter(|piece| piece.kind == PieceKind::Comment).map(|piece| piece.span)
    }
}

/// The trivia before a token, without the trivia that belongs to the statement before it.
pub(in super::super) fn pieces_before<'t>(
    tree: &'t Tree<'t>,
    token: usize,
) -> impl Iterator<Item = Piece> + use<'t> {
    let behind = pieces_behind(tree, token).count();
    tree.trivia(token).skip(behind)
}

/// The trivia before the token with index `token`, up to the end of the line on which the previous
/// token ends.
pub(in super::super) fn pieces_behind<'t>(
    tree: &'t Tree<'t>,
    token: usize,
) -> impl Iterator<Item = Piece> + use<'t> {
    let source = tree.source;
    let count = if token == 0 { 0 } else { usize::MAX };
    let mut is_over = false;
    tree.trivia(token).take(count).take_while(move |piece| {
        let is_own = !is_over;
        is_over |= piece.span.text(source).contains('\n');
        is_own
    })
}

/// The pieces of a part of a text that holds trivia only.
fn pieces(source: &str, part: Span) -> impl Iterator<Item = Piece> + use<'_> {
    let bytes = &source.as_bytes()[..part.end as usize];
    let mut at = part.start as usize;
    std::iter::from_fn(move || {
        let start = at;
        let (kind, end) = match bytes.get(at)? {
            b'/' if bytes.get(at + 1) == Some(&b'*') => {
                (PieceKind::Comment, comment_end(bytes, at).unwrap_or(bytes.len()))
            }
            b'/' => (PieceKind::Comment, line_end(bytes, at)),
            b'#' => (PieceKind::LineMarker, marker_end(bytes, at).unwrap_or(bytes.len())),
            0x80.. => (PieceKind::ByteOrderMark, bytes.len().min(at + 3)),
            _ => {
                let mut end = at + 1;
                while bytes.get(end).is_some_and(|byte| !matches!(byte, b'/' | b'#')) {
                    end = blank_end(bytes, end + 1);
                }
                (PieceKind::WhiteSpace, end)
            }
        };
        at = end;
        Some(Piece { kind, span: Span::new(start as u32, end as u32) })
    })
}
