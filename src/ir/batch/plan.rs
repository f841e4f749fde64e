//! Plans kernels for the steps of a program.
//!
//! The planner starts from the result and looks for kernels that cover several steps at once.
//! Mostly only the low 32 bits of a value are needed, and kernels compute them from words. If
//! more bits are needed, the ranges tell which width is enough.

use super::Column;
use super::kernel::{Binary, ColumnSource};
use super::lanes::{Element, Gather, LaneOp, LanePost, LanesKernel, Move, Sums};
use super::scalar::{Bounds, Extract, Field, Load, MultiplyAddKernel, Post, Scalar, Scaled, Width};
use super::vectors::Wide;
use crate::ir::{Op, Range, Step, Value};
use crate::isa::Compare;

/// Rows in a chunk, if a plan has several kernels.
const CHUNK: usize = 2048;

/// The most steps that a program with a plan has. Instructions need far fewer.
const MOST_STEPS: usize = 256;

/// Kernels in order; the last one writes the result.
pub(super) struct Plan {
    kernels: Vec<Kernel>,
    /// The initial word of each column. Only constant columns are read before they are written.
    fills: Vec<u32>,
}

struct Kernel {
    code: KernelCode,
    sources: [ColumnSource; 3],
    /// The column that the kernel writes. It comes after the columns that the kernel reads.
    to: usize,
}

enum KernelCode {
    Extract(Extract),
    Scalar(Scalar),
    Scaled(Scaled),
    MultiplyAdd(MultiplyAddKernel),
    Lanes(LanesKernel),
    Sums(Sums),
    Gather(Gather),
}

impl Kernel {
    fn run(&self, inputs: [&Column; 3], done: &[Vec<u32>], out: &mut Column) {
        let columns = self.sources.map(|source| match source {
            ColumnSource::Input(input) => inputs[input as usize],
            ColumnSource::Column(at) => &done[at][..out.len()],
        });
        match &self.code {
            KernelCode::Extract(it) => it.run(columns, out),
            KernelCode::Scalar(it) => it.run(columns, out),
            KernelCode::Scaled(it) => it.run(columns, out),
            KernelCode::MultiplyAdd(it) => it.run(columns, out),
            KernelCode::Lanes(it) => it.run(columns, out),
            KernelCode::Sums(it) => it.run(columns, out),
            KernelCode::Gather(it) => it.run(columns, out),
        }
    }
}

impl Plan {
    /// A plan for a program. `None` if no kernel fits, or the program has too many steps.
    pub(super) fn new(steps: &[Step]) -> Option<Plan> {
        // The planner recurses as deep as steps depend on each other.
        if steps.len() > MOST_STEPS {
            return None;
        }
        let mut planner = Planner {
            steps,
            asked: vec![false; steps.len()],
            words: vec![None; steps.len()],
            kernels: Vec::new(),
            fills: Vec::new(),
        };
        let result = planner.word(Value(steps.len() as u32 - 1))?;
        let last = planner.kernels.last().map(|kernel| ColumnSource::Column(kernel.to));
        if last != Some(result) {
            let whole = (result, false);
            let core = Core::new(Binary::First, Width::I32, whole, whole);
            planner.scalar(&core, Post::Word, whole);
        }
        let Planner { kernels, fills, .. } = planner;
        let mut plan = Plan { kernels, fills };
        if let Some(wide) = Wide::new() {
            plan.read_fields(wide);
        }
        // The last kernel writes to `d`, not to a column.
        plan.fills.pop();
        Some(plan)
    }

    /// The number of kernels.
    pub(super) fn kernels(&self) -> usize {
        self.kernels.len()
    }

    /// Lets kernels extract fields of words themselves, and drops the extract kernels that
    /// nothing reads any more.
    fn read_fields(&mut self, wide: Wide) {
        let mut fields = vec![None; self.fills.len()];
        for Kernel { code, sources, to } in &mut self.kernels {
            match code {
                KernelCode::Extract(extract) => {
                    fields[*to] = Some((Field::from(*extract), sources[0]));
                }
                KernelCode::Scalar(scalar) if scalar.width != Width::I64 => {
                    let found = [0, 1].map(|at| match sources[at] {
                        ColumnSource::Column(column) => fields[column],
                        ColumnSource::Input(_) => None,
                    });
                    if found == [None; 2] {
                        continue;
                    }
                    let whole = |at: usize| (Field::WORD, sources[at]);
                    let [x, y] = [0, 1].map(|at| found[at].unwrap_or_else(|| whole(at)));
                    scalar.fields = Some((wide, [x.0, y.0]));
                    [sources[0], sources[1]] = [x.1, y.1];
                    if scalar.post == Post::Word {
                        sources[2] = x.1;
                    }
                }
                _ => {}
            }
        }
        self.drop_unread();
    }

