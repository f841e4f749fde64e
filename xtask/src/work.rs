//! Runs other programs in the root of the repository.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::str::FromStr;
use std::{fs, io};

/// Why a command did not succeed.
pub enum Failure {
    /// The command does not take such arguments.
    Usage,
    /// A tool is missing, and the command does not install it.
    Missing(String),
    /// Another problem, described in a sentence.
    Message(String),
    /// Another program failed.
    Command { line: String, status: u8 },
}

pub type Outcome<T = ()> = Result<T, Failure>;

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Failure {
        Failure::Message(error.to_string())
    }
}

/// The root of the repository.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the root is above")
}

/// The folder that `scripts/cuda-tools` installs into.
pub fn tools() -> PathBuf {
    std::env::var_os("VPTX_CUDA_DIR").map_or_else(|| root().join(".cuda"), PathBuf::from)
}

/// The folder that cargo builds into.
pub fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

/// The files of a folder whose names are wanted, in order.
pub fn files(folder: &Path, wanted: impl Fn(&str) -> bool) -> Outcome<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_file() && wanted(&path.file_name().expect("a name").to_string_lossy()) {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// The options of a command. Most of them are followed by a value.
pub struct Options<'a>(std::slice::Iter<'a, String>);

impl<'a> Options<'a> {
    pub fn new(arguments: &'a [String]) -> Options<'a> {
        Options(arguments.iter())
    }

    /// The next option.
    pub fn next(&mut self) -> Option<&'a str> {
        self.0.next().map(String::as_str)
    }

    /// The value of the option.
    pub fn value<T: FromStr>(&mut self) -> Outcome<T> {
        self.next().and_then(|value| value.parse().ok()).ok_or(Failure::Usage)
    }
}

/// A program with arguments, which starts in the root.
pub fn command(words: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Command {
    let mut words = words.into_iter();
    let mut command = Command::new(words.next().expect("a program"));
    command.args(words).current_dir(root());
    command
}

/// Like [`command`], but splits a line at blanks.
pub fn words(line: &str) -> Command {
    command(line.split_whitespace())
}

/// Runs a program; it writes to this terminal.
pub fn run(command: &mut Command) -> Outcome {
    let status = command.status().map_err(|error| cannot_start(command, &error))?;
    if status.success() { Ok(()) } else { Err(failed(command, status.code())) }
}

/// Runs a program, and returns what it writes; errors go to this terminal.
pub fn output(command: &mut Command) -> Outcome<String> {
    let Output { status, stdout, .. } =
        command.stderr(Stdio::inherit()).output().map_err(|error| cannot_start(command, &error))?;
    if status.success() {
        Ok(String::from_utf8_lossy(&stdout).into_owned())
    } else {
        Err(failed(command, status.code()))
    }
}

/// Whether a program runs and succeeds.
pub fn succeeds(command: &mut Command) -> bool {
    let quiet = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    quiet.status().is_ok_and(|status| status.success())
}

/// Whether there is a program of this name.
pub fn exists(program: &str) -> bool {
    succeeds(&mut command([program, "--version"]))
}

/// Installs the tools of `scripts/cuda-tools`.
pub fn cuda_tools(options: &str) -> Outcome {
    let script = root().join("scripts/cuda-tools");
    run(command([script]).arg("--quiet").args(options.split_whitespace()))
}

/// A command that runs the ignored tests of `tests/live` whose names contain `filter`.
pub fn live(filter: &str) -> Command {
    let mut command = words("cargo test --locked --test live");
    command.args([filter, "--", "--ignored", "--nocapture"]);
    command
}

fn cannot_start(command: &Command, error: &io::Error) -> Failure {
    Failure::Message(format!("cannot start {}: {error}", command.get_program().display()))
}

fn failed(command: &Command, status: Option<i32>) -> Failure {
    let words = [command.get_program()].into_iter().chain(command.get_args());
    let line: Vec<_> = words.map(OsStr::to_string_lossy).collect();
    // If a signal ended the program, there is no status.
    let status = status.and_then(|status| u8::try_from(status).ok()).unwrap_or(1);
    Failure::Command { line: line.join(" "), status }
}

/// A folder that is removed in the end.
pub struct Scratch(PathBuf);

impl Scratch {
    pub fn new() -> Outcome<Scratch> {
        let path = output(&mut words("mktemp -d"))?;
        Ok(Scratch(PathBuf::from(path.trim_end())))
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // It does no harm if a temporary folder stays.
        let _ = fs::remove_dir_all(&self.0);
    }
}
