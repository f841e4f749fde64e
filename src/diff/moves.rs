//! Statements that stand in another place.

use super::align::{Matching, Sides};
use super::hunks::Entry;
use super::outline::Statement;
use crate::hash::Map;

/// The most places that are tried for the start of a block.
const PLACES: usize = 8;

/// The least number of equal statements in a row that count as moved in any case. A shorter row
/// must be unique.
const BLOCK: usize = 3;

/// The moved statements of two functions, by their positions: equal statements among those that are
/// not aligned, in blocks as long as possible.
pub(super) fn moves(
    sides: &Sides<'_, '_>,
    locals: &Matching,
    (old, new): (&[Statement], &[Statement]),
    entries: &[Entry],
) -> Matching {
    let mut moves = Matching::default();
    let mut removed = Vec::new();
    let mut is_added = vec![false; new.len()];
    let mut places: Map<u64, Vec<u32>> = Map::default();
    let mut counts: Map<u64, u32> = Map::default();
    for entry in entries {
        match *entry {
            Entry::Same(..) => {}
            Entry::Old(at) => {
                removed.push(at);
                let key = sides.exact_key(&old[at as usize], true, locals);
                *counts.entry(key).or_default() += 1;
            }
            Entry::New(at) => {
                is_added[at as usize] = true;
                let key = sides.exact_key(&new[at as usize], false, locals);
                places.entry(key).or_default().push(at);
            }
        }
    }
    let mut next = 0;
    while let Some(&start) = removed.get(next) {
        let key = sides.exact_key(&old[start as usize], true, locals);
        let candidates = places.get(&key).map_or(&[][..], Vec::as_slice);
        let length = |other: u32| {
            let run = removed[next..].iter().zip(start..).zip(other..);
            run.take_while(|&((&at, expected), other)| {
                at == expected
                    && is_added.get(other as usize) == Some(&true)
                    && sides.is_equal(locals, &old[at as usize], &new[other as usize])
            })
            .count()
        };
        let best = candidates.iter().take(PLACES).map(|&other| (length(other), other));
        // Of several longest rows, the first one counts.
        let best = best.max_by_key(|&(length, other)| (length, std::cmp::Reverse(other)));
        let is_unique = counts.get(&key) == Some(&1) && candidates.len() == 1;
        let has_names = !sides.old.holes(&old[start as usize]).is_empty();
        match best {
            Some((length, other)) if length >= BLOCK || length > 0 && is_unique && has_names => {
                for step in 0..length as u32 {
                    moves.join(start + step, other + step);
                    is_added[(other + step) as usize] = false;
                }
                next += length;
            }
            _ => next += 1,
        }
    }
    moves
}
