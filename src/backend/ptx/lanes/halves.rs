//! Compiles SIMD instructions on bytes to instructions on halves.

use super::super::sequence::{Arg, Builder, Line, Opcode, word};
use super::cost::machine_instructions;
use super::{Action, Group, Kind, Step};
use crate::ir::Range;
use crate::isa::{Target, Type};
use crate::video::{Register, SimdOp};

/// Four lanes: lanes 0 and 2 as halves of the first word, lanes 1 and 3 as those of the second.
type Words = [Arg; 2];

/// Bytes 0 and 2 of a word, and bytes 1 and 3.
const TAKEN: [[u32; 2]; 2] = [[0x4240, 0x4341], [0xa280, 0xb391]];
/// The lower bytes of the halves of two words, and their signs.
const PACKED: u32 = 0x6240;
const SIGNS: u32 = 0xfbd9;
/// The lower bytes of halves.
const BYTES: u32 = 0x00ff_00ff;

/// A 1 in each byte.
const FLAGS: u32 = 0x0101_0101;

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
    /// Halves that are negative where a lane is 1, or else where it is 0.
    Signs { words: Words, is_negated: bool },
}

/// The range of results for operands in these ranges.
fn range(op: SimdOp, x: Range, y: Range) -> Range {
    match op {
        SimdOp::Sub => Range::new(x.min - y.max, x.max - y.min),
        SimdOp::Min => Range::new(x.min.min(y.min), x.max.min(y.max)),
        SimdOp::Max => Range::new(x.min.max(y.min), x.max.max(y.max)),
        SimdOp::Add | SimdOp::AbsDiff | SimdOp::Avrg => Range::new(x.min + y.min, x.max + y.max),
    }
}

/// The instruction that packs halves. Those that it needs are added to others.
fn packed([even, odd]: Words, packing: Packing, lines: &mut Vec<Line>) -> Line {
    let Packing::Signs { is_negated } = packing else {
        return Line::new(Opcode::Permute, [even, odd, word(PACKED)]);
    };
    let mut add = |line| {
        lines.push(line);
        Arg::Line(lines.len() as u16 - 1)
    };
    let signs = add(Line::new(Opcode::Permute, [even, odd, word(SIGNS)]));
    let flags = Line::new(Opcode::And, [signs, word(FLAGS), word(0)]);
    if is_negated { Line::new(Opcode::Xor, [add(flags), word(FLAGS), word(0)]) } else { flags }
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

/// A step that was compiled.
#[derive(PartialEq, Eq)]
struct Done {
    kind: Kind,
    reads: [Read; 2],
}

/// A register that a step writes, with its lanes.
struct LaneResult<'m> {
    register: &'m Register,
    step: usize,
    words: Words,
    packing: Packing,
}

/// How halves become bytes.
#[derive(Clone, Copy)]
enum Packing {
    Low,
    Signs { is_negated: bool },
}

