//! Comments that suppress findings.
//!
//! `// vptx: ignore[V501] reason` applies to the statements of its line. Alone on a line, it
//! applies to the statements that start on the next one. Inside a statement of PTX, it also applies
//! to that statement. `// vptx: ignore-file[V501] reason` applies to the whole file. The start of a
//! code stands for all codes with this start. Without brackets, all rules are meant.

mod comment;
mod place;

pub(crate) use comment::turns_format;

use crate::check::{CheckOptions, Dialect, Language};
use crate::diagnostic::{
    Applicability, Code, CustomRule, Diagnostic, Edit, RuleSelector, RuleSet, Severity,
};
use crate::embed;
use crate::hash::Map;
use crate::lint::documented_only;
use crate::source::{LineIndex, Span};
use crate::syntax::lexer;

/// The start of a comment for vptx.
pub(crate) const MARK: &str = "vptx:";

/// Whether a text may have comments for vptx.
pub(crate) fn may_be_marked(source: &str) -> bool {
    memchr::memmem::find(source.as_bytes(), MARK.as_bytes()).is_some()
}

/// Drops findings that comments suppress, and reports errors in the comments. The
/// findings are in the order of the text, before and after. A text without
/// [`MARK`] has no such comments.
pub(crate) fn suppress(source: &str, options: &CheckOptions, diagnostics: &mut Vec<Diagnostic>) {
    let mut suppressions = Suppressions::of(source, options);
    diagnostics.retain(|diagnostic| !suppressions.cover(diagnostic));
    let mut found = suppressions.complaints(source, options);
    found.retain(|diagnostic| options.rules.contains(diagnostic.code));
    if !found.is_empty() {
        diagnostics.append(&mut found);
        diagnostics.sort_by_key(|diagnostic| (diagnostic.span, diagnostic.code));
    }
}

/// The findings that no comment suppresses. Use this for the findings of custom rules, which the
/// options name: [`check`](super::check) already leaves out suppressed findings of the rules of
/// vptx.
pub fn unsuppressed(
    source: &str,
    options: &CheckOptions,
    mut found: Vec<Diagnostic>,
) -> Vec<Diagnostic> {
    if may_be_marked(source) {
        let mut suppressions = Suppressions::of(source, options);
        found.retain(|found| !suppressions.cover(found));
    }
    found
}

/// Splits findings into those that no comment suppresses, and the others.
pub(crate) fn split(
    source: &str,
    language: Language,
    diagnostics: Vec<Diagnostic>,
) -> (Vec<Diagnostic>, Vec<Diagnostic>) {
    let mut suppressions = Suppressions::read(source, language, &[]);
    diagnostics.into_iter().partition(|diagnostic| !suppressions.cover(diagnostic))
}

/// For each suppression of PTX that applies to a line: the text from the line where it starts
/// to the line that it applies to.
pub(crate) fn covered_lines(source: &str) -> Vec<Span> {
    let Suppressions { list, index, .. } = Suppressions::read(source, Language::Ptx, &[]);
    let lines = |suppression: &Suppression| {
        let first = index.line(suppression.span.start);
        let last = index.line(suppression.span.end.saturating_sub(1));
        let line = match suppression.scope {
            SuppressionScope::File | SuppressionScope::Inner(_) => return None,
            SuppressionScope::Beside(line) | SuppressionScope::Below(line) => line.max(last),
        };
        Some(index.line_span(first).to(index.line_span(line)))
    };
    list.iter().filter_map(lines).collect()
}

/// The place where a suppression applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum SuppressionScope {
    File,
    /// A CUDA source in a string.
    Inner(Span),
    /// The line beside the comment, counted from 0.
    Beside(usize),
    /// The line below the comment, counted from 0.
    Below(usize),
}

pub(super) struct Suppression {
    /// The comment.
    pub(super) span: Span,
    /// The span of its verb.
    verb: Span,
    /// Whether the verb is `ignore-file`.
    file: bool,
    pub(super) scope: SuppressionScope,
    /// The codes, each with its place and whether it suppressed anything. An entry without a
    /// selector stands for all rules.
    entries: Vec<Entry>,
    /// Whether the list of codes has the documented form.
    is_exact: bool,
    /// The offset where another code can be added, if it has a list of codes.
    pub(super) end: Option<u32>,
}

