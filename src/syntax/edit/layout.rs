//! Where inserted text stands, and with which white space.

use super::super::lexer::starts_line;
use super::super::tree::{pieces_before, pieces_behind};
use super::super::{Function, Piece, PieceKind, Statement, StatementKind, Tree, parse};
use super::{EditedPart, EditsError};
use crate::source::{MAX_LEN, Span, line_end};

/// Statements that are to be inserted.
pub(super) struct Inserted<'x> {
    tree: Tree<'x>,
}

impl<'x> Inserted<'x> {
    pub(super) fn new(text: &'x str) -> Result<Inserted<'x>, EditsError> {
        let text = text.trim_ascii();
        let unfit = || EditsError::Unfit { wanted: EditedPart::Statement, text: text.into() };
        if text.len() > MAX_LEN {
            return Err(EditsError::TooLong);
        }
        let tree = parse(text);
        let is_whole = tree.errors().is_empty() && !tree.tokens().is_empty();
        if is_whole { Ok(Inserted { tree }) } else { Err(unfit()) }
    }

    /// The names that the text declares, and whether each is a range of registers.
    pub(super) fn declared(&self) -> Vec<(String, bool)> {
        let source = self.tree.source();
        let mut names = Vec::new();
        for statement in self.tree.all_statements() {
            match statement.kind() {
                StatementKind::Declaration(it) => names.extend(
                    it.names().map(|it| (it.name().text(source).to_string(), it.count().is_some())),
                ),
                StatementKind::Function(it) => {
                    let parameters = it.results().chain(it.parameters()).filter_map(|it| it.name());
                    let parameters = parameters.map(|it| it.name());
                    let own = it.name().into_iter().chain(parameters);
                    names.extend(own.map(|name| (name.text(source).to_string(), false)));
                }
                StatementKind::Label(name) => names.push((name.text(source).to_string(), false)),
                _ => {}
            }
        }
        names
    }

    /// The text in place of a statement.
    pub(super) fn in_place_of(&self, statement: Statement<'_>) -> String {
        let source = statement.tree().source();
        let Span { start, end } = statement.span();
        let indentation = indentation(source, start);
        let mut text = self.laid_out(indentation, line_end(source));
        if self.ends_in_line_comment() && !ends_line(source, end) {
            text.push_str(line_end(source));
            text.push_str(indentation);
        }
        text
    }

    /// The place and the text before a statement.
    pub(super) fn before(&self, statement: Statement<'_>) -> (u32, String) {
        let source = statement.tree().source();
        let place = start_with_comments(statement);
        let indentation = indentation(source, place);
        let mut text = self.laid_out(indentation, line_end(source));
        if starts_line(source.as_bytes(), place as usize) || self.wants_lines() {
            text.push_str(line_end(source));
            text.push_str(indentation);
        } else {
            text.push(' ');
        }
        (place, text)
    }

    /// The place and the text after a statement.
    pub(super) fn after(&self, statement: Statement<'_>) -> (u32, String) {
        let tree = statement.tree();
        let end = statement.first_token() + statement.tokens().len();
        let place = comments_end(tree.source(), pieces_behind(tree, end), statement.span().end);
        // Text behind a label takes the indentation of the statement that follows the label.
        let is_label = matches!(statement.kind(), StatementKind::Label(_));
        let neighbour = statement.next().filter(|_| is_label).unwrap_or(statement);
        let indentation = indentation(tree.source(), neighbour.span().start);
        (place, self.behind(tree.source(), place, indentation))
    }

    /// The place and the text before the statements of a block.
    pub(super) fn first_in(&self, block: Statement<'_>) -> (u32, String) {
        let tree = block.tree();
        let open = block.first_token();
        let brace = tree.tokens()[open].span();
        let place = comments_end(tree.source(), pieces_behind(tree, open + 1), brace.end);
        let own = format!("{}    ", indentation(tree.source(), brace.start));
        let first = block.children().next();
        let indentation =
            first.map_or(&*own, |first| indentation(tree.source(), first.span().start));
        (place, self.behind(tree.source(), place, indentation))
    }

    /// The new text for an insertion behind a place.
    fn behind(&self, source: &str, place: u32, indentation: &str) -> String {
        let text = self.laid_out(indentation, line_end(source));
        if ends_line(source, place) {
            format!("{}{indentation}{text}", line_end(source))
        } else if self.wants_lines() {
            format!(" {text}{}{indentation}", line_end(source))
        } else {
            format!(" {text}")
        }
    }

    /// Whether what follows the text must or should stand on another line.
    fn wants_lines(&self) -> bool {
        self.tree.source().contains('\n') || self.ends_in_line_comment()
    }

    fn ends_in_line_comment(&self) -> bool {
        let last = self.tree.trivia(self.tree.tokens().len()).last();
        last.is_some_and(|it| it.span.text(self.tree.source()).starts_with("//"))
    }

    /// The text with an indentation on all lines but the first, and with the line breaks given.
    fn laid_out(&self, indentation: &str, line_end: &str) -> String {
        let source = self.tree.source();
        let tokens = self.tree.tokens();
        let mut out = String::with_capacity(source.len());
        for at in 0..=tokens.len() {
            for Piece { kind, span } in self.tree.trivia(at) {
                let mut lines = span.text(source).split('\n').map(|it| it.trim_end_matches('\r'));
                let first = lines.next().unwrap_or_default();
                let is_blank = kind == PieceKind::WhiteSpace;
                let count = lines.clone().count();
                out.push_str(if is_blank && count > 0 { "" } else { first });
                for (number, line) in lines.enumerate() {
                    out.push_str(line_end);
                    if is_blank && number + 1 == count {
                        out.push_str(indentation);
                        out.push_str(line);
                    } else if !is_blank {
                        out.push_str(line);
                    }
                }
            }
            if let Some(token) = tokens.get(at) {
                out.push_str(token.span().text(source));
            }
        }
        out
    }
}

/// The span that is removed with a statement: its line if nothing else stands there, otherwise the
/// statement and blanks beside it.
pub(crate) fn removed(source: &str, statement: Span) -> Span {
    let start = blanks_start(source, statement.start);
    let end = blanks_end(source, statement.end);
    let starts_line = starts_line(source.as_bytes(), statement.start as usize);
    match (starts_line, ends_line(source, end)) {
        (true, true) => {
            let rest = &source[end as usize..];
            let line_break = rest.find('\n').map_or(rest.len(), |at| at + 1);
            Span::new(start, end + line_break as u32)
        }
        (false, true) => Span::new(start, statement.end),
        (_, false) => Span::new(statement.start, end),
    }
}

/// The span that is removed with a modifier: the modifier and the blanks before it.
pub(super) fn removed_modifier(source: &str, modifier: Span) -> Span {
    Span::new(blanks_start(source, modifier.start), modifier.end)
}

/// The place for more parameters of a function, and their text.
pub(super) fn parameters(function: &Function<'_>, new: &[&str]) -> Option<(u32, String)> {
    let source = function.statement().tree().source();
    if new.is_empty() {
        return None;
    }
    let [_, Some(group)] = function.groups() else {
        return Some((function.name()?.end, format!("({})", new.join(", "))));
    };
    let last = match group {
        // The brackets are empty.
        [_, _] => return Some((group[0].span().end, new.join(", "))),
        [.., last, _] => last.span().end,
        _ => return None,
    };
    let start = function.parameters().last()?.tokens().first()?.span().start;
    let on_line = starts_line(source.as_bytes(), start as usize);
    let separator = if on_line {
        format!(",{}{}", line_end(source), indentation(source, start))
    } else {
        ", ".into()
    };
    let text = new.iter().flat_map(|it| [&*separator, it]).collect();
    Some((last, text))
}

/// The start of a statement, or of the comments right above it.
fn start_with_comments(statement: Statement<'_>) -> u32 {
    let source = statement.tree().source();
    let mut start = statement.span().start;
    let pieces: Vec<Piece> = pieces_before(statement.tree(), statement.first_token()).collect();
    for piece in pieces.into_iter().rev() {
        match piece.kind {
            PieceKind::Comment => start = piece.span.start,
            PieceKind::WhiteSpace if piece.span.text(source).matches('\n').count() < 2 => {}
            _ => break,
        }
    }
    start
}

/// The end of the last comment behind an offset.
fn comments_end(source: &str, pieces: impl Iterator<Item = Piece>, offset: u32) -> u32 {
    let wanted = |it: &Piece| matches!(it.kind, PieceKind::Comment | PieceKind::WhiteSpace);
    let comments = pieces.take_while(wanted).filter(|it| it.kind == PieceKind::Comment);
    let Some(last) = comments.last() else { return offset };
    // `\r\n` is one line break.
    let is_split = last.span.text(source).ends_with('\r');
    last.span.end - u32::from(is_split)
}

/// The most bytes before an offset in which its line is searched for blanks.
const LINE: usize = 4096;

/// The blanks at the start of the line that holds an offset. None if the line is very long: else
/// many insertions into one line would take time as the square of its length.
fn indentation(source: &str, offset: u32) -> &str {
    let before = &source.as_bytes()[..offset as usize];
    let near = before.len().saturating_sub(LINE);
    let line = match memchr::memrchr(b'\n', &before[near..]) {
        Some(at) => near + at + 1,
        None if near == 0 => 0,
        None => return "",
    };
    let rest = &source[line..];
    &rest[..rest.len() - rest.trim_start_matches([' ', '\t', '\x0c']).len()]
}

fn blanks_start(source: &str, offset: u32) -> u32 {
    source[..offset as usize].trim_end_matches([' ', '\t', '\x0c']).len() as u32
}

/// The offset after the blanks on a line.
pub(super) fn blanks_end(source: &str, offset: u32) -> u32 {
    let rest = &source[offset as usize..];
    offset + (rest.len() - rest.trim_start_matches([' ', '\t', '\x0c']).len()) as u32
}

/// Whether nothing but blanks follows on the line.
fn ends_line(source: &str, offset: u32) -> bool {
    let rest = &source[blanks_end(source, offset) as usize..];
    rest.is_empty() || rest.starts_with('\n') || rest.starts_with("\r\n")
}
