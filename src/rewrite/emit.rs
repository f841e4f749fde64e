//! Sequences as text.

use std::fmt::Write;

use thiserror::Error;

use super::cost;
use super::sequence::{Arg, Class, Opcode, Sequence};
use crate::ast::{Instruction, Register};
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
        while memchr::memmem::find(source.as_bytes(), prefix.as_bytes()).is_some() {
            number += 1;
            prefix = format!("%vptx{number}_");
        }
        FreshRegisters::new(&prefix)
    }

    /// The number, in its class, of another register.
    fn take(&mut self, class: Class) -> u32 {
        let taken = &mut self.taken[class_index(class)];
        *taken += 1;
        *taken - 1
    }

    fn push_name(&self, class: Class, number: u32, text: &mut String) {
        text.push_str(&self.prefix);
        text.push(CLASSES[class_index(class)].1);
        push_number(number, text);
    }

    /// The declarations of all registers that were taken, a `.reg` each.
    pub fn declarations(&self) -> Vec<String> {
        let taken = CLASSES.iter().zip(self.taken).filter(|(_, count)| *count > 0);
        taken
            .map(|((ty, letter), count)| {
                let mut text = String::with_capacity(32);
                text.extend([".reg ", ty, " ", &self.prefix]);
                text.push(*letter);
                text.push('<');
                push_number(count, &mut text);
                text.push_str(">;");
                text
            })
            .collect()
    }

    /// As after [`FreshRegisters::new`]: for another scope.
    pub(super) fn reset(&mut self) {
        self.taken = [0; 3];
    }
}

/// Where a class stands among [`CLASSES`].
fn class_index(class: Class) -> usize {
    match class {
        Class::Word => 0,
        Class::Wide => 1,
        Class::Predicate => 2,
    }
}

fn push_number(number: u32, text: &mut String) {
    match char::from_digit(number, 10) {
        Some(digit) => text.push(digit),
        None => text.push_str(&number.to_string()),
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
        let statements = Statements::new(instruction, self, registers);
        let write = |at| {
            let mut text = String::with_capacity(LONG);
            statements.write(at, registers, &mut text);
            text
        };
        (0..self.lines().len()).map(write).collect()
    }
}

/// Few statements are longer.
const LONG: usize = 80;

/// What takes the place of an instruction, yet to be written.
pub(super) struct Statements<'a> {
    instruction: &'a Instruction,
    sequence: &'a Sequence,
    sources: [Option<&'a Register>; 3],
    /// The number of the register that each line writes, but for the last one.
    numbers: Vec<u32>,
}

impl<'a> Statements<'a> {
    pub(super) fn new(
        instruction: &'a Instruction,
        sequence: &'a Sequence,
        registers: &mut FreshRegisters,
    ) -> Statements<'a> {
        let others = sequence.lines().split_last().map_or(&[][..], |(_, others)| others);
        let numbers = others.iter().map(|line| registers.take(line.opcode.class())).collect();
        Statements { instruction, sequence, sources: instruction.sources(), numbers }
    }

    /// Appends a statement.
    pub(super) fn write(&self, at: usize, registers: &FreshRegisters, text: &mut String) {
        let Statements { instruction, sequence, sources, numbers } = self;
        let line = &sequence.lines()[at];
        let number = numbers.get(at);
        if let (None, Some(guard)) = (number, &instruction.guard) {
            let not = if guard.negated { "@!" } else { "@" };
            text.extend([not, guard.predicate.name(), " "]);
        }
        // Writing to a string does not fail.
        let _ = write!(text, "{} ", line.opcode);
        if line.opcode == Opcode::High {
            text.push_str("{_, ");
        }
        match number {
            Some(number) => registers.push_name(line.opcode.class(), *number, text),
            None => text.push_str(instruction.destination().name()),
        }
        if line.opcode == Opcode::High {
            text.push('}');
        }
        // `vabsdiff4` is a video instruction itself: its third source does not
        // matter, but must be a register.
        let third = (line.opcode == Opcode::AbsDiff4).then(|| line.args()[0]);
        for (place, arg) in line.args().iter().chain(&third).enumerate() {
            text.push_str(", ");
            match *arg {
                Arg::Input(input) => {
                    text.push_str(sources[input as usize].map_or("0", Register::name));
                }
                Arg::Line(other) => {
                    let other = usize::from(other);
                    let class = sequence.lines()[other].opcode.class();
                    registers.push_name(class, numbers[other], text);
                }
                Arg::Constant(value) if line.opcode == Opcode::Permute && place == 2 => {
                    let _ = write!(text, "0x{value:04x}");
                }
                Arg::Constant(value) if value < 100 => push_number(value as u32, text),
                Arg::Constant(value) => {
                    let _ = write!(text, "0x{value:x}");
                }
            }
        }
        if let Opcode::Lop3(table) = line.opcode {
            let _ = write!(text, ", 0x{table:02x}");
        }
        text.push(';');
    }
}
