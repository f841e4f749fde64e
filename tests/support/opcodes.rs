//! Sequences around one opcode of the rewriter.

use vptx::backend::ptx::{Arg, Builder, Class, Opcode, Sequence};
use vptx::ir::Input;
use vptx::isa::{Compare, Type};

use super::EDGES;
use super::random::Random;

/// A sequence that gives a word for the result of an opcode, on arguments made of `a`, `b`, `c`.
pub(crate) fn sequence(opcode: Opcode) -> Sequence {
    let mut builder = Builder::default();
    let words = Input::ALL.map(Arg::Input);
    let args: Vec<Arg> = opcode
        .arguments()
        .iter()
        .enumerate()
        .map(|(at, class)| match class {
            Class::Word => words[at],
            Class::Wide => pair(&mut builder, words[at], words[(at + 1) % 3]),
            Class::Half => builder.push(Opcode::LowHalf, &[words[at]]),
            Class::Predicate => {
                let odd = builder.push(Opcode::And, &[words[at], Arg::Constant(1)]);
                builder.push(Opcode::Set(Compare::Ne, Type::U32), &[odd, Arg::Constant(0)])
            }
        })
        .collect();
    let result = builder.push(opcode, &args);
    let word = match opcode.class() {
        Class::Word => result,
        Class::Wide => {
            let halves = [Opcode::Low, Opcode::High].map(|half| builder.push(half, &[result]));
            builder.push(Opcode::Sub, &halves)
        }
        Class::Half => {
            let other = builder.push(Opcode::HighHalf, &[words[1]]);
            builder.push(Opcode::JoinHalves, &[result, other])
        }
        Class::Predicate => builder.push(Opcode::Select, &[words[0], words[1], result]),
    };
    // The sequence ends with an `add`, because a `lop3` at the end would be written in another way.
    let last = builder.push(Opcode::Add, &[word, Arg::Constant(0x5a5a)]);
    builder.finish(last)
}

/// 64 bits of two words.
fn pair(builder: &mut Builder, low: Arg, high: Arg) -> Arg {
    let [low, high] = [low, high].map(|word| builder.push(Opcode::Extend(Type::U32), &[word]));
    let high = builder.push(Opcode::ShlWide, &[high, Arg::Constant(32)]);
    builder.push(Opcode::AddWide, &[low, high])
}

/// Random words for `a`, `b` and `c`: edges, amounts of shifts, and sometimes two equal words.
pub(crate) fn words(random: &mut Random) -> [u32; 3] {
    let mut word = || match random.below(4) {
        0 => random.next() as u32,
        1 => random.below(70) as u32,
        _ => *random.pick(&EDGES),
    };
    let [a, b, c] = [word(), word(), word()];
    if random.one_in(8) { [a, a, c] } else { [a, b, c] }
}
