//! The statements of a module, each as a shape with holes for names.

use std::ops::Range;

use super::DiffOptions;
use crate::analysis::read_module;
use crate::check::{CheckOptions, problem_diagnostic};
use crate::diagnostic::Diagnostic;
use crate::hash::Map;
use crate::module::VideoStatement;
use crate::names::{FunctionSpans, Meaning, Names, Symbol, SymbolKind, Use, read_words};
use crate::print::{FloatType, FormatOptions, format, number};
use crate::source::Span;
use crate::syntax::directive::{Directive, Step};
use crate::syntax::lexer::Lexer;
use crate::syntax::{Problem, ProblemKind, Token, TokenKind, statement_tokens};
use crate::video::{Instruction, Register, is_one_register, numbered};

/// Numbers for the shapes of statements. Both sides of a comparison share them.
#[derive(Default)]
pub(super) struct Shapes(Map<Box<str>, u32>);

impl Shapes {
    fn number(&mut self, text: &str) -> u32 {
        if let Some(number) = self.0.get(text) {
            return *number;
        }
        let number = self.0.len() as u32;
        self.0.insert(text.into(), number);
        number
    }
}

/// The statements of a text. White space, comments, data of debuggers, labels that nothing
/// uses, declarations of registers, declarations of functions before their bodies, and the
/// braces of blocks are left out.
pub(super) struct Outline<'s> {
    pub(super) source: &'s str,
    /// Directives, variables and mere declarations of functions.
    pub(super) items: Vec<Statement>,
    pub(super) functions: Vec<Function>,
    /// The statements of all functions; the first of each is its header.
    statements: Vec<Statement>,
    /// The names in the holes of all statements.
    holes: Vec<NameId>,
    pub(super) names: Vec<Name>,
    pub(super) uses: Vec<Use>,
    /// The legal video instructions, in order.
    pub(super) video: Vec<VideoStatement>,
}

/// A number among the names of a text.
pub(super) type NameId = u32;

/// A name: a symbol, or a register of a range.
pub(super) struct Name {
    pub(super) class: Class,
    pub(super) is_global: bool,
    /// Whether others know it by its name, and the name means something.
    pub(super) is_exported: bool,
    /// Its first place.
    pub(super) span: Span,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// A register of so many bits; a predicate has one. Their types are no difference:
    /// compilers disagree on `.f32` and `.b32`.
    Register(u8),
    /// A register of any other type.
    Vector,
    Label,
    Parameter,
    Variable,
    Function,
}

pub(super) struct Function {
    pub(super) name: NameId,
    /// From its header to its last `}`.
    pub(super) span: Span,
    statements: Range<u32>,
}

pub(super) struct Statement {
    pub(super) span: Span,
    pub(super) shape: u32,
    /// The shape without types that say no more than a width.
    pub(super) rough_shape: u32,
    holes: Range<u32>,
    /// The number of blocks around it inside of its function.
    pub(super) depth: u8,
}

