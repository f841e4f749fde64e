//! The parts of a destination.

use super::{Instruction, Operation, SimdTail, Tail};
use crate::isa::{Mask, Part, Type};

/// A part of the destination with a value of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ResultPart {
    /// Its place.
    pub part: Part,
    /// Whether its bits are a signed number.
    pub signed: bool,
    /// Whether the result is written there. If not, the part comes from `c`.
    pub is_written: bool,
}

impl Instruction {
    /// The lanes of the destination from the highest down, or the one part that a scalar
    /// instruction writes. Empty if the result is a whole word.
    ///
    /// ```
    /// let instruction: vptx::Instruction = "vadd4.s32.s32.s32 d.b20, a, b, c;".parse()?;
    /// let parts = instruction.result_parts();
    /// assert_eq!(parts.len(), 4);
    /// assert_eq!((parts[0].part.text(), parts[0].is_written), (".b3", false));
    /// assert_eq!((parts[1].part.text(), parts[1].is_written), (".b2", true));
    /// # Ok::<(), vptx::ParseInstructionError>(())
    /// ```
    pub fn result_parts(&self) -> Vec<ResultPart> {
        let scalar = |tail: &Tail, signed: bool| match tail {
            Tail::Merge { part, .. } => vec![ResultPart { part: *part, signed, is_written: true }],
            Tail::Word | Tail::Secondary { .. } => Vec::new(),
        };
        let signed = |dtype: Type| dtype == Type::S32;
        // A sum of lanes is a word.
        let merges = |tail: SimdTail| matches!(tail, SimdTail::Merge { .. });
        match &self.operation {
            Operation::Arithmetic(it) => scalar(&it.operands.tail, signed(it.dtype)),
            Operation::Shift(it) => scalar(&it.operands.tail, signed(it.dtype)),
            Operation::Set(it) => scalar(&it.operands.tail, false),
            Operation::SimdArithmetic(it) if merges(it.tail) => {
                lanes(it.operands.lanes.mask(), signed(it.dtype))
            }
            Operation::SimdSet(it) if !it.accumulate => lanes(it.operands.lanes.mask(), false),
            Operation::MultiplyAdd(_) | Operation::SimdArithmetic(_) | Operation::SimdSet(_) => {
                Vec::new()
            }
        }
    }
}

fn lanes(mask: Mask, signed: bool) -> Vec<ResultPart> {
    let width = mask.width();
    let part = |lane| {
        let is_written = mask.bits() >> lane & 1 == 1;
        Some(ResultPart { part: width.part(lane)?, signed, is_written })
    };
    (0..width.lanes()).rev().filter_map(part).collect()
}
