//! `vptx rewrite` as a user meets it.

use std::path::Path;

use crate::support::fatbin::{Entry, OBFUSCATED, fat_binary, library, plain};
use crate::support::program::{Folder, ROOT, start, vptx, vptx_in};

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
        let mut arguments = vec!["rewrite"];
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
    // For this target, no costs were measured.
    insta::assert_snapshot!(
        "old",
        of("vmax4.u32.s32.u32.sat d.b31, a, b.b7777, c;", &["--target", "sm_72"])
    );
}

#[test]
fn troubles() {
    let of = |arguments: &[&str], input: &str| vptx(arguments, input);
    let emit = ["rewrite"];
    let text = "vadd.u32.u32.u32 d, a, b;";
    let none = of(&[&emit[..], &[text]].concat(), "");
    assert_eq!((none.status, none.stdout.as_str()), (2, ""));
    assert!(none.stderr.contains("--target sm_90"), "{}", none.stderr);
    let none = of(&emit, text);
    assert_eq!((none.status, none.stdout.as_str()), (2, ""));
    assert!(none.stderr.contains("`<stdin>` has no .target"), "{}", none.stderr);
    let several = of(&[&emit[..], &["--semantics", "all", "--target", "sm_90", text]].concat(), "");
    assert_eq!((several.status, several.stdout.as_str()), (2, ""));
    let llvm = of(&[&emit[..], &["--target", "x86_64", text]].concat(), "");
    assert_eq!((llvm.status, llvm.stdout.as_str()), (2, ""));
    assert!(llvm.stderr.contains("a target looks like `sm_90`"), "{}", llvm.stderr);
    let old =
        of(&[&emit[..], &["--target", "sm_30", "vshl.u32.u32.u32.wrap d, a, b;"]].concat(), "");
    assert_eq!((old.status, old.stdout.as_str()), (1, ""));
    assert!(old.stderr.contains("vptx has no ordinary PTX"), "{}", old.stderr);
    let wrong = of(&[&emit[..], &["--target", "sm_90", "vadd.u32.u32 d, a, b;"]].concat(), "");
    assert_eq!(wrong.status, 1);
}

#[test]
fn a_module() {
    let run = vptx(&["rewrite", "-"], MODULE);
    let expected = MODULE.replace("@p vmin2.s32.s32.s32 d, a, b, c;", "@p min.s16x2 d, a, b;");
    assert_eq!((run.status, run.stdout), (0, expected));
    assert_eq!(
        run.stderr,
        "1 of 1 video instruction rewritten: 9 → 1 machine instructions on sm_90\n"
    );
    let quiet = vptx(&["rewrite", "--quiet", "--comments", "-"], MODULE);
    assert!(quiet.stdout.contains("d, a, b; /* @p vmin2.s32.s32.s32 d, a, b, c; */ // stays"));
    assert_eq!(quiet.stderr, "");
    insta::assert_snapshot!(
        "module",
        vptx(&["rewrite", "--target", "sm_120", "--comments", "fixtures/diagnostics/V601.ptx"], "")
            .transcript()
    );
}

/// In a file written by hand, four instructions that fill a word become one.
#[test]
fn several_as_one() {
    let path = "fixtures/regions/hand.ptx";
    let lower = |more: &[&str]| vptx(&[&["rewrite", path], more].concat(), "");
    let run = lower(&[]);
    assert_eq!(run.status, 0);
    let lines: Vec<&str> = run.stderr.lines().collect();
    assert_eq!(lines.len(), 5, "{lines:?}");
    let note = "4 × vsub become one `vsub4.u32.u32.u32 %r3, %r1, %r2, %r3;`";
    assert_eq!(lines[0], format!("{path}:19:5: note: {note}"));
    assert!(lines[4].starts_with("10 of 10 video instructions rewritten: 72 → "), "{lines:?}");
    let single = lower(&["--only", "single"]);
    assert!(!single.stderr.contains("become one"), "{}", single.stderr);
    let after = |text: &str| -> usize {
        let rest = text.split(" → ").last().expect("a sum");
        rest.split(' ').next().expect("a number").parse().expect("a number")
    };
    assert!(after(&run.stderr) < after(&single.stderr));
    // There is one block for each word; with `--only single`, one for each instruction.
    assert_eq!(run.stdout.matches(".reg .b32 %vptx_r<").count(), 3);
    assert!(single.stdout.matches(".reg .b32 %vptx_r<").count() > 3);
    let comments = lower(&["--comments", "--quiet"]);
    assert!(
        comments.stdout.contains("\n    /* vsub.u32.u32.u32 %r3.b0, %r1.b0, %r2.b0, %r3; */\n")
    );
    assert_eq!(comments.stderr, "");
}

