//! `vptx eval` and `vptx lower` as a user meets them.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;

use super::fixtures::schema;
use crate::support::fixture_text;
use crate::support::program::{Folder, ROOT, Run, start, vptx, vptx_in};
use serde_json::Value;
use vptx::Instruction;
use vptx::ir::Program;
use vptx::video::Semantics;

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
        // Under a full mask, `c` is not read.
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
        // The results differ by deviation C1, which ptxas 13 does not have.
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

/// The first of several deviations is a start for readers.
#[test]
fn the_first_deviation_is_named_for_more() {
    let run = eval(&[
        "vmad.s32.u32.u32.shr7 d, a, b, c;",
        "a=0x00100010",
        "b=0x80000011",
        "c=0xffff0000",
        "--semantics",
        "all",
    ]);
    let listed = |code: &str| run.stdout.contains(&format!("\n  {code}  "));
    assert!(listed("C7") && listed("C8"), "{}", run.stdout);
    assert!(run.stdout.ends_with("\nsee `vptx explain C7`\n"), "{}", run.stdout);
}

#[test]
fn every_step_is_shown() {
    let mad = "vmad.s32.u32.s32.sat d, a, b, c;";
    insta::assert_snapshot!(transcripts(&[
        &[&[SUB][..], &SUB_INPUTS, &["--trace", "--semantics", "all"]].concat(),
        &["vsub2.s32.s32.s32.sat d.h1, a.h23, b, c;", "a=5", "b=0x7fff8000", "c=0", "--trace"],
        // Here the printed operations are longest and the values largest.
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
        // A third source that ptxas ignores is left out here, as the parser leaves it out.
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
        &[add, "a=", "b=_1", "c=-0x80000001"],
        &[add, "a", "b=0b2", "c=1e3", "=5"],
        &["vadd.u32.u32.u32 d, 1, 2;", "d=1"],
        &["vadd.u32.u32.u32 d, d, 2;"],
    ]));
    for value in [
        "0xffffffff",
        "0XFFFF_FFFF",
        "-1",
        "-0x1",
        "-0b1",
        "4294967295",
        "0b1111_1111_1111_1111_1111_1111_1111_1111",
    ] {
        let run = eval(&["vadd.u32.u32.u32 d, a, 0;", &format!("a={value}")]);
        assert!(run.stdout.contains("0xffffffff  unsigned 4294967295  signed -1"), "{value}");
    }
}

