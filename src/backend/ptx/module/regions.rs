//! Finds regions among statements that come one after the other.

use std::sync::LazyLock;

use super::{
    Chain, Chains, Fusion, Gate, Outcome, Place, Places, RewriteOptions, Rewriter, replace,
};
use crate::diagnostic::Edit;
use crate::isa::Target;
use crate::module::VideoStatement;

/// Statements that one sequence replaces together.
pub(crate) struct Region {
    pub(crate) fusion: Fusion,
    /// The machine instructions on each target: those of the statements, and of the sequence.
    pub(crate) costs: Vec<(Target, u32, u32)>,
    /// Whether each statement has the same result under all semantics.
    pub(crate) is_undisputed: bool,
    /// The replacement of each statement.
    pub(crate) edits: Vec<Edit>,
}

/// Finds the regions of a text, for the code that ptxas 13 emits.
pub(crate) struct Regions<'s> {
    source: &'s str,
    chains: Chains<'s>,
    places: Places,
    targets: Vec<Target>,
    gate: Option<Gate>,
    /// One for each target; there may be more.
    rewriters: Vec<Rewriter<'static>>,
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

    /// Sets the targets on which a region must be cheaper, and the instructions that its text
    /// may use. Without these there are no regions.
    pub(crate) fn aim(&mut self, targets: &[Target], gate: Option<Gate>) {
        self.targets = targets.to_vec();
        self.gate = gate;
        // New registers keep their names: a search for those takes a pass over the text.
        self.rewriters.iter_mut().for_each(|rewriter| rewriter.forms.clear());
        while self.rewriters.len() < targets.len() {
            self.rewriters.push(Rewriter::new(&OPTIONS));
        }
    }

    /// Whether statements that follow may belong to a region with all of these.
    pub(crate) fn may_go_on(&self, statements: &[VideoStatement]) -> bool {
        self.gate.is_some() && self.chains.may_go_on(statements)
    }

    /// The region that starts with the first of some statements. The statements of a text are
    /// asked for in order, each one once, together with all that may belong to its region.
    pub(crate) fn starting(&mut self, statements: &[VideoStatement]) -> Option<Region> {
        let gate = self.gate?;
        let found = self.chains.starting(statements, OPTIONS.semantics);
        found.into_iter().find_map(|chain| self.region(&chain, &statements[..chain.members], gate))
    }

    /// A chain as a region, if the same sequence is cheaper on all targets.
    fn region(
        &mut self,
        chain: &Chain,
        statements: &[VideoStatement],
        gate: Gate,
    ) -> Option<Region> {
        let mut costs = Vec::new();
        let mut agreed: Option<Fusion> = None;
        let mut is_undisputed = true;
        for (&target, rewriter) in self.targets.iter().zip(&mut self.rewriters) {
            let place = Place { source: self.source, target, gate };
            let outcomes = rewriter.fused(chain, statements, place)?;
            let each = outcomes.iter().filter_map(|known| known.cost);
            let (before, after) =
                each.fold((0, 0), |(x, y), cost| (x + cost.ptxas, y + cost.rewritten));
            costs.push((target, before, after));
            is_undisputed &= outcomes.iter().all(|known| known.differs.is_empty());
            let Outcome::Fused(fusion) = outcomes.into_iter().next_back()?.outcome else {
                return None;
            };
            if *agreed.get_or_insert_with(|| (*fusion).clone()) != *fusion {
                return None;
            }
        }
        let fusion = agreed?;
        let edits = self.edits(chain, &fusion, statements)?;
        Some(Region { fusion, costs, is_undisputed, edits })
    }

    /// The block takes the place of the last statement, and nothing that of the others.
    fn edits(
        &mut self,
        chain: &Chain,
        fusion: &Fusion,
        statements: &[VideoStatement],
    ) -> Option<Vec<Edit>> {
        let block = self.rewriters.first_mut()?.block(&fusion.sequence, self.source);
        let edit = |(at, statement): (usize, &VideoStatement)| {
            let old = (statement.span, statement.instruction.as_ref()?);
            let new = (at + 1 == statements.len()).then_some((&block, chain.operands()));
            let mut text = String::new();
            replace(old, new, self.source, &OPTIONS, &mut self.places, &mut text);
            Some(Edit::replace(statement.span, text))
        };
        statements.iter().enumerate().map(edit).collect()
    }
}
