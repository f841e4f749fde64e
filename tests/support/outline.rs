//! A second reader of PTX for tests, which finds the functions of a text and their statements. It
//! expects valid PTX. It does not call the library's reader, so tests can compare the two.

use std::ops::Range;

use vptx::syntax::{Token, TokenKind, statement_tokens};

/// The kind of a statement in a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Label,
    /// `.reg`
    Registers,
    /// `.local`, `.shared`, `.param` and the like.
    Variable,
    /// `.loc`, `.file`
    Debug,
    /// `.pragma`, `.callprototype` and the like.
    Directive,
    Instruction,
}

#[derive(Clone, Debug)]
pub(crate) struct Statement {
    pub(crate) kind: Kind,
    /// The bytes of the statement, with the `;`.
    pub(crate) span: Range<usize>,
    /// The numbers of the statement's tokens, with the `;`.
    pub(crate) tokens: Range<usize>,
    /// The number of nested blocks around the statement, without the function's body.
    pub(crate) depth: usize,
}

#[derive(Clone, Debug)]
pub(crate) struct Function {
    /// The number of the token that names the function.
    pub(crate) name: usize,
    /// The bytes of the head, from its first word to its last one before the `{`.
    pub(crate) head: Range<usize>,
    /// The bytes from the `{` to the `}`.
    pub(crate) body: Range<usize>,
    /// The numbers of all tokens of the function, from the first word to the `}`.
    pub(crate) tokens: Range<usize>,
    /// For each block in the body, the numbers of its tokens from `{` to `}`, ordered by the start
    /// of the block.
    pub(crate) blocks: Vec<Range<usize>>,
    pub(crate) statements: Vec<Statement>,
}

/// A statement outside of functions.
#[derive(Clone, Debug)]
pub(crate) struct Global {
    pub(crate) span: Range<usize>,
    pub(crate) tokens: Range<usize>,
}

pub(crate) struct Outline<'s> {
    pub(crate) source: &'s str,
    pub(crate) tokens: Vec<Token>,
    pub(crate) functions: Vec<Function>,
    pub(crate) globals: Vec<Global>,
}

impl<'s> Outline<'s> {
    pub(crate) fn of(source: &'s str) -> Outline<'s> {
        let tokens = statement_tokens(source);
        let mut outline = Outline { source, tokens, functions: Vec::new(), globals: Vec::new() };
        let mut at = 0;
        while at < outline.tokens.len() {
            at = outline.read_global(at);
        }
        outline
    }

    /// The text of the token with a number; empty after the last token.
    pub(crate) fn text(&self, at: usize) -> &'s str {
        self.tokens.get(at).map_or("", |token| token.span().text(self.source))
    }

