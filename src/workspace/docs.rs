//! Finds the documentation that findings link to.

use std::env;
use std::path::PathBuf;

use thiserror::Error;

use crate::diagnostic::{Docs, InvalidDocs};
use crate::report::uri;

/// The variable with the address of the documentation.
const VARIABLE: &str = "VPTX_DOCS_URL";

/// Where the book may be, from the folder of the program: in an archive, and in a package of Debian
/// or Python.
const BOOKS: [&str; 2] = ["book", "../share/doc/vptx/book"];

/// The variable has no address.
#[derive(Debug, Error)]
#[error("{VARIABLE}: {0}")]
pub(crate) struct DocsError(#[from] InvalidDocs);

/// What the variable names, or the settings, or else a book beside the program.
pub(crate) fn docs(settings: Option<Docs>) -> Result<Docs, DocsError> {
    match env::var_os(VARIABLE).filter(|it| !it.is_empty()) {
        Some(address) => Ok(address.to_string_lossy().parse()?),
        None => Ok(settings.or_else(beside).unwrap_or_default()),
    }
}

/// The book beside the program.
fn beside() -> Option<Docs> {
    let program = env::current_exe().and_then(|it| it.canonicalize()).ok()?;
    let books = BOOKS.map(|book| Some(program.parent()?.join(book)));
    let is_book = |folder: &PathBuf| folder.join("index.html").is_file();
    let folder = books.into_iter().flatten().find(is_book)?.canonicalize().ok()?;
    Some(Docs::Book(uri(&folder)))
}
