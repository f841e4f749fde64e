//! The name at a place of a text, in PTX or in an `asm` statement.

use thiserror::Error;

use super::statements::asm_at;
use crate::check::CheckOptions;
use crate::diagnostic::Edit;
use crate::embed::{Asm, Unique};
use crate::isa::is_special_register;
use crate::names::{self, Names, RenameError, Symbol, Use};
use crate::source::Span;
use crate::syntax::{parse, parse_around};

/// A name that stands at a place.
#[derive(Debug)]
pub(super) struct NameAt<'s> {
    source: &'s str,
    /// The `asm` statement around the name, if any.
    asm: Option<Asm<'s>>,
    /// The names of the PTX around it: a module, some functions, or the text of an `asm`.
    names: Names,
    here: Use,
}

/// Why a name cannot be changed.
#[derive(Debug, Error)]
pub(super) enum NotRenamed {
    #[error(transparent)]
    Name(#[from] RenameError),
    /// As the `asm` spells names.
    #[error("{0}")]
    InAsm(String),
    #[error("the string literals of the `asm` statement cannot hold the new name")]
    Literals,
    #[error("the new name must have `{0}` once, too: each copy of the `asm` has its own name")]
    Unique(String),
}

/// A place where the same name stands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Same {
    pub(super) span: Span,
    pub(super) declares: bool,
}

/// The name at an offset.
pub(super) fn at<'s>(source: &'s str, options: &CheckOptions, offset: u32) -> Option<NameAt<'s>> {
    match options.language.host() {
        None => in_module(source, offset),
        Some(host) => {
            let asm = asm_at(source, host, offset)?;
            let names = Names::of(&parse(&asm.text));
            let holds = |it: &&Use| asm.source_span(it.span()).touches(offset);
            let here = *names.uses().iter().rfind(holds)?;
            Some(NameAt { source, asm: Some(asm), names, here })
        }
    }
}

fn in_module(source: &str, offset: u32) -> Option<NameAt<'_>> {
    // Other functions are read only if they may use the name, too.
    let near = Names::of(&parse_around(source, Span::at(offset)));
    let here = near.at(offset)?;
    let is_near = match here.symbol() {
        Some(symbol) => !near.symbol(symbol).is_global(),
        None => is_special_register(here.span().text(source)),
    };
    if is_near {
        return Some(NameAt { source, asm: None, names: near, here });
    }
    let names = Names::of(&parse(source));
    let here = names.at(offset)?;
    Some(NameAt { source, asm: None, names, here })
}

impl NameAt<'_> {
    /// The PTX in which the name stands.
    fn text(&self) -> &str {
        self.asm.as_ref().map_or(self.source, |asm| &asm.text)
    }

    /// Moves a place in the PTX to the source.
    fn in_source(&self, span: Span) -> Span {
        self.asm.as_ref().map_or(span, |asm| asm.source_span(span))
    }

    pub(super) fn name(&self) -> &str {
        self.here.span().text(self.text())
    }

    pub(super) fn span(&self) -> Span {
        self.in_source(self.here.span())
    }

    fn symbol(&self) -> Option<&Symbol> {
        self.here.symbol().map(|symbol| self.names.symbol(symbol))
    }

    /// The `asm` operand that the name stands for.
    fn operand(&self) -> Option<Span> {
        let asm = self.asm.as_ref().filter(|_| self.here.symbol().is_none())?;
        let own = asm.operands.iter().find(|operand| operand.placeholder == self.name())?;
        Some(own.span)
    }

    /// Where the name is declared.
    pub(super) fn declaration(&self) -> Option<Span> {
        let symbol = self.symbol().map(|symbol| self.in_source(symbol.name));
        symbol.or_else(|| self.operand())
    }

    /// The text of the declaration. For a function, this is the header.
    pub(super) fn declared(&self) -> Option<String> {
        let text = self.symbol()?.declaration.text(self.text());
        Some(self.asm.as_ref().map_or_else(|| text.into(), |asm| asm.spelled(text)))
    }

    /// All places of the name, in order. For a name that is not declared, only the place asked for.
    pub(super) fn same(&self) -> Vec<Same> {
        let text = self.text();
        let place = |it: &Use| Same { span: self.in_source(it.span()), declares: it.declares() };
        if let Some(meaning) = self.here.meaning() {
            return self.names.same(meaning).map(place).collect();
        }
        let Some(operand) = self.operand() else {
            return vec![place(&self.here)];
        };
        let is_same = |it: &&Use| it.span().text(text) == self.name();
        let mut same: Vec<Same> = self.names.uses().iter().filter(is_same).map(place).collect();
        same.push(Same { span: operand, declares: true });
        same
    }

    /// Whether the name can be changed.
    pub(super) fn may_change(&self) -> bool {
        self.here.symbol().is_some()
    }

    /// The edits that change the name everywhere.
    pub(super) fn rename(&self, new: &str) -> Result<Vec<Edit>, NotRenamed> {
        let new = self.unspelled(new);
        let Some(asm) = &self.asm else { return Ok(self.renamed(new)?) };
        let new = match asm.unique().filter(|it| self.name().contains(&it.number)) {
            None => new.into(),
            Some(Unique { number, spelling }) => {
                let parts = new.split_once(spelling).filter(|(_, end)| !end.contains(spelling));
                let (start, end) = parts.ok_or_else(|| NotRenamed::Unique(spelling.clone()))?;
                format!("{start}{number}{end}")
            }
        };
        let wrong = |error: RenameError| NotRenamed::InAsm(asm.spelled(&error.to_string()));
        let edits = self.renamed(&new).map_err(wrong)?;
        let in_source = |edit: &Edit| {
            let (span, text) = asm.source_edit(self.source, edit.span, &edit.replacement)?;
            Some(Edit::replace(span, text))
        };
        let changes = edits.iter().filter(|it| it.replacement != it.span.text(&asm.text));
        let edits: Option<Vec<Edit>> = changes.map(in_source).collect();
        edits.ok_or(NotRenamed::Literals)
    }

    fn renamed(&self, new: &str) -> Result<Vec<Edit>, RenameError> {
        names::rename(self.text(), self.here.span().start, new)
    }

    /// A new name as the PTX spells it: in most `asm` statements, `%%r1` stands for `%r1`.
    fn unspelled<'n>(&self, new: &'n str) -> &'n str {
        match &self.asm {
            Some(asm) if asm.spelled("%") == "%%" => {
                new.strip_prefix('%').filter(|rest| rest.starts_with('%')).unwrap_or(new)
            }
            _ => new,
        }
    }
}
