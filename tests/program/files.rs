//! Tests about files that the program changes, and files that it must leave alone: links, pipes and
//! devices, files that others write, owners, and the files that remain after a signal.
#![cfg(unix)]

use std::fs::{self, File, Permissions};
use std::io::{Read, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::os::unix::net::UnixListener;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, SystemTime};

use super::fixtures::{BAD, LOOSE};
use crate::support::fatbin::zip;
use crate::support::program::{Folder, ROOT, start, vptx_in};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};

const UGLY: &str = "{ret ;}";
const NEAT: &str = "{\n    ret;\n}\n";

fn names(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn pipe(folder: &Folder, name: &str) {
    assert!(Command::new("mkfifo").arg(folder.0.join(name)).status().unwrap().success());
}

/// A file of 5 GiB that takes no disk space.
fn sparse(folder: &Folder, name: &str) {
    File::create(folder.0.join(name)).unwrap().set_len(5 << 30).unwrap();
}

// Links, pipes, devices.

/// The program must not wait for a `.gitignore` that is a pipe.
#[test]
fn ignore_files_that_are_no_files_are_not_waited_for() {
    let folder = Folder::new("files-ignore");
    folder.write("a.ptx", UGLY);
    folder.write("b/b.ptx", UGLY);
    folder.write("b/c/c.ptx", UGLY);
    pipe(&folder, "b/.gitignore");
    let run = vptx_in(&folder.0, &["fmt", "--check", "."], b"");
    let said = "vptx: `./b/.gitignore` is not a regular file: its folder is not searched\n\
                1 file to format\n";
    assert_eq!((run.status, run.stderr.as_str()), (2, said));
    // Ignore files in the folders above count as well.
    let run = vptx_in(&folder.0, &["fmt", "--check", "b/c"], b"");
    assert_eq!(run.status, 2);
    assert!(
        run.stderr.ends_with("b/.gitignore` is not a regular file: its folder is not searched\n")
    );
    let run = vptx_in(&folder.0, &["fmt", "--check", "--no-ignore", "."], b"");
    assert_eq!((run.status, run.stderr.as_str()), (1, "3 files to format\n"));
}

/// Settings may come from anybody, so the program does not wait for what they name.
#[test]
fn a_baseline_of_the_settings_is_a_file() {
    let folder = Folder::new("files-baseline");
    folder.write("a.ptx", NEAT);
    pipe(&folder, "pipe");
    for name in ["pipe", "/dev/zero"] {
        folder.write("vptx.toml", format!("[check]\nbaseline = \"{name}\"\n"));
        let run = vptx_in(&folder.0, &["check", "a.ptx"], b"");
        assert_eq!(run.status, 2, "{name}");
        assert!(run.stderr.contains("not a regular file"), "{name}: {}", run.stderr);
    }
}

/// As other commands do, `rewrite` and `lower` say why they cannot read the link.
#[test]
fn links_that_lead_nowhere_are_no_instructions() {
    let folder = Folder::new("files-links");
    symlink("nothing", folder.0.join("dangling")).unwrap();
    symlink("loop", folder.0.join("loop")).unwrap();
    symlink("nothing", folder.0.join("a link")).unwrap();
    let missing = "no such file or directory";
    for (name, why) in [("dangling", missing), ("a link", missing), ("loop", "too many levels")] {
        for command in [&["rewrite"][..], &["lower", "--emit", "c"]] {
            let run = vptx_in(&folder.0, &[command, &[name]].concat(), b"");
            assert_eq!(run.status, 2, "{command:?} {name}");
            let said = format!("vptx: cannot read `{name}`: {why}");
            assert!(run.stderr.starts_with(&said), "{command:?}: {}", run.stderr);
        }
    }
}

#[test]
fn a_walk_follows_no_links_and_takes_only_files() {
    let folder = Folder::new("files-walk");
    folder.write("home/p.py", UGLY);
    folder.write("home/l.ptx", LOOSE);
    folder.write("repo/a.ptx", UGLY);
    fs::create_dir(folder.0.join("repo/folder.ptx")).unwrap();
    let repo = folder.0.join("repo");
    symlink("../home/p.py", repo.join("k.ptx")).unwrap();
    symlink("../home/l.ptx", repo.join("l.ptx")).unwrap();
    symlink("../home", repo.join("home")).unwrap();
    symlink("/dev/zero", repo.join("z.ptx")).unwrap();
    symlink("nothing", repo.join("n.ptx")).unwrap();
    pipe(&folder, "repo/p.ptx");
    let _socket = UnixListener::bind(repo.join("s.ptx")).unwrap();
    let fmt = vptx_in(&repo, &["fmt", "."], b"");
    assert_eq!((fmt.status, fmt.stderr.as_str()), (0, "1 file formatted\n"));
    for arguments in [&["check", "--fix", "."][..], &["check"]] {
        let run = vptx_in(&repo, arguments, b"");
        assert_eq!(run.status, 0, "{}", run.stderr);
        assert!(run.stdout.ends_with(" of 1 file\n"), "{}", run.stdout);
    }
    assert_eq!(folder.read("repo/a.ptx"), NEAT);
    assert_eq!(folder.read("home/p.py"), UGLY);
    assert_eq!(folder.read("home/l.ptx"), LOOSE);

    // The program follows a link that the user names; the link stays a link.
    assert_eq!(vptx_in(&repo, &["fmt", "k.ptx"], b"").status, 0);
    assert_eq!(vptx_in(&repo, &["check", "--fix", "l.ptx"], b"").status, 0);
    assert_eq!(folder.read("home/p.py"), NEAT);
    assert_ne!(folder.read("home/l.ptx"), LOOSE);
    for link in ["k.ptx", "l.ptx"] {
        assert!(repo.join(link).symlink_metadata().unwrap().is_symlink());
    }
    // A link to a folder is followed, too.
    folder.write("home/l.ptx", UGLY);
    assert_eq!(vptx_in(&repo, &["fmt", "home"], b"").status, 0);
    assert_eq!(folder.read("home/l.ptx"), NEAT);
}

#[test]
fn what_is_no_file_is_not_replaced() {
    let folder = Folder::new("files-pipe");
    pipe(&folder, "p.ptx");
    for arguments in [&["fmt", "p.ptx"][..], &["check", "--fix", "p.ptx"]] {
        // The pipe is not read: nothing writes to it, so reading would wait forever.
        let run = vptx_in(&folder.0, arguments, b"");
        assert_eq!(
            (run.status, run.stderr.as_str()),
            (2, "vptx: cannot write `p.ptx`: it is not a regular file\n")
        );
    }
    // A command that reads the pipe only once accepts it.
    for (arguments, status) in [(&["check", "p.ptx"][..], 1), (&["fmt", "--check", "p.ptx"], 0)] {
        let child = start(&folder.0, arguments);
        fs::write(folder.0.join("p.ptx"), BAD).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(status), "{output:?}");
    }
    assert_eq!(names(&folder.0), ["p.ptx"]);
}

