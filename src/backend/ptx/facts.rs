//! What the data flow of a function tells about the registers of its video instructions.

use std::cell::OnceCell;
use std::iter;

use super::straight::moves_word;
use crate::flow::{Flow, Graph};
use crate::hash::{Map, Set};
use crate::ir::Range;
use crate::module::VideoStatement;
use crate::names::{Meaning, Names, SymbolKind, Use};
use crate::source::Span;
use crate::syntax::{Instruction, Operand, OperandKind, StatementKind, parse_function};
use crate::terms::{Term, Terms};
use crate::video::Register;

/// The functions of a text. Only the last function that was asked for is kept.
pub(super) struct Facts<'s> {
    source: &'s str,
    last: Option<(u32, Option<Function>)>,
    /// Whether the text has debug sections, once that is asked for.
    has_debug: OnceCell<bool>,
}

/// The data flow of a function.
struct Function {
    graph: Graph,
    /// One for each instruction of the graph.
    instructions: Vec<Known>,
    /// The innermost loop of each block.
    loops: Vec<Option<usize>>,
    /// The parameters: registers that the caller may have written.
    parameters: Vec<Meaning>,
    /// The results of SIMD instructions, once they are asked for.
    values: OnceCell<Values>,
}

struct Known {
    span: Span,
    result: Definition,
    /// Whether the instruction stands in the body of the function, and in no block inside of the
    /// body.
    is_outer: bool,
    /// A number for the opcode with its modifiers, if all lanes of the result depend only on the
    /// first two sources, and these have all lanes in order.
    simd: Option<usize>,
}

/// The results of a function's SIMD instructions.
#[derive(Default)]
struct Values {
    terms: Terms<Value>,
    /// The results of instructions, as far as they are known.
    results: Map<usize, Term>,
    /// The instructions with each result, in order.
    repeated: Map<Term, Vec<usize>>,
}

/// What a register holds where an instruction reads it.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Value {
    /// Nothing writes the register before: the text is a fragment.
    Start(Meaning),
    /// What one of these instructions writes to the register.
    Defined(Vec<(usize, Meaning)>),
    /// What an instruction with this opcode computes from two values.
    Simd(usize, [Term; 2]),
}

/// What an instruction writes.
#[derive(Clone, Copy)]
enum Definition {
    Constant(u32),
    /// The word of another register.
    Copy(Meaning),
    /// A result that is there when the instruction ends.
    Plain,
    Other,
}

/// Ordinary instructions whose results are there when they end. A result of `wgmma` or `tcgen05`
/// has to be waited for.
const PLAIN: [&str; 34] = [
    "abs", "add", "and", "bfe", "bfi", "bfind", "brev", "clz", "cvt", "div", "dp2a", "dp4a", "fma",
    "ld", "ldu", "lop3", "mad", "mad24", "max", "min", "mov", "mul", "mul24", "neg", "not", "or",
    "popc", "prmt", "rem", "selp", "shf", "shl", "shr", "sub",
];

/// A search for definitions or readers ends after this many blocks, so that rewriting is linear.
const BLOCKS: usize = 256;

/// A search looks at this many definitions, sources or equal instructions at most.
const MOST: usize = 32;

/// The ranges of the results of a function's instructions, as far as they are known.
pub(super) struct Results(Vec<Option<Range>>);

impl<'s> Facts<'s> {
    pub(super) fn new(source: &'s str) -> Facts<'s> {
        Facts { source, last: None, has_debug: OnceCell::new() }
    }

    /// The facts where a statement stands. `None` outside of functions, and in functions with
    /// errors.
    pub(super) fn at(&mut self, statement: &VideoStatement) -> Option<Site<'_>> {
        self.at_start(statement.header?, statement.span.start)
    }

