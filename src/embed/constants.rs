//! Texts in constants of Python and Mojo.
//!
//! A name is a constant if the source assigns to it once and binds it in no other way. The value
//! may join literals and other constants with `+`.

use super::Host;
use super::hosts::{Lexer, is_name};
use super::scan::Literal;
use crate::hash::{Map, Set};
use crate::source::Span;

/// How deep values of constants may refer to other constants.
const DEPTH: usize = 16;

/// Words that start a class.
const CLASSES: [&str; 3] = ["class", "struct", "trait"];
/// Words that start another block.
const BLOCKS: [&str; 14] = [
    "def", "fn", "if", "elif", "else", "for", "while", "with", "try", "except", "finally", "match",
    "case", "async",
];
/// First words of statements that may bind any name in them.
const BINDERS: [&str; 13] = [
    "def", "fn", "for", "with", "except", "async", "import", "from", "global", "nonlocal", "del",
    "match", "case",
];

/// Whether [`Lexer::bound`] may find names in the rest of a line.
fn may_bind(rest: &str) -> bool {
    memchr::memchr(b'=', rest.as_bytes()).is_some()
        || ["lambda", "for"].iter().any(|word| rest.contains(word))
}

/// Whether `case` or `match`, before this text, is the name of a variable.
fn is_variable(rest: &str) -> bool {
    rest.trim_start_matches([' ', '\t']).starts_with(['=', '.', ',', ':'])
}

/// A constant.
#[derive(Clone, Copy)]
struct Constant {
    /// Where its value starts.
    value: usize,
    /// Whether it belongs to a class.
    in_class: bool,
}

/// The constants of a source.
pub(super) struct Constants<'s> {
    host: Host,
    source: &'s str,
    /// `None` for names that are bound in other ways.
    names: Map<&'s str, Option<Constant>>,
    classes: Set<&'s str>,
    /// How many bytes of literals, and of blanks and comments between them, may still be read: many
    /// calls may name one long text.
    left: usize,
}

