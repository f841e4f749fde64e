//! V906: registers that nothing names.

use super::structure::ModuleSubject;
use crate::diagnostic::{Applicability, Code, Diagnostic, Edit};
use crate::names::SymbolKind;
use crate::source::Span;
use crate::syntax::{StatementKind, removed};

pub(super) fn find(subject: &ModuleSubject<'_>, found: &mut Vec<Diagnostic>) {
    let (names, source) = (subject.names, subject.source());
    for (id, symbol) in names.symbols() {
        let is_used = || names.uses_of_symbol(id).any(|it| !it.declares());
        if symbol.kind != SymbolKind::Register || symbol.is_double || is_used() {
            continue;
        }
        let text = symbol.name.text(source);
        let message = match symbol.count {
            Some(count) => format!("no register of `{text}<{count}>` is used"),
            None => format!("`{text}` is not used"),
        };
        let mut diagnostic = Diagnostic::new(Code::UnusedRegister, symbol.name, message)
            .label("only declared")
            .statement(symbol.declaration);
        if let Some(edit) = removal(subject, symbol.name) {
            diagnostic = diagnostic.fix(Applicability::Safe, "remove the declaration", vec![edit]);
        }
        found.push(diagnostic);
    }
}

/// Removes a name from its declaration. Removes the whole declaration if it has no other name.
fn removal(subject: &ModuleSubject<'_>, name: Span) -> Option<Edit> {
    let statement = subject.tree.statement_at(name.start)?;
    let StatementKind::Declaration(declaration) = statement.kind() else { return None };
    let all: Vec<Span> = declaration
        .names()
        .filter_map(|it| Some(it.tokens().first()?.span().to(it.tokens().last()?.span())))
        .collect();
    let at = all.iter().position(|span| span.start == name.start)?;
    let span = match (all.get(at + 1), at.checked_sub(1)) {
        (None, None) => removed(subject.source(), statement.span()),
        // The comma goes, too.
        (Some(next), _) => Span::new(all[at].start, next.start),
        (None, Some(before)) => Span::new(all[before].end, all[at].end),
    };
    Some(Edit::replace(span, ""))
}
