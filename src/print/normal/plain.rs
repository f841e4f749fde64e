//! The tokens of a text with new names, and without what is left out.

use std::borrow::Cow;

use super::reading::{Globals, Reading, Word, WordKind};
use super::renaming::Renaming;
use super::{FloatType, NormalOptions, constants, number};
use crate::source::Span;
use crate::syntax::lexer::{
    Lexer, blank_end, comments, is_word, is_word_start, skip_trivia, word_end,
};
use crate::syntax::{Token, TokenKind};

/// The parts of a text that stay, with their new names. Layout is the formatter's work.
pub(super) struct Plain<'s> {
    reading: Reading<'s>,
    keep_comments: bool,
    renaming: Renaming,
    /// The parts that are left out, in order.
    dropped: Vec<Span>,
}

impl<'s> Plain<'s> {
    pub(super) fn new(
        mut reading: Reading<'s>,
        globals: &Globals<'s>,
        options: NormalOptions,
    ) -> Plain<'s> {
        let mut dropped = Vec::new();
        let renaming = if options.keep_names {
            Renaming::default()
        } else {
            Renaming::new(&reading, globals, &mut dropped)
        };
        dropped.append(&mut reading.dropped);
        dropped.sort_unstable();
        Plain { reading, keep_comments: options.keep_comments, renaming, dropped }
    }

    pub(super) fn text(&self) -> String {
        self.text_with(Speed::Usual)
    }

    fn text_with(&self, speed: Speed) -> String {
        let source = self.reading.text;
        let mut lexer = Lexer::new(source, 0);
        if source.starts_with('\u{feff}') {
            lexer.pos = '\u{feff}'.len_utf8();
        }
        let mut writing = Writing {
            source,
            plain: self,
            text: String::with_capacity(source.len()),
            end: lexer.pos,
            lexer,
            dropped: Along::new(&self.dropped, |it| it.start),
            words: Along::new(&self.reading.words, |it| it.span.start),
            names: Along::new(&self.renaming.names, |it| it.0),
            declarations: Along::new(&self.renaming.declarations, |it| it.0),
            last: None,
            is_apart: false,
            in_opcode: false,
            is_plain: false,
            floats: FloatType::Other,
        };
        loop {
            if speed == Speed::Usual {
                while writing.usual_statement() {}
            }
            if !writing.token() {
                break;
            }
        }
        writing.between(&source[writing.end..], false);
        writing.text
    }
}

/// Whether statements of the usual shape are written without reading their tokens.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Speed {
    Usual,
    #[cfg(test)]
    ByTokens,
}

/// A text that is being written.
struct Writing<'p, 's> {
    plain: &'p Plain<'s>,
    source: &'s str,
    text: String,
    lexer: Lexer<'s>,
    dropped: Along<'p, Span>,
    words: Along<'p, Word>,
    names: Along<'p, (u32, u32)>,
    declarations: Along<'p, (u32, String)>,
    /// The offset after the last token.
    end: usize,
    last: Option<Token>,
    /// Whether the next token may not touch the last one.
    is_apart: bool,
    /// Whether modifiers of an opcode may follow.
    in_opcode: bool,
    /// Whether numbers are versions, or places in sources.
    is_plain: bool,
    /// The type of floats in the statement.
    floats: FloatType,
}

