//! Throughput of `Program::eval_batch`, compared with hand-written loops and with calls of
//! functions that emulate one instruction.
//!
//! If `VPTX_RATIOS` is set, all sides of each pair are timed in turn, and a table of their ratios
//! is printed instead.

// Words are bit patterns, so casts take their low bits.
#![allow(clippy::cast_sign_loss, clippy::cast_possible_wrap)]
// `&` of two `bool` values may compile to another loop than `&&`.
#![allow(clippy::needless_bitwise_bool)]

use std::array::from_fn;
use std::fmt;
use std::time::Instant;

use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use vptx::Instruction;
use vptx::ir::Program;
use vptx::video::Semantics;

/// The number of words in a column, a multiple of [`BLOCK`].
const WORDS: u32 = 16 * 1024;
const LENGTH: usize = WORDS as usize;

/// The number of turns for a pair; the best turn counts.
const ROUNDS: usize = 200;

/// The number of runs of one side in a turn.
const RUNS: u32 = 4;

type Loop = fn(&[u32], &[u32], &[u32], &mut [u32]);

/// An instruction, and hand-written functions that compute it.
#[derive(Clone, Copy)]
struct Pair {
    text: &'static str,
    /// Loops that the compiler vectorizes; the best one counts.
    by_hand: &'static [Loop],
    /// A function as C++ emulations have it: it is called for each word, and has a loop over lanes.
    one_call: Loop,
}

impl fmt::Display for Pair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.text)
    }
}

/// The loop of all hand-written functions. It is inlined, so that each function is compiled to a
/// separate loop.
#[inline(always)]
#[expect(clippy::inline_always, reason = "one loop for each operation")]
fn map([a, b, c]: [&[u32]; 3], d: &mut [u32], f: impl Fn(u32, u32, u32) -> u32) {
    for (((d, &a), &b), &c) in d.iter_mut().zip(a).zip(b).zip(c) {
        *d = f(a, b, c);
    }
}

/// A loop over whole words.
macro_rules! words {
    (|$a:pat_param, $b:pat_param, $c:pat_param| $body:expr) => {
        |a, b, c, d| map([a, b, c], d, |$a, $b, $c| $body)
    };
}

/// A loop over lanes. The arguments split a word, apply the operation to a lane, and join the lanes
/// with `c`.
macro_rules! lanes {
    ($split:expr, $f:expr, $join:expr) => {
        |a, b, c, d| lanes([a, b, c], d, $split, $f, $join)
    };
}

/// A loop of calls.
macro_rules! call {
    (|$a:pat_param, $b:pat_param, $c:pat_param| $body:expr) => {{
        #[inline(never)]
        fn call($a: u32, $b: u32, $c: u32) -> u32 {
            $body
        }
        |a, b, c, d| map([a, b, c], d, call)
    }};
}

/// The number of words that are split together, so that all their lanes make a vector.
const BLOCK: usize = 16;

/// Applies the operation to the lanes of a block of words, then joins the lanes of each word with
/// `c`.
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

/// Applies the operation to bytes. The bytes of each word in the first column are reversed.
#[inline(always)]
#[expect(clippy::inline_always, reason = "one loop for each operation")]
fn swapped([a, b, _]: [&[u32]; 3], d: &mut [u32], f: impl Fn(u8, u8) -> u8) {
    let [a, b] = [a, b].map(|column| column.as_chunks::<BLOCK>().0);
    for ((d, a), b) in d.as_chunks_mut::<BLOCK>().0.iter_mut().zip(a).zip(b) {
        let (mut a, b) = (a.map(|word| bytes(word.swap_bytes())), b.map(bytes));
        for (a, &b) in a.as_flattened_mut().iter_mut().zip(b.as_flattened()) {
            *a = f(*a, b);
        }
        *d = a.map(u32::from_le_bytes);
    }
}

fn bytes(word: u32) -> [u8; 4] {
    word.to_le_bytes()
}

fn signed_bytes(word: u32) -> [i8; 4] {
    word.to_le_bytes().map(u8::cast_signed)
}

fn halves(word: u32) -> [u16; 2] {
    [word as u16, (word >> 16) as u16]
}

fn signed_halves(word: u32) -> [i16; 2] {
    halves(word).map(u16::cast_signed)
}

fn of_bytes(lanes: [u8; 4], _: u32) -> u32 {
    u32::from_le_bytes(lanes)
}

fn of_signed_bytes(lanes: [i8; 4], c: u32) -> u32 {
    of_bytes(lanes.map(i8::cast_unsigned), c)
}

fn of_halves([low, high]: [u16; 2], _: u32) -> u32 {
    u32::from(high) << 16 | u32::from(low)
}

fn of_signed_halves(lanes: [i16; 2], c: u32) -> u32 {
    of_halves(lanes.map(i16::cast_unsigned), c)
}

/// The lanes of a mask from `word`, the other lanes from `c`.
fn merge(word: u32, mask: u32, c: u32) -> u32 {
    (word & mask) | (c & !mask)
}

fn sum_bytes(word: u32) -> u32 {
    let pairs = (word & 0x00ff_00ff) + (word >> 8 & 0x00ff_00ff);
    (pairs & 0xffff) + (pairs >> 16)
}

fn sum_signed_bytes(word: u32) -> u32 {
    sum_bytes(word ^ 0x8080_8080).wrapping_sub(0x200)
}

fn sum_halves(word: u32) -> u32 {
    (word & 0xffff) + (word >> 16)
}

fn sum_signed_halves(word: u32) -> u32 {
    (word as i16 as u32).wrapping_add((word as i32 >> 16) as u32)
}

/// Subtracts unsigned lanes of 16 or 8 bits. `top` has the top bit of each lane.
fn sub_lanes(a: u32, b: u32, top: u32) -> u32 {
    ((a | top) - (b & !top)) ^ ((a ^ !b) & top)
}

fn add_lanes(a: u32, b: u32, top: u32) -> u32 {
    ((a & !top) + (b & !top)) ^ ((a ^ b) & top)
}

/// Averages of unsigned lanes, rounded up. `rest` has all bits of each lane except the top bit.
fn average_lanes(a: u32, b: u32, rest: u32) -> u32 {
    (a | b) - ((a ^ b) >> 1 & rest)
}

