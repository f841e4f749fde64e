//! Comments that say what not to report.
//!
//! `// vptx: ignore[V501] reason` holds for its line, or, alone on a line, for
//! the next; `// vptx: ignore-file[V501] reason` for the whole file. Codes may be
//! the start of some, and without brackets all rules are meant.

use super::rules::documented_only;
use super::{Code, Selector};
use crate::check::{CheckOptions, Dialect, Language};
use crate::diagnostic::{Applicability, Diagnostic, Edit};
use crate::embed;
use crate::source::{LineIndex, Span};
use crate::syntax::lexer;
use crate::text::nearest;

/// What such comments start with.
pub(crate) const MARK: &str = "vptx:";

/// What may follow the mark; the formatter has words of its own.
const VERBS: [&str; 3] = ["ignore", "ignore-file", "fmt"];

/// Drops what comments suppress, and says what is wrong with the comments. The
/// findings are in the order of the text, before and after. A text without
/// [`MARK`] has no such comments.
pub(crate) fn suppress(source: &str, options: &CheckOptions, diagnostics: &mut Vec<Diagnostic>) {
    let mut found = Vec::new();
    let mut suppressions = read(source, options.language, &mut found);
    if !suppressions.is_empty() {
        let index = LineIndex::new(source);
        for suppression in &mut suppressions {
            suppression.place(source, &index);
        }
        diagnostics.retain(|diagnostic| {
            let lines = Lines::of(diagnostic, &index);
            let mut keep = true;
            for suppression in &mut suppressions {
                keep &= !suppression.covers(diagnostic.code, &lines);
            }
            keep
        });
        for suppression in &suppressions {
            found.extend(suppression.unused(source, options));
        }
    }
    found.retain(|diagnostic| options.rules.contains(diagnostic.code));
    if !found.is_empty() {
        diagnostics.append(&mut found);
        diagnostics.sort_by_key(|diagnostic| (diagnostic.span, diagnostic.code));
    }
}

/// The lines of a finding, from 0.
struct Lines {
    first: usize,
    last: usize,
    /// Those at which its statement starts and ends.
    statement: Option<(usize, usize)>,
}

impl Lines {
    fn of(diagnostic: &Diagnostic, index: &LineIndex) -> Lines {
        let lines = |span: Span| {
            let last = span.end.saturating_sub(1).max(span.start);
            (index.line(span.start), index.line(last))
        };
        let (first, last) = lines(diagnostic.span);
        Lines { first, last, statement: diagnostic.statement.map(lines) }
    }
}

/// Where a suppression holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scope {
    File,
    /// A line, from 0, beside the comment.
    Beside(usize),
    /// A line, from 0, below the comment.
    Below(usize),
}

struct Suppression {
    /// The comment.
    span: Span,
    /// Whether its verb was that for files.
    file: bool,
    scope: Scope,
    /// The codes, each with its place and whether it suppressed anything; one
    /// without a place stands for all.
    entries: Vec<Entry>,
}

struct Entry {
    selector: Option<Selector>,
    span: Span,
    used: bool,
}

impl Entry {
    fn matches(&self, code: Code) -> bool {
        self.selector.as_ref().is_none_or(|selector| selector.matches(code))
    }
}

impl Suppression {
    /// Finds the line that it is about.
    fn place(&mut self, source: &str, index: &LineIndex) {
        if self.file {
            return;
        }
        let line = index.line(self.span.start);
        let last = index.line(self.span.end.saturating_sub(1));
        let before = &source[index.line_span(line).start as usize..self.span.start as usize];
        let after = &source[self.span.end as usize..index.line_span(last).end as usize];
        if !before.trim().is_empty() || !after.trim().is_empty() {
            self.scope = Scope::Beside(if before.trim().is_empty() { last } else { line });
            return;
        }
        // Several may stand one above the other.
        let comment = |line: usize| {
            let text = index.line_span(line).text(source).trim_start();
            text.strip_prefix("//").is_some_and(|text| text.trim_start().starts_with(MARK))
        };
        let mut below = last + 1;
        while below < index.lines() && comment(below) {
            below += 1;
        }
        self.scope = Scope::Below(below);
    }

    /// Whether a finding is suppressed; notes it.
    fn covers(&mut self, code: Code, lines: &Lines) -> bool {
        let here = match self.scope {
            Scope::File => true,
            Scope::Beside(line) => {
                (lines.first..=lines.last).contains(&line)
                    || lines.statement.is_some_and(|(first, last)| line == first || line == last)
            }
            Scope::Below(line) => {
                line == lines.first || lines.statement.is_some_and(|(first, _)| line == first)
            }
        };
        if !here {
            return false;
        }
        let mut covered = false;
        for entry in &mut self.entries {
            if entry.matches(code) {
                entry.used = true;
                covered = true;
            }
        }
        covered
    }

