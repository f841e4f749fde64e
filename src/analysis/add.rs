//! Writes suppressions for findings.

use std::collections::{BTreeMap, BTreeSet};

use super::suppress::{SuppressionScope, Suppressions, comments};
use super::{Code, Fixed};
use crate::analysis::check_counted;
use crate::check::{CheckOptions, Language};
use crate::diagnostic::{Diagnostic, Edit, applied};
use crate::embed::{inner_sources, splice};
use crate::source::{Span, line_end};

/// The places for a comment, the first choice first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// At the end of the line, or into a comment that is already there.
    Beside,
    /// On a line of its own above.
    Above,
    /// On a line of its own above the whole statement: a string literal may span lines.
    AboveStatement,
    /// Before the statement on its line.
    Before,
}

const WAYS: [Way; 4] = [Way::Beside, Way::Above, Way::AboveStatement, Way::Before];

/// Writes comments that suppress all findings about statements and targets.
///
/// A comment is written at the end of the line, or above it if the line has no room. If such a
/// comment is already there, the codes are added to it. A notebook stays as it is, and so does a
/// module in a string of several lines.
pub fn add_ignores(source: &str, options: &CheckOptions) -> Fixed {
    add_new_ignores(source, options, |_, _| Vec::new())
}

/// Like [`add_ignores`], but leaves out findings that are `known` in a text. On a line that gets a
/// comment, known findings are suppressed, too: the changed line no longer identifies them.
pub(crate) fn add_new_ignores(
    source: &str,
    options: &CheckOptions,
    known: impl Fn(&str, &[Diagnostic]) -> Vec<bool>,
) -> Fixed {
    let mut done = Fixed::unmade(source, options);
    // JSON has no comments.
    if options.language == Language::Notebook {
        return done;
    }
    for way in WAYS {
        let known = known(&done.text, &done.left);
        let writing = Writing::new(&done.text, options);
        // A comment stands on the last line, by which a baseline would know a finding there.
        let lines = |found: &Diagnostic| {
            [writing.lines(found.span).0, writing.lines(own(found, options.language)).1]
        };
        let is_known = |at: usize| known.get(at) == Some(&true);
        let new: BTreeSet<usize> = (0..done.left.len())
            .filter(|at| !is_known(*at) && may_be_ignored(&done.left[*at]))
            .flat_map(|at| lines(&done.left[at]))
            .collect();
        let found: Vec<&Diagnostic> =
            done.left.iter().filter(|found| new.contains(&lines(found)[0])).collect();
        if found.is_empty() {
            break;
        }
        let edits = writing.edits(way, &found);
        let text = applied(&done.text, &edits);
        let (statements, left) = check_counted(&text, options);
        if left.len() >= done.left.len() {
            continue;
        }
        for &code in Code::ALL {
            let count = |of: &[Diagnostic]| of.iter().filter(|found| found.code == code).count();
            let gone = count(&done.left).saturating_sub(count(&left));
            done.codes.extend(std::iter::repeat_n(code, gone));
        }
        done.rounds.push(edits);
        (done.text, done.left, done.statements) = (text, left, statements);
    }
    done
}

/// Whether a comment is written for a finding: it is about a statement, or about the target. An
/// error in the structure of a text hides others, and is for a person to judge.
fn may_be_ignored(found: &Diagnostic) -> bool {
    found.statement.is_some() || found.code.text().starts_with("V3")
}

/// What the comment for a finding stands beside. An `asm` has many instructions, so there it is the
/// finding itself.
fn own(found: &Diagnostic, language: Language) -> Span {
    found.statement.filter(|_| language == Language::Ptx).unwrap_or(found.span)
}

/// The edits that suppress one finding of a text, with a comment at the first place where it works.
pub(crate) fn ignoring(
    source: &str,
    options: &CheckOptions,
    found: &Diagnostic,
) -> Option<Vec<Edit>> {
    // JSON has no comments.
    if !may_be_ignored(found) || options.language == Language::Notebook {
        return None;
    }
    let count = |text: &str| check_counted(text, options).1.len();
    let (before, writing) = (count(source), Writing::new(source, options));
    let mut choices = WAYS.into_iter().map(|way| writing.edits(way, &[found]));
    choices.find(|edits| count(&applied(source, edits)) < before)
}

/// The text to write at an offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Insertion {
    /// More codes for a comment that already suppresses some.
    More,
    /// `// …` at the end of a line.
    Line,
    /// `/* … */` at the end of a line that is joined to the next.
    Block,
    /// `// …` on a line of its own.
    Above,
    /// `/* … */ \` on a line of its own.
    BlockAbove,
    /// `/* … */` before a statement.
    Before,
}

struct Writing<'s> {
    source: &'s str,
    language: Language,
    /// The places of CUDA sources inside string literals.
    inner: Vec<Span>,
    comments: Vec<Span>,
    suppressions: Suppressions,
    /// Where more codes can go into a comment. The key says whether the comment stands above the
    /// line that it is about, and gives that line.
    lists: BTreeMap<(bool, usize), u32>,
}

