//! Finds statements that differ, but compute the same.
//!
//! Both sides of a stretch of plain integer and video instructions become terms over the values
//! before it. Equal terms are a proof: a video instruction equals each of its rewritings, which are
//! proven. If the terms differ, they are evaluated for many values.

use std::ops::Range;

use super::Equivalence;
use super::align::{Matching, Sides};
use super::hunks::Entry;
use super::outline::{Class, NameId, Outline, Statement};
use crate::backend::ptx::{Arg, Class as RegisterClass, Gate, Opcode, Sequence, candidates};
use crate::hash::{Map, Set};
use crate::ir::{Input, Program};
use crate::source::Span;
use crate::syntax::{self, OperandKind, StatementKind};
use crate::terms::{Term, Terms};
use crate::video::{EDGES, Instruction, Operation, Semantics};

/// The number of sets of values that are tried.
pub(super) const TRIED: usize = 4096;

/// The steps of evaluation that a comparison of two modules may take. Afterwards, only a proof
/// counts.
const BUDGET: usize = 50_000_000;

/// The most lines of a stretch that joins several blocks of changes.
const LONGEST: usize = 1000;

/// Instructions with more names than this are not read.
const MOST_NAMES: usize = 6;

/// The state of a comparison of two modules.
pub(super) struct Rewritings {
    /// The rewritings of operations, by the operation without the names of its registers.
    known: Map<Operation, Vec<Sequence>>,
    budget: usize,
}

impl Rewritings {
    pub(super) fn new() -> Rewritings {
        Rewritings { known: Map::default(), budget: BUDGET }
    }

    fn of(&mut self, instruction: &Instruction) -> &[Sequence] {
        self.known.entry(instruction.anonymous()).or_insert_with_key(|operation| {
            let anonymous = Instruction::new(operation.clone());
            let all = candidates(&anonymous, Semantics::CURRENT, Gate::ANY);
            all.into_iter().map(|(_, sequence)| sequence).collect()
        })
    }
}

/// Two functions whose statements are aligned.
pub(super) struct Functions<'f, 's> {
    pub(super) sides: &'f Sides<'f, 's>,
    pub(super) locals: &'f Matching,
    pub(super) old: &'f [Statement],
    pub(super) new: &'f [Statement],
    old_counts: Map<NameId, u32>,
    new_counts: Map<NameId, u32>,
}

/// How often each name stands in some statements.
fn counts<'s>(
    outline: &Outline<'_>,
    statements: impl Iterator<Item = &'s Statement>,
) -> Map<NameId, u32> {
    let mut counts: Map<NameId, u32> = Map::default();
    for statement in statements {
        for name in outline.holes(statement) {
            *counts.entry(*name).or_default() += 1;
        }
    }
    counts
}

impl<'f, 's> Functions<'f, 's> {
    pub(super) fn new(
        sides: &'f Sides<'f, 's>,
        locals: &'f Matching,
        (old, new): (&'f [Statement], &'f [Statement]),
    ) -> Functions<'f, 's> {
        Functions {
            sides,
            locals,
            old,
            new,
            old_counts: counts(sides.old, old.iter()),
            new_counts: counts(sides.new, new.iter()),
        }
    }

    /// The stretches of a hunk whose sides compute the same.
    pub(super) fn equivalences(
        &self,
        entries: &[Entry],
        rewritings: &mut Rewritings,
    ) -> Vec<Equivalence> {
        let mut found = Vec::new();
        let mut claim = |stretch: &Range<usize>| {
            let proven = self.is_equal(&entries[stretch.clone()], rewritings);
            found.extend(proven.map(|proven| Equivalence {
                first: stretch.start,
                last: stretch.end - 1,
                proven,
            }));
            proven.is_some()
        };
        for blocks in self.stretches(entries) {
            // Tries all blocks together; if that fails, each block alone.
            let whole = blocks[0].start..blocks[blocks.len() - 1].end;
            if !claim(&whole) && blocks.len() > 1 {
                for block in &blocks {
                    claim(block);
                }
            }
        }
        found
    }

