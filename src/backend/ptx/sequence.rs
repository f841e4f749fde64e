//! Straight-line code in ordinary PTX, as a value that can be run and printed.

use std::fmt;

use super::half;
use crate::ir::Input;
use crate::isa::{Compare, Feature, PtxVersion, Target, Type, WordRegisters};

/// The class of a register that ordinary PTX writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// `.b32`
    Word,
    /// `.b64`
    Wide,
    /// `.b16`
    Half,
    /// `.pred`
    Predicate,
}

/// An operand that an instruction of a sequence reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Arg {
    /// A source of the video instruction, a 32-bit word.
    Input(Input),
    /// A register that a group of video instructions reads, by its number.
    Register(u16),
    /// The result of the line with this number.
    Line(u16),
    /// A constant. A place for a word takes its low 32 bits.
    Constant(u64),
}

macro_rules! opcodes {
    ($($(#[$doc:meta])* $name:ident $(($($part:ty),+))? $class:ident $arity:literal)*) => {
        /// An ordinary PTX instruction. Types say how words are read.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Opcode {
            $($(#[$doc])* $name $(($($part),+))?,)*
        }

        impl Opcode {
            /// The class of the result.
            pub const fn class(self) -> Class {
                match self { $(Opcode::$name { .. } => Class::$class,)* }
            }

            /// The number of arguments, 1 to 3.
            pub const fn arity(self) -> usize {
                match self { $(Opcode::$name { .. } => $arity,)* }
            }
        }
    };
}

opcodes! {
    /// Copy of a word.
    Move Word 1
    /// Sum, modulo 2^32.
    Add Word 2
    /// Difference, modulo 2^32.
    Sub Word 2
    /// Product, modulo 2^32.
    Mul Word 2
    /// Product and sum, modulo 2^32.
    Mad Word 3
    /// Sum clamped to signed 32 bits.
    AddSat Word 2
    /// Difference clamped to signed 32 bits.
    SubSat Word 2
    /// Absolute value of a signed word.
    Abs Word 1
    /// Bits in both.
    And Word 2
    /// Bits in either.
    Or Word 2
    /// Bits in one.
    Xor Word 2
    /// Bits that are not set.
    Not Word 1
    /// Any bitwise function of three words, by its truth table: bit `4x + 2y + z`.
    Lop3(u8) Word 3
    /// Shift left; amounts above 31 give 0.
    Shl Word 2
    /// Shift right; amounts above 31 count as 32.
    Shr(Type) Word 2
    /// The upper word of the pair (low, high) shifted left by an amount, modulo 32.
    FunnelLeftWrap Word 3
    /// The upper word of the pair (low, high) shifted left by an amount up to 32.
    FunnelLeft Word 3
    /// The lower word of the pair (low, high) shifted right by an amount, modulo 32.
    FunnelRightWrap Word 3
    /// The smaller.
    Min(Type) Word 2
    /// The larger.
    Max(Type) Word 2
    /// Absolute difference of the first two, plus the third, modulo 2^32.
    Sad(Type) Word 3
    /// Four bytes of the pair (first, second), by the nibbles of the third; with
    /// bit 3 set, the byte's sign eight times.
    Permute Word 3
    /// The first where the predicate holds, else the second.
    Select Word 3
    /// Sum of four products of bytes, plus the third.
    Dot4(Type, Type) Word 3
    /// Sum of the products of both halves of the first with the lower two bytes
    /// of the second, plus the third.
    Dot2(Type, Type) Word 3
    /// The same with the upper two bytes of the second.
    Dot2High(Type, Type) Word 3
    /// Two signed words clamped to halves of a type: the second in the lower.
    Pack2(Type) Word 2
    /// Two signed words clamped to bytes of a type, the second in the lowest, below
    /// the lower half of the third.
    Pack4(Type) Word 3
    /// The lower half of a word.
    LowHalf Half 1
    /// The upper half of a word.
    HighHalf Half 1
    /// The negative of a half, modulo 2^16.
    NegateHalf Half 1
    /// A word of two halves: the first in the lower.
    JoinHalves Word 2
    /// Sums of halves.
    Add2 Word 2
    /// The smaller of each pair of halves.
    Min2(Type) Word 2
    /// The larger of each pair of halves.
    Max2(Type) Word 2
    /// The smaller of each pair of signed halves, or 0 where that is negative.
    MinRelu2 Word 2
    /// The larger of each pair of signed halves, or 0 where that is negative.
    MaxRelu2 Word 2
    /// Sums of halves, clamped to a type.
    AddSat2(Type) Word 2
    /// Sums of bytes.
    Add4 Word 2
    /// Differences of bytes.
    Sub4 Word 2
    /// Sums of bytes, clamped to a type.
    AddSat4(Type) Word 2
    /// Differences of bytes, clamped to a type.
    SubSat4(Type) Word 2
    /// The smaller of each pair of bytes.
    Min4(Type) Word 2
    /// The larger of each pair of bytes.
    Max4(Type) Word 2
    /// The smaller of each pair of signed bytes, or 0 where that is negative.
    MinRelu4 Word 2
    /// The larger of each pair of signed bytes, or 0 where that is negative.
    MaxRelu4 Word 2
    /// Sums of halves as floating-point numbers.
    AddFloat2 Word 2
    /// Differences of halves as floating-point numbers.
    SubFloat2 Word 2
    /// Sums of halves as floating-point numbers, limited to 0 and 1.
    AddSatFloat2 Word 2
    /// Differences of halves as floating-point numbers, limited to 0 and 1.
    SubSatFloat2 Word 2
    /// The smaller of each pair of halves as floating-point numbers.
    MinFloat2 Word 2
    /// The larger of each pair of halves as floating-point numbers.
    MaxFloat2 Word 2
    /// Absolute differences of bytes (a video instruction that targets before `sm_120`
    /// have).
    AbsDiff4(Type) Word 2
    /// The third plus the sum of the absolute differences of bytes (likewise).
    SumAbsDiff4(Type) Word 3
    /// The number of set bits.
    Count Word 1
    /// The lower word of 64 bits.
    Low Word 1
    /// The upper word of 64 bits.
    High Word 1
    /// A word extended to 64 bits.
    Extend(Type) Wide 1
    /// Sum, modulo 2^64.
    AddWide Wide 2
    /// Difference, modulo 2^64.
    SubWide Wide 2
    /// Product of 64 bits, modulo 2^64.
    MulWide Wide 2
    /// Product of two words.
    Product(Type) Wide 2
    /// Shift of 64 bits left by a word; amounts above 63 give 0.
    ShlWide Wide 2
    /// Shift of 64 bits right by a word; amounts above 63 count as 64.
    ShrWide(Type) Wide 2
    /// The smaller.
    MinWide(Type) Wide 2
    /// The larger.
    MaxWide(Type) Wide 2
    /// Whether the comparison of two words holds.
    Set(Compare, Type) Predicate 2
    /// Whether the comparison of two words holds and a predicate does.
    SetAnd(Compare, Type) Predicate 3
    /// Whether the comparison of two words holds or a predicate does.
    SetOr(Compare, Type) Predicate 3
    /// Whether the comparison of two 64-bit values holds.
    SetWide(Compare, Type) Predicate 2
}

/// `s` or `u`: the letter of a type's signedness.
fn sign(ty: Type) -> char {
    if ty == Type::S32 { 's' } else { 'u' }
}

impl Opcode {
    /// What a target must have for the instruction.
    pub const fn needs(self) -> Feature {
        match self {
            Opcode::Lop3(_) => Feature::Lop3,
            Opcode::FunnelLeft | Opcode::FunnelLeftWrap | Opcode::FunnelRightWrap => {
                Feature::FunnelShift
            }
            Opcode::Dot4(..) | Opcode::Dot2(..) | Opcode::Dot2High(..) => Feature::Dot,
            Opcode::Pack2(_) | Opcode::Pack4(_) => Feature::Pack,
            Opcode::Add2
            | Opcode::Min2(_)
            | Opcode::Max2(_)
            | Opcode::MinRelu2
            | Opcode::MaxRelu2 => Feature::Halves,
            Opcode::AddSat2(_) => Feature::SaturatingHalves,
            Opcode::Add4
            | Opcode::Sub4
            | Opcode::AddSat4(_)
            | Opcode::SubSat4(_)
            | Opcode::Min4(_)
            | Opcode::Max4(_)
            | Opcode::MinRelu4
            | Opcode::MaxRelu4 => Feature::Bytes,
            Opcode::AddFloat2 | Opcode::SubFloat2 | Opcode::AddSatFloat2 | Opcode::SubSatFloat2 => {
                Feature::FloatHalves
            }
            Opcode::MinFloat2 | Opcode::MaxFloat2 => Feature::FloatExtrema,
            Opcode::AbsDiff4(_) | Opcode::SumAbsDiff4(_) => Feature::SimdVideo,
            _ => Feature::Video,
        }
    }

    /// Whether it takes no constants: the instructions on lanes.
    const fn takes_registers_only(self) -> bool {
        matches!(
            self.needs(),
            Feature::Halves
                | Feature::SaturatingHalves
                | Feature::Bytes
                | Feature::FloatHalves
                | Feature::FloatExtrema
        )
    }

    /// The result for arguments of the right classes. Words and 64-bit values are
    /// unsigned numbers; predicates are 0 or 1.
    pub fn eval(self, [x, y, z]: [u64; 3]) -> u64 {
        let (a, b, c) = (x as u32, y as u32, z as u32);
        let (sa, sb) = (a.cast_signed(), b.cast_signed());
        let (wa, wb) = (x.cast_signed(), y.cast_signed());
        let word = match self {
            Opcode::Move | Opcode::Low => a,
            Opcode::High => (x >> 32) as u32,
            Opcode::Add => a.wrapping_add(b),
            Opcode::Sub => a.wrapping_sub(b),
            Opcode::Mul => a.wrapping_mul(b),
            Opcode::Mad => a.wrapping_mul(b).wrapping_add(c),
            Opcode::AddSat => sa.saturating_add(sb).cast_unsigned(),
            Opcode::SubSat => sa.saturating_sub(sb).cast_unsigned(),
            Opcode::Abs => sa.wrapping_abs().cast_unsigned(),
            Opcode::And => a & b,
            Opcode::Or => a | b,
            Opcode::Xor => a ^ b,
            Opcode::Not => !a,
            Opcode::Lop3(table) => {
                (0..8).filter(|row| table >> row & 1 == 1).fold(0, |bits, row| {
                    let pick = |word: u32, bit: u8| if row >> bit & 1 == 1 { word } else { !word };
                    bits | pick(a, 2) & pick(b, 1) & pick(c, 0)
                })
            }
            Opcode::Shl => a.checked_shl(b).unwrap_or(0),
            Opcode::Shr(Type::U32) => a.checked_shr(b).unwrap_or(0),
            Opcode::Shr(Type::S32) => (sa >> b.min(31)).cast_unsigned(),
            Opcode::FunnelLeftWrap => (pair(a, b) << (c & 31) >> 32) as u32,
            Opcode::FunnelLeft => (pair(a, b) << c.min(32) >> 32) as u32,
            Opcode::FunnelRightWrap => (pair(a, b) >> (c & 31)) as u32,
            Opcode::Min(Type::U32) => a.min(b),
            Opcode::Min(Type::S32) => sa.min(sb).cast_unsigned(),
            Opcode::Max(Type::U32) => a.max(b),
            Opcode::Max(Type::S32) => sa.max(sb).cast_unsigned(),
            Opcode::Sad(Type::U32) => a.abs_diff(b).wrapping_add(c),
            Opcode::Sad(Type::S32) => sa.abs_diff(sb).wrapping_add(c),
            Opcode::Permute => permute(pair(a, b), c),
            Opcode::Select => {
                if z == 0 {
                    b
                } else {
                    a
                }
            }
            Opcode::Dot4(left, right) => (0..4).fold(c, |sum, at| {
                let product = lane(a, at, 8, left).wrapping_mul(lane(b, at, 8, right));
                sum.wrapping_add(product.cast_unsigned())
            }),
            Opcode::Dot2(left, right) => dot2(a, b, c, left, right),
            Opcode::Dot2High(left, right) => dot2(a, b >> 16, c, left, right),
            Opcode::Pack2(ty) => packed(sa, 16, ty) << 16 | packed(sb, 16, ty),
            Opcode::Pack4(ty) => c << 16 | packed(sa, 8, ty) << 8 | packed(sb, 8, ty),
            Opcode::LowHalf => a & 0xffff,
            Opcode::HighHalf => a >> 16,
            Opcode::NegateHalf => a.wrapping_neg() & 0xffff,
            Opcode::JoinHalves => b << 16 | a & 0xffff,
            Opcode::Add2 => lanes([a, b], 16, Type::U32, |x, y| x + y),
            Opcode::Min2(ty) => lanes([a, b], 16, ty, Ord::min),
            Opcode::Max2(ty) => lanes([a, b], 16, ty, Ord::max),
            Opcode::MinRelu2 => lanes([a, b], 16, Type::S32, |x, y| x.min(y).max(0)),
            Opcode::MaxRelu2 => lanes([a, b], 16, Type::S32, |x, y| x.max(y).max(0)),
            Opcode::AddSat2(ty) => lanes([a, b], 16, ty, |x, y| clamped(x + y, 16, ty)),
            Opcode::Add4 => lanes([a, b], 8, Type::U32, |x, y| x + y),
            Opcode::Sub4 => lanes([a, b], 8, Type::U32, |x, y| x - y),
            Opcode::AddSat4(ty) => lanes([a, b], 8, ty, |x, y| clamped(x + y, 8, ty)),
            Opcode::SubSat4(ty) => lanes([a, b], 8, ty, |x, y| clamped(x - y, 8, ty)),
            Opcode::Min4(ty) => lanes([a, b], 8, ty, Ord::min),
            Opcode::Max4(ty) => lanes([a, b], 8, ty, Ord::max),
            Opcode::MinRelu4 => lanes([a, b], 8, Type::S32, |x, y| x.min(y).max(0)),
            Opcode::MaxRelu4 => lanes([a, b], 8, Type::S32, |x, y| x.max(y).max(0)),
            Opcode::AddFloat2 => pairs(a, b, half::sum),
            Opcode::SubFloat2 => pairs(a, b, half::difference),
            Opcode::AddSatFloat2 => pairs(a, b, |x, y| half::saturated(half::sum(x, y))),
            Opcode::SubSatFloat2 => pairs(a, b, |x, y| half::saturated(half::difference(x, y))),
            Opcode::MinFloat2 => pairs(a, b, half::smaller),
            Opcode::MaxFloat2 => pairs(a, b, half::larger),
            Opcode::AbsDiff4(ty) => {
                (0..4).fold(0, |word, at| word | absdiff(a, b, at, ty) << (8 * at))
            }
            Opcode::SumAbsDiff4(ty) => {
                (0..4).fold(c, |sum, at| sum.wrapping_add(absdiff(a, b, at, ty)))
            }
            Opcode::Count => a.count_ones(),
            Opcode::Extend(Type::U32) => return a.into(),
            Opcode::Extend(Type::S32) => return i64::from(sa).cast_unsigned(),
            Opcode::AddWide => return x.wrapping_add(y),
            Opcode::SubWide => return x.wrapping_sub(y),
            Opcode::MulWide => return x.wrapping_mul(y),
            Opcode::Product(ty) => return product(a, b, ty),
            Opcode::ShlWide => return x.checked_shl(b).unwrap_or(0),
            Opcode::ShrWide(Type::U32) => return x.checked_shr(b).unwrap_or(0),
            Opcode::ShrWide(Type::S32) => return (wa >> b.min(63)).cast_unsigned(),
            Opcode::MinWide(Type::U32) => return x.min(y),
            Opcode::MinWide(Type::S32) => return wa.min(wb).cast_unsigned(),
            Opcode::MaxWide(Type::U32) => return x.max(y),
            Opcode::MaxWide(Type::S32) => return wa.max(wb).cast_unsigned(),
            Opcode::Set(compare, ty) => return holds(compare, ty, a, b),
            Opcode::SetAnd(compare, ty) => return holds(compare, ty, a, b) & z,
            Opcode::SetOr(compare, ty) => return holds(compare, ty, a, b) | z,
            Opcode::SetWide(compare, Type::U32) => return ordered(compare, &x, &y),
            Opcode::SetWide(compare, Type::S32) => return ordered(compare, &wa, &wb),
        };
        word.into()
    }
}

fn pair(low: u32, high: u32) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}

fn permute(bytes: u64, selector: u32) -> u32 {
    (0..4).fold(0, |word, at| {
        let nibble = selector >> (4 * at) & 15;
        let byte = (bytes >> (8 * (nibble & 7))) as u8;
        let byte = if nibble < 8 { byte } else { (byte.cast_signed() >> 7).cast_unsigned() };
        word | u32::from(byte) << (8 * at)
    })
}

fn lane(word: u32, at: u32, bits: u32, ty: Type) -> i32 {
    let top = (word >> (bits * at)) << (32 - bits);
    if ty == Type::S32 {
        top.cast_signed() >> (32 - bits)
    } else {
        (top >> (32 - bits)).cast_signed()
    }
}

/// `sum` plus the products of both halves with the lower two bytes.
fn dot2(halves: u32, bytes: u32, sum: u32, left: Type, right: Type) -> u32 {
    (0..2).fold(sum, |sum, at| {
        let product = lane(halves, at, 16, left).wrapping_mul(lane(bytes, at, 8, right));
        sum.wrapping_add(product.cast_unsigned())
    })
}

fn packed(word: i32, bits: u32, ty: Type) -> u32 {
    clamped(word, bits, ty).cast_unsigned() & ((1 << bits) - 1)
}

/// The nearest number that a lane of a type has.
fn clamped(number: i32, bits: u32, ty: Type) -> i32 {
    match ty {
        Type::S32 => number.clamp(-(1 << (bits - 1)), (1 << (bits - 1)) - 1),
        Type::U32 => number.clamp(0, (1 << bits) - 1),
    }
}

/// The low bits of an operation on each pair of lanes.
fn lanes([x, y]: [u32; 2], bits: u32, ty: Type, op: impl Fn(i32, i32) -> i32) -> u32 {
    (0..32 / bits).fold(0, |word, at| {
        let result = op(lane(x, at, bits, ty), lane(y, at, bits, ty)).cast_unsigned();
        word | (result & ((1 << bits) - 1)) << (at * bits)
    })
}

fn pairs(x: u32, y: u32, op: fn(u16, u16) -> u16) -> u32 {
    let half = |at: u32| u32::from(op((x >> at) as u16, (y >> at) as u16)) << at;
    half(16) | half(0)
}

fn absdiff(x: u32, y: u32, at: u32, ty: Type) -> u32 {
    lane(x, at, 8, ty).abs_diff(lane(y, at, 8, ty))
}

fn product(x: u32, y: u32, ty: Type) -> u64 {
    match ty {
        Type::U32 => u64::from(x) * u64::from(y),
        Type::S32 => (i64::from(x.cast_signed()) * i64::from(y.cast_signed())).cast_unsigned(),
    }
}

fn holds(compare: Compare, ty: Type, x: u32, y: u32) -> u64 {
    match ty {
        Type::U32 => ordered(compare, &x, &y),
        Type::S32 => ordered(compare, &x.cast_signed(), &y.cast_signed()),
    }
}

fn ordered<T: Ord>(compare: Compare, x: &T, y: &T) -> u64 {
    u64::from(match compare {
        Compare::Eq => x == y,
        Compare::Ne => x != y,
        Compare::Lt => x < y,
        Compare::Le => x <= y,
        Compare::Gt => x > y,
        Compare::Ge => x >= y,
    })
}

/// One instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Line {
    /// The operation.
    pub opcode: Opcode,
    args: [Arg; 3],
}

impl Line {
    pub(super) fn new(opcode: Opcode, args: [Arg; 3]) -> Line {
        Line { opcode, args }
    }

    /// The operands that it reads.
    pub fn args(&self) -> &[Arg] {
        &self.args[..self.opcode.arity()]
    }

    /// The result, after some lines with these results. `words` gives the words from outside.
    pub(super) fn eval(&self, results: &[u64], words: impl Fn(Arg) -> u32) -> u64 {
        self.opcode.eval(self.args.map(|arg| match arg {
            Arg::Input(_) | Arg::Register(_) => words(arg).into(),
            Arg::Line(at) => results.get(usize::from(at)).copied().unwrap_or(0),
            Arg::Constant(value) => value,
        }))
    }
}

/// The results of lines, one after the other.
pub(super) fn results(lines: &[Line], words: impl Fn(Arg) -> u32) -> Vec<u64> {
    let mut results: Vec<u64> = Vec::with_capacity(lines.len());
    for line in lines {
        results.push(line.eval(&results, &words));
    }
    results
}

/// Ordinary PTX that computes the new `d` of a video instruction from `a`, `b` and `c`.
/// The last line gives the result. No line overwrites a value that a later line reads,
/// so `d` may be any of the sources.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Sequence {
    lines: Vec<Line>,
}

