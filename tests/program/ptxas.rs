//! `vptx ptxas` with a script in the place of the real ptxas.
#![cfg(unix)]

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::Write;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::fixtures::schema;
use crate::support::program::Folder;

const VPTX: &str = env!("CARGO_BIN_EXE_vptx");

const MODULE: &str = "\
.version 8.0
.target sm_90
.address_size 64
.func f(.reg .b32 d, .reg .b32 a, .reg .b32 b, .reg .b32 c)
{
    .reg .pred p;
    @p vmin2.s32.s32.s32 d, // not a line less
        a, b, c; add.s32 d, a, b;
    ret;
}
";

/// The module that ptxas gets: one machine instruction computes the minima of halves.
fn rewritten() -> String {
    let old = "@p vmin2.s32.s32.s32 d, // not a line less\n        a, b, c;";
    MODULE.replace(old, "@p min.s16x2 d, a, b;\n")
}

/// A script for ptxas. It writes its arguments and the text of its last argument to files beside
/// itself, prints its process id, and names its last argument on standard error.
const FAKE: &str = r#"
here=$(dirname "$0")
for last; do :; done
printf '%s\n' "$@" > "$here/arguments"
if [ "$last" = - ]; then cat > "$here/text"; else cat "$last" > "$here/text" || exit 255; fi
echo "$$"
echo "ptxas $last, line 3; warning : odd" >&2
"#;

/// A folder with a "real" ptxas, which is a script, and a link named `ptxas` to vptx.
struct Place(Folder);

impl Place {
    fn new(name: &str, script: &str) -> Place {
        let place = Place(Folder::new(&format!("ptxas-{name}")));
        place.0.write("a.ptx", MODULE);
        place.0.write("plain.ptx", MODULE.replace("vmin2.s32.s32.s32", "add.s32"));
        place.program("real/ptxas", script);
        fs::create_dir(place.path("links")).unwrap();
        fs::create_dir(place.path("tmp")).unwrap();
        symlink(VPTX, place.path("links/ptxas")).unwrap();
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.0.join(name)
    }

    fn program(&self, name: &str, script: &str) {
        self.0.write(name, format!("#!/bin/sh\n{script}"));
        let mode = fs::Permissions::from_mode(0o755);
        fs::set_permissions(self.path(name), mode).unwrap();
    }

    fn text(&self) -> String {
        fs::read_to_string(self.path("real/text")).expect("a text")
    }

