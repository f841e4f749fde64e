//! The rules on legal video instructions, on `asm` and on whole modules. The checker reports
//! illegal instructions.

mod asm;
mod asm_input_written;
mod asm_output_read;
mod asm_output_unwritten;
mod asm_undeclared;
mod branch_target;
mod cancelled_negation;
mod constant_comparison;
mod constant_cut;
mod emulated_instruction;
mod explicit_default;
mod facts;
mod ignored_selector;
mod ignored_third_operand;
mod lost_guard;
mod malformed_operand;
pub(crate) mod malformed_statement;
mod missing_asm_operand;
mod modifier_order;
mod plain_target;
mod repeated_lane;
mod repeated_saturate;
mod replaced_destination;
mod result_differs;
mod saturate;
mod second_declaration;
mod secondary_without_effect;
mod selector_read_as_type;
mod shift_beyond_width;
mod structure;
mod undeclared_name;
mod unfused_instructions;
mod unknown_word;
mod unreachable_statement;
mod unread_result;
mod unread_source;
mod unused_label;
mod unused_parameter;
mod unused_register;
mod unused_third_source;
mod unwritten_source;

use std::rc::Rc;

use crate::backend::ptx::{BlockWriter, Sequence};
use crate::diagnostic::{Code, Diagnostic, RuleSet};
use crate::hash::Map;
use crate::isa::{PtxVersion, Target, WordRegisters};
use crate::source::Span;
use crate::syntax::RawInstruction;
use crate::video::{Instruction, Operation};
use facts::Facts;

pub(crate) use asm::{AsmOperands, AsmSubject, run_asm, run_asm_tree};
pub(crate) use asm_undeclared::DeclaredWords;
pub(crate) use structure::wants_trees;
pub(crate) use structure::{ModuleSubject, run_structure, wants_structure};
pub(crate) use unfused_instructions::on_region;

/// A legal instruction and how it is written.
pub(crate) struct Subject<'a> {
    pub(crate) source: &'a str,
    pub(crate) raw: &'a RawInstruction,
    pub(crate) instruction: &'a Instruction,
    /// The targets to check for.
    pub(crate) targets: &'a [Target],
    pub(crate) place: StatementContext,
}

/// Where an instruction stands.
pub(crate) struct StatementContext {
    /// From guard or mnemonic to `;`.
    pub(crate) statement: Span,
    /// The module's `.target`.
    pub(crate) own: Option<Target>,
    pub(crate) version: Option<PtxVersion>,
    pub(crate) registers: WordRegisters,
}

impl Subject<'_> {
    /// The opcode with its modifiers.
    fn opcode(&self) -> Span {
        let mnemonic = self.raw.mnemonic;
        mnemonic.to(self.raw.modifiers.last().copied().unwrap_or(mnemonic))
    }

    /// The first modifier with this spelling.
    fn modifier(&self, text: &str) -> Option<Span> {
        self.raw.modifiers.iter().copied().find(|span| span.text(self.source) == text)
    }
}

/// A rule, or several rules that share their work.
struct Rule {
    codes: &'static [Code],
    /// Whether the rule is about differences between ptxas and the manual. Such a rule
    /// holds only in the `documented` dialect.
    documented: bool,
    find: fn(&Subject<'_>, &mut Memo<'_>) -> Option<Diagnostic>,
}

const RULES: &[Rule] = &[
    modifier_order::RULE,
    repeated_saturate::RULE,
    ignored_third_operand::RULE,
    cancelled_negation::RULE,
    selector_read_as_type::RULE,
    constant_cut::RULE,
    ignored_selector::RULE,
    explicit_default::RULE,
    result_differs::RULE,
    saturate::RULE,
    constant_comparison::RULE,
    secondary_without_effect::RULE,
    unused_third_source::RULE,
    repeated_lane::RULE,
    replaced_destination::RULE,
    unread_source::RULE,
    shift_beyond_width::RULE,
    lost_guard::RULE,
    emulated_instruction::RULE,
    plain_target::RULE,
];

/// Whether a rule is silent in the `ptxas` dialect.
pub(crate) fn documented_only(code: Code) -> bool {
    RULES.iter().any(|rule| rule.documented && rule.codes.contains(&code))
}

/// Facts that are found once for a text, because its instructions are often alike.
pub(crate) struct Memo<'s> {
    source: &'s str,
    known: KnownFacts,
    /// The facts of the current instruction, after a rule has asked for them.
    current: Option<Rc<Facts>>,
    blocks: Option<BlockWriter>,
}

/// Facts about forms, in any text.
#[derive(Default)]
pub(crate) struct KnownFacts {
    facts: Map<Operation, Rc<Facts>>,
}

impl<'s> Memo<'s> {
    pub(crate) fn new(source: &'s str, known: KnownFacts) -> Memo<'s> {
        Memo { source, known, current: None, blocks: None }
    }

    pub(crate) fn into_known(self) -> KnownFacts {
        self.known
    }

    /// The text of an equivalent that can stand in the place of an instruction.
    fn block(&mut self, span: Span, instruction: &Instruction, sequence: &Sequence) -> String {
        let source = self.source;
        let blocks = self.blocks.get_or_insert_with(|| BlockWriter::new(source));
        blocks.block(source, span, instruction, sequence)
    }

    /// The facts about the instruction that do not depend on names of registers. `None` if no fact
    /// can hold.
    fn facts(&mut self, instruction: &Instruction) -> Option<&Facts> {
        if !facts::is_notable(instruction) {
            return None;
        }
        if self.current.is_none() {
            let form = facts::form(instruction);
            let known = self.known.facts.entry(form);
            let facts = known.or_insert_with_key(|form| Rc::new(Facts::new(form.clone())));
            self.current = Some(Rc::clone(facts));
        }
        self.current.as_deref()
    }
}

/// Adds the findings on an instruction of all rules that are on.
pub(crate) fn run(
    rules: RuleSet,
    documented: bool,
    subject: &Subject<'_>,
    memo: &mut Memo<'_>,
    found: &mut Vec<Diagnostic>,
) {
    memo.current = None;
    for rule in RULES {
        let on = rule.codes.iter().any(|&code| rules.contains(code));
        if on && (documented || !rule.documented) {
            found.extend((rule.find)(subject, memo).filter(|it| rules.contains(it.code)));
        }
    }
}