impl<'s> Writing<'_, 's> {
    /// Writes the next token. Returns false at the end of the text.
    fn token(&mut self) -> bool {
        let source = self.source;
        let Some(token) = self.lexer.token() else { return false };
        let start = token.span().start;
        let between = &source[self.end..start as usize];
        if self.leave_out(start) {
            return true;
        }
        let word = self.words.at(start).map(|word| word.kind);
        let joins = self.in_opcode && word == Some(WordKind::Modifier);
        self.in_opcode = joins || word == Some(WordKind::Mnemonic);
        let own = token.span().text(source);
        if matches!(word, Some(WordKind::Directive | WordKind::Mnemonic)) || token.is(b';') {
            self.is_plain = matches!(own, ".version" | ".address_size" | ".loc" | ".file");
        }
        if word == Some(WordKind::Mnemonic) || token.is(b';') {
            self.floats = FloatType::Other;
        }
        let (mut token, mut is_new_number) = (token, false);
        let new = match token.kind() {
            TokenKind::Ident => {
                self.names.at(start).map(|it| Cow::from(self.plain.renaming.text(it.1)))
            }
            TokenKind::Dot => {
                self.floats = self.floats.after(own);
                None
            }
            TokenKind::Number | TokenKind::Punct([b'-', 0]) if !self.is_plain && !joins => {
                self.number(token).map(|(new, last)| {
                    (token, is_new_number) = (last, true);
                    self.lexer.pos = last.span().end as usize;
                    new
                })
            }
            _ => None,
        };
        // `1.5` may touch the word before it, `0d3FF8000000000000` may not.
        self.is_apart |= new.is_some() && self.last.is_some_and(Token::is_word);
        let between = if self.is_apart && between.is_empty() { " " } else { between };
        self.between(between, joins);
        self.text.push_str(&new.unwrap_or(own.into()));
        self.is_apart = is_new_number && source[self.lexer.pos..].starts_with(['.', '%']);
        if token.is(b'{')
            && let Some((_, own)) = self.declarations.at(start)
        {
            self.text.push_str(own);
        }
        self.end = self.lexer.pos;
        self.last = Some(token);
        true
    }

    /// The spelling of the number that starts with a token, and its last token.
    fn number(&self, first: Token) -> Option<(Cow<'s, str>, Token)> {
        let mut ahead = self.lexer.clone();
        let (new, last) = number(self.source, first, self.floats, self.last, || ahead.token())?;
        // A comment after the sign stays.
        let sign = &self.source[first.span().end as usize..last.span().end as usize];
        let is_whole = last == first || !self.plain.keep_comments || !sign.contains('/');
        is_whole.then_some((new, last))
    }

    /// Passes what is left out from an offset on. Returns whether it did.
    fn leave_out(&mut self, start: u32) -> bool {
        let Some(span) = self.dropped.at(start) else { return false };
        // White space follows.
        let between = &self.source[self.end..start as usize];
        if between.contains('/') {
            self.between(between, false);
        }
        self.end = span.end as usize;
        self.lexer.pos = self.end;
        (self.in_opcode, self.is_apart) = (false, true);
        true
    }

    /// Writes white space, or comments, between two tokens.
    fn between(&mut self, between: &str, joins: bool) {
        let has_comments = self.plain.keep_comments && between.len() > 1;
        let comments = if has_comments { comments(between) } else { Vec::new() };
        let mut end = 0;
        for comment in &comments {
            let own_line = between[end..comment.start as usize].contains('\n');
            match own_line {
                true if self.text.ends_with('\n') => {}
                true => self.text.push('\n'),
                false => self.text.push(' '),
            }
            self.text.push_str(comment.text(between));
            end = comment.end as usize;
        }
        let last = self.text.as_bytes().last();
        if !comments.is_empty() && between[end..].contains('\n') || last == Some(&b';') {
            self.text.push('\n');
        } else if !between.is_empty() && !joins && last != Some(&b'\n') {
            self.text.push(' ');
        }
    }

    /// Writes the next statement or label as [`Writing::token`] would, if it is of the usual
    /// shape, or passes what is left out. Returns whether it did.
    fn usual_statement(&mut self) -> bool {
        let bytes = self.source.as_bytes();
        let mut start = self.end;
        if skip_trivia(bytes, &mut start).unclosed.is_some() {
            return false;
        }
        if self.leave_out(start as u32) {
            return true;
        }
        let may_start = self.last.is_none_or(|last| b";:}".iter().any(|it| last.is(*it)));
        let is_word = |first: u8| is_word_start(first) || matches!(first, b'@' | b'%');
        let may_touch = !self.is_apart || start > self.end;
        let starts = bytes.get(start).is_some_and(|first| is_word(*first));
        if !may_start || self.is_plain || !may_touch || !starts {
            return false;
        }
        let (written, names) = (self.text.len(), self.names);
        self.between(&self.source[self.end..start], false);
        let Some(end) = self.renamed(start).filter(|end| self.is_usual(start, *end)) else {
            self.text.truncate(written);
            self.names = names;
            return false;
        };
        (self.lexer.pos, self.end) = (end, end);
        self.last = Some(Token::punct([bytes[end - 1], 0], end as u32 - 1, false));
        (self.is_apart, self.in_opcode, self.floats) = (false, false, FloatType::Other);
        true
    }

    /// Writes a statement with its new names and single blanks. Returns the offset after its
    /// end; `None` at anything that is rare.
    fn renamed(&mut self, start: usize) -> Option<usize> {
        let source = self.source;
        let bytes = source.as_bytes();
        let longest = bytes.len().min(start + LONGEST);
        let (mut written, mut at, mut braces) = (start, start, 0u32);
        let mut name = self.names.from(start as u32);
        loop {
            if at >= longest {
                return None;
            }
            let stop = name.map_or(longest, |name| longest.min(name.0 as usize));
            at += bytes[at..stop].iter().position(|&it| !is_kept(it)).unwrap_or(stop - at);
            if let Some(&(place, new)) = name.filter(|name| name.0 as usize == at) {
                if touches_word(bytes, at) {
                    return None;
                }
                self.text.push_str(&source[written..at]);
                self.text.push_str(self.plain.renaming.text(new));
                at = word_end(bytes, at + 1);
                (written, name) = (at, self.names.from(place + 1));
                continue;
            }
            match *bytes.get(at)? {
                b' ' | b'\t' => {
                    let end = blank_end(bytes, at);
                    if bytes.get(end) == Some(&b'.') {
                        return None;
                    }
                    if end - at > 1 || bytes[at] == b'\t' {
                        self.text.push_str(&source[written..at]);
                        self.text.push(' ');
                        written = end;
                    }
                    at = end;
                }
                b'x' | b'X' => {
                    let is_hex = at >= start + 2 && bytes[at - 1] == b'0';
                    if !is_hex || touches_word(bytes, at - 1) {
                        at += 1;
                        continue;
                    }
                    let number = at - 1;
                    at = word_end(bytes, at);
                    let own = &source[number..at];
                    // Hexadecimal digits are an integer.
                    let new = constants::spelled(own, FloatType::Other, || true)
                        .filter(|_| !own.ends_with('U'))?;
                    self.text.push_str(&source[written..number]);
                    self.text.push_str(&new);
                    written = at;
                }
                b'{' => (braces, at) = (braces + 1, at + 1),
                b'}' => (braces, at) = (braces.checked_sub(1)?, at + 1),
                b':' if bytes.get(at + 1) == Some(&b':') => at += 2,
                b';' | b':' => {
                    self.text.push_str(&source[written..=at]);
                    return Some(at + 1);
                }
                _ => return None,
            }
        }
    }

    /// Whether a statement that was written keeps its numbers, and nothing is added to it or
    /// left out of it.
    fn is_usual(&mut self, start: usize, end: usize) -> bool {
        let bytes = self.source.as_bytes();
        let is_after = |place: Option<u32>| place.is_none_or(|place| place as usize >= end);
        let at = start as u32;
        let is_whole = is_after(self.dropped.from(at).map(|it| it.start))
            && is_after(self.declarations.from(at).map(|it| it.0));
        if bytes[end - 1] == b':' {
            return is_whole && word_end(bytes, start + 1) == end - 1;
        }
        // The guard before an opcode is a name.
        let latest = if bytes[start] == b'@' { end as u32 - 1 } else { at };
        let is_opcode = |word: &Word| word.kind == WordKind::Mnemonic && word.span.start <= latest;
        let mut words = self.words;
        let mut next = words.from(at);
        if !is_whole || !next.is_some_and(is_opcode) {
            return false;
        }
        while let Some(word) = next.filter(|word| (word.span.start as usize) < end) {
            if word.kind == WordKind::Number && !is_settled(bytes, word.span) {
                return false;
            }
            next = words.from(word.span.end);
        }
        self.words = words;
        true
    }
}

