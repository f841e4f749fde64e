//! Random kernels of the kinds that are rewritten as regions.

use std::fmt::Write as _;
use std::iter;

use vptx::isa::{Destination, Feature, PtxVersion, Sources, Target};
use vptx::{RewriteOptions, parse, rewrite};

use super::forms::{
    PARTS, adding_head, adding_parts, comparing, heads, lane_steps, masking, merging_head,
    on_constant, on_range, on_zero, rows, subtracting,
};
use super::random::Random;

/// A kind of kernels.
pub(crate) struct Kind {
    pub(crate) name: &'static str,
    /// Makes statements that compute `d` from `a`, `b` and `c`.
    pub(crate) body: fn(&mut Random) -> String,
    /// Targets with this feature have machine instructions instead.
    without: Option<Feature>,
}

impl Kind {
    /// The measured targets on which such kernels are rewritten as regions.
    pub(crate) fn targets(&self) -> impl Iterator<Item = Target> {
        let is_native = |target: Target| self.without.is_some_and(|it| target.has(it));
        Target::measured().iter().copied().filter(move |&target| !is_native(target))
    }
}

const fn kind(name: &'static str, body: fn(&mut Random) -> String) -> Kind {
    Kind { name, body, without: None }
}

pub(crate) static KINDS: [Kind; 13] = [
    kind("chains", |random| if random.one_in(2) { filling(random) } else { adding(random) }),
    kind("groups", |random| lanes(random, "4")),
    Kind {
        without: Some(Feature::Halves),
        ..kind("groups of halves", |random| lanes(random, "2"))
    },
    kind("loops", |random| loop_of_lanes(random, "4")),
    Kind {
        without: Some(Feature::Halves),
        ..kind("loops of halves", |random| loop_of_lanes(random, "2"))
    },
    kind("comparisons", comparisons),
    kind("constants", |random| format!(".reg .b32 r<2>;\n{}", on_constant(random, "r1"))),
    kind("ranges", |random| format!(".reg .b32 r<3>;\n{}", on_range(random, ["r1", "r2"]))),
    Kind { without: Some(Feature::SaturatingWords), ..kind("limits", limits) },
    kind("limits before loops", limits_before_loops),
    kind("parts before loops", parts_before_loops),
    kind("extrema of 0", extrema_of_zero),
    kind("masks", masks),
];

/// The last measured target; it has instructions on bytes.
pub(crate) const BYTES: Target = Target { number: 120, suffix: Some('f') };

/// A kernel around statements that compute `d` from `a`, `b`, `c`.
fn kernel(number: usize, body: &str) -> String {
    format!(
        ".visible .entry k{number}(.param .u64 input)\n{{\n.reg .b64 %pointer;\n.reg .b32 a, b, c, d;\n.reg .pred p;\n\
         ld.param.u64 %pointer, [input];\nld.volatile.global.u32 a, [%pointer];\n\
         ld.volatile.global.u32 b, [%pointer+4];\nld.volatile.global.u32 c, [%pointer+8];\n\
         {body}\nst.volatile.global.u32 [%pointer+12], d;\nret;\n}}\n"
    )
}

/// A module of kernels. The first one only loads and stores.
pub(crate) fn module<'b>(bodies: impl IntoIterator<Item = &'b str>, target: Target) -> String {
    // PTX has had instructions on bytes only since 9.2.
    let (major, minor) = if target.suffix.is_some() { (9, 2) } else { (8, 8) };
    let version = target.since().max(PtxVersion::new(major, minor));
    let mut module = format!(".version {version}\n.target {target}\n.address_size 64\n");
    for (number, body) in iter::once("mov.b32 d, c;").chain(bodies).enumerate() {
        module += &kernel(number, body);
    }
    module
}

