//! Comments that suppress findings: what they cover, and how they are added.

use vptx::analysis::{add_ignores, check, check_plainly, fix};
use vptx::check::{CheckOptions, Language};
use vptx::diagnostic::{Applicability, Code, RuleSet, apply};

fn left(source: &str) -> Vec<String> {
    let found = check(source, &CheckOptions::default());
    found.iter().map(|it| format!("{} {}", it.code, it.span.text(source))).collect()
}

const DIFFERS: &str = "vadd.u32.u32.u32.sat d, a, b;";

#[test]
fn comments_suppress_beside_and_below() {
    let v501 = "V501 vadd.u32.u32.u32.sat";
    assert_eq!(left(DIFFERS), [v501]);
    for text in [
        format!("{DIFFERS} // vptx: ignore[V501] known"),
        format!("{DIFFERS} /* vptx: ignore[V501] */"),
        format!("// vptx: ignore[V501] known\n{DIFFERS}"),
        format!("// vptx: ignore[V5]\n// vptx: ignore[V401]\n{DIFFERS}")
            .replace("u32.sat", "sat.u32")
            .replace("V5]", "V501]"),
        format!("\t//vptx:ignore[result-differs, V50]\r\n{DIFFERS}"),
        format!("ret;\n// vptx: ignore-file[V501]\nret;\n{DIFFERS}"),
        format!("// vptx: ignore\n{DIFFERS}"),
        "// vptx: ignore[V501]\nvadd.u32.u32.u32\n .sat d, a, b;".into(),
        "vadd.u32\n .u32.u32.sat\n d, a, b; // vptx: ignore[V501]".into(),
        // Inside the statement, on any line.
        "vadd.u32\n .u32.u32.sat // vptx: ignore[V501]\n d, a,\n b;".into(),
        "vadd.u32\n .u32.u32.sat\n // vptx: ignore[V501]\n d, a,\n b;".into(),
        // Other comments in between do not count.
        format!("// vptx: ignore[V501]\n// sums\n/* are\n small */\n{DIFFERS}"),
        format!("/* a */ // vptx: ignore[V501]\n{DIFFERS}"),
        format!("{DIFFERS} {DIFFERS} // vptx: ignore[V501]"),
    ] {
        assert_eq!(left(&text), [""; 0], "{text}");
    }
    for text in [
        format!("{DIFFERS}\n{DIFFERS} // vptx: ignore[V501]"),
        format!("// vptx: ignore[V501]\n{DIFFERS}\n{DIFFERS}"),
        format!("{DIFFERS} // vptx: ignore[V501]\n\n\n{DIFFERS}"),
    ] {
        assert_eq!(left(&text), [v501], "{text}");
    }
}

#[test]
fn useless_and_wrong_comments_are_found() {
    assert_eq!(left("ret; // vptx: ignore[V501]"), ["V801 V501"]);
    assert_eq!(left("ret; // vptx: ignore"), ["V801 ignore"]);
    // The first of several is marked, and the others are named beside it.
    assert_eq!(left(&format!("{DIFFERS} // vptx: ignore[V401, V501, V502]")), ["V801 V401"]);
    // The rule is off, so nothing shows that the comment is unused.
    assert_eq!(left("ret; // vptx: ignore[V601]"), [""; 0]);
    assert_eq!(left("ret; // vptx: ignore[V999]"), ["V802 V999"]);
    assert_eq!(left("ret; // vptx: ignroe[V501]"), ["V802 ignroe"]);
    assert_eq!(left("ret; // vptx: ignore["), ["V802 ["]);
    for unknown in ["fmt", "fmt of", "fmt: off", "fmt offset"] {
        assert_eq!(left(&format!("ret;\n// vptx: {unknown}\n")), ["V802 fmt"], "{unknown}");
    }
    for known in ["fmt off", "fmt  on", "fmt off a table"] {
        assert_eq!(left(&format!("ret;\n// vptx: {known}\n")), [""; 0], "{known}");
    }
    assert_eq!(left("ret; // vptx: ignore[V501"), ["V802 ignore[V501"]);
    assert_eq!(left("ret; // vptx: ignore_file[V501]"), ["V802 ignore_file"]);
    // A blank line separates the comment from the next statement.
    let apart = format!("// vptx: ignore[V501]\n\n{DIFFERS}");
    assert_eq!(left(&apart), ["V801 V501", "V501 vadd.u32.u32.u32.sat"]);
    assert_eq!(left("ret; // vptx: fmt off"), [""; 0]);
    assert_eq!(left("ret; // see vptx: ignore[V501]"), [""; 0]);
}

