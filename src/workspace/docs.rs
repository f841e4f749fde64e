//! Finds the documentation that findings link to.

use std::env;

use thiserror::Error;

use crate::diagnostic::{Docs, InvalidDocs};
use crate::report::uri;

/// The environment variable with the address of the documentation.
const VARIABLE: &str = "VPTX_DOCS_URL";

/// The environment variable does not have a valid address.
#[derive(Debug, Error)]
#[error("{VARIABLE}: {0}")]
pub(crate) struct DocsError(#[from] InvalidDocs);

/// The documentation that the environment variable names, or else the settings, or else a book
/// beside the program.
pub(crate) fn docs(settings: Option<Docs>) -> Result<Docs, DocsError> {
    match env::var_os(VARIABLE).filter(|it| !it.is_empty()) {
        Some(address) => Ok(address.to_string_lossy().parse()?),
        None => Ok(settings.or_else(beside).unwrap_or_default()),
    }
}

/// The book beside the program: in an archive, or in a package of Debian or Python.
fn beside() -> Option<Docs> {
    let program = env::current_exe().ok()?;
    // A link to the program is followed. On Windows, links are rare, and canonical paths make no
    // valid addresses.
    let program = if cfg!(windows) { program } else { program.canonicalize().ok()? };
    let folder = program.parent()?;
    let packaged = folder.parent().map(|it| it.join("share/doc/vptx/book"));
    let mut books = [Some(folder.join("book")), packaged].into_iter().flatten();
    books.find(|book| book.join("index.html").is_file()).map(|book| Docs::Book(uri(&book)))
}
