//! Evaluation in columns gives the results of the interpreter, also for random programs, which are
//! less regular than the programs of instructions.

use crate::support::random::Random;
use vptx::Instruction;
use vptx::ir::{Input, Op, Program, ProgramBuilder, Range, Value};
use vptx::isa::Compare;
use vptx::video::Semantics;

fn word(random: &mut Random) -> u32 {
    let word = random.next() as u32;
    let edge = *random.pick(&[0, 1, 0x7f, 0x80, 0x7fff, 0x8000, 0x7fff_ffff, 0x8000_0000, !0]);
    *random.pick(&[word, word, word & 0x3f, edge])
}

/// Adds a random step if it is legal and its range is small.
fn step(builder: &mut ProgramBuilder, values: &[Value], random: &mut Random) -> Option<Value> {
    const COMPARES: [Compare; 6] =
        [Compare::Eq, Compare::Ne, Compare::Lt, Compare::Le, Compare::Gt, Compare::Ge];
    let (x, y) = (*random.pick(values), *random.pick(values));
    let width = *random.pick(&[8, 16, 31, 32, 32, 33, 64]);
    let low = *random.pick(&[0, 0, 8, 16, 24, 3]);
    let signed = random.one_in(2);
    let shift = *random.pick(&[Op::Shl as fn(_, _) -> _, Op::Shr]);
    let op = match random.below(14) {
        0..=2 => Op::Extract { value: x, low, width, signed },
        3 => Op::Add(x, y),
        4 => Op::Sub(x, y),
        5 => Op::Mul(x, y),
        6 => Op::AbsDiff(x, y),
        7 => Op::Min(x, y),
        8 => Op::Max(x, y),
        9 => Op::Compare(*random.pick(&COMPARES), x, y),
        10 => Op::Clamp(x, Range::bits(width, signed)),
        11 => {
            let amount = Op::Extract { value: y, low, width: 5, signed: false };
            shift(x, builder.push(amount).ok()?)
        }
        12 => {
            let amount = Op::Extract { value: y, low: 0, width: 32, signed: false };
            let (amount, most) = (builder.push(amount).ok()?, builder.push(Op::Constant(32)).ok()?);
            shift(x, builder.push(Op::Min(amount, most)).ok()?)
        }
        _ => {
            let base = Op::Extract { value: x, low: 0, width: 32, signed: false };
            let base = builder.push(base).ok()?;
            let (low, width) = *random.pick(&[(0, 8), (8, 8), (16, 16), (0, 16), (31, 1), (3, 24)]);
            Op::Insert { base, value: y, low, width }
        }
    };
    let value = builder.push(op).ok()?;
    let all = Range::new(-(1 << 66), 1 << 66);
    let range = builder.range(value)?;
    (all.min <= range.min && range.max <= all.max).then_some(value)
}

fn program(random: &mut Random) -> Program {
    let mut builder = ProgramBuilder::new();
    let mut values: Vec<Value> = Input::ALL.map(|input| builder.input(input)).to_vec();
    let constant = builder.push(Op::Constant(word(random).into()));
    values.push(constant.expect("a narrow constant"));
    for _ in 0..2 + random.below(10) {
        values.extend(step(&mut builder, &values, random));
        // The last value is added again, so that later steps mostly use it.
        values.extend(values.last().copied());
    }
    let last = values[values.len() - 1];
    builder.finish(last).expect("a value of the builder")
}

