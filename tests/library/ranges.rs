//! Scalar instructions on registers that hold results of other instructions.

use std::fmt::Write as _;

use crate::constants::function;
use crate::support::random::Random;
use crate::support::{EDGES, samples};
use vptx::backend::ptx::{Gate, Outcome, RewriteOptions, Sequence, Strategy, rewrite};
use vptx::ir::Range;
use vptx::video::Semantics;
use vptx::{Instruction, parse};

/// This sum can only saturate upwards if `%r5` is not negative, and cannot saturate if `%r5` is
/// small.
const ADD: &str = "vadd.s32.s32.s32.sat d, %r5, a;";
/// This sum needs 64 bits if `%r5` may be any word.
const SHIFT: &str = "vmad.s32.s32.s32.shr7 d, a.h0, b.b1, %r5;";

/// The sequence for the instruction that writes `d`.
fn sequence(text: &str, options: &RewriteOptions) -> Sequence {
    let (module, findings) = parse(text);
    assert!(findings.iter().all(crate::support::is_about_results), "{text}: {findings:?}");
    let rewritten = rewrite(&module, options).expect("a target");
    let found = rewritten.changes.into_iter().find_map(|change| match change.outcome {
        Outcome::Rewritten(found) if change.instruction.destination().name() == "d" => Some(found),
        _ => None,
    });
    found.expect("it is rewritten")
}

/// Whether the other statements in a body change the sequence of an instruction.
fn is_other(body: &str, instruction: &str) -> bool {
    assert!(body.contains(instruction), "{body}");
    let options = RewriteOptions::default();
    sequence(&function(body), &options) != sequence(&function(instruction), &options)
}

#[test]
fn results_are_known() {
    for before in [
        "vadd.s32.u32.u32 %r5, a.b0, b.b1;",
        "vabsdiff.u32.u32.u32 %r5, a.h0, b.h1;",
        "vmax.s32.s32.s32 %r5, a, 0;",
        "vmin.u32.u32.u32 %r5, a, 1000;",
        "vmad.u32.u32.u32 %r05, a.h0, b.b1, 64;",
        // The value is copied through other registers, some of which also hold constants.
        "mov.u32 %r1, 64; vmad.u32.u32.u32 %r5, a.h0, b.b1, %r1;",
        "mov.u32 %r5, 0; L: vmax.s32.s32.s32 %r4, a, 0; mov.b32 %r5, %r4; @%p1 bra L;",
        "vmax.s32.s32.s32 %r4, a, 0; mov.s32 %r3, %r4; mov.u32 %r5, 7; @%p1 mov.u32 %r5, %r3;",
        "L: mov.u32 %r5, %r4; mov.u32 %r4, %r5; vmax.s32.s32.s32 %r4, a, 0; @%p1 bra L;",
        // The last write counts.
        "add.u32 %r5, a, b; vmax.s32.s32.s32 %r5, a, 0;",
        "vmax.s32.s32.s32 %r4, a, 0; mov.u32 %r5, %r4; call (%r4), g, (%r1);",
        "@%p1 vmax.s32.s32.s32 %r5, a, 0; @!%p1 vmax.s32.s32.s32 %r5, b, 1;",
        "{ .reg .b32 v<9>; { vmax.s32.s32.s32 v5, a, 0; } { mov.u32 %r5, v5; } }",
        // The range depends on the ranges of other results.
        "vmax.s32.s32.s32 %r4, a, 0; vmax.s32.s32.s32 %r5, b, %r4;",
        "vadd.s32.u32.u32 %r4, a.b0, b.b1; vadd.s32.s32.u32 %r5, %r4, b.b2;",
    ] {
        assert!(is_other(&format!("{before}\n{ADD}"), ADD), "{before}");
    }
    // The previous iteration of the loop wrote the value.
    let later = |end: &str| format!("L: {ADD}\nvmax.s32.s32.s32 %r5, a, 0; {end}");
    assert!(is_other(&later("@%p1 bra L;"), ADD));
    assert!(!is_other(&later(""), ADD));
    // A register that is declared alone, and a register from the function's head.
    for register in ["e", "%q1"] {
        let body = format!("vmax.s32.s32.s32 %r5, a, 0;\n{ADD}").replace("%r5", register);
        assert!(is_other(&body, &ADD.replace("%r5", register)), "{body}");
    }
}

