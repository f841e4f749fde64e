//! Directives: statements that start with a dot and declare nothing.

use super::super::lexer::{Token, TokenKind};
use super::Statement;
use super::instruction::{Operands, Role, names, without_semicolon};
use crate::isa::{PtxVersion, Target};
use crate::source::Span;

shown! { Directive }

/// A directive that declares nothing.
#[derive(Clone, Copy)]
pub struct Directive<'t> {
    source: &'t str,
    tokens: &'t [Token],
    kind: DirectiveKind,
}

/// The kinds of directive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DirectiveKind {
    /// `.version 8.0`
    Version,
    /// `.target sm_90, texmode_independent`
    Target,
    /// `.address_size 64`
    AddressSize,
    /// `.file 1 "a.cu", 2, 3`
    File,
    /// `.loc 1 2 3, function_name $L + 4, inlined_at 1 2 3`, and `.loc_intermediate 1 2 3` of
    /// PTX 9.4
    Loc,
    /// `.section .debug_info { … }`
    Section,
    /// `.pragma "nounroll";`
    Pragma,
    /// `.alias a, b;`
    Alias,
    /// `.branchtargets a, b;`
    BranchTargets,
    /// `.calltargets f, g;`
    CallTargets,
    /// `.callprototype (.param .b32 _) _ (.param .b64 _);`
    CallPrototype,
    /// `@@DWARF …` of PTX 1.x
    Dwarf,
    /// A directive that vptx does not know.
    Unknown,
}

/// The numbers of `.loc`: the file, the line, and the column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The number of a `.file`.
    pub file: u64,
    /// The line, from 1.
    pub line: u64,
    /// The column, from 1; 0 if unknown.
    pub column: u64,
}

impl DirectiveKind {
    /// The kind of directive that a token starts.
    pub(super) fn of(first: &str) -> DirectiveKind {
        match first {
            ".version" => DirectiveKind::Version,
            ".target" => DirectiveKind::Target,
            ".address_size" => DirectiveKind::AddressSize,
            ".file" => DirectiveKind::File,
            ".loc" | ".loc_intermediate" => DirectiveKind::Loc,
            ".section" => DirectiveKind::Section,
            ".pragma" => DirectiveKind::Pragma,
            ".alias" => DirectiveKind::Alias,
            ".branchtargets" => DirectiveKind::BranchTargets,
            ".calltargets" => DirectiveKind::CallTargets,
            ".callprototype" => DirectiveKind::CallPrototype,
            "@" => DirectiveKind::Dwarf,
            _ => DirectiveKind::Unknown,
        }
    }

    /// Whether such a directive stands inside of functions only.
    pub(crate) fn is_in_functions(self) -> bool {
        self == DirectiveKind::Loc || self.is_named()
    }

    /// Whether the label before such a directive is its name.
    pub(crate) fn is_named(self) -> bool {
        use DirectiveKind::{BranchTargets, CallPrototype, CallTargets};
        matches!(self, BranchTargets | CallTargets | CallPrototype)
    }

    /// Whether such a directive is debug data.
    pub(crate) fn is_debug(self) -> bool {
        use DirectiveKind::{Dwarf, File, Loc, Section};
        matches!(self, File | Loc | Section | Dwarf)
    }
}

impl<'t> Directive<'t> {
    pub(super) fn new(statement: Statement<'t>) -> Directive<'t> {
        let (source, tokens) = (statement.source(), statement.tokens());
        Directive { source, tokens, kind: DirectiveKind::of(tokens[0].span().text(source)) }
    }

    /// The directive's name, with the dot.
    pub fn name(&self) -> Span {
        match self.kind() {
            DirectiveKind::Dwarf => self.tokens[0].span().to(self.tokens[2].span()),
            _ => self.tokens[0].span(),
        }
    }

    /// The kind of directive.
    pub fn kind(&self) -> DirectiveKind {
        self.kind
    }

    /// The tokens behind the name, without the `;`.
    pub fn arguments(&self) -> &'t [Token] {
        let from = if self.kind() == DirectiveKind::Dwarf { 3 } else { 1 };
        without_semicolon(&self.tokens[from..])
    }

