//! When `diff` claims that statements compute the same, z3 proves the claim.
//!
//! `cargo xtask prove-rewrites` runs it.

use crate::proof::{DEFAULT_SEED, random_operands, table, z3};
use crate::support::ORACLE_HEAD;
use crate::support::random::Random;
use crate::support::setting;
use crate::support::smt::{Answer, Solver, places, query};
use vptx::Instruction;
use vptx::backend::ptx::{FreshRegisters, Gate, Sequence, candidates};
use vptx::diff::diff;
use vptx::video::Semantics;

/// The limit for one query, in seconds.
const PATIENCE: u64 = 60;

/// A module with some statements, after which the result is stored.
fn module(statements: &[String]) -> String {
    format!("{ORACLE_HEAD}{}\nst.global.u32 [w], d;\n}}\n", statements.join("\n"))
}

/// The statements of a sequence, with the registers that they need.
fn statements(instruction: &Instruction, sequence: &Sequence) -> Vec<String> {
    let mut registers = FreshRegisters::new("%t_").expect("names");
    let lines = sequence.to_ptx(instruction, &mut registers);
    [registers.declarations(), lines].concat()
}

/// Whether `diff` claims that an instruction and a sequence compute the same: `None` if it claims
/// nothing, otherwise whether it calls the claim proven.
fn claim(instruction: &Instruction, new: &[String]) -> Option<bool> {
    let changes = diff(&module(&[instruction.to_string()]), &module(new)).expect("both are PTX");
    match &changes[..] {
        [] => Some(true),
        [change] => {
            let mut claims = change.hunks.iter().flat_map(|hunk| &hunk.equivalences);
            claims.next().map(|claim| claim.proven)
        }
        _ => panic!("{instruction} {new:?}: {changes:?}"),
    }
}

/// Compares instructions with their own sequences, and with sequences of other instructions of the
/// same row. These differ in one or two modifiers, so many of their results are nearly the same.
#[test]
#[ignore = "needs z3: cargo xtask prove-rewrites"]
fn claims_are_proven() {
    let count = setting("VPTX_PROVE_COUNT", 500);
    let mut random = Random(setting("VPTX_PROVE_SEED", DEFAULT_SEED));
    let mut solver = Solver::new(&z3());
    let table = table();
    let (mut same, mut others, mut silent, mut unknown) = (0, 0, 0, 0);
    for _ in 0..count {
        let (form, _, heads) = random.pick(&table);
        let operands = random_operands(form, &mut random);
        let text = format!("{} {operands}", random.pick(heads));
        let head = if random.one_in(3) { &text } else { random.pick(heads) };
        let other = format!("{} {operands}", head.split(' ').next().expect("a head"));
        let [instruction, other]: [Instruction; 2] = [&text, &other]
            .map(|text| text.parse().unwrap_or_else(|error| panic!("{text}: {error}")));
        let sequences = candidates(&other, Semantics::CURRENT, Gate::ANY);
        let (_, sequence) = random.pick(&sequences);
        let new = statements(&other, sequence);
        let program = instruction.lower(Semantics::CURRENT);
        let answer = || query(&program, sequence, places(&instruction.sources()));
        match claim(&instruction, &new) {
            Some(is_proven) => {
                let is_same = instruction == other;
                assert!(is_proven || !is_same, "{text}: a rewriting is not recognised");
                match solver.ask(&answer(), PATIENCE) {
                    Answer::Proven if is_same => same += 1,
                    Answer::Proven => others += 1,
                    Answer::Unknown => unknown += 1,
                    Answer::Differs(words) => panic!("{text} and {new:?} differ for {words:?}"),
                }
            }
            None if instruction == other => panic!("{text}: nothing is said about {new:?}"),
            None if solver.ask(&answer(), PATIENCE) == Answer::Proven => {
                panic!("{text}: nothing is said about {new:?}, which computes the same");
            }
            None => silent += 1,
        }
    }
    println!(
        "claims of diff: {same} about rewritings and {others} about other instructions proven, \
         {unknown} unknown; {silent} pairs differ, and nothing is said"
    );
    assert!(same > 0 && others > 0 && silent > 0);
}
