//! Lines that are the same in each iteration of a loop stand before the loop: limits that saturating
//! differences share, and parts of words.

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
        // The new statements stand on lines of their own.
        assert!(text.contains(&format!("\n{LOAD}\n")), "{text}");
        assert!(before.lines().all(|line| line.matches(';').count() == 1), "{text}");
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

/// What extracts a part of a word from outside of the loop stands before the loop, once.
#[test]
fn parts_stand_before_loops() {
    let options = RewriteOptions::default();
    let two = "vmad.s32.s32.s32 d, a.h0, b.h1, c;\nvmad.s32.u32.s32 e, c.h1, b.h1, a;";
    let text = looped(80, LOAD, two, &options);
    let [before, inside] = parts(&text, LOAD);
    assert_eq!(before.matches("shr").count(), 1, "{text}");
    assert_eq!(inside.matches("%vptx_k0").count(), 2, "{text}");
    // Neither operand is written in the loop.
    let text = looped(80, LOAD, "vadd.s32.s32.s32 d, b.b1, b.b2;", &options);
    let [before, inside] = parts(&text, LOAD);
    assert!(before.contains("prmt") && !inside.contains("prmt"), "{text}");
    // One statement may write several words.
    let pair = "ld.global.v2.b32 {b, f}, [q+8];";
    let text =
        looped(80, pair, "vadd.s32.s32.s32 d, a, b.b1;\nvadd.s32.s32.s32 e, a, f.b1;", &options);
    let [before, _] = parts(&text, pair);
    assert!(before.contains(" b, ") && before.contains(" f, "), "{text}");
    for (target, body) in [
        // The word is written in the loop.
        (80, "vadd.s32.s32.s32 d, a.b1, c;"),
        (80, "ld.global.b32 b, [q+8];\nvadd.s32.s32.s32 d, b.b1, c;"),
        // These instructions are not looked at.
        (80, "@p vadd.s32.s32.s32 d, b.b1, c;"),
        (80, "vadd2.s32.s32.s32 d, b, a, c;"),
        (70, "vadd.s32.s32.s32 d, b.b1, c;"),
    ] {
        let text = looped(target, LOAD, body, &options);
        assert!(!text.contains("%vptx_k"), "{text}");
    }
    // Each word takes a register in the whole loop: with 16 or more, no further instruction hoists.
    let load = |word| format!("ld.global.b32 %r{word}, [q+{word}];");
    let words: String = (0..4).map(load).collect();
    let many = |word: usize| {
        let part = |part| format!("vadd.s32.s32.s32 d, %r{word}.b{part}, c;\n");
        let half = |part| format!("vadd.s32.s32.s32 d, %r{word}.h{part}, c;\n");
        (0..4).map(part).chain((0..2).map(half)).collect::<String>()
    };
    let text = looped(80, &words, &(0..4).map(many).collect::<String>(), &options);
    let has = |text: &str, number: u32| text.contains(&format!("%vptx_k{number}"));
    assert!(has(&text, 15) && !has(&text, 16), "{text}");
    // An instruction with two words is the last one.
    let last = "vabsdiff.s32.s32.s32 d, %r3.b3, %r2.b3;\n";
    let fifteen: String = (0..4).map(many).collect::<String>().lines().take(15).collect();
    let text = looped(80, &words, &(fifteen + last + last), &options);
    assert!(has(&text, 16) && !has(&text, 17), "{text}");
}
