//! Neighbouring SIMD instructions on bytes are rewritten as one sequence on halves.

use std::collections::HashMap;

use super::region::{DEBUG, keeps_all};
use crate::support::forms::lane_steps;
use crate::support::random::Random;
use crate::support::{EDGES, samples};
use vptx::analysis::{check, fix};
use vptx::backend::ptx::{Group, Outcome, RewriteOptions, Rewritten, rewrite};
use vptx::check::CheckOptions;
use vptx::diagnostic::{Applicability, Code, Diagnostic, RuleSet, Severity};
use vptx::ir::Program;
use vptx::isa::{Feature, Target};
use vptx::source::Span;
use vptx::video::{Register, Semantics};
use vptx::{Instruction, parse};

/// A kernel with a range of registers `r0` to `r19`, other registers, and a predicate.
fn kernel(body: &str) -> String {
    format!(
        ".version 8.8\n.target sm_90\n.entry k()\n{{\n.reg .b32 r<20>;\n\
         .reg .b32 a, b, c, d, e;\n.reg .f16x2 x;\n.reg .pred p;\n{body}\n}}\n"
    )
}

fn groups<'r>(rewritten: &'r Rewritten<'_>) -> Vec<&'r Group> {
    let group = |outcome: &'r Outcome| match outcome {
        Outcome::Grouped(group) => Some(&**group),
        _ => None,
    };
    rewritten.changes.iter().filter_map(|change| group(&change.outcome)).collect()
}

/// For each group, the number of members, and the registers that it reads and writes.
fn found_with(text: &str, options: &RewriteOptions) -> Vec<String> {
    let (module, findings) = parse(text);
    assert!(findings.iter().all(|it| it.severity < Severity::Error), "{text}: {findings:?}");
    let rewritten = rewrite(&module, options).expect("a target");
    let shown = |group: &&Group| {
        let inputs: Vec<&str> = group.inputs().iter().map(Register::name).collect();
        let outputs = group.outputs().iter().map(|(register, _)| register.name());
        let outputs: Vec<&str> = outputs.collect();
        format!("{}: {} > {}", group.members, inputs.join(" "), outputs.join(" "))
    };
    groups(&rewritten).iter().map(shown).collect()
}

fn found(text: &str) -> Vec<String> {
    found_with(text, &RewriteOptions::default())
}

const ADD: &str = "vadd4.s32.s32.s32.sat";
const SUB: &str = "vsub4.s32.s32.s32.sat";
const MAX: &str = "vmax4.s32.s32.s32";

/// A kernel where `d` is the largest of `a + b`, `c - e` and `r0`, with `between` before the last
/// instruction.
fn cell(between: &str) -> String {
    kernel(&format!(
        "{ADD} r1, a, b, c;\n{SUB} r2, c, e, c;\n{MAX} r3, r1, r2, c;\n{between}\n\
         {MAX} d, r3, r0, r3;"
    ))
}

#[test]
fn neighbours_work_on_halves() {
    let whole = "4: a b c e r0 > d";
    for between in [
        "",
        "/* ; */",
        ".loc 1 2 3\n",
        "// end inline asm\n\t// begin inline asm",
        // Statements on other registers.
        "mov.b32 r7, d;",
        "ld.global.v2.b32 {r7, r0}, [r9+4]; st.global.b32 [r9], r7;",
    ] {
        assert_eq!(found(&cell(between)), [whole], "{between}");
    }
    assert_eq!(found(&(cell("$L__tmp1: .loc 1 2 3\n$L__tmp2:") + DEBUG)), [whole]);
    let text = cell("");
    let target = |number| RewriteOptions::default().with_target(Some(Target::sm(number)));
    for number in [90, 100] {
        let text = text.replace("sm_90", &format!("sm_{number}"));
        assert_eq!(found(&text), [whole], "{number}");
    }
    let none: [String; 0] = [];
    assert_eq!(found_with(&text, &target(89)), none);
    // The version and the target of the text must also allow sums of halves.
    assert_eq!(found_with(&text.replace("sm_90", "sm_80"), &target(90)), none);
    assert_eq!(found(&text.replace("8.8", "7.8")), none);
    assert_eq!(found_with(&text, &RewriteOptions::default().with_regions(false)), none);
    for semantics in Semantics::ALL {
        let options = RewriteOptions::default().with_semantics(semantics);
        assert_eq!(found_with(&text, &options), [whole]);
        assert_eq!(found_with(&text, &options.with_all(true)), [whole]);
    }
}

