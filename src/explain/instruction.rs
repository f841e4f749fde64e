//! Explains a whole instruction.

use std::fmt::Write;

use super::words::lane_name;
use super::{Single, lanes, targets};
use crate::isa::{
    Compare, Mnemonic, Modifier, Role, SecondaryOp, ShiftMode, Sources, Target, Type,
};
use crate::video;
use crate::video::{
    Agreement, Instruction, MadMode, Operation, ScalarOperands, Semantics, SimdOp, SimdOperands,
    SimdTail, Tail,
};

/// The instruction that a text stands for, if the text looks like one. If the text has only a
/// mnemonic and modifiers, adds operands.
pub(crate) fn meant(text: &str) -> Option<String> {
    if text.contains(|c: char| c.is_whitespace() || c == ';') {
        return Some(text.into());
    }
    let (mnemonic, _) = text.split_once('.')?;
    Mnemonic::from_text(&mnemonic.to_ascii_lowercase())?;
    let filled = ["d, a, b, c;", "d, a, b;"].map(|operands| format!("{text} {operands}"));
    // If neither text is legal, findings report the errors.
    let legal = filled.iter().find(|text| {
        text.parse::<Instruction>().is_ok_and(|it| it.to_string().len() == text.len())
    });
    Some(legal.unwrap_or(&filled[0]).clone())
}

/// The page of an instruction.
pub(crate) fn page(instruction: &Instruction, target: Target, unicode: bool) -> String {
    let mut text = String::new();
    // Writing to a string does not fail.
    let _ = write(&mut text, instruction, target, unicode);
    text
}

fn write(
    text: &mut String,
    instruction: &Instruction,
    target: Target,
    unicode: bool,
) -> std::fmt::Result {
    let mnemonic = instruction.mnemonic();
    writeln!(text, "# {instruction}\n")?;
    let (summary, title) = (video::summary(mnemonic), instruction.form().title);
    writeln!(text, "{mnemonic}: {summary} ({title}).\n")?;
    if let Some(guard) = &instruction.guard {
        let value = if guard.negated { "false" } else { "true" };
        writeln!(text, "Runs only where the guard predicate {} is {value}.\n", guard.predicate)?;
    }
    writeln!(text, "## Modifiers\n")?;
    for slot in instruction.form().slots {
        if let Some(modifier) = instruction.modifier(slot.role) {
            let said = role_text(instruction, slot.role, modifier);
            let line = format!("{:8}{}: {said}", modifier.text(), slot.role.name());
            for (at, line) in wrapped(&line, 68).iter().enumerate() {
                writeln!(text, "    {}{line}", if at == 0 { "" } else { "        " })?;
            }
        }
    }
    let lanes = lanes::parts(instruction, &instruction.lower(Semantics::Manual), None, unicode);
    if !lanes.is_empty() {
        writeln!(text, "\n## What is read\n")?;
        for line in lanes {
            writeln!(text, "    {line}")?;
        }
    }
    writeln!(text, "\n## What it computes\n")?;
    for line in formula(instruction) {
        writeln!(text, "    {line}")?;
    }
    writeln!(
        text,
        "\nEvery step computes with exact integers. This prints the steps and their ranges:\n"
    )?;
    writeln!(text, "    vptx lower --emit ir '{instruction}'")?;
    writeln!(text, "\n## Under ptxas\n")?;
    agreement(text, instruction, unicode)?;
    writeln!(text, "\n## Cost\n")?;
    cost(text, instruction, target)
}

/// The effect of a modifier on an instruction.
pub(crate) fn role_text(instruction: &Instruction, role: Role, modifier: Modifier) -> String {
    let is_simd = instruction.form().sources != Sources::Scalar;
    let signed = if modifier == Modifier::S32 { "signed" } else { "unsigned" };
    match (role, modifier) {
        (Role::Dtype, _) if instruction.mnemonic() == Mnemonic::Vmad => "has no effect".into(),
        (Role::Dtype, _) => format!("{signed} result"),
        (Role::Atype | Role::Btype, _) => signed.into(),
        (Role::Saturate, _) => "clamps the exact result, see below".into(),
        (Role::Secondary, Modifier::Add) if is_simd => {
            "adds the exact results of the lanes to the third source".into()
        }
        (Role::Secondary, Modifier::Add) => "adds the third source".into(),
        (Role::Secondary, Modifier::Min) => "takes the smaller of result and third source".into(),
        (Role::Secondary, _) => "takes the larger of result and third source".into(),
        _ => modifier.effect().replace('\n', " "),
    }
}

