//! Scalar instructions that fill a word part by part, rewritten as one SIMD instruction.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;

use crate::support::forms::{BYTES, HALVES, Random, adding_head, adding_parts, merging_head};
use crate::support::{EDGES, fixture_text};
use vptx::backend::ptx::{Fusion, Outcome, RewriteOptions, Rewritten, rewrite};
use vptx::diagnostic::Severity;
use vptx::isa::Target;
use vptx::video::Semantics;
use vptx::{Instruction, parse};

/// A kernel with registers `r0` to `r9` that only a range declares, `a`, `b`, `c`, `d` and a
/// predicate.
fn kernel(body: &str) -> String {
    format!(
        ".version 8.8\n.target sm_90\n.entry k()\n{{\n.reg .b32 r<10>;\n.reg .b32 a, b, c, d;\n\
         .reg .pred p;\n{body}\n}}\n"
    )
}

/// The SIMD instructions of a result, each with the number of its members.
fn fusions<'r>(rewritten: &'r Rewritten<'_>) -> Vec<&'r Fusion> {
    let fusion = |outcome: &'r Outcome| match outcome {
        Outcome::Fused(fusion) => Some(&**fusion),
        _ => None,
    };
    rewritten.changes.iter().filter_map(|change| fusion(&change.outcome)).collect()
}

fn found(text: &str) -> Vec<String> {
    let (module, findings) = parse(text);
    assert!(findings.iter().all(|it| it.severity < vptx::diagnostic::Severity::Error), "{text}");
    let rewritten = rewrite(&module, &RewriteOptions::default()).expect("a target");
    fusions(&rewritten).iter().map(|it| format!("{} × {}", it.members, code(it))).collect()
}

/// The SIMD instruction of a result, or else its statements.
fn code(fusion: &Fusion) -> String {
    let opcodes = fusion.sequence.lines().iter().map(|line| line.opcode.to_string());
    match &fusion.instruction {
        Some(instruction) => instruction.to_string(),
        None => opcodes.collect::<Vec<_>>().join(" "),
    }
}

const ADD: &str = "vadd.u32.u32.u32.sat";

/// Four instructions that fill a register, with some text between the second and the third.
fn four(between: &str) -> String {
    kernel(&format!(
        "{ADD} d.b0, a.b0, b.b0, c;\n{ADD} d.b1, a.b1, b.b1, d;\n{between}\n\
         {ADD} d.b2, a.b2, b.b2, d;\n{ADD} d.b3, a.b3, b.b3, d;"
    ))
}

#[test]
fn words_are_filled() {
    let whole = "4 × vadd4.u32.u32.u32.sat d, a, b, c;";
    for between in ["", "/* ; */", "// end inline asm\n\t// begin inline asm"] {
        assert_eq!(found(&four(between)), [whole]);
    }
    let cases = [
        // Another register each time, that nothing else names.
        (
            "vadd.u32.u32.u32.sat r1.b3, a.b0, b.b3, c;\nvadd.u32.u32.u32.sat r2.b0, a.b1, b.b2, r1;\n\
             vadd.u32.u32.u32.sat a.b1, a.b2, b.b1, r2;",
            "3 × vadd4.u32.u32.u32.sat a.b310, a.b0221, b.b7656, c;",
        ),
        // Halves, with the sign of one operand.
        (
            "vmin.s32.s32.u32 d.h1, a.h0, b.h0, c;\nvmin.s32.s32.u32 d.h0, a.h1, b.h0, d;",
            "2 × vmin2.s32.s32.u32 d, a.h01, b.h22, c;",
        ),
        (
            "vset.u32.u32.ge d.h1, a.h1, b.h1, a;\nvset.u32.u32.ge d.h0, a.h0, b.h0, d;",
            "2 × vset2.u32.u32.ge d, a, b, a;",
        ),
        // The word that is filled is overwritten by the last one, after another register.
        (
            "vadd.u32.u32.u32.sat d.b0, a.b0, b.b0, c;\nvadd.u32.u32.u32.sat r1.b1, a.b1, b.b1, d;\n\
             vadd.u32.u32.u32.sat d.b2, a.b2, b.b2, r1;",
            "3 × vadd4.u32.u32.u32.sat d.b210, a, b, c;",
        ),
    ];
    for (body, expected) in cases {
        assert_eq!(found(&kernel(body)), [expected], "{body}");
    }
}

