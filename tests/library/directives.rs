//! All functions that read modules agree where a directive ends.

use std::fs;

use vptx::analysis::check;
use vptx::backend::ptx::{RewriteError, RewriteOptions, rewrite};
use vptx::check::CheckOptions;
use vptx::diagnostic::{Diagnostic, RuleSet, Severity};
use vptx::diff::diff;
use vptx::isa::PtxVersion;
use vptx::print::{FormatOptions, NormalOptions, format, normalize};
use vptx::source::Span;
use vptx::{Code, parse, syntax};

fn errors_only() -> CheckOptions {
    CheckOptions::default().with_rules(RuleSet::ERRORS)
}

fn codes(text: &str) -> Vec<Code> {
    check(text, &errors_only()).iter().map(|found| found.code).collect()
}

/// Statements of a module, each with its syntax error, if any. ptxas 12.9 and 13.5 accept the
/// statements without an error. They refuse the others with "syntax error" at the token after the
/// error's position.
const STATEMENTS: &[(&str, Option<Code>)] = &[
    (".extern .func f .global .b32 x;", None),
    (".extern .func f .file 1 \"x\"", None),
    (".extern .func f() .noreturn .const .b32 x;", None),
    (".extern .func f .section .debug_x { .b8 1 }", None),
    (".extern .func f .pragma \"nounroll\";", None),
    (".extern .func f .attribute(.managed) .global .b32 x;", None),
    (".extern .func f(.param .b32 a[2]) .extern .func g", None),
    (".extern .func f", None),
    (".func a { .extern .func b; ret; }", None),
    (".entry a .pragma \"x\"; .maxntid 3 .pragma \"y;{\"; { exit; }", None),
    (".entry a .pragma \"x\" , /* ; */ \"}\"; { exit; }", None),
    (".file 1 \"a\" .file 2 \"b\", 3, 4 .global .b32 x;", None),
    (".entry a() .global .b32 g;", Some(Code::MissingSemicolon)),
    (".entry a .pragma \"x\"; .global .b32 g;", Some(Code::MissingSemicolon)),
    (".entry a .pragma \"x\";", Some(Code::MissingSemicolon)),
    (".global .b32 g .global .b32 h;", Some(Code::MissingSemicolon)),
    (".global .b32 g = 3 .global .b32 h;", Some(Code::MissingSemicolon)),
    (".global .b32 g[2] = {1, 2} .global .b32 h;", Some(Code::MissingSemicolon)),
    (".global .b32 g[2] = {1; 2};", Some(Code::MissingSemicolon)),
    (".global .b32 g h;", Some(Code::MissingSemicolon)),
    (".global .b32 g", Some(Code::MissingSemicolon)),
    (".extern .func f g { ret; }", Some(Code::MissingSemicolon)),
    (".entry (.param .b64 a) { ret; }", Some(Code::MissingName)),
    (".func (.reg .b32 x) { ret; }", Some(Code::MissingName)),
    (".extern .func (.param .b32 x);", Some(Code::MissingName)),
];

#[test]
fn statements_end_where_ptxas_ends_them() {
    for (statement, error) in STATEMENTS {
        let text = format!(
            ".version 8.0\n.target sm_80\n.address_size 64\n{statement}\n.entry kk()\n{{\nexit;\n}}\n"
        );
        let found = codes(&text);
        assert_eq!(found.first(), error.as_ref(), "{statement}: {found:?}");
        let formatted = format(&text, &FormatOptions::default());
        let form = normalize(&text, &NormalOptions::default());
        let changes = diff(&text, &text);
        let oks = [formatted.is_ok(), form.is_ok(), changes.is_ok()];
        assert_eq!(oks, [error.is_none(); 3], "{statement}");
        let Some(error) = error else {
            assert!(form.unwrap().contains("entry kk"), "{statement}");
            assert_eq!(changes, Ok(Vec::new()), "{statement}");
            continue;
        };
        assert_eq!(formatted.unwrap_err().diagnostics()[0].code, *error, "{statement}");
        assert_eq!(form.unwrap_err().diagnostics()[0].code, *error, "{statement}");
        let (module, _) = parse(&text);
        let refused = rewrite(&module, &RewriteOptions::default()).unwrap_err();
        let RewriteError::Syntax(errors) = refused else { panic!("{refused:?}") };
        assert_eq!(errors[0].code, *error, "{statement}");
    }
}

