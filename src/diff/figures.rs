//! Counts of a text.

use std::collections::BTreeMap;

use super::opcode;
use super::outline::{Class, Outline};

/// The numbers of things in a text.
pub(crate) struct Figures<'s> {
    /// Functions with a body.
    pub(crate) functions: usize,
    /// Statements of functions by their opcodes, without labels and directives.
    pub(crate) opcodes: BTreeMap<&'s str, usize>,
    /// Registers that functions use, by their bits; 0 for vectors.
    pub(crate) registers: BTreeMap<u8, usize>,
}

impl<'s> Figures<'s> {
    pub(super) fn of(outline: &Outline<'s>) -> Figures<'s> {
        let mut opcodes = BTreeMap::new();
        for function in &outline.functions {
            for statement in outline.statements(function).iter().skip(1) {
                let opcode = opcode(outline.source, statement.span);
                let is_label = outline.source[statement.span.range()].ends_with(':');
                if opcode.starts_with(|c: char| c.is_ascii_alphabetic()) && !is_label {
                    *opcodes.entry(opcode).or_default() += 1;
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
