//! V404: two minus signs that cancel.

use super::{Memo, Rule, Subject};
use crate::diagnostic::{Applicability, Code, Diagnostic, Edit};
use crate::isa::Mnemonic;

pub(super) const RULE: Rule = Rule { codes: &[Code::CancelledNegation], documented: true, find };

fn find(subject: &Subject<'_>, _: &mut Memo<'_>) -> Option<Diagnostic> {
    // In other instructions the manual allows no minus at all.
    if subject.instruction.mnemonic() != Mnemonic::Vmad {
        return None;
    }
    let [_, a, b, _] = subject.raw.operands.as_slice() else {
        return None;
    };
    let (a, b) = (a.minus?, b.minus?);
    let diagnostic = Diagnostic::new(Code::CancelledNegation, b, "the two minus signs cancel")
        .label("undoes the other")
        .related(a, "the other")
        .help("minus on `a` or `b` negates their product; on both it does nothing")
        .fix(Applicability::Safe, "remove both", vec![Edit::remove(a), Edit::remove(b)]);
    Some(diagnostic)
}