struct Entry {
    selector: Option<RuleSelector>,
    span: Span,
    used: bool,
}

impl Entry {
    fn matches(&self, code: Code) -> bool {
        self.selector.as_ref().is_none_or(|selector| selector.matches(code))
    }
}

/// The key of suppressions that are searched together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum PlaceKey {
    /// All suppressions of one scope.
    Of(SuppressionScope),
    /// All suppressions inside the statement that starts here.
    Inside(u32),
}

/// Suppressions of one place. They are searched once for each code, however many findings there
/// are.
struct SuppressionGroup {
    members: Vec<usize>,
    asked: RuleSet,
    covered: RuleSet,
    /// The custom rules that were asked for, and whether they are covered.
    custom: Vec<(Code, bool)>,
    /// Whether they apply to an error.
    is_at_error: bool,
}

impl SuppressionGroup {
    fn of(members: Vec<usize>) -> SuppressionGroup {
        let (asked, covered) = (RuleSet::NONE, RuleSet::NONE);
        SuppressionGroup { members, asked, covered, custom: Vec::new(), is_at_error: false }
    }
}

impl SuppressionGroup {
    /// Whether a rule is covered, if that was asked for before.
    fn known(&self, code: Code) -> Option<bool> {
        if let Code::Custom(_) = code {
            return self.custom.iter().find(|it| it.0 == code).map(|it| it.1);
        }
        self.asked.contains(code).then(|| self.covered.contains(code))
    }

    fn keep(&mut self, code: Code, covered: bool) {
        if let Code::Custom(_) = code {
            self.custom.push((code, covered));
            return;
        }
        self.asked = self.asked.with(code);
        if covered {
            self.covered = self.covered.with(code);
        }
    }
}

/// The suppressions of a text.
pub(crate) struct Suppressions {
    /// In the order of the text.
    pub(super) list: Vec<Suppression>,
    pub(super) index: LineIndex,
    language: Language,
    /// The findings on malformed suppressions.
    wrong: Vec<Diagnostic>,
    groups: Map<PlaceKey, SuppressionGroup>,
    /// Lines that have a suppression beside them, in order.
    beside: Vec<usize>,
    /// CUDA sources in strings that have a suppression for all of them, in order.
    inner: Vec<Span>,
    /// Whether the text has an error that hides findings of the rules on names and flow.
    hides_flow: bool,
    /// How many comparisons were made.
    steps: usize,
}

impl Suppressions {
    pub(crate) fn of(source: &str, options: &CheckOptions) -> Suppressions {
        Suppressions::read(source, options.language, &options.custom_rules)
    }

