//! Finds `asm` statements in C and C++, and reads their parts.
//!
//! The scanner knows enough of the language to separate code from comments and strings. An
//! attempt to read a statement ends at the next `asm` at the latest. If it fails, the scanner
//! passes over the same bytes once more, so all work is linear.

use std::ops::Range;

use crate::source::{BYTE_ORDER_MARK, Span, mark_len};
use crate::syntax::lexer::{comment_end, table};

/// A string literal.
#[derive(Clone, Debug)]
pub(super) struct Literal {
    /// The literal with its prefix and quotes.
    pub(super) span: Span,
    /// The text between the quotes, or between the parentheses of a raw string.
    pub(super) body: Span,
    /// How its body is read.
    pub(super) form: Form,
    /// Whether joining adds a line break between it and the literal before it, as in Rust.
    pub(super) joined_by_line: bool,
}

impl Literal {
    /// A literal from `start` to `end`, with the place of its body.
    pub(super) fn new(start: usize, body: Range<usize>, end: usize, form: Form) -> Literal {
        let span = Span::new(start as u32, end as u32);
        let body = Span::new(body.start as u32, body.end as u32);
        Literal { span, body, form, joined_by_line: false }
    }
}

/// The meaning of a literal's body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// There are no escapes.
    Raw,
    C,
    Python {
        is_bytes: bool,
    },
    Rust,
    Julia,
    /// Textual LLVM IR.
    Llvm,
    Json,
}

/// An operand as it is written.
#[derive(Debug)]
pub(super) struct ScannedOperand {
    pub(super) name: Option<Span>,
    /// The literals of its constraint, as indices into the statement's `constraints`; at least one.
    pub(super) constraint: Range<usize>,
    /// The text between its parentheses.
    pub(super) expression: Span,
    pub(super) output: bool,
}

/// An `asm` statement as it is written.
#[derive(Debug)]
pub(super) struct AsmStatement {
    pub(super) span: Span,
    pub(super) template: Vec<Literal>,
    pub(super) operands: Vec<ScannedOperand>,
    /// The literals of all constraints.
    pub(super) constraints: Vec<Literal>,
    /// The text after the third `:`: clobbers and labels.
    pub(super) clobbers: Option<Span>,
    /// Whether a `:` follows the template.
    pub(super) extended: bool,
    /// Whether it may have more operands, which a macro hides.
    pub(super) has_hidden: bool,
    /// Whether it belongs to a preprocessor directive, such as a `#define`.
    pub(super) in_directive: bool,
}

/// An `asm` statement that is not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Skipped {
    /// The whole statement if it can be read, else its keyword.
    pub span: Span,
    /// The reason.
    pub reason: SkipReason,
}

/// The reasons why an `asm` statement is not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum SkipReason {
    /// A macro takes the place of a string or an operand.
    Macro,
    /// It contains a preprocessor directive.
    Directive,
    /// It is under `#if 0`.
    Disabled,
    /// The compiler writes an operand into the text: nvcc's constraint `C`, or a number (`n`, `i`,
    /// or Rust's `const`) that is a part of a word or of an expression, as in `%1.b%2` and `%2+1`.
    Pasted,
    /// The text is computed when the program runs: an f-string, `%`, `.format` and so on.
    Computed,
    /// It is cut off, or a part of it is not allowed where it stands.
    Malformed,
    /// It is a module in a string that a program fills in or joins with other strings.
    Module,
}

impl SkipReason {
    /// The reason in words, to follow a count of statements.
    pub const fn text(self) -> &'static str {
        match self {
            SkipReason::Macro => "made by macros",
            SkipReason::Directive => "with `#` lines inside",
            SkipReason::Disabled => "under `#if 0`",
            SkipReason::Pasted => "with pasted operands",
            SkipReason::Computed => "whose text is computed",
            SkipReason::Malformed => "not well-formed",
            SkipReason::Module => "of a module with placeholders",
        }
    }
}

/// Whether a word is the keyword of a statement.
pub(super) fn is_asm(word: &str) -> bool {
    matches!(word, "asm" | "__asm" | "__asm__")
}

/// Whether a byte may belong to a name. Bytes beyond ASCII may be letters.
pub(super) const fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$') || byte >= 0x80
}

