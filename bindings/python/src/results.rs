//! Whole texts.

use std::sync::{Arc, OnceLock};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use vptx::backend::ptx::{Outcome, RewriteError};
use vptx::check::Language;
use vptx::diagnostic::{Applicability, RuleSet};
use vptx::explain::{ExplainError, page};
use vptx::isa::{PtxVersion, Target};
use vptx::print::LineEnding;
use vptx::source::LineIndex;
use vptx::{
    CheckOptions, Dialect, FormatError, FormatOptions, NormalOptions, RewriteOptions, Semantics,
};

use crate::arguments::{Choices, ExactText, Named, Path, Rules, Targets, Text};
use crate::finding::{Finding, Span, characters, findings, listed, ptx_error};
use crate::instruction::{Cost, Instruction};
use crate::names::{self, Scope, Symbol, Use};
use crate::tree::{self, Edits, Function, Statement, TreeError};

/// The findings about a text, in the order of the text.
///
/// `path` names the text in the findings. `language` is `ptx`, or `cuda`, `python`, `mojo`, `rust`,
/// `julia`, `zig` or `notebook` for the PTX in such sources. If it is not given, the ending of
/// `path` tells the language, as in `kernel.cu`; without such an ending, the text is PTX. `target`
/// (one, or several as a list or with commas) and `ptx_version` replace the `.target` and the
/// `.version` of the text. `select`, `extend_select` and `ignore` take codes, names, or the start
/// of codes such as `V5`, as the options of `vptx check` do.
#[pyfunction]
#[pyo3(signature = (
    text, *, path = None, language = None, target = None, ptx_version = None, dialect = None,
    select = None, extend_select = None, ignore = None
))]
#[expect(clippy::too_many_arguments, reason = "named in Python")]
pub(crate) fn check<'py>(
    py: Python<'py>,
    text: Text,
    path: Option<Path>,
    language: Option<Named<Language>>,
    target: Option<Targets>,
    ptx_version: Option<Named<PtxVersion>>,
    dialect: Option<Named<Dialect>>,
    select: Option<Rules>,
    extend_select: Option<Rules>,
    ignore: Option<Rules>,
) -> PyResult<Bound<'py, PyAny>> {
    let choices = Choices { language, target, ptx_version, dialect, select, extend_select, ignore };
    let path = path.map(|path| path.0);
    let options = choices.options(path.as_deref(), &text.0);
    let found = py.detach(|| findings(&text.0, path.as_deref(), &vptx::check(&text.0, &options)));
    listed(py, found)
}

/// A text with fixes made.
#[pyclass(frozen, module = "vptx")]
pub(crate) struct Fixed {
    #[pyo3(get)]
    text: String,
    /// The code of each finding that was fixed.
    #[pyo3(get)]
    codes: Vec<String>,
    left: Vec<Finding>,
}

#[pymethods]
impl Fixed {
    #[new]
    fn new(text: String, codes: Vec<String>, findings: Vec<Finding>) -> Fixed {
        Fixed { text, codes, left: findings }
    }

    fn __getnewargs__(&self) -> (&str, &[String], Vec<Finding>) {
        (&self.text, &self.codes, self.left.clone())
    }

    /// The findings that are left.
    #[getter]
    fn findings<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        listed(py, self.left.clone())
    }

    fn __str__(&self) -> &str {
        &self.text
    }

    fn __repr__(&self) -> String {
        format!("<Fixed: {} fixed, {} left>", self.codes.len(), self.left.len())
    }
}

