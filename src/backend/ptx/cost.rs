//! The costs of instructions and their sequences, in machine instructions of ptxas 13.5, or of 12.9
//! where that is the last release for a target. Loads, stores and the rest of a kernel do not
//! count.
//!
//! `cargo xtask measure-costs` writes `costs.txt`. The first part has a sorted line for each
//! mnemonic with its modifiers. For each class of operands, the line has the number of a row of the
//! last part, `---` if nothing was measured, or nothing if the row is that of the class before. A
//! line whose modifiers end in `@` has the costs with a guard, where they differ; a line whose
//! modifiers end in `=` has the costs of lanes combined with themselves. The second part is the
//! names of the columns, which are targets. A row of the last part has for each column the cost of
//! ptxas' own expansion, the cost of the best sequence, and the strategy of that sequence, such as
//! `23>1@97`; and both costs weighted by throughput if a weighted cost is another number. An empty
//! column has the costs of the column before.

use std::iter;
use std::sync::OnceLock;

use super::opcode::Opcode;
use super::sequence::{Arg, Line, Sequence};
use super::{Gate, Strategy, candidates, constants};
use crate::ir::{Input, Range};
use crate::isa::{Feature, Lanes, Mnemonic, Part, Target};
use crate::source::behind_word;
use crate::video::{
    Arithmetic, Instruction, MadMode, Operation, Register, Semantics, Set, Shift, SimdArithmetic,
    SimdOperands, SimdSet, Source, Tail,
};

/// Machine instructions for a video instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Cost {
    /// Machine instructions that ptxas emits for the video instruction.
    pub ptxas: u32,
    /// Machine instructions that ptxas emits for the best ordinary PTX.
    pub rewritten: u32,
    /// The machine instructions for the video instruction, each weighted by the clocks that it
    /// takes beside a sum: 4 for a count of bits or a conversion, 2 for a product of 64 bits.
    /// At most 99 is recorded.
    pub ptxas_weight: u32,
    /// The machine instructions for the best ordinary PTX, weighted likewise.
    pub rewritten_weight: u32,
    /// The strategy that gives the best ordinary PTX.
    #[doc(hidden)]
    pub strategy: Strategy,
}

impl Cost {
    /// Whether rewriting makes the code smaller, and not slower by weight.
    pub fn is_lower(&self) -> bool {
        self.rewritten < self.ptxas && self.rewritten_weight <= self.ptxas_weight
    }

    /// Machine instructions of what is written: the ordinary PTX if that is cheaper, else the
    /// instruction.
    pub(crate) fn written(&self) -> u32 {
        if self.is_lower() { self.rewritten } else { self.ptxas }
    }
}

/// The parts of `costs.txt`. They own no memory: tools that look for leaks in the C library would
/// report memory that is never freed.
struct Table {
    /// The lines of the first part.
    heads: &'static str,
    /// The last part, after the names of the columns.
    rows: &'static str,
    /// Where each [`STEP`]th row starts.
    starts: [u32; 512],
}

const STEP: usize = 16;

static TABLE: OnceLock<Table> = OnceLock::new();

/// Hands in the text of `costs.txt`, once. Before that, no costs are known. Returns whether the
/// text may be that one.
#[doc(hidden)]
#[cfg(all(feature = "costs-apart", target_family = "wasm"))]
pub fn load_costs(text: String) -> bool {
    let is_table = text.contains("\n\n");
    if is_table {
        TABLE.get_or_init(|| Table::of(text.leak()));
    }
    is_table
}

impl Table {
    /// The table, or `None` before it is handed in.
    fn get() -> Option<&'static Table> {
        #[cfg(not(all(feature = "costs-apart", target_family = "wasm")))]
        TABLE.get_or_init(|| Table::of(include_str!("costs.txt")));
        TABLE.get()
    }

    fn of(text: &'static str) -> Table {
        let (heads, rest) = text.split_once("\n\n").unwrap_or_default();
        let (_, rows) = rest.split_once('\n').unwrap_or_default();
        let ends = memchr::memchr_iter(b'\n', rows.as_bytes()).map(|end| end as u32 + 1);
        let mut starts = [0; 512];
        for (start, end) in starts[1..].iter_mut().zip(ends.skip(STEP - 1).step_by(STEP)) {
            *start = end;
        }
        Table { heads, rows, starts }
    }

    fn row(&self, number: usize) -> Option<&'static str> {
        let rows = &self.rows[*self.starts.get(number / STEP)? as usize..];
        let mut ends = memchr::memchr_iter(b'\n', rows.as_bytes());
        let start = match number % STEP {
            0 => 0,
            before => ends.nth(before - 1)? + 1,
        };
        Some(&rows[start..ends.next().unwrap_or(rows.len())])
    }
}

