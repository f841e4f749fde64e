//! Aligns the statements of two functions, and matches their names.

use std::cmp::Reverse;

use super::lines::{common, gaps, within_gaps};
use super::outline::{Class, NameId, Outline, Rough, Statement};
use crate::hash::Map;

/// A one-to-one matching of names of two texts, or of the positions of statements.
#[derive(Clone, Default)]
pub(super) struct Matching {
    to_new: Map<NameId, NameId>,
    to_old: Map<NameId, NameId>,
}

impl Matching {
    pub(super) fn new_of(&self, old: NameId) -> Option<NameId> {
        self.to_new.get(&old).copied()
    }

    pub(super) fn old_of(&self, new: NameId) -> Option<NameId> {
        self.to_old.get(&new).copied()
    }

    /// Matches two names. Returns false if one of them is already matched to another name.
    pub(super) fn join(&mut self, old: NameId, new: NameId) -> bool {
        match (self.new_of(old), self.old_of(new)) {
            (None, None) => {
                self.to_new.insert(old, new);
                self.to_old.insert(new, old);
                true
            }
            (Some(own), _) => own == new,
            (None, Some(_)) => false,
        }
    }
}

/// Two texts, and the matching of their global names.
pub(super) struct Sides<'a, 's> {
    pub(super) old: &'a Outline<'s>,
    pub(super) new: &'a Outline<'s>,
    pub(super) globals: &'a Matching,
    pub(super) rough: &'a Rough,
}

/// The statements of two functions that belong together.
#[derive(Default)]
pub(super) struct Alignment {
    /// The positions of statements that are equal.
    pub(super) same: Vec<(u32, u32)>,
    /// The local names that match.
    pub(super) locals: Matching,
}

impl Sides<'_, '_> {
    /// Whether two names are known to match.
    fn is_same(&self, locals: &Matching, old: NameId, new: NameId) -> bool {
        let matching = if self.new.name(new).is_global { self.globals } else { locals };
        matching.new_of(old) == Some(new)
    }

    /// Whether two statements are equal under a matching of names.
    pub(super) fn is_equal(&self, locals: &Matching, old: &Statement, new: &Statement) -> bool {
        let (before, after) = (self.old.holes(old), self.new.holes(new));
        old.shape == new.shape
            && before.len() == after.len()
            && before.iter().zip(after).all(|(old, new)| self.is_same(locals, *old, *new))
    }

    /// Whether two functions are equal under some matching of local names.
    pub(super) fn are_equal(&self, old: &[Statement], new: &[Statement]) -> bool {
        let mut locals = Matching::default();
        old.len() == new.len()
            && old.iter().zip(new).all(|(old, new)| {
                let (before, after) = (self.old.holes(old), self.new.holes(new));
                old.shape == new.shape
                    && before.len() == after.len()
                    && before.iter().zip(after).all(|(old, new)| self.join(&mut locals, *old, *new))
            })
    }

    /// Matches two local names if neither has a partner yet. Global names must match already.
    fn join(&self, locals: &mut Matching, old: NameId, new: NameId) -> bool {
        if self.old.name(old).is_global || self.new.name(new).is_global {
            return self.globals.new_of(old) == Some(new);
        }
        self.old.name(old).class == self.new.name(new).class && locals.join(old, new)
    }

    /// Matches the names in the holes of two statements, unless they have other partners.
    fn join_all(&self, locals: &mut Matching, old: &[NameId], new: &[NameId]) {
        for (old, new) in old.iter().zip(new) {
            self.join(locals, *old, *new);
        }
    }