#[test]
fn sums_are_fused() {
    let cases = [
        (
            "vabsdiff.u32.u32.u32.add d, a.b0, b.b0, c;\nvabsdiff.u32.u32.u32.add d, a.b1, b.b1, d;\n\
             vabsdiff.u32.u32.u32.add d, a.b2, b.b2, d;\nvabsdiff.u32.u32.u32.add d, a.b3, b.b3, d;",
            "4 × vabsdiff4.u32.u32.u32.add d, a, b, c;",
        ),
        // The order does not matter. Each result has the lane of a part of `a` if it is free, else
        // of `b`.
        (
            "vset.u32.u32.lt.add r1, a.b3, b.b0, c;\nvset.u32.u32.lt.add r2, a.b3, b.b2, r1;\n\
             vset.u32.u32.lt.add d, a.b0, b.b1, r2;",
            "3 × vset4.u32.u32.lt.add d.b320, a.b3310, b.b4655, c;",
        ),
        // The first factor stays in its place.
        (
            "vmad.u32.u32.u32 d, a.b0, b.b3, c;\nvmad.u32.u32.u32 d, a.b1, b.b2, d;\n\
             vmad.u32.u32.u32 d, a.b2, b.b1, d;\nvmad.u32.u32.u32 d, a.b3, b.b0, d;",
            "4 × prmt.b32 dp4a.u32.u32",
        ),
        (
            "vmad.s32.s32.u32 d, a.b0, b.b0, c;\nvmad.s32.s32.u32 d, a.b2, b.b2, d;",
            "2 × and.b32 dp4a.s32.u32",
        ),
        (
            "vmad.s32.u32.s32 d, a.b2, b.h0, c;\nvmad.s32.u32.s32 d, a.b3, b.h1, d;",
            "2 × dp2a.hi.s32.u32",
        ),
    ];
    for (body, expected) in cases {
        assert_eq!(found(&kernel(body)), [expected], "{body}");
    }
    let none: [String; 0] = [];
    for body in [
        // Saturation and scale see the sum on the way, and negation has no dot product.
        "vmad.u32.u32.u32.sat d, a.b0, b.b0, c;\nvmad.u32.u32.u32.sat d, a.b1, b.b1, d;",
        "vmad.u32.u32.u32.shr7 d, a.b0, b.b0, c;\nvmad.u32.u32.u32.shr7 d, a.b1, b.b1, d;",
        "vmad.u32.u32.u32 d, -a.b0, b.b0, c;\nvmad.u32.u32.u32 d, -a.b1, b.b1, d;",
        // A minimum of 32 bits is no sum.
        "vabsdiff.u32.u32.u32.min d, a.b0, b.b0, c;\nvabsdiff.u32.u32.u32.min d, a.b1, b.b1, d;",
        // The second one reads what the first one writes.
        "vabsdiff.u32.u32.u32.add a, a.b0, b.b0, c;\nvabsdiff.u32.u32.u32.add a, a.b1, b.b1, a;",
        // ptxas computes equal summands once.
        "vabsdiff.u32.u32.u32.add d, a.b0, b.b0, c;\nvabsdiff.u32.u32.u32.add d, a.b0, b.b0, d;",
        // Halves times halves do not fit.
        "vmad.u32.u32.u32 d, a.h0, b.h0, c;\nvmad.u32.u32.u32 d, a.h1, b.h1, d;",
    ] {
        assert_eq!(found(&kernel(body)), none, "{body}");
    }
}

