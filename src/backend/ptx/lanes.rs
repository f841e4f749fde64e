//! Neighbouring SIMD instructions on bytes, as one block that works on halves.
//!
//! From `sm_90` on there are sums, minima and maxima of halves, but not of bytes. Each word of
//! four bytes becomes two words of halves once, and only results that live on are packed.

mod cost;
mod halves;

use super::sequence::{Line, Opcode, results};
use super::{Arg, Gate};
use crate::isa::{LaneWidth, Lanes, Target, Type, WordRegisters};
use crate::module::VideoStatement;
use crate::syntax::TokenKind;
use crate::syntax::lexer::Lexer;
use crate::video::{Operation, Register, SimdOp, SimdTail, numbered};

use cost::machine_instructions;
use halves::Halves;

/// SIMD instructions on bytes, one right after the other, as one block that works on halves.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Group {
    /// The number of instructions, the last one included.
    pub members: usize,
    inputs: Vec<Register>,
    lines: Vec<Line>,
    outputs: Vec<(Register, Line)>,
}

impl Group {
    /// The registers that the block reads.
    pub fn inputs(&self) -> &[Register] {
        &self.inputs
    }

    /// The instructions that write registers of the block, in order.
    #[doc(hidden)]
    pub fn lines(&self) -> &[Line] {
        &self.lines
    }

    /// The registers that the block writes after that, and the instruction for each. These
    /// instructions read registers of the block only.
    #[doc(hidden)]
    pub fn outputs(&self) -> &[(Register, Line)] {
        &self.outputs
    }

    /// The registers that the block writes, and their new values, for the values of the
    /// registers that it reads.
    pub fn eval(&self, inputs: &[u32]) -> Vec<(&Register, u32)> {
        let words = |arg| match arg {
            Arg::Register(at) => inputs.get(usize::from(at)).copied().unwrap_or(0),
            _ => 0,
        };
        let results = results(&self.lines, words);
        let outputs = self.outputs.iter();
        outputs.map(|(register, line)| (register, line.eval(&results, words) as u32)).collect()
    }

    /// The machine instructions that it takes.
    pub(super) fn cost(&self, target: Target) -> u32 {
        let packed: Vec<Line> = self.outputs.iter().map(|(_, line)| *line).collect();
        machine_instructions(&self.lines, &packed, target)
    }
}

/// At most this many instructions make a group.
const MOST: usize = 24;

/// A SIMD instruction that may be in a group. Each lane has its place in all words.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step<'m> {
    kind: Kind,
    d: &'m Register,
    sources: [&'m Register; 2],
    /// Its value does not matter, as all lanes are written.
    c: &'m Register,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Kind {
    op: SimdOp,
    dtype: Type,
    types: [Type; 2],
    saturate: bool,
}

impl<'m> Step<'m> {
    fn of(statement: &'m VideoStatement) -> Option<Step<'m>> {
        let instruction = statement.instruction.as_ref().filter(|it| it.guard.is_none())?;
        let Operation::SimdArithmetic(it) = &instruction.operation else { return None };
        let SimdTail::Merge { saturate } = it.tail else { return None };
        let operands = &it.operands;
        let is_plain = operands.lanes == Lanes::all(LaneWidth::Bytes)
            && statement.declared.registers() != WordRegisters::Packed
            && !matches!(it.op, SimdOp::AbsDiff | SimdOp::Avrg);
        is_plain.then_some(Step {
            kind: Kind {
                op: it.op,
                dtype: it.dtype,
                types: [operands.atype, operands.btype],
                saturate,
            },
            d: &operands.d,
            sources: [&operands.a, &operands.b],
            c: &operands.c,
        })
    }
}

/// The instructions that may be a group together with the first of some statements, if the text
/// may have sums of halves.
pub(super) fn steps<'m>(
    source: &str,
    statements: &'m [VideoStatement],
    gate: Gate,
) -> Vec<Step<'m>> {
    let mut steps: Vec<Step<'m>> = Vec::new();
    let (target, version) = Opcode::Add2.requirement();
    if !gate.has((Target::sm(target), version)) {
        return steps;
    }
    let mut end = 0;
    for statement in statements.iter().take(MOST) {
        let Some(step) = Step::of(statement) else { break };
        let start = statement.span.start as usize;
        if !steps.is_empty() && !can_pass(&steps, &source[..start], end) {
            break;
        }
        end = statement.span.end as usize;
        steps.push(step);
    }
    steps
}

