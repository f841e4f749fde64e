//! Renaming.

use super::{Meaning, Names, SymbolId, SymbolKind, Use};
use crate::diagnostic::{Edit, applied};
use crate::source::{Span, line_end};
use crate::syntax::{self, is_name};

/// The reason why a name cannot be changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum RenameError {
    #[error("there is no declared name here")]
    NoName,
    #[error("`{0}` is not a name")]
    Invalid(String),
    #[error(
        "the names of registers in a range start with `%`, a letter, `_` or `$`, and do not end with a digit"
    )]
    RangeName,
    #[error("a list such as `L<3>` may name it")]
    Enumerated,
    #[error("`{0}` already has another meaning here")]
    Taken(String),
}

/// The edits that rename the symbol or register at an offset of a text, everywhere.
///
/// A register of a range gets a separate declaration after the range's.
pub(crate) fn rename(source: &str, offset: u32, new: &str) -> Result<Vec<Edit>, RenameError> {
    let names = Names::of(&syntax::parse(source));
    let here = names.at(offset).ok_or(RenameError::NoName)?;
    let meaning = here.meaning.ok_or(RenameError::NoName)?;
    let kind = names.symbol(meaning.symbol()).kind;
    if names.enumeration.is_some() && matches!(kind, SymbolKind::Label | SymbolKind::Function) {
        return Err(RenameError::Enumerated);
    }
    if !is_name(new) {
        return Err(RenameError::Invalid(new.into()));
    }
    let edits = edits(source, &names, meaning, new)?;
    // Every other name must mean what it meant before, and nothing else may have the new name.
    let text = applied(source, &edits);
    let changed = Names::of(&syntax::parse(&text));
    let added = names.register(meaning).map(|_| added_at(&edits, new));
    if keeps_meaning(&names, meaning, &changed, added) {
        Ok(edits)
    } else {
        Err(RenameError::Taken(new.into()))
    }
}

/// Edits for all places of the name, and for the declaration that a register of a range needs.
fn edits(
    source: &str,
    names: &Names,
    meaning: Meaning,
    new: &str,
) -> Result<Vec<Edit>, RenameError> {
    let symbol = names.symbol(meaning.symbol());
    let register = names.register(meaning);
    if symbol.count.is_some() && register.is_none() && new.ends_with(|c: char| c.is_ascii_digit()) {
        return Err(RenameError::RangeName);
    }
    let edit = |it: &Use| {
        // Registers of a renamed range keep their numbers.
        let is_part = symbol.count.is_some() && register.is_none();
        let end = if is_part { it.span().start + symbol.name.len() } else { it.span().end };
        Edit::replace(Span::new(it.span().start, end), new)
    };
    let mut edits: Vec<Edit> = names.same(meaning).map(edit).collect();
    if register.is_some() {
        let declaration = own_declaration(source, names, symbol.declaration, new);
        let at = edits.partition_point(|edit| edit.span.start < symbol.declaration.end);
        edits.insert(at, declaration);
    }
    Ok(edits)
}

/// A declaration of one register, behind the declaration of its range and with the same type.
fn own_declaration(source: &str, names: &Names, range: Span, new: &str) -> Edit {
    let first = names.uses.partition_point(|it| it.span().start < range.start);
    let words = Span::new(range.start, names.uses[first].span().start).text(source).trim_end();
    let line = &source[..range.start as usize];
    let line = &line[line.rfind('\n').map_or(0, |at| at + 1)..];
    let before =
        if line.trim().is_empty() { format!("{}{line}", line_end(source)) } else { " ".into() };
    Edit::insert(range.end, format!("{before}{words} {new};"))
}

/// Where the name of the inserted declaration stands in the changed text.
fn added_at(edits: &[Edit], new: &str) -> u32 {
    let inserts = |edit: &Edit| edit.span.is_empty();
    let before = edits.iter().position(inserts).unwrap_or(edits.len());
    let added: usize = edits[..before].iter().map(|edit| edit.replacement.len()).sum();
    let removed: usize = edits[..before].iter().map(|edit| edit.span.range().len()).sum();
    let declaration = edits.get(before).map_or(Span::at(0), |edit| edit.span).start as usize;
    let own = edits.get(before).map_or(0, |edit| edit.replacement.len() - new.len() - 1);
    (declaration + added + own - removed) as u32
}

/// Whether each name of a changed text means what it meant before. The changed text may have one
/// more declaration.
fn keeps_meaning(names: &Names, meaning: Meaning, changed: &Names, added: Option<u32>) -> bool {
    let is_added = |it: &&Use| it.declares() && Some(it.span().start) == added;
    let added = changed.uses.iter().find(is_added).and_then(Use::symbol);
    let moved = |id: SymbolId| SymbolId(id.0 + u32::from(added.is_some_and(|added| id >= added)));
    let expected = names.uses.iter().map(|it| {
        let is_same = it.meaning == Some(meaning);
        let symbol = if is_same && added.is_some() { added } else { it.symbol().map(moved) };
        (symbol, it.declares())
    });
    let found = changed
        .uses
        .iter()
        .filter(|it| added.is_none() || !(it.declares() && it.symbol() == added));
    let doubles = |names: &Names| names.symbols.iter().filter(|it| it.is_double).count();
    expected.eq(found.map(|it| (it.symbol(), it.declares())))
        && doubles(changed) == doubles(names)
        && names.register(meaning).is_some() == added.is_some()
}