#[test]
fn limits_hold_before_memory_is_used() {
    let folder = Folder::new("files-sparse");
    folder.write("a.ptx", LOOSE);
    sparse(&folder, "large.ptx");
    sparse(&folder, "large.json");
    sparse(&folder, "large.toml");
    sparse(&folder, "vptx.toml");
    let over = "larger than the limit of 4 GiB";
    for arguments in [
        &["check", "--isolated", "large.ptx"][..],
        &["check", "--isolated", "--fix", "large.ptx"],
        &["fmt", "large.ptx"],
        &["fmt", "--config", "large.toml", "a.ptx"],
        &["lower", "--emit", "ir", "large.ptx"],
        &["rewrite", "large.ptx"],
        &["check", "--isolated", "--baseline", "large.json", "a.ptx"],
        &["check", "--isolated", "--baseline", "large.json", "--update-baseline", "a.ptx"],
        &["check", "--config", "large.toml", "a.ptx"],
        &["check", "a.ptx"],
        &["fmt", "a.ptx"],
    ] {
        let run = vptx_in(&folder.0, arguments, b"");
        assert_eq!(run.status, 2, "{arguments:?}");
        assert!(run.stderr.contains(over), "{arguments:?}: {}", run.stderr);
    }
    assert_eq!(folder.read("a.ptx"), LOOSE);
}

