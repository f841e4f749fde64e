//! Tokens with lossless spans.
//!
//! The lexer follows ptxas where the manual is silent: a modifier's dot binds
//! to the word after it, `10%3` holds the register `%3`, strings have no
//! escapes and may span lines, comments do not nest.

use crate::source::Span;

/// The kind of a token, whose text is the text of its span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenKind {
    /// `vadd`, `%r1`, `$L__BB0_1`, `_`
    Ident,
    /// A dot and the word it binds to: `.u32`, `.b3210`, `.x`
    Dot,
    /// Starts with a digit, or with a dot and a digit.
    Number,
    /// `"…"`
    Str,
    /// Punctuation: one byte and a zero, or the two bytes of an operator such as `<<`.
    Punct([u8; 2]),
    /// A character PTX does not use here.
    Unknown,
    /// The text ends inside a comment.
    UnclosedComment,
    /// The text ends inside a string.
    UnclosedString,
}

/// One token, in eight bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Token {
    start: u32,
    /// From the top: the line break, three bits of the kind, and the length. Punctuation has its
    /// bytes in place of the length.
    packed: u32,
}

const NEW_LINE: u32 = 1 << 31;
const KIND: u32 = 28;
/// The numbers of the most frequent kinds.
pub(crate) const IDENT: u8 = 0;
pub(crate) const DOT: u8 = 1;
pub(crate) const NUMBER: u8 = 2;
const PUNCT: u8 = 4;
/// The bit of punctuation that the text lacks. Such a token has no bytes.
const MISSING: u32 = 1 << 27;

impl Token {
    /// The most bytes that a token has.
    pub(crate) const MAX_LEN: u32 = (1 << KIND) - 1;

    /// A token at a place of a text. Cuts a token that is too long.
    #[inline]
    pub(crate) fn new(kind: TokenKind, source: &str, span: Span, on_new_line: bool) -> Token {
        let number = match kind {
            TokenKind::Ident => IDENT,
            TokenKind::Dot => DOT,
            TokenKind::Number => NUMBER,
            TokenKind::Str => 3,
            TokenKind::Punct(bytes) => return Token::punct(bytes, span.start, on_new_line),
            TokenKind::Unknown => 5,
            TokenKind::UnclosedComment => 6,
            TokenKind::UnclosedString => 7,
        };
        let mut length = span.len();
        if length > Token::MAX_LEN {
            length = Token::MAX_LEN;
            while !source.is_char_boundary((span.start + length) as usize) {
                length -= 1;
            }
        }
        Token::packed(number, length, span.start, on_new_line)
    }

    /// Punctuation that starts at an offset.
    #[inline]
    pub(crate) fn punct(bytes: [u8; 2], start: u32, on_new_line: bool) -> Token {
        Token::packed(PUNCT, u16::from_le_bytes(bytes).into(), start, on_new_line)
    }

    /// A token with the number of its kind, and its length or, for punctuation, its bytes.
    #[inline]
    fn packed(kind: u8, payload: u32, start: u32, on_new_line: bool) -> Token {
        let packed = u32::from(on_new_line) << 31 | u32::from(kind) << KIND | payload;
        Token { start, packed }
    }

    /// A usual token, by its first byte and its length.
    #[inline]
    pub(super) fn usual(first: u8, start: u32, length: u32, on_new_line: bool) -> Token {
        let kind = KINDS[first as usize];
        let payload = if kind == PUNCT { first.into() } else { length };
        Token::packed(kind, payload, start, on_new_line)
    }

    /// The number of the token's kind.
    #[inline]
    fn number(self) -> u8 {
        ((self.packed & !NEW_LINE) >> KIND) as u8
    }

    /// Punctuation that is missing at an offset: an empty token.
    pub(crate) fn missing(punct: u8, at: u32) -> Token {
        Token::packed(PUNCT, MISSING | u32::from(punct), at, false)
    }

    /// The kind of token.
    #[inline]
    pub fn kind(self) -> TokenKind {
        match self.number() {
            IDENT => TokenKind::Ident,
            DOT => TokenKind::Dot,
            NUMBER => TokenKind::Number,
            3 => TokenKind::Str,
            PUNCT => TokenKind::Punct((self.packed as u16).to_le_bytes()),
            5 => TokenKind::Unknown,
            6 => TokenKind::UnclosedComment,
            _ => TokenKind::UnclosedString,
        }
    }

