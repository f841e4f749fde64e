//! Saturating differences with the same subtrahend.

use crate::support::EDGES;
use vptx::backend::ptx::{Outcome, RewriteOptions, Sequence, rewrite};
use vptx::parse;

/// The sequences of all instructions of a text, in order.
fn sequences(body: &str, options: &RewriteOptions) -> Vec<Sequence> {
    let text = format!(
        ".version 8.8\n.target sm_90\n.func f()\n{{\n.reg .b32 a, b, c, d, e, f, g, h;\n\
         .reg .b64 q;\n.reg .pred p;\n{body}\n}}\n"
    );
    let (module, findings) = parse(&text);
    assert!(findings.iter().all(crate::support::is_about_results), "{text}: {findings:?}");
    let rewritten = rewrite(&module, options).expect("a target");
    let change = rewritten.changes.into_iter().map(|change| match change.outcome {
        Outcome::Rewritten(sequence) => sequence,
        other => panic!("{}: {other:?}", change.instruction),
    });
    change.collect()
}

/// The number of instructions that use shared limits.
fn sharing(body: &str) -> usize {
    let [together, apart] = [true, false]
        .map(|regions| sequences(body, &RewriteOptions::default().with_regions(regions)));
    together.iter().zip(&apart).filter(|(together, apart)| together != apart).count()
}

const THREE: [&str; 3] = [
    "vsub.s32.s32.s32.sat d, a, b;",
    "vsub.s32.s32.s32.sat e, d, b;",
    "vsub.s32.s32.s32.sat f, c, b;",
];

#[test]
fn three_neighbours_share_limits() {
    let [first, second, third] = THREE;
    for (body, count) in [
        (THREE.join("\n"), 3),
        (format!("{first} {second}"), 0),
        (format!("{first} {second} vmax.s32.s32.s32 g, a, c; // between\n{third}"), 3),
        (format!("{first} st.global.u32 [q], d; {second} mov.b32 g, c; {third}"), 3),
        (format!("{first} {second} vsub.s32.s32.s32.sat.max g, c, b, a;"), 3),
        // ptxas computes equal differences once, and the difference of a word and itself is 0.
        (format!("{first} {second} vsub.s32.s32.s32.sat.max g, a, b, c;"), 0),
        (format!("{first} {second} vsub.s32.s32.s32.sat g, b, b;"), 0),
        // A statement in between writes the subtrahend or starts another basic block.
        (format!("{first} {second} mov.b32 b, c; {third}"), 0),
        (format!("{first} {second} vsub.s32.s32.s32.sat b, c, b; {third}"), 3),
        (format!("{first} vsub.s32.s32.s32.sat b, c, b; {second} {third}"), 0),
        (format!("{first} {second} @p bra L; {third} L:"), 0),
        (format!("{first} {second} L: {third}"), 0),
        // Differences with other words or types, or with a guard.
        (format!("{first} {second} vsub.s32.s32.s32.sat g, c, h;"), 0),
        (format!("{first} {second} vsub.s32.u32.u32.sat g, c, b;"), 0),
        (format!("{first} {second} @p {third}"), 0),
        (format!("{first} {second} {}", "vmax.s32.s32.s32 g, a, c;\n".repeat(9)) + third, 0),
    ] {
        assert_eq!(sharing(&body), count, "{body}");
    }
    // On sm_120, a saturating difference is one machine instruction.
    let target = Some(vptx::isa::Target::sm(120));
    let options = RewriteOptions::default().with_target(target);
    let single = options.clone().with_regions(false);
    assert_eq!(sequences(&THREE.join("\n"), &options), sequences(&THREE.join("\n"), &single));
}

/// A difference may need both limits, only one because the sign of its first word is known, or
/// none.
#[test]
fn limits_saturate() {
    let both = THREE.join("\n");
    let found = sequences(&both, &RewriteOptions::default());
    for x in EDGES {
        for y in EDGES {
            let difference = x.cast_signed().saturating_sub(y.cast_signed()).cast_unsigned();
            assert_eq!(found[0].eval(x, y, 0), difference, "{x:#x} - {y:#x}");
        }
    }
    for (result, holds) in [("vmax", true), ("vmin", false)] {
        let body: Vec<String> = (1..=3)
            .map(|at| {
                format!(
                    "{result}.s32.s32.s32 %r{at}, a, {at}; vsub.s32.s32.s32.sat %r5, %r{at}, b;"
                )
            })
            .collect();
        let text = format!(".reg .b32 %r<6>;\n{}", body.join("\n"));
        let found = sequences(&text, &RewriteOptions::default());
        for x in EDGES.into_iter().filter(|x| (x.cast_signed() > 3) == holds) {
            for y in EDGES {
                let difference = x.cast_signed().saturating_sub(y.cast_signed()).cast_unsigned();
                assert_eq!(found[1].eval(x, y, 0), difference, "{result} {x:#x} - {y:#x}");
            }
        }
    }
}
