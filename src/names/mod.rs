//! The names of a text: what each register, label, parameter, variable and function name means.
//!
//! [`Names::of`] reads a [tree](crate::syntax::parse). Names resolve as in ptxas: the innermost
//! declaration counts; `%r7` and `%r07` are the same register of a range such as `%r<10>`; a label
//! counts in its whole block, even before its place, unless a block around has a label of that name
//! before this block; debug data may name what functions declare. A variable of the module that is
//! declared too late counts, too, though ptxas refuses that.
//!
//! ```
//! use vptx::names::{Names, SymbolKind};
//! use vptx::syntax;
//!
//! let source = ".func f(.reg .b32 a) {\n.reg .b32 %r<4>;\nadd.s32 %r1, a, 7;\n\
//!               { .reg .b32 a; mov.b32 a, %r01; bra end; }\nend: mov.u32 %r2, %tid.x;\n}";
//! let tree = syntax::parse(source);
//! let names = Names::of(&tree);
//!
//! let a = names.at(source.find("a, 7").unwrap() as u32).unwrap();
//! let symbol = names.symbol(a.symbol().unwrap());
//! assert_eq!(symbol.kind, SymbolKind::Parameter);
//! assert_eq!(symbol.declaration.text(source), ".reg .b32 a");
//!
//! // Another `a` stands in the block.
//! assert_eq!(names.uses_of(a.meaning().unwrap()).count(), 2);
//!
//! let register = names.at(source.find("%r01").unwrap() as u32).unwrap().meaning().unwrap();
//! assert_eq!(names.register(register), Some(1));
//! let places: Vec<&str> = names.uses_of(register).map(|it| it.span().text(source)).collect();
//! assert_eq!(places, ["%r1", "%r01"]);
//!
//! let undeclared: Vec<&str> = names
//!     .uses()
//!     .iter()
//!     .filter(|it| it.meaning().is_none())
//!     .map(|it| it.span().text(source))
//!     .collect();
//! assert_eq!(undeclared, ["%tid"]);
//! ```
//!
//! Texts with errors have names, too: those of the statements that could be read.

mod edits;
mod rename;
#[cfg(test)]
mod tests;
mod walk;

pub(crate) use rename::{RenameError, rename};
use std::num::NonZeroU32;
use std::sync::OnceLock;

use crate::source::Span;
use crate::syntax::{DirectiveKind, StatementKind, Tree};

/// The names of a text.
#[derive(Clone, Debug)]
pub struct Names {
    symbols: Vec<Symbol>,
    uses: Vec<Use>,
    scopes: Vec<Scope>,
    /// The number of meanings.
    meanings: u32,
    /// Registers whose numbers do not directly follow the number of their range, sorted by number.
    apart: Vec<Apart>,
    by_meaning: OnceLock<ByMeaning>,
    /// Whether another layout of the same tokens could change what names mean.
    pub(crate) is_doubtful: bool,
    /// The first list that enumerates labels or functions. Names do not know these uses.
    pub(crate) enumeration: Option<Span>,
    /// The end of the first statement that lacks its `;` or is no statement of PTX.
    pub(crate) unended: Option<Span>,
    /// The places of `.loc`, `.file`, `.section` and `@@DWARF` statements.
    pub(crate) debug: Vec<Span>,
}

/// The index of a [`Symbol`] among all symbols of its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SymbolId(u32);

/// The index of a [`Scope`] among all scopes of its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ScopeId(u32);

impl SymbolId {
    /// The number, counted from 0 in the order of the declarations.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl ScopeId {
    /// The text itself: everything outside of functions.
    pub const MODULE: ScopeId = ScopeId(0);

