//! Groups: neighbouring SIMD instructions become one sequence on wider lanes.
//!
//! Members may move over simple instructions that do not name their registers. Only results that
//! others read are packed, and lines that are the same in each iteration stand before the loop.
//! This is right because each step is exact on wider lanes (`lanes/steps.rs`). Tested by
//! `tests/library/lanes.rs`, and proven by z3 in `cargo xtask prove-rewrites`.

use super::super::super::cost::Cost;
use super::super::super::lanes;
use super::super::super::region::Chains;
use super::super::Outcome;
use super::super::rewriter::{FormOutcome, Given, Rewriter};
use super::hoisting::block;
use super::{Reading, Replacement, Whole};
use crate::module::VideoStatement;

/// The group that starts at a statement and saves most.
pub(super) fn pass(
    rewriter: &mut Rewriter<'_>,
    Reading { given, statements, chains, alone_to, .. }: &mut Reading<'_, '_>,
    at: usize,
) -> Option<Replacement> {
    let statements = &statements[at..];
    let Some(outcomes) = outcomes(rewriter, chains, alone_to, statements, *given) else {
        chains.remember(&statements[0]);
        return None;
    };
    let group = outcomes.iter().find_map(|known| match &known.outcome {
        Outcome::Grouped(group) => Some(group),
        _ => None,
    })?;
    let (hoisted, template) =
        block(rewriter, group.body(), &statements[..group.members], &mut chains.facts, *given);
    let whole = Whole { outcomes, hoisted, template };
    Some(Replacement::Whole(Box::new(whole)))
}

/// The outcome for each member of the group that starts at the first statement and saves most.
pub(in super::super) fn outcomes(
    rewriter: &mut Rewriter<'_>,
    chains: &mut Chains<'_>,
    alone_to: &mut u32,
    statements: &[VideoStatement],
    given: Given<'_>,
) -> Option<Vec<FormOutcome>> {
    if statements[0].span.start < *alone_to {
        return None;
    }
    let mut run = lanes::run(given.source, statements, given.gate, &mut chains.facts)?;
    if run.steps.len() < 2 {
        return None;
    }
    let (mut outcomes, mut alone) = (Vec::new(), Vec::new());
    for statement in &statements[..run.steps.len()] {
        let known = rewriter.absorbed(statement, given);
        let Some((known, (count, _))) = known.filter(|(known, _)| known.differs.is_empty()) else {
            // The sequence computes what the manual says. ptxas may compute something else for this
            // statement, and then for statements that depend on it.
            *alone_to = statements[run.steps.len() - 1].span.end;
            return None;
        };
        alone.push(count);
        outcomes.push(known);
    }
    let function = statements[0].function;
    let stays = if lanes::has_equal(&run) {
        run.steps.len()
    } else if lanes::may_save(&run, &alone, given.target) {
        0
    } else {
        // Half of the steps stay alone. The others are tried again, together with later steps.
        run.steps.len().div_ceil(2)
    };
    if stays > 0 {
        *alone_to = statements[stays - 1].span.end;
        return None;
    }
    run.find_uses(statements, &mut chains.facts);
    let shared = lanes::SameSources::of_each(&run.steps, chains.recent(function));
    let group = match lanes::best(&run, &alone, &shared, given.target) {
        Ok(group) => group,
        Err(count) => {
            *alone_to = statements[count - 1].span.end;
            return None;
        }
    };
    outcomes.truncate(group.members);
    let lanes::Count { instructions, weight, .. } = group.cost(given.target);
    let known = outcomes.get_mut(group.place)?;
    known.outcome = Outcome::Grouped(Box::new(group));
    known.cost =
        known.cost.map(|cost| Cost { rewritten: instructions, rewritten_weight: weight, ..cost });
    Some(outcomes)
}
