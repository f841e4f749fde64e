//! Sequences as text.

use std::fmt::Write;

use thiserror::Error;

use super::cost;
use super::sequence::{Arg, Class, Opcode, Sequence};
use crate::ast::Instruction;
use crate::ir::Semantics;
use crate::isa::Target;

/// Names of registers that nothing else has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FreshRegisters {
    prefix: String,
    /// How many were taken of each class: words, 64 bits, predicates.
    taken: [u32; 3],
}

/// Letters and types of the classes.
const CLASSES: [(&str, char); 3] = [(".b32", 'r'), (".b64", 'd'), (".pred", 'p')];

impl FreshRegisters {
    /// Registers whose names start with a prefix, itself an identifier.
    pub fn new(prefix: &str) -> FreshRegisters {
        FreshRegisters { prefix: prefix.into(), taken: [0; 3] }
    }

    /// Registers whose names occur nowhere in a text.
    pub fn avoiding(source: &str) -> FreshRegisters {
        let mut prefix = String::from("%vptx_");
        let mut number = 0u32;
        while source.contains(&prefix) {
            number += 1;
            prefix = format!("%vptx{number}_");
        }
        FreshRegisters::new(&prefix)
    }

    fn take(&mut self, class: Class) -> String {
        let at = match class {
            Class::Word => 0,
            Class::Wide => 1,
            Class::Predicate => 2,
        };
        let number = self.taken[at];
        self.taken[at] += 1;
        format!("{}{}{number}", self.prefix, CLASSES[at].1)
    }

    /// The declarations of all registers that were taken, a `.reg` each.
    pub fn declarations(&self) -> Vec<String> {
        let taken = CLASSES.iter().zip(self.taken).filter(|(_, count)| *count > 0);
        taken
            .map(|((ty, letter), count)| format!(".reg {ty} {}{letter}<{count}>;", self.prefix))
            .collect()
    }

    /// As after [`FreshRegisters::new`]: for another scope.
    pub(super) fn reset(&mut self) {
        self.taken = [0; 3];
    }
}

/// No sequence for an instruction uses only what a target has.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("there is no ordinary PTX for `{instruction}` on {target}")]
pub struct Unavailable {
    pub(super) instruction: String,
    pub(super) target: Target,
}

impl Instruction {
    /// Ordinary PTX that does what the instruction does under a semantics, a
    /// statement a line: the cheapest on the target without video instructions.
    /// The guard stands at the last one, which alone writes `d`. The instruction's
    /// registers must be declared as `.b32` (see [`Sequence::for_registers`]);
    /// others are taken from `registers`, and declaring them is left to the caller.
    ///
    /// # Errors
    /// When all sequences use instructions that the target does not have. For
    /// `sm_50` and later there is always one.
    pub fn to_ptx(
        &self,
        target: Target,
        semantics: Semantics,
        registers: &mut FreshRegisters,
    ) -> Result<String, Unavailable> {
        let gate = super::Gate { target, version: None };
        let best = cost::cheapest(self, target, semantics, gate);
        let sequence = best.ok_or_else(|| Unavailable { instruction: self.to_string(), target })?;
        Ok(sequence.to_ptx(self, registers).join("\n"))
    }
}

impl Sequence {
    /// The statements that take the place of an instruction. The last one writes
    /// `d` and has the instruction's guard; the others write registers taken from
    /// `registers`.
    pub fn to_ptx(&self, instruction: &Instruction, registers: &mut FreshRegisters) -> Vec<String> {
        statements(instruction, self, registers)
    }
}

fn statements(
    instruction: &Instruction,
    sequence: &Sequence,
    registers: &mut FreshRegisters,
) -> Vec<String> {
    let sources = instruction.sources();
    let mut names: Vec<String> = Vec::with_capacity(sequence.lines().len());
    let mut texts = Vec::with_capacity(sequence.lines().len());
    for (at, line) in sequence.lines().iter().enumerate() {
        let last = at + 1 == sequence.lines().len();
        let name = if last {
            instruction.destination().to_string()
        } else {
            registers.take(line.opcode.class())
        };
        let mut text = String::new();
        if let (true, Some(guard)) = (last, &instruction.guard) {
            let not = if guard.negated { "!" } else { "" };
            // Writing to a string does not fail.
            let _ = write!(text, "@{not}{} ", guard.predicate);
        }
        let _ = match line.opcode {
            Opcode::High => write!(text, "{} {{_, {name}}}", line.opcode),
            _ => write!(text, "{} {name}", line.opcode),
        };
        // `vabsdiff4` is a video instruction itself: its third source does not
        // matter, but must be a register.
        let third = (line.opcode == Opcode::AbsDiff4).then(|| line.args()[0]);
        for (place, arg) in line.args().iter().chain(&third).enumerate() {
            let _ = match *arg {
                Arg::Input(input) => {
                    let register = sources[input as usize];
                    write!(text, ", {}", register.map_or("0", |register| register.name()))
                }
                Arg::Line(line) => write!(text, ", {}", names[usize::from(line)]),
                Arg::Constant(value) if line.opcode == Opcode::Permute && place == 2 => {
                    write!(text, ", 0x{value:04x}")
                }
                Arg::Constant(value) if value < 100 => write!(text, ", {value}"),
                Arg::Constant(value) => write!(text, ", 0x{value:x}"),
            };
        }
        if let Opcode::Lop3(table) = line.opcode {
            let _ = write!(text, ", 0x{table:02x}");
        }
        text.push(';');
        names.push(name);
        texts.push(text);
    }
    texts
}
