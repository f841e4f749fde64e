//! Writes sequences as text.

use std::collections::HashSet;
use std::fmt::Write;

use thiserror::Error;

use super::cost::{self, Aim};
use super::sequence::{Arg, Class, Line, Opcode, Sequence};
use crate::hash::Map;
use crate::isa::Target;
use crate::source::line_end;
use crate::syntax::lexer::comments;
use crate::video::{Guard, Instruction, Register, Semantics};

/// Names of registers that occur nowhere else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FreshRegisters {
    prefix: String,
    /// The number of registers taken of each class, in the order of [`CLASSES`].
    taken: [u32; CLASSES.len()],
}

/// The prefix of new names, unless names in the text start with it.
const PREFIX: &str = "%vptx_";

/// The numbers of all prefixes such as `%vptx1_` that occur in a text.
fn taken_numbers(source: &str) -> HashSet<u64> {
    let stem = PREFIX.trim_end_matches('_');
    let number = |at: usize| -> Option<u64> {
        let rest = &source[at + stem.len()..];
        let digits = &rest[..rest.bytes().take_while(u8::is_ascii_digit).count()];
        digits.parse().ok().filter(|_| rest[digits.len()..].starts_with('_'))
    };
    memchr::memmem::find_iter(source.as_bytes(), stem.as_bytes()).filter_map(number).collect()
}

/// Types and letters of the classes, in the order of [`Class`].
const CLASSES: [(&str, char); 4] = [(".b32", 'r'), (".b64", 'd'), (".b16", 'h'), (".pred", 'p')];

impl FreshRegisters {
    /// Registers whose names start with a prefix, such as `%t_`. Returns `None` if
    /// names with that prefix are not PTX identifiers.
    pub fn new(prefix: &str) -> Option<FreshRegisters> {
        Register::new(&format!("{prefix}r0"))?;
        Some(FreshRegisters::starting(prefix.into()))
    }

    fn starting(prefix: String) -> FreshRegisters {
        FreshRegisters { prefix, taken: [0; CLASSES.len()] }
    }

    /// Registers whose names occur nowhere in a text.
    pub fn avoiding(source: &str) -> FreshRegisters {
        if memchr::memmem::find(source.as_bytes(), PREFIX.as_bytes()).is_none() {
            return FreshRegisters::starting(PREFIX.into());
        }
        // One pass, whatever the number of prefixes taken.
        let taken = taken_numbers(source);
        let mut number = 1u64;
        while taken.contains(&number) {
            number += 1;
        }
        FreshRegisters::starting(format!("%vptx{number}_"))
    }

    /// Takes another register of a class.
    ///
    /// ```
    /// use vptx::backend::ptx::{Class, FreshRegisters};
    ///
    /// let mut registers = FreshRegisters::avoiding("mov.b32 %vptx_r0, 1;");
    /// assert_eq!(registers.take(Class::Word).name(), "%vptx1_r0");
    /// assert_eq!(registers.take(Class::Word).name(), "%vptx1_r1");
    /// assert_eq!(registers.take(Class::Predicate).name(), "%vptx1_p0");
    /// let declarations = [".reg .b32 %vptx1_r<2>;", ".reg .pred %vptx1_p<1>;"];
    /// assert_eq!(registers.declarations(), declarations);
    /// ```
    pub fn take(&mut self, class: Class) -> Register {
        let number = self.take_number(class);
        let mut name = String::new();
        self.push_name(class, number, &mut name);
        Register::of_valid(&name)
    }

    /// Takes another register of a class and returns its number.
    fn take_number(&mut self, class: Class) -> u32 {
        let taken = &mut self.taken[class as usize];
        *taken += 1;
        *taken - 1
    }

    /// Takes a register for the result of each line.
    fn take_all(&mut self, lines: &[Line]) -> Vec<u32> {
        lines.iter().map(|line| self.take_number(line.opcode.class())).collect()
    }

    fn push_name(&self, class: Class, number: u32, text: &mut String) {
        text.push_str(&self.prefix);
        // Writing to a string does not fail.
        let _ = write!(text, "{}{number}", CLASSES[class as usize].1);
    }

    /// Appends the name of the register in which the function keeps a hoisted word.
    fn push_hoisted(&self, number: u32, text: &mut String) {
        let _ = write!(text, "{}k{number}", self.prefix);
    }

    /// The declarations of all registers that were taken, one `.reg` for each class.
    pub fn declarations(&self) -> Vec<String> {
        let taken = CLASSES.iter().zip(self.taken).filter(|(_, count)| *count > 0);
        taken
            .map(|((ty, letter), count)| format!(".reg {ty} {}{letter}<{count}>;", self.prefix))
            .collect()
    }

