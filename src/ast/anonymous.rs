//! Operations whatever their registers are called.

use super::{Instruction, MultiplyAdd, Operand, Operation, Register, SimdOperands, Source, Tail};

impl Instruction {
    /// The operation with registers `d`, `a`, `b` and `c`: the same for all that
    /// differ in names only. A source that is named twice stays the same.
    pub(crate) fn anonymous(&self) -> Operation {
        let sources = self.sources();
        let letter = |at: usize| {
            let first = (0..at).find(|&first| sources[first] == sources[at]).unwrap_or(at);
            ["a", "b", "c"][first]
        };
        let names = [letter(0), letter(1), letter(2)];
        let mut form = self.operation.clone();
        match &mut form {
            Operation::Arithmetic(it) => {
                unname(&mut it.d, &mut it.a, &mut it.b, &mut it.tail, names);
            }
            Operation::Shift(it) => unname(&mut it.d, &mut it.a, &mut it.b, &mut it.tail, names),
            Operation::Set(it) => unname(&mut it.d, &mut it.a, &mut it.b, &mut it.tail, names),
            Operation::MultiplyAdd(it) => {
                let mut parts = it.parts();
                rename(&mut parts.d, "d");
                rename_source(&mut parts.a, names[0]);
                rename_source(&mut parts.b, names[1]);
                rename_operand(&mut parts.c, names[2]);
                return MultiplyAdd::new(parts).map_or(form, Operation::MultiplyAdd);
            }
            Operation::Arithmetic2(it) => unname_lanes(&mut it.operands, names),
            Operation::Set2(it) => unname_lanes(&mut it.operands, names),
            Operation::Arithmetic4(it) => unname_lanes(&mut it.operands, names),
            Operation::Set4(it) => unname_lanes(&mut it.operands, names),
        }
        form
    }
}

fn unname(d: &mut Register, a: &mut Source, b: &mut Source, tail: &mut Tail, names: [&str; 3]) {
    rename(d, "d");
    rename_source(a, names[0]);
    rename_source(b, names[1]);
    match tail {
        Tail::Word => {}
        Tail::Secondary { c, .. } | Tail::Merge { c, .. } => rename_operand(c, names[2]),
    }
}

fn unname_lanes<L>(operands: &mut SimdOperands<L>, names: [&str; 3]) {
    let SimdOperands { d, a, b, c, .. } = operands;
    for (register, name) in [d, a, b, c].into_iter().zip(["d", names[0], names[1], names[2]]) {
        rename(register, name);
    }
}

fn rename(register: &mut Register, name: &str) {
    if let Some(named) = Register::new(name) {
        *register = named;
    }
}

fn rename_source(source: &mut Source, name: &str) {
    if let Source::Register { register, .. } = source {
        rename(register, name);
    }
}

fn rename_operand(operand: &mut Operand, name: &str) {
    if let Operand::Register(register) = operand {
        rename(register, name);
    }
}