    /// A call of `links/ptxas`, where `PATH` has these folders.
    fn command(&self, folders: &[&str], arguments: &[impl AsRef<OsStr>]) -> Command {
        let usual = ["/usr/bin", "/bin"].map(PathBuf::from);
        let path = folders.iter().map(|name| self.path(name)).chain(usual);
        let mut command = Command::new(self.path("links/ptxas"));
        command.args(arguments).current_dir(&self.0.0);
        command.env("PATH", std::env::join_paths(path).unwrap()).env("TMPDIR", self.path("tmp"));
        for name in [
            "VPTX_PTXAS",
            "VPTX_REPORT",
            "VPTX_SEMANTICS",
            "CUDA_HOME",
            "CUDA_PATH",
            "RUST_BACKTRACE",
        ] {
            command.env_remove(name);
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn run(&self, arguments: &[impl AsRef<OsStr>]) -> Output {
        self.command(&["links", "real"], arguments).output().expect("it starts")
    }

    /// The reports in a file. Each must follow the schema.
    fn reports(&self, name: &str) -> Vec<Value> {
        let schema = jsonschema::validator_for(&schema("ptxas.schema.json")).unwrap();
        let text = fs::read_to_string(self.path(name)).unwrap();
        let read = |line: &str| {
            let report: Value = serde_json::from_str(line).expect(line);
            assert!(schema.is_valid(&report), "{line}");
            report
        };
        text.lines().map(read).collect()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if !thread::panicking() {
            assert_eq!(fs::read_dir(self.path("tmp")).unwrap().count(), 0, "nothing is left");
        }
    }
}

fn err(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn video_instructions_are_rewritten_in_their_lines() {
    let place = Place::new("rewritten", FAKE);
    let run = place.run(&["-arch=sm_90", "-o", "b.ptx", "a.ptx"]);
    assert_eq!((run.status.code(), &*err(&run)), (Some(0), "ptxas a.ptx, line 3; warning : odd\n"));
    assert_eq!(place.text(), rewritten());
    let arguments = fs::read_to_string(place.path("real/arguments")).unwrap();
    assert!(arguments.starts_with("-arch=sm_90\n-o\nb.ptx\n"), "{arguments}");
    let same = Command::new(VPTX)
        .args(["ptxas", "--", "-arch", "sm_90", "a.ptx"])
        .current_dir(&place.0.0)
        .env("VPTX_PTXAS", place.path("real/ptxas"))
        .output()
        .unwrap();
    assert_eq!((same.status.code(), place.text()), (Some(0), rewritten()));
}

#[test]
fn bytes_in_hardware_are_written_where_the_module_may_have_them() {
    let place = Place::new("bytes", FAKE);
    let statement = "vmin4.u32.u32.u32 d, a, b, c;";
    for (target, version, arch, has_bytes) in [
        ("sm_120a", "9.2", "sm_120a", true),
        ("sm_120f", "9.2", "sm_121", true),
        ("sm_120a", "9.1", "sm_120a", false),
        ("sm_120", "9.2", "sm_120a", false),
    ] {
        let text = format!(
            ".version {version}\n.target {target}\n.func f(.reg .b32 d, .reg .b32 a, \
             .reg .b32 b, .reg .b32 c)\n{{\n{statement}\nret;\n}}\n"
        );
        place.0.write("bytes.ptx", &text);
        let run = place.run(&["-arch", arch, "-o", "b.cubin", "bytes.ptx"]);
        assert_eq!(run.status.code(), Some(0), "{}", err(&run));
        let new = text.replace(statement, "min.u8x4 d, a, b;");
        assert_eq!(place.text() == new, has_bytes, "{target} {version}: {}", place.text());
        assert!(!place.text().contains("vmin4"), "{}", place.text());
    }
}

#[test]
fn ptxas_takes_the_place_of_this_process() {
    let place = Place::new("exec", FAKE);
    let argument = OsString::from_vec(b"-o=\xff".to_vec());
    for arguments in [
        vec![argument.clone(), "plain.ptx".into()],
        vec!["-g".into(), "a.ptx".into()],
        vec!["-arch=compute_90".into(), "a.ptx".into()],
        vec!["a.ptx".into(), "--version".into(), "a.ptx".into()],
    ] {
        let child = place.command(&["links", "real"], &arguments).spawn().unwrap();
        let id = child.id();
        let run = child.wait_with_output().unwrap();
        assert_eq!(String::from_utf8_lossy(&run.stdout).trim(), id.to_string());
        let mut expected = arguments.join(OsStr::new("\n")).into_vec();
        expected.push(b'\n');
        assert_eq!(fs::read(place.path("real/arguments")).unwrap(), expected);
    }
    let run = place.run(&[argument, "a.ptx".into()]);
    assert_eq!((run.status.code(), place.text()), (Some(0), rewritten()));
}

/// ptxas is asked to use huge pages, unless the user has set tunables of the C library.
#[cfg(target_os = "linux")]
#[test]
fn ptxas_uses_huge_pages() {
    let place = Place::new("pages", "echo \"$GLIBC_TUNABLES\"");
    for module in ["plain.ptx", "a.ptx"] {
        for (own, expected) in [
            (None, "glibc.malloc.hugetlb=1"),
            (Some("glibc.malloc.check=3"), "glibc.malloc.check=3"),
            (Some(""), ""),
        ] {
            let mut command = place.command(&["links", "real"], &[module]);
            command.env_remove("GLIBC_TUNABLES").envs(own.map(|own| ("GLIBC_TUNABLES", own)));
            let run = command.output().unwrap();
            let text = String::from_utf8_lossy(&run.stdout);
            assert_eq!((text.trim(), run.status.code()), (expected, Some(0)), "{module} {own:?}");
        }
    }
}

#[test]
fn a_module_comes_from_anywhere() {
    let place = Place::new("inputs", FAKE);
    let stdin = |text: &str| {
        let mut command = place.command(&["links", "real"], &["-arch", "sm_90", "-"]);
        let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
        assert!(child.wait_with_output().unwrap().status.success());
        place.text()
    };
    assert_eq!(stdin(MODULE), rewritten());
    assert_eq!(stdin("// nothing\n"), "// nothing\n");

    place.0.write("more", "-v -o b\n");
    place.0.write("options", "-optf more\t\"a.ptx\"\r\n");
    assert!(place.run(&["-lineinfo", "--options-file=options"]).status.success());
    assert_eq!(place.text(), rewritten());
    let arguments = fs::read_to_string(place.path("real/arguments")).unwrap();
    assert!(arguments.starts_with("-lineinfo\n-v\n-o\nb\n"), "{arguments}");

    place.0.write("odd", "a\\ b.ptx");
    let run = place.run(&["-optf", "odd", "a.ptx"]);
    assert_eq!(place.text(), MODULE);
    assert!(err(&run).starts_with("vptx: ptxas gets all modules unchanged: "), "{}", err(&run));
    let run = place.run(&["-optf", "none", "a.ptx"]);
    assert!(err(&run).contains("the options file `none`: no such file"), "{}", err(&run));
    let run = place.run(&["-optf", "real", "a.ptx"]);
    assert!(err(&run).contains("the options file `real`: "), "{}", err(&run));
    let run = place.run(&["-optf", "/dev/null", "a.ptx"]);
    let why = "the options file `/dev/null`: it is not a regular file";
    assert!(err(&run).contains(why), "{}", err(&run));

    place.program("real/ptxas", "printf %s \"$3\" > \"$(dirname \"$0\")/text\"");
    assert!(place.run(&["-v", "-ias", MODULE]).status.success());
    assert_eq!(place.text(), rewritten());
}

#[test]
fn odd_modules_stay_and_it_is_said_once() {
    let place = Place::new("odd", FAKE);
    let wrong = MODULE.replace("ret;", "vadd.u32.u32 d, a, b;");
    place.0.write("wrong.ptx", &wrong);
    place.0.write("no-target.ptx", MODULE.replace(".target sm_90", ""));
    let latin = [MODULE.as_bytes(), b"// \xe9\n"].concat();
    place.0.write("latin.ptx", &latin);
    for (name, why) in [
        ("wrong.ptx", "`vptx check` finds errors in it"),
        ("no-target.ptx", "it has no .target"),
        ("latin.ptx", "it is not in UTF-8"),
    ] {
        let run = place.run(&[name]);
        let all = format!(
            "vptx: ptxas gets `{name}` unchanged: {why}\nptxas {name}, line 3; warning : odd\n"
        );
        assert_eq!(run.status.code(), Some(0));
        match err(&run).split_once("vptx: ") {
            // The errors come before the other messages, as `check` shows them.
            Some((errors, rest)) if name == "wrong.ptx" => {
                assert_eq!(all.strip_prefix("vptx: "), Some(rest));
                let check = Command::new(VPTX)
                    .args(["check", "--quiet", "--dialect", "ptxas", "--ignore", "V9", name])
                    .current_dir(&place.0.0)
                    .output()
                    .unwrap();
                assert_eq!(errors.as_bytes(), check.stdout);
                assert!(errors.starts_with("error[V104]"), "{errors}");
            }
            _ => assert_eq!(err(&run), all),
        }
        let (got, given) = (fs::read(place.path("real/text")), fs::read(place.path(name)));
        assert_eq!(got.unwrap(), given.unwrap());
    }
    // Whoever asks for colours gets them, and the report counts what ptxas got.
    let mut command = place.command(&["links", "real"], &["wrong.ptx"]);
    command.env_remove("NO_COLOR").env("CLICOLOR_FORCE", "1").env("VPTX_REPORT", "r.json");
    let run = command.output().unwrap();
    assert!(err(&run).starts_with('\u{1b}'), "{}", err(&run));
    let reports = place.reports("r.json");
    let input = &reports[0]["inputs"][0];
    assert_eq!(input["fallback"], "`vptx check` finds errors in it");
    for count in ["rewritten", "measured", "before", "after"] {
        assert_eq!(input[count], 0, "{count}");
    }
    // vptx leaves the message about a missing file to ptxas.
    let run = place.run(&["missing.ptx"]);
    assert!(run.status.code() == Some(255) && !err(&run).contains("vptx:"), "{}", err(&run));
    // Only ptxas reads a pipe, since a pipe can be read only once.
    assert!(Command::new("mkfifo").arg(place.path("pipe")).status().unwrap().success());
    let child = place.command(&["links", "real"], &["pipe"]).spawn().unwrap();
    fs::write(place.path("pipe"), MODULE).unwrap();
    let run = child.wait_with_output().unwrap();
    assert_eq!((run.status.code(), place.text()), (Some(0), MODULE.into()));
    assert!(err(&run).contains("`pipe` unchanged: it is not a regular file"), "{}", err(&run));
}

/// A script for ptxas that does something if it gets a rewritten text.
fn but_new(what: &str) -> String {
    format!("for last; do :; done\ngrep -q vmin2 \"$last\" || {{ echo new >&2; {what}; }}\n{FAKE}")
}

#[test]
fn a_refused_text_is_given_as_it_was() {
    for what in ["exit 255", "kill -SEGV $$"] {
        let place = Place::new("refused", &but_new(what));
        let mut command = place.command(&["links", "real"], &["a.ptx"]);
        let run = command.env("VPTX_REPORT", "r.json").output().unwrap();
        assert_eq!((run.status.code(), place.text()), (Some(0), MODULE.into()));
        let said = "ptxas a.ptx, line 3; warning : odd\nvptx: ptxas got all modules unchanged: \
                    ptxas refuses the new text of a module\n";
        assert_eq!(err(&run), said);
        let reports = place.reports("r.json");
        for count in ["rewritten", "measured", "before", "after"] {
            assert_eq!(reports[0]["inputs"][0][count], 0, "{count}");
        }
        assert_eq!(reports[0]["fallback"], "ptxas refuses the new text of a module");
    }
    // If the module itself is wrong, only ptxas reports it.
    let place = Place::new("wrong", "echo bad >&2; exit 3");
    let run = place.run(&["a.ptx"]);
    assert_eq!((run.status.code(), &*err(&run)), (Some(3), "bad\n"));
}

#[test]
fn it_ends_as_ptxas_does() {
    let place = Place::new("signal", &but_new("echo out $last; kill -TERM $$"));
    let run = place.run(&["a.ptx"]);
    assert_eq!(run.status.signal(), Some(15));
    // All output of ptxas before the signal is kept.
    assert_eq!((&*run.stdout, &*err(&run)), (&b"out a.ptx\n"[..], "new\n"));
    place.program("real/ptxas", "kill -SEGV $$");
    assert_eq!(place.run(&["a.ptx"]).status.signal(), Some(11));
    assert_eq!(place.run(&["plain.ptx"]).status.signal(), Some(11));
    let mut command = place.command(&["links", "real"], &["plain.ptx"]);
    assert_eq!(command.env("VPTX_REPORT", "r").output().unwrap().status.signal(), Some(11));
    assert_eq!(place.reports("r")[0]["signal"], 11);
    // ptxas writes much to both streams at once.
    let much = "i=0; while [ $i -lt 3000 ]; do i=$((i+1)); echo $1$1$1$1$1$1$1$1$1$1$1$1; \
                echo $1$1$1$1$1$1$1$1$1$1$1$1 >&2; done";
    place.program("real/ptxas", much);
    let run = place.run(&["--gpu-name=sm_90", "a.ptx"]);
    assert!(run.stdout.len() > 500_000 && run.stderr == run.stdout);
}

/// A parent that ignores SIGCHLD lets its children inherit that.
#[test]
fn a_parent_may_ignore_how_children_end() {
    let place = Place::new("ignored", FAKE);
    let usual = place.command(&["links", "real"], &["a.ptx"]);
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", "trap '' CHLD; exec \"$@\"", "sh"]).arg(usual.get_program());
    shell.args(usual.get_args()).current_dir(place.path(""));
    for (name, value) in usual.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    let run = shell.output().expect("it starts");
    assert_eq!((run.status.code(), place.text()), (Some(0), rewritten()), "{}", err(&run));
}

/// If ptxas cannot be started, this does not count as a refusal of the new text.
#[test]
fn a_ptxas_that_cannot_be_started_is_told_apart() {
    let place = Place::new("not-started", FAKE);
    // The system accepts arguments of up to 128 KiB. Only the new text is longer.
    let longer = MODULE.replace("vmin2.s32.s32.s32", "vavrg4.u32.u32.u32");
    let text = format!("{longer}//{}", "x".repeat((128 << 10) - 3 - longer.len()));
    place.program("real/ptxas", "echo real");
    let mut command = place.command(&["links", "real"], &["-ias", &text]);
    let run = command.env("VPTX_REPORT", "r.json").output().unwrap();
    let why = "ptxas cannot be started with the new text of a module: argument list too long";
    let said = format!("vptx: ptxas got all modules unchanged: {why}\n");
    assert_eq!((run.status.code(), &*run.stdout, err(&run)), (Some(0), &b"real\n"[..], said));
    assert_eq!(place.reports("r.json")[0]["fallback"], why);
    // The interpreter of this script does not exist.
    let path = place.path("real/ptxas");
    fs::write(&path, "#!/no/such/program\n").unwrap();
    for name in ["a.ptx", "plain.ptx"] {
        let run = place.run(&[name]);
        let said = format!("vptx: cannot call `{}`: no such file or directory\n", path.display());
        assert_eq!((run.status.code(), err(&run)), (Some(2), said));
    }
}

/// After a bug in vptx, the build goes on with the unchanged module.
#[cfg(debug_assertions)]
#[test]
fn a_module_stays_after_a_panic() {
    let place = Place::new("panic", FAKE);
    let mut command = place.command(&["links", "real"], &["a.ptx"]);
    let run = command.env("VPTX_TEST_PANIC", "a.ptx").output().unwrap();
    assert_eq!((run.status.code(), place.text()), (Some(0), MODULE.into()));
    let said = "vptx: ptxas gets `a.ptx` unchanged: a bug in vptx ended the work on `a.ptx`; ";
    assert!(err(&run).starts_with(said), "{}", err(&run));
}

#[test]
fn the_real_ptxas_is_searched() {
    let place = Place::new("search", FAKE);
    let run = place.command(&["links"], &["a.ptx"]).output().unwrap();
    let links = place.path("links").display().to_string();
    assert_eq!(run.status.code(), Some(2));
    assert!(err(&run).contains("set VPTX_PTXAS") && err(&run).contains(&links), "{}", err(&run));

    let with = |name: &str, value: &Path| {
        place.command(&["links"], &["a.ptx"]).env(name, value).output().unwrap()
    };
    let text = place.path("a.ptx");
    // Of the last path, a list of paths cannot tell where it ends.
    fs::create_dir(place.path("more:links")).unwrap();
    symlink(VPTX, place.path("more:links/ptxas")).unwrap();
    for (path, why) in [
        (&text, "names no program"),
        (&place.path("links/ptxas"), "leads back"),
        (&place.path("more:links/ptxas"), "leads back"),
    ] {
        let run = with("VPTX_PTXAS", path);
        assert!(run.status.code() == Some(2) && err(&run).contains(why), "{}", err(&run));
    }
    assert!(with("VPTX_PTXAS", &place.path("real/ptxas")).status.success());
    // A name alone is a program in the current folder, not in PATH.
    place.program("bare", "exit 7");
    assert_eq!(with("VPTX_PTXAS", Path::new("bare")).status.code(), Some(7));
    fs::create_dir(place.path("cuda")).unwrap();
    symlink(place.path("real"), place.path("cuda/bin")).unwrap();
    assert!(with("CUDA_HOME", &place.path("cuda")).status.success());
    // An empty variable does not name the current folder.
    fs::create_dir(place.path("bin")).unwrap();
    symlink(place.path("real/ptxas"), place.path("bin/ptxas")).unwrap();
    assert_eq!(with("CUDA_HOME", Path::new("")).status.code(), Some(2));

    // Other programs named `ptxas` that call vptx again: a copy, and a script.
    fs::create_dir(place.path("copy")).unwrap();
    fs::copy(VPTX, place.path("copy/ptxas")).unwrap();
    place.program("script/ptxas", &format!("exec '{VPTX}' ptxas -- \"$@\""));
    fs::remove_file(place.path("real/text")).unwrap();
    let all = ["links", "copy", "script", "real"];
    let run = place.command(&all, &["a.ptx"]).output().unwrap();
    assert_eq!((run.status.code(), place.text()), (Some(0), rewritten()), "{}", err(&run));
    let run = place.command(&all[..3], &["a.ptx"]).output().unwrap();
    assert_eq!(run.status.code(), Some(2), "{}", err(&run));
    let script = place.path("script/ptxas");
    assert_eq!(with("VPTX_PTXAS", &script).status.code(), Some(2));

    // If the link has another name, a ptxas of that name is searched first.
    symlink(VPTX, place.path("links/ptxas-blackwell")).unwrap();
    place.program("real/ptxas-blackwell", "echo blackwell");
    let mut command = Command::new(place.path("links/ptxas-blackwell"));
    let run = command.env("PATH", place.path("real")).arg("a.ptx").output().unwrap();
    assert_eq!(run.stdout, b"blackwell\n");
}

fn wait_for<T>(what: &str, mut find: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(found) = find() {
            return found;
        }
        assert!(start.elapsed() < Duration::from_secs(60), "{what}");
        thread::sleep(Duration::from_millis(10));
    }
}