#[test]
fn nothing_else_changes() {
    let folder = Folder::new("rewrite-bytes");
    // Line ends, bytes that are not UTF-8, and escape characters stay unchanged.
    let module = MODULE.replace('\n', "\r\n").replace("stays a line", "\u{1b}[1m \u{e9}");
    let latin: Vec<u8> = module.chars().map(|c| c as u8).collect();
    folder.write("latin.ptx", &latin);
    let child = start(&folder.0, &["rewrite", "latin.ptx"]);
    let run = child.wait_with_output().unwrap();
    let expected = module.replace("@p vmin2.s32.s32.s32 d, a, b, c;", "@p min.s16x2 d, a, b;");
    let expected: Vec<u8> = expected.chars().map(|c| c as u8).collect();
    assert_eq!(run.stdout, expected);
    let none = module.replace("vmin2", "xmin2");
    folder.write("none.ptx", none.as_bytes());
    let run = vptx_in(&folder.0, &["rewrite", "none.ptx"], b"");
    assert_eq!((run.status, run.stdout), (0, none));
    assert_eq!(run.stderr, "0 of 0 video instructions rewritten\n");
}

#[test]
fn errors_are_left_alone_and_reported() {
    let module = MODULE.replace("    ret;", "    vadd.u32.u32 d, a, b;\n    ret;");
    let run = vptx(&["rewrite", "-"], &module);
    assert_eq!(run.status, 1);
    assert!(run.stdout.contains("    vadd.u32.u32 d, a, b;\n"), "{}", run.stdout);
    assert!(run.stdout.contains("min.s16x2"), "{}", run.stdout);
    assert!(run.stderr.contains("error[V104]"), "{}", run.stderr);
    // The rewritten module must not need a newer target than its own.
    let old = MODULE.replace(".target sm_90", ".target sm_30");
    let run = vptx(&["rewrite", "--all", "--target", "sm_90", "-"], &old);
    assert!(!run.stdout.contains("min.s16x2"), "{}", run.stdout);
}

/// The help lists the status.
#[test]
fn a_single_instruction_without_ordinary_ptx_sets_the_status() {
    let old = module("6.0", "sm_30", "vshl.u32.u32.u32.wrap d, a, b;");
    let run = vptx(&["rewrite", "--all", "-"], &old);
    assert_eq!((run.status, run.stdout), (1, old));
    assert!(run.stderr.contains("; 1 stays: the .target or .version is too old"), "{}", run.stderr);
}

fn module(version: &str, target: &str, body: &str) -> String {
    let arguments = ".reg .b32 d, .reg .b32 a, .reg .b32 b, .reg .b32 c";
    format!(
        ".version {version}\n.target {target}\n.address_size 64\n.func f({arguments})\n{{\n{body}\n    \
         ret;\n}}\n"
    )
}