    /// The finding on a comment of which something suppresses nothing.
    fn unused(&self, source: &str, options: &CheckOptions) -> Option<Diagnostic> {
        // A rule that was not asked for cannot tell.
        let asked = |code: &Code| {
            options.rules.contains(*code)
                && (options.dialect == Dialect::Documented || !documented_only(*code))
        };
        // Another time there may be another target.
        let gated = |code: Code| ["V3", "V6"].contains(&&code.text()[..2]);
        let idle = |entry: &&Entry| {
            let named: Vec<Code> =
                Code::ALL.iter().copied().filter(|code| entry.matches(*code)).collect();
            // Of many, those that are off anyway do not count.
            let counts = |code: &Code| !gated(*code) && (named.len() == 1 || code.default());
            let judges: Vec<Code> = named.iter().copied().filter(counts).collect();
            !entry.used && !judges.is_empty() && judges.iter().all(asked)
        };
        let unused: Vec<&Entry> = self.entries.iter().filter(idle).collect();
        let first = unused.first()?;
        let names: Vec<String> = unused
            .iter()
            .filter_map(|entry| entry.selector.as_ref())
            .filter(|selector| !selector.is_all())
            .map(|selector| format!("`{selector}`"))
            .collect();
        let message = match names.as_slice() {
            [] => "nothing is suppressed here".to_string(),
            [one] => format!("{one} is not reported here"),
            _ => format!("{} are not reported here", names.join(", ")),
        };
        let edits = if unused.len() == self.entries.len() {
            vec![Edit::remove(self.whole(source))]
        } else {
            vec![Edit::replace(self.entries[0].span.to(self.entries.last()?.span), self.rest(idle))]
        };
        let mut diagnostic =
            Diagnostic::new(Code::V801, first.span, message).label("suppresses nothing");
        for other in &unused[1..] {
            diagnostic = diagnostic.related(other.span, "nor does this");
        }
        Some(diagnostic.fix(Applicability::Safe, "remove it", edits))
    }

    /// The codes that are needed.
    fn rest(&self, idle: impl Fn(&&Entry) -> bool) -> String {
        let needed = self.entries.iter().filter(|entry| !idle(entry));
        let names: Vec<String> =
            needed.filter_map(|entry| entry.selector.as_ref().map(ToString::to_string)).collect();
        names.join(", ")
    }

    /// The comment with the white space before it; its whole line if nothing
    /// else is on it.
    fn whole(&self, source: &str) -> Span {
        let before = source[..self.span.start as usize].trim_end_matches([' ', '\t']);
        let after = &source[self.span.end as usize..];
        let alone = before.is_empty() || before.ends_with('\n');
        let (start, rest) = match after.strip_prefix("\r\n").or_else(|| after.strip_prefix('\n')) {
            Some(rest) if alone => (before.len(), rest),
            // The indentation stays for what follows.
            None if alone => (self.span.start as usize, after.trim_start_matches([' ', '\t'])),
            _ => (before.len(), after),
        };
        Span::new(start as u32, (source.len() - rest.len()) as u32)
    }
}

/// The suppressions of a text, and what is wrong with their writing.
fn read(source: &str, language: Language, found: &mut Vec<Diagnostic>) -> Vec<Suppression> {
    let comments = match language {
        Language::Ptx => lexer::comments(source),
        Language::Cuda => embed::comments(source),
    };
    let read = |span: Span| {
        let inside = &span.text(source)[2..];
        let text = inside.trim_start_matches([' ', '\t']).strip_prefix(MARK)?;
        comment(text.trim_end_matches('\r'), span.end as usize - text.len(), span, found)
    };
    comments.into_iter().filter_map(read).collect()
}

