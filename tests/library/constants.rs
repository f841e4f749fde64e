//! Scalar instructions on registers that are known to hold a constant.

use crate::support::EDGES;
use vptx::backend::ptx::{Arg, FreshRegisters, Outcome, RewriteOptions, Sequence, rewrite};
use vptx::ir::Input;
use vptx::isa::Target;
use vptx::{Instruction, Semantics, parse};

const ADD: &str = "vadd.s32.s32.s32.sat d, a, %r5;";

/// A function with `%r1` to `%r8`, and other registers.
pub(crate) fn function(body: &str) -> String {
    format!(
        ".version 8.8\n.target sm_90\n.func f(.reg .b32 %q1)\n{{\n.reg .b32 %r<9>, a, b, c, d, e;\n\
         .reg .b64 %rd<3>;\n.reg .pred %p<3>;\n{body}\n}}\n"
    )
}

/// The sequence for the first instruction that is not `vabsdiff`.
fn sequence(text: &str, options: &RewriteOptions) -> Sequence {
    let (module, findings) = parse(text);
    assert!(findings.iter().all(crate::support::is_about_results), "{text}: {findings:?}");
    let rewritten = rewrite(&module, options).expect("a target");
    let found = rewritten.changes.iter().find_map(|change| match &change.outcome {
        Outcome::Rewritten(sequence) if !change.instruction.to_string().contains("absdiff") => {
            Some(sequence.clone())
        }
        _ => None,
    });
    found.expect("one is rewritten")
}

fn reads_b(body: &str) -> bool {
    let found = sequence(&function(body), &RewriteOptions::default());
    found.lines().iter().any(|line| line.args().contains(&Arg::Input(Input::B)))
}

#[test]
fn moved_constants_are_known() {
    for moves in [
        "mov.u32 %r5, 64;",
        "mov.b32 %r5 , -3;",
        "mov.s32\t%r05,0x10; mov.u32 %r6, %r5;",
        "mov.u32 %r5, 64; // a comment on %r5, 1",
        "L: mov.u32 %r5, 64; @%p1 bra L;",
        ".loc 1 2 3\nmov.u32 %r5, 64;\n.loc 1 2 4",
        ".loc 1 2 3, function_name $L1, inlined_at 1 5 3\nmov.u32 %r5, 64;\n.loc 1 2 4, \
         function_name $L1 + 7, inlined_at 1 5 3",
        ".loc 1 2 3 mov.u32 %r5, 64; .pragma \"nounroll\";",
        "{ mov.u32 %r5, 64; }",
        "mov.u32 %r5, 64; st.global.u32 [%rd1], %r5; add.u32 %r6, %r5, %r5;",
        "mov.u32 %r5, 64; @%p1 vabsdiff.u32.u32.u32 %r6, %r5, %r5;",
        "mov.u32 %r5, 64; ld.global.v2.u32 {%r6, %r7}, [%rd1]; setp.eq.u32 %p1|%p2, %r5, %r6;",
        "mov.u32 %r5, 64 + 1;",
        // The last write counts, or equal writes on all paths.
        "mov.u32 %r5, a; mov.u32 %r5, 65;",
        "mov.u32 %r5, a; { mov.u32 %r5, 65; }",
        "mov.u32 %r5, 64; @%p1 bra L; mov.u32 %r5, a; mov.u32 %r5, 64; L:",
        "mov.u32 %r6, 64; @%p1 bra L; mov.u32 %r6, 64; L: mov.u32 %r5, %r6; mov.u32 %r6, a;",
        // The inner register has the same name, but is another register.
        "mov.u32 %r5, 64; { .reg .b32 %r5; mov.u32 %r5, 65; }",
    ] {
        assert!(!reads_b(&format!("{moves}\n{ADD}")), "{moves}");
    }
    // A register that is declared alone, and a register from the function's head.
    for register in ["e", "%q1"] {
        let body = format!("mov.u32 {register}, 64;\n{}", ADD.replace("%r5", register));
        assert!(!reads_b(&body), "{body}");
    }
}