impl Sequence {
    /// The instructions, in order; at least one.
    #[doc(hidden)]
    pub fn lines(&self) -> &[Line] {
        &self.lines
    }

    /// The new `d` for source words.
    pub fn eval(&self, a: u32, b: u32, c: u32) -> u32 {
        let results = results(&self.lines, |arg| match arg {
            Arg::Input(input) => [a, b, c][input as usize],
            _ => 0,
        });
        results.last().map_or(0, |&result| result as u32)
    }

    /// The oldest target and PTX version that have all instructions of the sequence.
    pub fn requirement(&self) -> (Target, PtxVersion) {
        let needs = || self.lines.iter().map(|line| line.opcode.needs());
        let target = Target::all().find(|target| needs().all(|feature| target.has(feature)));
        let version = needs().filter_map(Feature::since).max();
        (target.unwrap_or(Target::NEWEST), version.unwrap_or(PtxVersion::new(2, 0)))
    }

    /// Whether no line is a video instruction itself.
    pub fn is_ordinary(&self) -> bool {
        let video =
            |line: &Line| matches!(line.opcode, Opcode::AbsDiff4(_) | Opcode::SumAbsDiff4(_));
        !self.lines.iter().any(video)
    }

    /// The sequence for registers with these declared types. Where its instructions
    /// would reject them, it works on copies, which cost nothing in machine code.
    #[must_use]
    pub fn for_registers(&self, registers: WordRegisters) -> Sequence {
        let halves = |line: &Line| line.opcode.takes_registers_only();
        match registers {
            WordRegisters::Untyped => self.clone(),
            WordRegisters::Integer if !self.lines.iter().any(halves) => self.clone(),
            WordRegisters::Integer | WordRegisters::Packed => self.on_copies(),
        }
    }

