//! Pictures of what an instruction does with the parts of its sources.
//!
//! A picture is read from the instruction's program, so it also shows what is computed where ptxas
//! and the manual differ.

mod svg;
mod text;

use crate::ir::{Input, Op, Program, Stage, Value};
use crate::video::{Instruction, Operation, Register, Semantics, Source};

pub(crate) use svg::{document, escaped};
pub(crate) use text::parts;

/// A picture of an instruction as SVG: the parts of its sources, arrows to the lanes that read
/// them, what each lane computes, and how the lanes make the result. If the `words` in `a`, `b` and
/// `c` are given, the picture shows all values. Semantics with the same meaning share a drawing.
///
/// Arrows have the attributes `data-from` (such as `b.b3`) and `data-to`. Boxes have `data-box`
/// and, if `words` are given, `data-value` (decimal, signed if the number is signed).
///
/// ```
/// use vptx::{Instruction, Semantics, explain};
///
/// let instruction: Instruction = "vmin4.s32.u32.s32 d.b1, a.b7654, b, c;".parse()?;
/// let words = [0x01ff_7f80, 0x8081_7e03, 5];
/// let picture = explain::svg(&instruction, Some(words), &[Semantics::Manual]);
/// assert!(picture.contains(r#"data-from="b.b1" data-to="lane 1""#));
/// assert!(picture.contains(r#"data-box="lane 1, compute" data-value="126""#));
/// # Ok::<(), vptx::ParseInstructionError>(())
/// ```
pub fn svg(instruction: &Instruction, words: Option<[u32; 3]>, semantics: &[Semantics]) -> String {
    let meanings = instruction.meanings(semantics).into_iter();
    let pictures =
        meanings.map(|(names, program)| (names, Picture::of(instruction, &program, words)));
    svg::draw(&instruction.to_string(), &pictures.collect::<Vec<_>>())
}

/// What a program does with the parts of its sources.
struct Picture {
    words: Vec<Word>,
    /// The columns from the highest part of `d` down, or from the last lane to the first.
    columns: Vec<Column>,
    end: End,
    /// The names of the destination and of `c`.
    d: String,
    c: String,
    result: Option<u32>,
    /// The value of `c`.
    third: Option<u32>,
}

/// A source that lanes read.
struct Word {
    input: Input,
    /// The name of its register.
    name: String,
    /// The bits of each part that the picture shows: 8, 16 or 32.
    width: u8,
    value: Option<u32>,
}

/// What leads to a part of the result, or to a term of the last operation.
enum Column {
    Lane(Lane),
    /// The word `c` or a part of it.
    Kept(Part),
}

struct Lane {
    /// `lane 2`; `result` for the only lane of a scalar instruction.
    name: String,
    reads: Vec<Read>,
    /// From the first stage to the last.
    boxes: Vec<Box>,
    /// The part of `d` that the lane writes.
    to: Part,
}

/// Bits of a source that a lane reads as a number.
#[derive(Clone, PartialEq, Eq)]
struct Read {
    input: Input,
    part: Part,
    signed: bool,
    /// The name of the part: `%r1.b3`.
    name: String,
    value: Option<i128>,
}

