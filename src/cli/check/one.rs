//! Checks one input.

use std::borrow::Cow;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use super::{Arguments, Run};
use crate::analysis::{Fixed, Part, add_ignores, check_part, check_up_to, fix, offers};
use crate::check::{CheckOptions, Language};
use crate::cli::files::{DiffLook, diff, edited, replace};
use crate::cli::input::{Bytes, Input, reason};
use crate::cli::kind::Kind;
use crate::cli::large::Parts;
use crate::cli::settings::{Denied, Settings};
use crate::cli::unknown_target;
use crate::diagnostic::{Applicability, Diagnostic};
use crate::embed::{self, Skipped};
use crate::lint::Known;
use crate::report::{Format, visible_path};
use crate::source::decoded;

/// The text that findings are about.
pub(super) enum Source {
    /// The text of a clean file, which is not needed again.
    Gone,
    Read(Bytes),
    Fixed(String),
}

impl Source {
    pub(super) fn text(&self) -> Cow<'_, str> {
        match self {
            Source::Gone => Cow::default(),
            Source::Read(bytes) => decoded(bytes),
            Source::Fixed(text) => text.into(),
        }
    }
}

/// The largest number of findings of one file that is kept. A file with more is checked
/// again, and each finding is reported as soon as it is found.
const MANY: usize = 10_000;

/// The outcome for one input.
pub(super) struct Checked {
    pub(super) statements: usize,
    /// The name of the input as shown to the reader.
    pub(super) name: PathBuf,
    pub(super) source: Source,
    pub(super) diagnostics: Vec<Diagnostic>,
    /// The whole path, if it is a file.
    pub(super) path: Option<PathBuf>,
    /// The number of findings that were fixed.
    pub(super) fixed: usize,
    /// The number of findings that another run would fix: with safe fixes, and how many
    /// more with all fixes.
    pub(super) fixable: [usize; 2],
    /// The changes to show, or the fixed text of standard input.
    pub(super) text: Option<Vec<u8>>,
    /// The reason why the fixed text could not be written.
    pub(super) trouble: Option<String>,
    /// Whether the text has no known target.
    pub(super) targetless: bool,
    /// The `asm` statements that were not read.
    pub(super) skipped: Vec<Skipped>,
    /// Messages about requested targets or versions that are not known.
    pub(super) unknown: Vec<String>,
    /// Findings that fail a run in addition to errors.
    pub(super) denied: Vec<Denied>,
    /// The options for a second check, if there are too many findings to keep.
    pub(super) many: Option<CheckOptions>,
}