    /// The sequence that reads `b` where this one reads `a`, and `a` where this one reads `b`.
    pub(super) fn exchanged(&self) -> Sequence {
        let exchange = |arg| match arg {
            Arg::Input(Input::A) => Arg::Input(Input::B),
            Arg::Input(Input::B) => Arg::Input(Input::A),
            _ => arg,
        };
        let lines = self.lines.iter();
        let lines = lines.map(|line| Line { args: line.args.map(exchange), ..*line }).collect();
        Sequence { lines }
    }

    /// The sequence with these constants in the place of inputs.
    pub(super) fn with_constants(&self, constants: [Option<u32>; 3]) -> Sequence {
        let constant = |input| constants[input as usize].map_or(Arg::Input(input), word);
        let (builder, values) = Builder::of(&self.lines, constant);
        builder.finish(values.last().copied().unwrap_or(ZERO))
    }

    fn on_copies(&self) -> Sequence {
        let read = |input| self.lines.iter().any(|line| line.args().contains(&Arg::Input(input)));
        let inputs: Vec<Input> = Input::ALL.into_iter().filter(|input| read(*input)).collect();
        let copy = |arg| Line { opcode: Opcode::Move, args: [arg, ZERO, ZERO] };
        let mut lines: Vec<Line> = inputs.iter().map(|input| copy(Arg::Input(*input))).collect();
        for line in &self.lines {
            let args = line.args.map(|arg| match arg {
                Arg::Line(at) => Arg::Line(at + inputs.len() as u16),
                Arg::Input(input) => inputs
                    .iter()
                    .position(|own| *own == input)
                    .map_or(arg, |at| Arg::Line(at as u16)),
                Arg::Register(_) | Arg::Constant(_) => arg,
            });
            lines.push(Line { opcode: line.opcode, args });
        }
        lines.push(copy(Arg::Line(lines.len() as u16 - 1)));
        Sequence { lines }
    }
}

