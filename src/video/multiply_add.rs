//! Scalar `vmad` (9.7.18.1.3).

use crate::isa::{Destination, Form, Mnemonic, Negation, Requirement, Slot, Sources};

const PRODUCT: Form = Form {
    mnemonics: &[Mnemonic::Vmad],
    slots: &[Slot::DTYPE, Slot::ATYPE, Slot::BTYPE, Slot::SATURATE, Slot::SCALE],
    destination: Destination::Word,
    sources: Sources::Scalar,
    third: true,
    negation: Negation::ProductOrThird,
    requirement: Requirement::SCALAR,
    section: "9.7.18.1.3",
    title: "multiply and add",
};

pub(super) const FORMS: &[Form] = &[
    PRODUCT,
    Form {
        slots: &[
            Slot::DTYPE,
            Slot::ATYPE,
            Slot::BTYPE,
            Slot::PLUS_ONE,
            Slot::SATURATE,
            Slot::SCALE,
        ],
        negation: Negation::Forbidden,
        title: "plus one mode",
        ..PRODUCT
    },
];

pub(super) const PROSE: &str = "\
Multiplies the selected parts of `a` and `b`, extended by their types, and adds
the whole of `c`: exactly, then optionally shifted right by 7 or 15 bits
(`.shr7`, `.shr15`), then with `.sat` clamped to 32 bits.

A minus on one of `a`, `b` negates the product (on both it cancels), a minus on
`c` negates `c`; the product and `c` cannot both be negated. `.po` adds one more
and takes no minus at all.

The sum counts as signed when a source type is `.s32` or anything is negated;
that decides how `c` is extended, how the scale shifts and what `.sat` clamps
to. `.dtype` must be written but has no effect.
";
