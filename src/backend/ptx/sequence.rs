//! Straight-line code in ordinary PTX, as a value that can be run and printed.

use crate::ir::Input;
use crate::isa::{Feature, PtxVersion, Target, WordRegisters};

pub use super::opcode::{Class, Opcode};

/// An operand that an instruction of a sequence reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Arg {
    /// A source of the video instruction, a 32-bit word.
    Input(Input),
    /// A register that a group of video instructions reads, by its number.
    Register(u16),
    /// The result of the line with this number.
    Line(u16),
    /// A constant. A place for a word takes its low 32 bits.
    Constant(u64),
}

/// One instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Line {
    /// The operation.
    pub opcode: Opcode,
    args: [Arg; 3],
}

impl Line {
    pub(super) fn new(opcode: Opcode, args: [Arg; 3]) -> Line {
        Line { opcode, args }
    }

    /// The operands that it reads.
    pub fn args(&self) -> &[Arg] {
        &self.args[..self.opcode.arity()]
    }

    /// The line with other operands.
    pub(super) fn on(&self, operand: impl Fn(Arg) -> Arg) -> Line {
        Line { args: self.args.map(operand), ..*self }
    }

    /// The result, after some lines with these results. `words` gives the words from outside.
    pub(super) fn eval(&self, results: &[u64], words: impl Fn(Arg) -> u32) -> u64 {
        self.opcode.eval(self.args.map(|arg| match arg {
            Arg::Input(_) | Arg::Register(_) => words(arg).into(),
            Arg::Line(at) => results.get(usize::from(at)).copied().unwrap_or(0),
            Arg::Constant(value) => value,
        }))
    }
}

/// The results of lines, one after the other.
pub(super) fn results(lines: &[Line], words: impl Fn(Arg) -> u32) -> Vec<u64> {
    let mut results: Vec<u64> = Vec::with_capacity(lines.len());
    for line in lines {
        results.push(line.eval(&results, &words));
    }
    results
}

/// For each line that gives a word, the only register that it depends on, if it is a known one.
pub(super) fn words_of_one(lines: &[Line], is_known: impl Fn(u16) -> bool) -> Vec<Option<u16>> {
    let mut found: Vec<Option<u16>> = Vec::with_capacity(lines.len());
    for line in lines {
        // Constants depend on no register, and may stand anywhere.
        let mut inputs = line.args().iter().filter_map(|arg| match *arg {
            Arg::Register(input) => Some(Some(input).filter(|input| is_known(*input))),
            Arg::Line(at) if lines[usize::from(at)].opcode == Opcode::Move => None,
            Arg::Line(at) => Some(found[usize::from(at)]),
            Arg::Constant(_) | Arg::Input(_) => None,
        });
        let first = inputs.next().flatten();
        let is_word = line.opcode.class() == Class::Word;
        found.push(first.filter(|_| is_word && inputs.all(|it| it == first)));
    }
    found
}

/// Ordinary PTX that computes the new `d` of a video instruction from `a`, `b` and `c`.
/// The last line gives the result. No line overwrites a value that a later line reads,
/// so `d` may be any of the sources.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Sequence {
    lines: Vec<Line>,
}

impl Sequence {
    /// The instructions, in order; at least one.
    #[doc(hidden)]
    pub fn lines(&self) -> &[Line] {
        &self.lines
    }

    /// The new `d` for source words.
    pub fn eval(&self, a: u32, b: u32, c: u32) -> u32 {
        let results = results(&self.lines, |arg| match arg {
            Arg::Input(input) => [a, b, c][input as usize],
            _ => 0,
        });
        results.last().map_or(0, |&result| result as u32)
    }

    /// The oldest target and PTX version that have all instructions of the sequence.
    pub fn requirement(&self) -> (Target, PtxVersion) {
        let needs = || self.lines.iter().map(|line| line.opcode.needs());
        let target = Target::all().find(|target| needs().all(|feature| target.has(feature)));
        let version = needs().filter_map(Feature::since).max();
        (target.unwrap_or(Target::NEWEST), version.unwrap_or(PtxVersion::new(2, 0)))
    }

    /// Whether no line is a video instruction itself.
    pub fn is_ordinary(&self) -> bool {
        self.lines.iter().all(|line| line.opcode.needs() != Feature::SimdVideo)
    }

