//! The command line: arguments, files, exit codes.
// Doc comments of arguments are help texts, not Markdown.
#![allow(clippy::doc_markdown)]

mod baseline;
mod check;
mod conformance;
mod diff;
mod error;
mod eval;
mod explain;
mod extract;

mod format;
mod inputs;
mod lower;
mod man;
mod normalize;
mod outputs;
mod port;
mod progress;
mod ptxas;
mod rewrite;
mod show;
mod survey;
mod table;
mod tree;
mod watch;

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt::Display;
use std::io::{self, IsTerminal, Write};
use std::iter;
use std::process::ExitCode;

use anstream::{AutoStream, ColorChoice};
use clap::builder::Resettable;
use clap::builder::styling::{AnsiColor, Styles};
use clap::error::ContextKind;
use clap::{CommandFactory, Parser, Subcommand, ValueEnum};
use serde::Serialize;

use self::error::{Trouble, told};
use crate::report::{Style, visible_lines};
use crate::workspace::bug::{self, Bug};
use crate::workspace::files::DiffLook;

// In WebAssembly, panics do not unwind, but nothing there calls the program.
#[cfg(all(panic = "abort", not(target_family = "wasm")))]
compile_error!("a bug met in one file must not end the work on others: panics have to unwind");

const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Green.on_default().bold())
    .usage(AnsiColor::Green.on_default().bold())
    .literal(AnsiColor::Cyan.on_default().bold())
    .placeholder(AnsiColor::Cyan.on_default());

/// The commands that few people type. The help has a separate list of them.
const FOR_TOOLS: &str = "\
For packages, shells and tests of other tools:
  conformance  Write test vectors for other implementations of the instructions
  completions  Print a completion script for a shell
  man          Print a manual page, in roff";

/// Reads, checks and explains the video instructions of NVIDIA PTX.
#[derive(Debug, Parser)]
#[command(name = "vptx", version, styles = STYLES, propagate_version = true, max_term_width = 100)]
#[command(after_help = FOR_TOOLS)]
struct Arguments {
    #[command(subcommand)]
    command: Command,

    /// When to use colours; NO_COLOR and CLICOLOR are respected
    #[arg(
        long,
        global = true,
        value_enum,
        value_name = "WHEN",
        default_value_t,
        display_order = 500
    )]
    color: Color,

    /// Print no summaries, where a command has --quiet
    #[arg(long, short)]
    quiet: bool,
}

// Only the arguments of the called command are built.
#[derive(Debug, Subcommand)]
#[command(defer = true)]
enum Command {
    /// Find errors and doubtful code in the video instructions of PTX
    Check(check::Arguments),
    /// Format PTX without changing its meaning
    #[command(alias = "format")]
    Fmt(format::Arguments),
    /// Show what really differs between two PTX modules
    Diff(diff::Arguments),
    /// Print the syntax tree of a module, as text or as JSON with every byte
    Tree(tree::Arguments),
    /// Compute the result of an instruction for given inputs
    Eval(eval::Arguments),
    /// Replace video instructions by ordinary PTX of fewer machine instructions
    Rewrite(rewrite::Arguments),
    /// Turn video instructions into programs of simple steps, C or LLVM
    Lower(lower::Arguments),
    /// Replace video instructions in `asm` statements by calls of C functions
    Port(port::Arguments),
    /// List or write the PTX inside binaries, wheels and other archives
    Extract(extract::Arguments),
    /// Count video instructions, differences and costs in PTX, binaries and wheels
    Survey(survey::Arguments),
    /// Call NVIDIA's ptxas on modules whose video instructions are rewritten
    Ptxas(ptxas::Arguments),
    /// Explain a code, a modifier or an instruction
    Explain(explain::Arguments),
    /// Serve editors: findings, fixes and explanations while you type
    #[cfg(feature = "server")]
    #[command(after_help = "\
An editor starts this program and speaks with it over standard input and output
in the Language Server Protocol. docs/start/editors.md has settings for editors.

Exit status: 0 the editor ended the conversation in order, 1 it did not, 2 the
input is no message of an editor.")]
    Server,
    /// Write test vectors for other implementations of the instructions
    #[command(hide = true)]
    Conformance(conformance::Arguments),
    /// Print a completion script for a shell
    #[command(hide = true)]
    Completions {
        /// The shell to write the script for
        shell: clap_complete::Shell,
    },
    /// Print a manual page, in roff
    #[command(hide = true)]
    Man(man::Arguments),
}

