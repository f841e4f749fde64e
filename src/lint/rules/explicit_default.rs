//! V408: selectors and masks that say what goes without saying.

use super::{Memo, Rule, Subject};
use crate::ast::{Operation, SimdOperands};
use crate::diagnostic::{Applicability, Diagnostic, Edit};
use crate::isa::{LaneWidth, Mask, Selector};
use crate::lint::Code;
use crate::source::Span;

pub(super) const RULE: Rule = Rule { codes: &[Code::V408], documented: false, find };

fn find(subject: &Subject<'_>, _: &mut Memo<'_>) -> Option<Diagnostic> {
    let defaults = match &subject.instruction.operation {
        Operation::Arithmetic2(it) => of(&it.operands),
        Operation::Set2(it) => of(&it.operands),
        Operation::Arithmetic4(it) => of(&it.operands),
        Operation::Set4(it) => of(&it.operands),
        _ => return None,
    };
    let written = subject.raw.operands.iter().zip(defaults);
    let written: Vec<Span> =
        written.filter_map(|(operand, default)| operand.selector.filter(|_| default)).collect();
    let [first, others @ ..] = written.as_slice() else {
        return None;
    };
    let text = first.text(subject.source);
    let mut diagnostic =
        Diagnostic::new(Code::V408, *first, format!("`{text}` is what holds without it"))
            .label("the default");
    for other in others {
        diagnostic = diagnostic.related(*other, "and here");
    }
    let edits = written.iter().map(|span| Edit::remove(*span)).collect();
    Some(diagnostic.fix(Applicability::Safe, "leave defaults out", edits))
}

/// Whether `d`, `a` and `b` have what they would have by default.
fn of<L: LaneWidth>(operands: &SimdOperands<L>) -> [bool; 3] {
    [
        operands.mask == Mask::FULL,
        operands.a_lanes == Selector::DEFAULT_A,
        operands.b_lanes == Selector::DEFAULT_B,
    ]
}
