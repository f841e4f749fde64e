//! The text of an `asm` statement's string literals, and the source of each byte of the text.
//!
//! There are two steps, as in a compiler: literals become the template, and in extended asm the
//! template's `%` are read. Measured on nvcc 13.5.37 and clang 14:
//!
//! - Without operands, nvcc keeps every `%`, with or without colons. For clang, the first colon
//!   decides. vptx reads `%%` and `%=` like clang, because PTX has neither.
//! - With operands, a `%` before two letters, or before one letter without a digit after it,
//!   belongs to a register for nvcc, as in `%laneid`. nvcc drops a `%` before anything but
//!   letters, digits and `%=[`, together with the next character. A `%` before a letter and a
//!   digit, as in `%r1`, is an error.
//! - nvcc 13.5 does not support `%[name]`; clang does.

use std::collections::{HashMap, HashSet};

use super::escape::{Escape, escape_of, old};
use super::scan::{Form, Literal, splices};
use super::{AsmOperand, UNKNOWN};
use crate::isa::is_special_register;
use crate::source::{Span, UNDECODABLE, decode as decode_utf8};
use crate::syntax::lexer::{comments, is_word, word_end};

/// A run of bytes of a text, and its source.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    /// The offset of the run in the text.
    at: u32,
    source: Span,
    /// Whether the bytes are copied from the source, and not made from it.
    verbatim: bool,
}

/// The source of each byte of a text.
#[derive(Clone, Debug, Default)]
pub(super) struct SourceMap {
    runs: Vec<Stretch>,
    len: u32,
}

impl SourceMap {
    /// Adds bytes that are copied from the source.
    fn copy(&mut self, source: Span) {
        if source.is_empty() {
            return;
        }
        match self.runs.last_mut() {
            Some(run) if run.verbatim && run.source.end == source.start => {
                run.source.end = source.end;
            }
            _ => self.runs.push(Stretch { at: self.len, source, verbatim: true }),
        }
        self.len += source.len();
    }

    /// Adds bytes that replace something of the source.
    fn replace(&mut self, len: u32, source: Span) {
        if len > 0 {
            self.runs.push(Stretch { at: self.len, source, verbatim: false });
            self.len += len;
        }
    }

    /// Number of the run that has this byte of the text.
    fn index(&self, at: u32) -> usize {
        self.runs.partition_point(|run| run.at <= at) - 1
    }

    /// The source of this byte of the text.
    fn byte(&self, at: u32) -> Span {
        let run = self.runs[self.index(at)];
        if run.verbatim {
            let start = run.source.start + (at - run.at);
            Span::new(start, start + 1)
        } else {
            run.source
        }
    }

    /// The source of a span that is not empty.
    pub(super) fn source(&self, span: Span) -> Span {
        self.byte(span.start).to(self.byte(span.end - 1))
    }

    /// Whether the text can be split before this byte. Bytes that together replace something of
    /// the source cannot be split.
    pub(super) fn parts(&self, at: u32) -> bool {
        if at >= self.len {
            return at == self.len;
        }
        let run = self.runs[self.index(at)];
        run.verbatim || run.at == at
    }

    /// Adds the source of a span of another text. `from` is the number of a run at or before
    /// the span, and moves on.
    fn extend(&mut self, of: &SourceMap, from: &mut usize, span: Span) {
        let mut at = span.start;
        while at < span.end {
            let next = |index: usize| of.runs.get(index + 1).map_or(of.len, |run| run.at);
            while next(*from) <= at {
                *from += 1;
            }
            let run = of.runs[*from];
            let end = next(*from).min(span.end);
            if run.verbatim {
                let start = run.source.start + (at - run.at);
                self.copy(Span::new(start, start + (end - at)));
            } else {
                self.replace(end - at, run.source);
            }
            at = end;
        }
    }
}

/// A text and the source of its bytes.
#[derive(Clone, Debug, Default)]
pub(super) struct Mapped {
    pub(super) text: String,
    pub(super) map: SourceMap,
}

/// The joined text of string literals.
pub(super) fn decode(source: &str, literals: &[Literal]) -> Mapped {
    let mut map = SourceMap::default();
    let mut bytes = Vec::new();
    for (at, literal) in literals.iter().enumerate() {
        if literal.joined_by_line {
            bytes.push(b'\n');
            map.replace(1, Span::new(literals[at - 1].body.end, literal.body.start));
        }
        match literal.form {
            Form::Raw => {
                bytes.extend_from_slice(literal.body.text(source).as_bytes());
                map.copy(literal.body);
            }
            Form::C => unescape(source.as_bytes(), literal.body, &mut bytes, &mut map),
            form => unescape_as(form, source.as_bytes(), literal.body, &mut bytes, &mut map),
        }
    }
    Mapped { text: decode_utf8(bytes), map }
}