#[test]
fn other_registers_are_not_known() {
    for moves in [
        "mov.u32 %r5, %r6;",
        "mov.u32 %r5, 64; @%p1 mov.u32 %r05, 65;",
        "mov.u32 %r5, 64; @%p1 bra L; mov.u32 %r5, 65; L:",
        "@%p1 bra L; mov.u32 %r5, 64; L:",
        "@%p1 mov.u32 %r5, 64;",
        "@!%p1 mov.u32 %r5, 64;",
        "mov.u32 %r5, 64; ld.global.v2.u32 {%r6, %r5}, [%rd1];",
        "mov.u32 %r5, 64; mov.b64 {%r6, %r5}, %rd1;",
        "mov.u32 %r5, 64; vabsdiff.u32.u32.u32 %r5, a, b;",
        "mov.u32 %r5, 64; vabsdiff.u32.u32.u32 %r5.b1, a, b, c;",
        "mov.u32 %r5, 64; { mov.u32 %r5, a; }",
        "mov.u32 %r5, 64; .loc 1 2 3\nmov.u32 %r5, a;",
        "mov.u32 %r5, 64; .loc 1 2 3, function_name $L1, inlined_at 1 2 3\nadd.u32 %r5, %r5, 1;",
        "mov.u32 %r5, 64; L: add.u32 %r5, %r5, 1;",
        "mov.u32 %r5, 64; /* , */ add.u32 %r5, %r5, 1;",
        "mov.u32 %r5, 64; call (%r5), g, (%r6);",
        // A comment is never a `mov` of a constant.
        "// mov.u32 %r5, 64;\nadd.u32 %r5, %r5, 1;",
        "mov.u32 /* %r5, 1; */ %r5, %r6; /* mov.u32 %r5, 1; */",
        "mov.u32 %r5, 1.0;",
    ] {
        assert!(reads_b(&format!("{moves}\n{ADD}")), "{moves}");
        // The constant is also unknown if the other write comes later in a loop.
        if let Some((first, later)) = moves.split_once("64; ") {
            let later = |end: &str| format!("{first}64; again: {ADD}\n{later}\n{end}");
            assert!(reads_b(&later("@%p2 bra again;")), "{moves}");
            assert!(!reads_b(&later("")), "{moves}");
        }
    }
    // The caller writes a parameter, so the constant is unknown.
    let parameter = ADD.replace("%r5", "%q1");
    assert!(reads_b(&format!("@%p1 bra L; mov.u32 %q1, 64; L: {parameter}")));
    // The pass does not use constants in instructions with a guard.
    assert!(reads_b(&format!("mov.u32 %r5, 64;\n@%p2 {ADD}")));
    let far = "add.u32 %r6, %r6, %r7;\n".repeat(60);
    assert!(reads_b(&format!("mov.u32 %r5, 64;\n{far}{ADD}")));
    let only = |body: &str, options| sequence(&function(body), &options);
    let reads =
        |found: &Sequence| found.lines().iter().any(|it| it.args().contains(&Arg::Input(Input::B)));
    let single = RewriteOptions::default().with_regions(false);
    assert!(reads(&only(&format!("mov.u32 %r5, 64; {ADD}"), single)));
    // A write in another function does not count.
    let other = function("mov.u32 %r5, 64;")
        + &function(ADD)[".version 8.8\n.target sm_90\n".len()..].replace("f(", "g(");
    assert!(reads(&sequence(&other, &RewriteOptions::default())));
}

/// A `mov` of one element says nothing about another one.
#[test]
fn elements_of_vector_registers_are_told_apart() {
    for moves in [
        "mov.b32 %v.x, a; mov.b32 %v.y, 64; mov.b32 %r5, %v.x;",
        "mov.b32 %v.x, 64; mov.b32 %v.y, 5; mov.b32 %r5, %v.x;",
        "mov.b32 %v.y, 64; mov.b32 %r5, %v.y;",
    ] {
        assert!(reads_b(&format!(".reg .v2 .b32 %v; {moves}\n{ADD}")), "{moves}");
    }
}

