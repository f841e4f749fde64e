//! Finds the functions and variables of two texts that belong together.

use std::cmp::Reverse;

use super::align::Matching;
use super::outline::{Class, Function, NameId, Outline, Rough};
use crate::hash::Map;

/// Functions of two texts that belong together, by their positions.
pub(super) struct Pairs {
    /// In the order of the new text.
    pub(super) functions: Vec<(u32, u32)>,
    pub(super) globals: Matching,
}

impl Pairs {
    /// Pairs functions by name, by name without hashes, by body, by likeness, then by equal
    /// opcodes; variables by name, then by declaration.
    pub(super) fn new<'s>(old: &Outline<'s>, new: &Outline<'s>, rough: &Rough) -> Pairs {
        let mut finder = Finder {
            old,
            new,
            rough,
            old_free: vec![true; old.functions.len()],
            new_free: vec![true; new.functions.len()],
            functions: Vec::new(),
        };
        finder.by(|outline, function| outline.name_text(function.name).to_string());
        finder.by(|outline, function| without_hashes(outline.name_text(function.name)));
        finder.by(fingerprint);
        finder.by_likeness();
        finder.by(opcodes);
        let mut functions = finder.functions;
        functions.sort_unstable_by_key(|(_, new)| *new);
        let globals = globals(old, new, &functions);
        Pairs { functions, globals }
    }
}

struct Finder<'f, 's> {
    old: &'f Outline<'s>,
    new: &'f Outline<'s>,
    rough: &'f Rough,
    /// The functions that have no partner yet.
    old_free: Vec<bool>,
    new_free: Vec<bool>,
    functions: Vec<(u32, u32)>,
}

/// The positions of free functions.
fn free(is_free: &[bool]) -> impl Iterator<Item = usize> + '_ {
    is_free.iter().enumerate().filter(|(_, is_free)| **is_free).map(|(at, _)| at)
}

impl Finder<'_, '_> {
    /// Pairs free functions that have the same key, in order.
    fn by<K: std::hash::Hash + Eq>(&mut self, key: impl Fn(&Outline, &Function) -> K) {
        let mut known: Map<K, Vec<usize>> = Map::default();
        for at in free(&self.old_free) {
            known.entry(key(self.old, &self.old.functions[at])).or_default().push(at);
        }
        for list in known.values_mut() {
            list.reverse();
        }
        let free: Vec<usize> = free(&self.new_free).collect();
        for at in free {
            let own = known.get_mut(&key(self.new, &self.new.functions[at]));
            if let Some(old) = own.and_then(Vec::pop) {
                self.join(old, at);
            }
        }
    }

    fn join(&mut self, old: usize, new: usize) {
        self.old_free[old] = false;
        self.new_free[new] = false;
        self.functions.push((old as u32, new as u32));
    }

    /// Pairs free functions that have at least half of their statements in common.
    fn by_likeness(&mut self) {
        // For each shape, the old functions that have it, and how often.
        let mut having: Map<u32, Vec<(u32, u32)>> = Map::default();
        for at in free(&self.old_free) {
            for (shape, count) in counts(self.rough, self.old, &self.old.functions[at]) {
                having.entry(shape).or_default().push((at as u32, count));
            }
        }
        let mut likely = Vec::new();
        for at in free(&self.new_free) {
            let function = &self.new.functions[at];
            let mut common: Map<u32, u32> = Map::default();
            for (shape, count) in counts(self.rough, self.new, function) {
                // Shapes that many functions have say little, and would cost a lot.
                let owners = having.get(&shape).filter(|owners| owners.len() <= MANY);
                for (old, other) in owners.into_iter().flatten() {
                    *common.entry(*old).or_default() += count.min(*other);
                }
            }
            for (old, common) in common {
                let sizes = self.old.statements(&self.old.functions[old as usize]).len()
                    + self.new.statements(function).len();
                let percent = 200 * common as usize / sizes;
                if percent >= LIKE {
                    likely.push((Reverse(percent), at, old as usize));
                }
            }
        }
        likely.sort_unstable();
        for (_, new, old) in likely {
            if self.old_free[old] && self.new_free[new] {
                self.join(old, new);
            }
        }
    }
}

/// A name without hashes of files. nvcc puts these into the names of internal functions to tell
/// files apart: `_ZN39_INTERNAL_91a723db_9_reduce_cu_b5ed19475__ldgEPK6float4`.
pub(crate) fn without_hashes(name: &str) -> String {
    let mut plain = String::with_capacity(name.len());
    let is_internal = name.contains("_INTERNAL_") || name.contains("_GLOBAL__N__");
    let mut rest = name;
    while let Some(first) = rest.chars().next() {
        let (taken, after) = rest.split_at(first.len_utf8());
        plain.push_str(taken);
        rest = after;
        let is_mark = || ["_INTERNAL_", "__N__", "_cu_"].iter().any(|mark| plain.ends_with(mark));
        if is_internal && first == '_' && is_mark() {
            let hash = rest.bytes().take(8).take_while(u8::is_ascii_hexdigit).count();
            rest = &rest[if hash == 8 { 8 } else { 0 }..];
        }
    }
    plain
}