const ZERO: Arg = Arg::Constant(0);

/// Builds sequences. Equal lines are written once, constants are computed, and lines
/// without effect are left out.
#[doc(hidden)]
#[derive(Clone, Debug, Default)]
pub struct Builder {
    lines: Vec<Line>,
}

impl Builder {
    /// A builder of lines with other inputs, and the value of each line.
    pub(super) fn of(lines: &[Line], input: impl Fn(Input) -> Arg) -> (Builder, Vec<Arg>) {
        let mut builder = Builder::default();
        let mut values: Vec<Arg> = Vec::new();
        for line in lines {
            let args = line.args().iter().map(|arg| match *arg {
                Arg::Line(at) => values[usize::from(at)],
                Arg::Input(own) => input(own),
                Arg::Register(_) | Arg::Constant(_) => *arg,
            });
            let args: Vec<Arg> = args.collect();
            values.push(builder.push(line.opcode, &args));
        }
        (builder, values)
    }

    /// The value of an instruction on arguments of the right classes.
    pub fn push(&mut self, opcode: Opcode, args: &[Arg]) -> Arg {
        let mut all = [ZERO; 3];
        all[..args.len()].copy_from_slice(args);
        if let Some(value) = simplified(opcode, all) {
            return value;
        }
        if let (Opcode::Add, [Arg::Line(at), more @ Arg::Constant(_), _]) = (opcode, all)
            && let Line { opcode: Opcode::Mad, args: [x, y, known @ Arg::Constant(_)] } =
                self.lines[usize::from(at)]
        {
            let sum = self.add(known, more);
            return self.push(Opcode::Mad, &[x, y, sum]);
        }
        if opcode.takes_registers_only() {
            for arg in &mut all[..opcode.arity()] {
                if let Arg::Constant(_) = arg {
                    *arg = self.line(Opcode::Move, [*arg, ZERO, ZERO]);
                }
            }
        }
        self.line(opcode, all)
    }

