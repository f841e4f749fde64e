//! The results of instructions. They are compared with recorded results, with the manual's
//! pseudocode for every form, with the text of lowered programs, and with laws that need no
//! reference.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt::Write as _;
use std::path::Path;

use crate::support::forms::{MASKS2, MASKS4, PARTS, rows, texts};
use crate::support::random::Random;
use crate::support::reference::{manual, settled, tail};
use vptx::ir::{Input, Op, ParseProgramError, Program, ProgramBuilder, Range, Value};
use vptx::isa::{Destination, Family, LaneWidth, Mnemonic, Modifier, Part, Role, Sources};
use vptx::video::{Operation, Semantics, Tail};
use vptx::{CheckOptions, Dialect, Instruction, parse_with};

const TYPES: [&str; 2] = [".u32", ".s32"];

/// Words at which results change: sign bits, widths, shift amounts.
const EDGES: [u32; 31] = [
    0,
    1,
    2,
    7,
    8,
    15,
    31,
    32,
    33,
    34,
    63,
    64,
    127,
    128,
    255,
    256,
    0x7fff,
    0x8000,
    0xffff,
    0x0001_0000,
    0x7f7f_7f7f,
    0x8080_8080,
    0x7f80_ff01,
    0x8000_7fff,
    0x7fff_8000,
    0xff00_ff80,
    0x7fff_ffff,
    0x8000_0000,
    0x8000_0001,
    0xffff_fffe,
    0xffff_ffff,
];

/// Bytes at which results change.
const EDGE_BYTES: [u8; 12] =
    [0x00, 0x01, 0x02, 0x1f, 0x20, 0x21, 0x22, 0x7f, 0x80, 0x81, 0xfe, 0xff];

fn word(random: &mut Random) -> u32 {
    match random.below(8) {
        0 => random.next() as u32,
        1 | 2 => u32::from_le_bytes([(); 4].map(|()| *random.pick(&EDGE_BYTES))),
        _ => *random.pick(&EDGES),
    }
}

/// Values of `a`, `b` and `c`.
type Words = [u32; 3];

fn words(random: &mut Random) -> Words {
    let [a, b, c] = [(); 3].map(|()| word(random));
    // Without this, equal sources would be rare.
    if random.one_in(8) { [a, a, c] } else { [a, b, c] }
}

/// Parses a list of instructions.
fn read_all<'a>(list: impl IntoIterator<Item = &'a str>) -> Vec<Instruction> {
    let list: Vec<&str> = list.into_iter().collect();
    // Only the `ptxas` dialect accepts minus signs that cancel.
    let options = CheckOptions::default().with_dialect(Dialect::Ptxas);
    let text = list.join("\n");
    let (module, _) = parse_with(&text, &options).expect("PTX");
    let read: Vec<Instruction> = module.instructions().map(|(_, it)| it.clone()).collect();
    assert_eq!(read.len(), list.len(), "from {}", list[0]);
    read
}

fn read(text: &str) -> Instruction {
    read_all([text]).remove(0)
}

fn lower(text: &str, semantics: Semantics) -> Program {
    read(text).lower(semantics)
}

fn eval(program: &Program, [a, b, c]: Words) -> u32 {
    program.eval(a, b, c)
}

fn eval_batch(program: &Program, inputs: &[Words]) -> Vec<u32> {
    let [a, b, c] = [0, 1, 2].map(|i| inputs.iter().map(|words| words[i]).collect::<Vec<_>>());
    // The old values in `d` must not influence the result.
    let mut d = vec![0xdead_beef; inputs.len()];
    program.eval_batch(&a, &b, &c, &mut d);
    d
}

/// Counts failures by kind, and keeps the first few of each kind.
#[derive(Default)]
struct Failures {
    groups: BTreeMap<String, (usize, Vec<String>)>,
}

impl Failures {
    const SHOWN: usize = 3;

    fn add(&mut self, group: String, line: impl FnOnce() -> String) {
        let (count, lines) = self.groups.entry(group).or_default();
        *count += 1;
        if lines.len() < Failures::SHOWN {
            lines.push(line());
        }
    }

    fn finish(self) {
        let mut report = String::new();
        for (group, (count, lines)) in &self.groups {
            writeln!(report, "{count:7} {group}").unwrap();
            for line in lines {
                writeln!(report, "        {line}").unwrap();
            }
        }
        assert!(report.is_empty(), "{} groups fail\n{report}", self.groups.len());
    }
}

/// The kind of a failure: the semantics, the mnemonic, the modifiers that affect the rules, and the
/// kind of destination.
fn kind(instruction: &Instruction, semantics: Semantics, failure: &str) -> String {
    let mut kind = format!("{} {failure}: {}", semantics.text(), instruction.mnemonic().text());
    for role in Role::ALL {
        if role != Role::Compare {
            kind += instruction.modifier(role).map_or("", Modifier::text);
        }
    }
    match tail(instruction) {
        Some(Tail::Merge { part, .. }) => write!(kind, " d{part}").unwrap(),
        Some(_) => {}
        None => {
            if let Operation::MultiplyAdd(it) = &instruction.operation {
                write!(kind, " {:?}", it.parts().mode).unwrap();
            }
        }
    }
    kind
}

fn line(instruction: &Instruction, [a, b, c]: Words, got: u32, want: u32) -> String {
    format!("{instruction} {a:#010x} {b:#010x} {c:#010x}: {got:#010x}, not {want:#010x}")
}

// Recorded results

struct Recorded {
    inputs: Vec<Words>,
    /// The results by semantics, in the order of [`Semantics::ALL`].
    results: [Vec<u32>; 3],
}

