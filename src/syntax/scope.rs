//! What is declared where: the names a statement can see.

use std::collections::HashMap;
use std::collections::hash_map::Entry as MapEntry;

use crate::isa::{PtxVersion, RegisterType, Target};
use crate::source::Span;

/// A declared name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Symbol<'s> {
    /// What the name stands for.
    pub kind: SymbolKind<'s>,
    /// The name in its declaration.
    pub span: Span,
}

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SymbolKind<'s> {
    /// A register of the type written, dot included.
    Register(&'s str),
    /// A vector register, `.v2` or `.v4`.
    Vector,
    /// A variable in the state space written, dot included; parameters too.
    Variable(&'s str),
    /// A kernel or device function.
    Function,
    /// A label.
    Label,
}

impl SymbolKind<'_> {
    /// The class of register it is, if it is one.
    pub fn register_type(self) -> Option<RegisterType> {
        match self {
            SymbolKind::Register(ty) => Some(RegisterType::from_text(ty)),
            SymbolKind::Vector => Some(RegisterType::Other),
            _ => None,
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Entry<'s> {
    name: &'s str,
    symbol: Symbol<'s>,
    depth: u32,
    /// For `%r<100>`: the number; the name is then the part before it.
    count: Option<u64>,
    /// The entry this one hides.
    hidden: Option<u32>,
}

/// The module context of a statement: the names it sees, and the gates set by
/// the directives before it.
#[derive(Debug, Default)]
pub struct Context<'s> {
    /// The `.version` in force, and where it stands.
    pub version: Option<(PtxVersion, Span)>,
    /// The `.target` in force, the last one written, as ptxas reads it; and
    /// where it stands.
    pub target: Option<(Target, Span)>,
    /// Whether the text is a module rather than a bare list of statements.
    pub is_module: bool,
    entries: Vec<Entry<'s>>,
    names: HashMap<&'s str, u32>,
    ranges: HashMap<&'s str, u32>,
    scopes: Vec<Scope>,
}

#[derive(Debug)]
struct Scope {
    open: u32,
    entries: usize,
}

impl<'s> Context<'s> {
    /// Number of open braces.
    pub fn depth(&self) -> usize {
        self.scopes.len()
    }

    /// Offset of the innermost open brace.
    pub fn innermost(&self) -> Option<u32> {
        self.scopes.last().map(|scope| scope.open)
    }

    /// The symbol a name stands for here.
    pub fn resolve(&self, name: &str) -> Option<Symbol<'s>> {
        let exact = self.names.get(name).map(|&at| &self.entries[at as usize]);
        let range = self.resolve_range(name);
        let found = match (exact, range) {
            (Some(exact), Some(range)) if range.depth > exact.depth => range,
            (Some(entry), _) | (None, Some(entry)) => entry,
            (None, None) => return None,
        };
        Some(found.symbol)
    }

    /// `%r7` in `%r<10>`. ptxas splits off all trailing digits, so `r1<10>`
    /// declares nothing that could be named, and reads `%r07` as `%r7`.
    fn resolve_range(&self, name: &str) -> Option<&Entry<'s>> {
        let base = name.trim_end_matches(|c: char| c.is_ascii_digit());
        let mut at = *self.ranges.get(base)?;
        let number: u64 = name.get(base.len()..)?.parse().ok()?;
        loop {
            let entry = &self.entries[at as usize];
            if entry.count.is_some_and(|count| number < count) {
                return Some(entry);
            }
            at = entry.hidden?;
        }
    }

    /// The declaration of `%r<10>` that a name such as `%r12` lies outside of:
    /// its place, and how many registers it declares.
    pub fn outside_range(&self, name: &str) -> Option<(Span, u64)> {
        let base = name.trim_end_matches(|c: char| c.is_ascii_digit());
        let entry = &self.entries[*self.ranges.get(base)? as usize];
        Some((entry.symbol.span, entry.count?))
    }

    pub(super) fn declare(&mut self, name: &'s str, kind: SymbolKind<'s>, span: Span) {
        self.insert(name, Symbol { kind, span }, None);
    }

    pub(super) fn declare_range(
        &mut self,
        base: &'s str,
        count: u64,
        kind: SymbolKind<'s>,
        span: Span,
    ) {
        self.insert(base, Symbol { kind, span }, Some(count));
    }

    fn insert(&mut self, name: &'s str, symbol: Symbol<'s>, count: Option<u64>) {
        let map = if count.is_some() { &mut self.ranges } else { &mut self.names };
        let at = self.entries.len() as u32;
        let hidden = match map.entry(name) {
            MapEntry::Occupied(mut slot) => Some(slot.insert(at)),
            MapEntry::Vacant(slot) => {
                slot.insert(at);
                None
            }
        };
        let depth = self.scopes.len() as u32;
        self.entries.push(Entry { name, symbol, depth, count, hidden });
    }

    pub(super) fn open(&mut self, at: u32) {
        self.scopes.push(Scope { open: at, entries: self.entries.len() });
    }

    /// Leaves the innermost scope; false when none is open.
    pub(super) fn close(&mut self) -> bool {
        let Some(scope) = self.scopes.pop() else {
            return false;
        };
        for entry in self.entries.drain(scope.entries..).rev() {
            let map = if entry.count.is_some() { &mut self.ranges } else { &mut self.names };
            match entry.hidden {
                Some(hidden) => map.insert(entry.name, hidden),
                None => map.remove(entry.name),
            };
        }
        true
    }
}
