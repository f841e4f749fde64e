//! Calls of the library as C makes them: handles are bare pointers, texts are freed after the call,
//! and results go to memory that nothing wrote before. Small enough for Miri.
#![allow(
    clippy::undocumented_unsafe_blocks,
    reason = "Miri checks that the calls keep the promises of the header"
)]

use std::ffi::c_void;
use std::mem::{MaybeUninit, zeroed};
use std::ptr::{null, null_mut};
use std::slice;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::thread;

use crate::{
    ABI_VERSION, Applicability, Finding, Function, Image, Modifier, Options, Part, RewriteFlag,
    Role, Semantics, Severity, Statement, Status, Str, TreeError, TreeNode,
};

type Handle = *mut c_void;

/// The functions as `vptx.h` declares them.
mod c {
    use std::ffi::c_char;

    use super::{
        Finding, Function, Handle, Image, Options, Statement, Status, Str, TreeError, TreeNode,
    };

    #[allow(improper_ctypes, reason = "handles are opaque")]
    unsafe extern "C" {
        pub(super) fn vptx_abi_version() -> u32;
        pub(super) fn vptx_version() -> Str;
        pub(super) fn vptx_error_message(error: Handle) -> Str;
        pub(super) fn vptx_error_findings(error: Handle) -> Handle;
        pub(super) fn vptx_error_free(error: Handle);
        pub(super) fn vptx_check(
            text: Str,
            options: *const Options,
            out: *mut Handle,
            error: *mut Handle,
        ) -> Status;
        pub(super) fn vptx_findings_list(
            findings: Handle,
            out: *mut *const Finding,
            count: *mut usize,
        ) -> Status;
        pub(super) fn vptx_findings_free(findings: Handle);
        pub(super) fn vptx_fix_all(
            text: Str,
            options: *const Options,
            applicability: u32,
            out: *mut Handle,
            error: *mut Handle,
        ) -> Status;
        pub(super) fn vptx_fixed_text(fixed: Handle) -> Str;
        pub(super) fn vptx_fixed_count(fixed: Handle) -> usize;
        pub(super) fn vptx_fixed_findings(fixed: Handle) -> Handle;
        pub(super) fn vptx_fixed_free(fixed: Handle);
        pub(super) fn vptx_parse(
            text: Str,
            options: *const Options,
            out: *mut Handle,
            error: *mut Handle,
        ) -> Status;
        pub(super) fn vptx_module_statements(
            module: Handle,
            out: *mut *const Statement,
            count: *mut usize,
        ) -> Status;
        pub(super) fn vptx_module_findings(module: Handle) -> Handle;
        pub(super) fn vptx_module_target(module: Handle) -> Str;
        pub(super) fn vptx_module_version(module: Handle) -> Str;
        pub(super) fn vptx_module_free(module: Handle);
        pub(super) fn vptx_tree_parse(text: Str, out: *mut Handle, error: *mut Handle) -> Status;
        pub(super) fn vptx_tree_nodes(
            tree: Handle,
            out: *mut *const TreeNode,
            count: *mut usize,
        ) -> Status;
        pub(super) fn vptx_tree_errors(
            tree: Handle,
            out: *mut *const TreeError,
            count: *mut usize,
        ) -> Status;
        pub(super) fn vptx_tree_free(tree: Handle);
        pub(super) fn vptx_instruction_parse(
            text: Str,
            out: *mut Handle,
            error: *mut Handle,
        ) -> Status;
        pub(super) fn vptx_instruction_text(instruction: Handle, out: *mut Str) -> Status;
        pub(super) fn vptx_instruction_free(instruction: Handle);
        pub(super) fn vptx_eval(
            instruction: Handle,
            semantics: u32,
            a: u32,
            b: u32,
            c: u32,
            out: *mut u32,
            error: *mut Handle,
        ) -> Status;
        pub(super) fn vptx_eval_batch(
            instruction: Handle,
            semantics: u32,
            a: *const u32,
            a_count: usize,
            b: *const u32,
            b_count: usize,
            c: *const u32,
            c_count: usize,
            out: *mut u32,
            out_count: usize,
            error: *mut Handle,
        ) -> Status;
        pub(super) fn vptx_rewrite(
            text: Str,
            target: Str,
            semantics: u32,
            flags: u32,
            out: *mut Handle,
            error: *mut Handle,
        ) -> Status;
        pub(super) fn vptx_to_ptx(
            instruction: Handle,
            target: Str,
            semantics: u32,
            out: *mut Handle,
            error: *mut Handle,
        ) -> Status;
        pub(super) fn vptx_emit_c(
            instructions: *const Handle,
            count: usize,
            semantics: u32,
            out: *mut Handle,
            error: *mut Handle,
        ) -> Status;
        pub(super) fn vptx_functions_list(
            functions: Handle,
            out: *mut *const Function,
            count: *mut usize,
        ) -> Status;
        pub(super) fn vptx_functions_header(functions: Handle) -> Str;
        pub(super) fn vptx_functions_free(functions: Handle);
        pub(super) fn vptx_text_string(text: Handle) -> Str;
        pub(super) fn vptx_text_free(text: Handle);
        pub(super) fn vptx_extract(
            bytes: *const c_char,
            size: usize,
            out: *mut Handle,
            error: *mut Handle,
        ) -> Status;
        pub(super) fn vptx_images_list(
            images: Handle,
            out: *mut *const Image,
            count: *mut usize,
        ) -> Status;
        pub(super) fn vptx_images_errors(
            images: Handle,
            out: *mut *const Str,
            count: *mut usize,
        ) -> Status;
        pub(super) fn vptx_images_free(images: Handle);
    }
}

