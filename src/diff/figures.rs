//! Counts the parts of a text.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::outline::{Class, Outline};
use crate::syntax::StatementKind;

/// The numbers of parts of a text.
pub(crate) struct Figures<'o> {
    /// Functions with a body.
    pub(crate) functions: usize,
    /// Instructions in functions, by opcode.
    pub(crate) opcodes: BTreeMap<Cow<'o, str>, usize>,
    /// Registers that functions use, by their width in bits; 0 for vectors.
    pub(crate) registers: BTreeMap<u8, usize>,
}

impl<'o> Figures<'o> {
    pub(super) fn of(outline: &'o Outline<'_>) -> Figures<'o> {
        let mut opcodes = BTreeMap::new();
        for function in &outline.functions {
            for statement in outline.statements(function).iter().skip(1) {
                if matches!(outline.syntax(statement).kind(), StatementKind::Instruction(_)) {
                    *opcodes.entry(outline.opcode(statement)).or_default() += 1;
                }
            }
        }
        let mut registers = BTreeMap::new();
        for name in &outline.names {
            let bits = match name.class {
                Class::Register(bits) => bits,
                Class::Vector => 0,
                _ => continue,
            };
            *registers.entry(bits).or_default() += 1;
        }
        Figures { functions: outline.functions.len(), opcodes, registers }
    }
}
