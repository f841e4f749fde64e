//! Checks the operands of an instruction against its form.

mod constants;
mod negation;
mod registers;
mod selectors;

use super::instruction::Checked;
use super::modifiers::Modifiers;
use crate::diagnostic::{Applicability, Code, Diagnostic, Edit};
use crate::isa::{Destination, Form, Mnemonic, Part, Role, Sources};
use crate::source::Span;
use crate::syntax::{RawInstruction, RawOperand, Shape};
use crate::video::{self, Operand, Register};
use constants::{constant, selector_on_constant};
use registers::word_register;
use selectors::{mask, takes_selector, wrong_selector};

pub(in crate::check) use negation::negation;
use registers::OperandUse;
pub(in crate::check) use registers::not_of_halves;
pub(crate) use selectors::is_ignored;

/// The operands of an instruction that has the right number of them.
pub(super) struct Operands<'r> {
    pub(super) d: &'r RawOperand,
    pub(super) a: &'r RawOperand,
    pub(super) b: &'r RawOperand,
    /// The third source, if the form has one.
    pub(super) c: Option<&'r RawOperand>,
    /// The form that modifiers and destination selector ask for.
    pub(super) form: &'static Form,
}

/// Finds the form and gives the operands their names. Reports extra operands, missing operands, and
/// features that exclude each other.
pub(super) fn assign<'r>(
    checked: &mut Checked<'_, '_>,
    mnemonic: Mnemonic,
    modifiers: &Modifiers,
    raw: &'r RawInstruction,
) -> Option<Operands<'r>> {
    let forms = video::forms(mnemonic);
    let part = raw.operands.first().and_then(|d| d.selector).filter(|selector| {
        forms.iter().any(|form| form.destination == Destination::Part)
            && Part::from_text(selector.text(checked.source)).is_some()
    });
    let wants = |form: &Form, role: Role| form.slot(role).is_some();
    let has = |role: Role| modifiers.get(role).is_some();
    let form = forms.iter().find(|form| {
        (form.destination == Destination::Part) == part.is_some()
            && [Role::PlusOne, Role::Secondary].iter().all(|&role| wants(form, role) == has(role))
            && (!has(Role::Saturate) || wants(form, Role::Saturate))
    });
    let Some(form) = form else {
        conflict(checked, mnemonic, modifiers, part);
        // No form fits, so one with a third source, if any, gives the number of operands.
        let form = forms.iter().find(|form| form.third).unwrap_or(&forms[0]);
        return named(checked, mnemonic, modifiers, part, form, raw);
    };
    named(checked, mnemonic, modifiers, part, form, raw)
}

/// Reports features that no single form has together.
fn conflict(
    checked: &mut Checked<'_, '_>,
    mnemonic: Mnemonic,
    modifiers: &Modifiers,
    part: Option<Span>,
) {
    let secondary = modifiers.span(Role::Secondary);
    if let (Some(part), Some(secondary)) = (part, secondary) {
        let text = secondary.text(checked.source);
        let message = format!("a destination selector and `{text}` exclude each other");
        checked.push(
            Diagnostic::new(Code::SelectorWithSecondaryOperation, part, message)
                .label("merges the result into `c`")
                .related(secondary, "combines the result with `c`")
                .help("`c` can only be used once: keep the selector or the secondary operation"),
        );
    } else if let (Some(saturate), Some(secondary)) = (modifiers.span(Role::Saturate), secondary) {
        let message = format!("`.sat` and `.add` exclude each other on `{mnemonic}`");
        checked.push(
            Diagnostic::new(Code::SaturateWithAccumulate, saturate, message)
                .label("clamps the lanes")
                .related(secondary, "adds the lanes unclamped")
                .help(
                    "to add clamped lanes, clamp in a first instruction and add in a second; \
                   `vmax` of a lane and itself is that lane",
                )
                .fix(Applicability::Unsafe, "remove `.sat`", vec![Edit::remove(saturate)]),
        );
    }
}

