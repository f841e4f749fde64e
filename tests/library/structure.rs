//! The rules on names and flow, for whole modules and for PTX in `asm`.

use std::fmt::Write as _;

use vptx::analysis::{add_ignores, check, check_counted, fix};
use vptx::check::Language;
use vptx::diagnostic::{Applicability, Diagnostic, RuleSet, Severity};
use vptx::{CheckOptions, Code};

use crate::support::statements::{Verdict, module, recorded};

const HEAD: &str = ".version 8.0\n.target sm_90\n.address_size 64\n";

/// The findings of the rules on names and flow, each with the text that it marks.
fn found_with<'t>(text: &'t str, options: &CheckOptions) -> Vec<(Code, &'t str)> {
    let found = check(text, options).into_iter();
    let found =
        found.filter(|it| it.code == Code::AsmOutputUnwritten || it.code.text().starts_with("V9"));
    found.map(|it| (it.code, it.span.text(text))).collect()
}

fn errors(text: &str, options: &CheckOptions) -> Vec<Diagnostic> {
    let mut found = check(text, options);
    found.retain(|it| it.severity == Severity::Error);
    found
}

fn found(text: &str) -> Vec<(Code, &str)> {
    found_with(text, &CheckOptions::default())
}

/// A function with parameters `a`, `b` and `p`, the result `d`, and registers `t`, `u` and `q`.
fn function(body: &str) -> String {
    format!(
        ".func (.reg .b32 d) f(.reg .b32 a, .reg .b32 b, .reg .pred p)\n{{\n\
         .reg .b32 t, u;\n.reg .pred q;\n{body}\n}}\n"
    )
}

fn in_function(body: &str) -> Vec<(Code, String)> {
    let text = function(body);
    found(&text).into_iter().map(|(code, text)| (code, text.to_string())).collect()
}

#[track_caller]
fn holds(body: &str, expected: &[(Code, &str)]) {
    let expected: Vec<(Code, String)> =
        expected.iter().map(|(code, text)| (*code, (*text).to_string())).collect();
    assert_eq!(in_function(body), expected, "{body}");
}

#[test]
fn sources_that_some_path_does_not_write_are_found() {
    let never = &[(Code::UnwrittenSource, "t")];
    holds("vadd.u32.u32.u32 d, a, t;", never);
    holds("vadd4.u32.u32.u32.add d, a, b, t;", never);
    holds("vadd4.u32.u32.u32 d.b0, a, b, t;", never);
    holds("@q vadd.u32.u32.u32 d, a, b;", &[(Code::UnwrittenSource, "q")]);
    // If both sources are one register, there is one finding.
    holds("vadd.u32.u32.u32 d, t, t;", never);
    holds("@p bra L; mov.b32 t, 1; L: vadd.u32.u32.u32 d, a, t;", never);
    holds("L: vadd.u32.u32.u32 d, a, t; mov.b32 t, d; @p bra L;", never);
    // Only the first instruction reads a register that nothing wrote.
    holds("vsub.u32.u32.u32 t, a, t; vadd.u32.u32.u32 d, a, t;", never);

    // The register is written on both paths, or by several instructions that together write all
    // lanes. The instruction selects no lane of the source. The source is a parameter.
    holds("@p bra L; mov.b32 t, 1; bra M; L: mov.b32 t, 2; M: vadd.u32.u32.u32 d, a, t;", &[]);
    holds("@p mov.b32 t, 1; @p vadd.u32.u32.u32 d, a, t;", &[]);
    holds("ld.global.v2.b32 {t, u}, [0]; vadd.u32.u32.u32 d, t, u;", &[]);
    holds("call (t), g, (a); vadd.u32.u32.u32 d, a, t;", &[]);
    holds("new.opcode t, u; vadd.u32.u32.u32 d, t, u;", &[]);
    holds("vadd4.u32.u32.u32 d, a, b, t;", &[]);
    holds("vadd4.u32.u32.u32 d, a.b4567, b, b;", &[]);
    holds("vadd.u32.u32.u32 d, a, d;", &[]);
    holds("ret; vadd.u32.u32.u32 d, a, t;", &[]);
    // The rules ignore instructions that are not video instructions.
    holds("add.u32 d, a, t;", &[]);
}

/// Merges may fill a word part by part, from a register that nothing wrote. No bit of that register
/// may be left where the word is read.
#[test]
fn words_that_are_merged_whole_need_no_start() {
    let never = &[(Code::UnwrittenSource, "t")];
    let by_bytes = |parts: &[&str]| -> String {
        let merges = parts.iter().map(|part| format!("vset.u32.u32.lt t{part}, a, b, t;\n"));
        merges.collect::<Vec<_>>().concat()
    };
    let read = "mov.b32 d, t;";
    let all = by_bytes(&[".b0", ".b1", ".b2", ".b3"]);
    holds(&format!("{all}{read}"), &[]);
    for parts in [
        &[".b3", ".b1", ".b2", ".b0"][..],
        &[".h1", ".h0"],
        &[".b1", ".h1", ".b0"],
        &[".b0", ".b0", ".b1", ".h1"],
    ] {
        holds(&format!("{}{read}", by_bytes(parts)), &[]);
    }
    holds(&format!("L: {all}{read} @p bra L;"), &[]);
    holds(&format!("@p bra L; mov.b32 t, 1; L: {all}{read}"), &[]);
    // The merges go through other registers or past a label, use masks, or write the function's
    // result.
    holds("vset.u32.u32.lt u.h0, a, b, t; vset.u32.u32.lt d.h1, a, b, u;", &[]);
    holds("vset.u32.u32.lt t.h0, a, b, t; bra L; L: vset.u32.u32.lt d.h1, a, b, t;", &[]);
    holds("vadd4.u32.u32.u32 u.b20, a, b, t; vmin2.u32.u32.u32 d.h1, a, b, u;", never);
    holds("vadd4.u32.u32.u32 u.b210, a, b, t; vmin2.u32.u32.u32 d.h1, a, b, u;", &[]);
    holds("vadd4.u32.u32.u32 u.b20, a, b, t; vmin4.u32.u32.u32 d.b31, a, b, u;", &[]);

    for parts in [&[".b0", ".b1", ".b2"][..], &[".h0", ".b0", ".b3"], &[".h1", ".b2", ".b3"]] {
        holds(&format!("{}{read}", by_bytes(parts)), never);
    }
    // However many merges there are, some bits stay.
    for count in [3, 16, 17, 40] {
        holds(&format!("{}{read}", by_bytes(&[".b0"].repeat(count))), never);
    }
    let [low, high] = [".h0", ".h1"].map(|part| by_bytes(&[part]));
    // The unfinished word is read: by an instruction, on another path, by the merge itself, by its
    // guard, or by the caller.
    for between in
        ["st.global.b32 [0], t;", "@p bra L; bra M; L: mov.b32 d, t; ret; M:", "mov.b32 u, t;"]
    {
        holds(&format!("{low}{between} {high}{read}"), never);
    }
    holds(&format!("{low} vset.u32.u32.lt t.h1, t, b, t; {read}"), never);
    holds(&format!("{low} vset.u32.u32.lt u.h1, a, b, t; add.u32 d, t, u;"), never);
    holds("vset.u32.u32.lt d.h0, a, b, t; @p ret; vset.u32.u32.lt d.h1, a, b, d;", never);
    // Merges with a guard, and sums.
    holds(&format!("{low} @p {high} {read}"), never);
    holds(&format!("@p {low} {high} {read}"), never);
    holds(&format!("{low} vadd4.u32.u32.u32.add t, a, b, t; {high} {read}"), never);
    holds(&format!("{low} vset.u32.u32.lt.add t, a, b, t; {high} {read}"), never);
    let inside = "vset.u32.u32.lt %0.h0, %1, 1, t; vset.u32.u32.lt %0.h1, %1, 1, %0; }";
    let asm = |between: &str| inside.replace("; vset", &format!("; {between}vset"));
    let operands = "\"=r\"(d) : \"r\"(a)";
    assert_eq!(in_asm(&format!("{{ .reg .b32 t; {}", asm("")), operands), []);
    let found = in_asm(&format!("{{ .reg .b32 t; {}", asm("mov.b32 t, %0; ")), operands);
    assert_eq!(found, [(Code::UnwrittenSource, "t".to_string())]);
}

