//! Reads, checks, formats, evaluates and rewrites the *video instructions* of
//! NVIDIA PTX: `vadd`, `vsub`, `vabsdiff`, `vmin`, `vmax`, `vshl`, `vshr`,
//! `vmad`, `vset`, and the SIMD forms that end in `2` or `4`.
//!
//! ```
//! use vptx::Instruction;
//!
//! let instruction: Instruction = "vadd4.u32.u32.u32.sat d, a.b3210, b, c;".parse()?;
//! assert_eq!(instruction.to_string(), "vadd4.u32.u32.u32.sat d, a, b, c;");
//!
//! let error = "varvg4.u32.u32.u32 d, a, b, c;".parse::<Instruction>().unwrap_err();
//! assert_eq!(error.diagnostics()[0].help.as_deref(), Some("did you mean `vavrg4`?"));
//! # Ok::<(), vptx::ParseInstructionError>(())
//! ```
//!
//! [`parse`] reads a whole module, of any producer and PTX version. It returns the video
//! instructions and all findings at once. It does not judge other instructions.
//!
//! ```
//! let source = "
//! .version 8.0
//! .target sm_90
//! .entry k() {
//!     .reg .b32 %r<4>;
//!     vmin.s32.s32.s32.add %r0, %r1.b0, %r2.h1, %r3;
//!     vmin.s32.s32.s32.add %r0, %r1.b0, %r2.h1;
//!     ret;
//! }";
//! let (module, diagnostics) = vptx::parse(source);
//! assert_eq!(module.instructions().count(), 1);
//! assert_eq!(diagnostics[0].code.text(), "V203");
//! assert_eq!(diagnostics[0].message, "`vmin` needs a third source `c` here");
//! ```
//!
//! ptxas emulates some video instructions with many machine instructions. [`rewrite`] can replace
//! such instructions with ordinary PTX of the same meaning:
//!
//! ```
//! let source = "
//! .version 8.0
//! .target sm_90
//! .func f(.reg .b32 d, .reg .b32 a, .reg .b32 b, .reg .b32 c) {
//!     .reg .pred %p;
//!     @!%p vmin2.s32.s32.s32 d, a, b, c; // 9 machine instructions
//! }";
//! let (module, _) = vptx::parse(source);
//! let rewritten = vptx::rewrite(&module, &vptx::RewriteOptions::default())?;
//! let expected = source.replace("vmin2.s32.s32.s32 d, a, b, c;", "min.s16x2 d, a, b;");
//! assert_eq!(rewritten.text(), expected);
//! # Ok::<(), vptx::backend::ptx::RewriteError>(())
//! ```
//!
//! # The promise
//!
//! An [`Instruction`] is legal by construction: illegal combinations have no representation.
//! Every instruction that `check` accepts can be printed, and the printed text reads back as the
//! same value.
//!
//! # Layers
//!
//! Data flows one way: [`source`] (text, spans), or [`embed`] (the PTX in other languages) →
//! [`syntax`] (tokens, the tree of a text, the grammar of instructions; only shapes, no meaning) →
//! [`mod@check`] (one instruction against the [`video::FORMS`] table and the declarations around
//! it) → [`video`] (validated instructions) and [`diagnostic`]s → [`ir`] (what instructions
//! compute) → [`backend`] (ordinary PTX). [`analysis`] takes whole texts through these layers;
//! [`print`](mod@print) formats texts. Spans are byte offsets everywhere; [`source::LineIndex`]
//! converts them to lines and columns.
//!
//! # Features
//!
//! - `cli` (default) builds the command line program. A user of the library sets
//!   `default-features = false` and then needs nom, thiserror, plain miette and memchr only.
//! - `server` (default) adds the language server to the program.
//! - `diff` (a part of `cli`) compares modules. It brings `gix-imara-diff`.
//! - `explain` (a part of `cli`) has pages about codes, mnemonics and instructions.
//! - `extract` (a part of `cli`) finds PTX inside binaries, wheels and other archives.
//! - `batch` makes [`ir::Program::eval_batch`] run loops over whole columns. Without this feature,
//!   each row is interpreted.
//! - `simd` (default) adds loops for wider vectors, mostly AVX2, chosen when the program
//!   runs: reading and batches become faster, and results stay the same. It brings
//!   `fearless_simd` and `simdutf8`, which have no dependencies.
//! - `costs-apart` is for WebAssembly pages that load the measured costs on demand.
//! - `serde` adds `Serialize` to findings, instructions and programs.

