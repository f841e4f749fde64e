//! Neighbouring SIMD instructions, as one sequence on wider lanes.
//!
//! From `sm_90` on there are sums, minima and maxima of halves, but not of bytes. Before, there are
//! only those of words and of floating-point numbers. Each word of lanes becomes two words of wider
//! lanes once, and only live results are packed.

mod cost;
mod layout;
mod steps;

use super::emit::Body;
use super::facts::Facts;
use super::parallel::Order;
use super::sequence::{Line, Opcode, results};
use super::straight::{Name, names_between};
use super::{Arg, Gate};
use crate::isa::{Compare, Feature, LaneWidth, Lanes, Target, Type, WordRegisters};
use crate::module::VideoStatement;
use crate::video::{Operation, Register, SimdArithmetic, SimdOp, SimdTail, numbered};

pub(super) use cost::Count;
use layout::Layout;
use steps::Steps;

/// Neighbouring SIMD instructions, as one sequence on wider lanes: bytes as halves, which may be
/// floating-point numbers, or halves as words.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Group {
    /// The number of instructions.
    pub members: usize,
    /// The sequence stands in the place of the instruction with this number, counted from 0. Later
    /// instructions move up to it, over statements that name registers of earlier ones.
    pub place: usize,
    layout: Layout,
    inputs: Vec<Register>,
    lines: Vec<Line>,
    /// For each line that stands before the loop, the place among `inputs` of the only register
    /// that the line depends on.
    before_loop: Vec<Option<u16>>,
    outputs: Vec<(Register, Line)>,
}

impl Group {
    /// The lanes that the sequence computes with: `halves` or `halves in floating point` for bytes,
    /// `words` for halves.
    pub fn wider(&self) -> &'static str {
        self.layout.text()
    }

    /// The registers that the sequence reads.
    pub fn inputs(&self) -> &[Register] {
        &self.inputs
    }

    /// The instructions that write temporary registers of the sequence, in order.
    #[doc(hidden)]
    pub fn lines(&self) -> &[Line] {
        &self.lines
    }

    /// For each of [`Group::lines`] that gives a word, the place among [`Group::inputs`] of the
    /// only register that it depends on, if that has the same value in all iterations of the loop
    /// around the sequence. The line then stands where the register is written, before the loop.
    #[doc(hidden)]
    pub fn before_loop(&self) -> &[Option<u16>] {
        &self.before_loop
    }

    /// The registers that the sequence writes after that, and the instruction for each. These
    /// instructions read temporary registers only.
    #[doc(hidden)]
    pub fn outputs(&self) -> &[(Register, Line)] {
        &self.outputs
    }

    /// The registers that the sequence writes, and their new values, for the values of the
    /// registers that it reads.
    pub fn eval(&self, inputs: &[u32]) -> Vec<(&Register, u32)> {
        let words = |arg| match arg {
            Arg::Register(at) => inputs.get(usize::from(at)).copied().unwrap_or(0),
            _ => 0,
        };
        let results = results(&self.lines, words);
        let outputs = self.outputs.iter();
        outputs.map(|(register, line)| (register, line.eval(&results, words) as u32)).collect()
    }

    pub(super) fn body(&self) -> Body<'_> {
        let Group { inputs, lines, before_loop, outputs, .. } = self;
        Body { lines, inputs, before_loop, outputs }
    }

    /// The machine instructions of the sequence.
    pub(super) fn cost(&self, target: Target) -> Count {
        let packed: Vec<Line> = self.outputs.iter().map(|(_, line)| *line).collect();
        Count::of(&self.lines, &packed, &self.before_loop, target)
    }
}

/// At most this many instructions make a group.
const MOST: usize = 24;

/// A SIMD instruction that may be in a group. A lane has the same place in all words.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step<'m> {
    width: LaneWidth,
    kind: Kind,
    d: &'m Register,
    sources: [&'m Register; 2],
    /// The value of `c` does not matter, as all lanes are written.
    c: &'m Register,
    uses: Uses,
}

/// The data flow of a step among several steps.
#[derive(Clone, Copy, Debug)]
struct Uses {
    /// Whether anything but later steps may read the result.
    is_read_outside: bool,
    /// The place of the last step that reads the result, or 0.
    last: usize,
    /// The place of this step.
    place: usize,
    /// Whether each source has the same value in all iterations of the loop around the steps.
    are_before_loop: [bool; 2],
    /// Whether another instruction does the same with the same values. ptxas computes their result
    /// once.
    is_repeated: bool,
    /// Whether ptxas may move the step out of the loop around the steps, or may know a shorter way.
    is_reduced: bool,
}

