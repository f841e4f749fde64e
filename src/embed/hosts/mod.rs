//! Finds inline PTX in Python, Mojo, Rust, Julia and Zig.
//!
//! The lexer knows enough of each language to separate code from comments and strings, and
//! reads the arguments of the few calls that take PTX. As in C, an attempt to read a call ends
//! at the name of the next call at the latest, so all work is linear.

mod julia;
mod mojo;
mod python;
mod rust;
mod zig;

use super::constants::Constants;
use super::scan::{Form, Literal, SkipReason, Skipped};
use super::template::{Roles, decode};
use super::{AsmOperand, Convention};
use crate::hash::Set;
use crate::source::Span;
use crate::syntax::lexer::table;

/// The language around PTX.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Host {
    /// C, C++, CUDA, `OpenCL`.
    C,
    /// Python.
    Python,
    /// Mojo.
    Mojo,
    /// Rust.
    Rust,
    /// Julia.
    Julia,
    /// Zig.
    Zig,
    /// Jupyter notebooks, whose code cells have a language of their own. Only a
    /// [check](crate::analysis::check) reads them.
    Notebook,
}

/// Whether a byte may belong to a name. Bytes beyond ASCII may be letters.
pub(super) const fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

/// String literals that make one text.
#[derive(Clone, Debug, Default)]
pub(super) struct Run {
    pub(super) literals: Vec<Literal>,
    /// Whether the program computes the text, so that the literals alone do not give it.
    pub(super) computed: bool,
}

/// An argument of a call.
#[derive(Debug)]
struct Argument<'s> {
    name: Option<&'s str>,
    /// The literals, if the argument consists of them; else empty.
    run: Run,
    span: Span,
}

impl Argument<'_> {
    fn is_text(&self) -> bool {
        !self.run.literals.is_empty() && !self.run.computed
    }
}

/// A call that takes PTX.
struct Call {
    name: &'static str,
    open: u8,
    /// The argument that is the text: the position and the names of that argument.
    text: (usize, &'static [&'static str]),
    operands: Declared,
}

/// How a call declares the operands of its text.
#[derive(Clone, Copy, Debug)]
enum Declared {
    /// By a string of constraints: the position and the names of that argument.
    Constraints(usize, &'static [&'static str]),
    /// By lists, as in MLIR, or by pairs such as `("=r", x)`.
    Lists,
    /// By the operands of Rust's `asm!`.
    Rust(Convention),
    /// By the parts between colons, as in Zig.
    Zig,
    /// By the `asm` expressions in the text, which is LLVM IR.
    Inside,
}

/// The names of the lists of operands, in the order in which the operands are numbered, each with
/// the start of its constraints.
const LISTS: [(&[&str], &str); 3] = [
    (&["read_write_args"], "+"),
    (&["write_only_types", "write_only_args"], "="),
    (&["read_only_args"], ""),
];

/// The largest number of aliases of calls in a source.
const ALIASES: usize = 16;

/// The position of an argument that is passed only by name.
const NAMED: usize = usize::MAX;

/// What strings, comments and calls of a language look like.
// Each flag is a difference between languages.
#[allow(clippy::struct_excessive_bools)]
struct Syntax {
    /// The calls that take PTX.
    calls: &'static [Call],
    /// What starts a comment that ends with the line.
    comment: &'static [u8],
    /// What starts and ends a comment that may have other comments inside.
    nested_comment: Option<[&'static [u8; 2]; 2]>,
    /// A character that may start the name of a call.
    sigil: Option<u8>,
    /// Whether calls are macros, with `!` after their names and any kind of bracket.
    has_macros: bool,
    /// Words before a name that declare a constant.
    declaring: &'static [&'static str],
    /// The start of the string whose quote is here. The start includes the prefix, which lies after
    /// the given offset. `None` if the quote opens no string; if it opens a character, the lexer
    /// moves over it.
    quote: fn(&mut Lexer<'_>, usize) -> Option<usize>,
    /// The largest length of a prefix, in bytes.
    longest_prefix: usize,
    /// The form of a string with a given prefix.
    form: fn(&[u8]) -> StringForm,
    has_triple_quotes: bool,
    /// Whether a string between single quote characters may have several lines.
    has_long_strings: bool,
    /// What starts a string that ends with the line. Such strings on consecutive lines make one
    /// text.
    line_string: Option<&'static [u8; 2]>,
    /// Whether the program computes a part of a string with this body.
    is_computed: fn(Form, &[u8]) -> bool,
    literals: Literals,
    /// Whether constants of the source are looked up. If so, a string that stands alone as a
    /// statement is a comment.
    has_constants: bool,
    /// Whether something before or after a string computes with it.
    computes: fn(&[u8], &[u8]) -> bool,
    /// Operators that join more to a string.
    joins: &'static [u8],
    /// Whether strings have CUDA sources in parts, such as the body of a function.
    has_parts_of_cuda: bool,
}

/// What the prefix of a string says about it.
struct StringForm {
    form: Form,
    /// Whether the program computes its text, as in an f-string.
    is_computed: bool,
    /// Whether a backslash keeps a quote from ending the string.
    has_escapes: bool,
}

/// How several strings make one text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Literals {
    /// They do not.
    Alone,
    /// They follow each other, or have `+` between them.
    Adjacent,
    /// They are arguments, each a line.
    Lines,
}

