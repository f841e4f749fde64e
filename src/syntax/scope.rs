//! Declarations: the names a statement can see.

use std::collections::hash_map::Entry as MapEntry;

use crate::hash::Map;
use crate::isa::{PtxVersion, RegisterType, Target};
use crate::source::Span;

/// A declared name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Symbol<'s> {
    /// The kind of thing that the name stands for.
    pub kind: SymbolKind<'s>,
    /// The name in its declaration.
    pub span: Span,
}

/// The kinds of things that names stand for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SymbolKind<'s> {
    /// A register, with its type as written, dot included.
    Register(&'s str),
    /// A vector register: `.v2`, `.v4` or `.v8`.
    Vector,
    /// A variable or a parameter, with its state space as written, dot included.
    Variable(&'s str),
    /// A kernel or device function.
    Function,
    /// A label.
    Label,
    /// An operand of inline assembly other than a 32-bit register.
    Operand(OperandClass<'s>),
}

/// The class of an operand of inline assembly, by its constraint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperandClass<'s> {
    /// A register, with its type (dot included) and the constraint.
    Register(&'static str, &'s str),
    /// A number whose value is unknown, with the constraint.
    Constant(&'s str),
}

impl SymbolKind<'_> {
    /// The type of register, if the symbol is a register.
    pub fn register_type(self) -> Option<RegisterType> {
        match self {
            SymbolKind::Register(ty) | SymbolKind::Operand(OperandClass::Register(ty, _)) => {
                Some(RegisterType::of(ty))
            }
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
    /// For a range such as `%r<100>`, the count. The name is then the part before the number.
    count: Option<u64>,
    /// The entry that this one hides.
    hidden: Option<u32>,
    /// For a range, the links to wider ranges further out.
    wider: Wider,
}

/// Links from a range to ranges of the same name further out. They leave out ranges that are no
/// wider, so counts rise along the links. Jumps make the search for a count logarithmic.
#[derive(Clone, Copy, Debug, Default)]
struct Wider {
    next: Option<u32>,
    jump: Option<u32>,
    depth: u32,
}

/// The module context of a statement: the names it sees, and the gates set by
/// the directives before it.
#[derive(Debug, Default)]
pub struct Context<'s> {
    /// The `.version` in force, and its place.
    pub version: Option<(PtxVersion, Span)>,
    /// The `.target` in force, and its place. If a directive names several, the last one counts, as
    /// in ptxas.
    pub target: Option<(Target, Span)>,
    /// Whether the text is a module rather than a bare list of statements.
    pub is_module: bool,
    /// The name of the enclosing function, in its header.
    pub(crate) function: Option<Span>,
    /// Where the header of the enclosing function starts.
    pub(crate) header: Option<u32>,
    /// Whether ordinary registers have the names of special registers.
    pub(crate) names_registers: bool,
    entries: Vec<Entry<'s>>,
    /// The number of entries that the maps have. Names of a function without wanted statements
    /// never get into the maps.
    settled: usize,
    names: Map<&'s str, u32>,
    ranges: Map<&'s str, u32>,
    scopes: Vec<Scope>,
}

#[derive(Debug)]
struct Scope {
    open: u32,
    entries: usize,
}

impl<'s> Context<'s> {
    /// The `.version` and the `.target` in force, without their places.
    pub(crate) fn in_force(&self) -> (Option<PtxVersion>, Option<Target>) {
        (self.version.map(|(version, _)| version), self.target.map(|(target, _)| target))
    }

    /// Number of open braces.
    pub fn depth(&self) -> usize {
        self.scopes.len()
    }

    /// Offset of the innermost open brace.
    pub fn innermost(&self) -> Option<u32> {
        self.scopes.last().map(|scope| scope.open)
    }

    /// Offset of the outermost open brace, which starts the body of the function.
    pub(crate) fn outermost(&self) -> Option<u32> {
        self.scopes.first().map(|scope| scope.open)
    }

    /// The symbol that a name stands for here.
    pub fn resolve(&self, name: &str) -> Option<Symbol<'s>> {
        self.resolve_at(name).map(|(symbol, _)| symbol)
    }

    /// Like [`Context::resolve`], with the number of braces around the declaration.
    pub(crate) fn resolve_at(&self, name: &str) -> Option<(Symbol<'s>, u32)> {
        let exact = self.names.get(name).map(|&at| &self.entries[at as usize]);
        let range = self.resolve_range(name);
        let found = match (exact, range) {
            (Some(exact), Some(range)) if range.depth >= exact.depth => range,
            (Some(entry), _) | (None, Some(entry)) => entry,
            (None, None) => return None,
        };
        Some((found.symbol, found.depth))
    }

    /// The entry of the range that holds a name: `%r<10>` for `%r7`. ptxas splits off all trailing
    /// digits, so `r1<10>` declares no usable name, and `%r07` is `%r7`.
    fn resolve_range(&self, name: &str) -> Option<&Entry<'s>> {
        let base = name.trim_end_matches(|c: char| c.is_ascii_digit());
        let at = *self.ranges.get(base)?;
        let number = register_number(name.get(base.len()..)?)?;
        self.first_wider(at, number.into()).map(|at| &self.entries[at as usize])
    }

    /// The innermost range with a count above `number`, from `at` outwards.
    fn first_wider(&self, mut at: u32, number: u64) -> Option<u32> {
        loop {
            let entry = &self.entries[at as usize];
            if entry.count? > number {
                return Some(at);
            }
            // Jumps if all ranges on the way are too narrow.
            at = match entry.wider.jump {
                Some(jump) if self.entries[jump as usize].count? <= number => jump,
                _ => entry.wider.next?,
            };
        }
    }

    /// The links of a new range that hides another one.
    fn wider(&self, count: u64, hidden: Option<u32>) -> Wider {
        let Some(next) = hidden.and_then(|hidden| self.first_wider(hidden, count)) else {
            return Wider::default();
        };
        let links = |at: u32| self.entries[at as usize].wider;
        let far = links(next).jump.unwrap_or(next);
        let farther = links(far).jump.unwrap_or(far);
        let depth = |at| links(at).depth;
        // Two jumps of the same length are joined to one.
        let join = depth(next) - depth(far) == depth(far) - depth(farther);
        Wider {
            next: Some(next),
            jump: Some(if join { farther } else { next }),
            depth: depth(next) + 1,
        }
    }

    /// The range such as `%r<10>` that a name such as `%r12` exceeds: the place of its
    /// declaration, and its count.
    pub fn outside_range(&self, name: &str) -> Option<(Span, u64)> {
        let base = name.trim_end_matches(|c: char| c.is_ascii_digit());
        let entry = &self.entries[*self.ranges.get(base)? as usize];
        Some((entry.symbol.span, entry.count?))
    }

    pub(crate) fn declare(&mut self, name: &'s str, kind: SymbolKind<'s>, span: Span) {
        self.insert(name, Symbol { kind, span }, None);
    }

    pub(crate) fn declare_range(
        &mut self,
        base: &'s str,
        count: u64,
        kind: SymbolKind<'s>,
        span: Span,
    ) {
        self.insert(base, Symbol { kind, span }, Some(count));
    }

    fn insert(&mut self, name: &'s str, symbol: Symbol<'s>, count: Option<u64>) {
        let depth = self.scopes.len() as u32;
        let (hidden, wider) = (None, Wider::default());
        self.entries.push(Entry { name, symbol, depth, count, hidden, wider });
    }

    /// Makes all declarations so far visible to [`Context::resolve`].
    pub(crate) fn settle(&mut self) {
        for at in self.settled..self.entries.len() {
            let Entry { name, count, .. } = self.entries[at];
            let map = if count.is_some() { &mut self.ranges } else { &mut self.names };
            let hidden = match map.entry(name) {
                MapEntry::Occupied(mut slot) => Some(slot.insert(at as u32)),
                MapEntry::Vacant(slot) => {
                    slot.insert(at as u32);
                    None
                }
            };
            let wider = count.map_or_else(Wider::default, |count| self.wider(count, hidden));
            let entry = &mut self.entries[at];
            (entry.hidden, entry.wider) = (hidden, wider);
        }
        self.settled = self.entries.len();
    }

    /// The names of the registers that a statement sees, ranges left out.
    pub(crate) fn registers(&self) -> impl DoubleEndedIterator<Item = &'s str> + '_ {
        let is_register = |entry: &&Entry<'s>| {
            entry.count.is_none() && matches!(entry.symbol.kind, SymbolKind::Register(_))
        };
        self.entries.iter().filter(is_register).map(|entry| entry.name)
    }

    /// At most `most` 32-bit registers that a statement sees, with their types, outer ones
    /// first. A range gives each of its registers.
    pub(crate) fn words(&self, most: usize) -> Vec<(String, String)> {
        let mut words: Vec<(String, String)> = Vec::new();
        for entry in &self.entries {
            let SymbolKind::Register(ty) = entry.symbol.kind else { continue };
            if !matches!(RegisterType::of(ty), RegisterType::Word(_)) {
                continue;
            }
            let names = match entry.count {
                None => vec![entry.name.to_string()],
                Some(count) => {
                    let count = count.min(most as u64);
                    (0..count).map(|number| format!("{}{number}", entry.name)).collect()
                }
            };
            words.extend(names.into_iter().map(|name| (name, ty.to_string())));
            if words.len() >= most {
                break;
            }
        }
        words.truncate(most);
        words
    }

    pub(crate) fn open(&mut self, at: u32) {
        self.scopes.push(Scope { open: at, entries: self.entries.len() });
    }

    /// Opens the body of a function whose header starts at an offset.
    pub(crate) fn open_function(&mut self, at: u32, header: u32, name: Option<Span>) {
        (self.function, self.header) = (name, Some(header));
        self.open(at);
    }

    /// Leaves the innermost scope. Returns false if none is open.
    pub(crate) fn close(&mut self) -> bool {
        let Some(scope) = self.scopes.pop() else {
            return false;
        };
        if self.scopes.is_empty() {
            (self.function, self.header) = (None, None);
        }
        self.entries.truncate(self.settled.max(scope.entries));
        self.settled = self.settled.min(scope.entries);
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

/// The number of a register, by its digits. ptxas keeps the lowest 32 bits. `None` without digits.
pub(crate) fn register_number(digits: &str) -> Option<u32> {
    let number = digits
        .bytes()
        .fold(0u32, |number, digit| number.wrapping_mul(10).wrapping_add(u32::from(digit - b'0')));
    (!digits.is_empty()).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares with a plain search outwards, on many nested scopes.
    #[test]
    fn nested_ranges_resolve_like_a_search_outwards() {
        let counts: Vec<u64> = (0..600u64).map(|n| n.wrapping_mul(0x9e37_79b9) % 97).collect();
        let mut context = Context::default();
        for (at, &count) in counts.iter().enumerate() {
            context.open(at as u32);
            let span = Span::at(at as u32);
            context.declare_range("%r", count, SymbolKind::Register(".b32"), span);
            // `settle` takes in several ranges at once, or a single one.
            if at % 7 < 3 {
                context.settle();
            }
        }
        context.settle();
        for depth in (1..=counts.len()).rev() {
            for number in [0, 1, 50, 95, 96, 97] {
                let expected = counts[..depth].iter().rposition(|&count| count > number);
                let found = context.resolve(&format!("%r{number}"));
                assert_eq!(found.map(|symbol| symbol.span.start as usize), expected);
            }
            context.close();
        }
        assert_eq!(context.resolve("%r0"), None);
    }
}
