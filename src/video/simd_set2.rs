//! Two-way SIMD comparison `vset2` (9.7.18.2.2).

use crate::isa::{Destination, Form, Mnemonic, Negation, Requirement, Slot, Sources};

const MERGE: Form = Form {
    mnemonics: &[Mnemonic::Vset2],
    slots: &[Slot::ATYPE, Slot::BTYPE, Slot::COMPARE],
    destination: Destination::Mask2,
    sources: Sources::Lanes2,
    third: true,
    negation: Negation::Forbidden,
    requirement: Requirement::SIMD,
    section: "9.7.18.2.2",
    title: "lane merge",
};

pub(super) const FORMS: &[Form] = &[
    MERGE,
    Form {
        slots: &[Slot::ATYPE, Slot::BTYPE, Slot::COMPARE, Slot::ACCUMULATE],
        title: "accumulation",
        ..MERGE
    },
];

pub(super) const PROSE: &str = "\
Compares 2 pairs of 16-bit lanes as exact numbers; each gives 1 or 0. Selectors
and mask work as in `vadd2`.

Without `.add`, lanes named by the mask receive their 1 or 0 and the others come
from `c` (the manual's prose says `b`; its pseudocode and ptxas say `c`). With
`.add`, `d` is `c` plus the number of true lanes in the mask. There is no
destination type, no `.sat`, and of the secondary operations only `.add`.
";
