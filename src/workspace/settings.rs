//! `vptx.toml`

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Display};
use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError};

use ignore::gitignore::{Gitignore, GitignoreBuilder};
use serde::{Deserialize, Deserializer, de};
use thiserror::Error;

use super::error::FileError;
use super::files::{Access, read_text};
use super::kind::{Chosen, Extension, InvalidExtension};
use crate::check::{CheckOptions, Dialect};
use crate::diagnostic::{
    Code, Diagnostic, Docs, InvalidRuleSelector, RuleSelector, RuleSet, Severity,
};
use crate::hash::Map;
use crate::isa::{PtxVersion, Target};
use crate::lint::wants_trees;
use crate::print::{FormatOptions, LineEnding};
use crate::report::visible_path;
use crate::source::nearest;

/// The name of settings files.
pub(crate) const FILE: &str = "vptx.toml";

/// The contents of a settings file.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Written {
    extension: BTreeMap<String, String>,
    format: FormatSection,
    check: CheckSection,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
struct FormatSection {
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
struct CheckSection {
    #[serde(deserialize_with = "word")]
    dialect: Option<Dialect>,
    #[serde(deserialize_with = "targets")]
    target: Option<Targets>,
    #[serde(deserialize_with = "word")]
    ptx_version: Option<PtxVersion>,
    #[serde(deserialize_with = "words")]
    select: Option<Vec<RuleSelector>>,
    #[serde(deserialize_with = "words")]
    extend_select: Option<Vec<RuleSelector>>,
    #[serde(deserialize_with = "words")]
    ignore: Option<Vec<RuleSelector>>,
    #[serde(deserialize_with = "words")]
    deny: Option<Vec<Denied>>,
    exclude: Vec<String>,
    include: Vec<PathBuf>,
    baseline: Option<PathBuf>,
    #[serde(deserialize_with = "word")]
    docs_url: Option<Docs>,
    per_path: Vec<PerPath>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
struct PerPath {
    paths: Vec<String>,
    #[serde(deserialize_with = "word")]
    dialect: Option<Dialect>,
    #[serde(deserialize_with = "targets")]
    target: Option<Targets>,
    #[serde(deserialize_with = "word")]
    ptx_version: Option<PtxVersion>,
    #[serde(deserialize_with = "words")]
    select: Option<Vec<RuleSelector>>,
    #[serde(deserialize_with = "words")]
    extend_select: Option<Vec<RuleSelector>>,
    #[serde(deserialize_with = "words")]
    ignore: Option<Vec<RuleSelector>>,
    #[serde(deserialize_with = "words")]
    deny: Option<Vec<Denied>>,
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

/// Findings that make a run fail in addition to errors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Denied {
    Warnings,
    /// `asm` statements that are not read. They are also reported.
    Unread,
    Rules(RuleSelector),
}

impl Denied {
    pub(crate) fn holds_for(&self, finding: &Diagnostic) -> bool {
        match self {
            Denied::Warnings => finding.severity == Severity::Warning,
            Denied::Unread => finding.code == Code::UnreadAsm,
            Denied::Rules(rules) => rules.matches(finding.code),
        }
    }
}

impl Display for Denied {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Denied::Warnings => f.write_str("warnings"),
            Denied::Unread => f.write_str("unread"),
            Denied::Rules(rules) => rules.fmt(f),
        }
    }
}

/// A text that names no findings to deny.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}; `warnings` stands for all warnings")]
pub(crate) struct InvalidDenied(#[from] InvalidRuleSelector);

impl FromStr for Denied {
    type Err = InvalidDenied;

    fn from_str(text: &str) -> Result<Denied, InvalidDenied> {
        match text.trim() {
            "warnings" => Ok(Denied::Warnings),
            "unread" => Ok(Denied::Unread),
            _ => Ok(Denied::Rules(text.parse()?)),
        }
    }
}

/// The target, or targets, to check against.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Targets {
    /// A target. The code may be built for others, too.
    One(Target),
    /// All targets that the code is built for.
    All(Vec<Target>),
}

impl Targets {
    /// The targets in a list on the command line. A single target does not say that the code is
    /// built for no other.
    pub(crate) fn listed(list: &[Target]) -> Option<Targets> {
        match list {
            [] => None,
            [one] => Some(Targets::One(*one)),
            _ => Some(Targets::All(list.to_vec())),
        }
    }
}

