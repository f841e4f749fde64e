//! Searches folders for files to read, and sets the number of threads.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use clap::Args;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use ignore::{Walk, WalkBuilder};
use thiserror::Error;

use super::error::FileError;
use super::settings::{line_of, matches};

#[derive(Debug, Args)]
pub(crate) struct WalkArguments {
    /// In directories, skip files that match the pattern, which is as in .gitignore and
    /// relative to the current directory; the option may be repeated
    #[arg(long, value_name = "PATTERN")]
    exclude: Vec<String>,

    /// In directories, also read files that .gitignore, .ignore and the like exclude
    #[arg(long)]
    no_ignore: bool,

    /// Use this many threads [default: one for each core]
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    jobs: Option<u16>,
}

/// Why folders cannot be searched in the way that the arguments ask for.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(crate) enum WalkError {
    #[error("cannot start {jobs} threads: {why}")]
    Threads { jobs: u16, why: String },
    #[error(transparent)]
    Folder(#[from] FileError),
    #[error("--exclude: `{0}` excludes nothing: it is outside the current directory")]
    Outside(String),
    #[error("--exclude: {0}")]
    Pattern(String),
}

impl WalkArguments {
    /// Sets the number of threads for all later work. This is possible once in a process.
    pub(crate) fn set_threads(&self) -> Result<(), WalkError> {
        let Some(jobs) = self.jobs else {
            return Ok(());
        };
        let pool = rayon::ThreadPoolBuilder::new().num_threads(jobs.into());
        pool.build_global().map_err(|error| WalkError::Threads { jobs, why: error.to_string() })
    }

    /// The search rules that the arguments give.
    pub(crate) fn rules(&self) -> Result<WalkRules, WalkError> {
        let (mut lines, mut excluded) = (Vec::new(), Gitignore::empty());
        if !self.exclude.is_empty() {
            let here = fs::canonicalize(".")
                .map_err(|error| FileError::unnamed("find the current folder", &error))?;
            let mut builder = GitignoreBuilder::new(&here);
            for pattern in &self.exclude {
                let line = line_of(pattern, &here);
                let line = line.ok_or_else(|| WalkError::Outside(pattern.clone()))?;
                builder.add_line(None, &line).map_err(|error| wrong(&error))?;
                lines.push(line.into());
            }
            excluded = builder.build().map_err(|error| wrong(&error))?;
        }
        Ok(WalkRules { lines, excluded, no_ignore: self.no_ignore })
    }
}

fn wrong(error: &ignore::Error) -> WalkError {
    WalkError::Pattern(error.to_string())
}

/// The options of the command line for searching directories.
#[derive(Debug)]
pub(crate) struct WalkRules {
    /// The patterns, which are relative to the current folder.
    pub(crate) lines: Vec<String>,
    excluded: Gitignore,
    no_ignore: bool,
}

/// The names of files that list what a search leaves out. The search would also read a pipe or a
/// device with such a name, perhaps without end.
const IGNORE_FILES: [&str; 3] = [".gitignore", ".ignore", ".git/info/exclude"];

/// The first entry of a folder that has the name of an ignore file, but is neither a regular file
/// nor a folder.
fn false_ignore_file(folder: &Path) -> Option<PathBuf> {
    let files = IGNORE_FILES.iter().map(|name| folder.join(name));
    files
        .into_iter()
        .find(|file| fs::metadata(file).is_ok_and(|data| !data.is_file() && !data.is_dir()))
}

/// The false ignore files that keep folders from being searched, as found so far.
pub(crate) type Blocked = Arc<Mutex<Vec<PathBuf>>>;

impl WalkRules {
    /// Walks a folder in the order of names. Folders with a false ignore file are skipped, and
    /// these files are collected during the walk.
    pub(crate) fn walk(&self, folder: &Path) -> (Option<Walk>, Blocked) {
        let heeded = !self.no_ignore;
        let blocked = Blocked::default();
        let mut builder = WalkBuilder::new(folder);
        if heeded {
            // The filter below is not asked about the first folder, and ignore files above that
            // folder are read before it.
            let whole = fs::canonicalize(folder).unwrap_or_else(|_| folder.to_path_buf());
            if let Some(file) = whole.ancestors().find_map(false_ignore_file) {
                lock(&blocked).push(file);
                return (None, blocked);
            }
            // In a repository, a `.gitignore` above it does not hold. Outside of one, all hold.
            let has_git = |it: &Path| it.join(".git").symlink_metadata().is_ok();
            builder.require_git(whole.ancestors().any(has_git));
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
            .ignore(heeded)
            .git_ignore(heeded)
            .git_global(heeded)
            .git_exclude(heeded)
            .parents(heeded)
            .build();
        (Some(walk), blocked)
    }

    /// Whether a file is left out. `path` finds its whole path.
    pub(crate) fn exclude(&self, path: impl FnOnce() -> PathBuf) -> bool {
        !self.excluded.is_empty() && matches(&self.excluded, &path())
    }
}

/// Locks the list of files collected so far.
pub(crate) fn lock(blocked: &Blocked) -> MutexGuard<'_, Vec<PathBuf>> {
    blocked.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The inputs: the given paths. Without paths, the input is standard input if it has a name,
/// otherwise the current folder.
pub(crate) fn subjects(paths: &[PathBuf], stdin: Option<&Path>) -> Vec<PathBuf> {
    match (paths, stdin) {
        ([], Some(_)) => vec!["-".into()],
        ([], None) => vec![".".into()],
        _ => paths.to_vec(),
    }
}
