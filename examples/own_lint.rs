//! A lint of your own: this house wants `.sat` on every `vadd4` and `vsub4`.
//!
//! ```sh
//! cargo run --example own_lint -- fixtures/ptx/nvcc/video_simd.sm_90.ptx
//! ```

use std::error::Error;
use std::process::ExitCode;

use vptx::Code;
use vptx::isa::{Mnemonic, Role};
use vptx::source::LineIndex;

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("usage: own_lint FILE")?;
    let source = std::fs::read_to_string(&path)?;
    let (module, diagnostics) = vptx::parse(&source);
    let index = LineIndex::new(&source);
    let mut count = 0;
    for statement in module.statements() {
        let Some(instruction) = &statement.instruction else { continue };
        let adds = matches!(instruction.mnemonic(), Mnemonic::Vadd4 | Mnemonic::Vsub4);
        let sums = instruction.modifier(Role::Secondary).is_some();
        if !adds || sums || instruction.modifier(Role::Saturate).is_some() {
            continue;
        }
        let Some(spans) = statement.spans(&source) else { continue };
        let at = index.position(&source, spans.mnemonic.start);
        println!("{path}:{}:{}: `{instruction}` wraps around", at.line, at.column);
        count += 1;
    }
    // Findings of vptx count, too, but for one that this house does not mind.
    let others = diagnostics.iter().filter(|found| found.code != Code::V510);
    count += others.inspect(|found| println!("{path}: {} {found}", found.code)).count();
    Ok(if count > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}