    /// The token's place. A token has at most 256 MiB; a longer one is cut.
    #[inline]
    pub fn span(self) -> Span {
        Span::new(self.start, self.end())
    }

    /// The offset of the token's first byte.
    #[inline]
    pub(crate) fn start(self) -> u32 {
        self.start
    }

    /// The offset after the token's last byte.
    #[inline]
    pub(crate) fn end(self) -> u32 {
        let payload = self.packed & Token::MAX_LEN;
        self.start
            + match (self.number() == PUNCT, payload) {
                (false, length) => length,
                (true, MISSING..) => 0,
                (true, bytes) => 1 + u32::from(bytes > 0xff),
            }
    }

    /// The token's kind as a byte, for tables. One-byte punctuation gives that byte, two-byte
    /// punctuation a byte that is not ASCII, and other kinds a number below 8.
    #[inline]
    pub(crate) fn class(self) -> u8 {
        let [first, second, ..] = self.packed.to_le_bytes();
        let is_punct = self.number() == PUNCT;
        if is_punct { first | u8::from(second != 0) << 7 } else { self.number() }
    }

    /// Whether it is a token of PTX: a word, a number, a string or punctuation.
    #[inline]
    pub(crate) fn is_usual(self) -> bool {
        self.number() <= PUNCT
    }

    /// Whether a line break stands between the token and the one before it.
    #[inline]
    pub fn on_new_line(self) -> bool {
        self.packed & NEW_LINE != 0
    }

    /// Whether it is this one-byte punctuation.
    #[inline]
    pub fn is(self, punct: u8) -> bool {
        self.packed & !(NEW_LINE | MISSING) == u32::from(PUNCT) << KIND | u32::from(punct)
    }

    /// Whether it is a word or a number.
    pub(crate) fn is_word(self) -> bool {
        matches!(self.kind(), TokenKind::Ident | TokenKind::Dot | TokenKind::Number)
    }

    /// Whether the token may be a modifier behind a mnemonic. Elsewhere, `.32x32b` is a number.
    #[inline]
    pub(crate) fn is_modifier(self, source: &str) -> bool {
        let is_dotted = || source.as_bytes()[self.start as usize] == b'.';
        self.kind() == TokenKind::Dot || self.kind() == TokenKind::Number && is_dotted()
    }

    /// Whether an operand may end with this token.
    pub(crate) fn ends_operand(self) -> bool {
        self.is_word() || self.is(b')') || self.is(b']') || self.is(b'}')
    }
}

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Token")
            .field("kind", &self.kind())
            .field("span", &self.span())
            .field("on_new_line", &self.on_new_line())
            .finish()
    }
}

/// Reads tokens from a text, starting at an offset.
#[derive(Clone, Debug)]
pub(crate) struct Lexer<'s> {
    source: &'s str,
    bytes: &'s [u8],
    pub(crate) pos: usize,
}

/// A table that says for each byte whether it is in `of`.
pub(crate) const fn table(of: &[u8]) -> [bool; 256] {
    let mut table = [false; 256];
    let mut at = 0;
    while at < of.len() {
        table[of[at] as usize] = true;
        at += 1;
    }
    table
}

/// Bytes that may follow the first of an identifier.
const WORD: [bool; 256] = {
    let mut word = [false; 256];
    let mut byte = 0u8;
    while byte < 128 {
        word[byte as usize] = byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$');
        byte += 1;
    }
    word
};

/// Whether a byte may follow the first of an identifier.
pub(crate) const fn is_word(byte: u8) -> bool {
    WORD[byte as usize]
}