/// Makes the fixes of the findings that `check` finds with the same arguments: fixes that keep the
/// meaning, and with `unsafe_fixes` also fixes that may change it.
#[pyfunction]
#[pyo3(signature = (
    text, *, unsafe_fixes = false, path = None, language = None, target = None,
    ptx_version = None, dialect = None, select = None, extend_select = None, ignore = None
))]
#[expect(clippy::too_many_arguments, reason = "named in Python")]
pub(crate) fn fix(
    py: Python<'_>,
    text: ExactText,
    unsafe_fixes: bool,
    path: Option<Path>,
    language: Option<Named<Language>>,
    target: Option<Targets>,
    ptx_version: Option<Named<PtxVersion>>,
    dialect: Option<Named<Dialect>>,
    select: Option<Rules>,
    extend_select: Option<Rules>,
    ignore: Option<Rules>,
) -> Fixed {
    let choices = Choices { language, target, ptx_version, dialect, select, extend_select, ignore };
    let path = path.map(|path| path.0);
    let options = choices.options(path.as_deref(), &text.0);
    let most = if unsafe_fixes { Applicability::Unsafe } else { Applicability::Safe };
    py.detach(|| {
        let fixed = vptx::fix(&text.0, &options, most);
        Fixed {
            left: findings(&fixed.text, path.as_deref(), &fixed.left),
            text: fixed.text,
            codes: fixed.codes.into_iter().map(|it| it.text().to_string()).collect(),
        }
    })
}

/// Formats a module as `vptx fmt` does. `indent_width` is from 0 to 16; `line_ending` is `lf`,
/// `crlf` or `keep`.
///
/// Raises `PtxError` if the text cannot be formatted.
#[pyfunction]
#[pyo3(signature = (
    text, *, indent_width = None, line_width = None, line_ending = None,
    explicit_defaults = false
))]
pub(crate) fn format(
    py: Python<'_>,
    text: ExactText,
    indent_width: Option<usize>,
    line_width: Option<usize>,
    line_ending: Option<&str>,
    explicit_defaults: bool,
) -> PyResult<String> {
    let line_ending = match line_ending {
        None | Some("lf") => LineEnding::Lf,
        Some("crlf") => LineEnding::Crlf,
        Some("keep") => LineEnding::Keep,
        Some(other) => {
            let text = format!("`{other}` is not a line ending: write `lf`, `crlf` or `keep`");
            return Err(PyValueError::new_err(text));
        }
    };
    if indent_width.is_some_and(|width| width > FormatOptions::MAX_INDENT_WIDTH) {
        let text = format!("indent_width: must be from 0 to {}", FormatOptions::MAX_INDENT_WIDTH);
        return Err(PyValueError::new_err(text));
    }
    let usual = FormatOptions::default();
    let (indent, width) = (usual.indent_width, usual.line_width);
    let options = usual
        .with_indent_width(indent_width.unwrap_or(indent))
        .with_line_width(line_width.unwrap_or(width))
        .with_line_ending(line_ending)
        .with_explicit_defaults(explicit_defaults);
    py.detach(|| vptx::format(&text.0, &options)).map_err(|error| unformatted(py, &text.0, &error))
}

/// The normal form of a module, as `vptx fmt --normalize` prints it: equal for modules that differ
/// only in layout, comments, debug data, names of registers and the like.
///
/// Raises `PtxError` if the text has no normal form.
#[pyfunction]
#[pyo3(signature = (text, *, keep_names = false, keep_comments = false, keep_debug = false))]
pub(crate) fn normalize(
    py: Python<'_>,
    text: ExactText,
    keep_names: bool,
    keep_comments: bool,
    keep_debug: bool,
) -> PyResult<String> {
    let options = NormalOptions::default()
        .with_keep_names(keep_names)
        .with_keep_comments(keep_comments)
        .with_keep_debug(keep_debug);
    py.detach(|| vptx::normalize(&text.0, &options))
        .map_err(|error| unformatted(py, &text.0, &error))
}

fn unformatted(py: Python<'_>, text: &str, error: &FormatError) -> PyErr {
    ptx_error(py, &error.to_string(), findings(text, None, error.diagnostics()))
}

