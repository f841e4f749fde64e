//! Code quality reports of GitLab: one JSON array.

use std::collections::HashMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::FileReport;
use super::json::to_writer;
use super::sarif::{Fingerprints, fnv1a};
use super::visible::distinct;
use crate::diagnostic::{Code, Severity};
use crate::source::LineIndex;

/// A document being written.
#[derive(Debug, Default)]
pub(super) struct Gitlab {
    begun: bool,
    /// Fingerprints by relative path: a file may be reported as both `a` and `./a`.
    fingerprints: HashMap<String, Fingerprints>,
}

#[derive(Serialize)]
struct Issue<'a> {
    description: &'a str,
    check_name: Code,
    fingerprint: String,
    severity: &'static str,
    location: Location<'a>,
}

#[derive(Serialize)]
struct Location<'a> {
    path: &'a str,
    lines: Lines,
}

#[derive(Serialize)]
struct Lines {
    begin: u32,
    end: u32,
}

impl Gitlab {
    /// Adds a file that has findings.
    pub(super) fn file(
        &mut self,
        out: &mut impl Write,
        file: &FileReport<'_>,
        index: &LineIndex,
    ) -> io::Result<()> {
        let path = relative(file.path);
        let fingerprints = self.fingerprints.entry(path.clone()).or_default();
        fingerprints.next_file();
        for diagnostic in file.diagnostics {
            let code = diagnostic.code;
            let (line, number) = fingerprints.parts(diagnostic, file.source, index);
            let issue = Issue {
                description: &diagnostic.message,
                check_name: code,
                fingerprint: format!("{:016x}{line:016x}-{code}-{number}", fnv1a(path.as_bytes())),
                severity: match diagnostic.severity {
                    Severity::Error => "major",
                    Severity::Warning => "minor",
                    Severity::Note => "info",
                },
                location: Location {
                    path: &path,
                    lines: Lines {
                        begin: index.position(file.source, diagnostic.span.start).line,
                        end: index.position(file.source, diagnostic.span.end).line,
                    },
                },
            };
            let separator = if std::mem::replace(&mut self.begun, true) { ",\n" } else { "[\n" };
            out.write_all(separator.as_bytes())?;
            to_writer(&mut *out, &issue)?;
        }
        Ok(())
    }

    /// Ends the document.
    pub(super) fn finish(self, out: &mut impl Write) -> io::Result<()> {
        out.write_all(if self.begun { b"\n]\n" } else { b"[]\n" })
    }
}

/// The path relative to the current folder, if the path lies inside. The current folder is the
/// top of the repository.
fn relative(path: &Path) -> String {
    let folder = std::env::current_dir().unwrap_or_default();
    // A `.` inside the path is dropped, too.
    let path: PathBuf = path.strip_prefix(&folder).unwrap_or(path).components().collect();
    let path = path.strip_prefix(".").unwrap_or(&path);
    match path.to_str() {
        Some(text) => text.replace(std::path::MAIN_SEPARATOR, "/"),
        None => distinct(path.as_os_str().as_encoded_bytes()),
    }
}
