//! Counts the machine instructions of a block on halves.

use super::super::sequence::{Arg, Line, Opcode};
use crate::isa::Target;

/// The machine instructions that ptxas 13.5 makes of some lines on halves, and of lines that pack
/// results. Constants are part of
/// other instructions. So are negations, and before `sm_120` a minimum or maximum takes in a sum
/// that nothing else reads, or another one of its kind.
pub(super) fn machine_instructions(lines: &[Line], packed: &[Line], target: Target) -> u32 {
    let mut reads = vec![0; lines.len()];
    for arg in lines.iter().chain(packed).flat_map(Line::args) {
        if let Arg::Line(at) = *arg {
            reads[usize::from(at)] += 1;
        }
    }
    // Whether a line has taken in another one, or is part of one.
    let mut is_joined = vec![false; lines.len()];
    let mut count = packed.len() as u32;
    for (at, line) in lines.iter().enumerate() {
        count += match line.opcode {
            Opcode::Move
            | Opcode::LowHalf
            | Opcode::HighHalf
            | Opcode::NegateHalf
            | Opcode::JoinHalves => 0,
            _ => 1,
        };
        if target.number >= 120 || !matches!(line.opcode, Opcode::Min2(_) | Opcode::Max2(_)) {
            continue;
        }
        let inner = line.args().iter().find_map(|arg| match *arg {
            Arg::Line(inner) => Some(usize::from(inner)).filter(|&inner| {
                let opcode = lines[inner].opcode;
                let joins = opcode == Opcode::Add2 || opcode == line.opcode;
                joins && reads[inner] == 1 && !is_joined[inner]
            }),
            _ => None,
        });
        if let Some(inner) = inner {
            is_joined[inner] = true;
            is_joined[at] = true;
            count -= 1;
        }
    }
    count
}
