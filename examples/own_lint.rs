//! A lint of your own: this house wants `.sat` on every `vadd4` and `vsub4`. Comments such as
//! `// vptx: ignore[HOUSE1]` suppress its findings.
//!
//! ```sh
//! cargo run --example own_lint -- fixtures/ptx/nvcc/video_simd.sm_90.ptx
//! ```

use std::error::Error;
use std::process::ExitCode;

use vptx::analysis::unsuppressed;
use vptx::diagnostic::{Applicability, CustomRule, Edit, Severity};
use vptx::isa::{Mnemonic, Role};
use vptx::source::LineIndex;
use vptx::{CheckOptions, Code, Diagnostic, VideoStatement};

static WRAPS: CustomRule =
    CustomRule::new("HOUSE1", "wrapping-sum", Severity::Warning, "A sum that wraps around");

/// The finding on a statement, if there is one.
fn wraps(statement: &VideoStatement, source: &str) -> Option<Diagnostic> {
    let instruction = statement.instruction.as_ref()?;
    let adds = matches!(instruction.mnemonic(), Mnemonic::Vadd4 | Mnemonic::Vsub4);
    let sums = instruction.modifier(Role::Secondary).is_some();
    if !adds || sums || instruction.modifier(Role::Saturate).is_some() {
        return None;
    }
    let spans = statement.spans(source)?;
    let (_, last) = spans.modifiers.last()?;
    let finding = Diagnostic::new(
        Code::Custom(&WRAPS),
        spans.mnemonic,
        format!("`{instruction}` wraps around"),
    );
    let edits = vec![Edit::insert(last.end, ".sat")];
    Some(
        finding
            .label("wraps around")
            .fix(Applicability::Unsafe, "saturate", edits)
            .statement(statement.span),
    )
}

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("usage: own_lint FILE")?;
    let source = std::fs::read_to_string(&path)?;
    let options = CheckOptions::default().with_custom_rules(vec![&WRAPS]);
    let (module, mut found) = vptx::parse_with(&source, &options)?;
    let own = module.statements().iter().filter_map(|it| wraps(it, &source)).collect();
    // This house does not mind one rule of vptx.
    found.retain(|found| found.code != Code::V510);
    found.extend(unsuppressed(&source, &options, own));
    found.sort_by_key(|found| found.span);
    let index = LineIndex::new(&source);
    for found in &found {
        let at = index.position(&source, found.span.start);
        println!("{path}:{}:{}: {} {found}", at.line, at.column, found.code);
    }
    Ok(if found.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
