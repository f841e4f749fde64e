//! New names for registers, labels, parameters and internal symbols.

use std::fmt::Write;
use std::num::NonZeroU32;

use super::reading::{FunctionSpans, Globals, Reading, Within};
use crate::hash::Map;
use crate::names::{Meaning, SymbolKind, Use};
use crate::source::Span;

/// The new names of a text.
#[derive(Default)]
pub(super) struct Renaming {
    /// The numbers of the new names of local symbols and registers, by meaning.
    locals: Vec<Option<NonZeroU32>>,
    new: NewNames,
    /// The declarations of registers to write after the `{` at an offset, in order.
    pub(super) declarations: Vec<(u32, String)>,
}

/// A list of names in one string.
#[derive(Default)]
struct NewNames {
    text: String,
    ends: Vec<u32>,
}

impl NewNames {
    /// Adds a name and returns its number, from 1.
    fn push(&mut self, name: &str) -> NonZeroU32 {
        self.text.push_str(name);
        self.ends.push(self.text.len() as u32);
        NonZeroU32::new(self.ends.len() as u32).expect("it has just grown")
    }

    fn get(&self, number: NonZeroU32) -> &str {
        let at = number.get() as usize - 1;
        let start = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.text[start as usize..self.ends[at] as usize]
    }
}

impl Renaming {
    /// Names everything in the order of its use. Adds to `dropped` the declarations and labels that
    /// are left out.
    pub(super) fn new<'s>(
        part: &Reading<'s>,
        globals: &Globals<'s>,
        dropped: &mut Vec<Span>,
    ) -> Renaming {
        let names = &part.names;
        let merged = merged(part);
        let mut merged_spans = Within::new(&merged);
        let mut used = vec![false; names.symbols().len()];
        for symbol in part.live().filter(|it| !it.declares()).filter_map(Use::symbol) {
            used[symbol.index()] = true;
        }
        let mut fresh = Fresh::new(part, globals);
        let locals = vec![None; names.meanings()];
        let mut renaming = Renaming { locals, ..Renaming::default() };
        let mut functions = part.functions.iter().peekable();
        let mut function = None;
        for it in part.live() {
            while let Some(next) = functions.next_if(|next| next.start <= it.span().start) {
                fresh.end_function(function, &mut renaming);
                function = Some(next);
            }
            if merged_spans.has(it.span()) {
                continue;
            }
            let is_unused = it.declares() && it.symbol().is_some_and(|own| !used[own.index()]);
            if is_unused && let Some(label) = label(part, it) {
                dropped.push(label);
                continue;
            }
            if let Some(meaning) = it.meaning() {
                fresh.name(meaning, &mut renaming);
            }
        }
        fresh.end_function(function, &mut renaming);
        dropped.extend(merged);
        renaming
    }

    /// The new name for a use; `None` if the name does not change.
    pub(super) fn text<'r>(
        &'r self,
        use_: &Use,
        part: &Reading<'_>,
        globals: &'r Globals<'_>,
    ) -> Option<&'r str> {
        if let Some(number) = use_.meaning().and_then(|it| self.locals[it.index()]) {
            return Some(self.new.get(number));
        }
        let is_shared = use_.symbol().is_none_or(|symbol| part.is_shared(symbol));
        let new = globals.new.get(use_.span().text(part.text())).filter(|_| is_shared);
        new.map(String::as_str)
    }
}

/// The declarations in functions that declare only registers, and no vectors.
fn merged(part: &Reading) -> Vec<Span> {
    let bodies: Vec<Span> = part.functions.iter().map(|function| function.body).collect();
    let registers = part.names.symbols().filter(|(_, it)| it.plain_ty.is_some());
    let mut spans: Vec<Span> = registers.map(|(_, it)| it.declaration).collect();
    spans.dedup();
    spans.retain(|declaration| declaration.is_in(&bodies));
    spans
}

