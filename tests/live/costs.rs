//! The costs of video instructions and of their sequences under ptxas: measures
//! `src/backend/ptx/costs.txt`, and checks it on forms that were not measured.
//! `cargo xtask measure-costs` runs this.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{env, fs, thread};

use crate::support::classes::{Classes, measured_classes, parts, statements, twice_classes};
use crate::support::forms::{PARTS, heads, rows};
use crate::support::random::Random;
use crate::support::regions::{self, BYTES, Kind, module};
use crate::support::{geometric, setting};
use vptx::analysis::check;
use vptx::backend::ptx::{
    FreshRegisters, Gate, KINDS, Outcome, RewriteOptions, Sequence, Strategy, class, rewrite,
};
use vptx::check::CheckOptions;
use vptx::diagnostic::{Code, RuleSet};
use vptx::isa::{Destination, Feature, Form, LaneWidth, Mnemonic, Negation, Sources, Target};
use vptx::video::Semantics;
use vptx::{Instruction, parse};

/// The number of kernels in a module.
const BATCH: usize = 400;

pub(crate) fn tool(name: &str) -> PathBuf {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let folder = env::var_os("VPTX_CUDA_DIR").map_or(root.join(".cuda"), PathBuf::from);
    let path = folder.join("bin").join(name);
    assert!(path.is_file(), "{} is missing: run scripts/cuda-tools", path.display());
    path
}

/// The version of ptxas that makes code for a target.
fn assembler(target: Target) -> PathBuf {
    tool(if target.has(Feature::Ptxas13) { "ptxas-13.5" } else { "ptxas-12.9" })
}

/// The code of a kernel: the number of its machine instructions, and this number weighted by
/// throughput.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Count {
    instructions: u32,
    weight: u32,
}

impl Count {
    fn beyond(self, other: Count) -> Count {
        Count {
            instructions: self.instructions.saturating_sub(other.instructions),
            weight: self.weight.saturating_sub(other.weight),
        }
    }

    fn most(self, other: Count) -> Count {
        Count {
            instructions: self.instructions.max(other.instructions),
            weight: self.weight.max(other.weight),
        }
    }

    fn least(self, other: Count) -> Count {
        Count {
            instructions: self.instructions.min(other.instructions),
            weight: self.weight.min(other.weight),
        }
    }
}

/// The weight of a machine instruction, found by the low bits of its code. NVIDIA's Best Practices
/// Guide ("Throughput of Native Arithmetic Instructions") gives 64 results a clock for sums, logic,
/// shifts, minima, products and absolute differences, and 16 for counts of bits and conversions. On
/// a GPU of `sm_90`, `scripts/gpu-check` measures the same with two exceptions: 64 for packing
/// conversions, and 32 for products of 64 bits.
fn weight(code: u16, target: Target) -> u32 {
    const FLO: u16 = 0x100;
    const BREV: u16 = 0x101;
    const POPC: u16 = 0x109;
    const I2I: u16 = 0x038;
    const I2IP: u16 = 0x039;
    const IMAD_WIDE: u16 = 0x025;
    const IMAD_HI: u16 = 0x027;
    match code & 0x1ff {
        I2IP if target.has(Feature::FastPack) => 1,
        FLO | BREV | POPC | I2I | I2IP => 4,
        IMAD_WIDE | IMAD_HI => 2,
        _ => 1,
    }
}

/// The code of each kernel of a module, minus the code of the first kernel.
fn measure(module: &str, kernels: usize, target: Target, run: &str) -> Vec<Count> {
    let folder = env::temp_dir().join(format!("vptx-costs-{}-{run}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder");
    let (source, object) = (folder.join("m.ptx"), folder.join("m.cubin"));
    fs::write(&source, module).expect("a module");
    let run = Command::new(assembler(target))
        .args(["-arch", &target.to_string()])
        .args([&source, &"-o".into(), &object])
        .output()
        .expect("ptxas runs");
    let said = String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success(), "{} is refused: {said}", source.display());
    let counts = if module.contains("\nround:") && target.has(Feature::Ptxas13) {
        loops(&object, kernels + 1)
    } else {
        instructions(&fs::read(&object).expect("an object"), kernels + 1, target)
    };
    fs::remove_dir_all(&folder).expect("the folder goes");
    counts[1..].iter().map(|count| count.beyond(counts[0])).collect()
}

/// Counts instructions other than NOP in the only loop of each kernel. Code before the loop is
/// executed once, so it is not counted. `nvdisasm` of CUDA 13 knows targets from `sm_75` on.
fn loops(object: &Path, count: usize) -> Vec<Count> {
    let listing = Command::new(tool("nvdisasm")).arg("-c").arg(object).output();
    let listing = String::from_utf8(listing.expect("nvdisasm runs").stdout).expect("text");
    let mut counts = vec![Count::default(); count];
    for section in listing.split("\t.section\t.text.k").skip(1) {
        let (number, code) = section.split_once(',').expect("a name");
        let (mut length, mut labels) = (0, HashMap::new());
        for line in code.lines() {
            if let Some(label) = line.strip_suffix(':') {
                labels.insert(label, length);
            }
            let Some((_, instruction)) = line.split_once("*/") else { continue };
            length += u32::from(!instruction.contains(" NOP"));
            let to = instruction.split_once("BRA").and_then(|(_, to)| to.split_once("`("));
            let label = to.and_then(|(_, to)| to.split_once(')')).map(|(label, _)| label);
            // After its last instruction, a kernel has a branch to itself.
            if let Some(start) = label.and_then(|it| labels.get(it)).filter(|it| **it + 1 < length)
            {
                let number: usize = number.parse().expect("a number");
                let instructions = length - start;
                counts[number] = Count { instructions, weight: instructions };
            }
        }
    }
    let has_loop = counts[1..].iter().all(|count| count.instructions > 0);
    assert!(has_loop, "a kernel without a loop: {listing}");
    counts
}

