//! Where the pages of codes are.

use std::str::FromStr;

use thiserror::Error;

use super::Code;

/// The documentation that findings link to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Docs {
    /// The documentation of the newest version of the library.
    #[default]
    Library,
    /// The book at this address, without a slash at its end.
    Book(String),
    /// A page for each code, at this address with the code in place of `{code}`.
    Pages(String),
}

/// The text in an address that stands for the code.
const PLACE: &str = "{code}";

impl Docs {
    /// The page of a code. `None` for a custom rule.
    pub fn url(&self, code: Code) -> Option<String> {
        let library = code.url()?;
        let anchor = code.text().to_ascii_lowercase();
        Some(match self {
            Docs::Library => library,
            Docs::Book(_) => self.page(&format!("rules/{}.html#{anchor}", &anchor[..2]))?,
            Docs::Pages(address) => address.replace(PLACE, code.text()),
        })
    }

    /// The address that was given.
    pub(crate) fn address(&self) -> Option<&str> {
        match self {
            Docs::Library => None,
            Docs::Book(address) | Docs::Pages(address) => Some(address),
        }
    }

    /// A page of the book, if there is one.
    pub fn page(&self, path: &str) -> Option<String> {
        match self {
            Docs::Book(address) => Some(format!("{address}/{path}")),
            Docs::Library | Docs::Pages(_) => None,
        }
    }
}

/// The ways in which an address may start.
const SCHEMES: [&str; 3] = ["https://", "http://", "file:///"];

/// The reason why a text is no address of documentation.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum InvalidDocs {
    /// The text is no address.
    #[error("`{0}` is no address: an address starts with {schemes}, and names a place", schemes = SCHEMES.join(" or "))]
    NoAddress(String),
    /// The address has `{code}`, but leads to files.
    #[error("`{0}`: only http and https addresses may have `{PLACE}`")]
    Files(String),
}

impl FromStr for Docs {
    type Err = InvalidDocs;

    /// Reads the address of a book, or an address with `{code}` in it.
    fn from_str(text: &str) -> Result<Docs, InvalidDocs> {
        let rest = SCHEMES.iter().find_map(|scheme| text.strip_prefix(scheme));
        let leads_nowhere = rest.is_none_or(|rest| rest.trim_start_matches('/').is_empty());
        if leads_nowhere || text.chars().any(|it| it.is_whitespace() || it.is_control()) {
            return Err(InvalidDocs::NoAddress(text.into()));
        }
        if !text.contains(PLACE) {
            return Ok(Docs::Book(text.trim_end_matches('/').into()));
        }
        // Settings may come with other people's sources, and the system may start some kinds of
        // files. A book is safe, as its pages are all HTML.
        if text.starts_with("file:") {
            return Err(InvalidDocs::Files(text.into()));
        }
        Ok(Docs::Pages(text.into()))
    }
}
