//! `vptx.toml`

use std::fmt::Display;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError};

use ignore::gitignore::{Gitignore, GitignoreBuilder};
use serde::{Deserialize, Deserializer, de};

use super::input::reason;
use crate::check::{CheckOptions, Dialect};
use crate::hash::Map;
use crate::isa::{PtxVersion, Target};
use crate::lint::Selector;
use crate::print::{FormatOptions, LineEnding};
use crate::report::visible_path;
use crate::text::nearest;

/// The name of the file.
pub(super) const FILE: &str = "vptx.toml";

/// The file as written.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Written {
    format: Format,
    check: Check,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
struct Format {
    indent_width: Option<usize>,
    line_width: Option<usize>,
    line_ending: Ending,
    default_selectors: Selectors,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Ending {
    #[default]
    Lf,
    Crlf,
    Keep,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Selectors {
    #[default]
    Omit,
    Write,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
struct Check {
    #[serde(deserialize_with = "word")]
    dialect: Option<Dialect>,
    #[serde(deserialize_with = "word")]
    target: Option<Target>,
    #[serde(deserialize_with = "word")]
    ptx_version: Option<PtxVersion>,
    #[serde(deserialize_with = "words")]
    select: Option<Vec<Selector>>,
    #[serde(deserialize_with = "words")]
    extend_select: Option<Vec<Selector>>,
    #[serde(deserialize_with = "words")]
    ignore: Option<Vec<Selector>>,
    exclude: Vec<String>,
    baseline: Option<PathBuf>,
    per_path: Vec<PerPath>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
struct PerPath {
    paths: Vec<String>,
    #[serde(deserialize_with = "word")]
    dialect: Option<Dialect>,
    #[serde(deserialize_with = "word")]
    target: Option<Target>,
    #[serde(deserialize_with = "word")]
    ptx_version: Option<PtxVersion>,
    #[serde(deserialize_with = "words")]
    select: Option<Vec<Selector>>,
    #[serde(deserialize_with = "words")]
    extend_select: Option<Vec<Selector>>,
    #[serde(deserialize_with = "words")]
    ignore: Option<Vec<Selector>>,
}

fn word<'de, D: Deserializer<'de>, T: FromStr<Err: Display>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    let text = String::deserialize(deserializer)?;
    text.parse().map(Some).map_err(de::Error::custom)
}

fn words<'de, D: Deserializer<'de>, T: FromStr<Err: Display>>(
    deserializer: D,
) -> Result<Option<Vec<T>>, D::Error> {
    let texts = Vec::<String>::deserialize(deserializer)?;
    texts
        .iter()
        .map(|text| text.parse().map_err(de::Error::custom))
        .collect::<Result<_, _>>()
        .map(Some)
}

/// Choices for checking, of a file, a part of it, or the command line.
#[derive(Clone, Debug, Default)]
pub(super) struct Choices {
    pub(super) dialect: Option<Dialect>,
    pub(super) target: Option<Target>,
    pub(super) ptx_version: Option<PtxVersion>,
    pub(super) select: Option<Vec<Selector>>,
    pub(super) extend: Vec<Selector>,
    pub(super) ignore: Vec<Selector>,
}

impl Choices {
    /// Options with these choices, which count for more than what was chosen
    /// before.
    fn apply(&self, options: CheckOptions) -> CheckOptions {
        let dialect = self.dialect.unwrap_or(options.dialect);
        let target = self.target.or(options.target);
        let version = self.ptx_version.or(options.ptx_version);
        let rules = options.rules.choose(self.select.as_deref(), &self.extend, &self.ignore);
        options
            .with_dialect(dialect)
            .with_target(target)
            .with_ptx_version(version)
            .with_rules(rules)
    }
}

/// What a file says, or the defaults.
#[derive(Debug)]
pub(super) struct Settings {
    pub(super) format: FormatOptions,
    /// The file of known findings.
    pub(super) baseline: Option<PathBuf>,
    check: Choices,
    per_path: Vec<(Gitignore, Choices)>,
    exclude: Gitignore,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            format: FormatOptions::default(),
            baseline: None,
            check: Choices::default(),
            per_path: Vec::new(),
            exclude: Gitignore::empty(),
        }
    }
}

impl Settings {
    /// How to check a file, or text without one.
    pub(super) fn check(&self, path: Option<&Path>, command: &Choices) -> CheckOptions {
        let mut options = self.check.apply(CheckOptions::default());
        for (paths, choices) in &self.per_path {
            if path.is_some_and(|path| matches(paths, path)) {
                options = choices.apply(options);
            }
        }
        command.apply(options)
    }

    /// Whether a file is not to be looked at unless it is named.
    pub(super) fn excludes(&self, path: &Path) -> bool {
        matches(&self.exclude, path)
    }
}

fn matches(patterns: &Gitignore, path: &Path) -> bool {
    // Paths elsewhere would be an error to the matcher.
    !patterns.is_empty()
        && path.starts_with(patterns.path())
        && patterns.matched_path_or_any_parents(path, false).is_ignore()
}

/// Settings, or a sentence that says what is wrong with them.
pub(super) type Found = Result<Arc<Settings>, String>;

/// Finds the settings that hold for files, each `vptx.toml` read once.
#[derive(Debug, Default)]
pub(super) struct Finder {
    /// Where settings are given, in place of what is found.
    fixed: Option<Arc<Settings>>,
    /// By folder as named: the folder itself, and its settings.
    known: Mutex<Map<PathBuf, (PathBuf, Found)>>,
}

impl Finder {
    /// A finder of what a file says, whatever is beside the inputs; of nothing but
    /// defaults if `isolated`.
    ///
    /// # Errors
    /// What is wrong with the file.
    pub(super) fn new(config: Option<&Path>, isolated: bool) -> Result<Finder, String> {
        let fixed = match config {
            Some(file) => Some(read(file)?),
            None if isolated => Some(Arc::default()),
            None => None,
        };
        Ok(Finder { fixed, known: Mutex::default() })
    }