fn targets<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Targets>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged, expecting = "a target such as \"sm_90\", or a list of targets")]
    enum Written {
        One(String),
        All(Vec<String>),
    }
    let target = |text: &String| text.parse().map_err(de::Error::custom);
    match Written::deserialize(deserializer)? {
        Written::One(text) => target(&text).map(|one| Some(Targets::One(one))),
        Written::All(texts) if texts.is_empty() => {
            Err(de::Error::custom("`target` is an empty list: remove it, or name a target"))
        }
        Written::All(texts) => {
            texts.iter().map(target).collect::<Result<_, _>>().map(|all| Some(Targets::All(all)))
        }
    }
}

/// Options for checking, from a settings file, from one of its sections, or from the command line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Choices {
    pub(crate) dialect: Option<Dialect>,
    pub(crate) target: Option<Targets>,
    pub(crate) ptx_version: Option<PtxVersion>,
    pub(crate) select: Option<Vec<RuleSelector>>,
    pub(crate) extend: Vec<RuleSelector>,
    pub(crate) ignore: Vec<RuleSelector>,
    pub(crate) deny: Option<Vec<Denied>>,
}

impl Choices {
    /// Applies these choices to options. They override earlier choices.
    fn apply(&self, options: CheckOptions) -> CheckOptions {
        let dialect = self.dialect.unwrap_or(options.dialect);
        let (target, targets) = match &self.target {
            None => (options.target, options.targets.clone()),
            Some(Targets::One(target)) => (Some(*target), Vec::new()),
            Some(Targets::All(targets)) => (None, targets.clone()),
        };
        let version = self.ptx_version.or(options.ptx_version);
        let mut rules = options.rules.choose(self.select.as_deref(), &self.extend, &self.ignore);
        if self.deny.iter().flatten().any(|denied| *denied == Denied::Unread) {
            rules = rules.with(Code::UnreadAsm);
        }
        let named = self.select.iter().flatten().chain(&self.extend);
        let named: Vec<RuleSelector> = named.filter(|it| !it.is_all()).cloned().collect();
        let names_tree_rule = wants_trees(RuleSet::NONE.choose(Some(&named), &[], &[]));
        let every_module = names_tree_rule || self.select.is_none() && options.every_module;
        options
            .with_dialect(dialect)
            .with_target(target)
            .with_targets(targets)
            .with_ptx_version(version)
            .with_rules(rules)
            .with_every_module(every_module)
    }
}

/// Messages about requested targets and a requested version that are not known.
pub(crate) fn unknown_names(options: &CheckOptions) -> Vec<String> {
    let targets = options.target.iter().chain(&options.targets);
    let targets = targets.filter_map(|&target| unknown_target(target));
    let version = options.ptx_version.filter(|version| !version.is_known()).map(|version| {
        let nearest = version.nearest_known();
        format!("PTX version `{version}` is not known; the nearest known version is `{nearest}`")
    });
    targets.chain(version).collect()
}

/// The message about a requested target that is not known. A newer ptxas may know the target.
pub(crate) fn unknown_target(target: Target) -> Option<String> {
    let nearest = target.nearest_known();
    let text =
        || format!("target `{target}` is not known; the nearest known target is `{nearest}`");
    (!target.is_known()).then(text)
}

/// The settings in a file, or the defaults.
#[derive(Debug)]
pub(crate) struct Settings {
    /// The languages chosen for file endings.
    pub(crate) extensions: Vec<Extension>,
    pub(crate) format: FormatOptions,
    /// The baseline file.
    pub(crate) baseline: Option<PathBuf>,
    /// The documentation that findings link to.
    pub(crate) docs: Option<Docs>,
    /// The folders with headers.
    pub(crate) include: Vec<PathBuf>,
    /// The folder of the settings file. Patterns are relative to this folder.
    pub(crate) folder: Option<PathBuf>,
    check: Choices,
    pub(crate) per_path: Vec<PathSettings>,
    exclude: Gitignore,
    /// The patterns of `exclude` as written.
    pub(crate) exclude_lines: Vec<String>,
}

/// The settings for some files.
#[derive(Debug)]
pub(crate) struct PathSettings {
    paths: Gitignore,
    /// The patterns of `paths` as written.
    pub(crate) lines: Vec<String>,
    pub(crate) choices: Choices,
}