#[test]
fn settings_and_baselines_that_are_no_files() {
    let folder = Folder::new("files-odd-settings");
    folder.write("a.ptx", LOOSE);
    fs::create_dir(folder.0.join("folder")).unwrap();
    pipe(&folder, "pipe");
    pipe(&folder, "vptx.toml");
    for arguments in [
        &["check", "--config", "folder", "a.ptx"][..],
        &["check", "--baseline", "folder", "a.ptx"],
        &["check", "--baseline", "folder", "--update-baseline", "a.ptx"],
        &["check", "--baseline", "pipe", "--update-baseline", "a.ptx"],
    ] {
        let run = vptx_in(&folder.0, arguments, b"");
        assert_eq!(run.status, 2, "{arguments:?}");
        assert!(run.stderr.starts_with("vptx: cannot read `"), "{arguments:?}: {}", run.stderr);
    }
    assert_eq!(names(&folder.0), ["a.ptx", "folder", "pipe", "vptx.toml"]);
    // A settings file that the program finds must be a regular file. The program reads any file
    // that the user names.
    for link in [None, Some("nowhere"), Some("vptx.toml")] {
        if let Some(target) = link {
            fs::remove_file(folder.0.join("vptx.toml")).unwrap();
            std::os::unix::fs::symlink(target, folder.0.join("vptx.toml")).unwrap();
        }
        let run = vptx_in(&folder.0, &["check", "a.ptx"], b"");
        assert_eq!(run.status, 2, "{link:?}: {}", run.stderr);
        assert!(run.stderr.contains("vptx.toml`: "), "{link:?}: {}", run.stderr);
    }
    let child = start(&folder.0, &["check", "--config", "pipe", "--deny", "warnings", "a.ptx"]);
    fs::write(folder.0.join("pipe"), "[check]\nignore = [\"V4\"]\n").unwrap();
    assert_eq!(child.wait_with_output().unwrap().status.code(), Some(0));
}

// Changes by other programs.

/// A text that takes a while to format.
fn long() -> String {
    ".func f()\n{\nret ;\n}\n".repeat(400_000)
}

/// Waits until a program has begun to read a file that was just written. Reading changes the time
/// of the last access, unless the file system does not keep it.
fn wait_for_read(child: &mut Child, path: &Path, written: SystemTime) {
    while fs::metadata(path).unwrap().accessed().unwrap() == written {
        assert!(child.try_wait().unwrap().is_none(), "it ended before");
    }
}

fn keeps_times(folder: &Folder) -> bool {
    folder.write("probe", "x");
    let probe = folder.0.join("probe");
    let accessed = || fs::metadata(&probe).unwrap().accessed().unwrap();
    let written = accessed();
    std::thread::sleep(Duration::from_millis(50));
    fs::read(&probe).unwrap();
    let keeps = accessed() != written;
    fs::remove_file(&probe).unwrap();
    keeps
}

/// A file changes while the program formats or fixes it.
#[test]
fn what_others_write_is_not_lost() {
    let folder = Folder::new("files-lost");
    if !keeps_times(&folder) {
        return;
    }
    let path = folder.0.join("a.ptx");
    for (arguments, before) in
        [(&["fmt", "a.ptx"][..], long()), (&["check", "--fix", "a.ptx"], long() + LOOSE)]
    {
        fs::write(&path, &before).unwrap();
        let written = fs::metadata(&path).unwrap().accessed().unwrap();
        // The clock for file times has coarse ticks.
        std::thread::sleep(Duration::from_millis(50));
        let mut child = start(&folder.0, arguments);
        wait_for_read(&mut child, &path, written);
        let mut file = File::options().append(true).open(&path).unwrap();
        file.write_all(b"// More.\n").unwrap();
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
        let expected = "vptx: cannot write `a.ptx`: the file changed after it was read\n";
        assert!(said.contains(expected), "{arguments:?}: {said}");
        assert!(fs::read_to_string(&path).unwrap() == before + "// More.\n", "{arguments:?}");
        assert_eq!(names(&folder.0), ["a.ptx"]);
    }
}

