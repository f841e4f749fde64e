//! Sets of rules, and selectors that choose them.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use super::{Code, CustomRule, Severity};

/// A set of rules of vptx.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct RuleSet(u128);

const _: () = assert!(Code::ALL.len() <= 128);

impl RuleSet {
    /// No rule.
    pub const NONE: RuleSet = RuleSet(0);

    /// Every rule.
    pub const ALL: RuleSet = RuleSet(u128::MAX >> (128 - Code::ALL.len()));

    /// The rules that are on by default.
    pub const DEFAULT: RuleSet = RuleSet::DEFAULT_AND_ERRORS[0];

    /// The rules whose findings are errors.
    pub const ERRORS: RuleSet = RuleSet::DEFAULT_AND_ERRORS[1];

    const DEFAULT_AND_ERRORS: [RuleSet; 2] = {
        let mut sets = [RuleSet::NONE; 2];
        let mut at = 0;
        while at < Code::ALL.len() {
            let code = Code::ALL[at];
            if code.default() {
                sets[0] = sets[0].with(code);
            }
            if matches!(code.severity(), Severity::Error) {
                sets[1] = sets[1].with(code);
            }
            at += 1;
        }
        sets
    };

    /// Whether a rule is in the set. Every set contains all custom rules.
    pub const fn contains(self, code: Code) -> bool {
        match code.number() {
            Some(number) => self.0 >> number & 1 == 1,
            None => true,
        }
    }

    /// The set with one more rule.
    #[must_use]
    pub const fn with(self, code: Code) -> RuleSet {
        match code.number() {
            Some(number) => RuleSet(self.0 | 1 << number),
            None => self,
        }
    }

    /// The rules of both sets.
    #[must_use]
    pub const fn union(self, other: RuleSet) -> RuleSet {
        RuleSet(self.0 | other.0)
    }

    /// This set after a choice: `select` replaces it, `extend` adds rules, and `ignore` removes
    /// rules. If several selectors match a rule, the longest wins, so that `V5` can be ignored and
    /// `V501` selected. Between two of the same length, `ignore` wins.
    #[must_use]
    pub fn choose(
        self,
        select: Option<&[RuleSelector]>,
        extend: &[RuleSelector],
        ignore: &[RuleSelector],
    ) -> RuleSet {
        let mut set = RuleSet::NONE;
        for &code in Code::ALL {
            let length = |selectors: &[RuleSelector]| {
                selectors.iter().filter(|it| it.matches(code)).map(|it| it.0.len()).max()
            };
            // Any selector outweighs the rule's present state.
            let default = select.is_none() && self.contains(code);
            let wanted = length(select.unwrap_or_default()).max(length(extend));
            let unwanted = length(ignore);
            let on = match (wanted, unwanted) {
                (Some(wanted), Some(unwanted)) => wanted > unwanted,
                (Some(_), None) => true,
                (None, unwanted) => default && unwanted.is_none(),
            };
            if on {
                set = set.with(code);
            }
        }
        set
    }
}

impl Default for RuleSet {
    fn default() -> RuleSet {
        RuleSet::DEFAULT
    }
}

impl fmt::Debug for RuleSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(Code::ALL.iter().filter(|code| self.contains(**code))).finish()
    }
}

/// Selects one code, all codes with the same start, or all codes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleSelector(String);

impl RuleSelector {
    /// Whether the selector matches every rule.
    pub(crate) fn is_all(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether the selector matches a rule.
    pub fn matches(&self, code: Code) -> bool {
        code.text().starts_with(&self.0)
    }
}

impl fmt::Display for RuleSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_empty() { "ALL" } else { &self.0 })
    }
}

/// The error for a text that selects no rule.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum InvalidRuleSelector {
    /// The text is empty.
    #[error("a rule is missing")]
    Empty,
    /// The text is similar to a code or a name.
    #[error("`{text}` selects no rule; did you mean `{meant}`?")]
    Misspelled {
        /// The text.
        text: String,
        /// The similar code or name.
        meant: &'static str,
    },
    /// The text is something else.
    #[error(
        "`{0}` selects no rule: write a code such as `V501`, the start of several such as `V5`, a \
         name, or `ALL`; `vptx explain` lists them"
    )]
    Unknown(String),
}

impl FromStr for RuleSelector {
    type Err = InvalidRuleSelector;

    /// # Errors
    /// If the text selects no rule.
    fn from_str(text: &str) -> Result<RuleSelector, InvalidRuleSelector> {
        RuleSelector::read(text, &[])
    }
}

impl RuleSelector {
    /// Reads a text that may also select some custom rules.
    pub(crate) fn read(
        text: &str,
        custom: &[&'static CustomRule],
    ) -> Result<RuleSelector, InvalidRuleSelector> {
        let text = text.trim();
        if text.is_empty() {
            return Err(InvalidRuleSelector::Empty);
        }
        let upper = text.to_ascii_uppercase();
        if upper == "ALL" {
            return Ok(RuleSelector(String::new()));
        }
        let codes =
            || Code::ALL.iter().copied().chain(custom.iter().map(|rule| Code::Custom(rule)));
        if let Some(code) = codes().find(|code| code.is_called(text)) {
            return Ok(RuleSelector(code.text().into()));
        }
        let selector = RuleSelector(upper);
        if codes().any(|code| selector.matches(code)) {
            return Ok(selector);
        }
        let names = codes().flat_map(|code| [code.name(), code.text()]);
        let text = text.to_string();
        Err(match crate::source::nearest(&text, names) {
            Some(meant) => InvalidRuleSelector::Misspelled { text, meant },
            None => InvalidRuleSelector::Unknown(text),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn selectors(text: &str) -> Vec<RuleSelector> {
        text.split_whitespace().map(|one| one.parse().expect("a selector")).collect()
    }

    fn chosen(select: Option<&str>, extend: &str, ignore: &str) -> RuleSet {
        let select = select.map(selectors);
        RuleSet::DEFAULT.choose(select.as_deref(), &selectors(extend), &selectors(ignore))
    }

    #[test]
    fn the_longest_word_wins() {
        assert_eq!(chosen(None, "", ""), RuleSet::DEFAULT);
        assert_eq!(chosen(Some("ALL"), "", ""), RuleSet::ALL);
        assert_eq!(chosen(None, "ALL", ""), RuleSet::ALL);
        assert_eq!(chosen(None, "", "ALL"), RuleSet::NONE);
        assert_eq!(chosen(Some("V5"), "", "V5"), RuleSet::NONE);
        let one = chosen(Some("V501"), "", "V5");
        assert_eq!(one, RuleSet::NONE.with(Code::ResultDiffers));
        let others = chosen(Some("v5"), "", "result-differs");
        assert!(
            !others.contains(Code::ResultDiffers) && others.contains(Code::ResultDiffersInOldPtxas)
        );
        assert!(!others.contains(Code::UnknownInstruction));
        let more = chosen(None, "V601", "V1");
        assert!(
            more.contains(Code::EmulatedInstruction) && !more.contains(Code::UnknownInstruction)
        );
        assert!(more.contains(Code::MissingOperand) && !more.contains(Code::SaturateOneSided));
    }

    #[test]
    fn words_that_select_nothing_are_refused() {
        assert!(
            "V50l"
                .parse::<RuleSelector>()
                .is_err_and(|error| error.to_string().contains("did you mean"))
        );
        assert!("V92".parse::<RuleSelector>().is_err());
        assert!("".parse::<RuleSelector>().is_err());
        assert!(
            "result-difers"
                .parse::<RuleSelector>()
                .is_err_and(|it| it.to_string().contains("result-differs"))
        );
    }
}
