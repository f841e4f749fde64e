//! V408: selectors and masks that write out the default.

use super::{Memo, Rule, Subject};
use crate::diagnostic::{Applicability, Code, Diagnostic, Edit};
use crate::isa::Lanes;
use crate::source::Span;

pub(super) const RULE: Rule = Rule { codes: &[Code::ExplicitDefault], documented: false, find };

fn find(subject: &Subject<'_>, _: &mut Memo<'_>) -> Option<Diagnostic> {
    let lanes = subject.instruction.simd()?.lanes;
    let default = Lanes::all(lanes.width());
    // Whether `d`, `a` and `b` spell out their default.
    let defaults =
        [lanes.mask() == default.mask(), lanes.a() == default.a(), lanes.b() == default.b()];
    let written = subject.raw.operands.iter().zip(defaults);
    let written: Vec<Span> =
        written.filter_map(|(operand, default)| operand.selector.filter(|_| default)).collect();
    let [first, others @ ..] = written.as_slice() else {
        return None;
    };
    let text = first.text(subject.source);
    let mut diagnostic =
        Diagnostic::new(Code::ExplicitDefault, *first, format!("`{text}` is the default"))
            .label("can be left out");
    for other in others {
        diagnostic = diagnostic.related(*other, "and here");
    }
    let edits = written.iter().map(|span| Edit::remove(*span)).collect();
    Some(diagnostic.fix(Applicability::Safe, "remove the defaults", edits))
}
