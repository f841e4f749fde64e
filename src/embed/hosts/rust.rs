//! Rust: `asm!`, and the macro of cuda-oxide.

use super::{Argument, Call, Constraints, Declared, Found, Lexer, Literals, StringForm, Syntax};
use crate::embed::scan::{Form, Literal, SkipReason};
use crate::embed::{AsmOperand, Convention};
use crate::source::Span;

pub(super) const RUST: Syntax = Syntax {
    calls: &CALLS,
    comment: b"//",
    nested_comment: Some([b"/*", b"*/"]),
    has_macros: true,
    quote,
    longest_prefix: 260,
    form,
    has_triple_quotes: false,
    has_long_strings: true,
    literals: Literals::Lines,
    computes,
    has_parts_of_cuda: false,
    ..super::OTHER
};

const CALLS: [Call; 2] = [
    Call { name: "asm", open: b'(', text: (0, &[]), operands: Declared::Rust(Convention::Rust) },
    // The macro of cuda-oxide.
    Call { name: "ptx_asm", open: b'(', text: (0, &[]), operands: Declared::Rust(Convention::C) },
];

fn quote(lexer: &mut Lexer<'_>, floor: usize) -> Option<usize> {
    let at = lexer.pos;
    match lexer.bytes[at] {
        b'"' => {}
        b'\'' => {
            lexer.pos += lexer.character(12);
            return None;
        }
        _ => return None,
    }
    let before = &lexer.bytes[floor..at];
    let hashes = before.iter().rev().take(256).take_while(|&&b| b == b'#').count();
    let prefix = lexer.word_before(floor, at - hashes, 4);
    Some(match prefix {
        b"r" | b"br" | b"cr" => at - hashes - prefix.len(),
        b"b" | b"c" if hashes == 0 => at - prefix.len(),
        _ => at,
    })
}

fn form(prefix: &[u8]) -> StringForm {
    let is_raw = prefix.contains(&b'r');
    let form = if is_raw { Form::Raw } else { Form::Rust };
    StringForm { form, is_computed: false, has_escapes: !is_raw }
}

/// Whether the string is the first argument of a macro such as `format!`, and thus a template.
fn computes(before: &[u8], _: &[u8]) -> bool {
    let before = before.trim_ascii_end();
    before.strip_suffix(b"(").unwrap_or_default().trim_ascii_end().ends_with(b"!")
}

impl<'s> Lexer<'s> {
    /// The call of `asm!`.
    pub(super) fn rust_call(
        &mut self,
        start: usize,
        arguments: Vec<Argument<'s>>,
        convention: Convention,
    ) -> Option<Found<'s>> {
        let mut text: Vec<Literal> = Vec::new();
        let mut operands = Vec::new();
        for argument in arguments {
            if argument.is_text() && argument.name.is_none() && operands.is_empty() {
                let joined_by_line = !text.is_empty();
                let literal = argument.run.literals.into_iter().next()?;
                text.push(Literal { joined_by_line, ..literal });
                continue;
            }
            let code = argument.span.text(self.source);
            // `#[cfg(…)]` may leave the argument out.
            if code.starts_with('#') {
                self.skip(start, SkipReason::Directive);
                return None;
            }
            if text.is_empty() || code.starts_with("concat!") {
                self.skip(start, SkipReason::Computed);
                return None;
            }
            match rust_operand(code, argument.span, convention) {
                RustOperand::Other => {}
                RustOperand::Foreign => return None,
                RustOperand::Of { constraint, span, output } => {
                    operands.push(AsmOperand::new(argument.name, constraint, span, output));
                }
            }
        }
        (!text.is_empty()).then(|| Found::Call {
            span: Span::new(start as u32, self.pos as u32),
            text,
            constraints: Constraints::Operands(operands),
            convention,
        })
    }
}

enum RustOperand {
    /// It is not counted among the operands.
    Other,
    /// It is an operand for a machine other than nvptx.
    Foreign,
    Of {
        constraint: String,
        span: Span,
        output: bool,
    },
}

/// Reads an operand of `asm!`.
fn rust_operand(code: &str, place: Span, convention: Convention) -> RustOperand {
    let kind = code.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').next();
    let kind = kind.unwrap_or_default();
    let output = match kind {
        "in" => false,
        "out" | "lateout" | "inout" | "inlateout" => true,
        "const" | "sym" => {
            let span = Span::new(place.start, place.start + kind.len() as u32);
            return RustOperand::Of { constraint: kind.into(), span, output: false };
        }
        _ => return RustOperand::Other,
    };
    let inside = code[kind.len()..].trim_start().strip_prefix('(');
    let Some((class, after)) = inside.and_then(|inside| inside.split_once(')')) else {
        return RustOperand::Foreign;
    };
    let class = class.trim();
    let quoted = class.strip_prefix('"').and_then(|it| it.strip_suffix('"'));
    let constraint = match (convention, quoted) {
        (Convention::C, Some(constraint)) => constraint.to_owned(),
        (Convention::Rust, None) if matches!(class, "reg16" | "reg32" | "reg64" | "reg128") => {
            format!("{kind}({class})")
        }
        _ => return RustOperand::Foreign,
    };
    let length = (code.len() - after.len()) as u32;
    RustOperand::Of { constraint, span: Span::new(place.start, place.start + length), output }
}
