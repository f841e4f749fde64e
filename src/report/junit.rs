//! `JUnit` XML: a suite per file, a test case per finding.

use std::borrow::Cow;
use std::io::{self, Write};

use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesEnd, BytesStart, BytesText, Event};

use super::{FileReport, with_help};
use crate::diagnostic::{Diagnostic, Severity};
use crate::source::LineIndex;

/// The element around all suites; it goes out bit by bit.
const ROOT: &str = "testsuites";

/// A document in the making.
#[derive(Debug, Default)]
pub(super) struct Junit {
    begun: bool,
}

impl Junit {
    /// Adds a file that has findings.
    pub(super) fn file(
        &mut self,
        out: &mut impl Write,
        file: &FileReport<'_>,
        index: &LineIndex,
    ) -> io::Result<()> {
        let failures = file.diagnostics.iter().filter(|diagnostic| is_failure(diagnostic)).count();
        self.suite(out, file.path, file.diagnostics.len(), failures, |xml| {
            file.diagnostics.iter().try_for_each(|diagnostic| case(xml, file, diagnostic, index))
        })
    }

    /// Adds a file that has none: a test that passed.
    pub(super) fn clean(&mut self, out: &mut impl Write, path: &str) -> io::Result<()> {
        self.suite(out, path, 1, 0, |xml| {
            xml.create_element("testcase")
                .with_attribute(("name", "no findings"))
                .with_attribute(("classname", &*legal(path)))
                .write_empty()?;
            Ok(())
        })
    }

    /// Ends the document.
    pub(super) fn finish(mut self, out: &mut impl Write) -> io::Result<()> {
        self.begin(out)?;
        let mut xml = Writer::new(&mut *out);
        xml.write_event(Event::End(BytesEnd::new(ROOT)))?;
        out.write_all(b"\n")
    }

    fn begin(&mut self, out: &mut impl Write) -> io::Result<()> {
        if std::mem::replace(&mut self.begun, true) {
            return Ok(());
        }
        let mut xml = Writer::new_with_indent(&mut *out, b' ', 2);
        xml.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
        let root = BytesStart::new(ROOT).with_attributes([("name", "vptx")]);
        xml.write_event(Event::Start(root))?;
        out.write_all(b"\n")
    }

    fn suite<W: Write>(
        &mut self,
        out: &mut W,
        path: &str,
        tests: usize,
        failures: usize,
        cases: impl FnOnce(&mut Writer<&mut W>) -> io::Result<()>,
    ) -> io::Result<()> {
        self.begin(out)?;
        let mut xml = Writer::new_with_indent(&mut *out, b' ', 2);
        xml.create_element("testsuite")
            .with_attribute(("name", &*legal(path)))
            .with_attribute(("tests", &*tests.to_string()))
            .with_attribute(("failures", &*failures.to_string()))
            .with_attribute(("errors", "0"))
            .with_attribute(("skipped", "0"))
            .write_inner_content(cases)?;
        out.write_all(b"\n")
    }
}

/// Notes ask for no change, so they fail nothing.
fn is_failure(diagnostic: &Diagnostic) -> bool {
    diagnostic.severity != Severity::Note
}

fn case(
    xml: &mut Writer<impl Write>,
    file: &FileReport<'_>,
    diagnostic: &Diagnostic,
    index: &LineIndex,
) -> io::Result<()> {
    let Diagnostic { code, severity, span, message, .. } = diagnostic;
    let at = index.position(file.source, span.start);
    let path = file.path;
    // Tests are told apart by their names.
    let name = format!("{code} {} {}:{}", code.name(), at.line, at.column);
    let place = format!("{path}:{}:{}", at.line, at.column);
    let body = format!("{place}: {severity}[{code}]: {}", with_help(diagnostic, "\n"));
    let body = legal(&body);
    let text = BytesText::new(&body);
    xml.create_element("testcase")
        .with_attribute(("name", &*name))
        .with_attribute(("classname", &*legal(path)))
        .write_inner_content(|xml| {
            if is_failure(diagnostic) {
                xml.create_element("failure")
                    .with_attribute(("type", &*severity.to_string()))
                    .with_attribute(("message", &*legal(message)))
                    .write_text_content(text)?;
            } else {
                xml.create_element("system-out").write_text_content(text)?;
            }
            Ok(())
        })?;
    Ok(())
}

/// The text without what XML cannot hold, not even escaped.
fn legal(text: &str) -> Cow<'_, str> {
    let illegal = |c: char| matches!(c, '\0'..='\x08' | '\x0b' | '\x0c' | '\x0e'..='\x1f' | '\u{fffe}' | '\u{ffff}');
    if text.contains(illegal) { text.replace(illegal, "\u{fffd}").into() } else { text.into() }
}