fn named<'r>(
    checked: &mut Checked<'_, '_>,
    mnemonic: Mnemonic,
    modifiers: &Modifiers,
    part: Option<Span>,
    form: &'static Form,
    raw: &'r RawInstruction,
) -> Option<Operands<'r>> {
    let line = || format!("the syntax is `{}`", video::syntax(mnemonic, form));
    let operands = &raw.operands;
    let count = operands.len();
    let [d, a, b, rest @ ..] = operands.as_slice() else {
        let names = ["d", "a", "b", "c"];
        let missing: Vec<&str> = names[count..if form.third { 4 } else { 3 }].to_vec();
        // The place where the operands are missing; the mnemonic if there are no
        // operands.
        let at = operands.last().map_or(raw.mnemonic, |last| Span::at(last.span.end));
        let message =
            format!("`{mnemonic}` takes {} operands, found {count}", count + missing.len());
        checked.push(
            Diagnostic::new(Code::MissingOperand, at, message)
                .label(format!("missing: {}", missing.join(", ")))
                .help(line()),
        );
        return None;
    };
    if let [_, extra, ..] = rest {
        let last = &operands[count - 1];
        let message = format!(
            "`{mnemonic}` takes {} operands, found {count}",
            if form.third { 4 } else { 3 }
        );
        checked.push(
            Diagnostic::new(Code::ExtraOperand, extra.span.to(last.span), message)
                .label("too many")
                .help(line()),
        );
    }
    let mut c = rest.first();
    if form.third && c.is_none() {
        missing_third(checked, mnemonic, modifiers, part, form, [d, b]);
    }
    if let Some(third) = c.filter(|_| !form.third) {
        // As in ptxas, an extra source is checked like any other, but is no part of the
        // instruction.
        third_source(checked, form, third);
        c = None;
    }
    Some(Operands { d, a, b, c, form })
}

/// Reports that the instruction lacks the third source of its form.
fn missing_third(
    checked: &mut Checked<'_, '_>,
    mnemonic: Mnemonic,
    modifiers: &Modifiers,
    part: Option<Span>,
    form: &Form,
    [d, b]: [&RawOperand; 2],
) {
    let name = d.value.text(checked.source);
    let mut stand_in = None;
    let why = if let Some(secondary) = modifiers.get(Role::Secondary) {
        format!("`{secondary}` combines the result with `c`")
    } else if let Some(part) = part {
        stand_in = Some((name, "keep the other bits of the destination"));
        format!("the bits outside `{}` come from `c`", part.text(checked.source))
    } else if form.sources == Sources::Scalar {
        "`c` is added to the product".into()
    } else if d.selector.is_some() {
        stand_in = Some((name, "keep the other lanes of the destination"));
        "the lanes outside the mask come from `c`".into()
    } else {
        stand_in = Some((name, "name any register"));
        "`c` is required even when the mask covers all lanes and `c` has no effect".into()
    };
    let end = b.span.end;
    let message = format!("`{mnemonic}` needs a third source `c` here");
    let mut diagnostic = Diagnostic::new(Code::MissingThirdOperand, Span::at(end), message)
        .label("missing: c")
        .help(format!("{why}; the syntax is `{}`", video::syntax(mnemonic, form)));
    if let Some((register, title)) = stand_in {
        diagnostic = diagnostic.fix(
            Applicability::Unsafe,
            format!("{title}: add `{register}`"),
            vec![Edit::insert(end, format!(", {register}"))],
        );
    }
    checked.push(diagnostic);
}

