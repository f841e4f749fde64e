//! Tests that need ptxas or z3, and the checks of them that need neither.

mod costs;
mod proof;
mod ptxas;
mod rewrite;

#[path = "../support/mod.rs"]
mod support;