/// Offset after the bytes from `at` on that may follow the first of an
/// identifier.
#[inline]
pub(crate) fn word_end(bytes: &[u8], mut at: usize) -> usize {
    while let Some(chunk) = bytes.get(at..).and_then(<[u8]>::first_chunk) {
        let others = others_than_words(u64::from_le_bytes(*chunk));
        if others != 0 {
            return at + others.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    let rest = bytes.get(at..).unwrap_or_default();
    at + rest.iter().position(|&byte| !is_word(byte)).unwrap_or(rest.len())
}

/// Marks the bytes for which [`is_word`] does not hold, by their highest bit.
#[inline]
const fn others_than_words(bytes: u64) -> u64 {
    const ONES: u64 = u64::MAX / 0xff;
    const HIGH: u64 = ONES * 0x80;
    // No sum carries into the next byte: all addends are below 0x80.
    let low = bytes & !HIGH;
    let lower = (bytes | (ONES * 0x20)) & !HIGH;
    let letter = (lower + ONES * (0x80 - b'a' as u64)) & !(lower + ONES * (0x7f - b'z' as u64));
    let digit = (low + ONES * (0x80 - b'0' as u64)) & !(low + ONES * (0x7f - b'9' as u64));
    let underscore = !((low ^ (ONES * b'_' as u64)) + !HIGH);
    let dollar = !((low ^ (ONES * b'$' as u64)) + !HIGH);
    (bytes | !(letter | digit | underscore | dollar)) & HIGH
}

/// Offset after the spaces and tabs from `at` on.
#[inline]
pub(crate) fn blank_end(bytes: &[u8], mut at: usize) -> usize {
    while matches!(bytes.get(at), Some(b' ' | b'\t')) {
        at += 1;
    }
    at
}

/// Whether a byte is white space.
pub(crate) const fn is_blank(byte: u8) -> bool {
    matches!(byte, b'\n' | b' ' | b'\t' | b'\r' | b'\x0c' | b'\x1a')
}

/// Whether a byte may start an identifier. `%` is left out: it starts an identifier only before a
/// word.
pub(crate) const fn is_word_start(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || matches!(byte, b'_' | b'$')
}

/// The kind of token that a byte starts.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Start {
    Blank,
    Run(Run),
    Other,
}

/// A token of one byte, or of one byte and the word that follows, unless an odd byte follows.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Run {
    kind: u8,
    has_word: bool,
    /// The bits of [`ODD`] that are odd for this kind of token.
    odd: u8,
}

impl Run {
    /// Punctuation that never makes a pair.
    const PUNCT: Start = Start::Run(Run { kind: PUNCT, has_word: false, odd: 0 });

    const fn with_word(kind: u8, odd: u8) -> Start {
        Start::Run(Run { kind, has_word: true, odd })
    }
}

pub(crate) const STARTS: [Start; 256] = {
    let mut starts = [Start::Other; 256];
    let mut byte = 0u8;
    while byte < 128 {
        starts[byte as usize] = match byte {
            _ if is_blank(byte) => Start::Blank,
            b',' | b';' | b':' | b'(' | b')' | b'[' | b']' | b'{' | b'}' | b'@' | b'+' | b'-' => {
                Run::PUNCT
            }
            b'%' => Run::with_word(IDENT, NO_WORD),
            b'.' => Run::with_word(DOT, NO_LETTER | COLON),
            b'0'..=b'9' => Run::with_word(NUMBER, POINT_OR_SIGN),
            _ if is_word_start(byte) => Run::with_word(IDENT, 0),
            _ => Start::Other,
        };
        byte += 1;
    }
    starts
};

/// The kind of the run that a byte starts.
static KINDS: [u8; 256] = {
    let mut kinds = [PUNCT; 256];
    let mut byte = 0;
    while byte < 256 {
        if let Start::Run(run) = STARTS[byte] {
            kinds[byte] = run.kind;
        }
        byte += 1;
    }
    kinds
};

/// A byte with one of these bits may be odd as the second byte of a run.
const NO_WORD: u8 = 1;
const NO_LETTER: u8 = 2;
const ODD_SECOND: u8 = NO_WORD | NO_LETTER;
/// A byte with one of these bits may be odd right behind a run.
const COLON: u8 = 4;
const POINT_OR_SIGN: u8 = 8;
const ODD_NEXT: u8 = COLON | POINT_OR_SIGN;

/// The bits above that each byte has.
static ODD: [u8; 256] = {
    let mut odd = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        odd[byte] = match byte as u8 {
            b':' => COLON | ODD_SECOND,
            b'.' | b'+' | b'-' => POINT_OR_SIGN | ODD_SECOND,
            byte if is_word_start(byte) => 0,
            byte if is_word(byte) => NO_LETTER,
            _ => ODD_SECOND,
        };
        byte += 1;
    }
    odd
};

/// The result of [`skip_trivia`].
pub(crate) struct Trivia {
    /// Whether a line break was skipped.
    pub(crate) newline: bool,
    /// Start of a comment that never ends.
    pub(crate) unclosed: Option<usize>,
}

