//! Translates changes of a text into changes of the source.
//!
//! The changed source is read once more, from the word before the change to the word after it.
//! This covers all special cases: digits that continue an escape or the number of an operand,
//! the delimiter of a raw string, and so on.

use super::escape::escaped;
use super::scan::{Form, Literal};
use super::template::{Mapped, Mode, SourceMap, decode, refill};
use super::{Asm, Layer, Quoting};
use crate::source::Span;

/// The largest indentation, in columns, of the literals for new lines.
const INDENT: usize = 256;
/// The largest distance, in bytes, of an edit from a literal's start, if new lines of the edit are
/// to become literals of their own.
const NEAR: u32 = 4096;
/// The largest template, in bytes, that is read as a whole to check an edit.
const WHOLE: usize = 64 << 10;

/// See [`Asm::source_edit`].
pub(super) fn source_edit(
    asm: &Asm<'_>,
    source: &str,
    span: Span,
    replacement: &str,
) -> Option<(Span, String)> {
    let text = &asm.text;
    let boundary = |at: u32| text.is_char_boundary(at as usize) && asm.map.parts(at);
    if text.is_empty() || span.start > span.end || !boundary(span.start) || !boundary(span.end) {
        return None;
    }
    let range = asm.layer_span(span);
    let last = asm.literals.partition_point(|literal| literal.body.end < range.end);
    let first = if span.is_empty() {
        last
    } else {
        asm.literals.partition_point(|literal| literal.body.start <= range.start) - 1
    };
    let touched = &asm.literals[first..=last];
    if !touched.windows(2).all(|pair| joined(source, &pair[0], &pair[1])) {
        return None;
    }
    let spelled = asm.spelled(replacement);
    let more = range.end < asm.literals[last].body.end;
    if asm.in_directive && touched[0].form == Form::Raw && spelled.contains('\n') {
        return None;
    }
    let line_break = line_break(asm, source, &touched[0], range.start);
    let new = written(source, &touched[0], &spelled, line_break.as_deref(), more);
    says(asm, source, span, range, &new, replacement).then_some((range, new))
}

/// Spells text for the body of a literal. `more` tells whether the literal goes on after the text.
fn written(
    source: &str,
    literal: &Literal,
    text: &str,
    line_break: Option<&str>,
    more: bool,
) -> String {
    let quote = Span::new(literal.body.end, literal.span.end).text(source);
    let Some(line_break) = line_break.filter(|_| !matches!(literal.form, Form::Raw)) else {
        return escaped(literal.form, quote, text);
    };
    let mut out = String::new();
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    for (at, line) in lines.iter().enumerate() {
        out.push_str(&escaped(literal.form, quote, line));
        if line.ends_with('\n') && (more || at + 1 < lines.len()) {
            out.push_str(line_break);
        }
    }
    out
}

/// The change of a source that replaces a span of the text of its string literals. `None` if
/// the literals cannot express the change.
pub(crate) fn literal_edit(
    layer: &Layer,
    source: &str,
    span: Span,
    replacement: &str,
) -> Option<(Span, String)> {
    let Layer { quoting, mapped: Mapped { text, map }, literals } = layer;
    let boundary = |at: u32| text.is_char_boundary(at as usize) && map.parts(at);
    if text.is_empty() || !boundary(span.start) || !boundary(span.end) {
        return None;
    }
    let range = place(text, map, span);
    let last = literals.partition_point(|literal| literal.body.end < range.end);
    let literal = literals.get(last).filter(|it| it.body.start <= range.start)?;
    let new = written(source, literal, replacement, None, true);
    let view = View { quoting: *quoting, source, literals, text, map, mode: Mode::Basic };
    let (read, start, end) = view.reread(span, range, &new)?;
    let parts = [&text[start..span.start as usize], replacement, &text[span.end as usize..end]];
    (read.text == parts.concat()).then_some((range, new))
}

/// The source of a span of a text. The text is not empty; the span may be.
pub(super) fn place(text: &str, map: &SourceMap, span: Span) -> Span {
    if !span.is_empty() {
        map.source(span)
    } else if span.start == 0 {
        Span::at(map.source(Span::new(0, 1)).start)
    } else {
        let at = span.start.min(text.len() as u32);
        Span::at(map.source(Span::new(at - 1, at)).end)
    }
}

/// Whether only quotes and blanks are between two literals.
fn joined(source: &str, one: &Literal, next: &Literal) -> bool {
    let between = Span::new(one.body.end, next.body.start).text(source);
    let blanks = between.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    one.form == Form::C
        && next.form == Form::C
        && blanks.is_some_and(|blanks| blanks.trim_matches([' ', '\t']).is_empty())
}