/// Instructions other than NOP in the kernels of an ELF file.
fn instructions(elf: &[u8], count: usize, target: Target) -> Vec<Count> {
    let mut counts = vec![Count::default(); count];
    for (number, code) in kernel_codes(elf) {
        if target.number < 70 {
            counts[number] = short_instructions(code);
            continue;
        }
        let codes = code.chunks(16).map(|it| u16::from_le_bytes([it[0], it[1]]) & 0xfff);
        for code in codes.filter(|&code| code != 0x918) {
            counts[number].instructions += 1;
            counts[number].weight += weight(code, target);
        }
    }
    counts
}

/// Counts the instructions of a kernel for targets before `sm_70`. An instruction has 8 bytes.
/// Every fourth word only says when the next three instructions start. NOP and instructions that
/// only wait are not counted.
fn short_instructions(code: &[u8]) -> Count {
    const NOP: u16 = 0x50b0;
    const DEPBAR: u16 = 0xf0f0;
    /// Counts of bits and conversions, whose operand is a register, a constant in memory or a
    /// constant in the code.
    const SLOW: [u16; 9] = [0x5c08, 0x4c08, 0x3808, 0x5c30, 0x4c30, 0x3830, 0x5ce0, 0x4ce0, 0x38e0];
    let words = code.chunks(8).enumerate().filter(|(at, _)| at % 4 != 0);
    let codes = words.map(|(_, word)| u16::from_le_bytes([word[6], word[7]]) & 0xfff8);
    let mut count = Count::default();
    for code in codes.filter(|code| ![NOP, DEPBAR].contains(code)) {
        count.instructions += 1;
        count.weight += if SLOW.contains(&code) { 4 } else { 1 };
    }
    count
}

/// The sections `.text.kN` of an ELF file, with their numbers. An instruction has 16 bytes.
pub(crate) fn kernel_codes(elf: &[u8]) -> Vec<(usize, &[u8])> {
    let u16_at = |at: usize| u16::from_le_bytes(elf[at..at + 2].try_into().expect("two bytes"));
    let u32_at = |at: usize| u32::from_le_bytes(elf[at..at + 4].try_into().expect("four bytes"));
    let u64_at =
        |at: usize| u64::from_le_bytes(elf[at..at + 8].try_into().expect("eight bytes")) as usize;
    let (table, size) = (u64_at(0x28), usize::from(u16_at(0x3a)));
    let (sections, names) = (usize::from(u16_at(0x3c)), usize::from(u16_at(0x3e)));
    let strings = u64_at(table + names * size + 0x18);
    let code = |section: usize| {
        let name = strings + u32_at(section) as usize;
        let end = elf[name..].iter().position(|&byte| byte == 0).expect("an end");
        let name = std::str::from_utf8(&elf[name..name + end]).expect("a name");
        let number = name.strip_prefix(".text.k")?.parse().expect("a number");
        let (start, length) = (u64_at(section + 0x18), u64_at(section + 0x20));
        Some((number, &elf[start..start + length]))
    };
    (0..sections).filter_map(|at| code(table + at * size)).collect()
}

/// Counts for many bodies, measured on two threads. Equal bodies are measured once.
fn measure_all(bodies: &[impl AsRef<str>], target: Target) -> HashMap<String, Count> {
    let mut distinct: Vec<&str> = bodies.iter().map(AsRef::as_ref).collect();
    distinct.sort_unstable();
    distinct.dedup();
    let chunks: Vec<&[&str]> = distinct.chunks(BATCH).collect();
    let found = Mutex::new(HashMap::new());
    on_two_threads(chunks.len(), |at| {
        let bodies = chunks[at].iter().copied();
        let text = module(bodies.clone(), target);
        let counts = measure(&text, chunks[at].len(), target, &format!("{target}-{at}"));
        found.lock().expect("no panic").extend(bodies.map(str::to_owned).zip(counts));
    });
    found.into_inner().expect("no panic")
}

pub(crate) fn on_two_threads(count: usize, work: impl Fn(usize) + Sync) {
    let next = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    if at >= count {
                        return;
                    }
                    work(at);
                }
            });
        }
    });
}

fn sequence_text(instruction: &Instruction, sequence: &Sequence) -> String {
    let mut registers = FreshRegisters::new("%v_").expect("a prefix");
    let text = sequence.to_ptx(instruction, &mut registers).join("\n");
    registers.declarations().join("\n") + "\n" + &text
}

/// A strategy, and its sequences for the instructions of a class.
struct Tried {
    strategy: Strategy,
    texts: Vec<String>,
}

impl Tried {
    /// The largest count among the sequences.
    fn worst(&self, counts: &HashMap<String, Count>) -> Count {
        self.texts.iter().map(|text| counts[text]).fold(Count::default(), Count::most)
    }
}

