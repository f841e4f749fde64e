//! `vptx ptxas`: calls NVIDIA's ptxas on modules whose video instructions are rewritten.
// Doc comments of arguments are help texts, not Markdown.
#![allow(clippy::doc_markdown)]

mod handed;
mod process;
mod real;
mod report;
mod words;

use std::cell::OnceCell;
use std::env;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Write};
use std::mem;
use std::path::Path;

use clap::Args;
use thiserror::Error;

use self::handed::{Handed, nameless, with_names};
use self::process::{Call, Ended};
use self::real::{NoPtxas, Tried};
use self::report::{InputReport, Report};
use self::words::{CommandLine, ModuleWord};
use super::eval::human;
use super::rewrite::{NewText, Rewriting, rewrite_with};
use super::{FAILED, errors, trouble, width};
use crate::analysis::{check, parse};
use crate::backend::ptx::{NoTarget, RewriteOptions};
use crate::check::{CheckOptions, Dialect};
use crate::isa::Target;
use crate::report::{FileReport, Style, visible, visible_path};
use crate::source::decoded;
use crate::video::Semantics;
use crate::workspace::bug::{Bug, guarded};
use crate::workspace::error::{FileError, reason};
use crate::workspace::input::{Bytes, Input};

#[derive(Debug, Args)]
#[command(after_help = "\
Rewrites the video instructions of the modules as `vptx rewrite` does,
and calls NVIDIA's ptxas with all its options. The same happens when this
program is called by the name ptxas, through a link or as a copy.
  vptx ptxas -- -arch=sm_90 -O3 kernel.ptx -o kernel.cubin
  ln -s \"$(command -v vptx)\" DIR/ptxas

ptxas gets a module unchanged if anything about it is unusual; standard error
says why.
docs/rewriting/ptxas.md tells how compilers call it.

Environment:
  VPTX_PTXAS      the ptxas to call; else the first other ptxas in PATH,
                  CUDA_HOME/bin, CUDA_PATH/bin or /usr/local/cuda/bin
  VPTX_SEMANTICS  the semantics to follow: ptxas-13, ptxas-12 or manual; else those
                  of the ptxas that is called
  VPTX_REPORT     a file to append a JSON object to for each call
  GLIBC_TUNABLES  settings of the C library; without any, ptxas gets huge pages

Exit status: that of ptxas; 2 if there is none to call.")]
pub(super) struct Arguments {
    /// The command line of ptxas
    #[arg(value_name = "ARGS", last = true)]
    words: Vec<OsString>,

    /// Become the program that ARGS starts with, which ends with this parent
    #[cfg(target_os = "linux")]
    #[arg(long, hide = true, value_name = "PID")]
    child_of: Option<u32>,
}

/// The name that this program was called by, if it is a name of ptxas: `ptxas` alone, or with an
/// ending as in `ptxas-13.5` and `ptxas.exe`.
pub(super) fn called_as_ptxas(program: &OsStr) -> Option<&OsStr> {
    let name = Path::new(program).file_name()?;
    let rest = name.as_encoded_bytes().strip_prefix(b"ptxas")?;
    (rest.is_empty() || rest.starts_with(b"-") || rest.starts_with(b".")).then_some(name)
}

/// Runs the command, and ends this process as ptxas ended.
pub(super) fn run(arguments: &Arguments) -> ! {
    #[cfg(target_os = "linux")]
    if let Some(parent) = arguments.child_of {
        process::become_child(parent, &arguments.words);
        Ended::Code(process::NOT_STARTED).end();
    }
    let usual = format!("ptxas{}", env::consts::EXE_SUFFIX);
    run_as(OsStr::new(&usual), &arguments.words)
}

/// Runs ptxas on a command line, and ends this process as ptxas ended. `called` is the name that
/// this program was called by.
pub(super) fn run_as(called: &OsStr, words: &[OsString]) -> ! {
    process::watch_children();
    let ended = call(called, words).unwrap_or_else(|error| {
        trouble(&error);
        Ended::Code(FAILED.into())
    });
    ended.end()
}

/// Why ptxas is not called.
#[derive(Debug, Error)]
enum CallError {
    #[error(transparent)]
    NoPtxas(#[from] NoPtxas),
    /// ptxas does not start, or standard input cannot be read or kept.
    #[error(transparent)]
    File(#[from] FileError),
    #[error(
        "VPTX_SEMANTICS is `{name}`: it takes {}",
        Semantics::ALL.map(Semantics::text).join(", ")
    )]
    Semantics { name: String },
}

