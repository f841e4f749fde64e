//! `vptx port` as a user meets it.

use std::fs;

use crate::support::program::{Folder, Run, vptx, vptx_in};

const SOURCE: &str = "\
#include <stdint.h>

__device__ unsigned sad(unsigned a, unsigned b, unsigned sum)
{
    asm(\"vabsdiff4.u32.u32.u32.add %0, %1, %2, %0;\" : \"+r\"(sum) : \"r\"(a), \"r\"(b));
    return sum;
}
";

const OTHER: &str = "\
__device__ unsigned lane()
{
    unsigned d;
    asm(\"mov.u32 %0, %%laneid;\" : \"=r\"(d));
    return d;
}
";

const GUARDED: &str = "\
__device__ unsigned f(unsigned a)
{
    asm(\"{ .reg .pred p; setp.eq.u32 p, %0, 0; @p vadd.u32.u32.u32 %0, %0, 1; }\" : \"+r\"(a));
    return a;
}
";

fn port(folder: &Folder, arguments: &[&str], stdin: &str) -> Run {
    vptx_in(&folder.0, &[&["port"], arguments].concat(), stdin.as_bytes())
}

/// The names in a folder.
fn names(folder: &Folder) -> Vec<String> {
    let entries = fs::read_dir(&folder.0).expect("a folder");
    let mut names: Vec<String> =
        entries.map(|it| it.expect("an entry").file_name().into_string().expect("UTF-8")).collect();
    names.sort();
    names
}

fn new_source(include: &str) -> String {
    let asm = SOURCE.lines().find(|line| line.contains("asm")).expect("the statement");
    let call = "    sum = (__typeof__(sum))vabsdiff4_u32_u32_u32_add((vptx_u32)(a), (vptx_u32)(b), \
                (vptx_u32)(sum));";
    let include = format!("#include <stdint.h>\n#include \"{include}\"\n");
    SOURCE.replace(asm, call).replace("#include <stdint.h>\n", &include)
}

#[test]
fn help_and_a_diff() {
    insta::assert_snapshot!("help", vptx(&["port", "--help"], "").transcript());
    let folder = Folder::new("port-diff");
    folder.write("a.cu", SOURCE);
    folder.write("b.cu", GUARDED);
    let run = port(&folder, &["--to", "hip", "--diff", "a.cu", "b.cu"], "");
    insta::assert_snapshot!("diff", run.transcript());
    assert_eq!(names(&folder), ["a.cu", "b.cu"]);
    assert_eq!(folder.read("a.cu"), SOURCE);
}

#[test]
fn sources_and_a_header() {
    let folder = Folder::new("port-folder");
    folder.write("src/a.cu", SOURCE);
    folder.write("src/deep/b.cuh", SOURCE);
    folder.write("src/none.cpp", "int x;\n");
    folder.write("src/notes.txt", SOURCE);
    let check = port(&folder, &["--to", "hip", "--check", "src"], "");
    assert_eq!(check.status, 1);
    assert_eq!(
        check.stdout,
        "would write src/vptx_video.h\nwould port src/a.cu\nwould port src/deep/b.cuh\n"
    );
    let run = port(&folder, &["--to", "hip", "src"], "");
    assert_eq!(
        (run.status, run.stdout.as_str(), run.stderr.as_str()),
        (0, "", "2 asm statements ported in 2 files\n")
    );
    assert_eq!(folder.read("src/a.cu"), new_source("vptx_video.h"));
    assert_eq!(folder.read("src/deep/b.cuh"), new_source("../vptx_video.h"));
    assert_eq!(folder.read("src/notes.txt"), SOURCE);
    let header = folder.read("src/vptx_video.h");
    assert_eq!(header.matches("#define VPTX_HAS_").count(), 1);
    // A second run changes neither the sources nor the header.
    let again = port(&folder, &["--to", "hip", "--check", "src"], "");
    assert_eq!((again.status, again.stdout.as_str()), (0, ""));
    assert_eq!(again.stderr, "0 asm statements to port in 4 files\n");
    let again = port(&folder, &["--to", "hip", "src"], "");
    assert_eq!(again.status, 0);
    assert_eq!(folder.read("src/vptx_video.h"), header);
    // A new statement adds functions to the header, also functions of wide integers; the other
    // functions stay.
    let more = "vshl.u32.u32.u32.clamp.add %0, %1, %2, %0;";
    let more = SOURCE.replace("vabsdiff4.u32.u32.u32.add %0, %1, %2, %0;", more);
    folder.write("src/c.cu", more.replace("sad", "shifted"));
    let edited = header.replace("/* stdint */", "") + "/* by hand */\n";
    folder.write("src/vptx_video.h", &edited);
    let run = port(&folder, &["--to", "c", "src"], "");
    assert_eq!(run.status, 0, "{}", run.stderr);
    let longer = folder.read("src/vptx_video.h");
    assert!(longer.starts_with(&edited), "{longer}");
    assert_eq!(longer.matches("#define VPTX_HAS_").count(), 2);
    assert_eq!(longer.matches("#define VPTX_FUNCTION inline\n").count(), 1);
    // An empty line stands before each function.
    assert_eq!(longer.matches("\n\n#ifndef VPTX_HAS_").count(), 2);
}

#[test]
fn the_header_may_be_anywhere() {
    let folder = Folder::new("port-header");
    folder.write("src/a.cu", SOURCE);
    folder.write("include/readme", "");
    let run = port(&folder, &["--to", "sycl", "--header", "include", "src/a.cu"], "");
    assert_eq!(run.status, 0, "{}", run.stderr);
    assert_eq!(folder.read("src/a.cu"), new_source("../include/vptx_video.h"));
    assert!(folder.read("include/vptx_video.h").contains("vabsdiff4_u32_u32_u32_add("));
    folder.write("src/a.cu", SOURCE);
    let run = port(&folder, &["--to", "c", "--header", "src/video.h", "src/a.cu"], "");
    assert_eq!(run.status, 0, "{}", run.stderr);
    assert_eq!(folder.read("src/a.cu"), new_source("video.h"));
    // The program overwrites no foreign file as its header, and ports nothing if it cannot write
    // the header.
    for (header, why) in [
        ("mine.h", "vptx did not write"),
        ("missing/video.h", "no such file"),
        ("bad\"name.h", "cannot stand in an `#include`"),
    ] {
        folder.write("src/a.cu", SOURCE);
        folder.write("mine.h", "#define MINE\nint mine;\n");
        let run = port(&folder, &["--to", "c", "--header", header, "src/a.cu"], "");
        assert_eq!((run.status, run.stdout.as_str()), (2, ""), "{header}");
        assert!(run.stderr.contains(why), "{}", run.stderr);
        assert_eq!(folder.read("src/a.cu"), SOURCE);
        assert_eq!(folder.read("mine.h"), "#define MINE\nint mine;\n");
    }
}

/// As `check` does, a search reads `*.inc` files that are not PTX.
#[test]
fn included_files_are_ported() {
    let folder = Folder::new("port-inc");
    folder.write("a.inc", SOURCE);
    folder.write("b.inc", ".version 8.0\n.target sm_90\n");
    let run = port(&folder, &["--to", "cuda", "."], "");
    assert_eq!((run.status, run.stdout.as_str()), (0, ""));
    assert_eq!(run.stderr, "1 asm statement ported in 1 file\n");
    assert_eq!(folder.read("a.inc"), new_source("vptx_video.h"));
    // Visual Studio writes headers of resources in UTF-16.
    let wide = |text: &str| -> Vec<u8> {
        let units = "\u{feff}".encode_utf16().chain(text.encode_utf16());
        units.flat_map(u16::to_le_bytes).collect()
    };
    folder.write("resource.h", wide("#define ICON 101\r\n"));
    let run = port(&folder, &["--to", "cuda", "resource.h"], "");
    assert_eq!((run.status, &*run.stderr), (0, "0 asm statements ported in 1 file\n"));
    folder.write("asm.h", wide("void f() { asm(\"exit;\"); }\r\n"));
    assert_eq!(port(&folder, &["--to", "cuda", "asm.h"], "").status, 2);
}

#[test]
fn what_stays_is_told() {
    let folder = Folder::new("port-left");
    let macros = "#define V \"vadd.u32.u32.u32\"\nvoid f(unsigned a) { asm(V \" %0, %0, 1;\" : \
                  \"+r\"(a)); }\n";
    folder.write("guarded.cu", GUARDED);
    folder.write("macros.cu", macros);
    folder.write("other.cu", OTHER);
    let both = ["guarded.cu", "macros.cu", "other.cu"];
    let run = port(&folder, &[&["--to", "hip"], &both[..]].concat(), "");
    assert_eq!(run.status, 1);
    assert_eq!(
        run.stdout,
        "guarded.cu:3:26: not ported: `setp` is not a video instruction\n\
         other.cu:4:10: not ported: `mov` is not a video instruction\n"
    );
    assert_eq!(
        run.stderr,
        "0 asm statements ported in 3 files, 2 left; not read: made by macros 1\n"
    );
    // For CUDA, statements with other PTX instructions stay, because CUDA compiles them.
    let run = port(&folder, &[&["--to", "cuda", "--quiet"], &both[..]].concat(), "");
    assert_eq!(
        (run.status, run.stdout.as_str(), run.stderr.as_str()),
        (1, "guarded.cu:3:26: not ported: `setp` is not a video instruction\n", "")
    );
    assert_eq!(names(&folder), ["guarded.cu", "macros.cu", "other.cu"]);
    assert_eq!(folder.read("guarded.cu"), GUARDED);
    // Each use counts of a macro that makes a whole statement, but not for other processors.
    let made = "#define ASM asm volatile\n#define WHOLE(x) asm x\n#define ONE(d) asm(V \" %0;\" : \
                \"+r\"(d))\nvoid f(int a) {\n  ASM(\"vadd.u32.u32.u32 %0, %0, 1;\" : \"+r\"(a));\n  \
                ASM(\"nop\" : \"=a\"(a)); WHOLE((\"exit;\")); ONE(a); ONE(a);\n}\n";
    folder.write("made.cu", made);
    let run = port(&folder, &["--to", "cuda", "made.cu"], "");
    assert_eq!(
        (run.status, run.stderr.as_str()),
        (0, "0 asm statements ported in 1 file; not read: made by macros 3\n")
    );
    // PTX without types is told, too; the same words for other processors are not.
    let rest = "void f() {\n  asm(\"bar.sync 0;\");\n  asm(\"fence.proxy.async;\");\n  \
                asm(\"fence.i;\"); asm(\"bars;\");\n}\n";
    let run = port(&folder, &["--to", "hip", "-"], rest);
    assert_eq!((run.status, run.stdout.as_str()), (1, rest));
    let places: Vec<&str> = run.stderr.lines().map(|it| it.split(": ").next().unwrap()).collect();
    assert_eq!(places, ["<stdin>:2:8", "<stdin>:3:8"], "{}", run.stderr);
    // So are types of several values, and calls.
    for left in [
        "trap;",
        "exit;",
        "fence.acquire.gpu;",
        "prefetch.tensormap [%0];",
        "add.f16x2 %0, %1, %2;",
        "sub.bf16 %0, %1, %2;",
        "add.f32x2 %0, %1, %2;",
        "cvt.rn.satfinite.e4m3x2.f16x2 %0, %1;",
        "call (%0), _optix_get_launch_index_x, ();",
        "call.uni f;",
        "call _optix_set_payload, (%0, %0);",
        ".pragma \\\"nounroll\\\";",
        ".shared .align 16 .b32 share[4];",
    ] {
        let source = format!("void f(int a) {{\n  asm(\"{left}\" : \"+r\"(a));\n}}\n");
        let run = port(&folder, &["--to", "hip", "-"], &source);
        assert_eq!((run.status, run.stdout), (1, source), "{left}");
        assert!(run.stderr.starts_with("<stdin>:2:8: not ported: "), "{left}: {}", run.stderr);
    }
}

#[test]
fn a_filter() {
    let folder = Folder::new("port-filter");
    let run = port(&folder, &["--to", "c", "-"], SOURCE);
    assert_eq!((run.status, run.stdout), (0, new_source("vptx_video.h")));
    assert_eq!(run.stderr, "");
    assert_eq!(names(&folder), ["vptx_video.h"]);
    let run = port(&folder, &["--to", "c", "-"], GUARDED);
    assert_eq!((run.status, run.stdout.as_str()), (1, GUARDED));
    assert!(run.stderr.starts_with("<stdin>:3:26: not ported: "), "{}", run.stderr);
}

#[test]
fn other_bytes_stay() {
    let folder = Folder::new("port-bytes");
    let latin: Vec<u8> =
        format!("// \u{e9}\r\n{}", SOURCE.replace('\n', "\r\n")).chars().map(|c| c as u8).collect();
    folder.write("latin.cu", &latin);
    let run = port(&folder, &["--to", "c", "latin.cu"], "");
    assert_eq!(run.status, 0, "{}", run.stderr);
    let expected = format!("// \u{e9}\r\n{}", new_source("vptx_video.h").replace('\n', "\r\n"));
    let expected: Vec<u8> = expected.chars().map(|c| c as u8).collect();
    assert_eq!(fs::read(folder.0.join("latin.cu")).unwrap(), expected);
    // Bytes inside of an `asm` statement that are not UTF-8 cannot be ported.
    let inside: Vec<u8> =
        SOURCE.replace("asm(", "asm(/* \u{e9} */").chars().map(|c| c as u8).collect();
    folder.write("inside.cu", &inside);
    let run = port(&folder, &["--to", "c", "inside.cu"], "");
    assert_eq!(run.status, 1);
    assert!(run.stdout.contains("the `asm` has bytes that are not UTF-8"), "{}", run.stdout);
    assert_eq!(fs::read(folder.0.join("inside.cu")).unwrap(), inside);
}

#[test]
fn troubles() {
    let folder = Folder::new("port-troubles");
    folder.write("a.py", "");
    folder.write("binary.cu", b"\x7fELF\0\0");
    folder.write("a.inc", SOURCE);
    for (arguments, why) in [
        (&["--to", "c", "missing.cu"][..], "cannot read `missing.cu`"),
        (&["--to", "c", "a.py"], "`a.py` is not read: its name is not that of a C"),
        (&["--to", "c", "binary.cu"], "`binary.cu` is not read: this is"),
        (
            &["--to", "c", "--semantics", "all", "a.inc"],
            "possible values: manual, ptxas-12, ptxas-13",
        ),
        (&["a.inc"], "--to"),
    ] {
        let run = port(&folder, arguments, "");
        assert_eq!((run.status, run.stdout.as_str()), (2, ""), "{arguments:?}");
        assert!(run.stderr.contains(why), "{}", run.stderr);
    }
    assert_eq!(names(&folder), ["a.inc", "a.py", "binary.cu"]);
    let run = port(&folder, &["--to", "c", "a.inc"], "");
    assert_eq!(run.status, 0, "{}", run.stderr);
}

#[cfg(unix)]
#[test]
fn links_and_special_files() {
    use std::os::unix::fs::symlink;
    let folder = Folder::new("port-links");
    folder.write("real/a.cu", SOURCE);
    folder.write("src/own.cu", "int x;\n");
    symlink("../real/a.cu", folder.0.join("src/link.cu")).expect("a link");
    // A search does not follow links.
    let run = port(&folder, &["--to", "c", "src"], "");
    assert_eq!(run.status, 0, "{}", run.stderr);
    assert_eq!(folder.read("real/a.cu"), SOURCE);
    // The program follows a link that the user names; the link stays a link.
    let run = port(&folder, &["--to", "c", "--header", "real", "src/link.cu"], "");
    assert_eq!(run.status, 0, "{}", run.stderr);
    assert_eq!(folder.read("real/a.cu"), new_source("vptx_video.h"));
    assert!(folder.0.join("src/link.cu").is_symlink());
    let run = port(&folder, &["--to", "c", "/dev/null"], "");
    assert_eq!(run.status, 2);
    assert!(run.stderr.contains("not a regular file"), "{}", run.stderr);
    // The program refuses a pipe as header and does not read it.
    folder.write("real/a.cu", SOURCE);
    let made = std::process::Command::new("mkfifo").arg(folder.0.join("pipe.h")).status();
    assert!(made.expect("mkfifo").success());
    let run = port(&folder, &["--to", "c", "--header", "pipe.h", "real/a.cu"], "");
    assert_eq!(run.status, 2);
    assert!(run.stderr.contains("not a regular file"), "{}", run.stderr);
    assert_eq!(folder.read("real/a.cu"), SOURCE);
}

fn make_read_only(folder: &Folder, name: &str) {
    let path = folder.0.join(name);
    let mut permissions = fs::metadata(&path).unwrap().permissions();
    permissions.set_readonly(true);
    fs::set_permissions(&path, permissions).unwrap();
}

/// The summary counts only statements that were written.
#[test]
fn what_cannot_be_written_is_not_ported() {
    let folder = Folder::new("port-read-only");
    folder.write("a.cu", SOURCE);
    folder.write("b.cu", SOURCE);
    make_read_only(&folder, "a.cu");
    let why = "vptx: cannot write `a.cu`: the file is read-only\n";
    let run = port(&folder, &["--to", "c", "a.cu"], "");
    assert_eq!((run.status, &*run.stdout, &*run.stderr), (2, "", why));
    let run = port(&folder, &["--to", "c", "a.cu", "b.cu"], "");
    let said = format!("{why}1 asm statement ported in 1 file\n");
    assert_eq!((run.status, &*run.stdout, run.stderr), (2, "", said));
    assert_eq!((folder.read("a.cu"), folder.read("b.cu")), (SOURCE.into(), new_source(HEADER)));
}

const HEADER: &str = "vptx_video.h";

#[test]
fn the_status_of_a_diff_says_whether_something_would_change() {
    let folder = Folder::new("port-diff-status");
    folder.write("a.cu", SOURCE);
    folder.write("none.cu", "int x;\n");
    let status = |name: &str| port(&folder, &["--to", "cuda", "--diff", name], "").status;
    assert_eq!(["a.cu", "none.cu", "missing.cu"].map(status), [1, 0, 2]);
    assert_eq!(names(&folder), ["a.cu", "none.cu"]);
}

#[test]
fn a_check_writes_nothing() {
    let folder = Folder::new("port-quiet-check");
    folder.write("a.cu", SOURCE);
    for arguments in
        [&["--to", "c", "--check", "a.cu"][..], &["--to", "c", "--check", "-q", "a.cu"]]
    {
        assert_eq!(port(&folder, arguments, "").status, 1, "{arguments:?}");
        assert_eq!((folder.read("a.cu").as_str(), names(&folder)), (SOURCE, vec!["a.cu".into()]));
    }
    // `-q` may also stand before the command.
    for quiet in [["port", "-q"], ["-q", "port"]] {
        let run =
            vptx_in(&folder.0, &[&quiet[..], &["--to", "c", "--check", "a.cu"]].concat(), b"");
        assert_eq!((run.status, &*run.stdout, &*run.stderr), (1, "", ""), "{quiet:?}");
    }
    // With `--check`, the ported text of standard input is not printed.
    let run = port(&folder, &["--to", "c", "--check", "-"], SOURCE);
    assert_eq!((run.status, run.stdout.contains("__device__")), (1, false), "{}", run.stdout);
}