/// The strategies that may be the best for a class.
fn worth_trying(instructions: &[Instruction], target: Target) -> Vec<Tried> {
    let gate = Gate::new(target, None);
    let all: Vec<(Strategy, Vec<Sequence>)> = Strategy::all()
        .filter_map(|strategy| {
            let sequence = |it| strategy.sequence(it, Semantics::Ptxas13, gate);
            Some((strategy, instructions.iter().map(sequence).collect::<Option<_>>()?))
        })
        .collect();
    let lines = |sequences: &[Sequence]| sequences.iter().map(|it| it.lines().len()).sum::<usize>();
    let least = all.iter().map(|(_, sequences)| lines(sequences)).min().unwrap_or(0);
    let mut tried: Vec<Tried> = Vec::new();
    for (strategy, sequences) in all {
        if lines(&sequences) > least + 6 * instructions.len() {
            continue;
        }
        let pairs = instructions.iter().zip(&sequences);
        let texts = pairs.map(|(instruction, it)| sequence_text(instruction, it)).collect();
        if tried.iter().all(|other| other.texts != texts) {
            tried.push(Tried { strategy, texts });
        }
    }
    tried
}

/// For each class, the cells of the measured targets; `None` where the class was not measured.
type Cells = BTreeMap<(String, usize), Vec<Option<Cell>>>;

#[derive(Clone, Copy, PartialEq, Eq)]
struct Cell {
    ptxas: Count,
    best: Count,
    strategy: u8,
}

impl Cell {
    /// The text of a cell in the table.
    fn text(&self) -> String {
        let Cell { ptxas, best, strategy } = self;
        let counts = format!("{}>{}", ptxas.instructions, best.instructions);
        let weights = format!("{}>{}", ptxas.weight.min(99), best.weight.min(99));
        if weights == counts {
            format!("{counts}@{strategy}")
        } else {
            format!("{counts}@{strategy} {weights}")
        }
    }

    /// Whether instructions of the class are rewritten.
    fn saves(&self) -> bool {
        self.best.instructions < self.ptxas.instructions && self.best.weight <= self.ptxas.weight
    }
}

/// The class, but with the width of each part in place of its position. ptxas emits the same number
/// of instructions for all forms of such a class.
fn wider((head, cell): &(String, usize), instruction: &Instruction) -> (String, usize) {
    let width = |place: usize| [0, 1, 1, 1, 2, 2][place];
    let scalar = instruction.form().sources == Sources::Scalar;
    (head.clone(), if scalar { 3 * width(cell / 6) + width(cell % 6) } else { *cell })
}

/// Statements that give `d` a value before an instruction that a guard can skip.
const BEFORE: [&str; 2] = ["mov.b32 d, b;", "ld.volatile.global.u32 d, [%pointer+16];"];

/// A body whose instruction is executed only if `c` is large.
fn guarded(before: &str, text: &str) -> String {
    format!("{before}\nsetp.gt.u32 p, c, 7;\n{text}")
}

/// The largest saving at which an instruction is measured with a guard.
const SMALL: u32 = 5;

/// Instructions with a guard. They are from classes that save at least one machine instruction, and
/// at most [`SMALL`], without a guard on some target.
fn guarded_samples(cells: &Cells) -> Classes {
    let is_small = |it: &Cell| it.saves() && it.ptxas.instructions - it.best.instructions <= SMALL;
    let mut classes = Classes::new();
    let mut add = |text: String| {
        let instruction: Instruction = format!("@p {text}").parse().expect(&text);
        let class = class(&instruction);
        if cells[&class].iter().flatten().any(is_small) {
            classes.entry(class).or_default().push(instruction);
        }
    };
    // ptxas treats some parts of a word unlike other parts of the same width.
    for (form, mnemonic) in rows().filter(|(form, _)| form.sources == Sources::Scalar) {
        let c = if form.third { ", c" } else { "" };
        let ds: &[&str] =
            if form.destination == Destination::Part { &[".b2", ".h1"] } else { &[""] };
        for head in heads(form, mnemonic) {
            for (a, b) in parts().flat_map(|a| parts().map(move |b| (a, b))) {
                for d in ds {
                    add(format!("{head} d{d}, a{a}, b{b}{c};"));
                }
            }
        }
    }
    // A class has many pairs of lanes. On sm_70, only few of them make a guarded sum slower.
    for (form, mnemonic) in rows() {
        if form.sources == Sources::Lanes(LaneWidth::Halves) {
            for head in heads(form, mnemonic).iter().filter(|head| head.contains(".add")) {
                for (d, a) in ["", ".h0", ".h1"].iter().flat_map(|d| (0..16).map(move |a| (d, a))) {
                    add(format!("{head} d{d}, a.h{}{}, b, c;", a / 4, a % 4));
                }
            }
        }
    }
    for instruction in measured_classes().values().flatten() {
        if instruction.form().sources != Sources::Scalar {
            add(instruction.to_string());
        }
    }
    classes
}

/// Whether a target is to be measured: all are, unless one is requested.
fn is_measured(target: Target) -> bool {
    let only = env::var("VPTX_COST_TARGET").unwrap_or_default();
    only.is_empty() || only.split(',').any(|it| it == target.to_string())
}

/// The targets for which new code is compared: those that are measured or, if requested, others.
fn targets() -> Vec<Target> {
    match env::var("VPTX_COST_TARGET") {
        Ok(only) if !only.is_empty() => Target::all().filter(|it| is_measured(*it)).collect(),
        _ => Target::measured().to_vec(),
    }
}

