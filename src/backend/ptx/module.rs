//! Rewrites whole modules.

mod constants;
mod limits;
mod masks;
mod order;
mod ranges;
mod regions;

use std::fmt;

use thiserror::Error;

use super::cost::{self, Context, Cost};
use super::emit::{Operands, Places, Surroundings, Template};
use super::facts::Site;
use super::lanes::{self, Group};
use super::region::{Chain, Chains, Code, Fusion};
use super::{FreshRegisters, Gate, Sequence, ZERO};
use crate::diagnostic::{Diagnostic, Edit, applied};
use crate::hash::Map;
use crate::isa::{PtxVersion, Target, WordRegisters};
use crate::module::{DeclaredTypes, Module, VideoStatement};
use crate::source::Span;
use crate::video::{Instruction, Operation, Semantics, SimdOp};

use constants::on_constants;
use masks::Product;
use ranges::{Known, Ranges};

pub(crate) use regions::{Region, Regions};

/// Options for rewriting.
// Each is a switch of its own.
#[allow(clippy::struct_excessive_bools)]
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RewriteOptions {
    /// The target that costs are counted for; the module's own if `None`.
    pub target: Option<Target>,
    /// The semantics of the new PTX: by default that of the code that ptxas 13
    /// emits now.
    pub semantics: Semantics,
    /// Also rewrite instructions that do not become cheaper, for tools that lack the
    /// video instructions.
    pub all: bool,
    /// Let one SIMD instruction's replacement take the place of several scalar instructions
    /// that fill a word part by part or add to one sum, and one block that of several SIMD
    /// instructions on bytes or halves, where that is cheaper still. Lines of such a block may stand
    /// before the loop around it. Also let an instruction profit from
    /// others: from a comparison or limits that it shares, from a `mov` that makes a source a
    /// constant, and from results whose range is known. And let a product with 255 that makes a
    /// mask of a comparison's flags become that comparison's mask.
    pub regions: bool,
    /// Write each original instruction as a comment.
    pub comments: bool,
    /// Write as many line breaks as there were, so that every other statement keeps its
    /// line. Comments inside an instruction are left out.
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

    /// These options, to rewrite all instructions or only those that become cheaper.
    #[must_use]
    pub fn with_all(mut self, all: bool) -> RewriteOptions {
        self.all = all;
        self
    }

    /// These options, to see several instructions as one, or each by itself.
    #[must_use]
    pub fn with_regions(mut self, regions: bool) -> RewriteOptions {
        self.regions = regions;
        self
    }

    /// These options, with every other statement on its line.
    #[cfg(feature = "cli")]
    #[must_use]
    pub(crate) fn keeping_lines(mut self) -> RewriteOptions {
        self.keep_lines = true;
        self
    }

    /// These options, with or without the originals as comments.
    #[must_use]
    pub fn with_comments(mut self, comments: bool) -> RewriteOptions {
        self.comments = comments;
        self
    }
}

/// The reason why a module is not rewritten.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RewriteError {
    /// The cheapest sequence depends on the target.
    #[error("the module has no `.target`, and none is given")]
    NoTarget,
    /// What is not understood is left alone: the syntax errors of the text, at least one.
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
    /// Ordinary PTX replaces the instruction. A register that always holds the same constant may
    /// be that constant in it, and other registers may have to lie in a range, as they always do
    /// in the module.
    Rewritten(Sequence),
    /// Ordinary PTX replaces the instruction together with those right before it that are
    /// [`Outcome::Absorbed`].
    Fused(Box<Fusion>),
    /// One block of ordinary PTX replaces the instruction together with neighbours that are
    /// [`Outcome::Absorbed`]: as many before it as [`Group::place`], and the other members after
    /// it.
    Grouped(Box<Group>),
    /// The instruction goes: a neighbour that is [`Outcome::Fused`] or [`Outcome::Grouped`] does
    /// its work, too.
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
    /// was not measured. A replacement on known constants or ranges costs at most as much as this,
    /// which is the cost on any registers. The replacement of several instructions counts where it
    /// stands, and nothing at the others. That of a group is counted, not measured.
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

    /// The new text. Outside the rewritten statements, and but for lines inserted before a loop, it
    /// equals the module's text, byte for byte.
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
/// Scalar instructions without guards that stand one after the other, and fill parts of a word
/// or add to a sum from parts of two others, may be one SIMD instruction or one sum of products.
/// If its new code is cheaper than theirs, it takes the place of the last one, and nothing that
/// of the others. Neighbouring SIMD instructions that cost less as one block on wider lanes
/// become one, in the place of one of them. Its lines that are the same in each round of a loop
/// stand before that, right behind a statement. SIMD minima and maxima compare in the direction of
/// their neighbours, and a register that always holds the same constant may become that constant.
/// Scalar instructions without a guard, on results of others, may have a sequence for the range of
/// these results only. A `mul.lo` that makes a mask of flags becomes the mask of their comparison.
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