    /// The facts where an instruction starts, in the function with a header.
    pub(super) fn at_start(&mut self, header: u32, start: u32) -> Option<Site<'_>> {
        let source = self.source;
        let function = self.function(header)?;
        let at = function.instructions.binary_search_by_key(&start, |it| it.span.start).ok()?;
        Some(Site { source, function, at })
    }

    fn function(&mut self, header: u32) -> Option<&Function> {
        if self.last.as_ref().is_none_or(|(last, _)| *last != header) {
            self.last = Some((header, Function::read(self.source, header)));
        }
        self.last.as_ref()?.1.as_ref()
    }

    /// The part between two statements, and whether a label there is passed.
    pub(super) fn between<'f>(
        &'f mut self,
        around: [&'f VideoStatement; 2],
    ) -> (Span, impl FnMut(u32) -> bool) {
        let [first, next] = around;
        let part = Span::new(first.span.end, next.span.start);
        (part, move |label| self.is_passed(around, label))
    }

    /// Whether no branch leads to a label between two statements: the code before the label goes on
    /// behind it. Such labels are looked for only in texts with debug sections, which name them.
    fn is_passed(&mut self, around: [&VideoStatement; 2], label: u32) -> bool {
        let [header, other] = around.map(|statement| statement.header);
        if header != other {
            return false;
        }
        let find = || memchr::memmem::find(self.source.as_bytes(), b".debug_").is_some();
        if !*self.has_debug.get_or_init(find) {
            return false;
        }
        let function = header.and_then(|header| self.function(header));
        function.is_some_and(|Function { graph, instructions, .. }| {
            let next = instructions.partition_point(|it| it.span.start < label);
            let Some(before) = next.checked_sub(1).filter(|_| next < instructions.len()) else {
                return false;
            };
            let [before, block] = [before, next].map(|at| graph.block_of(at));
            before == block || graph.blocks()[block].predecessors == [before]
        })
    }

    /// Whether a register has the same value where two statements of a function read it, or nothing
    /// is known.
    pub(super) fn is_same_value(
        &mut self,
        register: &Register,
        one: &VideoStatement,
        other: &VideoStatement,
    ) -> bool {
        let [one, other] = [one, other].map(|it| self.at(it)?.value(register));
        one.zip(other).is_none_or(|(one, other)| one == other)
    }

    /// Room for the ranges of a function's results, all of them unknown.
    pub(super) fn no_results(&mut self, statement: &VideoStatement) -> Option<Results> {
        let site = self.at(statement)?;
        Some(Results(vec![None; site.function.instructions.len()]))
    }
}

impl Function {
    fn read(source: &str, header: u32) -> Option<Function> {
        let tree = parse_function(source, header);
        if !tree.errors().is_empty() {
            return None;
        }
        let names = Names::of(&tree);
        let function = tree.functions().next()?;
        let body = function.body()?;
        let flow = Flow::of(&function, &names)?;
        let mut opcodes = Map::default();
        let mut instructions = Vec::with_capacity(flow.len());
        for statement in flow.statements() {
            let StatementKind::Instruction(instruction) = statement.kind() else { return None };
            let simd = simd_opcode(source, &instruction).map(|opcode| {
                let next = opcodes.len();
                *opcodes.entry(opcode).or_insert(next)
            });
            instructions.push(Known {
                span: statement.span(),
                result: Definition::of(source, &instruction, &names),
                is_outer: statement.parent() == Some(body),
                simd,
            });
        }
        let mut loops = vec![None; flow.blocks().len()];
        for (number, inner) in flow.loops().iter().enumerate() {
            inner.blocks.iter().for_each(|block| loops[*block] = Some(number));
        }
        let parameters = function.results().chain(function.parameters());
        let parameters = parameters.filter_map(|it| names.use_of(it.name()?.name())?.meaning());
        let parameters = parameters.collect();
        let (graph, values) = (flow.into_graph(), OnceCell::new());
        Some(Function { graph, instructions, loops, parameters, values })
    }

    fn values(&self) -> &Values {
        self.values.get_or_init(|| {
            let mut values = Values::default();
            for (at, known) in self.instructions.iter().enumerate() {
                let Some(result) =
                    known.simd.and_then(|opcode| self.result(at, opcode, &mut values))
                else {
                    continue;
                };
                values.results.insert(at, result);
                values.repeated.entry(result).or_default().push(at);
            }
            values
        })
    }

    /// The result of a SIMD instruction; `values` has those before it.
    fn result(&self, at: usize, opcode: usize, values: &mut Values) -> Option<Term> {
        let [_, a, b, _] = self.graph.accesses(at) else { return None };
        let mut sources = [0; 2];
        for (source, register) in sources.iter_mut().zip([a, b]) {
            let value = self.value(at, register.meaning, values)?;
            *source = values.terms.number(value);
        }
        Some(values.terms.number(Value::Simd(opcode, sources)))
    }

    /// What a register holds where an instruction reads it. `values` has the results of SIMD
    /// instructions before it.
    fn value(&self, at: usize, meaning: Meaning, values: &Values) -> Option<Value> {
        let (definitions, may_be_undefined) = self.definitions(at, meaning)?;
        if may_be_undefined {
            return definitions.is_empty().then_some(Value::Start(meaning));
        }
        if let [(definition, _)] = definitions[..]
            && let Some(term) = values.results.get(&definition)
        {
            return Some(values.terms.all()[*term as usize].clone());
        }
        Some(Value::Defined(definitions))
    }

