//! z3 proves that sequences of ordinary PTX equal the programs of their instructions
//! for all inputs.
//!
//! `cargo xtask prove-rewrites` runs it.

use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeSet, HashSet};
use std::fmt::Write as _;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use std::slice;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use crate::support::forms::{
    MASKS2, MASKS4, PARTS, adding_head, adding_parts, heads, lane_steps, on_range, rows,
    subtracting,
};
use crate::support::opcodes;
use crate::support::random::Random;
use crate::support::setting;
use crate::support::smt::{
    Answer, Solver, chain_query, chain_query_by_lanes, evaluation, group_query, places, query,
    query_within,
};
use vptx::Instruction;
use vptx::backend::ptx::{Gate, Opcode, Outcome, RewriteOptions, Sequence, candidates, rewrite};
use vptx::ir::Program;
use vptx::ir::{Input, Op};
use vptx::isa::{Destination, Feature, Form, LaneWidth, Mnemonic, Negation, Sources, Target};
use vptx::video::Semantics;

/// The limit for one query, in seconds. The slowest query takes 15 seconds on an idle machine.
const PATIENCE: u64 = 300;

/// The same for random instructions. The proof of all classes takes longer queries, too.
const PATIENCE_WITH_SAMPLES: u64 = 20;

pub(crate) const DEFAULT_SEED: u64 = 0x5eed_2026;

/// A text with both minus signs is not a canonical spelling, so it is left out.
const NEGATIONS: [[&str; 3]; 4] = [["", "", ""], ["-", "", ""], ["", "-", ""], ["", "", "-"]];

/// Words near which results change. They serve to compare the SMT encodings with evaluation.
const EDGES: [u32; 8] =
    [0, 1, 0xffff_ffff, 0x8000_0000, 0x7fff_ffff, 0x80ff_7f01, 0x7fff_8000, 0x0020_1f10];

/// Constants from every range that matters.
const CONSTANTS: [&str; 7] = ["0", "1", "27", "0x1234", "0x7fffffff", "0x80000000", "0xffffffff"];

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

pub(crate) fn z3() -> PathBuf {
    let path = variable("VPTX_Z3").map_or_else(
        || {
            let root = Path::new(env!("CARGO_MANIFEST_DIR"));
            let folder =
                variable("VPTX_CUDA_DIR").map_or_else(|| root.join(".cuda"), PathBuf::from);
            folder.join("bin/z3")
        },
        PathBuf::from,
    );
    assert!(path.is_file(), "{} is missing: run scripts/cuda-tools --z3", path.display());
    path
}

#[derive(Default)]
struct Tally {
    classes: usize,
    sequences: usize,
    proven: usize,
    /// Wrong sequences, and instructions without any sequence.
    different: Vec<String>,
    unknown: Vec<String>,
    /// The seconds of the longest query, and its name.
    slowest: (f64, String),
}

impl Tally {
    fn add(&mut self, other: Tally) {
        self.classes += other.classes;
        self.sequences += other.sequences;
        self.proven += other.proven;
        self.different.extend(other.different);
        self.unknown.extend(other.unknown);
        if other.slowest.0 > self.slowest.0 {
            self.slowest = other.slowest;
        }
    }

    /// Counts the solver's answer to a query.
    fn take(&mut self, answer: &Answer, what: String) {
        match answer {
            Answer::Proven => self.proven += 1,
            Answer::Unknown => self.unknown.push(what),
            Answer::Differs(words) => self.different.push(format!("{what}: {words:#010x?}")),
        }
    }

    fn print(&self, name: &str, start: Instant) {
        println!(
            "{name}: {} classes, {} sequences, {} queries proven, {} different, {} unknown, \
             {:.0} seconds",
            self.classes,
            self.sequences,
            self.proven,
            self.different.len(),
            self.unknown.len(),
            start.elapsed().as_secs_f64()
        );
    }
}

/// Proves that programs and sequences are equal, each pair once.
struct Prover {
    z3: PathBuf,
    /// The limit for one query, in seconds.
    patience: u64,
    /// One query of so many may take longer; none, if this is 0.
    left_out: usize,
    start: Instant,
    asked: Mutex<HashSet<[u64; 2]>>,
    total: Tally,
}

