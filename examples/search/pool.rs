//! The constants that may occur in sequences for an instruction.

use vptx::Instruction;
use vptx::backend::ptx::{Arg, Gate, Opcode, candidates};
use vptx::ir::{Input, Op, Program, Value};
use vptx::video::Semantics;

/// Constants, grouped by their use.
#[derive(Debug, Default)]
pub(crate) struct Pool {
    /// Amounts of shifts.
    pub(crate) shifts: Vec<u32>,
    /// Selectors for a `prmt` of one word and zero.
    pub(crate) selectors: Vec<u32>,
    /// Selectors for a `prmt` of two words.
    pub(crate) joins: Vec<u32>,
    /// Masks for words.
    pub(crate) masks: Vec<u32>,
    /// Masks that have the same bits in each lane.
    pub(crate) lanes: Vec<u32>,
    /// Summands.
    pub(crate) summands: Vec<u32>,
    /// Limits of minima and maxima, and words to compare with.
    pub(crate) limits: Vec<u32>,
    /// Factors.
    pub(crate) factors: Vec<u32>,
    /// Weights of `dp4a` and `dp2a`.
    pub(crate) weights: Vec<u32>,
}

/// A part of a source: bytes `first..first + count`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Bytes {
    first: u32,
    count: u32,
}

impl Pool {
    pub(crate) fn new(instruction: &Instruction, program: &Program) -> Pool {
        let mut pool = Pool {
            shifts: vec![8, 16, 24, 31],
            summands: vec![1, u32::MAX, 0x100, 0x1_0000, 0x100_0000, 0xff_ffff, 0xffff],
            limits: vec![0],
            factors: vec![0x1_0001, 0xffff_0001, 0xffff_ff00, 0xffff_0000, 0xff00_0000, u32::MAX],
            ..Pool::default()
        };
        pool.add_parts(program);
        pool.add_steps(program);
        pool.add_known(instruction);
        pool.limits.push(1);
        for list in [
            &mut pool.shifts,
            &mut pool.selectors,
            &mut pool.joins,
            &mut pool.masks,
            &mut pool.summands,
            &mut pool.limits,
            &mut pool.factors,
            &mut pool.weights,
        ] {
            list.sort_unstable();
            list.dedup();
        }
        pool
    }

    /// Adds selectors and masks for the parts of sources.
    fn add_parts(&mut self, program: &Program) {
        let (mut parts, mut count) = (Vec::new(), 0);
        for step in program.steps() {
            if let Op::Extract { value, low, width, .. } = step.op
                && matches!(program.steps()[value.index()].op, Op::Input(_))
                && low % 8 == 0
                && width % 8 == 0
                && width < 32
            {
                let part = Bytes { first: u32::from(low / 8), count: u32::from(width / 8) };
                count += 1;
                if !parts.contains(&part) {
                    parts.push(part);
                }
            }
        }
        for part in &parts {
            self.masks.extend([part.mask(), !part.mask()]);
            for at in 0..=4 - part.count {
                let zeros = part.selector(at, |_| 4);
                let sign = (part.first + part.count - 1) | 8;
                let signed = part.selector(at, |byte| if byte < at { 4 } else { sign });
                self.selectors.extend([zeros, signed]);
            }
            for other in &parts {
                self.joins.extend(part.beside(*other));
            }
        }
        // A scalar instruction reads at most two parts, so this is a SIMD instruction.
        if count > 2 {
            self.add_lanes(8 * parts[0].count);
        }
    }

    /// Adds masks of the top bits of lanes, of their lowest bits, and of the lowest bits of all
    /// lanes but the first.
    fn add_lanes(&mut self, bits: u32) {
        let lowest = (0..32).step_by(bits as usize).fold(0, |all, at| all | 1 << at);
        let top = lowest << (bits - 1);
        self.lanes = vec![top, !top, lowest, !lowest, lowest & !1];
        self.masks.extend(&self.lanes);
    }

