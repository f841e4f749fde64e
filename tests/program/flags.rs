//! Flags that choose files, threads and the exit status, and flags that show the settings.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Child;

use super::fixtures::{BAD, DIFFERS, GOOD, LOOSE, NOWHERE, PLAIN, codes, kinds, schema};
use crate::support::program::{Folder, ROOT, Run, start, vptx, vptx_in};

/// `LOOSE` after its fix.
const TIGHT: &str = "vadd.s32.s32.s32 d, a, b;\n";
/// PTX that `fmt` changes.
const UGLY: &str = "{ret;}\n";

fn check(folder: &Folder, arguments: &[&str]) -> Run {
    vptx_in(&folder.0, &[&["check", "--format", "concise"], arguments].concat(), b"")
}

/// The files that `check` would read.
fn files(folder: &Path, arguments: &[&str]) -> Vec<String> {
    let run = vptx_in(folder, &[&["check", "--show-files"], arguments].concat(), b"");
    assert_eq!((run.status, run.stderr.as_str()), (0, ""), "{arguments:?}");
    run.stdout.lines().map(String::from).collect()
}

// Flags that choose files.

fn tree(name: &str) -> Folder {
    let folder = Folder::new(name);
    for name in ["a.ptx", "gen/b.ptx", "src/b.gen.ptx", "src/gen/c.ptx", "src/k.cu"] {
        folder.write(name, BAD);
    }
    folder.write(".gitignore", "ignored/\n");
    folder.write("ignored/d.ptx", BAD);
    folder.write(".hidden/e.ptx", BAD);
    folder
}

#[test]
fn patterns_exclude() {
    let folder = tree("flags-exclude");
    let all = ["a.ptx", "gen/b.ptx", "src/b.gen.ptx", "src/gen/c.ptx", "src/k.cu"];
    for (arguments, left) in [
        (&[][..], &all[..]),
        (&["--exclude", "gen/"], &["a.ptx", "src/b.gen.ptx", "src/k.cu"]),
        (&["--exclude", "/gen/"], &["a.ptx", "src/b.gen.ptx", "src/gen/c.ptx", "src/k.cu"]),
        (&["--exclude", "./gen"], &["a.ptx", "src/b.gen.ptx", "src/gen/c.ptx", "src/k.cu"]),
        (
            &["--exclude", "*.gen.ptx", "--exclude", "*.cu"],
            &["a.ptx", "gen/b.ptx", "src/gen/c.ptx"],
        ),
        (&["--exclude", "*.ptx", "--exclude", "!a.ptx"], &["a.ptx", "src/k.cu"]),
        (&["--exclude", "nothing/"], &all),
        // A pattern also excludes files in a folder that the user names, but not a file that the
        // user names.
        (&["--exclude", "src/*.ptx", "src"], &["src/gen/c.ptx", "src/k.cu"]),
        (&["--exclude", "*.ptx", "src", "a.ptx"], &["src/k.cu", "a.ptx"]),
    ] {
        assert_eq!(files(&folder.0, arguments), left, "{arguments:?}");
        let run = check(&folder, arguments);
        let mut read: Vec<&str> =
            run.stdout.lines().map(|it| it.split(':').next().unwrap()).collect();
        read.sort_unstable();
        let mut left: Vec<&str> = left.iter().copied().filter(|it| *it != "src/k.cu").collect();
        left.sort_unstable();
        assert_eq!(read, left, "{arguments:?}");
    }
    // A pattern is relative to the current folder, not to the folder of the file.
    let deep = folder.0.join("src");
    assert_eq!(files(&deep, &["--exclude", "/gen/"]), ["b.gen.ptx", "k.cu"]);
    assert_eq!(
        files(&deep, &["--exclude", "gen/", ".."]),
        ["../a.ptx", "../gen/b.ptx", "../src/b.gen.ptx", "../src/k.cu"]
    );
    let whole = format!("{}/gen", fs::canonicalize(&folder.0).unwrap().display());
    assert_eq!(files(&folder.0, &["--exclude", &whole]), files(&folder.0, &["--exclude", "/gen/"]));
    // `--exclude` adds to the patterns of the settings.
    folder.write("vptx.toml", "[check]\nexclude = [\"gen/\"]\n");
    assert_eq!(files(&folder.0, &["--exclude", "*.cu"]), ["a.ptx", "src/b.gen.ptx"]);
    for (pattern, said) in
        [("{a", "--exclude: error parsing glob '{a'"), ("../a", "excludes nothing")]
    {
        for command in ["check", "fmt"] {
            let run = vptx_in(&folder.0, &[command, "--exclude", pattern], b"");
            assert_eq!((run.status, run.stdout.as_str()), (2, ""));
            assert!(run.stderr.contains(said), "{}", run.stderr);
        }
    }
}

#[test]
fn ignore_files_can_be_passed_over() {
    let folder = tree("flags-no-ignore");
    folder.write(".ignore", "src/\n");
    assert_eq!(files(&folder.0, &[]), ["a.ptx", "gen/b.ptx"]);
    let all = ["a.ptx", "gen/b.ptx", "ignored/d.ptx", "src/b.gen.ptx", "src/gen/c.ptx", "src/k.cu"];
    assert_eq!(files(&folder.0, &["--no-ignore"]), all);
    assert_eq!(files(&folder.0.join("ignored"), &["--no-ignore"]), ["d.ptx"]);
    assert_eq!(files(&folder.0, &["--no-ignore", "--exclude", "src"]), all[..3]);
}

