//! `vptx fmt` as a user meets it.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::support::program::{Folder, vptx, vptx_in};

const UGLY: &str = "{vadd.sat.u32.u32.u32 d,a,b;\n\n\n ret ;}";
const NEAT: &str = "{\n    vadd.u32.u32.u32.sat d, a, b;\n\n    ret;\n}\n";
const WRONG: &str = "{ vadd.u32.u32.u32 d a;\n";

#[test]
fn filter() {
    let run = vptx(&["fmt", "-"], UGLY);
    assert_eq!((run.status, run.stdout.as_str(), run.stderr.as_str()), (0, NEAT, ""));
    let run = vptx(&["fmt", "-"], NEAT);
    assert_eq!((run.status, run.stdout.as_str(), run.stderr.as_str()), (0, NEAT, ""));
    let run = vptx(&["fmt", "--check", "-"], UGLY);
    assert_eq!((run.status, run.stdout.as_str()), (1, "would format <stdin>\n"));
    let run = vptx(&["fmt", "--check", "-"], NEAT);
    assert_eq!((run.status, run.stdout.as_str()), (0, ""));
    // Errors go to standard error and not into the formatted text.
    let run = vptx(&["fmt", "-"], WRONG);
    assert_eq!((run.status, run.stdout.as_str()), (1, ""));
    assert!(run.stderr.contains("V003") && run.stderr.contains("V006"), "{}", run.stderr);
}

#[test]
fn files_in_place() {
    let folder = Folder::new("fmt-files");
    folder.write("a.ptx", UGLY);
    folder.write("deep/b.ptx", NEAT);
    folder.write("deep/c.ptx", WRONG);
    folder.write("deep/d.txt", UGLY);
    let run = vptx_in(&folder.0, &["fmt"], b"");
    insta::assert_snapshot!(run.transcript());
    assert_eq!(folder.read("a.ptx"), NEAT);
    assert_eq!(folder.read("deep/b.ptx"), NEAT);
    assert_eq!(folder.read("deep/c.ptx"), WRONG, "left alone");
    assert_eq!(folder.read("deep/d.txt"), UGLY, "not PTX by its name");
    let modified = || folder.0.join("a.ptx").metadata().unwrap().modified().unwrap();
    let before = modified();
    let again = vptx_in(&folder.0, &["fmt", "--quiet", "a.ptx", "deep/b.ptx"], b"");
    assert_eq!((again.status, again.stdout, again.stderr), (0, String::new(), String::new()));
    assert_eq!(modified(), before, "a formatted file is not written");
    // No temporary file stays.
    assert_eq!(fs::read_dir(&folder.0).unwrap().count(), 2);
}

#[test]
fn check_and_diff_write_nothing() {
    let folder = Folder::new("fmt-check");
    folder.write("a.ptx", UGLY);
    folder.write("b.ptx", NEAT);
    let check = vptx_in(&folder.0, &["fmt", "--check", "."], b"");
    assert_eq!((check.status, check.stdout.as_str()), (1, "would format a.ptx\n"));
    assert_eq!(check.stderr, "1 file to format, 1 unchanged\n");
    let diff = vptx_in(&folder.0, &["fmt", "--diff", "."], b"");
    insta::assert_snapshot!(diff.transcript());
    assert_eq!(vptx_in(&folder.0, &["fmt", "--diff", "b.ptx"], b"").status, 0);
    let both = vptx_in(&folder.0, &["fmt", "--diff", "--check", "."], b"");
    assert_eq!((both.status, both.stdout), (1, diff.stdout));
    let colored = vptx_in(&folder.0, &["fmt", "--diff", "--color", "always", "a.ptx"], b"");
    assert!(colored.stdout.contains("\u{1b}[32m+    ret;"), "{:?}", colored.stdout);
    assert_eq!(folder.read("a.ptx"), UGLY);
}

