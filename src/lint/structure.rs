//! The rules on whole modules: on their names, and on the data flow of their functions.

use super::{
    branch_target, malformed_operand, malformed_statement, second_declaration, undeclared_name,
    unknown_word, unreachable_statement, unread_result, unused_label, unused_parameter,
    unused_register, unwritten_source,
};
use crate::diagnostic::{Code, Diagnostic, RuleSet};
use crate::flow::{Flow, NameAccess};
use crate::module::VideoStatement;
use crate::names::{Meaning, Names, SymbolKind};
use crate::source::Span;
use crate::syntax::Tree;

/// For how many unknown names of a text, and for how many unknown opcodes, a similar one is
/// searched.
pub(super) const COMPARED: usize = 64;

/// A text without errors of syntax.
pub(crate) struct ModuleSubject<'t> {
    pub(crate) tree: &'t Tree<'t>,
    pub(crate) names: &'t Names,
    /// The statements that are, or were meant to be, video instructions, in order.
    pub(crate) statements: &'t [VideoStatement],
    /// Whether other texts may use the declarations of this text, as with the text of an `asm`.
    pub(crate) is_part: bool,
}

/// A function with a body.
pub(super) struct FunctionSubject<'a, 't> {
    pub(super) module: &'a ModuleSubject<'t>,
    pub(super) flow: &'a Flow<'t>,
    /// The legal video instructions, each with its number among all statements of the function.
    pub(super) video: Vec<(usize, &'a VideoStatement)>,
}

impl FunctionSubject<'_, '_> {
    /// The accesses of video instructions to registers of the function, each with the number and
    /// the statement of its instruction.
    pub(super) fn own_accesses(
        &self,
    ) -> impl Iterator<Item = (usize, &VideoStatement, &NameAccess)> {
        self.video.iter().flat_map(|&(number, statement)| {
            let accesses = self.flow.accesses(number).iter();
            let own = accesses.filter(|access| self.is_own_register(access.meaning));
            own.map(move |access| (number, statement, access))
        })
    }

    /// Whether a name means a register that nothing outside of the function reads or writes. In a
    /// part of a text, only a register declared inside a `{ }` is such a register.
    pub(super) fn is_own_register(&self, meaning: Meaning) -> bool {
        let names = self.module.names;
        let symbol = names.symbol(meaning.symbol());
        let is_inside = self.module.is_part.then(|| names.scope(symbol.scope).function.is_none());
        symbol.kind == SymbolKind::Register && !symbol.is_global() && is_inside.unwrap_or(true)
    }
}

impl<'t> ModuleSubject<'t> {
    pub(super) fn source(&self) -> &'t str {
        self.tree.source()
    }
}

/// Whether a place is in one of the statements that are, or were meant to be, video instructions.
pub(super) fn is_in_video(statements: &[VideoStatement], place: Span) -> bool {
    let after = statements.partition_point(|it| it.span.start <= place.start);
    after.checked_sub(1).is_some_and(|at| place.end <= statements[at].span.end)
}

type ModuleRule = fn(&ModuleSubject<'_>, &mut Vec<Diagnostic>);

type FunctionRule = fn(&FunctionSubject<'_, '_>, &mut Vec<Diagnostic>);

/// The checker applies these rules to the constants of video instructions.
pub(super) const CONSTANTS: &[Code] = &[Code::MalformedNumber, Code::ConstantWithoutValue];

/// Rules on statements and names, for whole modules. Of an `asm`, some judge its own tree
/// (`asm.rs`).
const ON_NAMES: [(&[Code], ModuleRule); 11] = [
    (&[Code::UnknownWord], unknown_word::find),
    (&[Code::MalformedStatement], malformed_statement::find_indexed),
    (&[Code::MalformedStatement], malformed_statement::find_outside),
    (&[Code::MalformedStatement], malformed_operand::find),
    (CONSTANTS, malformed_statement::find_constants),
    (&[Code::UndeclaredName, Code::UndefinedLabel], undeclared_name::find),
    (&[Code::UndefinedLabel], branch_target::find),
    (&[Code::SecondDeclaration], second_declaration::find),
    (&[Code::UnusedRegister], unused_register::find),
    (&[Code::UnusedLabel], unused_label::find),
    (&[Code::UnusedParameter], unused_parameter::find),
];

/// Rules on functions that have video instructions.
const ON_VIDEO: [(Code, FunctionRule); 2] =
    [(Code::UnwrittenSource, unwritten_source::find), (Code::UnreadResult, unread_result::find)];

/// Rules on all functions.
const ON_FUNCTIONS: [(Code, FunctionRule); 1] =
    [(Code::UnreachableStatement, unreachable_statement::find)];

/// Whether any rule is on that reads the tree of a module or of an `asm`.
pub(crate) fn wants_trees(rules: RuleSet) -> bool {
    wants_structure(rules) || rules.contains(Code::AsmOutputUnwritten)
}

/// Whether any rule on whole modules is on. The rules on constants alone are not worth a tree.
pub(crate) fn wants_structure(rules: RuleSet) -> bool {
    let on_names = ON_NAMES.iter().flat_map(|(codes, _)| *codes);
    let on_names = on_names.filter(|code| !CONSTANTS.contains(code));
    let on_flow = ON_VIDEO.iter().chain(&ON_FUNCTIONS).map(|(code, _)| code);
    on_names.chain(on_flow).any(|code| rules.contains(*code))
}

/// The findings of the rules that are on, rule by rule.
///
/// `is_module` says whether the text declares all names that it uses, as a whole module does.
pub(crate) fn run_structure(
    rules: RuleSet,
    subject: &ModuleSubject<'_>,
    is_module: bool,
) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for (codes, find) in ON_NAMES {
        if is_module && codes.iter().any(|code| rules.contains(*code)) {
            find(subject, &mut found);
        }
    }
    let mut statements = subject.statements;
    let is_wanted = |it: &(Code, FunctionRule)| rules.contains(it.0);
    for function in subject.tree.functions() {
        let span = function.statement().span();
        statements = &statements[statements.partition_point(|it| it.span.start < span.start)..];
        let (own, _) =
            statements.split_at(statements.partition_point(|it| it.span.start < span.end));
        let has_video = own.iter().any(|it| it.instruction.is_some());
        let wants_flow =
            ON_FUNCTIONS.iter().any(is_wanted) || has_video && ON_VIDEO.iter().any(is_wanted);
        if wants_flow && let Some(flow) = Flow::of(&function, subject.names) {
            run_on_function(rules, subject, &flow, own, &mut found);
        }
    }
    found.retain(|it| rules.contains(it.code));
    found
}

/// Adds the findings of the rules that are on about a function with these video statements.
pub(super) fn run_on_function(
    rules: RuleSet,
    module: &ModuleSubject<'_>,
    flow: &Flow<'_>,
    statements: &[VideoStatement],
    found: &mut Vec<Diagnostic>,
) {
    let number = |it: &VideoStatement| {
        flow.statements().binary_search_by_key(&it.span.start, |own| own.span().start).ok()
    };
    let legal = statements.iter().filter(|it| it.instruction.is_some());
    let video = legal.filter_map(|it| Some((number(it)?, it))).collect();
    let subject = FunctionSubject { module, flow, video };
    for (code, find) in ON_VIDEO.iter().chain(&ON_FUNCTIONS) {
        if rules.contains(*code) {
            find(&subject, found);
        }
    }
}