/// Names mean what they mean to ptxas 13.5: the registers of a range hide what has their name in the
/// same scope, numbers count modulo 2^32, and a label of a block around counts if it stands before.
#[test]
fn writes_by_other_names_count() {
    for moves in [
        "mov.u32 %r5, 64; %r05: mov.u32 %r05, a;",
        "{ .reg .b32 %q04, %q<9>; mov.u32 %q4, 64; mov.u32 %q04, a; mov.u32 %r5, %q4; }",
        "mov.u32 %r5, 64; mov.u32 %r4294967301, a;",
        "mov.u32 %r5, 64; bra S; A: mov.u32 %r5, a; bra E; S: { { bra A; } A: } E:",
    ] {
        assert!(reads_b(&format!("{moves}\n{ADD}")), "{moves}");
    }
    let inner = "mov.u32 %r5, 64; bra S; A: mov.u32 %r5, a; bra E; S: { bra A; A: } E:";
    assert!(!reads_b(&format!("{inner}\n{ADD}")), "{inner}");
}

/// ptxas computes with a known source itself. Where the sequence saves little on other values, the
/// instruction stays, because the machine code would become longer: with ptxas 13.5, by 1 to 4
/// instructions.
#[test]
fn instructions_on_constants_may_stay() {
    let is_rewritten = |target: &str, body: &str, options: &RewriteOptions| {
        let text = function(body).replace("sm_90", target);
        let (module, findings) = parse(&text);
        assert!(findings.iter().all(crate::support::is_about_results), "{text}: {findings:?}");
        let rewritten = rewrite(&module, options).expect("a target");
        rewritten.changes.last().expect("one").outcome != Outcome::Kept
    };
    let usual = RewriteOptions::default();
    for (target, constant, instruction, on_constant) in [
        ("sm_90", "0x00ff00ff", "vsub2.u32.u32.u32 d, %r5, a, c;", false),
        ("sm_90", "0x80808080", "vadd4.u32.u32.u32 d, %r5, a, c;", false),
        ("sm_75", "0x00ff00ff", "vmin2.u32.u32.u32 d, a, %r5, c;", false),
        ("sm_75", "0", "vadd2.u32.u32.u32 d, a, %r5, c;", false),
        ("sm_90", "-1", "vavrg2.u32.u32.u32 d, a, %r5, c;", false),
        ("sm_120", "64", "vshl.u32.u32.u32.wrap.max d, b.b1, a.b1, %r5;", false),
        ("sm_90", "0", "vadd2.u32.u32.u32 d, a, %r5, c;", false),
        // These save enough on all values, or ptxas cannot fold them.
        ("sm_90", "0x00400040", "vadd2.u32.u32.u32 d, a, %r5, c;", true),
        ("sm_90", "0x00ff00ff", "vmin2.u32.u32.u32 d, a, %r5, c;", true),
        ("sm_75", "0x00ff00ff", "vset4.u32.u32.lt d, a, %r5, c;", true),
        ("sm_90", "64", "vshl.u32.u32.u32.wrap.max d, b.b1, a.b1, %r5;", true),
    ] {
        let known = format!("mov.u32 %r5, {constant};\n{instruction}");
        assert_eq!(is_rewritten(target, &known, &usual), on_constant, "{target} {known}");
        let unknown = format!("mov.u32 %r5, e;\n{instruction}");
        assert!(is_rewritten(target, &unknown, &usual), "{target} {unknown}");
        assert!(is_rewritten(target, &known, &usual.clone().with_all(true)), "{target} {known}");
    }
    // A constant stands in the instruction itself.
    let shift = "vshl.u32.u32.u32.wrap.max d, b.b1, a.b1, 64;";
    assert_eq!(["sm_90", "sm_120"].map(|it| is_rewritten(it, shift, &usual)), [true, false]);
}