/// Reads what follows the mark.
fn comment(
    text: &str,
    offset: usize,
    span: Span,
    found: &mut Vec<Diagnostic>,
) -> Option<Suppression> {
    let skipped = text.len() - text.trim_start_matches([' ', '\t']).len();
    let (text, offset) = (&text[skipped..], offset + skipped);
    let length = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '-').unwrap_or(text.len());
    let (verb, rest) = text.split_at(length);
    let place =
        |at: usize, length: usize| Span::new((offset + at) as u32, (offset + at + length) as u32);
    if verb == "fmt" {
        return None;
    }
    if !VERBS.contains(&verb) {
        let diagnostic = Diagnostic::new(
            Code::V802,
            if verb.is_empty() { span } else { place(0, verb.len()) },
            match verb {
                "" => "`vptx:` says nothing".to_string(),
                _ => format!("`vptx: {verb}` says nothing to vptx"),
            },
        )
        .label("unknown");
        found.push(match nearest(verb, VERBS.into_iter()) {
            Some(meant) => diagnostic.help(format!("did you mean `{meant}`?")).fix(
                Applicability::Unsafe,
                format!("write `{meant}`"),
                vec![Edit::replace(place(0, verb.len()), meant)],
            ),
            None => diagnostic.help(
                "write `vptx: ignore[CODE] reason`, `vptx: ignore-file[CODE] reason`, \
                 `vptx: fmt off` or `vptx: fmt on`",
            ),
        });
        return None;
    }
    let mut entries = Vec::new();
    if let Some(list) = rest.strip_prefix('[') {
        let Some(end) = list.find(']') else {
            let diagnostic =
                Diagnostic::new(Code::V802, place(length, 1), "this bracket is never closed")
                    .label("opened here")
                    .help("write `vptx: ignore[V501, V502] reason`");
            found.push(diagnostic);
            return None;
        };
        let mut at = length + 1;
        for part in list[..end].split(',') {
            let name = part.trim();
            let start = at + (part.len() - part.trim_start().len());
            at += part.len() + 1;
            let span = place(start, name.len());
            match name.parse::<Selector>() {
                Ok(selector) => entries.push(Entry { selector: Some(selector), span, used: false }),
                Err(message) => found.push(
                    Diagnostic::new(Code::V802, span, message).label("no code or start of codes"),
                ),
            }
        }
        if entries.is_empty() {
            return None;
        }
    } else {
        entries.push(Entry { selector: None, span: place(0, length), used: false });
    }
    let file = verb == "ignore-file";
    Some(Suppression { span, file, scope: Scope::File, entries })
}

#[cfg(test)]
mod tests {
    use crate::check::{CheckOptions, check};

    fn left(source: &str) -> Vec<String> {
        let found = check(source, &CheckOptions::default());
        found.iter().map(|it| format!("{} {}", it.code, it.span.text(source))).collect()
    }

    const DIFFERS: &str = "vadd.u32.u32.u32.sat d, a, b;";

    #[test]
    fn comments_suppress_beside_and_below() {
        let v501 = "V501 vadd.u32.u32.u32.sat";
        assert_eq!(left(DIFFERS), [v501]);
        for text in [
            format!("{DIFFERS} // vptx: ignore[V501] known"),
            format!("{DIFFERS} /* vptx: ignore[V501] */"),
            format!("// vptx: ignore[V501] known\n{DIFFERS}"),
            format!("// vptx: ignore[V5]\n// vptx: ignore[V401]\n{DIFFERS}")
                .replace("u32.sat", "sat.u32")
                .replace("V5]", "V501]"),
            format!("\t//vptx:ignore[result-differs, V50]\r\n{DIFFERS}"),
            format!("ret;\n// vptx: ignore-file[V501]\nret;\n{DIFFERS}"),
            format!("// vptx: ignore\n{DIFFERS}"),
            "// vptx: ignore[V501]\nvadd.u32.u32.u32\n .sat d, a, b;".into(),
            "vadd.u32\n .u32.u32.sat\n d, a, b; // vptx: ignore[V501]".into(),
        ] {
            assert_eq!(left(&text), [""; 0], "{text}");
        }
        for text in [
            format!("{DIFFERS}\n{DIFFERS} // vptx: ignore[V501]"),
            format!("// vptx: ignore[V501]\n{DIFFERS}\n{DIFFERS}"),
        ] {
            assert_eq!(left(&text), [v501], "{text}");
        }
    }

    #[test]
    fn useless_and_wrong_comments_are_found() {
        assert_eq!(left("ret; // vptx: ignore[V501]"), ["V801 V501"]);
        assert_eq!(left("ret; // vptx: ignore"), ["V801 ignore"]);
        // Not asked for, so it cannot be told.
        assert_eq!(left("ret; // vptx: ignore[V601]"), [""; 0]);
        assert_eq!(left("ret; // vptx: ignore[V999]"), ["V802 V999"]);
        assert_eq!(left("ret; // vptx: ignroe[V501]"), ["V802 ignroe"]);
        assert_eq!(left("ret; // vptx: ignore[V501"), ["V802 ["]);
        assert_eq!(left("ret; // vptx: fmt off"), [""; 0]);
        assert_eq!(left("ret; // see vptx: ignore[V501]"), [""; 0]);
    }

    #[test]
    fn removing_a_useless_comment_leaves_the_rest() {
        for (text, expected) in [
            ("ret; // vptx: ignore[V501] why\nret;", "ret;\nret;"),
            ("ret;\n  // vptx: ignore[V501]\nret;\n", "ret;\nret;\n"),
            ("ret; /* vptx: ignore[V501] */ ret;", "ret; ret;"),
            (
                "vadd.u32.u32.u32.sat d, a, b; // vptx: ignore[V501, V401, V1] why",
                "vadd.u32.u32.u32.sat d, a, b; // vptx: ignore[V501] why",
            ),
        ] {
            let found = check(text, &CheckOptions::default());
            assert_eq!(found[0].fixes[0].apply(text), expected);
        }
    }
}
