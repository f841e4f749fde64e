//! Any bytes: rewriting must not panic. If a text has no errors, the rewritten parts must have no
//! video instructions and no new findings. (A suppression of a rewritten instruction is left over.)
#![no_main]

use libfuzzer_sys::fuzz_target;
use vptx::backend::ptx::{RewriteOptions, rewrite};
use vptx::diagnostic::{Code, Severity};
use vptx::isa::Target;
use vptx::{Diagnostic, parse, source};

fuzz_target!(|bytes: &[u8]| {
    let text = source::decode(bytes.to_vec());
    let (module, before) = parse(&text);
    let options = RewriteOptions::default()
        .with_target(Some(Target::sm(90)))
        .with_all(true)
        .with_comments(true);
    let has_errors = before.iter().any(|finding| finding.severity == Severity::Error);
    let rewritten = match rewrite(&module, &options) {
        Ok(rewritten) => rewritten,
        Err(error) => {
            // Suppressions hide errors from the findings.
            assert!(has_errors || text.contains("vptx"), "{error}");
            return;
        }
    };
    let result = rewritten.text();
    if has_errors {
        return;
    }
    let (after, findings) = parse(&result);
    let changed = rewritten.changes.iter();
    let changed = changed.filter(|change| change.outcome.is_rewritten()).count();
    assert_eq!(after.statements().len(), module.statements().len() - changed);
    let count =
        |all: &[Diagnostic]| all.iter().filter(|it| it.code != Code::UnusedSuppression).count();
    assert!(count(&findings) <= count(&before));
    let kept: usize = rewritten.edits().iter().map(|edit| edit.span.len() as usize).sum();
    let new: usize = rewritten.edits().iter().map(|edit| edit.replacement.len()).sum();
    assert_eq!(result.len(), text.len() - kept + new);
});
