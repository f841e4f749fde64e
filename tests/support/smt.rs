//! Writes programs and sequences as SMT-LIB 2 text over the words `a`, `b`, `c`, and asks a solver
//! whether their results differ.
//!
//! Both sides are written from the definitions of their operations. The code that
//! evaluates them is not called.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use super::llvm::Function;
use vptx::Instruction;
use vptx::backend::ptx::{Arg, Class, Group, Line, Opcode, Sequence};
use vptx::ir::{Input, Op, Program, Range, Step, Value};
use vptx::isa::{Compare, Feature, Type};
use vptx::video::{Register, Semantics};

/// For each input, the place of the input whose word it uses. Inputs that are one register share a
/// word.
pub(crate) fn places(sources: &[Option<&Register>; 3]) -> [usize; 3] {
    [0, 1, 2].map(|at| {
        let same = |first: &usize| sources[at].is_some() && sources[*first] == sources[at];
        (0..at).find(same).unwrap_or(at)
    })
}

/// Declares the words. An input that uses the word of another place equals that word.
fn inputs(places: [usize; 3]) -> String {
    let mut text = String::new();
    for (at, input) in Input::ALL.into_iter().enumerate() {
        let name = input.text();
        let _ = match places[at] {
            place if place == at => writeln!(text, "(declare-const {name} (_ BitVec 32))"),
            place => {
                let other = Input::ALL[place].text();
                writeln!(text, "(define-fun {name} () (_ BitVec 32) {other})")
            }
        };
    }
    text
}

/// Asserts that the results differ for some inputs.
pub(crate) fn query(program: &Program, sequence: &Sequence, places: [usize; 3]) -> String {
    let mut text = inputs(places);
    let (left, right) = define(program, sequence, &mut text);
    let _ = writeln!(text, "(assert (distinct {left} {right}))");
    text
}

/// Asserts that the results differ for some inputs, where one input is one of the constants or lies
/// in the range. A range with a negative number is compared as signed.
pub(crate) fn query_within(
    (input, range, constants): (Input, Range, &[u32]),
    program: &Program,
    sequence: &Sequence,
    places: [usize; 3],
) -> String {
    let mut text = inputs(places);
    let (name, not_above) = (input.text(), if range.min < 0 { "bvsle" } else { "bvule" });
    let [least, most] = [range.min, range.max].map(|it| constant(it, 32));
    let mut values = format!("(and ({not_above} {least} {name}) ({not_above} {name} {most}))");
    for value in constants {
        let _ = write!(values, " (= {name} {})", constant((*value).into(), 32));
    }
    let _ = writeln!(text, "(assert (or {values}))");
    let (left, right) = define(program, sequence, &mut text);
    let _ = writeln!(text, "(assert (distinct {left} {right}))");
    text
}

/// Asserts that a function of LLVM gives another result than the program for some inputs, or gives
/// poison.
pub(crate) fn llvm_query(program: &Program, function: &Function) -> String {
    let mut text = inputs([0, 1, 2]);
    let left = define_program(program, function.has_wide_product(), &mut text);
    let (right, poison) = function.define(&mut text);
    let _ = writeln!(text, "(assert (or (distinct {left} {right}) {poison}))");
    text
}

/// Commands that print both results for some words.
pub(crate) fn evaluation(program: &Program, sequence: &Sequence, words: [u32; 3]) -> String {
    let mut text = String::new();
    for (input, word) in Input::ALL.into_iter().zip(words) {
        let _ = writeln!(text, "(define-fun {} () (_ BitVec 32) #x{word:08x})", input.text());
    }
    let (left, right) = define(program, sequence, &mut text);
    let _ = writeln!(text, "(simplify {left})\n(simplify {right})");
    text
}

/// Defines every step and line, and returns the terms of the results.
fn define(program: &Program, sequence: &Sequence, text: &mut String) -> (String, String) {
    let wide = |line: &Line| matches!(line.opcode, Opcode::MulWide | Opcode::Product(_));
    let wide = sequence.lines().iter().any(wide);
    let result = define_program(program, wide, text);
    (result, define_sequence(sequence, text))
}

/// Defines every line, and returns the term of the result.
fn define_sequence(sequence: &Sequence, text: &mut String) -> String {
    define_lines(sequence.lines(), &BTreeMap::new(), text);
    format!("s{}", sequence.lines().len() - 1)
}

/// Defines lines. A line whose number is a key of `sums` is defined by that sum.
fn define_lines(lines: &[Line], sums: &BTreeMap<usize, Sum>, text: &mut String) {
    for (at, line) in lines.iter().enumerate() {
        let sort = match line.opcode.class() {
            Class::Word => "(_ BitVec 32)",
            Class::Wide => "(_ BitVec 64)",
            Class::Half => "(_ BitVec 16)",
            Class::Predicate => "Bool",
        };
        let term = sums.get(&at).map_or_else(|| line_term(line), |sum| sum.term(at));
        let _ = writeln!(text, "(define-fun s{at} () {sort} {term})");
    }
}

/// Asserts that a chain of programs and a sequence differ for some inputs. Each program takes the
/// result of the program before it as its `c`.
pub(crate) fn chain_query(programs: &[Program], sequence: &Sequence, places: [usize; 3]) -> String {
    knowing(&Known::default(), programs, sequence, places)
}