/// Scalar instructions that fill some or all parts of `d`.
fn filling(random: &mut Random) -> String {
    let head = merging_head(random);
    let parts: &[&str] =
        if random.one_in(2) { &[".h0", ".h1"] } else { &[".b0", ".b1", ".b2", ".b3"] };
    let mut order = parts.to_vec();
    for at in 0..parts.len() {
        order.swap(at, random.below(parts.len()));
    }
    order.truncate(2 + random.below(parts.len() - 1));
    let is_plain = random.one_in(2);
    let mut text = String::new();
    let mut c = *random.pick(&["a", "c", "c"]);
    for part in order {
        let mut from = || if is_plain { part } else { *random.pick(parts) };
        let _ = writeln!(text, "{head} d{part}, a{}, b{}, {c};", from(), from());
        c = "d";
    }
    text
}

/// Scalar instructions that add to a sum.
fn adding(random: &mut Random) -> String {
    let head = adding_head(random);
    let [parts_a, parts_b] = adding_parts(&head, random);
    let is_plain = random.one_in(2);
    let mut text = String::new();
    let mut c = *random.pick(&["a", "c", "c"]);
    for at in 0..2 + random.below(4) {
        let from = |parts: &[&'static str], random: &mut Random| {
            if is_plain { parts[at % parts.len()] } else { random.pick(parts) }
        };
        let (a, b) = (from(parts_a, random), from(parts_b, random));
        let _ = writeln!(text, "{head} d, a{a}, b{b}, {c};");
        c = "d";
    }
    text
}

/// SIMD instructions on all lanes. All their results are stored.
fn lanes(random: &mut Random, lanes: &str) -> String {
    let inputs = &["a", "b", "c", "e", "f"][..2 + random.below(4)];
    let (steps, unread) = lane_steps(random, lanes, inputs);
    let mut text = String::from(
        ".reg .b32 e, f, r<20>;\nld.volatile.global.u32 e, [%pointer+16];\n\
         ld.volatile.global.u32 f, [%pointer+20];\n",
    );
    text += &steps;
    let stored = inputs.iter().copied().chain(unread.iter().map(String::as_str));
    text += &stores(stored, 24);
    text + "mov.b32 d, c;"
}

/// A loop that is executed `c` times, and loads `a` first each time.
fn looped(before: &str, round: &str) -> String {
    format!(
        ".reg .b32 r<25>;\n.reg .pred again;\n{before}mov.u32 r24, c;\nround:\n.pragma \"nounroll\";\n\
         ld.volatile.global.u32 a, [%pointer+32];\n{round}sub.u32 r24, r24, 1;\n\
         setp.ne.u32 again, r24, 0;\n@again bra round;\nmov.b32 d, c;"
    )
}

/// Statements that store registers from an offset on.
fn stores<'r>(registers: impl Iterator<Item = &'r str>, first: usize) -> String {
    let store = |(at, register)| {
        format!("st.volatile.global.u32 [%pointer+{}], {register};\n", first + 4 * at)
    };
    registers.enumerate().map(store).collect()
}

/// A loop around SIMD instructions. Some of their sources do not change in the loop.
fn loop_of_lanes(random: &mut Random, lanes: &str) -> String {
    let inputs = ["a", "r20", "r21", "r22", "r23"];
    let read = &inputs[..3 + random.below(3)];
    let (steps, unread) = lane_steps(random, lanes, read);
    let load = |(at, register): (usize, &&str)| {
        format!("ld.volatile.global.u32 {register}, [%pointer+{}];\n", 16 + 4 * at)
    };
    let loads: String = inputs[1..].iter().enumerate().map(load).collect();
    let results = inputs.into_iter().chain(unread.iter().map(String::as_str));
    looped(&loads, &(steps + &stores(results, 36)))
}

fn comparisons(random: &mut Random) -> String {
    let mut text = String::from(".reg .b32 r<4>;\n");
    let registers = ["r1", "r2", "r3"];
    for register in registers {
        let _ = writeln!(text, "mov.b32 {register}, c;");
    }
    text += &comparing(random, &registers);
    text += &stores(registers.into_iter(), 16);
    text + "mov.b32 d, c;"
}

