//! Mojo, whose strings and comments are those of Python.

use super::python::PYTHON;
use super::{Call, Declared, NAMED, Syntax};

pub(super) const MOJO: Syntax =
    Syntax { calls: &CALLS, declaring: &["alias", "comptime", "var", "let"], ..PYTHON };

const CALLS: [Call; 1] = [Call {
    name: "inlined_assembly",
    open: b'[',
    text: (0, &["asm"]),
    operands: Declared::Constraints(NAMED, &["constraints"]),
}];
