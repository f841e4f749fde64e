//! Throughput of `Program::eval_batch` beside loops written by hand.
//!
//! With `VPTX_RATIOS` set, both sides of each pair are timed in turns, and a
//! table of their ratios is printed instead.

use std::array::from_fn;
use std::fmt;
use std::time::Instant;

use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use vptx::Instruction;
use vptx::ir::{Program, Semantics};

/// Words in a column, a multiple of [`BLOCK`].
const WORDS: u32 = 16 * 1024;
const LENGTH: usize = WORDS as usize;

/// Turns of a pair; the best one counts.
const ROUNDS: usize = 200;

/// Runs of one side in a turn.
const RUNS: u32 = 4;

type Loop = fn(&[u32], &[u32], &[u32], &mut [u32]);

/// An instruction and what it computes, written by hand.
#[derive(Clone, Copy)]
struct Pair {
    text: &'static str,
    by_hand: Loop,
}

impl fmt::Display for Pair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.text)
    }
}

/// The loop that all have in common; inlined, so that each is one of its own.
#[inline(always)]
#[expect(clippy::inline_always, reason = "one loop for each operation")]
fn map([a, b, c]: [&[u32]; 3], d: &mut [u32], f: impl Fn(u32, u32, u32) -> u32) {
    for (((d, &a), &b), &c) in d.iter_mut().zip(a).zip(b).zip(c) {
        *d = f(a, b, c);
    }
}

/// The same for operations without `c`.
#[inline(always)]
#[expect(clippy::inline_always, reason = "one loop for each operation")]
fn map2([a, b]: [&[u32]; 2], d: &mut [u32], f: impl Fn(u32, u32) -> u32) {
    for ((d, &a), &b) in d.iter_mut().zip(a).zip(b) {
        *d = f(a, b);
    }
}

/// Words that are taken apart together, so that all their lanes make a vector.
const BLOCK: usize = 16;

/// Blocks of words, lane by lane; then each word's lanes are joined with `c`.
#[inline(always)]
#[expect(clippy::inline_always, reason = "one loop for each operation")]
fn lanes<T: Copy, const LANES: usize>(
    [a, b, c]: [&[u32]; 3],
    d: &mut [u32],
    split: impl Fn(u32) -> [T; LANES],
    f: impl Fn(T, T) -> T,
    join: impl Fn([T; LANES], u32) -> u32,
) {
    let [a, b, c] = [a, b, c].map(|column| column.as_chunks::<BLOCK>().0);
    for (((d, a), b), c) in d.as_chunks_mut::<BLOCK>().0.iter_mut().zip(a).zip(b).zip(c) {
        let (mut a, b) = (a.map(&split), b.map(&split));
        for (a, &b) in a.as_flattened_mut().iter_mut().zip(b.as_flattened()) {
            *a = f(*a, b);
        }
        *d = from_fn(|word| join(a[word], c[word]));
    }
}

/// Two signed lanes.
fn split_halves(word: u32) -> [i16; 2] {
    [word as i16, (word >> 16) as i16]
}

fn join_halves(lanes: [i16; 2], _: u32) -> u32 {
    let [low, high] = lanes.map(|half| u32::from(half.cast_unsigned()));
    high << 16 | low
}

