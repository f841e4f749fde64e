//! Finds where the semantics of ptxas and of the manual differ, for every form.

use std::collections::{BTreeMap, BTreeSet};

use crate::support::forms::{rows, texts};
use vptx::analysis::check;
use vptx::check::CheckOptions;
use vptx::isa::{Family, Sources};
use vptx::video::{Agreement, Deviation, Semantics, Witness};
use vptx::{Instruction, video};

const PTXAS: [Semantics; 2] = [Semantics::Ptxas12, Semantics::Ptxas13];

fn parse(text: &str) -> Instruction {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// For every scalar form, either both semantics give one program, or some inputs have different
/// results. The pages of the families name all causes.
#[test]
fn every_scalar_form_is_decided() {
    let mut causes: BTreeMap<&str, BTreeSet<Deviation>> = BTreeMap::new();
    let (mut proven, mut differing) = (0, 0);
    for (form, mnemonic) in rows().filter(|(form, _)| form.sources == Sources::Scalar) {
        for text in texts(form, mnemonic) {
            let instruction = parse(&text);
            for semantics in PTXAS {
                match instruction.agreement(semantics) {
                    Agreement::Proven => proven += 1,
                    Agreement::Differs(witness) => {
                        differing += 1;
                        holds(&instruction, semantics, &witness, &text);
                        causes.entry(mnemonic.text()).or_default().extend(witness.causes);
                    }
                    Agreement::Unknown => panic!("{text} is undecided under {semantics}"),
                }
            }
        }
    }
    assert_eq!(proven + differing, 2 * 78_400);
    for (_, mnemonic) in rows() {
        let found: Vec<Deviation> = causes.remove(mnemonic.text()).into_iter().flatten().collect();
        let named = video::deviations(mnemonic.family());
        // The page of a family must name every cause found, and may name others.
        assert!(found.iter().all(|cause| named.contains(cause)), "{mnemonic}: {found:?}");
    }
}

/// One register as several operands, and constants: edges alone do not show these differences.
#[test]
fn differences_with_equal_operands_are_found() {
    for text in [
        "vshl.u32.u32.u32.sat.wrap.max d, a, a, a;",
        "vshl.u32.u32.u32.sat.wrap.min d, a.h1, a, c;",
        "vshl.u32.s32.u32.sat.wrap.max d, a.b3, b, a;",
        "vshl.s32.s32.u32.wrap.max d, 33, b.b1, c;",
    ] {
        match parse(text).agreement(Semantics::Ptxas13) {
            Agreement::Differs(witness) => {
                holds(&parse(text), Semantics::Ptxas13, &witness, text);
                let Witness { a, b, c, .. } = witness;
                assert!(!text.contains("a, a, a;") || (a, a) == (b, c), "{text}");
            }
            other => panic!("{text} is {other:?}"),
        }
    }
}

/// A finding names the inputs of both results.
#[test]
fn findings_name_the_inputs_that_either_result_depends_on() {
    for (text, first) in [
        ("vset.s32.s32.gt.max d, a.b1, b.h1, 2404636542;", "a=0x"),
        ("vadd.u32.u32.u32.sat d, 4294967295, 1;", "→ manual 0xffffffff, ptxas 13 0x00000000"),
    ] {
        let found = check(text, &CheckOptions::default());
        let helps: Vec<&str> = found.iter().filter_map(|it| it.help.as_deref()).collect();
        assert!(helps.iter().any(|help| help.starts_with(first)), "{helps:?}");
    }
}

fn holds(instruction: &Instruction, semantics: Semantics, witness: &Witness, text: &str) {
    let Witness { a, b, c, manual, ptxas, ref causes } = *witness;
    assert_ne!(manual, ptxas, "{text}");
    assert_eq!(instruction.lower(Semantics::Manual).eval(a, b, c), manual, "{text}");
    assert_eq!(instruction.lower(semantics).eval(a, b, c), ptxas, "{text}");
    assert!(!causes.is_empty(), "{text}");
    let old = causes.contains(&Deviation::C1);
    assert!(!old || semantics == Semantics::Ptxas12, "{text}");
}

/// SIMD forms have the same result under all semantics.
#[test]
fn simd_forms_agree() {
    for (form, mnemonic) in rows().filter(|(form, _)| form.sources != Sources::Scalar) {
        assert!(video::deviations(mnemonic.family()).is_empty());
        for text in texts(form, mnemonic).iter().step_by(97) {
            let instruction = parse(text);
            for semantics in PTXAS {
                assert_eq!(instruction.agreement(semantics), Agreement::Proven, "{text}");
            }
        }
    }
}

/// The last line of each deviation's page is an instruction that has the deviation.
#[test]
fn pages_of_deviations_show_them() {
    for &deviation in Deviation::ALL {
        let line = deviation.explanation().lines().last().expect("a page").trim();
        match parse(line).agreement(Semantics::Ptxas12) {
            Agreement::Differs(witness) => {
                assert!(witness.causes.contains(&deviation), "{deviation}: {witness:?}");
            }
            other => panic!("{deviation}: {line} is {other:?}"),
        }
        let shown =
            Family::ALL.iter().any(|&family| video::deviations(family).contains(&deviation));
        assert!(shown, "{deviation} is on no page");
    }
}

/// Runs the replacement that a page gives for its last line, under a semantics.
fn run_instead(lines: &[&str], semantics: Semantics, inputs: [u32; 3]) -> u32 {
    let [a, b, c] = inputs.map(u64::from);
    let mut values = std::collections::BTreeMap::from([("a", a), ("b", b), ("c", c)]);
    for line in lines {
        let line = line.trim_end_matches(';');
        let (opcode, operands) = line.split_once(' ').expect("operands");
        let operands: Vec<&str> = operands.split(", ").collect();
        if opcode.starts_with('v') {
            let instruction = parse(line);
            let value = |name: Option<&vptx::video::Register>| {
                name.map_or(0, |it| values[it.name()] as u32)
            };
            let [a, b, c] = instruction.sources().map(value);
            let result = instruction.lower(semantics).eval(a, b, c);
            values.insert(operands[0].split('.').next().expect("a name"), result.into());
            continue;
        }
        let value = |at: usize| match operands[at].parse::<u64>() {
            Ok(number) => number,
            Err(_) => values[operands[at]],
        };
        let word = |at| value(at) as u32;
        let result = match opcode {
            "not.b32" => u64::from(!word(1)),
            "min.u32" => word(1).min(word(2)).into(),
            "max.u32" => word(1).max(word(2)).into(),
            "min.s32" => (word(1).cast_signed().min(word(2).cast_signed()).cast_unsigned()).into(),
            "add.u32" => word(1).wrapping_add(word(2)).into(),
            "cvt.u64.u32" | "cvt.u32.u64" => word(1).into(),
            "sub.s64" => value(1).wrapping_sub(value(2)),
            "min.s64" => value(1).cast_signed().min(value(2).cast_signed()).cast_unsigned(),
            "mul.wide.u32" => u64::from(word(1)) * u64::from(word(2)),
            "shr.u64" => value(1) >> value(2),
            "prmt.b32" => {
                assert_eq!(operands[2..], ["0", "0x1032"]);
                word(1).rotate_left(16).into()
            }
            _ => panic!("{line}"),
        };
        values.insert(operands[0], result);
    }
    values["d"] as u32
}

/// The replacements on the pages of deviations give the manual's results under every semantics of
/// ptxas.
#[test]
fn pages_of_deviations_say_what_to_write_instead() {
    let edges = [0, 1, 0x7f, 0x80, 0xff, 0x7fff, 0x8000, 0xffff, 0x7fff_ffff, 0x8000_0000, !0];
    let mut words = edges.to_vec();
    let mut seed = 1u32;
    words.extend((0..12).map(|_| {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        seed ^ seed >> 15
    }));
    for &deviation in Deviation::ALL {
        let page = deviation.explanation();
        let mut lines: Vec<&str> = page.lines().filter_map(|it| it.strip_prefix("    ")).collect();
        let shown = parse(lines.pop().expect("the last line"));
        assert!(!lines.is_empty(), "{deviation}: nothing to write instead");
        let manual = shown.lower(Semantics::Manual);
        let mut differs = false;
        for &a in &words {
            for &b in &words {
                for &c in &edges {
                    let expected = manual.eval(a, b, c);
                    for semantics in PTXAS {
                        let instead = run_instead(&lines, semantics, [a, b, c]);
                        assert_eq!(instead, expected, "{deviation} {semantics}: {a:x} {b:x} {c:x}");
                    }
                    differs |= shown.lower(Semantics::Ptxas12).eval(a, b, c) != expected;
                }
            }
        }
        assert!(differs, "{deviation}: the inputs do not show it");
    }
}

/// The witness is a recorded vector: -128 becomes 127.
#[test]
fn a_known_case() {
    let instruction = parse("vsub.s32.s32.s32.sat d.b2, a.b2, b.b2, c;");
    let words = [0x7f80_ff01, 0x8000_7fff, 0xfe80_feff];
    let [manual, old, new] = Semantics::ALL
        .map(|semantics| instruction.lower(semantics).eval(words[0], words[1], words[2]));
    assert_eq!([manual, old, new], [0xfe80_feff, 0xfe7f_feff, 0xfe7f_feff]);
    for semantics in PTXAS {
        let Agreement::Differs(witness) = instruction.agreement(semantics) else {
            panic!("it differs");
        };
        assert_eq!(witness.causes, [Deviation::C3]);
    }
}

/// Operands that are one register have one value in a witness.
#[test]
fn equal_registers_hold_equal_words() {
    for (text, differs) in [
        ("vadd.u32.u32.u32.sat d, a, b;", true),
        ("vadd.u32.u32.u32.sat d, a, a;", true),
        // The result of `a - a` is never negative.
        ("vsub.u32.u32.u32.sat d.b0, a, b, c;", true),
        ("vsub.u32.u32.u32.sat d.b0, a, a, c;", false),
    ] {
        let instruction = parse(text);
        let agreement = instruction.agreement(Semantics::Ptxas13);
        assert_eq!(matches!(agreement, Agreement::Differs(_)), differs, "{text}: {agreement:?}");
        if let (Agreement::Differs(witness), true) = (agreement, text.contains("a, a")) {
            assert_eq!(witness.a, witness.b, "{text}");
        }
        let found = vptx::check(text, &vptx::CheckOptions::default());
        assert_eq!(
            found.iter().any(|found| found.code == vptx::Code::ResultDiffers),
            differs,
            "{text}"
        );
    }
}
