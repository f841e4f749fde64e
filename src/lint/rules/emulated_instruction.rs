//! V601: ptxas needs more machine instructions than an equivalent does.

use super::{Memo, Rule, Subject};
use crate::diagnostic::{Applicability, Diagnostic, Edit};
use crate::ir::Semantics;
use crate::lint::Code;
use crate::rewrite::{Cost, Outcome, choose, cost_of, gate};

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
    let measured = cost_of(instruction, &sequence, target, Semantics::Ptxas13);
    let sequence = sequence.for_registers(place.registers);
    let block = memo.block(place.statement, instruction, &sequence);
    let applicability = if same { Applicability::Safe } else { Applicability::Unsafe };
    // With constants, ptxas makes no more of it than with registers.
    let most = if instruction.has_constants() { "at most " } else { "" };
    let many = format!("{most}{}", cost.ptxas);
    let message = format!("emulated: ptxas 13.5 emits {many} machine instructions on {target}, ");
    let message = message
        + &match measured {
            Some(cost) => format!("an equivalent of {} exists", cost.rewritten),
            // What is measured has what the module's version lacks, or no constants.
            None => "an equivalent is estimated to need fewer".to_string(),
        };
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