/// A comment that is taken away leaves the line break, also one of two bytes.
#[test]
fn a_fix_keeps_line_breaks() {
    for (language, mark, text) in [
        (Language::Ptx, "//", "ret; // vptx: ignore[V501]\r\nret;\r\n"),
        (Language::Cuda, "//", "asm(\"ret;\"); // vptx: ignore[V501]\r\nint x;\r\n"),
        (Language::Python, "#", "x = 'asm(\"ret;\");' # vptx: ignore[V501]\r\ny = 1\r\n"),
    ] {
        let options = CheckOptions::default().with_language(language);
        let fixed = fix(text, &options, Applicability::Safe);
        assert_eq!(fixed.text, text.replace(&format!(" {mark} vptx: ignore[V501]"), ""));
    }
}

/// Where an error is, other rules do not judge. So nothing tells whether a comment is needed there.
#[test]
fn comments_at_errors_may_be_needed() {
    for comment in ["ignore[V501] why", "ignore[V501, V402]", "ignore-file[V501]"] {
        for (statement, error) in [
            ("vadd.u32.u32.sat d, a, b;", "V104"),
            ("vsub.s32.s32.s32.sat d.b2, a.b2, b.b9, c;", "V206"),
        ] {
            let text = format!("{statement} // vptx: {comment}");
            let found = left(&text);
            assert_eq!(found.len(), 1, "{text}: {found:?}");
            assert!(found[0].starts_with(error), "{text}: {found:?}");
            assert_eq!(left(&format!("// vptx: {comment}\n{statement}")).len(), 1, "{text}");
        }
        // An error elsewhere tells nothing about a comment at a statement.
        let apart = left(&format!("vadd.u32.u32.sat d, a, b;\n\nret; // vptx: {comment}"));
        assert_eq!(apart.len(), if comment.starts_with("ignore-file") { 1 } else { 2 });
    }
    // An error is suppressed itself.
    assert_eq!(left("vadd.u32.u32.sat d, a, b; // vptx: ignore[V104, V501]"), [""; 0]);
    // The rules on whole modules do not judge a text with errors.
    let module = |other: &str| {
        left(&format!(
            ".version 8.0\n.target sm_90\n.func (.reg .b32 d) f(.reg .b32 a)\n{{\n.reg .b32 t;\n\
             vadd.u32.u32.u32 t, a, 1; // vptx: ignore[V905]\n{other}\nmov.b32 d, a;\nret;\n}}\n"
        ))
    };
    assert_eq!(module(""), [""; 0]);
    assert_eq!(module("mov.b32 d a;"), ["V910 a"]);
    assert_eq!(module("mov.b32 d, t;"), ["V801 V905"]);
}

#[test]
fn removing_a_useless_comment_leaves_the_rest() {
    for (text, expected) in [
        ("ret; // vptx: ignore[V501] why\nret;", "ret;\nret;"),
        ("ret;\n  // vptx: ignore[V501]\nret;\n", "ret;\nret;\n"),
        ("ret; /* vptx: ignore[V501] */ ret;", "ret; ret;"),
        (
            "vadd.u32.u32.u32.sat d, a, b; // vptx: ignore[V501, V401, V1] why",
            "vadd.u32.u32.u32.sat d, a, b; // vptx: ignore[V501] why",
        ),
    ] {
        let found = check(text, &CheckOptions::default());
        assert_eq!(found[0].fixes[0].apply(text), expected);
    }
}

/// The codes that are still reported for a text that breaks V104, V403 and V501 and has
/// one comment; and the comment after the safe fixes of V802.
fn loose(words: &str) -> (String, String) {
    let text = format!("vadd.u32.u32 d, a, b; vadd.u32.u32.u32.sat d, a, b, c; // vptx: {words}");
    let found = check(&text, &CheckOptions::default());
    let codes: Vec<&str> = found.iter().map(|it| it.code.text()).collect();
    let wrong = found.iter().find(|it| it.code == Code::UnknownSuppression);
    let fix = wrong.and_then(|it| it.fixes.first());
    let fixed = fix.map_or(String::new(), |fix| fix.apply(&text));
    let comment = fixed.split_once("// vptx: ").map_or("", |(_, comment)| comment);
    (codes.join(" "), comment.into())
}

