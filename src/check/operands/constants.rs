//! Constants as sources.

use super::super::instruction::Checked;
use super::super::structure;
use crate::diagnostic::{Applicability, Code, Diagnostic, Edit};
use crate::isa::Part;
use crate::source::Span;
use crate::syntax::{Constant, RawOperand, statement_tokens};
use crate::video::{Immediate, Operand};

/// The value of a constant operand. Reports the reason if the operand has none.
pub(super) fn constant(
    checked: &mut Checked<'_, '_>,
    operand: &RawOperand,
    value: Result<Constant, crate::syntax::ConstantError>,
) -> Option<Immediate> {
    let bits = match value {
        Ok(Constant::Integer { bits, .. }) => bits,
        Ok(Constant::Float(value)) => {
            let message = "video instructions take no floating-point constants";
            let mut diagnostic =
                Diagnostic::new(Code::FloatingPointConstant, operand.value, message)
                    .label("expected an integer");
            let text = operand.value.text(checked.source);
            if let Some(bits) = text.strip_prefix("0f").or_else(|| text.strip_prefix("0F")) {
                diagnostic = diagnostic
                    .help("write the bits as an integer, if they are meant")
                    .offer(operand.value, &format!("0x{bits}"));
            } else if value.fract() == 0.0 && value.abs() < 2f64.powi(31) {
                diagnostic = diagnostic
                    .help(format!("write `{value:.0}`"))
                    .offer(operand.value, &format!("{value:.0}"));
            }
            checked.push(diagnostic);
            return None;
        }
        Err(error) => {
            checked.push(structure::constant(checked.source, error));
            return None;
        }
    };
    let low = bits as u32;
    Some(Immediate::spelled(low, spelling(operand.value.text(checked.source))))
}

/// A constant expression without comments, spaced so that it reads the same.
pub(super) fn spelling(text: &str) -> String {
    let mut spelled = String::with_capacity(text.len());
    // Whether the next token follows without a space.
    let mut tight = true;
    let mut after_value = false;
    for token in statement_tokens(text) {
        let text = token.span().text(text);
        if !tight && text != ")" {
            spelled.push(' ');
        }
        spelled.push_str(text);
        let unary = !after_value && matches!(text, "+" | "-" | "~" | "!");
        tight = unary || text == "(";
        after_value =
            text == ")" || text.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '.');
    }
    spelled
}

pub(super) fn selector_on_constant(
    checked: &mut Checked<'_, '_>,
    operand: &RawOperand,
    selector: Span,
    value: &Operand,
) {
    let mut diagnostic =
        Diagnostic::new(Code::SelectorOnConstant, selector, "a constant takes no selector")
            .label("not allowed here")
            .help("write the value of the byte or half-word itself");
    let part = Part::from_text(selector.text(checked.source));
    if let (Some(part), Operand::Immediate(constant)) = (part, value) {
        let bits = constant.value() >> part.shift() & ((1 << part.width()) - 1);
        let title = format!("write `{bits:#x}`, the part's bits");
        let edit = Edit::replace(operand.value.to(selector), format!("{bits:#x}"));
        diagnostic = diagnostic.fix(Applicability::Unsafe, title, vec![edit]);
    }
    checked.push(diagnostic);
}
