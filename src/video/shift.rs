//! Scalar `vshl`, `vshr` (9.7.18.1.2).

use crate::isa::{Destination, Form, Mnemonic, Negation, Requirement, Slot, Sources};

const PLAIN: Form = Form {
    mnemonics: &[Mnemonic::Vshl, Mnemonic::Vshr],
    slots: &[Slot::DTYPE, Slot::ATYPE, Slot::AMOUNT_TYPE, Slot::SATURATE, Slot::MODE],
    destination: Destination::Word,
    sources: Sources::Scalar,
    third: false,
    negation: Negation::Forbidden,
    requirement: Requirement::SCALAR,
    section: "9.7.18.1.2",
    title: "plain operation",
};

pub(super) const FORMS: &[Form] = &[
    PLAIN,
    Form {
        slots: &[
            Slot::DTYPE,
            Slot::ATYPE,
            Slot::AMOUNT_TYPE,
            Slot::SATURATE,
            Slot::MODE,
            Slot::SECONDARY,
        ],
        third: true,
        title: "secondary operation",
        ..PLAIN
    },
    Form { destination: Destination::Part, third: true, title: "data merge", ..PLAIN },
];

pub(super) const PROSE: &str = "\
Shifts the selected part of `a`, extended by its type, by the selected part of
`b`, which is always unsigned. `.clamp` makes amounts above 32 count as 32,
`.wrap` uses the low five bits only; one of the two must be written.

`vshl` fills with zeros and keeps 34 bits, read as signed. `vshr` fills with
the sign of the extended value, so with zeros for `.u32`.

`.sat`, the secondary operation and the merge into a part of `d` work as in
`vadd`.
";