/// The largest number of path patterns in a file. A compiled pattern takes up to 8 KB.
const MAX_PATTERNS: usize = 4096;
/// The largest number of tables for some paths. Matching many paths with one table takes up to
/// 1 MB.
const MAX_TABLES: usize = 256;

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            extensions: Vec::new(),
            format: FormatOptions::default(),
            baseline: None,
            docs: None,
            include: Vec::new(),
            folder: None,
            check: Choices::default(),
            per_path: Vec::new(),
            exclude: Gitignore::empty(),
            exclude_lines: Vec::new(),
        }
    }
}

impl Settings {
    /// The options to check a file, or text without a file.
    pub(crate) fn check(&self, path: Option<&Path>, command: &Choices) -> CheckOptions {
        let mut options = self.check.apply(CheckOptions::default());
        for part in &self.per_path {
            if path.is_some_and(|path| matches(&part.paths, path)) {
                options = part.choices.apply(options);
            }
        }
        command.apply(options)
    }

    /// The findings that make a run fail in addition to errors. The last setting wins.
    pub(crate) fn denied<'a>(
        &'a self,
        path: Option<&Path>,
        command: &'a Choices,
    ) -> Option<&'a [Denied]> {
        let by_path = || {
            let mut parts = self.per_path.iter().rev();
            parts.find_map(|part| {
                let denied = part.choices.deny.as_ref()?;
                path.is_some_and(|path| matches(&part.paths, path)).then_some(denied)
            })
        };
        command.deny.as_ref().or_else(by_path).or(self.check.deny.as_ref()).map(Vec::as_slice)
    }

    /// Whether a file is skipped unless the user names it.
    pub(crate) fn excludes(&self, path: &Path) -> bool {
        matches(&self.exclude, path)
    }
}

/// Whether the patterns match a file, given by its whole path.
pub(crate) fn matches(patterns: &Gitignore, path: &Path) -> bool {
    // The matcher does not accept paths outside its folder.
    !patterns.is_empty()
        && path.starts_with(patterns.path())
        && patterns.matched_path_or_any_parents(path, false).is_ignore()
}

/// Why there are no settings.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(crate) enum SettingsError {
    #[error(transparent)]
    File(#[from] FileError),
    #[error("`{file}`: {wrong}")]
    Wrong { file: String, wrong: WrongSettings },
}

