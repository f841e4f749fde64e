//! Operations for which ptxas makes one machine instruction.

use vptx::backend::ptx::{Arg, Builder, Opcode};

/// One machine instruction, written as one or more PTX instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    /// An instruction of PTX.
    One(Opcode),
    /// An instruction on the first two arguments, then another one on its result and the third
    /// argument: sums of three words (`IADD3`), sums with a shifted word (`LEA`), two bitwise
    /// functions (`LOP3`).
    Two(Opcode, Opcode),
    /// Differences of halves (`VIADD.16x2` with a negated operand).
    Sub2,
}

impl Operation {
    /// The result for arguments of the right classes.
    #[inline]
    pub(crate) fn eval(self, [x, y, z]: [u32; 3]) -> u32 {
        let (x, y, z) = (u64::from(x), u64::from(y), u64::from(z));
        let result = match self {
            Operation::One(opcode) => opcode.eval([x, y, z]),
            Operation::Two(first, second) => second.eval([first.eval([x, y, 0]), z, 0]),
            Operation::Sub2 => {
                let negative = |half: Opcode| Opcode::NegateHalf.eval([half.eval([y, 0, 0]), 0, 0]);
                let [low, high] = [Opcode::LowHalf, Opcode::HighHalf].map(negative);
                Opcode::Add2.eval([x, Opcode::JoinHalves.eval([low, high, 0]), 0])
            }
        };
        // The result is a word, or 1 if a comparison holds.
        result as u32
    }

    /// Appends the PTX instructions of the operation.
    pub(crate) fn push(self, builder: &mut Builder, args: [Arg; 3]) -> Arg {
        let [x, y, z] = args;
        match self {
            Operation::One(opcode) => builder.push(opcode, &args[..opcode.arity()]),
            Operation::Two(first, second) => {
                let first = builder.push(first, &[x, y]);
                builder.push(second, &[first, z])
            }
            Operation::Sub2 => builder.sub2(x, y),
        }
    }

    /// Whether the first two arguments may be exchanged.
    pub(crate) fn is_symmetric(self) -> bool {
        let first = match self {
            Operation::One(opcode) | Operation::Two(opcode, _) => opcode,
            Operation::Sub2 => return false,
        };
        first.commutes()
    }
}
