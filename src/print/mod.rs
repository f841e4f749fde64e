//! The formatter of whole modules.
//!
//! [`format`](fn@format) settles white space and line breaks, and writes video
//! instructions as the manual spells them. Every other token, every comment,
//! and their order stay as they are: the text assembles to the same code.
//!
//! ```
//! use vptx::print::{FormatOptions, format};
//!
//! let text = "{.reg .u32 t; vadd2.u32.u32.u32 t.h10,%r1.h10 , %r2,%r3; // sum\n}";
//! assert_eq!(
//!     format(text, &FormatOptions::default())?,
//!     "\
//! {
//!     .reg .u32 t;
//!     vadd2.u32.u32.u32 t, %r1, %r2, %r3; // sum
//! }
//! "
//! );
//! let narrow = FormatOptions::default().with_indent_width(2);
//! assert!(format(text, &narrow)?.starts_with("{\n  .reg"));
//! # Ok::<(), vptx::print::FormatError>(())
//! ```

mod hold;
mod layout;
mod normal;
mod normalize;
mod pieces;
mod shapes;
mod spacing;
mod usual;
mod writer;
use std::borrow::Cow;

use crate::analysis::{self, PartPlace, TextPart, each_part};
use crate::diagnostic::Code;
use crate::diagnostic::{Diagnostic, Edit};
use crate::lint::KnownFacts;
use crate::source::{Span, decode, line_end};
use thiserror::Error;

use layout::Layout;
pub(crate) use normal::normalize_with;
pub(crate) use normal::{FloatType, enumerated, number};
pub use normal::{NormalOptions, normalize};
use writer::Writer;

/// Options for formatting.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FormatOptions {
    /// The number of spaces for each level of braces; 4 by default. More than
    /// [`FormatOptions::MAX_INDENT_WIDTH`] count as that many.
    pub indent_width: usize,
    /// The most bytes of a line: a longer statement is continued on another line, if it has a comma
    /// to break after. Comments do not count. 100 by default.
    pub line_width: usize,
    /// The line endings of the output.
    pub line_ending: LineEnding,
    /// Whether to write the default selectors and masks of SIMD instructions instead of leaving
    /// them out.
    pub explicit_defaults: bool,
}

impl Default for FormatOptions {
    fn default() -> FormatOptions {
        FormatOptions {
            indent_width: 4,
            line_width: 100,
            line_ending: LineEnding::Lf,
            explicit_defaults: false,
        }
    }
}

impl FormatOptions {
    /// The largest number of spaces for each level of braces.
    pub const MAX_INDENT_WIDTH: usize = 16;

    setters! { FormatOptions:
        /// These options with another number of spaces for each level of braces.
        with_indent_width(spaces: usize) indent_width;
        /// These options with another maximum of bytes for a line.
        with_line_width(bytes: usize) line_width;
        /// These options with other line endings.
        with_line_ending(line_ending: LineEnding) line_ending;
        /// These options with default selectors and masks written or left out.
        with_explicit_defaults(explicit: bool) explicit_defaults;
    }

    /// The line ending to write for a text.
    fn newline(&self, source: &str) -> &'static str {
        match self.line_ending {
            LineEnding::Keep => line_end(source),
            LineEnding::Crlf => "\r\n",
            LineEnding::Lf => "\n",
        }
    }
}

/// The kind of line ending.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum LineEnding {
    /// `\n`
    #[default]
    Lf,
    /// `\r\n`
    Crlf,
    /// The line ending of the first line of the text.
    Keep,
}

/// The reason why a text is not formatted.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{}", .diagnostics.first().map_or("not PTX", |first| &first.message))]
pub struct FormatError {
    diagnostics: Vec<Diagnostic>,
}

impl FormatError {
    /// The syntax errors, in the order of the text; at least one.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.diagnostics
    }

    /// Returns the syntax errors themselves.
    pub fn into_diagnostics(self) -> Vec<Diagnostic> {
        self.diagnostics
    }
}

/// Formats a module, or a bare list of statements.
///
/// # Errors
/// The syntax errors of the text, suppressed ones, too. Text with errors is left alone.
pub fn format(source: &str, options: &FormatOptions) -> Result<String, FormatError> {
    // The bytes are UTF-8, because they consist of pieces of UTF-8.
    format_to_bytes(source, options).map(decode)
}

/// Like [`format`](fn@format), but returns bytes.
pub(crate) fn format_to_bytes(
    source: &str,
    options: &FormatOptions,
) -> Result<Vec<u8>, FormatError> {
    run(source, options, false).map(|(text, _)| text)
}

/// The changes of [`format`](fn@format), as replacements in the order of the text that do not
/// overlap. An empty list means that the text is formatted already.
///
/// # Errors
/// The same errors as [`format`](fn@format).
pub fn format_edits(source: &str, options: &FormatOptions) -> Result<Vec<Edit>, FormatError> {
    run(source, options, true).map(|(_, edits)| edits)
}

