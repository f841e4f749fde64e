//! Decides the language of a text by an option, by its name, or by its first words.
//!
//! A text is checked as PTX, or rewritten, only if its name or an option says that it is PTX, or if
//! it is plainly PTX.

use std::path::Path;
use std::str::FromStr;

use clap::ValueEnum;
use clap::builder::PossibleValue;
use thiserror::Error;

use super::guess;
use crate::check::{Language, UnknownLanguage, is_module};

/// The languages on the command line.
impl ValueEnum for Language {
    fn value_variants<'a>() -> &'a [Language] {
        &Language::ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        let help = match self {
            Language::Ptx => "PTX, whole modules or bare statements",
            Language::Cuda => "CUDA, C++, C or OpenCL; the PTX in `asm` statements is read",
            Language::Python => {
                "Python; the PTX of inline assembly, as Triton has it, and of CUDA in strings"
            }
            Language::Mojo => "Mojo; the PTX of inline assembly",
            Language::Rust => "Rust; the PTX of `asm!`, and of CUDA in strings",
            Language::Julia => "Julia; the PTX of `@asmcall` and `llvmcall`",
            Language::Zig => "Zig; the PTX of `asm`",
            Language::Notebook => "Jupyter notebooks; the PTX in code cells",
        };
        Some(PossibleValue::new(self.text()).help(help))
    }
}

/// The only language that some commands accept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OnlyPtx {
    /// PTX, whole modules or bare statements
    Ptx,
}

impl From<OnlyPtx> for Language {
    fn from(_: OnlyPtx) -> Language {
        Language::Ptx
    }
}

/// Why an argument does not give the language of an ending.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(crate) enum InvalidExtension {
    #[error("`{0}` is not the ending of a file name; write one such as `inc`")]
    Ending(String),
    #[error("`{0}` is given twice")]
    Twice(String),
    #[error("`{0}` names no language; write `{0}=cuda`")]
    NoLanguage(String),
    #[error(transparent)]
    Language(#[from] UnknownLanguage),
}

/// Why a text is not read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(crate) enum LanguageError {
    #[error("{0}; name its language with --language")]
    Unknown(String),
    #[error("{0}; if it is PTX, add --language ptx")]
    MaybePtx(String),
    #[error("`{0}` is source code, but only PTX is read here: compile it first (`nvcc -ptx`)")]
    Cuda(String),
    #[error("`{0}` is source code, but only PTX is read here; `vptx check` reads it")]
    Other(String),
}

/// The language of an ending of file names, such as `tpl=cuda`. The ending may have several dots.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Extension {
    /// The ending in lower case, with the dot before it.
    ending: String,
    language: Language,
}

impl Extension {
    pub(crate) fn new(ending: &str, language: Language) -> Result<Extension, InvalidExtension> {
        let name = ending.strip_prefix('.').unwrap_or(ending);
        if name.is_empty() || name.contains(['/', '\\', '*']) {
            return Err(InvalidExtension::Ending(ending.into()));
        }
        Ok(Extension { ending: format!(".{}", name.to_ascii_lowercase()), language })
    }

    /// The ending without its dot, and the name of the language.
    pub(crate) fn parts(&self) -> (&str, String) {
        (&self.ending[1..], self.language.text().into())
    }
}

impl FromStr for Extension {
    type Err = InvalidExtension;

    fn from_str(text: &str) -> Result<Extension, InvalidExtension> {
        let (ending, language) =
            text.split_once('=').ok_or_else(|| InvalidExtension::NoLanguage(text.into()))?;
        Extension::new(ending, language.parse()?)
    }
}

/// The endings chosen in the settings and on the command line. They take precedence over the usual
/// endings, and the last of them that fits a name wins.
pub(crate) type Chosen<'a> = [&'a [Extension]; 2];

/// The kind of a text, as far as its name tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileKind {
    Ptx,
    /// PTX inside another language.
    Within(Language),
    /// A name that CUDA files usually have, and some PTX files.
    Include,
    /// Some other name, or none.
    Other,
    /// Text from standard input without a name.
    Unnamed,
}