/// Bytes at which the scanner stops outside of statements. Of the letters of `asm`, `m` is the
/// rarest.
const CODE: [bool; 256] = table(b"\"'/#m");
/// Bytes at which the scanner stops inside parentheses.
const NESTED: [bool; 256] = table(b"\"'/#m()");
/// Bytes that end a run of plain bytes in a literal.
const QUOTED: [bool; 256] = table(b"\"'\\\n");

pub(super) const QUALIFIERS: [&str; 7] =
    ["volatile", "__volatile__", "__volatile", "inline", "__inline__", "__inline", "goto"];

/// The places where [`Cursor::seek`] stops.
enum Stop {
    /// After a `#` that starts a line.
    Directive,
    /// After the keyword that starts at this offset.
    Asm(usize),
    /// After a `(`.
    Open,
    /// After a `)`.
    Close,
}

/// A place in the source.
#[derive(Clone, Copy)]
pub(super) struct Cursor<'s> {
    source: &'s str,
    bytes: &'s [u8],
    pub(super) pos: usize,
    /// Offset of the digits after the last `'` inside a number.
    separated: usize,
    /// End of the last comment with nothing but comments and white space before it on its line.
    led: usize,
}

/// Offset of the first byte from `pos` on that is in the table.
#[inline]
fn find(bytes: &[u8], pos: usize, table: &[bool; 256]) -> Option<usize> {
    let rest = bytes.get(pos..)?;
    rest.iter().position(|&byte| table[usize::from(byte)]).map(|n| pos + n)
}

/// Whether compilers pass over a byte between a backslash and the line break that it joins.
const fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\x0b' | b'\x0c')
}

/// Offset after the backslashes and line breaks that join lines from `pos` on.
pub(super) fn splices(bytes: &[u8], mut pos: usize) -> usize {
    while bytes.get(pos) == Some(&b'\\') {
        let rest = &bytes[pos + 1..];
        let blanks = rest.iter().take_while(|&&byte| is_blank(byte)).count();
        if rest.get(blanks) != Some(&b'\n') {
            break;
        }
        pos += 1 + blanks + 1;
    }
    pos
}

/// Offset of the backslash that joins a line to the next one. Only white space follows it.
pub(crate) fn splice(line: &[u8]) -> Option<usize> {
    let last = line.iter().rposition(|&byte| !is_blank(byte))?;
    (line[last] == b'\\').then_some(last)
}

/// Whether a backslash joins the line that ends here to the next one.
fn is_spliced(bytes: &[u8], newline: usize) -> bool {
    splice(&bytes[..newline]).is_some()
}

/// The directives in a part of a text: the word of each, and a cursor after the word and the white
/// space that follows.
pub(super) fn directives_in(text: &str, part: Span) -> impl Iterator<Item = (&str, Cursor<'_>)> {
    let mut cursor = Cursor::within(text, part);
    std::iter::from_fn(move || {
        const STARTS: [bool; 256] = table(b"\"'/#");
        cursor.seek(&STARTS)?;
        Some((cursor.directive(), cursor))
    })
}

/// Offset of the line break that ends the line, or the last of the lines joined to it, whatever
/// they hold. Without a line break, the end of the text.
fn line_end(bytes: &[u8], mut pos: usize) -> usize {
    while let Some(n) = bytes[pos..].iter().position(|&byte| byte == b'\n') {
        if !is_spliced(bytes, pos + n) {
            return pos + n;
        }
        pos += n + 1;
    }
    bytes.len()
}

/// Bytes that may start a string or a comment.
const STARTS: [bool; 256] = table(b"\"'/");

/// The comments of a source, in order.
pub(crate) fn comments(source: &str) -> Vec<Span> {
    let mut cursor = Cursor::new(source);
    let mut comments = Vec::new();
    while let Some(at) = find(cursor.bytes, cursor.pos, &STARTS) {
        cursor.pos = at + 1;
        match cursor.bytes[at] {
            b'/' => {
                if cursor.comment(at) {
                    comments.push(Span::new(at as u32, cursor.pos as u32));
                }
            }
            quote => cursor.quoted(at, quote),
        }
    }
    comments
}

