//! The formatter: snapshots of the layout, and checks that only the layout changes.

use crate::support::random::Random;
use std::ops::Range;

use crate::support::{fixture, ptx_files, samples};
use vptx::analysis::check;
use vptx::check::CheckOptions;
use vptx::diagnostic::RuleSet;
use vptx::print::{FormatOptions, LineEnding, format, format_edits};
use vptx::syntax::statement_tokens;
use vptx::{Code, Instruction, parse};

fn formatted(source: &str) -> String {
    format(source, &FormatOptions::default())
        .unwrap_or_else(|error| panic!("{error}: {:?}\n{source}", error.diagnostics()))
}

/// Comments and line markers, found by walking over the bytes, because the lexer skips
/// them.
fn comments(text: &str) -> Vec<(Range<usize>, String)> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let end = match &bytes[at..] {
            [b'/', b'/', ..] => text[at..].find('\n').map_or(text.len(), |n| at + n),
            [b'/', b'*', ..] => text[at + 2..].find("*/").map_or(text.len(), |n| at + n + 4),
            [b'"', ..] => {
                at += text[at + 1..].find('"').map_or(text.len() - at, |n| n + 2);
                continue;
            }
            _ => {
                at += 1;
                continue;
            }
        };
        let words = text[at..end].replace("\r\n", "\n");
        found.push((at..end, words.trim_ascii_end().to_string()));
        at = end;
    }
    found
}

/// The tokens and comments outside of legal video instructions. Each legal video instruction counts
/// as one item, together with the number of comments inside it.
fn stream(text: &str) -> Vec<String> {
    let (module, _) = parse(text);
    let mut video: Vec<(Range<usize>, &Instruction)> =
        module.instructions().map(|(span, it)| (span.range(), it)).collect();
    video.sort_by_key(|(range, _)| range.start);
    let inside = |at: usize| {
        let next = video.partition_point(|(range, _)| range.end <= at);
        video.get(next).is_some_and(|(range, _)| range.start <= at)
    };
    let mut parts: Vec<(usize, String)> = statement_tokens(text)
        .into_iter()
        .map(|token| (token.span().start as usize, token.span().text(text).to_string()))
        .filter(|(at, _)| !inside(*at))
        .collect();
    parts.extend(video.iter().map(|(range, it)| (range.start, format!("{it:?}"))));
    parts.sort_by_key(|(at, _)| *at);
    let mut stream: Vec<String> = parts.into_iter().map(|(_, text)| text).collect();
    // The comments follow all tokens; snapshots show where comments stand between tokens.
    stream.extend(comments(text).into_iter().map(|(_, words)| words));
    stream
}

/// Checks everything that must hold for a text that can be formatted.
fn laws(name: &str, source: &str, options: &FormatOptions) {
    let once = match format(source, options) {
        Ok(once) => once,
        Err(error) => panic!("{name}: {error}"),
    };
    assert_eq!(stream(source), stream(&once), "{name}: tokens and comments");
    let twice = format(&once, options).unwrap_or_else(|error| panic!("{name}: {error}"));
    if once != twice {
        let at = once.lines().zip(twice.lines()).find(|(one, two)| one != two);
        panic!("{name}: not idempotent: {at:?}");
    }
    let mut edited = String::new();
    let mut at = 0;
    for edit in format_edits(source, options).expect("as before") {
        edited += &source[at..edit.span.start as usize];
        edited += &edit.replacement;
        at = edit.span.end as usize;
    }
    edited += &source[at..];
    assert_eq!(edited, once, "{name}: edits");
    assert_eq!(format_edits(&once, options), Ok(vec![]), "{name}: no edits of what is formatted");
    if !source.contains("vptx: fmt off") {
        for line in once.lines() {
            assert_eq!(line, line.trim_ascii_end(), "{name}: blanks at the end of a line");
        }
        assert!(!once.contains("\n\n\n"), "{name}: two blank lines");
        // Lines of a block comment stay as they are, and so does what a suppression is about.
        if !source.contains("/*") && !source.contains("vptx: ignore") {
            let blank = |text: &str| text.lines().filter(|it| it.trim_ascii().is_empty()).count();
            assert!(blank(&once) <= blank(source), "{name}: a new blank line in {once}");
            for line in once.lines() {
                let indent = line.len() - line.trim_ascii_start().len();
                assert_eq!(indent % options.indent_width, 0, "{name}: {line}");
            }
        }
    }
    assert!(once.is_empty() || once.ends_with('\n'), "{name}: the last line ends");
}

fn options() -> Vec<FormatOptions> {
    let narrow = FormatOptions::default()
        .with_indent_width(2)
        .with_explicit_defaults(true)
        .with_line_width(40);
    assert_eq!((narrow.indent_width, narrow.line_width, narrow.explicit_defaults), (2, 40, true));
    let mut crlf = FormatOptions::default();
    crlf.line_ending = LineEnding::Crlf;
    vec![FormatOptions::default(), narrow, crlf]
}

#[test]
fn laws_hold_on_every_fixture() {
    let found = [ptx_files("ptx"), ptx_files("format"), ptx_files("directives")].concat();
    assert!(found.len() > 35, "{} files", found.len());
    for path in found {
        let source = std::fs::read_to_string(&path).expect("UTF-8");
        let name = path.display().to_string();
        laws(&name, &source, &FormatOptions::default());
        for options in options() {
            laws(&name, &source, &options);
        }
        laws(&format!("{name} with CRLF"), &source.replace('\n', "\r\n"), &options()[0]);
    }
}

