//! Headers in the folders that the settings or the command line name for headers.

use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use super::files::{Access, read_bounded};
use crate::embed::{Header, Headers, Include};
use crate::hash::Map;

/// The size of the largest header that is read, in bytes.
const LARGEST: usize = 16 << 20;
/// The most bytes of headers that are kept in memory for other sources.
const KEPT: usize = 256 << 20;

/// Reads headers. Each path is tried only once, even if there is no file.
#[derive(Clone, Debug, Default)]
pub(crate) struct HeaderFiles(Arc<Mutex<Known>>);

#[derive(Debug, Default)]
struct Known {
    texts: Map<PathBuf, Option<Arc<str>>>,
    bytes: usize,
}

impl HeaderFiles {
    /// The headers for a source. A name in `"` is first searched beside the file that includes it.
    /// Every name is searched in `folders`, in the given order. `None` without folders.
    pub(crate) fn of(&self, source: Option<&Path>, folders: Vec<PathBuf>) -> Option<Headers> {
        if folders.is_empty() {
            return None;
        }
        let files = self.clone();
        let beside = source.and_then(Path::parent).map(Path::to_path_buf).unwrap_or_default();
        Some(Headers::new(move |include: Include<'_>| {
            let name = Path::new(include.name);
            let is_relative = |it: Component<'_>| {
                matches!(it, Component::Normal(_) | Component::CurDir | Component::ParentDir)
            };
            if name.as_os_str().is_empty() || !name.components().all(is_relative) {
                return None;
            }
            let beside = include.from.map_or(Some(&*beside), Path::parent);
            let first = beside.filter(|_| include.quoted);
            first.into_iter().chain(folders.iter().map(PathBuf::as_path)).find_map(|folder| {
                let path = plain(&folder.join(name));
                let text = files.text(&path)?;
                Some(Header { path, text })
            })
        }))
    }

    fn text(&self, path: &Path) -> Option<Arc<str>> {
        let known = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(text) = known().texts.get(path) {
            return text.clone();
        }
        let text = read(path);
        let mut known = known();
        known.bytes += path.as_os_str().len() + text.as_ref().map_or(0, |text| text.len());
        if known.bytes < KEPT {
            known.texts.insert(path.to_path_buf(), text.clone());
        }
        text
    }
}

/// The path without `.`, and without each `..` that follows the name of a folder.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir
                if matches!(plain.components().next_back(), Some(Component::Normal(_))) =>
            {
                plain.pop();
            }
            _ => plain.push(part),
        }
    }
    plain
}

/// The text of a header; `None` if it cannot be read.
fn read(path: &Path) -> Option<Arc<str>> {
    let (file, data) = Access::Regular.open(path).ok()?;
    let bytes = read_bounded(file, data.len(), LARGEST).ok()??;
    // Comments may be in any encoding.
    Some(String::from_utf8_lossy(&bytes).into())
}
