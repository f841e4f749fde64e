//! V602: several instructions that one shorter sequence can replace together.

use super::emulated_instruction::{TargetGroup, grouped, help, label};
use crate::backend::ptx::{Outcome, Region};
use crate::diagnostic::{Applicability, Code, Diagnostic};
use crate::isa::Target;
use crate::module::VideoStatement;

/// The finding on the statements of a region.
pub(crate) fn on_region(statements: &[VideoStatement], mut region: Region) -> Option<Diagnostic> {
    let (first, last) = (statements.first()?.span, statements.last()?.span);
    let place = region.place();
    let targets: Vec<Target> = region.costs.iter().map(|(target, ..)| *target).collect();
    let ptxas = Target::assembler(&targets);
    let groups = grouped(region.costs.into_iter().map(|(target, ptxas, written)| TargetGroup {
        targets: vec![target],
        ptxas,
        written: Some(written),
    }));
    let count = statements.len();
    let whole = match region.outcomes.get(place)? {
        Outcome::Fused(fusion) => match &fusion.instruction {
            Some(instruction) => format!("one `{}`", instruction.mnemonic()),
            None => "one sum of products".into(),
        },
        Outcome::Grouped(group) => format!("one sequence on {}", group.wider()),
        _ => return None,
    };
    let texts: Vec<String> = groups.iter().map(|group| group.text("")).collect();
    let message =
        format!("{whole} can replace {count} instructions: {ptxas} emits {}", texts.join("; "));
    // Lines that move before a loop are shown with the indentation of the block.
    let own = region.edits.get(place)?.replacement.as_str();
    let end = own.lines().last().unwrap_or_default();
    let level = &end[..end.len() - end.trim_start().len()];
    let kept = region.edits.iter().skip(count).flat_map(|edit| edit.replacement.trim().lines());
    let block: Vec<&str> = kept.map(str::trim_start).chain([own]).collect();
    let block = block.join(&format!("\n{level}"));
    region.edits.sort_by_key(|edit| edit.span);
    let applicability =
        if region.is_undisputed { Applicability::Safe } else { Applicability::Unsafe };
    // The block takes the place of one instruction. The label is at the last one if that is the
    // first, otherwise at the first.
    let (other, which) = if place == 0 { (last, "last") } else { (first, "first") };
    let mut found =
        Diagnostic::new(Code::UnfusedInstructions, statements.get(place)?.span, message)
            .label(format!("{} in all", label(&groups, "")))
            .related(other, format!("the {which} of the {count}"))
            .help(help(&block, region.is_undisputed))
            .fix(applicability, "write them as ordinary PTX", region.edits);
    found.statement = Some(first.to(last));
    Some(found)
}
