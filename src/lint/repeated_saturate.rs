//! V402: `.sat` more than once.

use super::{Memo, Rule, Subject};
use crate::diagnostic::{Applicability, Code, Diagnostic, Edit};
use crate::source::Span;

pub(super) const RULE: Rule = Rule { codes: &[Code::RepeatedSaturate], documented: true, find };

fn find(subject: &Subject<'_>, _: &mut Memo<'_>) -> Option<Diagnostic> {
    let all: Vec<Span> = subject
        .raw
        .modifiers
        .iter()
        .copied()
        .filter(|span| span.text(subject.source) == ".sat")
        .collect();
    let [first, second, ..] = all.as_slice() else {
        return None;
    };
    let diagnostic =
        Diagnostic::new(Code::RepeatedSaturate, *second, "`.sat` is written more than once")
            .label("no effect")
            .related(*first, "already here")
            .help("write `.sat` once")
            .fix(
                Applicability::Safe,
                "remove it",
                all[1..].iter().map(|span| Edit::remove(*span)).collect(),
            );
    Some(diagnostic)
}
