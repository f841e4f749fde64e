//! Compares the meanings that two semantics give an instruction.

use super::deviation::Deviations;
use super::{Deviation, Instruction, Semantics};
use crate::ir::Program;

/// The outcome of comparing an instruction's meaning under ptxas with that under
/// the manual.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Agreement {
    /// The results are equal for all inputs: both meanings are one program.
    Proven,
    /// The results differ, for example on these inputs.
    Differs(Witness),
    /// The programs differ, but no inputs are known for which their results differ. This
    /// happens with constant operands, or with one register as several operands.
    Unknown,
}

/// Inputs on which an instruction's result under ptxas differs from the manual.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Witness {
    /// The word in `a`.
    pub a: u32,
    /// The word in `b`.
    pub b: u32,
    /// The word in `c`; 0 if there is no `c`.
    pub c: u32,
    /// The new `d` under the manual.
    pub manual: u32,
    /// The new `d` under ptxas.
    pub ptxas: u32,
    /// The deviations that cause the difference.
    pub causes: Vec<Deviation>,
}

/// Words at which the behaviour of programs changes.
pub(crate) const EDGES: [u32; 37] = [
    0,
    1,
    0xffff_ffff,
    0x8000_0000,
    0x7fff_ffff,
    0x80,
    0x7f,
    0xff,
    0x8000,
    0x7fff,
    0xffff,
    0x8080_8080,
    0x7f7f_7f7f,
    0x8000_7fff,
    0x7fff_8000,
    0xff00_ff00,
    0x00ff_00ff,
    0x0001_0000,
    0xffff_0000,
    0x8000_0001,
    0xffff_fffe,
    2,
    7,
    31,
    32,
    33,
    0x100,
    0x4000_0000,
    0xc000_0000,
    0x2000_0000,
    // Shift amounts in every part.
    0x1818_1818,
    0x0019_0019,
    0x0011_0011,
    0x1f1f_1f1f,
    0x0010_0010,
    0x2020_2020,
    0x0101_0101,
];

impl Instruction {
    /// Compares the meaning under a semantics of ptxas with the manual's meaning.
    ///
    /// Equal programs prove agreement. If the programs differ, a search tries edge values, then
    /// others; operands in the same register get the same value. A test shows that the search finds
    /// inputs for every form that has three different registers as operands.
    pub fn agreement(&self, semantics: Semantics) -> Agreement {
        let manual = self.lower(Semantics::Manual);
        let ptxas = self.lower(semantics);
        if manual == ptxas {
            return Agreement::Proven;
        }
        let Some([a, b, c]) = search(&manual, &ptxas, self.places()) else {
            return Agreement::Unknown;
        };
        let causes = self.causes(semantics, a, b, c);
        let (manual, ptxas) = (manual.eval(a, b, c), ptxas.eval(a, b, c));
        Agreement::Differs(Witness { a, b, c, manual, ptxas, causes })
    }

    /// The deviations that make the result under a semantics differ from the manual's on these
    /// inputs: those that change it on their own or, if there are none, those without which it
    /// would be another.
    pub fn causes(&self, semantics: Semantics, a: u32, b: u32, c: u32) -> Vec<Deviation> {
        let all = semantics.deviations();
        let result = |deviations| self.lower_with(deviations).eval(a, b, c);
        let (expected, found) = (result(Deviations::NONE), result(all));
        if expected == found {
            return Vec::new();
        }
        let present = || Deviation::ALL.iter().copied().filter(|deviation| all.has(*deviation));
        let alone = |deviation: &Deviation| result(Deviations::only(*deviation)) != expected;
        let needed = |deviation: &Deviation| result(all.without(*deviation)) != found;
        let causes: Vec<Deviation> = present().filter(alone).collect();
        if causes.is_empty() { present().filter(needed).collect() } else { causes }
    }

    /// The causes on these inputs under all semantics of ptxas, each once.
    pub(crate) fn all_causes(&self, a: u32, b: u32, c: u32) -> Vec<Deviation> {
        let mut causes = Semantics::PTXAS.map(|semantics| self.causes(semantics, a, b, c)).concat();
        causes.sort_unstable();
        causes.dedup();
        causes
    }

    /// For each of `a`, `b` and `c`, the place of the first source in the same register.
    fn places(&self) -> [usize; 3] {
        let sources = self.sources();
        [0, 1, 2].map(|at| {
            let same = |first: &usize| sources[at].is_some() && sources[*first] == sources[at];
            (0..at).find(same).unwrap_or(at)
        })
    }
}

/// Rounds of words that look random, after those of edges.
const RANDOM: usize = 256;

/// Inputs on which two programs differ.
fn search(left: &Program, right: &Program, places: [usize; 3]) -> Option<[u32; 3]> {
    let mut rotated = EDGES;
    let (mut d, mut e) = ([0; EDGES.len()], [0; EDGES.len()]);
    let mut differ_in = |words: [[u32; EDGES.len()]; 3]| {
        let [a, b, c] = places.map(|place| words[place]);
        left.eval_batch(&a, &b, &c, &mut d);
        right.eval_batch(&a, &b, &c, &mut e);
        let at = (0..EDGES.len()).find(|&at| d[at] != e[at])?;
        Some([a[at], b[at], c[at]])
    };
    // One rotation per round keeps rounds small, and the rounds cover all triples.
    for round in 0..EDGES.len() {
        rotated.rotate_left(usize::from(round > 0));
        for a in EDGES {
            if let Some(found) = differ_in([[a; EDGES.len()], EDGES, rotated]) {
                return Some(found);
            }
        }
    }
    let mut state = 1u64;
    let mut word = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 32) as u32
    };
    (0..RANDOM).find_map(|_| differ_in([(); 3].map(|()| EDGES.map(|_| word()))))
}