/// What most languages have. Also for languages with another reader: C, and the cells of notebooks.
const OTHER: Syntax = Syntax {
    calls: &[],
    quote: |_, _| None,
    has_constants: false,
    computes: |_, _| false,
    ..python::PYTHON
};

fn syntax(host: Host) -> &'static Syntax {
    match host {
        Host::C | Host::Notebook => &OTHER,
        Host::Python => &python::PYTHON,
        Host::Mojo => &mojo::MOJO,
        Host::Rust => &rust::RUST,
        Host::Julia => &julia::JULIA,
        Host::Zig => &zig::ZIG,
    }
}

/// Whether an operator joins more to a string.
pub(super) fn joins(host: Host, operator: u8) -> bool {
    syntax(host).joins.contains(&operator)
}

/// Whether strings of a language have CUDA sources in parts, such as the body of a function.
pub(super) fn has_parts_of_cuda(host: Host) -> bool {
    syntax(host).has_parts_of_cuda
}

/// The constraints of a call.
#[derive(Clone, Debug)]
pub(super) enum Constraints<'s> {
    /// A string of LLVM.
    Literals(Vec<Literal>),
    /// The constraints are missing, or computed.
    Unknown,
    Operands(Vec<AsmOperand<'s>>),
    /// Operands in the order of their roles.
    Roles(Roles, Vec<AsmOperand<'s>>),
}

/// Something with PTX inside.
#[derive(Clone, Debug)]
pub(super) enum Found<'s> {
    /// A call that takes PTX.
    Call { span: Span, text: Vec<Literal>, constraints: Constraints<'s>, convention: Convention },
    /// A call that takes LLVM IR.
    Llvm(Vec<Literal>),
    /// A text of string literals that is no argument of a known call.
    Text(Run),
}

/// A place in a source.
pub(super) struct Lexer<'s> {
    host: Host,
    syntax: &'static Syntax,
    source: &'s str,
    bytes: &'s [u8],
    pub(super) pos: usize,
    /// Number of open brackets.
    depth: usize,
    /// The calls that were not read.
    pub(super) skipped: Vec<Skipped>,
    /// Other names of calls: `import inline_asm as ptx`.
    aliases: Vec<(&'s [u8], &'static Call)>,
    /// See [`STOPS`].
    stops: [bool; 256],
    /// The constants of the source, once they are needed.
    constants: Option<Constants<'s>>,
    /// The constants that were read as PTX, by the start of their last literal.
    read: Set<u32>,
}

/// The places where [`Lexer::seek`] stops.
enum Stop {
    /// At the quote of a string whose prefix starts at this offset.
    Quote(usize),
    /// After an opening bracket.
    Open,
    /// At a closing bracket.
    Close,
    /// At a comma.
    Comma,
    /// After the name of a call that takes PTX.
    Name(usize, &'static Call),
}

/// Bytes at which the lexer stops. Of the letters of the names, `m` and `x` are the rarest.
const STOPS: [bool; 256] = table(b"\"'`#/()[]{},mx");

impl<'s> Lexer<'s> {
    pub(super) fn new(source: &'s str, host: Host) -> Lexer<'s> {
        let syntax = syntax(host);
        let mut stops = STOPS;
        stops[usize::from(b'\\')] = syntax.line_string.is_some();
        Lexer {
            host,
            syntax,
            source,
            bytes: source.as_bytes(),
            pos: 0,
            depth: 0,
            skipped: Vec::new(),
            aliases: Vec::new(),
            stops,
            constants: None,
            read: Set::default(),
        }
    }

    pub(super) fn peek(&self) -> Option<u8> {
        self.bytes.get(self.pos).copied()
    }

    fn rest(&self) -> &'s [u8] {
        &self.bytes[self.pos.min(self.bytes.len())..]
    }

