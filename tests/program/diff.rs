//! `vptx diff` as users and git call it.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::fixtures;
use crate::support::fatbin::{fat_binary, library, lz4, plain, zip, zstd};
use crate::support::program::{Folder, Run, output_in, vptx, vptx_in, without_colours};

const BEFORE: &str = "fixtures/readme/before.ptx";
const AFTER: &str = "fixtures/readme/after.ptx";

/// A module with one function, which adds a number.
fn module(function: &str, number: u32) -> String {
    format!(
        ".version 8.0\n.target sm_90\n.visible .func {function}(.reg .b32 d, .reg .b32 a) {{\n\
         \tadd.u32 d, a, {number};\n\tret;\n}}\n"
    )
}

fn records(run: &Run) -> Vec<Value> {
    fixtures::records(run, "diff.schema.json")
}

#[test]
fn the_status_tells() {
    let folder = Folder::new("diff-status");
    folder.write("old.ptx", module("f", 1));
    folder.write("same.ptx", module("f", 1).replace("\tadd", "// sum\nadd"));
    folder.write("new.ptx", module("f", 2));
    folder.write("broken.ptx", module("f", 2).replace("add.u32 d, a, 2;", "vadd d, a"));
    folder.write("a.cu", "int x;");
    folder.write("program", "\x7fELF without PTX");
    folder.write("folder/old.ptx", module("f", 1));
    let run = |arguments: &[&str]| vptx_in(&folder.0, arguments, module("f", 1).as_bytes());
    let same = run(&["diff", "old.ptx", "same.ptx"]);
    assert_eq!((same.status, &*same.stdout, &*same.stderr), (0, "", ""));
    assert_eq!(run(&["diff", "old.ptx", "new.ptx"]).status, 1);
    for quiet in [["diff", "-q", "old.ptx", "new.ptx"], ["-q", "diff", "old.ptx", "new.ptx"]] {
        let quiet = run(&quiet);
        assert_eq!((quiet.status, &*quiet.stdout, &*quiet.stderr), (1, "", ""));
    }
    assert_eq!(run(&["diff", "-", "old.ptx"]).status, 0);
    assert_eq!(run(&["diff", "new.ptx", "-"]).status, 1);
    // Equal bytes do not differ, even if they are no legal text.
    let broken = run(&["diff", "broken.ptx", "broken.ptx"]);
    assert_eq!((broken.status, &*broken.stderr), (0, ""));
    for (arguments, message) in [
        (&["diff", "old.ptx", "gone.ptx"][..], "cannot read `gone.ptx`: no such file"),
        (&["diff", "-", "-"], "standard input can be one side only"),
        (&["diff", "old.ptx", "folder"], "a directory is compared with another directory"),
        (&["diff", "old.ptx"], "name two PTX files"),
        (&["diff", "old.ptx", "a.cu"], "cannot read `a.cu`: it is neither PTX nor a binary"),
        (&["diff", "old.ptx", "broken.ptx"], "broken.ptx:"),
        (&["diff", "old.ptx", "program"], "no PTX found in `program`"),
        (&["diff", "--git", "old.ptx", "new.ptx"], "--git is for git alone"),
        (&["diff", "--stat", "--format", "json", "old.ptx", "new.ptx"], "cannot be used with"),
    ] {
        let run = run(arguments);
        assert_eq!((run.status, &*run.stdout), (2, ""), "{arguments:?}");
        assert!(run.stderr.contains(message), "{arguments:?}: {}", run.stderr);
    }
    // One reason is enough.
    fs::create_dir(folder.0.join("empty")).unwrap();
    let run = run(&["diff", "empty", "folder"]);
    assert_eq!((run.status, &*run.stderr), (2, "vptx: no files to read in `empty`\n"));
}

/// If one text of a directory cannot be compared, the status is 2, whatever the other texts
/// contain.
#[test]
fn a_text_with_errors_fails_the_whole() {
    let folder = Folder::new("diff-failed");
    for side in ["old", "new"] {
        folder.write(&format!("{side}/same.ptx"), module("f", 1));
        folder.write(&format!("{side}/wrong.ptx"), format!("// {side}\n.func f() {{\n"));
    }
    let run = || vptx_in(&folder.0, &["diff", "old", "new"], b"");
    assert_eq!((run().status, run().stderr.contains("wrong.ptx")), (2, true));
    folder.write("new/same.ptx", module("f", 2));
    assert_eq!(run().status, 2);
    std::fs::remove_file(folder.0.join("new/wrong.ptx")).unwrap();
    std::fs::remove_file(folder.0.join("old/wrong.ptx")).unwrap();
    assert_eq!(run().status, 1);
}

