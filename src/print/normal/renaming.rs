//! New names for registers, labels, parameters and internal symbols.

use std::collections::BTreeMap;
use std::fmt::{self, Write};

use crate::hash::{Map, Set};
use crate::names::{FunctionSpans, Names, SymbolKind, Use};
use crate::source::Span;
use crate::syntax::lexer::Lexer;

/// The new names of a text.
#[derive(Default)]
pub(super) struct Renaming {
    /// The places of names that change, in order, with the numbers of the new ones.
    pub(super) names: Vec<(u32, u32)>,
    new: NewNames,
    /// The declarations of registers after the `{` at an offset, in order.
    pub(super) declarations: Vec<(u32, String)>,
}

/// Names, one after the other.
#[derive(Default)]
struct NewNames {
    text: String,
    ends: Vec<u32>,
}

impl NewNames {
    /// Adds a name of two parts and returns its number.
    fn push(&mut self, prefix: &str, rest: impl fmt::Display) -> u32 {
        self.text.push_str(prefix);
        // Writing to a string never fails.
        let _ = write!(self.text, "{rest}");
        self.ends.push(self.text.len() as u32);
        self.ends.len() as u32 - 1
    }

    fn get(&self, number: u32) -> &str {
        let start = number.checked_sub(1).map_or(0, |before| self.ends[before as usize]);
        &self.text[start as usize..self.ends[number as usize] as usize]
    }
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
        let mut dropped_spans = Within::new(dropped);
        let live = names.uses.iter().filter(|it| !dropped_spans.has(it.span));
        let live: Vec<&Use> = live.filter(|it| it.symbol.is_some()).collect();
        let merged = merged(names);
        let mut merged_spans = Within::new(&merged);
        let mut used = vec![false; names.symbols.len()];
        for symbol in live.iter().filter(|it| !it.declares).filter_map(|it| it.symbol) {
            used[symbol as usize] = true;
        }
        let mut unused = Vec::new();
        let mut fresh = Fresh::new(source, names, keeps_debug);
        let mut renaming = Renaming::default();
        let mut functions = names.functions.iter().peekable();
        let mut function = None;
        for it in live {
            while let Some(next) = functions.next_if(|next| next.header.start <= it.span.start) {
                fresh.end_function(function, &mut renaming);
                function = Some(next);
            }
            if merged_spans.has(it.span) {
                continue;
            }
            let is_unused = it.declares && it.symbol.is_some_and(|own| !used[own as usize]);
            if is_unused && let Some(label) = label(source, names, it) {
                unused.push(label);
                continue;
            }
            if let Some(name) = fresh.name(it, &mut renaming.new) {
                renaming.names.push((it.span.start, name));
            }
        }
        fresh.end_function(function, &mut renaming);
        dropped.extend(unused);
        dropped.extend(merged);
        renaming
    }

    /// A new name.
    pub(super) fn text(&self, number: u32) -> &str {
        self.new.get(number)
    }
}

/// Whether a span lies in one of several sorted spans.
fn is_within(spans: &[Span], span: Span) -> bool {
    let next = spans.partition_point(|other| other.end < span.end);
    spans.get(next).is_some_and(|other| other.start <= span.start)
}

/// Tells for spans in order whether they lie in one of several sorted spans.
struct Within<'w> {
    spans: &'w [Span],
    next: usize,
}

impl Within<'_> {
    fn new(spans: &[Span]) -> Within<'_> {
        Within { spans, next: 0 }
    }

    fn has(&mut self, span: Span) -> bool {
        while self.spans.get(self.next).is_some_and(|other| other.end < span.end) {
            self.next += 1;
        }
        self.spans.get(self.next).is_some_and(|other| other.start <= span.start)
    }
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

/// Makes names.
struct Fresh<'s> {
    source: &'s str,
    names: &'s Names,
    /// The symbols that data of debuggers names, which sees all functions.
    debugged: Set<u32>,
    /// Names that stay.
    kept: Set<&'s str>,
    /// The new names of the symbols of a function, and of registers of ranges by their numbers;
    /// and those of all functions.
    new_locals: Map<(u32, Option<u64>), u32>,
    new_globals: Map<u32, u32>,
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
            new_locals: Map::default(),
            new_globals: Map::default(),
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
            SymbolKind::Variable => symbol.is_exported(self.source),
            // Vectors in ranges, and registers outside of functions, are rare.
            SymbolKind::Register => {
                symbol.is_global || symbol.ty.is_empty() && symbol.count.is_some()
            }
            _ => false,
        }
    }

    /// The new name for a use, unless the old one stays.
    fn name(&mut self, use_: &Use, all: &mut NewNames) -> Option<u32> {
        let number = use_.symbol?;
        let symbol = self.names.symbol(number);
        let key = (number, self.names.register(self.source, *use_));
        let is_global = symbol.is_global;
        let known =
            if is_global { self.new_globals.get(&number) } else { self.new_locals.get(&key) };
        if let Some(name) = known {
            return Some(*name);
        }
        if self.stays(number) {
            return None;
        }
        let name = match symbol.kind {
            SymbolKind::Register if !symbol.ty.is_empty() => {
                let ty = symbol.ty.text(self.source);
                let count = self.registers.entry(ty).or_default();
                *count += 1;
                let count = *count;
                all.push(self.prefix(ty), count)
            }
            SymbolKind::Register => self.counted("%v", false, all),
            SymbolKind::Variable if symbol.is_global => self.counted("global_", true, all),
            SymbolKind::Variable | SymbolKind::Function => self.counted("local_", false, all),
            SymbolKind::Parameter => self.counted("param_", false, all),
            SymbolKind::Label => self.counted("$L", false, all),
        };
        if is_global {
            self.new_globals.insert(number, name);
        } else {
            self.new_locals.insert(key, name);
        }
        Some(name)
    }

    fn counted(&mut self, prefix: &'static str, is_global: bool, all: &mut NewNames) -> u32 {
        let counts = if is_global { &mut self.globals } else { &mut self.locals };
        let count = counts.entry(prefix).or_default();
        *count += 1;
        let mut rest = count.to_string();
        while self.kept.contains(&*format!("{prefix}{rest}")) {
            rest.push('_');
        }
        all.push(prefix, rest)
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
        self.new_locals.clear();
        let registers = std::mem::take(&mut self.registers);
        let Some(function) = function else { return };
        let mut text = String::new();
        for (ty, count) in registers {
            let _ = write!(text, "\n.reg {ty} {}<{}>;", self.prefix(ty), count + 1);
        }
        renaming.declarations.push((function.body.start, text));
    }
}