/// The measured sequence has `cvt.pack`, which PTX 6.3 lacks. The sequence that is written instead
/// has no measured cost.
#[test]
fn only_what_was_measured_has_a_cost() {
    let sat = "    vadd2.s32.s32.s32.sat d, a, b, c;";
    let emit = ["rewrite", "--target", "sm_90", "-"];
    let new = vptx(&emit, &module("8.0", "sm_75", sat));
    assert!(new.stdout.contains("cvt.pack"), "{}", new.stdout);
    assert_eq!(
        new.stderr,
        "1 of 1 video instruction rewritten: 23 → 6 machine instructions on sm_90\n"
    );
    let old = vptx(&emit, &module("6.3", "sm_75", sat));
    assert!(!old.stdout.contains("cvt.pack"), "{}", old.stdout);
    assert_eq!(
        old.stderr,
        "1 of 1 video instruction rewritten; the costs of the new PTX were not measured\n"
    );
    // An instruction without a measured cost is counted separately.
    let average = "    vavrg4.u32.u32.u32 d, a, b, c;";
    let both = vptx(&emit, &module("6.3", "sm_75", &format!("{sat}\n{average}")));
    assert_eq!(
        both.stderr,
        "2 of 2 video instructions rewritten: 31 → 3 machine instructions on sm_90, for the 1 \
         that were measured\n"
    );
    // An instruction with a constant is counted separately, too, because only registers were
    // measured.
    let constant = format!("{average}\n    vadd.u32.u32.u32.sat d, a, 5;");
    let run = vptx(&[&emit[..], &["--all"]].concat(), &module("8.0", "sm_90", &constant));
    assert!(run.stderr.contains("rewritten: 31 → 3 machine"), "{}", run.stderr);
    assert!(run.stderr.contains(", for the 1 that were measured"), "{}", run.stderr);
    // V601 reports the same costs.
    let check = |version: &str| {
        let arguments = ["check", "--costs", "--format", "concise", "--target", "sm_90", "-"];
        vptx(&arguments, &module(version, "sm_75", sat)).stdout
    };
    let emits = "is emulated: ptxas 13.5 emits 23 machine instructions on sm_90, and ordinary PTX";
    assert!(check("8.0").contains(&format!("{emits} needs 6")), "{}", check("8.0"));
    let old = check("6.3");
    assert!(old.contains(&format!("{emits} is estimated to need fewer")), "{old}");
}

#[test]
fn what_is_better_kept_is_told() {
    let of = |text: &str, more: &[&str]| {
        let arguments = ["rewrite", "--target", "sm_90", text];
        vptx(&[&arguments[..], more].concat(), "").stdout
    };
    let one = "vabsdiff4.u32.u32.u32.add d, a, b, c;";
    let keep = "// keep this instruction: ptxas 13.5 emits 1 machine instruction for it on sm_90; \
                the PTX below was not measured\n";
    assert!(of(one, &[]).contains(keep), "{}", of(one, &[]));
    // With the guard, the PTX becomes 5 machine instructions; see tests/rewrite.rs.
    let guarded = of("@p vsub.u32.u32.u32 d, a.h1, b.h1;", &[]);
    let keep = "// keep this instruction: ptxas 13.5 emits 3 machine instructions for it on sm_90, \
                and at most 5 for the PTX below\n";
    assert!(guarded.contains(keep), "{guarded}");
    // If the semantics differs from ptxas', there is no advice to keep the instruction.
    let manual = of("vadd.u32.u32.u32.sat d, a, b;", &["--semantics", "manual"]);
    assert!(manual.contains("// ptxas 13.5 emits 7 machine instructions for it"), "{manual}");
    assert!(!of("vavrg4.u32.u32.u32 d, a, b, c;", &[]).contains("keep"));
    let shown = vptx(&["explain", "vabsdiff4.u32.u32.u32.add"], "").stdout;
    assert!(shown.contains("Keep this instruction: ptxas 13.5 emits 1 machine"), "{shown}");
}

/// Without its guard, ptxas' own code is shorter, and wrong.
#[test]
fn what_loses_its_guard_is_not_kept() {
    let of = |text| vptx(&["rewrite", "--target", "sm_120f", text], "").stdout;
    let lost = of("@p vadd4.u32.u32.u32.add d, a, b, c;");
    assert!(lost.contains("@p dp4a") && !lost.contains("keep"), "{lost}");
}