/// Like [`chain_query`], but replaces values inside sums, which solvers do not recognize. If a
/// value of a program is proven to be what the sequence adds for a lane, both sides use a new word
/// for this value. The assertion may hold only for words that cannot occur, so a model proves
/// nothing. `None` if no such values are found.
pub(crate) fn chain_query_by_lanes(
    programs: &[Program],
    sequence: &Sequence,
    places: [usize; 3],
    is_proven: impl FnMut(&str) -> bool,
) -> Option<String> {
    let known = Known::new(programs, sequence, places, is_proven);
    (!known.sums.is_empty()).then(|| knowing(&known, programs, sequence, places))
}

fn knowing(known: &Known, programs: &[Program], sequence: &Sequence, places: [usize; 3]) -> String {
    let mut text = inputs(places);
    for (at, sum) in &known.sums {
        sum.declare(*at, &mut text);
    }
    define_lines(sequence.lines(), &known.sums, &mut text);
    let mut before = Input::C.text().to_owned();
    for (number, program) in programs.iter().enumerate() {
        let steps = known.steps.get(number).map_or(&[][..], Vec::as_slice);
        before = define_member(program, number, ["a", "b", &before], steps, &mut text);
    }
    let _ = writeln!(text, "(assert (distinct {before} s{}))", sequence.lines().len() - 1);
    text
}

/// Asserts that some instructions in order and a group differ in a lane for some inputs. The inputs
/// are the words `r0`, `r1` and so on.
pub(crate) fn group_query(
    members: &[&Instruction],
    semantics: Semantics,
    group: &Group,
    lane: u32,
) -> String {
    let mut text = inputs([0, 1, 2]);
    let mut terms: HashMap<&str, String> = HashMap::new();
    for (at, register) in group.inputs().iter().enumerate() {
        let _ = writeln!(text, "(declare-const r{at} (_ BitVec 32))");
        terms.insert(register.name(), format!("r{at}"));
    }
    for (number, member) in members.iter().enumerate() {
        // No result depends on the value of `c`, so any word will do.
        let sources = member
            .sources()
            .map(|it| it.and_then(|it| terms.get(it.name())).map_or("c", String::as_str));
        let result = define_member(&member.lower(semantics), number, sources, &[], &mut text);
        terms.insert(member.destination().name(), result);
    }
    define_lines(group.lines(), &BTreeMap::new(), &mut text);
    let byte = |term: &str| format!("((_ extract {} {}) {term})", 8 * lane + 7, 8 * lane);
    let differ = group.outputs().iter().map(|(register, line)| {
        format!("(distinct {} {})", byte(&terms[register.name()]), byte(&line_term(line)))
    });
    let lines = group.lines().iter().enumerate();
    let inexact = lines
        .filter_map(|(at, line)| exact(line, &format!("s{at}"), lane / 2))
        .map(|exact| format!("(not {exact})"));
    let claims: Vec<String> = differ.chain(inexact).collect();
    let _ = writeln!(text, "(assert (or false {}))", claims.join(" "));
    text
}

/// Defines the result of a member of a chain or group, with terms as its sources. Returns the
/// result's name.
fn define_member(
    program: &Program,
    number: usize,
    sources: [&str; 3],
    known: &[Option<String>],
    text: &mut String,
) -> String {
    let mut own = String::new();
    let steps = define_steps(program, false, known, &mut own);
    let result = steps.last().expect("a program has steps").at(32);
    let name = |word: &str| match Input::ALL.iter().position(|input| input.text() == word) {
        Some(at) => sources[at].to_owned(),
        None if word.strip_prefix('p').is_some_and(|at| at.parse::<usize>().is_ok()) => {
            format!("m{number}{word}")
        }
        None => word.to_owned(),
    };
    *text += &with_names(&own, name);
    let (result, member) = (with_names(&result, name), format!("m{number}"));
    let _ = writeln!(text, "(define-fun {member} () (_ BitVec 32) {result})");
    member
}

/// Renames the words in a text of terms.
fn with_names(text: &str, name: impl Fn(&str) -> String) -> String {
    let mut renamed = String::new();
    let mut rest = text;
    while !rest.is_empty() {
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '#';
        let end = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
        renamed += &name(&rest[..end]);
        let next = rest[end..].find(is_word).map_or(rest.len(), |at| end + at);
        renamed += &rest[end..next];
        rest = &rest[next..];
    }
    renamed
}

/// Defines every step, and returns the term of the result. Solvers do not see that products of
/// different widths are equal, nor how parts of a product are related. If the other side has
/// products of 64 bits (`wide`), all products are therefore written with `mul`.
fn define_program(program: &Program, wide: bool, text: &mut String) -> String {
    define_steps(program, wide, &[], text).last().expect("a program has steps").at(32)
}

/// Like [`define_program`]. `known` gives some steps, by number, a word that stands for their
/// value.
fn define_steps(
    program: &Program,
    wide: bool,
    known: &[Option<String>],
    text: &mut String,
) -> Vec<Bits> {
    let mut steps = Steps { program, wide, bits: Vec::new() };
    for (at, step) in program.steps().iter().enumerate() {
        let (term, width) = steps.term(step);
        assert!(width >= needed(step.range), "{step:?} does not fit {width} bits");
        let name = format!("p{at}");
        let _ = writeln!(text, "(define-fun {name} () (_ BitVec {width}) {term})");
        if wide && matches!(step.op, Op::Mul(..)) {
            let [least, most] = [step.range.min, step.range.max].map(|end| constant(end, width));
            let order = if step.range.min < 0 { "bvsle" } else { "bvule" };
            let _ = writeln!(text, "(assert ({order} {least} {name}))");
            let _ = writeln!(text, "(assert ({order} {name} {most}))");
        }
        let known = known.get(at).cloned().flatten();
        steps.bits.push(Bits { name, width, signed: step.range.min < 0, known });
    }
    steps.bits
}

