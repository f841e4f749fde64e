//! V908: parameters and results that their function does not use.

use super::structure::ModuleSubject;
use crate::diagnostic::{Code, Diagnostic};
use crate::names::Use;

pub(super) fn find(subject: &ModuleSubject<'_>, found: &mut Vec<Diagnostic>) {
    let (names, source) = (subject.names, subject.source());
    for function in subject.tree.functions().filter(|it| it.body().is_some()) {
        let parameters = function.results().chain(function.parameters());
        for name in parameters.filter_map(|it| it.name()).map(|it| it.name()) {
            let Some(meaning) = names.use_of(name).and_then(Use::meaning) else {
                continue;
            };
            if names.uses_of(meaning).any(|it| !it.declares()) {
                continue;
            }
            let own = function.name().map_or("the function", |name| name.text(source));
            let message = format!("`{}` does not use `{}`", own, name.text(source));
            let diagnostic =
                Diagnostic::new(Code::UnusedParameter, name, message).label("not used");
            found.push(diagnostic.statement(name));
        }
    }
}