    /// Aligns two functions.
    ///
    /// Statements are aligned by their shape and by the statements where their names occur first.
    /// Those between them are aligned by fewer such statements, and at last by shape alone. Names
    /// in the same holes of aligned statements are matched, by majority. Statements are equal if
    /// their shapes are equal and their names match.
    pub(super) fn align(&self, old: &[Statement], new: &[Statement]) -> Alignment {
        let [old_keys, new_keys] = self.keys(old, new);
        let changed = |found: &Alignment| old.len() + new.len() - 2 * found.same.len();
        let mut best: Option<Alignment> = None;
        for depth in [DEPTH, 0, 1] {
            let mut aligned = Vec::new();
            for depth in (0..=depth).rev() {
                aligned = within_gaps(&aligned, (&old_keys[depth], &new_keys[depth]), common);
            }
            let mut found = self.settle(old, new, &aligned, &[]);
            for _ in 0..ROUNDS {
                let aligned = within_gaps(&found.same, (&old_keys[0], &new_keys[0]), common);
                let next = self.settle(old, new, &aligned, &found.same);
                if next.same.len() <= found.same.len() {
                    break;
                }
                found = next;
            }
            if best.as_ref().is_none_or(|best| best.same.len() < found.same.len()) {
                best = Some(found);
            }
            // Code that repeats itself can mislead the search at any depth, so that other depths
            // are tried, too.
            if best.as_ref().is_some_and(|best| changed(best) <= FEW) {
                break;
            }
        }
        let mut best = best.unwrap_or_default();
        for depth in [DEPTH, 1] {
            self.match_moved((old, new), (&old_keys[depth], &new_keys[depth]), &mut best);
        }
        self.match_changed(old, new, &mut best);
        best
    }

    /// Matches the names of statements that differ, but have the same opcode in the same gap. A
    /// reader compares such statements with each other.
    fn match_changed(&self, old: &[Statement], new: &[Statement], found: &mut Alignment) {
        let opcodes = |outline: &Outline, statements: &[Statement]| -> Vec<u64> {
            let hash = |it: &Statement| hash_of(&outline.opcode(it));
            statements.iter().map(hash).collect()
        };
        let Alignment { same, locals } = found;
        gaps(same, (old.len(), new.len()), |before, after| {
            let (before, after) = (&old[before], &new[after]);
            for (at, other) in common(&opcodes(self.old, before), &opcodes(self.new, after)) {
                let before = self.old.holes(&before[at as usize]);
                let after = self.new.holes(&after[other as usize]);
                if before.len() == after.len() {
                    self.join_all(locals, before, after);
                }
            }
        });
    }

    /// Matches the names of statements that moved: statements that are not aligned, and whose key
    /// no other such statement of their text has.
    fn match_moved(
        &self,
        (old, new): (&[Statement], &[Statement]),
        (old_keys, new_keys): (&[u64], &[u64]),
        found: &mut Alignment,
    ) {
        let mut places: Map<u64, [Vec<usize>; 2]> = Map::default();
        gaps(&found.same, (old.len(), new.len()), |before, after| {
            for at in before {
                places.entry(old_keys[at]).or_default()[0].push(at);
            }
            for at in after {
                places.entry(new_keys[at]).or_default()[1].push(at);
            }
        });
        let mut pairs: Vec<(usize, usize)> = Vec::new();
        for places in places.into_values() {
            if let [[before], [after]] = places.each_ref().map(Vec::as_slice) {
                pairs.push((*before, *after));
            }
        }
        pairs.sort_unstable();
        for (before, after) in pairs {
            let (before, after) = (self.old.holes(&old[before]), self.new.holes(&new[after]));
            self.join_all(&mut found.locals, before, after);
        }
    }

    /// Matches the names of aligned statements, and aligns the statements that are equal under that
    /// matching.
    fn settle(
        &self,
        old: &[Statement],
        new: &[Statement],
        aligned: &[(u32, u32)],
        sure: &[(u32, u32)],
    ) -> Alignment {
        let locals = self.majority(old, new, aligned, sure);
        let old_exact: Vec<u64> = old.iter().map(|it| self.exact_key(it, true, &locals)).collect();
        let new_exact: Vec<u64> = new.iter().map(|it| self.exact_key(it, false, &locals)).collect();
        let mut same = common(&old_exact, &new_exact);
        // Hashes may collide.
        same.retain(|&(at, other)| self.is_equal(&locals, &old[at as usize], &new[other as usize]));
        Alignment { same, locals }
    }

