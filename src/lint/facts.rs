//! Facts about an instruction from ranges and witnesses, independent of register
//! names.

use std::sync::OnceLock;

use crate::ir::{Input, Op, Program};
use crate::isa::{Compare, Part, Role, SecondaryOp, Sources};
use crate::video::{
    Agreement, Arithmetic, Instruction, MadMode, MultiplyAdd, Operand, Operation, ScalarOperands,
    Semantics, Set, Shift, SimdSet, SimdTail, Source, Tail, Witness,
};

/// Facts about a form. Each is computed at first use.
#[derive(Debug)]
pub(super) struct Facts {
    form: Instruction,
    difference: OnceLock<Option<Difference>>,
    saturation: OnceLock<Option<Saturation>>,
    settled: OnceLock<Vec<(usize, bool)>>,
    secondary: OnceLock<Option<Ineffective>>,
}

/// A result of ptxas that differs from the manual.
#[derive(Debug)]
pub(super) struct Difference {
    pub(super) semantics: Semantics,
    pub(super) witness: Witness,
}

/// The ends of the range at which `.sat` can clamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Saturation {
    Never,
    Below,
    Above,
    Both,
}

/// The reason why a secondary operation has no effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ineffective {
    /// The result is always that of the primary operation.
    Passes,
    /// The result is always `c`.
    AlwaysThird,
}

impl Facts {
    pub(super) fn new(form: Operation) -> Facts {
        Facts {
            form: Instruction::new(form),
            difference: OnceLock::new(),
            saturation: OnceLock::new(),
            settled: OnceLock::new(),
            secondary: OnceLock::new(),
        }
    }

    pub(super) fn difference(&self) -> Option<&Difference> {
        self.difference.get_or_init(|| difference(&self.form)).as_ref()
    }

    /// The effect of `.sat`, if it is present.
    pub(super) fn saturation(&self) -> Option<Saturation> {
        *self.saturation.get_or_init(|| saturation(&self.form))
    }

    /// The lanes whose comparison always has the same result, each with this result. A scalar
    /// comparison is lane 0.
    pub(super) fn settled(&self) -> &[(usize, bool)] {
        self.settled.get_or_init(|| settled(&self.form.operation))
    }

    /// The reason, if any, why the secondary operation has no effect.
    pub(super) fn secondary(&self) -> Option<Ineffective> {
        *self.secondary.get_or_init(|| secondary(&self.form))
    }
}

fn difference(instruction: &Instruction) -> Option<Difference> {
    // ptxas follows the manual in SIMD instructions.
    let simd = instruction.form().sources != Sources::Scalar;
    if simd || !may_differ(instruction) {
        return None;
    }
    // The current assembler comes first.
    Semantics::PTXAS.into_iter().rev().find_map(|semantics| {
        match instruction.agreement(semantics) {
            Agreement::Differs(witness) => Some(Difference { semantics, witness }),
            Agreement::Proven | Agreement::Unknown => None,
        }
    })
}

/// Whether a scalar instruction is of a kind for which ptxas can differ from the manual.
fn may_differ(instruction: &Instruction) -> bool {
    has(instruction, &[Role::Saturate, Role::Scale])
        || match instruction.tail() {
            None | Some(Tail::Word) => false,
            Some(Tail::Secondary { op, .. }) => *op != SecondaryOp::Add,
            Some(Tail::Merge { part, .. }) => *part == Part::H1,
        }
}

fn has(instruction: &Instruction, roles: &[Role]) -> bool {
    roles.iter().any(|role| instruction.modifier(*role).is_some())
}

/// Whether any of the facts may hold for the instruction.
pub(super) fn is_notable(instruction: &Instruction) -> bool {
    may_differ(instruction)
        || has(instruction, &[Role::Compare])
        || matches!(instruction.tail(), Some(Tail::Secondary { c: Operand::Immediate(_), .. }))
}

/// The same instruction without `.sat`. `None` if it has no `.sat`.
fn unsaturated(instruction: &Instruction) -> Option<Instruction> {
    let mut operation = instruction.operation.clone();
    let saturate = match &mut operation {
        Operation::Arithmetic(it) => &mut it.saturate,
        Operation::Shift(it) => &mut it.saturate,
        Operation::MultiplyAdd(it) => {
            let mut parts = it.parts();
            if !std::mem::take(&mut parts.saturate) {
                return None;
            }
            return MultiplyAdd::new(parts).map(|it| Instruction::new(Operation::MultiplyAdd(it)));
        }
        Operation::SimdArithmetic(it) => simd_saturate(&mut it.tail)?,
        Operation::Set(_) | Operation::SimdSet(_) => return None,
    };
    std::mem::take(saturate).then(|| Instruction::new(operation))
}

