//! What wants ptxas or z3, and what can be checked of that without.

mod costs;
mod proof;
mod ptxas;
mod rewrite;

#[path = "../support/mod.rs"]
mod support;
