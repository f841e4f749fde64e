//! Finds the documentation that findings link to.

use std::env;

use thiserror::Error;

use crate::diagnostic::{Docs, InvalidDocs};
use crate::report::uri;

/// The variable with the address of the documentation.
const VARIABLE: &str = "VPTX_DOCS_URL";

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

/// The book beside the program: in an archive, or in a package of Debian or Python.
fn beside() -> Option<Docs> {
    let program = env::current_exe().ok()?;
    // A link leads to the program. Windows has few links, and no address has its canonical paths.
    let program = if cfg!(windows) { program } else { program.canonicalize().ok()? };
    let folder = program.parent()?;
    let packaged = folder.parent().map(|it| it.join("share/doc/vptx/book"));
    let mut books = [Some(folder.join("book")), packaged].into_iter().flatten();
    books.find(|book| book.join("index.html").is_file()).map(|book| Docs::Book(uri(&book)))
}
