//! Sums and products of bytes and halves by `dp4a` and `dp2a`.

use super::super::sequence::{Arg, Opcode, word};
use super::Compiler;
use crate::ir::{Input, Op, Value};
use crate::isa::Type;

/// A byte or half of a source.
#[derive(Clone, Copy, Debug)]
pub(super) struct SourcePart {
    pub(super) input: Input,
    /// The number of the first byte.
    pub(super) byte: u8,
    pub(super) width: u8,
    pub(super) ty: Type,
}

impl SourcePart {
    /// Whether the part has the upper bits of its word.
    pub(super) fn is_on_top(self) -> bool {
        8 * self.byte + self.width == 32
    }
}

/// A part in a sum.
#[derive(Clone, Copy, Debug)]
struct Term {
    part: SourcePart,
    negative: bool,
}

impl Compiler<'_> {
    /// A sum as dot products, if it has at least two parts of words.
    pub(super) fn dot(&mut self, value: Value) -> Option<Arg> {
        let (mut terms, mut rest) = (Vec::new(), Vec::new());
        self.terms(value, false, &mut terms, &mut rest)?;
        if let Some(sum) = self.sum_of_products(&terms, &rest) {
            return Some(sum);
        }
        if terms.len() < 2 {
            return None;
        }
        let mut sum = word(0);
        let mut minus = Vec::new();
        for (other, negative) in rest {
            // `mad` computes products.
            if matches!(self.op(other), Op::Mul(..)) {
                return None;
            }
            let arg = self.low(other)?;
            if negative {
                minus.push(arg);
            } else {
                sum = self.builder.add(sum, arg);
            }
        }
        for width in [8, 16] {
            for ty in [Type::U32, Type::S32] {
                let group: Vec<Term> = terms
                    .iter()
                    .copied()
                    .filter(|term| term.part.width == width && term.part.ty == ty)
                    .collect();
                sum = self.group(&group, sum);
            }
        }
        for arg in minus {
            sum = self.builder.sub(sum, arg);
        }
        Some(sum)
    }

    /// Products of parts, to which at most one other word is added.
    fn sum_of_products(&mut self, terms: &[Term], rest: &[(Value, bool)]) -> Option<Arg> {
        if !terms.is_empty() || rest.iter().any(|(_, negative)| *negative) {
            return None;
        }
        let values = rest.iter().map(|(value, _)| *value);
        let (products, others): (Vec<Value>, Vec<Value>) =
            values.partition(|value| matches!(self.op(*value), Op::Mul(..)));
        if products.is_empty() || others.len() > 1 {
            return None;
        }
        let more = others.first().map_or(Some(word(0)), |other| self.low(*other))?;
        self.products(&products, more)
    }

    fn terms(
        &self,
        value: Value,
        negative: bool,
        terms: &mut Vec<Term>,
        rest: &mut Vec<(Value, bool)>,
    ) -> Option<()> {
        match self.op(value) {
            Op::Add(x, y) => {
                self.terms(x, negative, terms, rest)?;
                self.terms(y, negative, terms, rest)
            }
            Op::Sub(x, y) => {
                self.terms(x, negative, terms, rest)?;
                self.terms(y, !negative, terms, rest)
            }
            _ => {
                match self.part(value) {
                    Some(part) => terms.push(Term { part, negative }),
                    None => rest.push((value, negative)),
                }
                Some(())
            }
        }
    }

    /// The byte or half of a source that a value is.
    pub(super) fn part(&self, value: Value) -> Option<SourcePart> {
        match self.op(value) {
            Op::Extract { value, low, width: width @ (8 | 16), signed } if low % 8 == 0 => {
                let ty = if signed { Type::S32 } else { Type::U32 };
                match self.op(value) {
                    Op::Input(input) if low + width <= 32 => {
                        Some(SourcePart { input, byte: low / 8, width, ty })
                    }
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// Adds terms of one width and type to a sum.
    fn group(&mut self, group: &[Term], mut sum: Arg) -> Arg {
        let Some(Term { part: first, .. }) = group.first().copied() else {
            return sum;
        };
        let lanes = if first.width == 8 { 4 } else { 2 };
        let bytes = first.width / 8;
        let mixed = group.iter().any(|term| term.part.input != first.input);
        let dot = |ty, weights| {
            if bytes == 1 { Opcode::Dot4(ty, weights) } else { Opcode::Dot2(ty, weights) }
        };
        let weight = |negative: bool| if negative { -1i32 } else { 1 };
        if mixed && group.len() <= lanes {
            // The terms stand side by side in one word; other bytes have weight 0.
            let other = group.iter().find(|term| term.part.input != first.input);
            let Some(Term { part: other, .. }) = other else {
                return sum;
            };
            if group.iter().all(|term| [first.input, other.input].contains(&term.part.input)) {
                let (mut selector, mut weights) = (0, 0u32);
                for (at, term) in group.iter().enumerate() {
                    let base = if term.part.input == first.input { 0 } else { 4 };
                    for byte in 0..bytes {
                        let nibble = u32::from(base + term.part.byte + byte);
                        selector |=
                            nibble << (4 * (at as u32 * u32::from(bytes) + u32::from(byte)));
                    }
                    weights |= (weight(term.negative).cast_unsigned() & 0xff) << (8 * at);
                }
                let (x, y) = (self.inputs[first.input as usize], self.inputs[other.input as usize]);
                let gathered = self.builder.permute(x, y, selector);
                let args = [gathered, word(weights), sum];
                return self.push(dot(first.ty, Type::S32), &args);
            }
        }
        for input in Input::ALL {
            let mut weights = [0i32; 4];
            for term in group.iter().filter(|term| term.part.input == input) {
                weights[usize::from(term.part.byte / bytes)] += weight(term.negative);
            }
            if weights != [0; 4] {
                let weights = weights
                    .iter()
                    .enumerate()
                    .fold(0, |all, (at, weight)| all | (weight.cast_unsigned() & 0xff) << (8 * at));
                let args = [self.inputs[input as usize], word(weights), sum];
                sum = self.push(dot(first.ty, Type::S32), &args);
            }
        }
        sum
    }
}