impl<'s> Writing<'s> {
    fn new(source: &'s str, options: &CheckOptions) -> Writing<'s> {
        let language = options.language;
        let suppressions = Suppressions::of(source, options);
        let place = |scope: SuppressionScope| match scope {
            SuppressionScope::Beside(line) => Some((false, line)),
            SuppressionScope::Below(line) => Some((true, line)),
            SuppressionScope::File | SuppressionScope::Inner(_) => None,
        };
        let lists = suppressions.list.iter().filter_map(|it| Some((place(it.scope)?, it.end?)));
        Writing {
            source,
            language,
            inner: language.host().map_or_else(Vec::new, |host| inner_sources(source, host)),
            comments: comments(source, language),
            lists: lists.collect(),
            suppressions,
        }
    }

    fn lines(&self, span: Span) -> (usize, usize) {
        let last = span.end.saturating_sub(1).max(span.start);
        (self.suppressions.index.line(span.start), self.suppressions.index.line(last))
    }

    /// The edits that suppress findings with comments at one kind of place. They leave out findings
    /// for which this is impossible.
    fn edits(&self, way: Way, found: &[&Diagnostic]) -> Vec<Edit> {
        let mut wanted: BTreeMap<(u32, Insertion), BTreeSet<Code>> = BTreeMap::new();
        for diagnostic in found {
            if !may_be_ignored(diagnostic) {
                continue;
            }
            let statement = diagnostic.statement.unwrap_or(diagnostic.span);
            let own = own(diagnostic, self.language);
            if let Some(place) = self.place(way, own, statement) {
                wanted.entry(place).or_default().insert(diagnostic.code);
            }
        }
        let edits: Vec<(Insertion, Edit)> =
            wanted.iter().map(|(&(at, kind), codes)| (kind, self.edit(at, kind, codes))).collect();
        self.effective(edits)
    }

    fn place(&self, way: Way, own: Span, statement: Span) -> Option<(u32, Insertion)> {
        let (first, last) = self.lines(own);
        let (start, _) = self.lines(statement);
        match way {
            Way::Beside => {
                let lists = [(false, last), (false, first), (true, first), (true, start)];
                if let Some(at) = lists.into_iter().find_map(|place| self.lists.get(&place)) {
                    return Some((*at, Insertion::More));
                }
                self.end(last)
            }
            Way::Above => self.above(first),
            Way::AboveStatement => self.above(start),
            Way::Before => Some((statement.start, Insertion::Before)),
        }
    }

    /// The text of a line, without its line break.
    fn line(&self, line: usize) -> (u32, &'s str) {
        let span = self.suppressions.index.line_span(line);
        (span.start, span.text(self.source).trim_end_matches(['\n', '\r']))
    }

    /// The end of a line. `None` if the line has a comment, or cannot have one.
    fn end(&self, line: usize) -> Option<(u32, Insertion)> {
        let (start, text) = self.line(line);
        let end = start + text.len() as u32;
        let next = self.comments.partition_point(|comment| comment.end <= start);
        if self.comments.get(next).is_some_and(|comment| comment.start < end) {
            return None;
        }
        let (words, kind) = match self.before_splice(text) {
            Some(words) if self.language == Language::Cuda => (words, Insertion::Block),
            // No comment may follow the backslash.
            Some(_) if matches!(self.language, Language::Python | Language::Mojo) => return None,
            _ => (text, Insertion::Line),
        };
        Some((start + words.trim_end().len() as u32, kind))
    }

    /// The text before the backslash at the end of a line.
    fn before_splice<'t>(&self, line: &'t str) -> Option<&'t str> {
        match self.language {
            Language::Cuda => splice(line.as_bytes()).map(|at| &line[..at]),
            _ => line.strip_suffix('\\'),
        }
    }

    /// The start of a line, and how to insert a comment above it. `None` if that is impossible.
    fn above(&self, line: usize) -> Option<(u32, Insertion)> {
        let joined = line > 0 && self.before_splice(self.line(line - 1).1).is_some();
        let kind = match self.language {
            Language::Cuda if joined => Insertion::BlockAbove,
            // No comment may follow the backslash.
            Language::Python | Language::Mojo if joined => return None,
            _ => Insertion::Above,
        };
        Some((self.line(line).0, kind))
    }

    /// The characters that start a comment at an offset.
    fn mark(&self, at: u32) -> &'static str {
        if Span::at(at).is_in(&self.inner) { "//" } else { self.language.comment_mark() }
    }

    fn edit(&self, at: u32, kind: Insertion, codes: &BTreeSet<Code>) -> Edit {
        let mark = self.mark(at);
        let names: Vec<&str> = codes.iter().map(|code| code.text()).collect();
        let names = names.join(", ");
        let words = format!("vptx: ignore[{names}]");
        let rest = &self.source[at as usize..];
        let indent = || &rest[..rest.len() - rest.trim_start_matches([' ', '\t']).len()];
        let end = line_end(self.source);
        let text = match kind {
            Insertion::More => format!(", {names}"),
            Insertion::Line => {
                // The edit also removes the blanks at the end of the line.
                let blanks = indent().len() as u32;
                return Edit::replace(Span::new(at, at + blanks), format!(" {mark} {words}"));
            }
            Insertion::Block => format!(" /* {words} */"),
            Insertion::Above => format!("{}{mark} {words}{end}", indent()),
            Insertion::BlockAbove => format!("{}/* {words} */ \\{end}", indent()),
            Insertion::Before => format!("/* {words} */ "),
        };
        Edit::insert(at, text)
    }

    /// The edits that write a separate comment. Edits inside a string or another comment are left
    /// out.
    fn effective(&self, edits: Vec<(Insertion, Edit)>) -> Vec<Edit> {
        let all: Vec<Edit> = edits.iter().map(|(_, edit)| edit.clone()).collect();
        let text = applied(self.source, &all);
        let written = comments(&text, self.language);
        let (mut added, mut removed) = (0, 0);
        let is_comment = |(kind, edit): (Insertion, Edit)| {
            let replaced = &edit.replacement;
            let blanks = replaced.len() - replaced.trim_start().len();
            let at = edit.span.start as usize + added - removed + blanks;
            added += replaced.len();
            removed += edit.span.len() as usize;
            let found = written.binary_search_by_key(&(at as u32), |comment| comment.start).is_ok();
            (found || kind == Insertion::More).then_some(edit)
        };
        edits.into_iter().filter_map(is_comment).collect()
    }
}
