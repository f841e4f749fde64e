//! The statements of a module, each as a shape with holes for names.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::iter::once;
use std::ops::Range;

use super::DiffOptions;
use crate::analysis::read_module;
use crate::check::{CheckOptions, problem_diagnostic};
use crate::diagnostic::{Code, Diagnostic};
use crate::hash::{Map, Set};
use crate::names::{Meaning, Names, SymbolId, SymbolKind, Use, labels_of_pragmas};
use crate::print::{FloatType, enumerated, number};
use crate::source::Span;
use crate::syntax::{
    self, Declaration, DirectiveKind, Problem, ProblemKind, StatementKind, Statements,
    SymbolKind as DeclaredKind, Token, TokenKind, Tree, statement_tokens,
};
use crate::video::{Instruction, Register, is_one_register, numbered};

/// Numbers for the shapes of statements. Both texts of a comparison share them.
#[derive(Default)]
pub(super) struct Shapes {
    numbers: Map<Box<str>, u32>,
    rough: Rough,
}

impl Shapes {
    /// The number of a shape, and whether it is new. A new shape is its own rough shape.
    fn number(&mut self, text: &str) -> (u32, bool) {
        if let Some(number) = self.numbers.get(text) {
            return (*number, false);
        }
        let number = self.rough.0.len() as u32;
        self.numbers.insert(text.into(), number);
        self.rough.0.push(number);
        (number, true)
    }

    pub(super) fn into_rough(self) -> Rough {
        self.rough
    }
}

/// For each shape, its rough shape: the same without types of which only the width matters.
#[derive(Default)]
pub(super) struct Rough(Vec<u32>);

impl Rough {
    /// The rough shape of a statement.
    pub(super) fn of(&self, statement: &Statement) -> u32 {
        self.0[statement.shape as usize]
    }
}

/// The statements of a text. White space, comments, debug data, unused labels, declarations of
/// registers, declarations of functions before their bodies, and the braces of blocks are left out.
pub(super) struct Outline<'s> {
    source: &'s str,
    tree: OnceCell<Tree<'s>>,
    /// Directives, variables and functions without a body.
    pub(super) items: Vec<Statement>,
    pub(super) functions: Vec<Function>,
    /// The statements of all functions; the first of each is its header.
    statements: Vec<Statement>,
    /// The names in the holes of all statements.
    holes: Vec<NameId>,
    pub(super) names: Vec<Name>,
    /// The legal video instructions and their offsets, in order.
    video: Vec<(u32, Instruction)>,
}

/// The index of a name in an outline.
pub(super) type NameId = u32;

/// A name: a symbol, or a register of a range.
pub(super) struct Name {
    pub(super) class: Class,
    pub(super) is_global: bool,
    /// Whether other modules know a variable by its name, and the name matters.
    pub(super) is_exported: bool,
    /// Where the name occurs first.
    pub(super) span: Span,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// A register with a width in bits, 1 for a predicate. Other parts of the type are ignored:
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
    statements: Range<u32>,
}

pub(super) struct Statement {
    /// The statement's index in the tree.
    index: u32,
    pub(super) shape: u32,
    holes: Range<u32>,
}

