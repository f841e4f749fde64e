//! Minus signs on the sources.

use super::super::instruction::Checked;
use super::super::modifiers::Modifiers;
use super::Operands;
use crate::diagnostic::{Applicability, Code, Diagnostic, Edit};
use crate::isa::{Mnemonic, Negation, Role, Sources};
use crate::source::Span;
use crate::syntax::{OperandClass, RawInstruction, RawOperand, SymbolKind};
use crate::video::{self, OperandName};

/// Checks the minus signs on the sources.
pub(in crate::check) fn negation(
    checked: &mut Checked<'_, '_>,
    mnemonic: Mnemonic,
    modifiers: &Modifiers,
    operands: &Operands<'_>,
    raw: &RawInstruction,
) -> Option<OperandName> {
    let (source, context) = (checked.source, checked.context);
    // The compiler replaces a constant of an `asm` by a number, to which the minus then belongs.
    let minus = |operand: &RawOperand| {
        let symbol = context.resolve(operand.value.text(source)).map(|symbol| symbol.kind);
        let is_constant = matches!(symbol, Some(SymbolKind::Operand(OperandClass::Constant(_))));
        operand.minus.filter(|_| !is_constant)
    };
    let (a, b) = (minus(operands.a), minus(operands.b));
    // An ignored third source counts here, as in ptxas.
    let c = raw.operands.get(3).and_then(minus);
    let remove = |spans: &[Span]| spans.iter().map(|&span| Edit::remove(span)).collect();
    let possible =
        video::forms(mnemonic).iter().any(|form| form.negation == Negation::ProductOrThird);
    if !possible || operands.form.negation == Negation::Forbidden {
        let spans: Vec<Span> = [a, b, c].into_iter().flatten().collect();
        let [first, others @ ..] = spans.as_slice() else {
            return None;
        };
        let (code, message, help) = match modifiers.span(Role::PlusOne) {
            Some(_) => (
                Code::PlusOneWithNegation,
                "`.po` and negation exclude each other".to_string(),
                "`.po` computes `a*b + c + 1` of the operands as they are",
            ),
            None => (
                Code::NegationNotAllowed,
                format!("`{mnemonic}` cannot negate its operands"),
                if operands.form.sources == Sources::Scalar {
                    "only `vmad` can; subtract the operand from 0 first: `vsub.s32.s32.s32 t, 0, a;`"
                } else {
                    "only `vmad` can; subtract the operand from a register of zeros first"
                },
            ),
        };
        let mut diagnostic = Diagnostic::new(code, *first, message).label("not allowed here");
        for other in others {
            diagnostic = diagnostic.related(*other, "and here");
        }
        if let Some(plus_one) = modifiers.span(Role::PlusOne) {
            diagnostic = diagnostic.related(plus_one, "plus one mode");
        }
        let cancels = a.is_some() && b.is_some() && c.is_none();
        if cancels {
            checked.documented_only(
                diagnostic
                    .help(
                        "the manual has no minus here; ptxas accepts two that cancel: remove both",
                    )
                    .fix(Applicability::Safe, "remove both", remove(&spans)),
            );
        } else {
            checked.push(diagnostic.help(help));
        }
        return None;
    }
    match (a, b, c) {
        (Some(_), Some(_), c) => c.map(|_| OperandName::C),
        (Some(product), None, Some(c)) | (None, Some(product), Some(c)) => {
            let message = "`vmad` can negate the product or `c`, not both";
            checked.push(
                Diagnostic::new(Code::ProductAndThirdNegated, c, message)
                    .label("negates `c`")
                    .related(product, "negates the product")
                    .help("negate `c` first: `neg.s32 t, c;`, and add `t`"),
            );
            Some(OperandName::C)
        }
        (Some(_), None, None) => Some(OperandName::A),
        (None, Some(_), None) => Some(OperandName::B),
        (None, None, Some(_)) => Some(OperandName::C),
        (None, None, None) => None,
    }
}
