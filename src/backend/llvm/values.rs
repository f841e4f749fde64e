//! Values of programs as values of LLVM. A group has one value for each lane of a vector, or one.

use std::collections::HashMap;

use super::body::{Body, I32, Type};
use crate::ir::{Input, Op, Program, Range, Step, Value};
use crate::isa::Compare;

/// The body of a function without vectors, and its result.
pub(super) fn body(program: &Program) -> (Body, String) {
    let mut values = Values::new(program, 1, 32);
    let result = values.at(&[program.result()], 32);
    (values.body, result)
}

/// A value of LLVM that equals a group exactly, read as signed or unsigned.
#[derive(Clone, Debug)]
pub(super) struct Term {
    text: String,
    bits: u8,
    signed: bool,
}

/// The values that are written so far.
pub(super) struct Values<'p> {
    pub(super) body: Body,
    program: &'p Program,
    lanes: u8,
    /// The least number of bits of a value.
    least: u8,
    known: HashMap<Vec<Value>, Term>,
    /// Values of `known`, converted to other numbers of bits.
    converted: HashMap<(Vec<Value>, u8), String>,
}

impl<'p> Values<'p> {
    pub(super) fn new(program: &'p Program, lanes: u8, least: u8) -> Values<'p> {
        let (known, converted) = (HashMap::new(), HashMap::new());
        Values { body: Body::default(), program, lanes, least, known, converted }
    }

    /// Records the text of a group that is already written as a value of `least` bits.
    pub(super) fn define(&mut self, group: &[Value], text: String, signed: bool) {
        self.known.insert(group.to_vec(), Term { text, bits: self.least, signed });
    }

    /// Whether a group is already written.
    pub(super) fn has(&self, group: &[Value]) -> bool {
        self.known.contains_key(group)
    }

    /// A source word as a vector.
    pub(super) fn word(&mut self, input: Input, ty: Type) -> String {
        self.body.push(format_args!("bitcast i32 %{} to {ty}", input.text()))
    }

    pub(super) fn step(&self, value: Value) -> &'p Step {
        &self.program.steps()[value.index()]
    }

    /// The range that holds all values of a group.
    pub(super) fn range(&self, group: &[Value]) -> Range {
        let first = self.step(group[0]).range;
        group.iter().fold(first, |all, value| all.joined(self.step(*value).range))
    }

    /// The bits of integers that hold a range: signed integers, if the range has negative numbers.
    fn bits(&self, range: Range) -> u8 {
        let signed = range.min < 0;
        let fits = |bits: &u8| Range::bits(*bits, signed).contains_range(range);
        [8, 16, 32, 64].into_iter().filter(|bits| *bits >= self.least).find(fits).unwrap_or(128)
    }

    fn ty(&self, bits: u8) -> Type {
        Type { lanes: self.lanes, bits }
    }

    /// A group as a value of `bits` bits: its low bits, or the whole value, sign- or zero-extended.
    pub(super) fn at(&mut self, group: &[Value], bits: u8) -> String {
        if let Some(constants) = self.constants(group) {
            return self.ty(bits).constant(constants);
        }
        let key = (group.to_vec(), bits);
        if let Some(text) = self.converted.get(&key) {
            return text.clone();
        }
        let is_cut = bits < self.bits(self.range(group)) && !self.has(group);
        // Low bits of sums are sums of low bits.
        let text = if let Some((opcode, x, y)) = self.modular(group).filter(|_| is_cut) {
            let (x, y) = (self.at(&x, bits), self.at(&y, bits));
            self.body.binary(opcode, self.ty(bits), &x, &y)
        } else {
            let term = self.term(group);
            let from = self.ty(term.bits);
            self.body.convert(&term.text, from, bits, term.signed)
        };
        self.converted.insert(key, text.clone());
        text
    }

    fn constants(&self, group: &[Value]) -> Option<Vec<i128>> {
        let constant = |value: &Value| match self.step(*value).op {
            Op::Constant(constant) => Some(constant),
            _ => None,
        };
        group.iter().map(constant).collect()
    }

