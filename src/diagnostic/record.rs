//! Findings for serde, as `docs/diagnostic.schema.json` describes them.

use serde::{Serialize, Serializer};

#[cfg(feature = "cli")]
use super::Docs;
use super::{Code, Diagnostic, Fix, Label, Severity};
use crate::source::{Position, Span};

/// A finding. Only a finding in a file has the optional fields.
#[derive(Serialize)]
pub(crate) struct Record<'a> {
    code: Code,
    name: &'static str,
    url: Option<String>,
    severity: Severity,
    message: &'a str,
    help: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    uri: Option<&'a str>,
    span: Span,
    #[serde(skip_serializing_if = "Option::is_none")]
    start: Option<Position>,
    #[serde(skip_serializing_if = "Option::is_none")]
    end: Option<Position>,
    labels: Vec<LabelRecord<'a>>,
    fixes: &'a [Fix],
}

#[derive(Serialize)]
struct LabelRecord<'a> {
    #[serde(flatten)]
    span: Span,
    text: &'a str,
}

impl<'a> Record<'a> {
    pub(crate) fn new(found: &'a Diagnostic) -> Record<'a> {
        let Diagnostic { code, severity, span, message, label, help, labels, fixes, .. } = found;
        let own = (!label.is_empty()).then_some(LabelRecord { span: *span, text: label });
        let other = |it: &'a Label| LabelRecord { span: it.span, text: &it.text };
        Record {
            code: *code,
            name: code.name(),
            url: code.url(),
            severity: *severity,
            message,
            help: help.as_deref(),
            path: None,
            uri: None,
            span: *span,
            start: None,
            end: None,
            labels: own.into_iter().chain(labels.iter().map(other)).collect(),
            fixes,
        }
    }

    /// The finding in a file with this name, between two positions, with the address of the code's
    /// page. Names of files may look the same as text; the URI tells the files apart.
    #[cfg(feature = "cli")]
    pub(crate) fn in_file(
        self,
        path: &'a str,
        uri: Option<&'a str>,
        [start, end]: [Position; 2],
        docs: &Docs,
    ) -> Record<'a> {
        let url = docs.url(self.code);
        Record { url, path: Some(path), uri, start: Some(start), end: Some(end), ..self }
    }
}

impl Serialize for Diagnostic {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Record::new(self).serialize(serializer)
    }
}