/// The strings of a source that have a raw literal, in order.
pub(super) fn raw_strings(source: &str) -> Vec<Vec<Literal>> {
    if memchr::memmem::find(source.as_bytes(), b"R\"").is_none() {
        return Vec::new();
    }
    let mut runs = string_runs(source);
    runs.retain(|run| run.iter().any(|it| it.form == Form::Raw));
    runs
}

/// The strings of a source, in order; literals that make one text are together.
pub(super) fn string_runs(source: &str) -> Vec<Vec<Literal>> {
    let mut cursor = Cursor::new(source);
    let mut found = Vec::new();
    while let Some(at) = find(cursor.bytes, cursor.pos, &STARTS) {
        cursor.pos = at + 1;
        match cursor.bytes[at] {
            b'/' => _ = cursor.comment(at),
            b'"' => {
                let raw = is_raw(&cursor.bytes[..at]);
                match cursor.string(at - usize::from(raw), at, raw) {
                    Ok(first) => {
                        cursor.pos = first.span.end as usize;
                        let mut run = vec![first];
                        cursor.literals(&mut run);
                        found.push(run);
                    }
                    Err(end) => cursor.pos = end,
                }
            }
            quote => cursor.quoted(at, quote),
        }
    }
    found
}

/// A directive of the preprocessor.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Directive<'s> {
    /// From its `#` to the end of its line, or of the last line joined to it.
    pub(crate) span: Span,
    /// Its name: `include`, `if`.
    pub(crate) name: &'s str,
    /// How many conditions, such as `#if`, are open before it.
    pub(crate) conditions: usize,
    /// Whether it stands between declarations, outside of braces and parentheses.
    pub(crate) is_between: bool,
}

/// The directives of a source, in order. After `#else` and the like, as many braces and parentheses
/// are open as before the `#if`.
pub(crate) fn directives(source: &str) -> Vec<Directive<'_>> {
    const STARTS: [bool; 256] = table(b"\"'/#{}()");
    let mut cursor = Cursor::new(source);
    let mut directives: Vec<Directive<'_>> = Vec::new();
    let (mut depth, mut parentheses) = (0_usize, 0_usize);
    let mut conditions = Vec::new();
    // The end of the last comment or directive, and whether a declaration may follow the code
    // before it.
    let (mut trivia, mut is_between) = (mark_len(source.as_bytes()), true);
    let after = |code: &str, is_between: bool| match code.trim_end().as_bytes().last() {
        Some(last) => matches!(last, b';' | b'}'),
        None => is_between,
    };
    while let Some(at) = find(cursor.bytes, cursor.pos, &STARTS) {
        cursor.pos = at + 1;
        match cursor.bytes[at] {
            b'/' => {
                if cursor.comment(at) {
                    is_between = after(&source[trivia..at], is_between);
                    trivia = cursor.pos;
                }
            }
            b'#' if cursor.starts_line(at) => {
                is_between = after(&source[trivia..at], is_between);
                let name = cursor.directive();
                let open = conditions.len();
                match name {
                    "if" | "ifdef" | "ifndef" => conditions.push((depth, parentheses)),
                    "endif" => _ = conditions.pop(),
                    "else" | "elif" | "elifdef" | "elifndef" => {
                        let before = conditions.last().copied();
                        (depth, parentheses) = before.unwrap_or((depth, parentheses));
                    }
                    _ => {}
                }
                cursor.pos = cursor.directive_end();
                trivia = cursor.pos;
                let span = Span::new(at as u32, trivia as u32);
                let is_between = is_between && depth == 0 && parentheses == 0;
                directives.push(Directive { span, name, conditions: open, is_between });
            }
            b'#' => {}
            b'{' => depth += 1,
            b'}' => depth = depth.saturating_sub(1),
            b'(' => parentheses += 1,
            b')' => parentheses = parentheses.saturating_sub(1),
            quote => cursor.quoted(at, quote),
        }
    }
    directives
}

/// Offset of the first byte that is neither white space nor in a comment, behind a byte order mark.
pub(crate) fn code_start(source: &str) -> usize {
    let mut cursor = Cursor { pos: mark_len(source.as_bytes()), ..Cursor::new(source) };
    cursor.trivia(true);
    cursor.pos
}

/// A piece of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Piece<'s> {
    /// Any other text; not empty.
    Code(&'s str),
    Comment,
    /// A string or a character. A prefix such as `u8` belongs to the code before it.
    Literal,
}

