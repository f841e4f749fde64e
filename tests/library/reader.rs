//! The module reader. It finds every video instruction of a module in its place, whatever stands
//! around it, and checks it with the declarations that are in scope.

use std::fmt::Write as _;
use std::ops::Range;

use crate::support::{check_spelling, is_about_results, ptx_files};
use vptx::diagnostic::Severity;
use vptx::isa::{PtxVersion, Target};
use vptx::{CheckOptions, Code, Diagnostic, Dialect, parse, parse_with};

const DIALECTS: [Dialect; 2] = [Dialect::Documented, Dialect::Ptxas];

/// Removes the marks `⟦ ⟧` from a text and returns the ranges between them.
fn marked(text: &str) -> (String, Vec<Range<usize>>) {
    let mut plain = String::new();
    let mut ranges = Vec::new();
    for c in text.chars() {
        match c {
            '⟦' => ranges.push(plain.len()..0),
            '⟧' => ranges.last_mut().expect("a mark was opened").end = plain.len(),
            _ => plain.push(c),
        }
    }
    (plain, ranges)
}

fn run(text: &str, dialect: Dialect) -> Vec<Diagnostic> {
    check_spelling(text, &CheckOptions::default().with_dialect(dialect))
}

/// Declarations that may precede a kernel's body.
const HEAD: &str = "\
.version 7.8
.target sm_80
.address_size 64
.extern .func (.param .b32 o) g (.param .b32 i);
.visible .entry k(.param .u64 p)
{
.reg .b32 r, s, t; .reg .f32 f; .reg .pred q; .reg .b64 w; .reg .b32 %r<10>;
";

fn kernel(body: &str) -> String {
    format!("{HEAD}{body}\nret;\n}}\n")
}

/// Checks that the reader finds exactly the marked statements, and that there are no findings.
fn clean(text: &str) {
    let (text, marks) = marked(text);
    for dialect in DIALECTS {
        let options = CheckOptions::default().with_dialect(dialect);
        let (module, mut diagnostics) = parse_with(&text, &options).expect("PTX");
        diagnostics.retain(|diagnostic| !is_about_results(diagnostic));
        let spans: Vec<Range<usize>> =
            module.statements().iter().map(|statement| statement.span.range()).collect();
        let found: Vec<&str> = spans.iter().map(|span| &text[span.clone()]).collect();
        assert_eq!(diagnostics, [], "{text}");
        assert_eq!(spans, marks, "{text}\nfound {found:?}");
        assert_eq!(module.instructions().count(), marks.len());
        assert_eq!(module.source(), text);
    }
}

/// Checks the errors of a text in both dialects. Each is given as its code and the exact text that
/// it marks.
#[track_caller]
fn errors(text: &str, expected: &[(Code, &str)]) {
    for dialect in DIALECTS {
        let found = run(text, dialect);
        let errors: Vec<(Code, &str)> = found
            .iter()
            .filter(|found| found.severity == Severity::Error)
            .map(|found| (found.code, found.span.text(text)))
            .collect();
        assert_eq!(errors, expected, "{dialect:?}: {text}");
    }
}

/// Checks that there is exactly one finding, at the mark of the text.
#[track_caller]
fn error_at(text: &str, code: Code) {
    let (text, marks) = marked(text);
    for dialect in DIALECTS {
        let found = run(&text, dialect);
        let found: Vec<(Code, Range<usize>)> =
            found.iter().map(|found| (found.code, found.span.range())).collect();
        assert_eq!(found, [(code, marks[0].clone())], "{dialect:?}: {text}");
    }
}

const GOOD: &str = "⟦vadd.u32.u32.u32 r, s.b0, t.h1;⟧";

/// Statements of all kinds, each followed by a video instruction.
const BODIES: &[&str] = &[
    // Comments and preprocessor lines between and inside statements.
    "⟦vadd /* ; */ .u32 // }\n.u32.u32 r /* { */, s, /**/ t // ;\n;⟧",
    "// vadd.u32.u32.u32 r, r, r;\n/* vsub.u32.u32.u32 r, r, r;\n*/ ⟦vadd.u32.u32.u32 r, s, t;⟧ // };",
    "# 12 \"x.cu\"\n⟦vadd.u32.u32.u32 r,\n# 13 \"x.cu\" 2\n  s, t;⟧\n  # 14 \"x;{.cu\"\n⟦@q vadd.u32.u32.u32 r, s, t;⟧",
    "mov.u32 r, // no end yet\n 5 /* ; */ ; ⟦vsub.u32.u32.u32 r, r, r;⟧ /*/ ; /*/ ⟦vmin.u32.u32.u32 r, r, r;⟧",
    "/***/⟦vadd.u32.u32.u32 r, s, t;⟧/**//* * / */⟦vadd.u32.u32.u32 r, s, t;⟧//",
    // Line information, which has no `;`.
    ".loc 1 2 3\n⟦vadd.u32.u32.u32 r, s, t;⟧",
    ".loc 1 2 3 ⟦vadd.u32.u32.u32 r, s, t;⟧ .loc 1 2 3 ⟦@!q vadd.u32.u32.u32 r, s, t;⟧",
    // `3.e5` is one number, as for ptxas.
    ".loc 1 2 3.e5 ⟦vadd.u32.u32.u32 r, s, t;⟧",
    ".loc\t1 22 5, function_name $info, inlined_at 1 20 3\n⟦vadd.u32.u32.u32 r, s, t;⟧",
    ".loc 1 22 5, function_name $info + 16, inlined_at 1 20 3 ⟦vadd.u32.u32.u32 r, s, t;⟧",
    // Jumps, labels and calls.
    "x: .branchtargets A, B;\n@q brx.idx r, x;\nA: B: ⟦vadd.u32.u32.u32 r, s, t;⟧",
    "y: .callprototype (.param .b32 _) _ (.param .b32 _, .param .align 8 .b8 _[12]);\n⟦vadd.u32.u32.u32 r, s, t;⟧",
    "z: .calltargets g;\n⟦vadd.u32.u32.u32 r, s, t;⟧",
    "{ .param .b32 i; .param .b32 o; st.param.b32 [i], r; call.uni (o), g, (i); ld.param.b32 r, [o]; } ⟦vadd.u32.u32.u32 r, s, t;⟧",
    "{ .param .b32 i, o; call (o), g, (i); ⟦vadd.u32.u32.u32 r, s, t;⟧ }",
    "C:D:⟦vadd.u32.u32.u32 r, s, t;⟧⟦vsub.u32.u32.u32 r, s, t;⟧E: ⟦@q vmin.u32.u32.u32 r, s, t;⟧{⟦vmax.u32.u32.u32 r, s, t;⟧}F:",
    "vadd: ⟦vadd.u32.u32.u32 r, s, t;⟧ bra vadd;",
    "$L__BB0_1:\n⟦vadd.u32.u32.u32 r, s, t;⟧\n_x :\n⟦vadd.u32.u32.u32 r, s, t;⟧",
    // Operands of other instructions.
    "mov.b64 {r, _}, w; mov.b64 w, {r, s}; ld.global.v2.u32 {r, s}, [w+8]; ⟦vadd.u32.u32.u32 r, s, t;⟧",
    "st.global.v4.f32 [w+16], {f, f, f, f};⟦vadd.u32.u32.u32 r, s, t;⟧",
    "mov.u32 r, %tid.x; mov.u32 s, %ctaid.y;\n⟦vadd.u32.u32.u32 r, s, t;⟧",
    ".reg .v2 .u32 duo; .reg .v4 .f32 quad;\nmov.u32 r, duo.x; mov.f32 f, quad.w;\n⟦vadd.u32.u32.u32 r, s, t;⟧",
    "mov.u32 r, ((1 << 4) | 3) * -2 % 6;\nmov.b32 r, 0f3F800000; mov.f32 f, 1.5e-3;\n⟦vadd.u32.u32.u32 r, s, t;⟧",
    "@q bra done; @!q mov.u32%r1,%r2;⟦@q vadd.u32.u32.u32 r, s, t;⟧ done:",
    "mov.u32%r1,5;⟦vadd.u32.u32.u32%r1,%r2.b0,%r3;⟧⟦@q vset.u32.u32.eq%r1,%r2,%r3;⟧",
    "vote.sync.all.pred q, q, 0xff;\n⟦vadd.u32.u32.u32 r, s, t;⟧",
    ".pragma \"nounroll; } {\";\n⟦vadd.u32.u32.u32 r, s, t;⟧",
    "{}{{}{⟦vadd.u32.u32.u32 r, s, t;⟧}}",
    // White space wherever ptxas accepts it.
    "⟦vadd .u32 .u32\n.u32\tr , s .b0 , t\n.h1 ;⟧",
    "⟦@ ! q vadd.u32.u32.u32 r,s,t ;⟧",
    "⟦@/**/q/**/vadd.u32.u32.u32 r,s,(.s64)5;⟧",
    // Declarations between statements.
    ".reg .u32 late; ⟦vadd.u32.u32.u32 late, late, t;⟧ .reg .s32 later, latest; ⟦vsub.s32.s32.s32 later, latest, late;⟧",
    ".shared .align 16 .b8 tile[1024]; .local .b32 stack[4];\n⟦vadd.u32.u32.u32 r, s, t;⟧",
    ".shared .b32 vadd; st.shared.b32 [vadd], r; ⟦vadd.u32.u32.u32 r, s, t;⟧",
];

#[test]
fn statements_are_found_behind_anything() {
    for body in BODIES {
        let text = kernel(&format!("{GOOD}\n{body}\n{GOOD}"));
        clean(&text);
        clean(&text.replace('\n', "\r\n"));
    }
    // Puts all bodies in one kernel, each in a block, so that their names do not clash.
    let mut all = String::new();
    for body in BODIES {
        write!(all, "{{\n{body}\n}}\n").expect("strings grow");
    }
    clean(&kernel(&all));
}

/// Between any two tokens, a line break counts as a space.
#[test]
fn statements_may_break_anywhere() {
    for tokens in [
        "@ ! q vmad .s32 .u32 .s32 .sat .shr7 r , - s .b3 , t .h1 , 5 ;",
        "vmad .s32 .u32 .s32 .po r , ( 1 + 2 ) * 3 , - 7 , WARP_SZ ;",
        "vadd2 .s32 .u32 .s32 r .h1 , s .h01 , t .h23 , r ;",
        "vset .u32 .u32 .eq r .b1 , 1 ? 2 : 3 , ~ ( .u64 ) 5 % 3 , s ;",
        "vadd .u32 .u32 .u32 r , s , ( .s64 ) WARP_SZ ;",
    ] {
        for gap in ["\n", " \r\n\t", "/**/\n", " // x ;\n", "\n# 7 \"x.cu\"\n"] {
            let text = tokens.replace(' ', gap);
            clean(&kernel(&format!("⟦{text}⟧\n{GOOD}")));
        }
    }
}

/// Directives of modules, which may also break anywhere.
const MODULES: &[&str] = &[
    ".file 1 \"a;b{.cu\", 1700000000, 4096\n.file\t2 \"c.cu\"\n",
    ".section .debug_info {\n.b8 1, 2\n.b64 .debug_abbrev+4\nstart:\n.b32 end-start\nend:\n}\n.section .debug_str { $info: .b8 1, 0 }\n",
    ".section\t.debug_line\t{ }\n.section .debug_loc\n{\n}\n",
    ".global .u32 x = ((1 << 4) | 0x3) * -2, y = ~0, z;\n.global .f64 d[4] = {0d400921FB54442D18, 1e-3, .5, 3.E+2};\n",
    ".global .u32 m[2][3] = {{1, 2, 3}, {4U, 5, 0x6}};\n.const .s8 b[] = {-128, 127};\n.global .u64 at[2] = {generic(m)+8, m+4};\n",
    ".visible .global .align 16 .v4 .f32 v = {1.0, -2.5, 0f7F800000, 2.0};\n.extern .shared .align 4 .b8 dynamic[];\n.common .global .b32 merged;\n",
    ".global .texref image; .global .surfref surface; .global .samplerref sampler;\n",
    ".weak .func helper;\n.weak .func helper\n{\nret;\n}\n",
    ".func (.reg .u32 sum) add_pair (.reg .u32 a, .reg .u32 b)\n{\n⟦vadd.u32.u32.u32 sum, a, b;⟧\nret;\n}\n",
    ".func (.param .b32 o) h (.param .b32 i, .param .align 8 .b8 c[16])\n{\n.reg .b32 r;\nld.param.b32 r, [i];\n⟦vadd.u32.u32.u32 r, r, r;⟧\nst.param.b32 [o], r;\nret;\n}\n.alias h2, h;\n",
    ".func no_arguments () .noreturn;\n.func no_arguments () .noreturn\n{\ntrap;\n}\n",
    ".entry e .reqntid 32, 4 .maxnreg 40 { .reg .b32 r; ⟦vadd.u32.u32.u32 r, r, r;⟧ ret; }\n",
    ".entry e2 ( .param .u64 .ptr .global .align 16 x, .param .align 4 .b8 y[12] ) .maxntid 128,1,1 .minnctapersm 2\n{ .reg .b32 x2; ⟦vadd.u32.u32.u32 x2, x2, x2;⟧ ret; }\n",
    ".pragma \"nounroll\";\n",
    "# 1 \"x.cu\"\n# 1 \"<built-in>\"\n/* { */ // }\n",
];

#[test]
fn directives_are_passed_over() {
    let (preamble, rest) = HEAD.split_at(HEAD.find(".extern").expect("it is there"));
    let mut all = String::new();
    for module in MODULES {
        let text = format!("{preamble}{module}{rest}{GOOD}\nret;\n}}\n");
        clean(&text);
        clean(&text.replace('\n', "\r\n"));
        // In most files, DWARF sections are at the end.
        clean(&format!("{preamble}{rest}{GOOD}\nret;\n}}\n{module}"));
        all.push_str(module);
    }
    clean(&format!("{preamble}{all}{rest}{GOOD}\nret;\n}}\n"));
}

#[test]
fn giant_initialisers_are_passed_over() {
    let numbers = (0..200_000).map(|n| (n % 251).to_string()).collect::<Vec<_>>().join(",");
    let text = kernel(GOOD);
    let (before, after) = text.split_at(text.find(".extern").expect("it is there"));
    let rows = vec!["{1, 2}"; 20_000].join(",\n");
    clean(&format!(
        "{before}.global .align 1 .b8 big[200000] = {{{numbers}}};\n\
         .global .u32 rows[20000][2] = {{{rows}}}, one = 1;\n{after}"
    ));
}

#[test]
fn one_line_without_line_end() {
    let text = format!("{HEAD}{GOOD}{GOOD}C:{GOOD}ret;}}").replace('\n', " ");
    clean(&text);
}

#[test]
fn bare_statements_need_no_declarations() {
    clean("⟦vadd.u32.u32.u32 d, a, b;⟧");
    clean("⟦@p vadd.u32.u32.u32 d, a, b;⟧ ⟦vset4.u32.u32.eq d.b1, a, b.b0123, c;⟧");
    clean("l: ⟦vadd.u32.u32.u32 d, a, b;⟧ ret; { ⟦vadd.u32.u32.u32 d, a, b;⟧ }");
    clean("");
    clean(" \r\n// nothing\n");
}

// ------------------------------------------------- declarations and classes

/// Checks registers of each type as destination, source and third source.
#[test]
fn registers_are_judged_by_their_class() {
    for ty in [".b32", ".u32", ".s32"] {
        clean(&kernel(&format!(".reg {ty} x;\n⟦vadd.u32.s32.u32.add x, x.b1, x, x;⟧")));
        clean(&kernel(&format!(".reg {ty} x<3>;\n⟦vadd4.u32.s32.u32 x2, x1, x0, x2;⟧")));
    }
    for ty in [
        ".b8", ".b16", ".b64", ".u8", ".u16", ".u64", ".s8", ".s16", ".s64", ".f16", ".f32",
        ".f64", ".b128", ".pred", ".v2 .b32", ".v4 .b32",
    ] {
        for operands in ["x, r, r, r", "r, x, r, r", "r, r, x, r", "r, r, r, x"] {
            let text = kernel(&format!(".reg {ty} x;\nvadd.u32.s32.u32.add {operands};"));
            errors(&text, &[(Code::RegisterType, "x")]);
            let found = &run(&text, Dialect::Ptxas)[0];
            let declared = text.find(&format!("{ty} x")).expect("it is there") + ty.len() + 1;
            assert_eq!(found.labels[0].span.range(), declared..declared + 1, "{text}");
        }
    }
}

#[test]
fn what_is_no_register() {
    for (name, declaration) in [
        ("x", ".shared .b32 x;"),
        ("x", ".local .b32 x[4];"),
        ("x", ".param .b32 x;"),
        ("y", ".global .b32 x = 1, y;"),
        ("x", "x:"),
        ("g", ""),
        ("k", ""),
        ("p", ""),
    ] {
        let text = kernel(&format!("{{{declaration}\nvadd.u32.u32.u32 r, {name}, r;}}"));
        errors(&text, &[(Code::OperandKind, name)]);
    }
    errors(&kernel("vadd.u32.u32.u32 r, nothing, r;"), &[(Code::UndeclaredRegister, "nothing")]);
    errors(&kernel("vadd.u32.u32.u32 r, %tid, r;"), &[(Code::SpecialRegister, "%tid")]);
    errors(&kernel("vadd.u32.u32.u32 r, %tid.x, r;"), &[(Code::SpecialRegister, "%tid.x")]);
    errors(
        &kernel(".reg .v2 .b32 duo;vadd.u32.u32.u32 r, duo.x, r;"),
        &[(Code::RegisterType, "duo")],
    );
}

/// ptxas 11.8 to 13.5: "Arguments mismatch for instruction".
#[test]
fn pairs_of_halves_are_not_written_or_added_by_comparisons_and_not_negated() {
    for (statement, is_wrong) in [
        ("vset.u32.u32.eq x, s, t;", true),
        ("vset.u32.u32.eq.add r, s, t, x;", true),
        ("vset.u32.u32.eq r.h0, s, t, x;", true),
        ("vset2.u32.u32.eq x, s, t, r;", true),
        ("vset4.u32.u32.eq r, s, t, x;", true),
        ("vset.u32.u32.eq r, x, x;", false),
        ("vset4.u32.u32.eq r, x, x, t;", false),
        ("vmad.s32.s32.s32 r, s, t, -x;", true),
        ("vmad.s32.s32.s32 r, -x, s, t;", true),
        ("vmad.s32.s32.s32 r, s, -x.b0, t;", true),
        ("vmad.s32.s32.s32 x, x, x.b0, x;", false),
        ("vmin.u32.u32.u32.add x, s, t, x;", false),
        ("vsub2.u32.u32.u32.add x, x, x, x;", false),
    ] {
        let text = |statement: &str| kernel(&format!(".reg .f16x2 x;\n{statement}"));
        if is_wrong {
            errors(&text(statement), &[(Code::RegisterType, "x")]);
        } else {
            clean(&text(&format!("⟦{statement}⟧")));
        }
    }
}

#[test]
fn guards_are_predicates() {
    clean(&kernel(
        ".reg .pred %p<4>;\n⟦@%p3 vadd.u32.u32.u32 r, s, t;⟧ ⟦@!%p0 vadd.u32.u32.u32 r, s, t;⟧",
    ));
    // The only predicate among the special registers.
    clean(&kernel("⟦@!%is_explicit_cluster vadd.u32.u32.u32 r, s, t;⟧"));
    for guard in ["r", "f", "k", "nothing", "%laneid"] {
        errors(
            &kernel(&format!("@{guard} vadd.u32.u32.u32 r, s, t;")),
            &[(Code::GuardNotPredicate, guard)],
        );
    }
}

/// A wrong guard does not hide the instruction after it. ptxas reports a syntax error for each.
#[test]
fn malformed_guards_are_reported() {
    let mut silent = Vec::new();
    for guard in ["@!!q", "@-q", "@(q)", "@", "@!"] {
        for text in [
            kernel(&format!("{guard} vadd.u32.u32.u32 r, s, t;")),
            format!("{guard} vadd.u32.u32.u32 r, s, t;"),
        ] {
            if run(&text, Dialect::Ptxas).is_empty() {
                silent.push(guard);
            }
        }
    }
    assert!(silent.is_empty(), "nothing found with {silent:?}");
}

#[test]
fn ranges_of_registers_have_ends() {
    let text = "⟦vadd.u32.u32.u32 %x0, %x9, %x10;⟧ ⟦vadd.u32.u32.u32 %x99, %r9, %r0;⟧";
    clean(&kernel(&format!(".reg .b32 %x<100>;\n{text}")));
    clean(&kernel(&format!(".reg .f32 %x; .reg .b32 %y, %x<100>;\n{text}")));
    errors(
        &kernel(".reg .b32 %x<100>;\nvadd.u32.u32.u32 %x99, %x100, %x;"),
        &[(Code::UndeclaredRegister, "%x100"), (Code::UndeclaredRegister, "%x")],
    );
    // `%f` and `%fx` are different ranges.
    errors(
        &kernel(".reg .f32 %f<4>; .reg .b32 %fx<4>;\nvadd.u32.u32.u32 %fx1, %f1, %fx4;"),
        &[(Code::RegisterType, "%f1"), (Code::UndeclaredRegister, "%fx4")],
    );
}

/// The innermost declaration is valid until its scope ends.
#[test]
fn scopes_hide_and_restore() {
    let text = kernel(
        "⟦vadd.u32.u32.u32 r, %r1, s;⟧
        {
            .reg .f32 r;
            vadd.u32.u32.u32 s, r, t;
            {
                .reg .s32 r; .reg .b64 s;
                ⟦vadd.u32.u32.u32 r, r, t;⟧
                vadd.u32.u32.u32 s, r, t;
            }
            vadd.u32.u32.u32 s, s, r;
            { .reg .u16 %r<2>; vadd.u32.u32.u32 s, %r1, %r2; }
            ⟦vadd.u32.u32.u32 s, %r1, %r2;⟧
            .reg .f64 t;
            vadd.u32.u32.u32 s, s, t;
        }
        ⟦vadd.u32.u32.u32 r, s, t;⟧",
    );
    let (text, _) = marked(&text);
    errors(
        &text,
        &[
            (Code::RegisterType, "r"),
            (Code::RegisterType, "s"),
            (Code::RegisterType, "r"),
            (Code::RegisterType, "%r1"),
            (Code::RegisterType, "t"),
        ],
    );
    let found = run(&text, Dialect::Documented);
    let declared: Vec<&str> = found
        .iter()
        .map(|found| {
            let line = text[..found.labels[0].span.start as usize].rfind('\n').expect("not first");
            text[line..].trim_start().split(';').next().unwrap_or_default()
        })
        .collect();
    assert_eq!(
        declared,
        [".reg .f32 r", ".reg .s32 r", ".reg .f32 r", "{ .reg .u16 %r<2>", ".reg .f64 t"]
    );
}

#[test]
fn functions_have_scopes_of_their_own() {
    let text = "
.version 7.8
.target sm_80
.reg .b32 everywhere;
.func (.reg .u32 out) f (.reg .u32 in, .reg .f32 real, .param .b32 memory)
{
    vadd.u32.u32.u32 out, in, everywhere;
    vadd.u32.u32.u32 out, real, in;
    vadd.u32.u32.u32 out, memory, in;
    .reg .b32 mine;
}
.entry k()
{
    .reg .b32 r;
    vadd.u32.u32.u32 r, everywhere, in;
    vadd.u32.u32.u32 r, mine, out;
    vadd.u32.u32.u32 r, f, k;
}
";
    errors(
        text,
        &[
            (Code::RegisterType, "real"),
            (Code::OperandKind, "memory"),
            (Code::UndeclaredRegister, "in"),
            (Code::UndeclaredRegister, "mine"),
            (Code::UndeclaredRegister, "out"),
            (Code::OperandKind, "f"),
            (Code::OperandKind, "k"),
        ],
    );
    // Each parameter needs a space and a type of its own.
    let text = ".version 7.8\n.target sm_80\n.func f(.reg .u32 a, b)\n\
                {\nvadd.u32.u32.u32 a, a, b;\n}\n";
    errors(text, &[(Code::UndeclaredRegister, "b")]);
    // The parameters of a function without a body are not those of the next one.
    let text = ".version 7.8\n.target sm_80\n.func f(.reg .b32 x);\n.func g(.reg .b32 r)\n\
                {\nvadd.u32.u32.u32 r, x, r;\n}\n";
    errors(text, &[(Code::UndeclaredRegister, "x")]);
    // A function that starts in open blocks ends all of them.
    let text = ".version 7.8\n.target sm_80\n.entry k()\n{\n.reg .b32 outer;\n{\n{\n\
                .func g(.reg .b32 r)\n{\nvadd.u32.u32.u32 r, outer, r;\n}\n";
    errors(text, &[(Code::UnclosedBrace, "{"), (Code::UndeclaredRegister, "outer")]);
    // A name in brackets declares nothing.
    let text = ".version 7.8\n.target sm_80\n.func g(.reg .b32 r)\n{\n\
                .local .b32 x[many];\nvadd.u32.u32.u32 r, many, r;\n}\n";
    errors(text, &[(Code::UndeclaredRegister, "many")]);
}

// ----------------------------------------------------------- version, target

#[test]
fn the_last_target_counts() {
    let module = |targets: &str| {
        format!("{targets}\n.entry k() {{ .reg .b32 r; vadd4.u32.u32.u32 r, r, r, r; }}")
    };
    let target = |text: &str| parse(text).0.target();
    for (text, expected) in [
        (".version 8.0 .target sm_90a", Target { number: 90, suffix: Some('a') }),
        (".version 8.8\n.target sm_100f", Target { number: 100, suffix: Some('f') }),
        (".version 8.0\n.target sm_90, texmode_independent", Target::sm(90)),
        (".version 8.0\n.target sm_75, debug", Target::sm(75)),
        (".version 8.0\n.target sm_13\n.target sm_30", Target::sm(30)),
        (".version 3.0\n.target sm_10, sm_30", Target::sm(30)),
        (
            ".version 3.0 // .target sm_10\n.target /* sm_11 */ sm_30 , map_f64_to_f32",
            Target::sm(30),
        ),
    ] {
        let text = module(text);
        assert_eq!(run(&text, Dialect::Documented), [], "{text}");
        assert_eq!(target(&text), Some(expected), "{text}");
    }
    for targets in [".target sm_90\n.target sm_20", ".target sm_29", ".target sm_35, sm_13"] {
        let text = module(&format!(".version 8.0\n{targets}"));
        errors(&text, &[(Code::TargetTooLow, "vadd4")]);
    }
    let text = module(".version 2.3\n.target sm_21");
    errors(&text, &[(Code::TargetTooLow, "vadd4"), (Code::VersionTooLow, "vadd4")]);
    assert_eq!(parse(&text).0.version(), Some(PtxVersion::new(2, 3)));
    errors(
        &module(".version 1.4\n.target sm_30"),
        &[(Code::TargetAboveVersion, "sm_30"), (Code::VersionTooLow, "vadd4")],
    );
    // Options override the module.
    let options = CheckOptions::default()
        .with_target(Some(Target::sm(30)))
        .with_ptx_version(Some(PtxVersion::new(3, 0)));
    assert_eq!(check_spelling(&text, &options), []);
}

// ------------------------------------------------------------ broken modules

#[test]
fn what_never_ends_is_reported_where_it_starts() {
    // The braces around the statement are not reported, because the text ends inside them.
    for text in [
        "vadd.u32.u32.u32 d, a, b; ⟦/*⟧ open",
        "⟦/*⟧/ vadd.u32.u32.u32 d, a, b;",
        "ret; // fine\n⟦/*⟧ * / vadd.u32.u32.u32 d, a;",
        "mov.u32 r, ⟦/*⟧ 5;",
    ] {
        error_at(text, Code::UnclosedComment);
    }
    for text in [".file 1 ⟦\"⟧x.cu", ".pragma ⟦\"⟧nounroll; vadd.u32.u32.u32 d, a;", "x ⟦\"⟧"]
    {
        error_at(text, Code::UnclosedString);
    }
    for text in [
        "⟦{⟧ vadd.u32.u32.u32 d, a, b;",
        "{} ⟦{⟧ {}",
        ".version 8.0 .target sm_90 .entry k() ⟦{⟧ .reg .b32 r; vadd.u32.u32.u32 r, r, r;",
        ".version 8.0 .target sm_90 .func f() ⟦{⟧ ret; .entry k() { ret; }",
        ".version 8.0 .target sm_90 .func f() ⟦{⟧ ret; .visible .func g() { ret; }",
        ".section .debug_info ⟦{⟧ .b8 1",
    ] {
        error_at(text, Code::UnclosedBrace);
    }
    for text in ["⟦}⟧", "{ } ⟦}⟧ vadd.u32.u32.u32 d, a, b;", "vadd.u32.u32.u32 d, a, b; ⟦}⟧"]
    {
        error_at(text, Code::StrayBrace);
    }
    // If a comment or string inside a video instruction never ends, at least its start is reported.
    for (text, code) in [
        ("vadd.u32.u32.u32 d, ⟦/*⟧ a, b;", Code::UnclosedComment),
        ("vadd⟦/*⟧.u32.u32.u32 d, a, b;", Code::UnclosedComment),
        ("vadd.u32.u32.u32 d, ⟦\"⟧a, b;", Code::UnclosedString),
        ("vadd.u32.u32.u32 d, ⟦[⟧a", Code::UnexpectedToken),
        ("vadd.u32.u32.u32 d, ⟦{⟧a, b", Code::UnexpectedToken),
    ] {
        let (text, marks) = marked(text);
        let found = run(&text, Dialect::Ptxas);
        assert!(
            found.iter().any(|found| found.code == code && found.span.range() == marks[0]),
            "{text}: {found:?}"
        );
    }
}

/// A missing `;` is reported at the end of the last token. The reader continues after it.
#[test]
fn missing_semicolons_are_reported_where_they_belong() {
    for text in [
        "vadd.u32.u32.u32 d, a, b⟦⟧",
        "vadd.u32.u32.u32 d, a, b⟦⟧ // end\n",
        "vadd.u32.u32.u32 d, a, b.h1⟦⟧\nret;",
        "vadd.u32.u32.u32 d, a, 5⟦⟧\nvadd.u32.u32.u32 d, a, b;",
        "vadd.u32.u32.u32 d, a, b⟦⟧ /* ; */\n@p bra l;",
        "vadd.u32.u32.u32 d, a, b⟦⟧\n.loc 1 2 3\nret;",
        "vadd.u32.u32.u32 d, a, b⟦⟧\n{ ret; }",
        "{ vadd.u32.u32.u32 d, a, b⟦⟧ }",
        "{ mov.b64 w, {a, b}⟦⟧ }",
        "{ mov.u32 r, 5⟦⟧ // none\n }",
        "ret⟦⟧",
        "mov.u32 r, 5⟦⟧ /* ; */",
        ".reg .b32 d⟦⟧ /* none */",
        ".global .u32 x = 5⟦⟧ // none",
        "{ .reg .b32 d⟦⟧ }",
    ] {
        error_at(text, Code::MissingSemicolon);
        let (text, marks) = marked(text);
        let found = run(&text, Dialect::Documented);
        let fixed = found[0].fixes[0].apply(&text);
        assert_eq!(&fixed[marks[0].start..=marks[0].start], ";");
        assert_eq!(run(&fixed, Dialect::Documented), [], "{fixed}");
    }
    let text = "vadd.u32.u32.u32 d, a, b\nvsub.u32.u32.u32 d, a;\nvmin.u32.u32.u32 d, a, b";
    let found: Vec<Code> = run(text, Dialect::Ptxas).iter().map(|found| found.code).collect();
    assert_eq!(found, [Code::MissingSemicolon, Code::MissingOperand, Code::MissingSemicolon]);
    // A comma may be the last token.
    let text = "vadd.u32.u32.u32 d, a,\nvsub.u32.u32.u32 d, a.b9, a;";
    let found = run(text, Dialect::Documented);
    assert!(found.iter().any(|it| it.code == Code::UnknownSelector), "{found:?}");
}

#[test]
fn floating_point_numbers_tell_their_length() {
    for number in ["0f12", "0d12", "0d3FF0000000000000"] {
        let text = format!("vadd.u32.u32.u32 d, {number}, a;");
        let found = run(&text, Dialect::Documented);
        let is_told = found.iter().any(|it| it.help.as_ref().is_some_and(|it| it.contains("`0d`")));
        assert_eq!(is_told, number.len() == 4, "{found:?}");
    }
}

/// All errors of a statement are reported, even if its `;` is missing.
#[test]
fn missing_semicolons_hide_nothing() {
    for (text, expected) in [
        (
            "vadd.u32.u32 d, a.b9, b⟦⟧\nret;",
            &[Code::MissingType, Code::UnknownSelector, Code::MissingSemicolon][..],
        ),
        (
            "vmin2.u32.u32.f32 d, a, b⟦⟧\n",
            &[Code::WrongType, Code::MissingThirdOperand, Code::MissingSemicolon],
        ),
        // The braces of an operand are not those of the block.
        (
            "{ vadd.u32.u32.u32 d, {a}, b⟦⟧ } vadd.u32.u32.u32 d, a;",
            &[Code::OperandKind, Code::MissingSemicolon, Code::MissingOperand],
        ),
        (
            "vad4.u32.u32.u32 d, a, b, c⟦⟧ }",
            &[Code::UnknownInstruction, Code::MissingSemicolon, Code::StrayBrace],
        ),
        ("vadd.u32.u32.u32 d, 09, b⟦⟧\n", &[Code::MalformedNumber, Code::MissingSemicolon]),
    ] {
        let (text, _) = marked(text);
        let mut found: Vec<Code> =
            vptx::check(&text, &CheckOptions::default()).iter().map(|found| found.code).collect();
        found.sort();
        let mut expected = expected.to_vec();
        expected.sort();
        assert_eq!(found, expected, "{text}");
    }
}

/// Names that resemble video instructions but are something else.
#[test]
fn words_with_v_are_no_statements() {
    for text in [
        "vclamp4: ret;",
        "vote.ballot.b32 d, p;",
        "vote.sync.all.pred p, q, 0xffffffff;",
        ".reg .b32 vmul, __vadd4, vclamp;",
        "mov.u32 vmul,\n  vclamp;",
        "mov.u32 d,\n  __vadd4.x;",
        "call (d),\n  __vprintf,\n  (a);",
        "call (d),\n  __vadd4,\n  (a);",
        "__v.u32.u32 d;",
        "vfoo.u32 d, a;",
    ] {
        let found = vptx::check(text, &CheckOptions::default());
        assert_eq!(found, [], "{text}");
    }
}

/// If a selector or mask stands on the mnemonic, the help shows where it belongs.
#[test]
fn masks_on_mnemonics_are_shown_their_place() {
    for (text, help) in [
        (
            "vmin2.h0.u32.u32.u32 r, s, t, r;",
            "a mask belongs on the destination: `vmin2.u32.u32.u32 r.h0, …`",
        ),
        (
            "vmin2.u32.u32.u32.h10 r, s, t, r;",
            "a mask belongs on the destination: `vmin2.u32.u32.u32 r.h10, …`; a selector on a \
             source: `vmin2.u32.u32.u32 r, s.h10, …`",
        ),
        (
            "vadd.u32.u32.u32.b0 r, s, t;",
            "a selector belongs on its operand: `vadd.u32.u32.u32 r, s.b0, …`",
        ),
    ] {
        let found = vptx::check(text, &CheckOptions::default());
        assert_eq!(found.len(), 1, "{text}: {found:?}");
        assert_eq!(found[0].help.as_deref(), Some(help), "{text}");
        assert!(found[0].fixes.is_empty(), "{text}");
    }
}

#[test]
fn help_fits_the_instruction() {
    let help = |text: &str| vptx::check(text, &CheckOptions::default()).remove(0).help;
    let has = |text: &str, part: &str| help(text).is_some_and(|it| it.contains(part));
    // Types have no sizes.
    for ty in [".b8", ".b16", ".u8", ".s16"] {
        assert!(has(&format!("vadd.u32.u32{ty} r, s, t;"), "choose bytes and half-words"), "{ty}");
    }
    // An example has the registers of the instruction if their names are short.
    for (name, shown) in [("d2345678901234567890", None), ("d23456789012345678901", Some("d"))] {
        let d = shown.unwrap_or(name);
        let text = format!("vadd4.u32.u32.u32.min {name}, s, t, r;");
        assert!(has(&text, &format!("`vmin4.u32.u32.u32 {d}, {d}, r, r;`")), "{text}");
    }
}

/// After a structural error, the rest of the text is still checked.
#[test]
fn reading_goes_on_after_errors() {
    let wrong = "vadd.u32.u32.u32 d, a;";
    for before in [
        "}",
        "vadd.u32 . u32 d, a, b;",
        "vadd.u32.u32.u32 d, é, b;",
        "vadd.u32.u32.u32 d, (1, b;",
        "vadd.u32.u32.u32 d, [a, b;",
        "vadd.u32.u32.u32 d a b;",
        "vadd.u32.u32.u32 d,, b;",
        "vadd.u32.u32.u32 d, a, b c;",
        "vadd;",
        "varvg2.u32.u32.u32 d, a, b, c;",
        "vadd.u32.u32.u32 d, a, 08;",
        "vadd.u32.u32.u32 d, a, 1/0;",
    ] {
        let text = format!("{before} ; {wrong}");
        let found = run(&text, Dialect::Ptxas);
        assert!(found.len() >= 2, "{text}: {found:?}");
        assert_eq!(
            found.last().map(|found| found.code),
            Some(Code::MissingOperand),
            "{text}: {found:?}"
        );
    }
}

/// One instruction on each line, with all errors that one run reports. An error about a missing
/// part marks an empty text.
const WRONG: &[(&str, &[(Code, &str)])] = &[
    ("vadd.u32.u32.u32 r, s, t;", &[]),
    ("vadd.u32.u32 r, s, t;", &[(Code::MissingType, ".u32.u32")]),
    ("vadd.u32.u32.u32.s32 r, s, t;", &[(Code::ExtraType, ".s32")]),
    ("vadd.u32.u32.f32 r, s, t;", &[(Code::WrongType, ".f32")]),
    ("vshl.u32.u32.s32.wrap r, s, t;", &[(Code::SignedShiftAmount, ".s32")]),
    ("vset.u32.u32 r, s, t;", &[(Code::MissingComparison, "")]),
    ("vshr.u32.u32.u32 r, s, t;", &[(Code::MissingShiftMode, "")]),
    ("vset.u32.u32.eq.ne r, s, t;", &[(Code::ConflictingModifiers, ".ne")]),
    ("vadd2.u32.u32.u32.sat.add r, s, t, r;", &[(Code::SaturateWithAccumulate, ".sat")]),
    ("vadd4.u32.u32.u32.min r, s, t, r;", &[(Code::SimdSecondaryOperation, ".min")]),
    ("vset.u32.u32.lo r, s, t;", &[(Code::ForeignComparison, ".lo")]),
    ("vmad.u32.u32.u32.po r, -s, t, r;", &[(Code::PlusOneWithNegation, "-")]),
    ("vsub8.u32.u32.u32 r, s, t;", &[(Code::UnknownInstruction, "vsub8")]),
    ("vadd.u32.u32.u32.frob r, s, t;", &[(Code::UnknownModifier, ".frob")]),
    // An unknown modifier may be a misspelling of the one that is missing.
    ("vset.u32.u32.frob r, s, t;", &[(Code::UnknownModifier, ".frob")]),
    ("vshl.u32.u32.u32.frob r, s, t;", &[(Code::UnknownModifier, ".frob")]),
    // A mask cannot be the missing modifier.
    (
        "vset4.u32.u32.b0 r, s, t, r;",
        &[(Code::MissingComparison, ""), (Code::UnknownModifier, ".b0")],
    ),
    ("vclamp4.u32.u32.u32 r, s, t;", &[(Code::UnknownInstruction, "vclamp4")]),
    ("vmul.u32.u32.u32 r, s, t;", &[(Code::UnknownInstruction, "vmul")]),
    ("__vsadu4.u32.u32.u32 r, s, t, r;", &[(Code::UnknownInstruction, "__vsadu4")]),
    ("__vadd4 r, s, t;", &[(Code::UnknownInstruction, "__vadd4")]),
    ("vset.u32.u32.eq.sat r, s, t;", &[(Code::ModifierNotAllowed, ".sat")]),
    ("vadd.u32.u32.u32 r, s;", &[(Code::MissingOperand, "")]),
    ("vadd.u32.u32.u32.add r, s, t, r, r;", &[(Code::ExtraOperand, "r")]),
    ("vadd.u32.u32.u32.add r, s, t;", &[(Code::MissingThirdOperand, "")]),
    ("vadd.u32.u32.u32 r.b0, s, t;", &[(Code::MissingThirdOperand, "")]),
    ("vadd2.u32.u32.u32 r, s, t;", &[(Code::MissingThirdOperand, "")]),
    ("vadd.u32.u32.u32.max r.h1, s, t, r;", &[(Code::SelectorWithSecondaryOperation, ".h1")]),
    ("vadd.u32.u32.u32 r, s.b3210, t;", &[(Code::WrongSelector, ".b3210")]),
    ("vadd2.u32.u32.u32 r, s.h44, t, r;", &[(Code::UnknownSelector, ".h44")]),
    ("vadd2.u32.u32.u32 r, s, t, r.h10;", &[(Code::SelectorNotAllowed, ".h10")]),
    ("vmad.u32.u32.u32 r.b0, s, t, r;", &[(Code::SelectorNotAllowed, ".b0")]),
    ("vadd2.u32.u32.u32 r.h01, s, t, r;", &[(Code::InvalidMask, ".h01")]),
    ("vadd.u32.u32.u32 r, 5.b0, t;", &[(Code::SelectorOnConstant, ".b0")]),
    ("vadd.u32.u32.u32 r, 5.b9, t;", &[(Code::SelectorOnConstant, ".b9")]),
    ("vadd2.u32.u32.u32 r, s, 5, r;", &[(Code::ConstantNotAllowed, "5")]),
    ("vadd.u32.u32.u32 5, s, t;", &[(Code::ConstantNotAllowed, "5")]),
    ("vadd.u32.u32.u32 r, -s, t;", &[(Code::NegationNotAllowed, "-")]),
    // `vadd` has neither `.po` nor negation.
    (
        "vadd.u32.u32.u32.po r, -s, t;",
        &[(Code::ModifierNotAllowed, ".po"), (Code::NegationNotAllowed, "-")],
    ),
    ("vmad.u32.u32.u32 r, -s, t, -r;", &[(Code::ProductAndThirdNegated, "-")]),
    ("vadd.u32.u32.u32 r, [s], t;", &[(Code::OperandKind, "[s]")]),
    ("vadd.u32.u32.u32 _, s, t;", &[(Code::OperandKind, "_")]),
    ("vadd.u32.u32.u32 r, {s, t}, t;", &[(Code::OperandKind, "{s, t}")]),
    ("vadd.u32.u32.u32 r, f, w;", &[(Code::RegisterType, "f"), (Code::RegisterType, "w")]),
    (
        "vadd.u32.u32.u32 x, y, z;",
        &[
            (Code::UndeclaredRegister, "x"),
            (Code::UndeclaredRegister, "y"),
            (Code::UndeclaredRegister, "z"),
        ],
    ),
    ("@r vadd.u32.u32.u32 r, s, t;", &[(Code::GuardNotPredicate, "r")]),
    ("vadd.u32.u32.u32 r, 1.5, t;", &[(Code::FloatingPointConstant, "1.5")]),
    ("vadd.u32.u32.u32 r, s, %laneid;", &[(Code::SpecialRegister, "%laneid")]),
    ("vadd.u32.u32.u32 r, s, 09;", &[(Code::MalformedNumber, "09")]),
    ("vadd.u32.u32.u32 r, s, 1/0;", &[(Code::ConstantWithoutValue, "/")]),
    ("vadd.u32.u32.u32 r, s t;", &[(Code::UnexpectedToken, "t")]),
    ("vadd.u32.u32.u32 r, s, é;", &[(Code::InvalidCharacter, "é")]),
    ("vadd.u32.u32.u32 r, s, t;", &[]),
];

#[test]
fn every_wrong_instruction_is_reported_in_one_run() {
    let lines: Vec<&str> = WRONG.iter().map(|(line, _)| *line).collect();
    let text = kernel(&lines.join("\n"));
    let expected: Vec<(Code, &str)> = WRONG.iter().flat_map(|(_, found)| *found).copied().collect();
    errors(&text, &expected);
    let (module, _) = parse(&text);
    assert_eq!(module.statements().len(), WRONG.len());
    let clean = WRONG.iter().filter(|(_, found)| found.is_empty()).count();
    assert_eq!(module.instructions().count(), clean);
    // A line alone has the same findings as in the whole text.
    for (line, found) in WRONG {
        errors(&kernel(line), found);
    }
}

// ------------------------------------------------------------------ fixtures

/// Counts the mnemonics with a modifier outside of comments and strings. This is independent of the
/// reader, since it ignores statements.
fn count_mnemonics(text: &str) -> usize {
    let names = "vadd vadd2 vadd4 vsub vsub2 vsub4 vmad vavrg2 vavrg4 vabsdiff vabsdiff2 \
                 vabsdiff4 vmin vmin2 vmin4 vmax vmax2 vmax4 vshl vshr vset vset2 vset4";
    let names: Vec<&str> = names.split_whitespace().collect();
    let mut plain = String::new();
    let mut rest = text;
    while !rest.is_empty() {
        let (open, close) = [("/*", "*/"), ("//", "\n"), ("\"", "\"")]
            .into_iter()
            .min_by_key(|(open, _)| rest.find(open).unwrap_or(usize::MAX))
            .expect("there are three");
        let start = rest.find(open).unwrap_or(rest.len());
        plain.push_str(&rest[..start]);
        plain.push(' ');
        let inside = rest.get(start + open.len()..).unwrap_or("");
        let end = inside.find(close).map_or(inside.len(), |end| end + close.len());
        rest = &inside[end..];
    }
    let word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | '%');
    let mut count = 0;
    for statement in plain.split(';') {
        let mut before = ' ';
        for part in statement.split_inclusive(|c| !word(c)) {
            let name = part.trim_end_matches(|c| !word(c));
            let next = part.chars().next_back().unwrap_or(' ');
            count += usize::from(names.contains(&name) && before != '.' && next == '.');
            before = next;
        }
    }
    count
}

