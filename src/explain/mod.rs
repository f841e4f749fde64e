//! Pages for people: mnemonics, modifiers, whole instructions. Codes and deviations of ptxas
//! have their own.

mod instruction;
mod single;
mod words;

use std::fmt::{self, Write};

use crate::isa::{Destination, LaneWidth, Mnemonic, Role, Target};
use crate::video;
use crate::video::{Instruction, Semantics};

#[cfg(feature = "server")]
pub(crate) use instruction::{formula, role_text};
pub(crate) use instruction::{meant, page as instruction};
pub(crate) use single::Single;
pub(crate) use words::page as word;

/// The page of a mnemonic, with the cost of its example on a target.
pub(crate) fn mnemonic(mnemonic: Mnemonic, target: Target) -> String {
    let mut text = String::new();
    // Writing to a string does not fail.
    let _ = write_mnemonic(&mut text, mnemonic, target);
    text
}

fn write_mnemonic(stream: &mut String, mnemonic: Mnemonic, target: Target) -> fmt::Result {
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
        && let Some(single) = Single::new(&instruction, Semantics::CURRENT, target)
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
    Ok(())
}