/// The line endings of a text change nothing in its layout, and those of the output are all of one
/// kind, in comments, too.
#[test]
fn line_endings_are_apart_from_layout() {
    let long = "x".repeat(16);
    let texts = [
        format!(
            ".func sum(.param .u64 .ptr .align 1 sum_param_0, .param /* e1\n {long} */ .u32 \
             sum_param_1)\n{{\n    ret;\n}}\n"
        ),
        format!("add.u32 /* {long}{long}{long}\n\n b */ first, /* c\n */ second, third_{long};\n"),
        "/* a\n b */ ret; // c\n/* d */\n".to_string(),
    ];
    for text in texts {
        let windows = text.replace('\n', "\r\n");
        for width in [30, 60, 99, 100, 101] {
            let lf = FormatOptions::default().with_line_width(width);
            let crlf = lf.clone().with_line_ending(LineEnding::Crlf);
            let expected = format(&text, &lf).expect("a format");
            assert!(!expected.contains('\r'));
            assert_eq!(format(&windows, &lf).expect("a format"), expected);
            let expected = expected.replace('\n', "\r\n");
            assert_eq!(format(&text, &crlf).expect("a format"), expected);
            assert_eq!(format(&windows, &crlf).expect("a format"), expected);
            let odd = windows.replace("\r\n b */", "\r\r\n b */");
            assert_eq!(format(&odd, &crlf).expect("a format"), expected);
        }
    }
}

#[test]
fn laws_hold_on_made_modules() {
    for per_mille in [0, 10, 500, 1000] {
        let source = crate::module::make(100_000, per_mille);
        for options in options() {
            laws(&format!("{per_mille} per mille"), &source, &options);
        }
    }
    for (name, style) in crate::module::Style::ALL {
        let source = crate::module::Recipe::new(style, 100_000, 10).make();
        for options in options() {
            laws(name, &source, &options);
        }
    }
}

/// Everything before a string on its line counts for the width of the line.
#[test]
fn lines_with_strings_are_broken_where_they_are_too_long() {
    let (first, options) = ("a".repeat(60), FormatOptions::default());
    for (length, between) in [(25, " "), (26, "\n    ")] {
        let second = "b".repeat(length);
        let source = format!(".pragma \"{first}\", \"{second}\";\n");
        let expected = source.replace(", ", &format!(",{between}"));
        assert_eq!(format(&source, &options), Ok(expected), "{length}");
    }
}

#[test]
fn layout_of_each_style() {
    for style in ["nvcc", "debug", "llc", "triton", "hand", "minified"] {
        let path = fixture("format").join(style).with_extension("ptx");
        let source = std::fs::read_to_string(path).expect("a file");
        insta::assert_snapshot!(style, formatted(&source));
    }
}

#[test]
fn only_what_keeps_the_meaning_is_normalised() {
    for (before, after) in [
        // Modifiers are put in order, and repeated modifiers are removed.
        ("vadd.sat.u32.u32.u32 d, a, b;", "vadd.u32.u32.u32.sat d, a, b;"),
        ("vadd.sat.u32.sat.u32.u32 d, a, b;", "vadd.u32.u32.u32.sat d, a, b;"),
        ("vset.s32.s32.add.lt d, a, b, c;", "vset.s32.s32.lt.add d, a, b, c;"),
        // Default masks and selectors are removed.
        ("vadd2.u32.u32.u32 d.h10, a.h10, b.h32, c;", "vadd2.u32.u32.u32 d, a, b, c;"),
        ("vmin4.s32.s32.s32 d.b3210, a.b3210, b.b7654, c;", "vmin4.s32.s32.s32 d, a, b, c;"),
        // The same masks and selectors stay where they are not the default.
        ("vadd2.u32.u32.u32 d.h0, a.h32, b.h10, c;", "vadd2.u32.u32.u32 d.h0, a.h32, b.h10, c;"),
        ("vadd.u32.u32.u32 d.h0, a.h1, b.b0, c;", "vadd.u32.u32.u32 d.h0, a.h1, b.b0, c;"),
        // A third source without effect is removed.
        ("vmax.u32.u32.u32 d, a, b, c;", "vmax.u32.u32.u32 d, a, b;"),
        ("vmax.u32.u32.u32 d, a, b, (1 << 2)+3;", "vmax.u32.u32.u32 d, a, b;"),
        ("vmax.u32.u32.u32.add d, a, b, c;", "vmax.u32.u32.u32.add d, a, b, c;"),
        ("vmax.u32.u32.u32 d, a, b, (1 /*1*/ + 2);", "vmax.u32.u32.u32 d, a, b /*1*/;"),
        // Two minus signs that cancel are removed.
        ("vmad.s32.s32.s32 d, -a, - b, c;", "vmad.s32.s32.s32 d, a, b, c;"),
        ("vmad.s32.s32.s32 d, - a, b, c;", "vmad.s32.s32.s32 d, -a, b, c;"),
        ("vmad.s32.s32.s32 d, -a, -b, -c;", "vmad.s32.s32.s32 d, a, b, -c;"),
        // Constants keep their spelling, even if they are truncated.
        ("vadd.u32.u32.u32 d, 0X0fU, 0x1ffffffff;", "vadd.u32.u32.u32 d, 0X0fU, 0x1ffffffff;"),
        ("vadd.u32.u32.u32 d, (2+3)*4, 1<<4;", "vadd.u32.u32.u32 d, (2 + 3) * 4, 1 << 4;"),
        // A selector that ptxas ignores stays, because it may tell a reader something.
        ("vadd.u32.u32.u32 d.b01, a, b, c;", "vadd.u32.u32.u32 d.b01, a, b;"),
        // In illegal statements, only white space changes.
        ("vadd.sat.u32.u32  d,a;", "vadd.sat.u32.u32 d, a;"),
        ("vadd.u33.u32.u32.sat.sat d, a, b;", "vadd.u33.u32.u32.sat.sat d, a, b;"),
        ("vmin2.u32.u32.u32 d.h10,a.h10,b;", "vmin2.u32.u32.u32 d.h10, a.h10, b;"),
        ("@ ! p vadd .u32 .u32.u32 d , a .b0, b ;", "@!p vadd.u32.u32.u32 d, a.b0, b;"),
        // Comments stay.
        (
            "vadd/*1*/.sat/*2*/.u32.u32.u32 d, a, b /*3*/, /*4*/ c /*5*/;",
            "vadd /*1*/ .u32 /*2*/ .u32.u32.sat d, a, b /*3*/ /*4*/ /*5*/;",
        ),
    ] {
        assert_eq!(formatted(before), format!("{after}\n"), "{before}");
        laws(before, before, &FormatOptions::default());
    }
}

