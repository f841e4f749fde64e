//! Rewrites whole modules.

mod passes;
mod regions;
mod rewriter;

use thiserror::Error;

use super::cost::{self, Aim, Cost};
use super::emit::{Operands, Places, Template};
use super::lanes::Group;
use super::region::Fusion;
use super::{FreshRegisters, Gate, Sequence};
use crate::diagnostic::{Diagnostic, Edit, applied};
use crate::isa::{Features, PtxVersion, Target};
use crate::module::Module;
use crate::source::Span;
use crate::video::{Instruction, Semantics};

pub(crate) use regions::{Region, Regions};
pub(crate) use rewriter::{Decision, FormOutcome, Rewriter, Visited, machine_instructions};

/// Options for rewriting.
// Each is a switch of its own.
#[allow(clippy::struct_excessive_bools)]
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RewriteOptions {
    /// The target that costs are counted for; the module's own if `None`.
    pub target: Option<Target>,
    /// The semantics of the new PTX: by default the semantics of the code that ptxas 13 emits now.
    pub semantics: Semantics,
    /// Also rewrite instructions that do not become cheaper, for tools that lack the
    /// video instructions.
    pub all: bool,
    /// Also rewrite several instructions together, where that is cheaper still. One SIMD
    /// instruction's replacement takes the place of several scalar instructions that fill a word
    /// part by part or add to one sum. One block takes the place of several SIMD instructions on
    /// bytes or halves; lines of such a block may stand before the loop around it. An instruction
    /// profits from others: from a comparison or limits that it shares, from a `mov` that makes a
    /// source a constant, and from results whose range is known. A product with 255 that makes a
    /// mask of a comparison's flags becomes that comparison's mask.
    pub regions: bool,
    /// Write each original instruction as a comment.
    pub comments: bool,
    /// Write as many line breaks as there were, so that all other statements keep their lines.
    /// Comments inside an instruction are left out.
    pub(crate) keep_lines: bool,
}

impl Default for RewriteOptions {
    fn default() -> RewriteOptions {
        RewriteOptions {
            target: None,
            semantics: Semantics::CURRENT,
            all: false,
            regions: true,
            comments: false,
            keep_lines: false,
        }
    }
}

impl RewriteOptions {
    /// These options, with all other statements on their lines.
    #[must_use]
    pub(crate) fn keeping_lines(mut self) -> RewriteOptions {
        self.keep_lines = true;
        self
    }

    setters! { RewriteOptions:
        /// These options with a target that overrides the module's.
        with_target(target: Option<Target>) target;
        /// These options with another semantics.
        with_semantics(semantics: Semantics) semantics;
        /// These options, to rewrite all instructions or only those that become cheaper.
        with_all(all: bool) all;
        /// These options, to rewrite several instructions together, or each by itself.
        with_regions(regions: bool) regions;
        /// These options, with or without the originals as comments.
        with_comments(comments: bool) comments;
    }
}

/// The reason why a module is not rewritten.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RewriteError {
    /// The cheapest sequence depends on the target.
    #[error("the module has no `.target`, and the options name none")]
    NoTarget,
    /// The syntax errors of the text, at least one. What is not understood is left alone.
    #[error("{}", .0.first().map_or("not PTX", |first| &first.message))]
    Syntax(Vec<Diagnostic>),
}

/// Neither the options nor the module name a target.
#[derive(Debug)]
pub(crate) struct NoTarget;

impl From<NoTarget> for RewriteError {
    fn from(_: NoTarget) -> RewriteError {
        RewriteError::NoTarget
    }
}

/// The fate of an instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Ordinary PTX replaces the instruction. A register that always holds the same constant may be
    /// that constant in the new code, and other registers may have to lie in a range, as they
    /// always do in the module.
    Rewritten(Sequence),
    /// Ordinary PTX replaces the instruction together with those right before it that are
    /// [`Outcome::Absorbed`].
    Fused(Box<Fusion>),
    /// One block of ordinary PTX replaces the instruction together with neighbours that are
    /// [`Outcome::Absorbed`]: as many before it as [`Group::place`], and the other members after
    /// it.
    Grouped(Box<Group>),
    /// The instruction is removed: a neighbour that is [`Outcome::Fused`] or [`Outcome::Grouped`]
    /// also does its work.
    Absorbed,
    /// The instruction stays: nothing is cheaper.
    Kept,
    /// The instruction stays although it should be replaced: the module's `.target` or
    /// `.version` lacks the instructions for that.
    Unavailable,
}

impl Outcome {
    /// Whether ordinary PTX takes the place of the instruction, alone or with others.
    pub fn is_rewritten(&self) -> bool {
        match self {
            Outcome::Rewritten(_) | Outcome::Fused(_) | Outcome::Grouped(_) | Outcome::Absorbed => {
                true
            }
            Outcome::Kept | Outcome::Unavailable => false,
        }
    }

    /// The registers of the text in the place of an instruction with this outcome.
    fn operands<'o>(&'o self, instruction: &'o Instruction) -> Operands<'o> {
        match self {
            Outcome::Fused(fusion) => fusion.operands(),
            _ => Operands::of(instruction),
        }
    }
}