// The building blocks of the emulations.

/// Some bits of a word, extended with zeros or the sign.
#[inline(always)]
#[expect(clippy::inline_always, reason = "a macro in the emulations")]
fn field(word: u32, low: u32, bits: u32, signed: bool) -> i64 {
    let field = i64::from(word >> low) & ((1 << bits) - 1);
    if signed && field >> (bits - 1) != 0 { field - (1 << bits) } else { field }
}

#[inline(always)]
#[expect(clippy::inline_always, reason = "a macro in the emulations")]
fn clamp(value: i64, bits: u32, signed: bool) -> i64 {
    let (min, max) =
        if signed { (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) } else { (0, (1 << bits) - 1) };
    if value < min {
        min
    } else if value > max {
        max
    } else {
        value
    }
}

#[inline(always)]
#[expect(clippy::inline_always, reason = "a macro in the emulations")]
fn insert(c: u32, value: i64, low: u32, bits: u32) -> u32 {
    let mask = ((1u64 << bits) - 1) as u32;
    (c & !(mask << low)) | (value as u32 & mask) << low
}

/// The types and selectors of a SIMD instruction. A selector has a digit for each lane.
struct Simd<const LANES: usize> {
    signed: [bool; 2],
    selectors: [[u32; LANES]; 2],
    /// The lanes that are written.
    mask: [bool; LANES],
    sum: bool,
}

const TWO: Simd<2> =
    Simd { signed: [false; 2], selectors: [[0, 1], [2, 3]], mask: [true; 2], sum: false };
const FOUR: Simd<4> = Simd {
    signed: [false; 2],
    selectors: [[0, 1, 2, 3], [4, 5, 6, 7]],
    mask: [true; 4],
    sum: false,
};

impl<const LANES: usize> Simd<LANES> {
    const fn signed(self) -> Self {
        Simd { signed: [true; 2], ..self }
    }

    const fn sum(self) -> Self {
        Simd { sum: true, ..self }
    }

    const fn mask(self, mask: [bool; LANES]) -> Self {
        Simd { mask, ..self }
    }

    /// Processes one lane after the other: extracts and extends its sources, applies the operation,
    /// and inserts the result or adds it.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "a macro in the emulations")]
    fn run(self, [a, b, c]: [u32; 3], f: impl Fn(i64, i64) -> i64) -> u32 {
        let bits = 32 / LANES as u32;
        let lane = |digit: u32, signed| {
            let word = if digit < LANES as u32 { a } else { b };
            field(word, digit % LANES as u32 * bits, bits, signed)
        };
        let mut d = c;
        for at in 0..LANES {
            if !self.mask[at] {
                continue;
            }
            let value = f(
                lane(self.selectors[0][at], self.signed[0]),
                lane(self.selectors[1][at], self.signed[1]),
            );
            d = if self.sum {
                d.wrapping_add(value as u32)
            } else {
                insert(d, value, at as u32 * bits, bits)
            };
        }
        d
    }
}

/// Half of the sum. A sum that is not negative is rounded up.
fn average(a: i64, b: i64) -> i64 {
    (a + b + i64::from(a + b >= 0)) >> 1
}