    /// The number, counted from 0 in the order of the text.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A declared name. A range of registers is one symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Symbol {
    /// The kind of thing that the name stands for.
    pub kind: SymbolKind,
    /// The name in the first declaration; for a function with a body, in its definition. For a
    /// range such as `%r<10>`, the part before the `<`.
    pub name: Span,
    /// The declaration: a statement up to its `;`, the header of a function, or a parameter up
    /// to its name. For a label, its name.
    pub declaration: Span,
    /// The state space, with its dot: `.reg`, `.shared`, `.param`, …
    pub space: Option<Span>,
    /// The type, with its dot.
    pub ty: Option<Span>,
    /// How many registers a range declares: 10 for `%r<10>`. `None` for other symbols.
    pub count: Option<u64>,
    /// The function or block that declares the symbol. Parameters belong to their function.
    pub scope: ScopeId,
    /// Whether other modules see the symbol: a function or a variable that is `.visible`,
    /// `.extern`, `.weak` or `.common`, or a texture, sampler or surface, also as a parameter.
    pub is_exported: bool,
    /// Whether the symbol is defined in another module: all its declarations are `.extern`.
    pub is_extern: bool,
    /// Whether the scope already had the name for another thing, or the function already had a
    /// body. ptxas refuses both.
    pub is_double: bool,
    /// The `.noreturn` in a declaration of a function.
    pub(crate) noreturn: Option<Span>,
    /// The body of a function, braces included; otherwise empty.
    pub(crate) body: Span,
    /// The type, if the declaration consists of registers, their type and nothing else.
    pub(crate) plain_ty: Option<Span>,
    /// The number of the meaning of the symbol as a whole.
    number: NonZeroU32,
    /// How many registers of the range have the numbers directly after that one.
    registers: u32,
}

/// The kinds of symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SymbolKind {
    /// A kernel or a device function.
    Function,
    /// A parameter or a result of a function.
    Parameter,
    /// A variable of memory, or an opaque object.
    Variable,
    /// A register, or a range of registers. A parameter in a register, `.reg`, is a
    /// [`SymbolKind::Parameter`].
    Register,
    /// A label.
    Label,
}

/// A part of a text whose declarations cannot be seen from outside of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Scope {
    /// The scope around this one; `None` for [`ScopeId::MODULE`].
    pub parent: Option<ScopeId>,
    /// The function that the scope belongs to; `None` for a block, and for the module.
    pub function: Option<SymbolId>,
    /// The header and the body of a function, a block with its braces, or the whole text.
    pub span: Span,
}

/// A place where a name stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Use {
    start: u32,
    /// The length, and [`DECLARES`] if the name is declared here.
    packed: u32,
    meaning: Option<Meaning>,
}

/// A bit above all lengths of tokens.
const DECLARES: u32 = 1 << 31;

/// What a name means: a symbol, or one register of a range. All uses of the same thing have equal
/// meanings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Meaning {
    symbol: SymbolId,
    /// The index of the meaning, plus one.
    number: NonZeroU32,
}

/// A register of a long range: only the registers that are used get numbers.
#[derive(Clone, Copy, Debug)]
struct Apart {
    number: NonZeroU32,
    symbol: SymbolId,
    register: u64,
}

/// The indices of all uses, sorted by symbol, by register, and by place.
#[derive(Clone, Debug)]
struct ByMeaning {
    uses: Vec<u32>,
    /// The index of the first use of each meaning, by rank.
    starts: Vec<u32>,
    /// The rank of each meaning in that order, by its number.
    ranks: Vec<u32>,
    /// The rank of the first meaning of each symbol; at the end, the number of meanings.
    symbols: Vec<u32>,
}

impl Meaning {
    /// The symbol.
    pub fn symbol(self) -> SymbolId {
        self.symbol
    }

    /// An index below [`Names::meanings`], for tables.
    pub fn index(self) -> usize {
        self.number.get() as usize - 1
    }
}

impl Use {
    fn new(span: Span, meaning: Option<Meaning>, declares: bool) -> Use {
        let declares = if declares { DECLARES } else { 0 };
        Use { start: span.start, packed: span.len() | declares, meaning }
    }

    /// The place of the name. In the declaration of a range, the part before the `<`.
    pub fn span(&self) -> Span {
        Span::new(self.start, self.start + (self.packed & !DECLARES))
    }

    /// What the name means. `None` if the text does not declare it, as with `%tid`.
    pub fn meaning(&self) -> Option<Meaning> {
        self.meaning
    }

