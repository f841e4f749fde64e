//! V503, V504: `.sat` that clamps nothing, or at one end only.

use super::facts::Saturation;
use super::{Memo, Rule, Subject};
use crate::diagnostic::{Applicability, Code, Diagnostic, Edit};

pub(super) const RULE: Rule =
    Rule { codes: &[Code::SaturateWithoutEffect, Code::SaturateOneSided], documented: false, find };

fn find(subject: &Subject<'_>, memo: &mut Memo<'_>) -> Option<Diagnostic> {
    let span = subject.modifier(".sat")?;
    let diagnostic = match memo.facts(subject.instruction)?.saturation()? {
        Saturation::Both => return None,
        Saturation::Never => {
            let all = subject.raw.modifiers.iter();
            let edits = all
                .filter(|span| span.text(subject.source) == ".sat")
                .map(|span| Edit::remove(*span))
                .collect();
            Diagnostic::new(Code::SaturateWithoutEffect, span, "`.sat` never clamps here")
                .label("has no effect")
                .help("every result of these sources is already in the range")
                .fix(Applicability::Safe, "remove it", edits)
        }
        one_sided => {
            let is_above = one_sided == Saturation::Above;
            let (what, other) = if is_above { ("large", "below") } else { ("small", "above") };
            let message = format!("`.sat` clamps only what is too {what} here");
            Diagnostic::new(Code::SaturateOneSided, span, message)
                .label("has an effect at one end")
                .help(format!("no result of these sources is {other} the range"))
        }
    };
    Some(diagnostic)
}
