//! Two-way SIMD `vadd2`, `vsub2`, `vavrg2`, `vabsdiff2`, `vmin2`,
//! `vmax2` (9.7.18.2.1).

use crate::isa::{Destination, Form, Mnemonic, Negation, Requirement, Slot, Sources};

const MERGE: Form = Form {
    mnemonics: &[
        Mnemonic::Vadd2,
        Mnemonic::Vsub2,
        Mnemonic::Vavrg2,
        Mnemonic::Vabsdiff2,
        Mnemonic::Vmin2,
        Mnemonic::Vmax2,
    ],
    slots: &[Slot::DTYPE, Slot::ATYPE, Slot::BTYPE, Slot::SATURATE],
    destination: Destination::Mask2,
    sources: Sources::Lanes2,
    third: true,
    negation: Negation::Forbidden,
    requirement: Requirement::SIMD,
    section: "9.7.18.2.1",
    title: "lane merge",
};

pub(super) const FORMS: &[Form] = &[
    MERGE,
    Form {
        slots: &[Slot::DTYPE, Slot::ATYPE, Slot::BTYPE, Slot::ACCUMULATE],
        title: "accumulation",
        ..MERGE
    },
];

pub(super) const PROSE: &str = "\
Works on 2 lanes of 16 bits at once. A selector names, for each lane and with
lane 0 last, which half-word of the pair `{b, a}` is taken: the half-words of `a` have
the lower numbers. Left out, `a` takes its own lanes (`.h10`) and `b` its own
(`.h32`). Lanes are extended by the type of their operand and computed exactly.

Without `.add`, lanes named by the mask on `d` (all of them when it is left out)
receive their result, clamped to 16 bits by `.dtype` when `.sat` is written, and
the other lanes come from `c`. With `.add`, `d` is `c` plus the sum of the exact
results of the lanes in the mask. `.sat` and `.add` exclude each other, and `c`
is always there. `vavrg2` rounds halves away from zero for sums of zero and more,
towards minus infinity below.
";
