//! V510: sources of which no lane is selected.

use super::{Memo, Rule, Subject};
use crate::ast::{Operation, SimdOperands};
use crate::diagnostic::Diagnostic;
use crate::isa::LaneWidth;
use crate::lint::Code;

pub(super) const RULE: Rule = Rule { codes: &[Code::V510], documented: false, find };

fn find(subject: &Subject<'_>, _: &mut Memo<'_>) -> Option<Diagnostic> {
    let unread = match &subject.instruction.operation {
        Operation::Arithmetic2(it) => unread(&it.operands),
        Operation::Set2(it) => unread(&it.operands),
        Operation::Arithmetic4(it) => unread(&it.operands),
        Operation::Set4(it) => unread(&it.operands),
        _ => return None,
    }?;
    let operand = subject.raw.operands.get(1 + unread)?;
    let name = operand.value.text(subject.source);
    let diagnostic = Diagnostic::new(
        Code::V510,
        operand.value,
        format!("`{name}` is not read: no selector takes a lane of it that is written"),
    )
    .label("has no effect")
    .help(
        "selectors count the lanes of both sources: in four-way instructions 0 to 3 are those of \
         `a` and 4 to 7 those of `b`, in two-way ones 0 and 1, 2 and 3",
    );
    Some(diagnostic)
}

/// The first of `a` and `b`, as 0 and 1, that no lane comes from.
fn unread<L: LaneWidth>(operands: &SimdOperands<L>) -> Option<usize> {
    let SimdOperands { mask, a, a_lanes, b, b_lanes, .. } = operands;
    if a == b {
        return None;
    }
    let written = |at: usize| mask.bits() >> at & 1 == 1;
    let is_read = |source: usize| {
        let pairs = a_lanes.lanes().iter().zip(b_lanes.lanes()).enumerate();
        let mut taken = pairs.filter(|(at, _)| written(*at)).flat_map(|(_, (a, b))| [*a, *b]);
        taken.any(|lane| usize::from(lane) / L::LANES == source)
    };
    (0..2).find(|source| !is_read(*source))
}