#[test]
fn results_that_nothing_reads_are_found() {
    let lost = &[(Code::UnreadResult, "t")];
    holds("vadd.u32.u32.u32 t, a, b;", lost);
    holds("@p vadd.u32.u32.u32 t, a, b;", lost);
    holds("vadd.u32.u32.u32 t, a, b; mov.b32 t, 1; mov.b32 d, t;", lost);
    holds("vadd.u32.u32.u32 t, a, b; @p ret; exit;", lost);
    holds("{ .reg .b32 t; vadd.u32.u32.u32 t, a, b; } mov.b32 d, t;", lost);

    holds("vadd.u32.u32.u32 t, a, b; @p mov.b32 t, 1; mov.b32 d, t;", &[]);
    holds("vadd.u32.u32.u32 t, a, b; @p bra L; mov.b32 t, 1; L: mov.b32 d, t;", &[]);
    holds("vadd.u32.u32.u32 t, a, b; st.global.b32 [0], t;", &[]);
    holds("vadd.u32.u32.u32 t, a, b; call (d), g, (t);", &[]);
    holds("vadd.u32.u32.u32 t, a, b; new.opcode d, t;", &[]);
    holds("mov.b32 t, 1; L: mov.b32 d, t; vadd.u32.u32.u32 t, a, b; @p bra L;", &[]);
    // The caller reads the result.
    holds("vadd.u32.u32.u32 d, a, b;", &[]);
}

/// If the target of a branch is unknown, no finding relies on a path that may not exist.
#[test]
fn branches_to_unknown_places_claim_nothing() {
    for branch in ["bra outside;", "brx.idx a, outside;"] {
        holds(&format!("{branch} L: vadd.u32.u32.u32 d, a, t; M: bra L;"), &[]);
        // The branch may go to a label after which the register is read.
        let read = format!("L: mov.b32 d, t; ret; M: vadd.u32.u32.u32 t, a, b; {branch}");
        holds(&read, &[]);
        holds(&format!("vadd.u32.u32.u32 t, a, b; {branch} L: ret;"), &[(Code::UnreadResult, "t")]);
    }
}

#[test]
fn only_whole_modules_are_judged_by_their_names() {
    let body = "mov.b32 t, elsewhere; bra outside; { inside: } vadd.u32.u32.u32 d, a, t;\n\
                .reg .b32 t;";
    let function = function(body);
    assert_eq!(found(&function), []);
    let module = format!("{HEAD}{function}");
    let expected = [
        (Code::UndeclaredName, "elsewhere"),
        (Code::UndefinedLabel, "outside"),
        (Code::SecondDeclaration, "t"),
    ];
    assert_eq!(found(&module), expected);
    // A comment above the statement covers all its lines.
    let body = body.replace(".reg .b32 t;", "// vptx: ignore[V903]\n.reg .b32\nt;");
    let module = format!("{HEAD}{}", self::function(&body));
    assert_eq!(found(&module), expected[..2]);
    // A range does not declare its base, whether of registers or of variables.
    for range in [".global .b32 r<3>;", ".reg .b32 r<3>;"] {
        let text = format!("{HEAD}{range}\n{}", self::function("mov.b32 t, r; mov.b32 d, r1;"));
        let text = text.replace(" mov.b32 d", " vadd.u32.u32.u32 d, a, t; mov.b32 d");
        assert_eq!(found(&text)[0], (Code::UndeclaredName, "r"), "{range}");
    }
    // Parameters of mere declarations may have the same name.
    let declared = format!("{HEAD}.extern .func (.param .b32 a) g(.param .b32 a, .reg .b32 a);\n");
    let clean = self::function("vadd.u32.u32.u32 d, a, b;");
    assert_eq!(found(&format!("{declared}{clean}")), []);
    let defined = declared.replace(".extern", "").replace(';', "\n{ ret; }");
    let twice = (Code::SecondDeclaration, "a");
    assert_eq!(found(&format!("{defined}{clean}")), [twice, twice]);
    // Two modules in one text, and syntax errors.
    assert_eq!(found(&format!("{module}{module}")), []);
    assert_eq!(found(&format!("{module}}}")), []);
    assert_eq!(found(&format!("{HEAD}.func g() {{ add.u32 a }}\n{function}")), []);
}

#[test]
fn names_that_are_mistyped_are_told() {
    let help = |body: &str| -> Vec<String> {
        let body = format!(".reg .b32 sum; {{ .reg .b32 inner; IN: }} {body} OUT: ret;");
        let found = check(&format!("{HEAD}{}", function(&body)), &CheckOptions::default());
        let ours = [Code::UndeclaredName, Code::UndefinedLabel, Code::UndeclaredRegister];
        let found = found.into_iter().filter(|it| ours.contains(&it.code));
        let meant = |help: String| Some(help.strip_prefix("did you mean `")?.to_string());
        found.map(|it| it.help.and_then(meant).unwrap_or_default().replace("`?", "")).collect()
    };
    let video = "vadd.u32.u32.u32 d, a, b;";
    for (statement, meant) in [
        ("mov.b32 d, smu;", "sum"),
        ("mov.b32 d, A;", "a"),
        ("vadd.u32.u32.u32 d, a, smu;", "sum"),
        ("vadd.u32.u32.u32 d, a, B;", "b"),
        ("@p bra OUTT;", "OUT"),
        // There is no suggestion: a label is not a register, all names of one letter are similar,
        // and names in another `{}` block or below are not visible.
        ("mov.b32 d, OUTT;", ""),
        ("@p bra summ;", ""),
        ("mov.b32 d, x;", ""),
        ("vadd.u32.u32.u32 d, a, x;", ""),
        ("mov.b32 d, iner;", ""),
        ("vadd.u32.u32.u32 d, a, iner;", ""),
        ("@p bra INN;", ""),
        ("mov.b32 d, lat; .reg .b32 late;", ""),
    ] {
        assert_eq!(help(&format!("{statement} {video}")), [meant], "{statement}");
    }
}

/// One search finds both, but each can be selected without the other.
#[test]
fn undeclared_names_and_labels_are_selected_apart() {
    let text =
        format!("{HEAD}{}", function("vadd.u32.u32.u32 d, a, b; mov.b32 d, none; bra NONE;"));
    for finding in [(Code::UndeclaredName, "none"), (Code::UndefinedLabel, "NONE")] {
        let only = CheckOptions::default().with_rules(RuleSet::NONE.with(finding.0));
        assert_eq!(found_with(&text, &only), [finding]);
    }
}

/// The expectations are ptxas' errors `Label expected` and `Illegal branch target`.
#[test]
fn a_branch_leads_to_a_label() {
    let labels = |body: &str| -> Vec<String> {
        let body = format!("vadd.u32.u32.u32 d, a, b; {body} A: B: ret;");
        let text = format!("{HEAD}.global .u32 bra;\n.func g() {{ ret; }}\n{}", function(&body));
        let found = check(&text, &CheckOptions::default()).into_iter();
        found.filter(|it| it.code == Code::UndefinedLabel).map(|it| it.message).collect()
    };
    let table = "T: .branchtargets A, B; brx.idx a, T;";
    let call = "T: .callprototype _ (); call t, (), T; S: .calltargets g; call t, (), S; call g;";
    for right in [table, call, "bra A;", "@p bra.uni B;", "ld.global.u32 d, [bra];"] {
        assert_eq!(labels(right), [""; 0], "{right}");
    }
    for (wrong, message) in [
        ("bra t;", "`t` is a register, not a place in the code"),
        ("bra a;", "`a` is a parameter, not a place in the code"),
        ("bra bra;", "`bra` is a variable, not a place in the code"),
        ("@p bra.uni g;", "`g` is a function, not a place in the code"),
        ("bra f;", "`f` is a function, not a place in the code"),
        (
            "T: .branchtargets A; bra T;",
            "`T` is the name of a list of labels, not a place in the code",
        ),
        (
            "T: .callprototype _ (); bra T;",
            "`T` is the name of a prototype, not a place in the code",
        ),
        ("T: .branchtargets A, t;", "`t` is a register, not a place in the code"),
        (
            "S: .branchtargets A; T: .branchtargets A, S;",
            "`S` is the name of a list of labels, not a place in the code",
        ),
        ("brx.idx a, a;", "`a` has no `.branchtargets`"),
        ("T: brx.idx a, T;", "`T` has no `.branchtargets`"),
        (
            "T: .branchtargets A; call t, (), T;",
            "`T` has no `.calltargets` and no `.callprototype`",
        ),
        ("call A;", "`A` has no `.calltargets` and no `.callprototype`"),
        ("call t, (), T; T: .callprototype _ ();", "the directive of `T` stands after its use"),
        ("brx.idx a, T; T: .branchtargets A;", "the directive of `T` stands after its use"),
    ] {
        assert_eq!(labels(wrong), [message], "{wrong}");
    }
}