impl Prover {
    fn new() -> Prover {
        Prover {
            z3: z3(),
            patience: PATIENCE,
            left_out: 0,
            start: Instant::now(),
            asked: Mutex::default(),
            total: Tally::default(),
        }
    }

    /// Whether this query is new.
    fn is_new(&self, query: &str) -> bool {
        let hash = |salt: u8| {
            let mut hasher = DefaultHasher::new();
            (salt, query).hash(&mut hasher);
            hasher.finish()
        };
        let key = [hash(0), hash(1)];
        self.asked.lock().expect("no thread panics here").insert(key)
    }

    /// Proves every sequence for these instructions.
    fn prove(&mut self, name: &str, texts: &[String]) {
        let only = only();
        let texts: Vec<&String> = texts.iter().filter(|text| text.starts_with(&only)).collect();
        if texts.is_empty() {
            return;
        }
        let start = Instant::now();
        let (next, tally) = (AtomicUsize::new(0), Mutex::new(Tally::default()));
        let threads = std::thread::available_parallelism().map_or(1, |count| count.get().min(2));
        std::thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| {
                    let mut solver = Solver::new(&self.z3);
                    let mut own = Tally::default();
                    while let Some(text) = texts.get(next.fetch_add(1, Ordering::Relaxed)) {
                        self.prove_one(text, &mut solver, &mut own);
                    }
                    tally.lock().expect("no thread panics here").add(own);
                });
            }
        });
        let tally = tally.into_inner().expect("no thread panics here");
        tally.print(name, start);
        if tally.slowest.0 > 1.0 {
            println!("    {:.1} seconds for {}", tally.slowest.0, tally.slowest.1);
        }
        self.total.add(tally);
    }

    fn prove_one(&self, text: &str, solver: &mut Solver, tally: &mut Tally) {
        let instruction: Instruction =
            text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
        let places = places(&instruction.sources());
        tally.classes += 1;
        let mut programs = Vec::new();
        for semantics in Semantics::ALL {
            let program = instruction.lower(semantics);
            if programs.contains(&program) {
                continue;
            }
            let sequences = candidates(&instruction, semantics, Gate::ANY);
            if sequences.is_empty() {
                tally.different.push(format!("{text} {semantics}: no sequence"));
            }
            let wanted = variable("VPTX_PROVE_STRATEGY").unwrap_or_default();
            for (strategy, sequence) in sequences {
                if !strategy.to_string().starts_with(&wanted) {
                    continue;
                }
                tally.sequences += 1;
                let query = query(&program, &sequence, places);
                if !self.is_new(&query) {
                    continue;
                }
                let what = format!("{text} {semantics}, {strategy}");
                let start = Instant::now();
                match self.ask(solver, &query, slice::from_ref(&program), &sequence, places) {
                    Answer::Proven => tally.proven += 1,
                    Answer::Unknown => tally.unknown.push(what.clone()),
                    Answer::Differs(words) => {
                        let [a, b, c] = words;
                        let (left, right) = (program.eval(a, b, c), sequence.eval(a, b, c));
                        let note = if left == right { ": the encoding is wrong" } else { "" };
                        tally.different.push(format!(
                            "{what}: a = {a:#010x}, b = {b:#010x}, c = {c:#010x} \
                             give {left:#010x}, and {right:#010x} by the sequence{note}"
                        ));
                    }
                }
                let seconds = start.elapsed().as_secs_f64();
                if seconds > tally.slowest.0 {
                    tally.slowest = (seconds, what);
                }
            }
            programs.push(program);
        }
    }

    /// Asks whether a chain of programs and a sequence differ. The first attempt is
    /// [`chain_query_by_lanes`].
    fn ask(
        &self,
        solver: &mut Solver,
        query: &str,
        programs: &[Program],
        sequence: &Sequence,
        places: [usize; 3],
    ) -> Answer {
        let mut is_proven = |claim: &str| solver.ask(claim, self.patience) == Answer::Proven;
        let by_lanes = chain_query_by_lanes(programs, sequence, places, &mut is_proven);
        if by_lanes.is_some_and(|claim| is_proven(&claim)) {
            return Answer::Proven;
        }
        solver.ask(query, self.patience)
    }

    /// Prints the totals, and fails unless everything is proven that has the time for it.
    fn finish(self) {
        for different in &self.total.different {
            println!("different: {different}");
        }
        for unknown in &self.total.unknown {
            println!("unknown: {unknown}");
        }
        self.total.print("all", self.start);
        assert!(self.total.different.is_empty(), "some sequences are wrong");
        let left_out = self.total.proven.checked_div(self.left_out).unwrap_or(0);
        assert!(self.total.unknown.len() <= left_out, "some queries took too long");
    }
}