    pub(crate) fn read(
        source: &str,
        language: Language,
        custom: &[&'static CustomRule],
    ) -> Suppressions {
        let comments = comments(source, language);
        let index = LineIndex::new(source);
        let scopes = place::scopes(source, language, &comments, &index);
        let (mut list, mut wrong) = (Vec::new(), Vec::new());
        let mut inner_sources = None;
        for (span, scope) in comments.into_iter().zip(scopes) {
            if let Some(suppression) = read(source, span, custom, &mut wrong) {
                let mut inner = || {
                    let host = language.host()?;
                    let all =
                        inner_sources.get_or_insert_with(|| embed::inner_sources(source, host));
                    span.around(all)
                };
                let scope = if suppression.file {
                    inner().map_or(SuppressionScope::File, SuppressionScope::Inner)
                } else {
                    scope
                };
                list.push(Suppression { scope, ..suppression });
            }
        }
        let mut groups: Map<PlaceKey, SuppressionGroup> = Map::default();
        let (mut beside, mut inner) = (Vec::new(), Vec::new());
        for (at, suppression) in list.iter().enumerate() {
            groups
                .entry(PlaceKey::Of(suppression.scope))
                .or_insert_with(|| SuppressionGroup::of(Vec::new()))
                .members
                .push(at);
            match suppression.scope {
                SuppressionScope::Beside(line) => beside.push(line),
                SuppressionScope::Inner(source) => inner.push(source),
                _ => {}
            }
        }
        beside.dedup();
        inner.dedup();
        let hides_flow = false;
        Suppressions { list, index, language, wrong, groups, beside, inner, hides_flow, steps: 0 }
    }

    /// Whether a finding is suppressed. Marks the suppressions as used.
    pub(crate) fn cover(&mut self, diagnostic: &Diagnostic) -> bool {
        if self.list.is_empty() {
            return false;
        }
        let lines = |span: Span| {
            let last = span.end.saturating_sub(1).max(span.start);
            (self.index.line(span.start), self.index.line(last))
        };
        let own = lines(diagnostic.span);
        let around = diagnostic.statement.map_or(own, lines);
        let mut places = vec![
            PlaceKey::Of(SuppressionScope::File),
            PlaceKey::Of(SuppressionScope::Beside(around.0)),
            PlaceKey::Of(SuppressionScope::Below(around.0)),
        ];
        let inner = diagnostic.span.around(&self.inner);
        places.extend(inner.map(|inner| PlaceKey::Of(SuppressionScope::Inner(inner))));
        if around.1 != around.0 {
            places.push(PlaceKey::Of(SuppressionScope::Beside(around.1)));
        }
        match diagnostic.statement {
            // A formatter moves comments inside the statement to other lines.
            Some(statement) if self.language == Language::Ptx => {
                places.extend(self.inside(statement));
            }
            // An `asm` has many instructions, so the lines of the finding itself count, too.
            _ => {
                places.push(PlaceKey::Of(SuppressionScope::Below(own.0)));
                let from = self.beside.partition_point(|line| *line < own.0);
                let lines = self.beside[from..].iter().take_while(|line| **line <= own.1);
                places.extend(lines.map(|line| PlaceKey::Of(SuppressionScope::Beside(*line))));
            }
        }
        let is_malformed = matches!(diagnostic.code, Code::MalformedStatement | Code::UnknownWord);
        self.hides_flow |= is_malformed || diagnostic.is_syntax_error();
        let is_of_names = diagnostic.code.text().starts_with("V9") && !is_malformed;
        let is_error = diagnostic.severity == Severity::Error && !is_of_names;
        // Every suppression that matches must be marked as used.
        let mut covered = false;
        for place in places {
            if is_error && let Some(group) = self.groups.get_mut(&place) {
                group.is_at_error = true;
            }
            covered |= self.ask(place, diagnostic.code);
        }
        covered
    }

    /// The place of the comments inside a statement, if there are any.
    fn inside(&mut self, statement: Span) -> Option<PlaceKey> {
        let place = PlaceKey::Inside(statement.start);
        if !self.groups.contains_key(&place) {
            let start = self.list.partition_point(|it| it.span.start < statement.start);
            let end = self.list.partition_point(|it| it.span.start < statement.end);
            let members: Vec<usize> = (start..end).filter(|at| !self.list[*at].file).collect();
            if members.is_empty() {
                return None;
            }
            self.groups.insert(place, SuppressionGroup::of(members));
        }
        Some(place)
    }

    fn ask(&mut self, place: PlaceKey, code: Code) -> bool {
        self.steps += 1;
        let Some(group) = self.groups.get_mut(&place) else {
            return false;
        };
        if let Some(covered) = group.known(code) {
            return covered;
        }
        let mut covered = false;
        for &member in &group.members {
            for entry in &mut self.list[member].entries {
                self.steps += 1;
                if entry.matches(code) {
                    entry.used = true;
                    covered = true;
                }
            }
        }
        group.keep(code, covered);
        covered
    }

    /// The findings on the suppressions. All other findings must have gone through
    /// [`cover`](Self::cover) before.
    pub(crate) fn complaints(&mut self, source: &str, options: &CheckOptions) -> Vec<Diagnostic> {
        let mut found = std::mem::take(&mut self.wrong);
        // Other rules do not judge what has errors.
        let mut is_at_error = vec![false; self.list.len()];
        for group in self.groups.values().filter(|it| it.is_at_error) {
            group.members.iter().for_each(|member| is_at_error[*member] = true);
        }
        for (suppression, is_at_error) in self.list.iter().zip(is_at_error) {
            found.extend(suppression.blanket());
            if !is_at_error {
                found.extend(suppression.unused(source, options, self.hides_flow));
            }
        }
        found
    }
}

/// The comments of a text, in order.
pub(super) fn comments(source: &str, language: Language) -> Vec<Span> {
    let mut comments = match language.host() {
        None => lexer::comments(source),
        Some(host) => embed::comments(source, host),
    };
    // A line break may have two bytes.
    for comment in &mut comments {
        comment.end -= u32::from(comment.text(source).ends_with('\r'));
    }
    comments
}

/// Reads a comment as a suppression, and adds findings on its form.
fn read(
    source: &str,
    span: Span,
    custom: &[&'static CustomRule],
    wrong: &mut Vec<Diagnostic>,
) -> Option<Suppression> {
    let comment = span.text(source);
    let (open, close) = match comment.as_bytes() {
        [b'/', b'*', ..] => (2, "*/"),
        [b'#', b'=', ..] => (2, "=#"),
        [b'#', ..] => (1, ""),
        _ => (2, ""),
    };
    let text = comment[open..].trim_start_matches([' ', '\t']).strip_prefix(MARK)?;
    let offset = span.end as usize - text.len();
    let text = text.strip_suffix(close).unwrap_or(text);
    comment::read(text, offset, span, custom, wrong)
}

impl Suppression {
    /// The finding on a comment that names no rules.
    fn blanket(&self) -> Option<Diagnostic> {
        let named = |entry: &Entry| entry.selector.as_ref().is_some_and(|it| !it.is_all());
        let all = self.entries.iter().find(|entry| !named(entry))?;
        let verb = if self.file { "ignore-file" } else { "ignore" };
        let span = if all.selector.is_some() { all.span } else { self.verb };
        let message = "this suppresses every rule, even those you did not think of";
        Some(
            Diagnostic::new(Code::BlanketSuppression, span, message)
                .label("names no rule")
                .help(format!("name the rules: `vptx: {verb}[V501] reason`")),
        )
    }

    /// The finding on a comment with codes that suppress nothing. `hides_flow` tells whether
    /// the text has an error that hides findings of the rules on names and flow.
    fn unused(&self, source: &str, options: &CheckOptions, hides_flow: bool) -> Option<Diagnostic> {
        // A rule that is off does not show whether its suppression is needed.
        let asked = |code: &Code| {
            options.rules.contains(*code)
                && (options.dialect == Dialect::Documented || !documented_only(*code))
        };
        // Findings of V3 and V6 depend on the target, which may differ in another run. Syntax
        // errors hide findings of V9.
        let gated = |code: Code| match &code.text()[..2] {
            "V3" | "V6" => true,
            "V9" => hides_flow,
            _ => false,
        };
        // Custom rules run elsewhere, so their suppressions may be needed.
        let is_custom = |entry: &Entry| {
            options.custom_rules.iter().any(|rule| entry.matches(Code::Custom(rule)))
        };
        let idle = |entry: &&Entry| {
            let named: Vec<Code> =
                Code::ALL.iter().copied().filter(|code| entry.matches(*code)).collect();
            // If an entry selects several rules, those that are off by default do not count.
            let counts = |code: &Code| !gated(*code) && (named.len() == 1 || code.default());
            let judges: Vec<Code> = named.iter().copied().filter(counts).collect();
            !entry.used && !judges.is_empty() && judges.iter().all(asked) && !is_custom(entry)
        };
        let unused: Vec<&Entry> = self.entries.iter().filter(idle).collect();
        // A comment that is not in exact form has a finding on its form first.
        let first = unused.first().filter(|_| self.is_exact)?;
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
        let mut diagnostic = Diagnostic::new(Code::UnusedSuppression, first.span, message)
            .label("suppresses nothing");
        for other in &unused[1..] {
            diagnostic = diagnostic.related(other.span, "neither does this");
        }
        Some(diagnostic.fix(Applicability::Safe, "remove it", edits))
    }

    /// The codes that suppress something, as a list.
    fn rest(&self, idle: impl Fn(&&Entry) -> bool) -> String {
        let needed = self.entries.iter().filter(|entry| !idle(entry));
        let names: Vec<String> =
            needed.filter_map(|entry| entry.selector.as_ref().map(ToString::to_string)).collect();
        names.join(", ")
    }

    /// The comment with the white space before it, or its whole line if the line has
    /// nothing else.
    fn whole(&self, source: &str) -> Span {
        let before = source[..self.span.start as usize].trim_end_matches([' ', '\t']);
        let after = &source[self.span.end as usize..];
        let alone = before.is_empty() || before.ends_with('\n');
        let (start, rest) = match after.strip_prefix("\r\n").or_else(|| after.strip_prefix('\n')) {
            Some(rest) if alone => (before.len(), rest),
            // The indentation stays for the text that follows.
            None if alone => (self.span.start as usize, after.trim_start_matches([' ', '\t'])),
            _ => (before.len(), after),
        };
        Span::new(start as u32, (source.len() - rest.len()) as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The number of comparisons that the suppressions of a text take, whose statements all lack a
    /// type.
    fn steps(source: &str) -> usize {
        let found = source.match_indices("vadd.u32.u32").map(|(at, opcode)| {
            let of_len = |len: usize| Span::new(at as u32, (at + len) as u32);
            let end = source[at..].find(';').expect("whole statements");
            Diagnostic::new(Code::MissingType, of_len(opcode.len()), "").statement(of_len(end + 1))
        });
        let mut suppressions = Suppressions::read(source, Language::Ptx, &[]);
        assert!(!suppressions.list.is_empty());
        for diagnostic in found {
            suppressions.cover(&diagnostic);
        }
        suppressions.steps
    }

    #[test]
    fn many_suppressions_of_many_findings_take_linear_time() {
        let wrong = "vadd.u32.u32 d, a, b;";
        let makers: [&dyn Fn(usize) -> String; 5] = [
            // A comment beside each statement; all above one line; all on one line; all in one
            // statement; all for the file.
            &|n| format!("{wrong} // vptx: ignore[V403]\n").repeat(n),
            &|n| "// vptx: ignore[V403]\n".repeat(n) + &wrong.repeat(n),
            &|n| format!("{wrong} /* vptx: ignore[V403, V1] */").repeat(n),
            &|n| format!("vadd.u32.u32 d,{} a, b;", "// vptx: ignore[V403]\n".repeat(n)),
            &|n| "// vptx: ignore-file[V403]\n".repeat(n) + &format!("{wrong}\n").repeat(n),
        ];
        for (at, make) in makers.iter().enumerate() {
            let counts = [500, 1000, 2000].map(|n| steps(&make(n)));
            // Each suppression is compared at least once.
            assert!(counts[0] >= 500, "{at}: {counts:?}");
            assert!(counts[1] <= 2 * counts[0] + 20, "{at}: {counts:?}");
            assert!(counts[2] <= 2 * counts[1] + 20, "{at}: {counts:?}");
        }
    }

    /// The result of [`place::scopes`], found line by line.
    fn plainly(source: &str, comments: &[Span], comment: Span) -> SuppressionScope {
        let index = LineIndex::new(source);
        let mut code = source.to_string();
        for comment in comments {
            let blank: String =
                comment.text(source).chars().map(|c| if c == '\n' { c } else { ' ' }).collect();
            code.replace_range(comment.range(), &blank);
        }
        let first = index.line(comment.start);
        let last = index.line(comment.end - 1);
        let start = index.line_span(first).start as usize;
        if !code[start..comment.start as usize].trim().is_empty() {
            return SuppressionScope::Beside(first);
        }
        let end = index.line_span(last).end as usize;
        if !code[comment.end as usize..end].trim().is_empty() {
            return SuppressionScope::Beside(last);
        }
        let mut below = last + 1;
        // A line that has a comment and nothing else.
        while below < index.lines()
            && index.line_span(below).text(&code).trim().is_empty()
            && !index.line_span(below).text(source).trim().is_empty()
        {
            below += 1;
        }
        SuppressionScope::Below(below)
    }

    #[test]
    fn places_are_those_of_a_plain_search() {
        let mut numbers = crate::testing::Numbers(9);
        let pieces =
            ["// a\n", "/* b */", "/* c\n */", "\n", " ", "ret;", "\r\n", "\n\n", "/* d\ne\nf */"];
        for _ in 0..20_000 {
            let count = numbers.below(9);
            let text: String = (0..count).map(|_| numbers.pick(&pieces)).collect();
            let comments = comments(&text, Language::Ptx);
            let scopes = place::scopes(&text, Language::Ptx, &comments, &LineIndex::new(&text));
            for (comment, scope) in comments.iter().zip(scopes) {
                assert_eq!(scope, plainly(&text, &comments, *comment), "{text:?} {comment:?}");
            }
        }
    }
}