/// What is wrong with the text of settings.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(crate) enum WrongSettings {
    /// The message of the parser.
    #[error("{0}")]
    Syntax(String),
    #[error("check.{key}: {why}")]
    Pattern { key: &'static str, why: String },
    #[error("check.{key}: `{pattern}` matches nothing: it is outside the folder of the settings")]
    Outside { key: &'static str, pattern: String },
    #[error("{0} patterns of paths: at most {MAX_PATTERNS} are allowed; name folders, not files")]
    ManyPatterns(usize),
    #[error("check.per-path: {0} tables: at most {MAX_TABLES} are allowed")]
    ManyTables(usize),
    #[error("check.per-path: `paths` must name the files")]
    NoPaths,
    #[error("extension: {0}")]
    Extension(#[from] InvalidExtension),
    #[error("format.{key} = {value}: the value must be from {min} to {max}")]
    Number { key: &'static str, value: usize, min: usize, max: usize },
}

/// The languages chosen for file endings, in settings that were found, and on the command line.
pub(crate) fn chosen<'a, P>(
    found: Option<&'a (Arc<Settings>, P)>,
    command: &'a [Extension],
) -> Chosen<'a> {
    [found.map_or(&[], |(settings, _)| &settings.extensions), command]
}

/// Settings, which several files share, or the reason why there are none.
pub(crate) type SettingsResult = Result<Arc<Settings>, SettingsError>;

/// Finds the settings for files. Each `vptx.toml` is read once.
#[derive(Debug, Default)]
pub(crate) struct Finder {
    /// Given settings, which replace any settings that would be found.
    fixed: Option<Arc<Settings>>,
    /// The settings files that were read.
    files: Mutex<Vec<PathBuf>>,
    /// For each folder name that was asked for, the canonical path of the folder, and its settings.
    known: Mutex<Map<PathBuf, (PathBuf, SettingsResult)>>,
}

impl Finder {
    /// A finder that uses only the given file, or only the defaults if `isolated`.
    /// Without either, it looks for settings above the inputs.
    pub(crate) fn new(config: Option<&Path>, isolated: bool) -> Result<Finder, SettingsError> {
        let fixed = match config {
            Some(file) => Some(read(file, Access::Named)?),
            None if isolated => Some(Arc::default()),
            None => None,
        };
        let files = Mutex::new(config.map(Path::to_path_buf).into_iter().collect());
        Ok(Finder { fixed, files, known: Mutex::default() })
    }

    /// The settings files that were read so far, valid or not.
    pub(crate) fn files(&self) -> Vec<PathBuf> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The whole path of a file.
    pub(crate) fn whole(&self, path: &Path) -> PathBuf {
        self.folder_of(path).0.join(path.file_name().unwrap_or_default())
    }

    /// The nearest settings in the file's folder or above it, and the file's whole
    /// path.
    pub(crate) fn of(&self, path: &Path) -> Result<(Arc<Settings>, PathBuf), SettingsError> {
        let (folder, settings) = self.folder_of(path);
        let name = path.file_name().unwrap_or_default();
        settings.map(|settings| (settings, folder.join(name)))
    }

    /// The settings of a text: those of its file, with the file's whole path; without a file, those
    /// for the folder in which the program was started.
    pub(crate) fn of_text(
        &self,
        path: Option<&Path>,
    ) -> Result<(Arc<Settings>, Option<PathBuf>), SettingsError> {
        match path {
            Some(path) => self.of(path).map(|(settings, path)| (settings, Some(path))),
            None => self.here().map(|settings| (settings, None)),
        }
    }

    /// The folder of a file, and its settings.
    fn folder_of(&self, path: &Path) -> (PathBuf, SettingsResult) {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        self.folder(folder.unwrap_or(Path::new(".")))
    }

    /// The settings for the folder in which the program was started.
    pub(crate) fn here(&self) -> SettingsResult {
        self.folder(Path::new(".")).1
    }

    fn folder(&self, named: &Path) -> (PathBuf, SettingsResult) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = known.get(named) {
            return found.clone();
        }
        // A missing folder is reported later, when a file in it is read.
        let folder = fs::canonicalize(named).unwrap_or_else(|_| named.to_path_buf());
        // Also a broken link is a file whose settings cannot be read.
        let exists = |file: &PathBuf| file.symlink_metadata().is_ok_and(|it| !it.is_dir());
        let file = folder.ancestors().map(|above| above.join(FILE)).find(exists);
        let settings = match (&self.fixed, file) {
            (Some(fixed), _) => Ok(Arc::clone(fixed)),
            (None, Some(file)) => {
                let settings = read(&file, Access::Regular);
                self.files.lock().unwrap_or_else(PoisonError::into_inner).push(file);
                settings
            }
            (None, None) => Ok(Arc::default()),
        };
        let found = (folder, settings);
        known.insert(named.to_path_buf(), found.clone());
        found
    }
}

/// The settings in a file.
fn read(file: &Path, access: Access) -> SettingsResult {
    let (text, _) =
        read_text(file, access).map_err(|error| FileError::new("read", file, &error))?;
    read_settings(file, &text)
        .map_err(|wrong| SettingsError::Wrong { file: visible_path(file), wrong })
}

/// The pattern as a line of a .gitignore file in a folder: such files know neither `./` nor
/// absolute paths. `None` if the pattern is outside the folder.
pub(crate) fn line_of<'p>(pattern: &'p str, folder: &Path) -> Option<Cow<'p, str>> {
    let (again, path) = pattern.strip_prefix('!').map_or(("", pattern), |path| ("!", path));
    let within = folder.to_str().and_then(|folder| path.strip_prefix(folder));
    match (within, path.strip_prefix("./")) {
        (Some(rest), _) if rest.starts_with('/') => Some(format!("{again}{rest}").into()),
        (_, Some(rest)) => Some(format!("{again}/{rest}").into()),
        _ => (path != ".." && !path.starts_with("../")).then(|| pattern.into()),
    }
}