const MANUAL: u32 = Semantics::Manual as u32;
const ALL_SEMANTICS: [u32; 3] = [MANUAL, Semantics::Ptxas12 as u32, Semantics::Ptxas13 as u32];

/// A kernel with two statements, the second of them wrong.
const KERNEL: &str = "\
.version 8.0
.target sm_90
.address_size 64
.visible .entry kernel()
{
\t.reg .b32 d, a, b, c;
\t.reg .pred p;
\t@!p vadd.u32.u32.s32 d.h1, a.b3, -7, c;
\tvadd.u32 d, a, b;
}
";

/// An instruction, and rows of `fixtures/oracle/vectors.tsv`: `a`, `b`, `c`, and what all semantics
/// give.
const INSERT: &str = "vadd.u32.u32.s32 d.h1, a.b3, b.b2, c;";
const ROWS: [[u32; 6]; 4] = [
    [0x0000_0001, 0x099f_6f1f, 0x0000_8000, 0xff9f_8000, 0xffff_8000, 0xff9f_8000],
    [0x1ccf_c2d3, 0x9707_98d3, 0x81ca_f9a4, 0x0023_f9a4, 0x0000_f9a4, 0x0023_f9a4],
    [0x0000_007f, 0x0000_0002, 0x0000_0004, 0x0000_0004, 0x0000_0004, 0x0000_0004],
    [0x0081_fe7f, 0x0000_0080, 0x8000_0001, 0x0000_0001, 0x0000_0001, 0x0000_0001],
];

/// An instruction that does not read `c`, and a row of it.
const SUBTRACT: &str = "vsub.u32.s32.u32 d, a.b3, b;";
static DIFFERENCE: [u32; 3] = [0xff00_ff80, 0x0000_001f, 0xffff_ffe0];

/// A row of words as a column.
fn column(at: usize) -> Vec<u32> {
    ROWS.iter().map(|row| row[at]).collect()
}

/// Bytes in memory of exactly their size, which is freed after the call.
fn with<T>(bytes: impl AsRef<[u8]>, call: impl FnOnce(Str) -> T) -> T {
    let copy: Box<[u8]> = bytes.as_ref().into();
    call(Str { data: copy.as_ptr().cast(), size: copy.len() })
}

/// The handle that a call makes, or its status and message.
fn made(call: impl FnOnce(*mut Handle, *mut Handle) -> Status) -> Result<Handle, (Status, String)> {
    let (mut out, mut error) = (MaybeUninit::uninit(), MaybeUninit::uninit());
    let status = call(out.as_mut_ptr(), error.as_mut_ptr());
    let (out, error): (Handle, Handle) = unsafe { (out.assume_init(), error.assume_init()) };
    assert_eq!((status == Status::Ok, !out.is_null()), (error.is_null(), error.is_null()));
    if error.is_null() { Ok(out) } else { Err((status, failure(error))) }
}

/// The message of an error, which is freed.
fn failure(error: Handle) -> String {
    let message = string(unsafe { c::vptx_error_message(error) });
    unsafe { c::vptx_error_free(error) };
    message
}

fn status_of(result: Result<Handle, (Status, String)>) -> Status {
    result.expect_err("a failure").0
}

fn string(text: Str) -> String {
    if text.data.is_null() {
        return String::new();
    }
    let bytes = unsafe { slice::from_raw_parts(text.data.cast(), text.size) };
    String::from_utf8(bytes.to_vec()).expect("UTF-8")
}

/// A list that a handle owns.
fn list<'a, T>(
    handle: Handle,
    get: unsafe extern "C" fn(Handle, *mut *const T, *mut usize) -> Status,
) -> &'a [T] {
    let (mut first, mut count) = (MaybeUninit::uninit(), MaybeUninit::uninit());
    let status = unsafe { get(handle, first.as_mut_ptr(), count.as_mut_ptr()) };
    assert_eq!(status, Status::Ok);
    unsafe { items(first.assume_init(), count.assume_init()) }
}

