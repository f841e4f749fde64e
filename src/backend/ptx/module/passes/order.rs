//! Order: SIMD minima and maxima compare their sources in the direction of their neighbours, so
//! that ptxas finds common subexpressions.
//!
//! A sequence compares in one direction only, and ptxas computes once what neighbours repeat. This
//! is right because `min(a, b)` is `min(b, a)`. Tested by `tests/library/order.rs`.

use super::super::super::facts::{Facts, Site};
use super::super::super::lanes::has_sums_of_halves;
use super::super::super::{Gate, Opcode};
use super::super::rewriter::{Rewriter, Standing};
use super::{Reading, Replacement};
use crate::ir::Input;
use crate::isa::{Compare, Feature, LaneWidth, Lanes, Type};
use crate::module::VideoStatement;
use crate::video::{Instruction, Operation, Register, Semantics, SimdOp, SimdOperands, SimdTail};

/// An extremum in the direction of a neighbour's comparison.
pub(super) fn pass(
    rewriter: &mut Rewriter<'_>,
    reading: &mut Reading<'_, '_>,
    at: usize,
) -> Option<Replacement> {
    let Reading { given, statements, chains, .. } = reading;
    // On sm_70, repeated comparisons are no longer than shared ones.
    let is_shorter = given.target.has(Feature::Ptxas13);
    if !is_shorter || !should_exchange(statements, at, given.gate, &mut chains.facts) {
        return None;
    }
    let statement = &statements[at];
    let instruction = statement.instruction.as_ref()?;
    let (standing, declared) = (Standing::Exchanged, statement.declared);
    Some(Replacement::Single(rewriter.form(instruction, standing, declared, *given)))
}

/// This many statements before and after an instruction are its neighbours.
const NEAR: usize = 24;

/// Whether an instruction shares a comparison with a neighbour if its sources are exchanged, and
/// shares none as it is. `at` is the instruction's place among the statements.
fn should_exchange(
    statements: &[VideoStatement],
    at: usize,
    gate: Gate,
    facts: &mut Facts<'_>,
) -> bool {
    let statement = &statements[at];
    let instruction = statement.instruction.as_ref().filter(|it| it.guard.is_none());
    let Some(own) = instruction.and_then(Compared::of).filter(|own| own.is_extremum) else {
        return false;
    };
    let has_extrema = match own.width {
        LaneWidth::Halves => has_sums_of_halves(gate),
        LaneWidth::Bytes => gate.has(Opcode::Min4(own.ty).needs()),
    };
    if has_extrema {
        return false;
    }
    let (before, after) = (&statements[..at], &statements[at + 1..]);
    let mut alike = |near: &'_ VideoStatement| {
        let is_near = near.function == statement.function;
        let other = Compared::of(near.instruction.as_ref().filter(|_| is_near)?)?;
        let is_alike = own.is_alike(&other)
            && own.pair.iter().all(|register| facts.is_same_value(register, statement, near))
            && !is_unused(near, statements, facts);
        is_alike.then_some((other.pair == own.pair, other.is_extremum))
    };
    let before: Vec<_> = before.iter().rev().take(NEAR).filter_map(&mut alike).collect();
    let after = after.iter().take(NEAR).filter_map(&mut alike);
    let mut results = before.iter().copied().chain(after).filter(|(_, is_extremum)| !is_extremum);
    let should = match results.next() {
        Some((is_same, _)) => !is_same && results.all(|(is_same, _)| !is_same),
        // Without comparisons as results, extrema agree with the first extremum.
        None => before.last().is_some_and(|(is_same, _)| !is_same),
    };
    // ptxas hoists what is loop-invariant. There, common steps save nothing.
    let is_hoisted = |site: Site<'_>| own.pair.iter().all(|it| site.is_loop_invariant(it));
    should && !facts.at(statement).is_some_and(is_hoisted)
}

/// Whether a result is read only as the `c` of instructions that overwrite all of it. ptxas removes
/// the instruction that computes such a result.
fn is_unused(
    statement: &VideoStatement,
    statements: &[VideoStatement],
    facts: &mut Facts<'_>,
) -> bool {
    let operands = statement.instruction.as_ref().and_then(Instruction::simd);
    let Some(SimdOperands { d, .. }) = operands else { return false };
    let readers = facts.at(statement).and_then(|site| site.readers(d)).unwrap_or_default();
    let overwrites = |start: &u32| {
        let at = statements.binary_search_by_key(start, |it| it.span.start).ok()?;
        let reader = statements[at].instruction.as_ref().filter(|it| it.guard.is_none())?;
        let SimdOperands { a, b, .. } = reader.simd()?;
        let is_c = !a.names_same(d) && !b.names_same(d);
        Some(is_c && !reader.lower(Semantics::CURRENT).reads(Input::C))
    };
    !readers.is_empty() && readers.iter().all(|start| overwrites(start) == Some(true))
}

/// A comparison of lanes that is the result, or that selects the result's lanes.
struct Compared<'s> {
    /// The sequence finds the lanes where the first register is less than the second.
    pair: [&'s Register; 2],
    ty: Type,
    width: LaneWidth,
    is_extremum: bool,
}

impl<'s> Compared<'s> {
    fn of(instruction: &'s Instruction) -> Option<Compared<'s>> {
        let (operands, is_extremum, is_turned) = match &instruction.operation {
            Operation::SimdArithmetic(it) if matches!(it.op, SimdOp::Min | SimdOp::Max) => {
                if it.operands.lanes.width() == LaneWidth::Halves && it.tail == SimdTail::Accumulate
                {
                    // Each half is extended for the sum, and needs no comparison.
                    return None;
                }
                (&it.operands, true, false)
            }
            Operation::SimdSet(it) => match it.compare {
                Compare::Lt | Compare::Ge => (&it.operands, false, false),
                Compare::Gt | Compare::Le => (&it.operands, false, true),
                Compare::Eq | Compare::Ne => return None,
            },
            _ => return None,
        };
        let SimdOperands { atype, btype, a, b, lanes, .. } = operands;
        let whole = Lanes::all(lanes.width());
        let is_plain = atype == btype && (lanes.a(), lanes.b()) == (whole.a(), whole.b());
        is_plain.then_some(Compared {
            pair: if is_turned { [b, a] } else { [a, b] },
            ty: *atype,
            width: lanes.width(),
            is_extremum,
        })
    }

    /// Whether both compare the same lanes, in this order or in the other one.
    fn is_alike(&self, other: &Compared<'_>) -> bool {
        let [a, b] = self.pair;
        (self.ty, self.width) == (other.ty, other.width)
            && (other.pair == [a, b] || other.pair == [b, a])
    }
}

/// A SIMD minimum or maximum of the same lanes of both sources, with the sources exchanged.
pub(in super::super) fn exchange(instruction: &Instruction) -> Instruction {
    let mut exchanged = instruction.clone();
    if let Operation::SimdArithmetic(it) = &mut exchanged.operation {
        std::mem::swap(&mut it.operands.a, &mut it.operands.b);
    }
    exchanged
}