#[test]
fn the_diff_applies() {
    let folder = Folder::new("fmt-patch");
    let original = fs::read_to_string("fixtures/ptx/nvcc/video_simd.sm_90.ptx").expect("a fixture");
    folder.write("a.ptx", &original);
    let diff = vptx_in(&folder.0, &["fmt", "--diff", "a.ptx"], b"").stdout;
    vptx_in(&folder.0, &["fmt", "a.ptx"], b"");
    let formatted = folder.read("a.ptx");
    // The diff is applied by hand: context and `-` lines must equal those of the
    // original.
    let mut old = original.lines();
    let mut patched: Vec<&str> = Vec::new();
    let mut taken = 0;
    for line in diff.lines().skip(2) {
        if let Some(range) = line.strip_prefix("@@ -") {
            let start: usize = range.split([',', ' ']).next().unwrap().parse().unwrap();
            while taken + 1 < start {
                patched.extend(old.next());
                taken += 1;
            }
            continue;
        }
        let (sign, text) = line.split_at(1);
        if sign != "+" {
            assert_eq!(old.next(), Some(text));
            taken += 1;
        }
        if sign != "-" {
            patched.push(text);
        }
    }
    patched.extend(old);
    assert_eq!(patched, formatted.lines().collect::<Vec<_>>());
}

/// As in patches of GNU, changes with at most six equal lines between them share a part.
#[test]
fn near_changes_share_a_part_of_the_diff() {
    let folder = Folder::new("fmt-parts");
    for (between, parts) in [(5, 1), (6, 1), (7, 2)] {
        folder.write("a.ptx", format!("ret ;\n{}ret ;\n", "ret;\n".repeat(between)));
        let run = vptx_in(&folder.0, &["fmt", "--diff", "a.ptx"], b"");
        let found = run.stdout.lines().filter(|line| line.starts_with("@@ ")).count();
        assert_eq!(found, parts, "{between}: {}", run.stdout);
    }
}

#[cfg(unix)]
#[test]
fn links_and_permissions_stay() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let folder = Folder::new("fmt-links");
    folder.write("real/a.ptx", UGLY);
    let real = folder.0.join("real/a.ptx");
    fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
    symlink("real/a.ptx", folder.0.join("link.ptx")).unwrap();
    assert_eq!(vptx_in(&folder.0, &["fmt", "link.ptx"], b"").status, 0);
    assert!(folder.0.join("link.ptx").symlink_metadata().unwrap().is_symlink());
    assert_eq!(folder.read("real/a.ptx"), NEAT);
    assert_eq!(fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o640);

    folder.write("fixed.ptx", UGLY);
    let fixed = folder.0.join("fixed.ptx");
    fs::set_permissions(&fixed, fs::Permissions::from_mode(0o440)).unwrap();
    let run = vptx_in(&folder.0, &["fmt", "fixed.ptx"], b"");
    assert_eq!(
        (run.status, run.stderr.as_str()),
        (2, "vptx: cannot write `fixed.ptx`: the file is read-only\n")
    );
    assert_eq!(folder.read("fixed.ptx"), UGLY);
}

#[test]
fn settings_are_found_upwards() {
    let folder = Folder::new("fmt-settings");
    folder.write("vptx.toml", "[format]\nindent-width = 2\n");
    folder.write("a.ptx", "{ret;}");
    folder.write("deep/er/b.ptx", "{ret;}");
    folder.write("own/vptx.toml", "[format]\nindent-width = 8\ndefault-selectors = \"write\"\n");
    folder.write("own/c.ptx", "{vadd2.u32.u32.u32 d, a, b, c;}");
    assert_eq!(vptx_in(&folder.0, &["fmt"], b"").status, 0);
    assert_eq!(folder.read("a.ptx"), "{\n  ret;\n}\n");
    assert_eq!(folder.read("deep/er/b.ptx"), "{\n  ret;\n}\n");
    assert_eq!(
        folder.read("own/c.ptx"),
        "{\n        vadd2.u32.u32.u32 d.h10, a.h10, b.h32, c;\n}\n"
    );
    let run = vptx_in(&folder.0, &["fmt", "-"], b"{ret;}");
    assert_eq!(run.stdout, "{\n  ret;\n}\n");
    let run = vptx_in(&folder.0, &["fmt", "--config", "own/vptx.toml", "-"], b"{ret;}");
    assert_eq!(run.stdout, "{\n        ret;\n}\n");
}

