//! The language of a text.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use thiserror::Error;

use crate::embed::Host;
use crate::source::mark_len;
use crate::syntax::lexer::trivia_end;

words! {
    /// The language of a text.
    ///
    /// ```
    /// use std::path::Path;
    /// use vptx::check::Language;
    ///
    /// let language = |path| Language::of(Path::new(path), "");
    /// assert_eq!(language("kernel.cu"), Some(Language::Cuda));
    /// assert_eq!(language("kernel.PY"), Some(Language::Python));
    /// assert_eq!(language("kernel.txt"), None);
    /// assert_eq!(Language::of(Path::new("kernel.txt"), ".version 8.0"), Some(Language::Ptx));
    /// assert_eq!("julia".parse(), Ok(Language::Julia));
    /// ```
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub enum Language {
        /// PTX: whole modules or bare statements.
        #[default]
        Ptx = "ptx",
        /// CUDA, `OpenCL` or C++: the PTX in its `asm` statements is checked.
        Cuda = "cuda",
        /// Python: the PTX of Triton's inline assembly and the like, and of CUDA sources in
        /// strings.
        Python = "python",
        /// Mojo: the PTX of its inline assembly.
        Mojo = "mojo",
        /// Rust: the PTX of `asm!`, and of CUDA sources in strings.
        Rust = "rust",
        /// Julia: the PTX of `@asmcall` and `llvmcall`.
        Julia = "julia",
        /// Zig: the PTX of `asm`.
        Zig = "zig",
        /// Jupyter notebooks: the PTX in their code cells.
        Notebook = "notebook",
    }
    /// Every language.
    pub ALL
    /// The name, such as `cuda`.
    text
}

/// The endings, in lower case, that always stand for a language.
pub(crate) const ENDINGS: &[(&[&str], Language)] = &[
    (&["ptx"], Language::Ptx),
    (
        &[
            "cu", "cuh", "cl", "clh", "hip", "c", "h", "cc", "hh", "cpp", "hpp", "cxx", "hxx",
            "inl", "ipp", "tcc", "tpp",
        ],
        Language::Cuda,
    ),
    (&["py"], Language::Python),
    (&["ipynb"], Language::Notebook),
    (&["mojo", "🔥"], Language::Mojo),
    (&["rs"], Language::Rust),
    (&["jl"], Language::Julia),
    (&["zig"], Language::Zig),
];

impl Language {
    /// The characters that start a comment up to the end of the line.
    pub(crate) fn comment_mark(self) -> &'static str {
        match self {
            Language::Python | Language::Mojo | Language::Julia => "#",
            _ => "//",
        }
    }

    /// The language of a file by its name. If the name does not tell, the file is PTX if it starts
    /// with `.version`; otherwise the result is `None`.
    pub fn of(path: &Path, text: &str) -> Option<Language> {
        let name = path.file_name()?.to_string_lossy().to_ascii_lowercase();
        match name.rsplit_once('.') {
            // Such files are usually CUDA, but may be PTX.
            Some((_, "inc")) if !is_module(text.as_bytes()) => Some(Language::Cuda),
            ending => ending
                .and_then(|(_, ending)| Language::of_ending(ending))
                .or_else(|| is_module(text.as_bytes()).then_some(Language::Ptx)),
        }
    }

    /// The language that an ending in lower case, without its dot, always stands for.
    pub(crate) fn of_ending(ending: &str) -> Option<Language> {
        let row = ENDINGS.iter().find(|(endings, _)| endings.contains(&ending));
        row.map(|&(_, language)| language)
    }

    /// The language that a host stands for.
    pub(crate) const fn of_host(host: Host) -> Language {
        match host {
            Host::C => Language::Cuda,
            Host::Python => Language::Python,
            Host::Mojo => Language::Mojo,
            Host::Rust => Language::Rust,
            Host::Julia => Language::Julia,
            Host::Zig => Language::Zig,
            Host::Notebook => Language::Notebook,
        }
    }

    /// The language around PTX; `None` for PTX itself.
    pub fn host(self) -> Option<Host> {
        match self {
            Language::Ptx => None,
            Language::Cuda => Some(Host::C),
            Language::Python => Some(Host::Python),
            Language::Mojo => Some(Host::Mojo),
            Language::Rust => Some(Host::Rust),
            Language::Julia => Some(Host::Julia),
            Language::Zig => Some(Host::Zig),
            Language::Notebook => Some(Host::Notebook),
        }
    }
}

impl fmt::Display for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

/// A name that is not a language.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "`{0}` is not a language: write `ptx`, `cuda`, `python`, `mojo`, `rust`, `julia`, `zig` or \
     `notebook`"
)]
pub struct UnknownLanguage(String);

impl FromStr for Language {
    type Err = UnknownLanguage;

    /// # Errors
    /// When the text is no language.
    fn from_str(text: &str) -> Result<Language, UnknownLanguage> {
        let named = Language::ALL.into_iter().find(|language| language.text() == text);
        named.ok_or_else(|| UnknownLanguage(text.into()))
    }
}

/// Whether a text is plainly PTX: `.version` and a number come first, after white space
/// and comments. The assembly of other machines has `.version "…"`.
pub(crate) fn is_module(text: &[u8]) -> bool {
    let Some(rest) = text[trivia_end(text, mark_len(text))..].strip_prefix(b".version") else {
        return false;
    };
    let at = trivia_end(rest, 0);
    at > 0 && rest.get(at).is_some_and(u8::is_ascii_digit)
}