#[test]
fn only_what_is_read_is_needed() {
    // `a` is not read, because all lanes come from `b`.
    let run = eval(&["vadd2.u32.u32.u32 d, a.h22, b.h33, c;", "b=0x00010002"]);
    assert_eq!(run.status, 0, "{}", run.stderr);
    assert!(run.stdout.contains("0x00030003"), "{}", run.stdout);
    // A value for `a` may be given anyway.
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
    // The findings look as in `check`.
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
    // The first four columns are the input and the next are the results. The output has an empty
    // line for a comment.
    let lines: Vec<String> = rows.iter().map(|row| row[..4].join("\t")).collect();
    let text = format!("# recorded\n{}\n", lines.join("\n"));
    let all = vptx(&["eval", "--batch", "-", "--semantics", "all"], &text);
    assert_eq!((all.status, all.stderr.as_str()), (0, ""));
    let expected = rows.iter().map(|row| row[4..7].join("\t"));
    assert!(all.stdout.lines().eq(std::iter::once(String::new()).chain(expected)));
    let folder = Folder::new("eval-vectors");
    folder.write("a.tsv", lines.join("\n"));
    for (column, semantics) in Semantics::ALL.into_iter().enumerate() {
        let arguments = ["eval", "--batch", "a.tsv", "--semantics", semantics.text()];
        let one = vptx_in(&folder.0, &arguments, b"");
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
    error: malformed line: `extra` is one value too many: only a, b and c have values (line 5)
    0xffffffff
    0x00000011
    0x00000003
    error: V104 `vadd` needs 3 types, found 2 (line 9)
    error: malformed line: b is read but has no value (line 10)
    error: malformed line: `2x` for b is not a number: write it in decimal, as 0x… or as 0b… (line 11)
    0x00000003
    0x00000003
    error: V101 `add` is not a video instruction (line 14)
    error: V006 something follows the instruction (line 15)
    error: V006 the instruction is incomplete (line 16)
    error: malformed line: not UTF-8 (line 17)
    0x00000004
    -- stderr --
    ");
    assert_eq!(
        vptx(&["eval", "--batch", "-"], "").transcript(),
        "status: 0\n-- stdout --\n-- stderr --\n"
    );
}

fn batch(arguments: &[&str], input: &[u8]) -> Run {
    vptx_in(Path::new(ROOT), &[&["eval", "--batch", "-"], arguments].concat(), input)
}

/// Each input line gets exactly one output line. A line break in a message would shift all later
/// lines.
#[test]
fn each_line_has_its_own() {
    let whole = [
        "@!p vadd4.u32.u32.u32.sat d.b10, a.b0123, b, c; // x\t0x1\t-2\t0b1",
        "vmad.s32.u32.s32.shr7 d, -a, (1 << 4) | 5, /* x */ c;\t1\t\t3",
    ];
    let prefixes = whole.iter().flat_map(|text| (0..=text.len()).map(|end| &text[..end]));
    let mut lines: Vec<String> = prefixes.map(String::from).collect();
    for odd in [
        "\"", "/*", "//", "'", "\r", "\x0b", "\x0c", "\x1b[31m", "\0", "\u{85}", "\u{2028}", "{",
        ";;", "\\",
    ] {
        for (before, after) in [("vadd.u32.u32.u32 d, a, ", ";\t1\t2"), ("", "\t1"), ("vadd", "\t")]
        {
            lines.push(format!("{before}{odd}{after}"));
            lines.push(format!("{before}x{odd} y{after}"));
        }
        lines.push(format!("vadd.u32.u32.u32 d, a, b;\t{odd}\t2"));
    }
    for line in &lines {
        let run = batch(&[], format!("{line}\nvadd.u32.u32.u32 d, 1, 2;\n").as_bytes());
        let (first, rest) = run.stdout.split_once('\n').expect(line);
        assert_eq!((rest, run.stderr.as_str()), ("0x00000003\n", ""), "{line:?}");
        let breaks = |c: char| c.is_control() || c == '\u{2028}';
        assert!(!first.contains(breaks), "{line:?}: {first:?}");
        let answered = first.starts_with("0x") && first.len() == 10 && run.status == 0;
        let failed =
            first.starts_with("error: ") && first.ends_with(" (line 1)") && run.status == 1;
        let skipped = first.is_empty() && line.trim().is_empty() && run.status == 0;
        assert!(answered || failed || skipped, "{line:?}: {first:?} {}", run.status);
    }
}

/// Of several errors, the first is told: its code and its message.
#[test]
fn the_first_error_of_a_line_is_told() {
    let run = batch(&[], b"vadd.s32.s32 d, a.q, b;\t1\t2\n");
    assert_eq!(run.stdout, "error: V104 `vadd` needs 3 types, found 2 (line 1)\n");
}

#[test]
fn a_line_that_is_too_long_is_passed_over() {
    let long = "x".repeat(3_000_000);
    let last = "vadd.u32.u32.u32 d, a, 1;\t1";
    let run = batch(&[], format!("{long}\n{last}\n# {long}\n{last}").as_bytes());
    let too_long =
        |line: u32| format!("error: malformed line: more than 65536 bytes (line {line})");
    let expected = [too_long(1), "0x00000002".into(), too_long(3), "0x00000002".into()];
    assert!(run.stdout.lines().eq(expected), "{}", run.stdout);
    assert_eq!((run.status, run.stderr.as_str()), (1, ""));
}

#[test]
fn operands_of_a_batch_have_any_names() {
    let sub = "vsub.s32.s32.s32.add %d, %x, %y, %x;";
    let run = batch(
        &[],
        format!(
            "{sub}\t7\t2\t7\n{sub}\t7\t2\n{sub}\t-\t2\t7\n{sub}\t7\t2\t8\n{sub}\t\t2\n\
             vsub.s32.s32.s32 b, b, a;\t7\t2\n"
        )
        .as_bytes(),
    );
    // The results are 7 - 2 + 7 and then 7 - 2.
    assert_eq!(
        run.stdout,
        "0x0000000c\n0x0000000c\n0x0000000c\n\
         error: malformed line: a (`%x`) and c (`%x`) are the same register, but have two values (line 4)\n\
         error: malformed line: a (`%x`) is read but has no value (line 5)\n\
         0x00000005\n"
    );
}

#[test]
fn other_separators_are_named() {
    let add = "vadd.u32.u32.u32 d, a, b;";
    for (line, named) in [
        (format!("{add},1,2"), "commas"),
        (format!("\"{add}\",0x1,-2"), "commas"),
        (format!("{add} 1 2"), "blanks"),
        (format!("{add} 1"), "blanks"),
        (format!("{add};1;2"), "semicolons"),
        (format!("{add}\t1,2"), "commas"),
        (format!("{add}\t1 2"), "blanks"),
    ] {
        let run = batch(&[], line.as_bytes());
        let said = format!(
            "error: malformed line: tabs must stand between columns, not {named} (line 1)\n"
        );
        assert_eq!(run.stdout, said, "{line}");
    }
    assert_eq!(batch(&[], format!("{add} ret;").as_bytes()).stdout.matches("V006").count(), 1);
    // Without values, these separate nothing.
    for (line, said) in [(format!("{add};"), "V006"), (format!("{add}\t,\t2"), "`,` for a")] {
        let run = batch(&[], line.as_bytes());
        assert!(run.stdout.contains(said), "{line}: {}", run.stdout);
    }
}

#[test]
fn an_instruction_with_a_file_of_inputs() {
    let input = b"1\t2\n# words\n-1\t1\t5\n3\n1\t2\t3\t4\n1,2\n";
    let run = batch(&["vadd.u32.u32.u32 %d, %a, %b"], input);
    assert_eq!(
        run.transcript(),
        "status: 1\n-- stdout --\n0x00000003\n\n0x00000000\n\
         error: malformed line: b (`%b`) is read but has no value (line 4)\n\
         error: malformed line: `4` is one value too many: only a, b and c have values (line 5)\n\
         error: malformed line: tabs must stand between columns, not commas (line 6)\n\
         -- stderr --\n"
    );
    let wrong = batch(&["vadd.u32.u32 d, a, b;"], input);
    assert_eq!((wrong.status, wrong.stdout.contains("error[V104]")), (1, true));
}

#[test]
fn utf_16_is_read() {
    let text =
        "vadd.u32.u32.u32 d, a, b;\t1\t2\r\n\r\n# \u{e9}\r\nvadd.u32.u32.u32 d, a, b;\t3\t4\r\n";
    let expected = "0x00000003\n\n\n0x00000007\n";
    let units = || text.encode_utf16();
    let marked = || std::iter::once(0xfeff).chain(units());
    let little: Vec<u8> = marked().flat_map(u16::to_le_bytes).collect();
    let big: Vec<u8> = marked().flat_map(u16::to_be_bytes).collect();
    for bytes in [&little, &big, &text.as_bytes().to_vec()] {
        let run = batch(&[], bytes);
        assert_eq!((run.status, run.stdout.as_str()), (0, expected));
    }
    let bare: Vec<u8> = units().flat_map(u16::to_le_bytes).collect();
    let run = batch(&[], &bare);
    let first = run.stdout.lines().next().unwrap();
    assert!(first.contains("UTF-16") && run.status == 1, "{first}");
}

#[test]
fn json_follows_its_schema() {
    let validator = jsonschema::validator_for(&schema("eval.schema.json")).unwrap();
    let records = |run: &Run| -> Vec<Value> {
        run.stdout
            .lines()
            .map(|line| {
                let record = serde_json::from_str(line).expect(line);
                assert!(validator.is_valid(&record), "{line}");
                record
            })
            .collect()
    };
    let sat = "vadd.u32.u32.u32.sat d, a, b;";
    let one = eval(&[sat, "a=-1", "b=1", "--semantics", "all", "--format", "json"]);
    let [one] = &records(&one)[..] else { panic!("{}", one.stdout) };
    assert_eq!(one["instruction"], sat);
    assert_eq!((&one["line"], &one["error"]), (&Value::Null, &Value::Null));
    let word = |hex: &str, unsigned: u32, signed: i32| serde_json::json!({ "hex": hex, "unsigned": unsigned, "signed": signed });
    assert_eq!(one["results"]["manual"], word("0xffffffff", u32::MAX, -1));
    assert_eq!(one["results"]["ptxas-13"], word("0x00000000", 0, 0));
    let wrong = eval(&["vadd.u32.u32 d, a, b;", "--format", "json"]);
    assert_eq!((wrong.status, &records(&wrong)[0]["error"]["code"]), (1, &"V104".into()));
    // A wrong instruction for all lines gives one record.
    for (text, code) in [("vadd.u32.u32 d, a, b;", "V104"), ("add.u32 d, a, b;", "V101")] {
        let wrong = batch(&[text, "--format", "json"], b"1\t2\n3\t4\n");
        let [one] = &records(&wrong)[..] else { panic!("{}", wrong.stdout) };
        assert_eq!(
            (wrong.status, &one["line"], &one["error"]["code"]),
            (1, &Value::Null, &code.into())
        );
    }
    let input = format!(
        "# x\n{sat}\t1\t2\n\n{sat}\t1\nvadd d;\t1\n\"\n\u{1b}\t1\n{}\n",
        "y".repeat(70_000)
    );
    let run = batch(&["--output-format", "json"], input.as_bytes());
    let found = records(&run);
    let lines: Vec<u64> = found.iter().map(|it| it["line"].as_u64().unwrap()).collect();
    // There is no record for comments and blank lines.
    assert_eq!((run.status, lines), (1, vec![2, 4, 5, 6, 7, 8]));
    assert_eq!(found[0]["results"], serde_json::json!({ "manual": word("0x00000003", 3, 3) }));
    assert_eq!(found[1]["error"]["code"], "malformed");
    assert_eq!(found[1]["error"]["message"], "b is read but has no value");
    let fixed = batch(&[sat, "--format", "json"], b"1\t2\nx\t2\n");
    let found = records(&fixed);
    assert!(found.iter().all(|it| it["instruction"] == sat));
    assert_eq!(found[0]["results"]["manual"]["unsigned"], 3);
}

/// The output for one semantics mentions another semantics exactly if its result differs.
#[test]
fn other_results_are_told() {
    let vectors = fixture_text("oracle/vectors.tsv");
    let mut told = [0, 0];
    let rows = vectors.lines().filter(|line| !line.starts_with('#')).step_by(650);
    for row in rows.map(|line| line.split('\t').collect::<Vec<_>>()) {
        let instruction: Instruction = row[0].parse().unwrap();
        let sources = instruction.sources();
        let values = ["a", "b", "c"].into_iter().zip(&row[1..4]).zip(sources);
        let values = values.filter(|(_, source)| source.is_some());
        let values: Vec<String> =
            values.map(|((name, word), _)| format!("{name}={word}")).collect();
        for (column, semantics) in Semantics::ALL.into_iter().enumerate() {
            let mut arguments = vec![row[0], "--semantics", semantics.text()];
            arguments.extend(values.iter().map(String::as_str));
            let run = eval(&arguments);
            assert_eq!(run.status, 0, "{row:?}");
            let line = run.stdout.lines().find(|line| line.contains(" on these inputs ("));
            let others = ["the manual", "ptxas 12", "ptxas 13"];
            let differs = |other: &usize| row[4 + other] != row[4 + column];
            assert_eq!(
                line.is_some(),
                (0..3).any(|other| differs(&other)),
                "{row:?} {}",
                run.stdout
            );
            told[usize::from(line.is_some())] += 1;
            for other in (0..3).filter(differs) {
                let line = line.unwrap();
                assert!(line.contains(row[4 + other]), "{}: {line}", others[other]);
            }
        }
    }
    assert!(told.iter().all(|count| *count > 5), "{told:?}");
    insta::assert_snapshot!(transcripts(&[
        &["vadd.u32.u32.u32.sat d, a, b;", "a=0xffffffff", "b=1"],
        &["vadd.u32.u32.u32.sat d, a, b;", "a=0xffffffff", "b=1", "--semantics", "ptxas-13"],
        &["vadd.u32.u32.u32 d.h1, a, b, c;", "a=0x12340000", "b=0x5678", "c=0"],
        &[
            "vadd.u32.u32.u32 d.h1, a, b, c;",
            "a=0x12340000",
            "b=0x5678",
            "c=0",
            "--semantics",
            "ptxas-12"
        ],
        &["vadd.u32.u32.u32.sat d, a, b;", "a=1", "b=1"],
    ]));
}

#[test]
fn batches_that_cannot_run() {
    let instruction = "vadd.u32.u32.u32 d, a, b;";
    insta::assert_snapshot!(transcripts(&[
        &["--batch", "no-such-file"],
        &["--batch", "src"],
        &["--batch", "-", instruction, "a=1"],
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

#[test]
fn an_answer_does_not_wait_for_the_rest_of_a_line() {
    let mut child = start(Path::new(ROOT), &["eval", "--batch", "-"]);
    let mut input = child.stdin.take().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    input.write_all(b"vadd.u32.u32.u32 d, a, 1;\t1\nvadd.u32.u32.u32 d, a, 2;\t").unwrap();
    let mut answer = String::new();
    output.read_line(&mut answer).unwrap();
    assert_eq!(answer, "0x00000002\n");
    input.write_all(b"1\n").unwrap();
    drop(input);
    answer.clear();
    output.read_line(&mut answer).unwrap();
    assert_eq!(answer, "0x00000003\n");
    assert!(child.wait().unwrap().success());
}

/// A batch may have many more different instructions than the program caches; results still have
/// the order of the lines.
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
        // The program may end before it has read all lines.
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
    let repaired = ["vadd.u32.u32.u32 d.h1, a, b, c", "--semantics", "all"];
    insta::assert_snapshot!("lower_repaired", lower(&repaired, "").transcript());
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

/// The programs in an output, each with its comments.
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
