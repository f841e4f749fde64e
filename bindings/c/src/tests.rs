//! Tests that cannot be written in C: of panics, of sharing handles, and of C's calls under Miri.

mod calls;

use std::mem::MaybeUninit;

use crate::border::{give, run};
use crate::error::{Error, Failure};
use crate::{Findings, Fixed, Functions, Images, Instruction, Module, Status, Str, Text, Tree};

/// The error that a call returned.
fn error_of(call: impl FnOnce(&mut MaybeUninit<Option<Box<Error>>>) -> Status) -> (Status, String) {
    let mut error = MaybeUninit::uninit();
    let status = call(&mut error);
    // SAFETY: a call always writes it.
    let error = unsafe { error.assume_init() };
    (status, error.map_or_else(String::new, |error| error.message))
}

#[test]
fn a_panic_is_an_error_and_gives_no_handle() {
    let mut out: MaybeUninit<Option<Box<u32>>> = MaybeUninit::uninit();
    let result = error_of(|error| give(Some(&mut out), Some(error), || panic!("at {}", 7)));
    assert_eq!(result, (Status::InternalError, "a bug of vptx: at 7".to_string()));
    // SAFETY: `give` writes it first.
    assert!(unsafe { out.assume_init() }.is_none());
    let result = error_of(|error| run(Some(error), || std::panic::panic_any(1u8)));
    assert_eq!(result, (Status::InternalError, "a bug of vptx: a panic".to_string()));
}

#[test]
fn a_success_clears_the_error() {
    assert_eq!(error_of(|error| run(Some(error), || Ok(()))), (Status::Ok, String::new()));
    assert_eq!(run(None, || Err(Failure::invalid("it"))), Status::InvalidArgument);
}

#[test]
fn handles_may_be_shared_by_threads() {
    fn shared<T: Send + Sync>() {}
    shared::<Error>();
    shared::<Findings>();
    shared::<Fixed>();
    shared::<Functions>();
    shared::<Images>();
    shared::<Instruction>();
    shared::<Module>();
    shared::<Text>();
    shared::<Tree>();
}

#[test]
fn lists_stay_where_they_are_when_a_handle_moves() {
    let text = "@!p vadd.sat.u32.u32.s32 d.h1, a.b0, 1, c;\nvadd.u32 d, a, b;";
    let module = Module::parse(text.into(), &library::CheckOptions::default());
    let moved = Box::new(module.unwrap_or_else(|_| panic!("a module")));
    let read = |part: &crate::Part| {
        // SAFETY: the module keeps the instruction alive.
        String::from_utf8(unsafe { part.text.bytes("a part") }.ok().expect("a text").to_vec())
    };
    let statements = moved.statements();
    assert_eq!(statements.len(), 2);
    assert_eq!(read(&statements[0].guard).as_deref(), Ok("p"));
    assert!(statements[0].guard_is_negated && statements[1].instruction.is_null());
    // SAFETY: the module keeps them.
    let operands =
        unsafe { std::slice::from_raw_parts(statements[0].operands, statements[0].operand_count) };
    let values: Vec<_> =
        operands.iter().map(|it| (read(&it.value).unwrap(), it.is_register)).collect();
    let expected = [("d", true), ("a", true), ("1", false), ("c", true)];
    assert!(values.iter().map(|(text, is)| (text.as_str(), *is)).eq(expected));
    assert!(!moved.findings.list().is_empty());
    assert!(Str::NONE.data.is_null());
}

#[test]
fn repeated_words_go_through_all_chunks() {
    let Ok(add) = Instruction::parse("vadd4.u32.u32.u32.sat d.b10, a, b, c;") else { panic!() };
    let semantics = library::Semantics::Manual;
    let a: Vec<u32> = (0..10_000u32).map(|at| at.wrapping_mul(0x9e37_79b9)).collect();
    let mut out = vec![0; a.len()];
    let columns = [a.as_slice().into(), vec![0x0102_80ff].into(), vec![7].into()];
    assert!(add.eval_batch(semantics, &columns, &mut out).is_ok());
    for (word, result) in a.iter().zip(&out) {
        // The two lower bytes are saturated sums; the two upper bytes come from `c`.
        let lane = |at: u32, b: u32| (word >> at & 0xff).min(0xff - b) + b;
        assert_eq!(*result, lane(8, 0x80) << 8 | lane(0, 0xff), "{word:#x}");
    }
    let columns = [a.as_slice().into(), vec![0; 2].into(), vec![7].into()];
    assert!(add.eval_batch(semantics, &columns, &mut out).is_err());
    let columns = [a.as_slice().into(), vec![].into(), vec![7].into()];
    assert!(add.eval_batch(semantics, &columns, &mut out).is_err());
}