impl<'s> Outline<'s> {
    /// Reads a text; otherwise returns its syntax errors.
    pub(super) fn read(
        source: &'s str,
        shapes: &mut Shapes,
        options: DiffOptions,
    ) -> Result<Outline<'s>, Vec<Diagnostic>> {
        // A text that cannot be formatted is no PTX.
        if let Err(error) = format(source, &FormatOptions::default()) {
            return Err(error.into_diagnostics());
        }
        let (module, _) = read_module(source, &CheckOptions::errors_only());
        let mut names = read_words(source, Span::new(0, source.len() as u32));
        if let Some(span) = names.unended {
            let problem = Problem { kind: ProblemKind::MissingSemicolon, span };
            return Err(vec![problem_diagnostic(source, problem)]);
        }
        let mut video = module.into_statements();
        video.retain(|it| it.instruction.is_some());
        // Labels that only data of debuggers uses count as unused.
        let (uses, debug) = (std::mem::take(&mut names.uses), std::mem::take(&mut names.debug));
        let mut is_used = vec![false; names.symbols.len()];
        for use_ in uses.iter().filter(|it| !it.declares && !it.span.is_in(&debug)) {
            if let Some(symbol) = use_.symbol() {
                is_used[symbol as usize] = true;
            }
        }
        let outline = Outline {
            source,
            items: Vec::new(),
            functions: Vec::new(),
            statements: Vec::new(),
            holes: Vec::new(),
            names: Vec::new(),
            uses: Vec::new(),
            video: Vec::new(),
        };
        let mut reader = Reader {
            outline,
            shapes,
            lexer: Lexer::new(source, 0),
            symbols: &names,
            uses: &uses,
            next_use: 0,
            video: &video,
            next_video: 0,
            is_used,
            locals: Map::default(),
            globals: Map::default(),
            depth: 0,
            first_hole: 0,
            shape: String::new(),
            plain_type: None,
            ignores_types: options.ignore_types,
        };
        reader.run(&debug);
        let outline = reader.outline;
        Ok(Outline { uses, video, ..outline })
    }

    pub(super) fn statements(&self, function: &Function) -> &[Statement] {
        &self.statements[function.statements.start as usize..function.statements.end as usize]
    }

    /// The names in the holes of a statement.
    pub(super) fn holes(&self, statement: &Statement) -> &[NameId] {
        &self.holes[statement.holes.start as usize..statement.holes.end as usize]
    }

    pub(super) fn name(&self, name: NameId) -> &Name {
        &self.names[name as usize]
    }

    /// The text of a name.
    pub(super) fn name_text(&self, name: NameId) -> &'s str {
        self.name(name).span.text(self.source)
    }

    /// The names of a statement by base and number. Lists of labels have as many as they like.
    pub(super) fn spellings(&self, statement: &Statement) -> Map<(&'s str, &'s str), NameId> {
        let mut names = Map::default();
        for name in self.holes(statement) {
            names.entry(numbered(self.name_text(*name))).or_insert(*name);
        }
        names
    }

    /// The name with a spelling in a statement that has few names.
    pub(super) fn named(&self, statement: &Statement, text: &str) -> Option<NameId> {
        let mut holes = self.holes(statement).iter();
        holes.find(|name| is_one_register(self.name_text(**name), text)).copied()
    }

    /// The uses of names within a span.
    pub(super) fn uses_in(&self, span: Span) -> &[Use] {
        within(&self.uses, span)
    }

    /// The video instruction that is a statement.
    pub(super) fn instruction(&self, statement: &Statement) -> Option<&Instruction> {
        let at = self.video.binary_search_by_key(&statement.span.start, |it| it.span.start);
        self.video[at.ok()?].instruction.as_ref()
    }
}

fn within(uses: &[Use], span: Span) -> &[Use] {
    let start = uses.partition_point(|it| it.span.start < span.start);
    let count = uses[start..].iter().take_while(|it| it.span.end <= span.end).count();
    &uses[start..start + count]
}

struct Reader<'r, 's> {
    outline: Outline<'s>,
    shapes: &'r mut Shapes,
    lexer: Lexer<'s>,
    symbols: &'r Names,
    uses: &'r [Use],
    next_use: usize,
    video: &'r [VideoStatement],
    next_video: usize,
    /// Whether something uses a symbol.
    is_used: Vec<bool>,
    /// The names of the current function, and those of the text.
    locals: Map<u32, NameId>,
    globals: Map<u32, NameId>,
    depth: u8,
    /// The statement that is read.
    first_hole: u32,
    shape: String,
    /// The place of a type in the shape, and the one in its place.
    plain_type: Option<(Range<usize>, &'static str)>,
    ignores_types: bool,
}

impl Reader<'_, '_> {
    fn run(&mut self, debug: &[Span]) {
        if self.outline.source.starts_with('\u{feff}') {
            self.lexer.pos = '\u{feff}'.len_utf8();
        }
        let mut debug = debug.iter().peekable();
        let mut functions = self.symbols.functions.iter().peekable();
        // The function whose body is read: where it ends, and its first statement.
        let mut open: Option<FunctionSpans> = None;
        while let Some(token) = self.lexer.token() {
            let start = token.span().start;
            while debug.next_if(|it| it.end <= start).is_some() {}
            if let Some(span) = debug.next_if(|it| it.start == start) {
                self.lexer.pos = span.end as usize;
                continue;
            }
            while functions.next_if(|it| it.header.start < start).is_some() {}
            if let Some(&function) = functions.next_if(|it| it.header.start == start) {
                if open.take().is_some() {
                    self.end(start);
                }
                if function.body.is_empty() && self.is_defined(function.header) {
                    self.lexer.pos = function.header.end as usize;
                    continue;
                }
                self.statement(token, function.header.end, false);
                if !function.body.is_empty() {
                    self.begin();
                    self.lexer.pos = function.body.start as usize + 1;
                    open = Some(function);
                }
                continue;
            }
            if open.is_some_and(|it| token.span().end >= it.body.end) {
                self.end(token.span().end);
                open = None;
                continue;
            }
            self.plain(token, open.is_some());
        }
        if open.is_some() {
            self.end(self.outline.source.len() as u32);
        }
    }

