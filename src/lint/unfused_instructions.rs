//! V602: several instructions that one shorter sequence can replace together.

use super::emulated_instruction::{TargetGroup, grouped, help, label};
use crate::backend::ptx::Region;
use crate::diagnostic::{Applicability, Code, Diagnostic};
use crate::module::VideoStatement;

/// The finding on the statements of a region.
pub(crate) fn on_region(statements: &[VideoStatement], region: Region) -> Option<Diagnostic> {
    let (first, last) = (statements.first()?.span, statements.last()?.span);
    let groups = grouped(region.costs.into_iter().map(|(target, ptxas, written)| TargetGroup {
        targets: vec![target],
        ptxas,
        written: Some(written),
    }));
    let count = statements.len();
    let whole = match &region.fusion.instruction {
        Some(instruction) => format!("one `{}`", instruction.mnemonic()),
        None => "one sum of products".into(),
    };
    let texts: Vec<String> = groups.iter().map(|group| group.text("")).collect();
    let message =
        format!("{count} instructions that are {whole}: ptxas 13.5 emits {}", texts.join("; "));
    let block = &region.edits.last()?.replacement;
    let applicability =
        if region.is_undisputed { Applicability::Safe } else { Applicability::Unsafe };
    let mut found = Diagnostic::new(Code::V602, last, message)
        .label(format!("{} in all", label(&groups, "")))
        .related(first, format!("the first of the {count}"))
        .help(help(block, region.is_undisputed))
        .fix(applicability, "write them as ordinary PTX", region.edits);
    found.statement = Some(first.to(last));
    Some(found)
}