/// A value of a program as a bit-vector, at least as wide as its range needs.
struct Bits {
    name: String,
    width: u32,
    signed: bool,
    /// A signed word with the same value.
    known: Option<String>,
}

impl Bits {
    /// The value in two's complement of a width, or its low bits if the width is smaller.
    fn at(&self, width: u32) -> String {
        match &self.known {
            Some(word) => resized(word, 32, true, width),
            None => resized(&self.name, self.width, self.signed, width),
        }
    }

    /// The width in which the value can be compared with signed values.
    fn width_as(&self, signed: bool) -> u32 {
        self.width + u32::from(signed && !self.signed)
    }
}

/// The sum of a chain of dot products, where each takes the result before it as its summand. For
/// each lane, the chain adds a multiple of some value.
#[derive(Clone)]
struct Sum {
    summand: String,
    lanes: Vec<Lane>,
}

#[derive(Clone)]
struct Lane {
    /// The numbers of the program and of its step that computes the value; `None` if the lane adds
    /// 0.
    step: Option<[usize; 2]>,
    multiple: i128,
    range: Range,
}

impl Sum {
    /// The name of the word that stands for the value of a lane.
    fn word(line: usize, at: usize) -> String {
        format!("w{line}x{at}")
    }

    fn declare(&self, line: usize, text: &mut String) {
        for (at, lane) in self.lanes.iter().enumerate() {
            let word = Sum::word(line, at);
            let [least, most] = [lane.range.min, lane.range.max].map(|it| constant(it, 32));
            let _ = writeln!(text, "(declare-const {word} (_ BitVec 32))");
            let _ = writeln!(text, "(assert (and (bvsle {least} {word}) (bvsle {word} {most})))");
        }
    }

    fn term(&self, line: usize) -> String {
        let value = |at: usize, lane: &Lane| {
            format!("(bvmul {} {})", constant(lane.multiple, 32), Sum::word(line, at))
        };
        let lanes = self.lanes.iter().enumerate();
        let values: Vec<String> = lanes.map(|(at, lane)| value(at, lane)).collect();
        plus(&self.summand, &values)
    }
}

/// Values of programs that were found as summands in a sequence.
#[derive(Default)]
struct Known {
    /// The words that stand for the steps of each program.
    steps: Vec<Vec<Option<String>>>,
    /// The sums by the number of the line that ends each.
    sums: BTreeMap<usize, Sum>,
}

impl Known {
    fn new(
        programs: &[Program],
        sequence: &Sequence,
        places: [usize; 3],
        mut is_proven: impl FnMut(&str) -> bool,
    ) -> Known {
        let mut text = inputs(places);
        define_sequence(sequence, &mut text);
        let values = programs.iter().map(|program| {
            let mut own = String::new();
            let bits = define_steps(program, false, &[], &mut own);
            (own, program.steps().iter().zip(bits).collect::<Vec<_>>())
        });
        let values: Vec<_> = values.collect();
        let mut is_same = |own: &str, one: &str, other: &str| {
            is_proven(&format!("{text}{own}(assert (distinct {one} {other}))\n"))
        };
        let mut lane = |added: &str| {
            if is_same("", added, &constant(0, 32)) {
                return Some(Lane { step: None, multiple: 0, range: Range::new(0, 0) });
            }
            let steps = values.iter().enumerate().flat_map(|(program, (own, steps))| {
                let steps = steps.iter().enumerate();
                steps.map(move |(at, (step, bits))| ([program, at], own, *step, bits))
            });
            for (place, own, step, bits) in steps {
                let multiples = match step.op {
                    Op::AbsDiff(..) => 1..=4,
                    // Shifts are averages: their sums are halved later.
                    Op::Shr(..) => 128..=128,
                    _ => continue,
                };
                for multiple in multiples {
                    let value = format!("(bvmul {} {})", constant(multiple, 32), bits.at(32));
                    if is_same(own, added, &value) {
                        return Some(Lane { step: Some(place), multiple, range: step.range });
                    }
                }
            }
            None
        };
        let lines = sequence.lines();
        let steps = values.iter().map(|(_, steps)| vec![None; steps.len()]).collect();
        let mut known = Known { steps, sums: BTreeMap::new() };
        let mut first = 0;
        for end in 0..lines.len() {
            // A distance takes two products, an average three.
            for count in [2, 3] {
                let Some((chain, added)) = dots(lines, end, count) else { continue };
                if chain.iter().any(|at| *at < first) {
                    continue;
                }
                let Some(found) = added.iter().map(|it| lane(it)).collect::<Option<Vec<_>>>()
                else {
                    continue;
                };
                for (at, value) in found.iter().enumerate() {
                    if let Some([program, step]) = value.step {
                        known.steps[program][step] = Some(Sum::word(end, at));
                    }
                }
                let summand = arg_term(lines[chain[count - 1]].args()[2], Class::Word);
                known.sums.insert(end, Sum { summand, lanes: found });
                first = end + 1;
                break;
            }
        }
        known
    }
}

