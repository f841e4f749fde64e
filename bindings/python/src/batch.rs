//! Evaluation of columns of any shape, on several threads.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use pyo3::PyResult;
use pyo3::exceptions::PyValueError;
use vptx::ir::Program;

/// Bytes in a word.
const WORD: isize = size_of::<u32>() as isize;

/// The number of words that a thread computes at once. Buffers of this size stay in the L1 cache,
/// and are small enough that the allocator keeps their pages.
const CHUNK: usize = 1 << 13;

/// The number of words from which another thread saves time; a thread takes about 50 µs to start.
const PER_THREAD: usize = 1 << 18;

/// Words in memory, in some number of dimensions.
pub(crate) struct View {
    /// The address of the first word.
    address: usize,
    pub(crate) shape: Vec<usize>,
    /// The distances in bytes between neighbours, for each dimension.
    strides: Vec<isize>,
}

/// The words of a source.
pub(crate) enum Source {
    /// The same word everywhere.
    Word(u32),
    /// A view with the shape of the result.
    Column(View),
}

impl View {
    pub(crate) fn new(address: usize, shape: Vec<usize>, strides: Vec<isize>) -> View {
        debug_assert_eq!(shape.len(), strides.len());
        View { address, shape, strides }
    }

    /// A view of contiguous words, in which the last dimension varies fastest.
    pub(crate) fn contiguous(address: usize, shape: Vec<usize>) -> View {
        let mut strides = vec![0; shape.len()];
        let mut stride = WORD;
        for (own, &size) in strides.iter_mut().zip(&shape).rev() {
            *own = stride;
            stride = stride.saturating_mul(size.max(1) as isize);
        }
        View { address, shape, strides }
    }

    /// The same words, broadcast to a larger shape.
    pub(crate) fn broadcast(&self, shape: &[usize]) -> View {
        let skipped = shape.len() - self.shape.len();
        let mut strides = vec![0; shape.len()];
        for (at, own) in strides[skipped..].iter_mut().enumerate() {
            if self.shape[at] != 1 {
                *own = self.strides[at];
            }
        }
        View { address: self.address, shape: shape.to_vec(), strides }
    }

    /// Refuses an output in which two places may be the same memory.
    pub(crate) fn must_not_share(&self) -> PyResult<()> {
        let sizes = self.shape.iter().zip(&self.strides).filter(|(size, _)| **size > 1);
        let mut axes: Vec<_> =
            sizes.map(|(&size, &stride)| (stride.unsigned_abs(), size)).collect();
        axes.sort_unstable();
        let mut reach = size_of::<u32>();
        for (stride, size) in axes {
            if stride < reach {
                return Err(PyValueError::new_err("out: some of its words share memory"));
            }
            reach += stride * (size - 1);
        }
        Ok(())
    }

    /// Whether there are words, but no address of them.
    pub(crate) fn is_null(&self) -> bool {
        self.address == 0 && self.shape.iter().all(|&size| size > 0)
    }

    /// The first and the last address, end excluded.
    fn bounds(&self) -> (usize, usize) {
        let (mut low, mut high) = (self.address, self.address + size_of::<u32>());
        for (&size, &stride) in self.shape.iter().zip(&self.strides) {
            let reach = stride * (size as isize - 1);
            if reach < 0 {
                low = low.wrapping_add_signed(reach);
            } else {
                high = high.wrapping_add_signed(reach);
            }
        }
        (low, high)
    }
}

/// The number of words. `None` if they cannot be counted.
pub(crate) fn total(shape: &[usize]) -> Option<usize> {
    shape.iter().try_fold(1usize, |total, &size| total.checked_mul(size))
}

/// A column whose words are visited in the order of computation.
struct Walk<'s> {
    address: usize,
    shape: &'s [usize],
    strides: Vec<isize>,
    /// Whether the words are contiguous and aligned.
    is_contiguous: bool,
}

