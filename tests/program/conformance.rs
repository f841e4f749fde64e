//! `vptx conformance` as a user calls it.

use std::io::{BufRead, BufReader};
use std::path::Path;

use serde_json::Value;

use super::fixtures::schema;
use crate::support::program::{ROOT, Run, start, vptx};

fn conformance(arguments: &[&str]) -> Run {
    let run = vptx(&[&["conformance"], arguments].concat(), "");
    assert_eq!((run.status, run.stderr.as_str()), (0, ""), "{arguments:?}");
    run
}

fn rows(run: &Run) -> Vec<Vec<&str>> {
    run.stdout.lines().skip(2).map(|line| line.split('\t').collect()).collect()
}

#[test]
fn a_table_starts_with_its_options() {
    let run = conformance(&["--mnemonic", "vmad,vadd4", "--mnemonic", "vadd", "--count", "40"]);
    let mut lines = run.stdout.lines();
    let version = env!("CARGO_PKG_VERSION");
    let head =
        format!("# vptx {version} conformance --count 40 --seed 1 --mnemonic vadd,vmad,vadd4");
    assert_eq!(lines.next(), Some(&*head));
    let columns = "instruction\ta\tb\tc\tmanual\tptxas-12\tptxas-13\tdeviations";
    assert_eq!(lines.next(), Some(columns));
    let rows = rows(&run);
    assert_eq!(rows.len(), 40);
    for row in rows {
        let mnemonic = row[0].split('.').next().unwrap();
        assert!(row.len() == 8 && ["vadd", "vmad", "vadd4"].contains(&mnemonic), "{row:?}");
    }
}

/// `eval --batch` reads the first four columns, and its results are the next three columns.
#[test]
fn results_are_those_of_eval() {
    let run = conformance(&["--count", "3000", "--seed", "7"]);
    let rows = rows(&run);
    assert_eq!(rows.len(), 3000);
    let given: String = rows.iter().map(|row| row[..4].join("\t") + "\n").collect();
    let batch = vptx(&["eval", "--batch", "-", "--semantics", "all"], &given);
    assert_eq!(batch.status, 0);
    let expected: String = rows.iter().map(|row| row[4..7].join("\t") + "\n").collect();
    assert_eq!(batch.stdout, expected);
}

#[test]
fn json_follows_its_schema_and_says_the_same() {
    let schema = jsonschema::validator_for(&schema("conformance.schema.json")).unwrap();
    let options = ["--mnemonic", "vadd,vset", "--count", "200", "--seed", "3"];
    let json = conformance(&[&options[..], &["--format", "json"]].concat());
    let table = conformance(&options);
    let records: Vec<Value> =
        json.stdout.lines().map(|it| serde_json::from_str(it).unwrap()).collect();
    assert!(records.iter().all(|record| schema.is_valid(record)), "{}", json.stdout);
    assert_eq!(records[0]["kind"], "head");
    assert_eq!(records[0]["mnemonics"], serde_json::json!(["vadd", "vset"]));
    let rows = rows(&table);
    assert_eq!(records.len(), rows.len() + 1);
    for (record, row) in records[1..].iter().zip(&rows) {
        let word = |value: &Value| format!("{:#010x}", value.as_u64().unwrap());
        let results = ["manual", "ptxas-12", "ptxas-13"].map(|name| word(&record["results"][name]));
        let inputs = ["a", "b", "c"].map(|name| word(&record[name]));
        let names: Vec<&str> = record["deviations"]
            .as_array()
            .unwrap()
            .iter()
            .map(|it| it.as_str().unwrap())
            .collect();
        let deviations = if names.is_empty() { "-".into() } else { names.join(",") };
        let found = [
            &[record["instruction"].as_str().unwrap().to_string()][..],
            &inputs,
            &results,
            &[deviations],
        ]
        .concat();
        assert_eq!(found, *row);
    }
}

/// FNV-1a
fn digest(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// The vectors of a seed never change, so that a user need only keep the seed. The digest is from
/// the first release.
#[test]
fn the_same_options_give_the_same_bytes() {
    let run = conformance(&[]);
    assert_eq!(run.stdout, conformance(&["--seed", "1", "--count", "10000"]).stdout);
    let (_, vectors) = run.stdout.split_once('\n').unwrap();
    assert_eq!(format!("{:016x}", digest(vectors)), "d28c56952ef2c96b");
    let shorter = conformance(&["--count", "2000"]);
    assert!(
        run.stdout.ends_with('\n')
            && vectors.starts_with(shorter.stdout.split_once('\n').unwrap().1)
    );
    assert_ne!(shorter.stdout, conformance(&["--count", "2000", "--seed", "2"]).stdout);
    assert_eq!(rows(&conformance(&["--count", "0"])), Vec::<Vec<&str>>::new());
}

#[test]
fn an_unknown_mnemonic_gets_a_suggestion() {
    for (name, hint) in [
        ("vad", "did you mean `vadd`?"),
        ("add", "did you mean `vadd`?"),
        ("?", "there is no such video instruction"),
    ] {
        let run = vptx(&["conformance", "--mnemonic", name], "");
        assert_eq!((run.status, run.stdout.as_str()), (2, ""));
        assert!(run.stderr.contains(hint), "{}", run.stderr);
    }
}

#[test]
fn a_closed_pipe_ends_an_endless_run() {
    let mut child = start(Path::new(ROOT), &["conformance", "--count", "18446744073709551615"]);
    let mut first = String::new();
    let mut reader = BufReader::new(child.stdout.take().unwrap());
    reader.read_line(&mut first).unwrap();
    assert!(first.starts_with("# vptx "), "{first}");
    drop(reader);
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), &b""[..]));
}