fn check(text: impl AsRef<[u8]>, options: *const Options) -> Result<Handle, (Status, String)> {
    with(text, |text| made(|out, error| unsafe { c::vptx_check(text, options, out, error) }))
}

fn parse(text: impl AsRef<[u8]>) -> Handle {
    with(text, |text| made(|out, error| unsafe { c::vptx_parse(text, null(), out, error) }))
        .expect("a module")
}

fn instruction(text: impl AsRef<[u8]>) -> Result<Handle, (Status, String)> {
    with(text, |text| made(|out, error| unsafe { c::vptx_instruction_parse(text, out, error) }))
}

fn text_of(instruction: Handle) -> String {
    let mut text = MaybeUninit::uninit();
    let status = unsafe { c::vptx_instruction_text(instruction, text.as_mut_ptr()) };
    assert_eq!(status, Status::Ok);
    string(unsafe { text.assume_init() })
}

fn eval(instruction: Handle, semantics: u32, [a, b, c]: [u32; 3]) -> Result<u32, Status> {
    let (mut word, mut error) = (MaybeUninit::uninit(), MaybeUninit::uninit());
    let (out, place) = (word.as_mut_ptr(), error.as_mut_ptr());
    let status = unsafe { c::vptx_eval(instruction, semantics, a, b, c, out, place) };
    let error = unsafe { error.assume_init() };
    if status == Status::Ok {
        assert!(error.is_null());
        return Ok(unsafe { word.assume_init() });
    }
    failure(error);
    Err(status)
}

/// `vptx_eval_batch` with the manual's semantics; arrays are pointers and counts.
fn batch(
    instruction: Handle,
    [(a, a_count), (b, b_count), (c, c_count)]: [(*const u32, usize); 3],
    (out, count): (*mut u32, usize),
) -> Status {
    let mut error = MaybeUninit::uninit();
    let place = error.as_mut_ptr();
    let status = unsafe {
        c::vptx_eval_batch(
            instruction,
            MANUAL,
            a,
            a_count,
            b,
            b_count,
            c,
            c_count,
            out,
            count,
            place,
        )
    };
    let error = unsafe { error.assume_init() };
    assert_eq!(status == Status::Ok, error.is_null());
    if !error.is_null() {
        failure(error);
    }
    status
}

/// The string of a text, which is freed.
fn taken(text: Handle) -> String {
    let copy = string(unsafe { c::vptx_text_string(text) });
    unsafe { c::vptx_text_free(text) };
    copy
}

/// The items of a list that a handle has. An empty one is NULL.
unsafe fn items<'a, T>(first: *const T, count: usize) -> &'a [T] {
    assert_eq!(first.is_null(), count == 0);
    if count == 0 { &[] } else { unsafe { slice::from_raw_parts(first, count) } }
}

/// Reads all that a finding points at. Its places must lie in the text.
fn read(it: &Finding, size: usize) -> String {
    let within = |span: &crate::Span| assert!(span.start <= span.end && span.end as usize <= size);
    within(&it.span);
    let mut all = [it.code, it.name, it.message, it.help].map(string).concat();
    for label in unsafe { items(it.labels, it.label_count) } {
        within(&label.span);
        all += &string(label.text);
    }
    for fix in unsafe { items(it.fixes, it.fix_count) } {
        all += &string(fix.title);
        for edit in unsafe { items(fix.edits, fix.edit_count) } {
            within(&edit.span);
            all += &string(edit.replacement);
        }
    }
    all
}

#[test]
fn findings_say_what_is_wrong_and_fix_it() {
    let text = "vadd.sat.s32.s32.s32 d, a, b;";
    let findings = check(text, null()).unwrap();
    let [it] = list(findings, c::vptx_findings_list) else { panic!("one finding") };
    assert_eq!(string(it.code), "V401");
    assert!(read(it, text.len()).contains("the modifiers are not in the documented order"));
    assert!(matches!(it.severity, Severity::Warning));
    assert_eq!((it.start.line, it.start.column, it.end.column), (1, 5, 21));
    let [fix] = (unsafe { items(it.fixes, it.fix_count) }) else { panic!() };
    assert!(matches!(fix.applicability, Applicability::Safe));
    let mut fixed = text.to_string();
    for edit in unsafe { items(fix.edits, fix.edit_count) }.iter().rev() {
        let span = edit.span.start as usize..edit.span.end as usize;
        fixed.replace_range(span, &string(edit.replacement));
    }
    assert_eq!(fixed, "vadd.s32.s32.s32.sat d, a, b;");
    unsafe { c::vptx_findings_free(findings) };
}

