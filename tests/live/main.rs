//! Tests that need ptxas or z3, and the parts of them that do not.

mod costs;
mod proof;
mod ptxas;
mod rewrite;
#[cfg(feature = "diff")]
mod values;

#[path = "../support/mod.rs"]
mod support;
