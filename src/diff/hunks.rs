//! The lines of a difference.

use std::ops::Range;

use super::align::{Alignment, Matching, Sides};
use super::moves::moves;
use super::outline::{Class, Function, NameId, Outline, Statement};
use super::text::Texts;
use super::value::{Functions, Rewritings};
use super::{Change, ChangeKind, Hunk, Line, LineKind, Part, Subject};
use crate::hash::Map;
use crate::source::Span;

/// A statement of one function, or of both, by its position.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Entry {
    Same(u32, u32),
    Old(u32),
    New(u32),
}

/// The differences between two functions; none if they are equal.
pub(super) fn function(
    sides: &Sides<'_, '_>,
    (before, after): (&Function, &Function),
    context: usize,
    rewritings: &mut Rewritings,
) -> Vec<Hunk> {
    let (old, new) = (sides.old.statements(before), sides.new.statements(after));
    if sides.are_equal(old, new) {
        return Vec::new();
    }
    let Alignment { same, locals } = sides.align(old, new);
    let entries = entries(&same, old.len() as u32, new.len() as u32);
    let moves = moves(sides, &locals, (old, new), &entries);
    let writer = Writer { sides, texts: Texts::new(sides, &locals, new), moves, old, new };
    let functions = Functions::new(sides, &locals, (old, new));
    let hunk = |group: Range<usize>| {
        let equivalences = functions.equivalences(&entries[group.clone()], rewritings);
        Hunk { lines: writer.lines(&entries[group]), equivalences }
    };
    groups(&entries, context).into_iter().map(hunk).collect()
}

/// All statements in order. Between two equal ones, old statements stand before new ones.
fn entries(same: &[(u32, u32)], old: u32, new: u32) -> Vec<Entry> {
    let mut entries = Vec::with_capacity(old.max(new) as usize);
    let (mut from_old, mut from_new) = (0, 0);
    for &(at, other) in same {
        entries.extend((from_old..at).map(Entry::Old));
        entries.extend((from_new..other).map(Entry::New));
        entries.push(Entry::Same(at, other));
        (from_old, from_new) = (at + 1, other + 1);
    }
    entries.extend((from_old..old).map(Entry::Old));
    entries.extend((from_new..new).map(Entry::New));
    entries
}

/// The ranges of entries around differences.
fn groups(entries: &[Entry], context: usize) -> Vec<Range<usize>> {
    let mut groups: Vec<Range<usize>> = Vec::new();
    for (at, entry) in entries.iter().enumerate() {
        if matches!(entry, Entry::Same(..)) {
            continue;
        }
        let start = at.saturating_sub(context);
        let end = at.saturating_add(context).saturating_add(1).min(entries.len());
        match groups.last_mut() {
            Some(last) if start <= last.end => last.end = end,
            _ => groups.push(start..end),
        }
    }
    groups
}

/// Writes the lines of two functions.
struct Writer<'w, 's> {
    sides: &'w Sides<'w, 's>,
    texts: Texts<'w, 's>,
    /// The positions of moved statements.
    moves: Matching,
    old: &'w [Statement],
    new: &'w [Statement],
}

impl Writer<'_, '_> {
    fn lines(&self, entries: &[Entry]) -> Vec<Line> {
        entries.iter().map(|entry| self.line(*entry)).collect()
    }

    fn line(&self, entry: Entry) -> Line {
        let (old, new) = (|at: u32| &self.old[at as usize], |at: u32| &self.new[at as usize]);
        let Sides { old: before, new: after, .. } = *self.sides;
        match entry {
            Entry::Same(at, other) => {
                let own = alone(&self.texts, new(other), LineKind::Same);
                Line { old: Some(before.span(old(at))), ..own }
            }
            Entry::Old(at) => {
                let target = self.moves.new_of(at);
                let kind = if target.is_some() { LineKind::MovedAway } else { LineKind::Removed };
                let own = alone(&self.texts, old(at), kind);
                Line { new: target.map(|other| after.span(new(other))), ..own }
            }
            Entry::New(at) => {
                let origin = self.moves.old_of(at);
                let kind = if origin.is_some() { LineKind::MovedHere } else { LineKind::Added };
                let own = alone(&self.texts, new(at), kind);
                Line { old: origin.map(|other| before.span(old(other))), ..own }
            }
        }
    }
}