/// Finds the outcome for instructions, most of which are like others.
pub(crate) struct Rewriter<'o> {
    options: &'o RewriteOptions,
    /// Of each form, for registers that are declared so.
    forms: Map<(Operation, Standing, WordRegisters), Form>,
    /// Of each form, and of the same one with constants in the place of registers, in a context.
    /// `None` if that has no shorter sequence.
    on_known: Map<(Operation, Operation, Context, WordRegisters), Option<Form>>,
    registers: Option<FreshRegisters>,
    /// How many words the last function keeps for loops.
    kept: u32,
    kept_in: Option<Span>,
}

/// The outcome for a form, and the text that replaces it, if any.
type Form = (FormOutcome, Option<Template>);

/// The part that an instruction plays.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Standing {
    Plain,
    Guarded,
    /// It compares its sources in the other order, as a neighbour does.
    Exchanged,
    /// It stands for several others, and not in the text. So it cannot stay.
    Fused,
}

impl Standing {
    fn of(instruction: &Instruction) -> Standing {
        if instruction.guard.is_some() { Standing::Guarded } else { Standing::Plain }
    }
}

/// A statement of a module that changes or may change.
pub(crate) enum Visited<'r, 'm> {
    Instruction(Decision<'r, 'm>),
    /// An ordinary instruction that goes with the video instruction before it, or an earlier place
    /// where some are inserted.
    Ordinary(Span),
}

/// The decision about one instruction of a module.
pub(crate) struct Decision<'r, 'm> {
    pub(crate) span: Span,
    pub(crate) instruction: &'m Instruction,
    pub(crate) target: Target,
    pub(crate) known: &'r FormOutcome,
}