/// The text with which the instructions to prove must start; empty for all.
fn only() -> String {
    variable("VPTX_PROVE_ONLY").unwrap_or_default()
}

/// Each row of the table, with its mnemonic and those of its heads that start with [`only`].
pub(crate) fn table() -> Vec<(&'static Form, Mnemonic, Vec<String>)> {
    let only = only();
    let mut table = Vec::new();
    for (form, mnemonic) in rows() {
        let mut heads = heads(form, mnemonic);
        heads.retain(|head| head.starts_with(&only));
        if !heads.is_empty() {
            table.push((form, mnemonic, heads));
        }
    }
    assert!(!table.is_empty(), "no instruction begins with {only:?}");
    table
}

/// Takes one selector after the other from a list.
struct Turns(usize);

impl Turns {
    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        self.0 += 1;
        from[self.0 % from.len()]
    }
}

fn third(form: &Form, minus: &str) -> String {
    if form.third { format!(", {minus}c") } else { String::new() }
}

fn negations(form: &Form) -> &'static [[&'static str; 3]] {
    match form.negation {
        Negation::Forbidden => &NEGATIONS[..1],
        Negation::ProductOrThird => &NEGATIONS,
    }
}

/// Groups of parts for which the sequences are alike: parts at one position or, in products, parts
/// of one width.
fn alike(form: &Form) -> &'static [&'static [&'static str]] {
    if form.negation == Negation::ProductOrThird {
        &[&[""], &[".b0", ".b1", ".b2", ".b3"], &[".h0", ".h1"]]
    } else {
        &[&[""], &[".b0"], &[".b1", ".b2"], &[".b3"], &[".h0"], &[".h1"]]
    }
}

/// All variants of an instruction, but only one for variants that differ only in the middle byte,
/// in the destination's position, or in lanes.
fn classes(form: &Form, head: &str, turns: &mut Turns) -> Vec<String> {
    let mut texts = Vec::new();
    let destinations: &[&str] = match form.destination {
        Destination::Word => &[""],
        Destination::Part => &[".b2", ".h1"],
        Destination::Mask(LaneWidth::Halves) => &MASKS2,
        Destination::Mask(LaneWidth::Bytes) => &MASKS4,
    };
    for d in destinations {
        if form.sources != Sources::Scalar {
            texts.push(format!("{head} d{d}, a, b, c;"));
            continue;
        }
        for a in alike(form) {
            for b in alike(form) {
                for [minus_a, minus_b, minus_c] in negations(form) {
                    let (a, b) = (turns.pick(a), turns.pick(b));
                    let third = third(form, minus_c);
                    texts.push(format!("{head} d{d}, {minus_a}a{a}, {minus_b}b{b}{third};"));
                }
            }
        }
    }
    texts
}

/// Instructions with a constant as each operand in turn: the range of a constant also decides which
/// sequence is used.
fn constant_texts(form: &Form, head: &str, turns: &mut Turns) -> Vec<String> {
    let mut texts = Vec::new();
    if form.sources != Sources::Scalar {
        return texts;
    }
    let d = if form.destination == Destination::Part { turns.pick(&PARTS) } else { "" };
    for place in 0..if form.third { 3 } else { 2 } {
        for constant in CONSTANTS {
            let [mut a, mut b, mut c] = ["a", "b", "c"].map(str::to_owned);
            // The other factor or summand is a word or, in turn, a part.
            let part = turns.pick(&["", ".b3", "", ".h1"]);
            match place {
                0 => (a, b) = (constant.to_owned(), b + part),
                1 => (a, b) = (a + part, constant.to_owned()),
                _ => (a, c) = (a + part, constant.to_owned()),
            }
            let third = if form.third { format!(", {c}") } else { String::new() };
            texts.push(format!("{head} d{d}, {a}, {b}{third};"));
        }
    }
    texts
}