/// Skips white space, comments, and line markers of the C preprocessor.
#[inline]
pub(crate) fn skip_trivia(bytes: &[u8], pos: &mut usize) -> Trivia {
    // Mostly there is no trivia, or a few blanks.
    let at = blank_end(bytes, *pos);
    if *pos > 0 && bytes.get(at).is_some_and(|&byte| byte > b' ' && byte != b'#' && byte != b'/') {
        *pos = at;
        return Trivia { newline: false, unclosed: None };
    }
    skip_long_trivia(bytes, pos)
}

/// Offset after the trivia from `at` on.
pub(crate) fn trivia_end(bytes: &[u8], mut at: usize) -> usize {
    let _ = skip_trivia(bytes, &mut at);
    at
}

fn skip_long_trivia(bytes: &[u8], pos: &mut usize) -> Trivia {
    let mut trivia = Trivia { newline: *pos == 0, unclosed: None };
    while let Some(&byte) = bytes.get(*pos) {
        match byte {
            b'\n' => {
                trivia.newline = true;
                *pos += 1;
            }
            b' ' | b'\t' | b'\r' | b'\x0c' | b'\x1a' => *pos += 1,
            b'/' if bytes.get(*pos + 1) == Some(&b'/') => *pos = line_end(bytes, *pos),
            b'/' if bytes.get(*pos + 1) == Some(&b'*') => {
                let end = comment_end(bytes, *pos);
                if end.is_none() {
                    trivia.unclosed = Some(*pos);
                }
                *pos = end.unwrap_or(bytes.len());
            }
            b'#' => match marker_end(bytes, *pos) {
                Some(end) => {
                    trivia.newline = true;
                    *pos = end;
                }
                None => break,
            },
            _ => break,
        }
    }
    trivia
}

/// Offset after the line marker that starts here: `# 12 "file" 3`, perhaps with the word `line`. A
/// line marker may stand between any two tokens, and ends its line.
pub(crate) fn marker_end(bytes: &[u8], pos: usize) -> Option<usize> {
    let blanks = |mut at: usize| {
        while matches!(bytes.get(at), Some(b' ' | b'\t' | b'\r' | b'\x0c' | b'\x1a')) {
            at += 1;
        }
        at
    };
    let mut at = blanks(pos + 1);
    if bytes[at..].starts_with(b"line") {
        at = blanks(at + 4);
    }
    let digits = at;
    while bytes.get(at).is_some_and(u8::is_ascii_digit) {
        at += 1;
    }
    let quote = blanks(at);
    if at == digits || quote == at || bytes.get(quote) != Some(&b'"') {
        return None;
    }
    at = string_end(bytes, quote)?;
    loop {
        let next = blanks(at);
        match bytes.get(next)? {
            b'\n' => return Some(next + 1),
            // Flags are single digits.
            digit if digit.is_ascii_digit() && next > at => at = next + 1,
            _ => return None,
        }
    }
}

/// Whether only blanks stand before the offset on its line.
pub(crate) fn starts_line(bytes: &[u8], pos: usize) -> bool {
    bytes[..pos]
        .iter()
        .rev()
        .find(|byte| !matches!(byte, b' ' | b'\t' | b'\x0c'))
        .is_none_or(|&byte| byte == b'\n')
}

/// Offset of the line break that ends the line, or of the end of the text.
pub(crate) fn line_end(bytes: &[u8], pos: usize) -> usize {
    memchr::memchr(b'\n', &bytes[pos..]).map_or(bytes.len(), |n| pos + n)
}

/// Offset after the `*/` of the comment that starts here.
pub(crate) fn comment_end(bytes: &[u8], pos: usize) -> Option<usize> {
    let mut at = pos + 2;
    loop {
        at += memchr::memchr(b'*', bytes.get(at..)?)? + 1;
        if bytes.get(at) == Some(&b'/') {
            return Some(at + 1);
        }
    }
}

/// Offset after the quote that closes the string that starts here.
pub(crate) fn string_end(bytes: &[u8], pos: usize) -> Option<usize> {
    memchr::memchr(b'"', &bytes[pos + 1..]).map(|n| pos + 2 + n)
}

