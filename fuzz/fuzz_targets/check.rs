//! Any bytes: reading, checking, fixing and printing must not panic, spans must lie in the text,
//! and every instruction must be the same after printing and reading.
#![no_main]

use libfuzzer_sys::fuzz_target;
use vptx::analysis::{check, fix};
use vptx::diagnostic::{Applicability, RuleSet};
use vptx::{CheckOptions, Dialect, Instruction, source};

fuzz_target!(|bytes: &[u8]| {
    let text = source::decode(bytes.to_vec());
    assert_eq!(text.len(), bytes.len());
    let index = source::LineIndex::new(&text);
    for dialect in [Dialect::Documented, Dialect::Ptxas] {
        let options = CheckOptions::default().with_dialect(dialect);
        let (module, diagnostics) = vptx::parse_with(&text, &options).expect("PTX");
        let all = options.with_rules(RuleSet::ALL).with_every_module(true);
        for diagnostic in diagnostics.iter().chain(&check(&text, &all)) {
            assert!(text.get(diagnostic.span.range()).is_some());
            for label in &diagnostic.labels {
                assert!(text.get(label.span.range()).is_some());
            }
            index.position(&text, diagnostic.span.end);
            for fix in &diagnostic.fixes {
                assert!(fix.edits.is_sorted_by(|one, next| one.span.end <= next.span.start));
                let _ = fix.apply(&text);
            }
        }
        let _ = fix(&text, &all, Applicability::Unsafe);
        for (_, instruction) in module.instructions() {
            let printed = instruction.to_string();
            let read: Instruction = printed.parse().expect("prints what reads");
            assert_eq!(&read, instruction);
        }
    }
});