#[test]
fn other_values_are_not_known() {
    for before in [
        "add.u32 %r5, a, b;",
        "ld.global.u32 %r5, [%rd1];",
        "vadd.s32.s32.s32 %r5, a, b;",
        "vadd.u32.u32.u32 %r5.b1, a, b, c;",
        "vmax.s32.s32.s32 %r5, a, 0; add.u32 %r5, %r5, 1;",
        "vmax.s32.s32.s32 %r5, a, 0; mov.b64 {%r5, %r6}, %rd1;",
        "vmax.s32.s32.s32 %r5, a, 0; vadd.s32.s32.s32 %r5, a, b;",
        "vmax.s32.s32.s32 %r5, a, 0; vadd2.s32.s32.s32 %r5, a, b, c;",
        "vmax.s32.s32.s32 %r5, a, 0; mov.u32 %r5, %r4;",
        "vmax.s32.s32.s32 %r4, a, 0; call (%r4), g, (%r1); mov.u32 %r5, %r4;",
        "vmax.s32.s32.s32 %r5, a, 0; mov.u32 %r5, e;",
        "add.u32 %r5, a, b; @%p1 vmax.s32.s32.s32 %r5, a, 0;",
        "add.u32 %r5, a, b; @%p1 bra L; vmax.s32.s32.s32 %r5, a, 0; L:",
        "vmax.s32.s32.s32 %r5, a, 0; mov.u32 %r5, %tid.x;",
        "vmax.s32.s32.s32 %r5, a, 0; mov.b32 %r5, 1.0;",
        // This instruction also writes its second operand.
        "vmin.s32.s32.s32 %r5, a, -1; tcgen05.ld.red.sync.aligned.32x32b.x2.min.s32 {%r1, %r2}, \
         %r5, [%r3];",
        // The inner `v5` does not exist outside of its block, or before its declaration.
        "{ .reg .b32 v<9>; vmin.s32.s32.s32 v5, a, -1; } mov.u32 %r5, v5;",
        "mov.u32 %r5, v5; .reg .b32 v<9>; vmin.s32.s32.s32 v5, a, -1;",
        ".reg .b32 v<5>; { .reg .b32 v<9>; vmin.s32.s32.s32 v5, a, -1; } mov.u32 %r5, v5;",
        ".shared .b32 v<6>; { .reg .b32 v<9>; vmin.s32.s32.s32 v5, a, -1; } mov.u32 %r5, v5;",
        // One value is signed, the other is unsigned.
        "vmin.s32.s32.s32 %r5, a, 0; @%p1 vmax.u32.u32.u32 %r5, a, 0x90000000;",
        // Nothing is known about the result of an illegal instruction.
        "vmax.s32.s32.s32 %r5, a, 0; vmax.s32.s32 %r5, a, 0;",
    ] {
        let text = function(&format!("{before}\n{ADD}"));
        let options = RewriteOptions::default();
        let (module, _) = parse(&text);
        let rewritten = rewrite(&module, &options).expect("a target");
        let last = rewritten.changes.last().expect("one is legal");
        let alone = Outcome::Rewritten(sequence(&function(ADD), &options));
        assert_eq!(last.outcome, alone, "{before}");
    }
    // The caller writes a parameter, so its range is unknown.
    let body = format!("@%p1 vmax.s32.s32.s32 %r5, a, 0;\n{ADD}").replace("%r5", "%q1");
    assert!(!is_other(&body, &ADD.replace("%r5", "%q1")), "{body}");
    // ptxas itself knows the ranges of constants and flags.
    assert!(!is_other(&format!("vset.u32.u32.lt %r5, a, b;\n{ADD}"), ADD));
    // A write in another function does not count.
    let other = function("vmax.s32.s32.s32 %r5, a, 0;")
        + &function(ADD)[".version 8.8\n.target sm_90\n".len()..].replace("f(", "g(");
    let options = RewriteOptions::default();
    let alone = sequence(&function(ADD), &options);
    assert_eq!(sequence(&other, &options), alone);
    // Functions with too few video instructions for their length are not analysed.
    let far = "add.u32 %r6, %r6, %r7;\n".repeat(200);
    assert!(!is_other(&format!("vmax.s32.s32.s32 %r5, a, 0;\n{far}{ADD}"), ADD));
    // The options exclude regions, or the semantics is not that of ptxas 13.
    let known = function(&format!("vmax.s32.s32.s32 %r5, a, 0;\n{ADD}"));
    assert_eq!(sequence(&known, &options.clone().with_regions(false)), alone);
    let manual = options.with_semantics(Semantics::Manual);
    assert_eq!(sequence(&known, &manual), sequence(&function(ADD), &manual));
}

