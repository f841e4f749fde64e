//! V508: selectors that name one lane twice and leave another out.

use super::{Memo, Rule, Subject};
use crate::diagnostic::{Code, Diagnostic};
use crate::isa::{Selector, Sources};

pub(super) const RULE: Rule = Rule { codes: &[Code::RepeatedLane], documented: false, find };

fn find(subject: &Subject<'_>, _: &mut Memo<'_>) -> Option<Diagnostic> {
    let sources = subject.raw.operands.get(1..3)?;
    sources.iter().find_map(|operand| {
        let selector = operand.selector?;
        let text = selector.text(subject.source);
        let Sources::Lanes(width) = subject.instruction.form().sources else { return None };
        let twice = repeated(Selector::from_text(width, text)?)?;
        let message =
            format!("`{text}` takes lane {twice} more than once, and other lanes as well");
        let diagnostic = Diagnostic::new(Code::RepeatedLane, selector, message)
            .label("takes a lane twice")
            .help("each digit names a lane; the digit for the highest lane comes first");
        Some(diagnostic)
    })
}

/// A lane that the selector names twice although it names others, too.
fn repeated(selector: Selector) -> Option<u8> {
    let lanes = selector.lanes();
    if lanes.iter().all(|lane| *lane == lanes[0]) {
        return None;
    }
    let mut pairs = lanes.iter().enumerate();
    pairs.find(|(at, lane)| lanes[..*at].contains(lane)).map(|(_, lane)| *lane)
}
