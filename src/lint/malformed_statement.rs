//! V910: statements other than video instructions that are no PTX, in modules and in `asm`. In the
//! same statements V005, where only the `;` is missing, and the constants of V009 and V011.

use super::structure::{ModuleSubject, is_in_video};
use crate::check::{constant_without_value, missing_semicolon};
use crate::diagnostic::{Applicability, Code, Diagnostic, Edit};
use crate::module::VideoStatement;
use crate::names::{SymbolKind, Use};
use crate::source::Span;
use crate::syntax::{
    ConstantError, Error, ErrorKind, Expected, Operand, OperandKind, StatementKind, Token,
    TokenKind, Tree,
};

/// The errors of a tree in statements about which nothing else is known.
///
/// `video` are the statements that are, or were meant to be, video instructions, and `known` are
/// the findings so far; both are in the order of the text.
pub(crate) fn find(
    tree: &Tree<'_>,
    video: &[VideoStatement],
    known: &[Diagnostic],
) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for error in tree.errors() {
        let at = error.span.start;
        let Some(statement) = tree.statement_at(at) else { continue };
        let place = statement.head_span();
        let first = known.partition_point(|it| it.span.start < place.start);
        let is_known = known[first..]
            .iter()
            .take_while(|it| it.span.start <= place.end)
            .any(Diagnostic::is_syntax_error);
        // A `;` right behind a video instruction is not in it.
        if is_known || is_in_video(video, Span::new(place.start, place.start + 1)) {
            continue;
        }
        let finding = match error.kind {
            ErrorKind::Unexpected(expected) => malformed(tree.source(), error, expected, place),
            ErrorKind::MissingSemicolon => missing_semicolon(tree.source(), error.span),
            // `known` has the errors of the other kinds.
            _ => continue,
        };
        found.push(finding.statement(place));
    }
    found
}

/// The findings on the syntax errors of an `asm`, whose text is at `text` in a tree. There are none
/// if the tree also has errors of other kinds: another `asm` may close a bracket.
///
/// The compiler writes constants in place of the words that are `is_constant`. vptx does not know
/// these constants, so statements with such words are left out.
pub(super) fn find_in_asm(
    tree: &Tree<'_>,
    text: Span,
    video: &[VideoStatement],
    is_constant: impl Fn(&str) -> bool,
) -> Vec<Diagnostic> {
    let is_judged = |error: &Error| {
        matches!(error.kind, ErrorKind::Unexpected(_) | ErrorKind::MissingSemicolon)
            && text.start <= error.span.start
            && error.span.end <= text.end
    };
    if !tree.errors().iter().all(is_judged) {
        return Vec::new();
    }
    let mut found = find(tree, video, &[]);
    found.retain(|it| {
        let statement = tree.statement_at(it.span.start);
        let mut words = statement.iter().flat_map(|it| it.tokens()).map(|token| token.span());
        !words.any(|span| is_constant(span.text(tree.source())))
    });
    found
}

/// Constants without a value: malformed or too large, or a division by zero.
pub(super) fn find_constants(subject: &ModuleSubject<'_>, found: &mut Vec<Diagnostic>) {
    let source = subject.source();
    let mut read = 0;
    for token in subject.tree.tokens().iter().filter(|token| may_fail(source, **token)) {
        let at = token.span();
        if at.start < read || is_in_video(subject.statements, at) {
            continue;
        }
        let Some(statement) = subject.tree.statement_at(at.start) else { continue };
        let place = statement.head_span();
        read = place.end;
        let error = match statement.kind() {
            StatementKind::Instruction(it) => it.operands().find_map(|it| without_value(&it)),
            StatementKind::Directive(it) => it.operands().find_map(|it| without_value(&it)),
            StatementKind::Declaration(it) => {
                it.names().find_map(|name| without_value(&name.value()?))
            }
            _ => None,
        };
        let finding = error.map(|error| constant_without_value(source, error));
        found.extend(finding.map(|it| it.statement(place)));
    }
}

/// Whether an expression with this token may have no value. Most numbers are short.
fn may_fail(source: &str, token: Token) -> bool {
    match token.kind() {
        TokenKind::Number => {
            let text = token.span().text(source).as_bytes();
            let is_hexadecimal = |digits: &[u8]| digits.iter().all(u8::is_ascii_hexdigit);
            let is_plain = match text {
                [b'0'] => true,
                [b'0', b'x' | b'X', digits @ ..] if (1..=8).contains(&digits.len()) => {
                    is_hexadecimal(digits)
                }
                [b'0', b'f' | b'F', digits @ ..] if digits.len() == 8 => is_hexadecimal(digits),
                [b'1'..=b'9', ..] if text.len() < 19 => text.iter().all(u8::is_ascii_digit),
                _ => false,
            };
            !is_plain
        }
        TokenKind::Punct([byte, 0]) => matches!(byte, b'/' | b'%'),
        _ => false,
    }
}

