//! The names in a function.

use crate::hash::{Map, Set};
use crate::source::Span;
use crate::syntax::TokenKind;
use crate::syntax::lexer::Lexer;
use crate::video::{Register, numbered};

/// The names in a function.
pub(super) struct Names<'s> {
    /// How often each one occurs, by its base and its number.
    counts: Map<(&'s str, &'s str), u32>,
    /// The names that declare a range.
    ranges: Set<&'s str>,
}

impl<'s> Names<'s> {
    /// The names after a function's own. `None` if registers may stand before it, or if
    /// the function's end is not found.
    pub(super) fn of(source: &'s str, function: Span) -> Option<Names<'s>> {
        let mut head = source[..function.start as usize].trim_end();
        if let Some(results) = head.strip_suffix(')') {
            // A `;` bounds the search.
            let start = results.rfind(['(', ';'])?;
            let list = &results[start..];
            if !list.starts_with('(') || list.contains(".reg") {
                return None;
            }
            head = results[..start].trim_end();
        }
        let word = &head[head.rfind('.')?..];
        if word != ".func" && word != ".entry" {
            return None;
        }
        let mut names = Names { counts: Map::default(), ranges: Set::default() };
        let mut lexer = Lexer::new(source, function.end as usize);
        let (mut depth, mut before) = (0, "");
        loop {
            let token = lexer.token()?;
            let text = token.span.text(source);
            match token.kind {
                TokenKind::Ident => *names.counts.entry(numbered(text)).or_default() += 1,
                TokenKind::Punct(_) if token.is(b'{') => depth += 1,
                TokenKind::Punct(_) if token.is(b'}') && depth == 1 => return Some(names),
                TokenKind::Punct(_) if token.is(b'}') && depth == 0 => return None,
                TokenKind::Punct(_) if token.is(b'}') => depth -= 1,
                TokenKind::Punct(_) if token.is(b'<') => _ = names.ranges.insert(before),
                // Functions do not nest: this one has no end.
                TokenKind::Dot if matches!(text, ".func" | ".entry") => return None,
                _ => {}
            }
            before = text;
        }
    }

    /// How often the function names a register, if it declares it itself, by a range.
    pub(super) fn occurrences(&self, register: &Register) -> Option<u32> {
        let (base, number) = numbered(register.name());
        let is_declared = !number.is_empty() && self.ranges.contains(base);
        self.counts.get(&(base, number)).copied().filter(|_| is_declared)
    }
}