    /// Forgets the registers taken, for another scope.
    pub(super) fn reset(&mut self) {
        self.taken = [0; CLASSES.len()];
    }
}

/// The error when every sequence for an instruction needs more than a target has.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("vptx has no ordinary PTX for `{instruction}` on {target}")]
pub struct Unavailable {
    pub(super) instruction: String,
    pub(super) target: Target,
}

impl Instruction {
    /// Ordinary PTX that computes what the instruction computes under a semantics, one
    /// statement a line. Of all sequences without video instructions, it is the cheapest on the
    /// target.
    /// The guard stands at the last statement, the only one that writes `d`.
    ///
    /// The instruction's registers must be declared as `.b32` (see
    /// [`Sequence::for_registers`]). Other registers are taken from `registers`; the
    /// caller declares them.
    ///
    /// # Errors
    /// When all sequences use instructions that the target does not have. For `sm_50`
    /// and later there is always one.
    pub fn to_ptx(
        &self,
        target: Target,
        semantics: Semantics,
        registers: &mut FreshRegisters,
    ) -> Result<String, Unavailable> {
        let best = cost::cheapest(self, Aim::of(target, semantics));
        let sequence = best.ok_or_else(|| Unavailable { instruction: self.to_string(), target })?;
        Ok(sequence.to_ptx(self, registers).join("\n"))
    }
}

impl Sequence {
    /// The statements that replace an instruction. The last one writes `d` and has the
    /// instruction's guard. The others write registers taken from `registers`.
    pub fn to_ptx(&self, instruction: &Instruction, registers: &mut FreshRegisters) -> Vec<String> {
        let code = self.code(registers);
        let statement = |at| {
            let mut template = Template::default();
            template.push_line(&code, at, registers);
            let mut text = String::new();
            template.fill(Operands::of(instruction), &Surroundings::default(), &mut text);
            text
        };
        (0..self.lines().len()).map(statement).collect()
    }

    fn code(&self, registers: &mut FreshRegisters) -> Code<'_> {
        let others = self.lines().split_last().map_or(&[][..], |(_, others)| others);
        Code { lines: self.lines(), numbers: registers.take_all(others), inputs: &[], hoisted: &[] }
    }
}

/// Lines with the registers that they write and read.
struct Code<'c> {
    lines: &'c [Line],
    /// The number of the new register that each line writes. The last line of a sequence has
    /// none.
    numbers: Vec<u32>,
    /// The registers that lines read by number.
    inputs: &'c [Register],
    /// For some lines, the number of the function's register that holds the hoisted result.
    hoisted: &'c [Option<u32>],
}

impl Code<'_> {
    /// Appends the name of the register that a line writes.
    fn push_result(&self, line: usize, registers: &FreshRegisters, text: &mut String) {
        match self.hoisted.get(line) {
            Some(Some(number)) => registers.push_hoisted(*number, text),
            _ => registers.push_name(self.lines[line].opcode.class(), self.numbers[line], text),
        }
    }
}

/// The code of a block that names all its registers.
#[derive(Clone, Copy)]
pub(super) struct Body<'b> {
    pub(super) lines: &'b [Line],
    /// The registers that lines read by number.
    pub(super) inputs: &'b [Register],
    /// For each line that stands before the loop, the place among `inputs` of the only register
    /// that the line depends on.
    pub(super) before_loop: &'b [Option<u16>],
    /// The registers that the block writes at its end.
    pub(super) outputs: &'b [(Register, Line)],
}

/// The hoisted words of a function, with the numbers of their registers.
#[derive(Default)]
pub(super) struct Words {
    numbers: Map<Word, u32>,
    taken: u32,
}

impl Words {
    /// How many registers are taken.
    pub(super) fn taken(&self) -> u32 {
        self.taken
    }

    /// Forgets the words but not their registers: later lines compute the words again.
    pub(super) fn forget(&mut self) {
        self.numbers.clear();
    }

    /// The number of the register of a word, and whether it is a new one.
    fn number(&mut self, word: Word) -> (u32, bool) {
        let new = self.taken;
        let number = *self.numbers.entry(word).or_insert(new);
        self.taken += u32::from(number == new);
        (number, number == new)
    }
}

/// A hoisted word: what a line computes from a register behind the statement that writes it.
#[derive(PartialEq, Eq, Hash)]
struct Word {
    /// The end of the statement, which may write several registers.
    end: u32,
    register: Register,
    /// The line. The register stands in the place of hoisted words.
    line: Line,
    /// For each operand that is a hoisted word, its number.
    read: [Option<u32>; 3],
}