fn recorded() -> Vec<(Instruction, Recorded)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/oracle/vectors.tsv");
    let text = std::fs::read_to_string(&path).unwrap();
    let mut groups: HashMap<&str, Recorded> = HashMap::new();
    let mut order = Vec::new();
    let mut count = 0;
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let (instruction, numbers) = line.split_once('\t').unwrap();
        let number = |text: &str| u32::from_str_radix(text.strip_prefix("0x")?, 16).ok();
        let numbers: Option<Vec<u32>> = numbers.split('\t').map(number).collect();
        let Some(&[a, b, c, in_manual, in_12, in_13]) = numbers.as_deref() else {
            panic!("{line}");
        };
        let group = groups.entry(instruction).or_insert_with(|| {
            order.push(instruction);
            Recorded { inputs: Vec::new(), results: Default::default() }
        });
        group.inputs.push([a, b, c]);
        for (column, d) in group.results.iter_mut().zip([in_manual, in_12, in_13]) {
            column.push(d);
        }
        count += 1;
    }
    assert_eq!(count, 35_819);
    let instructions = read_all(order.iter().copied());
    let groups = order.iter().map(|text| groups.remove(text).unwrap());
    instructions.into_iter().zip(groups).collect()
}

#[test]
fn the_reference_gives_the_recorded_results() {
    let mut failures = Failures::default();
    for (instruction, Recorded { inputs, results }) in recorded() {
        for (&words, &want) in inputs.iter().zip(&results[0]) {
            let [a, b, c] = words;
            let got = manual(&instruction, a, b, c);
            if got != want {
                failures.add(kind(&instruction, Semantics::Manual, "reference"), || {
                    line(&instruction, words, got, want)
                });
            }
        }
    }
    failures.finish();
}

#[test]
fn programs_give_the_recorded_results() {
    let mut failures = Failures::default();
    for (instruction, Recorded { inputs, results }) in recorded() {
        for (semantics, wants) in Semantics::ALL.into_iter().zip(&results) {
            let program = instruction.lower(semantics);
            if let Err(error) = program.verify() {
                failures.add(kind(&instruction, semantics, "verify"), || error.to_string());
            }
            for (&words, &want) in inputs.iter().zip(wants) {
                let got = eval(&program, words);
                if got != want {
                    failures.add(kind(&instruction, semantics, "eval"), || {
                        line(&instruction, words, got, want)
                    });
                }
            }
            for size in [inputs.len(), 0, 1, 7, 64, 1000] {
                let repeated: Vec<Words> = inputs.iter().copied().cycle().take(size).collect();
                let batch = eval_batch(&program, &repeated);
                let all = batch.into_iter().zip(&repeated).zip(wants.iter().cycle());
                for ((got, &words), &want) in all {
                    if got != want {
                        failures.add(kind(&instruction, semantics, "batch"), || {
                            line(&instruction, words, got, want)
                        });
                    }
                }
            }
        }
    }
    failures.finish();
}

#[test]
fn a_batch_takes_slices_of_one_length() {
    let program = lower("vmad.u32.u32.u32 d, a, b, c;", Semantics::Manual);
    for short in 0..4 {
        let [a, b, c, d] = [0, 1, 2, 3].map(|place| vec![0; if place == short { 2 } else { 3 }]);
        let run = || program.eval_batch(&a, &b, &c, &mut d.clone());
        assert!(std::panic::catch_unwind(run).is_err(), "{short}");
    }
}

/// Compares batches of several lengths with the results for single inputs.
fn batch_is_eval(program: &Program, random: &mut Random) {
    let inputs: Vec<Words> = (0..1300).map(|_| words(random)).collect();
    let wants: Vec<u32> = inputs.iter().map(|&words| eval(program, words)).collect();
    for length in [0, 1, 255, 256, 257, 511, 512, 513, 1000, 1024, 1300] {
        let batch = eval_batch(program, &inputs[..length]);
        assert_eq!(batch, wants[..length], "{length} inputs\n{program}");
    }
}

#[test]
fn a_batch_has_any_length() {
    let mut random = Random(3);
    for (form, mnemonic) in rows() {
        let texts = texts(form, mnemonic);
        let some = texts.iter().step_by(texts.len() / 4 + 1);
        for instruction in read_all(some.map(String::as_str)) {
            for semantics in Semantics::ALL {
                batch_is_eval(&instruction.lower(semantics), &mut random);
            }
        }
    }
}

// Every form

/// Lowers and checks every text of some mnemonics. Returns the number of texts.
fn sweep(chosen: impl Fn(Mnemonic) -> bool, inputs: usize) -> usize {
    let mut failures = Failures::default();
    let mut count = 0;
    for (form, mnemonic) in rows().filter(|&(_, mnemonic)| chosen(mnemonic)) {
        let texts = texts(form, mnemonic);
        count += texts.len();
        let mut random = Random(mnemonic as u64);
        for instruction in read_all(texts.iter().map(String::as_str)) {
            let inputs: Vec<Words> = (0..inputs).map(|_| words(&mut random)).collect();
            let reference = |&[a, b, c]: &Words| -> u32 { manual(&instruction, a, b, c) };
            let wants: Vec<u32> = inputs.iter().map(reference).collect();
            let settled = settled(&instruction);
            for semantics in Semantics::ALL {
                let program = instruction.lower(semantics);
                if let Err(error) = program.verify() {
                    failures.add(kind(&instruction, semantics, "verify"), || {
                        format!("{instruction} {error}")
                    });
                }
                let batch = eval_batch(&program, &inputs);
                for ((&words, &want), in_batch) in inputs.iter().zip(&wants).zip(batch) {
                    let got = eval(&program, words);
                    if (settled || semantics == Semantics::Manual) && got != want {
                        failures.add(kind(&instruction, semantics, "eval"), || {
                            line(&instruction, words, got, want)
                        });
                    }
                    if in_batch != got {
                        failures.add(kind(&instruction, semantics, "batch"), || {
                            line(&instruction, words, in_batch, got)
                        });
                    }
                }
            }
        }
    }
    failures.finish();
    count
}

#[test]
fn every_sum_and_difference() {
    assert_eq!(sweep(|it| matches!(it, Mnemonic::Vadd | Mnemonic::Vsub), 32), 2 * 7840);
}

