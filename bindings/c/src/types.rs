//! The types of values that C sees, and their conversions.
#![forbid(unsafe_code)]

use std::ffi::c_char;
use std::ptr;

use library::check;
use library::diagnostic;

use crate::error::Failure;

/// The result of a function.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// All went well.
    Ok = 0,
    /// A required pointer is NULL.
    NullArgument = 1,
    /// An argument cannot be used: an unknown number or name, a wrong length.
    InvalidArgument = 2,
    /// The text is not one legal video instruction, or the module to rewrite has errors of syntax.
    /// The error has findings.
    IllegalInstruction = 3,
    /// The target or the PTX version lacks instructions that are needed, or no target is named.
    Unavailable = 4,
    /// A bug of the library. The call had no effect, and the library can still be used.
    InternalError = 5,
}

/// A string without NUL at its end. `data` is NULL if there is no string.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Str {
    /// The first byte; UTF-8.
    pub data: *const c_char,
    /// The number of bytes.
    pub size: usize,
}

impl Str {
    pub(crate) const NONE: Str = Str { data: ptr::null(), size: 0 };
}

impl From<&str> for Str {
    fn from(text: &str) -> Str {
        Str { data: text.as_ptr().cast(), size: text.len() }
    }
}

impl From<Option<&str>> for Str {
    fn from(text: Option<&str>) -> Str {
        text.map_or(Str::NONE, Str::from)
    }
}

/// A range of bytes of a text, counted from 0; `end` is excluded.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct Span {
    /// The first byte.
    pub start: u32,
    /// The byte after the last.
    pub end: u32,
}

impl From<library::source::Span> for Span {
    fn from(span: library::source::Span) -> Span {
        Span { start: span.start, end: span.end }
    }
}

/// A line and a column, both from 1. Columns count characters.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Position {
    /// The line.
    pub line: u32,
    /// The column.
    pub column: u32,
}

impl From<library::source::Position> for Position {
    fn from(position: library::source::Position) -> Position {
        Position { line: position.line, column: position.column }
    }
}

/// The language of a text.
#[repr(u32)]
#[derive(Clone, Copy)]
pub enum Language {
    /// PTX: whole modules or bare statements.
    Ptx = 0,
    /// CUDA, OpenCL or C++: the PTX in `asm` statements.
    Cuda = 1,
    /// Python: the PTX of Triton's inline assembly, and of CUDA sources in strings.
    Python = 2,
    /// Mojo: the PTX of its inline assembly.
    Mojo = 3,
    /// Rust: the PTX of `asm!`, and of CUDA sources in strings.
    Rust = 4,
    /// Julia: the PTX of `@asmcall` and `llvmcall`.
    Julia = 5,
    /// Zig: the PTX of `asm`.
    Zig = 6,
    /// A notebook of Jupyter: the PTX of its code.
    Notebook = 7,
}

/// The rules that decide what is an error.
#[repr(u32)]
#[derive(Clone, Copy)]
pub enum Dialect {
    /// The manual.
    Documented = 0,
    /// The assembler: only code that ptxas rejects is an error.
    Ptxas = 1,
}

/// What an instruction computes.
#[repr(u32)]
#[derive(Clone, Copy)]
pub enum Semantics {
    /// The manual.
    Manual = 0,
    /// The code of ptxas before 13.3.
    Ptxas12 = 1,
    /// The code of ptxas from 13.3 on.
    Ptxas13 = 2,
}

/// How bad a finding is.
#[repr(u32)]
#[derive(Clone, Copy)]
pub enum Severity {
    /// Worth knowing; nothing to change.
    Note = 0,
    /// The code is doubtful.
    Warning = 1,
    /// The code is wrong.
    Error = 2,
}

impl From<diagnostic::Severity> for Severity {
    fn from(severity: diagnostic::Severity) -> Severity {
        match severity {
            diagnostic::Severity::Note => Severity::Note,
            diagnostic::Severity::Warning => Severity::Warning,
            diagnostic::Severity::Error => Severity::Error,
        }
    }
}

/// Whether a fix keeps the meaning of a text.
#[repr(u32)]
#[derive(Clone, Copy)]
pub enum Applicability {
    /// It keeps the meaning that the text has for ptxas.
    Safe = 0,
    /// It is probably what was meant, but may change the meaning.
    Unsafe = 1,
    /// It is only for display.
    DisplayOnly = 2,
}

impl From<diagnostic::Applicability> for Applicability {
    fn from(applicability: diagnostic::Applicability) -> Applicability {
        match applicability {
            diagnostic::Applicability::Safe => Applicability::Safe,
            diagnostic::Applicability::Unsafe => Applicability::Unsafe,
            diagnostic::Applicability::DisplayOnly => Applicability::DisplayOnly,
        }
    }
}

/// An option of `vptx_rewrite`; several can be added up.
#[repr(u32)]
#[derive(Clone, Copy)]
pub enum RewriteFlag {
    /// Also replace instructions for which ptxas needs no more machine instructions than for the
    /// new PTX.
    All = 1,
    /// Write each replaced instruction as a comment.
    Comments = 2,
}

pub(crate) fn language(number: u32) -> Result<check::Language, Failure> {
    Ok(match number {
        0 => check::Language::Ptx,
        1 => check::Language::Cuda,
        2 => check::Language::Python,
        3 => check::Language::Mojo,
        4 => check::Language::Rust,
        5 => check::Language::Julia,
        6 => check::Language::Zig,
        7 => check::Language::Notebook,
        _ => return Err(Failure::invalid(format!("{number} is not a language"))),
    })
}

pub(crate) fn dialect(number: u32) -> Result<library::Dialect, Failure> {
    match number {
        0 => Ok(library::Dialect::Documented),
        1 => Ok(library::Dialect::Ptxas),
        _ => Err(Failure::invalid(format!("{number} is not a dialect"))),
    }
}

pub(crate) fn semantics(number: u32) -> Result<library::Semantics, Failure> {
    match number {
        0 => Ok(library::Semantics::Manual),
        1 => Ok(library::Semantics::Ptxas12),
        2 => Ok(library::Semantics::Ptxas13),
        _ => Err(Failure::invalid(format!("{number} is not a semantics"))),
    }
}

/// The fixes to make.
pub(crate) fn applicability(number: u32) -> Result<diagnostic::Applicability, Failure> {
    match number {
        0 => Ok(diagnostic::Applicability::Safe),
        1 => Ok(diagnostic::Applicability::Unsafe),
        _ => Err(Failure::invalid(format!("{number}: fixes to make are safe or unsafe"))),
    }
}