const PAIRS: &[Pair] = &[
    Pair {
        text: "vadd.s32.s32.s32.sat d, a, b",
        by_hand: &[words!(|a, b, _| (a as i32).saturating_add(b as i32) as u32)],
        one_call: call!(
            |a, b, _| clamp(field(a, 0, 32, true) + field(b, 0, 32, true), 32, true) as u32
        ),
    },
    Pair {
        text: "vadd.s32.u32.s32.sat d, a, b",
        by_hand: &[
            words!(|a, b, _| (b as i32).saturating_add_unsigned(a) as u32),
            words!(|a, b, _| (i64::from(a) + i64::from(b as i32)).min(0x7fff_ffff) as u32),
        ],
        one_call: call!(
            |a, b, _| clamp(field(a, 0, 32, false) + field(b, 0, 32, true), 32, true) as u32
        ),
    },
    Pair {
        text: "vadd.u32.u32.s32.sat.min d, a.b1, b.h0, c",
        by_hand: &[words!(|a, b, c| (((a >> 8 & 0xff) as i32 + i32::from(b as i16)).max(0)
            as u32)
            .min(c))],
        one_call: call!(|a, b, c| clamp(field(a, 8, 8, false) + field(b, 0, 16, true), 32, false)
            .min(c.into()) as u32),
    },
    Pair {
        text: "vsub.u32.u32.u32.sat d, a, b",
        by_hand: &[words!(|a, b, _| a.saturating_sub(b))],
        one_call: call!(
            |a, b, _| clamp(field(a, 0, 32, false) - field(b, 0, 32, false), 32, false) as u32
        ),
    },
    Pair {
        text: "vsub.s32.s32.s32.sat d.b1, a.b0, b.b0, c",
        by_hand: &[words!(|a, b, c| merge(
            ((i32::from(a as i8) - i32::from(b as i8)).clamp(-128, 127) as u32) << 8,
            0xff00,
            c
        ))],
        one_call: call!(|a, b, c| insert(
            c,
            clamp(field(a, 0, 8, true) - field(b, 0, 8, true), 8, true),
            8,
            8
        )),
    },
    Pair {
        text: "vsub.s32.s32.s32.max d, a, b.h1, c",
        by_hand: &[
            words!(|a, b, c| (i64::from(a as i32) - i64::from(b as i32 >> 16))
                .max((c as i32).into()) as u32),
            words!(|a, b, c| {
                let (a, b, c) = (a as i32, b as i32 >> 16, c as i32);
                let (difference, over) = a.overflowing_sub(b);
                // If the difference overflows, the exact difference is larger than `c` if and only
                // if `b` is negative.
                let larger = if over { b < 0 } else { difference > c };
                (if larger { difference } else { c }) as u32
            }),
        ],
        one_call: call!(|a, b, c| (field(a, 0, 32, true) - field(b, 16, 16, true))
            .max(field(c, 0, 32, true)) as u32),
    },
    Pair {
        text: "vabsdiff.u32.s32.s32.sat d.b2, a.h0, b.b3, c",
        by_hand: &[words!(|a, b, c| {
            let (a, b) = (i32::from(a as i16), b as i32 >> 24);
            merge(((a - b).abs().min(0xff) as u32) << 16, 0x00ff_0000, c)
        })],
        one_call: call!(|a, b, c| insert(
            c,
            clamp((field(a, 0, 16, true) - field(b, 24, 8, true)).abs(), 8, false),
            16,
            8
        )),
    },
    Pair {
        text: "vabsdiff.s32.u32.u32 d, a, b",
        by_hand: &[words!(|a, b, _| a.abs_diff(b))],
        one_call: call!(
            |a, b, _| (field(a, 0, 32, false) - field(b, 0, 32, false)).unsigned_abs() as u32
        ),
    },
    Pair {
        text: "vabsdiff.u32.s32.s32.add d, a, b.h1, c",
        by_hand: &[words!(|a, b, c| (a as i32).abs_diff(b as i32 >> 16).wrapping_add(c))],
        one_call: call!(|a, b, c| ((field(a, 0, 32, true) - field(b, 16, 16, true)).unsigned_abs()
            as u32)
            .wrapping_add(c)),
    },
    Pair {
        text: "vmin.s32.s32.s32 d, a, b",
        by_hand: &[words!(|a, b, _| (a as i32).min(b as i32) as u32)],
        one_call: call!(|a, b, _| field(a, 0, 32, true).min(field(b, 0, 32, true)) as u32),
    },
    Pair {
        text: "vmin.u32.u32.s32.sat.max d, a.b3, b.h1, c",
        by_hand: &[words!(|a, b, c| (((a >> 24) as i32).min(b as i32 >> 16).max(0) as u32).max(c))],
        one_call: call!(|a, b, c| clamp(
            field(a, 24, 8, false).min(field(b, 16, 16, true)),
            32,
            false
        )
        .max(c.into()) as u32),
    },
    Pair {
        text: "vmin.u32.u32.u32 d.h1, a.b0, b.h1, c",
        by_hand: &[
            words!(|a, b, c| (c & 0xffff) | (a & 0xff).min(b >> 16) << 16),
            words!(|a, b, c| (c & 0xffff)
                | ((a & 0xff) as i32).min((b >> 16) as i32).cast_unsigned() << 16),
        ],
        one_call: call!(|a, b, c| insert(
            c,
            field(a, 0, 8, false).min(field(b, 16, 16, false)),
            16,
            16
        )),
    },
    Pair {
        text: "vmax.s32.u32.s32.add d, a.h1, b, c",
        by_hand: &[words!(|a, b, c| (((a >> 16) as i32).max(b as i32) as u32).wrapping_add(c))],
        one_call: call!(
            |a, b, c| (field(a, 16, 16, false).max(field(b, 0, 32, true)) as u32).wrapping_add(c)
        ),
    },
    Pair {
        text: "vmax.u32.u32.u32.min d, a, b, c",
        by_hand: &[words!(|a, b, c| a.max(b).min(c))],
        one_call: call!(
            |a, b, c| field(a, 0, 32, false).max(field(b, 0, 32, false)).min(c.into()) as u32
        ),
    },
    Pair {
        text: "vmax.s32.s32.s32.sat d.b0, a, b, c",
        by_hand: &[words!(|a, b, c| merge(
            (a as i32).max(b as i32).clamp(-128, 127) as u32,
            0xff,
            c
        ))],
        one_call: call!(|a, b, c| insert(
            c,
            clamp(field(a, 0, 32, true).max(field(b, 0, 32, true)), 8, true),
            0,
            8
        )),
    },
    Pair {
        text: "vshl.u32.u32.u32.clamp d, a, b",
        by_hand: &[words!(|a, b, _| if b < 32 { a << b } else { 0 })],
        one_call: call!(|a, b, _| (field(a, 0, 32, false) << b.min(32)) as u32),
    },
    Pair {
        text: "vshl.u32.u32.u32.wrap.add d, a.h0, b, c",
        by_hand: &[words!(|a, b, c| ((a & 0xffff) << (b & 31)).wrapping_add(c))],
        one_call: call!(|a, b, c| ((field(a, 0, 16, false) << (b & 31)) as u32).wrapping_add(c)),
    },
    Pair {
        text: "vshl.s32.s32.u32.clamp d.h0, a, b.b2, c",
        by_hand: &[words!(|a, b, c| {
            let amount = b >> 16 & 0xff;
            merge(if amount < 32 { a << amount } else { 0 }, 0xffff, c)
        })],
        one_call: call!(|a, b, c| insert(
            c,
            field(a, 0, 32, true) << field(b, 16, 8, false).min(32),
            0,
            16
        )),
    },
    Pair {
        text: "vshr.s32.s32.u32.wrap.add d, a, b.b1, c",
        by_hand: &[words!(|a, b, c| ((a as i32 >> (b >> 8 & 31)) as u32).wrapping_add(c))],
        one_call: call!(|a, b, c| ((field(a, 0, 32, true) >> (b >> 8 & 31)) as u32).wrapping_add(c)),
    },
    Pair {
        text: "vshr.u32.u32.u32.clamp d, a, b",
        by_hand: &[words!(|a, b, _| if b < 32 { a >> b } else { 0 })],
        one_call: call!(|a, b, _| (field(a, 0, 32, false) >> b.min(32)) as u32),
    },
    Pair {
        text: "vshr.s32.s32.u32.sat.clamp d.b1, a.h1, b.b0, c",
        by_hand: &[words!(|a, b, c| {
            let shifted = a as i32 >> 16 >> (b & 0xff).min(31);
            merge((shifted.clamp(-128, 127) as u32) << 8, 0xff00, c)
        })],
        one_call: call!(|a, b, c| insert(
            c,
            clamp(field(a, 16, 16, true) >> (b & 0xff).min(32), 8, true),
            8,
            8
        )),
    },
    Pair {
        text: "vmad.s32.s32.s32.sat.shr7 d, a.h0, b, c",
        by_hand: &[words!(|a, b, c| {
            let product = i64::from(a as i16) * i64::from(b as i32);
            let scaled = (product + i64::from(c as i32)) >> 7;
            scaled.clamp(i32::MIN.into(), i32::MAX.into()) as u32
        })],
        one_call: call!(|a, b, c| clamp(
            (field(a, 0, 16, true) * field(b, 0, 32, true) + field(c, 0, 32, true)) >> 7,
            32,
            true
        ) as u32),
    },
    Pair {
        text: "vmad.u32.u32.u32 d, a, b, c",
        by_hand: &[words!(|a, b, c| a.wrapping_mul(b).wrapping_add(c))],
        one_call: call!(|a, b, c| (field(a, 0, 32, false) as u32).wrapping_mul(b).wrapping_add(c)),
    },
    Pair {
        text: "vmad.s32.s32.s32.shr15 d, a.h0, b.h1, c",
        by_hand: &[
            words!(|a, b, c| ((i64::from(i32::from(a as i16) * (b as i32 >> 16))
                + i64::from(c as i32))
                >> 15) as u32),
            words!(|a, b, c| {
                // The low bits are added separately, so that no sum needs more than 32 bits.
                let (product, c) = (i32::from(a as i16) * (b as i32 >> 16), c as i32);
                let carry = ((product & 0x7fff) + (c & 0x7fff)) >> 15;
                ((product >> 15) + (c >> 15) + carry) as u32
            }),
        ],
        one_call: call!(|a, b, c| ((field(a, 0, 16, true) * field(b, 16, 16, true)
            + field(c, 0, 32, true))
            >> 15) as u32),
    },
    Pair {
        text: "vmad.u32.u32.u32.sat d, a, b, c",
        by_hand: &[
            words!(
                |a, b, c| (u64::from(a) * u64::from(b) + u64::from(c)).min(u32::MAX.into()) as u32
            ),
            words!(|a, b, c| {
                let sum = u64::from(a) * u64::from(b) + u64::from(c);
                if sum >> 32 == 0 { sum as u32 } else { u32::MAX }
            }),
        ],
        one_call: call!(
            |a, b, c| (u64::from(a) * u64::from(b) + u64::from(c)).min(u32::MAX.into()) as u32
        ),
    },
    Pair {
        text: "vset.s32.s32.lt.add d, a, b, c",
        by_hand: &[words!(|a, b, c| u32::from((a as i32) < b as i32).wrapping_add(c))],
        one_call: call!(
            |a, b, c| u32::from(field(a, 0, 32, true) < field(b, 0, 32, true)).wrapping_add(c)
        ),
    },
    Pair {
        text: "vset.u32.u32.ge d, a.b1, b.b2",
        by_hand: &[
            words!(|a, b, _| u32::from((a >> 8 & 0xff) >= (b >> 16 & 0xff))),
            words!(|a, b, _| u32::from((a >> 8 & 0xff) as i32 >= (b >> 16 & 0xff) as i32)),
        ],
        one_call: call!(|a, b, _| u32::from(field(a, 8, 8, false) >= field(b, 16, 8, false))),
    },
    Pair {
        text: "vset.s32.u32.eq d.b3, a, b, c",
        by_hand: &[
            words!(|a, b, c| (c & 0x00ff_ffff) | u32::from(a == b && a as i32 >= 0) << 24),
            words!(|a, b, c| (c & 0x00ff_ffff) | u32::from((a == b) & (a as i32 >= 0)) << 24),
        ],
        one_call: call!(|a, b, c| insert(
            c,
            (field(a, 0, 32, true) == field(b, 0, 32, false)).into(),
            24,
            8
        )),
    },
    Pair {
        text: "vadd2.s32.s32.s32.sat d, a, b, c",
        by_hand: &[lanes!(signed_halves, i16::saturating_add, of_signed_halves)],
        one_call: call!(|a, b, c| TWO.signed().run([a, b, c], |a, b| clamp(a + b, 16, true))),
    },
    Pair {
        text: "vadd2.u32.u32.u32 d.h1, a.h01, b, c",
        by_hand: &[words!(|a, b, c| (c & 0xffff) | (a << 16).wrapping_add(b & 0xffff_0000))],
        one_call: call!(|a, b, c| Simd { selectors: [[1, 0], [2, 3]], mask: [false, true], ..TWO }
            .run([a, b, c], |a, b| a + b)),
    },
    Pair {
        text: "vadd2.s32.s32.s32.add d, a, b, c",
        by_hand: &[
            words!(|a, b, c| c
                .wrapping_add(sum_signed_halves(a))
                .wrapping_add(sum_signed_halves(b))),
            words!(|a, b, c| {
                let sum = |word: u32| i32::from(word as i16) + (word as i32 >> 16);
                c.wrapping_add((sum(a) + sum(b)) as u32)
            }),
        ],
        one_call: call!(|a, b, c| TWO.signed().sum().run([a, b, c], |a, b| a + b)),
    },
    Pair {
        text: "vsub2.u32.u32.u32.sat d, a, b, c",
        by_hand: &[lanes!(halves, u16::saturating_sub, of_halves)],
        one_call: call!(|a, b, c| TWO.run([a, b, c], |a, b| clamp(a - b, 16, false))),
    },
    Pair {
        text: "vsub2.s32.s32.s32 d, a.h01, b, c",
        by_hand: &[
            words!(|a, b, _| sub_lanes(a.rotate_left(16), b, 0x8000_8000)),
            |a, b, c, d| {
                let f = |[low, high]: [i16; 2], b: [i16; 2]| {
                    [high.wrapping_sub(b[0]), low.wrapping_sub(b[1])]
                };
                map([a, b, c], d, |a, b, c| {
                    of_signed_halves(f(signed_halves(a), signed_halves(b)), c)
                });
            },
            words!(|a, b, _| (a.rotate_left(16).wrapping_sub(b) & 0xffff)
                | (a << 16).wrapping_sub(b & 0xffff_0000)),
        ],
        one_call: call!(|a, b, c| Simd { selectors: [[1, 0], [2, 3]], ..TWO }
            .signed()
            .run([a, b, c], |a, b| a - b)),
    },
    Pair {
        text: "vsub2.u32.u32.s32.sat d, a, b, c",
        by_hand: &[lanes!(
            halves,
            |a, b| {
                let b = b as i16;
                a.saturating_sub(b.max(0) as u16).saturating_add(b.min(0).wrapping_neg() as u16)
            },
            of_halves
        )],
        one_call: call!(|a, b, c| Simd { signed: [false, true], ..TWO }
            .run([a, b, c], |a, b| clamp(a - b, 16, false))),
    },
    Pair {
        text: "vavrg2.s32.s32.s32 d, a, b, c",
        by_hand: &[
            words!(|a, b, _| {
                let average = |a: i32, b: i32| (a + b + i32::from(a + b >= 0)) >> 1;
                let low = average((a as i16).into(), (b as i16).into());
                let high = average(a as i32 >> 16, b as i32 >> 16);
                (high as u32) << 16 | (low as u32 & 0xffff)
            }),
            words!(|a, b, _| {
                // The average is rounded down, then up if the sum is odd and not negative.
                let (x, y) = (a ^ 0x8000_8000, b ^ 0x8000_8000);
                let down = (x & y) + ((x ^ y) >> 1 & 0x7fff_7fff);
                (down + (down >> 15 & (x ^ y) & 0x0001_0001)) ^ 0x8000_8000
            }),
        ],
        one_call: call!(|a, b, c| TWO.signed().run([a, b, c], average)),
    },
    Pair {
        text: "vavrg2.u32.u32.u32 d, a, b, c",
        by_hand: &[
            lanes!(halves, |a, b| (u32::from(a) + u32::from(b)).div_ceil(2) as u16, of_halves),
            words!(|a, b, _| average_lanes(a, b, 0x7fff_7fff)),
        ],
        one_call: call!(|a, b, c| TWO.run([a, b, c], average)),
    },
    Pair {
        text: "vavrg2.u32.u32.u32.add d, a, b, c",
        by_hand: &[
            words!(|a, b, c| c.wrapping_add(sum_halves(average_lanes(a, b, 0x7fff_7fff)))),
            lanes!(halves, |a, b| (u32::from(a) + u32::from(b)).div_ceil(2) as u16, |it, c| c
                .wrapping_add(sum_halves(of_halves(it, c)))),
        ],
        one_call: call!(|a, b, c| TWO.sum().run([a, b, c], average)),
    },
    Pair {
        text: "vabsdiff2.s32.s32.s32 d, a, b, c",
        by_hand: &[
            lanes!(signed_halves, |a, b| a.abs_diff(b) as i16, of_signed_halves),
            lanes!(signed_halves, |a, b| a.max(b).wrapping_sub(a.min(b)), of_signed_halves),
        ],
        one_call: call!(|a, b, c| TWO.signed().run([a, b, c], |a, b| (a - b).abs())),
    },
    Pair {
        text: "vabsdiff2.u32.u32.u32.add d, a, b, c",
        by_hand: &[
            lanes!(halves, u16::abs_diff, |it, c| c.wrapping_add(sum_halves(of_halves(it, c)))),
            lanes!(halves, |a, b| a.saturating_sub(b) | b.saturating_sub(a), |it, c| c
                .wrapping_add(sum_halves(of_halves(it, c)))),
        ],
        one_call: call!(|a, b, c| TWO.sum().run([a, b, c], |a, b| (a - b).abs())),
    },
    Pair {
        text: "vabsdiff2.s32.s32.s32.sat d.h0, a, b, c",
        by_hand: &[
            lanes!(signed_halves, |a, b| a.max(b).saturating_sub(a.min(b)), |it, c| merge(
                of_signed_halves(it, c),
                0xffff,
                c
            )),
            words!(|a, b, c| {
                let difference = i32::from(a as i16) - i32::from(b as i16);
                merge(difference.abs().min(0x7fff) as u32, 0xffff, c)
            }),
        ],
        one_call: call!(|a, b, c| TWO.signed().mask([true, false]).run([a, b, c], |a, b| clamp(
            (a - b).abs(),
            16,
            true
        ))),
    },
    Pair {
        text: "vmin2.s32.s32.s32 d, a, b, c",
        by_hand: &[lanes!(signed_halves, i16::min, of_signed_halves)],
        one_call: call!(|a, b, c| TWO.signed().run([a, b, c], i64::min)),
    },
    Pair {
        text: "vmin2.u32.u32.u32 d, a.h01, b, c",
        by_hand: &[
            |a, b, c, d| {
                let swapped =
                    |a: u32, b: u32| of_halves([(a >> 16) as u16, a as u16].map(|it| it), b);
                map([a, b, c], d, |a, b, c| {
                    let ([x, y], [z, w]) = (halves(swapped(a, c)), halves(b));
                    of_halves([x.min(z), y.min(w)], c)
                });
            },
            words!(|a, b, _| (a >> 16).min(b & 0xffff) | (a << 16).min(b & 0xffff_0000)),
            words!(|a, b, _| {
                // Subtracts from `a` the amount by which it exceeds `b`.
                let [a, b] = [a.rotate_left(16), b].map(halves);
                of_halves(from_fn(|at| a[at] - a[at].saturating_sub(b[at])), 0)
            }),
        ],
        one_call: call!(
            |a, b, c| Simd { selectors: [[1, 0], [2, 3]], ..TWO }.run([a, b, c], i64::min)
        ),
    },
    Pair {
        text: "vmin2.u32.u32.u32.add d, a, b, c",
        by_hand: &[
            lanes!(halves, u16::min, |it, c| c.wrapping_add(sum_halves(of_halves(it, c)))),
            lanes!(halves, |a, b| a - a.saturating_sub(b), |it, c| c
                .wrapping_add(sum_halves(of_halves(it, c)))),
        ],
        one_call: call!(|a, b, c| TWO.sum().run([a, b, c], i64::min)),
    },
    Pair {
        text: "vmax2.u32.u32.u32 d, a, b, c",
        by_hand: &[
            lanes!(halves, u16::max, of_halves),
            lanes!(halves, |a, b| b + a.saturating_sub(b), of_halves),
        ],
        one_call: call!(|a, b, c| TWO.run([a, b, c], i64::max)),
    },
    Pair {
        text: "vmax2.s32.s32.s32.add d, a, b, c",
        by_hand: &[lanes!(signed_halves, i16::max, |it, c| c
            .wrapping_add(sum_signed_halves(of_signed_halves(it, c))))],
        one_call: call!(|a, b, c| TWO.signed().sum().run([a, b, c], i64::max)),
    },
    Pair {
        text: "vmax2.s32.u32.s32.sat d, a, b, c",
        by_hand: &[lanes!(
            signed_halves,
            |a, b| ((a as u16).min(0x7fff) as i16).max(b),
            of_signed_halves
        )],
        one_call: call!(|a, b, c| Simd { signed: [false, true], ..TWO }
            .run([a, b, c], |a, b| clamp(a.max(b), 16, true))),
    },
    Pair {
        text: "vset2.s32.s32.ge.add d, a, b, c",
        by_hand: &[
            words!(|a, b, c| {
                let low = a as i16 >= b as i16;
                let high = a as i32 >> 16 >= b as i32 >> 16;
                c.wrapping_add(u32::from(low) + u32::from(high))
            }),
            lanes!(signed_halves, |a, b| (a >= b).into(), |it, c| c
                .wrapping_add(sum_halves(of_signed_halves(it, c)))),
        ],
        one_call: call!(|a, b, c| TWO.signed().sum().run([a, b, c], |a, b| (a >= b).into())),
    },
    Pair {
        text: "vset2.u32.u32.lt d, a, b, c",
        by_hand: &[lanes!(halves, |a, b| (a < b).into(), of_halves)],
        one_call: call!(|a, b, c| TWO.run([a, b, c], |a, b| (a < b).into())),
    },
    Pair {
        text: "vset2.s32.s32.eq d.h0, a, b.h23, c",
        by_hand: &[words!(|a, b, c| merge(u32::from(a & 0xffff == b >> 16), 0xffff, c))],
        one_call: call!(|a, b, c| Simd { selectors: [[0, 1], [3, 2]], ..TWO }
            .signed()
            .mask([true, false])
            .run([a, b, c], |a, b| (a == b).into())),
    },
    Pair {
        text: "vadd4.u32.u32.u32.sat d, a, b, c",
        by_hand: &[lanes!(bytes, u8::saturating_add, of_bytes)],
        one_call: call!(|a, b, c| FOUR.run([a, b, c], |a, b| clamp(a + b, 8, false))),
    },
    Pair {
        text: "vadd4.u32.u32.u32 d.b210, a, b, c",
        by_hand: &[
            words!(|a, b, c| merge(add_lanes(a, b, 0x8080_8080), 0x00ff_ffff, c)),
            lanes!(bytes, u8::wrapping_add, |it, c| merge(of_bytes(it, c), 0x00ff_ffff, c)),
        ],
        one_call: call!(|a, b, c| FOUR
            .mask([true, true, true, false])
            .run([a, b, c], |a, b| a + b)),
    },
    Pair {
        text: "vadd4.s32.s32.s32.add d, a, b, c",
        by_hand: &[
            words!(|a, b, c| c.wrapping_add(sum_signed_bytes(a)).wrapping_add(sum_signed_bytes(b))),
            words!(|a, b, c| {
                let [a, b] = [a ^ 0x8080_8080, b ^ 0x8080_8080];
                let even = (a & 0x00ff_00ff) + (b & 0x00ff_00ff);
                let all = even + (a >> 8 & 0x00ff_00ff) + (b >> 8 & 0x00ff_00ff);
                c.wrapping_add(sum_halves(all)).wrapping_sub(0x400)
            }),
        ],
        one_call: call!(|a, b, c| FOUR.signed().sum().run([a, b, c], |a, b| a + b)),
    },
    Pair {
        text: "vadd4.u32.u32.u32.sat d, a.b0123, b, c",
        by_hand: &[|a, b, c, d| swapped([a, b, c], d, u8::saturating_add)],
        one_call: call!(|a, b, c| Simd { selectors: [[3, 2, 1, 0], [4, 5, 6, 7]], ..FOUR }
            .run([a, b, c], |a, b| clamp(a + b, 8, false))),
    },
    Pair {
        text: "vsub4.s32.s32.s32.sat d, a, b, c",
        by_hand: &[lanes!(signed_bytes, i8::saturating_sub, of_signed_bytes)],
        one_call: call!(|a, b, c| FOUR.signed().run([a, b, c], |a, b| clamp(a - b, 8, true))),
    },
    Pair {
        text: "vsub4.u32.u32.u32.add d, a, b, c",
        by_hand: &[
            words!(|a, b, c| c.wrapping_add(sum_bytes(a)).wrapping_sub(sum_bytes(b))),
            words!(|a, b, c| {
                let even = (a & 0x00ff_00ff) + 0x0200_0200 - (b & 0x00ff_00ff);
                let all = even + (a >> 8 & 0x00ff_00ff) - (b >> 8 & 0x00ff_00ff);
                c.wrapping_add(sum_halves(all)).wrapping_sub(0x400)
            }),
        ],
        one_call: call!(|a, b, c| FOUR.sum().run([a, b, c], |a, b| a - b)),
    },
    Pair {
        text: "vsub4.s32.u32.u32.sat d, a, b, c",
        by_hand: &[
            lanes!(
                bytes,
                |a, b| {
                    let less = |a: u8, b: u8| a.saturating_sub(b);
                    less(a, b).min(127).wrapping_sub(less(b, a).min(128))
                },
                of_bytes
            ),
            lanes!(bytes, |a, b| (i16::from(a) - i16::from(b)).clamp(-128, 127) as u8, of_bytes),
        ],
        one_call: call!(|a, b, c| FOUR.run([a, b, c], |a, b| clamp(a - b, 8, true))),
    },
    Pair {
        text: "vavrg4.u32.u32.u32 d, a, b, c",
        by_hand: &[
            lanes!(bytes, |a, b| (u16::from(a) + u16::from(b)).div_ceil(2) as u8, of_bytes),
            words!(|a, b, _| average_lanes(a, b, 0x7f7f_7f7f)),
        ],
        one_call: call!(|a, b, c| FOUR.run([a, b, c], average)),
    },
    Pair {
        text: "vavrg4.s32.s32.s32 d, a, b, c",
        by_hand: &[
            words!(|a, b, _| {
                let (x, y) = (a ^ 0x8080_8080, b ^ 0x8080_8080);
                let down = (x & y) + ((x ^ y) >> 1 & 0x7f7f_7f7f);
                (down + (down >> 7 & (x ^ y) & 0x0101_0101)) ^ 0x8080_8080
            }),
            lanes!(
                signed_bytes,
                |a, b| {
                    let sum = i16::from(a) + i16::from(b);
                    ((sum + i16::from(sum >= 0)) >> 1) as i8
                },
                of_signed_bytes
            ),
        ],
        one_call: call!(|a, b, c| FOUR.signed().run([a, b, c], average)),
    },
    Pair {
        text: "vavrg4.u32.u32.u32.add d, a, b, c",
        by_hand: &[
            lanes!(bytes, |a, b| (u16::from(a) + u16::from(b)).div_ceil(2) as u8, |it, c| c
                .wrapping_add(sum_bytes(of_bytes(it, c)))),
            words!(|a, b, c| c.wrapping_add(sum_bytes(average_lanes(a, b, 0x7f7f_7f7f)))),
        ],
        one_call: call!(|a, b, c| FOUR.sum().run([a, b, c], average)),
    },
    Pair {
        text: "vabsdiff4.u32.u32.u32.add d, a, b, c",
        by_hand: &[
            lanes!(bytes, u8::abs_diff, |it, c| c.wrapping_add(sum_bytes(of_bytes(it, c)))),
            lanes!(bytes, |a, b| a.saturating_sub(b) | b.saturating_sub(a), |it, c| c
                .wrapping_add(sum_bytes(of_bytes(it, c)))),
        ],
        one_call: call!(|a, b, c| FOUR.sum().run([a, b, c], |a, b| (a - b).abs())),
    },
    Pair {
        text: "vabsdiff4.s32.s32.s32 d, a, b, c",
        by_hand: &[
            lanes!(signed_bytes, |a, b| a.abs_diff(b) as i8, of_signed_bytes),
            lanes!(bytes, |a, b| (a ^ 0x80).abs_diff(b ^ 0x80), of_bytes),
        ],
        one_call: call!(|a, b, c| FOUR.signed().run([a, b, c], |a, b| (a - b).abs())),
    },
    Pair {
        text: "vabsdiff4.u32.u32.u32.sat d.b20, a, b, c",
        by_hand: &[
            lanes!(bytes, u8::abs_diff, |it, c| merge(of_bytes(it, c), 0x00ff_00ff, c)),
            lanes!(bytes, |a, b| a.saturating_sub(b) | b.saturating_sub(a), |it, c| merge(
                of_bytes(it, c),
                0x00ff_00ff,
                c
            )),
        ],
        one_call: call!(|a, b, c| FOUR
            .mask([true, false, true, false])
            .run([a, b, c], |a, b| clamp((a - b).abs(), 8, false))),
    },
    Pair {
        text: "vmin4.u32.u32.u32 d, a, b, c",
        by_hand: &[lanes!(bytes, u8::min, of_bytes)],
        one_call: call!(|a, b, c| FOUR.run([a, b, c], i64::min)),
    },
    Pair {
        text: "vmin4.s32.s32.s32 d.b30, a, b, c",
        by_hand: &[lanes!(signed_bytes, i8::min, |it, c| merge(
            of_signed_bytes(it, c),
            0xff00_00ff,
            c
        ))],
        one_call: call!(|a, b, c| FOUR
            .signed()
            .mask([true, false, false, true])
            .run([a, b, c], i64::min)),
    },
    Pair {
        text: "vmin4.s32.s32.s32.add d, a, b, c",
        by_hand: &[
            lanes!(signed_bytes, i8::min, |it, c| c
                .wrapping_add(sum_signed_bytes(of_signed_bytes(it, c)))),
            lanes!(bytes, |a, b| (a ^ 0x80).min(b ^ 0x80), |it, c| c
                .wrapping_add(sum_bytes(of_bytes(it, c)))
                .wrapping_sub(0x200)),
        ],
        one_call: call!(|a, b, c| FOUR.signed().sum().run([a, b, c], i64::min)),
    },
    Pair {
        text: "vmax4.s32.s32.s32 d, a, b, c",
        by_hand: &[lanes!(signed_bytes, i8::max, of_signed_bytes)],
        one_call: call!(|a, b, c| FOUR.signed().run([a, b, c], i64::max)),
    },
    Pair {
        text: "vmax4.u32.u32.u32.add d.b10, a, b, c",
        by_hand: &[
            lanes!(bytes, u8::max, |it, c| c.wrapping_add(u32::from(it[0]) + u32::from(it[1]))),
            lanes!(bytes, u8::max, |it, c| {
                let word = of_bytes(it, c);
                c.wrapping_add((word & 0xff) + (word >> 8 & 0xff))
            }),
        ],
        one_call: call!(|a, b, c| FOUR
            .sum()
            .mask([true, true, false, false])
            .run([a, b, c], i64::max)),
    },
    Pair {
        text: "vmax4.u32.s32.s32.sat d, a, b, c",
        by_hand: &[lanes!(signed_bytes, |a, b| a.max(b).max(0), of_signed_bytes)],
        one_call: call!(|a, b, c| FOUR.signed().run([a, b, c], |a, b| clamp(a.max(b), 8, false))),
    },
    Pair {
        text: "vset4.s32.s32.lt d.b321, a, b, c",
        by_hand: &[lanes!(signed_bytes, |a, b| (a < b).into(), |it, c| merge(
            of_signed_bytes(it, c),
            0xffff_ff00,
            c
        ))],
        one_call: call!(|a, b, c| FOUR
            .signed()
            .mask([false, true, true, true])
            .run([a, b, c], |a, b| (a < b).into())),
    },
    Pair {
        text: "vset4.u32.u32.ge.add d, a, b, c",
        by_hand: &[
            lanes!(bytes, |a, b| (a >= b).into(), |it, c| c
                .wrapping_add(sum_bytes(of_bytes(it, c)))),
            lanes!(bytes, |a, b| (a >= b).into(), |it, c| c
                .wrapping_add(of_bytes(it, c).wrapping_mul(0x0101_0101) >> 24)),
        ],
        one_call: call!(|a, b, c| FOUR.sum().run([a, b, c], |a, b| (a >= b).into())),
    },
    Pair {
        text: "vset4.s32.s32.ne d, a, b.b4567, c",
        by_hand: &[
            |a, b, c, d| swapped([b, a, c], d, |b, a| (a != b).into()),
            words!(|a, b, _| {
                let differ = a ^ b.swap_bytes();
                (((differ & 0x7f7f_7f7f) + 0x7f7f_7f7f) | differ) >> 7 & 0x0101_0101
            }),
        ],
        one_call: call!(|a, b, c| Simd { selectors: [[0, 1, 2, 3], [7, 6, 5, 4]], ..FOUR }
            .signed()
            .run([a, b, c], |a, b| (a != b).into())),
    },
];

