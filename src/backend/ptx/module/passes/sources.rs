//! Sources: what is known of the sources of one instruction makes its sequence shorter. A register
//! holds a constant (`constants.rs`), lies in a range (`ranges.rs`), or has limits that neighbours
//! share (`limits.rs`).
//!
//! This is right because the data flow finds all definitions that reach the instruction
//! (`facts.rs`). Tested by `tests/library/{constants,ranges,limits,order}.rs`, and proven by z3 in
//! `cargo xtask prove-rewrites`.

mod constants;
mod limits;
mod ranges;

use std::sync::Arc;

use super::super::super::ZERO;
use super::super::super::cost::{self, Aim, Context};
use super::super::super::facts::Facts;
use super::super::rewriter::{Form, FormOutcome, Given, Rewriter, Standing};
use super::super::{Outcome, RewriteOptions};
use super::{Reading, Replacement, hoisting};
use crate::isa::Feature;
use crate::module::{DeclaredTypes, VideoStatement};
use crate::video::{Instruction, Operation, Semantics, SimdOp};

use constants::on_constants;
pub(super) use ranges::Known;
use ranges::Ranges;

/// A shorter sequence for a statement, by what is known of its sources.
pub(super) fn pass(
    rewriter: &mut Rewriter<'_>,
    reading: &mut Reading<'_, '_>,
    at: usize,
) -> Option<Replacement> {
    let statement = &reading.statements[at];
    let instruction = statement.instruction.as_ref()?;
    let Some((on, context)) = known(rewriter, reading, at) else {
        return stays(rewriter, reading, at).then(|| {
            let standing = Standing::OnConstants;
            let form = rewriter.form(instruction, standing, statement.declared, reading.given);
            Replacement::Single(form)
        });
    };
    let on = (&on, context);
    let form = on_known(rewriter, instruction, on, statement.declared, reading.given)?;
    let (sharing, facts) = (context.sharing, &mut reading.chains.facts);
    Some(match hoisting::single(rewriter, statement, &form.known, sharing, facts, reading.given) {
        Some(whole) => Replacement::Whole(Box::new(whole)),
        None => Replacement::Single(form),
    })
}

/// The most machine instructions that ptxas saves if it knows a source of a SIMD instruction: in
/// shorter expansions, and because the new sequence needs the constant in a register.
const FOLDED: u32 = 4;

/// Whether an instruction stays because of constant sources, although its sequence is shorter on
/// other values.
fn stays(
    rewriter: &mut Rewriter<'_>,
    Reading { given, statements, chains, ranges, .. }: &mut Reading<'_, '_>,
    at: usize,
) -> bool {
    let (given, statement) = (*given, &statements[at]);
    let &RewriteOptions { semantics, all, .. } = rewriter.options;
    let Some(instruction) = statement.instruction.as_ref() else { return false };
    let may_stay = !all && semantics == Semantics::CURRENT && instruction.guard.is_none();
    if !may_stay || !ranges.is_near(given.source, statements, at) {
        return false;
    }
    let plain = rewriter.form(instruction, Standing::Plain, statement.declared, given);
    let (Outcome::Rewritten(own), Some(cost)) = (&plain.known.outcome, plain.known.cost) else {
        return false;
    };
    let is_simd = instruction.simd().is_some();
    if is_simd && cost.ptxas > cost.rewritten + FOLDED {
        return false;
    }
    let Some(site) = chains.facts.at(statement) else { return false };
    if is_simd {
        let [a, b, _] = instruction.sources();
        let [a, b] = [a, b].map(|source| site.constant(source?));
        let any = |is: fn(u32) -> bool| [a, b].into_iter().flatten().any(is);
        let Operation::SimdArithmetic(it) = &instruction.operation else { return any(|_| true) };
        return match it.op {
            // A sequence for an extremum is short if one source is 0.
            SimdOp::Min | SimdOp::Max => any(|value| value != 0),
            // For other constants, ptxas makes more machine instructions.
            SimdOp::Add if own.lines().len() == 1 => any(|value| value == 0),
            _ => any(|_| true),
        };
    }
    let Some(on) = on_constants(instruction, site) else { return false };
    let form = rewriter.form(&on, Standing::Plain, statement.declared, given);
    form.known.outcome == Outcome::Kept
}

