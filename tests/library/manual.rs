//! The examples of the manual's chapter 9.7.18, word for word.

use crate::support::check_spelling;
use vptx::isa::Mnemonic;
use vptx::{CheckOptions, Code, Diagnostic, Dialect, parse_with};

/// All twenty examples, in the manual's order.
const EXAMPLES: [&str; 20] = [
    "vadd.s32.u32.s32.sat      r1, r2.b0, r3.h0;",
    "vsub.s32.s32.u32.sat      r1, r2.h1, r3.h1;",
    "vabsdiff.s32.s32.s32.sat  r1.h0, r2.b0, r3.b2, c;",
    "vmin.s32.s32.s32.sat.add  r1, r2, r3, c;",
    "vshl.s32.u32.u32.clamp  r1, r2, r3;",
    "vshr.u32.u32.u32.wrap   r1, r2, r3.h1;",
    "vmad.s32.s32.u32.sat    r0, r1, r2, -r3;",
    "vmad.u32.u32.u32.shr15  r0, r1.h0, r2.h0, r3;",
    "vset.s32.u32.lt    r1, r2, r3;",
    "vset.u32.u32.ne    r1, r2, r3.h1;",
    "vadd2.s32.s32.u32.sat  r1, r2, r3, r1;",
    "vsub2.s32.s32.s32.sat  r1.h0, r2.h10, r3.h32, r1;",
    "vmin2.s32.u32.u32.add  r1.h10, r2.h00, r3.h22, r1;",
    "vset2.s32.u32.lt      r1, r2, r3, r0;",
    "vset2.u32.u32.ne.add  r1, r2, r3, r0;",
    "vadd4.s32.s32.u32.sat  r1, r2, r3, r1;",
    "vsub4.s32.s32.s32.sat  r1.b0, r2.b3210, r3.b7654, r1;",
    "vmin4.s32.u32.u32.add  r1.b00, r2.b0000, r3.b2222, r1;",
    "vset4.s32.u32.lt      r1, r2, r3, r0;",
    "vset4.u32.u32.ne.max  r1, r2, r3, r0;",
];

/// The two examples that contradict the chapter's own syntax: their numbers, codes and wrong
/// tokens.
const MISTAKES: [(usize, Code, &str); 2] =
    [(17, Code::InvalidMask, ".b00"), (19, Code::SimdSecondaryOperation, ".max")];