#[test]
fn what_is_not_written_exactly_suppresses_what_was_meant() {
    for words in [
        "ignore V501",
        "ignore: V501",
        "ignore(V501)",
        "ignore (V501)",
        "ignore {V501}",
        "ignore=V501",
        "ignore [V501]",
        "ignore:[V501]",
        "ignore result-differs",
        "ignore[V501",
        "ignore, V501",
    ] {
        let (codes, comment) = loose(words);
        assert_eq!(
            (codes.as_str(), comment.as_str()),
            ("V104 V403 V802", "ignore[V501]"),
            "{words}"
        );
    }
    for (words, codes, comment) in [
        ("ignore[V501] , V403", "V104 V802", "ignore[V501, V403]"),
        ("ignore[V501], V403 why", "V104 V802", "ignore[V501, V403] why"),
        ("ignore[V501][V403]", "V104 V802", "ignore[V501, V403]"),
        ("ignore[V501 V403] why", "V104 V802", "ignore[V501, V403] why"),
        ("ignore[V501; V403]", "V104 V802", "ignore[V501, V403]"),
        ("ignore V501 V403: why", "V104 V802", "ignore[V501, V403] why"),
        ("ignore V501, V403", "V104 V802", "ignore[V501, V403]"),
        ("ignore-file V1", "V501 V403 V802", "ignore-file[V1]"),
        // If the reason names codes, no others are meant.
        ("ignore because V501 is known", "V104 V403 V802", "ignore[V501] because V501 is known"),
        // An unknown code suppresses nothing.
        ("ignore V999", "V104 V501 V403 V802", ""),
        ("ignore result-difers", "V104 V501 V403 V802", ""),
        ("ignore_file[V501]", "V104 V501 V403 V802", "ignore-file[V501]"),
        ("disable[V501]", "V104 V501 V403 V802", "ignore[V501]"),
        ("disable-next-line V501", "V104 V501 V403 V802", "ignore V501"),
        ("NOLINT(V501)", "V104 V501 V403 V802", "ignore(V501)"),
        ("noqa: V501", "V104 V501 V403 V802", "ignore: V501"),
        ("allow(V501)", "V104 V501 V403 V802", "ignore(V501)"),
        // All rules.
        ("ignore", "", ""),
        ("ignore because sums are small", "", ""),
        ("ignore: because sums are small", "", ""),
        // A word with a hyphen is not always meant as a rule, nor is one that is like a rule's name.
        ("ignore well-known sums", "", ""),
        ("ignore saturate", "", ""),
    ] {
        let (left, fixed) = loose(words);
        assert_eq!((left.as_str(), fixed.as_str()), (codes, comment), "{words}");
    }
}

#[test]
fn blanket_suppressions_are_found_if_asked_for() {
    let rules = RuleSet::NONE.with(Code::BlanketSuppression);
    let found = |text: &str| check(text, &CheckOptions::default().with_rules(rules)).len();
    assert_eq!(found("ret; // vptx: ignore"), 1);
    assert_eq!(found("ret; // vptx: ignore-file because"), 1);
    assert_eq!(found("ret; // vptx: ignore[V501, ALL]"), 1);
    assert_eq!(found("ret; // vptx: ignore[V501]"), 0);
    assert_eq!(left("vadd.u32.u32.u32.sat d, a, b; // vptx: ignore"), [""; 0]);
}

#[test]
fn only_the_kind_of_file_is_found_of_what_is_no_text() {
    let text = "\0 // vptx: ignroe\nret; // vptx: ignore[V501]\n";
    assert_eq!(left(text), ["V008 \0"]);
    let plainly = check_plainly(text, &CheckOptions::default()).1;
    assert_eq!(plainly.len(), 1);
}

fn added(source: &str, language: Language) -> String {
    let options = CheckOptions::default().with_language(language);
    let done = add_ignores(source, &options);
    let again = add_ignores(&done.text, &options);
    assert_eq!((again.text.as_str(), again.rounds.len()), (done.text.as_str(), 0));
    let replayed =
        done.rounds.iter().fold(source.to_string(), |text, it| apply(&text, it).unwrap());
    assert_eq!(replayed, done.text);
    assert!(done.left.iter().all(|found| found.statement.is_none()), "{:?}", done.left);
    done.text
}

#[test]
fn comments_stand_beside_or_above() {
    for (before, after) in [
        (format!("{DIFFERS}\nret;"), format!("{DIFFERS} // vptx: ignore[V501]\nret;")),
        (format!("{DIFFERS}  \r\n"), format!("{DIFFERS} // vptx: ignore[V501]\r\n")),
        (format!("\t{DIFFERS} // sum"), format!("\t// vptx: ignore[V501]\n\t{DIFFERS} // sum")),
        (
            format!("{DIFFERS} // vptx: ignore[V401] why").replace("u32.sat", "sat.u32"),
            format!("{DIFFERS} // vptx: ignore[V401, V501] why").replace("u32.sat", "sat.u32"),
        ),
        (
            format!("// vptx: ignore[V401]\n{DIFFERS} // x").replace("u32.sat", "sat.u32"),
            format!("// vptx: ignore[V401, V501]\n{DIFFERS} // x").replace("u32.sat", "sat.u32"),
        ),
        (
            format!("/* two\n lines */ {DIFFERS} // x"),
            format!("/* two\n lines */ /* vptx: ignore[V501] */ {DIFFERS} // x"),
        ),
        (
            "vadd.sat.u32.u32\n.u32 d, a, b;".into(),
            "vadd.sat.u32.u32\n.u32 d, a, b; // vptx: ignore[V401, V501]".into(),
        ),
        ("ret;\n".into(), "ret;\n".into()),
    ] {
        assert_eq!(added(&before, Language::Ptx), after);
    }
}

