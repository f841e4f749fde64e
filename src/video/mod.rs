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

use crate::ir::Deviation;
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

/// An instruction with inputs and its result under the manual.
#[derive(Clone, Copy, Debug)]
pub struct Example {
    /// The instruction, with operands `d`, `a`, `b`, `c`.
    pub text: &'static str,
    /// The words in `a`, `b` and `c`.
    pub inputs: [u32; 3],
    /// The new word in `d`.
    pub result: u32,
}

/// An example of a mnemonic, worked out by hand.
pub const fn example(mnemonic: Mnemonic) -> Example {
    const fn of(text: &'static str, inputs: [u32; 3], result: u32) -> Example {
        Example { text, inputs, result }
    }
    match mnemonic {
        // -1 + 0x1234
        Mnemonic::Vadd => {
            of("vadd.s32.s32.u32 d, a.b3, b.h0, c;", [0xff00_0000, 0x1234, 0], 0x1233)
        }
        // 3 - 5 = -2, clamped to 0, and the other bytes of c
        Mnemonic::Vsub => {
            of("vsub.u32.u32.u32.sat d.b1, a, b, c;", [3, 5, 0xaabb_ccdd], 0xaabb_00dd)
        }
        // |0x80 - 0xff| + 10
        Mnemonic::Vabsdiff => {
            of("vabsdiff.u32.u32.u32.add d, a.b0, b.b1, c;", [0x80, 0xff00, 10], 0x89)
        }
        // min(-1, 1)
        Mnemonic::Vmin => of("vmin.s32.s32.s32 d, a, b;", [0xffff_ffff, 1, 0], 0xffff_ffff),
        // max(max(0x12, 0x34), 0x20)
        Mnemonic::Vmax => of("vmax.u32.u32.u32.max d, a.b1, b.b0, c;", [0x1200, 0x34, 0x20], 0x34),
        // 40 & 31 = 8
        Mnemonic::Vshl => of("vshl.u32.u32.u32.wrap d, a.h1, b, c;", [0x00ff_0000, 40, 0], 0xff00),
        // -128 >> 3
        Mnemonic::Vshr => {
            of("vshr.s32.s32.u32.clamp d, a.b2, b, c;", [0x0080_0000, 3, 0], 0xffff_fff0)
        }
        // (-2 * 3 + 262) >> 7
        Mnemonic::Vmad => of("vmad.s32.s32.u32.shr7 d, a.b0, b, c;", [0xfe, 3, 262], 2),
        // -1 < 1, plus 41
        Mnemonic::Vset => of("vset.s32.u32.lt.add d, a, b, c;", [0xffff_ffff, 1, 41], 42),
        // 0x7fff + 1 clamped, 2 + 3
        Mnemonic::Vadd2 => {
            of("vadd2.s32.s32.s32.sat d, a, b, c;", [0x7fff_0002, 0x0001_0003, 0], 0x7fff_0005)
        }
        // halves swapped: 1 - 1, 5 - 2
        Mnemonic::Vsub2 => {
            of("vsub2.u32.u32.u32 d, a.h01, b, c;", [0x0005_0001, 0x0001_0002, 0], 0x0000_0003)
        }
        // (1 + 2 + 1) >> 1, (6 + 8 + 1) >> 1
        Mnemonic::Vavrg2 => {
            of("vavrg2.u32.u32.u32 d, a, b, c;", [0x0001_0006, 0x0002_0008, 0], 0x0002_0007)
        }
        // 100 + |1 - 4| + |9 - 2|
        Mnemonic::Vabsdiff2 => {
            of("vabsdiff2.u32.u32.u32.add d, a, b, c;", [0x0001_0009, 0x0004_0002, 100], 110)
        }
        // lane 1 only: min(-1, 1), and lane 0 of c
        Mnemonic::Vmin2 => of(
            "vmin2.s32.s32.s32 d.h1, a, b, c;",
            [0xffff_0009, 0x0001_0001, 0x1111_2222],
            0xffff_2222,
        ),
        // max(7, 3), max(1, 2)
        Mnemonic::Vmax2 => {
            of("vmax2.u32.u32.u32 d, a, b, c;", [0x0007_0001, 0x0003_0002, 0], 0x0007_0002)
        }
        // 5 == 5, 1 != 2
        Mnemonic::Vset2 => {
            of("vset2.u32.u32.eq d, a, b, c;", [0x0005_0001, 0x0005_0002, 0], 0x0001_0000)
        }
        // 0xff + 1, 1 + 0xff, 0xf0 + 0x20 clamped; 0x10 + 0x10
        Mnemonic::Vadd4 => {
            of("vadd4.u32.u32.u32.sat d, a, b, c;", [0xff01_f010, 0x01ff_2010, 0], 0xffff_ff20)
        }
        // byte 0 of b from each byte
        Mnemonic::Vsub4 => {
            of("vsub4.u32.u32.u32 d, a, b.b4444, c;", [0x1020_3040, 0x10, 0], 0x0010_2030)
        }
        // (s + 1) >> 1 for 1+2, 0+0, 0xff+0xff, 4+4
        Mnemonic::Vavrg4 => {
            of("vavrg4.u32.u32.u32 d, a, b, c;", [0x0100_ff04, 0x0200_ff04, 0], 0x0200_ff04)
        }
        // 1000 + 1 + 2 + 3 + 4
        Mnemonic::Vabsdiff4 => {
            of("vabsdiff4.u32.u32.u32.add d, a, b, c;", [0x0102_0304, 0, 1000], 1010)
        }
        // lanes 1 and 0: min(3, 0), min(-1, 0)
        Mnemonic::Vmin4 => {
            of("vmin4.s32.s32.s32 d.b10, a, b, c;", [0x0102_03ff, 0, 0xaabb_ccdd], 0xaabb_00ff)
        }
        Mnemonic::Vmax4 => {
            of("vmax4.u32.u32.u32 d, a, b, c;", [0x0108_03ff, 0x0701_0400, 0], 0x0708_04ff)
        }
        // two of four lanes differ
        Mnemonic::Vset4 => {
            of("vset4.u32.u32.ne.add d, a, b, c;", [0x0102_0304, 0x0102_0000, 40], 42)
        }
    }
}

/// The deviations of ptxas that show in a family's instructions.
pub const fn deviations(family: Family) -> &'static [Deviation] {
    use Deviation::{C1, C2, C3, C4, C5, C6, C7, C8};
    match family {
        Family::Arithmetic => &[C1, C2, C3, C4],
        Family::Shift => &[C1, C4, C5],
        Family::MultiplyAdd => &[C7, C8],
        Family::Set => &[C1, C6],
        Family::Arithmetic2 | Family::Set2 | Family::Arithmetic4 | Family::Set4 => &[],
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

    #[test]
    fn examples_are_true() {
        for &mnemonic in Mnemonic::ALL {
            let Example { text, inputs: [a, b, c], result } = example(mnemonic);
            let instruction: crate::Instruction = text.parse().expect(text);
            assert_eq!(instruction.mnemonic(), mnemonic);
            let program = instruction.lower(crate::ir::Semantics::Manual);
            assert_eq!(program.eval(a, b, c), result, "{text}");
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
