//! Searches for short sequences of ordinary PTX that replace instructions. `scripts/search` for
//! developers counts their machine instructions.
//!
//! ```sh
//! cargo run --release --example search -- forms 10 7 vadd
//! echo '4 vadd.u32.u32.u32 d.b1, a.b1, b.b2, c;' |
//!     cargo run --release --example search -- sequences 10 path/to/z3
//! ```
//!
//! The first command prints random forms. The second reads instructions. The number before each
//! instruction is a limit: its sequence must have fewer operations.

// Words are bit patterns, so casts take their low bits.
#![allow(clippy::cast_sign_loss)]

mod battery;
mod goals;
mod operation;
mod pool;
mod search;
mod shape;
#[cfg(test)]
mod tests;
mod values;

#[path = "../../tests/support"]
#[allow(dead_code)]
mod support {
    pub(crate) mod forms;
    pub(crate) mod llvm;
    pub(crate) mod random;
    pub(crate) mod smt;
}

use std::error::Error;
use std::path::Path;
use std::time::Duration;

use vptx::Instruction;
use vptx::backend::ptx::FreshRegisters;
use vptx::isa::Target;
use vptx::video::Semantics;

use search::{Limits, search};
use support::forms::{rows, texts};
use support::random::Random;
use support::smt::{Answer, Solver, places, query};

/// The limit for one proof, in seconds.
const PATIENCE: u64 = 20;

const USAGE: &str = "usage: search forms COUNT SEED [PREFIX] | search sequences SECONDS Z3";

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["forms", count, seed] => print_forms(count.parse()?, seed.parse()?, ""),
        ["forms", count, seed, prefix] => print_forms(count.parse()?, seed.parse()?, prefix),
        ["sequences", seconds, z3] => {
            let time = Duration::from_secs(seconds.parse()?);
            let mut solver = Solver::new(Path::new(z3));
            for line in std::io::stdin().lines() {
                let line = line?;
                let (below, text) = line.split_once(' ').ok_or(USAGE)?;
                let limits = Limits { below: below.parse()?, time };
                print_sequences(&text.parse()?, limits, &mut solver)?;
            }
        }
        _ => return Err(USAGE.into()),
    }
    Ok(())
}

/// Prints random forms whose text starts with a prefix.
fn print_forms(count: usize, seed: u64, prefix: &str) {
    let mut random = Random(seed);
    let mut all: Vec<String> = rows()
        .filter(|(_, mnemonic)| {
            let own = mnemonic.text();
            own.starts_with(prefix) || prefix.starts_with(own)
        })
        .flat_map(|(form, mnemonic)| texts(form, mnemonic))
        .filter(|text| text.starts_with(prefix))
        .collect();
    for _ in 0..count.min(all.len()) {
        println!("{}", all.swap_remove(random.below(all.len())));
    }
}

/// Prints the sequences that are found for an instruction, and whether each is proven.
fn print_sequences(
    instruction: &Instruction,
    limits: Limits,
    solver: &mut Solver,
) -> Result<(), Box<dyn Error>> {
    let outcome = search(instruction, limits);
    let end = if outcome.is_complete { "complete" } else { "out of time" };
    println!("# {instruction}\n# {end}, {} values\n", outcome.values);
    let program = instruction.lower(Semantics::CURRENT);
    for found in outcome.found {
        let query = query(&program, &found.sequence, places(&instruction.sources()));
        let proof = match solver.ask(&query, PATIENCE) {
            Answer::Proven => "proven",
            Answer::Unknown => "not proven",
            // The solver refuted a sequence that passed all trials.
            Answer::Differs(_) => continue,
        };
        let mut registers = FreshRegisters::new("%t_").ok_or("a prefix")?;
        let statements = found.sequence.to_ptx(instruction, &mut registers);
        let lines = found.sequence.lines();
        let has_all = |it: &Target| lines.iter().all(|line| it.has(line.opcode.needs()));
        let targets: Vec<String> = Target::all().filter(has_all).map(|it| it.to_string()).collect();
        println!("{} {} {proof}", found.operations, targets.join(","));
        println!("{}\n", [registers.declarations(), statements].concat().join("\n"));
    }
    Ok(())
}
