//! Classes of the bytes of a text, with one bit for each byte. With them, statements of the usual
//! shape are recognised without a look at each byte.

use crate::syntax::blocks::BLOCK;
#[cfg(not(feature = "simd"))]
use crate::syntax::blocks::mask;

/// Blocks in a window.
const BLOCKS: usize = 128;

const WINDOW: usize = BLOCKS * BLOCK;

/// Classes of the bytes of a block, with one bit for each byte. The lowest bit belongs to the first
/// byte.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    /// Bytes of identifiers, and dots.
    pub(super) name: u64,
    /// `;`
    pub(super) end: u64,
    /// `|` and `+`
    pub(super) joint: u64,
    /// Bytes that cannot follow the byte before them among operands with the usual spacing.
    pub(super) odd: u64,
}

impl Shape {
    /// The shape of bytes after the text.
    const NOTHING: Shape = Shape { name: 0, end: 0, joint: 0, odd: u64::MAX };
}

/// The shapes of a text, computed for one window at a time.
#[derive(Debug)]
pub(super) struct Shapes<'s> {
    bytes: &'s [u8],
    /// The start of the window.
    start: usize,
    /// The blocks of the window and one more, since the bytes that are asked for may start
    /// anywhere.
    blocks: Box<[Shape; BLOCKS + 1]>,
}

