//! Compares both dialects with recorded verdicts of ptxas.

use crate::support::{errors, fixture_text, oracle_module};
use vptx::check::Dialect;

#[test]
fn recorded_verdicts_agree() {
    let text = fixture_text("oracle/verdicts.tsv");
    let mut wrong = Vec::new();
    let mut count = 0;
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let (instruction, verdict) = line.split_once('\t').expect("two columns");
        let module = oracle_module(instruction);
        let accepted = verdict == "ok";
        count += 1;
        let found = errors(&module, Dialect::Ptxas);
        if found.is_empty() != accepted {
            let codes: Vec<_> = found.iter().map(|d| (d.code, &d.message)).collect();
            wrong.push(format!("{instruction}\t{verdict}\t{codes:?}"));
        }
        if !accepted && errors(&module, Dialect::Documented).is_empty() {
            wrong.push(format!("{instruction}\t{verdict}\tdocumented accepts"));
        }
    }
    assert!(wrong.is_empty(), "{} of {count}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(count > 13_000);
}