/// The pieces of a source, in order.
pub(crate) fn pieces(source: &str) -> impl Iterator<Item = Piece<'_>> {
    let mut cursor = Cursor::new(source);
    // The start of the next piece, and a piece that was found after code, with its end.
    let (mut start, mut after) = (0, None);
    std::iter::from_fn(move || {
        if let Some((piece, end)) = after.take() {
            start = end;
            return Some(piece);
        }
        while let Some(at) = find(cursor.bytes, cursor.pos, &STARTS) {
            cursor.pos = at + 1;
            let piece = if cursor.bytes[at] == b'/' {
                if !cursor.comment(at) {
                    continue;
                }
                Piece::Comment
            } else {
                cursor.quoted(at, cursor.bytes[at]);
                // The `'` separates digits.
                if cursor.separated == at + 1 {
                    continue;
                }
                Piece::Literal
            };
            let code = &source[start..at];
            if code.is_empty() {
                start = cursor.pos;
                return Some(piece);
            }
            after = Some((piece, cursor.pos));
            return Some(Piece::Code(code));
        }
        let code = &source[start..];
        cursor.pos = source.len();
        start = source.len();
        (!code.is_empty()).then_some(Piece::Code(code))
    })
}

impl<'s> Cursor<'s> {
    pub(super) fn new(source: &'s str) -> Cursor<'s> {
        Cursor { source, bytes: source.as_bytes(), pos: 0, separated: usize::MAX, led: usize::MAX }
    }

    /// A cursor in a part of a text.
    pub(super) fn within(text: &'s str, part: Span) -> Cursor<'s> {
        Cursor { pos: part.start as usize, ..Cursor::new(&text[..part.end as usize]) }
    }

    pub(super) fn peek(&self) -> Option<u8> {
        self.bytes.get(self.pos).copied()
    }

    pub(super) fn eat(&mut self, byte: u8) -> bool {
        let eaten = self.peek() == Some(byte);
        self.pos += usize::from(eaten);
        eaten
    }

    /// Moves to after the next byte of the table that has a meaning in code.
    fn seek(&mut self, stops: &[bool; 256]) -> Option<Stop> {
        loop {
            let Some(at) = find(self.bytes, self.pos, stops) else {
                self.pos = self.bytes.len();
                return None;
            };
            self.pos = at + 1;
            match self.bytes[at] {
                quote @ (b'"' | b'\'') => self.quoted(at, quote),
                b'/' => _ = self.comment(at),
                b'#' => {
                    if self.starts_line(at) {
                        return Some(Stop::Directive);
                    }
                }
                b'm' => {
                    if let Some((start, end)) = self.keyword(at) {
                        self.pos = end;
                        return Some(Stop::Asm(start));
                    }
                }
                b'(' => return Some(Stop::Open),
                _ => return Some(Stop::Close),
            }
        }
    }

    /// Where the directive around the cursor ends: at the first line break that is not joined to
    /// the next line, nor in a comment or raw string.
    pub(super) fn directive_end(mut self) -> usize {
        const STOPS: [bool; 256] = table(b"\"'/\n");
        while let Some(at) = find(self.bytes, self.pos, &STOPS) {
            self.pos = at + 1;
            match self.bytes[at] {
                b'\n' if !is_spliced(self.bytes, at) => return at,
                b'\n' => {}
                b'/' => _ = self.comment(at),
                quote => self.quoted(at, quote),
            }
        }
        self.bytes.len()
    }

    /// Reads the word after the `#` of a directive, and white space.
    pub(super) fn directive(&mut self) -> &'s str {
        self.trivia(false);
        let word = self.word();
        self.trivia(false);
        word
    }

    /// Passes the condition of an `#if`. Returns whether it is `0`.
    pub(super) fn is_zero(&mut self) -> bool {
        let condition = self.word();
        self.trivia(false);
        condition == "0" && matches!(self.peek(), None | Some(b'\n'))
    }

    /// The name of the header in an `#include`, and whether it is in `"`.
    pub(super) fn header(&self) -> Option<(&'s str, bool)> {
        let line = self.source[self.pos..].lines().next()?;
        let (close, quoted) = match line.as_bytes().first()? {
            b'<' => ('>', false),
            b'"' => ('"', true),
            _ => return None,
        };
        let end = line[1..].find(close)?;
        Some((&line[1..][..end], quoted))
    }

    /// Skips the string or character that starts with this quote.
    pub(super) fn quoted(&mut self, at: usize, quote: u8) {
        if quote == b'"' {
            let literal = self.string(at, at, is_raw(&self.bytes[..at]));
            self.pos = literal.map_or_else(|end| end, |literal| literal.span.end as usize);
        } else if !self.is_separator(at) {
            self.pos = self.quoted_end(at).unwrap_or_else(|end| end);
        }
    }

    /// Start and end of the `asm`, `__asm` or `__asm__` whose `m` is here.
    fn keyword(&self, m: usize) -> Option<(usize, usize)> {
        let before = self.bytes[..m].strip_suffix(b"as")?;
        let (before, after) = match before.strip_suffix(b"__") {
            Some(before) if self.bytes[m + 1..].starts_with(b"__") => (before, m + 3),
            Some(before) => (before, m + 1),
            None => (before, m + 1),
        };
        let follows = before.last().is_some_and(|&byte| is_name(byte) || byte == b'.');
        let alone = (!follows || before == BYTE_ORDER_MARK)
            && !self.bytes.get(after).is_some_and(|&byte| is_name(byte));
        // `#define asm(x)`
        let cut = |it: &'s [u8]| {
            let blanks = it.iter().rev().take_while(|it| matches!(it, b' ' | b'\t')).count();
            &it[..it.len() - blanks]
        };
        let is_defined =
            || cut(before).strip_suffix(b"define").is_some_and(|it| cut(it).ends_with(b"#"));
        (alone && !is_defined()).then_some((before.len(), after))
    }