/// The data with which a pair is measured.
struct Case {
    pair: Pair,
    program: Program,
    sources: [Vec<u32>; 3],
    d: Vec<u32>,
}

impl Case {
    /// Checks that all sides give the results of the interpreter.
    fn new(pair: Pair) -> Case {
        let instruction: Instruction = pair.text.parse().expect("an instruction");
        let program = instruction.lower(Semantics::Manual);
        let mut state = 1;
        // The columns end at different offsets in their pages. Otherwise the processor would treat
        // writes as overlapping with the next reads.
        let sources = from_fn(|at| {
            let mut column = Vec::with_capacity(LENGTH + 272 * (at + 1));
            column.extend((0..LENGTH).map(|_| word(&mut state)));
            column
        });
        let mut case = Case { pair, program, sources, d: vec![0; LENGTH] };
        case.batch();
        case.check("batch");
        for (at, &by_hand) in pair.by_hand.iter().enumerate() {
            case.run(by_hand);
            case.check(&format!("by hand, {at}"));
        }
        case.run(pair.one_call);
        case.check("one call");
        case
    }

    fn check(&mut self, side: &str) {
        let [a, b, c] = &self.sources;
        for (at, &d) in self.d.iter().enumerate() {
            let expected = self.program.eval(a[at], b[at], c[at]);
            assert_eq!(d, expected, "{}, {side}, input {at}", self.pair);
        }
        self.d.fill(0);
    }

