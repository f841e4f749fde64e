//! Finds the bytes that may end or interrupt a statement, several blocks of bytes at a time.

/// Bytes in a block.
pub(crate) const BLOCK: usize = 64;

/// Blocks that are searched at once.
const BLOCKS: usize = 16;

const GROUP: usize = BLOCKS * BLOCK;

/// Whether a byte may end or interrupt a statement. It has no branches, so that the compiler can
/// turn a loop over many bytes into vector instructions.
#[inline]
#[expect(clippy::needless_bitwise_bool, reason = "no branches")]
fn is_stop(byte: u8) -> bool {
    // `"` and `#` differ in the lowest bit only, and so do `:` and `;`.
    (byte | 1 == b'#')
        | (byte | 1 == b';')
        | (byte == b'/')
        | (byte == b'{')
        | (byte == b'}')
        | (byte == b'\n')
}

/// Finds stops. It keeps the stops of a group of blocks, so that the next search costs little.
#[derive(Debug)]
pub(super) struct Stops<'s> {
    bytes: &'s [u8],
    /// The letter, in lower case, that wanted opcodes start with.
    initial: u8,
    /// Offset of the current group.
    start: usize,
    group: BlockGroup,
}

/// The result of a search for a stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FoundStop {
    /// Offset of the stop, or of the text's end.
    pub(super) stop: usize,
    /// Offset of the last line break that the search passed together with the `;` before it.
    pub(super) begun: Option<usize>,
}

/// Bits for each block of a group, one for each byte.
#[derive(Clone, Copy, Debug, Default)]
struct BlockGroup {
    /// All stops except the pairs of a `;` and the line break right after it, where a tab and a
    /// lower-case letter follow and no wanted opcode starts with that letter.
    stops: [u64; BLOCKS],
    /// The line breaks of these pairs, as far as the search recognises them.
    begun: [u64; BLOCKS],
}