    /// Drops columns that nothing reads, and the kernels that write them.
    fn drop_unread(&mut self) {
        let mut read = vec![false; self.fills.len()];
        if let Some(last) = read.last_mut() {
            *last = true;
        }
        for Kernel { sources, to, .. } in self.kernels.iter().rev() {
            for source in sources {
                if let (true, &ColumnSource::Column(column)) = (read[*to], source) {
                    read[column] = true;
                }
            }
        }
        let places: Vec<usize> = read
            .iter()
            .scan(0, |place, &read| Some(std::mem::replace(place, *place + usize::from(read))))
            .collect();
        self.kernels.retain(|kernel| read[kernel.to]);
        for Kernel { sources, to, .. } in &mut self.kernels {
            *to = places[*to];
            for source in sources {
                if let ColumnSource::Column(column) = source {
                    *column = places[*column];
                }
            }
        }
        let mut kept = read.iter();
        self.fills.retain(|_| kept.next() == Some(&true));
    }

    /// Computes `d` for columns of inputs, whose length is a multiple of the grain.
    pub(super) fn run(&self, inputs: [&Column; 3], d: &mut Column) {
        let Some((last, kernels)) = self.kernels.split_last() else {
            return;
        };
        if self.fills.is_empty() {
            return last.run(inputs, &[], d);
        }
        let length = d.len().min(CHUNK);
        let mut columns: Vec<Vec<u32>> =
            self.fills.iter().map(|&fill| vec![fill; length]).collect();
        for (at, d) in d.chunks_mut(CHUNK).enumerate() {
            let inputs = inputs.map(|input| &input[at * CHUNK..][..d.len()]);
            for kernel in kernels {
                let (done, rest) = columns.split_at_mut(kernel.to);
                kernel.run(inputs, done, &mut rest[0][..d.len()]);
            }
            last.run(inputs, &columns, d);
        }
    }
}

/// A column of words, and whether they are signed values.
type Located = (ColumnSource, bool);

/// An operation on two words and a clamp: what one kernel can compute.
struct Core {
    op: Binary,
    width: Width,
    x: Located,
    y: Located,
    clamp: Option<Range>,
    bounds: Bounds,
    cut: u32,
}

/// A value as a clamp of another value.
#[derive(Clone, Copy)]
struct Clamped {
    /// The value that is clamped.
    inner: Value,
    clamp: Option<Range>,
    /// Whether the clamp reads `inner` as unsigned.
    unsigned: bool,
    /// `inner`, or the shift to the left that `inner` truncates.
    shifted: Value,
    /// The number of bits, out of 64, that the truncation removes.
    cut: u32,
}

/// A value as one operation on two others.
struct BinaryStep {
    value: Value,
    exactly: Option<Width>,
    clamped: Clamped,
    op: Binary,
    x: Value,
    y: Value,
}

impl BinaryStep {
    /// Whether only the low 32 bits matter.
    fn is_low_only(&self) -> bool {
        self.clamped.clamp.is_none() && self.exactly.is_none()
    }
}

impl Core {
    fn new(op: Binary, width: Width, x: Located, y: Located) -> Core {
        Core { op, width, x, y, clamp: None, bounds: Bounds::Both, cut: 0 }
    }
}

/// The lanes of a word that are computed alike.
struct Pack {
    bits: u8,
    /// The value of each lane; `None` for a lane that is left out.
    lanes: [Option<Value>; 4],
}

/// The properties that all lanes share.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Pattern {
    op: Binary,
    clamp: Option<Range>,
    signed: [bool; 2],
    range: Range,
    /// The range before the clamp.
    inner: Range,
}

struct Planner<'a> {
    steps: &'a [Step],
    /// Whether each value was requested. A second request reuses the first answer.
    asked: Vec<bool>,
    /// The columns that hold the low 32 bits of values, if known.
    words: Vec<Option<ColumnSource>>,
    kernels: Vec<Kernel>,
    fills: Vec<u32>,
}