/// The lines for instructions with a guard, marked by `@`. A mnemonic with modifiers gets such a
/// line if one of its classes becomes longer with a guard, but not without one.
fn guarded_cells(cells: &Cells, measured: bool) -> Cells {
    let samples = guarded_samples(cells);
    let mut marked = Cells::new();
    for (column, &target) in Target::measured().iter().enumerate() {
        let gate = Gate::new(target, None);
        let mut mark = |(head, at): &(String, usize), cell: Cell| {
            for (other, measured) in cells.iter().filter(|((other, _), _)| other == head) {
                let key = (format!("{head}@"), other.1);
                marked.entry(key).or_insert_with(|| measured.clone());
            }
            let own = marked.get_mut(&(format!("{head}@"), *at)).expect("it was added");
            own[column] = Some(cell);
        };
        if !measured || !is_measured(target) {
            for (class, instructions) in &samples {
                let cell = known_cell(&instructions[0], target);
                if let Some(cell) = cell.filter(|cell| cells[class][column] != Some(*cell)) {
                    mark(class, cell);
                }
            }
            continue;
        }
        let rewritten = |instruction: &Instruction, cell: &Cell| {
            let strategy = Strategy::all().find(|it| it.number() == cell.strategy)?;
            let sequence = strategy.sequence(instruction, Semantics::Ptxas13, gate)?;
            Some(sequence_text(instruction, &sequence))
        };
        let mut bodies: Vec<String> =
            BEFORE.map(|before| guarded(before, "@p add.s32 d, a, b;")).into();
        for (class, instructions) in &samples {
            if let Some(cell) = cells[class][column].filter(Cell::saves) {
                for instruction in instructions {
                    let other = rewritten(instruction, &cell).expect("it was measured");
                    for text in [&instruction.to_string(), &other] {
                        bodies.extend(BEFORE.map(|before| guarded(before, text)));
                    }
                }
            }
        }
        let counts = measure_all(&bodies, target);
        println!("{target}: {} kernels with a guard", counts.len());
        for (class, instructions) in &samples {
            let Some(cell) = cells[class][column].filter(Cell::saves) else { continue };
            let count = |before: &str, text: &str| {
                let one = Count { instructions: 1, weight: 1 };
                let around = counts[&guarded(before, "@p add.s32 d, a, b;")].beyond(one);
                counts[&guarded(before, text)].beyond(around)
            };
            let pairs: Vec<(Count, Count)> = instructions
                .iter()
                .flat_map(|instruction| {
                    let other = rewritten(instruction, &cell).expect("it was measured");
                    let own = instruction.to_string();
                    BEFORE.map(|before| (count(before, &own), count(before, &other)))
                })
                .collect();
            if pairs.iter().any(|(own, other)| own.most(*other) != *own) {
                let least = pairs.iter().map(|pair| pair.0).reduce(Count::least).expect("some");
                let worst = pairs.iter().map(|pair| pair.1).reduce(Count::most).expect("some");
                mark(class, Cell { ptxas: least, best: worst, ..cell });
            }
        }
    }
    marked
}

/// The current costs of an instruction.
fn known_cell(instruction: &Instruction, target: Target) -> Option<Cell> {
    let cost = instruction.measured_cost(target)?;
    let count = |instructions, weight| Count { instructions, weight };
    Some(Cell {
        ptxas: count(cost.ptxas, cost.ptxas_weight),
        best: count(cost.rewritten, cost.rewritten_weight),
        strategy: cost.strategy.number(),
    })
}

/// Whether ptxas emulates an instruction on a target.
fn is_emulated(instruction: &Instruction, target: Target) -> bool {
    instruction.form().sources != Sources::Scalar || !target.has(Feature::NativeScalars)
}

/// The cells of the current table for some classes.
fn known_cells(classes: Classes) -> Cells {
    let column = |instructions: Vec<Instruction>| {
        Target::measured().iter().map(|target| known_cell(&instructions[0], *target)).collect()
    };
    classes.into_iter().map(|(class, instructions)| (class, column(instructions))).collect()
}

/// The parts of the table that are measured again, besides the cells.
#[derive(Clone, Copy)]
enum Again {
    All,
    Guards,
    Twice,
}

fn write_table(mut cells: Cells, again: Again) {
    let strategy = |class: &(String, usize), _: &Instruction, column: usize| {
        let number = cells[class][column]?.strategy;
        Strategy::all().find(|it| it.number() == number)
    };
    let lengths = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/oracle/statements.tsv");
    fs::write(lengths, statements(measured_classes(), strategy)).expect("the lengths are written");
    let marked = guarded_cells(&cells, matches!(again, Again::All | Again::Guards));
    println!("{} classes in lines for guards", marked.len());
    cells.extend(marked);
    cells.extend(twice_cells(matches!(again, Again::All | Again::Twice)));
    let path = env::var("VPTX_COSTS").expect("VPTX_COSTS names the file to write");
    fs::write(path, table(&cells)).expect("the table is written");
}

/// The costs of instructions that combine the lanes of one register with themselves. Those with
/// selectors are measured only for the target with instructions on bytes.
fn twice_cells(measured: bool) -> Cells {
    let all = twice_classes();
    let mut cells = Cells::new();
    for &target in Target::measured() {
        let mut classes = all.clone();
        if target != BYTES {
            classes.retain(|(_, place), _| place % KINDS == 0);
        }
        let own = if measured && is_measured(target) {
            measured_twice(&classes, target)
        } else {
            let known = |(class, them): (&(String, usize), &Vec<Instruction>)| {
                (class.clone(), known_cell(&them[0], target))
            };
            classes.iter().map(known).collect()
        };
        for class in all.keys() {
            let cell = own.get(class).copied().flatten();
            cells.entry(class.clone()).or_default().push(cell);
        }
    }
    cells
}