/// The column of a target.
fn column_of(target: Target) -> Option<usize> {
    let measured = target.costs()?;
    Target::measured().iter().position(|own| *own == measured)
}

impl Instruction {
    /// The cost of the instruction on a target in the semantics of ptxas 13, and the cost of its
    /// best sequence. Instructions with constants cost at most as much as with registers. A guard
    /// changes the cost little. Where a guard makes the sequence longer than the instruction,
    /// instructions with a guard have costs of their own. `None` where nothing was measured: before
    /// `sm_50`, on `sm_62` and `sm_72`; for scalar extrema of a word with itself; and for SIMD that
    /// combines lanes with themselves, if it has a guard or, except on `sm_120f`, selectors. Before
    /// `sm_75`, also `None` for scalar instructions that the GPU executes, and for those whose
    /// results depend on the release of ptxas.
    pub fn cost(&self, target: Target) -> Option<Cost> {
        let measured = self.measured_cost(target)?;
        if is_native(self, target) {
            return None;
        }
        let is_certain = target.has(Feature::Ptxas13)
            || self.simd().is_some()
            || self.is_current(Semantics::Ptxas12);
        is_certain.then_some(measured)
    }

    /// The cost in the table, whatever semantics ptxas has on the target.
    #[doc(hidden)]
    pub fn measured_cost(&self, target: Target) -> Option<Cost> {
        let table = Table::get()?;
        if is_folded(self) {
            return None;
        }
        let column = column_of(target)?;
        let (head, cell) = class(self);
        let heads = table.heads;
        let guarded = || behind_word(heads, &format!("{head}@"));
        let line =
            self.guard.as_ref().and_then(|_| guarded()).or_else(|| behind_word(heads, &head))?;
        let codes = line.get(1..)?;
        let (code, _) = last_of(codes, cell).filter(|(_, at)| *at == cell)?;
        let row = table.row(usize::from_str_radix(code, 36).ok()?)?;
        read_cell(last_of(row, column)?.0)
    }
}

/// In a list separated by semicolons: the last text that is not empty at this index or before it,
/// and the last index that the list has up to this one.
fn last_of(texts: &str, place: usize) -> Option<(&str, usize)> {
    let ends = memchr::memchr_iter(b';', texts.as_bytes()).chain([texts.len()]);
    let (mut start, mut found, mut last) = (0, None, 0);
    for (at, end) in ends.enumerate().take(place + 1) {
        found = Some(&texts[start..end]).filter(|it| !it.is_empty()).or(found);
        (start, last) = (end + 1, at);
    }
    Some((found?, last))
}

/// Reads costs such as `12>5@64` or, with weights, `12>5@64 15>5`.
fn read_cell(text: &str) -> Option<Cost> {
    let pair = |text: &str| {
        let (own, best) = text.split_once('>')?;
        Some((own.parse().ok()?, best.parse().ok()?))
    };
    let (counts, strategy) = text.split_once('@')?;
    let (strategy, weights) = strategy.split_once(' ').unwrap_or((strategy, counts));
    let ((ptxas, rewritten), (ptxas_weight, rewritten_weight)) = (pair(counts)?, pair(weights)?);
    let strategy = Strategy::from_number(strategy.parse().ok()?)?;
    Some(Cost { ptxas, rewritten, ptxas_weight, rewritten_weight, strategy })
}

/// Whether the GPU itself executes an instruction.
pub(super) fn is_native(instruction: &Instruction, target: Target) -> bool {
    instruction.simd().is_none() && target.has(Feature::NativeScalars)
}

