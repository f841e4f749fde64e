//! Basic blocks, and what flows along their edges.

use std::iter;
use std::mem;
use std::ops::{Deref, Range};
use std::sync::OnceLock;

use super::dominators::{Dominators, Loop, loops};
use super::effects::{self, accesses};
use super::{Access, NameAccess, Reaching};
use crate::hash::{Map, Set};
use crate::names::{Meaning, Names, SymbolId, Use};
use crate::source::Span;
use crate::syntax::{DirectiveKind, Function, Instruction, OperandKind, Statement, StatementKind};

/// The control flow and the data flow of a function with a body: its [`Graph`], and the
/// instructions that the graph numbers.
#[derive(Debug)]
pub struct Flow<'t> {
    function: Function<'t>,
    statements: Vec<Statement<'t>>,
    graph: Graph,
}

/// The blocks, edges, definitions and uses of a function, by the numbers of its instructions. The
/// graph may outlive the tree.
#[derive(Debug)]
pub struct Graph {
    accesses: Vec<NameAccess>,
    /// The index of the first access of each instruction; at the end, the number of accesses.
    starts: Vec<u32>,
    /// The instruction of each access.
    instructions: Vec<u32>,
    /// The indices of the accesses, sorted by meaning and by place. Of several accesses of an
    /// instruction to one name, the first stands for all.
    by_meaning: Vec<u32>,
    /// The indices of the accesses that write, in the same order. A register may have one definition
    /// and thousands of readers.
    writes: Vec<u32>,
    blocks: Vec<Block>,
    reachable: Vec<bool>,
    /// The blocks that end with a branch to unknown targets.
    guesses: Vec<usize>,
    /// The registers that the caller may read after the function.
    results: Set<Meaning>,
    dominators: OnceLock<Dominators>,
    loops: OnceLock<Vec<Loop>>,
}

/// A basic block: instructions that run one after the other, from the first to the last.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Block {
    /// The numbers of the block's instructions. Empty for a label at the end of the function, and
    /// for the block between branches with unknown targets and all labels.
    pub instructions: Range<usize>,
    /// The blocks that may run next: first the one that follows in the text. A block behind which
    /// the function may end has some, too, if its last instruction has a guard predicate.
    pub successors: Vec<usize>,
    /// The blocks that may have run before.
    pub predecessors: Vec<usize>,
    /// Whether the function may end behind the block: by `ret`, `exit`, `trap` or a call that never
    /// returns, or because its text ends.
    pub may_end: bool,
    /// Whether the function may return to its caller behind the block: by `ret`, or because its
    /// text ends.
    pub may_return: bool,
}

/// How many targets of branches are followed for each instruction of a function, on average. The
/// targets of later branches count as unknown.
const EDGES: usize = 64;

/// The most accesses of calls to registers that the module declares.
const SHARED: usize = 1 << 20;

/// What an instruction does with one name.
#[derive(Clone, Copy, Default)]
pub(super) struct Effect {
    pub(super) reads: bool,
    pub(super) writes: bool,
    /// Whether the instruction writes the name in any case, not only under a guard.
    pub(super) defines: bool,
}

impl<'t> Flow<'t> {
    /// Reads the flow of a function. `None` if it has no body.
    ///
    /// Old versions of PTX let a module declare registers outside of functions. Every call reads
    /// and writes them, and the caller reads them. `None`, too, if a function has more than a
    /// million pairs of such a register and a call.
    ///
    /// `names` must come from the same tree.
    pub fn of(function: &Function<'t>, names: &Names) -> Option<Flow<'t>> {
        let body = function.body()?;
        let mut builder = Builder::new(names);
        let results = function.results().filter_map(|it| Some(it.name()?.name()));
        builder.next_use = names.uses().partition_point(|it| it.span().start < body.span().start);
        builder.results = results.filter_map(|name| builder.meaning(name)).collect();
        body.descendants().for_each(|statement| builder.read(statement));
        builder.share_registers()?;
        Some(builder.finish(*function))
    }

    /// The function.
    pub fn function(&self) -> Function<'t> {
        self.function
    }

