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
        Saturation::Above => Diagnostic::new(
            Code::SaturateOneSided,
            span,
            "`.sat` clamps only what is too large here",
        )
        .label("has an effect at one end")
        .help("no result of these sources is below the range"),
        Saturation::Below => Diagnostic::new(
            Code::SaturateOneSided,
            span,
            "`.sat` clamps only what is too small here",
        )
        .label("has an effect at one end")
        .help("no result of these sources is above the range"),
    };
    Some(diagnostic)
}
