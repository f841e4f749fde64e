//! Findings, as Python sees them.

use std::cell::OnceCell;
use std::fmt::Write;
use std::hash::{DefaultHasher, Hash, Hasher};

use pyo3::create_exception;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyList, PySlice, PyType};
use vptx::diagnostic::{self, Applicability};
use vptx::source::LineIndex;
use vptx::{Code, Diagnostic};

create_exception!(
    vptx,
    PtxError,
    PyValueError,
    "A text is not legal PTX. `findings` has every error found."
);

/// A range without its end, of bytes of the text in UTF-8, or of characters of the `str`.
#[pyclass(frozen, eq, hash, get_all, from_py_object, module = "vptx")]
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Span {
    start: u32,
    end: u32,
}

#[pymethods]
impl Span {
    #[new]
    fn new(start: u32, end: u32) -> Span {
        Span { start, end }
    }

    /// The range as a `slice`: `text[finding.chars.slice]` is the marked text.
    #[getter]
    fn slice<'py>(&self, py: Python<'py>) -> Bound<'py, PySlice> {
        PySlice::new(py, self.start as isize, self.end as isize, 1)
    }

    fn __len__(&self) -> usize {
        self.end.saturating_sub(self.start) as usize
    }

    fn __repr__(&self) -> String {
        format!("Span({}, {})", self.start, self.end)
    }

    fn __getnewargs__(&self) -> (u32, u32) {
        (self.start, self.end)
    }
}

impl Span {
    /// The span of the library, which cannot end before it starts.
    pub(crate) fn bytes(self) -> PyResult<vptx::source::Span> {
        if self.start <= self.end {
            Ok(vptx::source::Span::new(self.start, self.end))
        } else {
            Err(PyValueError::new_err("the span ends before it starts"))
        }
    }
}

impl From<vptx::source::Span> for Span {
    fn from(span: vptx::source::Span) -> Span {
        Span { start: span.start, end: span.end }
    }
}

/// A line and a column as editors show them: both count from 1, and columns count
/// characters.
#[pyclass(frozen, eq, ord, hash, get_all, from_py_object, module = "vptx")]
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Position {
    line: u32,
    column: u32,
}

#[pymethods]
impl Position {
    #[new]
    pub(crate) fn new(line: u32, column: u32) -> Position {
        Position { line, column }
    }

    fn __repr__(&self) -> String {
        format!("Position(line={}, column={})", self.line, self.column)
    }

    pub(crate) fn __str__(&self) -> String {
        format!("{}:{}", self.line, self.column)
    }

    fn __getnewargs__(&self) -> (u32, u32) {
        (self.line, self.column)
    }
}

/// A place that a finding points at, with a text.
#[pyclass(frozen, eq, hash, get_all, from_py_object, module = "vptx")]
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Label {
    /// The bytes.
    span: Span,
    /// The characters.
    chars: Span,
    text: String,
}

#[pymethods]
impl Label {
    #[new]
    fn new(span: Span, chars: Span, text: String) -> Label {
        Label { span, chars, text }
    }

    fn __repr__(&self) -> String {
        format!("Label({}, {:?})", self.chars.__repr__(), self.text)
    }

    fn __getnewargs__(&self) -> (Span, Span, String) {
        (self.span, self.chars, self.text.clone())
    }
}

/// The replacement of a part of a text.
#[pyclass(frozen, eq, hash, get_all, from_py_object, module = "vptx")]
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Edit {
    /// The bytes.
    span: Span,
    /// The characters.
    chars: Span,
    replacement: String,
}

#[pymethods]
impl Edit {
    #[new]
    fn new(span: Span, chars: Span, replacement: String) -> Edit {
        Edit { span, chars, replacement }
    }

    fn __repr__(&self) -> String {
        format!("Edit({}, {:?})", self.chars.__repr__(), self.replacement)
    }

    fn __getnewargs__(&self) -> (Span, Span, String) {
        (self.span, self.chars, self.replacement.clone())
    }
}

/// A way to resolve a finding.
#[pyclass(frozen, eq, hash, from_py_object, module = "vptx")]
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Fix {
    #[pyo3(get)]
    title: String,
    /// `safe`, `unsafe` or `display-only`.
    #[pyo3(get)]
    applicability: &'static str,
    #[pyo3(get)]
    edits: Vec<Edit>,
    text: TextHash,
}

/// The hash of the text that a fix belongs to, if that is known. Findings are equal without it.
#[derive(Clone, Copy)]
struct TextHash(Option<u64>);

impl PartialEq for TextHash {
    fn eq(&self, _: &TextHash) -> bool {
        true
    }
}

impl Eq for TextHash {}

impl Hash for TextHash {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

#[pymethods]
impl Fix {
    #[new]
    #[pyo3(signature = (title, applicability, edits, text = None))]
    fn new(
        title: String,
        applicability: &str,
        edits: Vec<Edit>,
        text: Option<u64>,
    ) -> PyResult<Fix> {
        let known = [Applicability::Safe, Applicability::Unsafe, Applicability::DisplayOnly];
        let found = known.into_iter().map(applicability_text).find(|text| *text == applicability);
        let applicability = found.ok_or_else(|| {
            PyValueError::new_err(format!("`{applicability}` is no applicability"))
        })?;
        Ok(Fix { title, applicability, edits, text: TextHash(text) })
    }

