//! Hoisting: lines of a block that are the same in each iteration of a loop stand before the loop.
//!
//! These lines depend on one register alone. They move behind the statement that writes this
//! register, and write registers of the function. This is right because no other definition reaches
//! the block, and lines have no effect but their results (`facts.rs`). Tested by
//! `tests/library/{hoisting,lanes}.rs`.
//!
//! The pass is for scalar instructions: ptxas often leaves in the loop what extracts a part of a
//! word. Groups (`groups.rs`) and shared limits (`sources/limits.rs`) hoist their lines, too. Lines
//! of other SIMD instructions stay: hoisting made 3 of 1,000 random loops of these longer.

use std::mem;

use super::super::super::emit::{Body, Operands, Places, Surroundings, Template};
use super::super::super::facts::Facts;
use super::super::super::sequence::words_of_one;
use super::super::rewriter::{FormOutcome, Given, Rewriter, Standing};
use super::super::{Outcome, RewriteOptions};
use super::{Reading, Replacement, Whole};
use crate::isa::Feature;
use crate::module::VideoStatement;

/// Once this many words of a function are hoisted, no further scalar instruction hoists any: each
/// word takes a register in the whole loop.
const MOST: u32 = 16;

/// A scalar instruction whose own sequence has lines that can stand before the loop around it.
pub(super) fn pass(
    rewriter: &mut Rewriter<'_>,
    reading: &mut Reading<'_, '_>,
    at: usize,
) -> Option<Replacement> {
    let Reading { given, statements, chains, ranges, .. } = reading;
    let statement = &statements[at];
    let instruction = statement.instruction.as_ref().filter(|it| it.guard.is_none())?;
    if !ranges.is_near(given.source, statements, at) {
        return None;
    }
    let form = rewriter.form(instruction, Standing::Plain, statement.declared, *given);
    let whole = single(rewriter, statement, &form.known, 1, &mut chains.facts, *given)?;
    Some(Replacement::Whole(Box::new(whole)))
}

/// The sequence of a statement, if some of its lines can stand before the loop around it. `sharing`
/// is the number of instructions that share limits in these lines; 1 if there are none.
pub(super) fn single(
    rewriter: &mut Rewriter<'_>,
    statement: &VideoStatement,
    known: &FormOutcome,
    sharing: u32,
    facts: &mut Facts<'_>,
    given: Given<'_>,
) -> Option<Whole> {
    let instruction = statement.instruction.as_ref()?;
    let is_scalar = instruction.simd().is_none() && given.target.has(Feature::Ptxas13);
    let has_room = rewriter.hoisted_in(statement.function).taken() < MOST;
    if sharing == 1 && !(is_scalar && has_room) {
        return None;
    }
    let Outcome::Rewritten(sequence) = &known.outcome else { return None };
    let mut lines = sequence.on_registers([0, 1, 2])?;
    let outputs = [(instruction.destination().clone(), lines.pop()?)];
    if lines.is_empty() {
        return None;
    }
    let site = facts.at(statement)?;
    let sources = instruction.sources();
    let is_same = sources.map(|it| it.is_some_and(|it| site.before_loop(it).is_some()));
    let before_loop = words_of_one(&lines, |input| is_same[usize::from(input)]);
    if before_loop.iter().all(Option::is_none) {
        return None;
    }
    let inputs = sources.map(|it| it.unwrap_or(instruction.destination()).clone());
    let body =
        Body { lines: &lines, inputs: &inputs, before_loop: &before_loop, outputs: &outputs };
    let (hoisted, template) = block(rewriter, body, std::slice::from_ref(statement), facts, given);
    Some(Whole { outcomes: vec![known.clone()], hoisted, template })
}

/// The template of the block for some statements, and the templates of the lines that stand before
/// the loop.
pub(in super::super) fn block(
    rewriter: &mut Rewriter<'_>,
    body: Body<'_>,
    members: &[VideoStatement],
    facts: &mut Facts<'_>,
    given: Given<'_>,
) -> (Vec<Hoisted>, Template) {
    let mut words = mem::take(rewriter.hoisted_in(members[0].function));
    let registers = rewriter.fresh(given.source);
    let (mut hoisted, mut numbers) = (Vec::new(), vec![None; body.lines.len()]);
    for (at, register) in body.inputs.iter().enumerate() {
        let at = at as u16;
        if !body.before_loop.contains(&Some(at)) {
            continue;
        }
        let end = members.iter().find_map(|it| facts.at(it)?.before_loop(register));
        if let Some(end) = end {
            let place = (at, end);
            let new = Template::hoisted(body, place, &mut numbers, &mut words, registers);
            hoisted.extend(new.map(|template| Hoisted { end, template }));
        }
    }
    let template = Template::body(body, &numbers, registers);
    *rewriter.hoisted_in(members[0].function) = words;
    (hoisted, template)
}

/// Lines that stand before the loop of their block.
pub(in super::super) struct Hoisted {
    /// The end of the statement that the lines stand behind.
    pub(in super::super) end: u32,
    template: Template,
}

impl Hoisted {
    /// Appends the lines.
    pub(in super::super) fn push(
        &self,
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
        self.template.fill(Operands::default(), &place, text);
    }
}
