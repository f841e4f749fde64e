//! Sources of scalar instructions that hold a known constant.
//!
//! Compilers move the constants of inline assembly into registers first. An instruction on the
//! constant itself often has a shorter sequence, as its range is known.

use super::super::super::super::facts::Site;
use crate::video::{
    Arithmetic, Immediate, Instruction, MadMode, MultiplyAdd, Operand, Operation, Register,
    ScalarOperands, Set, Source, Tail,
};

/// A scalar instruction with constants in the place of registers that hold them. `None` if no
/// register holds a constant.
pub(super) fn on_constants(instruction: &Instruction, site: Site<'_>) -> Option<Instruction> {
    let mut known = instruction.clone();
    let is_other = replace(&mut known.operation, &mut |register| site.constant(register));
    is_other.then_some(known)
}

/// Puts known constants in the place of registers, and tells whether any was known.
fn replace(operation: &mut Operation, known: &mut dyn FnMut(&Register) -> Option<u32>) -> bool {
    match operation {
        Operation::Arithmetic(Arithmetic { operands, .. })
        | Operation::Set(Set { operands, .. }) => {
            let ScalarOperands { a, b, tail, .. } = operands;
            source(a, known) | source(b, known) | third(tail, known)
        }
        // Constants that are shifted or multiplied are moved into registers again, and ptxas knows
        // the amount of a shift.
        Operation::Shift(it) => third(&mut it.operands.tail, known),
        Operation::MultiplyAdd(it) => {
            let mut parts = it.parts();
            let is_known = parts.mode == MadMode::Plain && operand(&mut parts.c, known);
            let new = if is_known { MultiplyAdd::new(parts) } else { None };
            new.map(|new| *it = new).is_some()
        }
        Operation::SimdArithmetic(_) | Operation::SimdSet(_) => false,
    }
}

fn source(source: &mut Source, known: &mut dyn FnMut(&Register) -> Option<u32>) -> bool {
    let value = match source {
        Source::Register { register, part: None } => known(register),
        Source::Register { part: Some(_), .. } | Source::Immediate(_) => None,
    };
    value.map(|value| *source = Source::Immediate(Immediate::new(value))).is_some()
}

fn operand(operand: &mut Operand, known: &mut dyn FnMut(&Register) -> Option<u32>) -> bool {
    let value = operand.register().and_then(known);
    value.map(|value| *operand = Operand::Immediate(Immediate::new(value))).is_some()
}

fn third(tail: &mut Tail, known: &mut dyn FnMut(&Register) -> Option<u32>) -> bool {
    match tail {
        Tail::Word => false,
        Tail::Secondary { c, .. } | Tail::Merge { c, .. } => operand(c, known),
    }
}