impl<'s> Outline<'s> {
    /// Reads a text, or returns its syntax errors.
    pub(super) fn read(
        source: &'s str,
        shapes: &mut Shapes,
        options: DiffOptions,
    ) -> Result<Outline<'s>, Vec<Diagnostic>> {
        let tree = syntax::parse(source);
        let mut errors = Vec::new();
        if !tree.errors().is_empty() {
            (_, errors) = read_module(source, &CheckOptions::errors_only());
        }
        let mut video = Vec::new();
        for (statement, checked) in tree.video_instructions() {
            match checked {
                Ok(checked) => video.push((statement.head_span().start, checked.instruction)),
                Err(found) if tree.errors().is_empty() => errors.extend(found),
                Err(_) => {}
            }
        }
        errors.retain(Diagnostic::is_syntax_error);
        if !errors.is_empty() {
            return Err(errors);
        }
        let names = Names::of(&tree);
        if let Some(error) = error(&tree, names.unended).or_else(|| enumerated(&names)) {
            return Err(vec![error]);
        }
        // Labels that only debug data uses count as unused, except before a `.pragma`.
        let mut is_used = vec![false; names.symbols().len()];
        let pragmas = labels_of_pragmas(&tree);
        for (id, symbol) in names.symbols() {
            is_used[id.index()] = pragmas.binary_search(&symbol.name.start).is_ok();
        }
        for use_ in
            names.uses().iter().filter(|it| !it.declares() && !it.span().is_in(&names.debug))
        {
            if let Some(symbol) = use_.symbol() {
                is_used[symbol.index()] = true;
            }
        }
        let mut reader = Reader {
            source,
            shapes,
            symbols: &names,
            next_use: 0,
            video: &video,
            is_used,
            dynamic: dynamic(&tree),
            parameters: Map::default(),
            locals: Map::default(),
            globals: Map::default(),
            in_function: false,
            first_hole: 0,
            shape: String::new(),
            plain_type: None,
            ignores_types: options.ignore_types,
            items: Vec::new(),
            functions: Vec::new(),
            statements: Vec::with_capacity(tree.all_statements().count()),
            holes: Vec::with_capacity(names.uses().len()),
            names: Vec::new(),
        };
        reader.run(tree.statements());
        let Reader { items, functions, mut statements, mut holes, mut names, .. } = reader;
        statements.shrink_to_fit();
        holes.shrink_to_fit();
        names.shrink_to_fit();
        let tree = OnceCell::from(tree);
        Ok(Outline { source, tree, items, functions, statements, holes, names, video })
    }

    pub(super) fn source(&self) -> &'s str {
        self.source
    }

    /// Drops the tree to free memory. The text is parsed again when a statement is asked for.
    pub(super) fn without_tree(mut self) -> Outline<'s> {
        self.tree.take();
        self
    }

    pub(super) fn statements(&self, function: &Function) -> &[Statement] {
        &self.statements[function.statements.start as usize..function.statements.end as usize]
    }

    /// From the function's header to its last `}`.
    pub(super) fn function_span(&self, function: &Function) -> Span {
        self.syntax(&self.statements[function.statements.start as usize]).span()
    }

    /// The statement in the tree.
    pub(super) fn syntax(&self, statement: &Statement) -> syntax::Statement<'_> {
        self.tree.get_or_init(|| syntax::parse(self.source)).statement(statement.index)
    }

    /// The place of a statement; for a function, the place of its header.
    pub(super) fn span(&self, statement: &Statement) -> Span {
        self.syntax(statement).head_span()
    }

    /// The number of blocks around a statement; at most 255.
    pub(super) fn depth(&self, statement: &Statement) -> u8 {
        let around = std::iter::successors(self.syntax(statement).parent(), |it| it.parent());
        // A function and its body count as one block.
        around.skip(1).take(u8::MAX.into()).count() as u8
    }

    /// The opcode of an instruction with its modifiers, or the first word of another statement.
    pub(super) fn opcode(&self, statement: &Statement) -> Cow<'_, str> {
        let statement = self.syntax(statement);
        let StatementKind::Instruction(instruction) = statement.kind() else {
            return statement.head()[0].span().text(self.source()).into();
        };
        let words = || once(instruction.mnemonic()).chain(instruction.modifiers());
        let opcode = instruction.opcode();
        if words().map(Span::len).sum::<u32>() == opcode.len() {
            return opcode.text(self.source()).into();
        }
        words().map(|word| word.text(self.source())).collect()
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
        self.name(name).span.text(self.source())
    }

    /// The names of a statement by spelling, and by base and number, for statements that may have
    /// many names, such as lists of labels.
    pub(super) fn spellings(&self, statement: &Statement) -> Map<(&'s str, &'s str), NameId> {
        let mut names = Map::default();
        for name in self.holes(statement) {
            let text = self.name_text(*name);
            names.entry(numbered(text)).or_insert(*name);
            names.insert((text, ""), *name);
        }
        names
    }

    /// The name with a spelling, for statements that have few names.
    pub(super) fn named(&self, statement: &Statement, text: &str) -> Option<NameId> {
        let holes = self.holes(statement).iter().copied();
        let same = holes.clone().find(|name| self.name_text(*name) == text);
        same.or_else(|| holes.clone().find(|name| is_one_register(self.name_text(*name), text)))
    }

    /// The video instruction that a statement is, if any.
    pub(super) fn instruction(&self, statement: &Statement) -> Option<&Instruction> {
        let start = self.span(statement).start;
        let at = self.video.binary_search_by_key(&start, |(start, _)| *start);
        Some(&self.video[at.ok()?].1)
    }
}