#![cfg_attr(docsrs, feature(doc_cfg))]
// Some code serves only the program, or only one feature. Dead code is reported when all features
// are on.
#![cfg_attr(not(all(feature = "server", feature = "batch")), allow(dead_code, unused_imports))]

/// Makes methods of options, each of which sets the field that is named last.
macro_rules! setters {
    ($owner:ident: $($(#[$doc:meta])* $name:ident($value:ident: $ty:ty) $field:ident;)*) => {$(
        $(#[$doc])*
        #[must_use]
        pub fn $name(mut self, $value: $ty) -> $owner {
            self.$field = $value;
            self
        }
    )*};
}

/// An enum whose values have texts: all values in order, and the text of each.
macro_rules! words {
    (
        $(#[$meta:meta])*
        pub enum $name:ident { $($(#[$doc:meta])* $value:ident = $text:literal,)+ }
        $(#[$of_all:meta])* $see:vis ALL
        $(#[$of_text:meta])* $say:ident
    ) => {
        $(#[$meta])*
        pub enum $name { $($(#[$doc])* $value,)+ }

        impl $name {
            $(#[$of_all])*
            $see const ALL: [$name; [$($text),+].len()] = [$($name::$value),+];

            $(#[$of_text])*
            pub const fn $say(self) -> &'static str {
                match self { $($name::$value => $text,)+ }
            }
        }
    };
}

pub mod analysis;
pub mod backend;
pub mod check;
// Public for tests only; may change at any time.
#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod conformance;
pub mod diagnostic;
#[cfg(feature = "diff")]
pub mod diff;
pub mod embed;
#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod evaluation;
#[cfg(feature = "explain")]
pub mod explain;
#[cfg(feature = "extract")]
pub mod extract;
pub mod flow;
mod hash;
pub mod ir;
pub mod isa;
mod lint;
mod module;
pub mod names;
pub mod port;
pub mod print;
pub mod source;
pub mod syntax;
mod terms;
#[cfg(test)]
mod testing;
pub mod video;

#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod cli;
// Public for the JavaScript binding only; may change at any time.
#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod report;
#[cfg(feature = "server")]
#[doc(hidden)]
pub mod server;
#[cfg(feature = "cli")]
mod workspace;

pub use analysis::{Fixed, ParseError, ParseInstructionError, check, fix, parse, parse_with};
pub use backend::ptx::{RewriteOptions, rewrite};
pub use check::{CheckOptions, Dialect};
pub use diagnostic::{Code, Diagnostic};
#[cfg(feature = "diff")]
pub use diff::diff;
pub use module::{DeclaredTypes, Module, OperandSpans, StatementSpans, VideoStatement};
pub use print::{FormatError, FormatOptions, NormalOptions, format, format_edits, normalize};
pub use video::{Instruction, Semantics};

/// The README's examples.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

/// The examples of the book.
#[cfg(doctest)]
mod book {
    #[doc = include_str!("../docs/library.md")]
    struct Library;
    #[doc = include_str!("../docs/library/tree.md")]
    struct Tree;
    #[doc = include_str!("../docs/library/flow.md")]
    struct Flow;
    #[doc = include_str!("../docs/library/lint.md")]
    struct Lint;
    #[doc = include_str!("../docs/library/backend.md")]
    struct Backend;
}