/// A chain of `count` dot products that ends at a line, the last one first, and for each lane the
/// sum of their products.
fn dots(lines: &[Line], end: usize, count: usize) -> Option<(Vec<usize>, Vec<String>)> {
    let mut chain = vec![end];
    let mut terms = vec![products(&lines[end])?];
    while chain.len() < count {
        let Arg::Line(at) = lines[*chain.last()?].args()[2] else { return None };
        chain.push(at.into());
        terms.push(products(&lines[usize::from(at)])?);
    }
    let width = terms[0].len();
    let added = |at: usize| {
        let terms: Vec<String> = terms.iter().map(|it| it[at].clone()).collect();
        plus(&constant(0, 32), &terms)
    };
    terms.iter().all(|it| it.len() == width).then(|| (chain, (0..width).map(added).collect()))
}

/// The product that a dot product adds for each lane.
fn products(line: &Line) -> Option<Vec<String>> {
    let (count, first, left, right) = match line.opcode {
        Opcode::Dot4(left, right) => (4, 0, left, right),
        Opcode::Dot2(left, right) => (2, 0, left, right),
        Opcode::Dot2High(left, right) => (2, 2, left, right),
        _ => return None,
    };
    let [x, y] = [0, 1].map(|at| arg_term(line.args()[at], Class::Word));
    let term = |at| {
        let [x, y] = [lane(&x, at, 32 / count, left), lane(&y, first + at, 8, right)];
        format!("(bvmul {x} {y})")
    };
    Some((0..count).map(term).collect())
}

pub(crate) fn resized(term: &str, from: u32, signed: bool, to: u32) -> String {
    let extend = if signed { "sign_extend" } else { "zero_extend" };
    match () {
        () if from == to => term.to_owned(),
        () if from < to => format!("((_ {extend} {}) {term})", to - from),
        () => format!("((_ extract {} 0) {term})", to - 1),
    }
}

/// The bits that a range needs. It is unsigned if it has no negative number.
fn needed(range: Range) -> u32 {
    let bits = |value: i128| 128 - value.leading_zeros();
    match range.min {
        0.. => bits(range.max).max(1),
        min => bits(!min).max(if range.max < 0 { 0 } else { bits(range.max) }) + 1,
    }
}

pub(crate) fn constant(value: i128, width: u32) -> String {
    format!("(_ bv{} {width})", value.cast_unsigned() & ((1 << width) - 1))
}

fn signed(ty: Type) -> bool {
    ty == Type::S32
}

pub(crate) fn holds(compare: Compare, signed: bool, x: &str, y: &str) -> String {
    let sign = if signed { 's' } else { 'u' };
    match compare {
        Compare::Eq => format!("(= {x} {y})"),
        Compare::Ne => format!("(distinct {x} {y})"),
        Compare::Lt => format!("(bv{sign}lt {x} {y})"),
        Compare::Le => format!("(bv{sign}le {x} {y})"),
        Compare::Gt => format!("(bv{sign}gt {x} {y})"),
        Compare::Ge => format!("(bv{sign}ge {x} {y})"),
    }
}

/// `|x - y|`, if the result fits the width.
fn distance(signed: bool, x: &str, y: &str) -> String {
    format!("(ite {} (bvsub {y} {x}) (bvsub {x} {y}))", holds(Compare::Lt, signed, x, y))
}

fn lesser(signed: bool, x: &str, y: &str) -> String {
    format!("(ite {} {x} {y})", holds(Compare::Lt, signed, x, y))
}

fn greater(signed: bool, x: &str, y: &str) -> String {
    format!("(ite {} {x} {y})", holds(Compare::Gt, signed, x, y))
}

struct Steps<'p> {
    program: &'p Program,
    /// Whether products are written with `mul`, in 64 bits.
    wide: bool,
    bits: Vec<Bits>,
}

/// The number after `%` in a value's printed form.
fn index(value: Value) -> usize {
    value.to_string()[1..].parse().expect("a number")
}