impl<'o> Rewriter<'o> {
    pub(crate) fn new(options: &'o RewriteOptions) -> Rewriter<'o> {
        let (forms, on_known) = (Map::default(), Map::default());
        Rewriter { options, forms, on_known, registers: None, kept: 0, kept_in: None }
    }

    /// A rewriter for several modules, all under the same gates. None of them may use
    /// the usual names.
    #[cfg(feature = "cli")]
    pub(crate) fn with_usual_names(options: &'o RewriteOptions) -> Rewriter<'o> {
        Rewriter { registers: Some(FreshRegisters::usual()), ..Rewriter::new(options) }
    }

    #[cfg(feature = "cli")]
    pub(crate) fn options(&self) -> &RewriteOptions {
        self.options
    }

    /// Calls `work` for each legal video instruction of a module, and for each other statement that
    /// is replaced. Before the call, the replacement, if any, is appended to the text.
    pub(crate) fn each<'m>(
        &mut self,
        module: &'m Module<'_>,
        text: &mut String,
        mut work: impl FnMut(Visited<'_, 'm>, &mut String),
    ) -> Result<(), NoTarget> {
        let (source, own, options) = (module.source(), module.target(), self.options);
        self.kept_in = None;
        let mut places = Places::new(source);
        let mut chains = Chains::new(source);
        let mut ranges = Known::default();
        // Where the last instructions end that are in no group.
        let mut alone_to = 0;
        let mut rest = module.statements();
        while let Some((statement, others)) = rest.split_first() {
            let &VideoStatement { span, instruction: Some(ref instruction), declared, .. } =
                statement
            else {
                rest = others;
                continue;
            };
            let target = options.target.or(own).ok_or(NoTarget)?;
            let place = Place { source, target, gate: gate(target, own, module.version()) };
            if options.regions
                && let Some(whole) = self.together(&mut chains, &mut alone_to, rest, place)
            {
                let (members, others) = rest.split_at(whole.outcomes.len());
                rest = others;
                for (member, known) in members.iter().zip(&whole.outcomes) {
                    let (span, Some(instruction)) = (member.span, &member.instruction) else {
                        continue;
                    };
                    let is_last = known.outcome != Outcome::Absorbed;
                    let new = is_last.then(|| (&whole.template, whole.operands(instruction)));
                    replace((span, instruction), new, source, options, &mut places, text);
                    work(Visited::Instruction(Decision { span, instruction, target, known }), text);
                }
                for kept in &whole.kept {
                    let operands = Operands::of(instruction);
                    kept.push(operands, source, options, &mut places, text);
                    work(Visited::Ordinary(Span::at(kept.end)), text);
                }
                if let Some(Chain { code: Code::Simd(instruction), .. }) = &whole.chain
                    && let Some(Outcome::Fused(fusion)) =
                        whole.outcomes.last().map(|it| &it.outcome)
                {
                    let operands = whole.operands(instruction);
                    let flags = (instruction, operands, &fusion.sequence);
                    let after = (members.last().map_or(span, |last| last.span), others);
                    if let Some(span) = self.product(flags, after, source, &mut places, text) {
                        work(Visited::Ordinary(span), text);
                    }
                }
                continue;
            }
            let at = module.statements().len() - rest.len();
            let is_exchanged =
                options.regions && order::should_exchange(module.statements(), at, place.gate);
            let standing =
                if is_exchanged { Standing::Exchanged } else { Standing::of(instruction) };
            let shorter = if options.regions {
                self.known(module.statements(), at, &mut ranges, &mut chains, place)
            } else {
                None
            };
            let shorter = match &shorter {
                Some((on, context)) => self.on_known(instruction, (on, *context), declared, place),
                None => None,
            };
            let (known, template) = match shorter {
                Some(form) => form,
                None => self.form(instruction, standing, declared, place),
            };
            if let Some(template) = template {
                let new = Some((template, Operands::of(instruction)));
                replace((span, instruction), new, source, options, &mut places, text);
            }
            let flags = match (&instruction.operation, &known.outcome) {
                (Operation::SimdSet(_), Outcome::Rewritten(sequence)) => Some(sequence.clone()),
                _ => None,
            };
            work(Visited::Instruction(Decision { span, instruction, target, known }), text);
            rest = others;
            if options.regions
                && let Some(sequence) = flags
            {
                let flags = (instruction, Operands::of(instruction), &sequence);
                if let Some(span) = self.product(flags, (span, others), source, &mut places, text) {
                    work(Visited::Ordinary(span), text);
                }
            }
        }
        Ok(())
    }

    /// Replaces the product that makes a mask of flags, if it stands after a place and before other
    /// statements. The flags are results of an instruction, by its operands and a sequence.
    fn product(
        &mut self,
        (instruction, operands, sequence): (&Instruction, Operands<'_>, &Sequence),
        (span, others): (Span, &[VideoStatement]),
        source: &str,
        places: &mut Places,
        text: &mut String,
    ) -> Option<Span> {
        let end = others.first().map_or(source.len() as u32, |next| next.span.start);
        let part = Span::new(span.end, end);
        let product = Product::find(source, part, instruction, operands, sequence)?;
        let template = self.block(&product.sequence, source);
        let new = Some((&template, product.operands(operands)));
        replace((product.span, &product.text), new, source, self.options, places, text);
        Some(product.span)
    }

    /// The chain or group that starts with the first statement and becomes one block.
    fn together(
        &mut self,
        chains: &mut Chains<'_>,
        alone_to: &mut u32,
        statements: &[VideoStatement],
        place: Place<'_>,
    ) -> Option<Whole> {
        if let Some((chain, outcomes)) = self.region(chains, statements, place) {
            let Outcome::Fused(fusion) = &outcomes.last()?.outcome else { return None };
            let template = self.block(&fusion.sequence, place.source);
            return Some(Whole { chain: Some(chain), outcomes, kept: Vec::new(), template });
        }
        let Some(outcomes) = self.group(chains, alone_to, statements, place) else {
            chains.remember(&statements[0]);
            return None;
        };
        let group = outcomes.iter().find_map(|known| match &known.outcome {
            Outcome::Grouped(group) => Some(group),
            _ => None,
        })?;
        let (kept, template) = self.block_of_group(group, chains, statements, place);
        Some(Whole { chain: None, outcomes, kept, template })
    }

    /// The template of the block for a group among the first statements, and those of the lines
    /// that stand before the loop.
    fn block_of_group(
        &mut self,
        group: &Group,
        chains: &mut Chains<'_>,
        statements: &[VideoStatement],
        place: Place<'_>,
    ) -> (Vec<Kept>, Template) {
        let function = statements[0].function;
        if self.kept_in != function {
            self.kept_in = function;
            self.kept = 0;
        }
        let mut taken = self.kept;
        let numbers: Vec<Option<u32>> = group
            .before_loop()
            .iter()
            .map(|register| {
                register.map(|_| {
                    taken += 1;
                    taken - 1
                })
            })
            .collect();
        let registers = self.fresh(place.source);
        let mut kept = Vec::new();
        for (at, register) in group.inputs().iter().enumerate() {
            let at = at as u16;
            if !group.before_loop().contains(&Some(at)) {
                continue;
            }
            let mut members = statements[..group.members].iter();
            let end = members.find_map(|it| chains.facts.at(it)?.before_loop(register));
            if let Some(end) = end {
                let template = Template::kept(group, at, &numbers, &mut taken, registers);
                kept.push(Kept { end, template });
            }
        }
        let template = Template::group(group, &numbers, registers);
        self.kept = taken;
        (kept, template)
    }

    /// The outcome for each member of the group of the first statements that saves most.
    fn group(
        &mut self,
        chains: &mut Chains<'_>,
        alone_to: &mut u32,
        statements: &[VideoStatement],
        place: Place<'_>,
    ) -> Option<Vec<FormOutcome>> {
        if statements[0].span.start < *alone_to {
            return None;
        }
        let mut run = lanes::run(place.source, statements, place.gate)?;
        if run.steps.len() < 2 {
            return None;
        }
        let (mut outcomes, mut alone) = (Vec::new(), Vec::new());
        for statement in &statements[..run.steps.len()] {
            // Steps compute what the manual says. So does ptxas.
            let known = self.absorbed(statement, place);
            let Some((known, (count, _))) = known.filter(|(known, _)| known.differs.is_empty())
            else {
                // ptxas may know more of its result, and of what others make of that.
                *alone_to = statements[run.steps.len() - 1].span.end;
                return None;
            };
            alone.push(count);
            outcomes.push(known);
        }
        let function = statements[0].function;
        run.find_uses(statements, &mut chains.facts);
        let twins = lanes::Twins::of_each(&run.steps, chains.recent(function));
        let group = match lanes::best(&run, &alone, &twins, place.target) {
            Ok(group) => group,
            Err(count) => {
                *alone_to = statements[count - 1].span.end;
                return None;
            }
        };
        outcomes.truncate(group.members);
        let lanes::Count { instructions, weight, .. } = group.cost(place.target);
        let known = outcomes.get_mut(group.place)?;
        known.outcome = Outcome::Grouped(Box::new(group));
        known.cost = known.cost.map(|cost| Cost {
            rewritten: instructions,
            rewritten_weight: weight,
            ..cost
        });
        Some(outcomes)
    }

    fn fresh(&mut self, source: &str) -> &mut FreshRegisters {
        self.registers.get_or_insert_with(|| FreshRegisters::avoiding(source))
    }

    /// The form of an instruction.
    fn form(
        &mut self,
        instruction: &Instruction,
        standing: Standing,
        declared: DeclaredTypes,
        Place { source, target, gate }: Place<'_>,
    ) -> &Form {
        let Rewriter { options, forms, registers: fresh, .. } = self;
        let registers = declared.registers();
        forms.entry((instruction.anonymous(), standing, registers)).or_insert_with(|| {
            let exchanged = (standing == Standing::Exchanged).then(|| order::exchange(instruction));
            let instruction = exchanged.as_ref().unwrap_or(instruction);
            let mut outcome = choose(instruction, target, gate, options.semantics, options.all);
            if outcome == Outcome::Kept && standing == Standing::Fused {
                // Perhaps the SIMD instruction itself.
                let own = cost::measured_best(instruction, target, options.semantics, gate);
                outcome = own.map_or(Outcome::Kept, Outcome::Rewritten);
            }
            let mut known = FormOutcome::new(instruction, outcome, registers, target, options);
            let Outcome::Rewritten(sequence) = &mut known.outcome else {
                return (known, None);
            };
            if exchanged.is_some() {
                *sequence = sequence.exchanged();
            }
            let fresh = fresh.get_or_insert_with(|| FreshRegisters::avoiding(source));
            let template = Template::block(sequence, fresh);
            (known, Some(template))
        })
    }

    /// A statement's instruction with constants in the place of registers, and its context, as far
    /// as these are known and give a shorter sequence.
    fn known<'m>(
        &mut self,
        statements: &'m [VideoStatement],
        at: usize,
        ranges: &mut Known<'m>,
        chains: &mut Chains<'_>,
        place: Place<'_>,
    ) -> Option<(Instruction, Context)> {
        let statement = &statements[at];
        let instruction = statement.instruction.as_ref()?;
        if instruction.guard.is_some() {
            return None;
        }
        let semantics = self.options.semantics;
        let mut is_shorter = |on: &Instruction, context: Context| {
            self.on_known(instruction, (on, context), statement.declared, place).is_some()
        };
        let nothing = Context { ranges: [None; 3], sharing: 1 };
        let is_near = ranges.is_near(place.source, statements, at);
        let facts = &mut chains.facts;
        let site = if is_near { facts.at(statement) } else { None };
        if instruction.simd().is_some() {
            let context = Context { ranges: zeros(instruction, site?)?, ..nothing };
            return is_shorter(instruction, context).then(|| (instruction.clone(), context));
        }
        let on_constants = site.and_then(|site| on_constants(instruction, site));
        let on_constants = on_constants.filter(|on| is_shorter(on, nothing));
        let on = on_constants.as_ref().unwrap_or(instruction);
        let sharing = limits::sharing(place.source, statements, at);
        // Results of instructions that stay are those of ptxas 13.
        let is_looked_for = semantics == Semantics::CURRENT
            && is_near
            && is_shorter(on, Context { ranges: ranges::MOST, sharing });
        let ranges = if is_looked_for { ranges.find(statement, facts) } else { None };
        let context = Context { ranges: ranges.unwrap_or_default(), sharing };
        if context != nothing && is_shorter(on, context) {
            return Some((on.clone(), context));
        }
        on_constants.map(|on| (on, nothing))
    }

    /// The outcome for an instruction that becomes the sequence for the same one with constants in
    /// the place of registers, in a context, if that is shorter.
    fn on_known(
        &mut self,
        instruction: &Instruction,
        (on, context): (&Instruction, Context),
        declared: DeclaredTypes,
        place: Place<'_>,
    ) -> Option<&Form> {
        let registers = declared.registers();
        let key = (instruction.anonymous(), on.anonymous(), context, registers);
        if !self.on_known.contains_key(&key) {
            let (known, _) = self.form(instruction, Standing::Plain, declared, place);
            let known = known.clone();
            let Place { source, target, gate } = place;
            let shorter = match &known.outcome {
                Outcome::Rewritten(own) => {
                    cost::on_known(on, context, own, target, self.options.semantics, gate)
                }
                _ => None,
            };
            let form = shorter.map(|shorter| {
                let sequence = shorter.for_registers(registers);
                let template = self.block(&sequence, source);
                // The cost is that on any registers: on these it is not more.
                (FormOutcome { outcome: Outcome::Rewritten(sequence), ..known }, Some(template))
            });
            self.on_known.insert(key.clone(), form);
        }
        self.on_known.get(&key)?.as_ref()
    }

    /// The chain that starts with the first statement and becomes one block, with the
    /// outcome for each member. It costs less than what its members would become.
    fn region(
        &mut self,
        chains: &mut Chains<'_>,
        statements: &[VideoStatement],
        place: Place<'_>,
    ) -> Option<(Chain, Vec<FormOutcome>)> {
        let found = chains.starting(statements, self.options.semantics);
        found.into_iter().find_map(|chain| {
            let outcomes = self.fused(&chain, statements, place)?;
            Some((chain, outcomes))
        })
    }

    /// The outcome for each member of a chain, if it costs less as one block.
    fn fused(
        &mut self,
        chain: &Chain,
        statements: &[VideoStatement],
        place: Place<'_>,
    ) -> Option<Vec<FormOutcome>> {
        let (sequence, new_count, new_weight) = self.whole(chain, place)?;
        let (mut count, mut weight) = (0, 0);
        let mut outcomes = Vec::new();
        for statement in &statements[..chain.members] {
            let (known, (own, own_weight)) = self.absorbed(statement, place)?;
            count += own;
            weight += own_weight;
            outcomes.push(known);
        }
        // Strictly, as classes of selectors vary by one.
        if new_count >= chain.at_least(count) || new_weight >= chain.at_least(weight) {
            return None;
        }
        let last = outcomes.last_mut()?;
        let cost = last.cost?;
        last.outcome = Outcome::Fused(Box::new(chain.fusion(sequence)));
        last.cost = Some(Cost { rewritten: new_count, rewritten_weight: new_weight, ..cost });
        Some(outcomes)
    }

    /// The outcome for a statement that goes, and the cost that it would have alone: machine
    /// instructions and their weight. `None` if that was not measured.
    fn absorbed(
        &mut self,
        statement: &VideoStatement,
        place: Place<'_>,
    ) -> Option<(FormOutcome, (u32, u32))> {
        let instruction = statement.instruction.as_ref()?;
        let (alone, _) = self.form(instruction, Standing::Plain, statement.declared, place);
        let cost = alone.cost?;
        let known = FormOutcome {
            outcome: Outcome::Absorbed,
            cost: Some(Cost { rewritten: 0, rewritten_weight: 0, ..cost }),
            differs: alone.differs.clone(),
        };
        let own = match alone.outcome {
            Outcome::Rewritten(_) => (cost.rewritten, cost.rewritten_weight),
            _ => (cost.ptxas, cost.ptxas_weight),
        };
        Some((known, own))
    }

    /// The sequence for a chain, with its machine instructions and their weight.
    fn whole(&mut self, chain: &Chain, place: Place<'_>) -> Option<(Sequence, u32, u32)> {
        match &chain.code {
            Code::Simd(instruction) => {
                let (known, _) = self.form(instruction, Standing::Fused, chain.declared, place);
                let Outcome::Rewritten(sequence) = &known.outcome else { return None };
                let cost = known.cost?;
                Some((sequence.clone(), cost.rewritten, cost.rewritten_weight))
            }
            Code::Products(sequence) => {
                let count = cost::products(sequence);
                let admitted = place.gate.admits(sequence);
                let sequence = sequence.for_registers(chain.declared.registers());
                admitted.then_some((sequence, count, count))
            }
        }
    }

    /// The text for a sequence that takes the place of a chain.
    fn block(&mut self, sequence: &Sequence, source: &str) -> Template {
        Template::block(sequence, self.fresh(source))
    }
}

/// The sources of a SIMD minimum or maximum that are 0, as ranges.
fn zeros(instruction: &Instruction, site: Site<'_>) -> Option<Ranges> {
    let Operation::SimdArithmetic(it) = &instruction.operation else { return None };
    let is_alike = it.operands.atype == it.operands.btype;
    if !is_alike || !matches!(it.op, SimdOp::Min | SimdOp::Max) {
        return None;
    }
    let [a, b] = [&it.operands.a, &it.operands.b]
        .map(|register| site.constant(register).filter(|value| *value == 0));
    (a != b).then(|| [a.map(|_| ZERO), b.map(|_| ZERO), None])
}

/// Statements that one block replaces together.
struct Whole {
    /// None if the block names all its registers.
    chain: Option<Chain>,
    /// One for each statement.
    outcomes: Vec<FormOutcome>,
    kept: Vec<Kept>,
    template: Template,
}

/// Lines that stand before the loop of their block.
struct Kept {
    /// The end of the statement that they stand behind.
    end: u32,
    template: Template,
}

impl Kept {
    /// Appends the lines. They name all registers, so any operands do.
    fn push(
        &self,
        operands: Operands<'_>,
        source: &str,
        options: &RewriteOptions,
        places: &mut Places,
        text: &mut String,
    ) {
        let place = if options.keep_lines {
            Surroundings::of_one_line("")
        } else {
            places.find(source, self.end, "")
        };
        self.template.fill(operands, &place, text);
    }
}

impl Whole {
    fn operands<'w>(&'w self, last: &'w Instruction) -> Operands<'w> {
        self.chain.as_ref().map_or_else(|| Operands::of(last), Chain::operands)
    }
}

/// The facts about a module that decide what its instructions become.
#[derive(Clone, Copy)]
struct Place<'s> {
    source: &'s str,
    target: Target,
    gate: Gate,
}

