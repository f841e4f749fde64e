//! Joins two known values by one operation.

use vptx::backend::ptx::Opcode;
use vptx::isa::Type;

use super::{KEPT, SIDE, Search, equal, joined_operation, nibbles_for};
use crate::battery::Row;
use crate::goals::{NIBBLES, byte, is_limit, zip};
use crate::operation::Operation;
use crate::shape::{Shape, Slot};
use crate::values::Id;

impl Search<'_> {
    /// Joins pairs of known values. Given the first value, the second must be known exactly.
    pub(super) fn join(&mut self) {
        self.join_sums();
        self.join_bytes();
        self.join_extremes();
    }

    /// The values that are results of operations, each with the number of its operations.
    fn made(&self) -> Vec<(Id, u32)> {
        let of = |level: usize| self.levels[level].iter().map(move |id| (*id, level as u32));
        of(1).chain(of(2)).collect()
    }

    fn join_sums(&mut self) {
        let wanted = self.goals.wanted;
        let (add, sub) = (Opcode::Add, Opcode::Sub);
        for (at, (x, cost)) in self.made().into_iter().enumerate() {
            if at % 1000 == 0 && !self.has_time() {
                return;
            }
            let row = *self.values.row(x);
            let mut needed: Vec<(Row, Operation, [Slot; 3])> = Vec::new();
            let (own, other, none) = (Slot::Known(x), Slot::First, Slot::Known(x));
            let rest = zip(&wanted, &row, u32::wrapping_sub);
            needed.push((rest, Operation::One(add), [own, other, none]));
            needed.push((
                zip(&wanted, &row, u32::wrapping_add),
                Operation::One(sub),
                [other, own, none],
            ));
            needed.push((
                zip(&wanted, &row, |x, y| x ^ y),
                Operation::One(Opcode::Xor),
                [own, other, none],
            ));
            for &source in &self.sources {
                let less = zip(&rest, self.values.row(source), u32::wrapping_sub);
                let slots = [own, other, Slot::Known(source)];
                needed.push((less, Operation::Two(add, add), slots));
                let more = zip(&rest, self.values.row(source), u32::wrapping_add);
                needed.push((more, Operation::Two(add, sub), slots));
            }
            for &(opcode, by) in &self.goals.moves {
                let moved = self.values.apply(Operation::One(opcode), [x, by, x]);
                let less = zip(&wanted, &moved, u32::wrapping_sub);
                let slots = [own, Slot::Known(by), other];
                needed.push((less, joined_operation(opcode), slots));
            }
            for (row, operation, slots) in needed {
                let Some(y) = self.values.find(&row) else { continue };
                let total = cost + self.operations(y) + 1;
                let args = Shape { operation, slots }.args(y, y);
                self.accept_operation(operation, args, total);
            }
        }
    }

    /// Joins two values by `prmt` if each gives some bytes of the result.
    fn join_bytes(&mut self) {
        let mut givers: [Vec<(Id, u32, u32)>; 16] = Default::default();
        let given: Vec<(Id, u32)> = self.sources.iter().map(|id| (*id, 0)).collect();
        for (id, cost) in given.into_iter().chain(self.made()) {
            let row = self.values.row(id);
            let mut sets = [0xff; 4];
            for (word, wanted) in row.iter().zip(&self.goals.wanted) {
                for (place, set) in sets.iter_mut().enumerate() {
                    *set &= nibbles_for(*word, byte(*wanted, place as u32));
                }
                if sets == [0; 4] {
                    break;
                }
            }
            let mask = (0..4).filter(|at| sets[*at] != 0).fold(0, |all, at| all | 1 << at);
            if mask != 0 && givers[mask].len() < KEPT {
                let nibble = |at: usize| NIBBLES[sets[at].trailing_zeros() as usize & 7];
                let selector = (0..4).fold(0, |all, at| all | nibble(at) << (4 * at));
                givers[mask].push((id, cost, selector));
            }
        }
        let mut found = Vec::new();
        for first in 1..15_usize {
            for second in (1..15_usize).filter(|second| first | second == 15) {
                let taken = (0..4)
                    .filter(|at| first >> at & 1 == 1)
                    .fold(0, |all, at| all | 15 << (4 * at));
                for &(x, cost_x, one) in &givers[first] {
                    for &(y, cost_y, other) in &givers[second] {
                        let selector = one & taken | (other + 0x4444) & !taken & 0xffff;
                        found.push(([x, y], selector, cost_x + cost_y + 1));
                    }
                }
            }
        }
        found.sort_by_key(|(_, _, operations)| *operations);
        for ([x, y], selector, operations) in found {
            let selector = self.values.constant(selector);
            let operation = Operation::One(Opcode::Permute);
            self.accept_operation(operation, [x, y, selector], operations);
        }
    }

    /// Joins two values if their minimum or maximum is the result.
    fn join_extremes(&mut self) {
        for ty in [Type::U32, Type::S32] {
            for opcode in [Opcode::Min(ty), Opcode::Max(ty)] {
                let limits: Vec<(Id, u32, u32)> = self
                    .made()
                    .into_iter()
                    .filter(|(id, _)| is_limit(opcode, self.values.row(*id), &self.goals.wanted))
                    .map(|(id, cost)| (id, cost, equal(self.values.row(id), &self.goals.wanted)))
                    .filter(|(.., equal)| *equal != 0)
                    .take(SIDE)
                    .collect();
                for (at, &(x, cost_x, equal_x)) in limits.iter().enumerate() {
                    for &(y, cost_y, equal_y) in &limits[at + 1..] {
                        let operations = cost_x + cost_y + 1;
                        if equal_x | equal_y == u32::MAX {
                            self.accept_operation(Operation::One(opcode), [x, y, x], operations);
                        }
                    }
                }
            }
        }
    }
}
