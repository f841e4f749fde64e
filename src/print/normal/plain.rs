//! The tokens of a text with new names, and without the parts that are left out.

use std::borrow::Cow;
use std::iter::Peekable;

use super::reading::{Globals, Reading};
use super::renaming::Renaming;
use super::{FloatType, NormalOptions, number};
use crate::names::Use;
use crate::source::{Span, mark_len};
use crate::syntax::lexer::comments;
use crate::syntax::{DirectiveKind, Statement, StatementKind, Token, TokenKind};

/// The parts of a text that stay, with new names. Layout is the formatter's work.
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
        let end = mark_len(tree.source().as_bytes());
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
            facts: StatementFacts::default(),
            dropped: Along(&self.dropped),
            names: Along(self.reading.names.uses()),
            declarations: Along(self.renaming.as_ref().map_or(&[], |it| &it.declarations)),
            last: None,
            is_apart: false,
            next_place: 0,
        };
        loop {
            writing.pass();
            let Some(&token) = writing.tokens.get(writing.at) else { break };
            writing.token(token);
        }
        writing.between(writing.source.len());
        writing.copy();
        writing.text
    }
}

/// A new text that is being written.
struct Writing<'p, 's, S: Iterator<Item = Statement<'p>>> {
    plain: &'p Plain<'p, 's>,
    source: &'p str,
    text: String,
    tokens: &'p [Token],
    /// The index of the next token.
    at: usize,
    /// The end of the last token. The text from `copied` to there stays unchanged, but is not
    /// written yet.
    copied: usize,
    end: usize,
    /// The statements after the current one, and the index of the next statement's first token.
    statements: Peekable<S>,
    next_statement: usize,
    /// The current statement: the last one that was asked for.
    facts: StatementFacts,
    dropped: Along<'p, Span>,
    names: Along<'p, Use>,
    declarations: Along<'p, (u32, String)>,
    last: Option<Token>,
    /// Whether white space is needed before the next token.
    is_apart: bool,
    /// Tokens before this offset stay unchanged, unless they are numbers.
    next_place: u32,
}

/// How to read the tokens of a statement.
#[derive(Default)]
struct StatementFacts {
    /// The index of the first token.
    first: usize,
    /// Where the modifiers of the instruction end; 0 in another statement.
    opcode_end: u32,
    /// Whether the numbers are parts of versions, or places in source files.
    is_plain: bool,
}

impl StatementFacts {
    fn of(statement: Statement) -> StatementFacts {
        let first = statement.first_token();
        let (opcode_end, is_plain) = match statement.kind() {
            StatementKind::Instruction(it) => (it.opcode().end, false),
            StatementKind::Directive(it) => {
                let is_plain = matches!(
                    it.kind(),
                    DirectiveKind::Version
                        | DirectiveKind::AddressSize
                        | DirectiveKind::Loc
                        | DirectiveKind::File
                );
                (0, is_plain)
            }
            _ => (0, false),
        };
        StatementFacts { first, opcode_end, is_plain }
    }

    fn has_number_at(&self, place: u32) -> bool {
        !self.is_plain && place >= self.opcode_end
    }
}

impl<'p, S: Iterator<Item = Statement<'p>>> Writing<'p, '_, S> {
    /// Passes tokens that stay unchanged, with the text between them.
    fn pass(&mut self) {
        if self.is_apart {
            return;
        }
        let Some(mut last) = self.last else { return };
        for &token in &self.tokens[self.at..] {
            let start = token.start();
            let between = &self.source.as_bytes()[self.end..start as usize];
            let is_usual =
                start < self.next_place && !may_be_number(token) && may_stay(last, between);
            if !is_usual {
                break;
            }
            (self.end, last) = (token.end() as usize, token);
            self.at += 1;
        }
        self.last = Some(last);
    }

