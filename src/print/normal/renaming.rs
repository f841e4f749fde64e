//! New names for registers, labels, parameters and internal symbols.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::hash::{Map, Set};
use crate::names::{FunctionSpans, Names, SymbolKind, Use};
use crate::source::Span;
use crate::syntax::lexer::Lexer;

/// The new names of a text.
#[derive(Default)]
pub(super) struct Renaming {
    /// The name in place of the one at an offset.
    pub(super) names: Map<u32, String>,
    /// The declarations of registers after the `{` at an offset.
    pub(super) declarations: Map<u32, String>,
}

impl Renaming {
    /// Names everything in the order of its use. Adds the declarations and labels that are
    /// left out to `dropped`, which has other parts that are left out.
    pub(super) fn new(
        source: &str,
        names: &Names,
        keeps_debug: bool,
        dropped: &mut Vec<Span>,
    ) -> Renaming {
        let live = names.uses.iter().filter(|it| !is_within(dropped, it.span));
        let live: Vec<&Use> = live.filter(|it| it.symbol.is_some()).collect();
        let merged = merged(names);
        let used: Set<u32> =
            live.iter().filter(|it| !it.declares).filter_map(|it| it.symbol).collect();
        let mut fresh = Fresh::new(source, names, keeps_debug);
        let mut renaming = Renaming::default();
        let mut functions = names.functions.iter().peekable();
        let mut function = None;
        for it in live {
            while let Some(next) = functions.next_if(|next| next.header.start <= it.span.start) {
                fresh.end_function(function, &mut renaming);
                function = Some(next);
            }
            if is_within(&merged, it.span) {
                continue;
            }
            let is_unused = it.declares && it.symbol.is_some_and(|own| !used.contains(&own));
            if is_unused && let Some(label) = label(source, names, it) {
                dropped.push(label);
                continue;
            }
            if let Some(name) = fresh.name(it) {
                renaming.names.insert(it.span.start, name);
            }
        }
        fresh.end_function(function, &mut renaming);
        dropped.extend(merged);
        renaming
    }
}

/// Whether a span lies in one of several sorted spans.
fn is_within(spans: &[Span], span: Span) -> bool {
    let next = spans.partition_point(|other| other.end < span.end);
    spans.get(next).is_some_and(|other| other.start <= span.start)
}

/// The declarations in functions that declare nothing but registers that are no vectors.
fn merged(names: &Names) -> Vec<Span> {
    let bodies: Vec<Span> = names.functions.iter().map(|function| function.body).collect();
    let mut merged: BTreeMap<Span, bool> = BTreeMap::new();
    for symbol in names.symbols.iter().filter(|it| it.kind == SymbolKind::Register) {
        let is_plain = !symbol.ty.is_empty() && is_within(&bodies, symbol.declaration);
        *merged.entry(symbol.declaration).or_insert(true) &= is_plain;
    }
    merged.into_iter().filter(|(_, is_plain)| *is_plain).map(|(span, _)| span).collect()
}

/// The label that a use declares, with its colon. `None` for other symbols, and before
/// directives that need a label.
fn label(source: &str, names: &Names, declares: &Use) -> Option<Span> {
    let symbol = names.symbol(declares.symbol?);
    if symbol.kind != SymbolKind::Label {
        return None;
    }
    let mut lexer = Lexer::new(source, declares.span.end as usize);
    let colon = lexer.token().filter(|token| token.is(b':'))?;
    let next = lexer.token().map_or("", |next| next.span.text(source));
    let needs = matches!(next, ".branchtargets" | ".calltargets" | ".callprototype");
    (!needs).then(|| declares.span.to(colon.span))
}

/// The words of a declaration that make a name known to others.
const EXPORTS: [&str; 4] = [".visible", ".extern", ".weak", ".common"];

/// Makes names.
struct Fresh<'s> {
    source: &'s str,
    names: &'s Names,
    /// The symbols that data of debuggers names, which sees all functions.
    debugged: Set<u32>,
    /// Names that stay.
    kept: Set<&'s str>,
    /// The new names of symbols, and of registers of ranges by their numbers.
    new: Map<(u32, Option<u64>), String>,
    /// How many names of a kind the text has, and the current function.
    globals: Map<&'static str, u64>,
    locals: Map<&'static str, u64>,
    /// How many registers of a type the function has.
    registers: BTreeMap<&'s str, u64>,
    /// The start of the names of registers of a type, such as `%r` for `.b32`.
    prefixes: Map<&'s str, String>,
}