impl Steps<'_> {
    fn range(&self, value: Value) -> Range {
        self.program.steps()[index(value)].range
    }

    fn get(&self, value: Value) -> &Bits {
        &self.bits[index(value)]
    }

    /// Both values in a common width for comparison, and whether they are signed.
    fn pair(&self, x: Value, y: Value) -> (String, String, u32, bool) {
        let (x, y) = (self.get(x), self.get(y));
        let signed = x.signed || y.signed;
        let width = x.width_as(signed).max(y.width_as(signed));
        (x.at(width), y.at(width), width, signed)
    }

    /// Sums and differences are exact in as many bits as the range needs. The width is at least a
    /// word, so that solvers see that reordered sums of words are equal.
    fn sum(&self, op: &str, x: Value, y: Value, range: Range) -> (String, u32) {
        let (x, y) = (self.get(x), self.get(y));
        let width = needed(range).max(x.width).max(y.width).max(32);
        (format!("({op} {} {})", x.at(width), y.at(width)), width)
    }

    fn term(&self, step: &Step) -> (String, u32) {
        self.check(step);
        match step.op {
            Op::Input(input) => (input.text().to_owned(), 32),
            Op::Constant(value) => {
                let width = needed(step.range);
                (constant(value, width), width)
            }
            Op::Extract { value, low, width, .. } => {
                let (low, width) = (u32::from(low), u32::from(width));
                let bits = self.get(value);
                let whole = bits.at(bits.width.max(low + width));
                (format!("((_ extract {} {low}) {whole})", low + width - 1), width)
            }
            Op::Add(x, y) => self.sum("bvadd", x, y, step.range),
            Op::Sub(x, y) => self.sum("bvsub", x, y, step.range),
            Op::Mul(x, y) => {
                let (op, width) = match needed(step.range) {
                    _ if self.wide => ("mul", 64),
                    0..=32 => ("bvmul", 32),
                    _ => ("bvmul", 64),
                };
                (format!("({op} {} {})", self.get(x).at(width), self.get(y).at(width)), width)
            }
            Op::AbsDiff(x, y) => {
                let (x, y, width, signed) = self.pair(x, y);
                // The result is unsigned, so it has as many bits as the operands.
                (distance(signed, &x, &y), width)
            }
            Op::Min(x, y) => {
                let (x, y, width, signed) = self.pair(x, y);
                (lesser(signed, &x, &y), width)
            }
            Op::Max(x, y) => {
                let (x, y, width, signed) = self.pair(x, y);
                (greater(signed, &x, &y), width)
            }
            Op::Shl(x, amount) => {
                let (x, amount) = (self.get(x), self.get(amount));
                let width = needed(step.range).max(x.width).max(amount.width);
                (format!("(bvshl {} {})", x.at(width), amount.at(width)), width)
            }
            Op::Shr(x, amount) => {
                let (x, amount) = (self.get(x), self.get(amount));
                let width = x.width.max(amount.width);
                let op = if x.signed { "bvashr" } else { "bvlshr" };
                (format!("({op} {} {})", x.at(width), amount.at(width)), width)
            }
            Op::Compare(compare, x, y) => {
                let (x, y, _, signed) = self.pair(x, y);
                (format!("(ite {} #b1 #b0)", holds(compare, signed, &x, &y)), 1)
            }
            Op::Clamp(value, to) => {
                let bits = self.get(value);
                let signed = bits.signed || to.min < 0;
                let limits = needed(to) + u32::from(signed && to.min >= 0);
                let width = bits.width_as(signed).max(limits);
                let (least, most) = (constant(to.min, width), constant(to.max, width));
                let limited = lesser(signed, &bits.at(width), &most);
                let lower = holds(Compare::Lt, signed, &bits.at(width), &least);
                (format!("(ite {lower} {least} {limited})"), width)
            }
            Op::Insert { base, value, low, width } => {
                let (low, width) = (u32::from(low), u32::from(width));
                let base = self.get(base).at(32);
                let mut term = self.get(value).at(width);
                if low > 0 {
                    term = format!("(concat {term} ((_ extract {} 0) {base}))", low - 1);
                }
                if low + width < 32 {
                    term = format!("(concat ((_ extract 31 {}) {base}) {term})", low + width);
                }
                (term, 32)
            }
        }
    }

    /// Checks the range of a step, because widths depend on ranges.
    fn check(&self, step: &Step) {
        let ends = |value| {
            let range = self.range(value);
            [range.min, range.max]
        };
        // Operations that are monotone in each operand have their extremes at the ends
        // of ranges.
        let corners = |x, y, f: fn(i128, i128) -> i128| {
            ends(x).into_iter().all(|x| ends(y).into_iter().all(|y| step.range.contains(f(x, y))))
        };
        let right = match step.op {
            Op::Input(_) | Op::Insert { .. } => step.range.contains_range(Range::bits(32, false)),
            Op::Constant(value) => step.range.contains(value),
            Op::Extract { value, low, width, signed } => {
                let whole = Range::bits(width, signed);
                let [min, max] = ends(value).map(|end| end >> low);
                let kept = Range::new(min, max);
                step.range.contains_range(whole)
                    || whole.contains_range(kept) && step.range.contains_range(kept)
            }
            Op::Add(x, y) => corners(x, y, |x, y| x + y),
            Op::Sub(x, y) => corners(x, y, |x, y| x - y),
            Op::Mul(x, y) => corners(x, y, |x, y| x * y),
            // The lower end is not checked, because it does not affect the width.
            Op::AbsDiff(x, y) => {
                let most = Range::new(0, step.range.max);
                ends(x).iter().all(|x| ends(y).iter().all(|y| most.contains((x - y).abs())))
            }
            Op::Min(x, y) => corners(x, y, Ord::min),
            Op::Max(x, y) => corners(x, y, Ord::max),
            Op::Shl(x, y) => corners(x, y, |x, y| x << y),
            Op::Shr(x, y) => corners(x, y, |x, y| x >> y),
            Op::Compare(..) => step.range.min >= 0,
            Op::Clamp(value, to) => {
                ends(value).iter().all(|&end| step.range.contains(end.clamp(to.min, to.max)))
            }
        };
        assert!(right, "the range of {step:?} is wrong");
    }
}

fn arg_term(arg: Arg, class: Class) -> String {
    match (arg, class) {
        (Arg::Input(input), _) => input.text().to_owned(),
        (Arg::Register(at), _) => format!("r{at}"),
        (Arg::Line(at), _) => format!("s{at}"),
        (Arg::Constant(value), Class::Word) => format!("#x{:08x}", value & 0xffff_ffff),
        (Arg::Constant(value), Class::Wide) => format!("#x{value:016x}"),
        (Arg::Constant(value), Class::Half) => format!("#x{:04x}", value & 0xffff),
        (Arg::Constant(value), Class::Predicate) => (value != 0).to_string(),
    }
}

/// A part of a word, from lane `at` of `bits` bits each, extended to 32 bits.
fn lane(word: &str, at: u32, bits: u32, ty: Type) -> String {
    let part = part(word, at, bits);
    resized(&part, bits, signed(ty), 32)
}

fn part(word: &str, at: u32, bits: u32) -> String {
    format!("((_ extract {} {}) {word})", bits * (at + 1) - 1, bits * at)
}

