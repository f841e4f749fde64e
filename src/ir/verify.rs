//! The invariants that every program holds.

use thiserror::Error;

use super::{Op, Program, Range, Step, Value, range};

/// The reason why a list of steps is not a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("%{step}: {kind}")]
pub struct VerifyError {
    /// The number of the step at fault, from 0.
    pub step: usize,
    /// The invariant that the step breaks.
    pub kind: VerifyErrorKind,
}

/// The invariants that a step can break.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum VerifyErrorKind {
    /// An operand is not the value of an earlier step.
    #[error("{0} is used before it is computed")]
    NotComputed(Value),
    /// An extract has a width outside 1 to 64 bits, or a lowest bit above 64.
    #[error("cannot extract {width} bits from bit {low}")]
    Extract {
        /// Lowest bit taken.
        low: u8,
        /// Number of bits.
        width: u8,
    },
    /// A shift amount that may be below 0 or above 32.
    #[error("the shift amount lies in {0}, not in 0..32")]
    ShiftAmount(Range),
    /// A range whose least value is above its greatest value.
    #[error("the range {0} is empty")]
    EmptyRange(Range),
    /// An insert has no bits, or bits outside the 32-bit word.
    #[error("cannot insert {width} bits at bit {low} of a 32-bit word")]
    Insert {
        /// Lowest bit replaced.
        low: u8,
        /// Number of bits.
        width: u8,
    },
    /// The base of an insert may be other than a 32-bit word.
    #[error("the base of an insert must be a 32-bit word")]
    InsertBase,
    /// The stated range does not hold all results.
    #[error("the result lies in {found}, not in {stated}")]
    Range {
        /// The range of the results.
        found: Range,
        /// The range that the step states.
        stated: Range,
    },
    /// A range is empty, or goes beyond plus or minus two to the power of [`MAX_BITS`].
    #[error("the range {0} is empty or exceeds plus or minus 2^{MAX_BITS}")]
    TooWide(Range),
    /// There is no step, or the last value may be other than a 32-bit word.
    #[error("the last value must be a 32-bit word")]
    LastValue,
}

/// Every value lies between minus and plus two to this power, both included. Products of words
/// and shifted sums are smaller.
pub const MAX_BITS: u32 = 70;

impl Program {
    /// A program of these steps.
    ///
    /// # Errors
    /// The first step that breaks an invariant: operands come before their use; widths,
    /// positions and shift amounts are in bounds; the stated range holds all results and is
    /// within [`MAX_BITS`]; the last value is a 32-bit word.
    pub fn new(steps: Vec<Step>) -> Result<Program, VerifyError> {
        let program = Program::of(steps);
        program.verify()?;
        Ok(program)
    }

    /// Checks the invariants again.
    ///
    /// # Errors
    /// As for [`Program::new`].
    pub fn verify(&self) -> Result<(), VerifyError> {
        for (at, step) in self.steps.iter().enumerate() {
            check(step, &self.steps[..at])?;
        }
        match self.steps.last() {
            Some(last) if Range::bits(32, false).contains_range(last.range) => Ok(()),
            _ => Err(VerifyError {
                step: self.steps.len().saturating_sub(1),
                kind: VerifyErrorKind::LastValue,
            }),
        }
    }
}

/// Checks a step, given the steps before it.
fn check(step: &Step, before: &[Step]) -> Result<(), VerifyError> {
    let fail = |kind| Err(VerifyError { step: before.len(), kind });
    let found = range_after(&step.op, before)?;
    if !step.range.contains_range(found) {
        return fail(VerifyErrorKind::Range { found, stated: step.range });
    }
    // Keeps the arithmetic of all later steps far from overflow.
    if !is_narrow(step.range) || step.range.min > step.range.max {
        return fail(VerifyErrorKind::TooWide(step.range));
    }
    Ok(())
}

/// The range of an operation's result, given the steps before it.
pub(super) fn range_after(op: &Op, before: &[Step]) -> Result<Range, VerifyError> {
    let fail = |kind| Err(VerifyError { step: before.len(), kind });
    if let Some(value) = op.operands().find(|value| value.index() >= before.len()) {
        return fail(VerifyErrorKind::NotComputed(value));
    }
    let operand = |value: Value| before[value.index()].range;
    match bounds(op, operand) {
        Ok(()) => Ok(range::of(op, operand)),
        Err(kind) => fail(kind),
    }
}

/// Whether later steps may use values of this range.
pub(super) fn is_narrow(range: Range) -> bool {
    LIMIT.contains_range(range)
}

const LIMIT: Range = Range::new(-(1 << MAX_BITS), 1 << MAX_BITS);

fn bounds(op: &Op, range: impl Fn(Value) -> Range) -> Result<(), VerifyErrorKind> {
    use VerifyErrorKind as Kind;

    match *op {
        Op::Extract { low, width, .. } if width == 0 || width > 64 || low > 64 => {
            Err(Kind::Extract { low, width })
        }
        Op::Shl(_, amount) | Op::Shr(_, amount)
            if !Range::new(0, 32).contains_range(range(amount)) =>
        {
            Err(Kind::ShiftAmount(range(amount)))
        }
        Op::Clamp(_, range) if range.min > range.max => Err(Kind::EmptyRange(range)),
        Op::Insert { low, width, .. } if width == 0 || low.saturating_add(width) > 32 => {
            Err(Kind::Insert { low, width })
        }
        Op::Insert { base, .. } if !Range::bits(32, false).contains_range(range(base)) => {
            Err(Kind::InsertBase)
        }
        _ => Ok(()),
    }
}