#[test]
fn every_distance_minimum_and_maximum() {
    let these = |it| matches!(it, Mnemonic::Vabsdiff | Mnemonic::Vmin | Mnemonic::Vmax);
    assert_eq!(sweep(these, 32), 3 * 7840);
}

/// A minimum or maximum with a number that no operand can pass needs no step, although an operand
/// may be equal to it.
#[test]
fn known_minima_and_maxima_need_no_step() {
    for (text, expected) in [
        ("vmin.u32.u32.u32 d, a, 0;", 0),
        ("vmin.u32.u32.u32 d, 0, b;", 0),
        ("vmin.u32.u32.u32 d, a, 0xffffffff;", 7),
        ("vmin.u32.u32.u32 d, 0xffffffff, b;", 9),
        ("vmax.u32.u32.u32 d, a, 0;", 7),
        ("vmax.u32.u32.u32 d, 0, b;", 9),
        ("vmax.u32.u32.u32 d, a, 0xffffffff;", u32::MAX),
        ("vmax.u32.u32.u32 d, 0xffffffff, b;", u32::MAX),
    ] {
        let program = lower(text, Semantics::Manual);
        let chooses = program.steps().iter().any(|it| matches!(it.op, Op::Min(..) | Op::Max(..)));
        assert!(!chooses, "{text}\n{program}");
        assert_eq!(eval(&program, [7, 9, 0]), expected, "{text}");
    }
}

/// The range of a result reaches from the least to the greatest value over all operands in their
/// ranges: ranges tell a back end which words a value fits in.
#[test]
fn ranges_are_those_of_all_values() {
    let ops: [fn(Value, Value) -> Op; 9] =
        [Op::Add, Op::Sub, Op::Mul, Op::AbsDiff, Op::Min, Op::Max, Op::Shl, Op::Shr, |x, _| {
            Op::Clamp(x, Range::new(-2, 3))
        }];
    // Two bits, from these numbers up.
    let least = -6..=3;
    for (op, [x_least, y_least]) in ops
        .iter()
        .flat_map(|op| least.clone().flat_map(move |x| (-6..=3).map(move |y| (op, [x, y]))))
    {
        let mut builder = ProgramBuilder::new();
        let [x, y] = [(Input::A, x_least), (Input::B, y_least)].map(|(input, least)| {
            let word = builder.input(input);
            let two = builder.push(Op::Extract { value: word, low: 0, width: 2, signed: false });
            let least = builder.push(Op::Constant(least));
            builder.push(Op::Add(two.unwrap(), least.unwrap())).unwrap()
        });
        let op = op(x, y);
        let Ok(value) = builder.push(op) else {
            assert!(matches!(op, Op::Shl(..) | Op::Shr(..)) && y_least < 0, "{op:?} {y_least}");
            continue;
        };
        let range = builder.range(value).unwrap();
        let program = builder.finish(value).unwrap();
        let all = (0..16).map(|at| program.trace(at & 3, at >> 2, 0)[value.index()]);
        let all: Vec<i128> = all.collect();
        let (min, max) = (*all.iter().min().unwrap(), *all.iter().max().unwrap());
        assert_eq!(range, Range::new(min, max), "{op:?} from {x_least} and {y_least}");
    }
}

#[test]
fn every_shift() {
    assert_eq!(sweep(|it| it.family() == Family::Shift, 32), 2 * 7840);
}

#[test]
fn every_multiply_add() {
    assert_eq!(sweep(|it| it.family() == Family::MultiplyAdd, 32), 11_760);
}

#[test]
fn every_comparison() {
    assert_eq!(sweep(|it| it.family() == Family::Set, 32), 11_760);
}

#[test]
fn every_two_way_arithmetic() {
    assert_eq!(
        sweep(|it| it.family() == Family::SimdArithmetic(LaneWidth::Halves), 16),
        6 * 27_744
    );
}

#[test]
fn every_two_way_comparison() {
    assert_eq!(sweep(|it| it.family() == Family::SimdSet(LaneWidth::Halves), 16), 55_488);
}

#[test]
fn four_way_forms() {
    let these = |it: Mnemonic| {
        matches!(
            it.family(),
            Family::SimdArithmetic(LaneWidth::Bytes) | Family::SimdSet(LaneWidth::Bytes)
        )
    };
    assert_eq!(sweep(these, 32), 6 * 6144 + 12_288);
}

/// The texts of [`four_way_forms`] cover all pairs: for any two digits of the two selectors, all
/// combinations of values occur.
#[test]
fn four_way_selectors_meet_pairwise() {
    for (form, mnemonic) in
        rows().filter(|(form, _)| form.sources == Sources::Lanes(LaneWidth::Bytes))
    {
        let mut pairs = HashSet::new();
        for instruction in read_all(texts(form, mnemonic).iter().map(String::as_str)) {
            let lanes = match &instruction.operation {
                Operation::SimdArithmetic(it) => it.operands.lanes,
                Operation::SimdSet(it) => it.operands.lanes,
                other => panic!("{other:?}"),
            };
            let lanes = [lanes.a().lanes(), lanes.b().lanes()].concat();
            for (i, &x) in lanes.iter().enumerate() {
                pairs.extend(lanes[..i].iter().enumerate().map(|(j, &y)| (i, x, j, y)));
            }
        }
        assert_eq!(pairs.len(), 28 * 64, "{mnemonic:?}");
    }
}

#[test]
fn programs_read_back() {
    for (form, mnemonic) in rows() {
        let texts = texts(form, mnemonic);
        for instruction in read_all(texts.iter().step_by(50).map(String::as_str)) {
            for semantics in Semantics::ALL {
                let program = instruction.lower(semantics);
                let printed = program.to_string();
                let again: Program = printed
                    .parse()
                    .unwrap_or_else(|error| panic!("{instruction}: {error}\n{printed}"));
                assert_eq!(again, program, "{instruction}\n{printed}");
                assert_eq!(again.to_string(), printed, "{instruction}");
            }
        }
    }
}

