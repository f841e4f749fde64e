//! The program as a user meets it: output, streams, exit status.

use std::fmt::Write as _;
use std::fs;
use std::io::Write;
use std::path::Path;

use super::fixtures::{BAD, GOOD, ODD, schema};
use crate::support::program::{Folder, ROOT, Run, start, vptx, vptx_in, without_colours};
use crate::support::{fixture, is_about_asm};
use serde_json::Value;
use vptx::diagnostic::{CustomRule, Severity};
use vptx::{Code, Diagnostic};

/// The rules on registers that are read before they are written, or written and never read.
const FLOW: [&str; 2] = ["V904", "V905"];

/// What `check` says of a code's example.
fn example(code: Code, more: &[&str]) -> Run {
    let ending = if is_about_asm(code) { "cu" } else { "ptx" };
    let path = format!("fixtures/diagnostics/{code}.{ending}");
    // Some findings are reported only on request.
    let mut arguments = vec!["check", "--extend-select", code.text(), &path];
    // Most examples read registers that nothing writes.
    if code != Code::UnusedSuppression && !FLOW.contains(&code.text()) {
        arguments.extend(FLOW.iter().flat_map(|code| ["--ignore", code]));
    }
    arguments.extend(more);
    vptx(&arguments, "")
}

/// One code of each kind of finding: in a module, in `asm`, in a file that is not text, with a fix,
/// with notes.
#[test]
fn findings_as_human_and_json() {
    for code in [
        Code::MissingSemicolon,
        Code::BinaryFile,
        Code::SimdSecondaryOperation,
        Code::ResultDiffers,
        Code::EmulatedInstruction,
        Code::AsmOutputRead,
    ] {
        insta::assert_snapshot!(format!("{code}.human"), example(code, &[]).transcript());
        let json = example(code, &["--format", "json"]);
        insta::assert_snapshot!(format!("{code}.json"), json.transcript());
    }
}

/// The texts of all findings, and the texts that their fixes write.
#[test]
fn every_code() {
    let mut all = String::new();
    for code in Code::ALL {
        let run = example(*code, &["--format", "json"]);
        assert_eq!(run.stderr, "", "{code}");
        writeln!(all, "# {code}").unwrap();
        for line in run.stdout.lines() {
            let found: Value = serde_json::from_str(line).expect(line);
            let text = |value: &Value| value.as_str().map(String::from);
            let (at, message) = (&found["start"], text(&found["message"]).expect(line));
            let own = text(&found["code"]).expect(line);
            writeln!(all, "{own} {}:{} {message}", at["line"], at["column"]).unwrap();
            let labels = found["labels"].as_array().expect(line).iter();
            let labels = labels.filter_map(|it| text(&it["text"])).filter(|it| !it.is_empty());
            labels.for_each(|label| writeln!(all, "    at: {label}").unwrap());
            if let Some(help) = text(&found["help"]) {
                writeln!(all, "    help: {}", help.replace('\n', "\n        ")).unwrap();
            }
            for fix in found["fixes"].as_array().expect(line) {
                let title = text(&fix["title"]).expect(line);
                writeln!(all, "    {} fix: {title}", text(&fix["applicability"]).expect(line))
                    .unwrap();
                for edit in fix["edits"].as_array().expect(line) {
                    writeln!(all, "        {}", edit["replacement"]).unwrap();
                }
            }
        }
    }
    insta::assert_snapshot!("every_code", all);
}

#[test]
fn json_follows_its_schema() {
    let validator =
        jsonschema::validator_for(&schema("diagnostic.schema.json")).expect("a valid schema");
    let run =
        vptx(&["check", "--extend-select", "ALL", "--format", "json", "fixtures/diagnostics"], "");
    assert_eq!(run.status, 1);
    let mut codes = std::collections::BTreeSet::new();
    for line in run.stdout.lines() {
        let record: serde_json::Value = serde_json::from_str(line).expect(line);
        if let Err(error) = validator.validate(&record) {
            panic!("{error}: {line}");
        }
        codes.insert(record["code"].as_str().unwrap().to_string());
        let path = record["path"].as_str().unwrap();
        let text = fs::read(Path::new(ROOT).join(path)).unwrap();
        let start = record["span"]["start"].as_u64().unwrap() as usize;
        let line = text[..start].split(|&byte| byte == b'\n').count();
        assert_eq!(record["start"]["line"].as_u64().unwrap() as usize, line);
    }
    assert_eq!(codes.len(), Code::ALL.len(), "every code is reported: {codes:?}");
}

