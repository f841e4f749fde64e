//! Headers that a source in C includes, for the macros that they define.
//!
//! One text holds the source and then the headers. Thus a span tells the file, too.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::scan::{Cursor, directives_in};
use crate::hash::Map;
use crate::source::{MAX_LEN, Span};

/// The largest number of headers of a source, counting the headers of headers.
const MOST: usize = 1024;
/// The largest number of bytes in all headers of a source.
const MOST_BYTES: usize = 64 << 20;

/// An `#include`.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Include<'a> {
    /// The name as written.
    pub name: &'a str,
    /// Whether it is in `"` rather than in `<` and `>`.
    pub quoted: bool,
    /// The header that has the `#include`; `None` for the source itself.
    pub from: Option<&'a Path>,
}

/// A header that was found.
#[derive(Clone, Debug)]
pub struct Header {
    /// Its path: it tells headers apart, and messages show it.
    pub path: PathBuf,
    /// Its text.
    pub text: Arc<str>,
}

/// Finds headers for [`CheckOptions`](crate::check::CheckOptions), which compares finders by
/// identity.
#[derive(Clone)]
pub struct Headers(Arc<Finder>);

type Finder = dyn Fn(Include<'_>) -> Option<Header> + Send + Sync;

impl Headers {
    /// Headers that a function finds. A missing header is no error.
    pub fn new(find: impl Fn(Include<'_>) -> Option<Header> + Send + Sync + 'static) -> Headers {
        Headers(Arc::new(find))
    }
}

impl fmt::Debug for Headers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Headers")
    }
}

impl PartialEq for Headers {
    fn eq(&self, other: &Headers) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Headers {}

/// A source and its headers, as one text.
#[derive(Debug)]
pub(crate) struct Joined {
    text: String,
    /// The length of the source.
    len: usize,
    headers: Vec<(PathBuf, Span)>,
    /// The number of the header that an `#include` names, by the offset of the name.
    included: Map<u32, usize>,
}

impl Joined {
    /// Finds the headers of a source; `None` if there are none.
    pub(crate) fn new(source: &str, find: &Headers) -> Option<Joined> {
        let (text, len) = (source.to_owned(), source.len());
        let mut joined = Joined { text, len, headers: Vec::new(), included: Map::default() };
        let mut known: Map<PathBuf, usize> = Map::default();
        let mut part = Span::new(0, len as u32);
        for next in 0.. {
            for (at, Header { path, text }) in joined.found(part, next, find) {
                let number = match known.get(&path) {
                    Some(&number) => number,
                    None if joined.add(&path, &text) => {
                        known.insert(path, known.len());
                        known.len() - 1
                    }
                    None => continue,
                };
                joined.included.insert(at, number);
            }
            let Some(header) = joined.headers.get(next) else { break };
            part = header.1;
        }
        (!joined.headers.is_empty()).then_some(joined)
    }

    /// The headers that a part includes, and the offset of each name. The part is the source if
    /// `next` is 0, or else the header with the number `next - 1`.
    fn found(&self, part: Span, next: usize, find: &Headers) -> Vec<(u32, Header)> {
        let from = next.checked_sub(1).map(|at| self.headers[at].0.as_path());
        let includes = directives_in(&self.text, part).filter(|it| it.0 == "include");
        let header = |cursor: Cursor<'_>| {
            let (name, quoted) = cursor.header()?;
            Some((cursor.pos as u32, (find.0)(Include { name, quoted, from })?))
        };
        includes.filter_map(|(_, cursor)| header(cursor)).collect()
    }

    /// Adds a header, if there is room for it.
    fn add(&mut self, path: &Path, text: &str) -> bool {
        // A joined line at the end of a text must not reach into the next text.
        let start = self.text.len() + 2;
        let end = start + text.len();
        let fits = self.headers.len() < MOST && end - self.len <= MOST_BYTES && end <= MAX_LEN;
        if fits {
            self.text.push_str("\n\n");
            self.text.push_str(text);
            self.headers.push((path.to_path_buf(), Span::new(start as u32, end as u32)));
        }
        fits
    }

    /// The source and the headers.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// The places of the headers.
    pub(super) fn headers(&self) -> impl Iterator<Item = Span> + '_ {
        self.headers.iter().map(|it| it.1)
    }

    /// The number and the place of the header that an `#include` names.
    pub(super) fn included(&self, at: usize) -> Option<(usize, Span)> {
        let &number = self.included.get(&(at as u32))?;
        Some((number, self.headers[number].1))
    }

    /// The header that has this offset, and the line there, from 1; `None` in the source.
    pub(crate) fn place(&self, at: u32) -> Option<(&Path, usize)> {
        let after = self.headers.partition_point(|it| it.1.start <= at);
        let (path, span) = &self.headers[after.checked_sub(1)?];
        let before = &self.text.as_bytes()[span.start as usize..at as usize];
        Some((path, memchr::memchr_iter(b'\n', before).count() + 1))
    }
}