#[test]
fn defaults_can_be_written() {
    let mut options = FormatOptions::default();
    options.explicit_defaults = true;
    for (before, after) in [
        ("vadd2.u32.u32.u32 d, a, b, c;", "vadd2.u32.u32.u32 d.h10, a.h10, b.h32, c;"),
        ("vset4.s32.s32.lt.add d, a, b.b0, c;", "vset4.s32.s32.lt.add d, a, b.b0, c;"),
        ("vset4.s32.s32.lt d.b0, a, b, c;", "vset4.s32.s32.lt d.b0, a.b3210, b.b7654, c;"),
        ("vadd.u32.u32.u32 d, a, b;", "vadd.u32.u32.u32 d, a, b;"),
    ] {
        assert_eq!(format(before, &options).expect(before), format!("{after}\n"));
        laws(before, before, &options);
    }
}

#[test]
fn statements_each_on_a_line() {
    for (before, after) in [
        ("", ""),
        (" \n\t\n", ""),
        ("ret;", "ret;\n"),
        ("\n\n\nret;\n\n\n\nexit;\n\n", "ret;\n\nexit;\n"),
        ("{ret;}", "{\n    ret;\n}\n"),
        ("{\n\nret;\n\n}", "{\n    ret;\n}\n"),
        ("A:B: ret;", "A:\nB:\nret;\n"),
        ("{A:ret;{B:ret;}}", "{\nA:\n    ret;\n    {\n    B:\n        ret;\n    }\n}\n"),
        ("@p bra L;@!p bra M;", "@p bra L;\n@!p bra M;\n"),
        ("mov.b64{%r1,%r2},%rd1;", "mov.b64 {%r1, %r2}, %rd1;\n"),
        ("ld.u32 %r1 , [ %rd1 + 4 ];", "ld.u32 %r1, [%rd1+4];\n"),
        ("ld.u32 %r1,[x+-4];", "ld.u32 %r1, [x+-4];\n"),
        ("setp.lt.s32 %p1 | %p2,%r1,- 5;", "setp.lt.s32 %p1|%p2, %r1, -5;\n"),
        (
            "tex.1d.v4.f32.s32{%f1,%f2,%f3,%f4},[t,{%r1}];",
            "tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [t, {%r1}];\n",
        ),
        ("mov.u32 %r1,%tid.x;", "mov.u32 %r1, %tid.x;\n"),
        ("mov.u64 %rd1,generic(x)+4;", "mov.u64 %rd1, generic(x) + 4;\n"),
        (".reg.b32%r<5>;", ".reg .b32 %r<5>;\n"),
        (".reg .pred p , q;", ".reg .pred p, q;\n"),
        (
            ".global .u32 a[2][2]={{1,2},{3,4}},b=-1;",
            ".global .u32 a[2][2] = {{1, 2}, {3, 4}}, b = -1;\n",
        ),
        (".pragma \"nounroll\" ;", ".pragma \"nounroll\";\n"),
        (
            ".loc 1 2 3,function_name $L+4,inlined_at 1 2 3 ret;",
            ".loc 1 2 3, function_name $L+4, inlined_at 1 2 3\nret;\n",
        ),
        (".file 1 \"a.cu\",12,34 ret;", ".file 1 \"a.cu\", 12, 34\nret;\n"),
        (".version 7.0 .target sm_70,debug ret;", ".version 7.0\n.target sm_70, debug\nret;\n"),
        (
            "p : .callprototype ()_ (.param.b64 _,.param .b64 _) ;",
            "p: .callprototype () _ (.param .b64 _, .param .b64 _);\n",
        ),
        (".func f;", ".func f;\n"),
        (".extern .func(.param .b32 r)g\n(\n)\n;", ".extern .func (.param .b32 r) g();\n"),
        (".func f(){ret;}", ".func f()\n{\n    ret;\n}\n"),
        (
            ".entry k(.param .u64 p).maxntid 1,2,3 .minnctapersm 4{ret;}",
            ".entry k(.param .u64 p)\n.maxntid 1, 2, 3\n.minnctapersm 4\n{\n    ret;\n}\n",
        ),
        (
            ".global .attribute ( .managed ) .b8 s [2 ]={ (.s64) 5 , - ( 4)};",
            ".global .attribute(.managed) .b8 s[2] = {(.s64)5, -(4)};\n",
        ),
        ("@@DWARF .byte 1 , 2 \nret;", "@@DWARF .byte 1, 2\nret;\n"),
        ("# 3 \"a b.cu\"\n  ret;", "# 3 \"a b.cu\"\nret;\n"),
        ("add.u32 a,\n# 3 \"x.cu\"\nb,c;", "add.u32 a,\n# 3 \"x.cu\"\n    b, c;\n"),
        (";;", ";\n;\n"),
    ] {
        assert_eq!(formatted(before), after, "{before}");
        laws(before, before, &FormatOptions::default());
    }
}