impl Word {
    fn new((end, register): (u32, &Register), line: &Line, hoisted: &[Option<u32>]) -> Word {
        let mut read = [None; 3];
        for (arg, number) in line.args().iter().zip(&mut read) {
            if let Arg::Line(at) = *arg {
                *number = hoisted[usize::from(at)];
            }
        }
        let line = line.on(|arg| match arg {
            Arg::Line(_) | Arg::Register(_) => Arg::Register(0),
            _ => arg,
        });
        Word { end, register: register.clone(), line, read }
    }
}

/// The registers that fill the holes of a template; none for a template that names all its
/// registers.
#[derive(Clone, Copy, Default)]
pub(super) struct Operands<'i> {
    pub(super) guard: Option<&'i Guard>,
    pub(super) d: Option<&'i Register>,
    pub(super) sources: [Option<&'i Register>; 3],
}

impl Operands<'_> {
    pub(super) fn of(instruction: &Instruction) -> Operands<'_> {
        let (d, sources) = (Some(instruction.destination()), instruction.sources());
        Operands { guard: instruction.guard.as_ref(), d, sources }
    }
}

/// The bytes that names and white space usually add to a template.
const ROOM: usize = 64;

/// A text with holes for the parts that differ among instructions of one form.
#[derive(Debug, Default)]
pub(super) struct Template {
    text: String,
    /// The parts that stand before these bytes of the text.
    holes: Vec<(usize, Hole)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Hole {
    /// The guard predicate, and a space.
    Guard,
    Destination,
    Source(usize),
    /// The start of a line, at the level of the instruction or deeper.
    Line {
        is_inner: bool,
    },
    Comment,
}

/// The text around an instruction that its replacement repeats.
#[derive(Debug, Default)]
pub(super) struct Surroundings<'s> {
    /// The start of a line at the level of the instruction, line break included.
    line: &'s str,
    /// The same, one level deeper.
    inner: &'s str,
    comment: &'s str,
}

/// Finds the places of instructions in a text.
#[derive(Debug)]
pub(super) struct Places {
    line_end: &'static str,
    /// The last offset that was looked up, and the start of its line.
    last: (usize, usize),
    /// The last place that was found.
    line: String,
    inner: String,
}

/// At most this many blanks at the start of a line count as its indentation.
const DEEP: usize = 100;

impl Places {
    pub(super) fn new(source: &str) -> Places {
        let line_end = line_end(source);
        Places { line_end, last: (0, 0), line: line_end.into(), inner: format!("{line_end}    ") }
    }

    /// The text around an instruction that starts at an offset.
    pub(super) fn find<'p>(
        &'p mut self,
        source: &str,
        start: u32,
        comment: &'p str,
    ) -> Surroundings<'p> {
        let (bytes, start) = (source.as_bytes(), start as usize);
        // A long line may hold many instructions.
        let (seen, line) = if self.last.0 <= start { self.last } else { (0, 0) };
        let line = memchr::memrchr(b'\n', &bytes[seen..start]).map_or(line, |at| seen + at + 1);
        self.last = (start, line);
        let blanks = bytes[line..].iter().take(DEEP).take_while(|byte| b" \t".contains(byte));
        let indent = &source[line..line + blanks.count()];
        // The indentation is usually the same as for the instruction before.
        if self.line[self.line_end.len()..] != *indent {
            let level = if indent.ends_with('\t') { "\t" } else { "    " };
            self.line.truncate(self.line_end.len());
            self.line.push_str(indent);
            self.inner.clone_from(&self.line);
            self.inner.push_str(level);
        }
        Surroundings { line: &self.line, inner: &self.inner, comment }
    }
}

impl<'s> Surroundings<'s> {
    /// The surroundings that make a replacement one line.
    pub(super) fn of_one_line(comment: &'s str) -> Surroundings<'s> {
        Surroundings { line: " ", inner: " ", comment }
    }

    /// Appends the comments inside a statement, to stand before the statement's replacement.
    pub(super) fn push_comments(&self, statement: &str, text: &mut String) {
        if !statement.contains('/') {
            return;
        }
        for comment in comments(statement) {
            let comment = comment.text(statement);
            text.push_str(comment.trim_end());
            text.push_str(if comment.starts_with("//") { self.line } else { " " });
        }
    }
}

impl Template {
    /// The template of a statement, or of a block of statements that declares its own registers.
    pub(super) fn block(sequence: &Sequence, registers: &mut FreshRegisters) -> Template {
        let mut template = Template::default();
        registers.reset();
        let code = sequence.code(registers);
        if code.numbers.is_empty() {
            template.push_line(&code, 0, registers);
            template.push_hole(Hole::Comment);
            return template;
        }
        template.open(registers);
        for at in 0..code.lines.len() {
            template.push_hole(Hole::Line { is_inner: true });
            template.push_line(&code, at, registers);
        }
        template.close();
        template
    }

