//! Large files are read in parts where that is possible. The output must equal that for
//! the same text on standard input, which is read as a whole.

use std::fs::{self, File};
use std::process::{Command, Stdio};

use crate::support::program::{Folder, vptx_in};

const HEAD: &str = ".version 8.0\n.target sm_90\n.address_size 64\n";

const FUNCTION: &str = "
// .globl f
.visible .func f(.param .u64 p)
{
\t.reg .b32 \t%r<4>;
\tld.param.u64 \t%rd1, [p];
$L__BB0_1:
\t.loc\t1 2 3
@%p1 bra  $L__BB0_1 ;
\tadd.s32 \t%r1,%r2, %r3; // of two
\tret;
} // f
";

/// A text that is large enough, with something in its middle.
fn text(middle: &[u8]) -> Vec<u8> {
    let half = FUNCTION.repeat((3 << 20) / FUNCTION.len());
    [HEAD.as_bytes(), half.as_bytes(), middle, half.as_bytes()].concat()
}

/// A large text: a beginning and many copies of one function.
fn many(beginning: &str, function: &str) -> Vec<u8> {
    [HEAD, beginning, &function.repeat((5 << 20) / function.len())].concat().into_bytes()
}

fn texts() -> Vec<(&'static str, Vec<u8>)> {
    let function = |body: &str| format!("\n.func g()\n{{\n.reg .b32 a;\n{body}\n}}\n");
    vec![
        ("plain", text(b"")),
        ("crlf", String::from_utf8(text(b"")).unwrap().replace('\n', "\r\n").into_bytes()),
        ("video", text(function("vadd2.u32.u32.u32 a.h10, a.h10, a, a;").as_bytes())),
        (
            "videos",
            many(
                "",
                &function("vabsdiff.s32.s32.s32 a, a.b1, a;\nvmin2.s32.s32.s32 a, a.h01, a, a;"),
            ),
        ),
        (
            "crlf videos",
            String::from_utf8(many("", &function("\tvmin2.s32.s32.s32 a, a.h01, a, a;")))
                .unwrap()
                .replace('\n', "\r\n")
                .into_bytes(),
        ),
        ("note", text(function("vadd.u32.u32.u32.sat a, a, 5;").as_bytes())),
        ("names", text(function(".reg .b32 %vptx_r0;\nvmin.u32.u32.u32 a, a, a.h1;").as_bytes())),
        ("outside", many(".reg .b32 b;\n", &function("vadd.u32.u32.u32 a, b, a;"))),
        ("gate", many(".target sm_20\n", &function("vadd4.u32.u32.u32 a, a, a, a;"))),
        ("future", many(".target sm_999\n", &function("ret;"))),
        ("undeclared", text(function("vadd.u32.u32.u32 a, a, b;").as_bytes())),
        ("finding", text(function("vadd.u32.u32.u32 a, a, a.q;").as_bytes())),
        ("unclosed", text(b"/* } ")),
        ("stray", text(b"\n}\n")),
        ("off", text(function("// vptx: fmt off\nret  ;\n// vptx: fmt on").as_bytes())),
        ("suppression", text(b"// vptx: ignore[V501] nothing\n")),
        ("foreign", text(function("add.u32 a, \\, a;").as_bytes())),
        ("latin", text(b"// caf\xe9\n")),
        ("binary", text(b"\0")),
        ("twice", text(HEAD.as_bytes())),
        ("long function", text(function(&"ret;\n".repeat(1 << 20)).as_bytes())),
        ("one function", function(&"ret;\n".repeat(1 << 20)).into_bytes()),
    ]
}

#[test]
fn check_finds_the_same() {
    let folder = Folder::new("large-check");
    folder.write("small.ptx", FUNCTION);
    for (name, text) in texts() {
        fs::write(folder.0.join("a.ptx"), &text).unwrap();
        let whole = vptx_in(&folder.0, &["check", "--stdin-filename", "a.ptx"], &text);
        let parts = vptx_in(&folder.0, &["check", "a.ptx"], b"");
        assert_eq!(parts.transcript(), whole.transcript(), "{name}");
        let both = vptx_in(&folder.0, &["check", "--quiet", "small.ptx", "a.ptx"], b"");
        let whole = vptx_in(&folder.0, &["check", "--quiet", "--stdin-filename", "a.ptx"], &text);
        assert_eq!(both.transcript(), whole.transcript(), "{name}");
        let found = [
            "finding",
            "note",
            "undeclared",
            "gate",
            "future",
            "unclosed",
            "stray",
            "binary",
            "suppression",
        ]
        .contains(&name);
        assert_eq!(!whole.stdout.is_empty(), found, "{name}: {}", whole.stdout);
    }
}

#[test]
fn fmt_writes_the_same() {
    let folder = Folder::new("large-fmt");
    let path = folder.0.join("a.ptx");
    for (name, text) in texts() {
        // This test reads the output as UTF-8.
        if name == "latin" {
            continue;
        }
        fs::write(&path, &text).unwrap();
        let whole = vptx_in(&folder.0, &["fmt", "-"], &text);
        let checked = vptx_in(&folder.0, &["fmt", "--check", "a.ptx"], b"");
        assert_eq!(fs::read(&path).unwrap(), text, "{name}: --check writes nothing");
        let parts = vptx_in(&folder.0, &["fmt", "a.ptx"], b"");
        assert_eq!((parts.status, checked.status), (whole.status, 1), "{name}: {}", parts.stderr);
        let written = fs::read(&path).unwrap();
        if whole.status != 0 {
            assert!(written == text, "{name}: left alone");
            continue;
        }
        assert!(String::from_utf8_lossy(&written) == whole.stdout, "{name}");
        let again = vptx_in(&folder.0, &["fmt", "--check", "--quiet", "a.ptx"], b"");
        assert_eq!((again.status, again.stdout.as_str()), (0, ""), "{name}: formatted");
    }
}

/// Rewrites a file to another one. Only output that is not a pipe is written in parts.
fn lowered(folder: &Folder, from: &str, to: File) -> (i32, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_vptx"));
    command.args(["lower", "--emit", "ptx", from]).current_dir(&folder.0).env("COLUMNS", "80");
    let output = command.stdin(Stdio::null()).stdout(to).output().unwrap();
    (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn lower_writes_the_same() {
    let folder = Folder::new("large-lower");
    for (name, text) in texts() {
        // This test reads the output as UTF-8.
        if name == "latin" {
            continue;
        }
        fs::write(folder.0.join("a.ptx"), &text).unwrap();
        let whole = vptx_in(&folder.0, &["lower", "--emit", "ptx", "-"], &text);
        let told = whole.stderr.replace("<stdin>", "a.ptx");
        let to = File::create(folder.0.join("b.ptx")).unwrap();
        assert_eq!(lowered(&folder, "a.ptx", to), (whole.status, told.clone()), "{name}");
        assert!(fs::read(folder.0.join("b.ptx")).unwrap() == whole.stdout.as_bytes(), "{name}");
        let rewritten = ["videos", "crlf videos", "note", "names", "outside"].contains(&name);
        assert_eq!(whole.stdout.as_bytes() != text, rewritten, "{name}");
        // If the output is the input file itself, all of it is read before anything is
        // written.
        let to = File::options().append(true).open(folder.0.join("a.ptx")).unwrap();
        assert_eq!(lowered(&folder, "a.ptx", to), (whole.status, told), "{name}");
        let both = [&text, whole.stdout.as_bytes()].concat();
        assert!(fs::read(folder.0.join("a.ptx")).unwrap() == both, "{name}");
    }
}
