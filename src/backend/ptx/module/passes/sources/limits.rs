//! Saturating differences with the same subtrahend.
//!
//! Before `sm_120`, such a difference of words is five machine instructions. By limits on the first
//! word it is three, and three more find the limits. ptxas finds them once for all neighbours that
//! subtract the same word.

use super::super::super::super::straight::names_between;
use crate::isa::Type;
use crate::module::VideoStatement;
use crate::video::{Operation, Register, SimdOp, Source, Tail, numbered};

/// So many statements before and after an instruction are its neighbours.
const NEAR: usize = 8;

/// So many must share limits. Two would do if ptxas emitted all of them.
const LEAST: usize = 3;

/// The number of neighbouring instructions, with this one, that subtract one word from different
/// ones while nothing writes it: ptxas computes its limits once for all of them. 1 if there are fewer
/// than three.
pub(super) fn sharing(source: &str, statements: &[VideoStatement], at: usize) -> u32 {
    let Some([own, shared]) = difference(&statements[at]) else { return 1 };
    let (start, end) = (at.saturating_sub(NEAR), statements.len().min(at + NEAR + 1));
    let keeps = |first: usize| keeps(source, &statements[first], &statements[first + 1], shared);
    let before = (start..at).rev().take_while(|first| keeps(*first));
    let after = (at + 1..end).take_while(|last| keeps(last - 1));
    // ptxas computes equal differences once.
    let mut words = vec![own];
    for other in before.chain(after) {
        match difference(&statements[other]) {
            Some([word, other]) if other == shared && !words.contains(&word) => words.push(word),
            _ => {}
        }
    }
    if words.len() < LEAST { 1 } else { words.len() as u32 }
}

/// The two words of which an instruction computes the difference and saturates it.
fn difference(statement: &VideoStatement) -> Option<[&Register; 2]> {
    let instruction = statement.instruction.as_ref().filter(|it| it.guard.is_none())?;
    let Operation::Arithmetic(it) = &instruction.operation else { return None };
    let types = [it.dtype, it.atype, it.btype];
    let is_word = it.op.on_lanes() == SimdOp::Sub
        && it.saturate
        && types == [Type::S32; 3]
        && !matches!(it.tail, Tail::Merge { .. });
    let [a, b] = [word(&it.a)?, word(&it.b)?];
    (is_word && a != b).then_some([a, b])
}

fn word(source: &Source) -> Option<&Register> {
    match source {
        Source::Register { register, part: None } => Some(register),
        Source::Register { part: Some(_), .. } | Source::Immediate(_) => None,
    }
}

/// Whether a register keeps its value from the start of a statement to that of the next one.
fn keeps(source: &str, first: &VideoStatement, next: &VideoStatement, register: &Register) -> bool {
    let name = numbered(register.name());
    let is_other = |it: &Register| numbered(it.name()) != name;
    first.function == next.function
        && first.instruction.as_ref().is_some_and(|it| is_other(it.destination()))
        && names_between(source, first.span.end, next.span.start)
            .is_some_and(|names| !names.contains(&name))
}
