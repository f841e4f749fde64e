//! The shapes of instructions, and operands for them.

use super::random::Random;
use crate::isa::{
    Destination, Form, LaneWidth, Mask, Mnemonic, Modifier, Negation, Part, Selector, Sources,
};
use crate::video::{
    Deviation, Instruction, Operand, OperandName, Operation, Parts, Register, Selected, forms,
};

/// A line of the manual's syntax with a mnemonic and modifiers.
#[derive(Clone, Debug)]
pub(super) struct Shape {
    pub(super) mnemonic: Mnemonic,
    pub(super) form: &'static Form,
    /// The modifier in each slot of the form.
    modifiers: Vec<Option<Modifier>>,
}

/// The shapes of a mnemonic, line by line.
pub(super) fn of(mnemonic: Mnemonic) -> impl Iterator<Item = Shape> {
    forms(mnemonic).iter().flat_map(move |form| {
        let mut all = vec![Vec::new()];
        for slot in form.slots {
            let choices = slot.choices.iter().copied().map(Some);
            let choices: Vec<_> =
                slot.optional.then_some(None).into_iter().chain(choices).collect();
            let extended = |start: &Vec<_>| {
                let start = start.clone();
                choices.clone().into_iter().map(move |choice| [&start[..], &[choice]].concat())
            };
            all = all.iter().flat_map(extended).collect();
        }
        all.into_iter().map(move |modifiers| Shape { mnemonic, form, modifiers })
    })
}

impl Shape {
    /// Whether both belong to the same line and mnemonic.
    pub(super) fn is_like(&self, other: &Shape) -> bool {
        self.mnemonic == other.mnemonic && std::ptr::eq(self.form, other.form)
    }

    /// The instruction with these operands. `None` if they do not fit.
    pub(super) fn build(&self, operands: &Operands) -> Option<Instruction> {
        let register = |name| Some(Operand::Register(Register::new(name)?));
        let slots = self.form.slots.iter().zip(&self.modifiers);
        let parts = Parts {
            mnemonic: self.mnemonic,
            modifiers: &|role| {
                slots.clone().find(|(slot, _)| slot.role == role)?.1.as_ref().copied()
            },
            d: Selected { value: Register::new("d")?, selector: operands.d.as_deref() },
            a: Selected { value: register("a")?, selector: operands.a.as_deref() },
            b: Selected { value: register("b")?, selector: operands.b.as_deref() },
            c: if self.form.third { register("c") } else { None },
            negated: operands.negated,
        };
        Some(Instruction::new(Operation::build(&parts)?))
    }

    /// The instruction of another mnemonic with the same modifiers, if there is one.
    pub(super) fn of_mnemonic(&self, mnemonic: Mnemonic) -> Option<Instruction> {
        let modifiers: Vec<Modifier> = self.modifiers.iter().copied().flatten().collect();
        forms(mnemonic).iter().find_map(|form| form.instantiate(mnemonic, &modifiers))
    }
}

/// Selectors, masks and negations.
#[derive(Debug, Default)]
pub(super) struct Operands {
    d: Option<String>,
    a: Option<String>,
    b: Option<String>,
    negated: Option<OperandName>,
}

impl Operands {
    /// Whole sources, and the part of the destination that shows a deviation.
    pub(super) fn plain(shape: &Shape, deviation: Deviation) -> Operands {
        let part = if deviation == Deviation::C1 { Part::H1 } else { Part::B2 };
        let d = (shape.form.destination == Destination::Part).then(|| part.to_string());
        Operands { d, ..Operands::default() }
    }

    /// Whole sources, and any part or mask of the destination.
    pub(super) fn first(shape: &Shape, random: &mut Random) -> Operands {
        let d = match shape.form.destination {
            Destination::Word => None,
            Destination::Part => Some(random.pick(&Part::ALL).to_string()),
            Destination::Mask(width) => any_mask(width, random),
        };
        Operands { d, ..Operands::default() }
    }

    /// Any operands.
    pub(super) fn any(shape: &Shape, random: &mut Random) -> Operands {
        let selector = |random: &mut Random| match shape.form.sources {
            _ if random.flip() => None,
            Sources::Scalar => Some(random.pick(&Part::ALL).to_string()),
            Sources::Lanes(width) => any_selector(width, random),
        };
        let negated = match shape.form.negation {
            Negation::Forbidden => None,
            Negation::ProductOrThird => random.pick(&[
                None,
                Some(OperandName::A),
                Some(OperandName::B),
                Some(OperandName::C),
            ]),
        };
        Operands {
            a: selector(random),
            b: selector(random),
            negated,
            ..Operands::first(shape, random)
        }
    }
}

/// A mask; all lanes half of the time.
fn any_mask(width: LaneWidth, random: &mut Random) -> Option<String> {
    let all: Vec<Mask> = Mask::all(width).collect();
    (!random.flip()).then(|| random.pick(&all).to_string())
}

fn any_selector(width: LaneWidth, random: &mut Random) -> Option<String> {
    let lanes: Vec<u8> =
        (0..width.lanes()).map(|_| random.below(width.choices().into()) as u8).collect();
    Selector::new(width, &lanes).map(|selector| selector.to_string())
}