    /// Groups of blocks of changes. All changed statements, and all statements between blocks of
    /// one group, can be read.
    fn stretches(&self, entries: &[Entry]) -> Vec<Vec<Range<usize>>> {
        let is_change = |at: usize| !matches!(entries[at], Entry::Same(..));
        let mut stretches: Vec<Vec<Range<usize>>> = Vec::new();
        // Whether the next block continues the last group.
        let mut goes_on = false;
        let mut at = 0;
        while at < entries.len() {
            if !is_change(at) {
                goes_on &= self.is_readable(entries[at]);
                at += 1;
                continue;
            }
            let start = at;
            while at < entries.len() && is_change(at) {
                at += 1;
            }
            let block = start..at;
            let is_readable = entries[start..at].iter().all(|entry| self.is_readable(*entry));
            match stretches.last_mut() {
                _ if !is_readable => {}
                Some(last) if goes_on && at - last[0].start <= LONGEST => last.push(block),
                _ => stretches.push(vec![block]),
            }
            goes_on = is_readable;
        }
        stretches
    }

    fn is_readable(&self, entry: Entry) -> bool {
        let old = |at: u32| Reading::of(self.sides.old, &self.old[at as usize]).is_some();
        let new = |at: u32| Reading::of(self.sides.new, &self.new[at as usize]).is_some();
        match entry {
            Entry::Same(at, other) => old(at) && new(other),
            Entry::Old(at) => old(at),
            Entry::New(at) => new(at),
        }
    }

    /// Whether both sides of a stretch compute the same: `Some(true)` with a proof, `Some(false)`
    /// without one. `None` if they differ, or nothing is known.
    fn is_equal(&self, entries: &[Entry], rewritings: &mut Rewritings) -> Option<bool> {
        let old = |entry: &Entry| match *entry {
            Entry::Same(at, _) | Entry::Old(at) => Some(&self.old[at as usize]),
            Entry::New(_) => None,
        };
        let new = |entry: &Entry| match *entry {
            Entry::Same(_, at) | Entry::New(at) => Some(&self.new[at as usize]),
            Entry::Old(_) => None,
        };
        let has = |of: fn(&Entry) -> bool| entries.iter().any(of);
        if !has(|it| matches!(it, Entry::Old(_))) || !has(|it| matches!(it, Entry::New(_))) {
            return None;
        }
        let old: Vec<&Statement> = entries.iter().filter_map(old).collect();
        let new: Vec<&Statement> = entries.iter().filter_map(new).collect();
        // A rewriting is known only after its video instruction was read. So each side is read
        // first once.
        for is_old_first in [true, false] {
            let mut graph = Graph::default();
            let mut run = |is_old: bool| {
                let statements = if is_old { &old } else { &new };
                self.run(&mut graph, statements, is_old, rewritings)
            };
            let (first, second) = (run(is_old_first)?, run(!is_old_first)?);
            let (before, after) = if is_old_first { (first, second) } else { (second, first) };
            let (before, after) = self.results(&mut graph, (&old, &before), (&new, &after))?;
            if before == after {
                return Some(true);
            }
            if !is_old_first && graph.is_same(&before, &after, &mut rewritings.budget) {
                return Some(false);
            }
        }
        None
    }

    /// Computes the terms of all names that some statements write.
    fn run(
        &self,
        graph: &mut Graph,
        statements: &[&Statement],
        is_old: bool,
        rewritings: &mut Rewritings,
    ) -> Option<Written> {
        let outline = if is_old { self.sides.old } else { self.sides.new };
        let mut written = Written::default();
        let place = |name: NameId| {
            let new = if is_old { self.locals.new_of(name) } else { Some(name) };
            new.map_or(SharedName::Old(name), SharedName::New)
        };
        for statement in statements {
            let reading = Reading::of(outline, statement)?;
            reading.apply(graph, outline, &mut written, &place, rewritings)?;
        }
        Some(written)
    }

