//! V405: the selector `.b1024`, which newer ptxas versions read as a type.

use super::{Memo, Rule, Subject};
use crate::diagnostic::{Applicability, Code, Diagnostic, Edit};
use crate::isa::{LaneWidth, Lanes, Selector};
use crate::syntax::RawOperand;

pub(super) const RULE: Rule = Rule { codes: &[Code::SelectorReadAsType], documented: false, find };

fn find(subject: &Subject<'_>, _: &mut Memo<'_>) -> Option<Diagnostic> {
    let source = subject.source;
    let text = |operand: &RawOperand| operand.selector.map(|span| span.text(source));
    let [_, a, b, ..] = subject.raw.operands.as_slice() else {
        return None;
    };
    let selector = [a, b].into_iter().find(|operand| text(operand) == Some(".b1024"))?.selector?;
    // If the registers are swapped, the number of each lane changes by 4.
    let lanes = |operand: &RawOperand, default: Selector| {
        let lanes = text(operand)
            .and_then(|text| Selector::from_text(LaneWidth::Bytes, text))
            .unwrap_or(default);
        let moved: Vec<u8> = lanes.lanes().iter().map(|lane| lane ^ 4).collect();
        Selector::new(LaneWidth::Bytes, &moved).map(|lanes| lanes.to_string())
    };
    let default = Lanes::all(LaneWidth::Bytes);
    let swapped = (lanes(a, default.a()), lanes(b, default.b()));
    let message = "ptxas 12.9 and 13.5 read `.b1024` as a type";
    let mut diagnostic = Diagnostic::new(Code::SelectorReadAsType, selector, message)
        .label("a syntax error for these releases; ptxas 11.8 accepts it");
    if let (Some(a_lanes), Some(b_lanes)) = swapped
        && a_lanes != ".b1024"
        && b_lanes != ".b1024"
    {
        let (first, second) = (a.value.text(source), b.value.text(source));
        let (first, second) = (format!("{second}{a_lanes}"), format!("{first}{b_lanes}"));
        diagnostic = diagnostic.help(format!("`{first}, {second}` names the same lanes")).fix(
            Applicability::Safe,
            "swap the registers and their selectors",
            vec![Edit::replace(a.span, first), Edit::replace(b.span, second)],
        );
    }
    Some(diagnostic)
}
