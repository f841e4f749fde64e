//! Every instruction text that the table of forms stands for, in canonical
//! order of modifiers, with the operand names `d`, `a`, `b`, `c`.

use std::fmt::Write as _;

use vptx::isa::{Destination, Form, LaneWidth, Mnemonic, Negation, Sources};
use vptx::video::FORMS;

use super::random::Random;

/// Parts of a register, as the manual lists them.
pub(crate) const PARTS: [&str; 6] = [".b0", ".b1", ".b2", ".b3", ".h0", ".h1"];

/// Masks of two lanes.
pub(crate) const MASKS2: [&str; 3] = [".h0", ".h1", ".h10"];

/// Masks of four lanes.
pub(crate) const MASKS4: [&str; 15] = [
    ".b0", ".b1", ".b10", ".b2", ".b20", ".b21", ".b210", ".b3", ".b30", ".b31", ".b310", ".b32",
    ".b320", ".b321", ".b3210",
];

/// The number of pairs of four-way selectors for each mask and each combination of modifiers.
pub(crate) const LANE_SAMPLES: usize = 16;

/// Each row of the table with each of its mnemonics.
pub(crate) fn rows() -> impl Iterator<Item = (&'static Form, Mnemonic)> {
    let forms = FORMS.into_iter().flatten();
    forms.flat_map(|form| form.mnemonics.iter().map(move |&mnemonic| (form, mnemonic)))
}

/// Every text of one row with one mnemonic. Four-way selectors are sampled; all else is
/// complete.
pub(crate) fn texts(form: &Form, mnemonic: Mnemonic) -> Vec<String> {
    let mut texts = Vec::new();
    let mut lanes = LaneSampler::new(mnemonic);
    for head in heads(form, mnemonic) {
        for d in destinations(form) {
            match form.sources {
                Sources::Scalar => scalar_tails(form, &head, d, &mut texts),
                Sources::Lanes(LaneWidth::Halves) => {
                    for (a, b) in pairs(&optional(&selectors2())) {
                        texts.push(format!("{head} d{d}, a{a}, b{b}, c;"));
                    }
                }
                Sources::Lanes(LaneWidth::Bytes) => {
                    for _ in 0..LANE_SAMPLES {
                        let (a, b) = lanes.pair();
                        texts.push(format!("{head} d{d}, a{a}, b{b}, c;"));
                    }
                }
            }
        }
    }
    texts
}

/// The text without explicit default masks and lane selectors.
pub(crate) fn without_defaults(text: &str) -> String {
    let (half, byte) = (".h10,", ".b3210,");
    let (d, rest) = text.split_once(", ").expect("there are operands");
    let d = format!("{d},");
    let simd = d.split('.').next().is_some_and(|name| name.ends_with(['2', '4']));
    if !simd {
        return text.to_owned();
    }
    let d = d.strip_suffix(half).or(d.strip_suffix(byte)).map_or(d.clone(), |d| format!("{d},"));
    let rest = rest.replace("a.h10,", "a,").replace("b.h32,", "b,");
    let rest = rest.replace("a.b3210,", "a,").replace("b.b7654,", "b,");
    format!("{d} {rest}")
}

/// The mnemonic with every combination of modifiers that the form allows.
pub(crate) fn heads(form: &Form, mnemonic: Mnemonic) -> Vec<String> {
    let mut heads = vec![mnemonic.text().to_owned()];
    for slot in form.slots {
        let mut choices: Vec<&str> = slot.choices.iter().map(|choice| choice.text()).collect();
        if slot.optional {
            choices.insert(0, "");
        }
        heads = heads
            .iter()
            .flat_map(|head| choices.iter().map(move |choice| format!("{head}{choice}")))
            .collect();
    }
    heads
}

fn destinations(form: &Form) -> Vec<&'static str> {
    match form.destination {
        Destination::Word => vec![""],
        Destination::Part => PARTS.to_vec(),
        Destination::Mask(LaneWidth::Halves) => optional(&MASKS2),
        Destination::Mask(LaneWidth::Bytes) => optional(&MASKS4),
    }
}

