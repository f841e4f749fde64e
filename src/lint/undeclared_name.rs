//! V901 and V902: names that are not declared before their use, and labels that are not in scope.

use super::structure::{COMPARED, ModuleSubject, is_in_video};
use crate::diagnostic::{Code, Diagnostic};
use crate::hash::Set;
use crate::isa::is_special_register;
use crate::names::{ScopeId, Symbol, SymbolKind, Use};
use crate::source::{Span, nearest};
use crate::syntax::{DirectiveKind, Statement, StatementKind};

/// How the names of functions start whose calls `OptiX` replaces.
const OPTIX: &str = "_optix_";

pub(super) fn find(subject: &ModuleSubject<'_>, found: &mut Vec<Diagnostic>) {
    let (names, source) = (subject.names, subject.source());
    let mut seen = Set::default();
    for it in names.uses() {
        let text = it.span().text(source);
        let is_known = match it.meaning() {
            Some(_) => !is_too_early(subject, it),
            None => is_special_register(text) || text.starts_with(OPTIX),
        };
        // The checker judges the registers of video instructions.
        if is_known || it.span().is_in(&names.debug) || is_in_video(subject.statements, it.span()) {
            continue;
        }
        let Some(statement) = subject.tree.statement_at(it.span().start) else { continue };
        let Some(role) = Role::of(statement, it.span()) else { continue };
        // Each function has at most one finding for a name.
        let function = statement.function().map(|function| function.statement().index());
        if !seen.insert((function, text)) {
            continue;
        }
        let diagnostic = match role {
            Role::Label => Diagnostic::new(
                Code::UndefinedLabel,
                it.span(),
                format!("there is no label `{text}` in scope"),
            )
            .label("not known here")
            .help("the scope of a label is the `{ }` that it stands in"),
            Role::Other if it.meaning().is_some() => Diagnostic::new(
                Code::UndeclaredName,
                it.span(),
                format!("`{text}` is used before its declaration"),
            )
            .label("not known yet"),
            Role::Other => Diagnostic::new(
                Code::UndeclaredName,
                it.span(),
                format!("`{text}` is not declared"),
            )
            .label("not known here"),
        };
        let declared = it.meaning().map(|meaning| names.symbol(meaning.symbol()).name);
        let near = || near(subject, it.span(), matches!(role, Role::Label));
        let diagnostic = match declared {
            Some(name) => diagnostic.related(name, "declared here"),
            None => match (seen.len() <= COMPARED).then(near).flatten() {
                Some(near) => diagnostic.help(format!("did you mean `{near}`?")),
                None => diagnostic,
            },
        };
        found.push(diagnostic.statement(statement.head_span()));
    }
}

/// The name in scope that is nearest to an undeclared name: a label if `is_label` is set, otherwise
/// anything else.
fn near<'t>(subject: &ModuleSubject<'t>, name: Span, is_label: bool) -> Option<&'t str> {
    let (names, source) = (subject.names, subject.source());
    let around = |scope: &ScopeId| names.scope(*scope).parent;
    let scopes: Set<ScopeId> =
        std::iter::successors(Some(names.scope_at(name.start)), around).collect();
    let is_seen = |symbol: &&Symbol| {
        (symbol.kind == SymbolKind::Label) == is_label
            && symbol.count.is_none()
            && (is_label || symbol.declaration.start < name.start)
            && scopes.contains(&symbol.scope)
    };
    let seen = names.symbols().map(|(_, symbol)| symbol).filter(is_seen);
    nearest(name.text(source), seen.map(|symbol| symbol.name.text(source)))
}

/// What kind of symbol an undeclared name would be.
enum Role {
    Label,
    Other,
}

impl Role {
    /// `None` where ptxas does not look names up.
    fn of(statement: Statement<'_>, name: Span) -> Option<Role> {
        match statement.kind() {
            StatementKind::Instruction(instruction) => {
                let source = statement.tree().source();
                let is_guard = instruction.guard().is_some_and(|guard| guard.name == name);
                let is_branch = instruction.mnemonic().text(source) == "bra" && !is_guard;
                Some(if is_branch { Role::Label } else { Role::Other })
            }
            StatementKind::Directive(directive) => match directive.kind() {
                DirectiveKind::BranchTargets => Some(Role::Label),
                DirectiveKind::CallTargets | DirectiveKind::Alias => Some(Role::Other),
                _ => None,
            },
            StatementKind::Declaration(_) | StatementKind::Function(_) => Some(Role::Other),
            _ => None,
        }
    }
}

/// Whether a name means a variable that is declared only later.
fn is_too_early(subject: &ModuleSubject<'_>, it: &Use) -> bool {
    let Some(meaning) = it.meaning().filter(|_| !it.declares()) else { return false };
    let symbol = subject.names.symbol(meaning.symbol());
    symbol.kind == SymbolKind::Variable
        && symbol.is_global()
        && it.span().start < symbol.name.start
        // A variable may have several declarations.
        && subject.names.uses_of(meaning).next().is_some_and(|first| !first.declares())
}