/// Appends what takes the place of an instruction: the text of a template for an instruction,
/// or nothing but comments.
fn replace(
    (span, old): (Span, &dyn fmt::Display),
    new: Option<(&Template, Operands<'_>)>,
    source: &str,
    options: &RewriteOptions,
    places: &mut Places,
    text: &mut String,
) {
    // Block comments, because more code may follow on the line.
    let comment = options.comments.then(|| format!(" /* {old} */"));
    let comment = comment.as_deref().unwrap_or_default();
    let fill = |place: &Surroundings<'_>, text: &mut String| match new {
        Some((template, operands)) => template.fill(operands, place, text),
        None => text.push_str(comment.trim_start()),
    };
    if options.keep_lines {
        fill(&Surroundings::of_one_line(comment), text);
        let breaks = memchr::memchr_iter(b'\n', span.text(source).as_bytes());
        text.extend(breaks.map(|_| '\n'));
    } else {
        let place = places.find(source, span.start, comment);
        place.push_comments(span.text(source), text);
        fill(&place, text);
    }
}

/// The facts about an instruction that do not depend on the names of its registers.
#[derive(Clone)]
pub(crate) struct FormOutcome {
    pub(crate) outcome: Outcome,
    pub(crate) cost: Option<Cost>,
    pub(crate) differs: Vec<Semantics>,
}