/// Breaks a text into lines of at most `width` characters.
pub(super) fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let last = lines.len() - 1;
        if !lines[last].is_empty() {
            if lines[last].len() + 1 + word.len() > width {
                // The next lines are indented further.
                lines.push(word.into());
                continue;
            }
            lines[last].push(' ');
        }
        lines[last].push_str(word);
    }
    lines
}

/// The result as formulas, one line for each lane.
pub(crate) fn formula(instruction: &Instruction) -> Vec<String> {
    let d = instruction.destination().name();
    match &instruction.operation {
        Operation::Arithmetic(it) => {
            let ScalarOperands { a, b, tail, .. } = &it.operands;
            let exact = arithmetic(it.op.on_lanes(), &a.to_string(), &b.to_string());
            finish(d, &clamped(exact, it.saturate, it.dtype, merged_bits(tail)), tail)
        }
        Operation::Shift(it) => {
            let ScalarOperands { a, b, tail, .. } = &it.operands;
            let amount = match it.mode {
                ShiftMode::Clamp => format!("min({b}, 32)"),
                ShiftMode::Wrap => format!("({b} & 31)"),
            };
            let shifted = format!("{a} {} {amount}", if it.left { "<<" } else { ">>" });
            finish(d, &clamped(shifted, it.saturate, it.dtype, merged_bits(tail)), tail)
        }
        Operation::Set(it) => {
            let ScalarOperands { a, b, tail, .. } = &it.operands;
            finish(d, &compared(it.compare, a, b), tail)
        }
        Operation::MultiplyAdd(it) => {
            let it = it.parts();
            let (a, b, c) = (&it.a, &it.b, &it.c);
            let sum = match it.mode {
                MadMode::Plain => format!("{a} * {b} + {c}"),
                MadMode::NegateA | MadMode::NegateB => format!("-({a} * {b}) + {c}"),
                MadMode::NegateC => format!("{a} * {b} - {c}"),
                MadMode::PlusOne => format!("{a} * {b} + {c} + 1"),
            };
            let scaled = match it.scale {
                None => sum,
                Some(scale) => format!("({sum}) >> {}", scale.bits()),
            };
            let negated = !matches!(it.mode, MadMode::Plain | MadMode::PlusOne);
            let signed = negated || it.atype == Type::S32 || it.btype == Type::S32;
            let sign = if signed { Type::S32 } else { Type::U32 };
            let mut lines = finish(d, &clamped(scaled, it.saturate, sign, 32), &Tail::Word);
            let sign = if signed { "signed" } else { "unsigned" };
            lines.push(format!("the sum is {sign}, and so is {c}"));
            lines
        }
        Operation::SimdArithmetic(it) => {
            let saturate = it.tail == SimdTail::Merge { saturate: true };
            let bits = it.operands.lanes.width().bits();
            lanes(&it.operands, it.tail == SimdTail::Accumulate, |a, b| {
                clamped(arithmetic(it.op, a, b), saturate, it.dtype, bits)
            })
        }
        Operation::SimdSet(it) => {
            lanes(&it.operands, it.accumulate, |a, b| compared(it.compare, &a, &b))
        }
    }
}

fn arithmetic(op: SimdOp, a: &str, b: &str) -> String {
    match op {
        SimdOp::Add => format!("{a} + {b}"),
        SimdOp::Sub => format!("{a} - {b}"),
        SimdOp::Avrg => format!("average({a}, {b})"),
        SimdOp::AbsDiff => format!("|{a} - {b}|"),
        SimdOp::Min => format!("min({a}, {b})"),
        SimdOp::Max => format!("max({a}, {b})"),
    }
}

fn compared(compare: Compare, a: &impl ToString, b: &impl ToString) -> String {
    let sign = compare.sign();
    format!("({} {sign} {})", a.to_string(), b.to_string())
}

fn clamped(result: String, saturate: bool, ty: Type, bits: u32) -> String {
    if !saturate {
        return result;
    }
    let (low, high) = match ty {
        Type::U32 => (0, (1i64 << bits) - 1),
        Type::S32 => (-(1i64 << (bits - 1)), (1i64 << (bits - 1)) - 1),
    };
    format!("clamp({result}, {low}, {high})")
}

fn merged_bits(tail: &Tail) -> u32 {
    match tail {
        Tail::Merge { part, .. } => part.width(),
        Tail::Word | Tail::Secondary { .. } => 32,
    }
}