    /// The sequence for registers with these declared types. Where its instructions
    /// would reject them, it works on copies, which cost nothing in machine code.
    #[must_use]
    pub fn for_registers(&self, registers: WordRegisters) -> Sequence {
        let halves = |line: &Line| line.opcode.takes_registers_only();
        match registers {
            WordRegisters::Untyped => self.clone(),
            WordRegisters::Integer if !self.lines.iter().any(halves) => self.clone(),
            WordRegisters::Integer | WordRegisters::Packed => self.on_copies(),
        }
    }

    /// The sequence that reads `b` where this one reads `a`, and `a` where this one reads `b`.
    pub(super) fn exchanged(&self) -> Sequence {
        let exchange = |arg| match arg {
            Arg::Input(Input::A) => Arg::Input(Input::B),
            Arg::Input(Input::B) => Arg::Input(Input::A),
            _ => arg,
        };
        let lines = self.lines.iter();
        let lines = lines.map(|line| line.on(exchange)).collect();
        Sequence { lines }
    }

    /// The lines, with registers of these numbers in the place of inputs. `None` if a line copies
    /// an input.
    pub(super) fn on_registers(&self, numbers: [u16; 3]) -> Option<Vec<Line>> {
        let register = |arg| match arg {
            Arg::Input(input) => Arg::Register(numbers[input as usize]),
            _ => arg,
        };
        let lines: Vec<Line> = self.lines.iter().map(|line| line.on(register)).collect();
        let copies =
            |line: &Line| line.opcode == Opcode::Move && matches!(line.args(), [Arg::Register(_)]);
        (!lines.iter().any(copies)).then_some(lines)
    }

    /// The sequence with these constants in the place of inputs.
    pub(super) fn with_constants(&self, constants: [Option<u32>; 3]) -> Sequence {
        let constant = |input| constants[input as usize].map_or(Arg::Input(input), word);
        let (builder, values) = Builder::of(&self.lines, constant);
        builder.finish(values.last().copied().unwrap_or(ZERO))
    }

    fn on_copies(&self) -> Sequence {
        let read = |input| self.lines.iter().any(|line| line.args().contains(&Arg::Input(input)));
        let inputs: Vec<Input> = Input::ALL.into_iter().filter(|input| read(*input)).collect();
        let copy = |arg| Line { opcode: Opcode::Move, args: [arg, ZERO, ZERO] };
        let mut lines: Vec<Line> = inputs.iter().map(|input| copy(Arg::Input(*input))).collect();
        for line in &self.lines {
            let args = line.args.map(|arg| match arg {
                Arg::Line(at) => Arg::Line(at + inputs.len() as u16),
                Arg::Input(input) => inputs
                    .iter()
                    .position(|own| *own == input)
                    .map_or(arg, |at| Arg::Line(at as u16)),
                Arg::Register(_) | Arg::Constant(_) => arg,
            });
            lines.push(Line { opcode: line.opcode, args });
        }
        lines.push(copy(Arg::Line(lines.len() as u16 - 1)));
        Sequence { lines }
    }
}

/// A word without bits, or a false predicate.
pub(super) const ZERO: Arg = Arg::Constant(0);
/// All bits of a word.
pub(super) const ONES: Arg = Arg::Constant(u32::MAX as u64);

/// Builds sequences. Equal lines are written once, constants are computed, and lines
/// without effect are left out.
#[doc(hidden)]
#[derive(Clone, Debug, Default)]
pub struct Builder {
    lines: Vec<Line>,
}

impl Builder {
    /// A builder of lines with other inputs, and the value of each line.
    pub(super) fn of(lines: &[Line], input: impl Fn(Input) -> Arg) -> (Builder, Vec<Arg>) {
        let mut builder = Builder::default();
        let mut values: Vec<Arg> = Vec::new();
        for line in lines {
            let args = line.args().iter().map(|arg| match *arg {
                Arg::Line(at) => values[usize::from(at)],
                Arg::Input(own) => input(own),
                Arg::Register(_) | Arg::Constant(_) => *arg,
            });
            let args: Vec<Arg> = args.collect();
            values.push(builder.push(line.opcode, &args));
        }
        (builder, values)
    }