#[test]
#[ignore = "needs z3: cargo xtask prove-rewrites"]
fn constants_are_proven() {
    let mut prover = Prover::new();
    let mut turns = Turns(0);
    for (form, mnemonic, heads) in table() {
        let texts: Vec<String> =
            heads.iter().flat_map(|head| constant_texts(form, head, &mut turns)).collect();
        prover.prove(&format!("{}, {}, constants", mnemonic.text(), form.title), &texts);
    }
    prover.finish();
}

#[test]
#[ignore = "needs z3: cargo xtask prove-rewrites"]
fn classes_are_proven() {
    let mut prover = Prover::new();
    let mut turns = Turns(0);
    for (form, mnemonic, heads) in table() {
        let texts: Vec<String> =
            heads.iter().flat_map(|head| classes(form, head, &mut turns)).collect();
        prover.prove(&format!("{}, {}", mnemonic.text(), form.title), &texts);
    }
    prover.finish();
}

/// Scalar instructions that fill the parts of `d` in this order. They read parts of `a` and `b`.
fn filling(head: &str, parts: &[&str], random: &mut Random) -> String {
    let width = if parts[0].starts_with(".h") { &PARTS[4..] } else { &PARTS[..4] };
    let mut c = "c";
    let mut text = String::new();
    for (at, part) in parts.iter().enumerate() {
        // If the instructions fill all of `d`, each reads the part that it writes; otherwise it
        // reads any part.
        let mut from = || if parts.len() == width.len() { part } else { *random.pick(width) };
        let (a, b) = (from(), from());
        let _ = writeln!(text, "{head} d{part}, a{a}, b{b}, {c};");
        c = if at + 1 < parts.len() { "d" } else { c };
    }
    text
}

/// Scalar instructions that each add a product, or the result of parts, to the sum. `shape` decides
/// which parts they read.
fn adding(head: &str, shape: usize, random: &mut Random) -> String {
    let [parts_a, parts_b] = adding_parts(head, random);
    let count = if shape.is_multiple_of(2) { parts_a.len().max(parts_b.len()) } else { 2 };
    let mut text = String::new();
    for at in 0..count {
        let from = |parts: &[&'static str], random: &mut Random| {
            if shape < 3 { parts[(at + shape) % parts.len()] } else { random.pick(parts) }
        };
        let (a, b) = (from(parts_a, random), from(parts_b, random));
        let _ = writeln!(text, "{head} d, a{a}, b{b}, {};", if at == 0 { "c" } else { "d" });
    }
    text
}

/// Asks z3 about the fused chains in a text, under each semantics and for each measured target.
fn prove_chains(prover: &mut Prover, solver: &mut Solver, own: &mut Tally, chain: &str) {
    let text =
        format!(".version 9.2\n.target sm_120f\n.func f()\n{{\n.reg .b32 a, b, c, d;\n{chain}}}\n");
    let (module, _) = vptx::parse(&text);
    assert_eq!(module.instructions().count(), chain.lines().count(), "{text}");
    for (semantics, target) in Semantics::ALL
        .into_iter()
        .flat_map(|semantics| Target::measured().iter().map(move |target| (semantics, *target)))
    {
        let options = RewriteOptions::default().with_semantics(semantics).with_target(Some(target));
        let rewritten = rewrite(&module, &options).expect("a target");
        for (at, change) in rewritten.changes.iter().enumerate() {
            let Outcome::Fused(fusion) = &change.outcome else { continue };
            own.sequences += 1;
            let members = &rewritten.changes[at + 1 - fusion.members..=at];
            let programs: Vec<_> =
                members.iter().map(|it| it.instruction.lower(semantics)).collect();
            let places = places(&fusion.sources.each_ref().map(Some));
            let query = chain_query(&programs, &fusion.sequence, places);
            if !prover.is_new(&query) {
                continue;
            }
            let what = format!("{chain} {semantics} {target}");
            own.take(&prover.ask(solver, &query, &programs, &fusion.sequence, places), what);
        }
    }
    own.classes += 1;
}

