//! From `asm` statements in C, C++ and CUDA to calls of C functions.
//!
//! [`port`] replaces each `asm` statement that has only video instructions, and includes the
//! header that [`backend::c`](crate::backend::c) makes of them. Any other statement stays as it
//! is; [`Ported::left`] has the reason.
//!
//! ```
//! use vptx::Semantics;
//! use vptx::backend::c::Header;
//! use vptx::port::port;
//!
//! let source = r#"int least(int a, int b)
//! {
//!     int d;
//!     asm("vmin.s32.s32.s32 %0, %1, %2.h0;" : "=r"(d) : "r"(a), "r"(b));
//!     return d;
//! }
//! "#;
//! let mut header = Header::new(Semantics::Manual);
//! let ported = port(source, "video.h", &mut header);
//! let text = ported.text(source);
//! assert!(text.starts_with("#include \"video.h\"\n"));
//! let call = "d = (__typeof__(d))vmin_s32_s32_s32_b_h0((vptx_u32)(a), (vptx_u32)(b));";
//! assert!(text.contains(call));
//! assert!(header.to_string().contains("vmin_s32_s32_s32_b_h0(vptx_u32 a, vptx_u32 b)"));
//! ```

mod block;
mod expression;
mod include;
mod write;

use std::mem;

use crate::backend::c::Header;
use crate::diagnostic::{Edit, applied};
use crate::embed::{self, Asm, Directive, Host, Piece};
use crate::hash::Set;
use crate::source::{Span, UNDECODABLE};

use self::block::{Block, Subject};
use self::expression::{Definitions, is_part};

/// The changes of a source, and the statements that stay.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Ported {
    /// The changes, in the order of the source; none if no statement is replaced.
    pub edits: Vec<Edit>,
    /// The number of replaced statements.
    pub replaced: usize,
    /// The statements that stay, in the order of the source.
    pub left: Vec<LeftStatement>,
}

/// An `asm` statement with PTX that stays as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LeftStatement {
    /// The part at fault, or the whole statement, in bytes of the source.
    pub span: Span,
    /// The reason, a clause without a full stop.
    pub reason: String,
    /// Whether it has a video instruction.
    pub has_video: bool,
}

impl Ported {
    /// The source with the changes.
    ///
    /// # Panics
    /// If `source` is another source, and too short.
    pub fn text(&self, source: &str) -> String {
        applied(source, &self.edits)
    }
}

/// Replaces the `asm` statements of a source in C, C++ or CUDA by calls, and adds the called
/// functions to the header.
///
/// `include` is the name of the header in the new `#include`, which follows the includes that
/// precede the first replaced statement. Operands must be integers of 32 bits, as nvcc demands for
/// `"r"`. The new text needs `__typeof__`. The source has at most
/// [`MAX_LEN`](crate::source::MAX_LEN) bytes.
pub fn port(source: &str, include: &str, header: &mut Header) -> Ported {
    let mut ported = Ported { edits: Vec::new(), replaced: 0, left: Vec::new() };
    let mut file = None;
    for asm in embed::statements_in(source, Host::C) {
        let subject = Subject::new(&asm);
        let has_video = subject.has_video();
        if !has_video && !subject.is_ptx() {
            continue;
        }
        let file = file.get_or_insert_with(|| File::new(source));
        match file.replacement(&asm, &subject, header) {
            Ok(text) => ported.edits.push(Edit::replace(asm.span, text)),
            Err(Refusal { span, reason }) => ported.left.push(LeftStatement {
                span: span.unwrap_or(asm.span),
                reason,
                has_video,
            }),
        }
    }
    ported.replaced = ported.edits.len();
    if let (Some(first), Some(file)) = (ported.edits.first(), &file) {
        ported.edits.extend(include::edit(source, &file.directives, first.span.start, include));
        ported.edits.sort_by_key(|edit| edit.span);
    }
    ported
}

/// The reason why a statement stays.
struct Refusal {
    /// The part at fault, in the source.
    span: Option<Span>,
    reason: String,
}

impl Refusal {
    fn new(reason: impl Into<String>) -> Refusal {
        Refusal { span: None, reason: reason.into() }
    }

    fn at(span: Span, reason: impl Into<String>) -> Refusal {
        Refusal { span: Some(span), reason: reason.into() }
    }
}

/// What the statements of a source share.
struct File<'s> {
    source: &'s str,
    directives: Vec<Directive<'s>>,
    definitions: Definitions<'s>,
    declared: Set<&'s str>,
}

