//! Writes results for people.

use std::io::{self, Write};

use super::values::Registers;
use crate::ir::Program;
use crate::video::{Agreement, Deviation, Instruction, ResultPart, Semantics, Witness};

/// A part of `d` with a value of its own.
pub(super) struct Shown {
    label: String,
    low: u32,
    width: u32,
    signed: bool,
    /// The register that the part is copied from.
    from: Option<String>,
}

/// The lanes of `d` from the highest down, or the part that is written.
pub(super) fn parts(instruction: &Instruction, registers: &Registers) -> Vec<Shown> {
    let shown = |ResultPart { part, signed, is_written }| Shown {
        label: format!("{}{part}", registers.d),
        low: part.shift(),
        width: part.width(),
        signed,
        from: registers.sources[2].clone().filter(|_| !is_written),
    };
    instruction.result_parts().into_iter().map(shown).collect()
}

/// Writes the new `d`, whole and in parts.
pub(super) fn result(text: &mut impl Write, name: &str, d: u32, parts: &[Shown]) -> io::Result<()> {
    let width = parts.iter().map(|part| part.label.len()).max().unwrap_or(name.len());
    let signed = d.cast_signed();
    writeln!(text, "  {name:width$}  {d:#010x}  unsigned {d}  signed {signed}")?;
    for Shown { label, low, width: bits, signed, from } in parts {
        let raw = d >> low & ((1 << bits) - 1);
        let sign = raw >> (bits - 1) & 1;
        let value = if *signed { i64::from(raw) - (i64::from(sign) << bits) } else { raw.into() };
        let hex = format!("0x{raw:0digits$x}", digits = *bits as usize / 4);
        write!(text, "  {label:width$}  {hex:>10}  ")?;
        match from {
            // The width fits any value of a lane.
            Some(from) => writeln!(text, "{value:<6}  from {from}")?,
            None => writeln!(text, "{value}")?,
        }
    }
    Ok(())
}

/// Writes every step with its value, grouped by stage.
pub(super) fn trace(
    text: &mut impl Write,
    program: &Program,
    [a, b, c]: [u32; 3],
    unicode: bool,
) -> io::Result<()> {
    let steps = program.steps();
    let values = program.trace(a, b, c);
    let rows: Vec<(String, String, String)> = steps
        .iter()
        .zip(&values)
        .map(|(step, &value)| (step.op.to_string(), value.to_string(), hex(value, unicode)))
        .collect();
    let index = (steps.len().saturating_sub(1)).to_string().len() + 1;
    // A long operation may use the room that a short value leaves.
    let width = rows.iter().map(|(op, value, _)| op.len() + 2 + value.len()).max().unwrap_or(0);
    let mut stage = None;
    for (at, (step, (op, value, hex))) in steps.iter().zip(&rows).enumerate() {
        if stage.replace(step.stage) != Some(step.stage) {
            writeln!(text, "  {}:", step.stage.text())?;
        }
        let name = format!("%{at}");
        let room = width - op.len();
        writeln!(text, "    {name:index$}  {op}{value:>room$}  {hex}")?;
    }
    Ok(())
}

/// As many bytes as the value needs. A negative value starts with dots, for endless `f`
/// digits.
fn hex(value: i128, unicode: bool) -> String {
    let bits = 128 - if value < 0 { (!value).leading_zeros() } else { value.leading_zeros() };
    if value < 0 {
        let bytes = (bits + 1).div_ceil(8);
        let shown = value & ((1i128 << (8 * bytes)) - 1);
        format!("0x{}{shown:x}", if unicode { "…" } else { "..." })
    } else {
        format!("0x{value:0digits$x}", digits = bits.max(1).div_ceil(8) as usize * 2)
    }
}