/// Findings of the `documented` dialect in files that ptxas accepts, with the reasons.
const WARNINGS: &[(&str, Code, usize)] = &[];

#[test]
fn fixtures_are_silent() {
    let fixtures = ptx_files("ptx");
    let mut statements = 0;
    let mut warnings = Vec::new();
    for path in &fixtures {
        let name = path.file_name().and_then(|name| name.to_str()).expect("names are ASCII");
        let text = vptx::source::decode(std::fs::read(path).expect("it can be read"));
        assert_eq!(run(&text, Dialect::Ptxas), [], "{name}");
        let (module, diagnostics) = parse(&text);
        let found = module.statements().len();
        assert_eq!(module.instructions().count(), found, "{name}: {diagnostics:?}");
        assert_eq!(found, count_mnemonics(&text), "{name}");
        statements += found;
        for diagnostic in diagnostics {
            assert_ne!(diagnostic.severity, Severity::Error, "{name}: {diagnostic:?}");
            if !diagnostic.code.text().starts_with("V5") {
                warnings.push((name.to_owned(), diagnostic.code));
            }
        }
        // The findings do not depend on the kind of line ends.
        let unix = text.replace("\r\n", "\n");
        let crlf = unix.replace('\n', "\r\n");
        assert_eq!(run(&crlf, Dialect::Ptxas), [], "{name} with CRLF");
        assert_eq!(parse(&crlf).0.statements().len(), found, "{name} with CRLF");
    }
    let mut expected = Vec::new();
    for &(name, code, count) in WARNINGS {
        expected.extend(std::iter::repeat_n((name.to_owned(), code), count));
    }
    assert_eq!(warnings, expected);
    assert!(fixtures.len() >= 35 && statements >= 300, "{} {statements}", fixtures.len());
}

/// The number of registers that a range declares; 0 if the text is not a range. ptxas 11.8, 12.9
/// and 13.5 agree.
#[test]
fn counts_of_ranges_are_spelled_like_constants() {
    let counts = [
        ("<9>", 9),
        ("<9U>", 9),
        ("<0x9>", 9),
        ("<0X9U>", 9),
        ("<011>", 9),
        ("<0b1001>", 9),
        ("<0B1001U>", 9),
        ("< 9 >", 9),
        ("<WARP_SZ>", 32),
        ("<warp_sz>", 0),
        ("<0>", 0),
        ("<08>", 0),
        ("<9u>", 0),
        ("<1.5>", 0),
    ];
    for (range, count) in counts {
        for number in [0, 7, 8, 9, 31, 32] {
            let text = format!(
                ".version 7.8\n.target sm_80\n.func f()\n{{\n.reg .b32 a, %r{range};\n\
                 vadd.u32.u32.u32 a, a, %r{number};\n}}\n"
            );
            let found = check_spelling(&text, &CheckOptions::default());
            assert_eq!(found.is_empty(), number < count, "{range} %r{number}: {found:?}");
        }
    }
}
