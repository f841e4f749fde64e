//! Work that the program spreads over all cores. The library uses the thread of its caller.

#[cfg(feature = "cli")]
use rayon::prelude::*;

/// Applies `work` to all items, and returns the results in order. `None` if one result is `None`;
/// some items may then be left out.
pub(crate) fn try_map<T: Send, R: Send>(
    items: Vec<T>,
    work: &(impl Fn(T) -> Option<R> + Sync),
) -> Option<Vec<R>> {
    #[cfg(feature = "cli")]
    return items.into_par_iter().map(work).collect();
    #[cfg(not(feature = "cli"))]
    items.into_iter().map(work).collect()
}

/// The number of items that are worked on at the same time.
pub(crate) fn count() -> usize {
    #[cfg(feature = "cli")]
    return rayon::current_num_threads();
    #[cfg(not(feature = "cli"))]
    1
}
