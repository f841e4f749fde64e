//! The functions, variables and labels of PTX, and the parts that an editor can fold.

use gen_lsp_types::SymbolKind as LspKind;
use serde_json::{Value, json};

use super::document::Text;
use crate::flow::Flow;
use crate::names::{Names, Symbol, SymbolKind};
use crate::source::Span;
use crate::syntax::lexer::comments;
use crate::syntax::{Function, Statement, StatementKind, Tree, parse_around, parse_function};

/// The largest number of labels that are shown. A longer list would be of no use, so none is shown
/// then.
const MOST_LABELS: usize = 2000;

/// The size of the largest text, in bytes, whose control flow is read: editors ask for symbols
/// after each change.
const MOST_BYTES: usize = 2 << 20;

/// The symbols of a module: functions with their labels, and variables outside of functions. Each
/// label spans its basic block.
pub(super) fn symbols(text: &Text) -> Vec<Value> {
    let source = text.as_str();
    let shown = |name: Span, whole: Span, detail: &str, kind: LspKind, children: Vec<Value>| {
        json!({
            "name": name.text(source),
            "detail": detail,
            "kind": kind,
            "range": text.range(whole),
            "selectionRange": text.range(name),
            "children": children,
        })
    };
    let outline = parse_around(source, Span::at(0));
    let labels = labels(&outline, |_| {});
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
        while let Some(label) = labels.next_if(|label| label.name.end <= symbol.body.end) {
            if label.name.start >= symbol.body.start {
                let detail = if label.around.is_some() { "loop" } else { "" };
                own.push(shown(label.name, label.block, detail, LspKind::Key, Vec::new()));
            }
        }
        let has_body = !symbol.body.is_empty();
        let end = if has_body { symbol.body } else { symbol.declaration };
        let whole = symbol.declaration.to(end);
        shown(symbol.name, whole, &detail, LspKind::Function, own)
    });
    shown.collect()
}

/// A label of a function.
struct Label {
    name: Span,
    /// From the label to the end of its basic block. The name alone if the block is not known, or
    /// ends in other braces.
    block: Span,
    /// From the label to the end of the loop that starts there, if any.
    around: Option<Span>,
}

/// The labels of all functions, in the order of the text. Passes all statements to `see` on the
/// way. Functions are read one by one: a tree takes three times the memory of its text.
fn labels(outline: &Tree<'_>, mut see: impl FnMut(Statement<'_>)) -> Vec<Label> {
    let source = outline.source();
    let has_flow = source.len() <= MOST_BYTES;
    let mut found = Vec::new();
    for statement in outline.statements() {
        if !matches!(statement.kind(), StatementKind::Function(_)) {
            see(statement);
            statement.descendants().for_each(&mut see);
            continue;
        }
        let tree = parse_function(source, statement.span().start);
        tree.all_statements().for_each(&mut see);
        for function in tree.functions() {
            labels_of(&function, has_flow, &mut found);
        }
    }
    found
}

fn labels_of(function: &Function<'_>, has_flow: bool, found: &mut Vec<Label>) {
    let Some(body) = function.body() else { return };
    let names = has_flow.then(|| Names::of(body.tree()));
    let flow = names.and_then(|names| Flow::of(function, &names));
    let ends = flow.as_ref().map(ends_of_loops);
    for statement in body.descendants() {
        let StatementKind::Label(name) = statement.kind() else { continue };
        let mut label = Label { name, block: name, around: None };
        if let (Some(flow), Some(ends)) = (&flow, &ends)
            && let Some(number) = block_behind(flow, statement)
        {
            let to_end_of = |number: usize| {
                let last = flow.blocks()[number].instructions.clone().last()?;
                let last = flow.statements()[last];
                (last.parent() == statement.parent()).then(|| name.to(last.span()))
            };
            label.block = to_end_of(number).unwrap_or(name);
            label.around = ends[number].and_then(to_end_of);
        }
        found.push(label);
    }
}

/// The block that starts at a label.
fn block_behind(flow: &Flow<'_>, label: Statement<'_>) -> Option<usize> {
    // The label of a table or a prototype is not a place in the code.
    if let StatementKind::Directive(directive) = label.next()?.kind()
        && directive.kind().is_named()
    {
        return None;
    }
    let start = label.span().start;
    let next = flow.statements().partition_point(|it| it.span().start < start);
    let number = (next < flow.statements().len()).then(|| flow.block_of(next))?;
    (flow.blocks()[number].instructions.start == next).then_some(number)
}

/// For each basic block that starts a loop, the last block of the loop.
fn ends_of_loops(flow: &Flow<'_>) -> Vec<Option<usize>> {
    let loops = flow.loops();
    let mut ends: Vec<usize> =
        loops.iter().map(|it| it.blocks.iter().copied().fold(it.header, usize::max)).collect();
    let mut found = vec![None; flow.blocks().len()];
    // Inner loops come after the loops around them.
    for (at, own) in loops.iter().enumerate().rev() {
        if let Some(parent) = own.parent {
            ends[parent] = ends[parent].max(ends[at]);
        }
        found[own.header] = Some(ends[at]);
    }
    found
}

fn is_shown(symbol: &Symbol) -> bool {
    match symbol.kind {
        SymbolKind::Function => true,
        SymbolKind::Variable | SymbolKind::Register => symbol.is_global(),
        SymbolKind::Parameter | SymbolKind::Label => false,
    }
}

/// The words before the name of a symbol, such as `.visible .entry`.
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

/// The lines that can be folded: blocks in braces, basic blocks and loops behind labels, and
/// comments of several lines.
pub(super) fn folds(text: &Text) -> Vec<Value> {
    let source = text.as_str();
    let mut blocks = Vec::new();
    let outline = parse_around(source, Span::at(0));
    let labels = labels(&outline, |statement| {
        let brace = match statement.kind() {
            StatementKind::Block(_) => statement.tokens().first(),
            // `.section`
            StatementKind::Directive(it) => it.arguments().iter().find(|token| token.is(b'{')),
            _ => None,
        };
        if let Some(brace) = brace {
            blocks.push(brace.span().to(statement.span()));
        }
    });
    let line = |offset: u32| text.line_of(offset);
    let mut folds = Vec::new();
    for block in blocks {
        let (start, end) = (line(block.start), line(block.end));
        // The line of the `}` stays visible.
        if start + 1 < end {
            folds.push(json!({ "startLine": start, "endLine": end - 1 }));
        }
    }
    for label in labels {
        let (start, end) = (line(label.name.start), line(label.around.unwrap_or(label.block).end));
        if start < end {
            folds.push(json!({ "startLine": start, "endLine": end }));
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
