//! Where a directive ends: the rule that all readers of modules share.
//!
//! The rule ignores line breaks, as ptxas does. A directive that ptxas refuses ends where the next
//! statement seems to start.

use super::declaration::{DIRECTIVES, Declaration, starts_declaration};
use super::lexer::{Token, TokenKind, is_word, is_word_start};

/// How the next token relates to a directive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// A part of the directive.
    Inside,
    /// The directive's last token.
    Last,
    /// The `{` of the function's body or of the section's data, which may follow.
    Body,
    /// The first token after the directive.
    After,
    /// The first token after the directive, which lacks its `;` or its body.
    Cut,
}

/// A directive, as far as it has been read.
pub(crate) enum Directive<'s> {
    /// A directive that has no `;`.
    Bare(Bare),
    /// `.section .debug_info { … }`
    Section,
    /// Registers, variables and the headers of functions.
    Declaration(Declaration<'s>),
    /// A directive that ends with its `;`.
    Statement {
        /// The braces that are open.
        braces: u32,
    },
}

/// A directive without `;`: only the token behind it shows that it has ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bare {
    shape: Shape,
    last: Last,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    /// `.version 8.0`, `.address_size 64`
    Number,
    /// `.target sm_90, debug`
    Target,
    /// `.loc 1 2 3, function_name $L + 4, inlined_at 1 2 3`
    Loc,
    /// `.file 1 "a.cu", 2, 3`
    File,
    /// `@@DWARF .section .debug_info, "", @progbits` or `@@DWARF .byte 1, 2` of PTX 1.x
    Dwarf,
}

/// What was read last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Last {
    /// The first word of the directive.
    Start,
    /// A token that a comma may follow.
    Operand,
    /// `function_name`
    FunctionName,
    /// A label behind `function_name`, or in data.
    Label,
    /// `@`
    At,
    /// `,`, or another token that something has to follow.
    Joint,
}

impl<'s> Directive<'s> {
    /// A directive whose first word has been read.
    pub(crate) fn new(first: &'s str) -> Directive<'s> {
        let shape = match first {
            ".version" | ".address_size" => Shape::Number,
            ".target" => Shape::Target,
            ".loc" | ".loc_intermediate" => Shape::Loc,
            ".file" => Shape::File,
            ".section" => return Directive::Section,
            _ if starts_declaration(first) => {
                return Directive::Declaration(Declaration::new(first));
            }
            _ => return Directive::Statement { braces: 0 },
        };
        Directive::Bare(Bare { shape, last: Last::Start })
    }

    /// How the next token relates to the directive.
    pub(crate) fn step(&mut self, kind: TokenKind, text: &'s str) -> Step {
        match self {
            Directive::Bare(bare) => bare.step(kind, text),
            Directive::Declaration(declaration) => declaration.step(kind, text),
            Directive::Section => match kind {
                TokenKind::Punct([b'{', 0]) => Step::Body,
                TokenKind::Punct([b'}', 0]) => Step::Cut,
                TokenKind::Punct([b';', 0]) => Step::Last,
                _ => Step::Inside,
            },
            Directive::Statement { braces } => {
                match kind {
                    TokenKind::Punct([b'{', 0]) => *braces += 1,
                    TokenKind::Punct([b'}', 0]) if *braces == 0 => return Step::Cut,
                    TokenKind::Punct([b'}', 0]) => *braces -= 1,
                    TokenKind::Punct([b';', 0]) => return Step::Last,
                    _ => {}
                }
                Step::Inside
            }
        }
    }
}

impl Bare {
    /// Debug information of PTX 1.x; its first word, [`DWARF`], has been read.
    pub(crate) const DWARF: Bare = Bare { shape: Shape::Dwarf, last: Last::Start };

