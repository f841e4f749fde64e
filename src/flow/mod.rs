//! Control flow and data flow of a function: basic blocks, dominators, loops, definitions, uses
//! and liveness.
//!
//! ```
//! use vptx::flow::Flow;
//! use vptx::names::Names;
//! use vptx::syntax;
//!
//! let source = ".entry k(.param .u32 n) {
//!     .reg .b32 %r<4>; .reg .pred %p;
//!     ld.param.u32 %r1, [n];
//!     mov.u32 %r2, 0;
//! again:
//!     add.u32 %r2, %r2, %r1;
//!     setp.lt.u32 %p, %r2, 100;
//!     @%p bra again;
//!     ret;
//! }";
//! let tree = syntax::parse(source);
//! let names = Names::of(&tree);
//! let flow = Flow::of(&tree.functions().next().unwrap(), &names).unwrap();
//!
//! let [before, body, after] = [0, 1, 2].map(|block| flow.blocks()[block].clone());
//! assert_eq!(before.successors, [1]);
//! assert_eq!(body.successors, [2, 1]);
//! assert!(after.successors.is_empty());
//! assert_eq!(flow.loops()[0].blocks, [1]);
//!
//! // The first source of `add` comes from the `mov` or from itself.
//! let add = body.instructions.start;
//! let read = flow.accesses(add).iter().find(|it| it.access.reads()).unwrap();
//! let reaching = flow.definitions_reaching(add, read.meaning);
//! assert_eq!(reaching.instructions, [1, add]);
//! assert!(!reaching.may_be_undefined);
//! assert!(flow.is_live_after(add, read.meaning));
//! ```
//!
//! Only instructions have numbers, in the order of the text; labels, declarations and directives
//! have none. One table tells what an opcode reads and writes; an unknown opcode counts as reading
//! and writing every name in the operands. A write under a guard predicate is partial: the register
//! may keep its value. So is a write to an element of a vector register, such as `%v.x`.
//!
//! Data flow is that of names. It leaves out what instructions pass on in memory, or in the carry
//! flag (`add.cc` to `addc`). Code that removes instructions must keep those whose effects others
//! need in these ways.

mod blocks;
mod dominators;
mod dot;
mod effects;
mod many;

pub use blocks::{Block, Flow, Graph};
pub use dominators::{Dominators, Loop};
#[cfg(feature = "cli")]
pub(crate) use dot::line;
pub use effects::Access;
pub(crate) use effects::{DISCARDING, WITH_FIRST, WITH_PREDICATE};
pub(crate) use effects::{is_known, is_modifier, is_opcode, modifiers, opcodes};
pub(crate) use many::Written;

use crate::names::Meaning;
use crate::source::Span;

/// A use of a register, variable, label or function in an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NameAccess {
    /// The name.
    pub span: Span,
    /// What the name means.
    pub meaning: Meaning,
    /// How the instruction uses the name.
    pub access: Access,
    /// Whether the instruction may leave what it writes as it was, or a part of it: under a guard
    /// predicate, or if it writes an element of a vector register, such as `%v.x`.
    pub is_partial: bool,
}

/// The definitions that a value may come from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Reaching {
    /// The instructions that may have written the value, in the order of the text.
    pub instructions: Vec<usize>,
    /// Whether some path from the start of the function passes none of them. So it is for a
    /// parameter in a register, which the caller writes.
    pub may_be_undefined: bool,
}
