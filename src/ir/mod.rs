//! Programs: straight-line code over exact integers that defines the result of an instruction.
//!
//! A [`Program`] reads the 32-bit words `a`, `b` and `c` and computes the new value of `d`. Its
//! values are mathematical integers, each with a known range, so nothing overflows silently. An
//! explicit extract step shows where the hardware truncates a value. Each step names the stage
//! of the manual that it belongs to.
//!
//! ```
//! use vptx::Semantics;
//! use vptx::ir::Op;
//!
//! let instruction: vptx::Instruction = "vabsdiff.u32.u32.u32 d, a, b;".parse()?;
//! let program = instruction.lower(Semantics::Manual);
//! assert_eq!(program.eval(3, 10, 0), 7);
//! let (result, step) = program.iter().last().expect("the result");
//! assert_eq!(result.index() + 1, program.steps().len());
//! assert!(matches!(step.op, Op::AbsDiff(..)));
//! # Ok::<(), vptx::ParseInstructionError>(())
//! ```

// Words are bit patterns, so casts take their low bits.
#![allow(clippy::cast_sign_loss, clippy::cast_possible_wrap, clippy::cast_lossless)]

// The unit tests leave out plans, which take a third of the build; `tests/library/batch.rs` has
// them.
#[cfg(all(feature = "batch", not(test)))]
mod batch;
mod builder;
mod interpret;
mod range;
mod text;
mod verify;
mod within;

use crate::isa::Compare;

pub use builder::ProgramBuilder;
pub use range::Range;
pub use text::ParseProgramError;
pub use verify::{MAX_BITS, VerifyError, VerifyErrorKind};

words! {
    /// A source register of the instruction, as a 32-bit word.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum Input {
        /// `a`
        A = "a",
        /// `b`
        B = "b",
        /// `c`
        C = "c",
    }
    /// All inputs.
    pub ALL
    /// Its letter.
    text
}

/// A value of a program: the result of one of its steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Value(pub(crate) u32);

impl Value {
    /// The number of its step, from 0; the text form writes it after `%`.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// The operation of a step on earlier values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// A source word, unsigned: from 0 to 2^32 - 1.
    Input(Input),
    /// A constant.
    Constant(i128),
    /// `width` bits of a value in two's complement, from bit `low` up, read as
    /// signed or unsigned.
    Extract {
        /// The value.
        value: Value,
        /// Lowest bit taken.
        low: u8,
        /// Number of bits, 1 to 64.
        width: u8,
        /// Whether the bits are read as signed.
        signed: bool,
    },
    /// Sum.
    Add(Value, Value),
    /// Difference.
    Sub(Value, Value),
    /// Product.
    Mul(Value, Value),
    /// Absolute difference.
    AbsDiff(Value, Value),
    /// The smaller.
    Min(Value, Value),
    /// The larger.
    Max(Value, Value),
    /// Shift left by 0 to 32 bits: multiplication by a power of two.
    Shl(Value, Value),
    /// Shift right by 0 to 32 bits, rounded towards minus infinity.
    Shr(Value, Value),
    /// 1 if the comparison holds, else 0.
    Compare(Compare, Value, Value),
    /// The nearest integer within a range.
    Clamp(Value, Range),
    /// `base`, a 32-bit word, with `width` bits from bit `low` up replaced by
    /// the low bits of `value`.
    Insert {
        /// The word.
        base: Value,
        /// The value whose low bits are inserted.
        value: Value,
        /// Lowest bit replaced.
        low: u8,
        /// Number of bits, at least 1, all inside the word. Instructions use 8 or 16.
        width: u8,
    },
}

impl Op {
    /// The values it reads.
    pub fn operands(&self) -> impl Iterator<Item = Value> {
        let (first, second) = match *self {
            Op::Input(_) | Op::Constant(_) => (None, None),
            Op::Extract { value, .. } | Op::Clamp(value, _) => (Some(value), None),
            Op::Add(x, y)
            | Op::Sub(x, y)
            | Op::Mul(x, y)
            | Op::AbsDiff(x, y)
            | Op::Min(x, y)
            | Op::Max(x, y)
            | Op::Shl(x, y)
            | Op::Shr(x, y)
            | Op::Compare(_, x, y)
            | Op::Insert { base: x, value: y, .. } => (Some(x), Some(y)),
        };
        first.into_iter().chain(second)
    }
}

