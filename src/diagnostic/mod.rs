//! Findings: what is wrong, where, and what to write instead.
//!
//! ```
//! use vptx::diagnostic::{Code, RuleSet, Severity};
//! use vptx::{CheckOptions, check};
//!
//! let text = "vadd.sat.s32.s32.s32 d, a, b;";
//! let found = &check(text, &CheckOptions::default())[0];
//! assert_eq!((found.code, found.severity), (Code::ModifierOrder, Severity::Warning));
//! assert_eq!(found.span.text(text), ".sat.s32.s32.s32");
//! assert_eq!(found.fixes[0].apply(text), "vadd.s32.s32.s32.sat d, a, b;");
//! let errors = CheckOptions::default().with_rules(RuleSet::ERRORS);
//! assert_eq!(check(text, &errors), []);
//! ```

mod code;
#[cfg(feature = "cli")]
mod docs;
mod edit;
#[cfg(feature = "serde")]
mod record;
mod rule_set;
mod table;

use std::borrow::Cow;
use std::fmt;

use crate::source::Span;

pub use code::{Code, CustomRule};
#[cfg(feature = "cli")]
#[doc(hidden)]
pub use docs::{Docs, InvalidDocs};
pub(crate) use edit::applied;
pub use edit::{Edit, EditError, apply};
#[cfg(feature = "serde")]
pub(crate) use record::Record;
pub use rule_set::{InvalidRuleSelector, RuleSelector, RuleSet};
pub use table::table;

/// The severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "lowercase"))]
pub enum Severity {
    /// Worth knowing; nothing to change.
    Note,
    /// Accepted, but not as documented, or not what it seems.
    Warning,
    /// Not PTX.
    Error,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Severity::Note => "note",
            Severity::Warning => "warning",
            Severity::Error => "error",
        })
    }
}

/// A finding. Spans are byte offsets into the text that was checked.
///
/// With the feature `serde`, a finding becomes `$defs/finding` of `docs/diagnostic.schema.json`: a
/// line of `vptx check --format json` without the file. The first of the labels there is the
/// finding's own.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Diagnostic {
    /// The rule; `vptx explain CODE` explains it.
    pub code: Code,
    /// The severity in the dialect that was checked.
    pub severity: Severity,
    /// The exact token or tokens at fault.
    pub span: Span,
    /// The error, in a sentence without a full stop.
    pub message: String,
    /// A few words to show under the token; may be empty.
    pub label: String,
    /// Advice: the forms that are allowed there, or the text to write.
    pub help: Option<String>,
    /// Other places that matter.
    pub labels: Vec<Label>,
    /// Ways to fix the finding.
    pub fixes: Vec<Fix>,
    /// The statement that the finding is about, if any. Comments beside the statement can
    /// suppress the finding.
    pub statement: Option<Span>,
}

impl Diagnostic {
    /// Whether the finding is an error that leaves the structure of the text in doubt.
    pub(crate) fn is_syntax_error(&self) -> bool {
        self.severity == Severity::Error && self.code.text().starts_with("V0")
    }

    /// A finding with the usual severity of its rule and a message. Long tokens in the
    /// message are shortened.
    pub fn new(code: Code, span: Span, message: impl Into<String>) -> Diagnostic {
        Diagnostic {
            code,
            severity: code.severity(),
            span,
            message: bounded(message.into()),
            label: String::new(),
            help: None,
            labels: Vec::new(),
            fixes: Vec::new(),
            statement: None,
        }
    }

    /// The finding with a few words to show under the token.
    #[must_use]
    pub fn label(mut self, label: impl Into<String>) -> Diagnostic {
        self.label = bounded(label.into());
        self
    }