#[test]
#[ignore = "needs z3: cargo xtask prove-rewrites"]
fn regions_are_proven() {
    let mut prover = Prover::new();
    let mut random = Random(setting("VPTX_PROVE_SEED", DEFAULT_SEED));
    let mut solver = Solver::new(&z3());
    let shapes: [&[&str]; 6] = [
        &PARTS[..4],
        &[".b3", ".b1", ".b0", ".b2"],
        &[".b2", ".b0"],
        &[".b3", ".b2", ".b1"],
        &[".h0", ".h1"],
        &[".h1", ".h0"],
    ];
    let mut tally = Tally::default();
    for (form, mnemonic, heads) in table() {
        if form.destination != Destination::Part {
            continue;
        }
        let start = Instant::now();
        let mut own = Tally::default();
        for head in &heads {
            for parts in shapes {
                let chain = filling(head, parts, &mut random);
                prove_chains(&mut prover, &mut solver, &mut own, &chain);
            }
        }
        own.print(&format!("{} that fill words", mnemonic.text()), start);
        tally.add(own);
    }
    assert!(tally.proven > 0);
    prover.total = tally;
    prover.finish();
}

/// Proves the sequences of random instructions, which `ask` makes.
fn prove_random(name: &str, ask: impl FnOnce(&mut Prover, &mut Solver, &mut Tally, &mut Random)) {
    let mut prover = Prover::new();
    let mut random = Random(setting("VPTX_PROVE_SEED", DEFAULT_SEED));
    let mut solver = Solver::new(&z3());
    let (start, mut tally) = (Instant::now(), Tally::default());
    ask(&mut prover, &mut solver, &mut tally, &mut random);
    tally.print(name, start);
    assert!(tally.proven > 0);
    prover.total = tally;
    prover.finish();
}

#[test]
#[ignore = "needs z3: cargo xtask prove-rewrites"]
fn sums_are_proven() {
    prove_random("sums", |prover, solver, tally, random| {
        let heads: BTreeSet<String> = (0..5000).map(|_| adding_head(random)).collect();
        for head in &heads {
            for shape in 0..6 {
                let chain = adding(head, shape, random);
                prove_chains(prover, solver, tally, &chain);
            }
        }
    });
}

#[test]
#[ignore = "needs z3: cargo xtask prove-rewrites"]
fn groups_are_proven() {
    prove_random("groups", |prover, solver, tally, random| {
        for _ in 0..setting("VPTX_PROVE_COUNT", 300) {
            let lanes = *random.pick(&["4", "2"]);
            // On targets with native instructions on halves, instructions on halves form no groups.
            let targets = Target::measured().iter().copied();
            let targets = targets.filter(|it| lanes == "4" || !it.has(Feature::Halves));
            let targets: Vec<Target> = targets.collect();
            let (body, unread) = lane_steps(random, lanes, &["a", "b", "c", "e", "r0"]);
            let read: Vec<String> = unread.iter().map(|it| format!("mov.b32 d, {it};")).collect();
            prove_groups(prover, solver, tally, &targets, &format!("{body}{}", read.join("\n")));
        }
    });
}

/// Differences whose first operand is clamped to limits that are computed before a loop.
#[test]
#[ignore = "needs z3: cargo xtask prove-rewrites"]
fn limits_are_proven() {
    prove_random("limits", |prover, solver, tally, random| {
        for target in Target::measured() {
            for lanes in ["", "2"] {
                let body = subtracting(random, lanes, &["d", "e", "r0", "r1", "r2", "r3"]);
                let text = format!(
                    ".version 8.8\n.target {target}\n.func f()\n{{\n\
                     .reg .b32 r<4>;\n.reg .b32 a, b, c, d, e;\n.reg .b64 q;\n.reg .pred p;\n\
                     ld.b32 b, [q];\nround:\nld.v2.b32 {{a, c}}, [q];\n{body}\n@p bra round;\n}}\n"
                );
                let (module, _) = vptx::parse(&text);
                let rewritten = rewrite(&module, &RewriteOptions::default()).expect("a target");
                for change in &rewritten.changes {
                    let Outcome::Rewritten(sequence) = &change.outcome else { continue };
                    let program = change.instruction.lower(Semantics::CURRENT);
                    let places = places(&change.instruction.sources());
                    // The sequences of other instructions rely on known values, which this query
                    // lacks.
                    if change.instruction.to_string().starts_with("vsub") {
                        tally.sequences += 1;
                        let query = query(&program, sequence, places);
                        if prover.is_new(&query) {
                            let what = format!("{target}: {}", change.instruction);
                            tally.take(&solver.ask(&query, PATIENCE), what);
                        }
                    }
                }
            }
        }
    });
}