impl Uses {
    const UNKNOWN: Uses = Uses {
        is_read_outside: true,
        last: 0,
        place: 0,
        are_before_loop: [false; 2],
        is_repeated: false,
        is_reduced: false,
    };
}

/// Steps that may be a group.
pub(super) struct Run<'m> {
    layouts: Vec<Layout>,
    pub(super) steps: Vec<Step<'m>>,
    /// The number of steps before the first statement that names a register of an earlier step.
    before: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Kind {
    action: Action,
    types: [Type; 2],
}

impl Kind {
    /// Whether the order of the sources does not matter.
    fn commutes(self) -> bool {
        let Action::Arithmetic { op, .. } = self.action else { return false };
        matches!(op, SimdOp::Add | SimdOp::Min | SimdOp::Max) && self.types[0] == self.types[1]
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Action {
    Arithmetic {
        op: SimdOp,
        dtype: Type,
        saturate: bool,
    },
    /// 1 where the difference of two sources is negative or, if `is_negated`, where it is not.
    Less {
        /// Whether the difference is the second source minus the first.
        is_swapped: bool,
        is_negated: bool,
    },
}

impl<'m> Step<'m> {
    fn of(statement: &'m VideoStatement) -> Option<Step<'m>> {
        let instruction = statement.instruction.as_ref().filter(|it| it.guard.is_none())?;
        let (action, operands) = match &instruction.operation {
            Operation::SimdArithmetic(it) => (arithmetic(it)?, &it.operands),
            Operation::SimdSet(it) if !it.accumulate => (less(it.compare)?, &it.operands),
            _ => return None,
        };
        let width = [LaneWidth::Bytes, LaneWidth::Halves]
            .into_iter()
            .find(|width| operands.lanes == Lanes::all(*width))?;
        let is_sum = matches!(action, Action::Arithmetic { op: SimdOp::Add, .. });
        if operands.a == operands.b && !is_sum {
            // ptxas mostly knows the result, and simplifies what depends on it.
            return None;
        }
        (statement.declared.registers() != WordRegisters::Packed).then_some(Step {
            width,
            kind: Kind { action, types: [operands.atype, operands.btype] },
            d: &operands.d,
            sources: [&operands.a, &operands.b],
            c: &operands.c,
            uses: Uses::UNKNOWN,
        })
    }

    /// Whether the step has these sources, in some order.
    fn has_sources(&self, [x, y]: [&Register; 2]) -> bool {
        let [a, b] = self.sources;
        (a.names_same(x) && b.names_same(y)) || (a.names_same(y) && b.names_same(x))
    }

    /// Whether one of the step's registers is among some names.
    fn is_named_in(&self, names: &[Name<'_>]) -> bool {
        let [a, b] = self.sources;
        [self.d, a, b].iter().any(|register| names.contains(&numbered(register.name())))
    }
}

fn arithmetic(it: &SimdArithmetic) -> Option<Action> {
    let SimdTail::Merge { saturate } = it.tail else { return None };
    let is_simple = !matches!(it.op, SimdOp::AbsDiff | SimdOp::Avrg);
    // A minimum or maximum is one of the operands, so that nothing exceeds their type.
    let is_operand = matches!(it.op, SimdOp::Min | SimdOp::Max)
        && [it.operands.atype, it.operands.btype] == [it.dtype; 2];
    let saturate = saturate && !is_operand;
    is_simple.then_some(Action::Arithmetic { op: it.op, dtype: it.dtype, saturate })
}

fn less(compare: Compare) -> Option<Action> {
    let Order { is_swapped, is_negated } = Order::of(compare)?;
    Some(Action::Less { is_swapped, is_negated })
}

/// The steps from the first statement on that may form a group. `None` if the first statement is no
/// step, or the text may use no layout for it.
pub(super) fn run<'m>(
    source: &str,
    statements: &'m [VideoStatement],
    gate: Gate,
    facts: &mut Facts<'_>,
) -> Option<Run<'m>> {
    let first = Step::of(statements.first()?)?;
    let layouts: Vec<Layout> = Layout::all(first.width, gate).collect();
    if layouts.is_empty() {
        return None;
    }
    let mut run = Run { layouts, steps: Vec::new(), before: 0 };
    // The names in statements that later steps must move over.
    let mut moved_over: Vec<Name<'_>> = Vec::new();
    for (at, statement) in statements.iter().enumerate().take(MOST) {
        let Some(step) = Step::of(statement).filter(|step| step.width == first.width) else {
            break;
        };
        if run.steps.is_empty() {
            run.before = 1;
        } else {
            let (part, is_passed) = facts.between([&statements[at - 1], statement]);
            let Some(names) = names_between(source, part, is_passed) else { break };
            // If these statements name no register of an earlier step, earlier steps move down over
            // them.
            let are_named = run.steps.iter().any(|step| step.is_named_in(&names));
            if run.before < run.steps.len() || are_named {
                moved_over.extend(names);
            } else {
                run.before += 1;
            }
            if step.is_named_in(&moved_over) {
                break;
            }
        }
        run.steps.push(step);
    }
    Some(run)
}

impl Run<'_> {
    /// Finds the data flow of each step. `statements` are the statements of the steps.
    pub(super) fn find_uses(&mut self, statements: &[VideoStatement], facts: &mut Facts<'_>) {
        let statements = &statements[..self.steps.len()];
        for (place, (step, statement)) in self.steps.iter_mut().zip(statements).enumerate() {
            step.uses.place = place;
            let Some(site) = facts.at(statement) else { continue };
            step.uses.are_before_loop = step.sources.map(|it| site.before_loop(it).is_some());
            step.uses.is_reduced = step.sources.iter().all(|it| site.is_loop_invariant(it))
                || step.sources.iter().any(|it| site.is_of_one_word(it));
            let of_run =
                |start: u32| statements.binary_search_by_key(&start, |it| it.span.start).is_ok();
            step.uses.is_repeated = site.is_repeated(of_run);
            let Some(readers) = site.readers(step.d) else { continue };
            // If nothing reads the result, the text may be a fragment: the result stays.
            step.uses.is_read_outside = readers.is_empty();
            for reader in readers {
                let start = |it: &VideoStatement| it.span.start;
                match statements.binary_search_by_key(&reader, start) {
                    Ok(later) if later > place => step.uses.last = step.uses.last.max(later),
                    // A reader in the next iteration of a loop counts as outside.
                    _ => step.uses.is_read_outside = true,
                }
            }
        }
    }
}

/// Whether further statements may form a group with all of these statements, if the answer was yes
/// without the last one.
pub(super) fn may_go_on(
    source: &str,
    statements: &[VideoStatement],
    gate: Gate,
    facts: &mut Facts<'_>,
) -> bool {
    let width = |statement: &VideoStatement| {
        let width = Step::of(statement)?.width;
        Layout::all(width, gate).next().map(|_| width)
    };
    let goes_on = match statements {
        [] => false,
        [first] => width(first).is_some(),
        [first, .., last] => {
            let before = &statements[statements.len() - 2];
            let (part, is_passed) = facts.between([before, last]);
            width(first).is_some_and(|of_first| width(last) == Some(of_first))
                && names_between(source, part, is_passed).is_some()
        }
    };
    goes_on && statements.len() < MOST
}

/// Whether the text may have sums of halves.
pub(super) fn has_sums_of_halves(gate: Gate) -> bool {
    gate.has(Opcode::Add2.needs())
}

/// Whether two of the steps are the same. ptxas computes their result once.
pub(super) fn has_equal(run: &Run<'_>) -> bool {
    compiled(run.layouts[0], &run.steps).has_equal()
}

/// Whether some of the first steps may cost less as a group, whatever reads their results. Only the
/// last result is sure to be read.
pub(super) fn may_save(run: &Run<'_>, alone: &[u32], target: Target) -> bool {
    let steps = run.steps.iter().zip(alone).enumerate().map(|(place, (step, cost))| {
        let uses = Uses { is_read_outside: false, last: place + 1, place, ..Uses::UNKNOWN };
        (Step { uses, ..*step }, *cost)
    });
    let steps: Vec<_> = steps.collect();
    let candidate = |(step, cost)| Candidate { step, cost, last: 0 };
    let steps: Vec<_> = steps.iter().map(|(step, cost)| candidate((step, *cost))).collect();
    let mut layouts = run.layouts.iter().filter(|layout| layout.fits(&run.steps));
    layouts.any(|layout| saving(*layout, &steps, target).is_some())
}

/// The group of the first steps that saves most, if it costs less than its members one by one, and
/// if no group that starts with the next step saves more. Otherwise, the number of steps that stay
/// alone.
pub(super) fn best(
    run: &Run<'_>,
    alone: &[u32],
    shared: &[SameSources],
    target: Target,
) -> Result<Group, usize> {
    let steps = &run.steps[..];
    let is_needed = compiled(run.layouts[0], steps).needed();
    let from = |first: usize| {
        // The steps before the first one with ambiguous names.
        let steps = (first..is_needed.len()).map(|at| {
            let Uses { is_reduced, is_repeated, .. } = steps[at].uses;
            let is_free = !is_needed[at] || is_reduced || is_repeated;
            let cost = if is_free { 0 } else { alone[at] };
            let SameSources { first: same, last } = shared[at];
            let is_inside = same.is_some_and(|same| same >= first) && !is_repeated;
            let last = if is_inside { last - first } else { usize::MAX };
            Candidate { step: &steps[at], cost, last }
        });
        let steps: Vec<_> = steps.collect();
        let mut best: Option<Saving> = None;
        for layout in run.layouts.iter().filter(|layout| layout.fits(&run.steps)) {
            let one = saving(*layout, &steps, target);
            if one.is_some_and(|one| best.is_none_or(|best| one.saved > best.saved)) {
                best = one;
            }
        }
        best
    };
    let Some(Saving { layout, members, saved }) = from(0) else {
        // Half of the steps stay alone. The others are tried again, together with later steps.
        return Err(steps.len().div_ceil(2));
    };
    if from(1).is_some_and(|other| other.saved > saved) {
        return Err(1);
    }
    Ok(compiled(layout, &steps[..members]).group(members.min(run.before) - 1))
}

/// The first steps, up to one with ambiguous names: two names that may be one register or two.
fn compiled<'m>(layout: Layout, steps: &[Step<'m>]) -> Steps<'m> {
    let mut compiled = Steps::new(layout);
    for step in steps {
        if !compiled.push(step) {
            break;
        }
    }
    compiled
}