/// Decodes the body of an ordinary literal of a language other than C.
fn unescape_as(form: Form, source: &[u8], body: Span, out: &mut Vec<u8>, map: &mut SourceMap) {
    let body = body.range();
    let bytes = &source[..body.end];
    let mut at = body.start;
    while at < body.end {
        let plain = memchr::memchr(b'\\', &bytes[at..]).unwrap_or(body.end - at);
        let mut end = at + plain;
        let escape = (end < body.end).then(|| escape_of(form, bytes, end));
        if matches!(escape, Some(Escape::None)) {
            // The backslash stands for itself.
            end += 1;
        }
        out.extend_from_slice(&bytes[at..end]);
        map.copy(Span::new(at as u32, end as u32));
        at = end;
        if let Some(Escape::Of { buffer, len, end }) = escape {
            out.extend_from_slice(&buffer[..len]);
            map.replace(len as u32, Span::new(at as u32, end as u32));
            at = end;
        }
    }
}

/// Decodes the body of an ordinary literal of C.
fn unescape(source: &[u8], body: Span, out: &mut Vec<u8>, map: &mut SourceMap) {
    let body = body.range();
    let bytes = &source[..body.end];
    let mut at = body.start;
    while at < body.end {
        let plain = bytes[at..].iter().position(|&byte| byte == b'\\').unwrap_or(body.end - at);
        out.extend_from_slice(&bytes[at..at + plain]);
        map.copy(Span::new(at as u32, (at + plain) as u32));
        at += plain;
        let after = splices(bytes, at);
        if after > at || at == body.end {
            at = after;
            continue;
        }
        let mut buffer = [0; 4];
        let (decoded, end) = escape(bytes, at, &mut buffer);
        out.extend_from_slice(decoded);
        map.replace(decoded.len() as u32, Span::new(at as u32, end as u32));
        at = end;
    }
}

/// The meaning of the escape here, and its end.
fn escape<'b>(bytes: &[u8], at: usize, buffer: &'b mut [u8; 4]) -> (&'b [u8], usize) {
    let first = splices(bytes, at + 1);
    let Some(&letter) = bytes.get(first) else {
        return (&[], bytes.len());
    };
    // Reads a number of at most `most` digits: its value, digit count and end.
    let number = |from: usize, most: usize, radix: u32| {
        let (mut value, mut count, mut end) = (0_u32, 0, from);
        while count < most {
            let next = splices(bytes, end);
            let digit = bytes.get(next).and_then(|&byte| char::from(byte).to_digit(radix));
            let Some(digit) = digit else {
                break;
            };
            value = value.saturating_mul(radix).saturating_add(digit);
            count += 1;
            end = next + 1;
        }
        (value, count, end)
    };
    let byte = match letter {
        b'e' => 0x1b,
        b'0'..=b'7' | b'x' => {
            let octal = letter != b'x';
            let (value, count, end) =
                if octal { number(first, 3, 8) } else { number(first + 1, usize::MAX, 16) };
            if count > 0 {
                buffer[0] = u8::try_from(value).unwrap_or(UNDECODABLE as u8);
                return (&buffer[..1], end);
            }
            letter
        }
        b'u' | b'U' => {
            let digits = if letter == b'u' { 4 } else { 8 };
            let (value, count, end) = number(first + 1, digits, 16);
            if count == digits {
                let character = char::from_u32(value).unwrap_or(UNDECODABLE);
                return (character.encode_utf8(buffer).as_bytes(), end);
            }
            letter
        }
        other => old(other).unwrap_or(other),
    };
    buffer[0] = byte;
    (&buffer[..1], first + 1)
}

/// How a statement's `%` are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// There is no colon: `%` has no meaning.
    Basic,
    /// There is a colon, but no operand.
    Bare,
    /// There are operands.
    Full,
    /// `$0`, as in LLVM.
    Llvm,
    /// `{0}` and `{name}`, as in Rust.
    Braces,
    /// `$0`, or `{$w0}` and so on, as in MLIR.
    Roles(Roles),
}

