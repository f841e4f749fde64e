//! Video instructions as ordinary PTX.
//!
//! Several strategies give sequences that compute what an instruction means under one
//! [`Semantics`]. [`Instruction::to_ptx`] writes the cheapest sequence, and [`rewrite()`] replaces
//! the instructions of a whole module where the sequence is cheaper than what ptxas itself makes of
//! the instruction.
//!
//! ```
//! use vptx::backend::ptx::RewriteOptions;
//!
//! let text = "
//! .version 8.0
//! .target sm_90
//! .func f(.reg .b32 d, .reg .b32 a, .reg .b32 b) { vmin2.s32.s32.s32 d, a, b, d; }";
//! let (module, _) = vptx::parse(text);
//! let rewritten = vptx::rewrite(&module, &RewriteOptions::default())?;
//! let cost = rewritten.changes[0].cost.expect("it was measured");
//! assert_eq!((cost.ptxas, cost.rewritten), (9, 1));
//! # Ok::<(), vptx::backend::ptx::RewriteError>(())
//! ```

// Words are bit patterns, so casts take their low bits.
#![allow(clippy::cast_sign_loss, clippy::cast_possible_wrap, clippy::cast_lossless)]

mod cost;
mod emit;
mod facts;
mod half;
mod lanes;
mod module;
mod native;
mod opcode;
mod pairs;
mod parallel;
mod read;
mod region;
mod sequence;
mod straight;
mod words;

use std::fmt;

use crate::ir::{Input, Range};
use crate::isa::{Feature, Features, PtxVersion, Target};
use crate::video::{
    Arithmetic, Instruction, Operand, Operation, Semantics, Set, Shift, Source, Tail,
};

pub use cost::Cost;
#[doc(hidden)]
#[cfg(all(feature = "costs-apart", target_family = "wasm"))]
pub use cost::load_costs;
pub(crate) use cost::{Aim, is_better_kept};
#[doc(hidden)]
pub use cost::{KINDS, class};
pub(crate) use cost::{cheaper_on_all, cheapest, cost_of};
pub use emit::{FreshRegisters, Unavailable};
pub use lanes::Group;
pub(crate) use module::choose;
pub(crate) use module::{BlockWriter, Region, Regions, gate, machine_instructions};
pub use module::{Change, Outcome, RewriteError, RewriteOptions, Rewritten, rewrite};
pub(crate) use module::{Decision, FormOutcome, NoTarget, Rewriter, Visited};
pub use region::Fusion;
#[doc(hidden)]
pub use sequence::{Arg, Builder, Line, Opcode};
pub use sequence::{Class, Sequence};

/// The range of a source that is 0.
const ZERO: Range = Range::new(0, 0);

/// A way to compute a video instruction with ordinary ones.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Strategy(u8);

// A strategy that computes one value after the other has the next bits. They are choices that no
// range decides: the cheaper one depends on the target.
/// Absolute differences by subtraction, not by `sad`.
const SUBTRACT: u8 = 1;
/// Sums and products of bytes and halves by `dp4a` and `dp2a`.
const DOT: u8 = 2;
/// Clamping to bytes and halves by `cvt.pack`.
const PACK: u8 = 4;
/// Clamping of 64 bits by `min` and `max`, not by parts.
const WIDE: u8 = 8;
/// The number of strategies that compute one value after the other.
const WORDS: u8 = 16;
/// Saturating differences of words by limits on the first word, which neighbours share. This has no
/// number in the table.
const LIMITS: u8 = 32;
/// The bit of a strategy that computes all lanes at once, which has the bits below.
const PARALLEL: u8 = 64;
/// Sums, minima and maxima of halves (`sm_90`).
const HALVES: u8 = 1;
/// `vabsdiff4` with unsigned results, a machine instruction before `sm_120`.
const ABSDIFF: u8 = 2;
/// The number of strategies that compute all lanes at once.
const MEANS: u8 = 4;
/// Limits on the halves of the first operand, which follow from those of the second. Only limits
/// that neighbours share use it, so `MEANS` leaves it out.
const SHARED: u8 = 4;
/// The strategy that computes two lanes of bytes at a time.
const PAIRS: u8 = 96;
/// The strategy that computes all lanes at once with instructions on bytes.
const NATIVE: u8 = 97;

impl Strategy {
    /// Every strategy.
    pub fn all() -> impl Iterator<Item = Strategy> {
        Strategy::words().chain((PARALLEL..PARALLEL + MEANS).chain([PAIRS, NATIVE]).map(Strategy))
    }

    /// The strategies that compute one value after the other.
    fn words() -> impl Iterator<Item = Strategy> {
        (0..WORDS).map(Strategy)
    }

    /// The same strategy with limits that neighbours share.
    #[must_use]
    pub fn sharing(self, is_simd: bool) -> Strategy {
        Strategy(if is_simd { PARALLEL | HALVES | SHARED } else { self.0 | LIMITS })
    }

    /// The number in the table of costs.
    pub const fn number(self) -> u8 {
        self.0
    }

    /// Whether it has one of the bits above.
    fn has(self, bit: u8) -> bool {
        self.0 & bit != 0
    }

    pub(crate) fn from_number(number: u8) -> Option<Strategy> {
        Strategy::all().find(|strategy| strategy.0 == number)
    }

    /// The sequence for an instruction under a semantics, if the strategy has one that
    /// the gate admits.
    pub fn sequence(
        self,
        instruction: &Instruction,
        semantics: Semantics,
        gate: Gate,
    ) -> Option<Sequence> {
        self.sequence_within(instruction, [None; 3], semantics, gate)
    }

