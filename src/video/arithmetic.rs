//! Scalar `vadd`, `vsub`, `vabsdiff`, `vmin`, `vmax` (9.7.18.1.1).

use crate::isa::{Destination, Form, Mnemonic, Negation, Requirement, Slot, Sources};

const MNEMONICS: &[Mnemonic] =
    &[Mnemonic::Vadd, Mnemonic::Vsub, Mnemonic::Vabsdiff, Mnemonic::Vmin, Mnemonic::Vmax];

const PLAIN: Form = Form {
    mnemonics: MNEMONICS,
    slots: &[Slot::DTYPE, Slot::ATYPE, Slot::BTYPE, Slot::SATURATE],
    destination: Destination::Word,
    sources: Sources::Scalar,
    third: false,
    negation: Negation::Forbidden,
    requirement: Requirement::SCALAR,
    section: "9.7.18.1.1",
    title: "plain operation",
};

pub(super) const FORMS: &[Form] = &[
    PLAIN,
    Form {
        slots: &[Slot::DTYPE, Slot::ATYPE, Slot::BTYPE, Slot::SATURATE, Slot::SECONDARY],
        third: true,
        title: "secondary operation",
        ..PLAIN
    },
    Form { destination: Destination::Part, third: true, title: "data merge", ..PLAIN },
];

pub(super) const PROSE: &str = "\
Takes a byte, half-word or the whole word of `a` and of `b` as the selectors
say, extends each by its type (sign for `.s32`, zeros for `.u32`), and works on
the exact values, so nothing overflows before the result is used.

`.sat` clamps the result to the range of the destination: signed or unsigned as
`.dtype` says, 8, 16 or 32 bits wide as the destination selector says.

Then one of three things happens: the low 32 bits are written to `d`; a
secondary operation (`.add`, `.min`, `.max`) combines the result with `c`; or,
with a selector on `d`, the low 8 or 16 bits go into that part of `d` and the
other bits come from `c`. The old value of `d` never matters.
";
