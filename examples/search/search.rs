//! Enumerates values, starting from the sources, until one more operation gives the result.
//!
//! The operations are those for which ptxas makes one machine instruction: every PTX instruction of
//! `Opcode` on words and halves, sums of three words, a shift or a product with a sum, two bitwise
//! functions, a comparison, a selection.
//!
//! - Values that agree on 32 inputs count as one value. All values of one and two operations are
//!   kept: 40,000 to 300,000 for a usual form.
//! - For each value, the search asks whether one more operation gives the result: a sum or
//!   difference with sources and constants, a shift or product joined with a sum, a `prmt` whose
//!   selector follows from the bytes, a `lop3` whose table follows from the bits, a minimum, a
//!   selection.
//! - It asks the same for operations on two values of one operation each, and for operations on a
//!   value of two operations and a source. These values are not kept.
//! - It joins two kept values by a sum, `prmt`, minimum or maximum.
//! - Unless its time is up, the search finds every sequence of up to 4 operations and some of 5,
//!   if their constants are in the pool. The pool comes from the instruction's parts, its limits
//!   and the sequences that vptx has. A search that ends before its time is up always finds the
//!   same.

mod join;

use std::time::{Duration, Instant};

use vptx::Instruction;
use vptx::backend::ptx::{Opcode, Sequence};
use vptx::ir::Program;
use vptx::isa::{Feature, Target};
use vptx::video::Semantics;

use crate::battery::{Battery, Row, TESTS, agrees};
use crate::goals::{Beside, Goals, NIBBLES, byte, lop3};
use crate::operation::Operation;
use crate::pool::{Pool, sources};
use crate::shape::{Shape, Shapes, Slot};
use crate::support::smt::places;
use crate::values::{Id, Node, Values};

/// The largest number of values that are kept. Each takes about 200 bytes.
const VALUES: usize = 4_000_000;

/// The largest number of sequences of one length that are kept.
const KEPT: usize = 6;

/// Where all pairs of values are tried, the largest number of values on one side.
const SIDE: usize = 2_000;

/// The limits of a search.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Sequences have fewer operations than this.
    pub(crate) below: u32,
    pub(crate) time: Duration,
}

/// A sequence that computes an instruction for every input tried.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    pub(crate) operations: u32,
    pub(crate) sequence: Sequence,
}

/// The result of a search.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) found: Vec<Found>,
    /// Whether the search ended before its time was up.
    pub(crate) is_complete: bool,
    /// The number of values that were kept.
    pub(crate) values: usize,
}

/// Sequences that compute an instruction with fewer operations than a limit, the shortest first.
pub(crate) fn search(instruction: &Instruction, limits: Limits) -> Outcome {
    let program = instruction.lower(Semantics::CURRENT);
    let mut search = Search::new(instruction, &program, limits);
    search.run();
    search.found.sort_by_key(|found| (found.operations, found.sequence.lines().len()));
    Outcome { is_complete: !search.is_late, values: search.values.len(), found: search.found }
}

struct Search<'p> {
    program: &'p Program,
    places: [usize; 3],
    values: Values,
    /// The values of 0, 1 and 2 operations; then the predicates of 1 and 2 operations.
    levels: [Vec<Id>; 3],
    predicates: [Vec<Id>; 3],
    sources: Vec<Id>,
    constants: Vec<Id>,
    shapes: Shapes,
    goals: Goals,
    /// Selections that still need a predicate.
    selections: Vec<Selection>,
    limits: Limits,
    start: Instant,
    is_late: bool,
    found: Vec<Found>,
}

/// A selection between two words that gives the result if its predicate is right.
struct Selection {
    words: [Id; 2],
    operations: u32,
    /// The tests in which the predicate must hold, and the tests in which it must not.
    on: u32,
    off: u32,
}

/// A value that is tried. It may not be kept.
#[derive(Clone, Copy)]
struct Candidate {
    operation: Operation,
    args: [Id; 3],
    operations: u32,
}