impl Command {
    /// Suppresses the summaries of the command.
    fn silence(&mut self) {
        match self {
            Command::Check(arguments) => arguments.quiet = true,
            Command::Fmt(arguments) => arguments.quiet = true,
            Command::Rewrite(arguments) => arguments.quiet = true,
            Command::Port(arguments) => arguments.quiet = true,
            Command::Extract(arguments) => arguments.quiet = true,
            Command::Diff(arguments) => arguments.quiet = true,
            Command::Eval(_)
            | Command::Lower(_)
            | Command::Survey(_)
            | Command::Conformance(_)
            | Command::Ptxas(_)
            | Command::Explain(_)
            | Command::Tree(_)
            | Command::Completions { .. }
            | Command::Man(_) => {}
            #[cfg(feature = "server")]
            Command::Server => {}
        }
    }
}

#[derive(Clone, Copy, Debug, Default, ValueEnum)]
enum Color {
    /// Only on a terminal
    #[default]
    Auto,
    /// Also in files and pipes
    Always,
    /// Not at all
    Never,
}

/// The exit status for findings, and for other reasons to fail a build.
const FOUND: u8 = 1;
/// The exit status if the work could not be done.
const FAILED: u8 = 2;

/// Runs the program on the process' arguments.
pub fn main() -> ExitCode {
    bug::keep_places();
    bug::guarded("the command line", || run(std::env::args_os())).unwrap_or_else(|bug: Bug| {
        trouble(&bug);
        FAILED.into()
    })
}

/// Runs the program with the words of a command line. The first word is the name of the program.
pub fn run(mut words: impl Iterator<Item = OsString>) -> ExitCode {
    let program = words.next().unwrap_or_default();
    if let Some(name) = ptxas::called_as_ptxas(&program) {
        ptxas::run_as(name, &words.collect::<Vec<_>>());
    }
    let words = iter::once(program).chain(words).collect();
    let mut arguments = match Arguments::try_parse_from(as_rewrite(words)) {
        Ok(arguments) => arguments,
        Err(error) => return answered(&without_tip(error)),
    };
    if arguments.quiet {
        arguments.command.silence();
    }
    let choice = match arguments.color {
        Color::Always => ColorChoice::Always,
        Color::Never => ColorChoice::Never,
        // The pager of git shows colours.
        Color::Auto => match &arguments.command {
            Command::Diff(diff) if diff.is_paged() => ColorChoice::Always,
            _ => AutoStream::choice(&io::stdout()),
        },
    };
    let color = !matches!(choice, ColorChoice::Never);
    // Without colours, nothing is to be dropped: an escape is part of a text that must not change.
    let choice = if color { choice } else { ColorChoice::AlwaysAnsi };
    let mut out = Output {
        stream: Stream::new(AutoStream::new(io::stdout().lock(), choice)),
        style: Style {
            color,
            // Files and pipes get UTF-8.
            unicode: supports_unicode::on(supports_unicode::Stream::Stdout),
            width: width(),
        },
    };
    let result = match arguments.command {
        Command::Check(arguments) => check::run(&arguments, &mut out),
        Command::Fmt(arguments) => format::run(&arguments, &mut out),
        Command::Diff(arguments) => diff::run(&arguments, &mut out),
        Command::Tree(arguments) => tree::run(&arguments, &mut out),
        Command::Eval(arguments) => eval::run(&arguments, &mut out),
        Command::Rewrite(arguments) => rewrite::run(&arguments, &mut out),
        Command::Lower(arguments) => lower::run(&arguments, &mut out),
        Command::Port(arguments) => port::run(&arguments, &mut out),
        Command::Extract(arguments) => extract::run(&arguments, &mut out).map_err(Trouble::from),
        Command::Survey(arguments) => survey::run(&arguments, &mut out),
        Command::Conformance(arguments) => {
            conformance::run(&arguments, &mut out).map_err(Trouble::from)
        }
        Command::Ptxas(arguments) => ptxas::run(&arguments),
        Command::Explain(arguments) => explain::run(&arguments, &mut out),
        #[cfg(feature = "server")]
        Command::Server => {
            // The server writes messages to standard output itself.
            drop(out);
            return match crate::server::run() {
                Ok(in_order) => u8::from(!in_order).into(),
                Err(error) => {
                    trouble(&error);
                    FAILED.into()
                }
            };
        }
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut with_all_commands(), "vptx", &mut script);
            out.stream.write_all(&script).map(|()| 0).map_err(Trouble::from)
        }
        Command::Man(arguments) => man::run(&arguments, with_all_commands(), &mut out),
    };
    let result = told(result, &mut out).and_then(|status| out.stream.flush().map(|()| status));
    match result {
        Ok(status) => status.into(),
        Err(error) => unwritable(&error),
    }
}

/// The program with all commands in one list.
fn with_all_commands() -> clap::Command {
    Arguments::command().mut_subcommands(|it| it.hide(false)).after_help(Resettable::Reset)
}

