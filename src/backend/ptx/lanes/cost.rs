//! Counts the machine instructions of a block on halves.

use super::super::sequence::{Arg, Line, Opcode};
use crate::isa::Target;

/// The machine instructions that ptxas 13.5 makes of lines that pack results, and of those lines on
/// halves that they need. Constants are part of other instructions. So are negations, and before
/// `sm_120` a minimum or maximum takes in a sum that nothing else reads, or another one of its
/// kind.
pub(super) fn machine_instructions(lines: &[Line], packed: &[Line], target: Target) -> u32 {
    let mut reads = vec![0; lines.len()];
    let read = |line: &Line, reads: &mut [u32]| {
        for arg in line.args() {
            if let Arg::Line(at) = *arg {
                reads[usize::from(at)] += 1;
            }
        }
    };
    for line in packed {
        read(line, &mut reads);
    }
    for (at, line) in lines.iter().enumerate().rev() {
        if reads[at] > 0 {
            read(line, &mut reads);
        }
    }
    let joins = |line: &Line| {
        target.number < 120 && matches!(line.opcode, Opcode::Min2(_) | Opcode::Max2(_))
    };
    // Whether a line has taken in another one, or is part of one.
    let mut is_joined = vec![false; lines.len()];
    // The `and` before a last `xor` is part of it.
    let mut count = packed.iter().filter(|line| line.opcode != Opcode::Xor).count() as u32;
    for (at, line) in lines.iter().enumerate().filter(|(at, _)| reads[*at] > 0) {
        if is_free(line.opcode) {
            continue;
        }
        count += 1;
        let inner = line.args().iter().find_map(|arg| match *arg {
            Arg::Line(inner) => Some(usize::from(inner)).filter(|&inner| {
                let opcode = lines[inner].opcode;
                let fits = opcode == Opcode::Add2 || opcode == line.opcode;
                fits && reads[inner] == 1 && !is_joined[inner]
            }),
            _ => None,
        });
        if let Some(inner) = inner.filter(|_| joins(line)) {
            is_joined[inner] = true;
            is_joined[at] = true;
            count -= 1;
        }
    }
    count
}

fn is_free(opcode: Opcode) -> bool {
    matches!(
        opcode,
        Opcode::Move | Opcode::LowHalf | Opcode::HighHalf | Opcode::NegateHalf | Opcode::JoinHalves
    )
}
