//! V701: references to operands that the `asm` does not have.

use super::asm::AsmSubject;
use crate::diagnostic::{Code, Diagnostic};

pub(super) fn find(subject: &AsmSubject<'_, '_>, found: &mut Vec<Diagnostic>) {
    let asm = subject.asm();
    let help = || match asm.operands.len() {
        0 => "it has no operands".to_string(),
        1 => "it has one operand, number 0".to_string(),
        count => format!("it has {count} operands, numbered from 0; outputs come first"),
    };
    found.extend(asm.unknown_operands_in(subject.statement).map(|(name, span)| {
        let message = format!("the `asm` has no operand `{name}`");
        Diagnostic::new(Code::V701, subject.place(span), message)
            .label("no such operand")
            .help(help())
    }));
}