#[test]
fn the_formatter_chooses_files_alike() {
    let folder = Folder::new("flags-fmt-files");
    let names = ["a.ptx", "gen/b.ptx", "ignored/c.ptx", "third/d.ptx"];
    folder.write("vptx.toml", "[check]\nexclude = [\"third/\"]\n");
    folder.write(".gitignore", "ignored/\n");
    let changed = |arguments: &[&str]| {
        for name in names {
            folder.write(name, UGLY);
        }
        let run = vptx_in(&folder.0, &[&["fmt", "-q"], arguments].concat(), b"");
        assert_eq!((run.status, run.stdout.as_str(), run.stderr.as_str()), (0, "", ""));
        names.into_iter().filter(|name| folder.read(name) != UGLY).collect::<Vec<_>>()
    };
    assert_eq!(changed(&[]), ["a.ptx", "gen/b.ptx"]);
    assert_eq!(changed(&["--exclude", "gen/"]), ["a.ptx"]);
    assert_eq!(changed(&["--no-ignore"]), ["a.ptx", "gen/b.ptx", "ignored/c.ptx"]);
    // Named files are formatted even if the settings exclude them.
    assert_eq!(changed(&["third"]), ["third/d.ptx"]);
    assert_eq!(changed(&["third/d.ptx"]), ["third/d.ptx"]);
    // `--in-place` changes nothing: files are written in place anyway.
    assert_eq!(changed(&["-i", "a.ptx"]), ["a.ptx"]);
    assert_eq!(changed(&["--in-place", "gen"]), ["gen/b.ptx"]);
}

#[test]
fn files_are_listed() {
    let folder = tree("flags-show-files");
    let run = vptx_in(&folder.0, &["check", "--show-files", "gen", "none.ptx", "-"], b"");
    assert_eq!((run.status, run.stdout.as_str()), (2, "gen/b.ptx\n-\n"));
    assert_eq!(run.stderr, "vptx: cannot read `none.ptx`: no such file or directory\n");
    let run = vptx_in(&folder.0, &["check", "--show-files", "--fix"], b"");
    assert_eq!(run.status, 2, "it checks nothing");
}

#[test]
fn any_number_of_threads_reports_the_same() {
    let folder = Folder::new("flags-jobs");
    for at in 0..40 {
        folder.write(&format!("{at:02}.ptx"), [BAD, LOOSE, GOOD][at % 3]);
    }
    let one = check(&folder, &["-j", "1"]);
    assert_eq!(one.stdout.lines().count(), 27);
    for arguments in [&["-j3"][..], &["--jobs", "9"], &[]] {
        assert_eq!(check(&folder, arguments).transcript(), one.transcript());
    }
    for wrong in ["0", "-1", "two", "100000"] {
        for command in ["check", "fmt"] {
            let run = vptx_in(&folder.0, &[command, "--jobs", wrong], b"");
            assert_eq!((run.status, run.stdout.as_str()), (2, ""), "{wrong}");
        }
    }
}

/// The process has one thread for each job, and the main thread.
#[cfg(target_os = "linux")]
#[test]
fn as_many_threads_start_as_jobs() {
    let folder = Folder::new("flags-threads");
    folder.write("a.ptx", GOOD);
    folder.write("b.ptx", GOOD);
    for jobs in [1, 3, 5] {
        let watcher = Watcher::start(&folder, &["--jobs", &jobs.to_string()]);
        let tasks = fs::read_dir(format!("/proc/{}/task", watcher.child.id())).unwrap();
        assert_eq!(tasks.count(), jobs + 1);
    }
}

#[test]
fn the_formatters_input_has_a_name() {
    let folder = Folder::new("flags-fmt-stdin");
    folder.write("own/vptx.toml", "[format]\nindent-width = 8\n");
    let name = ["fmt", "--stdin-filename", "own/a.ptx"];
    for arguments in [&name[..], &[&name[..], &["-"]].concat()] {
        let run = vptx_in(&folder.0, arguments, UGLY.as_bytes());
        assert_eq!((run.status, run.stdout.as_str()), (0, "{\n        ret;\n}\n"));
    }
    let run = vptx_in(&folder.0, &["fmt", "-"], UGLY.as_bytes());
    assert_eq!(run.stdout, "{\n    ret;\n}\n");
    let run = vptx_in(&folder.0, &name, b"{");
    assert_eq!((run.status, run.stdout.as_str()), (1, ""));
    assert!(run.stderr.contains("[own/a.ptx:1:1]"), "{}", run.stderr);
    let run = vptx_in(&folder.0, &[&name[..], &["--diff"]].concat(), UGLY.as_bytes());
    assert!(run.stdout.starts_with("--- own/a.ptx\n+++ own/a.ptx\n"), "{}", run.stdout);
    let run = vptx_in(&folder.0, &[&name[..], &["--check"]].concat(), UGLY.as_bytes());
    assert_eq!((run.status, run.stdout.as_str()), (1, "would format own/a.ptx\n"));
    // Standard input is handled like a file of that name.
    let run = vptx_in(&folder.0, &["fmt", "--stdin-filename", "k.cu"], b"int x;");
    assert_eq!((run.status, run.stdout.as_str()), (2, ""));
    assert!(run.stderr.contains("`k.cu` is source code"), "{}", run.stderr);
    // `--stdin-filename` does not rename files that the user names.
    folder.write("b.ptx", UGLY);
    let run = vptx_in(&folder.0, &[&name[..], &["--check", "b.ptx"]].concat(), b"");
    assert_eq!(run.stdout, "would format b.ptx\n");
}

// The exit status.

