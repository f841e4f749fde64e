//! V703: inputs that are written.

use super::asm::AsmSubject;
use crate::diagnostic::{Code, Diagnostic};
use crate::embed::Convention;

pub(super) fn find(subject: &AsmSubject<'_, '_>, found: &mut Vec<Diagnostic>) {
    let Some((raw, instruction)) = subject.legal else { return };
    let d = instruction.destination();
    let Some((_, input)) = subject.operands.get(d.name()).filter(|(_, it)| !it.output) else {
        return;
    };
    let help = match subject.asm().convention() {
        Convention::C => "move it to the outputs, as `\"+r\"` if it is also read",
        Convention::Llvm => {
            "write to an output; an input with its number as constraint shares its register"
        }
        Convention::Mlir => "move it to `read_write_args` if it is also read, or to the outputs",
        Convention::Rust => "declare it as `out(reg32)`, or as `inout(reg32)` if it is also read",
    };
    let message = format!("`{}` is written, but declared as input", subject.spelled(d.name()));
    let diagnostic =
        Diagnostic::new(Code::AsmInputWritten, subject.place(raw.operands[0].value), message)
            .label("the compiler relies on its old value")
            .related(input.span, "declared here")
            .help(help);
    found.push(diagnostic);
}