    /// The texts of some tokens.
    pub(crate) fn texts(&self, tokens: Range<usize>) -> Vec<&'s str> {
        tokens.map(|at| self.text(at)).collect()
    }

    /// The bytes of a token.
    pub(crate) fn bytes(&self, at: usize) -> Range<usize> {
        self.tokens[at].span().range()
    }

    fn span(&self, tokens: &Range<usize>) -> Range<usize> {
        self.bytes(tokens.start).start..self.bytes(tokens.end - 1).end
    }

    /// The number of the token that is the opcode of an instruction, after its guard.
    pub(crate) fn opcode(&self, instruction: &Statement) -> usize {
        let start = instruction.tokens.start;
        match (self.text(start), self.text(start + 1)) {
            ("@", "!") => start + 3,
            ("@", _) => start + 2,
            _ => start,
        }
    }

    pub(crate) fn is_ident(&self, at: usize) -> bool {
        self.tokens.get(at).is_some_and(|token| token.kind() == TokenKind::Ident)
    }

    /// Reads the statement or function that starts at a token, outside of functions. Returns the
    /// number of the next token.
    fn read_global(&mut self, start: usize) -> usize {
        let end = match self.text(start) {
            ".version" | ".target" | ".address_size" => {
                let is_dot = |at: &usize| self.tokens[*at].kind() == TokenKind::Dot;
                (start + 1..self.tokens.len()).find(is_dot).unwrap_or(self.tokens.len())
            }
            ".file" | ".loc" => self.end_of_place(start),
            ".section" => self.end_of_braces(start),
            _ => {
                let mut at = start;
                while !matches!(self.text(at), ";" | "{" | "") {
                    at += 1;
                }
                if self.text(at) == "{" && !self.texts(start..at).contains(&"=") {
                    return self.read_function(start, at);
                }
                while !matches!(self.text(at), ";" | "") {
                    at += 1;
                }
                (at + 1).min(self.tokens.len())
            }
        };
        let tokens = start..end;
        self.globals.push(Global { span: self.span(&tokens), tokens });
        end
    }

    /// The number of the token after the `}` that closes the next `{`.
    fn end_of_braces(&self, start: usize) -> usize {
        let mut depth = 0;
        for at in start..self.tokens.len() {
            match self.text(at) {
                "{" => depth += 1,
                "}" if depth == 1 => return at + 1,
                "}" => depth -= 1,
                _ => {}
            }
        }
        self.tokens.len()
    }

    /// The number of the token after a `.loc` or `.file`, which have no `;`.
    fn end_of_place(&self, start: usize) -> usize {
        let is_plain = |at: usize| {
            matches!(
                self.tokens.get(at).map(|it| it.kind()),
                Some(TokenKind::Number | TokenKind::Str)
            )
        };
        let mut at = start + 1;
        while is_plain(at) || matches!(self.text(at), "," | "+") {
            let named = self.text(at) == "," && self.is_ident(at + 1);
            at += 1 + usize::from(named);
            // `function_name $L__info_string0`
            at += usize::from(named && self.is_ident(at));
        }
        at
    }

    fn read_function(&mut self, start: usize, open: usize) -> usize {
        let (mut statements, mut blocks) = (Vec::new(), Vec::new());
        // The numbers of the open blocks.
        let mut around = Vec::new();
        let mut at = open + 1;
        loop {
            let (kind, end) = match self.text(at) {
                "" => break,
                "{" => {
                    around.push(blocks.len());
                    blocks.push(at..at + 1);
                    at += 1;
                    continue;
                }
                "}" => {
                    let Some(block) = around.pop() else { break };
                    at += 1;
                    blocks[block].end = at;
                    continue;
                }
                ";" => {
                    at += 1;
                    continue;
                }
                ".loc" | ".file" => (Kind::Debug, self.end_of_place(at)),
                _ if self.text(at + 1) == ":" => (Kind::Label, at + 2),
                first => {
                    let end = (at..self.tokens.len()).find(|it| self.text(*it) == ";");
                    let kind = match first {
                        ".reg" => Kind::Registers,
                        ".pragma" | ".callprototype" | ".calltargets" | ".branchtargets" => {
                            Kind::Directive
                        }
                        _ if self.tokens[at].kind() == TokenKind::Dot => Kind::Variable,
                        _ => Kind::Instruction,
                    };
                    (kind, end.map_or(self.tokens.len(), |end| end + 1))
                }
            };
            let tokens = at..end;
            let depth = around.len();
            statements.push(Statement { kind, span: self.span(&tokens), tokens, depth });
            at = end;
        }
        let tokens = start..(at + 1).min(self.tokens.len());
        let name = self.function_name(start, open);
        let head = self.span(&(start..open));
        let body = self.bytes(open).start..self.span(&tokens).end;
        self.functions.push(Function { name, head, body, tokens, blocks, statements });
        at + 1
    }

    /// The number of the token that names the function whose head these tokens are.
    pub(crate) fn function_name(&self, start: usize, end: usize) -> usize {
        let is_kind = |at: &usize| matches!(self.text(*at), ".func" | ".entry");
        let mut at = (start..end).find(is_kind).expect("a function") + 1;
        let mut depth = 0;
        while depth > 0 || !self.is_ident(at) {
            depth += i32::from(self.text(at) == "(") - i32::from(self.text(at) == ")");
            at += 1;
        }
        at
    }
}

impl Function {
    /// The number of the innermost block around a statement.
    pub(crate) fn block_of(&self, statement: &Statement) -> Option<usize> {
        let around = |block: &Range<usize>| block.contains(&statement.tokens.start);
        self.blocks.iter().rposition(around)
    }

    /// The instructions, in order.
    pub(crate) fn instructions(&self) -> impl Iterator<Item = &Statement> {
        self.statements.iter().filter(|statement| statement.kind == Kind::Instruction)
    }
}

/// A text with parts replaced. The parts do not overlap; several edits at one place are made in
/// order.
pub(crate) fn edited(source: &str, mut edits: Vec<(Range<usize>, String)>) -> String {
    edits.sort_by_key(|(span, _)| (span.start, span.end));
    let (mut text, mut at) = (String::new(), 0);
    for (span, new) in edits {
        assert!(at <= span.start, "edits overlap at {}", span.start);
        text.push_str(&source[at..span.start]);
        text.push_str(&new);
        at = span.end;
    }
    text + &source[at..]
}