    /// The same for sources that lie in ranges. Strategies for all lanes at once use a range only
    /// if it has nothing but 0.
    pub fn sequence_within(
        self,
        instruction: &Instruction,
        ranges: [Option<Range>; 3],
        semantics: Semantics,
        gate: Gate,
    ) -> Option<Sequence> {
        // This strategy has sequences for other targets, too, but their costs were not measured.
        if self.0 == NATIVE && !gate.has(Opcode::Add4.needs()) {
            return None;
        }
        self.compile(instruction, ranges, semantics).filter(|sequence| gate.admits(sequence))
    }

    fn compile(
        self,
        instruction: &Instruction,
        ranges: [Option<Range>; 3],
        semantics: Semantics,
    ) -> Option<Sequence> {
        let mut inputs = inputs(instruction);
        if self.0 >= PARALLEL {
            for (input, range) in inputs.iter_mut().zip(ranges) {
                if range == Some(ZERO) {
                    *input = Arg::Constant(0);
                }
            }
            if self.0 == PAIRS {
                return pairs::compile(&instruction.operation, inputs);
            }
            if self.0 == NATIVE {
                let alone = region::alone(instruction, semantics);
                return native::compile(&alone.as_ref().unwrap_or(instruction).operation, inputs);
            }
            return parallel::compile(&instruction.operation, inputs, self);
        }
        let mut program = instruction.lower(semantics);
        if ranges.iter().any(Option::is_some) {
            program = program.within(ranges);
        }
        words::compile(&program, inputs, self)
    }
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == PAIRS {
            return f.write_str("pairs");
        }
        if self.0 == NATIVE {
            return f.write_str("native");
        }
        let (base, names): (_, &[(u8, &str)]) = if self.0 >= PARALLEL {
            ("parallel", &[(HALVES, "16x2"), (ABSDIFF, "vabsdiff4")])
        } else {
            ("words", &[(SUBTRACT, "subtract"), (DOT, "dot"), (PACK, "pack"), (WIDE, "wide")])
        };
        f.write_str(base)?;
        let chosen = names.iter().filter(|(bit, _)| self.has(*bit));
        chosen.map(|(_, name)| name).try_for_each(|name| write!(f, "+{name}"))
    }
}

/// The values that a sequence reads for each source: constants are known, and
/// a register in two places is read as one value.
fn inputs(instruction: &Instruction) -> [Arg; 3] {
    let sources = instruction.sources();
    let constants = constants(&instruction.operation);
    [0, 1, 2].map(|at| {
        if let Some(value) = constants[at] {
            return Arg::Constant(value.into());
        }
        let first = (0..at).find(|&first| sources[at].is_some() && sources[first] == sources[at]);
        Arg::Input(Input::ALL[first.unwrap_or(at)])
    })
}

impl Instruction {
    /// Whether a source is a constant.
    pub fn has_constants(&self) -> bool {
        constants(&self.operation).iter().any(Option::is_some)
    }
}

/// The constants in the places `a`, `b`, `c`.
pub(super) fn constants(operation: &Operation) -> [Option<u32>; 3] {
    let source = |source: &Source| match source {
        Source::Immediate(immediate) => Some(immediate.value()),
        Source::Register { .. } => None,
    };
    let operand = |operand: &Operand| match operand {
        Operand::Immediate(immediate) => Some(immediate.value()),
        Operand::Register(_) => None,
    };
    let third = |tail: &Tail| match tail {
        Tail::Word => None,
        Tail::Secondary { c, .. } | Tail::Merge { c, .. } => operand(c),
    };
    match operation {
        Operation::Arithmetic(Arithmetic { operands, .. })
        | Operation::Shift(Shift { operands, .. })
        | Operation::Set(Set { operands, .. }) => {
            [source(&operands.a), source(&operands.b), third(&operands.tail)]
        }
        Operation::MultiplyAdd(it) => {
            let parts = it.parts();
            [source(&parts.a), source(&parts.b), operand(&parts.c)]
        }
        Operation::SimdArithmetic(_) | Operation::SimdSet(_) => [None; 3],
    }
}

/// The instructions that the text of a module may use: those of its own `.target` and
/// `.version`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[doc(hidden)]
pub struct Gate {
    features: Features,
    version: Option<PtxVersion>,
}

impl Gate {
    /// The instructions of all targets and PTX versions.
    pub const ANY: Gate = Gate { features: Features::ALL, version: None };

    /// The instructions that a target has in a PTX version, or in any version if none is given.
    /// Those on halves are left out if ptxas emulates them.
    pub fn new(target: Target, version: Option<PtxVersion>) -> Gate {
        Gate { features: Features::of(target).without_emulated_halves(), version }
    }

    fn admits(self, sequence: &Sequence) -> bool {
        sequence.lines().iter().all(|line| self.has(line.opcode.needs()))
    }

    /// Whether the text may use a feature, and its GPU has it.
    fn has(self, feature: Feature) -> bool {
        let is_known = self.version.is_none_or(|own| feature.since() <= Some(own));
        is_known && self.features.has(feature)
    }
}

/// All different sequences that compute an instruction under a semantics, each with the
/// first strategy that gives it.
#[doc(hidden)]
pub fn candidates(
    instruction: &Instruction,
    semantics: Semantics,
    gate: Gate,
) -> Vec<(Strategy, Sequence)> {
    let mut found: Vec<(Strategy, Sequence)> = Vec::new();
    for strategy in Strategy::all() {
        if let Some(sequence) = strategy.sequence(instruction, semantics, gate)
            && found.iter().all(|(_, other)| *other != sequence)
        {
            found.push((strategy, sequence));
        }
    }
    found
}
