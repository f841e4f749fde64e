//! The languages of texts. A text is checked or written as PTX only if its name says that it is
//! PTX, if it plainly is PTX, or if an option says so. Unread text is counted, and missing files
//! are reported.

use std::process::{Command, Stdio};

use super::fixtures::BAD;
use crate::support::program::{Folder, Run, vptx, vptx_in};

const PYTHON: &str = "def f(): x = 1\n";
const MODULE: &str = "// of nvcc\n.version 8.0\n.target sm_90\n.func f()\n{\nret ;\n}\n";
/// A source with an error, V104.
const SOURCE: &str = "#include <cuda.h>\n__device__ void f(unsigned *p)\n{\n    asm(\"vadd.u32.u32 \
                      %0, %1, %2;\" : \"=r\"(*p) : \"r\"(p[1]), \"r\"(p[2]));\n}\n";

fn run(folder: &Folder, arguments: &[&str], stdin: &str) -> Run {
    vptx_in(&folder.0, arguments, stdin.as_bytes())
}

/// Runs `check` so that it prints one line for each finding.
fn check(folder: &Folder, arguments: &[&str], stdin: &str) -> Run {
    run(folder, &[&["check", "--format", "concise"], arguments].concat(), stdin)
}

/// The file and the code of each finding in a concise report.
fn found(run: &Run) -> Vec<String> {
    let of = |line: &str| {
        let code = &line[line.find('[').expect(line) + 1..][..4];
        format!("{} {code}", line.split(':').next().unwrap_or_default())
    };
    run.stdout.lines().map(of).collect()
}

/// No command checks or changes a file that is not PTX.
#[test]
fn other_files_are_refused() {
    let folder = Folder::new("kinds-refused");
    let names = ["a.sh", "a.sql", "a.ll", "a.txt", "a", "a.ptx.bak"];
    let commands: [&[&str]; 8] = [
        &["check"],
        &["check", "--fix", "--unsafe-fixes"],
        &["check", "--diff", "--unsafe-fixes"],
        &["fmt"],
        &["fmt", "--check"],
        &["fmt", "--diff"],
        &["lower", "--emit", "ir"],
        &["rewrite", "--target", "sm_90"],
    ];
    for name in names {
        // Nothing shows that bare statements are PTX, so they are refused like Python.
        for text in [PYTHON, BAD, "", "\t.file\t\"a.c\"\n\t.version\t\"01.01\"\n"] {
            folder.write(name, text);
            for command in commands {
                let run = run(&folder, &[command, &[name]].concat(), "");
                assert_eq!((run.status, run.stdout.as_str()), (2, ""), "{command:?} {name}");
                let start = format!(
                    "vptx: `{name}` is not read: its name is not that of a PTX file, and it does \
                     not start with `.version`; "
                );
                assert!(run.stderr.starts_with(&start), "{command:?} {}", run.stderr);
                assert!(run.stderr.contains("--language"), "{}", run.stderr);
                assert_eq!(run.stderr.lines().count(), 1, "{command:?} {}", run.stderr);
                assert_eq!(folder.read(name), text, "{command:?}");
            }
        }
    }
    // The other files are checked.
    folder.write("b.ptx", BAD);
    let run = check(&folder, &["a.sh", "b.ptx"], "");
    assert_eq!((run.status, found(&run)), (2, vec!["b.ptx V104".into()]));
}

