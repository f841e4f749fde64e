//! The tree of a whole text of PTX: every byte, and all errors.
//!
//! [`parse`] takes any text. It keeps two flat arrays, the tokens and the statements; views such as
//! [`Function`], [`Instruction`] and [`Operand`] read them. Everything between two tokens is
//! trivia: white space, comments, line markers.
//!
//! ```
//! use vptx::syntax::{self, OperandKind, StatementKind};
//!
//! let tree = syntax::parse(
//!     ".version 8.0\n.target sm_90\n.entry k(.param .u64 out) {\n\
//!      .reg .b32 %r<4>;\nloop: @%p1 add.s32 %r1, %r2, 7; // sum\nret; }",
//! );
//! assert_eq!(tree.errors(), []);
//! let function = tree.functions().next().unwrap();
//! assert_eq!(function.name().unwrap().text(tree.source()), "k");
//!
//! let sum = function
//!     .statements()
//!     .find_map(|statement| match statement.kind() {
//!         StatementKind::Instruction(it) if it.mnemonic().text(tree.source()) == "add" => Some(it),
//!         _ => None,
//!     })
//!     .unwrap();
//! assert_eq!(sum.guard().unwrap().name.text(tree.source()), "%p1");
//! let last = sum.operands().last().unwrap();
//! assert!(matches!(last.kind(), OperandKind::Constant(Ok(it)) if it.bits() == Some(7)));
//! ```
//!
//! An error never hides the rest: reading continues at the next statement, and text that is no
//! statement of PTX becomes [`StatementKind::Error`], which holds its bytes.

/// Implements `Debug` for views of tokens.
macro_rules! shown {
    ($($view:ident)*) => {$(
        impl std::fmt::Debug for $view<'_> {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                super::debug(f, stringify!($view), self.source, self.tokens)
            }
        }
    )*};
}

mod declaration;
mod directive;
mod grammar;
mod instruction;
mod parser;
mod trivia;
mod walk;

pub use declaration::{Declaration, DeclaredName, Function, FunctionKind, Parameter};
pub use directive::{Directive, DirectiveKind, Place};
pub(crate) use grammar::{attributes, types};
pub use instruction::{Address, Guard, Instruction, Offset, Operand, OperandKind, Operands};
pub use trivia::{Piece, PieceKind};
pub(super) use trivia::{pieces_before, pieces_behind};
pub use walk::{Leaf, LeafKind, Node, NodeKind, Visitor};

use super::grammar::Expected;
use super::lexer::Token;
use crate::diagnostic::listed;
use crate::source::Span;

/// Reads a text of at most [`crate::source::MAX_LEN`] bytes (4 GiB), of any content.
///
/// # Panics
/// If the text is longer.
pub fn parse(source: &str) -> Tree<'_> {
    parser::parse(source, Span::new(0, source.len() as u32))
}

/// Like [`parse`], for callers that need only a part of the text. A function's body that does not
/// touch the part is read as an empty block.
pub(crate) fn parse_around(source: &str, part: Span) -> Tree<'_> {
    parser::parse(source, part)
}

/// The tree of one function, whose header starts at `header`. The rest of the text is left out.
pub(crate) fn parse_function(source: &str, header: u32) -> Tree<'_> {
    parser::parse_function(source, header)
}

/// The tree of the first `count` statements of a part, or of all statements if it has fewer. The
/// rest of the text is left out.
pub(crate) fn parse_next(source: &str, part: Span, count: usize) -> Tree<'_> {
    parser::parse_next(source, part, count)
}

/// A whole text: its statements, tokens, trivia and errors.
#[derive(Clone, Debug)]
pub struct Tree<'s> {
    source: &'s str,
    tokens: Vec<Token>,
    /// In the order of the text: the statements inside of a function or block follow the function
    /// or block.
    entries: Vec<Entry>,
    errors: Vec<Error>,
}

/// A statement in the arrays of a tree.
#[derive(Clone, Copy, Debug)]
struct Entry {
    kind: EntryKind,
    /// The indices of the first token, and of the one after the last.
    first: u32,
    end: u32,
    /// The next entry that is not inside of this one.
    after: u32,
    /// The entry that contains this one; [`NONE`] at the top.
    parent: u32,
}

const NONE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EntryKind {
    Directive,
    Declaration,
    Function,
    Block,
    Label,
    Instruction,
    Empty,
    Error,
}

/// A place where a text is no PTX.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{kind}")]
#[non_exhaustive]
pub struct Error {
    /// What is wrong.
    pub kind: ErrorKind,
    /// The place, in bytes of the text. Empty where something is missing.
    pub span: Span,
}

