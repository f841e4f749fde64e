//! A scalar instruction that may continue the work of another one.

use super::super::straight::RegisterCopy;
use crate::isa::{Compare, LaneWidth, Part, SecondaryOp, Type};
use crate::module::{DeclaredTypes, VideoStatement};
use crate::video::{
    Instruction, Operand, Operation, Register, ScalarOperands, SimdOp, Source, Tail,
};

/// A scalar instruction that reads parts of `a` and `b`, and combines its result with `c`.
pub(super) struct Member<'m> {
    pub(super) instruction: &'m Instruction,
    pub(super) declared: DeclaredTypes,
    pub(super) common: Common,
    pub(super) d: &'m Register,
    pub(super) a: &'m Register,
    pub(super) b: &'m Register,
    pub(super) c: &'m Register,
    /// The lane that the member fills; `None` in a sum.
    pub(super) to: Option<usize>,
    /// The lanes that the member reads.
    pub(super) from: [usize; 2],
    /// The copy before this member, which brings it the previous member's result.
    pub(super) copy: Option<RegisterCopy>,
}

/// The facts that members of a chain have in common, besides registers.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Common {
    pub(super) primary: Primary,
    pub(super) types: [Type; 2],
    /// The width of the parts of `a` and of `b`. They differ only in products.
    pub(super) widths: [LaneWidth; 2],
    /// Whether results are added to `c`. Otherwise they fill parts of it.
    pub(super) adds: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Primary {
    Arithmetic { op: SimdOp, dtype: Type, saturate: bool },
    Set(Compare),
    Product,
}

impl<'m> Member<'m> {
    pub(super) fn of(statement: &'m VideoStatement) -> Option<Member<'m>> {
        let instruction = statement.instruction.as_ref().filter(|it| it.guard.is_none())?;
        Member::new(instruction, statement.declared)
    }

    /// The instruction as a member, whatever its guard.
    pub(super) fn new(instruction: &'m Instruction, declared: DeclaredTypes) -> Option<Member<'m>> {
        let found = match &instruction.operation {
            Operation::Arithmetic(it) => {
                let op = it.op.on_lanes();
                let primary = Primary::Arithmetic { op, dtype: it.dtype, saturate: it.saturate };
                let (a, b, c, to) = scalar(&it.operands)?;
                (primary, [it.atype, it.btype], a, b, c, to)
            }
            Operation::Set(it) => {
                let (a, b, c, to) = scalar(&it.operands)?;
                (Primary::Set(it.compare), [it.atype, it.btype], a, b, c, to)
            }
            Operation::MultiplyAdd(it) => {
                let (types, Operand::Register(c)) = it.plain()? else { return None };
                let [a, b] = it.factors();
                (Primary::Product, types, a, b, c, None)
            }
            _ => return None,
        };
        let (primary, types, a, b, c, to) = found;
        let [(a, (width_a, from_a)), (b, (width_b, from_b))] = [selected(a)?, selected(b)?];
        let is_even = primary == Primary::Product || width_a == width_b;
        let fits = to.is_none_or(|to| lane(to).0 == width_a);
        (is_even && fits).then_some(Member {
            instruction,
            declared,
            common: Common { primary, types, widths: [width_a, width_b], adds: to.is_none() },
            d: instruction.destination(),
            a,
            b,
            c,
            to: to.map(|part| lane(part).1),
            from: [from_a, from_b],
            copy: None,
        })
    }

    /// Whether this member computes the same as another member, on other parts.
    pub(super) fn is_alike(&self, before: &Member<'_>) -> bool {
        self.common == before.common
            && (self.a, self.b) == (before.a, before.b)
            // This member reads its operands after the previous one writes `d`.
            && !before.d.names_same(self.a)
            && !before.d.names_same(self.b)
    }

    /// Whether this member continues the work of another one, perhaps after a copy. `c` is the
    /// first member's `c`.
    pub(super) fn goes_on(&self, before: &Member<'_>, c: &Register) -> bool {
        match &self.copy {
            None => self.c == before.d,
            Some(copy) => {
                // The copy stays. The chain's code comes after it, and reads these registers.
                let is_kept = [self.a, self.b, c].iter().all(|it| !copy.d.names_same(it));
                *before.d == copy.from && *self.c == copy.d && is_kept
            }
        }
    }
}

/// The sources, and the part of `c` that is filled, if `c` is not added.
fn scalar(
    ScalarOperands { a, b, tail, .. }: &ScalarOperands,
) -> Option<(&Source, &Source, &Register, Option<Part>)> {
    match tail {
        Tail::Merge { part, c: Operand::Register(c) } => Some((a, b, c, Some(*part))),
        Tail::Secondary { op: SecondaryOp::Add, c: Operand::Register(c) } => Some((a, b, c, None)),
        _ => None,
    }
}

/// A register with the width and the lane of the part that is read.
fn selected(source: &Source) -> Option<(&Register, (LaneWidth, usize))> {
    match source {
        Source::Register { register, part: Some(part) } => Some((register, lane(*part))),
        Source::Register { part: None, .. } | Source::Immediate(_) => None,
    }
}

/// The layout that has such a part, and the part's lane.
fn lane(part: Part) -> (LaneWidth, usize) {
    let width = if part.width() == 8 { LaneWidth::Bytes } else { LaneWidth::Halves };
    let lane = (0..width.lanes()).find(|&lane| width.part(lane) == Some(part));
    (width, lane.unwrap_or_default())
}
