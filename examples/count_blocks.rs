//! Makes kernels count how often each of their basic blocks runs. Each kernel gets one more
//! parameter, the address of a `.u64` for each block, all zero at first.
//!
//! ```sh
//! cargo run --example count_blocks -- fixtures/ptx/nvcc/video_simd.sm_90.ptx > counted.ptx
//! ```

use std::error::Error;

use vptx::source::{LineIndex, Span};
use vptx::syntax::{self, Edits, EditsError, Function, FunctionKind, Statement, StatementKind};

/// A text whose kernels count, and the first instruction of each block in the old text.
pub(crate) struct Counted {
    pub(crate) text: String,
    /// For each kernel its name and blocks, in the order of their counters.
    pub(crate) kernels: Vec<(String, Vec<Span>)>,
}

/// The first statement of each basic block of a function: behind labels, and behind what jumps.
fn block_starts<'t>(function: &Function<'t>, source: &str) -> Vec<Statement<'t>> {
    let mut starts = Vec::new();
    let mut is_start = true;
    // What stands in blocks of braces runs in the order of the text, too.
    let mut left: Vec<_> = vec![function.statements()];
    while let Some(statements) = left.last_mut() {
        let Some(statement) = statements.next() else {
            left.pop();
            continue;
        };
        match statement.kind() {
            StatementKind::Block(inside) => left.push(inside),
            StatementKind::Label(_) => is_start = true,
            StatementKind::Instruction(it) => {
                if is_start {
                    starts.push(statement);
                }
                let mnemonic = it.mnemonic().text(source);
                is_start = matches!(mnemonic, "bra" | "brx" | "ret" | "exit" | "trap");
            }
            _ => {}
        }
    }
    starts
}

/// Adds counters to all kernels of a module.
pub(crate) fn count_blocks(source: &str) -> Result<Counted, EditsError> {
    let tree = syntax::parse(source);
    let mut edits = Edits::new(&tree);
    let mut kernels = Vec::new();
    for function in tree.functions() {
        let starts = block_starts(&function, source);
        if function.kind() != FunctionKind::Kernel || starts.is_empty() {
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
