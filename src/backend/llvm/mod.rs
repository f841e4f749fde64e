//! LLVM functions that compute what video instructions compute.
//!
//! A [`Module`] is a text for LLVM 14 and newer. Its functions are pure, take and return 32-bit
//! words, and have neither undefined behaviour nor poison.
//!
//! ```
//! use vptx::Semantics;
//! use vptx::backend::llvm::Module;
//!
//! let mut module = Module::new(Semantics::Manual);
//! let name = module.add(&"vmin4.s32.s32.s32 d, x, y, z;".parse()?);
//! assert_eq!(name, "vmin4_s32_s32_s32");
//! let text = module.to_string();
//! assert!(text.contains("i32 @vmin4_s32_s32_s32(i32 %a, i32 %b) #0 {"));
//! assert!(text.contains("call <4 x i8> @llvm.smin.v4i8("));
//! # Ok::<(), vptx::ParseInstructionError>(())
//! ```

mod body;
mod lanes;
mod values;

use std::collections::{BTreeSet, HashSet};
use std::fmt;

use crate::backend::name;
use crate::ir::Input;
use crate::video::{Instruction, Semantics};

/// A textual module with a function for each different instruction.
///
/// The functions are `weak_odr`: modules with the same functions can be linked. A module with
/// vectors is for little-endian targets, and says so in its data layout.
#[derive(Clone, Debug)]
pub struct Module {
    semantics: Semantics,
    has_vectors: bool,
    names: HashSet<String>,
    functions: Vec<String>,
    /// The declarations of the intrinsics that the functions call.
    declarations: BTreeSet<String>,
}

impl Module {
    /// A module without functions, which will compute under this semantics. Functions of SIMD
    /// instructions use vectors where these never become more machine instructions.
    pub fn new(semantics: Semantics) -> Module {
        Module {
            semantics,
            has_vectors: true,
            names: HashSet::new(),
            functions: Vec::new(),
            declarations: BTreeSet::new(),
        }
    }

    /// A module whose functions use no vectors but compute lane by lane, for targets of any
    /// byte order.
    pub fn scalar(semantics: Semantics) -> Module {
        Module { has_vectors: false, ..Module::new(semantics) }
    }

    /// Adds the function of an instruction, unless it is there; returns its name.
    ///
    /// Names and parameters are those of [C functions](crate::backend::c::Header::add).
    pub fn add(&mut self, instruction: &Instruction) -> String {
        let program = instruction.lower(self.semantics);
        let name = name::of(instruction, self.semantics, &program);
        if self.names.insert(name.clone()) {
            let lanes = if self.has_vectors { lanes::body(&program) } else { None };
            let (body, result) = lanes.unwrap_or_else(|| values::body(&program));
            let parameters: Vec<String> =
                name::inputs(&program).iter().map(|it| format!("i32 %{}", it.text())).collect();
            self.functions.push(format!(
                "; {}\ndefine weak_odr i32 @{name}({}) #0 {{\n{}  ret i32 {result}\n}}\n",
                name::plain(instruction),
                parameters.join(", "),
                body.text
            ));
            self.declarations.extend(body.declarations);
        }
        name
    }

    /// The source words that the function of an instruction takes.
    pub fn parameters(&self, instruction: &Instruction) -> Vec<Input> {
        name::inputs(&instruction.lower(self.semantics))
    }
}

impl fmt::Display for Module {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("; Video instructions of PTX as functions, written by vptx.\n")?;
        if self.has_vectors {
            // Without it, lane 0 would be the highest.
            f.write_str("target datalayout = \"e\"\n")?;
        }
        for function in &self.functions {
            write!(f, "\n{function}")?;
        }
        if !self.declarations.is_empty() {
            f.write_str("\n")?;
        }
        for declaration in &self.declarations {
            writeln!(f, "declare {declaration}")?;
        }
        if !self.functions.is_empty() {
            // LLVM 16 and newer read `readnone` as `memory(none)`.
            f.write_str(
                "\nattributes #0 = { alwaysinline nofree norecurse nosync nounwind readnone \
                 speculatable willreturn }\n",
            )?;
        }
        Ok(())
    }
}
