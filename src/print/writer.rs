//! Collects the formatted text.

use super::pieces::{Piece, PieceKind};
use super::usual::Usual;
use crate::diagnostic::Edit;
use crate::source::Span;

/// The number of bytes that are copied at once. Copying a few bytes too many is faster than copying
/// the exact number.
const STEP: usize = 32;

/// The number of free bytes that are always kept.
const ROOM: usize = 4096;

/// The number of spaces for indentation that are copied at once.
const BLANKS: usize = 256;

/// The text that has been written.
#[derive(Debug)]
struct Text {
    /// Longer than `len` by at least [`ROOM`].
    bytes: Vec<u8>,
    len: usize,
}

impl Text {
    /// A text with room for a number of bytes.
    fn new(room: usize) -> Text {
        // The system gives zeroed memory at no cost until it is used.
        Text { bytes: vec![0; room + ROOM], len: 0 }
    }

    fn written(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    #[inline]
    fn push(&mut self, text: &[u8]) {
        let end = self.len + text.len();
        self.make_room(end);
        self.bytes[self.len..end].copy_from_slice(text);
        self.len = end;
    }

    /// Appends a part of a text. The part is usually short.
    #[inline]
    fn push_short(&mut self, text: &[u8], start: usize, end: usize) {
        self.make_room(self.len + (end - start));
        let (mut from, mut to) = (start, self.len);
        self.len += end - start;
        while from < end {
            match (text.get(from..from + STEP), self.bytes.get_mut(to..to + STEP)) {
                (Some(some), Some(room)) => room.copy_from_slice(some),
                // Too few bytes are left in the text or in the room.
                _ => return self.bytes[to..to + end - from].copy_from_slice(&text[from..end]),
            }
            from += STEP;
            to += STEP;
        }
    }

    /// Makes room behind an offset.
    #[inline]
    fn make_room(&mut self, end: usize) {
        if end + ROOM > self.bytes.len() {
            self.grow(end);
        }
    }

    #[cold]
    fn grow(&mut self, end: usize) {
        self.bytes.resize(end.max(self.bytes.len() * 3 / 2) + ROOM, 0);
    }
}

/// White space before the next piece.
#[derive(Clone, Copy, Debug, Default)]
struct Gap {
    newlines: u8,
    blanks: usize,
}

/// A place in the output to return to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mark {
    written: usize,
    edits: usize,
    compared: (usize, usize),
    run: Option<(usize, usize)>,
    gap: Gap,
    column: usize,
}

/// Collects text and, on request, the edits to the source. Unchanged text is copied in
/// runs, not piece by piece.
#[derive(Debug)]
pub(super) struct Writer<'s> {
    source: &'s str,
    newline: &'static str,
    /// Two line breaks, then [`BLANKS`] spaces.
    white: Box<[u8]>,
    out: Text,
    /// The part of the source that is appended to `out` next, unless other text comes
    /// first.
    run: Option<(usize, usize)>,
    /// The gap after the run.
    gap: Gap,
    /// The number of bytes on the current line, including the gap.
    column: usize,
    edits: Option<Vec<Edit>>,
    /// The offsets up to which `out` and the source have been compared.
    compared: (usize, usize),
}