impl<'s> Shapes<'s> {
    pub(super) fn new(bytes: &'s [u8]) -> Shapes<'s> {
        // No window is loaded yet: its start lies far behind any text.
        Shapes { bytes, start: usize::MAX / 2, blocks: Box::new([Shape::NOTHING; BLOCKS + 1]) }
    }

    /// The shape of the 64 bytes at an offset; bytes after the text are odd.
    #[inline]
    pub(super) fn at(&mut self, at: usize) -> Shape {
        let mut within = at.wrapping_sub(self.start);
        if within >= WINDOW {
            self.load(at - at % BLOCK);
            within = at % BLOCK;
        }
        let shift = within % BLOCK;
        let (low, high) = (&self.blocks[within / BLOCK], &self.blocks[within / BLOCK + 1]);
        let join = |low: u64, high: u64| low >> shift | high << 1 << (BLOCK - 1 - shift);
        Shape {
            name: join(low.name, high.name),
            end: join(low.end, high.end),
            joint: join(low.joint, high.joint),
            odd: join(low.odd, high.odd),
        }
    }

    #[cold]
    fn load(&mut self, start: usize) {
        self.start = start;
        #[cfg(feature = "simd")]
        fearless_simd::dispatch!(fearless_simd::Level::new(), simd => self.fill(
            #[inline(always)]
            |block| classes_on(simd, block),
        ));
        #[cfg(not(feature = "simd"))]
        self.fill(classes);
    }

    #[inline(always)]
    #[expect(clippy::inline_always, reason = "compiled for each kind of machine")]
    fn fill(&mut self, classes: impl Fn(&[u8; BLOCK]) -> Classes) {
        let (behind, ahead) = self.bytes.split_at(self.start.min(self.bytes.len()));
        let mut before = behind.last_chunk().map(&classes).unwrap_or_default();
        let (blocks, rest) = ahead.as_chunks::<BLOCK>();
        let mut last = [0; BLOCK];
        last[..rest.len()].copy_from_slice(rest);
        for (at, shape) in self.blocks.iter_mut().enumerate() {
            let block = match blocks.get(at) {
                Some(block) => block,
                None if at == blocks.len() => &last,
                None => {
                    *shape = Shape::NOTHING;
                    continue;
                }
            };
            let now = classes(block);
            *shape = now.shape(before);
            before = now;
        }
    }
}

/// The kinds of the bytes of a block.
#[derive(Clone, Copy, Default)]
struct Classes {
    /// The bytes that may start an identifier.
    letter: u64,
    digit: u64,
    percent: u64,
    dot: u64,
    comma: u64,
    space: u64,
    /// `[` and `{`
    open: u64,
    /// `]` and `}`
    close: u64,
    /// `-` and `!`
    sign: u64,
    /// `|` and `+`
    joint: u64,
    end: u64,
}

impl Classes {
    /// The shape of a block. A pair of bytes is usual only if the formatter would not change the
    /// space between them.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "compiled for each kind of machine")]
    fn shape(self, before: Classes) -> Shape {
        let Classes { letter, digit, percent, dot, comma, space, .. } = self;
        let Classes { open, close, sign, joint, end, .. } = self;
        let name = letter | digit;
        let follow = |now: u64, before: u64| now << 1 | before >> 63;
        let names = follow(name, before.letter | before.digit);
        let starts = follow(space | open, before.space | before.open);
        let prefixes = starts | follow(sign | joint, before.sign | before.joint);
        let operands = names | prefixes | follow(percent, before.percent);
        let usual = (letter & (operands | follow(dot, before.dot)))
            | (digit & operands)
            | (percent & prefixes)
            | (sign & starts)
            | ((dot | joint) & names)
            | ((comma | end | close) & (names | follow(close, before.close)))
            | (open & follow(space, before.space))
            | (space & follow(comma, before.comma));
        Shape { name: name | dot, end, joint, odd: !usual }
    }
}

#[cfg(feature = "simd")]
#[inline(always)]
fn classes_on<S: fearless_simd::Simd>(simd: S, block: &[u8; BLOCK]) -> Classes {
    use fearless_simd::prelude::*;

    let bytes = fearless_simd::u8x64::from_slice(simd, block);
    let is = |byte: u8| bytes.simd_eq(byte);
    // This also turns brackets into braces.
    let lower = bytes | 0x20;
    let letter = (lower - b'a').simd_lt(26) | is(b'_') | is(b'$');
    Classes {
        letter: letter.to_bitmask(),
        digit: (bytes - b'0').simd_lt(10).to_bitmask(),
        percent: is(b'%').to_bitmask(),
        dot: is(b'.').to_bitmask(),
        comma: is(b',').to_bitmask(),
        space: is(b' ').to_bitmask(),
        open: lower.simd_eq(b'{').to_bitmask(),
        close: lower.simd_eq(b'}').to_bitmask(),
        sign: (is(b'-') | is(b'!')).to_bitmask(),
        joint: (is(b'|') | is(b'+')).to_bitmask(),
        end: is(b';').to_bitmask(),
    }
}

#[cfg(not(feature = "simd"))]
#[expect(clippy::needless_bitwise_bool, reason = "no branches")]
fn classes(block: &[u8; BLOCK]) -> Classes {
    let is = |wanted: u8| mask(block, |byte| byte == wanted);
    let either = |one: u8, other: u8| mask(block, |byte| (byte == one) | (byte == other));
    Classes {
        letter: mask(block, |byte| {
            ((byte | 0x20).wrapping_sub(b'a') < 26) | (byte == b'_') | (byte == b'$')
        }),
        digit: mask(block, |byte| byte.wrapping_sub(b'0') < 10),
        percent: is(b'%'),
        dot: is(b'.'),
        comma: is(b','),
        space: is(b' '),
        open: either(b'[', b'{'),
        close: either(b']', b'}'),
        sign: either(b'-', b'!'),
        joint: either(b'|', b'+'),
        end: is(b';'),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::syntax::lexer::is_word;
    use crate::testing::Numbers;

    /// Whether the formatter would leave the space between two bytes among operands
    /// unchanged.
    fn stand_together(first: u8, second: u8) -> bool {
        let followers: &[u8] = match first {
            _ if is_word(first) => b".,]}|+;",
            b',' => b" ",
            b' ' => b"%[{-!",
            b'[' | b'{' => b"%-!",
            b']' | b'}' => b",]};",
            b'-' | b'!' | b'|' | b'+' => b"%",
            _ => b"",
        };
        let before_words = is_word(first) || b"% [{-!|+".contains(&first);
        let before_letters = first == b'.' && !second.is_ascii_digit();
        followers.contains(&second) || is_word(second) && (before_words || before_letters)
    }

    #[test]
    fn shapes_are_those_of_a_walk_over_the_bytes() {
        let some = b"ab_$09 %r1.,;:[]{}-!|+\t\n/\"@`~^\x80\xc3 ,a1";
        let mut numbers = Numbers(1);
        for length in [0, 1, 63, 64, 65, WINDOW - 1, WINDOW, WINDOW + 1, 3 * WINDOW + 77] {
            let bytes: Vec<u8> = (0..length).map(|_| numbers.pick(some)).collect();
            let mut shapes = Shapes::new(&bytes);
            // Forwards and back again.
            for at in (0..bytes.len()).chain((0..bytes.len()).rev()) {
                let shape = shapes.at(at);
                let bits = |is: &dyn Fn(usize) -> bool| {
                    (0..64)
                        .filter(|bit| at + bit < bytes.len() && is(at + bit))
                        .fold(0, |bits, bit| bits | 1u64 << bit)
                };
                let inside = bits(&|_| true);
                assert_eq!(shape.name, bits(&|at| is_word(bytes[at]) || bytes[at] == b'.'));
                assert_eq!(shape.end, bits(&|at| bytes[at] == b';'));
                assert_eq!(shape.joint, bits(&|at| b"|+".contains(&bytes[at])));
                let odd = bits(&|at| at == 0 || !stand_together(bytes[at - 1], bytes[at]));
                assert_eq!(shape.odd & inside, odd, "{at} of {length}");
            }
        }
    }
}
