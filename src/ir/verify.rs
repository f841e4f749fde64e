//! The promises of every program.

use thiserror::Error;

use super::{Op, Program, Range, Step, Value, range};

/// Why a list of steps is no program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("%{step}: {kind}")]
pub struct VerifyError {
    /// The step at fault, by its number.
    pub step: usize,
    /// The promise that it breaks.
    pub kind: VerifyErrorKind,
}

/// The promise that a step breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum VerifyErrorKind {
    /// An operand comes later, or belongs to another program.
    #[error("{0} is not computed yet")]
    NotComputed(Value),
    /// Bits to extract: 1 to 64 of them, from bit 0 to 64 up.
    #[error("cannot take {width} bits from bit {low}")]
    Extract {
        /// Lowest bit taken.
        low: u8,
        /// Number of bits.
        width: u8,
    },
    /// A shift amount that may be below 0 or above 32.
    #[error("the shift amount lies in {0}, not in 0..32")]
    ShiftAmount(Range),
    /// A range whose least value is above its greatest.
    #[error("{0} is empty")]
    EmptyRange(Range),
    /// Bits to insert: one at least, inside the word.
    #[error("cannot put {width} bits at bit {low}")]
    Insert {
        /// Lowest bit replaced.
        low: u8,
        /// Number of bits.
        width: u8,
    },
    /// The base of an insertion may be no 32-bit word.
    #[error("only a 32-bit word can be inserted into")]
    InsertBase,
    /// A stated range that does not hold.
    #[error("the result lies in {found}, not in {stated}")]
    Range {
        /// Where the result lies.
        found: Range,
        /// Where it should lie.
        stated: Range,
    },
    /// A range with values of more than [`MAX_BITS`] bits, or without any.
    #[error("the range {0} is not allowed")]
    TooWide(Range),
    /// The last value may be no 32-bit word.
    #[error("the last value must be a 32-bit word")]
    LastValue,
}

/// Bits that a value has at most, besides its sign: products of words and shifted sums
/// have fewer.
pub const MAX_BITS: u32 = 70;

impl Program {
    /// A program of these steps.
    ///
    /// # Errors
    /// The first step that breaks a promise: that operands come before their
    /// use, that widths, positions and shift amounts are in bounds, that the
    /// stated range holds, and that the last value is a 32-bit word.
    pub fn new(steps: Vec<Step>) -> Result<Program, VerifyError> {
        let program = Program::of(steps);
        program.verify()?;
        Ok(program)
    }

    /// Checks the promises again.
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

/// Checks a step that follows others.
fn check(step: &Step, before: &[Step]) -> Result<(), VerifyError> {
    let fail = |kind| Err(VerifyError { step: before.len(), kind });
    let found = range_after(&step.op, before)?;
    if !step.range.contains_range(found) {
        return fail(VerifyErrorKind::Range { found, stated: step.range });
    }
    // Far from the limits of the arithmetic, whatever comes next.
    if !is_narrow(step.range) || step.range.min > step.range.max {
        return fail(VerifyErrorKind::TooWide(step.range));
    }
    Ok(())
}

/// Where the result of an operation lies that follows some steps, if it may.
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

/// Whether later steps can take a value from this range.
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
