//! The module reader: statements, scopes and declarations of a whole text.
//!
//! The reader skips most of a module as bytes. It hands over statements with wanted opcodes as
//! tokens, together with their context.

use super::declaration::{DIRECTIVES, Declaration, range_count, starts_declaration};
use super::grammar::{Failure, RawInstruction, parse_instruction};
use super::lexer::{
    Lexer, Token, TokenKind, blank_end, comment_end, is_word_start, line_end, skip_trivia,
    starts_line, string_end, word_end,
};
use super::ordinary::{Ordinary, starts};
use super::scope::{Context, SymbolKind};
use crate::isa::{PtxVersion, Target};
use crate::source::Span;

/// Receives what the reader finds, in the order of the text.
pub trait Handler<'s> {
    /// The letter, in lower case, that every wanted opcode starts with. The opcode may have its
    /// upper case, or two underscores before it. The reader may skip all other opcodes.
    const INITIAL: u8;

    /// Whether statements with this opcode are wanted. The reader asks for the opcode up to its
    /// first dot. If that is not wanted but starts with the letter, the reader also asks for
    /// the opcode with the modifiers that adjoin it.
    fn wants(&self, opcode: &str) -> bool;

    /// A wanted statement.
    fn statement(&mut self, statement: Statement<'_>, context: &Context<'s>);

    /// Something wrong with the module's structure.
    fn problem(&mut self, problem: Problem);
}

/// A wanted statement.
#[derive(Debug)]
pub struct Statement<'t> {
    /// Its tokens; the last is `;`, unless that is missing.
    pub tokens: &'t [Token],
    /// The tokens as an instruction.
    pub parsed: Result<RawInstruction, Failure>,
}

/// Something wrong with a module's structure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The kind of problem.
    pub kind: ProblemKind,
    /// Where it is.
    pub span: Span,
}

/// The problems in a module's structure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProblemKind {
    /// `/*` without `*/`
    UnclosedComment,
    /// A quote without its partner.
    UnclosedString,
    /// `{` without `}`. It is found at the next function's header, or at the end of the text.
    UnclosedBrace {
        /// The header, or the end.
        found: Span,
    },
    /// `}` without `{`
    StrayBrace,
    /// A statement that a `}` or the end of the text cuts off.
    MissingSemicolon,
    /// The text starts with a byte order mark; ptxas refuses it.
    ByteOrderMark,
    /// A line that starts with `#` and is no line marker.
    NoLineMarker,
    /// A `.version` that does not exist, as far as is known.
    UnknownVersion,
    /// A `.target` that does not exist, as far as is known.
    UnknownTarget,
}

const BYTE_ORDER_MARK: char = '\u{feff}';

/// Reads a text of at most [`crate::source::MAX_LEN`] bytes.
pub fn read<'s>(source: &'s str, handler: &mut impl Handler<'s>) {
    read_in(source, Context::default(), handler);
}

/// Like [`read`], with some names already declared.
pub fn read_in<'s>(source: &'s str, context: Context<'s>, handler: &mut impl Handler<'s>) {
    let start = byte_order_mark(source, handler);
    read_part(source, start, context, handler);
}

/// Reads a text statement by statement and skips nothing. Tests compare [`read`] with it.
#[doc(hidden)]
pub fn read_plainly<'s>(source: &'s str, handler: &mut impl Handler<'s>) {
    let start = byte_order_mark(source, handler);
    Reader::new(source, start, Context::default(), None, handler).run();
}

/// Reads the rest of a text from an offset between statements. Returns the context at its end.
pub(crate) fn read_part<'s, H: Handler<'s>>(
    source: &'s str,
    start: usize,
    context: Context<'s>,
    handler: &mut H,
) -> Context<'s> {
    let ordinary = Ordinary::new(source.as_bytes(), H::INITIAL, const { &starts(H::INITIAL) });
    Reader::new(source, start, context, Some(ordinary), handler).run()
}

/// Length of the byte order mark that the text starts with, if any. Reports the mark.
fn byte_order_mark<'s>(source: &'s str, handler: &mut impl Handler<'s>) -> usize {
    if !source.starts_with(BYTE_ORDER_MARK) {
        return 0;
    }
    let length = BYTE_ORDER_MARK.len_utf8();
    let span = Span::new(0, length as u32);
    handler.problem(Problem { kind: ProblemKind::ByteOrderMark, span });
    length
}