#[test]
#[ignore = "needs z3: cargo xtask prove-rewrites"]
fn ranges_are_proven() {
    prove_random("ranges", |prover, solver, tally, random| {
        for _ in 0..10 * setting("VPTX_PROVE_COUNT", 300) {
            prove_range(prover, solver, tally, &on_range(random, ["r1", "r1"]));
        }
    });
}

/// Asks z3 about an instruction that reads the result of another instruction, and perhaps of a
/// `mov`.
fn prove_range(prover: &mut Prover, solver: &mut Solver, own: &mut Tally, body: &str) {
    own.classes += 1;
    let target = Target::measured()[own.classes % Target::measured().len()];
    let text = format!(
        ".version 8.8\n.target {target}\n.func f()\n{{\n\
         .reg .b32 r<2>;\n.reg .b32 a, b, c, d;\n{body}\n}}\n"
    );
    let (module, _) = vptx::parse(&text);
    let [single, known] = [false, true].map(|regions| {
        let options = RewriteOptions::default().with_regions(regions);
        rewrite(&module, &options).expect("a target").changes
    });
    let ([first, last], Some(alone)) = (&known[..], single.last()) else {
        panic!("{text} has other instructions");
    };
    let Outcome::Rewritten(sequence) = &last.outcome else { return };
    let text = last.instruction.to_string();
    let factors: Vec<&str> = text.split(", ").skip(1).take(2).collect();
    // z3 takes too long for products of words.
    let is_hard = text.starts_with("vmad") && !factors.iter().all(|it| it.contains('.'));
    if last.outcome == alone.outcome || is_hard {
        return;
    }
    let sources = last.instruction.sources();
    let place = sources.iter().position(|it| it.is_some_and(|it| it.name() == "r1"));
    let input = Input::ALL[place.expect("it reads r1")];
    let constants = body.lines().filter_map(|line| line.strip_prefix("mov.b32 r1, "));
    let constants = constants.filter_map(|it| it.strip_suffix(';')?.parse::<i32>().ok());
    let constants: Vec<u32> = constants.map(i32::cast_unsigned).collect();
    let [before, program] =
        [first, last].map(|change| change.instruction.lower(Semantics::CURRENT));
    // The value whose low 32 bits are the result.
    let result = before.step(before.result()).expect("a result");
    let whole = match result.op {
        Op::Extract { value, low: 0, .. } => before.step(value).expect("a step"),
        _ => result,
    };
    let known = (input, whole.range, &constants[..]);
    let query = query_within(known, &program, sequence, places(&sources));
    own.sequences += 1;
    if prover.is_new(&query) {
        own.take(&solver.ask(&query, PATIENCE), body.to_owned());
    }
}

/// Asks z3 about each lane of the groups in a text, for one of some targets.
fn prove_groups(
    prover: &mut Prover,
    solver: &mut Solver,
    own: &mut Tally,
    targets: &[Target],
    body: &str,
) {
    let target = targets[own.classes % targets.len()];
    let text = format!(
        ".version 8.8\n.target {target}\n.func f()\n{{\n\
         .reg .b32 r<20>;\n.reg .b32 a, b, c, d, e;\n{body}\n}}\n"
    );
    let (module, _) = vptx::parse(&text);
    let rewritten = rewrite(&module, &RewriteOptions::default()).expect("a target");
    for (at, change) in rewritten.changes.iter().enumerate() {
        let Outcome::Grouped(group) = &change.outcome else { continue };
        let members = &rewritten.changes[at - group.place..][..group.members];
        let members: Vec<_> = members.iter().map(|it| it.instruction).collect();
        own.sequences += 1;
        for lane in 0..4 {
            let query = group_query(&members, Semantics::CURRENT, group, lane);
            if prover.is_new(&query) {
                own.take(&solver.ask(&query, PATIENCE), body.to_owned());
            }
        }
    }
    own.classes += 1;
}