/// The moves form a cycle, and there may be more registers than the analysis follows.
#[test]
fn long_ways_end() {
    let registers: Vec<String> = (1..100).map(|at| format!("%r{at}")).collect();
    for length in [3, 20, 90] {
        let mut body = format!("L: vmax.s32.s32.s32 {}, a, 0;\n", registers[length]);
        for pair in registers[..=length].windows(2) {
            let _ = writeln!(body, "mov.u32 {}, {};", pair[0], pair[1]);
        }
        let _ = writeln!(body, "mov.u32 {}, {};", registers[length], registers[0]);
        body += "@%p1 bra L;\n";
        // The analysis needs a minimum number of video instructions in a function.
        body += &"vmax.s32.s32.s32 c, a, b;\n".repeat(3);
        body += &ADD.replace("%r5", "%r1");
        let text = function(&body).replace("%r<9>", "%r<100>");
        let alone = function(&ADD.replace("%r5", "%r1"));
        let options = RewriteOptions::default();
        let is_known = sequence(&text, &options) != sequence(&alone, &options);
        assert_eq!(is_known, length < 30, "{length}");
    }
}

/// Sequences are right for all values in the range, in particular at and next to its ends.
#[test]
fn sequences_are_right_within_ranges() {
    let results: [(&str, i64, i64); 5] = [
        ("vmax.s32.s32.s32 %r5, a, 0;", 0, 0x7fff_ffff),
        ("vmin.s32.s32.s32 %r5, a, -1;", -0x8000_0000, -1),
        ("vsub.s32.u32.u32 %r5, a.b0, b.b0;", -255, 255),
        ("vmad.s32.s32.s32 %r5, a.h0, b.b0, 64;", -32768 * 127 + 64, 32768 * 128 + 64),
        ("vmax.u32.u32.u32 %r5, a, 0xfffffff0;", 0xffff_fff0, 0xffff_ffff),
    ];
    let options = RewriteOptions::default();
    let mut others = 0;
    for instruction in [
        ADD,
        SHIFT,
        "vsub.s32.s32.s32.sat d, %r5, b;",
        "vsub.s32.s32.s32.sat d, b, %r5;",
        "vsub.s32.u32.s32.sat d, b, %r5;",
        "vadd.u32.u32.s32.sat.add d, b, %r5, c;",
        "vabsdiff.s32.u32.s32.sat d, %r5, b;",
        "vmin.s32.u32.s32.sat d, b, %r5;",
        "vset.u32.s32.lt d, b, %r5;",
        "vset.s32.s32.ge d, %r5, 1;",
        "vmad.s32.s32.s32.sat d, a.h0, b.b1, %r5;",
        "vmad.u32.u32.u32.sat.shr15 d, a.h0, b.h1, %r5;",
        "vmad.s32.s32.s32.sat.shr7 d, %r5, b.b1, c;",
    ] {
        for (result, least, most) in results {
            let found = sequence(&function(&format!("{result}\n{instruction}")), &options);
            let single = sequence(&function(instruction), &options);
            others += u32::from(found != single);
            let known = [least, least + 1, i64::midpoint(least, most), 0, 1, -1, most - 1, most];
            let known = known.into_iter().filter(|it| (least..=most).contains(it));
            let place = instruction.split(", ").position(|it| it.starts_with("%r5"));
            let place = place.expect("a source") - 1;
            for value in known {
                let word = u32::try_from(value.rem_euclid(1 << 32)).expect("32 bits");
                for (x, y) in EDGES.iter().flat_map(|x| EDGES.map(|y| (*x, y))) {
                    let mut words = [x, y, x ^ y.rotate_left(7)];
                    words[place] = word;
                    let [a, b, c] = words;
                    let message = format!("{result} {instruction} {a:#x} {b:#x} {c:#x}");
                    assert_eq!(found.eval(a, b, c), single.eval(a, b, c), "{message}");
                }
            }
        }
    }
    assert!(others > 20, "{others}");
}

