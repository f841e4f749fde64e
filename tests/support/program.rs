//! Runs the program like a user.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

/// The folder of the repository.
pub(crate) const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// The result of a run.
pub(crate) struct Run {
    pub(crate) status: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Run {
    /// Both outputs and the exit status as one text, for a snapshot.
    pub(crate) fn transcript(&self) -> String {
        format!(
            "status: {}\n-- stdout --\n{}-- stderr --\n{}",
            self.status, self.stdout, self.stderr
        )
    }
}

/// A text without escapes for colours.
pub(crate) fn without_colours(text: &str) -> String {
    let mut pieces = text.split('\x1b');
    let first = pieces.next().unwrap_or_default().to_string();
    pieces.fold(first, |plain, piece| {
        let (_, rest) = piece.split_once('m').expect(piece);
        plain + rest
    })
}

/// Starts the program in a folder, with pipes and 80 columns.
pub(crate) fn start(folder: &Path, arguments: &[&str]) -> Child {
    start_with(folder, arguments, &[])
}

/// Like [`start`], with variables of the environment.
pub(crate) fn start_with(folder: &Path, arguments: &[&str], variables: &[(&str, &str)]) -> Child {
    Command::new(env!("CARGO_BIN_EXE_vptx"))
        .args(arguments)
        .envs(variables.iter().copied())
        .current_dir(folder)
        .env("COLUMNS", "80")
        .env_remove("NO_COLOR")
        .env_remove("CLICOLOR_FORCE")
        .env_remove("RUST_BACKTRACE")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts")
}

/// Runs the program in a folder on some input. The output may be any bytes.
pub(crate) fn output_in(folder: &Path, arguments: &[&str], stdin: &[u8]) -> Output {
    let mut child = start(folder, arguments);
    let mut input = child.stdin.take().expect("a pipe");
    std::thread::scope(|scope| {
        // The program may write before it has read everything, or end early.
        scope.spawn(move || input.write_all(stdin));
        child.wait_with_output().expect("the program ends")
    })
}

/// Runs the program in a folder on some input.
pub(crate) fn vptx_in(folder: &Path, arguments: &[&str], stdin: &[u8]) -> Run {
    let output = output_in(folder, arguments, stdin);
    Run {
        status: output.status.code().expect("no signal"),
        stdout: String::from_utf8(output.stdout).expect("UTF-8"),
        stderr: String::from_utf8(output.stderr).expect("UTF-8"),
    }
}

/// Runs the program in the folder of the repository.
pub(crate) fn vptx(arguments: &[&str], stdin: &str) -> Run {
    vptx_in(Path::new(ROOT), arguments, stdin.as_bytes())
}

/// A fresh folder, removed at the end.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Folder {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).expect("a folder");
        Folder(path)
    }

    pub(crate) fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        let path = self.0.join(name);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        fs::write(path, text).expect("a file");
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.0.join(name)).expect(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