#[test]
fn registers_are_declared_where_their_function_starts() {
    let options = CheckOptions::default();
    let fixed = |text: &str| fix(text, &options, Applicability::Unsafe).text;
    let video = "vadd.u32.u32.u32 d, first, a;\n{ vadd.u32.u32.u32 d, second, d; }\n\
                 vadd.u32.u32.u32 d, first, d;";
    for (gap, line) in [
        ("\n", "\n"),
        ("\n\n\t ", "\n\t "),
        ("\r\n  ", "\r\n  "),
        (" \r\n ", "\r\n "),
        (" ", " "),
        ("", " "),
    ] {
        let head = format!("{HEAD}.func g() {{ ret; }}\n.func (.reg .b32 d) f(.reg .b32 a)\n{{");
        let text = format!("{head}{gap}mov.b32 d, a;\n{video}\n}}\n");
        let [first, second] = ["first", "second"].map(|name| format!("{line}.reg .b32 {name};"));
        let rest = &text[head.len()..];
        assert_eq!(fixed(&text), format!("{head}{second}{first}{rest}"), "{gap:?}");
    }
    // No declaration is added if another name was probably meant, for a range, or outside of
    // functions.
    let text = format!("{HEAD}{}", function(".reg .b32 sum, %r<3>; vadd.u32.u32.u32 d, smu, %r3;"));
    assert_eq!(fixed(&text), text);
    let text = format!("{HEAD}vadd.u32.u32.u32 first, 1, 2;\n");
    assert_eq!(fixed(&text), text);
    // The declarations are added to a module in a string of another language.
    let source = format!("auto text = \"{HEAD}.func f()\n{{\n  {video}\n}}\n\";\n")
        .replace(", a;", ", 1;")
        .replace('\n', "\\n");
    let options = CheckOptions::default().with_language(Language::Cuda);
    let all = fix(&source, &options, Applicability::Unsafe);
    for name in ["first", "second", "d"] {
        let declared = format!("\\n  .reg .b32 {name};");
        assert_eq!(all.text.matches(&declared).count(), 1, "{}", all.text);
    }
}

/// Modules without video instructions, or above 1 MiB, are checked by these rules only on request.
#[test]
fn large_modules_are_judged_on_demand() {
    let every = CheckOptions::default().with_every_module(true);
    let plain = format!("{HEAD}.func g() {{ bra nowhere; }}\n");
    assert_eq!(found(&plain), []);
    assert_eq!(found_with(&plain, &every), [(Code::UndefinedLabel, "nowhere")]);

    let one = format!("{HEAD}{}", function("vadd.u32.u32.u32 d, a, t;"));
    let with = |bytes: usize| format!("{one}{}", "\n".repeat(bytes - one.len()));
    assert_eq!(found(&with(1 << 20)), [(Code::UnwrittenSource, "t")]);
    assert_eq!(found(&with((1 << 20) + 1)), []);
    assert_eq!(found_with(&with((1 << 20) + 1), &every), [(Code::UnwrittenSource, "t")]);
    let many = format!("{HEAD}{}", function("vadd.u32.u32.u32 d, a, t;").repeat(50_000));
    assert!(many.len() > 5 << 20);
    assert_eq!(found(&many), []);
}

#[test]
fn rules_that_are_off_are_selected() {
    let text =
        format!("{HEAD}{}", function("vadd.u32.u32.u32 d, a, 1; ret; unused: mov.b32 t, t;"));
    assert_eq!(found(&text), []);
    let off = [
        Code::UnusedRegister,
        Code::UnusedLabel,
        Code::UnusedParameter,
        Code::UnreachableStatement,
    ];
    let rules = off.into_iter().fold(RuleSet::DEFAULT, RuleSet::with);
    let all = CheckOptions::default().with_rules(rules);
    let expected = [
        (Code::UnusedParameter, "b"),
        (Code::UnusedParameter, "p"),
        (Code::UnusedRegister, "u"),
        (Code::UnusedRegister, "q"),
        (Code::UnusedLabel, "unused"),
        (Code::UnreachableStatement, "mov.b32 t, t;"),
    ];
    assert_eq!(found_with(&text, &all), expected);
    let fixed = fix(&text, &all, Applicability::Safe);
    let declared = "\n.reg .b32 t;\n";
    assert!(fixed.text.contains(declared) && !fixed.text.contains(".pred q"), "{}", fixed.text);
    assert!(fixed.text.contains("ret; mov.b32 t, t;"), "{}", fixed.text);
    let fixed = fix(&text, &all, Applicability::Unsafe);
    assert!(!fixed.text.contains("mov.b32"), "{}", fixed.text);
    assert_eq!(
        found_with(&fixed.text, &all),
        [(Code::UnusedParameter, "b"), (Code::UnusedParameter, "p")]
    );
}

#[test]
fn comments_suppress_them() {
    let body = "vadd.u32.u32.u32 d, a, t;\nvmin.s32.s32.s32 u, a, b;\nmov.b32 d, none;";
    let text = format!("{HEAD}{}", function(body));
    let options = CheckOptions::default();
    assert_eq!(found(&text).len(), 3);
    let done = add_ignores(&text, &options);
    assert_eq!(found(&done.text), []);
    for code in ["V904", "V905", "V901"] {
        assert!(done.text.contains(&format!("; // vptx: ignore[{code}]")), "{}", done.text);
    }
    // If a comment suppresses nothing, this is reported.
    let written = done.text.replace("d, a, t;", "d, a, b;");
    let unused = check(&written, &options);
    assert_eq!(unused.iter().map(|it| it.code).collect::<Vec<_>>(), [Code::UnusedSuppression]);
}

/// In the machine code of ptxas 13.5, nothing follows such a call.
#[test]
fn nothing_follows_a_call_that_never_returns() {
    let fail = ".extern .func fail () .noreturn;\n.extern .func g /* .noreturn */ ();\n";
    let rules = RuleSet::DEFAULT.with(Code::UnreachableStatement);
    let options = CheckOptions::default().with_rules(rules);
    let found = |body: &str| -> Vec<(Code, String)> {
        let text = format!("{HEAD}{fail}{}", function(body));
        let found = found_with(&text, &options).into_iter();
        found.map(|(code, text)| (code, text.to_string())).collect()
    };
    let written = |call: &str| {
        found(&format!("@p bra L; mov.b32 t, a; bra M; L: {call} M: vadd.u32.u32.u32 d, t, a;"))
    };
    assert_eq!(written("call fail;"), []);
    for call in ["call g;", "@q call fail;", "call /* .noreturn */ g;"] {
        assert!(written(call).contains(&(Code::UnwrittenSource, "t".into())), "{call}");
    }
    let unreachable = [(Code::UnreachableStatement, "vadd.u32.u32.u32 d, a, b;".to_string())];
    assert_eq!(found("call.uni fail, (); vadd.u32.u32.u32 d, a, b;"), unreachable);
}