fn call(called: &OsStr, words: &[OsString]) -> Result<Ended, CallError> {
    let tried = Tried::new();
    let real = real::find(called, &tried)?;
    let tried = tried.with(&real)?;
    let plain = Call { real: &real, words, stdin: None, tried: &tried };
    let cannot = |error: io::Error| CallError::from(FileError::new("call", &real, &error));
    if Tried::is_inner() {
        return plain.replace_this_process().map_err(cannot);
    }
    let choice = Choice::new(plain)?;
    let mut report = Report { ptxas: real.to_string_lossy().into_owned(), ..Report::default() };
    let mut modules = Modules::default();
    let mut new_words = Vec::new();
    match CommandLine::of(words) {
        Ok(found) if found.is_question => return plain.replace_this_process().map_err(cannot),
        Ok(found) => {
            report.arch.clone_from(&found.arch);
            if found.for_debugger {
                report.fallback = Some("the code is for a debugger".into());
            } else if let Some(options) = options(&found) {
                modules.rewrite(&found, &options, &choice, &mut report)?;
                new_words = found.all;
            }
        }
        Err(why) => {
            trouble(&format!("ptxas gets all modules unchanged: {why}"));
            report.fallback = Some(why.to_string());
        }
    }
    report.semantics = choice.text();
    let plain = Call { stdin: modules.stdin.as_ref(), ..plain };
    if modules.new.is_empty() {
        if !report::is_wanted() {
            return plain.replace_this_process().map_err(cannot);
        }
        let ended = plain.run().map_err(cannot)?;
        return Ok(reported(report, ended));
    }
    let tried = modules.try_new(new_words, plain);
    // From here on, only the user's own texts are needed.
    modules.new.clear();
    let why = match &tried {
        NewTexts::Done(ended) => return Ok(reported(report, *ended)),
        NewTexts::Refused => "ptxas refuses the new text of a module".into(),
        NewTexts::NotStarted(error) => {
            format!("ptxas cannot be started with the new text of a module: {}", reason(error))
        }
    };
    let ended = plain.run().map_err(cannot)?;
    // If ptxas refuses the old texts, too, the modules have errors, and ptxas has said so.
    if ended == Ended::Code(0) || !matches!(tried, NewTexts::Refused) {
        trouble(&format!("ptxas got all modules unchanged: {why}"));
    }
    report.inputs.iter_mut().for_each(InputReport::forget);
    report.fallback = Some(why);
    Ok(reported(report, ended))
}

fn reported(mut report: Report, ended: Ended) -> Ended {
    match ended {
        Ended::Code(code) => report.status = Some(code),
        Ended::Signal(signal) => report.signal = Some(signal),
    }
    report.append();
    ended
}

/// The semantics to follow.
struct Choice<'c> {
    /// The semantics that the environment asks for.
    asked: Option<Semantics>,
    ptxas: Call<'c>,
    /// The semantics of the real ptxas, once ptxas was asked for its release. `None` if ptxas did
    /// not tell its release.
    of_release: OnceCell<Option<Semantics>>,
}

impl<'c> Choice<'c> {
    fn new(ptxas: Call<'c>) -> Result<Choice<'c>, CallError> {
        let name = env::var_os("VPTX_SEMANTICS").filter(|name| !name.is_empty());
        let semantics = |name: &OsString| {
            let semantics = name.to_str().and_then(|name| name.parse().ok());
            semantics.ok_or_else(|| CallError::Semantics { name: visible_path(Path::new(&name)) })
        };
        let asked = name.as_ref().map(semantics).transpose()?;
        Ok(Choice { asked, ptxas, of_release: OnceCell::new() })
    }

    /// The semantics for a module. ptxas is asked for its release only if a result depends on the
    /// release, as another process takes some milliseconds.
    fn of(&self, text: &str) -> Result<Semantics, Unusual> {
        if let Some(asked) = self.asked {
            return Ok(asked);
        }
        if !depends_on_release(text) {
            return Ok(Semantics::CURRENT);
        }
        let of_release = || self.ptxas.version().ok().and_then(|answer| of_answer(&answer));
        self.of_release.get_or_init(of_release).ok_or_else(|| {
            "results depend on the release of ptxas, which `--version` does not tell".into()
        })
    }

    /// The semantics that was followed, as far as results depend on it.
    fn text(&self) -> &'static str {
        let of_release = self.of_release.get().copied().flatten();
        self.asked.or(of_release).unwrap_or(Semantics::CURRENT).text()
    }
}