impl FormOutcome {
    /// The machine instructions before and after rewriting, if they were measured.
    #[cfg(feature = "cli")]
    pub(crate) fn machine_instructions(&self) -> Option<(u32, u32)> {
        let Cost { ptxas, rewritten, .. } = self.cost?;
        Some((ptxas, if self.outcome.is_rewritten() { rewritten } else { ptxas }))
    }

    fn new(
        instruction: &Instruction,
        mut outcome: Outcome,
        registers: WordRegisters,
        target: Target,
        options: &RewriteOptions,
    ) -> FormOutcome {
        let program = instruction.lower(options.semantics);
        let others = Semantics::ALL.into_iter().filter(|other| *other != options.semantics);
        let cost = match &mut outcome {
            Outcome::Rewritten(sequence) => {
                let cost = cost::cost_of(instruction, sequence, target, options.semantics);
                *sequence = sequence.for_registers(registers);
                cost
            }
            _ => instruction.cost(target),
        };
        FormOutcome {
            outcome,
            cost,
            differs: others.filter(|other| instruction.lower(*other) != program).collect(),
        }
    }
}

/// The instructions that the text may use: its own `.target` and the one it is
/// assembled for both have them.
pub(crate) fn gate(target: Target, own: Option<Target>, version: Option<PtxVersion>) -> Gate {
    let target = own.filter(|own| own.number < target.number).unwrap_or(target);
    Gate { target, version }
}

/// Decides what to do with an instruction.
pub(crate) fn choose(
    instruction: &Instruction,
    target: Target,
    gate: Gate,
    semantics: Semantics,
    all: bool,
) -> Outcome {
    let meant = semantics == Semantics::CURRENT
        || instruction.lower(semantics) == instruction.lower(Semantics::CURRENT);
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