/// A video instruction of a rewritten module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change<'m> {
    /// The place of the instruction, from guard or mnemonic to `;`.
    pub span: Span,
    /// The instruction.
    pub instruction: &'m Instruction,
    /// The target that costs are counted for.
    pub target: Target,
    /// Whether it is rewritten.
    pub outcome: Outcome,
    /// The cost of the instruction on the target, and of its replacement. `None` if exactly that
    /// was not measured. A replacement for known constants or ranges costs at most this: the cost
    /// on any registers. The replacement of several instructions counts at the instruction whose
    /// place it takes, and as nothing at the others. The cost of a group is counted, not measured.
    pub cost: Option<Cost>,
    /// The other semantics under which the instruction computes something else.
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
    /// The replacements, one for each rewritten statement, in order. A product that makes a mask of
    /// flags may be one of these. Edits of an empty span insert lines before a loop.
    pub fn edits(&self) -> &[Edit] {
        &self.edits
    }

    /// The new text. It equals the module's text, byte for byte, except in rewritten statements and
    /// in lines inserted before a loop.
    pub fn text(&self) -> String {
        applied(self.source, &self.edits)
    }
}

/// Replaces the legal video instructions of a module by ordinary PTX. An instruction is
/// replaced if the new code is cheaper on the target, or if the instruction computes
/// something else under ptxas 13 than the semantics asks for.
///
/// A single instruction is written in place. Several instructions stand in a block with
/// registers of its own, whose names occur nowhere in the module. Guards are kept, at
/// the one instruction that writes `d`. Comments inside an instruction stand before its
/// replacement.
///
/// Scalar instructions without guards that stand one after the other, and fill parts of a word or
/// add to a sum from parts of two others, may become one SIMD instruction or one sum of products.
/// If its code is cheaper than theirs, this code takes the place of the last instruction, and the
/// others are removed. Neighbouring SIMD instructions that cost less as one block on wider lanes
/// become that block, in the place of one of them. Lines of the block that are the same in each
/// iteration of a loop stand before the loop, right behind a statement; so does what extracts parts
/// of words for scalar instructions. SIMD minima and maxima compare in the direction of their
/// neighbours, and a register that always holds the same constant may become that constant. Scalar
/// instructions without a guard, on results of others, may get a sequence that holds only for the
/// range of these results. A `mul.lo` that makes a mask of flags becomes the mask of their
/// comparison.
///
/// # Errors
/// When the text has syntax errors, and when neither the options nor the module name a target.
pub fn rewrite<'m>(
    module: &'m Module<'_>,
    options: &RewriteOptions,
) -> Result<Rewritten<'m>, RewriteError> {
    if !module.errors.is_empty() {
        return Err(RewriteError::Syntax(module.errors.clone()));
    }
    let (mut edits, mut changes, mut text) = (Vec::new(), Vec::new(), String::new());
    Rewriter::new(options).each(module, &mut text, |visited, text| {
        let Decision { span, instruction, target, known } = match visited {
            Visited::Instruction(decision) => decision,
            Visited::Ordinary(span) => {
                edits.push(Edit::replace(span, text.as_str()));
                text.clear();
                return;
            }
        };
        let FormOutcome { outcome, cost, differs } = known.clone();
        if outcome.is_rewritten() {
            edits.push(Edit::replace(span, text.as_str()));
            text.clear();
        }
        changes.push(Change { span, instruction, target, outcome, cost, differs });
    })?;
    edits.sort_by_key(|edit| edit.span);
    Ok(Rewritten { source: module.source(), edits, changes })
}

/// The instructions that a text may use: its own `.target` has them, and so have all targets that
/// it is assembled for.
pub(crate) fn gate(targets: &[Target], own: Option<Target>, version: Option<PtxVersion>) -> Gate {
    let all = targets.iter().copied().chain(own).map(|it| Gate::new(it, version).features);
    Gate { features: all.fold(Features::ALL, Features::common), version }
}

/// Decides what to do with an instruction.
pub(crate) fn choose(instruction: &Instruction, aim: Aim, all: bool) -> Outcome {
    let meant = !instruction.loses_guard() && instruction.is_current(aim.semantics);
    let rewritten = |sequence: Option<Sequence>| match sequence {
        Some(sequence) => Outcome::Rewritten(sequence),
        None => Outcome::Unavailable,
    };
    if all || !meant && !cost::is_native(instruction, aim.target) {
        return rewritten(cost::cheapest(instruction, aim));
    }
    match cost::cheaper(instruction, aim) {
        Some(sequence) => Outcome::Rewritten(sequence),
        None => Outcome::Kept,
    }
}

/// Writes the replacements of instructions in a text.
pub(crate) struct BlockWriter {
    registers: FreshRegisters,
    places: Places,
}

impl BlockWriter {
    /// A writer for one text.
    pub(crate) fn new(source: &str) -> BlockWriter {
        BlockWriter { registers: FreshRegisters::avoiding(source), places: Places::new(source) }
    }

    /// The statement, or the block of statements, that replaces an instruction at a
    /// place in the text.
    pub(crate) fn block(
        &mut self,
        source: &str,
        span: Span,
        instruction: &Instruction,
        sequence: &Sequence,
    ) -> String {
        let template = Template::block(sequence, &mut self.registers);
        let mut text = String::new();
        let place = self.places.find(source, span.start, "");
        place.push_comments(span.text(source), &mut text);
        template.fill(Operands::of(instruction), &place, &mut text);
        text
    }
}
