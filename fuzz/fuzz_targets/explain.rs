//! Any text as a subject for `vptx explain`, and as an instruction for pictures, functions and
//! ordinary PTX.
#![no_main]

use libfuzzer_sys::fuzz_target;
use vptx::backend::{c, llvm};
use vptx::explain::{Single, page, svg};
use vptx::isa::Target;
use vptx::{Instruction, Semantics};

fuzz_target!(|text: &str| {
    let targets = Target::measured();
    let target = targets[text.len() % targets.len()];
    let _ = page(text, target);
    let Ok(instruction) = text.parse::<Instruction>() else { return };
    assert!(page(&instruction.to_string(), target).is_ok());
    for semantics in Semantics::ALL {
        let _ = svg(&instruction, Some([!0, 0x8000_7fff, 1]), &[semantics]);
        c::Header::new(semantics).add(&instruction);
        llvm::Module::new(semantics, llvm::Architecture::X86_64).add(&instruction);
        if let Some(single) = Single::new(&instruction, semantics, target) {
            assert!(!single.text(&instruction, semantics).is_empty());
        }
    }
});
