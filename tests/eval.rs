//! `vptx eval` and `vptx lower` as a user meets them.
#![cfg(feature = "cli")]

#[path = "support/program.rs"]
mod program;
mod support;

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;

use program::{ROOT, Run, start, vptx, vptx_in};
use support::{fixture, fixture_text};
use vptx::Instruction;
use vptx::ir::{Program, Semantics};

fn eval(arguments: &[&str]) -> Run {
    vptx(&[&["eval"], arguments].concat(), "")
}

/// Runs of `vptx eval`, one after the other.
fn transcripts(runs: &[&[&str]]) -> String {
    let runs: Vec<String> = runs
        .iter()
        .map(|arguments| {
            format!("$ vptx eval {}\n{}", arguments.join(" "), { eval(arguments).transcript() })
        })
        .collect();
    runs.join("\n")
}

const SUB: &str = "vsub.s32.s32.s32.sat d.b2, a.b2, b.b2, c;";
const SUB_INPUTS: [&str; 3] = ["a=0x7f80ff01", "b=0x80007fff", "c=0xfe80feff"];

#[test]
fn results_by_word_and_lane() {
    insta::assert_snapshot!(transcripts(&[
        // c is not read under a full mask.
        &["vadd4.u32.u32.u32.sat d, a, b, c;", "a=0xff01f010", "b=0x01ff2010"],
        &[
            "vadd4.s32.s32.s32.sat %r9.b310, %r1, %r2, %r3",
            "%r1=0x7f80_017f",
            "%r2=0x7fff_ff01",
            "%r3=0x80"
        ],
        &["vadd2.u32.u32.u32.add d, a, b, c;", "a=0xffffffff", "b=0b1", "c=-1"],
        &["vset4.u32.s32.lt d.b20, a, b, c;", "a=0x000100ff", "b=0x0102017f", "c=-1"],
        &["vabsdiff.u32.s32.s32 d, a, b;", "a=-2147483648", "b=2147483647"],
        &["vshl.s32.u32.u32.sat.clamp d.h0, a, 4, c;", "a=0x800", "c=0xAAAA0000"],
        &["vadd.u32.u32.u32 d, 1, 2;"],
        &["@!%p vmin.s32.s32.s32 d, a, a.b0;", "a=0x80"],
    ]));
}

#[test]
fn all_semantics_differ_here() {
    let all = ["--semantics", "all"];
    insta::assert_snapshot!(transcripts(&[
        &[&[SUB][..], &SUB_INPUTS, &all].concat(),
        // C1: ptxas 13 is mended.
        &[&["vadd.u32.u32.u32 d.h1, a, b, c;", "a=0x12340000", "b=0x5678", "c=0"][..], &all]
            .concat(),
    ]));
}

#[test]
fn all_semantics_agree_here() {
    let all = ["--semantics", "all"];
    insta::assert_snapshot!(transcripts(&[
        &[&["vsub.u32.u32.u32.min d, a, b, c;", "a=3", "b=2", "c=1"][..], &all].concat(),
        &[&["vadd.u32.u32.u32.sat d, a, a;", "a=1"][..], &all].concat(),
        &[&["vadd.u32.u32.u32.sat d, a, -5;", "a=1"][..], &all].concat(),
        &[&["vmad.u32.u32.u32 d, a, b, c;", "a=-1", "b=-1", "c=-1"][..], &all].concat(),
    ]));
}

#[test]
fn every_step_is_shown() {
    let mad = "vmad.s32.u32.s32.sat d, a, b, c;";
    insta::assert_snapshot!(transcripts(&[
        &[&[SUB][..], &SUB_INPUTS, &["--trace", "--semantics", "all"]].concat(),
        &["vsub2.s32.s32.s32.sat d.h1, a.h23, b, c;", "a=5", "b=0x7fff8000", "c=0", "--trace"],
        // The longest operations and the largest values.
        &[mad, "a=0xffffffff", "b=0x80000000", "c=0", "--trace", "--semantics", "ptxas-12"],
        &[mad, "a=0xffffffff", "b=0x80000000", "c=0", "--trace"],
    ]));
}

