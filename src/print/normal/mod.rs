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

use super::{FormatError, FormatOptions, Kept, format, format_in_parts, format_part};
use crate::analysis::{self, PartPlace, TextPart, each_of};
use crate::check::problem_diagnostic;
use crate::diagnostic::{Code, Diagnostic};
use crate::names::Names;
use crate::source::Span;
use crate::source::decode;
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
    Ok(normalize_with(source, *options, false)?.concat())
}

/// Like [`normalize`], but returns the text in pieces. A large text is read in parts, with all
/// cores if `in_parallel` is set.
pub(crate) fn normalize_with(
    source: &str,
    options: NormalOptions,
    in_parallel: bool,
) -> Result<Vec<String>, FormatError> {
    if let Some(error) = analysis::unreadable(source) {
        return Err(FormatError { diagnostics: vec![error] });
    }
    if let Some(form) = in_parts(source, options, in_parallel) {
        return Ok(form);
    }
    let reading = Reading::new(source, options);
    if let Some(found) = enumerated(&reading.names) {
        return Err(FormatError { diagnostics: vec![found] });
    }
    let (unended, is_doubtful) = (reading.names.unended, reading.names.is_doubtful);
    let form = laid_out_anew(reading, options, in_parallel);
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
        let again = laid_out_anew(Reading::new(form, options), options, in_parallel);
        again.as_ref() == Some(form)
    };
    let form = form.filter(|form| is_sure || is_own(form)).ok_or_else(|| {
        let message = "the text has no normal form: it reads differently in another layout";
        FormatError {
            diagnostics: vec![Diagnostic::new(Code::InvalidCharacter, Span::at(0), message)],
        }
    });
    Ok(vec![form?])
}

/// The error in a text that enumerates labels or functions, as in `L<3>`: it has no normal form, and
/// is not compared.
pub(crate) fn enumerated(names: &Names) -> Option<Diagnostic> {
    let message = "a list that enumerates names with `<` is not read here";
    let found = Diagnostic::new(Code::InvalidCharacter, names.enumeration?, message);
    Some(found.help("write out the labels or functions"))
}

/// The normal form of a large text. `None` if it has to be read as a whole.
fn in_parts(source: &str, options: NormalOptions, in_parallel: bool) -> Option<Vec<String>> {
    // A comment at the start of a part may belong to the last line of the part before.
    if options.keep_comments {
        return None;
    }
    let parts = analysis::in_parts(source, in_parallel, |part, ()| read_part(part, options))?;
    joined(parts, options, in_parallel)
}

/// Reads a part of a text. `None` if the part may read differently at its place in the text.
fn read_part<'s>(part: &TextPart<'s>, options: NormalOptions) -> Option<(Reading<'s>, PartPlace)> {
    // Only the whole text may start with a byte order mark.
    let has_mark = part.text.starts_with('\u{feff}');
    let reading = Reading::new(part.text, options);
    (!has_mark && reading.stands_alone()).then_some((reading, part.place))
}

/// The normal form of a text that consists of the given parts. `None` if the text has to be written
/// as a whole.
fn joined(
    parts: Vec<(Reading, PartPlace)>,
    options: NormalOptions,
    in_parallel: bool,
) -> Option<Vec<String>> {
    let readings: Vec<&Reading> = parts.iter().map(|(reading, _)| reading).collect();
    let globals = Globals::new(&readings)?;
    let layout = FormatOptions::default();
    let work = |(reading, place): (Reading, PartPlace), kept: &mut Kept| {
        let text = Plain::new(reading, &globals, options).text();
        // If the first part is left out entirely, a later part would have to start the text.
        let is_start = !place.is_first || !text.trim_ascii().is_empty();
        let formatted = is_start.then(|| format_part(&text, place, &layout, kept))??;
        Some(decode(formatted.into_owned()))
    };
    let mut texts = Vec::with_capacity(parts.len());
    each_of(parts, in_parallel, work, |text| {
        texts.push(text);
        Some(())
    })?;
    Some(texts)
}

/// The text with new names and layout. `None` if the text is not understood, or the new text has
/// errors.
fn laid_out_anew(reading: Reading, options: NormalOptions, in_parallel: bool) -> Option<String> {
    if reading.names.unended.is_some() {
        return None;
    }
    let globals = Globals::new(&[&reading])?;
    formatted(&Plain::new(reading, &globals, options).text(), in_parallel)
}

/// The formatted text, unless it has errors.
fn formatted(text: &str, in_parallel: bool) -> Option<String> {
    // The formatted text may be longer, as statements are indented.
    let mut pieces = Vec::with_capacity(text.len() + text.len() / 4);
    let take = |piece: Cow<[u8]>| {
        pieces.extend_from_slice(&piece);
        Some(())
    };
    if format_in_parts(text, &FormatOptions::default(), in_parallel, take).is_some() {
        return Some(decode(pieces));
    }
    format(text, &FormatOptions::default()).ok()
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::{LARGE, in_parts_of};
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
    fn a_comment_before_the_version_does_not_join_the_parts() {
        let function = |name| format!(".func {name}()\n{{\nret;\n}}\n");
        let (f, g) = (function("f"), function("g"));
        let source = format!("// a compiler\n.version 8.0\n.target sm_90\n{f}{g}");
        let options = NormalOptions::default();
        let parts = in_parts_of(1, &source, |part, ()| read_part(part, options)).unwrap();
        assert!(parts.len() > 1);
        let form = joined(parts, options, false).unwrap().concat();
        assert_eq!(normalize(&source, &options), Ok(form));
    }

    /// A comment at the start of a part may belong to the last line of the part before.
    #[test]
    fn a_large_text_that_keeps_its_comments_is_read_as_a_whole() {
        let comment = "a".repeat(100_000);
        let function = |at| format!(".func f{at}()\n{{\n// {comment}\nret;\n}}\n");
        let functions: Vec<String> = (0..=LARGE / comment.len()).map(function).collect();
        let source = format!(".version 8.0\n.target sm_90\n{}", functions.concat());
        let is_in_parts = |keep_comments| {
            let options = NormalOptions { keep_comments, ..NormalOptions::default() };
            in_parts(&source, options, false).is_some()
        };
        assert_eq!([false, true].map(is_in_parts), [true, false]);
    }

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
            let form = form.concat();
            found += 1;
            shared += usize::from(form.matches("global_1").count() > 1);
            assert_eq!(normalize(&source, &options).as_ref(), Ok(&form), "{source}\n{size}");
        }
        assert!(found > 1000 && shared > 50, "{found} {shared}");
    }
}