/// Whether an instruction gives other results with another release of ptxas.
fn depends_on_release(text: &str) -> bool {
    // Only merges into `.h1` depend on the release. Most modules have no such merge, and need not
    // be read again.
    text.contains(".h1") && {
        let (module, _) = parse(text);
        module.instructions().any(|(_, instruction)| {
            let [one, other] = Semantics::PTXAS.map(|it| instruction.lower(it));
            one != other
        })
    }
}

/// The semantics of a ptxas by its answer to `--version`, with `release 13.5, V13.5.37` in it.
fn of_answer(answer: &str) -> Option<Semantics> {
    let releases = answer.split("release ").skip(1);
    let mut numbers = releases.filter_map(|rest| rest.split_once(", V"));
    numbers.find_map(|(release, _)| Semantics::of_ptxas(release))
}

/// The options to rewrite with. `None` if ptxas emits no code.
fn options(words: &CommandLine) -> Option<RewriteOptions> {
    let target = match &words.arch {
        None => None,
        // For targets such as `compute_90`, ptxas emits no code.
        Some(arch) => Some(arch.parse::<Target>().ok().filter(|_| arch.starts_with("sm_"))?),
    };
    Some(RewriteOptions::default().with_target(target).keeping_lines())
}

/// The new text of a module.
enum New {
    File(Handed),
    Stdin(File),
    /// A word with the text in it.
    Word(OsString),
}

/// A module that is rewritten.
struct NewModule {
    /// The number of its word on the command line.
    at: usize,
    /// The word that the user wrote.
    name: OsString,
    new: New,
}

/// The result of a call with new texts.
enum NewTexts {
    /// ptxas took the new texts, and its output was printed.
    Done(Ended),
    Refused,
    NotStarted(io::Error),
}

/// The modules of a command line.
#[derive(Default)]
struct Modules {
    /// What was read from standard input.
    stdin: Option<File>,
    new: Vec<NewModule>,
}

/// Why a module stays as it is although it has something to rewrite.
struct Unusual {
    why: String,
    /// Whether ptxas will report the reason itself.
    is_told: bool,
}

impl From<&str> for Unusual {
    fn from(why: &str) -> Unusual {
        Unusual { why: why.into(), is_told: false }
    }
}

impl From<Bug> for Unusual {
    fn from(bug: Bug) -> Unusual {
        Unusual { why: bug.to_string(), is_told: false }
    }
}

impl Modules {
    /// Rewrites the modules of a command line. Fails if standard input was read, but cannot be
    /// passed on to ptxas.
    fn rewrite(
        &mut self,
        words: &CommandLine,
        options: &RewriteOptions,
        choice: &Choice<'_>,
        report: &mut Report,
    ) -> Result<(), FileError> {
        let is_stdin = |&&(_, place): &&(usize, ModuleWord)| place == ModuleWord::Stdin;
        let many_stdins = words.modules.iter().filter(is_stdin).count() > 1;
        for &(at, place) in &words.modules {
            let word = &words.all[at];
            let (name, bytes) = match place {
                ModuleWord::File => (word.to_string_lossy().into_owned(), file(Path::new(word))),
                ModuleWord::Stdin if many_stdins => {
                    ("-".into(), Err("it is named several times".into()))
                }
                ModuleWord::Stdin => {
                    let bytes = Input::Stdin.bytes()?;
                    let cannot = |error| FileError::unnamed("keep standard input", &error);
                    self.stdin = Some(nameless(&[&*bytes][..]).map_err(cannot)?);
                    ("-".into(), Ok(bytes))
                }
                ModuleWord::Text(start) => {
                    let text = word.as_encoded_bytes()[start..].to_vec();
                    ("<text>".into(), Ok(text.into()))
                }
            };
            let mut input = InputReport { name, ..InputReport::default() };
            let shown = visible(&input.name).into_owned();
            let mut rewrite = |bytes: Bytes| -> Result<_, Unusual> {
                let source = decoded(&bytes);
                let options = options.clone().with_semantics(choice.of(&source)?);
                let old = OldModule { at, place, word, bytes: &bytes, source: &source };
                NewModule::of(&old, &options, &mut input)
            };
            let new = bytes.and_then(|bytes| guarded(&shown, || rewrite(bytes)).flatten());
            match new {
                Ok(new) => self.new.extend(new),
                Err(Unusual { why, is_told }) => {
                    input.forget();
                    if !is_told {
                        trouble(&format!("ptxas gets `{shown}` unchanged: {why}"));
                    }
                    input.fallback = Some(why);
                }
            }
            report.inputs.push(input);
        }
        Ok(())
    }

