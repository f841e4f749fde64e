//! Mistakes that an implementation of an instruction is likely to make.

use std::mem::{Discriminant, discriminant};

use super::shapes::Shape;
use crate::ir::{Op, Program, ProgramBuilder, Range, Stage, Step, Value, renumber};
use crate::isa::{Compare, Mnemonic};
use crate::video::{Instruction, Semantics};

/// The kind of a mistake, with its number among the mistakes at the same place. The same mistake in
/// another lane is the same kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    /// A mistake in a step of this stage, with this operation.
    Step(Stage, Discriminant<Op>, usize),
    /// The meaning under another semantics.
    Semantics(usize),
    /// A carry from lane to lane.
    Carry(usize),
}

/// A program that differs from the right program by a mistake.
pub(super) struct Wrong {
    pub(super) kind: Kind,
    pub(super) program: Program,
}

/// Programs that differ by one mistake from `right`, the meaning of an instruction under one of
/// [`Semantics::ALL`].
pub(super) fn of(shape: &Shape, instruction: &Instruction, right: &Program) -> Vec<Wrong> {
    let in_step = right.iter().flat_map(|(value, step)| {
        let mistakes = in_step(step, value == right.result()).into_iter().enumerate();
        mistakes.filter_map(move |(at, mistake)| {
            let kind = Kind::Step(step.stage, discriminant(&step.op), at);
            Some(Wrong { kind, program: with(right, value, mistake)? })
        })
    });
    let others = Semantics::ALL.into_iter().enumerate().map(|(at, semantics)| Wrong {
        kind: Kind::Semantics(at),
        program: instruction.lower(semantics),
    });
    let carries = wider(shape.mnemonic).enumerate().filter_map(|(at, mnemonic)| {
        let program = shape.of_mnemonic(mnemonic)?.lower(Semantics::Manual);
        Some(Wrong { kind: Kind::Carry(at), program })
    });
    in_step.chain(others).chain(carries).filter(|wrong| wrong.program != *right).collect()
}

/// The mnemonics of the same operation on wider lanes: in these, lanes carry into each other.
fn wider(mnemonic: Mnemonic) -> impl Iterator<Item = Mnemonic> {
    let name = mnemonic.text();
    let ends: &[&str] = match name.as_bytes().last() {
        Some(b'4') => &["2", ""],
        Some(b'2') => &[""],
        _ => &[],
    };
    let start = name.trim_end_matches(['2', '4']);
    ends.iter().filter_map(move |end| format!("{start}{end}").parse().ok())
}

/// What is wrong about one step.
#[derive(Clone, Copy)]
enum Mistake {
    /// The step does another operation.
    Other(Op),
    /// The step is forgotten: its result is one of its operands.
    Forgotten(Value),
    /// Only the low 32 bits of the step's result are kept.
    Narrow { signed: bool },
}

/// The mistakes that can be made about a step.
fn in_step(step: &Step, is_last: bool) -> Vec<Mistake> {
    use Mistake::{Forgotten, Narrow, Other};
    let mut all = match step.op {
        Op::Input(_) => Vec::new(),
        Op::Constant(value) => [-1, 1].map(|more| Other(Op::Constant(value + more))).into(),
        Op::Extract { value, low, width, signed } => {
            let sign = Other(Op::Extract { value, low, width, signed: !signed });
            let low = (low + width) % 32;
            let place = Other(Op::Extract { value, low, width, signed });
            if width < 32 { vec![sign, place, Forgotten(value)] } else { vec![sign] }
        }
        Op::Add(x, y) => vec![Forgotten(x), Forgotten(y), Other(Op::Sub(x, y))],
        Op::Sub(x, y) => vec![Forgotten(x), Other(Op::Sub(y, x)), Other(Op::AbsDiff(x, y))],
        Op::Mul(x, y) => vec![Forgotten(x), Forgotten(y)],
        Op::AbsDiff(x, y) => vec![Other(Op::Sub(x, y)), Other(Op::Sub(y, x))],
        Op::Min(x, y) => vec![Forgotten(x), Forgotten(y), Other(Op::Max(x, y))],
        Op::Max(x, y) => vec![Forgotten(x), Forgotten(y), Other(Op::Min(x, y))],
        Op::Shl(x, _) | Op::Shr(x, _) => vec![Forgotten(x)],
        Op::Compare(compare, x, y) => {
            let others = Compare::ALL.iter().filter(|other| **other != compare);
            others.map(|&other| Other(Op::Compare(other, x, y))).collect()
        }
        Op::Clamp(value, _) => vec![Forgotten(value)],
        Op::Insert { base, value, .. } => vec![Forgotten(base), Forgotten(value)],
    };
    let narrow = [false, true].map(|signed| (signed, Range::bits(32, signed)));
    let narrow = narrow.iter().filter(|(_, range)| !is_last && !range.contains_range(step.range));
    all.extend(narrow.map(|&(signed, _)| Narrow { signed }));
    all
}

/// A program with one mistake. `None` if the mistake makes no valid program: no program shifts by
/// more than 32 bits, for example.
fn with(program: &Program, wrong: Value, mistake: Mistake) -> Option<Program> {
    let mut builder = ProgramBuilder::new();
    let mut values: Vec<Value> = Vec::with_capacity(program.steps().len());
    for (value, step) in program.iter() {
        let mut push = |op| builder.push(renumber(op, |value| values[value.index()])).ok();
        let result = match mistake {
            Mistake::Other(op) if value == wrong => push(op)?,
            Mistake::Forgotten(operand) if value == wrong => values[operand.index()],
            Mistake::Narrow { signed } if value == wrong => {
                let value = push(step.op)?;
                builder.push(Op::Extract { value, low: 0, width: 32, signed }).ok()?
            }
            _ => push(step.op)?,
        };
        values.push(result);
    }
    builder.finish(*values.last()?).ok()
}