    /// The terms of all names that may be read later, for the old side and, in the same order, for
    /// the new side; if nothing is read later, of the names that both sides write. `None` if a name
    /// that only one side has may be read later, or if there are no such names.
    fn results(
        &self,
        graph: &mut Graph,
        (old, before): (&[&Statement], &Written),
        (new, after): (&[&Statement], &Written),
    ) -> Option<(Vec<Term>, Vec<Term>)> {
        let old_inside = counts(self.sides.old, old.iter().copied());
        let new_inside = counts(self.sides.new, new.iter().copied());
        // In a loop, a value that is read before it is written comes from the previous iteration.
        let old_outside = |name: NameId| {
            self.old_counts.get(&name) != old_inside.get(&name)
                || before.read.contains(&self.place_of_old(name))
        };
        let new_outside = |name: NameId| {
            self.new_counts.get(&name) != new_inside.get(&name)
                || after.read.contains(&SharedName::New(name))
        };
        let (mut places, mut known) = (Vec::new(), Set::default());
        for place in before.order.iter().chain(&after.order) {
            let is_later = match *place {
                // Other functions may read a register that is declared outside of functions.
                SharedName::Old(name) if self.sides.old.name(name).is_global => return None,
                SharedName::New(name) if self.sides.new.name(name).is_global => return None,
                SharedName::Old(name) if old_outside(name) => return None,
                SharedName::Old(_) => false,
                SharedName::New(name) => match self.locals.old_of(name) {
                    None if new_outside(name) => return None,
                    None => false,
                    Some(old) => old_outside(old) || new_outside(name),
                },
            };
            if is_later && known.insert(*place) {
                places.push(*place);
            }
        }
        if places.is_empty() {
            let written = before.order.iter().filter(|it| after.terms.contains_key(it));
            places.extend(written.filter(|it| known.insert(**it)));
        }
        if places.is_empty() {
            return None;
        }
        let mut terms = |written: &Written| -> Vec<Term> {
            let term = |place: &SharedName| written.terms.get(place).copied();
            places.iter().map(|it| term(it).unwrap_or_else(|| self.input(graph, *it))).collect()
        };
        Some((terms(before), terms(after)))
    }

    fn place_of_old(&self, name: NameId) -> SharedName {
        self.locals.new_of(name).map_or(SharedName::Old(name), SharedName::New)
    }

    /// The value of a name before the stretch.
    fn input(&self, graph: &mut Graph, place: SharedName) -> Term {
        let bits = match place {
            SharedName::Old(name) => bits_of(self.sides.old, name),
            SharedName::New(name) => bits_of(self.sides.new, name),
        };
        graph.node(Node::Value(place, bits.unwrap_or(64)))
    }
}

/// A name of the new text, or a name that only the old text has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum SharedName {
    New(NameId),
    Old(NameId),
}

/// The width of a register in bits, if instructions of [`Opcode`] can have such registers.
fn bits_of(outline: &Outline<'_>, name: NameId) -> Option<u8> {
    match outline.name(name).class {
        Class::Register(bits @ (1 | 16 | 32 | 64)) => Some(bits),
        _ => None,
    }
}

/// The names that some statements write and read.
#[derive(Default)]
struct Written {
    terms: Map<SharedName, Term>,
    /// The names written, in order.
    order: Vec<SharedName>,
    /// The names that are read before they are written.
    read: Set<SharedName>,
}

/// An operand of an ordinary instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operand {
    Name(NameId),
    /// `!p`
    Not(NameId),
    Constant(u64),
    /// `{low, high}`; `None` for `_`.
    Halves(Option<NameId>, Option<NameId>),
}

/// A statement that can be read here.
enum Reading<'o> {
    Video(&'o Instruction, &'o Statement),
    Plain { guard: Option<(NameId, bool)>, opcode: Plain, operands: Vec<Operand> },
}

enum Plain {
    Opcode(Opcode),
    /// `neg.s32`
    Negate,
    /// `mov.b64`, `mov.pred` and the like
    Copy,
    /// `mov.b64 {low, high}, x`
    Split,
    /// `mov.b32 {low, high}, x`
    SplitWord,
    /// `mov.b32 x, {low, high}`
    Join,
}

