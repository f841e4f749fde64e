//! Findings about a text.
#![forbid(unsafe_code)]

use library::Diagnostic;
use library::source::LineIndex;

use crate::border::{Shared, array};
use crate::types::{Applicability, Position, Severity, Span, Str};

/// A place that a finding points at, with a text.
#[repr(C)]
pub struct Label {
    /// The place.
    pub span: Span,
    /// What it says about the place.
    pub text: Str,
}

/// The replacement of a part of a text.
#[repr(C)]
pub struct Edit {
    /// The bytes that are replaced.
    pub span: Span,
    /// The new text.
    pub replacement: Str,
}

/// A way to resolve a finding.
#[repr(C)]
pub struct Fix {
    /// Its effect, in the imperative.
    pub title: Str,
    /// Whether it keeps the meaning.
    pub applicability: Applicability,
    /// The edits in the order of the text, not overlapping.
    pub edits: *const Edit,
    /// The number of edits.
    pub edit_count: usize,
}

/// An error, a warning or a note about a text.
#[repr(C)]
pub struct Finding {
    /// The code, such as `V501`.
    pub code: Str,
    /// The name, such as `result-differs`.
    pub name: Str,
    /// How bad it is.
    pub severity: Severity,
    /// What is wrong.
    pub message: Str,
    /// What is allowed there, or what to write. May have no data.
    pub help: Str,
    /// The place.
    pub span: Span,
    /// Where the place starts.
    pub start: Position,
    /// Where the place ends, excluded.
    pub end: Position,
    /// Labels at places in the text; the label at the finding's own place is the first.
    pub labels: *const Label,
    /// The number of labels.
    pub label_count: usize,
    /// Alternative ways to resolve it.
    pub fixes: *const Fix,
    /// The number of fixes.
    pub fix_count: usize,
}

/// The findings about a text.
pub struct Findings(Shared<Lists>);

struct Lists {
    findings: Vec<Finding>,
    // The findings point into all members below.
    _labels: Vec<Vec<Label>>,
    _edits: Vec<Vec<Edit>>,
    _fixes: Vec<Vec<Fix>>,
    _diagnostics: Vec<Diagnostic>,
}

impl Findings {
    pub(crate) fn new(text: &str, diagnostics: Vec<Diagnostic>) -> Findings {
        let mut findings = Vec::with_capacity(diagnostics.len());
        let (mut all_labels, mut all_edits, mut all_fixes) = (Vec::new(), Vec::new(), Vec::new());
        // Only findings need an index of the lines, and making it takes time.
        let index = (!diagnostics.is_empty()).then(|| LineIndex::new(text));
        for (it, index) in diagnostics.iter().filter_map(|it| Some((it, index.as_ref()?))) {
            let own = (!it.label.is_empty())
                .then(|| Label { span: it.span.into(), text: it.label.as_str().into() });
            let others = it
                .labels
                .iter()
                .map(|label| Label { span: label.span.into(), text: label.text.as_str().into() });
            let labels: Vec<Label> = own.into_iter().chain(others).collect();
            let fix = |fix: &library::diagnostic::Fix| {
                let edits: Vec<Edit> = fix
                    .edits
                    .iter()
                    .map(|edit| Edit {
                        span: edit.span.into(),
                        replacement: edit.replacement.as_str().into(),
                    })
                    .collect();
                let own = Fix {
                    title: fix.title.as_str().into(),
                    applicability: fix.applicability.into(),
                    edits: array(&edits),
                    edit_count: edits.len(),
                };
                all_edits.push(edits);
                own
            };
            let fixes: Vec<Fix> = it.fixes.iter().map(fix).collect();
            findings.push(Finding {
                code: it.code.text().into(),
                name: it.code.name().into(),
                severity: it.severity.into(),
                message: it.message.as_str().into(),
                help: it.help.as_deref().into(),
                span: it.span.into(),
                start: index.position(text, it.span.start).into(),
                end: index.position(text, it.span.end).into(),
                labels: array(&labels),
                label_count: labels.len(),
                fixes: array(&fixes),
                fix_count: fixes.len(),
            });
            all_labels.push(labels);
            all_fixes.push(fixes);
        }
        Findings(Shared(Lists {
            findings,
            _labels: all_labels,
            _edits: all_edits,
            _fixes: all_fixes,
            _diagnostics: diagnostics,
        }))
    }

    pub(crate) fn list(&self) -> &[Finding] {
        &self.0.0.findings
    }
}

/// A text with fixes made.
pub struct Fixed {
    pub(crate) text: String,
    pub(crate) count: usize,
    pub(crate) left: Findings,
}

impl From<library::Fixed> for Fixed {
    fn from(fixed: library::Fixed) -> Fixed {
        Fixed {
            left: Findings::new(&fixed.text, fixed.left),
            count: fixed.codes.len(),
            text: fixed.text,
        }
    }
}