/// A module: its tree, its video instructions and the errors in them.
#[pyclass(frozen, module = "vptx")]
pub(crate) struct Module {
    #[pyo3(get)]
    text: String,
    /// Computed when it is first asked for.
    tree: OnceLock<Arc<tree::Text>>,
    /// The module's `.target`, such as `sm_90`.
    #[pyo3(get)]
    target: Option<String>,
    /// The module's `.version`, such as `8.0`.
    #[pyo3(get)]
    version: Option<String>,
    /// The legal video instructions, in the order of the text.
    #[pyo3(get)]
    instructions: Vec<Py<Instruction>>,
    illegal: Vec<Finding>,
}

impl Module {
    fn tree(&self) -> &Arc<tree::Text> {
        self.tree.get_or_init(|| tree::Text::parse(self.text.clone()))
    }
}

type ModuleArguments = (String, Option<String>, Option<String>, Vec<Py<Instruction>>, Vec<Finding>);

#[pymethods]
impl Module {
    #[new]
    fn new(
        text: String,
        target: Option<String>,
        version: Option<String>,
        instructions: Vec<Py<Instruction>>,
        findings: Vec<Finding>,
    ) -> Module {
        Module { text, tree: OnceLock::new(), target, version, instructions, illegal: findings }
    }

    /// The statements at the top level: directives, declarations and functions.
    #[getter]
    fn statements(&self, py: Python<'_>) -> Vec<Statement> {
        py.detach(|| self.tree().statements())
    }

    /// The kernels and functions.
    #[getter]
    fn functions(&self, py: Python<'_>) -> Vec<Function> {
        py.detach(|| self.tree().functions())
    }

    /// The places where the text is not PTX.
    #[getter]
    fn errors(&self, py: Python<'_>) -> Vec<TreeError> {
        py.detach(|| self.tree().errors())
    }

    /// The declared names, in the order of their declarations.
    #[getter]
    fn symbols(&self, py: Python<'_>) -> Vec<Symbol> {
        py.detach(|| names::symbols(self.tree()))
    }

    /// The module itself, its functions and their blocks, in the order of the text.
    #[getter]
    fn scopes(&self, py: Python<'_>) -> Vec<Scope> {
        py.detach(|| names::scopes(self.tree()))
    }

    /// All places of names, in the order of the text.
    #[getter]
    fn uses(&self, py: Python<'_>) -> Vec<Use> {
        py.detach(|| names::uses(self.tree()))
    }

    /// The use of a name at a byte offset, which may also be the end of the name.
    fn use_at(&self, py: Python<'_>, offset: u32) -> Option<Use> {
        py.detach(|| names::use_at(self.tree(), offset))
    }

    /// Starts to edit the module.
    fn edit(&self, py: Python<'_>) -> Edits {
        py.detach(|| Edits::of(self.tree()))
    }

    /// The errors in the video instructions that are not legal.
    #[getter]
    fn findings<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        listed(py, self.illegal.clone())
    }

    fn __getnewargs__(&self, py: Python<'_>) -> ModuleArguments {
        let Module { text, target, version, instructions, illegal, .. } = self;
        let instructions = instructions.iter().map(|it| it.clone_ref(py)).collect();
        (text.clone(), target.clone(), version.clone(), instructions, illegal.clone())
    }

    fn __str__(&self) -> &str {
        &self.text
    }

    fn __repr__(&self) -> String {
        let (instructions, errors) = (self.instructions.len(), self.illegal.len());
        format!("<Module: {instructions} video instructions, {errors} errors>")
    }
}

