//! Programs that add a value to `c`.

use super::super::{Arg, DOT, Sequence, Strategy, words};
use crate::ir::{Builder, Input, Op, Program, Range, Value, renumber};

/// The value that a program adds to `c`, as a program of its own. `None` if the program is no
/// such sum, modulo 2^32.
pub(super) fn summand(program: &Program) -> Option<Program> {
    let op = |value: Value| program.step(value).map(|step| step.op);
    let is_c = |value: Value| match op(value) {
        Some(Op::Extract { value, low: 0, width: 32, .. }) => {
            op(value) == Some(Op::Input(Input::C))
        }
        found => found == Some(Op::Input(Input::C)),
    };
    let Some(Op::Add(x, y)) = op(whole(program)) else { return None };
    let value = match (is_c(x), is_c(y)) {
        (true, false) => y,
        (false, true) => x,
        _ => return None,
    };
    let mut builder = Builder::new();
    let value = copy(program, value, &mut builder);
    let summand = builder.finish(value);
    (!summand.reads(Input::C)).then_some(summand)
}

/// The range of a program's result as a signed or an unsigned word, if it is not just any word.
pub(in super::super) fn result_range(program: &Program) -> Option<Range> {
    let range = program.step(whole(program))?.range;
    let word = [true, false].map(|signed| Range::bits(32, signed));
    let tells = word.iter().any(|word| word.contains_range(range)) && !word.contains(&range);
    tells.then_some(range)
}

/// The value whose low 32 bits are a program's result.
fn whole(program: &Program) -> Value {
    let result = program.result();
    match program.step(result).map(|step| step.op) {
        Some(Op::Extract { value, low: 0, width: 32, .. }) => value,
        _ => result,
    }
}

/// Copies a value of a program, and all that it depends on.
fn copy(program: &Program, value: Value, builder: &mut Builder) -> Value {
    let mut copied: Vec<Value> = Vec::new();
    for step in &program.steps()[..=value.index()] {
        copied.push(builder.push(renumber(step.op, |old| copied[old.index()])));
    }
    copied[value.index()]
}

/// The sum of `c` and some summands, as ordinary PTX with dot products.
pub(super) fn dot_products(summands: &[Program], inputs: [Arg; 3]) -> Option<Sequence> {
    let mut builder = Builder::new();
    let mut sum = builder.input(Input::C);
    for summand in summands {
        let value = copy(summand, whole(summand), &mut builder);
        sum = builder.binary(Op::Add, sum, value);
    }
    words::compile(&builder.finish(sum), inputs, Strategy(DOT))
}
