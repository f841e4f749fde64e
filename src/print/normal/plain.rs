//! The tokens of a text with new names, and without what is left out.

use std::borrow::Cow;
use std::iter::Peekable;

use super::reading::{Globals, Reading};
use super::renaming::Renaming;
use super::{FloatType, NormalOptions, number};
use crate::names::Use;
use crate::source::Span;
use crate::syntax::lexer::comments;
use crate::syntax::{DirectiveKind, Statement, StatementKind, Token, TokenKind};

/// The parts of a text that stay, with their new names. Layout is the formatter's work.
pub(super) struct Plain<'g, 's> {
    reading: Reading<'s>,
    globals: &'g Globals<'s>,
    keep_comments: bool,
    renaming: Option<Renaming>,
    /// The parts that are left out, in order.
    dropped: Vec<Span>,
}

impl<'g, 's> Plain<'g, 's> {
    pub(super) fn new(
        mut reading: Reading<'s>,
        globals: &'g Globals<'s>,
        options: NormalOptions,
    ) -> Plain<'g, 's> {
        let mut dropped = Vec::new();
        let renames = !options.keep_names;
        let renaming = renames.then(|| Renaming::new(&reading, globals, &mut dropped));
        dropped.append(&mut reading.dropped);
        dropped.sort_unstable();
        let keep_comments = options.keep_comments;
        Plain { reading, globals, keep_comments, renaming, dropped }
    }

    pub(super) fn text(&self) -> String {
        let tree = &self.reading.tree;
        let has_mark = tree.source().starts_with('\u{feff}');
        let mut writing = Writing {
            plain: self,
            source: tree.source(),
            text: String::with_capacity(tree.source().len()),
            tokens: tree.tokens(),
            at: 0,
            end: if has_mark { '\u{feff}'.len_utf8() } else { 0 },
            statements: tree.all_statements().peekable(),
            opcode_end: 0,
            is_plain: false,
            floats: FloatType::Other,
            dropped: Along(&self.dropped),
            names: Along(self.reading.names.uses()),
            declarations: Along(self.renaming.as_ref().map_or(&[], |it| &it.declarations)),
            last: None,
            is_apart: false,
        };
        while let Some(&token) = writing.tokens.get(writing.at) {
            writing.token(token);
        }
        writing.between(&writing.source[writing.end..], false);
        writing.text
    }
}

/// A text that is being written.
struct Writing<'p, 's, S: Iterator<Item = Statement<'p>>> {
    plain: &'p Plain<'p, 's>,
    source: &'p str,
    text: String,
    tokens: &'p [Token],
    /// The number of the next token, and the offset after the one before.
    at: usize,
    end: usize,
    /// Those that start at the next token or later.
    statements: Peekable<S>,
    /// Where the modifiers of the instruction end; 0 in another statement.
    opcode_end: u32,
    /// Whether numbers are versions, or places in sources.
    is_plain: bool,
    /// The type of floats in the statement.
    floats: FloatType,
    dropped: Along<'p, Span>,
    names: Along<'p, Use>,
    declarations: Along<'p, (u32, String)>,
    last: Option<Token>,
    /// Whether the next token may not touch the last one.
    is_apart: bool,
}

impl<'p, S: Iterator<Item = Statement<'p>>> Writing<'p, '_, S> {
    /// Writes the next token, or passes what is left out.
    fn token(&mut self, first: Token) {
        let start = first.span().start;
        if self.leave_out(start) {
            return;
        }
        while let Some(statement) = self.statements.next_if(|it| it.first_token() <= self.at) {
            self.start(statement);
        }
        let own = first.span().text(self.source);
        let in_opcode = start < self.opcode_end;
        let (mut last, mut is_new_number) = (first, false);
        let new = match first.kind() {
            TokenKind::Ident => self.new_name(start).map(Cow::from),
            TokenKind::Dot => {
                self.floats = self.floats.after(own);
                None
            }
            TokenKind::Number | TokenKind::Punct([b'-', 0]) if !self.is_plain && !in_opcode => {
                self.number(first).map(|(new, token)| {
                    (last, is_new_number) = (token, true);
                    new
                })
            }
            _ => None,
        };
        // `1.5` may touch the word before it, `0d3FF8000000000000` may not.
        self.is_apart |= new.is_some() && self.last.is_some_and(Token::is_word);
        let between = &self.source[self.end..start as usize];
        let between = if self.is_apart && between.is_empty() { " " } else { between };
        // Modifiers join their opcode.
        self.between(between, in_opcode && first.is_modifier(self.source));
        self.text.push_str(&new.unwrap_or(own.into()));
        self.end = last.span().end as usize;
        self.is_apart = is_new_number && self.source[self.end..].starts_with(['.', '%']);
        if first.is(b'{')
            && let Some((_, own)) = self.declarations.at(start)
        {
            self.text.push_str(own);
        }
        self.at += if last == first { 1 } else { 2 };
        self.last = Some(last);
    }

