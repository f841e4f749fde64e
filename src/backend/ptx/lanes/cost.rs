//! Counts the machine instructions of a sequence on wider lanes.

use super::super::sequence::{Arg, Line, Opcode};
use crate::isa::{Feature, Target, Type};

/// The machine instructions of a sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct Count {
    pub(in super::super) instructions: u32,
    /// How many of the machine instructions may stand before a loop.
    pub(super) before_loop: u32,
    /// `instructions`, weighted by throughput.
    pub(in super::super) weight: u32,
}

impl Count {
    /// Counts the machine instructions that ptxas 13.5 makes of lines that pack results, and of the
    /// lines on wider lanes that these need. Constants and negations are part of other
    /// instructions. On targets with fused extrema, a minimum or maximum includes a sum that
    /// nothing else reads, or another extremum of its kind. A sum includes an upper half of a
    /// signed word.
    pub(super) fn of(
        lines: &[Line],
        packed: &[Line],
        before_loop: &[Option<u16>],
        target: Target,
    ) -> Count {
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
        // Whether a line takes in another line, which is the argument at a place.
        let takes = |line: &Line, inner: Opcode, place: usize| {
            let is_sum = matches!(inner, Opcode::Add2 | Opcode::Add | Opcode::Sub);
            let fused = match line.opcode {
                Opcode::Min2(_) | Opcode::Max2(_) | Opcode::Min(_) | Opcode::Max(_) => {
                    Feature::FusedExtrema
                }
                Opcode::MinFloat2 | Opcode::MaxFloat2 => Feature::FusedFloatExtrema,
                Opcode::Add => return inner == Opcode::Shr(Type::S32),
                Opcode::Sub => return inner == Opcode::Shr(Type::S32) && place == 0,
                _ => return false,
            };
            target.has(fused) && (is_sum || inner == line.opcode)
        };
        // Whether a line has taken in another line, or is part of another line.
        let mut is_joined = vec![false; lines.len()];
        // An `and` before the last `xor` is part of the same machine instruction.
        let has_and = |line: &Line| match *line.args() {
            [Arg::Line(at), _] => {
                line.opcode == Opcode::Xor && lines[usize::from(at)].opcode == Opcode::And
            }
            _ => false,
        };
        let mut count_before = 0;
        let mut count = packed.iter().filter(|line| !has_and(line)).count() as u32;
        for (at, line) in lines.iter().enumerate().filter(|(at, _)| reads[*at] > 0) {
            if line.opcode == Opcode::Move || line.opcode.facts().cost(target) == 0 {
                continue;
            }
            count += 1;
            if before_loop.get(at).is_some_and(Option::is_some) {
                count_before += 1;
                continue;
            }
            let inner = line.args().iter().enumerate().find_map(|(place, arg)| match *arg {
                Arg::Line(inner) => Some(usize::from(inner)).filter(|&inner| {
                    let is_free = reads[inner] == 1
                        && !is_joined[inner]
                        && before_loop.get(inner).is_none_or(Option::is_none);
                    is_free && takes(line, lines[inner].opcode, place)
                }),
                _ => None,
            });
            if let Some(inner) = inner {
                is_joined[inner] = true;
                is_joined[at] = true;
                count -= 1;
            }
        }
        let more = |line: &Line| line.opcode.facts().weight(target) - 1;
        let weight = count + packed.iter().map(more).sum::<u32>();
        Count { instructions: count, before_loop: count_before, weight }
    }
}