fn scalar_tails(form: &Form, head: &str, d: &str, texts: &mut Vec<String>) {
    // Minus signs that cancel are not a canonical spelling.
    let negations: &[[&str; 3]] = match form.negation {
        Negation::Forbidden => &[["", "", ""]],
        Negation::ProductOrThird => &[["", "", ""], ["-", "", ""], ["", "-", ""], ["", "", "-"]],
    };
    for (a, b) in pairs(&optional(&PARTS)) {
        for [minus_a, minus_b, minus_c] in negations {
            let third = if form.third { format!(", {minus_c}c") } else { String::new() };
            texts.push(format!("{head} d{d}, {minus_a}a{a}, {minus_b}b{b}{third};"));
        }
    }
}

/// An empty text, and each of the texts.
fn optional<'a>(texts: &[&'a str]) -> Vec<&'a str> {
    std::iter::once("").chain(texts.iter().copied()).collect()
}

fn pairs<'a>(texts: &[&'a str]) -> Vec<(&'a str, &'a str)> {
    texts.iter().flat_map(|&a| texts.iter().map(move |&b| (a, b))).collect()
}

/// The 16 two-way lane selectors.
fn selectors2() -> [&'static str; 16] {
    [
        ".h00", ".h01", ".h02", ".h03", ".h10", ".h11", ".h12", ".h13", ".h20", ".h21", ".h22",
        ".h23", ".h30", ".h31", ".h32", ".h33",
    ]
}

/// Samples four-way selectors. The selectors of `a` are all taken in turn; the selectors of `b` are
/// random.
struct LaneSampler {
    turn: u64,
    random: Random,
}

impl LaneSampler {
    fn new(mnemonic: Mnemonic) -> LaneSampler {
        let seed = mnemonic as u64;
        LaneSampler { turn: seed * 1009, random: Random(seed) }
    }

    fn pair(&mut self) -> (String, String) {
        self.turn += 1;
        // 1777 and 4097 share no factor, so `a` takes every number below 4097.
        let a = (self.turn * 1777 % 4097) as usize;
        (lanes4(a), lanes4(self.random.below(4097)))
    }
}

/// The selector with a number from 0 to 4095; an empty text for 4096.
fn lanes4(number: usize) -> String {
    if number == 4096 { String::new() } else { format!(".b{number:04o}") }
}

/// The mnemonic and modifiers of a scalar instruction that can write a part and has a SIMD
/// form without a secondary operation.
pub(crate) fn merging_head(random: &mut Random) -> String {
    let types = [(); 3].map(|()| *random.pick(&[".u32", ".s32"]));
    if random.one_in(3) {
        let compare = random.pick(&["eq", "ne", "lt", "le", "gt", "ge"]);
        return format!("vset{}{}.{compare}", types[1], types[2]);
    }
    let mnemonic = random.pick(&["vadd", "vsub", "vabsdiff", "vmin", "vmax"]);
    format!("{mnemonic}{}{}", types.concat(), random.pick(&["", ".sat"]))
}

/// SIMD instructions on all lanes, and the registers that they write but never read. The
/// instructions read the inputs and write `r1`, `r2` and so on, sometimes an input. Most of them
/// read earlier results. `lanes` is the number of lanes, `2` or `4`.
pub(crate) fn lane_steps(
    random: &mut Random,
    lanes: &str,
    inputs: &[&str],
) -> (String, Vec<String>) {
    let own = *random.pick(&["u32", "s32"]);
    let is_mixed = random.one_in(2);
    let mut known: Vec<String> = inputs.iter().map(|it| (*it).to_owned()).collect();
    let mut fresh: Vec<String> = Vec::new();
    let mut text = String::new();
    for at in 1..=2 + random.below(8) {
        let mut source = |random: &mut Random| {
            let pool = if fresh.is_empty() || random.one_in(3) { &known } else { &fresh };
            let source = random.pick(pool).clone();
            fresh.retain(|it| *it != source);
            source
        };
        let (a, mut b) = (source(random), source(random));
        if a == b && !random.one_in(8) {
            b = source(random);
        }
        let op = *random.pick(&["vadd", "vsub", "vmin", "vmax", "vset"]);
        let mut ty = || if is_mixed && random.one_in(4) { "u32" } else { own };
        let types = if op == "vset" { vec![ty(), ty()] } else { vec![ty(), ty(), ty()] }.join(".");
        let modifier = match op {
            "vset" => *random.pick(&[".lt", ".le", ".gt", ".ge", ".ge", ".eq"]),
            _ if random.one_in(if op.starts_with("vm") { 8 } else { 2 }) => ".sat",
            _ => "",
        };
        let d = if random.one_in(6) { random.pick(inputs).to_string() } else { format!("r{at}") };
        let c = random.pick(&[inputs[0], &a, &d]).to_string();
        let _ = writeln!(text, "{op}{lanes}.{types}{modifier} {d}, {a}, {b}, {c};");
        if !known.contains(&d) {
            known.push(d.clone());
            fresh.push(d);
        }
    }
    (text, fresh)
}