const PAIRS: [Pair; 14] = [
    Pair {
        text: "vadd.s32.s32.s32.sat d, a, b",
        by_hand: |a, b, _, d| {
            map2([a, b], d, |a, b| a.cast_signed().saturating_add(b.cast_signed()).cast_unsigned());
        },
    },
    Pair {
        text: "vabsdiff.u32.s32.s32.sat d.b2, a.h0, b.b3, c",
        by_hand: |a, b, c, d| {
            map([a, b, c], d, |a, b, c| {
                let (a, b) = (i32::from(a as i16), b.cast_signed() >> 24);
                (c & 0xff00_ffff) | (a - b).abs().min(0xff).cast_unsigned() << 16
            });
        },
    },
    Pair {
        text: "vmax.s32.u32.s32.add d, a.h1, b, c",
        by_hand: |a, b, c, d| {
            map([a, b, c], d, |a, b, c| {
                let (a, b) = ((a >> 16).cast_signed(), b.cast_signed());
                a.max(b).cast_unsigned().wrapping_add(c)
            });
        },
    },
    Pair {
        text: "vshl.u32.u32.u32.clamp d, a, b",
        by_hand: |a, b, _, d| {
            map2([a, b], d, |a, b| if b < 32 { a << b } else { 0 });
        },
    },
    Pair {
        text: "vshr.s32.s32.u32.wrap.add d, a, b.b1, c",
        by_hand: |a, b, c, d| {
            map([a, b, c], d, |a, b, c| {
                (a.cast_signed() >> (b >> 8 & 31)).cast_unsigned().wrapping_add(c)
            });
        },
    },
    Pair {
        text: "vmad.s32.s32.s32.sat.shr7 d, a.h0, b, c",
        by_hand: |a, b, c, d| {
            map([a, b, c], d, |a, b, c| {
                let [a, b, c] =
                    [i64::from(a as i16), b.cast_signed().into(), c.cast_signed().into()];
                let scaled = (a * b + c) >> 7;
                (scaled.clamp(i32::MIN.into(), i32::MAX.into()) as i32).cast_unsigned()
            });
        },
    },
    Pair {
        text: "vmad.u32.u32.u32 d, a, b, c",
        by_hand: |a, b, c, d| {
            map([a, b, c], d, |a, b, c| a.wrapping_mul(b).wrapping_add(c));
        },
    },
    Pair {
        text: "vset.s32.s32.lt.add d, a, b, c",
        by_hand: |a, b, c, d| {
            map([a, b, c], d, |a, b, c| {
                u32::from(a.cast_signed() < b.cast_signed()).wrapping_add(c)
            });
        },
    },
    Pair {
        text: "vavrg2.s32.s32.s32 d, a, b, c",
        by_hand: |a, b, _, d| {
            map2([a, b], d, |a, b| {
                let average = |a: i32, b: i32| (a + b + i32::from(a + b >= 0)) >> 1;
                let low = average((a as i16).into(), (b as i16).into());
                let high = average(a.cast_signed() >> 16, b.cast_signed() >> 16);
                high.cast_unsigned() << 16 | (low.cast_unsigned() & 0xffff)
            });
        },
    },
    Pair {
        text: "vmin2.s32.s32.s32 d, a, b, c",
        by_hand: |a, b, c, d| lanes([a, b, c], d, split_halves, i16::min, join_halves),
    },
    Pair {
        text: "vset2.s32.s32.ge.add d, a, b, c",
        by_hand: |a, b, c, d| {
            map([a, b, c], d, |a, b, c| {
                let low = a as i16 >= b as i16;
                let high = a.cast_signed() >> 16 >= b.cast_signed() >> 16;
                c.wrapping_add(u32::from(low) + u32::from(high))
            });
        },
    },
    Pair {
        text: "vadd4.u32.u32.u32.sat d, a, b, c",
        by_hand: |a, b, c, d| {
            let join = |lanes, _| u32::from_le_bytes(lanes);
            lanes([a, b, c], d, u32::to_le_bytes, u8::saturating_add, join);
        },
    },
    Pair {
        text: "vabsdiff4.u32.u32.u32.add d, a, b, c",
        by_hand: |a, b, c, d| {
            let sum = |lanes, c: u32| {
                let word = u32::from_le_bytes(lanes);
                let pairs = (word & 0x00ff_00ff) + (word >> 8 & 0x00ff_00ff);
                c.wrapping_add((pairs & 0xffff) + (pairs >> 16))
            };
            lanes([a, b, c], d, u32::to_le_bytes, u8::abs_diff, sum);
        },
    },
    Pair {
        text: "vset4.s32.s32.lt d.b321, a, b, c",
        by_hand: |a, b, c, d| {
            let less = |a: u8, b: u8| u8::from(a.cast_signed() < b.cast_signed());
            let join = |lanes, c| (u32::from_le_bytes(lanes) & 0xffff_ff00) | (c & 0xff);
            lanes([a, b, c], d, u32::to_le_bytes, less, join);
        },
    },
];

