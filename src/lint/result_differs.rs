//! V501, V502: the code of ptxas computes another result than the manual.

use super::facts::Difference;
use super::{Memo, Rule, Subject};
use crate::diagnostic::{Code, Diagnostic};
use crate::ir::Input;
use crate::source::Span;
use crate::video::{Instruction, Semantics};

pub(super) const RULE: Rule =
    Rule { codes: &[Code::ResultDiffers, Code::ResultDiffersInOldPtxas], documented: true, find };

fn find(subject: &Subject<'_>, memo: &mut Memo<'_>) -> Option<Diagnostic> {
    let difference = memo.facts(subject.instruction)?.difference()?;
    Some(diagnostic(subject.instruction, difference, subject.opcode()))
}

fn diagnostic(instruction: &Instruction, difference: &Difference, span: Span) -> Diagnostic {
    let Difference { semantics, witness } = difference;
    let (code, who, column) = match semantics {
        Semantics::Ptxas12 => {
            (Code::ResultDiffersInOldPtxas, "the code of ptxas before 13.3", "ptxas 12")
        }
        _ => (Code::ResultDiffers, "the code of ptxas", "ptxas 13"),
    };
    let programs = [Semantics::Manual, *semantics].map(|it| instruction.lower(it));
    let inputs = [("a", witness.a), ("b", witness.b), ("c", witness.c)];
    let inputs: Vec<String> = Input::ALL
        .into_iter()
        .zip(inputs)
        .filter(|(input, _)| programs.iter().any(|program| program.reads(*input)))
        .map(|(_, (name, value))| format!("{name}=0x{value:08x}"))
        .collect();
    let causes: Vec<&str> = witness.causes.iter().map(|cause| cause.text()).collect();
    let titles: Vec<String> =
        witness.causes.iter().map(|cause| format!("{cause}: {}", cause.title())).collect();
    let inputs = if inputs.is_empty() { String::new() } else { inputs.join(", ") + "\n" };
    let message = format!("{who} can give another result than the manual ({})", causes.join(", "));
    Diagnostic::new(code, span, message).label("results can differ").help(format!(
        "{inputs}→ manual 0x{:08x}, {column} 0x{:08x}\n{}",
        witness.manual,
        witness.ptxas,
        titles.join("\n"),
    ))
}