    /// Whether the name is declared here.
    pub fn declares(&self) -> bool {
        self.packed & DECLARES != 0
    }

    /// The symbol that the name stands for.
    pub fn symbol(&self) -> Option<SymbolId> {
        self.meaning.map(Meaning::symbol)
    }
}

impl Symbol {
    /// Whether the symbol is a register, perhaps as a parameter.
    pub(crate) fn is_register(&self, source: &str) -> bool {
        self.kind == SymbolKind::Register || self.space.is_some_and(|it| it.text(source) == ".reg")
    }

    /// Whether the module itself declares the symbol, so that all later functions see it.
    pub fn is_global(&self) -> bool {
        self.scope == ScopeId::MODULE
    }

    /// The numbers of the symbol as a whole and of the registers directly after it.
    fn numbers(&self) -> impl Iterator<Item = u32> + use<> {
        self.number.get()..=self.number.get() + self.registers
    }
}

impl Names {
    /// Reads the names of a tree.
    pub fn of(tree: &Tree<'_>) -> Names {
        walk::names(tree)
    }

    /// All symbols, in the order of their first declarations.
    pub fn symbols(&self) -> impl ExactSizeIterator<Item = (SymbolId, &Symbol)> + Clone {
        self.symbols.iter().enumerate().map(|(at, it)| (SymbolId(at as u32), it))
    }

    /// A symbol.
    ///
    /// # Panics
    /// If the index belongs to another text.
    pub fn symbol(&self, id: SymbolId) -> &Symbol {
        &self.symbols[id.index()]
    }

    /// All scopes, in the order of the text. The first is [`ScopeId::MODULE`].
    pub fn scopes(&self) -> impl ExactSizeIterator<Item = (ScopeId, &Scope)> + Clone {
        self.scopes.iter().enumerate().map(|(at, it)| (ScopeId(at as u32), it))
    }

    /// A scope.
    ///
    /// # Panics
    /// If the index belongs to another text.
    pub fn scope(&self, id: ScopeId) -> &Scope {
        &self.scopes[id.index()]
    }

    /// The innermost scope that contains an offset, first and last byte included.
    pub fn scope_at(&self, offset: u32) -> ScopeId {
        let next = self.scopes.partition_point(|it| it.span.start <= offset);
        let mut found = ScopeId((next as u32).saturating_sub(1));
        while let Some(parent) = self.scope(found).parent
            && self.scope(found).span.end <= offset
        {
            found = parent;
        }
        found
    }

    /// All places of names, in the order of the text.
    pub fn uses(&self) -> &[Use] {
        &self.uses
    }

    /// The name that contains an offset, or ends there.
    pub fn at(&self, offset: u32) -> Option<Use> {
        let next = self.uses.partition_point(|it| it.span().end < offset);
        let mut near = self.uses[next..].iter().take_while(|it| it.span().start <= offset);
        // If one name ends and another starts at the offset, the later one counts.
        let first = near.next()?;
        Some(*near.next().unwrap_or(first))
    }

    /// The use that starts where `name` does.
    pub(crate) fn use_of(&self, name: Span) -> Option<&Use> {
        let at = self.uses.partition_point(|it| it.span().start < name.start);
        self.uses.get(at).filter(|it| it.span().start == name.start)
    }

    /// The number of meanings, for the size of tables: symbols and registers of ranges. Of a long
    /// range, only the registers that are used count. The text has more bytes than meanings.
    pub fn meanings(&self) -> usize {
        self.meanings as usize
    }

    /// The number of a register in its range: 7 for `%r07`. `None` for a range as a whole, and for
    /// anything that is not part of a range.
    pub fn register(&self, meaning: Meaning) -> Option<u64> {
        let symbol = self.symbol(meaning.symbol);
        if symbol.registers > 0 {
            return u64::from(meaning.number.get() - symbol.number.get()).checked_sub(1);
        }
        let at = self.apart.binary_search_by_key(&meaning.number, |it| it.number);
        at.ok().map(|at| self.apart[at].register)
    }

