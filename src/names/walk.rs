//! One pass over the statements of a tree.

use std::num::NonZeroU32;
use std::sync::OnceLock;

use super::{Apart, Meaning, Names, Scope, ScopeId, Symbol, SymbolId, SymbolKind, Use};
use crate::hash::{Map, Set};
use crate::source::Span;
use crate::syntax::{
    Context, Declaration, Directive, DirectiveKind, ErrorKind, Function, Statement, StatementKind,
    Statements, SymbolKind as DeclaredKind, Token, TokenKind, Tree, register_number,
};

/// The words of a declaration that make a variable known to other modules. ptxas exports all
/// textures, samplers and surfaces, also those that are parameters.
const EXPORTS: [&str; 8] =
    [".visible", ".extern", ".weak", ".common", ".texref", ".samplerref", ".surfref", ".tex"];

pub(super) fn names(tree: &Tree<'_>) -> Names {
    let span = Span::new(0, tree.source().len() as u32);
    let mut walker = Walker {
        source: tree.source(),
        context: Context::default(),
        numbers: Map::default(),
        seen: Map::default(),
        near: Vec::new(),
        single: Set::default(),
        numbered: Map::default(),
        unnumbered: tree.tokens().len() as u64 / 4,
        open: vec![Open::new(ScopeId::MODULE)],
        names: Names {
            symbols: Vec::new(),
            // An estimate: a growing list would be copied.
            uses: Vec::with_capacity(tree.tokens().len() / 3),
            scopes: vec![Scope { parent: None, function: None, span }],
            meanings: 0,
            apart: Vec::new(),
            by_meaning: OnceLock::new(),
            // Line breaks matter only where a statement is wrong.
            is_doubtful: !tree.errors().is_empty(),
            enumeration: None,
            unended: None,
            debug: Vec::new(),
        },
    };
    walker.run(tree);
    let missing = tree.errors().iter().find(|it| it.kind == ErrorKind::MissingSemicolon);
    let unended = walker.names.unended.into_iter().chain(missing.map(|it| it.span));
    walker.names.unended = unended.min();
    walker.names
}

struct Walker<'t> {
    source: &'t str,
    context: Context<'t>,
    /// The numbers of symbols, by the offsets of their declarations.
    numbers: Map<u32, SymbolId>,
    /// The meanings of names that were looked up since a range was declared or a scope was left.
    seen: Map<&'t str, Option<Meaning>>,
    /// Some ranges that were looked up since then, by their names. Most uses name a register of one
    /// of these ranges.
    near: Vec<(&'t str, NumberedRange)>,
    /// The names that are declared one by one, without the digits at their ends. For such names,
    /// the digits do not tell the meaning.
    single: Set<&'t str>,
    /// The numbers of the registers in [`Names::apart`].
    numbered: Map<(SymbolId, u64), NonZeroU32>,
    /// How many registers of ranges may get numbers before they are used.
    unnumbered: u64,
    /// The text, and the open functions and blocks.
    open: Vec<Open<'t>>,
    names: Names,
}

/// Where an invalid statement ends without `;`.
fn unended(statement: Statement<'_>) -> Option<Span> {
    let [first, .., last] = statement.tokens() else {
        let only = statement.tokens()[0];
        return (!b";{}".iter().any(|it| only.is(*it))).then_some(Span::at(only.span().end));
    };
    match first.kind() {
        // No statement starts with such a token.
        TokenKind::Number | TokenKind::Str => Some(Span::at(first.span().end)),
        TokenKind::Punct(_) if !first.is(b'@') => Some(Span::at(first.span().end)),
        _ if last.is(b';') => None,
        _ => Some(Span::at(last.span().end)),
    }
}

/// The most ranges in [`Walker::near`]: more than compilers use at once.
const NEAR: usize = 12;

/// A range whose registers have the numbers directly after its own.
#[derive(Clone, Copy)]
struct NumberedRange {
    symbol: SymbolId,
    count: u64,
    /// The number of the range itself.
    number: NonZeroU32,
}

impl NumberedRange {
    /// The meaning of a register of the range.
    fn register(self, register: u64) -> Meaning {
        let number = self.number.saturating_add(register as u32 + 1);
        Meaning { symbol: self.symbol, number }
    }
}

