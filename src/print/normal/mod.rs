//! The normal form of a module: one text for modules that say the same.
//!
//! ```
//! use vptx::print::{NormalOptions, normalize};
//!
//! let one = ".func f(.reg .b32 a) { .reg .b32 x, %r<9>; mov.b32 x, a; add.u32 %r7, x, 0x10; }";
//! let other = ".func f(.reg .b32 in)\n{ // the same\n .reg .b32 %r<3>;\n mov.b32 %r1, in;\n\
//!              add.u32 %r2, %r1, 16;\n}";
//! let options = NormalOptions::default();
//! assert_eq!(normalize(one, &options)?, normalize(other, &options)?);
//! # Ok::<(), vptx::print::FormatError>(())
//! ```

mod constants;
mod reading;
mod renaming;

use std::borrow::Cow;

#[cfg(feature = "cli")]
use rayon::prelude::*;

#[cfg(feature = "cli")]
use super::format_in_parts;
use super::{FormatError, FormatOptions, format};
use crate::analysis;
#[cfg(feature = "cli")]
use crate::analysis::TextPart;
use crate::check::problem_diagnostic;
use crate::diagnostic::{Code, Diagnostic};
use crate::names::WordKind;
use crate::source::Span;
#[cfg(feature = "cli")]
use crate::source::decode;
use crate::syntax::lexer::{Lexer, comments};
use crate::syntax::{Problem, ProblemKind, Token, TokenKind};
use reading::{Globals, Reading};
use renaming::Renaming;

/// Options for [`normalize`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct NormalOptions {
    /// Keep the names of registers, labels, parameters and internal symbols, and the
    /// declarations of registers as they are written.
    pub keep_names: bool,
    /// Keep comments.
    pub keep_comments: bool,
    /// Keep `.loc`, `.file` and the data of debuggers.
    pub keep_debug: bool,
}

/// The normal form of a module.
///
/// Modules have one normal form if they differ only in white space, comments, data of
/// debuggers, the spelling of constants, the names of registers, labels, parameters and
/// internal variables, or in how registers are declared. Names of functions stay, and names of
/// variables that are `.visible`, `.extern`, `.weak` or `.common`, or textures, samplers or
/// surfaces; and so do strings, data, instructions and their order. Registers are numbered in
/// the order of their use in a function, by type: `%r1`, `%rd1`, `%p1`. The normal form is its
/// own normal form.
///
/// ptxas makes the same machine code of it, unless it is told not to optimise.
///
/// # Errors
/// The syntax errors of the text.
pub fn normalize(source: &str, options: &NormalOptions) -> Result<String, FormatError> {
    normalize_with(source, *options, false)
}

/// Like [`normalize`]; a large text is read in parts, with all cores if `in_parallel` is set.
pub(crate) fn normalize_with(
    source: &str,
    options: NormalOptions,
    in_parallel: bool,
) -> Result<String, FormatError> {
    if let Some(error) = analysis::unreadable(source) {
        return Err(FormatError { diagnostics: vec![error] });
    }
    #[cfg(feature = "cli")]
    if let Some(form) = in_parts(source, options, in_parallel) {
        return Ok(form);
    }
    let reading = Reading::new(source, options);
    let (unended, is_doubtful) = (reading.names.unended, reading.names.is_doubtful);
    let form = laid_out_anew(reading, options, in_parallel);
    // Text that is hardly PTX may mean something else in another layout.
    let is_sure = form.is_some() && !is_doubtful;
    if !is_sure {
        // Text that is not understood is left alone.
        format(source, &FormatOptions::default())?;
        if let Some(span) = unended {
            let problem = Problem { kind: ProblemKind::MissingSemicolon, span };
            return Err(FormatError { diagnostics: vec![problem_diagnostic(source, problem)] });
        }
    }
    let is_own = |form: &String| {
        let again = laid_out_anew(Reading::new(form, options), options, in_parallel);
        again.as_ref() == Some(form)
    };
    form.filter(|form| is_sure || is_own(form)).ok_or_else(|| {
        let message = "the text has no normal form: it reads otherwise when it is laid out anew";
        FormatError { diagnostics: vec![Diagnostic::new(Code::V007, Span::at(0), message)] }
    })
}

/// The normal form of a large text. `None` if it has to be read as a whole.
#[cfg(feature = "cli")]
fn in_parts(source: &str, options: NormalOptions, in_parallel: bool) -> Option<String> {
    // A comment may belong to the line where the part before ends.
    if options.keep_comments {
        return None;
    }
    let parts = analysis::in_parts(source, in_parallel, |part, ()| read_part(part, options))?;
    joined(parts, options, in_parallel)
}

/// A part of a text. `None` if it may mean something else in its place.
#[cfg(feature = "cli")]
fn read_part<'s>(part: &TextPart<'s>, options: NormalOptions) -> Option<Reading<'s>> {
    // Only the whole text may start with a byte order mark.
    let has_mark = part.text.starts_with('\u{feff}');
    let reading = Reading::new(part.text, options);
    (!has_mark && reading.stands_alone()).then_some(reading)
}

