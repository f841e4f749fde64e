//! V507: merges that keep no bit of their third source.

use super::{Memo, Rule, Subject};
use crate::diagnostic::{Applicability, Code, Diagnostic};
use crate::ir::Input;
use crate::isa::Sources;
use crate::video::Semantics;

pub(super) const RULE: Rule = Rule { codes: &[Code::UnusedThirdSource], documented: false, find };

fn find(subject: &Subject<'_>, _: &mut Memo<'_>) -> Option<Diagnostic> {
    let instruction = subject.instruction;
    let [a, b, c] = instruction.sources();
    let (a, c) = (a?, c?);
    if instruction.form().sources == Sources::Scalar {
        return None;
    }
    // The syntax needs a third source, and a register that is already in use costs nothing.
    if [Some(instruction.destination()), Some(a), b].contains(&Some(c))
        || instruction.lower(Semantics::Manual).reads(Input::C)
    {
        return None;
    }
    let operand = subject.raw.operands.get(3)?;
    let message = format!("nothing of `{c}` is kept: all lanes are written");
    let diagnostic = Diagnostic::new(Code::UnusedThirdSource, operand.span, message)
        .label("has no effect")
        .help(format!("the syntax requires a third source; write `{a}`, which is live here anyway"))
        .write(Applicability::Safe, operand.span, a.name());
    Some(diagnostic)
}