/// Limiting keeps the order of numbers. So two sums with `.sat` and their maximum need no limits but
/// those of the instruction that packs the result.
#[test]
fn halves_are_limited_when_they_are_packed() {
    let body = "vadd2.s32.s32.s32.sat r1, a, b, c;\nvadd2.s32.s32.s32.sat r2, e, b, c;\n\
                vmax2.s32.s32.s32 d, r1, r2, c;\nst.global.b32 [r9], d;\n";
    let text = kernel(body).replace("sm_90", "sm_80");
    let new = rewrite(&parse(&text).0, &RewriteOptions::default()).unwrap().text();
    let count = |opcode: &str| new.matches(opcode).count();
    assert_eq!(["add.s32", "max.s32", "cvt.pack.sat.s16.s32", "min."].map(count), [4, 2, 1, 0]);
}

/// On `sm_80`, `cvt.pack` takes as long as four sums. This group has three machine instructions
/// less than its members one by one, and takes as long.
#[test]
fn a_group_may_take_as_long_as_its_members() {
    let body = "vadd2.s32.s32.s32.sat r1, a, b, c;\nvmin2.s32.s32.s32 r2, e, b, c;\n\
                vmax2.s32.s32.s32 d, r1, r2, c;\nst.global.b32 [r9], d;\n";
    let text = kernel(body).replace("sm_90", "sm_80");
    assert_eq!(found(&text).len(), 1, "{text}");
    let (module, _) = parse(&text);
    let rewritten = rewrite(&module, &RewriteOptions::default()).expect("a target");
    let cost = rewritten.changes.last().and_then(|last| last.cost).expect("it was estimated");
    assert_eq!((cost.rewritten, cost.rewritten_weight), (12, 15));
}

#[test]
fn groups_end() {
    let first = "3: a b c e > r3";
    for between in [
        "@p mov.b32 r7, d;",
        "@p bra M; M:",
        "{ }",
        "bar.sync 0;",
        "mov.b32 r7, r03;",
        "ld.global.b32 r7, [r9]; vadd.u32.u32.u32 r7, r7, r7;",
    ] {
        assert_eq!(found(&cell(between)), [first], "{between}");
    }
    for (end, debug) in [("", ""), ("@p bra L;", DEBUG)] {
        let text = cell("L:").replace("\n}\n", &format!("\n{end}\n}}\n{debug}"));
        assert_eq!(found(&text), [first], "{text}");
    }
    let with_last = |last: &str| cell("").replace("vmax4.s32.s32.s32 d, r3, r0, r3;", last);
    // ptxas computes equal results only once.
    assert_eq!(found(&with_last("vadd4.s32.s32.s32.sat d, a, b, r3;")), [""; 0]);
    assert_eq!(found(&with_last("vadd4.s32.s32.s32.sat d, r3, r3, r3;")), ["4: a b c e > d"]);
    for last in [
        // ptxas knows that this is `r3`.
        "vmax4.s32.s32.s32 d, r3, r3, r3;",
        "@p vmax4.s32.s32.s32 d, r3, r0, r3;",
        "vmax4.s32.s32.s32 d.b210, r3, r0, r3;",
        "vmax4.s32.s32.s32 d, r3.b0123, r0, r3;",
        "vmax4.s32.s32.s32 d, r3, r0.b4567, r3;",
        "vmax4.s32.s32.s32.add d, r3, r0, r3;",
        "vmax2.s32.s32.s32 d, r3, r0, r3;",
        "vset4.s32.s32.eq d, r3, r0, r3;",
        "vset4.s32.s32.lt.add d, r3, r0, r3;",
        "vmax.s32.s32.s32 d, r3, r0;",
        // The registers are `.f16x2`.
        "vmax4.s32.s32.s32 d, r3, x, r3;",
        "vmax4.s32.s32.s32 x, r3, r0, r3;",
        // `r03` may be `r3` or another register.
        "vmax4.s32.s32.s32 d, r03, r0, r0;",
    ] {
        assert_eq!(found(&with_last(last)), [first], "{last}");
    }
}