/// The number of operands of each role. MLIR numbers operands in the order of these fields.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Roles {
    pub(super) read_write: usize,
    pub(super) write: usize,
    pub(super) read: usize,
}

impl Roles {
    /// The roles of the operands that a text refers to.
    pub(super) fn of(text: &str) -> Roles {
        let mut roles = Roles::default();
        for (at, _) in text.match_indices("{$") {
            if let Some((role, number, _)) = role_reference(text, at)
                && number < UNKNOWN
            {
                let count = match role {
                    "rw" => &mut roles.read_write,
                    "w" => &mut roles.write,
                    _ => &mut roles.read,
                };
                *count = (*count).max(number + 1);
            }
        }
        roles
    }

    /// The number of the operand that is spelled like this: `{$w0}`.
    fn operand(self, spelling: &str) -> Option<usize> {
        let (role, number, _) = role_reference(spelling, 0)?;
        let (before, count) = match role {
            "rw" => (0, self.read_write),
            "w" => (self.read_write, self.write),
            _ => (self.read_write + self.write, self.read),
        };
        (number < count).then(|| before + number)
    }
}

/// The role and the number in the `{$w0}` that starts here, and its end.
fn role_reference(text: &str, start: usize) -> Option<(&str, usize, usize)> {
    let inside = text[start..].strip_prefix("{$")?;
    let role = ["rw", "w", "r"].into_iter().find(|role| inside.starts_with(role))?;
    let digits = digits_end(text.as_bytes(), start + 2 + role.len());
    let number = text[start + 2 + role.len()..digits].parse().ok()?;
    text[digits..].starts_with('}').then_some((role, number, digits + 1))
}

impl Mode {
    /// The character before the number of an operand in the text.
    const fn sigil(self) -> char {
        match self {
            Mode::Llvm | Mode::Roles(_) => '$',
            _ => '%',
        }
    }
}

/// The replacement of a sigil such as `%` and of the characters that belong to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ReplacementKind {
    /// The sigil itself, which the template writes once or twice.
    Itself { twice: bool },
    /// The placeholder with this number.
    Reference(usize),
    /// `%=`, which stands for a number that only this statement has.
    Unique,
    /// Nothing.
    Nothing,
}

/// A part of the template that is replaced.
#[derive(Clone, Copy, Debug)]
struct Replacement {
    span: Span,
    kind: ReplacementKind,
}

/// The numbers of references: operands first, then references that have no operand.
#[derive(Clone, Debug)]
pub(super) struct OperandNames<'a> {
    by_name: HashMap<&'a str, usize>,
    operands: usize,
    roles: Roles,
    /// Numbers of the references without an operand, by their spelling.
    unknown: HashMap<String, usize>,
}

