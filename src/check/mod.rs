//! Checks a raw tree against the table of forms and the declarations around it. The result is a
//! validated instruction, or diagnostics. [`Statement::video`](crate::syntax::Statement::video)
//! does this for a statement of a tree.
//!
//! ```
//! use vptx::{CheckOptions, Dialect};
//!
//! let text = "vadd.sat.s32.s32.s32 d, a, b;";
//! assert_eq!(vptx::check(text, &CheckOptions::default()).len(), 1);
//! // ptxas accepts modifiers in this order.
//! let options = CheckOptions::default().with_dialect(Dialect::Ptxas);
//! assert_eq!(vptx::check(text, &options), []);
//! ```

mod instruction;
pub(crate) mod language;
mod modifiers;
mod operands;
mod options;
mod structure;
mod suggest;
mod tree;

use crate::isa::Mnemonic;
use crate::syntax::Token;

pub(crate) use instruction::check as check_instruction;
pub(crate) use language::is_module;
pub use language::{Language, UnknownLanguage};
pub(crate) use operands::is_ignored;
pub use options::{CheckOptions, Dialect, UnknownDialect};
pub(crate) use structure::{
    constant as constant_without_value, diagnostic as problem_diagnostic, missing_semicolon,
};
pub use tree::CheckedInstruction;

/// Whether an opcode belongs, or may have been meant to belong, to a video instruction. The opcode
/// may include its modifiers or end before its first dot.
pub(crate) fn is_wanted(opcode: &str) -> bool {
    (opcode.starts_with(['v', 'V']) || opcode.starts_with("__v"))
        && (Mnemonic::from_text(opcode).is_some() || suggest::is_meant(opcode))
}

/// A missing `;`: an empty token after the last one.
pub(crate) fn semicolon_after(tokens: &[Token]) -> Token {
    let end = tokens.last().map_or(0, |last| last.span().end);
    Token::missing(b';', end)
}
