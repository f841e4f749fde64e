//! Validated instructions.

use std::fmt;

use super::arithmetic::{self, Arithmetic};
use super::body::Body;
use super::multiply_add::{self, MultiplyAdd};
use super::operand::{Guard, Parts, Register, Tail};
use super::set::{self, Set};
use super::shift::{self, Shift};
use super::simd::SimdOperands;
use super::simd_arithmetic::{self, SimdArithmetic};
use super::simd_set::{self, SimdSet};
use super::table;
use crate::isa::{Destination, Family, Form, Mnemonic, Modifier, Role};

/// A video instruction with its guard.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Instruction {
    /// `@p` or `@!p`: executed only where the predicate says so.
    pub guard: Option<Guard>,
    /// The operation with its operands.
    pub operation: Operation,
}

/// A validated operation, by family.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Operation {
    /// `vadd vsub vabsdiff vmin vmax`
    Arithmetic(Arithmetic),
    /// `vshl vshr`
    Shift(Shift),
    /// `vmad`
    MultiplyAdd(MultiplyAdd),
    /// `vset`
    Set(Set),
    /// `vadd2`, `vadd4` and their kind
    SimdArithmetic(SimdArithmetic),
    /// `vset2`, `vset4`
    SimdSet(SimdSet),
}

impl Operation {
    /// The family it belongs to.
    pub fn family(&self) -> Family {
        self.body().mnemonic().family()
    }

    /// Puts an instruction together; `None` if its parts are not of one form.
    pub(crate) fn build(parts: &Parts<'_>) -> Option<Operation> {
        match parts.mnemonic.family() {
            Family::Arithmetic => arithmetic::build(parts),
            Family::Shift => shift::build(parts),
            Family::MultiplyAdd => multiply_add::build(parts),
            Family::Set => set::build(parts),
            Family::SimdArithmetic(_) => simd_arithmetic::build(parts),
            Family::SimdSet(_) => simd_set::build(parts),
        }
    }

    /// The one way to what families have in common.
    pub(super) fn body(&self) -> &dyn Body {
        match self {
            Operation::Arithmetic(it) => it,
            Operation::Shift(it) => it,
            Operation::MultiplyAdd(it) => it,
            Operation::Set(it) => it,
            Operation::SimdArithmetic(it) => it,
            Operation::SimdSet(it) => it,
        }
    }

    fn body_mut(&mut self) -> &mut dyn Body {
        match self {
            Operation::Arithmetic(it) => it,
            Operation::Shift(it) => it,
            Operation::MultiplyAdd(it) => it,
            Operation::Set(it) => it,
            Operation::SimdArithmetic(it) => it,
            Operation::SimdSet(it) => it,
        }
    }

    /// The operands, if they have lanes.
    pub(crate) fn simd(&self) -> Option<&SimdOperands> {
        self.body().simd()
    }
}

impl Instruction {
    /// An unguarded instruction.
    pub fn new(operation: Operation) -> Instruction {
        Instruction { guard: None, operation }
    }

    /// The mnemonic.
    pub fn mnemonic(&self) -> Mnemonic {
        self.operation.body().mnemonic()
    }

    /// The modifier that fills a role, if one is written.
    pub fn modifier(&self, role: Role) -> Option<Modifier> {
        self.operation.body().modifier(role)
    }

    /// The row of the table that the instruction is an instance of.
    pub fn form(&self) -> &'static Form {
        let part = self.tail().is_some_and(|tail| matches!(tail, Tail::Merge { .. }));
        let present = |role| self.modifier(role).is_some();
        let forms = table::forms(self.mnemonic());
        forms
            .iter()
            .find(|form| {
                let written = |role| form.slot(role).is_some() == present(role);
                written(Role::PlusOne)
                    && written(Role::Secondary)
                    && (form.destination == Destination::Part) == part
            })
            .unwrap_or(&forms[0])
    }

    /// The destination register.
    pub fn destination(&self) -> &Register {
        self.operation.body().destination()
    }

    /// The registers in the places `a`, `b`, `c`; `None` where a constant stands
    /// or nothing.
    pub fn sources(&self) -> [Option<&Register>; 3] {
        self.operation.body().sources()
    }

    /// All registers in the order of the operands, then that of the guard. A register that
    /// is named twice comes twice.
    pub fn registers(&self) -> impl Iterator<Item = &Register> {
        let guard = self.guard.as_ref().map(|guard| &guard.predicate);
        let [a, b, c] = self.sources();
        [Some(self.destination()), a, b, c, guard].into_iter().flatten()
    }

    /// The same instruction with other registers. The guard's register is mapped
    /// too.
    #[must_use]
    pub fn map_registers(&self, mut map: impl FnMut(&Register) -> Register) -> Instruction {
        let mut mapped = self.clone();
        mapped.operation.body_mut().rename(&mut |_, register| map(register));
        if let Some(guard) = &mut mapped.guard {
            guard.predicate = map(&guard.predicate);
        }
        mapped
    }

    /// The operation with registers `d`, `a`, `b` and `c`: the same for all that
    /// differ in names only. A source that is named twice stays the same.
    pub(crate) fn anonymous(&self) -> Operation {
        let sources = self.sources();
        let letter = |at: usize| {
            let first = (0..at).find(|&first| sources[first] == sources[at]).unwrap_or(at);
            ["a", "b", "c"][first]
        };
        let names = ["d", letter(0), letter(1), letter(2)];
        let mut operation = self.operation.clone();
        operation.body_mut().rename(&mut |operand, register| {
            Register::new(names[operand as usize]).unwrap_or_else(|| register.clone())
        });
        operation
    }

    /// How a scalar instruction ends, unless it is a `vmad`.
    pub(crate) fn tail(&self) -> Option<&Tail> {
        self.operation.body().tail()
    }

    /// The operands of a SIMD instruction.
    pub(crate) fn simd(&self) -> Option<&SimdOperands> {
        self.operation.simd()
    }
}

impl fmt::Display for Instruction {
    /// The canonical text: modifiers in the manual's order, defaults left out,
    /// one space before the operands, `;` at the end.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(guard) = &self.guard {
            write!(f, "@{}{} ", if guard.negated { "!" } else { "" }, guard.predicate)?;
        }
        f.write_str(self.mnemonic().text())?;
        for slot in self.form().slots {
            if let Some(modifier) = self.modifier(slot.role) {
                f.write_str(modifier.text())?;
            }
        }
        self.operation.body().write(f)?;
        f.write_str(";")
    }
}

/// As its canonical text.
#[cfg(feature = "serde")]
impl serde::Serialize for Instruction {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