impl<'a> OperandNames<'a> {
    /// `operands` has the name, if any, of each operand. Of two operands with one name, the first
    /// counts.
    fn new(operands: impl Iterator<Item = Option<&'a str>>, mode: Mode) -> OperandNames<'a> {
        let mut by_name = HashMap::new();
        let mut count = 0;
        for name in operands {
            if let Some(name) = name {
                by_name.entry(name).or_insert(count);
            }
            count += 1;
        }
        let roles = if let Mode::Roles(roles) = mode { roles } else { Roles::default() };
        OperandNames { by_name, operands: count, roles, unknown: HashMap::new() }
    }

    /// Adds a reference that has no operand.
    fn add_unknown(&mut self, spelling: &str) -> usize {
        let next = self.operands + self.unknown.len();
        match self.unknown.get(spelling) {
            Some(&index) => index,
            None => *self.unknown.entry(spelling.to_owned()).or_insert(next),
        }
    }

    /// Number of the operand whose reference is spelled like this.
    fn operand(&self, spelling: &str) -> Option<usize> {
        match name_of(spelling) {
            Some(name) if name.starts_with('$') => self.roles.operand(spelling),
            Some(name) => self.by_name.get(name).copied(),
            None => number_of(spelling).filter(|&number| number < self.operands),
        }
    }

    /// Number of a reference with this spelling.
    fn index(&mut self, spelling: &str) -> usize {
        self.operand(spelling).unwrap_or_else(|| self.add_unknown(spelling))
    }

    /// Like [`OperandNames::index`], for a reference that is known.
    fn known(&self, spelling: &str) -> Option<usize> {
        self.operand(spelling).or_else(|| self.unknown.get(spelling).copied())
    }
}

/// The name in `%[name]` or `{name}`.
fn name_of(spelling: &str) -> Option<&str> {
    match spelling.strip_prefix('{') {
        Some(rest) => {
            rest.strip_suffix('}').filter(|it| !it.starts_with(|c: char| c.is_ascii_digit()))
        }
        None => spelling.strip_prefix("%[")?.strip_suffix(']'),
    }
}

/// The number in `%0`, `$0` or `{0}`.
fn number_of(spelling: &str) -> Option<usize> {
    spelling[1..].trim_end_matches('}').parse().ok()
}

/// Finds the parts of a template that are replaced.
fn parts(template: &str, mode: Mode, index: impl FnMut(&str) -> usize) -> Vec<Replacement> {
    match mode {
        Mode::Basic => Vec::new(),
        Mode::Bare | Mode::Full => percents(template, mode, index),
        Mode::Llvm => dollars(template, false, index),
        Mode::Roles(_) => dollars(template, true, index),
        Mode::Braces => braces(template, index),
    }
}

/// The parts of a template of LLVM: `$0`, `${0:x}` and `$$`, and of MLIR: `{$w0}`.
fn dollars(
    template: &str,
    has_roles: bool,
    mut index: impl FnMut(&str) -> usize,
) -> Vec<Replacement> {
    let bytes = template.as_bytes();
    let mut parts = Vec::new();
    let mut at = 0;
    while let Some(n) = memchr::memchr(b'$', &bytes[at..]) {
        let start = at + n;
        if has_roles
            && n > 0
            && let Some((_, _, end)) = role_reference(template, start - 1)
        {
            let kind = ReplacementKind::Reference(index(&template[start - 1..end]));
            parts.push(Replacement { span: Span::new(start as u32 - 1, end as u32), kind });
            at = end;
            continue;
        }
        let digits = digits_end(bytes, start + 1);
        let (kind, end) = match bytes.get(start + 1) {
            Some(b'$') => (ReplacementKind::Itself { twice: true }, start + 2),
            _ if digits > start + 1 => {
                (ReplacementKind::Reference(index(&template[start..digits])), digits)
            }
            Some(b'{') => braced(template, start, &mut index)
                .unwrap_or((ReplacementKind::Itself { twice: false }, start + 1)),
            _ => (ReplacementKind::Itself { twice: false }, start + 1),
        };
        parts.push(Replacement { span: Span::new(start as u32, end as u32), kind });
        at = end;
    }
    parts
}

/// The largest length of `${0:x}`.
const BRACED: usize = 32;

/// The meaning of the `${` here, and its end.
fn braced(
    template: &str,
    start: usize,
    index: &mut impl FnMut(&str) -> usize,
) -> Option<(ReplacementKind, usize)> {
    let bytes = template.as_bytes();
    let near = &bytes[start..bytes.len().min(start + BRACED)];
    let end = start + memchr::memchr(b'}', near)?;
    let inside = &template[start + 2..end];
    let (number, modifier) = inside.split_once(':').unwrap_or((inside, ""));
    let kind = match (number, modifier) {
        ("", "uid") => ReplacementKind::Unique,
        ("", _) => ReplacementKind::Nothing,
        _ if number.bytes().all(|byte| byte.is_ascii_digit()) => {
            ReplacementKind::Reference(index(&format!("${number}")))
        }
        _ => return None,
    };
    Some((kind, end + 1))
}

/// The parts of a template of Rust: `{}`, `{0}`, `{name}`, `{0:x}`, `{{` and `}}`.
fn braces(template: &str, mut index: impl FnMut(&str) -> usize) -> Vec<Replacement> {
    let bytes = template.as_bytes();
    let mut parts = Vec::new();
    let (mut at, mut next) = (0, 0_usize);
    while let Some(n) = memchr::memchr2(b'{', b'}', &bytes[at..]) {
        let start = at + n;
        let itself = ReplacementKind::Itself { twice: false };
        let (kind, end) = if bytes.get(start + 1) == Some(&bytes[start]) {
            (ReplacementKind::Itself { twice: true }, start + 2)
        } else if bytes[start] == b'{'
            && let Some((name, end)) = brace_name(template, start)
        {
            let reference = if name.is_empty() {
                next += 1;
                index(&format!("{{{}}}", next - 1))
            } else {
                index(&format!("{{{name}}}"))
            };
            (ReplacementKind::Reference(reference), end + 1)
        } else {
            (itself, start + 1)
        };
        parts.push(Replacement { span: Span::new(start as u32, end as u32), kind });
        at = end;
    }
    parts
}

/// The name or number in the placeholder that starts here, and the offset of its closing brace.
/// Only a format may follow the name: `{a b}` is no placeholder.
fn brace_name(template: &str, start: usize) -> Option<(&str, usize)> {
    let bytes = template.as_bytes();
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80;
    let inside = |&byte: &u8| is_word(byte) || b": #".contains(&byte);
    let length = bytes[start + 1..].iter().take(256).take_while(|&byte| inside(byte)).count();
    let end = start + 1 + length;
    if bytes.get(end) != Some(&b'}') {
        return None;
    }
    let name = template[start + 1..end].split(':').next().unwrap_or_default().trim();
    name.bytes().all(is_word).then_some((name, end))
}

/// The parts of a template of C: `%0`, `%[name]`, `%%` and so on.
fn percents(template: &str, mode: Mode, mut index: impl FnMut(&str) -> usize) -> Vec<Replacement> {
    let bytes = template.as_bytes();
    let mut parts = Vec::new();
    let mut at = 0;
    while let Some(n) = template[at..].find('%') {
        let start = at + n;
        let digits = digits_end(bytes, start + 1);
        let word = word_end(bytes, start + 2);
        let (kind, end) = match bytes.get(start + 1) {
            Some(b'%') => (ReplacementKind::Itself { twice: true }, start + 2),
            Some(b'=') => (ReplacementKind::Unique, start + 2),
            _ if digits > start + 1 => {
                (ReplacementKind::Reference(index(&template[start..digits])), digits)
            }
            Some(b'[') if word > start + 2 && bytes.get(word) == Some(&b']') => {
                (ReplacementKind::Reference(index(&template[start..=word])), word + 1)
            }
            Some(&byte) if mode == Mode::Full && !byte.is_ascii_alphabetic() && byte != b'[' => {
                let dropped = template[start + 1..].chars().next().map_or(0, char::len_utf8);
                (ReplacementKind::Nothing, start + 1 + dropped)
            }
            _ => (ReplacementKind::Itself { twice: false }, start + 1),
        };
        parts.push(Replacement { span: Span::new(start as u32, end as u32), kind });
        at = end;
    }
    parts
}

fn digits_end(bytes: &[u8], at: usize) -> usize {
    let digits = bytes[at..].iter().position(|byte| !byte.is_ascii_digit());
    digits.map_or(bytes.len(), |n| at + n)
}

/// Replaces the parts of a template. Also returns the start of each part in the text. `None` if
/// a placeholder is missing.
fn fill<'a>(
    template: &Mapped,
    parts: &[Replacement],
    unique: Option<&Unique>,
    placeholder: impl Fn(usize) -> Option<&'a str>,
) -> Option<(Mapped, Vec<u32>)> {
    let mut filled = Mapped::default();
    let mut starts = Vec::with_capacity(parts.len());
    let mut run = 0;
    let mut at = 0;
    let end = Span::at(template.map.len);
    for (span, kind) in parts.iter().map(|part| (part.span, Some(part.kind))).chain([(end, None)]) {
        let plain = Span::new(at, span.start);
        filled.text.push_str(plain.text(&template.text));
        filled.map.extend(&template.map, &mut run, plain);
        at = span.end;
        let Some(kind) = kind else {
            break;
        };
        let start = filled.map.len;
        starts.push(start);
        match kind {
            ReplacementKind::Itself { twice } => {
                let itself = Span::new(span.start, span.start + 1);
                filled.text.push_str(itself.text(&template.text));
                if !twice {
                    filled.map.extend(&template.map, &mut run, span);
                    continue;
                }
            }
            ReplacementKind::Reference(index) => filled.text.push_str(placeholder(index)?),
            ReplacementKind::Unique => filled.text.push_str(&unique?.number),
            ReplacementKind::Nothing => {}
        }
        filled.map.replace(filled.text.len() as u32 - start, template.map.source(span));
    }
    Some((filled, starts))
}

