//! The lines that two sequences have in common.

use gix_imara_diff::{Algorithm, Diff, NoSliderHeuristic, Token};

use crate::hash::Map;

/// The positions of equal keys in both sequences, in order: a longest common part, as far as
/// that is found in linear time.
pub(super) fn common(old: &[u64], new: &[u64]) -> Vec<(u32, u32)> {
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
    mut gap: impl FnMut(std::ops::Range<usize>, std::ops::Range<usize>),
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
