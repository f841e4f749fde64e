//! V902: branches and calls that need a label, and name something else.

use super::structure::ModuleSubject;
use crate::diagnostic::{Code, Diagnostic};
use crate::names::{Symbol, SymbolKind};
use crate::source::Span;
use crate::syntax::{DirectiveKind, Instruction, Operand, OperandKind, Operands, StatementKind};

pub(super) fn find(subject: &ModuleSubject<'_>, found: &mut Vec<Diagnostic>) {
    let source = subject.source().as_bytes();
    let places = |word| memchr::memmem::find_iter(source, word);
    // Few words of a module have these letters.
    for at in places("br").chain(places("call")) {
        let at = at as u32;
        let Some(statement) = subject.tree.statement_at(at) else { continue };
        let diagnostics = match statement.kind() {
            StatementKind::Instruction(it) if it.mnemonic().start == at => {
                on_instruction(subject, &it)
            }
            StatementKind::Directive(it)
                if it.kind() == DirectiveKind::BranchTargets && it.name().start + 1 == at =>
            {
                no_labels(subject, it.operands())
            }
            _ => continue,
        };
        found.extend(diagnostics.into_iter().map(|it| it.statement(statement.head_span())));
    }
}

fn on_instruction(subject: &ModuleSubject<'_>, instruction: &Instruction<'_>) -> Vec<Diagnostic> {
    let mut operands = instruction.operands();
    match instruction.mnemonic().text(subject.source()) {
        "bra" => no_labels(subject, operands),
        "brx" => {
            let list = operands.nth(1).and_then(|it| named(&it));
            Vec::from_iter(
                list.and_then(|it| no_list(subject, it, &[DirectiveKind::BranchTargets])),
            )
        }
        // `call f;` names a function, and `call r, (), P;` a list or a prototype.
        "call" => {
            let kinds = [DirectiveKind::CallTargets, DirectiveKind::CallPrototype];
            let list = operands.last().and_then(|it| named(&it));
            let is_label = |name: &Span| {
                declared(subject, *name).is_some_and(|it| it.kind == SymbolKind::Label)
            };
            Vec::from_iter(list.filter(is_label).and_then(|it| no_list(subject, it, &kinds)))
        }
        _ => Vec::new(),
    }
}

/// The operands that are declared, but no labels to which a branch can lead.
fn no_labels(subject: &ModuleSubject<'_>, operands: Operands<'_>) -> Vec<Diagnostic> {
    let no_label = |name: Span| {
        let symbol = declared(subject, name)?;
        let what = match symbol.kind {
            SymbolKind::Label => match follower(subject, symbol)? {
                DirectiveKind::BranchTargets => "the name of a list of labels",
                DirectiveKind::CallTargets => "the name of a list of functions",
                DirectiveKind::CallPrototype => "the name of a prototype",
                _ => return None,
            },
            SymbolKind::Function => "a function",
            SymbolKind::Parameter => "a parameter",
            SymbolKind::Variable => "a variable",
            SymbolKind::Register => "a register",
        };
        let message =
            format!("`{}` is {what}, not a place in the code", name.text(subject.source()));
        Some(finding(name, symbol, message, "expected a label"))
    };
    operands.filter_map(|it| named(&it)).filter_map(no_label).collect()
}

/// A name that is declared, but not as the label of such a directive before it.
fn no_list(subject: &ModuleSubject<'_>, name: Span, kinds: &[DirectiveKind]) -> Option<Diagnostic> {
    let symbol = declared(subject, name)?;
    let kind = (symbol.kind == SymbolKind::Label).then(|| follower(subject, symbol)).flatten();
    let text = name.text(subject.source());
    let message = match kind.filter(|kind| kinds.contains(kind)) {
        Some(_) if symbol.name.start < name.start => return None,
        Some(_) => format!("the directive of `{text}` stands after its use"),
        None if kinds[0] == DirectiveKind::BranchTargets => {
            format!("`{text}` has no `.branchtargets`")
        }
        None => format!("`{text}` has no `.calltargets` and no `.callprototype`"),
    };
    Some(finding(name, symbol, message, "expected the label of such a directive before it"))
}

fn finding(name: Span, symbol: &Symbol, message: String, label: &str) -> Diagnostic {
    Diagnostic::new(Code::UndefinedLabel, name, message)
        .label(label)
        .related(symbol.name, "declared here")
}

fn named(operand: &Operand<'_>) -> Option<Span> {
    match operand.kind() {
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
