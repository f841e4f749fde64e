//! Answers questions about many registers of a function, 64 registers at a time.

use super::blocks::Effect;
use super::{Block, Graph};
use crate::hash::Map;
use crate::names::Meaning;

/// A register, and an instruction that reads or writes it.
type RegisterAt = (usize, Meaning);

/// A register, and the instructions that are asked about, each with the index of its question.
type Asked = (Meaning, Vec<(usize, usize)>);

/// Whether instructions write a register on the way from the start of a function to a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Written {
    /// On every path, or there is no path.
    Always,
    /// Not on all paths.
    Sometimes,
    /// On no path, not even under a guard.
    Never,
}

/// How many registers are followed together.
const WIDTH: usize = 64;

/// The most steps for the questions about one function. Functions that people or compilers write
/// need far fewer.
const STEPS: usize = 1 << 26;

/// How a block changes a set of registers on the way from its start to its end, or backwards: the
/// registers that it adds, and those that it takes away.
#[derive(Clone, Copy, Default)]
struct Transfer {
    adds: u64,
    takes: u64,
}

impl Graph {
    /// Whether registers are written before the given instructions read them. `counts` tells
    /// whether a write under a guard counts as one. `None` if the function is too large to tell.
    pub(crate) fn are_written_before(
        &self,
        places: &[RegisterAt],
        counts: impl Fn(Meaning) -> bool,
    ) -> Option<Vec<Written>> {
        let mut answers = vec![Written::Always; places.len()];
        for group in self.groups(places)? {
            let mut blocks = vec![Transfer::default(); self.blocks().len()];
            let mut open = Vec::new();
            for (bit, (meaning, places)) in group.iter().enumerate() {
                let counts = counts(*meaning);
                let mut places = places.iter().peekable();
                let (mut block, mut is_written, mut may_be) = (None, false, false);
                for at in self.instructions_with(*meaning) {
                    let here = self.block_of(at);
                    if block != Some(here) {
                        (block, is_written, may_be) = (Some(here), false, false);
                    }
                    while let Some(&(_, number)) = places.next_if(|(place, _)| *place <= at) {
                        if !is_written {
                            open.push((number, here, bit, may_be));
                        }
                    }
                    let effect = self.effect(at, *meaning);
                    if effect.writes {
                        may_be = true;
                        blocks[here].adds |= 1 << bit;
                    }
                    if effect.defines || effect.writes && counts {
                        is_written = true;
                        blocks[here].takes |= 1 << bit;
                    }
                }
            }
            // No register is written where the function starts.
            let takes = |it: &Transfer| Transfer { adds: 0, takes: it.takes };
            let unwritten = self.forward(u64::MAX, &blocks.iter().map(takes).collect::<Vec<_>>());
            let adds = |it: &Transfer| Transfer { adds: it.adds, takes: 0 };
            let written = self.forward(0, &blocks.iter().map(adds).collect::<Vec<_>>());
            for (number, block, bit, may_be) in open {
                let has = |set: &[u64]| set[block] >> bit & 1 == 1;
                answers[number] = match (has(&unwritten), may_be || has(&written)) {
                    (false, _) => Written::Always,
                    (true, true) => Written::Sometimes,
                    (true, false) => Written::Never,
                };
            }
        }
        Some(answers)
    }

    /// Whether the values that instructions give to registers may be read. `None` if the function
    /// is too large to tell.
    pub(crate) fn are_live_after(&self, places: &[RegisterAt]) -> Option<Vec<bool>> {
        let mut answers = vec![false; places.len()];
        for group in self.groups(places)? {
            let mut blocks = vec![Transfer::default(); self.blocks().len()];
            let mut open = Vec::new();
            for (bit, (meaning, places)) in group.iter().enumerate() {
                let mut places = places.iter().rev().peekable();
                // Whether the rest of the block reads the value; `None` if it neither reads nor
                // overwrites it.
                let (mut block, mut is_read) = (None, None);
                let occurring: Vec<usize> = self.instructions_with(*meaning).collect();
                for at in occurring.into_iter().rev() {
                    let here = self.block_of(at);
                    if block != Some(here) {
                        (block, is_read) = (Some(here), None);
                    }
                    while let Some(&(_, number)) = places.next_if(|(place, _)| *place >= at) {
                        match is_read {
                            Some(is_read) => answers[number] = is_read,
                            None => open.push((number, here, bit)),
                        }
                    }
                    let Effect { reads, defines, .. } = self.effect(at, *meaning);
                    let own = &mut blocks[here];
                    if defines {
                        is_read = Some(false);
                        own.takes |= 1 << bit;
                        own.adds &= !(1 << bit);
                    }
                    if reads {
                        is_read = Some(true);
                        own.adds |= 1 << bit;
                    }
                }
            }
            let live = self.backward(&blocks);
            for (number, block, bit) in open {
                answers[number] = live[block] >> bit & 1 == 1;
            }
        }
        Some(answers)
    }

