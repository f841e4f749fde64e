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
use crate::analysis;
use crate::diagnostic::Code;
use crate::diagnostic::{Diagnostic, Edit};
use crate::source::{Span, decode, line_end};
use thiserror::Error;

use layout::Layout;
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
    let writer = |with_edits| Writer::new(source, options.newline(source), with_edits);
    let mut held = Vec::new();
    if is_marked {
        let items = Layout::new(source, &[], options, writer(true)).items().map_err(foreign)?;
        held = hold::held(source, &items);
    }
    let layout = Layout::new(source, &edits, options, writer(with_edits)).holding(&held);
    layout.run().map_err(foreign)
}
