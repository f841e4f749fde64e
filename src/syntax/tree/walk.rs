//! Every node and every byte of a tree, in order.

use super::super::lexer::{Token, TokenKind};
use super::{
    Declaration, Directive, EntryKind, Function, Instruction, Operand, OperandKind, Operands,
    PieceKind, Statement, StatementKind, Tree,
};
use crate::source::Span;

/// Receives nodes and leaves in the order of the text. The leaves of a whole tree are its text.
pub trait Visitor<'t> {
    /// A node begins.
    fn enter(&mut self, node: Node<'t>) {
        let _ = node;
    }

    /// A token, or a piece of trivia.
    fn leaf(&mut self, leaf: Leaf) {
        let _ = leaf;
    }

    /// A node that was entered ends.
    fn leave(&mut self, node: Node<'t>) {
        let _ = node;
    }
}

/// A part of the text that has parts itself.
#[derive(Clone, Copy, Debug)]
pub struct Node<'t> {
    /// The kind of node.
    pub kind: NodeKind,
    /// From its first token to its last; the whole text for a module.
    pub span: Span,
    /// The node's statement, if the node is one.
    pub statement: Option<Statement<'t>>,
    /// The node's operand, if the node is one.
    pub operand: Option<Operand<'t>>,
}

/// A token or a piece of trivia.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leaf {
    /// The kind of leaf.
    pub kind: LeafKind,
    /// The place of the leaf.
    pub span: Span,
}

macro_rules! kinds {
    ($(#[$doc:meta])* $name:ident { $($(#[$kind_doc:meta])* $kind:ident $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum $name { $($(#[$kind_doc])* $kind,)* }

        impl $name {
            /// All kinds.
            pub const ALL: &[$name] = &[$($name::$kind,)*];

            /// The name of the kind, as `vptx tree` writes it.
            pub fn text(self) -> &'static str {
                match self { $($name::$kind => $text,)* }
            }
        }
    };
}

kinds! {
    /// The kinds of [`Node`].
    NodeKind {
        /// The whole text.
        Module "module",
        /// `.version`, `.loc`, `.pragma`, …
        Directive "directive",
        /// `.section .debug_info { … }`
        Section "section",
        /// Registers, variables, or parameters of calls.
        Declaration "declaration",
        /// A name in a declaration, with its range, dimensions and value.
        DeclaredName "declared-name",
        /// A kernel or a function.
        Function "function",
        /// `(…)` before the name of a function.
        Results "results",
        /// `(…)` behind the name of a function.
        Parameters "parameters",
        /// A parameter or a result of a function.
        Parameter "parameter",
        /// `.maxntid 128, 1, 1`, and the like in a header.
        FunctionDirective "function-directive",
        /// `{ … }`
        Block "block",
        /// `name:`
        Label "label",
        /// An instruction of any opcode.
        Instruction "instruction",
        /// `@p` or `@!p`
        Guard "guard",
        /// A lone `;`.
        Empty "empty",
        /// Tokens that are no statement.
        Error "error",
        /// A register, special register or symbol.
        Name "name",
        /// `_`
        Discard "discard",
        /// A constant or an expression of constants.
        Constant "constant",
        /// `"…"`
        Text "text",
        /// `x+8`
        Sum "sum",
        /// `x[4]`
        Indexed "indexed",
        /// `p|q`
        Pair "pair",
        /// `[…]`
        Address "address",
        /// `{…}` of an operand or a value.
        Vector "vector",
        /// `(…)` of a call.
        List "list",
        /// `generic(x)`
        Applied "applied",
        /// `filter_mode = linear`
        Field "field",
        /// Tokens that are no operand.
        Malformed "malformed",
    }
}

