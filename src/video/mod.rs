//! The table of instruction forms, one file per family.
//!
//! A row stands for one line of the manual's syntax. Rows of a family lie in
//! the family's file, beside its prose for `vptx explain`.

mod arithmetic;
mod multiply_add;
mod set;
mod shift;
mod simd;
mod simd_arithmetic2;
mod simd_arithmetic4;
mod simd_set2;
mod simd_set4;

use crate::isa::{Destination, Family, Form, Mnemonic, Modifier, Role, Sources};

/// The rows, by family in the manual's order.
pub const FORMS: [&[Form]; 8] = [
    arithmetic::FORMS,
    shift::FORMS,
    multiply_add::FORMS,
    set::FORMS,
    simd_arithmetic2::FORMS,
    simd_set2::FORMS,
    simd_arithmetic4::FORMS,
    simd_set4::FORMS,
];

/// The rows of a family.
pub const fn family_forms(family: Family) -> &'static [Form] {
    match family {
        Family::Arithmetic => arithmetic::FORMS,
        Family::Shift => shift::FORMS,
        Family::MultiplyAdd => multiply_add::FORMS,
        Family::Set => set::FORMS,
        Family::Arithmetic2 => simd_arithmetic2::FORMS,
        Family::Set2 => simd_set2::FORMS,
        Family::Arithmetic4 => simd_arithmetic4::FORMS,
        Family::Set4 => simd_set4::FORMS,
    }
}

/// The rows of a mnemonic, in the manual's order; never empty.
pub const fn forms(mnemonic: Mnemonic) -> &'static [Form] {
    family_forms(mnemonic.family())
}

/// What the family's instructions do, for `vptx explain`.
pub const fn prose(family: Family) -> &'static str {
    match family {
        Family::Arithmetic => arithmetic::PROSE,
        Family::Shift => shift::PROSE,
        Family::MultiplyAdd => multiply_add::PROSE,
        Family::Set => set::PROSE,
        Family::Arithmetic2 => simd_arithmetic2::PROSE,
        Family::Set2 => simd_set2::PROSE,
        Family::Arithmetic4 => simd_arithmetic4::PROSE,
        Family::Set4 => simd_set4::PROSE,
    }
}

/// What one instruction computes, in a line.
pub const fn summary(mnemonic: Mnemonic) -> &'static str {
    match mnemonic {
        Mnemonic::Vadd => "sum of two bytes, half-words or words",
        Mnemonic::Vsub => "difference of two bytes, half-words or words",
        Mnemonic::Vabsdiff => "absolute difference of two bytes, half-words or words",
        Mnemonic::Vmin => "smaller of two bytes, half-words or words",
        Mnemonic::Vmax => "larger of two bytes, half-words or words",
        Mnemonic::Vshl => "left shift of a byte, half-word or word",
        Mnemonic::Vshr => "right shift of a byte, half-word or word",
        Mnemonic::Vmad => "product of two bytes, half-words or words, plus a word",
        Mnemonic::Vset => "comparison of two bytes, half-words or words",
        Mnemonic::Vadd2 => "two sums of half-words",
        Mnemonic::Vsub2 => "two differences of half-words",
        Mnemonic::Vavrg2 => "two rounded averages of half-words",
        Mnemonic::Vabsdiff2 => "two absolute differences of half-words",
        Mnemonic::Vmin2 => "two minima of half-words",
        Mnemonic::Vmax2 => "two maxima of half-words",
        Mnemonic::Vset2 => "two comparisons of half-words",
        Mnemonic::Vadd4 => "four sums of bytes",
        Mnemonic::Vsub4 => "four differences of bytes",
        Mnemonic::Vavrg4 => "four rounded averages of bytes",
        Mnemonic::Vabsdiff4 => "four absolute differences of bytes",
        Mnemonic::Vmin4 => "four minima of bytes",
        Mnemonic::Vmax4 => "four maxima of bytes",
        Mnemonic::Vset4 => "four comparisons of bytes",
    }
}