#[test]
fn special_registers_have_numbers() {
    let unknown = |name: &str| {
        let text = format!("{HEAD}{}", function(&format!("mov.u32 d, {name};")));
        found_with(&text, &CheckOptions::default().with_every_module(true)).len()
    };
    for name in ["%envreg0", "%envreg31", "%pm7", "%pm7_64", "%reserved_smem_offset_1", "%clock64"]
    {
        assert_eq!(unknown(name), 0, "{name}");
    }
    // ptxas 13.5 knows none of these.
    for name in ["%envreg", "%envreg32", "%envreg01", "%pm8", "%reserved_smem_offset_2"] {
        assert_eq!(unknown(name), 1, "{name}");
    }
}

/// Nothing follows an `asm`, though its outputs are read after it.
#[test]
fn the_end_of_asm_is_no_unreachable_statement() {
    let found = |template: &str| {
        let text = format!("asm(\"{template}\" : \"+r\"(d) : \"r\"(a));");
        let options = CheckOptions::default()
            .with_language(Language::Cuda)
            .with_every_module(true)
            .with_rules(RuleSet::NONE.with(Code::UnreachableStatement));
        check(&text, &options).iter().map(|it| it.span.text(&text).to_string()).collect::<Vec<_>>()
    };
    for end in ["exit;", "ret;", "trap;", "exit", "l: bra l;"] {
        assert_eq!(found(&format!("vadd.u32.u32.u32 %0, %1, %1; {end}")), [""; 0], "{end}");
    }
    // A brace ends the function around the text.
    assert_eq!(found("} { vadd.u32.u32.u32 %0, %1, %1;"), [""; 0]);
    assert_eq!(found("exit; vadd.u32.u32.u32 %0, %1, %1; } {"), [""; 0]);
    let after = found("exit; vadd.u32.u32.u32 %0, %1, %1; mov.b32 %0, %1;");
    assert_eq!(after, ["vadd.u32.u32.u32 %0, %1, %1;"]);
}

/// Statements on one line are removed with the blanks between them, once.
#[test]
fn unreachable_statements_are_removed() {
    let options = CheckOptions::default()
        .with_every_module(true)
        .with_rules(RuleSet::NONE.with(Code::UnreachableStatement));
    for (body, left) in [
        ("    exit; exit; exit;\n", "    exit;\n"),
        ("    exit;\n    exit;\texit;\n    exit;\n", "    exit;\n"),
        ("    exit; exit; /* why */ exit; L: exit; bra L;\n", "    exit; /* why */ L:\n"),
    ] {
        let module =
            |body: &str| format!(".version 8.0\n.target sm_90\n.entry k()\n{{\n{body}}}\n");
        let fixed = fix(&module(body), &options, Applicability::Unsafe);
        assert_eq!(fixed.text, module(left));
    }
}

/// Each line of the template is a literal, as in most sources.
#[test]
fn statements_in_literals_of_their_own_are_removed() {
    let source = |statement: &str| {
        format!(
            "asm(\"{{ .reg .b32 t;\\n\\t\"\n    \"{statement}\\n\\t\"\n    \
             \"vmin.u32.u32.u32 %0, %1, 7; }}\" : \"=r\"(d) : \"r\"(a));\n"
        )
    };
    let options = CheckOptions::default().with_language(Language::Cuda);
    let fixed = fix(&source("vadd.u32.u32.u32 t, %1, %1;"), &options, Applicability::Unsafe);
    assert_eq!(fixed.text, source(""));
}

fn in_asm(template: &str, operands: &str) -> Vec<(Code, String)> {
    let text = format!("asm(\"{template}\" : {operands});");
    let options = CheckOptions::default().with_language(Language::Cuda);
    let found = found_with(&text, &options).into_iter();
    found.map(|(code, text)| (code, text.to_string())).collect()
}

/// A function belongs to the module, wherever it is declared, so a body may give its name to a
/// register or a label. A label of a section has a name of its own. As in ptxas 11.8 and 13.5.
#[test]
fn functions_and_labels_of_sections_have_scopes_of_their_own() {
    let options = CheckOptions::default()
        .with_every_module(true)
        .with_rules(RuleSet::NONE.with(Code::UndeclaredName).with(Code::SecondDeclaration));
    let module = |text: &str| format!(".version 7.8\n.target sm_90\n.address_size 64\n{text}\n");
    for (text, expected) in [
        (".func f() { .func g(); ret; } .func h() { call g; ret; } .func g() { ret; }", None),
        (".func f() { { .func g(); } call g; ret; } .func g() { ret; }", None),
        (".func f() { .func g(); ret; } .global .u64 t = g; .func g() { ret; }", None),
        (".func f() { .func g(); .reg .u32 g; mov.u32 g, 1; } .func g() { ret; }", None),
        (".func f() { { .func g(); } .reg .u32 g; mov.u32 g, 1; } .func g() { ret; }", None),
        (".func f() { .reg .u32 g; { .func g(); } mov.u32 g, 1; } .func g() { ret; }", None),
        (".func f() { .func g(); g: ret; } .func g() { ret; }", None),
        (".func f() { .reg .u32 g; .func g(); ret; }", Some("g")),
        (".func f() { { .global .u32 a; } ld.global.u32 a, [a]; }", Some("a")),
        (".section .debug_str { a: .b8 1 } .global .u32 a; .func f() { ret; }", None),
        (".global .u32 a; .section .debug_str { a: .b8 1 } .func a2() { ret; }", None),
        (".section .debug_str { f: .b8 1 } .func f() { ret; }", None),
        (".section .debug_str { a: .b8 1 } .section .debug_x { a: .b8 1 }", Some("a")),
    ] {
        let text = module(text);
        let found = check(&text, &options);
        assert_eq!(found.first().map(|it| it.span.text(&text)), expected, "{text}");
    }
}

#[test]
fn asm_has_outputs_on_all_paths() {
    let output = vec![(Code::AsmOutputUnwritten, "\"=r\"".to_string())];
    let operands = "\"=r\"(d) : \"r\"(a)";
    let guarded = "{ .reg .pred p; setp.lt.u32 p, %1, 7; @p vadd.u32.u32.u32 %0, %1, 1;";
    assert_eq!(in_asm(&format!("{guarded} }}"), operands), output);
    for rest in ["@!p mov.b32 %0, 1; }", "mov.b32 %0, 1; }", "@!p exit; mov.b32 %0, 2; }"] {
        assert_eq!(in_asm(&format!("{guarded} {rest}"), operands), []);
    }
    // A branch under the same guard leads the other case elsewhere.
    for text in [
        &format!("{guarded} @p bra E; mov.b32 %0, 1; E: }}"),
        &format!("{guarded} @!p trap; }}"),
        "{ .reg .pred p; setp.lt.u32 p, %1, 7; @p bra S; mov.b32 %0, 1;\\n\
         S: @p vadd.u32.u32.u32 %0, %1, 1; }",
    ] {
        assert_eq!(in_asm(text, operands), [], "{text}");
    }
    assert_eq!(in_asm(&format!("{guarded} @p bra E; E: }}"), operands), output);
    // Where a branch leads is not known.
    assert_eq!(in_asm(&format!("{guarded} brx.idx %1, T; }}"), operands), []);
    // Several guards may cover all cases; one does not, unless its predicate changes.
    let again = format!("{guarded} @p add.u32 %0, %0, 1; }}");
    assert_eq!(in_asm(&again, operands), output);
    let special = "{ @%%is_explicit_cluster vadd.u32.u32.u32 %0, %1, 1; \
                   @!%%is_explicit_cluster mov.b32 %0, 1; }";
    assert_eq!(in_asm(special, operands), []);
    for (second, write) in [
        ("not.pred q, p;", "@q"),
        ("setp.ge.u32 q, %1, 7;", "@q"),
        ("", "@!q"),
        ("not.pred p, p;", "@p"),
        ("setp.ge.u32 p, %1, 7;", "@p"),
    ] {
        let text = format!("{{ .reg .pred q; {guarded} {second} {write} mov.b32 %0, 1; }} }}");
        assert_eq!(in_asm(&text, operands), [], "{text}");
    }
    assert_eq!(in_asm(&format!("{guarded} }}"), "\"+r\"(d) : \"r\"(a)"), []);
    assert_eq!(in_asm(&format!("{guarded} }}"), "\"=r\"(d) : \"r\"(a), \"0\"(b)"), []);
    // Control goes elsewhere, or instructions are not known.
    assert_eq!(in_asm(&format!("{guarded} @!p bra outside; }}"), operands), []);
    let unknown = vec![(Code::UnknownWord, "new".to_string())];
    assert_eq!(in_asm(&format!("{guarded} new.opcode %0; }}"), operands), unknown);
    assert_eq!(in_asm("mov.b32 %1, 1;", operands), []);
    // The last `;` is missing, or a brace is closed in another statement.
    assert_eq!(in_asm("vadd.u32.u32.u32 %0, %1, 1", operands), []);
    assert_eq!(in_asm("{ vadd.u32.u32.u32 %0, %1, 1;", "\"=r\"(d), \"=r\"(e) : \"r\"(a)"), []);
}

