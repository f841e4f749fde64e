//! Running a program on columns of inputs.
//!
//! A chunk of inputs goes through all steps before the next one, so that its
//! columns stay in the cache nearest the core, and each step is one loop over
//! plain arrays, which the compiler turns into vector code. Where a step's
//! range allows, its column has 32-bit lanes, else 64-bit ones; the few steps
//! that need more are computed with 128 bits.

use super::{Input, Op, Program, Range, Value};
use crate::isa::Compare;

/// Inputs in a chunk.
const CHUNK: usize = 256;

/// How a step's column is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Lane {
    /// As `i32`.
    Narrow,
    /// An unsigned 32-bit word, kept as the bits of an `i32`.
    Word,
    /// As `i64`.
    Wide,
    /// As `i128`.
    Exact,
}

impl Lane {
    fn of(range: Range) -> Lane {
        if Range::bits(32, true).contains_range(range) {
            Lane::Narrow
        } else if Range::bits(32, false).contains_range(range) {
            Lane::Word
        } else if Range::bits(64, true).contains_range(range) {
            Lane::Wide
        } else {
            Lane::Exact
        }
    }
}

/// Integers that columns are made of.
trait Int: Copy + Ord {
    const ZERO: Self;
    const ONE: Self;
    /// The nearest value to an integer.
    fn nearest(value: i128) -> Self;
    fn add(self, other: Self) -> Self;
    fn sub(self, other: Self) -> Self;
    fn mul(self, other: Self) -> Self;
    fn shl(self, amount: Self) -> Self;
    fn shr(self, amount: Self) -> Self;
}

// Ranges rule overflow out; wrapping spares the check and vectorises.
macro_rules! int {
    ($($int:ident)*) => {$(
        impl Int for $int {
            const ZERO: $int = 0;
            const ONE: $int = 1;
            fn nearest(value: i128) -> $int {
                value.clamp($int::MIN.into(), $int::MAX.into()) as $int
            }
            fn add(self, other: $int) -> $int {
                self.wrapping_add(other)
            }
            fn sub(self, other: $int) -> $int {
                self.wrapping_sub(other)
            }
            fn mul(self, other: $int) -> $int {
                self.wrapping_mul(other)
            }
            fn shl(self, amount: $int) -> $int {
                self.wrapping_shl(amount as u32)
            }
            fn shr(self, amount: $int) -> $int {
                self >> amount.min($int::BITS as $int - 1)
            }
        }
    )*};
}

int! { i32 i64 i128 }

type Column<T> = [T; CHUNK];

fn each<T: Int>(x: &Column<T>, y: &Column<T>, out: &mut Column<T>, f: impl Fn(T, T) -> T) {
    for ((out, &x), &y) in out.iter_mut().zip(x).zip(y) {
        *out = f(x, y);
    }
}

/// The operations on two values of one width, or on one and a constant.
fn compute<T: Int>(op: &Op, x: &Column<T>, y: &Column<T>, out: &mut Column<T>) {
    let truth = |holds: bool| if holds { T::ONE } else { T::ZERO };
    match *op {
        Op::Add(..) => each(x, y, out, T::add),
        Op::Sub(..) => each(x, y, out, T::sub),
        Op::Mul(..) => each(x, y, out, T::mul),
        Op::AbsDiff(..) => each(x, y, out, |x, y| x.max(y).sub(x.min(y))),
        Op::Min(..) => each(x, y, out, T::min),
        Op::Max(..) => each(x, y, out, T::max),
        Op::Shl(..) => each(x, y, out, T::shl),
        Op::Shr(..) => each(x, y, out, T::shr),
        Op::Compare(Compare::Eq, ..) => each(x, y, out, |x, y| truth(x == y)),
        Op::Compare(Compare::Ne, ..) => each(x, y, out, |x, y| truth(x != y)),
        Op::Compare(Compare::Lt, ..) => each(x, y, out, |x, y| truth(x < y)),
        Op::Compare(Compare::Le, ..) => each(x, y, out, |x, y| truth(x <= y)),
        Op::Compare(Compare::Gt, ..) => each(x, y, out, |x, y| truth(x > y)),
        Op::Compare(Compare::Ge, ..) => each(x, y, out, |x, y| truth(x >= y)),
        Op::Clamp(_, range) => {
            let (min, max) = (T::nearest(range.min), T::nearest(range.max));
            each(x, y, out, |x, _| x.max(min).min(max));
        }
        // The others have loops of their own.
        Op::Input(_) | Op::Constant(_) | Op::Extract { .. } | Op::Insert { .. } => {}
    }
}

