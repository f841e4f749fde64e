//! Findings that are known, and not to be reported again.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::files::replace;
use super::input::reason;
use crate::diagnostic::Diagnostic;
use crate::report::visible_path;
use crate::source::LineIndex;

/// What identifies a finding: its file, code and the text of its line, so that
/// it is known wherever the line moves.
type Key = (String, String, String);

/// The findings of a file of known ones, each with its number.
#[derive(Debug)]
pub(super) struct Baseline {
    file: PathBuf,
    /// The folder that paths in it start from.
    folder: PathBuf,
    known: BTreeMap<Key, usize>,
    /// Those that were met in this run.
    met: BTreeMap<Key, usize>,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Written {
    version: u32,
    findings: Vec<Finding>,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Finding {
    path: String,
    code: String,
    line: String,
    count: usize,
}

const VERSION: u32 = 1;

impl Baseline {
    /// Reads a file; one that is to be written may be missing.
    pub(super) fn read(file: &Path, update: bool) -> Result<Baseline, String> {
        let name = visible_path(file);
        let mut known = BTreeMap::new();
        match fs::read_to_string(file) {
            Ok(text) => {
                let anew = "remove it, and write another with `--update-baseline`";
                let Written { version, findings } = serde_json::from_str(&text)
                    .map_err(|_| format!("`{name}` is no baseline of vptx: {anew}"))?;
                if version != VERSION {
                    return Err(format!("`{name}` is of version {version}, not {VERSION}: {anew}"));
                }
                for Finding { path, code, line, count } in findings {
                    *known.entry((path, code, line)).or_default() += count;
                }
            }
            Err(error) if update && error.kind() == io::ErrorKind::NotFound => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(format!("there is no `{name}`: `--update-baseline` makes it"));
            }
            Err(error) => return Err(format!("cannot read `{name}`: {}", reason(&error))),
        }
        let parent = file.parent().filter(|parent| !parent.as_os_str().is_empty());
        let folder = fs::canonicalize(parent.unwrap_or(Path::new(".")))
            .map_err(|error| format!("cannot find the folder of `{name}`: {}", reason(&error)))?;
        Ok(Baseline { file: file.to_path_buf(), folder, known, met: BTreeMap::new() })
    }

    /// Removes the findings that are known, and remembers all.
    pub(super) fn take(
        &mut self,
        path: Option<&Path>,
        source: &str,
        diagnostics: &mut Vec<Diagnostic>,
    ) {
        // What comes by a pipe has no place to come back to.
        let Some(path) = path.filter(|_| !diagnostics.is_empty()) else {
            return;
        };
        let path = self.name(path);
        let index = LineIndex::new(source);
        diagnostics.retain(|Diagnostic { code, span, .. }| {
            let line = index.line_span(index.line(span.start)).text(source).trim();
            let key = (path.clone(), code.text().to_string(), line.to_string());
            let known = self.known.get(&key).copied().unwrap_or(0);
            let met = self.met.entry(key).or_default();
            *met += 1;
            *met > known
        });
    }

    /// A path as the file names it.
    fn name(&self, path: &Path) -> String {
        let path = path.strip_prefix(&self.folder).unwrap_or(path);
        path.to_string_lossy().replace('\\', "/")
    }

    /// How many known findings did not come up in the files that were read.
    pub(super) fn gone<'p>(&self, paths: impl Iterator<Item = &'p Path>) -> usize {
        let paths: std::collections::BTreeSet<String> = paths.map(|path| self.name(path)).collect();
        self.known
            .iter()
            .filter(|((path, ..), _)| paths.contains(path))
            .map(|(key, count)| count.saturating_sub(self.met.get(key).copied().unwrap_or(0)))
            .sum()
    }

    /// Writes what was met in place of what was known of the files that were
    /// read, and says how many findings the file has.
    pub(super) fn write<'p>(&self, paths: impl Iterator<Item = &'p Path>) -> Result<usize, String> {
        let paths: std::collections::BTreeSet<String> = paths.map(|path| self.name(path)).collect();
        let kept = self.known.iter().filter(|((path, ..), _)| {
            // What was not looked at stays, unless it is gone.
            !paths.contains(path) && self.folder.join(path).exists()
        });
        let all: BTreeMap<&Key, &usize> = kept.chain(&self.met).collect();
        let findings: Vec<Finding> = all
            .into_iter()
            .map(|((path, code, line), count)| Finding {
                path: path.clone(),
                code: code.clone(),
                line: line.clone(),
                count: *count,
            })
            .collect();
        let total = findings.iter().map(|finding| finding.count).sum();
        let cannot = |error: io::Error| {
            format!("cannot write `{}`: {}", visible_path(&self.file), reason(&error))
        };
        let mut text = serde_json::to_string_pretty(&Written { version: VERSION, findings })
            .map_err(|error| cannot(error.into()))?;
        text.push('\n');
        replace(&self.file, &[text]).map_err(cannot)?;
        Ok(total)
    }
}