    fn line(&mut self, opcode: Opcode, args: [Arg; 3]) -> Arg {
        let line = Line { opcode, args };
        let at = self.lines.iter().position(|other| *other == line).unwrap_or_else(|| {
            self.lines.push(line);
            self.lines.len() - 1
        });
        Arg::Line(at as u16)
    }

    /// A bitwise function of three words, from instructions on two words, which ptxas
    /// joins again.
    ///
    /// ptxas 12.9 and 13.5 crash on a `lop3` whose result is only tested for zero, as a
    /// program may do with `d`.
    fn split(&mut self, table: u8, args: [Arg; 3]) -> Arg {
        // Each word in turn selects one of two functions of the other two.
        let ways = (0..3u8).map(|pivot| {
            let (first, second) = [(2, 1), (2, 0), (1, 0)][usize::from(pivot)];
            let row = |on: bool, x: u8, y: u8| {
                let row = u8::from(on) << pivot | x << first | y << second;
                table >> row & 1
            };
            let part = |on| (0..4u8).fold(0, |all, at| all | row(on, at >> 1, at & 1) << at);
            (pivot, first, second, part(false), part(false) ^ part(true))
        });
        let cost = |table: u8| match table {
            0b0000 | 0b1111 | 0b1100 | 0b1010 => 0,
            0b1000 | 0b1110 | 0b0110 | 0b0011 | 0b0101 => 1,
            _ => 2,
        };
        let best = ways.min_by_key(|(_, _, _, off, change)| cost(*off) + cost(*change));
        let (pivot, first, second, off, change) = best.unwrap_or_default();
        // Bit 2 of a row is the first word.
        let arg = |bit: u8| args[2 - usize::from(bit)];
        let off = self.two(off, arg(first), arg(second));
        let change = self.two(change, arg(first), arg(second));
        let change = self.and(arg(pivot), change);
        self.xor(off, change)
    }

