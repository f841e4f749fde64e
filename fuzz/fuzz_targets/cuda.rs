//! Any bytes as CUDA, or as Python, Mojo, Rust, Julia, Zig or a notebook (by the last byte).
//! Finding and checking `asm` must not panic, spans and fixes must fit the text, and applying all
//! fixes must end.
#![no_main]

use libfuzzer_sys::fuzz_target;
use vptx::CheckOptions;
use vptx::analysis::fix;
use vptx::check::Language;
use vptx::diagnostic::{Applicability, RuleSet, Severity};
use vptx::source;

fuzz_target!(|bytes: &[u8]| {
    let language = match bytes.last() {
        Some(b'p') => Language::Python,
        Some(b'm') => Language::Mojo,
        Some(b'z') => Language::Zig,
        Some(b'r') => Language::Rust,
        Some(b'j') => Language::Julia,
        Some(b'n') => Language::Notebook,
        _ => Language::Cuda,
    };
    let text = source::decode(bytes.to_vec());
    let options = CheckOptions::default().with_language(language).with_rules(RuleSet::ALL);
    let found = vptx::check(&text, &options);
    for diagnostic in &found {
        assert!(text.get(diagnostic.span.range()).is_some());
        for label in &diagnostic.labels {
            assert!(text.get(label.span.range()).is_some());
        }
        for fix in &diagnostic.fixes {
            let _ = fix.apply(&text);
        }
    }
    let errors = |found: &[vptx::Diagnostic]| {
        found.iter().filter(|diagnostic| diagnostic.severity == Severity::Error).count()
    };
    let fixed = fix(&text, &options, Applicability::Unsafe);
    assert!(errors(&fixed.left) <= errors(&found));
    assert_eq!(vptx::check(&fixed.text, &options), fixed.left);
});