words! {
    /// The manual's stages, in their order.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum Stage {
        /// Extraction and extension of parts or lanes.
        Extract = "extract",
        /// The primary operation.
        Compute = "compute",
        /// Clamping to the range of the destination.
        Saturate = "saturate",
        /// The secondary operation or the sum of lanes.
        Secondary = "secondary",
        /// Insertion of parts or lanes into `c`.
        Merge = "merge",
        /// The low 32 bits.
        Write = "write",
    }
    /// All stages.
    pub ALL
    /// Its name.
    text
}

/// One step of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Step {
    /// Its operation.
    pub op: Op,
    /// The range of the result over all inputs.
    pub range: Range,
    /// The stage it belongs to.
    pub stage: Stage,
}

/// A verified straight-line program from `a`, `b`, `c` to the new `d`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Program {
    steps: Vec<Step>,
    #[cfg(all(feature = "batch", not(test)))]
    plan: batch::PlanOnce,
}

impl Program {
    /// A program of steps that are not verified here.
    fn of(steps: Vec<Step>) -> Program {
        Program {
            steps,
            #[cfg(all(feature = "batch", not(test)))]
            plan: batch::PlanOnce::default(),
        }
    }

    /// The new values of `d` for columns of source words.
    ///
    /// With the feature `batch`, the first call plans loops over whole columns, and later calls
    /// reuse the plan. Without the feature, and for the few programs without a plan, each row
    /// goes through [`Program::eval`].
    ///
    /// # Panics
    /// If the columns have different lengths.
    ///
    /// ```
    /// let instruction: vptx::Instruction = "vadd.u32.u32.u32.sat d, a, b.b0;".parse()?;
    /// let program = instruction.lower(vptx::Semantics::Manual);
    /// let mut d = [0; 3];
    /// program.eval_batch(&[1, 2, u32::MAX], &[0x101, 0, 7], &[0; 3], &mut d);
    /// assert_eq!(d, [2, 2, u32::MAX]);
    /// # Ok::<(), vptx::ParseInstructionError>(())
    /// ```
    pub fn eval_batch(&self, a: &[u32], b: &[u32], c: &[u32], d: &mut [u32]) {
        assert!(
            a.len() == d.len() && b.len() == d.len() && c.len() == d.len(),
            "the columns must have the same length"
        );
        #[cfg(all(feature = "batch", not(test)))]
        if self.run_plan([a, b, c], d) {
            return;
        }
        for (((d, &a), &b), &c) in d.iter_mut().zip(a).zip(b).zip(c) {
            *d = self.eval(a, b, c);
        }
    }

    /// The steps, in order; the last one is the result, a 32-bit word.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// The values with their steps, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (Value, &Step)> {
        self.steps.iter().enumerate().map(|(at, step)| (Value(at as u32), step))
    }

    /// The step that computes a value. `None` if the program has too few steps: the value
    /// belongs to another program.
    pub fn step(&self, value: Value) -> Option<&Step> {
        self.steps.get(value.index())
    }

    /// The last value: the new `d`.
    pub fn result(&self) -> Value {
        Value(self.steps.len() as u32 - 1)
    }

    /// Whether the program reads an input.
    pub fn reads(&self, input: Input) -> bool {
        self.steps.iter().any(|step| step.op == Op::Input(input))
    }
}

/// Builds programs. It makes equal steps once, and leaves out steps that change nothing
/// according to the ranges. Equal meanings thus mostly give equal programs.
#[derive(Debug)]
pub(crate) struct Builder {
    steps: Vec<Step>,
    stage: Stage,
}

impl Builder {
    pub(crate) fn new() -> Builder {
        Builder { steps: Vec::with_capacity(32), stage: Stage::Extract }
    }

    /// Sets the stage of the steps that follow.
    pub(crate) fn stage(&mut self, stage: Stage) {
        self.stage = stage;
    }

    pub(crate) fn range(&self, value: Value) -> Range {
        self.steps[value.index()].range
    }

    pub(crate) fn push(&mut self, op: Op) -> Value {
        self.push_in(op, |builder| range::of(&op, |value| builder.range(value)))
    }

    /// Adds an operation whose result lies in a range.
    fn push_in(&mut self, op: Op, range: impl FnOnce(&Builder) -> Range) -> Value {
        if let Some(at) = self.steps.iter().position(|step| step.op == op) {
            return Value(at as u32);
        }
        let range = range(self);
        self.steps.push(Step { op, range, stage: self.stage });
        Value(self.steps.len() as u32 - 1)
    }