    /// The value of an instruction on arguments of the right classes.
    pub fn push(&mut self, opcode: Opcode, args: &[Arg]) -> Arg {
        let mut all = [ZERO; 3];
        all[..args.len()].copy_from_slice(args);
        if let Some(value) = simplified(opcode, all) {
            return value;
        }
        if let (Opcode::Add, [Arg::Line(at), more @ Arg::Constant(_), _]) = (opcode, all)
            && let Line { opcode: Opcode::Mad, args: [x, y, known @ Arg::Constant(_)] } =
                self.lines[usize::from(at)]
        {
            let sum = self.add(known, more);
            return self.push(Opcode::Mad, &[x, y, sum]);
        }
        if opcode.takes_registers_only() {
            for arg in &mut all[..opcode.arity()] {
                if let Arg::Constant(_) = arg {
                    *arg = self.line(Opcode::Move, [*arg, ZERO, ZERO]);
                }
            }
        }
        self.line(opcode, all)
    }

    fn line(&mut self, opcode: Opcode, args: [Arg; 3]) -> Arg {
        let line = Line { opcode, args };
        let at = self.lines.iter().position(|other| *other == line).unwrap_or_else(|| {
            self.lines.push(line);
            self.lines.len() - 1
        });
        Arg::Line(at as u16)
    }

    /// A bitwise function of three words, from instructions on two words, which ptxas
    /// joins again.
    ///
    /// ptxas 12.9 and 13.5 crash on a `lop3` whose result is only tested for zero, as a
    /// program may do with `d`.
    fn split(&mut self, table: u8, args: [Arg; 3]) -> Arg {
        // Each word in turn selects one of two functions of the other two.
        let ways = (0..3u8).map(|pivot| {
            let (first, second) = [(2, 1), (2, 0), (1, 0)][usize::from(pivot)];
            let row = |on: bool, x: u8, y: u8| {
                let row = u8::from(on) << pivot | x << first | y << second;
                table >> row & 1
            };
            let part = |on| (0..4u8).fold(0, |all, at| all | row(on, at >> 1, at & 1) << at);
            (pivot, first, second, part(false), part(false) ^ part(true))
        });
        let cost = |table: u8| match table {
            0b0000 | 0b1111 | 0b1100 | 0b1010 => 0,
            0b1000 | 0b1110 | 0b0110 | 0b0011 | 0b0101 => 1,
            _ => 2,
        };
        let best = ways.min_by_key(|(_, _, _, off, change)| cost(*off) + cost(*change));
        let (pivot, first, second, off, change) = best.unwrap_or_default();
        // Bit 2 of a row is the first word.
        let arg = |bit: u8| args[2 - usize::from(bit)];
        let off = self.two(off, arg(first), arg(second));
        let change = self.two(change, arg(first), arg(second));
        let change = self.and(arg(pivot), change);
        self.xor(off, change)
    }

    /// A bitwise function of two words: bit `2x + y` of its truth table.
    fn two(&mut self, table: u8, x: Arg, y: Arg) -> Arg {
        match table {
            0b0000 => ZERO,
            0b1111 => word(u32::MAX),
            0b1100 => x,
            0b1010 => y,
            0b1000 => self.and(x, y),
            0b1110 => self.or(x, y),
            0b0110 => self.xor(x, y),
            0b0010 => {
                let x = self.push(Opcode::Not, &[x]);
                self.and(x, y)
            }
            0b0100 => {
                let y = self.push(Opcode::Not, &[y]);
                self.and(x, y)
            }
            _ => {
                let opposite = self.two(!table & 0b1111, x, y);
                self.push(Opcode::Not, &[opposite])
            }
        }
    }

    /// The sequence of the lines that a result depends on.
    #[must_use]
    pub fn finish(mut self, result: Arg) -> Sequence {
        let last = match result {
            Arg::Line(at) => Some(self.lines[usize::from(at)]),
            Arg::Input(_) | Arg::Register(_) | Arg::Constant(_) => None,
        };
        let result = match last {
            Some(Line { opcode: Opcode::Lop3(table), args }) => self.split(table, args),
            _ => result,
        };
        let result = match result {
            Arg::Line(at) => usize::from(at),
            Arg::Input(_) | Arg::Register(_) | Arg::Constant(_) => {
                let args = [result, ZERO, ZERO];
                self.lines.push(Line { opcode: Opcode::Move, args });
                self.lines.len() - 1
            }
        };
        Sequence { lines: self.used(&mut [Arg::Line(result as u16)]) }
    }