kinds! {
    /// The kinds of [`Leaf`].
    LeafKind {
        /// `.version`, `.reg`, `.entry`: the word that starts a statement.
        Keyword "keyword",
        /// The first word of an instruction.
        Mnemonic "mnemonic",
        /// `.u32`: a dotted word behind a mnemonic or a keyword.
        Modifier "modifier",
        /// A name, declared or used.
        Identifier "identifier",
        /// `.x` or `.b0` behind a name.
        Selector "selector",
        /// A number.
        Number "number",
        /// `"…"`
        String "string",
        /// `,`, `;`, `+`, …
        Punctuation "punctuation",
        /// A character that PTX does not have, or an unclosed comment or string.
        Unknown "unknown",
        /// Blanks and line breaks.
        WhiteSpace "white-space",
        /// A comment.
        Comment "comment",
        /// A line marker of the C preprocessor.
        LineMarker "line-marker",
        /// A byte order mark.
        ByteOrderMark "byte-order-mark",
    }
}

impl Tree<'_> {
    /// Visits all nodes and leaves.
    pub fn walk<'t>(&'t self, visitor: &mut impl Visitor<'t>) {
        let span = Span::new(0, self.source.len() as u32);
        let module = Node { kind: NodeKind::Module, span, statement: None, operand: None };
        visitor.enter(module);
        let mut walker = Walker { tree: self, visitor, next: 0, is_first: false };
        walker.entries(0, self.entries.len() as u32);
        walker.trivia();
        visitor.leave(module);
    }
}

impl<'t> Statement<'t> {
    /// Visits the statement's nodes and leaves, from the first token to the last.
    pub fn walk(self, visitor: &mut impl Visitor<'t>) {
        let entry = self.entry();
        let next = entry.first as usize;
        let mut walker = Walker { tree: self.tree, visitor, next, is_first: true };
        walker.entries(self.index, entry.after);
    }
}

struct Walker<'t, 'v> {
    tree: &'t Tree<'t>,
    /// A type parameter would compile the walk again for each visitor.
    visitor: &'v mut dyn Visitor<'t>,
    /// The next token to visit.
    next: usize,
    /// Whether the trivia before the next token is to be left out.
    is_first: bool,
}