/// Whether both sources are one register and ptxas may then emit less code than was measured. ptxas
/// folds minima and maxima of a word with itself, and, with a guard, some results of lanes combined
/// with themselves.
fn is_folded(instruction: &Instruction) -> bool {
    match &instruction.operation {
        Operation::Arithmetic(it) => {
            let extremum = matches!(instruction.mnemonic(), Mnemonic::Vmin | Mnemonic::Vmax);
            let (a, b) = (&it.operands.a, &it.operands.b);
            extremum && a == b && matches!(a, Source::Register { part: None, .. })
        }
        operation => {
            instruction.guard.is_some() && operation.simd().is_some_and(|it| twice(it) > 0)
        }
    }
}

/// How many lanes of one register are combined with themselves.
fn twice(operands: &SimdOperands) -> usize {
    let lanes = operands.lanes.width().lanes() as u8;
    let same = |(_, a, b): &(_, u8, u8)| a % lanes == b % lanes;
    if operands.a == operands.b { operands.lanes.written().filter(same).count() } else { 0 }
}

/// The line and the column of an instruction in the table. Selections of one width
/// differ if they are the lowest part of a word, the highest, or another one. The lanes
/// of SIMD selectors matter as far as lanes have the same operands.
pub fn class(instruction: &Instruction) -> (String, usize) {
    let mut head = instruction.mnemonic().text().to_owned();
    for slot in instruction.form().slots {
        if let Some(modifier) = instruction.modifier(slot.role) {
            head.push_str(modifier.text());
        }
    }
    let place = |source: &Source| match source {
        Source::Register { part: Some(Part::B0), .. } => 1,
        Source::Register { part: Some(Part::B1 | Part::B2), .. } => 2,
        Source::Register { part: Some(Part::B3), .. } => 3,
        Source::Register { part: Some(Part::H0), .. } => 4,
        Source::Register { part: Some(Part::H1), .. } => 5,
        Source::Register { part: None, .. } | Source::Immediate(_) => 0,
    };
    let scalar = |a: &Source, b: &Source| 6 * place(a) + place(b);
    let cell = match &instruction.operation {
        Operation::Arithmetic(Arithmetic { operands, .. })
        | Operation::Shift(Shift { operands, .. })
        | Operation::Set(Set { operands, .. }) => {
            head.push_str(match operands.tail {
                Tail::Merge { part, .. } if part.width() == 8 => ":b",
                Tail::Merge { .. } => ":h",
                Tail::Word | Tail::Secondary { .. } => "",
            });
            scalar(&operands.a, &operands.b)
        }
        Operation::MultiplyAdd(it) => {
            let parts = it.parts();
            head.push_str(match parts.mode {
                MadMode::NegateA => ":-a",
                MadMode::NegateB => ":-b",
                MadMode::NegateC => ":-c",
                MadMode::Plain | MadMode::PlusOne => "",
            });
            scalar(&parts.a, &parts.b)
        }
        Operation::SimdArithmetic(SimdArithmetic { operands, .. })
        | Operation::SimdSet(SimdSet { operands, .. }) => {
            if twice(operands) > 0 {
                head.push('=');
            }
            simd(operands)
        }
    };
    (head, cell)
}

/// The kinds of selectors that SIMD instructions with equally many lanes may have.
#[doc(hidden)]
pub const KINDS: usize = 7;

/// The column, by the number of lanes in the mask and the kind of the selectors: 0 if none is
/// written, 1 if all lanes differ. If some lanes are alike, or both sources are one register, the
/// kind is 2 plus the number of different lanes that combine two different operands. If lanes are
/// combined with themselves, it is the number of these lanes, or 0 if no selector is written.
fn simd(operands: &SimdOperands) -> usize {
    let width = operands.lanes.width();
    let (lanes, one) = (width.lanes() as u8, operands.a == operands.b);
    let default = Lanes::all(width);
    let is_default = operands.lanes.a() == default.a() && operands.lanes.b() == default.b();
    let twice = twice(operands);
    if twice > 0 {
        let count = operands.lanes.written().count();
        return KINDS * (count - 1) + if is_default { 0 } else { twice };
    }
    let mut count = 0;
    let mut different: Vec<(u8, u8)> = Vec::new();
    for (_, a, b) in operands.lanes.written() {
        count += 1;
        // Within one register, the order of lanes does not count either: ptxas may know that.
        let pair = if one { ordered(a % lanes, b % lanes) } else { (a, b) };
        if pair.0 != pair.1 && !different.contains(&pair) {
            different.push(pair);
        }
    }
    let kind = match different.len() {
        different if different < count || one => 2 + different,
        _ => usize::from(!is_default),
    };
    KINDS * (count - 1) + kind
}

