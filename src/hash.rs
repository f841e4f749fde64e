//! Maps whose keys are hashed for every instruction, or at every start of the program.

use std::collections::{HashMap, HashSet};
#[cfg(not(feature = "cli"))]
use std::hash::RandomState;

#[cfg(feature = "cli")]
use foldhash::fast::RandomState;

/// A map whose hashes differ from run to run, so that no text is slow to read in every run.
pub(crate) type Map<K, V> = HashMap<K, V, RandomState>;

/// A set with the same hashes.
pub(crate) type Set<K> = HashSet<K, RandomState>;