/// The comments of a text, in order.
pub(crate) fn comments(text: &str) -> Vec<Span> {
    let bytes = text.as_bytes();
    let mut comments = Vec::new();
    let mut pos = 0;
    while let Some(found) = memchr::memchr2(b'"', b'/', &bytes[pos..]) {
        let at = pos + found;
        pos = match (bytes[at], bytes.get(at + 1)) {
            (b'"', _) => string_end(bytes, at).unwrap_or(bytes.len()),
            (_, Some(b'/')) => line_end(bytes, at),
            (_, Some(b'*')) => comment_end(bytes, at).unwrap_or(bytes.len()),
            _ => at + 1,
        };
        if pos > at + 1 && bytes[at] == b'/' {
            comments.push(Span::new(at as u32, pos as u32));
        }
    }
    comments
}

/// Whether a part of a text has at most `most` semicolons outside of comments and strings.
pub(crate) fn has_semicolons_up_to(most: usize, source: &str, part: Span) -> bool {
    const WINDOW: usize = 4096;
    let bytes = &source.as_bytes()[..part.end as usize];
    let (mut left, mut pos) = (most, part.start as usize);
    while pos < bytes.len() {
        let window = &bytes[pos..bytes.len().min(pos + WINDOW)];
        let stop = memchr::memchr2(b'"', b'/', window).unwrap_or(window.len());
        match left.checked_sub(memchr::memchr_iter(b';', &window[..stop]).count()) {
            Some(fewer) => left = fewer,
            None => return false,
        }
        let at = pos + stop;
        pos = match (window.get(stop), bytes.get(at + 1)) {
            (None, _) => at,
            (Some(b'"'), _) => string_end(bytes, at).unwrap_or(bytes.len()),
            (_, Some(b'/')) => line_end(bytes, at),
            (_, Some(b'*')) => comment_end(bytes, at).unwrap_or(bytes.len()),
            _ => at + 1,
        };
    }
    true
}

/// The kind and the end of the token that starts at an offset with a byte that is no trivia.
#[inline]
pub(crate) fn token_at(source: &str, start: usize, first: u8) -> (TokenKind, usize) {
    let mut lexer = Lexer::new(source, start);
    let token = lexer.scan(first, start, false);
    (token.kind(), lexer.pos)
}

impl<'s> Lexer<'s> {
    pub(crate) fn new(text: &'s str, pos: usize) -> Lexer<'s> {
        Lexer { source: text, bytes: text.as_bytes(), pos }
    }

    fn word_end(&self, at: usize) -> usize {
        word_end(self.bytes, at)
    }

    /// The bytes that are left to read.
    pub(super) fn rest(&self) -> &'s [u8] {
        &self.bytes[self.pos..]
    }

    /// The next token, or `None` at the end of the text.
    pub(crate) fn token(&mut self) -> Option<Token> {
        let trivia = skip_trivia(self.bytes, &mut self.pos);
        let start = self.pos;
        if let Some(at) = trivia.unclosed {
            let span = Span::new(at as u32, self.bytes.len() as u32);
            let on_new_line = trivia.newline;
            return Some(Token::new(TokenKind::UnclosedComment, self.source, span, on_new_line));
        }
        let first = *self.bytes.get(start)?;
        Some(self.scan(first, start, trivia.newline))
    }

    /// The token that starts here, with no trivia before it.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "a call per token costs a third of the time")]
    fn scan(&mut self, first: u8, start: usize, on_new_line: bool) -> Token {
        match STARTS[first as usize] {
            Start::Run(run) => {
                // No branch depends on the kind: processors cannot predict which token follows.
                let word = self.word_end(start + 1) - (start + 1);
                let length = 1 + if run.has_word { word } else { 0 };
                let end = start + length;
                let at = |at: usize| self.bytes.get(at).map_or(ODD_SECOND, |&it| ODD[it as usize]);
                let odd = run.odd & (at(start + 1) & ODD_SECOND | at(end) & ODD_NEXT);
                if odd != 0 || length > Token::MAX_LEN as usize {
                    return self.odd_run(first, start, on_new_line);
                }
                self.pos = end;
                let payload = if run.has_word { length as u32 } else { first.into() };
                Token::packed(run.kind, payload, start as u32, on_new_line)
            }
            Start::Blank | Start::Other => self.rare(first, start, on_new_line),
        }
    }