#[cfg(target_os = "linux")]
#[test]
fn ptxas_ends_when_vptx_is_killed() {
    let place =
        Place::new("killed", "echo $$ > \"$0.new\"; mv \"$0.new\" \"$0.pid\"; exec sleep 300");
    for report in ["", "r.json"] {
        let mut command = place.command(&["links", "real"], &["-o", "b.cubin", "a.ptx"]);
        let mut child: Child = command.env("VPTX_REPORT", report).spawn().unwrap();
        let pid = place.path("real/ptxas.pid");
        let started = wait_for("it starts", || fs::read_to_string(&pid).ok());
        fs::remove_file(&pid).unwrap();
        child.kill().unwrap();
        assert_eq!(child.wait().unwrap().signal(), Some(9));
        let state = PathBuf::from(format!("/proc/{}/stat", started.trim()));
        wait_for("it ends", || {
            let text = fs::read_to_string(&state).unwrap_or_default();
            // An orphan may stay a zombie, because possibly no process fetches its status.
            (text.is_empty() || text.contains(") Z ")).then_some(())
        });
        assert!(!place.path("b.cubin").exists() && !place.path("r.json").exists());
    }
}

const MERGE: &str = "vadd.s32.s32.s32 d.h1, a.h1, b.h0, c;";

/// A script for ptxas that answers `--version`, and then makes the file `asked` beside itself.
fn with_version(answer: &str) -> String {
    format!("case $1 in --version) touch \"$(dirname \"$0\")/asked\"; {answer};; esac{FAKE}")
}

