//! Whole modules of PTX in string literals.
//!
//! A text is a module if it starts with `.version` and a number, after blanks and comments, and has
//! a `.target`. A module is not read if it has placeholders, or if it is only a part of a text.

use super::hosts::{Found, Lexer, joins};
use super::scan::{Cursor, Literal, Scanner, SkipReason, Skipped, is_name, string_runs};
use super::{Host, Layer, Quoting};
use crate::hash::Set;
use crate::names::Names;
use crate::source::Span;
use crate::syntax::{self, StatementKind, Tree};

/// A module in the string literals of a source.
#[derive(Debug)]
pub(crate) struct StringModule {
    /// The literals, with their quotes.
    pub(crate) span: Span,
    pub(crate) layer: Layer,
}

/// Whether a source can have a module in a string.
pub(super) fn may_have_module(source: &str) -> bool {
    memchr::memmem::find(source.as_bytes(), b".version").is_some()
}

/// The modules in the strings of a source, in order.
pub(crate) fn modules(source: &str, host: Host) -> Vec<StringModule> {
    read(source, host).0
}

/// The modules in strings, and those that are not read.
pub(super) fn read(source: &str, host: Host) -> (Vec<StringModule>, Vec<Skipped>) {
    let (mut found, mut skipped) = (Vec::new(), Vec::new());
    if !may_have_module(source) {
        return (found, skipped);
    }
    let mut text = |literals: Vec<Literal>, is_computed: bool| {
        let has = |it: &Literal| may_have_module(it.body.text(source));
        let Some(last) = literals.last().filter(|_| literals.iter().any(has)) else { return };
        let span = literals[0].span.to(last.span);
        let goes_on = goes_on(source, host, last.span.end as usize);
        let layer = Layer::new(Quoting::Of(host), source, literals);
        let tree = syntax::parse(layer.text());
        if !is_module(&tree) {
            return;
        }
        if is_computed || goes_on || !is_whole(&tree) || !has_head(&tree) || has_places(&tree) {
            skipped.push(Skipped { span, reason: SkipReason::Module });
        } else {
            found.push(StringModule { span, layer });
        }
    };
    if host == Host::C {
        let mut scanner = Scanner::new(source);
        scanner.by_ref().for_each(drop);
        for run in string_runs(source) {
            if !run[0].span.is_in(&scanner.disabled) {
                text(run, false);
            }
        }
    } else {
        let mut lexer = Lexer::new(source, host);
        while let Some(found) = lexer.next() {
            if let Found::Text(run) = found {
                text(run.literals, run.computed);
            }
        }
    }
    (found, skipped)
}

fn is_module(tree: &Tree<'_>) -> bool {
    let mut words = tree.tokens().iter().map(|token| token.span().text(tree.source()));
    // Readers of PTX have lists of directives in strings, which have no number.
    words.next() == Some(".version")
        && words.next().is_some_and(|word| !word.starts_with('.'))
        && words.any(|word| word == ".target")
}

/// Whether a text ends with a statement, and closes all braces that it opens. If not, a program
/// joins it with other texts.
fn is_whole(tree: &Tree<'_>) -> bool {
    let depth = tree.tokens().iter().try_fold(0_usize, |depth, token| {
        (depth + usize::from(token.is(b'{'))).checked_sub(usize::from(token.is(b'}')))
    });
    let has_end = || tree.tokens().last().is_some_and(|it| it.is(b'}') || it.is(b';'));
    // Directives such as `.target` have no `;`.
    let is_directive = || {
        let last = tree.statements().last();
        last.is_some_and(|it| matches!(it.kind(), StatementKind::Directive(_)))
    };
    depth == Some(0) && (has_end() || is_directive())
}

/// Whether the version is a number, and the target has a lower-case letter: `TARGET` stands for
/// another word.
fn has_head(tree: &Tree<'_>) -> bool {
    let mut words = tree.tokens().iter().map(|token| token.span().text(tree.source()));
    let is_number = words.nth(1).is_some_and(|it| it.starts_with(|c: char| c.is_ascii_digit()));
    let target = words.skip_while(|word| *word != ".target").nth(1);
    is_number && target.is_some_and(|it| it.contains(|c: char| c.is_ascii_lowercase()))
}

/// Whether a program joins more to the literals that end here: `+ arch`, `<< arch`, or the name
/// of a macro.
fn goes_on(source: &str, host: Host, end: usize) -> bool {
    let mut at = end;
    if host == Host::C {
        let mut cursor = Cursor::new(source);
        cursor.pos = end;
        cursor.trivia(true);
        at = cursor.pos;
    }
    let rest = &source.as_bytes()[at..];
    if host == Host::C && rest.first().is_some_and(|it| is_name(*it)) {
        return true;
    }
    let skipped = rest.iter().take_while(|it| it.is_ascii_whitespace() || **it == b')').count();
    match rest[skipped..] {
        [b'<', b'<', ..] => host == Host::C,
        [operator, ..] => joins(host, operator),
        [] => false,
    }
}

/// Whether a text has something like `%s`, `{}`, `{name}`, `$name`, `@name@` that a program fills
/// in. A name that the text declares is no such place.
fn has_places(tree: &Tree<'_>) -> bool {
    const CONVERSIONS: [&str; 10] =
        ["%s", "%d", "%i", "%u", "%x", "%ld", "%lu", "%lld", "%llu", "%zu"];

    let (text, tokens) = (tree.source(), tree.tokens());
    let names = Names::of(tree);
    let known = names.uses().iter().filter(|it| it.meaning().is_some());
    let declared: Set<&str> = known.map(|it| it.span().text(text)).collect();
    let own = |at: usize| tokens.get(at).map_or("", |token| token.span().text(text));
    let is_word = |at: usize| tokens.get(at).is_some_and(|token| token.is_word());
    (0..tokens.len()).any(|at| match own(at) {
        "{" => match own(at + 1) {
            // The body of a kernel may be empty.
            "}" => at == 0 || own(at - 1) != ")",
            "{" => tokens[at].span().end == tokens[at + 1].span().start,
            next if !is_word(at + 1) || declared.contains(next) => false,
            // `{name:x}` and `{name.part}`
            _ if own(at + 2) == ":" => own(at + 4) == "}",
            _ if is_word(at + 2) => own(at + 3) == "}",
            _ => own(at + 2) == "}",
        },
        "%" => own(at + 1) == "(",
        "@" => is_word(at + 1) && own(at + 2) == "@",
        word => (word.starts_with('$') || CONVERSIONS.contains(&word)) && !declared.contains(word),
    })
}
