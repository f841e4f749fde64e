//! V909: statements that no path leads to.

use super::structure::FunctionSubject;
use crate::diagnostic::{Applicability, Code, Diagnostic, Edit};
use crate::source::Span;
use crate::syntax::removed;

pub(super) fn find(subject: &FunctionSubject<'_, '_>, found: &mut Vec<Diagnostic>) {
    let (flow, source) = (subject.flow, subject.module.source());
    let blocks = flow.blocks();
    let is_dead = |at: usize| !flow.is_reachable(at) && !blocks[at].instructions.is_empty();
    // The last statement of an `asm` is not in its text: it reads the outputs.
    let end = flow.statements().len() - usize::from(subject.module.is_part);
    let mut at = 0;
    while at < blocks.len() {
        let start = at;
        while at < blocks.len() && is_dead(at) {
            at += 1;
        }
        if at == start {
            at += 1;
            continue;
        }
        let range = blocks[start].instructions.start..blocks[at - 1].instructions.end.min(end);
        let statements = &flow.statements()[range];
        let Some(first) = statements.first().map(|it| it.span()) else { continue };
        let message = match statements.len() {
            1 => "no path leads to this instruction".to_string(),
            count => format!("no path leads to these {count} instructions"),
        };
        // Statements side by side are one edit: each by itself would take the blanks between them.
        let mut spans: Vec<Span> = Vec::new();
        for span in statements.iter().map(|it| it.span()) {
            let blank = |it: &&mut Span| {
                let between = &source[it.end as usize..span.start as usize];
                between.bytes().all(|byte| matches!(byte, b' ' | b'\t'))
            };
            match spans.last_mut().filter(blank) {
                Some(last) => last.end = span.end,
                None => spans.push(span),
            }
        }
        let removed = |span| Edit::replace(removed(source, span), "");
        let edits = spans.into_iter().map(removed).collect();
        found.push(
            Diagnostic::new(Code::UnreachableStatement, first, message)
                .label("never runs")
                .fix(Applicability::Unsafe, "remove what never runs", edits)
                .statement(first),
        );
    }
}
