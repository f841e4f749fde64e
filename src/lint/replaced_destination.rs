//! V509: a destination that is also a source, and loses the bits that are not written.

use super::{Memo, Rule, Subject};
use crate::diagnostic::{Code, Diagnostic};
use crate::isa::Role;
use crate::video::Tail;

pub(super) const RULE: Rule = Rule { codes: &[Code::ReplacedDestination], documented: false, find };

fn find(subject: &Subject<'_>, _: &mut Memo<'_>) -> Option<Diagnostic> {
    let instruction = subject.instruction;
    let partial = match instruction.simd() {
        Some(operands) => !operands.lanes.mask().is_full(),
        None => matches!(instruction.tail(), Some(Tail::Merge { .. })),
    };
    // With `.add` the mask only selects the lanes to add.
    let accumulates = instruction.modifier(Role::Secondary).is_some();
    let d = instruction.destination();
    let [a, b, c] = instruction.sources();
    let (again, c) = ([a, b].contains(&Some(d)), c?);
    if !partial || accumulates || !again || c == d {
        return None;
    }
    let [destination, .., third] = subject.raw.operands.as_slice() else {
        return None;
    };
    let selector = destination.selector?;
    let text = selector.text(subject.source);
    let message = format!("outside `{text}`, `{d}` does not keep its bits: they come from `{c}`");
    let diagnostic = Diagnostic::new(Code::ReplacedDestination, selector, message)
        .label("only these are computed")
        .related(third.span, "the others come from here")
        .help(format!("write `{d}` as third source to keep them"))
        .offer(third.span, d.name());
    Some(diagnostic)
}
