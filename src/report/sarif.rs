//! SARIF 2.1.0, the format of code scanning. Section numbers refer to the standard.

use std::collections::{BTreeMap, HashMap};
use std::io::{self, Write};
use std::path::{MAIN_SEPARATOR, Path, PathBuf};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_encode};
use serde::Serialize;

use super::json::to_writer as json;
use super::{FileReport, with_help};
use crate::diagnostic::{self, Applicability, Code, Diagnostic, Docs, Severity};
use crate::source::{LineIndex, Span};

const SCHEMA: &str =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

/// A document being written. Results are written at once, their rules at the end.
#[derive(Debug, Default)]
pub(super) struct Sarif {
    docs: Docs,
    begun: bool,
    rules: Vec<Code>,
    /// The fingerprints of the last file. More findings of that file may follow.
    fingerprints: Option<(PathBuf, Fingerprints)>,
}

impl Sarif {
    /// A document whose rules link to these pages.
    pub(super) fn new(docs: Docs) -> Sarif {
        Sarif { docs, ..Sarif::default() }
    }

    /// Adds a file that has findings.
    pub(super) fn file(
        &mut self,
        out: &mut impl Write,
        file: &FileReport<'_>,
        index: &LineIndex,
    ) -> io::Result<()> {
        let places = Places { uri: &uri(file.path), source: file.source, index };
        let last = self.fingerprints.take().filter(|(path, _)| path == file.path);
        let (_, mut fingerprints) = last.unwrap_or_default();
        for diagnostic in file.diagnostics {
            let separator = if self.begun { ",\n" } else { "" };
            self.begin(out)?;
            out.write_all(separator.as_bytes())?;
            let rule = self.rule(diagnostic.code);
            json(out, &result(diagnostic, rule, &places, &mut fingerprints))?;
        }
        self.fingerprints = Some((file.path.to_path_buf(), fingerprints));
        Ok(())
    }

    /// Ends the document.
    pub(super) fn finish(mut self, out: &mut impl Write) -> io::Result<()> {
        self.begin(out)?;
        out.write_all(b"\n],\"tool\":")?;
        json(out, &tool(&self.rules, &self.docs))?;
        out.write_all(b"}]}\n")
    }

    fn begin(&mut self, out: &mut impl Write) -> io::Result<()> {
        if std::mem::replace(&mut self.begun, true) {
            return Ok(());
        }
        out.write_all(b"{\"$schema\":")?;
        json(out, &SCHEMA)?;
        out.write_all(b",\"version\":\"2.1.0\",\"runs\":[{")?;
        out.write_all(b"\"columnKind\":\"unicodeCodePoints\",\"results\":[\n")
    }

    /// The index of a code among the rules.
    fn rule(&mut self, code: Code) -> usize {
        self.rules.iter().position(|&rule| rule == code).unwrap_or_else(|| {
            self.rules.push(code);
            self.rules.len() - 1
        })
    }
}