#[test]
fn a_language_is_forced() {
    let folder = Folder::new("kinds-forced");
    folder.write("a.py", BAD);
    folder.write("a.txt", SOURCE);
    assert_eq!(found(&check(&folder, &["--language", "ptx", "a.py"], "")), ["a.py V104"]);
    assert_eq!(found(&check(&folder, &["--language", "cuda", "a.txt"], "")), ["a.txt V104"]);
    assert_eq!(check(&folder, &["--language", "cuda", "a.py"], "").stdout, "");
    // `--language` overrides the ending, even if `--extension` names that ending.
    folder.write("a.ptx", SOURCE);
    let arguments = ["--language", "cuda", "--extension", "ptx=ptx", "a.ptx"];
    assert_eq!(found(&check(&folder, &arguments, "")), ["a.ptx V104"]);
    // `--language` also applies to standard input, with a name or without.
    assert_eq!(found(&check(&folder, &["--language", "cuda", "-"], SOURCE)), ["<stdin> V104"]);
    let named = ["--language", "ptx", "--stdin-filename", "a.cu"];
    assert_eq!(found(&check(&folder, &named, BAD)), ["a.cu V104"]);

    folder.write("b.txt", "{ret;}");
    let formatted = run(&folder, &["fmt", "--language", "ptx", "b.txt"], "");
    assert_eq!((formatted.status, folder.read("b.txt").as_str()), (0, "{\n    ret;\n}\n"));
    let lowered = run(&folder, &["lower", "--emit", "ir", "--language", "ptx", "b.txt"], "");
    assert_eq!(lowered.stdout, "// b.txt: no video instructions\n");
    for command in [&["fmt"][..], &["lower", "--emit", "ir"]] {
        let run = run(&folder, &[command, &["--language", "cuda", "b.txt"]].concat(), "");
        assert!(run.status == 2 && run.stderr.contains("possible values: ptx"), "{}", run.stderr);
    }
    // A search finds files by their endings, and reads each in the language of its ending.
    folder.write("sub/a.cu", SOURCE);
    folder.write("sub/a.ptx", BAD);
    folder.write("sub/a.py", BAD);
    assert_eq!(found(&check(&folder, &["--language", "ptx", "sub"], "")), ["sub/a.ptx V104"]);
    assert_eq!(found(&check(&folder, &["--language", "cuda", "sub"], "")), ["sub/a.cu V104"]);
    assert_eq!(found(&check(&folder, &["sub"], "")), ["sub/a.cu V104", "sub/a.ptx V104"]);
}

/// Sources with an error, V104.
const SOURCES: [(&str, &str); 7] = [
    (
        "k.py",
        "tl.inline_asm_elementwise(\"vadd.u32.u32 $0, $1, $1;\", \"=r,r\", [x], t, True, 1)\n",
    ),
    (
        "m.py",
        "K = RawKernel(r'''\nasm(\"vadd.u32.u32 %0, %1, %1;\" : \"=r\"(d) : \"r\"(a));\n''', 'k')\n",
    ),
    ("k.rs", "asm!(\"vadd.u32.u32 {}, {}, {0};\", out(reg32) d, in(reg32) a);\n"),
    ("k.jl", "@asmcall(\"vadd.u32.u32 \\$0, \\$1, \\$1;\", \"=r,r\", UInt32, Tuple{UInt32}, x)\n"),
    ("k.zig", "asm (\"vadd.u32.u32 %[d], %[d], %[d];\" : [d] \"+r\" (d));\n"),
    ("k.mojo", "inlined_assembly[\"vadd.u32.u32 $0, $1, $1;\", UInt32, constraints=\"=r,r\"](x)\n"),
    (
        "n.ipynb",
        "{\"cells\": [{\"cell_type\": \"code\", \"source\": [\"asm = 1\\n\",\n\
         \"inline_asm_elementwise('vadd.u32.u32 $0, $1, $1;', '=r,r')\"]}]}\n",
    ),
];