#[test]
fn chains_end() {
    let none: [String; 0] = [];
    // Each half has another meaning or another place.
    for between in ["L: ", "mov.b32 r1, d;", "@p bra M; M:", "{ }", ".loc 1 2 3\n", "bar.sync 0;"] {
        let halves = found(&four(between));
        assert!(halves.iter().all(|it| it.starts_with("2 × ")), "{between}: {halves:?}");
    }
    let pair = |first: &str, second: &str| kernel(&format!("{first}\n{second}"));
    let first = "vadd.u32.u32.u32.sat d.h0, a.h0, b.h0, c;";
    assert_eq!(found(&pair(first, "vadd.u32.u32.u32.sat d.h1, a.h1, b.h1, d;")).len(), 1);
    for second in [
        // A guard, another mnemonic, other modifiers, other types.
        "@p vadd.u32.u32.u32.sat d.h1, a.h1, b.h1, d;",
        "vsub.u32.u32.u32.sat d.h1, a.h1, b.h1, d;",
        "vadd.u32.u32.u32 d.h1, a.h1, b.h1, d;",
        "vadd.s32.u32.u32.sat d.h1, a.h1, b.h1, d;",
        "vadd.u32.s32.u32.sat d.h1, a.h1, b.h1, d;",
        "vadd.u32.u32.s32.sat d.h1, a.h1, b.h1, d;",
        // The same part again, parts of another width, no part, a constant.
        "vadd.u32.u32.u32.sat d.h0, a.h1, b.h1, d;",
        "vadd.u32.u32.u32.sat d.b2, a.b1, b.b1, d;",
        "vadd.u32.u32.u32.sat d.h1, a.b1, b.h1, d;",
        "vadd.u32.u32.u32.sat d.h1, a.h1, b, d;",
        "vadd.u32.u32.u32.sat d.h1, a.h1, 7, d;",
        "vadd.u32.u32.u32.sat d.h1, a.h1, b.h1, 7;",
        // Other registers, another word to fill.
        "vadd.u32.u32.u32.sat d.h1, b.h1, a.h1, d;",
        "vadd.u32.u32.u32.sat d.h1, a.h1, c.h1, d;",
        "vadd.u32.u32.u32.sat d.h1, a.h1, b.h1, c;",
        "vadd.u32.u32.u32.sat r1.h1, a.h1, b.h1, d;",
        // The same parts, whose result ptxas computes once.
        "vadd.u32.u32.u32.sat d.h1, a.h0, b.h0, d;",
        // A second operation, a whole word.
        "vadd.u32.u32.u32.sat.add d, a.h1, b.h1, d;",
        "vadd.u32.u32.u32.sat d, a.h1, b.h1;",
    ] {
        assert_eq!(found(&pair(first, second)), none, "{second}");
    }
    for first in [
        "@p vadd.u32.u32.u32.sat d.h0, a.h0, b.h0, c;",
        "vadd.u32.u32.u32.sat d.h0, a.h0, b.h0, 7;",
        "vadd.u32.u32.u32.sat d.h0, a.h0, 7, c;",
    ] {
        let second = "vadd.u32.u32.u32.sat d.h1, a.h1, b.h1, d;";
        assert_eq!(found(&pair(first, second)), none, "{first}");
    }
    // The second reads what the first writes, under one name or another.
    for [d, a] in [["a", "a"], ["r1", "r1"], ["r1", "r01"]] {
        let first = format!("{ADD} {d}.h0, {a}.h0, b.h0, c;");
        assert_eq!(found(&pair(&first, &format!("{ADD} {d}.h1, {a}.h1, b.h1, {d};"))), none);
        let first = format!("{ADD} {d}.h0, b.h0, {a}.h0, c;");
        assert_eq!(found(&pair(&first, &format!("{ADD} {d}.h1, b.h1, {a}.h1, {d};"))), none);
    }
}