/// If the user names the rule, it also applies to `asm` without video instructions.
#[test]
fn outputs_of_every_asm() {
    let in_asm = |template: &str, operands: &str| {
        let text = format!("asm(\"{template}\" : {operands});");
        let options = CheckOptions::default().with_language(Language::Cuda);
        let of = |options: &CheckOptions| found_with(&text, options).len();
        [of(&options), of(&options.with_every_module(true))]
    };
    let operands = "\"=r\"(d) : \"r\"(a)";
    let guarded = "{ .reg .pred p; setp.lt.u32 p, %1, 7; @p add.u32 %0, %1, 1;";
    assert_eq!(in_asm(&format!("{guarded} }}"), operands), [0, 1]);
    assert_eq!(in_asm(&format!("{guarded} @!p mov.b32 %0, 1; }}"), operands), [0, 0]);
    assert_eq!(in_asm(&format!("{guarded} new.opcode %0; }}"), operands), [0, 0]);
    assert_eq!(in_asm("add.u32 t, %1, 1;", operands), [0, 1]);
    // Code for other machines is ignored.
    for foreign in ["mov %1, %%rax;", "add.w r0, %1, 1;", "mov %1, %%rax", "nop", "", "mov r;"] {
        assert_eq!(in_asm(foreign, operands), [0, 0], "{foreign}");
    }
}

#[test]
fn registers_of_asm_are_its_own_inside_of_braces() {
    let operands = "\"=r\"(d) : \"r\"(a)";
    let read = ".reg .b32 t; vadd.u32.u32.u32 %0, %1, t;";
    assert_eq!(
        in_asm(&format!("{{ {read} }}"), operands),
        [(Code::UnwrittenSource, "t".to_string())]
    );
    assert_eq!(in_asm(read, operands), []);
    let written = ".reg .b32 t; vadd.u32.u32.u32 t, %1, 1; mov.b32 %0, 1;";
    assert_eq!(
        in_asm(&format!("{{ {written} }}"), operands),
        [(Code::UnreadResult, "t".to_string())]
    );
    assert_eq!(in_asm(written, operands), []);
}

/// The findings on a module in a string are placed in the source.
#[test]
fn modules_in_strings_have_them() {
    let text = format!("{HEAD}{}", function("vadd.u32.u32.u32 d, a, t;"));
    let source = format!("auto text = R\"({text})\";\n");
    let options = CheckOptions::default().with_language(Language::Cuda);
    assert_eq!(found_with(&source, &options), [(Code::UnwrittenSource, "t")]);
    let start = source.find("d, a, t").unwrap();
    assert_eq!(check(&source, &options)[0].span.range(), start + 6..start + 7);
}

/// The time is linear, not quadratic, in the size of the text: this function has the most registers
/// and basic blocks for its size.
#[test]
fn many_registers_in_many_blocks_take_no_time() {
    let count = 12_000;
    let mut body = format!(".reg .b32 %r<{count}>;\n");
    for at in 0..count {
        let _ =
            write!(body, "L{at}: vadd.u32.u32.u32 %r{at}, a, %r{};\n@p bra L0;\n", count - 1 - at);
    }
    let text = function(&body);
    assert!(text.len() < 1 << 20);
    let start = std::time::Instant::now();
    let (statements, _) = check_counted(&text, &CheckOptions::default());
    assert_eq!(statements, count);
    assert!(start.elapsed().as_secs() < 20, "{:?}", start.elapsed());
}

/// The search for similar names is linear, too.
#[test]
fn many_names_that_are_not_declared_take_no_time() {
    let mut body = String::new();
    for at in 0..14_000 {
        let _ = write!(body, ".reg .b32 name{at:x}_;\nvadd.u32.u32.u32 d, a, none{at:x}_;\n");
        let _ = writeln!(body, "mov.b32 d, nowhere{at};");
    }
    let text = format!("{HEAD}{}", function(&body));
    assert!(text.len() > 1 << 20);
    let every = CheckOptions::default().with_every_module(true);
    let start = std::time::Instant::now();
    assert_eq!(found_with(&text, &every).len(), 14_000);
    assert!(start.elapsed().as_secs() < 20, "{:?}", start.elapsed());
}

/// Every part of the word is merged, but after more guarded writes than the rule searches. The rule
/// then gives up.
#[test]
fn merges_among_many_uses_are_not_followed() {
    let count = 9_000;
    let mut body = String::new();
    for at in 0..count {
        let _ = write!(body, "L{at}: vset.u32.u32.lt t.h0, a, b, u;\n@p bra M;\nmov.b32 t, 1;\n");
    }
    body += "M:\n";
    body += &"@p mov.b32 t, 1;\n".repeat(count);
    body += "vset.u32.u32.lt d.h1, a, b, t;";
    let text = function(&body);
    assert!(text.len() < 1 << 20);
    assert_eq!(found(&text).len(), count);
}

/// The verdicts of ptxas 13.5 on a range after a label that is spelled like one of its registers.
/// ptxas looks at labels only if a register or variable has a number of the range.
#[test]
fn labels_and_ranges_share_names_as_in_ptxas() {
    let every = CheckOptions::default().with_every_module(true);
    for (body, is_double) in [
        ("%r1: .reg .b32 %r<10>;", false),
        ("%r1: .reg .b32 %r03; .reg .b32 %r<10>;", true),
        (".reg .b32 %r03; %r1: .reg .b32 %r<10>;", true),
        ("%r1: .reg .b32 %r50; .reg .b32 %r<10>;", false),
        ("%r01: .reg .b32 %r03; .reg .b32 %r<10>;", false),
        ("%r1: { .reg .b32 %r3; } .reg .b32 %r<10>;", false),
        // Registers of two ranges may share names, but the ranges may not.
        (".reg .b32 %r<20>; .reg .b32 %r1<3>;", false),
        (".reg .b32 %r<3>; .reg .b32 %r<3>;", true),
    ] {
        let text = format!("{HEAD}.entry k() {{ {body} ret; }}\n");
        let expected: &[_] = if is_double { &[(Code::SecondDeclaration, "%r")] } else { &[] };
        assert_eq!(found_with(&text, &every), expected, "{body}");
    }
}

/// The verdicts of ptxas 13.5 on a variable that is declared `.extern` and defined.
#[test]
fn an_extern_variable_is_defined_once() {
    let every = CheckOptions::default().with_every_module(true);
    let (declared, defined) = (".extern .global .u32 x;\n", ".visible .global .u32 x;\n");
    let internal = ".global .u32 x;\n";
    for (lines, is_double) in [
        ([declared, defined, declared], false),
        ([internal, declared, declared], false),
        ([declared, internal, ""], true),
        ([internal, defined, ""], true),
        ([declared, defined, defined], true),
        ([defined, declared, defined], true),
    ] {
        let text = format!("{HEAD}{}", lines.concat());
        let expected: &[_] = if is_double { &[(Code::SecondDeclaration, "x")] } else { &[] };
        assert_eq!(found_with(&text, &every), expected, "{text}");
    }
}

