//! Wider lanes, and the instructions that compute with them.

use super::super::Gate;
use super::super::sequence::{Arg, Builder, Line, Opcode, word};
use super::{Action, Kind, Step, has_sums_of_halves};
use crate::ir::Range;
use crate::isa::{Feature, LaneWidth, Type};
use crate::video::SimdOp;

/// The lanes of a word in two words. Of four lanes, the first word has lanes 0 and 2, the second
/// lanes 1 and 3. Of two lanes, each word has one.
pub(super) type LaneWords = [Arg; 2];

/// How the lanes of a word are taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layout {
    /// Four bytes as halves of two words.
    Halves,
    /// Two halves as two words.
    Words,
    /// Four bytes as halves of two words, in floating point.
    Floats(Floats),
}

/// How bytes are computed in floating point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Floats {
    /// Whether there are minima and maxima.
    pub(super) has_extrema: bool,
    /// Whether sums that can exceed only the upper limit are computed as differences from it.
    pub(super) complements: bool,
}

pub(super) fn is_signed(ty: Type) -> bool {
    ty == Type::S32
}

impl Layout {
    /// The layouts that may be shorter for lanes of some width, if the gate admits them.
    pub(super) fn all(width: LaneWidth, gate: Gate) -> impl Iterator<Item = Layout> {
        let has = |opcode: Opcode| gate.has(opcode.needs());
        let has_sums = has_sums_of_halves(gate);
        let is_bytes = width == LaneWidth::Bytes;
        let floats = |complements| {
            let has_extrema = has(Opcode::MaxFloat2);
            let is_there = is_bytes && has(Opcode::AddFloat2) && gate.has(Feature::FastFloatHalves);
            is_there.then_some(Layout::Floats(Floats { has_extrema, complements }))
        };
        let integers = match width {
            LaneWidth::Bytes => has_sums.then_some(Layout::Halves),
            LaneWidth::Halves => {
                (!has_sums && has(Opcode::Pack2(Type::S32))).then_some(Layout::Words)
            }
        };
        [integers, floats(false), floats(true)].into_iter().flatten()
    }

    /// Whether the layout may be shorter than other layouts for some steps.
    pub(super) fn fits(self, steps: &[Step<'_>]) -> bool {
        let Layout::Floats(Floats { complements: true, .. }) = self else { return true };
        // Other sums may be too small, too.
        steps.iter().any(|step| {
            let Kind { action, types } = step.kind;
            let is_sum =
                matches!(action, Action::Arithmetic { op: SimdOp::Add, saturate: true, .. });
            is_sum && types == [Type::U32; 2]
        })
    }

    /// The wider lanes, in words.
    pub(super) fn text(self) -> &'static str {
        match self {
            Layout::Halves => "halves",
            Layout::Words => "words",
            Layout::Floats(_) => "halves in floating point",
        }
    }

    /// The lanes of the instructions.
    pub(super) fn width(self) -> LaneWidth {
        match self {
            Layout::Halves | Layout::Floats(_) => LaneWidth::Bytes,
            Layout::Words => LaneWidth::Halves,
        }
    }

    /// The range of a lane.
    pub(super) fn lane(self, ty: Type) -> Range {
        Range::bits(self.width().bits() as u8, is_signed(ty))
    }

    /// The range of a wider lane as an integer.
    pub(super) fn wide(self) -> Range {
        Range::bits(2 * self.width().bits() as u8, true)
    }

    /// A number in all wider lanes of a word.
    pub(super) fn number(self, value: i128) -> Arg {
        match self {
            Layout::Halves | Layout::Floats(_) => word((value as u32 & 0xffff) * 0x0001_0001),
            Layout::Words => word(value as u32),
        }
    }

    /// The lanes of a word that go into the first (0) or the second (1) word.
    pub(super) fn taken(self, builder: &mut Builder, from: Arg, place: usize, ty: Type) -> Arg {
        let (signed, zero) = (is_signed(ty), word(0));
        match (self, place) {
            // These are as short as `prmt`, and run on more units.
            (Layout::Halves | Layout::Floats(_), 0) if !signed => {
                builder.and(from, word(0x00ff_00ff))
            }
            (Layout::Words, 0) if !signed => builder.and(from, word(0xffff)),
            (Layout::Words, 1) => builder.push(Opcode::Shr(ty), &[from, word(16)]),
            (Layout::Halves | Layout::Floats(_), 0) => builder.permute(from, zero, 0xa280),
            (Layout::Halves | Layout::Floats(_), _) => {
                builder.permute(from, zero, if signed { 0xb391 } else { 0x4341 })
            }
            (Layout::Words, _) => builder.permute(from, zero, 0x9910),
        }
    }