/// The first steps whose group saves the most machine instructions.
#[derive(Clone, Copy)]
struct Saving {
    layout: Layout,
    members: usize,
    saved: u32,
}

/// A step that may be the next member of a group.
struct Candidate<'s, 'm> {
    step: &'s Step<'m>,
    /// The machine instructions of the step alone.
    cost: u32,
    /// The last step with the same sources; `usize::MAX` if an earlier instruction has these
    /// sources, or another instruction repeats the step.
    last: usize,
}

/// The first and the last step with the same sources as a step.
pub(super) struct SameSources {
    /// `None` if an instruction before all steps has the same sources.
    first: Option<usize>,
    last: usize,
}

impl SameSources {
    /// The result for each step; `before` has the sources of earlier instructions.
    pub(super) fn of_each<'r>(
        steps: &[Step<'_>],
        before: impl Iterator<Item = &'r [Register; 2]>,
    ) -> Vec<SameSources> {
        let before: Vec<_> = before.collect();
        let of = |(at, step): (usize, &Step<'_>)| {
            let has_same = |other: &Step<'_>| step.has_sources(other.sources);
            let is_first = !before.iter().any(|[a, b]| step.has_sources([a, b]));
            let first = steps.iter().position(has_same).filter(|_| is_first);
            SameSources { first, last: steps.iter().rposition(has_same).unwrap_or(at) }
        };
        steps.iter().enumerate().map(of).collect()
    }
}