/// The verdicts of ptxas 11.8, 12.9 and 13.5 on names that are used before their declaration.
#[test]
fn declarations_that_come_too_late_are_found() {
    let every = CheckOptions::default().with_every_module(true);
    for (text, expected) in [
        (".entry k() { .reg .b32 r; ld.global.b32 r, [g]; }\n.global .b32 g;\n", Some("g")),
        (".entry k() { call f; }\n.func f() { ret; }\n", Some("f")),
        (".entry k() { .reg .b64 r; mov.u64 r, f; }\n.func f() { ret; }\n", Some("f")),
        (".global .u64 p[2] = {q, 0};\n.global .b32 q;\n", Some("q")),
        (".entry k() { { bra L; } L: ret; }\n", None),
        (".func f();\n.entry k() { call f; }\n.func f() { ret; }\n", None),
    ] {
        let text = format!("{HEAD}{text}");
        let expected: Vec<_> =
            expected.into_iter().map(|name| (Code::UndeclaredName, name)).collect();
        assert_eq!(found_with(&text, &every), expected, "{text}");
    }
}

/// `fixtures/oracle/syntax.tsv` tells what ptxas 13.5 says of each statement.
#[test]
fn checking_finds_the_syntax_errors_that_ptxas_has() {
    let options = CheckOptions::default();
    let every = CheckOptions::default().with_every_module(true);
    let (mut legal, mut malformed) = (0, 0);
    for row in recorded() {
        let without = module(row.place, row.text);
        let with = without.replacen(
            ".func f1() {",
            ".func f1() { .reg .b32 x; vadd.u32.u32.u32 x, x, x;",
            1,
        );
        let is_legal = errors(&without, &every).is_empty();
        assert!(
            row.verdict == Verdict::Passed || is_legal == (row.verdict == Verdict::Legal),
            "{row:?}"
        );
        let errors = errors(&with, &options);
        match row.verdict {
            Verdict::Legal => {
                assert_eq!(errors, [], "{row:?}");
                legal += 1;
            }
            Verdict::Syntax => {
                assert!(!errors.is_empty(), "{row:?}");
                let is_new = |it: &Diagnostic| it.code == Code::MalformedStatement;
                malformed += u32::from(errors.iter().any(is_new));
            }
            Verdict::Passed => {}
        }
        // Modules without video instructions are left to ptxas.
        assert!(!check(&without, &options).iter().any(|it| it.code == Code::MalformedStatement));
    }
    assert!(legal > 170 && malformed > 250, "{legal} {malformed}");
}

/// ptxas 13.5: "Array indexing on non-array".
#[test]
fn only_arrays_have_elements() {
    let text = format!(
        "{HEAD}.global .b32 g[4];\n.func (.reg .b32 d) f(.reg .b64 a)\n{{\n.reg .b32 t;\n\
         ld.global.u32 t [a+8];\nld.global.u32 d [a];\nmov.b64 a, f[1];\n\
         ld.global.u32 t, g[1];\nvadd.u32.u32.u32 d, t, t;\nret;\n}}\n"
    );
    let expected = ["t", "d", "f"].map(|name| (Code::MalformedStatement, name));
    assert_eq!(found(&text), expected);
    let fixed = fix(&text.replace("f[1]", "f"), &CheckOptions::default(), Applicability::Unsafe);
    let comma = |text: &str| text.replace("t [a+8]", "t, [a+8]").replace("d [a]", "d, [a]");
    assert_eq!(fixed.text, comma(&text.replace("f[1]", "f")));
    assert_eq!(fixed.left, []);
}

/// ptxas 13.5: "Video selector is not allowed", or a syntax error.
#[test]
fn operands_of_other_instructions_are_no_operands_of_video_instructions() {
    let text = |statement: &str| {
        format!(
            "{HEAD}.func (.reg .b32 r) g(.reg .b32 x)\n{{\nmov.b32 r, x;\nret;\n}}\n\
             .func (.reg .b32 d) f(.reg .b32 a)\n{{\n.reg .b32 t;\n.reg .b64 l;\n.reg .pred p;\n\
             .reg .v2 .b32 v;\n.reg .v4 .f32 w;\n.reg .f32 s, lop3;\n{statement}\n\
             vadd.u32.u32.u32 d, a.b1, 2;\nret;\n}}\n"
        )
    };
    let pairs = "only `setp`, `lop3`, `shfl`, `match`, `elect`, `tex` and `tld4` have two results";
    for (statement, word, help) in [
        ("shl.b32 t, a.b1, 8;", ".b1", Some("`bfe.u32 d, a, 8, 8;` reads this byte")),
        ("@!p add.s32 t, 1, a.h1;", ".h1", Some("`bfe.u32 d, a, 16, 16;` reads this half")),
        ("mov.b32 t.b3, a;", ".b3", Some("`bfi.b32 d, value, d, 24, 8;` writes this byte of `d`")),
        ("mov.u32 t, %laneid.b0;", ".b0", Some("`bfe.u32 d, %laneid, 0, 8;` reads this byte")),
        ("add.u32 t.x, a, 1;", ".x", None),
        ("setp.eq.u32 p, a.y, 1;", ".y", None),
        ("mov.b32 t, _;", "_", Some("`_` discards a result")),
        ("prefetch.global.L1 [_];", "_", Some("`_` discards a result")),
        (
            "add.u32 t, a|t, a;",
            "a|t",
            Some("`|` separates two results, which stand before all sources"),
        ),
        ("mov.b32 t, v.b0;", ".b0", Some("`bfe.u32 d, v, 0, 8;` reads this byte")),
        ("mov.b64 {t, a.x}, l;", ".x", None),
        ("atom.global.v2.f32.add {s, s}, [l], {s, _};", "_", Some("`_` discards a result")),
        ("mov.b32 _, a;", "_", None),
        ("shfl.sync.up.b32 _, a, 1, 0, -1;", "_", None),
        ("mov.b32 t|p, a;", "t|p", Some(pairs)),
        ("and.b32 _|p, a, a;", "_|p", Some(pairs)),
        ("ld.global.v4.f32 {s, s, s, s}|p, [l];", "{s, s, s, s}|p", Some(pairs)),
        ("ld.global.v2.f32 {s, lop3}|p, [l];", "{s, lop3}|p", Some(pairs)),
        ("setp.eq.u32 _|_, a, a;", "_|_", None),
        ("shfl.sync.up.b32 _|p, a, 1, 0, -1;", "_|p", None),
        ("tex.2d.v4.f32.f32 _|p, [l, {s, s}];", "_|p", None),
        ("call t, g, (a);", "t", None),
    ] {
        let text = text(statement);
        let errors = errors(&text, &CheckOptions::default());
        let [error] = &errors[..] else { panic!("{statement}: {errors:?}") };
        assert_eq!(error.code, Code::MalformedStatement);
        assert_eq!((error.span.text(&text), error.help.as_deref()), (word, help), "{statement}");
        let at = error.statement.expect("a statement").text(&text);
        assert!(statement.starts_with(at), "{at}");
        // A comment with the code suppresses the finding.
        let comment = text.replace(statement, &format!("{statement} // vptx: ignore[V910]"));
        assert!(found(&comment).iter().all(|it| it.0 != Code::MalformedStatement));
    }
    for legal in [
        "mov.b32 t, v.x; mov.b32 v.y, t; mov.f32 s, w.w; mov.f32 s, w.a;",
        "mov.u32 t, %tid.x;",
        "setp.eq.u32 _|p, a, 1; setp.eq.u32 p|_, a, 1; mov.b64 {_, t}, l;",
        "shfl.sync.idx.b32 t|p, a, 1, 1, 1; match.all.sync.b32 t|_, a, 1;",
        "call (t), g, (a); call (_), g, (1);",
        "ld.global.v2.u32 {t, _}, [l]; atom.add.global.u32 _, [l], a; and.b32 t|_, a, a;",
        "lop3.b32 _, a, a, a, 3; setp.eq.u32 _, a, 1; mov.b64 {t, v.x}, l;",
        "lop3.or.b32 _|p, a, a, a, 3, p; elect.sync _|p, -1; match.all.sync.b32 _|p, a, 1;",
        "tex.2d.v4.f32.f32 w|p, [l, {s, s}]; tld4.r.2d.v4.f32.f32 {s, s, s, s}|p, [l, {s, s}];",
        "mbarrier.arrive.shared.b64 _, [a];",
        "st.global.v4.b64 [l], {l, _, l, l};",
    ] {
        let text = text(legal);
        let errors = errors(&text, &CheckOptions::default());
        assert_eq!(errors, [], "{legal}");
    }
    let fixed = fix(&text("call t, g, (a);"), &CheckOptions::default(), Applicability::Unsafe);
    assert!(fixed.text.contains("\ncall (t), g, (a);\n"));
}