#[test]
fn both_texts_stand_side_by_side() {
    let run = vptx(&["diff", "-y", "-U", "1", BEFORE, AFTER], "");
    insta::assert_snapshot!(run.transcript());
}

/// Nobody reads longer lines.
#[test]
fn lines_side_by_side_have_1000_columns_at_most() {
    let of = |columns: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_vptx"));
        command.args(["diff", "-y", BEFORE, AFTER]).env("COLUMNS", columns);
        command.output().expect("the program starts").stdout
    };
    assert!(of("1000") == of("100000") && of("900") != of("1000"));
}

#[test]
fn colours_mark_the_words_that_differ() {
    let folder = Folder::new("diff-colours");
    folder.write("old.ptx", module("f", 1));
    folder.write("new.ptx", module("f", 20));
    let run = vptx_in(&folder.0, &["diff", "--color", "always", "old.ptx", "new.ptx"], b"");
    assert!(run.stdout.contains("\u{1b}[31m-"), "{:?}", run.stdout);
    let is_marked = |number: &str| {
        run.stdout.lines().any(|line| {
            let start = line.find("\u{1b}[7m").map(|at| &line[at..]);
            start.is_some_and(|rest| rest.contains(number) && !rest.contains("add"))
        })
    };
    assert!(is_marked("1") && is_marked("20"), "{:?}", run.stdout);
    let plain = vptx_in(&folder.0, &["diff", "old.ptx", "new.ptx"], b"");
    assert_eq!(without_colours(&run.stdout), plain.stdout);
    // The last word of a line may be the one that differs.
    folder.write("new.ptx", module("f", 1).replace("8.0", "8.1"));
    let run = vptx_in(&folder.0, &["diff", "--color", "always", "old.ptx", "new.ptx"], b"");
    let marked = run.stdout.split("\u{1b}[7m").skip(1).map(without_colours);
    let marked: Vec<String> =
        marked.map(|rest| rest.lines().next().unwrap_or_default().to_string()).collect();
    assert_eq!(marked, ["0", "1"], "{:?}", run.stdout);
}

#[test]
fn a_moved_block_is_told() {
    let lines: Vec<String> =
        (1..7).map(|number| format!("st.global.u32 [a+{}], {number};\n", 4 * number)).collect();
    let text = |order: &[usize]| {
        let body: String = order.iter().map(|at| lines[*at].as_str()).collect();
        format!(".version 8.0\n.target sm_90\n.visible .func f(.reg .b64 a) {{\n{body}}}\n")
    };
    let folder = Folder::new("diff-moved");
    folder.write("old.ptx", text(&[0, 1, 2, 3, 4, 5]));
    folder.write("new.ptx", text(&[2, 3, 4, 5, 0, 1]));
    let run = vptx_in(&folder.0, &["diff", "old.ptx", "new.ptx"], b"");
    insta::assert_snapshot!(run.transcript());
    // Statements that leave one place for two are two blocks.
    folder.write("new.ptx", text(&[2, 0, 3, 4, 1, 5]));
    let notes = || {
        let run = vptx_in(&folder.0, &["diff", "old.ptx", "new.ptx"], b"");
        let notes = run.stdout.lines().filter(|line| line.contains("moved to"));
        notes.map(String::from).collect::<Vec<_>>()
    };
    assert_eq!(notes(), ["~ 1 statement moved to line 5", "~ 1 statement moved to line 8"]);
    // A statement that is removed is no part of the block before it.
    folder.write("new.ptx", text(&[2, 3, 4, 5, 0]));
    assert_eq!(notes(), ["~ 1 statement moved to line 8"]);
}