/// If an instruction outside of the group has the same comparison, ptxas shares it; it could not
/// share it with a block.
#[test]
fn neighbours_share_comparisons() {
    let steps = "vsub4.u32.u32.u32.sat r5, b, r2, b;\nvsub4.u32.u32.u32.sat r6, r5, e, r5;\n\
                 vsub4.u32.u32.u32.sat r8, r6, a, r6;\n\
                 vset4.u32.u32.ge r7, e, r8, e;\nst.global.b32 [r9], r7;\n";
    let found = |body: &str| found(&kernel(body).replace("sm_90", "sm_75"));
    let group = "4: b r2 e a > r7";
    let other = "vmax4.u32.u32.u32.add r3, a, r2, e;\n";
    assert_eq!(found(&format!("{other}{steps}{other}")), [group]);
    for same in ["b, r2, e", "r2, b, e"] {
        let shared = format!("vmax4.u32.u32.u32.add r3, {same};\n");
        assert_eq!(found(&format!("{shared}{steps}")), [""; 0], "{same}");
        assert_eq!(found(&format!("{shared}{other}{steps}")), [""; 0], "{same}");
        // The instruction with the same comparison is in another function.
        let apart = format!("{shared}}}\n.entry l()\n{{\n.reg .b32 r<20>, a, b, e;\n{steps}");
        assert_eq!(found(&apart), [group], "{same}");
    }
    // With a further comparison of the same sources, the block would be longer than the single
    // instructions.
    for (sources, expected) in [("a, r2", vec![group]), ("b, r2", vec![])] {
        let after = format!("vmax4.s32.s32.s32 r3, {sources}, b;\nst.global.b32 [r9], r3;");
        assert_eq!(found(&format!("{steps}{after}")), expected, "{sources}");
    }
}

/// If an instruction outside of the group does the same with the same values, ptxas computes both
/// once, so the member costs nothing alone.
#[test]
fn repeated_members_cost_nothing() {
    let all = format!("{ADD} r10, a, b, e;\n{SUB} r11, c, e, c;\n{MAX} r12, r1, r2, c;\n");
    let end = "vset4.s32.s32.eq r8, d, e, c;\n";
    let after = |rest: &str| {
        let whole = cell("");
        let body = whole.strip_suffix("}\n").expect("the end of the kernel");
        format!("{body}{end}{rest}\n}}\n")
    };
    for between in ["", "L:", "@p bra M;", "ld.global.b32 r9, [r9];", &end.repeat(9)] {
        assert_eq!(found(&after(&format!("{between}\n{all}M:"))), [""; 0], "{between}");
    }
    // Copies are the same words, and white space is none.
    let copies = all.replace("r10, a,", "r10, r13,").replace("4.s32", "4 .s32");
    assert_eq!(found(&after(&format!("mov.b32 r13, a;\n{copies}"))), [""; 0]);
    // An instruction that reads other repeated results.
    let chain = all.replace("r1, r2", "r10, r11");
    assert_eq!(found(&after(&chain)), [""; 0]);
    // Instructions before the group count, too.
    let first = format!("{all}{end}{ADD}");
    assert_eq!(found(&cell("").replacen(ADD, &first.replace("r1, r2", "a, b"), 1)), [""; 0]);
    // Other words, other instructions, and those on another path.
    let is_whole = |text: &str| found(text).iter().any(|it| it.starts_with("4: a b c e r0 > "));
    let guarded = all.replace("vadd4", "@p vadd4").replace("vsub4", "@p vsub4");
    for rest in [
        format!("ld.global.v2.b32 {{a, c}}, [r9]; mov.b32 r1, r0;\n{all}"),
        all.replace(".sat", "").replace("vmax", "vmin"),
        all.replace("10, a,", "10, a.b3212,")
            .replace(" c,", " c.b3212,")
            .replace("r1, r2", "r10, r11"),
        format!("}}\n.entry l()\n{{\n.reg .b32 r<20>, a, b, c, e;\n{all}"),
        guarded.replace("vmax4", "@p vmax4"),
    ] {
        assert!(is_whole(&after(&rest)), "{rest}");
    }
    let whole = cell("").replace("d, r3, r0, r3;", "d, r3, r0, r3;\nM:");
    let branches = format!("@p bra L;\n{all}bra M;\nL:\n{}{ADD}", end.repeat(9));
    assert!(is_whole(&whole.replacen(ADD, &branches, 1)));
}

