//! The edits that turn video instructions into the manual's spelling.

use crate::analysis::{self, visit};
use crate::check::CheckOptions;
use crate::diagnostic::{Code, Diagnostic, Edit, RuleSet};
use crate::isa::Lanes;
use crate::module::VideoStatement;
use crate::source::Span;
use crate::syntax::{TokenKind, statement_tokens};
use crate::video::Instruction;

/// Spellings that ptxas accepts and the manual forbids. Their fixes keep the meaning.
const SPELLINGS: &[Code] = &[
    Code::ModifierOrder,
    Code::RepeatedSaturate,
    Code::IgnoredThirdOperand,
    Code::CancelledNegation,
];

/// The edits of legal video instructions, in the order of the text. If errors leave the structure
/// of the text in doubt, returns these errors. Suppressions are looked for in a text that
/// `is_marked`.
pub(super) fn edits(
    source: &str,
    explicit: bool,
    is_marked: bool,
) -> Result<Vec<Edit>, Vec<Diagnostic>> {
    let mut found = Spellings::default();
    let rules = if is_marked {
        RuleSet::ALL
    } else {
        SPELLINGS.iter().fold(RuleSet::ERRORS, |rules, &code| rules.with(code))
    };
    let options = CheckOptions::default().with_rules(rules);
    let (diagnostics, ..) =
        visit(source, &options, &mut |statement| found.add(source, &statement, explicit));
    if !is_marked {
        return found.edits(diagnostics);
    }
    let (mut left, suppressed) = analysis::split(source, options.language, diagnostics);
    // A suppressed error leaves the structure in doubt all the same.
    let errors = suppressed.iter().filter(|it| it.is_syntax_error());
    left.extend(errors.cloned());
    left.sort_by_key(|it| it.span);
    Ok(keep_suppressed(found.edits(left)?, &suppressed))
}

/// Removes all edits of an instruction that has a suppressed finding, if an edit would fix the
/// finding: the author wants that spelling, and the suppression stays useful.
fn keep_suppressed(mut edits: Vec<Edit>, suppressed: &[Diagnostic]) -> Vec<Edit> {
    let is_settled = |found: &&Diagnostic| {
        let from = edits.partition_point(|edit| edit.span.end < found.span.end);
        let within = edits
            .get(from)
            .is_some_and(|edit| edit.span.start <= found.span.start && !edit.span.is_empty());
        within || found.code == Code::ExplicitDefault || SPELLINGS.contains(&found.code)
    };
    let mut kept: Vec<Span> =
        suppressed.iter().filter(is_settled).filter_map(|found| found.statement).collect();
    kept.sort_unstable();
    edits.retain(|edit| !edit.span.is_in(&kept));
    edits
}

/// The spellings found on the way through a text.
#[derive(Default)]
struct Spellings {
    edits: Vec<Edit>,
    legal: Vec<Span>,
}

impl Spellings {
    fn add(&mut self, source: &str, statement: &VideoStatement, explicit: bool) {
        if let Some(instruction) = &statement.instruction {
            self.legal.push(statement.span);
            defaults(source, statement.span, instruction, explicit, &mut self.edits);
        }
    }

    fn edits(self, diagnostics: Vec<Diagnostic>) -> Result<Vec<Edit>, Vec<Diagnostic>> {
        let Spellings { mut edits, legal } = self;
        let mut errors = Vec::new();
        for mut diagnostic in diagnostics {
            if diagnostic.is_syntax_error() {
                errors.push(diagnostic);
            } else if SPELLINGS.contains(&diagnostic.code) && diagnostic.span.is_in(&legal) {
                edits.extend(diagnostic.fixes.drain(..).flat_map(|fix| fix.edits));
            }
        }
        if !errors.is_empty() {
            return Err(errors);
        }
        edits.sort_by_key(|edit| edit.span);
        Ok(edits)
    }
}

/// Removes or writes the selectors and masks that are the default.
fn defaults(
    source: &str,
    span: Span,
    instruction: &Instruction,
    explicit: bool,
    edits: &mut Vec<Edit>,
) {
    let Some(operands) = instruction.simd() else { return };
    let (lanes, default) = (operands.lanes, Lanes::all(operands.lanes.width()));
    // The defaults of `d`, `a` and `b`, where they apply.
    let defaults = [
        (lanes.mask() == default.mask()).then(|| default.mask().to_string()),
        (lanes.a() == default.a()).then(|| default.a().to_string()),
        (lanes.b() == default.b()).then(|| default.b().to_string()),
    ];
    let text = span.text(source);
    // The form of a legal SIMD instruction is `opcode.modifiers d[.mask], a[.s], b[.s],
    // c`.
    let tokens = statement_tokens(text);
    let commas: Vec<usize> = (0..tokens.len()).filter(|&at| tokens[at].is(b',')).collect();
    for (comma, default) in commas.into_iter().zip(defaults) {
        let Some(default) = default else {
            continue;
        };
        let last = tokens[comma - 1];
        let (start, end) = (span.start + last.span().start, span.start + last.span().end);
        match last.kind() {
            TokenKind::Dot if !explicit => edits.push(Edit::remove(Span::new(start, end))),
            TokenKind::Ident if explicit => edits.push(Edit::insert(end, default)),
            _ => {}
        }
    }
}