    /// Whether the text has the body of a function that is only declared here.
    fn is_defined(&self, header: Span) -> bool {
        within(self.uses, header).iter().filter_map(Use::symbol).any(|symbol| {
            let symbol = self.symbols.symbol(symbol);
            symbol.kind == SymbolKind::Function && !symbol.body.is_empty()
        })
    }

    /// Makes a function of the last item, which is its header.
    fn begin(&mut self) {
        let Some(mut header) = self.outline.items.pop() else { return };
        header.depth = 0;
        let names = &self.outline.names;
        let is_function = |it: &&NameId| names[**it as usize].class == Class::Function;
        let Some(&name) = self.outline.holes(&header).iter().find(is_function) else { return };
        let start = self.outline.statements.len() as u32;
        self.outline.functions.push(Function { name, span: header.span, statements: start..start });
        self.outline.statements.push(header);
        self.depth = 1;
    }

    fn end(&mut self, end: u32) {
        let count = self.outline.statements.len() as u32;
        if let Some(function) = self.outline.functions.last_mut() {
            function.statements.end = count;
            function.span.end = end;
        }
        self.locals.clear();
        self.depth = 0;
    }

    /// Reads a statement that is no header of a function.
    fn plain(&mut self, first: Token, in_function: bool) {
        let source = self.outline.source;
        let text = first.span().text(source);
        match first.kind() {
            TokenKind::Punct([b';', 0]) => {}
            // Blocks mean nothing but where names count.
            TokenKind::Punct([b'{', 0]) => self.depth = self.depth.saturating_add(1),
            TokenKind::Punct([b'}', 0]) => self.depth = self.depth.saturating_sub(1),
            TokenKind::Ident if self.peek().is_some_and(|next| next.is(b':')) => {
                let colon = self.lexer.token().unwrap_or(first);
                if self.labels_something(first) {
                    self.lexer.pos = first.span().end as usize;
                    self.statement(first, colon.span().end, in_function);
                }
            }
            _ => {
                let end = statement_end(source, self.lexer.clone(), first);
                if text == ".reg" && in_function && self.declares_plain(first, end) {
                    self.lexer.pos = end as usize;
                } else {
                    self.statement(first, end, in_function);
                }
            }
        }
    }

    fn peek(&self) -> Option<Token> {
        self.lexer.clone().token()
    }

    /// Whether something uses a label, or a directive needs it.
    fn labels_something(&self, label: Token) -> bool {
        let own = within(self.uses, label.span()).first().and_then(Use::symbol);
        let next = self.peek().map_or("", |next| next.span().text(self.outline.source));
        own.is_some_and(|own| self.is_used[own as usize])
            || matches!(next, ".branchtargets" | ".calltargets" | ".callprototype")
    }

    /// Whether a declaration has only registers that are no vectors.
    fn declares_plain(&self, first: Token, end: u32) -> bool {
        let uses = within(self.uses, Span::new(first.span().start, end));
        uses.iter()
            .all(|it| it.symbol().is_some_and(|symbol| !self.symbols.symbol(symbol).ty.is_empty()))
    }

    /// Reads the tokens of a statement, the first of which is read.
    fn statement(&mut self, first: Token, end: u32, in_function: bool) {
        let span = Span::new(first.span().start, end);
        self.first_hole = self.outline.holes.len() as u32;
        self.shape.clear();
        self.plain_type = None;
        while self.video.get(self.next_video).is_some_and(|it| it.span.start < span.start) {
            self.next_video += 1;
        }
        let video = self.video.get(self.next_video).filter(|it| it.span == span);
        match video.and_then(|it| it.instruction.as_ref()) {
            Some(instruction) => self.video(instruction, span),
            None => self.tokens(first, end),
        }
        self.lexer.pos = end as usize;
        let holes = self.first_hole..self.outline.holes.len() as u32;
        let mut shape = self.shapes.number(&self.shape);
        let mut rough_shape = shape;
        if let Some((range, plain)) = self.plain_type.take() {
            self.shape.replace_range(range, plain);
            rough_shape = self.shapes.number(&self.shape);
        }
        if self.ignores_types {
            shape = rough_shape;
        }
        let statement = Statement { span, shape, rough_shape, holes, depth: self.depth };
        if in_function {
            self.outline.statements.push(statement);
        } else {
            self.outline.items.push(statement);
        }
    }

