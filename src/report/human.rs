//! Source excerpts for people, drawn by miette.

use std::fmt;
use std::io::{self, Write};

use miette::{
    GraphicalReportHandler, GraphicalTheme, MietteError, MietteSpanContents, SourceCode,
    SourceSpan, SpanContents, ThemeCharacters, ThemeStyles,
};

use super::visible::{is_hidden, visible, visible_lines, visible_path};
use super::{FileReport, TextFacts};
use crate::diagnostic::{Applicability, Diagnostic, Label};
use crate::source::{LineIndex, Span};

/// The abilities of the terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Style {
    /// Colours, by ANSI escapes.
    pub(crate) color: bool,
    /// Lines and arrows beyond ASCII.
    pub(crate) unicode: bool,
    /// The number of columns after which text is wrapped.
    pub(crate) width: usize,
}

impl Style {
    /// The style for a file that may be read anywhere, later.
    pub(crate) const FILE: Style = Style { color: false, unicode: true, width: 80 };

    fn handler(self) -> GraphicalReportHandler {
        let theme = GraphicalTheme {
            characters: if self.unicode {
                ThemeCharacters::unicode()
            } else {
                ThemeCharacters::ascii()
            },
            styles: if self.color { ThemeStyles::ansi() } else { ThemeStyles::none() },
        };
        GraphicalReportHandler::new_themed(theme)
            .with_width(self.width)
            // Requests lines; see `read_span`.
            .with_context_lines(1)
            .tab_width(4)
    }
}

pub(super) fn write(
    out: &mut impl Write,
    style: &Style,
    file: &FileReport<'_>,
    TextFacts { index, printable: shown }: &TextFacts,
) -> io::Result<()> {
    let handler = style.handler();
    let display = shown.get_or_init(|| printable(file.source));
    let path = visible_path(file.path);
    let text = Excerpts { path: &path, text: display.as_deref().unwrap_or(file.source), index };
    let mut drawn = String::new();
    for diagnostic in file.diagnostics {
        drawn.clear();
        let help = help(diagnostic, file, &path, index);
        let shown = Shown { diagnostic, text: &text, help };
        handler.render_report(&mut drawn, &shown).map_err(io::Error::other)?;
        // The handler pads lines; trailing blanks only make diffs noisy.
        for line in drawn.lines() {
            writeln!(out, "{}", line.trim_end())?;
        }
        writeln!(out)?;
    }
    Ok(())
}

/// The help of a finding, other places to look at, and the title of its fix if that fix is
/// safe.
fn help(
    diagnostic: &Diagnostic,
    file: &FileReport<'_>,
    path: &str,
    index: &LineIndex,
) -> Option<String> {
    let help = diagnostic.help.iter();
    let mut lines: Vec<String> = help.map(|help| visible_lines(help).into_owned()).collect();
    for label in diagnostic.labels.iter().filter(|label| !is_near(diagnostic, label, index)) {
        let at = index.position(file.source, label.span.start);
        lines.push(format!("{}: {path}:{}:{}", visible(&label.text), at.line, at.column));
    }
    let fix = diagnostic.fixes.first().filter(|fix| fix.applicability == Applicability::Safe);
    lines.extend(fix.map(|fix| format!("fix: {}", visible(&fix.title))));
    (!lines.is_empty()).then(|| lines.join("\n"))
}

/// Whether a label is drawn in the excerpt of its finding. A label far away would get another
/// excerpt, perhaps even before the excerpt of the finding.
fn is_near(diagnostic: &Diagnostic, label: &Label, index: &LineIndex) -> bool {
    index.line(diagnostic.span.start).abs_diff(index.line(label.span.start)) <= 3
}

/// The text with each hidden character replaced by a mark of as many bytes and one
/// column, so that a file cannot send commands to the terminal. Returns `None` if no
/// character is hidden.
fn printable(text: &str) -> Option<String> {
    let control = |byte: u8| byte.is_ascii_control() && byte != b'\n' && byte != b'\t';
    // In chunks without branches, so that the compiler uses vector instructions.
    let found = text.as_bytes().chunks(1024).any(|piece| {
        let bytes = piece.iter();
        bytes.fold(false, |found, &byte| found | control(byte))
    });
    let bad = |c: char| is_hidden(c) && c != '\n' && c != '\t';
    (found || !text.is_ascii() && text.contains(bad)).then(|| {
        text.chars()
            .map(|c| match (c, c.len_utf8()) {
                ('\r', _) => ' ',
                (c, 1) if bad(c) => '?',
                (c, 2) if bad(c) => '¿',
                (c, 3) if bad(c) => '\u{fffd}',
                // A pattern of squares.
                (c, _) if bad(c) => '\u{1fb95}',
                _ => c,
            })
            .collect()
    })
}