/// Each program breaks one of the invariants that `Program::new` promises. It starts with `%0`, an
/// unsigned word.
#[test]
fn programs_that_break_an_invariant_are_refused() {
    for (steps, step, message) in [
        ("%1: 0..4294967296 = add %0, %1", 1, "%1 is used before it is computed"),
        ("%1: 0..0 = u0 %0[0]", 1, "cannot extract 0 bits from bit 0"),
        ("%1: 0..1 = u1 %0[65]", 1, "cannot extract 1 bits from bit 65"),
        ("%1: 0..1 = shr %0, %0", 1, "the shift amount lies in 0..4294967295, not in 0..32"),
        ("%1: 0..1 = clamp %0, 1..0", 1, "the range 1..0 is empty"),
        ("%1: 0..4294967295 = insert %0, %0[31], 2", 1, "cannot insert 2 bits at bit 31"),
        ("%1: -1..-1 = -1\n%2: 0..1 = insert %1, %0[0], 8", 2, "the base of an insert must be"),
        ("%1: 0..254 = u8 %0[0]", 1, "the result lies in 0..255, not in 0..254"),
        // 2^71
        ("%1: 0..2361183241434822606848 = u8 %0[0]", 1, "the range 0..2361183241434822606848 is"),
        ("%1: -128..127 = s8 %0[0]", 1, "the last value must be a 32-bit word"),
    ] {
        let text = format!("extract:\n%0: 0..4294967295 = a\n{steps}\n");
        match text.parse::<Program>() {
            Err(ParseProgramError::Verify(error)) => {
                assert_eq!(error.step, step, "{text}");
                assert!(error.to_string().contains(message), "{text}{error}");
            }
            other => panic!("{text}{other:?}"),
        }
    }
}

// Laws

/// The number of inputs tried for each instance of a law.
const TRIALS: u64 = 32;

/// Checks that both sides of a law are equal. If they differ, shows a small counterexample.
fn law(name: &str, sides: impl Fn(Words) -> (u32, u32)) {
    // The words are random, but differ for each instance of a law.
    let seed = name.bytes().fold(7, |seed, byte| seed * 31 % 1_000_003 + u64::from(byte));
    let broken = |words: Words| {
        let (left, right) = sides(words);
        left != right
    };
    for trial in 0..TRIALS {
        let words = words(&mut Random(seed + trial * 1_000_003));
        if broken(words) {
            let words = shrink(words, broken);
            let (left, right) = sides(words);
            panic!("{name}\nwith {words:#x?}: {left:#010x} is not {right:#010x}");
        }
    }
}

/// Clears bits of the words as long as the law stays broken.
fn shrink(mut words: Words, broken: impl Fn(Words) -> bool) -> Words {
    loop {
        let smaller = (0..3).flat_map(|i| {
            (0..32).rev().filter(move |bit| words[i] >> bit & 1 == 1).map(move |bit| {
                let mut smaller = words;
                smaller[i] ^= 1 << bit;
                smaller
            })
        });
        match smaller.into_iter().find(|&smaller| broken(smaller)) {
            Some(smaller) => words = smaller,
            None => return words,
        }
    }
}

/// Checks that two texts compute the same. `inputs` changes the words for the second text.
fn same(semantics: Semantics, left: &str, right: &str, inputs: impl Fn(Words) -> Words) {
    let programs = [left, right].map(|text| lower(text, semantics));
    law(&format!("{}: {left} = {right}", semantics.text()), |words| {
        (eval(&programs[0], words), eval(&programs[1], inputs(words)))
    });
}

/// Scalar texts whose sources have no selectors, split into the head with `d`, and the sources.
fn whole_word_texts() -> impl Iterator<Item = (Mnemonic, String, String)> {
    let scalar = rows().filter(|(form, _)| form.sources == Sources::Scalar);
    scalar.flat_map(|(form, mnemonic)| {
        texts(form, mnemonic).into_iter().filter_map(move |text| {
            let (head, sources) = text.split_once(", ")?;
            (!sources.contains('.')).then(|| (mnemonic, head.to_owned(), sources.to_owned()))
        })
    })
}

/// All combinations of the types of `d`, `a` and `b`.
fn types() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    let two = |d| TYPES.into_iter().flat_map(move |a| TYPES.map(|b| (d, a, b)));
    TYPES.into_iter().flat_map(two)
}

/// A part of a word, extended to a word.
fn part_of(word: u32, part: &str, ty: Option<Modifier>) -> u32 {
    let part = part.parse::<Part>().unwrap();
    let high = word << (32 - part.width() - part.shift());
    if ty == Some(Modifier::S32) {
        (high.cast_signed() >> (32 - part.width())).cast_unsigned()
    } else {
        high >> (32 - part.width())
    }
}

/// A mask with the bits of a part.
fn part_bits(part: &str) -> u32 {
    let part = part.parse::<Part>().unwrap();
    ((1 << part.width()) - 1) << part.shift()
}

fn clamp(value: u32, ty: &str, bits: u32) -> u32 {
    let value = i64::from(value.cast_signed());
    let (least, most) = match ty {
        ".s32" => (-1 << (bits - 1), (1 << (bits - 1)) - 1),
        _ => (0, (1 << bits) - 1),
    };
    value.clamp(least, most).cast_unsigned() as u32
}

#[test]
fn selecting_a_part_is_extending_it_first() {
    for (i, (_, head, sources)) in whole_word_texts().enumerate() {
        let plain = format!("{head}, {sources}");
        let instruction = read(&plain);
        let ty = [Role::Atype, Role::Btype].map(|role| instruction.modifier(role));
        for semantics in Semantics::ALL {
            let [p, q] = [PARTS[i % 6], PARTS[i / 6 % 6]];
            let selected = sources.replacen('b', &format!("b{q}"), 1);
            let selected = selected.replacen('a', &format!("a{p}"), 1);
            same(semantics, &format!("{head}, {selected}"), &plain, |[a, b, c]| {
                [part_of(a, p, ty[0]), part_of(b, q, ty[1]), c]
            });
        }
    }
}

