//! Random programs, which are less regular than those of instructions.

use super::Plan;
use crate::ir::{Builder, Input, Op, Program, Range, Value};
use crate::isa::Compare;

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ x >> 31
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[(self.next() % from.len() as u64) as usize]
    }

    fn word(&mut self) -> u32 {
        let word = self.next() as u32;
        let edge = self.pick(&[0, 1, 0x7f, 0x80, 0x7fff, 0x8000, 0x7fff_ffff, 0x8000_0000, !0]);
        self.pick(&[word, word, word & 0x3f, edge])
    }
}

/// Adds a random step, if its range is small enough.
fn step(builder: &mut Builder, values: &[Value], random: &mut Random) -> Option<Value> {
    const COMPARES: [Compare; 6] =
        [Compare::Eq, Compare::Ne, Compare::Lt, Compare::Le, Compare::Gt, Compare::Ge];
    let (x, y) = (random.pick(values), random.pick(values));
    let width = random.pick(&[8, 16, 31, 32, 32, 33, 64]);
    let low = random.pick(&[0, 0, 8, 16, 24, 3]);
    let signed = random.pick(&[false, true]);
    let value = match random.next() % 14 {
        0..=2 => builder.extract(x, low, width, signed),
        3 => builder.binary(Op::Add, x, y),
        4 => builder.binary(Op::Sub, x, y),
        5 => builder.binary(Op::Mul, x, y),
        6 => builder.binary(Op::AbsDiff, x, y),
        7 => builder.min(x, y),
        8 => builder.max(x, y),
        9 => builder.compare(random.pick(&COMPARES), x, y),
        10 => builder.clamp(x, Range::bits(width, signed)),
        11 => {
            let amount = builder.extract(y, low, 5, false);
            builder.binary(random.pick(&[Op::Shl as fn(_, _) -> _, Op::Shr]), x, amount)
        }
        12 => {
            let (amount, most) = (builder.extract(y, 0, 32, false), builder.constant(32));
            let amount = builder.min(amount, most);
            builder.binary(random.pick(&[Op::Shl as fn(_, _) -> _, Op::Shr]), x, amount)
        }
        _ => {
            let base = builder.extract(x, 0, 32, false);
            let (low, width) = random.pick(&[(0, 8), (8, 8), (16, 16), (0, 16), (31, 1), (3, 24)]);
            builder.insert(base, y, low, width)
        }
    };
    let all = Range::new(-(1 << 66), 1 << 66);
    all.contains_range(builder.range(value)).then_some(value)
}

fn program(random: &mut Random) -> Program {
    let mut builder = Builder::new();
    let mut values: Vec<Value> = Input::ALL.map(|input| builder.input(input)).to_vec();
    let constant = i128::from(random.word());
    values.push(builder.constant(constant));
    for _ in 0..2 + random.next() % 10 {
        values.extend(step(&mut builder, &values, random));
        // What was made last is mostly used next.
        values.extend(values.last().copied());
    }
    let last = values[values.len() - 1];
    builder.finish(last)
}

#[test]
fn random_programs_give_what_the_interpreter_gives() {
    let mut random = Random(1);
    let mut planned = 0;
    for _ in 0..4000 {
        let program = program(&mut random);
        assert_eq!(program.verify(), Ok(()), "{program}");
        planned += usize::from(Plan::new(program.steps()).is_some());
        let [a, b, c] = [(); 3].map(|()| (0..100).map(|_| random.word()).collect::<Vec<u32>>());
        let mut d = vec![0; 100];
        program.eval_batch(&a, &b, &c, &mut d);
        for (at, &d) in d.iter().enumerate() {
            let [a, b, c] = [a[at], b[at], c[at]];
            assert_eq!(d, program.eval(a, b, c), "{a:#x} {b:#x} {c:#x}\n{program}");
        }
    }
    // Otherwise this tests the interpreter against itself.
    assert!(planned > 2000, "{planned}");
}