impl<'s> Constants<'s> {
    pub(super) fn new(source: &'s str, host: Host) -> Constants<'s> {
        let (names, classes) = (Map::default(), Set::default());
        let left = (1 << 20) + 4 * source.len();
        let mut constants = Constants { host, source, names, classes, left };
        let mut lexer = Lexer::new(source, host);
        // The blocks around a line: their indentation, and whether they are classes.
        let mut blocks: Vec<(usize, bool)> = Vec::new();
        while lexer.pos < source.len() {
            let line = lexer.pos;
            let bytes = &source.as_bytes()[line..];
            let indent = bytes.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
            lexer.pos += indent;
            if matches!(lexer.peek(), Some(b'\n' | b'\r' | b'#')) {
                lexer.logical_line();
                continue;
            }
            while blocks.last().is_some_and(|&(outer, _)| outer >= indent) {
                blocks.pop();
            }
            let in_class = blocks.last().is_some_and(|&(_, is_class)| is_class);
            let mut word = lexer.word();
            if matches!(word, "case" | "match") && is_variable(&source[lexer.pos..]) {
                constants.assignment(&mut lexer, word, in_class);
                word = "";
            } else if CLASSES.contains(&word) {
                blocks.push((indent, true));
                lexer.trivia(false);
                let name = lexer.word();
                constants.classes.insert(name);
                constants.names.insert(name, None);
            } else if BLOCKS.contains(&word) {
                blocks.push((indent, false));
            } else {
                constants.assignment(&mut lexer, word, in_class);
            }
            let rest = lexer.pos;
            lexer.logical_line();
            if BINDERS.contains(&word) {
                constants.bind_all(&source[line..lexer.pos]);
            } else if may_bind(&source[rest..lexer.pos]) {
                let end = std::mem::replace(&mut lexer.pos, rest);
                let bound = lexer.bound(end);
                lexer.pos = end;
                constants.names.extend(bound.into_iter().map(|name| (name, None)));
            }
        }
        constants
    }

    /// Reads the assignment whose first word was read.
    fn assignment(&mut self, lexer: &mut Lexer<'s>, mut word: &'s str, in_class: bool) {
        let mut start = lexer.pos - word.len();
        lexer.trivia(false);
        if lexer.declares(word) {
            start = lexer.pos;
            word = lexer.word();
            lexer.trivia(false);
        }
        if word.is_empty() {
            return;
        }
        let rest = &self.source.as_bytes()[lexer.pos..];
        // A `=` after another of these characters is inside an expression.
        let end = rest.iter().position(|byte| b"=([{\"'#\n".contains(byte)).unwrap_or(rest.len());
        let (before, after) = rest.split_at(end);
        let is_plain = before.is_empty() || before.starts_with(b":") && !before.contains(&b';');
        let compares = matches!(before.last(), Some(b'!' | b'<' | b'>'));
        let is_assigned = after.starts_with(b"=") && !after.starts_with(b"==") && !compares;
        if is_assigned && is_plain {
            let value = lexer.pos + end + 1;
            lexer.pos = value;
            // A name with a second value is no constant.
            let first = !self.names.contains_key(word);
            self.names.insert(word, first.then_some(Constant { value, in_class }));
        } else if is_assigned {
            // `a, b = …`, `a += …`, `a.b = …`
            self.bind_all(&self.source[start..lexer.pos + end]);
        } else if before.starts_with(b":")
            && after.first().is_some_and(|byte| b"[(\"'".contains(byte))
        {
            // `a: List[int] = …`
            self.names.insert(word, None);
        } else if after.starts_with(b"[") || after.starts_with(b"(") {
            // `[a, b] = …` is read as a whole.
            lexer.pos = start;
        }
    }

    /// Notes that a text may bind each of its words, so that none of them is a constant.
    fn bind_all(&mut self, text: &'s str) {
        for word in text.split(|c: char| u8::try_from(c).is_ok_and(|byte| !is_name(byte))) {
            self.names.insert(word, None);
        }
    }

    /// The literals of an argument, in the order of the source.
    pub(super) fn text(&mut self, argument: Span) -> Option<Vec<Literal>> {
        let mut literals = Vec::new();
        let mut lexer = Lexer::new(&self.source[..argument.end as usize], self.host);
        lexer.pos = argument.start as usize;
        self.sum(&mut lexer, DEPTH, true, &mut literals)?;
        lexer.trivia(true);
        (lexer.pos == argument.end as usize).then_some(literals)
    }

    /// Adds the literals of terms with `+` between them. `lines` tells whether line breaks may
    /// stand between the terms.
    fn sum(
        &mut self,
        lexer: &mut Lexer<'s>,
        depth: usize,
        lines: bool,
        out: &mut Vec<Literal>,
    ) -> Option<()> {
        let depth = depth.checked_sub(1).filter(|_| self.left > 0)?;
        loop {
            self.trivia(lexer, lines)?;
            self.term(lexer, depth, lines, out)?;
            let end = lexer.pos;
            self.trivia(lexer, lines)?;
            if lexer.peek() != Some(b'+') {
                lexer.pos = end;
                return Some(());
            }
            lexer.pos += 1;
        }
    }

    /// Counts bytes that were read. `None` if there are too many in all.
    fn pass(&mut self, bytes: usize) -> Option<()> {
        self.left = self.left.saturating_sub(bytes);
        (self.left > 0).then_some(())
    }

    /// Skips blanks and comments, which count as what literals have.
    fn trivia(&mut self, lexer: &mut Lexer<'s>, lines: bool) -> Option<()> {
        let start = lexer.pos;
        lexer.trivia(lines);
        self.pass(lexer.pos - start)
    }

    fn term(
        &mut self,
        lexer: &mut Lexer<'s>,
        depth: usize,
        lines: bool,
        out: &mut Vec<Literal>,
    ) -> Option<()> {
        if lexer.peek() == Some(b'(') {
            lexer.pos += 1;
            self.sum(lexer, depth, true, out)?;
            self.trivia(lexer, true)?;
            (lexer.peek() == Some(b')')).then(|| lexer.pos += 1)?;
        } else if lexer.string_here().is_some() {
            let start = lexer.pos;
            let mut run = lexer.run(lines);
            self.pass(lexer.pos - start)?;
            let follows = out.last().is_none_or(|it| it.span.end as usize <= start);
            if run.computed || !follows {
                return None;
            }
            out.append(&mut run.literals);
        } else {
            let mut name = lexer.word();
            let mut owner = None;
            if lexer.peek() == Some(b'.') {
                lexer.pos += 1;
                owner = Some(name);
                name = lexer.word();
            }
            let constant = self.names.get(name).copied().flatten()?;
            let is_right = match owner {
                None => !constant.in_class,
                Some("self" | "cls" | "Self") => constant.in_class,
                Some(owner) => constant.in_class && self.classes.contains(owner),
            };
            if !is_right {
                return None;
            }
            let mut value = Lexer::new(self.source, self.host);
            value.pos = constant.value;
            self.sum(&mut value, depth, false, out)?;
            self.trivia(&mut value, false)?;
            matches!(value.peek(), None | Some(b'\n' | b';')).then_some(())?;
        }
        // `"…".format(…)`, `"…" % x`, `NAME[0]`
        let end = lexer.pos;
        self.trivia(lexer, false)?;
        let is_more = matches!(lexer.peek(), Some(b'.' | b'%' | b'[' | b'('));
        lexer.pos = end;
        (!is_more).then_some(())
    }
}