#[test]
fn json_follows_its_schema() {
    let run = vptx(&["diff", "--format", "json", "-U", "0", BEFORE, AFTER], "");
    let records = records(&run);
    let [change, total] = &records[..] else { panic!("{records:?}") };
    assert_eq!((&change["old_name"], &change["change"]), (&"score".into(), &"changed".into()));
    let lines: Vec<_> = change["hunks"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|hunk| hunk["lines"].as_array().unwrap())
        .map(|line| (line["kind"].as_str().unwrap(), line["text"].as_str().unwrap()))
        .collect();
    assert_eq!(
        lines,
        [
            ("added", "mov.u32 %r9, %ntid.x;"),
            ("removed", "shl.b32 %r13, %r12, 1;"),
            ("added", "add.s32 %r13, %r12, %r12;"),
        ]
    );
    // The lines are lines of the files.
    assert_eq!(change["hunks"][0]["lines"][0]["new"]["line"], 15);
    assert_eq!(change["hunks"][1]["lines"][0]["old"]["line"], 21);
    assert_eq!(change["hunks"][1]["equivalences"][0]["proven"], true);
    assert_eq!((&total["kind"], &total["changed"]), (&"total".into(), &1.into()));
    assert_eq!((&total["statements_added"], &total["statements_removed"]), (&2.into(), &1.into()));
}

#[test]
fn directories_are_compared_file_by_file() {
    let folder = Folder::new("diff-folders");
    for (name, text) in [
        ("one/a.ptx", module("a", 1)),
        ("one/b/b.ptx", module("b", 1)),
        ("one/c.ptx", module("c", 1)),
        ("two/a.ptx", module("a", 1) + "// more\n"),
        ("two/b/b.ptx", module("b", 2)),
        ("two/d.ptx", module("d", 1)),
        ("two/note.txt", "no PTX".into()),
    ] {
        folder.write(name, text);
    }
    let run = vptx_in(&folder.0, &["diff", "one", "two"], b"");
    insta::assert_snapshot!(run.transcript());
    let json = vptx_in(&folder.0, &["diff", "--format", "json", "one", "two"], b"");
    let kinds: Vec<_> = records(&json).iter().map(|it| it["kind"].clone()).collect();
    assert_eq!(kinds, ["change", "only-old", "only-new", "total"]);
    // The total counts the functions of all texts.
    for (name, more) in [("a", "e"), ("b/b", "f")] {
        let text = fs::read_to_string(folder.0.join(format!("one/{name}.ptx"))).unwrap();
        let more = module(more, 1);
        let (_, function) = more.split_once("sm_90\n").expect("a function");
        folder.write(&format!("two/{name}.ptx"), text + function);
    }
    let run = vptx_in(&folder.0, &["diff", "one", "two"], b"");
    let total = "2 of 2 texts differ, 1 only on the old side, 1 only on the new side; \
                 2 functions added: 6 statements added, 0 removed\n";
    assert_eq!(run.stderr, total);
}

/// The total counts the renamed functions of all texts. Their statements are the same.
#[test]
fn renamed_functions_of_all_texts_are_counted() {
    let folder = Folder::new("diff-renamed");
    for name in ["a", "b"] {
        folder.write(&format!("one/{name}.ptx"), module("before", 1));
        folder.write(&format!("two/{name}.ptx"), module("after", 1));
    }
    let run = vptx_in(&folder.0, &["diff", "one", "two"], b"");
    let total = "2 of 2 texts differ; 2 functions renamed: 0 statements added, 0 removed\n";
    assert_eq!(run.stderr, total);
}

#[test]
fn binaries_are_compared_text_by_text() {
    let folder = Folder::new("diff-binaries");
    let [f, g, h] = ["f", "g", "h"].map(|name| module(name, 1));
    // The new library has its texts in another order and partly compressed. One text changed, one
    // is gone, and one is new.
    let old = library(&[
        fat_binary(&[plain(80, &f), plain(90, &f)]),
        fat_binary(&[plain(90, &g), plain(90, &h)]),
    ]);
    let new = library(&[
        fat_binary(&[lz4(90, &g), plain(90, &module("f", 3))]),
        fat_binary(&[zstd(90, &module("i", 1).replace("add", "sub")), plain(80, &f)]),
    ]);
    folder.write("libx.so.1", &old);
    folder.write("libx.so.2", &new);
    let run = vptx_in(&folder.0, &["diff", "-U", "0", "libx.so.1", "libx.so.2"], b"");
    insta::assert_snapshot!(run.transcript());
    let wheels = [("x-1.0-any.whl", &old), ("x-2.0-any.whl", &new)];
    for (name, library) in wheels {
        folder.write(name, zip(&[("x/libx.so", library), ("x/one.txt", b"text")]));
    }
    let run = vptx_in(&folder.0, &["diff", "-q", "--stat", wheels[0].0, wheels[0].0], b"");
    assert_eq!((run.status, &*run.stdout), (0, ""));
    let run = vptx_in(&folder.0, &["diff", "--stat", wheels[0].0, wheels[1].0], b"");
    insta::assert_snapshot!(run.transcript());
}

