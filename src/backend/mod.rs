//! Backends, which write instructions in other languages: one folder for each language.

pub mod ptx;
