//! Finds the ptxas to call.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::report::visible_path;
use crate::workspace::files::Identity;

/// The environment variable that names the ptxas to call.
const CHOSEN: &str = "VPTX_PTXAS";
/// The environment variable with the programs whose calls have led from an outer vptx to this
/// process.
pub(super) const TRIED: &str = "VPTX_PTXAS_TRIED";

/// Programs that must not be called: this program, and programs that have led back to it.
#[derive(Debug)]
pub(super) struct Tried(Vec<PathBuf>);

impl Tried {
    /// This program, and the programs that an outer vptx has called.
    pub(super) fn new() -> Tried {
        let before = env::var_os(TRIED).unwrap_or_default();
        let mut tried: Vec<PathBuf> =
            env::split_paths(&before).filter(|path| !path.as_os_str().is_empty()).collect();
        tried.extend(env::current_exe());
        Tried(tried)
    }

    /// Whether another vptx called this one, and has already rewritten the modules.
    pub(super) fn is_inner() -> bool {
        env::var_os(TRIED).is_some_and(|tried| !tried.is_empty())
    }

    fn has(&self, path: &Path) -> bool {
        let own = Identity::of(path);
        self.0.iter().any(|tried| tried == path || own.is_some() && Identity::of(tried) == own)
    }

    /// The value of [`TRIED`] for the program that is called.
    pub(super) fn with(&self, real: &Path) -> Result<OsString, NoPtxas> {
        if env::join_paths([real]).is_err() {
            return Err(NoPtxas::Separator(visible_path(real)));
        }
        let can_stand = |path: &&Path| env::join_paths([path]).is_ok();
        let all = self.0.iter().map(PathBuf::as_path).filter(can_stand).chain([real]);
        Ok(env::join_paths(all).unwrap_or_default())
    }
}

/// Why there is no ptxas to call.
#[derive(Debug, Error)]
pub(super) enum NoPtxas {
    #[error("{CHOSEN} names no program: `{0}`")]
    NoProgram(String),
    #[error("{CHOSEN} leads back to vptx: `{0}`")]
    Circle(String),
    /// Names and folders, as lists.
    #[error(
        "there is no {names} but vptx itself in PATH, CUDA_HOME or CUDA_PATH; set {CHOSEN} to the \
         path of NVIDIA's ptxas\nlooked in: {folders}"
    )]
    Nowhere { names: String, folders: String },
    /// The path of the program cannot stand in a list of paths.
    #[error("`{0}` cannot be called: its path has the character that separates paths")]
    Separator(String),
}

/// Finds the ptxas to call. `called` is the name that this program was called by.
pub(super) fn find(called: &OsStr, tried: &Tried) -> Result<PathBuf, NoPtxas> {
    if let Some(chosen) = env::var_os(CHOSEN).filter(|chosen| !chosen.is_empty()) {
        let mut path = PathBuf::from(chosen);
        if path.parent() == Some(Path::new("")) {
            // A program without a folder would be looked for in PATH.
            path = Path::new(".").join(path);
        }
        let shown = visible_path(&path);
        return match () {
            () if !is_program(&path) => Err(NoPtxas::NoProgram(shown)),
            () if tried.has(&path) => Err(NoPtxas::Circle(shown)),
            () => Ok(path),
        };
    }
    let usual = OsString::from(format!("ptxas{}", env::consts::EXE_SUFFIX));
    let mut names = vec![called.to_os_string()];
    if called != usual {
        names.push(usual);
    }
    let folders = folders();
    let found = names.iter().find_map(|name| {
        let paths = folders.iter().map(|folder| folder.join(name));
        paths.into_iter().find(|path| is_program(path) && !tried.has(path))
    });
    found.ok_or_else(|| {
        let names: Vec<String> =
            names.iter().map(|name| format!("`{}`", visible_path(Path::new(name)))).collect();
        let folders: Vec<String> = folders.iter().map(|it| visible_path(it)).collect();
        NoPtxas::Nowhere { names: names.join(" or "), folders: folders.join(", ") }
    })
}

/// The folders to search, each once.
fn folders() -> Vec<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let toolkits = ["CUDA_HOME", "CUDA_PATH"].into_iter().filter_map(env::var_os);
    let toolkits = toolkits.filter(|toolkit| !toolkit.is_empty());
    let known = toolkits.map(PathBuf::from).chain([PathBuf::from("/usr/local/cuda")]);
    let mut folders: Vec<PathBuf> = Vec::new();
    for folder in env::split_paths(&path).chain(known.map(|toolkit| toolkit.join("bin"))) {
        if !folder.as_os_str().is_empty() && !folders.contains(&folder) {
            folders.push(folder);
        }
    }
    folders
}

/// Whether a path names a program that may be called.
fn is_program(path: &Path) -> bool {
    #[cfg(unix)]
    if rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_err() {
        return false;
    }
    fs::metadata(path).is_ok_and(|data| data.is_file())
}
