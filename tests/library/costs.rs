//! The measured costs: a table in the documentation, a chart, and the sequences for them.
//! `tests/live/costs.rs` measures the costs.

use std::fmt::Write;
use std::sync::LazyLock;

use crate::support::classes::{measured_classes, statements, twice_classes};
use crate::support::regions;
use crate::support::{fixture_text, geometric, number};
use vptx::backend::ptx::{Cost, Gate, KINDS, Outcome, RewriteOptions, class, rewrite};
use vptx::isa::{Feature, Mnemonic, Sources, Target};
use vptx::video::Semantics;
use vptx::{Instruction, parse};

#[path = "../../examples/book/bars.rs"]
mod bars;

/// The rows of the table in docs/rewriting/savings.md. Each has a mnemonic's average costs over its
/// classes, before and after, and the geometric mean of the ratios.
fn summary() -> &'static str {
    static SUMMARY: LazyLock<String> = LazyLock::new(make_summary);
    &SUMMARY
}

fn make_summary() -> String {
    let mut text = String::from("| |");
    let mut rule = String::from("|---|");
    for target in Target::measured() {
        write!(text, " {target} |").expect("a string");
        rule.push_str("---|");
    }
    text = format!("{text}\n{rule}\n");
    let classes = measured_classes();
    let mut all = vec![Vec::new(); Target::measured().len()];
    let mut weighted = vec![Vec::new(); Target::measured().len()];
    let mut means = vec![Vec::new(); Target::measured().len()];
    for &mnemonic in Mnemonic::ALL {
        write!(text, "| `{mnemonic}` |").expect("a string");
        for (column, &target) in Target::measured().iter().enumerate() {
            let own = classes.values().map(|instructions| &instructions[0]);
            let own = own.filter(|instruction| instruction.mnemonic() == mnemonic);
            let costs: Vec<Cost> = own
                .filter(|instruction| usual(instruction))
                .filter_map(|instruction| instruction.measured_cost(target))
                .collect();
            if costs.is_empty() {
                // The target has the instruction in hardware.
                text.push_str(" - |");
                continue;
            }
            let pair = |cost: &Cost, before: u32, after: u32| {
                let after = if cost.is_lower() { after } else { before };
                (f64::from(before), f64::from(after.max(1)))
            };
            let weights = costs.iter().map(|it| pair(it, it.ptxas_weight, it.rewritten_weight));
            weighted[column].extend(weights.map(|(before, after)| before / after));
            let costs: Vec<(f64, f64)> =
                costs.iter().map(|it| pair(it, it.ptxas, it.rewritten)).collect();
            let count = number(costs.len());
            let before = costs.iter().map(|(before, _)| before).sum::<f64>() / count;
            let after = costs.iter().map(|(_, after)| after).sum::<f64>() / count;
            let ratios: Vec<f64> = costs.iter().map(|(before, after)| before / after).collect();
            let mean = geometric(&ratios);
            write!(text, " {before:.1} → {after:.1}, {mean:.2} |").expect("a string");
            all[column].extend(ratios);
            means[column].push(mean);
        }
        text.push('\n');
    }
    for (name, ratios) in [
        ("mean of these", &means),
        ("mean of all classes", &all),
        ("the same, weighted", &weighted),
    ] {
        write!(text, "| {name} |").expect("a string");
        for ratios in ratios {
            write!(text, " {:.2} |", geometric(ratios)).expect("a string");
        }
        text.push('\n');
    }
    text
}

/// Whether an instruction neither takes a lane twice nor combines a lane with itself.
fn usual(instruction: &Instruction) -> bool {
    let simd = instruction.form().sources != Sources::Scalar;
    !simd || class(instruction).1 % KINDS < 2
}

#[test]
fn the_documentation_has_the_measured_table() {
    let page = include_str!("../../docs/rewriting/savings.md");
    let table = summary();
    assert!(page.contains(table), "docs/rewriting/savings.md should have\n{table}");
}

/// The machine instructions before and after: two bars for each mnemonic.
fn chart() -> String {
    let column =
        Target::measured().iter().position(|target| *target == Target::sm(90)).expect("sm_90");
    let title = "Machine instructions of ptxas 13.5 on sm_90, before and after";
    bars::chart(title, " on sm_90", &bars::costs(summary(), column))
}

#[test]
fn the_chart_shows_the_measured_table() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/pictures/costs.svg");
    let chart = chart();
    if std::env::var_os("VPTX_PICTURES").is_some() {
        std::fs::write(path, &chart).expect("a picture");
    }
    let drawn = std::fs::read_to_string(path).expect("a picture");
    assert!(drawn == chart, "VPTX_PICTURES=1 draws docs/pictures/costs.svg again");
}

