//! `vptx explain`
// Doc comments of arguments are help texts, not Markdown.
#![allow(clippy::doc_markdown)]

use std::env;
use std::io::{self, Write};
use std::process::{Command, ExitStatus};

use clap::{Args, ValueEnum};
use thiserror::Error;

use super::error::{Trouble, told};
use super::{Output, eval, trouble};
use crate::diagnostic::{Code, Docs};
use crate::explain::{self, Subject};
use crate::isa::{Mnemonic, Modifier, Target};
use crate::video;
use crate::video::{Deviation, Semantics};
use crate::workspace::docs::{DocsError, docs};
use crate::workspace::error::reason;
use crate::workspace::settings::{Finder, SettingsError, unknown_target};

#[derive(Debug, Args)]
#[command(after_help = "\
For a whole instruction, the page says what each part does, whether ptxas
computes what the manual says, and what the instruction costs:
  vptx explain 'vadd4.u32.u32.u32.sat d.b10, a, b.b4444, c;'

--format svg draws what each lane of an instruction reads and computes, one
drawing for each semantics that differs; `vptx eval --format svg` adds values.
  vptx explain 'vmin4.s32.u32.s32 d, a.b7531, b, c;' --format svg > lanes.svg

--open shows a page in the browser: BROWSER, or that of the system.
  vptx explain --open V501

Exit status: 0 all explained, 1 an instruction is wrong, 2 a word is not known.")]
pub(super) struct Arguments {
    /// Codes such as V112, their names or groups such as V1, mnemonics such as
    /// vadd4, modifiers and selectors such as .sat and .h10, deviations of ptxas
    /// such as C3, targets such as sm_90, or whole instructions [default: list all]
    #[arg(value_name = "CODE|WORD|INSTRUCTION")]
    subjects: Vec<String>,

    /// Print a table of all rules, in Markdown
    #[arg(long, conflicts_with = "subjects")]
    all: bool,

    /// Print tables of all targets and what they have, in Markdown
    #[arg(long, conflicts_with_all = ["subjects", "all"])]
    targets: bool,

    /// The target for an instruction's cost
    #[arg(long, value_name = "TARGET", default_value = "sm_90")]
    target: Target,

    /// Show the page of a code, mnemonic or deviation in a browser, from the book that
    /// VPTX_DOCS_URL or vptx.toml name, or that lies beside the program
    #[arg(long, requires = "subjects", conflicts_with = "format")]
    open: bool,

    /// How a page is printed
    #[arg(long, value_enum, default_value_t, requires = "subjects")]
    format: PageFormat,
}

/// A format of pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum PageFormat {
    /// Text for people
    #[default]
    Text,
    /// A picture of one instruction's lanes
    Svg,
}

pub(super) fn run(arguments: &Arguments, out: &mut Output) -> Result<u8, Trouble> {
    if let Some(message) = unknown_target(arguments.target) {
        return Err(message.into());
    }
    if arguments.all {
        write!(out.stream, "{}", crate::diagnostic::table())?;
        return Ok(0);
    }
    if arguments.targets {
        write!(out.stream, "{}", explain::targets())?;
        return Ok(0);
    }
    if arguments.subjects.is_empty() {
        return Ok(list(out)?);
    }
    if arguments.open {
        let opened = arguments.subjects.iter().try_for_each(|subject| open(subject));
        return Ok(opened.map(|()| 0).map_err(|error| error.to_string())?);
    }
    if arguments.format == PageFormat::Svg {
        return draw(&arguments.subjects, arguments.target, out);
    }
    let mut status = 0;
    for (at, subject) in arguments.subjects.iter().enumerate() {
        if at > 0 {
            writeln!(out.stream)?;
        }
        let explained = self::explain(subject.trim(), arguments.target, out);
        status = status.max(told(explained, out)?);
    }
    Ok(status)
}

fn explain(subject: &str, target: Target, out: &mut Output) -> Result<u8, Trouble> {
    let page = match Subject::find(subject, target).map_err(|error| error.to_string())? {
        Subject::Page(page) => page,
        Subject::Instruction(text) => {
            explain::instruction(&eval::instruction(&text, out)?, target, out.style.unicode)
        }
    };
    out.stream.write_all(page.as_bytes())?;
    Ok(0)
}