    /// The parts between the commas: the labels of `.branchtargets`, the functions of `.alias`, the
    /// strings of `.pragma`.
    pub fn operands(&self) -> Operands<'t> {
        Operands::new(self.source, self.arguments(), Role::Directive)
    }

    /// Where `.branchtargets` or `.calltargets` enumerates names: `L<3>` for `L0`, `L1` and `L2`.
    pub(crate) fn enumeration(&self) -> Option<Span> {
        let is_list =
            matches!(self.kind(), DirectiveKind::BranchTargets | DirectiveKind::CallTargets);
        let open = self.arguments().iter().find(|it| is_list && it.is(b'<'))?;
        Some(open.span())
    }

    /// The labels, functions and variables that the directive names, in the order of the text. Those
    /// that it enumerates, as in `L<3>`, are left out.
    pub fn names(&self) -> impl Iterator<Item = Span> + use<'t> {
        let arguments = match self.kind() {
            // All words of `.loc` but the label behind `function_name` name nothing.
            DirectiveKind::Loc => {
                let is_before = |token: &Token| token.span().text(self.source) == "function_name";
                let at = self.arguments().iter().position(is_before);
                at.and_then(|at| self.arguments().get(at + 1..at + 2)).unwrap_or_default()
            }
            DirectiveKind::Version
            | DirectiveKind::Target
            | DirectiveKind::AddressSize
            | DirectiveKind::File
            | DirectiveKind::CallPrototype => &[],
            _ => self.arguments(),
        };
        let source = self.source;
        let kind = self.kind();
        let pieces = arguments.iter().enumerate().filter(move |(at, _)| match kind {
            DirectiveKind::Section => !arguments.get(at + 1).is_some_and(|next| next.is(b':')),
            DirectiveKind::BranchTargets | DirectiveKind::CallTargets => {
                !arguments.get(at + 1).is_some_and(|next| next.is(b'<'))
            }
            // `@progbits`
            DirectiveKind::Dwarf => {
                at.checked_sub(1).is_none_or(|before| !arguments[before].is(b'@'))
            }
            _ => true,
        });
        pieces.flat_map(move |(_, token)| names(source, std::slice::from_ref(token)))
    }

    /// The labels in the data of `.section`.
    pub fn labels(&self) -> impl Iterator<Item = Span> + use<'t> {
        let is_section = self.kind() == DirectiveKind::Section;
        let pairs = self.arguments().windows(2).filter(move |pair| {
            is_section && pair[0].kind() == TokenKind::Ident && pair[1].is(b':')
        });
        pairs.map(|pair| pair[0].span())
    }

    /// The version that `.version` names.
    pub fn version(&self) -> Option<PtxVersion> {
        let is_version = self.kind() == DirectiveKind::Version;
        self.arguments().first().filter(|_| is_version)?.span().text(self.source).parse().ok()
    }

    /// The target that `.target` names. If there are several, the last one, as in ptxas.
    pub fn target(&self) -> Option<Target> {
        let is_target = self.kind() == DirectiveKind::Target;
        let words = self.arguments().iter().rev().filter(|_| is_target);
        words.into_iter().find_map(|word| word.span().text(self.source).parse().ok())
    }

    /// The place that `.loc` names.
    pub fn place(&self) -> Option<Place> {
        if self.kind() != DirectiveKind::Loc {
            return None;
        }
        let [file, line, column, ..] = self.arguments() else { return None };
        let number = |token: &Token| token.span().text(self.source).parse().ok();
        Some(Place { file: number(file)?, line: number(line)?, column: number(column)? })
    }

    /// The number and the name of `.file`, without quotes. PTX 1.x has files without a number.
    pub fn file(&self) -> Option<(Option<u64>, &'t str)> {
        if self.kind() != DirectiveKind::File {
            return None;
        }
        let name = self.arguments().iter().find(|token| token.kind() == TokenKind::Str)?;
        let number = self.arguments()[0].span().text(self.source).parse().ok();
        let text = name.span().text(self.source);
        Some((number, &text[1..text.len() - 1]))
    }
}