fn ordered(x: u8, y: u8) -> (u8, u8) {
    (x.min(y), x.max(y))
}

/// An estimate must be below ptxas' own cost by more than this.
const MARGIN: u32 = 2;

/// The approximate cost of a sequence that was not measured.
fn estimate(sequence: &Sequence, target: Target) -> u32 {
    sequence.lines().iter().map(|line| line.opcode.facts().cost(target)).sum()
}

/// The machine instructions of a sum of products, each as heavy as a sum. A constant in a dot
/// product is moved into a register first.
pub(super) fn products(sequence: &Sequence) -> u32 {
    let of = |line: &Line| {
        let constants = line.args().iter().filter(|arg| matches!(arg, Arg::Constant(_))).count();
        1 + if line.opcode.is_dot() { constants as u32 } else { 0 }
    };
    sequence.lines().iter().map(of).sum()
}

/// What a sequence is for.
#[derive(Clone, Copy)]
pub(crate) struct Aim {
    pub(crate) target: Target,
    pub(crate) semantics: Semantics,
    /// The instructions that the sequence may have.
    pub(crate) gate: Gate,
}

impl Aim {
    /// For a text of a target, whatever its PTX version.
    pub(crate) fn of(target: Target, semantics: Semantics) -> Aim {
        Aim { target, semantics, gate: Gate::new(target, None) }
    }

    fn sequence(self, strategy: Strategy, instruction: &Instruction) -> Option<Sequence> {
        strategy.sequence(instruction, self.semantics, self.gate)
    }

    /// The measured best sequence, if the gate admits it and it computes what the semantics asks
    /// for.
    fn best(self, instruction: &Instruction, cost: Cost) -> Option<Sequence> {
        let meant = instruction.is_current(self.semantics);
        if meant { self.sequence(cost.strategy, instruction) } else { None }
    }
}

/// The facts about the place of an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Context {
    /// The ranges of its sources, as far as they are known.
    pub(super) ranges: [Option<Range>; 3],
    /// How many instructions share what is computed from `b` alone, this instruction included.
    /// Before a loop, its assumed iterations share it.
    pub(super) sharing: u32,
}

/// The sequence for an instruction with constants, in a context, if it is shorter than
/// `on_registers`, the sequence for any values in registers.
pub(super) fn on_known(
    instruction: &Instruction,
    context: Context,
    on_registers: &Sequence,
    aim: Aim,
) -> Option<Sequence> {
    let (target, Context { ranges, sharing }) = (aim.target, context);
    let constant = on_registers.with_constants(constants(&instruction.operation));
    let free = |line: &Line| {
        let facts = line.opcode.facts();
        if facts.joins_sums { facts.cost(target) } else { 0 }
    };
    let free: u32 = constant.lines().iter().map(free).sum();
    let own = instruction.cost(target)?.strategy;
    if ranges == [None; 3] && sharing == 1 {
        let best = aim.sequence(own, instruction)?;
        let least = estimate(&constant, target).saturating_sub(free);
        let is_shorter = best == constant || estimate(&best, target) < least;
        return (is_shorter && moved_constants(&best) == 0).then_some(best);
    }
    // The steps of all instructions that compute the same from `b`.
    let steps = |sequence: &Sequence| {
        // The estimate of a dot product includes 1 for a constant.
        let is_dear = target.has(Feature::DotOfRegisters);
        let dots = sequence.lines().iter().filter(|line| is_dear && line.opcode.is_dot());
        let all = estimate(sequence, target) - dots.count() as u32 + moved_constants(sequence);
        (sharing * all).saturating_sub((sharing - 1) * cost_of_b(sequence, target))
    };
    // Only ranges may make it shorter: its estimate must be below all estimates without ranges.
    let mut least = steps(&constant).saturating_sub(sharing * free);
    let mut found: Option<(u32, Sequence)> = None;
    let is_simd = instruction.simd().is_some();
    let others = if is_simd { 0 } else { usize::MAX };
    for strategy in iter::once(own).chain(Strategy::words().take(others)) {
        let any = aim.sequence(strategy, instruction);
        least = any.iter().map(steps).fold(least, u32::min);
        let strategy = if sharing > 1 { strategy.sharing(is_simd) } else { strategy };
        let best = strategy.sequence_within(instruction, ranges, aim.semantics, aim.gate);
        let best = best.filter(|best| any.as_ref() != Some(best)).map(|best| (steps(&best), best));
        if let Some((count, best)) = best
            && found.as_ref().is_none_or(|(least, _)| count < *least)
        {
            found = Some((count, best));
        }
    }
    found.filter(|(count, _)| *count < least).map(|(_, best)| best)
}