/// Comparisons, minima and maxima of `a` and `b`, in either order. They write some of the
/// registers, and any register may be their `c`.
pub(crate) fn comparing(random: &mut Random, registers: &[&str]) -> String {
    let (width, ty) = (*random.pick(&["2", "4"]), *random.pick(&["u32", "s32"]));
    let mut text = String::new();
    for _ in 0..2 + random.below(2) {
        let op = *random.pick(&["vset", "vmin", "vmax"]);
        // The comparison, or the type of `d`.
        let last = if op == "vset" { *random.pick(&["lt", "le", "gt", "ge"]) } else { ty };
        let tail = random.pick(&["", "", ".add"]);
        let sources = random.pick(&["a, b", "b, a"]);
        let (d, c) = (random.pick(registers), random.pick(registers));
        let _ = writeln!(text, "{op}{width}.{ty}.{ty}.{last}{tail} {d}, {sources}, {c};");
    }
    text
}

/// The parts that are bytes.
pub(crate) const BYTES: [&str; 4] = [".b0", ".b1", ".b2", ".b3"];
pub(crate) const HALVES: [&str; 2] = [".h0", ".h1"];

/// A `mov` of a constant to a register, and a scalar instruction that may read the register.
pub(crate) fn on_constant(random: &mut Random, register: &str) -> String {
    let value = *random.pick(&[0i64, 1, 5, 31, 64, 255, -1, -128, 0x7fff_ffff, 0xffff_ff00]);
    let ty = *random.pick(&["u32", "s32", "b32"]);
    format!("mov.{ty} {register}, {value};\n{}", reading(random, register))
}

/// A scalar instruction that may read a register.
fn reading(random: &mut Random, register: &str) -> String {
    let scalar: Vec<_> = rows().filter(|(form, _)| form.sources == Sources::Scalar).collect();
    let (form, mnemonic) = *random.pick(&scalar);
    let head = random.pick(&heads(form, mnemonic)).clone();
    let mut source = |name: &str| match random.below(5) {
        0 | 1 => register.to_owned(),
        2 => name.to_owned(),
        _ => format!("{name}{}", random.pick(&PARTS)),
    };
    let (a, b) = (source("a"), source("b"));
    let c = if random.one_in(2) { register } else { "c" };
    let c = if form.third { format!(", {c}") } else { String::new() };
    let d = if form.destination == Destination::Part { *random.pick(&PARTS) } else { "" };
    format!("{head} d{d}, {a}, {b}{c};\n")
}

/// An instruction whose result has a range, and a scalar instruction that may read it from one of
/// two registers.
pub(crate) fn on_range(random: &mut Random, [first, second]: [&str; 2]) -> String {
    let [ty, other] = [(); 2].map(|()| *random.pick(&["u32", "s32"]));
    let [a, b] = [("a", &PARTS), ("b", &PARTS)].map(|(name, parts)| {
        let part = *random.pick(parts);
        format!("{name}{part}")
    });
    let constant = *random.pick(&[0u32, 1, 64, 255, 1000, 0x7fff_ff00]);
    let mut text = match random.below(6) {
        0 => format!("vadd.s32.{ty}.{other} {first}, {a}, {b};\n"),
        1 => format!("vsub.s32.{ty}.{other} {first}, {a}, {b};\n"),
        2 => format!("vmad.s32.{ty}.{other} {first}, {a}, {b}, {constant};\n"),
        3 => format!("vmax.{ty}.{ty}.{ty} {first}, a, {constant};\n"),
        4 => format!("vmin.{ty}.{ty}.{ty} {first}, a, {constant};\n"),
        _ => format!("vset.{ty}.{other}.lt {first}, {a}, {b};\n"),
    };
    if random.one_in(3) {
        text = format!("mov.b32 {first}, {};\n{text}", random.pick(&[0, 1000, -3]));
    }
    let read = if random.one_in(2) {
        let _ = writeln!(text, "mov.u32 {second}, {first};");
        second
    } else {
        first
    };
    text + &reading(random, read)
}