#[test]
fn all_fixes_at_once() {
    let fix = |most: u32| {
        with("vadd.sat.s32.s32.s32 d, a, b;\nvadd.s32 d, a, b;", |text| {
            made(|out, error| unsafe { c::vptx_fix_all(text, null(), most, out, error) })
        })
    };
    let fixed = fix(Applicability::Safe as u32).unwrap();
    let text = string(unsafe { c::vptx_fixed_text(fixed) });
    assert_eq!(text, "vadd.s32.s32.s32.sat d, a, b;\nvadd.s32 d, a, b;");
    assert_eq!(unsafe { c::vptx_fixed_count(fixed) }, 1);
    let left = list(unsafe { c::vptx_fixed_findings(fixed) }, c::vptx_findings_list);
    assert!(!left.is_empty() && left.iter().all(|it| it.start.line == 2));
    assert!(left.iter().all(|it| !read(it, text.len()).is_empty()));
    unsafe { c::vptx_fixed_free(fixed) };
    assert_eq!(status_of(fix(Applicability::DisplayOnly as u32)), Status::InvalidArgument);
}

#[test]
fn a_module_is_walked() {
    let module = parse(KERNEL);
    let place = |part: &Part| {
        let text = string(part.text);
        assert_eq!(text, KERNEL[part.span.start as usize..part.span.end as usize]);
        text
    };
    assert_eq!(string(unsafe { c::vptx_module_target(module) }), "sm_90");
    assert_eq!(string(unsafe { c::vptx_module_version(module) }), "8.0");
    let statements = list(module, c::vptx_module_statements);
    let [first, second] = statements else { panic!("two statements") };
    assert_eq!(place(&first.whole), "@!p vadd.u32.u32.s32 d.h1, a.b3, -7, c;");
    assert_eq!((place(&first.function), place(&first.mnemonic)), ("kernel".into(), "vadd".into()));
    assert_eq!((place(&first.guard), first.guard_is_negated), ("p".into(), true));
    let modifiers = unsafe { items(first.modifiers, first.modifier_count) };
    let roles = [Role::Dtype, Role::Atype, Role::Btype];
    for ((Modifier { part, role }, text), own) in
        modifiers.iter().zip([".u32", ".u32", ".s32"]).zip(roles)
    {
        assert!(
            place(part) == text && std::mem::discriminant(role) == std::mem::discriminant(&own)
        );
    }
    assert_eq!(modifiers.len(), 3);
    let operands = unsafe { items(first.operands, first.operand_count) };
    let parts: Vec<_> = operands
        .iter()
        .map(|it| (place(&it.whole), string(it.selector.text), it.is_register))
        .collect();
    let expected =
        [("d.h1", ".h1", true), ("a.b3", ".b3", true), ("-7", "", false), ("c", "", true)];
    assert!(parts.iter().map(|(a, b, is)| (a.as_str(), b.as_str(), *is)).eq(expected), "{parts:?}");

    // An instruction of the module, for which C has a `const` handle: 0x12 - 7 in the upper half.
    let own = first.instruction.cast_mut().cast();
    assert_eq!(eval(own, MANUAL, [0x1234_5678, 0, 0xaaaa_bbbb]), Ok(0x000b_bbbb));
    assert_eq!(text_of(own), place(&first.whole));

    assert!(second.instruction.is_null() && second.operand_count == 0);
    let findings = list(unsafe { c::vptx_module_findings(module) }, c::vptx_findings_list);
    assert!(findings.iter().any(|it| it.start.line == 9 && !read(it, KERNEL.len()).is_empty()));
    // The list is made at the first call only.
    assert_eq!(list(module, c::vptx_module_statements).as_ptr(), statements.as_ptr());
    unsafe { c::vptx_module_free(module) };
}

#[test]
fn a_tree_has_nodes_leaves_and_errors() {
    let text = ".func f() { @%p ld.u32 a, [b+4]; } // c\n}";
    let tree =
        with(text, |text| made(|out, error| unsafe { c::vptx_tree_parse(text, out, error) }));
    let tree = tree.unwrap();
    let nodes = list(tree, c::vptx_tree_nodes);
    let leaves: String = nodes.iter().filter(|it| it.is_leaf).map(|it| string(it.text)).collect();
    assert_eq!(leaves, text);
    // The direct children of the instruction.
    let at = nodes.iter().position(|it| string(it.kind) == "instruction").expect("one");
    assert_eq!(string(nodes[at].text), "@%p ld.u32 a, [b+4];");
    let mut parts = Vec::new();
    let mut next = at + 1;
    while next < nodes[at].end {
        let part = &nodes[next];
        assert_eq!(part.parent, at);
        if string(part.kind) != "white-space" {
            parts.push(format!("{} {}", string(part.kind), string(part.text)));
        }
        next = part.end;
    }
    let expected =
        ["guard @%p", "mnemonic ld", "modifier .u32", "name a", "punctuation ,", "address [b+4]"];
    assert_eq!(parts[..6], expected);
    assert_eq!(parts[6..], ["punctuation ;"]);
    let [error] = list(tree, c::vptx_tree_errors) else { panic!("one error") };
    assert_eq!(string(error.message), "this `}` closes nothing");
    assert_eq!((error.span.start, error.span.end), (40, 41));
    unsafe { c::vptx_tree_free(tree) };
}

