//! Makes characters visible that could control a terminal or start a line.

use std::borrow::Cow;
use std::fmt::Write;
use std::path::Path;

/// Whether a character must not be shown as it is: it controls the terminal (C0, DEL,
/// C1), changes the direction of text, breaks a line, is not a character (U+FFFE, U+FFFF), or
/// is invisible. Joiners and variation selectors stay: words and emoji need them.
pub(crate) fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{ad}'
                | '\u{34f}'
                | '\u{61c}'
                | '\u{115f}'..='\u{1160}'
                | '\u{17b4}'..='\u{17b5}'
                | '\u{180e}'
                | '\u{200b}'
                | '\u{200e}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{3164}'
                | '\u{feff}'
                | '\u{ffa0}'
                | '\u{fff0}'..='\u{fffb}'
                | '\u{fffe}'..='\u{ffff}'
                | '\u{1bca0}'..='\u{1bca3}'
                | '\u{1d173}'..='\u{1d17a}'
                | '\u{e0000}'..='\u{e0fff}'
        )
}

/// The text on one line, with every hidden character written as in Rust: `\u{1b}`. Line
/// breaks and tabs are escaped, too. All other text stays, so a second pass changes
/// nothing.
pub(crate) fn visible(text: &str) -> Cow<'_, str> {
    visible_but(text, &[])
}

/// Like [`visible`], but keeps line breaks.
pub(crate) fn visible_lines(text: &str) -> Cow<'_, str> {
    visible_but(text, &['\n'])
}

fn visible_but<'t>(text: &'t str, kept: &[char]) -> Cow<'t, str> {
    let hidden = |c: char| is_hidden(c) && !kept.contains(&c);
    if !text.contains(hidden) {
        return text.into();
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if hidden(c) {
            shown.extend(c.escape_unicode());
        } else {
            shown.push(c);
        }
    }
    shown.into()
}

/// Like [`visible`], for bytes. A byte that is not UTF-8 is written `\xff`.
pub(crate) fn visible_bytes(bytes: &[u8]) -> String {
    visible_chunks(bytes, &[])
}

/// Like [`visible_bytes`], for a line of a file. Tabs stay.
pub(crate) fn visible_line(bytes: &[u8]) -> String {
    visible_chunks(bytes, &['\t'])
}

fn visible_chunks(bytes: &[u8], kept: &[char]) -> String {
    let mut shown = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        shown += &visible_but(chunk.valid(), kept);
        for byte in chunk.invalid() {
            // Writing to a string never fails.
            let _ = write!(shown, "\\x{byte:02x}");
        }
    }
    shown
}

/// A file's name for people. The log of GitHub must not take lines that start with it
/// for commands.
pub(crate) fn visible_path(path: &Path) -> String {
    let name = visible_bytes(path.as_os_str().as_encoded_bytes());
    if name.trim_start().starts_with("::") { format!("./{name}") } else { name }
}

/// Like [`visible_bytes`], but no two names become equal: a backslash that could start
/// one of these escapes becomes `\u{5c}`.
pub(super) fn distinct(bytes: &[u8]) -> String {
    let mut shown = String::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some(at) = memchr::memchr(b'\\', rest) {
        let (before, after) = rest.split_at(at);
        shown += &visible_bytes(before);
        rest = &after[1..];
        shown += if matches!(rest.first(), Some(b'u' | b'x')) { "\\u{5c}" } else { "\\" };
    }
    shown + &visible_bytes(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_characters_are_escaped_and_no_others() {
        let hidden = "\0\u{7}\u{8}\t\n\r\u{1b}\u{1f}\u{7f}\u{80}\u{85}\u{9b}\u{9f}\u{61c}\u{200e}\
            \u{200f}\u{2028}\u{2029}\u{202a}\u{202e}\u{2066}\u{2069}\u{fffe}\u{ffff}\u{ad}\u{200b}\
            \u{2060}\u{206a}\u{feff}\u{3164}\u{e0001}\u{e0041}\u{e007f}";
        for c in hidden.chars() {
            assert_eq!(visible(&c.to_string()), format!("\\u{{{:x}}}", u32::from(c)));
        }
        let plain = "a~ \u{a0}é\\→\u{200c}\u{200d}\u{202f}\u{fe0f}\u{fffd}\u{10ffff}";
        assert_eq!(visible(plain), plain);
        assert_eq!(visible_lines("a\n\u{1b}b\n"), "a\n\\u{1b}b\n");
        assert_eq!(visible_bytes(b"\xe9\t\xc3\xa9\xf0\x9f"), "\\xe9\\u{9}é\\xf0\\x9f");
        assert_eq!(visible_line(b"\xe9\t\r"), "\\xe9\t\\u{d}");
        // Visible text does not change.
        let shown = visible_bytes(hidden.as_bytes());
        assert_eq!(visible(&shown), shown);
    }

    #[test]
    fn names_start_no_command() {
        let shown = |name: &str| visible_path(Path::new(name));
        assert_eq!(shown("::error::x.ptx"), "./::error::x.ptx");
        assert_eq!(shown(" ::error::x.ptx"), "./ ::error::x.ptx");
        assert_eq!(shown("\n::error::x.ptx"), "\\u{a}::error::x.ptx");
        assert_eq!(shown("a::b.ptx"), "a::b.ptx");
    }

    #[test]
    fn distinct_texts_stay_distinct() {
        let pieces: [&[u8]; 9] =
            [b"\x1b", b"\\u{1b}", b"\\", b"u{5c}", b"\xff", b"\\xff", b"xff", b"\n", b"\\n"];
        let mut texts = std::collections::HashMap::new();
        for first in pieces {
            for second in pieces {
                for third in pieces {
                    let text = [first, second, third].concat();
                    if let Some(other) = texts.insert(distinct(&text), text.clone()) {
                        assert_eq!(other, text);
                    }
                }
            }
        }
        assert_eq!(distinct(b"C:\\new\\a.ptx"), "C:\\new\\a.ptx");
    }
}