#[test]
fn several_files() {
    let folder = Folder::new("rewrite-several");
    let expected = MODULE.replace("@p vmin2.s32.s32.s32 d, a, b, c;", "@p min.s16x2 d, a, b;");
    let of = |arguments: &[&str]| vptx_in(&folder.0, &[&["rewrite"], arguments].concat(), b"");
    folder.write("a.ptx", MODULE);
    folder.write("b/b.ptx", MODULE);
    folder.write("b/a.ptx", MODULE);
    let both = of(&["a.ptx", "b/b.ptx"]);
    assert_eq!((both.status, both.stdout.as_str()), (2, ""));
    assert!(
        both.stderr.contains("-o DIR") && both.stderr.contains("--in-place"),
        "{}",
        both.stderr
    );
    let written = of(&["-o", "new/out", "a.ptx", "b/b.ptx"]);
    let told = "1 of 1 video instruction rewritten: 9 → 1 machine instructions on sm_90\n";
    assert_eq!(
        (written.status, written.stdout, written.stderr),
        (0, String::new(), format!("a.ptx: {told}b/b.ptx: {told}"))
    );
    for name in ["new/out/a.ptx", "new/out/b.ptx"] {
        assert_eq!(folder.read(name), expected);
    }
    assert_eq!(folder.read("a.ptx"), MODULE);
    // With one input, `-o` may name a directory that does not exist.
    let written = of(&["-o", "newer/out/", "a.ptx"]);
    assert_eq!((written.status, written.stdout.as_str()), (0, ""), "{}", written.stderr);
    assert_eq!(folder.read("newer/out/a.ptx"), expected);
    let run = of(&["-o", "a.ptx/", "b/b.ptx"]);
    assert_eq!((run.status, run.stdout.as_str()), (2, ""));
    assert!(run.stderr.contains("cannot create `a.ptx/`"), "{}", run.stderr);
    // Nothing is written if a file would be lost.
    for (arguments, why) in [
        (&["-o", "x", "a.ptx", "b/a.ptx"][..], "would both be written to `x/a.ptx`"),
        (&["-o", "x", "a.ptx", "missing.ptx"], "there is no file `missing.ptx`"),
        (&["-o", "x", "a.ptx", "a.ptx"], "`a.ptx` is named twice"),
        (&["-o", "a.ptx", "b/a.ptx", "b/b.ptx"], "`a.ptx` is a file"),
        (&["-o", "a.ptx", "./a.ptx"], "is both input and output"),
        (&["-o", ".", "a.ptx"], "is both input and output"),
        (&["-o", "x", "a.ptx", "-"], "`<stdin>` has no file name"),
        (&["--in-place", "-"], "standard input is not a file"),
        (
            &["-i", "vadd.u32.u32.u32 d, a, b;", "--target", "sm_90"],
            "--in-place needs a file, not an instruction",
        ),
    ] {
        let run = of(arguments);
        assert_eq!((run.status, run.stdout.as_str()), (2, ""), "{arguments:?}");
        assert!(run.stderr.contains(why), "{arguments:?}: {}", run.stderr);
        assert!(!folder.0.join("x").exists(), "{arguments:?}");
    }
    assert_eq!(folder.read("a.ptx"), MODULE);
    assert_eq!(of(&["-i", "-o", "x", "a.ptx"]).status, 2);
}

