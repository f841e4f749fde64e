//! New names for registers, labels, parameters and internal symbols.

use std::collections::BTreeMap;
use std::fmt::{self, Write};

use super::reading::{Globals, Reading, Within};
use crate::hash::Map;
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
    /// Adds a name and returns its number.
    fn push(&mut self, name: fmt::Arguments<'_>) -> u32 {
        // Writing to a string never fails.
        let _ = self.text.write_fmt(name);
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
    /// left out to `dropped`.
    pub(super) fn new<'s>(
        part: &Reading<'s>,
        globals: &Globals<'s>,
        dropped: &mut Vec<Span>,
    ) -> Renaming {
        let names = &part.names;
        let merged = merged(names);
        let mut merged_spans = Within::new(&merged);
        let mut used = vec![false; names.symbols.len()];
        for symbol in part.live().filter(|it| !it.declares).filter_map(|it| it.symbol) {
            used[symbol as usize] = true;
        }
        let mut fresh = Fresh::new(part, globals);
        let mut renaming = Renaming::default();
        let mut functions = names.functions.iter().peekable();
        let mut function = None;
        for it in part.live() {
            while let Some(next) = functions.next_if(|next| next.header.start <= it.span.start) {
                fresh.end_function(function, &mut renaming);
                function = Some(next);
            }
            if merged_spans.has(it.span) {
                continue;
            }
            let is_unused = it.declares && it.symbol.is_some_and(|own| !used[own as usize]);
            if is_unused && let Some(label) = label(part.text, names, it) {
                dropped.push(label);
                continue;
            }
            if let Some(name) = fresh.name(it, &mut renaming.new) {
                renaming.names.push((it.span.start, name));
            }
        }
        fresh.end_function(function, &mut renaming);
        dropped.extend(merged);
        renaming
    }

    /// A new name.
    pub(super) fn text(&self, number: u32) -> &str {
        self.new.get(number)
    }
}

/// The declarations in functions that declare nothing but registers that are no vectors.
fn merged(names: &Names) -> Vec<Span> {
    let bodies: Vec<Span> = names.functions.iter().map(|function| function.body).collect();
    let mut merged: BTreeMap<Span, bool> = BTreeMap::new();
    for symbol in names.symbols.iter().filter(|it| it.kind == SymbolKind::Register) {
        let is_plain = !symbol.ty.is_empty() && symbol.declaration.is_in(&bodies);
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
struct Fresh<'p, 's> {
    part: &'p Reading<'s>,
    globals: &'p Globals<'s>,
    /// The new names of the symbols of a function, and of registers of ranges by their numbers;
    /// and those of all functions.
    new_locals: Map<(u32, Option<u64>), u32>,
    new_globals: Map<&'s str, u32>,
    /// How many names of a kind the function has.
    counts: Map<&'static str, u64>,
    /// How many registers of a type the function has.
    registers: BTreeMap<&'s str, u64>,
    /// The start of the names of registers of a type, such as `%r` for `.b32`.
    prefixes: Map<&'s str, String>,
}

impl<'p, 's> Fresh<'p, 's> {
    fn new(part: &'p Reading<'s>, globals: &'p Globals<'s>) -> Fresh<'p, 's> {
        Fresh {
            part,
            globals,
            new_locals: Map::default(),
            new_globals: Map::default(),
            counts: Map::default(),
            registers: BTreeMap::new(),
            prefixes: Map::default(),
        }
    }

    /// The new name for a use, unless the old one stays.
    fn name(&mut self, use_: &Use, all: &mut NewNames) -> Option<u32> {
        let names = &self.part.names;
        let Some(number) = use_.symbol.filter(|number| !self.part.is_shared(*number)) else {
            let old = use_.span.text(self.part.text);
            let new = self.globals.new.get(old)?;
            return Some(
                *self.new_globals.entry(old).or_insert_with(|| all.push(format_args!("{new}"))),
            );
        };
        let key = (number, names.register(self.part.text, *use_));
        if let Some(name) = self.new_locals.get(&key) {
            return Some(*name);
        }
        if self.part.stays(number) {
            return None;
        }
        let symbol = names.symbol(number);
        let name = match symbol.kind {
            SymbolKind::Register if !symbol.ty.is_empty() => {
                let ty = symbol.ty.text(self.part.text);
                let count = self.registers.entry(ty).or_default();
                *count += 1;
                let count = *count;
                all.push(format_args!("{}{count}", self.prefix(ty)))
            }
            SymbolKind::Register => self.counted("%v", all),
            SymbolKind::Variable | SymbolKind::Function => self.counted("local_", all),
            SymbolKind::Parameter => self.counted("param_", all),
            SymbolKind::Label => self.counted("$L", all),
        };
        self.new_locals.insert(key, name);
        Some(name)
    }

    fn counted(&mut self, prefix: &'static str, all: &mut NewNames) -> u32 {
        let count = self.counts.entry(prefix).or_default();
        *count += 1;
        all.push(format_args!("{}", self.globals.free(prefix, *count)))
    }

    fn prefix(&mut self, ty: &'s str) -> &str {
        let globals = self.globals;
        self.prefixes.entry(ty).or_insert_with(|| match ty {
            ".pred" => globals.free_range("%p"),
            ".b16" => globals.free_range("%rs"),
            ".b32" => globals.free_range("%r"),
            ".b64" => globals.free_range("%rd"),
            ".f32" => globals.free_range("%f"),
            ".f64" => globals.free_range("%fd"),
            // The name of a range does not end with a digit.
            _ => globals.free_range(&format!("%{}_", ty.trim_start_matches('.'))),
        })
    }

    /// Declares the registers of a function, and starts the next one.
    fn end_function(&mut self, function: Option<&FunctionSpans>, renaming: &mut Renaming) {
        self.counts.clear();
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