/// The word on the way is read elsewhere, or may be.
#[test]
fn words_that_live_on() {
    let (first, second) =
        (format!("{ADD} r1.h0, a.h0, b.h0, c;"), format!("{ADD} r2.h1, a.h1, b.h1, r1;"));
    let both = format!("{first}\n{second}");
    assert_eq!(found(&kernel(&both)).len(), 1);
    let none: [String; 0] = [];
    for body in [
        format!("{both}\nst.global.b32 [r3], r1;"),
        format!("{both}\nst.global.b32 [r3], r01;"),
        format!("L: mov.b32 c, r1;\n{both}\n@p bra L;"),
        format!("{both}\n{{ .reg .b32 r1; mov.b32 r1, a; }}"),
        format!("{ADD} r1.h0, a.h0, b.h0, r1;\n{second}"),
    ] {
        assert_eq!(found(&kernel(&body)), none, "{body}");
    }
    // Registers that no range in the function declares, and those of the function's head.
    let text = kernel(&both);
    for (old, new) in [
        (".reg .b32 r<10>;", ".reg .b32 r1, r2;"),
        (".entry k()\n{\n.reg .b32 r<10>;", ".func (.reg .b32 r1) k(.reg .b32 r2)\n{\n"),
        (".entry k()", ".func (.reg .b32 r1) k()"),
    ] {
        let text = text.replace(old, new);
        assert_eq!(found(&text), none, "{text}");
    }
    let param = text.replace(".entry k()", ".func (.param .b32 r) k(.param .b32 s)");
    assert_eq!(found(&param).len(), 1, "{param}");
    // Each function has registers of its own.
    let two =
        format!("{text}{}", text.replace(".version 8.8\n.target sm_90\n.entry k", ".entry l"));
    assert_eq!(found(&two).len(), 2);
}

/// The values of registers after some instructions, one after the other.
fn run(statements: &[&Instruction], semantics: Semantics, words: &mut HashMap<String, u32>) {
    for statement in statements {
        let [a, b, c] = statement.sources().map(|it| it.map_or(0, |it| words[it.name()]));
        let result = statement.lower(semantics).eval(a, b, c);
        words.insert(statement.destination().name().to_owned(), result);
    }
}

/// A chain that fills a word, on some of its registers.
fn filling(random: &mut Random) -> String {
    let head = merging_head(random);
    let parts = *random.pick(&[&BYTES[..], &HALVES[..]]);
    let (a, b) = *random.pick(&[("a", "b"), ("a", "b"), ("b", "a"), ("a", "a"), ("r2", "c")]);
    let mut c = *random.pick(&["a", "b", "c", "d", "r3"]);
    let (mut order, d) = (parts.to_vec(), *random.pick(&["d", "d", "e", "r3"]));
    for _ in 0..4 {
        let (one, other) = (random.below(parts.len()), random.below(parts.len()));
        order.swap(one, other);
    }
    let last = *random.pick(&[d, d, "a"]);
    let count = 2 + random.below(parts.len() - 1);
    let mut text = String::new();
    for (at, to) in order[..count].iter().enumerate() {
        let d = if at + 1 == count { last } else { d };
        let (from_a, from_b) = (random.pick(parts), random.pick(parts));
        let _ = writeln!(text, "{head} {d}{to}, {a}{from_a}, {b}{from_b}, {c};");
        c = d;
    }
    text
}

/// A chain that adds to a sum, on some of its registers.
fn adding(random: &mut Random) -> String {
    let head = adding_head(random);
    let [parts_a, parts_b] = adding_parts(&head, random);
    let (a, b) = *random.pick(&[("a", "b"), ("a", "b"), ("b", "a"), ("a", "a"), ("r2", "c")]);
    let (mut c, d) = (*random.pick(&["a", "b", "c", "d"]), *random.pick(&["d", "d", "e"]));
    let is_plain = random.one_in(2);
    let mut text = String::new();
    for at in 0..2 + random.below(4) {
        let at = |parts: &[&str], random: &mut Random| match is_plain {
            true => parts[at % parts.len()].to_owned(),
            false => (*random.pick(parts)).to_owned(),
        };
        let (from_a, from_b) = (at(parts_a, random), at(parts_b, random));
        let _ = writeln!(text, "{head} {d}, {a}{from_a}, {b}{from_b}, {c};");
        c = d;
    }
    text
}