#[test]
fn one_file_to_another() {
    let folder = Folder::new("rewrite-output");
    let printed = vptx(&["rewrite", "-"], MODULE);
    folder.write("old.ptx", "before");
    for name in ["new.ptx", "old.ptx"] {
        let arguments = ["rewrite", "-o", name, "-"];
        let run = vptx_in(&folder.0, &arguments, MODULE.as_bytes());
        assert_eq!((run.status, run.stdout.as_str()), (0, ""));
        assert_eq!(
            (folder.read(name), run.stderr),
            (printed.stdout.clone(), printed.stderr.clone())
        );
    }
    let arguments = ["rewrite", "-o", "no/new.ptx", "-"];
    let run = vptx_in(&folder.0, &arguments, MODULE.as_bytes());
    assert_eq!(run.status, 2);
    assert!(run.stderr.starts_with("vptx: cannot write `no/new.ptx`: "), "{}", run.stderr);
    let one = ["rewrite", "--target", "sm_90", "vavrg4.u32.u32.u32 d, a, b, c;"];
    let run = vptx_in(&folder.0, &[&one[..], &["-o", "one.txt"]].concat(), b"");
    assert_eq!((run.status, run.stdout.as_str()), (0, ""));
    assert_eq!(folder.read("one.txt"), vptx(&one, "").stdout);
    // A pipe is written to, not replaced.
    #[cfg(target_os = "linux")]
    {
        let run = vptx_in(&folder.0, &[&one[..], &["-o", "/dev/stdout"]].concat(), b"");
        assert_eq!((run.status, run.stdout), (0, vptx(&one, "").stdout), "{}", run.stderr);
    }
}

#[test]
fn in_place() {
    let folder = Folder::new("rewrite-in-place");
    let wrong = MODULE.replace("    ret;", "    vadd.u32.u32 d, a, b;\n    ret;");
    let none = MODULE.replace("vmin2", "xmin2");
    let latin: Vec<u8> = MODULE.replace("stays", "\u{e9}").chars().map(|c| c as u8).collect();
    folder.write("a.ptx", &latin);
    folder.write("wrong.ptx", &wrong);
    folder.write("none.ptx", &none);
    let modified = || folder.0.join("none.ptx").metadata().unwrap().modified().unwrap();
    let before = modified();
    let arguments = ["rewrite", "-i", "a.ptx", "wrong.ptx", "none.ptx"];
    let run = vptx_in(&folder.0, &arguments, b"");
    assert_eq!((run.status, run.stdout.as_str()), (1, ""));
    let expected = MODULE.replace("@p vmin2.s32.s32.s32 d, a, b, c;", "@p min.s16x2 d, a, b;");
    let expected: Vec<u8> = expected.replace("stays", "\u{e9}").chars().map(|c| c as u8).collect();
    assert_eq!(std::fs::read(folder.0.join("a.ptx")).unwrap(), expected);
    // A file with errors stays unchanged; a file without video instructions is not even written.
    assert_eq!((folder.read("wrong.ptx"), folder.read("none.ptx")), (wrong, none));
    assert_eq!(modified(), before);
    assert!(run.stderr.contains("vptx: `wrong.ptx` is unchanged: it has errors"), "{}", run.stderr);
    assert!(run.stderr.contains("error[V104]"), "{}", run.stderr);
    assert_eq!(std::fs::read_dir(&folder.0).unwrap().count(), 3);
}

#[test]
fn what_is_neither_file_nor_instruction() {
    for (argument, about) in [("vadd", true), ("vadd.u32.u32.u32", true), ("kernel.ptx", false)] {
        let run = vptx(&["rewrite", argument], "");
        assert_eq!((run.status, run.stdout.as_str()), (2, ""));
        let start = format!(
            "vptx: there is no file `{argument}`; name PTX files, -, or one instruction in quotes"
        );
        assert!(run.stderr.starts_with(&start), "{}", run.stderr);
        assert_eq!(run.stderr.contains("`vptx explain vadd` explains"), about, "{}", run.stderr);
    }
    // Without quotes, the shell splits an instruction into several arguments.
    let run = vptx(&["lower", "--emit", "ir", "vadd.u32.u32.u32", "d,", "a,", "b;"], "");
    assert!(run.stderr.contains("`vptx explain vadd` explains"), "{}", run.stderr);
}

