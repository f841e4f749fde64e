//! Compiles SIMD instructions to instructions on wider lanes.

mod floats;

use std::borrow::Cow;

use super::super::sequence::{Arg, Builder, Line, words_of_one};
use super::cost::Count;
use super::layout::{LaneWords, Layout, Packing, is_signed};
use super::{Action, Group, Kind, Step, Uses};
use crate::ir::Range;
use crate::isa::{Target, Type};
use crate::video::{Register, SimdOp};

use floats::Numbers;

/// The lanes that a register holds.
#[derive(Clone, Copy)]
struct LaneValue {
    form: Form,
    /// The step that computed the lanes, and what reads the step's result.
    step: Option<(usize, Uses)>,
    /// The lanes, read as each type and extended to wider lanes.
    extended: [Option<LaneWords>; 2],
    /// The shapes in which the lanes exist as floating-point numbers, one bit for each shape.
    shapes: u8,
}

#[derive(Clone, Copy)]
enum Form {
    /// A word of lanes.
    Packed(Arg),
    /// Wider lanes whose lower bits are the lanes. They lie in the range; without a range, their
    /// upper bits may be anything.
    Wide(LaneWords, Option<Range>),
    /// Wider lanes in a range, to be limited to the range of a type. Packing limits them.
    Unlimited(LaneWords, Range, Type),
    /// Floating-point numbers.
    Floats(Numbers),
    /// Wider lanes that are negative where a lane is 1 or, if `is_negated`, where it is 0.
    Signs { words: LaneWords, is_negated: bool },
}

/// The range of results for operands in these ranges.
fn range(op: SimdOp, x: Range, y: Range) -> Range {
    match op {
        SimdOp::Sub => x.minus(y),
        SimdOp::Min => x.least(y),
        SimdOp::Max => x.greatest(y),
        SimdOp::Add | SimdOp::AbsDiff | SimdOp::Avrg => x.plus(y),
    }
}

/// A register that steps name.
#[derive(Clone)]
struct NamedRegister<'m> {
    register: &'m Register,
    /// Whether its value before the group is the same in all iterations of the loop around the
    /// group.
    is_before_loop: bool,
    /// Its value now, if a step has named it as a source or written it.
    value: Option<LaneValue>,
}

/// A value that a step reads: what an earlier step wrote to a name, or the name's initial value.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Read {
    name: usize,
    step: Option<usize>,
}

/// A step that was compiled.
#[derive(Clone)]
struct Done {
    kind: Kind,
    reads: [Read; 2],
}

impl Done {
    fn is_same(&self, other: &Done) -> bool {
        let [a, b] = other.reads;
        self.kind == other.kind
            && (self.reads == other.reads || self.kind.commutes() && self.reads == [b, a])
    }
}

/// A register that a step writes, with its lanes.
struct LaneResult<'m> {
    register: &'m Register,
    step: usize,
    words: LaneWords,
    packing: Packing,
}

/// Steps on wider lanes.
#[derive(Clone)]
pub(super) struct Steps<'m> {
    layout: Layout,
    builder: Builder,
    done: Vec<Done>,
    names: Vec<NamedRegister<'m>>,
    inputs: Vec<&'m Register>,
    /// The place after the last step.
    end: usize,
}