impl<'t> Walker<'t, '_> {
    /// Visits the statements of some entries. There is no recursion, as blocks may nest deeply.
    fn entries(&mut self, first: u32, end: u32) {
        let mut open: Vec<Statement<'t>> = Vec::new();
        for index in first..end {
            while let Some(statement) = open.pop_if(|it| it.entry().after <= index) {
                self.close(statement);
            }
            let statement = Statement { tree: self.tree, index };
            self.enter(statement.node_kind(), statement.span(), Some(statement), None);
            match statement.kind() {
                StatementKind::Function(function) => self.header(&function),
                StatementKind::Block(_) => self.leaf(LeafKind::Punctuation),
                StatementKind::Declaration(declaration) => {
                    self.declaration(statement, &declaration);
                }
                StatementKind::Instruction(instruction) => self.instruction(&instruction),
                StatementKind::Directive(directive) => self.directive(statement, &directive),
                StatementKind::Label(_) | StatementKind::Empty | StatementKind::Error => {}
            }
            open.push(statement);
        }
        while let Some(statement) = open.pop() {
            self.close(statement);
        }
    }

    /// Visits the tokens of a statement that are left, and leaves the statement.
    fn close(&mut self, statement: Statement<'t>) {
        self.leaves_to(statement.entry().end as usize);
        let kind = statement.node_kind();
        let span = statement.span();
        self.visitor.leave(Node { kind, span, statement: Some(statement), operand: None });
    }

    fn enter(
        &mut self,
        kind: NodeKind,
        span: Span,
        statement: Option<Statement<'t>>,
        operand: Option<Operand<'t>>,
    ) {
        self.trivia();
        self.is_first = true;
        self.visitor.enter(Node { kind, span, statement, operand });
    }

    /// Visits a node that is neither a statement nor an operand.
    fn node(&mut self, kind: NodeKind, tokens: &[Token], inside: impl FnOnce(&mut Self)) {
        let [first, ..] = tokens else { return };
        let span = first.span().to(tokens[tokens.len() - 1].span());
        let end = self.next + tokens.len();
        self.enter(kind, span, None, None);
        inside(self);
        self.leaves_to(end);
        self.visitor.leave(Node { kind, span, statement: None, operand: None });
    }

    fn trivia(&mut self) {
        if std::mem::take(&mut self.is_first) {
            return;
        }
        for piece in self.tree.trivia(self.next) {
            let kind = match piece.kind {
                PieceKind::WhiteSpace => LeafKind::WhiteSpace,
                PieceKind::Comment => LeafKind::Comment,
                PieceKind::LineMarker => LeafKind::LineMarker,
                PieceKind::ByteOrderMark => LeafKind::ByteOrderMark,
            };
            self.visitor.leaf(Leaf { kind, span: piece.span });
        }
    }

    fn leaf(&mut self, kind: LeafKind) {
        self.trivia();
        let span = self.tree.tokens[self.next].span();
        self.visitor.leaf(Leaf { kind, span });
        self.next += 1;
    }

    /// Visits a token whose kind of leaf depends on its kind of token only.
    fn any_leaf(&mut self) {
        self.leaf(match self.tree.tokens[self.next].kind() {
            TokenKind::Ident => LeafKind::Identifier,
            TokenKind::Dot => LeafKind::Modifier,
            TokenKind::Number => LeafKind::Number,
            TokenKind::Str => LeafKind::String,
            TokenKind::Punct(_) => LeafKind::Punctuation,
            TokenKind::Unknown | TokenKind::UnclosedComment | TokenKind::UnclosedString => {
                LeafKind::Unknown
            }
        });
    }

    fn leaves(&mut self, count: usize) {
        self.leaves_to(self.next + count);
    }

    fn leaves_to(&mut self, end: usize) {
        while self.next < end {
            self.any_leaf();
        }
    }

    fn instruction(&mut self, instruction: &Instruction<'t>) {
        if let Some(guard) = instruction.guard() {
            let count = 2 + usize::from(guard.negated);
            self.node(NodeKind::Guard, &instruction.tokens()[..count], |_| {});
        }
        self.leaf(LeafKind::Mnemonic);
        for _ in instruction.modifiers() {
            self.leaf(LeafKind::Modifier);
        }
        self.elements(instruction.operands());
    }

    /// Operands with their commas.
    fn elements(&mut self, elements: Operands<'t>) {
        for (number, operand) in elements.enumerate() {
            if number > 0 {
                self.leaf(LeafKind::Punctuation);
            }
            self.operand(operand);
        }
    }

    fn operand(&mut self, operand: Operand<'t>) {
        let operand_kind = operand.kind();
        let (kind, span) = (operand_kind.node_kind(), operand.span());
        // A missing operand may stand in front of white space.
        let next = self.tree.tokens.get(self.next);
        if next.is_none_or(|next| span.start < next.span().start) {
            self.visitor.enter(Node { kind, span, statement: None, operand: Some(operand) });
        } else {
            self.enter(kind, span, None, Some(operand));
        }
        let end = self.next + operand.tokens().len();
        match operand_kind {
            OperandKind::Address(address) => self.bracketed(1, address.elements()),
            OperandKind::Vector(elements)
            | OperandKind::VectorPair(elements, _)
            | OperandKind::List(elements) => self.bracketed(1, elements),
            OperandKind::Indexed(_, index) => self.bracketed(2, index.elements()),
            OperandKind::Applied(_, elements, _) => self.bracketed(2, elements),
            _ => {}
        }
        while self.next < end {
            match self.tree.tokens[self.next].kind() {
                TokenKind::Dot => self.leaf(LeafKind::Selector),
                _ => self.any_leaf(),
            }
        }
        self.visitor.leave(Node { kind, span, statement: None, operand: Some(operand) });
    }

    /// Operands behind the token that opens their bracket.
    fn bracketed(&mut self, before: usize, elements: Operands<'t>) {
        self.leaves(before);
        self.elements(elements);
    }

    fn directive(&mut self, statement: Statement<'t>, directive: &Directive<'t>) {
        let count = statement.tokens().len() - directive.arguments().len();
        let has_semicolon = statement.tokens().last().is_some_and(|token| token.is(b';'));
        for _ in 0..count - usize::from(has_semicolon) {
            self.leaf(LeafKind::Keyword);
        }
    }

    fn declaration(&mut self, statement: Statement<'t>, declaration: &Declaration<'t>) {
        let start = self.next;
        let end = start + statement.tokens().len();
        if !declaration.words().is_empty() {
            self.leaf(LeafKind::Keyword);
            self.leaves_to(start + declaration.words().len());
        }
        for (number, (piece, name)) in declaration.pieces().enumerate() {
            if number > 0 {
                self.leaves(1);
            }
            let Some(name) = name else {
                self.leaves(piece.tokens().len());
                continue;
            };
            self.node(NodeKind::DeclaredName, name.tokens(), |walker| {
                if let Some(value) = name.value() {
                    walker.leaves(name.tokens().len() - value.tokens().len());
                    walker.operand(value);
                }
            });
        }
        self.leaves_to(end);
    }

    fn header(&mut self, function: &Function<'t>) {
        let to = |tokens: &[Token]| tokens[0].span().start;
        let [results, parameters] = function.groups();
        for (kind, group, parameters) in [
            (NodeKind::Results, results, function.results().collect::<Vec<_>>()),
            (NodeKind::Parameters, parameters, function.parameters().collect()),
        ] {
            let Some(tokens) = group else { continue };
            self.keywords_before(to(tokens));
            self.node(kind, tokens, |walker| {
                walker.leaves(1);
                for (number, parameter) in parameters.iter().enumerate() {
                    if number > 0 {
                        walker.leaves(1);
                    }
                    walker.node(NodeKind::Parameter, parameter.tokens(), |_| {});
                }
            });
        }
        for directive in function.directives() {
            self.keywords_before(to(directive));
            self.node(NodeKind::FunctionDirective, directive, |walker| {
                walker.leaf(LeafKind::Keyword);
            });
        }
        self.keywords_before(function.statement().head_span().end);
    }

    /// The tokens of a header that stand before an offset.
    fn keywords_before(&mut self, offset: u32) {
        while let Some(token) = self.tree.tokens.get(self.next)
            && token.span().start < offset
        {
            match token.span().text(self.tree.source) {
                ".entry" | ".func" => self.leaf(LeafKind::Keyword),
                _ => self.any_leaf(),
            }
        }
    }
}

