//! Finds regions among statements that come one after the other.

use std::fmt;
use std::sync::LazyLock;

use super::super::Gate;
use super::super::emit::{Places, Template};
use super::super::lanes;
use super::super::region::{Chain, Chains};
use super::passes::{Hoisted, block, fused, outcomes};
use super::rewriter::{FormOutcome, Given, Rewriter, replace};
use super::{Outcome, RewriteOptions};
use crate::diagnostic::Edit;
use crate::isa::Target;
use crate::module::VideoStatement;
use crate::source::Span;

/// Statements that one block replaces together.
pub(crate) struct Region {
    /// The outcome for each statement. The block takes the place of one statement, whose outcome
    /// says what the block is.
    pub(crate) outcomes: Vec<Outcome>,
    /// The machine instructions on each target: those of the statements, and of the block.
    pub(crate) costs: Vec<(Target, u32, u32)>,
    /// Whether each statement has the same result under all semantics.
    pub(crate) is_undisputed: bool,
    /// The replacement of each statement. Later edits insert lines before a loop.
    pub(crate) edits: Vec<Edit>,
}

impl Region {
    /// The place of the block among the statements.
    pub(crate) fn place(&self) -> usize {
        let is_there = |outcome: &Outcome| *outcome != Outcome::Absorbed;
        self.outcomes.iter().position(is_there).unwrap_or_default()
    }
}

/// Finds the regions of a text, for the code that ptxas 13 emits.
pub(crate) struct Regions<'s> {
    source: &'s str,
    chains: Chains<'s>,
    places: Places,
    targets: Vec<Target>,
    gate: Option<Gate>,
    /// At least one rewriter for each target. Each has the end of the last instructions that are
    /// known to be in no group on its target.
    rewriters: Vec<(Rewriter<'static>, u32)>,
}

static OPTIONS: LazyLock<RewriteOptions> = LazyLock::new(RewriteOptions::default);

