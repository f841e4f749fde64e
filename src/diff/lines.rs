//! The lines that two sequences have in common.

use std::ops::Range;

use gix_imara_diff::{Algorithm, Diff, NoSliderHeuristic, Token};

use crate::hash::Map;

/// The positions of equal keys in both sequences, in order: a longest common part, as far as
/// that is found in linear time.
pub(super) fn common(old: &[u64], new: &[u64]) -> Vec<(u32, u32)> {
    if old.len().max(new.len()) <= WINDOW {
        return compared(old, new);
    }
    // First the keys that are rare, then the others in the gaps between them.
    let mut counts: Map<u64, [usize; 2]> = Map::default();
    for key in old {
        counts.entry(*key).or_default()[0] += 1;
    }
    for key in new {
        counts.entry(*key).or_default()[1] += 1;
    }
    let rare = |keys: &[u64]| -> (Vec<u32>, Vec<u64>) {
        let is_rare = |key: &u64| counts[key].iter().all(|count| *count <= RARE);
        (0..).zip(keys.iter().copied()).filter(|(_, key)| is_rare(key)).unzip()
    };
    let ((old_at, old_rare), (new_at, new_rare)) = (rare(old), rare(new));
    let rare = compared(&old_rare, &new_rare).into_iter();
    let mut all: Vec<(u32, u32)> =
        rare.map(|(old, new)| (old_at[old as usize], new_at[new as usize])).collect();
    let anchors = all.clone();
    gaps(&anchors, (old.len(), new.len()), |before, after| {
        let windows = before.len().max(after.len()).div_ceil(WINDOW);
        let part = |gap: &Range<usize>, window: usize| {
            let at = |window: usize| gap.start + gap.len() * window / windows;
            at(window)..at(window + 1)
        };
        for window in 0..windows {
            let (before, after) = (part(&before, window), part(&after, window));
            let start = (before.start as u32, after.start as u32);
            let found = compared(&old[before], &new[after]);
            all.extend(found.iter().map(|(old, new)| (old + start.0, new + start.1)));
        }
    });
    all.sort_unstable();
    all
}

/// A key is rare if no side has it more often. Rare keys are compared in linear time.
const RARE: usize = 32;

/// Sequences of more keys than this are compared in windows: Myers' algorithm can take the
/// square of their length.
const WINDOW: usize = 1 << 13;

fn compared(old: &[u64], new: &[u64]) -> Vec<(u32, u32)> {
    if old.is_empty() || new.is_empty() {
        return Vec::new();
    }
    let mut numbers: Map<u64, u32> = Map::default();
    let mut tokens = |keys: &[u64]| -> Vec<Token> {
        let number = |key: &u64| {
            let next = numbers.len() as u32;
            Token(*numbers.entry(*key).or_insert(next))
        };
        keys.iter().map(number).collect()
    };
    let (before, after) = (tokens(old), tokens(new));
    let mut diff = Diff::default();
    diff.compute_with(Algorithm::Histogram, &before, &after, numbers.len() as u32);
    diff.postprocess_with(&before, &after, NoSliderHeuristic);
    let kept = |count: usize, is_changed: &dyn Fn(u32) -> bool| {
        (0..count as u32).filter(|at| !is_changed(*at)).collect::<Vec<u32>>()
    };
    let old = kept(old.len(), &|at| diff.is_removed(at));
    let new = kept(new.len(), &|at| diff.is_added(at));
    old.into_iter().zip(new).collect()
}

/// Calls `gap` for the ranges between aligned positions, those at both ends included.
pub(super) fn gaps(
    aligned: &[(u32, u32)],
    (old, new): (usize, usize),
    mut gap: impl FnMut(Range<usize>, Range<usize>),
) {
    let ends = aligned.iter().map(|&(old, new)| (old as usize, new as usize));
    let mut from = (0, 0);
    for (old, new) in ends.chain([(old, new)]) {
        if from.0 < old || from.1 < new {
            gap(from.0..old, from.1..new);
        }
        from = (old + 1, new + 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Numbers;

    fn is_common(old: &[u64], new: &[u64], found: &[(u32, u32)]) -> bool {
        found.iter().all(|&(at, other)| old[at as usize] == new[other as usize])
            && found.windows(2).all(|two| two[0].0 < two[1].0 && two[0].1 < two[1].1)
    }

    /// Sequences of more keys than a window has.
    #[test]
    fn long_sequences_are_aligned_at_their_rare_keys() {
        let mut numbers = Numbers(7);
        let mut random = |count: usize| -> Vec<u64> {
            let key = |at: usize| match at % 100 {
                0 => 1000 + at as u64,
                _ => numbers.below(9) as u64,
            };
            (0..count).map(key).collect()
        };
        let old = random(5 * WINDOW);
        // More than a window is inserted, and one key in a thousand is another one.
        let mut new = old.clone();
        for at in (50..new.len()).step_by(1000) {
            new[at] = 99;
        }
        new.splice(70..70, std::iter::repeat_n(98, 2 * WINDOW));
        let found = common(&old, &new);
        assert!(is_common(&old, &new, &found));
        // Windows may cut the gap around the inserted keys at the wrong place.
        let most = old.len() - old.len().div_ceil(1000);
        assert!((most - 99..=most).contains(&found.len()), "{} {most}", found.len());
    }

    /// The work does not grow as the square: this takes a second, not minutes.
    #[test]
    fn frequent_keys_alone_are_aligned_too() {
        let mut numbers = Numbers(7);
        let mut random = || (0..100 * WINDOW).map(|_| numbers.below(99) as u64).collect::<Vec<_>>();
        let (old, new) = (random(), random());
        let found = common(&old, &new);
        assert!(is_common(&old, &new, &found));
        assert!(found.len() > old.len() / 20, "{}", found.len());
    }
}