    /// The nearest settings in the file's folder or above it, and the file's
    /// whole path.
    pub(super) fn of(&self, path: &Path) -> Result<(Arc<Settings>, PathBuf), String> {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let (folder, settings) = self.folder(folder.unwrap_or(Path::new(".")));
        let name = path.file_name().unwrap_or_default();
        settings.map(|settings| (settings, folder.join(name)))
    }

    /// The settings for the folder in which the program was started.
    pub(super) fn here(&self) -> Found {
        self.folder(Path::new(".")).1
    }

    fn folder(&self, named: &Path) -> (PathBuf, Found) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = known.get(named) {
            return found.clone();
        }
        // One that does not exist is told of when a file in it is read.
        let folder = fs::canonicalize(named).unwrap_or_else(|_| named.to_path_buf());
        let file = folder.ancestors().map(|above| above.join(FILE)).find(|file| file.is_file());
        let settings = match (&self.fixed, file) {
            (Some(fixed), _) => Ok(Arc::clone(fixed)),
            (None, Some(file)) => read(&file),
            (None, None) => Ok(Arc::default()),
        };
        let found = (folder, settings);
        known.insert(named.to_path_buf(), found.clone());
        found
    }
}

/// The settings in a file.
fn read(file: &Path) -> Found {
    let name = visible_path(file);
    let text = fs::read_to_string(file)
        .map_err(|error: io::Error| format!("cannot read `{name}`: {}", reason(&error)))?;
    let wrong = |message: String| format!("`{name}`: {}", message.trim_end());
    let Written { format, check } =
        toml::from_str(&text).map_err(|error| wrong(with_suggestion(&error.to_string())))?;
    let folder = fs::canonicalize(file)
        .ok()
        .and_then(|file| Some(file.parent()?.to_path_buf()))
        .unwrap_or_default();
    let patterns = |key: &str, lines: &[String]| {
        let mut builder = GitignoreBuilder::new(&folder);
        for line in lines {
            builder.add_line(None, line).map_err(|error| wrong(format!("check.{key}: {error}")))?;
        }
        builder.build().map_err(|error| wrong(format!("check.{key}: {error}")))
    };
    let mut per_path = Vec::with_capacity(check.per_path.len());
    for part in check.per_path {
        if part.paths.is_empty() {
            return Err(wrong("check.per-path: `paths` says for which files".into()));
        }
        let choices = Choices {
            dialect: part.dialect,
            target: part.target,
            ptx_version: part.ptx_version,
            select: part.select,
            extend: part.extend_select.unwrap_or_default(),
            ignore: part.ignore.unwrap_or_default(),
        };
        per_path.push((patterns("per-path.paths", &part.paths)?, choices));
    }
    Ok(Arc::new(Settings {
        format: format_options(&format).map_err(wrong)?,
        baseline: check.baseline.map(|baseline| folder.join(baseline)),
        exclude: patterns("exclude", &check.exclude)?,
        check: Choices {
            dialect: check.dialect,
            target: check.target,
            ptx_version: check.ptx_version,
            select: check.select,
            extend: check.extend_select.unwrap_or_default(),
            ignore: check.ignore.unwrap_or_default(),
        },
        per_path,
    }))
}

fn format_options(format: &Format) -> Result<FormatOptions, String> {
    let within = |key: &str, value: Option<usize>, default: usize, min: usize, max: usize| {
        let value = value.unwrap_or(default);
        if (min..=max).contains(&value) {
            Ok(value)
        } else {
            Err(format!("format.{key} = {value}: it must be from {min} to {max}"))
        }
    };
    let mut options = FormatOptions::default();
    options.indent_width =
        within("indent-width", format.indent_width, options.indent_width, 0, 16)?;
    options.line_width = within("line-width", format.line_width, options.line_width, 40, 10_000)?;
    options.line_ending = match format.line_ending {
        Ending::Lf => LineEnding::Lf,
        Ending::Crlf => LineEnding::Crlf,
        Ending::Keep => LineEnding::Keep,
    };
    options.explicit_defaults = format.default_selectors == Selectors::Write;
    Ok(options)
}

/// The reader's words, with what may have been meant.
fn with_suggestion(message: &str) -> String {
    let meant = message.split_once("unknown field `").and_then(|(_, rest)| {
        let (field, rest) = rest.split_once('`')?;
        let (_, expected) = rest.split_once("expected ")?;
        // Between backquotes, every second piece is a name.
        nearest(field, expected.split('`').skip(1).step_by(2))
    });
    match meant {
        Some(meant) => format!("{}\ndid you mean `{meant}`?", message.trim_end()),
        None => message.to_string(),
    }
}
