//! Neighbouring comparisons of the same lanes are rewritten so that they compare in the same
//! direction.

use std::collections::HashSet;

use crate::support::EDGES;
use vptx::backend::ptx::{Arg, Outcome, RewriteOptions, Sequence, rewrite};
use vptx::video::Semantics;
use vptx::{Instruction, parse};

/// The instructions of a text, each with its sequence. The target has no sums of halves.
fn rewritten(body: &str, options: &RewriteOptions) -> Vec<(Instruction, Sequence)> {
    let text = format!(
        ".version 8.8\n.target sm_80\n.func f()\n{{\n.reg .b32 a, b, c, d, e;\n.reg .pred p;\n\
         {body}\n}}\n"
    );
    let (module, findings) = parse(&text);
    assert!(findings.is_empty(), "{text}: {findings:?}");
    let rewritten = rewrite(&module, options).expect("a target");
    let change = rewritten.changes.into_iter().map(|change| match change.outcome {
        Outcome::Rewritten(sequence) => (change.instruction.clone(), sequence),
        other => panic!("{}: {other:?}", change.instruction),
    });
    change.collect()
}

/// The values that a sequence computes, as nested calls.
fn values((instruction, sequence): &(Instruction, Sequence)) -> HashSet<String> {
    let sources = instruction.sources();
    let mut values: Vec<String> = Vec::new();
    for line in sequence.lines() {
        let arg = |arg: &Arg| match *arg {
            Arg::Input(input) => sources[input as usize].map_or("-", |it| it.name()).to_owned(),
            Arg::Line(at) => values[usize::from(at)].clone(),
            Arg::Constant(value) => value.to_string(),
            Arg::Register(_) => unreachable!("a sequence has inputs"),
        };
        let args: Vec<String> = line.args().iter().map(arg).collect();
        values.push(format!("{}({})", line.opcode, args.join(", ")));
    }
    values.into_iter().collect()
}

/// The number of values that the first and the last instruction of a text both compute, with
/// regions and without.
fn common(body: &str) -> [usize; 2] {
    let count = |regions| {
        let found = rewritten(body, &RewriteOptions::default().with_regions(regions));
        let [first, second] = [values(&found[0]), values(found.last().expect("a last one"))];
        first.intersection(&second).count()
    };
    [count(true), count(false)]
}

#[test]
fn neighbours_share_comparisons() {
    let mut turned = 0;
    for width in ["2", "4"] {
        for ty in ["u32", "s32"] {
            for extremum in ["vmin", "vmax"] {
                let extremum = format!("{extremum}{width}.{ty}.{ty}.{ty} d, a, b, c;");
                for compare in ["lt", "le", "gt", "ge", "lt.add", "gt.add"] {
                    for sources in ["a, b", "b, a"] {
                        let set = format!("vset{width}.{ty}.{ty}.{compare} e, {sources}, c;");
                        for body in [format!("{extremum}\n{set}"), format!("{set}\n{extremum}")] {
                            let [together, single] = common(&body);
                            // The shared values are two bitwise functions, a shift and a sum.
                            assert!(together >= 4 && together >= single, "{body}");
                            turned += usize::from(together > single);
                        }
                    }
                }
                let other = extremum.replace("a, b", "b, a");
                let [together, single] = common(&format!("{extremum}\n{other}"));
                assert!(together > 4 && single < 4, "{extremum}\n{other}");
            }
        }
    }
    // In half of the cases, the comparison is turned: it compares `b` with `a`.
    assert_eq!(turned, 2 * 2 * 2 * 6 * 2 * 2 / 2);
}

