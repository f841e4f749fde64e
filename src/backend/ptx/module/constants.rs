//! Sources of scalar instructions that hold a known constant.
//!
//! Compilers move the constants of inline assembly into registers first. An instruction on the
//! constant itself often has a shorter sequence, as its range is known.

use memchr::memmem::Finder;

use super::super::region::{Chains, moved_word};
use crate::hash::Map;
use crate::module::VideoStatement;
use crate::source::Span;
use crate::video::{
    Immediate, Instruction, MadMode, MultiplyAdd, Operand, Operation, Register, Source, Tail,
    numbered,
};

/// The constants that a `mov` may put in registers, in the last function that was asked for.
pub(super) struct Moves<'s> {
    source: &'s str,
    finder: Finder<'static>,
    function: Option<Span>,
    /// No more of the text before it is searched.
    end: usize,
    /// `None` where there are several.
    constants: Map<(&'s str, &'s str), Option<u32>>,
}

/// An instruction with constants in the place of registers.
pub(super) struct OnConstants {
    pub(super) instruction: Instruction,
    /// These must hold the constants.
    registers: Vec<(Register, u32)>,
}

impl OnConstants {
    /// Whether the registers hold the constants wherever a function reads them.
    pub(super) fn are_known(&self, function: Option<Span>, chains: &mut Chains<'_>) -> bool {
        let mut registers = self.registers.iter();
        registers.all(|(register, value)| chains.constant(function, register) == Some(*value))
    }
}

impl<'s> Moves<'s> {
    pub(super) fn new(source: &'s str) -> Moves<'s> {
        let finder = Finder::new("mov.");
        Moves { source, finder, function: None, end: 0, constants: Map::default() }
    }

    /// A scalar instruction without a guard, with the constants that registers may hold. `None` if
    /// there are none.
    pub(super) fn find(&mut self, statement: &VideoStatement) -> Option<OnConstants> {
        let function = statement.function?;
        let old = statement.instruction.as_ref()?;
        if old.simd().is_some() || old.guard.is_some() {
            return None;
        }
        if self.function != Some(function) {
            self.function = Some(function);
            self.end = function.end as usize;
            self.constants.clear();
        }
        self.search(statement.span.start as usize);
        let mut registers = Vec::new();
        let mut known = |register: &Register| {
            let value = *self.constants.get(&numbered(register.name()))?;
            registers.extend(value.map(|value| (register.clone(), value)));
            value
        };
        let mut instruction = old.clone();
        let is_other = replace(&mut instruction.operation, &mut known);
        is_other.then_some(OnConstants { instruction, registers })
    }

    /// Finds the moves shortly before a place, also those in comments.
    fn search(&mut self, to: usize) {
        let bytes = self.source.as_bytes();
        let start = self.end.max(to.saturating_sub(NEAR));
        for at in self.finder.find_iter(bytes.get(start..to).unwrap_or_default()) {
            let Some(text) = self.source.get(start + at + "mov.".len()..) else { continue };
            let Some((name, value)) = moved(text) else { continue };
            let found = self.constants.entry(numbered(name)).or_insert(Some(value));
            *found = found.filter(|found| *found == value);
        }
        self.end = self.end.max(to);
    }
}

/// So many bytes before each instruction are searched. With all of a large text, rewriting takes a
/// twelfth longer.
const NEAR: usize = 512;

/// Moves are not longer than so many bytes.
const LONG: usize = 256;

/// The name and the value in `u32 NAME, 5;` or `u32 NAME, -5;`.
fn moved(text: &str) -> Option<(&str, u32)> {
    let start = &text.as_bytes()[..text.len().min(LONG)];
    let [b'u' | b's' | b'b', b'3', b'2', ..] = start else { return None };
    // Most moves are of other registers.
    let comma = memchr::memchr2(b',', b';', start)?;
    let first = start[comma + 1..].iter().find(|byte| !byte.is_ascii_whitespace())?;
    if *first != b'-' && !first.is_ascii_digit() {
        return None;
    }
    let end = memchr::memchr(b';', start)?;
    let (name, value) = (text["u32".len()..comma].trim(), text.get(comma + 1..end)?.trim());
    let value = match value.strip_prefix('-') {
        Some(positive) => moved_word(true, positive.trim_start())?,
        None => moved_word(false, value)?,
    };
    Some((name, value))
}

/// Puts constants in the place of registers, and tells whether there was one.
pub(super) fn replace(
    operation: &mut Operation,
    known: &mut dyn FnMut(&Register) -> Option<u32>,
) -> bool {
    match operation {
        Operation::Arithmetic(it) => {
            source(&mut it.a, known) | source(&mut it.b, known) | third(&mut it.tail, known)
        }
        Operation::Set(it) => {
            source(&mut it.a, known) | source(&mut it.b, known) | third(&mut it.tail, known)
        }
        // Constants that are shifted or multiplied are moved into registers again, and ptxas knows
        // the amount of a shift.
        Operation::Shift(it) => third(&mut it.tail, known),
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