fn simd_saturate(tail: &mut SimdTail) -> Option<&mut bool> {
    match tail {
        SimdTail::Merge { saturate } => Some(saturate),
        SimdTail::Accumulate => None,
    }
}

fn saturation(instruction: &Instruction) -> Option<Saturation> {
    let without = unsaturated(instruction)?;
    if same(instruction, &without) {
        return Some(Saturation::Never);
    }
    let program = instruction.lower(Semantics::Manual);
    let (mut below, mut above) = (false, false);
    for step in program.steps() {
        if let Op::Clamp(value, range) = step.op {
            let exact = program.steps()[value.index()].range;
            below |= exact.min < range.min;
            above |= exact.max > range.max;
        }
    }
    match (below, above) {
        (true, true) => Some(Saturation::Both),
        (true, false) => Some(Saturation::Below),
        (false, true) => Some(Saturation::Above),
        // The instruction never clamps by the manual, but the code of ptxas differs.
        (false, false) => None,
    }
}

/// Whether two instructions compute the same under all semantics.
fn same(one: &Instruction, other: &Instruction) -> bool {
    Semantics::ALL.into_iter().all(|semantics| one.lower(semantics) == other.lower(semantics))
}

fn settled(operation: &Operation) -> Vec<(usize, bool)> {
    match operation {
        Operation::Set(it) => settled_word(it).map(|holds| (0, holds)).into_iter().collect(),
        Operation::SimdSet(it) => settled_lanes(it),
        _ => Vec::new(),
    }
}

fn settled_word(set: &Set) -> Option<bool> {
    let ScalarOperands { a, b, .. } = &set.operands;
    if a == b && set.atype == set.btype && matches!(a, Source::Register { .. }) {
        return Some(of_equals(set.compare));
    }
    let mut alone = set.clone();
    alone.operands.tail = Tail::Word;
    match Instruction::new(Operation::Set(alone)).lower(Semantics::Manual).steps() {
        [step] => match step.op {
            Op::Constant(value) => Some(value != 0),
            _ => None,
        },
        _ => None,
    }
}

/// The result of comparing a value with itself.
fn of_equals(compare: Compare) -> bool {
    matches!(compare, Compare::Eq | Compare::Le | Compare::Ge)
}

fn settled_lanes(set: &SimdSet) -> Vec<(usize, bool)> {
    let operands = &set.operands;
    if operands.atype != operands.btype {
        return Vec::new();
    }
    let same = operands.a == operands.b;
    // If both sources are one register, its lanes count from 0 in both.
    let lanes = operands.lanes.width().lanes() as u8;
    let lane = |lane: u8| if same { lane % lanes } else { lane };
    let settled = operands.lanes.written().filter(|(_, a, b)| lane(*a) == lane(*b));
    settled.map(|(at, ..)| (at, of_equals(set.compare))).collect()
}

/// The instruction without its secondary operation.
fn without_secondary(instruction: &Instruction) -> Option<Instruction> {
    let mut operation = instruction.operation.clone();
    let (Operation::Arithmetic(Arithmetic { operands, .. })
    | Operation::Shift(Shift { operands, .. })
    | Operation::Set(Set { operands, .. })) = &mut operation
    else {
        return None;
    };
    operands.tail = Tail::Word;
    Some(Instruction::new(operation))
}

fn secondary(instruction: &Instruction) -> Option<Ineffective> {
    let Some(Tail::Secondary { op, c: Operand::Immediate(constant) }) = instruction.tail() else {
        return None;
    };
    // Additions are modulo 2^32 under all semantics.
    let nothing_added = *op == SecondaryOp::Add && constant.value() == 0;
    let alone = without_secondary(instruction)?;
    if nothing_added || same(instruction, &alone) {
        return Some(Ineffective::Passes);
    }
    let reads = |program: &Program| program.reads(Input::A) || program.reads(Input::B);
    let ignored =
        |semantics| !reads(&instruction.lower(semantics)) && reads(&alone.lower(semantics));
    Semantics::ALL.into_iter().all(ignored).then_some(Ineffective::AlwaysThird)
}

/// The instruction without names of registers. All instructions with equal forms share their facts.
pub(super) fn form(instruction: &Instruction) -> Operation {
    let form = instruction.anonymous();
    let Operation::MultiplyAdd(it) = &form else {
        return form;
    };
    // A minus on either operand negates the product.
    let mut parts = it.parts();
    if parts.mode == MadMode::NegateB && matches!(parts.a, Source::Register { .. }) {
        parts.mode = MadMode::NegateA;
    }
    MultiplyAdd::new(parts).map_or(form, Operation::MultiplyAdd)
}