impl Run {
    /// Checks one input, and makes or shows its fixes.
    pub(super) fn check(
        &self,
        input: &Input,
        alone: bool,
        arguments: &Arguments,
        look: DiffLook,
    ) -> Result<Checked, String> {
        let named = match input {
            Input::File(path) | Input::Walked(path) => Some(path),
            Input::Stdin => arguments.stdin_filename.as_ref(),
        };
        if arguments.writes() {
            input.must_be_replaceable()?;
        }
        let settings: Result<(Arc<Settings>, Option<PathBuf>), String> = match named {
            Some(path) => self.finder.of(path).map(|(settings, path)| (settings, Some(path))),
            None => self.finder.here().map(|settings| (settings, None)),
        };
        let chosen = arguments.chosen(settings.as_ref().ok().map(|(settings, _)| &**settings));
        let kind = Kind::told(arguments.language, named.map(PathBuf::as_path), chosen);
        let reads = arguments.most().is_none() && kind == Kind::Ptx;
        let parts = if reads { Parts::open(input) } else { None };
        // Read errors are reported first.
        let small = if parts.is_some() { None } else { Some(input.bytes()?) };
        let (settings, path) = settings?;
        let name = named.map_or_else(|| input.shown(), PathBuf::as_path).to_path_buf();
        let language = kind.language(&visible_path(&name), small.as_deref().unwrap_or_default())?;
        let options = settings.check(path.as_deref(), &self.choices).with_language(language);
        let denied = settings.denied(path.as_deref(), &self.choices).unwrap_or_default().to_vec();
        let clean = parts.and_then(|parts| {
            let work = |part: &Part<'_>, known: &mut Known| check_part(part, &options, known);
            parts.each(alone, work)
        });
        let bytes = match small {
            None if clean.is_none() => Some(input.bytes()?),
            small => small,
        };
        let mut checked = Checked {
            statements: clean.into_iter().flatten().sum(),
            name,
            source: Source::Gone,
            diagnostics: Vec::new(),
            path,
            fixed: 0,
            fixable: [0, 0],
            text: None,
            trouble: None,
            targetless: language == Language::Cuda
                && options.target.is_none()
                && options.targets.is_empty(),
            skipped: Vec::new(),
            unknown: unknown(&options),
            denied,
            many: None,
        };
        if let Some(bytes) = &bytes
            && language == Language::Cuda
            && arguments.format == Format::Human
            && !arguments.quiet
        {
            checked.skipped = embed::skipped(&decoded(bytes));
        }
        match (bytes, arguments.most()) {
            // The text has no findings.
            (None, _) => {}
            (Some(bytes), None) => {
                let source = decoded(&bytes);
                let found = check_up_to(&source, &options, alone, MANY);
                if let (Some((_, diagnostics)), true) = (&found, arguments.summarizes()) {
                    checked.fixable = offers(&source, &options, diagnostics);
                }
                drop(source);
                match found {
                    Some((statements, diagnostics)) => {
                        checked.statements = statements;
                        checked.diagnostics = diagnostics;
                    }
                    None => checked.many = Some(options),
                }
                if checked.many.is_some() || !checked.diagnostics.is_empty() {
                    checked.source = Source::Read(bytes);
                }
            }
            (Some(bytes), Some(most)) => {
                make_fixes(input, &bytes, &options, most, arguments, look, &mut checked);
            }
        }
        Ok(checked)
    }
}

/// Messages about a requested target or version that is not known. A newer ptxas may
/// know it.
fn unknown(options: &CheckOptions) -> Vec<String> {
    let targets = options.target.iter().chain(&options.targets);
    let targets = targets.filter_map(|&target| unknown_target(target));
    let version = options.ptx_version.filter(|version| !version.is_known()).map(|version| {
        let nearest = version.nearest_known();
        format!("PTX version `{version}` is not known; the nearest known version is `{nearest}`")
    });
    targets.chain(version).collect()
}

/// Makes fixes in a file, or shows them.
fn make_fixes(
    input: &Input,
    bytes: &Bytes,
    options: &CheckOptions,
    most: Applicability,
    arguments: &Arguments,
    look: DiffLook,
    checked: &mut Checked,
) {
    let source = decoded(bytes);
    let mut fixed = if arguments.add_ignore {
        add_ignores(&source, options)
    } else {
        fix(&source, options, most)
    };
    // The bytes are edited, because the text may have characters that stand for other
    // bytes.
    let new = fixed.rounds.iter().fold(bytes.to_vec(), |bytes, edits| edited(&bytes, edits));
    let stdin = *input == Input::Stdin;
    if new != **bytes {
        if arguments.diff {
            checked.text = Some(diff(&checked.name, bytes, &new, look));
        } else if let (Some(path), Some(stamp)) = (input.path(), bytes.stamp()) {
            // A link is kept, and its target replaced.
            let written = fs::canonicalize(path).and_then(|path| replace(&path, &[&new], stamp));
            if let Err(error) = written {
                let why = reason(&error);
                checked.trouble = Some(format!("cannot write `{}`: {why}", input.name()));
                fixed = Fixed::unmade(&source, options);
            }
        }
    }
    if stdin && !arguments.diff {
        checked.text = Some(new);
    }
    if arguments.summarizes() {
        checked.fixable = offers(&fixed.text, options, &fixed.left);
    }
    checked.statements = fixed.statements;
    checked.fixed = fixed.codes.len();
    checked.diagnostics = fixed.left;
    checked.source = Source::Fixed(fixed.text);
}