    /// The function's instructions, in the order of the text.
    pub fn statements(&self) -> &[Statement<'t>] {
        &self.statements
    }

    /// An instruction.
    ///
    /// # Panics
    /// If there is no such instruction.
    pub fn instruction(&self, number: usize) -> Instruction<'t> {
        instruction(self.statements[number])
    }

    /// Whether the manual has the opcode of an instruction. An instruction whose opcode it does not
    /// have counts as reading and writing every name in its operands.
    ///
    /// # Panics
    /// If there is no such instruction.
    pub fn is_known(&self, number: usize) -> bool {
        effects::is_known(self.function.statement().tree().source(), &self.instruction(number))
    }

    /// The registers, and the parameters in registers, that are live at the end of each block: the
    /// answers of [`Graph::is_live_after`] behind the last instruction.
    ///
    /// Takes time and memory in proportion to the edges and blocks in all live ranges. To know what
    /// is live inside of a block, go through its [accesses](Graph::accesses) backwards.
    ///
    /// `names` must come from the same tree.
    pub fn live_out(&self, names: &Names) -> Vec<Vec<Meaning>> {
        let mut live: Vec<Vec<Meaning>> = vec![Vec::new(); self.blocks.len()];
        let source = self.function.statement().tree().source();
        let meaning_of = |number: &u32| self.accesses[*number as usize].meaning;
        let groups = self.by_meaning.chunk_by(|a, b| meaning_of(a) == meaning_of(b));
        let is_unused = |it: &&Meaning| self.instructions_with(**it).next().is_none();
        let mut returned: Vec<Meaning> = self.results.iter().filter(is_unused).copied().collect();
        returned.sort_unstable_by_key(|it| it.index());
        for meaning in groups.map(|accesses| meaning_of(&accesses[0])).chain(returned) {
            let symbol = names.symbol(meaning.symbol());
            if !symbol.is_register(source) {
                continue;
            }
            // For each block that uses the register: whether it reads the value from before, and
            // whether it overwrites that.
            let mut uses: Map<usize, (bool, bool)> = Map::default();
            for at in self.instructions_with(meaning) {
                let effect = self.effect(at, meaning);
                let (reads, defines) = uses.entry(self.block_of(at)).or_default();
                *reads |= effect.reads && !*defines;
                *defines |= effect.defines;
            }
            let passes = |block: usize| uses.get(&block).is_none_or(|(_, defines)| !defines);
            let mut open: Vec<usize> =
                uses.iter().filter(|(_, (reads, _))| *reads).map(|(block, _)| *block).collect();
            if self.results.contains(&meaning) {
                for block in (0..live.len()).filter(|block| self.blocks[*block].may_return) {
                    live[block].push(meaning);
                    open.extend(passes(block).then_some(block));
                }
            }
            while let Some(block) = open.pop() {
                for &before in &self.blocks[block].predecessors {
                    if live[before].last() != Some(&meaning) {
                        live[before].push(meaning);
                        open.extend(passes(before).then_some(before));
                    }
                }
            }
        }
        live
    }

    /// The graph, without the instructions' text.
    pub fn into_graph(self) -> Graph {
        self.graph
    }
}

impl Deref for Flow<'_> {
    type Target = Graph;

    fn deref(&self) -> &Graph {
        &self.graph
    }
}

impl Graph {
    /// The number of instructions.
    pub fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// Whether the function has no instructions.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The basic blocks, in the order of the text. The function starts in the first one.
    pub fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// The index of the block that contains an instruction.
    ///
    /// # Panics
    /// If there is no such instruction.
    pub fn block_of(&self, instruction: usize) -> usize {
        assert!(instruction < self.len(), "the function has no such instruction");
        self.blocks.partition_point(|block| block.instructions.end <= instruction)
    }

    /// Whether the function has a branch with unknown targets: over an undeclared table, or to a
    /// missing label. Such a branch leads to one more block, without instructions, behind all
    /// others, and that block leads to every label. If the tables of a function have far more
    /// targets than the function has instructions, the targets of branches over tables count as
    /// unknown, too.
    pub fn is_opaque(&self) -> bool {
        !self.guesses.is_empty()
    }