/// Reads a whole module of PTX, or bare statements. Raises no exception for errors in the text:
/// they are in `findings`. `target`, `ptx_version` and `dialect` are those of `check`.
#[pyfunction]
#[pyo3(signature = (text, *, target = None, ptx_version = None, dialect = None))]
pub(crate) fn parse(
    py: Python<'_>,
    text: ExactText,
    target: Option<Targets>,
    ptx_version: Option<Named<PtxVersion>>,
    dialect: Option<Named<Dialect>>,
) -> PyResult<Module> {
    let ExactText(text) = text;
    let choices = Choices { target, ptx_version, dialect, ..Choices::default() };
    let (target, version, statements, errors) = py.detach(|| {
        let options = choices.options(None, &text).with_rules(RuleSet::ERRORS);
        let (module, found) = vptx::parse_with(&text, &options).expect("PTX");
        let target = module.target().map(|it| it.to_string());
        let version = module.version().map(|it| it.to_string());
        let errors = findings(&text, None, &found);
        (target, version, Instruction::of_module(module), errors)
    });
    let instructions = statements.into_iter().map(|it| Py::new(py, it)).collect::<PyResult<_>>()?;
    Ok(Module { text, tree: OnceLock::new(), target, version, instructions, illegal: errors })
}

/// A video instruction of a rewritten module.
#[pyclass(frozen, get_all, module = "vptx")]
pub(crate) struct Change {
    /// The instruction's canonical text.
    instruction: String,
    /// Its bytes in the old text.
    span: Span,
    /// Its characters in the old text.
    chars: Span,
    /// `rewritten`; `fused` or `grouped` if the new code also does the work of neighbours, which are
    /// `absorbed`; `kept`; or `unavailable` if the target lacks what it needs.
    outcome: String,
    /// The numbers of machine instructions: of the video instruction, and of the new code. `None`
    /// if they were not measured.
    cost: Option<Cost>,
    /// The semantics under which the instruction computes something else than under the one asked
    /// for.
    differs: Vec<String>,
}

#[pymethods]
impl Change {
    #[new]
    fn new(
        instruction: String,
        span: Span,
        chars: Span,
        outcome: String,
        cost: Option<Cost>,
        differs: Vec<String>,
    ) -> Change {
        Change { instruction, span, chars, outcome, cost, differs }
    }

    fn __getnewargs__(&self) -> (&str, Span, Span, &str, Option<Cost>, &[String]) {
        let Change { instruction, span, chars, outcome, cost, differs } = self;
        (instruction, *span, *chars, outcome, *cost, differs)
    }

    fn __repr__(&self) -> String {
        format!("<Change {}: {}>", self.outcome, self.instruction)
    }
}

/// A module with ordinary PTX in the place of video instructions.
#[pyclass(frozen, module = "vptx")]
pub(crate) struct Rewritten {
    #[pyo3(get)]
    text: String,
    /// What became of each legal video instruction, in the order of the text.
    #[pyo3(get)]
    changes: Vec<Py<Change>>,
    /// How many instructions were replaced.
    #[pyo3(get)]
    count: usize,
    errors: Vec<Finding>,
}

#[pymethods]
impl Rewritten {
    #[new]
    fn new(
        text: String,
        changes: Vec<Py<Change>>,
        count: usize,
        findings: Vec<Finding>,
    ) -> Rewritten {
        Rewritten { text, changes, count, errors: findings }
    }

    fn __getnewargs__(&self) -> (&str, &[Py<Change>], usize, Vec<Finding>) {
        (&self.text, &self.changes, self.count, self.errors.clone())
    }

    /// The errors in the video instructions that are not legal and were not replaced.
    #[getter]
    fn findings<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        listed(py, self.errors.clone())
    }

    fn __str__(&self) -> &str {
        &self.text
    }

    fn __repr__(&self) -> String {
        format!("<Rewritten: {} of {} video instructions>", self.count, self.changes.len())
    }
}

/// Replaces video instructions by ordinary PTX where that is cheaper on the target, or where the
/// result of ptxas 13 differs from `semantics` (`ptxas-13` if not given). Without `target`, the
/// module's own `.target` counts. `all` replaces all other video instructions, too. Without
/// `regions`, each instruction is replaced by itself, and never several by one sequence.
///
/// Raises `PtxError` if the text has errors of syntax, and `ValueError` if neither the module nor
/// the argument names a target.
#[pyfunction]
#[pyo3(signature = (text, *, target = None, semantics = None, all = false, regions = true,
    comments = false))]
