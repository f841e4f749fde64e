//! The tree of a text, and edits of it.

use std::sync::{Arc, OnceLock};

use pyo3::create_exception;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use self_cell::self_cell;
use vptx::names::Names;
use vptx::source::{LineIndex, Span as Bytes};
use vptx::syntax::{self, FunctionKind, OperandKind, StatementKind, Tree};

use crate::finding::{Position, Span, characters};
use crate::names::Symbol;

create_exception!(
    vptx,
    EditError,
    PyValueError,
    "An edit contradicts an earlier one, or its text is not what it should be."
);

self_cell!(
    struct Parsed {
        owner: String,
        #[covariant]
        dependent: Tree,
    }
);

/// A text with its tree.
pub(crate) struct Text {
    parsed: Parsed,
    /// Computed when they are first asked for.
    names: OnceLock<Names>,
    lines: OnceLock<LineIndex>,
}

/// Values are the same if they are in the same text and have the same place in it.
macro_rules! same_by_place {
    ($type:ident, $place:expr) => {
        impl PartialEq for $type {
            fn eq(&self, other: &$type) -> bool {
                std::sync::Arc::ptr_eq(self.of(), other.of()) && $place(self) == $place(other)
            }
        }

        impl std::hash::Hash for $type {
            fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
                std::sync::Arc::as_ptr(self.of()).hash(state);
                $place(self).hash(state);
            }
        }
    };
}
pub(crate) use same_by_place;

impl Text {
    pub(crate) fn parse(text: String) -> Arc<Text> {
        let parsed = Parsed::new(text, |text| syntax::parse(text));
        Arc::new(Text { parsed, names: OnceLock::new(), lines: OnceLock::new() })
    }

    fn tree(&self) -> &Tree<'_> {
        self.parsed.borrow_dependent()
    }

    pub(crate) fn names(&self) -> &Names {
        self.names.get_or_init(|| Names::of(self.tree()))
    }

    pub(crate) fn statements(self: &Arc<Text>) -> Vec<Statement> {
        self.listed(self.tree().statements())
    }

    pub(crate) fn functions(self: &Arc<Text>) -> Vec<Function> {
        let functions = self.tree().functions();
        functions.map(|it| Function(self.held(it.statement()))).collect()
    }

    pub(crate) fn errors(&self) -> Vec<TreeError> {
        let errors = self.tree().errors().iter();
        let error = |error: &syntax::Error| {
            let vptx::source::Position { line, column } =
                self.lines().position(self.source(), error.span.start);
            TreeError {
                message: error.to_string(),
                span: error.span.into(),
                chars: self.chars(error.span),
                start: Position::new(line, column),
            }
        };
        errors.map(error).collect()
    }

    fn held(self: &Arc<Text>, statement: syntax::Statement<'_>) -> Statement {
        Statement { text: self.clone(), index: statement.index() }
    }

    fn listed<'t>(
        self: &Arc<Text>,
        all: impl Iterator<Item = syntax::Statement<'t>>,
    ) -> Vec<Statement> {
        all.map(|it| self.held(it)).collect()
    }

    fn source(&self) -> &str {
        self.parsed.borrow_owner()
    }

    pub(crate) fn part(&self, span: Bytes) -> &str {
        span.text(self.source())
    }

    fn lines(&self) -> &LineIndex {
        self.lines.get_or_init(|| LineIndex::new(self.source()))
    }

    /// The characters of these bytes.
    pub(crate) fn chars(&self, span: Bytes) -> Span {
        characters(self.source(), self.lines(), span)
    }
}

/// A place where a text is not PTX.
#[pyclass(frozen, get_all, module = "vptx")]
pub(crate) struct TreeError {
    message: String,
    /// Its bytes.
    span: Span,
    /// Its characters.
    chars: Span,
    /// Where it starts.
    start: Position,
}

#[pymethods]
impl TreeError {
    fn __repr__(&self) -> String {
        format!("<TreeError {}: {}>", self.start.__str__(), self.message)
    }
}

/// A statement of a module: a directive, a declaration, a function, a block, a label or an
/// instruction of any opcode.
#[pyclass(frozen, eq, hash, module = "vptx")]
#[derive(Clone)]
pub(crate) struct Statement {
    text: Arc<Text>,
    index: u32,
}

same_by_place!(Statement, |it: &Statement| it.index);

impl Statement {
    fn of(&self) -> &Arc<Text> {
        &self.text
    }

