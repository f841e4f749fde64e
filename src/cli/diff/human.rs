//! Differences for people.

use std::borrow::Cow;
use std::fmt::Write;

use clap::builder::styling::{AnsiColor, Style};

use super::source::Compared;
use crate::diagnostic::counted;
use crate::diff::{Change, ChangeKind, Equivalence, Hunk, Line, LineKind, Part, Subject};
use crate::report::visible;
use crate::source::Span;

/// How differences are laid out.
#[derive(Clone, Copy, Debug)]
pub(super) struct Look {
    pub(super) color: bool,
    /// The number of columns, if both texts are printed side by side.
    pub(super) side_by_side: Option<usize>,
}

const BOLD: Style = Style::new().bold();
const PLACE: Style = AnsiColor::Cyan.on_default();
const REMOVED: Style = AnsiColor::Red.on_default();
const ADDED: Style = AnsiColor::Green.on_default();
const MOVED_AWAY: Style = AnsiColor::Magenta.on_default();
const MOVED_HERE: Style = AnsiColor::Blue.on_default();
const NOTE: Style = AnsiColor::Yellow.on_default();

/// Lines with more bytes are shortened, such as lines of large tables.
const LONG: usize = 2000;

/// The columns of indentation for each block around a statement.
const INDENT: usize = 4;

/// The heading with the names of both texts.
pub(super) fn heading(compared: &Compared<'_>, look: Look) -> String {
    let line = |sign, label| styled(BOLD, &format!("{sign} {label}"), look);
    line("---", compared.old.label) + &line("+++", compared.new.label)
}

/// A difference of two texts.
pub(super) fn change(compared: &Compared<'_>, change: &Change, look: Look) -> String {
    let mut text = String::new();
    let mut writer = Writer { out: &mut text, compared, look };
    for hunk in &change.hunks {
        writer.heading(change, hunk);
        writer.hunk(hunk);
    }
    if change.hunks.is_empty() {
        writer.rename(change);
    }
    text
}

/// How many statements a function gained and lost.
pub(super) struct Counts {
    added: usize,
    removed: usize,
    subject: String,
}

impl Counts {
    pub(super) fn of(change: &Change) -> Counts {
        let (added, removed) = change.counts();
        Counts { added, removed, subject: subject(change) }
    }
}

/// How many statements each function gained and lost, as a table.
pub(super) fn counts(compared: &Compared<'_>, rows: &[Counts], look: Look) -> String {
    let mut text = String::new();
    let mut writer = Writer { out: &mut text, compared, look };
    let width = |count: fn(&Counts) -> usize| {
        rows.iter().map(|row| count(row).to_string().len()).max().unwrap_or_default()
    };
    let (added_width, removed_width) = (width(|it| it.added), width(|it| it.removed));
    for Counts { added, removed, subject } in rows {
        writer.part(ADDED, &format!("{:>1$}", format!("+{added}"), added_width + 1));
        writer.part(REMOVED, &format!(" {:>1$}", format!("-{removed}"), removed_width + 1));
        let _ = writeln!(writer.out, " {}", visible(subject));
    }
    text
}

/// The line about a text that only one side has.
pub(super) fn only(label: &str, is_old: bool, look: Look) -> String {
    let side = if is_old { "old" } else { "new" };
    styled(BOLD, &format!("only on the {side} side: {label}"), look)
}

/// A line that says something about a text.
pub(super) fn note(text: &str, look: Look) -> String {
    styled(NOTE, &format!("~ {text}"), look)
}

fn styled(style: Style, text: &str, look: Look) -> String {
    let text = visible(text);
    if look.color { format!("{style}{text}{style:#}\n") } else { format!("{text}\n") }
}

struct Writer<'w> {
    out: &'w mut String,
    compared: &'w Compared<'w>,
    look: Look,
}

