//! The names of a PTX text: where each is declared, and where it is used.
//!
//! All of PTX is read, token by token. Names resolve as in ptxas: the innermost declaration
//! counts, `%r7` and `%r07` are one register of the range `%r<10>`, and a label of the own
//! block counts even before its place.

#[cfg(feature = "server")]
mod rename;
#[cfg(all(test, feature = "server"))]
mod tests;
mod walk;

#[cfg(feature = "server")]
pub(crate) use rename::{RenameError, rename};
pub(crate) use walk::read_words;
#[cfg(feature = "server")]
pub(crate) use walk::{read, read_around, read_outline};

use crate::source::Span;
use crate::syntax::TokenKind;
use crate::syntax::lexer::Lexer;

/// The names of a text, in its order.
#[derive(Debug, Default)]
pub(crate) struct Names {
    pub(crate) symbols: Vec<Symbol>,
    pub(crate) uses: Vec<Use>,
    /// How many symbols and registers of ranges are named.
    pub(crate) meanings: usize,
    /// The words, numbers and strings that are no names.
    pub(crate) words: Vec<Word>,
    /// From the `{` to the `}` of each function, block and section.
    pub(crate) blocks: Vec<Span>,
    /// The functions and their mere declarations.
    pub(crate) functions: Vec<FunctionSpans>,
    /// Where the first statement ends that has no `;`, or is none.
    pub(crate) unended: Option<Span>,
    /// Whether another layout of the same tokens could change the names.
    pub(crate) is_doubtful: bool,
    /// `.loc`, `.file` and `.section`, as statements.
    pub(crate) debug: Vec<Span>,
}

/// A declared name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Symbol {
    pub(crate) kind: SymbolKind,
    /// The name in its first declaration; that of a definition for a function with one.
    pub(crate) name: Span,
    /// The declaration: a statement up to its `;`, or the header of a function. For a label,
    /// its name.
    pub(crate) declaration: Span,
    /// The body of a function with its braces; otherwise empty.
    pub(crate) body: Span,
    /// The type of a register that is no vector, with its dot. Otherwise, and if its declaration
    /// has more than that and names, empty.
    pub(crate) ty: Span,
    /// How many registers it declares, as `%r<100>` does.
    pub(crate) count: Option<u64>,
    /// Whether it is declared outside of all functions.
    pub(crate) is_global: bool,
    /// Whether its block declares the name before: ptxas refuses that.
    pub(crate) is_double: bool,
}

/// The places of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FunctionSpans {
    /// Up to the `;` of a mere declaration, or to before the body.
    pub(crate) header: Span,
    /// From `{` to `}`; empty for a mere declaration.
    pub(crate) body: Span,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SymbolKind {
    Function,
    Parameter,
    /// A variable of memory, or an opaque object.
    Variable,
    Register,
    Label,
}

/// A place where a name stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Use {
    pub(crate) span: Span,
    /// `None` if the text does not declare it, as `%tid`.
    pub(crate) meaning: Option<Meaning>,
    pub(crate) declares: bool,
}

/// The symbol, or the register of a range, that a name means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Meaning {
    /// The number of the symbol.
    pub(crate) symbol: u32,
    /// The same for the same symbol and register; below [`Names::meanings`].
    pub(crate) number: u32,
}

impl Use {
    /// The number of its symbol.
    pub(crate) fn symbol(&self) -> Option<u32> {
        self.meaning.map(|it| it.symbol)
    }
}

/// A word that is no name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Word {
    pub(crate) kind: WordKind,
    pub(crate) span: Span,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WordKind {
    Directive,
    Mnemonic,
    /// A modifier of an instruction, or an attribute or a type of a declaration.
    Modifier,
    /// A part of an operand, such as `.x` or `.b0`.
    Selector,
    Number,
    String,
}

/// The words of a declaration that make a name known to others. ptxas exports all textures,
/// samplers and surfaces.
const EXPORTS: [&str; 8] =
    [".visible", ".extern", ".weak", ".common", ".texref", ".samplerref", ".surfref", ".tex"];

impl Symbol {
    /// The number of the register of a range that a name means.
    fn register(&self, name: &str) -> Option<u64> {
        self.count?;
        name[self.name.len() as usize..].parse().ok()
    }

    /// Whether others may know a variable by its name.
    pub(crate) fn is_exported(&self, source: &str) -> bool {
        if !self.is_global || self.kind != SymbolKind::Variable {
            return false;
        }
        self.words(source).any(|word| EXPORTS.contains(&word))
    }

    /// The tokens of its declaration before the first name. A declaration of many names has its
    /// words there.
    pub(crate) fn words<'s>(&self, source: &'s str) -> impl Iterator<Item = &'s str> + use<'s> {
        let mut lexer = Lexer::new(source, self.declaration.start as usize);
        std::iter::from_fn(move || lexer.token())
            .take_while(|token| token.kind() != TokenKind::Ident)
            .map(|token| token.span().text(source))
    }
}

impl Names {
    /// The use of a name at an offset; at its end, too.
    #[cfg(feature = "server")]
    pub(crate) fn at(&self, offset: u32) -> Option<Use> {
        let next = self.uses.partition_point(|it| it.span.end < offset);
        let mut near = self.uses[next..].iter().take_while(|it| it.span.start <= offset);
        // Of two that meet at the offset, the later one.
        let first = near.next()?;
        Some(*near.next().unwrap_or(first))
    }

    pub(crate) fn symbol(&self, number: u32) -> &Symbol {
        &self.symbols[number as usize]
    }

    /// All places of the name that stands at one place. Of a range, those of one register.
    #[cfg(feature = "server")]
    pub(crate) fn same<'n>(
        &'n self,
        source: &'n str,
        here: Use,
    ) -> impl Iterator<Item = &'n Use> + 'n {
        let register = self.register(source, here);
        let is_same = move |it: &&Use| {
            it.meaning.is_some()
                && it.symbol() == here.symbol()
                && (register.is_none() || self.register(source, **it) == register)
        };
        self.uses.iter().filter(is_same)
    }

    /// The number in a range of the register that stands here; `None` at the range itself.
    #[cfg(feature = "server")]
    pub(crate) fn register(&self, source: &str, here: Use) -> Option<u64> {
        let symbol = self.symbol(here.symbol()?);
        if here.declares { None } else { symbol.register(here.span.text(source)) }
    }
}
