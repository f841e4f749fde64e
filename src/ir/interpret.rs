//! Evaluation of a program for one set of inputs.

use super::{Input, Op, Program, Value};

impl Program {
    /// The new value of `d` for the source words `a`, `b` and `c`. Words that the program does
    /// not read are ignored.
    pub fn eval(&self, a: u32, b: u32, c: u32) -> u32 {
        let mut values = Vec::with_capacity(self.steps.len());
        self.run([a, b, c], &mut values);
        // A program ends with a 32-bit word.
        values.last().map_or(0, |&value| value as u32)
    }

    /// The values of all steps for these source words, in order.
    pub fn trace(&self, a: u32, b: u32, c: u32) -> Vec<i128> {
        let mut values = Vec::with_capacity(self.steps.len());
        self.run([a, b, c], &mut values);
        values
    }

    fn run(&self, words: [u32; 3], values: &mut Vec<i128>) {
        for step in &self.steps {
            let value = apply(&step.op, words, |value| values[value.index()]);
            debug_assert!(step.range.contains(value), "{step:?} gives {value}");
            values.push(value);
        }
    }
}

fn apply(op: &Op, [a, b, c]: [u32; 3], get: impl Fn(Value) -> i128) -> i128 {
    match *op {
        Op::Input(Input::A) => a.into(),
        Op::Input(Input::B) => b.into(),
        Op::Input(Input::C) => c.into(),
        Op::Constant(value) => value,
        Op::Extract { value, low, width, signed } => {
            let bits = (get(value) >> low) & ((1 << width) - 1);
            if signed && bits >> (width - 1) != 0 { bits - (1 << width) } else { bits }
        }
        Op::Add(x, y) => get(x) + get(y),
        Op::Sub(x, y) => get(x) - get(y),
        Op::Mul(x, y) => get(x) * get(y),
        Op::AbsDiff(x, y) => (get(x) - get(y)).abs(),
        Op::Min(x, y) => get(x).min(get(y)),
        Op::Max(x, y) => get(x).max(get(y)),
        Op::Shl(x, y) => get(x) << get(y),
        Op::Shr(x, y) => get(x) >> get(y),
        Op::Compare(kind, x, y) => kind.holds(&get(x), &get(y)).into(),
        Op::Clamp(value, range) => get(value).clamp(range.min, range.max),
        Op::Insert { base, value, low, width } => {
            let mask = ((1i128 << width) - 1) << low;
            (get(base) & !mask) | ((get(value) << low) & mask)
        }
    }
}