#[test]
fn findings_need_not_fail() {
    let folder = kinds("flags-exit-zero");
    for (arguments, status) in [
        (&[][..], 1),
        (&["--exit-zero"], 0),
        (&["--exit-zero", "--deny", "warnings"], 0),
        (&["--exit-zero", "--diff"], 0),
        (&["--diff"], 1),
        (&["--exit-zero", "none.ptx", "bad.ptx"], 2),
        (&["--exit-zero", "--target", "x"], 2),
    ] {
        assert_eq!(check(&folder, arguments).status, status, "{arguments:?}");
    }
    let with = check(&folder, &["--exit-zero"]);
    assert_eq!(with.stdout, check(&folder, &[]).stdout, "findings are reported");
}

#[test]
fn rules_are_denied() {
    let folder = kinds("flags-deny");
    for (arguments, status) in [
        (&["loose.ptx", "differs.ptx"][..], 0),
        (&["loose.ptx", "differs.ptx", "--deny", "V501"], 1),
        (&["loose.ptx", "differs.ptx", "--deny", "result-differs"], 1),
        (&["loose.ptx", "differs.ptx", "--deny", "V4"], 1),
        (&["loose.ptx", "differs.ptx", "--deny", "V502,V404"], 0),
        (&["loose.ptx", "differs.ptx", "--deny", "V502,v403"], 1),
        (&["loose.ptx", "differs.ptx", "--deny", "V502", "--deny", "ALL"], 1),
        (&["loose.ptx", "--deny", "V4", "--fix", "--diff"], 1),
        // Only reported findings are denied. A note is denied only by a selector, not by
        // `warnings`.
        (&["loose.ptx", "--deny", "V4", "--ignore", "V403"], 0),
        (&["plain.ptx", "--deny", "V4"], 0),
        (&["plain.ptx", "--deny", "V4", "--extend-select", "V408"], 1),
        (&["plain.ptx", "--deny", "warnings", "--extend-select", "V408"], 0),
        (&["bad.ptx", "--deny", "V501"], 1),
    ] {
        assert_eq!(check(&folder, arguments).status, status, "{arguments:?}");
    }
    // Findings in the baseline are not reported, so they are not denied.
    let baseline = ["loose.ptx", "--baseline", "known.json", "--deny", "V4"];
    assert_eq!(check(&folder, &[&baseline[..], &["--update-baseline"]].concat()).status, 0);
    assert_eq!(check(&folder, &baseline).status, 0);
    // A finding that is fixed is not denied.
    assert_eq!(check(&folder, &["loose.ptx", "--deny", "V4", "--fix"]).status, 0);
    let run = check(&folder, &["--deny", "V45"]);
    assert_eq!(run.status, 2);
    assert!(run.stderr.contains("`V45` selects no rule"), "{}", run.stderr);
}

#[test]
fn settings_deny() {
    let folder = kinds("flags-deny-settings");
    let status = |settings: &str, arguments: &[&str]| {
        folder.write("vptx.toml", settings);
        let run = check(&folder, arguments);
        assert_eq!(run.stderr, "");
        run.status
    };
    let all = "[check]\ndeny = [\"warnings\"]\n";
    assert_eq!(status("[check]\ndeny = [\"V4\"]\n", &["loose.ptx"]), 1);
    assert_eq!(status("[check]\ndeny = [\"V4\"]\n", &["differs.ptx"]), 0);
    assert_eq!(status(all, &["differs.ptx"]), 1);
    // A setting for some paths replaces the general setting, it does not add to it.
    let but_loose = format!("{all}[[check.per-path]]\npaths = [\"l*.ptx\"]\ndeny = []\n");
    assert_eq!(status(&but_loose, &["loose.ptx"]), 0);
    assert_eq!(status(&but_loose, &["differs.ptx", "loose.ptx"]), 1);
    assert_eq!(status(&but_loose, &["loose.ptx", "--deny", "V403"]), 1);
    assert_eq!(status(all, &["differs.ptx", "--deny", "V403"]), 0);
    let later = format!("{but_loose}[[check.per-path]]\npaths = [\"*.ptx\"]\ndeny = [\"V403\"]\n");
    assert_eq!(status(&later, &["loose.ptx"]), 1);
    assert_eq!(status(&later, &["differs.ptx"]), 0);
    let apart = format!("{but_loose}ignore = [\"V5\"]\n[[check.per-path]]\npaths = [\"*\"]\n");
    assert_eq!(status(&apart, &["loose.ptx"]), 0, "a table that says nothing changes nothing");
    folder.write("vptx.toml", "[check]\ndeny = [\"warning\"]\n");
    let run = check(&folder, &["loose.ptx"]);
    assert_eq!((run.status, run.stdout.as_str()), (2, ""));
    assert!(run.stderr.contains("`warning` selects no rule"), "{}", run.stderr);
    assert!(run.stderr.contains("`warnings` stands for all warnings"), "{}", run.stderr);
}

