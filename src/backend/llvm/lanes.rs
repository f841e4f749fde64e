//! Lanes of a word as a vector.

use super::Architecture;
use super::body::{Body, I32, Type};
use super::values::Values;
use crate::ir::{Input, Op, Program, Value};

/// The body of a function that computes on vectors, and its result. `None` if the program does
/// not have the same steps for each lane of a word, or if vectors would not make it shorter.
pub(super) fn body(program: &Program, architecture: Architecture) -> Option<(Body, String)> {
    let lanes = Lanes::of(program)?;
    let (body, result) = lanes.write(program);
    lanes.is_worthwhile(program, &body, architecture).then_some((body, result))
}

/// The use of the lanes that are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Use {
    /// The lanes together are the result.
    Merge,
    /// The lanes are added to a word.
    Sum,
}

/// All lanes of a word, which are computed by the same steps.
#[derive(Debug)]
struct Lanes {
    /// The bits of a lane.
    bits: u8,
    used_for: Use,
    /// The values of the lanes, from the lowest lane up.
    values: Vec<Value>,
}

fn step(program: &Program, value: Value) -> Op {
    program.steps()[value.index()].op
}

impl Lanes {
    fn of(program: &Program) -> Option<Lanes> {
        let found = Lanes::merged(program).or_else(|| Lanes::summed(program))?;
        let is_all = found.values.len() == usize::from(32 / found.bits);
        // A program that does not read both `a` and `b` needs few instructions.
        let is_all = is_all && [Input::A, Input::B].iter().all(|input| program.reads(*input));
        (is_all && is_same(program, &found.values, found.bits)).then_some(found)
    }

    /// The lanes of a chain of insertions.
    fn merged(program: &Program) -> Option<Lanes> {
        let (mut base, mut bits, mut values) = (program.result(), None, Vec::new());
        while let Op::Insert { base: next, value, low, width } = step(program, base) {
            let width_before = *bits.get_or_insert(width);
            let above = values.len() as u8 * width;
            if width_before != width || above + low + width != 32 {
                return None;
            }
            values.push(value);
            base = next;
        }
        values.reverse();
        let bits = bits.filter(|bits| [8, 16].contains(bits))?;
        Some(Lanes { bits, used_for: Use::Merge, values })
    }

    /// The lanes of a sum that starts with `c`.
    fn summed(program: &Program) -> Option<Lanes> {
        let Op::Extract { value: mut base, low: 0, width: 32, .. } =
            step(program, program.result())
        else {
            return None;
        };
        let mut values = Vec::new();
        while let Op::Add(rest, value) = step(program, base) {
            values.push(value);
            base = rest;
        }
        if step(program, base) != Op::Input(Input::C) {
            return None;
        }
        values.reverse();
        let bits = lane_bits(program, *values.first()?)?;
        Some(Lanes { bits, used_for: Use::Sum, values })
    }

    /// Whether, compared with one lane after the other, no processor of the architecture takes more
    /// instructions and some processors take fewer. `cargo xtask emit-llvm --counts` counts them.
    fn is_worthwhile(&self, program: &Program, body: &Body, architecture: Architecture) -> bool {
        let is_bytes = self.bits == 8;
        let op = match step(program, self.values[0]) {
            Op::Clamp(value, _) => step(program, value),
            op => op,
        };
        let is_ordered = matches!(op, Op::Min(..) | Op::Max(..));
        match (architecture, self.used_for) {
            (Architecture::Any, _) => false,
            (Architecture::X86_64, Use::Merge) => true,
            (Architecture::X86_64, Use::Sum) => {
                is_bytes || !matches!(op, Op::Add(..) | Op::Sub(..) | Op::Compare(..))
            }
            (Architecture::Aarch64, Use::Merge) => is_bytes,
            (Architecture::Aarch64, Use::Sum) if is_bytes => !matches!(op, Op::Compare(..)),
            (Architecture::Aarch64, Use::Sum) => is_ordered || matches!(op, Op::AbsDiff(..)),
            // These architectures have vectors of halves only.
            (Architecture::Amdgcn | Architecture::Nvptx64, _) if is_bytes => false,
            (Architecture::Amdgcn, Use::Merge) => !body.is_widened,
            (Architecture::Amdgcn, Use::Sum) => matches!(op, Op::Sub(..) | Op::AbsDiff(..)),
            (Architecture::Nvptx64, Use::Merge) => is_ordered || matches!(op, Op::Add(..)),
            (Architecture::Nvptx64, Use::Sum) => is_ordered,
        }
    }

