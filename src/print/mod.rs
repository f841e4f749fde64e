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
//! # Ok::<(), vptx::print::FormatError>(())
//! ```

mod layout;
mod normalize;
mod pieces;
mod spacing;
mod usual;
mod writer;

use thiserror::Error;

use crate::diagnostic::{Diagnostic, Edit};
use crate::lint::Code;

use layout::Layout;

/// How to format.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FormatOptions {
    /// Spaces for each level of braces; 4.
    pub indent_width: usize,
    /// Bytes after which a statement continues on another line, where it has a
    /// comma to break after; 100. Comments do not count.
    pub line_width: usize,
    /// How lines end.
    pub line_ending: LineEnding,
    /// Write the default selectors and masks of SIMD instructions, rather than
    /// leave them out.
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

/// How lines end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum LineEnding {
    /// `\n`
    #[default]
    Lf,
    /// `\r\n`
    Crlf,
    /// As the first line of the text does.
    Keep,
}

/// Why a text is not formatted.
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

    /// The syntax errors, to keep.
    pub fn into_diagnostics(self) -> Vec<Diagnostic> {
        self.diagnostics
    }
}

/// Formats a module, or a bare list of statements.
///
/// # Errors
/// The syntax errors of the text: what is not understood is left alone.
pub fn format(source: &str, options: &FormatOptions) -> Result<String, FormatError> {
    run(source, options, false).map(|(text, _)| text)
}

/// What [`format`](fn@format) changes, as replacements in the order of the text
/// that do not overlap. None: the text is formatted.
///
/// # Errors
/// As [`format`](fn@format).
pub fn format_edits(source: &str, options: &FormatOptions) -> Result<Vec<Edit>, FormatError> {
    run(source, options, true).map(|(_, edits)| edits)
}

fn run(
    source: &str,
    options: &FormatOptions,
    with_edits: bool,
) -> Result<(String, Vec<Edit>), FormatError> {
    let error = |diagnostics| FormatError { diagnostics };
    let edits = normalize::edits(source, options.explicit_defaults).map_err(error)?;
    Layout::new(source, &edits, options, with_edits).run().map_err(|foreign| {
        let text = foreign.text(source);
        let message = format!("`{text}` cannot stand here in PTX");
        error(vec![Diagnostic::new(Code::V007, foreign, message).label("unexpected")])
    })
}
