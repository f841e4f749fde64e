//! Declarations: registers, variables and the headers of functions, token by token.

use super::constant::integer_literal;
use super::directive::Step;
use super::lexer::{Lexer, TokenKind};
use super::scope::SymbolKind;

/// A declaration, as far as it has been read.
#[derive(Default)]
pub(crate) struct Declaration<'s> {
    /// The function that it declares, if any.
    header: Option<Function>,
    /// Whether the name has been read: the function's, or the variable's after the last `,`.
    is_named: bool,
    /// Whether the last token may end an operand or a name.
    is_whole: bool,
    pub(crate) parens: usize,
    pub(crate) brackets: usize,
    /// The braces that are open in a value.
    pub(crate) braces: usize,
    part: Part,
    /// State space and type of the names that follow; empty if neither has been read yet.
    pub(crate) space: &'s str,
    pub(crate) ty: &'s str,
    is_vector: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Function {
    /// `.entry`
    Kernel,
    /// `.func`
    Device,
}

/// The part of a declaration that is being read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Part {
    #[default]
    Names,
    /// After a `=`.
    Value,
    /// A `.pragma` of a kernel's header.
    Pragma,
}

impl<'s> Declaration<'s> {
    /// A declaration whose first word has been read.
    pub(super) fn new(first: &'s str) -> Declaration<'s> {
        let mut declaration = Declaration::default();
        declaration.directive(first);
        declaration
    }

    /// Whether it declares a function.
    pub(crate) fn is_header(&self) -> bool {
        self.header.is_some()
    }

    /// Whether a value is being read, behind its `=`.
    pub(crate) fn in_value(&self) -> bool {
        self.part == Part::Value
    }

    /// Whether this is a header whose function's name has not been read yet.
    pub(crate) fn lacks_name(&self) -> bool {
        self.is_header() && !self.is_named
    }

    /// Whether a name that comes next is the function's.
    pub(crate) fn names_function(&self) -> bool {
        self.is_header() && self.parens == 0
    }

    /// How the next token relates to the declaration.
    ///
    /// ptxas takes a `.func` without body and without `;`, and a `.pragma` with its `;` in the
    /// header of an `.entry`. A kernel without body needs its `;`, and so does a variable.
    pub(crate) fn step(&mut self, kind: TokenKind, text: &'s str) -> Step {
        if self.ends_before(kind, text) {
            let is_ended = self.may_end() && kind != TokenKind::Ident;
            return if is_ended { Step::After } else { Step::Cut };
        }
        self.is_whole = match kind {
            // A name has to follow a type; nothing has to follow `.noreturn`.
            TokenKind::Dot => self.is_header() && self.is_named && self.parens == 0,
            TokenKind::Ident | TokenKind::Number | TokenKind::Str => true,
            TokenKind::Punct([punct, 0]) => matches!(punct, b')' | b']' | b'}' | b'>'),
            _ => false,
        };
        match kind {
            TokenKind::Dot => self.directive(text),
            // This constant may be an alignment.
            TokenKind::Ident if text == "WARP_SZ" => {}
            TokenKind::Ident if self.parens == 0 && self.brackets == 0 => self.is_named = true,
            TokenKind::Punct([b';', 0]) if self.part == Part::Pragma => {
                (self.part, self.is_whole) = (Part::Names, true);
            }
            TokenKind::Punct([b';', 0]) if self.braces > 0 => return Step::Cut,
            TokenKind::Punct([b';', 0]) => return Step::Last,
            TokenKind::Punct([b'=', 0]) => self.part = Part::Value,
            TokenKind::Punct([b'{', 0]) if self.in_value() => self.braces += 1,
            TokenKind::Punct([b'}', 0]) if self.braces > 0 => self.braces -= 1,
            TokenKind::Punct([b'{', 0]) if self.is_header() => return Step::Body,
            TokenKind::Punct([b'{' | b'}', 0]) => return Step::Cut,
            TokenKind::Punct([b',', 0]) if self.braces == 0 => self.comma(),
            TokenKind::Punct(punct) if !self.in_value() => self.punctuation(punct),
            _ => {}
        }
        Step::Inside
    }

    /// Whether another statement starts at a token.
    fn ends_before(&self, kind: TokenKind, text: &str) -> bool {
        match kind {
            TokenKind::Dot if text == ".pragma" && self.header == Some(Function::Kernel) => false,
            TokenKind::Dot => self.is_complete() && DIRECTIVES.contains(&text),
            // `.maxntid WARP_SZ`
            TokenKind::Ident if text == "WARP_SZ" => false,
            TokenKind::Ident | TokenKind::Punct([b'@', 0]) => self.is_complete(),
            _ => false,
        }
    }

    /// Whether the declaration may end here without a `;`.
    pub(crate) fn may_end(&self) -> bool {
        self.header == Some(Function::Device) && self.is_complete()
    }

    fn is_complete(&self) -> bool {
        self.is_named
            && self.is_whole
            && self.part != Part::Pragma
            && (self.parens, self.brackets, self.braces) == (0, 0, 0)
    }

    /// A word with a dot.
    fn directive(&mut self, text: &'s str) {
        match text {
            ".entry" | ".func" => {
                let is_kernel = text == ".entry";
                self.header = Some(if is_kernel { Function::Kernel } else { Function::Device });
                self.space = "";
            }
            ".pragma" if self.header == Some(Function::Kernel) => self.part = Part::Pragma,
            // `.param .u64 .ptr .global p` is a parameter.
            ".reg" | ".param" | ".global" | ".shared" | ".local" | ".const" | ".tex"
                if self.space != ".param" || self.ty.is_empty() =>
            {
                (self.space, self.ty, self.is_vector) = (text, "", false);
            }
            ".v2" | ".v4" | ".v8" => self.is_vector = true,
            // Only `.attribute(…)` of a variable has parentheses.
            _ if self.parens > 0 && !self.is_header() => {}
            _ if self.ty.is_empty() => self.ty = type_text(text),
            _ => {}
        }
    }

    fn punctuation(&mut self, punct: [u8; 2]) {
        match punct {
            [b'(', 0] => self.parens += 1,
            [b')', 0] => {
                self.parens = self.parens.saturating_sub(1);
                self.end_parameter();
            }
            [b'[', 0] => self.brackets += 1,
            [b']', 0] => self.brackets = self.brackets.saturating_sub(1),
            _ => {}
        }
    }

    /// A `,` between names or parameters.
    fn comma(&mut self) {
        if self.part == Part::Value {
            self.part = Part::Names;
        }
        self.is_named &= self.is_header();
        self.end_parameter();
    }

    /// Each parameter of a function has a type of its own.
    fn end_parameter(&mut self) {
        if self.is_header() {
            (self.space, self.ty, self.is_vector) = ("", "", false);
        }
    }

    /// Passes the rest of a value in braces, up to its `}`.
    pub(crate) fn end_value(&mut self) {
        (self.braces, self.is_whole) = (0, true);
    }

    /// The kind of symbol that a name declares here.
    pub(crate) fn kind(&self) -> Option<SymbolKind<'s>> {
        match self.space {
            "" => None,
            ".reg" if self.is_vector => Some(SymbolKind::Vector),
            ".reg" => Some(SymbolKind::Register(self.ty)),
            space => Some(SymbolKind::Variable(space)),
        }
    }
}