    /// Hashes of statements, one list for each depth. At depth 0, only the shape counts. At each
    /// further depth, hashes of the depth before count, too: those of the statements in which the
    /// names first occur.
    fn keys(&self, old: &[Statement], new: &[Statement]) -> [Vec<Vec<u64>>; 2] {
        let side = |outline: &Outline, statements: &[Statement], is_old: bool| {
            // The statement and the hole where each name occurs first.
            let mut first: Map<NameId, (usize, u64)> = Map::default();
            for (at, statement) in statements.iter().enumerate() {
                for (name, hole) in outline.holes(statement).iter().zip(0..) {
                    first.entry(*name).or_insert((at, hole));
                }
            }
            let shapes: Vec<u64> =
                statements.iter().map(|it| mixed(u64::from(self.rough.of(it)), 1)).collect();
            let mut keys = vec![shapes];
            for _ in 0..DEPTH {
                let last = &keys[keys.len() - 1];
                let key = |statement: &Statement| {
                    let own = mixed(u64::from(self.rough.of(statement)), 1);
                    outline.holes(statement).iter().fold(own, |hash, name| {
                        let known = match outline.name(*name) {
                            name if name.class == Class::Label => 0,
                            own if own.is_global => self.global_key(*name, is_old),
                            _ => {
                                let (at, hole) = first[name];
                                mixed(last[at], hole)
                            }
                        };
                        mixed(hash, known)
                    })
                };
                let next = statements.iter().map(key).collect();
                keys.push(next);
            }
            keys
        };
        [side(self.old, old, true), side(self.new, new, false)]
    }

    /// A hash of a global name: matching names of both texts have the same hash.
    fn global_key(&self, name: NameId, is_old: bool) -> u64 {
        let new = if is_old { self.globals.new_of(name) } else { Some(name) };
        match new {
            Some(new) => mixed(u64::from(new), 2),
            None => mixed(u64::from(name), 3),
        }
    }

    /// A hash of a statement and its names, where names of the old text are replaced by their
    /// partners.
    pub(super) fn exact_key(&self, statement: &Statement, is_old: bool, locals: &Matching) -> u64 {
        let outline = if is_old { self.old } else { self.new };
        let own = mixed(u64::from(statement.shape), 1);
        outline.holes(statement).iter().fold(own, |hash, name| {
            let known = match (outline.name(*name).is_global, is_old) {
                (true, _) => self.global_key(*name, is_old),
                (false, false) => mixed(u64::from(*name), 4),
                (false, true) => match locals.new_of(*name) {
                    Some(new) => mixed(u64::from(new), 4),
                    None => mixed(u64::from(*name), 5),
                },
            };
            mixed(hash, known)
        })
    }

    /// Matches the local names that stand most often in the same holes of aligned statements, then
    /// those with the same text.
    fn majority(
        &self,
        old: &[Statement],
        new: &[Statement],
        aligned: &[(u32, u32)],
        sure: &[(u32, u32)],
    ) -> Matching {
        let mut votes: Map<(NameId, NameId), u32> = Map::default();
        // Sure pairs are among the aligned ones, too, and so count twice.
        for &(at, other) in aligned.iter().chain(sure) {
            let (old, new) = (&old[at as usize], &new[other as usize]);
            if self.rough.of(old) != self.rough.of(new) {
                continue;
            }
            for (old, new) in self.old.holes(old).iter().zip(self.new.holes(new)) {
                *votes.entry((*old, *new)).or_default() += 1;
            }
        }
        let differ = |(old, new)| self.old.name_text(old) != self.new.name_text(new);
        let mut votes: Vec<_> = votes.into_iter().collect();
        votes.sort_by_cached_key(|&(pair, count)| (Reverse(count), differ(pair), pair));
        let mut locals = Matching::default();
        for ((old, new), _) in votes {
            self.join(&mut locals, old, new);
        }
        let own = |statements: &[Statement], outline: &Outline| -> Vec<NameId> {
            let holes = statements.iter().flat_map(|it| outline.holes(it).iter().copied());
            holes.filter(|name| !outline.name(*name).is_global).collect()
        };
        let by_text: Map<&str, NameId> =
            own(new, self.new).into_iter().map(|name| (self.new.name_text(name), name)).collect();
        for name in own(old, self.old) {
            if let Some(other) = by_text.get(self.old.name_text(name)) {
                self.join(&mut locals, name, *other);
            }
        }
        locals
    }
}

/// The greatest depth of [`Sides::keys`].
const DEPTH: usize = 3;

/// With at most this many changed statements, no other depth is tried.
const FEW: usize = 2;

/// How often names are matched again at most, as long as that makes more statements equal.
const ROUNDS: usize = 3;

fn hash_of(text: &str) -> u64 {
    text.bytes().fold(0, |hash, byte| mixed(hash, u64::from(byte)))
}

/// Mixes another value into a hash.
fn mixed(hash: u64, value: u64) -> u64 {
    let mixed = (hash ^ value).wrapping_add(0x9e37_79b9_7f4a_7c15).rotate_left(23)
        ^ value.wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ mixed >> 30).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}
