//! Processes many inputs in parallel, and shows the progress.

use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use rayon::prelude::*;

/// The width of the bar, in columns.
const BAR: usize = 30;

/// Calls a function for each input, on all cores. On a terminal, shows the progress if
/// that takes over a second.
pub(super) fn for_each<I: Sync, T: Send>(
    verb: &str,
    inputs: &[I],
    work: impl Fn(&I) -> T + Sync,
) -> Vec<T> {
    // Threads take longer to start than most single inputs need.
    if let [only] = inputs {
        return vec![work(only)];
    }
    let done = AtomicUsize::new(0);
    let all = || {
        let each = inputs.par_iter().map(|input| {
            let result = work(input);
            done.fetch_add(1, Ordering::Relaxed);
            result
        });
        each.collect()
    };
    if !io::stderr().is_terminal() {
        return all();
    }
    let total = inputs.len();
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
                    // Not `eprint!`, which panics if the terminal is gone.
                    let _ = write!(io::stderr(), "\r[{bar}] {verb} {done} of {total} files");
                }
            }
            if shown {
                let _ = write!(io::stderr(), "\r\x1b[K");
            }
        });
        let result = all();
        finished.store(true, Ordering::Release);
        watcher.thread().unpark();
        result
    })
}
