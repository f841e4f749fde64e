//! The rules on whole modules, which read the tree of a text.
use super::visit;
use crate::check::CheckOptions;
use crate::diagnostic::{Code, Diagnostic, RuleSet};
use crate::lint::{ModuleSubject, malformed_statement, run_structure, wants_structure};
use crate::module::VideoStatement;
use crate::names::Names;
use crate::syntax::{self, DirectiveKind, StatementKind, Tree};

/// The size of the largest text that is judged by default, in bytes: reading a tree takes several
/// times as long as all other checks.
const MOST: usize = 1 << 20;

/// A text that is judged after its statements are known.
pub(super) struct Structure<'s, 'o> {
    source: &'s str,
    options: &'o CheckOptions,
    /// `None` if the text is not judged.
    statements: Option<Vec<VideoStatement>>,
}

impl<'s, 'o> Structure<'s, 'o> {
    pub(super) fn new(source: &'s str, options: &'o CheckOptions) -> Structure<'s, 'o> {
        let is_judged =
            (source.len() <= MOST || options.every_module) && wants_structure(options.rules);
        Structure { source, options, statements: is_judged.then(Vec::new) }
    }

    /// Takes the next statement.
    pub(super) fn take(&mut self, statement: VideoStatement) {
        if let Some(statements) = &mut self.statements {
            statements.push(statement);
        }
    }

    /// The findings, not in order. `known` are the other findings in the text, in order.
    pub(super) fn end(self, known: &[Diagnostic]) -> Vec<Diagnostic> {
        let Some(statements) = self.statements else { return Vec::new() };
        if statements.is_empty() && !self.options.every_module {
            return Vec::new();
        }
        let tree = syntax::parse(self.source);
        // After an error, the tree may differ from what was meant.
        if !tree.errors().is_empty() {
            let is_judged =
                self.options.rules.contains(Code::MalformedStatement) && is_module(&tree);
            return if is_judged {
                malformed_statement::find(&tree, &statements, known)
            } else {
                Vec::new()
            };
        }
        let names = Names::of(&tree);
        let subject =
            ModuleSubject { tree: &tree, names: &names, statements: &statements, is_part: false };
        run_structure(self.options.rules, &subject, is_module(&tree))
    }

    /// Like [`end`](Structure::end), for a text whose statements nobody has read.
    pub(super) fn of(source: &'s str, options: &'o CheckOptions) -> Vec<Diagnostic> {
        let mut structure = Structure::new(source, options);
        let mut known = Vec::new();
        if structure.statements.is_some() {
            let bare = options.clone().with_rules(RuleSet::NONE);
            (known, ..) = visit(source, &bare, &mut |statement| structure.take(statement));
        }
        structure.end(&known)
    }
}

/// Whether a text is one whole module: a part of a module uses names that stand elsewhere.
fn is_module(tree: &Tree<'_>) -> bool {
    let is_version =
        |kind| matches!(kind, StatementKind::Directive(it) if it.kind() == DirectiveKind::Version);
    tree.statements().filter(|statement| is_version(statement.kind())).count() == 1
}