fn finish(d: &str, result: &str, tail: &Tail) -> Vec<String> {
    match tail {
        Tail::Word => vec![format!("{d} = low 32 bits of {result}")],
        Tail::Secondary { op, c } => {
            let combined = match op {
                SecondaryOp::Add => format!("{result} + {c}"),
                SecondaryOp::Min => format!("min({result}, {c})"),
                SecondaryOp::Max => format!("max({result}, {c})"),
            };
            vec![format!("{d} = low 32 bits of {combined}")]
        }
        Tail::Merge { part, c } => vec![
            format!("{d}{part} = low {} bits of {result}", part.width()),
            format!("the other bits of {d} are those of {c}"),
        ],
    }
}

fn lanes(
    operands: &SimdOperands,
    accumulate: bool,
    result: impl Fn(&str, &str) -> String,
) -> Vec<String> {
    let SimdOperands { d, a, b, c, .. } = operands;
    let (a, b, width) = (a.name(), b.name(), operands.lanes.width());
    let name = |lane| lane_name(width, lane, a, b);
    let written = operands.lanes.written();
    let mut results: Vec<(usize, String)> =
        written.map(|(at, x, y)| (at, result(&name(x), &name(y)))).collect();
    results.reverse();
    if accumulate {
        let first = format!("{d} = low 32 bits of {c}");
        let summands = results.iter().map(|(_, result)| format!("    + {result}"));
        return std::iter::once(first).chain(summands).collect();
    }
    let lane = |at: usize| format!("{d}.{}{at}", width.letter());
    let mut lines: Vec<String> = results
        .iter()
        .map(|(at, result)| format!("{} = low {} bits of {result}", lane(*at), width.bits()))
        .collect();
    if results.len() < width.lanes() {
        lines.push(format!("the other lanes of {d} are those of {c}"));
    } else {
        lines.push(format!("{c} is not read"));
    }
    lines
}

/// Writes whether ptxas computes what the manual says.
fn agreement(text: &mut String, instruction: &Instruction, unicode: bool) -> std::fmt::Result {
    let found = Semantics::PTXAS.map(|it| instruction.agreement(it));
    let names = ["ptxas before 13.3", "ptxas from 13.3 on"];
    let told: Vec<(&str, &Agreement)> = match &found {
        [one, other] if one == other => vec![("ptxas", one)],
        found => names.into_iter().zip(found).collect(),
    };
    let arrow = if unicode { "→" } else { "->" };
    for (at, (name, agreement)) in told.into_iter().enumerate() {
        if at > 0 {
            writeln!(text)?;
        }
        match agreement {
            Agreement::Proven => {
                writeln!(
                    text,
                    "The code of {name} computes what the manual says, on every input."
                )?;
            }
            Agreement::Unknown => writeln!(
                text,
                "The code of {name} is not proven to compute what the manual says, and no\n\
                 input is known on which it does not."
            )?,
            Agreement::Differs(witness) => {
                let words = [witness.a, witness.b, witness.c];
                let sources = instruction.sources();
                let mut inputs: Vec<String> = Vec::new();
                for (place, word) in words.into_iter().enumerate() {
                    let Some(register) = sources[place] else { continue };
                    if !sources[..place].contains(&sources[place]) {
                        inputs.push(format!("{register}={word:#010x}"));
                    }
                }
                writeln!(text, "The code of {name} can give a result other than the manual's:\n")?;
                writeln!(text, "    {}", inputs.join(" "))?;
                let (manual, ptxas) = (witness.manual, witness.ptxas);
                writeln!(text, "    {arrow} manual {manual:#010x}, ptxas {ptxas:#010x}\n")?;
                for cause in &witness.causes {
                    writeln!(text, "    {cause}  {}", cause.title())?;
                }
            }
        }
    }
    Ok(())
}

fn cost(text: &mut String, instruction: &Instruction, target: Target) -> std::fmt::Result {
    let Some(single) = Single::new(instruction, Semantics::CURRENT, target) else {
        return writeln!(
            text,
            "vptx has no ordinary PTX that replaces this instruction on {target}."
        );
    };
    match &single.costs {
        None => {
            writeln!(text, "The cost on {target} was not measured. The same in ordinary PTX:\n")?;
        }
        Some(costs) => {
            let keep = if single.is_better_kept { "Keep this instruction: " } else { "" };
            writeln!(text, "{keep}{costs}.\n")?;
        }
    }
    for line in &single.lines {
        writeln!(text, "    {line}")?;
    }
    targets::costs(text, instruction)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_as_long_as_they_may_be() {
        assert_eq!(wrapped("ab  cd ef", 6), ["ab  cd", "ef"]);
        assert_eq!(wrapped("ab  cd ef", 5), ["ab ", "cd ef"]);
        assert_eq!(wrapped("abcdefgh i", 4), ["abcdefgh", "i"]);
    }
}
