//! Reads comments for vptx.

use super::{Entry, Suppression, SuppressionScope};
use crate::diagnostic::{Applicability, Code, CustomRule, Diagnostic, Edit, RuleSelector};
use crate::source::{Span, nearest};

/// Words that may follow the mark. The formatter reads what follows `fmt`.
const VERBS: [&str; 3] = ["ignore", "ignore-file", "fmt"];

/// Names of `ignore` and `ignore-file` in other tools, in lower case and with `-`.
const FOREIGN: &[(&str, &str)] = &[
    ("allow", "ignore"),
    ("allow-file", "ignore-file"),
    ("disable", "ignore"),
    ("disable-file", "ignore-file"),
    ("disable-line", "ignore"),
    ("disable-next-line", "ignore"),
    ("expect", "ignore"),
    ("ignore-line", "ignore"),
    ("ignore-next-line", "ignore"),
    ("nolint", "ignore"),
    ("nolintnextline", "ignore"),
    ("noqa", "ignore"),
    ("suppress", "ignore"),
];

/// Reads the text after the mark in a comment, and adds findings on its form.
pub(super) fn read(
    text: &str,
    offset: usize,
    span: Span,
    custom: &[&'static CustomRule],
    found: &mut Vec<Diagnostic>,
) -> Option<Suppression> {
    let skipped = text.len() - text.trim_start_matches([' ', '\t']).len();
    let (text, offset) = (&text[skipped..], offset + skipped);
    let is_verb = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    let (verb, rest) = text.split_at(text.find(|c| !is_verb(c)).unwrap_or(text.len()));
    if !VERBS.contains(&verb) {
        found.push(unknown_verb(verb, if verb.is_empty() { span } else { at(offset, verb) }));
        return None;
    }
    if verb == "fmt" {
        if !["on", "off"].into_iter().any(|word| turns_format(text, word)) {
            let message = "`vptx: fmt` needs `on` or `off` after it";
            let wrong = Diagnostic::new(Code::UnknownSuppression, at(offset, verb), message);
            found
                .push(wrong.label("has no effect").help("write `vptx: fmt off` or `vptx: fmt on`"));
        }
        return None;
    }
    let list = List::read(rest, offset + verb.len(), custom, found);
    if list.entries.is_empty() && list.is_given {
        return None;
    }
    if !list.is_exact {
        found.push(list.inexact(verb, at(offset, verb), rest));
    }
    let mut entries = list.entries;
    if entries.is_empty() {
        entries.push(Entry { selector: None, span: at(offset, verb), used: false });
    }
    Some(Suppression {
        span,
        verb: at(offset, verb),
        file: verb == "ignore-file",
        scope: SuppressionScope::File,
        entries,
        is_exact: list.is_exact,
        end: list.is_exact.then_some(list.end).flatten(),
    })
}

/// Whether the text after the mark is `fmt` and a word. A reason may follow.
pub(crate) fn turns_format(text: &str, word: &str) -> bool {
    let mut words = text.split_ascii_whitespace();
    words.next() == Some("fmt") && words.next() == Some(word)
}

/// The span of a word at an offset.
fn at(offset: usize, word: &str) -> Span {
    Span::new(offset as u32, (offset + word.len()) as u32)
}

/// The finding on a verb that vptx does not have.
fn unknown_verb(verb: &str, span: Span) -> Diagnostic {
    let message = match verb {
        "" => "`vptx:` has no keyword after it".to_string(),
        _ => format!("vptx does not know `vptx: {verb}`"),
    };
    let diagnostic = Diagnostic::new(Code::UnknownSuppression, span, message).label("unknown");
    let spelled = verb.to_ascii_lowercase().replace('_', "-");
    let foreign = FOREIGN.iter().find(|(word, _)| *word == spelled).map(|(_, meant)| *meant);
    let (meant, help) = match (foreign, nearest(&spelled, VERBS.into_iter())) {
        (Some(meant), _) if spelled.ends_with("next-line") || spelled.ends_with("nextline") => {
            (meant, format!("vptx calls it `{meant}`; alone on a line, it holds for the next line"))
        }
        (Some(meant), _) => (meant, format!("vptx calls it `{meant}`")),
        (None, Some(meant)) => (meant, format!("did you mean `{meant}`?")),
        (None, None) => {
            return diagnostic.help(
                "write `vptx: ignore[CODE] reason`, `vptx: ignore-file[CODE] reason`, \
                 `vptx: fmt off` or `vptx: fmt on`",
            );
        }
    };
    diagnostic.help(help).offer(span, meant)
}

/// The codes after a verb.
struct List {
    entries: Vec<Entry>,
    /// Whether there is a list of codes, or something meant as one.
    is_given: bool,
    /// Whether the list has the documented form `[V501, V502]`, or is absent.
    is_exact: bool,
    /// The offset of the bracket that ends the list.
    end: Option<u32>,
    /// The length in bytes of the text that a list in exact form would replace.
    taken: usize,
}

/// The text after a verb, and the codes found in it so far.
struct CodeList<'t, 'f> {
    text: &'t str,
    offset: usize,
    /// The custom rules.
    custom: &'f [&'static CustomRule],
    entries: Vec<Entry>,
    found: &'f mut Vec<Diagnostic>,
}