/// The syntax line of a form as the manual would write it, for one mnemonic.
pub fn syntax(mnemonic: Mnemonic, form: &Form) -> String {
    let mut line = String::from(mnemonic.text());
    for slot in form.slots {
        let text = match slot.role {
            Role::Dtype => ".dtype",
            Role::Atype => ".atype",
            Role::Btype if slot.choices.len() > 1 => ".btype",
            Role::Mode => ".mode",
            Role::Compare => ".cmp",
            Role::Scale => ".scale",
            Role::Secondary if slot.choices.len() > 1 => ".op2",
            _ => slot.choices[0].text(),
        };
        if slot.optional {
            line.push('{');
            line.push_str(text);
            line.push('}');
        } else {
            line.push_str(text);
        }
    }
    line.push_str(match form.destination {
        Destination::Word => "  d",
        Destination::Part => "  d.dsel",
        Destination::Mask2 | Destination::Mask4 => "  d{.mask}",
    });
    let minus = match form.negation {
        crate::isa::Negation::Forbidden => "",
        crate::isa::Negation::ProductOrThird => "{-}",
    };
    for source in ["a", "b"] {
        line.extend([", ", minus, source, "{.", source, "sel}"]);
    }
    if form.third {
        line.extend([", ", minus, "c"]);
    }
    line.push(';');
    line
}

/// What a source selector may be in words, with the spellings.
pub const fn selector_choices(sources: Sources) -> &'static str {
    match sources {
        Sources::Scalar => "`.b0` `.b1` `.b2` `.b3` `.h0` `.h1`",
        Sources::Lanes2 => "`.hxy` with x, y from 0 to 3 (0–1: lanes of a, 2–3: of b)",
        Sources::Lanes4 => "`.bxyzw` with digits from 0 to 7 (0–3: lanes of a, 4–7: of b)",
    }
}

/// Whether some form of the mnemonic takes this modifier.
pub fn takes(mnemonic: Mnemonic, modifier: Modifier) -> bool {
    forms(mnemonic).iter().flat_map(|form| form.slots).any(|slot| slot.choices.contains(&modifier))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every mnemonic stands in exactly the rows of its family, and every row
    /// starts with types and repeats no role.
    #[test]
    fn table_is_well_formed() {
        for &mnemonic in Mnemonic::ALL {
            assert!(!forms(mnemonic).is_empty());
            for form in FORMS.into_iter().flatten() {
                assert_eq!(
                    form.mnemonics.contains(&mnemonic),
                    form.section == forms(mnemonic)[0].section,
                    "{mnemonic} {}",
                    form.title
                );
            }
        }
        for form in FORMS.into_iter().flatten() {
            let types = form.type_slots().count();
            assert!(form.slots[..types].iter().all(|slot| slot.role.is_type()));
            for role in Role::ALL {
                let count = form.slots.iter().filter(|slot| slot.role == role).count();
                assert!(count <= 1, "{} repeats {role:?}", form.title);
            }
            for slot in form.slots.iter().filter(|slot| !slot.role.is_type()) {
                assert!(slot.choices.iter().all(|choice| choice.role() == slot.role));
            }
        }
    }

    /// 5 mnemonics × 8 types × sat × 49 source selectors × 10 tails, and so on.
    #[test]
    fn modifier_combinations_count_up() {
        let count = |family: Family| -> usize {
            family_forms(family)
                .iter()
                .map(|form| {
                    form.slots
                        .iter()
                        .map(|slot| slot.choices.len() + usize::from(slot.optional))
                        .product::<usize>()
                        * form.mnemonics.len()
                })
                .sum()
        };
        assert_eq!(count(Family::Arithmetic), 5 * 8 * 2 * (1 + 3 + 1));
        assert_eq!(count(Family::Shift), 2 * 4 * 2 * 2 * (1 + 3 + 1));
        assert_eq!(count(Family::MultiplyAdd), 8 * 2 * 3 * 2);
        assert_eq!(count(Family::Set), 4 * 6 * (1 + 3 + 1));
        assert_eq!(count(Family::Arithmetic2), 6 * 8 * (2 + 1));
        assert_eq!(count(Family::Set4), 4 * 6 * 2);
    }
}