#[test]
fn a_constant_is_a_register_that_holds_it() {
    let values = [0, 1, 5, 32, 0x80, 0xffff, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff];
    for (i, (_, head, sources)) in whole_word_texts().enumerate() {
        let value = values[i % values.len()];
        for (place, operand) in ["a", "b", "c"].into_iter().enumerate() {
            // A minus sign before a constant would belong to the constant, so negated operands are
            // left out.
            if !sources.contains(operand) || sources.contains(&format!("-{operand}")) {
                continue;
            }
            let with_constant = sources.replacen(operand, &value.to_string(), 1);
            let semantics = Semantics::ALL[(i + place) % 3];
            let plain = format!("{head}, {sources}");
            same(semantics, &format!("{head}, {with_constant}"), &plain, |mut words| {
                words[place] = value;
                words
            });
        }
    }
    for semantics in Semantics::ALL {
        for (_, a, b) in types() {
            let [constant, plain] =
                ["-5", "b"].map(|x| format!("vmad.u32{a}{b}.sat d, a, {x}, c;"));
            same(semantics, &constant, &plain, |[a, _, c]| [a, 5u32.wrapping_neg(), c]);
        }
    }
}

#[test]
fn spelling_and_guards_change_nothing() {
    let pairs = [
        ("vadd4.u32.s32.u32 d.b3210, a.b3210, b.b7654, c;", "vadd4.u32.s32.u32 d, a, b, c;"),
        ("vset2.u32.s32.lt d.h10, a.h10, b.h32, c;", "vset2.u32.s32.lt d, a, b, c;"),
        ("@p vshl.u32.u32.u32.sat.wrap d.h1, a, b, c;", "vshl.u32.u32.u32.sat.wrap d.h1, a, b, c;"),
        ("@!p vmin.s32.u32.s32.max d, a, b, c;", "vmin.s32.u32.s32.max d, a, b, c;"),
        ("vsub.u32.s32.s32.add x, y.b1, z.h0, w;", "vsub.u32.s32.s32.add d, a.b1, b.h0, c;"),
        // An operand is known by its position, not by its name.
        ("vsub.u32.s32.s32.add r, r.b1, r.h0, r;", "vsub.u32.s32.s32.add d, a.b1, b.h0, c;"),
        // Only ptxas accepts an unused `c`.
        ("vadd.u32.s32.s32 d, a.b1, b.h0, c;", "vadd.u32.s32.s32 d, a.b1, b.h0;"),
    ];
    for semantics in Semantics::ALL {
        for (left, right) in pairs {
            same(semantics, left, right, |words| words);
        }
    }
}

#[test]
fn operations_commute() {
    let swapped = |[a, b, c]: Words| [b, a, c];
    for semantics in Semantics::ALL {
        for (dtype, x, y) in types() {
            for op in ["vadd", "vabsdiff", "vmin", "vmax"] {
                for (i, sat) in ["", ".sat"].into_iter().enumerate() {
                    for (j, p) in PARTS.into_iter().enumerate() {
                        let q = ["", ".h1", ".b2"][(i + j) % 3];
                        let head = format!("{op}{dtype}");
                        for (secondary, d, c) in [
                            ("", "d", ""),
                            (".add", "d", ", c"),
                            (".min", "d", ", c"),
                            (".max", "d", ", c"),
                            ("", "d.b3", ", c"),
                            ("", "d.h1", ", c"),
                        ] {
                            let left = format!("{head}{x}{y}{sat}{secondary} {d}, a{p}, b{q}{c};");
                            let right = format!("{head}{y}{x}{sat}{secondary} {d}, a{q}, b{p}{c};");
                            same(semantics, &left, &right, swapped);
                        }
                    }
                }
            }
            for modifiers in ["", ".sat", ".shr7", ".sat.shr15"] {
                for [minus_a, minus_b, minus_c] in
                    [["", "", ""], ["-", "", ""], ["", "-", ""], ["", "", "-"]]
                {
                    let head = format!("vmad{dtype}");
                    let left = format!(
                        "{head}{x}{y}{modifiers} d, {minus_a}a.h1, {minus_b}b, {minus_c}c;"
                    );
                    let right = format!(
                        "{head}{y}{x}{modifiers} d, {minus_b}a, {minus_a}b.h1, {minus_c}c;"
                    );
                    same(semantics, &left, &right, swapped);
                }
            }
            for op in ["vadd", "vavrg", "vabsdiff", "vmin", "vmax"] {
                for modifier in ["", ".sat", ".add"] {
                    let pair = |lanes, s, t| {
                        [(x, y, s, t), (y, x, t, s)].map(|(x, y, s, t)| {
                            format!("{op}{lanes}{dtype}{x}{y}{modifier} d, a{s}, b{t}, c;")
                        })
                    };
                    let [left, right] = pair("2", ".h03", ".h21");
                    same(semantics, &left, &right, |words| words);
                    let [left, right] = pair("4", ".b0351", ".b7142");
                    same(semantics, &left, &right, |words| words);
                }
            }
        }
    }
}

