//! The package that a file belongs to.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use serde::Serialize;

use crate::workspace::files::Access;

/// A package of Python or conda.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Package {
    /// The name of the package as PyPI writes it: `nvidia-npp-cu12`.
    pub(super) name: String,
    pub(super) version: String,
}

/// The installed files of each `site-packages` folder, with their packages.
#[derive(Default)]
pub(super) struct Packages {
    folders: Mutex<HashMap<PathBuf, Arc<Installed>>>,
}

type Installed = HashMap<PathBuf, Package>;

impl Packages {
    /// The package of a member of an archive, or of an installed file.
    pub(super) fn of(&self, file: &Path, members: &[String]) -> Option<Package> {
        let name = file.file_name().map(|name| name.to_string_lossy());
        let archives = name.as_deref().into_iter().chain(members.iter().map(String::as_str));
        // The innermost archive that is a package counts.
        let of_archive = archives.rev().find_map(Package::of_archive);
        of_archive.or_else(|| self.installed(file))
    }

    fn installed(&self, file: &Path) -> Option<Package> {
        let whole = std::path::absolute(file).ok()?;
        let is_site = |folder: &&Path| {
            folder.file_name().is_some_and(|it| it == "site-packages" || it == "dist-packages")
        };
        let site = whole.ancestors().find(is_site)?;
        let mut folders = self.folders.lock().unwrap_or_else(PoisonError::into_inner);
        let known = folders.entry(site.to_path_buf()).or_insert_with(|| Arc::new(read(site)));
        known.get(whole.strip_prefix(site).ok()?).cloned()
    }
}

impl Package {
    /// The package of an archive by its name: `NAME-VERSION-….whl`, `NAME-VERSION-BUILD.conda`.
    fn of_archive(path: &str) -> Option<Package> {
        let name = path.rsplit(['/', '\\']).next()?;
        let (name, version) = if let Some(stem) = name.strip_suffix(".whl") {
            let mut parts = stem.split('-');
            (parts.next()?, parts.next()?)
        } else {
            let (stem, _build) = name.strip_suffix(".conda")?.rsplit_once('-')?;
            stem.rsplit_once('-')?
        };
        Some(Package::new(name, version))
    }

    fn new(name: &str, version: &str) -> Package {
        let parts: Vec<&str> =
            name.split(['-', '_', '.']).filter(|part| !part.is_empty()).collect();
        Package { name: parts.join("-").to_ascii_lowercase(), version: version.into() }
    }
}

/// Reads the files of each installed package from its `NAME-VERSION.dist-info/RECORD`.
fn read(site: &Path) -> Installed {
    let mut installed = Installed::new();
    for entry in fs::read_dir(site).into_iter().flatten().flatten() {
        let folder = entry.file_name();
        let Some(stem) = folder.to_str().and_then(|it| it.strip_suffix(".dist-info")) else {
            continue;
        };
        let Some((name, version)) = stem.split_once('-') else { continue };
        let package = Package::new(name, version);
        let record = Access::Walked.open(&entry.path().join("RECORD"));
        let lines = record
            .into_iter()
            .flat_map(|(file, _): (File, _)| BufReader::new(file).lines().map_while(Result::ok));
        for line in lines {
            // A path with a comma is in quotes, and is cut here. Names of binaries have no comma.
            if let Some((path, _)) = line.split_once(',')
                && crate::workspace::binary::may_be_one(Path::new(path))
            {
                installed.insert(path.into(), package.clone());
            }
        }
    }
    installed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn archives_name_their_packages() {
        let cases = [
            (
                "a/nvidia_npp_cu12-12.4.1.87-py3-none-manylinux_2_27_x86_64.whl",
                "nvidia-npp-cu12 12.4.1.87",
            ),
            ("Foo.Bar-1.0-1-py3-none-any.whl", "foo-bar 1.0"),
            ("libcurand-10.3.5-h5888daf_0.conda", "libcurand 10.3.5"),
            (
                "cuda-cudart-dev_linux-64-12.4.127-h85509e4_2.conda",
                "cuda-cudart-dev-linux-64 12.4.127",
            ),
            ("x.whl", ""),
            ("x-1.conda", ""),
            ("lib-1.so", ""),
        ];
        for (name, expected) in cases {
            let found = Package::of_archive(name)
                .map(|it| format!("{} {}", it.name, it.version))
                .unwrap_or_default();
            assert_eq!(found, expected, "{name}");
        }
    }
}