/// The columns of one chunk.
struct Columns {
    /// For each step, how and where its column is stored.
    places: Vec<(Lane, usize)>,
    /// Narrow and word columns.
    narrow: Vec<Column<i32>>,
    wide: Vec<Column<i64>>,
    exact: Vec<Column<i128>>,
}

impl Columns {
    fn new(program: &Program) -> Columns {
        let (mut narrow, mut wide, mut exact) = (0, 0, 0);
        let places = program.steps.iter().map(|step| {
            let lane = Lane::of(step.range);
            let count = match lane {
                Lane::Narrow | Lane::Word => &mut narrow,
                Lane::Wide => &mut wide,
                Lane::Exact => &mut exact,
            };
            *count += 1;
            (lane, *count - 1)
        });
        let places = places.collect();
        Columns {
            places,
            narrow: vec![[0; CHUNK]; narrow],
            wide: vec![[0; CHUNK]; wide],
            exact: vec![[0; CHUNK]; exact],
        }
    }

    fn place(&self, value: Value) -> (Lane, usize) {
        self.places[value.index()]
    }

    fn load_wide(&self, value: Value, to: &mut Column<i64>) {
        let (lane, at) = self.place(value);
        match lane {
            Lane::Narrow => convert(&self.narrow[at], to, i64::from),
            Lane::Word => convert(&self.narrow[at], to, |x| i64::from(x.cast_unsigned())),
            Lane::Wide => *to = self.wide[at],
            Lane::Exact => convert(&self.exact[at], to, |x| x as i64),
        }
    }

    fn load_exact(&self, value: Value, to: &mut Column<i128>) {
        let (lane, at) = self.place(value);
        match lane {
            Lane::Narrow => convert(&self.narrow[at], to, i128::from),
            Lane::Word => convert(&self.narrow[at], to, |x| i128::from(x.cast_unsigned())),
            Lane::Wide => convert(&self.wide[at], to, i128::from),
            Lane::Exact => *to = self.exact[at],
        }
    }

    /// The low 32 bits of a column.
    fn load_low(&self, value: Value, to: &mut Column<i32>) {
        let (lane, at) = self.place(value);
        match lane {
            Lane::Narrow | Lane::Word => *to = self.narrow[at],
            Lane::Wide => convert(&self.wide[at], to, |x| x as i32),
            Lane::Exact => convert(&self.exact[at], to, |x| x as i32),
        }
    }

    /// Stores results, which lie in the step's range.
    fn store_wide(&mut self, step: usize, from: &Column<i64>) {
        let (lane, at) = self.places[step];
        match lane {
            Lane::Narrow | Lane::Word => convert(from, &mut self.narrow[at], |x| x as i32),
            Lane::Wide => self.wide[at] = *from,
            Lane::Exact => convert(from, &mut self.exact[at], i128::from),
        }
    }

    fn store_exact(&mut self, step: usize, from: &Column<i128>) {
        let (lane, at) = self.places[step];
        match lane {
            Lane::Narrow | Lane::Word => convert(from, &mut self.narrow[at], |x| x as i32),
            Lane::Wide => convert(from, &mut self.wide[at], |x| x as i64),
            Lane::Exact => self.exact[at] = *from,
        }
    }

    fn run(&mut self, at: usize, op: &Op, words: [&[u32]; 3]) {
        match *op {
            Op::Input(input) => {
                let words = match input {
                    Input::A => words[0],
                    Input::B => words[1],
                    Input::C => words[2],
                };
                let column = &mut self.narrow[self.places[at].1];
                for (to, word) in column.iter_mut().zip(words) {
                    *to = word.cast_signed();
                }
            }
            Op::Constant(value) => self.store_exact(at, &[value; CHUNK]),
            Op::Extract { value, low, width, signed } => {
                self.extract(at, value, low, width, signed);
            }
            Op::Insert { base, value, low, width } => {
                let mut part = [0; CHUNK];
                self.load_low(value, &mut part);
                let mask = (((1u64 << width) - 1) << low) as u32;
                let mask = mask.cast_signed();
                let ((_, base), (_, to)) = (self.place(base), self.places[at]);
                // Steps come after their operands, and so do their columns.
                let (done, rest) = self.narrow.split_at_mut(to);
                each(&done[base], &part, &mut rest[0], |base, part| {
                    (base & !mask) | (part.wrapping_shl(low.into()) & mask)
                });
            }
            _ => self.arithmetic(at, op),
        }
    }

