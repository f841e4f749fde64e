//! A single instruction as ordinary PTX.

use std::fmt::Write;

use crate::backend::ptx::{self, Aim, Cost, FreshRegisters, Outcome, Sequence};
use crate::diagnostic::counted;
use crate::isa::Target;
use crate::video::{Instruction, Semantics};

/// A single instruction as ordinary PTX, with the costs of both the instruction and that PTX.
pub struct Single {
    /// The declarations of registers, and the statements.
    pub lines: Vec<String>,
    /// How many machine instructions both take, as a text; `None` if that was not measured.
    pub costs: Option<String>,
    /// Whether the instruction is better kept.
    pub is_better_kept: bool,
}

impl Single {
    /// Returns `None` if there is no ordinary PTX for the instruction on the target.
    pub fn new(instruction: &Instruction, semantics: Semantics, target: Target) -> Option<Single> {
        let outcome = ptx::choose(instruction, Aim::of(target, semantics), true);
        let Outcome::Rewritten(sequence) = outcome else { return None };
        let mut registers = FreshRegisters::avoiding(&instruction.to_string());
        let statements = sequence.to_ptx(instruction, &mut registers);
        Some(Single {
            lines: registers.declarations().into_iter().chain(statements).collect(),
            costs: costs(instruction, &sequence, semantics, target),
            is_better_kept: ptx::is_better_kept(instruction, &sequence, target, semantics),
        })
    }

    /// The lines, with comments about the instruction, the costs and other semantics.
    pub fn text(&self, instruction: &Instruction, semantics: Semantics) -> String {
        let mut text = format!("// {instruction}\n");
        // Writing to a string does not fail.
        if let Some(costs) = &self.costs {
            let keep = if self.is_better_kept { "keep this instruction: " } else { "" };
            let _ = writeln!(text, "// {keep}{costs}");
        }
        let differs = instruction.differs(semantics).into_iter().map(Semantics::text);
        let differs: Vec<&str> = differs.collect();
        if !differs.is_empty() {
            let _ = writeln!(
                text,
                "// has the results of {semantics}; on some inputs, not those of {}",
                differs.join(" or ")
            );
        }
        for line in &self.lines {
            let _ = writeln!(text, "{line}");
        }
        text
    }
}

/// The machine instructions of an instruction and of the sequence that replaces it.
fn costs(
    instruction: &Instruction,
    sequence: &Sequence,
    semantics: Semantics,
    target: Target,
) -> Option<String> {
    let ptxas = instruction.cost(target)?.ptxas;
    let emitted = counted(ptxas as usize, "machine instruction");
    // The cost was measured with registers. Constants do not increase it.
    let most = if instruction.has_constants() { "at most " } else { "" };
    let assembler = Target::assembler(&[target]);
    let native = format!("{assembler} emits {most}{emitted} for it on {target}");
    Some(match ptx::cost_of(instruction, sequence, target, semantics) {
        // The figure is the maximum of the whole class.
        Some(Cost { rewritten, .. }) if sequence.lines().len() < rewritten as usize => {
            format!("{native}, and at most {rewritten} for the PTX below")
        }
        Some(Cost { rewritten, .. }) => format!("{native}, and {rewritten} for the PTX below"),
        None => format!("{native}; the PTX below was not measured"),
    })
}