/// An error in a text whose structure is sound, if any. Operands may have any tokens of PTX.
fn error(tree: &Tree<'_>, unended: Option<Span>) -> Option<Diagnostic> {
    if let Some(span) = unended {
        let problem = Problem { kind: ProblemKind::MissingSemicolon, span };
        return Some(problem_diagnostic(tree.source(), problem));
    }
    if let Some(function) = tree.functions().find(|function| function.name().is_none()) {
        let span = function.statement().head()[0].span();
        let problem = Problem { kind: ProblemKind::MissingName, span };
        return Some(problem_diagnostic(tree.source(), problem));
    }
    let foreign = tree.tokens().iter().find(|token| token.kind() == TokenKind::Unknown)?;
    let message = format!("`{}` cannot stand here in PTX", foreign.span().text(tree.source()));
    Some(Diagnostic::new(Code::InvalidCharacter, foreign.span(), message).label("unexpected"))
}

/// The places of the names of shared memory whose size is given at launch: `.extern .shared .b8
/// s[];`. All these names stand for the same memory, so they do not matter.
fn dynamic(tree: &Tree<'_>) -> Set<u32> {
    let mut places = Set::default();
    for statement in tree.statements() {
        let StatementKind::Declaration(it) = statement.kind() else { continue };
        let mut words = it.words().iter().map(|word| word.span().text(tree.source()));
        if it.space() == Some(".shared") && words.any(|word| word == ".extern") {
            let of_no_size = it.names().filter(|name| name.dimensions().len() == 2);
            places.extend(of_no_size.map(|name| name.name().start));
        }
    }
    places
}

/// The uses of names within a span.
fn within(uses: &[Use], span: Span) -> &[Use] {
    let start = uses.partition_point(|it| it.span().start < span.start);
    let count = uses[start..].iter().take_while(|it| it.span().end <= span.end).count();
    &uses[start..start + count]
}

struct Reader<'r, 's> {
    source: &'s str,
    shapes: &'r mut Shapes,
    symbols: &'r Names,
    next_use: usize,
    /// The video instructions that are still to come.
    video: &'r [(u32, Instruction)],
    /// For each symbol, whether something uses it.
    is_used: Vec<bool>,
    dynamic: Set<u32>,
    /// The register parameters of the current function, by the places of their names.
    parameters: Map<u32, Class>,
    /// The local names of the current function, and the global names of the text.
    locals: Map<Meaning, NameId>,
    globals: Map<SymbolId, NameId>,
    in_function: bool,
    /// The first hole and the shape of the statement that is being read.
    first_hole: u32,
    shape: String,
    /// The range in the shape of a type of which only the width matters, and the plain type for it.
    plain_type: Option<(Range<usize>, &'static str)>,
    ignores_types: bool,
    items: Vec<Statement>,
    functions: Vec<Function>,
    statements: Vec<Statement>,
    holes: Vec<NameId>,
    names: Vec<Name>,
}

impl Reader<'_, '_> {
    /// Reads the statements of a text.
    fn run(&mut self, text: Statements<'_>) {
        // The statements left in the text, and in each function or block that is being read.
        let mut open = vec![text];
        while let Some(statements) = open.last_mut() {
            let Some(statement) = statements.next() else {
                open.pop();
                if open.len() == 1 {
                    self.end();
                }
                continue;
            };
            let next = statements.clone().next();
            match statement.kind() {
                StatementKind::Empty => {}
                // Blocks matter only for the scope of names.
                StatementKind::Block(inside) => open.push(inside),
                StatementKind::Function(function) => {
                    if self.function(&function) {
                        open.push(function.statements());
                    }
                }
                StatementKind::Label(name) if !self.labels_something(name, next) => {}
                StatementKind::Directive(it) if it.kind().is_debug() => {}
                StatementKind::Declaration(it) if self.in_function && declares_plain(&it) => {}
                _ => self.statement(statement),
            }
        }
    }