impl<'s> Writer<'s> {
    pub(super) fn new(source: &'s str, newline: &'static str, edits: bool) -> Writer<'s> {
        Writer {
            source,
            newline,
            white: format!("{newline}{newline}{:BLANKS$}", "").into_bytes().into(),
            // Spaces that replace tabs take some more room.
            out: Text::new(source.len() + source.len() / 8),
            run: None,
            gap: Gap::default(),
            column: 0,
            edits: edits.then(Vec::new),
            compared: (0, 0),
        }
    }

    /// Whether nothing has been written yet.
    pub(super) fn is_empty(&self) -> bool {
        self.out.len == 0 && self.run.is_none()
    }

    /// Whether the writer records edits.
    pub(super) fn has_edits(&self) -> bool {
        self.edits.is_some()
    }

    /// The number of bytes on the current line.
    pub(super) fn column(&self) -> usize {
        self.column
    }

    pub(super) fn space(&mut self) {
        self.gap.blanks += 1;
        self.column += 1;
    }

    /// Ends the line and indents the next one.
    pub(super) fn newline(&mut self, indent: usize) {
        self.gap.newlines += 1;
        self.gap.blanks = indent;
        self.column = indent;
    }

    /// Indents a line that is still empty.
    pub(super) fn indent(&mut self, indent: usize) {
        self.gap.blanks = indent;
        self.column = indent;
    }

    /// Starts a line without indentation, unless the current one is still empty.
    pub(super) fn start_at_edge(&mut self) {
        if self.gap.newlines == 0 && !self.is_empty() {
            self.gap.newlines = 1;
        }
        self.indent(0);
    }

    /// Marks the current place, to return to it.
    pub(super) fn mark(&mut self) -> Mark {
        // Without the flush, returning to the mark would copy the run again.
        self.flush();
        let Writer { out, run, gap, column, edits, compared, .. } = self;
        let edits = edits.as_ref().map_or(0, Vec::len);
        let (run, gap, column, compared) = (*run, *gap, *column, *compared);
        Mark { written: out.len, edits, compared, run, gap, column }
    }

    /// Takes back all text written since a mark.
    pub(super) fn take_back(&mut self, mark: Mark) {
        self.out.len = mark.written;
        (self.compared, self.run, self.gap) = (mark.compared, mark.run, mark.gap);
        self.column = mark.column;
        if let Some(edits) = &mut self.edits {
            edits.truncate(mark.edits);
        }
    }

    /// Writes a piece.
    #[inline]
    pub(super) fn piece(&mut self, piece: &Piece<'_>) {
        if matches!(piece.kind, PieceKind::BLOCK_COMMENT | PieceKind::STRING)
            && piece.text.contains('\n')
        {
            return self.lines(piece);
        }
        if piece.is_source {
            self.source(piece.span);
        } else {
            self.column += piece.text.len();
            self.text(piece.text);
        }
    }

    /// Writes a piece that contains line breaks. Line breaks in comments become those of the
    /// output; strings stay unchanged.
    fn lines(&mut self, piece: &Piece<'_>) {
        let last = piece.text.rfind('\n').map_or(0, |at| at + 1);
        self.column = piece.text.len() - last;
        if piece.kind == PieceKind::BLOCK_COMMENT {
            let mut text = String::with_capacity(piece.text.len());
            for line in piece.text.split_inclusive('\n') {
                match line.strip_suffix('\n') {
                    Some(line) => {
                        text.push_str(line.trim_end_matches('\r'));
                        text.push_str(self.newline);
                    }
                    None => text.push_str(line),
                }
            }
            if text != piece.text {
                return self.text(&text);
            }
        }
        self.extend(piece.span);
    }

    /// Writes a statement of the usual shape.
    #[inline]
    pub(super) fn usual(&mut self, usual: &Usual) {
        let Usual { head, rest, space, .. } = *usual;
        let (end, start) = (head.end as usize, rest.start as usize);
        self.column += (head.len() + rest.len()) as usize + usize::from(space);
        let is_source = match (start - end, space) {
            (0, false) => true,
            (1, true) => self.source.as_bytes()[end] == b' ',
            _ => false,
        };
        if is_source {
            return self.extend(head.to(rest));
        }
        if self.run.is_some() {
            self.flush();
            self.run = None;
        }
        let gap = std::mem::take(&mut self.gap);
        self.fill(gap);
        let source = self.source.as_bytes();
        self.out.push_short(source, head.start as usize, end);
        if space {
            self.out.push_short(b" ", 0, 1);
        }
        self.out.push_short(source, start, rest.end as usize);
    }

    /// Writes a part of the source that has no line break.
    #[inline]
    pub(super) fn source(&mut self, span: Span) {
        self.column += span.len() as usize;
        self.extend(span);
    }

    /// Writes a part of the source unchanged.
    pub(super) fn verbatim(&mut self, span: Span) {
        let text = span.text(self.source);
        self.column = match text.rfind('\n') {
            Some(at) => text.len() - at - 1,
            None => self.column + text.len(),
        };
        self.extend(span);
    }

    /// Appends a part of the source. If the white space before it is unchanged, it extends the run.
    #[inline]
    fn extend(&mut self, span: Span) {
        let (start, end) = (span.start as usize, span.end as usize);
        let gap = std::mem::take(&mut self.gap);
        if let Some((_, last)) = &mut self.run
            && *last <= start
            && is_gap(&self.source.as_bytes()[*last..start], self.newline, gap)
        {
            *last = end;
            return;
        }
        self.flush();
        self.fill(gap);
        self.compare(start);
        self.run = Some((start, end));
    }

    fn text(&mut self, text: &str) {
        self.flush();
        self.run = None;
        let gap = std::mem::take(&mut self.gap);
        self.fill(gap);
        self.out.push(text.as_bytes());
    }

    #[inline]
    fn fill(&mut self, gap: Gap) {
        if gap.newlines > 2 || gap.blanks > BLANKS {
            return self.fill_much(gap);
        }
        let before = 2 * self.newline.len();
        let start = before - usize::from(gap.newlines) * self.newline.len();
        self.out.push_short(&self.white, start, before + gap.blanks);
    }

    #[cold]
    fn fill_much(&mut self, gap: Gap) {
        for _ in 0..gap.newlines {
            self.out.push(self.newline.as_bytes());
        }
        let mut left = gap.blanks;
        while left > 0 {
            let some = left.min(BLANKS);
            let before = 2 * self.newline.len();
            self.out.push(&self.white[before..before + some]);
            left -= some;
        }
    }

    fn flush(&mut self) {
        if let Some((start, end)) = &mut self.run {
            self.out.push(&self.source.as_bytes()[*start..*end]);
            *start = *end;
            self.compared = (self.out.len, *end);
        }
    }

    /// Records an edit if the text since the last comparison differs from the source up to an
    /// offset.
    fn compare(&mut self, end: usize) {
        let Some(edits) = &mut self.edits else {
            return;
        };
        let (out, start) = self.compared;
        let written = &self.out.written()[out..];
        if written != &self.source.as_bytes()[start..end] {
            let span = Span::new(start as u32, end as u32);
            edits.push(Edit::replace(span, String::from_utf8_lossy(written)));
        }
    }

    /// Ends the last line, and returns the text and the edits. The bytes are UTF-8: pieces of the
    /// source and of other strings.
    pub(super) fn finish(mut self) -> (Vec<u8>, Vec<Edit>) {
        self.flush();
        if self.out.written().last().is_some_and(|last| *last != b'\n') {
            self.out.push(self.newline.as_bytes());
        }
        self.compare(self.source.len());
        let Text { mut bytes, len } = self.out;
        bytes.truncate(len);
        (bytes, self.edits.unwrap_or_default())
    }
}

/// Whether this white space of the source equals the gap to be written.
#[inline]
fn is_gap(white: &[u8], newline: &str, gap: Gap) -> bool {
    // Within a line the gap is at most one blank.
    match (white, gap.newlines) {
        ([], 0) => return gap.blanks == 0,
        ([b' '], 0) => return gap.blanks == 1,
        _ => {}
    }
    let newlines = usize::from(gap.newlines) * newline.len();
    white.len() == newlines + gap.blanks
        && white[..newlines].chunks(newline.len()).all(|white| white == newline.as_bytes())
        && white[newlines..].iter().all(|&byte| byte == b' ')
}
