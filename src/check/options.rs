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

    setters! { CheckOptions:
        /// These options for another language.
        with_language(language: Language) language;
        /// These options with headers for sources in C.
        with_headers(headers: Option<Headers>) headers;
        /// These options with another dialect.
        with_dialect(dialect: Dialect) dialect;
        /// These options with a target that overrides the module's.
        with_target(target: Option<Target>) target;
        /// These options with all the targets that a text is built for.
        with_targets(targets: Vec<Target>) targets;
        /// These options with other rules in force.
        with_rules(rules: RuleSet) rules;
        /// These options with custom rules, which are not part of vptx.
        with_custom_rules(rules: Vec<&'static CustomRule>) custom_rules;
        /// These options with or without [`every_module`](Self::every_module).
        with_every_module(every: bool) every_module;
        /// These options with a PTX version that overrides the module's.
        with_ptx_version(version: Option<PtxVersion>) ptx_version;
    }
}
