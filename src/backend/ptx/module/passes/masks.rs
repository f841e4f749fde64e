//! Masks, a peephole behind a comparison: a product with 255 that makes a mask of the comparison's
//! flags becomes the mask itself.
//!
//! `vset4` gives 1 in each lane where a comparison holds. Programs multiply that by 255 for a mask.
//! The sequence for the flags has the bit that fills each lane of the mask. ptxas leaves out flags
//! that nothing reads. This is right because only simple instructions stand between comparison and
//! product. Tested by `tests/library/masks.rs` and the test below.

use super::super::super::emit::Operands;
use super::super::super::parallel::spreading;
use super::super::super::sequence::{Arg, Builder, Opcode, Sequence, word};
use super::super::super::straight::{each, is_simple};
use crate::isa::{LaneWidth, Lanes, Type};
use crate::source::Span;
use crate::syntax::{self as ast, Operand, OperandKind};
use crate::video::{Instruction, Operation, Register, numbered};

/// A product of flags that is a mask.
pub(in super::super) struct Product {
    pub(in super::super) span: Span,
    /// Computes the mask from the sources of the comparison.
    pub(in super::super) sequence: Sequence,
    /// The text of the product, without comments.
    pub(in super::super) text: String,
    d: Register,
}

impl Product {
    /// The registers of the mask's sequence.
    pub(in super::super) fn operands<'p>(&'p self, compared: Operands<'p>) -> Operands<'p> {
        Operands { d: Some(&self.d), ..compared }
    }

    /// Finds the product of the flags that a SIMD instruction writes by a sequence. The product
    /// stands in a part of a text, behind simple instructions only.
    pub(in super::super) fn find(
        source: &str,
        part: Span,
        instruction: &Instruction,
        Operands { guard, d, sources: [a, b, _] }: Operands<'_>,
        sequence: &Sequence,
    ) -> Option<Product> {
        let Operation::SimdSet(it) = &instruction.operation else { return None };
        let width = it.operands.lanes.width();
        if it.accumulate || guard.is_some() || it.operands.lanes != Lanes::all(width) {
            return None;
        }
        let (flags, a, b) = (d?, a?, b?);
        // The mask reads the sources once more.
        if flags.names_same(a) || flags.names_same(b) {
            return None;
        }
        let read = [flags, a, b].map(|register| numbered(register.name()));
        let mut product = None;
        each(
            source,
            part,
            |_| false,
            |instruction, span| {
                if let Some((d, text)) = factor(source, instruction, flags, width) {
                    product = Some((span, d, text));
                    return false;
                }
                let mut names = instruction.names().map(|name| numbered(name.text(source)));
                is_simple(source, instruction) && !names.any(|name| read.contains(&name))
            },
        );
        let (span, d, text) = product?;
        Some(Product { span, sequence: mask(sequence, width)?, text, d })
    }
}

/// If an instruction is a product of flags with all bits of a lane: the register that it writes,
/// and its text.
fn factor(
    source: &str,
    instruction: &ast::Instruction<'_>,
    flags: &Register,
    width: LaneWidth,
) -> Option<(Register, String)> {
    if instruction.guard().is_some() || instruction.mnemonic().text(source) != "mul" {
        return None;
    }
    let modifiers: Vec<&str> = instruction.modifiers().map(|it| it.text(source)).collect();
    let [".lo", ty @ (".s32" | ".u32")] = modifiers[..] else { return None };
    let mut operands = instruction.operands();
    let [d, first, second] = [operands.next()?, operands.next()?, operands.next()?];
    let OperandKind::Name(result) = d.kind() else { return None };
    let is_flags = |it: &Operand<'_>| it.text() == flags.name();
    let lane = (1 << width.bits()) - 1;
    let is_lane = |it: &Operand<'_>| match it.kind() {
        OperandKind::Constant(Ok(value)) => value.bits().is_some_and(|bits| bits as u32 == lane),
        _ => false,
    };
    let is_mask = is_flags(&first) && is_lane(&second) || is_flags(&second) && is_lane(&first);
    // Operands of several tokens may have comments inside.
    let are_plain = [&d, &first, &second].iter().all(|it| it.tokens().len() == 1);
    if !is_mask || !are_plain || operands.next().is_some() {
        return None;
    }
    let [d, first, second] = [&d, &first, &second].map(Operand::text);
    Some((Register::new(result.text(source))?, format!("mul.lo{ty} {d}, {first}, {second};")))
}

