//! Writes what instructions compute in other languages, with a folder for each language.
//!
//! ```
//! use vptx::Semantics;
//! use vptx::backend::ptx::FreshRegisters;
//!
//! let instruction: vptx::Instruction = "vmin2.s32.s32.s32 d, a, b, c;".parse()?;
//! let mut registers = FreshRegisters::avoiding("d a b c");
//! let text = instruction.to_ptx("sm_90".parse()?, Semantics::Ptxas13, &mut registers)?;
//! assert_eq!(text, "min.s16x2 d, a, b;");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod c;
pub mod llvm;
mod name;
pub mod ptx;