    fn view(&self) -> syntax::Statement<'_> {
        self.text.tree().statement(self.index)
    }

    fn instruction(&self) -> Option<syntax::Instruction<'_>> {
        match self.view().kind() {
            StatementKind::Instruction(it) => Some(it),
            _ => None,
        }
    }
}

#[pymethods]
impl Statement {
    /// The kind, in the words of `vptx tree`: `instruction`, `label`, `declaration` …
    #[getter]
    fn kind(&self) -> &'static str {
        self.view().node_kind().text()
    }

    /// Its bytes.
    #[getter]
    fn span(&self) -> Span {
        self.view().span().into()
    }

    /// Its characters.
    #[getter]
    fn chars(&self) -> Span {
        self.text.chars(self.view().span())
    }

    /// Its text.
    #[getter]
    fn text(&self) -> &str {
        self.view().text()
    }

    /// The comments that belong to it.
    #[getter]
    fn comments(&self) -> Vec<&str> {
        self.view().comments().map(|it| self.text.part(it)).collect()
    }

    /// The statements inside of it.
    #[getter]
    fn children(&self) -> Vec<Statement> {
        self.text.listed(self.view().children())
    }

    /// The opcode of an instruction up to its first dot.
    #[getter]
    fn mnemonic(&self) -> Option<&str> {
        Some(self.text.part(self.instruction()?.mnemonic()))
    }

    /// The modifiers of an instruction, each with its dot.
    #[getter]
    fn modifiers(&self) -> Vec<&str> {
        let modifiers = self.instruction().into_iter().flat_map(|it| it.modifiers());
        modifiers.map(|it| self.text.part(it)).collect()
    }

    /// The guard of an instruction, such as `@!%p1`.
    #[getter]
    fn guard(&self) -> Option<&str> {
        Some(self.text.part(self.instruction()?.guard()?.span))
    }

    /// The operands of an instruction, or of a directive such as `.branchtargets`.
    #[getter]
    fn operands(&self) -> Vec<TreeOperand> {
        let count = operands(self.view()).map_or(0, Iterator::count);
        (0..count).map(|at| TreeOperand { statement: self.clone(), path: vec![at] }).collect()
    }

    fn __repr__(&self) -> String {
        format!("<Statement {}: {}>", self.kind(), self.text())
    }
}

fn operands(statement: syntax::Statement<'_>) -> Option<syntax::Operands<'_>> {
    match statement.kind() {
        StatementKind::Instruction(it) => Some(it.operands()),
        StatementKind::Directive(it) => Some(it.operands()),
        _ => None,
    }
}

/// The elements of an operand, if it has any.
fn elements(operand: syntax::Operand<'_>) -> Option<syntax::Operands<'_>> {
    match operand.kind() {
        OperandKind::Address(it) => Some(it.elements()),
        OperandKind::Vector(it) | OperandKind::VectorPair(it, _) | OperandKind::List(it) => {
            Some(it)
        }
        _ => None,
    }
}

/// An operand of a statement, or an element of one.
#[pyclass(frozen, eq, hash, module = "vptx")]
#[derive(PartialEq, Hash)]
pub(crate) struct TreeOperand {
    statement: Statement,
    /// The number of the operand, then the number of an element on each level down to this one.
    path: Vec<usize>,
}

impl TreeOperand {
    fn view(&self) -> syntax::Operand<'_> {
        self.in_tree(self.statement.view())
    }

    fn in_tree<'t>(&self, statement: syntax::Statement<'t>) -> syntax::Operand<'t> {
        let mut all = operands(statement);
        let mut found = None;
        for &at in &self.path {
            found = all.and_then(|mut all| all.nth(at));
            all = found.and_then(elements);
        }
        found.expect("the place of an operand")
    }
}

#[pymethods]
impl TreeOperand {
    /// The kind, in the words of `vptx tree`: `name`, `constant`, `address` …
    #[getter]
    fn kind(&self) -> &'static str {
        self.view().kind().node_kind().text()
    }

    /// Its bytes.
    #[getter]
    fn span(&self) -> Span {
        self.view().span().into()
    }

    /// Its characters.
    #[getter]
    fn chars(&self) -> Span {
        self.statement.text.chars(self.view().span())
    }

    /// Its text, with sign and selector.
    #[getter]
    fn text(&self) -> &str {
        self.view().text()
    }

    /// The value of an integer constant, as its 64 bits.
    #[getter]
    fn value(&self) -> Option<u64> {
        match self.view().kind() {
            OperandKind::Constant(Ok(it)) => it.bits(),
            _ => None,
        }
    }

    /// The elements of an address, of a vector, or of an argument list of a call.
    #[getter]
    fn elements(&self) -> Vec<TreeOperand> {
        let count = elements(self.view()).map_or(0, Iterator::count);
        let path = |at| self.path.iter().copied().chain([at]).collect();
        (0..count)
            .map(|at| TreeOperand { statement: self.statement.clone(), path: path(at) })
            .collect()
    }

    fn __repr__(&self) -> String {
        format!("<TreeOperand {}: {}>", self.kind(), self.text())
    }
}