    /// A bitwise function of two words: bit `2x + y` of its truth table.
    fn two(&mut self, table: u8, x: Arg, y: Arg) -> Arg {
        match table {
            0b0000 => ZERO,
            0b1111 => word(u32::MAX),
            0b1100 => x,
            0b1010 => y,
            0b0011 => self.push(Opcode::Not, &[x]),
            0b0101 => self.push(Opcode::Not, &[y]),
            0b1000 => self.and(x, y),
            0b1110 => self.or(x, y),
            0b0110 => self.xor(x, y),
            0b0010 => {
                let x = self.push(Opcode::Not, &[x]);
                self.and(x, y)
            }
            0b0100 => {
                let y = self.push(Opcode::Not, &[y]);
                self.and(x, y)
            }
            _ => {
                let opposite = self.two(!table & 0b1111, x, y);
                self.push(Opcode::Not, &[opposite])
            }
        }
    }

    /// The sequence of the lines that a result depends on.
    #[must_use]
    pub fn finish(mut self, result: Arg) -> Sequence {
        let last = match result {
            Arg::Line(at) => Some(self.lines[usize::from(at)]),
            Arg::Input(_) | Arg::Register(_) | Arg::Constant(_) => None,
        };
        let result = match last {
            Some(Line { opcode: Opcode::Lop3(table), args }) => self.split(table, args),
            _ => result,
        };
        let result = match result {
            Arg::Line(at) => usize::from(at),
            Arg::Input(_) | Arg::Register(_) | Arg::Constant(_) => {
                let args = [result, ZERO, ZERO];
                self.lines.push(Line { opcode: Opcode::Move, args });
                self.lines.len() - 1
            }
        };
        Sequence { lines: self.used(&mut [Arg::Line(result as u16)]) }
    }

    /// The lines that some results depend on, those of the first result first. The results are
    /// numbered anew.
    pub(super) fn used(&self, results: &mut [Arg]) -> Vec<Line> {
        let mut moved: Vec<Option<u16>> = vec![None; self.lines.len()];
        let renumbered = |arg: Arg, moved: &[Option<u16>]| match arg {
            Arg::Line(read) => Arg::Line(moved[usize::from(read)].unwrap_or(read)),
            other => other,
        };
        let mut lines: Vec<Line> = Vec::new();
        for result in results {
            let mut is_needed = vec![false; self.lines.len()];
            let mut ends = vec![*result];
            while let Some(end) = ends.pop() {
                if let Arg::Line(at) = end
                    && moved[usize::from(at)].is_none()
                    && !std::mem::replace(&mut is_needed[usize::from(at)], true)
                {
                    ends.extend(self.lines[usize::from(at)].args());
                }
            }
            for (at, Line { opcode, args }) in self.lines.iter().enumerate() {
                if is_needed[at] {
                    let args = args.map(|arg| renumbered(arg, &moved));
                    moved[at] = Some(lines.len() as u16);
                    lines.push(Line { opcode: *opcode, args });
                }
            }
            *result = renumbered(*result, &moved);
        }
        lines
    }