#[test]
fn comments_stay_where_they_belong() {
    for (before, after) in [
        ("// a\nret;", "// a\nret;\n"),
        ("ret;// a", "ret; // a\n"),
        ("ret;\n   // a", "ret;\n// a\n"),
        ("ret; /* a */\nexit;", "ret; /* a */\nexit;\n"),
        ("ret; /* a */ exit;", "ret;\n/* a */ exit;\n"),
        ("{// a\nret;// b\n}// c", "{ // a\n    ret; // b\n} // c\n"),
        ("{\nret;\n// a\n}", "{\n    ret;\n    // a\n}\n"),
        ("L: // a\nret;", "L: // a\nret;\n"),
        ("L :\nret;", "L:\nret;\n"),
        ("add.u32 a, // x\nb,c;", "add.u32 a, // x\n    b, c;\n"),
        (".visible // x\n.func f() {}", ".visible // x\n    .func f()\n{\n}\n"),
        ("add.u32 a,\n // x\nb,c // y\n;", "add.u32 a,\n    // x\n    b, c // y\n    ;\n"),
        (
            ".entry k( // none\n)\n// why\n.maxntid 1\n{}",
            ".entry k( // none\n)\n// why\n.maxntid 1\n{\n}\n",
        ),
        (
            ".entry k(.param .u32 a, // one\n.param .u32 b // two\n) // @k\n{\nret;\n}",
            ".entry k(\n    .param .u32 a, // one\n    .param .u32 b // two\n) // @k\n{\n    ret;\n}\n",
        ),
        (
            ".global .u32 t[2] = { // t\n1, // one\n2};",
            ".global .u32 t[2] = { // t\n    1, // one\n    2\n};\n",
        ),
        // Whatever the last line of a value ends with, the brace starts the next line.
        (".global .u32 t[2] = {1, 2 // two\n};", ".global .u32 t[2] = {\n    1, 2 // two\n};\n"),
        (
            ".global .u32 t[2] = {1, // one\n\n// none\n}, u = {// empty\n};",
            ".global .u32 t[2] = {\n    1, // one\n    // none\n}, u = { // empty\n};\n",
        ),
        (
            ".global .u32 t[2] = {1, // one\n2 /* two */ };",
            ".global .u32 t[2] = {\n    1, // one\n    2 /* two */\n};\n",
        ),
        // What stands behind a comment is spelled as elsewhere.
        ("@q /* a */ vadd.u32 d.b0,a;", "@q /* a */ vadd.u32 d.b0, a;\n"),
        ("@!q // a\nld.v2.u32 {a,b},[p];", "@!q // a\n    ld.v2.u32 {a, b}, [p];\n"),
        ("mov/* a */.u32 a /* b */,- /* c */ 5;", "mov /* a */ .u32 a /* b */, - /* c */ 5;\n"),
        ("/* a\r\n b */\r\nret;\r\n", "/* a\n b */\nret;\n"),
        // ptxas takes a bank of PTX 2 only right behind its state space.
        (".extern  .const[3]  .b8 c[];", ".extern .const[3] .b8 c[];\n"),
    ] {
        assert_eq!(formatted(before), after, "{before}");
        laws(before, before, &FormatOptions::default());
    }
}

/// Also beside a number that fills more than a line.
#[test]
fn comments_stay_beside_long_numbers() {
    let number = "0".repeat(120);
    let text = format!(".global .u32 t[] = {{\n    1,\n    {number}, // long\n    2\n}};\n");
    assert_eq!(formatted(&text), text);
    laws("a long number", &text, &FormatOptions::default());
}

/// Wherever the line is broken.
#[test]
fn comments_in_data_stay_in_data() {
    for length in 1..60 {
        for comment in [
            "/* a */",
            "/* a\n b */",
            "/* a */ /* b */",
            "// a\n",
            "/* a */\n",
            "/* a */ // b\n",
            "/* a */\n// b\n",
        ] {
            for next in ["8", "-8", "x", ".debug_y", ".debug_y+4"] {
                let data = format!("{}{comment} {next}", "10, ".repeat(length));
                let source = format!(".section .s\n{{\n.b32 {data}, 16\n.b8 1\n}}\n");
                laws(&source, &source, &FormatOptions::default());
            }
        }
    }
    let broken = ".section .s\n{\n    .b8 1, /* a */ 2\n}\n";
    assert_eq!(formatted(".section .s {\n.b8 1,\n/* a */ 2 }"), broken);
    let same = ".section .s\n{\n    .b32 /* a */ .debug_x, /* b */ .debug_y\n}\n";
    assert_eq!(formatted(same), same);
    let signs = ".section .s\n{\n    .b64 a,\n    /* z */\n    -5\n}\n";
    assert_eq!(formatted(signs), signs);
    let apart = ".section .s\n{\n    .b8 1,\n    /* a */\n    2\n}\n";
    assert_eq!(formatted(".section .s {\n.b8 1,\n/* a */\n2 }"), apart);
}

#[test]
fn regions_can_be_left_alone() {
    let source =
        "{\n  // vptx: fmt off\n  mov.u32   a,1 ;{\n // vptx: fmt on\n  mov.u32   a,1 ;}}\n";
    let expected = "{\n    // vptx: fmt off\n  mov.u32   a,1 ;{\n // vptx: fmt on\n        mov.u32 a, 1;\n    }\n}\n";
    assert_eq!(formatted(source), expected);
    laws("off and on", source, &FormatOptions::default());
    let source = "ret ; /* vptx: fmt off */\nvadd2.u32.u32.u32  d.h10 ,a,b,c;  ";
    assert_eq!(formatted(source), "ret; /* vptx: fmt off */\nvadd2.u32.u32.u32  d.h10 ,a,b,c;  \n");
    // Layout begins again behind a bracket that opens a block, on the same line.
    let source = "// vptx: fmt off\n.func  f() { // vptx: fmt on\nret  ;\n}\n";
    let expected = "// vptx: fmt off\n.func  f() { // vptx: fmt on\n    ret;\n}\n";
    assert_eq!(formatted(source), expected);
    // A statement half of which stays is not normalised. The next one is.
    let source = "// vptx: fmt off\nvadd2.u32.u32.u32 d.h10 ,\n// vptx: fmt on\na.h10,b,c;\n\
                  vadd2.u32.u32.u32 d.h10,a.h10,b,c;\n";
    let text = formatted(source);
    assert!(text.starts_with("// vptx: fmt off\nvadd2.u32.u32.u32 d.h10 ,\n// vptx: fmt on\n"));
    assert!(text.contains("a.h10, b, c;\n"), "{text}");
    assert!(text.ends_with("\nvadd2.u32.u32.u32 d, a, b, c;\n"), "{text}");
    // Only a comment with exactly these words counts.
    assert_eq!(formatted("// vptx: fmt offline\nret ;"), "// vptx: fmt offline\nret;\n");
}

