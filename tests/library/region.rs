//! Scalar instructions that fill a word part by part are rewritten as one SIMD instruction.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;

use crate::support::forms::{BYTES, HALVES, adding_head, adding_parts, lane_steps, merging_head};
use crate::support::random::Random;
use crate::support::{EDGES, fixture_text, rules_on_statements, samples};
use vptx::analysis::{check, fix};
use vptx::backend::ptx::{Fusion, Outcome, RewriteOptions, Rewritten, rewrite};
use vptx::check::{CheckOptions, Language};
use vptx::diagnostic::{Applicability, Code, Diagnostic, RuleSet, Severity};
use vptx::isa::Target;
use vptx::video::Semantics;
use vptx::{Instruction, parse};

/// A kernel with a range of registers `r0` to `r9`, the registers `a`, `b`, `c` and `d`, and a
/// predicate.
fn kernel(body: &str) -> String {
    format!(
        ".version 8.8\n.target sm_90\n.entry k()\n{{\n.reg .b32 r<10>;\n.reg .b32 a, b, c, d;\n\
         .reg .pred p;\n{body}\n}}\n"
    )
}

/// A debug section that names a label.
pub(crate) const DEBUG: &str = ".section .debug_info\n{\n.b64 L\n}\n";

/// The fused chains of a result.
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

/// The SIMD instruction of a fused chain or, without one, its opcodes.
fn code(fusion: &Fusion) -> String {
    let opcodes = fusion.sequence.lines().iter().map(|line| line.opcode.to_string());
    match &fusion.instruction {
        Some(instruction) => instruction.to_string(),
        None => opcodes.collect::<Vec<_>>().join(" "),
    }
}

const ADD: &str = "vadd.u32.u32.u32.sat";

/// Four instructions that fill a register, with `between` after the second one.
fn four(between: &str) -> String {
    kernel(&format!(
        "{ADD} d.b0, a.b0, b.b0, c;\n{ADD} d.b1, a.b1, b.b1, d;\n{between}\n\
         {ADD} d.b2, a.b2, b.b2, d;\n{ADD} d.b3, a.b3, b.b3, d;"
    ))
}

