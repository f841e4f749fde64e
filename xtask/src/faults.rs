//! Injected system errors, kills, and parallel runs, for each command that writes files.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::Task;
use crate::work::{Failure, Options, Outcome, Scratch, command, exists, root, run, target, words};

pub const TASKS: &[Task] = &[Task {
    name: "faults",
    arguments: "[--kills N] [--together N] [--only COMMAND]",
    about: "Let system calls fail, and kill runs, while files are written",
    details: "\
Runs each command that writes files, once for each system call that opens, writes, renames or
removes a file, and makes that call fail, with errors such as a full disk. Then every file must be
as it was or as it should become, no other file may be there, and unless the work is done, the
program ends with status 2 and says why. After that, kills each command N times (100) at random
moments: each file must be old or new, and the next run must do all the work. Finally, N runs (100)
start together on the same files. --only takes the commands that begin with this text, such as
`check`. Needs strace (scripts/packages
strace); exit status 3 if it is missing. Two cores take about three minutes.",
    run: faults,
}];

/// The commands, and the files in the folder in which each is run.
const COMMANDS: &[(&str, &[&str])] = &[
    ("fmt .", &[PTX, OTHER]),
    ("check --fix --unsafe-fixes .", &[PTX, OTHER]),
    ("check --add-ignore .", &[PTX, OTHER]),
    ("check --baseline known.json --update-baseline .", &[PTX, OTHER]),
    ("check --format sarif --output-file report .", &[PTX, OTHER]),
    ("rewrite --quiet --all --target sm_90 --in-place one.ptx two.ptx", &[PTX, OTHER]),
    ("rewrite --quiet --all --target sm_90 -o out one.ptx two.ptx", &[PTX, OTHER]),
    ("lower --emit c -o functions.h one.ptx", &[PTX]),
    ("port --to c --header vptx_video.h .", &[CUDA]),
    ("extract -o out a.bin", &[BINARY]),
    ("man --out out", &[]),
];

const PTX: &str = "one.ptx";
const OTHER: &str = "two.ptx";
const CUDA: &str = "a.cu";
const BINARY: &str = "a.bin";

/// System calls, and for each the errors that strace injects.
const CALLS: &[(&str, &[&str])] = &[
    ("write", &["ENOSPC", "EIO"]),
    ("writev,pwrite64,copy_file_range,sendfile", &["ENOSPC"]),
    ("openat", &["ENOSPC", "EACCES", "EMFILE"]),
    ("rename,renameat,renameat2,link,linkat", &["ENOSPC", "EACCES"]),
    ("fsync,fdatasync", &["EIO"]),
    ("ftruncate,fallocate", &["ENOSPC"]),
    ("fchmod,fchown,fchmodat,fchownat", &["EPERM"]),
    ("flock,fcntl", &["EINTR", "ENOLCK"]),
    ("mkdir,mkdirat", &["ENOSPC", "EACCES"]),
    ("fstat,statx,newfstatat,lstat", &["EIO"]),
    ("read,pread64", &["EIO"]),
];

type Files = BTreeMap<PathBuf, Vec<u8>>;

/// A command in its folder, and the contents of the files before and after it.
struct Case<'a> {
    line: &'static str,
    program: &'a Path,
    folder: PathBuf,
    old: Files,
    new: Files,
    status: i32,
    time: Duration,
}

fn faults(arguments: &[String]) -> Outcome {
    let (mut kills, mut together, mut only) = (100, 100, String::new());
    let mut options = Options::new(arguments);
    while let Some(option) = options.next() {
        match option {
            "--kills" => kills = options.value()?,
            "--together" => together = options.value()?,
            "--only" => only = options.value()?,
            _ => return Err(Failure::Usage),
        }
    }
    if !exists("strace") {
        return Err(Failure::Missing("strace is missing".into()));
    }
    run(&mut words("cargo build --profile test --quiet --locked"))?;
    let program = target().join("debug/vptx");
    let mut troubles = 0;
    for (line, files) in COMMANDS.iter().filter(|(line, _)| line.starts_with(&only)) {
        let scratch = Scratch::new()?;
        let case = Case::new(line, files, &program, scratch.path())?;
        let injected = case.inject(&mut troubles)?;
        let left = case.kill(kills, &mut troubles)?;
        case.run_together(together, &mut troubles)?;
        println!(
            "vptx {line}: {injected} errors; {kills} kills, after which {left} times a temporary \
             file stayed; {together} runs together"
        );
    }
    if troubles == 0 { Ok(()) } else { Err(Failure::Message(format!("{troubles} troubles"))) }
}

