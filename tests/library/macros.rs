//! `asm` statements that macros of the same file make.
//!
//! `VPTX_MACRO_CASES` sets the number of random wrappings, and `VPTX_ASM_SEED` selects them.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use crate::asm::{Random, setting};
use vptx::analysis::{check, check_counted, fix};
use vptx::check::{CheckOptions, Language};
use vptx::diagnostic::{Applicability, Diagnostic};

fn options() -> CheckOptions {
    CheckOptions::default().with_language(Language::Cuda)
}

fn found(source: &str) -> Vec<Diagnostic> {
    check(source, &options())
}

/// Codes and places.
fn told(source: &str) -> Vec<String> {
    found(source).iter().map(|it| format!("{} {}", it.code, it.span.text(source))).collect()
}

const OPERANDS: &str = r#": "=r"(d) : "r"(a), "r"(b)"#;
const VADD: &str = "#define VADD(op, d, a, b) \\\n  asm(\"v\" #op \".s32.s32.s32 %0, %1, %2;\" \
                    : \"=r\"(d) : \"r\"(a), \"r\"(b))\n";

#[test]
fn a_finding_points_to_the_use_and_to_the_definition() {
    let source = format!("{VADD}void f() {{ VADD(add, d, a, b); VADD(adx, d, a, b); }}");
    let findings = found(&source);
    assert_eq!(findings.len(), 1);
    let finding = &findings[0];
    assert_eq!((finding.code.text(), finding.span.text(&source)), ("V101", "VADD(adx"));
    let statement = finding.statement.expect("it has a statement");
    assert_eq!(statement.text(&source), "VADD(adx, d, a, b)");
    let label = finding.labels.last().expect("it has a label");
    assert_eq!(label.span.text(&source), "\"v\"");
    assert!(label.text.contains("`VADD`"));
    assert!(finding.fixes.is_empty());
}

#[test]
fn each_text_counts_once() {
    let source = format!("{VADD}VADD(adx, d, a, b); VADD(adx, x, y, z); VADD(ady, d, a, b);");
    let (count, findings) = check_counted(&source, &options());
    assert_eq!((count, findings.len()), (2, 2));
}

#[test]
fn a_comment_at_the_use_suppresses() {
    let source = format!("{VADD}VADD(adx, d, a, b); // vptx: ignore[V101]\n");
    assert_eq!(told(&source), [""; 0]);
}

#[test]
fn only_a_literal_outside_of_macros_is_fixed() {
    let own =
        |text: &str| format!("#define END \" %0, %1, %2;\"\nasm(\"vadd{text}\" END {OPERANDS});");
    let fixed = |source: &str| fix(source, &options(), Applicability::Safe).text;
    assert_eq!(fixed(&own(".sat.s32.s32.s32")), own(".s32.s32.s32.sat"));
    let shared =
        format!("#define OP \"vadd.sat.s32.s32.s32\"\nasm(OP \" %0, %1, %2;\" {OPERANDS});");
    assert_eq!(found(&shared).len(), 1);
    assert_eq!(fixed(&shared), shared);
    let passed = format!(
        "#define RUN(...) asm(__VA_ARGS__)\nRUN(\"vadd.sat.s32.s32.s32 %0, %1, %2;\" {OPERANDS});"
    );
    assert_eq!(found(&passed).len(), 1);
    assert_eq!(fixed(&passed), passed);
}