/// The data that a pair is measured on.
struct Case {
    program: Program,
    by_hand: Loop,
    sources: [Vec<u32>; 3],
    d: Vec<u32>,
}

impl Case {
    /// Checks that both sides give what the interpreter gives.
    fn new(pair: Pair) -> Case {
        let instruction: Instruction = pair.text.parse().expect("an instruction");
        let program = instruction.lower(Semantics::Manual);
        let mut state = 1;
        let sources = from_fn(|_| (0..LENGTH).map(|_| word(&mut state)).collect());
        let mut case = Case { program, by_hand: pair.by_hand, sources, d: vec![0; LENGTH] };
        case.batch();
        let batch = case.d.clone();
        case.d.fill(0);
        case.by_hand();
        let [a, b, c] = &case.sources;
        for (at, (&batch, &by_hand)) in batch.iter().zip(&case.d).enumerate() {
            let expected = case.program.eval(a[at], b[at], c[at]);
            assert_eq!((batch, by_hand), (expected, expected), "{pair}, input {at}");
        }
        case
    }

    fn batch(&mut self) {
        let [a, b, c] = &self.sources;
        self.program.eval_batch(black_box(a), black_box(b), black_box(c), &mut self.d);
    }

    fn by_hand(&mut self) {
        let [a, b, c] = &self.sources;
        (self.by_hand)(black_box(a), black_box(b), black_box(c), &mut self.d);
    }

    /// Seconds that the best turn of each side took, for one run.
    fn times(&mut self) -> [f64; 2] {
        let mut best = [f64::INFINITY; 2];
        for _ in 0..ROUNDS {
            for (best, side) in best.iter_mut().zip([Case::batch, Case::by_hand]) {
                let start = Instant::now();
                for _ in 0..RUNS {
                    side(self);
                    black_box(&mut self.d);
                }
                *best = best.min(start.elapsed().as_secs_f64() / f64::from(RUNS));
            }
        }
        best
    }
}

/// A seeded word; shift amounts and small numbers are as likely as any.
fn word(state: &mut u64) -> u32 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    let word = (*state >> 32) as u32;
    // The kind comes from bits that the small numbers do not have.
    match word >> 30 {
        0 => word & 0x3f,
        1 => word & 0x7fff,
        _ => word.rotate_left(7),
    }
}

fn main() {
    if std::env::var_os("VPTX_RATIOS").is_some() {
        ratios();
    } else {
        divan::main();
    }
}

#[divan::bench(args = PAIRS)]
fn batch(bencher: Bencher<'_, '_>, pair: Pair) {
    let mut case = Case::new(pair);
    bencher.counter(ItemsCount::new(LENGTH)).bench_local(|| case.batch());
}

#[divan::bench(args = PAIRS)]
fn by_hand(bencher: Bencher<'_, '_>, pair: Pair) {
    let mut case = Case::new(pair);
    bencher.counter(ItemsCount::new(LENGTH)).bench_local(|| case.by_hand());
}

/// Prints the table of ratios.
fn ratios() {
    println!("| instruction | batch Melem/s | hand-written Melem/s | ratio |");
    println!("| --- | ---: | ---: | ---: |");
    let (mut logarithms, mut pairs) = (0.0, 0.0);
    for pair in PAIRS {
        let [batch, by_hand] = Case::new(pair).times().map(|time| f64::from(WORDS) / time / 1e6);
        let ratio = batch / by_hand;
        println!("| `{pair}` | {batch:.0} | {by_hand:.0} | {ratio:.3} |");
        logarithms += ratio.ln();
        pairs += 1.0;
    }
    let mean = f64::exp(logarithms / pairs);
    println!("| geometric mean | | | {mean:.3} |");
}
