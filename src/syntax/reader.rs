//! The module reader: statements, scopes and declarations of a whole text.
//!
//! The reader skips most of a module as bytes. It hands over statements with wanted opcodes as
//! tokens, together with their context.

use super::declaration::{DIRECTIVES, Declaration, range_count, starts_directive};
use super::directive::{Bare, Directive, Step, dwarf_end, misplaced};
use super::grammar::{Failure, RawInstruction, parse_instruction};
use super::lexer::{
    Lexer, Token, TokenKind, blank_end, comment_end, is_word_start, line_end, skip_trivia,
    starts_line, string_end, trivia_end, word_end,
};
use super::ordinary::{Ordinary, starts};
use super::scope::{Context, SymbolKind};
use crate::isa::{PtxVersion, TARGET_OPTIONS, Target};
use crate::source::{Span, mark_len};

/// Receives what the reader finds, in the order of the text.
pub trait Handler<'s> {
    /// The letter, in lower case, that every wanted opcode starts with. An opcode may also start
    /// with the same letter in upper case, or have two underscores before it. The reader may skip
    /// all other opcodes.
    const INITIAL: u8;

    /// Whether statements with this opcode are wanted. The reader asks for the opcode up to its
    /// first dot. If that part is not wanted but starts with the letter, the reader also asks for
    /// the opcode with the modifiers that adjoin it.
    fn wants(&self, opcode: &str) -> bool;

    /// A wanted statement.
    fn statement(&mut self, statement: WantedStatement<'_>, context: &Context<'s>);

    /// Something wrong with the module's structure.
    fn problem(&mut self, problem: Problem);
}

/// A wanted statement.
#[derive(Debug)]
pub struct WantedStatement<'t> {
    /// The tokens of the statement. The last one is `;`, unless it is missing.
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
    /// `{` without `}`. The error is found at the next function's header, or at the end of the
    /// text.
    UnclosedBrace {
        /// The header, or the end.
        found: Span,
    },
    /// `}` without `{`
    StrayBrace,
    /// A statement without `;` before another statement, a `}` or the end of the text.
    MissingSemicolon,
    /// A directive that does not exist, without `;`.
    UnknownDirective,
    /// Something that cannot stand behind `.version`, `.target` or `.address_size`.
    Unexpected,
    /// The header of a function without its name.
    MissingName,
    /// The text starts with a byte order mark; ptxas refuses it.
    ByteOrderMark,
    /// A line that starts with `#` and is no line marker.
    NoLineMarker,
    /// A `.version` that does not exist, as far as is known.
    UnknownVersion,
    /// A `.target` that does not exist, as far as is known.
    UnknownTarget,
    /// A `.target` that the `.version` does not have yet.
    NewerTarget {
        /// The lowest version that has the target.
        since: PtxVersion,
        /// The number of the `.version`.
        version: Span,
    },
}

/// Reads a text of at most [`crate::source::MAX_LEN`] bytes. Returns the context at its end.
pub fn read<'s>(source: &'s str, handler: &mut impl Handler<'s>) -> Context<'s> {
    read_in(source, Context::default(), handler)
}

/// Like [`read`], with some names already declared.
pub fn read_in<'s, H: Handler<'s>>(
    source: &'s str,
    context: Context<'s>,
    handler: &mut H,
) -> Context<'s> {
    let start = byte_order_mark(source, handler);
    let ordinary = Ordinary::new(source.as_bytes(), H::INITIAL, const { &starts(H::INITIAL) });
    Reader::new(source, start, context, Some(ordinary), handler).run()
}

/// Reads a text statement by statement and skips nothing. Tests compare [`read`] with this
/// function.
#[doc(hidden)]
pub fn read_plainly<'s>(source: &'s str, handler: &mut impl Handler<'s>) -> Context<'s> {
    let start = byte_order_mark(source, handler);
    Reader::new(source, start, Context::default(), None, handler).run()
}

