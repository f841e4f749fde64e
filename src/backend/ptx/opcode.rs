//! The ordinary instructions that sequences are made of: one table.

use std::fmt;

use super::half;
use super::sequence::{Arg, ONES, ZERO, word};
use crate::isa::{Compare, Feature, Modifier, Target, Type};

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

/// Values of the classes. Rows of the table name them.
type Word = u32;
type Wide = u64;
type Half = u16;
type Predicate = bool;

/// A value of a class as 64 bits and back.
trait ClassValue: Copy {
    fn of(bits: u64) -> Self;
    fn bits(self) -> u64;
}

macro_rules! integers {
    ($($class:ident)+) => {$(
        impl ClassValue for $class {
            fn of(bits: u64) -> $class {
                bits as $class
            }

            fn bits(self) -> u64 {
                self.into()
            }
        }
    )+};
}

integers! { Word Wide Half }

impl ClassValue for Predicate {
    fn of(bits: u64) -> Predicate {
        bits != 0
    }

    fn bits(self) -> u64 {
        self.into()
    }
}

/// A part of an opcode, such as a type.
pub(super) trait OpcodePart: Copy + 'static {
    /// All values of the part; for a truth table, some values.
    const ALL: &'static [Self];

    /// The text of the value in an opcode.
    fn text(self) -> &'static str;

    /// Reads the text of a placeholder in the text of an opcode.
    fn read(place: &str, text: &str) -> Option<Self>;
}

impl OpcodePart for Type {
    const ALL: &'static [Type] = &[Type::U32, Type::S32];

    fn text(self) -> &'static str {
        if self == Type::S32 { "s" } else { "u" }
    }

    fn read(place: &str, _: &str) -> Option<Type> {
        match place {
            "u" | "b" => Some(Type::U32),
            "s" => Some(Type::S32),
            _ => None,
        }
    }
}

impl OpcodePart for Compare {
    const ALL: &'static [Compare] = Compare::ALL;

    fn text(self) -> &'static str {
        self.modifier().text()
    }

    /// `.lt`; also `.lo`, which is its name for unsigned types.
    fn read(place: &str, text: &str) -> Option<Compare> {
        let is_unsigned = text.contains(".u");
        let place = match place {
            ".lo" if is_unsigned => ".lt",
            ".ls" if is_unsigned => ".le",
            ".hi" if is_unsigned => ".gt",
            ".hs" if is_unsigned => ".ge",
            other => other,
        };
        Modifier::from_text(place).and_then(Compare::from_modifier)
    }
}

impl OpcodePart for u8 {
    const ALL: &'static [u8] = &[0x1b, 0xe4];

    /// A truth table is an operand.
    fn text(self) -> &'static str {
        ""
    }

    fn read(_: &str, _: &str) -> Option<u8> {
        Some(0)
    }
}

/// Appends an opcode with all values of its parts: none, one or two.
macro_rules! push_all {
    ($all:ident $name:ident) => {
        $all.extend([Opcode::$name])
    };
    ($all:ident $name:ident $part:ident) => {
        $all.extend(<$part>::ALL.iter().map(|one| Opcode::$name(*one)))
    };
    ($all:ident $name:ident $part:ident $other:ident) => {
        for one in <$part>::ALL {
            $all.extend(<$other>::ALL.iter().map(|other| Opcode::$name(*one, *other)));
        }
    };
}

/// What a row says of an opcode beside its text, its classes and its value.
#[derive(Clone, Copy)]
pub(super) struct Facts {
    /// What a target must have for the instruction.
    needs: Feature,
    /// Whether the first two arguments may change places.
    pub(super) commutes: bool,
    /// The machine instructions that it takes.
    cost: u32,
    /// The cost on targets that have a feature, or do not.
    other_cost: Option<(Feature, bool, u32)>,
    /// Without this feature, the instruction has the weight of four sums.
    fast_with: Option<Feature>,
    /// Whether ptxas makes one machine instruction of this instruction and a sum.
    pub(super) joins_sums: bool,
    /// Whether ptxas first moves a constant into a register.
    pub(super) moves_constants: bool,
    /// How the operands are written, if not one after the other.
    operands: Option<&'static str>,
}

