//! Tests that need ptxas, z3 or compilers of C. Scripts run them.

mod c;
mod calls;
mod costs;
mod effects;
mod llvm;
mod names;
mod port;
mod proof;
mod ptxas;
mod rewrite;
mod syntax;
#[cfg(feature = "diff")]
mod values;

#[path = "../support/mod.rs"]
mod support;
