//! Rounds of fixes.

use vptx::analysis::{Fixed, check, fix};
use vptx::check::{CheckOptions, Language};
use vptx::diagnostic::{Applicability, Code, RuleSet, Severity, apply};
use vptx::isa::Target;

fn fixed(source: &str, most: Applicability) -> Fixed {
    fix(source, &CheckOptions::default(), most)
}

#[test]
fn rounds_settle_what_overlaps() {
    let text = "vadd.sat.s32.s32.s32.sat d, a.b0, b, c;\nvmad.s32.s32.s32 d, -a, -b, c;";
    let done = fixed(text, Applicability::Safe);
    assert_eq!(done.text, "vadd.s32.s32.s32.sat d, a.b0, b;\nvmad.s32.s32.s32 d, a, b, c;");
    assert!(done.left.is_empty());
    assert!(done.rounds.len() > 1);
    let replayed =
        done.rounds.iter().fold(text.to_string(), |text, edits| apply(&text, edits).unwrap());
    assert_eq!(replayed, done.text);
}

fn errors(text: &str) -> usize {
    let found = check(text, &CheckOptions::default());
    found.iter().filter(|found| found.severity == Severity::Error).count()
}

/// Tests a fix that adds errors, alone and beside other errors that fixes remove.
#[test]
fn no_statement_gets_more_errors() {
    // Read as `vmin2`, it lacks a type and `c`, and its selector is wrong.
    let bad = "vmim2.u32.u32 d, a.b0, b;\n";
    let good = "vadd.u32.u32.u64 d, a, b;\nvad4.u32.u32.u32 d, a, b, c;\n";
    assert_eq!((errors(bad), errors(&bad.replace("vmim2", "vmin2"))), (1, 3));
    assert_eq!(fixed(bad, Applicability::Unsafe).text, bad);
    for text in [format!("{bad}{good}"), format!("{good}{bad}"), format!("{good}{bad}{good}")] {
        let done = fixed(&text, Applicability::Unsafe);
        let expected = text.replace(".u64", ".u32").replace("vad4", "vadd4");
        assert_eq!(done.text, expected);
        assert_eq!(done.left.len(), 1, "{:?}", done.left);
    }
}

/// The number of rounds does not grow with the number of findings.
#[test]
fn many_findings_take_few_rounds() {
    for count in [10, 500] {
        let text = "vmim2.u32.u32 d, a.b0, b;\nvadd.sat.s32.s32.s32.sat d, a.b0, b, c;\n";
        let done = fixed(&text.repeat(count), Applicability::Unsafe);
        assert_eq!(done.left.len(), count);
        assert!(done.rounds.len() <= 4, "{}", done.rounds.len());
        // An `asm` with many statements.
        let lines = "\"vadd.s32.s32.s32 %0, %1, %1, %1;\\n\"\n".repeat(count);
        let source = format!("asm({lines} : \"=r\"(d) : \"r\"(a));");
        let options = CheckOptions::default().with_language(Language::Cuda);
        let done = fix(&source, &options, Applicability::Safe);
        assert_eq!((done.left.len(), done.rounds.len()), (0, 1));
        assert_eq!(done.codes.len(), count);
    }
}

/// A person must be able to review a guess.
#[test]
fn nothing_is_built_on_a_guess() {
    // After the guess there is a third source that is ignored.
    let text = "vaddd.s32.s32.s32 d, a, b, c;\nvadd.s32.s32.s32 d, a, b, c;\n";
    let done = fixed(text, Applicability::Unsafe);
    assert_eq!(done.text, "vadd.s32.s32.s32 d, a, b, c;\nvadd.s32.s32.s32 d, a, b;\n");
    let again = fixed(&done.text, Applicability::Unsafe);
    assert_eq!(again.text, "vadd.s32.s32.s32 d, a, b;\nvadd.s32.s32.s32 d, a, b;\n");
    // A guess is not replaced by ordinary PTX, either.
    let options = CheckOptions::default()
        .with_target(Some(Target::sm(90)))
        .with_rules(RuleSet::DEFAULT.with(Code::EmulatedInstruction));
    let legal = "vmin2.s32.s32.s32 d, a, b, c;";
    let replaced = fix(legal, &options, Applicability::Unsafe).text;
    assert!(!replaced.contains("vmin2"), "{replaced}");
    for guessed in ["vmni2.s32.s32.s32 d, a, b, c;", "vmin2.s32.s32.s32 d, a, b c;"] {
        let done = fix(guessed, &options, Applicability::Unsafe);
        assert_eq!((done.text.as_str(), done.codes.len()), (legal, 1));
    }
    // Remaining errors are fixed, except in a statement where the fix guessed the instruction.
    let done = fixed("vadd.u32.u32.u64 d, a, b.b4;", Applicability::Unsafe);
    assert_eq!(done.text, "vadd.u32.u32.u32 d, a, b.b3;");
    let done = fixed("vaddd.u32.u32.u64 d, a, b;", Applicability::Unsafe);
    assert_eq!(done.text, "vadd.u32.u32.u64 d, a, b;");
}

#[test]
fn unsafe_fixes_want_to_be_asked_for_and_to_be_the_only_ones() {
    let text = "vad4.u32.u32.u32 d, a, b, c;\nvshl.u32.u32.u32 d, a, b;";
    assert_eq!(fixed(text, Applicability::Safe).text, text);
    let done = fixed(text, Applicability::Unsafe);
    // `.clamp` or `.wrap`: there is no single choice.
    assert_eq!(done.text, "vadd4.u32.u32.u32 d, a, b, c;\nvshl.u32.u32.u32 d, a, b;");
    assert_eq!(done.codes, [Code::UnknownInstruction]);
    assert_eq!(done.left.len(), 1);
    // The part of a constant has only the bits of the part.
    for (written, part) in [("0x1ff.b0", "0xff"), ("0x12345678.h1", "0x1234")] {
        let text = |source: &str| format!("vadd.u32.u32.u32 d, {source}, a;");
        assert_eq!(fixed(&text(written), Applicability::Unsafe).text, text(part));
    }
}

/// Inside a brace that is not closed, a `;` ends nothing, and no other one follows.
#[test]
fn a_semicolon_is_added_once() {
    for text in
        [".global .u32 s[2]={1", ".global .u32 s={(1", ".global .u32 s[2]={1\n.func f() { ret; }"]
    {
        let done = fixed(text, Applicability::Unsafe);
        assert!(!done.text.contains(";;"), "{}", done.text);
        assert!(done.rounds.len() < 3, "{}", done.text);
        assert!(done.left.iter().any(|it| it.severity == Severity::Error), "{}", done.text);
    }
}