    pub(crate) fn input(&mut self, input: Input) -> Value {
        self.push(Op::Input(input))
    }

    pub(crate) fn constant(&mut self, value: i128) -> Value {
        self.push(Op::Constant(value))
    }

    pub(crate) fn extract(&mut self, value: Value, low: u8, width: u8, signed: bool) -> Value {
        if low == 0 && Range::bits(width, signed).contains_range(self.range(value)) {
            return value;
        }
        // Takes bits of extracted bits from the original value.
        if let Op::Extract { value: inner, low: inner_low, width: inner_width, .. } =
            self.steps[value.index()].op
            && low + width <= inner_width
        {
            return self.extract(inner, inner_low + low, width, signed);
        }
        self.push(Op::Extract { value, low, width, signed })
    }

    pub(crate) fn clamp(&mut self, value: Value, range: Range) -> Value {
        if range.contains_range(self.range(value)) {
            return value;
        }
        self.push(Op::Clamp(value, range))
    }

    pub(crate) fn binary(&mut self, op: fn(Value, Value) -> Op, x: Value, y: Value) -> Value {
        self.push(op(x, y))
    }

    /// The smaller value. Needs no step if the ranges decide which one that is.
    pub(crate) fn min(&mut self, x: Value, y: Value) -> Value {
        match (self.range(x), self.range(y)) {
            (left, right) if left.max <= right.min => x,
            (left, right) if right.max <= left.min => y,
            _ => self.push(Op::Min(x, y)),
        }
    }

    /// The larger value. Needs no step if the ranges decide which one that is.
    pub(crate) fn max(&mut self, x: Value, y: Value) -> Value {
        match (self.range(x), self.range(y)) {
            (left, right) if left.min >= right.max => x,
            (left, right) if right.min >= left.max => y,
            _ => self.push(Op::Max(x, y)),
        }
    }

    pub(crate) fn compare(&mut self, compare: Compare, x: Value, y: Value) -> Value {
        let value = self.push(Op::Compare(compare, x, y));
        match self.range(value) {
            Range { min, max } if min == max => self.constant(min),
            _ => value,
        }
    }

    pub(crate) fn insert(&mut self, base: Value, value: Value, low: u8, width: u8) -> Value {
        self.push(Op::Insert { base, value, low, width })
    }

    /// Ends the program with the low 32 bits of a value, and drops the steps that the value does
    /// not need.
    pub(crate) fn finish(mut self, value: Value) -> Program {
        self.stage = Stage::Write;
        let result = self.extract(value, 0, 32, false);
        let mut used = vec![false; self.steps.len()];
        used[result.index()] = true;
        for at in (0..=result.index()).rev() {
            if used[at] {
                self.steps[at].op.operands().for_each(|value| used[value.index()] = true);
            }
        }
        let mut moved = vec![Value(0); self.steps.len()];
        let mut steps = Vec::with_capacity(self.steps.len());
        for (at, step) in self.steps.iter().enumerate().take(result.index() + 1) {
            if used[at] {
                moved[at] = Value(steps.len() as u32);
                steps.push(Step { op: renumber(step.op, |value| moved[value.index()]), ..*step });
            }
        }
        Program::of(steps)
    }
}

/// The same operation on other values.
pub(crate) fn renumber(op: Op, map: impl Fn(Value) -> Value) -> Op {
    match op {
        Op::Input(_) | Op::Constant(_) => op,
        Op::Extract { value, low, width, signed } => {
            Op::Extract { value: map(value), low, width, signed }
        }
        Op::Add(x, y) => Op::Add(map(x), map(y)),
        Op::Sub(x, y) => Op::Sub(map(x), map(y)),
        Op::Mul(x, y) => Op::Mul(map(x), map(y)),
        Op::AbsDiff(x, y) => Op::AbsDiff(map(x), map(y)),
        Op::Min(x, y) => Op::Min(map(x), map(y)),
        Op::Max(x, y) => Op::Max(map(x), map(y)),
        Op::Shl(x, y) => Op::Shl(map(x), map(y)),
        Op::Shr(x, y) => Op::Shr(map(x), map(y)),
        Op::Compare(compare, x, y) => Op::Compare(compare, map(x), map(y)),
        Op::Clamp(value, range) => Op::Clamp(map(value), range),
        Op::Insert { base, value, low, width } => {
            Op::Insert { base: map(base), value: map(value), low, width }
        }
    }
}
