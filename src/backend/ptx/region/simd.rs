//! The SIMD instruction that computes the same as several scalar instructions.

use super::member::{Member, Primary};
use super::sum::summand;
use crate::isa::{LaneWidth, Lanes, Mask, Selector};
use crate::video::{
    Instruction, Operation, Semantics, SimdArithmetic, SimdOperands, SimdSet, SimdTail,
};

/// The SIMD instruction that combines the parts that some members read, with the first member's
/// `c`. `None` for products.
pub(super) fn simd(members: &[Member<'_>]) -> Option<Instruction> {
    let (first, last) = (members.first()?, members.last()?);
    let (common, width) = (first.common, first.common.widths[0]);
    let [mut a, mut b] = [Selector::default_a(width), Selector::default_b(width)]
        .map(|selector| selector.lanes().to_vec());
    let mut mask = 0u8;
    for member in members {
        let to = place(member, width, mask)?;
        mask |= 1 << to;
        a[to] = member.from[0] as u8;
        b[to] = (width.lanes() + member.from[1]) as u8;
    }
    let (a, b) = (Selector::new(width, &a)?, Selector::new(width, &b)?);
    let operands = SimdOperands {
        atype: common.types[0],
        btype: common.types[1],
        d: last.d.clone(),
        a: first.a.clone(),
        b: first.b.clone(),
        c: first.c.clone(),
        lanes: Lanes::new(Mask::new(width, mask)?, a, b)?,
    };
    Some(Instruction::new(match common.primary {
        Primary::Arithmetic { op, dtype, saturate } => {
            let tail =
                if common.adds { SimdTail::Accumulate } else { SimdTail::Merge { saturate } };
            Operation::SimdArithmetic(SimdArithmetic { op, dtype, operands, tail })
        }
        Primary::Set(compare) => {
            Operation::SimdSet(SimdSet { compare, operands, accumulate: common.adds })
        }
        Primary::Product => return None,
    }))
}

/// The lane for a member's result. A sum takes any free lane, if possible the lane of a part that
/// the member reads: this lane needs no selector.
fn place(member: &Member<'_>, width: LaneWidth, taken: u8) -> Option<usize> {
    let is_free = |lane: &usize| taken >> lane & 1 == 0;
    match member.to {
        Some(to) => Some(to),
        None => member.from.into_iter().chain(0..width.lanes()).find(is_free),
    }
}

/// Whether the SIMD instruction computes the same as its members, one after the other. Lanes do not
/// depend on each other. So it is enough that each member equals the SIMD instruction with one
/// lane: both have the same program or, in a sum, the same summand.
pub(super) fn is_exact(members: &[Member<'_>], semantics: Semantics) -> bool {
    members.chunks(1).all(|member| {
        let Some(alone) = simd(member) else { return false };
        let [own, alone] = [member[0].instruction, &alone].map(|it| it.lower(semantics));
        if member[0].common.adds {
            summand(&own).is_some_and(|own| Some(own) == summand(&alone))
        } else {
            own == alone
        }
    })
}
