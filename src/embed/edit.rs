//! Translates changes of a text into changes of the source.
//!
//! The changed source is read once more, from the word before the change to the word after it.
//! This covers all special cases: digits that continue an escape or the number of an operand,
//! the delimiter of a raw string, and so on.

use super::Asm;
use super::scan::{Cursor, Literal};
use super::template::{decode, refill};
use crate::source::Span;

/// The largest indentation, in columns, of the literals for new lines.
const INDENT: usize = 256;
/// Only edits up to this many bytes after a literal's start get literals for new lines.
const NEAR: u32 = 4096;

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
    let range = asm.source_span(span);
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
    let new = if !touched[0].raw {
        let line_break = line_break(asm, source, &touched[0], range.start);
        escape(&spelled, line_break.as_deref(), range.end < asm.literals[last].body.end)
    } else if asm.in_directive && spelled.contains('\n') {
        return None;
    } else {
        spelled
    };
    says(asm, source, span, range, &new, replacement).then_some((range, new))
}

/// Whether only quotes and blanks are between two literals.
fn joined(source: &str, one: &Literal, next: &Literal) -> bool {
    let between = Span::new(one.body.end, next.body.start).text(source);
    let blanks = between.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    !one.raw
        && !next.raw
        && blanks.is_some_and(|blanks| blanks.trim_matches([' ', '\t']).is_empty())
}

/// The text between two literals that hold one line each. `None` if all lines should stay in
/// one literal.
fn line_break(asm: &Asm<'_>, source: &str, literal: &Literal, at: u32) -> Option<String> {
    let start = literal.span.start as usize;
    if asm.in_directive || at - literal.span.start > NEAR {
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
    let mut text = String::from(if crlf { "\"\r\n" } else { "\"\n" });
    text.extend(source[line..start].chars().map(|c| if c == '\t' { '\t' } else { ' ' }));
    text.push('"');
    Some(text)
}

/// Escapes PTX for an ordinary literal. `more` tells whether the literal has text after it.
fn escape(text: &str, line_break: Option<&str>, more: bool) -> String {
    use std::fmt::Write;
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        match c {
            '"' | '\\' => {
                out.push('\\');
                out.push(c);
            }
            '\n' => {
                out.push_str("\\n");
                if more || !rest.as_str().is_empty() {
                    out.push_str(line_break.unwrap_or_default());
                }
            }
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            // Three digits, so that the next character cannot continue the escape.
            '\0'..='\x1f' => _ = write!(out, "\\{:03o}", u32::from(c)),
            _ => out.push(c),
        }
    }
    out
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
    let text = asm.text.as_bytes();
    // White space is never part of anything longer, except after a `%`.
    let mut start = (span.start as usize).saturating_sub(1);
    while start > 0 && !text[start - 1].is_ascii_whitespace() {
        start -= 1;
    }
    let rest = &text[span.end as usize..];
    let end = rest
        .iter()
        .position(u8::is_ascii_whitespace)
        .map_or(text.len(), |n| span.end as usize + n + 1);
    let bytes = asm.source_span(Span::new(start as u32, end as u32));
    let (first, from) = if start == 0 {
        (&asm.literals[0], asm.literals[0].body.start)
    } else {
        let first = asm.literals.partition_point(|literal| literal.body.start <= bytes.start) - 1;
        (&asm.literals[first], bytes.start)
    };
    let last = if end == text.len() {
        asm.literals.len() - 1
    } else {
        asm.literals.partition_point(|literal| literal.body.end < bytes.end)
    };
    let last = &asm.literals[last];
    let to = if end == text.len() { last.body.end } else { bytes.end };

    let opening = Span::new(first.span.start, first.body.start).text(source);
    let closing = Span::new(last.body.end, last.span.end).text(source);
    let before = Span::new(from, range.start).text(source);
    let after = Span::new(range.end, to).text(source);
    let window = [opening, before, new, after, closing].concat();
    let mut cursor = Cursor::new(&window);
    let mut literals = Vec::new();
    cursor.literals(&mut literals);
    if cursor.pos != window.len() {
        return false;
    }
    let read = refill(&decode(&window, &literals), asm.mode(), &asm.names, |index| {
        match index.checked_sub(asm.operands.len()) {
            None => Some(asm.operands[index].placeholder.as_str()),
            Some(unknown) => asm.unknown.get(unknown).map(|it| it.placeholder.as_str()),
        }
    });
    let expected =
        [&asm.text[start..span.start as usize], replacement, &asm.text[span.end as usize..end]];
    read.is_some_and(|read| read == expected.concat())
}