impl FileKind {
    /// The kind of an input by an option, or by its name if it has one.
    pub(crate) fn told(
        language: Option<Language>,
        name: Option<&Path>,
        chosen: Chosen<'_>,
    ) -> FileKind {
        match (language, name) {
            (Some(language), _) => language.into(),
            (None, Some(path)) => FileKind::of(path, chosen),
            (None, None) => FileKind::Unnamed,
        }
    }

    /// Whether a search takes a file of this kind if it looks for one language, or for all
    /// languages. The name of the file must always tell its language.
    pub(crate) fn is_walked(self, language: Option<Language>) -> bool {
        match self {
            FileKind::Ptx => matches!(language, None | Some(Language::Ptx)),
            FileKind::Include => matches!(language, None | Some(Language::Cuda)),
            FileKind::Within(own) => language.is_none_or(|it| own == it),
            FileKind::Other | FileKind::Unnamed => false,
        }
    }

    /// The kind of a file by its name.
    pub(crate) fn of(path: &Path, chosen: Chosen<'_>) -> FileKind {
        let Some(name) = path.file_name().map(|name| name.to_string_lossy().to_ascii_lowercase())
        else {
            return FileKind::Other;
        };
        let mut chosen = chosen.iter().rev().flat_map(|some| some.iter().rev());
        let chosen = chosen.find(|extension| name.ends_with(&extension.ending));
        if let Some(extension) = chosen {
            return extension.language.into();
        }
        match name.rsplit_once('.') {
            Some((_, "inc")) => FileKind::Include,
            Some((_, ending)) => Language::of_ending(ending).map_or(FileKind::Other, Into::into),
            None => FileKind::Other,
        }
    }

    pub(crate) fn language(self, name: &str, text: &[u8]) -> Result<Language, LanguageError> {
        self.guess(text).ok_or_else(|| LanguageError::Unknown(self.unread(name)))
    }

    /// Fails if the text is not PTX.
    pub(crate) fn must_be_ptx(self, name: &str, text: &[u8]) -> Result<(), LanguageError> {
        match self.guess(text) {
            Some(Language::Ptx) => Ok(()),
            Some(Language::Cuda) => Err(LanguageError::Cuda(name.into())),
            Some(_) => Err(LanguageError::Other(name.into())),
            None => Err(LanguageError::MaybePtx(self.unread(name))),
        }
    }

    fn guess(self, text: &[u8]) -> Option<Language> {
        match self {
            FileKind::Ptx => Some(Language::Ptx),
            FileKind::Include | FileKind::Other if is_module(text) => Some(Language::Ptx),
            FileKind::Include => Some(Language::Cuda),
            FileKind::Within(language) => Some(language),
            FileKind::Other => None,
            FileKind::Unnamed => guess::language(text),
        }
    }

    /// The message for a text whose language is not known.
    fn unread(self, name: &str) -> String {
        let why = match self {
            FileKind::Unnamed => "nothing in it looks like PTX",
            _ => "its name is not that of a PTX file, and it does not start with `.version`",
        };
        format!("`{name}` is not read: {why}")
    }
}

impl From<Language> for FileKind {
    fn from(language: Language) -> FileKind {
        match language {
            Language::Ptx => FileKind::Ptx,
            language => FileKind::Within(language),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::check::language::ENDINGS;

    /// pre-commit must pass the files that `check .` and `fmt .` would find.
    #[test]
    fn hooks_name_the_endings_that_are_read() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/.pre-commit-hooks.yaml");
        let hooks = fs::read_to_string(file).unwrap();
        let patterns = hooks.lines().filter_map(|line| line.trim().strip_prefix("files: "));
        let told = ENDINGS.iter().flat_map(|(endings, _)| *endings).copied();
        // Files with this ending are CUDA or PTX.
        let all = told.chain(["inc"]).collect::<Vec<_>>();
        // Names are compared without regard to case.
        let expected = [format!(r"(?i)\.({})$", all.join("|")), r"(?i)\.ptx$".into()];
        assert_eq!(patterns.collect::<Vec<_>>(), expected);
        for ending in all {
            let path = format!("Folder/A.{}", ending.to_uppercase());
            assert!(FileKind::of(path.as_ref(), [&[], &[]]).is_walked(None), "{path}");
        }
    }
}