/// A scope that is being read.
struct Open<'t> {
    scope: ScopeId,
    labels: Vec<(&'t str, SymbolId)>,
    /// The functions that are declared in a body. They are known after it, too.
    prototypes: Vec<(&'t str, Span)>,
    /// For names declared one by one: the lowest number at the end, by the part before it.
    lowest: Map<&'t str, Lowest>,
    /// The indices of uses that may name a later label.
    waiting: Map<&'t str, Vec<u32>>,
    /// The names of those uses here that had a meaning when they were read: an earlier label.
    early: Set<&'t str>,
}

/// The lowest numbers at the ends of names that are otherwise equal.
#[derive(Clone, Copy)]
struct Lowest {
    /// The lowest for registers, variables and parameters.
    any: u64,
    /// The lowest for registers, variables and parameters whose number has no leading zero.
    plain: u64,
    /// The lowest for labels whose number has no leading zero.
    label: u64,
}

impl Open<'_> {
    fn new(scope: ScopeId) -> Self {
        Open {
            scope,
            labels: Vec::new(),
            prototypes: Vec::new(),
            lowest: Map::default(),
            waiting: Map::default(),
            early: Set::default(),
        }
    }
}

impl<'t> Walker<'t> {
    fn run(&mut self, tree: &'t Tree<'t>) {
        let mut inside = vec![tree.statements()];
        while let Some(statements) = inside.last_mut() {
            if let Some(statement) = statements.next() {
                inside.extend(self.statement(statement));
                continue;
            }
            inside.pop();
            if !inside.is_empty() {
                self.close();
            }
        }
        // Debug data may use what functions declare, and a variable of the module may be declared
        // too late. If several symbols have the name, the first one counts.
        let mut waiting = std::mem::take(&mut self.innermost().waiting);
        for at in 0..self.names.symbols.len() {
            let Symbol { kind, name, count, .. } = self.names.symbols[at];
            // A range such as `r<3>` does not declare `r`.
            if matches!(kind, SymbolKind::Function | SymbolKind::Register) || count.is_some() {
                continue;
            }
            let own = SymbolId(at as u32);
            for number in waiting.remove(name.text(self.source)).into_iter().flatten() {
                let use_ = self.names.uses[number as usize];
                if use_.meaning.is_some() {
                    continue;
                }
                let is_debug = use_.span().is_in(&self.names.debug);
                self.names.is_doubtful |= !is_debug;
                if is_debug || self.names.symbol(own).is_global() {
                    let meaning = Some(self.whole(own));
                    self.names.uses[number as usize].meaning = meaning;
                }
            }
        }
    }

