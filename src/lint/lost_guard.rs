//! V512: a guard that newer versions of ptxas leave out.

use super::{Memo, Rule, Subject};
use crate::backend::ptx::{Aim, cheapest, gate};
use crate::diagnostic::{Applicability, Code, Diagnostic, Edit};
use crate::video::Semantics;

pub(super) const RULE: Rule = Rule { codes: &[Code::LostGuard], documented: false, find };

fn find(subject: &Subject<'_>, memo: &mut Memo<'_>) -> Option<Diagnostic> {
    let Subject { instruction, targets, place, raw, .. } = subject;
    if !instruction.loses_guard() {
        return None;
    }
    let guard = raw.guard?.name;
    let diagnostic = Diagnostic::new(Code::LostGuard, guard, "ptxas leaves out this guard")
        .label("the sum is written in any case")
        .help("ptxas 12.9 and 13.5 do so, and 11.8 does not; ordinary instructions keep the guard");
    let oldest = targets.iter().copied().min_by_key(|target| target.number);
    let sequence = oldest.and_then(|target| {
        let gate = gate(targets, place.own, place.version);
        cheapest(instruction, Aim { target, semantics: Semantics::CURRENT, gate })
    });
    let Some(sequence) = sequence else { return Some(diagnostic) };
    let block = memo.block(place.statement, instruction, &sequence.for_registers(place.registers));
    let edits = vec![Edit::replace(place.statement, block)];
    Some(diagnostic.fix(Applicability::Unsafe, "write it as ordinary PTX", edits))
}