/// ptxas 13.5 makes 31 machine instructions of this `vavrg4` on `sm_90`. For `sm_72`, nothing was
/// measured.
#[test]
fn machine_instructions_that_were_not_measured_are_no_zeros() {
    let folder = Folder::new("diff-costs");
    let text = |target: u32, body: &str| {
        format!(
            ".version 8.0\n.target sm_{target}\n\
             .visible .func f(.reg .b32 d, .reg .b32 a) {{\n{body}\nret;\n}}\n"
        )
    };
    let average = "vavrg4.u32.u32.u32 d, a, d, d;";
    let name = "machine instructions for video instructions";
    for (old, new, expected) in [
        ((72, average), (72, "add.u32 d, a, 1;"), format!("- 0 - {name}, where measured")),
        ((72, average), (90, average), format!("- 31 - {name}, where measured")),
        ((90, average), (72, average), format!("31 - - {name}, where measured")),
        ((72, average), (72, average), format!("- - - {name}, where measured")),
        ((90, average), (90, "add.u32 d, a, 1;"), format!("31 0 -31 {name}")),
    ] {
        folder.write("old.ptx", text(old.0, old.1));
        folder.write("new.ptx", text(new.0, new.1));
        let run = vptx_in(&folder.0, &["diff", "--stat", "old.ptx", "new.ptx"], b"");
        let row = run.stdout.lines().find(|line| line.contains(name)).expect("a row");
        let words: Vec<&str> = row.split_whitespace().collect();
        assert_eq!(words.join(" "), expected, "{}", run.stdout);
    }
    // Only one of the two texts has counts, both in the old and in the new version.
    for side in ["old", "new"] {
        folder.write(&format!("{side}/a.ptx"), text(90, average));
        folder.write(&format!("{side}/b.ptx"), text(72, average));
    }
    folder.write("new/a.ptx", text(90, &average.repeat(2)));
    let run = vptx_in(&folder.0, &["diff", "--stat", "old", "new"], b"");
    assert!(run.stdout.contains("31     62     +31  machine"), "{}", run.stdout);
}

/// Registers of vectors have a row of their own in the table.
#[test]
fn registers_are_counted_by_their_width() {
    let folder = Folder::new("diff-registers");
    let body = ".reg .v4 .b32 v;\n.reg .pred p;\nmov.v4.b32 v, {a, a, a, a};\n\
                setp.eq.u32 p, a, 0;\n@p add.u32 d, v.y, 1;";
    folder.write("a.ptx", module("f", 1).replace("\tadd.u32 d, a, 1;", body));
    let run = vptx_in(&folder.0, &["diff", "--stat", "a.ptx", "a.ptx"], b"");
    for row in ["1 1 0 registers of vectors", "1 1 0 predicates", "2 2 0 registers of 32 bits"] {
        let is_row = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ") == row;
        assert!(run.stdout.lines().any(is_row), "{row}: {}", run.stdout);
    }
}

/// Texts without a common function are paired by their target, then by their order.
#[test]
fn texts_of_a_binary_are_paired_by_target() {
    let folder = Folder::new("diff-targets");
    let text = |name: &str, target: u32| module(name, 1).replace("sm_90", &format!("sm_{target}"));
    let old = fat_binary(&[plain(80, &text("f", 80)), plain(90, &text("g", 90))]);
    let new = fat_binary(&[plain(90, &text("h", 90)), plain(80, &text("i", 80))]);
    folder.write("one/libx.so", old);
    folder.write("two/libx.so", new);
    let run = vptx_in(&folder.0, &["diff", "one/libx.so", "two/libx.so"], b"");
    assert_eq!((run.status, run.stdout.contains(".target sm")), (1, false), "{}", run.stdout);
}