impl Writer<'_> {
    fn line(&mut self, style: Style, text: &str) {
        self.part(style, &visible(text));
        self.out.push('\n');
    }

    fn part(&mut self, style: Style, text: &str) {
        // Writing to a string never fails.
        let _ = if self.look.color && !text.is_empty() {
            write!(self.out, "{style}{text}{style:#}")
        } else {
            write!(self.out, "{text}")
        };
    }

    /// `@@ -12 +14 @@ kernel`, with lines of both files.
    fn heading(&mut self, change: &Change, hunk: &Hunk) {
        let first = |side: fn(&Line) -> Option<Span>, kind: LineKind| {
            // A moved line stands in another place of the other text.
            hunk.lines.iter().filter(|line| line.kind != kind).find_map(side)
        };
        let old = first(|line| line.old, LineKind::MovedHere);
        let new = first(|line| line.new, LineKind::MovedAway);
        self.place(old, new, &subject(change));
    }

    fn rename(&mut self, change: &Change) {
        let start = |part: &Option<Part>| part.as_ref().map(|part| part.span);
        self.place(start(&change.old), start(&change.new), &subject(change));
    }

    fn place(&mut self, old: Option<Span>, new: Option<Span>, subject: &str) {
        let mut place = String::from("@@");
        for (sign, text, span) in [('-', &self.compared.old, old), ('+', &self.compared.new, new)] {
            if let Some(span) = span {
                let _ = write!(place, " {sign}{}", text.line(span));
            }
        }
        place += " @@";
        self.part(PLACE, &place);
        let _ = writeln!(self.out, " {}", visible(subject));
    }

    fn hunk(&mut self, hunk: &Hunk) {
        let mut at = 0;
        while at < hunk.lines.len() {
            if let Some(same) = hunk.equivalences.iter().find(|it| it.first == at) {
                self.equivalence(same, &hunk.lines[same.first..=same.last]);
            }
            at += match hunk.lines[at].kind {
                LineKind::Same => {
                    self.same(&hunk.lines[at]);
                    1
                }
                _ => self.block(&hunk.lines[at..]),
            };
        }
    }

    /// Writes the lines up to the next equal line, and returns their number.
    fn block(&mut self, lines: &[Line]) -> usize {
        let count = lines.iter().take_while(|line| line.kind != LineKind::Same).count();
        let is_old = |line: &&Line| matches!(line.kind, LineKind::Removed | LineKind::MovedAway);
        let (old, new) = lines[..count].split_at(lines.iter().take_while(is_old).count());
        if let Some(width) = self.look.side_by_side {
            self.rows(old, new, width);
        } else {
            self.one_side(old, new);
            self.one_side(new, old);
        }
        count
    }

    /// Writes the lines of one text, and marks the parts that differ from the other text.
    fn one_side(&mut self, lines: &[Line], others: &[Line]) {
        let mut at = 0;
        while at < lines.len() {
            let kind = lines[at].kind;
            let follows = |pair: &&[Line]| self.compared.is_one_block(&pair[0], &pair[1]);
            let mut run = 1;
            if is_moved(kind) {
                run += lines[at..].windows(2).take_while(follows).count();
                self.moved(&lines[at..at + run]);
            }
            for (line, place) in lines[at..at + run].iter().zip(at..) {
                let partner = others.get(place).filter(|_| lines.len() == others.len());
                let (sign, style) = look_of(kind);
                self.part(style, sign);
                self.marked(line, partner, style);
                self.out.push('\n');
            }
            at += run;
        }
    }

    /// Writes a note that the old and the new lines compute the same.
    fn equivalence(&mut self, same: &Equivalence, lines: &[Line]) {
        let count = |side: fn(&Line) -> Option<Span>, moved: LineKind| {
            lines.iter().filter(|line| side(line).is_some() && line.kind != moved).count()
        };
        let before = count(|line| line.old, LineKind::MovedHere);
        let after = count(|line| line.new, LineKind::MovedAway);
        let (are, compute) = if before == 1 { ("", "computes") } else { ("s", "compute") };
        let tried = || format!(" on {} inputs tried", Equivalence::TRIED);
        let of = if same.proven { String::new() } else { tried() };
        let note = format!("~ {before} statement{are} {compute} the same as the new {after}{of}");
        self.line(NOTE, &note);
    }

    /// Writes a note on where a moved block went, or came from.
    fn moved(&mut self, lines: &[Line]) {
        let count = counted(lines.len(), "statement");
        let first = &lines[0];
        let note = match (first.kind, first.old, first.new) {
            (LineKind::MovedAway, _, Some(new)) => {
                format!("~ {count} moved to line {}", self.compared.new.line(new))
            }
            (_, Some(old), _) => {
                format!("~ {count} moved from line {}", self.compared.old.line(old))
            }
            _ => return,
        };
        self.line(NOTE, &note);
    }

    fn same(&mut self, line: &Line) {
        let text = indented(line);
        if let Some(width) = self.look.side_by_side {
            let left = cut(&text, (width - 3) / 2);
            let _ = writeln!(self.out, "{left}   {}", cut(&text, (width - 3) / 2).trim_end());
        } else {
            let _ = writeln!(self.out, " {text}");
        }
    }

    /// Writes a line. The part that differs from its partner in the other text is in reverse video.
    /// A very long line is shortened before and after this part.
    fn marked(&mut self, line: &Line, partner: Option<&Line>, style: Style) {
        let text = indented(line);
        let is_long = text.len() > LONG;
        let middle = partner.filter(|_| self.look.color || is_long).and_then(|other| {
            let other = indented(other);
            let alike = text.split_whitespace().next() == other.split_whitespace().next();
            alike.then(|| different(&text, &other))
        });
        let middle = middle.unwrap_or(text.len()..text.len());
        let [before, after] = [&text[..middle.start], &text[middle.end..]];
        if is_long {
            self.part(style, &shortened(before, LONG / 4, LONG / 4));
            self.part(style.invert(), &shortened(&text[middle], LONG / 4, LONG / 4));
            self.part(style, &shortened(after, LONG / 4, 40));
        } else {
            self.part(style, before);
            self.part(style.invert(), &text[middle]);
            self.part(style, after);
        }
    }

    /// Writes the lines of both texts side by side.
    fn rows(&mut self, old: &[Line], new: &[Line], width: usize) {
        let half = (width - 3) / 2;
        for at in 0..old.len().max(new.len()) {
            let (left, right) = (old.get(at), new.get(at));
            let text = left.map(indented).unwrap_or_default();
            self.part(left.map_or(Style::new(), |line| look_of(line.kind).1), &cut(&text, half));
            let sign = match (left, right) {
                (Some(_), Some(_)) => " | ",
                (Some(_), None) => " < ",
                _ => " > ",
            };
            self.out.push_str(if right.is_none() { sign.trim_end() } else { sign });
            if let Some(line) = right {
                let text = cut(&indented(line), half);
                self.part(look_of(line.kind).1, text.trim_end());
            }
            self.out.push('\n');
        }
    }
}

