use std::time::Duration;

use vptx::Instruction;
use vptx::backend::ptx::{Arg, Builder, Opcode};
use vptx::ir::Input;
use vptx::isa::Type;

use crate::operation::Operation;
use crate::search::{Limits, Outcome, search};
use crate::support::random::Random;

/// The result of a search without a limit on time.
fn outcome(text: &str, below: u32) -> Outcome {
    let instruction: Instruction = text.parse().expect("it is well-formed");
    let outcome = search(&instruction, Limits { below, time: Duration::from_secs(600) });
    assert!(outcome.is_complete, "{text}");
    outcome
}

fn opcodes(outcome: &Outcome) -> Vec<Opcode> {
    let found = outcome.found.first().expect("something is found");
    found.sequence.lines().iter().map(|line| line.opcode).collect()
}

#[test]
fn single_instructions_are_found() {
    let cases = [
        ("vadd.u32.u32.u32 d, a, b;", Opcode::Add),
        ("vsub.u32.u32.u32 d, a, b;", Opcode::Sub),
        ("vmin.s32.s32.s32 d, a, b;", Opcode::Min(Type::S32)),
        ("vshr.u32.u32.u32.clamp d, a, b;", Opcode::Shr(Type::U32)),
        ("vmad.u32.u32.u32 d, a, b, c;", Opcode::Mad),
        ("vadd.u32.u32.u32 d, a.b1, 0;", Opcode::Permute),
    ];
    for (text, opcode) in cases {
        let outcome = outcome(text, 2);
        assert_eq!(outcome.found[0].operations, 1, "{text}");
        assert_eq!(opcodes(&outcome), [opcode], "{text}");
    }
}

/// Both parts are in the middle of words, so both must be moved, and a shorter sequence does not
/// exist.
#[test]
fn nothing_is_found_below_what_is_needed() {
    for text in [
        "vadd.u32.u32.u32 d, a.b1, b.b2;",
        "vabsdiff.u32.u32.u32 d, a.b1, b.b2;",
        "vmin.u32.s32.s32 d, a.b2, b.b1;",
    ] {
        assert!(outcome(text, 3).found.is_empty(), "{text}");
    }
    assert!(outcome("vadd.u32.u32.u32 d, a, b;", 1).found.is_empty());
}

/// The part of `a` is at the right position, and the shift of `b` is joined with the sum.
#[test]
fn parts_are_added_where_they_stand() {
    let outcome = outcome("vadd.u32.u32.u32 d.b1, a.b1, b.b0, c;", 3);
    let found = outcome.found.first().expect("something is found");
    assert_eq!(found.operations, 2);
    for (a, b, c, d) in [
        (0xaabb_7fdd, 0x1133_4402, 0x8765_4321, 0x8765_8121),
        (0x0000_ffff, 0xffff_ff01, 0, 0),
        (0x0000_80ff, 0xffff_ff80, u32::MAX, 0xffff_00ff),
    ] {
        assert_eq!(found.sequence.eval(a, b, c), d, "{a:#x} {b:#x} {c:#x}");
    }
}

/// A sum whose carry into the upper half is prevented.
#[test]
fn sums_of_halves_take_three_operations_without_add2() {
    let outcome = outcome("vadd2.u32.u32.u32 d, a, b, c;", 4);
    let old = outcome.found.iter().find(|found| found.sequence.requirement().0.number <= 75);
    let old = old.expect("something is found for every target");
    assert_eq!(old.operations, 3);
    let mut random = Random(2);
    for _ in 0..1000 {
        let (a, b) = (random.next() as u32, random.next() as u32);
        let half = |at: u32| ((a >> at) as u16).wrapping_add((b >> at) as u16);
        let expected = u32::from(half(16)) << 16 | u32::from(half(0));
        assert_eq!(old.sequence.eval(a, b, 0), expected, "{a:#x} {b:#x}");
    }
}

#[test]
fn searches_repeat() {
    let text = "vset.u32.u32.lt d, a.b3, b.b1;";
    let [first, second] = [(); 2].map(|()| outcome(text, 3));
    let sequences = |outcome: &Outcome| -> Vec<_> {
        outcome.found.iter().map(|found| (found.operations, found.sequence.clone())).collect()
    };
    assert_eq!(sequences(&first), sequences(&second));
    assert_eq!(first.values, second.values);
}

/// The evaluation of operations agrees with the evaluation of their sequences.
#[test]
fn operations_are_their_sequences() {
    let mut random = Random(1);
    let two = Operation::Two;
    for operation in [
        Operation::One(Opcode::Mad),
        Operation::One(Opcode::Lop3(0x82)),
        two(Opcode::Add, Opcode::Add),
        two(Opcode::Sub, Opcode::Add),
        two(Opcode::Shr(Type::S32), Opcode::Add),
        two(Opcode::Xor, Opcode::And),
        Operation::Sub2,
    ] {
        for _ in 0..100 {
            let [x, y, z] = [(); 3].map(|()| random.next() as u32);
            let mut builder = Builder::default();
            let args = Input::ALL.map(Arg::Input);
            let result = operation.push(&mut builder, args);
            let expected = builder.finish(result).eval(x, y, z);
            assert_eq!(operation.eval([x, y, z]), expected, "{operation:?}");
        }
    }
}
