//! Shapes: tokens, the module reader, and the grammar of one instruction.
//!
//! Nothing here knows which mnemonics or modifiers exist. Everything gets read
//! and every error is kept: a statement that does not parse ends at its `;`
//! and reading goes on.

mod constant;
mod grammar;
pub(crate) mod lexer;
mod reader;
mod scope;

pub use constant::{Constant, ConstantError, ConstantErrorKind};
pub use grammar::{Expected, Failure, Guard, RawInstruction, RawOperand, Shape, parse_instruction};
pub use lexer::{Token, TokenKind};
pub use reader::{Handler, Problem, ProblemKind, Statement, read, read_in, statement_tokens};
pub use scope::{Context, OperandClass, Symbol, SymbolKind};
