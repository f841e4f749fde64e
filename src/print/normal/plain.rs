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
        let end = if has_mark { '\u{feff}'.len_utf8() } else { 0 };
        let mut writing = Writing {
            plain: self,
            source: tree.source(),
            text: String::with_capacity(tree.source().len()),
            tokens: tree.tokens(),
            at: 0,
            copied: end,
            end,
            statements: tree.all_statements().peekable(),
            next_statement: 0,
            first: 0,
            opcode_end: 0,
            is_plain: false,
            dropped: Along(&self.dropped),
            names: Along(self.reading.names.uses()),
            declarations: Along(self.renaming.as_ref().map_or(&[], |it| &it.declarations)),
            last: None,
            is_apart: false,
        };
        while let Some(&token) = writing.tokens.get(writing.at) {
            writing.token(token);
        }
        writing.between(writing.source.len(), false);
        writing.copy();
        writing.text
    }
}

/// A text that is being written.
struct Writing<'p, 's, S: Iterator<Item = Statement<'p>>> {
    plain: &'p Plain<'p, 's>,
    source: &'p str,
    text: String,
    tokens: &'p [Token],
    /// The number of the next token.
    at: usize,
    /// The end of the last token. What stands between `copied` and there is not written yet, and
    /// stays as it is.
    copied: usize,
    end: usize,
    /// The statements from the next token on, and the first token of the next one.
    statements: Peekable<S>,
    next_statement: usize,
    /// The first token of the statement.
    first: usize,
    /// Where the modifiers of the instruction end; 0 in another statement.
    opcode_end: u32,
    /// Whether numbers are versions, or places in sources.
    is_plain: bool,
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
        while self.at >= self.next_statement {
            self.start();
        }
        let in_opcode = start < self.opcode_end;
        let (mut last, mut is_number) = (first, false);
        let new = match first.kind() {
            TokenKind::Ident => self.new_name(start).map(Cow::from),
            TokenKind::Number | TokenKind::Punct([b'-', 0]) if !self.is_plain && !in_opcode => {
                self.number(first).and_then(|(new, token)| {
                    (last, is_number) = (token, true);
                    matches!(new, Cow::Owned(_)).then_some(new)
                })
            }
            _ => None,
        };
        // `1.5` may touch the word before it, `0d3FF8000000000000` may not.
        self.is_apart |= new.is_some() && self.last.is_some_and(Token::is_word);
        // Modifiers join their opcode.
        let joins = || in_opcode && first.is_modifier(self.source);
        let stays = match &self.source.as_bytes()[self.end..start as usize] {
            [] => !self.is_apart,
            [b' ' | b'\t'] => !joins(),
            _ => false,
        };
        if stays && self.last.is_some_and(|last| !last.is(b';')) {
            self.end = start as usize;
        } else {
            self.between(start as usize, joins());
        }
        let end = last.span().end as usize;
        if let Some(new) = new {
            self.copy();
            self.text.push_str(&new);
            self.copied = end;
        }
        self.end = end;
        self.is_apart = is_number && self.source[self.end..].starts_with(['.', '%']);
        if first.is(b'{')
            && let Some((_, own)) = self.declarations.at(start)
        {
            self.copy();
            self.text.push_str(own);
        }
        self.at += if last == first { 1 } else { 2 };
        self.last = Some(last);
    }

    /// Writes what stays as it is, up to the end of the last token.
    fn copy(&mut self) {
        self.text.push_str(&self.source[self.copied..self.end]);
        self.copied = self.end;
    }

    /// The new name at a place.
    fn new_name(&mut self, place: u32) -> Option<&'p str> {
        let Plain { reading, globals, renaming, .. } = self.plain;
        renaming.as_ref()?.text(self.names.at(place)?, reading, globals)
    }

    /// Starts the next statement.
    fn start(&mut self) {
        let statement = self.statements.next();
        let next = self.statements.peek().map(|next| next.first_token());
        self.next_statement = next.unwrap_or(usize::MAX);
        let Some(statement) = statement else { return };
        (self.first, self.opcode_end, self.is_plain) = (self.at, 0, false);
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
        let floats = || FloatType::after(&self.tokens[self.first..self.at], self.source);
        let (new, last) = number(self.source, first, floats, self.last, || ahead.next())?;
        // A comment after the sign stays.
        let sign = &self.source[first.span().end as usize..last.span().end as usize];
        let is_whole = last == first || !self.plain.keep_comments || !sign.contains('/');
        is_whole.then_some((new, last))
    }

    /// Passes what is left out from an offset on. Returns whether it did.
    fn leave_out(&mut self, start: u32) -> bool {
        let Some(span) = self.dropped.at(start) else { return false };
        // White space follows.
        if self.source[self.end..start as usize].contains('/') {
            self.between(start as usize, false);
        }
        self.copy();
        (self.copied, self.end) = (span.end as usize, span.end as usize);
        while self.tokens.get(self.at).is_some_and(|token| token.span().start < span.end) {
            self.at += 1;
        }
        self.is_apart = true;
        true
    }

    /// Passes white space, or comments, from the last token to an offset.
    fn between(&mut self, start: usize, joins: bool) {
        let between = &self.source[self.end..start];
        self.copy();
        (self.copied, self.end) = (start, start);
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
        } else if (!between.is_empty() || self.is_apart) && !joins && last != Some(&b'\n') {
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