/// The first steps whose group saves the most machine instructions in a layout.
fn saving(layout: Layout, steps: &[Candidate<'_, '_>], target: Target) -> Option<Saving> {
    let mut compiled = Steps::new(layout);
    let (mut best, mut sum): (Option<Saving>, u32) = (None, 0);
    for (at, candidate) in steps.iter().enumerate() {
        compiled.push(candidate.step);
        sum += candidate.cost;
        // ptxas shares a member's comparison with instructions outside, but not the
        // comparison of a group.
        let shared = steps[..=at].iter().filter(|it| it.last > at).count() as u32;
        let before = sum.saturating_sub(SHARED * shared);
        let Count { instructions, before_loop, weight } = compiled.cost(target);
        let saved = before.saturating_sub(instructions - before_loop);
        let margin = margin(layout, target) + compiled.repeated();
        if compiled.len() > 1
            && instructions + margin < before
            && weight <= before
            && best.is_none_or(|best| saved > best.saved)
        {
            best = Some(Saving { layout, members: compiled.len(), saved });
        }
    }
    best
}

/// The machine instructions of a comparison that another step shares.
const SHARED: u32 = 3;

/// A group must save more than this plus one for each value or pair of values that members read
/// again: ptxas computes some common subexpressions of members once.
fn margin(layout: Layout, target: Target) -> u32 {
    // ptxas may join two constants of a layout, and may move a constant into a register.
    if matches!(layout, Layout::Floats(_)) || target.has(Feature::JoinedConstants) { 2 } else { 1 }
}