/// All tokens of a text that holds a single statement.
pub fn statement_tokens(source: &str) -> Vec<Token> {
    let mut lexer = Lexer::new(source, 0);
    let mut tokens = Vec::new();
    while let Some(token) = lexer.token() {
        tokens.push(token);
    }
    tokens
}

struct Reader<'s, 'h, H> {
    source: &'s str,
    bytes: &'s [u8],
    pos: usize,
    context: Context<'s>,
    /// Skips statements that need no reading. [`read_plainly`] does without it.
    ordinary: Option<Ordinary<'s>>,
    /// The tokens of the current statement, kept to reuse the allocation.
    tokens: Vec<Token>,
    /// Parameters of the current function header.
    parameters: Vec<(&'s str, SymbolKind<'s>, Span)>,
    handler: &'h mut H,
}

/// Bytes at which skipping over a statement must stop and look.
const STOPS: [bool; 256] = {
    let mut stops = [false; 256];
    let mut at = 0;
    while at < 9 {
        stops[b";{}\"/,=#\n"[at] as usize] = true;
        at += 1;
    }
    stops
};

impl<'s, 'h, H: Handler<'s>> Reader<'s, 'h, H> {
    fn new(
        source: &'s str,
        pos: usize,
        context: Context<'s>,
        ordinary: Option<Ordinary<'s>>,
        handler: &'h mut H,
    ) -> Self {
        let bytes = source.as_bytes();
        let (tokens, parameters) = (Vec::new(), Vec::new());
        Reader { source, bytes, pos, context, ordinary, tokens, parameters, handler }
    }

    /// Reads to the end of the text.
    fn run(mut self) -> Context<'s> {
        loop {
            if let Some(ordinary) = &mut self.ordinary {
                self.pos = ordinary.skip(self.pos);
            }
            self.trivia();
            let Some(&byte) = self.bytes.get(self.pos) else {
                break;
            };
            match byte {
                b'{' => {
                    self.context.open(self.pos as u32);
                    self.pos += 1;
                }
                b'}' => {
                    if !self.context.close() {
                        self.problem(ProblemKind::StrayBrace, self.pos, self.pos + 1);
                    }
                    self.pos += 1;
                }
                b';' => self.pos += 1,
                b'#' if starts_line(self.bytes, self.pos) => {
                    let end = line_end(self.bytes, self.pos);
                    self.problem(ProblemKind::NoLineMarker, self.pos, end);
                    self.pos = end;
                }
                b'.' => self.directive(),
                b'@' if self.bytes[self.pos..].starts_with(b"@@DWARF") => {
                    // Debug information of PTX 1.x: `@@DWARF …` to the line's end.
                    self.pos = line_end(self.bytes, self.pos);
                }
                b'@' => self.guarded(),
                _ if is_word_start(byte) || byte == b'%' => self.label_or_instruction(),
                _ => self.malformed(self.pos),
            }
        }
        if let Some(open) = self.context.innermost() {
            let end = self.bytes.len();
            let found = Span::at(end as u32);
            let kind = ProblemKind::UnclosedBrace { found };
            self.problem(kind, open as usize, open as usize + 1);
        }
        self.context
    }

    fn problem(&mut self, kind: ProblemKind, start: usize, end: usize) {
        self.handler.problem(Problem { kind, span: Span::new(start as u32, end as u32) });
    }

    fn trivia(&mut self) {
        if let Some(start) = skip_trivia(self.bytes, &mut self.pos).unclosed {
            self.problem(ProblemKind::UnclosedComment, start, start + 2);
        }
    }

    fn word_end(&self, at: usize) -> usize {
        word_end(self.bytes, at)
    }

    fn label_or_instruction(&mut self) {
        let start = self.pos;
        let end = self.word_end(start + 1);
        let mut next = end;
        // Most opcodes continue with a dot, so there is no need to look for a colon.
        if self.bytes.get(end) != Some(&b'.') {
            let _ = skip_trivia(self.bytes, &mut next);
            if self.bytes.get(next) == Some(&b':') && self.bytes.get(next + 1) != Some(&b':') {
                let span = Span::new(start as u32, end as u32);
                self.context.declare(span.text(self.source), SymbolKind::Label, span);
                self.pos = next + 1;
                return;
            }
        }
        self.instruction(start, start, end);
    }

    fn guarded(&mut self) {
        let start = self.pos;
        let mut at = start + 1;
        let _ = skip_trivia(self.bytes, &mut at);
        if self.bytes.get(at) == Some(&b'!') {
            at += 1;
            let _ = skip_trivia(self.bytes, &mut at);
        }
        if matches!(self.bytes.get(at), Some(b'%')) {
            at += 1;
        }
        at = self.word_end(at);
        let _ = skip_trivia(self.bytes, &mut at);
        let end = self.word_end(at);
        self.instruction(start, at, end);
    }

    /// `opcode..opcode_end` may be empty, if junk follows a guard.
    fn instruction(&mut self, start: usize, opcode: usize, opcode_end: usize) {
        if self.wants(opcode, opcode_end) {
            self.wanted(start);
        } else if opcode == opcode_end || self.bytes[start] == b'%' {
            self.malformed(start);
        } else {
            self.skip_statement(opcode_end.max(start + 1));
        }
    }

    /// Whether an opcode is wanted, alone or with its modifiers.
    fn wants(&self, opcode: usize, end: usize) -> bool {
        self.handler.wants(&self.source[opcode..end])
            || self.bytes.get(end) == Some(&b'.')
                && self.bytes[opcode].eq_ignore_ascii_case(&H::INITIAL)
                && self.handler.wants(&self.source[opcode..modifiers_end(self.bytes, end)])
    }

    /// Skips a statement that starts like no other. If it contains a wanted opcode, hands it
    /// over instead; it then fails to parse.
    fn malformed(&mut self, start: usize) {
        let mut lexer = Lexer::new(self.source, start);
        let mut last = None;
        while let Some(token) = lexer.token() {
            match (last, token.kind) {
                (Some(word), TokenKind::Dot) if self.handler.wants(word) => {
                    return self.wanted(start);
                }
                (_, TokenKind::Punct([b';' | b'{' | b'}', 0])) => break,
                _ => {}
            }
            last = (token.kind == TokenKind::Ident).then(|| token.span.text(self.source));
        }
        self.skip_statement(start);
    }

    fn wanted(&mut self, start: usize) {
        let mut tokens = std::mem::take(&mut self.tokens);
        tokens.clear();
        let end = self.statement_tokens(start, &mut tokens);
        self.pos = end;
        let parsed = parse_instruction(self.source, &tokens);
        let statement = Statement { tokens: &tokens, parsed };
        self.context.settle();
        self.handler.statement(statement, &self.context);
        self.tokens = tokens;
    }

    /// Collects the tokens of the statement at `start`. Returns where reading continues: after
    /// the `;`, or where the next statement seems to start.
    fn statement_tokens(&mut self, start: usize, tokens: &mut Vec<Token>) -> usize {
        let mut lexer = Lexer::new(self.source, start);
        let mut braces = 0usize;
        // Words before the operands: the guard's and the opcode.
        let mut words = 1 + usize::from(self.bytes[start] == b'@');
        let mut operands = false;
        loop {
            let before = lexer.pos;
            let Some(token) = lexer.token() else {
                return lexer.pos;
            };
            match token.kind {
                TokenKind::UnclosedComment => {
                    // Read again as trivia, which reports it.
                    return before;
                }
                TokenKind::UnclosedString => {
                    let at = token.span.start as usize;
                    self.problem(ProblemKind::UnclosedString, at, at + 1);
                    return lexer.pos;
                }
                TokenKind::Punct([b';', 0]) => {
                    tokens.push(token);
                    return lexer.pos;
                }
                TokenKind::Punct([b'{', 0]) => braces += 1,
                TokenKind::Punct([b'}', 0]) if braces == 0 => return before,
                TokenKind::Punct([b'}', 0]) => braces -= 1,
                _ => {}
            }
            if token.on_new_line
                && words == 0
                && self.starts_statement(token, tokens.last(), operands)
            {
                return before;
            }
            match token.kind {
                TokenKind::Ident if words > 0 => words -= 1,
                TokenKind::Ident | TokenKind::Number => operands = true,
                _ => {}
            }
            tokens.push(token);
        }
    }

    /// Whether a token on a new line can only be the start of another
    /// statement, so that the `;` between them is missing.
    fn starts_statement(&self, token: Token, last: Option<&Token>, operands: bool) -> bool {
        let Some(last) = last else {
            return false;
        };
        if self.starts_wanted(token.span.start as usize) {
            return true;
        }
        match token.kind {
            _ if !last.ends_operand() || !operands => false,
            // It may follow a cast.
            TokenKind::Ident if token.span.text(self.source) == "WARP_SZ" => false,
            TokenKind::Ident | TokenKind::Punct([b'@' | b'{', 0]) => true,
            TokenKind::Dot => DIRECTIVES.contains(&token.span.text(self.source)),
            _ => false,
        }
    }

    /// Whether a wanted opcode with a modifier starts here, rather than a register of the same
    /// name with a selector.
    fn starts_wanted(&self, at: usize) -> bool {
        let end = self.word_end(at);
        let selector = matches!(self.bytes.get(end + 1), Some(b'b' | b'h'))
            && self.bytes.get(end + 2).is_some_and(u8::is_ascii_digit);
        // A name that starts with an underscore is more likely an operand.
        let opcode = !selector && self.bytes[at] != b'_';
        self.bytes.get(end) == Some(&b'.') && opcode && self.wants(at, end)
    }

    /// Skips to after the `;` of a statement, from an offset inside it.
    fn skip_statement(&mut self, from: usize) {
        let mut at = from;
        let mut braces = 0usize;
        loop {
            match self.next_stop(&mut at) {
                Some(b';') => {
                    self.pos = at + 1;
                    return;
                }
                Some(b'{') => braces += 1,
                Some(b'}') if braces > 0 => braces -= 1,
                Some(b'\n') if !self.line_starts_wanted(at + 1) => {}
                Some(b',' | b'=') => {}
                stop => {
                    // A wanted statement, a `}` or the end of the text cuts it off.
                    self.pos = at;
                    if stop.is_some() || !self.at_unclosed(from) {
                        let last = self.last_token_end(from, at);
                        self.problem(ProblemKind::MissingSemicolon, last, last);
                    }
                    return;
                }
            }
            at += 1;
        }
    }

    /// Whether the line from here on starts with a wanted statement.
    fn line_starts_wanted(&self, at: usize) -> bool {
        let at = blank_end(self.bytes, at);
        self.bytes.get(at).is_some_and(|&byte| is_word_start(byte)) && self.starts_wanted(at)
    }

    /// Whether the text ends inside a comment or string after `from`. That is already reported,
    /// and explains a missing `;`.
    fn at_unclosed(&self, from: usize) -> bool {
        let mut lexer = Lexer::new(self.source, from);
        std::iter::from_fn(|| lexer.token()).any(|token| {
            matches!(token.kind, TokenKind::UnclosedComment | TokenKind::UnclosedString)
        })
    }

    /// End of the last token that ends at or before `end`.
    fn last_token_end(&self, from: usize, end: usize) -> usize {
        let mut lexer = Lexer::new(self.source, from);
        let mut last = from;
        while let Some(token) = lexer.token() {
            if token.span.end as usize > end {
                break;
            }
            last = token.span.end as usize;
        }
        last
    }

    /// Moves to the next byte of [`STOPS`] outside comments and strings, and
    /// reports comments and strings that never end.
    fn next_stop(&mut self, at: &mut usize) -> Option<u8> {
        loop {
            let skipped = self.bytes.get(*at..)?.iter().position(|&byte| STOPS[byte as usize]);
            let Some(skipped) = skipped else {
                *at = self.bytes.len();
                return None;
            };
            *at += skipped;
            match self.bytes[*at] {
                b'/' => match self.bytes.get(*at + 1) {
                    Some(b'/') => *at = line_end(self.bytes, *at),
                    Some(b'*') => {
                        let Some(end) = comment_end(self.bytes, *at) else {
                            self.problem(ProblemKind::UnclosedComment, *at, *at + 2);
                            *at = self.bytes.len();
                            return None;
                        };
                        *at = end;
                    }
                    _ => *at += 1,
                },
                b'"' => {
                    let Some(end) = string_end(self.bytes, *at) else {
                        self.problem(ProblemKind::UnclosedString, *at, *at + 1);
                        *at = self.bytes.len();
                        return None;
                    };
                    *at = end;
                }
                b'#' if starts_line(self.bytes, *at) => *at = line_end(self.bytes, *at),
                b'#' => *at += 1,
                stop => return Some(stop),
            }
        }
    }

    fn directive(&mut self) {
        let start = self.pos;
        let end = self.word_end(start + 1);
        self.pos = end;
        match &self.source[start + 1..end] {
            "loc" => self.loc(),
            "file" => self.file(),
            "version" => {
                self.context.is_module = true;
                if let Some(token) = self.number() {
                    let version = token.span.text(self.source).parse::<PtxVersion>().ok();
                    self.context.version = version.map(|version| (version, token.span));
                    if !version.is_some_and(PtxVersion::is_known) {
                        let kind = ProblemKind::UnknownVersion;
                        self.handler.problem(Problem { kind, span: token.span });
                    }
                }
            }
            "target" => self.target(),
            "address_size" => {
                self.number();
            }
            "section" => self.section(),
            word if starts_declaration(word) => self.declaration(start),
            _ => self.skip_statement(end),
        }
    }

    /// Reads a number, if that is next.
    fn number(&mut self) -> Option<Token> {
        let mut lexer = Lexer::new(self.source, self.pos);
        let token = lexer.token().filter(|token| token.kind == TokenKind::Number)?;
        self.pos = lexer.pos;
        Some(token)
    }

    /// Skips this punctuation, if it is next, and returns whether it was.
    fn punct(&mut self, byte: u8) -> bool {
        let mut lexer = Lexer::new(self.source, self.pos);
        let found = lexer.token().is_some_and(|token| token.is(byte));
        if found {
            self.pos = lexer.pos;
        }
        found
    }

    /// Reads an identifier, if that is next.
    fn ident(&mut self) -> Option<&'s str> {
        let mut lexer = Lexer::new(self.source, self.pos);
        let token = lexer.token().filter(|token| token.kind == TokenKind::Ident)?;
        self.pos = lexer.pos;
        Some(token.span.text(self.source))
    }

    /// `.loc file line column`, with no `;`, and perhaps
    /// `, function_name label + offset, inlined_at file line column`.
    fn loc(&mut self) {
        while self.number().is_some() {}
        while self.punct(b',') {
            match self.ident() {
                Some("function_name") => {
                    self.ident();
                    if self.punct(b'+') {
                        self.number();
                    }
                }
                Some("inlined_at") => while self.number().is_some() {},
                _ => return,
            }
        }
    }

    /// `.file number "name"`, with no `;`, and perhaps `, time, size`.
    fn file(&mut self) {
        self.number();
        self.trivia();
        if self.bytes.get(self.pos) == Some(&b'"') {
            let end = string_end(self.bytes, self.pos);
            if end.is_none() {
                self.problem(ProblemKind::UnclosedString, self.pos, self.pos + 1);
            }
            self.pos = end.unwrap_or(self.bytes.len());
        }
        while self.punct(b',') {
            self.number();
        }
    }

    /// `.target sm_90a, texmode_independent`, with no `;`.
    fn target(&mut self) {
        self.context.is_module = true;
        while let Some(name) = self.ident() {
            let end = self.pos as u32;
            let span = Span::new(end - name.len() as u32, end);
            let target = name.parse::<Target>();
            // Other words are options.
            let is_target = name.starts_with("sm_") || name.starts_with("compute_");
            if is_target && !target.as_ref().is_ok_and(|target| target.is_known()) {
                let kind = ProblemKind::UnknownTarget;
                self.handler.problem(Problem { kind, span });
            }
            if let Ok(target) = target {
                self.context.target = Some((target, span));
            }
            if !self.punct(b',') {
                break;
            }
        }
    }

    /// `.section .debug_info { … }`: data lines without `;`.
    fn section(&mut self) {
        let mut at = self.pos;
        let mut open = None;
        let mut braces = 0usize;
        while let Some(stop) = self.next_stop(&mut at) {
            match stop {
                b'{' => {
                    if open.is_none()
                        && let Some(end) = self.block_end(at)
                    {
                        self.pos = end;
                        return;
                    }
                    open = open.or(Some(at));
                    braces += 1;
                }
                b'}' if braces <= 1 => {
                    // Without an open brace, the `}` closes something else.
                    self.pos = at + usize::from(braces == 1);
                    return;
                }
                b'}' => braces -= 1,
                b';' if braces == 0 => {
                    self.pos = at + 1;
                    return;
                }
                _ => {}
            }
            at += 1;
        }
        self.pos = at;
        if let Some(open) = open {
            let found = Span::at(at as u32);
            self.problem(ProblemKind::UnclosedBrace { found }, open, open + 1);
        }
    }

    /// Registers, variables and function headers: everything that declares
    /// names, up to its `;` or to the `{` of a function's body.
    fn declaration(&mut self, start: usize) {
        let mut lexer = Lexer::new(self.source, start);
        let mut declaration = Declaration::default();
        self.parameters.clear();
        loop {
            let before = lexer.pos;
            let Some(token) = lexer.token() else {
                return self.undelimited(start, lexer.pos);
            };
            let starts_statement = token.on_new_line
                && token.kind == TokenKind::Ident
                && self.starts_wanted(token.span.start as usize);
            if starts_statement {
                return self.undelimited(start, before);
            }
            let text = token.span.text(self.source);
            match token.kind {
                TokenKind::Dot if matches!(text, ".entry" | ".func") => {
                    declaration.start_header();
                    self.leave_function(token.span);
                }
                TokenKind::Dot => declaration.directive(text),
                TokenKind::Ident => self.declared_name(&mut declaration, &mut lexer, token.span),
                TokenKind::Punct([b'=', 0]) => {
                    let mut at = lexer.pos;
                    if !self.skip_initializer(&mut at) {
                        return;
                    }
                    lexer.pos = at;
                }
                TokenKind::Punct([b';', 0]) => {
                    self.pos = lexer.pos;
                    return;
                }
                TokenKind::Punct([b'{', 0]) if declaration.is_header => {
                    self.context.open_function(token.span.start, declaration.function);
                    for (name, kind, span) in self.parameters.drain(..) {
                        self.context.declare(name, kind, span);
                    }
                    self.pos = lexer.pos;
                    return;
                }
                TokenKind::Punct([b'{' | b'}', 0]) => return self.undelimited(start, before),
                TokenKind::Punct(punct) => declaration.punctuation(punct),
                TokenKind::UnclosedComment => {
                    self.pos = before;
                    return self.trivia();
                }
                TokenKind::UnclosedString => {
                    let at = token.span.start as usize;
                    self.pos = lexer.pos;
                    return self.problem(ProblemKind::UnclosedString, at, at + 1);
                }
                _ => {}
            }
        }
    }

    /// Ends a declaration at an offset, and reports its missing `;`.
    fn undelimited(&mut self, start: usize, end: usize) {
        self.pos = end;
        let last = self.last_token_end(start, end);
        self.problem(ProblemKind::MissingSemicolon, last, last);
    }

    /// Declares a name, or keeps it as a parameter for the body of the function.
    fn declared_name(
        &mut self,
        declaration: &mut Declaration<'s>,
        lexer: &mut Lexer<'s>,
        span: Span,
    ) {
        let name = span.text(self.source);
        if declaration.brackets > 0 {
            return;
        }
        if declaration.is_header && declaration.parens == 0 {
            declaration.function = Some(span);
            return self.context.declare(name, SymbolKind::Function, span);
        }
        let Some(kind) = declaration.kind() else { return };
        if declaration.is_header {
            self.parameters.push((name, kind, span));
        } else if let Some(count) = range_count(self.source, lexer) {
            self.context.declare_range(name, count, kind, span);
        } else {
            self.context.declare(name, kind, span);
        }
    }

    /// Offset after the block that starts here, if it has plain data only.
    fn block_end(&mut self, open: usize) -> Option<usize> {
        self.ordinary.as_mut()?.block(open + 1)
    }

    /// Closes everything open at a function header, and reports it: functions do not nest.
    fn leave_function(&mut self, header: Span) {
        if let Some(open) = self.context.innermost() {
            let kind = ProblemKind::UnclosedBrace { found: header };
            self.problem(kind, open as usize, open as usize + 1);
            while self.context.close() {}
        }
    }

    /// Skips an initialiser up to the `,` or `;` that ends it. Returns false if the declaration
    /// is over.
    fn skip_initializer(&mut self, at: &mut usize) -> bool {
        let start = *at;
        let mut braces = 0usize;
        loop {
            match self.next_stop(at) {
                Some(b',' | b';') if braces == 0 => return true,
                Some(b'{') => {
                    if braces == 0
                        && let Some(end) = self.block_end(*at)
                    {
                        *at = end;
                        continue;
                    }
                    braces += 1;
                }
                Some(b'}') if braces > 0 => braces -= 1,
                Some(b';' | b'}') | None => {
                    self.pos = *at;
                    let last = self.last_token_end(start, *at);
                    self.problem(ProblemKind::MissingSemicolon, last, last);
                    return false;
                }
                Some(_) => {}
            }
            *at += 1;
        }
    }
}

/// Offset after the modifiers that adjoin each other from `at` on.
fn modifiers_end(bytes: &[u8], mut at: usize) -> usize {
    while bytes.get(at) == Some(&b'.') {
        at = word_end(bytes, at + 1);
    }
    at
}