/// The count in `<100>`, if that follows a register's name.
pub(crate) fn range_count(source: &str, lexer: &mut Lexer<'_>) -> Option<u64> {
    let mut ahead = lexer.clone();
    if !ahead.token()?.is(b'<') {
        return None;
    }
    let token = ahead.token()?;
    let text = token.span().text(source);
    let count = match token.kind() {
        TokenKind::Ident if text == "WARP_SZ" => 32,
        _ => integer_literal(text)?,
    };
    if !ahead.token()?.is(b'>') {
        return None;
    }
    *lexer = ahead;
    Some(count)
}

/// The text, if it can be a type rather than an attribute of a declaration.
fn type_text(text: &str) -> &str {
    match text {
        ".align" | ".ptr" | ".attribute" => "",
        _ => text,
    }
}

/// Whether a directive starts a declaration.
pub(super) fn starts_declaration(directive: &str) -> bool {
    matches!(
        directive,
        ".reg"
            | ".entry"
            | ".func"
            | ".visible"
            | ".extern"
            | ".weak"
            | ".common"
            | ".attribute"
            | ".align"
            | ".global"
            | ".shared"
            | ".local"
            | ".const"
            | ".param"
            | ".tex"
            | ".samplerref"
            | ".texref"
            | ".surfref"
    )
}

/// Directives that are also modifiers of opcodes.
const ALSO_MODIFIERS: [&str; 7] =
    [".alias", ".const", ".global", ".local", ".param", ".shared", ".weak"];

/// Whether a dotted word starts a directive wherever it stands: no opcode has such a modifier.
pub(super) fn starts_directive(word: &str) -> bool {
    DIRECTIVES.contains(&word) && !ALSO_MODIFIERS.contains(&word)
}

/// Directives that start a statement, inside of a function or outside.
pub(crate) const DIRECTIVES: &[&str] = &[
    ".reg",
    ".loc",
    ".loc_intermediate",
    ".pragma",
    ".local",
    ".shared",
    ".param",
    ".const",
    ".global",
    ".file",
    ".branchtargets",
    ".calltargets",
    ".callprototype",
    ".entry",
    ".func",
    ".visible",
    ".extern",
    ".weak",
    ".common",
    ".attribute",
    ".alias",
    ".section",
    ".version",
    ".target",
    ".address_size",
];
