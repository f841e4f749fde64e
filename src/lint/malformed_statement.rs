//! V910: statements other than video instructions that are no PTX. V005 where only the `;` is
//! missing.

use super::structure::{ModuleSubject, is_in_video, place_of};
use crate::check::missing_semicolon;
use crate::diagnostic::{Applicability, Code, Diagnostic, Edit};
use crate::module::VideoStatement;
use crate::names::SymbolKind;
use crate::source::Span;
use crate::syntax::{Error, ErrorKind, Expected, Tree};

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
        let place = place_of(statement);
        let first = known.partition_point(|it| it.span.start < place.start);
        let is_known = known[first..]
            .iter()
            .take_while(|it| it.span.start <= place.end)
            .any(Diagnostic::is_syntax_error);
        if is_known || is_in_video(video, Span::at(at)) {
            continue;
        }
        let finding = match error.kind {
            ErrorKind::Unexpected(expected) => malformed(tree.source(), error, expected, place),
            ErrorKind::MissingSemicolon => missing_semicolon(error.span),
            // `known` has the errors of the other kinds.
            _ => continue,
        };
        found.push(finding.statement(place));
    }
    found
}

/// Names that have an index and are no arrays. Most often, a comma is missing behind the name.
pub(super) fn find_indexed(subject: &ModuleSubject<'_>, found: &mut Vec<Diagnostic>) {
    let names = subject.names;
    for pair in subject.tree.tokens().windows(2) {
        let (name, is_indexed) = (pair[0].span(), pair[1].is(b'['));
        let meaning = || names.use_of(name).filter(|it| !it.declares())?.meaning();
        let Some(meaning) = is_indexed.then(meaning).flatten() else { continue };
        let what = match names.symbol(meaning.symbol()).kind {
            SymbolKind::Register => "a register",
            SymbolKind::Function => "a function",
            SymbolKind::Label => "a label",
            SymbolKind::Parameter | SymbolKind::Variable => continue,
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
        found.push(diagnostic.statement(place_of(statement)));
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
