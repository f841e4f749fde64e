//! V511: constant amounts that shift all bits out, or that have ignored bits.

use super::{Memo, Rule, Subject};
use crate::diagnostic::{Applicability, Code, Diagnostic};
use crate::isa::{ShiftMode, Type};
use crate::video::{Operation, Source};

pub(super) const RULE: Rule = Rule { codes: &[Code::ShiftBeyondWidth], documented: false, find };

fn find(subject: &Subject<'_>, _: &mut Memo<'_>) -> Option<Diagnostic> {
    let Operation::Shift(shift) = &subject.instruction.operation else {
        return None;
    };
    let Source::Immediate(constant) = &shift.operands.b else {
        return None;
    };
    let amount = constant.value();
    if amount < 32 {
        return None;
    }
    let span = subject.raw.operands.get(2)?.value;
    if shift.mode == ShiftMode::Wrap {
        let used = amount & 31;
        let message = format!("`.wrap` uses five bits of the amount: the shift is by {used}");
        let diagnostic = Diagnostic::new(Code::ShiftBeyondWidth, span, message)
            .label(format!("{amount} & 31 = {used}"))
            .help("write the amount that is used, or `.clamp` to shift everything out")
            .write(Applicability::Safe, span, &used.to_string());
        return Some(diagnostic);
    }
    let left = match (shift.left, shift.atype) {
        (true, _) => "nothing is left in the low 32 bits",
        (false, Type::U32) => "the shift gives 0",
        (false, Type::S32) => "the shift gives 0, or -1 where the value is negative",
    };
    let message = "the amount shifts every bit of the value out";
    let diagnostic = Diagnostic::new(Code::ShiftBeyondWidth, span, message)
        .label(left)
        .help("words have 32 bits: `.clamp` turns every larger amount into 32");
    Some(diagnostic)
}