/// A diagnostic with its text.
struct Shown<'a> {
    diagnostic: &'a Diagnostic,
    text: &'a Excerpts<'a>,
    help: Option<String>,
}

impl fmt::Debug for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.diagnostic.fmt(f)
    }
}

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&visible(&self.diagnostic.message))
    }
}

impl std::error::Error for Shown<'_> {}

impl miette::Diagnostic for Shown<'_> {
    fn code(&self) -> Option<Box<dyn fmt::Display + '_>> {
        let Diagnostic { code, severity, .. } = self.diagnostic;
        Some(Box::new(format!("{severity}[{code}] {}", code.name())))
    }

    fn severity(&self) -> Option<miette::Severity> {
        self.diagnostic.severity()
    }

    fn help(&self) -> Option<Box<dyn fmt::Display + '_>> {
        self.help.as_ref().map(|help| Box::new(help) as _)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = miette::LabeledSpan> + '_>> {
        let near = self
            .diagnostic
            .labels
            .iter()
            .map(|label| is_near(self.diagnostic, label, self.text.index));
        // The finding's own label comes first and always stays.
        let keep: Vec<bool> = std::iter::once(true).chain(near).collect();
        let labels = miette::Diagnostic::labels(self.diagnostic)?;
        let labels = labels.zip(keep).filter(|(_, keep)| *keep).map(|(mut label, _)| {
            label.set_label(label.label().map(|text| visible(text).into_owned()));
            label
        });
        Some(Box::new(labels))
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        Some(self.text)
    }
}

/// Finds excerpts with a line index. miette's own source scans the text again for each excerpt.
struct Excerpts<'a> {
    path: &'a str,
    text: &'a str,
    index: &'a LineIndex,
}

impl fmt::Debug for Excerpts<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.path)
    }
}

/// Lines longer than this are shown in part.
const LONG_LINE: usize = 400;
/// At most this many lines are shown of one place.
const MANY_LINES: usize = 12;
/// The number of bytes of a long line that are shown on each side of a span.
const AROUND: usize = 60;

impl SourceCode for Excerpts<'_> {
    fn read_span<'a>(
        &'a self,
        span: &SourceSpan,
        before: usize,
        after: usize,
    ) -> Result<Box<dyn SpanContents<'a> + 'a>, MietteError> {
        let (start, end) = (span.offset(), span.offset() + span.len());
        if end > self.text.len() {
            return Err(MietteError::OutOfBounds);
        }
        // Without context, the handler asks for the line and column in the header. With
        // context, it asks for the lines to draw, which are only the lines of the labels.
        if before == 0 && after == 0 {
            let at = self.index.position(self.text, start as u32);
            return Ok(Box::new(MietteSpanContents::new_named(
                self.path.to_string(),
                &self.text.as_bytes()[start..end],
                *span,
                at.line as usize - 1,
                at.column as usize - 1,
                1,
            )));
        }
        let first = self.index.line(start as u32);
        // Of too many lines, or of a long line, only the start is shown.
        let last = self.index.line(end as u32).min(first + MANY_LINES - 1);
        let lines = Span::new(self.index.line_span(first).start, self.index.line_span(last).end);
        let mut range = lines.range();
        if range.len() > LONG_LINE * (last - first + 1) {
            let boundary = |mut at: usize| {
                while !self.text.is_char_boundary(at) {
                    at -= 1;
                }
                at
            };
            // Of a very long span, only the start is shown.
            let shown_end = end.min(start + LONG_LINE);
            range.start = boundary(range.start.max(start.saturating_sub(AROUND)));
            range.end = boundary(range.end.min(shown_end + AROUND)).max(range.start);
        }
        let at = self.index.position(self.text, range.start as u32);
        Ok(Box::new(MietteSpanContents::new_named(
            self.path.to_string(),
            &self.text.as_bytes()[range.clone()],
            (range.start, range.len()).into(),
            at.line as usize - 1,
            at.column as usize - 1,
            last - first + 1,
        )))
    }
}