/// Length of the byte order mark that the text starts with, if any. Reports the mark.
fn byte_order_mark<'s>(source: &'s str, handler: &mut impl Handler<'s>) -> usize {
    let length = mark_len(source.as_bytes());
    if length > 0 {
        let span = Span::new(0, length as u32);
        handler.problem(Problem { kind: ProblemKind::ByteOrderMark, span });
    }
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
    /// Skips statements that need no reading. [`read_plainly`] does without this field.
    ordinary: Option<Ordinary<'s>>,
    /// The tokens of the current statement, kept to reuse the allocation.
    tokens: Vec<Token>,
    /// Parameters of the current function header.
    parameters: Vec<(&'s str, SymbolKind<'s>, Span)>,
    /// How many bytes were read again because a statement ended before them.
    read_twice: usize,
    handler: &'h mut H,
}

/// The most bytes that are read again. In a hostile text, each statement may seem to end far behind
/// the start of the next one.
const MOST_READ_TWICE: usize = 1 << 24;

/// Bytes at which skipping over a statement must stop and look.
const STOPS: [bool; 256] = super::lexer::table(b";{}\"/#\n");

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
        let read_twice = 0;
        Reader { source, bytes, pos, context, ordinary, tokens, parameters, read_twice, handler }
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
                b'@' => match dwarf_end(self.bytes, self.pos) {
                    Some(end) => {
                        self.pos = end;
                        self.bare(Bare::DWARF, |_, _| {});
                    }
                    None => self.guarded(),
                },
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
        // Most opcodes continue with a dot, so there is no need to look for a colon.
        if self.bytes.get(end) != Some(&b'.') {
            let next = trivia_end(self.bytes, end);
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
        let mut at = trivia_end(self.bytes, start + 1);
        if self.bytes.get(at) == Some(&b'!') {
            at = trivia_end(self.bytes, at + 1);
        }
        if matches!(self.bytes.get(at), Some(b'%')) {
            at += 1;
        }
        at = trivia_end(self.bytes, self.word_end(at));
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
            self.skip_statement(None, opcode_end);
        }
    }

    /// Whether an opcode is wanted, alone or with its modifiers.
    fn wants(&self, opcode: usize, end: usize) -> bool {
        self.handler.wants(&self.source[opcode..end])
            || self.bytes.get(end) == Some(&b'.')
                && self.bytes[opcode].eq_ignore_ascii_case(&H::INITIAL)
                && self.handler.wants(&self.source[opcode..modifiers_end(self.bytes, end)])
    }

    /// Skips a statement whose start fits no kind of statement. A statement with a wanted opcode is
    /// handed over instead, and fails to parse.
    #[cold]
    fn malformed(&mut self, start: usize) {
        let mut lexer = Lexer::new(self.source, start);
        let mut last = None;
        while let Some(token) = lexer.token() {
            match (last, token.kind()) {
                (Some(word), TokenKind::Dot) if self.handler.wants(word) => {
                    return self.wanted(start);
                }
                (_, TokenKind::Punct([b';' | b'{' | b'}', 0])) => break,
                _ => {}
            }
            last = (token.kind() == TokenKind::Ident).then(|| token.span().text(self.source));
        }
        self.skip_statement(None, start);
    }

    fn wanted(&mut self, start: usize) {
        let mut tokens = std::mem::take(&mut self.tokens);
        tokens.clear();
        let end = self.statement_tokens(start, &mut tokens);
        self.pos = end;
        let parsed = parse_instruction(self.source, &tokens);
        let statement = WantedStatement { tokens: &tokens, parsed };
        self.context.settle();
        self.handler.statement(statement, &self.context);
        self.tokens = tokens;
    }

    /// Collects the tokens of the statement at `start`. Returns where reading continues: after
    /// the `;`, or where the next statement seems to start.
    fn statement_tokens(&mut self, start: usize, tokens: &mut Vec<Token>) -> usize {
        let mut lexer = Lexer::new(self.source, start);
        let mut braces = 0usize;
        // The words left before the operands: the guard's and the opcode.
        let mut words = 1 + usize::from(self.bytes[start] == b'@');
        let mut operands = false;
        loop {
            let before = lexer.pos;
            let Some(token) = lexer.token() else {
                return lexer.pos;
            };
            match token.kind() {
                TokenKind::UnclosedComment => {
                    // The caller reads the comment again as trivia, and reports it.
                    return before;
                }
                TokenKind::UnclosedString => {
                    let at = token.span().start as usize;
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
            if token.on_new_line()
                && words == 0
                && self.starts_statement(token, tokens.last(), operands)
            {
                return before;
            }
            match token.kind() {
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
        if self.starts_wanted(token.span().start as usize) {
            return true;
        }
        match token.kind() {
            _ if !last.ends_operand() || !operands => false,
            // This constant may follow a cast.
            TokenKind::Ident if token.span().text(self.source) == "WARP_SZ" => false,
            TokenKind::Ident | TokenKind::Punct([b'@' | b'{', 0]) => true,
            TokenKind::Dot => DIRECTIVES.contains(&token.span().text(self.source)),
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

    /// Skips to after the `;` of a statement, from an offset inside it. `directive` is the
    /// statement's first word if that has a dot.
    fn skip_statement(&mut self, directive: Option<&str>, from: usize) {
        let mut at = from;
        let mut braces = 0usize;
        loop {
            match self.next_stop(&mut at) {
                Some(b';') => {
                    self.pos = at + 1;
                    if braces > 0
                        && self.read_twice < MOST_READ_TWICE
                        && let Some(cut) = cut(self.source, from, at)
                    {
                        self.read_twice += at - cut;
                        self.cut_off(directive, from, cut);
                    }
                    return;
                }
                Some(b'{') => braces += 1,
                Some(b'}') if braces > 0 => braces -= 1,
                Some(b'\n') if !self.line_starts_wanted(at + 1) => {}
                stop => {
                    // A wanted statement, a `}` or the end of the text cuts the statement off.
                    self.pos = at;
                    if stop.is_some() || !at_unclosed(self.source, from) {
                        let last = last_token_end(self.source, from, at);
                        self.problem(ProblemKind::MissingSemicolon, last, last);
                    }
                    return;
                }
            }
            at += 1;
        }
    }

    /// Ends a statement before the next one.
    #[cold]
    fn cut_off(&mut self, directive: Option<&str>, from: usize, cut: usize) {
        self.pos = cut;
        // An unknown directive may be one that has no `;`.
        if let Some(unknown) = directive.filter(|it| !DIRECTIVES.contains(it)) {
            self.problem(ProblemKind::UnknownDirective, from - unknown.len(), from);
        } else {
            let last = last_token_end(self.source, from, cut);
            self.problem(ProblemKind::MissingSemicolon, last, last);
        }
    }

    /// Whether the line from here on starts with a wanted statement.
    fn line_starts_wanted(&self, at: usize) -> bool {
        let at = blank_end(self.bytes, at);
        self.bytes.get(at).is_some_and(|&byte| is_word_start(byte)) && self.starts_wanted(at)
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
        let first = &self.source[start..end];
        match Directive::new(first) {
            Directive::Bare(bare) => {
                match first {
                    ".version" => self.version(bare),
                    ".target" => self.target(bare),
                    _ => self.bare(bare, |_, _| {}),
                }
                if bare.is_head() {
                    self.behind_head();
                }
            }
            Directive::Section => self.section(),
            Directive::Declaration(declaration) => self.declaration(start, declaration),
            Directive::Statement { .. } => self.skip_statement(Some(first), end),
        }
    }

    /// Reports and skips what cannot stand behind a directive of a module's head.
    fn behind_head(&mut self) {
        let mut lexer = Lexer::new(self.source, self.pos);
        let misplaced = misplaced(self.source, &mut std::iter::from_fn(|| lexer.token()));
        if let [first, ..] = &misplaced[..] {
            self.pos = misplaced[misplaced.len() - 1].end() as usize;
            self.handler.problem(Problem { kind: ProblemKind::Unexpected, span: first.span() });
        }
    }

    /// Reads the tokens of a directive without `;`.
    fn bare(&mut self, mut bare: Bare, mut take: impl FnMut(&mut Self, Token)) {
        let mut lexer = Lexer::new(self.source, self.pos);
        while let Some(token) = lexer.token()
            && bare.step(token.kind(), token.span().text(self.source)) == Step::Inside
        {
            self.pos = lexer.pos;
            take(self, token);
        }
    }

    /// `.version 8.0`
    fn version(&mut self, bare: Bare) {
        self.context.is_module = true;
        self.bare(bare, |reader, number| {
            let version = number.span().text(reader.source).parse::<PtxVersion>().ok();
            reader.context.version = version.map(|version| (version, number.span()));
            if !version.is_some_and(PtxVersion::is_known) {
                let kind = ProblemKind::UnknownVersion;
                reader.handler.problem(Problem { kind, span: number.span() });
            }
        });
    }

    /// `.target sm_90a, texmode_independent`
    fn target(&mut self, bare: Bare) {
        self.context.is_module = true;
        self.bare(bare, |reader, token| {
            let (name, span) = (token.span().text(reader.source), token.span());
            let target = name.parse::<Target>();
            let is_option = name == "," || TARGET_OPTIONS.contains(&name);
            let since = target.as_ref().ok().and_then(|target| target.known_since());
            let kind = match (since, reader.context.version) {
                _ if is_option => None,
                (None, _) => Some(ProblemKind::UnknownTarget),
                (Some(since), Some((version, at))) if version < since && version.is_known() => {
                    Some(ProblemKind::NewerTarget { since, version: at })
                }
                _ => None,
            };
            if let Some(kind) = kind {
                reader.handler.problem(Problem { kind, span });
            }
            if let Ok(target) = target {
                reader.context.target = Some((target, span));
            }
        });
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
    fn declaration(&mut self, start: usize, mut declaration: Declaration<'s>) {
        let mut lexer = Lexer::new(self.source, self.pos);
        let mut function = None;
        self.parameters.clear();
        let mut header = Span::new(start as u32, self.pos as u32);
        loop {
            let before = lexer.pos;
            let Some(token) = lexer.token() else {
                if declaration.may_end() {
                    self.pos = lexer.pos;
                    return;
                }
                return self.undelimited(start, lexer.pos);
            };
            match token.kind() {
                TokenKind::UnclosedComment => {
                    self.pos = before;
                    return self.trivia();
                }
                TokenKind::UnclosedString => {
                    let at = token.span().start as usize;
                    self.pos = lexer.pos;
                    return self.problem(ProblemKind::UnclosedString, at, at + 1);
                }
                TokenKind::Ident
                    if token.on_new_line()
                        && declaration.braces == 0
                        && self.starts_wanted(token.span().start as usize) =>
                {
                    return self.undelimited(start, before);
                }
                _ => {}
            }
            let text = token.span().text(self.source);
            let names_function = declaration.names_function();
            let step = declaration.step(token.kind(), text);
            if matches!(step, Step::Body | Step::Last) && declaration.lacks_name() {
                self.handler.problem(Problem { kind: ProblemKind::MissingName, span: header });
            }
            match step {
                Step::Inside => {}
                Step::Last => {
                    self.pos = lexer.pos;
                    return;
                }
                Step::Body => {
                    self.leave_function(header, function);
                    self.context.open_function(token.span().start, start as u32, function);
                    for (name, kind, span) in self.parameters.drain(..) {
                        self.context.declare(name, kind, span);
                    }
                    self.pos = lexer.pos;
                    return;
                }
                Step::After => {
                    self.pos = before;
                    return;
                }
                Step::Cut => return self.undelimited(start, before),
            }
            match token.kind() {
                TokenKind::Dot if matches!(text, ".entry" | ".func") => header = token.span(),
                TokenKind::Ident if declaration.in_value() || declaration.brackets > 0 => {}
                TokenKind::Ident if names_function => {
                    function = Some(token.span());
                    self.context.declare(text, SymbolKind::Function, token.span());
                }
                TokenKind::Ident => self.declared_name(&declaration, &mut lexer, token.span()),
                TokenKind::Punct([b'{', 0]) if declaration.braces == 1 => {
                    if let Some(end) = self.block_end(token.span().start as usize) {
                        lexer.pos = end;
                        declaration.end_value();
                    }
                }
                _ => {}
            }
        }
    }

    /// Ends a declaration at an offset, and reports its missing `;`.
    #[cold]
    fn undelimited(&mut self, start: usize, end: usize) {
        self.pos = end;
        let last = last_token_end(self.source, start, end);
        self.problem(ProblemKind::MissingSemicolon, last, last);
    }

    /// Declares a name, or keeps it as a parameter for the body of the function.
    fn declared_name(&mut self, declaration: &Declaration<'s>, lexer: &mut Lexer<'s>, span: Span) {
        let name = span.text(self.source);
        let Some(kind) = declaration.kind() else { return };
        if declaration.is_header() {
            self.parameters.push((name, kind, span));
        } else if let Some(count) = range_count(self.source, lexer) {
            self.context.declare_range(name, count, kind, span);
        } else {
            self.context.declare(name, kind, span);
        }
    }

    /// Offset after the block that opens at `open`, if the block holds only plain data.
    fn block_end(&mut self, open: usize) -> Option<usize> {
        self.ordinary.as_mut()?.block(open + 1)
    }

    /// Reports and closes every block that is open where the body of a function starts: bodies do
    /// not nest, though a function may declare others.
    fn leave_function(&mut self, header: Span, name: Option<Span>) {
        let Some(open) = self.context.innermost() else { return };
        let kind = ProblemKind::UnclosedBrace { found: header };
        self.problem(kind, open as usize, open as usize + 1);
        while self.context.close() {}
        if let Some(name) = name {
            self.context.declare(name.text(self.source), SymbolKind::Function, name);
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

/// Where another statement starts in a statement that has a `;` inside of braces: before a
/// directive outside of braces, or before a `{` with a directive behind it.
#[cold]
fn cut(source: &str, from: usize, end: usize) -> Option<usize> {
    let mut lexer = Lexer::new(source, from);
    let (mut depth, mut before) = (0usize, None);
    loop {
        let token = lexer.token().filter(|it| (it.end() as usize) < end)?;
        match token.kind() {
            TokenKind::Dot if starts_directive(token.span().text(source)) => match before {
                Some(brace) => return Some(brace),
                None if depth == 0 => return Some(token.start() as usize),
                None => {}
            },
            TokenKind::Punct([b'{', 0]) => depth += 1,
            TokenKind::Punct([b'}', 0]) => depth = depth.saturating_sub(1),
            _ => {}
        }
        before = (depth == 1 && token.is(b'{')).then_some(token.start() as usize);
    }
}

/// Whether the text ends inside a comment or string after `from`. The comment or string is
/// already reported, and explains a missing `;`.
#[cold]
fn at_unclosed(source: &str, from: usize) -> bool {
    let mut lexer = Lexer::new(source, from);
    std::iter::from_fn(|| lexer.token())
        .any(|token| matches!(token.kind(), TokenKind::UnclosedComment | TokenKind::UnclosedString))
}

/// End of the last token that ends at or before `end`.
#[cold]
fn last_token_end(source: &str, from: usize, end: usize) -> usize {
    let mut lexer = Lexer::new(source, from);
    let mut last = from;
    while let Some(token) = lexer.token() {
        if token.span().end as usize > end {
            break;
        }
        last = token.span().end as usize;
    }
    last
}