    /// Whether the `'` separates digits of a number.
    fn is_separator(&mut self, at: usize) -> bool {
        let before = &self.bytes[..at];
        let is_number = |byte: u8| is_name(byte) || byte == b'.';
        let word = before.iter().rev().take_while(|&&byte| is_number(byte)).count();
        let start = at - word;
        let first = before[start..].iter().find(|&&byte| byte != b'.');
        let number = first.is_some_and(u8::is_ascii_digit) || start == self.separated;
        let separator = number && self.bytes.get(at + 1).is_some_and(u8::is_ascii_alphanumeric);
        if separator {
            self.separated = at + 1;
        }
        separator
    }

    /// Whether only white space and comments that the cursor has passed stand before this place on
    /// its line.
    pub(super) fn starts_line(&self, at: usize) -> bool {
        let blanks = self.bytes[..at].iter().rev().take_while(|&&byte| is_blank(byte)).count();
        let before = &self.bytes[..at - blanks];
        match before.last() {
            None => true,
            Some(b'\n') => !is_spliced(self.bytes, before.len() - 1),
            Some(_) => before.len() == self.led || before == BYTE_ORDER_MARK,
        }
    }

    /// Skips the comment that starts here. A comment without an end covers the rest.
    fn comment(&mut self, at: usize) -> bool {
        match self.bytes.get(at + 1) {
            Some(b'/') => self.pos = line_end(self.bytes, at),
            Some(b'*') => {
                let end = comment_end(self.bytes, at).unwrap_or(self.bytes.len());
                if self.starts_line(at) {
                    self.led = end;
                }
                self.pos = end;
            }
            _ => return false,
        }
        true
    }

    /// Skips white space, comments and joined lines, and line breaks if `lines` is set.
    pub(super) fn trivia(&mut self, lines: bool) {
        while let Some(byte) = self.peek() {
            match byte {
                _ if is_blank(byte) => self.pos += 1,
                b'\n' if lines => self.pos += 1,
                b'\\' => {
                    let end = splices(self.bytes, self.pos);
                    if end == self.pos {
                        return;
                    }
                    self.pos = end;
                }
                b'/' if self.comment(self.pos) => {}
                _ => return,
            }
        }
    }

