//! V905: results of video instructions that nothing reads.

use super::structure::FunctionSubject;
use crate::diagnostic::{Applicability, Code, Diagnostic, Edit};
use crate::syntax::removed;

pub(super) fn find(subject: &FunctionSubject<'_, '_>, found: &mut Vec<Diagnostic>) {
    let source = subject.module.source();
    let results: Vec<_> = subject.own_accesses().filter(|it| it.2.access.writes()).collect();
    let places: Vec<_> = results.iter().map(|(number, _, it)| (*number, it.meaning)).collect();
    let Some(live) = subject.flow.are_live_after(&places) else { return };
    for ((_, statement, access), is_live) in results.into_iter().zip(live) {
        if is_live {
            continue;
        }
        let name = access.span.text(source);
        let removed = Edit::replace(removed(source, statement.span), "");
        found.push(
            Diagnostic::new(
                Code::UnreadResult,
                access.span,
                format!("nothing reads this value of `{name}`"),
            )
            .label("a result that is lost")
            .help("ptxas removes such an instruction: read the result, or remove the instruction")
            .fix(Applicability::Unsafe, "remove the instruction", vec![removed])
            .statement(statement.span),
        );
    }
}