#[test]
fn inline_assembly_of_many_languages_is_read() {
    let folder = Folder::new("kinds-languages");
    for (name, text) in SOURCES {
        folder.write(name, text);
        let expected = [format!("{name} V104")];
        assert_eq!(found(&check(&folder, &[name], "")), expected);
        assert_eq!(found(&check(&folder, &["--stdin-filename", name], text)), expected);
        // Other commands refuse these files and say why.
        for command in [&["fmt"][..], &["rewrite", "--target", "sm_90"]] {
            let run = run(&folder, &[command, &[name]].concat(), "");
            assert_eq!((run.status, run.stdout.as_str()), (2, ""), "{command:?} {name}");
            let why = "is source code, but only PTX is read here; `vptx check` reads it";
            assert!(run.stderr.contains(why), "{command:?} {}", run.stderr);
        }
        let run = run(&folder, &["survey", name], "");
        assert_eq!(run.status, 2, "{}", run.stderr);
        assert_eq!(folder.read(name), text);
    }
    let mut expected = SOURCES.map(|(name, _)| format!("{name} V104"));
    expected.sort();
    assert_eq!(found(&check(&folder, &["."], "")), expected);
    let python = check(&folder, &["--language", "python", "."], "");
    assert_eq!(found(&python), ["k.py V104", "m.py V104"]);
    assert_eq!(found(&check(&folder, &["--language", "rust", "."], "")), ["k.rs V104"]);
    assert_eq!(check(&folder, &["--language", "cuda", "."], "").status, 2);
    // A file with an ending of another language is not read as PTX, even if the user names it.
    folder.write("p.py", format!("{MODULE}{BAD}"));
    let run = check(&folder, &["p.py"], "");
    assert_eq!((run.status, run.stdout.as_str()), (0, ""), "{}", run.stderr);
    folder.write("x.txt", SOURCES[0].1);
    folder.write("vptx.toml", "[extension]\ntxt = \"python\"\n");
    assert_eq!(found(&check(&folder, &["x.txt"], "")), ["x.txt V104"]);
    let language = ["--isolated", "--language", "python", "x.txt"];
    assert_eq!(found(&check(&folder, &language, "")), ["x.txt V104"]);
}

#[test]
fn fixes_are_made_in_python() {
    let folder = Folder::new("kinds-python-fix");
    let call = |text: &str| {
        format!("# caf\u{e9}\ntl.inline_asm_elementwise(\n    '{text}', '=r,r', [x], t, True, 1)\n")
    };
    folder.write("k.py", call("vadd.sat.s32.s32.s32 $0, $1, $1;"));
    let run = run(&folder, &["check", "--fix", "k.py"], "");
    assert_eq!((run.status, run.stderr.as_str()), (0, ""));
    assert_eq!(folder.read("k.py"), call("vadd.s32.s32.s32.sat $0, $1, $1;"));
    folder.write("k.py", call("vadd.u32.u32 $0, $1, $1;"));
    let run = self::run(&folder, &["check", "--add-ignore", "k.py"], "");
    assert_eq!((run.status, run.stderr.as_str()), (0, ""));
    assert!(folder.read("k.py").contains(" # vptx: ignore[V104]\n"), "{}", folder.read("k.py"));
    let skipped = "tl.inline_asm_elementwise(f\"vadd {t};\", '=r')\nasm\n";
    folder.write("f.py", skipped);
    let run = self::run(&folder, &["check", "f.py"], "");
    let said = "1 asm statement not read: 1 whose text is computed\n";
    assert!(run.stdout.ends_with(said), "{}", run.stdout);
    // A string that holds a module with a placeholder.
    folder.write("s.py", "ptx = '.version 8.0\\n.target %s\\n' % arch\n");
    let run = self::run(&folder, &["check", "s.py"], "");
    let said = "1 text not read: 1 of a module with placeholders\n";
    assert!(run.stdout.ends_with(said), "{}", run.stdout);
    let count = |format: &str| {
        let arguments = ["check", "-q", "--statistics", "--format", format, "f.py", "m.cu"];
        self::run(&folder, &arguments, "").stdout
    };
    folder.write("m.cu", "void f() { asm(VADD); asm(VSUB); }\n");
    assert_eq!(
        count("human"),
        "2  not read  made by macros\n1  not read  whose text is computed\n"
    );
    let all = "{\"code\":\"V704\",\"name\":\"unread-asm\",\"count\":3,\"fixable\":0}\n";
    assert_eq!(count("json"), all);
}

