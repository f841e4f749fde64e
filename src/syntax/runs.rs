//! Usual tokens, a block of bytes at a time. Processors cannot predict which token follows, so that
//! a branch on each token would cost most of the time.

use super::lexer::{Lexer, Token, is_blank, is_word, is_word_start};

/// Bytes in a block: one for each bit of a set.
const BLOCK: usize = u64::BITS as usize;

/// The sets of places in a block, by number.
const LETTER: usize = 0;
const DIGIT: usize = 1;
const BLANK: usize = 2;
const LINE_BREAK: usize = 3;
/// `.` and `%`, which bind to the word that follows.
const PREFIX: usize = 4;
/// Punctuation of one byte.
const PUNCT: usize = 5;
/// The punctuation that may be part of a number or of `::`.
const SIGN: usize = 6;

/// The sets that each byte belongs to: if it belongs to set `n`, the lowest bit of byte `n` is set.
static SETS: [u64; 256] = {
    let mut sets = [0; 256];
    let mut byte = 0u8;
    while byte < 128 {
        let own: &[usize] = match byte {
            b'\n' => &[BLANK, LINE_BREAK],
            b'.' | b'%' => &[PREFIX],
            b',' | b';' | b'(' | b')' | b'[' | b']' | b'{' | b'}' | b'@' => &[PUNCT],
            b'+' | b'-' | b':' => &[PUNCT, SIGN],
            _ if is_word_start(byte) => &[LETTER],
            _ if is_word(byte) => &[DIGIT],
            _ if is_blank(byte) => &[BLANK],
            _ => &[],
        };
        let mut at = 0;
        while at < own.len() {
            sets[byte as usize] |= 1 << (8 * own[at]);
            at += 1;
        }
        byte += 1;
    }
    sets
};

/// The sets of places in a block.
#[inline]
fn sets(block: &[u8; BLOCK]) -> [u64; 8] {
    // Eight bytes of the block give one byte of each set.
    let mut rows = [0; 8];
    for (row, bytes) in rows.iter_mut().zip(block.as_chunks::<8>().0) {
        for (at, byte) in bytes.iter().enumerate() {
            *row |= SETS[*byte as usize] << at;
        }
    }
    transposed(rows)
}

/// Byte `b` of word `a` becomes byte `a` of word `b`.
#[inline]
fn transposed(mut rows: [u64; 8]) -> [u64; 8] {
    // Swaps the off-diagonal quarters of ever smaller squares.
    for (side, low) in
        [(4, 0x0000_0000_ffff_ffff), (2, 0x0000_ffff_0000_ffff), (1, 0x00ff_00ff_00ff_00ff)]
    {
        for at in (0..8).filter(|at| at & side == 0) {
            let other = (rows[at] >> (8 * side) ^ rows[at + side]) & low;
            rows[at] ^= other << (8 * side);
            rows[at + side] ^= other;
        }
    }
    rows
}

impl Lexer<'_> {
    /// Reads the usual tokens of a block: words, perhaps with a `.` or `%` before them, numbers of
    /// digits and letters, and punctuation. Stops before anything else. Returns whether more usual
    /// tokens may follow; if not, [`Lexer::token`] reads the next token.
    #[inline]
    pub(super) fn usual_tokens(&mut self, tokens: &mut Vec<Token>) -> bool {
        let Some(block) = self.rest().first_chunk::<BLOCK>() else { return false };
        let [letter, digit, blank, line_break, prefix, punct, sign, _] = sets(block);

        let word = letter | digit;
        let words = word & !(word << 1 | prefix << 1);
        // The sum carries from the start of a run of bits to behind its end.
        let behind_numbers = (words & digit).wrapping_add(word) & !word;
        let odd = !(word | blank | prefix | punct)
            | prefix & !(letter >> 1)
            | behind_numbers & (prefix | sign)
            | sign & (sign >> 1 | 1 << (BLOCK - 1));
        let before_odd = (odd & odd.wrapping_neg()).wrapping_sub(1);

        let mut starts = words | prefix | punct;
        let mut ends = (word << 1 & !word | punct << 1) & before_odd;
        if ends == 0 {
            return false;
        }
        let line_start = line_break | u64::from(self.pos == 0);
        let on_new_line = line_start.wrapping_add(blank) & !blank;
        let start = self.pos as u32;
        self.pos += BLOCK - 1 - ends.leading_zeros() as usize;
        tokens.extend((0..ends.count_ones()).map(|_| {
            let [at, end] = [starts.trailing_zeros(), ends.trailing_zeros()];
            starts &= starts.wrapping_sub(1);
            ends &= ends.wrapping_sub(1);
            let first = block[at as usize % BLOCK];
            Token::usual(first, start + at, end - at, on_new_line >> at & 1 != 0)
        }));
        // The last byte may be odd only because the next block is unknown.
        odd & !(1 << (BLOCK - 1)) == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Numbers;

    /// Reading in blocks gives the same tokens as reading them one by one.
    #[test]
    fn usual_tokens_are_tokens() {
        let pieces = [
            "a",
            "%r1",
            "_",
            "7",
            "10",
            "-",
            "+",
            ".",
            "%",
            "{",
            "}",
            ",",
            ";",
            ":",
            "::",
            ".x",
            ".32x",
            "1.5",
            "0x1F",
            "1e",
            "!",
            "|",
            "@",
            "\n",
            " ",
            "\t",
            "\r\n",
            "// y\n",
            "/*;*/",
            "\"s;\"",
            "é",
            "#",
            "# 1 \"f\"\n",
            "add.s32 ",
            "%r1, %r2;\n\t",
            "$L__BB0_1:\n",
            "word_",
        ];
        let mut numbers = Numbers(64);
        let mut usual = 0;
        for _ in 0..4_000 {
            let text: String = (0..80).map(|_| numbers.pick(&pieces)).collect();
            let mut one_by_one = Lexer::new(&text, 0);
            let expected: Vec<Token> = std::iter::from_fn(|| one_by_one.token()).collect();
            let (mut lexer, mut tokens) = (Lexer::new(&text, 0), Vec::new());
            loop {
                let before = tokens.len();
                let more = lexer.usual_tokens(&mut tokens);
                usual += tokens.len() - before;
                if !more {
                    let Some(token) = lexer.token() else { break };
                    tokens.push(token);
                }
            }
            assert_eq!(tokens, expected, "{text}");
        }
        assert!(usual > 50_000, "{usual}");
    }
}