fn by_hand(name: &str) -> String {
    let path = format!("{}/fixtures/directives/{name}.ptx", env!("CARGO_MANIFEST_DIR"));
    fs::read_to_string(path).unwrap()
}

#[test]
fn odd_directives_are_read_by_all() {
    let instructions = [("header_pragmas", 2), ("open_declarations", 1), ("dwarf_lines", 0)];
    for (name, count) in instructions {
        let text = by_hand(name);
        assert_eq!(codes(&text), [], "{name}");
        let (module, _) = parse(&text);
        let options = RewriteOptions::default().with_all(true);
        let new = rewrite(&module, &options).unwrap();
        assert_eq!(new.changes.len(), count, "{name}");
        assert!(new.changes.iter().all(|change| change.outcome.is_rewritten()), "{name}");
        assert_eq!(codes(&new.text()), [], "{name}");
        assert_eq!(diff(&text, &text), Ok(Vec::new()), "{name}");
        normalize(&text, &NormalOptions::default()).unwrap();
    }
}

/// A change in the body of a kernel whose header has pragmas is reported as a change of that
/// kernel.
#[test]
fn diff_sees_functions_with_pragmas_in_their_headers() {
    let old = by_hand("header_pragmas");
    for (statement, other) in [("a, a, 9;", "a, a, 8;"), ("a, a, 7, a;", "a, a, 6, a;")] {
        let new = old.replace(statement, other);
        let changes = diff(&old, &new).unwrap();
        let [change] = &changes[..] else { panic!("{changes:?}") };
        let name = if other.contains('8') { "second" } else { "first" };
        assert_eq!(change.old.as_ref().map(|part| &*part.name), Some(name));
        assert_eq!(change.counts(), (1, 1));
    }
    // A change of the pragmas is reported, too.
    assert_eq!(diff(&old, &old.replace("\"one\", ", "")).unwrap().len(), 1);
    let function = "{ .reg.u32 x; }\n.func (.reg.u32 r) f(.reg.u32 p) {";
    let glued = format!(".func g {function} mov.u32 r, p; ret; }}");
    let apart = glued.replace(".reg.u32", ".reg .u32");
    assert_eq!(diff(&glued, &apart), Ok(Vec::new()));
}

/// If the statement before a video instruction has no `;`, it would absorb the replacement.
#[test]
fn what_has_syntax_errors_is_not_rewritten() {
    let text = ".version 8.0\n.target sm_90\n.entry k() {\n.reg .b32 a, b;\nadd.u32 a, a, b\n\
                vadd.u32.u32.u32 a, a, b;\nret;\n}\n";
    assert_eq!(codes(text), [Code::MissingSemicolon]);
    let (module, diagnostics) = parse(text);
    let refused = rewrite(&module, &RewriteOptions::default()).unwrap_err();
    assert_eq!(refused, RewriteError::Syntax(diagnostics));
    // ptxas 13.5 accepts a constant that is nested too deeply for vptx. This error does not prevent
    // rewriting, because the statement has an end.
    let deep = text.replace("a, a, b\n", "a, a, b;\n").replace("a, a, b;\nret", "a, a, DEEP;\nret");
    let deep = deep.replace("DEEP", &format!("{}1{}", "(".repeat(201), ")".repeat(201)));
    let (module, diagnostics) = parse(&deep);
    assert_eq!(diagnostics[0].code, Code::NestedTooDeeply);
    assert_eq!(rewrite(&module, &RewriteOptions::default()).unwrap().text(), deep);
    for text in [".visible .entry)", ".entry (.param .u64 p0) { .reg .b32 %r<8>; ret; }"] {
        let refused = normalize(text, &NormalOptions::default()).unwrap_err();
        assert_eq!(refused.into_diagnostics(), check(text, &errors_only()), "{text}");
    }
}

