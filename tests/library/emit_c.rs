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

/// Whether a line names a structure only to pass it to a function or to read its lower half: C has
/// no operators for structures.
fn is_passed(structure: &str, line: &str) -> bool {
    line.match_indices(structure).all(|(at, _)| {
        let rest = &line[at + structure.len()..];
        let is_other = rest.starts_with(|c: char| c.is_ascii_digit());
        is_other || [",", ")", ";", ".low"].iter().any(|it| rest.starts_with(it))
    })
}

#[test]
fn wide_integers_are_passed_to_functions() {
    let mut header = Header::new(Semantics::Manual);
    for (form, mnemonic) in rows() {
        // Parts are small.
        for text in
            texts(form, mnemonic).iter().filter(|it| !it.contains(".b") && !it.contains(".h"))
        {
            header.add(&text.parse().unwrap());
        }
    }
    let text = header.to_string();
    let (mut structures, mut count): (Vec<&str>, u32) = (Vec::new(), 0);
    // The first `#endif` after the functions for wide integers ends their definitions.
    let start = text.find("vptx_wide_less(").expect("wide integers are needed");
    for line in text[start..].lines() {
        if line == "{" {
            structures.clear();
        }
        assert!(structures.iter().all(|it| is_passed(it, line)), "{line}");
        if let Some(rest) = line.trim_start().strip_prefix("const vptx_wide ") {
            let (structure, value) = rest.split_once(" = ").expect("a value");
            assert!(value.starts_with("vptx_wide_"), "{line}");
            structures.push(structure);
            count += 1;
        }
    }
    assert!(count > 20, "{count}");
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
