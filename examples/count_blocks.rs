//! Makes kernels count how often each of their basic blocks is executed. Each kernel gets a new
//! parameter: the address of one `.u64` counter for each block. All counters must be zero at the
//! start.
//!
//! ```sh
//! cargo run --example count_blocks -- fixtures/ptx/nvcc/video_simd.sm_90.ptx > counted.ptx
//! ```

use std::error::Error;

use vptx::flow::{Block, Flow};
use vptx::names::Names;
use vptx::source::{LineIndex, Span};
use vptx::syntax::{self, Edits, EditsError, FunctionKind, Statement};

/// The new text with counters, and the first instruction of each basic block in the old text.
pub(crate) struct Counted {
    pub(crate) text: String,
    /// For each kernel, its name and the first instructions of its blocks, in the order of the
    /// counters.
    pub(crate) kernels: Vec<(String, Vec<Span>)>,
}

/// Adds counters to all kernels of a module.
pub(crate) fn count_blocks(source: &str) -> Result<Counted, EditsError> {
    let tree = syntax::parse(source);
    let names = Names::of(&tree);
    let mut edits = Edits::new(&tree);
    let mut kernels = Vec::new();
    for function in tree.functions().filter(|it| it.kind() == FunctionKind::Kernel) {
        let Some(flow) = Flow::of(&function, &names) else { continue };
        let first = |block: &Block| Some(flow.statements()[block.instructions.clone().next()?]);
        let starts: Vec<Statement<'_>> = flow.blocks().iter().filter_map(first).collect();
        if starts.is_empty() {
            continue;
        }
        let parameter = edits.fresh_label();
        let address = edits.fresh_register(&function, ".b64")?;
        edits.add_parameter(&function, &format!(".param .u64 {parameter}"))?;
        edits.insert_before(starts[0], &format!("ld.param.u64 {address}, [{parameter}];"))?;
        for (number, start) in starts.iter().enumerate() {
            let count = format!("red.add.u64 [{address}+{}], 1;", 8 * number);
            edits.insert_before(*start, &count)?;
        }
        let name = function.name().map_or("", |name| name.text(source));
        kernels.push((name.to_string(), starts.iter().map(|it| it.span()).collect()));
    }
    Ok(Counted { text: edits.finish()?.into_text(), kernels })
}

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("usage: count_blocks FILE")?;
    let source = std::fs::read_to_string(&path)?;
    let counted = count_blocks(&source)?;
    print!("{}", counted.text);
    let index = LineIndex::new(&source);
    for (kernel, blocks) in &counted.kernels {
        for (number, block) in blocks.iter().enumerate() {
            let line = index.position(&source, block.start).line;
            eprintln!("{kernel}: block {number} starts at {path}:{line}");
        }
    }
    Ok(())
}