/// The text between two literals that hold one line each. `None` if all lines should stay in
/// one literal.
fn line_break(asm: &Asm<'_>, source: &str, literal: &Literal, at: u32) -> Option<String> {
    let start = literal.span.start as usize;
    let opening = Span::new(literal.span.start, literal.body.start).text(source);
    let splits = match literal.form {
        Form::C => true,
        Form::Python { .. } => opening == "\"" || opening == "'",
        _ => false,
    };
    if !splits || asm.in_directive || at - literal.span.start > NEAR {
        return None;
    }
    if source[start..at as usize].contains('\n') {
        return None;
    }
    let before = source.as_bytes()[..start].iter().rev().take(INDENT);
    let column = before.clone().position(|&byte| byte == b'\n').unwrap_or(start);
    if column > INDENT {
        return None;
    }
    let line = start - column;
    let crlf = source[..line].ends_with("\r\n");
    let quote = if opening == "'" { '\'' } else { '"' };
    let mut text = String::from(quote);
    text.push_str(if crlf { "\r\n" } else { "\n" });
    text.extend(source[line..start].chars().map(|c| if c == '\t' { '\t' } else { ' ' }));
    text.push(quote);
    Some(text)
}

/// Whether the changed source reads as the text with the replacement.
fn says(
    asm: &Asm<'_>,
    source: &str,
    span: Span,
    range: Span,
    new: &str,
    replacement: &str,
) -> bool {
    let (quoting, mode) = (asm.quoting, asm.mode);
    let (literals, text, map) = (&asm.literals, &asm.text, &asm.map);
    let view = View { quoting, source, literals, text, map, mode };
    let Some((template, start, end)) = view.reread(span, range, new) else {
        return false;
    };
    let placeholder = |index: usize| match index.checked_sub(asm.operands.len()) {
        None => Some(asm.operands[index].placeholder.as_str()),
        Some(unknown) => asm.unknown.get(unknown).map(|it| it.placeholder.as_str()),
    };
    let read = refill(&template, &asm.spelling, &asm.names, placeholder);
    let expected =
        [&asm.text[start..span.start as usize], replacement, &asm.text[span.end as usize..end]];
    let is_named = |read: &str| asm.unique().is_none_or(|it| it.is_in_names(read.as_bytes()));
    read.is_some_and(|read| read == expected.concat() && is_named(&read))
}

/// Literals, and the text made of them.
struct View<'a> {
    quoting: Quoting,
    source: &'a str,
    literals: &'a [Literal],
    text: &'a str,
    map: &'a SourceMap,
    mode: Mode,
}

impl View<'_> {
    /// Reads the changed source, from the word before the change to the word after it. Also
    /// returns the start and the end of the part of the text that it reads.
    fn reread(&self, span: Span, range: Span, new: &str) -> Option<(Mapped, usize, usize)> {
        let (source, literals) = (self.source, self.literals);
        let text = self.text.as_bytes();
        let is_space = u8::is_ascii_whitespace;
        let start = text[..span.start as usize].iter().rposition(is_space).unwrap_or(0);
        // White space is part of something longer only after a `%`.
        let rest = &text[span.end as usize..];
        let end = rest.iter().position(is_space).map_or(text.len(), |n| span.end as usize + n + 1);
        // The number of a `{}` depends on the other `{}` of the template.
        let (start, end) = match self.mode {
            Mode::Braces if text.len() > WHOLE => return None,
            Mode::Braces => (0, text.len()),
            _ => (start, end),
        };
        let bytes = self.map.source(Span::new(start as u32, end as u32));
        let (first, from) = if start == 0 {
            (&literals[0], literals[0].body.start)
        } else {
            let first = literals.partition_point(|literal| literal.body.start <= bytes.start) - 1;
            (&literals[first], bytes.start)
        };
        let last = if end == text.len() {
            literals.len() - 1
        } else {
            literals.partition_point(|literal| literal.body.end < bytes.end)
        };
        let last = &literals[last];
        let to = if end == text.len() { last.body.end } else { bytes.end };

        let opening = Span::new(first.span.start, first.body.start).text(source);
        let closing = Span::new(last.body.end, last.span.end).text(source);
        let before = Span::new(from, range.start).text(source);
        let after = Span::new(range.end, to).text(source);
        let window = [opening, before, new, after, closing].concat();
        let literals = self.quoting.literals(&window)?;
        Some((decode(&window, &literals), start, end))
    }
}