impl<'s> File<'s> {
    fn new(source: &'s str) -> File<'s> {
        let directives = embed::directives(source);
        let definitions = Definitions::new(source, &directives);
        File { source, directives, definitions, declared: declared(source) }
    }

    /// The new text of a statement.
    fn replacement(
        &self,
        asm: &Asm<'_>,
        subject: &Subject<'_>,
        header: &mut Header,
    ) -> Result<String, Refusal> {
        let source = self.source;
        if asm.is_in_string() {
            return Err(Refusal::new("the `asm` is inside a string"));
        }
        let block = Block::read(source, asm, subject, header)?;
        let text = asm.span.text(source);
        if text.contains(UNDECODABLE) || asm.text.contains(UNDECODABLE) {
            return Err(Refusal::new("the `asm` has bytes that are not UTF-8"));
        }
        for call in &block.calls {
            let name = header.name(&call.instruction);
            if self.declared.contains(&*name) {
                return Err(Refusal::new(format!(
                    "the source declares `{name}`, the name of the function to call"
                )));
            }
        }
        Ok(write::text(source, asm, &block, &self.definitions, header))
    }
}

/// Words that can stand before a call.
const BEFORE_CALLS: [&str; 20] = [
    "and",
    "and_eq",
    "bitand",
    "bitor",
    "case",
    "co_await",
    "co_return",
    "co_yield",
    "compl",
    "do",
    "else",
    "not",
    "not_eq",
    "or",
    "or_eq",
    "return",
    "sizeof",
    "throw",
    "xor",
    "xor_eq",
];

/// The names that a source seems to declare: each word after another one, as in `unsigned name(`,
/// `int name;` and `#define name`; and where a type ends with another token, names with a body, as
/// in `> name(int) {`, and the last one before a `;`, `=` or `[`, as in `a, name;` and
/// `using a::name;`.
fn declared(source: &str) -> Set<&str> {
    let mut reader = Declared::default();
    for piece in embed::pieces(source) {
        let mut rest = match piece {
            Piece::Code(code) => code,
            Piece::Comment => continue,
            Piece::Literal => {
                reader.pass();
                continue;
            }
        };
        while let Some(first) = rest.chars().next() {
            let length = rest.find(|c: char| !is_part(c)).unwrap_or(rest.len());
            if length > 0 {
                let word;
                (word, rest) = rest.split_at(length);
                reader.word(word);
            } else {
                rest = &rest[first.len_utf8()..];
                if !first.is_whitespace() {
                    reader.punctuation(first);
                }
            }
        }
    }
    reader.names
}

/// The reader of [`declared`], between two tokens.
#[derive(Default)]
struct Declared<'s> {
    names: Set<&'s str>,
    /// The two words that stand directly before; empty if anything else stands there.
    words: [&'s str; 2],
    /// The other token before these words.
    lead: char,
    /// Whether the statement has a value so far, which may name a function.
    is_value: bool,
    /// The word before each open parenthesis.
    open: Vec<&'s str>,
    /// The word before the parentheses that have just been closed; empty if there are none.
    called: &'s str,
}

impl<'s> Declared<'s> {
    fn word(&mut self, word: &'s str) {
        let [before, last] = self.words;
        // The text of a macro follows its name.
        if !last.is_empty() && before != "define" && !BEFORE_CALLS.contains(&last) {
            self.names.insert(word);
        }
        if !last.is_empty() {
            self.lead = ' ';
        }
        if !matches!(word, "const" | "final" | "noexcept" | "override") {
            self.called = "";
        }
        self.is_value |= word == "return";
        self.words = [last, word];
    }

    fn punctuation(&mut self, token: char) {
        let last = self.words[1];
        let ends_type = matches!(self.lead, ',' | '*' | '&' | '>' | ':');
        let called = mem::take(&mut self.called);
        match token {
            '(' => self.open.push(last),
            ')' => self.called = self.open.pop().unwrap_or_default(),
            '{' => _ = self.names.insert(called),
            ';' | '=' | '[' if ends_type && !self.is_value => _ = self.names.insert(last),
            _ => {}
        }
        match token {
            ';' | '{' | '}' => self.is_value = false,
            '=' | '?' => self.is_value = true,
            _ => {}
        }
        self.words = [""; 2];
        self.lead = token;
    }

    /// Passes a literal.
    fn pass(&mut self) {
        (self.words, self.lead, self.called) = ([""; 2], ' ', "");
    }
}