    /// Moves to the next place that has a meaning in code.
    fn seek(&mut self) -> Option<Stop> {
        // No prefix of a string starts before this offset.
        let mut floor = self.pos;
        loop {
            let next = self.rest().iter().position(|&byte| self.stops[usize::from(byte)]);
            self.pos += next?;
            let at = self.pos;
            match self.bytes[at] {
                b'(' | b'[' | b'{' => {
                    self.pos += 1;
                    self.depth += 1;
                    return Some(Stop::Open);
                }
                b')' | b']' | b'}' => return Some(Stop::Close),
                b',' => return Some(Stop::Comma),
                byte if is_name(byte) => {
                    if let Some(stop) = self.name(floor, at) {
                        return Some(stop);
                    }
                }
                b'#' | b'/' => {
                    if self.comment() {
                        floor = self.pos;
                    } else {
                        self.pos += 1;
                    }
                }
                _ => {
                    if let Some(start) = self.quote(floor) {
                        return Some(Stop::Quote(start));
                    }
                    self.pos += 1;
                    floor = self.pos;
                }
            }
        }
    }

    /// The call whose name contains the letter at `at`. Moves to after the name.
    fn name(&mut self, floor: usize, at: usize) -> Option<Stop> {
        let start = at - self.word_before(floor, at, 64).len();
        self.pos = at + self.bytes[at..].iter().take_while(|&&byte| is_name(byte)).count();
        let mut word = &self.source.as_bytes()[start..self.pos];
        let mut start = start;
        if start > floor && self.syntax.sigil == Some(self.bytes[start - 1]) {
            start -= 1;
            word = &self.bytes[start..self.pos];
        }
        let named = self.syntax.calls.iter().find(|call| call.name.as_bytes() == word);
        let call = named.or_else(|| {
            self.aliases.iter().find(|(alias, _)| *alias == word).map(|&(_, call)| call)
        })?;
        if let Some(alias) =
            self.alias().filter(|_| named.is_some() && self.aliases.len() < ALIASES)
        {
            self.stops[usize::from(alias[alias.len() - 1])] = true;
            self.aliases.push((alias, call));
            return None;
        }
        if self.syntax.has_macros {
            if self.peek() != Some(b'!') {
                return None;
            }
            self.pos += 1;
        }
        Some(Stop::Name(start, call))
    }