/// The kinds of [`Error`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ErrorKind {
    /// `/*` without `*/`.
    #[error("this comment has no end")]
    UnclosedComment,
    /// A quote without its partner.
    #[error("this string has no end")]
    UnclosedString,
    /// A word, string or line of more than 256 MiB; the rest follows as unknown tokens.
    #[error("this is longer than 256 MiB")]
    LongToken,
    /// `{` without `}`.
    #[error("this `{{` has no `}}`")]
    UnclosedBrace,
    /// `}` without `{`.
    #[error("this `}}` closes nothing")]
    StrayBrace,
    /// A statement without `;` before the next statement, a `}` or the end of the text.
    #[error("a `;` is missing")]
    MissingSemicolon,
    /// The text starts with a byte order mark; ptxas refuses it.
    #[error("PTX text must not start with a byte order mark")]
    ByteOrderMark,
    /// A token that PTX does not allow here. Holds the tokens that it allows.
    #[error("{}", Wanted(*.0))]
    Unexpected(Expected),
}

/// The words for a set of expected tokens.
struct Wanted(Expected);

impl std::fmt::Display for Wanted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<&str> = self.0.names().collect();
        match listed(&names, "or") {
            none if none.is_empty() => f.write_str("this is no PTX"),
            names => write!(f, "expected {names}"),
        }
    }
}

impl<'s> Tree<'s> {
    /// The text that was read.
    pub fn source(&self) -> &'s str {
        self.source
    }

    /// The errors in the text, in order.
    pub fn errors(&self) -> &[Error] {
        &self.errors
    }

    /// All tokens of the text, in order.
    pub fn tokens(&self) -> &[Token] {
        &self.tokens
    }

    /// The statements at the top: directives, declarations and functions of a module, or the
    /// instructions of a bare list.
    pub fn statements(&self) -> Statements<'_> {
        Statements { tree: self, next: 0, end: self.entries.len() as u32 }
    }

    /// The statement with an index that [`Statement::index`] gave.
    ///
    /// # Panics
    /// If there is no such statement.
    pub fn statement(&self, index: u32) -> Statement<'_> {
        assert!((index as usize) < self.entries.len(), "the tree has no such statement");
        Statement { tree: self, index }
    }

    /// All statements: each function or block, followed by the statements inside of it.
    pub fn all_statements(&self) -> impl DoubleEndedIterator<Item = Statement<'_>> {
        (0..self.entries.len() as u32).map(|index| Statement { tree: self, index })
    }

    /// The functions at the top, including those that are only declared.
    pub fn functions(&self) -> impl Iterator<Item = Function<'_>> {
        self.statements().filter_map(|statement| match statement.kind() {
            StatementKind::Function(function) => Some(function),
            _ => None,
        })
    }

    /// The innermost statement that contains an offset, or ends there.
    pub fn statement_at(&self, offset: u32) -> Option<Statement<'_>> {
        let after = self
            .entries
            .partition_point(|entry| self.tokens[entry.first as usize].span().start <= offset);
        let mut found = Statement { tree: self, index: after.checked_sub(1)? as u32 };
        loop {
            if found.span().end >= offset {
                return Some(found);
            }
            found = found.parent()?;
        }
    }

    fn entry(&self, index: u32) -> &Entry {
        &self.entries[index as usize]
    }
}

/// A statement of a tree.
#[derive(Clone, Copy)]
pub struct Statement<'t> {
    tree: &'t Tree<'t>,
    index: u32,
}