impl Facts {
    const fn of(needs: Feature) -> Facts {
        Facts {
            needs,
            commutes: false,
            cost: 1,
            other_cost: None,
            fast_with: None,
            joins_sums: false,
            moves_constants: false,
            operands: None,
        }
    }

    const fn commutes(self) -> Facts {
        Facts { commutes: true, ..self }
    }

    const fn costs(self, cost: u32) -> Facts {
        Facts { cost, ..self }
    }

    const fn costs_with(self, feature: Feature, cost: u32) -> Facts {
        Facts { other_cost: Some((feature, true, cost)), ..self }
    }

    const fn costs_without(self, feature: Feature, cost: u32) -> Facts {
        Facts { other_cost: Some((feature, false, cost)), ..self }
    }

    const fn fast_with(self, feature: Feature) -> Facts {
        Facts { fast_with: Some(feature), ..self }
    }

    const fn joins_sums(self) -> Facts {
        Facts { joins_sums: true, ..self }
    }

    const fn moves_constants(self) -> Facts {
        Facts { moves_constants: true, ..self }
    }

    const fn written(self, operands: &'static str) -> Facts {
        Facts { operands: Some(operands), ..self }
    }

    /// The approximate number of machine instructions on a target.
    pub(super) fn cost(&self, target: Target) -> u32 {
        match self.other_cost {
            Some((feature, with, cost)) if target.has(feature) == with => cost,
            _ => self.cost,
        }
    }

    /// How many sums take as long as each of these machine instructions.
    pub(super) fn weight(&self, target: Target) -> u32 {
        if self.fast_with.is_none_or(|feature| target.has(feature)) { 1 } else { 4 }
    }
}

/// A row of the table as its text is read: the ways to write it, and the opcode for the texts of
/// its parts.
pub(super) type Reading = (&'static [&'static str], fn(&super::read::Places<'_>) -> Option<Opcode>);

macro_rules! opcodes {
    ($(
        $(#[$doc:meta])+
        $name:ident $(($($part:ident: $kind:ident),+))? $text:literal $(| $alias:literal)*
        ($($arg:ident: $class:ident),+) -> $result:ident $value:block
        $needs:ident $(. $fact:ident($($given:expr),*))*
        $(fold { $($when:expr => $same:expr),+ })?
    )*) => {
        /// An ordinary PTX instruction. Types say how words are read.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Opcode {
            $($(#[$doc])+ $name $(($($kind),+))?,)*
        }

        // Not every row needs the values of all its parts and arguments.
        #[allow(unused_variables)]
        impl Opcode {
            /// Every opcode with each of its types and comparisons, and some tables of `lop3`.
            #[doc(hidden)]
            pub fn all() -> Vec<Opcode> {
                let mut all = Vec::new();
                $(push_all!(all $name $($($kind)+)?);)*
                all
            }

            /// The class of the result.
            pub const fn class(self) -> Class {
                match self { $(Opcode::$name { .. } => Class::$result,)* }
            }

            /// The classes of the arguments, 1 to 3.
            pub const fn arguments(self) -> &'static [Class] {
                match self { $(Opcode::$name { .. } => &[$(Class::$class),+],)* }
            }

            /// The result for arguments of the right classes. Words and 64-bit values are
            /// unsigned numbers; predicates are 0 or 1.
            pub fn eval(self, args: [u64; 3]) -> u64 {
                match self {
                    $(Opcode::$name $(($($part),+))? => {
                        let [$($arg,)+ ..] = args;
                        let ($($arg,)+) = ($($class::of($arg),)+);
                        let result: $result = $value;
                        result.bits()
                    })*
                }
            }

            pub(super) fn facts(self) -> Facts {
                match self {
                    $(Opcode::$name $(($($part),+))? => {
                        Facts::of(Feature::$needs)$(.$fact($($given),*))*
                    })*
                }
            }

            /// The value of a line that need not be written, by the rules of the opcode's row.
            pub(super) fn folded(self, args: [Arg; 3]) -> Option<Arg> {
                match self {
                    $(Opcode::$name $(($($part),+))? => {
                        let [$($arg,)+ ..] = args;
                        $($(if $when {
                            return Some($same);
                        })+)?
                        None
                    })*
                }
            }

            /// The rows of the table, each as the way to read its text.
            pub(super) const READINGS: &'static [Reading] = &[$((
                &[$text $(, $alias)*],
                |places| Some(Opcode::$name $(($(places.part(stringify!($part))?),+))?),
            ),)*];
        }

        impl fmt::Display for Opcode {
            /// The opcode with its modifiers, as PTX spells it.
            #[allow(unused_variables)]
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match *self {
                    $(Opcode::$name $(($($part),+))? => {
                        $($(let $part = $part.text();)+)?
                        write!(f, $text)
                    })*
                }
            }
        }
    };
}