    /// Reads a statement. Returns the statements in the scope that it opens, if any.
    fn statement(&mut self, statement: Statement<'t>) -> Option<Statements<'t>> {
        match statement.kind() {
            StatementKind::Instruction(instruction) => {
                instruction.names().for_each(|it| self.use_of(it));
            }
            StatementKind::Label(name) => {
                self.names.is_doubtful |= self.open.len() == 1;
                self.label(name);
            }
            StatementKind::Declaration(declaration) => self.declaration(statement, &declaration),
            StatementKind::Directive(directive) => self.directive(statement, &directive),
            StatementKind::Function(function) => return self.function(&function),
            StatementKind::Block(statements) => {
                self.names.is_doubtful |= self.open.len() == 1;
                self.open(None, statement.span());
                return Some(statements);
            }
            StatementKind::Empty => {}
            StatementKind::Error => {
                let words = statement.tokens().iter().filter(|it| it.kind() == TokenKind::Ident);
                words.for_each(|word| self.use_of(word.span()));
                self.names.unended = self.names.unended.or_else(|| unended(statement));
            }
        }
        None
    }

    fn directive(&mut self, statement: Statement<'t>, directive: &Directive<'t>) {
        let mut labels = directive.labels().peekable();
        for name in directive.names() {
            while let Some(label) = labels.next_if(|label| label.start < name.start) {
                self.label(label);
            }
            self.use_of(name);
        }
        labels.for_each(|label| self.label(label));
        // In an unknown directive, a `;` inside of braces may end a statement.
        self.names.is_doubtful |= directive.kind() == DirectiveKind::Unknown
            && statement.tokens().iter().any(|token| token.is(b'{'));
        self.names.enumeration = self.names.enumeration.or_else(|| directive.enumeration());
        if directive.kind().is_debug() {
            self.names.debug.push(statement.span());
        }
    }

    /// Registers and variables.
    fn declaration(&mut self, statement: Statement<'t>, declaration: &Declaration<'t>) {
        let place = |word| word_span(self.source, declaration.words(), word);
        let (space, ty) = (place(declaration.space()), place(declaration.ty()));
        let texts = || declaration.words().iter().map(|word| word.span().text(self.source));
        let is_exported = self.open.len() == 1 && texts().any(|word| EXPORTS.contains(&word));
        let is_extern = texts().any(|word| word == ".extern");
        let mut is_plain = declaration.words().len() == 2;
        let first = self.names.symbols.len();
        for name in declaration.names() {
            let (span, count, kind) = (name.name(), name.count(), name.kind());
            let text = span.text(self.source);
            let is_register = matches!(kind, DeclaredKind::Register(_) | DeclaredKind::Vector);
            is_plain &= matches!(kind, DeclaredKind::Register(_))
                && name.tokens().len() == if count.is_some() { 4 } else { 1 };
            let known = self.resolve(text).filter(|_| is_exported && !is_register);
            if let Some(id) = known.filter(|id| self.is_declared_again(*id, is_extern)) {
                self.declare_again(id, span, kind);
                let symbol = &mut self.names.symbols[id.index()];
                if symbol.is_extern && !is_extern {
                    (symbol.name, symbol.declaration) = (span, statement.span());
                    symbol.is_extern = false;
                }
                name.names().for_each(|name| self.use_of(name));
                continue;
            }
            let is_double = match count {
                Some(count) => self.is_range(text) || self.is_numbered(text, count),
                None => self.is_double(text),
            };
            if let Some(count) = count {
                self.context.declare_range(text, count, kind, span);
                self.forget();
            } else {
                self.bind(text, kind, span);
            }
            let own = if is_register { SymbolKind::Register } else { SymbolKind::Variable };
            let id = self.declare(own, span, is_double);
            if let Some(count) = count {
                self.number_registers(id, count);
            }
            let symbol = &mut self.names.symbols[id.index()];
            symbol.declaration = statement.span();
            (symbol.space, symbol.ty, symbol.count) = (space, ty, count);
            symbol.is_exported = is_exported && !is_register;
            symbol.is_extern = is_extern;
            name.names().for_each(|name| self.use_of(name));
        }
        for symbol in &mut self.names.symbols[first..] {
            symbol.plain_ty = symbol.ty.filter(|_| is_plain);
        }
    }

    /// Declares a function, and enters its scope if it has a body.
    fn function(&mut self, function: &Function<'t>) -> Option<Statements<'t>> {
        let header = function.statement().head_span();
        let first = self.names.uses.len();
        let body = function.body().map(Statement::span);
        let own = function.name().map(|name| {
            let id = self.function_name(name);
            let is_extern = function.linkage() == Some(".extern");
            let symbol = &mut self.names.symbols[id.index()];
            if let Some(body) = body {
                symbol.is_double |= !symbol.body.is_empty() || symbol.is_extern;
                (symbol.name, symbol.declaration, symbol.body) = (name, header, body);
            } else if symbol.name == name {
                (symbol.declaration, symbol.is_extern) = (header, is_extern);
            } else {
                symbol.is_double |= !symbol.body.is_empty();
            }
            symbol.is_exported |= function.linkage().is_some();
            let mut words = function.directives().flatten().map(|it| it.span());
            let noreturn = words.find(|it| it.text(self.source) == ".noreturn");
            symbol.noreturn = symbol.noreturn.or(noreturn);
            self.names.is_doubtful |= symbol.is_double;
            id
        });
        self.open(own, function.statement().span());
        for parameter in function.results().chain(function.parameters()) {
            let Some(name) = parameter.name() else { continue };
            let (span, text) = (name.name(), name.name().text(self.source));
            // The names in a mere declaration mean nothing.
            let is_double = body.is_some() && self.is_double(text);
            self.bind(text, name.kind(), span);
            let space = match name.kind() {
                DeclaredKind::Variable(space) => space,
                _ => ".reg",
            };
            let place = |word| word_span(self.source, parameter.tokens(), word);
            let (space, ty) = (place(Some(space)), place(parameter.ty()));
            let id = self.declare(SymbolKind::Parameter, span, is_double);
            let symbol = &mut self.names.symbols[id.index()];
            symbol.declaration = space.unwrap_or(span).to(span);
            (symbol.space, symbol.ty) = (space, ty);
            symbol.is_exported = parameter.ty().is_some_and(|ty| EXPORTS.contains(&ty));
            for used in name.names() {
                self.name(used);
            }
        }
        // Results stand before the name. No use in a header waits for a label.
        let uses = &mut self.names.uses[first..];
        if !uses.is_sorted_by_key(|it| it.span().start) {
            uses.sort_by_key(|it| it.span().start);
        }
        if body.is_some() {
            return Some(function.statements());
        }
        // Nothing uses the parameters of a mere declaration.
        self.close();
        None
    }

    /// The symbol of a function, which may have been declared before.
    fn function_name(&mut self, name: Span) -> SymbolId {
        let text = name.text(self.source);
        let known = self.resolve(text);
        let known = known.filter(|id| self.names.symbol(*id).kind == SymbolKind::Function);
        if let Some(id) = known {
            self.declare_again(id, name, DeclaredKind::Function);
            return id;
        }
        let is_double = self.is_double(text);
        self.bind(text, DeclaredKind::Function, name);
        self.prototype(text, name);
        self.declare(SymbolKind::Function, name, is_double)
    }

    /// Whether a second declaration of a variable of the module is allowed: an `.extern` declaration
    /// may stand behind any other, and before one that is exported.
    fn is_declared_again(&self, known: SymbolId, is_extern: bool) -> bool {
        let known = self.names.symbol(known);
        known.kind == SymbolKind::Variable && (known.is_extern || is_extern)
    }

    /// Adds another place that declares a symbol.
    fn declare_again(&mut self, id: SymbolId, name: Span, kind: DeclaredKind<'t>) {
        self.bind(name.text(self.source), kind, name);
        self.numbers.insert(name.start, id);
        let meaning = Some(self.whole(id));
        self.names.uses.push(Use::new(name, meaning, true));
    }

    fn innermost(&mut self) -> &mut Open<'t> {
        self.open.last_mut().expect("the text itself")
    }

    fn open(&mut self, function: Option<SymbolId>, span: Span) {
        let scope = ScopeId(self.names.scopes.len() as u32);
        let parent = Some(self.innermost().scope);
        self.names.scopes.push(Scope { parent, function, span });
        self.context.open(span.start);
        self.open.push(Open::new(scope));
    }

    /// Leaves the innermost scope.
    fn close(&mut self) {
        let Some(mut own) = self.open.pop() else { return };
        for (name, label) in &own.labels {
            for number in own.waiting.remove(name).into_iter().flatten() {
                let meaning = self.whole(*label);
                self.names.uses[number as usize].meaning = Some(meaning);
            }
        }
        // A label of a block around wins only if it stands before this block, or if no label there
        // does.
        for name in own.early {
            if let Some(uses) = own.waiting.get_mut(name) {
                uses.retain(|number| self.names.uses[*number as usize].meaning.is_none());
            }
        }
        let outer = &mut self.innermost().waiting;
        // The shorter list is moved.
        if outer.len() < own.waiting.len() {
            std::mem::swap(outer, &mut own.waiting);
        }
        for (name, mut uses) in own.waiting {
            let here = outer.entry(name).or_default();
            if here.len() < uses.len() {
                std::mem::swap(here, &mut uses);
            }
            here.append(&mut uses);
        }
        self.context.close();
        self.forget();
        for (name, span) in own.prototypes {
            if self.resolve(name).is_none() {
                self.bind(name, DeclaredKind::Function, span);
            }
            self.prototype(name, span);
        }
    }

    /// Remembers a function that is declared in a body.
    fn prototype(&mut self, name: &'t str, span: Span) {
        if self.open.len() > 1 {
            self.innermost().prototypes.push((name, span));
        }
    }

    /// Forgets the meanings that were looked up.
    fn forget(&mut self) {
        self.near.clear();
        self.seen = Map::default();
    }

    fn label(&mut self, span: Span) {
        let name = span.text(self.source);
        // A label of debug data may have the name of a variable or function.
        let is_debug = self.open.len() == 1;
        // ptxas lets a label have the name of a register of a range.
        let known = self.in_scope(name).filter(|it| it.count.is_none()).map(|it| it.kind);
        let is_other = known.is_some_and(|it| is_debug && it != SymbolKind::Label);
        let is_double = known.is_some_and(|it| it != SymbolKind::Function) && !is_other;
        if !is_other {
            self.bind(name, DeclaredKind::Label, span);
        }
        let id = self.declare(SymbolKind::Label, span, is_double);
        self.innermost().labels.push((name, id));
    }

    /// Whether the innermost scope declares a range with this name.
    fn is_range(&mut self, base: &str) -> bool {
        let source = self.source;
        let first = self.in_scope(&format!("{base}0"));
        first.is_some_and(|it| it.count.is_some() && it.name.text(source) == base)
    }

    /// Whether the innermost scope declares a name alone that a new range would give to a register.
    fn is_numbered(&mut self, base: &str, count: u64) -> bool {
        self.innermost().lowest.get(base).is_some_and(|lowest| {
            // ptxas looks at labels only if a name of another kind has a number of the range, too.
            lowest.plain < count || lowest.any < count && lowest.label < count
        })
    }

    /// Whether the innermost scope has the name already. Functions belong to the module, wherever
    /// they are declared, and labels of debug data have names of their own.
    fn is_double(&mut self, name: &str) -> bool {
        let in_body = self.open.len() > 1;
        self.in_scope(name).is_some_and(|it| match it.kind {
            SymbolKind::Function => !in_body,
            SymbolKind::Label => in_body,
            _ => true,
        })
    }

    /// The symbol that a name means if the innermost scope declares it.
    fn in_scope(&mut self, name: &str) -> Option<&Symbol> {
        self.context.settle();
        let (found, depth) = self.context.resolve_at(name)?;
        let id = self.numbers.get(&found.span.start)?;
        (depth as usize == self.context.depth()).then(|| self.names.symbol(*id))
    }

    fn declare(&mut self, kind: SymbolKind, name: Span, is_double: bool) -> SymbolId {
        let id = SymbolId(self.names.symbols.len() as u32);
        self.numbers.insert(name.start, id);
        self.names.is_doubtful |= is_double;
        let scope = self.innermost().scope;
        let number = self.next_number();
        self.names.symbols.push(Symbol {
            kind,
            name,
            declaration: name,
            space: None,
            ty: None,
            count: None,
            scope,
            is_exported: false,
            is_extern: false,
            is_double,
            noreturn: None,
            body: Span::at(name.end),
            plain_ty: None,
            number,
            registers: 0,
        });
        let meaning = Some(Meaning { symbol: id, number });
        self.names.uses.push(Use::new(name, meaning, true));
        id
    }

    /// Declares a name that is not a range.
    fn bind(&mut self, name: &'t str, kind: DeclaredKind<'t>, span: Span) {
        self.context.declare(name, kind, span);
        self.seen.remove(name);
        let (base, number) = split(name);
        if let Some(number) = number {
            self.single.insert(base);
            self.near.retain(|(it, _)| *it != base);
            let none = Lowest { any: u64::MAX, plain: u64::MAX, label: u64::MAX };
            let lowest = self.innermost().lowest.entry(base).or_insert(none);
            let is_plain = has_plain_number(name);
            let places: &mut [&mut u64] = match kind {
                DeclaredKind::Label if is_plain => &mut [&mut lowest.label],
                DeclaredKind::Label => &mut [],
                _ if is_plain => &mut [&mut lowest.any, &mut lowest.plain],
                _ => &mut [&mut lowest.any],
            };
            for place in places {
                **place = number.min(**place);
            }
        }
    }

    /// The meaning of a symbol as a whole.
    fn whole(&self, symbol: SymbolId) -> Meaning {
        Meaning { symbol, number: self.names.symbol(symbol).number }
    }

    fn next_number(&mut self) -> NonZeroU32 {
        self.names.meanings += 1;
        NonZeroU32::new(self.names.meanings).expect("it has just grown")
    }

    /// Gives numbers to the registers of the range that was declared last, unless all ranges
    /// together have too many registers for the length of the text.
    fn number_registers(&mut self, range: SymbolId, count: u64) {
        if let Some(left) = self.unnumbered.checked_sub(count) {
            self.unnumbered = left;
            self.names.meanings += count as u32;
            self.names.symbols[range.index()].registers = count as u32;
        }
    }

    /// The meaning of a name here; `None` if nothing has declared it so far.
    fn meaning(&mut self, name: &'t str) -> Option<Meaning> {
        let (base, number) = split(name);
        if let Some(number) = number
            // Most names have two or three bytes: a call to compare them would take longer.
            && let Some((_, range)) = self.near.iter().find(|it| it.0.bytes().eq(base.bytes()))
            && number < range.count
        {
            return Some(range.register(number));
        }
        if let Some(&meaning) = self.seen.get(name) {
            return meaning;
        }
        let meaning = self.resolve(name).map(|symbol| self.looked_up(symbol, base, number));
        self.seen.insert(name, meaning);
        meaning
    }

    /// The meaning of a name whose symbol is known.
    fn looked_up(&mut self, symbol: SymbolId, base: &'t str, register: Option<u64>) -> Meaning {
        let Symbol { name, count, number, registers, .. } = *self.names.symbol(symbol);
        let (Some(count), Some(register)) = (count, register) else {
            return self.whole(symbol);
        };
        if registers > 0 {
            let range = NumberedRange { symbol, count, number };
            // If a range hides a wider one, larger numbers belong to the wider range.
            let is_innermost = self.context.outside_range(base);
            if is_innermost.is_some_and(|(span, _)| span.start == name.start)
                && self.near.len() < NEAR
                && !self.single.contains(base)
            {
                self.near.push((base, range));
            }
            return range.register(register);
        }
        if let Some(&number) = self.numbered.get(&(symbol, register)) {
            return Meaning { symbol, number };
        }
        let number = self.next_number();
        self.numbered.insert((symbol, register), number);
        self.names.apart.push(Apart { number, symbol, register });
        Meaning { symbol, number }
    }

    fn resolve(&mut self, name: &str) -> Option<SymbolId> {
        self.context.settle();
        let found = self.context.resolve(name)?;
        self.numbers.get(&found.span.start).copied()
    }

    fn use_of(&mut self, span: Span) {
        let kind = self.name(span);
        if matches!(kind, None | Some(SymbolKind::Label)) {
            let number = self.names.uses.len() as u32 - 1;
            let name = span.text(self.source);
            let own = self.innermost();
            own.waiting.entry(name).or_default().push(number);
            if kind.is_some() {
                own.early.insert(name);
            }
        }
    }

    /// Adds a use. Returns the kind of its symbol.
    fn name(&mut self, span: Span) -> Option<SymbolKind> {
        let meaning = self.meaning(span.text(self.source));
        self.names.uses.push(Use::new(span, meaning, false));
        meaning.map(|it| self.names.symbol(it.symbol).kind)
    }
}

/// A name without the digits at its end, and the number of its register, if there are any.
fn split(name: &str) -> (&str, Option<u64>) {
    let count = name.bytes().rev().take_while(u8::is_ascii_digit).count();
    let (base, digits) = name.split_at(name.len() - count);
    (base, register_number(digits).map(u64::from))
}

/// Whether the number at the end of a name has no leading zero: ptxas takes `%r<10>` after a
/// declaration of `%r07`.
fn has_plain_number(name: &str) -> bool {
    let digits = &name[split(name).0.len()..];
    !digits.starts_with('0') || digits == "0"
}

/// The place of a word of a declaration.
fn word_span(source: &str, words: &[Token], word: Option<&str>) -> Option<Span> {
    let mut spans = words.iter().map(|word| word.span());
    spans.find(|span| Some(span.text(source)) == word)
}