impl<'o> Reading<'o> {
    fn of(outline: &'o Outline<'_>, statement: &'o Statement) -> Option<Reading<'o>> {
        if let Some(instruction) = outline.instruction(statement) {
            // The numbers differ only if a register is not declared.
            let known = outline.holes(statement).len() == instruction.registers().count();
            return known.then_some(Reading::Video(instruction, statement));
        }
        if outline.holes(statement).len() > MOST_NAMES {
            return None;
        }
        let StatementKind::Instruction(instruction) = outline.syntax(statement).kind() else {
            return None;
        };
        let guard = match instruction.guard() {
            Some(guard) => {
                let name = guard.name.text(outline.source());
                Some((outline.named(statement, name)?, guard.negated))
            }
            None => None,
        };
        let operands = instruction.operands().map(|it| operand(outline, statement, &it));
        let operands: Vec<Operand> = operands.collect::<Option<_>>()?;
        let word = outline.opcode(statement);
        let opcode = match (&*word, &operands[..]) {
            ("neg.s32", _) => Plain::Negate,
            ("mov.b64", [Operand::Halves(..), _]) => Plain::Split,
            ("mov.b32", [Operand::Halves(..), _]) => Plain::SplitWord,
            ("mov.b32", [_, Operand::Halves(..)]) => Plain::Join,
            ("mov.b64" | "mov.u64" | "mov.s64" | "mov.pred", _) => Plain::Copy,
            _ => Plain::Opcode(Opcode::from_text(&word)?),
        };
        let arity = match &opcode {
            Plain::Opcode(Opcode::Lop3(_)) => 4,
            Plain::Opcode(opcode) => opcode.arity(),
            _ => 1,
        };
        // ptxas takes other constants than 0 for true, but of some only the low 32 bits.
        let is_predicate = |at| {
            let has_one = word.starts_with("selp.") || word.starts_with("setp.");
            word.ends_with(".pred") || has_one && at == 3
        };
        let is_odd =
            |(at, it): (usize, &Operand)| matches!(it, Operand::Constant(2..)) && is_predicate(at);
        if operands.iter().enumerate().any(is_odd) {
            return None;
        }
        let is_split = matches!(opcode, Plain::Split | Plain::SplitWord | Plain::Join);
        let has_halves = operands.iter().any(|it| matches!(it, Operand::Halves(..)));
        let fits = operands.len() == arity + 1 && has_halves == is_split;
        fits.then_some(Reading::Plain { guard, opcode, operands })
    }

    /// Adds the terms of the names that the statement writes.
    fn apply(
        &self,
        graph: &mut Graph,
        outline: &Outline<'_>,
        written: &mut Written,
        place: &dyn Fn(NameId) -> SharedName,
        rewritings: &mut Rewritings,
    ) -> Option<()> {
        let read = |graph: &mut Graph, written: &mut Written, name: NameId| -> Option<Term> {
            let own = place(name);
            if let Some(term) = written.terms.get(&own) {
                return Some(*term);
            }
            written.read.insert(own);
            // 16-bit registers can only be read if the stretch has written them.
            let bits = bits_of(outline, name).filter(|bits| *bits != 16)?;
            Some(graph.node(Node::Value(own, bits)))
        };
        let (guard, results) = match self {
            Reading::Video(instruction, statement) => {
                let holes = outline.holes(statement);
                let mut names = holes.iter().copied();
                let destination = names.next()?;
                let mut sources = [None; 3];
                for (source, register) in sources.iter_mut().zip(instruction.sources()) {
                    if register.is_some() {
                        *source = Some(read(graph, written, names.next()?)?);
                    }
                }
                let guard = instruction.guard.as_ref().map(|guard| guard.negated);
                let guard = guard.zip(names.next()).map(|(negated, name)| (name, negated));
                let result = graph.video(instruction, sources, rewritings);
                (guard, vec![(destination, result)])
            }
            Reading::Plain { guard, opcode, operands } => {
                let (first, sources) = operands.split_first()?;
                let mut args = Vec::new();
                for source in sources {
                    let term = match *source {
                        Operand::Name(name) => read(graph, written, name)?,
                        Operand::Not(name) => {
                            let term = read(graph, written, name)?;
                            graph.not(term)
                        }
                        Operand::Constant(value) => graph.node(Node::Constant(value)),
                        Operand::Halves(Some(low), Some(high)) => {
                            args.push(read(graph, written, low)?);
                            read(graph, written, high)?
                        }
                        Operand::Halves(..) => return None,
                    };
                    args.push(term);
                }
                let results = match (opcode, first) {
                    (Plain::Split | Plain::SplitWord, Operand::Halves(low, high)) => {
                        let halves = if matches!(opcode, Plain::Split) {
                            [(low, Opcode::Low), (high, Opcode::High)]
                        } else {
                            [(low, Opcode::LowHalf), (high, Opcode::HighHalf)]
                        };
                        let named =
                            halves.into_iter().filter_map(|(name, half)| Some(((*name)?, half)));
                        named.map(|(name, half)| (name, graph.op(half, &args))).collect()
                    }
                    (Plain::Opcode(Opcode::Lop3(_)), Operand::Name(name)) => {
                        let Node::Constant(table) = graph.terms.all()[args[3] as usize] else {
                            return None;
                        };
                        vec![(*name, graph.op(Opcode::Lop3(table as u8), &args[..3]))]
                    }
                    (Plain::Opcode(opcode), Operand::Name(name)) => {
                        vec![(*name, graph.op(*opcode, &args))]
                    }
                    (Plain::Negate, Operand::Name(name)) => {
                        let zero = graph.node(Node::Constant(0));
                        vec![(*name, graph.op(Opcode::Sub, &[zero, args[0]]))]
                    }
                    (Plain::Join, Operand::Name(name)) => {
                        vec![(*name, graph.op(Opcode::JoinHalves, &args))]
                    }
                    (Plain::Copy, Operand::Name(name)) => vec![(*name, args[0])],
                    _ => return None,
                };
                (*guard, results)
            }
        };
        for (name, mut result) in results {
            bits_of(outline, name)?;
            if let Some((predicate, negated)) = guard {
                // The operation works on words.
                bits_of(outline, name).filter(|bits| *bits < 64)?;
                let predicate = read(graph, written, predicate)?;
                let before = read(graph, written, name)?;
                let [yes, no] = if negated { [before, result] } else { [result, before] };
                result = graph.op(Opcode::Select, &[yes, no, predicate]);
            }
            let own = place(name);
            written.terms.insert(own, result);
            written.order.push(own);
        }
        Some(())
    }
}

fn operand(
    outline: &Outline<'_>,
    statement: &Statement,
    operand: &syntax::Operand<'_>,
) -> Option<Operand> {
    let named = |name: Span| outline.named(statement, name.text(outline.source()));
    // For example `%tid.x`.
    if operand.selector().is_some() {
        return None;
    }
    match operand.kind() {
        OperandKind::Name(name) => match operand.sign() {
            None => named(name).map(Operand::Name),
            Some(sign) if sign.text(outline.source()) == "!" => named(name).map(Operand::Not),
            Some(_) => None,
        },
        OperandKind::Constant(value) => value.ok()?.bits().map(Operand::Constant),
        OperandKind::Vector(mut halves) => {
            let mut half = || {
                let half = halves.next()?;
                match half.kind() {
                    _ if half.sign().or(half.selector()).is_some() => None,
                    OperandKind::Name(name) => named(name).map(Some),
                    OperandKind::Discard => Some(None),
                    _ => None,
                }
            };
            let (low, high) = (half()?, half()?);
            halves.next().is_none().then_some(Operand::Halves(low, high))
        }
        _ => None,
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Node {
    /// The value of a name before the stretch, and its width in bits.
    Value(SharedName, u8),
    Constant(u64),
    Op(Opcode, [Term; 3]),
    /// A video instruction that has no rewriting, by the number of its program.
    Video(u32, [Term; 3]),
}

/// The values of both sides.
#[derive(Default)]
struct Graph {
    terms: Terms<Node>,
    programs: Vec<Program>,
    videos: Map<(Operation, [Option<Term>; 3]), Term>,
}

impl Graph {
    fn node(&mut self, node: Node) -> Term {
        self.terms.number(node)
    }

    fn not(&mut self, predicate: Term) -> Term {
        let one = self.node(Node::Constant(1));
        self.op(Opcode::Xor, &[predicate, one])
    }

    fn constant(&self, term: Term) -> Option<u64> {
        match self.terms.all()[term as usize] {
            Node::Constant(value) => Some(value),
            _ => None,
        }
    }

    fn op(&mut self, opcode: Opcode, args: &[Term]) -> Term {
        match self.simplified(opcode, args) {
            Ok(term) => term,
            Err(node) => self.node(node),
        }
    }

    /// The term of an operation if it needs no new node; otherwise the new node.
    fn simplified(&mut self, opcode: Opcode, args: &[Term]) -> Result<Term, Node> {
        let zero = self.node(Node::Constant(0));
        let mut all = [zero; 3];
        all[..args.len()].copy_from_slice(args);
        if reads_words(opcode) {
            for arg in &mut all[..args.len()] {
                if let Some(value) = self.constant(*arg) {
                    *arg = self.node(Node::Constant(value & u64::from(u32::MAX)));
                }
            }
        }
        let constants = all.map(|arg| self.constant(arg));
        if let [Some(x), Some(y), Some(z)] = constants {
            return Ok(self.node(Node::Constant(opcode.eval([x, y, z]))));
        }
        // Sums, and products with powers of two, get one normal form.
        let [x, y, z] = all;
        let power = |value: Option<u64>| value.filter(|it| it.is_power_of_two()).map(u64::ilog2);
        match (opcode, constants) {
            (Opcode::Move, _) => return Ok(x),
            (Opcode::Add, _) if x == y => return self.shifted(Opcode::Shl, x, 1),
            (Opcode::Sub, [_, Some(value), _]) => {
                let minus = self.node(Node::Constant(value.wrapping_neg()));
                return self.simplified(Opcode::Add, &[x, minus]);
            }
            (Opcode::Mad, _) => {
                let product = self.op(Opcode::Mul, &[x, y]);
                return self.simplified(Opcode::Add, &[product, z]);
            }
            (Opcode::Mul, [Some(_), ..]) => return self.simplified(opcode, &[y, x]),
            (Opcode::Mul, [_, value, _]) => {
                if let Some(bits) = power(value) {
                    return self.shifted(Opcode::Shl, x, bits);
                }
            }
            (Opcode::Product(ty), [_, value, _]) => {
                // Bit 31 is no power of two in a signed word.
                if let Some(bits) = power(value).filter(|bits| *bits < 31) {
                    let wide = self.op(Opcode::Extend(ty), &[x]);
                    return self.shifted(Opcode::ShlWide, wide, bits);
                }
            }
            _ => {}
        }
        if opcode.commutes() {
            all[..2].sort_unstable();
        }
        Err(Node::Op(opcode, all))
    }

    fn shifted(&mut self, opcode: Opcode, term: Term, bits: u32) -> Result<Term, Node> {
        let bits = self.node(Node::Constant(bits.into()));
        self.simplified(opcode, &[term, bits])
    }

    /// The result of a video instruction. From now on, this term stands for all its rewritings,
    /// too.
    fn video(
        &mut self,
        instruction: &Instruction,
        sources: [Option<Term>; 3],
        rewritings: &mut Rewritings,
    ) -> Term {
        let key = (instruction.anonymous(), sources);
        if let Some(term) = self.videos.get(&key) {
            return *term;
        }
        let zero = self.node(Node::Constant(0));
        let args = sources.map(|source| source.unwrap_or(zero));
        let mut roots = Vec::new();
        for sequence in rewritings.of(instruction) {
            roots.push(self.sequence(sequence, args));
        }
        // A rewriting may be known already: some rewritings use video instructions themselves.
        let known = roots.iter().find_map(|root| match root {
            Ok(term) => Some(*term),
            Err(node) => self.terms.known(node),
        });
        let term = known.unwrap_or_else(|| {
            if let Some(Err(node)) = roots.first() {
                return self.node(*node);
            }
            self.programs.push(instruction.lower(Semantics::CURRENT));
            self.node(Node::Video(self.programs.len() as u32 - 1, args))
        });
        for node in roots.into_iter().filter_map(Result::err) {
            self.terms.join(node, term);
        }
        self.videos.insert(key, term);
        term
    }

    /// The result of a sequence: a term, or the new node that it needs.
    fn sequence(&mut self, sequence: &Sequence, sources: [Term; 3]) -> Result<Term, Node> {
        let mut results: Vec<Term> = Vec::new();
        let lines = sequence.lines();
        for (at, line) in lines.iter().enumerate() {
            let args: Vec<Term> = line
                .args()
                .iter()
                .map(|arg| match *arg {
                    // These sequences read no numbered registers.
                    Arg::Input(Input::A) | Arg::Register(_) => sources[0],
                    Arg::Input(Input::B) => sources[1],
                    Arg::Input(Input::C) => sources[2],
                    Arg::Line(line) => results[usize::from(line)],
                    Arg::Constant(value) => self.node(Node::Constant(value)),
                })
                .collect();
            let result = self.simplified(line.opcode, &args);
            if at + 1 == lines.len() {
                return result;
            }
            results.push(result.unwrap_or_else(|node| self.node(node)));
        }
        Ok(sources[0])
    }

    /// Whether two lists of terms are equal for many values of the names.
    fn is_same(&self, old: &[Term], new: &[Term], budget: &mut usize) -> bool {
        let nodes = self.terms.all();
        let mut samples = Samples::new(nodes);
        let mut values = vec![0u64; nodes.len()];
        for round in 0..TRIED {
            let Some(left) = budget.checked_sub(nodes.len()) else { return false };
            *budget = left;
            for (at, node) in nodes.iter().enumerate() {
                let value = |term: Term| values[term as usize];
                values[at] = match *node {
                    Node::Value(_, 1) => u64::from(samples.next()) & 1,
                    Node::Value(_, 32) => samples.word(round).into(),
                    Node::Value(..) => {
                        u64::from(samples.word(round)) << 32 | u64::from(samples.word(round))
                    }
                    Node::Constant(value) => value,
                    Node::Op(opcode, args) => opcode.eval(args.map(value)),
                    Node::Video(program, args) => {
                        let [a, b, c] = args.map(|arg| value(arg) as u32);
                        self.programs[program as usize].eval(a, b, c).into()
                    }
                };
            }
            if old.iter().zip(new).any(|(old, new)| values[*old as usize] != values[*new as usize])
            {
                return false;
            }
        }
        true
    }
}

struct Samples {
    /// The state of the random numbers. They are the same in each run.
    random: u64,
    /// Words at which results change.
    edges: Vec<u32>,
}

impl Samples {
    fn new(nodes: &[Node]) -> Samples {
        let mut edges = EDGES.to_vec();
        for node in nodes {
            // Comparisons of a word, or of a part of it, with the constant change at these words.
            if let Node::Constant(value) = *node {
                let value = value as u32;
                edges.extend([value, value.wrapping_add(1), value.wrapping_sub(1)]);
                edges.extend([value << 16, value << 24, value & 0xffff_0000]);
                edges.extend([(value & 0xff) * 0x0101_0101, (value & 0xffff) * 0x0001_0001]);
            }
        }
        Samples { random: 0x2545_f491_4f6c_dd1d, edges }
    }

    fn next(&mut self) -> u32 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.random >> 32) as u32
    }

    fn edge(&mut self) -> u32 {
        let at = self.next() as usize % self.edges.len();
        self.edges[at]
    }

    /// Depends on the round: a random word, an edge, either of these, or a word with bytes of two
    /// edges.
    fn word(&mut self, round: usize) -> u32 {
        match round % 4 {
            0 => self.next(),
            2 if self.next().is_multiple_of(2) => self.next(),
            1 | 2 => self.edge(),
            _ => {
                let mask = [0xff, 0xff00, 0xffff, 0x00ff_0000, 0xffff_0000, 0xff00_ff00];
                let mask = mask[self.next() as usize % mask.len()];
                self.edge() & mask | self.edge() & !mask
            }
        }
    }
}

/// Whether an operation reads only words and predicates.
fn reads_words(opcode: Opcode) -> bool {
    opcode.arguments().iter().all(|it| matches!(it, RegisterClass::Word | RegisterClass::Predicate))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each bit of a random word has both values.
    #[test]
    fn random_words_may_be_any_words() {
        let mut samples = Samples::new(&[]);
        let (mut all, mut any) = (u32::MAX, 0);
        for _ in 0..100 {
            let word = samples.next();
            all &= word;
            any |= word;
        }
        assert_eq!((all, any), (0, u32::MAX));
    }

    /// In every fourth round, each byte of a word is that of an edge.
    #[test]
    fn words_may_have_bytes_of_two_edges() {
        let mut samples = Samples { edges: vec![0, u32::MAX], ..Samples::new(&[]) };
        let words: Vec<u32> = (0..100).map(|_| samples.word(3)).collect();
        let has_whole = |word: &u32| word.to_ne_bytes().iter().all(|it| matches!(it, 0 | 0xff));
        assert!(words.iter().all(has_whole), "{words:x?}");
        assert!(words.iter().any(|word| ![0, u32::MAX].contains(word)), "{words:x?}");
    }
}