    /// All places of a symbol or of one register of a range, in the order of the text. A range as a
    /// whole has a single place, its declaration.
    pub fn uses_of(&self, meaning: Meaning) -> impl Iterator<Item = &Use> {
        let sorted = self.sorted();
        let rank = sorted.ranks[meaning.index()];
        self.numbered(sorted, rank, rank + 1)
    }

    /// All places of a symbol, in the order of the text. For a range, sorted by register first.
    pub fn uses_of_symbol(&self, symbol: SymbolId) -> impl Iterator<Item = &Use> {
        let sorted = self.sorted();
        let [first, end] = [0, 1].map(|more| sorted.symbols[symbol.index() + more]);
        self.numbered(sorted, first, end)
    }

    /// All places with the same meaning, in the order of the text. For a range as a whole, the
    /// places of its registers, too.
    pub(crate) fn same(&self, meaning: Meaning) -> impl Iterator<Item = &Use> {
        let is_whole = self.register(meaning).is_none();
        let is_same = move |it: &Meaning| {
            if is_whole { it.symbol() == meaning.symbol() } else { *it == meaning }
        };
        self.uses.iter().filter(move |it| it.meaning.as_ref().is_some_and(is_same))
    }

    /// The uses of the meanings with ranks from `first` to before `end`.
    fn numbered<'n>(
        &'n self,
        sorted: &'n ByMeaning,
        first: u32,
        end: u32,
    ) -> impl Iterator<Item = &'n Use> {
        let [first, end] = [first, end].map(|rank| sorted.starts[rank as usize] as usize);
        sorted.uses[first..end].iter().map(|number| &self.uses[*number as usize])
    }

    fn sorted(&self) -> &ByMeaning {
        self.by_meaning.get_or_init(|| ByMeaning::new(self))
    }
}

impl ByMeaning {
    fn new(names: &Names) -> ByMeaning {
        let mut apart = names.apart.clone();
        apart.sort_unstable_by_key(|it| (it.symbol, it.register));
        let mut apart = apart.into_iter().peekable();
        let mut ranks = vec![0; names.meanings()];
        let mut symbols = Vec::with_capacity(names.symbols.len() + 1);
        let mut rank = 0;
        for (id, symbol) in names.symbols() {
            symbols.push(rank);
            let others = std::iter::from_fn(|| apart.next_if(|it| it.symbol == id));
            for number in symbol.numbers().chain(others.map(|it| it.number.get())) {
                ranks[number as usize - 1] = rank;
                rank += 1;
            }
        }
        symbols.push(rank);
        let known = || {
            let numbers = names.uses.iter().zip(0u32..);
            numbers.filter_map(|(use_, number)| Some((ranks[use_.meaning?.index()], number)))
        };
        let mut starts = vec![0u32; ranks.len() + 1];
        for (rank, _) in known() {
            starts[rank as usize + 1] += 1;
        }
        for rank in 0..ranks.len() {
            starts[rank + 1] += starts[rank];
        }
        let mut next = starts.clone();
        let mut uses = vec![0; starts[ranks.len()] as usize];
        for (rank, number) in known() {
            let place = &mut next[rank as usize];
            uses[*place as usize] = number;
            *place += 1;
        }
        ByMeaning { uses, starts, ranks, symbols }
    }
}

/// The offsets of the last labels before the pragmas of functions, in order. For ptxas, a pragma
/// such as `"nounroll"` belongs to this label, whether the label is used or not.
pub(crate) fn labels_of_pragmas(tree: &Tree<'_>) -> Vec<u32> {
    let (mut last, mut found) = (None, Vec::new());
    // The end of the last function: the pragmas of the module belong to no label.
    let mut end = 0;
    for statement in tree.all_statements() {
        match statement.kind() {
            StatementKind::Label(name) => last = Some(name.start),
            StatementKind::Function(it) => {
                (last, end) = (None, it.body().map_or(0, |body| body.span().end));
            }
            StatementKind::Directive(it) if it.kind() == DirectiveKind::Pragma => {
                found.extend(last.take().filter(|_| statement.span().start < end));
            }
            _ => {}
        }
    }
    found
}
