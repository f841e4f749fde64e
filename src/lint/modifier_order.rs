//! V401: modifiers in another order than the form's.

use super::{Memo, Rule, Subject};
use crate::diagnostic::{Applicability, Code, Diagnostic, Edit};
use crate::isa::Modifier;
use crate::source::Span;

pub(super) const RULE: Rule = Rule { codes: &[Code::ModifierOrder], documented: true, find };

fn find(subject: &Subject<'_>, _: &mut Memo<'_>) -> Option<Diagnostic> {
    let Subject { source, raw, instruction, .. } = subject;
    let slots = instruction.form().slots;
    let documented = || slots.iter().filter_map(|slot| instruction.modifier(slot.role));
    // The usual case.
    if documented().map(Modifier::text).eq(raw.modifiers.iter().map(|span| span.text(source))) {
        return None;
    }
    let documented: Vec<Modifier> = documented().collect();
    // A repeated `.sat` is reported elsewhere.
    let mut seen = false;
    let written: Vec<Span> = raw
        .modifiers
        .iter()
        .copied()
        .filter(|span| span.text(source) != ".sat" || !std::mem::replace(&mut seen, true))
        .collect();
    let wrong: Vec<Edit> = written
        .iter()
        .zip(&documented)
        .filter(|(span, modifier)| span.text(source) != modifier.text())
        .map(|(span, modifier)| Edit::replace(*span, modifier.text()))
        .collect();
    if wrong.is_empty() {
        return None;
    }
    let text: String = documented.iter().map(|modifier| modifier.text()).collect();
    let message = "the modifiers are not in the documented order";
    let diagnostic =
        Diagnostic::new(Code::ModifierOrder, written.first()?.to(*written.last()?), message)
            .label("ptxas accepts this order, the manual does not")
            .help(format!("write `{text}`"))
            // Each token is replaced separately, so that the comments between them stay.
            .fix(Applicability::Safe, "put the modifiers in the documented order", wrong);
    Some(diagnostic)
}
