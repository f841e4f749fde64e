//! Tests that need ptxas, z3 or C compilers, and the parts of them that do not.

mod c;
mod calls;
mod costs;
mod llvm;
mod port;
mod proof;
mod ptxas;
mod rewrite;
#[cfg(feature = "diff")]
mod values;

#[path = "../support/mod.rs"]
mod support;
