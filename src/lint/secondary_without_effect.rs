//! V506: secondary operations without an effect.

use super::facts::Ineffective;
use super::{Memo, Rule, Subject};
use crate::diagnostic::{Applicability, Code, Diagnostic, Edit};
use crate::isa::Role;
use crate::source::Span;

pub(super) const RULE: Rule =
    Rule { codes: &[Code::SecondaryWithoutEffect], documented: false, find };

fn find(subject: &Subject<'_>, memo: &mut Memo<'_>) -> Option<Diagnostic> {
    let secondary = memo.facts(subject.instruction)?.secondary()?;
    let modifier = subject.instruction.modifier(Role::Secondary)?;
    let span = subject.modifier(modifier.text())?;
    let [_, _, b, c] = subject.raw.operands.as_slice() else {
        return None;
    };
    let constant = c.value.text(subject.source);
    let diagnostic = match secondary {
        Ineffective::Passes => Diagnostic::new(
            Code::SecondaryWithoutEffect,
            span,
            format!("`{modifier}` with {constant} changes no result here"),
        )
        .label("has no effect")
        .related(c.span, "this constant")
        .fix(
            Applicability::Safe,
            "remove it and the constant",
            vec![Edit::remove(span), Edit::remove(Span::new(b.span.end, c.span.end))],
        ),
        Ineffective::AlwaysThird => Diagnostic::new(
            Code::SecondaryWithoutEffect,
            span,
            format!("`{modifier}` with {constant} always gives {constant} here"),
        )
        .label("the sources have no effect")
        .related(c.span, "this constant")
        .help("every result of these sources is on one side of the constant"),
    };
    Some(diagnostic)
}