/// The cost of the lines that depend on `b` only.
fn cost_of_b(sequence: &Sequence, target: Target) -> u32 {
    let mut depend: Vec<bool> = Vec::new();
    for line in sequence.lines() {
        depend.push(line.args().iter().all(|arg| match *arg {
            Arg::Input(input) => input == Input::B,
            Arg::Line(at) => depend[usize::from(at)],
            Arg::Constant(_) => true,
            Arg::Register(_) => false,
        }));
    }
    let own = sequence.lines().iter().zip(depend).filter(|(_, depends)| *depends);
    own.map(|(line, _)| line.opcode.facts().cost(target)).sum()
}

/// The most machine instructions that ptxas was seen to save by taking a constant `c` as it is.
const UNMOVED: u32 = 3;

/// Whether a sequence for a shift moves a constant `c` into a register, to shift it, so that the
/// sequence may not be shorter. On targets that compute an extremum of 64 bits, ptxas' own expansion
/// takes the constant as it is.
fn shifts_constant(sequence: &Sequence, cost: Cost, target: Target) -> bool {
    let is_funnel =
        |line: &&Line| matches!(line.opcode, Opcode::FunnelLeftWrap | Opcode::FunnelRightWrap);
    let mut shifts = sequence.lines().iter().filter(is_funnel);
    target.has(Feature::WideExtrema)
        && cost.rewritten + UNMOVED >= cost.ptxas
        && shifts.any(|line| line.args()[..2].iter().any(|it| matches!(it, Arg::Constant(1..))))
}

/// How many constants of a sequence ptxas may move into registers first. Most instructions on words
/// take at most one constant, and other instructions take none.
fn moved_constants(sequence: &Sequence) -> u32 {
    let of = |line: &Line| {
        let constants = line.args().iter().filter(|arg| matches!(arg, Arg::Constant(1..)));
        let taken = usize::from(!line.opcode.facts().moves_constants);
        constants.count().saturating_sub(taken) as u32
    };
    sequence.lines().iter().map(of).sum()
}

/// The measured costs of an instruction. A text whose `.version` lacks instructions of its target
/// can also have the sequence for the plain target, which compiles alike.
fn costs(instruction: &Instruction, target: Target) -> impl Iterator<Item = Cost> {
    let own = instruction.cost(target);
    let plain = Target::sm(target.number);
    let is_other = target.costs() != plain.costs();
    let older = is_other.then(|| instruction.cost(plain)).flatten();
    let older = older.zip(own).map(|(older, own)| Cost {
        ptxas: own.ptxas,
        ptxas_weight: own.ptxas_weight,
        ..older
    });
    own.into_iter().chain(older)
}

/// The measured best sequence, although ptxas' own expansion is as cheap.
pub(super) fn measured_best(instruction: &Instruction, aim: Aim) -> Option<Sequence> {
    costs(instruction, aim.target).find_map(|cost| aim.best(instruction, cost))
}

/// The cheapest sequence that the gate admits and that has no video instructions: the
/// measured one if there is one, otherwise the one with the lowest estimate.
pub(crate) fn cheapest(instruction: &Instruction, aim: Aim) -> Option<Sequence> {
    measured_best(instruction, aim).filter(Sequence::is_ordinary).or_else(|| {
        let all = candidates(instruction, aim.semantics, aim.gate).into_iter();
        all.map(|(_, sequence)| sequence)
            .filter(Sequence::is_ordinary)
            .min_by_key(|sequence| estimate(sequence, aim.target))
    })
}