#[test]
fn long_statements_are_broken_after_commas() {
    let registers: Vec<String> = (0..40).map(|n| format!("%r{n}")).collect();
    let source = format!("wgmma.x {{{}}}, %rd1, %rd2;", registers.join(","));
    let text = formatted(&source);
    assert!(text.lines().count() > 2);
    assert!(text.lines().all(|line| line.len() <= 100), "{text}");
    assert!(text.lines().skip(1).all(|line| line.starts_with("    %r")), "{text}");
    laws("wgmma", &source, &FormatOptions::default());

    let numbers: Vec<String> = (0..1000).map(|n| n.to_string()).collect();
    let source = format!(".const .u32 t[1000] = {{{}}}, u = 1;", numbers.join(","));
    let text = formatted(&source);
    assert!(text.starts_with(".const .u32 t[1000] = {\n    0, 1, 2,"), "{text}");
    assert!(text.ends_with(" 999\n}, u = 1;\n"), "{text}");
    assert!(text.lines().all(|line| line.len() <= 100), "{text}");
    laws("table", &source, &FormatOptions::default());

    let parameters: Vec<String> = (0..9).map(|n| format!(".param .u64 p{n}")).collect();
    let source = format!(".entry k({}) {{}}", parameters.join(", "));
    let text = formatted(&source);
    assert!(text.starts_with(".entry k(\n    .param .u64 p0,\n    .param .u64 p1,\n"), "{text}");
    assert!(text.ends_with("    .param .u64 p8\n)\n{\n}\n"), "{text}");
    laws("parameters", &source, &FormatOptions::default());
}

/// A comment in the line of the opening parenthesis stays there, even if that starts the line.
#[test]
fn comments_before_parameters_stay_in_their_line() {
    for (start, expected) in [
        ("( // first\n", "( // first\n"),
        ("\n( // first\n", "( // first\n"),
        ("(\n// first\n", "(\n    // first\n"),
    ] {
        let expected = format!(".func f{expected}    .reg .b32 a\n)\n{{\n}}\n");
        assert_eq!(formatted(&format!(".func f{start}.reg .b32 a) {{}}")), expected, "{start}");
    }
}

/// Such a word is no label, also at the end of a line.
#[test]
fn words_before_two_colons_are_no_labels() {
    assert_eq!(formatted("a::\nret;"), "a :: ret;\n");
    assert_eq!(formatted("a:\nret;"), "a:\nret;\n");
}

#[test]
fn line_endings() {
    let mut options = FormatOptions::default();
    assert_eq!(format("ret;\r\nexit;\r\n", &options).unwrap(), "ret;\nexit;\n");
    options.line_ending = LineEnding::Keep;
    assert_eq!(format("ret;\r\nexit;", &options).unwrap(), "ret;\r\nexit;\r\n");
    assert_eq!(format("ret;\nexit;\r\n", &options).unwrap(), "ret;\nexit;\n");
    options.line_ending = LineEnding::Crlf;
    assert_eq!(format("ret;\nexit;", &options).unwrap(), "ret;\r\nexit;\r\n");
}

#[test]
fn what_is_not_understood_is_left_alone() {
    for (source, code) in [
        ("ret; /* a", "V001"),
        (".pragma \"a;", "V002"),
        ("{ ret;", "V003"),
        ("ret; }", "V004"),
        ("vadd.u32.u32.u32 d, a, b", "V005"),
        ("vadd.u32.u32.u32 d a b;", "V006"),
        ("mov.u32 a, ?\\b;", "V007"),
        ("= b;", "V007"),
        ("\u{feff}ret;", "V007"),
        ("\0", "V008"),
        // What is suppressed is as hard to read.
        ("/* vptx: ignore */ vadd.u32.u32.u32 d, a, b", "V005"),
        ("{ vadd.3; 2; // vptx: ignore\n}", "V007"),
    ] {
        let error = format(source, &FormatOptions::default()).expect_err(source);
        let found = &error.diagnostics()[0];
        assert_eq!(found.code.text(), code, "{source}: {error}");
        assert!(source.get(found.span.range()).is_some());
        assert!(format_edits(source, &FormatOptions::default()).is_err());
    }
    // `::` is one token, so that `a` is no label.
    assert_eq!(formatted("a::b;\n"), "a :: b;\n");
}

/// Formats random sequences of tokens with arbitrary white space between them.
#[test]
fn tokens_never_melt() {
    const WORDS: &[&str] = &[
        "a",
        "%r1",
        "%r",
        "x.y",
        ".u32",
        ".b0",
        ".1d",
        "5",
        "0x1F",
        "1.5",
        "1e",
        "e5",
        "0f3F800000",
        ",",
        "+",
        "-",
        "*",
        "/",
        "%",
        "<",
        ">",
        "<<",
        ">>",
        "<=",
        "=",
        "==",
        "!",
        "!=",
        "&",
        "&&",
        "|",
        "||",
        "~",
        "^",
        "?",
        ":",
        "::",
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        "@",
        ".",
        "_",
        "\"s t\"",
        "WARP_SZ",
        "$L",
        "/* c */",
        "// c\n",
        "\n# 7 \"f\"\n",
    ];
    const STARTS: &[&str] = &[
        "add.u32",
        "@p add",
        "L:",
        ".reg",
        ".global .u32 a =",
        ".func f(",
        ".entry k",
        "vadd.u32",
        ".loc 1 2 3",
        ".target sm_50",
        ".section .s {",
        "{",
        "}",
        "mov",
        ".pragma",
    ];
    const BLANKS: &[&str] = &["", " ", "  ", "\t", "\n", "\r\n", "\n\n", " /**/ "];
    let mut numbers = Random(7);
    let mut done = 0;
    for _ in 0..60_000 {
        let mut source = String::new();
        for _ in 0..=numbers.below(2) {
            source += STARTS[numbers.below(STARTS.len())];
            for _ in 0..numbers.below(7) {
                source += BLANKS[numbers.below(BLANKS.len())];
                source += WORDS[numbers.below(WORDS.len())];
            }
            source += BLANKS[numbers.below(BLANKS.len())];
            source += if numbers.below(8) > 0 { ";" } else { "" };
        }
        if format(&source, &FormatOptions::default()).is_ok() {
            laws(&format!("{source:?}"), &source, &FormatOptions::default());
            done += 1;
        }
    }
    assert!(done > 10_000, "{done}");
}