#[test]
fn findings_of_the_library_follow_the_schema_of_the_program() {
    let mut schema = schema("diagnostic.schema.json");
    let line = schema.as_object_mut().unwrap();
    line.retain(|key, _| ["$schema", "$defs"].contains(&&**key));
    line.insert("$ref".into(), "#/$defs/finding".into());
    line.insert("unevaluatedProperties".into(), false.into());
    let validator = jsonschema::validator_for(&schema).expect("a valid schema");
    let options = vptx::CheckOptions::default().with_rules(vptx::diagnostic::RuleSet::ALL);
    let mut count = 0;
    for entry in fs::read_dir(Path::new(ROOT).join("fixtures/diagnostics")).unwrap() {
        let path = entry.unwrap().path();
        // Examples in other languages need further options.
        if path.extension().is_none_or(|ending| ending != "ptx") {
            continue;
        }
        let source = vptx::source::decode(fs::read(&path).unwrap());
        let name = path.file_name().unwrap().to_str().unwrap();
        let name = format!("fixtures/diagnostics/{name}");
        let arguments = ["check", "--select", "ALL", "--format", "json", &name];
        let run = vptx(&arguments, "");
        let found = vptx::check(&source, &options);
        assert_eq!(run.stdout.lines().count(), found.len(), "{path:?}");
        for (line, found) in run.stdout.lines().zip(found) {
            let found = serde_json::to_value(&found).unwrap();
            if let Err(error) = validator.validate(&found) {
                panic!("{error}: {found}");
            }
            let mut line: serde_json::Value = serde_json::from_str(line).unwrap();
            // The library's schema has neither a path nor lines and columns.
            assert!(!validator.is_valid(&line));
            for of_file in ["path", "start", "end"] {
                line.as_object_mut().unwrap().remove(of_file).expect("of a file");
            }
            assert_eq!(found, line);
            count += 1;
        }
    }
    assert!(count > 100, "{count}");
}

#[test]
fn rules_of_other_programs_follow_the_schema_too() {
    static HOUSE: CustomRule = CustomRule::new("HOUSE-1", "wraps", Severity::Note, "A sum");
    let mut schema = schema("diagnostic.schema.json");
    let finding = serde_json::json!({ "$defs": schema["$defs"].take(), "$ref": "#/$defs/finding" });
    let validator = jsonschema::validator_for(&finding).expect("a valid schema");
    let span = vptx::source::Span::new(1, 3);
    let found = Diagnostic::new(Code::Custom(&HOUSE), span, "it wraps").help("saturate");
    let expected = serde_json::json!({
        "code": "HOUSE-1", "name": "wraps", "url": null, "severity": "note",
        "message": "it wraps", "help": "saturate", "span": { "start": 1, "end": 3 },
        "labels": [], "fixes": []
    });
    assert_eq!(serde_json::to_value(&found).unwrap(), expected);
    assert!(validator.is_valid(&expected));
}