/// Rewrites random chains, and compares what the new code computes with what the members do, one
/// after the other. Gives the number of chains and the names of their instructions.
fn compare(seed: u64, count: u32, chain: fn(&mut Random) -> String) -> (u32, HashSet<String>) {
    const TARGETS: [u16; 5] = [75, 80, 90, 100, 120];
    let mut random = Random(seed);
    let (mut chains, mut cases) = (0, 0);
    let mut names = HashSet::new();
    while cases < count {
        let mut body = String::new();
        for _ in 0..20 {
            body += &chain(&mut random);
            body += "mov.b32 f, d;\n";
        }
        let text = kernel(&body).replace("c, d;", "c, d, e, f;");
        let (module, findings) = parse(&text);
        assert!(findings.iter().all(|it| it.severity < Severity::Error), "{text}");
        let semantics = *random.pick(&Semantics::ALL);
        let options = RewriteOptions::default()
            .with_semantics(semantics)
            .with_all(random.one_in(4))
            .with_target(Some(Target::sm(*random.pick(&TARGETS))));
        let rewritten = rewrite(&module, &options).expect("a target");
        // What stays beside other instructions may be fused when these are rewritten.
        let again = |text: &str| rewrite(&parse(text).0, &options).expect("a target").text();
        let second = again(&rewritten.text());
        assert!(again(&second) == second, "{second}");
        for (at, change) in rewritten.changes.iter().enumerate() {
            let Outcome::Fused(fusion) = &change.outcome else { continue };
            chains += 1;
            let whole = fusion.instruction.as_ref();
            names.insert(whole.map_or("products", |it| it.mnemonic().text()).to_owned());
            let members = &rewritten.changes[at + 1 - fusion.members..=at];
            let members: Vec<&Instruction> = members.iter().map(|it| it.instruction).collect();
            for _ in 0..8 {
                let mut word = || {
                    if random.one_in(2) { random.next() as u32 } else { *random.pick(&EDGES) }
                };
                let mut words: HashMap<String, u32> =
                    ["a", "b", "c", "d", "e", "r2", "r3"].map(|it| (it.into(), word())).into();
                let [a, b, c] = fusion.sources.each_ref().map(|it| words[it.name()]);
                if let Some(whole) = whole {
                    assert_eq!(whole.sources(), fusion.sources.each_ref().map(Some));
                }
                run(&members, semantics, &mut words);
                let result = fusion.sequence.eval(a, b, c);
                assert_eq!(result, words[fusion.d.name()], "{members:?} {semantics}");
                cases += 1;
            }
        }
    }
    (chains, names)
}

#[test]
fn sequences_compute_what_chains_compute() {
    let (chains, names) = compare(11, 60_000, filling);
    println!("{chains} chains");
    assert_eq!(names.len(), 12, "{names:?}");
}

#[test]
fn sequences_compute_what_sums_compute() {
    let (chains, names) = compare(12, 60_000, adding);
    println!("{chains} sums");
    // Of bytes and of halves, and products.
    assert_eq!(names.len(), 13, "{names:?}");
}