    /// Calls ptxas with the new texts.
    fn try_new(&self, mut words: Vec<OsString>, plain: Call<'_>) -> NewTexts {
        let (mut stdin, mut names) = (plain.stdin, Vec::new());
        for NewModule { at, name, new } in &self.new {
            match new {
                New::File(file) => {
                    words[*at] = file.path.clone().into_os_string();
                    names.push((file.path.as_os_str().as_encoded_bytes(), name.as_encoded_bytes()));
                }
                New::Word(word) => words[*at].clone_from(word),
                New::Stdin(file) => stdin = Some(file),
            }
        }
        let (ended, output) = match (Call { words: &words, stdin, ..plain }).run_silently() {
            Ok(done) => done,
            Err(error) => return NewTexts::NotStarted(error),
        };
        if !matches!(ended, Ended::Code(0)) && !ended.is_wanted() {
            return NewTexts::Refused;
        }
        // Errors in writing are ignored, as ptxas itself ignores them.
        let _ = io::stdout().write_all(&with_names(output.stdout, &names));
        let _ = io::stdout().flush();
        let _ = io::stderr().write_all(&with_names(output.stderr, &names));
        NewTexts::Done(ended)
    }
}

/// The bytes of a module. Fails unless ptxas can read the module again.
fn file(path: &Path) -> Result<Bytes, Unusual> {
    let is_told = |error: &io::Error| Unusual { why: reason(error), is_told: true };
    let data = fs::metadata(path).map_err(|error| is_told(&error))?;
    if !data.is_file() {
        return Err("it is not a regular file".into());
    }
    Input::File(path.into()).bytes().map_err(|why| Unusual { why: why.to_string(), is_told: true })
}

/// Prints the errors for which ptxas will refuse a module, so that they stand before the messages
/// of ptxas.
fn show_errors(name: &str, source: &str) {
    let options = CheckOptions::errors_only().with_dialect(Dialect::Ptxas);
    let found = check(source, &options);
    let file = FileReport { path: Path::new(name), source, diagnostics: &found };
    // Escapes are dropped unless a terminal shows them.
    let unicode = supports_unicode::on(supports_unicode::Stream::Stderr);
    let style = Style { color: true, unicode, width: width() };
    // If standard error cannot be written, ptxas cannot report anything either.
    let _ = human(&style, &file).and_then(|text| errors().write_all(&text));
}

/// A module as it was read.
struct OldModule<'m> {
    /// The number of its word on the command line.
    at: usize,
    place: ModuleWord,
    word: &'m OsStr,
    bytes: &'m Bytes,
    source: &'m str,
}

impl NewModule {
    /// Rewrites a module, if it has an instruction to rewrite.
    fn of(
        old: &OldModule<'_>,
        options: &RewriteOptions,
        input: &mut InputReport,
    ) -> Result<Option<NewModule>, Unusual> {
        let &OldModule { at, place, word, bytes, source } = old;
        let (rewriting, errors) =
            rewrite_with(source, options, true).map_err(|NoTarget| "it has no .target")?;
        let Rewriting { total, rewritten, measured, before, after, target, .. } = rewriting;
        let target = target.map(|target| target.to_string());
        let name = mem::take(&mut input.name);
        let instructions = total;
        *input = InputReport {
            name,
            target,
            instructions,
            rewritten,
            measured,
            before,
            after,
            fallback: None,
        };
        if !errors.is_empty() {
            show_errors(&input.name, source);
        }
        if rewritten == 0 {
            return Ok(None);
        }
        if !errors.is_empty() {
            return Err("`vptx check` finds errors in it".into());
        }
        if str::from_utf8(bytes).is_err() {
            return Err("it is not in UTF-8".into());
        }
        let text = NewText { old: bytes, rewriting: &rewriting };
        let cannot = |error: io::Error| Unusual {
            why: format!("its new text cannot be kept: {}", reason(&error)),
            is_told: false,
        };
        let new = match place {
            ModuleWord::File => New::File(Handed::new(&text).map_err(cannot)?),
            ModuleWord::Stdin => New::Stdin(nameless(&text).map_err(cannot)?),
            ModuleWord::Text(start) => {
                let option = &word.to_str().unwrap_or_default()[..start];
                let mut new = option.as_bytes().to_vec();
                text.pieces().for_each(|piece| new.extend_from_slice(piece));
                New::Word(String::from_utf8_lossy(&new).into_owned().into())
            }
        };
        Ok(Some(NewModule { at, name: word.into(), new }))
    }
}
