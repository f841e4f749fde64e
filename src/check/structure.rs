//! Diagnostics for what does not parse.

use crate::diagnostic::{Applicability, Diagnostic, Edit};
use crate::lint::Code;
use crate::source::{Span, UNDECODABLE};
use crate::syntax::{
    ConstantError, ConstantErrorKind, Expected, Failure, Problem, ProblemKind, Statement, TokenKind,
};

/// What is wrong with the module's structure.
pub(super) fn diagnostic(problem: Problem) -> Diagnostic {
    let Problem { kind, span } = problem;
    match kind {
        ProblemKind::UnclosedComment => {
            Diagnostic::new(Code::V001, span, "this comment has no end")
                .label("opened here")
                .help("close it with `*/`; comments do not nest")
        }
        ProblemKind::UnclosedString => {
            Diagnostic::new(Code::V002, span, "this string has no closing quote")
                .label("opened here")
                .help("PTX strings have no escapes: `\\` is a character like others")
        }
        ProblemKind::UnclosedBrace { found } => {
            let diagnostic = Diagnostic::new(Code::V003, span, "this `{` is never closed")
                .label("opened here")
                .help("add the missing `}`");
            if found.is_empty() {
                diagnostic
            } else {
                diagnostic.related(found, "another function starts here")
            }
        }
        ProblemKind::StrayBrace => Diagnostic::new(Code::V004, span, "this `}` closes nothing")
            .label("no `{` is open")
            .help("remove it, or add the `{` it belongs to"),
        ProblemKind::MissingSemicolon => missing_semicolon(span),
        ProblemKind::ByteOrderMark => {
            Diagnostic::new(Code::V007, span, "the file starts with a byte order mark")
                .label("ptxas refuses it")
                .help("save the file as UTF-8 without it, or as ASCII")
                .fix(Applicability::Safe, "remove it", vec![Edit::remove(span)])
        }
    }
}

fn missing_semicolon(span: Span) -> Diagnostic {
    Diagnostic::new(Code::V005, span, "the statement ends without `;`").label("expected `;`").fix(
        Applicability::Unsafe,
        "insert `;`",
        vec![Edit::insert(span.start, ";")],
    )
}

/// Why a video instruction does not parse.
pub(super) fn failure(source: &str, statement: &Statement<'_>, failure: Failure) -> Diagnostic {
    if let Some(error) = failure.constant {
        return constant(source, error);
    }
    let tokens = statement.tokens;
    let at = tokens.len() - failure.left;
    let Some(token) = tokens.get(at) else {
        let end = tokens.last().map_or(0, |last| last.span.end);
        if failure.expected.contains(Expected::SEMICOLON) {
            return missing_semicolon(Span::at(end));
        }
        return Diagnostic::new(Code::V006, Span::at(end), "the instruction breaks off")
            .label(format!("expected {}", list(failure.expected)));
    };
    let text = token.span.text(source);
    if token.kind == TokenKind::Unknown {
        return invalid_character(text, token.span);
    }
    let previous = at.checked_sub(1).map(|at| tokens[at]);
    let diagnostic = |message: String| Diagnostic::new(Code::V006, token.span, message);
    if token.is(b'.') {
        return diagnostic("white space after the dot".into())
            .label("the dot and the word after it are one")
            .help(
                "write them together, as in `.u32` or `.b0`; white space may stand before the dot",
            );
    }
    // `10%3`: the lexer reads a register `%3`, and so does ptxas.
    if text.starts_with('%') && previous.is_some_and(|last| last.kind == TokenKind::Number) {
        return diagnostic(format!("`{text}` reads as a register here"))
            .label("not an operator and a number")
            .help("put a space after `%`")
            .fix(
                Applicability::Unsafe,
                "separate the operator",
                vec![Edit::replace(token.span, format!("% {}", &text[1..]))],
            );
    }
    if failure.expected.contains(Expected::CONSTANT) && token.kind == TokenKind::Ident {
        return diagnostic(format!("`{text}` cannot be part of a constant expression"))
            .label("expected a constant")
            .help("registers stand alone, without parentheses or operators");
    }
    if failure.expected == Expected::NONE {
        return diagnostic("something follows the instruction".into())
            .label("expected nothing more");
    }
    let what = if text.len() <= 40 { format!("found `{text}`") } else { "found this".into() };
    let expected = list(failure.expected);
    diagnostic(format!("expected {expected}, {what}")).label(format!("expected {expected}"))
}

fn invalid_character(text: &str, span: Span) -> Diagnostic {
    let what = match text.chars().next() {
        Some(UNDECODABLE) => "a byte that is neither ASCII nor UTF-8".to_string(),
        Some(c) if c.is_control() => format!("the control character U+{:04X}", u32::from(c)),
        Some(c) if !c.is_ascii() => format!("`{c}` (U+{:04X})", u32::from(c)),
        _ => format!("`{text}`"),
    };
    Diagnostic::new(Code::V007, span, format!("{what} is not used in PTX"))
        .label("outside comments and strings, PTX is ASCII")
}

/// `a, b or c`
fn list(expected: Expected) -> String {
    either(&expected.names().collect::<Vec<_>>())
}

/// `a, b or c`
pub(super) fn either(items: &[impl AsRef<str>]) -> String {
    match items {
        [] => "nothing".into(),
        [one] => one.as_ref().into(),
        [rest @ .., last] => {
            let rest: Vec<&str> = rest.iter().map(AsRef::as_ref).collect();
            format!("{} or {}", rest.join(", "), last.as_ref())
        }
    }
}

/// Why a constant expression has no value.
pub(super) fn constant(source: &str, error: ConstantError) -> Diagnostic {
    let text = error.span.text(source);
    let span = error.span;
    match error.kind {
        ConstantErrorKind::Malformed => {
            let diagnostic = Diagnostic::new(Code::V009, span, format!("`{text}` is no number"));
            if text.starts_with('0') && text.bytes().all(|byte| byte.is_ascii_digit()) {
                let decimal = text.trim_start_matches('0');
                return diagnostic
                    .label("a leading 0 makes it octal")
                    .help("octal digits are 0 to 7")
                    .fix(
                        Applicability::Unsafe,
                        "write it in decimal",
                        vec![Edit::replace(span, decimal)],
                    );
            }
            diagnostic.label("malformed").help(
                "integers are decimal, `0x…`, `0b…` or octal `0…`, with an optional `U` (upper case) at the end",
            )
        }
        ConstantErrorKind::TooLarge => {
            Diagnostic::new(Code::V009, span, format!("`{text}` is too large"))
                .label("does not fit 64 bits")
        }
        ConstantErrorKind::DivisionByZero => {
            Diagnostic::new(Code::V011, span, "division by zero in a constant expression")
                .label("the right side is 0")
        }
        ConstantErrorKind::Overflow => {
            Diagnostic::new(Code::V011, span, "the quotient does not fit 64 bits")
                .label("the smallest integer divided by -1")
        }
        ConstantErrorKind::FloatingPoint => Diagnostic::new(
            Code::V218,
            span,
            "floating-point value where a constant expression needs an integer",
        )
        .label("operands must both be integers here"),
        ConstantErrorKind::TooDeep => {
            Diagnostic::new(Code::V010, span, "the constant expression nests too deeply")
                .label("more than 200 levels")
        }
    }
}
