//! Work that all cores share in the program. The library uses the thread of its caller.

#[cfg(feature = "cli")]
use rayon::prelude::*;

/// The results of some work on each item, in order. `None` if one is `None`; the work on others
/// may then be left out.
pub(crate) fn try_map<T: Send, R: Send>(
    items: Vec<T>,
    work: &(impl Fn(T) -> Option<R> + Sync),
) -> Option<Vec<R>> {
    #[cfg(feature = "cli")]
    return items.into_par_iter().map(work).collect();
    #[cfg(not(feature = "cli"))]
    items.into_iter().map(work).collect()
}

/// How many items are worked on at a time.
pub(crate) fn count() -> usize {
    #[cfg(feature = "cli")]
    return rayon::current_num_threads();
    #[cfg(not(feature = "cli"))]
    1
}