    /// The template of a block that names all registers. `hoisted` has the register for each line
    /// whose result the function keeps (see [`Template::hoisted`]).
    pub(super) fn body(
        Body { lines, inputs, outputs, .. }: Body<'_>,
        hoisted: &[Option<u32>],
        registers: &mut FreshRegisters,
    ) -> Template {
        let mut template = Template::default();
        registers.reset();
        let is_here = |at: &usize| hoisted.get(*at).is_none_or(Option::is_none);
        let mut number = |at: usize| {
            let class = lines[at].opcode.class();
            if is_here(&at) { registers.take_number(class) } else { 0 }
        };
        let numbers = (0..lines.len()).map(&mut number).collect();
        let code = Code { lines, numbers, inputs, hoisted };
        if let [(register, line)] = outputs
            && !(0..lines.len()).any(|at| is_here(&at))
        {
            template.push_statement(line, To::Register(register), &code, registers);
            template.push_hole(Hole::Comment);
            return template;
        }
        template.open(registers);
        for at in (0..lines.len()).filter(is_here) {
            template.push_hole(Hole::Line { is_inner: true });
            template.push_line(&code, at, registers);
        }
        for (register, line) in outputs {
            template.push_hole(Hole::Line { is_inner: true });
            template.push_statement(line, To::Register(register), &code, registers);
        }
        template.close();
        template
    }

    /// The template of the lines of a block that depend on one register only, to stand behind the
    /// statement that ends at `end` and writes this register. Words that the function has already
    /// are not computed again; `None` if it has all. `numbers` gets the register of each line.
    pub(super) fn hoisted(
        Body { lines, inputs, before_loop, .. }: Body<'_>,
        (register, end): (u16, u32),
        numbers: &mut [Option<u32>],
        words: &mut Words,
        registers: &FreshRegisters,
    ) -> Option<Template> {
        let mut template = Template::default();
        let from = (end, &inputs[usize::from(register)]);
        let (mut hoisted, mut written) = (vec![None; lines.len()], Vec::new());
        for at in (0..lines.len()).filter(|at| before_loop[*at] == Some(register)) {
            let read = lines[at].args().iter().filter_map(|arg| match *arg {
                Arg::Line(read) => Some(usize::from(read)),
                _ => None,
            });
            for at in read.chain([at]) {
                if hoisted[at].is_some() {
                    continue;
                }
                let (number, is_new) = words.number(Word::new(from, &lines[at], &hoisted));
                hoisted[at] = Some(number);
                if is_new {
                    written.push(at);
                }
            }
            numbers[at] = hoisted[at];
        }
        if written.is_empty() {
            return None;
        }
        let code = Code { lines, numbers: vec![0; lines.len()], inputs, hoisted: &hoisted };
        template.push_hole(Hole::Line { is_inner: false });
        for (count, at) in written.iter().enumerate() {
            template.text.push_str(if count == 0 { ".reg .b32 " } else { ", " });
            code.push_result(*at, registers, &mut template.text);
        }
        template.text.push(';');
        for at in written {
            template.push_hole(Hole::Line { is_inner: false });
            template.push_line(&code, at, registers);
        }
        Some(template)
    }

    fn open(&mut self, registers: &FreshRegisters) {
        self.text.push('{');
        self.push_hole(Hole::Comment);
        for declaration in registers.declarations() {
            self.push_hole(Hole::Line { is_inner: true });
            self.text.push_str(&declaration);
        }
    }

    fn close(&mut self) {
        self.push_hole(Hole::Line { is_inner: false });
        self.text.push('}');
    }

    /// Appends the text for some operands.
    pub(super) fn fill(
        &self,
        Operands { guard, d, sources }: Operands<'_>,
        place: &Surroundings<'_>,
        text: &mut String,
    ) {
        text.reserve(self.text.len() + ROOM);
        let mut done = 0;
        for &(at, hole) in &self.holes {
            text.push_str(&self.text[done..at]);
            done = at;
            match hole {
                Hole::Guard => {
                    if let Some(guard) = guard {
                        let not = if guard.negated { "@!" } else { "@" };
                        text.extend([not, guard.predicate.name(), " "]);
                    }
                }
                Hole::Destination => text.push_str(d.map_or("_", Register::name)),
                Hole::Source(at) => text.push_str(sources[at].map_or("0", Register::name)),
                Hole::Line { is_inner } => {
                    text.push_str(if is_inner { place.inner } else { place.line });
                }
                Hole::Comment => text.push_str(place.comment),
            }
        }
        text.push_str(&self.text[done..]);
    }