/// A kernel or a function.
#[pyclass(frozen, eq, hash, module = "vptx")]
#[derive(PartialEq, Hash)]
pub(crate) struct Function(Statement);

impl Function {
    fn view(&self) -> syntax::Function<'_> {
        function(self.0.view())
    }
}

/// A statement that is a function, as a function.
fn function(statement: syntax::Statement<'_>) -> syntax::Function<'_> {
    match statement.kind() {
        StatementKind::Function(it) => it,
        _ => unreachable!("the statement of a function"),
    }
}

#[pymethods]
impl Function {
    /// `kernel` or `device`.
    #[getter]
    fn kind(&self) -> &'static str {
        match self.view().kind() {
            FunctionKind::Kernel => "kernel",
            FunctionKind::Device => "device",
        }
    }

    /// Its name; `None` if that is missing.
    #[getter]
    fn name(&self) -> Option<&str> {
        Some(self.0.text.part(self.view().name()?))
    }

    /// `.visible`, `.extern`, `.weak` or `.common`.
    #[getter]
    fn linkage(&self) -> Option<&str> {
        self.view().linkage()
    }

    /// The names of its parameters.
    #[getter]
    fn parameters(&self) -> Vec<&str> {
        let names = self.view().parameters().filter_map(|it| Some(it.name()?.name()));
        names.map(|it| self.0.text.part(it)).collect()
    }

    /// The statements of its body.
    #[getter]
    fn statements(&self) -> Vec<Statement> {
        self.0.text.listed(self.view().statements())
    }

    /// The function as a statement.
    #[getter]
    fn statement(&self) -> Statement {
        self.0.clone()
    }

    fn __repr__(&self) -> String {
        format!("<Function {}>", self.name().unwrap_or("without a name"))
    }
}

type Made<'t> = syntax::Edits<'t>;

self_cell!(
    struct Making {
        owner: Arc<Text>,
        #[covariant]
        dependent: Made,
    }
);

/// Edits of a module. An edit that contradicts an earlier one raises `EditError` and changes
/// nothing.
#[pyclass(module = "vptx")]
pub(crate) struct Edits(Making);

impl Edits {
    pub(crate) fn of(text: &Arc<Text>) -> Edits {
        Edits(Making::new(text.clone(), |text| syntax::Edits::new(text.tree())))
    }

    fn edit<T>(
        &mut self,
        statement: &Statement,
        edit: impl for<'t> FnOnce(&mut Made<'t>, syntax::Statement<'t>) -> Result<T, syntax::EditsError>,
    ) -> PyResult<T> {
        self.0.with_dependent_mut(|text, edits| {
            if !Arc::ptr_eq(text, &statement.text) {
                return Err(refused(&syntax::EditsError::OtherTree));
            }
            let statement = text.tree().statement(statement.index);
            edit(edits, statement).map_err(|it| refused(&it))
        })
    }

    fn edit_instruction(
        &mut self,
        statement: &Statement,
        edit: impl for<'t> FnOnce(
            &mut Made<'t>,
            syntax::Instruction<'t>,
        ) -> Result<(), syntax::EditsError>,
    ) -> PyResult<()> {
        if statement.instruction().is_none() {
            return Err(EditError::new_err("the statement is no instruction"));
        }
        self.edit(statement, |edits, it| match it.kind() {
            StatementKind::Instruction(it) => edit(edits, it),
            _ => unreachable!("an instruction"),
        })
    }
}

fn refused(error: &syntax::EditsError) -> PyErr {
    EditError::new_err(error.to_string())
}

#[pymethods]
impl Edits {
    /// Replaces a statement by one or more.
    fn replace(&mut self, statement: &Statement, text: &str) -> PyResult<()> {
        self.edit(statement, |edits, it| edits.replace(it, text))
    }