#[test]
fn texts_end_where_their_length_says() {
    let memory = b"vadd.s32.s32.s32 d, a, b; vadd";
    let of = |size: usize| {
        let text = Str { data: memory.as_ptr().cast(), size };
        made(|out, error| unsafe { c::vptx_instruction_parse(text, out, error) })
    };
    for size in [24, 25] {
        let one = of(size).unwrap();
        assert_eq!(text_of(one), "vadd.s32.s32.s32 d, a, b;");
        unsafe { c::vptx_instruction_free(one) };
    }
    for size in [0, 1, 12, 20, 27, 30] {
        assert_eq!(status_of(of(size)), Status::IllegalInstruction, "{size} bytes");
    }
    // An empty text, and NULL with a length.
    for data in [null(), memory.as_ptr().cast()] {
        let text = Str { data, size: 0 };
        let none = made(|out, error| unsafe { c::vptx_check(text, null(), out, error) }).unwrap();
        assert!(list(none, c::vptx_findings_list).is_empty());
        unsafe { c::vptx_findings_free(none) };
    }
    let text = Str { data: null(), size: 1 };
    let none = made(|out, error| unsafe { c::vptx_parse(text, null(), out, error) });
    assert_eq!(none, Err((Status::NullArgument, "the text is NULL".into())));
}

#[test]
fn bytes_may_be_anything() {
    let text = b"vadd.sat.s32.s32.s32 d, a, b; // \xf0\nvadd.s32.s32.s32 d, \xff\xc3, b;";
    let findings = check(text, null()).unwrap();
    let all = list(findings, c::vptx_findings_list);
    assert!(all.iter().any(|it| (it.start.line, it.start.column) == (1, 5)));
    assert!(all.iter().any(|it| (it.start.line, it.start.column) == (2, 21)));
    assert!(all.iter().all(|it| !read(it, text.len()).is_empty()));
    unsafe { c::vptx_findings_free(findings) };

    // Options are words.
    let mut options: Options = unsafe { zeroed() };
    options.select = Str { data: b"\xff".as_ptr().cast(), size: 1 };
    let (status, message) = check("", &raw const options).unwrap_err();
    assert!(status == Status::InvalidArgument && message.starts_with("select: "), "{message}");
    options.select = "V401".into();
    options.language = 9;
    assert_eq!(status_of(check("", &raw const options)), Status::InvalidArgument);
}

#[test]
fn options_choose() {
    let mut options: Options = unsafe { zeroed() };
    (options.target, options.ptx_version) = ("sm_90".into(), "8.0".into());
    (options.select, options.ignore) = ("V4,result-differs".into(), "V401".into());
    let none = check("vadd.sat.s32.s32.s32 d, a, b;", &raw const options).unwrap();
    assert!(list(none, c::vptx_findings_list).is_empty());
    unsafe { c::vptx_findings_free(none) };
}

#[test]
fn an_error_has_the_findings_of_its_instruction() {
    let text = "vadd.s32.s32 d, a, b;";
    let (mut out, mut error) = (MaybeUninit::uninit(), MaybeUninit::uninit());
    let (place, failed) = (out.as_mut_ptr(), error.as_mut_ptr());
    let status = with(text, |text| unsafe { c::vptx_instruction_parse(text, place, failed) });
    let (out, error): (Handle, Handle) = unsafe { (out.assume_init(), error.assume_init()) };
    assert!(status == Status::IllegalInstruction && out.is_null());
    let findings = list(unsafe { c::vptx_error_findings(error) }, c::vptx_findings_list);
    assert!(!findings.is_empty() && findings.iter().all(|it| !read(it, text.len()).is_empty()));
    unsafe { c::vptx_error_free(error) };
    // The caller need not ask for an error.
    let status = with(text, |text| unsafe { c::vptx_instruction_parse(text, place, null_mut()) });
    assert_eq!(status, Status::IllegalInstruction);
}

#[test]
fn one_row() {
    let insert = instruction(INSERT).unwrap();
    for [a, b, c, results @ ..] in ROWS {
        assert_eq!(ALL_SEMANTICS.map(|it| eval(insert, it, [a, b, c])), results.map(Ok));
    }
    assert_eq!(eval(insert, 3, [0; 3]), Err(Status::InvalidArgument));
    assert_eq!(eval(null_mut(), MANUAL, [0; 3]), Err(Status::NullArgument));
    unsafe { c::vptx_instruction_free(insert) };
}