impl Walk<'_> {
    /// The words from an index on, which must follow each other.
    fn pointer(&self, start: usize) -> *mut u32 {
        (self.address + start * size_of::<u32>()) as *mut u32
    }

    /// Calls `visit` for each run of words, with the address of the first, the distance in bytes,
    /// and the number of words.
    fn runs(&self, start: usize, length: usize, mut visit: impl FnMut(usize, isize, usize)) {
        let Some((&inner, outer)) = self.shape.split_last() else {
            visit(self.address, 0, length);
            return;
        };
        let mut indices = vec![0; outer.len()];
        let mut rest = start / inner;
        for (index, &size) in indices.iter_mut().zip(outer).rev() {
            *index = rest % size;
            rest /= size;
        }
        let (mut column, mut left) = (start % inner, length);
        let step = self.strides[outer.len()];
        while left > 0 {
            let offset: isize = indices
                .iter()
                .zip(&self.strides)
                .map(|(&index, &stride)| index as isize * stride)
                .sum();
            let count = left.min(inner - column);
            let first = self.address.wrapping_add_signed(offset + column as isize * step);
            visit(first, step, count);
            left -= count;
            column = 0;
            for (index, &size) in indices.iter_mut().zip(outer).rev() {
                *index += 1;
                if *index < size {
                    break;
                }
                *index = 0;
            }
        }
    }

    /// Copies words into a buffer.
    fn gather(&self, start: usize, words: &mut [u32]) {
        let mut at = 0;
        self.runs(start, words.len(), |first, step, count| {
            for (number, word) in words[at..at + count].iter_mut().enumerate() {
                let place = first.wrapping_add_signed(number as isize * step) as *const u32;
                // SAFETY: the place is one of the view's words, which its owner keeps.
                *word = unsafe { place.read_unaligned() };
            }
            at += count;
        });
    }

    /// Copies words out of a buffer.
    fn scatter(&self, start: usize, words: &[u32]) {
        let mut at = 0;
        self.runs(start, words.len(), |first, step, count| {
            for (number, &word) in words[at..at + count].iter().enumerate() {
                let place = first.wrapping_add_signed(number as isize * step) as *mut u32;
                // SAFETY: as in `gather`; no other thread writes these words.
                unsafe { place.write_unaligned(word) };
            }
            at += count;
        });
    }
}