/// The exit status of `--diff` means the same as in `check`, `fmt` and `port`.
#[test]
fn a_diff_is_shown() {
    let folder = Folder::new("rewrite-diff");
    let none = MODULE.replace("vmin2", "xmin2");
    folder.write("a.ptx", MODULE);
    folder.write("none.ptx", none);
    folder.write("bad.ptx", MODULE.replace("    ret;", "    vadd.u32.u32 d, a, b;\n    ret;"));
    let diff = |arguments: &[&str]| {
        let run = vptx_in(&folder.0, &[&["rewrite", "--diff"], arguments].concat(), b"");
        (run.status, run.stdout, run.stderr)
    };
    let (status, stdout, stderr) = diff(&["a.ptx"]);
    let changed: Vec<&str> = stdout.lines().filter(|line| line.starts_with(['-', '+'])).collect();
    assert_eq!(
        changed,
        [
            "--- a.ptx",
            "+++ a.ptx",
            "-    @p vmin2.s32.s32.s32 d, a, b, c; // stays a line",
            "+    @p min.s16x2 d, a, b; // stays a line",
        ]
    );
    let said = "1 of 1 video instruction to rewrite: 9 → 1 machine instructions on sm_90\n";
    assert_eq!((status, &*stderr), (1, said));
    assert_eq!(diff(&["--quiet", "none.ptx"]), (0, String::new(), String::new()));
    let (status, both, _) = diff(&["none.ptx", "a.ptx"]);
    assert_eq!((status, both), (1, stdout));
    // An error in a file sets the status even if nothing changes.
    assert_eq!(diff(&["--target", "sm_60", "bad.ptx"]).0, 1);
    assert_eq!(diff(&["missing.ptx"]).0, 2);
    for more in ["-i", "-o"] {
        assert_eq!(diff(&[more, "b.ptx", "a.ptx"]).0, 2, "{more}");
    }
    assert_eq!(diff(&["--target", "sm_90", "vmin2.s32.s32.s32 d, a, b, c;"]).0, 2);
    assert_eq!(folder.read("a.ptx"), MODULE);
}

#[test]
fn the_summary_says_why_instructions_stay() {
    let emit = ["rewrite", "-"];
    let said = |module: &str| {
        let run = vptx(&emit, module);
        assert_eq!(run.status, 0, "{}", run.stderr);
        run.stderr
    };
    // ptxas makes one machine instruction of it on sm_90: see what_is_better_kept_is_told.
    let kept = "    vabsdiff4.u32.u32.u32.add d, a, b, c;";
    let rewritten = "    vavrg4.u32.u32.u32 d, a, b, c;";
    assert_eq!(
        said(&module("8.0", "sm_90", kept)),
        "0 of 1 video instruction rewritten; 1 stays: nothing is cheaper on sm_90\n"
    );
    assert_eq!(
        said(&module("8.0", "sm_90", &format!("{kept}\n{rewritten}\n{kept}"))),
        "1 of 3 video instructions rewritten: 31 → 3 machine instructions on sm_90; 2 stay: \
         nothing is cheaper on sm_90\n"
    );
    assert_eq!(
        said(&module("8.0", "sm_72", rewritten)),
        "0 of 1 video instruction rewritten; 1 stays: of unknown cost on sm_72; --all \
         rewrites anyway\n"
    );
}

/// `lower --emit ptx` is the old name of `rewrite`.
#[test]
fn lowering_to_ptx_is_rewriting() {
    let text = "vavrg4.u32.u32.u32 d, a, b, c;";
    let new = vptx(&["rewrite", "--target", "sm_90", text], "").stdout;
    assert!(new.contains("lop3.b32"), "{new}");
    for old in [
        &["lower", "--emit", "ptx", "--target", "sm_90", text][..],
        &["lower", "--target=sm_90", text, "--emit=ptx"],
        &["--color", "never", "lower", "--target", "sm_90", "--emit", "ptx", "--", text],
    ] {
        assert_eq!(vptx(old, "").stdout, new, "{old:?}");
    }
    // Arguments after `--` are names of files.
    assert_eq!(vptx(&["lower", "--", "--emit", "ptx"], "").status, 2);
    let help = vptx(&["lower", "--help"], "").stdout;
    assert!(!help.contains("--emit ptx") && help.contains("`vptx rewrite`"), "{help}");
}

