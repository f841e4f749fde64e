//! Every format can show what a check does not read, and a run can fail because of it.

use std::fs;

use serde_json::{Value, json};

use super::fixtures::schema;
use crate::support::program::{Folder, Run, vptx_in};

/// A source whose statements in lines 2, 5 and 7 are not read.
const SOURCE: &str = "\
__device__ int f(int a, int b) {
  int d; asm(TEXT : \"=r\"(d) : \"r\"(a));
  asm(\"vmin.s32.s32.s32 %0, %1, %2;\" : \"=r\"(d) : \"r\"(a), \"r\"(b));
#if 0
  asm(\"vmin.s32.s32.s32 %0, %1, %2;\" : \"=r\"(d) : \"r\"(a), \"r\"(b));
#endif
  asm(\"vmax.s32.s32.s32 %0, %1, \" NUMBER \";\" : \"=r\"(d) : \"r\"(a));
  return d;
}
";

/// A source whose statement in line 3 is not read.
const PYTHON: &str = "\
import triton.language as tl
def f(x, op):
    return tl.inline_asm_elementwise(
        f\"{op}.s32.s32.s32 $0, $1, $1;\", \"=r,r\", [x], dtype=tl.int32, is_pure=True, pack=1)
";

fn folder(name: &str) -> Folder {
    let folder = Folder::new(name);
    folder.write("a.cu", SOURCE);
    folder.write("b.py", PYTHON);
    folder
}

fn check(folder: &Folder, arguments: &[&str]) -> Run {
    vptx_in(&folder.0, &[&["check"], arguments].concat(), b"")
}

fn records(run: &Run) -> Vec<Value> {
    run.stdout.lines().map(|line| serde_json::from_str(line).expect(line)).collect()
}

#[test]
fn every_format_lists_what_is_not_read() {
    let folder = folder("unread-formats");
    let places = ["a.cu:2:10", "a.cu:5:3", "a.cu:7:3", "b.py:3:15"];
    let run = check(&folder, &["--format", "concise", "--extend-select", "unread-asm", "."]);
    let expected = ["made by macros", "under `#if 0`", "made by macros", "whose text is computed"];
    let lines: Vec<String> = places
        .iter()
        .zip(expected)
        .map(|(at, why)| format!("{at}: note[V704]: not read: an `asm` statement {why}"))
        .collect();
    assert_eq!(
        (run.status, run.stdout.lines().collect::<Vec<_>>()),
        (0, lines.iter().map(String::as_str).collect())
    );
    for format in ["human", "json", "sarif", "github", "junit", "gitlab"] {
        let listed = check(&folder, &["--format", format, "--extend-select", "V704", "."]).stdout;
        assert_eq!(listed.matches("not read: an `asm` statement").count(), 4, "{format}: {listed}");
        // V704 is off by default.
        let silent = check(&folder, &["--format", format, "."]).stdout;
        assert!(!silent.contains("V704"), "{format}: {silent}");
    }
    let schema = jsonschema::validator_for(&schema("diagnostic.schema.json")).unwrap();
    let run = check(&folder, &["--format", "json", "--extend-select", "V704", "."]);
    for (record, place) in records(&run).iter().zip(places) {
        assert!(schema.is_valid(record), "{record}");
        let Value::Object(start) = &record["start"] else { panic!("{record}") };
        let path = record["path"].as_str().unwrap();
        assert_eq!(format!("{path}:{}:{}", start["line"], start["column"]), place);
    }
    // A comment suppresses the finding on one statement.
    folder.write("a.cu", SOURCE.replace("(a));\n  asm", "(a)); // vptx: ignore[V704]\n  asm"));
    let run = check(&folder, &["--format", "concise", "--deny", "unread", "a.cu"]);
    assert_eq!((run.status, run.stdout.lines().count()), (1, 2), "{}", run.stdout);
}

#[test]
fn a_run_fails_on_what_is_not_read() {
    let folder = folder("unread-deny");
    let run = check(&folder, &["--format", "concise", "--deny", "unread", "."]);
    assert_eq!((run.status, run.stdout.matches("note[V704]").count()), (1, 4));
    assert_eq!(check(&folder, &["--deny", "warnings", "--quiet", "."]).status, 0);
    folder.write("vptx.toml", "[check]\ndeny = [\"unread\"]\n");
    assert_eq!(check(&folder, &["--quiet", "b.py"]).status, 1);
    assert_eq!(check(&folder, &["--quiet", "--ignore", "V704", "b.py"]).status, 0);
    let shown = check(&folder, &["--show-settings"]).stdout;
    assert!(shown.contains("deny = [\"unread\"]"), "{shown}");
    fs::remove_file(folder.0.join("a.cu")).unwrap();
    folder.write("b.py", PYTHON.replace("f\"{op}.", "\"vmin."));
    assert_eq!(check(&folder, &["--quiet", "."]).status, 0);
}

#[test]
fn statistics_count_what_is_not_read() {
    let folder = folder("unread-statistics");
    let mut schema = schema("diagnostic.schema.json");
    schema["$ref"] = json!("#/$defs/count");
    for name in ["required", "additionalProperties"] {
        schema.as_object_mut().unwrap().remove(name);
    }
    let schema = jsonschema::validator_for(&schema).unwrap();
    let expected = json!({ "code": "V704", "name": "unread-asm", "count": 4, "fixable": 0 });
    for more in [&[][..], &["--extend-select", "V704"], &["--deny", "unread"], &["--quiet"]] {
        let arguments = [&["--statistics", "--format", "json"], more, &["."]].concat();
        let run = check(&folder, &arguments);
        assert_eq!(records(&run), std::slice::from_ref(&expected), "{more:?}");
        assert!(schema.is_valid(&expected));
    }
}