/// The normal form of a text that consists of these parts.
#[cfg(feature = "cli")]
fn joined(parts: Vec<Reading>, options: NormalOptions, in_parallel: bool) -> Option<String> {
    let globals = Globals::new(&parts)?;
    let text = |part| Plain::new(part, &globals, options).text();
    let texts: Vec<String> = if in_parallel {
        parts.into_par_iter().map(text).collect()
    } else {
        parts.into_iter().map(text).collect()
    };
    formatted(&texts.concat(), in_parallel)
}

/// The text with new names and layout. `None` if it is not understood.
fn laid_out_anew(reading: Reading, options: NormalOptions, in_parallel: bool) -> Option<String> {
    if reading.names.unended.is_some() {
        return None;
    }
    let globals = Globals::new(std::slice::from_ref(&reading))?;
    formatted(&Plain::new(reading, &globals, options).text(), in_parallel)
}

/// The formatted text, unless it has errors.
fn formatted(text: &str, in_parallel: bool) -> Option<String> {
    #[cfg(not(feature = "cli"))]
    let _ = in_parallel;
    #[cfg(feature = "cli")]
    {
        // Statements are indented.
        let mut pieces = Vec::with_capacity(text.len() + text.len() / 4);
        let take = |piece: Cow<[u8]>| {
            pieces.extend_from_slice(&piece);
            Some(())
        };
        if format_in_parts(text, &FormatOptions::default(), in_parallel, take).is_some() {
            return Some(decode(pieces));
        }
    }
    format(text, &FormatOptions::default()).ok()
}

/// The tokens of a text with new names, and without what is left out. Layout is the
/// formatter's work.
struct Plain<'s> {
    reading: Reading<'s>,
    keep_comments: bool,
    renaming: Renaming,
    /// The parts that are left out, in order.
    dropped: Vec<Span>,
}

impl<'s> Plain<'s> {
    fn new(mut reading: Reading<'s>, globals: &Globals<'s>, options: NormalOptions) -> Plain<'s> {
        let mut dropped = Vec::new();
        let renaming = if options.keep_names {
            Renaming::default()
        } else {
            Renaming::new(&reading, globals, &mut dropped)
        };
        dropped.append(&mut reading.dropped);
        dropped.sort_unstable();
        Plain { reading, keep_comments: options.keep_comments, renaming, dropped }
    }

    fn text(&self) -> String {
        let source = self.reading.text;
        let mut text = String::with_capacity(source.len());
        let mut lexer = Lexer::new(source, 0);
        if source.starts_with('\u{feff}') {
            lexer.pos = '\u{feff}'.len_utf8();
        }
        let mut dropped = Along::new(&self.dropped, |it| it.start);
        let mut words = Along::new(&self.reading.names.words, |it| it.span.start);
        let mut names = Along::new(&self.renaming.names, |it| it.0);
        let mut declarations = Along::new(&self.renaming.declarations, |it| it.0);
        let mut end = lexer.pos;
        let mut last: Option<Token> = None;
        // Whether the next token may not touch the last one.
        let mut is_apart = false;
        // Whether modifiers of an opcode may follow.
        let mut in_opcode = false;
        // Whether numbers are versions, or places in sources.
        let mut is_plain = false;
        while let Some(token) = lexer.token() {
            let start = token.span.start;
            let between = &source[end..start as usize];
            if let Some(span) = dropped.at(start) {
                // White space follows.
                if between.contains('/') {
                    self.between(&mut text, between, false);
                }
                lexer.pos = span.end as usize;
                end = lexer.pos;
                (in_opcode, is_apart) = (false, true);
                continue;
            }
            let word = words.at(start).map(|word| word.kind);
            let joins = in_opcode && word == Some(WordKind::Modifier);
            in_opcode = joins || word == Some(WordKind::Mnemonic);
            let own = token.span.text(source);
            if word == Some(WordKind::Directive) || token.is(b';') {
                is_plain = matches!(own, ".version" | ".address_size" | ".loc" | ".file");
            }
            let new = match token.kind {
                TokenKind::Ident => names.at(start).map(|it| self.renaming.text(it.1).into()),
                TokenKind::Number if !is_plain && !joins => {
                    number(own, last, || lexer.clone().token())
                }
                _ => None,
            };
            let is_new_number = token.kind == TokenKind::Number && new.is_some();
            // `1.5` may touch the word before it, `0d3FF8000000000000` may not.
            is_apart |= new.is_some() && last.is_some_and(|last| last.is_word());
            let between = if is_apart && between.is_empty() { " " } else { between };
            self.between(&mut text, between, joins);
            text.push_str(&new.unwrap_or(own.into()));
            is_apart = is_new_number && source[lexer.pos..].starts_with(['.', '%']);
            if token.is(b'{')
                && let Some((_, own)) = declarations.at(start)
            {
                text.push_str(own);
            }
            end = lexer.pos;
            last = Some(token);
        }
        self.between(&mut text, &source[end..], false);
        text
    }

    /// Writes white space, or comments, between two tokens.
    fn between(&self, text: &mut String, between: &str, joins: bool) {
        let has_comments = self.keep_comments && between.len() > 1;
        let comments = if has_comments { comments(between) } else { Vec::new() };
        let mut end = 0;
        for comment in &comments {
            let own_line = between[end..comment.start as usize].contains('\n');
            match own_line {
                true if text.ends_with('\n') => {}
                true => text.push('\n'),
                false => text.push(' '),
            }
            text.push_str(comment.text(between));
            end = comment.end as usize;
        }
        let last = text.as_bytes().last();
        if !comments.is_empty() && between[end..].contains('\n') || last == Some(&b';') {
            text.push('\n');
        } else if !between.is_empty() && !joins && last != Some(&b'\n') {
            text.push(' ');
        }
    }
}

