//! Every sequence of ordinary PTX that vptx has for some instructions on a target. The
//! developers' `scripts/search --known` counts their machine instructions.
//!
//! ```sh
//! cargo run --example candidates -- sm_90 'vset4.u32.u32.lt d, a, b, c;'
//! ```

use std::error::Error;

use vptx::Instruction;
use vptx::backend::ptx::{FreshRegisters, Gate, candidates};
use vptx::video::Semantics;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let target = arguments.next().ok_or("usage: candidates TARGET INSTRUCTION...")?;
    let gate = Gate::new(target.parse()?, None);
    for text in arguments {
        let instruction: Instruction = text.parse()?;
        println!("# {instruction}\n");
        for (strategy, sequence) in candidates(&instruction, Semantics::Ptxas13, gate) {
            let mut registers = FreshRegisters::new("%t_").ok_or("a prefix")?;
            let statements = sequence.to_ptx(&instruction, &mut registers);
            let lines = [registers.declarations(), statements].concat();
            println!("{strategy}\n{}\n", lines.join("\n"));
        }
    }
    Ok(())
}