/// A statement's instruction with known constants in the place of registers, and its context.
/// `None` if these give no shorter sequence.
fn known(
    rewriter: &mut Rewriter<'_>,
    Reading { given, statements, chains, ranges, .. }: &mut Reading<'_, '_>,
    at: usize,
) -> Option<(Instruction, Context)> {
    let (given, statement) = (*given, &statements[at]);
    let instruction = statement.instruction.as_ref()?;
    if instruction.guard.is_some() {
        return None;
    }
    let semantics = rewriter.options.semantics;
    let mut is_shorter = |on: &Instruction, context: Context| {
        on_known(rewriter, instruction, (on, context), statement.declared, given).is_some()
    };
    let nothing = Context { ranges: [None; 3], sharing: 1 };
    let is_near = ranges.is_near(given.source, statements, at);
    let facts = &mut chains.facts;
    // On sm_70, code of this kind is not always shorter. Instructions that stay have the results of
    // ptxas 13.
    let is_estimated = given.target.has(Feature::Ptxas13);
    let mut sharing = 1;
    if is_estimated && (is_near || instruction.simd().is_none()) {
        let facts = is_near.then_some(&mut *facts);
        sharing = limits::sharing(given.source, statements, at, facts);
    }
    if instruction.simd().is_some() {
        if !is_near {
            return None;
        }
        let ranges = zeros(statement, instruction, facts).unwrap_or_default();
        let context = Context { ranges, sharing };
        let is_shorter = context != nothing && is_shorter(instruction, context);
        return is_shorter.then(|| (instruction.clone(), context));
    }
    let site = if is_near { facts.at(statement) } else { None };
    let on_constants = site.and_then(|site| on_constants(instruction, site));
    let on_constants = on_constants.filter(|on| is_shorter(on, nothing));
    let on = on_constants.as_ref().unwrap_or(instruction);
    let is_looked_for = semantics == Semantics::CURRENT && is_estimated && is_near;
    let ranges = if is_looked_for { ranges.find(statement, facts) } else { None };
    let context = Context { ranges: ranges.unwrap_or_default(), sharing };
    if context != nothing && is_shorter(on, context) {
        return Some((on.clone(), context));
    }
    on_constants.map(|on| (on, nothing))
}

/// The form with the sequence for `on`, the same instruction with constants in the place of
/// registers, in a context. `None` if that sequence is not shorter.
fn on_known(
    rewriter: &mut Rewriter<'_>,
    instruction: &Instruction,
    (on, context): (&Instruction, Context),
    declared: DeclaredTypes,
    given: Given<'_>,
) -> Option<Arc<Form>> {
    let registers = declared.registers();
    let key = (instruction.anonymous(), on.anonymous(), context, registers);
    if let Some(form) = rewriter.on_known.get(&key) {
        return form.clone();
    }
    let plain = rewriter.form(instruction, Standing::Plain, declared, given);
    let shorter = match &plain.known.outcome {
        Outcome::Rewritten(own) => {
            let Given { target, gate, .. } = given;
            let aim = Aim { target, semantics: rewriter.options.semantics, gate };
            cost::on_known(on, context, own, aim)
        }
        _ => None,
    };
    let form = shorter.map(|shorter| {
        let sequence = shorter.for_registers(registers);
        let template = Some(rewriter.block(&sequence, given.source));
        // The cost is for any registers: for these it is not more.
        let known = FormOutcome { outcome: Outcome::Rewritten(sequence), ..plain.known.clone() };
        Arc::new(Form { known, template })
    });
    rewriter.on_known.insert(key, form.clone());
    form
}

/// The sources of a SIMD minimum or maximum that are 0, as ranges.
fn zeros(
    statement: &VideoStatement,
    instruction: &Instruction,
    facts: &mut Facts<'_>,
) -> Option<Ranges> {
    let Operation::SimdArithmetic(it) = &instruction.operation else { return None };
    let is_alike = it.operands.atype == it.operands.btype;
    if !is_alike || !matches!(it.op, SimdOp::Min | SimdOp::Max) {
        return None;
    }
    let site = facts.at(statement)?;
    let [a, b] = [&it.operands.a, &it.operands.b]
        .map(|register| site.constant(register).filter(|value| *value == 0));
    (a != b).then(|| [a.map(|_| ZERO), b.map(|_| ZERO), None])
}