    /// The shape of a video instruction is its canonical text.
    fn video(&mut self, instruction: &Instruction, span: Span) {
        use std::fmt::Write;

        let source = self.outline.source;
        let uses = within(self.uses, span);
        let mut one_spelling = instruction.clone();
        for register in instruction.registers() {
            let text = register.name();
            let Some(own) = uses.iter().find(|it| it.span.text(source) == text) else { continue };
            let Some(name) = self.name(*own) else { continue };
            self.outline.holes.push(name);
            // `%r07` is `%r7`.
            let known = self.outline.name_text(name);
            if known != text {
                let known = Register::new(known);
                one_spelling = one_spelling.map_registers(|it| match &known {
                    Some(known) if it == register => known.clone(),
                    _ => it.clone(),
                });
            }
        }
        if let Some(guard) = &instruction.guard {
            self.shape.push_str(if guard.negated { "@!" } else { "@" });
        }
        // Names that nothing declares are no holes, but part of the shape.
        if self.outline.holes.len() as u32 - self.first_hole
            < instruction.registers().count() as u32
        {
            let _ = write!(self.shape, "{}", span.text(source));
        }
        let canonical = Instruction::new(one_spelling.anonymous());
        if canonical.has_constants() {
            self.with_numbers(&canonical.to_string());
        } else {
            let _ = write!(self.shape, "{canonical}");
        }
    }

    /// Adds the tokens of a text, with one spelling of each number.
    fn with_numbers(&mut self, text: &str) {
        let mut lexer = Lexer::new(text, 0);
        let mut last = None;
        while let Some(token) = lexer.token() {
            let mut ahead = lexer.clone();
            match number(text, token, FloatType::Other, last, || ahead.token()) {
                Some((number, _)) => self.shape.push_str(&number),
                None => self.shape.push_str(token.span().text(text)),
            }
            self.shape.push(' ');
            last = Some(token);
        }
    }

    fn tokens(&mut self, first: Token, end: u32) {
        let source = self.outline.source;
        // Numbers of versions are no integers.
        let is_version = matches!(first.span().text(source), ".version" | ".address_size");
        let is_target = first.span().text(source) == ".target";
        let mut last = None;
        let mut token = Some(first);
        let mut opcode = Vec::new();
        let mut is_guard = first.is(b'@');
        let mut floats = FloatType::Other;
        while let Some(mut own) = token.filter(|token| token.span().start < end) {
            let mut next = self.lexer.token();
            let is_word = own.kind() == TokenKind::Ident;
            if !opcode.is_empty() || is_word && !is_guard {
                opcode.push(own.span().text(source));
            }
            let is_last = next.is_none_or(|next| next.kind() != TokenKind::Dot);
            if opcode.len() > 1
                && is_last
                && own.kind() == TokenKind::Dot
                && self.plain_type.is_none()
            {
                let start = self.shape.len();
                let range = start..start + own.span().len() as usize;
                self.plain_type = plain_type(&opcode).map(|plain| (range, plain));
                // Modifiers of operands are none of the opcode.
                is_guard = true;
                opcode.clear();
            }
            is_guard &= !is_word;
            while self.uses.get(self.next_use).is_some_and(|it| it.span.start < own.span().start) {
                self.next_use += 1;
            }
            if is_target && own.is(b',') && next.is_some_and(|it| it.span().text(source) == "debug")
            {
                // It is about data of debuggers.
                token = self.lexer.token();
                continue;
            }
            let use_ = self.uses.get(self.next_use).filter(|it| it.span.start == own.span().start);
            let text = own.span().text(source);
            if own.kind() == TokenKind::Dot {
                floats = floats.after(text);
            }
            let spelled = || {
                let mut following = next.into_iter();
                let mut ahead = self.lexer.clone();
                number(source, own, floats, last, || following.next().or_else(|| ahead.token()))
            };
            match use_ {
                Some(use_) => self.hole(*use_),
                None => match spelled().filter(|_| !is_version) {
                    Some((number, end)) => {
                        self.shape.push_str(&number);
                        if end != own {
                            (own, next) = (end, self.lexer.token());
                        }
                    }
                    None => self.shape.push_str(text),
                },
            }
            // No token ends with white space, so shapes are as different as lists of tokens.
            self.shape.push(' ');
            last = Some(own);
            token = next;
        }
    }

    /// Adds a hole for a name. Its class is part of the shape.
    fn hole(&mut self, use_: Use) {
        let Some(name) = self.name(use_) else {
            return self.shape.push_str(use_.span.text(self.outline.source));
        };
        self.outline.holes.push(name);
        match self.outline.name(name).class {
            Class::Register(bits) => {
                self.shape.push('\u{1}');
                self.shape.push(char::from(bits));
            }
            Class::Vector => self.shape.push('\u{2}'),
            Class::Label => self.shape.push('\u{3}'),
            Class::Parameter => self.shape.push('\u{4}'),
            Class::Variable => self.shape.push('\u{5}'),
            Class::Function => self.shape.push('\u{6}'),
        }
    }