/// Where the types of the sources differ, `a` and `b` give another sum than `b` and `a`.
#[test]
fn sources_of_two_types_have_an_order() {
    let add = "vadd4.s32.s32.u32.sat";
    let text = kernel(&format!(
        "{add} r1, a, b, c;\n{add} r2, b, a, c;\n{MAX} r3, r1, r2, c;\n{MAX} d, r3, r0, r3;"
    ));
    let (module, _) = parse(&text);
    let options = RewriteOptions::default().with_all(true);
    let rewritten = rewrite(&module, &options).expect("a target");
    let [group] = groups(&rewritten)[..] else { panic!("{}", rewritten.text()) };
    // In each byte, the sums are -1 + 0 and 0 + 255, which is limited to 127.
    let words = HashMap::from([("a", u32::MAX), ("b", 0), ("r0", 0x8080_8080)]);
    let inputs: Vec<u32> = group.inputs().iter().map(|it| words[it.name()]).collect();
    let results: Vec<u32> = group.eval(&inputs).iter().map(|it| it.1).collect();
    assert_eq!(results, [0x7f7f_7f7f]);
}

/// ptxas may hoist a member whose sources are the same in all rounds of a loop, and may know a
/// shorter way for a member that reads the result of a value combined with itself.
#[test]
fn members_that_ptxas_hoists_or_simplifies_cost_nothing() {
    const LOAD: &str = "ld.v2.b32 {a, c}, [r9];";
    const AGAIN: &str = "@p bra round;";
    let has_group = |before: &str, first: &str, end: &str| {
        let text = cell("");
        let (head, members) = text.split_at(text.find(ADD).expect("the first member"));
        let members = members.strip_suffix("}\n").expect("the end of the kernel");
        let loads = "ld.v4.b32 {b, e, r0, r7}, [r9];";
        let text = format!(
            "{head}{loads} {before}\nround: {first}\nvset4.u32.u32.eq r8, a, b, b;\n{members}\
             st.v2.b32 [r9], {{d, r8}}; {end}\n}}\n"
        );
        !found(&text).is_empty()
    };
    assert!(has_group("", LOAD, AGAIN));
    assert!(!has_group(LOAD, "", AGAIN));
    assert!(has_group(LOAD, "", ""));
    for (a, c, is_invariant) in [
        ("vadd4.u32.u32.u32 a, b, e, e;", "mov.b32 c, a;", true),
        ("vadd4.u32.u32.u32 a, b, e, e;", "vadd4.u32.u32.u32 c, a, b, e;", true),
        ("vadd4.u32.u32.u32 a, b, d, e;", "vadd4.u32.u32.u32 c, a, b, e;", false),
        // The result of a value combined with itself.
        ("ld.b32 r6, [r9];", "vavrg4.u32.u32.u32 c, r6, r6, b; mov.b32 a, c;", true),
        ("ld.v2.b32 {r5, r6}, [r9];", "vavrg4.u32.u32.u32 c, r5, r6, b; mov.b32 a, c;", false),
        ("ld.b32 r6, [r9]; mov.b32 r5, r6;", "vset4.s32.s32.ne c, r5, r6, b; mov.b32 a, c;", true),
    ] {
        assert_eq!(!has_group("", &format!("{a} {c}"), AGAIN), is_invariant, "{a} {c}");
    }
}