impl CodeList<'_, '_> {
    fn selector(&self, word: &str) -> Option<RuleSelector> {
        RuleSelector::read(word, self.custom).ok()
    }

    /// Whether a word selects rules, or seems to be meant to.
    fn looks_like_code(&self, word: &str) -> bool {
        let names = || Code::ALL.iter().map(|code| code.name());
        let is_name = || word.contains('-') && nearest(word, names()).is_some();
        word == "ALL" || looks_like_number(word) || self.is_custom(word) || is_name()
    }

    /// Whether a word has the form of a whole code.
    fn is_code(&self, word: &str) -> bool {
        word.len() == 4 && looks_like_number(word) || self.is_custom(word)
    }

    fn is_custom(&self, word: &str) -> bool {
        self.custom.iter().any(|rule| Code::Custom(rule).is_called(word))
    }

    /// Reads a word as a selector, or reports that it is none.
    fn take(&mut self, start: usize, word: &str) -> bool {
        let span = at(self.offset + start, word);
        match RuleSelector::read(word, self.custom) {
            Ok(selector) => {
                self.entries.push(Entry { selector: Some(selector), span, used: false });
                true
            }
            Err(message) => {
                let wrong = Diagnostic::new(Code::UnknownSuppression, span, message.to_string());
                self.found.push(wrong.label("no code or start of codes"));
                false
            }
        }
    }

    /// Reads the words from an offset on that look like codes, up to another word. Returns the
    /// end of the last one.
    fn take_codes(&mut self, from: usize) -> Option<usize> {
        let text = self.text;
        let mut end = None;
        for (start, word) in words(text, from) {
            if !self.looks_like_code(word) {
                break;
            }
            self.take(start, word);
            end = Some(start + word.len());
        }
        end
    }

    /// Reads the codes of a list in brackets. Returns whether commas separate all of them.
    fn take_list(&mut self, from: usize, to: usize) -> bool {
        let text = self.text;
        let mut is_exact = true;
        let mut start = from;
        for part in text[from..to].split(',') {
            let name = part.trim();
            let at = start + (part.len() - part.trim_start().len());
            start += part.len() + 1;
            let several = || words(name, 0).skip(1).count() > 0;
            let readable = || words(name, 0).all(|(_, word)| self.selector(word).is_some());
            if self.selector(name).is_none() && several() && readable() {
                is_exact = false;
                words(name, 0).for_each(|(inside, word)| _ = self.take(at + inside, word));
            } else {
                self.take(at, name);
            }
        }
        is_exact
    }
}

