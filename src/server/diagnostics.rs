//! Findings as a client shows them.

use gen_lsp_types::{
    Code as LspCode, CodeDescription, Diagnostic as LspDiagnostic, DiagnosticRelatedInformation,
    DiagnosticSeverity, DiagnosticTag, Message, Uri,
};

use super::state::Document;
use crate::diagnostic::{Code, Diagnostic, Docs, Severity};
use crate::report::with_help;

/// A finding in the form of the protocol.
pub(super) fn shown(found: &Diagnostic, document: &Document, docs: &Docs) -> LspDiagnostic {
    let related: Vec<DiagnosticRelatedInformation> = found
        .labels
        .iter()
        .map(|label| {
            DiagnosticRelatedInformation::new(document.location(label.span), label.text.clone())
        })
        .collect();
    LspDiagnostic {
        range: document.text.range(found.span),
        severity: Some(match found.severity {
            Severity::Error => DiagnosticSeverity::Error,
            Severity::Warning => DiagnosticSeverity::Warning,
            Severity::Note => DiagnosticSeverity::Information,
        }),
        code: Some(LspCode::String(found.code.text().into())),
        code_description: docs.url(found.code).map(|url| CodeDescription::new(Uri::from(url))),
        source: Some("vptx".into()),
        message: Message::String(with_help(found, "\n")),
        tags: tag(found.code).map(|tag| vec![tag]),
        related_information: Some(related).filter(|related| !related.is_empty()),
        data: None,
    }
}

/// How a client may draw the text that a finding is about.
fn tag(code: Code) -> Option<DiagnosticTag> {
    match code {
        // The marked text has no effect.
        Code::RepeatedSaturate
        | Code::IgnoredThirdOperand
        | Code::CancelledNegation
        | Code::IgnoredSelector
        | Code::ExplicitDefault
        | Code::SaturateWithoutEffect
        | Code::SecondaryWithoutEffect
        | Code::UnusedThirdSource
        | Code::UnusedSuppression => Some(DiagnosticTag::Unnecessary),
        // Newer versions of ptxas read the marked text differently.
        Code::SelectorReadAsType => Some(DiagnosticTag::Deprecated),
        _ => None,
    }
}