/// The last instruction moves up, before statements that use registers of the other members.
#[test]
fn groups_stand_before_what_reads_their_results() {
    for (between, expected) in [
        ("mov.b32 r7, r1;", "4: a b c e r0 > r1 d"),
        ("mov.b32 a, r7;", "4: a b c e r0 > d"),
        ("ld.global.v2.b32 {r7, b}, [r9]; mov.b32 r7, r03;", "3: a b c e > r3"),
        ("st.global.b32 [r9], r2;", "4: a b c e r0 > r2 d"),
        // The last instruction writes a register that the statements between write or read.
        ("mov.b32 r7, r1; mov.b32 r0, r7;", "3: a b c e > r1 r3"),
        ("st.global.b32 [r9], r1; ld.global.v2.b32 {r7, d}, [r9];", "3: a b c e > r1 r3"),
        ("st.global.v2.b32 [r9], {d, r1};", "3: a b c e > r1 r3"),
    ] {
        let text = cell(between);
        assert_eq!(found(&text), [expected], "{between}");
        let (module, _) = parse(&text);
        let rewritten = rewrite(&module, &RewriteOptions::default()).expect("a target");
        let new = rewritten.text();
        let (block, rest) = (new.find("max.s16x2").unwrap(), new.find(between).unwrap());
        assert!(block < rest, "{new}");
        let place = rewritten.changes.iter().position(|it| it.outcome != Outcome::Absorbed);
        assert_eq!(place, Some(2), "{new}");
    }
    // Statements that use only other registers stay before the block.
    let text = cell("mov.b32 r7, r9;");
    let new = rewrite(&parse(&text).0, &RewriteOptions::default()).unwrap().text();
    assert!(new.find("mov.b32 r7, r9").unwrap() < new.find("max.s16x2").unwrap(), "{new}");
    // A group does not extend over so many statements.
    let far = |count: usize| found(&cell(&"mov.b32 r7, r9;".repeat(count)));
    assert_eq!([far(60), far(70)], [["4: a b c e r0 > d"], ["3: a b c e > r3"]]);
}

/// A comparison is computed from the sign of a difference.
#[test]
fn comparisons_are_members() {
    let text = |last: &str| {
        kernel(&format!("{ADD} r1, a, b, c;\n{SUB} r2, c, e, c;\n{MAX} d, r1, r2, c;\n{last}"))
    };
    for compare in ["lt", "le", "gt", "ge"] {
        let whole = text(&format!("vset4.s32.s32.{compare} e, r1, r2, c;"));
        assert_eq!(found(&whole), ["4: a b c e > e d"], "{compare}");
    }
    // Neither is a number of lanes where a comparison holds.
    for other in ["ne", "lt.add"] {
        let whole = text(&format!("vset4.s32.s32.{other} e, r1, r2, c;"));
        assert_eq!(found(&whole), ["3: a b c e > r1 r2 d"], "{other}");
    }
}

/// A block writes a register unless nothing outside of the block reads it.
#[test]
fn results_live_on() {
    let text = cell("");
    let with = |end: &str| text.replace("r3;\n}", &format!("r3;\n{end}\n}}"));
    assert_eq!(found(&with("st.global.b32 [r9], r1;")), ["4: a b c e r0 > r1 d"]);
    assert_eq!(found(&with("st.global.b32 [r9], r02;")), ["4: a b c e r0 > r2 d"]);
    assert_eq!(found(&with("mov.b32 r1, a; st.global.b32 [r9], r1;")), ["4: a b c e r0 > d"]);
    // The inner register has the same name, but is another register.
    let inner = "{ .reg .b32 r1; mov.b32 r1, a; st.global.b32 [r9], r1; }";
    assert_eq!(found(&with(inner)), ["4: a b c e r0 > d"]);
    // The register is read on one path only, or in the next iteration of a loop.
    let path = "@p bra M; st.global.b32 [r9], r1; M:";
    assert_eq!(found(&with(path)), ["4: a b c e r0 > r1 d"]);
    let round =
        with("@p bra L;").replace(&format!("{ADD} r1"), &format!("L: mov.b32 r8, r2;\n{ADD} r1"));
    assert_eq!(found(&round), ["4: a b c e r0 > r2 d"]);
    // Registers that are declared one by one, and registers from the function's head.
    for (old, new) in [
        (".reg .b32 r<20>;", ".reg .b32 r0, r1, r2, r3;"),
        (
            ".entry k()\n{\n.reg .b32 r<20>;",
            ".func (.reg .b32 r0) k(.reg .b32 r1, .reg .b32 r2, .reg .b32 r3)\n{\n",
        ),
    ] {
        assert_eq!(found(&text.replace(old, new)), ["4: a b c e r0 > d"], "{new}");
    }
    // The register is the function's result, which the caller reads.
    let result = text.replace(".entry k()", ".func (.reg .b32 z) k()").replace("r1", "z");
    assert_eq!(found(&result), ["4: a b c e r0 > z d"]);
    // A member may overwrite an input, which then has the value of the last iteration.
    let carried = text.replace(" d, r3", " r0, r3");
    assert_eq!(found(&carried), ["4: a b c e r0 > r0"]);
    // Two members write one register, and a member overwrites one of its sources.
    let twice = text.replace("r3", "d").replace("r2", "c");
    assert_eq!(found(&twice), ["4: a b c e r0 > d"]);
}

