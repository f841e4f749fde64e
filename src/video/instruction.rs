//! Validated instructions.

use std::fmt;

use super::arithmetic::{self, Arithmetic};
use super::body::{Body, Operands};
use super::multiply_add::{self, MultiplyAdd};
use super::operand::{Guard, Parts, Register, Tail};
use super::scalar::ScalarOperands;
use super::set::{self, Set};
use super::shift::{self, Shift};
use super::simd::SimdOperands;
use super::simd_arithmetic::{self, SimdArithmetic, SimdOp, SimdTail};
use super::simd_set::{self, SimdSet};
use super::table;
use crate::isa::{Destination, Family, Form, LaneWidth, Lanes, Mnemonic, Modifier, Role, Type};

/// A video instruction with its guard.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Instruction {
    /// `@p` or `@!p`: the guard predicate decides whether the instruction executes.
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
    /// `vadd2`, `vadd4` and the like
    SimdArithmetic(SimdArithmetic),
    /// `vset2`, `vset4`
    SimdSet(SimdSet),
}

impl Operation {
    /// The family it belongs to.
    pub fn family(&self) -> Family {
        self.body().mnemonic().family()
    }

    /// Builds an operation from its parts. `None` if the parts do not fit one form.
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

    /// The common interface of all families.
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

    fn operands(&self) -> &dyn Operands {
        match self {
            Operation::Arithmetic(it) => &it.operands,
            Operation::Shift(it) => &it.operands,
            Operation::MultiplyAdd(it) => &it.0,
            Operation::Set(it) => &it.operands,
            Operation::SimdArithmetic(it) => &it.operands,
            Operation::SimdSet(it) => &it.operands,
        }
    }

    fn operands_mut(&mut self) -> &mut dyn Operands {
        match self {
            Operation::Arithmetic(it) => &mut it.operands,
            Operation::Shift(it) => &mut it.operands,
            Operation::MultiplyAdd(it) => &mut it.0,
            Operation::Set(it) => &mut it.operands,
            Operation::SimdArithmetic(it) => &mut it.operands,
            Operation::SimdSet(it) => &mut it.operands,
        }
    }

    /// The operands of a scalar instruction; `None` for `vmad` and SIMD instructions.
    pub(crate) fn scalar(&self) -> Option<&ScalarOperands> {
        self.operands().scalar()
    }

    /// The operands of a SIMD instruction; `None` for scalar instructions.
    pub(crate) fn simd(&self) -> Option<&SimdOperands> {
        self.operands().simd()
    }
}

impl Instruction {
    /// An unguarded instruction.
    pub fn new(operation: Operation) -> Instruction {
        Instruction { guard: None, operation }
    }

    /// Whether the instruction has a guard that ptxas 12.9 and 13.5 leave out.
    pub(crate) fn loses_guard(&self) -> bool {
        let Operation::SimdArithmetic(it) = &self.operation else { return false };
        let types = [it.dtype, it.operands.atype, it.operands.btype];
        self.guard.is_some()
            && matches!(it.op, SimdOp::Add | SimdOp::Sub)
            && it.tail == SimdTail::Accumulate
            && types == [Type::U32; 3]
            && it.operands.lanes == Lanes::all(LaneWidth::Bytes)
    }

    /// The mnemonic.
    pub fn mnemonic(&self) -> Mnemonic {
        self.operation.body().mnemonic()
    }

    /// The modifier that fills a role, if one is written.
    pub fn modifier(&self, role: Role) -> Option<Modifier> {
        self.operation.body().modifier(role)
    }

    /// The form of the instruction: its row of the table.
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
        self.operation.operands().destination()
    }

    /// The registers in `a`, `b` and `c`. `None` for a constant or an absent operand.
    pub fn sources(&self) -> [Option<&Register>; 3] {
        self.operation.operands().sources()
    }

    /// All registers: first the operands in order, then the guard predicate. A register that is
    /// named twice comes twice.
    pub fn registers(&self) -> impl Iterator<Item = &Register> {
        let guard = self.guard.as_ref().map(|guard| &guard.predicate);
        let [a, b, c] = self.sources();
        [Some(self.destination()), a, b, c, guard].into_iter().flatten()
    }

    /// The same instruction with other registers. Maps the guard predicate, too.
    #[must_use]
    pub fn map_registers(&self, mut map: impl FnMut(&Register) -> Register) -> Instruction {
        let mut mapped = self.clone();
        mapped.operation.operands_mut().rename(&mut |_, register| map(register));
        if let Some(guard) = &mut mapped.guard {
            guard.predicate = map(&guard.predicate);
        }
        mapped
    }

    /// The operation with registers `d`, `a`, `b` and `c`. Operations that differ only in names
    /// become equal. Sources with the same register keep the same name.
    pub(crate) fn anonymous(&self) -> Operation {
        let sources = self.sources();
        let letter = |at: usize| {
            let first = (0..at).find(|&first| sources[first] == sources[at]).unwrap_or(at);
            [Register::A, Register::B, Register::C][first].clone()
        };
        let names = [Register::D, letter(0), letter(1), letter(2)];
        let mut operation = self.operation.clone();
        operation.operands_mut().rename(&mut |operand, _| names[operand as usize].clone());
        operation
    }

    /// The use of a scalar instruction's result; `None` for `vmad` and SIMD instructions.
    pub(crate) fn tail(&self) -> Option<&Tail> {
        self.operation.scalar().map(|it| &it.tail)
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
        self.operation.operands().write(f)?;
        f.write_str(";")
    }
}

/// Serializes the canonical text.
#[cfg(feature = "serde")]
impl serde::Serialize for Instruction {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