    /// The block between branches with unknown targets and all labels.
    pub(crate) fn between_guesses(&self) -> Option<usize> {
        self.is_opaque().then(|| self.blocks.len() - 1)
    }

    /// Whether some path from the start of the function leads to a block.
    ///
    /// # Panics
    /// If there is no such block.
    pub fn is_reachable(&self, block: usize) -> bool {
        self.reachable[block]
    }

    /// The dominators of the function's blocks.
    pub fn dominators(&self) -> &Dominators {
        self.dominators.get_or_init(|| Dominators::of(&self.blocks))
    }

    /// The function's natural loops. An outer loop stands before the loops inside of it.
    pub fn loops(&self) -> &[Loop] {
        self.loops.get_or_init(|| loops(&self.blocks, self.dominators()))
    }

    /// The declared names that an instruction uses, in the order of the text. Special registers,
    /// such as `%tid`, are left out: the syntax tree has
    /// [all names](crate::syntax::Instruction::names). Accesses say nothing about memory, nor about
    /// the carry flag, which `add.cc` writes and `addc` reads.
    ///
    /// # Panics
    /// If there is no such instruction.
    pub fn accesses(&self, instruction: usize) -> &[NameAccess] {
        let [start, end] = [0, 1].map(|more| self.starts[instruction + more] as usize);
        &self.accesses[start..end]
    }

    /// The instructions that use a name, in the order of the text.
    pub fn instructions_with(&self, meaning: Meaning) -> impl Iterator<Item = usize> {
        self.with_meaning(meaning, &self.by_meaning)
            .iter()
            .map(|number| self.instruction_of(*number))
    }

    /// Whether an instruction may leave its block for another place than the next instruction.
    pub(crate) fn may_jump(&self, instruction: usize) -> bool {
        let number = self.block_of(instruction);
        let block = &self.blocks[number];
        block.instructions.end == instruction + 1
            && (block.may_end || block.successors != [number + 1])
    }

    /// The definitions whose values a register may hold just before an instruction runs. Each call
    /// searches the graph. Definitions that no path from the start reaches are left out; if none
    /// reaches the instruction itself, only those in its own block are there.
    ///
    /// # Panics
    /// If there is no such instruction.
    pub fn definitions_reaching(&self, instruction: usize, meaning: Meaning) -> Reaching {
        self.definitions_within(usize::MAX, instruction, meaning).unwrap_or_default()
    }

    /// Like [`Graph::definitions_reaching`]. `None` if the search passes more than `most` blocks or
    /// finds more than `most` definitions.
    pub(crate) fn definitions_within(
        &self,
        most: usize,
        instruction: usize,
        meaning: Meaning,
    ) -> Option<Reaching> {
        let writes = self.with_meaning(meaning, &self.writes);
        let mut found = Reaching::default();
        let block = self.block_of(instruction);
        let mut seen = Set::default();
        let mut open = vec![(block, self.blocks[block].instructions.start..instruction)];
        while let Some((block, range)) = open.pop() {
            let mut is_defined = false;
            for at in self.within(&range, writes).rev() {
                found.instructions.push(at);
                if self.effect(at, meaning).defines {
                    is_defined = true;
                    break;
                }
                if found.instructions.len() > most {
                    return None;
                }
            }
            if is_defined {
                continue;
            }
            found.may_be_undefined |= block == 0;
            for &before in &self.blocks[block].predecessors {
                if self.reachable[before] && seen.insert(before) {
                    open.push((before, self.blocks[before].instructions.clone()));
                }
                if seen.len() > most {
                    return None;
                }
            }
        }
        found.instructions.sort_unstable();
        found.instructions.dedup();
        Some(found)
    }

    /// The instructions that may read the value that an instruction writes to a register.
    /// [`Graph::len`] in the list stands for the caller, who reads the registers that the function
    /// returns. An instruction that no path reaches has readers as if it ran. Each call searches the
    /// graph.
    ///
    /// # Panics
    /// If there is no such instruction.
    pub fn readers_of(&self, instruction: usize, meaning: Meaning) -> Vec<usize> {
        self.readers_within(usize::MAX, instruction, meaning).unwrap_or_default()
    }

