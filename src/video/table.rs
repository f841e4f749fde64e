//! The table of instruction forms, how to find its rows, and their descriptions.

use super::body::{Described, Page};
use super::instruction::{Instruction, Operation};
use super::operand::{Operand, Parts, Register, Selected};
use super::{Deviation, Example, arithmetic, multiply_add, set, shift, simd_arithmetic, simd_set};
use crate::isa::{
    Destination, Family, Form, LaneWidth, Mnemonic, Modifier, Negation, Role, Sources,
};

/// The rows, by family in the manual's order.
pub const FORMS: [&[Form]; Family::ALL.len()] = {
    let mut rows: [&[Form]; Family::ALL.len()] = [&[]; Family::ALL.len()];
    let mut at = 0;
    while at < rows.len() {
        rows[at] = page(Family::ALL[at]).forms;
        at += 1;
    }
    rows
};

const fn page(family: Family) -> &'static Page {
    match family {
        Family::Arithmetic => &arithmetic::PAGE,
        Family::Shift => &shift::PAGE,
        Family::MultiplyAdd => &multiply_add::PAGE,
        Family::Set => &set::PAGE,
        Family::SimdArithmetic(LaneWidth::Halves) => &simd_arithmetic::HALVES,
        Family::SimdArithmetic(LaneWidth::Bytes) => &simd_arithmetic::BYTES,
        Family::SimdSet(LaneWidth::Halves) => &simd_set::HALVES,
        Family::SimdSet(LaneWidth::Bytes) => &simd_set::BYTES,
    }
}

/// The rows of a family.
pub const fn family_forms(family: Family) -> &'static [Form] {
    page(family).forms
}

/// The rows of a mnemonic, in the manual's order; never empty.
pub const fn forms(mnemonic: Mnemonic) -> &'static [Form] {
    family_forms(mnemonic.family())
}

/// A description of the family's instructions, for `vptx explain`.
pub const fn prose(family: Family) -> &'static str {
    page(family).prose
}

/// The deviations of ptxas that show in a family's instructions.
pub const fn deviations(family: Family) -> &'static [Deviation] {
    page(family).deviations
}

fn described(mnemonic: Mnemonic) -> &'static Described {
    let all = page(mnemonic.family()).instructions;
    all.iter().find(|it| it.mnemonic == mnemonic).unwrap_or(&all[0])
}

/// A summary of one instruction, in a line.
pub fn summary(mnemonic: Mnemonic) -> &'static str {
    described(mnemonic).summary
}

/// An example of a mnemonic, worked out by hand.
pub fn example(mnemonic: Mnemonic) -> Example {
    described(mnemonic).example
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
        Destination::Mask(_) => "  d{.mask}",
    });
    let minus = match form.negation {
        Negation::Forbidden => "",
        Negation::ProductOrThird => "{-}",
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

impl Form {
    /// The instruction of this form with these modifiers, in any order of roles. Its registers
    /// are `d`, `a`, `b` and `c`, and it has no selectors except `.b0` on the destination of a
    /// data merge. [`Instruction::map_registers`] renames the registers.
    ///
    /// `None` if the form has no such mnemonic, or the modifiers do not fit its slots. Types fill
    /// the type slots in this order: the destination's if there is one, `a`'s, `b`'s.
    ///
    /// ```
    /// use vptx::isa::{Mnemonic, Modifier};
    /// use vptx::video::forms;
    ///
    /// let form = &forms(Mnemonic::Vavrg4)[0];
    /// let modifiers = [Modifier::U32, Modifier::S32, Modifier::S32, Modifier::Sat];
    /// let instruction = form.instantiate(Mnemonic::Vavrg4, &modifiers).unwrap();
    /// assert_eq!(instruction.to_string(), "vavrg4.u32.s32.s32.sat d, a, b, c;");
    /// assert!(form.instantiate(Mnemonic::Vavrg4, &[Modifier::U32]).is_none());
    /// ```
    pub fn instantiate(&self, mnemonic: Mnemonic, modifiers: &[Modifier]) -> Option<Instruction> {
        if !self.mnemonics.contains(&mnemonic) {
            return None;
        }
        let mut rest = modifiers.to_vec();
        let mut filled = Vec::new();
        for slot in self.slots {
            match rest.iter().position(|modifier| slot.choices.contains(modifier)) {
                Some(at) => filled.push((slot.role, rest.remove(at))),
                None if slot.optional => {}
                None => return None,
            }
        }
        if !rest.is_empty() {
            return None;
        }
        let operand = |name| Some(Operand::Register(Register::new(name)?));
        let merged = self.destination == Destination::Part;
        let operation = Operation::build(&Parts {
            mnemonic,
            modifiers: &|role| filled.iter().find(|(of, _)| *of == role).map(|(_, it)| *it),
            d: Selected { value: Register::new("d")?, selector: merged.then_some(".b0") },
            a: Selected { value: operand("a")?, selector: None },
            b: Selected { value: operand("b")?, selector: None },
            c: if self.third { operand("c") } else { None },
            negated: None,
        })?;
        Some(Instruction { guard: None, operation })
    }
}

/// The selectors that a source may have, in words with their spellings.
pub const fn selector_choices(sources: Sources) -> &'static str {
    match sources {
        Sources::Scalar => "`.b0` `.b1` `.b2` `.b3` `.h0` `.h1`",
        Sources::Lanes(LaneWidth::Halves) => {
            "`.hxy` with x, y from 0 to 3 (0–1: lanes of a, 2–3: of b)"
        }
        Sources::Lanes(LaneWidth::Bytes) => {
            "`.bxyzw` with digits from 0 to 7 (0–3: lanes of a, 4–7: of b)"
        }
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
            let program = instruction.lower(crate::video::Semantics::Manual);
            assert_eq!(program.eval(a, b, c), result, "{text}");
        }
    }

    /// For example, 5 mnemonics × 8 types × `.sat` or not × 5 tails.
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
        assert_eq!(count(Family::SimdArithmetic(LaneWidth::Halves)), 6 * 8 * (2 + 1));
        assert_eq!(count(Family::SimdSet(LaneWidth::Bytes)), 4 * 6 * 2);
    }
}