impl<'p> Search<'p> {
    fn new(instruction: &Instruction, program: &'p Program, limits: Limits) -> Search<'p> {
        let places = places(&instruction.sources());
        let pool = Pool::new(instruction, program);
        let battery = Battery::new(program, places);
        let mut values = Values::default();
        let sources: Vec<Id> = sources(program, places)
            .into_iter()
            .filter_map(|input| values.add(Node::Source(input), battery.inputs[input as usize]))
            .collect();
        let shapes = Shapes::new(program, &pool, &sources, &mut values);
        let direct = direct(&shapes, &sources);
        let goals = Goals::new(battery.wanted, &pool, &sources, direct, &mut values);
        Search {
            program,
            places,
            constants: (0..values.len() as Id).filter(|id| !sources.contains(id)).collect(),
            levels: [sources.clone(), Vec::new(), Vec::new()],
            predicates: [const { Vec::new() }; 3],
            sources,
            values,
            shapes,
            goals,
            selections: Vec::new(),
            limits,
            start: Instant::now(),
            is_late: false,
            found: Vec::new(),
        }
    }

    fn run(&mut self) {
        for source in self.sources.clone() {
            self.finish(Candidate {
                operation: Operation::One(Opcode::Move),
                args: [source; 3],
                operations: 0,
            });
        }
        for level in 1..=2 {
            if self.limits.below > level {
                self.grow(level as usize);
            }
        }
        self.join();
        self.try_pairs();
        self.try_chains();
    }

    fn has_time(&mut self) -> bool {
        self.is_late |= self.start.elapsed() > self.limits.time;
        !self.is_late
    }

    /// Makes the values and predicates of a level. Each uses one value of the level below, and
    /// sources.
    fn grow(&mut self, level: usize) {
        for x in self.levels[level - 1].clone() {
            if self.values.len() > VALUES || !self.has_time() {
                return;
            }
            let partners = self.sources.clone();
            for candidate in self.candidates(x, &partners, level as u32) {
                self.keep(candidate, level);
            }
            for predicate in self.tests(x, &partners) {
                let Node::Apply(operation, args) = predicate else { continue };
                let row = self.values.apply(operation, args);
                if let Some(id) = self.values.add(predicate, row) {
                    self.predicates[level].push(id);
                }
            }
        }
        if level == 1 {
            self.selections = self.selections();
        }
        for predicate in self.predicates[level].clone() {
            self.finish_predicate(predicate, level as u32);
        }
        if level == 2 {
            // Selections by predicates of level 1.
            for predicate in self.predicates[1].clone() {
                for candidate in self.selected(predicate, 2) {
                    self.keep(candidate, 2);
                }
            }
        }
    }

    /// Keeps a value if it is new, and tries it.
    fn keep(&mut self, candidate: Candidate, level: usize) {
        let Candidate { operation, args, .. } = candidate;
        let row = self.values.apply(operation, args);
        if row.iter().all(|word| *word == row[0]) {
            return;
        }
        if let Some(id) = self.values.add(Node::Apply(operation, args), row) {
            self.levels[level].push(id);
            self.finish(candidate);
        }
    }

    /// All operations on a value, alone or with a partner.
    fn candidates(&self, x: Id, partners: &[Id], operations: u32) -> Vec<Candidate> {
        let mut found = Vec::new();
        let candidate = |shape: &Shape, first, second| {
            let args = shape.args(first, second);
            Candidate { operation: shape.operation, args, operations }
        };
        found.extend(self.shapes.single.iter().map(|shape| candidate(shape, x, x)));
        for shape in &self.shapes.double {
            for &y in partners {
                found.push(candidate(shape, x, y));
                if x != y && !shape.is_symmetric() {
                    found.push(candidate(shape, y, x));
                }
            }
        }
        found
    }

    /// All comparisons of a value, with constants or partners.
    fn tests(&self, x: Id, partners: &[Id]) -> Vec<Node> {
        let mut found = Vec::new();
        for shape in &self.shapes.tests {
            found.push(Node::Apply(shape.operation, shape.args(x, x)));
        }
        for shape in &self.shapes.comparisons {
            for &y in partners {
                found.push(Node::Apply(shape.operation, shape.args(x, y)));
                found.push(Node::Apply(shape.operation, shape.args(y, x)));
            }
        }
        found
    }

    /// Selections between sources and simple constants, by a predicate.
    fn selected(&mut self, predicate: Id, operations: u32) -> Vec<Candidate> {
        let constants = [0, 1, u32::MAX].map(|word| self.values.constant(word));
        let select = |x, y| Candidate {
            operation: Operation::One(Opcode::Select),
            args: [x, y, predicate],
            operations,
        };
        let [zero, one, ones] = constants;
        let mut found =
            vec![select(one, zero), select(zero, one), select(ones, zero), select(zero, ones)];
        for &x in &self.sources {
            for &y in self.sources.iter().filter(|y| **y != x) {
                found.push(select(x, y));
            }
            found.extend([select(x, zero), select(zero, x)]);
        }
        found
    }

    /// Tries whether a value, or one operation on it, is the result.
    fn finish(&mut self, candidate: Candidate) {
        let Candidate { operation, args, operations } = candidate;
        if operations >= self.limits.below {
            return;
        }
        let values = &self.values;
        let first = values.at(operation, args, 0);
        let word = |test| if test == 0 { first } else { values.at(operation, args, test) };
        let is_last = operations + 1 >= self.limits.below;
        let mut finishes: Vec<Option<Shape>> = Vec::new();
        if is_last {
            if (0..TESTS).all(|test| word(test) == self.goals.wanted[test]) {
                self.accept(candidate, None);
            }
            return;
        }
        finishes.extend(self.goals.exact.find(word).map(|entry| entry.finish));
        for &(opcode, by) in &self.goals.moves {
            let by_row = values.row(by);
            let moved = |test| Operation::One(opcode).eval([word(test), by_row[test], 0]);
            if let Some(entry) = self.goals.moved.find(moved) {
                finishes.push(Some(joined(opcode, by, entry.finish)));
            }
        }
        let selector = self.selector(word);
        for limit in &self.goals.limits {
            let row = values.row(limit.word);
            let result = |test| Operation::One(limit.opcode).eval([word(test), row[test], 0]);
            if (0..TESTS).all(|test| result(test) == self.goals.wanted[test]) {
                finishes.push(Some(with(limit.opcode, limit.word)));
            }
        }
        for shape in &self.goals.direct {
            let others = shape.args(0, 0);
            let at = |test| {
                let args = std::array::from_fn(|place| match shape.slots[place] {
                    Slot::Known(_) => values.row(others[place])[test],
                    Slot::First | Slot::Second => word(test),
                });
                shape.operation.eval(args)
            };
            if (0..TESTS).all(|test| at(test) == self.goals.wanted[test]) {
                finishes.push(Some(*shape));
            }
        }
        let likely = self.goals.pairs.iter().filter(|pair| pair.may_be(first));
        let mut tables = Vec::new();
        for pair in likely.map(|pair| pair.words).chain(self.own_pairs(args)) {
            let [y, z] = pair.map(|id| values.row(id));
            if let Some(table) = lop3(word, [y, z], &self.goals.wanted) {
                tables.push((table, pair));
            }
        }
        for (table, [y, z]) in tables {
            let slots = [Slot::First, Slot::Known(y), Slot::Known(z)];
            let operation = Operation::One(Opcode::Lop3(table));
            finishes.push(Some(Shape { operation, slots }));
        }
        if let Some((beside, selector)) = selector {
            let selector = self.values.constant(selector);
            let slots = [Slot::First, Slot::Known(beside), Slot::Known(selector)];
            finishes.push(Some(Shape { operation: Operation::One(Opcode::Permute), slots }));
        }
        for finish in finishes {
            self.accept(candidate, finish);
        }
    }

    /// The arguments of a value that are results of operations, each paired with each mask of
    /// lanes.
    fn own_pairs(&self, args: [Id; 3]) -> impl Iterator<Item = [Id; 2]> {
        let is_made = |id: &Id| matches!(self.values.node(*id), Node::Apply(..));
        let masks = &self.goals.lanes;
        let own = args.into_iter().filter(is_made);
        own.flat_map(move |own| masks.iter().map(move |mask| [own, *mask]))
    }

    /// The word and the selector with which `prmt` turns a value into the result.
    fn selector(&self, word: impl Fn(usize) -> u32) -> Option<(Id, u32)> {
        let always = self.goals.beside.iter().fold(15, |all, beside| all & beside.needed());
        let mut sets = [0xff_u32; 4];
        for test in 0..TESTS {
            let (own, wanted) = (word(test), self.goals.wanted[test]);
            for (place, set) in sets.iter_mut().enumerate().rev() {
                *set &= nibbles_for(own, byte(wanted, place as u32));
                if *set == 0 && always >> place & 1 == 1 {
                    return None;
                }
            }
            if self.goals.beside.iter().all(|beside| !is_given(beside, &sets)) {
                return None;
            }
        }
        let beside = self.goals.beside.iter().find(|beside| is_given(beside, &sets))?;
        let selector = (0..4).fold(0, |all, place| {
            let nibble = match beside.given[place] {
                Some(nibble) => nibble + 4,
                None => NIBBLES[sets[place].trailing_zeros() as usize],
            };
            all | nibble << (4 * place)
        });
        Some((beside.word, selector))
    }

    /// Accepts a value as the result, perhaps after a last operation, unless further inputs refute
    /// it.
    fn accept(&mut self, candidate: Candidate, finish: Option<Shape>) {
        let operations = candidate.operations + u32::from(finish.is_some());
        if !self.is_wanted(operations) {
            return;
        }
        let Candidate { operation, args, .. } = candidate;
        let kept = self.values.len();
        let mut id = match operation {
            Operation::One(Opcode::Move) => args[0],
            _ => self.values.keep(Node::Apply(operation, args)),
        };
        if let Some(shape) = finish {
            id = self.values.keep(Node::Apply(shape.operation, shape.args(id, id)));
        }
        self.accept_value(id, operations);
        self.values.forget(kept);
    }

    /// Accepts an operation on known values as the result, unless further inputs refute it.
    fn accept_operation(&mut self, operation: Operation, args: [Id; 3], operations: u32) {
        if self.is_wanted(operations) {
            let id = self.values.keep(Node::Apply(operation, args));
            self.accept_value(id, operations);
            self.values.forget(id as usize);
        }
    }

    fn is_wanted(&self, operations: u32) -> bool {
        operations < self.limits.below && self.kept(operations, true) < KEPT
    }

    /// The number of sequences of a length that are kept, either for every target or only for newer
    /// ones.
    fn kept(&self, operations: u32, for_all: bool) -> usize {
        let same = |found: &&Found| {
            found.operations == operations && is_for_all(&found.sequence) == for_all
        };
        self.found.iter().filter(same).count()
    }

    fn accept_value(&mut self, id: Id, operations: u32) {
        let sequence = self.values.sequence(id);
        let for_all = is_for_all(&sequence);
        if self.is_wanted(operations)
            && self.kept(operations, for_all) < KEPT
            && self.found.iter().all(|found| found.sequence != sequence)
            && agrees(self.program, &sequence, self.places)
        {
            self.found.push(Found { operations, sequence });
            if for_all {
                // One operation more is still allowed, because ptxas may make fewer machine
                // instructions of it.
                self.limits.below = self.limits.below.min(operations + 2);
            }
        }
    }

    /// Pairs of values between which a selection may give the result.
    fn selections(&self) -> Vec<Selection> {
        let mut words: Vec<(Id, u32, u32)> = Vec::new();
        let simple = self.constants.iter().chain(&self.sources).map(|id| (*id, 0));
        for (id, operations) in simple.chain(self.levels[1].iter().map(|id| (*id, 1))) {
            let equal = equal(self.values.row(id), &self.goals.wanted);
            if equal.count_ones() >= 3 && equal != u32::MAX && words.len() < SIDE {
                words.push((id, operations, equal));
            }
        }
        let mut found = Vec::new();
        for (at, &(x, cost_x, equal_x)) in words.iter().enumerate() {
            for &(y, cost_y, equal_y) in &words[at + 1..] {
                if equal_x | equal_y == u32::MAX {
                    let operations = match (self.is_more(x, y), self.is_more(y, x)) {
                        (false, false) => cost_x + cost_y,
                        _ => 0,
                    };
                    let (on, off) = (!equal_y, !equal_x);
                    found.push(Selection { words: [x, y], operations, on, off });
                }
            }
        }
        found.sort_by_key(|selection| selection.operations);
        found.truncate(SIDE);
        found
    }

    /// Whether `sum` is `value` plus a constant.
    fn is_more(&self, sum: Id, value: Id) -> bool {
        matches!(
            self.values.node(sum),
            Node::Apply(Operation::One(Opcode::Add), [x, y, _])
                if x == value && matches!(self.values.node(y), Node::Constant(_))
        )
    }

    /// Tries all selections by a predicate.
    fn finish_predicate(&mut self, predicate: Id, operations: u32) {
        let holds = equal(self.values.row(predicate), &[1; TESTS]);
        let mut found = Vec::new();
        for selection in &self.selections {
            let Selection { words: [x, y], on, off, .. } = *selection;
            let total = operations + selection.operations + 1;
            if holds & on == on && holds & off == 0 {
                found.push(([x, y, predicate], total));
            } else if !holds & on == on && !holds & off == 0 {
                found.push(([y, x, predicate], total));
            }
        }
        for (args, operations) in found {
            self.accept_operation(Operation::One(Opcode::Select), args, operations);
        }
    }

    /// The number of operations of a value. An operation that is used twice counts twice.
    fn operations(&self, id: Id) -> u32 {
        match self.values.node(id) {
            Node::Source(_) | Node::Constant(_) => 0,
            Node::Apply(_, args) => {
                let mut own = args.to_vec();
                own.dedup();
                1 + own.into_iter().map(|arg| self.operations(arg)).sum::<u32>()
            }
        }
    }

    /// Tries every operation on two values, each of which has one operation.
    fn try_pairs(&mut self) {
        if self.limits.below <= 3 {
            return;
        }
        let level = self.levels[1].clone();
        for (at, &x) in level.iter().enumerate() {
            if !self.has_time() {
                return;
            }
            for shape in self.shapes.double.clone() {
                // For a symmetric operation, each pair is tried once.
                let others = if shape.is_symmetric() { &level[..=at] } else { &level[..] };
                for &y in others {
                    let args = shape.args(x, y);
                    self.finish(Candidate { operation: shape.operation, args, operations: 3 });
                }
            }
            for shape in self.shapes.comparisons.clone() {
                for &y in &level {
                    self.try_comparison(shape, x, y, 3);
                }
            }
        }
    }

    /// Tries every operation on a value of two operations and a partner: a source, or an argument
    /// of the value.
    fn try_chains(&mut self) {
        if self.limits.below <= 3 {
            return;
        }
        for x in self.levels[2].clone() {
            if !self.has_time() {
                return;
            }
            let mut partners = self.sources.clone();
            if let Node::Apply(_, args) = self.values.node(x) {
                partners.extend(args.iter().filter(|arg| self.operations(**arg) == 1));
            }
            for candidate in self.candidates(x, &partners, 3) {
                self.finish(candidate);
            }
            for shape in self.shapes.tests.clone() {
                self.try_comparison(shape, x, x, 3);
            }
            for shape in self.shapes.comparisons.clone() {
                for &y in &partners {
                    self.try_comparison(shape, x, y, 3);
                    self.try_comparison(shape, y, x, 3);
                }
            }
        }
        for predicate in self.predicates[2].clone() {
            if !self.has_time() {
                return;
            }
            for candidate in self.selected(predicate, 3) {
                self.finish(candidate);
            }
        }
    }

    /// Tries selections by a comparison that is not kept as a value.
    fn try_comparison(&mut self, shape: Shape, x: Id, y: Id, operations: u32) {
        let args = shape.args(x, y);
        let values = &self.values;
        let fits = |selection: &Selection| {
            let is_right = |flip: bool| {
                (0..TESTS).all(|test| {
                    let holds = (values.at(shape.operation, args, test) == 1) != flip;
                    let (on, off) = (selection.on >> test & 1, selection.off >> test & 1);
                    if holds { off == 0 } else { on == 0 }
                })
            };
            is_right(false) || is_right(true)
        };
        let is_short =
            |selection: &&Selection| operations + selection.operations + 1 < self.limits.below;
        if self.selections.iter().filter(is_short).any(fits) {
            let id = self.values.keep(Node::Apply(shape.operation, args));
            self.finish_predicate(id, operations);
            self.values.forget(id as usize);
        }
    }
}

/// Whether all targets for which sequences are counted have the sequence's instructions.
fn is_for_all(sequence: &Sequence) -> bool {
    let needs = || sequence.lines().iter().map(|line| line.opcode.needs());
    let mut targets = Target::measured().iter().filter(|target| target.has(Feature::Ptxas13));
    targets.all(|target| needs().all(|feature| target.has(feature)))
}

/// The operations on one value that no other goal covers.
fn direct(shapes: &Shapes, sources: &[Id]) -> Vec<Shape> {
    let is_constant = |slot: Slot| matches!(slot, Slot::Known(id) if !sources.contains(&id));
    let is_covered = |shape: &Shape| match shape.operation {
        Operation::One(opcode) => match opcode {
            Opcode::Add
            | Opcode::Sub
            | Opcode::And
            | Opcode::Or
            | Opcode::Xor
            | Opcode::Lop3(_)
            | Opcode::Permute
            | Opcode::Min(_)
            | Opcode::Max(_) => true,
            Opcode::Shl | Opcode::Shr(_) | Opcode::Mul | Opcode::Mad => is_constant(shape.slots[1]),
            // The result is rarely made of bits of two words.
            Opcode::FunnelRightWrap => is_constant(shape.slots[2]),
            _ => false,
        },
        Operation::Two(..) => true,
        Operation::Sub2 => false,
    };
    let mut found: Vec<Shape> =
        shapes.single.iter().filter(|it| !is_covered(it)).copied().collect();
    for shape in shapes.double.iter().filter(|shape| !is_covered(shape)) {
        for &source in sources {
            let slots = |x, y| {
                shape.slots.map(|slot| match slot {
                    Slot::First => x,
                    Slot::Second => y,
                    Slot::Known(_) => slot,
                })
            };
            let source = Slot::Known(source);
            found.push(Shape { slots: slots(Slot::First, source), ..*shape });
            if !shape.is_symmetric() {
                found.push(Shape { slots: slots(source, Slot::First), ..*shape });
            }
        }
    }
    found
}

/// The tests in which two rows are equal, as a set of bits.
fn equal(x: &Row, y: &Row) -> u32 {
    (0..TESTS).filter(|&test| x[test] == y[test]).fold(0, |all, test| all | 1 << test)
}

/// The nibbles that select a wanted byte from a word, as bits in the order of [`NIBBLES`].
#[inline]
fn nibbles_for(word: u32, wanted: u32) -> u32 {
    let gives = |nibble: &u32| byte(word, *nibble) == wanted;
    (0..8).filter(|at| gives(&NIBBLES[*at])).fold(0, |all, at| all | 1 << at)
}

fn is_given(beside: &Beside, sets: &[u32; 4]) -> bool {
    let needed = beside.needed();
    needed != 0 && (0..4).all(|place| needed >> place & 1 == 0 || sets[place] != 0)
}

/// The operation that shifts or multiplies a value and adds another one.
fn joined_operation(opcode: Opcode) -> Operation {
    match opcode {
        Opcode::Mul => Operation::One(Opcode::Mad),
        _ => Operation::Two(opcode, Opcode::Add),
    }
}

/// A shift or product, joined with the sum of a shape.
fn joined(opcode: Opcode, by: Id, sum: Option<Shape>) -> Shape {
    match sum {
        Some(Shape { slots: [_, summand, _], .. }) => {
            let slots = [Slot::First, Slot::Known(by), summand];
            Shape { operation: joined_operation(opcode), slots }
        }
        None => with(opcode, by),
    }
}

/// A shape: an opcode on a value and a known word.
fn with(opcode: Opcode, word: Id) -> Shape {
    let slots = [Slot::First, Slot::Known(word), Slot::Known(word)];
    Shape { operation: Operation::One(opcode), slots }
}