/// A word made from the terms of its lanes.
fn lanes(count: u32, lane: impl Fn(u32) -> String) -> String {
    let lanes: Vec<String> = (0..count).rev().map(lane).collect();
    format!("(concat {})", lanes.join(" "))
}

/// Terms added to a word.
fn plus(word: &str, terms: &[String]) -> String {
    format!("(bvadd {word} {})", terms.join(" "))
}

/// The bits of a word under a mask. Bits under a mask of one run are extracted, as the parts of
/// sources are: solvers do not see that `bvand` and an extraction give equal factors.
fn masked(word: &str, mask: u32) -> String {
    let (low, width) = (mask.trailing_zeros(), mask.count_ones());
    if mask == 0 || mask == u32::MAX || width + low + mask.leading_zeros() != 32 {
        return format!("(bvand {word} #x{mask:08x})");
    }
    let run = format!("((_ extract {} {low}) {word})", low + width - 1);
    let run = resized(&run, width, false, 32 - low);
    if low == 0 { run } else { format!("(concat {run} (_ bv0 {low}))") }
}

/// A signed number clamped to the range of a type with `bits` bits, and truncated to them.
fn saturated(term: &str, from: u32, bits: u32, ty: Type) -> String {
    let range = Range::bits(bits as u8, signed(ty));
    let (least, most) = (constant(range.min, from), constant(range.max, from));
    let limited = greater(true, &lesser(true, term, &most), &least);
    format!("((_ extract {} 0) {limited})", bits - 1)
}

/// Sums or differences of lanes, computed with two more bits and clamped to a type.
fn saturated_lanes(op: &str, count: u32, ty: Type, x: &str, y: &str) -> String {
    let bits = 32 / count;
    lanes(count, |at| {
        let [x, y] = [x, y].map(|it| resized(&part(it, at, bits), bits, signed(ty), bits + 2));
        saturated(&format!("({op} {x} {y})"), bits + 2, bits, ty)
    })
}

/// A word of signed lanes, with 0 in place of negative numbers.
fn relu(count: u32, number: impl Fn(u32) -> String) -> String {
    lanes(count, |at| greater(true, &number(at), &constant(0, 32 / count)))
}

/// A sum or difference of words, computed in 33 bits and clamped to 32 bits.
fn saturated_sum(op: &str, x: &str, y: &str) -> String {
    let [x, y] = [x, y].map(|word| resized(word, 32, true, 33));
    saturated(&format!("({op} {x} {y})"), 33, 32, Type::S32)
}

/// One of eight bytes, selected by a nibble. The low bits are the byte's number; bit 3
/// asks for the sign in all bits.
fn permuted(low: &str, high: &str, selector: &str, at: u32) -> String {
    let nibble = part(selector, at, 4);
    let count = format!("((_ zero_extend 58) (concat ((_ extract 2 0) {nibble}) #b000))");
    let byte = format!("((_ extract 7 0) (bvlshr (concat {high} {low}) {count}))");
    let sign = format!("((_ repeat 8) ((_ extract 7 7) {byte}))");
    format!("(ite (= ((_ extract 3 3) {nibble}) #b1) {sign} {byte})")
}