    /// The new name at a place.
    fn new_name(&mut self, place: u32) -> Option<&'p str> {
        let Plain { reading, globals, renaming, .. } = self.plain;
        renaming.as_ref()?.text(self.names.at(place)?, reading, globals)
    }

    /// Starts a statement.
    fn start(&mut self, statement: Statement<'p>) {
        (self.opcode_end, self.is_plain, self.floats) = (0, false, FloatType::Other);
        match statement.kind() {
            StatementKind::Instruction(it) => self.opcode_end = it.opcode().end,
            StatementKind::Directive(it) => {
                self.is_plain = matches!(
                    it.kind(),
                    DirectiveKind::Version
                        | DirectiveKind::AddressSize
                        | DirectiveKind::Loc
                        | DirectiveKind::File
                );
            }
            _ => {}
        }
    }

    /// The spelling of the number that starts with the next token, and its last token.
    fn number(&self, first: Token) -> Option<(Cow<'p, str>, Token)> {
        let mut ahead = self.tokens[self.at + 1..].iter().copied();
        let (new, last) = number(self.source, first, self.floats, self.last, || ahead.next())?;
        // A comment after the sign stays.
        let sign = &self.source[first.span().end as usize..last.span().end as usize];
        let is_whole = last == first || !self.plain.keep_comments || !sign.contains('/');
        is_whole.then_some((new, last))
    }

    /// Passes what is left out from an offset on. Returns whether it did.
    fn leave_out(&mut self, start: u32) -> bool {
        let Some(span) = self.dropped.at(start) else { return false };
        // White space follows.
        let between = &self.source[self.end..start as usize];
        if between.contains('/') {
            self.between(between, false);
        }
        self.end = span.end as usize;
        while self.tokens.get(self.at).is_some_and(|token| token.span().start < span.end) {
            self.at += 1;
        }
        self.is_apart = true;
        true
    }

    /// Writes white space, or comments, between two tokens.
    fn between(&mut self, between: &str, joins: bool) {
        let has_comments = self.plain.keep_comments && between.len() > 1;
        let comments = if has_comments { comments(between) } else { Vec::new() };
        let mut end = 0;
        for comment in &comments {
            let own_line = between[end..comment.start as usize].contains('\n');
            match own_line {
                true if self.text.ends_with('\n') => {}
                true => self.text.push('\n'),
                false => self.text.push(' '),
            }
            self.text.push_str(comment.text(between));
            end = comment.end as usize;
        }
        let last = self.text.as_bytes().last();
        if !comments.is_empty() && between[end..].contains('\n') || last == Some(&b';') {
            self.text.push('\n');
        } else if !between.is_empty() && !joins && last != Some(&b'\n') {
            self.text.push(' ');
        }
    }
}

/// Items in the order of their places, along a text.
struct Along<'i, T>(&'i [T]);

trait Placed {
    fn place(&self) -> u32;
}

impl Placed for Span {
    fn place(&self) -> u32 {
        self.start
    }
}

impl Placed for Use {
    fn place(&self) -> u32 {
        self.span.start
    }
}

impl Placed for (u32, String) {
    fn place(&self) -> u32 {
        self.0
    }
}

impl<'i, T: Placed> Along<'i, T> {
    /// The item at a place that is after those asked for before.
    fn at(&mut self, place: u32) -> Option<&'i T> {
        while let [first, rest @ ..] = self.0
            && first.place() < place
        {
            self.0 = rest;
        }
        self.0.first().filter(|first| first.place() == place)
    }
}
