//! Decides on which line each statement, comment and brace stands.

use super::FormatOptions;
use super::hold::Item;
use super::pieces::{Piece, PieceKind, Pieces};
use super::shapes::Shapes;
use super::spacing::{Spacing, StatementKind};
use super::usual;
use super::writer::Writer;
use crate::analysis::turns_format;
use crate::diagnostic::Edit;
use crate::source::Span;
use crate::syntax::directive::{Bare, Directive, Step, dwarf_end};

/// Deeper braces are not indented further, so that depth cannot make the output
/// quadratic.
const MAX_LEVEL: usize = 32;

const OPEN: PieceKind = PieceKind::punct(b'{');
const CLOSE: PieceKind = PieceKind::punct(b'}');
const END: PieceKind = PieceKind::punct(b';');
const GUARD: PieceKind = PieceKind::punct(b'@');

/// How the statement that was read ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// With its `;`, or with the last token of a directive that has none.
    Complete,
    /// Before the `{` of a function's body or of a section.
    Body,
    /// Before the `{` of an initialiser.
    Initializer,
}

/// Whether a line ends inside a statement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Break {
    #[default]
    None,
    /// A line break for readability.
    Wished,
    /// A line break that is needed behind a comment.
    Forced,
}

/// Directives that keep a label on their line: the label is the name of what the directive
/// declares.
const NAMED: &[&str] = &[".branchtargets", ".callprototype", ".calltargets"];

/// Lays out a text of sound structure, and applies edits to its tokens.
pub(super) struct Layout<'s> {
    pieces: Pieces<'s>,
    shapes: Shapes<'s>,
    edits: &'s [Edit],
    /// The places that a suppression keeps as they are, in order.
    held: &'s [Span],
    /// The end of the piece that was read last.
    end: u32,
    options: &'s FormatOptions,
    writer: Writer<'s>,
    level: usize,
    /// Whether the next piece continues the current line.
    inline: bool,
    /// Whether the next piece of the current statement starts a line.
    pending: Break,
    /// The end of the comments that were scanned last, and whether their line ends there. With
    /// this, no comment is scanned twice.
    comments_end: Option<(usize, bool)>,
    /// Whether the block is still empty, so that no blank line is kept at its start.
    fresh: bool,
    /// The pieces of the current statement. Kept to reuse the allocation.
    statement: Vec<Piece<'s>>,
    /// The first token that PTX does not have, or that cannot start a statement.
    foreign: Option<Span>,
}