/// The settings in the text of a file.
fn read_settings(file: &Path, text: &str) -> Result<Arc<Settings>, WrongSettings> {
    let Written { extension, format, check } = toml::from_str(text).map_err(|error| {
        WrongSettings::Syntax(with_suggestion(&error.to_string()).trim_end().into())
    })?;
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = fs::canonicalize(folder.unwrap_or(Path::new("."))).unwrap_or_default();
    let patterns = |key: &'static str, lines: &[String]| {
        let mut builder = GitignoreBuilder::new(&folder);
        let wrong = |error: ignore::Error| WrongSettings::Pattern { key, why: error.to_string() };
        for pattern in lines {
            let outside = || WrongSettings::Outside { key, pattern: pattern.clone() };
            let line = line_of(pattern, &folder).ok_or_else(outside)?;
            builder.add_line(None, &line).map_err(wrong)?;
        }
        builder.build().map_err(wrong)
    };
    let count = check.exclude.len() + check.per_path.iter().map(|it| it.paths.len()).sum::<usize>();
    if count > MAX_PATTERNS {
        return Err(WrongSettings::ManyPatterns(count));
    }
    if check.per_path.len() > MAX_TABLES {
        return Err(WrongSettings::ManyTables(check.per_path.len()));
    }
    let mut per_path = Vec::with_capacity(check.per_path.len());
    for part in check.per_path {
        if part.paths.is_empty() {
            return Err(WrongSettings::NoPaths);
        }
        let choices = Choices {
            dialect: part.dialect,
            target: part.target,
            ptx_version: part.ptx_version,
            select: part.select,
            extend: part.extend_select.unwrap_or_default(),
            ignore: part.ignore.unwrap_or_default(),
            deny: part.deny,
        };
        let paths = patterns("per-path.paths", &part.paths)?;
        per_path.push(PathSettings { paths, lines: part.paths, choices });
    }
    let extensions = extension
        .iter()
        .map(|(ending, language)| Extension::new(ending, language.parse()?))
        .collect::<Result<Vec<_>, _>>()?;
    let mut endings = BTreeSet::new();
    if let Some(twice) = extensions.iter().find(|it| !endings.insert(it.parts().0)) {
        return Err(InvalidExtension::Twice(twice.parts().0.into()).into());
    }
    Ok(Arc::new(Settings {
        extensions,
        format: format_options(&format)?,
        baseline: check.baseline.map(|baseline| folder.join(baseline)),
        docs: check.docs_url,
        include: check.include.iter().map(|include| folder.join(include)).collect(),
        exclude: patterns("exclude", &check.exclude)?,
        exclude_lines: check.exclude,
        check: Choices {
            dialect: check.dialect,
            target: check.target,
            ptx_version: check.ptx_version,
            select: check.select,
            extend: check.extend_select.unwrap_or_default(),
            ignore: check.ignore.unwrap_or_default(),
            deny: check.deny,
        },
        per_path,
        folder: Some(folder),
    }))
}

fn format_options(format: &FormatSection) -> Result<FormatOptions, WrongSettings> {
    let within = |key, value: Option<usize>, default: usize, min: usize, max: usize| {
        let value = value.unwrap_or(default);
        if (min..=max).contains(&value) {
            Ok(value)
        } else {
            Err(WrongSettings::Number { key, value, min, max })
        }
    };
    let mut options = FormatOptions::default();
    let most = FormatOptions::MAX_INDENT_WIDTH;
    options.indent_width =
        within("indent-width", format.indent_width, options.indent_width, 0, most)?;
    options.line_width = within("line-width", format.line_width, options.line_width, 40, 10_000)?;
    options.line_ending = match format.line_ending {
        Ending::Lf => LineEnding::Lf,
        Ending::Crlf => LineEnding::Crlf,
        Ending::Keep => LineEnding::Keep,
    };
    options.explicit_defaults = format.default_selectors == Selectors::Write;
    Ok(options)
}

/// The parser's message, with a suggestion for a wrong name.
fn with_suggestion(message: &str) -> String {
    let meant = message.split_once("unknown field `").and_then(|(_, rest)| {
        let (field, rest) = rest.split_once('`')?;
        let (_, expected) = rest.split_once("expected ")?;
        // Every second piece is a name between backquotes.
        nearest(field, expected.split('`').skip(1).step_by(2))
    });
    match meant {
        Some(meant) => format!("{}\ndid you mean `{meant}`?", message.trim_end()),
        None => message.to_string(),
    }
}