#[test]
fn others_stay_as_they_are() {
    let far = |count| {
        let between = "vadd4.u32.u32.u32.sat e, b, c, c;\n".repeat(count);
        format!("vmin4.u32.u32.u32 d, a, b, c;\n{between}vset4.u32.u32.gt e, a, b, c;")
    };
    for (body, is_shared) in [
        ("vmin4.u32.u32.u32 d, a, b, c;\nvset4.u32.u32.gt e, a, b, c;".to_owned(), true),
        ("@p vmin4.u32.u32.u32 d, a, b, c;\nvset4.u32.u32.gt e, a, b, c;".to_owned(), false),
        ("vmin4.u32.u32.u32 d, a, b, c;\nvset4.s32.s32.gt e, a, b, c;".to_owned(), false),
        ("vmin4.u32.u32.u32 d, a.b0123, b, c;\nvset4.u32.u32.gt e, a, b, c;".to_owned(), false),
        ("vmin4.u32.u32.u32 d, a, b, c;\nvset4.u32.u32.gt e, a, c, c;".to_owned(), false),
        ("vmin4.u32.u32.u32 d, a, b, c;\nvset4.u32.u32.eq e, a, b, c;".to_owned(), false),
        ("vmin2.u32.u32.u32 d, a, b, c;\nvset4.u32.u32.gt e, a, b, c;".to_owned(), false),
        (
            // The text also compares in the other direction.
            "vmin4.u32.u32.u32 d, a, b, c;\nvset4.u32.u32.lt c, a, b, c;\n\
             vset4.u32.u32.gt e, a, b, d;"
                .to_owned(),
            false,
        ),
        (
            "vmin4.u32.u32.u32 d, a, b, c;\n}\n.func g()\n{\n.reg .b32 a, b, c, d, e;\n\
             vset4.u32.u32.gt e, a, b, c;"
                .to_owned(),
            false,
        ),
        (far(23), true),
        (far(24), false),
        (
            // Nothing uses the result of the first one.
            "vset4.u32.u32.gt e, a, b, c;\nvset4.u32.u32.lt e, a, c, e;\n\
             vmin4.u32.u32.u32 d, a, b, c;"
                .to_owned(),
            false,
        ),
        (
            // The names are the same, but not the words.
            "vmin4.u32.u32.u32 d, a, b, c;\nmov.b32 b, d;\nvset4.u32.u32.gt e, a, b, c;".to_owned(),
            false,
        ),
    ] {
        let [together, single] = common(&body);
        assert_eq!(together > single, is_shared, "{body}");
    }
}

/// ptxas hoists what is the same in all rounds of a loop, so common steps save nothing there.
#[test]
fn loop_invariant_words_are_compared_as_they_are() {
    const LOAD: &str = "ld.b32 b, [c];";
    const ADD: &str = "vadd4.u32.u32.u32.sat b, a, c, d;";
    const AGAIN: &str = "@p bra round;";
    let is_exchanged = |before: &str, first: &str, end: &str| {
        let body = format!(
            "ld.b32 a, [e]; ld.b32 c, [e]; {before} round: {first} vmin4.u32.u32.u32 d, a, b, c;\n\
             vset4.u32.u32.gt e, a, b, c; {end}"
        );
        let [together, single] = [true, false]
            .map(|regions| rewritten(&body, &RewriteOptions::default().with_regions(regions)));
        together != single
    };
    for (before, first, end) in [
        (LOAD, "", AGAIN),
        (ADD, "", AGAIN),
        ("", ADD, AGAIN),
        ("", "mov.b32 b, a;", AGAIN),
        ("", "vadd4.u32.u32.u32.sat b, a, c, d; vmax4.u32.u32.u32 b, b, c, d;", AGAIN),
        // Also in an outer loop, the inner one hoists.
        ("outer: ld.b32 b, [c];", "", "@p bra round; @p bra outer;"),
    ] {
        assert!(!is_exchanged(before, first, end), "{before} {first} {end}");
    }
    for (before, first, end) in [
        (LOAD, "", ""),
        ("", LOAD, AGAIN),
        (LOAD, "", "add.u32 b, b, 1; @p bra round;"),
        (LOAD, "", "add.u32 a, a, 1; @p bra round;"),
        (LOAD, "vadd4.u32.u32.u32.sat b, a, b, d;", AGAIN),
        ("", "vadd4.u32.u32.u32.sat b, a, d, c;", AGAIN),
        // The third source, from the round before, counts.
        ("", "mad.lo.u32 b, a, c, d;", AGAIN),
        // The inner loop does not contain the comparison.
        (LOAD, "inner: @p bra inner;", ""),
        // The outer loop changes the word, and there is no other one.
        ("outer: ld.b32 b, [c];", "", "@p bra outer;"),
    ] {
        assert!(is_exchanged(before, first, end), "{before} {first} {end}");
    }
}