    /// A token with more or fewer bytes than its first byte and the word that follows.
    fn odd_run(&mut self, first: u8, start: usize, on_new_line: bool) -> Token {
        let next = self.bytes.get(start + 1).copied().unwrap_or(0);
        let (kind, end) = match first {
            b'.' if is_word_start(next) => (TokenKind::Dot, self.dotted_end(start)),
            b'0'..=b'9' => (TokenKind::Number, self.number_end(start)),
            b'.' if next.is_ascii_digit() => (TokenKind::Number, self.number_end(start)),
            _ if is_word(next) => (TokenKind::Ident, self.word_end(start + 1)),
            _ => return self.punct([first, 0], start, on_new_line),
        };
        self.token_to(kind, start, end, on_new_line)
    }

    #[inline]
    fn token_to(&mut self, kind: TokenKind, start: usize, end: usize, on_new_line: bool) -> Token {
        self.pos = end;
        Token::new(kind, self.source, Span::new(start as u32, end as u32), on_new_line)
    }

    #[inline]
    fn punct(&mut self, bytes: [u8; 2], start: usize, on_new_line: bool) -> Token {
        self.pos = start + if bytes[1] == 0 { 1 } else { 2 };
        Token::punct(bytes, start as u32, on_new_line)
    }

    /// A token of a kind that is rare in most texts.
    fn rare(&mut self, first: u8, start: usize, on_new_line: bool) -> Token {
        let next = self.bytes.get(start + 1).copied().unwrap_or(0);
        match first {
            b'"' => {
                let end = string_end(self.bytes, start);
                let kind = end.map_or(TokenKind::UnclosedString, |_| TokenKind::Str);
                self.token_to(kind, start, end.unwrap_or(self.bytes.len()), on_new_line)
            }
            b'<' | b'>' | b'=' | b'!' | b'&' | b'|' => {
                let pair = [first, next];
                let double =
                    matches!(&pair, b"<<" | b">>" | b"<=" | b">=" | b"==" | b"!=" | b"&&" | b"||");
                self.punct(if double { pair } else { [first, 0] }, start, on_new_line)
            }
            b'*' | b'/' | b'~' | b'^' | b'?' => self.punct([first, 0], start, on_new_line),
            _ => {
                let mut end = start + 1;
                while self.bytes.get(end).is_some_and(|&byte| byte & 0xc0 == 0x80) {
                    end += 1;
                }
                self.token_to(TokenKind::Unknown, start, end, on_new_line)
            }
        }
    }

    /// Offset after a dotted word. `.shared::cluster` is one.
    #[inline]
    fn dotted_end(&self, start: usize) -> usize {
        let mut end = self.word_end(start + 1);
        while self.bytes[end..].starts_with(b"::") {
            end = self.word_end(end + 2);
        }
        end
    }

