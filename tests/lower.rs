//! `vptx lower --emit ptx` as a user meets it.
#![cfg(feature = "cli")]

#[path = "support/program.rs"]
mod program;

use program::{Folder, start, vptx, vptx_in};

const MODULE: &str = "\
.version 8.0
.target sm_90
.address_size 64
.func f(.reg .b32 d, .reg .b32 a, .reg .b32 b, .reg .b32 c)
{
    .reg .pred p;
    @p vmin2.s32.s32.s32 d, a, b, c; // stays a line
    add.s32 d, a,b ;
    ret;
}
";

#[test]
fn one_instruction() {
    let of = |text: &str, more: &[&str]| {
        let mut arguments = vec!["lower", "--emit", "ptx"];
        arguments.extend(more);
        arguments.push(text);
        vptx(&arguments, "").transcript()
    };
    let sm_90 = ["--target", "sm_90"];
    insta::assert_snapshot!("average", of("vavrg4.u32.u32.u32 d, a, b, c;", &sm_90));
    insta::assert_snapshot!("guarded", of("@!p vset.s32.u32.lt.add d, a.b0, -5, a", &sm_90));
    insta::assert_snapshot!("differs", of("vadd.u32.u32.u32.sat d, a, b;", &sm_90));
    let manual = ["--target", "sm_120", "--semantics", "manual"];
    insta::assert_snapshot!("manual", of("vadd.u32.u32.u32.sat d, a, b;", &manual));
    // Nothing was measured there.
    insta::assert_snapshot!(
        "old",
        of("vmax4.u32.s32.u32.sat d.b31, a, b.b7777, c;", &["--target", "sm_61"])
    );
}

#[test]
fn troubles() {
    let of = |arguments: &[&str], input: &str| vptx(arguments, input);
    let emit = ["lower", "--emit", "ptx"];
    let text = "vadd.u32.u32.u32 d, a, b;";
    let none = of(&[&emit[..], &[text]].concat(), "");
    assert_eq!((none.status, none.stdout.as_str()), (2, ""));
    assert!(none.stderr.contains("--target sm_90"), "{}", none.stderr);
    let none = of(&emit, text);
    assert_eq!((none.status, none.stdout.as_str()), (2, ""));
    assert!(none.stderr.contains("`<stdin>` has no .target"), "{}", none.stderr);
    let several = of(&[&emit[..], &["--semantics", "all", "--target", "sm_90", text]].concat(), "");
    assert_eq!((several.status, several.stdout.as_str()), (2, ""));
    let ir = of(&["lower", "--emit", "ir", "--all", text], "");
    assert_eq!((ir.status, ir.stdout.as_str()), (2, ""));
    assert!(ir.stderr.contains("belong to --emit ptx"), "{}", ir.stderr);
    let old =
        of(&[&emit[..], &["--target", "sm_30", "vshl.u32.u32.u32.wrap d, a, b;"]].concat(), "");
    assert_eq!((old.status, old.stdout.as_str()), (1, ""));
    assert!(old.stderr.contains("there is no ordinary PTX"), "{}", old.stderr);
    let wrong = of(&[&emit[..], &["--target", "sm_90", "vadd.u32.u32 d, a, b;"]].concat(), "");
    assert_eq!(wrong.status, 1);
}

#[test]
fn a_module() {
    let run = vptx(&["lower", "--emit", "ptx", "-"], MODULE);
    let expected = MODULE.replace("@p vmin2.s32.s32.s32 d, a, b, c;", "@p min.s16x2 d, a, b;");
    assert_eq!((run.status, run.stdout), (0, expected));
    assert_eq!(
        run.stderr,
        "1 of 1 video instruction rewritten: 9 → 1 machine instructions on sm_90\n"
    );
    let quiet = vptx(&["lower", "--emit", "ptx", "--quiet", "--comments", "-"], MODULE);
    assert!(quiet.stdout.contains("d, a, b; /* @p vmin2.s32.s32.s32 d, a, b, c; */ // stays"));
    assert_eq!(quiet.stderr, "");
    insta::assert_snapshot!(
        "module",
        vptx(
            &[
                "lower",
                "--emit",
                "ptx",
                "--target",
                "sm_120",
                "--comments",
                "fixtures/diagnostics/V601.ptx"
            ],
            ""
        )
        .transcript()
    );
}

#[test]
fn nothing_else_changes() {
    let folder = Folder::new("lower-bytes");
    // Line ends, other encodings and escapes come through.
    let module = MODULE.replace('\n', "\r\n").replace("stays a line", "\u{1b}[1m \u{e9}");
    let latin: Vec<u8> = module.chars().map(|c| c as u8).collect();
    folder.write("latin.ptx", &latin);
    let child = start(&folder.0, &["lower", "--emit", "ptx", "latin.ptx"]);
    let run = child.wait_with_output().unwrap();
    let expected = module.replace("@p vmin2.s32.s32.s32 d, a, b, c;", "@p min.s16x2 d, a, b;");
    let expected: Vec<u8> = expected.chars().map(|c| c as u8).collect();
    assert_eq!(run.stdout, expected);
    let none = module.replace("vmin2", "xmin2");
    folder.write("none.ptx", none.as_bytes());
    let run = vptx_in(&folder.0, &["lower", "--emit", "ptx", "none.ptx"], b"");
    assert_eq!((run.status, run.stdout), (0, none));
    assert_eq!(run.stderr, "0 of 0 video instructions rewritten\n");
}

#[test]
fn errors_are_left_alone_and_reported() {
    let module = MODULE.replace("    ret;", "    vadd.u32.u32 d, a, b;\n    ret;");
    let run = vptx(&["lower", "--emit", "ptx", "-"], &module);
    assert_eq!(run.status, 1);
    assert!(run.stdout.contains("    vadd.u32.u32 d, a, b;\n"), "{}", run.stdout);
    assert!(run.stdout.contains("min.s16x2"), "{}", run.stdout);
    assert!(run.stderr.contains("error[V104]"), "{}", run.stderr);
    // Instructions that the module's own version lacks.
    let old = MODULE.replace(".target sm_90", ".target sm_30");
    let run = vptx(&["lower", "--emit", "ptx", "--all", "--target", "sm_90", "-"], &old);
    assert!(!run.stdout.contains("min.s16x2"), "{}", run.stdout);
}