/// The first error in the constants of an operand.
fn without_value(operand: &Operand<'_>) -> Option<ConstantError> {
    let (mut elements, offset) = match operand.kind() {
        OperandKind::Constant(value) => return value.err(),
        OperandKind::Sum(sum) => return sum.offset()?.err(),
        OperandKind::Address(address) | OperandKind::Indexed(_, address) => {
            (address.elements(), None)
        }
        OperandKind::Vector(elements)
        | OperandKind::VectorPair(elements, _)
        | OperandKind::List(elements) => (elements, None),
        OperandKind::Applied(_, elements, offset) => (elements, offset),
        _ => return None,
    };
    elements.find_map(|it| without_value(&it)).or_else(|| offset?.err())
}

/// Names that have an index and are no arrays. Most often, a comma is missing behind the name.
pub(super) fn find_indexed(subject: &ModuleSubject<'_>, found: &mut Vec<Diagnostic>) {
    let names = subject.names;
    for pair in subject.tree.tokens().windows(2) {
        if !pair[1].is(b'[') {
            continue;
        }
        let name = pair[0].span();
        let used = names.use_of(name).filter(|it| !it.declares());
        let Some(meaning) = used.and_then(Use::meaning) else { continue };
        let symbol = names.symbol(meaning.symbol());
        let what = match symbol.kind {
            _ if symbol.is_register(subject.source()) => "a register",
            SymbolKind::Function => "a function",
            SymbolKind::Label => "a label",
            _ => continue,
        };
        let Some(statement) = subject.tree.statement_at(name.start) else { continue };
        if is_in_video(subject.statements, name) {
            continue;
        }
        let message = format!("`{}` is no array", name.text(subject.source()));
        let diagnostic = Diagnostic::new(Code::MalformedStatement, name, message)
            .label(what)
            .help("perhaps a comma is missing behind it")
            .fix(Applicability::Unsafe, "insert `,`", vec![Edit::insert(name.end, ",")]);
        found.push(diagnostic.statement(statement.head_span()));
    }
}

/// Statements of functions that stand outside of functions; the first of several.
pub(super) fn find_outside(subject: &ModuleSubject<'_>, found: &mut Vec<Diagnostic>) {
    let source = subject.source();
    // The `;` of a function without a body, if that is the statement before.
    let (mut semicolon, mut is_outside) = (None, false);
    for statement in subject.tree.statements() {
        let was_outside = std::mem::take(&mut is_outside);
        let semicolon_before = semicolon.take();
        let (what, place) = match statement.kind() {
            StatementKind::Function(it) => {
                semicolon = it.head().last().filter(|it| it.is(b';')).map(|it| it.span());
                continue;
            }
            StatementKind::Instruction(it) => ("an instruction", it.opcode()),
            StatementKind::Label(name) => ("a label", name),
            StatementKind::Block(_) => ("a block", statement.tokens()[0].span()),
            StatementKind::Directive(it) if it.kind().is_in_functions() => {
                ("a directive", it.name())
            }
            _ => continue,
        };
        is_outside = true;
        if was_outside {
            continue;
        }
        let is_block = matches!(statement.kind(), StatementKind::Block(_));
        let diagnostic = if let Some(semicolon) = semicolon_before.filter(|_| is_block) {
            let message = "a `;` stands between a function and its body";
            Diagnostic::new(Code::MalformedStatement, semicolon, message)
                .label("this ends a declaration without a body")
                .fix(Applicability::Unsafe, "remove the `;`", vec![Edit::remove(semicolon)])
        } else {
            let message = format!("`{}` stands outside of functions", place.text(source));
            Diagnostic::new(Code::MalformedStatement, place, message).label(what)
        };
        found.push(diagnostic.statement(statement.head_span()));
    }
}

fn malformed(source: &str, error: &Error, expected: Expected, place: Span) -> Diagnostic {
    let text = error.span.text(source);
    let message = match text {
        "" => "the statement is incomplete".to_string(),
        _ => format!("`{text}` cannot stand here"),
    };
    let label = match expected {
        Expected::NONE => "no PTX".to_string(),
        _ => error.kind.to_string(),
    };
    let diagnostic = Diagnostic::new(Code::MalformedStatement, error.span, message).label(label);
    // As the first word of a statement, only a type is an error.
    if error.span.start == place.start && text.starts_with('.') {
        return diagnostic.help("a state space, such as `.reg`, or an opcode stands before a type");
    }
    let rest = source[error.span.end as usize..].trim_start();
    if text == "-" && rest.starts_with(|first: char| first.is_ascii_digit()) {
        return diagnostic.help("PTX only adds: `[%rd1+-4]`").fix(
            Applicability::Unsafe,
            "write `+-`",
            vec![Edit::insert(error.span.start, "+")],
        );
    }
    diagnostic
}