/// The formatter lays out lines of the usual shape without reading tokens, but edits are found by
/// tokens. A line that only resembles the usual shape must not be mistaken for it.
#[test]
fn usual_lines_are_laid_out_as_their_tokens() {
    const LINES: &[&[&str]] = &[
        &["\t", "add.s32", " \t", "%r1", ", ", "%r2", ", ", "7", ";"],
        &["\t", "@", "!", "%p1", " ", "bra", " \t", "$L__BB0_1", ";"],
        &["@p", " ", "mov.u32", " ", "a", ", ", "-", "5", ";"],
        &[
            "\t",
            "ld.global.v2.u32",
            " \t",
            "{",
            "%r1",
            ", ",
            "%r2",
            "}",
            ", ",
            "[",
            "%rd1",
            "+",
            "4",
            "]",
            ";",
        ],
        &[
            "\t",
            "tex.2d.v4",
            " ",
            "{",
            "a",
            ", ",
            "b",
            "}",
            ", ",
            "[",
            "t",
            ", ",
            "{",
            "x",
            ", ",
            "y",
            "}",
            "]",
            ";",
        ],
        &["\t", "setp.ge.s32", " \t", "%p1", "|", "%p2", ", ", "%r1", ", ", "!", "%p3", ";"],
        &["\t", "mov.u32", " \t", "%r1", ", ", "%tid", ".", "x", ";"],
        &["\t", "st.u32", " [", "x", "+", "y", "]", ", ", "0x1F", ";"],
        &["$L__BB0_1", ":"],
        &["L", ":", " ", "ret", ";"],
        &["L", ":", "\n\t", ".branchtargets", " ", "$L1", ", ", "$L2", ";"],
        &["\t", ".loc", "\t", "1", " ", "20", " ", "5"],
        &[
            ".loc",
            " ",
            "1",
            " ",
            "2",
            " ",
            "3",
            ", function_name ",
            "$L1",
            ", inlined_at ",
            "1",
            " ",
            "2",
            " ",
            "3",
        ],
        &[
            ".loc",
            " ",
            "1",
            " ",
            "2",
            " ",
            "3",
            ", function_name ",
            "f",
            "+",
            "4",
            ", inlined_at ",
            "1",
            " ",
            "2",
        ],
        &["\t", ".reg", " .b32 ", "\t", "%r", "<", "4", ">", ";"],
        &[".global .b32 t[4] = {", "1", ", ", "0x2a", ",", "3", ", ", "-", "4", ", ", "5", "};"],
        &["// begin inline asm"],
        &["\t", "// a comment  "],
        &["/* block */"],
        &["{"],
        &["}"],
        &["ret", ";"],
        &["bar.sync", " \t", "0", ";"],
        &["\t", "prefetch.global.L2", " ", "[", "4096", "]", ";"],
        // This line is longer than the piece that is scanned at once.
        &[
            "\t",
            "ld.param.u64",
            " \t",
            "%rd1",
            ", ",
            "[",
            "_Z24a_kernel_with_a_long_namePfS_S_iijjPKfS1_",
            "+",
            "8",
            "]",
            ";",
        ],
        &[
            "call.uni",
            " ",
            "a_function_with_a_long_name_without_parameters_00000000000000000000",
            ", ",
            "another_one",
            ";",
        ],
        &["call", " (", "r", "), ", "f", ", ", "(", "a", ")", ";"],
        &["vadd4.u32.u32.u32", " ", "%r1", ", ", "%r2", ".b3210", ", ", "%r3", ", ", "%r4", ";"],
        &["vadd.u32.u32.sat.u32", " ", "%r1", ", ", "%r2", ", ", "%r3", ";"],
    ];
    const OTHER: &[&str] = &[
        " ", "", "  ", "\t", "\n", ",", ", ", ";", "5", "x", "%", ".", ".5", "1.5", "+", "-", "|",
        "!", "[", "]", "{", "}", "(", ":", "::", "// c", "// c\n", "/* c */", "\"s\"", "4+", "e+5",
        "_", "a b", "\r", ".y",
    ];
    let mut numbers = Random(11);
    let mut done = 0;
    for _ in 0..40_000 {
        let mut source = String::new();
        for _ in 0..=numbers.below(5) {
            let line = LINES[numbers.below(LINES.len())];
            let odd = numbers.below(3 * line.len());
            for (at, part) in line.iter().enumerate() {
                let other = OTHER[numbers.below(OTHER.len())];
                match numbers.below(3) {
                    _ if at != odd => source += part,
                    0 => source += other,
                    1 => source.extend([*part, other]),
                    _ => source.extend([other, *part]),
                }
            }
            source += ["\n", "\n", "\n", "\n\n\n", " ", "\r\n", " // t\n", ""][numbers.below(8)];
        }
        for options in &options()[..2] {
            if format(&source, options).is_ok() {
                laws(&format!("{source:?}"), &source, options);
                done += 1;
            }
        }
    }
    assert!(done > 20_000, "{done}");
}

