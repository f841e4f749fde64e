//! What every program promises.

use thiserror::Error;

use super::batch::PlanOnce;
use super::{Op, Program, Range, Step, range};

/// Why a list of steps is no program.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("%{step}: {message}")]
pub struct VerifyError {
    /// The step at fault, by its number.
    pub step: usize,
    /// What is wrong with it.
    pub message: String,
}

impl Program {
    /// A program of these steps.
    ///
    /// # Errors
    /// The first step that breaks a promise: that operands come before their
    /// use, that widths, positions and shift amounts are in bounds, that the
    /// stated range holds, and that the last value is a 32-bit word.
    pub fn new(steps: Vec<Step>) -> Result<Program, VerifyError> {
        let program = Program { steps, plan: PlanOnce::default() };
        program.verify()?;
        Ok(program)
    }

    /// Checks the promises again.
    ///
    /// # Errors
    /// As for [`Program::new`].
    pub fn verify(&self) -> Result<(), VerifyError> {
        for (at, step) in self.steps.iter().enumerate() {
            let fail = |message: String| Err(VerifyError { step: at, message });
            if let Some(value) = step.op.operands().find(|value| value.index() >= at) {
                return fail(format!("%{} is not computed yet", value.index()));
            }
            let operand = |value: super::Value| self.steps[value.index()].range;
            if let Err(message) = bounds(&step.op, operand) {
                return fail(message);
            }
            let range = range::of(&step.op, operand);
            if !step.range.contains_range(range) {
                return fail(format!("the result lies in {range}, not in {}", step.range));
            }
            // Far from the limits of the arithmetic, whatever comes next.
            if !LIMIT.contains_range(step.range) || step.range.min > step.range.max {
                return fail(format!("the range {} is not allowed", step.range));
            }
        }
        match self.steps.last() {
            Some(last) if Range::bits(32, false).contains_range(last.range) => Ok(()),
            _ => Err(VerifyError {
                step: self.steps.len().saturating_sub(1),
                message: "the last value must be a 32-bit word".into(),
            }),
        }
    }
}

/// Values have 70 bits at most: products of words, shifted sums.
const LIMIT: Range = Range::new(-(1 << 70), 1 << 70);

fn bounds(op: &Op, range: impl Fn(super::Value) -> Range) -> Result<(), String> {
    match *op {
        Op::Extract { low, width, .. } if width == 0 || width > 64 || low > 64 => {
            Err(format!("cannot take {width} bits from bit {low}"))
        }
        Op::Shl(_, amount) | Op::Shr(_, amount)
            if !Range::new(0, 32).contains_range(range(amount)) =>
        {
            Err(format!("the shift amount lies in {}, not in 0..32", range(amount)))
        }
        Op::Clamp(_, range) if range.min > range.max => Err(format!("{range} is empty")),
        Op::Insert { low, width, .. } if width == 0 || low.saturating_add(width) > 32 => {
            Err(format!("cannot put {width} bits at bit {low}"))
        }
        Op::Insert { base, .. } if !Range::bits(32, false).contains_range(range(base)) => {
            Err("only a 32-bit word can be inserted into".into())
        }
        _ => Ok(()),
    }
}
