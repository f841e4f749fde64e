//! Checks one input.

use std::borrow::Cow;
use std::fs;
use std::path::{Path, PathBuf};

use super::{Arguments, Run};
use crate::analysis::{Fixed, add_new_ignores, check_up_to, fix_new, offers};
use crate::check::{CheckOptions, Language};
use crate::cli::error::CommandError;
use crate::diagnostic::{Applicability, Diagnostic};
use crate::embed::{self, Skipped};
use crate::report::{Format, visible_path};
use crate::source::decoded;
use crate::workspace::error::FileError;
use crate::workspace::files::{DiffLook, diff, edited, replace};
use crate::workspace::input::{Bytes, Input};
use crate::workspace::kind::FileKind;
use crate::workspace::settings::{Denied, chosen, unknown_names};

/// The text that findings are about.
#[derive(Default)]
pub(super) enum ReportText {
    /// The text of a clean file is not needed again.
    #[default]
    Gone,
    Read(Bytes),
    Fixed(String),
}

impl ReportText {
    pub(super) fn text(&self) -> Cow<'_, str> {
        match self {
            ReportText::Gone => Cow::default(),
            ReportText::Read(bytes) => decoded(bytes),
            ReportText::Fixed(text) => text.into(),
        }
    }
}

/// The largest number of findings of one file that is kept. A file with more is checked
/// again, and each finding is reported as soon as it is found.
const MANY: usize = 2048;

/// An input with its bytes.
struct ReadInput<'i> {
    input: &'i Input,
    bytes: &'i Bytes,
}

/// What the settings lack for findings on the costs of a source, which names no target itself.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Missing {
    /// A list of all targets. Without it, no fix is made.
    List,
    /// Any target. Without it, there are no such findings.
    Target,
}

/// The outcome for one input.
#[derive(Default)]
pub(super) struct CheckedFile {
    pub(super) statements: usize,
    /// The name of the input as shown to the reader.
    pub(super) name: PathBuf,
    pub(super) source: ReportText,
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
    pub(super) trouble: Option<FileError>,
    /// What costs lack, if anything.
    pub(super) missing: Option<Missing>,
    /// The `asm` statements that were not read.
    pub(super) skipped: Vec<Skipped>,
    /// Messages about requested targets or versions that are not known.
    pub(super) unknown: Vec<String>,
    /// Findings that make a run fail, in addition to errors.
    pub(super) denied: Vec<Denied>,
    /// The options for a second check, if there are too many findings to keep.
    pub(super) many: Option<CheckOptions>,
}

impl Run {
    /// Checks one input, and makes or shows its fixes.
    pub(super) fn check(
        &self,
        input: &Input,
        arguments: &Arguments,
        look: DiffLook,
    ) -> Result<CheckedFile, CommandError> {
        let named = match input {
            Input::File(path) | Input::Walked(path) => Some(path),
            Input::Stdin => arguments.stdin_filename.as_ref(),
        };
        if arguments.writes() {
            input.must_be_replaceable()?;
        }
        let settings = self.finder.of_text(named.map(PathBuf::as_path));
        let chosen = chosen(settings.as_ref().ok(), &arguments.extension);
        let kind = FileKind::told(arguments.language, named.map(PathBuf::as_path), chosen);
        // Read errors are reported first.
        let bytes = input.bytes()?;
        let (settings, path) = settings?;
        let name = named.map_or_else(|| input.shown(), PathBuf::as_path).to_path_buf();
        let language = kind.language(&visible_path(&name), &bytes)?;
        let include = arguments.include.iter().chain(&settings.include).cloned().collect();
        let headers = self.headers.of(named.map(PathBuf::as_path), include);
        let options = settings.check(path.as_deref(), &self.choices);
        let options = options.with_language(language).with_headers(headers);
        let denied = settings.denied(path.as_deref(), &self.choices).unwrap_or_default().to_vec();
        let mut checked = CheckedFile::new(name, path, &options, denied);
        if let Some(host) = language.host()
            && (arguments.statistics || arguments.format == Format::Human && !arguments.quiet)
        {
            checked.skipped = embed::unread(&decoded(&bytes), host, options.headers.as_ref());
        }
        if let Some(most) = arguments.most() {
            let read = ReadInput { input, bytes: &bytes };
            self.make_fixes(&read, &options, most, arguments, look, &mut checked);
            return Ok(checked);
        }
        self.find(bytes, options, arguments, &mut checked);
        Ok(checked)
    }