#[test]
fn modules_are_read_whatever_their_names() {
    let folder = Folder::new("kinds-modules");
    for name in ["a.txt", "a.inc", "module", "a.ptx.orig"] {
        folder.write(name, format!("{MODULE}{BAD}"));
        let all = found(&check(&folder, &[name], ""));
        assert_eq!(all[..2], ["V910", "V104"].map(|code| format!("{name} {code}")));
        folder.write(name, MODULE);
        assert_eq!(run(&folder, &["rewrite", name], "").stdout, MODULE);
        assert_eq!(run(&folder, &["fmt", name], "").status, 0);
        assert!(folder.read(name).contains("    ret;\n"), "{name}");
    }
    // A search finds only files with known endings.
    let walked = run(&folder, &["check", "."], "");
    assert!(walked.stdout.contains("1 file\n"), "{}", walked.stdout);
    let none = run(&folder, &["fmt", "."], "");
    assert_eq!((none.status, none.stderr.as_str()), (2, "vptx: no files to read in `.`\n"));
}

#[test]
fn endings_in_any_case_are_known() {
    let folder = Folder::new("kinds-endings");
    let sources = [
        "a.CU", "b.Cuh", "c.hip", "d.inc", "e.tcc", "f.tpp", "g.cc", "h.hh", "i.INC", "j.CPP",
        "k.c", "l.cxx", "m.ipp",
    ];
    for name in sources {
        folder.write(name, SOURCE);
    }
    folder.write("z.PTX", BAD);
    let expected = sources.iter().chain(&["z.PTX"]).map(|name| format!("{name} V104"));
    let mut expected: Vec<String> = expected.collect();
    assert_eq!(found(&check(&folder, &sources, "")), expected[..sources.len()]);
    expected.sort();
    let mut walked = found(&check(&folder, &["."], ""));
    walked.sort();
    assert_eq!(walked, expected);
    // Sources are not formatted.
    for name in sources {
        let run = run(&folder, &["fmt", name], "");
        assert!(run.stderr.contains("is source code, but only PTX is read here"), "{}", run.stderr);
        assert_eq!((run.status, folder.read(name).as_str()), (2, SOURCE));
    }
    folder.write("z.PTX", "{ret;}");
    assert_eq!(run(&folder, &["fmt", "."], "").stderr, "1 file formatted\n");
    assert_eq!(folder.read("z.PTX"), "{\n    ret;\n}\n");
}

