//! The extension module `vptx._vptx`. It converts values and holds no logic of its own.
#![cfg(feature = "module")]

mod arguments;
mod batch;
mod columns;
mod extract;
mod finding;
mod instruction;
mod names;
mod results;
mod tree;

use pyo3::prelude::*;

/// Reads, checks, formats, evaluates and rewrites the video instructions of NVIDIA PTX.
#[pymodule(gil_used = false)]
mod _vptx {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::extract::{ExtractError, Image, extract};
    #[pymodule_export]
    use crate::finding::{
        Edit, Finding, Fix, Label, Position, PtxError, Span, apply, findings_table,
    };
    #[pymodule_export]
    use crate::instruction::{Cost, Instruction, Lane, Operand, Program, Step, Trace, restore};
    #[pymodule_export]
    use crate::names::{Scope, Symbol, Use};
    #[pymodule_export]
    use crate::results::{
        Change, Fixed, Module, Rewritten, check, explain, fix, format, normalize, parse, rewrite,
        semantics_of_ptxas,
    };

    #[pymodule_export]
    use crate::tree::{EditError, Edited, Edits, Function, Statement, TreeError, TreeOperand};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