/// A sequence that is cheaper than ptxas' own expansion of an instruction. It may
/// contain unsigned `vabsdiff4`, which is a video instruction itself.
pub(super) fn cheaper(instruction: &Instruction, aim: Aim) -> Option<Sequence> {
    let target = aim.target;
    let mut all = costs(instruction, target).peekable();
    let Some(&cost) = all.peek() else {
        return cheaper_on_one(instruction, aim);
    };
    if !cost.is_lower() {
        return None;
    }
    let all = all.filter(Cost::is_lower);
    let measured = all.filter_map(|cost| Some((cost, aim.best(instruction, cost)?)));
    let mut measured = measured.filter(|(cost, it)| !shifts_constant(it, *cost, target));
    measured.next().map(|(_, sequence)| sequence).or_else(|| {
        // An estimate must be well below the cost, because estimates are uncertain.
        let sequence = cheapest(instruction, aim)?;
        (estimate(&sequence, target) + MARGIN < cost.ptxas).then_some(sequence)
    })
}

/// A sequence for a SIMD instruction on one register that combines different lanes of it. Only
/// instructions on two registers were measured. ptxas takes each lane out of a register once, so on
/// one register it may save an instruction for each lane of both sources.
fn cheaper_on_one(instruction: &Instruction, aim: Aim) -> Option<Sequence> {
    let mut on_two = instruction.clone();
    let (Operation::SimdArithmetic(SimdArithmetic { operands, .. })
    | Operation::SimdSet(SimdSet { operands, .. })) = &mut on_two.operation
    else {
        return None;
    };
    if operands.a != operands.b || twice(operands) > 0 {
        return None;
    }
    operands.b = Register::new(&format!("{}_", operands.b))?;
    let saved = 2 * operands.lanes.written().count() as u32 + MARGIN;
    let mut lower = costs(&on_two, aim.target).filter(|cost| {
        cost.rewritten + saved < cost.ptxas && cost.rewritten_weight + saved < cost.ptxas_weight
    });
    lower.find_map(|cost| aim.best(instruction, cost))
}

/// A sequence that the gate admits and that is cheaper than ptxas' own expansion on
/// each of the targets.
pub(crate) fn cheaper_on_all(
    instruction: &Instruction,
    targets: &[Target],
    gate: Gate,
) -> Option<Sequence> {
    let aim = |target: Target| Aim { target, semantics: Semantics::CURRENT, gate };
    let is_cheaper = |sequence: &Sequence, target: Target| {
        costs(instruction, target).filter(Cost::is_lower).any(|cost| {
            aim(target).best(instruction, cost).as_ref() == Some(sequence)
                || estimate(sequence, target) + MARGIN < cost.ptxas
        })
    };
    let estimate_on_all =
        |sequence: &Sequence| targets.iter().map(|&it| estimate(sequence, it)).sum::<u32>();
    targets
        .iter()
        .filter_map(|&target| cheaper(instruction, aim(target)))
        .filter(|sequence| targets.iter().all(|&target| is_cheaper(sequence, target)))
        .min_by_key(estimate_on_all)
}

/// The cost of an instruction and of this sequence, if that pair was measured: the
/// best sequence, without constants.
pub(crate) fn cost_of(
    instruction: &Instruction,
    sequence: &Sequence,
    target: Target,
    semantics: Semantics,
) -> Option<Cost> {
    if instruction.has_constants() {
        return None;
    }
    let aim = Aim::of(target, semantics);
    costs(instruction, target).find(|cost| aim.best(instruction, *cost).as_ref() == Some(sequence))
}

/// Whether an instruction should stay rather than become this sequence, which computes
/// the same under ptxas 13.
pub(crate) fn is_better_kept(
    instruction: &Instruction,
    sequence: &Sequence,
    target: Target,
    semantics: Semantics,
) -> bool {
    let Some(cost) = instruction.cost(target) else { return false };
    if !instruction.is_current(semantics) || instruction.loses_guard() {
        return false;
    }
    match cheaper(instruction, Aim::of(target, semantics)) {
        None => true,
        // The cheaper sequence is not written: it has a video instruction.
        Some(cheaper) => cheaper != *sequence && estimate(sequence, target) + MARGIN >= cost.ptxas,
    }
}