/// Writes how the code of ptxas differs from the manual, on these inputs and on others.
pub(super) fn agreement(
    text: &mut impl Write,
    instruction: &Instruction,
    registers: &Registers,
    [a, b, c]: [u32; 3],
    unicode: bool,
) -> io::Result<()> {
    let expected = instruction.lower(Semantics::Manual).eval(a, b, c);
    // Versions with the same result are named together.
    let mut said: Vec<(Vec<&str>, bool, Agreement)> = Vec::new();
    for semantics in Semantics::PTXAS {
        let differs = instruction.lower(semantics).eval(a, b, c) != expected;
        let agreement = instruction.agreement(semantics);
        match said.iter_mut().find(|(_, here, other)| *here == differs && *other == agreement) {
            Some((names, ..)) => names.push(semantics.text()),
            None => said.push((vec![semantics.text()], differs, agreement)),
        }
    }
    if let [(_, _, Agreement::Proven)] = said.as_slice() {
        return writeln!(text, "all semantics agree on every input");
    }
    let mut causes = instruction.all_causes(a, b, c);
    let here = !causes.is_empty();
    for (names, differs, agreement) in &said {
        let s = if names.len() == 1 { "s" } else { "" };
        let names = names.join(" and ");
        match agreement {
            _ if *differs => writeln!(text, "{names} differ{s} from the manual on these inputs")?,
            Agreement::Proven => writeln!(text, "{names} agree{s} with the manual on every input")?,
            Agreement::Unknown => writeln!(
                text,
                "{names} agree{s} with the manual on these inputs; no inputs with different\n\
                 results are known, but agreement on every input is not proven"
            )?,
            Agreement::Differs(witness) => {
                write!(text, "{names} agree{s} with the manual on these inputs")?;
                example(text, witness, &names, registers, unicode)?;
            }
        }
        if let (Agreement::Differs(witness), false) = (agreement, here) {
            causes.extend(&witness.causes);
        }
    }
    causes.sort_unstable();
    causes.dedup();
    let Some(first) = causes.first() else { return Ok(()) };
    writeln!(
        text,
        "\n{}:",
        if here {
            "deviations of ptxas that cause the difference"
        } else {
            "deviations of ptxas on other inputs"
        }
    )?;
    for cause in &causes {
        writeln!(text, "  {cause}  {}", cause.title())?;
    }
    writeln!(text, "see `vptx explain {first}`")
}

/// Writes inputs on which some semantics differ from the manual, and the results.
fn example(
    text: &mut impl Write,
    witness: &Witness,
    names: &str,
    registers: &Registers,
    unicode: bool,
) -> io::Result<()> {
    let words = [witness.a, witness.b, witness.c];
    let mut values: Vec<String> = registers
        .sources
        .iter()
        .zip(words)
        .filter_map(|(name, word)| Some(format!("{} = {word:#010x}", name.as_deref()?)))
        .collect();
    // A register in two places has one word.
    values.dedup();
    writeln!(text, ", but not on others:")?;
    writeln!(
        text,
        "  {}\n  {} manual {:#010x}, {names} {:#010x}",
        values.join(", "),
        if unicode { "→" } else { "->" },
        witness.manual,
        witness.ptxas,
    )
}

/// Prints the results of the other semantics on these inputs where they differ.
pub(super) fn others(
    text: &mut impl Write,
    instruction: &Instruction,
    asked: Semantics,
    [a, b, c]: [u32; 3],
) -> io::Result<()> {
    let d = |semantics| instruction.lower(semantics).eval(a, b, c);
    let [manual, old, new] = Semantics::ALL.map(d);
    let ptxas = if old == new {
        vec![("ptxas 12 and 13", 2, old)]
    } else {
        vec![("ptxas 12", 1, old), ("ptxas 13", 1, new)]
    };
    // Semantics with the same result are named together.
    let mut others: Vec<(String, usize, u32)> = Vec::new();
    for (name, count, value) in [vec![("the manual", 1, manual)], ptxas].concat() {
        match others.iter_mut().find(|(.., other)| *other == value) {
            _ if value == d(asked) => {}
            Some((names, sum, _)) => {
                names.extend([" and ", name]);
                *sum += count;
            }
            None => others.push((name.into(), count, value)),
        }
    }
    if others.is_empty() {
        return Ok(());
    }
    let others: Vec<String> = others
        .iter()
        .map(|(names, count, value)| {
            format!("{names} {} {value:#010x}", if *count == 1 { "gives" } else { "give" })
        })
        .collect();
    let causes = instruction.all_causes(a, b, c);
    let causes: Vec<&str> = causes.into_iter().map(Deviation::text).collect();
    let said = format!("{} on these inputs ({})", others.join(", "), causes.join(", "));
    let more = "see --semantics all";
    // On one line if 80 columns suffice.
    let gap = if said.len() + 2 + more.len() > 80 { "\n" } else { "; " };
    writeln!(text, "\n{said}{gap}{more}")
}