    /// The places by register, each list in the order of the text and with the indices of the
    /// questions. Each group has up to [`WIDTH`] registers. `None` if the analysis would take too
    /// long.
    fn groups(&self, places: &[RegisterAt]) -> Option<Vec<Vec<Asked>>> {
        let mut numbers: Map<Meaning, usize> = Map::default();
        let mut all: Vec<Asked> = Vec::new();
        for (number, (at, meaning)) in places.iter().enumerate() {
            let own = *numbers.entry(*meaning).or_insert(all.len());
            if own == all.len() {
                all.push((*meaning, Vec::new()));
            }
            all[own].1.push((*at, number));
        }
        let steps = all.len().div_ceil(WIDTH).checked_mul(self.blocks().len())?;
        for (_, places) in &mut all {
            places.sort_unstable();
        }
        (steps <= STEPS).then(|| all.chunks(WIDTH).map(<[_]>::to_vec).collect())
    }

    /// The set at the start of each block, if the function starts with the set `start`.
    fn forward(&self, start: u64, transfers: &[Transfer]) -> Vec<u64> {
        let mut sets = vec![0; transfers.len()];
        sets[0] = start;
        let waiting = (0..transfers.len()).rev().filter(|block| self.is_reachable(*block));
        self.settled(sets, waiting.collect(), transfers, |block| &block.successors)
    }

    /// The set at the end of each block.
    fn backward(&self, transfers: &[Transfer]) -> Vec<u64> {
        let (sets, waiting) = (vec![0; transfers.len()], (0..transfers.len()).collect());
        self.settled(sets, waiting, transfers, |block| &block.predecessors)
    }

    /// The sets of all blocks at the fixed point. The sets of the blocks in `waiting` are still to
    /// be passed on.
    fn settled(
        &self,
        mut sets: Vec<u64>,
        mut waiting: Vec<usize>,
        transfers: &[Transfer],
        next: impl Fn(&Block) -> &[usize],
    ) -> Vec<u64> {
        while let Some(block) = waiting.pop() {
            let passed = sets[block] & !transfers[block].takes | transfers[block].adds;
            for &next in next(&self.blocks()[block]) {
                if sets[next] | passed != sets[next] {
                    sets[next] |= passed;
                    waiting.push(next);
                }
            }
        }
        sets
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use super::*;
    use crate::flow::Flow;
    use crate::names::Names;
    use crate::syntax::parse;
    use crate::testing::Numbers;

    /// A function with branches, guards, and more registers than are followed together.
    fn function(numbers: &mut Numbers) -> String {
        let mut text = String::from(".func f()\n{\n.reg .b32 %r<80>;\n.reg .pred %p<4>;\n");
        let count = 5 + numbers.below(60);
        for at in 0..count {
            let [d, a, p] = [80, 80, 4].map(|below| numbers.below(below));
            // Mostly a few registers, so that uses meet definitions.
            let (d, a) = if numbers.below(3) == 0 { (d, a) } else { (d % 3, a % 3) };
            let guard = if numbers.below(4) == 0 { format!("@%p{p} ") } else { String::new() };
            let label = numbers.below(count);
            let _ = match numbers.below(6) {
                0 => writeln!(text, "L{at}: {guard}bra L{label};"),
                1 => writeln!(text, "L{at}: setp.lt.u32 %p{p}, %r{d}, %r{a};"),
                2 if numbers.below(6) == 0 => writeln!(text, "L{at}: {guard}ret;"),
                3 if numbers.below(9) == 0 => writeln!(text, "L{at}: other %r{d}, %r{a};"),
                _ => writeln!(text, "L{at}: {guard}add.u32 %r{d}, %r{a}, %r{d};"),
            };
        }
        text + "}\n"
    }

    #[test]
    fn many_answers_are_those_of_one_question_at_a_time() {
        let mut numbers = Numbers(47);
        let mut seen = [0; 5];
        for _ in 0..400 {
            let text = function(&mut numbers);
            let tree = parse(&text);
            let names = Names::of(&tree);
            let flow = Flow::of(&tree.functions().next().unwrap(), &names).unwrap();
            let accesses = |only: fn(&super::super::NameAccess) -> bool| -> Vec<RegisterAt> {
                let all = 0..flow.statements().len();
                let of = |at: usize| flow.accesses(at).iter().filter(move |it| only(it));
                all.flat_map(|at| of(at).map(move |it| (at, it.meaning))).collect()
            };
            let reads = accesses(|it| it.access.reads());
            let written = flow.are_written_before(&reads, |_| false).unwrap();
            for (&(at, meaning), written) in reads.iter().zip(written) {
                let reaching = flow.definitions_reaching(at, meaning);
                let expected = match (reaching.may_be_undefined, reaching.instructions.is_empty()) {
                    (false, _) => Written::Always,
                    (true, false) => Written::Sometimes,
                    (true, true) => Written::Never,
                };
                let is_label = names.symbol(meaning.symbol()).count.is_none();
                assert!(is_label || written == expected, "{text}\n{at} {written:?} {expected:?}");
                seen[written as usize] += 1;
            }
            let writes = accesses(|it| it.access.writes());
            let live = flow.are_live_after(&writes).unwrap();
            for (&(at, meaning), live) in writes.iter().zip(live) {
                assert_eq!(live, flow.is_live_after(at, meaning), "{text}\n{at}");
                seen[3 + usize::from(live)] += 1;
            }
        }
        assert!(seen.iter().all(|count| *count > 500), "{seen:?}");
    }
}
