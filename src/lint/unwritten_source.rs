//! V904: sources of video instructions that some path does not write before.

use super::structure::FunctionSubject;
use crate::diagnostic::{Code, Diagnostic};
use crate::flow::{NameAccess, Written};
use crate::hash::Set;
use crate::ir::Input;
use crate::isa::Sources;
use crate::module::{StatementSpans, VideoStatement};
use crate::source::Span;
use crate::video::Semantics;

pub(super) fn find(subject: &FunctionSubject<'_, '_>, found: &mut Vec<Diagnostic>) {
    // Where the text does not say where branches lead, there may be paths that are none.
    if subject.flow.is_opaque() {
        return;
    }
    let mut reads = Vec::new();
    for &(number, statement) in &subject.video {
        for access in subject.flow.accesses(number) {
            if access.access.reads() && subject.is_own_register(access.meaning) {
                reads.push((number, statement, access));
            }
        }
    }
    let places: Vec<_> = reads.iter().map(|(number, _, it)| (*number, it.meaning)).collect();
    // A guarded write mostly goes with a read under the same predicate.
    let Some(written) = subject.flow.are_written_before(&places, |_| true) else { return };
    let mut seen = Set::default();
    for ((number, statement, access), written) in reads.into_iter().zip(written) {
        if written != Written::Always && seen.insert((number, access.meaning)) {
            found.extend(finding(subject, statement, access, written));
        }
    }
}

/// The finding on a source, if the result depends on it.
fn finding(
    subject: &FunctionSubject<'_, '_>,
    statement: &VideoStatement,
    access: &NameAccess,
    written: Written,
) -> Option<Diagnostic> {
    let source = subject.module.source();
    let instruction = statement.instruction.as_ref()?;
    let StatementSpans { operands, modifiers, .. } = statement.spans(source)?;
    let holds = |whole: Span| whole.start <= access.span.start && access.span.end <= whole.end;
    let operand = operands.iter().skip(1).position(|operand| holds(operand.whole));
    let input = operand.map(|number| Input::ALL[number]);
    let matters = |input| {
        let mut all = Semantics::ALL.into_iter();
        all.any(|semantics| instruction.lower(semantics).reads(input))
    };
    if input.is_some_and(|input| !matters(input)) {
        return None;
    }
    let name = access.span.text(source);
    let message = match written {
        Written::Never => format!("`{name}` is read, but nothing writes it before"),
        _ => format!("`{name}` is read, but not written on every path to here"),
    };
    let mut diagnostic = Diagnostic::new(Code::V904, access.span, message)
        .label("its value is arbitrary")
        .statement(statement.span);
    if written == Written::Sometimes {
        let flow = subject.flow;
        let writes = |at: &NameAccess| at.meaning == access.meaning && at.access.writes();
        let mut all = flow.instructions_with(access.meaning).flat_map(|at| flow.accesses(at));
        if let Some(place) = all.find(|at| writes(at)) {
            diagnostic = diagnostic.related(place.span, "written here");
        }
    }
    if input != Some(Input::C) {
        return Some(diagnostic);
    }
    let is_sum = modifiers.iter().any(|(_, modifier)| modifier.text(source) == ".add");
    Some(if is_sum {
        diagnostic.help(format!("`mov.b32 {name}, 0;` before starts the sum at 0"))
    } else if instruction.form().sources == Sources::Scalar {
        diagnostic
    } else {
        diagnostic.help(format!(
            "the lanes that the mask leaves out come from the third source: `mov.b32 {name}, 0;` \
             before makes them 0"
        ))
    })
}
