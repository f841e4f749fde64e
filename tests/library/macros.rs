//! `asm` statements that come from macros of the same file and of headers.
//!
//! `VPTX_SAMPLES` multiplies the number of random macros, and `VPTX_ASM_SEED` selects them. The
//! ignored test compares with `gcc -E`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::asm::compared;
use crate::support::random::Random;
use crate::support::{fixture, fixture_text, samples, setting};
use vptx::analysis::{check, check_counted, fix};
use vptx::check::{CheckOptions, Language};
use vptx::diagnostic::{Applicability, Diagnostic};
use vptx::embed::{Header, Headers, Include};

fn options() -> CheckOptions {
    CheckOptions::default().with_language(Language::Cuda)
}

fn found(source: &str) -> Vec<Diagnostic> {
    check(source, &options())
}

/// The code of each finding, and the text that it marks.
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
    assert_eq!((finding.code.text(), finding.span.text(&source)), ("V101", "adx"));
    let statement = finding.statement.expect("it has a statement");
    assert_eq!(statement.text(&source), "VADD(adx, d, a, b)");
    let label = finding.labels.last().expect("it has a label");
    assert_eq!(label.span.text(&source), "\"v\"");
    assert!(label.text.contains("`VADD`"));
    assert!(finding.fixes.is_empty());
}

/// The words of an argument are one text, as they stand in the use.
#[test]
fn a_finding_points_to_all_words_of_an_argument() {
    for words in ["adx.s32", "adx.s32 .s32"] {
        let source = format!(
            "#define OP(op) asm(\"v\" #op \".s32.s32 %0, %1, %2;\" {OPERANDS})\nOP({words});"
        );
        let findings = found(&source);
        let [finding] = &findings[..] else { panic!("{findings:?}") };
        assert_eq!(finding.span.text(&source), words);
    }
}

#[test]
fn each_text_counts_once() {
    let source = format!("{VADD}VADD(adx, d, a, b); VADD(adx, x, y, z); VADD(ady, d, a, b);");
    let (count, findings) = check_counted(&source, &options());
    assert_eq!((count, findings.len()), (2, 2));
    // An `asm` in an argument is read where it stands.
    let source = format!(
        "#define ASM asm\n\
         #define TWO(x) ASM(\"vmin.u32.u32 %0, %1, %2;\" {OPERANDS}); x\n\
         TWO(asm(\"vadd.u32.u32 %0, %1, %2;\" {OPERANDS}))"
    );
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
    // After `#undef`, a word stands for itself.
    let opcode = "#define STR_(x) #x\n#define STR(x) STR_(x)\n#define adx add\n";
    let adx = format!("asm(\"v\" STR(adx) \".u32.u32.u32 %0, %1, %2;\" {OPERANDS});\n");
    assert_eq!(count(&[opcode, &adx]), 0);
    assert_eq!(count(&[opcode, "#undef adx\n", &adx]), 1);
    // Definitions inside branches of `#if`.
    let (a, or, end) = ("#ifdef A\n", "#else\n", "#endif\n");
    assert_eq!(count(&[a, bad, end, &used]), 1);
    assert_eq!(count(&[a, bad, or, good, end, &used]), 0);
    assert_eq!(count(&[a, bad, or, bad, end, &used]), 1);
    assert_eq!(count(&[a, good, or, bad, &used, end]), 1);
    assert_eq!(count(&[bad, a, "#undef T\n", good, end, &used]), 0);
    assert_eq!(count(&[bad, "#if 0\n", "#undef T\n", good, end, &used]), 1);
    assert_eq!(count(&["#if 0\n", bad, &used, end]), 0);
    assert_eq!(count(&["#ifndef T\n", bad, end, &used]), 1);
    // Only one of the branches has another definition.
    assert_eq!(count(&[good, a, bad, or, end, &used]), 0);
    assert_eq!(count(&[good, a, bad, end, &used]), 0);
    // All branches have the same other definition.
    assert_eq!(count(&[good, a, bad, or, bad, end, &used]), 1);
}

