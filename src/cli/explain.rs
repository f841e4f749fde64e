//! `vptx explain`
// Doc comments of arguments are help texts, not Markdown.
#![allow(clippy::doc_markdown)]

use std::io::{self, Write};

use clap::Args;

use super::{FAILED, Output, lower, trouble};
use crate::ast::Instruction;
use crate::ir::{Agreement, Deviation, Semantics, Witness};
use crate::isa::{Destination, Mnemonic, Role, Target};
use crate::lint::Code;
use crate::rewrite::FreshRegisters;
use crate::text::nearest;
use crate::video;

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// A code such as V112, its name, a mnemonic such as vadd4, or a deviation
    /// of ptxas such as C3; all are listed without one
    #[arg(value_name = "CODE|MNEMONIC")]
    subject: Option<String>,

    /// Print a table of all rules, in Markdown
    #[arg(long, conflicts_with = "subject")]
    all: bool,
}

pub(super) fn run(arguments: &Arguments, out: &mut Output) -> io::Result<u8> {
    if arguments.all {
        write!(out.stream, "{}", crate::lint::table())?;
        return Ok(0);
    }
    let Some(subject) = &arguments.subject else {
        return list(out);
    };
    if let Some(code) = Code::find(subject) {
        return explain_code(code, out);
    }
    if let Some(mnemonic) = Mnemonic::from_text(&subject.to_ascii_lowercase()) {
        return explain_mnemonic(mnemonic, out);
    }
    if let Some(deviation) = Deviation::find(subject) {
        return explain_deviation(deviation, out);
    }
    let names = Code::ALL.iter().flat_map(|code| [code.name(), code.text()]);
    let names = names.chain(Mnemonic::ALL.iter().map(|mnemonic| mnemonic.text()));
    trouble(&match nearest(subject, names) {
        Some(meant) => format!("nothing is known of `{subject}`; did you mean `{meant}`?"),
        None => format!(
            "nothing is known of `{subject}`: `vptx explain` lists all codes and instructions"
        ),
    });
    Ok(FAILED)
}

fn list(out: &mut Output) -> io::Result<u8> {
    let width = Code::ALL.iter().map(|code| code.name().len()).max().unwrap_or(0);
    for code in Code::ALL {
        writeln!(
            out.stream,
            "{code}  {:7}  {:width$}  {}",
            code.severity().to_string(),
            code.name(),
            code.title(),
        )?;
    }
    writeln!(out.stream)?;
    for &mnemonic in Mnemonic::ALL {
        writeln!(out.stream, "{:10} {}", mnemonic.text(), video::summary(mnemonic))?;
    }
    writeln!(out.stream)?;
    for deviation in Deviation::ALL {
        writeln!(out.stream, "{deviation}  {}", deviation.title())?;
    }
    Ok(0)
}

fn explain_code(code: Code, out: &mut Output) -> io::Result<u8> {
    writeln!(out.stream, "# {code} {} ({})\n", code.name(), code.severity())?;
    writeln!(out.stream, "{}.\n", code.title())?;
    writeln!(out.stream, "{}", code.explanation().trim_end())?;
    Ok(0)
}

fn explain_mnemonic(mnemonic: Mnemonic, out: &mut Output) -> io::Result<u8> {
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
        Destination::Mask2 => ".h0 .h1 .h10, all lanes if left out",
        Destination::Mask4 => {
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
        writeln!(stream, "Some forms give other results (`vptx explain C1` and so on):\n")?;
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
    let target = Target::sm(90);
    if let Ok(instruction) = example.text.parse::<Instruction>()
        && let Some(mut registers) = FreshRegisters::new("%t_")
    {
        let text = instruction.to_ptx(target, Semantics::Ptxas13, &mut registers);
        if let (Ok(text), Some(costs)) =
            (text, lower::ptx::costs(&instruction, Semantics::Ptxas13, target))
        {
            writeln!(stream, "The example: {costs}.\n")?;
            for line in registers.declarations().iter().map(String::as_str).chain(text.lines()) {
                writeln!(stream, "    {line}")?;
            }
            writeln!(stream)?;
        }
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
