//! V603: plain targets whose kind with the suffix `f` has shorter code for the instruction.

use super::{Memo, Rule, Subject};
use crate::diagnostic::{Code, Diagnostic, counted};
use crate::isa::Feature;

pub(super) const RULE: Rule = Rule { codes: &[Code::PlainTarget], documented: false, find };

fn find(subject: &Subject<'_>, _: &mut Memo<'_>) -> Option<Diagnostic> {
    let Subject { instruction, targets, place, .. } = subject;
    let shorter = targets.iter().find_map(|&target| {
        // A user who builds for both targets knows the difference.
        let family = target.family().filter(|family| !targets.contains(family))?;
        let [own, other] = [target, family].map(|it| instruction.cost(it));
        let (own, other) = (own?, other?.written());
        (other < own.written()).then_some((target, family, own, other))
    });
    let (target, family, own, other) = shorter?;
    let message = format!(
        "`{}` is longer than on {family}: at best {} on {target}, and {other} on {family}",
        instruction.mnemonic(),
        counted(own.written() as usize, "machine instruction"),
    );
    let more = Feature::ALL.iter().filter(|it| family.has(**it) && !target.has(**it));
    let since = more.filter_map(|feature| feature.since()).max();
    let emitted = counted(own.ptxas as usize, "machine instruction");
    let label = format!("ptxas 13.5 emits {emitted}");
    let help = format!(
        "with `.target {family}` and `.version {}` or higher, `vptx rewrite` writes the shorter code",
        since?
    );
    Some(Diagnostic::new(Code::PlainTarget, place.statement, message).label(label).help(help))
}