#[test]
fn nothing_unknown_is_judged() {
    let text = "#define STR_(x) #x\n#define STR(x) STR_(x)\n";
    let about = |pieces: &str| told(&format!("{text}asm({pieces} {OPERANDS});"));
    // `TYPE` may be a macro of a header, so nothing is reported.
    assert_eq!(about(r#""vadd." STR(TYPE) ".u32.u32 %0, %1, %2;""#), [""; 0]);
    assert_eq!(about(r#""vadd" TYPES " %0, %1, %2;""#), [""; 0]);
    assert_eq!(about(r#""vadd" STR(.u32.u32.T) " %0, %1, %2;""#), [""; 0]);
    // `#` does not expand its argument.
    let found = about(r#""vadd." STR_(TYPE) ".u32.u32 %0, %1, %2;""#);
    assert_eq!(found.first().map(String::as_str), Some("V102 .\" STR_(TYPE"));
    // A statement without macros in a definition is reported once, in the definition.
    let plain = format!("#define F(d) asm(\"vadx.u32.u32.u32 %0, %1, %2;\" {OPERANDS})\nF(x);");
    assert_eq!(told(&plain), ["V101 vadx"]);
    // Without a second argument, nothing is left of this.
    let optional = format!(
        "#define F(op, ...) __VA_OPT__(asm(\"v\" #op \".u32.u32.u32 %0, %1, %2;\" {OPERANDS});)\n\
         F(adx);"
    );
    assert_eq!(told(&optional), [""; 0]);
}

/// A number of the preprocessor goes on after its point, so a parameter does not replace the rest:
/// C++, [lex.ppnumber].
/// The text of each use, as `gcc -E` writes it. White space before an empty argument, or before a
/// macro without words, separates the words around it.
#[test]
fn what_is_empty_separates_and_joins_words() {
    let text = "#define STR_(...) #__VA_ARGS__\n#define STR(...) STR_(__VA_ARGS__)\n#define E\n\
                #define id(x) x\n#define tight(a, b, c) a ## b ## c\n#define loose(a, b, c) a b##c\n\
                #define after(a, b) u a##b\n#define u32_ u32\n#define none() u32\n";
    for (used, expected) in [
        ("tight(u,,32)", "u32"),
        ("tight(,u,32)", "u32"),
        ("tight(u,32,)", "u32"),
        ("tight(,,u32)", "u32"),
        ("tight(u32,,)", "u32"),
        ("loose(u,,32)", "u 32"),
        ("loose(,u,32)", "u32"),
        ("loose(,,u32)", "u32"),
        ("loose(u32,,)", "u32"),
        ("loose(u,,)32", "u 32"),
        ("u id()32", "u 32"),
        ("u E id()id(32)", "u 32"),
        ("id(u)id()32", "u32"),
        ("id(u)id(32)", "u32"),
        ("E E id(u)id(32)", "u32"),
        // An empty operand joins nothing, and leaves the word before it alone.
        ("after(,32)", "u 32"),
        // A macro without parameters takes no argument.
        ("none()", "u32"),
        // What `##` joins is not replaced first.
        ("tight(a,u32_,)", "au32_"),
        ("tight(u32_,a,)", "u32_a"),
        // A joined word may be a macro.
        ("tight(u,32,_)", "u32"),
    ] {
        let about = |ty: &str| {
            let used = format!("asm(\"vadd.\" {ty} \".u32.u32 %0, %1, %2;\" {OPERANDS});");
            let (count, findings) = check_counted(&format!("{text}{used}"), &options());
            let messages = findings.into_iter().map(|it| it.message);
            (count, messages.collect::<Vec<_>>())
        };
        let made = about(&format!("STR({used})"));
        assert_eq!(made, about(&format!("\"{expected}\"")), "{used}");
        assert_eq!(made.1.is_empty(), expected == "u32", "{used}: {made:?}");
    }
}

#[test]
fn parts_of_numbers_are_not_replaced() {
    let strings = "#define STR_(x) #x\n#define STR(x) STR_(x)\n";
    for (opcode, is_replaced) in [("STR(vadd4.f)", true), ("\"vadd\" STR(4.f)", false)] {
        let source = format!(
            "{strings}#define RUN(f) asm({opcode} \".u32.u32 %0, %1, %2, %2;\" {OPERANDS})\nRUN(u32);"
        );
        assert_eq!(found(&source).is_empty(), is_replaced, "{source}: {:?}", found(&source));
    }
}

/// A `'` between the digits of a number starts no character.
#[test]
fn numbers_have_separators() {
    let source = "#define IN(x) \"r\"(x)\nvoid f() { asm(\"vadd.u32.u32.u32 %0, %1, %2;\" : \
                  \"=r\"(d) : IN(p[1'0]), \"r\"(p[0xf'f])); }";
    assert_eq!(told(source), [""; 0]);
    assert_eq!(told(&source.replace("%2;", "%3;")), ["V701 %3"]);
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

/// An expansion costs 16 for each token of a definition that replaces a name, and again when the
/// token is searched for macros. The largest cost is 2^18, so the largest definition has less than
/// 2^13 = 8192 tokens.
#[test]
fn large_definitions_are_expanded() {
    for (tokens, is_expanded) in [(8100, true), (8200, false)] {
        let empty = "\"\" ".repeat(tokens - 1);
        let source =
            format!("#define A {empty}\"vadx\"\nasm(A \".u32.u32.u32 %0, %1, %2;\" {OPERANDS});");
        assert_eq!(found(&source).len(), usize::from(is_expanded), "{tokens}");
    }
}

/// Options with headers, given by name and text.
fn with_headers(headers: &[(&str, &str)]) -> CheckOptions {
    let named = |&(name, text): &(&str, &str)| (name.to_owned(), Arc::from(text));
    let texts: BTreeMap<String, Arc<str>> = headers.iter().map(named).collect();
    let find = move |include: Include<'_>| {
        let text = Arc::clone(texts.get(include.name)?);
        Some(Header { path: PathBuf::from(include.name), text })
    };
    options().with_headers(Some(Headers::new(find)))
}

fn used(name: &str) -> String {
    format!("asm(\"vadd\" {name} \" %0, %1, %2;\" {OPERANDS});\n")
}

#[test]
fn headers_count_where_they_are_included() {
    let (good, bad) = ("#define T \".u32.u32.u32\"\n", "#define T \".u32.u32.u3\"\n");
    let chain = "#include \"bad.h\"\n";
    let options = with_headers(&[
        ("good.h", good),
        ("bad.h", bad),
        ("chain.h", chain),
        ("loop.h", "#include <loop.h>\n#include \"bad.h\"\n"),
        ("open.h", &format!("#if X\n{bad}")),
        ("closed.h", &format!("#endif\n{bad}")),
        ("comment.h", "/* it has no end"),
        ("string.h", "\"no end"),
        ("joined.h", "\\"),
        ("empty.h", ""),
    ]);
    let count = |parts: &[&str]| check(&parts.concat(), &options).len();
    let t = &used("T");
    for name in ["bad.h", "chain.h", "loop.h", "open.h"] {
        for include in [format!("#include \"{name}\"\n"), format!(" # include <{name}> // x\n")] {
            assert_eq!(count(&[&include, t]), 1, "{include}");
            assert_eq!(count(&[t, &include]), 0, "{include}");
            assert_eq!(count(&["#if 0\n", &include, "#endif\n", t]), 0, "{include}");
            assert_eq!(count(&[&include, "#undef T\n", good, t]), 0, "{include}");
        }
    }
    for name in ["comment.h", "string.h", "joined.h", "empty.h", "missing.h", "closed.h"] {
        let include = format!("#include \"{name}\"\n");
        assert_eq!(count(&[&include, bad, t]), 1, "{include}");
        assert_eq!(count(&["#if Y\n", &include, "#else\n", good, "#endif\n", t]), 0, "{include}");
    }
    // A header is read only where it is included first.
    assert_eq!(count(&["#include \"bad.h\"\n#undef T\n#include \"bad.h\"\n", t]), 0);
}

#[test]
fn a_definition_in_a_header_is_named() {
    let header = format!("\n\n#define T \".u32.u32.u3\"\n{VADD}");
    let options = with_headers(&[("ptx/video.h", &header)]);
    let source = format!("#include <ptx/video.h>\n{}VADD(adx, d, a, b);", used("T"));
    let findings = check(&source, &options);
    let labels = |it: &Diagnostic| it.labels.iter().map(|it| it.text.clone()).collect::<Vec<_>>();
    let texts: Vec<_> = findings.iter().map(|it| (it.code.text(), labels(it))).collect();
    let made = |name: &str, line| vec![format!("made by the macro `{name}` of ptx/video.h:{line}")];
    assert_eq!(texts, [("V102", made("T", 3)), ("V101", made("VADD", 4))]);
    assert!(findings.iter().all(|it| it.span.end as usize <= source.len()));
    // A statement without macros in a header's definition is not reported where the macro is used.
    let plain = format!("#define F(d) asm(\"vadx.u32.u32.u32 %0, %1, %2;\" {OPERANDS})\n");
    let options = with_headers(&[("f.h", &plain)]);
    assert_eq!(check("#include \"f.h\"\nF(x);", &options).len(), 0);
}

/// Options that find headers in a folder of fixtures.
fn with_fixtures(folder: &'static str) -> CheckOptions {
    let find = move |include: Include<'_>| {
        let beside = include.from.and_then(Path::parent).unwrap_or(Path::new(""));
        [beside.join(include.name), PathBuf::from(include.name)].into_iter().find_map(|path| {
            let text = std::fs::read_to_string(fixture(folder).join(&path)).ok()?;
            Some(Header { path, text: text.into() })
        })
    };
    options().with_headers(Some(Headers::new(find)))
}

#[test]
fn the_corpus_has_the_findings_written_in_it() {
    for name in ["wrappers.cu", "headers.cu"] {
        let source = fixture_text(&format!("macros/{name}"));
        let findings = check(&source, &with_fixtures("macros/include"));
        let (cases, wrong) = compared(name, &source, &findings);
        assert!(wrong.is_empty(), "{wrong}");
        assert!(cases >= 8, "{name} has {cases}");
    }
}

/// The set of codes and messages of the findings.
fn said(source: &str, options: &CheckOptions) -> BTreeSet<(&'static str, String)> {
    check(source, options).iter().map(|it| (it.code.text(), it.message.clone())).collect()
}

/// The output of gcc's preprocessor for a source.
fn preprocessed(source: &str) -> String {
    let mut gcc = Command::new("gcc")
        .args(["-E", "-P", "-w", "-x", "c++", "-I"])
        .arg(fixture("macros/include"))
        .arg("-")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("gcc is installed");
    let mut input = gcc.stdin.take().expect("it is piped");
    input.write_all(source.as_bytes()).expect("gcc reads");
    drop(input);
    let output = gcc.wait_with_output().expect("gcc ends");
    assert!(output.status.success(), "{source}");
    String::from_utf8(output.stdout).expect("it is text")
}

#[test]
#[ignore = "needs gcc"]
fn the_preprocessor_agrees() {
    let options = &with_fixtures("macros/include");
    let mut with_findings = 0;
    let mut agree = |source: &str| {
        let expected = said(&preprocessed(source), &self::options());
        with_findings += usize::from(!expected.is_empty());
        assert_eq!(said(source, options), expected, "{source}");
    };
    for name in ["wrappers.cu", "headers.cu"] {
        // Lines with these two macros are left out: they test the header and branches.
        let source = fixture_text(&format!("macros/{name}"));
        let is_same = |line: &&str| !line.contains("VIDEO_PLAIN") && !line.contains("SIMD_TYPE");
        let lines: Vec<&str> = source.lines().filter(is_same).collect();
        agree(&lines.join("\n").replace("#include \"missing.cuh\"", ""));
    }
    let seed = setting("VPTX_ASM_SEED", 7);
    for case in 0..samples(300) {
        agree(&random_source(&mut Random::of_case(seed, case)).0);
    }
    assert!(with_findings > 100);
}

/// Writes a text as pieces of an `asm`, some of which are macros.
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

/// A source whose macros make up a text, and that text.
fn random_source(random: &mut Random) -> (String, &'static str) {
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
    let text = random.one_of(&TEXTS);
    let (mut defines, mut number) = (String::new(), 0);
    let pieces = wrapped(random, text, &mut defines, &mut number);
    let source = match random.below(3) {
        0 => format!("{defines}void f() {{ asm({pieces} {OPERANDS}); }}"),
        1 => format!("{defines}#define use(d) asm({pieces} {OPERANDS})\nvoid f() {{ use(d); }}"),
        _ => format!("{defines}#define use asm volatile\nvoid f() {{ use({pieces} {OPERANDS}); }}"),
    };
    (source, text)
}

#[test]
fn wrapped_texts_have_the_findings_of_plain_ones() {
    let seed = setting("VPTX_ASM_SEED", 7);
    let mut with_findings = 0;
    for case in 0..samples(500) {
        let (source, text) = random_source(&mut Random::of_case(seed, case));
        let plain = format!("void f() {{ asm(\"{text}\" {OPERANDS}); }}");
        let expected = said(&plain, &options());
        with_findings += usize::from(!expected.is_empty());
        assert_eq!(said(&source, &options()), expected, "case {case}:\n{source}");
        // If macros make the statement, its findings must lie in the function.
        let start = source.find("void").expect("it has a function");
        let by_macros = source.contains("#define m") || source.contains("volatile");
        let inside = |it: &Diagnostic| it.span.start as usize >= start;
        assert!(!by_macros || found(&source).iter().all(inside), "{source}");
    }
    assert!(with_findings > 100);
}
