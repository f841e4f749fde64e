//! Tokens to statements, in one pass.

use super::super::declaration::{DIRECTIVES, starts_directive};
use super::super::directive::{Bare, Directive, Step, dwarf_end, misplaced};
use super::super::grammar::Expected;
use super::super::lexer::{Lexer, Token, TokenKind, comment_end, line_end, string_end};
use super::declaration::groups;
use super::grammar::{self, Grammar, misfit};
use super::instruction::plain_operands;
use super::{
    Declaration, DirectiveKind, Entry, EntryKind, Error, ErrorKind, Instruction, NONE, OperandKind,
    Tree,
};
use crate::source::{MAX_LEN, Span, mark_len};

/// Reads a text. Function bodies that do not touch the part are read as empty blocks.
pub(super) fn parse(source: &str, part: Span) -> Tree<'_> {
    assert!(source.len() <= MAX_LEN, "a text of more than 4 GiB");
    let is_whole = part.len() as usize == source.len();
    // An estimate.
    let tokens = Vec::with_capacity(if is_whole { source.len() / 4 } else { 0 });
    let mut parser = Parser::new(source, Lexer::new(source, 0), tokens);
    parser.part = (!is_whole).then_some(part);
    parser.byte_order_mark();
    parser.tree()
}

/// Reads the function whose header starts at an offset, up to the end of its body.
pub(super) fn parse_function(source: &str, start: u32) -> Tree<'_> {
    let (mut tokens, mut depth) = (Vec::with_capacity(4096), 0u32);
    for token in tokens_from(source, start) {
        match token.kind() {
            TokenKind::Punct([b'{', 0]) => depth += 1,
            TokenKind::Punct([b'}', 0]) => depth = depth.saturating_sub(1),
            // Functions do not nest: this one has no end.
            TokenKind::Dot
                if depth > 0 && matches!(token.span().text(source), ".func" | ".entry") =>
            {
                break;
            }
            _ => {}
        }
        tokens.push(token);
        if depth == 0 && (token.is(b';') || token.is(b'}')) {
            break;
        }
    }
    of_tokens(source, tokens)
}

/// Reads `count` statements from the start of a part on, or fewer if the part ends before.
pub(super) fn parse_next(source: &str, part: Span, count: usize) -> Tree<'_> {
    // An estimate.
    let (mut tokens, mut left) = (Vec::with_capacity(16 * count), count);
    for token in tokens_from(&source[..part.end as usize], part.start) {
        left -= usize::from(token.is(b';'));
        tokens.push(token);
        if left == 0 {
            break;
        }
    }
    of_tokens(source, tokens)
}

/// The tokens from an offset on, read in blocks.
fn tokens_from(source: &str, start: u32) -> impl Iterator<Item = Token> {
    let mut lexer = Lexer::new(source, start as usize);
    let (mut tokens, mut at) = (Vec::new(), 0);
    std::iter::from_fn(move || {
        if at == tokens.len() {
            tokens.clear();
            at = 0;
            if !lexer.usual_tokens(&mut tokens) {
                tokens.extend(lexer.token());
            }
        }
        at += 1;
        tokens.get(at - 1).copied()
    })
}

fn of_tokens(source: &str, tokens: Vec<Token>) -> Tree<'_> {
    Parser::new(source, Lexer::new(source, source.len()), tokens).tree()
}

/// Offset after the `}` that closes the `{` at an offset.
fn body_end(bytes: &[u8], start: usize) -> Option<usize> {
    let (mut at, mut depth) = (start, 0u32);
    loop {
        let stop = at + memchr::memchr3(b'{', b'}', b'/', &bytes[at..])?;
        if let Some(quote) = memchr::memchr(b'"', &bytes[at..stop]) {
            at = string_end(bytes, at + quote)?;
            continue;
        }
        at = match (bytes[stop], bytes.get(stop + 1)) {
            (b'/', Some(b'/')) => line_end(bytes, stop),
            (b'/', Some(b'*')) => comment_end(bytes, stop)?,
            (b'{', _) => {
                depth += 1;
                stop + 1
            }
            (b'}', _) => {
                depth -= 1;
                if depth == 0 {
                    return Some(stop + 1);
                }
                stop + 1
            }
            _ => stop + 1,
        };
    }
}