/// The label that a use declares, with its colon. `None` for other symbols, and for labels that a
/// directive needs.
fn label(part: &Reading, declares: &Use) -> Option<Span> {
    let at = part.labels.binary_search_by_key(&declares.span().start, |it| it.start);
    Some(part.labels[at.ok()?])
}

/// Makes names.
struct Fresh<'p, 's> {
    part: &'p Reading<'s>,
    globals: &'p Globals<'s>,
    /// The names of symbols other than registers, by their prefix.
    others: Map<&'static str, Counted>,
    /// The types of registers, sorted.
    registers: Vec<Registers<'s>>,
}

/// Names of one prefix with consecutive numbers. All functions share them.
#[derive(Default)]
struct Counted {
    /// How many of the names the current function has.
    count: usize,
    numbers: Vec<NonZeroU32>,
}

impl Counted {
    /// The number of the next name among all new names.
    fn next(&mut self, make: impl FnOnce(u64) -> NonZeroU32) -> NonZeroU32 {
        self.count += 1;
        if self.numbers.len() < self.count {
            self.numbers.push(make(self.count as u64));
        }
        self.numbers[self.count - 1]
    }
}

/// The registers of a type.
struct Registers<'s> {
    ty: &'s str,
    /// The prefix of their names, such as `%r` for `.b32`.
    prefix: String,
    names: Counted,
}

impl<'p, 's> Fresh<'p, 's> {
    fn new(part: &'p Reading<'s>, globals: &'p Globals<'s>) -> Fresh<'p, 's> {
        Fresh { part, globals, others: Map::default(), registers: Vec::new() }
    }

    /// Makes a name for a symbol or register that only its function sees, unless it already has one
    /// or keeps its name.
    fn name(&mut self, meaning: Meaning, renaming: &mut Renaming) {
        let id = meaning.symbol();
        let own = &mut renaming.locals[meaning.index()];
        if own.is_some() || self.part.is_shared(id) || self.part.stays(id) {
            return;
        }
        let symbol = self.part.names.symbol(id);
        let all = &mut renaming.new;
        let name = match symbol.kind {
            SymbolKind::Register if symbol.plain_ty.is_some() => {
                let ty = symbol.plain_ty.map_or("", |ty| ty.text(self.part.text()));
                let Registers { prefix, names, .. } = self.registers(ty);
                names.next(|count| all.push(&format!("{prefix}{count}")))
            }
            SymbolKind::Register => self.counted("%v", all),
            SymbolKind::Variable | SymbolKind::Function => self.counted("local_", all),
            SymbolKind::Parameter => self.counted("param_", all),
            SymbolKind::Label => self.counted("$L", all),
        };
        *own = Some(name);
    }

    fn counted(&mut self, prefix: &'static str, all: &mut NewNames) -> NonZeroU32 {
        let names = self.others.entry(prefix).or_default();
        names.next(|count| all.push(&self.globals.free(prefix, count)))
    }

    /// The registers of a type.
    fn registers(&mut self, ty: &'s str) -> &mut Registers<'s> {
        let at = match self.registers.binary_search_by_key(&ty, |it| it.ty) {
            Ok(at) => at,
            Err(at) => {
                let prefix = self.prefix(ty);
                self.registers.insert(at, Registers { ty, prefix, names: Counted::default() });
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
            // The name of a range must not end with a digit.
            _ => &format!("%{}_", ty.trim_start_matches('.')),
        };
        self.globals.free_range(prefix)
    }

    /// Declares the registers of a function, and starts the names of the next one.
    fn end_function(&mut self, function: Option<&FunctionSpans>, renaming: &mut Renaming) {
        self.others.values_mut().for_each(|names| names.count = 0);
        let mut text = String::new();
        for Registers { ty, prefix, names } in &mut self.registers {
            let count = std::mem::take(&mut names.count);
            if count > 0 {
                // Writing to a string never fails.
                let _ = write!(text, "\n.reg {ty} {prefix}<{}>;", count + 1);
            }
        }
        if let Some(function) = function {
            renaming.declarations.push((function.body.start, text));
        }
    }
}