/// Results of merges into `.h1` depend on the release of ptxas. vptx asks for the release only if a
/// module has such merges.
#[test]
fn the_semantics_is_that_of_the_real_ptxas() {
    let (old, new) = ("ptxas-12", "ptxas-13");
    for (release, wanted) in [("12.9", old), ("13.2", old), ("13.3", new), ("14.0", new)] {
        let answer = format!(
            "echo 'Linux release 99.5, x'; echo 'Cuda tools, release {release}, V{release}.1'; exit"
        );
        let place = Place::new(&format!("semantics-{release}"), &with_version(&answer));
        let text = MODULE.replace("add.s32 d, a, b;", MERGE);
        assert_ne!(text, MODULE, "{MODULE}");
        place.0.write("merge.ptx", &text);
        let run = |file: &str, asked: &str| {
            let mut command = place.command(&["links", "real"], &["-arch=sm_90", file]);
            command.env("VPTX_REPORT", place.path("report")).env("VPTX_SEMANTICS", asked);
            assert!(command.output().unwrap().status.success());
            let report = place.reports("report").pop().expect("a report");
            (report["semantics"].as_str().expect("a name").to_owned(), place.text())
        };
        // This `.h1` is part of a source.
        let part = MODULE.replace("add.s32 d, a, b;", "vadd.s32.s32.s32 d, a.h1, b;");
        place.0.write("part.ptx", part);
        for file in ["a.ptx", "part.ptx"] {
            assert_eq!(run(file, "").0, new, "{release}");
            assert!(!place.path("real/asked").exists(), "{file}: {release}");
        }
        let (semantics, own) = run("merge.ptx", "");
        assert_eq!(semantics, wanted, "{release}");
        assert!(place.path("real/asked").exists(), "{release}");
        assert_eq!(own, run("merge.ptx", wanted).1, "{release}");
        let [one, other] = [old, new].map(|asked| run("merge.ptx", asked).1);
        assert!(one != other && !one.contains("vadd"), "{one}");
    }
}