#[test]
fn random_programs_give_what_the_interpreter_gives() {
    let mut random = Random(1);
    let mut planned = 0;
    for _ in 0..4000 {
        let program = program(&mut random);
        assert_eq!(program.verify(), Ok(()), "{program}");
        planned += usize::from(program.kernels() > 0);
        let [a, b, c] = [(); 3].map(|()| (0..100).map(|_| word(&mut random)).collect::<Vec<u32>>());
        let mut d = vec![0; 100];
        program.eval_batch(&a, &b, &c, &mut d);
        for (at, &d) in d.iter().enumerate() {
            let [a, b, c] = [a[at], b[at], c[at]];
            assert_eq!(d, program.eval(a, b, c), "{a:#x} {b:#x} {c:#x}\n{program}");
        }
    }
    // Without a plan, the test would compare the interpreter with itself.
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

/// Tests texts of all types under all semantics, and skips texts that are not instructions.
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
        (" d.h1, a, b, c", 2),
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
                _ => word(&mut random),
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

/// Lengths just below, at and above the lengths of loops and chunks.
const LENGTHS: [usize; 13] =
    [0, 1, 15, 16, 17, 1023, 1024, 1025, 2047, 2048, 2049, 4096, 2 * 4096 + 17];

#[test]
fn columns_have_any_length() {
    let mut random = Random(3);
    for text in ["vadd4.u32.u32.u32.sat d, a, b, c", "vmin2.s32.u32.s32.add d, a.h31, b, c"] {
        let program = text.parse::<Instruction>().expect("an instruction").lower(Semantics::Manual);
        for length in LENGTHS {
            let [a, b, c] =
                [(); 3].map(|()| (0..length).map(|_| word(&mut random)).collect::<Vec<u32>>());
            let mut d = vec![0; length];
            program.eval_batch(&a, &b, &c, &mut d);
            let wants: Vec<u32> = (0..length).map(|at| program.eval(a[at], b[at], c[at])).collect();
            assert_eq!(d, wants, "{text}, {length} inputs");
        }
    }
}

/// One kernel does the work of an instruction on all lanes.
#[test]
fn lanes_take_one_kernel() {
    for text in [
        "vadd4.u32.u32.u32.sat d, a, b, c;",
        "vmin2.s32.s32.s32 d.h1, a, b, c;",
        // The lanes are added.
        "vset4.u32.u32.lt.add d, a, b, c;",
        "vabsdiff2.u32.u32.u32.add d, a, b, c;",
        "vmax4.s32.s32.s32.add d.b20, a, b, c;",
        "vavrg4.s32.s32.u32 d, a, b, c;",
        "vavrg4.u32.u32.u32 d, a, b, c;",
        // The sources have another sign than the lanes of the result.
        "vmin4.u32.s32.s32.sat d, a, b, c;",
        "vmax2.s32.u32.u32.sat d, a, b, c;",
        // The bytes of either source are in reverse order.
        "vadd4.u32.u32.u32 d, a.b0123, b, c;",
        "vadd4.u32.u32.u32 d, a, b.b4567, c;",
        "vset4.u32.u32.ne d, a, b.b4567, c;",
        "vmax4.s32.s32.s32 d.b20, a, b.b4567, c;",
    ] {
        let instruction: Instruction = text.parse().expect("legal");
        assert_eq!(instruction.lower(Semantics::Manual).kernels(), 1, "{text}");
    }
}

/// Lanes that are added stay where the first source has them. Only those of the second are moved.
#[test]
fn lanes_of_the_first_source_stay_in_place() {
    let text = "vabsdiff4.u32.u32.u32.add d.b31, a, b.b4444, c;";
    let instruction: Instruction = text.parse().expect("legal");
    assert_eq!(instruction.lower(Semantics::Manual).kernels(), 2);
}

/// One kernel collects the lanes of two words, and one adds them to the others.
#[test]
fn lanes_of_two_words_are_collected() {
    let text = "vadd4.u32.u32.u32 d, a.b7531, b, c;";
    let instruction: Instruction = text.parse().expect("legal");
    assert_eq!(instruction.lower(Semantics::Manual).kernels(), 2);
}

/// The kernel of a scaled product loads the parts of its sources, so nothing else extracts them.
#[test]
fn scaled_products_of_parts_take_one_kernel() {
    for text in
        ["vmad.s32.s32.s32.shr7 d, a.h0, b.h1, c;", "vmad.s32.u32.s32.shr15 d, a.b3, b.h0, c;"]
    {
        let instruction: Instruction = text.parse().expect("legal");
        assert_eq!(instruction.lower(Semantics::Manual).kernels(), 1, "{text}");
    }
}

/// The kernel of a difference adds a signed word to it, whichever of the two comes first.
#[test]
fn a_sum_with_a_signed_word_takes_one_kernel() {
    let (a, b, c) = ([7, u32::MAX, 0x8000_0000], [5u32, 0, 1], [6u32, 1, 2]);
    for word_is_first in [true, false] {
        let mut builder = ProgramBuilder::new();
        let [value, x, y] = Input::ALL.map(|input| builder.input(input));
        let word = Op::Extract { value, low: 0, width: 32, signed: true };
        let word = builder.push(word).expect("a word");
        let difference = builder.push(Op::Sub(x, y)).expect("a small difference");
        let (x, y) = if word_is_first { (word, difference) } else { (difference, word) };
        let sum = builder.push(Op::Add(x, y)).expect("a small sum");
        let program = builder.finish(sum).expect("a word");
        let mut d = [0; 3];
        program.eval_batch(&a, &b, &c, &mut d);
        let sums = [0, 1, 2].map(|at: usize| a[at].wrapping_add(b[at]).wrapping_sub(c[at]));
        assert_eq!((program.kernels(), d), (1, sums), "{program}");
    }
}

/// Half a sum and 1 is an average, for which there is a kernel. Half a sum and another number is not.
#[test]
fn sums_are_halved_as_they_are() {
    let (a, b) = ([0, 1, 2, 0xffff, 0xffff], [0, 0, 3, 0xfffe, 0xffff]);
    for more in 0..4u32 {
        let mut builder = ProgramBuilder::new();
        let [x, y] = [Input::A, Input::B].map(|input| {
            let value = builder.input(input);
            let half = Op::Extract { value, low: 0, width: 16, signed: false };
            builder.push(half).expect("a half")
        });
        let [more_value, one] =
            [more, 1].map(|it| builder.push(Op::Constant(it.into())).expect("a narrow constant"));
        let sum = builder.push(Op::Add(x, y)).expect("a small sum");
        let sum = builder.push(Op::Add(sum, more_value)).expect("a small sum");
        let half = builder.push(Op::Shr(sum, one)).expect("a narrow shift");
        let program = builder.finish(half).expect("a word");
        let mut d = [0; 5];
        program.eval_batch(&a, &b, &a, &mut d);
        assert_eq!(d, [0, 1, 2, 3, 4].map(|at| (a[at] + b[at] + more) / 2), "{program}");
        assert!(program.kernels() > 0, "{program}");
    }
}

/// No instruction clamps a sum of more than 63 bits to a byte, but a program may.
#[test]
fn a_wide_sum_is_clamped_to_any_range() {
    let mut builder = ProgramBuilder::new();
    let [x, y, z] = Input::ALL.map(|input| builder.input(input));
    let product = builder.push(Op::Mul(x, y)).expect("a product");
    let sum = builder.push(Op::Add(product, z)).expect("a sum");
    let clamped = builder.push(Op::Clamp(sum, Range::bits(8, false))).expect("a byte");
    let program = builder.finish(clamped).expect("a word");
    let mut d = [0; 4];
    program.eval_batch(&[0, 3, 16, u32::MAX], &[9, 5, 16, u32::MAX], &[7, 4, 0, 1], &mut d);
    assert_eq!((program.kernels(), d), (1, [7, 19, 255, 255]), "{program}");
}

/// As a signed number of 33 bits, a sum of 2^32 is negative.
#[test]
fn a_sum_is_cut_before_it_is_clamped() {
    let mut builder = ProgramBuilder::new();
    let [x, y] = [Input::A, Input::B].map(|input| builder.input(input));
    let value = builder.push(Op::Add(x, y)).expect("a small sum");
    let cut = Op::Extract { value, low: 0, width: 33, signed: true };
    let cut = builder.push(cut).expect("a part of the sum");
    let clamped = builder.push(Op::Clamp(cut, Range::bits(32, false))).expect("a word");
    let program = builder.finish(clamped).expect("a word");
    let mut d = [0; 3];
    program.eval_batch(&[1, u32::MAX, u32::MAX], &[2, 0, 1], &[0; 3], &mut d);
    assert_eq!(d, [3, u32::MAX, 0]);
}

#[test]
fn values_that_are_read_twice_are_computed_once() {
    let mut builder = ProgramBuilder::new();
    let mut value = builder.input(Input::A);
    for _ in 0..10 {
        let twice = builder.push(Op::Add(value, value)).expect("a small sum");
        let word = Op::Extract { value: twice, low: 0, width: 32, signed: false };
        value = builder.push(word).expect("a word");
    }
    let program = builder.finish(value).expect("a word");
    let mut d = [0; 3];
    let a = [1, 5, 0x0040_0001];
    program.eval_batch(&a, &a, &a, &mut d);
    assert_eq!((program.kernels(), d), (10, [1 << 10, 5 << 10, 1 << 10]));
}

/// The interpreter evaluates longer programs.
#[test]
fn a_program_of_256_steps_has_a_plan() {
    for (steps, has_plan) in [(256, true), (257, false)] {
        let mut builder = ProgramBuilder::new();
        let a = builder.input(Input::A);
        let one = builder.push(Op::Constant(1)).expect("a narrow constant");
        // Nothing reads these.
        for _ in 3..steps {
            builder.push(Op::Constant(2)).expect("a narrow constant");
        }
        let most = builder.push(Op::Max(a, one)).expect("a word");
        let program = builder.finish(most).expect("a word");
        assert_eq!((program.steps().len(), program.kernels() > 0), (steps, has_plan));
        let mut d = [0; 3];
        program.eval_batch(&[0, 1, 7], &[0; 3], &[0; 3], &mut d);
        assert_eq!(d, [1, 1, 7]);
    }
}

/// Where vectors are wide, a kernel extracts the parts that it reads.
#[test]
#[cfg(all(feature = "simd", target_arch = "x86_64"))]
fn wide_kernels_extract_parts() {
    if !std::arch::is_x86_feature_detected!("avx2") {
        return;
    }
    for text in ["vadd.s32.u32.s32 d, a.b1, b.h0;", "vmin.s32.s32.s32.add d, a.h1, b, c;"] {
        let instruction: Instruction = text.parse().expect("legal");
        assert_eq!(instruction.lower(Semantics::Manual).kernels(), 1, "{text}");
    }
}
