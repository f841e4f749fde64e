//! Inputs on which mistakes show.

use std::collections::HashSet;

use super::mistakes::{self, Kind};
use super::random::Random;
use super::shapes::Shape;
use crate::ir::Program;
use crate::video::{EDGES, Instruction, Semantics};

/// The words that inputs are taken from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum InputPool {
    /// Edge values in each lane, and their neighbours.
    Edges,
    /// Edge values and random words.
    Mixed,
}

/// The number of inputs that are tried for a vector.
const TRIED: usize = 32;

/// The weight of a mistake that no vector of the same shape has shown yet. Other mistakes weigh 1.
const NEW: usize = 20;

/// Random inputs on which most mistakes show; rare and new mistakes count more. A mistake is an
/// error about the meaning under the semantics `own`, or the meaning under another semantics.
pub(super) fn telling(
    shape: &Shape,
    instruction: &Instruction,
    own: Semantics,
    pool: InputPool,
    seen: &mut HashSet<Kind>,
    random: &mut Random,
) -> [u32; 3] {
    let right = instruction.lower(own);
    let tried: Vec<[u32; 3]> = (0..TRIED).map(|_| inputs(pool, random)).collect();
    let results = |program: &Program| -> Vec<u32> {
        tried.iter().map(|&[a, b, c]| program.eval(a, b, c)).collect()
    };
    let expected = results(&right);
    let mut scores = [0; TRIED];
    let mut shown: [Vec<Kind>; TRIED] = Default::default();
    for wrong in mistakes::of(shape, instruction, &right) {
        let found = results(&wrong.program);
        let at: Vec<usize> = (0..TRIED).filter(|&at| found[at] != expected[at]).collect();
        let weight = if seen.contains(&wrong.kind) { 1 } else { NEW };
        for &one in &at {
            scores[one] += weight * (1 + TRIED - at.len());
            shown[one].push(wrong.kind);
        }
    }
    // The first of the inputs with the best score.
    let best = (0..TRIED).rev().max_by_key(|&at| scores[at]).unwrap_or_default();
    seen.extend(&shown[best]);
    tried[best]
}

fn inputs(pool: InputPool, random: &mut Random) -> [u32; 3] {
    let [a, mut b, mut c] = [(); 3].map(|()| word(pool, random));
    // The result of a comparison is less than nearly every word.
    if random.below(6) == 0 {
        c = random.pick(&[0, 1]);
    }
    // Mistakes in comparisons show on equal and on neighbouring values.
    if random.below(3) == 0 {
        let mask = random.pick(&[u32::MAX, 0xffff, 0x00ff_00ff, 0xff]);
        let near = a.wrapping_add_signed(random.pick(&[0, 0, 1, -1]));
        b = (near & mask) | (b & !mask);
    }
    [a, b, c]
}

fn word(pool: InputPool, random: &mut Random) -> u32 {
    if pool == InputPool::Edges || random.flip() {
        // Most edge values have the same lanes, or only one.
        let mask = random.pick(&[0, 0, 0xffff, 0x00ff_00ff]);
        return (random.pick(&EDGES) & !mask) | (random.pick(&EDGES) & mask);
    }
    let word = random.next() as u32;
    match random.below(4) {
        // A small number, or a small negative one.
        0 => word >> (8 + random.below(24)),
        1 => !(word >> (8 + random.below(24))),
        _ => word,
    }
}
