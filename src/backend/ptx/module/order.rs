//! The order of the sources of SIMD minima and maxima.
//!
//! `min(a, b)` is `min(b, a)`, but a sequence compares in one direction only. ptxas computes once
//! what neighbours repeat, so they should compare in the same direction.

use crate::isa::{Compare, Lanes, Type};
use crate::module::VideoStatement;
use crate::video::{Instruction, Operation, Register, SimdOp, SimdOperands};

/// So many statements before and after an instruction are its neighbours.
const NEAR: usize = 8;

/// Whether an instruction shares a comparison with a neighbour if its sources are exchanged. `at`
/// is its place among the statements.
pub(super) fn should_exchange(statements: &[VideoStatement], at: usize) -> bool {
    let instruction = statements[at].instruction.as_ref().filter(|it| it.guard.is_none());
    let Some(own) = instruction.and_then(Compared::of).filter(|own| own.is_extremum) else {
        return false;
    };
    let (before, after) = (&statements[..at], &statements[at + 1..]);
    let near = before.iter().rev().take(NEAR).chain(after.iter().take(NEAR));
    let mut is_alone = true;
    let near = near.filter_map(|statement| Compared::of(statement.instruction.as_ref()?));
    for other in near.filter(|other| own.is_alike(other)) {
        if !other.is_extremum {
            return own.pair != other.pair;
        }
        is_alone = false;
    }
    // Among themselves, extrema agree on the names' order.
    !is_alone && own.pair[0].name() > own.pair[1].name()
}

/// A comparison of lanes that is a result, or decides which lane is one.
struct Compared<'s> {
    /// Is the first one less than the second?
    pair: [&'s Register; 2],
    ty: Type,
    /// The lanes that are read.
    lanes: Lanes,
    is_extremum: bool,
}

impl<'s> Compared<'s> {
    fn of(instruction: &'s Instruction) -> Option<Compared<'s>> {
        let (operands, is_extremum, is_turned) = match &instruction.operation {
            Operation::SimdArithmetic(it) if matches!(it.op, SimdOp::Min | SimdOp::Max) => {
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
            lanes: whole,
            is_extremum,
        })
    }

    /// Whether both compare the same lanes, in this order or in the other one.
    fn is_alike(&self, other: &Compared<'_>) -> bool {
        let [a, b] = self.pair;
        (self.ty, self.lanes) == (other.ty, other.lanes)
            && (other.pair == [a, b] || other.pair == [b, a])
    }
}

/// A SIMD minimum or maximum of the same lanes of both sources, with these exchanged.
pub(super) fn exchange(instruction: &Instruction) -> Instruction {
    let mut exchanged = instruction.clone();
    if let Operation::SimdArithmetic(it) = &mut exchanged.operation {
        std::mem::swap(&mut it.operands.a, &mut it.operands.b);
    }
    exchanged
}