/// Every class has a cost. A cheaper sequence is admitted on the target where it was
/// measured.
#[test]
fn every_class_is_in_the_table() {
    for instruction in measured_classes().values().flatten() {
        for &target in Target::measured() {
            let cost = instruction.measured_cost(target);
            if target.has(Feature::NativeScalars) && instruction.form().sources == Sources::Scalar {
                assert_eq!(cost, None, "{instruction} {target}");
                continue;
            }
            let cost = cost.unwrap_or_else(|| panic!("{instruction} {target}: no cost"));
            let gate = Gate::new(target, None);
            let sequence = cost.strategy.sequence(instruction, Semantics::Ptxas13, gate);
            assert!(sequence.is_some(), "{instruction} {target}: {} has none", cost.strategy);
        }
    }
    // ptxas may simplify instructions that combine a lane with itself. With selectors, these have
    // costs only on the target with instructions on bytes, whose sequences are shorter.
    for ((_, place), instructions) in twice_classes() {
        let measured = Target::measured();
        let expected = if place % KINDS == 0 { measured } else { &measured[measured.len() - 1..] };
        for instruction in instructions {
            let has = |target: &Target| instruction.cost(*target).is_some();
            let with: Vec<Target> = measured.iter().copied().filter(has).collect();
            assert_eq!(with, expected, "{instruction}");
        }
    }
    let costs = |text: &str, number: u16| {
        let instruction: Instruction = text.parse().expect("a legal instruction");
        instruction.cost(Target::sm(number)).is_some()
    };
    for number in [37, 52, 61, 62, 72] {
        assert!(!costs("vadd.u32.u32.u32 d, a, b;", number), "sm_{number}");
    }
    // Only ptxas before 13 has code for this target, and it fills the upper half in another way.
    assert!(costs("vadd.u32.u32.u32 d, a, b;", 70));
    assert!(costs("vadd.u32.u32.u32 d.h0, a, b, c;", 70));
    assert!(!costs("vadd.u32.u32.u32 d.h1, a, b, c;", 70));
    assert!(costs("vadd.u32.u32.u32 d.h1, a, b, c;", 75));
}

/// The reported cost is the cost of the sequence that is written, even if the version of a module
/// lacks the measured sequence.
#[test]
fn costs_are_of_what_is_written() {
    let all: Vec<&Instruction> = measured_classes().values().flatten().step_by(17).collect();
    let mut told = [0, 0];
    for (version, own) in [("8.8", "sm_90"), ("6.0", "sm_70"), ("4.3", "sm_50")] {
        let mut text =
            format!(".version {version}\n.target {own}\n.func f()\n{{\n.reg .b32 a, b, c, d;\n");
        for instruction in &all {
            writeln!(text, "{instruction}").expect("a string");
        }
        text.push_str("}\n");
        let (module, _) = parse(&text);
        let target = Target::sm(90);
        let options = RewriteOptions::default().with_all(true).with_target(Some(target));
        for change in rewrite(&module, &options).expect("a target").changes {
            let Outcome::Rewritten(written) = change.outcome else { continue };
            told[usize::from(change.cost.is_some())] += 1;
            let Some(cost) = change.cost else { continue };
            let gate = Gate::new(target, None);
            let measured = cost.strategy.sequence(change.instruction, Semantics::Ptxas13, gate);
            assert_eq!(measured, Some(written), "{} {version}", change.instruction);
        }
    }
    assert!(told.iter().all(|count| *count > 100), "{told:?}");
}

/// Lanes of one register are a pair in either order.
#[test]
fn classes_count_different_pairs_of_lanes() {
    let kind = |text: &str| class(&text.parse().expect(text)).1 % KINDS;
    // The selector numbers lanes of two registers from 0 to 3.
    assert_eq!(kind("vmin2.u32.u32.u32 d, a.h01, a.h10, c;"), 2 + 1);
    assert_eq!(kind("vmin4.u32.u32.u32 d, a.b3210, a.b2301, c;"), 2 + 2);
    assert_eq!(kind("vmin4.u32.u32.u32 d, a.b3210, a.b0032, c;"), 2 + 3);
    assert_eq!(kind("vmin2.u32.u32.u32 d, a.h01, b.h23, c;"), 1);
    assert_eq!(kind("vmin2.u32.u32.u32 d, a.h00, b.h22, c;"), 2 + 1);
}

/// Sequences have the lengths that were recorded with the costs by `cargo xtask measure-costs`.
#[test]
fn costs_are_of_sequences_of_these_lengths() {
    let strategy = |_: &_, instruction: &Instruction, column: usize| {
        instruction.measured_cost(Target::measured()[column]).map(|cost| cost.strategy)
    };
    let recorded = include_str!("../../fixtures/oracle/statements.tsv");
    let now = statements(measured_classes(), strategy);
    for (now, recorded) in now.lines().zip(recorded.lines()) {
        assert_eq!(now, recorded, "cargo xtask measure-costs");
    }
    assert_eq!(now.len(), recorded.len());
}

/// Regions have the lengths for which `cargo xtask measure-costs --regions` counted machine
/// instructions.
#[test]
fn regions_have_the_recorded_lengths() {
    let recorded = fixture_text("oracle/regions.tsv");
    let mut recorded = recorded.lines().skip(1);
    for (kind, target) in regions::cells() {
        let statements = regions::statements(&regions::rewritten(kind, target));
        let now = format!("{}\t{target}\t{statements}\t", kind.name);
        let line = recorded.next().expect("a line for each kind and target");
        assert!(line.starts_with(&now), "{now}, but recorded {line}");
    }
    assert_eq!(recorded.next(), None);
}

/// The document equals the tables of targets.
#[cfg(feature = "explain")]
#[test]
fn the_document_has_all_targets() {
    let text = include_str!("../../docs/targets.md");
    let start = text.find("| target |").expect("the table");
    assert_eq!(text[start..], vptx::explain::targets(), "`vptx explain --targets` prints it");
}