fn measured_twice(classes: &Classes, target: Target) -> BTreeMap<(String, usize), Option<Cell>> {
    let tried: Vec<Vec<Tried>> =
        classes.values().map(|instructions| worth_trying(instructions, target)).collect();
    let originals = classes.values().flatten().map(ToString::to_string);
    let sequences = tried.iter().flatten().flat_map(|it| it.texts.iter().cloned());
    let bodies: Vec<String> = originals.chain(sequences).collect();
    let counts = measure_all(&bodies, target);
    println!(
        "{target}: {} classes of lanes combined with themselves, {} kernels",
        classes.len(),
        counts.len()
    );
    let cell = |instructions: &[Instruction], tried: &Vec<Tried>| {
        let own = instructions.iter().map(|it| counts[&it.to_string()]).reduce(Count::least);
        let ptxas = own.expect("some");
        let order = |worst: Count| (worst.weight > ptxas.weight, worst);
        let best = tried.iter().min_by_key(|it| order(it.worst(&counts))).expect("a strategy");
        let strategy = best.strategy.number();
        Cell { ptxas, best: best.worst(&counts), strategy }
    };
    let cells = classes.iter().zip(&tried);
    cells.map(|((class, own), tried)| (class.clone(), Some(cell(own, tried)))).collect()
}

#[test]
#[ignore = "needs ptxas and six minutes; cargo xtask measure-costs --guards runs it"]
fn measure_guards() {
    write_table(known_cells(measured_classes().clone()), Again::Guards);
}

#[test]
#[ignore = "needs ptxas and four minutes; cargo xtask measure-costs --one-register runs it"]
fn measure_one_register() {
    write_table(known_cells(measured_classes().clone()), Again::Twice);
}

#[test]
#[ignore = "needs ptxas and fifteen minutes; cargo xtask measure-costs runs it"]
fn measure_costs() {
    let only = env::var("VPTX_COST_ONLY").unwrap_or_default();
    let (new, old): (Classes, Classes) = measured_classes()
        .clone()
        .into_iter()
        .partition(|((head, _), _)| only.split(',').any(|prefix| head.starts_with(prefix)));
    let classes: Vec<(&(String, usize), &Vec<Instruction>)> = new.iter().collect();
    let mut originals: BTreeMap<(String, usize), Vec<String>> = BTreeMap::new();
    for (class, instructions) in &classes {
        for instruction in *instructions {
            let some = originals.entry(wider(class, instruction)).or_default();
            if some.len() < 3 || instruction.form().sources != Sources::Scalar {
                some.push(instruction.to_string());
            }
        }
    }
    let mut cells = known_cells(old);
    let mut tried: Vec<Vec<Tried>> = Vec::new();
    for &target in Target::measured() {
        if !is_measured(target) {
            for (class, instructions) in &classes {
                let cell = known_cell(&instructions[0], target);
                cells.entry((*class).clone()).or_default().push(cell);
            }
            continue;
        }
        // For `sm_80` and `sm_100`, ptxas makes nearly the same code as for the target before. The
        // good strategies of that target are therefore enough.
        if !matches!(target.number, 80 | 100) {
            let found = Mutex::new(BTreeMap::new());
            on_two_threads(classes.len(), |at| {
                let instructions = classes[at].1;
                let is_emulated = is_emulated(&instructions[0], target);
                let tried =
                    if is_emulated { worth_trying(instructions, target) } else { Vec::new() };
                found.lock().expect("no panic").insert(at, tried);
            });
            tried = found.into_inner().expect("no panic").into_values().collect();
        }
        let sequences = tried.iter().flatten().flat_map(|it| &it.texts);
        let emulated = classes.iter().filter(|(_, them)| is_emulated(&them[0], target));
        let needed: BTreeSet<_> = emulated.map(|(class, them)| wider(class, &them[0])).collect();
        let own = originals.iter().filter(|(class, _)| needed.contains(class));
        let bodies: Vec<&String> = own.flat_map(|(_, texts)| texts).chain(sequences).collect();
        let counts = measure_all(&bodies, target);
        println!(
            "{target}: {} classes, {} bodies, {} kernels",
            classes.len(),
            bodies.len(),
            counts.len()
        );
        for ((class, instructions), tried) in classes.iter().zip(&mut tried) {
            if !is_emulated(&instructions[0], target) {
                cells.entry((*class).clone()).or_default().push(None);
                continue;
            }
            let own = originals[&wider(class, &instructions[0])].iter();
            let own = own.map(|text| counts[text]).reduce(Count::least).expect("some");
            // A strategy whose code weighs more than ptxas' code is taken only if the code of every
            // strategy does.
            let order = |worst: Count| (worst.weight > own.weight, worst);
            let best = tried.iter().min_by_key(|it| order(it.worst(&counts))).expect("a strategy");
            let (best, strategy) = (best.worst(&counts), best.strategy.number());
            tried.retain(|it| it.worst(&counts).instructions <= best.instructions + 1);
            let cell = Some(Cell { ptxas: own, best, strategy });
            cells.entry((*class).clone()).or_default().push(cell);
        }
    }
    write_table(cells, Again::All);
}