/// The spelling of PTX in a statement.
#[derive(Clone, Debug)]
pub(super) struct Spelling {
    mode: Mode,
    /// Words that have a spelling of their own.
    words: HashMap<String, String>,
    /// `%0` and so on below this number stand for themselves, unless they are in `words`.
    operands: usize,
    /// Whether the sigil of other words is written twice.
    twice: bool,
    unique: Option<Unique>,
}

/// A number that only this statement has.
#[derive(Clone, Debug)]
pub(crate) struct Unique {
    /// The number in the text.
    pub(crate) number: String,
    /// What the template writes for it, such as `%=`.
    pub(crate) spelling: String,
}

impl Unique {
    fn of(template: &str, parts: &[Replacement]) -> Option<Unique> {
        let part = parts.iter().find(|it| it.kind == ReplacementKind::Unique)?;
        // Digits that are nowhere else, so that they can be spelled again.
        let is_number = |it: &&[u8]| it.iter().all(u8::is_ascii_digit);
        let taken: HashSet<&[u8]> = template.as_bytes().windows(7).filter(is_number).collect();
        let mut numbers = (7_654_321_u32..10_000_000).map(|number| number.to_string());
        // If all are taken, the number is in no name, and the `asm` is not read.
        let number = numbers.find(|number| !taken.contains(number.as_bytes())).unwrap_or_default();
        Some(Unique { number, spelling: part.span.text(template).to_owned() })
    }