    /// All lines so far.
    pub(super) fn lines(&self) -> &[Line] {
        &self.lines
    }

    pub(crate) fn add(&mut self, x: Arg, y: Arg) -> Arg {
        self.push(Opcode::Add, &[x, y])
    }

    pub(crate) fn sub(&mut self, x: Arg, y: Arg) -> Arg {
        self.push(Opcode::Sub, &[x, y])
    }

    /// Differences of halves.
    pub fn sub2(&mut self, x: Arg, y: Arg) -> Arg {
        // ptxas makes one instruction of this.
        let halves = [Opcode::LowHalf, Opcode::HighHalf].map(|half| {
            let half = self.push(half, &[y]);
            self.push(Opcode::NegateHalf, &[half])
        });
        let negative = self.push(Opcode::JoinHalves, &halves);
        self.push(Opcode::Add2, &[x, negative])
    }

    pub(crate) fn and(&mut self, x: Arg, y: Arg) -> Arg {
        self.push(Opcode::And, &[x, y])
    }

    pub(crate) fn or(&mut self, x: Arg, y: Arg) -> Arg {
        self.push(Opcode::Or, &[x, y])
    }

    pub(crate) fn xor(&mut self, x: Arg, y: Arg) -> Arg {
        self.push(Opcode::Xor, &[x, y])
    }

    pub(crate) fn permute(&mut self, x: Arg, y: Arg, selector: u32) -> Arg {
        self.push(Opcode::Permute, &[x, y, word(selector)])
    }

    pub(crate) fn lop3(&mut self, x: Arg, y: Arg, z: Arg, f: fn(u8, u8, u8) -> u8) -> Arg {
        self.push(Opcode::Lop3(f(0xf0, 0xcc, 0xaa)), &[x, y, z])
    }
}

/// A constant word.
pub(crate) fn word(value: u32) -> Arg {
    Arg::Constant(value.into())
}

/// The value of a line that need not be written.
fn simplified(opcode: Opcode, args: [Arg; 3]) -> Option<Arg> {
    let constant = |arg: Arg| match arg {
        Arg::Constant(value) => Some(value),
        Arg::Input(_) | Arg::Register(_) | Arg::Line(_) => None,
    };
    let known = args.map(|arg| constant(arg).unwrap_or(0));
    if args[..opcode.arity()].iter().all(|arg| constant(*arg).is_some()) {
        return Some(Arg::Constant(opcode.eval(known)));
    }
    let [x, y, z] = args;
    let (zero, ones) = (ZERO, word(u32::MAX));
    match opcode {
        Opcode::Add | Opcode::Or | Opcode::Xor | Opcode::Max(Type::U32) if x == zero => Some(y),
        Opcode::Add
        | Opcode::Sub
        | Opcode::Or
        | Opcode::Xor
        | Opcode::Shl
        | Opcode::Shr(_)
        | Opcode::Max(Type::U32)
            if y == zero =>
        {
            Some(x)
        }
        Opcode::And if x == y || y == ones => Some(x),
        Opcode::And if x == ones => Some(y),
        Opcode::And | Opcode::Min(Type::U32) if x == zero || y == zero => Some(zero),
        Opcode::Sub | Opcode::Xor | Opcode::Set(Compare::Ne | Compare::Lt | Compare::Gt, _)
            if x == y =>
        {
            Some(zero)
        }
        Opcode::Permute if z == word(0x3210) => Some(x),
        Opcode::Permute if z == word(0x7654) => Some(y),
        Opcode::Or
        | Opcode::Min(_)
        | Opcode::Max(_)
        | Opcode::Min2(_)
        | Opcode::Max2(_)
        | Opcode::Min4(_)
        | Opcode::Max4(_)
        | Opcode::Select
            if x == y =>
        {
            Some(x)
        }
        Opcode::Select => match constant(z) {
            Some(0) => Some(y),
            Some(_) => Some(x),
            None => None,
        },
        Opcode::Set(Compare::Eq | Compare::Le | Compare::Ge, _) if x == y => Some(Arg::Constant(1)),
        Opcode::SetAnd(..) if z == zero => Some(zero),
        Opcode::SetOr(..) if z == Arg::Constant(1) => Some(z),
        _ => None,
    }
}