/// How a thread gets the words of a source.
enum Feed<'s> {
    Word(u32),
    /// In place.
    InPlace(Walk<'s>),
    /// Through a buffer.
    Copied(Walk<'s>),
    /// From a copy that was made before.
    Owned(Vec<u32>),
}

/// Computes all words of `out`. Sources may overlap `out`: their words are read as they were before
/// the call.
///
/// The owners of all views must keep their memory alive, and no two words of `out` may share
/// memory.
pub(crate) fn eval(program: &Program, sources: [Source; 3], out: &View) {
    let Some(total) = total(&out.shape).filter(|total| *total > 0) else { return };
    let mut views = vec![out];
    views.extend(sources.iter().filter_map(|source| match source {
        Source::Word(_) => None,
        Source::Column(view) => Some(view),
    }));
    let (shape, mut strides) = merged(&out.shape, &views);
    let mut walk = |view: &View| Walk {
        address: view.address,
        shape: &shape,
        is_contiguous: strides[0] == View::contiguous(0, shape.clone()).strides
            && view.address.is_multiple_of(align_of::<u32>()),
        strides: strides.remove(0),
    };
    let target = walk(out);
    let (low, high) = out.bounds();
    let feeds = sources.each_ref().map(|source| match source {
        Source::Word(word) => Feed::Word(*word),
        Source::Column(view) => {
            let source = walk(view);
            let (start, end) = view.bounds();
            let is_apart = end <= low || high <= start;
            if !is_apart && (source.address, &source.strides) != (target.address, &target.strides) {
                let mut words = vec![0; total];
                source.gather(0, &mut words);
                Feed::Owned(words)
            } else if is_apart && source.is_contiguous {
                Feed::InPlace(source)
            } else {
                Feed::Copied(source)
            }
        }
    });
    let next = AtomicUsize::new(0);
    let work = || {
        let mut buffers = [Vec::new(), Vec::new(), Vec::new()];
        let mut result = Vec::new();
        loop {
            let start = next.fetch_add(CHUNK, Ordering::Relaxed);
            if start >= total {
                break;
            }
            let length = CHUNK.min(total - start);
            let [one, two, three] = &mut buffers;
            let [a, b, c] = [(&feeds[0], one), (&feeds[1], two), (&feeds[2], three)]
                .map(|(feed, buffer)| feed.words(start, length, buffer));
            if target.is_contiguous {
                // SAFETY: the words are those of the view, at the addresses of words. No
                // source in place overlaps them, and no other thread has this chunk.
                let d = unsafe { std::slice::from_raw_parts_mut(target.pointer(start), length) };
                program.eval_batch(a, b, c, d);
            } else {
                result.resize(length, 0);
                program.eval_batch(a, b, c, &mut result);
                target.scatter(start, &result);
            }
        }
    };
    let worthwhile = total / PER_THREAD;
    // Asking for the number of cores takes longer than computing a small column.
    let cores =
        if worthwhile > 1 { thread::available_parallelism().map_or(1, usize::from) } else { 1 };
    // These threads end with the call: a pool would not survive a fork.
    thread::scope(|scope| {
        for _ in 1..cores.min(worthwhile) {
            // If no thread can be started, this one computes all chunks.
            if thread::Builder::new().spawn_scoped(scope, work).is_err() {
                break;
            }
        }
        work();
    });
}

impl Feed<'_> {
    fn words<'w>(&'w self, start: usize, length: usize, buffer: &'w mut Vec<u32>) -> &'w [u32] {
        match self {
            Feed::Word(word) => {
                // Filled only once, for the first chunk, which is the longest.
                if buffer.len() < length {
                    buffer.resize(length, *word);
                }
                &buffer[..length]
            }
            // SAFETY: the words are those of the view, at addresses of words, and nothing
            // writes them meanwhile: `out` does not overlap, and the documentation forbids other
            // writes.
            Feed::InPlace(walk) => unsafe {
                std::slice::from_raw_parts(walk.pointer(start), length)
            },
            Feed::Copied(walk) => {
                buffer.resize(length, 0);
                walk.gather(start, buffer);
                buffer
            }
            Feed::Owned(words) => &words[start..start + length],
        }
    }
}

/// The fewest dimensions in which all views can be walked, outermost first, in the order of the
/// first view's memory; and for each dimension the strides of each view.
fn merged(shape: &[usize], views: &[&View]) -> (Vec<usize>, Vec<Vec<isize>>) {
    let mut axes: Vec<usize> = (0..shape.len()).filter(|&axis| shape[axis] != 1).collect();
    axes.sort_by_key(|&axis| std::cmp::Reverse(views[0].strides[axis].unsigned_abs()));
    let mut sizes: Vec<usize> = Vec::new();
    let mut strides: Vec<Vec<isize>> = vec![Vec::new(); views.len()];
    for axis in axes {
        let continues = !sizes.is_empty()
            && views.iter().zip(&strides).all(|(view, strides)| {
                strides.last() == Some(&(view.strides[axis] * shape[axis] as isize))
            });
        if continues {
            let last = sizes.len() - 1;
            sizes[last] *= shape[axis];
            views.iter().zip(&mut strides).for_each(|(view, own)| own[last] = view.strides[axis]);
        } else {
            sizes.push(shape[axis]);
            views.iter().zip(&mut strides).for_each(|(view, own)| own.push(view.strides[axis]));
        }
    }
    (sizes, strides)
}
