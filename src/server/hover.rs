//! Texts about the place under the pointer, in Markdown.

use std::fmt::Write;

use super::place;
use super::statements::{self, FoundInstruction, Near};
use crate::check::{CheckOptions, Language};
use crate::diagnostic::Code;
use crate::embed::Asm;
use crate::explain;
use crate::isa::Mnemonic;
use crate::source::Span;
use crate::video::OperandName;

/// A text about a part of the source.
pub(super) struct Hover {
    pub(super) span: Span,
    pub(super) markdown: String,
}

/// The text about an offset.
pub(super) fn at(source: &str, options: &CheckOptions, offset: u32) -> Option<Hover> {
    let hover = found(source, options, offset)?;
    Some(Hover { markdown: small(&hover.markdown), ..hover })
}

/// A page for a small window. Bold lines replace headings. Indented blocks get fences, as some
/// editors would colour them as code otherwise.
fn small(page: &str) -> String {
    let is_indented = |line: &str| line.starts_with("    ");
    let mut text = String::new();
    let (mut in_fence, mut in_block) = (false, false);
    let mut lines = page.lines().peekable();
    while let Some(line) = lines.next() {
        in_fence ^= line.starts_with("```");
        // A block continues after a blank line if the next line is indented.
        let goes_on = line.is_empty() && lines.peek().is_some_and(|next| is_indented(next));
        let was_block = in_block;
        in_block = !in_fence && (is_indented(line) || in_block && goes_on);
        match (was_block, in_block) {
            (false, true) => text.push_str("```text\n"),
            (true, false) => text.push_str("```\n"),
            _ => {}
        }
        let heading = line.trim_start_matches('#').strip_prefix(' ');
        let heading = heading.filter(|_| line.starts_with('#') && !in_fence);
        let _ = match heading {
            Some(heading) => writeln!(text, "**{heading}**"),
            None if in_block => writeln!(text, "{}", line.get(4..).unwrap_or_default()),
            None => writeln!(text, "{line}"),
        };
    }
    if in_block {
        text.push_str("```\n");
    }
    text
}

fn found(source: &str, options: &CheckOptions, offset: u32) -> Option<Hover> {
    if let Some(hover) = code(source, offset) {
        return Some(hover);
    }
    let found = match options.language.host() {
        None => statements::at(source, options, offset),
        Some(host) => {
            let asm = statements::asm_at(source, host, offset)?;
            let found = statements::in_asm(&asm, offset);
            let operand = found.as_ref().and_then(|found| operand(source, &asm, found, offset));
            if operand.is_some() {
                return operand;
            }
            found
        }
    };
    match found {
        Some(found) => instruction(source, &found, options, offset),
        None => mnemonic(source, options, offset)
            .or_else(|| target(source, offset))
            .or_else(|| declaration(source, options, offset)),
    }
}

/// The largest length of a declaration that is shown, in bytes.
const LONGEST: usize = 1000;

/// The declaration of a name.
fn declaration(source: &str, options: &CheckOptions, offset: u32) -> Option<Hover> {
    let place = place::at(source, options, offset)?;
    let text = place.declared()?;
    let mut end = text.len().min(LONGEST);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let more = if end < text.len() { " …" } else { "" };
    let markdown = format!("```ptx\n{}{more}\n```\n", &text[..end]);
    Some(Hover { span: place.span(), markdown })
}

const NAMES: [OperandName; 4] = [OperandName::D, OperandName::A, OperandName::B, OperandName::C];

/// The text about the part of a legal instruction at an offset.
fn instruction(
    source: &str,
    found: &FoundInstruction,
    options: &CheckOptions,
    offset: u32,
) -> Option<Hover> {
    let FoundInstruction { instruction, spans, statement, .. } = found;
    let target = statements::target(options, found.target);
    if spans.mnemonic.touches(offset) {
        let markdown = explain::instruction(instruction, target, true);
        return Some(Hover { span: spans.mnemonic, markdown });
    }
    for &(role, span) in &spans.modifiers {
        if span.start < offset
            && offset <= span.end
            && let Some(modifier) = instruction.modifier(role)
        {
            let said = explain::role_text(instruction, role, modifier);
            let markdown = format!("`{modifier}`, {}: {said}\n\n{}", role.name(), lanes(found));
            return Some(Hover { span, markdown });
        }
    }
    for (operand, name) in spans.operands.iter().zip(NAMES) {
        let selector = operand.selector.filter(|span| span.start < offset && offset <= span.end);
        if let Some(span) = selector {
            let page = explain::word(span.text(source));
            return Some(Hover { span, markdown: format!("{page}\n{}", lanes(found)) });
        }
        if operand.value.touches(offset) {
            let declared = statement.declared.get(name).map(|ty| {
                format!("```ptx\n.reg {} {};\n```\n\n", ty.text(), operand.value.text(source))
            });
            let markdown = declared.unwrap_or_default() + &lanes(found);
            return Some(Hover { span: operand.value, markdown });
        }
    }
    None
}

