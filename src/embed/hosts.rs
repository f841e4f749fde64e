//! Finds inline PTX in Python, Mojo, Rust and Julia.
//!
//! The lexer knows enough of each language to separate code from comments and strings, and
//! reads the arguments of the few calls that take PTX. As in C, an attempt to read a call ends
//! at the next such name at the latest, so all work is linear.

use super::constants::Constants;
use super::scan::{Form, Literal, SkipReason, Skipped, table};
use super::template::{Roles, decode};
use super::{Convention, Host};
use crate::hash::Set;
use crate::source::Span;

/// Whether a byte may belong to a name. Bytes beyond ASCII may be letters.
pub(super) const fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

/// String literals that make one text.
#[derive(Clone, Debug, Default)]
pub(super) struct Run {
    pub(super) literals: Vec<Literal>,
    /// Whether the text is not just that of the literals.
    pub(super) computed: bool,
}

/// An argument of a call.
#[derive(Debug)]
struct Argument<'s> {
    name: Option<&'s str>,
    /// The literals, if it is nothing else.
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
    /// Where its text is: its position, and its names.
    text: (usize, &'static [&'static str]),
    operands: Declared,
}

/// How a call declares the operands of its text.
#[derive(Clone, Copy, Debug)]
enum Declared {
    /// By a string of constraints: its position, and its names.
    Constraints(usize, &'static [&'static str]),
    /// By lists, as in MLIR, or by pairs such as `("=r", x)`.
    Lists,
    /// By operands of Rust.
    Rust(Convention),
    /// The text is LLVM IR, and has `asm` of its own.
    Inside,
}

/// The lists of operands in the order of their numbers, with the start of their constraints.
const LISTS: [(&[&str], &str); 3] = [
    (&["read_write_args"], "+"),
    (&["write_only_types", "write_only_args"], "="),
    (&["read_only_args"], ""),
];

/// The most other names of calls in a source.
const ALIASES: usize = 16;

/// The position of an argument that has a name only.
const NAMED: usize = usize::MAX;

const PYTHON: [Call; 6] = [
    // Triton, Gluon, Helion; the text of PyTorch's is named.
    Call {
        name: "inline_asm_elementwise",
        open: b'(',
        text: (0, &["asm", "asm_str"]),
        operands: Declared::Constraints(1, &["constraints"]),
    },
    // Pallas.
    Call {
        name: "elementwise_inline_asm",
        open: b'(',
        text: (0, &["asm"]),
        operands: Declared::Constraints(NAMED, &["constraints"]),
    },
    // The LLVM dialect of MLIR, as in CuTe.
    Call {
        name: "inline_asm",
        open: b'(',
        text: (2, &["asm_string"]),
        operands: Declared::Constraints(3, &["constraints"]),
    },
    // The NVVM dialect of MLIR, as in CuTe, and cuTile.
    Call { name: "inline_ptx", open: b'(', text: (0, &["ptx_code"]), operands: Declared::Lists },
    Call { name: "inline_ptx_hl", open: b'(', text: (0, &["ptx_code"]), operands: Declared::Lists },
    // llvmlite, as in Numba.
    Call {
        name: "InlineAsm",
        open: b'(',
        text: (1, &["asm"]),
        operands: Declared::Constraints(2, &["constraint"]),
    },
];

const MOJO: [Call; 1] = [Call {
    name: "inlined_assembly",
    open: b'[',
    text: (0, &["asm"]),
    operands: Declared::Constraints(NAMED, &["constraints"]),
}];

const JULIA: [Call; 2] = [
    Call { name: "@asmcall", open: b'(', text: (0, &[]), operands: Declared::Constraints(1, &[]) },
    Call { name: "llvmcall", open: b'(', text: (0, &[]), operands: Declared::Inside },
];

const RUST: [Call; 2] = [
    Call { name: "asm", open: b'(', text: (0, &[]), operands: Declared::Rust(Convention::Rust) },
    // Of cuda-oxide.
    Call { name: "ptx_asm", open: b'(', text: (0, &[]), operands: Declared::Rust(Convention::C) },
];

/// An operand as the call has it.
#[derive(Clone, Debug)]
pub(super) struct HostOperand<'s> {
    pub(super) name: Option<&'s str>,
    pub(super) constraint: String,
    pub(super) span: Span,
    pub(super) output: bool,
}