/// Shows a page in a browser.
fn open(subject: &str) -> Result<(), OpenError> {
    let docs = docs(Finder::default().here()?.docs.clone())?;
    match address(subject.trim(), &docs) {
        Some(address) => show(&address),
        None => Err(OpenError::NoPage { subject: subject.into(), docs: named(&docs) }),
    }
}

/// Why a page is not shown.
#[derive(Debug, Error)]
enum OpenError {
    #[error(transparent)]
    Settings(#[from] SettingsError),
    #[error(transparent)]
    Docs(#[from] DocsError),
    #[error("`{subject}` has no page of its own in {docs}")]
    NoPage { subject: String, docs: String },
    #[error("`{program}` could not show {address} ({status})")]
    Failed { program: String, address: String, status: ExitStatus },
    #[error("cannot start `{program}` to show {address}: {why}")]
    Unstarted { program: String, address: String, why: String },
}

/// The address of the page about a code, a mnemonic or a deviation.
fn address(subject: &str, docs: &Docs) -> Option<String> {
    if let Some(code) = Code::find(subject) {
        return docs.url(code);
    }
    if let Some(mnemonic) = Mnemonic::from_text(&subject.to_ascii_lowercase()) {
        return docs.page(&format!("instructions/{mnemonic}.html"));
    }
    let deviation = Deviation::find(subject)?.text().to_ascii_lowercase();
    docs.page(&format!("deviations.html#{deviation}"))
}

fn named(docs: &Docs) -> String {
    docs.address().map_or_else(|| "the documentation of the library".into(), |it| format!("`{it}`"))
}

/// Starts the program that shows a page, and waits until it ends: it may be a browser in this
/// terminal. The address is always that of a file, or of http: see `Docs`.
fn show(address: &str) -> Result<(), OpenError> {
    let usual = if cfg!(windows) {
        "explorer"
    } else if cfg!(target_os = "macos") {
        "open"
    } else {
        "xdg-open"
    };
    let chosen = env::var_os("BROWSER").filter(|it| !it.is_empty());
    let program = chosen.unwrap_or_else(|| usual.into());
    let name = program.to_string_lossy().into_owned();
    let address = address.to_string();
    match Command::new(&program).arg(&address).status() {
        // Explorer returns a failure even when it has shown the page.
        Ok(status) if status.success() || cfg!(windows) => Ok(()),
        Ok(status) => Err(OpenError::Failed { program: name, address, status }),
        Err(error) => Err(OpenError::Unstarted { program: name, address, why: reason(&error) }),
    }
}

/// What `--format svg` needs.
const ONE_INSTRUCTION: &str =
    "--format svg draws one instruction, such as 'vadd4.u32.u32.u32 d, a, b, c;'";

/// Draws an instruction.
fn draw(subjects: &[String], target: Target, out: &mut Output) -> Result<u8, Trouble> {
    let [subject] = subjects else { return Err(ONE_INSTRUCTION.into()) };
    let Ok(Subject::Instruction(text)) = Subject::find(subject.trim(), target) else {
        return Err(ONE_INSTRUCTION.into());
    };
    let instruction = eval::instruction(&text, out).map_err(|why| match why {
        Trouble::Input(message) => {
            trouble(&message);
            Trouble::from(ONE_INSTRUCTION)
        }
        why => why,
    })?;
    let picture = explain::svg(&instruction, None, &Semantics::ALL);
    out.stream.write_all(picture.as_bytes())?;
    Ok(0)
}

fn list(out: &mut Output) -> io::Result<u8> {
    writeln!(out.stream, "{}", explain::codes(Code::ALL))?;
    for &mnemonic in Mnemonic::ALL {
        writeln!(out.stream, "{:10} {}", mnemonic.text(), video::summary(mnemonic))?;
    }
    writeln!(out.stream)?;
    for deviation in Deviation::ALL {
        writeln!(out.stream, "{deviation}  {}", deviation.title())?;
    }
    let modifiers: Vec<&str> = Modifier::ALL.iter().map(|modifier| modifier.text()).collect();
    writeln!(out.stream, "\nmodifiers: {}", modifiers.join(" "))?;
    writeln!(out.stream, "selectors and masks: for example .b0 .h1 .h32 .b7654")?;
    writeln!(out.stream, "targets: for example sm_90 sm_120f; --targets lists all")?;
    Ok(0)
}