    /// Removes a statement; comments before and behind it stay.
    #[expect(clippy::redundant_closure_for_method_calls, reason = "it has one lifetime only")]
    fn remove(&mut self, statement: &Statement) -> PyResult<()> {
        self.edit(statement, |edits, it| edits.remove(it))
    }

    /// Inserts statements before another one and the comments above it.
    fn insert_before(&mut self, statement: &Statement, text: &str) -> PyResult<()> {
        self.edit(statement, |edits, it| edits.insert_before(it, text))
    }

    /// Inserts statements after another one and the comments behind it.
    fn insert_after(&mut self, statement: &Statement, text: &str) -> PyResult<()> {
        self.edit(statement, |edits, it| edits.insert_after(it, text))
    }

    /// Replaces an operand, or an element of one.
    fn replace_operand(&mut self, operand: &TreeOperand, text: &str) -> PyResult<()> {
        self.edit(&operand.statement, |edits, it| edits.replace_operand(&operand.in_tree(it), text))
    }

    /// Inserts a modifier before the modifier number `at`, counted from 0.
    fn insert_modifier(&mut self, statement: &Statement, at: usize, text: &str) -> PyResult<()> {
        self.edit_instruction(statement, |edits, it| edits.insert_modifier(&it, at, text))
    }

    /// Replaces the modifier number `at`, counted from 0.
    fn replace_modifier(&mut self, statement: &Statement, at: usize, text: &str) -> PyResult<()> {
        self.edit_instruction(statement, |edits, it| edits.replace_modifier(&it, at, text))
    }

    /// Removes the modifier number `at`, counted from 0.
    fn remove_modifier(&mut self, statement: &Statement, at: usize) -> PyResult<()> {
        self.edit_instruction(statement, |edits, it| edits.remove_modifier(&it, at))
    }

    /// Gives an instruction a guard, such as `@!%p1`; `None` removes it.
    fn set_guard(&mut self, statement: &Statement, text: Option<&str>) -> PyResult<()> {
        self.edit_instruction(statement, |edits, it| match text {
            Some(text) => edits.set_guard(&it, text),
            None => edits.remove_guard(&it),
        })
    }

    /// Declares a register of a type, such as `.b32`, in a function. Returns its name.
    fn fresh_register(&mut self, function: &Function, r#type: &str) -> PyResult<String> {
        self.edit(&function.0, |edits, it| edits.fresh_register(&self::function(it), r#type))
    }

    /// A name for a new label that nothing else in the text has.
    fn fresh_label(&mut self) -> String {
        self.0.with_dependent_mut(|_, edits| edits.fresh_label())
    }

    /// Adds a parameter, such as `.param .u64 counts`, behind the other parameters of a function.
    fn add_parameter(&mut self, function: &Function, text: &str) -> PyResult<()> {
        self.edit(&function.0, |edits, it| edits.add_parameter(&self::function(it), text))
    }

    /// Gives a symbol another name, everywhere. Registers of a range keep their numbers.
    fn rename(&mut self, symbol: &Symbol, name: &str) -> PyResult<()> {
        self.0.with_dependent_mut(|text, edits| {
            if !Arc::ptr_eq(text, &symbol.text) {
                return Err(refused(&syntax::EditsError::OtherTree));
            }
            edits.rename_symbol(text.names(), symbol.id, name).map_err(|it| refused(&it))
        })
    }

    /// The text with the edits made so far.
    fn finish(&self) -> PyResult<Edited> {
        let edits = self.0.borrow_dependent().clone();
        edits.finish().map(Edited).map_err(|error| refused(&error))
    }
}

/// A text after edits, which maps places between the old and the new text.
#[pyclass(frozen, module = "vptx")]
pub(crate) struct Edited(syntax::Edited);

#[pymethods]
impl Edited {
    /// The new text.
    #[getter]
    fn text(&self) -> &str {
        self.0.text()
    }

    /// The bytes of the new text that bytes of the old one became.
    fn to_new(&self, span: Span) -> PyResult<Span> {
        Ok(self.0.to_new(span.bytes()?).into())
    }

    /// The bytes of the old text that became bytes of the new one.
    fn to_old(&self, span: Span) -> PyResult<Span> {
        Ok(self.0.to_old(span.bytes()?).into())
    }

    fn __str__(&self) -> &str {
        self.0.text()
    }

    fn __repr__(&self) -> String {
        format!("<Edited: {} changes>", self.0.edits().len())
    }
}
