//! The program as its users see it.
#![cfg(feature = "cli")]

mod book;
mod bugs;
mod check_program;
mod cli;
mod conformance;
mod diff;
mod docs;
mod eval;
mod extract;
mod files;
mod fixtures;
mod flags;
mod format_program;
mod kinds;
mod lower;
mod man;
mod output;
mod pictures;
mod port;
mod ptxas;
mod report_formats;
mod rewrite;
mod server;
mod survey;
mod tree;
mod unread;

#[path = "../support/mod.rs"]
mod support;