#[test]
fn nothing_is_wider_than_80_columns() {
    let vectors = fixture_text("oracle/vectors.tsv");
    let mut instructions: Vec<&str> = vectors.lines().skip(1).step_by(700).collect();
    instructions.push("vmad.s32.u32.s32.sat d, a, b, c;\t0xffffffff\t0x80000000\t0x80000000");
    instructions.push("vmad.u32.u32.u32.sat d, a, b, c;\t0xffffffff\t0xffffffff\t0xffffffff");
    for line in instructions {
        let fields: Vec<&str> = line.split('\t').collect();
        // As it is read: without a third source that is ignored.
        let instruction = fields[0].parse::<Instruction>().unwrap().to_string();
        let (_, operands) = instruction.split_once(' ').unwrap();
        let words: Vec<&str> = operands.split(|c: char| !c.is_alphanumeric()).collect();
        let values = ["a", "b", "c"].into_iter().zip(&fields[1..]);
        let mut arguments = vec![instruction.clone()];
        arguments.extend(
            values
                .filter(|(name, _)| words.contains(name))
                .map(|(name, value)| format!("{name}={value}")),
        );
        let mut arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        arguments.extend(["--semantics", "all", "--trace"]);
        let run = eval(&arguments);
        assert_eq!((run.status, run.stderr.as_str()), (0, ""), "{line}");
        for shown in run.stdout.lines() {
            assert!(shown.chars().count() <= 80, "{line}: {shown}");
        }
    }
}

#[test]
fn inputs_are_checked() {
    let add = "vadd.u32.u32.u32.max d, a, b, c;";
    insta::assert_snapshot!(transcripts(&[
        &[add, "a=1"],
        &[add, "a=1", "c=1"],
        &[add, "a=1", "b=2", "c=3", "d=4", "e=5"],
        &[add, "a=1", "b=2", "c=3", "a=1", "b=2"],
        &[add, "a=4294967296", "b=-2147483649", "c=0x1_0000_0000"],
        &[add, "a=", "b=_1", "c=-0x1"],
        &[add, "a", "b=0b2", "c=1e3", "=5"],
        &["vadd.u32.u32.u32 d, 1, 2;", "d=1"],
        &["vadd.u32.u32.u32 d, d, 2;"],
    ]));
    for value in [
        "0xffffffff",
        "0XFFFF_FFFF",
        "-1",
        "4294967295",
        "0b1111_1111_1111_1111_1111_1111_1111_1111",
    ] {
        let run = eval(&["vadd.u32.u32.u32 d, a, 0;", &format!("a={value}")]);
        assert!(run.stdout.contains("0xffffffff  unsigned 4294967295  signed -1"), "{value}");
    }
}

#[test]
fn only_what_is_read_is_needed() {
    // All lanes come from b; a is not read.
    let run = eval(&["vadd2.u32.u32.u32 d, a.h22, b.h33, c;", "b=0x00010002"]);
    assert_eq!(run.status, 0, "{}", run.stderr);
    assert!(run.stdout.contains("0x00030003"), "{}", run.stdout);
    // It may be given all the same.
    let run = eval(&["vadd2.u32.u32.u32 d, a.h22, b.h33, c;", "b=0x00010002", "a=7"]);
    assert_eq!(run.status, 0, "{}", run.stderr);
}

#[test]
fn rejected_instructions() {
    insta::assert_snapshot!(transcripts(&[
        &["vadd.u32.u32.u32 d, a", "a=1"],
        &["varvg4.u32.u32 d, a, b", "a=1"],
        &["vadd.u32.u32.u32 d, a, b; vadd.u32.u32.u32 d, a, b;", "a=1", "b=2"],
        &["vadd.u32.u32.u32 d, a, b; ret", "a=1", "b=2"],
        &["add.u32 d, a, b;", "a=1", "b=2"],
        &[""],
    ]));
    // As `check` prints them.
    for text in ["vadd.u32.u32 d, a, b;", "vadd.u32.u32.u32 d, a, b /* open"] {
        let checked = vptx(&["check", "--quiet", "-"], text);
        let run = eval(&[text]);
        assert_eq!(run.status, 1);
        assert_eq!(run.stdout, checked.stdout.replace("<stdin>", "<instruction>"));
    }
}