impl List {
    /// Reads the codes at the start of the text after a verb.
    fn read(
        text: &str,
        offset: usize,
        custom: &[&'static CustomRule],
        found: &mut Vec<Diagnostic>,
    ) -> List {
        let mut words = CodeList { text, offset, custom, entries: Vec::new(), found };
        let mut list =
            List { entries: Vec::new(), is_given: true, is_exact: true, end: None, taken: 0 };
        if !text.starts_with('[') {
            if let Some(end) = words.take_codes(0) {
                let closing = |c: char| matches!(c, ')' | ']' | '}' | '>' | ':' | ',' | ';' | '.');
                let rest = text[end..].trim_start_matches(closing);
                (list.taken, list.is_exact) = (text.len() - rest.len(), false);
            } else {
                // If the reason names rules, no others are meant.
                for (start, word) in self::words(text, 0) {
                    if words.is_code(word) {
                        words.take(start, word);
                        list.is_exact = false;
                    }
                }
                list.is_given = !list.is_exact;
            }
        } else if let Some(end) = text.find(']') {
            let before = words.found.len();
            list.is_exact = words.take_list(1, end);
            list.end = (words.found.len() == before).then_some((offset + end) as u32);
            list.taken = end + 1;
            // `ignore[V501], V502` and `ignore[V501][V502]` have more codes.
            let rest = text[end + 1..].trim_start();
            if rest.starts_with([',', ';', '[', '+', '&', '|'])
                && let Some(end) = words.take_codes(end + 1)
            {
                let rest = text[end..].trim_start_matches([']', ',', ';']);
                (list.taken, list.is_exact) = (text.len() - rest.len(), false);
            }
        } else {
            let end = words.take_codes(1);
            (list.taken, list.is_exact) = (end.unwrap_or(1), false);
            if words.entries.is_empty() {
                let message = "this bracket is never closed";
                let wrong = Diagnostic::new(Code::UnknownSuppression, at(offset, "["), message);
                words.found.push(
                    wrong.label("opened here").help("write `vptx: ignore[V501, V502] reason`"),
                );
            }
        }
        list.entries = words.entries;
        list
    }

    /// The finding on a list that is not in exact form, but whose meaning is clear.
    fn inexact(&self, verb: &str, span: Span, text: &str) -> Diagnostic {
        let names: Vec<String> = self
            .entries
            .iter()
            .filter_map(|entry| entry.selector.as_ref().map(ToString::to_string))
            .collect();
        let mut exact = format!("[{}]", names.join(", "));
        let meant = format!("{verb}{exact}");
        let start = span.end;
        let end = start + self.taken as u32;
        if text[self.taken..].starts_with(|c: char| !c.is_whitespace()) {
            exact.push(' ');
        }
        let message = match text.as_bytes() {
            [b'[', ..] if !text.contains(']') => "this bracket is never closed".to_string(),
            _ => format!("this is not the form for codes; it is read as `{meant}`"),
        };
        Diagnostic::new(Code::UnknownSuppression, Span::new(span.start, end), message)
            .label(format!("write `{meant}`"))
            .fix(
                Applicability::Safe,
                format!("write `{meant}`"),
                vec![Edit::replace(Span::new(start, end), exact)],
            )
    }
}

/// Words of letters, digits, `-` and `_` from an offset on, each with its offset.
fn words(text: &str, from: usize) -> impl Iterator<Item = (usize, &str)> {
    let mut at = from;
    std::iter::from_fn(move || {
        let is_word = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_');
        let start = at + text[at..].find(char::is_alphanumeric)?;
        let end = text[start..].find(|c| !is_word(c)).map_or(text.len(), |length| start + length);
        at = end;
        Some((start, &text[start..end]))
    })
}

/// Whether a word is like `V501`, `v5` or `V50l`.
fn looks_like_number(word: &str) -> bool {
    let rest = word.strip_prefix(['V', 'v']);
    rest.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}