/// Selector `number` of four lanes.
fn lanes4(number: usize) -> String {
    format!(".b{number:04o}")
}

/// Selector `number` of two lanes.
fn lanes2(number: usize) -> String {
    format!(".h{}{}", number / 4, number % 4)
}

#[test]
#[ignore = "needs z3: cargo xtask prove-rewrites"]
fn gathers_are_proven() {
    let mut prover = Prover::new();
    let types = [".u32.u32", ".u32.s32", ".s32.u32", ".s32.s32"];
    // A comparison depends on all bits of each lane, and on its sign.
    for types in types {
        let texts: Vec<String> = (0..256)
            .map(|at| {
                let (a, b) = (lanes2(at / 16), lanes2(at % 16));
                format!("vset2{types}.lt d, a{a}, b{b}, c;")
            })
            .collect();
        prover.prove(&format!("vset2{types}, every pair of selectors"), &texts);
    }
    for types in types {
        // Each operand takes each selector once: 1777 and 4096 share no factor.
        let texts: Vec<String> = (0..4096)
            .map(|at| {
                let (a, b) = (lanes4(at), lanes4((at * 1777 + 5) % 4096));
                format!("vset4{types}.lt d, a{a}, b{b}, c;")
            })
            .collect();
        prover.prove(&format!("vset4{types}, every selector"), &texts);
    }
    // The digits of a selector for lanes outside the mask have no effect.
    let texts: Vec<String> = (0..4096)
        .map(|at| {
            let (a, b, mask) = (lanes4(at), lanes4((at * 1777 + 5) % 4096), MASKS4[at % 15]);
            format!("vset4.s32.u32.ge d{mask}, a{a}, b{b}, c;")
        })
        .collect();
    prover.prove("vset4, every selector, with masks", &texts);

    let parts: Vec<&str> = std::iter::once("").chain(PARTS).collect();
    for (head, destinations, third) in [
        ("vmin.u32{}", &[""][..], ""),
        ("vabsdiff.u32{}.sat", &PARTS, ", c"),
        ("vsub.s32{}.sat", &PARTS, ", c"),
        ("vadd.u32{}.add", &[""], ", c"),
        ("vset{}.le", &PARTS, ", c"),
        ("vmad.u32{}", &[""], ", c"),
        ("vmad.u32{}.sat.shr7", &[""], ", c"),
    ] {
        let mut texts = Vec::new();
        for types in types {
            let head = head.replace("{}", types);
            for d in destinations {
                for a in &parts {
                    for b in &parts {
                        texts.push(format!("{head} d{d}, a{a}, b{b}{third};"));
                    }
                }
            }
        }
        prover.prove(&format!("{}, every part", head.replace("{}", "")), &texts);
    }
    let mut texts = Vec::new();
    for head in ["vshl.u32.u32.u32.clamp", "vshr.s32.s32.u32.wrap"] {
        for d in PARTS {
            for a in &parts {
                texts.extend(parts.iter().map(|b| format!("{head} d{d}, a{a}, b{b}, c;")));
            }
        }
    }
    prover.prove("shifts, every part", &texts);
    prover.finish();
}