    /// Whether the number is only in names, where it does not matter which number it is.
    pub(super) fn is_in_names(&self, text: &[u8]) -> bool {
        let mut all = memchr::memmem::find_iter(text, self.number.as_bytes());
        all.all(|at| at > 0 && is_word(text[at - 1]))
    }
}

impl Spelling {
    /// PTX as the template spells it.
    pub(super) fn spell(&self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut at = 0;
        while let Some(n) = text[at..].find(self.mode.sigil()) {
            let start = at + n;
            self.push(&text[at..start], &mut out);
            at = word_end(text.as_bytes(), start + 1);
            let word = &text[start..at];
            if let Some(spelled) = self.words.get(word) {
                out.push_str(spelled);
            } else {
                if self.twice && !self.is_operand(word) {
                    out.push(self.mode.sigil());
                }
                out.push_str(word);
            }
        }
        self.push(&text[at..], &mut out);
        match &self.unique {
            Some(unique) => out.replace(&unique.number, &unique.spelling),
            None => out,
        }
    }

    pub(super) fn unique(&self) -> Option<&Unique> {
        self.unique.as_ref()
    }

    /// Adds text without sigils.
    fn push(&self, text: &str, out: &mut String) {
        if self.mode == Mode::Braces && text.contains(['{', '}']) {
            out.push_str(&text.replace('{', "{{").replace('}', "}}"));
        } else {
            out.push_str(text);
        }
    }

    fn is_operand(&self, word: &str) -> bool {
        let number = &word[1..];
        (number == "0" || !number.starts_with(['0', '+']))
            && number.parse().is_ok_and(|number: usize| number < self.operands)
    }
}

/// A reference that has no operand.
#[derive(Clone, Debug)]
pub(super) struct Unknown {
    /// The reference as the template spells it.
    pub(super) spelling: String,
    pub(super) placeholder: String,
}

/// A template whose `%` were read.
pub(super) struct Expanded<'a> {
    pub(super) names: OperandNames<'a>,
    pub(super) mapped: Mapped,
    /// One placeholder for each operand.
    pub(super) placeholders: Vec<String>,
    pub(super) unknown: Vec<Unknown>,
    /// References without an operand: their number in `unknown` and span in the text.
    pub(super) unknown_at: Vec<(usize, Span)>,
    /// Whether a number would be a part of a word, or of an expression.
    pub(super) joins_number: bool,
    pub(super) spelling: Spelling,
}