    fn batch(&mut self) {
        let [a, b, c] = &self.sources;
        self.program.eval_batch(black_box(a), black_box(b), black_box(c), &mut self.d);
    }

    fn run(&mut self, side: Loop) {
        let [a, b, c] = &self.sources;
        side(black_box(a), black_box(b), black_box(c), &mut self.d);
    }

    /// Millions of words per second, from the best turn of each side: the batch, the best
    /// hand-written loop, and the calls.
    fn rates(&mut self) -> [f64; 3] {
        let mut best = vec![f64::INFINITY; self.pair.by_hand.len() + 2];
        for _ in 0..ROUNDS {
            for (side, best) in best.iter_mut().enumerate() {
                let start = Instant::now();
                for _ in 0..RUNS {
                    match side {
                        0 => self.batch(),
                        1 => self.run(self.pair.one_call),
                        _ => self.run(self.pair.by_hand[side - 2]),
                    }
                    black_box(&mut self.d);
                }
                *best = best.min(start.elapsed().as_secs_f64() / f64::from(RUNS));
            }
        }
        let by_hand = best[2..].iter().copied().fold(f64::INFINITY, f64::min);
        [best[0], by_hand, best[1]].map(|time| f64::from(WORDS) / time / 1e6)
    }
}

/// A word made from a seed. Shift amounts and small numbers are frequent.
fn word(state: &mut u64) -> u32 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    let word = (*state >> 32) as u32;
    // The two top bits, which small numbers do not use, decide the kind.
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
fn batch(bencher: Bencher<'_, '_>, pair: &Pair) {
    let mut case = Case::new(*pair);
    bencher.counter(ItemsCount::new(LENGTH)).bench_local(|| case.batch());
}