// A row has: the texts; the arguments and the result; the feature that the target must have, and
// unusual facts (`Facts`); and `fold`, the arguments for which the result is an existing value. The
// first text is written; further texts are only read. A type letter that is no part of the opcode
// may be any letter in a text that is read.
opcodes! {
    /// Copy of a word.
    Move "mov.b32" (x: Word) -> Word { x }
        Video
    /// Sum, modulo 2^32.
    Add "add.s32" (x: Word, y: Word) -> Word { x.wrapping_add(y) }
        Video.commutes()
        fold { x == ZERO => y, y == ZERO => x }
    /// Difference, modulo 2^32.
    Sub "sub.s32" (x: Word, y: Word) -> Word { x.wrapping_sub(y) }
        Video.moves_constants()
        fold { y == ZERO => x, x == y => ZERO }
    /// Product, modulo 2^32.
    Mul "mul.lo.s32" (x: Word, y: Word) -> Word { x.wrapping_mul(y) }
        Video.commutes()
    /// Product and sum, modulo 2^32.
    Mad "mad.lo.s32" (x: Word, y: Word, z: Word) -> Word { x.wrapping_mul(y).wrapping_add(z) }
        Video.commutes()
    /// Sum clamped to signed 32 bits.
    AddSat "add.sat.s32" (x: Word, y: Word) -> Word { signed(x).saturating_add(signed(y)) as Word }
        Video.commutes().costs_without(Feature::SaturatingWords, 5)
    /// Difference clamped to signed 32 bits.
    SubSat "sub.sat.s32" (x: Word, y: Word) -> Word { signed(x).saturating_sub(signed(y)) as Word }
        Video.costs_without(Feature::SaturatingWords, 5)
    /// Absolute value of a signed word.
    Abs "abs.s32" (x: Word) -> Word { signed(x).unsigned_abs() }
        Video
    /// Bits in both words.
    And "and.b32" (x: Word, y: Word) -> Word { x & y }
        Video.commutes()
        fold { x == y || y == ONES => x, x == ONES => y, x == ZERO || y == ZERO => ZERO }
    /// Bits in at least one of the words.
    Or "or.b32" (x: Word, y: Word) -> Word { x | y }
        Video.commutes()
        fold { x == ZERO => y, y == ZERO || x == y => x }
    /// Bits in exactly one of the words.
    Xor "xor.b32" (x: Word, y: Word) -> Word { x ^ y }
        Video.commutes()
        fold { x == ZERO => y, y == ZERO => x, x == y => ZERO }
    /// Bits that are not set.
    Not "not.b32" (x: Word) -> Word { !x }
        Video
    /// Any bitwise function of three words, by its truth table: bit `4x + 2y + z`.
    Lop3(table: u8) "lop3.b32" (x: Word, y: Word, z: Word) -> Word {
            (0..8).filter(|row| table >> row & 1 == 1).fold(0, |bits, row| {
                let pick = |word: Word, bit: u8| if row >> bit & 1 == 1 { word } else { !word };
                bits | pick(x, 2) & pick(y, 1) & pick(z, 0)
            })
        }
        Lop3.written("d, x, y, z, t")
    /// Shift left; amounts above 31 give 0.
    Shl "shl.b32" (x: Word, by: Word) -> Word { x.checked_shl(by).unwrap_or(0) }
        Video
        fold { by == ZERO => x }
    /// Shift right; amounts above 31 count as 32.
    Shr(ty: Type) "shr.{ty}32" (x: Word, by: Word) -> Word { (number(x, ty) >> by.min(32)) as Word }
        Video
        fold { by == ZERO => x }
    /// The upper word of the pair (low, high) shifted left by an amount, modulo 32.
    FunnelLeftWrap "shf.l.wrap.b32" (low: Word, high: Word, by: Word) -> Word {
            (pair(low, high) << (by & 31) >> 32) as Word
        }
        FunnelShift
    /// The upper word of the pair (low, high) shifted left by an amount up to 32.
    FunnelLeft "shf.l.clamp.b32" (low: Word, high: Word, by: Word) -> Word {
            (pair(low, high) << by.min(32) >> 32) as Word
        }
        FunnelShift
    /// The lower word of the pair (low, high) shifted right by an amount, modulo 32.
    FunnelRightWrap "shf.r.wrap.b32" (low: Word, high: Word, by: Word) -> Word {
            (pair(low, high) >> (by & 31)) as Word
        }
        FunnelShift
    /// The smaller.
    Min(ty: Type) "min.{ty}32" (x: Word, y: Word) -> Word {
            number(x, ty).min(number(y, ty)) as Word
        }
        Video.commutes()
        fold { ty == Type::U32 && (x == ZERO || y == ZERO) => ZERO, x == y => x }
    /// The larger.
    Max(ty: Type) "max.{ty}32" (x: Word, y: Word) -> Word {
            number(x, ty).max(number(y, ty)) as Word
        }
        Video.commutes()
        fold {
            ty == Type::U32 && x == ZERO => y,
            ty == Type::U32 && y == ZERO || x == y => x
        }
    /// Absolute difference of the first two, plus the third, modulo 2^32.
    Sad(ty: Type) "sad.{ty}32" (x: Word, y: Word, z: Word) -> Word {
            (number(x, ty).abs_diff(number(y, ty)) as Word).wrapping_add(z)
        }
        Video.commutes().costs_with(Feature::EmulatedSad, 3).moves_constants()
    /// Four bytes of the pair (first, second), by the nibbles of the third; with
    /// bit 3 set, the byte's sign eight times.
    Permute "prmt.b32" (x: Word, y: Word, s: Word) -> Word { permute(pair(x, y), s) }
        Video.written("d, x, y, s")
        fold { s == word(0x3210) => x, s == word(0x7654) => y }
    /// The first where the predicate holds, else the second.
    Select "selp.b32" (x: Word, y: Word, p: Predicate) -> Word { if p { x } else { y } }
        Video
        fold { x == y || matches!(p, Arg::Constant(1..)) => x, p == ZERO => y }
    /// Sum of four products of bytes, plus the third.
    Dot4(left: Type, right: Type) "dp4a.{left}32.{right}32" (x: Word, y: Word, z: Word) -> Word {
            (0..4).fold(z, |sum, at| {
                let product = lane(x, at, 8, left).wrapping_mul(lane(y, at, 8, right));
                sum.wrapping_add(product.cast_unsigned())
            })
        }
        Dot.costs_with(Feature::DotOfRegisters, 2).moves_constants()
    /// Sum of the products of both halves of the first with the lower two bytes
    /// of the second, plus the third.
    Dot2(left: Type, right: Type) "dp2a.lo.{left}32.{right}32" (x: Word, y: Word, z: Word) -> Word {
            dot2(x, y, z, left, right)
        }
        Dot.costs_with(Feature::DotOfRegisters, 2).moves_constants()
    /// The same with the upper two bytes of the second.
    Dot2High(left: Type, right: Type) "dp2a.hi.{left}32.{right}32"
        (x: Word, y: Word, z: Word) -> Word { dot2(x, y >> 16, z, left, right) }
        Dot.costs_with(Feature::DotOfRegisters, 2).moves_constants()
    /// Two signed words clamped to halves of a type: the second in the lower.
    Pack2(ty: Type) "cvt.pack.sat.{ty}16.s32" (x: Word, y: Word) -> Word {
            packed(x, 16, ty) << 16 | packed(y, 16, ty)
        }
        Pack.fast_with(Feature::FastPack)
    /// Two signed words clamped to bytes of a type, the second in the lowest, below
    /// the lower half of the third.
    Pack4(ty: Type) "cvt.pack.sat.{ty}8.s32.b32" (x: Word, y: Word, z: Word) -> Word {
            z << 16 | packed(x, 8, ty) << 8 | packed(y, 8, ty)
        }
        Pack.fast_with(Feature::FastPack)
    /// The lower half of a word.
    LowHalf "mov.b32" (x: Word) -> Half { x as Half }
        Video.costs(0).written("{d, _}, x")
    /// The upper half of a word.
    HighHalf "mov.b32" (x: Word) -> Half { (x >> 16) as Half }
        Video.costs(0).written("{_, d}, x")
    /// The negative of a half, modulo 2^16. ptxas makes this negation part of a sum of halves.
    NegateHalf "neg.s16" (x: Half) -> Half { x.wrapping_neg() }
        Video.costs(0)
    /// A word of two halves: the first in the lower.
    JoinHalves "mov.b32" (x: Half, y: Half) -> Word { Word::from(y) << 16 | Word::from(x) }
        Video.costs(0).written("d, {x, y}")
    // ptxas takes negations of halves into this sum, but not into `add.u16x2`.
    /// Sums of halves.
    Add2 "add.s16x2" (x: Word, y: Word) -> Word { lanes([x, y], 16, Type::U32, |x, y| x + y) }
        Halves.commutes()
    /// The smaller of each pair of halves.
    Min2(ty: Type) "min.{ty}16x2" (x: Word, y: Word) -> Word { lanes([x, y], 16, ty, Ord::min) }
        Halves.commutes()
        fold { x == y => x }
    /// The larger of each pair of halves.
    Max2(ty: Type) "max.{ty}16x2" (x: Word, y: Word) -> Word { lanes([x, y], 16, ty, Ord::max) }
        Halves.commutes()
        fold { x == y => x }
    /// The smaller of each pair of signed halves, or 0 where that is negative.
    MinRelu2 "min.relu.s16x2" (x: Word, y: Word) -> Word {
            lanes([x, y], 16, Type::S32, |x, y| x.min(y).max(0))
        }
        Halves.commutes()
    /// The larger of each pair of signed halves, or 0 where that is negative.
    MaxRelu2 "max.relu.s16x2" (x: Word, y: Word) -> Word {
            lanes([x, y], 16, Type::S32, |x, y| x.max(y).max(0))
        }
        Halves.commutes()
    /// Sums of halves, clamped to a type.
    AddSat2(ty: Type) "add.sat.{ty}16x2" (x: Word, y: Word) -> Word {
            lanes([x, y], 16, ty, |x, y| clamped(x + y, 16, ty))
        }
        SaturatingHalves.commutes()
    /// Sums of bytes.
    Add4 "add.u8x4" (x: Word, y: Word) -> Word { lanes([x, y], 8, Type::U32, |x, y| x + y) }
        Bytes.commutes()
    /// Differences of bytes.
    Sub4 "sub.u8x4" (x: Word, y: Word) -> Word { lanes([x, y], 8, Type::U32, |x, y| x - y) }
        Bytes
    /// Sums of bytes, clamped to a type.
    AddSat4(ty: Type) "add.sat.{ty}8x4" (x: Word, y: Word) -> Word {
            lanes([x, y], 8, ty, |x, y| clamped(x + y, 8, ty))
        }
        Bytes.commutes()
    /// Differences of bytes, clamped to a type.
    SubSat4(ty: Type) "sub.sat.{ty}8x4" (x: Word, y: Word) -> Word {
            lanes([x, y], 8, ty, |x, y| clamped(x - y, 8, ty))
        }
        Bytes
    /// The smaller of each pair of bytes.
    Min4(ty: Type) "min.{ty}8x4" (x: Word, y: Word) -> Word { lanes([x, y], 8, ty, Ord::min) }
        Bytes.commutes()
        fold { x == y => x }
    /// The larger of each pair of bytes.
    Max4(ty: Type) "max.{ty}8x4" (x: Word, y: Word) -> Word { lanes([x, y], 8, ty, Ord::max) }
        Bytes.commutes()
        fold { x == y => x }
    /// The smaller of each pair of signed bytes, or 0 where that is negative.
    MinRelu4 "min.relu.s8x4" (x: Word, y: Word) -> Word {
            lanes([x, y], 8, Type::S32, |x, y| x.min(y).max(0))
        }
        Bytes.commutes()
    /// The larger of each pair of signed bytes, or 0 where that is negative.
    MaxRelu4 "max.relu.s8x4" (x: Word, y: Word) -> Word {
            lanes([x, y], 8, Type::S32, |x, y| x.max(y).max(0))
        }
        Bytes.commutes()
    /// Sums of halves as floating-point numbers.
    AddFloat2 "add.f16x2" (x: Word, y: Word) -> Word { pairs(x, y, half::sum) }
        FloatHalves.commutes()
    /// Differences of halves as floating-point numbers.
    SubFloat2 "sub.f16x2" (x: Word, y: Word) -> Word { pairs(x, y, half::difference) }
        FloatHalves
    /// Sums of halves as floating-point numbers, clamped to the range from 0 to 1.
    AddSatFloat2 "add.sat.f16x2" (x: Word, y: Word) -> Word {
            pairs(x, y, |x, y| half::saturated(half::sum(x, y)))
        }
        FloatHalves.commutes()
    /// Differences of halves as floating-point numbers, clamped to the range from 0 to 1.
    SubSatFloat2 "sub.sat.f16x2" (x: Word, y: Word) -> Word {
            pairs(x, y, |x, y| half::saturated(half::difference(x, y)))
        }
        FloatHalves
    /// The smaller of each pair of halves as floating-point numbers.
    MinFloat2 "min.f16x2" (x: Word, y: Word) -> Word { pairs(x, y, half::smaller) }
        FloatExtrema.commutes()
    /// The larger of each pair of halves as floating-point numbers.
    MaxFloat2 "max.f16x2" (x: Word, y: Word) -> Word { pairs(x, y, half::larger) }
        FloatExtrema.commutes()
    // The third source of the video instruction does not matter, but must be a register.
    /// Absolute differences of bytes (a video instruction that targets before `sm_120`
    /// have).
    AbsDiff4(ty: Type) "vabsdiff4.u32.{ty}32.{ty}32" (x: Word, y: Word) -> Word {
            (0..4).fold(0, |word, at| word | absdiff(x, y, at, ty) << (8 * at))
        }
        SimdVideo.commutes().written("d, x, y, x")
    /// The third plus the sum of the absolute differences of bytes (likewise).
    SumAbsDiff4(ty: Type) "vabsdiff4.u32.{ty}32.{ty}32.add" (x: Word, y: Word, z: Word) -> Word {
            (0..4).fold(z, |sum, at| sum.wrapping_add(absdiff(x, y, at, ty)))
        }
        SimdVideo.commutes()
    /// The number of set bits.
    Count "popc.b32" (x: Word) -> Word { x.count_ones() }
        Video
    /// The lower word of 64 bits.
    Low "cvt.u32.u64" (x: Wide) -> Word { x as Word }
        Video.costs(0)
    /// The upper word of 64 bits.
    High "mov.b64" (x: Wide) -> Word { (x >> 32) as Word }
        Video.costs(0).written("{_, d}, x")
    /// A word extended to 64 bits.
    Extend(ty: Type) "cvt.{ty}64.{ty}32" | "cvt.b64.{ty}32" (x: Word) -> Wide {
            number(x, ty) as Wide
        }
        Video.costs(u32::from(ty != Type::U32))
    /// Sum, modulo 2^64.
    AddWide "add.s64" (x: Wide, y: Wide) -> Wide { x.wrapping_add(y) }
        Video.commutes().costs(2).moves_constants()
    /// Difference, modulo 2^64.
    SubWide "sub.s64" (x: Wide, y: Wide) -> Wide { x.wrapping_sub(y) }
        Video.costs(2).moves_constants()
    /// Product of 64 bits, modulo 2^64.
    MulWide "mul.lo.s64" (x: Wide, y: Wide) -> Wide { x.wrapping_mul(y) }
        Video.commutes().costs(4).joins_sums()
    /// Product of two words.
    Product(ty: Type) "mul.wide.{ty}32" (x: Word, y: Word) -> Wide {
            number(x, ty).wrapping_mul(number(y, ty)) as Wide
        }
        Video.commutes().costs(2).joins_sums()
    /// Shift of 64 bits left by a word; amounts above 63 give 0.
    ShlWide "shl.b64" (x: Wide, by: Word) -> Wide { x.checked_shl(by).unwrap_or(0) }
        Video.costs(2)
    /// Shift of 64 bits right by a word; amounts above 63 count as 64.
    ShrWide(ty: Type) "shr.{ty}64" (x: Wide, by: Word) -> Wide {
            (wide_number(x, ty) >> by.min(64)) as Wide
        }
        Video.costs(2)
    /// The smaller.
    MinWide(ty: Type) "min.{ty}64" (x: Wide, y: Wide) -> Wide {
            wide_number(x, ty).min(wide_number(y, ty)) as Wide
        }
        Video.commutes().costs_without(Feature::WideExtrema, 4).moves_constants()
    /// The larger.
    MaxWide(ty: Type) "max.{ty}64" (x: Wide, y: Wide) -> Wide {
            wide_number(x, ty).max(wide_number(y, ty)) as Wide
        }
        Video.commutes().costs_without(Feature::WideExtrema, 4).moves_constants()
    /// Whether the comparison of two words holds.
    Set(compare: Compare, ty: Type) "setp{compare}.{ty}32" (x: Word, y: Word) -> Predicate {
            compare.holds(&number(x, ty), &number(y, ty))
        }
        Video
        fold { x == y => Arg::Constant(compare.holds(&0, &0).into()) }
    /// Whether the comparison of two words holds and a predicate does.
    SetAnd(compare: Compare, ty: Type) "setp{compare}.and.{ty}32"
        (x: Word, y: Word, p: Predicate) -> Predicate {
            compare.holds(&number(x, ty), &number(y, ty)) && p
        }
        Video
        fold { p == ZERO => ZERO }
    /// Whether the comparison of two words holds or a predicate does.
    SetOr(compare: Compare, ty: Type) "setp{compare}.or.{ty}32"
        (x: Word, y: Word, p: Predicate) -> Predicate {
            compare.holds(&number(x, ty), &number(y, ty)) || p
        }
        Video
        fold { p == Arg::Constant(1) => p }
    /// Whether the comparison of two 64-bit values holds.
    SetWide(compare: Compare, ty: Type) "setp{compare}.{ty}64" (x: Wide, y: Wide) -> Predicate {
            compare.holds(&wide_number(x, ty), &wide_number(y, ty))
        }
        Video.costs(2)
}

