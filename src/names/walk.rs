//! One pass over the tokens of a text.

use super::{FunctionSpans, Meaning, Names, Symbol, SymbolKind, Use, Word, WordKind};
use crate::hash::Map;
use crate::source::Span;
use crate::syntax::declaration::{DIRECTIVES, Declaration, range_count};
use crate::syntax::directive::{Bare, Directive, Step, dwarf_end};
use crate::syntax::lexer::{Lexer, comment_end, line_end, string_end};
use crate::syntax::{Context, Symbol as Declared, SymbolKind as DeclaredKind, Token, TokenKind};

/// The names of a whole text, without its words.
#[cfg(feature = "server")]
pub(crate) fn read(source: &str) -> Names {
    walked(source, whole(source), Wanted::Uses)
}

/// The symbols and blocks of a whole text.
#[cfg(feature = "server")]
pub(crate) fn read_outline(source: &str) -> Names {
    walked(source, whole(source), Wanted::Symbols)
}

/// The names of a text up to a part of it, without those inside of functions that do not touch
/// the part.
#[cfg(feature = "server")]
pub(crate) fn read_around(source: &str, part: Span) -> Names {
    walked(source, part, Wanted::Uses)
}

/// Like [`read`], with the words of a part. Names after the part, and inside of functions that
/// do not touch it, are left out.
pub(crate) fn read_words(source: &str, part: Span) -> Names {
    walked(source, part, Wanted::Words)
}

#[cfg(feature = "server")]
fn whole(source: &str) -> Span {
    Span::new(0, source.len() as u32)
}

/// The things that are kept: each includes those before.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Wanted {
    #[cfg(feature = "server")]
    Symbols,
    #[cfg(feature = "server")]
    Uses,
    Words,
}

fn walked(source: &str, part: Span, wanted: Wanted) -> Names {
    let mut names = Names::default();
    if wanted == Wanted::Words {
        // About as many as there are in a part of a text; growing takes longer.
        let bytes = part.len().min(1 << 20) as usize;
        names.uses.reserve(bytes / 12);
        names.words.reserve(bytes / 8);
    }
    let mut walker = Walker {
        source,
        lexer: Lexer::new(source, 0),
        context: Context::default(),
        part,
        wanted,
        numbers: Map::default(),
        seen: Map::default(),
        state: 0,
        meanings: Meanings::default(),
        open: vec![Scope::default()],
        data: Map::default(),
        names,
    };
    walker.run();
    walker.names.meanings = walker.meanings.0.len();
    walker.names
}

struct Walker<'s> {
    source: &'s str,
    lexer: Lexer<'s>,
    context: Context<'s>,
    part: Span,
    wanted: Wanted,
    /// The numbers of symbols, by the offsets of their declarations.
    numbers: Map<u32, u32>,
    /// The names that were looked up, with the state in which they were.
    seen: Map<&'s str, (u32, Option<Meaning>)>,
    /// Changes when names go out of sight.
    state: u32,
    meanings: Meanings,
    /// The text, and the open blocks.
    open: Vec<Scope<'s>>,
    /// The first label, variable or parameter of each name: debug data names those of
    /// functions.
    data: Map<&'s str, u32>,
    names: Names,
}

/// Numbers the symbols and registers that names mean.
#[derive(Default)]
struct Meanings(Map<(u32, Option<u64>), u32>);

impl Meanings {
    fn of(&mut self, symbol: u32, register: Option<u64>) -> Meaning {
        let next = self.0.len() as u32;
        Meaning { symbol, number: *self.0.entry((symbol, register)).or_insert(next) }
    }
}

/// A block that is read.
#[derive(Default)]
struct Scope<'s> {
    /// The offset of its `{`.
    start: u32,
    /// The function whose body it is.
    function: Option<u32>,
    labels: Vec<(&'s str, u32)>,
    /// The lowest number of the registers declared one by one, by the rest of their names.
    numbered: Map<&'s str, u64>,
    /// Uses that may name a label that follows.
    waiting: Map<&'s str, Vec<u32>>,
}

