//! Where formatted text goes.

use super::pieces::{Kind, Piece};
use crate::diagnostic::Edit;
use crate::source::Span;

/// Spaces to indent with, in one piece.
const BLANKS: &str = "                                                                ";

/// Collects text and, if wanted, what it changes in the source.
#[derive(Debug)]
pub(super) struct Writer<'s> {
    source: &'s str,
    newline: &'static str,
    out: String,
    /// Where the line at hand starts in `out`.
    line: usize,
    edits: Option<Vec<Edit>>,
    /// Up to where `out` and the source have been compared.
    compared: (usize, usize),
}

impl<'s> Writer<'s> {
    pub(super) fn new(source: &'s str, newline: &'static str, edits: bool) -> Writer<'s> {
        Writer {
            source,
            newline,
            out: String::with_capacity(if edits { 0 } else { source.len() }),
            line: 0,
            edits: edits.then(Vec::new),
            compared: (0, 0),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.out.is_empty()
    }

    /// Bytes on the line at hand.
    pub(super) fn column(&self) -> usize {
        self.out.len() - self.line
    }

    pub(super) fn space(&mut self) {
        self.out.push(' ');
    }

    pub(super) fn newline(&mut self) {
        self.out.push_str(self.newline);
        self.line = self.out.len();
    }

    /// Takes back the indentation of a line that has nothing else, or starts one.
    pub(super) fn restart_line(&mut self) {
        if self.out[self.line..].bytes().all(|byte| byte == b' ') {
            self.out.truncate(self.line);
        } else {
            self.newline();
        }
    }

    /// Indents a line that has nothing yet.
    pub(super) fn indent(&mut self, width: usize) {
        let mut left = width;
        while left > 0 {
            let some = left.min(BLANKS.len());
            self.out.push_str(&BLANKS[..some]);
            left -= some;
        }
    }

    /// Writes a piece.
    pub(super) fn piece(&mut self, piece: &Piece<'_>) {
        match piece.kind {
            Kind::BlockComment | Kind::Token(crate::syntax::TokenKind::Str)
                if piece.text.contains('\n') =>
            {
                if piece.kind == Kind::BlockComment && self.newline == "\n" {
                    self.out.push_str(&piece.text.replace("\r\n", "\n"));
                } else {
                    self.copy(piece.span);
                }
                self.line = self.out.rfind('\n').map_or(0, |at| at + 1);
            }
            _ if self.edits.is_some() && self.is_source(piece) => self.copy(piece.span),
            _ => self.out.push_str(piece.text),
        }
    }

    fn is_source(&self, piece: &Piece<'_>) -> bool {
        !piece.span.is_empty() && piece.span.text(self.source) == piece.text
    }

    /// Writes a part of the source as it is.
    pub(super) fn verbatim(&mut self, span: Span) {
        self.copy(span);
        if let Some(at) = span.text(self.source).rfind('\n') {
            self.line = self.out.len() - (span.len() as usize - at - 1);
        }
    }

    fn copy(&mut self, span: Span) {
        self.compare(span.start as usize);
        self.out.push_str(span.text(self.source));
        self.compared = (self.out.len(), span.end as usize);
    }

    /// Notes what was written in place of the source up to an offset.
    fn compare(&mut self, end: usize) {
        let Some(edits) = &mut self.edits else {
            return;
        };
        let (out, start) = self.compared;
        let written = &self.out[out..];
        if written != &self.source[start..end] {
            let span = Span::new(start as u32, end as u32);
            edits.push(Edit::replace(span, written));
        }
    }

    /// Ends the last line.
    pub(super) fn finish(mut self) -> (String, Vec<Edit>) {
        if !self.out.is_empty() && !self.out.ends_with('\n') {
            self.newline();
        }
        self.compare(self.source.len());
        (self.out, self.edits.unwrap_or_default())
    }
}