impl<'s> Stops<'s> {
    pub(super) fn new(bytes: &'s [u8], initial: u8) -> Stops<'s> {
        let mut stops = Stops { bytes, initial, start: 0, group: BlockGroup::default() };
        stops.load(0);
        stops
    }

    /// The first stop at or after an offset.
    #[inline]
    pub(super) fn next(&mut self, at: usize) -> FoundStop {
        let start = at - at % GROUP;
        if start != self.start {
            self.load(start);
        }
        let mut block = at % GROUP / BLOCK;
        let mut stops = self.group.stops[block] & u64::MAX << (at % BLOCK);
        // For a line break at the offset itself, the `;` lies before the search.
        let mut begun = self.group.begun[block] & (u64::MAX - 1) << (at % BLOCK);
        let mut last = None;
        loop {
            let base = self.start + block * BLOCK;
            let stop = stops.trailing_zeros();
            begun &= low_bits(stop);
            if begun != 0 {
                last = Some(base + BLOCK - 1 - begun.leading_zeros() as usize);
            }
            if stops != 0 {
                return FoundStop { stop: base + stop as usize, begun: last };
            }
            block += 1;
            if block == BLOCKS {
                let start = self.start + GROUP;
                if start >= self.bytes.len() {
                    return FoundStop { stop: self.bytes.len(), begun: last };
                }
                self.load(start);
                block = 0;
            }
            (stops, begun) = (self.group.stops[block], self.group.begun[block]);
        }
    }

    fn load(&mut self, start: usize) {
        self.start = start;
        let rest = self.bytes.get(start..).unwrap_or_default();
        if rest.len() >= GROUP {
            self.group = group(self.bytes, start, self.initial);
            return;
        }
        self.group = BlockGroup::default();
        for (to, bytes) in self.group.stops.iter_mut().zip(rest.chunks(BLOCK)) {
            let mut block = [0; BLOCK];
            block[..bytes.len()].copy_from_slice(bytes);
            *to = mask(&block, is_stop);
        }
    }
}

#[cfg(feature = "simd")]
fn group(bytes: &[u8], start: usize, initial: u8) -> BlockGroup {
    use fearless_simd::prelude::*;
    use fearless_simd::{Level, Simd, dispatch, u8x64};

    #[inline(always)]
    #[expect(clippy::inline_always, reason = "compiled for each kind of machine")]
    fn group<S: Simd>(simd: S, bytes: &[u8], start: usize, initial: u8) -> BlockGroup {
        let mut group = BlockGroup::default();
        for (at, start) in (start..start + GROUP).step_by(BLOCK).enumerate() {
            let now = u8x64::from_slice(simd, &bytes[start..start + BLOCK]);
            let newline = now.simd_eq(b'\n');
            // As in `is_stop`.
            let odd = now | 1;
            let stops = odd.simd_eq(b'#')
                | odd.simd_eq(b';')
                | now.simd_eq(b'/')
                | now.simd_eq(b'{')
                | now.simd_eq(b'}')
                | newline;
            group.stops[at] = stops.to_bitmask();
            // The comparison needs one byte before the block and two after it.
            if let Some(around) = bytes.get(start.wrapping_sub(1)..start + BLOCK + 2) {
                let beside = |by: usize| u8x64::from_slice(simd, &around[by..by + BLOCK]);
                let word = beside(3);
                let word = (word - b'a').simd_lt(26) & !word.simd_eq(initial);
                let ended = beside(0).simd_eq(b';') & beside(2).simd_eq(b'\t');
                group.begun[at] = (newline & ended & word).to_bitmask();
            }
        }
        for at in 0..BLOCKS {
            let next = group.begun.get(at + 1).map_or(0, |next| next << 63);
            group.stops[at] &= !(group.begun[at] | group.begun[at] >> 1 | next);
        }
        group
    }

    dispatch!(Level::new(), simd => group(simd, bytes, start, initial))
}

/// Without wide vectors, stopping at every line break costs less than recognising these pairs.
#[cfg(not(feature = "simd"))]
fn group(bytes: &[u8], start: usize, _initial: u8) -> BlockGroup {
    let blocks = bytes[start..start + GROUP].as_chunks().0;
    let stops = std::array::from_fn(|at| mask(&blocks[at], is_stop));
    BlockGroup { stops, begun: [0; BLOCKS] }
}

/// A word whose `count` lowest bits are set, or all bits.
#[inline]
pub(crate) fn low_bits(count: u32) -> u64 {
    1u64.checked_shl(count).unwrap_or(0).wrapping_sub(1)
}

/// One bit for each byte of a block: whether `is` holds for the byte.
#[inline]
pub(crate) fn mask(block: &[u8; BLOCK], is: impl Fn(u8) -> bool) -> u64 {
    let flags = block.map(|byte| u8::from(is(byte)));
    // A product brings the lowest bits of eight bytes together, at its top.
    flags.as_chunks().0.iter().enumerate().fold(0, |mask, (at, &word)| {
        let word = u64::from_le_bytes(word).wrapping_mul(0x0102_0408_1020_4080);
        mask | word >> 56 << (8 * at)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Numbers;

    /// The result of a search byte by byte that stops everywhere.
    fn plainly(bytes: &[u8], at: usize) -> usize {
        let stop = |byte: &u8| b"\n\"#/:;{}".contains(byte);
        bytes[at..].iter().position(stop).map_or(bytes.len(), |found| at + found)
    }

    /// Whether a `;` and the line break after it need no stop.
    fn is_passed(bytes: &[u8], at: usize) -> bool {
        matches!(bytes[at..], [b';', b'\n', b'\t', word, ..]
            if word.is_ascii_lowercase() && word != b'v')
    }

    #[test]
    fn low_bits_are_as_many_as_asked() {
        for count in 0..=64 {
            let bits = low_bits(count);
            assert_eq!((bits.count_ones(), bits.trailing_ones()), (count, count));
        }
        assert_eq!(low_bits(65), u64::MAX);
    }

    #[test]
    fn stops_are_those_of_a_search_byte_by_byte() {
        let some = b";\n\ta;\n\tB;\n\tv;\n\t\"#/:{}x;\n\tV;\n\t.;\n\n\t; ";
        for length in [0, 1, 2, 63, 64, 65, 127, 128, 400, 1023, 1024, 1025, 2048, 2100, 5000] {
            let mut numbers = Numbers(length.into());
            // Every byte value at several places of a block, and pieces that contain stops.
            let mut bytes: Vec<u8> = (0..length).map(|n: u32| (n * n * 37 % 257) as u8).collect();
            for _ in 0..length / 8 {
                let (from, len) = (numbers.below(some.len()), 1 + numbers.below(8));
                let piece = &some[from..some.len().min(from + len)];
                let to = numbers.below(bytes.len().saturating_sub(8).max(1));
                bytes.splice(to..(to + piece.len()).min(length as usize), piece.iter().copied());
                bytes.truncate(length as usize);
            }
            let mut stops = Stops::new(&bytes, b'v');
            // Forwards, and back again.
            for at in (0..=bytes.len()).chain((0..=bytes.len()).rev()) {
                let found = stops.next(at);
                let (mut stop, mut begun) = (plainly(&bytes, at), None);
                while stop < found.stop {
                    // A stop that the search passes is the first or the second byte of such a pair.
                    let second = stop > 0 && is_passed(&bytes, stop - 1);
                    assert!(is_passed(&bytes, stop) || second, "{at} of {length}: {stop}");
                    if second && stop > at {
                        begun = Some(stop);
                    }
                    stop = plainly(&bytes, stop + 1);
                }
                assert_eq!(found, FoundStop { stop, begun }, "{at} of {length}");
            }
        }
    }

    #[test]
    #[cfg(feature = "simd")]
    fn ordinary_lines_need_no_stop() {
        let bytes = "\tadd.s32 \t%r1, %r2, %r3;\n".repeat(4 * GROUP / 26);
        let mut stops = Stops::new(bytes.as_bytes(), b'v');
        let (mut at, mut count) = (0, 0);
        while at < bytes.len() / GROUP * GROUP {
            at = stops.next(at).stop + 1;
            count += 1;
        }
        // The search stops only where groups meet.
        assert!(count <= 2 * 4 + 2, "{count}");
    }
}