/// Equal texts are paired even if other texts have functions of the same names.
#[test]
fn equal_texts_of_a_binary_are_paired_first() {
    let folder = Folder::new("diff-equal");
    let [one, two] = [1, 2].map(|number| module("f", number));
    folder.write("one/libx.so", fat_binary(&[plain(90, &one), plain(90, &two)]));
    folder.write("two/libx.so", fat_binary(&[plain(90, &two), plain(90, &one)]));
    let run = vptx_in(&folder.0, &["diff", "one/libx.so", "two/libx.so"], b"");
    assert_eq!((run.status, &*run.stdout), (0, ""), "{}", run.stderr);
}

#[test]
fn releases_differ_in_targets_and_hashes() {
    let name = |hash: &str| format!("_ZN39_INTERNAL_{hash}_9_reduce_cu_{hash}3sumEv");
    let text =
        |hash: &str, target: u32| module(&name(hash), 1).replace("sm_90", &format!("sm_{target}"));
    let folder = Folder::new("diff-releases");
    let other = module("other", 1);
    folder
        .write("one/libx.so.1", fat_binary(&[plain(90, &other), plain(90, &text("91a723db", 90))]));
    folder.write("two/libx.so.2", fat_binary(&[plain(120, &text("0badcafe", 120))]));
    let run = vptx_in(&folder.0, &["diff", "one/libx.so.1", "two/libx.so.2"], b"");
    assert_eq!(run.status, 1);
    assert!(run.stdout.contains("-.target sm_90\n+.target sm_120\n"), "{}", run.stdout);
    assert!(!run.stdout.contains("_INTERNAL_"), "{}", run.stdout);
    assert!(run.stdout.contains("only on the old side: one/libx.so.1!1.sm_90.ptx"));
}

#[test]
fn types_of_equal_width_can_be_ignored() {
    let text = |[ld, add, setp, st]: [&str; 4]| {
        format!(
            ".version 8.0\n.target sm_90\n.visible .func f(.reg .b64 p) {{\n\
             .reg .b32 %r<3>;\n.reg .pred q;\nld.global.{ld} %r1, [p];\nadd.{add} %r2, %r1, 1;\n\
             setp.{setp} q, %r2, 1;\n@q st.global.{st} [p], %r2;\n}}\n"
        )
    };
    let folder = Folder::new("diff-types");
    folder.write("old.ptx", text(["u32", "s32", "eq.u32", "u16"]));
    folder.write("new.ptx", text(["b32", "u32", "eq.s32", "b16"]));
    // A signed load of 16 bits fills the register with the sign.
    folder.write("signed.ptx", text(["s16", "u32", "eq.s32", "b16"]));
    folder.write("less.ptx", text(["b32", "u32", "lt.u32", "b16"]));
    folder.write("signed_less.ptx", text(["b32", "u32", "lt.s32", "b16"]));
    let run =
        |arguments: &[&str]| vptx_in(&folder.0, &[&["diff", "-q"], arguments].concat(), b"").status;
    assert_eq!(run(&["old.ptx", "new.ptx"]), 1);
    assert_eq!(run(&["--ignore-types", "old.ptx", "new.ptx"]), 0);
    assert_eq!(run(&["--ignore-types", "new.ptx", "signed.ptx"]), 1);
    assert_eq!(run(&["--ignore-types", "less.ptx", "signed_less.ptx"]), 1);
    // The low half of a product does not depend on the signs, the high half and the whole do.
    for (opcode, status) in [("mul.lo", 0), ("mul.hi", 1), ("mul.wide", 1), ("mad.hi", 1)] {
        let text = |sign: char| {
            let registers = if opcode.starts_with("mad") { "r, a, a, a" } else { "r, a, a" };
            format!(".func f(.reg .b32 a, .reg .b64 r) {{\n{opcode}.{sign}32 {registers};\n}}\n")
        };
        folder.write("unsigned.ptx", text('u'));
        folder.write("signed.ptx", text('s'));
        assert_eq!(run(&["--ignore-types", "unsigned.ptx", "signed.ptx"]), status, "{opcode}");
    }
}

