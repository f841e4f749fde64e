//! Properties of the library, and recorded results.

mod asm;
#[cfg(feature = "batch")]
mod batch;
mod codes;
#[cfg(feature = "cli")]
mod conformance;
mod constants;
mod costs;
#[cfg(feature = "diff")]
mod diff;
#[cfg(feature = "diff")]
mod directives;
mod divergence;
mod edits;
mod emit_c;
mod emit_llvm;
mod examples;
#[cfg(feature = "diff")]
mod exchange;
#[cfg(feature = "extract")]
mod extract;
mod fixes;
mod flow;
mod format;
mod grammar;
mod hoisting;
mod kernels;
mod lanes;
mod laws;
mod limits;
mod macros;
mod manual;
mod masks;
mod names;
mod normal;
mod opcodes;
mod order;
mod pictures;
mod port;
mod ranges;
mod reader;
mod region;
mod rewrite;
mod robustness;
mod rooms;
mod scanner;
mod semantics;
#[cfg(feature = "server")]
mod server;
mod sources;
mod strings;
mod structure;
mod suppressions;
mod surface;
mod symbols;
mod tree;
mod verdicts;
mod white_space;

#[path = "../../benches/module/mod.rs"]
mod module;
#[path = "../support/mod.rs"]
mod support;