#[test]
fn wrong_settings_are_said() {
    let folder = Folder::new("fmt-wrong-settings");
    folder.write("a.ptx", UGLY);
    for (text, said) in [
        ("[format]\nindent = 2\n", "unknown field `indent`"),
        ("[format]\nindent-width = 99\n", "the value must be from 0 to 16"),
        ("[format]\nline-ending = \"cr\"\n", "unknown variant `cr`"),
        ("[format\n", "TOML parse error"),
    ] {
        folder.write("vptx.toml", text);
        let run = vptx_in(&folder.0, &["fmt", "a.ptx"], b"");
        assert_eq!(run.status, 2, "{text}");
        assert!(run.stderr.contains(said) && run.stderr.contains("vptx.toml"), "{}", run.stderr);
        assert_eq!(folder.read("a.ptx"), UGLY, "{text}");
    }
    let run = vptx_in(&folder.0, &["fmt", "--config", "none.toml", "a.ptx"], b"");
    assert_eq!(run.status, 2);
    assert!(run.stderr.contains("cannot read `none.toml`: no such file"), "{}", run.stderr);
}

#[test]
fn other_encodings_survive() {
    let folder = Folder::new("fmt-encoding");
    folder.write("a.ptx", b"ret ;// caf\xe9\n/* \xff */ exit ;\n.pragma \"\xfe\" ;");
    let run = vptx_in(&folder.0, &["fmt", "a.ptx"], b"");
    assert_eq!(run.status, 0, "{}", run.stderr);
    assert_eq!(
        fs::read(folder.0.join("a.ptx")).unwrap(),
        b"ret; // caf\xe9\n/* \xff */ exit;\n.pragma \"\xfe\";\n"
    );
    // Formatting would have to change the line ends inside the comment.
    let bytes = b"/* \xe9\r\n */\r\nret ;";
    folder.write("b.ptx", bytes);
    let run = vptx_in(&folder.0, &["fmt", "b.ptx"], b"");
    assert_eq!(run.status, 2);
    assert!(run.stderr.contains("not in UTF-8"), "{}", run.stderr);
    assert_eq!(fs::read(folder.0.join("b.ptx")).unwrap(), bytes);
}

#[test]
fn what_cannot_be_read_is_said() {
    let run = vptx(&["fmt", "missing.ptx"], "");
    assert_eq!(run.status, 2);
    assert!(
        run.stderr.starts_with("vptx: cannot read `missing.ptx`: no such file"),
        "{}",
        run.stderr
    );
    let run = vptx(&["fmt", "fixtures/ptx/hand", "--check", "--frobnicate"], "");
    assert_eq!(run.status, 2);
    assert!(run.stderr.contains("--frobnicate"), "{}", run.stderr);
    let folder = Folder::new("fmt-binary");
    folder.write("a.ptx", b"\x7fELF\x02\x01\0\0");
    let run = vptx_in(&folder.0, &["fmt", "a.ptx"], b"");
    assert_eq!(run.status, 1);
    assert!(run.stdout.contains("an ELF file"), "{}", run.stdout);
}

#[test]
fn help_explains_the_settings() {
    let help = vptx(&["fmt", "--help"], "").stdout;
    for key in ["indent-width", "line-width", "line-ending", "default-selectors", "vptx.toml"] {
        assert!(help.contains(key), "{key}");
    }
    // The example of settings shows the defaults.
    let shown: String = help
        .lines()
        .skip_while(|line| line.trim() != "[format]")
        .take_while(|line| !line.trim().is_empty())
        .map(|line| line.trim().to_string() + "\n")
        .collect();
    let folder = Folder::new("fmt-help");
    folder.write("vptx.toml", &shown);
    let source = include_bytes!("../../fixtures/format/nvcc.ptx");
    let with = vptx_in(&folder.0, &["fmt", "-"], source);
    assert_eq!(with.stderr, "");
    assert_eq!(with.stdout, vptx(&["fmt", "-"], std::str::from_utf8(source).unwrap()).stdout);
}

const ONE: &str = "\
.version 8.5
.target sm_90
.entry k(.param .u32 n) {
    .reg .b32 a, unused; // a comment
    .loc 1 2 3
    ld.param.u32 a, [n];
    vadd4.sat.u32.u32.u32 a, a.b3210, a, a;
    add.u32 a, a, 0x10;
}
";