#[test]
fn only_fixes_are_made() {
    let folder = kinds("flags-fix-only");
    let before = folder.read("bad.ptx");
    let run = vptx_in(&folder.0, &["check", "--fix-only"], b"");
    assert_eq!((run.status, run.stderr.as_str()), (0, ""));
    assert_eq!(run.stdout, "1 finding fixed in 4 video instructions of 4 files\n");
    assert_eq!((folder.read("loose.ptx").as_str(), folder.read("bad.ptx")), (TIGHT, before));
    let run = vptx_in(&folder.0, &["check", "--fix-only"], b"");
    assert_eq!(run.stdout, "nothing fixed in 4 video instructions of 4 files\n");
    let run = vptx_in(&folder.0, &["check", "-q", "--fix-only", "--deny", "warnings"], b"");
    assert_eq!((run.status, run.stdout.as_str(), run.stderr.as_str()), (0, "", ""));
    assert_eq!(check(&folder, &["--fix-only"]).status, 2, "a format is a report");
    // `--fix-only` also works on standard input and with `--diff`.
    let both = format!("{LOOSE}{BAD}");
    let run = vptx_in(&folder.0, &["check", "--fix-only", "-q", "-"], both.as_bytes());
    assert_eq!((run.status, run.stdout), (0, format!("{TIGHT}{BAD}")));
    assert_eq!(run.stderr, "");
    folder.write("loose.ptx", LOOSE);
    let run = vptx_in(&folder.0, &["check", "--fix-only", "--diff"], b"");
    assert_eq!(run.status, 1);
    assert!(run.stdout.contains(&format!("+{TIGHT}")), "{}", run.stdout);
    assert_eq!(folder.read("loose.ptx"), LOOSE);
    // A missing file stays an error, and unsafe fixes must be requested.
    assert_eq!(vptx_in(&folder.0, &["check", "--fix-only", "none.ptx"], b"").status, 2);
    folder.write("wide.ptx", "vadd.u32.u32.u64 d, a, b;\n");
    vptx_in(&folder.0, &["check", "--fix-only", "wide.ptx"], b"");
    assert!(folder.read("wide.ptx").contains("u64"));
    vptx_in(&folder.0, &["check", "--fix-only", "--unsafe-fixes", "wide.ptx"], b"");
    assert!(!folder.read("wide.ptx").contains("u64"));
}

// The effective settings.

/// What `--show-settings` prints has the languages of file endings, too.
#[test]
fn endings_are_shown() {
    let folder = Folder::new("flags-show-endings");
    folder.write("vptx.toml", "[extension]\n\"k.in\" = \"cuda\"\n");
    let shown = vptx_in(&folder.0, &["check", "--show-settings"], b"").stdout;
    assert!(shown.contains("\n[extension]\n\"k.in\" = \"cuda\"\n\n[format]\n"), "{shown}");
    folder.write("vptx.toml", &shown);
    assert_eq!(vptx_in(&folder.0, &["check", "--show-settings"], b"").stdout, shown);
    // Choices of the command line stand in `[check]`, unless choices for paths would hide them.
    let ignores = ["check", "--show-settings", "--ignore", "V4"];
    assert!(!vptx_in(&folder.0, &ignores, b"").stdout.contains("per-path"));
}

/// Patterns of any kind start from the folder of the settings file, which is named then.
#[test]
fn the_folder_of_patterns_is_shown() {
    let folder = Folder::new("flags-show-patterns");
    for (settings, has_patterns) in [
        ("[check]\nexclude = [\"old/\"]\n", true),
        ("[[check.per-path]]\npaths = [\"old/**\"]\nignore = [\"V4\"]\n", true),
        ("[check]\ntarget = \"sm_90\"\n", false),
    ] {
        folder.write("vptx.toml", settings);
        let shown = vptx_in(&folder.0, &["check", "--show-settings"], b"").stdout;
        assert_eq!(shown.contains("# patterns start from "), has_patterns, "{settings}{shown}");
    }
}