    /// The alias that an `import` or a `use` gives to the name that ends here.
    fn alias(&self) -> Option<&'s [u8]> {
        let blank = |&byte: &u8| matches!(byte, b' ' | b'\t');
        let word = |rest: &'s [u8]| {
            let start = rest.iter().take_while(|&byte| blank(byte)).count();
            let rest = &rest[start..];
            let length = rest.iter().take(64).take_while(|&&byte| is_name(byte)).count();
            rest.split_at(length)
        };
        let (keyword, rest) = word(self.rest());
        let (alias, _) = word(rest);
        (keyword == b"as" && !alias.is_empty()).then_some(alias)
    }

    /// Reads the word here; empty if there is none.
    pub(super) fn word(&mut self) -> &'s str {
        let start = self.pos;
        self.pos += self.rest().iter().take_while(|&&byte| is_name(byte)).count();
        &self.source[start..self.pos]
    }

    /// Skips the string or the comment of `#` that starts here. No prefix of a string starts before
    /// `floor`.
    fn skip_string_or_comment(&mut self, floor: &mut usize) -> bool {
        match self.bytes[self.pos] {
            b'"' | b'\'' => {
                if let Some(start) = self.quote(*floor) {
                    self.literal(start);
                }
                *floor = self.pos;
            }
            b'#' => _ = self.comment(),
            _ => return false,
        }
        true
    }

    /// Moves to after the line, and after the lines that brackets and backslashes join to it.
    pub(super) fn logical_line(&mut self) {
        const STOPS: [bool; 256] = table(b"\"'#()[]{}\\\n");
        let (mut depth, mut floor) = (0_usize, self.pos);
        while let Some(n) = self.rest().iter().position(|&byte| STOPS[usize::from(byte)]) {
            self.pos += n;
            if self.skip_string_or_comment(&mut floor) {
                continue;
            }
            match self.bytes[self.pos] {
                b'(' | b'[' | b'{' => depth += 1,
                b')' | b']' | b'}' => depth = depth.saturating_sub(1),
                b'\\' => self.pos += 1,
                b'\n' if depth == 0 => {
                    self.pos += 1;
                    return;
                }
                _ => {}
            }
            self.pos = (self.pos + 1).min(self.bytes.len());
        }
        self.pos = self.bytes.len();
    }

    /// The names that the code up to an offset may bind: by `=` outside of brackets, by `:=`, and
    /// by `lambda` and `for` inside of an expression.
    pub(super) fn bound(&mut self, end: usize) -> Vec<&'s str> {
        let (mut depth, mut floor) = (0_usize, self.pos);
        // The names since the last separator outside of brackets, and in an expression.
        let (mut targets, mut last, mut bound) = (Vec::new(), "", Vec::new());
        // The depth outside of an index or the arguments of a call: `d[P] = 1` binds no name.
        let mut outside = None;
        // A literal that the code leaves open ends where the code ends.
        let (source, bytes) = (self.source, self.bytes);
        (self.source, self.bytes) = (&source[..end], &bytes[..end]);
        while self.pos < end {
            let next = self.bytes.get(self.pos + 1).copied();
            if self.skip_string_or_comment(&mut floor) {
                continue;
            }
            match self.bytes[self.pos] {
                b'(' | b'[' | b'{' => {
                    let before = self.bytes[..self.pos].last();
                    if before.is_some_and(|&byte| is_name(byte) || b")]".contains(&byte)) {
                        outside = outside.or(Some(depth));
                    }
                    depth += 1;
                }
                b')' | b']' | b'}' => {
                    depth = depth.saturating_sub(1);
                    outside = outside.filter(|&outside| outside < depth);
                }
                b':' if next == Some(b'=') => {
                    bound.push(last);
                    self.pos += 1;
                }
                b'=' | b'!' | b'<' | b'>' if next == Some(b'=') => self.pos += 1,
                b'=' if depth == 0 => bound.append(&mut targets),
                b';' | b':' if depth == 0 => targets.clear(),
                // The character after a backslash may have several bytes.
                b'\\' if next.is_some_and(|next| next.is_ascii()) => self.pos += 1,
                byte if is_name(byte) => {
                    let word = self.word();
                    if !matches!(word, "lambda" | "for") {
                        last = word;
                        if outside.is_none() {
                            targets.push(word);
                        }
                        continue;
                    }
                    // Names are bound up to the `:` of a `lambda` or the `in` of a `for`, except in
                    // strings and defaults.
                    let mut is_default = false;
                    while self.pos < end && self.bytes[self.pos] != b':' {
                        if self.skip_string_or_comment(&mut floor) {
                            continue;
                        }
                        match self.word() {
                            "" => {
                                match self.bytes[self.pos] {
                                    b'=' => is_default = true,
                                    b',' => is_default = false,
                                    _ => {}
                                }
                                self.pos += 1;
                            }
                            "in" => break,
                            name if !is_default => bound.push(name),
                            _ => {}
                        }
                    }
                    continue;
                }
                _ => {}
            }
            self.pos += 1;
        }
        (self.source, self.bytes) = (source, bytes);
        bound
    }

    /// Skips the comment that starts here.
    fn comment(&mut self) -> bool {
        let rest = self.rest();
        if let Some([open, close]) = self.syntax.nested_comment
            && rest.starts_with(open)
        {
            let mut depth = 1_usize;
            self.pos += 2;
            while depth > 0 {
                let rest = self.rest();
                let Some(n) = memchr::memchr2(open[0], close[0], rest) else {
                    self.pos = self.bytes.len();
                    return true;
                };
                if rest[n..].starts_with(open) {
                    depth += 1;
                    self.pos += n + 2;
                } else if rest[n..].starts_with(close) {
                    depth -= 1;
                    self.pos += n + 2;
                } else {
                    self.pos += n + 1;
                }
            }
            return true;
        }
        let is_comment = rest.starts_with(self.syntax.comment);
        if is_comment {
            self.pos += memchr::memchr(b'\n', rest).unwrap_or(rest.len());
        }
        is_comment
    }

    /// The part after `floor` of the word that ends at `at`; only its last `most` bytes if it is
    /// longer.
    fn word_before(&self, floor: usize, at: usize, most: usize) -> &'s [u8] {
        let before = &self.bytes[floor..at];
        let length = before.iter().rev().take(most).take_while(|&&byte| is_name(byte)).count();
        &before[before.len() - length..]
    }

    /// Whether a string that ends with the line starts here.
    fn is_line_string(&self) -> bool {
        self.syntax.line_string.is_some_and(|it| self.rest().starts_with(it))
    }

    fn quote(&mut self, floor: usize) -> Option<usize> {
        (self.syntax.quote)(self, floor)
    }

    /// The length of the character whose first quote is here, without its last quote; 0 if the
    /// quote starts a lifetime or is an operator.
    fn character(&self, most: usize) -> usize {
        let rest = self.rest();
        if rest.get(1) == Some(&b'\\') {
            let near = &rest[3.min(rest.len())..rest.len().min(3 + most)];
            return memchr::memchr(b'\'', near).map_or(0, |n| n + 3);
        }
        let length = self.source[self.pos + 1..].chars().next().map_or(0, char::len_utf8);
        if rest.get(length + 1) == Some(&b'\'') { length + 1 } else { 0 }
    }

    /// Reads the string whose prefix starts at `start`, and moves to its end. The run has no
    /// literals if the string is cut off.
    fn literal(&mut self, start: usize) -> Run {
        self.pos = start;
        if self.is_line_string() {
            let rest = self.rest();
            self.pos += memchr::memchr(b'\n', rest).unwrap_or(rest.len());
            let end = self.pos - usize::from(self.bytes[..self.pos].ends_with(b"\r"));
            let literal = Literal::new(start, start + 2..end, end, Form::Raw);
            return Run { literals: vec![literal], computed: false };
        }
        let quote = start
            + self.bytes[start..]
                .iter()
                .position(|&byte| byte == b'"' || byte == b'\'')
                .unwrap_or_default();
        let prefix = &self.bytes[start..quote];
        let StringForm { form, is_computed, has_escapes } = (self.syntax.form)(prefix);
        let hashes = memchr::memchr_iter(b'#', prefix).count();
        let byte = self.bytes[quote];
        let triple = self.syntax.has_triple_quotes && self.bytes[quote..].starts_with(&[byte; 3]);
        let length = if triple { 3 } else { 1 };
        let body = quote + length;
        let mut at = body;
        let lines = triple || self.syntax.has_long_strings;
        loop {
            let rest = &self.bytes[at.min(self.bytes.len())..];
            let Some(n) = memchr::memchr3(byte, b'\\', b'\n', rest) else {
                self.pos = self.bytes.len();
                return Run { literals: Vec::new(), computed: true };
            };
            at += n;
            match self.bytes[at] {
                b'\\' if has_escapes => {
                    let crlf = self.bytes[at + 1..].starts_with(b"\r\n");
                    at += if crlf { 3 } else { 2 };
                }
                b'\n' if !lines => {
                    self.pos = at;
                    return Run { literals: Vec::new(), computed: true };
                }
                found if found == byte => {
                    let after = &self.bytes[at + 1..];
                    let closes = if triple {
                        after.starts_with(&[byte; 2])
                    } else {
                        after.len() >= hashes && after[..hashes].iter().all(|&b| b == b'#')
                    };
                    if closes {
                        break;
                    }
                    at += 1;
                }
                _ => at += 1,
            }
        }
        let end = at + length + hashes;
        self.pos = end;
        let literal = Literal::new(start, body..at, end, form);
        let computed = is_computed || (self.syntax.is_computed)(form, &self.bytes[body..at]);
        Run { literals: vec![literal], computed }
    }

    /// Skips white space, comments and joined lines, and line breaks if `lines` is set.
    pub(super) fn trivia(&mut self, lines: bool) {
        while let Some(byte) = self.peek() {
            match byte {
                b' ' | b'\t' | b'\r' | b'\x0c' => self.pos += 1,
                b'\n' if lines => self.pos += 1,
                b'\\' if self.bytes[self.pos + 1..].starts_with(b"\n") => self.pos += 2,
                b'\\' if self.bytes[self.pos + 1..].starts_with(b"\r\n") => self.pos += 3,
                b'#' | b'/' if self.comment() => {}
                _ => return,
            }
        }
    }

    /// The start of the string here.
    pub(super) fn string_here(&mut self) -> Option<usize> {
        let start = self.pos;
        let most = self.syntax.longest_prefix;
        let prefix = |&byte: &u8| is_name(byte) || byte == b'#';
        let length = self.rest().iter().take(most).take_while(|&byte| prefix(byte)).count();
        let quote = start + length;
        if !matches!(self.bytes.get(quote), Some(b'"' | b'\'' | b'\\')) {
            return None;
        }
        self.pos = quote;
        let found = self.quote(start);
        self.pos = start;
        found.filter(|&found| found == start)
    }

    /// Reads the strings that follow each other from here on.
    pub(super) fn run(&mut self, lines: bool) -> Run {
        let mut all = Run::default();
        while let Some(start) = self.string_here() {
            let is_line = self.is_line_string();
            let Run { mut literals, computed } = self.literal(start);
            all.computed |= computed || literals.is_empty();
            for literal in &mut literals {
                literal.joined_by_line = is_line && !all.literals.is_empty();
            }
            all.literals.append(&mut literals);
            if self.syntax.literals != Literals::Adjacent && !is_line {
                break;
            }
            let end = self.pos;
            self.trivia(lines || is_line);
            if self.string_here().is_none() || self.is_line_string() != is_line {
                self.pos = end;
                break;
            }
        }
        all
    }

    /// Reads arguments up to the closing bracket, and moves to after it.
    fn arguments(&mut self) -> Option<Vec<Argument<'s>>> {
        let mut all = Vec::new();
        loop {
            self.trivia(true);
            if matches!(self.peek()?, b')' | b']' | b'}') {
                self.pos += 1;
                return Some(all);
            }
            let start = self.pos;
            let word = self.rest().iter().take_while(|&&byte| is_name(byte)).count();
            let mut name = None;
            if word > 0 {
                self.pos += word;
                self.trivia(true);
                let is_name = self.peek() == Some(b'=')
                    && !matches!(self.bytes.get(self.pos + 1), Some(b'=' | b'>'));
                if is_name {
                    name = Some(&self.source[start..start + word]);
                    self.pos += 1;
                    self.trivia(true);
                } else {
                    self.pos = start;
                }
            }
            let value = self.pos;
            let run = self.value().unwrap_or_default();
            if run.literals.is_empty() {
                self.pos = value;
                self.skip_value()?;
            }
            let span = Span::new(value as u32, self.pos as u32);
            all.push(Argument { name, run, span });
            if self.peek() == Some(b',') {
                self.pos += 1;
            }
        }
    }

    /// Reads an argument that is a text and nothing else, perhaps in parentheses.
    fn value(&mut self) -> Option<Run> {
        let mut open = 0_usize;
        while self.peek() == Some(b'(') && open < 8 {
            open += 1;
            self.pos += 1;
            self.trivia(true);
        }
        self.string_here()?;
        let run = self.run(true);
        self.trivia(true);
        for _ in 0..open {
            if self.peek() != Some(b')') {
                return None;
            }
            self.pos += 1;
            self.trivia(true);
        }
        matches!(self.peek()?, b',' | b')' | b']' | b'}').then_some(run)
    }

    /// Skips to the comma or bracket that ends an argument.
    fn skip_value(&mut self) -> Option<()> {
        let mut open = 0_usize;
        loop {
            match self.seek()? {
                Stop::Name(..) => return None,
                Stop::Quote(start) => _ = self.literal(start),
                Stop::Open => open += 1,
                Stop::Close | Stop::Comma if open == 0 => return Some(()),
                Stop::Close => {
                    open -= 1;
                    self.pos += 1;
                }
                Stop::Comma => self.pos += 1,
            }
        }
    }

    /// Whether a word declares the name after it.
    pub(super) fn declares(&self, word: &str) -> bool {
        self.syntax.declaring.contains(&word)
    }

    /// Whether the name that starts here is declared, not called.
    fn is_declared(&self, start: usize) -> bool {
        let before = self.bytes[..start].trim_ascii_end();
        let words: [&[u8]; 4] = [b"def", b"fn", b"macro", b"function"];
        before.len() < start
            && words.iter().any(|word| {
                before
                    .strip_suffix(*word)
                    .is_some_and(|rest| !rest.last().is_some_and(|&byte| is_name(byte)))
            })
    }

    /// Reads the call whose name ends here. Moves to after its opening bracket at least.
    fn call(&mut self, start: usize, call: &'static Call) -> Option<Found<'s>> {
        if self.is_declared(start) {
            return None;
        }
        if matches!(call.operands, Declared::Zig) {
            return self.zig_asm(start);
        }
        self.trivia(self.syntax.has_macros);
        // A macro may be called without parentheses.
        let spaced = self.syntax.sigil.is_some_and(|it| call.name.as_bytes()[0] == it);
        let arguments = match self.peek()? {
            open if open == call.open || self.syntax.has_macros && b"[{".contains(&open) => {
                self.pos += 1;
                let after = self.pos;
                let depth = self.depth;
                let arguments = self.arguments();
                self.depth = depth;
                if arguments.is_none() {
                    self.pos = after;
                    self.depth += 1;
                    self.skip(start, SkipReason::Malformed);
                }
                arguments?
            }
            b'"' | b'r' if spaced => self.spaced(),
            _ => return None,
        };
        if let Declared::Rust(convention) = call.operands {
            return self.rust_call(start, arguments, convention);
        }
        let at = |(position, names): (usize, &[&str])| {
            let named =
                arguments.iter().position(|it| it.name.is_some_and(|it| names.contains(&it)));
            named.or((position < arguments.len() && arguments[position].name.is_none())
                .then_some(position))
        };
        let text = at(call.text)?;
        if matches!(call.operands, Declared::Inside) {
            let argument = &arguments[text];
            // A whole module of LLVM IR stands beside the name of a function.
            let module = || self.elements(argument.span)?.into_iter().next().map(|it| it.run);
            let Run { literals, computed } =
                Some(argument.run.clone()).filter(|it| !it.literals.is_empty()).or_else(module)?;
            if computed {
                let has_asm = |it: &Literal| it.body.text(self.source).contains("asm");
                if literals.iter().any(has_asm) {
                    self.skip(start, SkipReason::Computed);
                }
                return None;
            }
            return (!literals.is_empty()).then_some(Found::Llvm(literals));
        }
        let mut span = Span::new(start as u32, self.pos as u32);
        let mut literals = arguments[text].run.literals.clone();
        if !arguments[text].is_text() {
            let Some(found) = self.constant(arguments[text].span) else {
                self.skip(start, SkipReason::Computed);
                return None;
            };
            let (first, last) = (found[0].span, found[found.len() - 1].span);
            if !first.is_in(&[span]) || !last.is_in(&[span]) {
                // The first call that uses the constant declares the operands.
                if !self.read.insert(last.start) {
                    return None;
                }
                span = first.to(last);
            }
            literals = found;
        }
        let (constraints, convention) = match call.operands {
            Declared::Constraints(position, names) => {
                let found = at((position, names)).filter(|&at| arguments[at].is_text());
                let constraints = found.map_or(Constraints::Unknown, |at| {
                    Constraints::Literals(arguments[at].run.literals.clone())
                });
                (constraints, Convention::Llvm)
            }
            _ => self.lists(&arguments, text, &literals),
        };
        Some(Found::Call { span, text: literals, constraints, convention })
    }

    /// The literals of an argument that names constants, or joins literals.
    fn constant(&mut self, argument: Span) -> Option<Vec<Literal>> {
        if !self.syntax.has_constants {
            return None;
        }
        let (source, host) = (self.source, self.host);
        self.constants.get_or_insert_with(|| Constants::new(source, host)).text(argument)
    }

    /// The operands of a call that has them in lists or pairs.
    fn lists(
        &self,
        arguments: &[Argument<'s>],
        text: usize,
        literals: &[Literal],
    ) -> (Constraints<'s>, Convention) {
        let operand = |constraint: String, span: Span| {
            let output = constraint.starts_with(['=', '+']);
            AsmOperand::new(None, constraint, span, output)
        };
        let others = || arguments.iter().enumerate().filter(|&(at, _)| at != text);
        let pair = |argument: &Argument<'s>| {
            let elements = self.elements(argument.span)?;
            let first = elements.into_iter().next().filter(Argument::is_text)?;
            let constraint = decode(self.source, &first.run.literals).text;
            Some(operand(constraint, first.span))
        };
        let pairs: Vec<_> =
            others().filter(|(_, it)| it.name.is_none()).map_while(|(_, it)| pair(it)).collect();
        if !pairs.is_empty() {
            return (Constraints::Operands(pairs), Convention::C);
        }
        let mut operands = Vec::new();
        let counts = LISTS.map(|(names, constraint)| {
            let named = |it: &&Argument<'s>| it.name.is_some_and(|it| names.contains(&it));
            let Some(list) = arguments.iter().find(named) else {
                return Some(0);
            };
            if list.span.text(self.source).trim() == "None" {
                return Some(0);
            }
            let elements = self.elements(list.span)?;
            let count = elements.len();
            operands.extend(elements.iter().map(|it| operand(constraint.to_owned(), it.span)));
            Some(count)
        });
        if let [Some(read_write), Some(write), Some(read)] = counts
            && !operands.is_empty()
        {
            return (
                Constraints::Roles(Roles { read_write, write, read }, operands),
                Convention::Mlir,
            );
        }
        let template = decode(self.source, literals).text;
        let is_c = !template.contains('$') && template.contains('%');
        (Constraints::Unknown, if is_c { Convention::C } else { Convention::Mlir })
    }

    /// The elements of a list that is written out.
    fn elements(&self, list: Span) -> Option<Vec<Argument<'s>>> {
        let text = &self.source[..list.end as usize];
        let mut lexer = Lexer::new(text, self.host);
        lexer.pos = list.start as usize;
        lexer.peek().filter(|open| b"[(".contains(open))?;
        lexer.pos += 1;
        let elements = lexer.arguments()?;
        lexer.trivia(true);
        (lexer.pos == text.len()).then_some(elements)
    }

    fn skip(&mut self, start: usize, reason: SkipReason) {
        let end = self.pos.max(start);
        self.skipped.push(Skipped { span: Span::new(start as u32, end as u32), reason });
    }

    /// Whether the string is in no bracket, and only white space is before it in its statement.
    fn starts_statement(&self, start: usize) -> bool {
        let before = &self.bytes[..start];
        let blanks = before.iter().rev().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        let before = &before[..start - blanks];
        self.depth == 0
            && matches!(before, [] | [.., b';' | b'\n'])
            && !before.trim_ascii_end().ends_with(b"\\")
    }

    /// Reads a text that is no argument of a known call.
    fn text(&mut self, start: usize) -> Option<Run> {
        self.pos = start;
        let is_statement = self.syntax.has_constants && self.starts_statement(start);
        let mut run = self.run(self.depth > 0);
        if self.pos == start {
            self.pos += 1;
            return None;
        }
        let end = self.pos;
        self.trivia(self.depth > 0);
        let rest = self.rest();
        // A string that is a statement is a comment.
        if is_statement && matches!(rest, [] | [b'\n' | b';', ..]) {
            return None;
        }
        run.computed |= (self.syntax.computes)(&self.bytes[..start], rest);
        let mut before = &self.bytes[..start];
        while self.peek() == Some(b')')
            && let Some(outer) = before.trim_ascii_end().strip_suffix(b"(")
            && groups_after(outer)
        {
            before = outer;
            self.pos += 1;
            self.trivia(self.depth > 1);
            run.computed |= (self.syntax.computes)(b"", self.rest());
        }
        self.pos = end;
        Some(run)
    }

    /// Skips to the next thing with PTX inside.
    pub(super) fn next(&mut self) -> Option<Found<'s>> {
        loop {
            match self.seek()? {
                Stop::Open => {}
                Stop::Comma => self.pos += 1,
                Stop::Close => {
                    self.pos += 1;
                    self.depth = self.depth.saturating_sub(1);
                }
                Stop::Name(start, call) => {
                    if let Some(found) = self.call(start, call) {
                        return Some(found);
                    }
                }
                Stop::Quote(start) => {
                    if let Some(run) = self.text(start) {
                        return Some(Found::Text(run));
                    }
                }
            }
        }
    }
}

