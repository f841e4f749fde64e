//! Maps whose keys are hashed on every instruction, or at every start.

use std::collections::{HashMap, HashSet};
#[cfg(not(feature = "cli"))]
use std::hash::RandomState;

#[cfg(feature = "cli")]
use foldhash::fast::RandomState;

/// A map whose hashes differ from run to run: no text is slow to read every time.
pub(crate) type Map<K, V> = HashMap<K, V, RandomState>;

/// A set of the same kind.
pub(crate) type Set<K> = HashSet<K, RandomState>;