#[test]
fn hidden_characters_stay_hidden() {
    let folder = Folder::new("diff-hidden");
    let text = |word: &str| {
        module("f", 1).replace("ret;", &format!(".pragma \"\u{1b}[2J{word}\u{202e}\";\nret;"))
    };
    folder.write("old\u{1b}[31m.ptx", text("one"));
    folder.write("new.ptx", text("two"));
    for arguments in [&["-y"][..], &["--stat"], &["--color", "always"], &["--format", "json"]] {
        let arguments = [&["diff", "old\u{1b}[31m.ptx", "new.ptx"], arguments].concat();
        let run = vptx_in(&folder.0, &arguments, b"");
        assert_eq!(run.status, 1, "{}", run.stderr);
        assert!(!run.stdout.contains("\u{1b}[2J"), "{:?}", run.stdout);
        // JSON contains texts exactly; it escapes only control characters.
        assert!(arguments.contains(&"json") || !run.stdout.contains('\u{202e}'));
        assert!(!run.stdout.contains("old\u{1b}"), "{:?}", run.stdout);
    }
}

#[test]
fn a_large_table_is_shortened() {
    let folder = Folder::new("diff-table");
    let text = |last: u32| {
        let numbers: Vec<String> = (0..20_000).map(|number| number.to_string()).collect();
        format!(
            ".version 8.0\n.target sm_90\n.const .u32 table[20001] = {{{}, {last}}};\n",
            numbers.join(", ")
        )
    };
    folder.write("old.ptx", text(1));
    folder.write("new.ptx", text(2));
    let run = vptx_in(&folder.0, &["diff", "old.ptx", "new.ptx"], b"");
    assert!(run.stdout.len() < 5000, "{}", run.stdout.len());
    for end in [", 19999, 1};", ", 19999, 2};"] {
        assert!(run.stdout.lines().any(|line| line.ends_with(end)), "{}", run.stdout);
    }
}

/// Of a long line, 500 bytes stay at its start and on both sides of the difference, and 40 at its
/// end.
#[test]
fn a_long_line_keeps_its_ends_and_what_is_near_the_difference() {
    let folder = Folder::new("diff-long-line");
    let text = |value: u32| {
        let (before, after) = ("7, ".repeat(500), ", 7".repeat(500));
        format!(
            ".version 8.0\n.target sm_90\n.const .u32 table[1001] = {{{before}{value}{after}}};\n"
        )
    };
    folder.write("old.ptx", text(1));
    folder.write("new.ptx", text(2));
    let run = vptx_in(&folder.0, &["diff", "old.ptx", "new.ptx"], b"");
    for (sign, value) in [("-.const ", "1"), ("+.const ", "2")] {
        let line = run.stdout.lines().find(|line| line.starts_with(sign)).expect(sign);
        let parts: Vec<&str> = line.split(" … ").collect();
        let [start, _, near, _, end] = parts[..] else { panic!("{line}") };
        // The sign is no part of the line.
        assert_eq!((start.len(), near.len(), end.len()), (1 + 500, 500 + 1 + 500, 40), "{line}");
        assert_eq!(&near[500..501], value);
    }
    // Of a long difference, 500 bytes stay at both of its ends.
    let head = ".const .u32 table[1001] = {";
    let text = |value: u32| {
        let between = ", 7".repeat(999);
        format!(".version 8.0\n.target sm_90\n{head}{value}{between}, {value}}};\n")
    };
    folder.write("old.ptx", text(1));
    folder.write("new.ptx", text(2));
    let run = vptx_in(&folder.0, &["diff", "old.ptx", "new.ptx"], b"");
    for start in [format!("-{head}1, 7"), format!("+{head}2, 7")] {
        let line = run.stdout.lines().find(|line| line.starts_with(&start)).expect("the line");
        let parts: Vec<&str> = line.split(" … ").collect();
        let [first, _, last] = parts[..] else { panic!("{line}") };
        let length = 1 + head.len() + 500;
        assert_eq!((first.len(), last.len()), (length, 500 + "};".len()), "{line}");
    }
}