/// The destination: always a register.
pub(super) fn destination(
    checked: &mut Checked<'_, '_>,
    form: &Form,
    mnemonic: Mnemonic,
    d: &RawOperand,
) -> Option<Register> {
    if let Some(minus) = d.minus {
        checked.push(
            Diagnostic::new(Code::NegationNotAllowed, minus, "a destination cannot be negated")
                .label("not allowed here")
                .remove(Applicability::Unsafe, minus),
        );
    }
    let register = match d.shape {
        Shape::Constant(_) => {
            let message = "the destination must be a register";
            checked.push(
                Diagnostic::new(Code::ConstantNotAllowed, d.span, message)
                    .label("a constant cannot be written to"),
            );
            None
        }
        Shape::Discard => {
            let message = "video instructions cannot discard their result";
            checked.push(
                Diagnostic::new(Code::OperandKind, d.span, message)
                    .label("expected a register")
                    .help("write to a register that is not used"),
            );
            None
        }
        _ => word_register(checked, form, d, OperandUse::Destination),
    };
    let Some(selector) = d.selector.filter(|_| takes_selector(checked, d)) else {
        return register;
    };
    let text = selector.text(checked.source);
    match form.destination {
        Destination::Mask(width) => mask(checked, width, selector),
        Destination::Word | Destination::Part => {
            let parts =
                video::forms(mnemonic).iter().any(|form| form.destination == Destination::Part);
            if is_ignored(text) {
                // This is legal; a rule may report it.
            } else if !parts {
                let message = format!("`{mnemonic}` takes no selector on its destination");
                checked.push(
                    Diagnostic::new(Code::SelectorNotAllowed, selector, message)
                        .label("not allowed here")
                        .help("`vmad` always writes the whole word")
                        .remove(Applicability::Unsafe, selector),
                );
            } else if Part::from_text(text).is_none() {
                wrong_selector(checked, selector, Sources::Scalar);
            }
        }
    }
    register
}

/// A source `a` or `b`.
pub(super) fn source(
    checked: &mut Checked<'_, '_>,
    form: &Form,
    operand: &RawOperand,
) -> Option<Operand> {
    let value = value(checked, form, operand)?;
    let Some(selector) = operand.selector else {
        return Some(value);
    };
    if let Operand::Immediate(_) = value {
        selector_on_constant(checked, operand, selector, &value);
        return None;
    }
    let text = selector.text(checked.source);
    if !form.sources.accepts(text) {
        wrong_selector(checked, selector, form.sources);
        return None;
    }
    Some(value)
}

/// The third source `c`.
pub(super) fn third_source(
    checked: &mut Checked<'_, '_>,
    form: &Form,
    operand: &RawOperand,
) -> Option<Operand> {
    let value = value(checked, form, operand);
    if let (Some(value @ Operand::Immediate(_)), Some(selector)) = (&value, operand.selector) {
        selector_on_constant(checked, operand, selector, value);
        return None;
    }
    let Some(selector) = operand.selector.filter(|_| takes_selector(checked, operand)) else {
        return value;
    };
    let text = selector.text(checked.source);
    if form.sources == Sources::Scalar && is_ignored(text) {
        return value;
    }
    checked.push(
        Diagnostic::new(Code::SelectorNotAllowed, selector, "the third source takes no selector")
            .label("not allowed here")
            .help(
                "`c` is always a whole word; take the part out first, as with `bfe.u32 t, c, 8, 8`",
            )
            .remove(Applicability::Unsafe, selector),
    );
    None
}

/// The finding on a constant in a SIMD instruction.
fn constant_of_lanes(operand: &RawOperand, help: String) -> Diagnostic {
    let message = "SIMD video instructions take no constants";
    let diagnostic = Diagnostic::new(Code::ConstantNotAllowed, operand.span, message);
    diagnostic.label("expected a register").help(help)
}

fn value(checked: &mut Checked<'_, '_>, form: &Form, operand: &RawOperand) -> Option<Operand> {
    match operand.shape {
        Shape::Constant(value) => {
            if form.sources != Sources::Scalar {
                let text = operand.value.text(checked.source);
                let help = format!("move it to a register first: `mov.b32 r, {text};`");
                checked.push(constant_of_lanes(operand, help));
                return None;
            }
            constant(checked, operand, value).map(Operand::Immediate)
        }
        _ => word_register(checked, form, operand, OperandUse::Source).map(Operand::Register),
    }
}
