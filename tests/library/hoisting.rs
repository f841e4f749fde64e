//! Saturating differences can share limits, which are computed before a loop.

use vptx::backend::ptx::{Gate, RewriteOptions, candidates, rewrite};
use vptx::isa::Target;
use vptx::{Instruction, Semantics, parse};

/// Rewrites a loop around `body`. The statement `written` stands before the loop.
fn looped(target: u16, written: &str, body: &str, options: &RewriteOptions) -> String {
    let text = format!(
        ".version 8.8\n.target sm_{target}\n.func f()\n{{\n.reg .b32 a, b, c, d, e, f, %r<9>;\n\
         .reg .b64 q;\n.reg .pred p;\n{written}\nround:\nld.global.v2.b32 {{a, c}}, [q];\n{body}\n\
         st.global.v2.b32 [q], {{d, e}};\n@p bra round;\n}}\n"
    );
    let (module, findings) = parse(&text);
    assert!(findings.iter().all(crate::support::is_about_results), "{text}: {findings:?}");
    let options = options.clone().with_target(Some(Target::sm(target)));
    rewrite(&module, &options).expect("a target").text()
}

/// The new statements before the loop, and the text of the loop.
fn parts<'t>(text: &'t str, written: &str) -> [&'t str; 2] {
    let (before, inside) = text.split_once("round:").expect(text);
    [before.split_once(written).expect(text).1.trim(), inside]
}

const LOAD: &str = "ld.global.b32 b, [q+8];";

/// The limits of two saturating differences depend only on the word that both subtract.
#[test]
fn limits_stand_before_loops() {
    let options = RewriteOptions::default();
    for (lanes, limit, saturating) in [("", "min.s32", "sub.sat"), ("2", "min.s16x2", "cvt.pack")] {
        let third = if lanes == "2" { ", c" } else { "" };
        let difference = |d, a, b| format!("vsub{lanes}.s32.s32.s32.sat {d}, {a}, {b}{third};");
        let two = difference("d", "a", "b") + &difference("e", "c", "b");
        let text = looped(90, LOAD, &two, &options);
        let [before, inside] = parts(&text, LOAD);
        assert!(before.contains(limit) && !inside.contains(saturating), "{text}");
        assert_eq!(inside.matches("min.s").count(), 2, "{text}");
        // A single difference, equal differences, and differences with different subtrahends share
        // no limits.
        for body in [
            difference("d", "a", "b"),
            difference("d", "a", "b") + &difference("e", "a", "b"),
            difference("d", "a", "b") + &difference("e", "b", "a"),
        ] {
            let text = looped(90, LOAD, &body, &options);
            assert!(!text.contains("min.s"), "{text}");
        }
        // Limits for a single difference would take more instructions.
        let single: Instruction = difference("d", "a", "b").parse().expect("legal");
        for (strategy, sequence) in candidates(&single, Semantics::CURRENT, Gate::ANY) {
            let is_limit = |opcode: String| opcode.starts_with(limit);
            let mut opcodes = sequence.lines().iter().map(|line| line.opcode.to_string());
            assert!(!opcodes.any(is_limit), "{lanes} {strategy}");
        }
    }
}
