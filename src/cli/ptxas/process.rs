//! Runs the real ptxas.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::path::Path;
use std::process::{Command, ExitStatus, Output, Stdio};

use super::real::TRIED;

/// The environment variable with the settings of the C library.
#[cfg(target_os = "linux")]
const TUNABLES: &str = "GLIBC_TUNABLES";
/// The setting that asks the system for huge pages. It has an effect if the system gives huge pages
/// on request.
#[cfg(target_os = "linux")]
const HUGE_PAGES: &str = "glibc.malloc.hugetlb=1";

/// The exit status of a child of this program that could not become ptxas. Shells use the same
/// status.
#[cfg(target_os = "linux")]
pub(super) const NOT_STARTED: i32 = 126;

/// A call of the real ptxas.
#[derive(Clone, Copy)]
pub(super) struct Call<'c> {
    pub(super) real: &'c Path,
    pub(super) words: &'c [OsString],
    /// The standard input for ptxas, if this program has read its own.
    pub(super) stdin: Option<&'c File>,
    /// The value of [`TRIED`].
    pub(super) tried: &'c OsStr,
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    Code(i32),
    #[cfg_attr(not(unix), allow(dead_code, reason = "only Unix has signals"))]
    Signal(i32),
}

impl Ended {
    fn of(status: ExitStatus) -> Ended {
        #[cfg(unix)]
        if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
            return Ended::Signal(signal);
        }
        Ended::Code(status.code().unwrap_or(super::super::FAILED.into()))
    }

    /// Whether somebody ended the process on purpose. Otherwise, a bug ended it.
    pub(super) fn is_wanted(self) -> bool {
        #[cfg(unix)]
        {
            use signal_hook::consts::{SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV};
            let Ended::Signal(signal) = self else { return false };
            ![SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV].contains(&signal)
        }
        #[cfg(not(unix))]
        false
    }

    /// Ends this process in the same way.
    pub(super) fn end(self) -> ! {
        match self {
            Ended::Code(code) => std::process::exit(code),
            Ended::Signal(signal) => {
                #[cfg(unix)]
                let _ = signal_hook::low_level::emulate_default_handler(signal);
                // If the signal did not end this process, the exit status tells the signal as in
                // shells.
                std::process::exit(128 + signal)
            }
        }
    }
}

/// Makes the system tell how children end. By default, it does not if the parent of this process
/// ignores `SIGCHLD`: this process inherits that.
pub(super) fn watch_children() {
    #[cfg(unix)]
    let _ = signal_hook::flag::register(signal_hook::consts::SIGCHLD, std::sync::Arc::default());
}

impl Call<'_> {
    fn command(&self, program: &Path) -> io::Result<Command> {
        let mut command = Command::new(program);
        command.env(TRIED, self.tried);
        // With huge pages, ptxas takes less time, as it touches fewer pages of memory.
        #[cfg(target_os = "linux")]
        if std::env::var_os(TUNABLES).is_none() {
            command.env(TUNABLES, HUGE_PAGES);
        }
        if let Some(file) = self.stdin {
            io::Seek::rewind(&mut &*file)?;
            command.stdin(Stdio::from(file.try_clone()?));
        }
        Ok(command)
    }

    /// Replaces this process by ptxas. Returns only if that is impossible, with how ptxas ended, or
    /// why it was not started.
    pub(super) fn replace_this_process(&self) -> io::Result<Ended> {
        #[cfg(unix)]
        {
            let mut command = self.command(self.real)?;
            Err(std::os::unix::process::CommandExt::exec(command.args(self.words)))
        }
        #[cfg(not(unix))]
        self.run()
    }

    /// Runs ptxas with the streams of this process.
    pub(super) fn run(&self) -> io::Result<Ended> {
        let output = self.started(|command| {
            let status = command.status()?;
            Ok(Output { status, stdout: Vec::new(), stderr: Vec::new() })
        })?;
        Ok(Ended::of(output.status))
    }

    /// Runs ptxas, and keeps what it prints.
    pub(super) fn run_silently(&self) -> io::Result<(Ended, Output)> {
        let output = self.started(|command| {
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?.wait_with_output()
        })?;
        Ok((Ended::of(output.status), output))
    }

    /// The answer of ptxas to `--version`. ptxas gets no input here: standard input is for a
    /// module.
    pub(super) fn version(&self) -> io::Result<String> {
        let mut command = Command::new(self.real);
        let output =
            command.env(TRIED, self.tried).arg("--version").stdin(Stdio::null()).output()?;
        if !output.status.success() {
            return Err(io::Error::other("it does not tell its version"));
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Runs ptxas as a child. On Linux, the child ends when this process is killed. Only the child
    /// itself can ask the system for that, so this program is started as the child first, and then
    /// becomes ptxas.
    fn started(&self, run: impl Fn(&mut Command) -> io::Result<Output>) -> io::Result<Output> {
        #[cfg(target_os = "linux")]
        if let Ok(this) = std::env::current_exe() {
            use std::os::unix::process::CommandExt;
            let parent = std::process::id().to_string();
            let mut command = self.command(&this)?;
            command.arg0("vptx").args(["ptxas", "--child-of", &parent, "--"]).arg(self.real);
            match run(command.args(self.words)) {
                // The file of this program is gone.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                // The direct call below tells the reason.
                Ok(output) if output.status.code() == Some(NOT_STARTED) => {}
                done => return done,
            }
        }
        run(self.command(self.real)?.args(self.words))
    }
}

/// Replaces this process by the program that the first word names. The program ends when the parent
/// ends. Returns only if the program cannot be started.
#[cfg(target_os = "linux")]
pub(super) fn become_child(parent: u32, words: &[OsString]) {
    use std::os::unix::process::CommandExt;

    use rustix::process::{Signal, getppid, set_parent_process_death_signal};

    let Some((program, words)) = words.split_first() else { return };
    // If this fails, ptxas outlives its parent.
    let _ = set_parent_process_death_signal(Some(Signal::TERM));
    let is_parent = |pid: rustix::process::Pid| pid.as_raw_nonzero().get().unsigned_abs() == parent;
    if getppid().is_some_and(is_parent) {
        let _ = Command::new(program).args(words).exec();
    }
}
