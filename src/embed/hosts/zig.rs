//! Zig: `asm` expressions, whose template, outputs, inputs and clobbers have colons between them.

use super::{Call, Constraints, Declared, Found, Lexer, Literals, StringForm, Syntax};
use crate::embed::scan::{Form, SkipReason};
use crate::embed::template::decode;
use crate::embed::{AsmOperand, Convention, machine};
use crate::source::Span;

pub(super) const ZIG: Syntax = Syntax {
    calls: &[Call { name: "asm", open: b'(', text: (0, &[]), operands: Declared::Zig }],
    comment: b"//",
    quote,
    longest_prefix: 0,
    // Its escapes are among those of Rust.
    form: |_| StringForm { form: Form::Rust, is_computed: false, has_escapes: true },
    has_triple_quotes: false,
    line_string: Some(b"\\\\"),
    literals: Literals::Alone,
    joins: b"+*",
    has_parts_of_cuda: false,
    ..super::OTHER
};

fn quote(lexer: &mut Lexer<'_>, _: usize) -> Option<usize> {
    match lexer.bytes[lexer.pos] {
        b'"' => Some(lexer.pos),
        b'\\' if lexer.is_line_string() => Some(lexer.pos),
        b'\'' => {
            lexer.pos += lexer.character(12);
            None
        }
        _ => None,
    }
}

/// Why an `asm` is not read.
enum Unread {
    /// It has an error. The lexer goes on after the opening bracket.
    Malformed,
    /// The text is not written out.
    Computed,
    /// It is for another machine.
    Foreign,
}

impl<'s> Lexer<'s> {
    /// The `asm` whose keyword ends here.
    pub(super) fn zig_asm(&mut self, start: usize) -> Option<Found<'s>> {
        self.trivia(true);
        let after = self.pos;
        if self.word() == "volatile" {
            self.trivia(true);
        } else {
            self.pos = after;
        }
        if self.peek()? != b'(' {
            return None;
        }
        self.pos += 1;
        let (inside, depth) = (self.pos, self.depth);
        let found = self.zig_parts(start);
        self.depth = depth;
        match found {
            Ok(found) => Some(found),
            Err(Unread::Foreign) => None,
            Err(Unread::Computed) => {
                self.skip(start, SkipReason::Computed);
                None
            }
            Err(Unread::Malformed) => {
                self.pos = inside;
                self.depth += 1;
                self.skip(start, SkipReason::Malformed);
                None
            }
        }
    }

    /// The parts between the brackets of `asm`. Moves to after the closing one.
    fn zig_parts(&mut self, start: usize) -> Result<Found<'s>, Unread> {
        self.trivia(true);
        let text = self.run(true).literals;
        self.trivia(true);
        if text.is_empty() || !matches!(self.peek(), Some(b':' | b')')) {
            // A name, or an expression that joins texts.
            self.zig_rest()?;
            return Err(Unread::Computed);
        }
        let mut operands = Vec::new();
        for output in [true, false] {
            if self.eat(b':') {
                while self.eat(b'[') {
                    operands.push(self.zig_operand(output)?);
                }
            }
        }
        let mut clobbers = Vec::new();
        if self.eat(b':') {
            while self.string_here().is_some() {
                clobbers.push(decode(self.source, &self.run(true).literals).text);
                self.trivia(true);
                self.eat(b',');
            }
        }
        // Since Zig 0.15, clobbers are fields: `.{ .memory = true }`.
        let fields = self.pos;
        self.zig_rest()?;
        let fields = self.source[fields..self.pos].split('.').skip(1);
        clobbers
            .extend(fields.map(|it| it.chars().take_while(char::is_ascii_alphanumeric).collect()));
        if operands.iter().any(|it| machine::is_foreign_constraint(&it.constraint))
            || clobbers.iter().any(|it| machine::is_register(it))
        {
            return Err(Unread::Foreign);
        }
        Ok(Found::Call {
            span: Span::new(start as u32, self.pos as u32),
            text,
            constraints: Constraints::Operands(operands),
            convention: Convention::C,
        })
    }

    /// Reads `name] "constraint" (…)`, and the comma after it.
    fn zig_operand(&mut self, output: bool) -> Result<AsmOperand<'s>, Unread> {
        let name = self.word();
        self.trivia(true);
        if name.is_empty() || !self.eat(b']') {
            return Err(Unread::Malformed);
        }
        let constraint = self.run(true).literals;
        self.trivia(true);
        let (Some(first), Some(last)) = (constraint.first(), constraint.last()) else {
            return Err(Unread::Malformed);
        };
        if !self.eat(b'(') {
            return Err(Unread::Malformed);
        }
        let span = first.span.to(last.span);
        let constraint = decode(self.source, &constraint).text;
        self.zig_rest()?;
        self.trivia(true);
        self.eat(b',');
        Ok(AsmOperand::new(Some(name), constraint, span, output))
    }

    /// Skips the byte if it is here, and the blanks and comments after it.
    fn eat(&mut self, byte: u8) -> bool {
        let is_here = self.peek() == Some(byte);
        if is_here {
            self.pos += 1;
            self.trivia(true);
        }
        is_here
    }

    /// Moves to after the bracket that closes the open one.
    fn zig_rest(&mut self) -> Result<(), Unread> {
        loop {
            self.skip_value().ok_or(Unread::Malformed)?;
            self.pos += 1;
            if self.bytes[self.pos - 1] != b',' {
                return Ok(());
            }
        }
    }
}
