//! V510: sources of which no lane is selected.

use super::{Memo, Rule, Subject};
use crate::diagnostic::{Code, Diagnostic};
use crate::video::SimdOperands;

pub(super) const RULE: Rule = Rule { codes: &[Code::UnreadSource], documented: false, find };

fn find(subject: &Subject<'_>, _: &mut Memo<'_>) -> Option<Diagnostic> {
    let unread = subject.instruction.simd().and_then(unread)?;
    let operand = subject.raw.operands.get(1 + unread)?;
    let name = operand.value.text(subject.source);
    let message = format!("`{name}` is not read: the written lanes select no lane of `{name}`");
    let diagnostic =
        Diagnostic::new(Code::UnreadSource, operand.value, message).label("has no effect").help(
            "selectors number the lanes of both sources: in four-way instructions, 0 to 3 are in \
             `a` and 4 to 7 in `b`; in two-way ones, 0 and 1 are in `a` and 2 and 3 in `b`",
        );
    Some(diagnostic)
}

/// The number of the first source of which no lane is selected: 0 for `a`, 1 for `b`.
fn unread(operands: &SimdOperands) -> Option<usize> {
    if operands.a == operands.b {
        return None;
    }
    let lanes = operands.lanes.width().lanes();
    let is_read = |source: usize| {
        let mut taken = operands.lanes.written().flat_map(|(_, a, b)| [a, b]);
        taken.any(|lane| usize::from(lane) / lanes == source)
    };
    (0..2).find(|source| !is_read(*source))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::Input;
    use crate::testing::Numbers;
    use crate::video::{Instruction, Semantics};

    /// Whether the rule and the lowered program agree about which source of a sum of lanes is not
    /// read.
    fn agrees(text: &str) -> bool {
        let instruction: Instruction = text.parse().unwrap();
        let found = unread(instruction.simd().expect("lanes"));
        let program = instruction.lower(Semantics::Manual);
        found == [Input::A, Input::B].into_iter().position(|input| !program.reads(input))
    }

    #[test]
    fn what_is_not_selected_is_not_read() {
        let two = |at: usize| format!(".h{}{}", at / 4, at % 4);
        for (mask, secondary) in [("", ""), (".h0", ""), (".h1", ""), (".h10", ".add")] {
            for at in 0..256 {
                let (a, b) = (two(at / 16), two(at % 16));
                let text = format!("vadd2.u32.u32.u32{secondary} d{mask}, a{a}, b{b}, c;");
                assert!(agrees(&text), "{text}");
            }
        }
        let mut numbers = Numbers(3);
        let mut selector = |lanes: usize| -> String {
            // Most selected lanes are lanes of one source.
            let from = 4 * numbers.below(2);
            let digits = (0..4).map(|_| (from + numbers.below(lanes)) % 8);
            digits.map(|digit| digit.to_string()).collect()
        };
        for mask in ["", ".b3", ".b20", ".b0", ".b3210"] {
            for round in 0..400 {
                let (a, b) = (selector(4 + round % 2), selector(4 + round % 3));
                let text = format!("vadd4.u32.u32.u32 d{mask}, a.b{a}, b.b{b}, c;");
                assert!(agrees(&text), "{text}");
            }
        }
    }
}