    /// The name that stands at a place, unless nothing declares it.
    fn name(&mut self, use_: Use) -> Option<NameId> {
        let source = self.outline.source;
        let Meaning { symbol: number, number: meaning } = use_.meaning?;
        let symbol = self.symbols.symbol(number);
        let is_global = symbol.is_global;
        let known = if is_global { self.globals.get(&number) } else { self.locals.get(&meaning) };
        if let Some(name) = known {
            return Some(*name);
        }
        let name = self.outline.names.len() as NameId;
        let class = match symbol.kind {
            SymbolKind::Register => register_class(symbol.ty.text(source)),
            SymbolKind::Label => Class::Label,
            SymbolKind::Parameter => parameter_class(symbol.declaration.text(source)),
            SymbolKind::Variable => Class::Variable,
            SymbolKind::Function => Class::Function,
        };
        let is_exported = symbol.is_exported(source) && !is_dynamic(source, symbol);
        self.outline.names.push(Name { class, is_global, is_exported, span: use_.span });
        if is_global {
            self.globals.insert(number, name);
        } else {
            self.locals.insert(meaning, name);
        }
        Some(name)
    }
}

/// Whether a symbol is shared memory whose size is given at launch: `.extern .shared .b8 s[];`.
/// All of them are one memory, so their names mean nothing.
fn is_dynamic(source: &str, symbol: &Symbol) -> bool {
    let has = |wanted: &str| symbol.words(source).any(|word| word == wanted);
    let mut after = Lexer::new(source, symbol.name.end as usize);
    let mut next_is = |punct: u8| after.token().is_some_and(|token| token.is(punct));
    has(".extern") && has(".shared") && next_is(b'[') && next_is(b']')
}

/// The end of a statement: after its `;`, or after its last token if it needs none.
fn statement_end(source: &str, mut lexer: Lexer<'_>, first: Token) -> u32 {
    let mut directive = Directive::new(first.span().text(source));
    let mut end = first.span().end;
    while let Some(token) = lexer.token() {
        let step = directive.step(token.kind(), token.span().text(source));
        if !matches!(step, Step::Inside | Step::Last) {
            break;
        }
        end = token.span().end;
        if step == Step::Last {
            break;
        }
    }
    end
}

/// The type to compare in place of the last modifier of an opcode, if only its width matters for
/// the values: a load of `.u32` is one of `.b32`, a sum of `.s32` is one of `.u32`.
fn plain_type(opcode: &[&str]) -> Option<&'static str> {
    const BITS: [&str; 4] = [".b8", ".b16", ".b32", ".b64"];
    const UNSIGNED: [&str; 4] = [".u8", ".u16", ".u32", ".u64"];

    let (mnemonic, modifiers) = opcode.split_first()?;
    let (ty, others) = modifiers.split_last()?;
    let (kind, width) = (ty.get(1..2)?, ty.get(2..)?);
    let at = ["8", "16", "32", "64"].iter().position(|bits| *bits == width)?;
    let has = |modifier: &str| others.contains(&modifier);
    match (*mnemonic, kind) {
        // A signed load of fewer bits than the register has extends the sign.
        ("ld" | "ldu", "u" | "f") | ("st" | "mov" | "selp", "u" | "s" | "f") => Some(BITS[at]),
        ("add" | "sub", "s") if !has(".sat") => Some(UNSIGNED[at]),
        ("mul" | "mad", "s") if has(".lo") && !has(".sat") => Some(UNSIGNED[at]),
        ("setp" | "set", "u" | "s")
            if others.first().is_some_and(|it| matches!(*it, ".eq" | ".ne")) =>
        {
            Some(BITS[at])
        }
        _ => None,
    }
}

/// The class of a parameter, which may be a register: `.reg .b32 a`.
fn parameter_class(declaration: &str) -> Class {
    let mut words = statement_tokens(declaration).into_iter().map(|it| it.span().text(declaration));
    match (words.next(), words.find(|word| word.starts_with('.'))) {
        (Some(".reg"), Some(ty)) => register_class(ty),
        _ => Class::Parameter,
    }
}

fn register_class(ty: &str) -> Class {
    if ty == ".pred" {
        return Class::Register(1);
    }
    let name = ty.trim_start_matches(|c: char| !c.is_ascii_digit());
    let (bits, count) = match name.split_once('x') {
        Some((bits, count)) => (bits, count),
        None => (name, "1"),
    };
    match (bits.parse::<u8>(), count.parse::<u8>()) {
        (Ok(bits), Ok(count)) => Class::Register(bits.saturating_mul(count)),
        _ => Class::Vector,
    }
}