#[test]
fn endings_are_chosen() {
    let folder = Folder::new("kinds-chosen");
    folder.write("a.inl2", SOURCE);
    folder.write("b.s", BAD);
    folder.write("c.ptx.in", BAD);
    folder.write("d.txt", BAD);
    folder.write("sub/e.S", BAD);
    let chosen = ["--extension", "inl2=cuda,.s=ptx", "--extension", "ptx.in=ptx"];
    let expected = ["a.inl2 V104", "b.s V104", "c.ptx.in V104"];
    let all = ["a.inl2 V104", "b.s V104", "c.ptx.in V104", "sub/e.S V104"];
    let with = |more: &[&str]| found(&check(&folder, &[&chosen, more].concat(), ""));
    assert_eq!(with(&["a.inl2", "b.s", "c.ptx.in", "d.txt"]), expected);
    assert_eq!(with(&["."]), all);
    // The settings can do the same, for files below their folder.
    folder.write("vptx.toml", "[extension]\ninl2 = \"cuda\"\ns = \"ptx\"\n\"ptx.in\" = \"ptx\"\n");
    assert_eq!(found(&check(&folder, &["."], "")), all);
    assert_eq!(found(&check(&folder, &["b.s"], "")), ["b.s V104"]);
    assert_eq!(found(&check(&folder, &["--stdin-filename", "x.s"], BAD)), ["x.s V104"]);
    assert_eq!(check(&folder, &["--isolated", "b.s"], "").status, 2);
    // The command line overrides the settings, and its last choice wins.
    let later = ["--extension", "s=ptx", "--extension", "s=cuda", "b.s"];
    assert_eq!(
        (check(&folder, &later, "").status, check(&folder, &later, "").stdout),
        (0, String::new())
    );
    let formatted = run(&folder, &["fmt", "--extension", "txt=ptx", "--check", "."], "");
    assert_eq!(
        formatted.stdout.replace("would format ", ""),
        "",
        "all of them are formatted already"
    );
    folder.write("d.txt", "{ret;}");
    folder.write("b.s", "{ret;}");
    let formatted = run(&folder, &["fmt", "--extension", "txt=ptx", "."], "");
    assert_eq!(
        (formatted.status, formatted.stderr.as_str()),
        (0, "2 files formatted, 2 unchanged\n")
    );
    assert_eq!(folder.read("a.inl2"), SOURCE);

    for (wrong, said) in [
        ("inc", "write `inc=cuda`"),
        ("inc=c++", "`ptx`, `cuda`, `python`"),
        ("=ptx", "is not the ending"),
        ("*.inc=cuda", "is not the ending"),
    ] {
        let run = check(&folder, &["--extension", wrong, "."], "");
        assert!(run.status == 2 && run.stderr.contains(said), "{wrong}: {}", run.stderr);
    }
    for (wrong, said) in [
        (
            "[extension]\ns = \"go\"\n",
            "extension: `go` is not a language: write `ptx`, `cuda`, `python`, `mojo`, `rust`, \
             `julia`, `zig` or `notebook`",
        ),
        ("[extension]\ns = \"cuda\"\nS = \"ptx\"\n", "extension: `s` is given twice"),
        ("[extension]\ns = \"CUDA\"\n", "extension: `CUDA` is not a language"),
        ("[extension]\n\"a/b\" = \"ptx\"\n", "extension: `a/b` is not the ending"),
        ("[extensions]\n", "did you mean `extension`?"),
    ] {
        folder.write("vptx.toml", wrong);
        let run = check(&folder, &["d.txt"], "");
        assert!(run.status == 2 && run.stderr.contains(said), "{wrong}: {}", run.stderr);
    }
}

#[test]
fn standard_input_is_recognised() {
    let folder = Folder::new("kinds-stdin");
    let wrong = "asm(\"vadd.u32.u32 %0, %1, %2;\" : \"=r\"(d) : \"r\"(a), \"r\"(b));\n";
    for source in [SOURCE, wrong] {
        let run = check(&folder, &["-"], source);
        assert_eq!((run.status, found(&run)), (1, vec!["<stdin> V104".into()]), "{source}");
        for command in [&["fmt", "-"][..], &["rewrite", "-"], &["lower", "--emit", "ir"]] {
            let run = vptx_in(&folder.0, command, source.as_bytes());
            assert_eq!((run.status, run.stdout.as_str()), (2, ""));
            assert!(run.stderr.contains("`<stdin>` is source code"), "{}", run.stderr);
        }
    }
    // What stands in a string is no statement, whatever stands before the string.
    for before in ["f(", "folder/", "1 /", "/* \" */", "1'000 + ", "'\\'' + ", "R"] {
        let source = format!("#include <a.h>\nx = {before}\"(; vadd.u32.u32 d, a, b; )\";\n");
        let run = check(&folder, &["-"], &source);
        assert_eq!((run.status, found(&run).len()), (0, 0), "{source}: {}", run.stderr);
    }
    // On standard input, bare statements are checked; some have errors.
    for (bare, codes) in [
        ("vadd.u32.u32.u32 d, a, b;\n", &[][..]),
        (BAD, &["V104"]),
        ("vad.u32.u32.u32 d, a, b;", &["V101"]),
        ("vadd.u32.u32.u32 d a, b", &["V006"]),
        ("@p vadd.u32.u32.u32 d, a, b", &["V005"]),
        ("/* a comment", &["V001"]),
        ("\0", &["V008"]),
        ("", &[]),
        ("// nothing\n", &[]),
    ] {
        let run = check(&folder, &["-"], bare);
        let expected: Vec<String> = codes.iter().map(|code| format!("<stdin> {code}")).collect();
        assert_eq!(found(&run), expected, "{bare}: {}", run.stderr);
        assert_eq!(run.status, i32::from(!codes.is_empty()), "{bare}");
    }
    // Other text is refused, and nothing is printed.
    for other in [PYTHON, "def f(): x = 1;\n", "SELECT 1;\n", "Hello.\n", "#"] {
        for command in [
            &["check", "-"][..],
            &["check", "--fix", "--unsafe-fixes", "-"],
            &["fmt", "-"],
            &["fmt", "--check", "-"],
            &["lower", "--emit", "ir", "-"],
            &["rewrite", "--target", "sm_90", "-"],
        ] {
            let run = vptx_in(&folder.0, command, other.as_bytes());
            assert_eq!((run.status, run.stdout.as_str()), (2, ""), "{command:?} {other}");
            let said = "vptx: `<stdin>` is not read: nothing in it looks like PTX; ";
            assert!(run.stderr.starts_with(said), "{}", run.stderr);
            assert!(run.stderr.contains("--language"), "{}", run.stderr);
        }
    }
    let forced = run(&folder, &["fmt", "--language", "ptx", "-"], "f (x)  ;");
    assert_eq!((forced.status, forced.stdout.as_str()), (0, "f (x);\n"));
    // The name for standard input tells the language, like the name of a file.
    let run = check(&folder, &["--stdin-filename", "a.sh"], BAD);
    assert_eq!((run.status, run.stdout.as_str()), (2, ""));
    let run = check(&folder, &["--stdin-filename", "a"], &format!("{MODULE}{BAD}"));
    assert_eq!(found(&run)[..2], ["a V910", "a V104"]);
}