#[test]
fn concise_is_one_line_each() {
    let run = vptx(
        &["check", "--format", "concise", "-"],
        "vadd.u32.u32 d, a, b;\nvmad.po.u32.u32.u32 d, a, -b, c;",
    );
    insta::assert_snapshot!(run.transcript(), @r"
    status: 1
    -- stdout --
    <stdin>:1:5: error[V104]: `vadd` needs 3 types, found 2
    <stdin>:2:27: error[V114]: `.po` and negation exclude each other
    -- stderr --
    ");
}

#[test]
fn exit_status_follows_the_contract() {
    assert_eq!(vptx(&["check", "-"], GOOD).status, 0);
    assert_eq!(vptx(&["check", "-"], BAD).status, 1);
    assert_eq!(vptx(&["check", "-"], ODD).status, 0);
    assert_eq!(vptx(&["check", "--deny", "warnings", "-"], ODD).status, 1);
    assert_eq!(vptx(&["check", "--deny", "warnings", "-"], GOOD).status, 0);
    assert_eq!(vptx(&["check", "no-such-file.ptx"], "").status, 2);
    assert_eq!(vptx(&["check", "--no-such-flag"], "").status, 2);
    assert_eq!(vptx(&["explain", "nonsense"], "").status, 2);
    assert_eq!(vptx(&[], "").status, 2);
    for arguments in [&["--help"][..], &["--version"], &["check", "--help"], &["explain"]] {
        assert_eq!(vptx(arguments, "").status, 0, "{arguments:?}");
    }
}

#[test]
fn help_and_usage() {
    insta::assert_snapshot!("help", vptx(&["--help"], "").transcript());
    insta::assert_snapshot!("help-check", vptx(&["check", "--help"], "").transcript());
    insta::assert_snapshot!("help-explain", vptx(&["explain", "-h"], "").transcript());
    insta::assert_snapshot!("wrong-flag", vptx(&["check", "--targt", "sm_90"], "").transcript());
    insta::assert_snapshot!(
        "wrong-target",
        vptx(&["check", "--target", "90", "-"], GOOD).transcript()
    );
    insta::assert_snapshot!(
        "wrong-version",
        vptx(&["check", "--ptx-version", "eight", "-"], GOOD).transcript()
    );
    insta::assert_snapshot!("no-command", vptx(&[], "").transcript());
}

#[test]
fn troubles_are_told_on_stderr_and_the_rest_is_done() {
    let folder = Folder::new("troubles");
    folder.write("bad.ptx", BAD);
    folder.write("kernel.cu", "int x;");
    folder.write("empty/readme.txt", "");
    let arguments =
        ["check", "--format", "concise", "missing.ptx", "bad.ptx", "kernel.cu", "empty"];
    insta::assert_snapshot!(vptx_in(&folder.0, &arguments, b"").transcript(), @r"
    status: 2
    -- stdout --
    bad.ptx:1:5: error[V104]: `vadd` needs 3 types, found 2
    -- stderr --
    vptx: no files to read in `empty`
    vptx: cannot read `missing.ptx`: no such file or directory
    ");
}

#[test]
fn directories_are_walked_in_order_and_ignore_files_heeded() {
    let folder = Folder::new("walk");
    for name in ["b.ptx", "a/z.ptx", "a/y.ptx", "ignored/x.ptx", "a/not-ptx.txt", ".hidden/h.ptx"] {
        folder.write(name, BAD);
    }
    folder.write(".gitignore", "ignored/\n");
    let run = vptx_in(&folder.0, &["check", "--format", "concise"], b"");
    let paths: Vec<&str> = run.stdout.lines().filter_map(|line| line.split(':').next()).collect();
    assert_eq!(paths, ["a/y.ptx", "a/z.ptx", "b.ptx"]);
    // Named files are read, even if they are ignored, but only once.
    let named = ["check", "--format", "concise", "ignored/x.ptx", "b.ptx", "b.ptx"];
    let run = vptx_in(&folder.0, &named, b"");
    assert_eq!(run.stdout.lines().count(), 2);
}

#[test]
fn flags_gate_bare_statements() {
    let bare = "vadd4.u32.u32.u32 d, a, b, c;";
    let run = vptx(&["check", "--format", "concise", "--target", "sm_20", "-"], bare);
    assert_eq!(run.stdout, "<stdin>:1:1: error[V301]: `vadd4` needs `.target sm_30` or higher\n");
    let both = ["check", "--format", "concise", "--target", "sm_13", "--ptx-version", "1.4", "-"];
    assert_eq!(vptx(&both, bare).stdout.lines().count(), 2);
    assert_eq!(vptx(&["check", "--target", "sm_90a", "--ptx-version", "8.0", "-"], bare).status, 0);
    // `--target` overrides the target of the module.
    let module =
        ".version 3.0\n.target sm_20\n.entry k() { .reg .b32 r; vadd4.u32.u32.u32 r,r,r,r; }";
    assert_eq!(vptx(&["check", "-"], module).status, 1);
    assert_eq!(vptx(&["check", "--target", "sm_30", "-"], module).status, 0);
}

#[test]
fn dialects_differ() {
    let doubled = "vadd.u32.u32.u32 d, -a, -b;";
    assert_eq!(vptx(&["check", "-"], doubled).status, 1);
    let run = vptx(&["check", "--dialect", "ptxas", "-"], doubled);
    assert_eq!(
        (run.status, run.stdout.as_str()),
        (0, "nothing found in 1 video instruction of 1 file\n")
    );
}

#[test]
fn colours_only_where_wanted() {
    let plain = vptx(&["check", "-"], BAD).stdout;
    assert!(!plain.contains('\x1b'));
    let colored = vptx(&["check", "--color", "always", "-"], BAD).stdout;
    assert!(colored.contains("\x1b["));
    assert_eq!(without_colours(&colored), plain);
}

#[test]
fn a_file_cannot_send_commands_to_the_terminal() {
    let text = "vadd.u32.u32.u32 d, /* \x1b[2J\x07 */ [a], b;\r\n";
    let run = vptx(&["check", "-"], text);
    assert!(run.stdout.contains("/* ?[2J? */"), "{}", run.stdout);
    assert!(!run.stdout.contains(['\x1b', '\x07', '\r']));
}

#[test]
fn narrow_terminals_and_long_lines_stay_readable() {
    let long = format!("vadd.u32.u32.u32 d, {}, b;", "a ".repeat(600_000));
    let run = vptx(&["check", "-"], &long);
    assert_eq!(run.status, 1);
    assert!(run.stdout.lines().all(|line| line.chars().count() < 700), "{}", run.stdout.len());
}

#[test]
fn a_closed_pipe_is_no_error() {
    let module = "vadd.u32.u32 d, a, b;\n".repeat(20_000);
    let mut child = start(Path::new(ROOT), &["check", "-"]);
    // The pipe is closed before the program can write, because the program reads all
    // input first.
    drop(child.stdout.take());
    child.stdin.take().expect("a pipe").write_all(module.as_bytes()).expect("read whole");
    let output = child.wait_with_output().expect("the program ends");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert_eq!(output.status.code(), Some(1), "there are errors, read or not");
}

#[test]
fn bytes_that_are_no_text_are_reported_where_they_are() {
    let run = vptx_in(
        Path::new(ROOT),
        &["check", "--format", "concise", "-"],
        b"\x7fELF\x02\x01\x01\0\0",
    );
    assert_eq!(
        run.stdout,
        "<stdin>:1:8: error[V008]: this is an ELF file, such as a cubin or an object file, not PTX text\n"
    );
    let latin = b"// caf\xe9\nvadd.u32.u32.u32 d, a\xe9, b;\n";
    let run = vptx_in(Path::new(ROOT), &["check", "--format", "concise", "-"], latin);
    assert_eq!(
        run.stdout,
        "<stdin>:2:22: error[V007]: a byte that is neither ASCII nor UTF-8 is not used in PTX\n"
    );
}

#[test]
fn explain_knows_codes_names_and_instructions() {
    let page = vptx(&["explain", "vshl.u32.u32.u32.clamp d.h1, a, b, c;"], "").stdout;
    let paragraph = "of the result\n\nThe code of ptxas from 13.3 on computes what the manual says";
    assert!(page.contains(paragraph), "{page}");
    let page = vptx(&["explain", "V112"], "").stdout;
    assert!(page.starts_with("# V112 simd-secondary-operation (error)\n"));
    assert_eq!(vptx(&["explain", "v112"], "").stdout, page);
    assert_eq!(vptx(&["explain", "simd-secondary-operation"], "").stdout, page);
    for mnemonic in vptx::isa::Mnemonic::ALL {
        let page = vptx(&["explain", mnemonic.text()], "").stdout;
        assert!(page.starts_with(&format!("# {mnemonic}: ")), "{page}");
    }
    insta::assert_snapshot!("explain-list", vptx(&["explain"], "").transcript());
    insta::assert_snapshot!("explain-vmad", vptx(&["explain", "vmad"], "").transcript());
    insta::assert_snapshot!("explain-unknown", vptx(&["explain", "V999"], "").transcript());
}

/// Another test compares the document with what the library says.
#[test]
fn explain_prints_the_tables_of_the_document_on_targets() {
    let document = include_str!("../../docs/targets.md");
    let start = document.find("| target |").expect("the first table");
    let run = vptx(&["explain", "--targets"], "");
    assert_eq!((run.status, run.stdout.as_str()), (0, &document[start..]));
}

#[test]
fn explain_takes_several_and_groups() {
    let several = vptx(&["explain", "V112", "vmad", "C3"], "");
    let single = |subject: &str| vptx(&["explain", subject], "").stdout;
    assert_eq!(several.stdout, ["V112", "vmad", "C3"].map(single).join("\n"));
    for group in ["V1", "v50", "V"] {
        let shown = single(group);
        let codes: Vec<&str> = shown.lines().filter_map(|line| line.split(' ').next()).collect();
        let expected = Code::ALL.iter().map(|code| code.text());
        let expected: Vec<&str> =
            expected.filter(|code| code.starts_with(&group.to_ascii_uppercase())).collect();
        if group == "V" {
            assert!(shown.is_empty(), "{shown}");
        } else {
            assert_eq!(codes, expected);
            assert!(
                shown
                    .lines()
                    .zip(&expected)
                    .all(|(line, code)| { line.ends_with(Code::find(code).unwrap().title()) })
            );
        }
    }
    // The known subjects are shown although one subject is unknown.
    let run = vptx(&["explain", "V112", "V45", "C3"], "");
    assert_eq!(run.status, 2);
    assert!(run.stdout.contains("# V112 ") && run.stdout.contains("# C3: "), "{}", run.stdout);
    assert!(run.stderr.contains("`V45` is not known"), "{}", run.stderr);
}

/// The table of forms says which mnemonics take a modifier.
#[test]
fn explain_knows_modifiers_selectors_and_masks() {
    use vptx::isa::{LaneWidth, Mask, Mnemonic, Modifier, Part};
    let mut words: Vec<String> = Modifier::ALL.iter().map(ToString::to_string).collect();
    words.extend(Part::ALL.iter().map(ToString::to_string));
    words.extend(Mask::all(LaneWidth::Halves).map(|mask| mask.to_string()));
    words.extend(Mask::all(LaneWidth::Bytes).map(|mask| mask.to_string()));
    words.extend([".h32", ".h03", ".b7654", ".b0000"].map(String::from));
    for word in &words {
        let page = vptx(&["explain", word], "");
        assert_eq!((page.status, page.stderr.as_str()), (0, ""), "{word}");
        assert!(page.stdout.starts_with(&format!("# {word}: ")), "{}", page.stdout);
        assert_eq!(vptx(&["explain", &word[1..]], "").stdout, page.stdout);
        assert!(page.stdout.lines().all(|line| line.chars().count() <= 80), "{}", page.stdout);
        let Ok(modifier) = word.parse::<Modifier>() else { continue };
        for mnemonic in Mnemonic::ALL {
            let named = page.stdout.split_whitespace().any(|it| it == mnemonic.text());
            assert_eq!(named, vptx::video::takes(*mnemonic, modifier), "{word} {mnemonic}");
        }
    }
    for (word, said) in [
        (".h10", "On `a` or `b`: lane 1 is a.h1, lane 0 is a.h0.\n"),
        (
            ".h10",
            "This is the default selector of `a`.\n\nInstructions that take it:\n\n    \
             vadd2 vsub2 vavrg2 vabsdiff2 vmin2 vmax2\n    vset2\n\n",
        ),
        (".h10", "On `d`: all lanes are written"),
        (".b0426", "lane 3 is a.b0, lane 2 is b.b0, lane 1 is a.b2, lane 0 is b.b2.\n"),
        (".b310", "On `d`: lanes 3, 1, 0. Only these lanes are written"),
        (".b2", "bits 16 to 23 are taken"),
        (".h1", "the low 16 bits of the result go there"),
        (".sat", "vadd2 vsub2 vavrg2 vabsdiff2 vmin2 vmax2 (lane merge)"),
    ] {
        let page = vptx(&["explain", word], "").stdout;
        assert!(page.contains(said), "{page}");
    }
    let wrong = vptx(&["explain", ".b01"], "");
    assert_eq!(wrong.status, 2);
}

#[test]
fn explain_tells_of_a_whole_instruction() {
    let of = |text: &str, more: &[&str]| vptx(&[&["explain", text], more].concat(), "");
    let pages = [
        of("vadd4.u32.u32.u32.sat d.b10, a.b0123, b.b4444, c;", &[]),
        of("@!p vmad.s32.u32.s32.sat.shr7 %r1, %r2.b1, -%r3, %r4", &["--target", "sm_75"]),
        of("vadd.u32.u32.u32.sat d, a, b;", &["--target", "sm_61"]),
        of("vshl.s32.u32.u32.sat.wrap d.h0, a, 4, c;", &[]),
        of("vset2.u32.s32.le.add d.h1, a, b.h01, c;", &[]),
        of("vmin.s32.u32.s32.max d, a, b, c;", &[]),
    ];
    assert!(pages.iter().all(|page| page.status == 0 && page.stderr.is_empty()));
    insta::assert_snapshot!("explain-instructions", pages.map(|page| page.stdout).join("\n"));
    for (signs, said) in [
        ("s32.u32", "the sum is signed"),
        ("u32.s32", "the sum is signed"),
        ("u32.u32", "the sum is unsigned"),
    ] {
        let page = of(&format!("vmad.s32.{signs} d, a, b, c;"), &[]);
        assert!(page.stdout.contains(said), "{}", page.stdout);
    }
    let all_lanes = of("vadd2.u32.u32.u32 d, a, b, c;", &[]).stdout;
    assert!(all_lanes.contains("\n    c is not read\n"), "{all_lanes}");
    for (target, said) in [
        ("sm_90", "The costs of instructions were measured on this target."),
        ("sm_89", "vptx uses the costs that were measured on sm_8"),
    ] {
        let page = of(target, &[]).stdout;
        assert!(page.contains(said), "{page}");
    }
    // A mnemonic with modifiers may stand without operands.
    for (modifiers, whole) in [
        ("vadd.u32.u32.u32.sat", "vadd.u32.u32.u32.sat d, a, b;"),
        ("vadd.u32.u32.u32.min", "vadd.u32.u32.u32.min d, a, b, c;"),
        ("vset4.s32.u32.lt", "vset4.s32.u32.lt d, a, b, c;"),
    ] {
        assert_eq!(of(modifiers, &[]).stdout, of(whole, &[]).stdout);
    }
    // Errors are reported as `check` reports them.
    let wrong = of("vadd.u32.u32 d, a, b;", &[]);
    assert_eq!(wrong.status, 1);
    assert!(wrong.stdout.contains("error[V104]"), "{}", wrong.stdout);
    assert_eq!(of("add.u32 d, a, b;", &[]).status, 1);
}

#[test]
fn completions_are_made_for_every_shell() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let run = vptx(&["completions", shell], "");
        assert_eq!(run.status, 0);
        assert!(run.stdout.contains("dialect"), "{shell}");
    }
}

#[test]
fn real_modules_have_no_findings_but_on_results() {
    let folder = fixture("ptx");
    let folder = folder.to_str().expect("UTF-8");
    // Some fixtures, written by hand to show a form, read registers that nothing writes.
    let arguments = ["check", "--dialect", "ptxas", "--ignore", "V5,V904,V905", folder];
    let run = vptx(&arguments, "");
    assert_eq!(run.status, 0);
    assert!(run.stdout.starts_with("nothing found in "), "{}", run.stdout);
    let run = vptx(&["check", "--format", "concise", folder], "");
    assert_eq!(run.status, 0);
    let is_expected = |line: &str| {
        line.contains("warning[V5") || line.contains("/hand/") && line.contains("warning[V90")
    };
    assert!(run.stdout.lines().all(is_expected), "{}", run.stdout);
}