#[test]
fn columns_of_words() {
    let (insert, subtract) = (instruction(INSERT).unwrap(), instruction(SUBTRACT).unwrap());
    let (a, b, c) = (column(0), column(1), column(2));
    let [a, b, c] = [&a, &b, &c].map(|words| (words.as_ptr(), words.len()));

    // Nothing wrote the words of `out`.
    let mut out = [MaybeUninit::<u32>::uninit(); ROWS.len()];
    assert_eq!(batch(insert, [a, b, c], (out.as_mut_ptr().cast(), out.len())), Status::Ok);
    assert_eq!(out.map(|word| unsafe { word.assume_init() }), column(3).as_slice());
    // One word for all rows.
    let one = [(a.0, 1), (b.0, 1), (c.0, 1)];
    let mut out = [MaybeUninit::<u32>::uninit(); 3];
    assert_eq!(batch(insert, one, (out.as_mut_ptr().cast(), 3)), Status::Ok);
    assert_eq!(out.map(|word| unsafe { word.assume_init() }), [ROWS[0][3]; 3]);
    // A source that is not read.
    let mut out = MaybeUninit::uninit();
    for count in [0, 1] {
        let columns =
            [(&raw const DIFFERENCE[0], 1), (&raw const DIFFERENCE[1], 1), (null(), count)];
        assert_eq!(batch(subtract, columns, (out.as_mut_ptr(), 1)), Status::Ok);
        assert_eq!(unsafe { out.assume_init() }, DIFFERENCE[2]);
    }

    let none = (null_mut(), 0);
    assert_eq!(batch(insert, [(null(), 0); 3], none), Status::Ok);
    let (mut memory, rows) = (column(0), ROWS.len());
    let out = (memory.as_mut_ptr(), rows);
    for (columns, expected) in [
        ([(null(), rows), b, c], Status::NullArgument),
        ([a, b, (null(), 0)], Status::InvalidArgument),
        ([a, (b.0, 2), c], Status::InvalidArgument),
        ([a, b, (c.0, usize::MAX)], Status::InvalidArgument),
        ([(a.0.wrapping_byte_add(1), 1), b, c], Status::InvalidArgument),
    ] {
        assert_eq!(batch(insert, columns, out), expected);
    }
    assert_eq!(batch(insert, [a, b, c], (null_mut(), rows)), Status::NullArgument);
    assert_eq!(memory, column(0), "failures write nothing");
    unsafe { c::vptx_instruction_free(insert) };
    unsafe { c::vptx_instruction_free(subtract) };
}

#[test]
fn columns_may_overlap_the_result() {
    let insert = instruction(INSERT).unwrap();
    let (b, c, rows) = (column(1), column(2), ROWS.len());
    // The result starts so many words after `a`.
    for shift in 0..=rows {
        let mut memory = column(0);
        memory.resize(2 * rows, 0);
        let start = memory.as_mut_ptr();
        let columns = [(start.cast_const(), rows), (b.as_ptr(), rows), (c.as_ptr(), rows)];
        let out = unsafe { start.add(shift) };
        assert_eq!(batch(insert, columns, (out, rows)), Status::Ok);
        assert_eq!(memory[shift..][..rows], column(3), "{shift}");
        assert_eq!(memory[..shift], column(0)[..shift]);
    }
    unsafe { c::vptx_instruction_free(insert) };
}

#[test]
fn ordinary_ptx() {
    let rewrite = |text: &str, target: &[u8], flags: u32| {
        with(target, |target| {
            with(text, |text| {
                made(|out, error| unsafe {
                    c::vptx_rewrite(text, target, MANUAL, flags, out, error)
                })
            })
        })
    };
    let all = RewriteFlag::All as u32 + RewriteFlag::Comments as u32;
    let text = taken(rewrite(KERNEL, b"", all).unwrap());
    // The legal statement becomes a comment, and the wrong one stays.
    let lines: Vec<&str> = text.lines().filter(|line| line.contains("vadd")).collect();
    let [comment, wrong] = lines.as_slice() else { panic!("{text}") };
    assert!(comment.contains("/* @!p vadd.") && *wrong == "\tvadd.u32 d, a, b;", "{text}");
    assert_eq!(status_of(rewrite(KERNEL, b"", 4)), Status::InvalidArgument);
    assert_eq!(status_of(rewrite(KERNEL, b"\xff", 0)), Status::InvalidArgument);
    // A byte of Latin-1 in a comment would be lost.
    let latin = [KERNEL.as_bytes(), b"// \xe9"].concat();
    let rewritten = with(&latin, |text| {
        made(|out, error| unsafe { c::vptx_rewrite(text, Str::NONE, MANUAL, 0, out, error) })
    });
    assert_eq!(status_of(rewritten), Status::InvalidArgument);
    let fixed = with(&latin, |text| {
        made(|out, error| unsafe { c::vptx_fix_all(text, null(), 0, out, error) })
    });
    assert_eq!(status_of(fixed), Status::InvalidArgument);
    assert_eq!(status_of(rewrite(SUBTRACT, b"", 0)), Status::Unavailable);
    assert_eq!(status_of(rewrite(".target sm_90\n{", b"", 0)), Status::IllegalInstruction);

    let subtract = instruction(SUBTRACT).unwrap();
    let ptx = |target: &str| {
        with(target, |target| {
            made(|out, error| unsafe { c::vptx_to_ptx(subtract, target, MANUAL, out, error) })
        })
    };
    let text = taken(ptx("sm_90").unwrap());
    assert!(text.contains("sub") && !text.contains("vsub"), "{text}");
    assert_eq!(status_of(ptx("")), Status::Unavailable);
    assert_eq!(status_of(ptx("sm_")), Status::InvalidArgument);
    unsafe { c::vptx_instruction_free(subtract) };
}