impl<'s> Fresh<'s> {
    fn new(source: &'s str, names: &'s Names, keeps_debug: bool) -> Fresh<'s> {
        let mut fresh = Fresh {
            source,
            names,
            debugged: Set::default(),
            kept: Set::default(),
            new: Map::default(),
            globals: Map::default(),
            locals: Map::default(),
            registers: BTreeMap::new(),
            prefixes: Map::default(),
        };
        if keeps_debug {
            let debugging = names.uses.iter().filter(|it| is_within(&names.debug, it.span));
            fresh.debugged = debugging.filter_map(|it| it.symbol).collect();
        }
        for (symbol, number) in names.symbols.iter().zip(0..) {
            if fresh.stays(number) {
                fresh.kept.insert(symbol.name.text(source));
            }
        }
        // Names that nothing declares stay, too.
        let foreign = names.uses.iter().filter(|it| it.symbol.is_none());
        fresh.kept.extend(foreign.map(|it| it.span.text(source)));
        fresh
    }

    /// Whether others may know a symbol by its name, or the name cannot be changed.
    fn stays(&self, number: u32) -> bool {
        if self.debugged.contains(&number) {
            return true;
        }
        let symbol = self.names.symbol(number);
        match symbol.kind {
            // ptxas puts tables of functions in an order of their names.
            SymbolKind::Function => true,
            SymbolKind::Variable if symbol.is_global => {
                let before = Span::new(symbol.declaration.start, symbol.name.start);
                let mut words = before.text(self.source).split([' ', '\t', '\r', '\n', '(']);
                words.any(|word| EXPORTS.contains(&word))
            }
            // Vectors in ranges, and registers outside of functions, are rare.
            SymbolKind::Register => {
                symbol.is_global || symbol.ty.is_empty() && symbol.count.is_some()
            }
            _ => false,
        }
    }

    /// The new name for a use, unless the old one stays.
    fn name(&mut self, use_: &Use) -> Option<String> {
        let number = use_.symbol?;
        let symbol = self.names.symbol(number);
        if self.stays(number) {
            return None;
        }
        let key = (number, self.names.register(self.source, *use_));
        if let Some(name) = self.new.get(&key) {
            return Some(name.clone());
        }
        let name = match symbol.kind {
            SymbolKind::Register if !symbol.ty.is_empty() => {
                let ty = symbol.ty.text(self.source);
                let count = self.registers.entry(ty).or_default();
                *count += 1;
                let count = *count;
                format!("{}{count}", self.prefix(ty))
            }
            SymbolKind::Register => self.counted("%v", false),
            SymbolKind::Variable if symbol.is_global => self.counted("global_", true),
            SymbolKind::Variable | SymbolKind::Function => self.counted("local_", false),
            SymbolKind::Parameter => self.counted("param_", false),
            SymbolKind::Label => self.counted("$L", false),
        };
        self.new.insert(key, name.clone());
        Some(name)
    }

    fn counted(&mut self, prefix: &'static str, is_global: bool) -> String {
        let counts = if is_global { &mut self.globals } else { &mut self.locals };
        let count = counts.entry(prefix).or_default();
        *count += 1;
        let mut name = format!("{prefix}{count}");
        while self.kept.contains(&*name) {
            name.push('_');
        }
        name
    }

    fn prefix(&mut self, ty: &'s str) -> &str {
        let kept = &self.kept;
        self.prefixes.entry(ty).or_insert_with(|| {
            let mut prefix = match ty {
                ".pred" => "%p".into(),
                ".b16" => "%rs".into(),
                ".b32" => "%r".into(),
                ".b64" => "%rd".into(),
                ".f32" => "%f".into(),
                ".f64" => "%fd".into(),
                // The name of a range does not end with a digit.
                _ => format!("%{}_", ty.trim_start_matches('.')),
            };
            let collides = |prefix: &str| {
                kept.iter()
                    .filter_map(|kept| kept.strip_prefix(prefix))
                    .any(|rest| rest.bytes().all(|byte| byte.is_ascii_digit()))
            };
            while collides(&prefix) {
                prefix.push('_');
            }
            prefix
        })
    }

    /// Declares the registers of a function, and starts the next one.
    fn end_function(&mut self, function: Option<&FunctionSpans>, renaming: &mut Renaming) {
        self.locals.clear();
        let registers = std::mem::take(&mut self.registers);
        let Some(function) = function else { return };
        let mut text = String::new();
        for (ty, count) in registers {
            let _ = write!(text, "\n.reg {ty} {}<{}>;", self.prefix(ty), count + 1);
        }
        renaming.declarations.insert(function.body.start, text);
    }
}