#[test]
fn settings_are_shown() {
    let folder = Folder::new("flags-show-settings");
    folder.write(
        "vptx.toml",
        "[format]\nindent-width = 2\nline-ending = \"keep\"\n\
         [check]\nselect = [\"V5\", \"V4\"]\nignore = [\"V502\"]\ndeny = [\"warnings\", \"V403\"]\n\
         exclude = [\"third party/\"]\nbaseline = \"base.json\"\ntarget = \"sm_90a\"\n\
         [[check.per-path]]\npaths = [\"old/**\", \"!old/\\\"x\\\"\"]\nignore = [\"V4\"]\n\
         dialect = \"ptxas\"\nptx-version = \"7.5\"\nextend-select = [\"result-differs\"]\ndeny = []\n",
    );
    let real = folder.0.canonicalize().unwrap();
    // Long lists of codes are shortened: their contents do not matter here.
    let masked = |line: &str| {
        let (key, _) = line.split_once(" = ").unwrap_or_default();
        let is_long = matches!(key, "select" | "ignore") && line.matches(", ").count() > 2;
        let line = if is_long { format!("{key} = [..]") } else { line.to_string() };
        line.replace(real.to_str().unwrap(), "FOLDER") + "\n"
    };
    let shown = |arguments: &[&str]| -> String {
        let run = vptx_in(&folder.0, &[&["check", "--show-settings"], arguments].concat(), b"");
        run.transcript().lines().map(masked).collect()
    };
    insta::assert_snapshot!(shown(&["--isolated"]), @r#"
    status: 0
    -- stdout --
    # .
    [format]
    indent-width = 4
    line-width = 100
    line-ending = "lf"
    default-selectors = "omit"

    [check]
    dialect = "documented"
    select = ["ALL"]
    ignore = [..]
    exclude = []
    -- stderr --
    "#);
    insta::assert_snapshot!(shown(&["--exclude", "x", "--ignore", "V501"]), @r#"
    status: 0
    -- stdout --
    # .
    # patterns start from FOLDER
    [format]
    indent-width = 2
    line-width = 100
    line-ending = "keep"
    default-selectors = "omit"

    [check]
    dialect = "documented"
    target = "sm_90a"
    select = [..]
    deny = ["warnings", "V403"]
    exclude = ["third party/", "x"]
    baseline = "FOLDER/base.json"

    [[check.per-path]]
    paths = ["old/**", "!old/\"x\""]
    dialect = "ptxas"
    ptx-version = "7.5"
    extend-select = ["V501"]
    ignore = ["V4"]
    deny = []

    [[check.per-path]]
    paths = ["**"]
    ignore = ["V501"]
    -- stderr --
    "#);
    for name in ["a.ptx", "b.ptx", "old/a.ptx"] {
        folder.write(name, DIFFERS);
    }
    insta::assert_snapshot!(shown(&["."]), @r#"
    status: 0
    -- stdout --
    # a.ptx
    # b.ptx
    # patterns start from FOLDER
    [format]
    indent-width = 2
    line-width = 100
    line-ending = "keep"
    default-selectors = "omit"

    [check]
    dialect = "documented"
    target = "sm_90a"
    select = [..]
    deny = ["warnings", "V403"]
    exclude = ["third party/"]
    baseline = "FOLDER/base.json"

    # old/a.ptx
    # patterns start from FOLDER
    [format]
    indent-width = 2
    line-width = 100
    line-ending = "keep"
    default-selectors = "omit"

    [check]
    dialect = "ptxas"
    target = "sm_90a"
    ptx-version = "7.5"
    select = [..]
    deny = []
    exclude = ["third party/"]
    baseline = "FOLDER/base.json"
    -- stderr --
    "#);
    insta::assert_snapshot!(shown(&["--stdin-filename", "old/k.cu", "--isolated"]), @r#"
    status: 0
    -- stdout --
    # old/k.cu
    [format]
    indent-width = 4
    line-width = 100
    line-ending = "lf"
    default-selectors = "omit"

    [check]
    dialect = "documented"
    select = ["ALL"]
    ignore = [..]
    exclude = []
    -- stderr --
    "#);
    folder.write("bad/vptx.toml", "[chek]\n");
    folder.write("bad/a.ptx", GOOD);
    let run = vptx_in(&folder.0, &["check", "--show-settings", "bad", "a.ptx"], b"");
    assert_eq!(run.status, 2);
    assert!(run.stdout.starts_with("# a.ptx\n") && run.stderr.contains("chek"), "{}", run.stderr);
}

#[test]
fn settings_that_are_shown_mean_the_same() {
    let folder = Folder::new("flags-settings-again");
    for name in ["a.ptx", "old/a.ptx", "old/deep/b.ptx", "gen/c.ptx", "deep/gen/d.ptx"] {
        folder.write(name, format!("{BAD}{DIFFERS}{LOOSE}{PLAIN}"));
    }
    folder.write("ugly.ptx", UGLY);
    let settings = "[format]\nindent-width = 3\n\
                    [check]\nignore = [\"V1\"]\nextend-select = [\"V104\", \"V408\"]\n\
                    exclude = [\"gen/\"]\ndeny = [\"V5\"]\n\
                    [[check.per-path]]\npaths = [\"old/**\", \"!b.ptx\"]\nselect = [\"V4\"]\n\
                    [[check.per-path]]\npaths = [\"*.ptx\"]\nextend-select = [\"V501\"]\n";
    for arguments in [
        &[][..],
        &["--select", "V403"],
        &["--ignore", "V4", "--target", "sm_20"],
        &["--extend-select", "V1", "--deny", "V408", "--exclude", "/deep/"],
        &["--isolated", "--dialect", "ptxas", "--ptx-version", "8.0"],
    ] {
        for at in [".", "deep"] {
            folder.write("vptx.toml", settings);
            let place = folder.0.join(at);
            let shown =
                vptx_in(&place, &[&["check", "--show-settings"], arguments].concat(), b"").stdout;
            let run = |arguments: &[&str]| {
                let all = [&["check", "--format", "concise"], arguments].concat();
                vptx_in(&place, &all, b"").transcript()
            };
            let before = run(arguments);
            folder.write(
                if arguments.contains(&"--isolated") && at == "deep" {
                    "deep/vptx.toml"
                } else {
                    "vptx.toml"
                },
                &shown,
            );
            assert_eq!(run(&[]), before, "{arguments:?} in {at}: {shown}");
            let _ = fs::remove_file(folder.0.join("deep/vptx.toml"));
        }
    }
    // The settings shown also say whether a rule applies to every module.
    folder.write("n.ptx", NOWHERE);
    for (arguments, count) in [
        (&["--isolated"][..], 0),
        (&["--isolated", "--extend-select", "ALL"], 0),
        (&["--isolated", "--extend-select", "V907"], 1),
        (&["--isolated", "--extend-select", "ALL,V907"], 1),
    ] {
        let shown = check(&folder, &[&["--show-settings"], arguments].concat()).stdout;
        folder.write("shown.toml", &shown);
        for all in [&[arguments, &["n.ptx"]].concat()[..], &["--config", "shown.toml", "n.ptx"]] {
            let found = check(&folder, all).stdout;
            assert_eq!(found.matches("[V902]").count(), count, "{all:?}: {shown}{found}");
        }
    }
    // With a file name, `--show-settings` shows the settings for that file.
    folder.write("vptx.toml", settings);
    for name in ["a.ptx", "old/a.ptx", "old/deep/b.ptx"] {
        let shown = check(&folder, &["--show-settings", name]).stdout;
        folder.write("shown.toml", &shown);
        let again = check(&folder, &["--config", "shown.toml", name]);
        assert_eq!(again.transcript(), check(&folder, &[name]).transcript(), "{shown}");
    }
    let format = |config: &str| {
        vptx_in(&folder.0, &["fmt", "--config", config, "-"], UGLY.as_bytes()).stdout
    };
    assert_eq!(format("shown.toml"), format("vptx.toml"));
    assert_eq!(format("shown.toml"), "{\n   ret;\n}\n");
}

// Watching.

/// A run with `--watch`. It is killed at the end.
struct Watcher {
    child: Child,
    /// Standard error of the run.
    said: BufReader<std::process::ChildStderr>,
}

impl Watcher {
    /// Starts a run and waits for its first check.
    fn start(folder: &Folder, arguments: &[&str]) -> Watcher {
        let arguments = [&["check", "--watch", "--format", "concise"], arguments].concat();
        let mut child = start(&folder.0, &arguments);
        let said = BufReader::new(child.stderr.take().unwrap());
        let mut watcher = Watcher { child, said };
        watcher.summary();
        watcher
    }

    /// The next lines of standard error, up to the line that says what is watched, without times.
    fn summary(&mut self) -> String {
        let mut text = String::new();
        loop {
            let from = text.len();
            assert_ne!(self.said.read_line(&mut text).unwrap(), 0, "it ended: {text}");
            if let Some((before, after)) = text[from..].split_once("checked in ") {
                let (time, after) = after.split_once(" ms; ").expect(after);
                time.parse::<u64>().expect(time);
                let line = format!("{before}checked; {after}");
                text.truncate(from);
                return text + &line;
            }
        }
    }

    /// Ends the run and returns its report.
    fn end(mut self) -> String {
        self.child.kill().unwrap();
        std::io::read_to_string(self.child.stdout.take().unwrap()).unwrap()
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn changes_are_checked_again() {
    let folder = Folder::new("flags-watch");
    folder.write("a.ptx", GOOD);
    let mut watcher = Watcher::start(&folder, &[]);
    folder.write("a.ptx", BAD);
    assert_eq!(watcher.summary(), "vptx: checked; watching 1 file, Ctrl-C ends\n");
    // A file appears. Then settings appear, become wrong, and disappear.
    folder.write("sub/b.ptx", LOOSE);
    assert_eq!(watcher.summary(), "vptx: checked; watching 2 files, Ctrl-C ends\n");
    folder.write("vptx.toml", "[check]\nignore = [\"V1\"]\n");
    assert_eq!(watcher.summary(), "vptx: checked; watching 3 files, Ctrl-C ends\n");
    folder.write("vptx.toml", "[chek]\n");
    let text = watcher.summary();
    assert!(text.contains("unknown field `chek`"), "{text}");
    fs::remove_file(folder.0.join("vptx.toml")).unwrap();
    watcher.summary();
    fs::remove_file(folder.0.join("a.ptx")).unwrap();
    assert_eq!(watcher.summary(), "vptx: checked; watching 1 file, Ctrl-C ends\n");
    let reported = watcher.end();
    assert_eq!(codes(&reported), ["V104", "V104", "V403", "V403", "V104", "V403", "V403"]);
}

#[test]
fn fixes_are_made_while_watching() {
    let folder = Folder::new("flags-watch-fix");
    folder.write("a.ptx", GOOD);
    folder.write("known.json", "{\"version\":1,\"findings\":[]}");
    let mut watcher = Watcher::start(&folder, &["--fix", "--baseline", "known.json"]);
    folder.write("a.ptx", LOOSE);
    assert_eq!(watcher.summary(), "vptx: checked; watching 2 files, Ctrl-C ends\n");
    assert_eq!(folder.read("a.ptx"), TIGHT);
    assert_eq!(watcher.end(), "");
    for (arguments, said) in [
        (&["--watch", "-"][..], "--watch needs files"),
        (&["--watch", "--stdin-filename", "a.ptx"], "--watch needs files"),
        (&["--watch", "--update-baseline"], "cannot be used with"),
        (&["--watch", "--show-files"], "cannot be used with"),
    ] {
        let run = check(&folder, arguments);
        assert_eq!(run.status, 2);
        assert!(run.stderr.contains(said), "{}", run.stderr);
    }
}

// The memory for patterns of paths.

#[cfg(target_os = "linux")]
#[test]
fn memory_of_patterns_is_bounded() {
    let folder = Folder::new("flags-patterns");
    folder.write("a.ptx", GOOD);
    let settings = |count: usize| {
        let table = |at: usize| {
            let paths: Vec<String> =
                (at..at + 16).map(|at| format!("\"legacy*{at}/**\"")).collect();
            let paths = paths.join(", ");
            format!("[[check.per-path]]\npaths = [{paths}]\nignore = [\"V4\"]\n")
        };
        folder.write("vptx.toml", (0..count).step_by(16).map(table).collect::<String>());
    };
    let peak = |count: usize| -> usize {
        settings(count);
        let watcher = Watcher::start(&folder, &["a.ptx"]);
        let status = fs::read_to_string(format!("/proc/{}/status", watcher.child.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        line.trim().strip_suffix(" kB").unwrap().parse().unwrap()
    };
    let [none, one, two, four] = [0, 1024, 2048, 4096].map(peak);
    for (count, kib) in [(1024, one), (2048, two), (4096, four)] {
        // A pattern takes 8 KiB, which the allocator rounds up.
        assert!(kib - none < 12 * count, "{count}: {none} to {kib} KiB");
    }
    // Settings with too many patterns are refused before the patterns take memory.
    settings(100_000);
    let run = check(&folder, &["a.ptx"]);
    assert_eq!((run.status, run.stdout.as_str()), (2, ""));
    let said = "100000 patterns of paths: at most 4096 are allowed; name folders, not files\n";
    assert!(run.stderr.ends_with(said), "{}", run.stderr);
    // Each table takes more while many paths are matched.
    folder.write("vptx.toml", "[[check.per-path]]\npaths = [\"a\"]\n".repeat(257));
    let run = check(&folder, &["a.ptx"]);
    assert_eq!((run.status, run.stdout.as_str()), (2, ""));
    let said = "check.per-path: 257 tables: at most 256 are allowed\n";
    assert!(run.stderr.ends_with(said), "{}", run.stderr);
}

// The command line.

#[test]
fn quiet_stands_before_and_after_the_command() {
    let folder = kinds("flags-quiet");
    for arguments in [
        &["check", "loose.ptx", "--statistics"][..],
        &["fmt", "--check"],
        &["rewrite", "--target", "sm_90", "loose.ptx"],
    ] {
        let loud = vptx_in(&folder.0, arguments, b"");
        let after = vptx_in(&folder.0, &[arguments, &["-q"]].concat(), b"");
        assert_ne!(after.transcript(), loud.transcript(), "{arguments:?}");
        for quiet in ["-q", "--quiet"] {
            let before = vptx_in(&folder.0, &[&[quiet], arguments].concat(), b"");
            assert_eq!(before.transcript(), after.transcript(), "{arguments:?}");
        }
    }
    assert_eq!(vptx(&["-q", "eval", "vadd.u32.u32.u32 d, a, b;", "a=1", "b=2"], "").status, 0);
}

#[test]
fn a_format_has_two_names() {
    for (command, name) in [("--format", "json"), ("--output-format", "json")] {
        let run = vptx(&["check", command, name, "-"], BAD);
        assert_eq!(run.stdout.chars().next(), Some('{'), "{}", run.stderr);
    }
    assert!(vptx(&["check", "--help"], "").stdout.contains("[alias: --output-format]"));
    assert!(vptx(&["man", "check"], "").stdout.contains("[aliases: \\-\\-output\\-format]"));
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = vptx(&["completions", shell], "").stdout;
        for name in ["output-format", "exclude", "no-ignore", "exit-zero", "watch"] {
            assert!(script.contains(name), "{name} in {shell}");
        }
    }
}

#[test]
fn options_that_do_not_exist_are_no_files() {
    for arguments in [
        &["check", "--output-formt", "json"][..],
        &["check", "--frob"],
        &["check", "-x"],
        &["fmt", "--frob"],
        &["lower", "--emit", "ir", "--frob"],
        &["eval", "--frob"],
    ] {
        let run = vptx(arguments, "");
        assert_eq!((run.status, run.stdout.as_str()), (2, ""));
        assert!(run.stderr.starts_with("error: unexpected argument '-"), "{}", run.stderr);
        assert!(!run.stderr.contains("-- -"), "{}", run.stderr);
    }
    let said = vptx(&["check", "--output-formt", "json"], "").stderr;
    assert!(said.contains("tip: a similar argument exists: '--output-format'"), "{said}");
}

// The schema of the settings.

mod schema {
    use super::*;

    use jsonschema::Validator;
    use serde_json::{Value, json};

    fn validator() -> Validator {
        let document = schema("vptx.schema.json");
        jsonschema::meta::validate(&document).expect("a schema");
        jsonschema::validator_for(&document).unwrap()
    }

    fn json_of(settings: &str) -> Value {
        let table: toml::Table = toml::from_str(settings).unwrap();
        serde_json::to_value(table).unwrap()
    }

    /// The message of the program if it refuses settings.
    fn said(folder: &Folder, settings: &str) -> Option<String> {
        folder.write("vptx.toml", settings);
        let run = vptx_in(&folder.0, &["check", "-"], b"");
        (run.status == 2).then_some(run.stderr)
    }

    /// The words between backquotes after `expected`.
    fn expected(said: &str) -> Vec<String> {
        let (_, list) = said.split_once("expected ").expect(said);
        let line = list.lines().next().unwrap();
        line.split('`').skip(1).step_by(2).map(String::from).collect()
    }

    fn keys(schema: &Value) -> Vec<String> {
        let mut keys: Vec<String> =
            schema["properties"].as_object().unwrap().keys().cloned().collect();
        keys.sort_unstable();
        keys
    }

    #[test]
    fn it_has_the_keys_that_the_program_has() {
        let folder = Folder::new("schema-keys");
        let schema = schema("vptx.schema.json");
        let properties = &schema["properties"];
        let check = &properties["check"];
        for (settings, schema) in [
            ("[zzz]\n", &schema),
            ("[format]\nzzz = 1\n", &properties["format"]),
            ("[check]\nzzz = 1\n", check),
            (
                "[[check.per-path]]\npaths = [\"a\"]\nzzz = 1\n",
                &check["properties"]["per-path"]["items"],
            ),
        ] {
            let mut known = expected(&said(&folder, settings).expect(settings));
            known.sort_unstable();
            assert!(known.len() > 1);
            assert_eq!(keys(schema), known, "{settings}");
            assert_eq!(schema["additionalProperties"], json!(false), "{settings}");
            assert!(!validator().is_valid(&json_of(settings)), "{settings}");
        }
    }

    #[test]
    fn it_has_the_words_that_the_program_has() {
        let folder = Folder::new("schema-words");
        let schema = schema("vptx.schema.json");
        for key in ["line-ending", "default-selectors"] {
            let words = expected(&said(&folder, &format!("[format]\n{key} = \"zzz\"\n")).unwrap());
            let known = &schema["properties"]["format"]["properties"][key]["enum"];
            assert_eq!(*known, json!(words), "{key}");
        }
        let wrong = said(&folder, "[check]\ndialect = \"zzz\"\n").unwrap();
        let (_, words) = wrong.split_once("is not a dialect: ").unwrap();
        let words: Vec<&str> = words.split('`').skip(1).step_by(2).collect();
        assert_eq!(schema["$defs"]["dialect"]["enum"], json!(words));
        // The schema accepts rules by all their names.
        let validator = validator();
        for code in vptx::Code::ALL {
            for name in [code.text(), code.name(), &code.text()[..2], &code.text()[..3]] {
                let settings = json!({ "check": { "ignore": [name], "deny": [name] } });
                assert!(validator.is_valid(&settings), "{name}");
            }
        }
    }

    #[test]
    fn both_accept_and_refuse_the_same() {
        let folder = Folder::new("schema-verdicts");
        let validator = validator();
        let per_path = "[[check.per-path]]\npaths = [\"a/\"]\n";
        let right = [
            "",
            "[format]\n",
            "[format]\nindent-width = 0\nline-width = 40\n",
            "[format]\nindent-width = 16\nline-width = 10000\n",
            "[format]\nline-ending = \"crlf\"\ndefault-selectors = \"write\"\n",
            "[check]\ndialect = \"ptxas\"\ntarget = \"sm_90a\"\nptx-version = \"8.0\"\n",
            "[check]\ntarget = \"compute_100f\"\nptx-version = \"10.12\"\n",
            "[check]\nselect = []\nextend-select = [\"V6\"]\nignore = [\"all\", \"v501\"]\n",
            "[check]\ndeny = [\"warnings\", \"V5\", \"result-differs\"]\n",
            "[check]\nexclude = [\"a/\", \"!b\"]\n",
        ];
        for settings in right {
            assert_eq!(said(&folder, settings), None, "{settings}");
            assert!(validator.is_valid(&json_of(settings)), "{settings}");
            let keys = settings.strip_prefix("[check]\n").filter(|it| !it.contains("exclude"));
            if let Some(keys) = keys {
                let settings = format!("{per_path}{keys}");
                assert_eq!(said(&folder, &settings), None, "{settings}");
                assert!(validator.is_valid(&json_of(&settings)), "{settings}");
            }
        }
        folder.write("base.json", "{\"version\":1,\"findings\":[]}");
        let baseline = "[check]\nbaseline = \"base.json\"\n";
        assert_eq!(said(&folder, baseline), None);
        assert!(validator.is_valid(&json_of(baseline)));

        let wrong = [
            "format = 1\n",
            "[format]\nindent-width = 17\n",
            "[format]\nindent-width = -1\n",
            "[format]\nindent-width = 1.5\n",
            "[format]\nline-width = 39\n",
            "[format]\nline-width = 10001\n",
            "[format]\nline-ending = \"LF\"\n",
            "[format]\ndefault-selectors = true\n",
            "[check]\ndialect = \"Ptxas\"\n",
            "[check]\ntarget = \"90\"\n",
            "[check]\ntarget = 90\n",
            "[check]\nptx-version = \"8\"\n",
            "[check]\nptx-version = 8.0\n",
            "[check]\nselect = \"V1\"\n",
            "[check]\nselect = [1]\n",
            "[check]\nignore = [\"\"]\n",
            "[check]\nignore = [\"warnings\"]\n",
            "[check]\ndeny = \"warnings\"\n",
            "[check]\ndeny = [\"notes\"]\n",
            "[check]\nexclude = \"a\"\n",
            "[check]\nbaseline = [\"a\"]\n",
            "[check]\nformat = \"json\"\n",
            "[[check.per-path]]\nignore = [\"V4\"]\n",
            "[[check.per-path]]\npaths = []\n",
            "[[check.per-path]]\npaths = [\"a\"]\nexclude = [\"b\"]\n",
            "[check]\nper-path = { paths = [\"a\"] }\n",
            "[[per-path]]\npaths = [\"a\"]\n",
        ];
        for settings in wrong {
            assert!(said(&folder, settings).is_some(), "{settings}");
            assert!(!validator.is_valid(&json_of(settings)), "{settings}");
        }
    }

    /// The example of settings in a help text.
    fn shown_in(help: &str) -> String {
        let lines = help.lines().skip_while(|line| !matches!(*line, "  [check]" | "  [format]"));
        let lines = lines.take_while(|line| line.is_empty() || line.starts_with("  "));
        lines.flat_map(|line| [line.trim_start(), "\n"]).collect()
    }

    #[test]
    fn examples_are_right() {
        let folder = Folder::new("schema-examples");
        let validator = validator();
        let page = fs::read_to_string(Path::new(ROOT).join("docs/configuration.md")).unwrap();
        let (_, page) = page.split_once("```toml\n").unwrap();
        let (page, _) = page.split_once("```").unwrap();
        let shown = |arguments: &[&str]| {
            folder.write("vptx.toml", page.replace("baseline", "# baseline"));
            let run = vptx_in(&folder.0, &[&["check", "--show-settings"], arguments].concat(), b"");
            assert_eq!(run.status, 0, "{}", run.stderr);
            run.stdout
        };
        for settings in [
            page.to_string(),
            shown_in(&vptx(&["check", "--help"], "").stdout),
            shown_in(&vptx(&["fmt", "--help"], "").stdout),
            shown(&[]),
            shown(&["--ignore", "V4", "--deny", "V5,warnings", "--target", "sm_75"]),
            shown(&["--isolated", "--baseline", "base.json"]),
            shown(&["vptx.toml"]),
        ] {
            assert!(settings.lines().count() > 4, "{settings}");
            let value = json_of(&settings);
            let wrong: Vec<String> =
                validator.iter_errors(&value).map(|error| error.to_string()).collect();
            assert_eq!(wrong, [""; 0], "{settings}");
            folder.write("vptx-baseline.json", "{\"version\":1,\"findings\":[]}");
            folder.write("base.json", "{\"version\":1,\"findings\":[]}");
            assert_eq!(said(&folder, &settings), None, "{settings}");
        }
        // The examples on the page and in the help have every key.
        for settings in [page, &shown_in(&vptx(&["check", "--help"], "").stdout)] {
            let keys_of = |value: &Value| -> Vec<String> {
                value.as_object().unwrap().keys().cloned().collect()
            };
            let mut found = keys_of(&json_of(settings)["check"]);
            found.sort_unstable();
            assert_eq!(found, keys(&schema("vptx.schema.json")["properties"]["check"]));
        }
    }
}
