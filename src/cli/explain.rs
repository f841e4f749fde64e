//! `vptx explain`
// Doc comments of arguments are help texts, not Markdown.
#![allow(clippy::doc_markdown)]

use std::io::{self, Write};

use clap::Args;

use super::{FAILED, Output, eval, trouble};
use crate::diagnostic::Code;
use crate::explain::{self, Subject};
use crate::isa::{Mnemonic, Modifier, Target};
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
        status = status.max(self::explain(subject.trim(), arguments.target, out)?);
    }
    Ok(status)
}

fn explain(subject: &str, target: Target, out: &mut Output) -> io::Result<u8> {
    let page = match Subject::find(subject, target) {
        Ok(Subject::Page(page)) => page,
        Ok(Subject::Instruction(text)) => match eval::instruction(&text, out)? {
            Ok(it) => explain::instruction(&it, target, out.style.unicode),
            Err(status) => return Ok(status),
        },
        Err(error) => {
            out.stream.flush()?;
            trouble(&error.to_string());
            return Ok(FAILED);
        }
    };
    out.stream.write_all(page.as_bytes())?;
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
    Ok(0)
}
