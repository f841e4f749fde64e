//! The pages of instructions.

use std::fmt::Write;

use vptx::backend::c::Header;
use vptx::backend::llvm::{Architecture, Module};
use vptx::isa::{Mnemonic, Target};
use vptx::{Instruction, Semantics, explain, video};

use crate::Result;
use crate::bars::{Bar, chart, costs};
use crate::enrich::inlined;

/// The page of a mnemonic. It is the page of `vptx explain` with pictures and functions. `savings`
/// is the page with the average costs. If the book has the playground, the page can open it.
pub(crate) fn page(mnemonic: Mnemonic, savings: &str, has_playground: bool) -> Result<String> {
    let text = explain::page(mnemonic.text(), Target::sm(90))?;
    let (head, sections) = text.split_once("\n## ").ok_or("a page without sections")?;
    let mut page = format!("{head}\n{}\n", links(mnemonic));
    let example = video::example(mnemonic);
    let instruction: Instruction = example.text.parse()?;
    for section in sections.split("\n## ") {
        let (heading, body) = section.split_once('\n').ok_or("an empty section")?;
        let body = match heading {
            "Example" => {
                let lanes = explain::svg(&instruction, Some(example.inputs), &Semantics::ALL);
                let own = if has_playground { playground(&example) } else { String::new() };
                format!("{}\n\n{}\n{own}", body.trim_end(), inlined("lanes", &lanes)?)
            }
            "Under ptxas" => deviations(body),
            "As ordinary PTX" => {
                write!(page, "\n## What it costs\n\n{}", bars(mnemonic, savings)?)?;
                body.to_string()
            }
            _ => body.to_string(),
        };
        write!(page, "\n## {heading}\n{}\n", body.trim_end())?;
    }
    write!(page, "\n## As C\n\n```c\n{}\n```\n", c(&instruction)?)?;
    write!(
        page,
        "\n## As LLVM IR\n\nWith vectors, for x86-64:\n\n```llvm\n{}\n```\n",
        llvm(&instruction)?
    )?;
    Ok(page)
}

/// The playground with an example, which loads when the reader opens it. The class must not be
/// `playground`, because mdBook asks a server of Rust about elements of that class.
fn playground(example: &video::Example) -> String {
    let [a, b, c] = example.inputs;
    let mut state = String::from("text=");
    for byte in example.text.bytes() {
        // Writing to a string never fails.
        let _ = if byte.is_ascii_alphanumeric() {
            write!(state, "{}", char::from(byte))
        } else {
            write!(state, "%{byte:02X}")
        };
    }
    let address =
        format!("../playground/index.html#{state}&amp;a={a:#010x}&amp;b={b:#010x}&amp;c={c:#010x}");
    format!(
        "\n<details class=\"try\"><summary>Try it</summary>\n\
         <p><a href=\"{address}\">In a page of its own</a></p>\n\
         <iframe title=\"The playground\" loading=\"lazy\" src=\"{address}\"></iframe>\n</details>\n"
    )
}

/// Links to other pages about the mnemonic.
fn links(mnemonic: Mnemonic) -> String {
    format!(
        "\n`vptx explain {mnemonic}` prints this page in a terminal. [Selectors and \
         masks](../selectors.md) and [modifiers](../modifiers.md) have pages of their own.\n"
    )
}

/// The deviations as a list. The items become links later.
fn deviations(body: &str) -> String {
    let lines = body.lines().map(|line| match line.strip_prefix("    ") {
        Some(item) => format!("- {}\n", item.replacen("  ", ": ", 1)),
        None => format!("{}\n", line.replace("; see `vptx explain C1` and so on:", ":")),
    });
    lines.collect()
}

/// A picture of the average costs on each target.
fn bars(mnemonic: Mnemonic, savings: &str) -> Result<String> {
    // Targets that have the instruction in hardware have no bars.
    let bars: Vec<Bar> = (0..Target::measured().len())
        .filter_map(|column| {
            let own = costs(savings, column).into_iter().find(|row| row.name == mnemonic.text())?;
            Some(Bar { name: Target::measured()[column].to_string(), ..own })
        })
        .collect();
    if bars.is_empty() {
        return Err(format!("{mnemonic} has no costs").into());
    }
    let picture = chart(&format!("Machine instructions for {mnemonic}, by target"), "", &bars);
    let note =
        "The average over all forms. [What you save](../rewriting/savings.md) has all counts.";
    Ok(format!("{}\n\n{note}\n", inlined("bars", &picture)?))
}

/// The C function for an instruction, without the parts that all functions share.
fn c(instruction: &Instruction) -> Result<String> {
    let mut header = Header::new(Semantics::CURRENT);
    header.add(instruction);
    let text = header.to_string();
    let start = text.find(&format!("/* {instruction}")).ok_or("no function of C")?;
    let end = text[start..].find("\n}").ok_or("a function of C without an end")?;
    Ok(text[start..start + end + 2].to_string())
}

/// The LLVM function for an instruction.
fn llvm(instruction: &Instruction) -> Result<String> {
    let mut module = Module::new(Semantics::CURRENT, Architecture::X86_64);
    module.add(instruction);
    let text = module.to_string();
    let start = text.find(&format!("; {instruction}")).ok_or("no function of LLVM")?;
    let end = text[start..].find("\n}").ok_or("a function of LLVM without an end")?;
    Ok(text[start..start + end + 2].to_string())
}