/// Runs some instructions in order and updates the values of registers.
fn run(statements: &[(&Instruction, Program)], words: &mut HashMap<String, u32>) {
    for (statement, program) in statements {
        let [a, b, c] = statement.sources().map(|it| it.map_or(0, |it| words[it.name()]));
        words.insert(statement.destination().name().to_owned(), program.eval(a, b, c));
    }
}

#[test]
fn blocks_compute_what_their_members_compute() {
    const INPUTS: [&str; 5] = ["a", "b", "c", "e", "r0"];
    let mut random = Random(12);
    let (mut count, mut cases, mut hidden) = (0, 0, 0);
    let mut names = std::collections::HashSet::new();
    while cases < samples(12_000) {
        let lanes = *random.pick(&["4", "4", "2"]);
        let targets: Vec<Target> = Target::measured()
            .iter()
            .copied()
            .filter(|target| target.has(Feature::Ptxas13))
            .filter(|target| target.has(Feature::Halves) == (lanes == "4"))
            .collect();
        let (mut body, unread) = lane_steps(&mut random, lanes, &INPUTS);
        body.extend(unread.iter().map(|it| format!("mov.b32 d, {it};\n")));
        let text = kernel(&body).replace("sm_90", &targets[0].to_string());
        let (module, _) = parse(&text);
        let options = RewriteOptions::default()
            .with_semantics(*random.pick(&Semantics::ALL))
            .with_all(random.one_in(4))
            .with_target(Some(*random.pick(&targets)));
        let rewritten = rewrite(&module, &options).expect("a target");
        let new = rewritten.text();
        // Instructions that stay unchanged may form a group when their neighbours are rewritten.
        let kept = rewritten.changes.iter().filter(|it| it.outcome == Outcome::Kept).count();
        if kept < 2 {
            assert_eq!(rewrite(&parse(&new).0, &options).expect("a target").text(), new);
        }
        for (at, change) in rewritten.changes.iter().enumerate() {
            let Outcome::Grouped(group) = &change.outcome else { continue };
            count += 1;
            let members = &rewritten.changes[at + 1 - group.members..=at];
            let (last, others) = members.split_last().expect("some");
            assert!(others.iter().all(|it| {
                let cost = it.cost.map(|cost| (cost.rewritten, cost.rewritten_weight));
                it.outcome == Outcome::Absorbed && cost.is_none_or(|cost| cost == (0, 0))
            }));
            assert!(last.cost.expect("it was estimated").rewritten > 0);
            let members: Vec<(&Instruction, Program)> = members
                .iter()
                .map(|it| (it.instruction, it.instruction.lower(options.semantics)))
                .collect();
            for (member, _) in &members {
                names.extend(member.to_string().split(' ').next().map(str::to_owned));
            }
            for _ in 0..16 {
                let mut word = || {
                    if random.one_in(2) { random.next() as u32 } else { *random.pick(&EDGES) }
                };
                let mut words: HashMap<String, u32> =
                    INPUTS.iter().map(|it| ((*it).to_owned(), word())).collect();
                for at in 1..20 {
                    words.insert(format!("r{at}"), word());
                }
                let inputs: Vec<u32> = group.inputs().iter().map(|it| words[it.name()]).collect();
                let results = group.eval(&inputs);
                run(&members, &mut words);
                for (register, result) in &results {
                    assert_eq!(*result, words[register.name()], "{register} {text}");
                }
                cases += 1;
                hidden += members.len() - results.len();
            }
        }
    }
    println!("{count} groups, {cases} cases");
    assert!(hidden as u64 > cases);
    // The names are mnemonics with types.
    assert!(names.len() > 100, "{names:?}");
}

