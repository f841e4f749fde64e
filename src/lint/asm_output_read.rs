//! V702: outputs that are read before anything is written to them.

use super::asm::AsmSubject;
use crate::diagnostic::{Applicability, Code, Diagnostic, Edit};
use crate::embed::{AsmOperand, Convention};
use crate::ir::Input;
use crate::source::Span;
use crate::video::Semantics;

pub(super) fn find(subject: &AsmSubject<'_, '_>, found: &mut Vec<Diagnostic>) {
    let Some((raw, instruction)) = subject.legal else { return };
    let program = instruction.lower(Semantics::Manual);
    let sources = instruction.sources().into_iter().zip(Input::ALL).zip(&raw.operands[1..]);
    for ((register, input), operand) in sources {
        let Some(register) = register.filter(|_| program.reads(input)) else { continue };
        if let Some(output) = unwritten(subject, register.name()) {
            found.push(finding(subject, register.name(), operand.value, output));
            return;
        }
    }
}

/// The operand with a name, if the operand is an output that has no value yet.
fn unwritten<'a>(subject: &'a AsmSubject<'_, '_>, name: &str) -> Option<&'a AsmOperand<'a>> {
    let operands = subject.operands;
    let (number, operand) = operands.get(name)?;
    let has_value =
        operands.is_tied(number) || operands.is_mentioned_before(name, subject.statement.start);
    (operand.is_write_only() && !has_value).then_some(operand)
}

fn finding(
    subject: &AsmSubject<'_, '_>,
    name: &str,
    read: Span,
    output: &AsmOperand<'_>,
) -> Diagnostic {
    let name = subject.spelled(name);
    let message = format!("`{name}` is read, but declared as output only");
    let declared = output.span;
    let help = match subject.asm().convention() {
        Convention::C => "`\"+r\"` declares an operand that is read and written",
        Convention::Llvm => {
            "an input whose constraint is the number of the output gives the output a value"
        }
        Convention::Mlir => "`read_write_args` has the operands that are read and written",
        Convention::Rust => "`inout(reg32)` declares an operand that is read and written",
    };
    let diagnostic = Diagnostic::new(Code::AsmOutputRead, subject.place(read), message)
        .label("its value is arbitrary")
        .related(declared, "declared here")
        .help(help);
    if !declared.text(subject.source).starts_with("\"=") {
        return diagnostic;
    }
    let at = declared.start + 1;
    let edit = Edit::replace(Span::new(at, at + 1), "+");
    diagnostic.fix(Applicability::Unsafe, "declare it as read and written", vec![edit])
}
