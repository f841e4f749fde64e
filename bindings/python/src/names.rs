//! The names of a tree.

use std::sync::Arc;

use pyo3::prelude::*;
use vptx::names::{self, ScopeId, SymbolId, SymbolKind};

use crate::finding::Span;
use crate::tree::{Text, same_by_place};

pub(crate) fn symbols(text: &Arc<Text>) -> Vec<Symbol> {
    text.names().symbols().map(|(id, _)| Symbol { text: text.clone(), id }).collect()
}

pub(crate) fn scopes(text: &Arc<Text>) -> Vec<Scope> {
    text.names().scopes().map(|(id, _)| Scope { text: text.clone(), id }).collect()
}

pub(crate) fn uses(text: &Arc<Text>) -> Vec<Use> {
    listed(text, text.names().uses())
}

pub(crate) fn use_at(text: &Arc<Text>, offset: u32) -> Option<Use> {
    text.names().at(offset).map(|own| Use { text: text.clone(), own })
}

fn listed<'n>(text: &Arc<Text>, uses: impl IntoIterator<Item = &'n names::Use>) -> Vec<Use> {
    uses.into_iter().map(|own| Use { text: text.clone(), own: *own }).collect()
}

/// A declared name: a function, a parameter, a variable, a label, a register or a range of them.
#[pyclass(frozen, eq, hash, module = "vptx")]
pub(crate) struct Symbol {
    pub(crate) text: Arc<Text>,
    pub(crate) id: SymbolId,
}

same_by_place!(Symbol, |it: &Symbol| it.id);

impl Symbol {
    fn of(&self) -> &Arc<Text> {
        &self.text
    }

    fn view(&self) -> &names::Symbol {
        self.text.names().symbol(self.id)
    }
}

#[pymethods]
impl Symbol {
    /// `function`, `parameter`, `variable`, `register` or `label`.
    #[getter]
    fn kind(&self) -> &'static str {
        match self.view().kind {
            SymbolKind::Function => "function",
            SymbolKind::Parameter => "parameter",
            SymbolKind::Variable => "variable",
            SymbolKind::Register => "register",
            SymbolKind::Label => "label",
        }
    }

    /// Its name; for a range such as `%r<10>`, the part before the `<`.
    #[getter]
    fn name(&self) -> &str {
        self.text.part(self.view().name)
    }

    /// The bytes of its name, where it is declared.
    #[getter]
    fn span(&self) -> Span {
        self.view().name.into()
    }

    /// The characters of its name, where it is declared.
    #[getter]
    fn chars(&self) -> Span {
        self.text.chars(self.view().name)
    }

    /// The bytes of its declaration.
    #[getter]
    fn declaration(&self) -> Span {
        self.view().declaration.into()
    }

    /// The state space, such as `.reg`.
    #[getter]
    fn space(&self) -> Option<&str> {
        Some(self.text.part(self.view().space?))
    }

    /// The type, such as `.b32`.
    #[getter]
    fn r#type(&self) -> Option<&str> {
        Some(self.text.part(self.view().ty?))
    }

    /// The number of registers, if it is a range.
    #[getter]
    fn count(&self) -> Option<u64> {
        self.view().count
    }

    /// The function, block or module that declares it.
    #[getter]
    fn scope(&self) -> Scope {
        Scope { text: self.text.clone(), id: self.view().scope }
    }

    /// Whether other modules see it.
    #[getter]
    fn is_exported(&self) -> bool {
        self.view().is_exported
    }

    /// Whether another module defines it.
    #[getter]
    fn is_extern(&self) -> bool {
        self.view().is_extern
    }

    /// Whether its scope declares the same name earlier, for something else. ptxas refuses that.
    #[getter]
    fn is_double(&self) -> bool {
        self.view().is_double
    }

    /// All its uses in the order of the text, with declarations; for a range, register by register.
    #[getter]
    fn uses(&self) -> Vec<Use> {
        listed(&self.text, self.text.names().uses_of_symbol(self.id))
    }

    fn __repr__(&self) -> String {
        format!("<Symbol {}: {}>", self.kind(), self.name())
    }
}

/// A part of a text whose declarations are not visible outside of it.
#[pyclass(frozen, eq, hash, module = "vptx")]
pub(crate) struct Scope {
    text: Arc<Text>,
    id: ScopeId,
}

same_by_place!(Scope, |it: &Scope| it.id);

impl Scope {
    fn of(&self) -> &Arc<Text> {
        &self.text
    }

    fn view(&self) -> &names::Scope {
        self.text.names().scope(self.id)
    }
}

#[pymethods]
impl Scope {
    /// The scope around it; `None` for the module.
    #[getter]
    fn parent(&self) -> Option<Scope> {
        Some(Scope { text: self.text.clone(), id: self.view().parent? })
    }

    /// The function whose parameters and body are in it.
    #[getter]
    fn function(&self) -> Option<Symbol> {
        Some(Symbol { text: self.text.clone(), id: self.view().function? })
    }

    /// Its bytes.
    #[getter]
    fn span(&self) -> Span {
        self.view().span.into()
    }

    /// Its characters.
    #[getter]
    fn chars(&self) -> Span {
        self.text.chars(self.view().span)
    }

    fn __repr__(&self) -> String {
        let span = self.view().span;
        format!("<Scope: {} to {}>", span.start, span.end)
    }
}

/// A place in the text that has a name.
#[pyclass(frozen, eq, hash, module = "vptx")]
pub(crate) struct Use {
    text: Arc<Text>,
    own: names::Use,
}

same_by_place!(Use, |it: &Use| it.own.span());

impl Use {
    fn of(&self) -> &Arc<Text> {
        &self.text
    }
}

#[pymethods]
impl Use {
    /// The name as it is written there.
    #[getter]
    fn text(&self) -> &str {
        self.text.part(self.own.span())
    }

    /// Its bytes.
    #[getter]
    fn span(&self) -> Span {
        self.own.span().into()
    }

    /// Its characters.
    #[getter]
    fn chars(&self) -> Span {
        self.text.chars(self.own.span())
    }

    /// The symbol that it means; `None` if the text does not declare the name, as for `%tid`.
    #[getter]
    fn symbol(&self) -> Option<Symbol> {
        Some(Symbol { text: self.text.clone(), id: self.own.symbol()? })
    }

    /// The number of a register in its range: 7 for `%r07`.
    #[getter]
    fn register(&self) -> Option<u64> {
        self.text.names().register(self.own.meaning()?)
    }

    /// Whether this place declares the name.
    #[getter]
    fn declares(&self) -> bool {
        self.own.declares()
    }

    /// All uses with the same meaning, in the order of the text, including this one.
    #[getter]
    fn same(&self) -> Vec<Use> {
        self.own
            .meaning()
            .map_or_else(Vec::new, |it| listed(&self.text, self.text.names().uses_of(it)))
    }

    fn __repr__(&self) -> String {
        format!("<Use: {}>", self.text())
    }
}