    /// Reads the name that starts here; empty if there is none.
    pub(super) fn word(&mut self) -> &'s str {
        let rest = &self.bytes[self.pos..];
        let len = rest.iter().position(|&byte| !is_name(byte)).unwrap_or(rest.len());
        let word = &self.source[self.pos..self.pos + len];
        self.pos += len;
        word
    }

    /// Offset after the literal whose quote is here, or of the line break that cuts it off.
    fn quoted_end(&self, quote: usize) -> Result<usize, usize> {
        let mut at = quote + 1;
        while let Some(stop) = find(self.bytes, at, &QUOTED) {
            at = match self.bytes[stop] {
                b'\n' => return Err(stop),
                b'\\' => {
                    let after = splices(self.bytes, stop);
                    if after > stop {
                        after
                    } else {
                        // The escaped character may be on the next line.
                        let escaped = splices(self.bytes, stop + 1);
                        if self.bytes.get(escaped) == Some(&b'\n') {
                            return Err(escaped);
                        }
                        escaped + 1
                    }
                }
                byte if byte == self.bytes[quote] => return Ok(stop + 1),
                _ => stop + 1,
            };
        }
        Err(self.bytes.len())
    }

    /// The string literal whose quote is here, or the offset where it is cut off.
    fn string(&self, start: usize, quote: usize, raw: bool) -> Result<Literal, usize> {
        if let Some(delimiter) = raw.then(|| self.delimiter(quote)).flatten() {
            let body = quote + 1 + delimiter.len() + 1;
            let mut at = body;
            while let Some(n) = self.bytes[at..].iter().position(|&byte| byte == b')') {
                at += n + 1;
                let rest = self.bytes[at..].strip_prefix(delimiter);
                if rest.is_some_and(|rest| rest.first() == Some(&b'"')) {
                    let end = at + delimiter.len() + 1;
                    return Ok(Literal::new(start, body..at - 1, end, Form::Raw));
                }
            }
            return Err(self.bytes.len());
        }
        let end = self.quoted_end(quote)?;
        Ok(Literal::new(start, quote + 1..end - 1, end, Form::C))
    }

    /// The delimiter between the quote and the parenthesis of a raw string.
    fn delimiter(&self, quote: usize) -> Option<&'s [u8]> {
        let rest = &self.bytes[quote + 1..];
        let len = rest.iter().take(17).position(|&byte| byte == b'(')?;
        let legal = |&byte: &u8| byte.is_ascii_graphic() && !matches!(byte, b')' | b'\\' | b'"');
        rest[..len].iter().all(legal).then_some(&rest[..len])
    }

    /// Reads the string literal that starts here, with its prefix.
    pub(super) fn literal(&mut self) -> Option<Literal> {
        let rest = &self.bytes[self.pos..];
        let prefix = rest.iter().take(4).position(|&byte| byte == b'"')?;
        let raw = match &rest[..prefix] {
            b"" | b"u8" | b"u" | b"U" | b"L" => false,
            b"R" | b"u8R" | b"uR" | b"UR" | b"LR" => true,
            _ => return None,
        };
        if prefix > 0 && self.bytes[..self.pos].last().is_some_and(|&byte| is_quote(byte)) {
            return None;
        }
        let literal = self.string(self.pos, self.pos + prefix, raw).ok()?;
        self.pos = literal.span.end as usize;
        Some(literal)
    }

    /// Reads the string literals that follow each other from here on.
    pub(super) fn literals(&mut self, literals: &mut Vec<Literal>) {
        self.trivia(true);
        while let Some(literal) = self.literal() {
            literals.push(literal);
            self.trivia(true);
        }
    }

    /// Moves from after the keyword of a statement to after its `(`.
    fn opened(mut self) -> Option<Cursor<'s>> {
        self.qualifiers(|word| QUALIFIERS.contains(&word));
        self.eat(b'(').then_some(self)
    }

    /// Moves over words that are qualifiers, and the white space after them.
    fn qualifiers(&mut self, is_one: impl Fn(&str) -> bool) {
        loop {
            self.trivia(true);
            let mut next = *self;
            let word = next.word();
            if word.is_empty() || !is_one(word) {
                return;
            }
            *self = next;
        }
    }

    /// Whether a statement may follow its keyword here, if other words before the `(` are macros
    /// for qualifiers.
    fn may_open(mut self) -> bool {
        // Another keyword starts another statement.
        self.qualifiers(|word| !is_asm(word));
        self.eat(b'(') && {
            self.trivia(true);
            self.literal().is_some()
        }
    }

    /// The reason why a statement cannot be read beyond this place.
    fn obstacle(&self, in_directive: bool) -> SkipReason {
        let is_hash = |at: usize| self.bytes.get(at) == Some(&b'#');
        match self.peek() {
            // In a macro, `#` makes strings.
            _ if is_hash(self.pos) || is_hash(self.pos - 1) => {
                if in_directive {
                    SkipReason::Macro
                } else {
                    SkipReason::Directive
                }
            }
            Some(byte) if is_name(byte) => SkipReason::Macro,
            _ => SkipReason::Malformed,
        }
    }

    /// Skips to after the `)` of the open parenthesis.
    fn close(&mut self) -> Option<()> {
        let mut depth = 1_usize;
        while depth > 0 {
            match self.seek(&NESTED)? {
                Stop::Open => depth += 1,
                Stop::Close => depth -= 1,
                Stop::Asm(_) | Stop::Directive => return None,
            }
        }
        Some(())
    }

    /// Reads everything from the first `:` to the `)`.
    fn operands_and_clobbers(&mut self, statement: &mut AsmStatement) -> Option<()> {
        self.operands(true, statement)?;
        if self.eat(b':') {
            self.operands(false, statement)?;
        }
        // Clobbers and labels may be anything.
        if self.eat(b':') {
            let start = self.pos as u32;
            self.close()?;
            self.pos -= 1;
            statement.clobbers = Some(Span::new(start, self.pos as u32));
        }
        Some(())
    }

    /// Reads the operands up to the next `:` or `)`.
    fn operands(&mut self, output: bool, statement: &mut AsmStatement) -> Option<()> {
        self.trivia(true);
        if matches!(self.peek(), Some(b':' | b')')) {
            return Some(());
        }
        loop {
            let mut name = None;
            self.trivia(true);
            if self.eat(b'[') {
                self.trivia(true);
                let start = self.pos as u32;
                name = Some(Span::new(start, start + self.word().len() as u32))
                    .filter(|name| !name.is_empty());
                self.trivia(true);
                if name.is_none() || !self.eat(b']') {
                    return None;
                }
            }
            let first = statement.constraints.len();
            self.literals(&mut statement.constraints);
            let constraint = first..statement.constraints.len();
            if constraint.is_empty() || !self.eat(b'(') {
                return None;
            }
            let start = self.pos as u32;
            self.close()?;
            let expression = Span::new(start, self.pos as u32 - 1);
            statement.operands.push(ScannedOperand { name, constraint, expression, output });
            self.trivia(true);
            if !self.eat(b',') && matches!(self.peek(), Some(b':' | b')')) {
                return Some(());
            }
            // nvcc needs no comma between two operands.
        }
    }
}