/// The name of the function or other part that a change is about, for people.
fn subject(change: &Change) -> String {
    match (&change.old, &change.new) {
        _ if change.subject == Subject::Module => "outside of functions".into(),
        (Some(old), Some(new)) if old.name != new.name => {
            let renamed = if change.kind == ChangeKind::Renamed { " (renamed)" } else { "" };
            format!("{} -> {}{renamed}", old.name, new.name)
        }
        (_, Some(new)) if change.kind == ChangeKind::Added => format!("{} (added)", new.name),
        (_, Some(new)) => new.name.clone(),
        (Some(old), None) => format!("{} (removed)", old.name),
        (None, None) => String::new(),
    }
}

fn is_moved(kind: LineKind) -> bool {
    matches!(kind, LineKind::MovedAway | LineKind::MovedHere)
}

fn look_of(kind: LineKind) -> (&'static str, Style) {
    match kind {
        LineKind::Same => (" ", Style::new()),
        LineKind::Removed => ("-", REMOVED),
        LineKind::Added => ("+", ADDED),
        LineKind::MovedAway => ("-", MOVED_AWAY),
        LineKind::MovedHere => ("+", MOVED_HERE),
    }
}

fn indented(line: &Line) -> String {
    let is_label = line.text.ends_with(':');
    let depth = usize::from(line.depth).saturating_sub(usize::from(is_label));
    // Deep blocks would push the text off the screen.
    let width = INDENT * depth.min(16);
    visible(&format!("{:width$}{}", "", line.text)).into_owned()
}

/// The part of a text that differs from another one, in whole words.
fn different(text: &str, other: &str) -> std::ops::Range<usize> {
    let words = |text: &str| -> Vec<usize> {
        let is_word = |c: char| c.is_alphanumeric() || matches!(c, '%' | '_' | '$');
        let mut ends = vec![0];
        let mut was_word = false;
        for (at, c) in text.char_indices() {
            if at > 0 && !(was_word && is_word(c)) {
                ends.push(at);
            }
            was_word = is_word(c);
        }
        ends.push(text.len());
        ends
    };
    let (own, others) = (words(text), words(other));
    let word = |text: &str, ends: &[usize], at: usize| text[ends[at]..ends[at + 1]].to_string();
    let (count, other_count) = (own.len() - 1, others.len() - 1);
    let least = count.min(other_count);
    let before = (0..least).take_while(|&at| word(text, &own, at) == word(other, &others, at));
    let before = before.count();
    let after = (0..least - before).take_while(|&at| {
        word(text, &own, count - 1 - at) == word(other, &others, other_count - 1 - at)
    });
    let after = after.count();
    own[before]..own[count - after]
}

/// A text whose middle is left out, if it is longer than the ends that are kept.
fn shortened(text: &str, start: usize, end: usize) -> Cow<'_, str> {
    let boundary = |from: usize| (from..text.len()).find(|at| text.is_char_boundary(*at));
    let end = boundary(text.len().saturating_sub(end)).unwrap_or(text.len());
    let start = boundary(start).filter(|start| *start < end);
    let Some(start) = start else { return text.into() };
    format!("{} … {} bytes … {}", &text[..start], end - start, &text[end..]).into()
}

/// A text, cut or padded to a number of columns.
fn cut(text: &str, width: usize) -> String {
    let length = text.chars().count();
    if length <= width {
        return format!("{text:width$}");
    }
    let kept: String = text.chars().take(width.saturating_sub(1)).collect();
    kept + "…"
}
