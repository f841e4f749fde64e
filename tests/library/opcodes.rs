//! The table of opcodes that the rewriter uses, compared with meanings that were written
//! independently.

use vptx::Instruction;
use vptx::backend::ptx::{FreshRegisters, Opcode};
use vptx::video::Semantics;

use crate::support::opcodes::{sequence, words};
use crate::support::random::Random;
use crate::support::run_ptx::{Kernel, address};
use crate::support::{samples, smt};

/// The PTX text of each opcode computes the value that the table gives.
#[test]
fn opcodes_compute_what_their_text_does() {
    let instruction: Instruction = "vadd.u32.u32.u32.add d, a, b, c;".parse().expect("legal");
    let mut random = Random(1);
    for opcode in Opcode::all() {
        let sequence = sequence(opcode);
        let mut registers = FreshRegisters::new("%v_").expect("a prefix");
        let statements = sequence.to_ptx(&instruction, &mut registers).join("\n");
        let text = format!(
            ".version 9.2\n.target sm_120f\n.address_size 64\n.entry k(\n.param .u64 k_param_0\n)\n\
             {{\n.reg .b32 a, b, c, d;\n.reg .b64 p;\n{}\nld.param.u64 p, [k_param_0];\n\
             ld.global.u32 a, [p];\nld.global.u32 b, [p+4];\nld.global.u32 c, [p+8];\n\
             {statements}\nst.global.u32 [p], d;\nret;\n}}\n",
            registers.declarations().join("\n")
        );
        let kernel = Kernel::read(&text, "k", Semantics::CURRENT);
        for _ in 0..samples(200) {
            let [a, b, c] = words(&mut random);
            let mut memory = [a, b, c];
            kernel.run(&[address(0)], &mut memory);
            let result = sequence.eval(a, b, c);
            assert_eq!(memory[0], result, "{opcode:?} of {a:#x}, {b:#x}, {c:#x}:\n{statements}");
        }
    }
}

/// Every opcode has an SMT term. `cargo xtask prove-rewrites` compares the terms with evaluation.
#[test]
fn opcodes_have_terms_for_solvers() {
    let instruction: Instruction = "vadd.u32.u32.u32.add d, a, b, c;".parse().expect("legal");
    let program = instruction.lower(Semantics::CURRENT);
    for opcode in Opcode::all() {
        let query = smt::query(&program, &sequence(opcode), [0, 1, 2]);
        assert!(query.contains("distinct"), "{opcode:?}");
    }
}

/// If the table says that an opcode commutes, exchanging its first two arguments keeps the result.
#[test]
fn opcodes_commute_where_the_table_says_so() {
    let mut random = Random(2);
    for opcode in Opcode::all().into_iter().filter(|it| it.arity() > 1) {
        let mut pairs = (0..2000).map(|_| words(&mut random).map(u64::from));
        let differs = |[x, y, z]: [u64; 3]| opcode.eval([x, y, z]) != opcode.eval([y, x, z]);
        assert!(!opcode.commutes() || !pairs.any(differs), "{opcode:?}");
    }
}