    /// The finding with advice.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Diagnostic {
        self.help = Some(bounded(help.into()));
        self
    }

    /// The finding with another place that matters, and its relation to the finding.
    #[must_use]
    pub fn related(mut self, span: Span, text: impl Into<String>) -> Diagnostic {
        self.labels.push(Label { span, text: bounded(text.into()) });
        self
    }

    /// The finding with the statement that it is about. Comments beside the statement suppress it.
    #[must_use]
    pub fn statement(mut self, statement: Span) -> Diagnostic {
        self.statement = Some(statement);
        self
    }

    /// Moves every span of the finding.
    pub(crate) fn each_span(&mut self, place: impl Fn(Span) -> Span) {
        let edits = self.fixes.iter_mut().flat_map(|fix| &mut fix.edits).map(|edit| &mut edit.span);
        let labels = self.labels.iter_mut().map(|label| &mut label.span);
        let own = [&mut self.span].into_iter().chain(&mut self.statement);
        own.chain(labels).chain(edits).for_each(|span| *span = place(*span));
    }

    /// The finding with a way to fix it: whether a tool may apply it unasked, its effect in the
    /// imperative, and edits in the order of the text that do not overlap.
    #[must_use]
    pub fn fix(
        mut self,
        applicability: Applicability,
        title: impl Into<String>,
        edits: Vec<Edit>,
    ) -> Diagnostic {
        self.fixes.push(Fix { title: bounded(title.into()), applicability, edits });
        self
    }

    /// The finding with the unsafe fix to write another text in place of a part.
    #[must_use]
    pub(crate) fn offer(self, place: Span, text: &str) -> Diagnostic {
        self.write(Applicability::Unsafe, place, text)
    }

    /// The finding with the fix to write another text in place of a part.
    #[must_use]
    pub(crate) fn write(self, applicability: Applicability, place: Span, text: &str) -> Diagnostic {
        let edits = vec![Edit::replace(place, text)];
        self.fix(applicability, format!("write `{text}`"), edits)
    }

    /// The finding with the fix to remove a part.
    #[must_use]
    pub(crate) fn remove(self, applicability: Applicability, part: Span) -> Diagnostic {
        self.fix(applicability, "remove it", vec![Edit::remove(part)])
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Diagnostic {}

impl miette::Diagnostic for Diagnostic {
    fn code(&self) -> Option<Box<dyn fmt::Display + '_>> {
        Some(Box::new(self.code))
    }

    fn url(&self) -> Option<Box<dyn fmt::Display + '_>> {
        self.code.url().map(|url| Box::new(url) as _)
    }

    fn severity(&self) -> Option<miette::Severity> {
        Some(match self.severity {
            Severity::Note => miette::Severity::Advice,
            Severity::Warning => miette::Severity::Warning,
            Severity::Error => miette::Severity::Error,
        })
    }

    fn help(&self) -> Option<Box<dyn fmt::Display + '_>> {
        self.help.as_ref().map(|help| Box::new(help) as _)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = miette::LabeledSpan> + '_>> {
        let text = (!self.label.is_empty()).then(|| self.label.clone());
        let primary = miette::LabeledSpan::new_primary_with_span(text, self.span.range());
        let others = self.labels.iter().map(|label| {
            miette::LabeledSpan::new_with_span(Some(label.text.clone()), label.span.range())
        });
        Some(Box::new(std::iter::once(primary).chain(others)))
    }
}

/// `a, b or c`, where `word` is `or`.
pub(crate) fn listed(items: &[impl AsRef<str>], word: &str) -> String {
    match items {
        [] => String::new(),
        [one] => one.as_ref().into(),
        [rest @ .., last] => {
            let rest: Vec<&str> = rest.iter().map(AsRef::as_ref).collect();
            format!("{} {word} {}", rest.join(", "), last.as_ref())
        }
    }
}

/// `1 error`, `2 errors`.
pub(crate) fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// `2 files formatted, 1 unchanged`: the counts above 0, the first with the noun.
pub(crate) fn counted_each(noun: &str, counts: &[(usize, &str)]) -> String {
    let there = counts.iter().filter(|(count, _)| *count > 0).enumerate();
    let texts = there.map(|(at, (count, what))| match at {
        0 => format!("{} {what}", counted(*count, noun)),
        _ => format!("{count} {what}"),
    });
    texts.collect::<Vec<_>>().join(", ")
}