#[test]
fn nothing_is_lost() {
    let text = kernel(&format!(
        "\t{ADD} /* one */ r1, a, b, c;\n\t{SUB} r2, // two\n\t r1, e, c; // three\n\
         \t{MAX} d, r1, r2 /* four */, d;\n"
    ));
    keeps_all(&text, "\t/* one */ \n\t// two\n\t // three\n\t/* four */ {\n\t\t.reg");
}

fn costs(targets: &[u16]) -> CheckOptions {
    let options = CheckOptions::default().with_rules(RuleSet::NONE.with(Code::UnfusedInstructions));
    options.with_targets(targets.iter().copied().map(Target::sm).collect())
}

fn findings(text: &str, targets: &[u16]) -> Vec<Diagnostic> {
    check(text, &costs(targets))
}

#[test]
fn groups_are_reported() {
    let text = cell("st.global.u32 [d], r0;");
    let found = findings(&text, &[90, 100]);
    assert_eq!(found.len(), 1);
    let place = |span: Span| span.text(&text).split(' ').next().expect("a mnemonic").to_owned();
    assert_eq!(
        (place(found[0].span), found[0].labels[0].text.as_str()),
        (MAX.into(), "the first of the 4")
    );
    assert!(
        found[0]
            .message
            .starts_with("one sequence on halves can replace 4 instructions: ptxas 13.5 emits "),
        "{}",
        found[0].message
    );
    let rewritten = |text: &str| {
        let (module, _) = parse(text);
        rewrite(&module, &RewriteOptions::default()).expect("a target").text()
    };
    assert_eq!(found[0].fixes[0].apply(&text), rewritten(&text));
    // On some targets, there are no sums of halves, or other blocks are cheaper.
    assert_eq!(findings(&text, &[75, 90]), []);
}

/// A loop whose instructions read `r16`. `written` stands before the loop and writes it.
fn round(written: &str, between: &str, end: &str) -> String {
    kernel(&format!(
        "ld.b32 r9, [r8]; {written}\n{between}\nround:\nld.b32 a, [r9];\n{SUB} r1, a, r16, a;\n\
         {SUB} r2, r16, b, a;\n{MAX} r3, r1, r2, a;\n{SUB} r4, r3, r16, a;\nst.b32 [r9], r4;\n{end}"
    ))
}

/// The rewritten loop, and the number of lines that were inserted before it.
fn looped(target: u16, written: &str, between: &str, end: &str) -> (String, usize) {
    let text = round(written, between, end);
    let (module, findings) = parse(&text);
    assert!(findings.iter().all(|it| it.severity < Severity::Error), "{text}: {findings:?}");
    let options = RewriteOptions::default().with_target(Some(Target::sm(target)));
    let rewritten = rewrite(&module, &options).expect("a target");
    assert_eq!(groups(&rewritten).len(), 1, "{}", rewritten.text());
    let inserted = rewritten.edits().iter().filter(|edit| edit.span.is_empty());
    let lines = inserted.map(|edit| {
        let before = &text[..edit.span.start as usize];
        assert!(before.ends_with(written), "{before}");
        edit.replacement.trim().lines().count() - 1
    });
    let lines = lines.sum();
    (rewritten.text(), lines)
}