/// ptxas 13.5 reports a syntax error at each.
#[test]
fn statements_of_functions_stand_in_functions() {
    let body = "{\n.reg .b32 t;\nvadd.u32.u32.u32 t, 1, 2;\nret;\n}\n";
    for (before, after, word) in [
        ("", "mov.b32 a, 1;\nmov.b32 b, 1;\n", Some("mov.b32")),
        ("", "@p ret;\n", Some("ret")),
        ("", "L:\n", Some("L")),
        ("", "{ .reg .b32 x; }\n", Some("{")),
        (".loc 1 1 1\n", "", Some(".loc")),
        ("", "a: .callprototype _ ();\n", Some("a")),
        ("", ".branchtargets a, b;\n", Some(".branchtargets")),
        (".func g();\n{ ret; }\n", "", Some(";")),
        (".func g(.reg .b32 x) .noreturn;\n", "", None),
        (".extern .func g();\n", ".func g2();\n", None),
        (".global .b32 x;\n.pragma \"nounroll\";\n.file 1 \"a\"\n", "", None),
    ] {
        let text = format!("{HEAD}{before}.func f()\n{body}{after}");
        let mut errors = check(&text, &CheckOptions::default());
        errors.retain(|it| it.code == Code::MalformedStatement);
        let words: Vec<_> = errors.iter().map(|it| it.span.text(&text)).collect();
        assert_eq!(words, Vec::from_iter(word), "{text}");
        // A part of a module may be the body of a function.
        let part = text.replace(".version 8.0\n", "");
        assert!(part.len() < text.len());
        assert!(found(&part).iter().all(|it| it.0 != Code::MalformedStatement), "{part}");
    }
    // Nothing stands before the first statement.
    let text = format!("ret;\n{HEAD}.func f()\n{body}");
    assert!(found(&text).contains(&(Code::MalformedStatement, "ret")));
    let text = format!("{HEAD}.func f();\n{body}");
    let fixed = fix(&text, &CheckOptions::default(), Applicability::Unsafe);
    assert!(fixed.text.starts_with(&format!("{HEAD}.func f()\n{{")) && fixed.left.is_empty());
}

#[test]
fn a_malformed_statement_may_be_suppressed_or_repaired() {
    let text = format!(
        "{HEAD}.func (.reg .b32 d) f(.reg .b64 a)\n{{\nld.global.u32 d, [a - 8];\n\
         vadd.u32.u32.u32 d, d, d;\nret;\n}}\n"
    );
    assert_eq!(found(&text), [(Code::MalformedStatement, "-")]);
    let fixed = fix(&text, &CheckOptions::default(), Applicability::Unsafe);
    assert_eq!(fixed.text, text.replace("a - 8", "a +- 8"));
    assert_eq!(fixed.left, []);
    let suppressed = text.replace("8];", "8]; // vptx: ignore[V910]");
    assert_eq!(check(&suppressed, &CheckOptions::default()), []);
    // A part of a module may hold what only its writer completes.
    assert_eq!(check(&text.replace(HEAD, ""), &CheckOptions::default()), []);
}

/// ptxas 13.5 does not know the words that are found.
#[test]
fn words_that_ptx_does_not_have_are_found() {
    let text = |version: &str, other: &str| {
        format!(
            ".version {version}\n.target sm_90\n.func (.reg .b32 d) f(.reg .b32 a)\n{{\n\
             .reg .pred p;\n{other}\nvadd.u32.u32.u32 d, a, 1;\nret;\n}}\n"
        )
    };
    for (other, word) in [
        ("sop.b32 d, a;", Some("sop")),
        ("@!p ad.u32 d, a, 1;", Some("ad")),
        ("{ Mov.b32 d, a; }", Some("Mov")),
        (".rn.f32 d, a;", Some(".rn")),
        (".noreturn;", Some(".noreturn")),
        ("mov.u33 d, a;", Some(".u33")),
        ("@p ld.globl.u32 d, [a];", Some(".globl")),
        ("mov.U32 d, a;", Some(".U32")),
        ("popc.b32 d, a;", None),
        ("cctl.invall;", None),
        ("clmad.lo.u64 d, d, d, d;", None),
        (".reg .i32 t;", Some(".i32")),
        (".reg .b32 t; .reg .float f, g;", Some(".float")),
        (".local .align 4 .v2 .bf16 t[2];", Some(".bf16")),
        (".reg .f16x2 t; .shared .align 8 .b8 s[4];", None),
        ("shf.l.clamp.b32 d, a, a, 1;", None),
        ("ld.global.L2::64B.u32 d, [a];", None),
        // It resembles no modifier. vptx may not know all of them.
        ("mov.qwertz.u32 d, a;", None),
        (".pragma \"nounroll\";", None),
        (".b32;", None),
    ] {
        let known = text("8.0", other);
        let expected: Vec<_> = word.map(|it| (Code::UnknownWord, it)).into_iter().collect();
        assert_eq!(found(&known), expected, "{known}");
        // A later version may have it.
        assert_eq!(found(&text("9.9", other)), [], "{other}");
    }
    // ptxas 13.5 refuses the same headers.
    for (header, word) in [
        (".entry k(.param .u33 p)", Some(".u33")),
        (".func (.reg .int d) k(.reg .b32 a)", Some(".int")),
        (".entry k() .maxtid 32", Some(".maxtid")),
        (".entry k() .maxntid 4, 1 .minctapersm 1", Some(".minctapersm")),
        (".func k() .noretrn", Some(".noretrn")),
        (".entry k(.param .texref t) .maxntid 4 .minnctapersm 1 .pragma \"x\";", None),
        (".entry k() .local_maxnreg 4", None),
        (".func k(.param .align 8 .b8 p[8]) .noreturn", None),
    ] {
        let text =
            format!("{HEAD}{header}\n{{\n.reg .b32 t;\nvadd.u32.u32.u32 t, 1, 2;\nret;\n}}\n");
        let found = check(&text, &CheckOptions::default());
        let found = found.iter().filter(|it| it.code == Code::UnknownWord);
        let found: Vec<_> = found.map(|it| it.span.text(&text)).collect();
        assert_eq!(found, Vec::from_iter(word), "{header}");
    }
    let advice = |other: &str| {
        let found = check(&text("8.0", other), &CheckOptions::default());
        found.into_iter().find(|it| it.code == Code::UnknownWord).expect("a finding").help
    };
    assert_eq!(advice("mv.b32 d, a;").as_deref(), Some("did you mean `mov`?"));
    assert_eq!(advice("qwertz.b32 d, a;"), None);
    assert_eq!(advice("ld.globl.b32 d, [a];").as_deref(), Some("did you mean `.global`?"));
    assert_eq!(advice(".reg .u33 t;").as_deref(), Some("did you mean `.u32`?"));
    let attribute = ".global .attribute(.unified(1, 2), .mangaed) .b32 t;";
    assert_eq!(advice(attribute).as_deref(), Some("did you mean `.managed`?"));
    // The search for similar words ends; the findings of opcodes do not.
    for (other, count) in [("mv.b32 d, a;\n", 100), ("mov.b23 d, a;\n", 64)] {
        let found = check(&text("8.0", &other.repeat(100)), &CheckOptions::default());
        let with_help = found.iter().filter(|it| it.help.is_some()).count();
        assert_eq!((found.len(), with_help), (count, 64));
    }
}

