//! Explains targets.

use std::fmt::Write;

use crate::isa::{Feature, Target};
use crate::video::Instruction;

/// The page of a target, if ptxas 13.5 knows it.
pub(crate) fn page(word: &str) -> Option<String> {
    let target: Target = word.parse().ok().filter(|target: &Target| target.is_known())?;
    let mut text = format!("# {target}: since PTX {}\n\n## What it has\n\n", target.since());
    for feature in Feature::ALL.iter().filter(|feature| target.has(**feature)) {
        // Writing to a string does not fail.
        let _ = match feature.since() {
            Some(since) => writeln!(text, "    {} (PTX {since})", plain(*feature)),
            None => writeln!(text, "    {}", plain(*feature)),
        };
    }
    let costs = match target.costs() {
        Some(own) if own == target => {
            "The costs of instructions were measured on this target.".into()
        }
        Some(other) => format!("vptx uses the costs that were measured on {other}."),
        None => String::from("No costs of instructions are known for this target."),
    };
    let _ = writeln!(text, "\n## Costs\n\n{costs}");
    Some(text)
}

/// What a feature is, as text that is not Markdown.
fn plain(feature: Feature) -> String {
    feature.text().replace('`', "")
}

/// All targets and what they have, as two tables in Markdown.
#[doc(hidden)]
pub fn tables() -> String {
    let mut text = String::from("| target | since PTX | costs measured on |\n|---|---|---|\n");
    for target in Target::all() {
        let costs = target.costs().map_or(String::from("-"), |costs| costs.to_string());
        // Writing to a string does not fail.
        let _ = writeln!(text, "| {target} | {} | {costs} |", target.since());
    }
    text += "\n| feature | since PTX | targets |\n|---|---|---|\n";
    for feature in Feature::ALL {
        let since = feature.since().map_or(String::from("-"), |since| since.to_string());
        let _ = writeln!(text, "| {} | {since} | {} |", feature.text(), ranges(*feature));
    }
    text
}

/// The targets that have a feature, such as `sm_61 to sm_90a, sm_120f`.
fn ranges(feature: Feature) -> String {
    let mut ranges: Vec<(Target, Target)> = Vec::new();
    let mut before = None;
    for target in Target::all() {
        if target.has(feature) {
            match ranges.last_mut() {
                Some((_, last)) if Some(*last) == before => *last = target,
                _ => ranges.push((target, target)),
            }
        }
        before = Some(target);
    }
    let text = |(first, last): &(Target, Target)| {
        if first == last { first.to_string() } else { format!("{first} to {last}") }
    };
    ranges.iter().map(text).collect::<Vec<_>>().join(", ")
}

/// The measured costs of an instruction: one line for neighbouring targets with the same costs.
pub(crate) fn costs(text: &mut String, instruction: &Instruction) -> std::fmt::Result {
    let mut lines: Vec<([u32; 2], Vec<String>)> = Vec::new();
    for target in Target::measured() {
        let Some(cost) = instruction.cost(*target) else { continue };
        let both = [cost.ptxas, cost.written()];
        match lines.last_mut().filter(|line| line.0 == both) {
            Some((_, targets)) => targets.push(target.to_string()),
            None => lines.push((both, vec![target.to_string()])),
        }
    }
    if lines.is_empty() {
        return Ok(());
    }
    let count = if instruction.has_constants() {
        "The most machine instructions"
    } else {
        "Machine instructions"
    };
    writeln!(text, "\n{count} that ptxas 13.5 (12.9 before sm_75) emits:\n")?;
    for ([before, after], targets) in lines {
        writeln!(
            text,
            "    {before:3} before and {after:2} after rewriting, on {}",
            targets.join(", ")
        )?;
    }
    Ok(())
}
