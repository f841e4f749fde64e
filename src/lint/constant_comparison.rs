//! V505: comparisons whose result is always the same.

use super::{Memo, Rule, Subject};
use crate::diagnostic::{Code, Diagnostic, listed};
use crate::isa::{Role, Sources};

pub(super) const RULE: Rule = Rule { codes: &[Code::ConstantComparison], documented: false, find };

fn find(subject: &Subject<'_>, memo: &mut Memo<'_>) -> Option<Diagnostic> {
    let settled = memo.facts(subject.instruction)?.settled();
    let (_, holds) = *settled.first()?;
    let compare = subject.instruction.modifier(Role::Compare)?;
    let span = subject.modifier(compare.text())?;
    let verdict = if holds { "always true" } else { "always false" };
    let sources = subject.instruction.form().sources;
    let (message, help) = if sources == Sources::Scalar {
        let constant = subject.instruction.sources()[..2].contains(&None);
        let help = if constant {
            "the types and parts of the sources allow no other result"
        } else {
            "a value is compared with itself"
        };
        (format!("this comparison is {verdict}"), help.to_string())
    } else {
        let lanes: Vec<String> = settled.iter().map(|(lane, _)| lane.to_string()).collect();
        let noun = if lanes.len() == 1 { "lane" } else { "lanes" };
        let lanes = listed(&lanes, "and");
        let help = "in these lanes, both sources are the same lane of one register".to_string();
        (format!("this comparison is {verdict} in {noun} {lanes}"), help)
    };
    Some(Diagnostic::new(Code::ConstantComparison, span, message).label(verdict).help(help))
}