impl<'s> Walker<'s> {
    fn run(&mut self) {
        if self.source.starts_with('\u{feff}') {
            self.lexer.pos = '\u{feff}'.len_utf8();
        }
        while let Some(token) = self.lexer.token() {
            if self.open.len() == 1 && token.span().start > self.part.end {
                break;
            }
            self.statement(token);
        }
        while self.open.len() > 1 {
            self.names.is_doubtful = true;
            self.close(self.source.len() as u32);
        }
        for (name, uses) in std::mem::take(&mut self.open[0].waiting) {
            let own = self.data.get(name);
            for number in uses {
                let use_ = &mut self.names.uses[number as usize];
                // Only data of debuggers may use what other functions declare.
                self.names.is_doubtful |=
                    use_.meaning.is_none() && own.is_some() && !use_.span.is_in(&self.names.debug);
                if use_.meaning.is_none()
                    && let Some(&own) = own
                {
                    use_.meaning = Some(self.meanings.of(own, None));
                }
            }
        }
        // Results and parameters of a function are declared after its name.
        self.names.uses.sort_by_key(|it| it.span.start);
    }

    fn text(&self, token: Token) -> &'s str {
        token.span().text(self.source)
    }

    fn word(&mut self, kind: WordKind, span: Span) {
        if self.wanted == Wanted::Words
            && span.start <= self.part.end
            && self.part.start <= span.end
        {
            self.names.words.push(Word { kind, span });
        }
    }

    fn peek(&self) -> Option<Token> {
        self.lexer.clone().token()
    }

    /// Whether a `:` follows.
    fn is_label(&self) -> bool {
        // Mostly a modifier does.
        let next = self.source.as_bytes().get(self.lexer.pos);
        next != Some(&b'.') && self.peek().is_some_and(|next| next.is(b':'))
    }

    /// Reads a statement from its first token on.
    fn statement(&mut self, first: Token) {
        match first.kind() {
            TokenKind::Punct([b'{', 0]) => {
                self.names.is_doubtful |= self.open.len() == 1;
                return self.open(first.span().start, None);
            }
            TokenKind::Punct([b'}', 0]) => return self.close(first.span().end),
            TokenKind::Punct([b';', 0]) => return,
            TokenKind::Punct([b'@', 0]) => {
                if let Some(end) = dwarf_end(self.source.as_bytes(), first.span().start as usize) {
                    self.lexer.pos = end;
                    return self.debug(first, Bare::DWARF);
                }
                self.guarded(first);
            }
            TokenKind::Ident if self.is_label() => {
                self.names.is_doubtful |= self.open.len() == 1;
                self.lexer.token();
                return self.label(first);
            }
            TokenKind::Ident => {
                self.word(WordKind::Mnemonic, first.span());
                self.instruction(first);
            }
            TokenKind::Dot => {
                if self.directive(first) {
                    return;
                }
            }
            TokenKind::Punct([b'#', 0]) | TokenKind::Unknown => {
                self.names.is_doubtful = true;
                self.lexer.pos = line_end(self.source.as_bytes(), self.lexer.pos);
            }
            TokenKind::UnclosedComment | TokenKind::UnclosedString => {
                self.names.is_doubtful = true;
                self.lexer.pos = self.source.len();
            }
            TokenKind::Number | TokenKind::Str | TokenKind::Punct(_) => {}
        }
        let is_ended = matches!(self.source.as_bytes()[self.lexer.pos - 1], b';' | b'{' | b'}');
        if !is_ended && self.names.unended.is_none() {
            self.names.unended = Some(Span::at(self.lexer.pos as u32));
        }
    }

    /// `@!p opcode …`
    fn guarded(&mut self, at: Token) {
        while let Some(token) = self.peek() {
            match token.kind() {
                TokenKind::Punct([b'!', 0]) => {}
                TokenKind::Ident => break,
                _ => return,
            }
            self.lexer.token();
        }
        let Some(predicate) = self.lexer.token() else { return };
        self.use_of(predicate.span());
        if let Some(opcode) = self.peek().filter(|next| next.kind() == TokenKind::Ident) {
            self.lexer.token();
            self.word(WordKind::Mnemonic, opcode.span());
            self.instruction(opcode);
        } else {
            self.instruction(at);
        }
    }

    /// The modifiers and operands after an opcode.
    fn instruction(&mut self, opcode: Token) {
        let mut last = opcode;
        let mut braces = 0u32;
        let mut has_operands = false;
        let mut end = self.lexer.pos;
        while let Some(token) = self.lexer.token() {
            let is_end = match token.kind() {
                TokenKind::Punct([b';', 0]) => return,
                TokenKind::Punct([b',', 0]) => false,
                TokenKind::Punct([b'}', 0]) => braces == 0,
                TokenKind::UnclosedComment | TokenKind::UnclosedString => true,
                _ => self.is_next(token, last, has_operands),
            };
            if is_end {
                break;
            }
            // `.32x32b` is a number to the lexer.
            let is_dotted = self.source.as_bytes()[token.span().start as usize] == b'.';
            match token.kind() {
                TokenKind::Punct([b'{', 0]) => braces += 1,
                TokenKind::Punct([b'}', 0]) => braces -= 1,
                TokenKind::Ident => self.use_of(token.span()),
                _ if is_dotted && !has_operands => self.word(WordKind::Modifier, token.span()),
                TokenKind::Dot => self.word(WordKind::Selector, token.span()),
                TokenKind::Number => self.word(WordKind::Number, token.span()),
                TokenKind::Str => self.word(WordKind::String, token.span()),
                _ => {}
            }
            has_operands |= !is_dotted;
            last = token;
            end = self.lexer.pos;
        }
        // The next token belongs to another statement.
        self.lexer.pos = end;
    }

    /// Whether a token starts a statement, so that a `;` is missing. Where a line break decides,
    /// the names are doubtful.
    fn is_next(&mut self, token: Token, last: Token, has_operands: bool) -> bool {
        let may_end = has_operands && last.ends_operand();
        match token.kind() {
            TokenKind::Dot => {
                let text = self.text(token);
                let is_next =
                    DIRECTIVES.contains(&text) && (may_end || !ALSO_MODIFIERS.contains(&text));
                self.names.is_doubtful |= is_next;
                is_next
            }
            TokenKind::Ident if self.text(token) == "WARP_SZ" => false,
            TokenKind::Ident | TokenKind::Punct([b'@' | b'{', 0]) if may_end => {
                self.names.is_doubtful = true;
                token.on_new_line()
            }
            _ => false,
        }
    }

    /// Reads a directive. Returns whether it ends without `;`.
    fn directive(&mut self, first: Token) -> bool {
        self.word(WordKind::Directive, first.span());
        let text = self.text(first);
        match Directive::new(text) {
            Directive::Bare(bare) if matches!(text, ".loc" | ".file") => {
                self.debug(first, bare);
                true
            }
            Directive::Bare(bare) => {
                self.bare(bare);
                true
            }
            Directive::Section => {
                self.section();
                self.names.debug.push(Span::new(first.span().start, self.lexer.pos as u32));
                true
            }
            Directive::Declaration(declaration) => self.declaration(first, declaration),
            Directive::Statement { .. } => {
                if text == ".callprototype" {
                    self.prototype();
                } else {
                    self.instruction(first);
                }
                false
            }
        }
    }

    fn debug(&mut self, first: Token, bare: Bare) {
        self.bare(bare);
        self.names.debug.push(Span::new(first.span().start, self.lexer.pos as u32));
    }

    /// A directive without `;`. Words after words that name something are options of `.target`,
    /// or parts of `.loc`; those name labels.
    fn bare(&mut self, mut bare: Bare) {
        let mut ahead = self.lexer.clone();
        while let Some(token) = ahead.token()
            && bare.step(token.kind(), self.text(token)) == Step::Inside
        {
            match token.kind() {
                TokenKind::Number => self.word(WordKind::Number, token.span()),
                TokenKind::Str => self.word(WordKind::String, token.span()),
                TokenKind::Ident if bare.names_label() => self.use_of(token.span()),
                TokenKind::Ident | TokenKind::Dot => self.word(WordKind::Modifier, token.span()),
                _ => {}
            }
            self.lexer = ahead.clone();
        }
        self.names.is_doubtful |= bare.is_open();
    }

    /// `.section .debug_info { … }`: data, with labels.
    fn section(&mut self) {
        let (mut start, mut braces) = (None, 0u32);
        while let Some(token) = self.lexer.token() {
            match token.kind() {
                TokenKind::Dot if start.is_none() => self.word(WordKind::Modifier, token.span()),
                TokenKind::Dot => self.word(WordKind::Directive, token.span()),
                TokenKind::Punct([b'{', 0]) => {
                    start = start.or(Some(token.span().start));
                    braces += 1;
                }
                TokenKind::Punct([b';', 0]) if braces == 0 => return,
                TokenKind::Punct([b'}', 0]) if braces <= 1 => {
                    if let Some(start) = start {
                        self.names.blocks.push(Span::new(start, token.span().end));
                    } else {
                        // It closes something else.
                        self.lexer.pos = token.span().start as usize;
                    }
                    return;
                }
                TokenKind::Punct([b'}', 0]) => braces -= 1,
                TokenKind::Ident if self.peek().is_some_and(|next| next.is(b':')) => {
                    self.lexer.token();
                    self.label(token);
                }
                TokenKind::Ident => self.use_of(token.span()),
                TokenKind::Number => self.word(WordKind::Number, token.span()),
                TokenKind::UnclosedComment | TokenKind::UnclosedString => {
                    self.names.is_doubtful = true;
                    self.lexer.pos = self.source.len();
                }
                TokenKind::Punct([b',' | b'+' | b'-', 0]) => {}
                _ => self.names.is_doubtful = true,
            }
        }
        self.names.is_doubtful = true;
    }

    /// `.callprototype (.param .b32 _) _ (.param .b64 x);`: its names mean nothing.
    fn prototype(&mut self) {
        while let Some(token) = self.peek() {
            match token.kind() {
                TokenKind::Punct([b'{' | b'}', 0]) | TokenKind::UnclosedComment => return,
                TokenKind::Dot => self.word(WordKind::Modifier, token.span()),
                TokenKind::Number => self.word(WordKind::Number, token.span()),
                _ => {}
            }
            self.lexer.token();
            if token.is(b';') {
                return;
            }
        }
    }

    /// Registers, variables, and headers of functions. Returns whether it ends without `;`, as it
    /// may.
    fn declaration(&mut self, first: Token, mut declaration: Declaration<'s>) -> bool {
        let mut header = Header::default();
        let declared_before = self.names.symbols.len();
        let mut last = first;
        let (mut is_ended, mut is_odd) = (false, false);
        self.declaration_word(&declaration, &mut header, first);
        while let Some(token) = self.peek() {
            if matches!(token.kind(), TokenKind::UnclosedComment | TokenKind::UnclosedString) {
                break;
            }
            let text = self.text(token);
            // What stands in a declaration of registers: one type, and names.
            let is_usual = match token.kind() {
                TokenKind::Dot => declaration.ty.is_empty(),
                TokenKind::Ident | TokenKind::Punct([b',' | b';', 0]) => true,
                _ => false,
            };
            is_odd |= declaration.space == ".reg" && !declaration.is_header() && !is_usual;
            let names_function = declaration.names_function();
            let step = declaration.step(token.kind(), text);
            if step == Step::Body {
                header.body = Some(token.span().start);
                // Bodies do not nest: a `}` is missing.
                while self.open.len() > 1 {
                    self.names.is_doubtful = true;
                    self.close(header.start);
                    if let Some((_, name)) = header.function {
                        self.bind(name.text(self.source), DeclaredKind::Function, name);
                    }
                }
            }
            is_ended = matches!(step, Step::Last | Step::After);
            if !matches!(step, Step::Inside | Step::Last) {
                break;
            }
            match token.kind() {
                TokenKind::Dot => self.declaration_word(&declaration, &mut header, token),
                TokenKind::Ident if declaration.in_value() || declaration.brackets > 0 => {
                    // `generic(x)` is the address of `x`.
                    let mut next = self.lexer.clone();
                    next.token();
                    if next.token().is_none_or(|next| !next.is(b'(')) {
                        self.use_of(token.span());
                    }
                }
                TokenKind::Ident => {
                    self.lexer.token();
                    if names_function {
                        header.function = Some((self.function(token.span()), token.span()));
                        last = token;
                    } else {
                        last = self.declared(&declaration, &mut header, token);
                    }
                    continue;
                }
                TokenKind::Number => self.word(WordKind::Number, token.span()),
                TokenKind::Str => self.word(WordKind::String, token.span()),
                _ => {}
            }
            last = token;
            self.lexer.token();
            if is_ended {
                break;
            }
        }
        is_ended |= declaration.may_end() && self.peek().is_none();
        let whole = Span::new(first.span().start, last.span().end);
        self.names.is_doubtful |= is_odd;
        for symbol in &mut self.names.symbols[declared_before..] {
            symbol.declaration = whole;
            if is_odd {
                // The normal form leaves out declarations of registers with a type.
                symbol.ty = Span::at(symbol.name.end);
            }
        }
        if declaration.is_header() {
            self.end_header(&header, whole);
        }
        is_ended
    }

    /// A word with a dot in a declaration.
    fn declaration_word(
        &mut self,
        declaration: &Declaration<'s>,
        header: &mut Header<'s>,
        token: Token,
    ) {
        let text = self.text(token);
        if matches!(text, ".entry" | ".func") {
            header.start = token.span().start;
        }
        if matches!(text, ".param" | ".reg") {
            header.parameter = token.span().start;
        }
        if declaration.ty == text {
            header.ty = Some(token.span());
        }
        let starts = token.on_new_line() || DIRECTIVES.contains(&text);
        self.word(if starts { WordKind::Directive } else { WordKind::Modifier }, token.span());
    }

    /// Declares a name; returns the last token that was read.
    fn declared(
        &mut self,
        declaration: &Declaration<'s>,
        header: &mut Header<'s>,
        token: Token,
    ) -> Token {
        let name = token.span();
        let Some(kind) = declaration.kind() else { return token };
        if declaration.is_header() {
            let declaration = Span::new(header.parameter, name.end);
            header.parameters.push((name, kind, declaration));
            return token;
        }
        let mut ahead = self.lexer.clone();
        let count = range_count(self.source, &mut ahead);
        let text = name.text(self.source);
        let is_double = match count {
            Some(count) => self.is_double(&format!("{text}0")) || self.is_numbered(text, count),
            None => self.is_double(text),
        };
        if let Some(count) = count {
            self.context.declare_range(text, count, kind, name);
            self.state += 1;
        } else {
            self.bind(text, kind, name);
            self.number(text);
        }
        let own = match kind {
            DeclaredKind::Register(_) | DeclaredKind::Vector => SymbolKind::Register,
            _ => SymbolKind::Variable,
        };
        let number = self.declare(own, name, count, is_double);
        if own == SymbolKind::Variable {
            self.data.entry(text).or_insert(number);
        }
        if let (DeclaredKind::Register(_), Some(ty)) = (kind, header.ty) {
            self.names.symbols[number as usize].ty = ty;
        }
        let end = ahead.pos as u32;
        while count.is_some() && self.lexer.pos < ahead.pos {
            let Some(token) = self.lexer.token() else { break };
            if token.kind() == TokenKind::Number {
                self.word(WordKind::Number, token.span());
            }
        }
        let span = if count.is_some() { Span::new(name.start, end) } else { name };
        Token::new(token.kind(), self.source, span, token.on_new_line())
    }

    /// The symbol of a function, which may have been declared before.
    fn function(&mut self, name: Span) -> u32 {
        let text = name.text(self.source);
        let known = self.resolve(text);
        let known = known.filter(|it| self.names.symbol(*it).kind == SymbolKind::Function);
        self.bind(text, DeclaredKind::Function, name);
        match known {
            Some(number) => {
                self.numbers.insert(name.start, number);
                let meaning = Some(self.meanings.of(number, None));
                self.names.uses.push(Use { span: name, meaning, declares: true });
                number
            }
            None => self.declare(SymbolKind::Function, name, None, false),
        }
    }

    /// Enters the body of a function, or passes it.
    fn end_header(&mut self, header: &Header<'s>, whole: Span) {
        if let Some((number, name)) = header.function {
            let symbol = &mut self.names.symbols[number as usize];
            if header.body.is_some() {
                (symbol.name, symbol.declaration) = (name, whole);
            } else if symbol.name == name {
                symbol.declaration = whole;
            }
        }
        let function = header.function.map(|(number, _)| number);
        if header.body.is_none() && self.open.len() > 1 {
            return;
        }
        self.names.functions.push(FunctionSpans { header: whole, body: Span::at(whole.end) });
        let Some(start) = header.body else {
            // Nothing uses the parameters of a mere declaration.
            self.open(whole.end, None);
            self.parameters(header);
            self.close(whole.end);
            return;
        };
        let is_far = |end: usize| whole.start > self.part.end || (end as u32) < self.part.start;
        if let Some(end) = body_end(self.source.as_bytes(), start as usize)
            && is_far(end)
        {
            self.lexer.pos = end;
            self.end_block(Span::new(start, end as u32), function);
            return;
        }
        self.lexer.token();
        self.open(start, function);
        self.parameters(header);
    }

    /// Declares the parameters of a function in its block.
    fn parameters(&mut self, header: &Header<'s>) {
        for &(name, kind, declaration) in &header.parameters {
            let is_double = self.is_double(name.text(self.source));
            self.bind(name.text(self.source), kind, name);
            let number = self.declare(SymbolKind::Parameter, name, None, is_double);
            self.names.symbols[number as usize].declaration = declaration;
            self.data.entry(name.text(self.source)).or_insert(number);
        }
    }

    fn open(&mut self, start: u32, function: Option<u32>) {
        self.context.open(start);
        self.open.push(Scope { start, function, ..Scope::default() });
    }

    /// Leaves the innermost block; a stray `}` leaves nothing.
    fn close(&mut self, end: u32) {
        if self.open.len() == 1 {
            self.names.is_doubtful = true;
            return;
        }
        let Some(mut scope) = self.open.pop() else { return };
        for (name, label) in &scope.labels {
            for number in scope.waiting.remove(name).into_iter().flatten() {
                let meaning = self.meanings.of(*label, None);
                self.names.uses[number as usize].meaning = Some(meaning);
            }
        }
        let outer = &mut self.open.last_mut().expect("the text itself").waiting;
        // The smaller part moves.
        if outer.len() < scope.waiting.len() {
            std::mem::swap(outer, &mut scope.waiting);
        }
        for (name, mut uses) in scope.waiting {
            let here = outer.entry(name).or_default();
            if here.len() < uses.len() {
                std::mem::swap(here, &mut uses);
            }
            here.append(&mut uses);
        }
        self.context.close();
        self.state += 1;
        self.end_block(Span::new(scope.start, end), scope.function);
    }

    fn end_block(&mut self, block: Span, function: Option<u32>) {
        if block.is_empty() {
            return;
        }
        self.names.blocks.push(block);
        if let Some(number) = function {
            self.names.symbols[number as usize].body = block;
            let last = self.names.functions.last_mut().expect("functions do not nest");
            last.body = block;
        }
    }

    fn label(&mut self, token: Token) {
        let (span, name) = (token.span(), self.text(token));
        let is_double = self.is_double(name);
        self.bind(name, DeclaredKind::Label, span);
        let number = self.declare(SymbolKind::Label, span, None, is_double);
        self.data.entry(name).or_insert(number);
        self.open.last_mut().expect("the text itself").labels.push((name, number));
    }

    /// Keeps the number at the end of a declared name.
    fn number(&mut self, name: &'s str) {
        let base = name.trim_end_matches(|c: char| c.is_ascii_digit());
        if let Ok(number) = name[base.len()..].parse::<u64>() {
            let scope = self.open.last_mut().expect("the text itself");
            let lowest = scope.numbered.entry(base).or_insert(number);
            *lowest = number.min(*lowest);
        }
    }

    /// Whether the innermost block declares one register of a range by itself.
    fn is_numbered(&self, base: &str, count: u64) -> bool {
        let scope = self.open.last().expect("the text itself");
        scope.numbered.get(base).is_some_and(|lowest| *lowest < count)
    }

    /// Whether the innermost block declares a name.
    fn is_double(&mut self, name: &str) -> bool {
        self.context.settle();
        let found = self.context.resolve_at(name);
        found.is_some_and(|(_, depth)| depth as usize == self.context.depth())
    }

    fn declare(
        &mut self,
        kind: SymbolKind,
        name: Span,
        count: Option<u64>,
        is_double: bool,
    ) -> u32 {
        let number = self.names.symbols.len() as u32;
        self.numbers.insert(name.start, number);
        self.names.is_doubtful |= is_double;
        self.names.symbols.push(Symbol {
            kind,
            name,
            declaration: name,
            body: Span::at(name.end),
            ty: Span::at(name.end),
            count,
            is_global: self.open.len() == 1,
            is_double,
        });
        let meaning = Some(self.meanings.of(number, None));
        self.names.uses.push(Use { span: name, meaning, declares: true });
        number
    }

    /// Declares a name that stands for one thing.
    fn bind(&mut self, name: &'s str, kind: DeclaredKind<'s>, span: Span) {
        self.context.declare(name, kind, span);
        self.seen.remove(name);
    }

    /// The meaning of a name here; `None` if none is declared yet.
    fn meaning(&mut self, name: &'s str) -> Option<Meaning> {
        if let Some(&(state, meaning)) = self.seen.get(name)
            && state == self.state
        {
            return meaning;
        }
        let meaning = self.resolve(name).map(|number| {
            let register = self.names.symbol(number).register(name);
            self.meanings.of(number, register)
        });
        self.seen.insert(name, (self.state, meaning));
        meaning
    }

    fn resolve(&mut self, name: &str) -> Option<u32> {
        self.context.settle();
        let Declared { span, .. } = self.context.resolve(name)?;
        self.numbers.get(&span.start).copied()
    }

    fn use_of(&mut self, span: Span) {
        #[cfg(feature = "server")]
        if self.wanted == Wanted::Symbols {
            return;
        }
        let name = span.text(self.source);
        match name {
            "_" => return,
            "WARP_SZ" => return self.word(WordKind::Number, span),
            _ => {}
        }
        let meaning = self.meaning(name);
        let kind = meaning.map(|it| self.names.symbol(it.symbol).kind);
        if matches!(kind, None | Some(SymbolKind::Label)) {
            let waiting = &mut self.open.last_mut().expect("the text itself").waiting;
            waiting.entry(name).or_default().push(self.names.uses.len() as u32);
        }
        self.names.uses.push(Use { span, meaning, declares: false });
    }
}

/// Directives that are also modifiers of opcodes.
const ALSO_MODIFIERS: &[&str] = &[".const", ".global", ".local", ".param", ".shared", ".weak"];

/// The header of a function, as far as it has been read.
#[derive(Default)]
struct Header<'s> {
    /// The number of its symbol, and its name here.
    function: Option<(u32, Span)>,
    /// The `.entry` or `.func`.
    start: u32,
    /// Where the last parameter starts.
    parameter: u32,
    /// The last type.
    ty: Option<Span>,
    /// Name, kind and declaration of each parameter.
    parameters: Vec<(Span, DeclaredKind<'s>, Span)>,
    /// The `{` of the body.
    body: Option<u32>,
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
