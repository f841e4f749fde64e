//! How far a long run has come.

use std::io::{self, IsTerminal};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Columns of the bar.
const BAR: usize = 30;

/// Runs a piece of work; if it takes over a second on a terminal, says how far
/// it has come.
pub(super) fn with_progress<T: Send>(
    verb: &str,
    total: usize,
    work: impl FnOnce(&AtomicUsize) -> T + Send,
) -> T {
    let done = AtomicUsize::new(0);
    if total < 2 || !io::stderr().is_terminal() {
        return work(&done);
    }
    let finished = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let watcher = scope.spawn(|| {
            let start = Instant::now();
            let mut shown = false;
            while !finished.load(Ordering::Acquire) {
                std::thread::park_timeout(Duration::from_millis(100));
                if start.elapsed() > Duration::from_secs(1) {
                    shown = true;
                    let done = done.load(Ordering::Relaxed);
                    let full = BAR * done / total;
                    let bar = "=".repeat(full) + &" ".repeat(BAR - full);
                    eprint!("\r[{bar}] {verb} {done} of {total} files");
                }
            }
            if shown {
                eprint!("\r\x1b[K");
            }
        });
        let result = work(&done);
        finished.store(true, Ordering::Release);
        watcher.thread().unpark();
        result
    })
}