    /// Writes the next token, or passes a part that is left out.
    fn token(&mut self, first: Token) {
        let start = first.start();
        if self.leave_out(start) {
            return;
        }
        let (mut last, mut new, mut is_number) = (first, None, false);
        if matches!(first.kind(), TokenKind::Ident) {
            new = self.new_name(start).map(Cow::from);
        } else if may_be_number(first)
            && self.statement().has_number_at(start)
            && let Some((spelled, end)) = self.number(first)
        {
            (last, is_number) = (end, true);
            new = matches!(spelled, Cow::Owned(_)).then_some(spelled);
        }
        // `1.5` may touch the word before it, `0d3FF8000000000000` may not.
        self.is_apart |= new.is_some() && self.last.is_some_and(Token::is_word);
        let between = &self.source.as_bytes()[self.end..start as usize];
        let stays = !self.is_apart && self.last.is_some_and(|it| may_stay(it, between));
        if stays {
            self.end = start as usize;
        } else {
            self.between(start as usize);
        }
        let end = last.end() as usize;
        if let Some(new) = new {
            self.copy();
            self.text.push_str(&new);
            self.copied = end;
        }
        self.end = end;
        // `4.e5` is a number, `0x4.e5` is not.
        self.is_apart = is_number && self.source[end..].starts_with('.');
        if first.is(b'{')
            && let Some((_, own)) = self.declarations.at(start)
        {
            self.copy();
            self.text.push_str(own);
        }
        self.at += if last == first { 1 } else { 2 };
        self.last = Some(last);
        let end = end as u32;
        let names = self.dropped.next(end).min(self.names.next(end));
        self.next_place = names.min(self.declarations.next(end));
    }

    /// Writes the text that stays unchanged, up to the end of the last token.
    fn copy(&mut self) {
        self.text.push_str(&self.source[self.copied..self.end]);
        self.copied = self.end;
    }

    /// The new name at a place.
    fn new_name(&mut self, place: u32) -> Option<&'p str> {
        let Plain { reading, globals, renaming, .. } = self.plain;
        renaming.as_ref()?.text(self.names.at(place)?, reading, globals)
    }

    /// The statement that the next token belongs to.
    fn statement(&mut self) -> &StatementFacts {
        let mut found = None;
        while self.at >= self.next_statement {
            found = self.statements.next();
            let next = self.statements.peek().map(|next| next.first_token());
            self.next_statement = next.unwrap_or(usize::MAX);
        }
        if let Some(statement) = found {
            self.facts = StatementFacts::of(statement);
        }
        &self.facts
    }

    /// The spelling of the number that starts with the next token, and the number's last token.
    fn number(&self, first: Token) -> Option<(Cow<'p, str>, Token)> {
        let mut ahead = self.tokens[self.at + 1..].iter().copied();
        let floats = || FloatType::after(&self.tokens[self.facts.first..self.at], self.source);
        let (new, last) = number(self.source, first, floats, self.last, || ahead.next())?;
        // A number with a comment behind its sign stays unchanged.
        let sign = &self.source[first.span().end as usize..last.span().end as usize];
        let is_whole = last == first || !self.plain.keep_comments || !sign.contains('/');
        is_whole.then_some((new, last))
    }

    /// Passes the part that starts at an offset, if it is left out. Returns whether it is.
    fn leave_out(&mut self, start: u32) -> bool {
        let Some(span) = self.dropped.at(start) else { return false };
        // The next token gets white space before it in any case; only comments are written here.
        if self.source[self.end..start as usize].contains('/') {
            self.between(start as usize);
        }
        self.copy();
        (self.copied, self.end) = (span.end as usize, span.end as usize);
        while self.tokens.get(self.at).is_some_and(|token| token.span().start < span.end) {
            self.at += 1;
        }
        self.is_apart = true;
        true
    }

    /// Passes the text between the last token and an offset: white space, or comments.
    fn between(&mut self, start: usize) {
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
        } else if last != Some(&b'\n') {
            self.text.push(' ');
        }
    }
}

/// Whether a number may start with a token.
fn may_be_number(token: Token) -> bool {
    matches!(token.kind(), TokenKind::Number) || token.is(b'-')
}

/// Whether the text between two tokens may stay. It may if the formatter treats it like a line
/// break after `;`, or like a space after another token.
fn may_stay(last: Token, between: &[u8]) -> bool {
    let blank = match (last.is(b';'), between) {
        (true, [b'\n', indent @ ..]) => indent,
        (true, _) => return false,
        (false, blank) => blank,
    };
    blank.iter().all(|byte| matches!(byte, b' ' | b'\t'))
}

/// Items sorted by place. Each request must ask for a later place than the one before.
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
        self.span().start
    }
}

impl Placed for (u32, String) {
    fn place(&self) -> u32 {
        self.0
    }
}

impl<'i, T: Placed> Along<'i, T> {
    /// The item at a place, if any.
    fn at(&mut self, place: u32) -> Option<&'i T> {
        if self.next(place) == place { self.0.first() } else { None }
    }

    /// The place of the first item at or after a place; `u32::MAX` if there is none.
    fn next(&mut self, place: u32) -> u32 {
        while let [first, rest @ ..] = self.0 {
            if first.place() >= place {
                return first.place();
            }
            self.0 = rest;
        }
        u32::MAX
    }
}