    /// Like [`Graph::readers_of`]. `None` if the search passes more than `blocks` blocks.
    pub(crate) fn readers_within(
        &self,
        blocks: usize,
        instruction: usize,
        meaning: Meaning,
    ) -> Option<Vec<usize>> {
        let mut readers = Vec::new();
        self.search_readers(blocks, instruction, meaning, |reader| {
            readers.push(reader);
            true
        })?;
        readers.sort_unstable();
        readers.dedup();
        Some(readers)
    }

    /// The only reader of the value that an instruction writes to a register, as in
    /// [`Graph::readers_of`]. `None` if there is no reader or more than one, if the register has
    /// more than `most` uses, or if the search passes more than `most` blocks.
    pub(crate) fn only_reader(
        &self,
        most: usize,
        instruction: usize,
        meaning: Meaning,
    ) -> Option<usize> {
        if self.with_meaning(meaning, &self.by_meaning).len() > most {
            return None;
        }
        let (mut first, mut is_only) = (None, true);
        self.search_readers(most, instruction, meaning, |reader| {
            is_only = *first.get_or_insert(reader) == reader;
            is_only
        })?;
        first.filter(|_| is_only)
    }

    /// Whether some instruction, or the caller, may read the value that a register has after an
    /// instruction. This holds for instructions that no path reaches as if they ran. Each call
    /// searches the graph: [`Flow::live_out`] answers for all registers.
    ///
    /// # Panics
    /// If there is no such instruction.
    pub fn is_live_after(&self, instruction: usize, meaning: Meaning) -> bool {
        let mut is_live = false;
        self.search_readers(usize::MAX, instruction, meaning, |_| {
            is_live = true;
            false
        });
        is_live
    }

    /// Hands the readers of a value to `found` until it returns false. `None` if the search passes
    /// more than `blocks` blocks.
    fn search_readers(
        &self,
        blocks: usize,
        instruction: usize,
        meaning: Meaning,
        mut found: impl FnMut(usize) -> bool,
    ) -> Option<()> {
        let accesses = self.with_meaning(meaning, &self.by_meaning);
        let block = self.block_of(instruction);
        let mut seen = Set::default();
        let mut open = vec![(block, instruction + 1..self.blocks[block].instructions.end)];
        while let Some((block, range)) = open.pop() {
            let mut is_defined = false;
            for at in self.within(&range, accesses) {
                let effect = self.effect(at, meaning);
                if effect.reads && !found(at) {
                    return Some(());
                }
                if effect.defines {
                    is_defined = true;
                    break;
                }
            }
            if is_defined {
                continue;
            }
            if self.blocks[block].may_return
                && self.results.contains(&meaning)
                && !found(self.len())
            {
                return Some(());
            }
            for &next in &self.blocks[block].successors {
                if seen.insert(next) {
                    open.push((next, self.blocks[next].instructions.clone()));
                }
                if seen.len() > blocks {
                    return None;
                }
            }
        }
        Some(())
    }

    /// The accesses with a meaning, among accesses sorted by meaning.
    fn with_meaning<'g>(&self, meaning: Meaning, accesses: &'g [u32]) -> &'g [u32] {
        let index = |number: &u32| self.accesses[*number as usize].meaning.index();
        let start = accesses.partition_point(|it| index(it) < meaning.index());
        let rest = &accesses[start..];
        &rest[..rest.partition_point(|it| index(it) == meaning.index())]
    }

    /// The instructions in a range that have some of these accesses to one name.
    fn within(
        &self,
        range: &Range<usize>,
        accesses: &[u32],
    ) -> impl DoubleEndedIterator<Item = usize> {
        let [start, end] = [range.start, range.end].map(|bound| {
            let bound = self.starts[bound];
            accesses.partition_point(|number| *number < bound)
        });
        accesses[start..end.max(start)].iter().map(|number| self.instruction_of(*number))
    }

    fn instruction_of(&self, access: u32) -> usize {
        self.instructions[access as usize] as usize
    }

    pub(super) fn effect(&self, instruction: usize, meaning: Meaning) -> Effect {
        let own = self.accesses(instruction).iter().filter(|it| it.meaning == meaning);
        own.fold(Effect::default(), |effect, it| Effect {
            reads: effect.reads || it.access.reads(),
            writes: effect.writes || it.access.writes(),
            defines: effect.defines || it.access.writes() && !it.is_partial,
        })
    }
}