/// A random instruction with random operands.
fn random_text(table: &[(&'static Form, Mnemonic, Vec<String>)], random: &mut Random) -> String {
    let (form, _, heads) = random.pick(table);
    format!("{} {}", random.pick(heads), random_operands(form, random))
}

pub(crate) fn random_operands(form: &Form, random: &mut Random) -> String {
    let d = match form.destination {
        Destination::Word => "",
        Destination::Part => random.pick(&PARTS),
        Destination::Mask(LaneWidth::Halves) => random.pick(&MASKS2),
        Destination::Mask(LaneWidth::Bytes) => random.pick(&MASKS4),
    };
    // Two operands may be the same register.
    let mut names = ["a", "b", "c"];
    if random.one_in(4) {
        let (to, from) = (random.below(3), random.below(3));
        names[to] = names[from];
    }
    let [minus_a, minus_b, minus_c] = *random.pick(negations(form));
    let a = source(form, names[0], minus_a, random);
    let b = source(form, names[1], minus_b, random);
    let third = match (form.third || form.sources != Sources::Scalar, form.sources) {
        (false, _) => String::new(),
        (true, Sources::Scalar) if minus_c.is_empty() && random.one_in(6) => {
            format!(", {}", immediate(random))
        }
        (true, _) => format!(", {minus_c}{}", names[2]),
    };
    format!("d{d}, {a}, {b}{third};")
}

fn source(form: &Form, name: &str, minus: &str, random: &mut Random) -> String {
    let selector = match form.sources {
        Sources::Scalar if minus.is_empty() && random.one_in(6) => return immediate(random),
        Sources::Scalar if random.one_in(3) => String::new(),
        Sources::Scalar => (*random.pick(&PARTS)).to_owned(),
        Sources::Lanes(LaneWidth::Halves) => lanes2(random.below(16)),
        Sources::Lanes(LaneWidth::Bytes) => lanes4(random.below(4096)),
    };
    format!("{minus}{name}{selector}")
}

fn immediate(random: &mut Random) -> String {
    let word = if random.one_in(2) { *random.pick(&EDGES) } else { random.next() as u32 };
    let small = if random.one_in(2) { word & 31 } else { word };
    format!("{small:#x}")
}

#[test]
#[ignore = "needs z3: cargo xtask prove-rewrites"]
fn samples_are_proven() {
    let mut prover = Prover { patience: PATIENCE_WITH_SAMPLES, left_out: 20, ..Prover::new() };
    let count = setting("VPTX_PROVE_COUNT", 500) as usize;
    let seed = setting("VPTX_PROVE_SEED", DEFAULT_SEED);
    let mut random = Random(seed);
    let table = table();
    let texts: Vec<String> = (0..count).map(|_| random_text(&table, &mut random)).collect();
    prover.prove(&format!("{count} random instructions, seed {seed}"), &texts);
    prover.finish();
}

/// The SMT encodings of programs and sequences give the results of evaluation, so the proofs hold
/// for the code that is executed.
#[test]
#[ignore = "needs z3: cargo xtask prove-rewrites"]
fn encodings_equal_evaluation() {
    let count = setting("VPTX_PROVE_COUNT", 500);
    let mut random = Random(setting("VPTX_PROVE_SEED", DEFAULT_SEED));
    let mut solver = Solver::new(&z3());
    let (table, mut checked) = (table(), 0);
    for _ in 0..count {
        let text = random_text(&table, &mut random);
        let instruction: Instruction = text.parse().expect("it is well-formed");
        let semantics = *random.pick(&Semantics::ALL);
        let program = instruction.lower(semantics);
        for (strategy, sequence) in candidates(&instruction, semantics, Gate::ANY) {
            let words = [(); 3].map(|()| {
                if random.one_in(2) { *random.pick(&EDGES) } else { random.next() as u32 }
            });
            let [a, b, c] = words;
            assert_eq!(
                solver.evaluate(&evaluation(&program, &sequence, words)),
                [program.eval(a, b, c), sequence.eval(a, b, c)],
                "{text} {semantics}, {strategy}: {words:#010x?}"
            );
            checked += 1;
        }
    }
    // Some opcodes occur in the sequences of few forms, so each opcode is also tested alone. The
    // encodings of floating-point opcodes hold only for small numbers, so these are left out.
    let is_float = |it: &Opcode| matches!(it.needs(), Feature::FloatHalves | Feature::FloatExtrema);
    let instruction: Instruction = "vadd.u32.u32.u32 d, a, b;".parse().expect("it is legal");
    let program = instruction.lower(Semantics::CURRENT);
    for opcode in Opcode::all().into_iter().filter(|it| !is_float(it)) {
        let sequence = opcodes::sequence(opcode);
        for _ in 0..8 {
            let words = opcodes::words(&mut random);
            let [a, b, c] = words;
            let [_, result] = solver.evaluate(&evaluation(&program, &sequence, words));
            assert_eq!(result, sequence.eval(a, b, c), "{opcode:?}: {words:#010x?}");
            checked += 1;
        }
    }
    println!("{checked} encodings evaluated");
}