    /// The lines that some results depend on, the lines of the first result first. The results are
    /// numbered anew.
    pub(super) fn used(&self, results: &mut [Arg]) -> Vec<Line> {
        let mut moved: Vec<Option<u16>> = vec![None; self.lines.len()];
        let renumbered = |arg: Arg, moved: &[Option<u16>]| match arg {
            Arg::Line(read) => Arg::Line(moved[usize::from(read)].unwrap_or(read)),
            other => other,
        };
        let mut lines: Vec<Line> = Vec::new();
        for result in results {
            let mut is_needed = vec![false; self.lines.len()];
            let mut ends = vec![*result];
            while let Some(end) = ends.pop() {
                if let Arg::Line(at) = end
                    && moved[usize::from(at)].is_none()
                    && !std::mem::replace(&mut is_needed[usize::from(at)], true)
                {
                    ends.extend(self.lines[usize::from(at)].args());
                }
            }
            for (at, Line { opcode, args }) in self.lines.iter().enumerate() {
                if is_needed[at] {
                    let args = args.map(|arg| renumbered(arg, &moved));
                    moved[at] = Some(lines.len() as u16);
                    lines.push(Line { opcode: *opcode, args });
                }
            }
            *result = renumbered(*result, &moved);
        }
        lines
    }

    /// All lines so far.
    pub(super) fn lines(&self) -> &[Line] {
        &self.lines
    }

    pub(crate) fn add(&mut self, x: Arg, y: Arg) -> Arg {
        self.push(Opcode::Add, &[x, y])
    }

    pub(crate) fn sub(&mut self, x: Arg, y: Arg) -> Arg {
        self.push(Opcode::Sub, &[x, y])
    }

    /// Differences of halves.
    pub fn sub2(&mut self, x: Arg, y: Arg) -> Arg {
        // ptxas makes one instruction of this.
        let halves = [Opcode::LowHalf, Opcode::HighHalf].map(|half| {
            let half = self.push(half, &[y]);
            self.push(Opcode::NegateHalf, &[half])
        });
        let negative = self.push(Opcode::JoinHalves, &halves);
        self.push(Opcode::Add2, &[x, negative])
    }

    pub(crate) fn and(&mut self, x: Arg, y: Arg) -> Arg {
        self.push(Opcode::And, &[x, y])
    }

    pub(crate) fn or(&mut self, x: Arg, y: Arg) -> Arg {
        self.push(Opcode::Or, &[x, y])
    }

    pub(crate) fn xor(&mut self, x: Arg, y: Arg) -> Arg {
        self.push(Opcode::Xor, &[x, y])
    }

    pub(crate) fn permute(&mut self, x: Arg, y: Arg, selector: u32) -> Arg {
        // Bytes of one constant that enter a word one after the other enter it at once. Zeros do not:
        // the costs of sequences with them were measured without this.
        if let (Arg::Line(at), Arg::Constant(1..)) = (x, y)
            && let Line { opcode: Opcode::Permute, args: [inner, same, Arg::Constant(first)] } =
                self.lines[usize::from(at)]
            && same == y
        {
            let of_first = |nibble: u32| first as u32 >> (4 * (nibble & 3)) & 15 | nibble & 8;
            let nibble = |at: u32| match selector >> (4 * at) & 15 {
                own if own & 4 == 0 => of_first(own) << (4 * at),
                own => own << (4 * at),
            };
            let both = (0..4).map(nibble).sum();
            return self.push(Opcode::Permute, &[inner, y, word(both)]);
        }
        self.push(Opcode::Permute, &[x, y, word(selector)])
    }

    pub(crate) fn lop3(&mut self, x: Arg, y: Arg, z: Arg, f: fn(u8, u8, u8) -> u8) -> Arg {
        self.push(Opcode::Lop3(f(0xf0, 0xcc, 0xaa)), &[x, y, z])
    }
}

/// A constant word.
pub(crate) fn word(value: u32) -> Arg {
    Arg::Constant(value.into())
}

/// The value of a line that need not be written.
fn simplified(opcode: Opcode, args: [Arg; 3]) -> Option<Arg> {
    let constant = |arg: Arg| match arg {
        Arg::Constant(value) => Some(value),
        Arg::Input(_) | Arg::Register(_) | Arg::Line(_) => None,
    };
    let known = args.map(|arg| constant(arg).unwrap_or(0));
    if args[..opcode.arity()].iter().all(|arg| constant(*arg).is_some()) {
        return Some(Arg::Constant(opcode.eval(known)));
    }
    opcode.folded(args)
}
