//! Where the bytes stand that may end or interrupt a statement, found for some
//! blocks of bytes at a time.

/// Bytes in a block.
const BLOCK: usize = 64;

/// Blocks that are searched at once.
const BLOCKS: usize = 16;

const GROUP: usize = BLOCKS * BLOCK;

/// Whether a byte may end or interrupt a statement. It is asked for many at once:
/// without branches it becomes vector instructions.
#[inline]
#[expect(clippy::needless_bitwise_bool, reason = "no branches")]
fn is_stop(byte: u8) -> bool {
    // Two neighbours differ in the lowest bit.
    (byte | 1 == b'#')
        | (byte | 1 == b';')
        | (byte == b'/')
        | (byte == b'{')
        | (byte == b'}')
        | (byte == b'\n')
}

/// Finds such bytes. It remembers a group of blocks, so that going on from one to
/// the next costs little.
#[derive(Debug)]
pub(super) struct Stops<'s> {
    bytes: &'s [u8],
    /// Where the group at hand starts.
    start: usize,
    /// For each of its blocks a bit for each stop.
    masks: [u64; BLOCKS],
}

impl<'s> Stops<'s> {
    pub(super) fn new(bytes: &'s [u8]) -> Stops<'s> {
        let mut stops = Stops { bytes, start: 0, masks: [0; BLOCKS] };
        stops.load(0);
        stops
    }

    /// Offset of the first stop at or after an offset, or of the text's end.
    #[inline]
    pub(super) fn next(&mut self, at: usize) -> usize {
        let start = at - at % GROUP;
        if start != self.start {
            self.load(start);
        }
        let mut block = at % GROUP / BLOCK;
        let mut mask = self.masks[block] & u64::MAX << (at % BLOCK);
        while mask == 0 {
            block += 1;
            if block == BLOCKS {
                let start = self.start + GROUP;
                if start >= self.bytes.len() {
                    return self.bytes.len();
                }
                self.load(start);
                block = 0;
            }
            mask = self.masks[block];
        }
        self.start + block * BLOCK + mask.trailing_zeros() as usize
    }

    fn load(&mut self, start: usize) {
        self.start = start;
        let rest = self.bytes.get(start..).unwrap_or_default();
        if let Some(group) = rest.first_chunk() {
            self.masks = masks(group);
            return;
        }
        self.masks = [0; BLOCKS];
        for (to, bytes) in self.masks.iter_mut().zip(rest.chunks(BLOCK)) {
            let mut block = [0; BLOCK];
            block[..bytes.len()].copy_from_slice(bytes);
            *to = mask(&block, is_stop);
        }
    }
}

#[cfg(feature = "simd")]
fn masks(group: &[u8; GROUP]) -> [u64; BLOCKS] {
    use fearless_simd::prelude::*;
    use fearless_simd::{Level, Simd, dispatch, u8x64};

    #[inline(always)]
    #[expect(clippy::inline_always, reason = "compiled for each kind of machine")]
    fn masks<S: Simd>(simd: S, group: &[u8; GROUP]) -> [u64; BLOCKS] {
        let blocks = group.as_chunks::<BLOCK>().0;
        std::array::from_fn(|at| {
            let bytes = u8x64::from_slice(simd, &blocks[at]);
            // As in `is_stop`.
            let odd = bytes | 1;
            let stops = odd.simd_eq(b'#')
                | odd.simd_eq(b';')
                | bytes.simd_eq(b'/')
                | bytes.simd_eq(b'{')
                | bytes.simd_eq(b'}')
                | bytes.simd_eq(b'\n');
            stops.to_bitmask()
        })
    }

    dispatch!(Level::new(), simd => masks(simd, group))
}

#[cfg(not(feature = "simd"))]
fn masks(group: &[u8; GROUP]) -> [u64; BLOCKS] {
    let blocks = group.as_chunks().0;
    std::array::from_fn(|at| mask(&blocks[at], is_stop))
}

/// A bit for each byte of a block, whether it is such a one.
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

    #[test]
    fn stops_are_those_of_a_search_byte_by_byte() {
        for length in [0, 1, 2, 63, 64, 65, 127, 128, 400, 1023, 1024, 1025, 2048, 2100] {
            // Each byte at some places of a block.
            let bytes: Vec<u8> = (0..length).map(|n: u32| (n * n * 37 % 257) as u8).collect();
            let mut stops = Stops::new(&bytes);
            // Forwards, and back again.
            for at in (0..=bytes.len()).chain((0..=bytes.len()).rev()) {
                let stop = |byte: &u8| b"\n\"#/:;{}".contains(byte);
                let found = bytes[at..].iter().position(stop);
                let expected = found.map_or(bytes.len(), |found| at + found);
                assert_eq!(stops.next(at), expected, "{at} of {length}");
            }
        }
    }
}
