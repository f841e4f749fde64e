//! Random programs, which are less regular than those of instructions.

use super::Plan;
use super::plan::CHUNK;
use crate::ir::{Builder, Input, Op, Program, Range, Value};
use crate::isa::Compare;
use crate::video::{Instruction, Semantics};

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
        // Mostly uses the last value next.
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

const EDGES: [u32; 12] = [
    0,
    1,
    u32::MAX,
    0x7fff_ffff,
    0x8000_0000,
    0x7fff_8000,
    0x8000_7fff,
    0x7f80_807f,
    0x807f_ff00,
    0x0001_ffff,
    0x0020_0021,
    0xff01_fe20,
];

/// Tests texts of all types under all semantics, and skips those that are no instructions.
#[test]
fn forms_give_what_the_interpreter_gives() {
    let scalar = [
        "",
        ".sat",
        ".sat d.b1",
        ".sat d.h1",
        " d.h0",
        " d.b3",
        ".add",
        ".min",
        ".max",
        ".sat.add",
        ".sat.min",
        ".sat.max",
    ];
    let sources = [["a", "b"], ["a.b3", "b.h0"], ["a.h1", "b"], ["a", "b.b1"], ["a.h0", "b.h1"]];
    let lanes = [
        (" d, a, b, c", 2),
        (" d.h1, a.h01, b, c", 2),
        (" d.h0, a.h31, b.h12, c", 2),
        (" d.h10, a, b.h20, c", 2),
        (" d, a, b, c", 4),
        (" d.b20, a.b0123, b, c", 4),
        (" d.b3, a.b0321, b.b7412, c", 4),
        (" d, a.b2103, b, c", 4),
    ];
    let types = ["u32", "s32"];
    let mut texts = Vec::new();
    for at in 0..8 {
        let [d, a, b] = [at >> 2, at >> 1 & 1, at & 1].map(|at: usize| types[at]);
        for (op, tail) in ["add", "sub", "absdiff", "min", "max", "shl", "shr", "set.eq", "set.lt"]
            .iter()
            .flat_map(|op| scalar.map(|tail| (*op, tail)))
        {
            let (saturate, rest) = match tail.strip_prefix(".sat") {
                Some(rest) => (".sat", rest),
                None => ("", tail),
            };
            let (second, to) = if rest.starts_with('.') { (rest, " d") } else { ("", rest) };
            let to = if to.is_empty() { " d" } else { to };
            for [x, y] in sources {
                let end = format!("{to}, {x}, {y}, c");
                let short = format!("{to}, {x}, {y}");
                for end in [end, short] {
                    texts.push(match op {
                        "shl" | "shr" => {
                            format!("v{op}.{d}.{a}.u32{saturate}.clamp{second}{end}")
                        }
                        "set.eq" | "set.lt" => {
                            format!("vset.{a}.{b}{}{second}{end}", &op[3..])
                        }
                        _ => format!("v{op}.{d}.{a}.{b}{saturate}{second}{end}"),
                    });
                }
            }
        }
        for (end, ways) in lanes {
            for op in ["add", "sub", "avrg", "absdiff", "min", "max"] {
                for tail in ["", ".sat", ".add"] {
                    texts.push(format!("v{op}{ways}.{d}.{a}.{b}{tail}{end}"));
                }
            }
            for compare in ["eq", "ne", "lt", "le", "gt", "ge"] {
                for tail in ["", ".add"] {
                    texts.push(format!("vset{ways}.{a}.{b}.{compare}{tail}{end}"));
                }
            }
        }
        for (saturate, scale) in
            ["", ".sat"].into_iter().flat_map(|it| ["", ".shr7", ".shr15"].map(|scale| (it, scale)))
        {
            for [x, y] in sources {
                for (plus, c) in [("", "c"), (".po", "c"), ("", "-c")] {
                    texts.push(format!("vmad.{d}.{a}.{b}{plus}{saturate}{scale} d, {x}, {y}, {c}"));
                }
            }
        }
    }
    let mut random = Random(2);
    let mut read = 0;
    for text in texts {
        let Ok(instruction) = text.parse::<Instruction>() else { continue };
        read += 1;
        let [a, b, c] = [0, 1, 2].map(|place| {
            let word = |at: usize| match at / 144 {
                0 => EDGES[at / [1, 12, 7][place] % 12],
                _ => random.word(),
            };
            (0..200).map(word).collect::<Vec<u32>>()
        });
        for semantics in Semantics::ALL {
            let program = instruction.lower(semantics);
            let mut d = vec![0; 200];
            program.eval_batch(&a, &b, &c, &mut d);
            for (at, &d) in d.iter().enumerate() {
                let [a, b, c] = [a[at], b[at], c[at]];
                assert_eq!(d, program.eval(a, b, c), "{text} {a:#x} {b:#x} {c:#x}");
            }
        }
    }
    assert!(read > 2000, "{read}");
}

#[test]
fn columns_have_any_length() {
    let mut random = Random(3);
    for text in ["vadd4.u32.u32.u32.sat d, a, b, c", "vmin2.s32.u32.s32.add d, a.h31, b, c"] {
        let program = text.parse::<Instruction>().expect("an instruction").lower(Semantics::Manual);
        for length in [0, 1, 15, 16, 17, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK + 17] {
            let [a, b, c] =
                [(); 3].map(|()| (0..length).map(|_| random.word()).collect::<Vec<u32>>());
            let mut d = vec![0; length];
            program.eval_batch(&a, &b, &c, &mut d);
            let wants: Vec<u32> = (0..length).map(|at| program.eval(a[at], b[at], c[at])).collect();
            assert_eq!(d, wants, "{text}, {length} inputs");
        }
    }
}