    /// The operands of all steps of a group, in two groups.
    pub(super) fn operands(&self, group: &[Value]) -> (Vec<Value>, Vec<Value>) {
        let (mut first, mut second) = (Vec::new(), Vec::new());
        for value in group {
            let mut operands = self.step(*value).op.operands();
            first.extend(operands.next());
            second.extend(operands.next());
        }
        (first, second)
    }

    /// The opcode and operands of a group whose low bits depend on low bits only.
    fn modular(&self, group: &[Value]) -> Option<(&'static str, Vec<Value>, Vec<Value>)> {
        let opcode = match self.step(group[0]).op {
            Op::Add(..) => "add",
            Op::Sub(..) => "sub",
            Op::Mul(..) => "mul",
            _ => return None,
        };
        let (x, y) = self.operands(group);
        Some((opcode, x, y))
    }

    /// The value of a group. Writes the group unless it is already written.
    fn term(&mut self, group: &[Value]) -> Term {
        if let Some(term) = self.known.get(group) {
            return term.clone();
        }
        let range = self.range(group);
        let (bits, signed) = (self.bits(range), range.min < 0);
        let text = match self.constants(group) {
            Some(constants) => self.ty(bits).constant(constants),
            None => self.write(group, bits),
        };
        let term = Term { text, bits, signed };
        self.known.insert(group.to_vec(), term.clone());
        term
    }

    /// Writes a group that is no constant, as a value of `bits` bits.
    fn write(&mut self, group: &[Value], bits: u8) -> String {
        let own = self.range(group);
        let (x, y) = self.operands(group);
        if let Some((opcode, x, y)) = self.modular(group) {
            let (x, y) = (self.at(&x, bits), self.at(&y, bits));
            return self.body.binary(opcode, self.ty(bits), &x, &y);
        }
        match self.step(group[0]).op {
            Op::Input(input) => format!("%{}", input.text()),
            Op::Extract { low, width, signed, .. } => {
                // A sum is not computed in more bits than are taken of it.
                let taken = self.bits(Range::bits((low + width).min(127), false));
                let from = if low == 0 { taken } else { taken.max(self.bits(self.range(&x))) };
                let mut text = self.at(&x, from);
                if low != 0 {
                    let by = self.ty(from).splat(low.into());
                    text = self.body.binary("lshr", self.ty(from), &text, &by);
                }
                let text = self.body.convert(&text, self.ty(from), width, false);
                self.body.convert(&text, self.ty(width), bits, signed)
            }
            Op::AbsDiff(..) => {
                let difference = self.range(&x).minus(self.range(&y));
                let (opcode, common) = self.order(&[&x, &y], own);
                if Range::bits(bits, true).contains_range(difference) {
                    let (x, y) = (self.at(&x, bits), self.at(&y, bits));
                    let difference = self.body.binary("sub", self.ty(bits), &x, &y);
                    return self.body.abs(self.ty(bits), &difference);
                }
                let ty = self.ty(common);
                let (x, y) = (self.at(&x, common), self.at(&y, common));
                let max = self.body.call(&format!("{opcode}max"), ty, &x, &y);
                let min = self.body.call(&format!("{opcode}min"), ty, &x, &y);
                let text = self.body.binary("sub", ty, &max, &min);
                self.body.cut(&text, ty, bits)
            }
            op @ (Op::Min(..) | Op::Max(..)) => {
                let (sign, common) = self.order(&[&x, &y], own);
                let (x, y) = (self.at(&x, common), self.at(&y, common));
                let name = if matches!(op, Op::Min(..)) { "min" } else { "max" };
                let text = self.body.call(&format!("{sign}{name}"), self.ty(common), &x, &y);
                self.body.cut(&text, self.ty(common), bits)
            }
            op @ (Op::Shl(..) | Op::Shr(..)) => {
                // The type must have more bits than the shift amount.
                let amounts = Range::new(0, 1 << self.range(&y).max);
                let (sign, common) = self.order(&[&x], own.joined(amounts));
                let opcode = match op {
                    Op::Shl(..) => "shl",
                    _ if sign == 's' => "ashr",
                    _ => "lshr",
                };
                let (x, y) = (self.at(&x, common), self.at(&y, common));
                let text = self.body.binary(opcode, self.ty(common), &x, &y);
                self.body.cut(&text, self.ty(common), bits)
            }
            Op::Compare(compare, ..) => {
                let (sign, common) = self.order(&[&x, &y], Range::new(0, 0));
                let (x, y) = (self.at(&x, common), self.at(&y, common));
                let condition = condition(compare, sign);
                let ty = self.ty(common);
                let text = self.body.push(format_args!("icmp {condition} {ty} {x}, {y}"));
                self.body.convert(&text, self.ty(1), bits, false)
            }
            Op::Clamp(_, to) => self.clamp(group, &x, to, bits),
            Op::Insert { base, value, low, width } => self.insert(base, value, low, width),
            Op::Constant(_) | Op::Add(..) | Op::Sub(..) | Op::Mul(..) => {
                unreachable!("written before")
            }
        }
    }

