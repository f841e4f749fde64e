//! Sums of products of bytes and halves by `dp4a` and `dp2a`.

use super::super::sequence::{Arg, Opcode, word};
use super::Compiler;
use super::dot::SourcePart;
use crate::ir::{Input, Op, Value};
use crate::isa::Type;

/// A product of two parts. The first one is at least as wide as the second, a byte.
#[derive(Clone, Copy, Debug)]
struct Product {
    first: SourcePart,
    second: SourcePart,
}

impl Product {
    fn of(x: SourcePart, y: SourcePart) -> Option<Product> {
        let (first, second) = if x.width >= y.width { (x, y) } else { (y, x) };
        (second.width == 8).then_some(Product { first, second })
    }

    /// The facts that the products of one instruction have in common.
    fn kind(self) -> (Input, Type, u8, Input, Type) {
        let Product { first, second } = self;
        (first.input, first.ty, first.width, second.input, second.ty)
    }

    /// The bytes of the first factor.
    fn bytes(self) -> u8 {
        self.first.width / 8
    }

    /// The lane of the first factor.
    fn lane(self) -> u8 {
        self.first.byte / self.bytes()
    }

    /// How many products one instruction computes.
    fn lanes(self) -> usize {
        4 / usize::from(self.bytes())
    }
}

impl Compiler<'_> {
    /// Products of parts plus a word. `None` if one of the values is no such product.
    pub(super) fn products(&mut self, values: &[Value], more: Arg) -> Option<Arg> {
        let products = values.iter().map(|value| match self.op(*value) {
            Op::Mul(x, y) => Product::of(self.part(x)?, self.part(y)?),
            _ => None,
        });
        let mut rest: Vec<Product> = products.collect::<Option<_>>()?;
        let mut sum = more;
        while let Some(&first) = rest.first() {
            let is_alike = |product: &Product| product.kind() == first.kind();
            let (mut group, others): (Vec<Product>, Vec<Product>) =
                rest.into_iter().partition(is_alike);
            rest = group.split_off(group.len().min(first.lanes()));
            rest.extend(others);
            sum = self.dot_product(&group, sum);
        }
        Some(sum)
    }

    /// The sum of products of one kind, as one dot product.
    fn dot_product(&mut self, group: &[Product], sum: Arg) -> Arg {
        let first = group[0];
        let (bytes, ty, other) = (first.bytes(), first.first.ty, first.second.ty);
        // The lane that the first factor has anyway is best.
        let mut places: Vec<(u8, Product)> = Vec::new();
        for &product in group {
            let is_free = |lane: &u8| places.iter().all(|(taken, _)| taken != lane);
            let lane = [product.lane()].into_iter().chain(0..4 / bytes).find(is_free);
            places.push((lane.unwrap_or_default(), product));
        }
        let is_whole = places.len() == first.lanes();
        let mut wide = 0x3210;
        for &(lane, product) in &places {
            for byte in 0..bytes {
                put(&mut wide, lane * bytes + byte, product.first.byte + byte);
            }
        }
        let whole = self.inputs[first.first.input as usize];
        let moved = self.inputs[first.second.input as usize];
        let whole = self.builder.permute(whole, word(0), wide);
        // Two halves may meet the upper bytes.
        let is_high = |&(lane, product): &(u8, Product)| product.second.byte == lane + 2;
        if bytes == 2 && is_whole && places.iter().all(is_high) {
            return self.push(Opcode::Dot2High(ty, other), &[whole, moved, sum]);
        }
        if bytes == 2 && !is_whole {
            // The word is the same for both halves, so that neighbours share it.
            let byte = u32::from(first.second.byte);
            let moved = self.builder.permute(moved, word(0), byte << 12 | 0x0440 | byte);
            let dot = if places[0].0 == 0 { Opcode::Dot2 } else { Opcode::Dot2High };
            return self.push(dot(ty, other), &[whole, moved, sum]);
        }
        // The other bytes are 0, and so are their products.
        let mut narrow = if bytes == 2 { 0x3210 } else { 0x4444 };
        for &(lane, product) in &places {
            put(&mut narrow, lane, product.second.byte);
        }
        let is_in_place = places.iter().all(|(lane, product)| product.second.byte == *lane);
        let narrow = if is_in_place && !is_whole {
            let mask = places.iter().fold(0u32, |mask, (lane, _)| mask | 0xff << (8 * lane));
            self.builder.and(moved, word(mask))
        } else {
            self.builder.permute(moved, word(0), narrow)
        };
        let opcode = if bytes == 1 { Opcode::Dot4(ty, other) } else { Opcode::Dot2(ty, other) };
        self.push(opcode, &[whole, narrow, sum])
    }
}

/// Sets a nibble of a selector.
fn put(selector: &mut u32, at: u8, byte: u8) {
    *selector = *selector & !(15 << (4 * at)) | u32::from(byte) << (4 * at);
}