impl Read {
    /// `s8 a.b3 = -1`
    fn text(&self) -> String {
        let sign = if self.signed { 's' } else { 'u' };
        let value = self.value.map(|value| format!(" = {value}")).unwrap_or_default();
        format!("{sign}{} {}{value}", self.part.width, self.name)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Part {
    low: u8,
    width: u8,
}

impl Part {
    const WORD: Part = Part { low: 0, width: 32 };

    /// The selector of the part: `.b3`, `.h1`, or nothing for a word.
    fn selector(self) -> String {
        let number = self.low / self.width.max(1);
        match self.width {
            8 => format!(".b{number}"),
            16 => format!(".h{number}"),
            _ => String::new(),
        }
    }

    fn of(self, word: u32) -> u32 {
        (u64::from(word) >> self.low & ((1 << self.width) - 1)) as u32
    }
}

/// What a stage does.
struct Box {
    stage: Stage,
    text: String,
    value: Option<i128>,
}

/// How the columns make `d`.
enum End {
    /// Each column is a part of `d`.
    Parts,
    /// One operation on all columns gives `d`.
    Joined(Box),
    /// The only column is `d`.
    Word,
}

/// Reads a program.
struct Reader<'p> {
    program: &'p Program,
    words: Option<[u32; 3]>,
    values: Option<Vec<i128>>,
    names: [String; 3],
    /// The lanes of a SIMD instruction that are written, from the lowest up.
    lanes: Vec<usize>,
    /// The part of `b` that a shift takes some bits of.
    amount: Part,
}

impl Picture {
    fn of(instruction: &Instruction, program: &Program, words: Option<[u32; 3]>) -> Picture {
        let letters = Input::ALL.map(|input| input.text().to_string());
        let own = instruction.sources().map(|source| source.map(Register::name));
        let mut names = letters;
        for (name, own) in names.iter_mut().zip(own) {
            if let Some(own) = own {
                *name = own.to_string();
            }
        }
        let values = words.map(|[a, b, c]| program.trace(a, b, c));
        let lanes = instruction.simd().map(|simd| simd.lanes.written().map(|(lane, ..)| lane));
        let lanes = lanes.into_iter().flatten().collect();
        let amount = match &instruction.operation {
            Operation::Shift(it) => match it.operands.b {
                Source::Register { part: Some(part), .. } => {
                    Part { low: part.shift() as u8, width: part.width() as u8 }
                }
                _ => Part::WORD,
            },
            _ => Part::WORD,
        };
        let reader = Reader { program, words, values, names, lanes, amount };
        let d = instruction.destination().name().to_string();
        reader.picture(d)
    }
}

impl Reader<'_> {
    fn picture(self, d: String) -> Picture {
        let mut top = self.program.result();
        // A word.
        let result = self.value(top).and_then(|value| u32::try_from(value).ok());
        if let Op::Extract { value, low: 0, width: 32, .. } = self.op(top)
            && self.stage(top) == Stage::Write
        {
            top = value;
        }
        let (mut columns, end) = match self.op(top) {
            Op::Insert { .. } => (self.merged(top), End::Parts),
            _ if self.stage(top) == Stage::Secondary => {
                let terms = self.terms(top);
                let text = self.joined(top, &terms);
                let last = Box { stage: Stage::Secondary, text, value: self.value(top) };
                (
                    terms.iter().map(|term| self.column(*term, Part::WORD)).collect(),
                    End::Joined(last),
                )
            }
            _ => (vec![self.column(top, Part::WORD)], End::Word),
        };
        columns.reverse();
        if let End::Joined(_) = end {
            // `c` comes last.
            columns.sort_by_key(|column| matches!(column, Column::Kept(_)));
        }
        let lanes = columns.iter_mut().filter_map(|column| match column {
            Column::Lane(lane) => Some(lane),
            Column::Kept(_) => None,
        });
        let mut numbers = self.lanes.iter().rev();
        let mut reads = Vec::new();
        for lane in lanes {
            lane.name = lane_name(numbers.next());
            reads.extend(lane.reads.iter().cloned());
        }
        let read = |input: Input| {
            let widths = reads.iter().filter(|it| it.input == input).map(|it| it.part.width);
            let width = widths.min()?;
            let width = if matches!(width, 8 | 16) { width } else { 32 };
            let value = self.words.map(|words| words[input as usize]);
            Some(Word { input, name: self.names[input as usize].clone(), width, value })
        };
        let sources = Input::ALL.into_iter().filter_map(read).collect();
        let [.., c] = self.names;
        Picture { words: sources, columns, end, d, c, result, third: self.words.map(|[.., c]| c) }
    }

    fn op(&self, value: Value) -> Op {
        self.program.steps()[value.index()].op
    }

    fn stage(&self, value: Value) -> Stage {
        self.program.steps()[value.index()].stage
    }

    fn value(&self, value: Value) -> Option<i128> {
        self.values.as_ref().map(|values| values[value.index()])
    }

    /// The parts of `d` from the lowest up: inserted values, and what stays of `c`.
    fn merged(&self, mut top: Value) -> Vec<Column> {
        let mut inserted = Vec::new();
        while let Op::Insert { base, value, low, width } = self.op(top) {
            inserted.push((value, Part { low, width }));
            top = base;
        }
        let width = inserted.iter().map(|(_, part)| part.width).min().unwrap_or(32);
        let parts = (0..32).step_by(width.into()).map(|low| Part { low, width });
        let column = |part: Part| {
            let own = inserted.iter().find(|(_, own)| *own == part);
            own.map_or(Column::Kept(part), |(value, _)| self.column(*value, part))
        };
        parts.map(column).collect()
    }

    /// The terms of the sum in the secondary stage, or the operands of its minimum or maximum.
    fn terms(&self, top: Value) -> Vec<Value> {
        match self.op(top) {
            Op::Add(x, y) if self.stage(top) == Stage::Secondary => {
                [self.terms(x), self.terms(y)].concat()
            }
            Op::Min(x, y) | Op::Max(x, y) if self.stage(top) == Stage::Secondary => vec![x, y],
            _ => vec![top],
        }
    }

    /// What the last operation does, with the lanes by their names.
    fn joined(&self, top: Value, terms: &[Value]) -> String {
        let mut numbers = self.lanes.iter();
        let names = terms.iter().map(|term| match self.leaf(*term) {
            Some(Read { input: Input::C, name, .. }) => name,
            _ => lane_name(numbers.next()),
        });
        let names: Vec<String> = names.collect();
        match self.op(top) {
            Op::Min(..) => format!("min({})", names.join(", ")),
            Op::Max(..) => format!("max({})", names.join(", ")),
            _ => names.join(" + "),
        }
    }

