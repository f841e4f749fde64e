//! Maps whose keys are hashed on every instruction.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::OnceLock;

/// A map whose hashes differ from run to run: no text is slow to read every time.
pub(crate) type Map<K, V> = HashMap<K, V, Seed>;

/// A set of the same kind.
pub(crate) type Set<K> = HashSet<K, Seed>;

/// What a run adds to all it hashes. Keys are names, mostly of a few bytes, for which the
/// standard hasher takes four times as long.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seed(u64);

impl Default for Seed {
    fn default() -> Seed {
        static SEED: OnceLock<u64> = OnceLock::new();
        Seed(*SEED.get_or_init(|| RandomState::new().hash_one(0)))
    }
}

impl BuildHasher for Seed {
    type Hasher = Folding;

    fn build_hasher(&self) -> Folding {
        Folding { seed: self.0 | 1, hash: self.0 }
    }
}

/// Multiplies with the seed, and folds the two halves of the product onto each other.
pub(crate) struct Folding {
    seed: u64,
    hash: u64,
}

impl Hasher for Folding {
    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        for word in words {
            self.write_u64(u64::from_le_bytes(*word));
        }
        if !rest.is_empty() {
            let last = rest.iter().fold(rest.len() as u64, |all, byte| all << 8 | u64::from(*byte));
            self.write_u64(last);
        }
    }

    #[inline]
    fn write_u8(&mut self, value: u8) {
        self.write_u64(value.into());
    }

    #[inline]
    fn write_u32(&mut self, value: u32) {
        self.write_u64(value.into());
    }

    #[inline]
    fn write_u64(&mut self, value: u64) {
        let product = u128::from(self.hash ^ value) * u128::from(self.seed);
        self.hash = product as u64 ^ (product >> 64) as u64;
    }

    #[inline]
    fn write_usize(&mut self, value: usize) {
        self.write_u64(value as u64);
    }

    #[inline]
    fn finish(&self) -> u64 {
        self.hash
    }
}
