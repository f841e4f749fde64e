//! The functions, variables and labels of PTX, and the parts that an editor can fold.

use gen_lsp_types::SymbolKind as LspKind;
use serde_json::{Value, json};

use super::document::{Encoding, Text};
use crate::names::{Names, Symbol, SymbolKind};
use crate::source::Span;
use crate::syntax::lexer::comments;
use crate::syntax::{DirectiveKind, Statement, StatementKind, Tree, parse, parse_around};

/// The largest number of labels that are shown: nobody looks for one among more.
const MOST_LABELS: usize = 2000;

/// The symbols of a module: functions with their labels, and variables outside of them.
pub(super) fn symbols(text: &Text, encoding: Encoding) -> Vec<Value> {
    let source = text.as_str();
    let shown = |name: Span, whole: Span, detail: &str, kind: LspKind, children: Vec<Value>| {
        json!({
            "name": name.text(source),
            "detail": detail,
            "kind": kind,
            "range": text.range(whole, encoding),
            "selectionRange": text.range(name, encoding),
            "children": children,
        })
    };
    let labels = labels(source);
    let has_few = labels.len() <= MOST_LABELS;
    let mut labels = labels.into_iter().filter(|_| has_few).peekable();
    // What stands in bodies is not asked for, and takes much memory.
    let outline = parse_around(source, Span::at(0));
    let names = Names::of(&outline);
    let mut top: Vec<&Symbol> = names.symbols().map(|it| it.1).filter(|it| is_shown(it)).collect();
    top.sort_by_key(|it| it.name.start);
    let shown = top.into_iter().map(|symbol| {
        let detail = detail(&outline, symbol);
        if symbol.kind != SymbolKind::Function {
            let kind = LspKind::Variable;
            return shown(symbol.name, symbol.declaration, &detail, kind, Vec::new());
        }
        let mut own = Vec::new();
        while let Some(label) = labels.next_if(|label| label.end <= symbol.body.end) {
            if label.start >= symbol.body.start {
                own.push(shown(label, label, "", LspKind::Key, Vec::new()));
            }
        }
        let has_body = !symbol.body.is_empty();
        let end = if has_body { symbol.body } else { symbol.declaration };
        let whole = symbol.declaration.to(end);
        shown(symbol.name, whole, &detail, LspKind::Function, own)
    });
    shown.collect()
}

/// The names of all labels, in the order of the text.
fn labels(source: &str) -> Vec<Span> {
    let tree = parse(source);
    let labels = tree.all_statements().filter_map(|statement| match statement.kind() {
        StatementKind::Label(name) => Some(name),
        _ => None,
    });
    labels.collect()
}

fn is_shown(symbol: &Symbol) -> bool {
    match symbol.kind {
        SymbolKind::Function => true,
        SymbolKind::Variable | SymbolKind::Register => symbol.is_global(),
        SymbolKind::Parameter | SymbolKind::Label => false,
    }
}

/// The words before the name, such as `.visible .entry`.
fn detail(tree: &Tree<'_>, symbol: &Symbol) -> String {
    let words = match tree.statement_at(symbol.name.start).map(Statement::kind) {
        Some(StatementKind::Function(function)) => function.head(),
        Some(StatementKind::Declaration(declaration)) => declaration.words(),
        _ => &[],
    };
    // The results and the parameters of a function are left out.
    let texts = words.iter().map(|word| word.span().text(tree.source()));
    let before = texts.take_while(|word| *word != "(" && *word != symbol.name.text(tree.source()));
    before.filter(|word| word.starts_with('.')).collect::<Vec<_>>().join(" ")
}

/// The lines that can be folded: blocks, and comments of several lines.
pub(super) fn folds(text: &Text, encoding: Encoding) -> Vec<Value> {
    let source = text.as_str();
    let tree = parse(source);
    let blocks = tree.all_statements().filter_map(|statement| match statement.kind() {
        StatementKind::Block(_) => Some(statement.span()),
        StatementKind::Directive(directive) if directive.kind() == DirectiveKind::Section => {
            let brace = directive.arguments().iter().find(|token| token.is(b'{'))?;
            Some(Span::new(brace.span().start, statement.span().end))
        }
        _ => None,
    });
    let line = |offset: u32| text.position(offset, encoding).line;
    let mut folds = Vec::new();
    for block in blocks {
        let (start, end) = (line(block.start), line(block.end));
        // The line of the `}` stays.
        if start + 1 < end {
            folds.push(json!({ "startLine": start, "endLine": end - 1 }));
        }
    }
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for comment in comments(source) {
        let (start, end) = (line(comment.start), line(comment.end));
        let before = &source[text.line_start(start) as usize..comment.start as usize];
        match runs.last_mut() {
            Some((_, last)) if before.trim().is_empty() && start == *last + 1 => *last = end,
            _ if before.trim().is_empty() => runs.push((start, end)),
            _ => {}
        }
    }
    let runs = runs.into_iter().filter(|(start, end)| start < end);
    folds.extend(
        runs.map(|(start, end)| json!({ "startLine": start, "endLine": end, "kind": "comment" })),
    );
    folds
}
