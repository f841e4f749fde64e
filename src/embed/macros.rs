//! `asm` statements that macros make.
//!
//! Directives take effect in the order of the text; the directives of a header take effect at its
//! first `#include`. Each outermost use of a macro that may lead to an `asm`, and each `asm` with
//! macros inside, is expanded on its own, as the preprocessor does it. Work is bounded for each
//! expansion and for each file.
//!
//! A macro that branches of `#if` define differently is not expanded after the `#endif`. A word
//! that may be a macro from elsewhere must not end up in a string: see [`Token::doubtful`].

use std::rc::Rc;

use super::headers::Joined;
use super::scan::{Cursor, QUALIFIERS, directives_in, is_asm, is_name, is_raw};
use crate::hash::{Map, Set};
use crate::source::Span;

/// The largest cost of one expansion: 16 for each token, and 1 for each byte of pasted or
/// stringised text.
const COST: usize = 256 << 10;
/// The largest cost of all expansions of a file.
const TOTAL_COST: usize = 16 << 20;
/// How deep arguments that hold uses of macros may be nested.
const DEPTH: usize = 32;
/// How deep `#if` may be nested.
const CONDITIONS: usize = 64;
/// How deep headers may be nested.
const HEADERS: usize = 64;
/// The largest number of tokens in a use.
const USE: usize = 1 << 14;

/// The text of a use of macros, and where it comes from.
#[derive(Debug)]
pub(super) struct Expansion {
    pub(super) text: String,
    /// The whole use.
    pub(super) span: Span,
    pieces: Vec<Stretch>,
}

/// Where a token comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Origin {
    /// The code, outside of any use.
    Code,
    /// The argument of a use.
    Argument,
    /// The definition of the macro whose name has this span.
    Definition(Span),
}

impl Origin {
    /// The name of the macro whose definition contains the token.
    fn owner(self) -> Option<Span> {
        match self {
            Origin::Code | Origin::Argument => None,
            Origin::Definition(name) => Some(name),
        }
    }

    /// The origin of a token that is passed to a macro.
    fn passed(self) -> Origin {
        match self {
            Origin::Code => Origin::Argument,
            it => it,
        }
    }
}

/// A token of an expansion.
#[derive(Debug)]
struct Stretch {
    /// Its place in the expansion.
    at: Span,
    /// Its place in the use.
    place: Span,
    /// The text in the source that it was made from.
    written: Span,
    origin: Origin,
    /// Whether it is copied from the source.
    copied: bool,
    doubtful: bool,
}

impl Stretch {
    /// The part of `of` that a part of the expansion is copied from; all of `of` if the token is
    /// not copied.
    fn part(&self, span: Span, of: Span) -> Span {
        if !self.copied {
            return of;
        }
        let start = span.start.clamp(self.at.start, self.at.end) - self.at.start;
        let end = span.end.clamp(self.at.start, self.at.end) - self.at.start;
        Span::new(of.start + start, of.start + end)
    }
}

impl Expansion {
    /// The tokens that a span overlaps, or the token around an empty span. An empty part of a text
    /// is always inside a token: between its quotes.
    fn pieces(&self, span: Span) -> &[Stretch] {
        let first = self.pieces.partition_point(|it| it.at.end <= span.start);
        let rest = &self.pieces[first..];
        &rest[..rest.partition_point(|it| it.at.start < span.end)]
    }

    /// The place of a part of the text in the use: the words of the use that the part contains,
    /// or else the names of the macros that made it.
    pub(super) fn place(&self, span: Span) -> Span {
        let pieces = self.pieces(span);
        let has_words = pieces.iter().any(|it| it.origin.owner().is_none());
        let place = |it: &Stretch| {
            if it.origin.owner().is_some() { it.place } else { it.part(span, it.place) }
        };
        let shown = pieces.iter().filter(|it| it.origin.owner().is_none() || !has_words);
        let mut places = shown.map(place);
        let Some(first) = places.next() else {
            return self.span;
        };
        places.fold(first, |all, it| Span::new(all.start.min(it.start), all.end.max(it.end)))
    }

    /// The text in a macro's definition that a part was made from, and the macro's name in that
    /// definition.
    pub(super) fn definition(&self, span: Span) -> Option<(Span, Span)> {
        let (it, owner) = self.pieces(span).iter().find_map(|it| Some((it, it.origin.owner()?)))?;
        let is_inside = span.is_in(&[it.at]);
        Some((if is_inside { it.part(span, it.written) } else { it.written }, owner))
    }