/// Statements that are longer are read by tokens. Otherwise a text without `;` would be read to
/// its end again and again.
const LONGEST: usize = 1024;

/// Whether a byte of a statement stays where it is.
const fn is_kept(byte: u8) -> bool {
    KEPT[byte as usize]
}

const KEPT: [bool; 256] = {
    let mut kept = [false; 256];
    let mut byte = b'!';
    while byte < 127 {
        kept[byte as usize] =
            !matches!(byte, b'"' | b'#' | b'/' | b':' | b';' | b'{' | b'}' | b'x' | b'X');
        byte += 1;
    }
    kept
};

/// Whether a word may end before this offset.
fn touches_word(bytes: &[u8], at: usize) -> bool {
    at > 0 && (is_word(bytes[at - 1]) || matches!(bytes[at - 1], b'.' | b'%'))
}

/// Whether a number touches no word, and is hexadecimal or stays as it is.
fn is_settled(bytes: &[u8], number: Span) -> bool {
    let (start, end) = (number.start as usize, number.end as usize);
    let is_hex = matches!(bytes[start..end], [b'0', b'x' | b'X', ..]);
    !touches_word(bytes, start)
        && !matches!(bytes.get(end), Some(b'.' | b'%'))
        && (is_hex || constants::is_spelled(&bytes[start..end]))
}

