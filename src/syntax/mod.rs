//! The text of PTX: tokens, the [tree](parse) of a whole text, and the grammar of instructions
//! and constants.
//!
//! Nothing here knows which mnemonics or modifiers exist. [`parse`] reads any text into a
//! [`Tree`] that holds every byte, and keeps every error.
//!
//! ```
//! use vptx::syntax::{self, StatementKind};
//!
//! let tree = syntax::parse(".entry k() { ld.global.u32 %r1, [%rd1+4]; ret; }");
//! let function = tree.functions().next().unwrap();
//! let opcodes: Vec<&str> = function
//!     .statements()
//!     .filter_map(|statement| match statement.kind() {
//!         StatementKind::Instruction(it) => Some(it.opcode().text(tree.source())),
//!         _ => None,
//!     })
//!     .collect();
//! assert_eq!(opcodes, ["ld.global.u32", "ret"]);
//! ```

pub(crate) mod blocks;
pub(crate) mod constant;
pub(crate) mod declaration;
pub(crate) mod directive;
mod edit;
mod grammar;
pub(crate) mod lexer;
pub(crate) mod listing;
pub(crate) mod ordinary;
mod reader;
mod runs;
mod scope;
mod tree;

pub use constant::{Constant, ConstantError, ConstantErrorKind};
pub(crate) use edit::is_name;
pub(crate) use edit::removed;
pub use edit::{Edited, EditedPart, Edits, EditsError};
pub(crate) use grammar::parse_start;
pub use grammar::{Expected, Failure};
pub use lexer::{Token, TokenKind};
pub use scope::{OperandClass, SymbolKind};
pub(crate) use tree::parse_around;
pub use tree::{
    Address, Declaration, DeclaredName, Directive, DirectiveKind, Error, ErrorKind, Function,
    FunctionKind, Guard, Instruction, Leaf, LeafKind, Node, NodeKind, Offset, Operand, OperandKind,
    Operands, Parameter, Piece, PieceKind, Place, Statement, StatementKind, Statements, Tree,
    Visitor, parse,
};
pub(crate) use tree::{attributes, parse_function, parse_next, types};

// The reader of `check`, which skips the statements that `check` does not judge. It is public for
// tests and fuzz targets only, and may change at any time.
#[doc(hidden)]
pub use grammar::{RawInstruction, RawOperand, Shape, parse_instruction};
#[doc(hidden)]
pub use reader::{
    Handler, Problem, ProblemKind, WantedStatement, read, read_in, read_plainly, statement_tokens,
};
pub(crate) use scope::register_number;
#[doc(hidden)]
pub use scope::{Context, Symbol};