#[test]
fn baselines_of_several_runs_are_one() {
    const RUNS: usize = 12;
    let folder = Folder::new("files-baseline-runs");
    for at in 0..RUNS {
        folder.write(&format!("f{at}.ptx"), BAD);
    }
    // The baseline exists only from the second round on.
    for _ in 0..2 {
        let runs: Vec<Child> = (0..RUNS)
            .map(|at| {
                let name = format!("f{at}.ptx");
                let arguments = ["check", "--baseline", "known.json", "--update-baseline", &name];
                start(&folder.0, &arguments)
            })
            .collect();
        for run in runs {
            let output = run.wait_with_output().unwrap();
            assert_eq!(output.status.code(), Some(0), "{output:?}");
        }
        assert_eq!(folder.read("known.json").matches("\"V104\"").count(), RUNS);
        let all = vptx_in(&folder.0, &["check", "--baseline", "known.json", "."], b"");
        assert_eq!((all.status, all.stderr.as_str()), (0, ""), "{}", all.stdout);
    }
    assert_eq!(names(&folder.0).len(), RUNS + 1, "no lock is left");
}

#[test]
fn a_baseline_that_is_a_link_stays_one() {
    let folder = Folder::new("files-baseline-link");
    folder.write("a.ptx", BAD);
    fs::create_dir(folder.0.join("real")).unwrap();
    let update = ["check", "--baseline", "known.json", "--update-baseline", "a.ptx"];
    symlink("real/known.json", folder.0.join("known.json")).unwrap();
    let run = vptx_in(&folder.0, &update, b"");
    assert_eq!(
        (run.status, run.stderr.as_str()),
        (2, "vptx: cannot write `known.json`: it is a link to a file that does not exist\n")
    );
    folder.write("real/known.json", "{\"version\": 1, \"findings\": []}");
    assert_eq!(vptx_in(&folder.0, &update, b"").status, 0);
    assert!(folder.0.join("known.json").symlink_metadata().unwrap().is_symlink());
    assert!(folder.read("real/known.json").contains("\"a.ptx\""));
    assert_eq!(names(&folder.0), ["a.ptx", "known.json", "real"]);
    assert_eq!(names(&folder.0.join("real")), ["known.json"]);
}

/// While the program waits for a text, a link to itself comes in the place of the baseline.
#[test]
fn a_baseline_that_becomes_a_circle_of_links_is_not_written() {
    let folder = Folder::new("files-baseline-circle");
    pipe(&folder, "a.ptx");
    let update = ["check", "--baseline", "known.json", "--update-baseline", "a.ptx"];
    let child = start(&folder.0, &update);
    // The program opens the pipe after it has looked for the baseline.
    let mut text = File::options().write(true).open(folder.0.join("a.ptx")).unwrap();
    symlink("known.json", folder.0.join("known.json")).unwrap();
    text.write_all(BAD.as_bytes()).unwrap();
    drop(text);
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.starts_with("vptx: cannot write `known.json`: "), "{said}");
    assert!(!said.contains("does not exist"), "{said}");
}

#[test]
fn a_baseline_forgets_files_that_are_gone_and_no_others() {
    let folder = Folder::new("files-baseline-gone");
    for name in ["a.ptx", "b.ptx", "c.ptx"] {
        folder.write(name, BAD);
    }
    let update = ["check", "--baseline", "known.json", "--update-baseline"];
    assert_eq!(vptx_in(&folder.0, &update, b"").status, 0);
    fs::remove_file(folder.0.join("a.ptx")).unwrap();
    assert_eq!(vptx_in(&folder.0, &[&update[..], &["b.ptx"]].concat(), b"").status, 0);
    let known = folder.read("known.json");
    let has = |name: &str| known.contains(&format!("\"{name}\""));
    assert_eq!((has("a.ptx"), has("b.ptx"), has("c.ptx")), (false, true, true), "{known}");
}

