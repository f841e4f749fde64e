//! SIMD comparison, `vset2` (9.7.18.2.2) and `vset4` (9.7.18.2.4). ptxas follows the manual
//! here.

use super::Operation;
use super::body::{Body, Page, described};
use super::lowering::Lowering;
use super::operand::Parts;
use super::simd::SimdOperands;
use crate::ir::{Stage, Value};
use crate::isa::{
    Compare, Destination, Family, Form, LaneWidth, Mnemonic, Modifier, Negation, Requirement, Role,
    Slot, Sources,
};

/// SIMD comparison (9.7.18.2.2 and 9.7.18.2.4).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SimdSet {
    /// The comparison.
    pub compare: Compare,
    /// The operands.
    pub operands: SimdOperands,
    /// Add the 0s and 1s of the mask to `c`, instead of merging them.
    pub accumulate: bool,
}

const MERGE: Form = Form {
    mnemonics: &[Mnemonic::Vset2],
    slots: &[Slot::ATYPE, Slot::BTYPE, Slot::COMPARE],
    destination: Destination::Mask(LaneWidth::Halves),
    sources: Sources::Lanes(LaneWidth::Halves),
    third: true,
    negation: Negation::Forbidden,
    requirement: Requirement::SIMD,
    section: "9.7.18.2.2",
    title: "lane merge",
};

const MERGE4: Form = Form {
    mnemonics: &[Mnemonic::Vset4],
    destination: Destination::Mask(LaneWidth::Bytes),
    sources: Sources::Lanes(LaneWidth::Bytes),
    section: "9.7.18.2.4",
    ..MERGE
};

const ACCUMULATE: &[Slot] = &[Slot::ATYPE, Slot::BTYPE, Slot::COMPARE, Slot::ACCUMULATE];

const FORMS2: &[Form] = &[MERGE, Form { slots: ACCUMULATE, title: "accumulation", ..MERGE }];

const FORMS4: &[Form] = &[MERGE4, Form { slots: ACCUMULATE, title: "accumulation", ..MERGE4 }];

macro_rules! prose {
    ($pairs:literal, $like:literal) => {
        concat!(
            "\
Compares ",
            $pairs,
            " lanes as exact numbers; each gives 1 or 0. Selectors
and mask work as in ",
            $like,
            ".

Without `.add`, lanes named by the mask receive their 1 or 0 and the others come
from `c` (the manual's prose says `b`; its pseudocode and ptxas say `c`). With
`.add`, `d` is `c` plus the number of true lanes in the mask. There is no
destination type, no `.sat`, and of the secondary operations only `.add`.
"
        )
    };
}

pub(super) const HALVES: Page = Page {
    forms: FORMS2,
    prose: prose!("2 pairs of 16-bit", "`vadd2`"),
    deviations: &[],
    instructions: described! {
        Vset2 "two comparisons of half-words",
            // 5 == 5, 1 != 2
            "vset2.u32.u32.eq d, a, b, c;" [0x0005_0001, 0x0005_0002, 0] == 0x0001_0000;
    },
};

pub(super) const BYTES: Page = Page {
    forms: FORMS4,
    prose: prose!("4 pairs of 8-bit", "`vadd4`"),
    deviations: &[],
    instructions: described! {
        Vset4 "four comparisons of bytes",
            // two of four lanes differ
            "vset4.u32.u32.ne.add d, a, b, c;" [0x0102_0304, 0x0102_0000, 40] == 42;
    },
};

pub(super) fn build(parts: &Parts<'_>) -> Option<Operation> {
    let Family::SimdSet(width) = parts.mnemonic.family() else { return None };
    Some(Operation::SimdSet(SimdSet {
        compare: parts.get(Role::Compare).and_then(Compare::from_modifier)?,
        operands: SimdOperands::build(parts, width)?,
        accumulate: parts.has(Role::Secondary),
    }))
}

impl Body for SimdSet {
    fn mnemonic(&self) -> Mnemonic {
        match self.operands.lanes.width() {
            LaneWidth::Halves => Mnemonic::Vset2,
            LaneWidth::Bytes => Mnemonic::Vset4,
        }
    }

    fn modifier(&self, role: Role) -> Option<Modifier> {
        match role {
            Role::Atype => Some(self.operands.atype.modifier()),
            Role::Btype => Some(self.operands.btype.modifier()),
            Role::Compare => Some(self.compare.modifier()),
            Role::Secondary => self.accumulate.then_some(Modifier::Add),
            _ => None,
        }
    }

    fn lower(&self, lowering: &mut Lowering) -> Value {
        let (a, b) = self.operands.take(lowering);
        lowering.builder.stage(Stage::Compute);
        let compare = |(a, b)| lowering.builder.compare(self.compare, a, b);
        let results: Vec<Value> = a.into_iter().zip(b).map(compare).collect();
        self.operands.put(lowering, &results, self.accumulate)
    }
}
