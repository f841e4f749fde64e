//! Where the bytes stand that may end or interrupt a statement, found for a
//! block of bytes at a time.

/// Bytes in a block.
const BLOCK: usize = 64;

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

/// Finds such bytes. It remembers a block, so that going on from one to the next
/// costs little.
#[derive(Debug)]
pub(super) struct Stops<'s> {
    bytes: &'s [u8],
    /// Where the block at hand starts.
    start: usize,
    /// A bit for each stop in it.
    mask: u64,
}

impl<'s> Stops<'s> {
    pub(super) fn new(bytes: &'s [u8]) -> Stops<'s> {
        let mut stops = Stops { bytes, start: 0, mask: 0 };
        stops.load(0);
        stops
    }

    /// Offset of the first stop at or after an offset, or of the text's end.
    #[inline]
    pub(super) fn next(&mut self, at: usize) -> usize {
        let start = at - at % BLOCK;
        if start != self.start {
            self.load(start);
        }
        let mut mask = self.mask & u64::MAX << (at % BLOCK);
        while mask == 0 {
            let start = self.start + BLOCK;
            if start >= self.bytes.len() {
                return self.bytes.len();
            }
            self.load(start);
            mask = self.mask;
        }
        self.start + mask.trailing_zeros() as usize
    }

    #[inline]
    fn load(&mut self, start: usize) {
        self.start = start;
        let rest = self.bytes.get(start..).unwrap_or_default();
        self.mask = if let Some(block) = rest.first_chunk() {
            mask(block)
        } else {
            let mut block = [0; BLOCK];
            block[..rest.len()].copy_from_slice(rest);
            mask(&block)
        };
    }
}

#[inline]
fn mask(block: &[u8; BLOCK]) -> u64 {
    let flags = block.map(|byte| u8::from(is_stop(byte)));
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
        for length in [0, 1, 2, 63, 64, 65, 127, 128, 129, 200, 400] {
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
