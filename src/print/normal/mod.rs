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
//! assert!(normalize(other, &options.with_keep_names(true))?.contains("mov.b32 %r1, in;"));
//! # Ok::<(), vptx::print::FormatError>(())
//! ```

mod constants;
mod plain;
mod reading;
mod renaming;

use super::{FormatError, FormatOptions, format};
use crate::analysis;
use crate::check::problem_diagnostic;
use crate::diagnostic::{Code, Diagnostic};
use crate::names::Names;
use crate::source::Span;
use crate::syntax::{Problem, ProblemKind, Token, TokenKind};
pub(crate) use constants::FloatType;
use plain::Plain;
use reading::{Globals, Reading};
use std::borrow::Cow;

/// Options for [`normalize`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct NormalOptions {
    /// Whether to keep the names of registers, labels, parameters and internal symbols, and the
    /// declarations of registers as they are written.
    pub keep_names: bool,
    /// Whether to keep comments.
    pub keep_comments: bool,
    /// Whether to keep `.loc`, `.file` and other debug data.
    pub keep_debug: bool,
}

impl NormalOptions {
    setters! { NormalOptions:
        /// These options with names kept or replaced.
        with_keep_names(keep: bool) keep_names;
        /// These options with comments kept or left out.
        with_keep_comments(keep: bool) keep_comments;
        /// These options with debug data kept or left out.
        with_keep_debug(keep: bool) keep_debug;
    }
}

/// The normal form of a module.
///
/// Modules have the same normal form if they differ only in white space, comments, debug data, the
/// spelling of constants, the names of registers, labels, parameters and internal variables, or in
/// how registers are declared. The names of functions stay. So do the names of variables that are
/// `.visible`, `.extern`, `.weak` or `.common`, and of textures, samplers and surfaces. Strings,
/// data, instructions and their order stay, too. Registers are numbered in the order of their use
/// in a function, by type: `%r1`, `%rd1`, `%p1`. The normal form of a normal form is the same text.
///
/// ptxas makes the same machine code for the normal form, unless it is told not to optimise.
///
/// # Errors
/// The syntax errors of the text.
pub fn normalize(source: &str, options: &NormalOptions) -> Result<String, FormatError> {
    let options = *options;
    if let Some(error) = analysis::unreadable(source) {
        return Err(FormatError { diagnostics: vec![error] });
    }
    let reading = Reading::new(source, options);
    if let Some(found) = enumerated(&reading.names) {
        return Err(FormatError { diagnostics: vec![found] });
    }
    let (unended, is_doubtful) = (reading.names.unended, reading.names.is_doubtful);
    let form = laid_out_anew(reading, options);
    // A text in doubt may read differently in another layout.
    let is_sure = form.is_some() && !is_doubtful;
    if !is_sure {
        // Errors of the formatter come first.
        format(source, &FormatOptions::default())?;
        if let Some(span) = unended {
            let problem = Problem { kind: ProblemKind::MissingSemicolon, span };
            return Err(FormatError { diagnostics: vec![problem_diagnostic(source, problem)] });
        }
    }
    let is_own = |form: &String| {
        let again = laid_out_anew(Reading::new(form, options), options);
        again.as_ref() == Some(form)
    };
    form.filter(|form| is_sure || is_own(form)).ok_or_else(|| {
        let message = "the text has no normal form: it reads differently in another layout";
        FormatError {
            diagnostics: vec![Diagnostic::new(Code::InvalidCharacter, Span::at(0), message)],
        }
    })
}

/// The error in a text that enumerates labels or functions, as in `L<3>`: it has no normal form, and
/// is not compared.
pub(crate) fn enumerated(names: &Names) -> Option<Diagnostic> {
    let message = "a list that enumerates names with `<` is not read here";
    let found = Diagnostic::new(Code::InvalidCharacter, names.enumeration?, message);
    Some(found.help("write out the labels or functions"))
}

/// The text with new names and layout. `None` if the text is not understood, or the new text has
/// errors.
fn laid_out_anew(reading: Reading, options: NormalOptions) -> Option<String> {
    if reading.names.unended.is_some() {
        return None;
    }
    let globals = Globals::new(&reading)?;
    format(&Plain::new(reading, &globals, options).text(), &FormatOptions::default()).ok()
}

/// The one spelling of the number that starts with a token, and the number's last token: a float
/// may have a sign. `ty` tells the type of floats, and `after` gives the tokens that follow. `None`
/// if the token starts no number of PTX.
pub(crate) fn number(
    source: &str,
    first: Token,
    ty: impl FnOnce() -> FloatType,
    before: Option<Token>,
    mut after: impl FnMut() -> Option<Token>,
) -> Option<(Cow<'_, str>, Token)> {
    if first.kind() == TokenKind::Number {
        let is_alone = || is_alone(before, after());
        let new = constants::spelled(first.span().text(source), ty, is_alone)?;
        return Some((new, first));
    }
    if !first.is(b'-') {
        return None;
    }
    let last = after().filter(|token| token.kind() == TokenKind::Number)?;
    let new = constants::negative(last.span().text(source), ty)?;
    is_alone(before, after()).then_some((new.into(), last))
}

/// Whether a number between two tokens is a whole operand, rather than part of an expression.
fn is_alone(before: Option<Token>, after: Option<Token>) -> bool {
    let is_one_of = |token: Option<Token>, punctuation: &[u8]| {
        token.is_some_and(|token| punctuation.iter().any(|byte| token.is(*byte)))
    };
    is_one_of(before, b",{=[") && is_one_of(after, b",}];")
}