/// If a register does not change in a loop, its lanes are extracted once, directly after the single
/// instruction that writes it.
#[test]
fn lines_stand_before_loops() {
    const AGAIN: &str = "@p bra round;";
    let load = "ld.b32 r16, [r8];";
    for (target, lines) in [(80, 4), (90, 2), (120, 4)] {
        let (text, found) = looped(target, load, "", AGAIN);
        assert!(found >= lines, "{text}");
        assert_eq!(text.matches("_k0").count() > 1, found > 0, "{text}");
    }
    let kept = |written: &str, between: &str, end: &str| looped(90, written, between, end).1 > 0;
    for written in [
        "mov.b32 r16, c;",
        "ld.v2.b32 {r7, r16}, [r8];",
        "mov.b32 r16, r9;",
        "mov.b32 r16, c; mov.b32 r16, d;",
    ] {
        assert!(kept(written, "", AGAIN), "{written}");
    }
    assert!(kept(load, "", "@p bra.uni round;"));
    assert!(kept(load, "other: add.s32 r7, r7, 1;", "@p bra round; bra other;"));
    // The register may have another value in the loop.
    for written in [
        "@p mov.b32 r16, c;",
        "mov.b32 r16, c; @p mov.b32 r16, d;",
        "mov.b32 r16, c; @p bra M; mov.b32 r16, d; M:",
        "@p bra M; mov.b32 r16, d; M:",
        "{ mov.b32 r16, c; }",
        "{ .reg .b32 r<17>; mov.b32 r16, c; }",
        "vadd4.u32.u32.u32.sat r16, c, d, c;",
        // The register has its value only after a further instruction.
        "tcgen05.ld.sync.aligned.32x32b.x1.b32 {r16}, [r9]; tcgen05.wait::ld.sync.aligned;",
        "",
    ] {
        assert!(!kept(written, "", AGAIN), "{written}");
    }
    assert!(!kept(load, "", "add.s32 r16, r16, 1; @p bra round;"));
    assert!(!kept(load, "", "call (r16), f, (r9); @p bra round;"));
    // The inner register has the same name, but is another register.
    assert!(kept(load, "{ .reg .b32 r<17>; mov.b32 r16, c; }", AGAIN));
    // The instruction that writes the register stands below the loop in the text, so names declared
    // there would be unknown in the loop.
    let below = round("", "bra start;", "@p bra done; start: ld.b32 r16, [r8]; bra round; done:");
    let (module, _) = parse(&below);
    let rewritten = rewrite(&module, &RewriteOptions::default()).expect("a target");
    assert!(!rewritten.text().contains("_k0"), "{}", rewritten.text());
    // No loop contains the group.
    for end in ["", "@p bra later; later:", "later: @p bra later;"] {
        assert!(!kept(load, "", end), "{end}");
    }
    assert!(!kept(load, "other: @p bra other;", ""));
    assert!(!kept("", &format!("before: {load}"), "@p bra before;"));
}

/// Two groups with the same source need the same inserted lines. Each fix has its own, so that it
/// can be made alone; both can be made at once.
#[test]
fn fixes_insert_at_one_place() {
    let text = round("ld.b32 r16, [r8];", "", "@p bra round;");
    let [before, after] = [text.find("round:").unwrap(), text.rfind('}').unwrap()];
    let again = text[before..after].replace("round", "again");
    // The names of registers that only the first loop uses.
    let names = [("r1,", "r11,"), ("r2,", "r12,"), ("r3,", "r13,"), ("r4", "r14"), (" b,", " e,")];
    let again = names.iter().fold(again, |text, (old, new)| text.replace(old, new));
    let text = [&text[..after], &again, "}\n"].concat();
    let fixed = fix(&text, &costs(&[90]), Applicability::Safe);
    let (module, _) = parse(&text);
    let rewritten = rewrite(&module, &RewriteOptions::default()).expect("a target");
    assert_eq!(groups(&rewritten).len(), 2, "{}", rewritten.text());
    let inserted = |text: &str| text.matches(".reg .b32 %vptx_k").count();
    assert_eq!((inserted(&rewritten.text()), inserted(&fixed.text)), (1, 2));
    assert_eq!(fixed.rounds.len(), 1);
    assert_eq!(check(&fixed.text, &CheckOptions::default()), []);
}

/// The fix of a finding inserts the lines before the loop, too.
#[test]
fn fixes_insert_lines_before_loops() {
    let (written, end) = ("ld.b32 r16, [r8];", "@p bra round;");
    let (rewritten, lines) = looped(90, written, "", end);
    assert!(lines > 0, "{rewritten}");
    let text = round(written, "", end);
    let found = findings(&text, &[90]);
    let [finding] = &found[..] else { panic!("{found:?}") };
    assert_eq!(finding.fixes[0].apply(&text), rewritten);
    let help = finding.help.as_deref().unwrap_or_default();
    assert!(help.contains("_k0, "), "{help}");
}
