//! The text of a statement on one line.

use std::borrow::Cow;

use super::align::{Matching, Sides};
use super::outline::{NameId, Outline, Statement};
use crate::hash::Set;
use crate::syntax::lexer::Lexer;
use crate::video::numbered;

/// Writes statements of two functions.
pub(super) struct Texts<'t, 's> {
    sides: &'t Sides<'t, 's>,
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

    /// A statement of the old text, with the names of the new one.
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

/// The tokens of a statement with one space where there is white space or a comment, and usual
/// spacing around punctuation.
fn written<'s>(
    outline: &Outline<'s>,
    statement: &Statement,
    name: impl Fn(NameId) -> Cow<'s, str>,
) -> String {
    let (source, span) = (outline.source, statement.span);
    let uses = outline.uses_in(span);
    let names = outline.spellings(statement);
    let mut text = String::with_capacity(span.len() as usize);
    let mut lexer = Lexer::new(source, span.start as usize);
    let mut end = span.start;
    while let Some(token) = lexer.token().filter(|token| token.span().start < span.end) {
        let own = token.span().text(source);
        let is_apart = token.span().start > end;
        let opens = text.ends_with(['[', '(', '{', '@', '!']) || text.is_empty();
        let closes = [b',', b';', b']', b')', b'}', b':'].iter().any(|punct| token.is(*punct));
        if !opens && !closes && (is_apart || text.ends_with(',')) {
            text.push(' ');
        }
        let at = uses.partition_point(|it| it.span.start < token.span().start);
        let is_name = uses.get(at).is_some_and(|it| it.span.start == token.span().start);
        match names.get(&numbered(own)).filter(|_| is_name) {
            Some(id) => text.push_str(&name(*id)),
            None => text.push_str(own),
        }
        end = token.span().end;
    }
    text
}