/// Reads the `%` of a template with these operands.
pub(super) fn expand<'a>(
    template: Mapped,
    mode: Mode,
    operands: &[AsmOperand<'a>],
) -> Expanded<'a> {
    let sigil = mode.sigil();
    let plain = match mode {
        Mode::Braces => !template.text.contains(['{', '}']),
        _ => !template.text.contains(sigil),
    };
    if operands.is_empty() && plain {
        return Expanded {
            names: OperandNames::new(std::iter::empty(), mode),
            mapped: template,
            placeholders: Vec::new(),
            unknown: Vec::new(),
            unknown_at: Vec::new(),
            joins_number: false,
            spelling: Spelling {
                mode,
                words: HashMap::new(),
                operands: 0,
                twice: matches!(mode, Mode::Llvm | Mode::Roles(_)),
                unique: None,
            },
        };
    }
    let own_names = || operands.iter().map(|it| it.name);
    let mut names = OperandNames::new(own_names(), mode);
    let mut missing = Vec::new();
    let parts = parts(&template.text, mode, |spelling| {
        let index = names.index(spelling);
        if index >= operands.len() + missing.len() {
            missing.push(spelling.to_owned());
        }
        index
    });

    let unique = Unique::of(&template.text, &parts);

    // The spelling of each reference: by its name, if the template uses that name anywhere, or if
    // all operands have names and the template uses no number.
    let is_number = |part: &Replacement| {
        matches!(part.kind, ReplacementKind::Reference(_))
            && name_of(part.span.text(&template.text)).is_none()
    };
    let by_name =
        mode == Mode::Full && own_names().all(|it| it.is_some()) && !parts.iter().any(is_number);
    let positional = |(at, name): (usize, Option<&str>)| match (mode, name) {
        (_, Some(name)) if by_name => format!("%[{name}]"),
        (Mode::Braces, Some(name)) => format!("{{{name}}}"),
        (Mode::Braces, None) => format!("{{{at}}}"),
        _ => format!("{sigil}{at}"),
    };
    let mut spellings: Vec<String> = own_names().enumerate().map(positional).collect();
    spellings.append(&mut missing);
    if matches!(mode, Mode::Full | Mode::Roles(_)) {
        for part in &parts {
            if let ReplacementKind::Reference(index) = part.kind {
                let spelling = part.span.text(&template.text);
                if name_of(spelling).is_some() {
                    spelling.clone_into(&mut spellings[index]);
                }
            }
        }
    }
    let mut placeholders: Vec<String> = spellings
        .iter()
        .enumerate()
        .map(|(at, spelling)| match name_of(spelling) {
            // PTX has ASCII names only.
            _ if !spelling.is_ascii() => format!("%{at}"),
            Some(_) if at < operands.len() && sigil == '$' => format!("${at}"),
            Some(name) if sigil == '$' => name.to_owned(),
            Some(name) => format!("%{name}"),
            None if mode == Mode::Braces => format!("%{}", spelling.trim_matches(['{', '}'])),
            None => spelling.clone(),
        })
        .collect();
    let place = |placeholders: &[String]| {
        fill(&template, &parts, unique.as_ref(), |index| {
            placeholders.get(index).map(String::as_str)
        })
        .expect("each reference has a placeholder")
    };
    let (mut mapped, mut starts) = place(&placeholders);
    if make_unique(&mut placeholders, &taken(&mapped.text, mode, &parts, &starts)) {
        (mapped, starts) = place(&placeholders);
    }

    let has_numbers = operands.iter().any(AsmOperand::is_number) || unique.is_some();
    let code = if has_numbers { without_comments(&mapped.text) } else { Vec::new() };
    let (mut unknown_at, mut joins_number) =
        (Vec::new(), unique.as_ref().is_some_and(|it| !it.is_in_names(&code)));
    // References come in order, so each bracket is read once.
    let (mut read, mut is_open) = (0, false);
    let mut is_address = |span: Span| {
        let brackets = code[read..span.start as usize].iter().rfind(|it| b"[];".contains(it));
        is_open = brackets.map_or(is_open, |&last| last == b'[');
        read = span.start as usize;
        is_open
    };
    let twice = matches!(mode, Mode::Full | Mode::Llvm | Mode::Roles(_))
        || mode == Mode::Bare
            && parts.iter().any(|part| part.kind == ReplacementKind::Itself { twice: true });
    let mut words = HashMap::new();
    for (part, &start) in parts.iter().zip(&starts) {
        let end = word_end(mapped.text.as_bytes(), start as usize + 1);
        match part.kind {
            ReplacementKind::Itself { twice: false } if mode != Mode::Braces => {
                let word = &mapped.text[start as usize..end];
                words.insert(word.to_owned(), word.to_owned());
            }
            ReplacementKind::Reference(index) => {
                let span = Span::new(start, start + placeholders[index].len() as u32);
                if index >= operands.len() {
                    unknown_at.push((index - operands.len(), span));
                } else if operands[index].is_number() {
                    joins_number |= is_in_word(&code, span)
                        || is_in_expression(&code, span) && !is_address(span);
                }
                // A word that continues after the reference.
                let rest = &mapped.text[span.end as usize..end];
                if !rest.is_empty() {
                    let word = mapped.text[start as usize..end].to_owned();
                    words.insert(word, format!("{}{rest}", spellings[index]));
                }
            }
            _ => {}
        }
    }
    for (index, (placeholder, spelling)) in placeholders.iter().zip(&spellings).enumerate() {
        if index < operands.len() {
            if placeholder == spelling {
                continue;
            }
            if mode != Mode::Braces {
                let word = format!("{sigil}{index}");
                words.entry(word).or_insert_with(|| format!("{sigil}{sigil}{index}"));
            }
        }
        words.insert(placeholder.clone(), spelling.clone());
    }
    let unknown = spellings
        .into_iter()
        .zip(placeholders.iter().cloned())
        .skip(operands.len())
        .map(|(spelling, placeholder)| Unknown { spelling, placeholder })
        .collect();
    placeholders.truncate(operands.len());
    let spelling = Spelling { mode, words, operands: operands.len(), twice, unique };
    Expanded { names, mapped, placeholders, unknown, unknown_at, joins_number, spelling }
}

