//! `vptx explain`
// Doc comments of arguments are help texts, not Markdown.
#![allow(clippy::doc_markdown)]

mod instruction;
mod words;

use std::io::{self, Write};

use clap::Args;

use super::lower::ptx::Single;
use super::{FAILED, Output, eval, trouble};
use crate::diagnostic::Code;
use crate::isa::{Destination, LaneWidth, Mnemonic, Modifier, Role, Target};
use crate::source::nearest;
use crate::video;
use crate::video::{Agreement, Deviation, Instruction, Semantics, Witness};

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
        return explain_code(code, out);
    }
    let group: Vec<Code> = Code::ALL.iter().copied().filter(|it| is_in(*it, subject)).collect();
    if !group.is_empty() {
        return list_codes(&group, out);
    }
    if let Some(mnemonic) = Mnemonic::from_text(&subject.to_ascii_lowercase()) {
        return explain_mnemonic(mnemonic, target, out);
    }
    if let Some(deviation) = Deviation::find(subject) {
        return explain_deviation(deviation, out);
    }
    let page = words::page(subject);
    if !page.is_empty() {
        write!(out.stream, "{page}")?;
        return Ok(0);
    }
    if let Some(text) = instruction::meant(subject) {
        return match eval::instruction(&text, out)? {
            Ok(it) => {
                write!(out.stream, "{}", instruction::page(&it, target, out.style.unicode))?;
                Ok(0)
            }
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

fn explain_code(code: Code, out: &mut Output) -> io::Result<u8> {
    writeln!(out.stream, "# {code} {} ({})\n", code.name(), code.severity())?;
    writeln!(out.stream, "{}.\n", code.title())?;
    writeln!(out.stream, "{}", code.explanation().trim_end())?;
    Ok(0)
}

fn explain_mnemonic(mnemonic: Mnemonic, target: Target, out: &mut Output) -> io::Result<u8> {
    let stream = &mut out.stream;
    let forms = video::forms(mnemonic);
    let first = &forms[0];
    writeln!(stream, "# {mnemonic}: {}\n", video::summary(mnemonic))?;
    writeln!(stream, "## Syntax\n")?;
    for form in forms {
        writeln!(stream, "    {}  // {}", video::syntax(mnemonic, form), form.title)?;
    }
    writeln!(stream)?;
    for role in Role::ALL {
        let slot = forms.iter().find_map(|form| form.slot(role));
        if let Some(slot) = slot.filter(|slot| slot.choices.len() > 1) {
            let choices: Vec<&str> = slot.choices.iter().map(|choice| choice.text()).collect();
            writeln!(stream, "    {}: {}", role.name(), choices.join(" "))?;
        }
    }
    writeln!(stream, "    selectors: {}", video::selector_choices(first.sources).replace('`', ""))?;
    let mask = match first.destination {
        Destination::Mask(LaneWidth::Halves) => ".h0 .h1 .h10, all lanes if left out",
        Destination::Mask(LaneWidth::Bytes) => {
            ".b and one to four of the digits 3210 in this order, all lanes if left out"
        }
        Destination::Word | Destination::Part => "",
    };
    if !mask.is_empty() {
        writeln!(stream, "    mask: {mask}")?;
    }
    writeln!(stream, "\n## Meaning\n")?;
    writeln!(stream, "{}", video::prose(mnemonic.family()))?;
    let deviations = video::deviations(mnemonic.family());
    writeln!(stream, "## Under ptxas\n")?;
    if deviations.is_empty() {
        writeln!(stream, "The code of ptxas computes what the manual says.\n")?;
    } else {
        writeln!(stream, "Some forms give other results; see `vptx explain C1` and so on:\n")?;
        for deviation in deviations {
            writeln!(stream, "    {deviation}  {}", deviation.title())?;
        }
        writeln!(stream)?;
    }
    let example = video::example(mnemonic);
    let [a, b, c] = example.inputs;
    writeln!(stream, "## Example\n")?;
    writeln!(stream, "    {}", example.text)?;
    writeln!(stream, "    a = 0x{a:08x}, b = 0x{b:08x}, c = 0x{c:08x}")?;
    writeln!(stream, "    d = 0x{:08x}\n", example.result)?;
    writeln!(stream, "## As ordinary PTX\n")?;
    if let Ok(instruction) = example.text.parse::<Instruction>()
        && let Some(single) = Single::new(&instruction, Semantics::Ptxas13, target)
    {
        if let Some(costs) = &single.costs {
            let what =
                if single.is_better_kept { "Keep the example as it is" } else { "The example" };
            writeln!(stream, "{what}: {costs}.\n")?;
        }
        for line in &single.lines {
            writeln!(stream, "    {line}")?;
        }
        writeln!(stream)?;
    }
    let needs = first.requirement;
    writeln!(
        stream,
        "Since PTX {} on {}. PTX ISA manual, section {}.",
        needs.version, needs.target, first.section
    )?;
    Ok(0)
}

fn explain_deviation(deviation: Deviation, out: &mut Output) -> io::Result<u8> {
    let stream = &mut out.stream;
    writeln!(stream, "# {deviation}: {}\n", deviation.title())?;
    writeln!(stream, "{}", deviation.explanation())?;
    let line = deviation.explanation().lines().last().unwrap_or_default().trim();
    let differs = line.parse::<Instruction>().map(|shown| shown.agreement(Semantics::Ptxas12));
    if let Ok(Agreement::Differs(Witness { a, b, c, manual, ptxas, .. })) = differs {
        writeln!(stream, "    a = 0x{a:08x}, b = 0x{b:08x}, c = 0x{c:08x}")?;
        writeln!(stream, "    manual 0x{manual:08x}, ptxas 0x{ptxas:08x}")?;
    }
    Ok(0)
}