struct Parser<'t> {
    source: &'t str,
    lexer: Lexer<'t>,
    /// The part that is wanted, unless it is the whole text.
    part: Option<Span>,
    /// Where the header of the function starts whose body may follow; only used for a part.
    header: Option<u32>,
    /// The tokens that the lexer has read so far.
    tokens: Vec<Token>,
    /// The index of the next token to read.
    at: usize,
    entries: Vec<Entry>,
    errors: Vec<Error>,
    /// The open functions and blocks, as indices of entries.
    open: Vec<u32>,
}

impl<'t> Parser<'t> {
    /// A parser of the given tokens, and then of those that the lexer still reads.
    fn new(source: &'t str, lexer: Lexer<'t>, tokens: Vec<Token>) -> Parser<'t> {
        Parser {
            source,
            lexer,
            part: None,
            header: None,
            at: 0,
            entries: Vec::with_capacity(tokens.capacity() / 8),
            tokens,
            errors: Vec::new(),
            open: Vec::new(),
        }
    }

    fn tree(mut self) -> Tree<'t> {
        self.statements();
        let Parser { source, mut tokens, mut entries, mut errors, .. } = self;
        tokens.shrink_to_fit();
        entries.shrink_to_fit();
        errors.sort_by_key(|error| error.span.start);
        Tree { source, tokens, entries, errors }
    }

    fn statements(&mut self) {
        while let Some(token) = self.peek() {
            self.statement(token);
        }
        while !self.open.is_empty() {
            self.close_unclosed();
        }
    }

    fn error(&mut self, kind: ErrorKind, span: Span) {
        self.errors.push(Error { kind, span });
    }

    fn word(&self, token: Token) -> &'t str {
        token.span().text(self.source)
    }

    /// The next token, without reading past it.
    fn peek(&mut self) -> Option<Token> {
        self.peek_behind(0)
    }

    /// The token behind the next `count` tokens, without reading past it.
    fn peek_behind(&mut self, count: usize) -> Option<Token> {
        if self.at + count >= self.tokens.len() {
            self.read();
        }
        self.tokens.get(self.at + count).copied()
    }

    fn byte_order_mark(&mut self) {
        self.lexer.pos = mark_len(self.source.as_bytes());
        if self.lexer.pos > 0 {
            self.error(ErrorKind::ByteOrderMark, Span::new(0, self.lexer.pos as u32));
        }
    }

    /// Reads some more tokens: few enough to stay in the processor's cache.
    #[inline(never)]
    fn read(&mut self) {
        let enough = self.tokens.len() + 4096;
        while self.tokens.len() < enough {
            let is_whole = self.part.is_none();
            if is_whole && self.lexer.usual_tokens(&mut self.tokens) {
                continue;
            }
            let Some(token) = self.lexer.token() else { break };
            let length = self.lexer.pos - token.start() as usize;
            // Most tokens are tokens of PTX, and need no further work.
            if token.is_usual() && length <= Token::MAX_LEN as usize && is_whole {
                self.tokens.push(token);
            } else {
                self.rare_token(token);
            }
        }
    }

    fn rare_token(&mut self, mut token: Token) {
        let bytes = self.source.as_bytes();
        let start = token.start();
        match token.kind() {
            TokenKind::UnclosedComment => {
                self.lexer.pos = bytes.len();
                self.error(ErrorKind::UnclosedComment, Span::new(start, start + 2));
            }
            TokenKind::UnclosedString => {
                self.error(ErrorKind::UnclosedString, Span::new(start, start + 1));
            }
            // A line for the C preprocessor: nothing on it is PTX, a quote included.
            TokenKind::Unknown if bytes[start as usize] == b'#' && token.on_new_line() => {
                self.lexer.pos = line_end(bytes, start as usize);
                let line = Span::new(start, self.lexer.pos as u32);
                token = Token::new(TokenKind::Unknown, self.source, line, true);
            }
            _ => {}
        }
        self.tokens.push(token);
        if (token.end() as usize) < self.lexer.pos {
            self.error(ErrorKind::LongToken, token.span());
        }
        while (token.end() as usize) < self.lexer.pos {
            let rest = Span::new(token.end(), self.lexer.pos as u32);
            token = Token::new(TokenKind::Unknown, self.source, rest, false);
            self.tokens.push(token);
        }
        if let Some(part) = self.part {
            self.pass_body(token, part);
        }
    }

    /// Skips the body of a function if `token` opens it and the function does not touch the part.
    fn pass_body(&mut self, token: Token, part: Span) {
        let start = token.start();
        match token.kind() {
            TokenKind::Dot => match self.word(token) {
                ".entry" | ".func" => self.header = Some(start),
                ".section" => self.header = None,
                _ => {}
            },
            TokenKind::Punct([b'{', 0]) => {
                let is_value = self.tokens.iter().nth_back(1).is_some_and(|it| it.is(b'='));
                if let Some(header) = self.header.take_if(|_| !is_value)
                    && let Some(end) = body_end(self.source.as_bytes(), start as usize)
                    && (header > part.end || (end as u32) < part.start)
                {
                    self.lexer.pos = end - 1;
                }
            }
            _ => {}
        }
    }

    /// Adds a statement that has the tokens from index `first` to before `self.at`.
    fn add(&mut self, kind: EntryKind, first: usize) {
        let after = self.entries.len() as u32 + 1;
        let parent = self.open.last().copied().unwrap_or(NONE);
        let entry = Entry { kind, first: first as u32, end: self.at as u32, after, parent };
        self.entries.push(entry);
    }

    fn statement(&mut self, token: Token) {
        let first = self.at;
        match token.kind() {
            TokenKind::Ident => {
                if self.is_label() {
                    self.at += 2;
                    self.add(EntryKind::Label, first);
                } else {
                    self.instruction(first);
                }
            }
            TokenKind::Dot => self.directive(token),
            TokenKind::Punct([b'{', 0]) => self.open_block(),
            TokenKind::Punct([b'}', 0]) => self.close(),
            TokenKind::Punct([b';', 0]) => {
                self.error(ErrorKind::Unexpected(Expected::MNEMONIC), token.span());
                self.at += 1;
                self.add(EntryKind::Empty, first);
            }
            TokenKind::Punct([b'@', 0])
                if dwarf_end(self.source.as_bytes(), token.span().start as usize).is_some() =>
            {
                self.dwarf();
            }
            TokenKind::Punct([b'@', 0]) => self.guarded(first),
            _ => self.junk(first),
        }
    }

    /// Whether the next word is a label: `:` follows, but not `::`.
    #[inline]
    fn is_label(&mut self) -> bool {
        self.peek_behind(1).is_some_and(|colon| {
            colon.is(b':')
                && !self
                    .peek_behind(2)
                    .is_some_and(|next| next.is(b':') && next.span().start == colon.span().end)
        })
    }

    fn open_block(&mut self) {
        self.at += 1;
        self.add(EntryKind::Block, self.at - 1);
        self.open.push(self.entries.len() as u32 - 1);
    }

    /// `}`
    fn close(&mut self) {
        let first = self.at;
        self.at += 1;
        if self.open.is_empty() {
            self.error(ErrorKind::StrayBrace, self.tokens[first].span());
            return self.add(EntryKind::Error, first);
        }
        self.close_block();
    }

    /// Closes the innermost block; if it is a function's body, closes the function, too.
    fn close_block(&mut self) {
        let (end, after) = (self.at as u32, self.entries.len() as u32);
        while let Some(index) = self.open.pop() {
            let entry = &mut self.entries[index as usize];
            (entry.end, entry.after) = (end, after);
            // A function ends with its body.
            let around = self.open.last().map(|&around| self.entries[around as usize].kind);
            if around != Some(EntryKind::Function) {
                break;
            }
        }
    }

    /// Closes the innermost block, which lacks its `}`.
    fn close_unclosed(&mut self) {
        let block = *self.open.last().expect("a block is open");
        let brace = self.entries[block as usize].first as usize;
        self.error(ErrorKind::UnclosedBrace, self.tokens[brace].span());
        self.close_block();
    }

    /// Debug information of PTX 1.x: `@@DWARF …`, with no `;`.
    fn dwarf(&mut self) {
        let first = self.at;
        self.at += 3;
        let mut dwarf = Bare::DWARF;
        while let Some(token) = self.peek()
            && dwarf.step(token.kind(), self.word(token)) == Step::Inside
        {
            self.at += 1;
        }
        self.add(EntryKind::Directive, first);
        if dwarf.is_open() {
            let end = self.tokens[self.at - 1].span().end;
            self.error(ErrorKind::Unexpected(Expected::NONE), Span::at(end));
        }
    }

    /// `@!p opcode …`
    fn guarded(&mut self, first: usize) {
        self.at += 1;
        self.at += usize::from(self.peek().is_some_and(|token| token.is(b'!')));
        match self.peek() {
            Some(token) if token.kind() == TokenKind::Ident => self.at += 1,
            other => return self.unexpected(first, other, Expected::PREDICATE),
        }
        match self.peek() {
            Some(token) if token.kind() == TokenKind::Ident => self.instruction(first),
            other => self.unexpected(first, other, Expected::MNEMONIC),
        }
    }

    /// Reports a token that no statement may have here, and skips the statement.
    fn unexpected(&mut self, first: usize, token: Option<Token>, expected: Expected) {
        let span = token.map_or(Span::at(self.source.len() as u32), Token::span);
        self.error(ErrorKind::Unexpected(expected), span);
        self.skip(first);
    }

    /// Tokens that start no statement.
    fn junk(&mut self, first: usize) {
        let token = self.tokens[first];
        if !matches!(token.kind(), TokenKind::UnclosedComment | TokenKind::UnclosedString) {
            self.error(ErrorKind::Unexpected(Expected::NONE), token.span());
        }
        self.at += 1;
        self.skip(first);
    }

    /// Ends an invalid statement: after its `;`, or before the next statement.
    fn skip(&mut self, first: usize) {
        while let Some(token) = self.peek() {
            match token.kind() {
                TokenKind::Punct([b';', 0]) => {
                    self.at += 1;
                    break;
                }
                TokenKind::Punct([b'{' | b'}', 0]) => break,
                TokenKind::Ident | TokenKind::Dot if token.on_new_line() => break,
                _ => self.at += 1,
            }
        }
        self.add(EntryKind::Error, first);
    }

    fn instruction(&mut self, first: usize) {
        let mnemonic = self.at;
        self.at += 1;
        while let Some(token) = self.peek()
            && token.is_modifier(self.source)
            && !self.starts_directive(token)
        {
            self.at += 1;
        }
        let operands = &self.tokens[self.at..];
        // Calls take less.
        if let Some(count) = plain_operands(self.source, operands)
            && self.word(self.tokens[mnemonic]) != "call"
            && operands.get(count).is_some_and(|it| it.is(b';'))
            && !operands[0].on_new_line()
        {
            self.at += count + 1;
            return self.add(EntryKind::Instruction, first);
        }
        self.operands();
        self.add(EntryKind::Instruction, first);
        let instruction = Instruction::new(self.source, &self.tokens[first..self.at]);
        for operand in instruction.operands() {
            if let OperandKind::Malformed(expected) = operand.kind() {
                let kind = ErrorKind::Unexpected(expected);
                self.errors.push(Error { kind, span: operand.stop() });
            }
        }
    }

    /// Whether the next token, a dotted word, starts a directive, rather than being a modifier.
    #[inline]
    fn starts_directive(&self, token: Token) -> bool {
        // Most modifiers adjoin the word that they modify.
        if self.tokens[self.at - 1].end() == token.start() {
            return false;
        }
        starts_directive(self.word(token))
    }

    /// Reads up to the `;` of an instruction, or up to the token that cuts the instruction off.
    fn operands(&mut self) {
        let start = self.at;
        let mut braces = 0usize;
        while let Some(token) = self.peek() {
            match token.kind() {
                TokenKind::Punct([b';', 0])
                | TokenKind::UnclosedComment
                | TokenKind::UnclosedString => {
                    self.at += 1;
                    return;
                }
                TokenKind::Punct([b'{', 0]) => braces += 1,
                TokenKind::Punct([b'}', 0]) if braces == 0 => break,
                TokenKind::Punct([b'}', 0]) => braces -= 1,
                _ => {}
            }
            let may_start = token.on_new_line() || token.kind() == TokenKind::Dot || token.is(b'{');
            if may_start && self.cuts_off(token, start) {
                break;
            }
            self.at += 1;
        }
        self.missing_semicolon();
    }

    fn missing_semicolon(&mut self) {
        let end = self.tokens[self.at - 1].span().end;
        self.error(ErrorKind::MissingSemicolon, Span::at(end));
    }

    /// Whether the token starts another statement: a directive, a block that starts with one, or a
    /// word or a guard that is the first of its line, if the token before it may end an instruction
    /// or a directive. No token inside of a legal statement does so, even if the statement has
    /// several lines.
    fn cuts_off(&mut self, token: Token, operands: usize) -> bool {
        let may_end = self.at == operands || self.tokens[self.at - 1].ends_operand();
        match token.kind() {
            TokenKind::Dot => DIRECTIVES.contains(&self.word(token)),
            // A block.
            TokenKind::Punct([b'{', 0]) => self.peek_behind(1).is_some_and(|next| {
                next.kind() == TokenKind::Dot && starts_directive(self.word(next))
            }),
            _ if !token.on_new_line() => false,
            TokenKind::Punct([b'@', 0]) => may_end,
            TokenKind::Ident if may_end => {
                self.at > operands || self.is_label() || self.is_opcode(token)
            }
            _ => false,
        }
    }

    /// Whether the next word has modifiers, rather than a selector before a comma.
    fn is_opcode(&mut self, word: Token) -> bool {
        let is_dotted = self.peek_behind(1).is_some_and(|next| {
            next.kind() == TokenKind::Dot && next.span().start == word.span().end
        });
        let is_operand = self.peek_behind(2).is_some_and(|next| next.is(b',') || next.is(b'|'));
        is_dotted && !is_operand && !self.word(word).starts_with('%')
    }

    /// A directive, a declaration, or a function.
    fn directive(&mut self, token: Token) {
        let first = self.at;
        self.at += 1;
        let mut directive = Directive::new(self.word(token));
        // A prototype may have names behind a type, and behind a `)`.
        let is_prototype = self.word(token) == ".callprototype";
        let is_unknown = DirectiveKind::of(self.word(token)) == DirectiveKind::Unknown;
        let (mut body, mut parens, mut misplaced) = (false, 0usize, 0);
        let is_whole = loop {
            let Some(next) = self.peek() else {
                let is_ended = match &directive {
                    Directive::Bare(_) => true,
                    Directive::Declaration(declaration) => declaration.may_end(),
                    _ => false,
                };
                if !is_ended {
                    self.missing_semicolon();
                }
                break is_ended;
            };
            if matches!(next.kind(), TokenKind::UnclosedComment | TokenKind::UnclosedString) {
                self.at += 1;
                break false;
            }
            match next.kind() {
                TokenKind::Punct([b'(', 0]) => parens += 1,
                TokenKind::Punct([b')', 0]) => parens = parens.saturating_sub(1),
                _ => {}
            }
            let is_cut = match directive {
                // No line of an unknown directive starts with an opcode.
                Directive::Statement { .. }
                    if is_unknown
                        && next.on_new_line()
                        && next.kind() == TokenKind::Ident
                        && self.is_opcode(next) =>
                {
                    true
                }
                Directive::Statement { braces: 0 } => {
                    (parens == 0 || next.kind() != TokenKind::Dot)
                        && self.cuts_off(next, if is_prototype { self.at } else { first + 1 })
                }
                _ => false,
            };
            if is_cut {
                self.missing_semicolon();
                break false;
            }
            match directive.step(next.kind(), self.word(next)) {
                Step::Inside => self.at += 1,
                Step::Last => {
                    self.at += 1;
                    break true;
                }
                Step::Body => {
                    body = true;
                    break true;
                }
                Step::After => {
                    let is_head = matches!(&directive, Directive::Bare(bare) if bare.is_head());
                    misplaced = if is_head { self.misplaced() } else { 0 };
                    break true;
                }
                Step::Cut => {
                    self.missing_semicolon();
                    break false;
                }
            }
        };
        // A statement that is cut off has an error already. The first misplaced token is an error.
        if is_whole {
            self.require_grammar(&directive, first, self.at + misplaced.min(1));
        }
        match directive {
            Directive::Declaration(declaration) if declaration.is_header() => {
                if body {
                    // Bodies do not nest, though a function may declare others.
                    let end = std::mem::replace(&mut self.at, first);
                    while !self.open.is_empty() {
                        self.close_unclosed();
                    }
                    self.at = end;
                }
                self.add(EntryKind::Function, first);
                if body {
                    self.open.push(self.entries.len() as u32 - 1);
                    self.open_block();
                }
            }
            Directive::Declaration(_) => {
                self.add(EntryKind::Declaration, first);
            }
            _ => {
                if body {
                    self.data();
                }
                self.add(EntryKind::Directive, first);
                if misplaced > 0 {
                    let rest = self.at;
                    self.at += misplaced;
                    self.add(EntryKind::Error, rest);
                }
            }
        }
    }

    /// How many of the next tokens cannot stand behind a directive of a module's head.
    fn misplaced(&mut self) -> usize {
        let source = self.source;
        misplaced(source, &mut (0..).map_while(|ahead| self.peek_behind(ahead))).len()
    }

    /// Reports where a directive is no PTX that has the tokens from `first` to before `end`.
    fn require_grammar(&mut self, directive: &Directive<'t>, first: usize, end: usize) {
        match directive {
            Directive::Declaration(declaration) if declaration.is_header() => {
                self.require(first, end, grammar::header);
                self.parameters(first);
            }
            Directive::Declaration(_) => self.names(first),
            _ => {
                let kind = DirectiveKind::of(self.word(self.tokens[first]));
                self.require(first, end, grammar::directive(kind));
                if kind == DirectiveKind::CallPrototype {
                    self.parameters(first);
                }
            }
        }
    }

    /// Reports the first token from `first` to before `end` that a grammar does not take there, or
    /// that one is missing at the end.
    fn require(&mut self, first: usize, end: usize, grammar: Grammar) {
        let Some((left, expected)) = misfit(self.source, &self.tokens[first..end], grammar) else {
            return;
        };
        let at = end - left;
        let before = at.checked_sub(1).map_or(Span::at(0), |before| self.tokens[before].span());
        let span = if left == 0 { Span::at(before.end) } else { self.tokens[at].span() };
        // A token that is cut has its own error.
        if before.len() != Token::MAX_LEN || before.end != span.start {
            self.error(ErrorKind::Unexpected(expected), span);
        }
    }

    /// Does so for each part between commas.
    fn require_each(&mut self, first: usize, end: usize, grammar: Grammar) {
        let (mut start, mut depth) = (first, 0usize);
        for at in first..end {
            match self.tokens[at].kind() {
                TokenKind::Punct([b'[' | b'{' | b'(', 0]) => depth += 1,
                TokenKind::Punct([b']' | b'}' | b')', 0]) => depth = depth.saturating_sub(1),
                TokenKind::Punct([b',', 0]) if depth == 0 => {
                    self.require(start, at, grammar);
                    start = at + 1;
                }
                _ => {}
            }
        }
        if first < end {
            self.require(start, end, grammar);
        }
    }

    fn parameters(&mut self, first: usize) {
        for group in groups(self.source, &self.tokens[first..self.at]) {
            self.require_each(first + group.start, first + group.end, grammar::parameter);
        }
    }

    /// Reports what is wrong in a declaration of names, and in their values.
    fn names(&mut self, first: usize) {
        let words = Declaration::new(self.source, &self.tokens[first..self.at]).words();
        let names = first + words.len();
        // Without the `;`.
        let end = self.at - 1;
        let is_local = !self.open.is_empty();
        self.require(first, names, if is_local { grammar::local_words } else { grammar::words });
        let errors = self.errors.len();
        self.require_each(names, end, grammar::name);
        // The error may have cut a value off.
        if self.errors.len() > errors {
            return;
        }
        let declaration = Declaration::new(self.source, &self.tokens[first..self.at]);
        for value in declaration.names().filter_map(|name| name.value()) {
            let tokens = value.tokens();
            let is_plain = tokens.first().is_some_and(|first| first.is(b'{'))
                && plain_operands(self.source, tokens).is_some_and(|it| it > 0);
            if !is_plain && let OperandKind::Malformed(expected) = value.kind() {
                let kind = ErrorKind::Unexpected(expected);
                self.errors.push(Error { kind, span: value.stop() });
            }
        }
    }

    /// `{ … }` of a section: data without `;`.
    fn data(&mut self) {
        let first = self.at + 1;
        let mut open: Vec<Span> = Vec::new();
        while let Some(token) = self.peek() {
            self.at += 1;
            match token.kind() {
                TokenKind::Punct([b'{', 0]) => open.push(token.span()),
                TokenKind::Punct([b'}', 0]) => {
                    open.pop();
                    if open.is_empty() {
                        return self.require(first, self.at - 1, grammar::data);
                    }
                }
                _ => {}
            }
        }
        for brace in open {
            self.error(ErrorKind::UnclosedBrace, brace);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::instruction::{Operands, Role};
    use super::*;
    use crate::testing::Numbers;

    /// Plain operands are legal operands, and end where the grammar ends them.
    #[test]
    fn plain_operands_are_operands() {
        let words = [
            "a",
            "%r1",
            "_",
            "7",
            "0f3F800000",
            "-",
            "+",
            "|",
            "{",
            "}",
            "[",
            "]",
            ",",
            ";",
            ".x",
            "1.5",
            "!",
            "(",
            ")",
            "WARP_SZ",
            "\n",
            ".loc",
            "b.x",
            "c:",
            "@",
        ];
        let mut numbers = Numbers(46);
        let (mut plain, mut ended) = (0, 0);
        for _ in 0..400_000 {
            let count = 1 + numbers.below(8);
            let text: Vec<&str> = (0..count).map(|_| numbers.pick(&words)).collect();
            let text = format!("x {}", text.join(" "));
            let mut parser = Parser::new(&text, Lexer::new(&text, 0), Vec::new());
            parser.read();
            parser.at = 1;
            let operands = &parser.tokens[1..];
            let Some(count) = plain_operands(&text, operands) else { continue };
            plain += 1;
            for operand in Operands::new(&text, &operands[..count], Role::Instruction) {
                assert!(!matches!(operand.kind(), OperandKind::Malformed(_)), "{text}");
            }
            if operands.get(count).is_some_and(|it| it.is(b';')) && !operands[0].on_new_line() {
                ended += 1;
                parser.operands();
                assert_eq!((parser.at, parser.errors), (count + 2, vec![]), "{text}");
            }
        }
        assert!(plain > 4_000 && ended > 2_000, "{plain} {ended}");
    }
    #[test]
    fn bodies_outside_of_a_part_are_empty_blocks() {
        let source = ".func f() { ret; }\n.func g() { add.u32 a, b, c; ret; }";
        let tree = parse(source, Span::at(source.len() as u32));
        assert_eq!(tree.errors(), []);
        let counts: Vec<usize> = tree.functions().map(|it| it.statements().count()).collect();
        assert_eq!(counts, [0, 2]);
    }
}
