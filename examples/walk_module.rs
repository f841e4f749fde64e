//! Lists the video instructions of a PTX file: position, text, whether ptxas computes the manual's
//! result, and machine instructions before and after rewriting.
//!
//! ```sh
//! cargo run --example walk_module -- fixtures/ptx/nvcc/video_simd.sm_90.ptx
//! ```

use std::error::Error;

use vptx::Semantics;
use vptx::source::LineIndex;
use vptx::video::Agreement;

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("usage: walk_module FILE")?;
    let source = std::fs::read_to_string(&path)?;
    let (module, diagnostics) = vptx::parse(&source);
    let index = LineIndex::new(&source);
    for statement in module.statements() {
        let at = index.position(&source, statement.span.start);
        let Some(instruction) = &statement.instruction else {
            println!("{path}:{}: has errors", at.line);
            continue;
        };
        let agrees = match instruction.agreement(Semantics::CURRENT) {
            Agreement::Proven => "as the manual says".to_string(),
            Agreement::Differs(witness) => {
                format!("differs for a={:#x}, b={:#x}, c={:#x}", witness.a, witness.b, witness.c)
            }
            Agreement::Unknown => "not known".to_string(),
        };
        println!("{path}:{}: {instruction} ({agrees})", at.line);
        if let Some(spans) = statement.spans(&source) {
            let roles = spans.modifiers.iter();
            let roles = roles.map(|(role, span)| format!("{} {}", span.text(&source), role.name()));
            println!("    modifiers: {}", roles.collect::<Vec<_>>().join(", "));
        }
        if let Some(cost) = module.target().and_then(|target| instruction.cost(target)) {
            println!("    {} machine instructions, {} rewritten", cost.ptxas, cost.rewritten);
        }
    }
    for diagnostic in diagnostics {
        let at = index.position(&source, diagnostic.span.start);
        println!("{path}:{}:{}: {} {diagnostic}", at.line, at.column, diagnostic.code);
    }
    Ok(())
}
