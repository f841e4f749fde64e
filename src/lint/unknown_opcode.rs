//! V911: ordinary instructions and directives whose first word starts no statement of PTX.

use super::structure::{COMPARED, ModuleSubject, is_in_video, place_of};
use crate::diagnostic::{Code, Diagnostic};
use crate::flow::{is_opcode, opcodes};
use crate::isa::PtxVersion;
use crate::module::is_type;
use crate::source::{Span, nearest};
use crate::syntax::{DirectiveKind, StatementKind};

pub(super) fn find(subject: &ModuleSubject<'_>, found: &mut Vec<Diagnostic>) {
    let source = subject.source();
    let mut statements = subject.tree.statements();
    let is_newer = statements.any(|it| match it.kind() {
        StatementKind::Directive(it) => it.version().is_some_and(|it| it > PtxVersion::NEWEST),
        _ => false,
    });
    // A newer version may have more instructions.
    if is_newer {
        return;
    }
    let before = found.len();
    for statement in subject.tree.all_statements() {
        let diagnostic = match statement.kind() {
            StatementKind::Instruction(it)
                if !is_opcode(source, &it) && !is_in_video(subject.statements, it.mnemonic()) =>
            {
                let is_compared = found.len() - before < COMPARED;
                unknown_instruction(source, it.mnemonic(), is_compared)
            }
            StatementKind::Directive(it) if it.kind() == DirectiveKind::Unknown => {
                let first = statement.tokens()[0].span();
                // A type alone, `.b32;`, declares nothing, and is legal.
                if is_type(first.text(source)) {
                    continue;
                }
                let message = format!("no statement starts with `{}`", first.text(source));
                Diagnostic::new(Code::UnknownOpcode, first, message)
                    .label("no opcode, no directive")
            }
            _ => continue,
        };
        found.push(diagnostic.statement(place_of(statement)));
    }
}

fn unknown_instruction(source: &str, mnemonic: Span, is_compared: bool) -> Diagnostic {
    let text = mnemonic.text(source);
    let diagnostic =
        Diagnostic::new(Code::UnknownOpcode, mnemonic, format!("there is no instruction `{text}`"))
            .label("unknown instruction");
    match is_compared.then(|| nearest(text, opcodes())).flatten() {
        Some(near) => diagnostic.help(format!("did you mean `{near}`?")),
        None => diagnostic,
    }
}