    fn write(&self, program: &Program) -> (Body, String) {
        let ty = Type { lanes: 32 / self.bits, bits: self.bits };
        let mut values = Values::new(program, ty.lanes, self.bits);
        load(&mut values, &self.values, ty);
        let result = match self.used_for {
            Use::Merge => {
                let lanes = values.at(&self.values, self.bits);
                values.body.push(format_args!("bitcast {ty} {lanes} to i32"))
            }
            Use::Sum => {
                let lanes = values.at(&self.values, 32);
                let sum = values.body.sum(Type { bits: 32, ..ty }, &lanes);
                values.body.binary("add", I32, "%c", &sum)
            }
        };
        (values.body, result)
    }
}

/// The bits of the lanes that a value is computed from.
fn lane_bits(program: &Program, value: Value) -> Option<u8> {
    match step(program, value) {
        Op::Extract { value, width: width @ (8 | 16), .. }
            if matches!(step(program, value), Op::Input(_)) =>
        {
            Some(width)
        }
        op => op.operands().find_map(|operand| lane_bits(program, operand)),
    }
}

/// Whether the same steps compute these values from constants and lanes of source words, each value
/// from the lanes at its own position.
fn is_same(program: &Program, values: &[Value], bits: u8) -> bool {
    let op = step(program, values[0]);
    let all = |is: &dyn Fn(Op) -> bool| values.iter().all(|value| is(step(program, *value)));
    match op {
        Op::Constant(_) => all(&|other| matches!(other, Op::Constant(_))),
        Op::Extract { value: word, width, signed, .. } => {
            let places = (0..).step_by(bits.into());
            let own = places.map(|low| Op::Extract { value: word, low, width, signed });
            width == bits
                && matches!(step(program, word), Op::Input(_))
                && values.iter().map(|value| step(program, *value)).eq(own.take(values.len()))
        }
        Op::Input(_) | Op::Insert { .. } => false,
        Op::Add(..)
        | Op::Sub(..)
        | Op::Mul(..)
        | Op::AbsDiff(..)
        | Op::Min(..)
        | Op::Max(..)
        | Op::Shl(..)
        | Op::Shr(..)
        | Op::Compare(..)
        | Op::Clamp(..) => {
            all(&|other| is_alike(op, other)) && {
                let operands = |at| -> Vec<Value> {
                    let operand = |value: &Value| step(program, *value).operands().nth(at);
                    values.iter().filter_map(operand).collect()
                };
                let (first, second) = (operands(0), operands(1));
                is_same(program, &first, bits)
                    && (second.is_empty() || is_same(program, &second, bits))
            }
        }
    }
}

/// Whether operations are the same, but for their operands.
fn is_alike(one: Op, other: Op) -> bool {
    match (one, other) {
        (Op::Compare(compare, ..), Op::Compare(other, ..)) => compare == other,
        (Op::Clamp(_, range), Op::Clamp(_, other)) => range == other,
        _ => std::mem::discriminant(&one) == std::mem::discriminant(&other),
    }
}

/// Writes, as vectors, the source words that a group is computed from.
fn load(values: &mut Values<'_>, group: &[Value], ty: Type) {
    if values.has(group) {
        return;
    }
    if let Op::Extract { value, signed, .. } = values.step(group[0]).op {
        if let Op::Input(input) = values.step(value).op {
            let text = values.word(input, ty);
            values.define(group, text, signed);
        }
        return;
    }
    let (first, second) = values.operands(group);
    for operands in [first, second] {
        if !operands.is_empty() {
            load(values, &operands, ty);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The vector sum is added to `c`, and its lanes are computed from lanes.
    #[test]
    fn sums_of_other_values_are_no_vectors() {
        let is_vector = |start: &str, [low, high]: [&str; 2]| {
            let text = format!(
                "extract:
                   %0: 0..4294967295 = a
                   %1: 0..4294967295 = b
                   %2: 0..4294967295 = c
                   %3: 0..65535 = u16 %0[0]
                   %4: 0..65535 = u16 %0[16]
                   %5: 0..65535 = u16 %1[0]
                   %6: 0..65535 = u16 %1[16]
                 compute:
                   %7: 0..65535 = min %3, {low}
                   %8: 0..65535 = min %4, {high}
                   %9: 0..4295032830 = add {start}, %7
                   %10: 0..4295098365 = add %9, %8
                 write:
                   %11: 0..4294967295 = u32 %10[0]"
            );
            let program: Program = text.parse().expect("a program");
            body(&program, Architecture::X86_64).is_some()
        };
        assert!(is_vector("%2", ["%5", "%6"]));
        assert!(!is_vector("%0", ["%5", "%6"]));
        assert!(!is_vector("%2", ["%1", "%1"]));
    }
}