impl Planner<'_> {
    fn op(&self, value: Value) -> Op {
        self.steps[value.index()].op
    }

    fn range(&self, value: Value) -> Range {
        self.steps[value.index()].range
    }

    fn constant(&self, value: Value) -> Option<i128> {
        match self.op(value) {
            Op::Constant(constant) => Some(constant),
            _ => None,
        }
    }

    fn fits(&self, value: Value, width: Width) -> bool {
        width.range().contains_range(self.range(value))
    }

    fn column(&mut self, fill: u32) -> usize {
        self.fills.push(fill);
        self.fills.len() - 1
    }

    fn push(&mut self, code: KernelCode, sources: [ColumnSource; 3]) -> ColumnSource {
        let to = self.column(0);
        self.kernels.push(Kernel { code, sources, to });
        ColumnSource::Column(to)
    }

    fn scalar(&mut self, core: &Core, post: Post, third: Located) -> ColumnSource {
        let &Core { op, width, x, y, clamp, bounds, cut } = core;
        let signed = [x.1, y.1, third.1];
        let scalar = Scalar { op, width, signed, clamp, bounds, cut, post, fields: None };
        self.push(KernelCode::Scalar(scalar), [x.0, y.0, third.0])
    }

    /// A column of the low 32 bits of a value.
    fn word(&mut self, value: Value) -> Option<ColumnSource> {
        if std::mem::replace(&mut self.asked[value.index()], true) {
            return self.words[value.index()];
        }
        let source = match self.op(value) {
            Op::Input(input) => Some(ColumnSource::Input(input)),
            Op::Constant(constant) => Some(ColumnSource::Column(self.column(constant as u32))),
            Op::Extract { value, low: 0, width: 32.., .. } => self.word(value),
            Op::Extract { value, low, width, signed } if low + width <= 32 => {
                let extract = KernelCode::Extract(Extract { low, width, signed });
                self.word(value).map(|from| self.push(extract, [from; 3]))
            }
            _ => self.compute(value),
        };
        self.words[value.index()] = source;
        source
    }

    fn compute(&mut self, value: Value) -> Option<ColumnSource> {
        if let Some(source) = self.packed(value).or_else(|| self.multiply_add(value)) {
            return Some(source);
        }
        match self.op(value) {
            Op::Insert { base, value, low, width } => {
                let third = self.word(base)?;
                let core = self.core(value, None)?;
                let mask = (((1u64 << width) - 1) << low) as u32;
                let post = Post::Insert { low: low.into(), mask };
                return Some(self.scalar(&core, post, (third, false)));
            }
            Op::Add(x, y) => {
                // If one term needs a kernel, that kernel also computes the sum.
                let simple = |value: Value| self.is_located(value);
                let (term, other) = if simple(x) { (y, x) } else { (x, y) };
                if !simple(term) {
                    let third = self.word(other)?;
                    let core = self.core(term, None)?;
                    return Some(self.scalar(&core, Post::Add, (third, false)));
                }
            }
            Op::Min(x, y) | Op::Max(x, y) if self.common(x, y).is_some() => {
                // If one term needs a kernel, that kernel also computes the minimum or maximum.
                let unsigned = self.common(x, y) == Some(Width::U32);
                let simple = |value: Value| self.is_located(value);
                let (term, other) = if simple(x) { (y, x) } else { (x, y) };
                if !simple(term) {
                    let third = self.located(other)?;
                    let post = match self.op(value) {
                        Op::Min(..) => Post::Min { unsigned },
                        _ => Post::Max { unsigned },
                    };
                    let core = self.core(term, None)?;
                    if core.width != Width::I64 {
                        return Some(self.scalar(&core, post, third));
                    }
                }
            }
            Op::Min(x, y) | Op::Max(x, y) if !(self.is_short(x) && self.is_short(y)) => {
                let views = [x, y].map(|value| self.unsigned_view(value));
                let unsigned = views.iter().any(Option::is_some);
                // If one value is read as unsigned, the other must not be negative.
                let taken = |at: usize, value| views[at].is_some() || self.range(value).min >= 0;
                if unsigned && !(taken(0, x) && taken(1, y)) {
                    return None;
                }
                let (x, y) = (views[0].unwrap_or(x), views[1].unwrap_or(y));
                let (term, other) = if self.is_short(x) { (y, x) } else { (x, y) };
                let third = self.located(other)?;
                let post = match self.op(value) {
                    Op::Min(..) => Post::Min { unsigned },
                    _ => Post::Max { unsigned },
                };
                let core = self.core(term, Some(Width::I64))?;
                return Some(self.scalar(&core, post, third));
            }
            // Columns hold the low 32 bits only.
            Op::Extract { low, width, .. } if low + width > 32 => return None,
            _ => {}
        }
        let core = self.core(value, None)?;
        Some(self.scalar(&core, Post::Word, core.x))
    }

    /// The 64-bit value that this value reads as unsigned.
    fn unsigned_view(&self, value: Value) -> Option<Value> {
        match self.op(value) {
            Op::Extract { value, low: 0, width: 64, signed: false } => Some(value),
            _ => None,
        }
    }

    /// The 32-bit type in which two values can be compared.
    fn common(&self, x: Value, y: Value) -> Option<Width> {
        let both = |&width: &Width| self.fits(x, width) && self.fits(y, width);
        [Width::I32, Width::U32].into_iter().find(both)
    }

    /// Whether 32 bits hold a value.
    fn is_short(&self, value: Value) -> bool {
        self.fits(value, Width::I32) || self.fits(value, Width::U32)
    }

    /// Whether a value needs no kernel, except to extract it from a word.
    fn is_located(&self, value: Value) -> bool {
        match self.op(value) {
            Op::Input(_) | Op::Constant(_) => true,
            Op::Extract { low, width, .. } => low + width <= 32,
            _ => false,
        }
    }

    /// The column that holds a whole value.
    fn located(&mut self, value: Value) -> Option<Located> {
        if !self.is_short(value) {
            return None;
        }
        Some((self.word(value)?, self.fits(value, Width::I32)))
    }

    /// If this value is a half or a byte of another value: that other value, and how to load the
    /// part.
    fn part(&self, value: Value) -> Option<(Value, Load)> {
        match self.op(value) {
            Op::Extract { value, low, width, signed } => {
                Some((value, Load::new(low, width, signed)?))
            }
            _ => None,
        }
    }

    /// The column that holds the low 32 bits of a value.
    fn located_low(&mut self, value: Value) -> Option<Located> {
        Some((self.word(value)?, true))
    }

    /// The operation on two values that computes a value, as an operation of kernels.
    fn binary(&self, value: Value) -> (Binary, Value, Value) {
        match self.op(value) {
            Op::Add(x, y) => (Binary::Add, x, y),
            Op::Sub(x, y) => (Binary::Sub, x, y),
            Op::Mul(x, y) => (Binary::Mul, x, y),
            Op::AbsDiff(x, y) => (Binary::AbsDiff, x, y),
            Op::Min(x, y) => (Binary::Min, x, y),
            Op::Max(x, y) => (Binary::Max, x, y),
            Op::Compare(Compare::Eq, x, y) => (Binary::Eq, x, y),
            Op::Compare(Compare::Ne, x, y) => (Binary::Ne, x, y),
            Op::Compare(Compare::Lt, x, y) => (Binary::Lt, x, y),
            Op::Compare(Compare::Le, x, y) => (Binary::Le, x, y),
            Op::Compare(Compare::Gt, x, y) => (Binary::Lt, y, x),
            Op::Compare(Compare::Ge, x, y) => (Binary::Le, y, x),
            Op::Shl(x, y) => {
                let below = self.range(y).max < 32;
                (if below { Binary::ShlBelow32 } else { Binary::Shl }, x, self.amount(y))
            }
            Op::Shr(x, y) => {
                if let Some((x, y)) = self.average(x, y) {
                    return (Binary::Average, x, y);
                }
                let below = self.range(y).max < 32;
                (if below { Binary::ShrBelow32 } else { Binary::Shr }, x, self.amount(y))
            }
            _ => (Binary::First, value, value),
        }
    }

    /// The terms of a sum that is rounded like [`Binary::Average`].
    fn average(&self, sum: Value, amount: Value) -> Option<(Value, Value)> {
        if self.fits(sum, Width::I32)
            && let Op::Add(sum, carry) = self.op(sum)
            && let Op::Add(x, y) = self.op(sum)
            && self.is_carry(carry, sum)
            && self.constant(amount) == Some(1)
            && self.fits(sum, Width::I32)
        {
            return Some((x, y));
        }
        None
    }

    /// Whether `carry` is 1 if `sum` is zero or more, and else 0.
    fn is_carry(&self, carry: Value, sum: Value) -> bool {
        match self.op(carry) {
            Op::Compare(Compare::Ge, compared, zero) => {
                (compared, self.constant(zero)) == (sum, Some(0))
            }
            Op::Constant(one) => one == 1 && self.range(sum).min >= 0,
            _ => false,
        }
    }

    /// A shift amount without the bound that the shift kernels have anyway.
    fn amount(&self, value: Value) -> Value {
        match self.op(value) {
            Op::Min(x, y) if self.constant(y) == Some(32) && self.fits(x, Width::U32) => x,
            _ => value,
        }
    }

    /// An operation that computes a value: all of it if `exactly` names a width, else its low
    /// 32 bits.
    fn core(&mut self, value: Value, exactly: Option<Width>) -> Option<Core> {
        let clamped = self.clamped(value);
        let (op, x, y) = self.binary(clamped.shifted);
        let operation = BinaryStep { value, exactly, clamped, op, x, y };
        if let Some((op, x, y)) = self.modular(&operation) {
            let (x, y) = (self.located_low(x)?, self.located_low(y)?);
            return Some(Core::new(op, Width::I32, x, y));
        }
        let compares = matches!(op, Binary::Eq | Binary::Ne | Binary::Lt | Binary::Le);
        if compares && clamped.clamp.is_some() {
            return None;
        }
        if let Some((op, x, y)) = self.mixed_signs(&operation) {
            let (x, y) = (self.located(x)?, self.located(y)?);
            return Some(Core::new(op, Width::I32, x, y));
        }
        let (op, width) =
            Width::ALL.into_iter().find_map(|width| self.fitting(&operation, width))?;
        self.core_of(&operation, op, width)
    }

    /// Removes the clamp from a value, and the truncation to 34 bits from a shift to the left.
    fn clamped(&self, value: Value) -> Clamped {
        let (inner, clamp, unsigned) = match self.op(value) {
            Op::Clamp(inner, range) => (inner, Some(range), false),
            Op::Min(x, y) if self.constant(y).is_some_and(|bound| bound >= 0) => {
                match (self.unsigned_view(x), self.constant(y)) {
                    (Some(inner), Some(bound)) => (inner, Some(Range::new(0, bound)), true),
                    _ => (value, None, false),
                }
            }
            _ => (value, None, false),
        };
        let (shifted, cut) = match self.op(inner) {
            Op::Extract { value, low: 0, width, signed: true }
                if width > 32 && matches!(self.op(value), Op::Shl(..)) =>
            {
                (value, 64 - u32::from(width))
            }
            _ => (inner, 0),
        };
        Clamped { inner, clamp, unsigned, shifted, cut }
    }

    /// An operation whose low 32 bits depend only on the low 32 bits of its operands.
    fn modular(&self, operation: &BinaryStep) -> Option<(Binary, Value, Value)> {
        let &BinaryStep { op, x, y, .. } = operation;
        let modular = matches!(op, Binary::Add | Binary::Sub | Binary::Mul);
        let shift = matches!(op, Binary::Shl | Binary::ShlBelow32);
        let is_modular = modular || shift && self.fits(y, Width::U32);
        (operation.is_low_only() && is_modular).then_some((op, x, y))
    }

    /// An operation on a signed and an unsigned word, for which few kernels exist.
    fn mixed_signs(&self, operation: &BinaryStep) -> Option<(Binary, Value, Value)> {
        let &BinaryStep { op, x, y, exactly, clamped, .. } = operation;
        if self.common(x, y).is_some() {
            return None;
        }
        // A signed and an unsigned word are equal if their bits are, and the sign bit is clear.
        let equal = match op {
            Binary::Eq => Some(Binary::EqMixed),
            Binary::Ne => Some(Binary::NeMixed),
            _ => None,
        };
        if let Some(op) = equal
            && operation.is_low_only()
            && self.is_short(x)
            && self.is_short(y)
        {
            return Some((op, x, y));
        }
        // Sums and differences, clamped to signed words.
        let (op, x, y) = match op {
            Binary::Add if self.fits(y, Width::I32) => (Binary::AddSatMixed, y, x),
            Binary::Add => (Binary::AddSatMixed, x, y),
            Binary::Sub => (Binary::SubSatMixed, x, y),
            _ => return None,
        };
        let clamps = clamped.clamp == Some(Width::I32.range())
            && exactly.is_none_or(|exactly| exactly == Width::I32);
        (clamps && self.fits(x, Width::I32) && self.fits(y, Width::U32)).then_some((op, x, y))
    }

    /// The operation and the width of the kernel that computes an operation in a width, if any.
    fn fitting(&self, operation: &BinaryStep, width: Width) -> Option<(Binary, Width)> {
        let &BinaryStep { value, exactly, op, x, y, clamped } = operation;
        let Clamped { inner, clamp, unsigned, cut, .. } = clamped;
        let holds = |value| self.fits(value, width);
        // An absolute difference is right modulo 2^32.
        let distance = op == Binary::AbsDiff && operation.is_low_only();
        // Shift amounts count as unsigned words.
        let shift =
            matches!(op, Binary::Shl | Binary::Shr | Binary::ShlBelow32 | Binary::ShrBelow32);
        let second = if shift { self.fits(y, Width::U32) } else { holds(y) };
        if exactly.is_some_and(|exactly| exactly != width)
            || !(holds(x) && second && (holds(value) || distance))
        {
            return None;
        }
        let op = match (op, width) {
            // A saturated value can only be clamped further.
            (Binary::Add | Binary::Sub, Width::I32 | Width::U32)
                if width == Width::U32 || !holds(inner) =>
            {
                // Read as unsigned, a difference below zero is a large value.
                let lost = unsigned && (op, width) == (Binary::Sub, Width::U32);
                if lost || !clamp.is_some_and(|range| width.range().contains_range(range)) {
                    return None;
                }
                if op == Binary::Add { Binary::AddSat } else { Binary::SubSat }
            }
            // Then the difference fits, too.
            (Binary::AbsDiff, Width::I32) if holds(inner) => Binary::AbsOfSub,
            _ if cut > 0 && width == Width::I64 => op,
            _ if !(holds(inner) || distance) || cut > 0 => return None,
            _ => op,
        };
        // Whether words are equal does not depend on their sign.
        let width = match (op, width) {
            (Binary::Eq | Binary::Ne, Width::U32) => Width::I32,
            _ => width,
        };
        width.has(op).then_some((op, width))
    }

    /// Adds the operands' columns and the clamp to an operation.
    fn core_of(&mut self, operation: &BinaryStep, op: Binary, width: Width) -> Option<Core> {
        let &BinaryStep { x, y, clamped, .. } = operation;
        let Clamped { inner, clamp, unsigned, cut, .. } = clamped;
        let (x, y) = (self.located(x)?, self.located(y)?);
        let clamp = clamp.filter(|&range| {
            !matches!(op, Binary::AddSat | Binary::SubSat) || range != width.range()
        });
        let bounds = match clamp {
            Some(_) if unsigned && width != Width::U32 => Bounds::AboveUnsigned,
            Some(range) if unsigned || range.min <= self.range(inner).min => Bounds::Above,
            _ => Bounds::Both,
        };
        Some(Core { op, width, x, y, clamp, bounds, cut })
    }

    /// A kernel for a sum with a product that needs more than 32 bits.
    fn multiply_add(&mut self, value: Value) -> Option<ColumnSource> {
        let (inner, clamp) = match self.op(value) {
            Op::Clamp(inner, range) => (inner, Some(range)),
            _ => (value, None),
        };
        let (inner, shift) = match self.op(inner) {
            Op::Shr(inner, amount) => (inner, u32::try_from(self.constant(amount)?).ok()?),
            _ => (inner, 0),
        };
        // Otherwise words are enough.
        if clamp.is_none() && shift == 0 {
            return None;
        }
        let (sum, wrapped) = match self.op(inner) {
            Op::Extract { value, low: 0, width: 64, signed: false } => (value, true),
            _ => (inner, false),
        };
        let signed = !wrapped && self.fits(sum, Width::I64);
        let range = Range::bits(64, signed);
        if !range.contains_range(self.range(value))
            || !(wrapped || range.contains_range(self.range(sum)))
        {
            return None;
        }
        let (sum, more) = match self.op(sum) {
            Op::Add(sum, more) if self.constant(more).is_some() => {
                (sum, i64::try_from(self.constant(more)?).ok()?)
            }
            _ => (sum, 0),
        };
        let is_product = |value| matches!(self.op(value), Op::Mul(..));
        let (product, third, negate_product, negate_third) = match self.op(sum) {
            Op::Add(x, y) if is_product(x) => (x, y, false, false),
            Op::Sub(x, y) if is_product(x) => (x, y, false, true),
            Op::Sub(x, y) if is_product(y) => (y, x, true, false),
            _ => return None,
        };
        let Op::Mul(x, y) = self.op(product) else {
            return None;
        };
        if clamp.is_none()
            && !(negate_product || negate_third || wrapped)
            && (shift == 7 || shift == 15)
            && (0..=1).contains(&more)
            && self.fits(product, Width::I32)
            && self.fits(third, Width::I32)
            && let (Some((x, x_load)), Some((y, y_load))) = (self.part(x), self.part(y))
        {
            let kernel = Scaled { loads: [x_load, y_load], more: more as i32, shift };
            let sources = [self.word(x)?, self.word(y)?, self.word(third)?];
            return Some(self.push(KernelCode::Scaled(kernel), sources));
        }
        let (x, y, z) = (self.located(x)?, self.located(y)?, self.located(third)?);
        let signed_words = [x.1, y.1, z.1];
        let kernel = MultiplyAddKernel {
            signed_words,
            negate_product,
            negate_third,
            more,
            signed,
            shift,
            clamp,
        };
        Some(self.push(KernelCode::MultiplyAdd(kernel), [x.0, y.0, z.0]))
    }

    /// A kernel for lanes that are inserted into a word or added to a word.
    fn packed(&mut self, value: Value) -> Option<ColumnSource> {
        let (pack, base, sum) = match self.op(value) {
            Op::Insert { width: width @ (8 | 16), .. } => self.inserted(value, width),
            Op::Add(..) => self.added(value)?,
            _ => return None,
        };
        let values = pack.lanes.into_iter().flatten();
        let mut patterns = values.map(|value| self.pattern(value, pack.bits));
        let pattern = patterns.next()??;
        if !patterns.all(|other| other == Some(pattern)) {
            return None;
        }
        let Pattern { op, clamp, signed, range, .. } = pattern;
        let sums = matches!(op, Binary::Add | Binary::Sub) && sum && clamp.is_none();
        let lane_op = if sums { None } else { Some(lane_op(&pattern, pack.bits, sum)?) };
        let (mut x, mut y) = (self.gathered(&pack, 0)?, self.gathered(&pack, 1)?);
        // A scalar kernel moves a single half faster.
        if (x.1 || y.1) && pack.bits == 16 && pack.lanes.iter().flatten().count() == 1 {
            return None;
        }
        let lane = (1u64 << pack.bits) - 1;
        let mask = (0..4)
            .filter(|&at| pack.lanes[at].is_some())
            .fold(0, |mask, at| mask | (lane << (at as u32 * u32::from(pack.bits))) as u32);
        let post = match sum {
            true => LanePost::Sum,
            false if mask == u32::MAX => LanePost::Word,
            false => LanePost::Merge,
        };
        let third = if post == LanePost::Word { x.0 } else { self.word(base)? };
        let Some((op, element, swap)) = lane_op else {
            let sums = Sums { bits: pack.bits, subtract: op == Binary::Sub, signed, mask };
            let (x, y) = (self.in_order(x, pack.bits), self.in_order(y, pack.bits));
            return Some(self.push(KernelCode::Sums(sums), [x, y, third]));
        };
        let (bits, signed_results, turned) = (pack.bits, range.min < 0, false);
        let mut lanes =
            LanesKernel { op, bits, element, signed, signed_results, clamp, post, mask, turned };
        if swap || (y.1 && !x.1 && lanes.commutes()) {
            std::mem::swap(&mut x, &mut y);
        }
        if lanes.can_turn() {
            lanes.turned = std::mem::take(&mut x.1);
        }
        let (x, y) = (self.in_order(x, bits), self.in_order(y, bits));
        Some(self.push(KernelCode::Lanes(lanes), [x, y, third]))
    }

    /// A column with its lanes in order; `turned` says whether the given lanes are reversed.
    fn in_order(&mut self, (source, turned): (ColumnSource, bool), bits: u8) -> ColumnSource {
        if turned {
            self.push(KernelCode::Gather(Gather::turned(bits)), [source; 3])
        } else {
            source
        }
    }

    /// The lanes that are inserted into a word, and the word.
    fn inserted(&self, mut value: Value, bits: u8) -> (Pack, Value, bool) {
        let mut pack = Pack { bits, lanes: [None; 4] };
        while let Op::Insert { base, value: lane, low, width } = self.op(value)
            && width == bits
            && low % bits == 0
            && pack.lanes[usize::from(low / bits)].is_none()
        {
            pack.lanes[usize::from(low / bits)] = Some(lane);
            value = base;
        }
        (pack, value, false)
    }

    /// The lanes that are added to a value, and the value.
    fn added(&self, mut value: Value) -> Option<(Pack, Value, bool)> {
        let mut terms = Vec::new();
        let bits_of = |lane| {
            let bits = |bits: &u8| self.pattern(lane, *bits).is_some();
            [8, 16].into_iter().find(bits)
        };
        let mut all = None;
        while let Op::Add(base, lane) = self.op(value)
            && let Some(bits) = bits_of(lane)
            && all.is_none_or(|all| all == bits)
            && terms.len() < usize::from(32 / bits)
        {
            all = Some(bits);
            terms.push(lane);
            value = base;
        }
        let bits = all.filter(|_| terms.len() > 1)?;
        let mut pack = Pack { bits, lanes: [None; 4] };
        // Lanes stay at their position in the source, if no two lanes have the same position.
        let at = |lane| match self.op(self.arguments(lane)[0]) {
            Op::Extract { low, .. } => usize::from(low / bits),
            _ => 0,
        };
        let mut places: Vec<usize> = terms.iter().map(|&lane| at(lane)).collect();
        places.sort_unstable();
        places.dedup();
        let apart = places.len() == terms.len();
        for (order, &lane) in terms.iter().rev().enumerate() {
            pack.lanes[if apart { at(lane) } else { order }] = Some(lane);
        }
        Some((pack, value, true))
    }

    /// The two operands of a lane.
    fn arguments(&self, lane: Value) -> [Value; 2] {
        let inner = match self.op(lane) {
            Op::Clamp(inner, _) => inner,
            _ => lane,
        };
        let (_, x, y) = self.binary(inner);
        [x, y]
    }

    fn pattern(&self, lane: Value, bits: u8) -> Option<Pattern> {
        let (inner, clamp) = match self.op(lane) {
            Op::Clamp(inner, range) => (inner, Some(range)),
            _ => (lane, None),
        };
        let (op, x, y) = self.binary(inner);
        let part = |value| match self.op(value) {
            Op::Extract { low, width, signed, .. }
                if width == bits && low % bits == 0 && low < 32 =>
            {
                Some(signed)
            }
            _ => None,
        };
        let (range, inner) = (self.range(lane), self.range(inner));
        Some(Pattern { op, clamp, signed: [part(x)?, part(y)?], range, inner })
    }

    /// A column that holds one operand of all lanes. The flag says whether the lanes are in
    /// reverse order.
    fn gathered(&mut self, pack: &Pack, argument: usize) -> Option<(ColumnSource, bool)> {
        let mut sources = Vec::new();
        let mut moves = Vec::new();
        for (at, lane) in pack.lanes.iter().enumerate() {
            let Some(lane) = *lane else { continue };
            let Op::Extract { value, low, width, .. } = self.op(self.arguments(lane)[argument])
            else {
                return None;
            };
            let source = self.word(value)?;
            let column = sources.iter().position(|&it| it == source).unwrap_or_else(|| {
                sources.push(source);
                sources.len() - 1
            });
            moves.push(Move { column, from: low, to: at as u8 * pack.bits, width });
        }
        let &first = sources.first()?;
        if sources.len() == 1 && moves.iter().all(|it| it.from == it.to) {
            return Some((first, false));
        }
        if sources.len() == 1 && moves.iter().all(|it| it.from + it.to + pack.bits == 32) {
            return Some((first, true));
        }
        let &second = sources.last()?;
        if sources.len() > 2 {
            return None;
        }
        Some((self.push(KernelCode::Gather(Gather { moves }), [first, second, first]), false))
    }
}