impl<'s> Layout<'s> {
    pub(super) fn new(
        source: &'s str,
        edits: &'s [Edit],
        options: &'s FormatOptions,
        writer: Writer<'s>,
    ) -> Layout<'s> {
        Layout {
            pieces: Pieces::new(source),
            shapes: Shapes::new(source.as_bytes()),
            edits,
            held: &[],
            end: 0,
            options,
            fresh: writer.is_empty(),
            writer,
            level: 0,
            inline: false,
            pending: Break::None,
            comments_end: None,
            statement: Vec::new(),
            foreign: None,
        }
    }

    /// The same layout, with parts that stay unchanged.
    pub(super) fn holding(mut self, held: &'s [Span]) -> Layout<'s> {
        self.held = held;
        self
    }

    /// The items that the layout would write one by one.
    pub(super) fn items(mut self) -> Result<Vec<Item>, Span> {
        let mut items = Vec::new();
        self.read(|item| items.push(item))?;
        Ok(items)
    }

    pub(super) fn run(mut self) -> Result<(Vec<u8>, Vec<Edit>), Span> {
        self.read(|_| {})?;
        Ok(self.writer.finish())
    }

    fn read(&mut self, mut note: impl FnMut(Item)) -> Result<(), Span> {
        loop {
            self.usual_statements();
            while self.held_statements() {}
            let Some(piece) = self.next().filter(|_| self.foreign.is_none()) else {
                break;
            };
            match piece.kind {
                PieceKind::LINE_COMMENT | PieceKind::BLOCK_COMMENT => self.comment(&piece),
                PieceKind::LINE => self.own_line(&piece),
                _ => self.token(piece),
            }
            let end = (self.pieces.pos as u32).max(piece.span.end);
            let is_comment = !piece.is_token() && !marks(piece.text, "off");
            note(Item { span: Span::new(piece.span.start, end), is_comment });
        }
        self.foreign.map_or(Ok(()), Err)
    }

    /// The start of the next edit.
    fn next_edit(&self) -> u32 {
        self.edits.first().map_or(u32::MAX, |edit| edit.span.start)
    }

    /// The start of the next edit or of the next part that stays unchanged.
    fn next_stop(&self) -> u32 {
        self.held.first().map_or(u32::MAX, |held| held.start).min(self.next_edit())
    }

    /// The next piece, with the edits applied.
    #[inline]
    fn next(&mut self) -> Option<Piece<'s>> {
        let edit = self.next_edit();
        if self.end < edit {
            let pos = self.pieces.pos;
            let piece = self.pieces.next()?;
            if piece.span.end <= edit {
                self.end = piece.span.end;
                if piece.kind == PieceKind::FOREIGN {
                    self.foreign.get_or_insert(piece.span);
                }
                return Some(piece);
            }
            self.pieces.pos = pos;
        }
        self.next_edited()
    }

    fn next_edited(&mut self) -> Option<Piece<'s>> {
        loop {
            // Earlier edits are done, or lie in text that stays unchanged.
            while let Some((edit, rest)) = self.edits.split_first()
                && (edit.span.end < self.end || edit.span.end == self.end && !edit.span.is_empty())
            {
                self.edits = rest;
            }
            if let Some((edit, rest)) = self.edits.split_first()
                && edit.span == Span::at(self.end)
            {
                self.edits = rest;
                let kind = PieceKind::DOT;
                let (text, span) = (edit.replacement.as_str(), edit.span);
                let (breaks, is_source) = (0, false);
                return Some(Piece { text, span, kind, breaks, is_source });
            }
            let mut piece = self.pieces.next()?;
            self.end = piece.span.end;
            if let Some(edit) = self.edits.first()
                && edit.span.start <= piece.span.start
                && piece.span.end <= edit.span.end
            {
                // A comment inside removed text stays.
                match (piece.is_token(), edit.replacement.as_str()) {
                    (false, _) => {}
                    (true, "") => continue,
                    (true, text) => (piece.text, piece.is_source) = (text, false),
                }
            }
            if piece.kind == PieceKind::FOREIGN {
                self.foreign.get_or_insert(piece.span);
            }
            return Some(piece);
        }
    }

    fn indentation(&self, level: usize) -> usize {
        level.min(MAX_LEVEL) * self.options.indent_width.min(FormatOptions::MAX_INDENT_WIDTH)
    }

    /// Starts a line, after a blank line if the text has one.
    fn start_line(&mut self, breaks: u8, level: usize) {
        self.pending = Break::None;
        if std::mem::take(&mut self.inline) {
            self.writer.space();
            return;
        }
        let indent = self.indentation(level);
        if self.writer.is_empty() {
            self.writer.indent(indent);
        } else {
            if breaks > 1 && !self.fresh {
                self.writer.newline(0);
            }
            self.writer.newline(indent);
        }
        self.fresh = false;
    }

    fn own_line(&mut self, piece: &Piece<'s>) {
        self.inline = false;
        self.start_line(piece.breaks, 0);
        self.writer.piece(piece);
    }

    /// A comment between statements.
    fn comment(&mut self, piece: &Piece<'s>) {
        let next = self.pieces.clone().next();
        let ends_line = next.is_none_or(|next| next.breaks > 0 || next.kind == PieceKind::LINE);
        let trailing = piece.breaks == 0
            && !self.writer.is_empty()
            && (piece.kind == PieceKind::LINE_COMMENT || ends_line || self.line_ends());
        if trailing {
            // The next item stands below the last line of the comment.
            self.fresh &= !piece.text.contains('\n');
            self.writer.space();
        } else {
            self.start_line(piece.breaks, self.level);
        }
        self.writer.piece(piece);
        self.inline = !trailing && piece.kind == PieceKind::BLOCK_COMMENT && !ends_line;
        if marks(piece.text, "off") {
            self.verbatim();
        }
    }

    /// Whether only comments follow on the line.
    fn line_ends(&mut self) -> bool {
        let pos = self.pieces.pos;
        if let Some((end, ends)) = self.comments_end
            && pos <= end
        {
            return ends;
        }
        let mut ahead = self.pieces.clone();
        let (end, ends) = loop {
            let end = ahead.pos;
            match ahead.next() {
                Some(next) if next.breaks > 0 || next.kind == PieceKind::LINE => break (end, true),
                // The line ends inside of the comment.
                Some(next) if next.kind == PieceKind::BLOCK_COMMENT && next.text.contains('\n') => {
                    break (end, true);
                }
                Some(next) if next.is_token() => break (end, false),
                Some(_) => {}
                None => break (end, true),
            }
        };
        self.comments_end = Some((end, ends));
        ends
    }

    /// Copies the text up to `vptx: fmt on`, or to the end of the text.
    fn verbatim(&mut self) {
        let start = self.end;
        let mut last = None;
        let mut statement = start;
        for piece in self.pieces.by_ref() {
            if !piece.is_token() {
                let between = last.is_none_or(|last: Piece<'_>| {
                    [b';', b'{', b'}', b':'].into_iter().any(|punct| last.is(punct))
                });
                if (piece.breaks > 0 || between) && marks(piece.text, "on") {
                    self.writer.verbatim(Span::new(start, piece.span.end));
                    self.end = piece.span.end;
                    self.inline = false;
                    return self.drop_partial_edits(statement);
                }
                continue;
            }
            if piece.is(b'{') {
                self.level += 1;
            } else if piece.is(b'}') {
                self.level = self.level.saturating_sub(1);
            }
            if piece.is(b';') {
                statement = piece.span.end;
            }
            last = Some(piece);
        }
        self.inline = false;
        self.writer.verbatim(Span::new(start, self.pieces.pos as u32));
    }

    /// Drops the edits of a statement that starts in unformatted text and ends outside of it:
    /// either all edits of a statement are made, or none.
    fn drop_partial_edits(&mut self, statement: u32) {
        let count = |end: u32| self.edits.partition_point(|edit| edit.span.start < end);
        let dropped = count(self.end);
        if dropped > count(statement) {
            let end = self.pieces.clone().find(|piece| piece.is(b';'));
            let end = end.map_or(u32::MAX, |end| end.span.end);
            self.edits = &self.edits[count(end)..];
        }
    }

    /// Writes the part that stays unchanged, if one comes next. Returns whether one did. Only white
    /// space at line ends and extra blank lines are removed.
    fn held_statements(&mut self) -> bool {
        let (start, breaks) = self.pieces.after_blanks();
        let Some((&held, rest)) = self.held.split_first().filter(|it| it.0.start == start as u32)
        else {
            return false;
        };
        self.held = rest;
        let first = self.pieces.next();
        let outer = first.is_some_and(|first| first.is(b'}') || self.is_label(&first));
        self.pieces.pos = start;
        // A comment stays beside the item before it.
        if breaks == 0 && !self.writer.is_empty() && first.is_some_and(|it| !it.is_token()) {
            self.writer.space();
        } else {
            self.start_line(breaks, self.level.saturating_sub(usize::from(outer)));
        }
        self.end = held.start;
        let mut is_open = false;
        while self.pieces.after_blanks().0 < held.end as usize
            && let Some(piece) = self.pieces.next()
        {
            let mut blanks = Span::new(self.end, piece.span.start);
            if piece.breaks > 0 && piece.span.start > held.start {
                (0..piece.breaks).for_each(|_| self.writer.newline(0));
                let line = blanks.text(self.pieces.source()).rfind('\n').map_or(0, |at| at + 1);
                blanks.start += line as u32;
            }
            if !blanks.is_empty() {
                self.writer.source(blanks);
            }
            self.writer.piece(&piece);
            self.end = piece.span.end;
            match piece.kind {
                OPEN => self.level += 1,
                CLOSE => self.level = self.level.saturating_sub(1),
                _ if marks(piece.text, "off") && !piece.is_token() => self.verbatim(),
                _ => {}
            }
            is_open = if piece.is_token() { piece.is(b'{') } else { is_open };
        }
        self.end = self.end.max(held.end);
        (self.inline, self.fresh) = (false, is_open);
        true
    }

    fn token(&mut self, first: Piece<'s>) {
        match first.kind {
            OPEN => {
                self.start_line(first.breaks, self.level);
                self.writer.piece(&first);
                self.level += 1;
                self.fresh = true;
            }
            CLOSE => {
                self.level = self.level.saturating_sub(1);
                self.fresh = false;
                self.start_line(0, self.level);
                self.writer.piece(&first);
            }
            END => {
                self.start_line(first.breaks, self.level);
                self.writer.piece(&first);
            }
            GUARD if dwarf_end(self.pieces.bytes(), first.span.start as usize).is_some() => {
                self.dwarf(first);
            }
            PieceKind::IDENT if self.is_label(&first) => self.label(first),
            PieceKind::DOT => self.directive(first),
            PieceKind::IDENT | GUARD => self.instruction(first),
            _ => {
                self.foreign.get_or_insert(first.span);
            }
        }
    }

    fn is_label(&self, first: &Piece<'s>) -> bool {
        !self.pieces.starts_with(".")
            && self.pieces.peek_token().is_some_and(|next| {
                let mut after = self.pieces.clone();
                after.pos = next.span.end as usize;
                next.is(b':') && !after.starts_with(":")
            })
            && first.is_ident()
    }

    fn label(&mut self, first: Piece<'s>) {
        let level = self.level.saturating_sub(1);
        self.start_line(first.breaks, level);
        self.writer.piece(&first);
        while let Some(piece) = self.next() {
            if piece.is(b':') {
                self.writer.piece(&piece);
                break;
            }
            self.writer.space();
            self.writer.piece(&piece);
            if piece.ends_line() {
                self.break_line(level + 1);
            }
        }
        self.inline = self.pieces.clone().next().is_some_and(|next| NAMED.contains(&next.text));
    }

    fn instruction(&mut self, first: Piece<'s>) {
        self.start_line(first.breaks, self.level);
        if self.instruction_on_a_line(first) {
            return;
        }
        self.statement.clear();
        self.statement.push(first);
        let mut braces = 0usize;
        while let Some(piece) = self.statement_piece(&mut braces) {
            self.statement.push(piece);
            if piece.is(b';') {
                break;
            }
        }
        let mut spacing = Spacing::new(StatementKind::Instruction);
        self.write_statement(&mut spacing);
    }

    /// Writes statements of the usual shape, up to the first statement of another shape.
    fn usual_statements(&mut self) {
        // Only the layout by tokens records edits.
        if self.writer.has_edits() {
            return;
        }
        let indent = self.indentation(self.level);
        while !self.inline {
            let (start, breaks) = self.pieces.after_blanks();
            let bytes = self.pieces.bytes();
            if bytes.get(start) == Some(&b'/') {
                let Some(comment) = usual::comment(bytes, start) else {
                    return;
                };
                if breaks == 0 && !self.writer.is_empty() {
                    self.writer.space();
                } else {
                    self.start_line(breaks, self.level);
                }
                self.writer.source(comment);
                (self.pieces.pos, self.end) = (comment.end as usize, comment.end);
                continue;
            }
            let Some(usual) = usual::statement(bytes, &mut self.shapes, start) else {
                return;
            };
            let end = usual.rest.end;
            let width = usual.head.len() + usual.rest.len() + 1;
            if indent + width as usize > self.options.line_width || self.next_stop() < end {
                return;
            }
            self.start_line(breaks, self.level.saturating_sub(usize::from(usual.is_label)));
            self.writer.usual(&usual);
            (self.pieces.pos, self.end) = (end as usize, end);
        }
    }

    /// Writes an instruction while reading it, which works for most. If the instruction has
    /// comments or needs more than one line, takes the text back and returns false.
    fn instruction_on_a_line(&mut self, first: Piece<'s>) -> bool {
        let before = (self.pieces.pos, self.end, self.edits);
        let mark = self.writer.mark();
        let mut spacing = Spacing::new(StatementKind::Instruction);
        let mut braces = 0usize;
        let mut next = Some(first);
        while let Some(piece) = next
            && piece.is_token()
        {
            if spacing.before(&piece) {
                self.writer.space();
            }
            self.writer.piece(&piece);
            if self.writer.column() > self.options.line_width {
                break;
            }
            if piece.is(b';') {
                return true;
            }
            next = self.statement_piece(&mut braces);
        }
        self.writer.take_back(mark);
        (self.pieces.pos, self.end, self.edits) = before;
        false
    }

    /// The next piece of a statement; `None` before the `}` of the block around it.
    #[inline]
    fn statement_piece(&mut self, braces: &mut usize) -> Option<Piece<'s>> {
        let (pos, end) = (self.pieces.pos, self.end);
        let piece = self.next()?;
        if piece.is(b'{') {
            *braces += 1;
        } else if piece.is(b'}') {
            let Some(left) = braces.checked_sub(1) else {
                (self.pieces.pos, self.end) = (pos, end);
                return None;
            };
            *braces = left;
        }
        Some(piece)
    }

    /// Writes a statement that starts with a dot: up to its end, or to the body of a function.
    fn directive(&mut self, first: Piece<'s>) {
        self.start_line(first.breaks, self.level);
        self.statement.clear();
        self.statement.push(first);
        let mut directive = Directive::new(first.text);
        let mut spacing = Spacing::new(StatementKind::Directive);
        loop {
            let end = self.collect(&mut directive);
            if self.statement.iter().any(is_header) {
                self.write_header(&mut spacing);
            } else {
                self.write_statement(&mut spacing);
            }
            self.statement.clear();
            match (end, &mut directive) {
                (End::Initializer, Directive::Declaration(declaration)) => {
                    self.initializer(&mut spacing);
                    declaration.end_value();
                }
                (End::Body, Directive::Section) => return self.section(),
                (End::Body, _) => {
                    self.fresh = true;
                    return;
                }
                _ => return,
            }
        }
    }

    /// Writes debug information of PTX 1.x on a separate line, which is never broken.
    fn dwarf(&mut self, first: Piece<'s>) {
        self.start_line(first.breaks, 0);
        self.statement.clear();
        self.statement.push(first);
        self.statement.extend(self.pieces.by_ref().take(2));
        self.end = self.pieces.pos as u32;
        self.collect(&mut Directive::Bare(Bare::DWARF));
        let pieces = std::mem::take(&mut self.statement);
        self.write_pieces(&pieces, &mut Spacing::new(StatementKind::Directive), 0, false);
        self.statement = pieces;
    }

    /// Collects the pieces of a directive. Comments after its last token belong to the next item.
    fn collect(&mut self, directive: &mut Directive<'s>) -> End {
        let mut resume = (self.pieces.pos, self.end, self.statement.len());
        let end = loop {
            let (pos, read_to) = (self.pieces.pos, self.end);
            let Some(piece) = self.next() else {
                break End::Complete;
            };
            if !piece.is_token() {
                self.statement.push(piece);
                continue;
            }
            let step = directive.step(piece.token(), piece.text);
            if let Directive::Declaration(declaration) = directive
                && declaration.braces > 0
            {
                // Comments before the brace belong to the statement.
                (self.pieces.pos, self.end) = (pos, read_to);
                return End::Initializer;
            }
            match step {
                Step::Inside | Step::Last => self.statement.push(piece),
                Step::Body => break End::Body,
                Step::After | Step::Cut => break End::Complete,
            }
            if step == Step::Last {
                return End::Complete;
            }
            resume = (self.pieces.pos, self.end, self.statement.len());
        };
        (self.pieces.pos, self.end) = (resume.0, resume.1);
        self.statement.truncate(resume.2);
        end
    }

    /// `{ … }` after `=`. It may be megabytes long, so its pieces are not collected.
    fn initializer(&mut self, spacing: &mut Spacing<'s>) {
        let broken = !self.initializer_fits(spacing.clone());
        let mut braces = 0usize;
        loop {
            if braces > 0 && broken {
                self.usual_elements();
            }
            let Some(piece) = self.next() else {
                break;
            };
            if piece.is(b'{') {
                braces += 1;
            } else if piece.is(b'}') {
                braces = braces.saturating_sub(1);
            }
            if braces == 0 && piece.is(b'}') {
                if !self.statement.is_empty() {
                    self.write_collected(spacing, broken);
                }
                if broken {
                    self.pending = Break::Forced;
                }
                return self.write_pieces(&[piece], spacing, self.level, false);
            }
            self.statement.push(piece);
            let opens = braces == 1 && piece.is(b'{') && !self.pieces.line_comment_follows();
            let ends = piece.is(b',') && !self.pieces.line_comment_follows();
            if opens || ends || piece.ends_line() {
                self.write_collected(spacing, broken && !opens);
                if broken && opens {
                    self.pending = Break::Wished;
                }
            }
        }
        self.write_collected(spacing, broken);
    }

    /// Writes the next numbers of an initialiser, as long as a comma stands before and after each.
    fn usual_elements(&mut self) {
        let bytes = self.pieces.bytes();
        // This code writes a space before each number, as is usual behind a comma only.
        let behind = bytes[..self.end as usize].last() == Some(&b',');
        let plain = behind && self.statement.is_empty() && self.pending == Break::None;
        if !plain || self.writer.has_edits() {
            return;
        }
        while let (start, _) = self.pieces.after_blanks()
            && let Some(element) = usual::element(bytes, start)
            && element.end <= self.next_edit()
        {
            if self.writer.column() + 1 + element.len() as usize <= self.options.line_width {
                self.writer.space();
            } else {
                self.break_line(self.level + 1);
            }
            self.writer.source(element);
            (self.pieces.pos, self.end) = (element.end as usize, element.end);
        }
    }

    fn write_collected(&mut self, spacing: &mut Spacing<'s>, fill: bool) {
        let pieces = std::mem::take(&mut self.statement);
        self.write_pieces(&pieces, spacing, self.level + 1, fill);
        self.statement = pieces;
        self.statement.clear();
    }

    /// Whether an initialiser, and the text up to the next separator, fits on the
    /// current line.
    fn initializer_fits(&self, mut spacing: Spacing<'s>) -> bool {
        let mut width = self.writer.column();
        let mut braces = 0usize;
        for piece in self.pieces.clone() {
            width += usize::from(spacing.before(&piece)) + piece.text.len();
            if width > self.options.line_width || piece.ends_line() || piece.text.contains('\n') {
                return false;
            }
            if piece.is(b'{') {
                braces += 1;
            } else if piece.is(b'}') {
                braces = braces.saturating_sub(1);
            } else if braces == 0 && (piece.is(b';') || piece.is(b',')) {
                break;
            }
        }
        true
    }

    /// Writes the lines of data of a `.section name { … }`.
    fn section(&mut self) {
        self.fresh = true;
        let outer = self.level;
        let mut in_label = false;
        self.statement.clear();
        while let Some(piece) = self.next() {
            if piece.is(b'{') || piece.is(b'}') {
                self.write_data_line();
                self.token(piece);
                if self.level == outer {
                    return;
                }
                continue;
            }
            let comment = !piece.is_token();
            // Dotted words behind a type or a comma are names of sections.
            let mut tokens = self.statement.iter().filter(|piece| piece.is_token());
            let (first, more) = (tokens.next(), tokens.next_back());
            let in_data = more.or(first).is_some_and(|last| last.is(b','));
            let goes_on = in_data || more.is_none() && first.is_some_and(Piece::is_dot);
            let starts = match piece.kind {
                PieceKind::DOT => !goes_on,
                PieceKind::IDENT => self.is_label(&piece),
                // A comment in front of a number belongs to the number.
                _ => comment && piece.breaks > 0 && (!in_data || self.line_ends()),
            };
            if starts {
                self.write_data_line();
                in_label = piece.is_ident();
            }
            if comment && self.statement.is_empty() {
                match piece.kind {
                    PieceKind::LINE => self.own_line(&piece),
                    _ => self.comment(&piece),
                }
                continue;
            }
            self.statement.push(piece);
            if in_label && piece.is(b':') || piece.ends_line() {
                self.write_data_line();
            }
        }
        self.write_data_line();
    }

    fn write_data_line(&mut self) {
        if let Some(first) = self.statement.first() {
            let label = self.statement.iter().any(|piece| piece.is(b':'));
            self.start_line(first.breaks, self.level - usize::from(label && self.level > 0));
            self.write_statement(&mut Spacing::new(StatementKind::Directive));
            self.statement.clear();
        }
    }

    /// Writes the statement. A line that is too long is broken after commas.
    fn write_statement(&mut self, spacing: &mut Spacing<'s>) {
        let pieces = std::mem::take(&mut self.statement);
        let level = self.level + 1;
        if self.writer.column() + bound(&pieces) <= self.options.line_width {
            self.write_pieces(&pieces, spacing, level, false);
        } else {
            let mut rest = pieces.as_slice();
            while !rest.is_empty() {
                let (chunk, after) = rest.split_at(chunk_len(rest));
                self.write_pieces(chunk, spacing, level, true);
                rest = after;
            }
        }
        self.statement = pieces;
    }

    /// Writes a function's header. The parameters stand on one line, or each on a separate line.
    /// Each directive after them stands on a separate line, too.
    fn write_header(&mut self, spacing: &mut Spacing<'s>) {
        let pieces = std::mem::take(&mut self.statement);
        let level = self.level;
        let close = pieces.iter().rposition(|piece| piece.is(b')'));
        let name = pieces.iter().rposition(Piece::is_ident).unwrap_or(0);
        let group = close.and_then(|close| {
            let open = opening(&pieces[..close])?;
            pieces[..open].last().is_some_and(Piece::is_ident).then_some((open, close))
        });
        let mut at = close.unwrap_or_else(|| name.min(pieces.len() - 1)) + 1;
        match group {
            Some((open, close)) if !self.header_fits(&pieces[..=close], open, spacing) => {
                let comment = pieces[open + 1].kind == PieceKind::LINE_COMMENT
                    && pieces[open + 1].breaks == 0;
                let first = open + 1 + usize::from(comment);
                self.write_pieces(&pieces[..first], spacing, level + 1, false);
                let mut rest = &pieces[first..close];
                while !rest.is_empty() {
                    let (chunk, after) = rest.split_at(chunk_len(rest));
                    self.pending = Break::Wished;
                    self.write_pieces(chunk, spacing, level + 1, false);
                    rest = after;
                }
                self.pending = Break::Forced;
                self.write_pieces(&pieces[close..=close], spacing, level, false);
            }
            _ => self.write_pieces(&pieces[..at], spacing, level + 1, false),
        }
        while at < pieces.len() {
            let next = pieces[at + 1..].iter().position(Piece::is_dot);
            let end = next.map_or(pieces.len(), |next| at + 1 + next);
            if pieces[at].is_dot() {
                self.pending = Break::Forced;
            }
            self.write_pieces(&pieces[at..end], spacing, level, false);
            at = end;
        }
        self.statement = pieces;
    }

    /// Whether a header fits on the line, and no comment breaks its parameters.
    fn header_fits(&self, header: &[Piece<'s>], open: usize, spacing: &Spacing<'s>) -> bool {
        !header[open..].iter().any(Piece::ends_line) && self.fits(header, spacing)
    }

    /// Writes pieces that stay together. With `fill`, they go on a new line if they do
    /// not fit on this one.
    fn write_pieces(
        &mut self,
        pieces: &[Piece<'s>],
        spacing: &mut Spacing<'s>,
        level: usize,
        fill: bool,
    ) {
        let mut starts_line = false;
        let pending = std::mem::take(&mut self.pending);
        let wished =
            pending == Break::Wished || fill && spacing.is_started() && !self.fits(pieces, spacing);
        if pending == Break::Forced || wished && !is_like_opcode(pieces) {
            self.break_line(level);
            starts_line = true;
        }
        for piece in pieces {
            let space = spacing.before(piece);
            if std::mem::take(&mut self.pending) == Break::Forced {
                self.break_line(level);
                starts_line = true;
            }
            if piece.kind == PieceKind::LINE {
                self.writer.start_at_edge();
            } else if starts_line {
                // The piece starts a line: no white space is needed.
            } else if piece.kind == PieceKind::LINE_COMMENT && piece.breaks > 0 {
                self.break_line(level);
            } else if space {
                self.writer.space();
            }
            self.writer.piece(piece);
            starts_line = false;
            self.pending = if piece.ends_line() { Break::Forced } else { Break::None };
        }
    }

    fn fits(&self, pieces: &[Piece<'s>], spacing: &Spacing<'s>) -> bool {
        // Usually the line has room even with a space before each piece.
        if self.writer.column() + bound(pieces) <= self.options.line_width {
            return true;
        }
        let mut spacing = spacing.clone();
        let width = pieces.iter().filter(|piece| !piece.ends_line()).fold(
            self.writer.column(),
            |width, piece| {
                // A comment may have line breaks, which the output may write in another way.
                let bytes = piece.text.bytes().filter(|byte| *byte != b'\r').count();
                width + usize::from(spacing.before(piece)) + bytes
            },
        );
        width <= self.options.line_width
    }

    fn break_line(&mut self, level: usize) {
        self.writer.newline(self.indentation(level));
    }
}

/// An upper bound of the columns that the pieces take on one line.
fn bound(pieces: &[Piece<'_>]) -> usize {
    pieces.iter().map(|piece| piece.text.len() + 1).sum()
}

/// The number of the first pieces that stay together: up to a comma outside of brackets, or up to
/// the comments behind the comma on its line, if they end the line.
fn chunk_len(pieces: &[Piece<'_>]) -> usize {
    let mut brackets = 0usize;
    for (at, piece) in pieces.iter().enumerate() {
        if piece.is(b'[') {
            brackets += 1;
        } else if piece.is(b']') {
            brackets = brackets.saturating_sub(1);
        }
        if piece.is(b',') && brackets == 0 && !comments_follow(&pieces[at + 1..])
            || piece.ends_line()
        {
            return at + 1;
        }
    }
    pieces.len()
}

/// Whether comments on the same line end the line or the statement.
fn comments_follow(pieces: &[Piece<'_>]) -> bool {
    let mut comments = pieces.iter().map(|piece| (piece.breaks == 0).then_some(piece.kind));
    let is_block = |kind: &Option<PieceKind>| *kind == Some(PieceKind::BLOCK_COMMENT);
    match comments.find(|kind| !is_block(kind)) {
        Some(kind) => kind == Some(PieceKind::LINE_COMMENT),
        None => !pieces.is_empty(),
    }
}

/// The index of the `(` that is closed by a `)` after these pieces.
fn opening(pieces: &[Piece<'_>]) -> Option<usize> {
    let mut depth = 1usize;
    pieces.iter().rposition(|piece| {
        if piece.is(b')') {
            depth += 1;
        } else if piece.is(b'(') {
            depth -= 1;
        }
        depth == 0
    })
}

/// Whether pieces start like a video instruction. On a separate line, they would look like a video
/// instruction after a missing `;`.
fn is_like_opcode(pieces: &[Piece<'_>]) -> bool {
    match pieces {
        [first, second, ..] => {
            first.is_ident() && first.text.starts_with(['v', 'V']) && second.text.starts_with('.')
        }
        _ => false,
    }
}

fn is_header(piece: &Piece<'_>) -> bool {
    piece.is_dot() && matches!(piece.text, ".entry" | ".func")
}

/// Whether a comment is `vptx: fmt` and a word.
fn marks(comment: &str, word: &str) -> bool {
    let text = comment.trim_start_matches('/').trim_matches('*').trim_end_matches("*/").trim();
    text.strip_prefix("vptx:").is_some_and(|text| turns_format(text, word))
}