/// The result also stays the same if `c` is one of the exchanged sources.
#[test]
fn exchanged_sources_give_the_same_result() {
    let extrema = [
        ("vmin4.u32.u32.u32", "u32.u32"),
        ("vmax4.s32.s32.s32.sat", "s32.s32"),
        ("vmin4.s32.u32.u32.add", "u32.u32"),
    ];
    for (extremum, types) in extrema {
        for operands in ["d, a, b, c", "d.b20, a, b, c", "d.b20, a, b, a", "d.b3, a, b, b"] {
            let body = format!("{extremum} {operands};\nvset4.{types}.gt e, a, b, c;");
            let options = RewriteOptions::default();
            let (instruction, exchanged) = rewritten(&body, &options).swap_remove(0);
            let (_, natural) = rewritten(&body, &options.with_regions(false)).swap_remove(0);
            assert_ne!(exchanged, natural, "{body}");
            let program = instruction.lower(Semantics::CURRENT);
            for a in EDGES {
                for b in EDGES {
                    let c = match operands.as_bytes().last() {
                        Some(b'a') => a,
                        Some(b'b') => b,
                        _ => 0x80ff_7f01,
                    };
                    let [expected, found] = [program.eval(a, b, c), exchanged.eval(a, b, c)];
                    assert_eq!(found, expected, "{body}: {a:#x} {b:#x} {c:#x}");
                }
            }
        }
    }
}

/// Minima and maxima with a register that holds 0 depend only on signs.
#[test]
fn extrema_of_zero_are_short() {
    let lines = |moves: &str, extremum: &str, options: &RewriteOptions| {
        let text = format!(
            ".version 8.8\n.target sm_80\n.func f()\n{{\n.reg .b32 a, c, d, e, %r<9>;\n\
             vadd.s32.s32.s32 e, a, c;\n{moves}\n{extremum}\n}}\n"
        );
        let (module, findings) = parse(&text);
        assert!(findings.iter().all(crate::support::is_about_results), "{text}: {findings:?}");
        let rewritten = rewrite(&module, options).expect("a target");
        match &rewritten.changes.last().expect("one").outcome {
            Outcome::Rewritten(sequence) => sequence.lines().len(),
            // ptxas needs no more for an extremum of halves and another constant.
            Outcome::Kept => usize::MAX,
            other => panic!("{extremum}: {other:?}"),
        }
    };
    let options = RewriteOptions::default();
    for extremum in [
        "vmax4.s32.s32.s32 d, a, %r5, c;",
        "vmin4.s32.s32.s32 d, %r5, a, c;",
        "vmax2.s32.s32.s32 d, a, %r5, %r5;",
        "vmax4.u32.u32.u32 d, %r5, a, c;",
    ] {
        for moves in ["mov.u32 %r5, 0;", "mov.u32 %r5, 1; mov.u32 %r5, 0;"] {
            let known = lines(moves, extremum, &options);
            assert!(known <= 3, "{moves} {extremum}: {known}");
        }
        for (moves, options) in [
            ("mov.u32 %r5, 1;", options.clone()),
            ("mov.u32 %r5, e;", options.clone()),
            ("mov.u32 %r5, 0; add.u32 %r5, a, a;", options.clone()),
            ("mov.u32 %r5, 0;", options.clone().with_regions(false)),
        ] {
            assert!(lines(moves, extremum, &options) > 4, "{moves} {extremum}");
        }
    }
    // The types of the two sources differ.
    let mixed = "vmax4.s32.u32.s32 d, a, %r5, c;";
    assert_eq!(lines("mov.u32 %r5, 0;", mixed, &options), lines("", mixed, &options));
}
