//! "Did you mean": the nearest of what is allowed.

use crate::isa::{Mnemonic, Modifier};
use crate::text::distance;
use crate::video;

/// The video instruction an opcode may have been meant to be. `vote` is an
/// instruction of its own, and no other begins with `v`.
pub(super) fn mnemonic(opcode: &str) -> Option<Mnemonic> {
    // The longest mnemonic has nine letters.
    if opcode.len() > 12 || matches!(opcode, "vote" | "VOTE") {
        return None;
    }
    let lower = opcode.to_ascii_lowercase();
    let limit = if opcode.len() <= 4 { 1 } else { 2 };
    let names = Mnemonic::ALL.iter().map(|mnemonic| (mnemonic.text(), *mnemonic));
    nearest(&lower, names, limit)
}

/// The modifier of this instruction that an unknown one may have been meant to
/// be.
pub(super) fn modifier(mnemonic: Mnemonic, text: &str) -> Option<Modifier> {
    // Modifiers of other instructions are meant as they are.
    if text.len() > 8 || matches!(text, ".lo" | ".hi" | ".and" | ".cas" | ".inc" | ".neg") {
        return None;
    }
    let lower = text.to_ascii_lowercase();
    let names = Modifier::ALL
        .iter()
        .filter(|modifier| video::takes(mnemonic, **modifier))
        .map(|modifier| (modifier.text(), *modifier));
    nearest(&lower, names, if lower.len() <= 4 { 1 } else { 2 })
}

/// The candidate within the limit at the least distance; among equals one with
/// the same stem, then of the same width, then of the same length.
fn nearest<'a, T>(
    text: &str,
    candidates: impl Iterator<Item = (&'a str, T)>,
    limit: usize,
) -> Option<T> {
    let stem = |text: &str| text.trim_end_matches(|c: char| c.is_ascii_digit()).len();
    candidates
        .map(|(name, value)| {
            let (typed, number) = text.split_at(stem(text));
            let (family, width) = name.split_at(stem(name));
            let lengths = name.len().abs_diff(text.len());
            ((distance(text, name), typed != family, number != width, lengths), value)
        })
        .filter(|((distance, ..), _)| *distance <= limit)
        .reduce(|best, next| if next.0 <= best.0 { next } else { best })
        .map(|(_, value)| value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_misses_find_their_instruction() {
        for (typed, meant) in [
            ("varvg2", Mnemonic::Vavrg2),
            ("varvg4", Mnemonic::Vavrg4),
            ("VADD", Mnemonic::Vadd),
            ("vavrg", Mnemonic::Vavrg4),
            ("vsub8", Mnemonic::Vsub4),
            ("vmad2", Mnemonic::Vmad),
            ("vshl2", Mnemonic::Vshl),
            ("vabsdif4", Mnemonic::Vabsdiff4),
            ("vabsdiff3", Mnemonic::Vabsdiff4),
        ] {
            assert_eq!(mnemonic(typed), Some(meant), "{typed}");
        }
        for other in ["vote", "volatile", "vector", "v", "variable_name", "vx"] {
            assert_eq!(mnemonic(other), None, "{other}");
        }
    }

    #[test]
    fn modifiers_come_from_the_instruction() {
        assert_eq!(modifier(Mnemonic::Vmad, ".shr8"), Some(Modifier::Shr7));
        assert_eq!(modifier(Mnemonic::Vmad, ".shr16"), Some(Modifier::Shr15));
        assert_eq!(modifier(Mnemonic::Vadd, ".shr8"), None);
        assert_eq!(modifier(Mnemonic::Vadd, ".SAT"), Some(Modifier::Sat));
        assert_eq!(modifier(Mnemonic::Vshl, ".clmap"), Some(Modifier::Clamp));
    }
}