/// ptxas does not saturate negative results of a part as the manual does (C3), and its old
/// versions fill `.h1` from above (C1). The SIMD instructions have neither.
#[test]
fn deviations_are_no_simd_instructions() {
    let of = |text: &str, semantics: Semantics| {
        let text = kernel(text);
        let (module, _) = parse(&text);
        let options = RewriteOptions::default().with_semantics(semantics);
        fusions(&rewrite(&module, &options).expect("a target")).len()
    };
    let sub = "vsub.u32.u32.u32.sat d.b0, a.b0, b.b0, c;\nvsub.u32.u32.u32.sat d.b1, a.b1, b.b1, d;\n\
               vsub.u32.u32.u32.sat d.b2, a.b2, b.b2, d;\nvsub.u32.u32.u32.sat d.b3, a.b3, b.b3, d;";
    assert_eq!(of(sub, Semantics::Ptxas13), 0);
    assert_eq!(of(sub, Semantics::Ptxas12), 0);
    let set = "vset.u32.u32.lt d.h0, a.h0, b.h0, c;\nvset.u32.u32.lt d.h1, a.h1, b.h1, d;";
    let fused = Semantics::ALL.map(|semantics| of(set, semantics));
    let expected = Semantics::ALL.map(|semantics| usize::from(semantics != Semantics::Ptxas12));
    assert_eq!(fused, expected);
}

/// In files, where nvcc wrote a register for each step, and where one is filled.
#[test]
fn files() {
    let nvcc = fixture_text("regions/nvcc.sm_90.ptx");
    assert_eq!(
        found(&nvcc),
        [
            "3 × vabsdiff4.u32.u32.u32 %r9.b321, %r2.b0120, %r3.b4444, %r4;",
            "4 × vadd4.u32.u32.u32.sat %r18, %r7, %r8, %r22;",
            "2 × vset2.u32.u32.lt %r22, %r7, %r8, %r22;",
        ]
    );
    let hand = fixture_text("regions/hand.ptx");
    assert_eq!(
        found(&hand),
        [
            "4 × vsub4.u32.u32.u32 %r3, %r1, %r2, %r3;",
            "4 × vset4.u32.u32.ge %r4, %r1, %r2, %r4;",
            "2 × vmax2.s32.s32.s32 %r4, %r1.h01, %r3, %r4;",
        ]
    );
    for text in [nvcc, hand] {
        let (module, _) = parse(&text);
        let regions = RewriteOptions::default();
        let single = RewriteOptions::default().with_regions(false);
        let [together, apart] =
            [&regions, &single].map(|options| rewrite(&module, options).expect("a target"));
        assert!(fusions(&apart).is_empty());
        let sum = |rewritten: &Rewritten<'_>| -> (u32, u32) {
            let costs = rewritten.changes.iter().map(|it| it.cost.expect("it was measured"));
            costs.fold((0, 0), |(x, y), it| (x + it.ptxas, y + it.rewritten))
        };
        let (before, after) = sum(&together);
        assert_eq!(before, sum(&apart).0);
        assert!(after < sum(&apart).1);
        let new = together.text();
        let (again, findings) = parse(&new);
        assert!(findings.is_empty(), "{findings:?}");
        assert_eq!(rewrite(&again, &regions).expect("a target").text(), new);
        // Each line of each file stays one.
        assert_eq!(together.changes.len(), module.instructions().count());
        assert!(together.edits().len() <= together.changes.len());
    }
}

/// Every comment and every original is in the new text.
#[test]
fn nothing_is_lost() {
    let text = kernel(&format!(
        "\t{ADD} /* one */ d.b0, a.b0, b.b0, c;\n\t{ADD} d.b1, // two\n\t a.b1, b.b1, d;\n\
         \t{ADD} d.b2, a.b2, b.b2, d; // three\n\t{ADD} d.b3, a.b3, b.b3, d /* four */;\n"
    ));
    let (module, _) = parse(&text);
    let plain = rewrite(&module, &RewriteOptions::default()).expect("a target");
    let expected = "\t/* one */ \n\t// two\n\t\n\t // three\n\t/* four */ {\n\t\t.reg";
    assert!(plain.text().contains(expected), "{}", plain.text());
    let options = RewriteOptions::default().with_comments(true);
    let with = rewrite(&module, &options).expect("a target").text();
    for change in &plain.changes {
        assert!(change.outcome.is_rewritten());
        assert!(with.contains(&format!("/* {} */", change.instruction)), "{with}");
    }
}
