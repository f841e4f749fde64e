//! Names, and the words around edits.

use std::collections::BTreeMap;
use std::ops::{Bound, Range};

use super::super::lexer::{Lexer, is_word};
use super::super::{Statement, StatementKind, TokenKind, Tree, parse};
use crate::diagnostic::Edit;
use crate::hash::Set;
use crate::isa::is_special_register;
use crate::source::Span;

/// The words of a text that may be names. Each word has a flag: whether it names a range of
/// registers.
#[derive(Clone, Debug)]
pub(super) struct Identifiers<'t>(BTreeMap<&'t str, bool>);

impl<'t> Identifiers<'t> {
    pub(super) fn of(tree: &Tree<'t>) -> Identifiers<'t> {
        let mut words = BTreeMap::new();
        for (at, token) in tree.tokens().iter().enumerate() {
            if token.kind() == TokenKind::Ident {
                let is_range = tree.tokens().get(at + 1).is_some_and(|next| next.is(b'<'));
                *words.entry(token.span().text(tree.source())).or_insert(false) |= is_range;
            }
        }
        Identifiers(words)
    }

    /// Whether the text has a name, perhaps as a register of a range.
    pub(super) fn has(&self, name: &str) -> bool {
        self.0.contains_key(name) || stems(name).any(|stem| self.0.get(stem) == Some(&true))
    }

    /// Whether the text has a name, alone or with a number behind it.
    pub(super) fn has_numbered(&self, name: &str) -> bool {
        let from = (Bound::Included(name), Bound::Unbounded);
        let rests = self.0.range::<str, _>(from).map_while(|(word, _)| word.strip_prefix(name));
        rests.into_iter().any(|rest| rest.bytes().all(|byte| byte.is_ascii_digit()))
    }

    /// A name with a number that nothing in the text has. It starts with `start`, or, if a word of
    /// the text starts like that, with a variation of `start`.
    pub(super) fn fresh(&self, start: &str, number: usize) -> String {
        let is_free = |start: &String| {
            let from = (Bound::Included(&**start), Bound::Unbounded);
            let mut near = self.0.range::<str, _>(from);
            near.next().is_none_or(|(word, _)| !word.starts_with(start))
        };
        let others = (1..).map(|other| format!("{start}{other}_"));
        let mut starts = std::iter::once(start.to_string()).chain(others);
        let free = starts.find(is_free).expect("a text does not have all names");
        format!("{free}{number}")
    }
}

/// The names that edits bring.
#[derive(Clone, Debug, Default)]
pub(super) struct NewNames {
    all: Set<String>,
    /// Those of ranges of registers, without the numbers.
    ranges: Set<String>,
}

impl NewNames {
    /// Adds names, each with whether it is that of a range.
    pub(super) fn extend(&mut self, names: impl IntoIterator<Item = (String, bool)>) {
        for (name, is_range) in names {
            if is_range {
                self.ranges.insert(name.clone());
            }
            self.all.insert(name);
        }
    }

    /// Whether a name is among them, perhaps as a register of a range.
    pub(super) fn has(&self, name: &str) -> bool {
        self.all.contains(name) || stems(name).any(|stem| self.ranges.contains(stem))
    }

    /// Whether a name is among them, alone or with a number behind it.
    pub(super) fn has_numbered(&self, name: &str) -> bool {
        self.all.iter().any(|it| is_numbered(it, name))
    }
}

/// The parts of a name before its last digits: names of ranges that may have it.
fn stems(name: &str) -> impl Iterator<Item = &str> {
    let first = name.trim_end_matches(|c: char| c.is_ascii_digit()).len();
    (first..name.len()).map(|end| &name[..end])
}

/// Whether a word is a name, perhaps with a number behind it.
fn is_numbered(word: &str, name: &str) -> bool {
    word.strip_prefix(name).is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Whether a text is a name that PTX takes.
pub(crate) fn is_name(text: &str) -> bool {
    let mut lexer = Lexer::new(text, 0);
    let is_word = lexer.token().is_some_and(|token| {
        token.kind() == TokenKind::Ident && token.span().range() == (0..text.len())
    });
    is_word && !matches!(text, "_" | "$" | "%" | "WARP_SZ") && !is_special_register(text)
}

/// Whether a part of a text is a word that may be a name.
pub(super) fn is_word_of(tree: &Tree<'_>, part: Span) -> bool {
    let at = tree.tokens().partition_point(|token| token.span().start < part.start);
    let token = tree.tokens().get(at);
    token.is_some_and(|token| token.kind() == TokenKind::Ident && token.span() == part)
}

/// Whether a text is a type of registers, such as `.b32` or `.v4 .f32`.
pub(super) fn is_type(text: &str) -> bool {
    let source = format!(".reg {text} x;");
    let tree = parse(&source);
    let mut statements = tree.statements();
    let declares = match statements.next().map(Statement::kind) {
        Some(StatementKind::Declaration(it)) => {
            let mut names = it.names().map(|name| name.name().range());
            let x = source.len() - 2..source.len() - 1;
            it.ty().is_some() && names.next() == Some(x) && names.next().is_none()
        }
        _ => false,
    };
    declares && tree.errors().is_empty() && statements.next().is_none()
}

/// The name of a parameter of a function. `None` if the text is no parameter.
pub(super) fn parameter(text: &str) -> Option<String> {
    let source = format!(".func f({text});");
    let tree = parse(&source);
    let mut statements = tree.statements();
    let Some(StatementKind::Function(function)) = statements.next().map(Statement::kind) else {
        return None;
    };
    let mut parameters = function.parameters();
    let only = parameters.next().filter(|it| it.ty().is_some())?;
    let [first, .., last] = only.tokens() else { return None };
    let is_all = first.span().to(last.span()).range().len() == text.len();
    let is_only = parameters.next().is_none() && statements.next().is_none();
    let name = only.name()?.name().text(&source).to_string();
    (is_all && is_only && tree.errors().is_empty()).then_some(name)
}

/// Puts blanks between edited text and the text around it, where two words would become one.
pub(super) fn separate(source: &str, edits: &mut [Edit]) {
    let bytes = source.as_bytes();
    let is_word_at = |at: usize| bytes.get(at).is_some_and(|&byte| is_word(byte));
    let (mut end, mut ends_word) = (0, false);
    for at in 0..edits.len() {
        let next = edits.get(at + 1).map_or(source.len(), |next| next.span.start as usize);
        let Edit { span, replacement } = &mut edits[at];
        let Range { start, end: after } = span.range();
        if start > end {
            ends_word = is_word_at(start - 1);
        }
        end = after;
        let follows_word = after < next && is_word_at(after);
        let starts_word = match replacement.bytes().next() {
            Some(first) => is_word(first),
            None => follows_word,
        };
        if ends_word && starts_word {
            replacement.insert(0, ' ');
        }
        if let Some(last) = replacement.bytes().last() {
            ends_word = is_word(last);
            if ends_word && follows_word {
                replacement.push(' ');
                ends_word = false;
            }
        }
    }
}