/// Items in the order of their places, along a text.
struct Along<'i, T> {
    items: &'i [T],
    place: fn(&T) -> u32,
}

impl<T> Clone for Along<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Along<'_, T> {}

impl<'i, T> Along<'i, T> {
    fn new(items: &'i [T], place: fn(&T) -> u32) -> Along<'i, T> {
        Along { items, place }
    }

    /// The first item from a place on that is after those asked for before.
    fn from(&mut self, place: u32) -> Option<&'i T> {
        while let [first, rest @ ..] = self.items
            && (self.place)(first) < place
        {
            self.items = rest;
        }
        self.items.first()
    }

    /// The item at a place that is after those asked for before.
    fn at(&mut self, place: u32) -> Option<&'i T> {
        self.from(place).filter(|first| (self.place)(first) == place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Numbers;

    const PIECES: &[&str] = &[
        "add.s32 \t%r1, %r2, 5;\n",
        "\tadd.s32 %r1,%r2 , 0x5;\n",
        "@%p1 bra L;",
        "@!%p1 bra \tL;\n",
        "@p .5 %r1;",
        "@p.5;",
        "L: ",
        "L:\n\t",
        "L :",
        "mov.b64 {%r1, a}, %rd1;\n",
        "mov.b64 {%r1, a;\n",
        "mov.f32 f, 0f3F800000;\n",
        "mov.f32 f, 1.5;",
        "mov.f32 f, -1.5;",
        "cvt.f64.f32 a, - /* sign */ 0d3FF8000000000000;",
        "xor.b32 %r1, max, -0X1f;\n",
        "mov.u32 %0x1, 0x10U;",
        "mov.u32 a, 0x1ffffffffffffffff;",
        "ld.b32 %r1, [%rd1+0x10];",
        "0x1",
        "ld.shared::cta.u32 %r1, [v+4];\n",
        "ld .u32 %r1, [v];",
        "tex.2d.v4.s32 a, b.x, 5.b0, 10%r1;\n",
        "cvt.1.5.5 a;\n",
        "a::b a;",
        "a}",
        "{a",
        "{\n.reg .b32 a, %r<9>;\n.reg .b64 %rd<3>;\n.reg .pred p, %p<2>;\n",
        ".func g()\n{\n.reg .b32 a, %r<9>;\n.reg .b64 %rd<3>;\n.reg .f32 f;\n",
        ".reg .pred p, %p<2>;\n",
        "\n}\n",
        "// one\n",
        " /* two */ ",
        ".loc 1 2 3\n",
        ".shared .u32 v;\n",
        "\"a;\"",
        "\u{e9};",
        "# 1 \"a\"\n",
        "1",
        ".",
        ":",
        "%",
        ";",
        ",",
        " ",
        "\n",
    ];

    #[test]
    fn usual_statements_are_written_as_tokens_are() {
        let mut numbers = Numbers(7);
        let mut usual = 0;
        for round in 0..40_000 {
            let count = 1 + numbers.below(16);
            let source: String = (0..count).map(|_| numbers.pick(PIECES)).collect();
            let options = NormalOptions {
                keep_names: round % 5 == 0,
                keep_comments: round % 3 == 0,
                keep_debug: round % 7 == 0,
            };
            let reading = Reading::new(&source, options);
            let Some(globals) = Globals::new(std::slice::from_ref(&reading)) else { continue };
            let plain = Plain::new(reading, &globals, options);
            let text = plain.text();
            usual += usize::from(text.contains("add.s32 %r1, %r2, 5;\n"));
            assert_eq!(text, plain.text_with(Speed::ByTokens), "{source}");
        }
        assert!(usual > 400, "{usual}");
    }
}
