//! V705: outputs of an `asm` that some path through the `asm` does not write.

use super::asm::AsmOperands;
use crate::diagnostic::{Code, Diagnostic};
use crate::flow::{Flow, Written};
use crate::names::{Meaning, Names};
use crate::source::Span;
use crate::syntax::Function;

/// The findings, each at the `place` of its operand.
pub(super) fn find(
    function: &Function<'_>,
    flow: &Flow<'_>,
    names: &Names,
    operands: &AsmOperands<'_>,
    place: impl Fn(usize) -> Span,
) -> Vec<Diagnostic> {
    let spelled = |number: usize| operands.asm().operands[number].placeholder.as_str();
    let unwritten = unwritten(function, flow, names, operands).into_iter();
    unwritten.map(|(number, written)| finding(spelled(number), place(number), written)).collect()
}

/// The numbers of the outputs that have no value where the text ends, at least on some paths.
fn unwritten(
    function: &Function<'_>,
    flow: &Flow<'_>,
    names: &Names,
    operands: &AsmOperands<'_>,
) -> Vec<(usize, Written)> {
    let end = flow.statements().len() - 1;
    let declared = function.parameters().filter_map(|it| Some(it.name()?.name()));
    let meanings = declared.map(|name| names.use_of(name)?.meaning()).enumerate();
    let outputs: Vec<(usize, Meaning)> = meanings
        .filter(|(number, _)| {
            operands.asm().operands[*number].is_write_only() && !operands.is_tied(*number)
        })
        .filter_map(|(number, meaning)| Some((number, meaning?)))
        .collect();
    let places: Vec<_> = outputs.iter().map(|(_, meaning)| (end, *meaning)).collect();
    let written =
        flow.are_written_before(&places, |meaning| is_written_under_several_guards(flow, meaning));
    let written = written.unwrap_or_default().into_iter().zip(outputs);
    let unwritten = written.filter(|(written, _)| *written != Written::Always);
    unwritten.map(|(written, (number, _))| (number, written)).collect()
}

/// Whether instructions under several guards write a register: together they may cover all cases,
/// as `@p` and `@!p` do, and `@p` and `@q` after `setp.lt.s32 p|q, a, b`. A predicate that changes
/// is several guards.
fn is_written_under_several_guards(flow: &Flow<'_>, meaning: Meaning) -> bool {
    let writes = |at: &usize, meaning: Meaning| {
        flow.accesses(*at).iter().any(|it| it.meaning == meaning && it.access.writes())
    };
    let mut guards =
        flow.instructions_with(meaning).filter(|at| writes(at, meaning)).filter_map(|at| {
            let guard = flow.instruction(at).guard()?;
            // A special register, or one of another `asm`, has no meaning.
            let predicate = flow.accesses(at).iter().find(|it| it.span == guard.name);
            Some((predicate.map(|it| it.meaning), guard.negated))
        });
    let Some(first) = guards.next() else { return false };
    // A branch under the guard may lead the other case elsewhere.
    let jumps = |predicate: Meaning| flow.instructions_with(predicate).any(|at| flow.may_jump(at));
    if first.0.is_some_and(jumps) {
        return true;
    }
    let Some(second) = guards.next() else { return false };
    let changes = |predicate: Meaning| {
        flow.instructions_with(predicate).filter(|at| writes(at, predicate)).nth(1).is_some()
    };
    first.0.is_none_or(changes) || second != first || guards.any(|guard| guard != first)
}

fn finding(name: &str, place: Span, written: Written) -> Diagnostic {
    let message = match written {
        Written::Never => format!("nothing writes the output `{name}`"),
        _ => format!("some path through the `asm` does not write the output `{name}`"),
    };
    Diagnostic::new(Code::AsmOutputUnwritten, place, message)
        .label("its value is arbitrary if nothing writes it")
        .help("`\"+r\"` declares an operand that keeps its value where nothing writes it")
}
