//! Fixes and rewritings that a client can make.

use super::statements::{Near, target};
use crate::analysis::{fix, ignoring};
use crate::backend::ptx::{Outcome, RewriteOptions, rewrite};
use crate::check::{CheckOptions, Language};
use crate::diagnostic::{Applicability, Code, Diagnostic, Edit, RuleSet, Severity};
use crate::source::{Span, line_end, mark_len};

/// What an action is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// It fixes a finding. A fix is preferred if it is the only safe one.
    Fix { preferred: bool },
    /// It suppresses a finding.
    Ignore,
    /// It makes all safe fixes.
    FixAll,
    /// It replaces an instruction.
    Rewrite,
}

/// Edits with a title.
#[derive(Debug)]
pub(super) struct Action<'f> {
    pub(super) title: String,
    pub(super) purpose: Purpose,
    /// The finding that the action is about.
    pub(super) found: Option<&'f Diagnostic>,
    pub(super) edits: Vec<Edit>,
}

/// The fixes of a finding, and the comments that suppress it: with `ignores_here` one at its place,
/// which needs checks of the whole text, and with `ignores_in_file` one for its code in the file.
pub(super) fn of_finding<'f>(
    source: &str,
    options: &CheckOptions,
    found: &'f Diagnostic,
    ignores_here: bool,
    ignores_in_file: bool,
) -> Vec<Action<'f>> {
    let safe = found.fixes.iter().filter(|fix| fix.applicability == Applicability::Safe).count();
    let fixes = found.fixes.iter().filter(|fix| fix.applicability != Applicability::DisplayOnly);
    let fixes = fixes.map(|fix| {
        let preferred = fix.applicability == Applicability::Safe && safe == 1;
        let purpose = Purpose::Fix { preferred };
        Action {
            title: sentence(&fix.title),
            purpose,
            found: Some(found),
            edits: fix.edits.clone(),
        }
    });
    let (code, name) = (found.code, found.code.name());
    let ignore = |title: String, edits| Action {
        title,
        purpose: Purpose::Ignore,
        found: Some(found),
        edits,
    };
    let here = ignores_here
        .then(|| ignore_here(source, options, found))
        .flatten()
        .map(|edits| ignore(format!("Ignore {code} ({name}) here"), edits));
    let in_file = ignores_in_file
        .then(|| ignore_in_file(source, options.language, code))
        .flatten()
        .map(|edit| ignore(format!("Ignore {code} ({name}) in this file"), vec![edit]));
    fixes.chain(here).chain(in_file).collect()
}

/// The text with a capital at its start.
fn sentence(text: &str) -> String {
    let mut characters = text.chars();
    let first = characters.next().map(|c| c.to_ascii_uppercase());
    first.into_iter().chain(characters).collect()
}

/// The edits that write a comment at the statement of a finding.
fn ignore_here(source: &str, options: &CheckOptions, found: &Diagnostic) -> Option<Vec<Edit>> {
    let only = [found.code.text().parse().ok()?];
    let rules = RuleSet::default().choose(Some(&only), &[], &[]);
    ignoring(source, &options.clone().with_rules(rules), found)
}

/// The edit that writes a comment at the start of the file. `None` for errors, which a file should
/// not hide, for findings on suppressions, and in notebooks, which have their code in cells.
fn ignore_in_file(source: &str, language: Language, code: Code) -> Option<Edit> {
    let is_on_comment = code.text().starts_with("V8");
    if code.severity() == Severity::Error || is_on_comment || language == Language::Notebook {
        return None;
    }
    let mark = language.comment_mark();
    let mut start = mark_len(source.as_bytes());
    // The first two lines of a script may name its interpreter and its encoding.
    let stays = |line: &str| {
        let is_encoding = mark == "#" && line.starts_with('#') && line.contains("coding");
        line.starts_with("#!") && !line.starts_with("#![") || is_encoding
    };
    let lines: Vec<&str> = source[start..].split_inclusive('\n').take(2).collect();
    let kept = lines.iter().rposition(|line| stays(line)).map_or(0, |last| last + 1);
    start += lines[..kept].iter().map(|line| line.len()).sum::<usize>();
    let line = format!("{mark} vptx: ignore-file[{code}]{}", line_end(source));
    Some(Edit::replace(Span::at(start as u32), line))
}

/// All safe fixes, if there are any.
pub(super) fn fix_all(source: &str, options: &CheckOptions) -> Option<Action<'static>> {
    let fixed = fix(source, options, Applicability::Safe);
    let edits = match &fixed.rounds[..] {
        [] => return None,
        [only] => only.clone(),
        _ => vec![difference(source, &fixed.text)],
    };
    let title = "Fix all with safe fixes".into();
    Some(Action { title, purpose: Purpose::FixAll, found: None, edits })
}

/// The edit that turns one text into another.
fn difference(old: &str, new: &str) -> Edit {
    let same = |pairs: &mut dyn Iterator<Item = (char, char)>| {
        pairs.take_while(|(one, other)| one == other).map(|(one, _)| one.len_utf8()).sum::<usize>()
    };
    let start = same(&mut old.chars().zip(new.chars()));
    let end = same(&mut old[start..].chars().rev().zip(new[start..].chars().rev()));
    let span = Span::new(start as u32, (old.len() - end) as u32);
    Edit::replace(span, &new[start..new.len() - end])
}

/// The action that rewrites the instruction at an offset of PTX as ordinary PTX.
pub(super) fn rewriting(
    source: &str,
    options: &CheckOptions,
    offset: u32,
) -> Option<Action<'static>> {
    let Near { start, mut module } = Near::read(source, Span::at(offset));
    let own = offset - start;
    module.statements.retain(|statement| statement.span.touches(own));
    let target = target(options, module.target());
    let rewriting =
        RewriteOptions::default().with_target(Some(target)).with_all(true).with_regions(false);
    let rewritten = rewrite(&module, &rewriting).ok()?;
    // Between two instructions, the second one is meant.
    let change = rewritten.changes.iter().rfind(|change| change.span.touches(own))?;
    let Outcome::Rewritten(_) = change.outcome else { return None };
    let edit = rewritten.edits().iter().find(|edit| edit.span == change.span)?.clone();
    let costs = change.cost.map_or_else(String::new, |cost| {
        format!(" ({} → {} machine instructions on {target})", cost.ptxas, cost.rewritten)
    });
    let title = format!("Rewrite as ordinary PTX{costs}");
    let span = Span::new(edit.span.start + start, edit.span.end + start);
    let edits = vec![Edit { span, ..edit }];
    Some(Action { title, purpose: Purpose::Rewrite, found: None, edits })
}
