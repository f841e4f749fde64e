//! Test vectors for other implementations of the video instructions: instructions, inputs and
//! results.
//!
//! Inputs are chosen so that likely mistakes change the result.

mod inputs;
mod mistakes;
mod random;
mod shapes;

use std::collections::{HashSet, VecDeque};

use self::inputs::InputPool;
use self::mistakes::Kind;
use self::random::Random;
use self::shapes::{Operands, Shape};
use crate::isa::Mnemonic;
use crate::video::{self, Agreement, Deviation, Instruction, Semantics};

/// An instruction with inputs, and its results.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vector {
    /// The instruction, with the registers `d`, `a`, `b` and `c`.
    pub instruction: Instruction,
    /// The words in `a`, `b` and `c`, even if the instruction does not read all of them.
    pub inputs: [u32; 3],
    /// The new word in `d` under each of [`Semantics::ALL`].
    pub results: [u32; Semantics::ALL.len()],
    /// The deviations of ptxas, of any version, that show in the results.
    pub deviations: Vec<Deviation>,
}

impl Vector {
    /// The vector of an instruction for the words in `a`, `b` and `c`.
    pub fn new(instruction: Instruction, inputs: [u32; 3]) -> Vector {
        let [a, b, c] = inputs;
        let results = Semantics::ALL.map(|semantics| instruction.lower(semantics).eval(a, b, c));
        let deviations = instruction.all_causes(a, b, c);
        Vector { instruction, inputs, results, deviations }
    }
}

/// An endless sequence of vectors, always the same for the same mnemonics and seed.
///
/// Each line of the manual's syntax comes once before any line comes twice, and then each
/// combination of modifiers once before any comes twice. Early vectors show each deviation of ptxas
/// that a mnemonic has. In the first round of combinations, inputs are edge values and their
/// neighbours.
#[derive(Debug)]
pub struct Vectors {
    shapes: Vec<Shape>,
    /// The shapes left in this round.
    queue: VecDeque<usize>,
    /// The vectors that show deviations, by shape.
    shown: Vec<Option<Vector>>,
    /// The mistakes that vectors of a shape have shown.
    seen: Vec<HashSet<Kind>>,
    round: usize,
    random: Random,
}

impl Vectors {
    /// The sequence for some mnemonics, or for all if there are none. Their order does not
    /// matter.
    pub fn new(mnemonics: &[Mnemonic], seed: u64) -> Vectors {
        let is_chosen = |it: &Mnemonic| mnemonics.is_empty() || mnemonics.contains(it);
        let chosen = Mnemonic::ALL.iter().copied().filter(is_chosen);
        let shapes: Vec<Shape> = chosen.flat_map(shapes::of).collect();
        let mut vectors = Vectors {
            shown: vec![None; shapes.len()],
            seen: vec![HashSet::new(); shapes.len()],
            queue: VecDeque::with_capacity(shapes.len()),
            shapes,
            round: 0,
            random: Random(seed),
        };
        vectors.show_deviations();
        vectors.order();
        vectors
    }

    /// How many different shapes there are: lines of the manual's syntax with a mnemonic and a
    /// combination of modifiers.
    pub fn shapes(&self) -> usize {
        self.shapes.len()
    }

    /// Finds a vector for each deviation of each mnemonic.
    fn show_deviations(&mut self) {
        let mut done = Vec::new();
        for at in 0..self.shapes.len() {
            let shape = &self.shapes[at];
            let missing = |it: &Deviation| !done.contains(&(shape.mnemonic, *it));
            let wanted: Vec<Deviation> = video::deviations(shape.mnemonic.family())
                .iter()
                .copied()
                .filter(missing)
                .collect();
            let witness = wanted.iter().find_map(|&deviation| {
                let instruction = shape.build(&Operands::plain(shape, deviation))?;
                let Agreement::Differs(witness) = instruction.agreement(Semantics::Ptxas12) else {
                    return None;
                };
                let vector = Vector::new(instruction, [witness.a, witness.b, witness.c]);
                vector.deviations.contains(&deviation).then_some(vector)
            });
            if let Some(vector) = witness {
                done.extend(vector.deviations.iter().map(|it| (shape.mnemonic, *it)));
                self.shown[at] = Some(vector);
            }
        }
    }

    /// Puts the shapes of the first round in order: one shape for each line, if possible one that
    /// shows a deviation; then the other shapes that show deviations; then the rest.
    fn order(&mut self) {
        let mut first: Vec<usize> = Vec::new();
        let count = self.shapes.len();
        let mut at = 0;
        while at < count {
            let end = (at..count).find(|&it| !self.shapes[it].is_like(&self.shapes[at]));
            let line = at..end.unwrap_or(count);
            at = line.end;
            let shows = line.clone().find(|&it| self.shown[it].is_some());
            first.push(shows.unwrap_or_else(|| line.start + self.random.below(line.len())));
        }
        first.extend((0..count).filter(|&it| self.shown[it].is_some()));
        first.extend(0..count);
        let mut seen = vec![false; count];
        first.retain(|&it| !std::mem::replace(&mut seen[it], true));
        self.queue = first.into();
    }

    fn next_round(&mut self) {
        self.round += 1;
        self.queue.extend(0..self.shapes.len());
    }
}

impl Iterator for Vectors {
    type Item = Vector;

    fn next(&mut self) -> Option<Vector> {
        if self.queue.is_empty() {
            self.next_round();
        }
        let at = self.queue.pop_front()?;
        if let Some(vector) = self.shown[at].take() {
            return Some(vector);
        }
        let shape = &self.shapes[at];
        let (words, operands) = match self.round {
            0 => (InputPool::Edges, Operands::first(shape, &mut self.random)),
            _ => (InputPool::Mixed, Operands::any(shape, &mut self.random)),
        };
        let instruction = shape.build(&operands)?;
        // The semantics take turns where they differ.
        let own = Semantics::ALL[self.round % Semantics::ALL.len()];
        let (seen, random) = (&mut self.seen[at], &mut self.random);
        let inputs = inputs::telling(shape, &instruction, own, words, seen, random);
        Some(Vector::new(instruction, inputs))
    }
}