    /// Offset after a number. Includes malformed numbers (`12abc`, `0x`), so that they are
    /// reported as a whole.
    fn number_end(&self, start: usize) -> usize {
        let bytes = self.bytes;
        let digits = |mut at: usize| {
            while bytes.get(at).is_some_and(u8::is_ascii_digit) {
                at += 1;
            }
            at
        };
        let mut end = digits(start);
        if bytes.get(end).is_some_and(|&byte| byte != b'.' && !is_word(byte)) {
            return end;
        }
        // A fraction, unless the dot belongs to a selector, as in `5.b0`.
        if bytes.get(end) == Some(&b'.')
            && !bytes
                .get(end + 1)
                .is_some_and(|&byte| is_word_start(byte) && !matches!(byte, b'e' | b'E'))
        {
            end = digits(end + 1);
        }
        if matches!(bytes.get(end), Some(b'e' | b'E')) {
            let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
            if bytes.get(end + 1 + sign).is_some_and(u8::is_ascii_digit) {
                end = digits(end + 1 + sign);
            }
        }
        self.word_end(end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lex(text: &str) -> Vec<(&str, TokenKind)> {
        let mut lexer = Lexer::new(text, 0);
        std::iter::from_fn(|| lexer.token()).map(|t| (t.span().text(text), t.kind())).collect()
    }

    fn texts(text: &str) -> Vec<&str> {
        lex(text).into_iter().map(|(text, _)| text).collect()
    }

    #[test]
    fn splits_as_ptxas_does() {
        assert_eq!(texts("vadd.u32%r1,a . b0"), ["vadd", ".u32", "%r1", ",", "a", ".", "b0"]);
        assert_eq!(texts("10%3 10 % 3"), ["10", "%3", "10", "%", "3"]);
        assert_eq!(
            texts("5.b0 5.5 .5 1.e5 1e+5 0x1FU 12abc"),
            ["5", ".b0", "5.5", ".5", "1.e5", "1e+5", "0x1FU", "12abc"]
        );
        assert_eq!(texts("1<<2<=3&&!4"), ["1", "<<", "2", "<=", "3", "&&", "!", "4"]);
        assert_eq!(texts("a/* ; */b// ;\nc\"a\\\"d"), ["a", "b", "c", "\"a\\\"", "d"]);
        assert_eq!(texts("/* /* */ a /*/ b */ c"), ["a", "c"]);
        assert_eq!(texts("# 1 \"x;\" 3\n a #line 2 \"y\ny\"\nb"), ["a", "b"]);
        assert_eq!(texts("# x\n# 1\n# 1 \"y\" z"), ["#", "x", "#", "1", "#", "1", "\"y\"", "z"]);
        assert_eq!(texts(".shared::cluster::x a::b"), [".shared::cluster::x", "a", ":", ":", "b"]);
    }

    /// So a table can have a row for each kind of token.
    #[test]
    fn classes_of_tokens_differ() {
        let class = |text| Lexer::new(text, 0).token().map(Token::class);
        assert_eq!(class("|"), Some(b'|'));
        assert!(class("||").is_some_and(|it| !it.is_ascii()));
        assert!(class("a").is_some_and(|it| it < 8));
    }

    /// A `.` was once a word at the end of a text, but not before a line break there.
    #[test]
    fn the_end_of_a_text_separates_as_a_blank_does() {
        for first in (b' '..=b'~').map(char::from) {
            for second in (b' '..=b'~').map(char::from) {
                let text = format!("a {first}{second}");
                // A comment or string has no end, and a marker of a line ends with it.
                if !text.contains(['/', '"', '#']) {
                    assert_eq!(lex(&text), lex(&format!("{text} ")), "{text}");
                    assert_eq!(lex(text.trim_end()), lex(&format!("{} ", text.trim_end())));
                }
            }
        }
    }

    #[test]
    fn words_end_where_they_end_byte_by_byte() {
        for byte in 0..=255u8 {
            for at in 0..12 {
                let mut text = [b'w'; 20];
                (text[at], text[at + 1]) = (byte, b'z' + 1);
                let end = text.iter().position(|&it| !is_word(it)).unwrap();
                assert_eq!(word_end(&text, 0), end, "{byte} at {at}");
                assert_eq!(word_end(&text[..=at], 0), end.min(at + 1));
            }
        }
    }

    #[test]
    fn semicolons_of_comments_and_strings_do_not_count() {
        let text = "; a; \";\" /* ; */ // ;\n b / c; \"";
        let part = Span::new(1, text.len() as u32);
        assert!(has_semicolons_up_to(2, text, part) && !has_semicolons_up_to(1, text, part));
    }

    #[test]
    fn long_tokens_are_cut_between_characters() {
        let text = format!("\"{}\"", "é".repeat(Token::MAX_LEN as usize / 2 + 9));
        let mut lexer = Lexer::new(&text, 0);
        let token = lexer.token().unwrap();
        assert_eq!((token.kind(), token.span()), (TokenKind::Str, Span::new(0, Token::MAX_LEN)));
        assert_eq!(lexer.pos, text.len());

        let text = format!("\"\"{text}");
        let mut lexer = Lexer::new(&text, 2);
        assert_eq!(lexer.token().unwrap().span(), Span::new(2, Token::MAX_LEN + 2));
        let text = format!("\"e{}", &text[3..]);
        assert_eq!(Lexer::new(&text, 0).token().unwrap().span(), Span::new(0, Token::MAX_LEN - 1));
    }

    #[test]
    fn reports_what_never_ends() {
        assert_eq!(lex("a /* b").last(), Some(&("/* b", TokenKind::UnclosedComment)));
        assert_eq!(lex("a \"b;").last(), Some(&("\"b;", TokenKind::UnclosedString)));
        assert_eq!(lex("é").last(), Some(&("é", TokenKind::Unknown)));
        assert_eq!(lex("/*").last(), Some(&("/*", TokenKind::UnclosedComment)));
        assert_eq!(lex("/*/").last(), Some(&("/*/", TokenKind::UnclosedComment)));
    }
}