/// Items in the order of their places, along a text.
struct Along<'i, T> {
    items: &'i [T],
    place: fn(&T) -> u32,
}

impl<'i, T> Along<'i, T> {
    fn new(items: &'i [T], place: fn(&T) -> u32) -> Along<'i, T> {
        Along { items, place }
    }

    /// The item at a place that is after those asked for before.
    fn at(&mut self, place: u32) -> Option<&'i T> {
        while let [first, rest @ ..] = self.items {
            let own = (self.place)(first);
            if own >= place {
                return (own == place).then_some(first);
            }
            self.items = rest;
        }
        None
    }
}

/// The one spelling of a number between two tokens. `None` if it is no number of PTX.
pub(crate) fn number(
    text: &str,
    before: Option<Token>,
    after: impl FnOnce() -> Option<Token>,
) -> Option<Cow<'_, str>> {
    constants::spelled(text, || is_alone(before, after()))
}

/// Whether a number between two tokens is a whole operand, rather than part of an expression.
fn is_alone(before: Option<Token>, after: Option<Token>) -> bool {
    let is_one_of = |token: Option<Token>, punctuation: &[u8]| {
        token.is_some_and(|token| punctuation.iter().any(|byte| token.is(*byte)))
    };
    is_one_of(before, b",{=[") && is_one_of(after, b",}];")
}

#[cfg(all(test, feature = "cli"))]
mod tests {
    use super::*;
    use crate::analysis::in_parts_of;
    use crate::testing::Numbers;

    const PIECES: &[&str] = &[
        "\n}\n",
        "\n}",
        "\n} ",
        "{\n",
        ".func f()\n{\n",
        ".entry k(.param .u64 p)\n{\n",
        ".func g(.reg .b32 a)\n{\n.reg .b32 %r<9>, t;\nL:\nadd.u32 t, a, %r3;\nbra L;\n}\n",
        ".func h()\n{\n.reg .b32 %r<9>;\n.shared .u32 v;\nmov.u32 %r1, v;\n}\n",
        ".func i()\n{\n.reg .b64 %rd<9>;\nmov.u64 %rd1, v;\nmov.u64 %rd2, w;\n}\n",
        ".func j()\n{\n.reg .b32 %r<2>;\nmov.u32 %r1, %tid;\ncall f;\n}\n",
        ".func k()\n{\nv:\nbra v;\n}\n",
        ".global .u32 v;\n",
        ".global .u32 w = v;\n",
        ".visible .global .u32 v;\n",
        ".extern .shared .u32 w[];\n",
        ".global .u32 global_1;\n",
        ".visible .global .u32 global_1;\n",
        ".reg .b32 %r<2>;\n",
        ".reg .b32 a;\n",
        "// one\n",
        " /* two */\n",
        "/*",
        "\"",
        ".loc 1 2 3\n",
        ".loc 1 2 3, function_name L, inlined_at 1 2 3\n",
        ".section .s {\nL:\n.b32 v\n}\n",
        ".section .s {\n.b32 v\n}\n",
        ".file 1 \"a.cu\"\n",
        ".version 8.0\n.target sm_90, debug\n",
        "# 1 \"a\"\n",
        "ret;\n",
    ];

    #[test]
    fn parts_have_the_normal_form_of_the_whole() {
        let mut numbers = Numbers(7);
        let (mut found, mut shared) = (0, 0);
        for round in 0..60_000 {
            let count = 1 + numbers.below(16);
            let source: String = (0..count).map(|_| numbers.pick(PIECES)).collect();
            let options = NormalOptions {
                keep_names: round % 5 == 0,
                keep_comments: false,
                keep_debug: round % 7 == 0,
            };
            let size = 1 + numbers.below(80);
            let parts = in_parts_of(size, &source, |part, ()| read_part(part, options));
            let Some(parts) = parts.filter(|parts| parts.len() > 1) else { continue };
            let Some(form) = joined(parts, options, false) else { continue };
            found += 1;
            shared += usize::from(form.matches("global_1").count() > 1);
            assert_eq!(normalize(&source, &options).as_ref(), Ok(&form), "{source}\n{size}");
        }
        assert!(found > 1000 && shared > 50, "{found} {shared}");
    }
}
