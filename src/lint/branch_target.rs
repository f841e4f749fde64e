//! V902: branches to names that are declared, but are no labels.

use super::structure::ModuleSubject;
use crate::diagnostic::{Code, Diagnostic};
use crate::names::{Symbol, SymbolKind};
use crate::source::Span;
use crate::syntax::{DirectiveKind, Instruction, OperandKind, Operands, StatementKind};

pub(super) fn find(subject: &ModuleSubject<'_>, found: &mut Vec<Diagnostic>) {
    let source = subject.source();
    for token in subject.tree.tokens() {
        let text = token.span().text(source);
        if !matches!(text, "bra" | "brx" | ".branchtargets") {
            continue;
        }
        let Some(statement) = subject.tree.statement_at(token.start()) else { continue };
        let diagnostics = match statement.kind() {
            // The word may also be a name.
            StatementKind::Instruction(it) if it.mnemonic() != token.span() => continue,
            StatementKind::Instruction(it) if text == "bra" => no_labels(subject, it.operands()),
            StatementKind::Instruction(it) => Vec::from_iter(no_table(subject, &it)),
            StatementKind::Directive(it) => no_labels(subject, it.operands()),
            _ => continue,
        };
        found.extend(diagnostics.into_iter().map(|it| it.statement(statement.head_span())));
    }
}

/// The operands that are declared, but no labels to which a branch can lead.
fn no_labels(subject: &ModuleSubject<'_>, operands: Operands<'_>) -> Vec<Diagnostic> {
    let no_label = |name: Span| {
        let symbol = declared(subject, name)?;
        let what = match symbol.kind {
            SymbolKind::Label => match follower(subject, symbol)? {
                DirectiveKind::BranchTargets => "a list of labels",
                DirectiveKind::CallTargets | DirectiveKind::CallPrototype => "no place in the code",
                _ => return None,
            },
            SymbolKind::Function => "a function",
            SymbolKind::Parameter => "a parameter",
            SymbolKind::Variable => "a variable",
            SymbolKind::Register => "a register",
        };
        let message = format!("`{}` is {what}, not a label", name.text(subject.source()));
        Some(finding(name, symbol, message, "expected a label"))
    };
    operands.filter_map(|it| named(it.kind())).filter_map(no_label).collect()
}

/// The second operand of `brx.idx`, if it is declared, but not as a list of labels.
fn no_table(subject: &ModuleSubject<'_>, instruction: &Instruction<'_>) -> Option<Diagnostic> {
    let name = named(instruction.operands().nth(1)?.kind())?;
    let symbol = declared(subject, name)?;
    let is_list = symbol.kind == SymbolKind::Label
        && follower(subject, symbol) == Some(DirectiveKind::BranchTargets);
    let text = name.text(subject.source());
    let message = match is_list {
        true if symbol.name.start < name.start => return None,
        true => format!("the `.branchtargets` of `{text}` stands after its use"),
        false => format!("`{text}` has no `.branchtargets`"),
    };
    Some(finding(name, symbol, message, "expected the label of a `.branchtargets`"))
}

fn finding(name: Span, symbol: &Symbol, message: String, label: &str) -> Diagnostic {
    Diagnostic::new(Code::UndefinedLabel, name, message)
        .label(label)
        .related(symbol.name, "declared here")
}

fn named(operand: OperandKind<'_>) -> Option<Span> {
    match operand {
        OperandKind::Name(name) => Some(name),
        _ => None,
    }
}

fn declared<'t>(subject: &ModuleSubject<'t>, name: Span) -> Option<&'t Symbol> {
    Some(subject.names.symbol(subject.names.use_of(name)?.symbol()?))
}

/// The kind of the directive that a label belongs to; `None` for a label of an instruction.
fn follower(subject: &ModuleSubject<'_>, label: &Symbol) -> Option<DirectiveKind> {
    match subject.tree.statement_at(label.name.start)?.next()?.kind() {
        StatementKind::Directive(it) => Some(it.kind()),
        _ => None,
    }
}