fn line_term(line: &Line) -> String {
    let mut args =
        line.args().iter().zip(line.opcode.arguments()).map(|(arg, class)| arg_term(*arg, *class));
    let [x, y, z] = [(); 3].map(|()| args.next().unwrap_or_default());
    let (x, y, z) = (x.as_str(), y.as_str(), z.as_str());
    let long = |word: &str, ty| resized(word, 32, signed(ty), 64);
    let shift = |ty| if signed(ty) { "bvashr" } else { "bvlshr" };
    // The 64-bit pair of the first two words, shifted by the third word.
    let funnel =
        |op, amount: &str| format!("({op} (concat {y} {x}) ((_ zero_extend 32) {amount}))");
    let wrapped = format!("(bvand {z} #x0000001f)");
    match line.opcode {
        Opcode::Move => x.to_owned(),
        Opcode::Add | Opcode::AddWide => format!("(bvadd {x} {y})"),
        Opcode::Sub | Opcode::SubWide => format!("(bvsub {x} {y})"),
        Opcode::Mul => format!("(bvmul {x} {y})"),
        Opcode::MulWide => format!("(mul {x} {y})"),
        Opcode::Mad => format!("(bvadd (bvmul {x} {y}) {z})"),
        Opcode::AddSat => saturated_sum("bvadd", x, y),
        Opcode::SubSat => saturated_sum("bvsub", x, y),
        Opcode::Abs => format!("(ite (bvslt {x} #x00000000) (bvneg {x}) {x})"),
        Opcode::And => match line.args()[1] {
            Arg::Constant(mask) => masked(x, mask as u32),
            _ => format!("(bvand {x} {y})"),
        },
        Opcode::Or => format!("(bvor {x} {y})"),
        Opcode::Xor => format!("(bvxor {x} {y})"),
        Opcode::Not => format!("(bvnot {x})"),
        Opcode::Lop3(table) => {
            let term = |row: u8| {
                let literal = |word: &str, bit: u8| match row >> bit & 1 {
                    1 => word.to_owned(),
                    _ => format!("(bvnot {word})"),
                };
                format!("(bvand {} {} {})", literal(x, 2), literal(y, 1), literal(z, 0))
            };
            let rows = (0..8).filter(|row| table >> row & 1 == 1);
            rows.fold("#x00000000".to_owned(), |all, row| format!("(bvor {all} {})", term(row)))
        }
        Opcode::Shl => format!("(bvshl {x} {y})"),
        Opcode::Shr(ty) => match line.args()[1] {
            Arg::Constant(by @ 0..32) => {
                let run = format!("((_ extract 31 {by}) {x})");
                resized(&run, 32 - by as u32, signed(ty), 32)
            }
            _ => format!("({} {x} {y})", shift(ty)),
        },
        Opcode::FunnelLeftWrap => format!("((_ extract 63 32) {})", funnel("bvshl", &wrapped)),
        Opcode::FunnelLeft => {
            format!("((_ extract 63 32) {})", funnel("bvshl", &lesser(false, z, "#x00000020")))
        }
        Opcode::FunnelRightWrap => format!("((_ extract 31 0) {})", funnel("bvlshr", &wrapped)),
        Opcode::Min(ty) | Opcode::MinWide(ty) => lesser(signed(ty), x, y),
        Opcode::Max(ty) | Opcode::MaxWide(ty) => greater(signed(ty), x, y),
        Opcode::Sad(ty) => format!("(bvadd {} {z})", distance(signed(ty), x, y)),
        Opcode::Permute => lanes(4, |at| permuted(x, y, z, at)),
        Opcode::Select => format!("(ite {z} {x} {y})"),
        Opcode::Dot4(..) | Opcode::Dot2(..) | Opcode::Dot2High(..) => {
            plus(z, &products(line).expect("a dot product"))
        }
        Opcode::Pack2(ty) => {
            format!("(concat {} {})", saturated(x, 32, 16, ty), saturated(y, 32, 16, ty))
        }
        Opcode::Pack4(ty) => {
            let (upper, lower) = (saturated(x, 32, 8, ty), saturated(y, 32, 8, ty));
            format!("(concat ((_ extract 15 0) {z}) {upper} {lower})")
        }
        Opcode::LowHalf => part(x, 0, 16),
        Opcode::HighHalf => part(x, 1, 16),
        Opcode::NegateHalf => format!("(bvneg {x})"),
        Opcode::JoinHalves => format!("(concat {y} {x})"),
        Opcode::Add2 => lanes(2, |at| format!("(bvadd {} {})", part(x, at, 16), part(y, at, 16))),
        Opcode::Min2(ty) => lanes(2, |at| lesser(signed(ty), &part(x, at, 16), &part(y, at, 16))),
        Opcode::Max2(ty) => lanes(2, |at| greater(signed(ty), &part(x, at, 16), &part(y, at, 16))),
        Opcode::MinRelu2 => relu(2, |at| lesser(true, &part(x, at, 16), &part(y, at, 16))),
        Opcode::MaxRelu2 => relu(2, |at| greater(true, &part(x, at, 16), &part(y, at, 16))),
        Opcode::AddSat2(ty) => saturated_lanes("bvadd", 2, ty, x, y),
        Opcode::Add4 => lanes(4, |at| format!("(bvadd {} {})", part(x, at, 8), part(y, at, 8))),
        Opcode::Sub4 => lanes(4, |at| format!("(bvsub {} {})", part(x, at, 8), part(y, at, 8))),
        Opcode::AddSat4(ty) => saturated_lanes("bvadd", 4, ty, x, y),
        Opcode::SubSat4(ty) => saturated_lanes("bvsub", 4, ty, x, y),
        Opcode::Min4(ty) => lanes(4, |at| lesser(signed(ty), &part(x, at, 8), &part(y, at, 8))),
        Opcode::Max4(ty) => lanes(4, |at| greater(signed(ty), &part(x, at, 8), &part(y, at, 8))),
        Opcode::MinRelu4 => relu(4, |at| lesser(true, &part(x, at, 8), &part(y, at, 8))),
        Opcode::MaxRelu4 => relu(4, |at| greater(true, &part(x, at, 8), &part(y, at, 8))),
        Opcode::AddFloat2 => floats(x, y, "bvadd", false),
        Opcode::SubFloat2 => floats(x, y, "bvsub", false),
        Opcode::AddSatFloat2 => floats(x, y, "bvadd", true),
        Opcode::SubSatFloat2 => floats(x, y, "bvsub", true),
        Opcode::MinFloat2 => floats(x, y, "least", false),
        Opcode::MaxFloat2 => floats(x, y, "most", false),
        Opcode::AbsDiff4(ty) => {
            lanes(4, |at| distance(signed(ty), &part(x, at, 8), &part(y, at, 8)))
        }
        Opcode::SumAbsDiff4(ty) => {
            let distance = |at| distance(signed(ty), &part(x, at, 8), &part(y, at, 8));
            let term = |at| format!("((_ zero_extend 24) {})", distance(at));
            plus(z, &[0, 1, 2, 3].map(term))
        }
        Opcode::Count => {
            let term = |at| format!("((_ zero_extend 31) {})", part(x, at, 1));
            plus("#x00000000", &(0..32).map(term).collect::<Vec<_>>())
        }
        Opcode::Low => format!("((_ extract 31 0) {x})"),
        Opcode::High => format!("((_ extract 63 32) {x})"),
        Opcode::Extend(ty) => long(x, ty),
        Opcode::Product(ty) => format!("(mul {} {})", long(x, ty), long(y, ty)),
        Opcode::ShlWide => format!("(bvshl {x} {})", long(y, Type::U32)),
        Opcode::ShrWide(ty) => format!("({} {x} {})", shift(ty), long(y, Type::U32)),
        Opcode::Set(compare, ty) | Opcode::SetWide(compare, ty) => holds(compare, signed(ty), x, y),
        Opcode::SetAnd(compare, ty) => format!("(and {} {z})", holds(compare, signed(ty), x, y)),
        Opcode::SetOr(compare, ty) => format!("(or {} {z})", holds(compare, signed(ty), x, y)),
        other => panic!("{other} has no encoding"),
    }
}

