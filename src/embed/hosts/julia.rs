//! Julia: `@asmcall` and `llvmcall`.

use super::{Argument, Call, Declared, Lexer, Literals, StringForm, Syntax, is_name};
use crate::embed::scan::Form;
use crate::source::Span;

pub(super) const JULIA: Syntax = Syntax {
    calls: &CALLS,
    comment: b"#",
    nested_comment: Some([b"#=", b"=#"]),
    sigil: Some(b'@'),
    quote,
    form,
    has_long_strings: true,
    is_computed,
    literals: Literals::Alone,
    joins: b"+*",
    ..super::OTHER
};

const CALLS: [Call; 2] = [
    Call { name: "@asmcall", open: b'(', text: (0, &[]), operands: Declared::Constraints(1, &[]) },
    Call { name: "llvmcall", open: b'(', text: (0, &[]), operands: Declared::Inside },
];

fn quote(lexer: &mut Lexer<'_>, floor: usize) -> Option<usize> {
    let at = lexer.pos;
    let before = &lexer.bytes[floor..at];
    match lexer.bytes[at] {
        b'"' => return Some(at - lexer.word_before(floor, at, 8).len()),
        // `'` after a value is an operator.
        b'\'' => {
            let is_value = before.last().is_some_and(|&b| is_name(b) || b")]}'\".".contains(&b));
            lexer.pos += if is_value { 0 } else { lexer.character(16) };
        }
        b'`' => {
            let rest = lexer.rest();
            lexer.pos += memchr::memchr(b'`', &rest[1..]).map_or(rest.len() - 1, |n| n + 1);
        }
        _ => {}
    }
    None
}

fn form(prefix: &[u8]) -> StringForm {
    match prefix {
        b"" => StringForm { form: Form::Julia, is_computed: false, has_escapes: true },
        b"raw" => StringForm { form: Form::Raw, is_computed: false, has_escapes: true },
        _ => StringForm { form: Form::Raw, is_computed: true, has_escapes: true },
    }
}

/// Whether a string has values inside, or a raw string has an escaped quote.
fn is_computed(form: Form, body: &[u8]) -> bool {
    let mut at = 0;
    while let Some(n) = memchr::memchr2(b'$', b'\\', &body[at..]) {
        let found = match form {
            Form::Julia => body[at + n] == b'$',
            _ => body[at + n..].starts_with(b"\\\""),
        };
        if found {
            return true;
        }
        // A string goes on behind a backslash and the byte after it.
        at += n + if body[at + n] == b'\\' { 2 } else { 1 };
    }
    false
}

impl<'s> Lexer<'s> {
    /// The first two arguments of a macro without parentheses.
    pub(super) fn spaced(&mut self) -> Vec<Argument<'s>> {
        let mut all = Vec::new();
        for _ in 0..2 {
            let end = self.pos;
            self.trivia(false);
            let start = self.pos as u32;
            let run = self.run(false);
            if run.literals.is_empty() {
                self.pos = end;
                break;
            }
            all.push(Argument { name: None, run, span: Span::new(start, self.pos as u32) });
        }
        all
    }
}
