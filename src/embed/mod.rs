//! PTX in C, C++, CUDA and `OpenCL`: the `asm` statements of a source.
//!
//! [`statements`] finds them and makes PTX of their string literals, in which words such
//! as `%0` stand for operands. Each byte of that text knows its place in the source, so
//! findings in the text are reported, and fixed, in the source.
//!
//! ```
//! use vptx::embed;
//!
//! let source = r#"asm("vabsdiff.u32.u32.u32 %0, %%r1,\n\t %[b];" : "=r"(d) : [b] "r"(b));"#;
//! let asm = &embed::statements(source)[0];
//! assert_eq!(asm.text, "vabsdiff.u32.u32.u32 %0, %r1,\n\t %b;");
//! assert_eq!(asm.operands[1].constraint, "r");
//! assert_eq!(asm.spelled("%r1, %b"), "%%r1, %[b]");
//! ```
//!
//! The preprocessor is not run. The text of a statement whose literals come from macros is
//! not known: such a statement is left out, and [`skipped`] lists it.

mod edit;
mod scan;
mod template;

pub(crate) use scan::comments;
use scan::{AsmStatement, Literal, ScannedOperand, Scanner};
#[cfg(feature = "cli")]
pub(crate) use scan::{Piece, pieces};
pub use scan::{SkipReason, Skipped};
use template::{Expanded, Mode, OperandNames, SourceMap, Spelling, Unknown, decode, expand};

use crate::source::Span;

/// Every `asm` statement of a source whose text is known, in order.
///
/// Statements under `#if 0` are left out. So are statements whose template or operands are not
/// written out (macros, `#`, preprocessor conditions between them), and statements with nvcc's
/// constraint `C`, which pastes text. An empty template gives an empty text. The source has at
/// most [`MAX_LEN`](crate::source::MAX_LEN) bytes.
pub fn statements(source: &str) -> Vec<Asm<'_>> {
    select(source, |_| true)
}

/// The `asm` statements that [`statements`] leaves out, in order.
pub fn skipped(source: &str) -> Vec<Skipped> {
    if memchr::memmem::find(source.as_bytes(), b"asm").is_none() {
        return Vec::new();
    }
    let mut scanner = Scanner::new(source);
    while let Some(statement) = scanner.next() {
        let constraint = |it: &ScannedOperand<'_>| {
            decode(source, &statement.constraints[it.constraint.clone()]).text
        };
        if statement.operands.iter().any(|it| pastes(&constraint(it))) {
            scanner.skipped.push(Skipped { span: statement.span, reason: SkipReason::Pasted });
        }
    }
    scanner.skipped
}

/// The [`statements`] in which an opcode may start with `letter`, given in lower case, or its
/// upper case. Skips the others.
pub(crate) fn statements_with(source: &str, letter: u8) -> Vec<Asm<'_>> {
    select(source, |template| {
        template.iter().any(|literal| may_start(literal.body.text(source).as_bytes(), letter))
    })
}

fn select(source: &str, wanted: impl Fn(&[Literal]) -> bool) -> Vec<Asm<'_>> {
    if memchr::memmem::find(source.as_bytes(), b"asm").is_none() {
        return Vec::new();
    }
    Scanner::new(source)
        .filter(|statement| wanted(&statement.template))
        .filter_map(|statement| Asm::new(source, statement))
        .collect()
}

/// Whether a word other than a modifier or a register may start with `letter` in a literal, as
/// far as its source shows.
fn may_start(body: &[u8], letter: u8) -> bool {
    let at_start = |at: usize| match body[..at] {
        [.., b'\\' | b'%', _] | [] => true,
        [.., before] => !before.is_ascii_alphanumeric() && !b"_$.%".contains(&before),
    };
    // A numeric escape may be any letter, and a joined line may split an escape.
    let is_code = |at: usize| {
        matches!(
            body[at + 1..],
            [b'x' | b'u' | b'U' | b'0'..=b'7', ..] | [b'\\', b'\n' | b'\r', ..]
        )
    };
    memchr::memchr2_iter(letter, letter.to_ascii_uppercase(), body).any(at_start)
        || memchr::memchr_iter(b'\\', body).any(is_code)
}

/// An `asm` statement.
#[derive(Clone, Debug)]
pub struct Asm<'s> {
    /// From the keyword to the closing parenthesis.
    pub span: Span,
    /// The PTX, with a placeholder for each reference to an operand.
    ///
    /// A placeholder is `%0`, or `%name` if the template has `%[name]`. If that word has
    /// another meaning, one `$` or more follow it. `%%` becomes `%`, and `%=` becomes 0. A byte
    /// that is not UTF-8 becomes U+007F. Without a `:`, every `%` stays.
    pub text: String,
    /// Whether a `:` follows the template.
    pub extended: bool,
    /// Outputs, then inputs, in the order in which they are numbered.
    pub operands: Vec<AsmOperand<'s>>,
    map: SourceMap,
    literals: Vec<Literal>,
    /// Whether it belongs to a preprocessor directive.
    in_directive: bool,
    spelling: Spelling,
    names: OperandNames<'s>,
    unknown: Vec<Unknown>,
    unknown_at: Vec<(usize, Span)>,
}