#[test]
fn a_comparison_and_its_complement_give_one() {
    let complements = [(".eq", ".ne"), (".lt", ".ge"), (".le", ".gt")];
    for semantics in Semantics::ALL {
        for (_, x, y) in types().filter(|(dtype, ..)| *dtype == ".u32") {
            for (how, other) in complements {
                for p in ["", ".b0", ".b3", ".h0", ".h1"] {
                    let text = |how| format!("vset{x}{y}{how} d, a{p}, b;");
                    let sum = [how, other].map(|how| lower(&text(how), semantics));
                    law(&format!("{} {how} {other}", text(how)), |words| {
                        (eval(&sum[0], words) + eval(&sum[1], words), 1)
                    });
                }
                for (lanes, s, ones, count) in
                    [("2", ".h12", 0x0001_0001, 2), ("4", ".b2615", 0x0101_0101, 4)]
                {
                    let text = |how, add| format!("vset{lanes}{x}{y}{how}{add} d, a{s}, b, c;");
                    let merge = [how, other].map(|how| lower(&text(how, ""), semantics));
                    law(&text(how, ""), |words| {
                        (eval(&merge[0], words) ^ eval(&merge[1], words), ones)
                    });
                    let sum = [how, other].map(|how| lower(&text(how, ".add"), semantics));
                    law(&text(how, ".add"), |words| {
                        let sum = eval(&sum[0], words).wrapping_add(eval(&sum[1], words));
                        (sum, words[2].wrapping_mul(2).wrapping_add(count))
                    });
                }
            }
            for (how, mirrored) in [(".lt", ".gt"), (".le", ".ge"), (".eq", ".eq"), (".ne", ".ne")]
            {
                let left = format!("vset{x}{y}{how}.add d, a.b1, b.h1, c;");
                let right = format!("vset{y}{x}{mirrored}.add d, a.h1, b.b1, c;");
                same(semantics, &left, &right, |[a, b, c]| [b, a, c]);
            }
        }
    }
}

#[test]
fn nothing_is_left_of_a_minus_a() {
    for semantics in Semantics::ALL {
        for (dtype, x, _) in types().filter(|(_, x, y)| x == y) {
            for sat in ["", ".sat"] {
                let head = format!("vsub{dtype}{x}{x}{sat}");
                for p in PARTS.into_iter().chain([""]) {
                    let plain = lower(&format!("{head} d, a{p}, b{p};"), semantics);
                    law(&head, |[a, _, c]| (eval(&plain, [a, a, c]), 0));
                    let added = lower(&format!("{head}.add d, a{p}, b{p}, c;"), semantics);
                    law(&head, |[a, _, c]| (eval(&added, [a, a, c]), c));
                    for d in PARTS {
                        let merged = lower(&format!("{head} d{d}, a{p}, b{p}, c;"), semantics);
                        law(&head, |[a, _, c]| (eval(&merged, [a, a, c]), c & !part_bits(d)));
                    }
                }
            }
            for (lanes, s) in [("2", ".h30"), ("4", ".b0472")] {
                for (modifier, rest) in [("", 0), (".sat", 0), (".add", u32::MAX)] {
                    let text = format!("vsub{lanes}{dtype}{x}{x}{modifier} d, a{s}, b{s}, c;");
                    let program = lower(&text, semantics);
                    law(&text, |words| (eval(&program, words), words[2] & rest));
                }
            }
        }
    }
}

/// If the sources have 16 bits, the result without `.sat` is exact.
#[test]
fn saturation_clamps_the_exact_result() {
    for (dtype, x, y) in types() {
        for op in ["vadd", "vsub", "vabsdiff", "vmin", "vmax"] {
            let text = |sat, d, c| format!("{op}{dtype}{x}{y}{sat} d{d}, a.h1, b.h0{c};");
            for semantics in Semantics::ALL {
                let exact = lower(&text("", "", ""), semantics);
                let word = lower(&text(".sat", "", ""), semantics);
                law(&text(".sat", "", ""), |words| {
                    (eval(&word, words), clamp(eval(&exact, words), dtype, 32))
                });
                for d in PARTS.into_iter().filter(|_| semantics == Semantics::Manual) {
                    let part = d.parse::<Part>().unwrap();
                    let merged = lower(&text(".sat", d, ", c"), semantics);
                    law(&text(".sat", d, ", c"), |words| {
                        let clamped = clamp(eval(&exact, words), dtype, part.width());
                        let merged = (eval(&merged, words) & part_bits(d)) >> part.shift();
                        (merged, clamped & part_bits(d) >> part.shift())
                    });
                }
            }
        }
        for op in ["vadd", "vsub", "vavrg", "vabsdiff", "vmin", "vmax"] {
            for (lanes, letter, bits) in [("2", 'h', 16), ("4", 'b', 8)] {
                for (semantics, i) in Semantics::ALL.into_iter().zip([1, 0, 1]) {
                    let head = format!("{op}{lanes}{dtype}{x}{y}");
                    let text = format!("{head}.sat d, a, b, c;");
                    let saturated = lower(&text, semantics);
                    let exact = lower(&format!("{head}.add d.{letter}{i}, a, b, c;"), semantics);
                    law(&text, |[a, b, c]| {
                        let exact = eval(&exact, [a, b, 0]);
                        let lane = eval(&saturated, [a, b, c]) >> (bits * i);
                        let all = (1 << bits) - 1;
                        (lane & all, clamp(exact, dtype, bits) & all)
                    });
                }
            }
        }
    }
}

#[test]
fn amounts_wrap_or_stop_at_32() {
    for semantics in Semantics::ALL {
        for (i, (_, head, sources)) in whole_word_texts()
            .filter(|(mnemonic, ..)| mnemonic.family() == Family::Shift)
            .enumerate()
        {
            let q = ["", ".b0", ".h0"][i % 3];
            let text = format!("{head}, {}", sources.replacen('b', &format!("b{q}"), 1));
            if head.contains(".wrap") {
                same(semantics, &text, &text, |[a, b, c]| [a, b & 31, c]);
                same(semantics, &text, &text, |[a, b, c]| [a, b ^ 0xe0, c]);
                let clamped = text.replace(".wrap", ".clamp");
                let programs = [&text, &clamped].map(|text| lower(text, semantics));
                law(&text, |[a, b, c]| {
                    let words = [a, b & 31, c];
                    (eval(&programs[0], words), eval(&programs[1], words))
                });
            } else {
                let amount = |b: u32| match q {
                    ".b0" => b & 0xff,
                    ".h0" => b & 0xffff,
                    _ => b,
                };
                same(semantics, &text, &text, |[a, b, c]| [a, amount(b).min(32), c]);
            }
        }
    }
}