#[test]
fn directives_count_in_their_order() {
    let used = format!("asm(\"vadd\" T \" %0, %1, %2;\" {OPERANDS});\n");
    let (good, bad) = ("#define T \".u32.u32.u32\"\n", "#define T \".u32.u32.u3\"\n");
    let count = |parts: &[&str]| found(&parts.concat()).len();
    assert_eq!(count(&[bad, &used]), 1);
    assert_eq!(count(&[&used, bad]), 0);
    assert_eq!(count(&[bad, "#undef T\n", &used]), 0);
    assert_eq!(count(&[bad, "#undef T\n", good, &used]), 0);
    assert_eq!(count(&[good, &used, "#undef T\n", bad, &used]), 1);
    // Definitions of branches.
    let (a, or, end) = ("#ifdef A\n", "#else\n", "#endif\n");
    assert_eq!(count(&[a, bad, end, &used]), 1);
    assert_eq!(count(&[a, bad, or, good, end, &used]), 0);
    assert_eq!(count(&[a, bad, or, bad, end, &used]), 1);
    assert_eq!(count(&[a, good, or, bad, &used, end]), 1);
    assert_eq!(count(&[bad, a, "#undef T\n", good, end, &used]), 0);
    assert_eq!(count(&[bad, "#if 0\n", "#undef T\n", good, end, &used]), 1);
    assert_eq!(count(&["#if 0\n", bad, &used, end]), 0);
    assert_eq!(count(&["#ifndef T\n", bad, end, &used]), 1);
}

