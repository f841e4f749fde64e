//! Shapes: tokens, the module reader, and the grammar of one instruction.
//!
//! This module does not know which mnemonics or modifiers exist. It reads the whole text and
//! keeps every error: a statement that does not parse ends at its `;`, and reading continues.

pub(crate) mod blocks;
pub(crate) mod constant;
pub(crate) mod declaration;
pub(crate) mod directive;
mod grammar;
pub(crate) mod lexer;
pub(crate) mod listing;
pub(crate) mod ordinary;
mod reader;
mod scope;
mod tree;

pub use constant::{Constant, ConstantError, ConstantErrorKind};
pub(crate) use grammar::parse_start;
pub use grammar::{
    Expected, Failure, RawGuard, RawInstruction, RawOperand, Shape, parse_instruction,
};
pub use lexer::{Token, TokenKind};
#[cfg(feature = "cli")]
pub(crate) use reader::read_part;
pub use reader::{
    Handler, Problem, ProblemKind, Statement, read, read_in, read_plainly, statement_tokens,
};
#[cfg(feature = "cli")]
pub(crate) use scope::Gates;
pub use scope::{Context, OperandClass, Symbol, SymbolKind};
pub use tree::{
    Address, Declaration, DeclaredName, Directive, DirectiveKind, Error, ErrorKind, Function,
    FunctionKind, Guard, Instruction, Leaf, LeafKind, Node, NodeKind, Offset, Operand, OperandKind,
    Operands, Parameter, Piece, PieceKind, Place, Statement as TreeStatement, StatementKind,
    Statements, Tree, Visitor, parse,
};