/// nvcc and ptxas 13.5 reject the same.
#[test]
fn the_text_of_an_asm_is_ptx() {
    let video = "vadd.u32.u32.u32 %0, 1, 1;";
    let text = |other: &str, operands: &str| format!("asm(\"{other}\" : \"=r\"(d) : {operands});");
    let (cuda, words) =
        (CheckOptions::default().with_language(Language::Cuda), "\"r\"(a), \"l\"(p)");
    for (template, operands, expected) in [
        ("ld.global.u32 %0, [%2-4]; {}", words, Some((Code::MalformedStatement, "-"))),
        ("{} mov.u32 %0 %1;", words, Some((Code::MalformedStatement, "%1"))),
        ("ld.global.u32 %0 [%2];\\n\" \"{}", words, Some((Code::MalformedStatement, "%0"))),
        ("{ .reg .b32 t; ld.global.u32 t [%2]; {} }", words, Some((Code::MalformedStatement, "t"))),
        ("mov.u32 %0, %1\\n\" \"{}", words, Some((Code::MissingSemicolon, ""))),
        ("{} mov.u32 %0, %1", words, Some((Code::MissingSemicolon, ""))),
        ("ld.global.u32 %0, [%1+%2]; {}", words, Some((Code::MalformedStatement, "%2"))),
        ("mv.u32 %0, %1; {}", words, Some((Code::UnknownWord, "mv"))),
        ("{} .rn.f32 %0, %1;", words, Some((Code::UnknownWord, ".rn"))),
        ("{} mov.ub32 %0, %1;", words, Some((Code::UnknownWord, ".ub32"))),
        ("shl.b32 %0, %1.b1, 8; {}", words, Some((Code::MalformedStatement, ".b1"))),
        ("{} mov.u32 %0, _;", words, Some((Code::MalformedStatement, "_"))),
        // Only the compiler knows the constants.
        ("ld.global.u32 %0, [%1+%2]; {}", "\"l\"(p), \"n\"(4)", None),
        ("{} mov.u32 %0, %1*%2;", "\"n\"(4), \"n\"(4)", None),
        // A block that goes on in another `asm`, or an `asm` that no rule on modules judges.
        ("{ {} mov.u32 %0 %1;", words, None),
        ("mov.u32 %0 %1;", words, None),
        ("{} ld.global.u32 %0, [%2+-4];", words, None),
    ] {
        let text = text(&template.replace("{}", video), operands);
        let found = check(&text, &cuda);
        let found: Vec<_> = found.iter().map(|it| (it.code, it.span.text(&text))).collect();
        let errors = found.iter().copied().filter(|it| it.0.severity() == Severity::Error);
        assert_eq!(errors.collect::<Vec<_>>(), Vec::from_iter(expected), "{text}");
    }
    // If the user names a rule on modules, it also judges `asm` without video instructions. Text for
    // other machines is left out.
    let every = cuda.clone().with_every_module(true);
    for (template, expected) in [
        ("mov.u32 %0 %1;", Some((Code::MalformedStatement, "%1"))),
        ("mov.u32 %0, 5u;", Some((Code::MalformedNumber, "5u"))),
        ("{ .reg .b64 t; mov.b64 t, %2; ld.u32 %0 [t]; }", Some((Code::MalformedStatement, "%0"))),
        ("mov.u32 %0, %1; new.u32 %0 %1;", None),
        ("mov %0 %1;", None),
        ("lock; addl %1, 4(%2)", None),
        ("mov.u32 %0, %1;", None),
    ] {
        let text = text(template, words);
        let found = check(&text, &every);
        let found: Vec<_> = found.iter().map(|it| (it.code, it.span.text(&text))).collect();
        assert_eq!(found, Vec::from_iter(expected), "{text}");
    }
    let text = text(&format!("{video} ld.global.u32 %0 [%2-8];"), words);
    let fixed = fix(&text, &cuda, Applicability::Unsafe);
    assert_eq!(fixed.text, text.replace("[%2-8]", "[%2+-8]").replace("%0 [", "%0, ["));
}

/// ptxas 13.5 rejects the same.
#[test]
fn constants_of_all_statements_have_a_value() {
    let malformed = |text: &'static str| Some((Code::MalformedNumber, text));
    let divided = |text: &'static str| Some((Code::ConstantWithoutValue, text));
    for (statement, expected) in [
        ("mov.u32 t, 5u;", malformed("5u")),
        ("mov.u32 t, 08;", malformed("08")),
        ("mov.u32 t, 0x;", malformed("0x")),
        ("mov.u32 t, 0b12;", malformed("0b12")),
        ("mov.f32 g, 1.0f;", malformed("1.0f")),
        ("mov.f32 g, 0f3f80;", malformed("0f3f80")),
        ("add.u32 t, t, 1_000;", malformed("1_000")),
        ("ld.global.u32 t, [a+5r];", malformed("5r")),
        ("ld.global.u32 t, [08];", malformed("08")),
        ("mov.b64 {t, u}, {1, 5L};", malformed("5L")),
        ("mov.u32 t, 99999999999999999999;", malformed("99999999999999999999")),
        ("mov.u32 t, 1 + 5/0;", divided("/")),
        ("mov.u32 t, 5%(2-2);", divided("%")),
        (".global .u32 v = 5u;", malformed("5u")),
        (".global .u32 v[2][2] = {{1, 2}, {3, 4L}};", malformed("4L")),
        (".global .u64 v = generic(w)+08;", malformed("08")),
        ("mov.u32 t, 5U;", None),
        ("mov.u32 t, 017;", None),
        ("mov.u32 t, 0X1F + 0b11;", None),
        ("mov.u32 t, 5/2;", None),
        ("mov.f32 g, 0f3f800000;", None),
        ("mov.f32 g, 1e5;", None),
        ("mov.u64 a, 12345678901234567890;", None),
        (".global .u32 v[2][2] = {{1, 0x2}, {3, 4U}};", None),
    ] {
        let text = format!(
            "{HEAD}.global .b32 w;\n.func (.reg .b32 d) f(.reg .b64 a)\n{{\n.reg .b32 t, u;\n\
             .reg .f32 g;\n{statement}\nvadd.u32.u32.u32 d, 1, 1;\nret;\n}}\n"
        );
        let found = check(&text, &CheckOptions::default());
        let errors = found.iter().filter(|it| it.severity == Severity::Error);
        let found = errors.map(|it| (it.code, it.span.text(&text))).collect::<Vec<_>>();
        assert_eq!(found, Vec::from_iter(expected), "{statement}");
    }
    // It is not V910 that finds them. Any rule on whole modules has the tree read.
    let module = format!(
        "{HEAD}.func (.reg .b32 d) f() {{\nmov.u32 d, 5u;\nmov.u32 d, 1/0;\n\
         vadd.u32.u32.u32 d, 1, 1;\nret;\n}}\n"
    );
    let asm =
        "asm(\"mov.u32 %0, 5u; add.u32 %0, %0, 1/0; vadd.u32.u32.u32 %0, %0, 1;\" : \"=r\"(d));";
    for (text, language) in [(module.as_str(), Language::Ptx), (asm, Language::Cuda)] {
        for rules in [
            &[Code::MalformedNumber][..],
            &[Code::ConstantWithoutValue],
            &[Code::MalformedNumber, Code::ConstantWithoutValue],
            &[Code::MalformedStatement],
        ] {
            let any = RuleSet::NONE.with(Code::UndefinedLabel);
            let set = rules.iter().fold(any, |set, code| set.with(*code));
            let options = CheckOptions::default().with_language(language).with_rules(set);
            let found: Vec<Code> = check(text, &options).iter().map(|it| it.code).collect();
            let on = |code: &Code| *code != Code::MalformedStatement;
            let expected: Vec<Code> = rules.iter().copied().filter(on).collect();
            assert_eq!(found, expected, "{text} {rules:?}");
        }
    }
}

/// The second `;` is no part of the statement before it.
#[test]
fn a_semicolon_alone_is_malformed() {
    for statement in
        ["vadd.u32.u32.u32 r, a, 1;;", "add.u32 r, a, 1;;", "vadd.u32.u32.u32 r, a, 1; ;"]
    {
        let text = format!(
            "{HEAD}.visible .func f(.reg .b64 q)\n{{\n.reg .b32 r, a;\nld.u32 a, [q];\n{statement}\n\
             st.u32 [q], r;\nret;\n}}\n"
        );
        let every = CheckOptions::default().with_rules(RuleSet::ERRORS);
        let every = every.with_every_module(true);
        assert_eq!(found_with(&text, &every), [(Code::MalformedStatement, ";")], "{statement}");
    }
}