fn limits(random: &mut Random) -> String {
    let registers = &["r1", "r2", "r3", "r4", "r5", "r6"][..2 + random.below(5)];
    let text = format!(".reg .b32 r<7>;\n{}", subtracting(random, "", registers));
    text + &stores(registers.iter().copied(), 16)
}

fn limits_before_loops(random: &mut Random) -> String {
    let registers = &["r1", "r2", "r3", "r4", "r5", "r6"][..2 + random.below(5)];
    let lanes = *random.pick(&["", "2"]);
    let steps = subtracting(random, lanes, registers).replace(" b,", " r21,");
    let steps = steps.replace(" b;", " r21;");
    let stored = stores(registers.iter().copied(), 40);
    looped(
        "ld.volatile.global.u32 r21, [%pointer+20];\n",
        &format!("ld.volatile.global.u32 c, [%pointer+36];\n{steps}{stored}"),
    )
}

/// A loop around scalar instructions that read parts of words from outside of the loop.
fn parts_before_loops(random: &mut Random) -> String {
    let scalars: Vec<_> = rows().filter(|(form, _)| form.sources == Sources::Scalar).collect();
    let outside = ["r20", "r21", "r22"];
    let load = |(at, register): (usize, &&str)| {
        format!("ld.volatile.global.u32 {register}, [%pointer+{}];\n", 16 + 4 * at)
    };
    let loads: String = outside.iter().enumerate().map(load).collect();
    let (mut steps, mut results) = (String::new(), vec![String::from("a")]);
    for at in 1..2 + random.below(8) {
        let (form, mnemonic) = *random.pick(&scalars);
        let head = random.pick(&heads(form, mnemonic)).clone();
        let mut part = || if random.one_in(4) { "" } else { *random.pick(&PARTS) };
        let parts = [part(), part(), part()];
        let inside = format!("{}{}", random.pick(&results), parts[0]);
        let outside = format!("{}{}", random.pick(&outside), parts[1]);
        let [a, b] = if random.one_in(2) { [inside, outside] } else { [outside, inside] };
        let d = match (form.destination, parts[2]) {
            (Destination::Part, "") => ".b1",
            (Destination::Part, part) => part,
            _ => "",
        };
        let c = if form.third { format!(", {}", random.pick(&results)) } else { String::new() };
        let _ = writeln!(steps, "{head} r{at}{d}, {a}, {b}{c};");
        results.push(format!("r{at}"));
    }
    let stored = stores(results.iter().map(String::as_str), 40);
    looped(&loads, &(steps + &stored))
}

fn extrema_of_zero(random: &mut Random) -> String {
    let text = on_zero(random, "r1", &["r2", "d"]);
    format!(".reg .b32 r<3>;\n{text}st.volatile.global.u32 [%pointer+16], r2;\n")
}

fn masks(random: &mut Random) -> String {
    let text = masking(random, ["r1", "d"]);
    let stored = if random.one_in(2) { "st.volatile.global.u32 [%pointer+16], r1;\n" } else { "" };
    format!(".reg .b32 r<2>;\n{text}{stored}")
}

/// Each kind with each of its targets, in the order of `fixtures/oracle/regions.tsv`.
pub(crate) fn cells() -> impl Iterator<Item = (&'static Kind, Target)> {
    KINDS.iter().flat_map(|kind| kind.targets().map(move |target| (kind, target)))
}

/// The number of kernels of each kind in `fixtures/oracle/regions.tsv`.
pub(crate) const RECORDED: usize = 300;

/// The rewritten kernels of a kind, as one module. They are the same on each call.
pub(crate) fn rewritten(kind: &Kind, target: Target) -> String {
    let mut random = Random(1);
    let bodies: Vec<String> = (0..RECORDED).map(|_| (kind.body)(&mut random)).collect();
    let text = module(bodies.iter().map(String::as_str), target);
    rewrite(&parse(&text).0, &RewriteOptions::default()).expect("it has a target").text()
}

/// The number of statements of a text without comments.
pub(crate) fn statements(text: &str) -> usize {
    text.matches(';').count()
}
