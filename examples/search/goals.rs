//! The values from which one more operation gives the result.

use vptx::backend::ptx::Opcode;
use vptx::isa::Type;

use crate::battery::{Row, TESTS};
use crate::operation::Operation;
use crate::pool::Pool;
use crate::shape::{Shape, Slot};
use crate::values::{Id, Values};

/// A value that would complete a sequence.
#[derive(Debug)]
pub(crate) struct Exact {
    pub(crate) row: Row,
    /// The operation that turns the value into the result; `None` if the value is the result.
    pub(crate) finish: Option<Shape>,
}

/// Values that would complete a sequence, sorted by their first word.
#[derive(Debug, Default)]
pub(crate) struct Table {
    entries: Vec<Exact>,
    /// The hashes of all first words, as a set of bits.
    bits: Vec<u64>,
}

fn bit(word: u32) -> (usize, u64) {
    let hash = word.wrapping_mul(0x9e37_79b1) >> 16;
    (hash as usize / 64, 1 << (hash % 64))
}

impl Table {
    fn new(mut entries: Vec<Exact>) -> Table {
        entries.sort_by_key(|entry| entry.row[0]);
        let mut bits = vec![0; 1024];
        for entry in &entries {
            let (at, bit) = bit(entry.row[0]);
            bits[at] |= bit;
        }
        Table { entries, bits }
    }

    /// The entry that has exactly the words that a function gives.
    #[inline]
    pub(crate) fn find(&self, word: impl Fn(usize) -> u32) -> Option<&Exact> {
        let first = word(0);
        let (at, bit) = bit(first);
        if self.bits[at] & bit == 0 {
            return None;
        }
        let start = self.entries.partition_point(|entry| entry.row[0] < first);
        let same = self.entries[start..].iter().take_while(|entry| entry.row[0] == first);
        same.into_iter().find(|entry| (1..TESTS).all(|test| entry.row[test] == word(test)))
    }
}

/// A word that a final `prmt` can combine with a value.
#[derive(Debug)]
pub(crate) struct Beside {
    pub(crate) word: Id,
    /// For each byte of the result, the nibble that selects it from the word, if any.
    pub(crate) given: [Option<u32>; 4],
}

/// Two words that a final `lop3` can combine with a value.
#[derive(Debug)]
pub(crate) struct Pair {
    pub(crate) words: [Id; 2],
    /// For each combination of bits of the two words, in the first test: the bits where the result
    /// must be 1, and the bits where it must be 0.
    first: [[u32; 2]; 4],
}

impl Pair {
    fn new(words: [Id; 2], wanted: &Row, values: &Values) -> Pair {
        let [y, z] = words.map(|id| values.row(id)[0]);
        let rows = [!y & !z, !y & z, y & !z, y & z];
        Pair { words, first: rows.map(|row| [row & wanted[0], row & !wanted[0]]) }
    }

    /// Whether the value may give the result, judged by its word in the first test alone.
    #[inline]
    pub(crate) fn may_be(&self, word: u32) -> bool {
        let clashes = |word: u32, [on, off]: [u32; 2]| word & on != 0 && word & off != 0;
        !self.first.iter().any(|row| clashes(word, *row) || clashes(!word, *row))
    }
}

/// A final minimum or maximum with a word.
#[derive(Debug)]
pub(crate) struct Limit {
    pub(crate) opcode: Opcode,
    pub(crate) word: Id,
}

/// The ways in which a value may give the result.
#[derive(Debug)]
pub(crate) struct Goals {
    pub(crate) wanted: Row,
    pub(crate) exact: Table,
    /// Values that a shift or a product must give. One operation may join it with a sum.
    pub(crate) moved: Table,
    pub(crate) moves: Vec<(Opcode, Id)>,
    pub(crate) beside: Vec<Beside>,
    pub(crate) pairs: Vec<Pair>,
    /// Masks that a final `lop3` can combine with a value and an argument of the value.
    pub(crate) lanes: Vec<Id>,
    pub(crate) limits: Vec<Limit>,
    /// Operations that no other goal covers.
    pub(crate) direct: Vec<Shape>,
}