/// The program reads a pipe once. A shell makes such pipes for `<(nvcc -ptx …)`.
#[cfg(unix)]
#[test]
fn pipes_are_told_by_what_they_hold() {
    let folder = Folder::new("kinds-pipes");
    folder.write("a.ptx", format!("{MODULE}{BAD}"));
    folder.write("bare.ptx", BAD);
    let of = |command: &str, file: &str| {
        let script = format!("cat {file} | $VPTX {command} /dev/fd/0");
        let output = Command::new("sh")
            .args(["-c", &script])
            .current_dir(&folder.0)
            .env("VPTX", env!("CARGO_BIN_EXE_vptx"))
            .stdin(Stdio::null())
            .output()
            .expect("a shell");
        let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
        (output.status.code(), text(output.stdout), text(output.stderr))
    };
    let (status, stdout, _) = of("check --format concise", "a.ptx");
    assert_eq!((status, stdout.matches("V104").count()), (Some(1), 1));
    let (status, stdout, _) = of("rewrite", "a.ptx");
    assert_eq!((status, stdout), (Some(1), format!("{MODULE}{BAD}")));
    let (status, stdout, stderr) = of("check", "bare.ptx");
    assert_eq!((status, stdout.as_str()), (Some(2), ""));
    assert!(stderr.contains("`/dev/fd/0` is not read"), "{stderr}");
    assert_eq!(of("check --language ptx", "bare.ptx").0, Some(1));
}

