//! New names for registers, labels, parameters and internal symbols.

use std::fmt::Write;

use super::reading::{FunctionSpans, Globals, Reading, Within};
use crate::hash::Map;
use crate::names::{SymbolKind, Use};
use crate::source::Span;

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
    fn push(&mut self, name: &str) -> u32 {
        self.text.push_str(name);
        self.end()
    }

    /// Adds a name that ends with a number.
    fn push_counted(&mut self, prefix: &str, count: u64) -> u32 {
        self.text.push_str(prefix);
        push_decimal(&mut self.text, count);
        self.end()
    }

    fn end(&mut self) -> u32 {
        self.ends.push(self.text.len() as u32);
        self.ends.len() as u32 - 1
    }

    fn get(&self, number: u32) -> &str {
        let start = number.checked_sub(1).map_or(0, |before| self.ends[before as usize]);
        &self.text[start as usize..self.ends[number as usize] as usize]
    }
}

/// Takes less time than the general formatting of numbers, and names are many.
fn push_decimal(text: &mut String, number: u64) {
    if number >= 10 {
        push_decimal(text, number / 10);
    }
    text.push(char::from(b'0' + (number % 10) as u8));
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
        let merged = merged(part);
        let mut merged_spans = Within::new(&merged);
        let mut used = vec![false; names.symbols().len()];
        for symbol in part.live().filter(|it| !it.declares).filter_map(Use::symbol) {
            used[symbol.index()] = true;
        }
        let mut fresh = Fresh::new(part, globals);
        let mut renaming = Renaming::default();
        renaming.names.reserve(names.uses().len());
        let mut functions = part.functions.iter().peekable();
        let mut function = None;
        for it in part.live() {
            while let Some(next) = functions.next_if(|next| next.start <= it.span.start) {
                fresh.end_function(function, &mut renaming);
                function = Some(next);
            }
            if merged_spans.has(it.span) {
                continue;
            }
            let is_unused = it.declares && it.symbol().is_some_and(|own| !used[own.index()]);
            if is_unused && let Some(label) = label(part, it) {
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
fn merged(part: &Reading) -> Vec<Span> {
    let bodies: Vec<Span> = part.functions.iter().map(|function| function.body).collect();
    let registers = part.names.symbols().filter(|(_, it)| it.plain_ty.is_some());
    let mut spans: Vec<Span> = registers.map(|(_, it)| it.declaration).collect();
    spans.dedup();
    spans.retain(|declaration| declaration.is_in(&bodies));
    spans
}

/// The label that a use declares, with its colon. `None` for other symbols, and before
/// directives that need a label.
fn label(part: &Reading, declares: &Use) -> Option<Span> {
    let at = part.labels.binary_search_by_key(&declares.span.start, |it| it.start);
    Some(part.labels[at.ok()?])
}

/// Makes names.
struct Fresh<'p, 's> {
    part: &'p Reading<'s>,
    globals: &'p Globals<'s>,
    /// The new names of symbols and registers of functions, by the numbers of their meanings.
    new_locals: Vec<Option<u32>>,
    /// The new names of variables that all functions see.
    new_globals: Map<&'s str, u32>,
    /// How many names of a kind the function has.
    counts: Map<&'static str, u64>,
    /// The types of registers, in order.
    registers: Vec<Registers<'s>>,
}

/// The registers of a type.
struct Registers<'s> {
    ty: &'s str,
    /// The start of their names, such as `%r` for `.b32`.
    prefix: String,
    /// How many of them the function has.
    count: u64,
}

impl<'p, 's> Fresh<'p, 's> {
    fn new(part: &'p Reading<'s>, globals: &'p Globals<'s>) -> Fresh<'p, 's> {
        Fresh {
            part,
            globals,
            new_locals: vec![None; part.names.meanings()],
            new_globals: Map::default(),
            counts: Map::default(),
            registers: Vec::new(),
        }
    }

    /// The new name for a use, unless the old one stays.
    fn name(&mut self, use_: &Use, all: &mut NewNames) -> Option<u32> {
        let names = &self.part.names;
        let Some(meaning) = use_.meaning.filter(|it| !self.part.is_shared(it.symbol())) else {
            let old = use_.span.text(self.part.text());
            let new = self.globals.new.get(old)?;
            return Some(*self.new_globals.entry(old).or_insert_with(|| all.push(new)));
        };
        if let Some(name) = self.new_locals[meaning.index()] {
            return Some(name);
        }
        if self.part.stays(meaning.symbol()) {
            return None;
        }
        let symbol = names.symbol(meaning.symbol());
        let name = match symbol.kind {
            SymbolKind::Register if symbol.plain_ty.is_some() => {
                let ty = symbol.plain_ty.map_or("", |ty| ty.text(self.part.text()));
                let registers = self.registers(ty);
                registers.count += 1;
                all.push_counted(&registers.prefix, registers.count)
            }
            SymbolKind::Register => self.counted("%v", all),
            SymbolKind::Variable | SymbolKind::Function => self.counted("local_", all),
            SymbolKind::Parameter => self.counted("param_", all),
            SymbolKind::Label => self.counted("$L", all),
        };
        self.new_locals[meaning.index()] = Some(name);
        Some(name)
    }

    fn counted(&mut self, prefix: &'static str, all: &mut NewNames) -> u32 {
        let count = self.counts.entry(prefix).or_default();
        *count += 1;
        all.push(&self.globals.free(prefix, *count))
    }

    /// The registers of a type.
    fn registers(&mut self, ty: &'s str) -> &mut Registers<'s> {
        let at = match self.registers.binary_search_by_key(&ty, |it| it.ty) {
            Ok(at) => at,
            Err(at) => {
                let prefix = self.prefix(ty);
                self.registers.insert(at, Registers { ty, prefix, count: 0 });
                at
            }
        };
        &mut self.registers[at]
    }

    fn prefix(&self, ty: &str) -> String {
        let prefix = match ty {
            ".pred" => "%p",
            ".b16" => "%rs",
            ".b32" => "%r",
            ".b64" => "%rd",
            ".f32" => "%f",
            ".f64" => "%fd",
            // The name of a range does not end with a digit.
            _ => &format!("%{}_", ty.trim_start_matches('.')),
        };
        self.globals.free_range(prefix)
    }

    /// Declares the registers of a function, and starts the next one.
    fn end_function(&mut self, function: Option<&FunctionSpans>, renaming: &mut Renaming) {
        self.counts.clear();
        let mut text = String::new();
        for Registers { ty, prefix, count } in self.registers.iter_mut().filter(|it| it.count > 0) {
            // Writing to a string never fails.
            let _ = write!(text, "\n.reg {ty} {prefix}<{}>;", *count + 1);
            *count = 0;
        }
        if let Some(function) = function {
            renaming.declarations.push((function.body.start, text));
        }
    }
}
