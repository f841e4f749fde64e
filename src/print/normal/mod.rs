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
mod renaming;

use std::borrow::Cow;

use super::{FormatError, FormatOptions, format};
use crate::check::problem_diagnostic;
use crate::diagnostic::{Code, Diagnostic};
use crate::names::{Names, Word, WordKind, read_words};
use crate::source::Span;
use crate::syntax::lexer::{Lexer, comments};
use crate::syntax::{Problem, ProblemKind, Token, TokenKind};
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
    let names = read_words(source, Span::new(0, source.len() as u32));
    let form = laid_out_anew(source, &names, *options);
    // Text that is hardly PTX may mean something else in another layout.
    let is_sure = form.is_some() && !names.is_doubtful;
    if !is_sure {
        // Text that is not understood is left alone.
        format(source, &FormatOptions::default())?;
        if let Some(span) = names.unended {
            let problem = Problem { kind: ProblemKind::MissingSemicolon, span };
            return Err(FormatError { diagnostics: vec![problem_diagnostic(source, problem)] });
        }
    }
    let is_own = |form: &String| {
        let names = read_words(form, Span::new(0, form.len() as u32));
        laid_out_anew(form, &names, *options).as_ref() == Some(form)
    };
    form.filter(|form| is_sure || is_own(form)).ok_or_else(|| {
        let message = "the text has no normal form: it reads otherwise when it is laid out anew";
        FormatError { diagnostics: vec![Diagnostic::new(Code::V007, Span::at(0), message)] }
    })
}

/// The text with new names and layout. `None` if it is not understood.
fn laid_out_anew(source: &str, names: &Names, options: NormalOptions) -> Option<String> {
    if names.unended.is_some() {
        return None;
    }
    let text = Plain::new(source, names, options).text();
    format(&text, &FormatOptions::default()).ok()
}

/// The tokens of a text with new names, and without what is left out. Layout is the
/// formatter's work.
struct Plain<'s> {
    source: &'s str,
    words: &'s [Word],
    keep_comments: bool,
    renaming: Renaming,
    /// The parts that are left out, in order.
    dropped: Vec<Span>,
}

impl<'s> Plain<'s> {
    fn new(source: &'s str, names: &'s Names, options: NormalOptions) -> Plain<'s> {
        let mut dropped = Vec::new();
        if !options.keep_debug {
            dropped.extend(&names.debug);
            dropped.extend(debug_option(source, &names.words));
            dropped.sort_unstable();
        }
        let renaming = if options.keep_names {
            Renaming::default()
        } else {
            Renaming::new(source, names, options.keep_debug, &mut dropped)
        };
        dropped.sort_unstable();
        let keep_comments = options.keep_comments;
        Plain { source, words: &names.words, keep_comments, renaming, dropped }
    }

    fn text(&self) -> String {
        let mut text = String::with_capacity(self.source.len());
        let mut lexer = Lexer::new(self.source, 0);
        if self.source.starts_with('\u{feff}') {
            lexer.pos = '\u{feff}'.len_utf8();
        }
        let mut dropped = Along::new(&self.dropped, |it| it.start);
        let mut words = Along::new(self.words, |it| it.span.start);
        let mut names = Along::new(&self.renaming.names, |it| it.0);
        let mut declarations = Along::new(&self.renaming.declarations, |it| it.0);
        let mut end = lexer.pos;
        let mut last = None;
        // Whether modifiers of an opcode may follow.
        let mut in_opcode = false;
        // Whether numbers are versions, or places in sources.
        let mut is_plain = false;
        while let Some(token) = lexer.token() {
            let start = token.span.start;
            let between = &self.source[end..start as usize];
            if let Some(span) = dropped.at(start) {
                // The white space after it separates.
                if between.contains('/') {
                    self.between(&mut text, between, false);
                }
                lexer.pos = span.end as usize;
                end = lexer.pos;
                in_opcode = false;
                continue;
            }
            let word = words.at(start).map(|word| word.kind);
            let joins = in_opcode && word == Some(WordKind::Modifier);
            in_opcode = joins || word == Some(WordKind::Mnemonic);
            self.between(&mut text, between, joins);
            let own = token.span.text(self.source);
            if word == Some(WordKind::Directive) || token.is(b';') {
                is_plain = matches!(own, ".version" | ".address_size" | ".loc" | ".file");
            }
            match token.kind {
                TokenKind::Ident => match names.at(start) {
                    Some((_, name)) => text.push_str(self.renaming.text(*name)),
                    None => text.push_str(own),
                },
                TokenKind::Number if !is_plain => {
                    let number = number(own, last, lexer.clone().token());
                    text.push_str(&number.unwrap_or(own.into()));
                }
                _ => text.push_str(own),
            }
            if token.is(b'{')
                && let Some((_, own)) = declarations.at(start)
            {
                text.push_str(own);
            }
            end = lexer.pos;
            last = Some(token);
        }
        self.between(&mut text, &self.source[end..], false);
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
    after: Option<Token>,
) -> Option<Cow<'_, str>> {
    constants::spelled(text, is_alone(before, after))
}

/// Whether a number between two tokens is a whole operand, rather than part of an expression.
fn is_alone(before: Option<Token>, after: Option<Token>) -> bool {
    let is_one_of = |token: Option<Token>, punctuation: &[u8]| {
        token.is_some_and(|token| punctuation.iter().any(|byte| token.is(*byte)))
    };
    is_one_of(before, b",{=[") && is_one_of(after, b",}];")
}

/// The option `debug` of `.target`, with its comma: ptxas refuses it without debug data.
fn debug_option(source: &str, words: &[Word]) -> Option<Span> {
    let target = words.iter().position(|word| word.span.text(source) == ".target")?;
    let mut options = words[target + 1..].iter().take_while(|it| it.kind == WordKind::Modifier);
    let option = options.find(|word| word.span.text(source) == "debug")?.span;
    let comma = source[..option.start as usize].rfind(',')?;
    Some(Span::new(comma as u32, option.end))
}