impl<'m> Steps<'m> {
    pub(super) fn new(layout: Layout) -> Steps<'m> {
        let (done, names, inputs) = (Vec::new(), Vec::new(), Vec::new());
        Steps { layout, builder: Builder::default(), done, names, inputs, end: 0 }
    }

    /// Adds a step. `false` if its names are ambiguous: two of them may be one register or two.
    pub(super) fn push(&mut self, step: &Step<'m>) -> bool {
        let [a, b] = step.sources;
        let named = [a, b, step.c, step.d].map(|register| self.name(register));
        let [Some(a), Some(b), Some(_), Some(d)] = named else { return false };
        for (name, is_before_loop) in [a, b].into_iter().zip(step.uses.are_before_loop) {
            self.names[name].is_before_loop |= is_before_loop;
        }
        let form = self.compute(step.kind, a, b);
        let reads = [a, b].map(|name| {
            let step = self.value(name).step.map(|(step, _)| step);
            Read { name, step }
        });
        self.done.push(Done { kind: step.kind, reads });
        self.end = step.uses.place + 1;
        let step = Some((self.len() - 1, step.uses));
        self.names[d].value = Some(LaneValue { form, step, extended: [None; 2], shapes: 0 });
        true
    }

    /// The place of a name, new or known. `None` if it may be the same register as another name.
    fn name(&mut self, register: &'m Register) -> Option<usize> {
        if let Some(known) = self.names.iter().position(|it| it.register == register) {
            return Some(known);
        }
        if self.names.iter().any(|it| it.register.names_same(register)) {
            return None;
        }
        self.names.push(NamedRegister { register, is_before_loop: false, value: None });
        Some(self.names.len() - 1)
    }

    pub(super) fn len(&self) -> usize {
        self.done.len()
    }

    /// Whether two steps are the same. ptxas computes their result once.
    pub(super) fn has_equal(&self) -> bool {
        (0..self.len()).any(|at| self.done[..at].iter().any(|it| it.is_same(&self.done[at])))
    }

    /// Whether each step is needed: its result is live after all steps, or a needed step reads it.
    /// ptxas leaves out other steps.
    pub(super) fn needed(&self) -> Vec<bool> {
        let mut is_needed = vec![false; self.len()];
        self.results().for_each(|result| is_needed[result.step] = true);
        for at in (0..self.len()).rev() {
            let needs = if is_needed[at] { &self.done[at].reads[..] } else { &[] };
            needs.iter().filter_map(|read| read.step).for_each(|step| is_needed[step] = true);
        }
        is_needed
    }

    /// How often steps read again a value, or a pair of values.
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
    pub(super) fn cost(&self, target: Target) -> Count {
        let steps = self.finished();
        let mut lines = steps.builder.lines().to_vec();
        let packed = |LaneResult { words, packing, .. }: LaneResult<'_>| {
            self.layout.packed(words, packing, &mut lines)
        };
        let packed: Vec<Line> = steps.results().map(packed).collect();
        Count::of(&lines, &packed, &steps.before_loop(&lines), target)
    }

    /// For each line that may stand before the loop, the input that the line depends on.
    fn before_loop(&self, lines: &[Line]) -> Vec<Option<u16>> {
        let is_same = |input: u16| {
            let register = self.inputs[usize::from(input)];
            self.names.iter().any(|it| it.register == register && it.is_before_loop)
        };
        words_of_one(lines, is_same)
    }

    /// The group of all steps, in the place of one of them.
    pub(super) fn group(&self, place: usize) -> Group {
        let steps = self.finished();
        let results: Vec<LaneResult<'_>> = steps.results().collect();
        // The first words of all results come first: so fewer registers are in use at a time.
        let words = [0, 1].map(|at| results.iter().map(move |result| result.words[at]));
        let mut words: Vec<Arg> = words.into_iter().flatten().collect();
        let mut lines = steps.builder.used(&mut words);
        let (even, odd) = words.split_at(words.len() / 2);
        let pairs = even.iter().zip(odd).map(|(even, odd)| [*even, *odd]);
        let outputs = results.iter().zip(pairs).map(|(result, words)| {
            (result.register.clone(), self.layout.packed(words, result.packing, &mut lines))
        });
        let outputs = outputs.collect();
        let inputs = self.inputs.iter().copied().cloned().collect();
        let before_loop = self.before_loop(&lines);
        let (members, layout) = (self.len(), self.layout);
        Group { members, place, layout, inputs, lines, before_loop, outputs }
    }

    /// The same steps with results that can be packed.
    fn finished(&self) -> Cow<'_, Self> {
        let Layout::Floats(floats) = self.layout else { return Cow::Borrowed(self) };
        let mut steps = self.clone();
        for (name, NamedRegister { value, .. }) in self.names.iter().enumerate() {
            if value.is_some_and(|value| self.is_result(&value)) {
                steps.finish_floats(floats, name);
            }
        }
        Cow::Owned(steps)
    }

    /// The registers that steps write and that are live after all steps. Only later steps read the
    /// other results.
    fn results(&self) -> impl Iterator<Item = LaneResult<'m>> {
        self.names.iter().filter_map(|name| {
            let value = name.value.filter(|value| self.is_result(value))?;
            let LaneValue { form, step: Some((step, _)), .. } = value else { return None };
            let (words, packing) = match form {
                Form::Packed(_) => return None,
                Form::Wide(words, _) => (words, Packing::Low),
                Form::Unlimited(words, _, ty) => (words, Packing::Saturated(ty)),
                Form::Floats(Numbers { words, shape, .. }) => {
                    (words, Packing::Flipped(shape.flipped().unwrap_or(0)))
                }
                Form::Signs { words, is_negated } => (words, Packing::Signs { is_negated }),
            };
            Some(LaneResult { register: name.register, step, words, packing })
        })
    }

    /// Whether a step computed a value that others than these steps may read.
    fn is_result(&self, value: &LaneValue) -> bool {
        value.step.is_some_and(|(_, uses)| uses.is_read_outside || uses.last >= self.end)
    }

    fn compute(&mut self, kind: Kind, a: usize, b: usize) -> Form {
        if let Layout::Floats(floats) = self.layout {
            return self.compute_floats(floats, kind, [a, b]);
        }
        let Kind { action, types: [atype, btype] } = kind;
        let (op, dtype, saturate) = match action {
            Action::Arithmetic { op, dtype, saturate } => (op, dtype, saturate),
            Action::Less { is_swapped, is_negated } => {
                let (x, y) = (self.extended(a, atype).0, self.extended(b, btype).0);
                let (x, y) = if is_swapped { (y, x) } else { (x, y) };
                // The sign of a wider lane is the sign of the exact difference.
                return Form::Signs { words: self.words(SimdOp::Sub, x, y), is_negated };
            }
        };
        // The low bits of a sum depend only on low bits.
        let wraps = !saturate && matches!(op, SimdOp::Add | SimdOp::Sub);
        if wraps {
            let ((x, x_range), (y, y_range)) = (self.low(a), self.low(b));
            let words = self.words(op, x, y);
            let range = x_range.zip(y_range).map(|(x, y)| range(op, x, y));
            let wide = self.layout.wide();
            return Form::Wide(words, range.filter(|range| wide.contains_range(*range)));
        }
        if matches!(op, SimdOp::Min | SimdOp::Max)
            && let Some(ty) = self.common_limit([(a, atype), (b, btype)])
            && (!saturate || dtype == ty)
        {
            // Limiting all numbers keeps their order, so limiting can wait.
            let [(x, x_range), (y, y_range)] = [a, b].map(|name| self.unlimited(name, ty));
            let words = self.words(op, x, y);
            return self.limited(words, range(op, x_range, y_range), ty);
        }
        let ((x, x_range), (y, y_range)) = (self.extended(a, atype), self.extended(b, btype));
        let (words, range) = (self.words(op, x, y), range(op, x_range, y_range));
        if saturate { self.limited(words, range, dtype) } else { Form::Wide(words, Some(range)) }
    }

    fn words(&mut self, op: SimdOp, x: LaneWords, y: LaneWords) -> LaneWords {
        [0, 1].map(|at| self.layout.computed(&mut self.builder, op, x[at], y[at]))
    }

    /// The common type of the sources, if one of them is still to be limited to the type's range.
    fn common_limit(&mut self, sources: [(usize, Type); 2]) -> Option<Type> {
        let ty = sources[0].1;
        let limits = sources.map(|(name, own)| match self.value(name).form {
            Form::Unlimited(_, _, limit) | Form::Floats(Numbers { limit: Some(limit), .. }) => {
                (own == ty && limit == ty).then_some(true)
            }
            _ => (own == ty).then_some(false),
        });
        let [Some(one), Some(other)] = limits else { return None };
        (one || other).then_some(ty)
    }

    /// Wider lanes that are still to be limited to a type, or are in its range.
    fn unlimited(&mut self, name: usize, ty: Type) -> (LaneWords, Range) {
        match self.value(name).form {
            Form::Unlimited(words, range, _) => (words, range),
            _ => self.extended(name, ty),
        }
    }

    /// Wider lanes limited to the range of a type, now or when they are packed.
    fn limited(&mut self, words: LaneWords, range: Range, ty: Type) -> Form {
        if self.layout == Layout::Words && !self.layout.lane(ty).contains_range(range) {
            return Form::Unlimited(words, range, ty);
        }
        let (words, range) = self.clamped(words, range, ty);
        Form::Wide(words, Some(range))
    }

    fn clamped(&mut self, mut words: LaneWords, mut range: Range, ty: Type) -> (LaneWords, Range) {
        let to = self.layout.lane(ty);
        if range.max > to.max {
            words = self.words(SimdOp::Min, words, [self.layout.number(to.max); 2]);
            range.max = to.max;
        }
        if range.min < to.min {
            words = self.words(SimdOp::Max, words, [self.layout.number(to.min); 2]);
            range.min = to.min;
        }
        (words, range)
    }

    /// The value that a register holds: an input unless a step wrote the register.
    fn value(&mut self, name: usize) -> LaneValue {
        let name = &mut self.names[name];
        *name.value.get_or_insert_with(|| {
            let input = self.inputs.len() as u16;
            self.inputs.push(name.register);
            let form = Form::Packed(Arg::Register(input));
            LaneValue { form, step: None, extended: [None; 2], shapes: 0 }
        })
    }

    /// The value that a register holds, as numbers.
    fn number(&mut self, name: usize) -> LaneValue {
        let value = self.value(name);
        let (words, range) = match value.form {
            Form::Signs { words, is_negated } => {
                let flags = |word| self.layout.flags(&mut self.builder, word, is_negated);
                (words.map(flags), Range::new(0, 1))
            }
            Form::Unlimited(words, range, ty) => self.clamped(words, range, ty),
            Form::Packed(_) | Form::Wide(..) | Form::Floats(_) => return value,
        };
        *self.names[name].value.insert(LaneValue { form: Form::Wide(words, Some(range)), ..value })
    }

    /// Wider lanes whose lower bits are a register's lanes.
    fn low(&mut self, name: usize) -> (LaneWords, Option<Range>) {
        let value = self.number(name);
        match (value.form, value.extended) {
            (Form::Wide(words, range), _) => (words, range),
            (_, [None, Some(words)]) => (words, Some(self.layout.lane(Type::S32))),
            (_, _) => {
                let (words, range) = self.extended(name, Type::U32);
                (words, Some(range))
            }
        }
    }

    /// A register's lanes, read as a type and extended to wider lanes.
    fn extended(&mut self, name: usize, ty: Type) -> (LaneWords, Range) {
        let value = self.number(name);
        let lane = self.layout.lane(ty);
        if let Form::Wide(words, Some(range)) = value.form
            && lane.contains_range(range)
        {
            return (words, range);
        }
        let kind = usize::from(is_signed(ty));
        let (layout, builder) = (self.layout, &mut self.builder);
        let words = value.extended[kind].unwrap_or_else(|| match value.form {
            Form::Packed(arg) => [0, 1].map(|place| layout.taken(builder, arg, place, ty)),
            // Lane 0 of a word is its lower bits.
            Form::Wide(words, _)
            | Form::Unlimited(words, ..)
            | Form::Signs { words, .. }
            | Form::Floats(Numbers { words, .. }) => {
                words.map(|word| layout.taken(builder, word, 0, ty))
            }
        });
        if let Some(value) = &mut self.names[name].value {
            value.extended[kind] = Some(words);
        }
        (words, lane)
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::sequence::results;
    use super::super::Step;
    use super::super::layout::Floats;
    use super::*;
    use crate::ir::Program;
    use crate::video::{Instruction, Semantics};

    const TYPES: [Type; 2] = [Type::U32, Type::S32];

    /// The wider lanes in a word.
    fn split(layout: Layout, word: u64) -> Vec<i128> {
        let half = |at: u32| i128::from((word >> (16 * at)) as u16 as i16);
        match layout {
            Layout::Halves => vec![half(0), half(1)],
            // A sign and a magnitude.
            Layout::Floats(_) => [half(0), half(1)]
                .map(|half| if half < 0 { -(half & 0x7fff) } else { half })
                .to_vec(),
            Layout::Words => vec![i128::from(word as u32 as i32)],
        }
    }

    /// The manual's program for a step.
    fn instruction(layout: Layout, kind: Kind) -> Program {
        let lanes = layout.width().lanes();
        let name = |ty: Type| if ty == Type::S32 { "s32" } else { "u32" };
        let [a, b] = kind.types.map(name);
        let text = match kind.action {
            Action::Arithmetic { op, dtype, saturate } => {
                let op = match op {
                    SimdOp::Add => "vadd",
                    SimdOp::Sub => "vsub",
                    SimdOp::Min => "vmin",
                    SimdOp::Max => "vmax",
                    SimdOp::AbsDiff | SimdOp::Avrg => panic!("{op:?} is no step"),
                };
                let saturate = if saturate { ".sat" } else { "" };
                format!("{op}{lanes}.{}.{a}.{b}{saturate} d, a, b, c;", name(dtype))
            }
            Action::Less { is_swapped, is_negated } => {
                let compare = match (is_swapped, is_negated) {
                    (false, false) => "lt",
                    (false, true) => "ge",
                    (true, false) => "gt",
                    (true, true) => "le",
                };
                format!("vset{lanes}.{a}.{b}.{compare} d, a, b, c;")
            }
        };
        let instruction: Instruction = text.parse().expect(&text);
        let program = instruction.lower(Semantics::Manual);
        for semantics in Semantics::ALL {
            assert_eq!(instruction.lower(semantics), program, "{text}");
        }
        program
    }

    /// Pairs of words. For bytes: each pair of bytes in one lane, beside three other pairs. For
    /// halves: edges with edges, and with many halves.
    fn pairs(layout: Layout) -> Vec<[u32; 2]> {
        const EDGES: [u32; 12] =
            [0, 1, 2, 0x7f, 0xff, 0x7ffe, 0x7fff, 0x8000, 0x8001, 0xbfff, 0xfffe, 0xffff];
        let bytes = (0..=0xffff).step_by(4).map(|first| {
            // 0x4321 leaves 1 of 4: the lanes have the pairs that `step_by` passes over.
            let pairs = [0, 1, 2, 3].map(|lane| (first + 0x4321 * lane) & 0xffff);
            [8, 0]
                .map(|low| pairs.iter().rev().fold(0, |word, pair| word << 8 | pair >> low & 0xff))
        });
        let halves = EDGES.into_iter().flat_map(|edge| {
            let all = (0..=0xffff).step_by(97).chain(EDGES);
            all.flat_map(move |half| {
                let [edge, half] = [edge << 16 | half, half << 16 | edge];
                [[edge, half], [half, edge], [edge, edge.rotate_left(3)]]
            })
        });
        match layout {
            Layout::Halves | Layout::Floats(_) => bytes.collect(),
            Layout::Words => halves.collect(),
        }
    }

    /// Each kind of step gives, in each lane and for each pair of words, the lane that the
    /// instruction gives. The wider lanes lie in the range that later steps rely on.
    #[test]
    fn steps_are_exact() {
        let [d, a, b] = ["d", "a", "b"].map(|name| Register::new(name).unwrap());
        let ops = [SimdOp::Add, SimdOp::Sub, SimdOp::Min, SimdOp::Max];
        let floats = [false, true]
            .map(|complements| Layout::Floats(Floats { has_extrema: !complements, complements }));
        let of_bytes = [Layout::Halves].into_iter().chain(floats).collect();
        for layouts in [vec![Layout::Words], of_bytes] {
            let pairs = pairs(layouts[0]);
            for at in 0..=ops.len() * 16 + 15 {
                let ty = |bit: usize| TYPES[at >> bit & 1];
                let (dtype, types, bit) = (ty(0), [ty(1), ty(2)], at >> 3 & 1 == 1);
                let action = match ops.get(at >> 4) {
                    Some(&op) => Action::Arithmetic { op, dtype, saturate: bit },
                    None => Action::Less { is_swapped: bit, is_negated: at & 1 == 1 },
                };
                let kind = Kind { action, types };
                let program = instruction(layouts[0], kind);
                let expected: Vec<u32> =
                    pairs.iter().map(|&[x, y]| program.eval(x, y, 0)).collect();
                for &layout in &layouts {
                    let step = Step {
                        width: layout.width(),
                        kind,
                        d: &d,
                        sources: [&a, &b],
                        c: &a,
                        uses: Uses::UNKNOWN,
                    };
                    let mut steps = Steps::new(layout);
                    assert!(steps.push(&step));
                    let group = steps.group(0);
                    let result = steps.names.iter().find(|name| *name.register == d).unwrap();
                    let (words, range) = match result.value.unwrap().form {
                        Form::Wide(words, range) => (words, range.unwrap()),
                        Form::Unlimited(words, range, _) => (words, range),
                        Form::Floats(Numbers { words, shape, range, .. }) => {
                            (words, shape.halves(range))
                        }
                        Form::Signs { words, .. } => (words, layout.wide()),
                        Form::Packed(_) => panic!(),
                    };
                    for (&[x, y], &expected) in pairs.iter().zip(&expected) {
                        assert_eq!(
                            group.eval(&[x, y]),
                            [(&d, expected)],
                            "{step:?} {x:08x} {y:08x}"
                        );
                        let lines = steps.builder.lines();
                        let values =
                            results(lines, |arg| if arg == Arg::Register(0) { x } else { y });
                        for word in words {
                            let Arg::Line(line) = word else { panic!() };
                            let own = split(layout, values[usize::from(line)]);
                            assert!(own.iter().all(|own| range.contains(*own)), "{step:?}");
                        }
                    }
                }
            }
        }
    }

    /// The low bytes of halves that hold complements are lanes again. A sum with `.sat` is limited
    /// at its upper end as the complement of a source less the other source, so the complement is
    /// there for the difference.
    #[test]
    fn complements_are_read_as_bytes_again() {
        let layout = Layout::Floats(Floats { has_extrema: false, complements: true });
        let names = ["a", "b", "e", "x", "y", "z"].map(|name| Register::new(name).unwrap());
        let [a, b, e, x, y, z] = &names;
        let kind = |op, saturate| {
            let action = Action::Arithmetic { op, dtype: Type::U32, saturate };
            Kind { action, types: [Type::U32; 2] }
        };
        let kinds = [kind(SimdOp::Add, true), kind(SimdOp::Sub, false), kind(SimdOp::Max, false)];
        let [sum, difference, most] = kinds.map(|kind| instruction(layout, kind));
        for summands in [[a, b], [b, a]] {
            let mut steps = Steps::new(layout);
            for (kind, d, sources) in
                [(kinds[0], x, summands), (kinds[1], y, [b, e]), (kinds[2], z, [y, e])]
            {
                let uses = Uses::UNKNOWN;
                let step = Step { width: layout.width(), kind, d, sources, c: a, uses };
                assert!(steps.push(&step));
            }
            let group = steps.group(0);
            for [p, q] in pairs(layout) {
                let words = [p, q, p.rotate_left(8)];
                let word = |register: &Register| {
                    words[names.iter().position(|name| name == register).unwrap()]
                };
                let inputs: Vec<u32> = group.inputs().iter().map(word).collect();
                let left = difference.eval(q, words[2], 0);
                let expected =
                    [(x, sum.eval(p, q, 0)), (y, left), (z, most.eval(left, words[2], 0))];
                assert_eq!(group.eval(&inputs), expected, "{p:08x} {q:08x}");
            }
        }
    }

    /// Wider lanes become lanes of a type, whatever their upper bits are.
    #[test]
    fn wider_lanes_are_extended_again() {
        let register = Register::new("a").unwrap();
        for (layout, ty) in [Layout::Halves, Layout::Words]
            .into_iter()
            .flat_map(|layout| TYPES.map(|ty| (layout, ty)))
        {
            let mut steps = Steps::new(layout);
            let name = steps.name(&register).unwrap();
            let form = Form::Wide([Arg::Register(0), Arg::Register(1)], None);
            steps.names[name].value =
                Some(LaneValue { form, step: None, extended: [None; 2], shapes: 0 });
            let (words, range) = steps.extended(name, ty);
            assert_eq!(range, layout.lane(ty));
            for half in 0..=0xffff_u32 {
                let inputs = [half << 16 | half ^ 0xffff, half | (half ^ 0xa5a5) << 16];
                let values = results(steps.builder.lines(), |arg| match arg {
                    Arg::Register(at) => inputs[usize::from(at)],
                    _ => 0,
                });
                for (input, word) in inputs.into_iter().zip(words) {
                    let Arg::Line(line) = word else { panic!() };
                    let expected =
                        split(layout, input.into()).into_iter().map(|wide| match (layout, ty) {
                            (Layout::Halves | Layout::Floats(_), Type::U32) => {
                                i128::from(wide as u8)
                            }
                            (Layout::Halves | Layout::Floats(_), Type::S32) => {
                                i128::from(wide as u8 as i8)
                            }
                            (Layout::Words, Type::U32) => i128::from(wide as u16),
                            (Layout::Words, Type::S32) => i128::from(wide as u16 as i16),
                        });
                    let expected: Vec<i128> = expected.collect();
                    assert_eq!(split(layout, values[usize::from(line)]), expected);
                }
            }
        }
    }
}
