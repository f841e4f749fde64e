//! Properties of C functions. `tests/live/c.rs` compiles them.

use std::collections::HashMap;

use crate::support::forms::{rows, texts};
use vptx::backend::c::Header;
use vptx::ir::{Input, Program};
use vptx::{Instruction, Semantics};

/// The functions for wide integers in headers.
const WIDE: [&str; 6] = ["u64(", "i64(", "add(", "sub(", "shr(", "less("];

#[test]
fn every_form_has_a_function_of_its_own() {
    let mut programs: HashMap<String, Program> = HashMap::new();
    for semantics in Semantics::ALL {
        let mut header = Header::new(semantics);
        for (form, mnemonic) in rows() {
            for text in texts(form, mnemonic).iter().step_by(11) {
                let instruction: Instruction = text.parse().unwrap();
                let name = header.add(&instruction);
                let program = instruction.lower(semantics);
                let known = programs.entry(name).or_insert_with(|| program.clone());
                assert!(*known == program, "{text} {semantics}");
            }
        }
        let text = header.to_string();
        for (at, _) in text.match_indices("vptx_wide_") {
            let rest = &text[at + "vptx_wide_".len()..];
            assert!(WIDE.iter().any(|name| rest.starts_with(name)), "{}", &rest[..20]);
        }
    }
    assert!(programs.len() > 5000, "{}", programs.len());
}

#[test]
fn registers_that_are_named_twice_are_two_parameters() {
    let header = Header::new(Semantics::Manual);
    let twice: Instruction = "vadd.u32.u32.u32 d, x, x;".parse().unwrap();
    assert_eq!(header.parameters(&twice), [Input::A, Input::B]);
}

#[test]
fn functions_look_like_this() {
    let mut header = Header::new(Semantics::Ptxas13);
    for text in [
        "vadd.s32.u32.s32.sat d, a.b1, b;",
        "@p vadd.s32.u32.s32.sat x, y.b1, z;",
        "vmin2.s32.s32.s32.add d, a, b, c;",
        "vmad.u32.u32.u32.shr7 d, a, b.h0, -c;",
    ] {
        header.add(&text.parse().unwrap());
    }
    insta::assert_snapshot!(header.to_string());
}
