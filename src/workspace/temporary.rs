//! Temporary files, which are removed when the program ends.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tempfile::NamedTempFile;

use super::files::Access;

/// The files to remove before a signal ends the program.
static LISTED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Locked while no signal may end the program.
static STEADY: Mutex<()> = Mutex::new(());

fn lock<T>(mutex: &'static Mutex<T>) -> MutexGuard<'static, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Does a short piece of work that no signal interrupts. Only one such piece runs at a
/// time.
pub(crate) fn uninterrupted<T>(work: impl FnOnce() -> T) -> T {
    let _held = lock(&STEADY);
    work()
}

/// The name of a file that is removed if a signal ends the program. This holds until the value is
/// dropped.
#[derive(Debug)]
pub(crate) struct Listed(PathBuf);

impl Listed {
    /// Creates a file and lists its name.
    pub(crate) fn new<T>(
        make: impl FnOnce() -> io::Result<(T, PathBuf)>,
    ) -> io::Result<(T, Listed)> {
        #[cfg(unix)]
        signals::watch();
        // No signal comes between creating and listing the file.
        let mut listed = lock(&LISTED);
        let (new, path) = make()?;
        listed.push(path.clone());
        Ok((new, Listed(path)))
    }
}

impl Drop for Listed {
    fn drop(&mut self) {
        let mut listed = lock(&LISTED);
        if let Some(at) = listed.iter().position(|path| *path == self.0) {
            listed.swap_remove(at);
        }
    }
}

/// A new file in the folder of the file that it may replace. The file is removed when the value is
/// dropped, or when a signal ends the program.
#[derive(Debug)]
pub(crate) struct Temporary {
    // The file must be removed before its name leaves the list, so this field comes first.
    file: NamedTempFile,
    _listed: Listed,
}

impl Temporary {
    /// A file that only its owner may read, or, with `usual_permissions`, one with the permissions
    /// that programs usually give to new files.
    pub(crate) fn beside(path: &Path, usual_permissions: bool) -> io::Result<Temporary> {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let mut builder = tempfile::Builder::new();
        builder.prefix(".vptx-");
        #[cfg(unix)]
        if usual_permissions {
            use std::os::unix::fs::PermissionsExt;
            // The system removes the permissions in the file mode creation mask (umask).
            builder.permissions(std::fs::Permissions::from_mode(0o666));
        }
        #[cfg(not(unix))]
        let _ = usual_permissions;
        let (file, listed) = Listed::new(|| {
            let file = builder.tempfile_in(folder.unwrap_or(Path::new(".")))?;
            let path = file.path().to_path_buf();
            Ok((file, path))
        })?;
        Ok(Temporary { file, _listed: listed })
    }

    pub(crate) fn file(&self) -> &File {
        self.file.as_file()
    }

    #[cfg(not(target_os = "linux"))]
    pub(crate) fn path(&self) -> &Path {
        self.file.path()
    }

    /// Gives the file the name of another file, which it replaces.
    pub(crate) fn replace(self, path: &Path) -> io::Result<()> {
        self.file.persist(path).map(drop).map_err(|error| error.error)
    }

    /// Gives the file a name that no other file has.
    pub(crate) fn name(self, path: &Path) -> io::Result<()> {
        self.file.persist_noclobber(path).map(drop).map_err(|error| error.error)
    }

    /// Keeps the file where it is, and returns its path.
    pub(crate) fn keep(mut self) -> PathBuf {
        self.file.disable_cleanup(true);
        self.file.path().to_path_buf()
    }
}

/// The lock for writing a file. Only one run of vptx can hold it. The lock is on a separate lock
/// file beside the file, which exists as long as the lock.
#[derive(Debug)]
pub(crate) struct Lock {
    path: PathBuf,
    _listed: Listed,
    // The lock is released last.
    _file: File,
}

impl Lock {
    /// Waits for the lock of a file.
    pub(crate) fn of(file: &Path) -> io::Result<Lock> {
        let mut name = OsString::from(".");
        name.push(file.file_name().unwrap_or_default());
        name.push(".vptx-lock");
        let path = file.with_file_name(name);
        loop {
            let mut options = Access::Walked.options();
            let file = options.create(true).truncate(false).write(true).open(&path)?;
            let locked = match file.lock() {
                // On systems without locks, a change by another run is still detected when the file
                // is replaced.
                Err(error) if error.kind() == io::ErrorKind::Unsupported => Ok(()),
                locked => locked,
            };
            // The run that held the lock before may have removed the lock file.
            let held = locked.and_then(|()| is_at(&file, &path));
            if held.is_err() && cfg!(unix) {
                // After an error, nobody else would remove the lock file. If another run holds the
                // lock, it still detects changes.
                let _ = std::fs::remove_file(&path);
            }
            if held? {
                let ((), listed) = Listed::new(|| Ok(((), path.clone())))?;
                return Ok(Lock { path, _listed: listed, _file: file });
            }
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // On other systems, a waiting run could not see that the lock file is gone.
        if cfg!(unix) {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// Whether a path still leads to an open file.
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt;
    let open = file.metadata()?;
    match std::fs::symlink_metadata(path) {
        Ok(named) => Ok((open.dev(), open.ino()) == (named.dev(), named.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(not(unix))]
fn is_at(_: &File, _: &Path) -> io::Result<bool> {
    Ok(true)
}

#[cfg(unix)]
mod signals {
    use std::fs;
    use std::mem;
    use std::sync::{Once, mpsc};
    use std::thread;

    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    use signal_hook::iterator::Signals;
    use signal_hook::low_level::emulate_default_handler;

    use super::{LISTED, STEADY, lock};

    /// From now on, listed files are removed when a signal ends the program.
    pub(crate) fn watch() {
        static ONCE: Once = Once::new();
        ONCE.call_once(|| {
            let (ready, wait) = mpsc::channel();
            // If the thread for signals cannot start, signals end the program as usual.
            let thread = thread::Builder::new().spawn(move || {
                let ignored = ignored();
                let watched = [SIGHUP, SIGINT, SIGTERM]
                    .into_iter()
                    .filter(|signal| ignored >> (signal - 1) & 1 == 0);
                let signals = Signals::new(watched);
                drop(ready);
                if let Ok(mut signals) = signals {
                    signals.forever().for_each(end);
                }
            });
            if thread.is_ok() {
                // The wait ends when the sender is dropped.
                let _: Result<(), _> = wait.recv();
            }
        });
    }

    /// Removes the listed files, and ends the program by the received signal as if the signal had
    /// not been caught.
    fn end(signal: i32) {
        // The lock is never released: from here on, no file is created, renamed or overwritten.
        mem::forget(lock(&STEADY));
        let listed = lock(&LISTED);
        for path in listed.iter() {
            let _ = fs::remove_file(path);
        }
        mem::forget(listed);
        let _ = emulate_default_handler(signal);
    }

    /// The signals that were already ignored when the program started, as under `nohup`, one bit
    /// for each. They must stay ignored.
    fn ignored() -> u64 {
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
        mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
    }
}
