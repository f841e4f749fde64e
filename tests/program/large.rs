//! The program reads large files in parts where possible. Its results equal the results of the
//! library, which reads each text as a whole.

use std::fs;

use serde_json::Value;
use vptx::analysis::check_counted;
use vptx::source::decode;
use vptx::{CheckOptions, FormatOptions, RewriteOptions};

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

/// A loop whose lines are repeated without a change.
const LOOP: &str = "
.reg .pred p;
.reg .b32 r<5>;
ld.b32 r1, [a];
L: ld.b32 r0, [a];
vadd4.u32.u32.u32.sat r2, r0, r1, r0;
vsub4.u32.u32.u32.sat r3, r2, r1, r0;
vmin4.u32.u32.u32 r4, r3, a, r0;
vmax4.u32.u32.u32 a, r4, r1, r0;
@p bra L;
";

/// The size of a large text; the program reads texts of 4 MiB or more in parts.
const LARGE: usize = 17 << 18;

/// A large text with `middle` in its middle.
fn text(middle: &[u8]) -> Vec<u8> {
    let half = FUNCTION.repeat(LARGE / 2 / FUNCTION.len());
    [HEAD.as_bytes(), half.as_bytes(), middle, half.as_bytes()].concat()
}

/// A large text: a beginning, then one function and nine plain ones in turn.
fn many(beginning: &str, function: &str) -> Vec<u8> {
    let ten = [function, &FUNCTION.repeat(9)].concat();
    [HEAD, beginning, &ten.repeat(LARGE / ten.len())].concat().into_bytes()
}

/// All texts except some that add nothing to the test of a command.
fn texts_but(some: &[&str]) -> impl Iterator<Item = (&'static str, Vec<u8>)> {
    texts().into_iter().filter(|(name, _)| !some.contains(name))
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
        ("warning", text(function("vadd.sat.u32.u32.u32 a, a, 5;").as_bytes())),
        ("warnings", text(function("vadd.sat.u32.u32.u32 a, a, 5;").repeat(9000).as_bytes())),
        ("note", text(function("vadd.u32.u32.u32.sat a, a, 5;").as_bytes())),
        ("names", text(function(".reg .b32 %vptx_r0;\nvmin.u32.u32.u32 a, a, a.h1;").as_bytes())),
        ("outside", many(".reg .b32 b;\n", &function("vadd.u32.u32.u32 a, b, a;"))),
        ("gate", many(".target sm_20\n", &function("vadd4.u32.u32.u32 a, a, a, a;"))),
        ("future", many(".target sm_999\n", &function("ret;"))),
        ("undeclared", text(function("vadd.u32.u32.u32 a, a, b;").as_bytes())),
        ("finding", text(function("vadd.u32.u32.u32 a, a, a.q;").as_bytes())),
        ("unclosed", text(b"/* } ")),
        ("stray", text(b"\n}\n")),
        // The first half is written before this is read.
        ("late off", [text(b""), function("// vptx: fmt off\nret  ;").into_bytes()].concat()),
        ("off", text(function("// vptx: fmt off\nret  ;\n// vptx: fmt on").as_bytes())),
        ("suppression", text(b"// vptx: ignore[V501] nothing\n")),
        ("foreign", text(function("add.u32 a, \\, a;").as_bytes())),
        ("latin", text(b"// caf\xe9\n")),
        ("binary", text(b"\0")),
        ("twice", text(HEAD.as_bytes())),
        ("loops", many("", &function(&[LOOP, &"ret;\n".repeat(111_000)].concat()))),
        ("long function", text(function(&"ret;\n".repeat(LARGE / 5)).as_bytes())),
        ("one function", function(&"ret;\n".repeat(LARGE / 5)).into_bytes()),
    ]
}

#[test]
fn check_finds_the_same() {
    let folder = Folder::new("large-check");
    folder.write("small.ptx", FUNCTION);
    for (at, (name, text)) in texts().into_iter().enumerate() {
        fs::write(folder.0.join("a.ptx"), &text).unwrap();
        let (count, law) = check_counted(&decode(text.clone()), &CheckOptions::default());
        let law: Vec<_> = law
            .iter()
            .map(|it| (it.code.text().to_string(), u64::from(it.span.start), it.fixes.len()))
            .collect();
        // Half of the texts are read alone, the other half after a small file. Half of each also
        // come from a pipe.
        let subjects = [&["a.ptx"][..], &["small.ptx", "a.ptx"]][at % 2];
        let arguments = [&["check", "--quiet", "--format", "json"], subjects].concat();
        let run = vptx_in(&folder.0, &arguments, b"");
        let found = run.stdout.lines().map(|line| {
            let line: Value = serde_json::from_str(line).expect(line);
            let start = line["span"]["start"].as_u64().unwrap();
            let fixes = line["fixes"].as_array().unwrap().len();
            (line["code"].as_str().unwrap().to_string(), start, fixes)
        });
        assert!(found.eq(law.iter().cloned()), "{name}");
        if name == "warnings" {
            let run = vptx_in(&folder.0, &["check", "--statistics", "a.ptx"], b"");
            let summary = format!(" in {count} video instructions of 1 file");
            assert!(run.transcript().contains(&summary), "{}", run.transcript());
        }
        if at % 4 < 2 {
            let of_stdin = vptx_in(&folder.0, &["check", "--stdin-filename", "a.ptx"], &text);
            let of_file = vptx_in(&folder.0, &["check", "a.ptx"], b"");
            assert_eq!(of_file.transcript(), of_stdin.transcript(), "{name}");
        }
        let clean =
            ["plain", "crlf", "video", "videos", "crlf videos", "names", "outside", "loops"];
        let clean = clean.contains(&name) || name.contains("function") || name == "twice";
        let clean = clean || ["off", "late off", "foreign", "latin"].contains(&name);
        assert_eq!(law.is_empty(), clean, "{name}: {law:?}");
    }
}

