//! `vptx check --watch`

use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use crate::diagnostic::counted;

/// The pause between two looks at the files.
const PAUSE: Duration = Duration::from_millis(300);

/// A file, with its modification time and length if it exists.
type Stamp = (PathBuf, Option<(SystemTime, u64)>);

fn stamps(files: Vec<PathBuf>) -> Vec<Stamp> {
    let stamp = |file: PathBuf| {
        let data = fs::metadata(&file).ok();
        let stamp = data.and_then(|data| Some((data.modified().ok()?, data.len())));
        (file, stamp)
    };
    files.into_iter().map(stamp).collect()
}

/// Calls `run` at once, and again whenever one of the files changes, appears or disappears. Stops
/// when the process ends or the reader closes the output.
pub(super) fn watch(
    quiet: bool,
    files: impl Fn() -> Vec<PathBuf>,
    mut run: impl FnMut() -> io::Result<u8>,
) -> io::Result<u8> {
    loop {
        // A change during the run starts another run.
        let before = stamps(files());
        let start = Instant::now();
        run()?;
        if !quiet {
            let (files, time) = (counted(before.len(), "file"), start.elapsed().as_millis());
            writeln!(
                anstream::stderr(),
                "vptx: checked in {time} ms; watching {files}, Ctrl-C ends"
            )?;
        }
        loop {
            thread::sleep(PAUSE);
            if stamps(files()) != before {
                break;
            }
        }
    }
}