    /// The place in the source that a part was copied from.
    pub(super) fn written(&self, span: Span) -> Option<Span> {
        match self.pieces(span) {
            [it] if it.copied && span.is_in(&[it.at]) => Some(it.part(span, it.written)),
            _ => None,
        }
    }

    /// The place of a part that stands in the code, outside of any use.
    pub(super) fn own(&self, span: Span) -> Option<Span> {
        match self.pieces(span) {
            [it] if it.origin == Origin::Code
                && it.at.start <= span.start
                && span.end <= it.at.end =>
            {
                Some(it.part(span, it.place))
            }
            _ => None,
        }
    }

    pub(super) fn is_doubtful(&self, span: Span) -> bool {
        self.pieces(span).iter().any(|it| it.doubtful)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Name,
    Number,
    /// A string or a character.
    Quoted,
    Mark,
    /// The parameter with this number of the macro whose definition contains the token.
    Parameter(usize),
    /// The end of the text that the macro with this number made.
    End(usize),
}

#[derive(Clone, Debug)]
struct Token {
    kind: Kind,
    /// The text, if it is not the text at `written`.
    made: Option<Rc<str>>,
    /// See [`Stretch`].
    written: Span,
    place: Span,
    origin: Origin,
    /// Whether white space is before it.
    spaced: bool,
    /// Whether it is the name of a macro inside that macro's text, and thus never expanded.
    painted: bool,
    /// Whether it has a word that may be a macro defined elsewhere.
    doubtful: bool,
}

impl Token {
    fn text<'a>(&'a self, source: &'a str) -> &'a str {
        self.made.as_deref().unwrap_or_else(|| self.written.text(source))
    }
}

/// A `#define`.
struct Definition<'s> {
    name: &'s str,
    /// The number of its parameters, if it has a list.
    parameters: Option<usize>,
    is_variadic: bool,
    body: Vec<Token>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Undefined,
    /// It has the definition with this number.
    Known(usize),
    /// Branches define it differently, or its definition cannot be read.
    Unclear,
}

/// An `#if` that is open.
#[derive(Default)]
struct Condition<'s> {
    /// The macros that the branch has changed, each with its state before the branch.
    changed: Map<&'s str, State>,
    /// For each macro: its state after the branches that changed it, the number of these branches,
    /// and its state before them.
    ends: Map<&'s str, (State, usize, State)>,
    branches: usize,
    has_else: bool,
    is_dead: bool,
}

/// A use of macros that may contain an `asm`.
pub(super) enum Use {
    Expanded(Expansion),
    /// It cannot be expanded.
    Unknown(Span),
}

/// Reads a source and expands the uses of macros in it.
pub(super) struct Macros<'s> {
    /// The source, followed by its headers.
    source: &'s str,
    headers: Option<&'s Joined>,
    /// The headers that were read.
    entered: Set<usize>,
    /// How deep the header that is being read is nested.
    nesting: usize,
    cursor: Cursor<'s>,
    definitions: Vec<Definition<'s>>,
    /// The number of each definition, by the offset of its name.
    at: Map<u32, usize>,
    /// The names of macros that may lead to an `asm`.
    leading: Set<&'s str>,
    states: Map<&'s str, State>,
    conditions: Vec<Condition<'s>>,
    /// The number of conditions that were open at the start of the header that is being read.
    outside: usize,
    /// The offsets of `asm` that are read without macros, in order.
    plain: Vec<u32>,
    left: usize,
    total: usize,
    active: Set<usize>,
}

/// What stops an expansion.
struct Stopped;

type Tokens = Result<Vec<Token>, Stopped>;