/// The sequence is the same as if the instruction had the constant itself as its operand.
#[test]
fn sequences_are_those_of_constants() {
    for (instruction, value) in [
        ("vadd.s32.s32.s32.sat d, a, K;", 64),
        ("vmad.s32.s32.s32.sat d, a.h0, b.h1, K;", 64),
        ("vmad.s32.s32.s32.shr7 d, a.h0, b.b1, K;", 64),
        ("vset.s32.u32.lt.min d, a, K, c;", 5),
    ] {
        let on_register = format!("mov.u32 %r5, {value};\n{}", instruction.replace('K', "%r5"));
        let on_constant = instruction.replace('K', &value.to_string());
        let options = RewriteOptions::default();
        let found = sequence(&function(&on_register), &options);
        assert_eq!(found, sequence(&function(&on_constant), &options), "{instruction}");
        let single = sequence(&function(&on_register), &options.with_regions(false));
        assert_ne!(found, single, "{instruction}");
        let place =
            instruction.split(' ').skip(1).position(|it| it.starts_with('K')).expect("K") - 1;
        for x in EDGES {
            for y in EDGES {
                let mut words = [x, y, x ^ 0x55];
                words[place] = value;
                let [a, b, c] = words;
                assert_eq!(found.eval(a, b, c), single.eval(a, b, c), "{instruction}");
            }
        }
    }
}

/// No lanes are taken out of a 0. With ptxas 13.5, that is 3 machine instructions instead of 4, as
/// ptxas would compute a `prmt` of 0.
#[test]
fn lanes_of_zero_are_not_gathered() {
    assert!(!reads_b("mov.u32 %r5, 0;\nvmax4.u32.s32.s32.sat d.b10, a, %r5, c;"));
}

/// These instructions have the same constants as each other but different registers. No sequence
/// that uses the constants is shorter.
#[test]
fn other_forms_keep_their_registers() {
    let text = function(
        "mov.u32 %r5, 31;\nvabsdiff.u32.u32.u32.add c, %r5, b, 31;\n\
         vabsdiff.u32.u32.u32.add d, 31, b, %r5;",
    );
    let (module, _) = parse(&text);
    let options = RewriteOptions::default();
    let written = |options| rewrite(&module, &options).expect("a target").text();
    let single = written(options.clone().with_regions(false));
    assert!(single.contains("d, 31, b, %r5") || single.contains("d, b, 31, %r5"), "{single}");
    assert_eq!(written(options), single);
}

/// Both instructions compute with the same constants. Only the second has no constant as an
/// operand, so only the second has a measured cost.
#[test]
fn the_order_of_forms_does_not_matter() {
    let own = "vadd.s32.s32.s32.sat.min c, a, %r5, 64;";
    let known = "vadd.s32.s32.s32.sat.min d, a, %r5, %r5;";
    let costs = |first: &str, second: &str| {
        let text = function(&format!("mov.u32 %r5, 64;\n{first}\n{second}"));
        let (module, _) = parse(&text);
        let rewritten = rewrite(&module, &RewriteOptions::default()).expect("a target");
        rewritten.changes.iter().map(|change| change.cost.is_some()).collect::<Vec<_>>()
    };
    assert_eq!(costs(own, known), [false, true]);
    assert_eq!(costs(known, own), [true, false]);
}

/// `a * b + 5 + 1` is one instruction.
#[test]
fn numbers_that_are_added_are_one_number() {
    let instruction: Instruction = "vmad.u32.u32.u32.po d, a, b, 5;".parse().expect("legal");
    let mut registers = FreshRegisters::new("%t").expect("a prefix");
    let text = instruction.to_ptx(Target::sm(90), Semantics::CURRENT, &mut registers);
    assert_eq!(text.as_deref(), Ok("mad.lo.s32 d, a, b, 6;"));
}