#[test]
fn what_looks_like_an_opcode_starts_no_line() {
    // A reader would take a video instruction after a line break for a new statement after a
    // missing `;`.
    let names = ["%register"; 12].join(", ");
    for source in [
        format!(".reg .b32 {names}, vadd.u32.u32.u32 d, a, b;"),
        format!("call (r), f, ({names}, vmin2.x, {names});"),
        format!(".entry k(.param .u32 {names}, vset4.x) {{}}"),
        format!(".global .u32 t[9] = {{vmax.u32, {names}, {names}}};"),
    ] {
        laws(&source, &source, &FormatOptions::default());
        assert!(formatted(&source).lines().all(|line| !line.trim_start().starts_with('v')));
    }
}

#[test]
fn depth_and_length_are_no_trouble() {
    let deep = format!("{}ret;{}", "{".repeat(20_000), "}".repeat(20_000));
    let text = formatted(&deep);
    assert!(text.len() < 200 * deep.len(), "{}", text.len());
    let long = "mov.u32 a, 1;".repeat(50_000);
    assert_eq!(formatted(&long).lines().count(), 50_000);
    // The formatter looks for a `;`, but none follows.
    let labels = "L :\n".repeat(1 << 20);
    assert_eq!(formatted(&labels).lines().count(), 1 << 20);
    // Formatted lines are copied unchanged, unless they are too long for one line.
    let wide = format!("call (r), f, ({});", ["%register"; 20].join(", ")).repeat(50_000);
    let once = formatted(&wide);
    assert_eq!(formatted(&once), once);
    // Each level has its indentation, even if that is long.
    let nested = format!("{}ret;{}", "{".repeat(20), "}".repeat(20));
    let options = FormatOptions::default().with_indent_width(16);
    let text = format(&nested, &options).expect("a format");
    let blanks = text.lines().map(|line| line.len() - line.trim_start().len());
    let levels = (0..=20).chain((0..20).rev()).map(|level: usize| 16 * level);
    assert_eq!(blanks.collect::<Vec<_>>(), levels.collect::<Vec<_>>());
}

/// The findings in a text: each code with the number of its statement, or with the words of its
/// comment and the number of the comment.
fn findings(text: &str, rules: RuleSet) -> Vec<(Code, usize, String)> {
    let (module, _) = parse(text);
    let statements: Vec<u32> = module.statements().iter().map(|it| it.span.start).collect();
    let comments = comments(text);
    // Findings on names are left out, because some are not about statements.
    let rules = rules.choose(None, &[], &["V9".parse().expect("a selector")]);
    let mut found: Vec<(Code, usize, String)> =
        check(text, &CheckOptions::default().with_rules(rules))
            .iter()
            .map(|it| {
                if let Some(span) = it.statement {
                    let at = statements.binary_search(&span.start).expect("a statement");
                    return (it.code, at, String::new());
                }
                let at = it.span.start as usize;
                let comment = comments.iter().position(|(range, _)| range.contains(&at));
                let comment = comment.unwrap_or_else(|| panic!("{it:?} {text:?}"));
                (it.code, comment, it.message.clone())
            })
            .collect();
    found.sort();
    found
}

/// Formatting changes no findings, except those that it repairs.
fn same_findings(text: &str, options: &FormatOptions) {
    let once = format(text, options).expect(text);
    for rules in [RuleSet::DEFAULT, RuleSet::ALL] {
        let left = |text: &str| {
            let mut found = findings(text, rules);
            let settled = [
                Code::ModifierOrder,
                Code::RepeatedSaturate,
                Code::IgnoredThirdOperand,
                Code::CancelledNegation,
                Code::ExplicitDefault,
            ];
            found.retain(|(code, ..)| !settled.contains(code));
            found
        };
        assert_eq!(left(text), left(&once), "{text:?}\n{text}\n---\n{once}");
    }
}

/// Findings on names and on other instructions, too.
#[test]
fn lines_with_suppressions_stay_together() {
    let options = FormatOptions::default();
    for line in [
        "mov.b32 d, nosuch; mov.b32 d, 1; // vptx: ignore[V901]",
        "// vptx: ignore[V902]\n    M: bra X;",
        "{ bra Q; } // vptx: ignore[V902]",
        ".reg .b32 t; .reg .b32 t; // vptx: ignore[V903]",
    ] {
        let text = |line: &str| format!(".func f()\n{{\n    .reg .b32 d;\n    {line}\n}}\n");
        assert_eq!(format(&text(line), &options).unwrap(), text(line));
        let plain = line.replace("ignore", "x").replace("vptx:", "");
        assert_ne!(format(&text(&plain), &options).unwrap(), text(&plain));
    }
    let text = ".func f(.reg .b32 a, .reg .b32 a) { // vptx: ignore[V903]\n    ret;\n}\n";
    assert_eq!(format(text, &options).unwrap(), text);
    let table = "    mov.b32   d, 1;\n";
    for (off, on) in
        [("// vptx:fmt off", "// vptx:fmt on"), ("// vptx: fmt off a table", "/* vptx: fmt on*/")]
    {
        let text = format!(".func f()\n{{\n    .reg .b32 d;\n    {off}\n{table}    {on}\n}}\n");
        assert_eq!(format(&text, &options).unwrap(), text);
    }
}