    /// Reads the header of a function. Returns whether its body is to be read.
    fn function(&mut self, function: &syntax::Function<'_>) -> bool {
        let has_body = function.body().is_some();
        let own = function.name().and_then(|name| within(self.symbols.uses(), name).first());
        // A declaration may export a function that its definition does not.
        let is_repeated = own.and_then(Use::symbol).is_some_and(|own| {
            let symbol = self.symbols.symbol(own);
            let head = symbol.declaration.text(self.source).as_bytes();
            // It stands before `.func` or `.entry`.
            let head = &head[..head.len().min(256)];
            let says = |it: &str| memchr::memmem::find(head, it.as_bytes()).is_some();
            symbol.kind == SymbolKind::Function
                && !symbol.body.is_empty()
                && function.linkage().is_none_or(|it| it == ".extern" || says(it))
        });
        if !has_body && is_repeated {
            return false;
        }
        self.parameters.clear();
        for parameter in function.results().chain(function.parameters()) {
            let Some(name) = parameter.name() else { continue };
            let class = match name.kind() {
                DeclaredKind::Register(ty) => register_class(ty),
                DeclaredKind::Vector => Class::Vector,
                _ => continue,
            };
            self.parameters.insert(name.name().start, class);
        }
        self.statement(function.statement());
        has_body && self.begin().is_some()
    }

    /// Begins the function whose header is the last item.
    fn begin(&mut self) -> Option<()> {
        let header = self.items.pop()?;
        let holes = &self.holes[header.holes.start as usize..];
        let is_function = |it: &&NameId| self.names[**it as usize].class == Class::Function;
        let name = *holes.iter().find(is_function)?;
        let start = self.statements.len() as u32;
        self.functions.push(Function { name, statements: start..start });
        self.statements.push(header);
        self.in_function = true;
        Some(())
    }

    /// Ends the function whose body is being read, if any.
    fn end(&mut self) {
        if std::mem::take(&mut self.in_function)
            && let Some(function) = self.functions.last_mut()
        {
            function.statements.end = self.statements.len() as u32;
            self.locals.clear();
        }
    }

    /// Whether something uses a label, or a directive needs it.
    fn labels_something(&self, label: Span, next: Option<syntax::Statement<'_>>) -> bool {
        let own = within(self.symbols.uses(), label).first().and_then(Use::symbol);
        let is_used = own.is_some_and(|own| self.is_used[own.index()]);
        is_used
            || next.is_some_and(|next| match next.kind() {
                StatementKind::Directive(it) => it.kind().is_named(),
                _ => false,
            })
    }

    /// Adds a statement.
    fn statement(&mut self, statement: syntax::Statement<'_>) {
        let span = statement.head_span();
        self.first_hole = self.holes.len() as u32;
        self.shape.clear();
        while let Some(((start, _), rest)) = self.video.split_first()
            && *start < span.start
        {
            self.video = rest;
        }
        match self.video.first() {
            Some((start, instruction)) if *start == span.start => self.video(instruction, span),
            _ => self.tokens(statement),
        }
        let holes = self.first_hole..self.holes.len() as u32;
        let (mut shape, is_new) = self.shapes.number(&self.shape);
        if let Some((range, plain)) = self.plain_type.take()
            && is_new
        {
            self.shape.replace_range(range, plain);
            let (rough, _) = self.shapes.number(&self.shape);
            self.shapes.rough.0[shape as usize] = rough;
        }
        if self.ignores_types {
            shape = self.shapes.rough.0[shape as usize];
        }
        let statement = Statement { index: statement.index(), shape, holes };
        if self.in_function {
            self.statements.push(statement);
        } else {
            self.items.push(statement);
        }
    }

