//! Inserts parts and lanes into a word.

use super::super::PACK;
use super::super::sequence::{Arg, Opcode, word};
use super::dot::SourcePart;
use super::{Compiler, S32};
use crate::ir::{Op, Range, Value};
use crate::isa::Type;

/// Lanes inserted into a word one after the other.
struct Inserts {
    base: Value,
    width: u8,
    /// By lane, lane 0 first.
    lanes: [Option<Value>; 4],
}

impl Compiler<'_> {
    pub(super) fn insert(&mut self, value: Value) -> Option<Arg> {
        if self.strategy.has(PACK)
            && let Some(inserts) = self.inserts(value)
            && let Some(arg) = self.packed(&inserts)
        {
            return Some(arg);
        }
        let Op::Insert { base, value, low, width } = self.op(value) else {
            return None;
        };
        let base = self.low(base)?;
        // The bytes of `base` have the numbers 0 to 3, the bytes of the value 4 to 7.
        let placed = match self.op(value) {
            // The sign of the flag's byte is 0.
            Op::Compare(compare, x, y) => {
                self.flag_in_top_byte(compare, x, y).map(|flag| (flag, 0xf7))
            }
            _ => self.on_top(value).and_then(|top| match (top.width, top.ty) {
                (16, _) => Some((top.arg, 0x76)),
                (_, Type::S32) => Some((top.arg, 0xf7)),
                _ => (width == 8).then_some((top.arg, 0x7)),
            }),
        };
        let (word_of, nibbles) = if let Some(placed) = placed {
            placed
        } else {
            let (word_of, first) = self.bytes(value, width)?;
            (word_of, 0x54 + 0x11 * first)
        };
        let place = u32::from(low / 2);
        let mask = ((1 << (width / 2)) - 1) << place;
        Some(self.builder.permute(base, word_of, 0x3210 & !mask | nibbles << place & mask))
    }

    /// A word that contains the low bits of the value, and the number of the byte where
    /// they start.
    fn bytes(&mut self, value: Value, width: u8) -> Option<(Arg, u32)> {
        match self.op(value) {
            Op::Extract { value: inner, low, width: own, .. }
                if low % 8 == 0 && low + own <= 32 && own >= width =>
            {
                Some((self.low(inner)?, u32::from(low / 8)))
            }
            Op::Clamp(inner, range) if self.strategy.has(PACK) => {
                let ty = packs(range, width);
                match ty {
                    Some(ty) if S32.contains_range(self.range(inner)) => {
                        let inner = self.low(inner)?;
                        let zero = word(0);
                        Some((
                            if width == 8 {
                                self.push(Opcode::Pack4(ty), &[zero, inner, zero])
                            } else {
                                self.push(Opcode::Pack2(ty), &[zero, inner])
                            },
                            0,
                        ))
                    }
                    _ => Some((self.low(value)?, 0)),
                }
            }
            _ => {
                if let Some(found) = self.where_it_stands(value, width) {
                    return Some(found);
                }
                match self.side_by_side(value, width) {
                    Some(arg) => Some((arg, 2)),
                    None => Some((self.modulo(value, width)?, 0)),
                }
            }
        }
    }

    /// A word with the low bits of a sum or difference of two parts, and the number of the byte
    /// where they start: where the upper part stands. The other part is the lowest of its word and
    /// is moved up, with zeros below, so that nothing is carried. ptxas joins both instructions.
    fn where_it_stands(&mut self, value: Value, width: u8) -> Option<(Arg, u32)> {
        let (Op::Add(x, y) | Op::Sub(x, y)) = self.op(value) else {
            return None;
        };
        let (left, right) = (self.part(x)?, self.part(y)?);
        let (upper, lower) = if left.byte > right.byte { (left, right) } else { (right, left) };
        if upper.byte == 0 || lower.byte > 0 || upper.width.min(lower.width) < width {
            return None;
        }
        let by = u32::from(8 * upper.byte);
        let (still, moved) = (self.inputs[upper.input as usize], self.inputs[lower.input as usize]);
        let arg = match self.op(value) {
            Op::Add(..) => {
                let moved = self.push(Opcode::Shl, &[moved, word(by)]);
                self.builder.add(still, moved)
            }
            // Bytes below the upper part would borrow.
            _ if left.byte < right.byte => return None,
            _ => self.push(Opcode::Mad, &[moved, word(u32::MAX << by), still]),
        };
        Some((arg, u32::from(upper.byte)))
    }

    /// A word with the low bits of a sum or difference in its upper half. The operands are two
    /// parts that both would have to be moved. If the parts stand side by side in one word, a
    /// single multiplication adds them.
    fn side_by_side(&mut self, value: Value, width: u8) -> Option<Arg> {
        let (x, y, factor) = match self.op(value) {
            Op::Add(x, y) => (x, y, 0x0001_0001),
            Op::Sub(x, y) => (x, y, 0xffff_0001),
            _ => return None,
        };
        let (upper, lower) = (self.part(x)?, self.part(y)?);
        if upper.width.min(lower.width) < width || upper.byte == 0 || lower.byte == 0 {
            return None;
        }
        let byte = |part: SourcePart, at: u8| {
            let base = if part.input == lower.input { 0 } else { 4 };
            u32::from(base + part.byte + at.min(width / 8 - 1))
        };
        let selector =
            byte(lower, 0) | byte(lower, 1) << 4 | byte(upper, 0) << 8 | byte(upper, 1) << 12;
        let (low, high) = (self.inputs[lower.input as usize], self.inputs[upper.input as usize]);
        let both = self.builder.permute(low, high, selector);
        Some(self.push(Opcode::Mul, &[both, word(factor)]))
    }

    /// A word with the low bits of a value. The other bits may be anything.
    fn modulo(&mut self, value: Value, width: u8) -> Option<Arg> {
        let (opcode, x, y) = match self.op(value) {
            _ if self.low[value.index()].is_some() => return self.low(value),
            Op::Extract { value, low: 0, width: own, .. } if own >= width => {
                return self.modulo(value, width);
            }
            Op::Add(x, y) => (Opcode::Add, x, y),
            Op::Sub(x, y) => (Opcode::Sub, x, y),
            Op::Mul(x, y) => (Opcode::Mul, x, y),
            _ => return self.low(value),
        };
        let (x, y) = (self.modulo(x, width)?, self.modulo(y, width)?);
        Some(self.push(opcode, &[x, y]))
    }

    fn inserts(&self, value: Value) -> Option<Inserts> {
        let Op::Insert { width, .. } = self.op(value) else {
            return None;
        };
        let mut inserts = Inserts { base: value, width, lanes: [None; 4] };
        while let Op::Insert { base, value, low, width } = self.op(inserts.base) {
            if width != inserts.width || low % width != 0 {
                return None;
            }
            // Of several insertions into a lane, the last one counts.
            inserts.lanes[usize::from(low / width)].get_or_insert(value);
            inserts.base = base;
        }
        let count = inserts.lanes.iter().flatten().count();
        (count > 1).then_some(inserts)
    }

    /// Lanes clamped and packed by `cvt.pack`.
    fn packed(&mut self, inserts: &Inserts) -> Option<Arg> {
        let ty = [Type::U32, Type::S32].into_iter().find(|ty| {
            let range = Range::bits(inserts.width, *ty == Type::S32);
            inserts.lanes.iter().flatten().all(|&lane| match self.op(lane) {
                Op::Clamp(inner, to) => to == range && S32.contains_range(self.range(inner)),
                _ => range.contains_range(self.range(lane)),
            })
        })?;
        let mut words = Vec::new();
        let mut order = Vec::new();
        for (at, lane) in inserts.lanes.iter().enumerate() {
            if let Some(lane) = lane {
                let inner = match self.op(*lane) {
                    Op::Clamp(inner, _) => inner,
                    _ => *lane,
                };
                words.push(self.low(inner)?);
                order.push(at as u32);
            }
        }
        let zero = word(0);
        let get = |at: usize| words.get(at).copied().unwrap_or(zero);
        let packed = if inserts.width == 16 {
            self.push(Opcode::Pack2(ty), &[get(1), get(0)])
        } else {
            // Of two lanes, this is the constant 0.
            let upper = self.push(Opcode::Pack4(ty), &[get(3), get(2), zero]);
            self.push(Opcode::Pack4(ty), &[get(1), get(0), upper])
        };
        let base = self.low(inserts.base)?;
        let bytes = u32::from(inserts.width / 8);
        let mut selector = 0x3210;
        for (from, to) in order.iter().enumerate() {
            for byte in 0..bytes {
                let place = 4 * (to * bytes + byte);
                selector = selector & !(15 << place) | (4 + from as u32 * bytes + byte) << place;
            }
        }
        Some(self.builder.permute(base, packed, selector))
    }
}