/// An instruction of the table's forms with any operands, including constants.
fn any(all: &[(&'static Form, Mnemonic)], random: &mut Random) -> String {
    let (form, mnemonic) = *random.pick(all);
    let heads = heads(form, mnemonic);
    let head = random.pick(&heads);
    let digits = |random: &mut Random, lanes: usize| -> String {
        (0..lanes).map(|_| char::from(b'0' + random.below(2 * lanes) as u8)).collect()
    };
    let lanes = match form.sources {
        Sources::Scalar => {
            let mut source = |name: &str| match random.below(8) {
                0 => format!("{}", *random.pick(&[0i64, 1, -1, 5, 31, 40, 255, -128, 0x7fff_ffff])),
                1 | 2 => name.to_owned(),
                _ => format!("{name}{}", random.pick(&PARTS)),
            };
            let (a, b) = (source("a"), source("b"));
            let d = if form.destination == Destination::Part { *random.pick(&PARTS) } else { "" };
            let c = if form.third { ", c" } else { "" };
            let minus = if form.negation == Negation::ProductOrThird
                && random.one_in(3)
                && a.starts_with('a')
            {
                "-"
            } else {
                ""
            };
            return format!("{head} d{d}, {minus}{a}, {b}{c};");
        }
        Sources::Lanes(LaneWidth::Halves) => 2,
        Sources::Lanes(LaneWidth::Bytes) => 4,
    };
    let letter = if lanes == 2 { 'h' } else { 'b' };
    let mask = 1 + random.below((1 << lanes) - 1);
    let mask: String = (0..lanes)
        .rev()
        .filter(|at| mask >> at & 1 == 1)
        .map(|at| char::from(b'0' + at as u8))
        .collect();
    let mut text = format!("{head} d.{letter}{mask}");
    for name in ["a", "b"] {
        let selector = digits(random, lanes);
        // ptxas reads this selector as a type.
        if random.one_in(3) || selector == "1024" {
            write!(text, ", {name}").expect("a string");
        } else {
            write!(text, ", {name}.{letter}{selector}").expect("a string");
        }
    }
    text + ", c;"
}

/// Instructions whose two sources are one register. ptxas folds some of them.
fn doubled() -> Vec<String> {
    let mut texts = Vec::new();
    for at in 0..8 {
        let [d, a, b] = [4, 2, 1].map(|bit| if at & bit == 0 { "u32" } else { "s32" });
        for name in ["vadd", "vsub", "vabsdiff", "vmin", "vmax"] {
            for sat in ["", ".sat"] {
                texts.push(format!("{name}.{d}.{a}.{b}{sat} d, a, a;"));
                texts.push(format!("{name}.{d}.{a}.{b}{sat} d, a.h0, a.h0;"));
            }
        }
        for name in ["vadd", "vsub", "vavrg", "vabsdiff", "vmin", "vmax"] {
            for end in ["", ".add"] {
                texts.push(format!("{name}2.{d}.{a}.{b}{end} d, a, a, c;"));
                texts.push(format!("{name}2.{d}.{a}.{b}{end} d, a.h01, a.h10, c;"));
                texts.push(format!("{name}4.{d}.{a}.{b}{end} d, a, a, c;"));
                texts.push(format!("{name}4.{d}.{a}.{b}{end} d, a.b0321, a.b3210, c;"));
            }
        }
        texts.push(format!("vset.{a}.{b}.lt d, a, a;"));
        texts.push(format!("vset4.{a}.{b}.lt d, a, a, c;"));
    }
    texts
}

/// The kinds of an instruction. Each kind has a separate mean.
fn kinds(instruction: &Instruction) -> impl Iterator<Item = &'static str> {
    let lanes = match instruction.form().sources {
        Sources::Scalar => 0,
        Sources::Lanes(LaneWidth::Halves) => 2,
        Sources::Lanes(LaneWidth::Bytes) => 4,
    };
    let has_bytes = lanes == 4;
    let is_plain = lanes > 0 && class(instruction).1 == KINDS * (lanes - 1);
    let kinds = [
        (true, "all"),
        (has_bytes, "four lanes"),
        (is_plain, "all lanes, no selectors"),
        (has_bytes && is_plain, "all four lanes, no selectors"),
    ];
    kinds.into_iter().filter_map(|(is_one, kind)| is_one.then_some(kind))
}

#[test]
#[ignore = "needs ptxas; cargo xtask measure-costs --check runs it"]
fn never_worse() {
    let (count, seed) = (setting("VPTX_COST_COUNT", 2000), setting("VPTX_COST_SEED", 1));
    let mut random = Random(seed);
    let all: Vec<_> = rows().collect();
    let texts: Vec<String> = (0..count)
        .map(|_| {
            let mut text = any(&all, &mut random);
            if random.one_in(8) {
                text = text.replace(", b", ", a");
            }
            if random.one_in(8) {
                text = guarded(BEFORE[random.below(2)], &format!("@p {text}"));
            }
            text
        })
        .chain(doubled())
        .collect();
    let chunks: Vec<&[String]> = texts.chunks(BATCH).collect();
    let worse = Mutex::new(Vec::new());
    // What ptxas emits without the guard is no measure.
    let guard = CheckOptions::default().with_rules(RuleSet::NONE.with(Code::LostGuard));
    let loses_guard = |text: &str| !check(text, &guard).is_empty();
    let sums = Mutex::new((0u64, 0u64, 0u64));
    let ratios = Mutex::new(BTreeMap::<(String, &str), Vec<(f64, f64)>>::new());
    let targets = targets();
    on_two_threads(chunks.len() * targets.len(), |at| {
        let (chunk, target) = (chunks[at / targets.len()], targets[at % targets.len()]);
        let before = module(chunk.iter().map(String::as_str), target);
        let (parsed, found) = parse(&before);
        assert_eq!(parsed.instructions().count(), chunk.len(), "{found:?}");
        let rewritten = rewrite(&parsed, &RewriteOptions::default()).expect("it has a target");
        let after = measure(&rewritten.text(), chunk.len(), target, &format!("after-{at}"));
        let before = measure(&before, chunk.len(), target, &format!("before-{at}"));
        for ((text, before), after) in chunk.iter().zip(&before).zip(&after) {
            if after.most(*before) != *before && !loses_guard(text) {
                let message = format!("{target}: {text} {before:?} became {after:?}");
                worse.lock().expect("no panic").push(message);
            }
        }
        // Only random instructions count for the means.
        let counts = before.iter().zip(&after);
        let fresh = (count as usize).saturating_sub(at / targets.len() * BATCH);
        for (change, (before, after)) in rewritten.changes.iter().zip(counts).take(fresh) {
            let ratio =
                |before: u32, after: u32| f64::from(before.max(1)) / f64::from(after.max(1));
            let pair = (
                ratio(before.instructions, after.instructions),
                ratio(before.weight, after.weight),
            );
            let mut ratios = ratios.lock().expect("no panic");
            for kind in kinds(change.instruction) {
                ratios.entry((target.to_string(), kind)).or_default().push(pair);
            }
        }
        let mut sums = sums.lock().expect("no panic");
        let sum =
            |counts: &[Count]| counts.iter().map(|it| u64::from(it.instructions)).sum::<u64>();
        sums.0 += sum(&before);
        sums.1 += sum(&after);
        let changed = rewritten.changes.iter();
        let changed = changed.filter(|change| matches!(change.outcome, Outcome::Rewritten(_)));
        sums.2 += changed.count() as u64;
    });
    let (before, after, changed) = sums.into_inner().expect("no panic");
    let worse = worse.into_inner().expect("no panic");
    println!(
        "{} instructions (seed {seed}) x {} targets: {changed} rewritten, {before} machine \
         instructions became {after}, {} worse",
        texts.len(),
        targets.len(),
        worse.len()
    );
    for ((target, kind), ratios) in ratios.into_inner().expect("no panic") {
        let (plain, weighted): (Vec<f64>, Vec<f64>) = ratios.into_iter().unzip();
        let (plain, weighted) = (geometric(&plain), geometric(&weighted));
        println!(
            "{target}, {kind}: geometric mean of the ratios {plain:.3}, weighted {weighted:.3}"
        );
    }
    assert!(worse.is_empty(), "{}", worse.join("\n"));
}

#[test]
#[ignore = "needs ptxas; cargo xtask measure-costs --check runs it"]
fn regions_are_never_worse() {
    never_longer(&["chains"]);
}

#[test]
#[ignore = "needs ptxas; cargo xtask measure-costs --check runs it"]
fn groups_are_never_worse() {
    never_longer(&["groups", "groups of halves"]);
}

#[test]
#[ignore = "needs ptxas; cargo xtask measure-costs --check runs it"]
fn loops_of_groups_are_never_worse() {
    never_longer(&["loops", "loops of halves"]);
}

#[test]
#[ignore = "needs ptxas; cargo xtask measure-costs --check runs it"]
fn shared_work_is_never_worse() {
    never_longer(&["comparisons", "limits", "limits before loops", "parts before loops", "masks"]);
}

#[test]
#[ignore = "needs ptxas; cargo xtask measure-costs --check runs it"]
fn known_sources_are_never_worse() {
    never_longer(&["constants", "ranges", "extrema of 0"]);
}

/// Writes `fixtures/oracle/regions.tsv`.
#[test]
#[ignore = "needs ptxas; cargo xtask measure-costs --regions runs it"]
fn measure_regions() {
    let cells: Vec<(&Kind, Target)> = regions::cells().collect();
    let rows = Mutex::new(BTreeMap::new());
    on_two_threads(cells.len(), |at| {
        let (kind, target) = cells[at];
        let text = regions::rewritten(kind, target);
        let counted = measure(&text, regions::RECORDED, target, &format!("recorded-{at}"));
        let machine: u32 = counted.iter().map(|it| it.instructions).sum();
        let statements = regions::statements(&text);
        let row = format!("{}\t{target}\t{statements}\t{machine}\n", kind.name);
        rows.lock().expect("no panic").insert(at, row);
    });
    let text = String::from("kernels\ttarget\tstatements\tmachine instructions\n");
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/oracle/regions.tsv");
    let rows: String = rows.into_inner().expect("no panic").into_values().collect();
    fs::write(path, text + &rows).expect("the counts are written");
}

/// Rewrites kernels of some kinds with and without regions, and compares the machine code.
fn never_longer(kinds: &[&str]) {
    let own = regions::KINDS.iter().filter(|it| kinds.contains(&it.name));
    let own: Vec<&Kind> = own.collect();
    assert_eq!(own.len(), kinds.len());
    own.into_iter().for_each(regions_compared);
}

fn regions_compared(kind: &Kind) {
    let what = kind.name;
    let mut random = Random(setting("VPTX_COST_SEED", 1));
    let count = setting("VPTX_COST_COUNT", 2000) / 4;
    let texts: Vec<String> = (0..count).map(|_| (kind.body)(&mut random)).collect();
    let chunks: Vec<&[String]> = texts.chunks(BATCH).collect();
    let targets: Vec<Target> = kind.targets().filter(|it| is_measured(*it)).collect();
    let worse = Mutex::new(Vec::new());
    let sums = Mutex::new(BTreeMap::<String, [u64; 4]>::new());
    on_two_threads(chunks.len() * targets.len(), |at| {
        let (chunk, target) = (chunks[at / targets.len()], targets[at % targets.len()]);
        let before = module(chunk.iter().map(String::as_str), target);
        let (parsed, found) = parse(&before);
        let is_video = |line: &&str| line.starts_with('v');
        let lines: usize = chunk.iter().map(|text| text.lines().filter(is_video).count()).sum();
        assert_eq!(parsed.instructions().count(), lines, "{found:?}");
        let [apart, together] = [false, true].map(|regions| {
            let options = RewriteOptions::default().with_regions(regions);
            rewrite(&parsed, &options).expect("it has a target")
        });
        let measured = |text: &str, name: &str| {
            measure(text, chunk.len(), target, &format!("{what}-{name}-{at}"))
        };
        let before = measured(&before, "old");
        let (single, region) =
            (measured(&apart.text(), "single"), measured(&together.text(), "region"));
        for (at, text) in chunk.iter().enumerate() {
            if region[at].most(single[at]) != single[at] {
                let (single, region) = (single[at], region[at]);
                let message = format!("{target}: {text} {single:?} became {region:?}");
                worse.lock().expect("no panic").push(message);
            }
        }
        let outcomes = apart.changes.iter().zip(&together.changes);
        let outcomes = outcomes.map(|(single, region)| (&single.outcome, &region.outcome));
        let is_other = |(single, region): &(&Outcome, &Outcome)| {
            single != region && **region != Outcome::Absorbed
        };
        let products = together.edits().len().saturating_sub(apart.edits().len());
        let other = (outcomes.filter(is_other).count() + products) as u64;
        let sum =
            |counts: &[Count]| counts.iter().map(|it| u64::from(it.instructions)).sum::<u64>();
        let own = [other, sum(&before), sum(&single), sum(&region)];
        let mut sums = sums.lock().expect("no panic");
        let all = sums.entry(target.to_string()).or_default();
        *all = [0, 1, 2, 3].map(|at| all[at] + own[at]);
    });
    for (target, [other, before, single, region]) in sums.into_inner().expect("no panic") {
        println!(
            "{target}: {count} {what}, {other} other blocks: {before} machine instructions, \
             {single} one by one, {region} as regions"
        );
        // With instructions on bytes, some kinds of regions are rewritten like single instructions.
        // On older targets, some kinds of regions do not occur. Of loops on sm_75, one in fifty is
        // rewritten as a region, so a small sample may have none.
        let target: Target = target.parse().expect("a target");
        let is_small = count < 1000;
        assert!(is_small || other > 0 || target == BYTES || !target.has(Feature::Ptxas13));
    }
    let worse = worse.into_inner().expect("no panic");
    assert!(worse.is_empty(), "{} worse: {}", worse.len(), worse.join("\n"));
}

/// The text of the table.
fn table(cells: &Cells) -> String {
    // Only the first targets of a row may lack a cost.
    let row = |cells: &[Option<Cell>]| {
        let texts: Vec<String> =
            cells.iter().map(|it| it.map(|it| it.text()).unwrap_or_default()).collect();
        assert!(texts.windows(2).all(|pair| pair[0].is_empty() || !pair[1].is_empty()));
        new_ones(&texts).trim_end_matches(';').to_owned()
    };
    let classes: BTreeMap<&(String, usize), String> =
        cells.iter().map(|(class, cells)| (class, row(cells))).collect();
    let mut rows: BTreeMap<&str, usize> = classes.values().map(|row| (&**row, 0)).collect();
    for (number, value) in rows.values_mut().enumerate() {
        *value = number;
    }
    let mut lines: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for ((head, cell), row) in &classes {
        let line = lines.entry(head).or_default();
        line.resize(line.len().max(cell + 1), "---".into());
        line[*cell] = base36(rows[&**row]);
    }
    let mut text = String::new();
    for (head, codes) in lines {
        writeln!(text, "{head} {}", new_ones(&codes)).expect("a string");
    }
    let names: Vec<String> = Target::measured().iter().map(Target::to_string).collect();
    writeln!(text, "\n{}", names.join(";")).expect("a string");
    for row in rows.keys() {
        writeln!(text, "{row}").expect("a string");
    }
    text
}

/// The texts, joined by `;`. A text that equals the text before it is left out.
fn new_ones(texts: &[String]) -> String {
    let own = texts.iter().enumerate().map(|(at, text)| match at.checked_sub(1) {
        Some(before) if texts[before] == *text => "",
        _ => text,
    });
    own.collect::<Vec<_>>().join(";")
}

fn base36(number: usize) -> String {
    let digit = |value: usize| char::from_digit((value % 36) as u32, 36).expect("below 36");
    [number / 1296, number / 36, number].map(digit).iter().collect()
}