/// The most characters of a token that a message quotes.
const QUOTED: usize = 80;
/// The most characters of a text about a finding.
const TEXT: usize = 1000;

/// Shortens long quotes between backquotes, and the whole text if it is long, by leaving out the
/// middle. The start and the end of a token of a megabyte say enough, and there may be thousands of
/// such tokens.
pub(crate) fn bounded(text: String) -> String {
    if text.len() <= QUOTED {
        return text;
    }
    let pieces = text.split('`').enumerate();
    // Every second piece is a quote.
    let pieces =
        pieces.map(|(at, piece)| if at % 2 == 1 { shortened(piece, QUOTED) } else { piece.into() });
    let quoted = pieces.collect::<Vec<_>>().join("`");
    shortened(&quoted, TEXT).into_owned()
}

/// A text of at most `most` characters: the text itself, or its start and end with `…` between.
fn shortened(text: &str, most: usize) -> Cow<'_, str> {
    if text.len() <= most || text.chars().nth(most).is_none() {
        return text.into();
    }
    let (before, after) = (most - most / 4 - 1, most / 4);
    let mut starts = text.char_indices().map(|(at, _)| at);
    let end = starts.nth(before).unwrap_or(text.len());
    let start = starts.rev().nth(after - 1).unwrap_or(end);
    format!("{}…{}", &text[..end], &text[start..]).into()
}

/// Another place that matters to a finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// The place.
    pub span: Span,
    /// Its relation to the finding.
    pub text: String,
}

/// A way to fix a finding.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Fix {
    /// The effect of the fix, in the imperative.
    pub title: String,
    /// Whether a tool may apply the fix unasked.
    pub applicability: Applicability,
    /// Replacements in the order of the text, without overlap.
    pub edits: Vec<Edit>,
}

impl Fix {
    /// The text with the fix applied. [`apply`] returns an error instead of a panic.
    ///
    /// # Panics
    /// If the text is not the one that was checked, and an edit lies outside of it or splits a
    /// character.
    pub fn apply(&self, source: &str) -> String {
        applied(source, &self.edits)
    }
}

/// Whether a tool may apply a fix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "kebab-case"))]
pub enum Applicability {
    /// The fix keeps the meaning that the text has for ptxas.
    Safe,
    /// The fix is probably what was meant, but may change the meaning.
    Unsafe,
    /// The fix is only for display.
    DisplayOnly,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_quotes_are_shortened_and_nothing_else() {
        let long = "x".repeat(81);
        let prose = "word ".repeat(30);
        assert_eq!(bounded(prose.clone()), prose);
        let most = format!("`{}` and `{}`", "é".repeat(80), "→".repeat(80));
        assert_eq!(bounded(most.clone()), most);
        let quote = format!("{}…{}", "x".repeat(59), "x".repeat(20));
        assert_eq!(
            bounded(format!("`{long}` {prose} `{long}`")),
            format!("`{quote}` {prose} `{quote}`")
        );
        assert_eq!(quote.chars().count(), QUOTED);
        // The text shown has the start and the end of the token.
        let token: String = ('\u{4e00}'..).take(5000).collect();
        let shown = bounded(format!("`{token}`"));
        let (start, end) = shown.trim_matches('`').split_once('…').expect("an ellipsis");
        assert!(token.starts_with(start) && token.ends_with(end));
        assert_eq!(start.chars().count() + end.chars().count(), QUOTED - 1);
        // Texts without quotes, or with many.
        for text in ["y".repeat(100_000), "`z`".repeat(100_000), "`".repeat(100_000)] {
            assert_eq!(bounded(text).chars().count(), TEXT);
        }
    }
}