/// The question for the release takes nothing from standard input.
#[test]
fn a_module_stays_if_ptxas_does_not_tell_its_release() {
    let answers = [
        "exit",
        "cat; exit",
        "echo 'release 12.9'; exit",
        "echo 'release new, V1'; exit",
        "echo 'release 12.9, V12.9.86'; exit 3",
        "echo 'release 12.9, V12.9.86'; kill -SEGV $$",
    ];
    for (number, answer) in answers.iter().enumerate() {
        let place = Place::new(&format!("silent-{number}"), &with_version(answer));
        let text = MODULE.replace("add.s32 d, a, b;", MERGE);
        place.0.write("merge.ptx", &text);
        let mut command = place.command(&["links", "real"], &["-arch=sm_90", "merge.ptx", "-"]);
        let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        let said = err(&output);
        assert!(output.status.success(), "{answer}: {said}");
        assert_eq!(said.matches("results depend on the release of ptxas").count(), 2, "{said}");
        assert_eq!(place.text(), text, "{answer}");
    }
}

#[test]
fn reports_are_whole() {
    let place = Place::new("report", "sleep 0.1; exit 7");
    place.program("real/ptxas", "exit 0");
    let with = |report: &str, arguments: &[&str]| {
        let mut command = place.command(&["links", "real"], arguments);
        command.env("VPTX_REPORT", report).output().unwrap()
    };
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..5 {
                    with("r.json", &["-arch", "sm_90", "a.ptx", "plain.ptx"]);
                }
            });
        }
    });
    with("r.json", &["--version"]);
    let reports = place.reports("r.json");
    assert_eq!(reports.len(), 20);
    for report in &reports {
        assert_eq!((&report["status"], &report["arch"]), (&0.into(), &"sm_90".into()));
        let [one, other] = &report["inputs"].as_array().unwrap()[..] else { panic!("{report}") };
        // The same numbers are in docs/rewriting/savings.md.
        assert_eq!([&one["instructions"], &one["before"], &one["after"]], [1, 9, 1]);
        assert_eq!((&one["name"], &other["name"]), (&"a.ptx".into(), &"plain.ptx".into()));
        assert_eq!((&other["instructions"], &other["fallback"]), (&0.into(), &Value::Null));
    }
    place.program("real/ptxas", "exit 5");
    for report in ["/dev/full", "no/folder.json", "tmp"] {
        let run = with(report, &["plain.ptx"]);
        assert_eq!(run.status.code(), Some(5));
        assert!(err(&run).starts_with("vptx: cannot write the report "), "{}", err(&run));
    }
    let mut command = place.command(&["links", "real"], &["a.ptx"]);
    let run = command.env("VPTX_SEMANTICS", "all").output().unwrap();
    assert!(run.status.code() == Some(2) && err(&run).contains("VPTX_SEMANTICS"), "{}", err(&run));
}