#[test]
fn comments_in_sources_of_cuda_are_those_of_c() {
    let v501 = "vadd.u32.u32.u32.sat %0, %1, %2;";
    let operands = ": \"=r\"(d) : \"r\"(a), \"r\"(b));";
    for (before, after) in [
        (
            format!("asm(\"{v501}\" {operands}\n"),
            format!("asm(\"{v501}\" {operands} // vptx: ignore[V501]\n"),
        ),
        (
            format!("  asm(\"{v501}\" {operands} // sum\n"),
            format!("  // vptx: ignore[V501]\n  asm(\"{v501}\" {operands} // sum\n"),
        ),
        (
            format!("asm(\"mov.u32 %0, 0;\"\n    \"{v501}\"\n    {operands}"),
            format!("asm(\"mov.u32 %0, 0;\"\n    \"{v501}\" // vptx: ignore[V501]\n    {operands}"),
        ),
        (
            format!("  asm(R\"(\n {v501}\n)\"\n  {operands}"),
            format!("  // vptx: ignore[V501]\n  asm(R\"(\n {v501}\n)\"\n  {operands}"),
        ),
        (
            format!("#define F \\\n    asm(\"{v501}\" \\\n  {operands}\n"),
            format!("#define F \\\n    asm(\"{v501}\" /* vptx: ignore[V501] */ \\\n  {operands}\n"),
        ),
        (
            format!("#define F \\\n    asm(\"{v501}\" /* sum */ \\\n  {operands}\n"),
            format!(
                "#define F \\\n    /* vptx: ignore[V501] */ \\\n    asm(\"{v501}\" /* sum */ \\\n  {operands}\n"
            ),
        ),
    ] {
        assert_eq!(added(&before, Language::Cuda), after);
    }
}

/// The same holds for a source of CUDA in a string of Python.
#[test]
fn comments_in_strings_with_cuda_are_those_of_c() {
    let v501 = "vadd.u32.u32.u32.sat %0, %1, %2;";
    let operands = ": \"=r\"(d) : \"r\"(a), \"r\"(b));";
    let source = |comment: &str| {
        format!(
            "SOURCE = r\"\"\"\n__global__ void f() {{\n  asm(\"{v501}\" {operands}{comment}\n}}\n\
             \"\"\"\n"
        )
    };
    assert_eq!(added(&source(""), Language::Python), source(" // vptx: ignore[V501]"));
}

/// A comment above an `asm` is about all its lines, so it takes the codes of a later line.
#[test]
fn a_comment_above_a_statement_takes_more_codes() {
    let both = DIFFERS.replace("u32.sat d, a, b", "sat.u32 %0, %1, %2");
    let source = |codes: &str| {
        format!(
            "// vptx: ignore[{codes}]\nasm(\"mov.u32 %0, 0;\"\n    \"{both}\"\n    \
             : \"=r\"(d) : \"r\"(a), \"r\"(b));\n"
        )
    };
    assert_eq!(added(&source("V401"), Language::Cuda), source("V401, V501"));
}

#[test]
fn a_comment_takes_the_place_of_blanks() {
    let text = format!("vadd.s32.s32.s32 d, a;{}\nvmad.s32 d;\n", " ".repeat(60));
    let done = add_ignores(&text, &CheckOptions::default());
    assert!(left(&text).len() > 1 && left(&done.text).is_empty(), "{}", done.text);
}

/// The comment stands before the backslash that joins the lines of a macro, or above the macro.
#[test]
fn a_comment_leaves_joined_lines_joined() {
    for end in ["\\\n", "\\ \n", "\\\t\r\n", "/* c */ \\ \n"] {
        let asm = "asm(\"vadd.s32.s32 %0, %1, %1;\" : \"=r\"(d) : \"r\"(a))";
        let source = format!("#define F(d, a) {end}  {asm}; {end}  d++\nint x;\n");
        let options = CheckOptions::default().with_language(Language::Cuda);
        let done = add_ignores(&source, &options);
        assert!(done.text.contains("vptx: ignore[V104]"), "{end:?}: {}", done.text);
        assert!(!done.text.contains("//"), "{end:?}: {}", done.text);
        assert_eq!(check(&done.text, &options), [], "{end:?}: {}", done.text);
    }
}

/// A quote that starts directly after a slash may hold another quote.
#[test]
fn comments_are_found_after_any_character() {
    let source = r#"int q = n/'"'; asm("vadd.s32.s32 %0, %1, %1;" : "=r"(d) : "r"(a)); // vptx: ignore[V104]"#;
    let options = CheckOptions::default().with_language(Language::Cuda);
    assert_eq!(check(source, &options), []);
}
