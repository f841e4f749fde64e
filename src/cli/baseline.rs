//! Known findings, which are not reported again.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::iter;
use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::diagnostic::{Code, Diagnostic};
use crate::hash::Map;
use crate::report::visible_path;
use crate::source::LineIndex;
use crate::workspace::error::FileError;
use crate::workspace::files::{Access, Stamp, create, read_text, replace};
use crate::workspace::temporary::Lock;

/// The identity of a finding: its file, its code and the text of its line. A finding
/// stays known wherever its line moves.
type Key = (String, String, String);

/// How often each finding occurs.
type Counts = BTreeMap<Key, usize>;

/// The known findings of a baseline file.
#[derive(Debug)]
pub(super) struct Baseline {
    file: PathBuf,
    /// The folder to which the paths in the file are relative.
    folder: PathBuf,
    known: Counts,
    /// The findings of this run.
    met: Counts,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct BaselineFile {
    version: u64,
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

const VERSION: u64 = 1;

/// Why the file of known findings is not used or written.
#[derive(Debug, Error)]
pub(super) enum BaselineError {
    #[error(transparent)]
    File(#[from] FileError),
    #[error("`{0}` is not a baseline of vptx: {ANEW}")]
    Other(String),
    #[error("`{name}` has version {version}, not {VERSION}: {ANEW}")]
    Version { name: String, version: u64 },
    #[error("there is no `{0}`: `--update-baseline` creates it")]
    Missing(String),
}

const ANEW: &str = "remove it, and write a new one with `--update-baseline`";

/// The known findings in a file, and a stamp to detect later changes; `None` if there is
/// no file.
fn read_known(file: &Path, access: Access) -> Result<Option<(Counts, Stamp)>, BaselineError> {
    let (text, stamp) = match read_text(file, access) {
        Ok(read) => read,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(FileError::new("read", file, &error).into()),
    };
    // Some editors put a byte order mark there.
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let BaselineFile { version, findings } =
        serde_json::from_str(text).map_err(|_| BaselineError::Other(visible_path(file)))?;
    if version != VERSION {
        return Err(BaselineError::Version { name: visible_path(file), version });
    }
    let mut known = Counts::new();
    for Finding { path, code, line, count } in findings {
        let sum = known.entry((path, code, line)).or_default();
        *sum = count.saturating_add(*sum);
    }
    Ok(Some((known, stamp)))
}

fn count(counts: &Counts, key: &Key) -> usize {
    counts.get(key).copied().unwrap_or(0)
}

/// Whether this holds for the file at a path, or for the binary that has the text at the path.
fn is_within(path: &str, holds: impl FnMut(&str) -> bool) -> bool {
    let binaries = path.match_indices('!').map(|(end, _)| &path[..end]);
    iter::once(path).chain(binaries).any(holds)
}

/// All different pairs of a code and the text of its line, and for each finding the
/// index of its pair. Work on the text of a line is then done once for each code, not
/// for each finding. Lines can be long and have many findings.
fn keys<'s>(
    source: &'s str,
    index: &LineIndex,
    diagnostics: &[Diagnostic],
) -> (Vec<(Code, &'s str)>, Vec<usize>) {
    let mut keys = Vec::new();
    let mut by_text = Map::default();
    let mut by_line = Map::default();
    let of_each = diagnostics.iter().map(|&Diagnostic { code, span, .. }| {
        let line = index.line(span.start);
        *by_line.entry((line, code)).or_insert_with(|| {
            let key = (code, index.line_span(line).text(source).trim());
            *by_text.entry(key).or_insert_with(|| {
                keys.push(key);
                keys.len() - 1
            })
        })
    });
    let of_each = of_each.collect();
    (keys, of_each)
}

impl Baseline {
    /// Reads a baseline file. With `update`, the file may be missing.
    pub(super) fn read(
        file: &Path,
        access: Access,
        update: bool,
    ) -> Result<Baseline, BaselineError> {
        let known = match read_known(file, access)? {
            Some((known, _)) => known,
            None if update => Counts::new(),
            None => return Err(BaselineError::Missing(visible_path(file))),
        };
        let parent = file.parent().filter(|parent| !parent.as_os_str().is_empty());
        let folder = fs::canonicalize(parent.unwrap_or(Path::new(".")))
            .map_err(|error| FileError::new("find the folder of", file, &error))?;
        Ok(Baseline { file: file.to_path_buf(), folder, known, met: Counts::new() })
    }

    /// Removes the known findings, and records all findings.
    pub(super) fn take(
        &mut self,
        path: Option<&Path>,
        source: &str,
        index: &LineIndex,
        diagnostics: &mut Vec<Diagnostic>,
    ) {
        // Text from a pipe has no path to recognise it by later.
        let Some(path) = path.filter(|_| !diagnostics.is_empty()) else {
            return;
        };
        let (keys, of_each) = self.keys(path, source, index, diagnostics);
        let mut met: Vec<usize> = keys.iter().map(|key| count(&self.met, key)).collect();
        let mut known = self.known_of(&keys, &of_each, &mut met).into_iter();
        diagnostics.retain(|_| known.next() != Some(true));
        self.met.extend(keys.into_iter().zip(met));
    }

    /// Whether each finding of a whole file is known.
    pub(super) fn known(
        &self,
        path: Option<&Path>,
        source: &str,
        diagnostics: &[Diagnostic],
    ) -> Vec<bool> {
        let Some(path) = path.filter(|_| !diagnostics.is_empty()) else { return Vec::new() };
        let (keys, of_each) = self.keys(path, source, &LineIndex::new(source), diagnostics);
        self.known_of(&keys, &of_each, &mut vec![0; keys.len()])
    }

    /// The keys of findings of a file, and for each finding the index of its key.
    fn keys(
        &self,
        path: &Path,
        source: &str,
        index: &LineIndex,
        diagnostics: &[Diagnostic],
    ) -> (Vec<Key>, Vec<usize>) {
        let path = self.name(path);
        let (keys, of_each) = keys(source, index, diagnostics);
        let key = |(code, line): (Code, &str)| (path.clone(), code.text().into(), line.into());
        (keys.into_iter().map(key).collect(), of_each)
    }

    /// Whether each finding is known, by the index of its key. `met` counts the findings of each
    /// key so far.
    fn known_of(&self, keys: &[Key], of_each: &[usize], met: &mut [usize]) -> Vec<bool> {
        let known: Vec<usize> = keys.iter().map(|key| count(&self.known, key)).collect();
        let is_known = |&at: &usize| {
            met[at] += 1;
            met[at] <= known[at]
        };
        of_each.iter().map(is_known).collect()
    }

    /// Whether a file of the baseline is still there. A name that is not UTF-8 does not tell.
    fn may_exist(&self, file: &str) -> bool {
        file.contains(char::REPLACEMENT_CHARACTER)
            || !matches!(self.folder.join(file).try_exists(), Ok(false))
    }

    /// The path as the baseline file spells it: from its folder on, with `/` on every system.
    fn name(&self, path: &Path) -> String {
        let is_same = |(own, other): &(Component<'_>, Component<'_>)| own == other;
        let shared = self.folder.components().zip(path.components()).take_while(is_same).count();
        // Paths on two drives of Windows share nothing.
        if shared == 0 {
            return path.to_string_lossy().replace('\\', "/");
        }
        let up = self.folder.components().skip(shared).map(|_| "..".into());
        let down = path.components().skip(shared).map(|part| part.as_os_str().to_string_lossy());
        up.chain(down).collect::<Vec<Cow<'_, str>>>().join("/")
    }

    /// The number of known findings that this run did not find again in the files that it read.
    pub(super) fn gone<'p>(&self, paths: impl Iterator<Item = &'p Path>) -> usize {
        let paths: BTreeSet<String> = paths.map(|path| self.name(path)).collect();
        self.known
            .iter()
            .filter(|((path, ..), _)| is_within(path, |file| paths.contains(file)))
            .map(|(key, count)| count.saturating_sub(self.met.get(key).copied().unwrap_or(0)))
            .fold(0, usize::saturating_add)
    }

    /// Writes the findings of this run to the baseline. They replace the known findings of the
    /// files that this run has read. Returns the number of findings in the baseline.
    pub(super) fn write<'p>(
        &self,
        paths: impl Iterator<Item = &'p Path>,
    ) -> Result<usize, BaselineError> {
        let paths: BTreeSet<String> = paths.map(|path| self.name(path)).collect();
        let cannot = |error: io::Error| FileError::new("write", &self.file, &error);
        let target = self.target().map_err(cannot)?;
        // Another run may have written the file since, or may be about to.
        let _lock = Lock::of(&target).map_err(cannot)?;
        let (known, stamp) = match read_known(&target, Access::Regular)? {
            Some((known, stamp)) => (known, Some(stamp)),
            None => (Counts::new(), None),
        };
        let kept = known.iter().filter(|((path, ..), _)| {
            // Findings of files that were not read stay, unless the file is gone.
            if self.may_exist(path) {
                return !paths.contains(path);
            }
            !is_within(path, |file| paths.contains(file))
                && is_within(path, |file| self.may_exist(file))
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
        let total = findings.iter().map(|finding| finding.count).fold(0, usize::saturating_add);
        let mut text = serde_json::to_string_pretty(&BaselineFile { version: VERSION, findings })
            .map_err(|error| cannot(error.into()))?;
        text.push('\n');
        match stamp {
            Some(stamp) => replace(&target, &[text], &stamp),
            None => create(&target, &[text]),
        }
        .map_err(cannot)?;
        Ok(total)
    }

    /// The file itself, even if the path is a link.
    fn target(&self) -> io::Result<PathBuf> {
        match fs::canonicalize(&self.file) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                if fs::symlink_metadata(&self.file).is_ok() {
                    return Err(io::Error::other("it is a link to a file that does not exist"));
                }
                Ok(self.folder.join(self.file.file_name().unwrap_or_default()))
            }
            found => found,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Span;

    /// A finding on each statement, which lacks a type or an operand.
    fn findings(text: &str) -> Vec<Diagnostic> {
        let statements = text.match_indices("vadd").map(|(at, _)| {
            let end = at + text[at..].find(';').expect("whole statements");
            let lacks_type = text[at..end].matches(".u32").count() < 3;
            let code = if lacks_type { Code::MissingType } else { Code::MissingOperand };
            Diagnostic::new(code, Span::new(at as u32, end as u32), "")
        });
        statements.collect()
    }

    /// Counts the bytes of lines that are copied, hashed and compared. One text has many findings
    /// on one line, the other has one finding on each line.
    #[test]
    fn a_line_of_many_findings_is_copied_once() {
        let bytes = |text: &str| {
            let diagnostics = findings(text);
            let (keys, of_each) = keys(text, &LineIndex::new(text), &diagnostics);
            assert_eq!(of_each.len(), diagnostics.len());
            for (diagnostic, at) in diagnostics.iter().zip(&of_each) {
                assert_eq!(keys[*at].0, diagnostic.code);
            }
            (diagnostics.len(), keys.iter().map(|(_, line)| line.len()).sum::<usize>())
        };
        let wrong = "vadd.u32.u32 d, a, b; vadd.u32.u32.u32 d, a; ";
        for n in [500, 1000, 2000] {
            let text = wrong.repeat(n);
            // Two codes on one line.
            assert_eq!(bytes(&text), (2 * n, 2 * text.trim().len()));
            let lines: Vec<String> =
                (0..n).map(|at| format!("vadd.u32.u32 d, a{at}, b;")).collect();
            let lines = lines.join("\n");
            assert_eq!(bytes(&lines), (n, lines.len() + 1 - n));
        }
    }

    #[test]
    fn findings_count_by_their_line_and_code() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().canonicalize().unwrap().join("a.ptx");
        let mut baseline =
            Baseline::read(&folder.path().join("none.json"), Access::Regular, true).unwrap();
        let text = "vadd.u32.u32 d, a, b; vadd.u32.u32 d, a, b;\n\
                    vadd.u32.u32.u32 d, a;\n  vadd.u32.u32.u32 d, a;\n";
        let found = findings(text);
        let (two, one) = (&found[0], &found[2]);
        assert_eq!(found.len(), 4);
        let key = |diagnostic: &Diagnostic, line: &str| {
            ("a.ptx".to_string(), diagnostic.code.text().to_string(), line.to_string())
        };
        let first = key(two, "vadd.u32.u32 d, a, b; vadd.u32.u32 d, a, b;");
        let second = key(one, "vadd.u32.u32.u32 d, a;");
        baseline.known.insert(first.clone(), 1);
        baseline.known.insert(second.clone(), 1);
        let mut left = found.clone();
        baseline.take(Some(&path), text, &LineIndex::new(text), &mut left);
        // Equal lines share one identity, which the baseline has once: only the first finding is
        // known.
        assert_eq!(left, [found[1].clone(), found[3].clone()]);
        assert_eq!(baseline.met, Counts::from([(first, 2), (second, 2)]));
    }
}