/// The formula of the result, a line for each lane.
fn lanes(found: &FoundInstruction) -> String {
    let mut text = String::from("```text\n");
    for line in explain::formula(&found.instruction) {
        let _ = writeln!(text, "{line}");
    }
    text + "```\n"
}

/// An operand of an `asm` statement: its constraint and its expression.
fn operand(source: &str, asm: &Asm<'_>, found: &FoundInstruction, offset: u32) -> Option<Hover> {
    let places = found.spans.operands.iter().zip(&found.values);
    let (place, value) = places.into_iter().find(|(place, _)| place.value.touches(offset))?;
    let operand = asm.operands.iter().find(|operand| operand.placeholder == *value)?;
    let kind = if operand.output { "output" } else { "input" };
    let constraint = &operand.constraint;
    let expression = expression(&source[operand.span.end as usize..asm.span.end as usize]);
    let spelled = place.value.text(source);
    let markdown =
        format!("`{spelled}`: {kind} `\"{constraint}\"({expression})`\n\n{}", lanes(found));
    Some(Hover { span: place.value, markdown })
}

/// The expression in the parentheses after a constraint.
fn expression(rest: &str) -> &str {
    let Some(rest) = rest.trim_start().strip_prefix('(') else { return "" };
    let mut depth = 0;
    let end = rest.find(|c| {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        depth < 0
    });
    rest[..end.unwrap_or(rest.len())].trim()
}

/// The page of a mnemonic, for instructions that have errors.
fn mnemonic(source: &str, options: &CheckOptions, offset: u32) -> Option<Hover> {
    let span = word(source, offset, |c| c.is_ascii_alphanumeric())?;
    let mnemonic = Mnemonic::from_text(span.text(source))?;
    let own = match options.language {
        Language::Ptx => Near::read(source, Span::at(offset)).module.target,
        _ => None,
    };
    let target = statements::target(options, own);
    Some(Hover { span, markdown: explain::mnemonic(mnemonic, target) })
}

/// The page of a target.
fn target(source: &str, offset: u32) -> Option<Hover> {
    let span = word(source, offset, |c| c.is_ascii_alphanumeric() || c == '_')?;
    Some(Hover { span, markdown: explain::target(span.text(source))? })
}

/// The page of a code in a comment for vptx.
fn code(source: &str, offset: u32) -> Option<Hover> {
    // The line break before the line does no harm.
    let start = memchr::memrchr(b'\n', &source.as_bytes()[..offset as usize]).unwrap_or(0);
    let end = memchr::memchr(b'\n', &source.as_bytes()[offset as usize..]);
    let end = end.map_or(source.len(), |at| offset as usize + at);
    let line = &source[start..end];
    let mark = line.find("vptx:")?;
    if start + mark > offset as usize {
        return None;
    }
    let span = word(source, offset, |c| c.is_ascii_alphanumeric() || c == '-')?;
    let code = Code::find(span.text(source))?;
    Some(Hover { span, markdown: code.page() })
}

/// The word around an offset.
fn word(source: &str, offset: u32, is_part: impl Fn(char) -> bool) -> Option<Span> {
    let offset = offset as usize;
    let before = source.get(..offset)?.rfind(|c| !is_part(c));
    let start = before.map_or(0, |at| at + source[at..].chars().next().map_or(1, char::len_utf8));
    let end = source[offset..].find(|c| !is_part(c)).map_or(source.len(), |at| offset + at);
    (start < end).then(|| Span::new(start as u32, end as u32))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_become_small() {
        let page =
            "# a b\n\ntext\n\n    one\n\n      two\n\n## c\n```ptx\n# d\n    e\n```\n    f\n";
        let expected = "**a b**\n\ntext\n\n```text\none\n\n  two\n```\n\n**c**\n```ptx\n# d\n    e\n```\n\
                        ```text\nf\n```\n";
        assert_eq!(small(page), expected);
    }
}