/// A skipped statement, with the span of its keyword.
fn skipped(start: usize, end: usize, reason: SkipReason) -> Skipped {
    Skipped { span: Span::new(start as u32, end as u32), reason }
}

/// Whether a byte is a quote. In C++, a name right after a quote is a suffix, not a prefix of
/// the next literal.
const fn is_quote(byte: u8) -> bool {
    matches!(byte, b'"' | b'\'')
}

/// Whether a quote after this text opens a raw string.
pub(super) fn is_raw(before: &[u8]) -> bool {
    let Some(before) = before.strip_suffix(b"R") else {
        return false;
    };
    let prefixes: [&[u8]; 5] = [b"u8", b"u", b"U", b"L", b""];
    prefixes.iter().any(|prefix| {
        before.strip_suffix(*prefix).is_some_and(|before| {
            !before.last().is_some_and(|&byte| is_name(byte) || is_quote(byte))
        })
    })
}

/// The statements of a source, in order.
pub(super) struct Scanner<'s> {
    cursor: Cursor<'s>,
    /// End of the last preprocessor directive so far.
    directive_end: usize,
    /// The statements skipped so far.
    pub(super) skipped: Vec<Skipped>,
    /// The parts under `#if 0` so far.
    pub(super) disabled: Vec<Span>,
    /// Whether a directive has a keyword without a statement.
    has_keyword: bool,
    /// Whether a statement is read even if a macro hides some of its operands.
    takes_hidden: bool,
}