    /// The text with the edits of this fix. The text must be the one that was checked: for several
    /// fixes, call `apply`.
    fn apply(&self, text: &str) -> PyResult<String> {
        applied(text, &[self])
    }

    fn __repr__(&self) -> String {
        format!("<Fix ({}): {}>", self.applicability, self.title)
    }

    fn __getnewargs__(&self) -> (String, &'static str, Vec<Edit>, Option<u64>) {
        (self.title.clone(), self.applicability, self.edits.clone(), self.text.0)
    }
}

/// Makes fixes of findings about a text, all at once. Equal insertions at one place are made once.
///
/// Raises `ValueError` if a fix belongs to another text, or if two fixes replace the same part.
#[pyfunction]
#[pyo3(signature = (text, fixes, /))]
pub(crate) fn apply(py: Python<'_>, text: &str, fixes: Vec<Fix>) -> PyResult<String> {
    py.detach(|| applied(text, &fixes.iter().collect::<Vec<_>>()))
}

fn applied(text: &str, fixes: &[&Fix]) -> PyResult<String> {
    let hash = OnceCell::new();
    let belongs =
        |fix: &&Fix| fix.text.0.is_none_or(|it| it == *hash.get_or_init(|| hash_of(text)));
    if !fixes.iter().all(belongs) {
        return Err(PyValueError::new_err("the fix belongs to another text"));
    }
    let edit = |edit: &Edit| {
        let Span { start, end } = edit.span;
        diagnostic::Edit::replace(vptx::source::Span { start, end }, &*edit.replacement)
    };
    let mut edits: Vec<diagnostic::Edit> =
        fixes.iter().flat_map(|fix| &fix.edits).map(edit).collect();
    edits.sort_by_key(|edit| (edit.span.start, edit.span.end));
    edits.dedup_by(|one, other| one.span.is_empty() && one == other);
    diagnostic::apply(text, &edits)
        .map_err(|error| PyValueError::new_err(format!("the fixes do not fit the text: {error}")))
}

/// Tells texts apart. A copy of a fix in another process has the same one.
fn hash_of(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

fn applicability_text(applicability: Applicability) -> &'static str {
    match applicability {
        Applicability::Safe => "safe",
        Applicability::Unsafe => "unsafe",
        Applicability::DisplayOnly => "display-only",
    }
}

/// An error, a warning or a note about a text.
///
/// `span` counts bytes of the text in UTF-8, as `vptx check --format json` does; `chars`
/// counts characters, so that `text[finding.chars.slice]` is the marked text. `start` and
/// `end` are lines and columns.
#[pyclass(frozen, eq, hash, get_all, from_py_object, module = "vptx")]
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Finding {
    /// The code, such as `V501`; `vptx.explain` gives its page.
    code: &'static str,
    /// The name, such as `result-differs`.
    name: &'static str,
    /// `error`, `warning` or `note`.
    severity: &'static str,
    message: String,
    help: Option<String>,
    /// The path that was given to `check`.
    path: Option<String>,
    span: Span,
    chars: Span,
    start: Position,
    end: Position,
    labels: Vec<Label>,
    fixes: Vec<Fix>,
}

type FindingArguments = (
    &'static str,
    &'static str,
    String,
    Option<String>,
    Option<String>,
    (Span, Span),
    (Position, Position),
    Vec<Label>,
    Vec<Fix>,
);

#[pymethods]
impl Finding {
    #[new]
    #[expect(clippy::too_many_arguments, reason = "all that a copy needs")]
    fn new(
        code: &str,
        severity: &str,
        message: String,
        help: Option<String>,
        path: Option<String>,
        spans: (Span, Span),
        positions: (Position, Position),
        labels: Vec<Label>,
        fixes: Vec<Fix>,
    ) -> PyResult<Finding> {
        let code = Code::find(code)
            .ok_or_else(|| PyValueError::new_err(format!("`{code}` is not a code")))?;
        let severity = ["error", "warning", "note"]
            .into_iter()
            .find(|text| *text == severity)
            .ok_or_else(|| PyValueError::new_err(format!("`{severity}` is no severity")))?;
        Ok(Finding {
            code: code.text(),
            name: code.name(),
            severity,
            message,
            help,
            path,
            span: spans.0,
            chars: spans.1,
            start: positions.0,
            end: positions.1,
            labels,
            fixes,
        })
    }

    fn __repr__(&self) -> String {
        format!("<Finding {self}>")
    }

    fn __str__(&self) -> String {
        self.to_string()
    }

    fn _repr_html_(&self) -> String {
        table(&[self])
    }