/// The formatter puts debug information of PTX 1.x on separate lines, and the normal form omits it
/// like other debug information.
#[test]
fn dwarf_of_old_ptx() {
    let text = ".version 1.4\n.target sm_10\n.extern .func f @@DWARF .section\t.debug_info,\n\"\",\
                @progbits @@DWARF .byte 0x1,2 .global .b32 g;\n.entry k { exit; }\n";
    let expected = ".version 1.4\n.target sm_10\n.extern .func f\n\
                    @@DWARF .section .debug_info, \"\", @progbits\n@@DWARF .byte 0x1, 2\n\
                    .global .b32 g;\n.entry k\n{\n    exit;\n}\n";
    assert_eq!(format(text, &FormatOptions::default()).unwrap(), expected);
    let form = normalize(text, &NormalOptions::default()).unwrap();
    assert!(!form.contains("DWARF"), "{form}");
    let open = syntax::parse("@@DWARF .section .debug_info,");
    assert_eq!(open.errors().iter().map(|it| it.span).collect::<Vec<_>>(), [Span::at(29)]);
    let without = text.replace("@@DWARF .byte 0x1,2 ", "");
    assert_eq!(diff(text, &without), Ok(Vec::new()));
    let mut options = NormalOptions::default();
    options.keep_debug = true;
    assert_eq!(normalize(&normalize(text, &options).unwrap(), &options), normalize(text, &options));
}

/// Compares vptx with ptxas 13.5 for each of its targets and each version.
#[test]
fn targets_go_with_versions_as_in_ptxas() {
    let recorded = include_str!("../../fixtures/oracle/target-versions.tsv");
    let versions =
        (1..=9).flat_map(|major| (0..=9).map(move |minor| PtxVersion::new(major, minor)));
    let known: Vec<PtxVersion> = versions.filter(|version| version.is_known()).collect();
    let found = |version: &str, target: &str| {
        let text = format!(".version {version}\n.target {target}\n.entry k() {{ exit; }}\n");
        codes(&text).contains(&Code::TargetAboveVersion)
    };
    let mut refused = 0;
    for line in recorded.lines().filter(|line| !line.starts_with('#')) {
        let [target, "9.5", since] = line.split('\t').collect::<Vec<_>>()[..] else { continue };
        let Ok(since) = since.parse::<PtxVersion>() else { continue };
        for version in &known {
            let is_refused = *version < since;
            assert_eq!(found(&version.to_string(), target), is_refused, "{version} {target}");
            refused += usize::from(is_refused);
        }
    }
    assert!(refused > 1000, "{refused}");
    // It is unknown what these versions and targets need, so there is no finding.
    for (version, target) in
        [("99.0", "sm_90"), ("1.9", "sm_90"), ("7.0", "sm_999"), ("7.0", "sm_90f")]
    {
        assert!(!found(version, target), "{version} {target}");
    }
}

/// Heads of modules with one mistake, what `check` marks, and its code. ptxas 13.5 refuses each.
const HEADS: &[(&str, &str, Code)] = &[
    (".version 8,0\n.target sm_90\n.address_size 64", ",", Code::UnexpectedToken),
    (".version v8.0\n.target sm_90\n.address_size 64", "v8", Code::UnexpectedToken),
    (".version 8.0.1\n.target sm_90\n.address_size 64", ".1", Code::UnexpectedToken),
    (".version \"8.0\"\n.target sm_90\n.address_size 64", "\"8.0\"", Code::UnexpectedToken),
    (".version 8.0\n.target 90\n.address_size 64", "90", Code::UnexpectedToken),
    (".version 8.0\n.target sm_90 sm_80\n.address_size 64", "sm_80", Code::UnexpectedToken),
    (".version 8.0\n.target: sm_90\n.address_size 64", ":", Code::UnexpectedToken),
    (".version 8.0\n.target sm_90\n.address_size = 64", "=", Code::UnexpectedToken),
    (".version 8.0\n.target sm_90\n.address_size sixty", "sixty", Code::UnexpectedToken),
    (".verison 8.0\n.target sm_90\n.address_size 64", ".verison", Code::UnexpectedToken),
    (".version 8.0\n.taget sm_90\n.address_size 64", ".taget", Code::UnexpectedToken),
    (".version 8.0\n.target sm_90\n.pragma \"nounroll\"", "", Code::MissingSemicolon),
    (".version 8.0\n.target sm_90\nfoo", "foo", Code::UnexpectedToken),
];