impl<'s> Scanner<'s> {
    pub(super) fn new(source: &'s str) -> Scanner<'s> {
        let cursor = Cursor::new(source);
        let (skipped, disabled) = (Vec::new(), Vec::new());
        let (has_keyword, takes_hidden) = (false, false);
        Scanner { cursor, directive_end: 0, skipped, disabled, has_keyword, takes_hidden }
    }

    /// A scanner of an expansion of macros. It reads a statement even if a macro hides operands.
    pub(super) fn of_expansion(text: &'s str) -> Scanner<'s> {
        Scanner { takes_hidden: true, ..Scanner::new(text) }
    }

    /// A scanner of a part of a text.
    pub(super) fn within(text: &'s str, part: Span) -> Scanner<'s> {
        Scanner { cursor: Cursor::within(text, part), ..Scanner::new(text) }
    }

    /// Whether macros may make statements that were not read so far.
    pub(super) fn needs_macros(&self) -> bool {
        self.has_keyword || self.skipped.iter().any(|it| it.reason == SkipReason::Macro)
    }

    /// Handles the directive whose `#` is before the cursor. Skips an `#if 0` up to its `#else`,
    /// `#elif` or `#endif`.
    fn directive(&mut self) {
        let cursor = &mut self.cursor;
        self.directive_end = cursor.directive_end();
        if cursor.directive() != "if" || !cursor.is_zero() {
            return;
        }
        let from = cursor.pos as u32;
        let mut depth = 0_usize;
        while let Some(stop) = cursor.seek(&CODE) {
            if let Stop::Asm(start) = stop {
                if cursor.opened().is_some() {
                    self.skipped.push(skipped(start, cursor.pos, SkipReason::Disabled));
                }
                continue;
            }
            cursor.trivia(false);
            match cursor.word() {
                "if" | "ifdef" | "ifndef" => depth += 1,
                "else" | "elif" | "elifdef" | "elifndef" | "endif" if depth == 0 => break,
                "endif" => depth -= 1,
                _ => {}
            }
        }
        self.disabled.push(Span::new(from, cursor.pos as u32));
    }

    /// Reads the statement whose keyword starts at `start` and ends at the cursor. Moves the
    /// cursor to after the statement, or to after its `(` if the statement cannot be read.
    fn statement(&mut self, start: usize) -> Option<AsmStatement> {
        let Some(open) = self.cursor.opened() else {
            self.has_keyword |= start < self.directive_end;
            if self.cursor.may_open() {
                self.skipped.push(skipped(start, self.cursor.pos, SkipReason::Macro));
            }
            return None;
        };
        let mut cursor = open;
        let statement = self.inside(start, &mut cursor);
        if statement.is_none() {
            let reason = cursor.obstacle(start < self.directive_end);
            self.skipped.push(skipped(start, self.cursor.pos, reason));
        }
        self.cursor = if statement.is_some() { cursor } else { open };
        statement
    }

    /// Reads the statement from after its `(` on.
    fn inside(&self, start: usize, cursor: &mut Cursor<'s>) -> Option<AsmStatement> {
        let mut statement = AsmStatement {
            span: Span::at(start as u32),
            template: Vec::new(),
            operands: Vec::new(),
            constraints: Vec::new(),
            clobbers: None,
            extended: false,
            has_hidden: false,
            in_directive: start < self.directive_end,
        };
        cursor.literals(&mut statement.template);
        if statement.template.is_empty() {
            return None;
        }
        if cursor.eat(b':') {
            statement.extended = true;
            if cursor.operands_and_clobbers(&mut statement).is_none() {
                let hides = self.takes_hidden
                    && cursor.obstacle(statement.in_directive) == SkipReason::Macro;
                hides.then(|| cursor.close()).flatten()?;
                cursor.pos -= 1;
                statement.has_hidden = true;
            }
        }
        statement.span.end = cursor.pos as u32 + 1;
        cursor.eat(b')').then_some(statement)
    }
}

impl Iterator for Scanner<'_> {
    type Item = AsmStatement;

    fn next(&mut self) -> Option<AsmStatement> {
        loop {
            match self.cursor.seek(&CODE)? {
                Stop::Asm(start) => {
                    if let Some(statement) = self.statement(start) {
                        return Some(statement);
                    }
                }
                _ => self.directive(),
            }
        }
    }
}