impl fmt::Display for Opcode {
    /// The opcode with its modifiers, as PTX spells it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |compare: &Compare| compare.modifier().text();
        match self {
            Opcode::Add => f.write_str("add.s32"),
            Opcode::Sub => f.write_str("sub.s32"),
            Opcode::Mul => f.write_str("mul.lo.s32"),
            Opcode::Mad => f.write_str("mad.lo.s32"),
            Opcode::AddSat => f.write_str("add.sat.s32"),
            Opcode::SubSat => f.write_str("sub.sat.s32"),
            Opcode::Abs => f.write_str("abs.s32"),
            Opcode::And => f.write_str("and.b32"),
            Opcode::Or => f.write_str("or.b32"),
            Opcode::Xor => f.write_str("xor.b32"),
            Opcode::Not => f.write_str("not.b32"),
            Opcode::Lop3(_) => f.write_str("lop3.b32"),
            Opcode::Shl => f.write_str("shl.b32"),
            Opcode::Shr(ty) => write!(f, "shr.{}32", sign(*ty)),
            Opcode::FunnelLeftWrap => f.write_str("shf.l.wrap.b32"),
            Opcode::FunnelLeft => f.write_str("shf.l.clamp.b32"),
            Opcode::FunnelRightWrap => f.write_str("shf.r.wrap.b32"),
            Opcode::Min(ty) => write!(f, "min.{}32", sign(*ty)),
            Opcode::Max(ty) => write!(f, "max.{}32", sign(*ty)),
            Opcode::Sad(ty) => write!(f, "sad.{}32", sign(*ty)),
            Opcode::Permute => f.write_str("prmt.b32"),
            Opcode::Select => f.write_str("selp.b32"),
            Opcode::Dot4(a, b) => write!(f, "dp4a.{}32.{}32", sign(*a), sign(*b)),
            Opcode::Dot2(a, b) => write!(f, "dp2a.lo.{}32.{}32", sign(*a), sign(*b)),
            Opcode::Dot2High(a, b) => write!(f, "dp2a.hi.{}32.{}32", sign(*a), sign(*b)),
            Opcode::Pack2(ty) => write!(f, "cvt.pack.sat.{}16.s32", sign(*ty)),
            Opcode::Pack4(ty) => write!(f, "cvt.pack.sat.{}8.s32.b32", sign(*ty)),
            Opcode::Move | Opcode::LowHalf | Opcode::HighHalf | Opcode::JoinHalves => {
                f.write_str("mov.b32")
            }
            Opcode::NegateHalf => f.write_str("neg.s16"),
            // ptxas takes negations of halves into this sum, but not into `add.u16x2`.
            Opcode::Add2 => f.write_str("add.s16x2"),
            Opcode::Min2(ty) => write!(f, "min.{}16x2", sign(*ty)),
            Opcode::Max2(ty) => write!(f, "max.{}16x2", sign(*ty)),
            Opcode::MinRelu2 => f.write_str("min.relu.s16x2"),
            Opcode::MaxRelu2 => f.write_str("max.relu.s16x2"),
            Opcode::AddSat2(ty) => write!(f, "add.sat.{}16x2", sign(*ty)),
            Opcode::Add4 => f.write_str("add.u8x4"),
            Opcode::Sub4 => f.write_str("sub.u8x4"),
            Opcode::AddSat4(ty) => write!(f, "add.sat.{}8x4", sign(*ty)),
            Opcode::SubSat4(ty) => write!(f, "sub.sat.{}8x4", sign(*ty)),
            Opcode::Min4(ty) => write!(f, "min.{}8x4", sign(*ty)),
            Opcode::Max4(ty) => write!(f, "max.{}8x4", sign(*ty)),
            Opcode::MinRelu4 => f.write_str("min.relu.s8x4"),
            Opcode::MaxRelu4 => f.write_str("max.relu.s8x4"),
            Opcode::AddFloat2 => f.write_str("add.f16x2"),
            Opcode::SubFloat2 => f.write_str("sub.f16x2"),
            Opcode::AddSatFloat2 => f.write_str("add.sat.f16x2"),
            Opcode::SubSatFloat2 => f.write_str("sub.sat.f16x2"),
            Opcode::MinFloat2 => f.write_str("min.f16x2"),
            Opcode::MaxFloat2 => f.write_str("max.f16x2"),
            Opcode::AbsDiff4(ty) => write!(f, "vabsdiff4.u32.{0}32.{0}32", sign(*ty)),
            Opcode::SumAbsDiff4(ty) => write!(f, "vabsdiff4.u32.{0}32.{0}32.add", sign(*ty)),
            Opcode::Count => f.write_str("popc.b32"),
            Opcode::Low => f.write_str("cvt.u32.u64"),
            Opcode::High => f.write_str("mov.b64"),
            Opcode::Extend(ty) => write!(f, "cvt.{0}64.{0}32", sign(*ty)),
            Opcode::AddWide => f.write_str("add.s64"),
            Opcode::SubWide => f.write_str("sub.s64"),
            Opcode::MulWide => f.write_str("mul.lo.s64"),
            Opcode::Product(ty) => write!(f, "mul.wide.{}32", sign(*ty)),
            Opcode::ShlWide => f.write_str("shl.b64"),
            Opcode::ShrWide(ty) => write!(f, "shr.{}64", sign(*ty)),
            Opcode::MinWide(ty) => write!(f, "min.{}64", sign(*ty)),
            Opcode::MaxWide(ty) => write!(f, "max.{}64", sign(*ty)),
            Opcode::Set(compare, ty) => write!(f, "setp{}.{}32", name(compare), sign(*ty)),
            Opcode::SetAnd(compare, ty) => write!(f, "setp{}.and.{}32", name(compare), sign(*ty)),
            Opcode::SetOr(compare, ty) => write!(f, "setp{}.or.{}32", name(compare), sign(*ty)),
            Opcode::SetWide(compare, ty) => write!(f, "setp{}.{}64", name(compare), sign(*ty)),
        }
    }
}