/// Formats a large text and hands the result to `take`, in pieces. Pieces without changes borrow
/// from the text. `None` if the text has to be formatted as a whole, or if `take` returns `None`.
pub(crate) fn format_in_parts<'s>(
    source: &'s str,
    options: &FormatOptions,
    in_parallel: bool,
    take: impl FnMut(Cow<'s, [u8]>) -> Option<()>,
) -> Option<()> {
    // `Keep` depends on the first line of the text, which the other parts do not have.
    if options.line_ending == LineEnding::Keep {
        return None;
    }
    let work =
        |part: &TextPart<'s>, kept: &mut _| format_part(part.text, part.place, options, kept);
    each_part(source, in_parallel, work, take)
}

/// What formatting one part leaves for the next one: known facts, and a free buffer.
type Kept = (KnownFacts, Vec<u8>);

/// The formatted text of a part. `None` if the text has to be formatted as a whole.
fn format_part<'s>(
    text: &'s str,
    place: PartPlace,
    options: &FormatOptions,
    (known, buffer): &mut Kept,
) -> Option<Cow<'s, [u8]>> {
    let edits = normalize::part_edits(text, place, options.explicit_defaults, known)?;
    let buffer_now = std::mem::take(buffer);
    let writer = Writer::new(text, options.newline(text), false, buffer_now);
    let writer = writer.in_place(place.is_first, place.is_last);
    let formatted = Layout::new(text, &edits, options, writer).run_part()?;
    if formatted == text.as_bytes() {
        *buffer = formatted;
        return Some(text.as_bytes().into());
    }
    Some(formatted.into())
}

fn run(
    source: &str,
    options: &FormatOptions,
    with_edits: bool,
) -> Result<(Vec<u8>, Vec<Edit>), FormatError> {
    let error = |diagnostics| FormatError { diagnostics };
    let is_marked = analysis::may_be_marked(source);
    let edits = normalize::edits(source, options.explicit_defaults, is_marked).map_err(error)?;
    let foreign = |span: Span| {
        let message = format!("`{}` cannot stand here in PTX", span.text(source));
        error(vec![Diagnostic::new(Code::InvalidCharacter, span, message).label("unexpected")])
    };
    let writer = |with_edits| Writer::new(source, options.newline(source), with_edits, Vec::new());
    let mut held = Vec::new();
    if is_marked {
        let items = Layout::new(source, &[], options, writer(true)).items().map_err(foreign)?;
        held = hold::held(source, &items);
    }
    let layout = Layout::new(source, &edits, options, writer(with_edits)).holding(&held);
    layout.run().map_err(foreign)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::in_parts_of;
    use crate::testing::Numbers;

    /// Formats a text in parts. `None` if it has to be formatted as a whole.
    fn by_parts(source: &str, options: &FormatOptions, size: usize) -> Option<String> {
        let work = |part: &TextPart<'_>, kept: &mut _| {
            Some(format_part(part.text, part.place, options, kept)?.into_owned())
        };
        let parts = in_parts_of(size, source, work);
        Some(String::from_utf8(parts?.concat()).unwrap())
    }

    #[test]
    fn parts_are_formatted_as_the_whole_is() {
        let pieces = [
            "\n}",
            "\n}\n",
            "\n}\n\n\n",
            "\n} ",
            "\n}\r\n",
            ".func f()\n{\n",
            ".visible .entry k(.param .u64 p)\n{\n\n",
            "{",
            "// a comment\n",
            " // a comment \n\n",
            "/* a comment */",
            "// vptx: ignore[V501]\n",
            "/* one\n} */\n",
            "add.s32 \t%r1,%r2, %r3;",
            "\tadd.s32 %r1, %r2, %r3;\n",
            "ret;\n",
            "L1:\n",
            "L2: ",
            ".reg .b32 \t%r<4>;\n",
            ".func g()\n{.reg .b32 %r<4>, t;\nvadd2.u32.u32.u32 t.h10,%r1.h10 , %r2,%r3;\n}",
            "vsub.u32.sat.u32.u32 t,%r1.b0, %r2;",
            "vmin4.u32.u32.u32 t.b3210, %r1, %r1, %r1.b3210;",
            "\t.loc\t1 2 3\n",
            ".global .b8 t[2] = {1, 2};\n",
            ".global .b8 t[2] = {\n1, 2",
            "};\n",
            ".section .x {\n",
            ".b8 1\n",
            "# 1 \"a\"\n",
            "@@DWARF .byte 1\n",
            ".file 1 \"a.cu\"\n",
            ".version 8.0\n.target sm_90\n",
            ";",
        ];
        let mut numbers = Numbers(7);
        let options = [
            FormatOptions::default(),
            FormatOptions { indent_width: 0, line_width: 20, ..FormatOptions::default() },
            FormatOptions { line_ending: LineEnding::Crlf, ..FormatOptions::default() },
            FormatOptions { explicit_defaults: true, ..FormatOptions::default() },
        ];
        let mut formatted = 0;
        for _ in 0..40_000 {
            let count = 1 + numbers.below(16);
            let source: String = (0..count).map(|_| numbers.pick(&pieces)).collect();
            let options = &options[numbers.below(options.len())];
            let size = 1 + numbers.below(80);
            if let Some(text) = by_parts(&source, options, size) {
                assert_eq!(Ok(text), format(&source, options), "{source:?} {size}");
                formatted += usize::from(size < source.len());
            }
        }
        assert!(formatted > 1000, "{formatted}");
    }
}
