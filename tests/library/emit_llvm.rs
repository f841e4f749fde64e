//! Properties of LLVM functions. `tests/live/llvm.rs` compiles them.

use std::collections::HashMap;

use crate::support::EDGES;
use crate::support::forms::{heads, rows, texts};
use crate::support::llvm;
use crate::support::random::Random;
use vptx::backend::llvm::{Architecture, Module};
use vptx::ir::Program;
use vptx::isa::Sources;
use vptx::{Instruction, Semantics};

/// One of a hundred texts, and one of five combinations of modifiers without selectors, for which
/// functions use vectors. `first` selects different ones for each architecture.
fn instructions(first: usize) -> impl Iterator<Item = Instruction> {
    let all = rows().flat_map(|(form, mnemonic)| texts(form, mnemonic));
    let simd = rows().filter(|(form, _)| form.sources != Sources::Scalar);
    let plain = simd.flat_map(|(form, mnemonic)| heads(form, mnemonic));
    let plain = plain.map(|head| format!("{head} d, a, b, c;"));
    all.skip(first)
        .step_by(100)
        .chain(plain.skip(first).step_by(5))
        .map(|text| text.parse().unwrap())
}

#[test]
fn functions_compute_what_programs_do() {
    let mut random = Random(1);
    let mut count = 0;
    for (first, architecture) in Architecture::ALL.into_iter().enumerate() {
        for semantics in Semantics::ALL {
            let mut module = Module::new(semantics, architecture);
            let mut programs: HashMap<String, Program> = HashMap::new();
            for instruction in instructions(first) {
                let name = module.add(&instruction);
                let program = instruction.lower(semantics);
                // Different programs must have functions with different names.
                let known = programs.entry(name).or_insert_with(|| program.clone());
                assert!(*known == program, "{instruction} {semantics}");
            }
            let functions = llvm::read(&module.to_string());
            assert_eq!(functions.len(), programs.len());
            for (name, function) in functions {
                let program = &programs[&name];
                for _ in 0..8 {
                    let mut word = || {
                        if random.one_in(3) { random.next() as u32 } else { *random.pick(&EDGES) }
                    };
                    let words @ [a, b, c] = [(); 3].map(|()| word());
                    let found = function.eval(words);
                    assert_eq!(found, program.eval(a, b, c), "{name} {words:x?}");
                }
                count += 1;
            }
        }
    }
    assert!(count > 10_000, "{count}");
}

#[test]
fn parameters_are_what_functions_take() {
    let mut module = Module::new(Semantics::Manual, Architecture::Any);
    let instructions: Vec<Instruction> =
        ["vadd.u32.u32.u32 d, x, x;", "vmad.u32.u32.u32 d, 3, 5, c;"]
            .map(|text| text.parse().unwrap())
            .into();
    let names: Vec<String> = instructions.iter().map(|it| module.add(it)).collect();
    let functions = llvm::read(&module.to_string());
    for (name, instruction) in names.iter().zip(&instructions) {
        assert_eq!(functions[name].parameters(), module.parameters(instruction), "{name}");
    }
}

/// Vectors are for the cases in which they take fewer machine instructions, as counted by
/// `cargo xtask emit-llvm --counts`. In each row: sums of bytes, sums of halves, merged bytes,
/// merged halves.
#[test]
fn vectors_are_where_they_are_shorter() {
    use Architecture::{Aarch64, Amdgcn, Any, Nvptx64, X86_64};
    for (architecture, mnemonic, expected) in [
        (Any, "vadd", [false, false, false, false]),
        (Any, "vmax", [false, false, false, false]),
        (X86_64, "vadd", [true, false, true, true]),
        (X86_64, "vsub", [true, false, true, true]),
        (X86_64, "vmax", [true, true, true, true]),
        (X86_64, "vabsdiff", [true, true, true, true]),
        (Aarch64, "vadd", [true, false, true, false]),
        (Aarch64, "vmax", [true, true, true, false]),
        (Aarch64, "vabsdiff", [true, true, true, false]),
        (Amdgcn, "vadd", [false, false, false, true]),
        (Amdgcn, "vsub", [false, true, false, true]),
        (Amdgcn, "vmax", [false, false, false, true]),
        (Nvptx64, "vadd", [false, false, false, true]),
        (Nvptx64, "vsub", [false, false, false, false]),
        (Nvptx64, "vmax", [false, true, false, true]),
    ] {
        let found = [(4, ".add"), (2, ".add"), (4, ""), (2, "")].map(|(lanes, add)| {
            let mut module = Module::new(Semantics::Manual, architecture);
            let text = format!("{mnemonic}{lanes}.u32.u32.u32{add} d, a, b, c;");
            module.add(&text.parse().unwrap());
            let text = module.to_string();
            text.contains("<4 x i8>") || text.contains("<2 x i16>")
        });
        assert_eq!(found, expected, "{architecture:?} {mnemonic}");
    }
}

#[test]
fn functions_look_like_this() {
    let mut texts = Vec::new();
    for architecture in [Architecture::Any, Architecture::X86_64] {
        let mut module = Module::new(Semantics::Ptxas13, architecture);
        for text in [
            "vadd.s32.u32.s32.sat d, a.b1, b;",
            "@p vadd.s32.u32.s32.sat x, y.b1, z;",
            "vadd2.s32.s32.s32.sat d, a, b, c;",
            "vadd2.s32.s32.s32.sat d.h1, a.h32, b, c;",
            "vabsdiff4.u32.u32.u32.add d, a, b, c;",
            "vmad.u32.u32.u32.shr7 d, a, b.h0, -c;",
        ] {
            module.add(&text.parse().unwrap());
        }
        texts.push(module.to_string());
    }
    insta::assert_snapshot!(texts.join("\n; ---\n\n"));
}