#[test]
fn recorded_vectors_in_a_batch() {
    let vectors = fixture_text("oracle/vectors.tsv");
    let rows: Vec<Vec<&str>> = vectors
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| line.split('\t').collect())
        .collect();
    assert!(rows.len() > 30_000);
    let all = vptx(&["eval", "--batch", "-", "--semantics", "all"], &vectors);
    assert_eq!((all.status, all.stderr.as_str()), (0, ""));
    assert_eq!(all.stdout.lines().count(), rows.len());
    for (line, row) in all.stdout.lines().zip(&rows) {
        assert_eq!(line, row[4..7].join("\t"), "{row:?}");
    }
    let path = fixture("oracle/vectors.tsv");
    for (column, semantics) in Semantics::ALL.into_iter().enumerate() {
        let path = path.to_str().unwrap();
        let one = vptx(&["eval", "--batch", path, "--semantics", semantics.text()], "");
        assert_eq!((one.status, one.stderr.as_str()), (0, ""));
        assert!(one.stdout.lines().eq(rows.iter().map(|row| row[4 + column])), "{semantics}");
    }
}

#[test]
fn lines_of_a_batch() {
    let lines = b"\xef\xbb\xbf# a comment\n\n  \t \n\
vadd.u32.u32.u32 d, a, b;\t1\t-3\n\
vadd.u32.u32.u32 d, a, b\t0xffff_ffff\t1\t-\textra\r\n\
 vsub4.u32.u32.u32 d, a, b, c; \t 0 \t 0x01010101 \t\n\
vadd.u32.u32.u32 d, 1, 0x10;\n\
vadd.u32.u32.u32.sat.min d, a, 1, c;\t5\t-\t0b11\n\
vadd.u32.u32 d, a, b;\t1\t2\n\
vadd.u32.u32.u32 d, a, b;\t1\n\
vadd.u32.u32.u32 d, a, b;\t1\t2x\n\
vadd.u32.u32.u32 d, b, a;\t1\t2\n\
vadd.u32.u32.u32 %r1, a, b;\t1\t2\n\
add.u32 d, a, b;\t1\t2\n\
vadd.u32.u32.u32 d, a, b; ret;\t1\t2\n\
\t1\t2\n\
\xff\t1\t2\n\
vadd.u32.u32.u32 d, a, b;\t2\t2";
    insta::assert_snapshot!(vptx_in(Path::new(ROOT), &["eval", "--batch", "-"], lines).transcript(), @r"
    status: 1
    -- stdout --
    0xfffffffe
    0x00000000
    0xffffffff
    0x00000011
    0x00000003
    error: V104 `vadd` needs 3 types, found 2
    error: malformed line: b is read and has no value
    error: malformed line: `2x` for b is no 32-bit word
    error: malformed line: operand `b` must be named a
    error: malformed line: operand `%r1` must be named d
    error: V101 there is no instruction `add`
    error: V006 something follows the instruction
    error: V006 expected an instruction, found `;`
    error: malformed line: not UTF-8
    0x00000004
    -- stderr --
    ");
    assert_eq!(
        vptx(&["eval", "--batch", "-"], "").transcript(),
        "status: 0\n-- stdout --\n-- stderr --\n"
    );
}

#[test]
fn batches_that_cannot_run() {
    let instruction = "vadd.u32.u32.u32 d, a, b;";
    insta::assert_snapshot!(transcripts(&[
        &["--batch", "no-such-file"],
        &["--batch", "src"],
        &["--batch", "-", instruction],
        &["--batch", "-", "--trace"],
        &[],
        &[instruction, "a=1", "b=1", "--semantics", "ptxas"],
    ]));
}

#[test]
fn a_batch_answers_as_it_reads() {
    let mut child = start(Path::new(ROOT), &["eval", "--batch", "-"]);
    let mut input = child.stdin.take().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    for a in 0..3 {
        writeln!(input, "vadd.u32.u32.u32 d, a, 1;\t{a}").unwrap();
        let mut answer = String::new();
        output.read_line(&mut answer).unwrap();
        assert_eq!(answer, format!("{:#010x}\n", a + 1));
    }
    drop(input);
    assert!(child.wait().unwrap().success());
}

/// Many more instructions than are kept, and results in the order of the lines.
#[test]
fn a_long_batch_keeps_its_order() {
    let line = |n: u32| format!("vadd.u32.u32.u32 d, a, {};\t1", n % 7_000);
    let lines: Vec<String> = (0..20_000).map(line).collect();
    let run = vptx(&["eval", "--batch", "-"], &lines.join("\n"));
    assert_eq!(run.status, 0);
    let expected = (0..20_000).map(|n| format!("{:#010x}", n % 7_000 + 1));
    assert!(run.stdout.lines().eq(expected));
}

#[test]
fn a_broken_pipe_is_no_error() {
    let mut child = start(Path::new(ROOT), &["eval", "--batch", "-"]);
    let mut input = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || {
        let lines = "vadd.u32.u32.u32 d, a, b;\t1\t2\n".repeat(100_000);
        // The program ends before it has read this.
        let _ = input.write_all(lines.as_bytes());
    });
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut first = String::new();
    output.read_line(&mut first).unwrap();
    assert_eq!(first, "0x00000003\n");
    drop(output);
    writer.join().unwrap();
    let mut stderr = String::new();
    child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    assert_eq!(stderr, "");
    assert!(child.wait().unwrap().success());
}