/// The line of a statement, without its place in the other text.
fn alone(texts: &Texts<'_, '_>, statement: &Statement, kind: LineKind) -> Line {
    if matches!(kind, LineKind::Removed | LineKind::MovedAway) {
        let old = Some(texts.sides.old.span(statement));
        let depth = texts.sides.old.depth(statement);
        return Line { kind, old, new: None, depth, text: texts.old_text(statement) };
    }
    let new = Some(texts.sides.new.span(statement));
    let depth = texts.sides.new.depth(statement);
    Line { kind, old: None, new, depth, text: texts.new_text(statement) }
}

/// All statements of a function that only one text has.
pub(super) fn whole(sides: &Sides<'_, '_>, function: &Function, kind: ChangeKind) -> Hunk {
    let locals = Matching::default();
    let texts = Texts::new(sides, &locals, &[]);
    let (outline, kind) = match kind {
        ChangeKind::Removed => (sides.old, LineKind::Removed),
        _ => (sides.new, LineKind::Added),
    };
    let statements = outline.statements(function);
    let lines = statements.iter().map(|it| alone(&texts, it, kind)).collect();
    Hunk { lines, equivalences: Vec::new() }
}

/// The difference between the directives, variables and declarations of two texts. Their order
/// makes no difference.
pub(super) fn items(sides: &Sides<'_, '_>) -> Option<Change> {
    let mut known: Map<Vec<u32>, Vec<usize>> = Map::default();
    for (at, item) in sides.old.items.iter().enumerate().rev() {
        known.entry(key(sides.old, item, |name| sides.globals.new_of(name))).or_default().push(at);
    }
    let mut is_left = vec![true; sides.old.items.len()];
    let mut added = Vec::new();
    for item in &sides.new.items {
        let own = known.get_mut(&key(sides.new, item, Some));
        match own.and_then(Vec::pop) {
            Some(at) => is_left[at] = false,
            None => added.push(item),
        }
    }
    let removed: Vec<&Statement> =
        sides.old.items.iter().zip(is_left).filter(|(_, left)| *left).map(|(it, _)| it).collect();
    if removed.is_empty() && added.is_empty() {
        return None;
    }
    let locals = Matching::default();
    let texts = Texts::new(sides, &locals, &[]);
    let mut partners: Map<String, Vec<&Statement>> = Map::default();
    for item in added.iter().rev() {
        partners.entry(subject(sides.new, item, Some)).or_default().push(item);
    }
    let mut lines = Vec::new();
    let mut is_paired = crate::hash::Set::default();
    for item in removed {
        lines.push(alone(&texts, item, LineKind::Removed));
        let own = subject(sides.old, item, |name| sides.globals.new_of(name));
        if let Some(partner) = partners.get_mut(&own).and_then(Vec::pop) {
            is_paired.insert(sides.new.span(partner));
            lines.push(alone(&texts, partner, LineKind::Added));
        }
    }
    let rest = added.into_iter().filter(|it| !is_paired.contains(&sides.new.span(it)));
    lines.extend(rest.map(|item| alone(&texts, item, LineKind::Added)));
    let part = |outline: &Outline| {
        Some(Part { name: String::new(), span: Span::new(0, outline.source().len() as u32) })
    };
    Some(Change {
        subject: Subject::Module,
        kind: ChangeKind::Changed,
        old: part(sides.old),
        new: part(sides.new),
        hunks: vec![Hunk { lines, equivalences: Vec::new() }],
    })
}

/// The shape of an item and its global names, as names of the new text. The parameters of
/// declarations are left out.
fn key(outline: &Outline, item: &Statement, new: impl Fn(NameId) -> Option<NameId>) -> Vec<u32> {
    let globals = outline.holes(item).iter().filter(|name| outline.name(**name).is_global);
    // No name has the number `u32::MAX`.
    let numbers = globals.map(|name| new(*name).unwrap_or(u32::MAX));
    std::iter::once(item.shape).chain(numbers).collect()
}

/// The name that an item declares, or the name of its directive.
fn subject(outline: &Outline, item: &Statement, new: impl Fn(NameId) -> Option<NameId>) -> String {
    let declared = outline.holes(item).iter().find(|name| {
        let name = outline.name(**name);
        name.is_global && matches!(name.class, Class::Function | Class::Variable)
    });
    match declared {
        Some(name) => new(*name).map_or_else(
            || format!("old {}", outline.name_text(*name)),
            |new| format!("name {new}"),
        ),
        None => outline.opcode(item).into(),
    }
}
