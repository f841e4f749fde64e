//! The files of a user: which to read, in which language, under which settings; and how to
//! replace them.
// Doc comments of arguments are help texts, not Markdown.
#![allow(clippy::doc_markdown)]

pub(crate) mod binary;
pub(crate) mod bug;
pub(crate) mod docs;
pub(crate) mod error;
pub(crate) mod files;
mod guess;
pub(crate) mod headers;
pub(crate) mod input;
pub(crate) mod kind;
pub(crate) mod settings;
pub(crate) mod temporary;
pub(crate) mod walk;