pub(crate) fn rewrite(
    py: Python<'_>,
    text: ExactText,
    target: Option<Named<Target>>,
    semantics: Option<Named<Semantics>>,
    all: bool,
    regions: bool,
    comments: bool,
) -> PyResult<Rewritten> {
    let options = RewriteOptions::default()
        .with_target(target.map(|it| it.0))
        .with_semantics(semantics.map_or(Semantics::CURRENT, |it| it.0))
        .with_all(all)
        .with_regions(regions)
        .with_comments(comments);
    let rewritten = py.detach(|| {
        let rules = CheckOptions::default().with_rules(RuleSet::ERRORS);
        let (module, found) = vptx::parse_with(&text.0, &rules).expect("PTX");
        let errors = findings(&text.0, None, &found);
        vptx::rewrite(&module, &options).map(|rewritten| {
            let lines = LineIndex::new(&text.0);
            let changes: Vec<Change> = rewritten
                .changes
                .iter()
                .map(|change| Change {
                    instruction: change.instruction.to_string(),
                    span: change.span.into(),
                    chars: characters(&text.0, &lines, change.span),
                    outcome: match change.outcome {
                        Outcome::Rewritten(_) => "rewritten",
                        Outcome::Fused(_) => "fused",
                        Outcome::Grouped(_) => "grouped",
                        Outcome::Absorbed => "absorbed",
                        Outcome::Kept => "kept",
                        Outcome::Unavailable => "unavailable",
                    }
                    .to_string(),
                    cost: change.cost.map(Cost::from),
                    differs: change.differs.iter().map(|it| it.text().to_string()).collect(),
                })
                .collect();
            (rewritten.text(), rewritten.edits().len(), changes, errors)
        })
    });
    let (text, count, changes, errors) = rewritten.map_err(|error| match &error {
        RewriteError::Syntax(found) => {
            ptx_error(py, &error.to_string(), findings(&text.0, None, found))
        }
        _ => PyValueError::new_err(error.to_string()),
    })?;
    let changes = changes.into_iter().map(|it| Py::new(py, it)).collect::<PyResult<_>>()?;
    Ok(Rewritten { text, changes, count, errors })
}

/// The semantics of a release of ptxas such as `12.9` or `13.5.37`. A driver that compiles PTX has
/// the semantics of the same release of CUDA.
///
/// Raises `ValueError` if the string is not a release.
#[pyfunction]
pub(crate) fn semantics_of_ptxas(release: &str) -> PyResult<&'static str> {
    let semantics = Semantics::of_ptxas(release).map(Semantics::text);
    semantics.ok_or_else(|| PyValueError::new_err(format!("`{release}` is no release of ptxas")))
}

/// The page that `vptx explain` prints about a subject, in Markdown: a code (`V501`), its name or a
/// group (`V5`), a mnemonic, a modifier or selector (`.sat`), a deviation of ptxas (`C3`), a target
/// (`sm_120f`), or an instruction. Costs are those on `target`.
///
/// Raises `PtxError` if an instruction is wrong, and `ValueError` if there is no page.
#[pyfunction]
#[pyo3(signature = (subject, *, target = None))]
pub(crate) fn explain(
    py: Python<'_>,
    subject: &str,
    target: Option<Named<Target>>,
) -> PyResult<String> {
    let target = target.map_or(Target::sm(90), |it| it.0);
    py.detach(|| page(subject, target)).map_err(|error| match &error {
        ExplainError::Instruction { text, error } => {
            ptx_error(py, &error.to_string(), findings(text, None, error.diagnostics()))
        }
        _ => PyValueError::new_err(error.to_string()),
    })
}