#[test]
fn functions_of_c() {
    let (insert, subtract) = (instruction(INSERT).unwrap(), instruction(SUBTRACT).unwrap());
    let emit = |instructions: &[Handle]| {
        let (data, count) = (instructions.as_ptr(), instructions.len());
        made(|out, error| unsafe { c::vptx_emit_c(data, count, MANUAL, out, error) })
    };
    let functions = emit(&[insert, subtract, insert]).unwrap();
    // The functions do not refer to the instructions.
    unsafe { c::vptx_instruction_free(insert) };
    let header = string(unsafe { c::vptx_functions_header(functions) });
    let all = list(functions, c::vptx_functions_list);
    let names: Vec<String> = all.iter().map(|it| string(it.name)).collect();
    assert!(names[0] == names[2] && names[0] != names[1], "{names:?}");
    assert!(names.iter().all(|name| header.contains(&format!(" {name}("))), "{header}");
    let taken = all.iter().map(|it| [it.takes_a, it.takes_b, it.takes_c]);
    assert!(taken.eq([[true; 3], [true, true, false], [true; 3]]));
    unsafe { c::vptx_functions_free(functions) };
    assert_eq!(status_of(emit(&[subtract, null_mut()])), Status::NullArgument);
    unsafe { c::vptx_instruction_free(subtract) };
}

/// What cuobjdump extracts from the fat binaries that nvcc made.
const TEXTS: [&str; 3] = [
    include_str!("../../../../fixtures/fatbin/1.sm_75.ptx"),
    include_str!("../../../../fixtures/fatbin/2.sm_90.ptx"),
    include_str!("../../../../fixtures/fatbin/3.sm_100a.ptx"),
];
const TARGETS: [&str; 3] = ["sm_75", "sm_90", "sm_100a"];

fn extract(bytes: &[u8]) -> Handle {
    with(bytes, |bytes| {
        made(|out, error| unsafe { c::vptx_extract(bytes.data, bytes.size, out, error) })
    })
    .unwrap()
}

/// The images of a binary, whose texts are the first of [`TEXTS`].
fn images_of(handle: Handle, compression: &str) -> usize {
    let images = list(handle, c::vptx_images_list);
    for (((it, target), text), number) in images.iter().zip(TARGETS).zip(TEXTS).zip(1..) {
        assert_eq!(string(it.name), format!("{number}.{target}.ptx"));
        assert_eq!([it.member, it.target, it.compression].map(string), ["", target, compression]);
        assert_eq!((it.version_major, it.version_minor), (9, 5));
        assert_eq!(string(it.text), text);
    }
    images.len()
}

#[test]
#[cfg_attr(miri, ignore = "minutes for each call")]
fn ptx_of_binaries() {
    let whole = extract(include_bytes!("../../../../fixtures/fatbin/concat-size.fatbin"));
    assert_eq!(images_of(whole, "zstd"), 3);
    assert!(list(whole, c::vptx_images_errors).is_empty());
    let none = extract(b"");
    assert_eq!(images_of(none, ""), 0);
    assert!(list(none, c::vptx_images_errors).is_empty());
    unsafe { c::vptx_images_free(whole) };
    unsafe { c::vptx_images_free(none) };
}

/// The only binary that is read under Miri, which takes minutes to fill the library's buffer of a
/// megabyte.
#[test]
fn ptx_of_a_binary_that_is_cut() {
    let bytes = include_bytes!("../../../../fixtures/fatbin/none.fatbin");
    let cut = extract(&bytes[..bytes.len() - 1]);
    assert_eq!(images_of(cut, "none"), 2);
    let errors = list(cut, c::vptx_images_errors);
    assert!(!errors.is_empty() && errors.iter().all(|it| !string(*it).is_empty()));
    unsafe { c::vptx_images_free(cut) };
}

#[test]
fn an_archive_that_cannot_be_read() {
    let broken = extract(b"PK\x03\x04");
    let [error] = list(broken, c::vptx_images_errors) else { panic!("one error") };
    assert!(!string(*error).is_empty());
    assert_eq!(images_of(broken, ""), 0);
    unsafe { c::vptx_images_free(broken) };
}