impl<'s> Regions<'s> {
    pub(crate) fn new(source: &'s str) -> Regions<'s> {
        Regions {
            source,
            chains: Chains::new(source),
            places: Places::new(source),
            targets: Vec::new(),
            gate: None,
            rewriters: Vec::new(),
        }
    }

    /// Whether regions are looked for under these conditions.
    pub(crate) fn aims_at(&self, targets: &[Target], gate: Option<Gate>) -> bool {
        self.targets == targets && self.gate == gate
    }

    /// Sets the targets on which a region must be cheaper, and the instructions that its text may
    /// use. Without a gate there are no regions. The caller has asked for all earlier statements.
    pub(crate) fn aim(&mut self, targets: &[Target], gate: Option<Gate>) {
        self.targets = targets.to_vec();
        self.gate = gate;
        // New registers keep their names: a search for names takes a pass over the text.
        for (rewriter, _) in &mut self.rewriters {
            rewriter.forms.clear();
        }
        while self.rewriters.len() < targets.len() {
            self.rewriters.push((Rewriter::new(&OPTIONS), 0));
        }
    }

    /// Whether further statements may belong to a region with all of these statements, if the
    /// answer was yes without the last one.
    pub(crate) fn may_go_on(&mut self, statements: &[VideoStatement]) -> bool {
        self.gate.is_some_and(|gate| {
            self.chains.may_go_on(statements)
                || lanes::may_go_on(self.source, statements, gate, &mut self.chains.facts)
        })
    }

    /// The region that starts with the first of some statements. The statements of a text are
    /// asked for in order, each once, together with all that may belong to the same region.
    pub(crate) fn starting(&mut self, statements: &[VideoStatement]) -> Option<Region> {
        let gate = self.gate?;
        let found = self.chains.starting(statements, OPTIONS.semantics);
        let chain = found.into_iter().find_map(|chain| self.chain(&chain, statements, gate));
        let region = chain.or_else(|| self.group(statements, gate));
        if region.is_none() {
            self.chains.remember(statements.first()?);
        }
        region
    }

    /// A chain as a region, if the same sequence is cheaper on all targets.
    fn chain(
        &mut self,
        chain: &Chain,
        statements: &[VideoStatement],
        gate: Gate,
    ) -> Option<Region> {
        let region =
            self.agreed(gate, |rewriter, _, _, given| fused(rewriter, chain, statements, given))?;
        let Some(Outcome::Fused(fusion)) = region.outcomes.last() else { return None };
        let template = self.rewriters.first_mut()?.0.block(&fusion.sequence, self.source);
        self.with_edits(region, &template, statements)
    }

    /// A group as a region, if the same block is cheaper on all targets.
    fn group(&mut self, statements: &[VideoStatement], gate: Gate) -> Option<Region> {
        let region = self.agreed(gate, |rewriter, chains, alone_to, given| {
            outcomes(rewriter, chains, alone_to, statements, given)
        })?;
        let Some(Outcome::Grouped(group)) = region.outcomes.get(region.place()) else {
            return None;
        };
        let given = Given { source: self.source, target: *self.targets.first()?, gate };
        let rewriter = &mut self.rewriters.first_mut()?.0;
        let members = &statements[..group.members];
        let facts = &mut self.chains.facts;
        // Each fix can be made without the others.
        rewriter.hoisted_in(members[0].function).forget();
        let (hoisted, template) = block(rewriter, group.body(), members, facts, given);
        let region = self.with_edits(region, &template, statements)?;
        Some(self.with_hoisted(region, &hoisted))
    }

    /// A region without edits, if the outcomes are the same on all targets.
    fn agreed(
        &mut self,
        gate: Gate,
        mut on_target: impl FnMut(
            &mut Rewriter<'static>,
            &mut Chains<'s>,
            &mut u32,
            Given<'s>,
        ) -> Option<Vec<FormOutcome>>,
    ) -> Option<Region> {
        let mut agreed: Option<Region> = None;
        for (&target, (rewriter, alone_to)) in self.targets.iter().zip(&mut self.rewriters) {
            let given = Given { source: self.source, target, gate };
            let known = on_target(rewriter, &mut self.chains, alone_to, given)?;
            let is_undisputed = known.iter().all(|known| known.differs.is_empty());
            let each = known.iter().filter_map(|known| known.cost);
            let (before, after) =
                each.fold((0, 0), |(x, y), cost| (x + cost.ptxas, y + cost.rewritten));
            let outcomes: Vec<Outcome> = known.into_iter().map(|known| known.outcome).collect();
            let region = agreed.get_or_insert_with(|| Region {
                outcomes: outcomes.clone(),
                costs: Vec::new(),
                is_undisputed: true,
                edits: Vec::new(),
            });
            if region.outcomes != outcomes {
                return None;
            }
            region.costs.push((target, before, after));
            region.is_undisputed &= is_undisputed;
        }
        agreed
    }

    /// Inserts the lines that stand before the loop.
    fn with_hoisted(&mut self, mut region: Region, hoisted: &[Hoisted]) -> Region {
        for hoisted in hoisted {
            let mut text = String::new();
            hoisted.push(self.source, &OPTIONS, &mut self.places, &mut text);
            region.edits.push(Edit::replace(Span::at(hoisted.end), text));
        }
        region
    }

    /// Replaces one statement by the block, and removes the other statements.
    fn with_edits(
        &mut self,
        mut region: Region,
        template: &Template,
        statements: &[VideoStatement],
    ) -> Option<Region> {
        let place = region.place();
        for (at, statement) in statements.iter().enumerate().take(region.outcomes.len()) {
            let instruction = statement.instruction.as_ref()?;
            let operands = region.outcomes[at].operands(instruction);
            let old: (_, &dyn fmt::Display) = (statement.span, instruction);
            let new = (at == place).then_some((template, operands));
            let mut text = String::new();
            replace(old, new, self.source, &OPTIONS, &mut self.places, &mut text);
            region.edits.push(Edit::replace(statement.span, text));
        }
        Some(region)
    }
}
