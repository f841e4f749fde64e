//! The lines that two sequences have in common.

use std::ops::Range;

use gix_imara_diff::{Algorithm, Diff, NoSliderHeuristic, Token};

use crate::hash::Map;

/// The positions of equal keys in both sequences, in order: a longest common subsequence, as far as
/// it can be found in little more than linear time.
pub(super) fn common(old: &[u64], new: &[u64]) -> Vec<(u32, u32)> {
    if old.len().max(new.len()) <= SHORT {
        return compared(old, new);
    }
    // First aligns the keys that occur once on each side, then keys that occur equally often on
    // both sides, then, in the gaps, all other keys.
    let mut all = Vec::new();
    for most in [1, RARE] {
        all = within_gaps(&all, (old, new), |old, new| in_order(old, new, most));
    }
    within_gaps(&all, (old, new), in_windows)
}

/// An alignment, together with the pairs that `found` finds within its gaps.
pub(super) fn within_gaps(
    aligned: &[(u32, u32)],
    (old, new): (&[u64], &[u64]),
    found: impl Fn(&[u64], &[u64]) -> Vec<(u32, u32)>,
) -> Vec<(u32, u32)> {
    let mut all = aligned.to_vec();
    gaps(aligned, (old.len(), new.len()), |before, after| {
        let start = (before.start as u32, after.start as u32);
        let found = found(&old[before], &new[after]);
        all.extend(found.into_iter().map(|(old, new)| (old + start.0, new + start.1)));
    });
    all.sort_unstable();
    all
}

fn in_windows(old: &[u64], new: &[u64]) -> Vec<(u32, u32)> {
    let windows = old.len().max(new.len()).div_ceil(WINDOW);
    let mut all = Vec::new();
    for window in 0..windows {
        let part = |length: usize| length * window / windows..length * (window + 1) / windows;
        let (before, after) = (part(old.len()), part(new.len()));
        let start = (before.start as u32, after.start as u32);
        let found = compared(&old[before], &new[after]);
        all.extend(found.into_iter().map(|(old, new)| (old + start.0, new + start.1)));
    }
    all
}

/// A longest list of pairs in order. The pairs are the positions of keys that both sides have
/// equally often, but at most `most` times: the first with the first, and so on.
fn in_order(old: &[u64], new: &[u64], most: usize) -> Vec<(u32, u32)> {
    let mut places: Map<u64, [Vec<u32>; 2]> = Map::default();
    for (side, keys) in [old, new].into_iter().enumerate() {
        for (at, key) in (0..).zip(keys) {
            let own = &mut places.entry(*key).or_default()[side];
            if own.len() <= most {
                own.push(at);
            }
        }
    }
    let mut pairs: Vec<(u32, u32)> = Vec::new();
    for [before, after] in places.into_values() {
        if before.len() == after.len() && before.len() <= most {
            pairs.extend(before.into_iter().zip(after));
        }
    }
    pairs.sort_unstable();
    longest_in_order(&pairs)
}

/// A longest subsequence of pairs whose second numbers rise. The first numbers rise already.
fn longest_in_order(pairs: &[(u32, u32)]) -> Vec<(u32, u32)> {
    // `ends` holds, for each length, the pair with the least second number that ends a list of that
    // length; `before` holds, for each pair, the pair before it in its list.
    let mut ends: Vec<usize> = Vec::new();
    let mut before: Vec<Option<usize>> = Vec::with_capacity(pairs.len());
    for (at, pair) in pairs.iter().enumerate() {
        let length = ends.partition_point(|end| pairs[*end].1 < pair.1);
        before.push(length.checked_sub(1).map(|it| ends[it]));
        match ends.get_mut(length) {
            Some(end) => *end = at,
            None => ends.push(at),
        }
    }
    let mut found = Vec::with_capacity(ends.len());
    let mut next = ends.last().copied();
    while let Some(at) = next {
        found.push(pairs[at]);
        next = before[at];
    }
    found.reverse();
    found
}

/// Sequences of at most this many keys are compared at once by a histogram of the keys, which can
/// take quadratic time.
const SHORT: usize = 512;

/// A key is rare if neither side has it more often than this.
const RARE: usize = 32;

/// Gaps of more keys than this are cut into windows, as the comparison can take quadratic time.
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

/// Calls `gap` for the ranges between aligned positions, and for those at both ends.
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

    /// Every other key is moved to the end. Each key occurs once, or twice.
    #[test]
    fn half_of_the_keys_may_stand_in_another_place() {
        let count = 4 * SHORT as u64;
        for repeats in [1, 2] {
            let old: Vec<u64> = (0..count).map(|it| it / repeats).collect();
            let half = |first: usize| old[first..].iter().step_by(2).copied();
            let new: Vec<u64> = half(0).chain(half(1)).collect();
            let found = common(&old, &new);
            assert!(is_common(&old, &new, &found));
            assert_eq!(found.len(), old.len() / 2 + 1);
        }
    }

    /// Keys that occur once are aligned first, however many others have another order.
    #[test]
    fn keys_that_occur_once_come_first() {
        let once: Vec<u64> = (0..9).collect();
        let twice: Vec<u64> = (0..2 * SHORT as u64).map(|it| 9 + it / 2).collect();
        let found = common(&[&once[..], &twice].concat(), &[&twice[..], &once].concat());
        let behind = |at: u32| (at, at + twice.len() as u32);
        assert_eq!(found, (0..9).map(behind).collect::<Vec<_>>());
    }

    #[test]
    fn lists_in_order_are_the_longest() {
        let mut numbers = Numbers(8);
        for _ in 0..300 {
            let count = 1 + numbers.below(9);
            let mut new: Vec<u32> = (0..count as u32).collect();
            for at in (1..count).rev() {
                new.swap(at, numbers.below(at + 1));
            }
            let pairs: Vec<(u32, u32)> = (0..).zip(new).collect();
            let found = longest_in_order(&pairs);
            assert!(found.is_sorted_by_key(|it| it.1) && found.is_sorted_by_key(|it| it.0));
            assert!(found.iter().all(|it| pairs.contains(it)));
            let is_in_order = |chosen: u32| {
                let own = pairs.iter().filter(|it| chosen >> it.0 & 1 == 1);
                own.is_sorted_by_key(|it| it.1)
            };
            let lists = (0..1u32 << count).filter(|it| is_in_order(*it));
            let longest = lists.map(u32::count_ones).max();
            assert_eq!(Some(found.len() as u32), longest, "{pairs:?}");
        }
    }

    fn is_common(old: &[u64], new: &[u64], found: &[(u32, u32)]) -> bool {
        found.iter().all(|&(at, other)| old[at as usize] == new[other as usize])
            && found.windows(2).all(|two| two[0].0 < two[1].0 && two[0].1 < two[1].1)
    }

    /// The sequences have more keys than a window.
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
        // Inserts more keys than a window has, and replaces one key in a thousand.
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

    /// The work grows less than quadratically: this test takes a second, not minutes.
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
