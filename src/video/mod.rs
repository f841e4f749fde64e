//! The video instructions, one file for each family. A file has the family's rows of the table
//! of forms, the type of its instructions, how they are built, printed and lowered, the
//! deviations of ptxas, and the text of `vptx explain`.
//!
//! A value of these types is legal PTX: each field holds only what its
//! place allows, and combinations the manual rules out (a destination selector
//! beside a secondary operation, SIMD `.sat` beside `.add`, two negations in
//! `vmad`…) have no representation. Printing one never fails and never panics,
//! and reading the printed text gives the same value.
//!
//! Equality is by meaning and spelling: an explicit default selector or mask equals an omitted one,
//! and constants keep their spelling.
//!
//! ```
//! use vptx::video::{Operation, forms, syntax};
//!
//! let instruction: vptx::Instruction = "@p vmad.s32.s32.u32.shr7 d, a.h1, -b, c;".parse()?;
//! assert!(matches!(instruction.operation, Operation::MultiplyAdd(_)));
//! assert_eq!(instruction.destination().name(), "d");
//! assert_eq!(instruction.to_string(), "@p vmad.s32.s32.u32.shr7 d, a.h1, -b, c;");
//! let mnemonic = instruction.mnemonic();
//! let line = syntax(mnemonic, &forms(mnemonic)[0]);
//! assert!(line.starts_with("vmad.dtype.atype.btype{.sat}{.scale}  d"), "{line}");
//! # Ok::<(), vptx::ParseInstructionError>(())
//! ```

mod agreement;
mod arithmetic;
mod body;
mod deviation;
mod instruction;
mod lowering;
mod multiply_add;
mod operand;
mod result;
mod scalar;
mod semantics;
mod set;
mod shift;
mod simd;
mod simd_arithmetic;
mod simd_set;
mod table;
pub(crate) use agreement::EDGES;
pub use agreement::{Agreement, Witness};
pub use arithmetic::{Arithmetic, ArithmeticOp};
#[doc(hidden)]
pub use body::Example;
pub use deviation::Deviation;
pub use instruction::{Instruction, Operation};
pub use multiply_add::{MadMode, MultiplyAdd, MultiplyAddParts};
pub(crate) use operand::is_one_register;
pub use operand::{
    Guard, Immediate, InvalidRegister, Operand, OperandName, Register, Source, Tail,
};
pub(crate) use operand::{Parts, Selected, numbered};
pub use result::ResultPart;
pub use scalar::ScalarOperands;
pub use semantics::{Semantics, UnknownSemantics};
pub use set::Set;
pub use shift::Shift;
pub use simd::SimdOperands;
pub use simd_arithmetic::{SimdArithmetic, SimdOp, SimdTail};
pub use simd_set::SimdSet;
pub use table::{FORMS, deviations, family_forms, forms, syntax};
#[doc(hidden)]
pub use table::{example, prose, selector_choices, summary, takes};