/// The ordinary instructions over which steps may move. They have no other effect than on the
/// registers that they name and on memory.
const PASSED: [&str; 21] = [
    "add", "and", "cvt", "cvta", "ld", "mad", "max", "min", "mov", "mul", "neg", "not", "or",
    "prmt", "selp", "setp", "shl", "shr", "st", "sub", "xor",
];

/// Whether steps may move over the rest of a text: over statements that name none of their
/// registers.
fn can_pass(steps: &[Step<'_>], text: &str, start: usize) -> bool {
    let is_ours = |name: &str| {
        let registers = steps.iter().flat_map(|step| [step.d, step.sources[0], step.sources[1]]);
        registers.into_iter().any(|register| numbered(register.name()) == numbered(name))
    };
    let mut lexer = Lexer::new(text, start);
    let mut is_start = true;
    while let Some(token) = lexer.token() {
        let word = token.span.text(text);
        let passes = match token.kind {
            TokenKind::Ident if is_start => PASSED.contains(&word),
            TokenKind::Ident => !is_ours(word),
            TokenKind::Dot | TokenKind::Number => !is_start,
            // Not a label, and not the brace of a block.
            TokenKind::Punct(_) => !is_start && !token.is(b':'),
            _ => false,
        };
        if !passes {
            return false;
        }
        is_start = token.is(b';');
    }
    is_start
}

/// The group of the first steps that saves most, if one costs less than its members do one by
/// one, and if none saves more that starts with the next step. Otherwise the number of steps that
/// stay alone. `in_function` says how often the function names a register that it declares itself.
pub(super) fn best(
    steps: &[Step<'_>],
    alone: &[u32],
    target: Target,
    mut in_function: impl FnMut(&Register) -> Option<u32>,
) -> Result<Group, usize> {
    let whole = halves(steps, &mut in_function);
    if whole.has_equal() {
        return Err(steps.len());
    }
    let is_needed = whole.needed();
    let mut from = |first: usize| {
        let steps = steps[first..].iter().zip(&alone[first..]).zip(&is_needed[first..]);
        let steps =
            steps.map(|((step, cost), is_needed)| (step, if *is_needed { *cost } else { 0 }));
        saving(steps, target, &mut in_function)
    };
    let Some((members, saved)) = from(0) else {
        // The others are tried again, together with those after them.
        return Err(steps.len().div_ceil(2));
    };
    if from(1).is_some_and(|(_, other)| other > saved) {
        return Err(1);
    }
    Ok(halves(&steps[..members], in_function).group())
}

/// The first steps whose names are clearly one register or two.
fn halves<'m>(
    steps: &[Step<'m>],
    mut in_function: impl FnMut(&Register) -> Option<u32>,
) -> Halves<'m> {
    let mut halves = Halves::default();
    for step in steps {
        if !halves.push(step, &mut in_function) {
            break;
        }
    }
    halves
}

/// The number of first steps that save most machine instructions as a group, and how many. Each
/// step has its cost alone.
fn saving<'s, 'm: 's>(
    steps: impl Iterator<Item = (&'s Step<'m>, u32)>,
    target: Target,
    mut in_function: impl FnMut(&Register) -> Option<u32>,
) -> Option<(usize, u32)> {
    let mut halves = Halves::default();
    let (mut best, mut before) = (None, 0);
    for (step, cost) in steps {
        halves.push(step, &mut in_function);
        before += cost;
        let saved = before.saturating_sub(halves.cost(target));
        if halves.len() > 1
            && saved > margin(target) + halves.repeated()
            && best.is_none_or(|(_, most)| saved > most)
        {
            best = Some((halves.len(), saved));
        }
    }
    best
}

/// A group must save more than this, and more by one for each value or pair of values that members
/// read again: ptxas computes some of what two members need once.
fn margin(target: Target) -> u32 {
    if target.number >= 120 { 2 } else { 1 }
}
