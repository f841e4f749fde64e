//! Four-way SIMD `vadd4`, `vsub4`, `vavrg4`, `vabsdiff4`, `vmin4`,
//! `vmax4` (9.7.18.2.3).

use crate::isa::{Destination, Form, Mnemonic, Negation, Requirement, Slot, Sources};

const MERGE: Form = Form {
    mnemonics: &[
        Mnemonic::Vadd4,
        Mnemonic::Vsub4,
        Mnemonic::Vavrg4,
        Mnemonic::Vabsdiff4,
        Mnemonic::Vmin4,
        Mnemonic::Vmax4,
    ],
    slots: &[Slot::DTYPE, Slot::ATYPE, Slot::BTYPE, Slot::SATURATE],
    destination: Destination::Mask4,
    sources: Sources::Lanes4,
    third: true,
    negation: Negation::Forbidden,
    requirement: Requirement::SIMD,
    section: "9.7.18.2.3",
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
Works on 4 lanes of 8 bits at once. A selector names, for each lane and with
lane 0 last, which byte of the pair `{b, a}` is taken: the bytes of `a` have
the lower numbers. Left out, `a` takes its own lanes (`.b3210`) and `b` its own
(`.b7654`). Lanes are extended by the type of their operand and computed exactly.

Without `.add`, lanes named by the mask on `d` (all of them when it is left out)
receive their result, clamped to 8 bits by `.dtype` when `.sat` is written, and
the other lanes come from `c`. With `.add`, `d` is `c` plus the sum of the exact
results of the lanes in the mask. `.sat` and `.add` exclude each other, and `c`
is always there. `vavrg4` rounds halves away from zero for sums of zero and more,
towards minus infinity below.
";