#[test]
fn nothing_unknown_is_judged() {
    let text = "#define STR_(x) #x\n#define STR(x) STR_(x)\n";
    let about = |pieces: &str| told(&format!("{text}asm({pieces} {OPERANDS});"));
    // It may be a macro of a header.
    assert_eq!(about(r#""vadd." STR(TYPE) ".u32.u32 %0, %1, %2;""#), [""; 0]);
    assert_eq!(about(r#""vadd" TYPES " %0, %1, %2;""#), [""; 0]);
    // `#` alone leaves its argument as it is.
    let found = about(r#""vadd." STR_(TYPE) ".u32.u32 %0, %1, %2;""#);
    assert_eq!(found.first().map(String::as_str), Some("V102 STR_(TYPE)"));
    // A statement without macros is reported in the definition alone.
    let plain = format!("#define F(d) asm(\"vadx.u32.u32.u32 %0, %1, %2;\" {OPERANDS})\nF(x);");
    assert_eq!(told(&plain), ["V101 vadx"]);
}

#[test]
fn work_is_bounded() {
    let used = "asm(A \"vadd.u32 %0;\" : \"=r\"(d)); ";
    let mut doubling = String::new();
    for at in 0..64 {
        let _ = writeln!(doubling, "#define A{at} A{0} A{0}", at + 1);
    }
    doubling.push_str("#define A A0\n#define A64 \"vadx\"\n");
    let mut many = String::new();
    for at in 0..100_000 {
        let _ = writeln!(many, "#define M{at} M{} asm", at + 1);
    }
    let texts = [
        doubling + &used.repeat(1000),
        format!("#define A A B\n#define B A B A\n{}", used.repeat(10_000)),
        format!("#define A(x) x x\n#define B asm(A\n{}", "A(".repeat(100_000)),
        format!("#define A(x) asm(x x)\n{}", "A(".repeat(5000) + &")".repeat(5000)),
        format!("{}asm(A)", "#if X\n#define A \"x\"\n".repeat(100_000)),
        many + "M0 asm(M5 \"vadd\")",
    ];
    for text in texts {
        let start = Instant::now();
        assert_eq!(found(&text).len(), 0);
        let time = start.elapsed();
        assert!(time < Duration::from_secs(20), "{time:?} for {}", &text[..40]);
    }
}

/// A string as the pieces of an `asm`, some of them made by macros.
fn wrapped(random: &mut Random, text: &str, defines: &mut String, number: &mut usize) -> String {
    let cuts = random.below(4) + 1;
    let size = text.len().div_ceil(cuts).max(1);
    let mut pieces = Vec::new();
    for piece in text.as_bytes().chunks(size) {
        let piece = std::str::from_utf8(piece).expect("it is ASCII");
        *number += 1;
        let name = format!("m{number}");
        let is_word = piece.bytes().all(|byte| byte.is_ascii_alphanumeric());
        let is_balanced = !piece.contains(',') && !piece.ends_with(' ') && !piece.starts_with(' ');
        pieces.push(match random.below(6) {
            0 => {
                let _ = writeln!(defines, "#define {name} \"{piece}\"");
                name
            }
            1 => {
                let _ =
                    writeln!(defines, "#define {name}_ \"{piece}\"\n#define {name}(x) x {name}_");
                format!("{name}(\"\")")
            }
            2 if is_balanced => {
                let _ = writeln!(defines, "#define {name}(x) #x");
                format!("{name}({piece})")
            }
            3 if is_balanced => {
                let _ = writeln!(defines, "#define {name}_(...) #__VA_ARGS__");
                let _ = writeln!(defines, "#define {name}(x) {name}_(x)");
                format!("{name}({piece})")
            }
            4 if is_word && piece.len() > 1 && piece.as_bytes()[0].is_ascii_alphabetic() => {
                let _ = writeln!(defines, "#define {name}_(x) #x\n#define {name}s(x) {name}_(x)");
                let _ = writeln!(defines, "#define {name}(a, b) {name}s(a##b)");
                format!("{name}({}, {})", &piece[..1], &piece[1..])
            }
            _ => format!("\"{piece}\""),
        });
    }
    pieces.join(" ")
}

#[test]
fn wrapped_texts_have_the_findings_of_plain_ones() {
    const TEXTS: [&str; 9] = [
        "vadd.s32.s32.s32 %0, %1, %2;",
        "vadd.sat.s32.s32.s32 %0, %1, %2;",
        "vadd4.u32.u32 %0, %1, %2, %0;",
        "vabsdif4.u32.u32.u32.add %0, %1, %2, %0;",
        "vset.u32.u32.lt %0, %1, %2; vsub.u32.u32.u32.foo %0, %1, %2;",
        "vmad.u32.u32.u32.shr7 %0, %1, %2, %9;",
        "mov.u32 %0, 1; vmax.s32.s32.s32.min %0, %1.b0, %2.h3, %0;",
        "vshl.u32.u32.u32.clamp %0, %1, %2;",
        "vavrg4.u32.u32.u32 %0, %1, %2",
    ];
    let seed = setting("VPTX_ASM_SEED", 7);
    let mut with_findings = 0;
    for case in 0..setting("VPTX_MACRO_CASES", 500) {
        let random = &mut Random::new(seed, case);
        let text = random.pick(&TEXTS);
        let (mut defines, mut number) = (String::new(), 0);
        let pieces = wrapped(random, text, &mut defines, &mut number);
        let source = match random.below(3) {
            0 => format!("{defines}void f() {{ asm({pieces} {OPERANDS}); }}"),
            1 => {
                format!("{defines}#define use(d) asm({pieces} {OPERANDS})\nvoid f() {{ use(d); }}")
            }
            _ => format!(
                "{defines}#define use asm volatile\nvoid f() {{ use({pieces} {OPERANDS}); }}"
            ),
        };
        let plain = format!("void f() {{ asm(\"{text}\" {OPERANDS}); }}");
        let codes = |source: &str| {
            let mut codes: Vec<_> = found(source).iter().map(|it| it.code.text()).collect();
            codes.sort_unstable();
            codes
        };
        let expected = codes(&plain);
        with_findings += usize::from(!expected.is_empty());
        assert_eq!(codes(&source), expected, "case {case}:\n{source}");
        // A statement whose text is plain is reported in its definition.
        let start = source.find("void").expect("it has a function");
        let is_plain = !pieces.contains('m') || pieces == format!("\"{text}\"");
        let inside = |it: &Diagnostic| it.span.start as usize >= start;
        let pieces_are_made = defines.contains("#define m");
        assert!(is_plain || !pieces_are_made || found(&source).iter().all(inside), "{source}");
    }
    assert!(with_findings > 100);
}
