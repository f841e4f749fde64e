//! V601: ptxas needs more machine instructions than for an equivalent.

use super::{Memo, Rule, Subject};
use crate::backend::ptx::{cheaper_on_all, cost_of, gate};
use crate::diagnostic::{Applicability, Code, Diagnostic, Edit};
use crate::isa::Target;
use crate::video::Semantics;

pub(super) const RULE: Rule = Rule { codes: &[Code::EmulatedInstruction], documented: false, find };

/// At most this many lines of the replacement are shown.
const SHOWN: usize = 12;

fn find(subject: &Subject<'_>, memo: &mut Memo<'_>) -> Option<Diagnostic> {
    let Subject { instruction, targets, place, .. } = subject;
    let gate = gate(targets, place.own, place.version);
    let sequence = cheaper_on_all(instruction, targets, gate)?;
    let same = instruction.differs(Semantics::CURRENT).is_empty();
    // With constants, ptxas emits no more instructions than with registers.
    let most = if instruction.has_constants() { "at most " } else { "" };
    let costs = targets.iter().filter_map(|&target| {
        let written = cost_of(instruction, &sequence, target, Semantics::CURRENT);
        let ptxas = instruction.cost(target)?.ptxas;
        Some(TargetGroup {
            targets: vec![target],
            ptxas,
            written: written.map(|cost| cost.rewritten),
        })
    });
    let groups = grouped(costs);
    let label = label(&groups, most);
    let groups: Vec<String> = groups.iter().map(|group| group.text(most)).collect();
    let ptxas = Target::assembler(targets);
    let message =
        format!("`{}` is emulated: {ptxas} emits {}", instruction.mnemonic(), groups.join("; "));
    let sequence = sequence.for_registers(place.registers);
    let block = memo.block(place.statement, instruction, &sequence);
    let help = help(&block, same);
    let applicability = if same { Applicability::Safe } else { Applicability::Unsafe };
    let edits = vec![Edit::replace(place.statement, block)];
    let diagnostic =
        Diagnostic::new(Code::EmulatedInstruction, place.statement, message).label(label);
    Some(diagnostic.help(help).fix(applicability, "write it as ordinary PTX", edits))
}

/// The label for costs on some targets.
pub(super) fn label(groups: &[TargetGroup], most: &str) -> String {
    match groups {
        [one] => format!("{most}{} machine instructions", one.ptxas),
        _ => "more machine instructions than needed".into(),
    }
}

/// The help that shows an equivalent. `same` tells whether the instruction has the result of the
/// equivalent under all semantics.
pub(super) fn help(block: &str, same: bool) -> String {
    let mut help = format!("an equivalent:\n{}", shown(block));
    if !same {
        help += "\nit computes what ptxas 13 does; on some inputs, the manual or older releases of \
                 ptxas give another result";
    }
    help
}

/// Targets with equal costs, both of the original instructions and of the equivalent.
pub(super) struct TargetGroup {
    pub(super) targets: Vec<Target>,
    pub(super) ptxas: u32,
    /// The cost of the equivalent. `None` if it was not measured: the module's version lacks the
    /// best sequence, or there are constants.
    pub(super) written: Option<u32>,
}

impl TargetGroup {
    pub(super) fn text(&self, most: &str) -> String {
        let targets: Vec<String> = self.targets.iter().map(ToString::to_string).collect();
        let (ptxas, targets) = (self.ptxas, targets.join(", "));
        let native = format!("{most}{ptxas} machine instructions on {targets}");
        match self.written {
            Some(written) => format!("{native}, and ordinary PTX needs {written}"),
            None => format!("{native}, and ordinary PTX is estimated to need fewer"),
        }
    }
}

/// Merges targets with equal costs into one group.
pub(super) fn grouped(each: impl Iterator<Item = TargetGroup>) -> Vec<TargetGroup> {
    let mut groups: Vec<TargetGroup> = Vec::new();
    for one in each {
        let same =
            |group: &&mut TargetGroup| (group.ptxas, group.written) == (one.ptxas, one.written);
        match groups.iter_mut().find(same) {
            Some(group) => group.targets.extend(one.targets),
            None => groups.push(one),
        }
    }
    groups
}

/// The first lines of a block, without their common indentation.
fn shown(block: &str) -> String {
    let lines = || block.lines();
    let indented = |line: &str| line.len() - line.trim_start().len();
    // The first line stands after the indentation that the source already has.
    let common = lines().skip(1).map(indented).min().unwrap_or(0);
    let mut shown: Vec<&str> =
        lines().map(|line| line.get(common.min(indented(line))..).unwrap_or(line)).collect();
    if shown.len() > SHOWN {
        shown.truncate(SHOWN);
        shown.push("…");
    }
    shown.join("\n").replace('\t', "    ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_blocks_are_cut_and_lose_their_indentation() {
        let block = |lines: usize| {
            let lines = (0..lines).map(|number| format!("    not.b32 d, {number};"));
            format!("{{\n{}\n    }}", lines.collect::<Vec<_>>().join("\n"))
        };
        let text = shown(&block(10));
        assert!(text.starts_with("{\nnot.b32 d, 0;\n") && text.ends_with("d, 9;\n}"), "{text}");
        assert_eq!(text.lines().count(), 12);
        let text = shown(&block(11));
        assert!(text.ends_with("d, 10;\n…"), "{text}");
        assert_eq!(text.lines().count(), 13);
    }
}
