//! Neighbouring comparisons of the same lanes, rewritten in the same direction.

use std::collections::HashSet;

use crate::support::EDGES;
use vptx::backend::ptx::{Arg, Outcome, RewriteOptions, Sequence, rewrite};
use vptx::ir::Input;
use vptx::isa::Target;
use vptx::video::Semantics;
use vptx::{Instruction, parse};

/// The instructions of a text, each with its sequence. The text is for a target without sums of
/// halves.
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

/// How many values two instructions of a text have in common.
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
                            // Two bitwise functions, a shift, a sum.
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
    // In half of them `b` is compared with `a`.
    assert_eq!(turned, 2 * 2 * 2 * 6 * 2 * 2 / 2);
}

#[test]
fn others_stay_as_they_are() {
    let far = "vadd4.u32.u32.u32.sat e, b, c, c;\n".repeat(8);
    for (body, is_shared) in [
        ("vmin4.u32.u32.u32 d, a, b, c;\nvset4.u32.u32.gt e, a, b, c;".to_owned(), true),
        ("@p vmin4.u32.u32.u32 d, a, b, c;\nvset4.u32.u32.gt e, a, b, c;".to_owned(), false),
        ("vmin4.u32.u32.u32 d, a, b, c;\nvset4.s32.s32.gt e, a, b, c;".to_owned(), false),
        ("vmin4.u32.u32.u32 d, a.b0123, b, c;\nvset4.u32.u32.gt e, a, b, c;".to_owned(), false),
        ("vmin4.u32.u32.u32 d, a, b, c;\nvset4.u32.u32.gt e, a, c, c;".to_owned(), false),
        ("vmin4.u32.u32.u32 d, a, b, c;\nvset4.u32.u32.eq e, a, b, c;".to_owned(), false),
        ("vmin2.u32.u32.u32 d, a, b, c;\nvset4.u32.u32.gt e, a, b, c;".to_owned(), false),
        (format!("vmin4.u32.u32.u32 d, a, b, c;\n{far}vset4.u32.u32.gt e, a, b, c;"), false),
    ] {
        let [together, single] = common(&body);
        assert_eq!(together > single, is_shared, "{body}");
    }
}

/// Also where `c` is a source that is exchanged.
#[test]
fn exchanged_sources_give_the_same_result() {
    for extremum in ["vmin4.u32.u32.u32", "vmax4.s32.s32.s32.sat", "vmin2.s32.u32.u32.add"] {
        for operands in ["d, a, b, c", "d, a, b, a", "d, a, b, b"] {
            for mask in if extremum.contains('4') { [".b20", ""] } else { ["", ""] } {
                let extremum =
                    format!("{extremum} {};", operands.replacen('d', &format!("d{mask}"), 1));
                let types = if extremum.contains("u32.u32") { "u32.u32" } else { "s32.s32" };
                let width = &extremum[4..5];
                let body = format!("{extremum}\nvset{width}.{types}.gt e, a, b, c;");
                let options = RewriteOptions::default().with_target(Some(Target::sm(80)));
                let found = rewritten(&body, &options);
                let [exchanged, natural] =
                    [&found[0].1, &rewritten(&body, &options.clone().with_regions(false))[0].1];
                assert_ne!(exchanged, natural, "{body}");
                let program = found[0].0.lower(Semantics::CURRENT);
                for a in EDGES {
                    for b in EDGES {
                        for c in [0, 0x80ff_7f01] {
                            let c = if operands.ends_with('a') { a } else { c };
                            let c = if operands.ends_with('b') { b } else { c };
                            assert_eq!(
                                exchanged.eval(a, b, c),
                                program.eval(a, b, c),
                                "{body}: {a:#x} {b:#x} {c:#x}"
                            );
                        }
                    }
                }
            }
        }
    }
}