#[test]
fn multiply_add_laws() {
    for semantics in Semantics::ALL {
        for (_, x, y) in types().filter(|(dtype, ..)| *dtype == ".u32") {
            for (i, tail) in
                ["", ".sat", ".shr7", ".shr15", ".sat.shr7", ".sat.shr15"].into_iter().enumerate()
            {
                let [p, q] = [["", ".h0", ".b3"][i % 3], ["", ".h1"][i % 2]];
                let text = |modifiers: &str, [a, b, c]: [&str; 3]| {
                    format!("vmad.u32{x}{y}{modifiers}{tail} d, {a}a{p}, {b}b{q}, {c}c;")
                };
                let plain = text("", ["", "", ""]);
                let minus_a = text("", ["-", "", ""]);
                let minus_b = text("", ["", "-", ""]);
                let minus_c = text("", ["", "", "-"]);
                let no_type = plain.replacen(".u32", ".s32", 1);
                same(semantics, &plain, &no_type, |words| words);
                same(semantics, &minus_a, &minus_b, |words| words);
                // Only ptxas accepts minus signs that cancel.
                same(semantics, &text("", ["-", "-", ""]), &plain, |words| words);
                same(semantics, &text("", ["-", "-", "-"]), &minus_c, |words| words);
                let plus_one = text(".po", ["", "", ""]);
                same(semantics, &text(".po", ["-", "-", ""]), &plus_one, |words| words);

                let lowered = |text: &str| lower(text, semantics);
                let [plain, minus_a, minus_c, plus_one] =
                    [&plain, &minus_a, &minus_c, &plus_one].map(|text| lowered(text));
                let name = format!("{} vmad.u32{x}{y}{tail}", semantics.text());
                law(&format!("{name} plus one"), |[a, b, c]| {
                    // At these two values, the sum of `c` and 1 would overflow, so they are left
                    // out.
                    let c = if c == i32::MAX as u32 || c == u32::MAX { 0 } else { c };
                    (eval(&plus_one, [a, b, c]), eval(&plain, [a, b, c + 1]))
                });
                // -(a*b) + c = -(a*b - c)
                law(&format!("{name} negation"), |words| {
                    let [left, right] = [&minus_a, &minus_c].map(|it| eval(it, words));
                    match tail {
                        "" => (left, right.wrapping_neg()),
                        ".sat" if right != i32::MAX as u32 => {
                            (left, right.cast_signed().saturating_neg().cast_unsigned())
                        }
                        _ => (0, 0),
                    }
                });
                if tail.is_empty() {
                    law(&format!("{name} difference"), |[a, b, c]| {
                        (eval(&minus_c, [a, b, c]), eval(&plain, [a, b, c.wrapping_neg()]))
                    });
                    law(&format!("{name} sum"), |[a, b, c]| {
                        (eval(&plain, [a, b, c]), eval(&plain, [a, b, 0]).wrapping_add(c))
                    });
                }
            }
        }
    }
}

#[test]
fn an_average_lies_between_the_two() {
    for semantics in Semantics::ALL {
        for (dtype, x, y) in types() {
            for (lanes, masks) in [("2", &[".h0", ".h1"][..]), ("4", &[".b0", ".b1", ".b2", ".b3"])]
            {
                for mask in masks {
                    // If only one lane is added to 0, the result is exact.
                    let text = |op| format!("{op}{lanes}{dtype}{x}{y}.add d{mask}, a, b, c;");
                    let all = ["vmin", "vavrg", "vmax"].map(|op| lower(&text(op), semantics));
                    law(&text("vavrg"), |[a, b, _]| {
                        let [least, average, most] =
                            all.each_ref().map(|it| eval(it, [a, b, 0]).cast_signed());
                        let between = (least..=most).contains(&average);
                        // The average is exactly in the middle, or half a unit from it in the
                        // direction away from 0.
                        let twice = 2 * average - (least + most);
                        let even = twice == 0 || twice == if least + most >= 0 { 1 } else { -1 };
                        (u32::from(between && even), 1)
                    });
                }
            }
        }
    }
}

#[test]
fn merging_keeps_the_rest_of_c() {
    for semantics in Semantics::ALL {
        for (_, head, sources) in whole_word_texts() {
            let Some((_, part)) = head.rsplit_once(" d").filter(|(_, part)| !part.is_empty())
            else {
                continue;
            };
            let bits = part_bits(part);
            let text = format!("{head}, {sources}");
            let program = lower(&text, semantics);
            law(&text, |[a, b, c]| (eval(&program, [a, b, c]) & !bits, c & !bits));
            law(&text, |[a, b, c]| (eval(&program, [a, b, c]) & bits, eval(&program, [a, b, 0])));
        }
    }
}

#[test]
fn plain_results_do_not_depend_on_c() {
    for semantics in Semantics::ALL {
        for (_, head, sources) in whole_word_texts() {
            if !sources.contains('c') {
                let text = format!("{head}, {sources}");
                same(semantics, &text, &text, |[a, b, c]| [a, b, !c]);
            }
        }
    }
}

/// `.add` adds `c` to the plain result. One of `.min` and `.max` gives the plain result, and the
/// other gives `c`.
#[test]
fn secondary_operations_combine_the_plain_result_with_c() {
    for semantics in Semantics::ALL {
        for (_, head, sources) in whole_word_texts().filter(|(_, _, sources)| sources == "a, b;") {
            let head = head.strip_suffix(" d").unwrap();
            let plain = lower(&format!("{head} d, {sources}"), semantics);
            let [sum, least, most] = [".add", ".min", ".max"]
                .map(|secondary| lower(&format!("{head}{secondary} d, a, b, c;"), semantics));
            law(&format!("{head}.add"), |words| {
                (eval(&sum, words), eval(&plain, words).wrapping_add(words[2]))
            });
            law(&format!("{head}.min .max"), |words| {
                let mut got = [&least, &most].map(|it| eval(it, words));
                let mut want = [eval(&plain, words), words[2]];
                got.sort_unstable();
                want.sort_unstable();
                let differs = got.into_iter().zip(want).find(|(got, want)| got != want);
                differs.unwrap_or_default()
            });
        }
    }
}