#[test]
fn what_was_not_read_is_counted() {
    let folder = Folder::new("kinds-skipped");
    let source = "\
#define ADD(d, a) asm(\"vadd.u32.u32.u32 \" #d \", \" #a \";\")
#define OP(x) asm(x)
#if 0
asm(\"vadd.u32 %0;\");
#endif
void f(unsigned d, unsigned a) {
    asm(VADD : \"=r\"(d) : \"r\"(a));
    asm(\"vadd.u32.u32.u32 %0, %1, %1;\" OUT(d));
    asm(\"vadd.u32.u32.u32 %0, \"
#ifdef A
        \"%1, %1;\" : \"=r\"(d) : \"r\"(a));
#else
        \"%1, %1;\" : \"=r\"(d) : \"r\"(a));
#endif
    asm(\"vadd.u32.u32.u32 %0, %1, %2;\" : \"=r\"(d) : \"C\"(a), \"r\"(a));
    asm(\"vadd.u32.u32.u32 %0, %1, %1;\" : \"=r\"(d) : \"r\"(a));
    asm(\"mov.u32 %0, 0;\" : \"=r\"(d));
}
";
    folder.write("a.cu", source);
    folder.write("b.cu", "#if 0\nasm volatile(\"ret;\");\n#endif\n");
    folder.write("c.cu", "void f() { asm(\"vadd.u32.u32.u32 a, b, c;\"); } // asm(X)\n");
    let line = |names: &[&str]| run(&folder, &[&["check"], names].concat(), "").stdout;
    assert_eq!(
        line(&["a.cu"]),
        "nothing found in 1 video instruction of 1 file\n\
         7 asm statements not read: 4 made by macros, 1 with `#` lines inside, 1 under `#if 0`, \
         1 with pasted operands\n"
    );
    assert_eq!(
        line(&["b.cu"]),
        "nothing found in 0 video instructions of 1 file\n\
         1 asm statement not read: 1 under `#if 0`\n"
    );
    assert_eq!(line(&["c.cu"]), "nothing found in 1 video instruction of 1 file\n");
    assert!(line(&["."]).contains("8 asm statements not read: 4 made by macros, 1 with"));
    assert!(line(&["."]).contains("2 under `#if 0`"));
    assert_eq!(line(&["--quiet", "."]), "");
    for format in ["concise", "json", "github"] {
        let run = run(&folder, &["check", "--format", format, "."], "");
        assert_eq!((run.stdout.as_str(), run.stderr.as_str()), ("", ""), "{format}");
    }
    // With `--fix` on standard input, the text goes to standard output and the counts to standard
    // error.
    let fixed = run(&folder, &["check", "--fix", "-"], source);
    assert_eq!(fixed.stdout, source);
    assert!(fixed.stderr.contains("7 asm statements not read: 4 made"), "{}", fixed.stderr);
}

#[test]
fn unknown_targets_and_versions_are_said() {
    let folder = Folder::new("kinds-unknown");
    folder.write("a.ptx", "vadd.u32.u32.u32 d, a, b;\n");
    folder.write("b.ptx", BAD);
    let target = "vptx: target `sm_999` is not known; the nearest known target is `sm_121`\n";
    let version = "vptx: PTX version `9.99` is not known; the nearest known version is `9.5`\n";
    // The check is done, and the message appears once.
    let run = check(&folder, &["--target", "sm_999", "a.ptx", "b.ptx"], "");
    assert_eq!((found(&run), run.stderr.as_str()), (vec!["b.ptx V104".to_string()], target));
    let run = check(&folder, &["--ptx-version", "9.99", "a.ptx"], "");
    assert_eq!((run.status, run.stdout.as_str(), run.stderr.as_str()), (0, "", version));
    let known = ["--target", "sm_120f", "--ptx-version", "9.5", "a.ptx"];
    assert_eq!(check(&folder, &known, "").stderr, "");
    for wrong in [["--ptx-version", "9.9.9"], ["--target", "sm_9x"]] {
        assert_eq!(check(&folder, &[&wrong[..], &["a.ptx"]].concat(), "").status, 2);
    }
    // The settings name the target, and the version only for some files.
    folder.write("vptx.toml", "[check]\ntarget = \"sm_999\"\n[[check.per-path]]\npaths = [\"b.ptx\"]\nptx-version = \"9.99\"\n");
    assert_eq!(check(&folder, &["a.ptx"], "").stderr, target);
    assert_eq!(check(&folder, &["a.ptx", "b.ptx"], "").stderr, format!("{target}{version}"));
    assert_eq!(check(&folder, &["--target", "sm_90", "a.ptx"], "").stderr, "");
    let lowered = ["rewrite", "--target", "sm_999", "vmin2.s32.s32.s32 d, a, b, c;"];
    let lowered = vptx_in(&folder.0, &lowered, b"");
    // The costs on this target are unknown.
    assert_eq!((lowered.status, &*lowered.stdout, &*lowered.stderr), (2, "", target));
    let explained = vptx_in(&folder.0, &["explain", "--target", "sm_999", "vadd"], b"");
    assert_eq!((explained.status, &*explained.stdout, &*explained.stderr), (2, "", target));
}

#[test]
fn unknown_targets_and_versions_of_modules() {
    let folder = Folder::new("kinds-modules-unknown");
    let module = |version: &str, target: &str| {
        let body = ".entry f()\n{\n.reg .b32 d;\nvadd.u32.u32.u32 d, d, d;\n}\n";
        format!(".version {version}\n.target {target}\n{body}")
    };
    let concise = |version: &str, target: &str, more: &[&str]| {
        folder.write("a.ptx", module(version, target));
        let run = check(&folder, &[more, &["--ignore", "V9", "a.ptx"]].concat(), "");
        assert_eq!((run.status, run.stderr.as_str()), (0, ""), "{version} {target}");
        run.stdout
    };
    for more in [&[][..], &["--dialect", "ptxas"], &["--target", "sm_90"]] {
        assert_eq!(
            concise("99.0", "sm_999, debug", more),
            "a.ptx:1:10: warning[V304]: there is no PTX version `99.0`\n\
             a.ptx:2:9: warning[V303]: there is no target `sm_999`\n"
        );
    }
    let targets =
        ["sm_20", "sm_60", "compute_75", "sm_90, texmode_independent", "sm_90a", "sm_101f"];
    // For each version, the number of the targets above that the version has.
    let versions =
        [("2.0", 1), ("4.3", 1), ("5.1", 2), ("6.5", 3), ("7.8", 4), ("8.0", 5), ("9.5", 6)];
    for (version, count) in versions {
        for target in &targets[..count] {
            assert_eq!(concise(version, target, &[]), "", "{version} {target}");
        }
        folder.write("a.ptx", module(version, targets.get(count).unwrap_or(&"sm_999")));
        let newer = check(&folder, &["a.ptx"], "").stdout;
        assert_eq!(newer.contains("error[V305]"), count < targets.len(), "{version}: {newer}");
    }
    // There is no fix for a version or target that is newer than all known ones. Others are
    // replaced by the nearest known version or target.
    let fixed = |version: &str, target: &str| {
        concise(version, target, &["--fix", "--unsafe-fixes"]);
        let text = folder.read("a.ptx");
        let mut words =
            text.lines().take(2).map(|line| line.split_once(' ').unwrap().1.to_string());
        (words.next().unwrap(), words.next().unwrap())
    };
    let pair = |version: &str, target: &str| (version.to_string(), target.to_string());
    assert_eq!(fixed("99.0", "sm_999"), pair("99.0", "sm_999"));
    assert_eq!(fixed("7.9", "sm_85, debug"), pair("7.8", "sm_86, debug"));
    // PTX 6.5 does not have `sm_86`, so the fix keeps `sm_85`: an error would replace the warning.
    assert_eq!(fixed("6.6", "sm_85, debug"), pair("6.5", "sm_85, debug"));
    assert_eq!(fixed("8.10", "sm_90b"), pair("8.8", "sm_90"));
    // A comment suppresses the finding like any other.
    folder.write("a.ptx", module("8.0", "sm_85 // vptx: ignore[V303] none"));
    assert_eq!(check(&folder, &["--ignore", "V9", "a.ptx"], "").stdout, "");
    // Other commands accept the module.
    folder.write("a.ptx", module("99.0", "sm_999"));
    assert_eq!(run(&folder, &["fmt", "a.ptx"], "").status, 0);
    assert_eq!(run(&folder, &["lower", "--emit", "ir", "a.ptx"], "").status, 0);
}

/// Checks modules of compilers, and modules of the tests that ptxas accepts.
#[test]
fn committed_modules_have_known_targets_and_versions() {
    let folders = ["fixtures/ptx", "fixtures/format"];
    let arguments = [&["check", "--select", "V303,V304", "--format", "concise"], &folders[..]];
    let run = vptx(&arguments.concat(), "");
    assert_eq!((run.status, run.stdout.as_str(), run.stderr.as_str()), (0, "", ""));
}