/// The bytes of a text, with blanks in the place of comments.
fn without_comments(text: &str) -> Vec<u8> {
    let mut code = text.as_bytes().to_vec();
    for comment in comments(text) {
        code[comment.range()].fill(b' ');
    }
    code
}

/// Whether a number in this place would be a part of a word.
fn is_in_word(code: &[u8], span: Span) -> bool {
    let (before, after) = code.split_at(span.start as usize);
    let before = before.last().is_some_and(|&byte| is_word(byte) || matches!(byte, b'.' | b'%'));
    before || after.get(span.len() as usize).is_some_and(|&byte| is_word(byte))
}

/// Whether a number in this place would be a part of an expression, or the length of a range. A
/// number with a sign is none.
fn is_in_expression(code: &[u8], span: Span) -> bool {
    let (before, after) = code.split_at(span.start as usize);
    let (before, after) =
        (before.trim_ascii_end(), after[span.len() as usize..].trim_ascii_start());
    let is_operator = |byte: &u8| b"+*/&|^?:=<>%".contains(byte);
    let is_subtracted = match before {
        [left @ .., b'-'] => {
            left.trim_ascii_end().last().is_some_and(|&byte| is_word(byte) || byte == b')')
        }
        _ => false,
    };
    is_subtracted
        || before.last().is_some_and(|byte| is_operator(byte) || *byte == b'~')
        || after.first().is_some_and(|byte| is_operator(byte) || matches!(byte, b'-' | b'!'))
}

/// Words of the text that start with the sigil and are no placeholder.
fn taken<'t>(text: &'t str, mode: Mode, parts: &[Replacement], starts: &[u32]) -> HashSet<&'t str> {
    let word = |start: usize| &text[start..word_end(text.as_bytes(), start + 1)];
    let parts = parts.iter().zip(starts);
    if mode == Mode::Braces {
        let placed: HashSet<u32> = parts
            .filter(|(part, _)| matches!(part.kind, ReplacementKind::Reference(_)))
            .map(|(_, &start)| start)
            .collect();
        let percents = memchr::memchr_iter(b'%', text.as_bytes());
        return percents.filter(|&at| !placed.contains(&(at as u32))).map(word).collect();
    }
    let itself = parts.filter(|(part, _)| matches!(part.kind, ReplacementKind::Itself { .. }));
    itself.map(|(_, &start)| word(start as usize)).collect()
}

/// Makes placeholders differ from each other, from taken words and from special registers.
/// Returns whether any changed.
fn make_unique(placeholders: &mut [String], taken: &HashSet<&str>) -> bool {
    let mut changed = false;
    let mut used = HashSet::with_capacity(placeholders.len());
    for placeholder in placeholders {
        while taken.contains(placeholder.as_str())
            || used.contains(placeholder)
            || is_special_register(placeholder)
        {
            placeholder.push('$');
            changed = true;
        }
        used.insert(placeholder.clone());
    }
    changed
}

/// The text of a template with the placeholders of another one. `None` if the template refers to
/// others.
pub(super) fn refill<'a>(
    template: &Mapped,
    spelling: &Spelling,
    names: &OperandNames<'_>,
    placeholder: impl Fn(usize) -> Option<&'a str>,
) -> Option<String> {
    let nothing = usize::MAX;
    let index = |spelling: &str| names.known(spelling).unwrap_or(nothing);
    let parts = parts(&template.text, spelling.mode, index);
    let (filled, _) = fill(template, &parts, spelling.unique(), placeholder)?;
    Some(filled.text)
}