/// The heads of the SIMD forms, each with its number of lanes.
fn simd_heads() -> impl Iterator<Item = (String, usize)> {
    rows()
        .filter_map(|(form, mnemonic)| {
            let lanes = match form.destination {
                Destination::Mask(LaneWidth::Halves) => 2,
                Destination::Mask(LaneWidth::Bytes) => 4,
                Destination::Word | Destination::Part => return None,
            };
            let heads = crate::support::forms::heads(form, mnemonic);
            Some(heads.into_iter().map(move |head| (head, lanes)))
        })
        .flatten()
}

/// The last modifier of a head.
fn last(head: &str) -> &str {
    head.rsplit('.').next().unwrap()
}

fn masks(lanes: usize) -> &'static [&'static str] {
    if lanes == 2 { &MASKS2 } else { &MASKS4 }
}

/// A random lane selector, and a function that applies it to the pair `{b, a}`.
fn selector(random: &mut Random, lanes: usize) -> (String, impl Fn(u32, u32) -> u32 + use<>) {
    let taken: Vec<usize> = (0..lanes).map(|_| random.below(2 * lanes)).collect();
    let digits: String = taken.iter().rev().map(usize::to_string).collect();
    let text = format!(".{}{digits}", if lanes == 2 { 'h' } else { 'b' });
    let width = 32 / lanes;
    let word = move |a, b| {
        let pair = u64::from(b) << 32 | u64::from(a);
        let lane = |(i, &from): (usize, &usize)| {
            ((pair >> (from * width)) as u32 & ((1 << width) - 1)) << (i * width)
        };
        taken.iter().enumerate().map(lane).sum()
    };
    (text, word)
}

#[test]
fn selecting_lanes_is_rearranging_them_first() {
    let mut random = Random(2);
    for (i, (head, lanes)) in simd_heads().enumerate() {
        for mask in masks(lanes) {
            let (s, in_a) = selector(&mut random, lanes);
            let (t, in_b) = selector(&mut random, lanes);
            let selected = format!("{head} d{mask}, a{s}, b{t}, c;");
            let plain = format!("{head} d{mask}, a, b, c;");
            same(Semantics::ALL[i % 3], &selected, &plain, |[a, b, c]| [in_a(a, b), in_b(a, b), c]);
        }
    }
}

#[test]
fn masks_take_results_apart() {
    for (i, (head, lanes)) in simd_heads().enumerate() {
        let semantics = Semantics::ALL[i % 3];
        let program = |mask: usize| {
            lower(&format!("{head} d{}, a, b, c;", masks(lanes)[mask - 1]), semantics)
        };
        let full = (1 << lanes) - 1;
        let programs: Vec<Program> = (1..=full).map(program).collect();
        let under = |mask: usize, words| eval(&programs[mask - 1], words);
        for mask in 1..full {
            law(&format!("{head} {mask:b}"), |[a, b, c]| {
                let first = under(mask, [a, b, c]);
                (under(full ^ mask, [a, b, first]), under(full, [a, b, c]))
            });
        }
        if last(&head) == "add" {
            law(&head, |[a, b, c]| {
                let lanes = (0..lanes).map(|lane| under(1 << lane, [a, b, 0]));
                (under(full, [a, b, c]), lanes.fold(c, u32::wrapping_add))
            });
            continue;
        }
        // Lanes outside of the mask are copied from `c`.
        let width = 32 / lanes;
        for mask in 1..full {
            let kept: u32 = (0..lanes)
                .filter(|lane| mask >> lane & 1 == 0)
                .map(|lane| ((1u32 << width) - 1) << (lane * width))
                .sum();
            law(&format!("{head} {mask:b}"), |[a, b, c]| (under(mask, [a, b, c]) & kept, c & kept));
        }
        law(&head, |[a, b, c]| (under(full, [a, b, c]), under(full, [a, b, !c])));
    }
}

#[test]
fn a_lane_is_the_scalar_operation_on_that_part() {
    for (head, lanes) in simd_heads().filter(|(head, _)| !head.starts_with("vavrg")) {
        let letter = if lanes == 2 { 'h' } else { 'b' };
        let scalar = head.replacen(char::is_numeric, "", 1);
        for semantics in Semantics::ALL {
            if last(&head) == "sat" && semantics != Semantics::Manual {
                continue;
            }
            for lane in 0..lanes {
                let mask = format!(".{letter}{lane}");
                let simd = format!("{head} d{mask}, a, b, c;");
                // A merge into `.h1` is a special case, so lane 0 is the destination.
                let d = if last(&head) == "add" { "d" } else { &format!("d.{letter}0") };
                let scalar = format!("{scalar} {d}, a{mask}, b{mask}, c;");
                let [left, right] = [&simd, &scalar].map(|text| lower(text, semantics));
                law(&format!("{simd} = {scalar}"), |words| {
                    let [left, right] = [&left, &right].map(|it| eval(it, words));
                    if last(&head) == "add" {
                        return (left, right);
                    }
                    let width = 32 / lanes;
                    let low = (1 << width) - 1;
                    (left >> (lane * width) & low, right & low)
                });
            }
        }
    }
}

/// The releases were tested on a GPU: `docs/deviations.md`, "Which release computes what".
#[test]
fn releases_of_ptxas_have_a_semantics() {
    for old in ["11.8.89", "12.9", "13", "13.0.88", "13.2.86"] {
        assert_eq!(Semantics::of_ptxas(old), Some(Semantics::Ptxas12), "{old}");
    }
    for new in ["13.3", "13.3.73", "13.5.37", "14", "20.1"] {
        assert_eq!(Semantics::of_ptxas(new), Some(Semantics::Ptxas13), "{new}");
    }
    for wrong in ["", "new", "13.x", ".3", "13.", "-1.2", "99999999999.1"] {
        assert_eq!(Semantics::of_ptxas(wrong), None, "{wrong}");
    }
}