const NORMAL: &str = "\
.version 8.5
.target sm_90
.entry k(.param .u32 param_1)
{
    .reg .b32 %r<2>;
    ld.param.u32 %r1, [param_1];
    vadd4.u32.u32.u32.sat %r1, %r1, %r1, %r1;
    add.u32 %r1, %r1, 16;
}
";

#[test]
fn the_normal_form_is_printed() {
    let folder = Folder::new("fmt-normal");
    folder.write("a.ptx", ONE);
    for arguments in [["fmt", "--normalize", "a.ptx"], ["fmt", "--normalize", "-"]] {
        let run = vptx_in(&folder.0, &arguments, ONE.as_bytes());
        assert_eq!((run.status, run.stdout.as_str(), run.stderr.as_str()), (0, NORMAL, ""));
    }
    assert_eq!(folder.read("a.ptx"), ONE);
    let keep = |parts: &str| {
        vptx_in(&folder.0, &["fmt", "--normalize", "--keep", parts, "a.ptx"], b"").stdout
    };
    let named = keep("names,comments");
    assert!(
        named.contains(".reg .b32 a, unused; // a comment\n    ld.param.u32 a, [n];"),
        "{named}"
    );
    assert!(keep("loc").contains("    .loc 1 2 3\n"));
    // The program refuses options that it could fulfil only in part.
    for (arguments, message) in [
        (vec!["fmt", "--normalize"], "--normalize prints one text"),
        (vec!["fmt", "--normalize", "a.ptx", "a.ptx"], "--normalize prints one text"),
        (vec!["fmt", "--normalize", "--check", "a.ptx"], "cannot be used with"),
        (vec!["fmt", "--keep", "names", "a.ptx"], "--normalize"),
        (vec!["fmt", "--normalize", "missing.ptx"], "cannot read `missing.ptx`"),
        (vec!["fmt", "--normalize", "."], "cannot read `.`"),
    ] {
        let run = vptx_in(&folder.0, &arguments, b"");
        assert_eq!((run.status, run.stdout.as_str()), (2, ""), "{arguments:?}");
        assert!(run.stderr.contains(message), "{}", run.stderr);
    }
    let run = vptx(&["fmt", "--normalize", "-"], WRONG);
    assert_eq!((run.status, run.stdout.as_str()), (1, ""));
    assert!(run.stderr.contains("V003"), "{}", run.stderr);
}

/// Runs the commands that the page shows. git compares normal forms where it does not call a diff
/// driver.
#[test]
fn git_compares_normal_forms() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/differences.md");
    let page = fs::read_to_string(page).unwrap();
    let lines: Vec<&str> = page
        .lines()
        .filter(|line| line.contains("diff=ptx") || line.starts_with("git config"))
        .collect();
    assert_eq!(lines.len(), 3, "{lines:?}");
    let folder = Folder::new("fmt-git");
    folder.write("a.ptx", ONE);
    let program = Path::new(env!("CARGO_BIN_EXE_vptx")).parent().unwrap().display().to_string();
    let sh = |script: &str| {
        let path = format!("{program}:{}", std::env::var("PATH").unwrap());
        let output = Command::new("sh")
            .args(["-ec", script])
            .current_dir(&folder.0)
            .env("PATH", path)
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .output()
            .unwrap();
        assert!(output.status.success(), "{script}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    sh(&format!("git init -q; {}; git add a.ptx .gitattributes", lines.join("; ")));
    let renamed =
        ONE.replace("a, unused", "%new<3>").replace(" a,", "\t%new2,").replace(" a.", " %new2.");
    folder.write("a.ptx", renamed.replace(" a;", " %new02 ;"));
    assert_eq!(sh("git diff --no-ext-diff"), "");
    assert!(sh("git diff").ends_with("~ no difference but names and layout\n"));
    folder.write("a.ptx", ONE.replace("0x10", "17"));
    let diff = sh("git diff --no-ext-diff");
    assert!(diff.contains("-    add.u32 %r1, %r1, 16;\n+    add.u32 %r1, %r1, 17;\n"), "{diff}");
}