impl Statement<'_> {
    /// The statement's kind among the nodes of a tree.
    pub fn node_kind(self) -> NodeKind {
        match self.entry().kind {
            EntryKind::Directive if self.tokens()[0].span().text(self.source()) == ".section" => {
                NodeKind::Section
            }
            EntryKind::Directive => NodeKind::Directive,
            EntryKind::Declaration => NodeKind::Declaration,
            EntryKind::Function => NodeKind::Function,
            EntryKind::Block => NodeKind::Block,
            EntryKind::Label => NodeKind::Label,
            EntryKind::Instruction => NodeKind::Instruction,
            EntryKind::Empty => NodeKind::Empty,
            EntryKind::Error => NodeKind::Error,
        }
    }
}

impl OperandKind<'_> {
    /// The operand's kind among the nodes of a tree.
    pub fn node_kind(&self) -> NodeKind {
        match self {
            OperandKind::Name(_) => NodeKind::Name,
            OperandKind::Discard => NodeKind::Discard,
            OperandKind::Constant(_) => NodeKind::Constant,
            OperandKind::Text(_) => NodeKind::Text,
            OperandKind::Sum(_) => NodeKind::Sum,
            OperandKind::Indexed(..) => NodeKind::Indexed,
            OperandKind::Pair(..) | OperandKind::VectorPair(..) => NodeKind::Pair,
            OperandKind::Address(_) => NodeKind::Address,
            OperandKind::Vector(_) => NodeKind::Vector,
            OperandKind::List(_) => NodeKind::List,
            OperandKind::Applied(..) => NodeKind::Applied,
            OperandKind::Field(..) => NodeKind::Field,
            OperandKind::Malformed(_) => NodeKind::Malformed,
        }
    }
}