#[test]
fn counts_of_a_baseline_do_not_wrap() {
    let folder = Folder::new("files-baseline-counts");
    folder.write("a.ptx", BAD);
    folder.write("b.ptx", LOOSE);
    let most = format!(
        "{{\"path\": \"a.ptx\", \"code\": \"V104\", \"line\": \"{}\", \"count\": {}}}",
        BAD.trim(),
        u64::MAX
    );
    let other = most.replace("V104", "V105");
    let text = format!("{{\"version\": 1, \"findings\": [{most}, {most}, {other}]}}");
    folder.write("known.json", &text);
    let run = vptx_in(&folder.0, &["check", "--quiet", "--baseline", "known.json", "a.ptx"], b"");
    assert_eq!((run.status, run.stdout.as_str(), run.stderr.as_str()), (0, "", ""));
    let run = vptx_in(&folder.0, &["check", "--baseline", "known.json", "a.ptx"], b"");
    let most = format!("the baseline has {} findings not seen in this run", u64::MAX);
    assert!(run.stderr.starts_with(&most), "{}", run.stderr);
    let update = ["check", "--baseline", "known.json", "--update-baseline", "b.ptx"];
    let run = vptx_in(&folder.0, &update, b"");
    let sum = format!("the baseline has {} findings\n", u64::MAX);
    assert_eq!((run.status, run.stderr), (0, sum));
}

// Properties of files that do not change.

#[test]
fn owners_and_modes_stay() {
    let folder = Folder::new("files-owner");
    for (arguments, text) in [(&["fmt", "a.ptx"][..], UGLY), (&["check", "--fix", "a.ptx"], LOOSE)]
    {
        folder.write("a.ptx", text);
        let path = folder.0.join("a.ptx");
        // Only some users may give files away.
        let given = chown(&path, Some(1234), Some(2345)).is_ok();
        fs::set_permissions(&path, Permissions::from_mode(0o604)).unwrap();
        assert_eq!(vptx_in(&folder.0, arguments, b"").status, 0);
        assert_ne!(folder.read("a.ptx"), text);
        let data = fs::metadata(&path).unwrap();
        assert_eq!(data.mode() & 0o7777, 0o604);
        assert_eq!((data.uid(), data.gid()) == (1234, 2345), given);
    }
}

/// A new file has the permissions of files that other programs create.
#[test]
fn a_new_file_has_the_usual_permissions() {
    let folder = Folder::new("files-usual");
    folder.write("a.ptx", BAD);
    let update = ["check", "--baseline", "known.json", "--update-baseline", "a.ptx"];
    assert_eq!(vptx_in(&folder.0, &update, b"").status, 0);
    let mode = |name: &str| fs::metadata(folder.0.join(name)).unwrap().mode() & 0o7777;
    assert_eq!(mode("known.json"), mode("a.ptx"));
}

/// A program that reads the old file meanwhile sees the whole old text.
#[test]
fn a_new_file_takes_the_name_of_the_old_one() {
    let folder = Folder::new("files-new");
    folder.write("a.ptx", UGLY);
    let mut old = File::open(folder.0.join("a.ptx")).unwrap();
    assert_eq!(vptx_in(&folder.0, &["fmt", "a.ptx"], b"").status, 0);
    let mut text = String::new();
    old.read_to_string(&mut text).unwrap();
    assert_eq!((text.as_str(), folder.read("a.ptx").as_str()), (UGLY, NEAT));
}

#[test]
fn all_names_of_a_file_see_what_is_written() {
    let folder = Folder::new("files-names");
    for (ugly, neat) in [(UGLY, NEAT), ("ret   ;\n\n\n\n\n\n\n\n", "ret;\n")] {
        folder.write("a.ptx", ugly);
        let _ = fs::remove_file(folder.0.join("b.ptx"));
        fs::hard_link(folder.0.join("a.ptx"), folder.0.join("b.ptx")).unwrap();
        // A file with two names is formatted once.
        let run = vptx_in(&folder.0, &["fmt", "."], b"");
        assert_eq!((run.status, run.stderr.as_str()), (0, "1 file formatted\n"));
        assert_eq!((folder.read("a.ptx"), folder.read("b.ptx")), (neat.into(), neat.into()));
        let inode = |name: &str| fs::metadata(folder.0.join(name)).unwrap().ino();
        assert_eq!(inode("a.ptx"), inode("b.ptx"));
    }
    assert_eq!(names(&folder.0), ["a.ptx", "b.ptx"]);
    folder.write("c.ptx", UGLY);
    symlink("c.ptx", folder.0.join("d.ptx")).unwrap();
    let run = vptx_in(&folder.0, &["fmt", "c.ptx", "d.ptx", "./c.ptx"], b"");
    assert_eq!((run.status, run.stderr.as_str()), (0, "1 file formatted\n"));
    assert_eq!(folder.read("c.ptx"), NEAT);
}

