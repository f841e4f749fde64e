//! A limit on the bytes that a file gives when it is unpacked.

use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The limit of unpacked bytes: `RATIO` for each byte of the file, and `FREE` for any file.
const RATIO: u64 = 200;
const FREE: u64 = 256 << 20;

/// The bytes that all members, nested archives and fat binaries of one file give together.
#[derive(Debug, Default)]
pub(super) struct Budget {
    file: AtomicU64,
    unpacked: AtomicU64,
}

impl Budget {
    /// Says that the file has at least `file` bytes.
    pub(super) fn grow(&self, file: u64) {
        self.file.fetch_max(file, Relaxed);
    }

    pub(super) fn is_spent(&self) -> bool {
        self.left() == 0
    }

    /// Bytes that may still be unpacked.
    pub(super) fn left(&self) -> u64 {
        let all = FREE.saturating_add(RATIO.saturating_mul(self.file.load(Relaxed)));
        all.saturating_sub(self.unpacked.load(Relaxed))
    }

    /// Counts unpacked bytes.
    ///
    /// # Errors
    /// If nothing is left.
    pub(super) fn spend(&self, bytes: u64) -> io::Result<()> {
        let before = self.unpacked.load(Relaxed);
        self.unpacked.store(before.saturating_add(bytes), Relaxed);
        if self.is_spent() {
            let why = "unpacked, the file has more than {} times its size: the rest is not read";
            return Err(io::Error::other(why.replace("{}", &RATIO.to_string())));
        }
        Ok(())
    }
}

/// A stream of unpacked bytes, which ends with an error when the budget is spent.
pub(super) struct Unpacked<R> {
    inner: R,
    budget: Arc<Budget>,
}

impl<R> Unpacked<R> {
    pub(super) fn new(inner: R, budget: &Arc<Budget>) -> Unpacked<R> {
        Unpacked { inner, budget: Arc::clone(budget) }
    }
}

impl<R: Read> Read for Unpacked<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.budget.spend(read as u64)?;
        Ok(read)
    }
}
