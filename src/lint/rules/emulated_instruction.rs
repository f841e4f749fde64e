//! V601: ptxas needs more machine instructions than an equivalent does.

use super::{Memo, Rule, Subject};
use crate::diagnostic::{Applicability, Diagnostic, Edit};
use crate::ir::Semantics;
use crate::lint::Code;
use crate::rewrite::{Cost, Outcome, choose, gate};

pub(super) const RULE: Rule = Rule { codes: &[Code::V601], documented: false, find };

fn find(subject: &Subject<'_>, memo: &mut Memo<'_>) -> Option<Diagnostic> {
    let Subject { instruction, place, .. } = subject;
    let target = place.target?;
    let cost = instruction.cost(target).filter(Cost::is_lower)?;
    let gate = gate(target, place.own, place.version);
    let Outcome::Rewritten(sequence) = choose(instruction, target, gate, Semantics::Ptxas13, false)
    else {
        return None;
    };
    let program = instruction.lower(Semantics::Ptxas13);
    let same = Semantics::ALL.into_iter().all(|other| instruction.lower(other) == program);
    let sequence = sequence.for_registers(place.registers);
    let block = memo.block(place.statement, instruction, &sequence);
    let applicability = if same { Applicability::Safe } else { Applicability::Unsafe };
    let (many, few) = (cost.ptxas, cost.rewritten);
    let message = format!(
        "emulated: ptxas 13.5 emits {many} machine instructions on {target}, an equivalent of \
         {few} exists"
    );
    let mut diagnostic = Diagnostic::new(Code::V601, place.statement, message)
        .label(format!("{many} machine instructions"))
        .fix(
            applicability,
            "write it as ordinary PTX",
            vec![Edit::replace(place.statement, block)],
        );
    if !same {
        diagnostic = diagnostic
            .help("as ptxas 13 computes it; the manual or older ptxas mean something else");
    }
    Some(diagnostic)
}
