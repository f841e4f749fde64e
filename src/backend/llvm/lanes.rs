//! Lanes of a word as a vector.

use super::body::{Body, I32, Type};
use super::values::Values;
use crate::ir::{Input, Op, Program, Value};

/// The body of a function that computes on vectors, and its result. `None` if the program does
/// not have the same steps for each lane, or if vectors would not make it shorter.
pub(super) fn body(program: &Program) -> Option<(Body, String)> {
    let lanes = Lanes::of(program)?;
    lanes.is_worthwhile(program).then(|| lanes.write(program))
}

/// The use of the lanes that are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Use {
    /// Written over those of a word.
    Merge,
    /// Added to a word.
    Sum,
}

/// Lanes that are computed by the same steps.
#[derive(Debug)]
struct Lanes {
    /// Of a lane.
    bits: u8,
    used_for: Use,
    /// The lanes that are used, with their values.
    used: Vec<(u8, Value)>,
}

fn step(program: &Program, value: Value) -> Op {
    program.steps()[value.index()].op
}

impl Lanes {
    fn of(program: &Program) -> Option<Lanes> {
        let found = Lanes::merged(program).or_else(|| Lanes::summed(program))?;
        let values: Vec<Value> = found.used.iter().map(|(_, value)| *value).collect();
        is_same(program, &values, found.bits).then_some(found)
    }

    /// The lanes of a chain of insertions.
    fn merged(program: &Program) -> Option<Lanes> {
        let (mut base, mut bits, mut lanes) = (program.result(), None, Vec::new());
        while let Op::Insert { base: next, value, low, width } = step(program, base) {
            if *bits.get_or_insert(width) != width || low % width != 0 {
                return None;
            }
            lanes.push((low / width, value));
            base = next;
        }
        let bits = bits.filter(|bits| [8, 16].contains(bits))?;
        if lanes.len() < usize::from(32 / bits) && step(program, base) != Op::Input(Input::C) {
            return None;
        }
        lanes.reverse();
        Some(Lanes { bits, used_for: Use::Merge, used: lanes })
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
        let lanes: Vec<(u8, Value)> = (0..32 / bits).zip(values.iter().copied()).collect();
        (values.len() == lanes.len()).then_some(Lanes { bits, used_for: Use::Sum, used: lanes })
    }

    fn is_worthwhile(&self, _program: &Program) -> bool {
        true
    }

    fn write(&self, program: &Program) -> (Body, String) {
        let count = 32 / self.bits;
        let ty = Type { lanes: count, bits: self.bits };
        let first = self.used[0].1;
        // Lanes that are not used compute the same as some other.
        let value = |lane| self.used.iter().find(|(at, _)| *at == lane).map_or(first, |it| it.1);
        let group: Vec<Value> = (0..count).map(value).collect();
        let mut values = Values::new(program, count, self.bits);
        let is_used = |lane| self.used.iter().any(|(at, _)| *at == lane);
        load(&mut values, &group, ty, &is_used);
        let is_full = (0..count).all(is_used);
        let merged = |others| {
            let from: Vec<u8> =
                (0..count).map(|at| if is_used(at) { at } else { others + at }).collect();
            from
        };
        let result = match self.used_for {
            Use::Merge => {
                let mut lanes = values.at(&group, self.bits);
                if !is_full {
                    let base = values.body.push(format_args!("bitcast i32 %c to {ty}"));
                    lanes = values.body.shuffle(ty, &lanes, &base, &merged(count));
                }
                values.body.push(format_args!("bitcast {ty} {lanes} to i32"))
            }
            Use::Sum => {
                let wide = Type { bits: 32, ..ty };
                let mut lanes = values.at(&group, 32);
                if !is_full {
                    lanes = values.body.shuffle(wide, &lanes, &wide.splat(0), &merged(count));
                }
                let sum = values.body.sum(wide, &lanes);
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

/// Whether values are computed by the same steps from lanes of source words and constants.
fn is_same(program: &Program, values: &[Value], bits: u8) -> bool {
    let op = step(program, values[0]);
    let all = |is: &dyn Fn(Op) -> bool| values.iter().all(|value| is(step(program, *value)));
    match op {
        Op::Constant(_) => all(&|other| matches!(other, Op::Constant(_))),
        Op::Extract { width, signed, .. } => {
            width == bits
                && all(&|other| match other {
                    Op::Extract { value, low, width: of, signed: is } => {
                        let is_input = matches!(step(program, value), Op::Input(_));
                        is_input && low % bits == 0 && (of, is) == (width, signed)
                    }
                    _ => false,
                })
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

/// Writes the lanes of source words that a group is computed from.
fn load(values: &mut Values<'_>, group: &[Value], ty: Type, is_used: &dyn Fn(u8) -> bool) {
    if values.has(group) {
        return;
    }
    if let Op::Extract { signed, .. } = values.step(group[0]).op {
        let text = shuffled(values, group, ty, is_used);
        values.define(group, text, signed);
        return;
    }
    let (first, second) = values.operands(group);
    for operands in [first, second] {
        if !operands.is_empty() {
            load(values, &operands, ty, is_used);
        }
    }
}

/// The lanes of source words that a group takes.
fn shuffled(
    values: &mut Values<'_>,
    group: &[Value],
    ty: Type,
    is_used: &dyn Fn(u8) -> bool,
) -> String {
    let (mut words, mut from): (Vec<Input>, Vec<u8>) = (Vec::new(), Vec::new());
    for (at, value) in (0..ty.lanes).zip(group) {
        let Op::Extract { value, low, .. } = values.step(*value).op else { continue };
        let Op::Input(input) = values.step(value).op else { continue };
        let word = words.iter().position(|word| *word == input).unwrap_or(words.len());
        if word == words.len() {
            words.push(input);
        }
        // Any lane will do where none is used: one that stays in its place needs no move.
        let lane = if is_used(at) { low / ty.bits } else { at };
        from.push(word as u8 * ty.lanes + lane);
    }
    let mut texts: Vec<String> = words.iter().map(|input| values.word(*input, ty)).collect();
    if from.iter().copied().eq(0..ty.lanes) {
        return texts.swap_remove(0);
    }
    let second = texts.last().cloned().unwrap_or_default();
    values.body.shuffle(ty, &texts[0], &second, &from)
}
