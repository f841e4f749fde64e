//! V403: a third source where the form has none.

use super::{Memo, Rule, Subject};
use crate::diagnostic::{Applicability, Code, Diagnostic, Edit};
use crate::source::Span;
use crate::syntax::statement_tokens;

pub(super) const RULE: Rule = Rule { codes: &[Code::IgnoredThirdOperand], documented: true, find };

fn find(subject: &Subject<'_>, _: &mut Memo<'_>) -> Option<Diagnostic> {
    let Subject { source, raw, instruction, .. } = subject;
    let [d, _, b, third] = raw.operands.as_slice() else {
        return None;
    };
    if instruction.form().third {
        return None;
    }
    // The comma is removed by an edit of its own if there is more beside it, such as a comment.
    let from = b.span.end;
    let between = Span::new(from, third.span.start);
    let comma = statement_tokens(between.text(source))
        .into_iter()
        .find(|token| token.is(b','))
        .map(|token| Span::new(from + token.span().start, from + token.span().end));
    let edits = match comma {
        Some(comma) if comma.to(third.span).len() <= third.span.len() + 2 => {
            vec![Edit::remove(comma.to(third.span))]
        }
        comma => comma.into_iter().chain([third.span]).map(Edit::remove).collect(),
    };
    let d = d.value.text(source);
    let message = "the third source is ignored without secondary operation or destination selector";
    let diagnostic = Diagnostic::new(Code::IgnoredThirdOperand, third.span, message)
        .label("has no effect")
        .help(format!(
            "remove it, or say what to do with it: `.add`, `.min`, `.max`, or a selector on `{d}`"
        ))
        .fix(Applicability::Safe, "remove it", edits);
    Some(diagnostic)
}
