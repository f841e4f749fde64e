//! Builds programs outside of vptx.

use super::verify::{self, VerifyErrorKind};
use super::{Input, Op, Program, Range, Stage, Step, Value, VerifyError};

/// Builds a program step by step. The builder checks each step as it is added, and computes its
/// range.
///
/// ```
/// use vptx::ir::{Input, Op, Program, ProgramBuilder, Stage};
///
/// // |a - b|, no more than 255
/// let mut builder = ProgramBuilder::new();
/// let a = builder.input(Input::A);
/// let b = builder.input(Input::B);
/// builder.stage(Stage::Compute);
/// let difference = builder.push(Op::AbsDiff(a, b))?;
/// let most = builder.push(Op::Constant(255))?;
/// let least = builder.push(Op::Min(difference, most))?;
/// let program = builder.finish(least)?;
///
/// assert_eq!(program.eval(3, 5, 0), 2);
/// assert_eq!(program.eval(1000, 5, 0), 255);
/// assert_eq!(program.to_string().parse::<Program>().unwrap(), program);
/// # Ok::<(), vptx::ir::VerifyError>(())
/// ```
#[derive(Clone, Debug)]
pub struct ProgramBuilder {
    steps: Vec<Step>,
    stage: Stage,
}

impl Default for ProgramBuilder {
    fn default() -> ProgramBuilder {
        ProgramBuilder { steps: Vec::new(), stage: Stage::Extract }
    }
}

impl ProgramBuilder {
    /// A program without steps, at the first stage.
    pub fn new() -> ProgramBuilder {
        ProgramBuilder::default()
    }

    /// Sets the stage of the steps that follow.
    pub fn stage(&mut self, stage: Stage) -> &mut ProgramBuilder {
        self.stage = stage;
        self
    }

    /// Adds a source word.
    pub fn input(&mut self, input: Input) -> Value {
        self.add(Op::Input(input), Range::bits(32, false))
    }

    /// Adds an operation on earlier values.
    ///
    /// # Errors
    /// If the operation breaks an invariant of [`Program::new`]. The builder is then unchanged.
    pub fn push(&mut self, op: Op) -> Result<Value, VerifyError> {
        let range = verify::range_after(&op, &self.steps)?;
        if !verify::is_narrow(range) {
            let kind = VerifyErrorKind::TooWide(range);
            return Err(VerifyError { step: self.steps.len(), kind });
        }
        Ok(self.add(op, range))
    }

    /// The range of a value over all inputs. `None` if the builder does not have the value.
    pub fn range(&self, value: Value) -> Option<Range> {
        self.steps.get(value.index()).map(|step| step.range)
    }

    /// Ends the program with the low 32 bits of a value. Drops the steps after that value.
    ///
    /// # Errors
    /// If the builder does not have the value.
    pub fn finish(mut self, value: Value) -> Result<Program, VerifyError> {
        let word = Range::bits(32, false);
        let Some(range) = self.range(value) else {
            let kind = VerifyErrorKind::NotComputed(value);
            return Err(VerifyError { step: self.steps.len(), kind });
        };
        self.steps.truncate(value.index() + 1);
        if !word.contains_range(range) {
            self.stage = Stage::Write;
            self.push(Op::Extract { value, low: 0, width: 32, signed: false })?;
        }
        Program::new(self.steps)
    }

    fn add(&mut self, op: Op, range: Range) -> Value {
        self.steps.push(Step { op, range, stage: self.stage });
        Value(self.steps.len() as u32 - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Builder;
    use super::*;

    #[test]
    fn broken_promises_are_refused() {
        let mut builder = ProgramBuilder::new();
        let a = builder.input(Input::A);
        let kind = |op, builder: &mut ProgramBuilder| builder.push(op).unwrap_err().kind;
        let far = Value(7);
        assert_eq!(kind(Op::Add(a, far), &mut builder), VerifyErrorKind::NotComputed(far));
        assert_eq!(
            kind(Op::Shl(a, a), &mut builder),
            VerifyErrorKind::ShiftAmount(Range::bits(32, false))
        );
        let outside = Op::Insert { base: a, value: a, low: 24, width: 12 };
        assert_eq!(kind(outside, &mut builder), VerifyErrorKind::Insert { low: 24, width: 12 });
        // A sum of two words has 33 bits.
        let mut with_sum = builder.clone();
        let base = with_sum.push(Op::Add(a, a)).unwrap();
        let into_sum = Op::Insert { base, value: a, low: 0, width: 8 };
        assert_eq!(kind(into_sum, &mut with_sum), VerifyErrorKind::InsertBase);
        let empty = Range::new(1, 0);
        assert_eq!(kind(Op::Clamp(a, empty), &mut builder), VerifyErrorKind::EmptyRange(empty));
        let huge = kind(Op::Constant(i128::MAX), &mut builder);
        assert!(matches!(huge, VerifyErrorKind::TooWide(_)));
        let mut product = a;
        let mut grow = || {
            product = builder.push(Op::Mul(product, product))?;
            Ok::<_, VerifyError>(())
        };
        assert_eq!(grow(), Ok(()));
        assert!(grow().is_err_and(|error| matches!(error.kind, VerifyErrorKind::TooWide(_))));
        assert_eq!(builder.clone().finish(far).unwrap_err().step, 2);
        // The program ends at `a`: later steps are dropped.
        let program = builder.finish(a).unwrap();
        assert_eq!((program.steps().len(), program.eval(5, 0, 0)), (1, 5));
        assert_eq!(program.iter().map(|(value, _)| value).last(), Some(program.result()));
    }

    /// The last byte of a half of `a` is a byte of `a`.
    #[test]
    fn bits_of_extracted_bits_are_bits_of_the_word() {
        let mut builder = Builder::new();
        let a = builder.input(Input::A);
        let half = builder.extract(a, 16, 16, false);
        let byte = builder.extract(half, 8, 8, false);
        assert_eq!(byte, builder.extract(a, 24, 8, false));
    }

    #[test]
    fn places_and_amounts_have_these_limits() {
        let mut builder = ProgramBuilder::new();
        let a = builder.input(Input::A);
        let holds = |op| builder.clone().push(op).is_ok();
        for (low, width) in (0..70).flat_map(|low| (0..70).map(move |width| (low, width))) {
            let extract = Op::Extract { value: a, low, width, signed: false };
            assert_eq!(holds(extract), low <= 64 && (1..=64).contains(&width), "{low} {width}");
            let insert = Op::Insert { base: a, value: a, low, width };
            assert_eq!(holds(insert), width >= 1 && low + width <= 32, "{low} {width}");
        }
        for amount in -2..40 {
            let mut builder = builder.clone();
            let by = builder.push(Op::Constant(amount)).unwrap();
            for op in [Op::Shl(a, by), Op::Shr(a, by)] {
                assert_eq!(builder.push(op).is_ok(), (0..=32).contains(&amount), "{amount}");
            }
        }
    }
}
