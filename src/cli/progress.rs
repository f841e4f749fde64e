//! Processes many inputs in parallel, and shows the progress.

use std::collections::BTreeMap;
use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use rayon::prelude::*;

/// The width of the bar, in columns.
const BAR: usize = 30;

/// Calls a function for each input, on all cores.
pub(super) fn for_each<I: Sync, T: Send>(
    verb: &str,
    inputs: &[I],
    work: impl Fn(&I) -> T + Sync,
) -> Vec<T> {
    // Threads take longer to start than most single inputs need.
    if let [only] = inputs {
        return vec![work(only)];
    }
    with_bar(verb, inputs.len(), |done| {
        let each = inputs.par_iter().map(|input| {
            let result = work(input);
            done.fetch_add(1, Ordering::Relaxed);
            result
        });
        each.collect()
    })
}

/// Calls a function for each input, on all cores, and hands over the results in the order
/// of the inputs while the work goes on.
pub(super) fn for_each_in_order<I: Sync, T: Send>(
    verb: &str,
    inputs: &[I],
    work: impl Fn(&I) -> T + Sync,
    mut take: impl FnMut(T) -> io::Result<()>,
) -> io::Result<()> {
    if let [only] = inputs {
        return take(work(only));
    }
    with_bar(verb, inputs.len(), |done| {
        let (sender, results) = mpsc::channel();
        let work = &work;
        thread::scope(|scope| {
            scope.spawn(move || {
                // Inputs are taken in order. If each thread began with a part of the list, most
                // results would wait for the first part.
                let numbered = inputs.iter().enumerate().par_bridge();
                numbered.for_each_with(sender, |sender, (at, input)| {
                    // After an output error, nobody receives results.
                    let _ = sender.send((at, work(input)));
                    done.fetch_add(1, Ordering::Relaxed);
                });
            });
            let (mut waiting, mut next) = (BTreeMap::new(), 0);
            for (at, result) in results {
                waiting.insert(at, result);
                while let Some(result) = waiting.remove(&next) {
                    take(result)?;
                    next += 1;
                }
            }
            Ok(())
        })
    })
}

/// Does work that counts how many inputs of a total are done. On a terminal, shows the progress if
/// the work takes over a second.
fn with_bar<T>(verb: &str, total: usize, work: impl FnOnce(&AtomicUsize) -> T) -> T {
    let done = AtomicUsize::new(0);
    if !io::stderr().is_terminal() {
        return work(&done);
    }
    let finished = AtomicBool::new(false);
    thread::scope(|scope| {
        let watcher = scope.spawn(|| {
            let start = Instant::now();
            let mut shown = false;
            while !finished.load(Ordering::Acquire) {
                thread::park_timeout(Duration::from_millis(100));
                if start.elapsed() > Duration::from_secs(1) {
                    shown = true;
                    let done = done.load(Ordering::Relaxed);
                    let full = BAR * done / total;
                    let bar = "=".repeat(full) + &" ".repeat(BAR - full);
                    // `eprint!` would panic if the terminal is gone.
                    let _ = write!(io::stderr(), "\r[{bar}] {verb} {done} of {total} files");
                }
            }
            if shown {
                let _ = write!(io::stderr(), "\r\x1b[K");
            }
        });
        let result = work(&done);
        finished.store(true, Ordering::Release);
        watcher.thread().unpark();
        result
    })
}
