//! V907: labels that nothing names.

use super::structure::ModuleSubject;
use crate::diagnostic::{Applicability, Code, Diagnostic, Edit};
use crate::names::{SymbolKind, labels_of_pragmas};
use crate::syntax::{StatementKind, removed};

pub(super) fn find(subject: &ModuleSubject<'_>, found: &mut Vec<Diagnostic>) {
    let (names, source) = (subject.names, subject.source());
    if names.enumeration.is_some() {
        return;
    }
    let pragmas = labels_of_pragmas(subject.tree);
    for (id, symbol) in names.symbols() {
        let is_used = || names.uses_of_symbol(id).any(|it| !it.declares());
        if symbol.kind != SymbolKind::Label || symbol.is_double || is_used() {
            continue;
        }
        let Some(statement) = subject.tree.statement_at(symbol.name.start) else { continue };
        let message = format!("no branch names the label `{}`", symbol.name.text(source));
        let mut diagnostic = Diagnostic::new(Code::UnusedLabel, symbol.name, message)
            .label("not used")
            .statement(statement.span());
        // A table of targets needs its label.
        let is_table =
            statement.next().is_some_and(|next| matches!(next.kind(), StatementKind::Directive(_)));
        let is_of_pragma = pragmas.binary_search(&symbol.name.start).is_ok();
        if matches!(statement.kind(), StatementKind::Label(_)) && !is_table && !is_of_pragma {
            let edit = Edit::replace(removed(source, statement.span()), "");
            diagnostic = diagnostic.fix(Applicability::Safe, "remove the label", vec![edit]);
        }
        found.push(diagnostic);
    }
}
