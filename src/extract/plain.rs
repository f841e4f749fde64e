//! PTX that stands in a file as it is: in a data section, or as the whole file.

use crate::isa::{PtxVersion, Target};
use crate::source::{decoded, mark_len};
use crate::syntax;
use crate::syntax::lexer::{string_end, trivia_end, word_end};

/// The word that every module starts with, after comments.
pub(super) const VERSION: &[u8] = b".version";

/// The largest number of bytes of comments before `.version`.
pub(super) const BEFORE: usize = 1 << 16;

/// The largest number of bytes from `.version` to the target.
pub(super) const HEADING: usize = 1 << 8;

/// Whether a byte may stand in a text. Any other byte, mostly NUL, ends a
/// string in a program.
pub(super) fn is_text(byte: u8) -> bool {
    matches!(byte, b'\t'..=b'\r' | 0x1a | b' '..=b'~' | 0x80..)
}

/// Whether bytes only start like a text: LZ4 leaves the first words of a packed text as they are.
/// A text does not have both errors of syntax and bytes that are not UTF-8.
pub(super) fn is_packed(bytes: &[u8]) -> bool {
    str::from_utf8(bytes).is_err() && !syntax::parse(&decoded(bytes)).errors().is_empty()
}

/// The start of the text whose `.version` is at `at`: only comments and white space stand between
/// the two. If `inside` is set, other data may precede the text.
pub(super) fn start(bytes: &[u8], at: usize, inside: bool) -> Option<usize> {
    let (mut start, mut from) = (0, mark_len(bytes));
    loop {
        let reached = trivia_end(bytes, from);
        if reached == at {
            return Some(start);
        }
        if !inside || reached >= at {
            return None;
        }
        // The text may start at the next comment, or at `.version` itself.
        let rest = &bytes[reached + 1..=at];
        let comment = |pair: &[u8]| matches!(pair, b"//" | b"/*");
        from = reached + 1 + rest.windows(2).position(comment).unwrap_or(rest.len() - 1);
        start = from;
    }
}

/// The end of the module at the start of a string. Other strings may follow: Rust has no NUL
/// between strings. Outside of all blocks, only directives follow `}` and `;`, and `.version`
/// starts another module.
pub(super) fn end(text: &[u8]) -> usize {
    let (mut at, mut depth, mut whole) = (0, 0_u64, None);
    loop {
        at = trivia_end(text, at);
        let rest = &text[at..];
        let Some(byte) = rest.first() else { return text.len() };
        if let Some(whole) = whole.take()
            && (!matches!(byte, b'.' | b'@' | b';' | b'}') || rest.starts_with(VERSION))
        {
            return whole;
        }
        at = match byte {
            b'"' => string_end(text, at).unwrap_or(text.len()),
            byte if byte.is_ascii_alphanumeric() => word_end(text, at),
            _ => at + 1,
        };
        match byte {
            b'{' => depth += 1,
            b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 && matches!(byte, b'}' | b';') {
            // A line break after it belongs to the module.
            whole = Some(at + usize::from(text.get(at) == Some(&b'\n')));
        }
    }
}

/// Version and target of a text that starts with `.version 8.5 .target sm_90`.
pub(super) fn heading(text: &[u8]) -> Option<(PtxVersion, Target)> {
    let rest = blanks(text.strip_prefix(VERSION)?)?;
    let is_digit = |byte: &u8| byte.is_ascii_digit() || *byte == b'.';
    let end = rest.iter().position(|byte| !is_digit(byte))?;
    let version = std::str::from_utf8(&rest[..end]).ok()?.parse().ok()?;
    let mut rest = blanks(blanks(&rest[end..])?.strip_prefix(b".target")?)?;
    // Options such as `debug` may come first.
    loop {
        let (word, after) = rest.split_at(word_end(rest, 0));
        if let Some(target) = std::str::from_utf8(word).ok().and_then(|word| word.parse().ok()) {
            return Some((version, target));
        }
        let next = after[trivia_end(after, 0)..].strip_prefix(b",")?;
        rest = &next[trivia_end(next, 0)..];
    }
}

/// What follows white space or comments; `None` if the bytes start with neither.
fn blanks(bytes: &[u8]) -> Option<&[u8]> {
    let at = trivia_end(bytes, 0);
    (at > 0).then(|| &bytes[at..])
}