/// A scalar instruction whose sequence depends on the ranges of its sources: it saturates, or it
/// compares.
fn depending(random: &mut Random) -> Instruction {
    let [d, a, b] = [(); 3].map(|()| *random.pick(&[".u32", ".s32"]));
    let head = match random.below(6) {
        0 => format!("vadd{d}{a}{b}.sat"),
        1 => format!("vsub{d}{a}{b}.sat"),
        2 => format!("{}{d}{a}{b}.sat", random.pick(&["vabsdiff", "vmin", "vmax"])),
        _ => format!("vset{a}{b}{}", random.pick(&[".lt", ".le", ".gt", ".ge"])),
    };
    let [a, b] = [(); 2].map(|()| *random.pick(&["", "", ".h0", ".b2"]));
    let end = random.pick(&[" d", ".add d", ".max d", " d.b1", " d.h1"]);
    format!("{head}{end}, a{a}, b{b}, c;").parse().expect("legal")
}

/// A range of signed or unsigned words.
fn range(random: &mut Random) -> Range {
    // Comparisons of parts are exact up to 24 bits.
    const FAR: i128 = 1 << 24;
    const ENDS: [i128; 18] = [
        -65536,
        -129,
        -128,
        -1,
        0,
        0,
        1,
        2,
        127,
        128,
        255,
        1000,
        32768,
        65535,
        FAR - 1,
        FAR,
        FAR,
        1 << 30,
    ];
    let (least, most) = (*random.pick(&ENDS), *random.pick(&ENDS));
    match random.below(4) {
        0 => Range::new(-(1 << 31), most),
        1 => Range::new(least, (1 << 31) - 1),
        2 => Range::new(least.abs(), (1 << 32) - 1),
        _ => Range::new(least.min(most), least.max(most)),
    }
}

/// A word of a range, often at one of its ends.
fn word_of(range: Range, random: &mut Random) -> u32 {
    let number = match random.below(4) {
        0 => range.min,
        1 => range.max,
        2 => range.max.min(range.min + 1),
        _ => range.min + i128::from(random.next()) % (range.max - range.min + 1),
    };
    u32::try_from(number.rem_euclid(1 << 32)).expect("32 bits")
}

/// Every strategy is right for sources in any ranges, also if neighbours share limits.
#[test]
fn strategies_are_right_within_ranges() {
    let mut random = Random(31);
    let all: Vec<Strategy> =
        Strategy::all().filter(|it| it.to_string().starts_with("words")).collect();
    let strategies: Vec<Strategy> = all.iter().flat_map(|it| [*it, it.sharing(false)]).collect();
    for _ in 0..samples(12_000) {
        let instruction = depending(&mut random);
        let (strategy, semantics) = (*random.pick(&strategies), *random.pick(&Semantics::ALL));
        let ranges = [(); 3].map(|()| range(&mut random));
        let known = ranges.map(|range| if random.one_in(4) { None } else { Some(range) });
        let found = strategy.sequence_within(&instruction, known, semantics, Gate::ANY);
        let Some(found) = found else { continue };
        let program = instruction.lower(semantics);
        for _ in 0..30 {
            let [a, b, c] = [0, 1, 2].map(|at| match known[at] {
                Some(range) => word_of(range, &mut random),
                None => *random.pick(&EDGES),
            });
            let message = format!("{instruction} {semantics} {strategy} {known:?}");
            assert_eq!(
                found.eval(a, b, c),
                program.eval(a, b, c),
                "{message} {a:#x} {b:#x} {c:#x}"
            );
        }
    }
}
