//! V407: a selector that ptxas accepts and ignores.

use super::{Memo, Rule, Subject};
use crate::check::is_ignored;
use crate::diagnostic::{Applicability, Code, Diagnostic, Edit};
use crate::isa::Sources;
use crate::source::Span;

pub(super) const RULE: Rule = Rule { codes: &[Code::IgnoredSelector], documented: true, find };

fn find(subject: &Subject<'_>, _: &mut Memo<'_>) -> Option<Diagnostic> {
    if subject.instruction.form().sources != Sources::Scalar {
        return None;
    }
    let operands = &subject.raw.operands;
    let ends = [operands.first(), operands.get(3)].into_iter().flatten();
    let ignored: Vec<Span> = ends
        .filter_map(|operand| operand.selector)
        .filter(|span| is_ignored(span.text(subject.source)))
        .collect();
    let (first, others) = ignored.split_first()?;
    let text = first.text(subject.source);
    let mut diagnostic =
        Diagnostic::new(Code::IgnoredSelector, *first, format!("`{text}` selects nothing here"))
            .label("ptxas accepts and ignores it")
            .help(
                "the whole word is used; scalar selectors are `.b0` `.b1` `.b2` `.b3` `.h0` `.h1`",
            );
    for other in others {
        diagnostic = diagnostic.related(*other, "and here");
    }
    let title = if others.is_empty() { "remove it" } else { "remove both" };
    let edits = ignored.iter().map(|span| Edit::remove(*span)).collect();
    Some(diagnostic.fix(Applicability::Safe, title, edits))
}
