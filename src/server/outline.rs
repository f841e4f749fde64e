//! The functions, variables and labels of PTX, and the parts that an editor can fold.

use gen_lsp_types::SymbolKind as LspKind;
use serde_json::{Value, json};

use super::document::{Encoding, Text};
use crate::names::{Names, Symbol, SymbolKind};
use crate::source::Span;
use crate::syntax::lexer::comments;
use crate::syntax::{DirectiveKind, Statement, StatementKind, Tree, parse_around, parse_function};

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
    // What stands in bodies takes much memory.
    let outline = parse_around(source, Span::at(0));
    let mut labels = Vec::new();
    each_statement(&outline, |statement| {
        if let StatementKind::Label(name) = statement.kind() {
            labels.push(name);
        }
    });
    let has_few = labels.len() <= MOST_LABELS;
    let mut labels = labels.into_iter().filter(|_| has_few).peekable();
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

/// Shows all statements of a text. Functions are read one by one: a tree takes three times the
/// memory of its text.
fn each_statement(outline: &Tree<'_>, mut see: impl FnMut(Statement<'_>)) {
    for statement in outline.statements() {
        if matches!(statement.kind(), StatementKind::Function(_)) {
            let function = parse_function(outline.source(), statement.span().start);
            function.all_statements().for_each(&mut see);
        } else {
            see(statement);
            statement.descendants().for_each(&mut see);
        }
    }
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
    let mut blocks = Vec::new();
    each_statement(&parse_around(source, Span::at(0)), |statement| {
        let brace = match statement.kind() {
            StatementKind::Block(_) => statement.tokens().first(),
            StatementKind::Directive(directive) if directive.kind() == DirectiveKind::Section => {
                directive.arguments().iter().find(|token| token.is(b'{'))
            }
            _ => None,
        };
        if let Some(brace) = brace {
            blocks.push(brace.span().to(statement.span()));
        }
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
