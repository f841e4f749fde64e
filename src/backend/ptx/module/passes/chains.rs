//! Chains: neighbouring scalar instructions that fill a word part by part, or add to a sum, become
//! one SIMD instruction or one sum of products.
//!
//! This is right because the interpreter finds both programs equal for all inputs (`region/`), and
//! only the next member reads an intermediate word (`facts.rs`). Tested by
//! `tests/library/region.rs`, and proven by z3 in `cargo xtask prove-rewrites`.

use super::super::super::cost::{self, Cost};
use super::super::super::region::{Chain, Code};
use super::super::super::sequence::Sequence;
use super::super::Outcome;
use super::super::rewriter::{FormOutcome, Given, Rewriter, Standing};
use super::{Reading, Replacement, Whole};
use crate::module::VideoStatement;

/// The longest chain that starts at a statement and costs less as one block.
pub(super) fn pass(
    rewriter: &mut Rewriter<'_>,
    reading: &mut Reading<'_, '_>,
    at: usize,
) -> Option<Replacement> {
    let (statements, given) = (&reading.statements[at..], reading.given);
    let found = reading.chains.starting(statements, rewriter.options.semantics);
    let outcomes = found.iter().find_map(|chain| fused(rewriter, chain, statements, given))?;
    let Outcome::Fused(fusion) = &outcomes.last()?.outcome else { return None };
    let template = rewriter.block(&fusion.sequence, given.source);
    let whole = Whole { outcomes, hoisted: Vec::new(), template };
    Some(Replacement::Whole(Box::new(whole)))
}

/// The outcome for each member of a chain, if it costs less as one block.
pub(in super::super) fn fused(
    rewriter: &mut Rewriter<'_>,
    chain: &Chain,
    statements: &[VideoStatement],
    given: Given<'_>,
) -> Option<Vec<FormOutcome>> {
    let (sequence, new_count, new_weight) = whole(rewriter, chain, given)?;
    let (mut count, mut weight) = (0, 0);
    let mut outcomes = Vec::new();
    for statement in &statements[..chain.members] {
        let (known, (own, own_weight)) = rewriter.absorbed(statement, given)?;
        count += own;
        weight += own_weight;
        outcomes.push(known);
    }
    // The new code must be strictly cheaper, as costs within a class of selectors vary by one.
    if new_count >= chain.at_least(count) || new_weight >= chain.at_least(weight) {
        return None;
    }
    let last = outcomes.last_mut()?;
    let cost = last.cost?;
    last.outcome = Outcome::Fused(Box::new(chain.fusion(sequence)));
    last.cost = Some(Cost { rewritten: new_count, rewritten_weight: new_weight, ..cost });
    Some(outcomes)
}

/// The sequence for a chain, with its machine instructions and their weight.
fn whole(
    rewriter: &mut Rewriter<'_>,
    chain: &Chain,
    given: Given<'_>,
) -> Option<(Sequence, u32, u32)> {
    match &chain.code {
        Code::Simd(instruction) => {
            let form = rewriter.form(instruction, Standing::Fused, chain.declared, given);
            let known = &form.known;
            let Outcome::Rewritten(sequence) = &known.outcome else { return None };
            let cost = known.cost?;
            Some((sequence.clone(), cost.rewritten, cost.rewritten_weight))
        }
        Code::Products(sequence) => {
            let count = cost::products(sequence);
            let admitted = given.gate.admits(sequence);
            let sequence = sequence.for_registers(chain.declared.registers());
            admitted.then_some((sequence, count, count))
        }
    }
}