/// The operation on lanes, its element type, and whether the columns must be swapped.
fn lane_op(pattern: &Pattern, bits: u8, sum: bool) -> Option<(LaneOp, Element, bool)> {
    let &Pattern { op, clamp, signed, range, inner } = pattern;
    let own = |signed| Range::bits(bits, signed);
    let fits = |signed| own(signed).contains_range(range);
    let top = 1u16 << (bits - 1);
    let all = top | (top - 1);
    let alike = signed[0] == signed[1];
    // If the result is clamped to the range of a lane: whether that range is signed.
    let to = match clamp {
        Some(clamp) if clamp == own(true) => Some(true),
        Some(clamp) if clamp == own(false) => Some(false),
        _ => None,
    };
    let free = clamp.is_none_or(|clamp| clamp.contains_range(inner));
    // Lanes that are added must fit their width.
    let whole = !sum || fits(range.min < 0);
    let native = Element::native(signed[0]);
    let flips = signed.map(|signed| if signed { top } else { 0 });
    let moved = |subtract, flips, least, most, excess| {
        Some((LaneOp::Moved { subtract, flips, least, most, excess }, Element::Unsigned, false))
    };
    match (op, to, signed) {
        _ if !whole => None,
        (Binary::Add | Binary::Sub, ..) if free => {
            Some((LaneOp::Plain(op), Element::Unsigned, false))
        }
        (Binary::Add, Some(to), _) if alike && to == signed[0] => {
            Some((LaneOp::Plain(Binary::AddSat), native, false))
        }
        (Binary::Sub, Some(to), _) if alike && to == signed[0] => {
            Some((LaneOp::Plain(Binary::SubSat), native, false))
        }
        (Binary::Add, Some(true), [false, false]) => moved(false, flips, 0, top - 1, 0),
        (Binary::Add, Some(true), _) => moved(false, flips, 0, all, top),
        (Binary::Add, Some(false), [true, true]) => moved(true, [top, top - 1], 1, all, 1),
        (Binary::Add, Some(false), [first, _]) => {
            Some((LaneOp::AddMixed, Element::Unsigned, first))
        }
        (Binary::Sub, Some(true), [false, true]) => moved(false, [0, top - 1], 0, all - 1, top - 1),
        (Binary::Sub, Some(true), [true, _]) => moved(true, flips, 0, all, top),
        (Binary::Sub, Some(true), _) => Some((LaneOp::SubSigned, Element::Unsigned, false)),
        (Binary::Sub, Some(false), [true, true]) => moved(true, flips, 0, all, 0),
        (Binary::Sub, Some(false), [true, false]) => moved(true, flips, top, all, top),
        (Binary::Sub, Some(false), _) => Some((LaneOp::SubMixed, Element::Unsigned, false)),
        (Binary::Min | Binary::Max, ..) if alike && free => {
            Some((LaneOp::Plain(op), native, false))
        }
        (Binary::Min | Binary::Max, ..) if free || to.is_some() => {
            // Without a clamp, a minimum fits signed lanes and a maximum unsigned ones.
            let to = to.unwrap_or(op == Binary::Min);
            // At least one column has the other sign than `to`, and that column comes first.
            let both = alike;
            let op = if op == Binary::Min { LaneOp::Least { both } } else { LaneOp::Most { both } };
            Some((op, Element::native(to), signed[0] == to))
        }
        (Binary::AbsDiff, Some(true), _) if alike && !free => {
            Some((LaneOp::AbsDiffSat, native, false))
        }
        (Binary::AbsDiff | Binary::Average | Binary::Lt | Binary::Le, ..) if alike && free => {
            Some((LaneOp::Plain(op), native, false))
        }
        (Binary::Eq | Binary::Ne, ..) if alike && free => {
            Some((LaneOp::Plain(op), Element::Unsigned, false))
        }
        (
            Binary::AbsDiff | Binary::Average | Binary::Lt | Binary::Le | Binary::Eq | Binary::Ne,
            ..,
        ) => {
            let wide = Range::bits(2 * bits, true);
            let exact = wide.contains_range(inner) && wide.contains_range(range);
            exact.then_some((LaneOp::Plain(op), Element::Wide, false))
        }
        _ => None,
    }
}