/// Whether a file is a complete report about the files that could be read.
fn is_whole_report(name: &Path, bytes: &[u8]) -> bool {
    let is_report = ["report", "known.json"].iter().any(|report| name == Path::new(report));
    is_report && bytes.starts_with(b"{") && bytes.trim_ascii_end().ends_with(b"}")
}

/// Whether the injected error is in writing to standard error.
fn is_mute(trace: &str) -> bool {
    trace.lines().any(|line| line.contains(" write(2, ") && line.contains("(INJECTED)"))
}

fn tell(troubles: &mut usize, what: &str) {
    *troubles += 1;
    println!("{what}");
}

impl<'a> Case<'a> {
    fn new(
        line: &'static str,
        files: &[&str],
        program: &'a Path,
        scratch: &Path,
    ) -> Outcome<Case<'a>> {
        let mut old = Files::new();
        for &name in files {
            let from = match name {
                PTX => "fixtures/ptx/nvcc/video_simd.sm_90.ptx",
                // The file has something to fix.
                OTHER => "fixtures/diagnostics/V401.ptx",
                CUDA => "fixtures/cuda/video_simd.cu",
                _ => "fixtures/fatbin/balance.fatbin",
            };
            old.insert(name.into(), fs::read(root().join(from))?);
        }
        let folder = scratch.join("work");
        let mut case =
            Case { line, program, folder, new: Files::new(), old, status: 0, time: Duration::ZERO };
        case.reset()?;
        let start = Instant::now();
        case.status = case.command().status()?.code().unwrap_or(-1);
        case.time = start.elapsed();
        case.new = case.files(&case.folder)?;
        if case.new == case.old || case.status > 1 {
            return Err(Failure::Message(format!("vptx {line}: writes nothing")));
        }
        Ok(case)
    }

    fn reset(&self) -> Outcome {
        if self.folder.exists() {
            fs::remove_dir_all(&self.folder)?;
        }
        fs::create_dir_all(&self.folder)?;
        for (name, bytes) in &self.old {
            fs::write(self.folder.join(name), bytes)?;
        }
        Ok(())
    }

    fn files(&self, folder: &Path) -> Outcome<Files> {
        let mut files = Files::new();
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_dir() {
                files.extend(self.files(&path)?);
            } else {
                let name = path.strip_prefix(&self.folder).unwrap_or(&path);
                files.insert(name.into(), fs::read(&path)?);
            }
        }
        Ok(files)
    }

    fn command(&self) -> Command {
        let mut run = command([self.program]);
        self.arguments(&mut run);
        run
    }

    fn arguments(&self, run: &mut Command) {
        run.args(self.line.split(' ')).current_dir(&self.folder);
        run.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    }

    /// The damage to the files: each must have its old or its new contents.
    fn damage(
        &self,
        status: Option<i32>,
        may_stay: impl Fn(&Path) -> bool,
    ) -> Outcome<Option<String>> {
        let now = self.files(&self.folder)?;
        for (name, bytes) in &now {
            let is_right = [&self.old, &self.new].iter().any(|it| it.get(name) == Some(bytes));
            let is_right = is_right || status == Some(2) && is_whole_report(name, bytes);
            let is_known = self.old.contains_key(name) || self.new.contains_key(name);
            if !is_right && is_known {
                return Ok(Some(format!("{} is torn", name.display())));
            }
            if !is_known && !may_stay(name) {
                return Ok(Some(format!("{} stays", name.display())));
            }
        }
        let lost = self.old.keys().find(|name| !now.contains_key(*name));
        Ok(lost.map(|name| format!("{} is lost", name.display())))
    }

    /// Makes each system call fail in turn. Returns the number of injected errors.
    fn inject(&self, troubles: &mut usize) -> Outcome<usize> {
        let mut count = 0;
        let log = self.folder.with_file_name("log");
        for (calls, errors) in CALLS {
            for error in *errors {
                for when in 1.. {
                    self.reset()?;
                    let mut traced = words("strace -f -qq -o");
                    let inject = format!("inject={calls}:error={error}:when={when}");
                    traced.arg(&log).args(["-e", &format!("trace={calls}"), "-e", &inject]);
                    traced.arg(self.program);
                    self.arguments(&mut traced);
                    // All work is done in one thread, so that only one call fails.
                    let output =
                        traced.env("RAYON_NUM_THREADS", "1").stderr(Stdio::piped()).output()?;
                    let trace = fs::read_to_string(&log)?;
                    let Some(failed) = trace.lines().find(|line| line.contains("(INJECTED)"))
                    else {
                        break;
                    };
                    // The error occurred while the system started the program, before vptx did
                    // anything.
                    if output.status.code() == Some(127) {
                        continue;
                    }
                    count += 1;
                    let said = String::from_utf8_lossy(&output.stderr);
                    let is_done = self.files(&self.folder)? == self.new;
                    let wrong = match self.damage(output.status.code(), |_| false)? {
                        Some(damage) => Some(damage),
                        None if !is_done && output.status.code() != Some(2) => {
                            Some(format!("not done, but {}", output.status))
                        }
                        // Each thread counts its calls separately, so the error may also hit the
                        // message.
                        None if !is_done && !said.contains("vptx: ") && !is_mute(&trace) => {
                            Some(format!("not done, but only said {said:?}"))
                        }
                        None => None,
                    };
                    if let Some(wrong) = wrong {
                        let what = format!("{wrong}; {failed}; {}", said.trim());
                        tell(troubles, &format!("vptx {}: {what}", self.line));
                    }
                }
            }
        }
        Ok(count)
    }

    /// Kills runs at random moments. Returns the number of runs that left a temporary file, which a
    /// killed program cannot remove.
    fn kill(&self, count: u32, troubles: &mut usize) -> Outcome<usize> {
        let mut left = 0;
        for round in 0..count {
            self.reset()?;
            let mut child = self.command().spawn()?;
            // The moments are spread evenly over the run time, in irregular order.
            let part = f64::from(round.wrapping_mul(2_654_435_769) >> 8) / f64::from(1 << 24);
            thread::sleep(self.time.mul_f64(part * 1.1));
            child.kill()?;
            child.wait()?;
            let is_temporary = |name: &Path| {
                let name = name.file_name().unwrap_or_default().to_string_lossy();
                name.starts_with(".vptx-") || name.ends_with(".vptx-lock")
            };
            left += usize::from(self.damage(None, |_| false)?.is_some());
            let mut wrong = self.damage(None, is_temporary)?;
            if wrong.is_none() {
                let status = self.command().status()?;
                let mut now = self.files(&self.folder)?;
                now.retain(|name, _| !is_temporary(name));
                if status.code().is_none_or(|code| code > 1) || now != self.new {
                    wrong = Some(format!("the next run does not end the work: {status}"));
                }
            }
            if let Some(wrong) = wrong {
                tell(troubles, &format!("vptx {}, killed: {wrong}", self.line));
            }
        }
        Ok(left)
    }

    fn run_together(&self, count: usize, troubles: &mut usize) -> Outcome {
        self.reset()?;
        let children: Vec<_> =
            (0..count).map(|_| self.command().spawn()).collect::<std::io::Result<_>>()?;
        let mut failed = 0;
        for mut child in children {
            failed += usize::from(child.wait()?.code().is_none_or(|code| code > 2));
        }
        if let Some(wrong) = self.damage(None, |_| false)? {
            tell(troubles, &format!("vptx {}, {count} together: {wrong}", self.line));
        }
        if failed > 0 || self.files(&self.folder)? != self.new {
            tell(troubles, &format!("vptx {}, {count} together: not done", self.line));
        }
        Ok(())
    }
}