#[test]
fn threads_with_handles_of_their_own() {
    let work = |text: &str, [a, b, expected]: [u32; 3]| {
        let module = parse(text);
        let [statement] = list(module, c::vptx_module_statements) else { panic!("a statement") };
        assert_eq!(eval(statement.instruction.cast_mut().cast(), MANUAL, [a, b, 0]), Ok(expected));
        unsafe { c::vptx_module_free(module) };
    };
    thread::scope(|scope| {
        scope.spawn(|| work(SUBTRACT, DIFFERENCE));
        scope.spawn(|| work("vmax.u32.u32.u32 d, a, b;", [3, 5, 5]));
    });
}

#[test]
fn threads_share_a_handle() {
    let text = "vsub.u32.s32.u32 d, a.b3, b;\nvadd.u32 d, a, b;";
    let module = AtomicPtr::new(parse(text));
    // Both threads may be the first to use the handle, and compute the same parts at once.
    let work = || {
        let module = module.load(Ordering::Relaxed);
        let [first, _] = list(module, c::vptx_module_statements) else { panic!("two statements") };
        let own = first.instruction.cast_mut().cast();
        assert_eq!(text_of(own), SUBTRACT);
        let [a, b, expected] = DIFFERENCE;
        assert_eq!(eval(own, MANUAL, [a, b, 0]), Ok(expected));
        for it in list(unsafe { c::vptx_module_findings(module) }, c::vptx_findings_list) {
            assert!(!read(it, text.len()).is_empty());
        }
    };
    thread::scope(|scope| {
        scope.spawn(work);
        scope.spawn(work);
    });
    // Any thread may free the handle.
    thread::spawn(move || unsafe { c::vptx_module_free(module.into_inner()) }).join().unwrap();
}

#[test]
fn every_pointer_may_be_null() {
    let none = Str::NONE;
    let (list, count) = (null_mut(), null_mut());
    let (out, error): (*mut Handle, *mut Handle) = (null_mut(), null_mut());
    let handle: Handle = null_mut();
    let statuses = unsafe {
        [
            c::vptx_check(none, null(), out, error),
            c::vptx_findings_list(handle, list, count),
            c::vptx_fix_all(none, null(), 0, out, error),
            c::vptx_parse(none, null(), out, error),
            c::vptx_module_statements(handle, null_mut(), count),
            c::vptx_tree_parse(none, out, error),
            c::vptx_tree_nodes(handle, null_mut(), count),
            c::vptx_tree_errors(handle, null_mut(), count),
            c::vptx_instruction_parse(none, out, error),
            c::vptx_instruction_text(handle, null_mut()),
            c::vptx_eval(handle, 0, 0, 0, 0, null_mut(), error),
            c::vptx_eval_batch(handle, 0, null(), 0, null(), 0, null(), 0, null_mut(), 0, error),
            c::vptx_rewrite(none, none, 0, 0, out, error),
            c::vptx_to_ptx(handle, none, 0, out, error),
            c::vptx_emit_c(null(), 1, 0, out, error),
            c::vptx_functions_list(handle, null_mut(), count),
            c::vptx_extract(null(), 1, out, error),
            c::vptx_images_list(handle, null_mut(), count),
            c::vptx_images_errors(handle, null_mut(), count),
        ]
    };
    assert_eq!(statuses, [Status::NullArgument; 19]);
    // A failure gives an empty list.
    let (mut first, mut count) = (MaybeUninit::uninit(), MaybeUninit::uninit());
    unsafe { c::vptx_findings_list(handle, first.as_mut_ptr(), count.as_mut_ptr()) };
    assert!(unsafe { items(first.assume_init(), count.assume_init()) }.is_empty());
    let strings = unsafe {
        [
            c::vptx_error_message(handle),
            c::vptx_fixed_text(handle),
            c::vptx_module_target(handle),
            c::vptx_module_version(handle),
            c::vptx_functions_header(handle),
            c::vptx_text_string(handle),
        ]
    };
    assert!(strings.iter().all(|it| it.data.is_null() && it.size == 0));
    unsafe {
        assert!(c::vptx_error_findings(handle).is_null());
        assert!(c::vptx_fixed_findings(handle).is_null() && c::vptx_fixed_count(handle) == 0);
        assert!(c::vptx_module_findings(handle).is_null());
        c::vptx_error_free(handle);
        c::vptx_findings_free(handle);
        c::vptx_fixed_free(handle);
        c::vptx_module_free(handle);
        c::vptx_tree_free(handle);
        c::vptx_instruction_free(handle);
        c::vptx_functions_free(handle);
        c::vptx_text_free(handle);
        c::vptx_images_free(handle);
        assert_eq!(c::vptx_abi_version(), ABI_VERSION);
        assert_eq!(string(c::vptx_version()), env!("CARGO_PKG_VERSION"));
    }
}
