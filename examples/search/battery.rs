//! Inputs with which sequences are tried.

use vptx::backend::ptx::Sequence;
use vptx::ir::Program;

use crate::support::random::Random;

/// The number of inputs that distinguish values.
pub(crate) const TESTS: usize = 32;

/// The number of inputs with which a sequence is tried when it is found.
const TRIALS: usize = 20_000;

/// The values of a word for the inputs of a battery.
pub(crate) type Row = [u32; TESTS];

pub(crate) struct Battery {
    /// The sources `a`, `b` and `c`.
    pub(crate) inputs: [Row; 3],
    /// The new `d`.
    pub(crate) wanted: Row,
}

impl Battery {
    /// The battery for a program. Sources that are one register share a word: `places` gives its
    /// index.
    pub(crate) fn new(program: &Program, places: [usize; 3]) -> Battery {
        let mut battery = Battery { inputs: [[0; TESTS]; 3], wanted: [0; TESTS] };
        let mut random = Random(TESTS as u64);
        for at in 0..TESTS {
            let [a, b, c] = words(&mut random, places);
            for (row, word) in battery.inputs.iter_mut().zip([a, b, c]) {
                row[at] = word;
            }
            battery.wanted[at] = program.eval(a, b, c);
        }
        battery
    }
}

/// Whether a sequence computes the results of a program for many inputs.
pub(crate) fn agrees(program: &Program, sequence: &Sequence, places: [usize; 3]) -> bool {
    let mut random = Random(TRIALS as u64);
    (0..TRIALS).all(|_| {
        let [a, b, c] = words(&mut random, places);
        program.eval(a, b, c) == sequence.eval(a, b, c)
    })
}

fn words(random: &mut Random, places: [usize; 3]) -> [u32; 3] {
    let mut words = [(); 3].map(|()| word(random));
    if random.one_in(4) {
        // The words have equal or nearly equal parts.
        let turned = words[0].rotate_left(8 * random.below(4) as u32);
        words[1] = turned ^ [0, 0, 0x0001_0100, 0x8000_0080][random.below(4)];
    }
    places.map(|place| words[place])
}

fn word(random: &mut Random) -> u32 {
    match random.below(8) {
        0 => *random.pick(&[0, 1, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff]),
        1 => random.below(40) as u32,
        2 | 3 => u32::from_le_bytes([(); 4].map(|()| *random.pick(&[0, 1, 0x7f, 0x80, 0xff]))),
        _ => random.next() as u32,
    }
}
