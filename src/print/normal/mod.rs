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
    // Text that is not understood is left alone.
    format(source, &FormatOptions::default())?;
    let form = laid_out_anew(source, *options)?;
    // Text that is hardly PTX may mean something else in another layout.
    if laid_out_anew(&form, *options).as_ref() == Ok(&form) {
        return Ok(form);
    }
    let message = "the text has no normal form: it reads otherwise when it is laid out anew";
    Err(FormatError { diagnostics: vec![Diagnostic::new(Code::V007, Span::at(0), message)] })
}

/// The normal form of a text that can be formatted.
fn laid_out_anew(source: &str, options: NormalOptions) -> Result<String, FormatError> {
    let names = read_words(source, Span::new(0, source.len() as u32));
    if let Some(span) = names.unended {
        let problem = Problem { kind: ProblemKind::MissingSemicolon, span };
        return Err(FormatError { diagnostics: vec![problem_diagnostic(source, problem)] });
    }
    let text = Plain::new(source, &names, options).text();
    format(&text, &FormatOptions::default())
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
        let mut dropped = self.dropped.iter().peekable();
        let mut words = self.words.iter().peekable();
        let mut names = self.renaming.names.iter().peekable();
        let mut declarations = self.renaming.declarations.iter().peekable();
        let mut end = lexer.pos;
        let mut last = None;
        // Whether modifiers of an opcode may follow.
        let mut in_opcode = false;
        // Whether numbers are versions, or places in sources.
        let mut is_plain = false;
        while let Some(token) = lexer.token() {
            let start = token.span.start as usize;
            let between = &self.source[end..start];
            if let Some(span) = dropped.next_if(|span| span.start == token.span.start) {
                // The white space after it separates.
                if between.contains('/') {
                    self.between(&mut text, between, false);
                }
                lexer.pos = span.end as usize;
                end = lexer.pos;
                in_opcode = false;
                continue;
            }
            while words.next_if(|word| word.span.start < token.span.start).is_some() {}
            let word = words.next_if(|word| word.span == token.span).map(|word| word.kind);
            let joins = in_opcode && word == Some(WordKind::Modifier);
            in_opcode = joins || word == Some(WordKind::Mnemonic);
            self.between(&mut text, between, joins);
            let own = token.span.text(self.source);
            if word == Some(WordKind::Directive) || token.is(b';') {
                is_plain = matches!(own, ".version" | ".address_size" | ".loc" | ".file");
            }
            let number = (token.kind == TokenKind::Number && !is_plain)
                .then(|| number(own, last, lexer.clone().token()))
                .flatten();
            while names.next_if(|(start, _)| *start < token.span.start).is_some() {}
            while declarations.next_if(|(start, _)| *start < token.span.start).is_some() {}
            match (names.next_if(|(start, _)| *start == token.span.start), number) {
                (Some((_, name)), _) => text.push_str(self.renaming.text(*name)),
                (None, Some(number)) => text.push_str(&number),
                (None, None) => text.push_str(own),
            }
            if let Some((_, own)) = declarations.next_if(|(at, _)| *at == token.span.start) {
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
        let comments = if self.keep_comments { comments(between) } else { Vec::new() };
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
        if !comments.is_empty() && between[end..].contains('\n') || text.ends_with(';') {
            text.push('\n');
        } else if !between.is_empty() && !joins && !text.ends_with('\n') {
            text.push(' ');
        }
    }
}

/// The one spelling of a number between two tokens. `None` if it is no number of PTX.
pub(crate) fn number(text: &str, before: Option<Token>, after: Option<Token>) -> Option<String> {
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
