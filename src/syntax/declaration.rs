//! Declarations: registers, variables and the headers of functions, token by token.

use super::constant::integer_literal;
use super::lexer::{Lexer, TokenKind};
use super::scope::SymbolKind;
use crate::source::Span;

/// A declaration, as far as it has been read.
#[derive(Default)]
pub(crate) struct Declaration<'s> {
    /// Whether it declares a function.
    pub(crate) is_header: bool,
    /// The name of that function.
    pub(crate) function: Option<Span>,
    pub(crate) parens: usize,
    pub(crate) brackets: usize,
    /// State space and type of the names that follow; empty if none is written yet.
    pub(crate) space: &'s str,
    pub(crate) ty: &'s str,
    pub(crate) is_vector: bool,
}

impl<'s> Declaration<'s> {
    pub(crate) fn start_header(&mut self) {
        self.is_header = true;
        self.space = "";
    }

    /// A word with a dot.
    pub(crate) fn directive(&mut self, text: &'s str) {
        match text {
            // `.param .u64 .ptr .global p` is a parameter.
            ".reg" | ".param" | ".global" | ".shared" | ".local" | ".const" | ".tex"
                if self.space != ".param" || self.ty.is_empty() =>
            {
                (self.space, self.ty, self.is_vector) = (text, "", false);
            }
            ".v2" | ".v4" | ".v8" => self.is_vector = true,
            _ if self.ty.is_empty() => self.ty = type_text(text),
            _ => {}
        }
    }

    pub(crate) fn punctuation(&mut self, punct: [u8; 2]) {
        match punct {
            [b'(', 0] => self.parens += 1,
            [b')', 0] => {
                self.parens = self.parens.saturating_sub(1);
                self.end_parameter();
            }
            [b',', 0] => self.end_parameter(),
            [b'[', 0] => self.brackets += 1,
            [b']', 0] => self.brackets = self.brackets.saturating_sub(1),
            _ => {}
        }
    }

    /// Each parameter of a function has a type of its own.
    fn end_parameter(&mut self) {
        if self.is_header {
            (self.space, self.ty, self.is_vector) = ("", "", false);
        }
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
    let text = token.span.text(source);
    let count = match token.kind {
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
        ".align" | ".ptr" | ".attribute" | ".managed" => "",
        _ => text,
    }
}

/// Whether a directive, without its dot, starts a declaration.
pub(crate) fn starts_declaration(word: &str) -> bool {
    matches!(
        word,
        "reg"
            | "entry"
            | "func"
            | "visible"
            | "extern"
            | "weak"
            | "common"
            | "global"
            | "shared"
            | "local"
            | "const"
            | "param"
            | "tex"
            | "samplerref"
            | "texref"
            | "surfref"
    )
}

/// Directives that start a statement inside a function.
pub(crate) const DIRECTIVES: &[&str] = &[
    ".reg",
    ".loc",
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
    ".section",
    ".version",
    ".target",
];