/// If one text of a binary cannot be written, the status is 2; the other texts are written.
#[test]
fn a_text_of_a_binary_that_cannot_be_written() {
    let folder = Folder::new("rewrite-binary");
    let binary = std::fs::read(Path::new(ROOT).join("fixtures/fatbin/balance.fatbin")).unwrap();
    std::fs::write(folder.0.join("a.bin"), binary).unwrap();
    std::fs::create_dir_all(folder.0.join("out/a.1.sm_75.ptx")).unwrap();
    let run = vptx_in(&folder.0, &["rewrite", "-o", "out", "a.bin"], b"");
    assert_eq!(run.status, 2);
    assert!(run.stderr.contains("cannot write `out/a.1.sm_75.ptx`"), "{}", run.stderr);
    assert!(run.stderr.contains("a.bin: 2 PTX texts written, 2 of them"), "{}", run.stderr);
    assert!(folder.0.join("out/a.2.sm_90.ptx").is_file());
    std::fs::remove_dir(folder.0.join("out/a.1.sm_75.ptx")).unwrap();
    assert_eq!(vptx_in(&folder.0, &["rewrite", "-o", "out", "a.bin"], b"").status, 0);
}

/// If one text of a binary cannot be read, the status is 2; the other texts are written.
#[test]
fn a_text_of_a_binary_that_cannot_be_read() {
    let folder = Folder::new("rewrite-binary-unread");
    let broken = Entry { flags: 0x11 | OBFUSCATED, ..plain(80, MODULE) };
    let binary = library(&[fat_binary(&[broken, plain(90, MODULE)])]);
    std::fs::write(folder.0.join("a.bin"), binary).unwrap();
    let run = vptx_in(&folder.0, &["rewrite", "-o", "out", "a.bin"], b"");
    assert_eq!(run.status, 2);
    let said = "vptx: `a.bin`: the PTX at byte 1616 is obfuscated\n";
    assert!(run.stderr.starts_with(said), "{}", run.stderr);
    assert!(folder.0.join("out/a.2.sm_90.ptx").is_file());
}

#[test]
fn a_text_of_a_binary_without_a_target() {
    let folder = Folder::new("rewrite-binary-target");
    let text =
        ".version 8.0\n.func f(.reg .b32 d, .reg .b32 a) { vmin2.u32.u32.u32 d, a, a, a; }\n";
    let binary = library(&[fat_binary(&[plain(90, text)]), fat_binary(&[plain(90, MODULE)])]);
    std::fs::write(folder.0.join("a.bin"), binary).unwrap();
    let run = vptx_in(&folder.0, &["rewrite", "-o", "out", "a.bin"], b"");
    assert_eq!(run.status, 2, "{}", run.stderr);
    assert!(run.stderr.contains("--target"), "{}", run.stderr);
    // The other text is written.
    assert_eq!(std::fs::read_dir(folder.0.join("out")).unwrap().count(), 1);
}

/// Instructions that stay unchanged are counted.
#[test]
fn what_the_target_is_too_old_for_is_counted() {
    let shift = "vshl.u32.u32.u32.wrap d, a, a;";
    for (count, expected) in [(1, "; 1 stays: the .target"), (3, "; 3 stay: the .target")] {
        let text = format!(
            ".version 2.0\n.target sm_20\n.func f(.reg .b32 d, .reg .b32 a) {{ {} }}\n",
            shift.repeat(count)
        );
        let run = vptx(&["rewrite", "--all", "-"], &text);
        assert!(run.stderr.contains(expected), "{}", run.stderr);
    }
}
