//! LLVM functions that compute what video instructions compute.
//!
//! A [`Module`] is a text for LLVM 14 and newer. Its functions are pure, take and return 32-bit
//! words, and have neither undefined behaviour nor poison.
//!
//! ```
//! use vptx::Semantics;
//! use vptx::backend::llvm::{Architecture, Module};
//!
//! let mut module = Module::new(Semantics::Manual, Architecture::X86_64);
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
use std::str::FromStr;

use crate::backend::name;
use crate::ir::Input;
use crate::isa::InvalidName;
use crate::video::{Instruction, Semantics};

words! {
    /// The processors that a module is for, by the first part of LLVM's target triples.
    ///
    /// Lanes become vectors where LLVM then makes fewer machine instructions than for one lane
    /// after the other. All of these processors are little-endian.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    #[non_exhaustive]
    pub enum Architecture {
        /// All processors that LLVM knows: no vectors.
        #[default]
        Any = "any",
        /// GPUs of AMD.
        Amdgcn = "amdgcn",
        /// GPUs of NVIDIA.
        Nvptx64 = "nvptx64",
        /// x86 with 64 bits.
        X86_64 = "x86_64",
        /// Arm with 64 bits.
        Aarch64 = "aarch64",
    }
    /// All of them.
    pub ALL
    /// Its name: `any`, or as in target triples.
    text
}

impl FromStr for Architecture {
    type Err = InvalidName;

    /// # Errors
    /// If the text is not the [name](Architecture::text) of an architecture.
    fn from_str(text: &str) -> Result<Architecture, InvalidName> {
        let found = Architecture::ALL.into_iter().find(|it| it.text() == text);
        found.ok_or_else(|| InvalidName::new(text, "an architecture of LLVM"))
    }
}

/// A textual module with a function for each different instruction.
///
/// The functions are `weak_odr`: modules with the same functions can be linked.
#[derive(Clone, Debug)]
pub struct Module {
    semantics: Semantics,
    architecture: Architecture,
    names: HashSet<String>,
    functions: Vec<String>,
    /// The declarations of the intrinsics that the functions call.
    declarations: BTreeSet<String>,
}

impl Module {
    /// A module without functions, which will compute under this semantics.
    pub fn new(semantics: Semantics, architecture: Architecture) -> Module {
        let (names, functions, declarations) = (HashSet::new(), Vec::new(), BTreeSet::new());
        Module { semantics, architecture, names, functions, declarations }
    }

    /// Adds the function of an instruction, unless it is there; returns its name.
    ///
    /// Names and parameters are those of [C functions](crate::backend::c::Header::add).
    pub fn add(&mut self, instruction: &Instruction) -> String {
        let program = instruction.lower(self.semantics);
        let name = name::of(instruction, self.semantics, &program);
        if self.names.insert(name.clone()) {
            let (body, result) =
                lanes::body(&program, self.architecture).unwrap_or_else(|| values::body(&program));
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
