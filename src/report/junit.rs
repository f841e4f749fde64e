//! `JUnit` XML: a suite for each file, a test case for each finding. A suite starts
//! with the counts of its tests, so each batch of findings of a file gets another suite.

use std::io::{self, Write};
use std::path::Path;

use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesEnd, BytesStart, BytesText, Event};

use super::visible::{distinct, visible, visible_lines};
use super::{Fails, FileReport, with_help};
use crate::diagnostic::Diagnostic;
use crate::source::{LineIndex, Position};

/// The element around all suites. Its content is written piece by piece.
const ROOT: &str = "testsuites";

/// A document being written.
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
        fails: &Fails,
    ) -> io::Result<()> {
        let is_failure = |diagnostic: &Diagnostic| fails(diagnostic);
        let failures = file.diagnostics.iter().filter(|&it| is_failure(it)).count();
        let path = name(file.path);
        self.suite(out, &path, file.diagnostics.len(), failures, |xml| {
            file.diagnostics.iter().try_for_each(|diagnostic| {
                let at = index.position(file.source, diagnostic.span.start);
                case(xml, &path, diagnostic, at, is_failure(diagnostic))
            })
        })
    }

    /// Adds a file without findings, as a test that passed.
    pub(super) fn clean(&mut self, out: &mut impl Write, path: &Path) -> io::Result<()> {
        let path = name(path);
        self.suite(out, &path, 1, 0, |xml| {
            xml.create_element("testcase")
                .with_attribute(("name", "no findings"))
                .with_attribute(("classname", &*path))
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
            .with_attribute(("name", path))
            .with_attribute(("tests", &*tests.to_string()))
            .with_attribute(("failures", &*failures.to_string()))
            .with_attribute(("errors", "0"))
            .with_attribute(("skipped", "0"))
            .write_inner_content(cases)?;
        out.write_all(b"\n")
    }
}

/// A file's name, with escapes for the characters that XML cannot hold in any form. No two names
/// become equal.
fn name(path: &Path) -> String {
    distinct(path.as_os_str().as_encoded_bytes())
}

/// Writes one test for a finding. A finding that does not make the run fail is a passed
/// test.
fn case(
    xml: &mut Writer<impl Write>,
    path: &str,
    diagnostic: &Diagnostic,
    at: Position,
    fails: bool,
) -> io::Result<()> {
    let Diagnostic { code, severity, message, .. } = diagnostic;
    // Consumers identify tests by their names.
    let name = format!("{code} {} {}:{}", code.name(), at.line, at.column);
    let place = format!("{path}:{}:{}", at.line, at.column);
    let text = with_help(diagnostic, "\n");
    let body = format!("{place}: {severity}[{code}]: {}", visible_lines(&text));
    let text = BytesText::new(&body);
    xml.create_element("testcase")
        .with_attribute(("name", &*name))
        .with_attribute(("classname", path))
        .write_inner_content(|xml| {
            if fails {
                xml.create_element("failure")
                    .with_attribute(("type", &*severity.to_string()))
                    .with_attribute(("message", &*visible(message)))
                    .write_text_content(text)?;
            } else {
                xml.create_element("system-out").write_text_content(text)?;
            }
            Ok(())
        })?;
    Ok(())
}