    pub(super) fn computed(self, builder: &mut Builder, op: SimdOp, x: Arg, y: Arg) -> Arg {
        let s32 = Type::S32;
        let opcode = match (self, op) {
            (Layout::Halves, SimdOp::Sub) => return builder.sub2(x, y),
            (Layout::Words, SimdOp::Sub) => return builder.sub(x, y),
            (Layout::Words, SimdOp::Add | SimdOp::AbsDiff | SimdOp::Avrg) => {
                return builder.add(x, y);
            }
            (Layout::Halves, SimdOp::Min) => Opcode::Min2(s32),
            (Layout::Halves, SimdOp::Max) => Opcode::Max2(s32),
            (Layout::Words, SimdOp::Min) => Opcode::Min(s32),
            (Layout::Words, SimdOp::Max) => Opcode::Max(s32),
            (Layout::Halves, SimdOp::Add | SimdOp::AbsDiff | SimdOp::Avrg) => Opcode::Add2,
            (Layout::Floats(_), SimdOp::Sub) => Opcode::SubFloat2,
            (Layout::Floats(_), SimdOp::Min) => Opcode::MinFloat2,
            (Layout::Floats(_), SimdOp::Max) => Opcode::MaxFloat2,
            (Layout::Floats(_), SimdOp::Add | SimdOp::AbsDiff | SimdOp::Avrg) => Opcode::AddFloat2,
        };
        builder.push(opcode, &[x, y])
    }

    /// The signs of wider lanes, or their complements, as 0 and 1.
    pub(super) fn flags(self, builder: &mut Builder, lanes: Arg, is_negated: bool) -> Arg {
        let ones = self.number(1);
        let last = word(2 * self.width().bits() - 1);
        let signs = builder.push(Opcode::Shr(Type::U32), &[lanes, last]);
        let signs = if self == Layout::Words { signs } else { builder.and(signs, ones) };
        if is_negated { builder.xor(signs, ones) } else { signs }
    }

    /// The instruction that packs wider lanes. The instructions that it reads are added to `lines`.
    pub(super) fn packed(
        self,
        [first, second]: LaneWords,
        packing: Packing,
        lines: &mut Vec<Line>,
    ) -> Line {
        let (low, signs, ones) = match self {
            Layout::Halves | Layout::Floats(_) => (0x6240, 0xfbd9, 0x0101_0101),
            Layout::Words => (0x5410, 0xffbb, 0x0001_0001),
        };
        let mut add = |line| {
            lines.push(line);
            Arg::Line(lines.len() as u16 - 1)
        };
        let packed = Line::new(Opcode::Permute, [first, second, word(low)]);
        let is_negated = match packing {
            Packing::Low | Packing::Flipped(0) => return packed,
            Packing::Flipped(bits) => {
                return Line::new(Opcode::Xor, [add(packed), word(bits), word(0)]);
            }
            Packing::Saturated(ty) => {
                return Line::new(Opcode::Pack2(ty), [second, first, word(0)]);
            }
            Packing::Signs { is_negated } => is_negated,
        };
        let signs = add(Line::new(Opcode::Permute, [first, second, word(signs)]));
        let flags = Line::new(Opcode::And, [signs, word(ones), word(0)]);
        if is_negated { Line::new(Opcode::Xor, [add(flags), word(ones), word(0)]) } else { flags }
    }
}

/// How wider lanes become lanes.
#[derive(Clone, Copy)]
pub(super) enum Packing {
    /// By their lower bits.
    Low,
    /// By their lower bits, some of which are flipped.
    Flipped(u32),
    /// Limited to the range of a type; only words are.
    Saturated(Type),
    /// 1 where they are negative or, if `is_negated`, where they are not.
    Signs { is_negated: bool },
}
