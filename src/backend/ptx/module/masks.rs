//! Products that make masks of flags.
//!
//! `vset4` gives 1 in each lane where a comparison holds. Programs multiply that by 255 for a mask.
//! The sequence for the flags has the bit that fills each lane of it. ptxas leaves out flags that
//! nothing reads.

use memchr::memmem;

use super::super::emit::Operands;
use super::super::lanes::names_between;
use super::super::parallel::spreading;
use super::super::region::moved_word;
use super::super::sequence::{Arg, Builder, Opcode, Sequence, word};
use crate::isa::{LaneWidth, Lanes, Type};
use crate::source::Span;
use crate::syntax::TokenKind;
use crate::syntax::lexer::Lexer;
use crate::video::{Instruction, Operation, Register, numbered};

/// A product of flags that is a mask.
pub(super) struct Product {
    pub(super) span: Span,
    /// The mask, by the sources of the comparison.
    pub(super) sequence: Sequence,
    /// Its text without comments.
    pub(super) text: String,
    d: Register,
}

/// A product stands at most so many bytes after the comparison.
const NEAR: usize = 512;

impl Product {
    /// The registers of its sequence.
    pub(super) fn operands<'p>(&'p self, compared: Operands<'p>) -> Operands<'p> {
        Operands { d: &self.d, ..compared }
    }

    /// The product of the flags that a SIMD instruction writes by a sequence, if it stands between
    /// two places of a text, and only simple statements before it.
    pub(super) fn find(
        source: &str,
        [start, end]: [usize; 2],
        instruction: &Instruction,
        Operands { guard, d, sources: [a, b, _] }: Operands<'_>,
        sequence: &Sequence,
    ) -> Option<Product> {
        let Operation::SimdSet(it) = &instruction.operation else { return None };
        let width = it.operands.lanes.width();
        if it.accumulate || guard.is_some() || it.operands.lanes != Lanes::all(width) {
            return None;
        }
        let (flags, a, b) = (d, a?, b?);
        // The sources are read once more.
        if flags.names_same(a) || flags.names_same(b) {
            return None;
        }
        let end = end.min(start + NEAR);
        // A character has at most four bytes.
        let near = (0..4).find_map(|back| source.get(..end.saturating_sub(back)))?;
        let (span, d, text) = product(near, start, flags, width)?;
        let names = names_between(source, start, span.start as usize)?;
        let kept = [flags, a, b].map(|register| numbered(register.name()));
        let is_written = names.iter().any(|name| kept.contains(name));
        let d = Register::new(d).filter(|_| !is_written)?;
        Some(Product { span, sequence: mask(sequence, width)?, text, d })
    }
}

/// The first `mul.lo` of flags with all bits of a lane, the register that it writes, and its text.
fn product<'s>(
    source: &'s str,
    start: usize,
    flags: &Register,
    width: LaneWidth,
) -> Option<(Span, &'s str, String)> {
    // Most comparisons have none.
    memmem::find(source.as_bytes().get(start..)?, b"mul.lo")?;
    let mut lexer = Lexer::new(source, start);
    let mut statement: Vec<Span> = Vec::new();
    while let Some(token) = lexer.token() {
        // A label is part of the statement after it, which is no product then.
        statement.push(token.span());
        if token.kind() == TokenKind::Punct([b';', 0]) {
            if let Some((d, text)) = factor(source, &statement, flags, width) {
                return Some((Span::new(statement[0].start, token.span().end), d, text));
            }
            statement.clear();
        }
    }
    None
}

/// The register that a statement writes, and its text, if it is a product of flags with all bits of
/// a lane.
fn factor<'s>(
    source: &'s str,
    statement: &[Span],
    flags: &Register,
    width: LaneWidth,
) -> Option<(&'s str, String)> {
    let [mul, low, ty, d, first, one, second, other, _] = statement else { return None };
    let [mul, low, ty, d, first, one, second, other] =
        [mul, low, ty, d, first, one, second, other].map(|span| span.text(source));
    let is_product = (mul, low) == ("mul", ".lo") && matches!(ty, ".s32" | ".u32");
    let lane = (1 << width.bits()) - 1;
    let is_factor =
        |one: &str, other: &str| one == flags.name() && moved_word(false, other) == Some(lane);
    let is_mask = is_factor(one, other) || is_factor(other, one);
    (is_product && (first, second) == (",", ",") && is_mask)
        .then(|| (d, format!("mul.lo{ty} {d}, {one}, {other};")))
}

/// The mask for flags: the bit that was moved to the bottom of each lane, everywhere in it.
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
    use super::super::super::candidates;
    use super::*;
    use crate::backend::ptx::Gate;
    use crate::isa::Target;
    use crate::video::Semantics;

    /// A mask has all bits where a comparison holds, for each pair of bytes in each lane.
    #[test]
    fn masks_are_flags_times_all_bits() {
        let gate = Gate { target: Target::sm(120), version: None };
        let mut found = 0;
        for (width, lane, lanes) in [(LaneWidth::Bytes, 0xff, 4), (LaneWidth::Halves, 0xffff, 2)] {
            for compare in ["eq", "ne", "lt", "le", "gt", "ge"] {
                for types in ["u32.u32", "s32.s32", "u32.s32", "s32.u32"] {
                    let text = format!("vset{lanes}.{types}.{compare} d, a, b, c;");
                    let set: Instruction = text.parse().expect(&text);
                    for (_, flags) in candidates(&set, Semantics::CURRENT, gate) {
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
}
