//! `vptx lower` as a user meets it: programs, functions of C and of LLVM.

use crate::support::program::{Folder, vptx_in};

/// Programs of several files are printed one after the other.
#[test]
fn programs() {
    let folder = Folder::new("lower-programs");
    let text = "\n    vmin2.s32.s32.s32 d, a, b, c;\n";
    folder.write("a.ptx", text);
    folder.write("b/b.ptx", text);
    let ir = vptx_in(&folder.0, &["lower", "--emit", "ir", "a.ptx", "b/b.ptx"], b"");
    let comments: Vec<&str> = ir.stdout.lines().filter(|line| line.starts_with("//")).collect();
    assert_eq!(ir.status, 0);
    assert!(
        comments[0].starts_with("// a.ptx:2:5: ") && comments[1].starts_with("// b/b.ptx:2:5: ")
    );
    assert_eq!(comments.len(), 2);
    let run = vptx_in(&folder.0, &["lower", "--emit", "ir", "-o", "new/", "a.ptx"], b"");
    assert_eq!((run.status, run.stdout.as_str()), (0, ""));
    assert!(folder.read("new/a.ir").starts_with("// a.ptx:2:5: "));
    // The output cannot replace the input.
    let run = vptx_in(&folder.0, &["lower", "--emit", "ir", "-o", "a.ptx", "a.ptx"], b"");
    assert_eq!((run.status, &*run.stderr), (2, "vptx: `a.ptx` is both input and output\n"));
}

#[test]
fn c_functions() {
    let folder = Folder::new("lower-c");
    folder.write("a.ptx", "vmin.s32.s32.s32 x, y, z;\nvmin.s32.s32.s32 d, a, b;\nret;\n");
    folder.write("b.ptx", "@p vadd.u32.u32.u32 x, y, -5;\n");
    let emit = |more: &[&str]| vptx_in(&folder.0, &[&["lower", "--emit", "c"], more].concat(), b"");
    let read = |name: &str| folder.read(name);
    let printed = emit(&["a.ptx"]);
    assert_eq!((printed.status, printed.stderr.as_str()), (0, ""));
    // Equal instructions share one function.
    assert_eq!(printed.stdout.matches("vmin_s32_s32_s32(vptx_u32 a, vptx_u32 b)").count(), 1);
    let one = emit(&["vmin.s32.s32.s32 a, b, c"]);
    assert_eq!(one.stdout, printed.stdout);
    assert_eq!(emit(&["-o", "new", "a.ptx", "b.ptx"]).status, 0);
    assert_eq!(read("new/a.h"), printed.stdout);
    assert!(read("new/b.h").contains("vadd_u32_u32_u32_b_m5(vptx_u32 a)"));
    let sat = "vadd.u32.u32.s32.sat d, a, b;";
    let [usual, manual] = [emit(&[sat]), emit(&["--semantics", "manual", sat])];
    assert!(usual.stdout != manual.stdout && manual.stdout.contains(" vadd_u32_u32_s32_sat("));
    let all = emit(&["--semantics", "all", "a.ptx"]);
    assert_eq!(all.status, 2);
    assert!(all.stderr.contains("--emit c takes one semantics"), "{}", all.stderr);
    assert_eq!(emit(&["--target", "sm_90", "a.ptx"]).status, 2);
    folder.write("wrong.ptx", "vmin.s32.s32 d, a, b;\n");
    assert_eq!(emit(&["wrong.ptx"]).status, 1);
}

#[test]
fn llvm_functions() {
    let folder = Folder::new("lower-llvm");
    folder.write("a.ptx", "vmin4.s32.s32.s32 x, y, z, w;\nvmin4.s32.s32.s32 d, a, b, c;\nret;\n");
    folder.write("b.ptx", "vmin4.s32.s32.s32 d, a, b, c;\n@p vadd.u32.u32.u32 x, y, -5;\n");
    let emit =
        |more: &[&str]| vptx_in(&folder.0, &[&["lower", "--emit", "llvm"], more].concat(), b"");
    let read = |name: &str| folder.read(name);
    // All files give one module, which has each function once.
    let printed = emit(&["a.ptx", "b.ptx"]);
    assert_eq!((printed.status, printed.stderr.as_str()), (0, ""));
    for head in ["@vmin4_s32_s32_s32(i32 %a, i32 %b) #0 {", "@vadd_u32_u32_u32_b_m5(i32 %a) #0 {"] {
        let head = format!("define weak_odr i32 {head}");
        assert_eq!(printed.stdout.matches(&head).count(), 1, "{}", printed.stdout);
    }
    assert_eq!(printed.stdout.matches("attributes #0").count(), 1);
    assert!(!printed.stdout.contains("<4 x i8>"));
    // Functions use vectors only with `--target`.
    let vectors = emit(&["--target", "x86_64", "vmin4.s32.s32.s32 d, a, b, c;"]);
    assert!(vectors.stdout.contains("<4 x i8> @llvm.smin.v4i8("), "{}", vectors.stdout);
    assert_eq!(emit(&["-o", "new", "a.ptx", "b.ptx"]).status, 0);
    let one = emit(&["vmin4.s32.s32.s32 d, a, b, c;"]);
    assert_eq!(read("new/a.ll"), one.stdout);
    assert!(read("new/b.ll").contains("@vadd_u32_u32_u32_b_m5("));
    // The names of functions depend on the semantics.
    let manual = emit(&["--semantics", "manual", "vadd.u32.u32.s32.sat d, a, b;"]);
    assert!(manual.stdout.contains("@vadd_u32_u32_s32_sat(i32"), "{}", manual.stdout);
    for (arguments, message) in [
        (&["--semantics", "all", "a.ptx"][..], "--emit llvm takes one semantics"),
        (&["--target", "sm_90", "a.ptx"], "`sm_90` is not an architecture of LLVM"),
        (&["--emit", "c", "--target", "x86_64", "a.ptx"], "cannot be used multiple times"),
    ] {
        let run = emit(arguments);
        assert_eq!(run.status, 2);
        assert!(run.stderr.contains(message), "{}", run.stderr);
    }
    let ir = vptx_in(&folder.0, &["lower", "--emit", "ir", "--target", "x86_64", "a.ptx"], b"");
    assert_eq!((ir.status, ir.stdout.as_str()), (2, ""));
    assert!(ir.stderr.contains("--target needs --emit llvm"), "{}", ir.stderr);
    folder.write("wrong.ptx", "vmin.s32.s32 d, a, b;\n");
    assert_eq!(emit(&["wrong.ptx"]).status, 1);
    // The program makes no header or module for a binary.
    folder.write("lib.so", "\u{7f}ELF");
    let binary = emit(&["-o", "new", "lib.so"]);
    assert_eq!(binary.status, 2);
    assert!(binary.stderr.contains("`lib.so` is a binary"), "{}", binary.stderr);
}
