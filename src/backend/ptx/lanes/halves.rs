//! Compiles SIMD instructions on bytes to instructions on halves.

use super::super::sequence::{Arg, Builder, Line, Opcode, word};
use super::cost::machine_instructions;
use super::{Group, Step};
use crate::ir::Range;
use crate::isa::{Target, Type};
use crate::video::{Register, SimdOp};

/// Four lanes: lanes 0 and 2 as halves of the first word, lanes 1 and 3 as those of the second.
type Words = [Arg; 2];

/// Bytes 0 and 2 of a word, and bytes 1 and 3.
const TAKEN: [[u32; 2]; 2] = [[0x4240, 0x4341], [0xa280, 0xb391]];
/// The lower bytes of the halves of two words.
const PACKED: u32 = 0x6240;
/// The lower bytes of halves.
const BYTES: u32 = 0x00ff_00ff;

/// The range of a half.
const HALF: Range = Range::bits(16, true);

fn is_signed(ty: Type) -> bool {
    ty == Type::S32
}

fn byte(ty: Type) -> Range {
    Range::bits(8, is_signed(ty))
}

/// The lanes that a register holds.
#[derive(Clone, Copy)]
struct Value {
    form: Form,
    /// The step that computed them.
    step: Option<usize>,
    /// The lanes as bytes of each type, extended to halves.
    extended: [Option<Words>; 2],
}

#[derive(Clone, Copy)]
enum Form {
    /// A word of bytes.
    Packed(Arg),
    /// Halves whose low bytes are the lanes. They lie in a range, as signed halves, or may
    /// have anything in their upper bytes.
    Halves(Words, Option<Range>),
}

/// Bytes of the low bytes of halves.
fn packed([even, odd]: Words) -> Line {
    Line::new(Opcode::Permute, [even, odd, word(PACKED)])
}

/// A register that steps name.
struct Name<'m> {
    register: &'m Register,
    /// How often steps name it.
    occurrences: u32,
    /// How often the function names it, if it declares it itself.
    in_function: Option<u32>,
    /// Whether its value before the group is read.
    is_input: bool,
    /// Its value now, if a step has named it as a source or written it.
    value: Option<Value>,
}

/// A value that a step reads: that of a name, as a step computed it, or as it was.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Read {
    name: usize,
    step: Option<usize>,
}

/// A register that a step writes, with its lanes.
struct LaneResult<'m> {
    register: &'m Register,
    step: usize,
    words: Words,
}

/// Steps on halves.
#[derive(Default)]
pub(super) struct Halves<'m> {
    builder: Builder,
    /// Of each step, the values that it reads.
    reads: Vec<[Read; 2]>,
    names: Vec<Name<'m>>,
    inputs: Vec<&'m Register>,
}

impl<'m> Halves<'m> {
    /// Adds a step. `false` if two of its names might be one register or two.
    pub(super) fn push(
        &mut self,
        step: &Step<'m>,
        mut in_function: impl FnMut(&Register) -> Option<u32>,
    ) -> bool {
        let [a, b] = step.sources;
        let named = [a, b, step.c, step.d].map(|register| self.name(register, &mut in_function));
        let [Some(a), Some(b), Some(_), Some(d)] = named else { return false };
        for name in named.into_iter().flatten() {
            self.names[name].occurrences += 1;
        }
        let form = self.compute(step, a, b);
        let reads = [a, b].map(|name| Read { name, step: self.value(name).step });
        self.reads.push(reads);
        let step = Some(self.reads.len() - 1);
        self.names[d].value = Some(Value { form, step, extended: [None; 2] });
        true
    }

    /// The place of a name, which is new or not. `None` if it might be another one's register.
    fn name(
        &mut self,
        register: &'m Register,
        in_function: impl FnOnce(&Register) -> Option<u32>,
    ) -> Option<usize> {
        if let Some(known) = self.names.iter().position(|it| it.register == register) {
            return Some(known);
        }
        if self.names.iter().any(|it| it.register.names_same(register)) {
            return None;
        }
        let in_function = in_function(register);
        let (occurrences, is_input, value) = (0, false, None);
        self.names.push(Name { register, occurrences, in_function, is_input, value });
        Some(self.names.len() - 1)
    }

    /// The number of steps.
    pub(super) fn len(&self) -> usize {
        self.reads.len()
    }

    /// The steps with a result that lives on, or that such a step needs.
    pub(super) fn needed(&self) -> Vec<bool> {
        let mut is_needed = vec![false; self.reads.len()];
        self.results().for_each(|result| is_needed[result.step] = true);
        for (at, reads) in self.reads.iter().enumerate().rev() {
            if is_needed[at] {
                reads.iter().filter_map(|read| read.step).for_each(|step| is_needed[step] = true);
            }
        }
        is_needed
    }

    /// How often some of the steps read a value that another one has read.
    pub(super) fn repeated(&self, steps: &[bool]) -> u32 {
        let some = self.reads.iter().zip(steps).filter(|(_, is_one)| **is_one);
        let reads: Vec<Read> = some.flat_map(|(reads, _)| *reads).collect();
        let is_again = |at: usize| reads[..at].contains(&reads[at]);
        (0..reads.len()).filter(|&at| is_again(at)).count() as u32
    }

    /// The machine instructions of all steps.
    pub(super) fn cost(&self, target: Target) -> u32 {
        let packed: Vec<Line> = self.results().map(|result| packed(result.words)).collect();
        machine_instructions(self.builder.lines(), &packed, target)
    }

