//! Sources of scalar instructions that hold a known constant.
//!
//! Compilers move the constants of inline assembly into registers first. An instruction on the
//! constant itself often has a shorter sequence, as its range is known.

use super::super::region::Chains;
use crate::hash::Set;
use crate::module::VideoStatement;
use crate::source::Span;
use crate::video::{
    Immediate, Instruction, MadMode, MultiplyAdd, Operand, Operation, Register, Source, Tail,
    numbered,
};

/// The registers that a `mov` may set to a constant, in the last function that was asked for.
pub(super) struct Moves<'s> {
    source: &'s str,
    function: Option<Span>,
    /// The text before it was searched.
    end: usize,
    names: Set<(&'s str, &'s str)>,
}

impl<'s> Moves<'s> {
    pub(super) fn new(source: &'s str) -> Moves<'s> {
        Moves { source, function: None, end: 0, names: Set::default() }
    }

    /// A scalar instruction without a guard, with constants in the place of registers that hold
    /// them. `None` if there are none.
    pub(super) fn known(
        &mut self,
        statement: &VideoStatement,
        chains: &mut Chains<'_>,
    ) -> Option<Instruction> {
        let function = statement.function?;
        let instruction = statement.instruction.as_ref()?;
        if instruction.simd().is_some() || instruction.guard.is_some() {
            return None;
        }
        if self.function != Some(function) {
            *self = Moves {
                function: Some(function),
                end: function.end as usize,
                ..Moves::new(self.source)
            };
        }
        self.search(statement.span.start as usize);
        let mut changed = instruction.clone();
        let mut known = |register: &Register| {
            let may_be = self.names.contains(&numbered(register.name()));
            if may_be { chains.constant(Some(function), register) } else { None }
        };
        replace(&mut changed.operation, &mut known).then_some(changed)
    }

    /// Finds the moves before a place. What is no such move is refused later.
    fn search(&mut self, to: usize) {
        let text = &self.source[self.end..to.max(self.end)];
        for at in memchr::memmem::find_iter(text.as_bytes(), "mov.") {
            let Some(register) = text.get(at + "mov.u32".len()..).and_then(moved) else { continue };
            self.names.insert(numbered(register));
        }
        self.end = to.max(self.end);
    }
}

/// Names are not searched further than these bytes.
const LONG: usize = 256;

/// The name in `NAME, 5` or `NAME, -5`.
fn moved(text: &str) -> Option<&str> {
    let text = text.trim_start();
    let start = &text.as_bytes()[..text.len().min(LONG)];
    let (name, value) = text.split_at(memchr::memchr3(b',', b';', b'\n', start)?);
    let value = value.strip_prefix(',')?.trim_start();
    let is_number = |first: char| first == '-' || first.is_ascii_digit();
    value.starts_with(is_number).then_some(name.trim_end())
}

/// Puts constants in the place of registers, and tells whether there was one.
fn replace(operation: &mut Operation, known: &mut dyn FnMut(&Register) -> Option<u32>) -> bool {
    match operation {
        Operation::Arithmetic(it) => {
            let parts = [source(&mut it.a, known), source(&mut it.b, known)];
            parts.contains(&true) | third(&mut it.tail, known)
        }
        // Constants that are shifted or multiplied are moved into registers again, and ptxas knows
        // the amount of a shift.
        Operation::Shift(it) => third(&mut it.tail, known),
        Operation::Set(it) => {
            let parts = [source(&mut it.a, known), source(&mut it.b, known)];
            parts.contains(&true) | third(&mut it.tail, known)
        }
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