    /// The definitions of the value that an instruction finds in a register, each with the register
    /// that it writes, and whether the value may be undefined. The definitions of the copied
    /// register take the place of a copy.
    fn definitions(&self, at: usize, meaning: Meaning) -> Option<(Vec<(usize, Meaning)>, bool)> {
        let mut open = vec![(at, meaning)];
        let (mut seen, mut found, mut may_be_undefined) = (Set::default(), Vec::new(), false);
        while let Some((at, meaning)) = open.pop() {
            let reaching = self.graph.definitions_within(BLOCKS, at, meaning)?;
            if reaching.may_be_undefined && self.parameters.contains(&meaning) {
                return None;
            }
            may_be_undefined |= reaching.may_be_undefined;
            for definition in reaching.instructions {
                if !seen.insert((definition, meaning)) {
                    continue;
                }
                if seen.len() > MOST {
                    return None;
                }
                match self.instructions[definition].result {
                    Definition::Copy(from) => open.push((definition, from)),
                    _ => found.push((definition, meaning)),
                }
            }
        }
        found.sort_unstable_by_key(|(definition, meaning)| (*definition, meaning.index()));
        Some((found, may_be_undefined))
    }

    /// Whether a block belongs to a loop, perhaps to a loop inside of it.
    fn is_within(&self, outer: usize, block: usize) -> bool {
        let around = |inner: &usize| self.graph.loops()[*inner].parent;
        std::iter::successors(self.loops[block], around).any(|inner| inner == outer)
    }
}

/// The mnemonic and the modifiers of a SIMD instruction without guard and secondary operation that
/// has all lanes in order.
fn simd_opcode<'s>(source: &'s str, instruction: &Instruction<'_>) -> Option<Vec<&'s str>> {
    let mnemonic = instruction.mnemonic().text(source);
    let is_simd = mnemonic.starts_with('v') && mnemonic.ends_with(['2', '4']);
    let is_plain = || {
        let is_word =
            |it: Operand<'_>| it.selector().is_none() && matches!(it.kind(), OperandKind::Name(_));
        instruction.operands().all(is_word)
    };
    let modifiers = || instruction.modifiers().map(|modifier| modifier.text(source));
    let is_simd = is_simd && instruction.guard().is_none() && modifiers().all(|it| it != ".add");
    (is_simd && is_plain()).then(|| iter::once(mnemonic).chain(modifiers()).collect())
}

impl Definition {
    fn of(source: &str, instruction: &Instruction<'_>, names: &Names) -> Definition {
        if PLAIN.binary_search(&instruction.mnemonic().text(source)).is_err() {
            return Definition::Other;
        }
        if !moves_word(source, instruction) {
            return Definition::Plain;
        }
        let mut operands = instruction.operands();
        let [Some(d), Some(from)] = [operands.next(), operands.next()] else {
            return Definition::Plain;
        };
        // An element of a vector register is not its whole value.
        if d.selector().or(from.selector()).is_some() {
            return Definition::Plain;
        }
        match from.kind() {
            OperandKind::Constant(Ok(value)) => {
                value.bits().map_or(Definition::Other, |bits| Definition::Constant(bits as u32))
            }
            OperandKind::Name(name) => {
                let meaning = names.use_of(name).and_then(Use::meaning);
                let is_register =
                    |it: &Meaning| names.symbol(it.symbol()).kind == SymbolKind::Register;
                meaning.filter(is_register).map_or(Definition::Plain, Definition::Copy)
            }
            _ => Definition::Plain,
        }
    }
}

/// The place of a video instruction in the data flow of its function.
#[derive(Clone, Copy)]
pub(super) struct Site<'f> {
    source: &'f str,
    function: &'f Function,
    at: usize,
}