/// Only the first hand-written loop.
#[divan::bench(args = PAIRS)]
fn by_hand(bencher: Bencher<'_, '_>, pair: &Pair) {
    let mut case = Case::new(*pair);
    bencher.counter(ItemsCount::new(LENGTH)).bench_local(|| case.run(pair.by_hand[0]));
}

#[divan::bench(args = PAIRS)]
fn one_call(bencher: Bencher<'_, '_>, pair: &Pair) {
    let mut case = Case::new(*pair);
    bencher.counter(ItemsCount::new(LENGTH)).bench_local(|| case.run(pair.one_call));
}

/// Sums of the logarithms of ratios, for their geometric mean.
#[derive(Clone, Copy, Default)]
struct Ratios {
    logarithms: [f64; 2],
    count: f64,
}

impl Ratios {
    fn add(&mut self, ratios: [f64; 2]) {
        for (sum, ratio) in self.logarithms.iter_mut().zip(ratios) {
            *sum += ratio.ln();
        }
        self.count += 1.0;
    }

    fn means(self) -> [f64; 2] {
        self.logarithms.map(|sum| f64::exp(sum / self.count))
    }
}

/// Prints the ratios of all pairs, and their means for each family and overall.
fn ratios() {
    println!("Millions of words in a second, and how many times as fast the batch is.\n");
    println!("| instruction | batch | by hand | one call | to by hand | to one call |");
    println!("| --- | ---: | ---: | ---: | ---: | ---: |");
    let mut families: Vec<(&str, Ratios)> = Vec::new();
    let mut all = Ratios::default();
    for pair in PAIRS {
        let [batch, by_hand, one_call] = Case::new(*pair).rates();
        let ratios = [batch / by_hand, batch / one_call];
        let [to_hand, to_call] = ratios;
        println!(
            "| `{pair}` | {batch:.0} | {by_hand:.0} | {one_call:.0} | {to_hand:.3} | {to_call:.2} |"
        );
        all.add(ratios);
        let family = pair.text.split('.').next().unwrap_or_default();
        if families.last().is_none_or(|(last, _)| *last != family) {
            families.push((family, Ratios::default()));
        }
        if let Some((_, own)) = families.last_mut() {
            own.add(ratios);
        }
    }
    println!("\n| family | to by hand | to one call |");
    println!("| --- | ---: | ---: |");
    families.push(("all", all));
    for (family, ratios) in families {
        let [to_hand, to_call] = ratios.means();
        println!("| {family} | {to_hand:.3} | {to_call:.2} |");
    }
}
