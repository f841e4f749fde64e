//! A panic in one file is reported as a bug of vptx, and the other files are still read.
#![cfg(debug_assertions)]

use std::process::Child;

use crate::support::program::{Folder, start_with};

/// An error, V104, in a badly formatted statement.
const BAD: &str = "vadd.u32.u32 d, a, b ;\n";
/// A finding with a fix, V403.
const LOOSE: &str = ".version 8.0\n.target sm_90\n.func f(.reg .b32 d, .reg .b32 a)\n{\n    \
                     vadd.s32.s32.s32 d, a, a, d;\n  ret;\n}\n";

struct Run {
    status: Option<i32>,
    stdout: String,
    stderr: String,
}

/// Runs the program so that it panics when it works on `what`.
fn run(folder: &Folder, what: &str, arguments: &[&str]) -> Run {
    let child: Child = start_with(&folder.0, arguments, &[("VPTX_TEST_PANIC", what)]);
    let output = child.wait_with_output().expect("the program ends");
    let [stdout, stderr] =
        [output.stdout, output.stderr].map(|text| String::from_utf8(text).expect("UTF-8"));
    Run { status: output.status.code(), stdout, stderr }
}

/// A folder of three files.
fn files(name: &str) -> Folder {
    let folder = Folder::new(name);
    for name in ["a.ptx", "b.ptx", "c.ptx"] {
        folder.write(name, LOOSE);
    }
    folder
}

fn said(what: &str) -> String {
    format!(
        "a bug in vptx ended the work on `{what}`; please report it: a test asked for it, \
         at src/workspace/bug.rs:"
    )
}

#[test]
fn the_other_files_are_read() {
    let folder = files("bugs-files");
    folder.write("c.ptx", BAD);
    folder.write("b.cu", "asm(\"vadd.u32 %0;\" :: \"r\"(1));");
    let commands: [&[&str]; 10] = [
        &["check", "--format", "concise", "a.ptx", "b.ptx", "c.ptx"],
        &["check", "--format", "concise", "."],
        &["check", "--format", "sarif", "."],
        &["check", "--statistics", "--exit-zero", "."],
        &["fmt", "--check", "."],
        &["fmt", "--diff", "."],
        &["lower", "--emit", "ir", "a.ptx", "b.ptx"],
        &["survey", "."],
        &["diff", ".", "."],
        &["extract", "a.ptx", "b.ptx", "c.ptx"],
    ];
    for arguments in commands {
        let plain = run(&folder, "", arguments);
        let run = run(&folder, "b.ptx", arguments);
        assert_eq!(run.status, Some(2), "{arguments:?} {}", run.stderr);
        assert!(run.stderr.contains(&said("b.ptx")), "{arguments:?} {}", run.stderr);
        let others = |text: &str| -> Vec<String> {
            let is_other = |line: &&str| line.contains("a.ptx") || line.contains("c.ptx");
            text.lines().filter(is_other).map(str::to_string).collect()
        };
        assert_eq!(others(&run.stdout), others(&plain.stdout), "{arguments:?}");
    }
    let run = run(&folder, "b.cu", &["port", "--to", "c", "--check", "."]);
    assert_eq!(run.status, Some(2), "{}", run.stderr);
    assert!(run.stderr.contains(&said("b.cu")), "{}", run.stderr);
}

/// The report and the other files are written; the file with the bug stays unchanged.
#[test]
fn the_work_on_the_others_is_done() {
    let folder = files("bugs-done");
    let arguments = ["check", "--format", "concise", "-o", "report", "."];
    let first = run(&folder, "b.ptx", &arguments);
    assert_eq!((first.status, &*first.stdout), (Some(2), ""));
    let report = folder.read("report");
    assert!(report.contains("a.ptx:") && report.contains("c.ptx:"), "{report}");
    assert!(!report.contains("b.ptx:"), "{report}");
    let second = run(&folder, "b.ptx", &["fmt", "."]);
    assert_eq!(second.status, Some(2));
    let text = |name: &str| folder.read(name);
    assert_eq!(text("b.ptx"), LOOSE);
    assert_ne!(text("a.ptx"), LOOSE);
    assert_eq!(text("c.ptx"), text("a.ptx"));
}

/// A bug outside of the work on a file is reported in one line, too.
#[test]
fn a_bug_anywhere_is_told_and_is_no_finding() {
    let folder = files("bugs-anywhere");
    for arguments in [&["explain", "V510"][..], &["eval", "vmin.s32.s32.s32 d, a, b;", "a=1"]] {
        let run = run(&folder, "the command line", arguments);
        assert_eq!((run.status, &*run.stdout), (Some(2), ""));
        let start = format!("vptx: {}", said("the command line"));
        assert!(run.stderr.starts_with(&start), "{}", run.stderr);
        assert_eq!(run.stderr.lines().count(), 1);
    }
}