#[test]
fn suppressions_hold_for_the_same_statements_as_before() {
    let line_comments = [
        "// vptx: ignore[V501]",
        "// vptx: ignore[V501, V401] why",
        "// vptx: ignore[V403]",
        "// vptx: ignore[V40, V408]",
        "// vptx: ignore[V104]",
        "// vptx: ignore",
        "// vptx: ignore V501",
        "// vptx: ignroe[V501]",
        "// vptx: ignore-file[V509]",
        "// vptx: ignore-file[V104]",
        "// plain",
        "// vptx: fmt off",
        "// vptx: fmt on",
    ];
    let block_comments = [
        "/* vptx: ignore[V501] */",
        "/* vptx: ignore[V401, V402] */",
        "/* vptx: ignore[V5] */",
        "/* vptx: ignore */",
        "/* vptx: ignore[V501]\n */",
        "/* vptx: ignore[V404]\n\n*/",
        "/* plain */",
        "/* two\nlines */",
        "/* vptx: fmt off */",
        "/* vptx: fmt on */",
    ];
    let statements = [
        "vadd.u32.u32.u32.sat d, a, b;",
        "vadd.sat.u32.u32.u32 d, a, b;",
        "@p vadd.sat.u32.sat.u32.u32  d , a,b.h0 ;",
        "vadd.u32.u32.u32.sat d, a, b, c;",
        "vmad.s32.s32.s32 d, -a, -b, c;",
        "vadd2.u32.u32.u32 d.h10, a.h10, b, c;",
        "vadd.u32.u32 d, a, b;",
        "vsub.u32.u32.u32.sat d.b0, a, b, c;",
        "add.u32 d, a, b;",
        "mov.b64 {d, a}, w;",
        "ret;",
        "L:",
        "M : ",
        "{",
        "}",
        ".reg .u32 x, y;",
        ".loc 1 2 3",
        ";",
        ".global .b8 t[2] = {1, 2};",
        "p: .branchtargets L;",
        "\n# 1 \"a\"\n",
        ".func f();",
        ".func g(.param .b32 q) {",
    ];
    let gaps = ["\n", "\n", "\n", "\n\n", " ", " ", "\t", "", "\r\n", "  \n    ", "\n\n\n"];
    let mut numbers = Random(11);
    let mut formatted = 0;
    for round in 0..samples(3000) as usize {
        let count = 1 + numbers.below(9);
        let mut text = String::new();
        let mut open = 0;
        for _ in 0..count {
            match numbers.below(8) {
                0..=1 => {
                    text += numbers.one_of(&line_comments);
                    text.push('\n');
                }
                2 => text += numbers.one_of(&block_comments),
                _ => {
                    let statement = numbers.one_of(&statements);
                    match statement {
                        ".func f();" | ".func g(.param .b32 q) {" if open > 0 => continue,
                        "{" | ".func g(.param .b32 q) {" => open += 1,
                        "}" if open == 0 => continue,
                        "}" => open -= 1,
                        _ => {}
                    }
                    // Puts a comment or a line break between the tokens.
                    let cuts: Vec<usize> =
                        statement.match_indices([' ', ',']).map(|it| it.0).collect();
                    match numbers.below(6) {
                        kind @ 0..=2 if !cuts.is_empty() && !statement.contains('#') => {
                            let at = numbers.one_of(&cuts);
                            text += &statement[..at];
                            match kind {
                                0 => text.push('\n'),
                                1 => text += numbers.one_of(&block_comments),
                                _ => {
                                    text += numbers.one_of(&["", " ", "\n", " \n "]);
                                    text += numbers.one_of(&line_comments);
                                    text.push('\n');
                                }
                            }
                            text += &statement[at..];
                        }
                        _ => text += statement,
                    }
                }
            }
            text += numbers.one_of(&gaps);
        }
        text += &"}".repeat(open);
        let options = &options()[round % 3];
        if format(&text, options).is_err() {
            continue;
        }
        formatted += 1;
        same_findings(&text, options);
        laws(&text, &text, options);
    }
    assert!(formatted > 1_000, "{formatted}");
}

#[test]
fn lines_that_a_suppression_is_about_stay_together() {
    let (one, two) = ("vadd.u32.u32.u32.sat d, a, b;", "vadd.u32.u32.u32.sat d,a,a;");
    for text in [
        format!("{one} {two} // vptx: ignore[V501]\n"),
        format!("// vptx: ignore[V501] sums\n{one} {two}\nret;\n"),
        format!("{one} ret; // vptx: ignore\n"),
        format!("L: {one} // vptx: ignore[V501]\n"),
        format!("mov.b32 d, a;\n// vptx: ignore[V501] sums\n{one} {two}\n"),
        format!("{{\n    {{\n        ret;\n    }} {one} {two} // vptx: ignore[V501]\n}}\n"),
        format!("{{ {one} // vptx: ignore[V501]\n    ret;\n}}\n"),
        format!("// vptx: ignore[V501]\n{one} vadd.u32.u32.u32.sat d,\n# 3 \"a.cu\"\n    a, a;\n"),
        // Comments keep a spelling that the author wants.
        "vadd.sat.s32.s32.s32 d, a, b, c; // vptx: ignore[V401]\n".into(),
        "vmax.s32.s32.s32 d, a, b, 0x1ffffffff; // vptx: ignore[V406]\n".into(),
        "vadd2.u32.u32.u32 d.h10, a, b, c; // vptx: ignore[V408]\n".into(),
    ] {
        assert_eq!(formatted(&text), text);
        laws(&text, &text, &FormatOptions::default());
        same_findings(&text, &FormatOptions::default());
    }
    // Of several blank lines, one is left.
    let text = format!("vadd.u32.u32.u32.sat d,\n\n\n\na, a; {one} // vptx: ignore[V501]\n");
    assert_eq!(formatted(&text), text.replace("\n\n\n\n", "\n\n"));
    // A line with one statement and a comment is laid out as usual, and so is a line without a
    // comment.
    let text = format!("{two} // vptx: ignore[V501]\n{one} {one}\n");
    let two = "vadd.u32.u32.u32.sat d, a, a;";
    assert_eq!(formatted(&text), format!("{two} // vptx: ignore[V501]\n{one}\n{one}\n"));
    let text = "vadd.sat.u32.u32.u32 d, a, b; // vptx: ignore[V501]";
    assert_eq!(formatted(text), "vadd.u32.u32.u32.sat d, a, b; // vptx: ignore[V501]\n");
}

#[test]
fn indentation_is_limited() {
    let text = "{ vadd2.u32.u32.u32 t.h10, a, b, c; }";
    let of = |width| format(text, &FormatOptions::default().with_indent_width(width));
    let most = FormatOptions::MAX_INDENT_WIDTH;
    assert!(of(most).expect("PTX").contains(&format!("\n{}vadd2", " ".repeat(most))));
    assert_eq!(of(usize::MAX), of(most));
}