// Signals.

fn send(signal: Signal, child: &Child) {
    // The program may have ended already.
    let _ = kill_process(Pid::from_child(child), signal);
}

/// Stops a program. Returns whether it has ended before.
fn stop(child: &Child) -> bool {
    send(Signal::STOP, child);
    let id = WaitId::Pid(Pid::from_child(child));
    let options = WaitIdOptions::STOPPED | WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    let status = waitid(id, options).unwrap().expect("it stops or ends");
    !status.stopped()
}

/// Whether this process ignores a signal, which the programs that it starts then ignore, too. A
/// script makes its jobs with `&` ignore SIGINT.
fn is_ignored(signal: Signal) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.map(|mask| u64::from_str_radix(mask.trim(), 16).expect("a mask"));
    mask.is_some_and(|mask| mask >> (signal.as_raw() - 1) & 1 > 0)
}

/// Stops the program again and again while it changes many files. If it has a temporary file at
/// that moment, it gets the signal.
#[test]
fn signals_leave_no_temporary_files() {
    let folder = Folder::new("files-signal");
    let text = ".func f()\n{\nret ;\n}\n".repeat(60_000);
    let own: Vec<String> = (0..12).map(|number| format!("{number:02}.ptx")).collect();
    for signal in [Signal::INT, Signal::TERM] {
        if is_ignored(signal) {
            continue;
        }
        // In some runs, the program is never stopped at the right time.
        let found = (0..1000).any(|_| {
            for name in &own {
                fs::write(folder.0.join(name), &text).unwrap();
            }
            let mut child = start(&folder.0, &["fmt", "."]);
            let mut is_sent = false;
            while !is_sent && !stop(&child) {
                is_sent = names(&folder.0).len() > own.len();
                if is_sent {
                    send(signal, &child);
                }
                send(Signal::CONT, &child);
                std::thread::sleep(Duration::from_millis(1));
            }
            let status = child.wait().unwrap();
            assert_eq!(names(&folder.0), own, "{status:?}");
            // The program may finish its work before it handles the signal.
            let is_ended_by_signal = is_sent && status.signal() == Some(signal.as_raw());
            assert!(is_ended_by_signal || status.code() == Some(0), "{status:?}");
            is_ended_by_signal
        });
        assert!(found, "the signal always came late");
    }
}

/// A program that `nohup` starts ignores SIGHUP, and does its work.
#[test]
fn ignored_signals_end_nothing() {
    let folder = Folder::new("files-ignored-signal");
    let text = ".func f()\n{\nret ;\n}\n".repeat(60_000);
    let own: Vec<String> = (0..12).map(|number| format!("{number:02}.ptx")).collect();
    for name in &own {
        folder.write(name, &text);
    }
    let mut child = Command::new("sh")
        .args(["-c", "trap '' HUP; exec \"$VPTX\" fmt ."])
        .env("VPTX", env!("CARGO_BIN_EXE_vptx"))
        .current_dir(&folder.0)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("a shell");
    // From the first temporary file on, the program handles signals.
    while names(&folder.0).len() == own.len() && child.try_wait().unwrap().is_none() {
        std::thread::sleep(Duration::from_millis(1));
    }
    send(Signal::HUP, &child);
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert!(own.iter().all(|name| folder.read(name).contains("ret;")));
}

// The destination of output.

/// Runs the program after closing the other end of its standard output.
fn unread(arguments: &[&str], stdin: &[u8]) -> Output {
    let mut child = start(Path::new(ROOT), arguments);
    drop(child.stdout.take());
    child.stdin.take().unwrap().write_all(stdin).unwrap();
    child.wait_with_output().unwrap()
}