    fn column(&self, value: Value, to: Part) -> Column {
        if let Some(Read { input: Input::C, part, .. }) = self.leaf(value) {
            return Column::Kept(part);
        }
        let (mut reads, mut boxes) = (Vec::new(), Vec::new());
        let mut at = value;
        while self.leaf(at).is_none() {
            let stage = self.stage(at);
            let mut before = None;
            let text = self.expression(at, stage, &mut before, &mut reads);
            boxes.push(Box { stage, text, value: self.value(at) });
            match before {
                Some(before) => at = before,
                None => break,
            }
        }
        if boxes.is_empty()
            && let Some(read) = self.leaf(value)
        {
            // The written value is a source itself.
            let (text, value) = (read.name.clone(), read.value);
            boxes.push(Box { stage: Stage::Extract, text, value });
            reads.push(read);
        }
        boxes.reverse();
        Column::Lane(Lane { name: String::new(), reads, boxes, to })
    }

    /// A part of a source, if a value is one.
    fn leaf(&self, value: Value) -> Option<Read> {
        let (input, part, signed) = match self.op(value) {
            Op::Input(input) => (input, Part::WORD, false),
            Op::Extract { value, low, width, signed } => match self.op(value) {
                Op::Input(input) => (input, Part { low, width }, signed),
                _ => return None,
            },
            _ => return None,
        };
        let is_part = matches!(part.width, 8 | 16 | 32);
        let part = if is_part { part } else { self.amount };
        let name = format!("{}{}", self.names[input as usize], part.selector());
        let bits = self.words.map(|words| part.of(words[input as usize]).into());
        let value = if is_part { self.value(value) } else { bits };
        Some(Read { input, part, signed, name, value })
    }

    /// A value as a text of sources and of the result of the stage before, which goes into
    /// `before`.
    fn expression(
        &self,
        value: Value,
        stage: Stage,
        before: &mut Option<Value>,
        reads: &mut Vec<Read>,
    ) -> String {
        if let Some(read) = self.leaf(value) {
            let name = read.name.clone();
            if !reads.contains(&read) {
                reads.push(read);
            }
            return match self.op(value) {
                Op::Extract { width: width @ ..8, .. } => {
                    format!("{name} & {}", (1 << width) - 1)
                }
                _ => name,
            };
        }
        if let Op::Constant(number) = self.op(value) {
            return number.to_string();
        }
        if self.stage(value) != stage && before.is_none_or(|before| before == value) {
            *before = Some(value);
            return "result".into();
        }
        let mut inner = |value: Value| self.expression(value, stage, before, reads);
        let mut infix = |x: Value, sign: &str, y: Value| {
            let [x, y] = [x, y].map(&mut inner);
            let is_sum = |text: &str| text.contains(" + ") && !text.contains(['-', '*', '<', '>']);
            let x = if sign == "+" && is_sum(&x) { x } else { within(x) };
            format!("{x} {sign} {}", within(y))
        };
        match self.op(value) {
            Op::Add(x, y) => infix(x, "+", y),
            Op::Sub(x, y) => infix(x, "-", y),
            Op::Mul(x, y) => infix(x, "*", y),
            Op::Shl(x, y) => infix(x, "<<", y),
            Op::Shr(x, y) => infix(x, ">>", y),
            Op::Compare(compare, x, y) => infix(x, compare.sign(), y),
            Op::AbsDiff(x, y) => format!("|{} - {}|", inner(x), inner(y)),
            Op::Min(x, y) => format!("min({}, {})", inner(x), inner(y)),
            Op::Max(x, y) => format!("max({}, {})", inner(x), inner(y)),
            Op::Clamp(x, range) if stage == Stage::Saturate => {
                // The text leaves out the clamped value: it is the result of the stage before.
                inner(x);
                format!("{} to {}", range.min, range.max)
            }
            Op::Clamp(x, range) => format!("clamp({}, {range})", inner(x)),
            Op::Extract { value, low: 0, width, signed } => {
                format!("{}{width}({})", if signed { 's' } else { 'u' }, inner(value))
            }
            Op::Extract { value, low, width, .. } => {
                format!("bits {low} to {} of {}", low + width - 1, within(inner(value)))
            }
            Op::Insert { base, value, low, width } => {
                format!("insert({}, {}, {low}, {width})", inner(base), inner(value))
            }
            Op::Input(_) | Op::Constant(_) => String::new(),
        }
    }
}

/// The name of a lane, or of the only result.
fn lane_name(lane: Option<&usize>) -> String {
    lane.map_or_else(|| "result".into(), |lane| format!("lane {lane}"))
}

/// A text, in parentheses if it has an operation outside of parentheses.
fn within(text: String) -> String {
    let (mut depth, mut is_absolute) = (0_usize, false);
    let is_one = text.bytes().all(|byte| {
        match byte {
            b'(' => depth += 1,
            b')' => depth -= 1,
            b'|' => is_absolute = !is_absolute,
            _ => {}
        }
        depth > 0 || is_absolute || byte != b' '
    });
    if is_one { text } else { format!("({text})") }
}