impl Goals {
    pub(crate) fn new(
        wanted: Row,
        pool: &Pool,
        sources: &[Id],
        direct: Vec<Shape>,
        values: &mut Values,
    ) -> Goals {
        let mut moves = Vec::new();
        for &by in &pool.shifts {
            let by = values.constant(by);
            moves.extend(
                [Opcode::Shr(Type::U32), Opcode::Shr(Type::S32), Opcode::Shl].map(|it| (it, by)),
            );
        }
        for &factor in &pool.factors {
            moves.push((Opcode::Mul, values.constant(factor)));
        }
        Goals {
            wanted,
            exact: Table::new(exact(&wanted, pool, sources, values)),
            moved: Table::new(moved(&wanted, sources, values)),
            moves,
            beside: beside(&wanted, sources, values),
            pairs: pairs(&wanted, pool, sources, values),
            lanes: pool.lanes.iter().map(|word| values.constant(*word)).collect(),
            limits: limits(&wanted, pool, sources, values),
            direct,
        }
    }
}

pub(crate) fn zip(x: &Row, y: &Row, f: fn(u32, u32) -> u32) -> Row {
    std::array::from_fn(|test| f(x[test], y[test]))
}

/// The values from which a sum or difference with another word gives the result.
fn exact(wanted: &Row, pool: &Pool, sources: &[Id], values: &mut Values) -> Vec<Exact> {
    let (add, sub) = (u32::wrapping_add, u32::wrapping_sub);
    let mut found = vec![Exact { row: *wanted, finish: None }];
    let mut push = |row, operation, slots| {
        found.push(Exact { row, finish: Some(Shape { operation, slots }) });
    };
    let summands: Vec<Id> = pool.summands.iter().map(|word| values.constant(*word)).collect();
    let zero = Slot::Known(values.constant(0));
    let x = Slot::First;
    for (at, &one) in sources.iter().chain(&summands).enumerate() {
        let word = *values.row(one);
        let one = Slot::Known(one);
        push(zip(wanted, &word, sub), Operation::One(Opcode::Add), [x, one, zero]);
        push(zip(&word, wanted, sub), Operation::One(Opcode::Sub), [one, x, zero]);
        if at >= sources.len() {
            continue;
        }
        push(zip(wanted, &word, add), Operation::One(Opcode::Sub), [x, one, zero]);
        for &other in sources.iter().chain(&summands) {
            let both = zip(&word, values.row(other), add);
            let less = zip(&word, values.row(other), sub);
            let other = Slot::Known(other);
            let two = Operation::Two;
            push(zip(wanted, &both, sub), two(Opcode::Add, Opcode::Add), [x, one, other]);
            push(zip(wanted, &less, sub), two(Opcode::Add, Opcode::Sub), [x, one, other]);
            push(zip(wanted, &both, add), two(Opcode::Sub, Opcode::Sub), [x, one, other]);
            push(zip(&both, wanted, sub), two(Opcode::Sub, Opcode::Add), [one, x, other]);
            push(zip(&less, wanted, sub), two(Opcode::Sub, Opcode::Sub), [one, x, other]);
        }
    }
    found
}

/// The values that a shift or product must give: the result itself, or the result minus a source.
/// In the second case, the shape adds the source.
fn moved(wanted: &Row, sources: &[Id], values: &mut Values) -> Vec<Exact> {
    let zero = Slot::Known(values.constant(0));
    let mut found = vec![Exact { row: *wanted, finish: None }];
    for &source in sources {
        let slots = [Slot::First, Slot::Known(source), zero];
        let finish = Some(Shape { operation: Operation::One(Opcode::Add), slots });
        found.push(Exact { row: zip(wanted, values.row(source), u32::wrapping_sub), finish });
    }
    found
}