/// The words of a command line, with `lower --emit ptx`, an old name of `rewrite`, replaced by
/// `rewrite`.
fn as_rewrite(mut words: Vec<OsString>) -> Vec<OsString> {
    let Some(command) = words.iter().position(|word| word == "lower") else { return words };
    let options = &words[command..];
    let options = &options[..options.iter().position(|word| word == "--").unwrap_or(options.len())];
    let two = options.windows(2).position(|pair| pair[0] == "--emit" && pair[1] == "ptx");
    let one = || options.iter().position(|word| word == "--emit=ptx").map(|at| (at, 1));
    if let Some((at, count)) = two.map(|at| (at, 2)).or_else(one) {
        words.drain(command + at..command + at + count);
        words[command] = "rewrite".into();
    }
    words
}

/// A usage error without the tip to write `--` before an unknown option: the user does
/// not mean a file.
fn without_tip(mut error: clap::Error) -> clap::Error {
    let _ = error.remove(ContextKind::Suggested);
    error
}

/// Prints the answer of the argument parser. Returns status 2 for usage errors, and 0 for help and
/// version.
fn answered(answer: &clap::Error) -> ExitCode {
    match answer.print().and_then(|()| io::stdout().flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => unwritable(&error),
        _ => u8::try_from(answer.exit_code()).unwrap_or(FAILED).into(),
    }
}

fn unwritable(error: &io::Error) -> ExitCode {
    trouble(&format!("cannot write: {error}"));
    FAILED.into()
}

/// Standard output, and the style that it supports.
struct Output {
    stream: Stream<AutoStream<io::StdoutLock<'static>>>,
    style: Style,
}

/// An output that the reader may close early. After that, nothing is written. This is no error, and
/// does not change the exit status.
struct Stream<W> {
    inner: W,
    is_closed: bool,
}

impl<W: Write> Stream<W> {
    fn new(inner: W) -> Stream<W> {
        Stream { inner, is_closed: false }
    }

    /// Writes, or returns the result of a complete write if the output is closed.
    fn unless_closed<T>(
        &mut self,
        all: T,
        write: impl FnOnce(&mut W) -> io::Result<T>,
    ) -> io::Result<T> {
        if self.is_closed {
            return Ok(all);
        }
        match write(&mut self.inner) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                self.is_closed = true;
                Ok(all)
            }
            written => written,
        }
    }
}

impl<W: Write> Write for Stream<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.unless_closed(bytes.len(), |inner| inner.write(bytes))
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.unless_closed((), |inner| inner.write_all(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.unless_closed((), Write::flush)
    }
}

/// Writes a record of JSON, and a line break.
fn json_line(record: &impl Serialize, out: &mut (impl Write + ?Sized)) -> io::Result<()> {
    serde_json::to_writer(&mut *out, record)?;
    out.write_all(b"\n")
}

/// Standard error.
fn errors() -> Stream<AutoStream<io::StderrLock<'static>>> {
    Stream::new(AutoStream::auto(io::stderr().lock()))
}

impl Output {
    /// The look of a diff on this output.
    fn diff_look(&self) -> DiffLook {
        match () {
            () if self.style.color => DiffLook::Colored,
            () if io::stdout().is_terminal() => DiffLook::Plain,
            () => DiffLook::Exact,
        }
    }
}

/// Names with their counts, the most frequent first: `vset4 276, vmin2 258`.
fn by_count(counts: &BTreeMap<&str, usize>) -> String {
    let mut counts: Vec<_> = counts.iter().collect();
    counts.sort_by_key(|&(name, count)| (Reverse(*count), *name));
    let texts = counts.iter().map(|(name, count)| format!("{name} {count}"));
    texts.collect::<Vec<_>>().join(", ")
}

/// Reports a task that failed. Control characters are escaped. File names must be
/// escaped already (`visible_path`), because messages may have several lines.
fn trouble(message: &(impl Display + ?Sized)) {
    // If even this write fails, nothing is left to do.
    let _ = writeln!(anstream::stderr(), "vptx: {}", visible_lines(&message.to_string()));
}

/// The columns for text: those of the terminal, but at least 40 and at most 160.
fn width() -> usize {
    columns().clamp(40, 160)
}

/// The columns of the terminal: COLUMNS if it is set, otherwise the width of the terminal,
/// otherwise 80.
fn columns() -> usize {
    let terminal = || terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
    std::env::var("COLUMNS")
        .ok()
        .and_then(|columns| columns.parse().ok())
        .or_else(|| io::stdout().is_terminal().then(terminal).flatten())
        .unwrap_or(80)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An output without a reader.
    struct Closed {
        writes: usize,
    }

    impl Write for Closed {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            self.writes += 1;
            Err(io::ErrorKind::BrokenPipe.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            self.write(b"").map(drop)
        }
    }

    #[test]
    fn nothing_is_written_to_a_closed_output() {
        let mut stream = Stream::new(Closed { writes: 0 });
        for _ in 0..3 {
            stream.write_all(b"text").expect("this is no error");
            stream.flush().expect("this is no error");
        }
        assert_eq!(stream.inner.writes, 1);
    }
}