    /// The group of all steps.
    pub(super) fn group(&self) -> Group {
        let results: Vec<LaneResult<'_>> = self.results().collect();
        // Lanes 0 and 2 of all results come first: so fewer registers are in use at a time.
        let words = [0, 1].map(|at| results.iter().map(move |result| result.words[at]));
        let mut words: Vec<Arg> = words.into_iter().flatten().collect();
        let lines = self.builder.used(&mut words);
        let registers = results.iter().map(|result| result.register.clone());
        let (even, odd) = words.split_at(words.len() / 2);
        let pairs = even.iter().zip(odd).map(|(even, odd)| packed([*even, *odd]));
        Group {
            members: self.reads.len(),
            inputs: self.inputs.iter().copied().cloned().collect(),
            lines,
            outputs: registers.zip(pairs).collect(),
        }
    }

    /// The values of registers that steps write and that live on. Others are read by later steps
    /// only.
    fn results(&self) -> impl Iterator<Item = LaneResult<'m>> {
        self.names.iter().filter_map(|name| {
            let Value { form: Form::Halves(words, _), step: Some(step), .. } = name.value? else {
                return None;
            };
            let lives = name.is_input || name.in_function != Some(name.occurrences);
            lives.then_some(LaneResult { register: name.register, step, words })
        })
    }

    fn compute(&mut self, step: &Step<'m>, a: usize, b: usize) -> Form {
        let [atype, btype] = step.types;
        // Only low bytes matter to sums of low bytes.
        let wraps = !step.saturate && matches!(step.op, SimdOp::Add | SimdOp::Sub);
        let (x, x_range) = if wraps { self.low(a) } else { self.extended(a, atype) };
        let (y, y_range) = if wraps { self.low(b) } else { self.extended(b, btype) };
        let ranges = x_range.zip(y_range);
        let (words, range) = match step.op {
            SimdOp::Sub => {
                let words = [0, 1].map(|at| self.builder.sub2(x[at], y[at]));
                (words, ranges.map(|(x, y)| Range::new(x.min - y.max, x.max - y.min)))
            }
            SimdOp::Min => {
                let range = |(x, y): (Range, Range)| Range::new(x.min.min(y.min), x.max.min(y.max));
                (self.each(Opcode::Min2(Type::S32), x, y), ranges.map(range))
            }
            SimdOp::Max => {
                let range = |(x, y): (Range, Range)| Range::new(x.min.max(y.min), x.max.max(y.max));
                (self.each(Opcode::Max2(Type::S32), x, y), ranges.map(range))
            }
            SimdOp::Add | SimdOp::AbsDiff | SimdOp::Avrg => {
                let range = |(x, y): (Range, Range)| Range::new(x.min + y.min, x.max + y.max);
                (self.each(Opcode::Add2, x, y), ranges.map(range))
            }
        };
        let range = range.filter(|range| HALF.contains_range(*range));
        match range {
            Some(range) if step.saturate => self.clamped(words, range, byte(step.dtype)),
            _ => Form::Halves(words, range),
        }
    }

    fn each(&mut self, opcode: Opcode, x: Words, y: Words) -> Words {
        [0, 1].map(|at| self.builder.push(opcode, &[x[at], y[at]]))
    }

    fn clamped(&mut self, mut words: Words, mut range: Range, to: Range) -> Form {
        let halves = |value: i128| word((value as u32 & 0xffff) * 0x0001_0001);
        if range.max > to.max {
            words = self.each(Opcode::Min2(Type::S32), words, [halves(to.max); 2]);
            range.max = to.max;
        }
        if range.min < to.min {
            words = self.each(Opcode::Max2(Type::S32), words, [halves(to.min); 2]);
            range.min = to.min;
        }
        Form::Halves(words, Some(range))
    }

    /// The value that a register holds. It is an input unless a step wrote it.
    fn value(&mut self, name: usize) -> Value {
        let name = &mut self.names[name];
        *name.value.get_or_insert_with(|| {
            let input = self.inputs.len() as u16;
            self.inputs.push(name.register);
            name.is_input = true;
            let form = Form::Packed(Arg::Register(input));
            Value { form, step: None, extended: [None; 2] }
        })
    }

    /// Halves whose low bytes are a register's lanes.
    fn low(&mut self, name: usize) -> (Words, Option<Range>) {
        let value = self.value(name);
        match (value.form, value.extended) {
            (Form::Halves(words, range), _) => (words, range),
            (Form::Packed(_), [None, Some(words)]) => (words, Some(byte(Type::S32))),
            (Form::Packed(_), _) => self.extended(name, Type::U32),
        }
    }

    /// A register's lanes as bytes of a type, extended to halves.
    fn extended(&mut self, name: usize, ty: Type) -> (Words, Option<Range>) {
        let value = self.value(name);
        if let Form::Halves(words, Some(range)) = value.form
            && byte(ty).contains_range(range)
        {
            return (words, Some(range));
        }
        let kind = usize::from(is_signed(ty));
        let words = value.extended[kind].unwrap_or_else(|| match value.form {
            Form::Packed(arg) => TAKEN[kind].map(|bytes| self.taken(arg, bytes)),
            Form::Halves(words, _) => words.map(|word| self.taken(word, TAKEN[kind][0])),
        });
        if let Some(value) = &mut self.names[name].value {
            value.extended[kind] = Some(words);
        }
        (words, Some(byte(ty)))
    }

    fn taken(&mut self, from: Arg, bytes: u32) -> Arg {
        // This is as short, and runs on more units.
        if bytes == TAKEN[0][0] {
            return self.builder.and(from, word(BYTES));
        }
        self.builder.permute(from, word(0), bytes)
    }
}