const HEAD: &str = "\
.version 3.0
.target sm_30
.entry examples() {
    .reg .b32 r0, r1, r2, r3;
    .reg .b32 c;
";

fn module(instructions: &[&str]) -> String {
    format!("{HEAD}{}\nret;\n}}\n", instructions.join("\n"))
}

fn run(text: &str, dialect: Dialect) -> Vec<Diagnostic> {
    check_spelling(text, &CheckOptions::default().with_dialect(dialect))
}

#[test]
fn eighteen_examples_are_clean() {
    let good: Vec<&str> = EXAMPLES
        .into_iter()
        .enumerate()
        .filter(|(at, _)| MISTAKES.iter().all(|(mistake, ..)| mistake != at))
        .map(|(_, example)| example)
        .collect();
    assert_eq!(good.len(), 18);
    for dialect in [Dialect::Documented, Dialect::Ptxas] {
        for example in &good {
            assert_eq!(run(&module(&[example]), dialect), [], "{example}");
            assert_eq!(run(example, dialect), [], "{example}");
        }
        let text = module(&good);
        let (read, _) =
            parse_with(&text, &CheckOptions::default().with_dialect(dialect)).expect("PTX");
        assert_eq!(run(&text, dialect), []);
        let found: Vec<&str> = read.instructions().map(|(span, _)| span.text(&text)).collect();
        assert_eq!(found, good);
    }
    // The printed text equals the example, except for layout and explicit defaults.
    for example in &good {
        let instruction: vptx::Instruction = example.parse().expect("it is clean");
        let plain = example.replace("r1.h10", "r1").replace("r2.h10", "r2").replace("r3.h32", "r3");
        let plain = plain.replace("r2.b3210", "r2").replace("r3.b7654", "r3");
        let plain: Vec<&str> = plain.split_whitespace().collect();
        assert_eq!(instruction.to_string(), plain.join(" "));
    }
}

#[test]
fn two_examples_are_mistakes() {
    for dialect in [Dialect::Documented, Dialect::Ptxas] {
        for (at, code, token) in MISTAKES {
            for text in [EXAMPLES[at].to_owned(), module(&[EXAMPLES[at]])] {
                let found = run(&text, dialect);
                assert_eq!(found.len(), 1, "{text}: {found:?}");
                let start = text.find(token).expect("the token is there");
                assert_eq!(found[0].code, code);
                assert_eq!(found[0].span.range(), start..start + token.len());
            }
        }
        // One text has all examples, and exactly these two have findings.
        let text = module(&EXAMPLES);
        let found: Vec<(Code, &str)> =
            run(&text, dialect).iter().map(|found| (found.code, found.span.text(&text))).collect();
        assert_eq!(found, [(Code::InvalidMask, ".b00"), (Code::SimdSecondaryOperation, ".max")]);
    }
}

/// The chapter's target notes have the spellings `varvg2` and `varvg4` for `vavrg2` and `vavrg4`.
#[test]
fn misspelt_averages_are_explained() {
    for (wrong, right) in [("varvg2", "vavrg2"), ("varvg4", "vavrg4")] {
        let example = format!("{wrong}.u32.u32.u32 r1, r2, r3, c;");
        for text in [example.clone(), module(&[&example])] {
            for dialect in [Dialect::Documented, Dialect::Ptxas] {
                let found = run(&text, dialect);
                assert_eq!(found.len(), 1, "{found:?}");
                assert_eq!(
                    (found[0].code, found[0].span.text(&text)),
                    (Code::UnknownInstruction, wrong)
                );
                let help = found[0].help.as_deref().unwrap_or_default();
                assert!(help.contains(right), "{help}");
                let fixed = found[0].fixes[0].apply(&text);
                assert_eq!(fixed, text.replace(wrong, right));
                assert_eq!(run(&fixed, dialect), []);
            }
        }
    }
}

/// The chapter's list of instructions, and the requirements in its target notes.
#[test]
fn mnemonics_and_gates() {
    let list = "vadd vadd2 vadd4 vsub vsub2 vsub4 vmad vavrg2 vavrg4 vabsdiff vabsdiff2 \
                vabsdiff4 vmin vmin2 vmin4 vmax vmax2 vmax4 vshl vshr vset vset2 vset4";
    let list: Vec<&str> = list.split_whitespace().collect();
    assert_eq!(list.len(), Mnemonic::ALL.len());
    assert!(list.iter().all(|name| name.parse::<Mnemonic>().is_ok()));
    assert!(
        ["vavrg", "vmad2", "vmad4", "vshl2", "vshr4", "vote", "VADD"]
            .iter()
            .all(|name| name.parse::<Mnemonic>().is_err())
    );

    for example in EXAMPLES {
        let name = example.split('.').next().expect("there is a mnemonic");
        let simd = name.ends_with(['2', '4']);
        let gates = |version: &str, target: &str| -> Vec<Code> {
            let text = module(&[example]).replace("3.0", version).replace("sm_30", target);
            let found = run(&text, Dialect::Documented);
            let gates = found.iter().map(|found| found.code);
            gates.filter(|code| matches!(code, Code::TargetTooLow | Code::VersionTooLow)).collect()
        };
        let (target, version) = if simd {
            (vec![Code::TargetTooLow], vec![Code::VersionTooLow])
        } else {
            (vec![], vec![])
        };
        assert_eq!(gates("2.0", "sm_20"), [target, version.clone()].concat(), "{example}");
        assert_eq!(gates("2.3", "sm_35"), version, "{example}");
        assert_eq!(gates("3.0", "sm_30"), [], "{example}");
        assert_eq!(gates("8.0", "sm_90a"), [], "{example}");
        assert_eq!(gates("1.4", "sm_13"), [Code::TargetTooLow, Code::VersionTooLow], "{example}");
    }
}