/// A shape that more functions than this have is ignored.
const MANY: usize = 32;

/// The percentage of common statements that makes two functions alike.
const LIKE: usize = 50;

/// The shapes of a function's statements, each with its number of statements.
fn counts(rough: &Rough, outline: &Outline, function: &Function) -> Vec<(u32, u32)> {
    let mut shapes: Vec<u32> = outline.statements(function).iter().map(|it| rough.of(it)).collect();
    shapes.sort_unstable();
    shapes.chunk_by(|x, y| x == y).map(|same| (same[0], same.len() as u32)).collect()
}

/// The body of a function, with local names numbered by first use. The header is left out.
fn fingerprint(outline: &Outline, function: &Function) -> Vec<u32> {
    let mut numbers: Map<NameId, u32> = Map::default();
    let mut print = Vec::new();
    for statement in outline.statements(function).iter().skip(1) {
        print.push(statement.shape);
        for name in outline.holes(statement) {
            if outline.name(*name).is_global {
                continue;
            }
            let next = numbers.len() as u32;
            print.push(*numbers.entry(*name).or_insert(next));
        }
    }
    print
}

/// The opcodes of all statements.
fn opcodes(outline: &Outline, function: &Function) -> Vec<u8> {
    let mut words = Vec::new();
    for statement in outline.statements(function).iter().skip(1) {
        words.extend(outline.opcode(statement).bytes());
        words.push(b' ');
    }
    words
}

/// Matches the names of functions and variables. Exported names match only the same name. Internal
/// names match names that are declared alike: first those with the same name, then the others in
/// order. At last, internal names match the same name.
fn globals(old: &Outline, new: &Outline, functions: &[(u32, u32)]) -> Matching {
    let mut globals = Matching::default();
    for &(before, after) in functions {
        globals.join(old.functions[before as usize].name, new.functions[after as usize].name);
    }
    let all = |outline: &Outline| -> Vec<NameId> {
        (0..outline.names.len() as u32).filter(|name| outline.name(*name).is_global).collect()
    };
    let (all_old, all_new) = (all(old), all(new));
    let (old_items, new_items) = (declarations(old), declarations(new));
    let shape = |items: &Items, name: NameId| items.get(&name).copied();
    let is_internal = |outline: &Outline, name: NameId| {
        outline.name(name).class != Class::Function && !outline.name(name).is_exported
    };
    // A name that is declared twice is an error, but no difference.
    let text = |outline: &Outline, name: NameId| outline.name_text(name).to_string();
    let class = |outline: &Outline, name: NameId| outline.name(name).class == Class::Function;
    let mut join = |key: &dyn Fn(&Outline, &Items, NameId) -> Option<Key>| {
        let mut known: Map<Key, Vec<NameId>> = Map::default();
        for before in all_old.iter().rev().filter(|name| globals.new_of(**name).is_none()) {
            if let Some(key) = key(old, &old_items, *before) {
                known.entry(key).or_default().push(*before);
            }
        }
        for after in &all_new {
            if globals.old_of(*after).is_some() {
                continue;
            }
            let own = key(new, &new_items, *after).and_then(|key| known.get_mut(&key)?.pop());
            if let Some(before) = own {
                globals.join(before, *after);
            }
        }
    };
    join(&|it, _, name| (!is_internal(it, name)).then(|| (text(it, name), None, class(it, name))));
    join(&|it, items, name| Some((text(it, name), Some(shape(items, name)?), false)));
    join(&|it, items, name| {
        is_internal(it, name).then(|| (String::new(), shape(items, name), false))
    });
    join(&|it, _, name| is_internal(it, name).then(|| (text(it, name), None, false)));
    globals
}

/// A name, the shape of its declaration and the hole there, and whether it is a function.
type Key = (String, Option<(u32, u32)>, bool);

/// For each variable, and each register outside of functions, the shape of the item that declares
/// it, and its hole in the item.
type Items = Map<NameId, (u32, u32)>;

fn declarations(outline: &Outline) -> Items {
    let mut declared = Map::default();
    for item in &outline.items {
        let span = outline.span(item);
        for (name, place) in outline.holes(item).iter().zip(0..) {
            let is_variable = outline.name(*name).class != Class::Function;
            let first = outline.name(*name).span;
            let is_first = first.start >= span.start && first.end <= span.end;
            if is_variable && is_first {
                declared.entry(*name).or_insert((item.shape, place));
            }
        }
    }
    declared
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_of_files_are_left_out() {
        for (name, expected) in [
            (
                "_ZN4_INTERNAL_91a723db_9_reduce_cu_b5ed19475sumE",
                "_ZN4_INTERNAL__9_reduce_cu_5sumE",
            ),
            ("_ZN2_GLOBAL__N__5fac8941_a_cu_6fdb84118level", "_ZN2_GLOBAL__N___a_cu_8level"),
            // No hash is this short, and other names have none.
            ("_INTERNAL_91a72", "_INTERNAL_91a72"),
            ("sum_cu_b5ed1947", "sum_cu_b5ed1947"),
            ("_INTERNAL_é", "_INTERNAL_é"),
        ] {
            assert_eq!(without_hashes(name), expected);
        }
    }
}
