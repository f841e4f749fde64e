//! The text of a statement on one line.

use std::borrow::Cow;

use super::align::{Matching, Sides};
use super::outline::{NameId, Outline, Statement};
use crate::hash::Set;
use crate::syntax::{StatementKind, TokenKind};
use crate::video::numbered;

/// Writes statements of two functions.
pub(super) struct Texts<'t, 's> {
    pub(super) sides: &'t Sides<'t, 's>,
    locals: &'t Matching,
    /// The local names of the new function.
    taken: Set<&'s str>,
}

impl<'t, 's> Texts<'t, 's> {
    pub(super) fn new(
        sides: &'t Sides<'t, 's>,
        locals: &'t Matching,
        new: &[Statement],
    ) -> Texts<'t, 's> {
        let outline = sides.new;
        let holes = new.iter().flat_map(|statement| outline.holes(statement));
        let taken = holes.map(|name| outline.name_text(*name)).collect();
        Texts { sides, locals, taken }
    }

    /// A statement of the new text.
    pub(super) fn new_text(&self, statement: &Statement) -> String {
        written(self.sides.new, statement, |name| self.sides.new.name_text(name).into())
    }

    /// A statement of the old text, with the names of the new text.
    pub(super) fn old_text(&self, statement: &Statement) -> String {
        written(self.sides.old, statement, |name| {
            let text = self.sides.old.name_text(name);
            let is_global = self.sides.old.name(name).is_global;
            let matching = if is_global { self.sides.globals } else { self.locals };
            match matching.new_of(name) {
                Some(new) => self.sides.new.name_text(new).into(),
                None if self.taken.contains(text) => format!("{text}'").into(),
                None => text.into(),
            }
        })
    }
}

/// The tokens of a statement. White space and comments become one space; punctuation has the usual
/// spacing.
fn written<'s>(
    outline: &Outline<'s>,
    statement: &Statement,
    name: impl Fn(NameId) -> Cow<'s, str>,
) -> String {
    let names = outline.spellings(statement);
    let statement = outline.syntax(statement);
    // The mnemonic may be spelled like a name.
    let mnemonic = match statement.kind() {
        StatementKind::Instruction(instruction) => Some(instruction.mnemonic()),
        _ => None,
    };
    let mut text = String::new();
    let mut end = None;
    for token in statement.head() {
        let own = token.span().text(outline.source());
        let is_apart = end.is_some_and(|end| token.start() > end);
        let opens = text.ends_with(['[', '(', '{', '@', '!']) || text.is_empty();
        let closes = [b',', b';', b']', b')', b'}', b':'].iter().any(|punct| token.is(*punct));
        if !opens && !closes && (is_apart || text.ends_with(',')) {
            text.push(' ');
        }
        let is_name = token.kind() == TokenKind::Ident && mnemonic != Some(token.span());
        let id = names.get(&(own, "")).or_else(|| names.get(&numbered(own)));
        match id.filter(|_| is_name) {
            Some(id) => text.push_str(&name(*id)),
            None => text.push_str(own),
        }
        end = Some(token.end());
    }
    text
}