#[derive(Serialize)]
struct Tool {
    driver: Driver,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Driver {
    name: &'static str,
    version: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    information_uri: Option<&'static str>,
    rules: Vec<Rule>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Rule {
    id: Code,
    name: &'static str,
    short_description: Text<&'static str>,
    full_description: Text<String>,
    default_configuration: Configuration,
    #[serde(skip_serializing_if = "Option::is_none")]
    help_uri: Option<String>,
    help: Help,
}

#[derive(Serialize)]
struct Configuration {
    level: Severity,
}

#[derive(Serialize)]
struct Help {
    text: &'static str,
    markdown: &'static str,
}

#[derive(Serialize)]
struct Text<T> {
    text: T,
}

fn tool(rules: &[Code], docs: &Docs) -> Tool {
    Tool {
        driver: Driver {
            name: env!("CARGO_PKG_NAME"),
            version: env!("CARGO_PKG_VERSION"),
            information_uri: Some(env!("CARGO_PKG_REPOSITORY")).filter(|uri| !uri.is_empty()),
            rules: rules.iter().map(|&code| rule(code, docs)).collect(),
        },
    }
}

fn rule(code: Code, docs: &Docs) -> Rule {
    let explanation = code.explanation().trim_end();
    let summary = explanation.lines().take_while(|line| !line.is_empty());
    Rule {
        id: code,
        name: code.name(),
        short_description: Text { text: code.title() },
        full_description: Text { text: summary.collect::<Vec<_>>().join(" ") },
        default_configuration: Configuration { level: code.severity() },
        help_uri: docs.url(code),
        help: Help { text: explanation, markdown: explanation },
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SarifResult<'a> {
    rule_id: Code,
    rule_index: usize,
    level: Severity,
    message: Text<String>,
    locations: [Location<'a>; 1],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    related_locations: Vec<Location<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    fixes: Vec<Fix<'a>>,
    partial_fingerprints: BTreeMap<&'static str, String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
// The standard gives these names.
#[allow(clippy::struct_field_names)]
struct Location<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<usize>,
    physical_location: PhysicalLocation<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<Text<String>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PhysicalLocation<'a> {
    artifact_location: ArtifactLocation<'a>,
    region: Region,
}

#[derive(Serialize)]
struct ArtifactLocation<'a> {
    uri: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Region {
    start_line: u32,
    start_column: u32,
    end_line: u32,
    end_column: u32,
    byte_offset: u32,
    byte_length: u32,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Fix<'a> {
    description: Text<String>,
    artifact_changes: [ArtifactChange<'a>; 1],
    properties: FixProperties,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ArtifactChange<'a> {
    artifact_location: ArtifactLocation<'a>,
    replacements: Vec<Replacement<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Replacement<'a> {
    deleted_region: Region,
    inserted_content: Text<&'a str>,
}

#[derive(Serialize)]
struct FixProperties {
    applicability: Applicability,
}

fn result<'a>(
    diagnostic: &'a Diagnostic,
    rule_index: usize,
    places: &Places<'a>,
    fingerprints: &mut Fingerprints,
) -> SarifResult<'a> {
    let Diagnostic { code, severity, span, label, labels, fixes, .. } = diagnostic;
    let related = labels.iter().enumerate().map(|(before, label)| Location {
        id: Some(before + 1),
        ..places.location(label.span, &label.text)
    });
    SarifResult {
        rule_id: *code,
        rule_index,
        level: *severity,
        message: message(&with_help(diagnostic, "\n\n")),
        locations: [places.location(*span, label)],
        related_locations: related.collect(),
        fixes: fixes
            .iter()
            // A consumer would offer to apply a fix that is only for display.
            .filter(|fix| fix.applicability != Applicability::DisplayOnly)
            .map(|fix| places.fix(fix))
            .collect(),
        partial_fingerprints: BTreeMap::from([("vptx/v1", fingerprints.next(diagnostic, places))]),
    }
}

/// A message string. Braces mark arguments (3.11.5) and `](` is the middle of a link
/// (3.11.6); text of the file must not become either.
fn message(text: &str) -> Text<String> {
    Text { text: text.replace('{', "{{").replace('}', "}}").replace("](", "\\](") }
}

/// Makes locations in a file.
struct Places<'a> {
    uri: &'a str,
    source: &'a str,
    index: &'a LineIndex,
}

impl<'a> Places<'a> {
    fn region(&self, span: Span) -> Region {
        let start = self.index.position(self.source, span.start);
        let end = self.index.position(self.source, span.end);
        Region {
            start_line: start.line,
            start_column: start.column,
            end_line: end.line,
            end_column: end.column,
            byte_offset: span.start,
            byte_length: span.len(),
        }
    }

    fn location(&self, span: Span, text: &str) -> Location<'a> {
        Location {
            id: None,
            physical_location: PhysicalLocation {
                artifact_location: ArtifactLocation { uri: self.uri },
                region: self.region(span),
            },
            message: (!text.is_empty()).then(|| message(text)),
        }
    }

    fn fix(&self, fix: &'a diagnostic::Fix) -> Fix<'a> {
        let replacements = fix.edits.iter().map(|edit| Replacement {
            deleted_region: self.region(edit.span),
            inserted_content: Text { text: &edit.replacement },
        });
        Fix {
            description: message(&fix.title),
            artifact_changes: [ArtifactChange {
                artifact_location: ArtifactLocation { uri: self.uri },
                replacements: replacements.collect(),
            }],
            properties: FixProperties { applicability: fix.applicability },
        }
    }
}

/// All characters but `/`, which a path on Windows may have, and the unreserved ones of RFC 3986.
const ESCAPED: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b'/');

/// The path as a URI that keeps each byte. The URI is relative if the path is.
pub(crate) fn uri(path: &Path) -> String {
    if path == Path::new("<stdin>") {
        return "stdin".into();
    }
    let bytes = path.as_os_str().as_encoded_bytes();
    let mut uri = String::with_capacity(bytes.len());
    if path.is_absolute() {
        // A path that starts with a drive has no leading slash.
        uri.push_str(if bytes.starts_with(b"/") { "file://" } else { "file:///" });
    }
    // Each byte is part of the name, even if it is not UTF-8.
    for part in bytes.split(|&byte| char::from(byte) == MAIN_SEPARATOR) {
        uri.extend(percent_encode(part, ESCAPED));
        uri.push('/');
    }
    uri.pop();
    uri
}

/// Fingerprints, which tell findings of a file apart even when lines are added above them:
/// the code of a finding, the text of its line, and its number among findings with the same code
/// and text.
#[derive(Debug, Default)]
pub(super) struct Fingerprints {
    /// The number of the last finding's line, and the hash of that line. Lines can be long and have
    /// many findings.
    line: Option<(usize, u64)>,
    seen: HashMap<(Code, u64), u32>,
}

impl Fingerprints {
    /// Starts another text: the next lines belong to it.
    pub(super) fn next_file(&mut self) {
        self.line = None;
    }

    fn next(&mut self, diagnostic: &Diagnostic, places: &Places) -> String {
        let (text, number) = self.parts(diagnostic, places.source, places.index);
        format!("{}:{text:016x}:{number}", diagnostic.code)
    }

    /// The hash of a finding's line, and the finding's number.
    pub(super) fn parts(
        &mut self,
        diagnostic: &Diagnostic,
        source: &str,
        index: &LineIndex,
    ) -> (u64, u32) {
        let line = index.line(diagnostic.span.start);
        let text = match self.line {
            Some((last, text)) if last == line => text,
            _ => fnv1a(index.line_span(line).text(source).trim().as_bytes()),
        };
        self.line = Some((line, text));
        let number = self.seen.entry((diagnostic.code, text)).or_default();
        *number += 1;
        (text, *number)
    }
}

/// The FNV-1a hash. The standard library's hashes may change between versions of Rust.
pub(super) fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_hold_neither_placeholders_nor_links() {
        assert_eq!(message("`{lo, hi}` of {0}").text, "`{{lo, hi}}` of {{0}}");
        assert_eq!(message("`[here](http://a)`").text, "`[here\\](http://a)`");
        assert_eq!(message("an address `[a+4]`").text, "an address `[a+4]`");
    }

    #[test]
    fn hashes_are_those_of_fnv() {
        // The values come from the tests of the reference implementation.
        assert_eq!(fnv1a(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv1a(b"foobar"), 0x8594_4171_f739_67e8);
    }
}
