//! Notes beside instructions.

use super::statements::FoundInstruction;
use crate::isa::{Selector, Target};
use crate::source::Span;

/// A note after an offset of the source.
pub(super) struct Hint {
    pub(super) at: u32,
    pub(super) label: String,
    pub(super) tooltip: String,
}

/// The number of machine instructions for an instruction, now and as ordinary PTX.
pub(super) fn cost(found: &FoundInstruction, target: Target) -> Option<Hint> {
    let cost = found.instruction.cost(target)?;
    let label = if cost.is_lower() {
        format!("{} → {}", cost.ptxas, cost.rewritten)
    } else {
        cost.ptxas.to_string()
    };
    let ptxas = Target::assembler(&[target]);
    let tooltip = format!(
        "machine instructions that {ptxas} emits on {target}: for this instruction, and for the \
         best ordinary PTX that vptx knows"
    );
    Some(Hint { at: found.statement.span.end, label, tooltip })
}

/// The lanes that the selectors of a SIMD instruction choose, the highest one first.
pub(super) fn lanes(found: &FoundInstruction) -> Vec<Hint> {
    let Some(operands) = found.instruction.simd() else { return Vec::new() };
    let selectors = [operands.lanes.a(), operands.lanes.b()];
    let places = found.spans.operands[1..3].iter().map(|operand| operand.selector);
    let hint = |(selector, place): (Selector, Option<_>)| {
        let place: Span = place?;
        let label = chosen(selector);
        let tooltip = format!(
            "the lanes that the selector takes, the highest first; a is `{}`, b is `{}`",
            found.values[1], found.values[2],
        );
        Some(Hint { at: place.end, label, tooltip })
    };
    selectors.into_iter().zip(places).filter_map(hint).collect()
}

/// The lanes of a selector, such as `a3 a2 b1 b0`.
fn chosen(selector: Selector) -> String {
    let lanes = selector.width().lanes() as u8;
    let name = |lane: &u8| {
        let register = if *lane < lanes { 'a' } else { 'b' };
        format!("{register}{}", lane % lanes)
    };
    let names: Vec<String> = selector.lanes().iter().rev().map(name).collect();
    names.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::LaneWidth;

    /// By the manual, the digits name bytes from the highest lane down: 0 to 3 are those of `a`, 4
    /// to 7 those of `b`.
    #[test]
    fn lanes_are_those_of_the_manual() {
        let shown = |width, text| chosen(Selector::from_text(width, text).unwrap());
        assert_eq!(shown(LaneWidth::Bytes, ".b7160"), "b3 a1 b2 a0");
        assert_eq!(shown(LaneWidth::Bytes, ".b0123"), "a0 a1 a2 a3");
        assert_eq!(shown(LaneWidth::Halves, ".h31"), "b1 a1");
    }
}
