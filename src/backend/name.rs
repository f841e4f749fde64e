//! Names and parameters of functions.

use super::ptx::constants;
use crate::ir::{Input, Program};
use crate::video::{Instruction, Semantics};

/// The text of an instruction without its guard predicate, with registers `d`, `a`, `b`, `c`.
pub(super) fn plain(instruction: &Instruction) -> String {
    Instruction { guard: None, operation: instruction.anonymous() }.to_string()
}

/// The name for an instruction under a semantics, with its program. It ends with the semantics
/// if the manual has another program.
pub(super) fn of(instruction: &Instruction, semantics: Semantics, program: &Program) -> String {
    let name = of_manual(instruction);
    if *program == instruction.lower(Semantics::Manual) {
        return name;
    }
    format!("{name}_{}", semantics.text().replace('-', ""))
}

/// The inputs that a program reads, in order.
pub(super) fn inputs(program: &Program) -> Vec<Input> {
    Input::ALL.into_iter().filter(|input| program.reads(*input)).collect()
}

/// The opcode, and of each operand everything but the name of a register. A constant expression is
/// written as its value.
fn of_manual(instruction: &Instruction) -> String {
    let text = plain(instruction);
    let (opcode, operands) = text.split_once(' ').unwrap_or((&text, ""));
    let mut name = opcode.replace('.', "_");
    let operands = operands.trim_end_matches(';').split(", ");
    let [a, b, c] = constants(&instruction.operation);
    for ((letter, constant), operand) in
        ["d", "a", "b", "c"].into_iter().zip([None, a, b, c]).zip(operands)
    {
        let value = constant.filter(|_| !is_number(operand)).map(|value| value.to_string());
        let operand = value.as_deref().unwrap_or(operand);
        let (sign, value) = match operand.strip_prefix('-') {
            Some(value) => ("m", value),
            None => ("", operand),
        };
        let is_constant = value.starts_with(|first: char| first.is_ascii_digit());
        let (value, selector) = value.split_once('.').unwrap_or((value, ""));
        let value = if is_constant { value } else { "" };
        let part = [sign, value, if value.is_empty() || selector.is_empty() { "" } else { "_" }];
        let part = part.concat() + selector;
        if !part.is_empty() {
            name = format!("{name}_{letter}_{part}");
        }
    }
    name
}

/// Whether a constant is a number, such as `-5` or `0x1f`, and no expression.
fn is_number(constant: &str) -> bool {
    let digits = constant.strip_prefix('-').unwrap_or(constant);
    digits.starts_with(|first: char| first.is_ascii_digit())
        && digits.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_what_changes_the_result() {
        for (text, expected) in [
            ("vadd.u32.u32.u32.sat d, a, b;", "vadd_u32_u32_u32_sat"),
            ("@!%p1 vadd.s32.u32.s32 %r1.b2, x.h1, -5, y;", "vadd_s32_u32_s32_d_b2_a_h1_b_m5"),
            ("vmad.s32.s32.s32 d, a, -b.b0, c;", "vmad_s32_s32_s32_b_mb0"),
            ("vmad.u32.u32.u32.sat.shr7 d, a, b, -c;", "vmad_u32_u32_u32_sat_shr7_c_m"),
            ("vadd2.s32.s32.s32 d.h1, a.h10, b.h23, c;", "vadd2_s32_s32_s32_d_h1_b_h23"),
            ("vadd.u32.u32.u32 d, x, x;", "vadd_u32_u32_u32"),
            ("vadd.s32.s32.s32 d, a, WARP_SZ;", "vadd_s32_s32_s32_b_32"),
            ("vadd.s32.s32.s32 d, a, (1 << 4);", "vadd_s32_s32_s32_b_16"),
            ("vadd.s32.s32.s32 d, 1 + 1, b;", "vadd_s32_s32_s32_a_2"),
            ("vadd.s32.s32.s32 d, a, ~0;", "vadd_s32_s32_s32_b_4294967295"),
            ("vadd.s32.s32.s32 d, a, -(3);", "vadd_s32_s32_s32_b_4294967293"),
            ("vadd.u32.u32.u32.add d, a, 0x1F, 5>3?1:2;", "vadd_u32_u32_u32_add_b_0x1F_c_1"),
            ("vset4.u32.u32.lt.add d, a.b0123, b, c;", "vset4_u32_u32_lt_add_a_b0123"),
        ] {
            let instruction: Instruction =
                text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!(of_manual(&instruction), expected, "{text}");
        }
    }
}