/// Byte number `nibble & 3` of a word or, if bit 3 is set, its sign in all bits.
#[inline]
pub(crate) fn byte(word: u32, nibble: u32) -> u32 {
    let byte = (word >> (8 * (nibble & 3))) as u8;
    let byte = if nibble < 8 { byte } else { (byte.cast_signed() >> 7).cast_unsigned() };
    byte.into()
}

/// The nibbles of a `prmt` selector that take bytes or signs of the first word.
pub(crate) const NIBBLES: [u32; 8] = [0, 1, 2, 3, 8, 9, 10, 11];

fn beside(wanted: &Row, sources: &[Id], values: &mut Values) -> Vec<Beside> {
    let zero = values.constant(0);
    let mut found: Vec<Beside> = Vec::new();
    for &word in sources.iter().rev().chain([&zero]) {
        let row = values.row(word);
        let given = [0, 1, 2, 3].map(|place| {
            let holds = |nibble: &u32| {
                (0..TESTS).all(|test| byte(row[test], *nibble) == byte(wanted[test], place))
            };
            NIBBLES.into_iter().find(holds)
        });
        if found.iter().all(|other| other.needed() != needed(&given)) {
            found.push(Beside { word, given });
        }
    }
    found.sort_by_key(|beside| beside.needed().count_ones());
    found
}

fn needed(given: &[Option<u32>; 4]) -> u32 {
    (0..4).filter(|&place| given[place].is_none()).fold(0, |all, place| all | 1 << place)
}

impl Beside {
    /// The bytes that the value must give, as a set of bits.
    pub(crate) fn needed(&self) -> u32 {
        needed(&self.given)
    }
}

fn pairs(wanted: &Row, pool: &Pool, sources: &[Id], values: &mut Values) -> Vec<Pair> {
    let mut words: Vec<Id> = pool.masks.iter().map(|word| values.constant(*word)).collect();
    if words.is_empty() {
        words.push(values.constant(0));
    }
    let mut found = Vec::new();
    for (at, &one) in sources.iter().enumerate() {
        for &other in sources[at + 1..].iter().chain(&words) {
            found.push(Pair::new([one, other], wanted, values));
        }
    }
    found
}

fn limits(wanted: &Row, pool: &Pool, sources: &[Id], values: &mut Values) -> Vec<Limit> {
    let words: Vec<Id> = pool.limits.iter().map(|word| values.constant(*word)).collect();
    let mut found = Vec::new();
    for &word in sources.iter().chain(&words) {
        for ty in [Type::U32, Type::S32] {
            for opcode in [Opcode::Min(ty), Opcode::Max(ty)] {
                if is_limit(opcode, values.row(word), wanted) {
                    found.push(Limit { opcode, word });
                }
            }
        }
    }
    found
}

/// Whether the result can be the minimum (or maximum) of this word and another word: for a minimum,
/// this word must never be below the result.
pub(crate) fn is_limit(opcode: Opcode, word: &Row, wanted: &Row) -> bool {
    let operation = Operation::One(opcode);
    (0..TESTS).all(|test| operation.eval([word[test], wanted[test], 0]) == wanted[test])
}

/// The truth table of the bitwise function that gives the result for a value and two words, if
/// there is one.
pub(crate) fn lop3(value: impl Fn(usize) -> u32, words: [&Row; 2], wanted: &Row) -> Option<u8> {
    let (mut on, mut off) = ([0; 8], [0; 8]);
    for test in 0..TESTS {
        let x = value(test);
        let (y, z, wanted) = (words[0][test], words[1][test], wanted[test]);
        for row in 0..8 {
            let pick = |word: u32, bit: usize| if row >> bit & 1 == 1 { word } else { !word };
            let bits = pick(x, 2) & pick(y, 1) & pick(z, 0);
            on[row] |= bits & wanted;
            off[row] |= bits & !wanted;
            if on[row] != 0 && off[row] != 0 {
                return None;
            }
        }
    }
    Some((0..8).filter(|&row| on[row] != 0).fold(0, |table, row| table | 1 << row))
}