fn lower(arguments: &[&str], stdin: &str) -> Run {
    vptx(&[&["lower", "--emit", "ir"], arguments].concat(), stdin)
}

#[test]
fn lowering() {
    insta::assert_snapshot!("lower_instruction", lower(&[SUB], "").transcript());
    insta::assert_snapshot!("lower_all", lower(&[SUB, "--semantics", "all"], "").transcript());
    let mended = ["vadd.u32.u32.u32 d.h1, a, b, c", "--semantics", "all"];
    insta::assert_snapshot!("lower_mended", lower(&mended, "").transcript());
    let errors = "vadd.u32.u32.u32 d, a, b;\nvadd.u32.u32 d, a, b;\n  vmin.s32.s32.s32 d, a, b.b1;";
    insta::assert_snapshot!("lower_errors", lower(&["-"], errors).transcript());
    insta::assert_snapshot!("lower_nothing", lower(&[], "ret;").transcript());
    let troubles: Vec<String> =
        [&["no-such-file.ptx"][..], &["src"], &["add.u32 d, a, b;"], &["vadd.u32.u32 d, a, b;"]]
            .iter()
            .map(|arguments| lower(arguments, "").transcript())
            .collect();
    insta::assert_snapshot!("lower_troubles", troubles.join("\n"));
}

/// The programs in an output, each with the comments before it.
fn programs(text: &str) -> Vec<(String, Program)> {
    text.split("\n\n")
        .map(|block| {
            let program: Program = block.parse().unwrap_or_else(|error| panic!("{error}: {block}"));
            let comments: Vec<&str> = block.lines().filter(|line| line.starts_with("//")).collect();
            (comments.join("\n"), program)
        })
        .collect()
}

#[test]
fn lowered_modules_read_back() {
    let path = "fixtures/ptx/hand/video_families.ptx";
    let source = fixture_text("ptx/hand/video_families.ptx");
    let (module, _) = vptx::parse(&source);
    for semantics in Semantics::ALL {
        let run = lower(&[path, "--semantics", semantics.text()], "");
        assert_eq!((run.status, run.stderr.as_str()), (0, ""));
        let found = programs(&run.stdout);
        assert_eq!(found.len(), module.instructions().count());
        for ((comment, program), (span, instruction)) in found.iter().zip(module.instructions()) {
            let line = source[..span.start as usize].matches('\n').count() + 1;
            assert!(comment.starts_with(&format!("// {path}:{line}:")), "{comment}");
            assert!(comment.ends_with(&format!(": {instruction}")), "{comment}");
            assert_eq!(*program, instruction.lower(semantics), "{comment}");
        }
    }
    let run = lower(&[path, "--semantics", "all"], "");
    assert_eq!(run.status, 0);
    assert!(programs(&run.stdout).len() > module.instructions().count());
}