/// Subtractions that saturate, mixed with maxima, on words or, if `lanes` is `2`, on halves. Most
/// subtract `b`. Each register gets one result.
pub(crate) fn subtracting(random: &mut Random, lanes: &str, registers: &[&str]) -> String {
    let mut sources = vec!["a", "c"];
    let mut text = String::new();
    for d in registers {
        // Each `a` is taken once: ptxas computes equal differences once.
        let a = sources.remove(random.below(sources.len()));
        let b = if random.one_in(5) { "a" } else { "b" };
        let _ = match random.below(4) {
            0 if lanes == "2" => writeln!(text, "vmax2.s32.s32.s32 {d}, {a}, {b}, c;"),
            _ if lanes == "2" => writeln!(text, "vsub2.s32.s32.s32.sat {d}, {a}, {b}, c;"),
            0 => writeln!(text, "vsub.s32.s32.s32.sat.max {d}, {a}, {b}, c;"),
            1 => writeln!(text, "vmax.s32.s32.s32 {d}, {a}, 0;"),
            _ => writeln!(text, "vsub.s32.s32.s32.sat {d}, {a}, {b};"),
        };
        sources.push(d);
    }
    text
}

/// SIMD minima and maxima with a register that holds 0.
pub(crate) fn on_zero(random: &mut Random, register: &str, results: &[&str]) -> String {
    let mut text = format!("mov.u32 {register}, 0;\n");
    for d in results {
        let (op, width) = (random.pick(&["vmin", "vmax"]), random.pick(&["2", "4"]));
        let [ty, other] = [(); 2].map(|()| *random.pick(&["u32", "s32", "s32"]));
        let btype = if random.one_in(4) { other } else { ty };
        let tail = random.pick(&["", "", ".sat", ".add"]);
        let mut sources = [random.pick(&["a", "b"]).to_string(), register.to_owned()];
        if random.one_in(2) {
            sources.swap(0, 1);
        }
        let sources = sources.join(", ");
        let _ = writeln!(text, "{op}{width}.{other}.{ty}.{btype}{tail} {d}, {sources}, c;");
    }
    text
}

/// Flags from a comparison of `a` and `b`, and a product that may turn the flags into a mask.
pub(crate) fn masking(random: &mut Random, [flags, mask]: [&str; 2]) -> String {
    let [ty, other] = [(); 2].map(|()| *random.pick(&["u32", "s32"]));
    let (width, factor) =
        *random.pick(&[("2", "65535"), ("4", "255"), ("4", "0xff"), ("4", "254")]);
    let compare = random.pick(&["eq", "ne", "lt", "le", "gt", "ge"]);
    let tail = random.pick(&["", "", "", ".add"]);
    format!(
        "vset{width}.{ty}.{other}.{compare}{tail} {flags}, a, b, c;\n\
         mul.lo.{ty} {mask}, {flags}, {factor};\n"
    )
}

/// The mnemonic and modifiers of a scalar instruction that adds to `c`.
pub(crate) fn adding_head(random: &mut Random) -> String {
    let types = [(); 3].map(|()| *random.pick(&[".u32", ".s32"]));
    match random.below(4) {
        0 => {
            let compare = random.pick(&["eq", "ne", "lt", "le", "gt", "ge"]);
            format!("vset{}{}.{compare}.add", types[1], types[2])
        }
        1 => format!("vmad{}", types.concat()),
        _ => {
            let mnemonic = random.pick(&["vadd", "vsub", "vabsdiff", "vmin", "vmax"]);
            format!("{mnemonic}{}{}.add", types.concat(), random.pick(&["", ".sat"]))
        }
    }
}

/// The parts that each source of the instruction may read: parts of one width, except that some
/// products mix widths.
pub(crate) fn adding_parts(head: &str, random: &mut Random) -> [&'static [&'static str]; 2] {
    let own: &[&[&str]] = &[&BYTES, &HALVES];
    let first = *random.pick(own);
    let is_mixed = head.starts_with("vmad") && random.one_in(2);
    [first, if is_mixed { *random.pick(own) } else { first }]
}