    /// How the next token relates to the directive: [`Step::Inside`] or [`Step::After`].
    pub(crate) fn step(&mut self, kind: TokenKind, text: &str) -> Step {
        let is = |punct| kind == TokenKind::Punct([punct, 0]);
        let last = match (self.shape, self.last) {
            (Shape::Number, Last::Start) if kind == TokenKind::Number => Some(Last::Operand),
            (Shape::Target, Last::Start | Last::Joint) if kind == TokenKind::Ident => {
                Some(Last::Operand)
            }
            (Shape::Loc, Last::Start | Last::Operand)
            | (Shape::File, Last::Start | Last::Joint)
                if kind == TokenKind::Number =>
            {
                Some(Last::Operand)
            }
            (Shape::Loc, Last::Joint) => match text {
                "function_name" => Some(Last::FunctionName),
                "inlined_at" => Some(Last::Operand),
                _ => None,
            },
            (Shape::Loc, Last::FunctionName) if kind == TokenKind::Ident => Some(Last::Label),
            (Shape::Loc, Last::Label) if is(b'+') || kind == TokenKind::Number => Some(Last::Label),
            (Shape::File, Last::Operand) if kind == TokenKind::Str => Some(Last::Operand),
            // The word that names the kind of data.
            (Shape::Dwarf, Last::Start) if text.starts_with('.') => Some(Last::Joint),
            (Shape::Dwarf, Last::Joint) => match kind {
                TokenKind::Punct([b'@', 0]) => Some(Last::At),
                TokenKind::Ident => Some(Last::Label),
                TokenKind::Dot | TokenKind::Number | TokenKind::Str => Some(Last::Operand),
                _ => None,
            },
            (Shape::Dwarf, Last::At) if kind == TokenKind::Ident => Some(Last::Operand),
            (Shape::Number, _) => None,
            (_, Last::Operand | Last::Label) if is(b',') => Some(Last::Joint),
            _ => None,
        };
        last.map_or(Step::After, |last| {
            self.last = last;
            Step::Inside
        })
    }

    /// Whether the directive belongs to the head of a module.
    pub(crate) fn is_head(self) -> bool {
        matches!(self.shape, Shape::Number | Shape::Target)
    }

    /// Whether something has to follow what was read.
    pub(crate) fn is_open(self) -> bool {
        !matches!(self.last, Last::Operand | Last::Label)
    }
}

/// Whether a digit follows the dot of a word.
fn is_decimal(word: &str) -> bool {
    word.as_bytes().get(1).is_some_and(u8::is_ascii_digit)
}

/// The tokens behind a directive of a module's head that can neither belong to it nor start a
/// statement, as in `.version 8,0` and `.target sm_90 sm_80`.
#[inline(never)]
pub(crate) fn misplaced(source: &str, tokens: &mut dyn Iterator<Item = Token>) -> Vec<Token> {
    let mut found: Vec<Token> = Vec::new();
    for token in tokens {
        let text = token.span().text(source);
        let behind = &source.as_bytes()[token.end() as usize..];
        match token.kind() {
            TokenKind::Dot if DIRECTIVES.contains(&text) || starts_declaration(text) => {
                return found;
            }
            // A directive that does not exist, but not the `.1` in `8.0.1`.
            TokenKind::Dot if found.is_empty() && !is_decimal(text) => break,
            // An opcode with a modifier.
            TokenKind::Ident if matches!(behind, [b'.', next, ..] if is_word_start(*next)) => break,
            TokenKind::Punct([b';' | b'{' | b'}' | b'@', 0])
            | TokenKind::UnclosedComment
            | TokenKind::UnclosedString => break,
            _ => found.push(token),
        }
    }
    // A word may start a statement, which ends with a `;`.
    if found.first().is_some_and(|first| first.kind() == TokenKind::Ident) {
        found.clear();
    }
    found
}

/// The word that starts debug information of PTX 1.x.
const DWARF: &[u8] = b"@@DWARF";

/// The offset after `@@DWARF`, if that stands at an offset.
pub(crate) fn dwarf_end(bytes: &[u8], at: usize) -> Option<usize> {
    let rest = bytes.get(at..)?.strip_prefix(DWARF)?;
    let is_word = rest.first().is_some_and(|&byte| is_word(byte));
    (!is_word).then_some(at + DWARF.len())
}