    fn __getnewargs__(&self) -> FindingArguments {
        (
            self.code,
            self.severity,
            self.message.clone(),
            self.help.clone(),
            self.path.clone(),
            (self.span, self.chars),
            (self.start, self.end),
            self.labels.clone(),
            self.fixes.clone(),
        )
    }
}

impl std::fmt::Display for Finding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let Some(path) = &self.path {
            write!(f, "{path}:")?;
        }
        let Position { line, column } = self.start;
        write!(f, "{line}:{column}: {}[{}] {}", self.severity, self.code, self.message)
    }
}

/// The characters that bytes of a text are.
pub(crate) fn characters(text: &str, index: &LineIndex, span: vptx::source::Span) -> Span {
    Span { start: index.char_offset(text, span.start), end: index.char_offset(text, span.end) }
}

/// Converts findings about a text.
pub(crate) fn findings(text: &str, path: Option<&str>, found: &[Diagnostic]) -> Vec<Finding> {
    if found.is_empty() {
        return Vec::new();
    }
    let (index, hash) = (LineIndex::new(text), OnceCell::new());
    let chars = |span: vptx::source::Span| characters(text, &index, span);
    let position = |offset| {
        let vptx::source::Position { line, column } = index.position(text, offset);
        Position { line, column }
    };
    let edit = |edit: &diagnostic::Edit| Edit {
        span: edit.span.into(),
        chars: chars(edit.span),
        replacement: edit.replacement.clone(),
    };
    let fix = |fix: &diagnostic::Fix| Fix {
        title: fix.title.clone(),
        applicability: applicability_text(fix.applicability),
        edits: fix.edits.iter().map(edit).collect(),
        text: TextHash(Some(*hash.get_or_init(|| hash_of(text)))),
    };
    let label = |span: vptx::source::Span, text: &str| Label {
        span: span.into(),
        chars: chars(span),
        text: text.into(),
    };
    let finding = |it: &Diagnostic| {
        let own = (!it.label.is_empty()).then(|| label(it.span, &it.label));
        Finding {
            code: it.code.text(),
            name: it.code.name(),
            severity: match it.severity {
                diagnostic::Severity::Error => "error",
                diagnostic::Severity::Warning => "warning",
                diagnostic::Severity::Note => "note",
            },
            message: it.message.clone(),
            help: it.help.clone(),
            path: path.map(str::to_string),
            span: it.span.into(),
            chars: chars(it.span),
            start: position(it.span.start),
            end: position(it.span.end),
            labels: own
                .into_iter()
                .chain(it.labels.iter().map(|it| label(it.span, &it.text)))
                .collect(),
            fixes: it.fixes.iter().map(fix).collect(),
        }
    };
    found.iter().map(finding).collect()
}

/// A `vptx.Findings`: a list that a notebook shows as a table.
pub(crate) fn listed(py: Python<'_>, findings: Vec<Finding>) -> PyResult<Bound<'_, PyAny>> {
    static FINDINGS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    FINDINGS.import(py, "vptx._findings", "Findings")?.call1((PyList::new(py, findings)?,))
}

/// The exception for a text that is not legal PTX.
pub(crate) fn ptx_error(py: Python<'_>, message: &str, found: Vec<Finding>) -> PyErr {
    let mut text = message.to_string();
    for finding in &found {
        // Writing to a string does not fail.
        let _ = write!(text, "\n  {finding}");
        if let Some(help) = &finding.help {
            let _ = write!(text, "\n    help: {}", help.replace('\n', "\n          "));
        }
    }
    let error = PtxError::new_err(text);
    match listed(py, found).and_then(|found| error.value(py).setattr("findings", found)) {
        Ok(()) => error,
        Err(other) => other,
    }
}

/// The table that a notebook shows.
#[pyfunction]
#[pyo3(name = "_findings_table")]
pub(crate) fn findings_table(findings: Vec<Finding>) -> String {
    table(&findings.iter().collect::<Vec<_>>())
}

fn table(findings: &[&Finding]) -> String {
    let mut html = String::from(
        "<table><thead><tr><th>place</th><th>code</th><th>severity</th>\
         <th style=\"text-align:left\">message</th></tr></thead><tbody>",
    );
    for finding in findings {
        let Position { line, column } = finding.start;
        let path = finding.path.as_ref().map_or_else(String::new, |path| format!("{path}:"));
        let help = finding.help.as_ref().map_or_else(String::new, |help| {
            format!("<pre style=\"margin:0\">{}</pre>", escaped(help))
        });
        let _ = write!(
            html,
            "<tr><td>{}{line}:{column}</td><td title=\"{}\">{}</td><td>{}</td>\
             <td style=\"text-align:left\">{}{help}</td></tr>",
            escaped(&path),
            finding.name,
            finding.code,
            finding.severity,
            escaped(&finding.message),
        );
    }
    html + "</tbody></table>"
}

/// A text with the characters of HTML escaped.
pub(crate) fn escaped(text: &str) -> String {
    let mut html = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => html.push_str("&amp;"),
            '<' => html.push_str("&lt;"),
            '>' => html.push_str("&gt;"),
            '"' => html.push_str("&quot;"),
            '\'' => html.push_str("&#39;"),
            _ => html.push(c),
        }
    }
    html
}