#[test]
fn a_mistake_in_the_head_hides_nothing_behind_it() {
    let body = ".visible .entry k(.param .b64 p)\n{\n.reg .b32 a, b;\nmov.b32 a, 1;\n\
                vadd.u32.u32.u32 b, a.h9, a;\nret;\n}\n";
    for (head, marked, code) in HEADS {
        let text = format!("{head}\n{body}");
        let found = check(&text, &CheckOptions::default());
        let errors: Vec<(Code, &str)> = found
            .iter()
            .filter(|it| it.severity == Severity::Error)
            .map(|it| (it.code, it.span.text(&text)))
            .collect();
        assert_eq!(errors, [(*code, *marked), (Code::UnknownSelector, ".h9")], "{text}");
        let is_target =
            |it: &Diagnostic| it.help.as_deref().is_some_and(|it| it.contains("`sm_90`"));
        assert_eq!(found.iter().any(is_target), *marked == "90", "{text}");
        assert!(format(&text, &FormatOptions::default()).is_err(), "{text}");
        // A tree has the kernel, too.
        assert_eq!(syntax::parse(&text).functions().count(), 1, "{text}");
    }
}

/// Nothing that is legal behind a head on the same line is taken for a part of it.
#[test]
fn modules_may_have_one_line() {
    let heads = [
        ".version 8.0 .target sm_90 .address_size 64 ",
        ".version 8.0 .target sm_90, texmode_independent ",
    ];
    let rests = [
        ".entry k() { ret; }",
        ".global .align 4 .b32 t;",
        ".align 4 .global .b32 t;",
        ".func f() { ret; } .entry k() { ret; }",
        "/* a comment */ .entry k() { L: ret; }",
    ];
    for head in heads {
        for rest in rests {
            let text = format!("{head}{rest}");
            assert_eq!(codes(&text), [], "{text}");
            assert_eq!(syntax::parse(&text).errors(), [], "{text}");
        }
    }
    // Parts of a module are no module, but are read.
    for part in ["vadd.u32.u32.u32 a, b, c;", "L: vadd.u32.u32.u32 a, b, c;", "bra L;", "ret;"] {
        let text = format!(".version 8.0 .target sm_90 {part}");
        assert!(!codes(&text).contains(&Code::UnexpectedToken), "{text}");
        assert_eq!(syntax::parse(&text).errors(), [], "{text}");
    }
}

/// A `;` inside of braces shows that another statement started before them.
#[test]
fn a_statement_without_an_end_takes_no_block_with_it() {
    let function = |body: &str| {
        format!(
            ".version 8.0\n.target sm_90\n.entry k()\n{{\n.reg .b32 a;\nmov.b32 a, 1{body}\
             vadd.u32.u32.u32 a, a, a;\nret;\n}}\n"
        )
    };
    let text = function("\n{ .reg .b32 c; mov.b32 c, a; }\n");
    assert_eq!(codes(&text), [Code::MissingSemicolon]);
    let text = function(" { .reg .b32 c;\n\tmov.b32 c, a;\n\tadd.u32 c, c, c; } ");
    assert_eq!(codes(&text), [Code::MissingSemicolon]);
    // Here, there is a `{` too many.
    let text = function("{a, a;\n");
    assert_eq!(codes(&text), [Code::MalformedStatement]);
}

/// An instruction behind a directive that does not exist is read, and nothing takes the text.
#[test]
fn unknown_directives_hide_no_instruction() {
    for directive in [".foo (a /", ".foo {", ".foo *"] {
        let text = format!("{directive}\nvadd.u32.u32.u32 d, a, b;\n");
        assert_eq!(codes(&text)[0], Code::MissingSemicolon, "{text}");
        assert_eq!(syntax::parse(&text).video_instructions().count(), 1, "{text}");
        assert!(normalize(&text, &NormalOptions::default()).is_err(), "{text}");
        assert!(format(&text, &FormatOptions::default()).is_err(), "{text}");
    }
}

/// ptxas 13.5 accepts this; the manual does not have the directive.
#[test]
fn loc_intermediate_is_a_loc() {
    let text = ".version 9.4\n.target sm_90\n.address_size 64\n.file 1 \"a.cu\"\n.entry k()\n{\n    \
                .reg .b32 a;\n    .loc 1 2 3\n    .loc_intermediate 1 2 3\n    mov.b32 a, 1;\n    \
                ret;\n}\n";
    assert_eq!(syntax::parse(text).errors(), []);
    assert_eq!(check(text, &CheckOptions::default().with_every_module(true)), []);
    assert_eq!(format(text, &FormatOptions::default()).as_deref(), Ok(text));
}