#[test]
fn words_are_filled() {
    let whole = "4 × vadd4.u32.u32.u32.sat d, a, b, c;";
    for between in ["", "/* ; */", "// end inline asm\n\t// begin inline asm", ".loc 1 2 3\n"] {
        assert_eq!(found(&four(between)), [whole]);
    }
    for labels in ["L:", "L: .loc 1 2 3\nM: N:"] {
        assert_eq!(found(&(four(labels) + DEBUG)), [whole]);
    }
    let cases = [
        // Each instruction writes another register, which nothing else uses.
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
        // The last instruction overwrites the register with which the chain starts, after another
        // register was used.
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

/// Two members may have a copy between them, as compilers write it before an `asm` that changes its
/// operand.
#[test]
fn copies_stand_between() {
    let chain = |copy: &str, c: &str| {
        found(&kernel(&format!(
            "{ADD} r1.b0, a.b0, b.b0, c;\n{copy}\n{ADD} r2.b1, a.b1, b.b1, {c};\n\
             {ADD} d.b2, a.b2, b.b2, r2;\nst.global.u32 [a], d;"
        )))
    };
    let three = "3 × vadd4.u32.u32.u32.sat d.b210, a, b, c;";
    for copy in [
        "mov.b32 r3, r1;",
        "mov.u32 r3, r1; // c",
        "mov.s32 r3,\nr1;",
        ".loc 1 2 3\nmov.b32 r3, r1;",
    ] {
        assert_eq!(chain(copy, "r3"), [three], "{copy}");
    }
    for (copy, c) in [
        // The copy overwrites a register that the fused code reads, or the next member continues
        // with another word.
        ("mov.b32 c, r1;", "c"),
        ("mov.b32 a, r1;", "a"),
        ("mov.b32 r3, r4;", "r3"),
        ("mov.b32 r3, r1;", "r1"),
        ("@p mov.b32 r3, r1;", "r3"),
        ("mov.b64 r3, r1;", "r3"),
        ("mov.b32 r3, -r1;", "r3"),
        ("add.u32 r3, r1, 0;", "r3"),
        ("mov.b32 r3, r1; mov.b32 r4, r3;", "r4"),
        ("mov.b32 r3, r1; L:", "r3"),
        ("mov.b32 r3, r1; add.u32 r5, r3, 1;", "r3"),
    ] {
        let found = chain(copy, c);
        assert!(!found.contains(&three.to_string()), "{copy} {found:?}");
    }
    // A later statement reads the word or the copy.
    for word in ["r1", "r3"] {
        let body = format!(
            "{ADD} r1.b0, a.b0, b.b0, c;\nmov.b32 r3, r1;\n{ADD} d.b1, a.b1, b.b1, r3;\n\
             st.global.u32 [a], d;\nst.global.u32 [a], {word};"
        );
        assert_eq!(found(&kernel(&body)), [""; 0], "{word}");
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
        // The first factor keeps its order, so the second is permuted.
        (
            "vmad.u32.u32.u32 d, a.b0, b.b3, c;\nvmad.u32.u32.u32 d, a.b1, b.b2, d;\n\
             vmad.u32.u32.u32 d, a.b2, b.b1, d;\nvmad.u32.u32.u32 d, a.b3, b.b0, d;",
            "4 × prmt.b32 dp4a.u32.u32",
        ),
        (
            "vmad.s32.s32.u32 d, a.b0, b.b0, c;\nvmad.s32.s32.u32 d, a.b2, b.b2, d;\n\
             vmad.s32.s32.u32 d, a.b3, b.b3, d;",
            "3 × and.b32 dp4a.s32.u32",
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
        // Saturation and scale apply to each partial sum, and dot products do not negate.
        "vmad.u32.u32.u32.sat d, a.b0, b.b0, c;\nvmad.u32.u32.u32.sat d, a.b1, b.b1, d;",
        "vmad.u32.u32.u32.shr7 d, a.b0, b.b0, c;\nvmad.u32.u32.u32.shr7 d, a.b1, b.b1, d;",
        "vmad.u32.u32.u32 d, -a.b0, b.b0, c;\nvmad.u32.u32.u32 d, -a.b1, b.b1, d;",
        // A minimum of 32 bits is not a sum.
        "vabsdiff.u32.u32.u32.min d, a.b0, b.b0, c;\nvabsdiff.u32.u32.u32.min d, a.b1, b.b1, d;",
        // The second instruction reads a source that the first one writes.
        "vabsdiff.u32.u32.u32.add a, a.b0, b.b0, c;\nvabsdiff.u32.u32.u32.add a, a.b1, b.b1, a;",
        // ptxas computes equal summands only once.
        "vabsdiff.u32.u32.u32.add d, a.b0, b.b0, c;\nvabsdiff.u32.u32.u32.add d, a.b0, b.b0, d;",
        // No dot product multiplies halves by halves.
        "vmad.u32.u32.u32 d, a.h0, b.h0, c;\nvmad.u32.u32.u32 d, a.h1, b.h1, d;",
    ] {
        assert_eq!(found(&kernel(body)), none, "{body}");
    }
}

#[test]
fn chains_end() {
    let none: [String; 0] = [];
    // The statement in between splits the chain into two halves.
    let ended = ["mov.b32 r1, d;", "@p bra M; M:", "{ }", "bar.sync 0;"].map(four);
    // A branch leads there, perhaps by an unknown table.
    let entered = ["@p bra L;", "@p bra.uni L;", "ts: .branchtargets L; brx.idx r1, ts;"]
        .map(|end| four("L:").replace("\n}\n", &format!("\n{end}\n}}\n{DEBUG}")));
    for text in ended.iter().chain(&entered) {
        let halves = found(text);
        assert!(halves.iter().all(|it| it.starts_with("2 × ")), "{text}: {halves:?}");
    }
    let pair = |first: &str, second: &str| kernel(&format!("{first}\n{second}"));
    let first = "vadd.u32.u32.u32.sat d.h0, a.h0, b.h0, c;";
    assert_eq!(found(&pair(first, "vadd.u32.u32.u32.sat d.h1, a.h1, b.h1, d;")).len(), 1);
    for second in [
        // The guard, the mnemonic, the modifiers or the types differ.
        "@p vadd.u32.u32.u32.sat d.h1, a.h1, b.h1, d;",
        "vsub.u32.u32.u32.sat d.h1, a.h1, b.h1, d;",
        "vadd.u32.u32.u32 d.h1, a.h1, b.h1, d;",
        "vadd.s32.u32.u32.sat d.h1, a.h1, b.h1, d;",
        "vadd.u32.s32.u32.sat d.h1, a.h1, b.h1, d;",
        "vadd.u32.u32.s32.sat d.h1, a.h1, b.h1, d;",
        // The same part again, parts of different widths, a whole word, a constant.
        "vadd.u32.u32.u32.sat d.h0, a.h1, b.h1, d;",
        "vadd.u32.u32.u32.sat d.b2, a.b1, b.b1, d;",
        "vadd.u32.u32.u32.sat d.h1, a.b1, b.h1, d;",
        "vadd.u32.u32.u32.sat d.h1, a.h1, b, d;",
        "vadd.u32.u32.u32.sat d.h1, a.h1, 7, d;",
        "vadd.u32.u32.u32.sat d.h1, a.h1, b.h1, 7;",
        // The sources differ, or the instruction fills another word.
        "vadd.u32.u32.u32.sat d.h1, b.h1, a.h1, d;",
        "vadd.u32.u32.u32.sat d.h1, a.h1, c.h1, d;",
        "vadd.u32.u32.u32.sat d.h1, a.h1, b.h1, c;",
        // Both read the same parts; ptxas computes equal results only once.
        "vadd.u32.u32.u32.sat d.h1, a.h0, b.h0, d;",
        // A secondary operation, or a result that is a whole word.
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
    // The second instruction reads a source that the first one writes, perhaps by another spelling.
    for [d, a] in [["a", "a"], ["r1", "r1"], ["r1", "r01"]] {
        let first = format!("{ADD} {d}.h0, {a}.h0, b.h0, c;");
        assert_eq!(found(&pair(&first, &format!("{ADD} {d}.h1, {a}.h1, b.h1, {d};"))), none);
        let first = format!("{ADD} {d}.h0, b.h0, {a}.h0, c;");
        assert_eq!(found(&pair(&first, &format!("{ADD} {d}.h1, b.h1, {a}.h1, {d};"))), none);
    }
}

/// Another statement reads or may read the intermediate word.
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
        format!("{both}\n@p mov.b32 r1, c; mov.b32 c, r1;"),
        format!("{both}\n@p bra M; mov.b32 c, r1; M:"),
    ] {
        assert_eq!(found(&kernel(&body)), none, "{body}");
    }
    // The intermediate word is overwritten before it is read, or another register of the same name
    // is read.
    for body in [
        format!("{both}\nmov.b32 r1, c; st.global.b32 [r3], r1;"),
        format!("{both}\n{both}"),
        format!("{ADD} r1.h0, a.h0, b.h0, r1;\n{second}"),
        format!("{both}\n{{ .reg .b32 r1; mov.b32 r1, a; st.global.b32 [r3], r1; }}"),
    ] {
        assert!(!found(&kernel(&body)).is_empty(), "{body}");
    }
    let text = kernel(&both);
    assert_eq!(found(&text.replace(".reg .b32 r<10>;", ".reg .b32 r1, r2;")).len(), 1);
    // The intermediate word is the function's result, which the caller reads.
    for (old, new) in [
        (".entry k()\n{\n.reg .b32 r<10>;", ".func (.reg .b32 r1) k(.reg .b32 r2)\n{\n"),
        (".entry k()\n{\n.reg .b32 r<10>;", ".func (.reg .b32 r1) k()\n{\n.reg .b32 r2;"),
    ] {
        let text = text.replace(old, new);
        assert_eq!(found(&text), none, "{text}");
    }
    let early = format!("{first}\n{second}\n@p ret; mov.b32 r1, r2;");
    for (head, count) in [(".entry k()", 1), (".func (.reg .b32 r1) k()", 0)] {
        let text = kernel(&early).replace(".entry k()", head);
        let text = if count == 0 { text.replace("r<10>", "r2") } else { text };
        assert_eq!(found(&text).len(), count, "{text}");
    }
    let param = text.replace(".entry k()", ".func (.param .b32 r) k(.param .b32 s)");
    assert_eq!(found(&param).len(), 1, "{param}");
    // Registers of different functions are different.
    let two =
        format!("{text}{}", text.replace(".version 8.8\n.target sm_90\n.entry k", ".entry l"));
    assert_eq!(found(&two).len(), 2);
}

/// Runs some instructions in order and updates the values of registers.
fn run(statements: &[&Instruction], semantics: Semantics, words: &mut HashMap<String, u32>) {
    for statement in statements {
        let [a, b, c] = statement.sources().map(|it| it.map_or(0, |it| words[it.name()]));
        let result = statement.lower(semantics).eval(a, b, c);
        words.insert(statement.destination().name().to_owned(), result);
    }
}

/// A random chain that fills a word.
pub(crate) fn filling(random: &mut Random) -> String {
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

/// A random chain that adds to a sum.
pub(crate) fn adding(random: &mut Random) -> String {
    let head = adding_head(random);
    let [parts_a, parts_b] = adding_parts(&head, random);
    let (a, b) = *random.pick(&[("a", "b"), ("a", "b"), ("b", "a"), ("a", "a"), ("r2", "c")]);
    let (mut c, d) = (*random.pick(&["a", "b", "c", "d"]), *random.pick(&["d", "d", "e"]));
    let is_plain = random.one_in(2);
    let mut text = String::new();
    for at in 0..2 + random.below(4) {
        let at = |parts: &[&str], random: &mut Random| {
            if is_plain { parts[at % parts.len()].to_owned() } else { (*random.pick(parts)).into() }
        };
        let (from_a, from_b) = (at(parts_a, random), at(parts_b, random));
        let _ = writeln!(text, "{head} {d}, {a}{from_a}, {b}{from_b}, {c};");
        c = d;
    }
    text
}

/// Rewrites random chains, and compares the results of the new code with the results of the members
/// in order. Returns the number of chains and the names of their instructions.
fn compare(seed: u64, count: u64, chain: fn(&mut Random) -> String) -> (u32, HashSet<String>) {
    let mut random = Random(seed);
    let (mut chains, mut cases) = (0, 0);
    let mut names = HashSet::new();
    while cases < count {
        let mut body = String::new();
        for _ in 0..20 {
            body += &chain(&mut random);
            body += "mov.b32 f, d;\n";
        }
        let text =
            kernel(&body).replace("c, d;", "c, d, e, f;").replace(".version 8.8", ".version 9.2");
        let text = text.replace("sm_90", &random.pick(Target::measured()).to_string());
        let (module, findings) = parse(&text);
        assert!(findings.iter().all(|it| it.severity < Severity::Error), "{text}");
        let semantics = *random.pick(&Semantics::ALL);
        let options =
            RewriteOptions::default().with_semantics(semantics).with_all(random.one_in(4));
        let rewritten = rewrite(&module, &options).expect("a target");
        let new = rewritten.text();
        let again = rewrite(&parse(&new).0, &options).expect("a target").text();
        assert!(again == new, "{new}");
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
    let (chains, names) = compare(11, samples(5_000), filling);
    println!("{chains} chains");
    assert_eq!(names.len(), 12, "{names:?}");
}

#[test]
fn sequences_compute_what_sums_compute() {
    let (chains, names) = compare(12, samples(5_000), adding);
    println!("{chains} sums");
    for name in ["vabsdiff4", "vadd4", "products"] {
        assert!(names.contains(name), "{names:?}");
    }
}

/// On a part, ptxas does not saturate negative results as the manual does (C3), and its old
/// versions fill `.h1` from above (C1). SIMD instructions have neither deviation.
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

/// In one file, nvcc wrote a register for each step; in the other, one register is filled.
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
        // Each video instruction of a file has one change.
        assert_eq!(together.changes.len(), module.instructions().count());
        assert!(together.edits().len() <= together.changes.len());
    }
}

/// The new text contains every comment and, as a comment, every original instruction.
pub(crate) fn keeps_all(text: &str, expected: &str) {
    let (module, _) = parse(text);
    let plain = rewrite(&module, &RewriteOptions::default()).expect("a target");
    assert!(plain.text().contains(expected), "{}", plain.text());
    let options = RewriteOptions::default().with_comments(true);
    let with = rewrite(&module, &options).expect("a target").text();
    for change in &plain.changes {
        assert!(change.outcome.is_rewritten());
        assert!(with.contains(&format!("/* {} */", change.instruction)), "{with}");
    }
}

#[test]
fn nothing_is_lost() {
    let text = kernel(&format!(
        "\t{ADD} /* one */ d.b0, a.b0, b.b0, c;\n\t{ADD} d.b1, // two\n\t a.b1, b.b1, d;\n\
         \t{ADD} d.b2, a.b2, b.b2, d; // three\n\t{ADD} d.b3, a.b3, b.b3, d /* four */;\n"
    ));
    keeps_all(&text, "\t/* one */ \n\t// two\n\t\n\t // three\n\t/* four */ {\n\t\t.reg");
}

/// Options that report only costs, on some targets.
fn costs(targets: &[u16]) -> CheckOptions {
    let rules = RuleSet::NONE.with(Code::EmulatedInstruction).with(Code::UnfusedInstructions);
    let options = CheckOptions::default().with_rules(rules);
    options.with_targets(targets.iter().copied().map(Target::sm).collect())
}

/// In `asm`, the names of operands tell registers apart, unless an input shares the register of an
/// output.
#[test]
fn chains_in_asm_write_one_register() {
    let line = |part: u32, d: &str, c: &str| {
        format!("    \"vabsdiff.u32.u32.u32.add {d}, %1.b{part}, %2.b{part}, {c};\\n\\t\"\n")
    };
    let asm = |lines: [String; 4], operands: &str| format!("asm({} : {operands});", lines.concat());
    let word = "\"+&r\"(d) : \"r\"(a), \"r\"(b)";
    let all = |d: &str, c: &str| [0, 1, 2, 3].map(|part| line(part, d, c));
    let options = costs(&[75, 90]).with_language(Language::Cuda);
    let chain = asm(all("%0", "%0"), word);
    for (source, expected) in [
        (chain.clone(), &["V602"][..]),
        // A brace, another register and an unknown operand end a chain.
        (chain.replacen(";\\n", "; {}\\n", 1), &["V601"; 4]),
        (chain.replacen("add %0", "add t", 1), &["V601"; 4]),
        (chain.replacen("%1.b1", "%7.b1", 1), &["V601"; 3]),
        // A SIMD instruction takes no constant.
        (
            asm(
                [
                    line(0, "%0", "%3"),
                    line(1, "%0", "%0"),
                    line(2, "%0", "%0"),
                    line(3, "%0", "%0"),
                ],
                "\"=&r\"(d) : \"r\"(a), \"r\"(b), \"n\"(5)",
            ),
            &["V601"; 4],
        ),
        // `%1` may be the register `%0`, so the second instruction reads the first result.
        (asm(all("%0", "%0"), "\"=r\"(d) : \"0\"(a), \"r\"(b)"), &["V601"; 4]),
        (asm(all("%0", "%0"), "\"=r\"(d) : \"[d]\"(a), \"r\"(b)"), &["V601"; 4]),
    ] {
        let found = check(&source, &options);
        let codes: Vec<String> = found.iter().map(|it| it.code.to_string()).collect();
        assert_eq!(codes, expected, "{source}");
    }
    let fixed = fix(&chain, &options, Applicability::Safe);
    let one = fixed.text.replace("\\n\\t", "").replace([' ', '\n', '"'], "");
    assert_eq!(one, "asm(vabsdiff4.u32.u32.u32.add%0,%1,%2,%0;:+&r(d):r(a),r(b));");
    // If `d` and `a` have one value, nvcc may give both one register.
    let late = chain.replace('&', "");
    assert_eq!(fix(&late, &options, Applicability::Safe).text, late);
    assert_eq!(fix(&late, &options, Applicability::Unsafe).text, fixed.text.replace('&', ""));
    // The source may be built for more than one `--target`.
    let one = CheckOptions::default().with_target(Some(Target::sm(90))).with_rules(options.rules);
    let shown = check(&chain, &one.with_language(Language::Cuda));
    assert_eq!(shown[0].code, Code::UnfusedInstructions);
    assert_eq!(shown[0].fixes[0].applicability, Applicability::DisplayOnly);
}

/// The findings as texts `CODE first line to last line`.
fn places(text: &str, options: &CheckOptions) -> Vec<String> {
    let line = |at: u32| text[..at as usize].matches('\n').count() + 1;
    let place = |it: Diagnostic| {
        let whole = it.statement.expect("a statement");
        format!("{} {} to {}", it.code, line(whole.start), line(whole.end))
    };
    check(text, options).into_iter().map(place).collect()
}

/// Counts of regions: all; those with members after their block; those whose block stands at the
/// first member.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counted {
    regions: usize,
    moved: usize,
    at_the_first: usize,
}

/// Checks that each finding is about one change of the module, or about several changes that become
/// one sequence. All fixes together must rewrite the module.
fn findings_are_changes(text: &str, target: u16) -> Counted {
    let (module, _) = parse(text);
    let options = RewriteOptions::default().with_target(Some(Target::sm(target)));
    let rewritten = rewrite(&module, &options).expect("a target");
    let options = costs(&[target]);
    let found = check(text, &options);
    let (before, mut left) = (found.len(), found.iter());
    let (mut rest, mut counted) = (&rewritten.changes[..], Counted::default());
    while let Some(change) = rest.first() {
        let at = rest.iter().position(|it| it.outcome != Outcome::Absorbed).expect("a block");
        let members = match &rest[at].outcome {
            Outcome::Fused(_) => at + 1,
            Outcome::Grouped(group) => group.members,
            _ => 1,
        };
        let (region, others) = rest.split_at(members);
        rest = others;
        if !change.outcome.is_rewritten() {
            continue;
        }
        let found = left.next().expect("a finding");
        let whole = found.statement.expect("a statement");
        assert_eq!((whole.start, whole.end), (change.span.start, region[members - 1].span.end));
        assert_eq!(found.span, region[at].span, "{text}");
        let kind = match &region[at].outcome {
            Outcome::Fused(fusion) => {
                let instruction = fusion.instruction.as_ref().expect("one");
                format!("one `{}`", instruction.mnemonic().text())
            }
            Outcome::Grouped(group) => format!("one sequence on {}", group.wider()),
            _ => {
                assert_eq!(found.code, Code::EmulatedInstruction);
                continue;
            }
        };
        assert_eq!(found.code, Code::UnfusedInstructions);
        assert_eq!(found.labels.len(), 1);
        let (other, which) = if at == 0 { (members - 1, "last") } else { (0, "first") };
        assert_eq!(found.labels[0].span, region[other].span);
        assert_eq!(found.labels[0].text, format!("the {which} of the {members}"));
        let costs = || region.iter().map(|change| change.cost.expect("it was measured"));
        let (ptxas, new): (u32, u32) =
            (costs().map(|cost| cost.ptxas).sum(), costs().map(|cost| cost.rewritten).sum());
        let message = format!(
            "{kind} can replace {members} instructions: ptxas 13.5 emits {ptxas} machine \
             instructions on sm_{target}, and ordinary PTX needs {new}"
        );
        assert_eq!(found.message, message);
        let [fix] = &found.fixes[..] else { panic!("one fix") };
        let inside = |span: vptx::source::Span| whole.start <= span.start && span.end <= whole.end;
        let edits = rewritten.edits().iter().filter(|it| inside(it.span));
        assert!(fix.edits.iter().eq(edits), "{text}");
        let after = check(&fix.apply(text), &options);
        // After the fix, the instructions after the region may form another region.
        assert!(after.len() < before, "{text}");
        counted.regions += 1;
        counted.moved += usize::from(at + 1 < members);
        counted.at_the_first += usize::from(at == 0);
    }
    assert_eq!(left.next(), None, "{text}");
    let edits: Vec<_> = found.iter().flat_map(|it| it.fixes[0].edits.clone()).collect();
    assert_eq!(edits.len(), rewritten.edits().len(), "{text}");
    for (fix, edit) in edits.iter().zip(rewritten.edits()) {
        // Rewriting may turn a comparison to the direction of a neighbour.
        let may_differ = ["vmin", "vmax"].iter().any(|it| edit.span.text(text).starts_with(it));
        assert!(fix.span == edit.span && (fix == edit || may_differ), "{text}");
    }
    let fixed = fix(text, &options, Applicability::Unsafe);
    assert_eq!((fixed.codes.len(), fixed.left.len()), (found.len(), 0), "{text}");
    counted
}

#[test]
fn findings_on_costs_are_what_is_rewritten() {
    let mut random = Random(17);
    let mut all = Counted::default();
    for _ in 0..samples(300) {
        let (target, lanes) = *random.pick(&[(75, "2"), (90, "4"), (120, "4")]);
        let mut body = String::new();
        for _ in 0..6 {
            if random.one_in(3) {
                let members = lane_steps(&mut random, lanes, &["a", "b", "c", "d"]).0;
                for line in members.lines() {
                    body += *random.pick(&["", "", "", "st.global.u32 [p], r3;\n"]);
                    let _ = writeln!(body, "{line}");
                }
            } else {
                body += &stretch(&mut random);
            }
            body += *random.pick(&["", "", "mov.b32 r9, d;\n", "vadd2.u32.u32.u32 d, a, b, c;\n"]);
        }
        let counted = findings_are_changes(&kernel(&body), target);
        all.regions += counted.regions;
        all.moved += counted.moved;
        all.at_the_first += counted.at_the_first;
    }
    assert!(all.regions > 300 && all.moved > 10 && all.at_the_first > 0, "{all:?}");
    for file in ["regions/nvcc.sm_90.ptx", "regions/hand.ptx"] {
        let expected = Counted { regions: 3, moved: 0, at_the_first: 0 };
        assert_eq!(findings_are_changes(&fixture_text(file), 90), expected);
    }
}

/// Random instructions that may form one region, several regions, or none.
fn stretch(random: &mut Random) -> String {
    let head = merging_head(random);
    let parts: &[&str] =
        if random.one_in(2) { &[".h0", ".h1"] } else { &[".b0", ".b1", ".b2", ".b3"] };
    let (mut text, mut c) = (String::new(), *random.pick(&["c", "d"]));
    for at in 0..2 + random.below(5) {
        let to = if random.one_in(6) { *random.pick(parts) } else { parts[at % parts.len()] };
        let from = if random.one_in(6) { *random.pick(parts) } else { to };
        let guard = if random.one_in(15) { "@p " } else { "" };
        let d = *random.pick(&["d", "d", "d", "d", "r1"]);
        let tail = *random.pick(&["\n", "\n", " // sum\n", "\n\t/* next */ "]);
        let _ = write!(text, "\t{guard}{head} {d}{to}, a{from}, b{from}, {c};{tail}");
        c = d;
    }
    text + "\n"
}

/// The findings on a function do not depend on the rest of the text.
#[test]
fn functions_have_the_findings_that_they_have_alone() {
    let mut random = Random(23);
    let head = ".version 8.8\n.target sm_90\n";
    for _ in 0..30 {
        let bodies: Vec<String> = (0..4).map(|_| kernel(&stretch(&mut random))).collect();
        let mut whole = head.to_string();
        let mut expected = Vec::new();
        for body in &bodies {
            let function = body.strip_prefix(head).expect("the head");
            let lines = |text: &str| text.matches('\n').count();
            let before = lines(&whole) - lines(head);
            let moved = places(body, &costs(&[])).into_iter().map(|place| {
                let words: Vec<&str> = place.split(' ').collect();
                let line = |word: &str| word.parse::<usize>().expect("a line") + before;
                format!("{} {} to {}", words[0], line(words[1]), line(words[3]))
            });
            expected.extend(moved);
            whole += function;
        }
        assert_eq!(places(&whole, &costs(&[])), expected, "{whole}");
    }
}

#[test]
fn rules_and_targets_choose_regions() {
    let text = four("");
    let single = RuleSet::NONE.with(Code::EmulatedInstruction);
    assert_eq!(places(&text, &costs(&[])), ["V602 8 to 12"]);
    let only = |rules| costs(&[]).with_rules(rules);
    assert_eq!(
        places(&text, &only(RuleSet::NONE.with(Code::UnfusedInstructions))),
        ["V602 8 to 12"]
    );
    let each = ["V601 8 to 8", "V601 9 to 9", "V601 11 to 11", "V601 12 to 12"];
    assert_eq!(places(&text, &only(single)), each);
    assert_eq!(places(&text, &only(rules_on_statements())), [""; 0]);
    // The version at each pair decides which instructions are allowed: PTX 7.0 has no `min.s16x2`.
    let two = |name: &str| {
        let pair = format!("{name} d.b0, a.b0, b.b0, d;\n{name} d.b1, a.b1, b.b1, d;\n");
        kernel(&format!(".version 7.0\n{pair}.version 8.8\n{pair}"))
    };
    let found = places(&two(ADD), &costs(&[]));
    assert_eq!(found, ["V601 9 to 9", "V601 10 to 10", "V602 12 to 13"]);
    let found = places(&two("vabsdiff.u32.u32.u32"), &costs(&[]));
    assert_eq!(found, ["V602 9 to 10", "V602 12 to 13"]);
    // On `sm_30`, video instructions are hardware, so nothing was measured.
    assert_eq!(places(&text, &costs(&[30])), [""; 0]);
    // A single sequence must be cheaper on all targets.
    let message = |targets: &[u16]| check(&text, &costs(targets)).remove(0).message;
    assert!(message(&[75, 90]).contains(" on sm_75, sm_90, and ordinary PTX"));
    assert!(message(&[90, 120]).contains("; 40 machine instructions on sm_120, and ordinary PTX"));
    // `max.s16x2` is the best sequence on sm_90, but older targets do not have it.
    let halves =
        kernel("vmax.s32.s32.s32 d.h0, a.h0, b.h0, c;\nvmax.s32.s32.s32 d.h1, a.h1, b.h1, d;");
    let written = |targets: &[u16]| fix(&halves, &costs(targets), Applicability::Unsafe).text;
    assert!(written(&[90, 120]).contains("max.s16x2 d, a, b;"));
    assert!(!written(&[75, 90]).contains("s16x2"));
}

/// A comment at any member suppresses the finding on the whole region.
#[test]
fn comments_suppress_regions() {
    let rules = RuleSet::NONE
        .with(Code::EmulatedInstruction)
        .with(Code::UnfusedInstructions)
        .with(Code::UnusedSuppression);
    let left = |text: &str| places(text, &costs(&[]).with_rules(rules));
    let text = four("");
    for line in text.lines().filter(|line| line.starts_with(ADD)) {
        for new in [
            format!("{line} // vptx: ignore[V602] as is"),
            format!("// vptx: ignore[V6] as is\n{line}"),
        ] {
            assert_eq!(left(&text.replace(line, &new)), [""; 0], "{new}");
        }
        let other = format!("{line} // vptx: ignore[V601] as is");
        assert_eq!(left(&text.replace(line, &other)), ["V602 8 to 12"]);
    }
    let added = vptx::analysis::add_ignores(&text, &costs(&[]));
    assert_eq!(
        (added.codes.as_slice(), left(&added.text).len()),
        (&[Code::UnfusedInstructions][..], 0)
    );
}

/// The time is linear in the size of the text, for any number of chains, and wherever functions
/// end.
#[test]
fn many_chains_take_little_time() {
    let chain =
        "vadd.u32.u32.u32.sat r1.h0, a.h0, b.h0, c;\nvadd.u32.u32.u32.sat r2.h1, a.h1, b.h1, r1;\n";
    let head = ".version 8.8\n.target sm_90\n";
    let function = format!(".func f() {{ .reg .b32 r<9>, a, b, c;\n{chain}");
    let bytes =
        "vabsdiff.u32.u32.u32 d.b0, a.b0, b.b0, d;\nvabsdiff.u32.u32.u32 d.b1, a.b1, b.b1, d;\n";
    let options = costs(&[90]).with_rules(RuleSet::NONE.with(Code::UnfusedInstructions));
    let count = 10_000;
    for (text, regions) in [
        // All chains use one register, which each next chain overwrites.
        (kernel(&chain.repeat(count)), count),
        (kernel(&bytes.repeat(count)), count),
        (format!("{head}{}", format!("{function}}}\n").repeat(count)), count),
        // The functions have no end, so nothing is known about their names.
        (format!("{head}{}", function.repeat(count)), 0),
        (format!("{head}{}", function.replace("f()", ") f").repeat(count)), 0),
        // Versions alternate, so other instructions are allowed for each pair.
        (kernel(&format!(".version 7.0\n{bytes}.version 8.8\n{bytes}").repeat(count / 2)), count),
    ] {
        let start = std::time::Instant::now();
        let found = check(&text, &options);
        let seconds = start.elapsed().as_secs();
        let found = found.iter().filter(|it| it.code == Code::UnfusedInstructions).count();
        println!("{found} regions in {seconds} s: {:?}", &text[..150]);
        assert_eq!(found, regions, "{:?}", &text[..200]);
        assert!(seconds < 60, "{seconds} s: {:?}", &text[..200]);
    }
}
