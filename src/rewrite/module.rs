//! Whole modules.

use thiserror::Error;

use super::cost::{self, Cost};
use super::emit::Statements;
use super::{FreshRegisters, Gate, Sequence};
use crate::ast::{Instruction, Operation};
use crate::diagnostic::{Edit, apply};
use crate::hash::Map;
use crate::ir::Semantics;
use crate::isa::{PtxVersion, Target, WordRegisters};
use crate::module::Module;
use crate::source::Span;

/// How to rewrite.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RewriteOptions {
    /// The target that costs are counted for; the module's own if `None`.
    pub target: Option<Target>,
    /// What instructions are to compute: by default what the code of ptxas 13
    /// does now.
    pub semantics: Semantics,
    /// Rewrite what does not become cheaper, too: for tools that lack the
    /// instructions.
    pub all: bool,
    /// Write each original as a comment.
    pub comments: bool,
}

impl Default for RewriteOptions {
    fn default() -> RewriteOptions {
        RewriteOptions { target: None, semantics: Semantics::Ptxas13, all: false, comments: false }
    }
}

impl RewriteOptions {
    /// These options with a target that overrides the module's.
    #[must_use]
    pub fn with_target(mut self, target: Option<Target>) -> RewriteOptions {
        self.target = target;
        self
    }

    /// These options with another semantics.
    #[must_use]
    pub fn with_semantics(mut self, semantics: Semantics) -> RewriteOptions {
        self.semantics = semantics;
        self
    }

    /// These options, rewriting all or only what becomes cheaper.
    #[must_use]
    pub fn with_all(mut self, all: bool) -> RewriteOptions {
        self.all = all;
        self
    }

    /// These options, with or without the originals as comments.
    #[must_use]
    pub fn with_comments(mut self, comments: bool) -> RewriteOptions {
        self.comments = comments;
        self
    }
}

/// Why a module is not rewritten.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RewriteError {
    /// What is cheaper depends on the target.
    #[error("the module has no `.target`, and none is given")]
    NoTarget,
}

/// What becomes of an instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Ordinary PTX takes its place.
    Rewritten(Sequence),
    /// It stays: nothing is cheaper.
    Kept,
    /// It stays, although it should not: the module's `.target` or `.version`
    /// has no instructions that would do.
    Unavailable,
}

/// A video instruction of a module that was rewritten.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change<'m> {
    /// Where it stands, from guard or mnemonic to `;`.
    pub span: Span,
    /// The instruction.
    pub instruction: &'m Instruction,
    /// The target that costs are counted for.
    pub target: Target,
    /// What becomes of it.
    pub outcome: Outcome,
    /// Its cost on the target, where that was measured.
    pub cost: Option<Cost>,
    /// The semantics under which it would have to compute something else.
    pub differs: Vec<Semantics>,
}

/// A module with ordinary PTX in the place of video instructions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rewritten<'m> {
    source: &'m str,
    edits: Vec<Edit>,
    /// Every legal video instruction, in order.
    pub changes: Vec<Change<'m>>,
}

impl Rewritten<'_> {
    /// The replacements, one for each statement that was rewritten, in order.
    pub fn edits(&self) -> &[Edit] {
        &self.edits
    }

    /// The text. Beside the statements that were rewritten it is that of the
    /// module, byte for byte.
    pub fn text(&self) -> String {
        apply(self.source, &self.edits)
    }
}

/// Puts ordinary PTX in the place of each legal video instruction of a module
/// for which it is cheaper on the target, or which would compute something else
/// under ptxas 13 than the semantics asks for.
///
/// A single instruction takes the place as it is; more of them stand in a block
/// with registers of its own, whose names occur nowhere in the module. Guards
/// are kept, at the one instruction that writes `d`.
///
/// # Errors
/// When neither the options nor the module name a target.
pub fn rewrite<'m>(
    module: &'m Module<'_>,
    options: &RewriteOptions,
) -> Result<Rewritten<'m>, RewriteError> {
    let source = module.source();
    let (mut edits, mut changes) = (Vec::new(), Vec::new());
    let mut writer = None;
    // Most instructions of a module are like others of it.
    let mut known: Map<Operation, Known> = Map::default();
    for statement in module.statements() {
        let (span, Some(instruction)) = (statement.span, &statement.instruction) else {
            continue;
        };
        let own = module.target();
        let target = options.target.or(own).ok_or(RewriteError::NoTarget)?;
        let gate = gate(target, own, module.version());
        let form = instruction.anonymous();
        let Known { outcome, cost, differs } = known
            .entry(form)
            .or_insert_with(|| Known::new(instruction, target, gate, options))
            .clone();
        let mut change = Change { span, instruction, target, outcome, cost, differs };
        if let Outcome::Rewritten(sequence) = &mut change.outcome {
            if statement.registers != WordRegisters::Untyped {
                *sequence = sequence.for_registers(statement.registers);
            }
            let writer = writer.get_or_insert_with(|| BlockWriter::new(source));
            let block = writer.block(span.start, instruction, sequence, options.comments);
            edits.push(Edit::replace(span, block));
        }
        changes.push(change);
    }
    Ok(Rewritten { source, edits, changes })
}