impl Site<'_> {
    /// The register that a name of the instruction means.
    fn meaning(&self, register: &Register) -> Option<Meaning> {
        let accesses = self.function.graph.accesses(self.at);
        let own = accesses.iter().find(|it| it.span.text(self.source) == register.name());
        own.map(|it| it.meaning)
    }

    /// The starts of the instructions that may read what this instruction writes to a register, in
    /// the order of the text. `u32::MAX` stands for the caller, who reads results.
    pub(super) fn readers(&self, register: &Register) -> Option<Vec<u32>> {
        let meaning = self.meaning(register)?;
        let readers = self.function.graph.readers_within(BLOCKS, self.at, meaning)?;
        let start =
            |at: usize| self.function.instructions.get(at).map_or(u32::MAX, |it| it.span.start);
        Some(readers.into_iter().map(start).collect())
    }

    /// The end of the only instruction that writes a register that this instruction reads, if it
    /// stands outside of the loop around this instruction, and earlier in the text. What is
    /// computed from the register is then the same in each iteration, and declarations there hold
    /// here.
    pub(super) fn before_loop(&self, register: &Register) -> Option<u32> {
        let Function { graph, instructions, loops, .. } = self.function;
        let inner = loops[graph.block_of(self.at)]?;
        let reaching = graph.definitions_within(BLOCKS, self.at, self.meaning(register)?)?;
        let [definition] = reaching.instructions[..] else { return None };
        let known = &instructions[definition];
        let is_there = !matches!(known.result, Definition::Other) && known.is_outer;
        let is_earlier = definition < self.at;
        let is_outside = !self.function.is_within(inner, graph.block_of(definition));
        (is_there && is_earlier && is_outside && !reaching.may_be_undefined)
            .then_some(known.span.end)
    }

    /// Whether a register that this instruction reads is known to hold the same word in all
    /// iterations of the loop around this instruction: its definitions stand outside of the loop,
    /// or are SIMD instructions that combine such words.
    pub(super) fn is_loop_invariant(&self, register: &Register) -> bool {
        let Function { graph, loops, .. } = self.function;
        let Some(inner) = loops[graph.block_of(self.at)] else { return false };
        let is_inside = |(at, _): &_| self.function.is_within(inner, graph.block_of(*at));
        let (mut open, mut seen) = (vec![self.value(register)], Set::default());
        while let Some(value) = open.pop() {
            match value {
                Some(Value::Defined(definitions)) if !definitions.iter().any(is_inside) => {}
                Some(Value::Simd(_, sources)) if seen.len() < MOST => {
                    let terms = &self.function.values().terms;
                    let new = sources.into_iter().filter(|source| seen.insert(*source));
                    open.extend(new.map(|source| Some(terms.all()[source as usize].clone())));
                }
                _ => return false,
            }
        }
        true
    }

    /// Whether a register that this instruction reads holds what a SIMD instruction computes from a
    /// word and itself. ptxas may know that this is a constant, or the word.
    pub(super) fn is_of_one_word(&self, register: &Register) -> bool {
        matches!(self.value(register), Some(Value::Simd(_, [a, b])) if a == b)
    }

    /// The value of a register that holds one constant on all paths, perhaps by way of other
    /// registers.
    pub(super) fn constant(&self, register: &Register) -> Option<u32> {
        let (definitions, may_be_undefined) = self.definitions(register)?;
        let mut found = None;
        for (definition, _) in definitions {
            match self.function.instructions[definition].result {
                Definition::Constant(value) if found.is_none_or(|found| found == value) => {
                    found = Some(value);
                }
                _ => return None,
            }
        }
        found.filter(|_| !may_be_undefined)
    }

    /// The range in which a register lies wherever it has a value, if its definitions are only
    /// constants and results of known range, perhaps by way of other registers.
    pub(super) fn range(&self, register: &Register, results: &Results) -> Option<Range> {
        let mut range = None;
        for (definition, _) in self.definitions(register)?.0 {
            let own = match self.function.instructions[definition].result {
                Definition::Constant(value) => {
                    let signed = i128::from(value.cast_signed());
                    Range::new(signed, signed)
                }
                _ => results.0[definition]?,
            };
            range = Some(joined(range, own)?);
        }
        range
    }

    /// Sets the range of the instruction's result.
    pub(super) fn set_result(&self, range: Range, results: &mut Results) {
        results.0[self.at] = Some(range);
    }

    /// Whether another instruction does the same as this SIMD instruction with the same values, and
    /// one dominates the other. ptxas then computes their result once. Some instructions, given by
    /// their starts, do not count.
    pub(super) fn is_repeated(&self, but: impl Fn(u32) -> bool) -> bool {
        let Function { graph, instructions, .. } = self.function;
        let values = self.function.values();
        let Some(result) = values.results.get(&self.at) else { return false };
        let dominates =
            |one, other| graph.dominators().dominates(graph.block_of(one), graph.block_of(other));
        // The nearest ones: instructions before this one, and after it.
        let same = &values.repeated[result];
        let place = same.partition_point(|at| *at < self.at);
        let near = &same[place.saturating_sub(MOST)..same.len().min(place + MOST)];
        let others = near.iter().copied().filter(|at| !but(instructions[*at].span.start));
        let mut others = others.filter(|at| *at != self.at);
        others.any(|at| dominates(at, self.at) || dominates(self.at, at))
    }

    /// What this instruction finds in a register.
    fn value(&self, register: &Register) -> Option<Value> {
        self.function.value(self.at, self.meaning(register)?, self.function.values())
    }

    /// [`Function::definitions`] of a register of this instruction.
    fn definitions(&self, register: &Register) -> Option<(Vec<(usize, Meaning)>, bool)> {
        self.function.definitions(self.at, self.meaning(register)?)
    }
}

/// The range that holds both ranges, if signed words or unsigned words can hold it.
fn joined(one: Option<Range>, other: Range) -> Option<Range> {
    let range = one.map_or(other, |one| one.joined(other));
    let fits = |signed| Range::bits(32, signed).contains_range(range);
    (fits(true) || fits(false)).then_some(range)
}

#[cfg(test)]
mod tests {
    #[test]
    fn opcodes_are_sorted_for_the_search() {
        assert!(super::PLAIN.is_sorted());
    }
}