/// The type whose range this is, for a part of this width.
fn packs(range: Range, width: u8) -> Option<Type> {
    [Type::U32, Type::S32].into_iter().find(|ty| Range::bits(width, *ty == Type::S32) == range)
}

#[cfg(test)]
mod tests {
    use super::super::compile;
    use super::*;
    use crate::backend::ptx::Strategy;
    use crate::ir::{Input, Program};

    /// `prmt` moves whole bytes, and other parts have to be moved to a byte first.
    #[test]
    fn a_byte_is_inserted_from_where_it_stands() {
        let sequence = |low: u8| {
            let text = format!(
                "extract:
                   %0: 0..4294967295 = a
                   %1: 0..4294967295 = c
                   %2: 0..255 = u8 %0[{low}]
                 write:
                   %3: 0..4294967295 = insert %1, %2[0], 8"
            );
            let program: Program = text.parse().expect("a program");
            compile(&program, Input::ALL.map(Arg::Input), Strategy(0)).expect("a sequence")
        };
        let result = |low| sequence(low).eval(0x1234_5678, 0, 0xaabb_ccdd);
        assert_eq!([0, 8, 16, 24].map(|low| sequence(low).lines().len()), [1; 4]);
        assert_eq!(result(24), 0xaabb_cc12);
        assert_eq!(result(4), 0xaabb_cc67);
    }
}