impl<'s> Macros<'s> {
    /// Macros for a part of a text. The rest of the text consists of the headers.
    pub(super) fn new(
        source: &'s str,
        part: Span,
        headers: Option<&'s Joined>,
        plain: Vec<u32>,
    ) -> Macros<'s> {
        let mut macros = Macros {
            source,
            headers,
            entered: Set::default(),
            nesting: 0,
            cursor: Cursor::within(source, part),
            definitions: Vec::new(),
            at: Map::default(),
            leading: Set::default(),
            states: Map::default(),
            conditions: Vec::new(),
            outside: 0,
            plain,
            left: 0,
            total: TOTAL_COST,
            active: Set::default(),
        };
        macros.define_all(part);
        for header in headers.into_iter().flat_map(Joined::headers) {
            macros.define_all(header);
        }
        macros.lead();
        macros
    }

    fn text<'a>(&'a self, token: &'a Token) -> &'a str {
        token.text(self.source)
    }

    /// Reads all definitions in a part.
    fn define_all(&mut self, part: Span) {
        for (word, cursor) in directives_in(self.source, part) {
            if word == "define" {
                self.define(cursor);
            }
        }
    }

    fn define(&mut self, mut cursor: Cursor<'s>) -> Option<()> {
        let end = cursor.directive_end();
        let start = cursor.pos as u32;
        let name = cursor.word();
        let name_span = Span::new(start, cursor.pos as u32);
        let mut names: Vec<&str> = Vec::new();
        let mut is_variadic = false;
        let has_list = cursor.eat(b'(');
        if has_list {
            loop {
                cursor.trivia(false);
                let word = cursor.word();
                cursor.trivia(false);
                is_variadic = self.source[cursor.pos..].starts_with("...");
                if is_variadic {
                    cursor.pos += 3;
                    names.push(if word.is_empty() { "__VA_ARGS__" } else { word });
                    cursor.trivia(false);
                } else if !word.is_empty() {
                    names.push(word);
                }
                if cursor.eat(b')') {
                    break;
                }
                if is_variadic || word.is_empty() || !cursor.eat(b',') {
                    return None;
                }
            }
        }
        let numbers: Map<&str, usize> = names.iter().copied().zip(0..).collect();
        let mut body = Vec::new();
        while let Some(mut token) =
            self.token(&mut cursor).filter(|it| it.written.end as usize <= end)
        {
            let word = token.written.text(self.source);
            if word == "__VA_OPT__" {
                return None;
            }
            if let Some(&number) = numbers.get(word) {
                token.kind = Kind::Parameter(number);
            }
            token.origin = Origin::Definition(name_span);
            body.push(token);
        }
        if name.is_empty() {
            return None;
        }
        self.at.insert(name_span.start, self.definitions.len());
        let parameters = has_list.then_some(names.len());
        self.definitions.push(Definition { name, parameters, is_variadic, body });
        Some(())
    }

    /// Finds the macros that may lead to an `asm`.
    fn lead(&mut self) {
        let mut users: Map<&str, Vec<&'s str>> = Map::default();
        let mut open = Vec::new();
        for definition in &self.definitions {
            for token in definition.body.iter().filter(|it| it.kind == Kind::Name) {
                let word = token.written.text(self.source);
                let is_plain = self.plain.binary_search(&token.written.start).is_ok();
                if is_asm(word) && !is_plain {
                    open.push(definition.name);
                } else {
                    users.entry(word).or_default().push(definition.name);
                }
            }
        }
        while let Some(name) = open.pop() {
            if self.leading.insert(name) {
                open.extend(users.remove(name).unwrap_or_default());
            }
        }
    }

    /// Reads a token.
    fn token(&self, cursor: &mut Cursor<'s>) -> Option<Token> {
        let from = cursor.pos;
        cursor.trivia(true);
        let start = cursor.pos;
        let bytes = self.source.as_bytes();
        let first = cursor.peek()?;
        let kind = if cursor.literal().is_some() {
            Kind::Quoted
        } else if matches!(first, b'"' | b'\'') {
            cursor.pos = start + 1;
            cursor.quoted(start, first);
            Kind::Quoted
        } else if first.is_ascii_digit() {
            let is_number = |at: usize| match bytes[at] {
                b'.' => true,
                b'+' | b'-' => matches!(bytes[at - 1] | 0x20, b'e' | b'p'),
                b'\'' => bytes.get(at + 1).is_some_and(u8::is_ascii_alphanumeric),
                byte => is_name(byte),
            };
            while cursor.pos < bytes.len() && is_number(cursor.pos) {
                cursor.pos += 1;
            }
            Kind::Number
        } else if is_name(first) {
            cursor.word();
            if cursor.peek() == Some(b'"') && is_raw(&bytes[..cursor.pos]) {
                // A raw string without an end.
                cursor.pos = bytes.len();
                Kind::Quoted
            } else {
                Kind::Name
            }
        } else {
            cursor.pos += 1 + usize::from(bytes[start..].starts_with(b"##"));
            Kind::Mark
        };
        let written = Span::new(start as u32, cursor.pos as u32);
        Some(Token {
            kind,
            made: None,
            written,
            place: written,
            origin: Origin::Code,
            spaced: start > from,
            painted: false,
            doubtful: false,
        })
    }

    fn set(&mut self, name: &'s str, state: State) {
        let old = self.states.insert(name, state).unwrap_or(State::Undefined);
        if let Some(condition) = self.conditions.last_mut() {
            condition.changed.entry(name).or_insert(old);
        }
    }

    fn merge(&self, one: State, other: State) -> State {
        match (one, other) {
            (State::Undefined, it) | (it, State::Undefined) => it,
            (State::Known(a), State::Known(b)) if self.is_same(a, b) => one,
            _ => State::Unclear,
        }
    }

    fn is_same(&self, a: usize, b: usize) -> bool {
        let (one, other) = (&self.definitions[a], &self.definitions[b]);
        let text = |it: &Token| (it.kind, it.spaced, it.written.text(self.source));
        let bodies = || one.body.iter().map(text).eq(other.body.iter().map(text));
        a == b || one.parameters == other.parameters && bodies()
    }

    /// Ends a branch: its definitions no longer hold.
    fn end_branch(&mut self) {
        let Some(mut condition) = self.conditions.pop() else {
            return;
        };
        for (name, before) in std::mem::take(&mut condition.changed) {
            let now = self.states.insert(name, before).unwrap_or(State::Undefined);
            let end = match condition.ends.get(name) {
                Some(&(state, count, _)) => (self.merge(state, now), count + 1, before),
                None => (now, 1, before),
            };
            condition.ends.insert(name, end);
        }
        condition.branches += usize::from(!condition.is_dead);
        self.conditions.push(condition);
    }

    /// Handles the directive with this word; the cursor is after the word. `None` if the rest of
    /// the text cannot be read.
    fn directive(&mut self, word: &str) -> Option<()> {
        let end = self.cursor.directive_end();
        let is_dead = self.is_dead();
        match word {
            "if" | "ifdef" | "ifndef" => {
                if self.conditions.len() == CONDITIONS {
                    return None;
                }
                let zero = word == "if" && self.cursor.is_zero();
                self.conditions
                    .push(Condition { is_dead: is_dead || zero, ..Condition::default() });
            }
            "else" | "elif" | "elifdef" | "elifndef" => {
                let outer = self.inner_condition()?;
                self.end_branch();
                let is_dead = self.conditions[..outer].iter().any(|it| it.is_dead);
                if let Some(condition) = self.conditions.last_mut() {
                    condition.is_dead = is_dead;
                    condition.has_else |= word == "else";
                }
            }
            "endif" => {
                self.inner_condition()?;
                self.end_condition();
            }
            "include" if !is_dead => {
                let header = self.headers.and_then(|it| it.included(self.cursor.pos));
                if let Some((number, part)) = header
                    && self.nesting < HEADERS
                    && self.entered.insert(number)
                {
                    self.header(part);
                }
            }
            "define" | "undef" if !is_dead => {
                let known = self.at.get(&(self.cursor.pos as u32)).copied();
                let name = self.cursor.word();
                let state = match (word, known) {
                    ("undef", _) => State::Undefined,
                    (_, Some(number)) => State::Known(number),
                    _ => State::Unclear,
                };
                self.set(name, state);
            }
            _ => {}
        }
        self.cursor.pos = end;
        Some(())
    }

    /// The index of the innermost condition, if this file opened it.
    fn inner_condition(&self) -> Option<usize> {
        let inner = self.conditions.len().checked_sub(1)?;
        (inner >= self.outside).then_some(inner)
    }

    fn end_condition(&mut self) {
        self.end_branch();
        let Some(Condition { ends, branches, has_else, .. }) = self.conditions.pop() else {
            return;
        };
        for (name, (state, count, before)) in ends {
            let all = has_else && count == branches;
            let state = if all { state } else { self.merge(state, before) };
            self.set(name, state);
        }
    }

    /// Handles the directives of a header.
    fn header(&mut self, part: Span) {
        let (cursor, outside) = (self.cursor, self.outside);
        self.outside = self.conditions.len();
        self.nesting += 1;
        for (word, cursor) in directives_in(self.source, part) {
            self.cursor = cursor;
            if self.directive(word).is_none() {
                break;
            }
        }
        while self.inner_condition().is_some() {
            self.end_condition();
        }
        self.nesting -= 1;
        (self.cursor, self.outside) = (cursor, outside);
    }

    fn is_dead(&self) -> bool {
        self.conditions.last().is_some_and(|it| it.is_dead)
    }

    fn is_directive(&self, token: &Token) -> bool {
        let start = token.written.start as usize;
        self.source.as_bytes()[start] == b'#' && self.cursor.starts_line(start)
    }

    /// Adds the qualifiers of a statement, and macros that may stand for them.
    fn qualifiers(&mut self, tokens: &mut Vec<Token>) {
        loop {
            let mut cursor = self.cursor;
            let next = self.token(&mut cursor);
            let is_one = |it: &Token| {
                let word = it.written.text(self.source);
                let is_macro = || match self.states.get(word) {
                    Some(&State::Known(number)) => self.definitions[number].parameters.is_none(),
                    _ => false,
                };
                let may_stand_for_one = || !self.leading.contains(word) && is_macro();
                it.kind == Kind::Name && (QUALIFIERS.contains(&word) || may_stand_for_one())
            };
            let Some(next) = next.filter(is_one) else { return };
            self.cursor = cursor;
            tokens.push(next);
        }
    }

    /// If a `(` follows, adds the tokens up to its `)`.
    fn parentheses(&mut self, tokens: &mut Vec<Token>) -> Option<()> {
        let mut depth = 0_usize;
        loop {
            let before = self.cursor;
            let mut cursor = self.cursor;
            let token = self.token(&mut cursor);
            self.cursor = cursor;
            let Some(token) = token else {
                return (depth == 0).then_some(());
            };
            if self.is_directive(&token) || depth == 0 && self.text(&token) != "(" {
                self.cursor = before;
                return (depth == 0).then_some(());
            }
            match self.text(&token) {
                "(" => depth += 1,
                ")" => depth -= 1,
                _ => {}
            }
            tokens.push(token);
            if depth == 0 {
                return Some(());
            }
            if tokens.len() > USE {
                return None;
            }
        }
    }

    /// Reads on to the next use that may contain an `asm`.
    pub(super) fn next(&mut self) -> Option<Use> {
        loop {
            let mut cursor = self.cursor;
            let token = self.token(&mut cursor);
            self.cursor = cursor;
            let token = token?;
            if self.is_directive(&token) {
                self.cursor.pos = token.written.start as usize + 1;
                let word = self.cursor.directive();
                self.directive(word)?;
                continue;
            }
            if self.is_dead() || token.kind != Kind::Name {
                continue;
            }
            let word = token.written.text(self.source);
            let start = token.written.start;
            let is_statement = is_asm(word);
            if is_statement && self.plain.binary_search(&start).is_ok() {
                continue;
            }
            if !is_statement && matches!(self.states.get(word), None | Some(State::Undefined)) {
                continue;
            }
            let mut tokens = vec![token];
            if is_statement || self.leading.contains(word) {
                self.qualifiers(&mut tokens);
            }
            let whole = self.parentheses(&mut tokens);
            let has_asm = tokens.iter().any(|it| {
                let word = it.written.text(self.source);
                it.kind == Kind::Name
                    && (self.leading.contains(word)
                        || is_asm(word) && self.plain.binary_search(&it.written.start).is_err())
            });
            if !has_asm {
                continue;
            }
            let span = Span::new(start, tokens[tokens.len() - 1].written.end);
            let expanded = whole.ok_or(Stopped).and_then(|()| {
                self.active = Set::default();
                self.left = COST.min(self.total);
                let before = self.left;
                let expanded = self.expand(tokens, DEPTH);
                self.total -= before - self.left;
                expanded
            });
            return Some(match expanded {
                Ok(tokens) => Use::Expanded(self.joined(&tokens, span)),
                Err(Stopped) => Use::Unknown(span),
            });
        }
    }

    /// The expansion that consists of these tokens.
    fn joined(&self, tokens: &[Token], span: Span) -> Expansion {
        let mut expansion = Expansion { text: String::new(), span, pieces: Vec::new() };
        for token in tokens {
            let start = expansion.text.len() as u32;
            expansion.text.push_str(self.text(token));
            let at = Span::new(start, expansion.text.len() as u32);
            expansion.text.push(' ');
            expansion.pieces.push(Stretch {
                at,
                place: token.place,
                written: token.written,
                origin: token.origin,
                copied: token.made.is_none(),
                doubtful: token.doubtful,
            });
        }
        expansion
    }

    fn pay(&mut self, bytes: usize) -> Result<(), Stopped> {
        self.left = self.left.saturating_sub(16 + bytes);
        if self.left == 0 { Err(Stopped) } else { Ok(()) }
    }

    /// The number of the macro that a token names.
    fn named(&self, token: &Token) -> Option<usize> {
        match self.states.get(self.text(token)) {
            Some(&State::Known(number)) if token.kind == Kind::Name => Some(number),
            _ => None,
        }
    }

    fn expand(&mut self, mut input: Vec<Token>, depth: usize) -> Tokens {
        let depth = depth.checked_sub(1).ok_or(Stopped)?;
        let mut output = Vec::new();
        // Whether there is white space before the next word.
        let mut gap = false;
        input.reverse();
        while let Some(mut token) = input.pop() {
            if let Kind::End(number) = token.kind {
                self.active.remove(&number);
                gap |= token.spaced;
                continue;
            }
            self.pay(0)?;
            token.spaced |= gap;
            gap = false;
            let Some(number) = self.named(&token).filter(|_| !token.painted) else {
                let text = self.text(&token);
                let is_unclear = self.states.get(text) == Some(&State::Unclear);
                let may_be_macro =
                    text.starts_with('_') || text.bytes().any(|byte| byte.is_ascii_uppercase());
                token.doubtful |= token.kind == Kind::Name && (is_unclear || may_be_macro);
                output.push(token);
                continue;
            };
            if self.active.contains(&number) {
                token.painted = true;
                output.push(token);
                continue;
            }
            let definition = &self.definitions[number];
            let (parameters, is_variadic) = (definition.parameters, definition.is_variadic);
            let mut arguments = Vec::new();
            if let Some(parameters) = parameters {
                while let Some(Token { kind: Kind::End(number), .. }) = input.last() {
                    self.active.remove(number);
                    input.pop();
                }
                if input.last().is_none_or(|next| self.text(next) != "(") {
                    output.push(token);
                    continue;
                }
                let list = self.arguments(&mut input, parameters, is_variadic)?;
                arguments = list;
            }
            let (mut body, spaced) = self.substitute(number, &token, &arguments, depth)?;
            let end = Token { kind: Kind::End(number), made: Some(Rc::from("")), spaced, ..token };
            self.active.insert(number);
            input.push(end);
            input.extend(body.drain(..).rev());
        }
        Ok(output)
    }

    /// Takes the arguments of a use, from its `(` to its `)`.
    fn arguments(
        &mut self,
        input: &mut Vec<Token>,
        parameters: usize,
        is_variadic: bool,
    ) -> Result<Vec<Vec<Token>>, Stopped> {
        input.pop();
        let mut arguments = vec![Vec::new()];
        let mut depth = 0_usize;
        loop {
            let mut token = input.pop().ok_or(Stopped)?;
            if let Kind::End(number) = token.kind {
                self.active.remove(&number);
                continue;
            }
            self.pay(0)?;
            token.origin = token.origin.passed();
            let text = self.text(&token);
            match text {
                ")" if depth == 0 => break,
                "," if depth == 0 && !(is_variadic && arguments.len() >= parameters) => {
                    arguments.push(Vec::new());
                    continue;
                }
                "(" => depth += 1,
                ")" => depth -= 1,
                _ => {}
            }
            let last = arguments.len() - 1;
            arguments[last].push(token);
        }
        if parameters == 0 && arguments.len() == 1 && arguments[0].is_empty() {
            arguments.clear();
        }
        // The argument for `...` may be missing.
        if is_variadic && arguments.len() + 1 == parameters {
            arguments.push(Vec::new());
        }
        (arguments.len() == parameters).then_some(arguments).ok_or(Stopped)
    }

    /// The tokens of a macro's definition, with arguments in place of parameters, and whether there
    /// is white space after the last token.
    fn substitute(
        &mut self,
        number: usize,
        name: &Token,
        arguments: &[Vec<Token>],
        depth: usize,
    ) -> Result<(Vec<Token>, bool), Stopped> {
        let source = self.source;
        let mut expanded: Vec<Option<Vec<Token>>> = vec![None; arguments.len()];
        let mut output: Vec<Token> = Vec::new();
        let mut at = 0;
        let mut pasting = false;
        let mut left_is_empty = true;
        // Whether empty arguments have white space before them.
        let mut gap = false;
        loop {
            let definition = &self.definitions[number];
            let Some(token) = definition.body.get(at) else {
                break;
            };
            let mut token = token.clone();
            let is_mark = |at: usize, mark: &str| {
                let it = definition.body.get(at);
                it.is_some_and(|it| it.kind == Kind::Mark && it.written.text(source) == mark)
            };
            if is_mark(at, "##") {
                if at == 0 || pasting || at + 1 == definition.body.len() {
                    return Err(Stopped);
                }
                pasting = true;
                at += 1;
                continue;
            }
            let is_variable =
                |parameter| definition.is_variadic && parameter + 1 == arguments.len();
            token.place = name.place;
            token.spaced = gap || token.spaced && !pasting;
            let spaced = token.spaced;
            let mut operand = if definition.parameters.is_some() && is_mark(at, "#") {
                let Some(Kind::Parameter(parameter)) =
                    definition.body.get(at + 1).map(|it| it.kind)
                else {
                    return Err(Stopped);
                };
                at += 1;
                vec![self.stringised(&token, &arguments[parameter])?]
            } else if let Kind::Parameter(parameter) = token.kind {
                let comma = pasting && output.last().is_some_and(|it| self.text(it) == ",");
                let drops = comma && is_variable(parameter);
                let raw = !drops && (pasting || is_mark(at + 1, "##"));
                if drops {
                    pasting = false;
                    if arguments[parameter].is_empty() {
                        output.pop();
                    }
                }
                if raw {
                    arguments[parameter].clone()
                } else if let Some(done) = &expanded[parameter] {
                    done.clone()
                } else {
                    let done = self.expand(arguments[parameter].clone(), depth)?;
                    expanded[parameter] = Some(done.clone());
                    done
                }
            } else {
                vec![token]
            };
            at += 1;
            gap = spaced && operand.is_empty();
            if let Some(first) = operand.first_mut() {
                first.spaced = spaced;
            }
            for _ in &operand {
                self.pay(0)?;
            }
            if pasting && !left_is_empty && !operand.is_empty() {
                let left = output.pop().ok_or(Stopped)?;
                operand[0] = self.pasted(&left, &operand[0])?;
            }
            left_is_empty = operand.is_empty() && (!pasting || left_is_empty);
            pasting = false;
            output.append(&mut operand);
        }
        if let Some(first) = output.first_mut() {
            first.spaced = name.spaced;
        } else {
            gap = name.spaced;
        }
        Ok((output, gap))
    }

    fn pasted(&mut self, left: &Token, right: &Token) -> Result<Token, Stopped> {
        let text = [self.text(left), self.text(right)].concat();
        self.pay(text.len())?;
        let starts = text.as_bytes()[0];
        let kind = if !text.bytes().all(is_name) {
            return Err(Stopped);
        } else if starts.is_ascii_digit() {
            Kind::Number
        } else {
            Kind::Name
        };
        let made = Some(Rc::from(text));
        let doubtful = left.doubtful || right.doubtful;
        let origin = left.origin.passed();
        Ok(Token { kind, made, doubtful, painted: false, origin, ..left.clone() })
    }

    /// The string that `#` makes of an argument.
    fn stringised(&mut self, mark: &Token, argument: &[Token]) -> Result<Token, Stopped> {
        let mut text = String::from('"');
        for (at, token) in argument.iter().enumerate() {
            let word = self.text(token);
            if word.contains('\n') {
                return Err(Stopped);
            }
            if at > 0 && token.spaced {
                text.push(' ');
            }
            for c in word.chars() {
                if token.kind == Kind::Quoted && matches!(c, '"' | '\\') {
                    text.push('\\');
                }
                text.push(c);
            }
            self.pay(word.len())?;
        }
        text.push('"');
        let doubtful = argument.iter().any(|it| it.doubtful);
        let mut string =
            Token { kind: Kind::Quoted, made: Some(Rc::from(text)), doubtful, ..mark.clone() };
        // If the use has the words of the argument in this order, the string maps to them.
        if let (Some(first), Some(last)) = (argument.first(), argument.last())
            && argument.iter().all(|it| it.origin.owner().is_none() && it.made.is_none())
            && first.place.start < last.place.end
        {
            string.place = first.place.to(last.place);
            string.written = string.place;
            string.origin = Origin::Argument;
        }
        Ok(string)
    }
}
