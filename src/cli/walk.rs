//! Which files of folders are read, and by how many threads.
// Doc comments of arguments are help texts, not Markdown.
#![allow(clippy::doc_markdown)]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use clap::Args;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use ignore::{Walk, WalkBuilder};

use super::input::reason;
use super::settings::matches;

#[derive(Debug, Args)]
pub(super) struct WalkArguments {
    /// Skip such files in directories; the pattern is that of .gitignore, relative
    /// to the current directory; may be repeated
    #[arg(long, value_name = "PATTERN")]
    exclude: Vec<String>,

    /// In directories, also read files that .gitignore, .ignore and the like exclude
    #[arg(long)]
    no_ignore: bool,

    /// Use this many threads [default: one for each core]
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    jobs: Option<u16>,
}

impl WalkArguments {
    /// Makes all later work take as many threads as are wanted; once in a process.
    pub(super) fn set_threads(&self) -> Result<(), String> {
        let Some(jobs) = self.jobs else {
            return Ok(());
        };
        let pool = rayon::ThreadPoolBuilder::new().num_threads(jobs.into());
        pool.build_global().map_err(|error| format!("cannot start {jobs} threads: {error}"))
    }

    /// The rules that the arguments give.
    pub(super) fn rules(&self) -> Result<WalkRules, String> {
        let lines: Vec<String> = self.exclude.iter().map(|line| line_of(line)).collect();
        let excluded = if lines.is_empty() {
            Gitignore::empty()
        } else {
            let here = fs::canonicalize(".")
                .map_err(|error| format!("cannot find the current folder: {}", reason(&error)))?;
            let mut builder = GitignoreBuilder::new(here);
            for line in &lines {
                if line.starts_with("../") {
                    let why = "it is outside the current directory";
                    return Err(format!("--exclude: `{line}` excludes nothing: {why}"));
                }
                builder.add_line(None, line).map_err(|error| wrong(&error))?;
            }
            builder.build().map_err(|error| wrong(&error))?
        };
        Ok(WalkRules { lines, excluded, no_ignore: self.no_ignore })
    }
}

/// A pattern as a line of .gitignore, which knows no `./`.
fn line_of(pattern: &str) -> String {
    pattern.strip_prefix("./").map_or_else(|| pattern.to_string(), |rest| format!("/{rest}"))
}

fn wrong(error: &ignore::Error) -> String {
    format!("--exclude: {error}")
}

/// The options of the command line for walking directories.
#[derive(Debug)]
pub(super) struct WalkRules {
    /// The patterns, which start from the current folder.
    pub(super) lines: Vec<String>,
    excluded: Gitignore,
    no_ignore: bool,
}

/// Files that say what to leave out of a folder. What else has such a name would be read
/// all the same: a pipe without end, or a device.
const IGNORE_FILES: [&str; 3] = [".gitignore", ".ignore", ".git/info/exclude"];

/// The file in a folder that is named as an ignore file and is none.
fn false_ignore_file(folder: &Path) -> Option<PathBuf> {
    let files = IGNORE_FILES.iter().map(|name| folder.join(name));
    files
        .into_iter()
        .find(|file| fs::metadata(file).is_ok_and(|data| !data.is_file() && !data.is_dir()))
}

/// Files that prevent folders from being walked, collected during the walk.
pub(super) type Blocked = Arc<Mutex<Vec<PathBuf>>>;

impl WalkRules {
    /// All of a folder, in order of the names, less the folders whose ignore files cannot
    /// be read; those are found on the way.
    pub(super) fn walk(&self, folder: &Path) -> (Option<Walk>, Blocked) {
        let heeded = !self.no_ignore;
        let blocked = Blocked::default();
        let mut builder = WalkBuilder::new(folder);
        if heeded {
            // The walk asks for no leave to enter its first folder, and reads what is
            // above before.
            let whole = fs::canonicalize(folder).unwrap_or_else(|_| folder.to_path_buf());
            if let Some(file) = whole.ancestors().find_map(false_ignore_file) {
                lock(&blocked).push(file);
                return (None, blocked);
            }
            let found = Arc::clone(&blocked);
            builder.filter_entry(move |entry| {
                let is_folder = entry.file_type().is_some_and(|kind| kind.is_dir());
                let file = if is_folder { false_ignore_file(entry.path()) } else { None };
                let enters = file.is_none();
                lock(&found).extend(file);
                enters
            });
        }
        let walk = builder
            .sort_by_file_path(Path::cmp)
            .require_git(false)
            .ignore(heeded)
            .git_ignore(heeded)
            .git_global(heeded)
            .git_exclude(heeded)
            .parents(heeded)
            .build();
        (Some(walk), blocked)
    }

    /// Whether a file, whose whole path `path` finds, is left out.
    pub(super) fn exclude(&self, path: impl FnOnce() -> PathBuf) -> bool {
        !self.excluded.is_empty() && matches(&self.excluded, &path())
    }
}

/// The files collected so far.
pub(super) fn lock(blocked: &Blocked) -> MutexGuard<'_, Vec<PathBuf>> {
    blocked.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The inputs: the paths; or, without any, standard input if it has a name, else the
/// current folder.
pub(super) fn subjects(paths: &[PathBuf], stdin: Option<&Path>) -> Vec<PathBuf> {
    match (paths, stdin) {
        ([], Some(_)) => vec!["-".into()],
        ([], None) => vec![".".into()],
        _ => paths.to_vec(),
    }
}
