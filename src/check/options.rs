//! Options for checking.

use std::str::FromStr;

use thiserror::Error;

use super::Language;
use crate::diagnostic::{CustomRule, RuleSet};
use crate::embed::Headers;
use crate::isa::{PtxVersion, Target};

/// The rules that decide whether something is an error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// The manual. Syntax that only ptxas accepts is a warning or an error.
    #[default]
    Documented,
    /// The assembler itself. Only code that ptxas rejects is an error.
    Ptxas,
}

/// A name that is not a dialect.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{0}` is not a dialect: write `documented` or `ptxas`")]
pub struct UnknownDialect(String);

impl FromStr for Dialect {
    type Err = UnknownDialect;

    /// # Errors
    /// When the text is neither `documented` nor `ptxas`.
    fn from_str(text: &str) -> Result<Dialect, UnknownDialect> {
        match text {
            "documented" => Ok(Dialect::Documented),
            "ptxas" => Ok(Dialect::Ptxas),
            _ => Err(UnknownDialect(text.into())),
        }
    }
}

/// Options for checking.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CheckOptions {
    /// The language of the text. A [`Module`](crate::Module) is always PTX.
    pub language: Language,
    /// The rules.
    pub dialect: Dialect,
    /// A target to check against, instead of the module's own.
    pub target: Option<Target>,
    /// All targets that a text is built for. If there are any, `target` does not count.
    /// A finding holds for at least one of them, and a fix is right for all.
    pub targets: Vec<Target>,
    /// A PTX version to check against, instead of the module's own.
    pub ptx_version: Option<PtxVersion>,
    /// The rules to report.
    pub rules: RuleSet,
    /// Custom rules, which are not part of vptx. Comments may suppress their findings.
    pub custom_rules: Vec<&'static CustomRule>,
    /// Finds the headers of a C source, so that their macros are expanded. Without headers, only
    /// macros that the source itself defines are expanded.
    pub headers: Option<Headers>,
    /// Whether the rules on modules (`V9…` and V705) judge every module and every `asm`:
    /// also modules of more than 1 MiB, and texts without video instructions. These rules take
    /// several times as long as all others. `vptx check` sets this flag if a selector names such a
    /// rule.
    pub every_module: bool,
}

impl CheckOptions {
    /// Options to find instructions and errors without advice.
    pub(crate) fn errors_only() -> CheckOptions {
        CheckOptions::default().with_rules(RuleSet::ERRORS)
    }

    /// These options for another language.
    #[must_use]
    pub fn with_language(mut self, language: Language) -> CheckOptions {
        self.language = language;
        self
    }

    /// These options with headers for sources in C.
    #[must_use]
    pub fn with_headers(mut self, headers: Option<Headers>) -> CheckOptions {
        self.headers = headers;
        self
    }

    /// These options with another dialect.
    #[must_use]
    pub fn with_dialect(mut self, dialect: Dialect) -> CheckOptions {
        self.dialect = dialect;
        self
    }

    /// These options with a target that overrides the module's.
    #[must_use]
    pub fn with_target(mut self, target: Option<Target>) -> CheckOptions {
        self.target = target;
        self
    }

    /// These options with all the targets that a text is built for.
    #[must_use]
    pub fn with_targets(mut self, targets: Vec<Target>) -> CheckOptions {
        self.targets = targets;
        self
    }

    /// These options with other rules in force.
    #[must_use]
    pub fn with_rules(mut self, rules: RuleSet) -> CheckOptions {
        self.rules = rules;
        self
    }

    /// These options with custom rules, which are not part of vptx.
    #[must_use]
    pub fn with_custom_rules(mut self, rules: Vec<&'static CustomRule>) -> CheckOptions {
        self.custom_rules = rules;
        self
    }

    /// These options with or without [`every_module`](Self::every_module).
    #[must_use]
    pub fn with_every_module(mut self, every: bool) -> CheckOptions {
        self.every_module = every;
        self
    }

    /// These options with a PTX version that overrides the module's.
    #[must_use]
    pub fn with_ptx_version(mut self, version: Option<PtxVersion>) -> CheckOptions {
        self.ptx_version = version;
        self
    }
}