#[test]
fn fmt_writes_the_same() {
    let folder = Folder::new("large-fmt");
    let path = folder.0.join("a.ptx");
    let plain = ["warning", "warnings", "note", "names", "outside", "gate", "future", "undeclared"];
    for (at, (name, text)) in texts_but(&plain).enumerate() {
        // The library formats only text in UTF-8.
        let Ok(source) = String::from_utf8(text.clone()) else { continue };
        fs::write(&path, &text).unwrap();
        let law = vptx::format(&source, &FormatOptions::default());
        let filter = vptx_in(&folder.0, &["fmt", "-"], &text);
        // Half of the texts are checked before they are formatted, the other half afterwards.
        if at % 2 == 0 {
            let checked = vptx_in(&folder.0, &["fmt", "--check", "a.ptx"], b"");
            assert_eq!(checked.status, 1, "{name}");
            assert!(fs::read(&path).unwrap() == text, "{name}: --check writes nothing");
        }
        let in_place = vptx_in(&folder.0, &["fmt", "a.ptx"], b"");
        let written = fs::read(&path).unwrap();
        let status = i32::from(law.is_err());
        assert_eq!((in_place.status, filter.status), (status, status), "{name}");
        let Ok(law) = law else {
            assert!(written == text, "{name}: left alone");
            continue;
        };
        assert!(written == law.as_bytes() && filter.stdout == law, "{name}");
        if at % 2 == 1 {
            let again = vptx_in(&folder.0, &["fmt", "--check", "--quiet", "a.ptx"], b"");
            assert_eq!((again.status, again.stdout.as_str()), (0, ""), "{name}: formatted");
        }
        if name == "plain" {
            let written = || fs::metadata(&path).unwrap().modified().unwrap();
            let before = written();
            let again = vptx_in(&folder.0, &["fmt", "a.ptx"], b"");
            assert_eq!((again.status, again.stderr.as_str()), (0, "1 file unchanged\n"));
            assert_eq!(written(), before, "a formatted file is not written");
            // A file with a second name is overwritten.
            let second = folder.0.join("b.ptx");
            fs::hard_link(&path, &second).unwrap();
            fs::write(&path, &text).unwrap();
            assert_eq!(vptx_in(&folder.0, &["fmt", "a.ptx"], b"").status, 0);
            assert!(fs::read(&path).unwrap() == law.as_bytes());
            #[cfg(unix)]
            assert!(fs::read(&second).unwrap() == law.as_bytes());
            fs::remove_file(second).unwrap();
        }
    }
}

#[test]
fn lower_writes_the_same() {
    let folder = Folder::new("large-lower");
    let plain = ["crlf", "warnings", "note", "off", "late off", "suppression", "stray"];
    for (at, (name, text)) in texts_but(&plain).enumerate() {
        // The library rewrites only text in UTF-8.
        let Ok(source) = String::from_utf8(text.clone()) else { continue };
        fs::write(folder.0.join("a.ptx"), &text).unwrap();
        let (module, _) = vptx::parse(&source);
        // A text with syntax errors is not rewritten.
        let Ok(law) = vptx::rewrite(&module, &RewriteOptions::default()) else {
            let unchanged = vptx_in(&folder.0, &["rewrite", "a.ptx", "--in-place"], b"");
            assert!(unchanged.stderr.contains("is unchanged"), "{name}: {}", unchanged.stderr);
            continue;
        };
        let run = |arguments: &[&str], stdin: &[u8]| {
            let arguments = [&["rewrite"], arguments].concat();
            vptx_in(&folder.0, &arguments, stdin)
        };
        let printed = run(&["a.ptx"], b"");
        assert!(printed.stdout == law.text(), "{name}");
        let rewritten = law.changes.iter().filter(|change| change.outcome.is_rewritten()).count();
        let summary = format!("{rewritten} of {} video", law.changes.len());
        assert!(printed.stderr.contains(&summary), "{name}: {}", printed.stderr);
        let filter = run(&["-"], &text);
        assert!(filter.stdout == printed.stdout, "{name}");
        assert_eq!(filter.stderr.replace("<stdin>", "a.ptx"), printed.stderr, "{name}");
        // Half of the texts are written to another file, the other half in place.
        if at % 2 == 0 {
            assert_eq!(run(&["a.ptx", "-o", "b.ptx"], b"").stderr, printed.stderr, "{name}");
            assert!(fs::read(folder.0.join("b.ptx")).unwrap() == law.text().as_bytes(), "{name}");
            continue;
        }
        let has_errors = run(&["a.ptx", "--in-place"], b"").stderr.contains("is unchanged");
        let in_place = fs::read(folder.0.join("a.ptx")).unwrap();
        let expected = if has_errors { text } else { law.text().into_bytes() };
        assert!(in_place == expected, "{name}");
    }
}