    /// Adds the limits, shifts and bit positions of the program.
    fn add_steps(&mut self, program: &Program) {
        let constant = |value: Value| match program.steps()[value.index()].op {
            Op::Constant(value) => Some(value as u32),
            _ => None,
        };
        for step in program.steps() {
            match step.op {
                Op::Constant(value) => self.limits.push(value as u32),
                Op::Clamp(_, range) => {
                    let ends = [range.min as u32, range.max as u32];
                    self.limits.extend(ends);
                    // The same limits, shifted to the top of a word.
                    let shift = ends[1].leading_zeros();
                    self.limits.extend([ends[0] << shift, ends[1] << shift | ((1 << shift) - 1)]);
                }
                Op::Insert { low, width, .. } => {
                    let mask = ((1 << width) - 1) << low;
                    self.masks.extend([mask, !mask]);
                }
                Op::Shr(_, amount) | Op::Shl(_, amount) => {
                    self.shifts.extend(constant(amount).filter(|by| (1..32).contains(by)));
                }
                _ => {}
            }
        }
    }

    /// Adds the constants of the sequences that vptx already has.
    fn add_known(&mut self, instruction: &Instruction) {
        for (_, sequence) in candidates(instruction, Semantics::CURRENT, Gate::ANY) {
            for line in sequence.lines() {
                let words = line.args().iter().map(|arg| match arg {
                    Arg::Constant(value) => Some(*value as u32),
                    Arg::Input(_) | Arg::Register(_) | Arg::Line(_) => None,
                });
                let words: Vec<Option<u32>> = words.collect();
                for word in words.iter().flatten() {
                    match line.opcode {
                        Opcode::And | Opcode::Or | Opcode::Xor | Opcode::Lop3(_) => {
                            self.masks.push(*word);
                        }
                        Opcode::Add | Opcode::Sub => self.summands.push(*word),
                        Opcode::Min(_) | Opcode::Max(_) | Opcode::Set(..) => {
                            self.limits.push(*word);
                        }
                        Opcode::Mul | Opcode::Mad => self.factors.push(*word),
                        Opcode::Dot4(..) | Opcode::Dot2(..) | Opcode::Dot2High(..) => {
                            self.weights.push(*word);
                        }
                        _ => {}
                    }
                }
                if let (Opcode::Permute, [_, second, Some(selector)]) = (line.opcode, &words[..]) {
                    let one_word = second.is_some() || line.args()[0] == line.args()[1];
                    let list = if one_word { &mut self.selectors } else { &mut self.joins };
                    list.push(*selector);
                }
            }
        }
    }
}

impl Bytes {
    fn mask(self) -> u32 {
        (u32::MAX >> (32 - 8 * self.count)) << (8 * self.first)
    }

    /// A selector that puts the part at byte `at` of the result, and takes the other bytes from
    /// `other`.
    fn selector(self, at: u32, other: impl Fn(u32) -> u32) -> u32 {
        (0..4).fold(0, |all, byte| {
            let own = (at..at + self.count).contains(&byte);
            let nibble = if own { self.first + byte - at } else { other(byte) };
            all | nibble << (4 * byte)
        })
    }

    /// Selectors that put this part of the first word into one half, and a part of the second word
    /// into the other half. Parts of one byte are extended with their sign.
    fn beside(self, second: Bytes) -> [u32; 2] {
        let sign = |part: Bytes, base: u32| (base + part.first + part.count - 1) | 8;
        let half = |part: Bytes, base: u32| {
            let upper = if part.count > 1 { base + part.first + 1 } else { sign(part, base) };
            (base + part.first) | upper << 4
        };
        let (one, other) = (half(self, 0), half(second, 4));
        [one | other << 8, other | one << 8]
    }
}

/// The sources that a program reads, without repeated registers.
pub(crate) fn sources(program: &Program, places: [usize; 3]) -> Vec<Input> {
    let read = |at: usize| {
        let uses = |other: &usize| places[*other] == at && program.reads(Input::ALL[*other]);
        (0..3).any(|other| uses(&other))
    };
    (0..3).filter(|at| places[*at] == *at && read(*at)).map(|at| Input::ALL[at]).collect()
}