/// Keywords of Python that an expression may follow.
const KEYWORDS: [&[u8]; 16] = [
    b"and", b"assert", b"await", b"elif", b"else", b"from", b"if", b"in", b"is", b"lambda", b"not",
    b"or", b"raise", b"return", b"while", b"yield",
];

/// Whether a parenthesis after this code groups: it calls nothing.
fn groups_after(before: &[u8]) -> bool {
    let before = before.trim_ascii_end();
    let word = before.iter().rev().take_while(|&&byte| is_name(byte)).count();
    match &before[before.len() - word..] {
        b"" => !matches!(before.last(), Some(b')' | b']' | b'!' | b'"' | b'\'')),
        word => KEYWORDS.contains(&word),
    }
}

/// Bytes that may start a comment or a string.
const STARTS: [bool; 256] = table(b"\"'`#/\\");

/// The comments of a source, in order.
pub(super) fn comments(source: &str, host: Host) -> Vec<Span> {
    let mut lexer = Lexer::new(source, host);
    let mut comments = Vec::new();
    let mut floor = 0;
    loop {
        let next = lexer.rest().iter().position(|&byte| STARTS[usize::from(byte)]);
        let Some(n) = next else {
            return comments;
        };
        lexer.pos += n;
        let at = lexer.pos;
        match lexer.bytes[at] {
            b'#' | b'/' => {
                if !lexer.comment() {
                    lexer.pos += 1;
                    continue;
                }
                comments.push(Span::new(at as u32, lexer.pos as u32));
            }
            _ => match lexer.quote(floor) {
                Some(start) => _ = lexer.literal(start),
                None => lexer.pos += 1,
            },
        }
        floor = lexer.pos;
    }
}

/// The literals in a piece of source; `None` if the piece has other code.
pub(super) fn literals(source: &str, host: Host) -> Option<Vec<Literal>> {
    let mut lexer = Lexer::new(source, host);
    let mut all = Vec::new();
    while lexer.pos < source.len() {
        lexer.string_here()?;
        let Run { literals, computed } = lexer.run(true);
        if computed {
            return None;
        }
        // Literals with `+` between them.
        lexer.trivia(true);
        if lexer.syntax.literals == Literals::Adjacent && lexer.peek() == Some(b'+') {
            lexer.pos += 1;
            lexer.trivia(true);
        }
        for literal in literals {
            let is_next = lexer.syntax.literals == Literals::Lines && !all.is_empty();
            all.push(Literal { joined_by_line: is_next || literal.joined_by_line, ..literal });
        }
        if lexer.syntax.literals == Literals::Lines && lexer.pos < source.len() {
            if lexer.peek() != Some(b',') {
                return None;
            }
            lexer.pos += 1;
            lexer.trivia(true);
        }
    }
    Some(all)
}