/// Steps on halves.
#[derive(Default)]
pub(super) struct Halves<'m> {
    builder: Builder,
    done: Vec<Done>,
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
        let form = self.compute(step.kind, a, b);
        let reads = [a, b].map(|name| Read { name, step: self.value(name).step });
        self.done.push(Done { kind: step.kind, reads });
        let step = Some(self.len() - 1);
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
        self.done.len()
    }

    /// Whether two steps are the same. ptxas computes their result once.
    pub(super) fn has_equal(&self) -> bool {
        (0..self.len()).any(|at| self.done[..at].contains(&self.done[at]))
    }

    /// The steps with a result that lives on, or that such a step needs. ptxas leaves out the
    /// others.
    pub(super) fn needed(&self) -> Vec<bool> {
        let mut is_needed = vec![false; self.len()];
        self.results().for_each(|result| is_needed[result.step] = true);
        for at in (0..self.len()).rev() {
            let needs = if is_needed[at] { &self.done[at].reads[..] } else { &[] };
            needs.iter().filter_map(|read| read.step).for_each(|step| is_needed[step] = true);
        }
        is_needed
    }

    /// How often steps read a value, or a pair of values, that another one has read.
    pub(super) fn repeated(&self) -> u32 {
        let reads: Vec<Read> = self.done.iter().flat_map(|step| step.reads).collect();
        let is_again = |at: &usize| reads[..*at].contains(&reads[*at]);
        let is_pair_again = |at: &usize| {
            let [a, b] = self.done[*at].reads;
            self.done[..*at].iter().any(|it| it.reads == [a, b] || it.reads == [b, a])
        };
        let (reads, pairs) = (0..reads.len(), 0..self.len());
        (reads.filter(is_again).count() + pairs.filter(is_pair_again).count()) as u32
    }

    /// The machine instructions of all steps.
    pub(super) fn cost(&self, target: Target) -> u32 {
        let mut lines = self.builder.lines().to_vec();
        let packed: Vec<Line> =
            self.results().map(|result| packed(result.words, result.packing, &mut lines)).collect();
        machine_instructions(&lines, &packed, target)
    }

    /// The group of all steps, in the place of one of them.
    pub(super) fn group(&self, place: usize) -> Group {
        let results: Vec<LaneResult<'_>> = self.results().collect();
        // Lanes 0 and 2 of all results come first: so fewer registers are in use at a time.
        let words = [0, 1].map(|at| results.iter().map(move |result| result.words[at]));
        let mut words: Vec<Arg> = words.into_iter().flatten().collect();
        let mut lines = self.builder.used(&mut words);
        let (even, odd) = words.split_at(words.len() / 2);
        let pairs = even.iter().zip(odd).map(|(even, odd)| [*even, *odd]);
        let outputs = results.iter().zip(pairs).map(|(result, words)| {
            (result.register.clone(), packed(words, result.packing, &mut lines))
        });
        let outputs = outputs.collect();
        let inputs = self.inputs.iter().copied().cloned().collect();
        Group { members: self.len(), place, inputs, lines, outputs }
    }

    /// The values of registers that steps write and that live on. Others are read by later steps
    /// only.
    fn results(&self) -> impl Iterator<Item = LaneResult<'m>> {
        self.names.iter().filter_map(|name| {
            let Value { form, step: Some(step), .. } = name.value? else { return None };
            let (words, packing) = match form {
                Form::Packed(_) => return None,
                Form::Halves(words, _) => (words, Packing::Low),
                Form::Signs { words, is_negated } => (words, Packing::Signs { is_negated }),
            };
            let lives = name.is_input || name.in_function != Some(name.occurrences);
            lives.then_some(LaneResult { register: name.register, step, words, packing })
        })
    }

    fn compute(&mut self, kind: Kind, a: usize, b: usize) -> Form {
        let Kind { action, types: [atype, btype] } = kind;
        let (op, dtype, saturate) = match action {
            Action::Arithmetic { op, dtype, saturate } => (op, dtype, saturate),
            Action::Less { is_swapped, is_negated } => {
                let (x, y) = (self.extended(a, atype).0, self.extended(b, btype).0);
                let (x, y) = if is_swapped { (y, x) } else { (x, y) };
                // Differences of bytes are no larger than a half.
                return Form::Signs { words: self.words(SimdOp::Sub, x, y), is_negated };
            }
        };
        // Only low bytes matter to sums of low bytes.
        let wraps = !saturate && matches!(op, SimdOp::Add | SimdOp::Sub);
        if wraps {
            let ((x, x_range), (y, y_range)) = (self.low(a), self.low(b));
            let words = self.words(op, x, y);
            let range = x_range.zip(y_range).map(|(x, y)| range(op, x, y));
            return Form::Halves(words, range.filter(|range| HALF.contains_range(*range)));
        }
        let ((x, x_range), (y, y_range)) = (self.extended(a, atype), self.extended(b, btype));
        let (words, range) = (self.words(op, x, y), range(op, x_range, y_range));
        if saturate {
            self.clamped(words, range, byte(dtype))
        } else {
            Form::Halves(words, Some(range))
        }
    }

    fn words(&mut self, op: SimdOp, x: Words, y: Words) -> Words {
        match op {
            SimdOp::Sub => [0, 1].map(|at| self.builder.sub2(x[at], y[at])),
            SimdOp::Min => self.each(Opcode::Min2(Type::S32), x, y),
            SimdOp::Max => self.each(Opcode::Max2(Type::S32), x, y),
            SimdOp::Add | SimdOp::AbsDiff | SimdOp::Avrg => self.each(Opcode::Add2, x, y),
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

    /// The value that a register holds, as numbers.
    fn number(&mut self, name: usize) -> Value {
        let value = self.value(name);
        let Form::Signs { words, is_negated } = value.form else { return value };
        let words = words.map(|word| self.flags(word, is_negated));
        let form = Form::Halves(words, Some(Range::new(0, 1)));
        *self.names[name].value.insert(Value { form, ..value })
    }

    /// The signs of halves, or their complements, as 0 and 1.
    fn flags(&mut self, halves: Arg, is_negated: bool) -> Arg {
        let ones = word(0x0001_0001);
        let signs = self.builder.push(Opcode::Shr(Type::U32), &[halves, word(15)]);
        let signs = self.builder.and(signs, ones);
        if is_negated { self.builder.xor(signs, ones) } else { signs }
    }

    /// Halves whose low bytes are a register's lanes.
    fn low(&mut self, name: usize) -> (Words, Option<Range>) {
        let value = self.number(name);
        match (value.form, value.extended) {
            (Form::Halves(words, range), _) => (words, range),
            (_, [None, Some(words)]) => (words, Some(byte(Type::S32))),
            (_, _) => {
                let (words, range) = self.extended(name, Type::U32);
                (words, Some(range))
            }
        }
    }

    /// A register's lanes as bytes of a type, extended to halves.
    fn extended(&mut self, name: usize, ty: Type) -> (Words, Range) {
        let value = self.number(name);
        if let Form::Halves(words, Some(range)) = value.form
            && byte(ty).contains_range(range)
        {
            return (words, range);
        }
        let kind = usize::from(is_signed(ty));
        let words = value.extended[kind].unwrap_or_else(|| match value.form {
            Form::Packed(arg) => TAKEN[kind].map(|bytes| self.taken(arg, bytes)),
            Form::Halves(words, _) | Form::Signs { words, .. } => {
                words.map(|word| self.taken(word, TAKEN[kind][0]))
            }
        });
        if let Some(value) = &mut self.names[name].value {
            value.extended[kind] = Some(words);
        }
        (words, byte(ty))
    }

    fn taken(&mut self, from: Arg, bytes: u32) -> Arg {
        // This is as short, and runs on more units.
        if bytes == TAKEN[0][0] {
            return self.builder.and(from, word(BYTES));
        }
        self.builder.permute(from, word(0), bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::sequence::results;
    use super::super::Step;
    use super::*;
    use crate::ir::Program;
    use crate::video::{Instruction, Semantics};

    const TYPES: [Type; 2] = [Type::U32, Type::S32];

    /// The halves in a word.
    fn split(word: u64) -> [i128; 2] {
        let half = |at: u32| i128::from((word >> (16 * at)) as u16 as i16);
        [half(0), half(1)]
    }

    /// A step on words of bytes, as the manual has it.
    fn instruction(kind: Kind) -> Program {
        let name = |ty: Type| if ty == Type::S32 { "s32" } else { "u32" };
        let [a, b] = kind.types.map(name);
        let text = match kind.action {
            Action::Arithmetic { op, dtype, saturate } => {
                let op = match op {
                    SimdOp::Add => "vadd4",
                    SimdOp::Sub => "vsub4",
                    SimdOp::Min => "vmin4",
                    SimdOp::Max => "vmax4",
                    SimdOp::AbsDiff | SimdOp::Avrg => panic!("{op:?} is no step"),
                };
                let saturate = if saturate { ".sat" } else { "" };
                format!("{op}.{}.{a}.{b}{saturate} d, a, b, c;", name(dtype))
            }
            Action::Less { is_swapped, is_negated } => {
                let compare = match (is_swapped, is_negated) {
                    (false, false) => "lt",
                    (false, true) => "ge",
                    (true, false) => "gt",
                    (true, true) => "le",
                };
                format!("vset4.{a}.{b}.{compare} d, a, b, c;")
            }
        };
        let instruction: Instruction = text.parse().expect(&text);
        let program = instruction.lower(Semantics::Manual);
        for semantics in Semantics::ALL {
            assert_eq!(instruction.lower(semantics), program, "{text}");
        }
        program
    }

    /// Each kind of step gives, in each lane and for each pair of bytes, the byte that the
    /// instruction gives. Lanes in halves do not depend on each other. The halves lie in the
    /// range that later steps rely on.
    #[test]
    fn steps_are_exact() {
        let [d, a, b] = ["d", "a", "b"].map(|name| Register::new(name).unwrap());
        let ops = [SimdOp::Add, SimdOp::Sub, SimdOp::Min, SimdOp::Max];
        for at in 0..=ops.len() * 16 + 15 {
            let ty = |bit: usize| TYPES[at >> bit & 1];
            let (dtype, types, bit) = (ty(0), [ty(1), ty(2)], at >> 3 & 1 == 1);
            let action = match ops.get(at >> 4) {
                Some(&op) => Action::Arithmetic { op, dtype, saturate: bit },
                None => Action::Less { is_swapped: bit, is_negated: at & 1 == 1 },
            };
            let kind = Kind { action, types };
            let step = Step { kind, d: &d, sources: [&a, &b], c: &a };
            let program = instruction(kind);
            let mut halves = Halves::default();
            assert!(halves.push(&step, |_| None));
            let group = halves.group(0);
            let result = halves.names.iter().find(|name| *name.register == d).unwrap();
            let (words, range) = match result.value.unwrap().form {
                Form::Halves(words, range) => (words, range.unwrap()),
                Form::Signs { words, .. } => (words, Range::new(-383, 383)),
                Form::Packed(_) => panic!(),
            };
            // Each pair of bytes in each lane, with three others beside it.
            for first in 0..=0xffff {
                let pairs = [0, 1, 2, 3].map(|lane| (first + 0x4321 * lane) & 0xffff);
                let [x, y] = [8, 0].map(|low| {
                    pairs.iter().rev().fold(0, |word, pair| word << 8 | pair >> low & 0xff)
                });
                let expected = program.eval(x, y, 0);
                assert_eq!(group.eval(&[x, y]), [(&d, expected)], "{step:?} {x:08x} {y:08x}");
                let lines = halves.builder.lines();
                let values = results(lines, |arg| if arg == Arg::Register(0) { x } else { y });
                for word in words {
                    let Arg::Line(line) = word else { panic!() };
                    let own = split(values[usize::from(line)]);
                    assert!(own.iter().all(|own| range.contains(*own)), "{step:?}");
                }
            }
        }
    }

    /// Halves become bytes of a type, whatever their upper bytes are.
    #[test]
    fn halves_are_extended_again() {
        let register = Register::new("a").unwrap();
        for ty in TYPES {
            let mut halves = Halves::default();
            let name = halves.name(&register, |_| None).unwrap();
            let form = Form::Halves([Arg::Register(0), Arg::Register(1)], None);
            halves.names[name].value = Some(Value { form, step: None, extended: [None; 2] });
            let (words, range) = halves.extended(name, ty);
            assert_eq!(range, byte(ty));
            for half in 0..=0xffff_u32 {
                let inputs = [half << 16 | half ^ 0xffff, half | (half ^ 0xa5a5) << 16];
                let values = results(halves.builder.lines(), |arg| match arg {
                    Arg::Register(at) => inputs[usize::from(at)],
                    _ => 0,
                });
                for (input, word) in inputs.into_iter().zip(words) {
                    let Arg::Line(line) = word else { panic!() };
                    let expected = split(input.into()).map(|half| match ty {
                        Type::U32 => i128::from(half as u8),
                        Type::S32 => i128::from(half as u8 as i8),
                    });
                    assert_eq!(split(values[usize::from(line)]), expected);
                }
            }
        }
    }
}
