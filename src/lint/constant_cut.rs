//! V406: a constant wider than 32 bits.

use super::{Memo, Rule, Subject};
use crate::diagnostic::{Applicability, Code, Diagnostic, Edit};
use crate::source::Span;
use crate::syntax::{Constant, RawOperand, Shape};

pub(super) const RULE: Rule = Rule { codes: &[Code::ConstantCut], documented: false, find };

fn find(subject: &Subject<'_>, _: &mut Memo<'_>) -> Option<Diagnostic> {
    let cut: Vec<(Span, String)> = subject.raw.operands.iter().filter_map(cut).collect();
    let ((first, kept), others) = cut.split_first()?;
    let mut diagnostic =
        Diagnostic::new(Code::ConstantCut, *first, "the constant is wider than 32 bits")
            .label(format!("only its low 32 bits are used: {kept}"))
            .help(format!("write `{kept}` if you mean this value"));
    for (other, kept) in others {
        diagnostic = diagnostic.related(*other, format!("this constant, too: {kept}"));
    }
    let title = match others {
        [] => format!("write `{kept}`"),
        _ => "write only the low 32 bits".to_string(),
    };
    let edits = cut.iter().map(|(span, kept)| Edit::replace(*span, kept)).collect();
    Some(diagnostic.fix(Applicability::Safe, title, edits))
}

/// A constant that does not fit, and its low 32 bits.
fn cut(operand: &RawOperand) -> Option<(Span, String)> {
    let Shape::Constant(Ok(Constant::Integer { bits, .. })) = operand.shape else {
        return None;
    };
    let low = bits as u32;
    let fits = u64::from(low) == bits || i64::from(low.cast_signed()) == bits.cast_signed();
    let kept = if low < 10 { low.to_string() } else { format!("{low:#x}") };
    (!fits).then_some((operand.value, kept))
}
