//! `vptx check` as a user meets it: choices, fixes, reports, baselines, files.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

use serde_json::Value;
use vptx::CheckOptions;
use vptx::analysis::check_counted;

use super::fixtures::{BAD, DIFFERS, GOOD, LOOSE, NOWHERE, PLAIN, codes, kinds};
use crate::support::fatbin::zip;
use crate::support::program::{Folder, ROOT, Run, output_in, start, vptx, vptx_in};

/// An error with an unsafe fix, V106.
const WIDE: &str = "vadd.u32.u32.u64 d, a, b;\n";

/// A CUDA source with a warning (V403) and two errors, one of them in the `asm` itself.
const KERNEL: &str = r#"__device__ unsigned sums(unsigned a, unsigned b, unsigned c)
{
    unsigned d;
    asm("vadd.s32.s32.s32 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c));
    asm volatile("{\n\t"
        "vadd.u32.u32 %0, %1, %2;\n\t"
        "}" : "=r"(d) : "r"(a), "r"(b));
    asm("vmin.u32.u32.u32 %0, %1, %3;" : "=r"(d) : "r"(a), "r"(b));
    return d;
}
"#;

/// Runs `check` so that it prints one line for each finding.
fn concise(folder: &Folder, arguments: &[&str]) -> Run {
    filter(folder, arguments, b"")
}

/// Runs `check` on standard input; it prints one line for each finding.
fn filter(folder: &Folder, arguments: &[&str], stdin: &[u8]) -> Run {
    vptx_in(&folder.0, &[&["check", "--format", "concise"], arguments].concat(), stdin)
}

/// The files of a concise report, each once, in order.
fn files(text: &str) -> Vec<&str> {
    let mut files: Vec<&str> = text.lines().filter_map(|line| line.split(':').next()).collect();
    files.dedup();
    files
}

/// The transcript of a run without the folder's path.
fn transcript(folder: &Folder, run: &Run) -> String {
    let real = folder.0.canonicalize().expect("a path");
    let text = run.transcript().replace(real.to_str().expect("UTF-8"), "FOLDER");
    text.replace(folder.0.to_str().expect("UTF-8"), "FOLDER")
}

fn bytes(folder: &Folder, name: &str) -> Vec<u8> {
    fs::read(folder.0.join(name)).expect(name)
}

/// Standard output of a run with environment variables.
fn with_variables(folder: &Path, arguments: &[&str], variables: &[(&str, &str)]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_vptx"))
        .args(arguments)
        .current_dir(folder)
        .env("COLUMNS", "80")
        .env_remove("NO_COLOR")
        .env_remove("CLICOLOR_FORCE")
        .envs(variables.iter().copied())
        .stdin(Stdio::null())
        .output()
        .expect("the program starts");
    String::from_utf8(output.stdout).expect("UTF-8")
}

// The selection of rules.

#[test]
fn rules_are_selected() {
    let folder = kinds("check-select");
    for (arguments, expected) in [
        (&[][..], &["V104", "V501", "V403"][..]),
        (&["--select", "V501"], &["V501"]),
        (&["--select", "v501"], &["V501"]),
        (&["--select", "result-differs"], &["V501"]),
        (&["--select", "V4"], &["V403", "V408"]),
        (&["--select", "V1,V4"], &["V104", "V403", "V408"]),
        (&["--select", "V1", "--select", "ignored-third-operand"], &["V104", "V403"]),
        (&["--select", "V2"], &[]),
        (&["--select", "ALL", "--ignore", "V5"], &["V104", "V403", "V408"]),
        (&["--extend-select", "V408"], &["V104", "V501", "V403", "V408"]),
        (&["--extend-select", "explicit-default"], &["V104", "V501", "V403", "V408"]),
        (&["--ignore", "V403"], &["V104", "V501"]),
        (&["--ignore", "V1,result-differs"], &["V403"]),
        (&["--ignore", "ALL"], &[]),
        // The longest selector wins, wherever it stands; of two equal selectors, the one in
        // `ignore` wins.
        (&["--ignore", "V4", "--extend-select", "V403"], &["V104", "V501", "V403"]),
        (&["--select", "V403", "--ignore", "V4"], &["V403"]),
        (&["--select", "V4", "--ignore", "V403"], &["V408"]),
        (&["--ignore", "V403", "--select", "V4"], &["V408"]),
        (&["--ignore", "ALL", "--extend-select", "V1"], &["V104"]),
        (&["--select", "V403", "--ignore", "V403"], &[]),
    ] {
        let run = concise(&folder, arguments);
        assert_eq!(codes(&run.stdout), expected, "{arguments:?}");
        assert_eq!(run.status, i32::from(expected.contains(&"V104")), "{arguments:?}");
        assert_eq!(run.stderr, "", "{arguments:?}");
    }
}

/// Without further options, rules on names and flow apply only to modules of usual size with video
/// instructions. A rule that the user names applies to every module.
#[test]
fn rules_that_are_named_are_for_every_module() {
    let folder = Folder::new("check-every-module");
    folder.write("plain.ptx", NOWHERE);
    let large = NOWHERE.replace("bra", "vadd.u32.u32.u32 r, r, r; bra") + &"\n".repeat(1 << 20);
    folder.write("large.ptx", &large);
    folder.write("usual.ptx", large.trim_end());
    let found = |arguments: &[&str]| -> Vec<String> {
        let stdout = concise(&folder, &[arguments, &["."]].concat()).stdout;
        let found = stdout.lines().filter(|line| line.contains("[V902]"));
        found.map(|line| line[..line.find(':').unwrap()].to_string()).collect()
    };
    let (usual, all) = (&["usual.ptx"][..], &["large.ptx", "plain.ptx", "usual.ptx"][..]);
    let command: [(&[&str], &[&str]); 8] = [
        (&[], usual),
        (&["--select", "ALL", "--ignore", "V6"], usual),
        (&["--extend-select", "V5"], usual),
        (&["--extend-select", "V902"], all),
        (&["--extend-select", "undefined-label"], all),
        (&["--select", "V9", "--ignore", "V6"], all),
        (&["--select", "V5"], &[]),
        (&["--extend-select", "V902", "--ignore", "V9,V902"], &[]),
    ];
    for (arguments, expected) in command {
        assert_eq!(found(arguments), expected, "{arguments:?}");
    }
    for (settings, arguments, expected) in [
        ("extend-select = [\"V902\"]", &[][..], all),
        ("select = [\"V9\"]\nignore = [\"V903\"]", &[], all),
        ("extend-select = [\"V5\"]", &[], usual),
        // The command line replaces the settings' selection.
        ("select = [\"V9\"]", &["--select", "ALL", "--ignore", "V6"], usual),
        (
            "[[check.per-path]]\npaths = [\"large.ptx\"]\nextend-select = [\"V902\"]",
            &[],
            &["large.ptx", "usual.ptx"],
        ),
    ] {
        folder.write("vptx.toml", format!("[check]\n{settings}\n"));
        assert_eq!(found(arguments), expected, "{settings} {arguments:?}");
    }
}

#[test]
fn a_wrong_selector_is_said() {
    let folder = kinds("check-selector");
    let run = concise(&folder, &["--select", "V4,V999"]);
    insta::assert_snapshot!(run.transcript(), @r"
    status: 2
    -- stdout --
    -- stderr --
    error: invalid value 'V999' for '--select <RULES>': `V999` selects no rule; did you mean `V909`?

    For more information, try '--help'.
    ");
    let run = concise(&folder, &["--ignore", "modifer-order"]);
    insta::assert_snapshot!(run.transcript(), @r"
    status: 2
    -- stdout --
    -- stderr --
    error: invalid value 'modifer-order' for '--ignore <RULES>': `modifer-order` selects no rule; did you mean `modifier-order`?

    For more information, try '--help'.
    ");
    for option in ["--select", "--extend-select", "--ignore"] {
        for selector in ["", "V1,", "X1", "V1*", "104"] {
            let run = concise(&folder, &[option, selector]);
            assert_eq!((run.status, run.stdout.as_str()), (2, ""), "{option} {selector}");
            assert!(run.stderr.contains(option), "{}", run.stderr);
        }
    }
}

#[test]
fn costs_are_noted_for_a_target() {
    let folder = Folder::new("check-costs");
    folder.write("a.ptx", "vavrg4.u32.u32.u32 d, a, b, c;\n");
    for (arguments, expected) in [
        (&[][..], &[][..]),
        (&["--target", "sm_90"], &[]),
        (&["--costs", "--target", "sm_90"], &["V601"]),
        (&["--extend-select", "V6", "--target", "sm_90"], &["V601"]),
        (&["--costs", "--select", "V1", "--target", "sm_90"], &["V601"]),
        (&["--costs", "--ignore", "V601", "--target", "sm_90"], &[]),
        // `sm_30` has the instruction in hardware.
        (&["--costs", "--target", "sm_30"], &[]),
    ] {
        let run = concise(&folder, arguments);
        assert_eq!((run.status, codes(&run.stdout)), (0, expected.to_vec()), "{arguments:?}");
    }
    // Text without a `.target` may use only what `--target` allows.
    folder.write("c.ptx", "vmin4.u32.u32.u32 d, a, b, c;\n");
    for (target, after) in [("sm_120", 5), ("sm_120a", 1), ("sm_120a,sm_120", 5)] {
        let run = concise(&folder, &["c.ptx", "--costs", "--target", target]);
        let noted = format!("ordinary PTX needs {after}");
        assert!(run.stdout.contains(&noted), "{target}: {}", run.stdout);
    }
    // Two instructions with one sequence.
    folder.write(
        "b.ptx",
        "vmax.u32.u32.u32 d.h0, a.h0, b.h0, d;\nvmax.u32.u32.u32 d.h1, a.h1, b.h1, d;\n",
    );
    for (arguments, expected) in [
        (&["b.ptx", "--costs", "--target", "sm_90"][..], &["V602"][..]),
        (&["b.ptx", "--select", "unfused-instructions", "--target", "sm_90"], &["V602"]),
        (&["b.ptx", "--costs", "--ignore", "V602", "--target", "sm_90"], &["V601", "V601"]),
        (&["b.ptx", "--costs", "--ignore", "V5"], &[]),
    ] {
        let run = concise(&folder, arguments);
        let found = codes(&run.stdout);
        let found: Vec<&str> = found.into_iter().filter(|it| it.starts_with("V6")).collect();
        assert_eq!((run.status, found), (0, expected.to_vec()), "{arguments:?}");
    }
    let statistics = ["check", "--costs", "--target", "sm_90", "--statistics", "b.ptx"];
    let run = vptx_in(&folder.0, &statistics, b"");
    assert!(run.stdout.contains("1  V602  unfused-instructions\n"), "{}", run.stdout);
    // A note does not count as a warning.
    let noted = ["a.ptx", "--costs", "--target", "sm_90", "--deny", "warnings"];
    assert_eq!(concise(&folder, &noted).status, 0);
    let fixed = concise(&folder, &["a.ptx", "--costs", "--target", "sm_90", "--fix"]);
    assert_eq!((fixed.status, fixed.stdout.as_str()), (0, ""));
    assert!(!folder.read("a.ptx").contains("vavrg4"), "{}", folder.read("a.ptx"));
    // The fix is unsafe, because older versions of ptxas fill the upper half in another way.
    let all = ["--costs", "--target", "sm_90", "--fix", "--unsafe-fixes", "--ignore", "V5"];
    assert_eq!(concise(&folder, &all).stdout, "");
    assert_eq!(folder.read("b.ptx"), "\nmax.u16x2 d, a, b;\n");
}

/// Costs depend on the target, which PTX names itself.
#[test]
fn costs_of_a_source_need_a_target() {
    let folder = Folder::new("check-costs-target");
    // ptxas makes one machine instruction of it on sm_90.
    let kept = "vabsdiff4.u32.u32.u32.add";
    folder.write(
        "k.ptx",
        format!(
            ".version 8.0\n.target sm_90\n.func f(.reg .b32 d, .reg .b32 a, .reg .b32 b)\n{{\n\
             {kept} d, a, b, d;\n}}\n"
        ),
    );
    let operands = r#""+r"(d) : "r"(a), "r"(b)"#;
    folder.write("k.cu", format!("asm(\"{kept} %0, %1, %2, %0;\" : {operands});\n"));
    let hint = "vptx: costs depend on the target; name one, such as --target sm_90\n";
    for (arguments, expected) in [
        (&["k.ptx"][..], ""),
        (&["k.cu"], hint),
        (&["k.cu", "--quiet"], ""),
        (&["k.cu", "--target", "sm_90"], ""),
        (&["k.cu", "--target", "sm_90,sm_100"], ""),
    ] {
        let run = vptx_in(&folder.0, &[&["check", "--costs"], arguments].concat(), b"");
        assert_eq!((run.status, run.stderr.as_str()), (0, expected), "{arguments:?}");
    }
}

/// A source may also be compiled for targets that lack the replacement's instructions.
#[test]
fn what_is_cheaper_in_a_source_is_written_for_all_its_targets() {
    let folder = Folder::new("targets");
    let source = "\
__device__ unsigned f(unsigned a, unsigned b, unsigned c) {
    unsigned d;
    asm(\"vmin2.u32.u32.u32 %0, %1, %2, %3;\" : \"=r\"(d) : \"r\"(a), \"r\"(b), \"r\"(c));
    return d;
}
";
    let fixed = |arguments: &[&str]| {
        folder.write("k.cu", source);
        let run = vptx_in(&folder.0, &[&["check", "--costs", "--fix"], arguments].concat(), b"");
        assert_eq!(run.status, 0, "{}", run.stderr);
        (folder.read("k.cu"), run.stdout)
    };
    // A single `--target` does not exclude that the source is compiled for other targets.
    for arguments in [&["--target", "sm_90", "k.cu"][..], &["k.cu"]] {
        assert_eq!(fixed(arguments).0, source, "{arguments:?}");
    }
    let hint = "list all of them, such as --target sm_75,sm_90, or --target sm_90,sm_90 for one\n";
    for (arguments, is_told) in [
        (&["--fix", "--target", "sm_90"][..], true),
        (&["--diff", "--target", "sm_90"], true),
        (&["--fix", "--quiet", "--target", "sm_90"], false),
        (&["--fix", "--format", "json", "--target", "sm_90"], false),
        (&["--fix", "--ignore", "V6", "--target", "sm_90"], false),
        (&["--target", "sm_90"], false),
        (&["--diff", "--target", "sm_90,sm_90"], false),
    ] {
        let run = vptx_in(&folder.0, &[&["check", "--costs", "k.cu"], arguments].concat(), b"");
        assert_eq!(run.stderr.ends_with(hint), is_told, "{arguments:?}: {}", run.stderr);
    }
    let shown = concise(&folder, &["--costs", "--target", "sm_90"]);
    assert!(shown.stdout.contains("on sm_90, and ordinary PTX needs"), "{}", shown.stdout);
    // `min.u16x2` exists since sm_90.
    let (text, said) = fixed(&["--target", "sm_90,sm_120", "k.cu"]);
    assert!(text.contains("min.u16x2"), "{said}{text}");
    for list in ["sm_75,sm_90", "sm_90,sm_75"] {
        let (text, said) = fixed(&["--target", list, "k.cu"]);
        assert!(!text.contains("u16x2"), "{said}{text}");
    }
    folder.write("vptx.toml", "[check]\ntarget = [\"sm_90\"]\n");
    assert!(fixed(&["--ptx-version", "8.0", "k.cu"]).0.contains("min.u16x2"));
    // The first compilers for sm_90 have PTX 7.8, which lacks `min.u16x2`.
    assert!(!fixed(&["k.cu"]).0.contains("min.u16x2"));
    folder.write("vptx.toml", "[check]\ntarget = []\n");
    let none = vptx_in(&folder.0, &["check", "k.cu"], b"");
    assert!(none.status == 2 && none.stderr.contains("is an empty list"), "{}", none.stderr);
    folder.write("vptx.toml", "");
    folder.write("k.cu", source);
    let old = concise(&folder, &["--target", "sm_90,sm_20,sm_75"]);
    assert_eq!((old.status, codes(&old.stdout)), (1, vec!["V301"]), "{}", old.stdout);
    let list = "sm_90,sm_20,sm_21";
    let text = vptx_in(&folder.0, &["check", "--target", list, "k.cu"], b"").stdout;
    assert!(text.contains("too old: sm_20, sm_21"), "{text}");
}

/// The replacement of an instruction is shown without the instruction's indentation.
#[test]
fn replacements_are_shown() {
    let text = "{\n\t\tvavrg4.u32.u32.u32 d, a, b, c;\n}\n";
    let run = vptx(&["check", "--costs", "--target", "sm_90", "--language", "ptx", "-"], text);
    let shown = run.stdout.split("help: ").nth(1).unwrap_or_default();
    assert!(
        shown.starts_with("an equivalent:\n        {\n            .reg .b32"),
        "{}",
        run.stdout
    );
    assert!(shown.contains("lop3.b32"), "{shown}");
}

#[test]
fn warnings_are_denied() {
    let folder = kinds("check-deny");
    for (file, status, denied) in [
        ("bad.ptx", 1, 1),
        ("differs.ptx", 0, 1),
        ("loose.ptx", 0, 1),
        // Notes do not become warnings.
        ("plain.ptx", 0, 0),
    ] {
        let arguments = [file, "--extend-select", "V408", "--deny", "warnings"];
        assert_eq!(concise(&folder, &arguments[..3]).status, status, "{file}");
        assert_eq!(concise(&folder, &arguments).status, denied, "{file}");
    }
    // `--deny` ignores a finding that was fixed.
    assert_eq!(concise(&folder, &["loose.ptx", "--deny", "warnings", "--fix"]).status, 0);
    let run = concise(&folder, &["--deny", "notes"]);
    assert_eq!(run.status, 2);
    assert!(run.stderr.contains("`warnings` stands for all warnings"), "{}", run.stderr);
}

#[test]
fn target_version_and_dialect() {
    let folder = Folder::new("check-target");
    folder.write(
        "a.ptx",
        ".version 3.0\n.target sm_20\n.func (.reg .b32 r) k() { vadd4.u32.u32.u32 r, r, r, r; }\n",
    );
    folder.write("b.ptx", "vadd.u32.u32.u32 d, -a, -b;\n");
    for (arguments, expected) in [
        (&["a.ptx"][..], &["V301"][..]),
        (&["a.ptx", "--target", "sm_30"], &[]),
        (&["a.ptx", "--target", "sm_90a"], &[]),
        (&["a.ptx", "--target", "sm_30", "--ptx-version", "2.0"], &["V302"]),
        (&["b.ptx"], &["V212"]),
        (&["b.ptx", "--dialect", "documented"], &["V212"]),
        (&["b.ptx", "--dialect", "ptxas"], &[]),
    ] {
        assert_eq!(codes(&concise(&folder, arguments).stdout), expected, "{arguments:?}");
    }
    for (option, value, said) in [
        ("--target", "90", "`90` is no target; a target looks like `sm_90`"),
        ("--ptx-version", "8", "`8` is no PTX version; a version looks like `8.5`"),
        ("--dialect", "ptax", "a similar value exists: 'ptxas'"),
        (
            "--format",
            "xml",
            "[possible values: human, concise, json, sarif, github, junit, gitlab]",
        ),
        ("--color", "often", "[possible values: auto, always, never]"),
    ] {
        let run = vptx_in(&folder.0, &["check", option, value], b"");
        assert_eq!((run.status, run.stdout.as_str()), (2, ""), "{option}");
        assert!(run.stderr.contains(said), "{}", run.stderr);
    }
}

// Reports.

#[test]
fn findings_and_a_summary() {
    let folder = Folder::new("check-human");
    folder.write("a.ptx", format!("{BAD}{LOOSE}"));
    folder.write("k.cu", KERNEL);
    let run = vptx_in(&folder.0, &["check"], b"");
    insta::assert_snapshot!(run.transcript(), @r#"
    status: 1
    -- stdout --
    error[V104] missing-type

      × `vadd` needs 3 types, found 2
       ╭─[a.ptx:1:5]
     1 │ vadd.u32.u32 d, a, b;
       ·     ────┬───
       ·         ╰── expected types for d, a and b
       ╰────
      help: the syntax is `vadd.dtype.atype.btype{.sat}  d, a{.asel}, b{.bsel};`

    warning[V403] ignored-third-operand

      ⚠ the third source is ignored without secondary operation or destination
      │ selector
       ╭─[a.ptx:2:27]
     2 │ vadd.s32.s32.s32 d, a, b, c;
       ·                           ┬
       ·                           ╰── has no effect
       ╰────
      help: remove it, or say what to do with it: `.add`, `.min`, `.max`, or a
            selector on `d`
            fix: remove it

    warning[V403] ignored-third-operand

      ⚠ the third source is ignored without secondary operation or destination
      │ selector
       ╭─[k.cu:4:39]
     4 │     asm("vadd.s32.s32.s32 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c));
       ·                                       ─┬
       ·                                        ╰── has no effect
       ╰────
      help: remove it, or say what to do with it: `.add`, `.min`, `.max`, or a
            selector on `%0`
            fix: remove it

    error[V104] missing-type

      × `vadd` needs 3 types, found 2
       ╭─[k.cu:6:14]
     6 │         "vadd.u32.u32 %0, %1, %2;\n\t"
       ·              ────┬───
       ·                  ╰── expected types for d, a and b
       ╰────
      help: the syntax is `vadd.dtype.atype.btype{.sat}  d, a{.asel}, b{.bsel};`

    error[V701] missing-asm-operand

      × the `asm` has no operand `%3`
       ╭─[k.cu:8:35]
     8 │     asm("vmin.u32.u32.u32 %0, %1, %3;" : "=r"(d) : "r"(a), "r"(b));
       ·                                   ─┬
       ·                                    ╰── no such operand
       ╰────
      help: the `asm` has 3 operands, numbered from 0; outputs come first

    3 errors and 2 warnings in 5 video instructions of 2 files
    2 fixable with --fix
    -- stderr --
    "#);
    let quiet = vptx_in(&folder.0, &["check", "--quiet"], b"");
    let summary =
        "3 errors and 2 warnings in 5 video instructions of 2 files\n2 fixable with --fix\n";
    assert_eq!(run.stdout, format!("{}{summary}", quiet.stdout));
    assert_eq!((quiet.status, quiet.stderr.as_str()), (1, ""));
}

#[test]
fn nothing_found() {
    let folder = Folder::new("check-nothing");
    folder.write("a.ptx", GOOD);
    folder.write("empty.ptx", "");
    folder.write("k.cu", "int x;\n");
    let run = vptx_in(&folder.0, &["check"], b"");
    insta::assert_snapshot!(run.transcript(), @r"
    status: 0
    -- stdout --
    nothing found in 1 video instruction of 3 files
    -- stderr --
    ");
    for arguments in [
        &["--quiet"][..],
        &["--format", "concise"],
        &["--format", "json"],
        &["--format", "github"],
        &["--statistics", "--quiet"],
        &["--diff", "--quiet"],
        &["--fix", "--quiet"],
    ] {
        let run = vptx_in(&folder.0, &[&["check"], arguments].concat(), b"");
        assert_eq!((run.status, run.stdout.as_str(), run.stderr.as_str()), (0, "", ""));
    }
}

#[test]
fn formats_report_the_same_findings() {
    let folder = kinds("check-formats");
    folder.write("k.cu", KERNEL);
    let arguments = ["check", "--extend-select", "V408", "--format"];
    let report = |format| {
        let run = vptx_in(&folder.0, &[&arguments[..], &[format]].concat(), b"");
        assert_eq!((run.status, run.stderr.as_str()), (1, ""), "{format}");
        run.stdout
    };
    insta::assert_snapshot!(report("concise"), @r"
    bad.ptx:1:5: error[V104]: `vadd` needs 3 types, found 2
    differs.ptx:1:1: warning[V501]: the code of ptxas can give another result than the manual (C2)
    k.cu:4:39: warning[V403]: the third source is ignored without secondary operation or destination selector
    k.cu:6:14: error[V104]: `vadd` needs 3 types, found 2
    k.cu:8:35: error[V701]: the `asm` has no operand `%3`
    loose.ptx:1:27: warning[V403]: the third source is ignored without secondary operation or destination selector
    plain.ptx:1:20: note[V408]: `.h10` is the default
    ");
    insta::assert_snapshot!(report("github"), @r"
    ::error file=bad.ptx,line=1,endLine=1,col=5,endColumn=13,title=V104 missing-type::`vadd` needs 3 types, found 2%0Athe syntax is `vadd.dtype.atype.btype{.sat}  d, a{.asel}, b{.bsel};`
    ::warning file=differs.ptx,line=1,endLine=1,col=1,endColumn=21,title=V501 result-differs::the code of ptxas can give another result than the manual (C2)%0Aa=0x00000001, b=0xffffffff%0A→ manual 0xffffffff, ptxas 13 0x00000000%0AC2: `.sat` to an unsigned word has no upper limit
    ::warning file=k.cu,line=4,endLine=4,col=39,endColumn=41,title=V403 ignored-third-operand::the third source is ignored without secondary operation or destination selector%0Aremove it, or say what to do with it: `.add`, `.min`, `.max`, or a selector on `%250`
    ::error file=k.cu,line=6,endLine=6,col=14,endColumn=22,title=V104 missing-type::`vadd` needs 3 types, found 2%0Athe syntax is `vadd.dtype.atype.btype{.sat}  d, a{.asel}, b{.bsel};`
    ::error file=k.cu,line=8,endLine=8,col=35,endColumn=37,title=V701 missing-asm-operand::the `asm` has no operand `%253`%0Athe `asm` has 3 operands, numbered from 0; outputs come first
    ::warning file=loose.ptx,line=1,endLine=1,col=27,endColumn=28,title=V403 ignored-third-operand::the third source is ignored without secondary operation or destination selector%0Aremove it, or say what to do with it: `.add`, `.min`, `.max`, or a selector on `d`
    ::notice file=plain.ptx,line=1,endLine=1,col=20,endColumn=24,title=V408 explicit-default::`.h10` is the default
    ");
    insta::assert_snapshot!(report("junit"), @r#"
    <?xml version="1.0" encoding="UTF-8"?>
    <testsuites name="vptx">
    <testsuite name="bad.ptx" tests="1" failures="1" errors="0" skipped="0">
      <testcase name="V104 missing-type 1:5" classname="bad.ptx">
        <failure type="error" message="`vadd` needs 3 types, found 2">bad.ptx:1:5: error[V104]: `vadd` needs 3 types, found 2
    the syntax is `vadd.dtype.atype.btype{.sat}  d, a{.asel}, b{.bsel};`</failure>
      </testcase>
    </testsuite>
    <testsuite name="differs.ptx" tests="1" failures="0" errors="0" skipped="0">
      <testcase name="V501 result-differs 1:1" classname="differs.ptx">
        <system-out>differs.ptx:1:1: warning[V501]: the code of ptxas can give another result than the manual (C2)
    a=0x00000001, b=0xffffffff
    → manual 0xffffffff, ptxas 13 0x00000000
    C2: `.sat` to an unsigned word has no upper limit</system-out>
      </testcase>
    </testsuite>
    <testsuite name="k.cu" tests="3" failures="2" errors="0" skipped="0">
      <testcase name="V403 ignored-third-operand 4:39" classname="k.cu">
        <system-out>k.cu:4:39: warning[V403]: the third source is ignored without secondary operation or destination selector
    remove it, or say what to do with it: `.add`, `.min`, `.max`, or a selector on `%0`</system-out>
      </testcase>
      <testcase name="V104 missing-type 6:14" classname="k.cu">
        <failure type="error" message="`vadd` needs 3 types, found 2">k.cu:6:14: error[V104]: `vadd` needs 3 types, found 2
    the syntax is `vadd.dtype.atype.btype{.sat}  d, a{.asel}, b{.bsel};`</failure>
      </testcase>
      <testcase name="V701 missing-asm-operand 8:35" classname="k.cu">
        <failure type="error" message="the `asm` has no operand `%3`">k.cu:8:35: error[V701]: the `asm` has no operand `%3`
    the `asm` has 3 operands, numbered from 0; outputs come first</failure>
      </testcase>
    </testsuite>
    <testsuite name="loose.ptx" tests="1" failures="0" errors="0" skipped="0">
      <testcase name="V403 ignored-third-operand 1:27" classname="loose.ptx">
        <system-out>loose.ptx:1:27: warning[V403]: the third source is ignored without secondary operation or destination selector
    remove it, or say what to do with it: `.add`, `.min`, `.max`, or a selector on `d`</system-out>
      </testcase>
    </testsuite>
    <testsuite name="plain.ptx" tests="1" failures="0" errors="0" skipped="0">
      <testcase name="V408 explicit-default 1:20" classname="plain.ptx">
        <system-out>plain.ptx:1:20: note[V408]: `.h10` is the default</system-out>
      </testcase>
    </testsuite>
    </testsuites>
    "#);
    let value = |text: &str| -> serde_json::Value { serde_json::from_str(text).expect(text) };
    let json: Vec<String> = report("json")
        .lines()
        .map(value)
        .map(|record| {
            let place = &record["start"];
            format!(
                "{}:{}:{}: {}[{}]: {}",
                record["path"].as_str().unwrap(),
                place["line"],
                place["column"],
                record["severity"].as_str().unwrap(),
                record["code"].as_str().unwrap(),
                record["message"].as_str().unwrap()
            )
        })
        .collect();
    assert_eq!(json, report("concise").lines().collect::<Vec<_>>());
    let sarif = value(&report("sarif"));
    let results = sarif["runs"][0]["results"].as_array().expect("results");
    let found: Vec<&str> = results.iter().map(|one| one["ruleId"].as_str().unwrap()).collect();
    assert_eq!(found, codes(&report("concise")));
}

#[test]
fn statistics() {
    let folder = kinds("check-statistics");
    folder.write("k.cu", KERNEL);
    let run = vptx_in(&folder.0, &["check", "--statistics"], b"");
    insta::assert_snapshot!(run.transcript(), @"
    status: 1
    -- stdout --
    2  V104  missing-type
    2  V403  ignored-third-operand
    1  V501  result-differs
    1  V701  missing-asm-operand
    3 errors and 3 warnings in 7 video instructions of 5 files
    2 fixable with --fix
    -- stderr --
    ");
    let quiet = vptx_in(&folder.0, &["check", "--statistics", "-q", "differs.ptx"], b"");
    assert_eq!((quiet.status, quiet.stdout.as_str()), (0, "1  V501  result-differs\n"));
    folder.write("many.ptx", "vadd.s32.s32 d, a, b;\n".repeat(10) + "vadd4.u32.u32.u32 d, a;\n");
    let many = vptx_in(&folder.0, &["check", "--statistics", "-q", "many.ptx"], b"");
    assert_eq!(many.stdout, "10  V104  missing-type\n 1  V201  missing-operand\n");
}

#[test]
fn colours() {
    let folder = kinds("check-colours");
    folder.write("empty.ptx", "");
    let always = ["check", "--color", "always"];
    let of = |arguments: &[&str], variables: &[(&str, &str)]| {
        with_variables(&folder.0, arguments, variables).contains('\x1b')
    };
    assert!(!of(&["check"], &[]), "not into a pipe");
    assert!(of(&always, &[]));
    assert!(of(&always, &[("NO_COLOR", "1")]), "an option counts for more");
    assert!(of(&["check"], &[("CLICOLOR_FORCE", "1")]));
    assert!(!of(&["check"], &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]));
    assert!(!of(&["check", "--color", "never"], &[("CLICOLOR_FORCE", "1")]));
    assert!(of(&["check", "--color", "always", "--diff"], &[]));
    for format in ["json", "sarif", "github", "junit"] {
        let arguments = ["check", "--color", "always", "--format", format];
        assert!(!of(&arguments, &[]), "{format} is read by programs");
    }
}

#[test]
fn reports_fit_the_terminal() {
    let folder = Folder::new("check-columns");
    folder.write("a.ptx", format!("{DIFFERS}{LOOSE}"));
    for columns in ["60", "120"] {
        let text = with_variables(&folder.0, &["check"], &[("COLUMNS", columns)]);
        let width = columns.parse().unwrap();
        assert!(text.lines().all(|line| line.chars().count() <= width), "{text}");
        insta::assert_snapshot!(format!("columns-{columns}"), text);
        let help = with_variables(&folder.0, &["check", "-h"], &[("COLUMNS", columns)]);
        assert!(help.lines().all(|line| line.chars().count() <= width), "{help}");
    }
    // The program ignores an impossible width.
    let usual = with_variables(&folder.0, &["check"], &[]);
    for columns in ["", "wide"] {
        assert_eq!(with_variables(&folder.0, &["check"], &[("COLUMNS", columns)]), usual);
    }
    // A report has at least 40 columns, and at most 160.
    let of = |columns: &str| with_variables(&folder.0, &["check"], &[("COLUMNS", columns)]);
    assert_eq!([of("0"), of("39")], [of("40"), of("40")]);
    assert_eq!([of("161"), of("9999")], [of("160"), of("160")]);
}

#[test]
fn a_reader_may_leave() {
    let folder = Folder::new("check-pipe");
    folder.write("a.ptx", BAD.repeat(5000));
    for format in ["human", "concise", "json", "sarif", "github", "junit"] {
        let mut child = start(&folder.0, &["check", "--format", format, "a.ptx"]);
        let mut output = child.stdout.take().expect("a pipe");
        output.read_exact(&mut [0; 10]).expect("a beginning");
        drop(output);
        let output = child.wait_with_output().expect("the program ends");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{format}");
        assert!(output.status.code().is_some_and(|code| code < 2), "{format}: {output:?}");
    }
}

#[test]
fn every_run_and_any_number_of_threads_report_the_same() {
    let folder = Path::new(ROOT).join("fixtures");
    for format in ["concise", "json", "sarif", "junit", "human"] {
        let arguments = ["check", "--extend-select", "ALL", "--format", format];
        let one = with_variables(&folder, &arguments, &[("RAYON_NUM_THREADS", "1")]);
        assert!(one.len() > 10_000, "{format}");
        for threads in ["1", "8", "8", "3"] {
            let again = with_variables(&folder, &arguments, &[("RAYON_NUM_THREADS", threads)]);
            assert!(again == one, "{format} with {threads} threads differs");
        }
    }
}

#[test]
fn the_table_of_rules_is_that_of_the_document() {
    let run = vptx(&["explain", "--all"], "");
    assert_eq!((run.status, run.stderr.as_str()), (0, ""));
    assert!(run.stdout.starts_with("| code | name |"), "{}", run.stdout);
    let document = fs::read_to_string(Path::new(ROOT).join("docs/rules.md")).expect("a document");
    assert!(document.ends_with(&run.stdout));
    // The program can select and explain every rule in the list.
    for line in run.stdout.lines().skip(2) {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let [_, code, name, ..] = cells[..] else { panic!("{line}") };
        for selector in [code, name] {
            assert_eq!(vptx(&["check", "--select", selector, "-"], GOOD).status, 0, "{selector}");
        }
    }
}

// Fixes.

#[test]
fn safe_fixes_are_made() {
    let folder = kinds("check-fix");
    folder.write("wide.ptx", format!("{WIDE}{LOOSE}"));
    folder.write("k.cu", KERNEL);
    let run = vptx_in(&folder.0, &["check", "--fix", "--select", "V1,V4", "--quiet"], b"");
    insta::assert_snapshot!(run.transcript(), @r#"
    status: 1
    -- stdout --
    error[V104] missing-type

      × `vadd` needs 3 types, found 2
       ╭─[bad.ptx:1:5]
     1 │ vadd.u32.u32 d, a, b;
       ·     ────┬───
       ·         ╰── expected types for d, a and b
       ╰────
      help: the syntax is `vadd.dtype.atype.btype{.sat}  d, a{.asel}, b{.bsel};`

    error[V104] missing-type

      × `vadd` needs 3 types, found 2
       ╭─[k.cu:6:14]
     6 │         "vadd.u32.u32 %0, %1, %2;\n\t"
       ·              ────┬───
       ·                  ╰── expected types for d, a and b
       ╰────
      help: the syntax is `vadd.dtype.atype.btype{.sat}  d, a{.asel}, b{.bsel};`

    error[V106] wrong-type

      × `.u64` is not a type of video instructions
       ╭─[wide.ptx:1:13]
     1 │ vadd.u32.u32.u64 d, a, b;
       ·             ──┬─
       ·               ╰── the type of b: expected `.u32` or `.s32`
       ╰────
      help: the type says signed or unsigned only; selectors such as `.b0` or
            `.h1` on the operands choose bytes and half-words

    -- stderr --
    "#);
    let fixed = "vadd.s32.s32.s32 d, a, b;\n";
    assert_eq!(folder.read("loose.ptx"), fixed);
    assert_eq!(folder.read("wide.ptx"), format!("{WIDE}{fixed}"));
    assert_eq!(folder.read("plain.ptx"), "vmax2.s32.s32.s32 d, a, b, b;\n");
    assert_eq!(folder.read("k.cu"), KERNEL.replacen("%2, %3;", "%2;", 1));
    assert_eq!(folder.read("bad.ptx"), BAD);
    // No temporary file stays, and a second run fixes nothing.
    assert_eq!(fs::read_dir(&folder.0).unwrap().count(), 6);
    let again = concise(&folder, &["--fix"]);
    assert_eq!(codes(&again.stdout), ["V104", "V501", "V104", "V701", "V106"]);
}

#[test]
fn unsafe_fixes_are_made_if_asked_for() {
    let folder = Folder::new("check-unsafe");
    folder.write("a.ptx", format!("{WIDE}{LOOSE}"));
    let alone = concise(&folder, &["--unsafe-fixes"]);
    assert_eq!(
        (alone.status, alone.stdout.as_str(), alone.stderr.as_str()),
        (2, "", "vptx: --unsafe-fixes needs --fix or --diff\n")
    );
    let run = vptx_in(&folder.0, &["check", "--fix", "--unsafe-fixes"], b"");
    assert_eq!((run.status, run.stderr.as_str()), (0, ""));
    assert!(run.stdout.starts_with("2 findings fixed"), "{}", run.stdout);
    assert_eq!(folder.read("a.ptx"), "vadd.u32.u32.u32 d, a, b;\nvadd.s32.s32.s32 d, a, b;\n");
}

#[test]
fn only_reported_findings_are_fixed() {
    let folder = Folder::new("check-fix-selected");
    let both = format!("{LOOSE}{PLAIN}");
    folder.write("a.ptx", &both);
    for arguments in [&["--fix", "--ignore", "V403"][..], &["--fix", "--select", "V1"]] {
        assert_eq!(concise(&folder, arguments).stdout, "");
        assert_eq!(folder.read("a.ptx"), both);
    }
    // Suppressed findings are not fixed.
    let suppressed = LOOSE.replace('\n', " // vptx: ignore[V403] for later\n");
    folder.write("a.ptx", &suppressed);
    assert_eq!(concise(&folder, &["--fix"]).stdout, "");
    assert_eq!(folder.read("a.ptx"), suppressed);
}

#[test]
fn a_diff_is_shown_and_nothing_written() {
    let folder = kinds("check-diff");
    folder.write("k.cu", KERNEL);
    folder.write("wide.ptx", WIDE);
    let run = vptx_in(&folder.0, &["check", "--diff", "--quiet"], b"");
    insta::assert_snapshot!(run.transcript(), @r#"
    status: 1
    -- stdout --
    --- k.cu
    +++ k.cu
    @@ -1,7 +1,7 @@
     __device__ unsigned sums(unsigned a, unsigned b, unsigned c)
     {
         unsigned d;
    -    asm("vadd.s32.s32.s32 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c));
    +    asm("vadd.s32.s32.s32 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b), "r"(c));
         asm volatile("{\n\t"
             "vadd.u32.u32 %0, %1, %2;\n\t"
             "}" : "=r"(d) : "r"(a), "r"(b));
    --- loose.ptx
    +++ loose.ptx
    @@ -1 +1 @@
    -vadd.s32.s32.s32 d, a, b, c;
    +vadd.s32.s32.s32 d, a, b;
    -- stderr --
    "#);
    let both = vptx_in(&folder.0, &["check", "--diff", "--fix", "--quiet"], b"");
    assert_eq!((both.status, both.stdout), (1, run.stdout));
    let more = ["check", "--diff", "--unsafe-fixes", "-q", "wide.ptx"];
    insta::assert_snapshot!(vptx_in(&folder.0, &more, b"").transcript(), @r"
    status: 1
    -- stdout --
    --- wide.ptx
    +++ wide.ptx
    @@ -1 +1 @@
    -vadd.u32.u32.u64 d, a, b;
    +vadd.u32.u32.u32 d, a, b;
    -- stderr --
    ");
    assert_eq!(vptx_in(&folder.0, &["check", "--diff", "-q", "differs.ptx"], b"").status, 0);
    assert_eq!(folder.read("loose.ptx"), LOOSE);
    assert_eq!(folder.read("k.cu"), KERNEL);
    assert_eq!(folder.read("wide.ptx"), WIDE);
    let run = vptx_in(&folder.0, &["check", "--diff", "-q", "-"], LOOSE.as_bytes());
    insta::assert_snapshot!(run.transcript(), @r"
    status: 1
    -- stdout --
    --- <stdin>
    +++ <stdin>
    @@ -1 +1 @@
    -vadd.s32.s32.s32 d, a, b, c;
    +vadd.s32.s32.s32 d, a, b;
    -- stderr --
    ");
}

#[test]
fn standard_input_is_fixed_to_standard_output() {
    let folder = Folder::new("check-filter");
    let run = filter(&folder, &["--fix", "-"], format!("{WIDE}{LOOSE}").as_bytes());
    insta::assert_snapshot!(run.transcript(), @r"
    status: 1
    -- stdout --
    vadd.u32.u32.u64 d, a, b;
    vadd.s32.s32.s32 d, a, b;
    -- stderr --
    <stdin>:1:13: error[V106]: `.u64` is not a type of video instructions
    ");
    let arguments = ["check", "--fix", "-"];
    let run = vptx_in(&folder.0, &arguments, format!("{BAD}{LOOSE}").as_bytes());
    assert_eq!((run.status, run.stdout), (1, format!("{BAD}vadd.s32.s32.s32 d, a, b;\n")));
    assert!(run.stderr.starts_with("error[V104] missing-type\n"), "{}", run.stderr);
    assert!(run.stderr.contains("\n1 finding fixed"), "{}", run.stderr);
    // A text without findings is written unchanged.
    for text in [GOOD, "", "  ret ;  // no line end", "ret;\r\n\r\n", "// \x1b[31mred\x1b[0m\n"] {
        let run = filter(&folder, &["--fix", "-q", "-"], text.as_bytes());
        assert_eq!((run.status, run.stdout.as_str(), run.stderr.as_str()), (0, text, ""));
    }
    // A text that cannot be read is written unchanged, too.
    let run = filter(&folder, &["--fix", "-"], b"\x7fELF\x02\x01\x01\0\0");
    assert_eq!((run.status, run.stdout.as_str()), (1, "\x7fELF\x02\x01\x01\0\0"));
    assert_eq!(codes(&run.stderr), ["V008"]);
}

#[test]
fn what_needs_no_fix_is_not_written() {
    let folder = kinds("check-untouched");
    let old = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    for name in ["bad.ptx", "differs.ptx", "loose.ptx"] {
        let file = fs::File::options().write(true).open(folder.0.join(name)).expect(name);
        file.set_modified(old).expect("a time");
    }
    let modified = |name| fs::metadata(folder.0.join(name)).unwrap().modified().unwrap();
    concise(&folder, &["--diff", "--unsafe-fixes"]);
    assert_eq!(modified("loose.ptx"), old);
    concise(&folder, &["--fix", "--unsafe-fixes"]);
    assert_eq!(modified("bad.ptx"), old);
    assert_eq!(modified("differs.ptx"), old);
    assert!(modified("loose.ptx") > old);
}

/// The number of errors in each file of a folder, whatever the rule.
fn errors(folder: &Folder) -> BTreeMap<String, usize> {
    let run = concise(folder, &["--extend-select", "ALL"]);
    let mut errors = BTreeMap::new();
    for line in run.stdout.lines().filter(|line| line.contains(": error[")) {
        *errors.entry(line.split(':').next().unwrap().to_string()).or_default() += 1;
    }
    errors
}

/// The bytes of each file of a folder.
fn contents(folder: &Folder) -> BTreeMap<String, Vec<u8>> {
    fs::read_dir(&folder.0)
        .expect("a folder")
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .map(|name| (name.clone(), bytes(folder, &name)))
        .collect()
}

#[test]
fn fixes_settle_and_add_no_errors() {
    for (name, arguments) in [
        ("check-settle-safe", &["--fix"][..]),
        ("check-settle-unsafe", &["--fix", "--unsafe-fixes"]),
        ("check-settle-all", &["--fix", "--extend-select", "ALL"]),
        ("check-settle-most", &["--fix", "--unsafe-fixes", "--extend-select", "ALL"]),
        ("check-settle-ptxas", &["--fix", "--unsafe-fixes", "--dialect", "ptxas"]),
    ] {
        let folder = Folder::new(name);
        for entry in fs::read_dir(Path::new(ROOT).join("fixtures/diagnostics")).unwrap() {
            let entry = entry.unwrap();
            fs::copy(entry.path(), folder.0.join(entry.file_name())).expect("a copy");
        }
        let before = (errors(&folder), contents(&folder));
        let first = concise(&folder, arguments);
        assert_eq!((first.status, first.stderr.as_str()), (1, ""), "{name}");
        let after = (errors(&folder), contents(&folder));
        assert_ne!(before.1, after.1, "{name}");
        for (file, count) in &after.0 {
            let had = before.0.get(file).copied().unwrap_or(0);
            assert!(*count <= had, "{name}: {file} had {had} errors and has {count}");
        }
        // Unsafe fixes may need several runs, since a user looks at each result first.
        let guesses = arguments.contains(&"--unsafe-fixes");
        let mut last = (first, after.1);
        for runs in 1.. {
            let run = concise(&folder, arguments);
            let now = contents(&folder);
            if now == last.1 {
                assert_eq!(run.stdout, last.0.stdout, "{name}");
                break;
            }
            assert!(guesses && runs < 6, "{name}: it changed again");
            last = (run, now);
        }
    }
}

#[cfg(unix)]
#[test]
fn links_and_permissions_stay() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let folder = Folder::new("check-links");
    folder.write("real/a.ptx", LOOSE);
    let real = folder.0.join("real/a.ptx");
    fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
    symlink("real/a.ptx", folder.0.join("link.ptx")).unwrap();
    let run = concise(&folder, &["--fix", "link.ptx"]);
    assert_eq!((run.status, run.stdout.as_str(), run.stderr.as_str()), (0, "", ""));
    assert!(folder.0.join("link.ptx").symlink_metadata().unwrap().is_symlink());
    assert_eq!(folder.read("real/a.ptx"), "vadd.s32.s32.s32 d, a, b;\n");
    assert_eq!(fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o640);

    folder.write("fixed.ptx", LOOSE);
    let fixed = folder.0.join("fixed.ptx");
    fs::set_permissions(&fixed, fs::Permissions::from_mode(0o444)).unwrap();
    let run = concise(&folder, &["--fix", "fixed.ptx"]);
    assert_eq!(
        (run.status, run.stderr.as_str()),
        (2, "vptx: cannot write `fixed.ptx`: the file is read-only\n")
    );
    assert_eq!(folder.read("fixed.ptx"), LOOSE);
    // A read-only file is no problem for `--diff`, and for `--fix` if there is nothing to fix.
    assert_eq!(concise(&folder, &["--diff", "fixed.ptx"]).status, 1);
    folder.write("good.ptx", GOOD);
    fs::set_permissions(folder.0.join("good.ptx"), fs::Permissions::from_mode(0o444)).unwrap();
    assert_eq!(concise(&folder, &["--fix", "good.ptx"]).status, 0);
}

#[test]
fn other_bytes_and_line_ends_stay() {
    let folder = Folder::new("check-bytes");
    let latin = b"// caf\xe9 \xff\xfe\nvadd.s32.s32.s32 d, a, b, c; // \xe9\n";
    folder.write("a.ptx", latin);
    folder.write("b.ptx", "\tret ;\r\nvadd.s32.s32.s32 d, a, b, c;\r\n\r\n");
    folder.write("c.ptx", LOOSE.trim_end());
    let source = b"// \xe9\nvoid f(int a, int d) {\r\n\
        asm(\"vadd.s32.s32.s32 %0, %1, %1, %1; // \xe9\" : \"=r\"(d) : \"r\"(a)); }";
    folder.write("k.cu", source);
    let places = concise(&folder, &[]);
    insta::assert_snapshot!(places.transcript(), @r"
    status: 0
    -- stdout --
    a.ptx:2:27: warning[V403]: the third source is ignored without secondary operation or destination selector
    b.ptx:2:27: warning[V403]: the third source is ignored without secondary operation or destination selector
    c.ptx:1:27: warning[V403]: the third source is ignored without secondary operation or destination selector
    k.cu:3:35: warning[V403]: the third source is ignored without secondary operation or destination selector
    -- stderr --
    ");
    let run = concise(&folder, &["--fix"]);
    assert_eq!((run.status, run.stdout.as_str(), run.stderr.as_str()), (0, "", ""));
    assert_eq!(
        bytes(&folder, "a.ptx"),
        b"// caf\xe9 \xff\xfe\nvadd.s32.s32.s32 d, a, b; // \xe9\n"
    );
    assert_eq!(folder.read("b.ptx"), "\tret ;\r\nvadd.s32.s32.s32 d, a, b;\r\n\r\n");
    assert_eq!(folder.read("c.ptx"), "vadd.s32.s32.s32 d, a, b;");
    assert_eq!(
        bytes(&folder, "k.cu"),
        b"// \xe9\nvoid f(int a, int d) {\r\n\
          asm(\"vadd.s32.s32.s32 %0, %1, %1; // \xe9\" : \"=r\"(d) : \"r\"(a)); }"
    );
}

// Comments.

#[test]
fn comments_suppress() {
    let folder = Folder::new("check-suppress");
    folder.write(
        "a.ptx",
        "// vptx: ignore-file[V403] generated\n\
         vadd.s32.s32.s32 d, a, b, c;\n\
         vadd.u32.u32 d, a, b; // vptx: ignore[V104] known\n\
         vadd.u32.u32 d, a, b; /* vptx: ignore[missing-type] */\n\
         // vptx: ignore[V1]\n\
         vadd.u32.u32 d, a, b;\n\
         vadd.u32.u32 d, a, b;\n\
         vadd.u32.u32.u32.sat d, a, b, c; // vptx: ignore\n\
         vadd.u32.u32.u32.sat d, a, b, c; // vptx: ignore[V403, V501] both\n",
    );
    let run = concise(&folder, &[]);
    assert_eq!(
        (run.status, run.stdout.as_str()),
        (1, "a.ptx:7:5: error[V104]: `vadd` needs 3 types, found 2\n")
    );
    folder.write(
        "k.cu",
        KERNEL
            .replace("(c));\n", "(c)); // vptx: ignore[V403] harmless\n")
            .replace("        \"vadd", "        // vptx: ignore[V104] above a part\n        \"vadd")
            .replace("    return", "    return /* vptx: ignore[V701] not here */"),
    );
    let run = concise(&folder, &["k.cu"]);
    insta::assert_snapshot!(run.transcript(), @r"
    status: 1
    -- stdout --
    k.cu:9:35: error[V701]: the `asm` has no operand `%3`
    k.cu:10:28: warning[V801]: `V701` is not reported here
    -- stderr --
    ");
}

#[test]
fn comments_that_do_nothing_are_found() {
    let folder = Folder::new("check-unused");
    let text = "vadd.u32.u32.u32 d, a, b; // vptx: ignore[V104] no more\n\
        // vptx: ignore[V501, V403]\n\
        vadd.u32.u32.u32.sat d, a, b;\n\
        vadd.u32.u32.u32.sat d, a, b; // vptx: ignore[V999]\n\
        vadd.u32.u32.u32.sat d, a, b; // vptx: ignore[resultdiffers]\n\
        vadd.u32.u32.u32.sat d, a, b; // vptx: ingore[V501]\n\
        // vptx: ignore-file[V701]\n";
    folder.write("a.ptx", text);
    let run = concise(&folder, &[]);
    insta::assert_snapshot!(run.transcript(), @r"
    status: 0
    -- stdout --
    a.ptx:1:43: warning[V801]: `V104` is not reported here
    a.ptx:2:23: warning[V801]: `V403` is not reported here
    a.ptx:4:1: warning[V501]: the code of ptxas can give another result than the manual (C2)
    a.ptx:4:47: warning[V802]: `V999` selects no rule; did you mean `V909`?
    a.ptx:5:1: warning[V501]: the code of ptxas can give another result than the manual (C2)
    a.ptx:5:47: warning[V802]: `resultdiffers` selects no rule; did you mean `result-differs`?
    a.ptx:6:1: warning[V501]: the code of ptxas can give another result than the manual (C2)
    a.ptx:6:40: warning[V802]: vptx does not know `vptx: ingore`
    a.ptx:7:22: warning[V801]: `V701` is not reported here
    -- stderr --
    ");
    // V801 says nothing about comments for rules that are not selected.
    assert_eq!(codes(&concise(&folder, &["--select", "V801"]).stdout), ["V801"; 0]);
    assert_eq!(concise(&folder, &["--ignore", "V5,V8"]).stdout, "");
    concise(&folder, &["--fix"]);
    insta::assert_snapshot!(folder.read("a.ptx"), @r"
    vadd.u32.u32.u32 d, a, b;
    // vptx: ignore[V501]
    vadd.u32.u32.u32.sat d, a, b;
    vadd.u32.u32.u32.sat d, a, b; // vptx: ignore[V999]
    vadd.u32.u32.u32.sat d, a, b; // vptx: ignore[resultdiffers]
    vadd.u32.u32.u32.sat d, a, b; // vptx: ingore[V501]
    ");
    folder.write("k.cu", "int x; // vptx: ignore[V104]\n// vptx: ignore\nint y;\n");
    let run = concise(&folder, &["--fix", "k.cu"]);
    assert_eq!((run.status, run.stdout.as_str()), (0, ""));
    assert_eq!(folder.read("k.cu"), "int x;\nint y;\n");
}

// Baselines.

#[test]
fn a_baseline_hides_what_is_known() {
    let folder = Folder::new("check-baseline");
    folder.write("a.ptx", format!("{BAD}{LOOSE}"));
    folder.write("sub/k.cu", KERNEL);
    let made = concise(&folder, &["--baseline", "known.json", "--update-baseline"]);
    insta::assert_snapshot!(made.transcript(), @r"
    status: 0
    -- stdout --
    -- stderr --
    the baseline has 5 findings
    ");
    insta::assert_snapshot!("baseline", folder.read("known.json"));
    let known = ["--baseline", "known.json"];
    let run = concise(&folder, &known);
    assert_eq!((run.status, run.stdout.as_str(), run.stderr.as_str()), (0, "", ""));

    // Known findings stay known when their lines move, but further findings of the same kind are
    // new.
    folder.write("a.ptx", format!("// Moved.\n\n{LOOSE}\n{BAD}{BAD}{DIFFERS}"));
    let run = concise(&folder, &known);
    insta::assert_snapshot!(run.transcript(), @r"
    status: 1
    -- stdout --
    a.ptx:6:5: error[V104]: `vadd` needs 3 types, found 2
    a.ptx:7:1: warning[V501]: the code of ptxas can give another result than the manual (C2)
    -- stderr --
    ");
    for (format, places) in [("json", 2), ("github", 2), ("junit", 2), ("sarif", 2)] {
        let arguments = ["check", "--baseline", "known.json", "--format", format];
        let text = vptx_in(&folder.0, &arguments, b"").stdout;
        let count = match format {
            "json" | "github" => text.lines().count(),
            "junit" => text.matches("<testcase name=\"V").count(),
            _ => text.matches("\"ruleId\"").count(),
        };
        assert_eq!(count, places, "{format}: {text}");
    }

    // Findings of the baseline that were fixed are reported. `--update-baseline` removes them.
    folder.write("a.ptx", LOOSE);
    let run = concise(&folder, &known);
    insta::assert_snapshot!(run.transcript(), @r"
    status: 0
    -- stdout --
    -- stderr --
    the baseline has 1 finding not seen in this run; to drop old ones, use --update-baseline
    ");
    concise(&folder, &["--baseline", "known.json", "--update-baseline"]);
    let run = concise(&folder, &known);
    assert_eq!((run.status, run.stdout.as_str(), run.stderr.as_str()), (0, "", ""));
    assert!(!folder.read("known.json").contains("a.ptx\",\n      \"code\": \"V104"));
    // The baseline keeps the findings in files that the run did not read.
    let run = concise(&folder, &["--baseline", "known.json", "sub"]);
    assert_eq!((run.status, run.stdout.as_str(), run.stderr.as_str()), (0, "", ""));
    let before = folder.read("known.json");
    concise(&folder, &["--baseline", "known.json", "--update-baseline", "sub"]);
    assert_eq!(folder.read("known.json"), before);
}

/// A baseline keeps the findings inside a binary that the run did not read, and drops those of
/// texts that are no longer in it.
#[test]
fn a_baseline_has_findings_in_binaries() {
    let folder = Folder::new("check-baseline-binaries");
    let text = NOWHERE.replace("bra", "vadd.u32.u32.u32 r, r, 2;\nbra");
    fs::write(
        folder.0.join("x.whl"),
        zip(&[("a.ptx", text.as_bytes()), ("b.ptx", text.as_bytes())]),
    )
    .unwrap();
    folder.write("good.ptx", "");
    let known = ["--baseline", "known.json"];
    let update =
        |path: &str| concise(&folder, &[&known[..], &["--update-baseline", path]].concat());
    assert_eq!(update("x.whl").stderr, "the baseline has 4 findings\n");
    assert_eq!(update("good.ptx").stderr, "the baseline has 4 findings\n");
    let run = concise(&folder, &[&known[..], &["x.whl"]].concat());
    assert_eq!((run.status, run.stdout.as_str(), run.stderr.as_str()), (0, "", ""));
    fs::write(folder.0.join("x.whl"), zip(&[("b.ptx", text.as_bytes())])).unwrap();
    let run = concise(&folder, &[&known[..], &["x.whl"]].concat());
    assert!(run.stderr.starts_with("the baseline has 2 findings not seen"), "{}", run.stderr);
    assert_eq!(update("x.whl").stderr, "the baseline has 2 findings\n");
    fs::remove_file(folder.0.join("x.whl")).unwrap();
    assert_eq!(update("good.ptx").stderr, "the baseline has 0 findings\n");
}

/// The baseline knows a finding on a whole module by the text of its line, wherever the line
/// stands.
#[test]
fn a_baseline_has_findings_on_names() {
    let folder = Folder::new("check-baseline-names");
    let text = NOWHERE.replace("bra", "vadd.u32.u32.u32 r, r, 2;\nbra");
    folder.write("a.ptx", &text);
    let known = ["--baseline", "known.json"];
    let found = concise(&folder, &[]).stdout;
    assert_eq!(codes(&found), ["V905", "V902"], "{found}");
    let made = concise(&folder, &[&known[..], &["--update-baseline"]].concat());
    assert_eq!(made.stderr, "the baseline has 2 findings\n");
    folder.write("a.ptx", text.replace(".entry", "\n// Moved.\n.entry"));
    let run = concise(&folder, &known);
    assert_eq!((run.status, run.stdout.as_str(), run.stderr.as_str()), (0, "", ""));
    let more = text.replace("bra nowhere;", "bra nowhere;\n@p bra elsewhere;");
    folder.write("a.ptx", more.replace(".reg", ".reg .pred p;\n.reg"));
    let run = concise(&folder, &known);
    assert_eq!(codes(&run.stdout), ["V902"], "{}", run.stdout);
    assert!(run.stdout.contains("`elsewhere`"), "{}", run.stdout);
}

/// The paths in a baseline start at its folder, also those that lead out of it. So another copy of
/// the project can use it.
#[test]
fn a_baseline_belongs_to_each_copy() {
    let [one, two] = ["one", "two"].map(|it| Folder::new(&format!("check-baseline-copy-{it}")));
    for folder in [&one, &two] {
        folder.write("src/sub/a.ptx", BAD);
        folder.write("ci/b/none", "");
    }
    let known = ["--baseline", "ci/b/known.json", "src"];
    concise(&one, &[&known[..], &["--update-baseline"]].concat());
    let text = one.read("ci/b/known.json");
    assert!(text.contains("\"path\": \"../../src/sub/a.ptx\""), "{text}");
    two.write("ci/b/known.json", text);
    assert_eq!(concise(&two, &known).stdout, "");
    // A file that is gone is forgotten.
    fs::remove_file(two.0.join("src/sub/a.ptx")).unwrap();
    two.write("src/b.ptx", LOOSE);
    concise(&two, &[&known[..], &["--update-baseline"]].concat());
    let text = two.read("ci/b/known.json");
    assert!(text.contains("src/b.ptx") && !text.contains("a.ptx"), "{text}");
}

#[test]
fn a_baseline_is_named_in_the_settings() {
    let folder = Folder::new("check-baseline-settings");
    folder.write("vptx.toml", "[check]\nbaseline = \"known.json\"\n");
    folder.write("sub/a.ptx", BAD);
    // The baseline has paths relative to the settings file, not to the current folder.
    let sub = folder.0.join("sub");
    let arguments = ["check", "--format", "concise", "--update-baseline"];
    assert_eq!(vptx_in(&sub, &arguments, b"").status, 0);
    assert!(folder.read("known.json").contains("\"sub/a.ptx\""));
    assert_eq!(vptx_in(&sub, &arguments[..3], b"").stdout, "");
    assert_eq!(concise(&folder, &[]).stdout, "");
    assert_eq!(codes(&concise(&folder, &["--isolated"]).stdout), ["V104"]);
    fs::remove_file(folder.0.join("known.json")).unwrap();
    let run = concise(&folder, &[]);
    assert_eq!((run.status, run.stdout.as_str()), (2, ""));
    assert!(run.stderr.contains("known.json"), "{}", run.stderr);
}

#[test]
fn baselines_that_cannot_be_used() {
    let folder = kinds("check-baseline-wrong");
    folder.write("broken.json", "{\n");
    folder.write("newer.json", "{\"version\": 99999999999, \"findings\": []}\n");
    // Some editors put a byte order mark at the start.
    folder.write("marked.json", "\u{feff}{\"version\": 1, \"findings\": []}\n");
    assert_eq!(concise(&folder, &["--baseline", "marked.json"]).status, 1);
    for (name, said) in [
        ("none.json", "vptx: there is no `none.json`: `--update-baseline` creates it\n"),
        (
            "broken.json",
            "vptx: `broken.json` is not a baseline of vptx: \
             remove it, and write a new one with `--update-baseline`\n",
        ),
        (
            "newer.json",
            "vptx: `newer.json` has version 99999999999, not 1: \
             remove it, and write a new one with `--update-baseline`\n",
        ),
    ] {
        let run = concise(&folder, &["--baseline", name]);
        assert_eq!((run.status, run.stdout.as_str(), run.stderr.as_str()), (2, "", said), "{name}");
    }
    let run = concise(&folder, &["--baseline", "no/folder.json", "--update-baseline"]);
    assert_eq!((run.status, run.stdout.as_str()), (2, ""));
    assert!(run.stderr.contains("no/folder.json"), "{}", run.stderr);
    let run = concise(&folder, &["--update-baseline"]);
    assert_eq!(
        (run.status, run.stdout.as_str(), run.stderr.as_str()),
        (2, "", "vptx: --update-baseline needs a file: --baseline FILE\n")
    );
    assert_eq!(folder.read("broken.json"), "{\n");
}

// Settings.

#[test]
fn settings_are_found_upwards() {
    let folder = kinds("check-settings");
    folder.write("vptx.toml", "[check]\nselect = [\"V1\", \"V4\"]\nignore = [\"V408\"]\n");
    folder.write("deep/er/a.ptx", format!("{DIFFERS}{LOOSE}"));
    folder.write("own/vptx.toml", "[check]\nextend-select = [\"V408\"]\ntarget = \"sm_20\"\n");
    folder.write("own/a.ptx", format!("{DIFFERS}{PLAIN}"));
    folder.write("other.toml", "[check]\nselect = [\"V5\"]\n");
    let run = concise(&folder, &[]);
    insta::assert_snapshot!(run.transcript(), @r"
    status: 1
    -- stdout --
    bad.ptx:1:5: error[V104]: `vadd` needs 3 types, found 2
    deep/er/a.ptx:2:27: warning[V403]: the third source is ignored without secondary operation or destination selector
    loose.ptx:1:27: warning[V403]: the third source is ignored without secondary operation or destination selector
    own/a.ptx:1:1: warning[V501]: the code of ptxas can give another result than the manual (C2)
    own/a.ptx:2:1: error[V301]: `vmax2` needs `.target sm_30` or higher
    -- stderr --
    ");
    let deep = vptx_in(&folder.0.join("deep/er"), &["check", "--format", "concise"], b"");
    assert_eq!(codes(&deep.stdout), ["V403"]);
    // `--config` names one settings file for all files; `--isolated` ignores all settings.
    let run = concise(&folder, &["--config", "other.toml", "own", "deep"]);
    assert_eq!(files(&run.stdout), ["own/a.ptx", "deep/er/a.ptx"]);
    assert!(codes(&run.stdout).iter().all(|code| code.starts_with("V5")), "{}", run.stdout);
    let run = concise(&folder, &["--isolated", "own", "deep"]);
    assert_eq!(codes(&run.stdout), ["V501", "V501", "V403"]);
    // The command line overrides the settings.
    let run = concise(&folder, &["--select", "V408"]);
    assert!(run.stdout.contains("plain.ptx:1:20: note[V408]"), "{}", run.stdout);
    let run = concise(&folder, &["own", "--target", "sm_90"]);
    assert_eq!(codes(&run.stdout), ["V501", "V408"]);
    // Standard input uses the settings of the current folder or, if it has a name, the settings for
    // that name.
    assert_eq!(codes(&filter(&folder, &["-"], DIFFERS.as_bytes()).stdout), [""; 0]);
    let named = filter(&folder, &["--stdin-filename", "own/b.ptx", "-"], DIFFERS.as_bytes());
    assert_eq!(codes(&named.stdout), ["V501"]);
}

#[test]
fn settings_differ_by_path() {
    let folder = Folder::new("check-per-path");
    folder.write(
        "vptx.toml",
        "[check]\n\
         exclude = [\"third_party/\", \"*.gen.ptx\"]\n\
         [[check.per-path]]\n\
         paths = [\"legacy/**\"]\n\
         ignore = [\"V4\"]\n\
         [[check.per-path]]\n\
         paths = [\"legacy/old.ptx\", \"*.cu\"]\n\
         dialect = \"ptxas\"\n\
         extend-select = [\"V408\"]\n",
    );
    for name in ["a.ptx", "a.gen.ptx", "legacy/a.ptx", "legacy/old.ptx", "third_party/a.ptx"] {
        folder.write(name, format!("{DIFFERS}{LOOSE}{PLAIN}"));
    }
    folder.write("k.cu", KERNEL);
    let run = concise(&folder, &[]);
    insta::assert_snapshot!(run.transcript(), @r"
    status: 1
    -- stdout --
    a.ptx:1:1: warning[V501]: the code of ptxas can give another result than the manual (C2)
    a.ptx:2:27: warning[V403]: the third source is ignored without secondary operation or destination selector
    k.cu:6:14: error[V104]: `vadd` needs 3 types, found 2
    k.cu:8:35: error[V701]: the `asm` has no operand `%3`
    legacy/a.ptx:1:1: warning[V501]: the code of ptxas can give another result than the manual (C2)
    legacy/old.ptx:3:20: note[V408]: `.h10` is the default
    -- stderr --
    ");
    // A run in another folder has the same findings.
    let deep = vptx_in(&folder.0.join("legacy"), &["check", "--format", "concise"], b"");
    let here = run.stdout.lines().filter_map(|line| line.strip_prefix("legacy/"));
    assert_eq!(deep.stdout.lines().collect::<Vec<_>>(), here.collect::<Vec<_>>());
    // The program reads an excluded file if the user names it.
    for name in ["a.gen.ptx", "third_party/a.ptx"] {
        assert_eq!(codes(&concise(&folder, &[name]).stdout), ["V501", "V403"], "{name}");
    }
    let run = concise(&folder, &["--isolated"]);
    let all = ["a.gen.ptx", "a.ptx", "k.cu", "legacy/a.ptx", "legacy/old.ptx", "third_party/a.ptx"];
    assert_eq!(files(&run.stdout), all);
}

#[test]
fn wrong_settings_are_said() {
    let folder = kinds("check-wrong-settings");
    let said = |text: &str| {
        folder.write("vptx.toml", text);
        let run = concise(&folder, &["--fix"]);
        assert_eq!((run.status, run.stdout.as_str()), (2, ""), "{text}");
        assert_eq!(folder.read("loose.ptx"), LOOSE, "{text}");
        transcript(&folder, &run)
    };
    insta::assert_snapshot!(said("[check]\nselct = [\"V1\"]\n"), @r#"
    status: 2
    -- stdout --
    -- stderr --
    vptx: `FOLDER/vptx.toml`: TOML parse error at line 2, column 1
      |
    2 | selct = ["V1"]
      | ^^^^^
    unknown field `selct`, expected one of `dialect`, `target`, `ptx-version`, `select`, `extend-select`, `ignore`, `deny`, `exclude`, `include`, `baseline`, `docs-url`, `per-path`
    did you mean `select`?
    "#);
    insta::assert_snapshot!(said("[chek]\nselect = [\"V1\"]\n"), @r"
    status: 2
    -- stdout --
    -- stderr --
    vptx: `FOLDER/vptx.toml`: TOML parse error at line 1, column 2
      |
    1 | [chek]
      |  ^^^^
    unknown field `chek`, expected one of `extension`, `format`, `check`
    did you mean `check`?
    ");
    insta::assert_snapshot!(said("[check]\nignore = [\"V1\", \"modifer-order\"]\n"), @r#"
    status: 2
    -- stdout --
    -- stderr --
    vptx: `FOLDER/vptx.toml`: TOML parse error at line 2, column 10
      |
    2 | ignore = ["V1", "modifer-order"]
      |          ^^^^^^^^^^^^^^^^^^^^^^^
    `modifer-order` selects no rule; did you mean `modifier-order`?
    "#);
    insta::assert_snapshot!(said("[[check.per-path]]\npaths = [\"a/\"]\nexclude = [\"b\"]\n"), @r#"
    status: 2
    -- stdout --
    -- stderr --
    vptx: `FOLDER/vptx.toml`: TOML parse error at line 3, column 1
      |
    3 | exclude = ["b"]
      | ^^^^^^^
    unknown field `exclude`, expected one of `paths`, `dialect`, `target`, `ptx-version`, `select`, `extend-select`, `ignore`, `deny`
    "#);
    for (text, part) in [
        ("[check\n", "TOML parse error"),
        ("[check]\nselect = \"V1\"\n", "line 2, column 10"),
        ("[check]\ndialect = \"ptax\"\n", "`documented` or `ptxas`"),
        ("[check]\ntarget = \"90\"\n", "`90` is no target; a target looks like `sm_90`"),
        (
            "[check]\nptx-version = \"eight\"\n",
            "`eight` is no PTX version; a version looks like `8.5`",
        ),
        ("[check]\nptx-version = 8.0\n", "expected a string"),
        ("[check]\nextend_select = [\"V4\"]\n", "did you mean `extend-select`?"),
        ("[check]\nformat = \"json\"\n", "unknown field `format`"),
        ("[[check.per-path]]\nignore = [\"V4\"]\n", "`paths` must name the files"),
        ("[check]\nexclude = [\"{a\"]\n", "check.exclude: error parsing glob '{a'"),
        ("[check]\nexclude = [\"../a\"]\n", "check.exclude: `../a` matches nothing"),
        // `check` also examines the tables of other commands.
        ("[format]\nindent = 2\n", "unknown field `indent`"),
    ] {
        let text = said(text);
        assert!(text.contains(part) && text.contains("FOLDER/vptx.toml"), "{text}");
    }
    let run = concise(&folder, &["--isolated"]);
    assert_eq!((run.status, run.stderr.as_str()), (1, ""), "none is read");
    let run = concise(&folder, &["--config", "none.toml"]);
    assert_eq!(
        (run.status, run.stdout.as_str(), run.stderr.as_str()),
        (2, "", "vptx: cannot read `none.toml`: no such file or directory\n")
    );
    let run = concise(&folder, &["--config", "vptx.toml", "--isolated"]);
    assert_eq!(run.status, 2);
    assert!(run.stderr.contains("cannot be used with '--isolated'"), "{}", run.stderr);
}

// Files.

#[test]
fn endings_tell_the_language() {
    let folder = Folder::new("check-endings");
    for name in ["a.cu", "b.cuh", "c.cl", "d.h", "e.hpp", "f.cpp", "g.inl", "h/i.cu"] {
        folder.write(name, KERNEL);
    }
    for name in ["z.txt", "z.py", "z"] {
        folder.write(name, BAD);
    }
    folder.write("z.ptx", BAD);
    let run = concise(&folder, &[]);
    let sources = ["a.cu", "b.cuh", "c.cl", "d.h", "e.hpp", "f.cpp", "g.inl", "h/i.cu"];
    assert_eq!(files(&run.stdout), [&sources[..], &["z.ptx"]].concat());
    assert_eq!(
        codes(&concise(&folder, &["e.hpp", "h"]).stdout),
        ["V403", "V104", "V701"].repeat(2)
    );
    // The program reads no file with another ending, even if the user names it.
    let run = concise(&folder, &["z.txt", "z"]);
    assert_eq!((run.status, run.stdout.as_str()), (2, ""));
}

#[test]
fn standard_input_has_a_name() {
    let folder = Folder::new("check-stdin");
    let arguments = ["--stdin-filename", "sub/k.cu", "-"];
    let run = filter(&folder, &arguments, KERNEL.as_bytes());
    insta::assert_snapshot!(run.transcript(), @r"
    status: 1
    -- stdout --
    sub/k.cu:4:39: warning[V403]: the third source is ignored without secondary operation or destination selector
    sub/k.cu:6:14: error[V104]: `vadd` needs 3 types, found 2
    sub/k.cu:8:35: error[V701]: the `asm` has no operand `%3`
    -- stderr --
    ");
    let run = filter(&folder, &["--fix", "-q", "--stdin-filename", "k.cu", "-"], KERNEL.as_bytes());
    assert_eq!(run.stdout, KERNEL.replacen("%2, %3;", "%2;", 1));
    assert_eq!(codes(&run.stderr), ["V104", "V701"]);
    let run = filter(&folder, &["--stdin-filename", "a.ptx", "-"], BAD.as_bytes());
    assert_eq!(run.stdout, "a.ptx:1:5: error[V104]: `vadd` needs 3 types, found 2\n");
}

#[test]
fn directories_are_walked() {
    let folder = Folder::new("check-walk");
    for name in ["b.ptx", "a/y.ptx", "a/x.cu", "a.ptx", ".hidden/a.ptx", "out/a.ptx", "tmp/a.ptx"] {
        folder.write(name, if name.ends_with("cu") { KERNEL } else { BAD });
    }
    folder.write(".gitignore", "out/\n");
    folder.write(".ignore", "tmp/\n");
    let run = concise(&folder, &[]);
    assert_eq!(files(&run.stdout), ["a/x.cu", "a/y.ptx", "a.ptx", "b.ptx"]);
    assert_eq!(concise(&folder, &["."]).stdout, run.stdout);
    // A `.gitignore` above the repository that is walked does not hold.
    folder.write(".gitignore", "out/\n*.ptx\n");
    fs::create_dir(folder.0.join("a/.git")).unwrap();
    folder.write("a/.gitignore", "x.cu\n");
    let run = vptx_in(&folder.0.join("a"), &["check", "--format", "concise", "."], b"");
    assert_eq!(files(&run.stdout), ["y.ptx"]);
    fs::remove_dir(folder.0.join("a/.git")).unwrap();
    folder.write("a/.gitignore", "");
    folder.write(".gitignore", "out/\n");
    // Files are read in the order of the command line, and each file once.
    let run = concise(&folder, &["b.ptx", "a", "a.ptx", "b.ptx", "a/y.ptx", "out/a.ptx"]);
    assert_eq!(files(&run.stdout), ["b.ptx", "a/x.cu", "a/y.ptx", "a.ptx", "out/a.ptx"]);
}

#[test]
fn what_cannot_be_read_is_said_and_the_rest_done() {
    let folder = Folder::new("check-trouble");
    folder.write("a.ptx", LOOSE);
    folder.write("empty/readme.txt", "");
    let run = concise(&folder, &["none.ptx", "a.ptx", "a.ptx/b.ptx", "empty", "-x.ptx"]);
    assert_eq!(run.status, 2, "an option that is none");
    let run = concise(&folder, &["none.ptx", "a.ptx", "a.ptx/b.ptx", "empty", "none"]);
    insta::assert_snapshot!(run.transcript(), @r"
    status: 2
    -- stdout --
    a.ptx:1:27: warning[V403]: the third source is ignored without secondary operation or destination selector
    -- stderr --
    vptx: no files to read in `empty`
    vptx: cannot read `none.ptx`: no such file or directory
    vptx: cannot read `a.ptx/b.ptx`: not a directory
    vptx: cannot read `none`: no such file or directory
    ");
    // A missing file does not keep the other file from being fixed.
    let run = concise(&folder, &["--fix", "none.ptx", "a.ptx"]);
    assert_eq!((run.status, run.stdout.as_str()), (2, ""));
    assert_eq!(folder.read("a.ptx"), "vadd.s32.s32.s32 d, a, b;\n");
    // The SARIF report is complete although a file is missing.
    let run = vptx_in(&folder.0, &["check", "--format", "sarif", "none.ptx"], b"");
    assert_eq!(run.status, 2);
    assert!(
        run.stdout.is_empty() || serde_json::from_str::<serde_json::Value>(&run.stdout).is_ok()
    );
}

#[cfg(unix)]
#[test]
fn files_of_others_are_said() {
    use std::os::unix::fs::PermissionsExt;
    let folder = kinds("check-forbidden");
    let bad = folder.0.join("bad.ptx");
    fs::set_permissions(&bad, fs::Permissions::from_mode(0o000)).unwrap();
    // A superuser can read the file anyway.
    if fs::read(&bad).is_err() {
        let run = concise(&folder, &[]);
        assert_eq!((run.status, codes(&run.stdout)), (2, vec!["V501", "V403"]));
        assert_eq!(run.stderr, "vptx: cannot read `bad.ptx`: permission denied\n");
    }
}

#[cfg(unix)]
#[test]
fn links_that_lead_nowhere() {
    use std::os::unix::fs::symlink;
    let folder = Folder::new("check-loops");
    symlink("loop.ptx", folder.0.join("loop.ptx")).unwrap();
    let run = concise(&folder, &["loop.ptx"]);
    assert_eq!(
        (run.status, run.stderr.as_str()),
        (2, "vptx: cannot read `loop.ptx`: too many levels of symbolic links\n")
    );
    // A folder inside itself does not make the search endless.
    folder.write("sub/a.ptx", BAD);
    symlink(".", folder.0.join("sub/again")).unwrap();
    assert_eq!(files(&concise(&folder, &["sub"]).stdout), ["sub/a.ptx"]);
}

#[test]
fn binary_files_are_findings() {
    let folder = Folder::new("check-binary");
    folder.write("a.ptx", b"\x7fELF\x02\x01\x01\0\0");
    folder.write("b.ptx", b"\0\x01\x02\xff");
    folder.write("k.cu", b"\x7fELF\x02\x01\x01\0\0");
    let run = concise(&folder, &["--fix", "--unsafe-fixes"]);
    insta::assert_snapshot!(run.transcript(), @r"
    status: 1
    -- stdout --
    a.ptx:1:8: error[V008]: this is an ELF file, such as a cubin or an object file, not PTX text
    b.ptx:1:1: error[V008]: this is binary data, not PTX text
    k.cu:1:8: error[V008]: this is an ELF file, such as a cubin or an object file, not PTX text
    -- stderr --
    ");
    assert_eq!(bytes(&folder, "a.ptx"), b"\x7fELF\x02\x01\x01\0\0");
}

/// PowerShell's `>` writes files in UTF-16.
#[test]
fn utf16_is_named() {
    let folder = Folder::new("check-utf16");
    let text = format!("// é\n{GOOD}");
    let units: Vec<u16> = std::iter::once(0xfeff).chain(text.encode_utf16()).collect();
    let little: Vec<u8> = units.iter().flat_map(|unit| unit.to_le_bytes()).collect();
    let big: Vec<u8> = units.iter().flat_map(|unit| unit.to_be_bytes()).collect();
    folder.write("big.ptx", &big);
    folder.write("bigger.ptx", &big[2..]);
    folder.write("little.ptx", &little);
    folder.write("less.ptx", &little[2..]);
    folder.write("other.ptx", b"\xff\xfe\0\0\x01\0\0\x02");
    insta::assert_snapshot!(concise(&folder, &[]).stdout, @r"
    big.ptx:1:3: error[V008]: this is UTF-16 (big-endian), not ASCII or UTF-8
    bigger.ptx:1:1: error[V008]: this is UTF-16 (big-endian), not ASCII or UTF-8
    less.ptx:1:2: error[V008]: this is UTF-16 (little-endian), not ASCII or UTF-8
    little.ptx:1:4: error[V008]: this is UTF-16 (little-endian), not ASCII or UTF-8
    other.ptx:1:3: error[V008]: this is binary data, not PTX text
    ");
    let run = vptx_in(&folder.0, &["check", "little.ptx"], b"");
    assert!(run.stdout.contains("iconv -f UTF-16 -t UTF-8"), "{}", run.stdout);
}

/// The numbers of findings that the summary offers to fix: first with `--fix` alone, then with
/// `--unsafe-fixes` as well.
fn offered(stdout: &str) -> [usize; 2] {
    let number = |text: &str| -> usize {
        text.split(' ').next().and_then(|number| number.parse().ok()).unwrap_or(0)
    };
    let last = stdout.lines().last().unwrap_or_default();
    let (own, more) = last.split_once(", ").unwrap_or((last, "0 more"));
    match own.split_once(" fixable with ") {
        Some((all, "--fix --unsafe-fixes")) => [0, number(all)],
        Some((safe, "--fix")) => [number(safe), number(safe) + number(more)],
        _ => [0, 0],
    }
}

/// The number of findings that a run reports as fixed.
fn made(stdout: &str) -> usize {
    let summary = stdout.lines().find(|line| line.contains(" fixed, ")).unwrap_or("0 ");
    summary.split_once(' ').unwrap().0.parse().unwrap()
}

/// Texts with several mistakes.
fn broken_texts() -> Vec<String> {
    let pieces: &[&[&str]] = &[
        &["vadd", "vad4", "vmin2", "vsad4", "vmim2", "vshl", "vset", "VMAX", "vmad", "vadd4"],
        &[".u32.u32.u32", ".s32.u32", ".u32.u32.u64", ".sat.s32.s32.s32", ".u32.u32.lo"],
        &["", ".sta", ".sat.sat", ".clmap", ".add", ".h0"],
        &[" d", " d.b0", " d.h01", " -d"],
        &[", a", ", a.b9", ", -a", ", 09", ", a.b0"],
        &[", b", " b", ", 0x1_0", ", -b", ", 40"],
        &["", ", c", ", c.h0", ",", ", c, c"],
        &[";", ";", ";", ""],
    ];
    let mut seed = 3u64;
    let mut below = |limit: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as usize % limit
    };
    let mut texts = Vec::new();
    for at in 0..24 {
        let mut text = String::new();
        for _ in 0..=at % 5 {
            for choices in pieces {
                text.push_str(choices[below(choices.len())]);
            }
            text.push('\n');
        }
        texts.push(text);
    }
    texts
}

/// A run fixes as many findings as the summary offers, and no statement gets more errors.
#[test]
fn what_is_offered_is_made() {
    let mut files: Vec<(String, Vec<u8>)> = Vec::new();
    for entry in fs::read_dir(Path::new(ROOT).join("fixtures/diagnostics")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_string();
        files.push((name, fs::read(path).unwrap()));
    }
    for (at, text) in broken_texts().into_iter().enumerate() {
        files.push((format!("random{at}.ptx"), text.into_bytes()));
    }
    files.push(("all.ptx".into(), broken_texts().concat().into_bytes()));
    let folder = Folder::new("check-offered");
    let mut sums = [0, 0];
    for (name, text) in &files {
        let run = |arguments: &[&str]| {
            let arguments = [&["check", "--extend-select", "V5"], arguments, &[name]].concat();
            vptx_in(&folder.0, &arguments, b"").stdout
        };
        folder.write(name, text);
        let offers = offered(&run(&[]));
        let safe = run(&["--fix"]);
        assert_eq!(made(&safe), offers[0], "{name}: {safe}");
        assert_eq!(offered(&safe)[1], offers[1] - offers[0], "{name}: {safe}");
        folder.write(name, text);
        // The text need not be UTF-8.
        let diff = output_in(&folder.0, &["check", "--extend-select", "V5", "--diff", name], b"");
        let said = String::from_utf8(diff.stderr).expect("UTF-8");
        assert_eq!(offered(&said)[1], if offers[0] < offers[1] { offers[1] } else { 0 });
        let all = run(&["--fix", "--unsafe-fixes"]);
        assert_eq!(made(&all), offers[1], "{name}: {all}");
        sums = [sums[0] + offers[0], sums[1] + offers[1]];
    }
    assert!(sums[0] > 50 && sums[1] > sums[0] + 100, "{sums:?}");
}

#[test]
fn other_commands_refuse_sources() {
    let folder = Folder::new("check-sources");
    folder.write("k.cu", KERNEL);
    let refused =
        "vptx: `k.cu` is source code, but only PTX is read here: compile it first (`nvcc -ptx`)\n";
    for arguments in [
        &["fmt", "k.cu"][..],
        &["fmt", "--check", "k.cu"],
        &["fmt", "--diff", "k.cu"],
        &["lower", "--emit", "ir", "k.cu"],
        &["rewrite", "k.cu"],
    ] {
        let run = vptx_in(&folder.0, arguments, b"");
        assert_eq!(
            (run.status, run.stdout.as_str(), run.stderr.as_str()),
            (2, "", refused),
            "{arguments:?}"
        );
    }
    // A search for files does not find sources either.
    folder.write("a.ptx", GOOD);
    let run = vptx_in(&folder.0, &["fmt", "--check"], b"");
    assert_eq!((run.status, run.stdout.as_str()), (0, ""));
    assert_eq!(folder.read("k.cu"), KERNEL);
}

#[test]
fn input_may_come_late_and_end_early() {
    let folder = Folder::new("check-late");
    let mut child = start(&folder.0, &["check", "--format", "concise", "-"]);
    let mut input = child.stdin.take().expect("a pipe");
    for part in BAD.as_bytes().chunks(7) {
        input.write_all(part).expect("read");
    }
    drop(input);
    let output = child.wait_with_output().expect("the program ends");
    assert_eq!(codes(&String::from_utf8_lossy(&output.stdout)), ["V104"]);
    assert_eq!(filter(&folder, &["-"], b"").status, 0);
}

/// The command line overrides every settings file.
#[test]
fn later_choices_count_for_more() {
    let folder = Folder::new("check-layers");
    folder.write("a.ptx", "vadd.u32.u32.u32.sat d, a, b;\n");
    let found = |settings: &str, arguments: &[&str]| {
        folder.write("vptx.toml", settings);
        codes(&concise(&folder, arguments).stdout).join(" ")
    };
    assert_eq!(found("[check]\nignore = ['V501']\n", &["--extend-select", "V501"]), "V501");
    assert_eq!(found("[check]\nselect = ['V501']\n", &["--ignore", "V5"]), "");
    let per_path = "[[check.per-path]]\npaths = ['*']\nignore = ['V501']\n";
    assert_eq!(found(per_path, &[]), "");
    assert!(found(per_path, &["--extend-select", "V5"]).starts_with("V501"));
}

/// Bugs that users reported.
#[test]
fn suppressions_and_fixes_that_went_wrong() {
    let folder = Folder::new("check-went-wrong");
    let fixed = |name: &str, text: &str, arguments: &[&str]| {
        folder.write(name, text);
        let all = [&["check", "--format", "concise", "--fix", name], arguments].concat();
        (vptx_in(&folder.0, &all, b"").stdout, folder.read(name))
    };
    // A comment may stand before the statement.
    let text = "/* vptx: ignore[V104] */ vadd.u32.u32 d, a, b;\n";
    assert_eq!(fixed("a.ptx", text, &[]), (String::new(), text.into()));
    let useless = "  /* vptx: ignore[V104] */ vadd.u32.u32.u32 d, a, b;\n";
    assert_eq!(fixed("a.ptx", useless, &[]).1, "  vadd.u32.u32.u32 d, a, b;\n");
    // These comments are needed under other rules or for another target.
    for text in [
        "vadd.u32.u32 d, a, b; // vptx: ignore\n",
        "vadd.u32.u32 d, a, b; // vptx: ignore[ALL]\n",
        "vadd4.u32.u32.u32 d, a, b, c; // vptx: ignore[V301]\n",
    ] {
        assert_eq!(fixed("a.ptx", text, &["--select", "V8"]).1, text);
    }
    // In a string, `//` starts no comment.
    let text = "f(\"// vptx: ignore[V501] %u\"); \
                asm(\"vadd.u32.u32.u32.sat %0, %1, %2;\" : \"=r\"(d) : \"r\"(a), \"r\"(b));\n";
    let (found, left) = fixed("k.cu", text, &[]);
    assert_eq!((codes(&found), left.as_str()), (vec!["V501"], text));
    // A wrong instruction has no cost.
    let text = "asm(\"vadd.u32.u32.u32 %0, %1, %3;\" : \"=r\"(d) : \"r\"(a));\n";
    let (found, left) = fixed("k.cu", text, &["--costs", "--target", "sm_90"]);
    assert_eq!((codes(&found), left.as_str()), (vec!["V701"], text));
}

#[test]
fn files_that_cannot_be_fixed_are_reported() {
    let folder = Folder::new("check-read-only");
    folder.write("a.ptx", "vadd.sat.s32.s32.s32 d, a, b;\n");
    let path = folder.0.join("a.ptx");
    let mut permissions = fs::metadata(&path).unwrap().permissions();
    permissions.set_readonly(true);
    fs::set_permissions(&path, permissions).unwrap();
    let run = vptx_in(&folder.0, &["check", "--format", "concise", "--fix", "a.ptx"], b"");
    assert_eq!(run.status, 2);
    assert_eq!(codes(&run.stdout), ["V401"]);
    assert_eq!(run.stderr, "vptx: cannot write `a.ptx`: the file is read-only\n");
}

#[test]
fn standard_input_by_its_name() {
    let text = "asm(\"vadd.u32.u32 %0, %1, %2;\" : \"=r\"(d) : \"r\"(a), \"r\"(b));\n";
    let folder = Folder::new("check-stdin-name");
    let run = vptx_in(
        &folder.0,
        &["check", "--format", "concise", "--stdin-filename", "k.cu"],
        text.as_bytes(),
    );
    assert_eq!(run.stdout, "k.cu:1:10: error[V104]: `vadd` needs 3 types, found 2\n");
    let hint =
        vptx_in(&folder.0, &["check", "--costs", "--stdin-filename", "k.cu"], text.as_bytes());
    assert!(hint.stderr.contains("--target"), "{}", hint.stderr);
    // Where another file has a target, its costs are noted.
    folder.write("k.cu", text);
    let body = ".reg .b32 d, a, b, c;\nvavrg4.u32.u32.u32 d, a, b, c;\n";
    folder.write("t.ptx", format!(".version 8.0\n.target sm_90\n.func f() {{\n{body}}}\n"));
    let run = concise(&folder, &["--costs"]);
    assert!(run.stdout.contains("V601"), "{}", run.transcript());
    let human = vptx_in(&folder.0, &["check", "--costs"], b"");
    assert!(!human.stderr.contains("--target"), "{}", human.stderr);
}

#[test]
fn excluded_folders_that_are_named_are_read() {
    let folder = Folder::new("check-excluded");
    folder.write("vptx.toml", "[check]\nexclude = ['sub']\n");
    folder.write("sub/a.ptx", BAD);
    assert_eq!(concise(&folder, &[]).stdout, "");
    assert_eq!(codes(&concise(&folder, &["sub"]).stdout), ["V104"]);
    folder.write("vptx.toml", "[check]\nexclude = ['./sub/']\n");
    assert_eq!(concise(&folder, &[]).stdout, "");
    folder.write("vptx.toml", "[check]\nexclude = ['sub', '!./sub/a.ptx']\n");
    assert_eq!(codes(&concise(&folder, &[]).stdout), ["V104"]);
}

/// Patterns start from the folder that has the settings, also if these are a link to a file of
/// another folder.
#[cfg(unix)]
#[test]
fn settings_may_be_a_link() {
    let folder = Folder::new("check-linked-settings");
    folder.write("shared/vptx.toml", "[check]\nexclude = ['/sub/']\n");
    folder.write("own/sub/a.ptx", BAD);
    std::os::unix::fs::symlink("../shared/vptx.toml", folder.0.join("own/vptx.toml")).unwrap();
    let run = vptx_in(&folder.0.join("own"), &["check", "--format", "concise"], b"");
    assert_eq!(run.stdout, "");
}

/// A report for `/dev/stdout` stands between the other texts in the file there.
#[cfg(target_os = "linux")]
#[test]
fn a_report_for_standard_output_replaces_no_file() {
    let folder = Folder::new("check-standard-output");
    folder.write("a.ptx", BAD);
    let program = env!("CARGO_BIN_EXE_vptx");
    for (redirected, path) in [(">>log", "/dev/stdout"), (">>log 2>&1 >/dev/null", "/dev/stderr")] {
        folder.write("log", "before\n");
        let script = format!(
            "('{program}' check --format concise -o {path} a.ptx; '{program}' lower --emit ir -o \
             {path} 'vadd.u32.u32.u32 d, a, b;'; echo after >>log) {redirected}"
        );
        let status = Command::new("sh").args(["-c", &script]).current_dir(&folder.0).status();
        assert!(status.unwrap().success());
        let log = folder.read("log");
        assert!(log.starts_with("before\na.ptx:") && log.ends_with("after\n"), "{log}");
        assert!(log.contains("// vadd.u32.u32.u32 d, a, b;"), "{log}");
    }
}

#[test]
fn suppressions_are_written() {
    let folder = Folder::new("check-add-ignore");
    let text = "vadd.u32.u32.u32.sat d, a, b;\n  vadd.u32.u32 d, a, b; // why\n";
    let after = "vadd.u32.u32.u32.sat d, a, b; // vptx: ignore[V501]\n  \
                 // vptx: ignore[V104]\n  vadd.u32.u32 d, a, b; // why\n";
    folder.write("a.ptx", text);
    let diff = vptx_in(&folder.0, &["check", "--add-ignore", "--diff", "a.ptx"], b"");
    insta::assert_snapshot!(diff.transcript());
    assert_eq!(folder.read("a.ptx"), text);
    let run = vptx_in(&folder.0, &["check", "--add-ignore", "a.ptx"], b"");
    insta::assert_snapshot!(run.transcript());
    assert_eq!(folder.read("a.ptx"), after);
    assert_eq!(concise(&folder, &[]).stdout, "");
    let again = vptx_in(&folder.0, &["check", "--add-ignore", "a.ptx"], b"");
    assert_eq!((again.status, folder.read("a.ptx").as_str()), (0, after));
    // On standard input, the result goes to standard output.
    let run = vptx(&["check", "--add-ignore", "-"], text);
    assert_eq!((run.status, run.stdout.as_str()), (0, after));
    // A structural error has no statement to which a comment could be added. Bytes that are not
    // UTF-8 stay unchanged.
    folder.write("a.ptx", b"{ vadd.u32.u32.u32.sat d, a, b; // \xe9\n");
    let run = vptx_in(&folder.0, &["check", "--add-ignore", "--quiet", "a.ptx"], b"");
    assert_eq!(codes(&concise(&folder, &[]).stdout), ["V003"]);
    assert_eq!(run.status, 1);
    let bytes = fs::read(folder.0.join("a.ptx")).unwrap();
    assert!(bytes.ends_with(b"sat d, a, b; // \xe9\n"), "{bytes:?}");
    for other in ["--fix", "--update-baseline"] {
        let run = vptx_in(&folder.0, &["check", "--add-ignore", other, "a.ptx"], b"");
        assert_eq!(run.status, 2, "{other}");
    }
}

#[test]
fn fixes_leave_comments() {
    let folder = Folder::new("check-fix-comments");
    for (before, after) in [
        ("vmax.u32.u32.u32 d, a, b, (1 /*1*/ + 2);\n", "vmax.u32.u32.u32 d, a, b /*1*/;\n"),
        ("vmax.u32.u32.u32 d, a, b, (1 // one\n + 2);\n", "vmax.u32.u32.u32 d, a, b // one\n;\n"),
        // Only one of the two edits has a comment.
        (
            "vadd.u32.u32.u32 d, 0x100000001, (0x100000000 /*1*/ + 2);\n",
            "vadd.u32.u32.u32 d, 1, 2 /*1*/;\n",
        ),
        (
            "vadd /*1*/ .sat /*2*/ .u32.u32.u32 d, a, b;\n",
            "vadd /*1*/ .u32 /*2*/ .u32.u32.sat d, a, b;\n",
        ),
    ] {
        folder.write("a.ptx", before);
        concise(&folder, &["--fix", "--ignore", "V5"]);
        assert_eq!(folder.read("a.ptx"), after);
    }
    let text = ".version 8.0\n.target sm_90\n.func f(.reg .b32 d, .reg .b32 a, .reg .b32 b)\n{\n\
                \tvadd4.u32.u32.u32 // sum\n\t\td, a, b, d;\n}\n";
    folder.write("a.ptx", text);
    concise(&folder, &["--fix", "--unsafe-fixes", "--select", "V601"]);
    assert!(folder.read("a.ptx").contains("{\n\t// sum\n\t{"), "{}", folder.read("a.ptx"));
}

// Headers.

/// A source that uses a macro of a header, and the header. The macro's opcode does not exist.
fn with_header(name: &str) -> Folder {
    let folder = Folder::new(name);
    let operands = r#": "=r"(d) : "r"(a), "r"(b)"#;
    folder.write(
        "include/ptx/video.h",
        format!("#include \"ops.h\"\n#define VADD(d, a, b) asm(OP \" %0, %1, %2;\" {operands})\n"),
    );
    folder.write("include/ptx/ops.h", "#define OP \"vadx.u32.u32.u32\"\n");
    folder.write("src/a.cu", "#include <ptx/video.h>\nvoid f() { VADD(d, a, b); }\n");
    folder
}

#[test]
fn headers_are_read_in_the_folders_that_are_named() {
    let folder = with_header("headers");
    assert_eq!(concise(&folder, &["src"]).stdout, "");
    let found = "src/a.cu:2:12: error[V101]: ";
    for arguments in [["-Iinclude", "src"], ["--include=include", "src/a.cu"]] {
        let run = concise(&folder, &arguments);
        assert!(run.stdout.starts_with(found) && run.status == 1, "{}", run.transcript());
    }
    let inner = ["check", "--format", "concise", "-I../include", "a.cu"];
    let run = vptx_in(&folder.0.join("src"), &inner, b"");
    assert!(run.stdout.starts_with("a.cu:2:12: error[V101]: "), "{}", run.transcript());
    // A folder that is not there has no headers.
    assert_eq!(concise(&folder, &["-I", "none", "src"]).stdout, "");
    // Only names that are relative to such a folder are searched.
    let whole = folder.0.join("include/ptx/video.h");
    folder.write("whole.cu", format!("#include \"{}\"\nVADD(d, a, b);\n", whole.display()));
    assert_eq!(concise(&folder, &["-Iinclude", "whole.cu"]).stdout, "");
    let human = vptx_in(&folder.0, &["check", "--color=never", "-Iinclude", "src"], b"");
    assert!(human.stdout.contains("`OP` of include/ptx/ops.h:1"), "{}", human.stdout);
    // Folders in settings are relative to the settings file.
    folder.write("src/vptx.toml", "[check]\ninclude = [\"../include\"]\n");
    let run = concise(&folder, &["src"]);
    assert!(run.stdout.starts_with(found), "{}", run.transcript());
    let shown = vptx_in(&folder.0, &["check", "--show-settings", "-I", "more", "src/a.cu"], b"");
    assert!(shown.stdout.contains("\ninclude = [\""), "{}", shown.stdout);
    assert!(shown.stdout.contains("/more\""), "{}", shown.stdout);
}

#[test]
#[cfg(unix)]
fn only_regular_files_are_headers() {
    let folder = with_header("special-headers");
    let made = Command::new("mkfifo").arg(folder.0.join("include/pipe.h")).status();
    assert!(made.is_ok_and(|status| status.success()));
    let includes = "#include \"pipe.h\"\n#include \"/dev/zero\"\n#include </etc/passwd>\n\
                    #include \"ptx\"\n#include \"\"\n#include \".\"\n#include \"..\"\n";
    folder.write("src/a.cu", format!("{includes}#include <ptx/video.h>\nVADD(d, a, b);\n"));
    let run = concise(&folder, &["-Iinclude", "src"]);
    assert!(run.stdout.starts_with("src/a.cu:9:1: error[V101]: "), "{}", run.transcript());
}

#[test]
fn what_has_no_fix_does_not_count_as_fixable() {
    let run = vptx(&["check", "--isolated", "-"], "vset.u32.u32 d, a, b;\n");
    assert!(run.stdout.ends_with("\n1 error in 1 video instruction of 1 file\n"), "{}", run.stdout);
}

/// Findings of the baseline are neither counted nor fixed, except with `--fix-known`.
#[test]
fn a_baseline_is_left_alone() {
    let folder = Folder::new("check-baseline-fix");
    let known = ["--baseline", "known.json"];
    let run = |arguments: &[&str]| {
        vptx_in(&folder.0, &[&["check"], &known[..], arguments, &["a.ptx"]].concat(), b"")
    };
    let last = |run: &Run| run.stdout.lines().last().unwrap_or_default().to_string();
    folder.write("a.ptx", LOOSE);
    run(&["--update-baseline"]);
    assert_eq!(run(&[]).stdout, "nothing new found in 1 video instruction of 1 file\n");
    // Adds a new finding of the same rule.
    let new = "vmin.s32.s32.s32 d, a, b, c;\n";
    let text = format!("{LOOSE}{new}");
    folder.write("a.ptx", &text);
    assert_eq!(last(&run(&[])), "1 fixable with --fix");
    let diff = run(&["--diff", "--quiet"]).stdout;
    assert!(diff.contains("-vmin.s32.s32.s32 d, a, b, c;\n"), "{diff}");
    assert!(!diff.contains("-vadd"), "{diff}");
    let all = run(&["--diff", "--quiet", "--fix-known"]).stdout;
    assert!(all.contains("-vmin") && all.contains("-vadd"), "{all}");
    let fixed = run(&["--fix"]);
    assert_eq!(
        (fixed.status, last(&fixed)),
        (0, "1 finding fixed, nothing left in 2 video instructions of 1 file".into())
    );
    let new = "vmin.s32.s32.s32 d, a, b;\n";
    assert_eq!(folder.read("a.ptx"), format!("{LOOSE}{new}"));
    assert_eq!(run(&["--fix-only"]).stdout, "nothing fixed in 2 video instructions of 1 file\n");
    // A fix before the known statement moves it; the statement stays known.
    folder.write("a.ptx", format!("vadd.sat.s32.s32.s32 d, a, b;\n{LOOSE}"));
    assert_eq!(run(&["--fix", "--quiet"]).stdout, "");
    assert_eq!(folder.read("a.ptx"), format!("vadd.s32.s32.s32.sat d, a, b;\n{LOOSE}"));
    assert_eq!(run(&["--fix", "--fix-known", "--quiet"]).status, 0);
    assert_eq!(folder.read("a.ptx"), "vadd.s32.s32.s32.sat d, a, b;\nvadd.s32.s32.s32 d, a, b;\n");
    let wrong = run(&["--fix-known"]);
    assert_eq!((wrong.status, &*wrong.stderr), (2, "vptx: --fix-known needs --fix or --diff\n"));
}

/// Comments are added for new findings only, and for what stands on the same lines.
#[test]
fn known_findings_get_no_comments() {
    let folder = Folder::new("check-add-ignore-baseline");
    let known = ["check", "--baseline", "known.json"];
    let run = |more: &[&str]| vptx_in(&folder.0, &[&known[..], more, &["a.ptx"]].concat(), b"");
    folder.write("a.ptx", format!("{BAD}{BAD}{LOOSE}"));
    run(&["--update-baseline"]);
    let both = format!("{} {LOOSE}", BAD.trim_end());
    folder.write("a.ptx", format!("{BAD}{BAD}{both}"));
    let before = run(&["--format", "concise"]).stdout;
    assert_eq!(codes(&before), ["V104", "V403"], "{before}");
    let done = run(&["--add-ignore", "--quiet"]);
    assert_eq!((done.status, done.stdout.as_str()), (0, ""));
    let marked = both.replace('\n', " // vptx: ignore[V104, V403]\n");
    assert_eq!(folder.read("a.ptx"), format!("{BAD}{BAD}{marked}"));
}

/// If a file cannot be written, the program does not claim that it added comments.
#[test]
fn suppressions_that_cannot_be_written() {
    let folder = Folder::new("check-add-ignore-read-only");
    folder.write("a.ptx", BAD);
    let path = folder.0.join("a.ptx");
    let mut permissions = fs::metadata(&path).unwrap().permissions();
    permissions.set_readonly(true);
    fs::set_permissions(&path, permissions).unwrap();
    let run = vptx_in(&folder.0, &["check", "--add-ignore", "a.ptx"], b"");
    assert_eq!((run.status, folder.read("a.ptx").as_str()), (2, BAD));
    assert_eq!(run.stderr, "vptx: cannot write `a.ptx`: the file is read-only\n");
    assert!(
        run.stdout.ends_with("\n\n1 error in 1 video instruction of 1 file\n"),
        "{}",
        run.stdout
    );
}

/// All commands give the same answer, whatever their options are.
#[test]
fn empty_folders_have_one_answer() {
    let folder = Folder::new("check-empty");
    folder.write("notes.txt", "");
    for arguments in [
        &["check"][..],
        &["check", "."],
        &["check", "--fix", "."],
        &["check", "--diff", "--exit-zero", "."],
        &["check", "--format", "json", "."],
        &["fmt"],
        &["fmt", "."],
        &["fmt", "--check", "."],
        &["fmt", "--diff", "--quiet", "."],
        &["format", "."],
        &["port", "--to", "c", "."],
    ] {
        let run = vptx_in(&folder.0, arguments, b"");
        let said = "vptx: no files to read in `.`\n";
        assert_eq!((run.status, &*run.stdout, &*run.stderr), (2, "", said), "{arguments:?}");
    }
}

/// Above 2,048 findings, the program reads a file again and reports each finding as it is found.
#[test]
fn many_findings_are_those_of_the_library() {
    let folder = Folder::new("check-many");
    let function = ".func g()\n{\n.reg .b32 a;\nvadd.sat.u32.u32.u32 a, a, 5;\n}\n";
    let text = format!(".version 8.0\n.target sm_90\n{}}}\n", function.repeat(3000));
    folder.write("a.ptx", &text);
    folder.write("small.ptx", GOOD);
    let (count, law) = check_counted(&text, &CheckOptions::default());
    assert!(law.len() > 6000);
    let law: Vec<(String, u64, usize)> = law
        .iter()
        .map(|it| (it.code.text().into(), it.span.start.into(), it.fixes.len()))
        .collect();
    for subjects in [&["a.ptx"][..], &["small.ptx", "a.ptx"]] {
        let arguments = [&["check", "--quiet", "--format", "json"], subjects].concat();
        let run = vptx_in(&folder.0, &arguments, b"");
        let found = run.stdout.lines().map(|line| {
            let line: Value = serde_json::from_str(line).expect(line);
            let start = line["span"]["start"].as_u64().unwrap();
            let fixes = line["fixes"].as_array().unwrap().len();
            (line["code"].as_str().unwrap().to_string(), start, fixes)
        });
        assert!(found.eq(law.iter().cloned()), "{subjects:?}");
    }
    let summary = vptx_in(&folder.0, &["check", "--statistics", "a.ptx"], b"").transcript();
    let counted = format!(" in {count} video instructions of 1 file");
    assert!(summary.contains(&counted), "{summary}");
    let of_stdin = vptx_in(&folder.0, &["check", "--stdin-filename", "a.ptx"], text.as_bytes());
    let of_file = vptx_in(&folder.0, &["check", "a.ptx"], b"");
    assert_eq!(of_file.transcript(), of_stdin.transcript());
}