    /// `s` or `u` for a signed or unsigned order, and a number of bits that holds the values of
    /// these groups and the range `more`.
    fn order(&self, groups: &[&[Value]], more: Range) -> (char, u8) {
        let all = groups.iter().fold(more, |all, group| all.joined(self.range(group)));
        (if all.min < 0 { 's' } else { 'u' }, self.bits(all))
    }

    fn clamp(&mut self, group: &[Value], x: &[Value], to: Range, bits: u8) -> String {
        if let Some(text) = self.saturated(x, to) {
            return text;
        }
        let given = self.range(x);
        let (has_below, has_above) = (given.min < to.min, given.max > to.max);
        let (sign, common) = self.order(&[x], self.range(group));
        let ty = self.ty(common);
        let mut text = self.at(x, common);
        if has_below {
            text = self.body.call(&format!("{sign}max"), ty, &text, &ty.splat(to.min));
        }
        if has_above {
            text = self.body.call(&format!("{sign}min"), ty, &text, &ty.splat(to.max));
        }
        self.body.cut(&text, ty, bits)
    }

    /// A clamped sum or difference, if a single intrinsic computes it exactly.
    fn saturated(&mut self, group: &[Value], to: Range) -> Option<String> {
        let (opcode, x, y) = self.modular(group).filter(|(opcode, ..)| *opcode != "mul")?;
        let signed = to.min < 0;
        let bits = self.least;
        let whole = Range::bits(bits, signed);
        let fits = |group: &[Value]| whole.contains_range(self.range(group));
        if to != whole || !fits(&x) || !fits(&y) {
            return None;
        }
        let sign = if signed { 's' } else { 'u' };
        let (x, y) = (self.at(&x, bits), self.at(&y, bits));
        Some(self.body.call(&format!("{sign}{opcode}.sat"), self.ty(bits), &x, &y))
    }

    /// A word with some bits replaced. Words are not in vectors.
    fn insert(&mut self, base: Value, value: Value, low: u8, width: u8) -> String {
        let mask = u32::MAX >> (32 - u32::from(width));
        let mut part = self.at(&[value], 32);
        // Higher bits are shifted out.
        if mask != u32::MAX >> low {
            part = self.body.binary("and", I32, &part, &I32.splat(mask.into()));
        }
        if low > 0 {
            part = self.body.binary("shl", I32, &part, &I32.splat(low.into()));
        }
        let kept = !(mask << low);
        if self.step(base).op == Op::Constant(0) {
            return part;
        }
        let base = self.at(&[base], 32);
        let base = self.body.binary("and", I32, &base, &I32.splat(kept.into()));
        self.body.binary("or", I32, &base, &part)
    }
}

/// The condition of a comparison.
fn condition(compare: Compare, sign: char) -> String {
    match compare {
        Compare::Eq => "eq".into(),
        Compare::Ne => "ne".into(),
        Compare::Lt => format!("{sign}lt"),
        Compare::Le => format!("{sign}le"),
        Compare::Gt => format!("{sign}gt"),
        Compare::Ge => format!("{sign}ge"),
    }
}