/// The kinds of statement, each with the view that reads its parts.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum StatementKind<'t> {
    /// `.version 8.0`, `.loc 1 2 3`, `.pragma "nounroll";`, `.branchtargets a, b;` …
    Directive(Directive<'t>),
    /// Registers, variables, and parameters of calls: `.reg .b32 %r<9>;`
    Declaration(Declaration<'t>),
    /// A kernel or a function, perhaps without a body.
    Function(Function<'t>),
    /// `{ … }`
    Block(Statements<'t>),
    /// A label; the span is its name.
    Label(Span),
    /// An instruction of any opcode.
    Instruction(Instruction<'t>),
    /// A lone `;`.
    Empty,
    /// Tokens that are no statement of PTX.
    Error,
}

impl<'t> Statement<'t> {
    /// The kind of statement, with a view of its parts.
    pub fn kind(self) -> StatementKind<'t> {
        match self.entry().kind {
            EntryKind::Directive => StatementKind::Directive(Directive::new(self)),
            EntryKind::Declaration => {
                StatementKind::Declaration(Declaration::new(self.source(), self.tokens()))
            }
            EntryKind::Function => StatementKind::Function(Function::new(self)),
            EntryKind::Block => StatementKind::Block(self.children()),
            EntryKind::Label => StatementKind::Label(self.tokens()[0].span()),
            EntryKind::Instruction => {
                StatementKind::Instruction(Instruction::new(self.source(), self.tokens()))
            }
            EntryKind::Empty => StatementKind::Empty,
            EntryKind::Error => StatementKind::Error,
        }
    }

    /// From the first token to the last, in bytes of the text.
    pub fn span(self) -> Span {
        let tokens = self.tokens();
        tokens[0].span().to(tokens[tokens.len() - 1].span())
    }

    /// The text of the statement's span.
    pub fn text(self) -> &'t str {
        self.span().text(self.source())
    }

    /// The statement's tokens, with those of the statements inside of it.
    pub fn tokens(self) -> &'t [Token] {
        let Entry { first, end, .. } = *self.entry();
        &self.tree.tokens[first as usize..end as usize]
    }

    /// The statement's tokens without those of the statements inside of it: the header of a
    /// function, the `{` of a block.
    pub fn head(self) -> &'t [Token] {
        let entry = self.entry();
        let end = if entry.after > self.index + 1 {
            self.tree.entry(self.index + 1).first
        } else {
            entry.end
        };
        &self.tree.tokens[entry.first as usize..end as usize]
    }

    /// The span of [`head`](Self::head).
    pub(crate) fn head_span(self) -> Span {
        let head = self.head();
        head[0].span().to(head[head.len() - 1].span())
    }

    /// The index in [`Tree::all_statements`], for [`Tree::statement`].
    pub fn index(self) -> u32 {
        self.index
    }

    /// The statements directly inside of this one. The only child of a function is its block.
    pub fn children(self) -> Statements<'t> {
        Statements { tree: self.tree, next: self.index + 1, end: self.entry().after }
    }

    /// The statements inside of this one, at every depth, in the order of the text.
    pub fn descendants(self) -> impl DoubleEndedIterator<Item = Statement<'t>> {
        (self.index + 1..self.entry().after).map(move |index| Statement { index, ..self })
    }

    /// The block or function directly around the statement.
    pub fn parent(self) -> Option<Statement<'t>> {
        let index = self.entry().parent;
        (index != NONE).then_some(Statement { index, ..self })
    }

    /// The function around the statement. Takes time with the depth of blocks around it.
    pub fn function(self) -> Option<Function<'t>> {
        let around = std::iter::successors(self.parent(), |statement| statement.parent());
        around.into_iter().find_map(|statement| match statement.kind() {
            StatementKind::Function(function) => Some(function),
            _ => None,
        })
    }

    /// The next statement in the same block or function, or at the top.
    pub fn next(self) -> Option<Statement<'t>> {
        let Entry { after, parent, .. } = *self.entry();
        let next = self.tree.entries.get(after as usize)?;
        (next.parent == parent).then_some(Statement { index: after, ..self })
    }

    /// Whether both statements are of one kind.
    pub(super) fn is_like(self, other: Statement<'_>) -> bool {
        self.entry().kind == other.entry().kind
    }

    /// The index of the statement's first token in the tree.
    pub(crate) fn first_token(self) -> usize {
        self.entry().first as usize
    }

    /// The tree that the statement belongs to.
    pub fn tree(self) -> &'t Tree<'t> {
        self.tree
    }

    fn source(self) -> &'t str {
        self.tree.source
    }

    fn entry(self) -> &'t Entry {
        self.tree.entry(self.index)
    }
}

/// Shows a part of a text by its place and its own text: the whole text may be large.
fn debug(
    f: &mut std::fmt::Formatter<'_>,
    name: &str,
    source: &str,
    tokens: &[Token],
) -> std::fmt::Result {
    let mut shown = f.debug_tuple(name);
    if let (Some(first), Some(last)) = (tokens.first(), tokens.last()) {
        let span = first.span().to(last.span());
        shown.field(&span).field(&span.text(source));
    }
    shown.finish()
}

impl std::fmt::Debug for Statement<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Statement")
            .field("kind", &self.entry().kind)
            .field("span", &self.span())
            .finish()
    }
}

impl PartialEq for Statement<'_> {
    /// Whether both are the same statement of the same tree.
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.tree, other.tree) && self.index == other.index
    }
}

impl Eq for Statement<'_> {}

/// Statements that follow each other in a function, a block, or at the top.
#[derive(Clone)]
pub struct Statements<'t> {
    tree: &'t Tree<'t>,
    next: u32,
    end: u32,
}

impl<'t> Iterator for Statements<'t> {
    type Item = Statement<'t>;

    fn next(&mut self) -> Option<Statement<'t>> {
        if self.next == self.end {
            return None;
        }
        let index = self.next;
        self.next = self.tree.entry(index).after;
        Some(Statement { tree: self.tree, index })
    }
}

impl std::fmt::Debug for Statements<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.clone()).finish()
    }
}