impl Opcode {
    /// The number of arguments, 1 to 3.
    pub const fn arity(self) -> usize {
        self.arguments().len()
    }

    /// What a target must have for the instruction.
    pub fn needs(self) -> Feature {
        self.facts().needs
    }

    /// Whether the first two arguments may change places.
    #[doc(hidden)]
    pub fn commutes(self) -> bool {
        self.facts().commutes
    }

    /// How its operands are written: `d` is the result, `x`, `y` and `z` are arguments, `s` is the
    /// third as a selector of `prmt`, and `t` is the truth table of `lop3`.
    #[doc(hidden)]
    pub fn operands(self) -> &'static str {
        let usual = ["d, x", "d, x, y", "d, x, y, z"][self.arity() - 1];
        self.facts().operands.unwrap_or(usual)
    }

    /// Whether the instruction takes no constants: an instruction on lanes.
    pub(super) fn takes_registers_only(self) -> bool {
        matches!(
            self.needs(),
            Feature::Halves
                | Feature::SaturatingHalves
                | Feature::Bytes
                | Feature::FloatHalves
                | Feature::FloatExtrema
        )
    }

    /// Whether it is a dot product.
    pub(super) fn is_dot(self) -> bool {
        self.needs() == Feature::Dot
    }
}

fn signed(word: Word) -> i32 {
    word.cast_signed()
}

/// The number that a word holds, read as a type.
fn number(word: Word, ty: Type) -> i64 {
    if ty == Type::S32 { signed(word).into() } else { word.into() }
}

/// The number that 64 bits hold, read as a type.
fn wide_number(wide: Wide, ty: Type) -> i128 {
    if ty == Type::S32 { wide.cast_signed().into() } else { wide.into() }
}

fn pair(low: Word, high: Word) -> Wide {
    Wide::from(high) << 32 | Wide::from(low)
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

/// A signed word clamped to a lane of a type.
fn packed(word: u32, bits: u32, ty: Type) -> u32 {
    clamped(signed(word), bits, ty).cast_unsigned() & ((1 << bits) - 1)
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