    /// The shape of a video instruction is its canonical text.
    fn video(&mut self, instruction: &Instruction, span: Span) {
        use std::fmt::Write;

        let uses = within(self.symbols.uses(), span);
        let mut one_spelling = instruction.clone();
        for register in instruction.registers() {
            let text = register.name();
            let mut uses = uses.iter();
            let Some(own) = uses.find(|it| it.span().text(self.source) == text) else { continue };
            let Some(name) = self.name(*own) else { continue };
            self.holes.push(name);
            // `%r07` is `%r7`.
            let known = self.names[name as usize].span.text(self.source);
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
        // Undeclared names have no holes; they are part of the shape.
        let holes = self.holes.len() - self.first_hole as usize;
        if holes < instruction.registers().count() {
            self.shape.push_str(span.text(self.source));
        }
        let canonical = Instruction::new(one_spelling.anonymous());
        if canonical.has_constants() {
            let text = canonical.to_string();
            self.spelled(&text, &statement_tokens(&text), |_, _| false);
        } else {
            let _ = write!(self.shape, "{canonical}");
        }
    }

    /// The shape of any other statement is its tokens.
    fn tokens(&mut self, statement: syntax::Statement<'_>) {
        let source = self.source;
        let tokens = statement.head();
        let mut plain = None;
        match statement.kind() {
            // Version numbers are no integers.
            StatementKind::Directive(it)
                if matches!(it.kind(), DirectiveKind::Version | DirectiveKind::AddressSize) =>
            {
                for token in tokens {
                    self.word(token.span().text(source));
                }
                return;
            }
            StatementKind::Directive(it) if it.kind() == DirectiveKind::Target => {
                let mut rest = tokens;
                while let [token, after @ ..] = rest {
                    rest = after;
                    match after {
                        // The option `debug` concerns debug data only.
                        [word, after @ ..]
                            if token.is(b',') && word.span().text(source) == "debug" =>
                        {
                            rest = after;
                        }
                        _ => self.word(token.span().text(source)),
                    }
                }
                return;
            }
            StatementKind::Instruction(it) => plain = plain_type(&it, source),
            _ => {}
        }
        while self.use_at(self.next_use).is_some_and(|it| it.span().start < tokens[0].span().start)
        {
            self.next_use += 1;
        }
        self.spelled(source, tokens, |reader, token| {
            if let Some((own, plain)) = plain
                && own == token.span()
            {
                let start = reader.shape.len();
                reader.plain_type = Some((start..start + own.len() as usize, plain));
            }
            let use_ = reader.use_at(reader.next_use).filter(|it| it.span() == token.span());
            if let Some(use_) = use_ {
                reader.next_use += 1;
                reader.hole(use_);
            }
            use_.is_some()
        });
        // The type of the last operand of `tex` and `tld4` tells a depth from an offset, and that
        // of the address in `isspacep` tells how 32 bits are extended.
        if let StatementKind::Instruction(it) = statement.kind()
            && let "isspacep" | "tex" | "tld4" = it.mnemonic().text(source)
        {
            let symbols = self.symbols;
            let close = tokens.iter().rfind(|it| it.is(b']')).map_or(0, |it| it.span().end);
            let own = within(symbols.uses(), statement.head_span()).iter();
            let own = own.filter(|it| it.span().start >= close);
            let types = own.filter_map(|it| symbols.symbol(it.symbol()?).ty);
            types.for_each(|ty| self.shape.push_str(ty.text(source)));
        }
    }

    fn use_at(&self, number: usize) -> Option<Use> {
        self.symbols.uses().get(number).copied()
    }

    /// Adds tokens to the shape, with one spelling of each number. `takes` may add a token in
    /// another way, and returns whether it has.
    fn spelled(
        &mut self,
        text: &str,
        tokens: &[Token],
        mut takes: impl FnMut(&mut Self, Token) -> bool,
    ) {
        let mut last = None;
        let mut rest = tokens;
        while let [token, after @ ..] = rest {
            let before = &tokens[..tokens.len() - rest.len()];
            let mut token = *token;
            rest = after;
            if takes(self, token) {
                self.shape.push(' ');
            } else {
                let mut following = after.iter().copied();
                let floats = || FloatType::after(before, text);
                match number(text, token, floats, last, || following.next()) {
                    Some((number, end)) => {
                        self.word(&number);
                        if end != token {
                            (token, rest) = (end, &after[1..]);
                        }
                    }
                    None => self.word(token.span().text(text)),
                }
            }
            last = Some(token);
        }
    }

    /// Adds a token to the shape, and a space. No token ends with white space, so that different
    /// lists of tokens have different shapes.
    fn word(&mut self, text: &str) {
        self.shape.push_str(text);
        self.shape.push(' ');
    }

    /// Adds a hole for a name. Its class is part of the shape.
    fn hole(&mut self, use_: Use) {
        let Some(name) = self.name(use_) else {
            return self.shape.push_str(use_.span().text(self.source));
        };
        self.holes.push(name);
        match self.names[name as usize].class {
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

    /// The name of a use; `None` if nothing declares it.
    fn name(&mut self, use_: Use) -> Option<NameId> {
        let source = self.source;
        let meaning = use_.meaning()?;
        let number = meaning.symbol();
        let symbol = self.symbols.symbol(number);
        let is_global = symbol.is_global();
        let known = if is_global { self.globals.get(&number) } else { self.locals.get(&meaning) };
        if let Some(name) = known {
            return Some(*name);
        }
        let name = self.names.len() as NameId;
        let place = symbol.name.start;
        let class = match symbol.kind {
            SymbolKind::Register => {
                register_class(symbol.plain_ty.map_or("", |ty| ty.text(source)))
            }
            SymbolKind::Label => Class::Label,
            SymbolKind::Parameter => {
                self.parameters.get(&place).copied().unwrap_or(Class::Parameter)
            }
            SymbolKind::Variable => Class::Variable,
            SymbolKind::Function => Class::Function,
        };
        let is_exported = symbol.is_exported
            && symbol.kind == SymbolKind::Variable
            && !self.dynamic.contains(&place);
        self.names.push(Name { class, is_global, is_exported, span: use_.span() });
        if is_global {
            self.globals.insert(number, name);
        } else {
            self.locals.insert(meaning, name);
        }
        Some(name)
    }
}

/// Whether a declaration has only registers of one type: no vectors, no alignment.
fn declares_plain(declaration: &Declaration<'_>) -> bool {
    declaration.words().len() == 2
        && declaration.names().all(|name| {
            let length = if name.count().is_some() { 4 } else { 1 };
            name.tokens().len() == length && matches!(name.kind(), DeclaredKind::Register(_))
        })
}

/// The last modifier of an opcode, if it is a type of which only the width matters for the values,
/// and the plain type for it. A load of `.u32` counts as a load of `.b32`, a sum of `.s32` as a sum
/// of `.u32`.
fn plain_type(instruction: &syntax::Instruction<'_>, source: &str) -> Option<(Span, &'static str)> {
    const BITS: [&str; 4] = [".b8", ".b16", ".b32", ".b64"];
    const UNSIGNED: [&str; 4] = [".u8", ".u16", ".u32", ".u64"];

    let modifiers = || instruction.modifiers().map(|it| it.text(source));
    let last = instruction.modifiers().last()?;
    let ty = last.text(source);
    let (kind, width) = (ty.get(1..2)?, ty.get(2..)?);
    let at = ["8", "16", "32", "64"].iter().position(|bits| *bits == width)?;
    let has = |modifier: &str| modifiers().any(|it| it == modifier);
    let plain = match (instruction.mnemonic().text(source), kind) {
        // A signed load into a wider register extends the sign.
        ("ld" | "ldu", "u" | "f") | ("st" | "mov" | "selp", "u" | "s" | "f") => BITS[at],
        ("add" | "sub", "s") if !has(".sat") => UNSIGNED[at],
        ("mul" | "mad", "s") if has(".lo") && !has(".sat") => UNSIGNED[at],
        ("setp" | "set", "u" | "s")
            if modifiers().next().is_some_and(|it| matches!(it, ".eq" | ".ne")) =>
        {
            BITS[at]
        }
        _ => return None,
    };
    Some((last, plain))
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