/// What holds for an instruction whatever its registers are called.
#[derive(Clone)]
struct Known {
    outcome: Outcome,
    cost: Option<Cost>,
    differs: Vec<Semantics>,
}

impl Known {
    fn new(
        instruction: &Instruction,
        target: Target,
        gate: Gate,
        options: &RewriteOptions,
    ) -> Known {
        let program = instruction.lower(options.semantics);
        let others = Semantics::ALL.into_iter();
        Known {
            outcome: choose(instruction, target, gate, options.semantics, options.all),
            cost: instruction.cost(target),
            differs: others.filter(|other| instruction.lower(*other) != program).collect(),
        }
    }
}

/// What the text may use: instructions that its own `.target` and the one it is
/// assembled for have.
pub(crate) fn gate(target: Target, own: Option<Target>, version: Option<PtxVersion>) -> Gate {
    let target = own.filter(|own| own.number < target.number).unwrap_or(target);
    Gate { target, version }
}

/// What to do with an instruction.
pub(crate) fn choose(
    instruction: &Instruction,
    target: Target,
    gate: Gate,
    semantics: Semantics,
    all: bool,
) -> Outcome {
    let meant = semantics == Semantics::Ptxas13
        || instruction.lower(semantics) == instruction.lower(Semantics::Ptxas13);
    let rewritten = |sequence: Option<Sequence>| match sequence {
        Some(sequence) => Outcome::Rewritten(sequence),
        None => Outcome::Unavailable,
    };
    if all || !meant {
        return rewritten(cost::cheapest(instruction, target, semantics, gate));
    }
    match cost::cheaper(instruction, target, semantics, gate) {
        Some(sequence) => Outcome::Rewritten(sequence),
        None => Outcome::Kept,
    }
}

/// Bytes that most statements have, and what stands around them.
const ROOM: usize = 64;

/// Writes what takes the place of instructions in a text.
pub(crate) struct BlockWriter<'s> {
    source: &'s str,
    registers: FreshRegisters,
    line_end: &'static str,
}

impl<'s> BlockWriter<'s> {
    pub(crate) fn new(source: &'s str) -> BlockWriter<'s> {
        let first = source.find('\n');
        let crlf = first.is_some_and(|at| source[..at].ends_with('\r'));
        BlockWriter {
            source,
            registers: FreshRegisters::avoiding(source),
            line_end: if crlf { "\r\n" } else { "\n" },
        }
    }

    /// A statement, or a block of them, for an instruction that starts at an
    /// offset.
    pub(crate) fn block(
        &mut self,
        start: u32,
        instruction: &Instruction,
        sequence: &Sequence,
        comments: bool,
    ) -> String {
        // Block comments, as more may stand on the line.
        let comment = if comments { format!(" /* {instruction} */") } else { String::new() };
        self.registers.reset();
        let statements = Statements::new(instruction, sequence, &mut self.registers);
        let count = sequence.lines().len();
        let mut text = String::with_capacity(ROOM * (count + 1));
        if count == 1 {
            statements.write(0, &self.registers, &mut text);
            return text + &comment;
        }
        let line = self.source[..start as usize].rfind('\n').map_or(0, |at| at + 1);
        let line = &self.source[line..];
        let indent = &line[..line.len() - line.trim_start_matches([' ', '\t']).len()];
        let inner = if indent.ends_with('\t') { "\t" } else { "    " };
        text.extend(["{", &comment]);
        for declaration in self.registers.declarations() {
            text.extend([self.line_end, indent, inner, &declaration]);
        }
        for at in 0..count {
            text.extend([self.line_end, indent, inner]);
            statements.write(at, &self.registers, &mut text);
        }
        text.extend([self.line_end, indent, "}"]);
        text
    }
}