#[test]
fn the_exit_status_tells_of_the_work_though_nobody_reads() {
    let many = BAD.repeat(20_000);
    let lower = ["rewrite", "--quiet", "--target", "sm_90", "-"];
    for (arguments, text, status) in [
        (&["check", "-"][..], many.as_str(), 1),
        (&["check", "--format", "json", "-"], &many, 1),
        (&["check", "--statistics", "-"], BAD, 1),
        (&["check", "-"], LOOSE, 0),
        (&["check", "--deny", "warnings", "-"], LOOSE, 1),
        (&["check", "--diff", "-"], LOOSE, 1),
        (&["check", "--fix", "-"], LOOSE, 0),
        (&["fmt", "-"], UGLY, 0),
        (&["fmt", "--check", "-"], UGLY, 1),
        (&["lower", "--emit", "ir", "-"], BAD, 1),
        (&lower, "vmin.u32.u32.u32 d, a, b;", 0),
    ] {
        let output = unread(arguments, text.as_bytes());
        assert_eq!(output.status.code(), Some(status), "{arguments:?}");
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(!said.contains("vptx: "), "{arguments:?}: {said}");
    }
    // Both standard output and standard error are closed.
    let mut child = start(Path::new(ROOT), &["check", "--diff", "-"]);
    drop((child.stdout.take(), child.stderr.take()));
    child.stdin.take().unwrap().write_all(LOOSE.as_bytes()).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(1));
    for arguments in [&["--help"][..], &["--version"], &["explain"], &["completions", "bash"]] {
        let output = unread(arguments, b"");
        assert_eq!((output.status.code(), output.stderr), (Some(0), Vec::new()), "{arguments:?}");
    }
}

#[test]
fn a_batch_ends_when_nobody_reads() {
    let mut child = start(Path::new(ROOT), &["eval", "--batch", "-"]);
    drop(child.stdout.take());
    let mut input = child.stdin.take().unwrap();
    let lines = "vadd.u32.u32.u32 d, a, b;\t1\t2\n".repeat(1000);
    let ended = (0..100_000).any(|_| input.write_all(lines.as_bytes()).is_err());
    assert!(ended, "it reads on");
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert_eq!((child.wait().unwrap().code(), said.as_str()), (Some(0), ""));
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_told() {
    let example = "vadd.u32.u32.u32 d, a, b;";
    // The second text has no finding to write.
    let folder = Folder::new("files-full");
    let texts = [("a.ptx", "vadd.s32.s32 d, a, b;"), ("b.ptx", "")];
    let texts = texts.map(|(name, text)| (name, format!(".version 8.0\n.target sm_90\n{text}\n")));
    let archive = zip(&texts.each_ref().map(|(name, text)| (*name, text.as_bytes())));
    folder.write("texts.whl", archive);
    let archive = folder.0.join("texts.whl");
    for arguments in [
        &["--help"][..],
        &["--version"],
        &["check", "--help"],
        &["help", "fmt"],
        &["explain"],
        &["explain", "V104"],
        &["explain", "vadd"],
        &["explain", "--all"],
        &["completions", "bash"],
        &["man"],
        &["man", "check"],
        &["eval", example, "a=1", "b=2"],
        &["lower", "--emit", "ir", example],
        &["rewrite", "--target", "sm_90", example],
        &["rewrite", "fixtures/ptx/hand/one_line.ptx"],
        &["check", "fixtures/ptx/hand/one_line.ptx"],
        &["check", "--quiet", archive.to_str().unwrap()],
        &["fmt", "--diff", "fixtures/ptx/hand/one_line.ptx"],
        &["conformance", "--count", "1"],
    ] {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let output = Command::new(env!("CARGO_BIN_EXE_vptx"))
            .args(arguments)
            .current_dir(ROOT)
            .stdin(Stdio::null())
            .stdout(full)
            .output()
            .unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
        assert!(said.contains("vptx: cannot write: "), "{arguments:?}: {said}");
    }
}