/// Runs git in a folder, without the settings of the user.
fn git(folder: &Path, arguments: &[&str]) -> String {
    let program = Path::new(env!("CARGO_BIN_EXE_vptx")).parent().expect("a folder");
    let path = std::env::var("PATH").unwrap_or_default();
    let output = Command::new("git")
        .args(["-c", "user.name=n", "-c", "user.email=e", "-c", "core.pager=cat"])
        .args(arguments)
        .current_dir(folder)
        .env("PATH", format!("{}:{path}", program.display()))
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .output()
        .expect("git");
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

#[cfg(unix)]
#[test]
fn git_calls_the_driver() {
    let folder = Folder::new("diff-git");
    let here = folder.0.as_path();
    git(here, &["init", "--quiet"]);
    git(here, &["config", "diff.ptx.command", "vptx diff --git"]);
    folder.write(".gitattributes", "*.ptx diff=ptx\n");
    folder.write("a.ptx", module("a", 1));
    folder.write("b c.ptx", module("b", 1));
    folder.write("gone.ptx", module("gone", 1));
    git(here, &["add", "."]);
    git(here, &["commit", "--quiet", "--message", "one"]);
    folder.write("a.ptx", module("a", 1).replace("d, a", "d,   a"));
    folder.write("b c.ptx", module("b", 2));
    folder.write("broken.ptx", "junk [[[\n");
    folder.write("fresh.ptx", module("fresh", 1));
    fs::remove_file(here.join("gone.ptx")).unwrap();
    git(here, &["add", "--all"]);
    insta::assert_snapshot!(git(here, &["diff", "--cached"]));
    // As the book says. A text with errors is shown as it is.
    let page = include_str!("../../docs/differences.md");
    let (_, command) = page.split_once("git config diff.ptx.textconv '").expect("the command");
    let (command, _) = command.split_once("'\n").expect("its end");
    git(here, &["config", "diff.ptx.textconv", command]);
    git(here, &["commit", "--quiet", "--message", "two"]);
    let log = git(here, &["log", "--patch", "--no-ext-diff"]);
    assert!(log.contains("\n+junk [[[\n"), "{log}");
    assert!(log.contains("\n+++ b/b c.ptx"), "{log}");
    // The normal forms are equal.
    assert_eq!(log.matches("\n+++ b/a.ptx").count(), 1, "{log}");
    // When git uses a pager, the driver's output has colours.
    let pair = ["diff", "--git", "a.ptx", "/dev/null", "0", "0", "b c.ptx", "1", "100644"];
    let paged = Command::new(env!("CARGO_BIN_EXE_vptx"))
        .args(pair)
        .current_dir(here)
        .env("GIT_PAGER_IN_USE", "1")
        .env_remove("NO_COLOR")
        .output()
        .expect("the program");
    assert!(String::from_utf8_lossy(&paged.stdout).contains("\u{1b}[32m"));
    let plain = output_in(here, &pair, b"");
    assert!(!String::from_utf8_lossy(&plain.stdout).contains('\u{1b}'));
    // Of a renamed file, the note names the version with errors.
    let mut renamed = [
        "diff",
        "--git",
        "a.ptx",
        "broken.ptx",
        "0",
        "0",
        "b c.ptx",
        "1",
        "0",
        "b c.ptx",
        "similar",
    ];
    for broken in ["a/a.ptx", "b/b c.ptx"] {
        let run = vptx_in(here, &renamed, b"");
        assert!(run.stdout.contains(&format!("{broken} has syntax errors")), "{}", run.stdout);
        renamed.swap(3, 6);
    }
    // For a file with conflicts, git gives only the path. If the driver fails, git stops.
    let conflict = vptx_in(here, &["diff", "--git", "a.ptx"], b"");
    assert_eq!((conflict.status, &*conflict.stdout), (0, "* Unmerged path a.ptx\n"));
}

/// A changed word is marked as a whole, even if only a part of it differs.
#[test]
fn a_changed_word_is_marked_as_a_whole() {
    let folder = Folder::new("diff-words");
    folder.write("old.ptx", module("f", 120));
    folder.write("new.ptx", module("f", 125));
    let run = vptx_in(&folder.0, &["diff", "--color", "always", "old.ptx", "new.ptx"], b"");
    for (number, colour) in [("120", 31), ("125", 32)] {
        let marked = format!("\u{1b}[7m\u{1b}[{colour}m{number}\u{1b}[0m");
        assert!(run.stdout.contains(&marked), "{:?}", run.stdout);
    }
}