    fn extract(&mut self, at: usize, value: Value, low: u8, width: u8, signed: bool) {
        let ((from_lane, from), (to_lane, to)) = (self.place(value), self.places[at]);
        let end = low + width;
        let small = matches!(from_lane, Lane::Narrow | Lane::Word);
        if small && end <= 32 && to_lane <= Lane::Word {
            let (up, down) = (u32::from(32 - end), u32::from(32 - width));
            let (done, rest) = self.narrow.split_at_mut(to);
            if signed {
                convert(&done[from], &mut rest[0], |x| x << up >> down);
            } else {
                convert(&done[from], &mut rest[0], |x| {
                    (x.cast_unsigned() << up >> down).cast_signed()
                });
            }
        } else if from_lane <= Lane::Wide && end <= 64 && to_lane <= Lane::Wide {
            let (mut x, mut out) = ([0; CHUNK], [0; CHUNK]);
            self.load_wide(value, &mut x);
            let (up, down) = (u32::from(64 - end), u32::from(64 - width));
            if signed {
                convert(&x, &mut out, |x| x << up >> down);
            } else {
                convert(&x, &mut out, |x| (x.cast_unsigned() << up >> down).cast_signed());
            }
            self.store_wide(at, &out);
        } else {
            let (mut x, mut out) = ([0; CHUNK], [0; CHUNK]);
            self.load_exact(value, &mut x);
            let (up, down) = (u32::from(128 - end), u32::from(128 - width));
            if signed {
                convert(&x, &mut out, |x| x << up >> down);
            } else {
                convert(&x, &mut out, |x| (x.cast_unsigned() << up >> down).cast_signed());
            }
            self.store_exact(at, &out);
        }
    }

    fn arithmetic(&mut self, at: usize, op: &Op) {
        let mut operands = op.operands();
        let Some(first) = operands.next() else {
            return;
        };
        let second = operands.next().unwrap_or(first);
        let lane = [self.place(first).0, self.place(second).0, self.places[at].0]
            .into_iter()
            .max()
            .unwrap_or(Lane::Exact);
        match lane {
            Lane::Narrow => {
                let (x, y) = (self.place(first).1, self.place(second).1);
                let (done, rest) = self.narrow.split_at_mut(self.places[at].1);
                compute(op, &done[x], &done[y], &mut rest[0]);
            }
            Lane::Word | Lane::Wide => {
                let (mut x, mut y, mut out) = ([0; CHUNK], [0; CHUNK], [0; CHUNK]);
                self.load_wide(first, &mut x);
                self.load_wide(second, &mut y);
                compute(op, &x, &y, &mut out);
                self.store_wide(at, &out);
            }
            Lane::Exact => {
                let (mut x, mut y, mut out) = ([0; CHUNK], [0; CHUNK], [0; CHUNK]);
                self.load_exact(first, &mut x);
                self.load_exact(second, &mut y);
                compute(op, &x, &y, &mut out);
                self.store_exact(at, &out);
            }
        }
    }
}

fn convert<T: Copy, U>(from: &Column<T>, to: &mut Column<U>, f: impl Fn(T) -> U) {
    for (to, &from) in to.iter_mut().zip(from) {
        *to = f(from);
    }
}

impl Program {
    /// The new values of `d` for columns of source words.
    ///
    /// # Panics
    /// If the columns have different lengths.
    pub fn eval_batch(&self, a: &[u32], b: &[u32], c: &[u32], d: &mut [u32]) {
        assert!(
            a.len() == d.len() && b.len() == d.len() && c.len() == d.len(),
            "the columns must have the same length"
        );
        let mut columns = Columns::new(self);
        // Constants stay what they are from chunk to chunk.
        for (at, step) in self.steps.iter().enumerate() {
            if let Op::Constant(_) = step.op {
                columns.run(at, &step.op, [&[]; 3]);
            }
        }
        let mut low = [0; CHUNK];
        let inputs = a.chunks(CHUNK).zip(b.chunks(CHUNK)).zip(c.chunks(CHUNK));
        for (((a, b), c), d) in inputs.zip(d.chunks_mut(CHUNK)) {
            for (at, step) in self.steps.iter().enumerate() {
                if !matches!(step.op, Op::Constant(_)) {
                    columns.run(at, &step.op, [a, b, c]);
                }
            }
            columns.load_low(Value(self.steps.len() as u32 - 1), &mut low);
            for (d, &low) in d.iter_mut().zip(&low) {
                *d = low.cast_unsigned();
            }
        }
    }
}