    fn push_hole(&mut self, hole: Hole) {
        self.holes.push((self.text.len(), hole));
    }

    fn push_line(&mut self, code: &Code<'_>, at: usize, registers: &FreshRegisters) {
        let to = if at < code.numbers.len() { To::Line(at) } else { To::Destination };
        if let To::Destination = to {
            self.push_hole(Hole::Guard);
        }
        self.push_statement(&code.lines[at], to, code, registers);
    }

    fn push_statement(
        &mut self,
        line: &Line,
        to: To<'_>,
        code: &Code<'_>,
        registers: &FreshRegisters,
    ) {
        // Writing to a string does not fail.
        let _ = write!(self.text, "{} ", line.opcode);
        for letter in line.opcode.operands().chars() {
            match (letter, line.args(), line.opcode) {
                ('d', ..) => match to {
                    To::Line(at) => code.push_result(at, registers, &mut self.text),
                    To::Register(register) => self.text.push_str(register.name()),
                    To::Destination => self.push_hole(Hole::Destination),
                },
                ('x', [arg, ..], _) | ('y', [_, arg, ..], _) | ('z', [_, _, arg], _) => {
                    self.push_arg(*arg, code, registers);
                }
                ('s', [_, _, Arg::Constant(selector)], _) => {
                    let _ = write!(self.text, "0x{selector:04x}");
                }
                ('s', [_, _, arg], _) => self.push_arg(*arg, code, registers),
                ('t', _, Opcode::Lop3(table)) => {
                    let _ = write!(self.text, "0x{table:02x}");
                }
                _ => self.text.push(letter),
            }
        }
        self.text.push(';');
    }

    fn push_arg(&mut self, arg: Arg, code: &Code<'_>, registers: &FreshRegisters) {
        match arg {
            Arg::Input(input) => self.push_hole(Hole::Source(input as usize)),
            Arg::Register(input) => self.text.push_str(code.inputs[usize::from(input)].name()),
            Arg::Line(other) => code.push_result(usize::from(other), registers, &mut self.text),
            Arg::Constant(value) => {
                let _ = if value < 100 {
                    write!(self.text, "{value}")
                } else {
                    write!(self.text, "0x{value:x}")
                };
            }
        }
    }
}

/// What a statement writes.
#[derive(Clone, Copy)]
enum To<'r> {
    /// The register of a line.
    Line(usize),
    /// The destination of the video instruction.
    Destination,
    Register(&'r Register),
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Numbers;

    /// Each class has its letter and its own numbers.
    #[test]
    fn registers_have_a_prefix_a_letter_and_a_number() {
        let mut registers = FreshRegisters::new("%t").expect("a prefix");
        for (class, name) in
            [(Class::Word, "%tr0"), (Class::Word, "%tr1"), (Class::Predicate, "%tp0")]
        {
            assert_eq!(registers.take(class).name(), name);
        }
    }

    #[test]
    fn places_are_those_of_a_plain_search() {
        let mut numbers = Numbers(3);
        for _ in 0..300 {
            let pieces = ["\n", "\r\n", "\t", "  ", "ret;", "é", &" ".repeat(DEEP)];
            let count = numbers.below(40);
            let text: String = (0..count).map(|_| numbers.pick(&pieces)).collect();
            let mut places = Places::new(&text);
            let mut at = 0;
            for _ in 0..30 {
                // Offsets usually grow.
                at = if numbers.below(5) == 0 { 0 } else { at } + numbers.below(20);
                if at > text.len() || !text.is_char_boundary(at) {
                    continue;
                }
                let place = places.find(&text, at as u32, "");
                let line = text[..at].rfind('\n').map_or(0, |newline| newline + 1);
                let words = text[line..].trim_start_matches([' ', '\t']);
                let blanks = text.len() - line - words.len();
                let crlf = text.split_once('\n').is_some_and(|(first, _)| first.ends_with('\r'));
                let indent = &text[line..line + blanks.min(DEEP)];
                let expected = [if crlf { "\r\n" } else { "\n" }, indent].concat();
                assert_eq!(place.line, expected, "{text:?} {at}");
                let level = if indent.ends_with('\t') { "\t" } else { "    " };
                assert_eq!(place.inner, expected + level, "{text:?} {at}");
            }
        }
    }
}
