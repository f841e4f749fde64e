//! V510: sources of which no lane is selected.

use super::{Memo, Rule, Subject};
use crate::diagnostic::Diagnostic;
use crate::ir::{Input, Semantics};
use crate::isa::Sources;
use crate::lint::Code;

pub(super) const RULE: Rule = Rule { codes: &[Code::V510], documented: false, find };

fn find(subject: &Subject<'_>, _: &mut Memo<'_>) -> Option<Diagnostic> {
    let instruction = subject.instruction;
    let [a, b, _] = instruction.sources();
    // Default selectors read both.
    let written = subject.raw.operands.get(1..3)?.iter().any(|operand| operand.selector.is_some());
    if !written || instruction.form().sources == Sources::Scalar || a == b {
        return None;
    }
    let program = instruction.lower(Semantics::Manual);
    let unread = [Input::A, Input::B].into_iter().position(|input| !program.reads(input))?;
    let operand = &subject.raw.operands[1 + unread];
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
