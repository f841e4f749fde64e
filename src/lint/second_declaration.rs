//! V903: names that their scope declares already.

use super::structure::ModuleSubject;
use crate::diagnostic::{Code, Diagnostic};
use crate::hash::Map;
use crate::names::Use;

pub(super) fn find(subject: &ModuleSubject<'_>, found: &mut Vec<Diagnostic>) {
    let (names, source) = (subject.names, subject.source());
    let is_any = names.symbols().any(|(_, symbol)| symbol.is_double);
    if !is_any {
        return;
    }
    let mut first = Map::default();
    for (id, symbol) in names.symbols() {
        let text = symbol.name.text(source);
        let before = *first.entry((symbol.scope, text)).or_insert(symbol.name);
        if !symbol.is_double {
            continue;
        }
        let message = format!("`{text}` is declared in this scope already");
        let mut diagnostic = Diagnostic::new(Code::SecondDeclaration, symbol.name, message)
            .label("the second declaration");
        // A second body of a function belongs to the symbol of the first body.
        let own = names.uses_of_symbol(id).map(Use::span).find(|span| *span != symbol.name);
        let other = if before == symbol.name { own } else { Some(before) };
        if let Some(other) = other {
            diagnostic = diagnostic.related(other, "the other declaration");
        }
        if let Some(statement) = subject.tree.statement_at(symbol.name.start) {
            diagnostic = diagnostic.statement(statement.head_span());
        }
        found.push(diagnostic);
    }
}