/// An operation on floating-point halves, computed with integers; see [`FLOATS`].
fn floats(x: &str, y: &str, function: &str, is_limited: bool) -> String {
    lanes(2, |at| {
        let number = |word: &str| format!("(number {})", part(word, at, 16));
        let result = format!("({function} {} {})", number(x), number(y));
        if is_limited {
            format!("(half (most {result} #x0000))")
        } else {
            format!("(half {result})")
        }
    })
}

/// Represents floating-point halves as integers in units of the smallest number. This is exact
/// below 2^11, so [`exact`] limits operands and results to that.
const FLOATS: &str = "(define-fun number ((h (_ BitVec 16))) (_ BitVec 16)
  (ite (bvslt h #x0000) (bvneg (bvand h #x7fff)) h))
(define-fun half ((n (_ BitVec 16))) (_ BitVec 16)
  (ite (bvslt n #x0000) (bvor (bvneg n) #x8000) n))
(define-fun least ((x (_ BitVec 16)) (y (_ BitVec 16))) (_ BitVec 16) (ite (bvslt x y) x y))
(define-fun most ((x (_ BitVec 16)) (y (_ BitVec 16))) (_ BitVec 16) (ite (bvslt x y) y x))
(define-fun small ((h (_ BitVec 16))) Bool (or (bvult h #x0800) (bvult (bvsub h #x8001) #x07ff)))
";

/// The condition under which [`FLOATS`] is exact: the halves that a line reads and the halves of
/// its result are small. `None` if the line is no floating-point operation.
fn exact(line: &Line, result: &str, half: u32) -> Option<String> {
    let is_float = matches!(line.opcode.needs(), Feature::FloatHalves | Feature::FloatExtrema);
    let args = line.args().iter().map(|arg| arg_term(*arg, Class::Word));
    let small =
        args.chain([result.to_owned()]).map(|it| format!("(small {})", part(&it, half, 16)));
    is_float.then(|| format!("(and {})", small.collect::<Vec<_>>().join(" ")))
}

/// The heads of queries: the first defines products, the second leaves them undefined.
const PRODUCT: &str = "(set-logic QF_BV)
(define-fun mul ((x (_ BitVec 64)) (y (_ BitVec 64))) (_ BitVec 64) (bvmul x y))
";
const ANY_PRODUCT: &str = "(set-logic QF_UFBV)
(declare-fun mul ((_ BitVec 64) (_ BitVec 64)) (_ BitVec 64))
";

/// The solver's answer to a [`query`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// No such inputs exist.
    Proven,
    /// The results differ on these inputs.
    Differs([u32; 3]),
    /// No answer in time.
    Unknown,
}

/// A z3 process that answers one query after the other.
pub(crate) struct Solver {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Solver {
    pub(crate) fn new(path: &Path) -> Solver {
        let mut child = Command::new(path)
            .arg("-in")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let input = child.stdin.take().expect("it is piped");
        let output = BufReader::new(child.stdout.take().expect("it is piped"));
        Solver { child, input, output }
    }

    fn send(&mut self, text: &str) {
        self.input.write_all(text.as_bytes()).expect("the solver reads");
        self.input.flush().expect("the solver reads");
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).expect("the solver writes");
        line.trim().to_owned()
    }

    /// Starts a query, and removes all of an earlier query.
    fn start(&mut self, head: &str, text: &str, end: &str, seconds: u64) {
        let timeout = seconds * 1000;
        let floats = if text.contains("(half ") { FLOATS } else { "" };
        self.send(&format!(
            "(reset)\n(set-option :timeout {timeout})\n{head}{floats}{text}{end}\n"
        ));
    }

    /// The answer to a [`query`]. Most queries do not need the definition of a product,
    /// only that equal factors give equal products.
    pub(crate) fn ask(&mut self, query: &str, seconds: u64) -> Answer {
        if query.contains("(mul ") && self.check(ANY_PRODUCT, query, seconds) == Answer::Proven {
            return Answer::Proven;
        }
        self.check(PRODUCT, query, seconds)
    }

    fn check(&mut self, head: &str, query: &str, seconds: u64) -> Answer {
        self.start(head, query, "(check-sat)", seconds);
        match self.line().as_str() {
            "unsat" => Answer::Proven,
            "unknown" | "timeout" => Answer::Unknown,
            "sat" => Answer::Differs(Input::ALL.map(|input| {
                self.send(&format!("(get-value ({}))\n", input.text()));
                self.word()
            })),
            other => panic!("the solver says {other:?} to\n{query}"),
        }
    }

    /// Both results of an [`evaluation`].
    pub(crate) fn evaluate(&mut self, evaluation: &str) -> [u32; 2] {
        self.start(PRODUCT, evaluation, "", 60);
        [self.word(), self.word()]
    }

    /// The number in a line such as `((a #x00000001))`.
    fn word(&mut self) -> u32 {
        let line = self.line();
        let digits = line.split_once("#x").map(|(_, rest)| rest.trim_end_matches(')'));
        digits
            .and_then(|digits| u32::from_str_radix(digits, 16).ok())
            .unwrap_or_else(|| panic!("the solver says {line:?}"))
    }
}

impl Drop for Solver {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