/// The constraints of a call.
#[derive(Clone, Debug)]
pub(super) enum Constraints<'s> {
    /// A string of LLVM.
    Literals(Vec<Literal>),
    /// There are some, but they are computed.
    Unknown,
    Operands(Vec<HostOperand<'s>>),
    /// Operands in the order of their roles.
    Roles(Roles, Vec<HostOperand<'s>>),
}

/// Something with PTX inside.
#[derive(Clone, Debug)]
pub(super) enum Found<'s> {
    /// A call that takes PTX.
    Call { span: Span, text: Vec<Literal>, constraints: Constraints<'s>, convention: Convention },
    /// A call that takes LLVM IR.
    Llvm(Vec<Literal>),
    /// A text of string literals that nothing else makes use of.
    Text(Run),
}

/// A place in a source.
pub(super) struct Lexer<'s> {
    host: Host,
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
    /// At a string, whose prefix starts here.
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

/// Bytes to look at. Of the letters of the names, `m` and `x` are the rarest.
const STOPS: [bool; 256] = table(b"\"'`#/()[]{},mx");

impl<'s> Lexer<'s> {
    pub(super) fn new(source: &'s str, host: Host) -> Lexer<'s> {
        Lexer {
            host,
            source,
            bytes: source.as_bytes(),
            pos: 0,
            depth: 0,
            skipped: Vec::new(),
            aliases: Vec::new(),
            stops: STOPS,
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

    fn calls(&self) -> &'static [Call] {
        match self.host {
            Host::C | Host::Notebook => &[],
            Host::Python => &PYTHON,
            Host::Mojo => &MOJO,
            Host::Rust => &RUST,
            Host::Julia => &JULIA,
        }
    }

    /// Moves to the next place that has a meaning in code.
    fn seek(&mut self) -> Option<Stop> {
        // A prefix of a string starts here or after.
        let mut floor = self.pos;
        loop {
            let next = self.rest().iter().position(|&byte| self.stops[usize::from(byte)]);
            let Some(n) = next else {
                self.pos = self.bytes.len();
                return None;
            };
            self.pos += n;
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

    /// The call whose name has this letter. Moves to after the name.
    fn name(&mut self, floor: usize, at: usize) -> Option<Stop> {
        let before = &self.bytes[floor..at];
        let start = at - before.iter().rev().take(64).take_while(|&&byte| is_name(byte)).count();
        self.pos = at + self.bytes[at..].iter().take_while(|&&byte| is_name(byte)).count();
        let mut word = &self.source.as_bytes()[start..self.pos];
        let mut start = start;
        if self.host == Host::Julia && start > floor && self.bytes[start - 1] == b'@' {
            start -= 1;
            word = &self.bytes[start..self.pos];
        }
        let named = self.calls().iter().find(|call| call.name.as_bytes() == word);
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
        if self.host == Host::Rust {
            if self.peek() != Some(b'!') {
                return None;
            }
            self.pos += 1;
        }
        Some(Stop::Name(start, call))
    }

    /// The other name that an `import` or a `use` gives the name before here.
    fn alias(&self) -> Option<&'s [u8]> {
        let blank = |&byte: &u8| matches!(byte, b' ' | b'\t');
        let word = |rest: &'s [u8]| {
            let start = rest.iter().take(64).take_while(|&byte| blank(byte)).count();
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

    /// Moves to after the line, and after the lines that brackets and backslashes join to it.
    pub(super) fn logical_line(&mut self) {
        const STOPS: [bool; 256] = table(b"\"'#()[]{}\\\n");
        let (mut depth, mut floor) = (0_usize, self.pos);
        while let Some(n) = self.rest().iter().position(|&byte| STOPS[usize::from(byte)]) {
            self.pos += n;
            match self.bytes[self.pos] {
                b'"' | b'\'' => {
                    if let Some(start) = self.quote(floor) {
                        self.literal(start);
                    }
                    floor = self.pos;
                    continue;
                }
                b'#' => {
                    self.comment();
                    continue;
                }
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

    /// Skips the comment that starts here.
    fn comment(&mut self) -> bool {
        let rest = self.rest();
        let nested: Option<(&[u8; 2], &[u8; 2])> = match self.host {
            Host::Rust | Host::C => Some((b"/*", b"*/")),
            Host::Julia => Some((b"#=", b"=#")),
            Host::Python | Host::Mojo | Host::Notebook => None,
        };
        if let Some((open, close)) = nested
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
        let line: &[u8] = match self.host {
            Host::Rust | Host::C => b"//",
            _ => b"#",
        };
        let is_comment = rest.starts_with(line);
        if is_comment {
            self.pos += memchr::memchr(b'\n', rest).unwrap_or(rest.len());
        }
        is_comment
    }

    /// The start of the string whose quote is here, with its prefix. `None` if the quote opens
    /// no string; moves over a character.
    fn quote(&mut self, floor: usize) -> Option<usize> {
        let at = self.pos;
        let before = &self.bytes[floor..at];
        let letters = before.iter().rev().take(8).take_while(|&&byte| is_name(byte)).count();
        let word = &before[before.len() - letters..];
        match (self.host, self.bytes[at]) {
            (Host::Python | Host::Mojo, b'"' | b'\'') => {
                let is_prefix =
                    word.len() <= 2 && word.iter().all(|byte| b"rRbBuUfFtT".contains(byte));
                Some(if is_prefix { at - letters } else { at })
            }
            (Host::Rust, b'"') => {
                let hashes = before.iter().rev().take(256).take_while(|&&b| b == b'#').count();
                let before = &before[..before.len() - hashes];
                let letters = before.iter().rev().take(4).take_while(|&&b| is_name(b)).count();
                let word = &before[before.len() - letters..];
                let is_raw = matches!(word, b"r" | b"br" | b"cr");
                Some(match word {
                    _ if is_raw => at - hashes - letters,
                    b"b" | b"c" if hashes == 0 => at - letters,
                    _ => at,
                })
            }
            (Host::Julia, b'"') => Some(at - letters),
            (Host::Julia, b'\'') => {
                let is_value =
                    before.last().is_some_and(|&b| is_name(b) || b")]}'\".".contains(&b));
                self.pos += if is_value { 0 } else { self.character(16) };
                None
            }
            (Host::Julia, b'`') => {
                let rest = self.rest();
                self.pos += memchr::memchr(b'`', &rest[1..]).map_or(rest.len() - 1, |n| n + 1);
                None
            }
            (Host::Rust, b'\'') => {
                self.pos += self.character(12);
                None
            }
            _ => None,
        }
    }

    /// The length of the character whose quote is here, without its last quote; 0 if it is a
    /// lifetime or an operator.
    fn character(&self, most: usize) -> usize {
        let rest = self.rest();
        if rest.get(1) == Some(&b'\\') {
            let near = &rest[3.min(rest.len())..rest.len().min(3 + most)];
            return memchr::memchr(b'\'', near).map_or(0, |n| n + 3);
        }
        let length = self.source[self.pos + 1..].chars().next().map_or(0, char::len_utf8);
        if rest.get(length + 1) == Some(&b'\'') { length + 1 } else { 0 }
    }

    /// Reads the string whose prefix starts here. Moves to its end, even if it is none that is
    /// read.
    fn literal(&mut self, start: usize) -> Run {
        let quote = start
            + self.bytes[start..]
                .iter()
                .position(|&byte| byte == b'"' || byte == b'\'')
                .unwrap_or_default();
        let prefix = &self.bytes[start..quote];
        let has = |letters: &[u8]| prefix.iter().any(|byte| letters.contains(byte));
        let (form, mut computed, skips) = match self.host {
            Host::Python | Host::Mojo => {
                let form =
                    if has(b"rR") { Form::Raw } else { Form::Python { is_bytes: has(b"bB") } };
                (form, has(b"fFtT"), true)
            }
            Host::Rust if has(b"r") => (Form::Raw, false, false),
            Host::Rust => (Form::Rust, false, true),
            Host::Julia => match prefix {
                b"" => (Form::Julia, false, true),
                b"raw" => (Form::Raw, false, true),
                _ => (Form::Raw, true, true),
            },
            Host::C | Host::Notebook => (Form::C, false, true),
        };
        let hashes = memchr::memchr_iter(b'#', prefix).count();
        let byte = self.bytes[quote];
        let triple = self.host != Host::Rust && self.bytes[quote..].starts_with(&[byte; 3]);
        let length = if triple { 3 } else { 1 };
        let body = quote + length;
        let mut at = body;
        let lines = triple || matches!(self.host, Host::Rust | Host::Julia);
        loop {
            let rest = &self.bytes[at.min(self.bytes.len())..];
            let Some(n) = memchr::memchr3(byte, b'\\', b'\n', rest) else {
                self.pos = self.bytes.len();
                return Run { literals: Vec::new(), computed: true };
            };
            at += n;
            match self.bytes[at] {
                b'\\' if skips => {
                    let is_quote = self.bytes.get(at + 1) == Some(&byte);
                    computed |= self.host == Host::Julia && form == Form::Raw && is_quote;
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
        let literal = Literal {
            span: Span::new(start as u32, end as u32),
            body: Span::new(body as u32, at as u32),
            form,
            joined_by_line: false,
        };
        computed |= self.host == Host::Julia
            && form == Form::Julia
            && is_interpolated(&self.bytes[body..at]);
        Run { literals: vec![literal], computed }
    }

    /// Skips white space, comments and joined lines, and line breaks inside brackets.
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
        let most: usize = if self.host == Host::Rust { 260 } else { 8 };
        let prefix = |&byte: &u8| is_name(byte) || byte == b'#';
        let length = self.rest().iter().take(most).take_while(|&byte| prefix(byte)).count();
        let quote = start + length;
        if !matches!(self.bytes.get(quote), Some(b'"' | b'\'')) {
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
            let Run { mut literals, computed } = self.literal(start);
            all.computed |= computed || literals.is_empty();
            all.literals.append(&mut literals);
            if !matches!(self.host, Host::Python | Host::Mojo) {
                break;
            }
            let end = self.pos;
            self.trivia(lines);
            if self.string_here().is_none() {
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
        self.trivia(self.host == Host::Rust);
        let spaced = self.host == Host::Julia && call.name == "@asmcall";
        let arguments = match self.peek()? {
            open if open == call.open || self.host == Host::Rust && b"[{".contains(&open) => {
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
            return arguments[text]
                .is_text()
                .then(|| Found::Llvm(arguments[text].run.literals.clone()));
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
                // The first call tells its operands.
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
        if !matches!(self.host, Host::Python | Host::Mojo) {
            return None;
        }
        let (source, host) = (self.source, self.host);
        self.constants.get_or_insert_with(|| Constants::new(source, host)).text(argument)
    }

    /// The operands of a call with lists or pairs of them.
    fn lists(
        &self,
        arguments: &[Argument<'s>],
        text: usize,
        literals: &[Literal],
    ) -> (Constraints<'s>, Convention) {
        let operand = |constraint: String, span: Span| HostOperand {
            name: None,
            output: constraint.starts_with(['=', '+']),
            constraint,
            span,
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

    /// The first two arguments of a macro of Julia without parentheses.
    fn spaced(&mut self) -> Vec<Argument<'s>> {
        let mut all = Vec::new();
        while all.len() < 2 {
            let start = self.pos as u32;
            let run = self.run(false);
            if run.literals.is_empty() {
                break;
            }
            all.push(Argument { name: None, run, span: Span::new(start, self.pos as u32) });
            if all.len() < 2 {
                let end = self.pos;
                self.trivia(false);
                if self.string_here().is_none() {
                    self.pos = end;
                    break;
                }
            }
        }
        all
    }

    fn skip(&mut self, start: usize, reason: SkipReason) {
        let end = self.pos.max(start);
        self.skipped.push(Skipped { span: Span::new(start as u32, end as u32), reason });
    }

    /// The call of `asm!`.
    fn rust_call(
        &mut self,
        start: usize,
        arguments: Vec<Argument<'s>>,
        convention: Convention,
    ) -> Option<Found<'s>> {
        let mut text: Vec<Literal> = Vec::new();
        let mut operands = Vec::new();
        for argument in arguments {
            if argument.is_text() && argument.name.is_none() && operands.is_empty() {
                let joined_by_line = !text.is_empty();
                let literal = argument.run.literals.into_iter().next()?;
                text.push(Literal { joined_by_line, ..literal });
                continue;
            }
            let code = argument.span.text(self.source);
            if text.is_empty() || code.starts_with("concat!") {
                self.skip(start, SkipReason::Computed);
                return None;
            }
            match rust_operand(code, argument.span, convention) {
                RustOperand::Other => {}
                // Another machine's.
                RustOperand::Foreign => return None,
                RustOperand::Of { constraint, span, output } => {
                    operands.push(HostOperand { name: argument.name, constraint, span, output });
                }
            }
        }
        (!text.is_empty()).then(|| Found::Call {
            span: Span::new(start as u32, self.pos as u32),
            text,
            constraints: Constraints::Operands(operands),
            convention,
        })
    }

    /// Whether only white space is before the string on its line, and it is in no bracket.
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
        let python = matches!(self.host, Host::Python | Host::Mojo);
        let is_statement = python && self.starts_statement(start);
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
        if python {
            let method = rest.strip_prefix(b".").map(<[u8]>::trim_ascii_start);
            let keeps = |rest: &[u8]| {
                let names: [&[u8]; 4] = [b"encode", b"strip", b"lstrip", b"rstrip"];
                names
                    .iter()
                    .any(|name| rest.strip_prefix(*name).is_some_and(|rest| rest.starts_with(b"(")))
            };
            run.computed |= rest.starts_with(b"%") || method.is_some_and(|rest| !keeps(rest));
        }
        if self.host == Host::Rust {
            // The first argument of a macro such as `format!` is a template.
            let before = self.bytes[..start].trim_ascii_end();
            let before = before.strip_suffix(b"(").unwrap_or_default().trim_ascii_end();
            run.computed |= before.ends_with(b"!");
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

/// Whether a string of Julia has values inside.
fn is_interpolated(body: &[u8]) -> bool {
    let mut at = 0;
    while let Some(n) = memchr::memchr2(b'$', b'\\', &body[at..]) {
        if body[at + n] == b'$' {
            return true;
        }
        at = (at + n + 2).min(body.len());
    }
    false
}

enum RustOperand {
    /// It takes no number.
    Other,
    /// It is an operand of another machine than nvptx.
    Foreign,
    Of {
        constraint: String,
        span: Span,
        output: bool,
    },
}

/// Reads an operand of `asm!`.
fn rust_operand(code: &str, place: Span, convention: Convention) -> RustOperand {
    let kind = code.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').next();
    let kind = kind.unwrap_or_default();
    let output = match kind {
        "in" => false,
        "out" | "lateout" | "inout" | "inlateout" => true,
        "const" | "sym" => {
            let span = Span::new(place.start, place.start + kind.len() as u32);
            return RustOperand::Of { constraint: kind.into(), span, output: false };
        }
        _ => return RustOperand::Other,
    };
    let inside = code[kind.len()..].trim_start().strip_prefix('(');
    let Some((class, after)) = inside.and_then(|inside| inside.split_once(')')) else {
        return RustOperand::Foreign;
    };
    let class = class.trim();
    let quoted = class.strip_prefix('"').and_then(|it| it.strip_suffix('"'));
    let constraint = match (convention, quoted) {
        (Convention::C, Some(constraint)) => constraint.to_owned(),
        (Convention::Rust, None) if matches!(class, "reg16" | "reg32" | "reg64" | "reg128") => {
            format!("{kind}({class})")
        }
        _ => return RustOperand::Foreign,
    };
    let length = (code.len() - after.len()) as u32;
    RustOperand::Of { constraint, span: Span::new(place.start, place.start + length), output }
}

/// Bytes that may start a comment or a string.
const STARTS: [bool; 256] = table(b"\"'`#/");

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

/// The literals of a piece of source that has nothing else.
pub(super) fn literals(source: &str, host: Host) -> Option<Vec<Literal>> {
    let mut lexer = Lexer::new(source, host);
    let mut all = Vec::new();
    while lexer.pos < source.len() {
        lexer.string_here()?;
        let Run { literals, computed } = lexer.run(true);
        if computed {
            return None;
        }
        // Joined literals of Python.
        lexer.trivia(true);
        if matches!(host, Host::Python | Host::Mojo) && lexer.peek() == Some(b'+') {
            lexer.pos += 1;
            lexer.trivia(true);
        }
        for literal in literals {
            let joined_by_line = host == Host::Rust && !all.is_empty();
            all.push(Literal { joined_by_line, ..literal });
        }
        lexer.trivia(true);
        if host == Host::Rust && lexer.pos < source.len() {
            if lexer.peek() != Some(b',') {
                return None;
            }
            lexer.pos += 1;
            lexer.trivia(true);
        }
    }
    Some(all)
}