/// An operand of an `asm` statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AsmOperand<'s> {
    /// The name in brackets before the constraint.
    pub name: Option<&'s str>,
    /// The constraint without quotes, such as `=r`.
    pub constraint: String,
    /// The constraint's string literals, quotes included.
    pub span: Span,
    /// Whether it is an output.
    pub output: bool,
    /// The word that stands for it in the text.
    pub placeholder: String,
}

/// Whether a constraint is nvcc's `C`, which pastes text.
fn pastes(constraint: &str) -> bool {
    constraint.contains('C')
}

/// How a statement's `%` are read.
fn mode(extended: bool, has_operands: bool) -> Mode {
    match (extended, has_operands) {
        (false, _) => Mode::Basic,
        (true, false) => Mode::Bare,
        (true, true) => Mode::Full,
    }
}

impl<'s> Asm<'s> {
    fn new(source: &str, statement: AsmStatement<'s>) -> Option<Asm<'s>> {
        let mut operands = Vec::with_capacity(statement.operands.len());
        for operand in &statement.operands {
            let literals = &statement.constraints[operand.constraint.clone()];
            let constraint = decode(source, literals).text;
            if pastes(&constraint) {
                return None;
            }
            operands.push(AsmOperand {
                name: operand.name,
                constraint,
                span: literals[0].span.to(literals[literals.len() - 1].span),
                output: operand.output,
                placeholder: String::new(),
            });
        }
        let template = decode(source, &statement.template);
        let names: Vec<_> = operands.iter().map(|operand| operand.name).collect();
        let mode = mode(statement.extended, !operands.is_empty());
        let Expanded { names, mapped, placeholders, unknown, unknown_at, spelling } =
            expand(template, mode, &names);
        for (operand, placeholder) in operands.iter_mut().zip(placeholders) {
            operand.placeholder = placeholder;
        }
        Some(Asm {
            span: statement.span,
            text: mapped.text,
            extended: statement.extended,
            operands,
            map: mapped.map,
            literals: statement.template,
            in_directive: statement.in_directive,
            spelling,
            names,
            unknown,
            unknown_at,
        })
    }

    /// The source of a span of the text, from the source of its first byte to that of its
    /// last one. An empty span becomes the point after the byte before it; at the start of
    /// the text, the point before the first byte.
    pub fn source_span(&self, span: Span) -> Span {
        let end = self.text.len() as u32;
        if self.text.is_empty() {
            Span::at(self.literals[0].body.start)
        } else if !span.is_empty() {
            self.map.source(span)
        } else if span.start == 0 {
            Span::at(self.map.source(Span::new(0, 1)).start)
        } else {
            Span::at(self.map.source(Span::new(0, span.start.min(end))).end)
        }
    }

    /// The change of the source that replaces a span of the text.
    ///
    /// `None` if the source cannot express exactly that: the span cuts a placeholder or an
    /// escape, goes from the literal of one line into the next, or the replacement would
    /// run together with its neighbours.
    ///
    /// The text of the changed source has the replacement. It may have other placeholders if
    /// it refers to fewer operands, or has new words.
    pub fn source_edit(
        &self,
        source: &str,
        span: Span,
        replacement: &str,
    ) -> Option<(Span, String)> {
        edit::source_edit(self, source, span, replacement)
    }

    /// PTX as the statement writes it, for messages: a placeholder as `%[name]` or `%0`, and
    /// any other `%` doubled if the statement must double it, or does.
    pub fn spelled(&self, text: &str) -> String {
        self.spelling.spell(text)
    }

    /// References of an extended statement to operands that it does not have: their spelling
    /// in the source, and the places of their placeholders in the text.
    pub fn unknown_operands(&self) -> impl Iterator<Item = (&str, Span)> {
        self.unknown_at.iter().map(|&(index, span)| (self.unknown[index].spelling.as_str(), span))
    }

    /// The [`Asm::unknown_operands`] in a span of the text.
    pub(crate) fn unknown_operands_in(&self, span: Span) -> impl Iterator<Item = (&str, Span)> {
        let first = self.unknown_at.partition_point(|(_, at)| at.start < span.start);
        let inside = self.unknown_at[first..].iter().take_while(move |(_, at)| at.end <= span.end);
        inside.map(|&(index, at)| (self.unknown[index].spelling.as_str(), at))
    }

    fn mode(&self) -> Mode {
        mode(self.extended, !self.operands.is_empty())
    }
}

#[cfg(test)]
mod tests;