fn instruction(statement: Statement<'_>) -> Instruction<'_> {
    match statement.kind() {
        StatementKind::Instruction(instruction) => instruction,
        _ => unreachable!("only instructions are collected"),
    }
}

/// Collects the instructions of a function, and where its blocks start.
struct Builder<'t, 'n> {
    names: &'n Names,
    statements: Vec<Statement<'t>>,
    accesses: Vec<NameAccess>,
    starts: Vec<u32>,
    /// The number of the instruction behind each label.
    labels: Map<SymbolId, usize>,
    /// The labels of each `.branchtargets`.
    tables: Map<SymbolId, Vec<Option<SymbolId>>>,
    /// The label directly before the next statement, if any.
    label: Option<SymbolId>,
    results: Set<Meaning>,
    /// The index of the next use, for names that are looked up in the order of the text.
    next_use: usize,
    /// The names of one instruction, and whether a write to them would be partial.
    found: Vec<(Span, Access, bool)>,
}

impl<'t, 'n> Builder<'t, 'n> {
    fn new(names: &'n Names) -> Builder<'t, 'n> {
        Builder {
            names,
            statements: Vec::new(),
            accesses: Vec::new(),
            starts: vec![0],
            labels: Map::default(),
            tables: Map::default(),
            label: None,
            results: Set::default(),
            next_use: 0,
            found: Vec::new(),
        }
    }

    fn meaning(&self, name: Span) -> Option<Meaning> {
        self.names.use_of(name)?.meaning()
    }

    /// Like [`Builder::meaning`], for names that are looked up in the order of the text.
    fn next_meaning(&mut self, name: Span) -> Option<Meaning> {
        let uses = self.names.uses();
        while self.next_use < uses.len() && uses[self.next_use].span().start < name.start {
            self.next_use += 1;
        }
        let near = uses.get(self.next_use).filter(|near| near.span().start == name.start);
        near.map_or_else(|| self.meaning(name), Use::meaning)
    }

    fn symbol(&self, name: Span) -> Option<SymbolId> {
        self.meaning(name).map(Meaning::symbol)
    }

    fn read(&mut self, statement: Statement<'t>) {
        let label = self.label.take();
        match statement.kind() {
            StatementKind::Label(name) => {
                self.label = self.symbol(name);
                if let Some(symbol) = self.label {
                    self.labels.insert(symbol, self.statements.len());
                }
            }
            StatementKind::Directive(directive) => {
                // The label of a list or a prototype is its name, and no place in the code.
                let Some(label) = label.filter(|_| directive.kind().is_named()) else {
                    return;
                };
                self.labels.remove(&label);
                if directive.kind() == DirectiveKind::BranchTargets {
                    let targets = directive.operands().map(|it| self.symbol(it.span())).collect();
                    self.tables.insert(label, targets);
                }
            }
            StatementKind::Instruction(instruction) => {
                let source = statement.tree().source();
                let is_guarded = instruction.guard().is_some();
                let mut found = mem::take(&mut self.found);
                accesses(source, &instruction, |span, access, is_element| {
                    found.push((span, access, is_guarded || is_element));
                });
                for (span, access, is_partial) in found.drain(..) {
                    if let Some(meaning) = self.next_meaning(span) {
                        let is_partial = is_partial && access.writes();
                        self.accesses.push(NameAccess { span, meaning, access, is_partial });
                    }
                }
                self.found = found;
                self.starts.push(self.accesses.len() as u32);
                self.statements.push(statement);
            }
            _ => {}
        }
    }

    /// Adds what calls and the caller do with registers of the module. `None` if these are too many.
    fn share_registers(&mut self) -> Option<()> {
        let source = self.statements.first().map_or("", |it| it.tree().source());
        let is_shared = |meaning: Meaning| {
            let symbol = self.names.symbol(meaning.symbol());
            symbol.is_global() && symbol.is_register(source)
        };
        let mut shared: Vec<Meaning> = self.accesses.iter().map(|it| it.meaning).collect();
        shared.retain(|it| is_shared(*it));
        shared.sort_unstable_by_key(|it| it.index());
        shared.dedup();
        if shared.is_empty() {
            return Some(());
        }
        let mnemonic = |at: usize| instruction(self.statements[at]).mnemonic();
        let is_call = |at: &usize| mnemonic(*at).text(source) == "call";
        let calls: Vec<usize> = (0..self.statements.len()).filter(is_call).collect();
        if calls.len() * shared.len() > SHARED {
            return None;
        }
        let starts = mem::replace(&mut self.starts, vec![0]);
        let mut accesses = mem::take(&mut self.accesses).into_iter();
        let mut next_call = calls.iter().peekable();
        for (at, pair) in starts.windows(2).enumerate() {
            self.accesses.extend(accesses.by_ref().take((pair[1] - pair[0]) as usize));
            if next_call.next_if_eq(&&at).is_some() {
                let (span, access) = (mnemonic(at), Access::ReadWrite);
                let shared = shared.iter();
                self.accesses.extend(shared.map(|&meaning| NameAccess {
                    span,
                    meaning,
                    access,
                    is_partial: true,
                }));
            }
            self.starts.push(self.accesses.len() as u32);
        }
        self.results.extend(shared);
        Some(())
    }

    fn finish(self, function: Function<'t>) -> Flow<'t> {
        let source = function.statement().tree().source();
        let count = self.statements.len();
        let jumps: Vec<Jump<'_>> =
            self.statements.iter().map(|it| self.jump(source, &instruction(*it))).collect();
        let after_jumps = jumps.iter().zip(1..).filter(|(jump, _)| jump.ends_block);
        let mut leaders: Vec<usize> = after_jumps.map(|(_, next)| next).collect();
        leaders.extend(self.labels.values());
        leaders.push(0);
        leaders.sort_unstable();
        leaders.dedup();
        // Nothing runs after the last instruction, unless a label stands there.
        let ends_with_label = count == 0 || self.labels.values().any(|at| *at == count);
        leaders.retain(|at| *at < count || ends_with_label);
        let ends = leaders.iter().skip(1).copied().chain([count]);
        let block = |(start, end)| Block { instructions: start..end, ..Block::default() };
        let mut blocks: Vec<Block> = leaders.iter().copied().zip(ends).map(block).collect();
        let block_at = |instruction: usize| leaders.partition_point(|at| *at <= instruction) - 1;

        let mut guesses = Vec::new();
        let (mut edges, own) = (EDGES * (count + EDGES), blocks.len());
        for at in 0..own {
            let last = blocks[at].instructions.clone().next_back().map(|last| &jumps[last]);
            let mut successors = Vec::new();
            if last.is_none_or(|jump| jump.goes_on) && at + 1 < own {
                successors.push(at + 1);
            }
            let targets = last.map_or(&[][..], |jump| jump.to.labels());
            let label = |symbol: &Option<SymbolId>| self.labels.get(&(*symbol)?).copied();
            // Many branches may share one table.
            let known = (targets.len() <= edges).then(|| targets.iter().map(label).collect());
            let known: Option<Vec<usize>> = known.flatten();
            if let Some(targets) = &known {
                edges -= targets.len();
                let mut targets: Vec<usize> = targets.iter().map(|to| block_at(*to)).collect();
                targets.sort_unstable();
                targets.dedup();
                targets.retain(|target| !successors.contains(target));
                successors.extend(targets);
            } else {
                guesses.push(at);
                successors.push(own);
            }
            if known.is_none() && blocks.len() == own {
                blocks.push(Block { instructions: count..count, ..Block::default() });
            }
            for &next in &successors {
                blocks[next].predecessors.push(at);
            }
            blocks[at].successors = successors;
        }
        // The block behind all others leads to every label.
        if blocks.len() > own {
            let mut labelled: Vec<usize> = self.labels.values().map(|at| block_at(*at)).collect();
            labelled.sort_unstable();
            labelled.dedup();
            for &next in &labelled {
                blocks[next].predecessors.push(own);
            }
            blocks[own].successors = labelled;
        }
        let mut reachable = vec![false; blocks.len()];
        let mut open = vec![0];
        while let Some(at) = open.pop() {
            if !mem::replace(&mut reachable[at], true) {
                open.extend(&blocks[at].successors);
            }
        }
        let last = |block: &Block| block.instructions.clone().next_back().map(|last| &jumps[last]);
        let leaves = |jump: &Jump<'_>| jump.ends_block && matches!(jump.to, To::Nowhere);
        for (at, block) in blocks.iter_mut().enumerate() {
            let last = last(block);
            block.may_return = match last {
                Some(jump) => matches!(jump.to, To::Caller) || at + 1 == own && jump.goes_on,
                None => at + 1 == own || block.successors.is_empty(),
            };
            let may_leave = block.successors.is_empty() || last.is_some_and(leaves);
            block.may_end = block.may_return || may_leave;
        }
        let Builder { statements, accesses, starts, results, .. } = self;
        let numbered = accesses.iter().zip(0..).map(|(it, number)| (it.meaning.index(), number));
        let mut by_meaning: Vec<(_, u32)> = numbered.collect();
        by_meaning.sort_unstable();
        let mut by_meaning: Vec<u32> = by_meaning.into_iter().map(|(_, number)| number).collect();
        let writes = |number: &&u32| accesses[**number as usize].access.writes();
        let mut writes: Vec<u32> = by_meaning.iter().filter(writes).copied().collect();
        let own = starts.windows(2).map(|pair| pair[1] - pair[0]);
        let own = own.zip(0..).map(|(count, at)| iter::repeat_n(at, count as usize));
        let instructions: Vec<u32> = own.flatten().collect();
        for numbers in [&mut by_meaning, &mut writes] {
            let key = |at: u32| (instructions[at as usize], accesses[at as usize].meaning);
            numbers.dedup_by(|one, other| key(*one) == key(*other));
        }
        let graph = Graph {
            instructions,
            accesses,
            starts,
            by_meaning,
            writes,
            blocks,
            reachable,
            guesses,
            results,
            dominators: OnceLock::new(),
            loops: OnceLock::new(),
        };
        Flow { function, statements, graph }
    }

    /// Whether a call names a function that is declared as `.noreturn`.
    fn never_returns(&self, call: &Instruction<'_>) -> bool {
        call.operands().any(|operand| match operand.kind() {
            OperandKind::Name(name) => {
                self.symbol(name).is_some_and(|it| self.names.symbol(it).noreturn.is_some())
            }
            _ => false,
        })
    }

    /// Where an instruction may lead.
    fn jump(&self, source: &str, instruction: &Instruction<'_>) -> Jump<'_> {
        let symbol = |number: usize| match instruction.operands().nth(number)?.kind() {
            OperandKind::Name(name) => self.symbol(name),
            _ => None,
        };
        let to = match instruction.mnemonic().text(source) {
            "bra" => To::Label([symbol(0)]),
            "brx" => match symbol(1).and_then(|table| self.tables.get(&table)) {
                Some(table) => To::Table(table),
                None => To::Label([None]),
            },
            "ret" => To::Caller,
            "exit" | "trap" => To::Nowhere,
            "call" if self.never_returns(instruction) => To::Nowhere,
            _ => return Jump { to: To::Nowhere, goes_on: true, ends_block: false },
        };
        Jump { to, goes_on: instruction.guard().is_some(), ends_block: true }
    }
}

/// Where an instruction may lead.
struct Jump<'b> {
    to: To<'b>,
    /// Whether the next instruction may follow.
    goes_on: bool,
    ends_block: bool,
}

/// The labels that a branch may lead to; `None` for an unknown one.
enum To<'b> {
    Nowhere,
    Caller,
    Label([Option<SymbolId>; 1]),
    Table(&'b [Option<SymbolId>]),
}

impl To<'_> {
    fn labels(&self) -> &[Option<SymbolId>] {
        match self {
            To::Nowhere | To::Caller => &[],
            To::Label(label) => label,
            To::Table(labels) => labels,
        }
    }
}