    /// Checks a PTX text of a binary.
    pub(super) fn check_image(
        &self,
        binary: &Path,
        name: &str,
        text: Vec<u8>,
        arguments: &Arguments,
    ) -> Result<CheckedFile, CommandError> {
        let (settings, path) = self.finder.of(binary)?;
        let options = settings.check(Some(&path), &self.choices);
        let denied = settings.denied(Some(&path), &self.choices).unwrap_or_default().to_vec();
        let [shown, path] = [binary, &path].map(|file| {
            let mut file = file.as_os_str().to_os_string();
            // A packed text has no name of its own.
            if !name.is_empty() {
                file.push("!");
                file.push(name);
            }
            PathBuf::from(file)
        });
        let mut checked = CheckedFile::new(shown, Some(path), &options, denied);
        self.find(Bytes::from(text), options, arguments, &mut checked);
        // A run makes fixes only in files, not inside binaries.
        checked.fixable = [0, 0];
        Ok(checked)
    }

    /// Whether each finding of a file is in the baseline, so that it must not be fixed.
    fn known(
        &self,
        checked: &CheckedFile,
        source: &str,
        found: &[Diagnostic],
        arguments: &Arguments,
    ) -> Vec<bool> {
        let baseline = self.baseline.as_ref().filter(|_| !arguments.fix_known);
        baseline.map_or_else(Vec::new, |it| it.known(checked.path.as_deref(), source, found))
    }

    /// Finds what the run reports about a text.
    fn find(
        &self,
        bytes: Bytes,
        options: CheckOptions,
        arguments: &Arguments,
        checked: &mut CheckedFile,
    ) {
        let source = decoded(&bytes);
        match check_up_to(&source, &options, MANY) {
            Some((statements, diagnostics)) => {
                if arguments.summarizes() {
                    let known = self.known(checked, &source, &diagnostics, arguments);
                    checked.fixable = offers(&source, &options, &diagnostics, &known);
                }
                checked.statements = statements;
                checked.diagnostics = diagnostics;
            }
            None => checked.many = Some(options),
        }
        drop(source);
        if checked.many.is_some() || !checked.diagnostics.is_empty() {
            checked.source = ReportText::Read(bytes);
        }
    }

    /// Makes fixes in a file, or shows them.
    fn make_fixes(
        &self,
        read: &ReadInput<'_>,
        options: &CheckOptions,
        most: Applicability,
        arguments: &Arguments,
        look: DiffLook,
        checked: &mut CheckedFile,
    ) {
        let &ReadInput { input, bytes } = read;
        let source = decoded(bytes);
        let mut fixed = if arguments.add_ignore {
            let known =
                |text: &str, found: &[Diagnostic]| self.known(checked, text, found, arguments);
            add_new_ignores(&source, options, known)
        } else {
            let known = |found: &[Diagnostic]| self.known(checked, &source, found, arguments);
            fix_new(&source, options, most, known)
        };
        // The edits are made in the bytes, because characters of the decoded text may stand for
        // other bytes.
        let new = fixed.rounds.iter().fold(bytes.to_vec(), |bytes, edits| edited(&bytes, edits));
        let stdin = *input == Input::Stdin;
        if new != **bytes {
            if arguments.diff {
                checked.text = Some(diff(&checked.name, bytes, &new, look));
            } else if let (Some(path), Some(stamp)) = (input.path(), bytes.stamp()) {
                // A link is kept, and its target replaced.
                let written =
                    fs::canonicalize(path).and_then(|path| replace(&path, &[&new], stamp));
                if let Err(error) = written {
                    checked.trouble = Some(FileError::new("write", input.shown(), &error));
                    fixed = Fixed::unmade(&source, options);
                }
            }
        }
        if stdin && !arguments.diff {
            checked.text = Some(new);
        }
        if arguments.summarizes() {
            let known = self.known(checked, &fixed.text, &fixed.left, arguments);
            checked.fixable = offers(&fixed.text, options, &fixed.left, &known);
        }
        checked.statements = fixed.statements;
        checked.fixed = fixed.codes.len();
        checked.diagnostics = fixed.left;
        checked.source = ReportText::Fixed(fixed.text);
    }
}

impl CheckedFile {
    fn new(
        name: PathBuf,
        path: Option<PathBuf>,
        options: &CheckOptions,
        denied: Vec<Denied>,
    ) -> CheckedFile {
        CheckedFile {
            name,
            path,
            missing: match options.target {
                _ if options.language == Language::Ptx || !options.targets.is_empty() => None,
                Some(_) => Some(Missing::List),
                None => Some(Missing::Target),
            },
            unknown: unknown_names(options),
            denied,
            ..CheckedFile::default()
        }
    }
}