/// The mask for flags: the bit that was moved to the bottom of each lane fills the whole lane.
fn mask(flags: &Sequence, width: LaneWidth) -> Option<Sequence> {
    let (last, lines) = flags.lines().split_last()?;
    let ones = if width == LaneWidth::Bytes { 0x0101_0101 } else { 0x0001_0001 };
    let before = Arg::Line((lines.len() as u16).wrapping_sub(1));
    let (moved, lines) = match (last.opcode, last.args()) {
        (Opcode::And, [of, one]) if (*of, *one) == (before, word(ones)) => lines.split_last()?,
        _ => (last, lines),
    };
    let (Opcode::Shr(Type::U32), [Arg::Line(bits), by]) = (moved.opcode, moved.args()) else {
        return None;
    };
    if *by != word(width.bits() - 1) {
        return None;
    }
    let (mut builder, values) = Builder::of(lines, Arg::Input);
    let mask = builder.permute(values[usize::from(*bits)], word(0), spreading(width.bits()));
    Some(builder.finish(mask))
}

#[cfg(test)]
mod tests {
    use super::super::super::super::candidates;
    use super::*;
    use crate::backend::ptx::Gate;
    use crate::ir::Input;
    use crate::video::Semantics;

    /// A mask has all bits where a comparison holds, for every third pair of bytes.
    #[test]
    fn masks_are_flags_times_all_bits() {
        let mut found = 0;
        for (width, lane, lanes) in [(LaneWidth::Bytes, 0xff, 4), (LaneWidth::Halves, 0xffff, 2)] {
            for compare in ["eq", "ne", "lt", "le", "gt", "ge"] {
                for types in ["u32.u32", "s32.s32", "u32.s32", "s32.u32"] {
                    let text = format!("vset{lanes}.{types}.{compare} d, a, b, c;");
                    let set: Instruction = text.parse().expect(&text);
                    for (_, flags) in candidates(&set, Semantics::CURRENT, Gate::ANY) {
                        let Some(mask) = mask(&flags, width) else { continue };
                        found += 1;
                        for pair in (0..=0xffff_u32).step_by(3) {
                            let [x, y] = [pair >> 8, pair & 0xff].map(|byte| {
                                (byte | (byte ^ 0x80) << 8 | (byte ^ 0x7f) << 24) ^ pair << 16
                            });
                            let expected = flags.eval(x, y, 0) * lane;
                            assert_eq!(mask.eval(x, y, 0), expected, "{text} {x:#x} {y:#x}");
                        }
                    }
                }
            }
        }
        assert!(found >= 48, "{found}");
    }

    /// Only flags at the bottom of every lane make a mask of whole lanes.
    #[test]
    fn flags_of_some_lanes_make_no_mask() {
        let has_mask = |ones: u32| {
            let mut builder = Builder::default();
            let [a, b] = [Input::A, Input::B].map(Arg::Input);
            let sum = builder.push(Opcode::Add, &[a, b]);
            let moved = builder.push(Opcode::Shr(Type::U32), &[sum, word(7)]);
            let flags = builder.push(Opcode::And, &[moved, word(ones)]);
            mask(&builder.finish(flags), LaneWidth::Bytes).is_some()
        };
        assert_eq!([0x0101_0101, 0x0101_0100].map(has_mask), [true, false]);
    }
}
