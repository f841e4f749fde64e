//! `vptx explain`
// Doc comments of arguments are help texts, not Markdown.
#![allow(clippy::doc_markdown)]

use std::io::{self, Write};

use clap::Args;

use super::{FAILED, Output, eval, trouble};
use crate::diagnostic::Code;
use crate::explain as page;
use crate::isa::{Mnemonic, Modifier, Target};
use crate::source::nearest;
use crate::video;
use crate::video::Deviation;

#[derive(Debug, Args)]
#[command(after_help = "\
For a whole instruction, the page says what each part does, whether ptxas
computes what the manual says, and what the instruction costs:
  vptx explain 'vadd4.u32.u32.u32.sat d.b10, a, b.b4444, c;'

Exit status: 0 all explained, 1 an instruction is wrong, 2 a word is not known.")]
pub(super) struct Arguments {
    /// Codes such as V112, their names or groups such as V1, mnemonics such as
    /// vadd4, modifiers and selectors such as .sat and .h10, deviations of ptxas
    /// such as C3, or whole instructions [default: list all]
    #[arg(value_name = "CODE|WORD|INSTRUCTION")]
    subjects: Vec<String>,

    /// Print a table of all rules, in Markdown
    #[arg(long, conflicts_with = "subjects")]
    all: bool,

    /// The target for an instruction's cost
    #[arg(long, value_name = "TARGET", default_value = "sm_90")]
    target: Target,
}

pub(super) fn run(arguments: &Arguments, out: &mut Output) -> io::Result<u8> {
    if arguments.all {
        write!(out.stream, "{}", crate::diagnostic::table())?;
        return Ok(0);
    }
    if arguments.subjects.is_empty() {
        return list(out);
    }
    let mut status = 0;
    for (at, subject) in arguments.subjects.iter().enumerate() {
        if at > 0 {
            writeln!(out.stream)?;
        }
        status = status.max(explain(subject.trim(), arguments.target, out)?);
    }
    Ok(status)
}

fn explain(subject: &str, target: Target, out: &mut Output) -> io::Result<u8> {
    if let Some(code) = Code::find(subject) {
        return print(&code.page(), out);
    }
    let group: Vec<Code> = Code::ALL.iter().copied().filter(|it| is_in(*it, subject)).collect();
    if !group.is_empty() {
        return list_codes(&group, out);
    }
    if let Some(mnemonic) = Mnemonic::from_text(&subject.to_ascii_lowercase()) {
        return print(&page::mnemonic(mnemonic, target), out);
    }
    if let Some(deviation) = Deviation::find(subject) {
        return print(&deviation.page(), out);
    }
    let page = page::word(subject);
    if !page.is_empty() {
        return print(&page, out);
    }
    if let Some(text) = page::meant(subject) {
        return match eval::instruction(&text, out)? {
            Ok(it) => print(&page::instruction(&it, target, out.style.unicode), out),
            Err(status) => Ok(status),
        };
    }
    let names = Code::ALL.iter().flat_map(|code| [code.name(), code.text()]);
    let names = names.chain(Mnemonic::ALL.iter().map(|mnemonic| mnemonic.text()));
    let names = names.chain(Modifier::ALL.iter().map(|modifier| modifier.text()));
    out.stream.flush()?;
    trouble(&match nearest(subject, names) {
        Some(meant) => format!("`{subject}` is not known; did you mean `{meant}`?"),
        None => {
            format!("`{subject}` is not known: `vptx explain` lists all codes and instructions")
        }
    });
    Ok(FAILED)
}

fn print(page: &str, out: &mut Output) -> io::Result<u8> {
    out.stream.write_all(page.as_bytes())?;
    Ok(0)
}

/// Whether a code is in a group such as `V1` or `V50`.
fn is_in(code: Code, group: &str) -> bool {
    let start = code.text().get(..group.len());
    group.len() > 1 && start.is_some_and(|start| start.eq_ignore_ascii_case(group))
}

fn list(out: &mut Output) -> io::Result<u8> {
    list_codes(Code::ALL, out)?;
    writeln!(out.stream)?;
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
    Ok(0)
}

/// Prints a line for each code.
fn list_codes(codes: &[Code], out: &mut Output) -> io::Result<u8> {
    let width = codes.iter().map(|code| code.name().len()).max().unwrap_or(0);
    for code in codes {
        writeln!(
            out.stream,
            "{code}  {:7}  {:width$}  {}",
            code.severity().to_string(),
            code.name(),
            code.title(),
        )?;
    }
    Ok(0)
}
