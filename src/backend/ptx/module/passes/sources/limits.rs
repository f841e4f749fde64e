//! Saturating differences with the same subtrahend.
//!
//! Before `sm_120`, such a difference of words is five machine instructions. By limits on the first
//! word it is three, and three more find the limits. ptxas finds the limits once for all neighbours
//! that subtract the same word. A difference of halves is four to six machine instructions; from
//! `sm_90` on it is three by limits, and four more find the limits.

use super::super::super::super::facts::Facts;
use super::super::super::super::straight::names_between;
use crate::isa::{LaneWidth, Lanes, Type};
use crate::module::VideoStatement;
use crate::source::Span;
use crate::video::{
    Operation, Register, ScalarOperands, SimdArithmetic, SimdOp, SimdTail, Source, Tail, numbered,
};

/// This many statements before and after an instruction are its neighbours.
const NEAR: usize = 8;

/// This many must share limits. Two would do if ptxas emitted all counted machine instructions.
const LEAST: usize = 3;

/// This many statements before and after an instruction may be in its loop.
const NEAR_IN_LOOP: usize = 24;

/// The assumed iterations of a loop. All of them share the limits that stand before it.
const ITERATIONS: u32 = 16;

/// The number of neighbouring instructions, this one included, that subtract the same word from
/// different words while nothing writes it: ptxas computes the word's limits once for all of them.
/// If they are fewer than three, or on halves, a loop-invariant word still has its limits before
/// the loop: then two instructions are enough, and the answer is [`ITERATIONS`]. Otherwise 1.
pub(super) fn sharing(
    source: &str,
    statements: &[VideoStatement],
    at: usize,
    facts: Option<&mut Facts<'_>>,
) -> u32 {
    let Some(own) = Difference::of(&statements[at]) else { return 1 };
    let near = |most: usize| (at.saturating_sub(most), statements.len().min(at + most + 1));
    let (start, end) = near(NEAR);
    let keeps =
        |first: usize| keeps(source, &statements[first], &statements[first + 1], own.words[1]);
    let before = (start..at).rev().take_while(|first| keeps(*first));
    let after = (at + 1..end).take_while(|last| keeps(last - 1));
    // ptxas computes equal differences once.
    let mut words = vec![own.words[0]];
    let mut add = |other: usize| match own.shared_by(&statements[other]) {
        Some(word) if !words.contains(&word) => words.push(word),
        _ => {}
    };
    before.chain(after).for_each(&mut add);
    if words.len() >= LEAST && own.width.is_none() {
        return words.len() as u32;
    }
    let Some(facts) = facts else { return 1 };
    let mut before_loop = |statement: &VideoStatement| {
        let end = facts.at(statement)?.before_loop(own.words[1])?;
        Some((statement.function, end))
    };
    let is_shared = before_loop(&statements[at]).is_some_and(|place| {
        let (start, end) = near(NEAR_IN_LOOP);
        statements[start..end].iter().any(|other| {
            own.shared_by(other).is_some_and(|word| word != own.words[0])
                && before_loop(other) == Some(place)
        })
    });
    if is_shared { ITERATIONS } else { 1 }
}

/// A difference of signed words or halves that saturates.
struct Difference<'s> {
    words: [&'s Register; 2],
    width: Option<LaneWidth>,
}

impl<'s> Difference<'s> {
    fn of(statement: &'s VideoStatement) -> Option<Difference<'s>> {
        let instruction = statement.instruction.as_ref().filter(|it| it.guard.is_none())?;
        let (op, types, saturates, words, width) = match &instruction.operation {
            Operation::Arithmetic(it) => {
                let ScalarOperands { a, b, tail, .. } = &it.operands;
                let saturates = it.saturate && !matches!(tail, Tail::Merge { .. });
                let (types, words) = ([it.dtype, it.atype, it.btype], [word(a)?, word(b)?]);
                (it.op.on_lanes(), types, saturates, words, None)
            }
            Operation::SimdArithmetic(SimdArithmetic { op, dtype, operands, tail }) => {
                let width = LaneWidth::Halves;
                let are_all = operands.lanes == Lanes::all(width);
                let saturates = are_all && *tail == SimdTail::Merge { saturate: true };
                let types = [*dtype, operands.atype, operands.btype];
                (*op, types, saturates, [&operands.a, &operands.b], Some(width))
            }
            _ => return None,
        };
        let is_signed = op == SimdOp::Sub && saturates && types == [Type::S32; 3];
        (is_signed && words[0] != words[1]).then_some(Difference { words, width })
    }

    /// The first word of a difference of the same kind with the same second word.
    fn shared_by<'o>(&self, other: &'o VideoStatement) -> Option<&'o Register> {
        let Difference { words: [first, second], width } = Difference::of(other)?;
        (second == self.words[1] && width == self.width).then_some(first)
    }
}

fn word(source: &Source) -> Option<&Register> {
    match source {
        Source::Register { register, part: None } => Some(register),
        Source::Register { part: Some(_), .. } | Source::Immediate(_) => None,
    }
}

/// Whether a register keeps its value from the start of a statement to the start of the next.
fn keeps(source: &str, first: &VideoStatement, next: &VideoStatement, register: &Register) -> bool {
    let name = numbered(register.name());
    let is_other = |it: &Register| numbered(it.name()) != name;
    first.function == next.function
        && first.instruction.as_ref().is_some_and(|it| is_other(it.destination()))
        && names_between(source, Span::new(first.span.end, next.span.start), |_| false)
            .is_some_and(|names| !names.contains(&name))
}
